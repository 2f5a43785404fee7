/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kfi_versions.h - which versions of a wire format two sides speak, and which one they use
 *
 * The first message in each direction of a wire carries the lowest and the highest version that its
 * sender speaks, and a set of features. Both sides use the highest version that both speak, and the
 * features that both have: each computes that from what it has sent and received, so that no
 * further message is needed. docs/wire-versions.md has the rules, and lists the wires.
 *
 * The first part of this file also compiles in user space, for the fuzzers.
 */
#ifndef _KFI_VERSIONS_H
#define _KFI_VERSIONS_H

#ifdef __KERNEL__
#include <linux/errno.h>
#include <linux/list.h>
#include <linux/types.h>
#endif

/**
 * struct kfi_versions - what one side of a wire speaks, or what both sides use
 * @lowest: lowest version
 * @highest: highest version; 0: nothing is known, or nothing is agreed. If both sides have agreed,
 *	the version in use, which @lowest is, too
 * @features: optional parts of the format, bits that the wire defines
 */
struct kfi_versions {
	u8	lowest;
	u8	highest;
	u32	features;
};

/**
 * kfi_versions_read() - what the sender of a message speaks
 * @highest: highest version, as received
 * @lowest: lowest version, as received; 0: @highest alone
 * @features: features, as received
 *
 * A side that speaks one version sends 0 as its lowest one, as sides without ranges did.
 *
 * Context: any.
 * Return: the range, not checked: see kfi_versions_agree().
 */
static inline struct kfi_versions kfi_versions_read(u8 highest, u8 lowest, u32 features)
{
	return (struct kfi_versions) {
		.lowest = lowest ? lowest : highest, .highest = highest, .features = features,
	};
}

/**
 * kfi_versions_lowest() - the lowest version as it is sent, see kfi_versions_read()
 * @speaks: what this side speaks
 *
 * Context: any.
 * Return: the version, or 0 for the highest one alone.
 */
static inline u8 kfi_versions_lowest(const struct kfi_versions *speaks)
{
	return speaks->lowest == speaks->highest ? 0 : speaks->lowest;
}

/**
 * kfi_versions_agree() - what two sides use
 * @ours: what this side speaks
 * @theirs: what the other side speaks, not checked
 * @agreed: set to the version and the features that both use; cleared on failure
 *
 * Context: any.
 * Return: 0; -EPROTONOSUPPORT if no version is common; -EPROTO if @theirs is no range.
 */
static inline int kfi_versions_agree(const struct kfi_versions *ours,
				     const struct kfi_versions *theirs,
				     struct kfi_versions *agreed)
{
	u8 version = ours->highest < theirs->highest ? ours->highest : theirs->highest;

	*agreed = (struct kfi_versions) {};
	if (!theirs->lowest || theirs->lowest > theirs->highest)
		return -EPROTO;
	if (version < ours->lowest || version < theirs->lowest)
		return -EPROTONOSUPPORT;
	agreed->lowest = version;
	agreed->highest = version;
	agreed->features = ours->features & theirs->features;
	return 0;
}

#ifdef __KERNEL__

struct net;

/**
 * struct kfi_wire - a wire format of a module, listed by "kfi show versions"
 * @name: what it is, in words that follow "versions of"
 * @speaks: what this machine speaks
 *
 * Initialised statically; from kfi_wire_register() until kfi_wire_unregister() returns the list of
 * kfi.ko has it.
 */
struct kfi_wire {
	const char			*name;
	const struct kfi_versions	*speaks;
	/* private: protected by the mutex of kfi/versions.c */
	struct list_head		entry;
};

/**
 * kfi_wire_register() - list a wire
 * @wire: the wire
 *
 * Context: process.
 */
void kfi_wire_register(struct kfi_wire *wire);

/**
 * kfi_wire_unregister() - end the list's use of a wire, and forget the peers refused on it
 * @wire: the wire
 *
 * No kfi_wire_refused() of the wire is running, or follows.
 *
 * Context: process.
 */
void kfi_wire_unregister(struct kfi_wire *wire);

/**
 * kfi_wire_refused() - a peer speaks no version that this machine speaks
 * @net: namespace of the connection
 * @wire: the wire, registered
 * @peer: name of the peer's machine, the same for all its connections; it is copied
 * @theirs: what the peer speaks
 *
 * The log gets a line that names both ranges and the side to be upgraded, at most once a minute for
 * a peer. "kfi show" tells of the peer until kfi_wire_met(), or until it was not refused for two
 * minutes. The number of peers is bounded: the one that was refused last replaces the one that was
 * not refused for the longest time.
 * Context: any but hard interrupts.
 */
void kfi_wire_refused(struct net *net, struct kfi_wire *wire, const char *peer,
		      const struct kfi_versions *theirs);

/**
 * kfi_wire_met() - a peer and this machine have agreed: forget that the peer was refused
 * @net: as in kfi_wire_refused()
 * @wire: as in kfi_wire_refused()
 * @peer: as in kfi_wire_refused()
 *
 * Cheap while no peer is refused.
 *
 * Context: any but hard interrupts.
 */
void kfi_wire_met(struct net *net, struct kfi_wire *wire, const char *peer);

/**
 * kfi_wire_any_refused() - is there a peer to forget? Lets a caller spare the name of the peer
 *
 * Context: any.
 * Return: true if a peer was refused, and has not been forgotten.
 */
bool kfi_wire_any_refused(void);

#endif /* __KERNEL__ */

#endif /* _KFI_VERSIONS_H */
