// SPDX-License-Identifier: GPL-2.0
/*
 * status.c - what `dmsetup status` and `dmsetup table` show. Called in process context. The members
 * of struct kfm and struct kfm_peer are read without a lock.
 */
#include "leg.h"
#include "mirror.h"
#include "peer.h"
#include "rail.h"
#include "refuse.h"
#include "status.h"

const char * const kfm_policies[KFM_POLICIES] = { "stop", "fence", "alone", "quorum" };
const char * const kfm_cache_words[KFM_CACHE_WORDS] = { "auto", "off", "on" };
static const char * const session_words[] = {
	"down", "hello", "attaching", "fetching", "connected",
};
static const char * const copy_words[] = { "blank", "uptodate", "outdated", "inconsistent" };

static const char *copy_word(const struct kfm *m)
{
	if (!m->formatted)
		return "unformatted";
	return m->witness && m->sb.state != KFM_BLANK ? "witness" : copy_words[m->sb.state];
}

static unsigned int percent(const struct kfm_peer *p)
{
	u32 start = READ_ONCE(p->oos_start), now = READ_ONCE(p->oos_count);

	return now && start >= now ? 100 - DIV_ROUND_UP((u64)now * 100, start) : now ? 0 : 100;
}

/* The figures and remarks of a peer, or of the worst of several */
struct summary {
	enum kfm_session_state	state;
	u32		oos;
	unsigned int	percent;
	u64		lag;
	bool		insync;
	bool		alone;
	bool		held;
	bool		only;		/* the data is at peers that are not there */
	u32		outage;
	bool		refused;
	const char	*why;
	u64		sectors;
	unsigned int	rails, rails_used;
};

/*
 * Which regions differ is not known to this node. Is all of a copy to be written, its own, or that
 * of a peer that has never been there?
 */
static bool nothing_synced(const struct kfm_peer *p, bool follows)
{
	const struct kfm *m = p->m;

	if (m->witness || p->witness || follows || p->state > KFM_SESSION_HELLO)
		return false;
	if (m->primary)
		return !kfm_pair(p)->node && !kfm_pair(p)->base;
	return !m->formatted || m->sb.state == KFM_BLANK || m->sb.state == KFM_INCONSISTENT;
}

static struct summary sum_peer(const struct kfm_peer *p)
{
	const struct kfm *m = p->m;
	bool follows = !m->primary && m->log.open && m->log.peer == p;
	bool alone = m->primary && kfm_is_alone(p);
	bool known = m->primary || follows;	/* else the regions are those of recent.c */
	bool all = nothing_synced(p, follows);
	/* A primary ends the session of a peer that it loses; a secondary waits for the primary. */
	bool silent = follows && time_after(jiffies, READ_ONCE(p->live) + m->timeout);

	return (struct summary) {
		.state = silent ? KFM_SESSION_DOWN : p->state,
		.oos = all ? m->regions : known ? p->oos_count : 0,
		.percent = all ? 0 : known ? percent(p) : 100,
		.lag = p->ring.next.seq ? p->ring.next.seq - 1 - p->ring.applied : 0,
		.insync = p->insync || (follows && m->was_insync),
		.alone = alone,
		.held = m->primary && !alone && p->state != KFM_SESSION_UP,
		.only = m->primary && !kfm_may_do_without(p),
		.outage = p->outage,
		.refused = p->refused,
		.why = kfm_refused_word(p),
		.sectors = READ_ONCE(p->sectors),
		.rails = kfm_rails_used(p) ? kfm_rail_count(p) : 0,
		.rails_used = kfm_rails_used(p),
	};
}

/* A secondary has a session with one peer at most: that counts. */
static struct summary sum_peers(const struct kfm *m)
{
	struct summary all = sum_peer(m->peers[0]), one;
	struct kfm_peer *p;

	kfm_for_each_peer(p, m) {
		one = sum_peer(p);
		all.state = m->primary ? min(all.state, one.state) : max(all.state, one.state);
		all.oos = max(all.oos, one.oos);
		all.percent = min(all.percent, one.percent);
		all.lag = max(all.lag, one.lag);
		all.insync = m->primary ? all.insync && one.insync : m->was_insync;
		all.alone |= one.alone;
		all.outage = one.held && !all.held ? one.outage : all.outage;
		all.held |= one.held;
		all.only &= one.only;
		all.refused |= one.refused;
		all.why = all.why ?: one.why;
		if (!p->witness)
			all.sectors = min(all.sectors, one.sectors);
		if (one.rails - one.rails_used > all.rails - all.rails_used) {
			all.rails = one.rails;
			all.rails_used = one.rails_used;
		}
	}
	return all;
}

/* KiB that this primary has not sent in the last session with each peer, which had the same */
static u64 equal_kib(const struct kfm *m)
{
	struct kfm_peer *p;
	u64 bytes = 0;

	kfm_for_each_peer(p, m)
		bytes += m->primary ? READ_ONCE(p->rs_equal) : 0;
	return bytes >> 10;
}

/* Direct records of the present sessions, sent or received */
static u64 direct_count(const struct kfm *m)
{
	u64 count = m->primary ? 0 : READ_ONCE(m->direct.top);
	struct kfm_peer *p;

	kfm_for_each_peer(p, m)
		count += m->primary ? READ_ONCE(p->slots.number) : 0;
	return count;
}

static unsigned int emit_remarks(const struct kfm *m, const struct summary *s, char *result,
				 unsigned int maxlen)
{
	unsigned int sz = 0;

	if (s->insync)
		DMEMIT(" insync");
	if (s->alone)
		DMEMIT(" alone");
	if (s->held && m->policy == KFM_FENCE && !s->only)
		DMEMIT(" frozen %u", s->outage);
	else if (s->held && m->policy != KFM_QUORUM)
		DMEMIT(" stopped");
	if (s->refused)
		DMEMIT(" refused");
	if (s->why)
		DMEMIT(" %s", s->why);
	if (s->sectors != m->sectors)
		DMEMIT(" peer-sectors %llu", s->sectors);
	if (s->rails > 1)
		DMEMIT(" rails %u/%u", s->rails_used, s->rails);
	return sz;
}

/* Rails to all peers */
static unsigned int ways(const struct kfm *m)
{
	struct kfm_peer *p;
	unsigned int n = 0;

	kfm_for_each_peer(p, m)
		n += kfm_rail_count(p);
	return n;
}

static const char *way_word(const struct kfm_rail *rail)
{
	if (rail != rail->p->rails[0])
		return "rail";
	return rail->p->witness ? "witness" : "peer";
}

static void emit_table(const struct kfm *m, char *result, unsigned int maxlen)
{
	bool direct = m->logdev && m->direct_min != KFM_DIRECT_DEFAULT;
	unsigned int least = READ_ONCE(m->rate_min), sz = 0;
	struct kfm_rail *rail = m->peers[0]->rails[0];
	struct kfm_peer *p;

	DMEMIT("%s %s %s %s %s %s %s %s %s %u timeout %u rate %u",
	       m->leg ? m->leg->name : "-", m->internal ? "internal" : m->meta->name,
	       m->log_at ? "internal" : m->logdev ? m->logdev->name : "-",
	       rail->provider, rail->local[0], rail->local[1],
	       rail->remote[0], rail->remote[1], kfm_policies[m->policy],
	       4 + (direct ? 2 : 0) + (m->data_crc ? 2 : 0) + (m->cache_word ? 2 : 0) +
	       (least ? 2 : 0) + (m->csum ? 2 : 0) + (m->detach ? 2 : 0) +
	       (m->reads_quorum ? 2 : 0) + (m->secret ? 2 : 0) +
	       (ways(m) - 1) * (1 + KFM_PEER_WORDS),
	       jiffies_to_msecs(m->timeout), READ_ONCE(m->rate));
	if (least)
		DMEMIT(" rate-min %u", least);
	if (direct && m->direct_min == KFM_DIRECT_OFF)
		DMEMIT(" direct off");
	else if (direct)
		DMEMIT(" direct %u", m->direct_min);
	if (m->data_crc)
		DMEMIT(" data-crc all");
	if (m->cache_word)
		DMEMIT(" cache %s", kfm_cache_words[m->cache_word]);
	if (m->csum)
		DMEMIT(" csum on");
	if (m->detach)
		DMEMIT(" on-io-error detach");
	if (m->reads_quorum)
		DMEMIT(" reads quorum");
	if (m->secret)
		DMEMIT(" secret %s", m->secret_name);
	kfm_for_each_peer(p, m) {
		kfm_for_each_rail(rail, p) {
			if (rail == m->peers[0]->rails[0])
				continue;
			DMEMIT(" %s %s %s %s %s %s", way_word(rail), rail->provider,
			       rail->local[0], rail->local[1], rail->remote[0], rail->remote[1]);
		}
	}
}

/*
 * ROLE SESSION COPY OUT-OF-SYNC/REGIONS PERCENT LAG WRITES WORD...: regions that differ, how far
 * the resynchronisation is, records that the peer has not applied, writes in flight, remarks. With
 * several peers these are the worst ones, and each peer follows:
 * peer NODE SERVICE SESSION OUT-OF-SYNC PERCENT LAG WORD...
 */
void kfm_status(struct dm_target *ti, status_type_t type, unsigned int flags, char *result,
		unsigned int maxlen)
{
	struct kfm *m = ti->private;
	struct summary s = sum_peers(m);
	const struct kfm_rail *rail;
	unsigned int sz = 0;
	struct kfm_peer *p;

	if (type == STATUSTYPE_TABLE) {
		emit_table(m, result, maxlen);
		return;
	}
	if (type != STATUSTYPE_INFO) {
		*result = '\0';
		return;
	}
	DMEMIT("%s %s %s %u/%u %u %llu %u", m->primary ? "primary" : "secondary",
	       session_words[s.state], copy_word(m),
	       s.oos, m->regions, s.percent, s.lag, m->bios);
	sz += emit_remarks(m, &s, result + sz, maxlen - sz);
	if (m->meta_failed || m->log.failed || m->leg_failed)
		DMEMIT(" failed");
	if (m->sb.flags & KFM_SB_DOUBT)
		DMEMIT(" doubtful");
	if (m->detached)
		DMEMIT(" detached");
	if (m->primary && m->noquorum)
		DMEMIT(" noquorum");
	if (m->left)
		DMEMIT(" left");
	if (m->cache)
		DMEMIT(" cache");
	if (m->repair.count)
		DMEMIT(" repaired %u", m->repair.count);
	if (m->repair.bad_count)
		DMEMIT(" unrepaired %u", m->repair.bad_count);
	if (m->verify.running)
		DMEMIT(" verifying %u", kfm_verify_percent(m));
	else if (m->verify.done)
		DMEMIT(" differ %u unverified %llu", m->verify.differ, m->verify.skipped);
	if (m->verify.outvoted)
		DMEMIT(" outvoted %u", m->verify.outvoted);
	if (m->verify.done && m->verify.repairs)
		DMEMIT(" left %u", m->verify.left);
	if (direct_count(m))
		DMEMIT(" direct %llu", direct_count(m));
	if (equal_kib(m))
		DMEMIT(" equal %llu", equal_kib(m));
	if (!m->peers[1])
		return;
	kfm_for_each_peer(p, m) {
		s = sum_peer(p);
		rail = p->rails[0];
		DMEMIT(" peer %s %s %s %u %u %llu", rail->remote[0], rail->remote[1],
		       session_words[s.state], s.oos, s.percent, s.lag);
		if (p->witness)
			DMEMIT(" witness");
		sz += emit_remarks(m, &s, result + sz, maxlen - sz);
	}
}
