// SPDX-License-Identifier: GPL-2.0
/*
 * source.c - which copies have all data, and whether this node can do without a peer: rule R3 of
 * detach.c. Any context that has claimed the mirror calls these.
 */
#include "leg.h"
#include "mirror.h"
#include "peer.h"
#include "refuse.h"

/* Has the peer all data, and a session? */
bool kfm_is_source(const struct kfm_peer *p)
{
	return p->state == KFM_SESSION_UP && p->insync && !p->witness && !p->gap && !p->oos_count;
}

/* Is there a peer other than @but that has all data, and a session? */
bool kfm_has_source(const struct kfm *m, const struct kfm_peer *but)
{
	struct kfm_peer *p;

	kfm_for_each_peer(p, m) {
		if (p != but && kfm_is_source(p))
			return true;
	}
	return false;
}

/**
 * kfm_only_copy() - choose the peer whose copy is the data of a detached node
 * @m: mirror
 *
 * One with a session is better than one that may never return. What it has of a write that does
 * not end counts; the others may differ from it.
 *
 * Context: any that has claimed the mirror. Return: the peer; or NULL: all peers lack data, or the
 * node is not detached.
 */
struct kfm_peer *kfm_only_copy(const struct kfm *m)
{
	struct kfm_peer *p, *found = NULL;

	kfm_for_each_peer(p, m) {
		if (!m->detached || kfm_lacks_data(p))
			continue;
		if (kfm_is_source(p))
			return p;
		found = found ?: p;
	}
	return found;
}

/**
 * kfm_may_do_without() - may this node write without a peer, if its policy says so?
 * @p: peer of a primary
 *
 * A detached one needs another peer that has the data: R3.
 */
bool kfm_may_do_without(const struct kfm_peer *p)
{
	return !p->m->detached || kfm_has_source(p->m, p);
}

/* Does the superblock say that this primary is detached? No other one has a blank copy. */
bool kfm_detached_stored(const struct kfm *m)
{
	return m->primary && m->sb.state == KFM_BLANK && m->sb.flags & KFM_SB_LEG_FAILED;
}

/**
 * kfm_source_back() - a peer has become in sync
 * @p: peer of a primary
 *
 * A detached node could not do without others before, and may now: the policy is applied to them.
 */
void kfm_source_back(const struct kfm_peer *p)
{
	struct kfm_peer *q;

	kfm_for_each_peer(q, p->m) {
		if (p->m->detached && q != p && q->state != KFM_SESSION_UP)
			q->policy_applied = false;
	}
}

/*
 * Does a peer of a detached node lack data? It can't get that any more, so its copy is of no use
 * here.
 */
bool kfm_lacks_data(const struct kfm_peer *p)
{
	return p->witness || kfm_is_alone(p) || p->oos_count || p->refused == KFM_W_NO_SOURCE;
}

/*
 * May writes end without the peer? Only after KFM_PAIR_ALONE was set in the superblock
 * (kfm_go_alone()). If ATTACH announced no resynchronisation, no write may end without the peer
 * until the session is up, or has failed.
 */
bool kfm_peer_optional(const struct kfm_peer *p)
{
	bool attaching = p->state > KFM_SESSION_HELLO && !p->attach;

	return p->state != KFM_SESSION_UP && !attaching && kfm_is_alone(p) && !p->m->meta_failed;
}
