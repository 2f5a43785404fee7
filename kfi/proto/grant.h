/* SPDX-License-Identifier: GPL-2.0 */
/*
 * grant.h - grants of the peer, shared by grant.c and device_place.c.
 */
#ifndef _KFI_PROTO_GRANT_H
#define _KFI_PROTO_GRANT_H

#include "proto.h"

#define KFP_GRANT_BITS	4

/**
 * struct kfp_permit - memory of the peer that writes go to without asking; (L) but for @out
 * @entry: entry in &kfp_grants.by_key, or in &kfp_grants.returned, or in neither
 * @recalled: the peer has recalled it. Written under kfp_places_lock as well
 * @commits: the peer can make the memory durable
 * @slot: the peer's number, index in &kfp_grants.permits
 * @out: places of it that devices may write; under kfp_places_lock. RECALLED waits for them
 * @id: the peer's id
 * @key: key of the peer's region
 * @addr: address of the first byte
 * @len: bytes
 * @places: the places
 */
struct kfp_permit {
	struct hlist_node	entry;
	bool			recalled;
	bool			commits;
	u8			slot;
	unsigned int		out;
	u64			id;
	u64			key;
	u64			addr;
	u64			len;
	struct kfp_places	*places;
};

/**
 * struct kfp_grants - lasting grants of a connection whose link has places; (L) but for @out
 * @conn: the connection
 * @work: has the RECALLs and RECALLEDs sent that are due
 * @came: bytes that had come on the link when kfp_recalls_late() looked last
 * @went: bytes that had gone
 * @given: grants of this side, by slot
 * @bytes: their bytes
 * @last: id of the last one
 * @written: keys of regions that the peer has written to with places, by hash
 * @permits: grants of the peer, by slot
 * @by_key: the same, unless recalled
 * @returned: the same, recalled, without places: RECALLED is due
 * @newest: id of the last one
 * @out: list of struct kfi_proto_place; under kfp_places_lock
 */
struct kfp_grants {
	struct kfp_conn		*conn;
	struct delayed_work	work;
	u64			came;
	u64			went;
	struct kfp_grant	*given[KFW_GRANTS_MAX];
	u64			bytes;
	u64			last;
	u64			written[1 << KFP_GRANT_BITS];
	struct kfp_permit	*permits[KFW_GRANTS_MAX];
	struct hlist_head	by_key[1 << KFP_GRANT_BITS];
	struct hlist_head	returned;
	u64			newest;
	struct list_head	out;
};

/* grant.c */
/* Return the grant of the peer that includes the segment, or NULL. */
struct kfp_permit *kfp_permit_over(const struct kfp_conn *conn, const struct kfi_rma_iov *seg);
/*
 * Give a grant for a place, unless there is one, and send the GRANT. Return: false: there is none.
 */
bool kfp_put_place_grant(struct kfp_conn *conn, const struct kfp_answer *answer);
/* Have the RECALLs and RECALLEDs sent that are due. In an RCU section, any context. */
void kfp_grants_kick(struct kfp_conn *conn);

/* device_place.c */
/* The peer recalls the grant. Return: devices may still write its memory. */
bool kfp_permit_recall(struct kfp_permit *p);
#endif /* _KFI_PROTO_GRANT_H */
