// SPDX-License-Identifier: GPL-2.0
/*
 * versions.c - what this machine speaks on each wire, and the peers that speak nothing of it
 *
 * A peer that is refused for its versions is remembered, so that the log does not repeat what it
 * has said, and so that "kfi show" can say why nothing works. Peers are not authenticated at this
 * point: the table is small, and one that is refused replaces the one that was not refused for the
 * longest time.
 *
 * Locks: wires_lock (mutex) protects the list of wires, and keeps wires in it. strangers_lock
 * (spin, bh) protects the table. A dump takes strangers_lock inside wires_lock.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include <net/net_namespace.h>
#include <kfi_versions.h>
#include "netlink.h"

#define STRANGERS_MAX	64
#define STRANGER_PEER	128		/* bytes of a name; longer ones are cut */
#define STRANGER_KEPT	(120 * HZ)
#define STRANGER_TOLD	(60 * HZ)

/**
 * struct stranger - a peer that was refused
 * @entry: entry in strangers; the one that was refused last is the first
 * @net: namespace, which is not pinned: strangers_net_exit() removes its strangers
 * @wire: the wire
 * @speaks: what the peer speaks
 * @at: jiffies of the last refusal
 * @told: jiffies of the last line in the log
 * @peer: name
 */
struct stranger {
	struct list_head	entry;
	const struct net	*net;
	const struct kfi_wire	*wire;
	struct kfi_versions	speaks;
	unsigned long		at;
	unsigned long		told;
	char			peer[STRANGER_PEER];
};

static DEFINE_MUTEX(wires_lock);
static LIST_HEAD(wires);
static DEFINE_SPINLOCK(strangers_lock);
static LIST_HEAD(strangers);
static unsigned int strangers_count;	/* written under strangers_lock */

/* ---- the table. The callers hold strangers_lock ---- */

static void stranger_free(struct stranger *s)
{
	list_del(&s->entry);
	WRITE_ONCE(strangers_count, strangers_count - 1);
	kfree(s);
}

static struct stranger *stranger_find(const struct net *net, const struct kfi_wire *wire,
				      const char *peer)
{
	struct stranger *s;

	list_for_each_entry(s, &strangers, entry) {
		if (s->net == net && s->wire == wire &&
		    !strncmp(s->peer, peer, sizeof(s->peer) - 1))
			return s;
	}
	return NULL;
}

static struct stranger *stranger_new(const struct net *net, const struct kfi_wire *wire,
				     const char *peer)
{
	struct stranger *s = kzalloc(sizeof(*s), GFP_ATOMIC);

	if (!s)
		return NULL;
	s->net = net;
	s->wire = wire;
	s->told = jiffies - STRANGER_TOLD;
	strscpy(s->peer, peer, sizeof(s->peer));
	if (strangers_count == STRANGERS_MAX)
		stranger_free(list_last_entry(&strangers, struct stranger, entry));
	s->at = jiffies;
	list_add(&s->entry, &strangers);
	WRITE_ONCE(strangers_count, strangers_count + 1);
	return s;
}

static bool stranger_is_over(const struct stranger *s)
{
	return time_after(jiffies, s->at + STRANGER_KEPT);
}

/* The last entry is the peer that was not refused for the longest time. */
static void strangers_expire(void)
{
	struct stranger *s, *next;

	list_for_each_entry_safe_reverse(s, next, &strangers, entry) {
		if (!stranger_is_over(s))
			break;
		stranger_free(s);
	}
}

/* ---- words ---- */

struct range_text {
	char text[16];
};

static struct range_text range_text(const struct kfi_versions *v)
{
	struct range_text range;

	if (v->lowest == v->highest)
		scnprintf(range.text, sizeof(range.text), "%u", v->highest);
	else
		scnprintf(range.text, sizeof(range.text), "%u to %u", v->lowest, v->highest);
	return range;
}

/* Return: what an administrator has to do, so that both sides have a version in common */
static const char *remedy(const struct kfi_versions *ours, const struct kfi_versions *theirs)
{
	return theirs->highest > ours->highest ? "install a newer kfabric on this machine" :
						 "install a newer kfabric there";
}

/* ---- refusals ---- */

void kfi_wire_refused(struct net *net, struct kfi_wire *wire, const char *peer,
		      const struct kfi_versions *theirs)
{
	struct stranger *s;
	bool tell = false;

	spin_lock_bh(&strangers_lock);
	strangers_expire();
	s = stranger_find(net, wire, peer) ?: stranger_new(net, wire, peer);
	if (s) {
		list_move(&s->entry, &strangers);
		s->speaks = *theirs;
		s->at = jiffies;
		tell = time_after_eq(jiffies, s->told + STRANGER_TOLD) && net_ratelimit();
		if (tell)
			s->told = jiffies;
	}
	spin_unlock_bh(&strangers_lock);
	if (tell)
		pr_warn("kfi: %s speaks version %s of %s, and this machine %s: %s\n", peer,
			range_text(theirs).text, wire->name, range_text(wire->speaks).text,
			remedy(wire->speaks, theirs));
}
EXPORT_SYMBOL_GPL(kfi_wire_refused);

bool kfi_wire_any_refused(void)
{
	return READ_ONCE(strangers_count);
}
EXPORT_SYMBOL_GPL(kfi_wire_any_refused);

void kfi_wire_met(struct net *net, struct kfi_wire *wire, const char *peer)
{
	struct stranger *s;

	if (!kfi_wire_any_refused())
		return;
	spin_lock_bh(&strangers_lock);
	strangers_expire();
	s = stranger_find(net, wire, peer);
	if (s)
		stranger_free(s);
	spin_unlock_bh(&strangers_lock);
}
EXPORT_SYMBOL_GPL(kfi_wire_met);

/* ---- wires ---- */

void kfi_wire_register(struct kfi_wire *wire)
{
	mutex_lock(&wires_lock);
	list_add_tail(&wire->entry, &wires);
	mutex_unlock(&wires_lock);
}
EXPORT_SYMBOL_GPL(kfi_wire_register);

void kfi_wire_unregister(struct kfi_wire *wire)
{
	struct stranger *s, *next;

	mutex_lock(&wires_lock);
	list_del(&wire->entry);
	spin_lock_bh(&strangers_lock);
	list_for_each_entry_safe(s, next, &strangers, entry) {
		if (s->wire == wire)
			stranger_free(s);
	}
	spin_unlock_bh(&strangers_lock);
	mutex_unlock(&wires_lock);
}
EXPORT_SYMBOL_GPL(kfi_wire_unregister);

static void __net_exit strangers_net_exit(struct net *net)
{
	struct stranger *s, *next;

	spin_lock_bh(&strangers_lock);
	list_for_each_entry_safe(s, next, &strangers, entry) {
		if (s->net == net)
			stranger_free(s);
	}
	spin_unlock_bh(&strangers_lock);
}

static struct pernet_operations strangers_net_ops = { .exit = strangers_net_exit };

int kfi_versions_init(void)
{
	return register_pernet_subsys(&strangers_net_ops);
}

void kfi_versions_exit(void)
{
	unregister_pernet_subsys(&strangers_net_ops);
}

/* ---- the dump: each wire, and behind it the peers that were refused on it ---- */

static int put_wire(struct sk_buff *skb, const struct kfi_wire *wire, const char *peer,
		    const struct kfi_versions *speaks)
{
	struct nlattr *nest = nla_nest_start(skb, KFI_A_VERSIONS);

	if (!nest || nla_put_string(skb, KFI_VERSIONS_A_WIRE, wire->name) ||
	    (peer && nla_put_string(skb, KFI_VERSIONS_A_PEER, peer)) ||
	    nla_put_u32(skb, KFI_VERSIONS_A_LOWEST, speaks->lowest) ||
	    nla_put_u32(skb, KFI_VERSIONS_A_HIGHEST, speaks->highest) ||
	    nla_put_u32(skb, KFI_VERSIONS_A_FEATURES, speaks->features) ||
	    (peer && nla_put_string(skb, KFI_VERSIONS_A_HELP, remedy(wire->speaks, speaks))))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int show_wire(struct kfi_nl_dump *d, u32 nr, const struct kfi_wire *wire, const char *peer,
		     const struct kfi_versions *speaks)
{
	int ret;

	if (nr <= d->cur->fabric)
		return 0;
	ret = kfi_nl_begin(d);
	if (ret)
		return ret;
	ret = kfi_nl_end(d, put_wire(d->skb, wire, peer, speaks));
	if (!ret)
		d->cur->fabric = nr;
	return ret;
}

/*
 * The cursor counts rows: a peer that is refused between two buffers may be missing, or be shown
 * twice.
 */
int kfi_nl_get_versions_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	const struct kfi_wire *wire;
	const struct stranger *s;
	struct kfi_nl_dump d;
	u32 nr = 0;
	int ret = 0;

	kfi_nl_dump_init(&d, skb, cb);
	mutex_lock(&wires_lock);
	list_for_each_entry(wire, &wires, entry) {
		ret = show_wire(&d, ++nr, wire, NULL, wire->speaks);
		spin_lock_bh(&strangers_lock);
		list_for_each_entry(s, &strangers, entry) {
			if (ret)
				break;
			if (s->wire == wire && s->net == sock_net(skb->sk) && !stranger_is_over(s))
				ret = show_wire(&d, ++nr, wire, s->peer, &s->speaks);
		}
		spin_unlock_bh(&strangers_lock);
		if (ret)
			break;
	}
	mutex_unlock(&wires_lock);
	return kfi_nl_dump_result(&d, ret);
}
