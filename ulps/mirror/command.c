// SPDX-License-Identifier: GPL-2.0
/*
 * command.c - dm messages and suspend: the worker executes each command while the caller waits.
 *
 *   create UUID [clean]		format the metadata device of this node
 *   promote [fenced|force]	become primary
 *   demote			become secondary, unless the device is mounted
 *   fenced OUTAGE		policy fence: the peer is outdated or powered off; write alone
 *   outdate			secondary: the primary continues without this copy
 *   leave			secondary: the same, and the primary is told, before this node stops
 *   invalidate			secondary: declare this copy worthless
 *   replace NODE SERVICE	forget which node this peer is: the next one takes its place
 *   verify [report|stop]	primary: compare the copies
 *   detach			primary: go on without the leg, over the network
 *   rate KIB [MIN]		limit of a resynchronisation in KiB a second, 0 for none; and while
 *				the application writes
 */
#include <linux/kstrtox.h>
#include <linux/string.h>
#include <linux/unaligned.h>
#include <linux/uuid.h>
#include "bits.h"
#include "command.h"
#include "flush.h"
#include "label.h"
#include "leg.h"
#include "log.h"
#include "meta.h"
#include "mirror.h"
#include "net.h"
#include "own.h"
#include "peer.h"
#include "quorum.h"
#include "repair.h"
#include "resync.h"
#include "table.h"
#include "write.h"

#define REQUEST_EVERY	(HZ / 4)

void kfm_cmd_end(struct kfm_cmd *cmd, int ret)
{
	cmd->ret = ret;
	complete(&cmd->done);
}

/* ---- promotion ---- */

static bool has_word(const struct kfm_cmd *cmd, const char *word)
{
	return cmd->argc > 1 && !strcmp(cmd->argv[1], word);
}

/* Return: 0, or the reason for which no answer of the peer can make a promotion possible. */
static int promote_check(struct kfm *m, const struct kfm_cmd *cmd)
{
	bool force = has_word(cmd, "force");

	if (cmd->argc > 2 || (cmd->argc == 2 && !force && !has_word(cmd, "fenced")))
		return -EINVAL;
	if (m->witness)
		return -EOPNOTSUPP;
	if (!m->formatted)
		return -ENODATA;
	if (m->primary)
		return force && !kfm_quorate(m) ? kfm_quorum_force(m) : -EALREADY;
	if (m->promote || m->leave)
		return -EBUSY;
	if (m->policy == KFM_QUORUM && has_word(cmd, "fenced"))	/* no manager decides that */
		return -EINVAL;
	if (m->meta_failed || m->log.failed || m->leg_failed)
		return -EIO;
	if (m->sb.flags & KFM_SB_DOUBT)	/* it may have been half overwritten */
		return -EUCLEAN;
	/* a blank one was given up by kfm_detach(): what it lacks was acknowledged */
	if (m->sb.state == KFM_INCONSISTENT ||
	    (m->sb.flags & KFM_SB_LEG_FAILED && (!force || m->sb.state == KFM_BLANK)))
		return -EUCLEAN;
	return m->sb.state == KFM_BLANK && !force ? -ENODATA : 0;
}

/*
 * Become primary, in the order that README.md gives: end the session, so that the old primary can
 * write nothing more; replay its log to the leg; flush the leg, whose cache may have what the old
 * primary has acknowledged; empty the log, so that it is never replayed over newer writes; raise
 * the generation. Each step is durable before the next one. Reads and writes do not wait for peers
 * that have not described their copies, or for any peer after a promotion by force.
 */
static int become_primary(struct kfm *m, bool force)
{
	struct kfm_super before;
	struct kfm_peer *p;
	int ret;

	if (kfm_leg_became_memory(m))
		return -EMEDIUMTYPE;
	kfm_peers_end(m);
	if (m->log.failed)	/* while the peers were asked */
		return -EIO;
	ret = kfm_log_replay(m);
	if (ret == -EUCLEAN && !has_word(m->promote, "force"))
		return kfm_writes_missing(m) ?: ret;
	if (ret == -EBADMSG && !has_word(m->promote, "force"))
		return -EUCLEAN;	/* and the log remains, so this is found again */
	if (ret && ret != -EUCLEAN && ret != -EBADMSG)
		return ret;
	ret = blkdev_issue_flush(m->leg->bdev);
	if (ret) {	/* the next flush would not fail for what is lost now */
		m->log.failed = true;
		return ret;
	}
	before = m->sb;
	kfm_for_each_peer(p, m) {
		if (force || p->answer != KFM_A_STATE)
			kfm_pair(p)->flags |= KFM_PAIR_ALONE;
		else if (m->policy == KFM_QUORUM)	/* those that answered are more than half */
			kfm_pair(p)->flags &= ~KFM_PAIR_ALONE;
	}
	kfm_gens_raise(&m->sb.gens, kfm_random());
	m->sb.gens.source = 0;
	m->sb.state = KFM_UPTODATE;
	m->sb.flags &= ~KFM_SB_LEG_FAILED;	/* by force */
	m->sb.flags |= KFM_SB_PRIMARY;
	kfm_quorum_promoted(m, &before, force);
	ret = kfm_log_start(m, kfm_random(), m->sb.gens.cur, m->sb.node) ?: kfm_super_save(m);
	if (ret) {
		m->sb = before;
		return ret;
	}
	kfm_flush_reset(m);
	kfm_for_each_peer(p, m) {
		p->policy_applied = false;
		p->attach = false;
		p->refused = NULL;
		p->down = jiffies;
		p->next = jiffies;
	}
	m->was_insync = false;
	m->left = false;
	m->open = false;
	smp_store_release(&m->primary, true);	/* after @open; pairs with kfm_map() */
	kfm_event(m, "primary");
	return 0;
}

static void promote_end(struct kfm *m, int ret)
{
	struct kfm_cmd *cmd = m->promote;

	m->promote = NULL;
	kfm_cmd_end(cmd, ret);
}

/*
 * Decide when all answers have arrived, or when the time for them has ended. If the answer of a
 * peer reports a session with a live primary, the primary is not dead, whatever the manager has
 * decided.
 */
static int promote_decide(struct kfm *m)
{
	bool force = has_word(m->promote, "force"), unknown = false;
	struct kfm_peer *p;
	int why = -EPERM;

	kfm_for_each_peer(p, m) {
		if (p->answer == KFM_A_FOLLOWS)
			return -EBUSY;
		if (p->answer == KFM_A_NEWER)
			why = -ESTALE;
		else if (p->answer == KFM_A_SPLIT && why == -EPERM)
			why = -ENOTUNIQ;
		unknown |= p->answer != KFM_A_STATE;
	}
	if (!unknown || force || kfm_promote_voted(m))
		return become_primary(m, force);
	if (!has_word(m->promote, "fenced") || m->policy == KFM_ALONE || !m->was_insync ||
	    m->sb.state != KFM_UPTODATE) {
		DMERR("%s: not promoted: this copy may lack acknowledged writes", kfm_name(m));
		return why;
	}
	return become_primary(m, false);
}

/* Does the copy of a peer permit the promotion? */
static int promote_compared(struct kfm_peer *p, const struct kfm_msg *msg)
{
	enum kfm_verdict verdict = kfm_peer_compare(p, msg);
	struct kfm *m = p->m;

	if (m->policy == KFM_QUORUM) {
		kfm_quorum_vote(p, msg, verdict);
		return 0;
	}
	p->answer = verdict == KFM_OTHER ? KFM_A_NO : KFM_A_STATE;
	if (verdict == KFM_OTHER || has_word(m->promote, "force"))
		return 0;
	if (verdict == KFM_STALE || (m->sb.state == KFM_OUTDATED && verdict != KFM_SAME))
		return -ESTALE;
	return verdict == KFM_SPLIT ? -ENOTUNIQ : 0;
}

static int promote_refused(struct kfm_peer *p, u32 why)
{
	const struct kfm *m = p->m;

	p->answer = why == KFM_R_FOLLOWS ? KFM_A_FOLLOWS : KFM_A_NO;
	if (why == KFM_R_PRIMARY)
		return -EBUSY;
	/* it may have gone on alone, whatever the manager says of it; with a quorum others know */
	if (why == KFM_R_DOUBT && m->policy != KFM_QUORUM && !has_word(m->promote, "force"))
		return -ESTALE;
	return why == KFM_R_BUSY ? -EAGAIN : 0;
}

void kfm_promote_answer(struct kfm_peer *p, const struct kfm_msg *msg)
{
	struct kfm *m = p->m;
	int ret = 0;

	if (msg->type == KFM_STATE)
		ret = promote_compared(p, msg);
	else if (msg->type == KFM_REFUSED)
		ret = promote_refused(p, msg->arg);
	if (ret) {
		promote_end(m, ret);
		return;
	}
	kfm_for_each_peer(p, m) {
		if (p->answer == KFM_A_NONE || p->answer == KFM_A_FOLLOWS)
			return;
	}
	promote_end(m, promote_decide(m));
}

void kfm_promote_tick(struct kfm *m)
{
	struct kfm_peer *p;

	if (time_after(jiffies, m->promote_by)) {
		promote_end(m, promote_decide(m));
		return;
	}
	kfm_for_each_peer(p, m) {
		if (time_before(jiffies, p->next))
			continue;
		p->next = jiffies + REQUEST_EVERY;
		kfm_peer_hello(p, KFM_M_CANDIDATE);
	}
}

static void promote(struct kfm *m, struct kfm_cmd *cmd)
{
	int ret = promote_check(m, cmd);
	struct kfm_peer *p;

	if (ret || m->primary) {	/* by force, below half */
		kfm_cmd_end(cmd, ret);
		return;
	}
	m->promote = cmd;
	/* a peer reports a session with a dead primary until its own time-out */
	m->promote_by = jiffies + m->timeout + 2 * REQUEST_EVERY;
	kfm_for_each_peer(p, m) {
		p->answer = KFM_A_NONE;
		p->next = jiffies;
	}
}

/* ---- the other messages ---- */

/* The byte behind what metadata or a log may use. The last block of a leg has a label. */
static u64 usable_end(const struct dm_dev *dev, bool leg)
{
	return round_down(bdev_nr_bytes(dev->bdev), KFM_BLOCK) - (leg ? KFM_BLOCK : 0);
}

/*
 * Return 0 if the devices are blank, or the log device has the log of a mirror. On the leg all that
 * is going to be written has to be, as the data of another user may be anywhere; of another device
 * the beginning: superblocks at its end, as some of md have, are not looked for.
 */
static int may_format(struct kfm *m)
{
	u64 len = m->internal ? kfm_meta_bytes(m->sectors, kfm_peer_count(m)) : KFM_BLANK_BYTES;
	struct kfm_log_head head;
	int i, ret;

	ret = kfm_meta_blank(m, min(len, usable_end(m->meta, m->internal) - m->meta_at));
	if (ret || !m->logdev)
		return ret;
	for (i = 0; i < 2; i++) {
		ret = kfm_io(m->logdev->bdev, REQ_OP_READ, m->log_at + i * KFM_BLOCK, m->page,
			     KFM_BLOCK);
		if (ret)
			return ret == -ENODATA ? -EIO : ret;
		ret = kfm_log_decode(m->page, &head);
		if (ret != -ENODATA && ret != -EMEDIUMTYPE)
			return 0;
	}
	len = m->log_at ? KFM_RING_AT + m->log.room : KFM_BLANK_BYTES;
	return kfm_blank(m, m->logdev->bdev, m->log_at,
			 min(m->log_at + len, usable_end(m->logdev, m->log_at)));
}

/*
 * The legs of all nodes have the same data: the caller says so. Then there is no first copy. The
 * copies are those of one generation, in which no region was out of sync; each node computes its
 * number from the UUID. A node that was created without the word is blank, and gets a whole copy.
 */
static void create_clean(struct kfm_super *sb)
{
	unsigned int i;

	sb->state = KFM_UPTODATE;
	sb->gens.cur = get_unaligned_le64(sb->uuid) ^ get_unaligned_le64(sb->uuid + 8);
	if (!sb->gens.cur)
		sb->gens.cur = 1;
	for (i = 0; i < sb->peers; i++)
		sb->pairs[i].base = sb->gens.cur;
}

/*
 * The flag that says how the leg is known: by the metadata on it, or by a label if there is room and
 * nothing of value. Return: 0 for none; or a negative error.
 */
static int create_label(struct kfm *m)
{
	int ret = m->witness ? -ENOSPC : kfm_label_may_create(m);

	if (m->internal)
		return ret ?: KFM_SB_INTERNAL;
	if (ret == -EMEDIUMTYPE)
		DMWARN("%s: no label: the leg has data behind the mirror", kfm_name(m));
	if (ret == -EMEDIUMTYPE || ret == -ENOSPC)
		return 0;
	return ret ?: KFM_SB_LABEL;
}

static int create(struct kfm *m, struct kfm_cmd *cmd)
{
	bool clean = cmd->argc == 3 && !strcmp(cmd->argv[2], "clean");
	int ret, label;
	uuid_t uuid;

	if ((cmd->argc != 2 && !clean) || uuid_parse(cmd->argv[1], &uuid))
		return -EINVAL;
	if (m->formatted)
		return -EEXIST;
	ret = may_format(m);
	label = ret ?: create_label(m);
	if (label < 0)
		return label;
	m->sb = (struct kfm_super) {
		.sectors = m->sectors, .node = kfm_random(), .peers = kfm_peer_count(m),
		.flags = (m->logdev ? 0 : KFM_SB_NO_LOG) | (m->witness ? KFM_SB_WITNESS : 0) |
			 label,
	};
	export_uuid(m->sb.uuid, &uuid);
	if (clean)
		create_clean(&m->sb);
	kfm_quorum_witness(m);
	/* twice, to overwrite both copies of a log head that another mirror may have left */
	ret = kfm_bits_create(m) ?: kfm_log_start(m, kfm_random(), 0, 0) ?:
	      kfm_log_start(m, kfm_random(), 0, 0) ?: kfm_label_create(m) ?: kfm_super_save(m);
	m->formatted = !ret;
	if (ret)
		m->sb.node = 0;
	return ret;
}

/**
 * kfm_demote() - become secondary
 * @m: mirror
 *
 * Return: 0; or a negative error, and nothing has changed, or it can be tried again.
 */
int kfm_demote(struct kfm *m)
{
	struct kfm_gens gens = m->sb.gens;
	int ret;

	if (!m->primary)
		return -EALREADY;
	kfm_verify_stop(m);	/* its part ends before the next attempt */
	if (!kfm_writes_idle(m))
		return -EBUSY;
	kfm_repair_bad_rest(m);
	ret = kfm_bits_rest(m) ?: kfm_own_empty(m);
	if (ret)
		return ret;
	m->sb.gens = kfm_quorum_kept(m);
	m->sb.flags &= ~KFM_SB_PRIMARY;
	ret = kfm_super_save(m);
	if (ret) {
		m->sb.gens = gens;
		return ret;
	}
	WRITE_ONCE(m->primary, false);
	WRITE_ONCE(m->repair.bad_count, 0);
	m->leg_failed |= m->detached;	/* the leg is used again after a resume */
	kfm_peers_end(m);
	kfm_event(m, "secondary");
	return 0;
}

/* The manager names an outage of one peer: its confirmation is not valid for a later one. */
static int fenced(struct kfm *m, struct kfm_cmd *cmd)
{
	struct kfm_peer *p;
	unsigned int outage;
	bool down = false;

	if (cmd->argc != 2 || kstrtouint(cmd->argv[1], 10, &outage))
		return -EINVAL;
	if (!m->primary || m->policy != KFM_FENCE)
		return -EINVAL;
	kfm_for_each_peer(p, m) {
		down |= p->state <= KFM_SESSION_HELLO;
		if (outage != p->outage)
			continue;
		if (p->state > KFM_SESSION_HELLO)	/* the peer is back */
			return -EBUSY;
		if (m->leg_failed)
			return -EIO;
		return kfm_is_alone(p) ? 0 : kfm_go_alone(p);
	}
	return down ? -ESTALE : -EBUSY;
}

/* Store that the primary may go on without this copy. */
int kfm_store_outdated(struct kfm *m)
{
	m->was_insync = false;
	if (m->sb.state != KFM_UPTODATE)
		return 0;
	m->sb.state = KFM_OUTDATED;
	return kfm_super_save(m);
}

static int outdate(struct kfm *m)
{
	if (m->primary)
		return -EBUSY;
	if (!m->formatted)
		return -ENODATA;
	if (m->sb.state == KFM_UPTODATE)
		kfm_peers_end(m);
	return kfm_store_outdated(m);
}

/**
 * kfm_invalidate() - make this copy blank
 * @m: formatted secondary; its session ends
 *
 * Return: 0 if the new state is durable, or a negative error.
 */
int kfm_invalidate(struct kfm *m)
{
	struct kfm_peer *p;
	int ret;

	kfm_peers_end(m);
	m->was_insync = false;
	m->sb.state = KFM_BLANK;
	m->sb.flags &= KFM_SB_KEPT;
	memset(&m->sb.gens, 0, sizeof(m->sb.gens));
	memset(m->sb.nodes, 0, sizeof(m->sb.nodes));
	kfm_for_each_peer(p, m) {
		p->session = 0;		/* an ATTACH under way is for the old copy */
		*kfm_pair(p) = (struct kfm_pair) {
			.node = kfm_pair(p)->node, .flags = kfm_pair(p)->flags & KFM_PAIR_WITNESS,
		};
	}
	ret = kfm_super_save(m);
	if (ret)
		return ret;
	kfm_for_each_peer(p, m)
		kfm_bits_clear(p);
	return kfm_bits_flush(m) ?: kfm_log_start(m, kfm_random(), 0, 0);
}

/**
 * kfm_log_unusable() - the device has damaged the log, so acknowledged writes are missing
 * @m: formatted secondary, to which a primary attaches
 *
 * The copy is worthless, but this node knows its generation, and so votes as before: with policy
 * quorum it may be one of two that are left.
 *
 * Return: 0, and the copy is durably blank; or a negative error.
 */
int kfm_log_unusable(struct kfm *m)
{
	struct kfm_super before = m->sb;
	int ret;

	m->was_insync = false;
	m->sb.state = KFM_BLANK;
	m->sb.gens.source = 0;
	ret = kfm_super_save(m);
	if (ret) {
		m->sb = before;
		return ret;
	}
	kfm_event(m, "invalid");
	return kfm_log_start(m, kfm_random(), 0, 0);
}

/**
 * kfm_writes_missing() - acknowledged writes are missing in this copy
 * @m: formatted secondary; its session ends
 *
 * Return: 0, and the copy is durably blank; or a negative error.
 */
int kfm_writes_missing(struct kfm *m)
{
	DMERR("%s: records have been overwritten: this copy is given up", kfm_name(m));
	kfm_event(m, "invalid");
	return kfm_invalidate(m);
}

static int invalidate(struct kfm *m)
{
	if (m->primary)
		return -EBUSY;
	return m->formatted ? kfm_invalidate(m) : -ENODATA;
}

/* The peer with this address, if it is the only one */
static struct kfm_peer *find_peer(const struct kfm *m, const char *node, const char *service)
{
	struct kfm_peer *p, *found = NULL;

	kfm_for_each_peer(p, m) {
		if (strcmp(p->remote[0], node) || strcmp(p->remote[1], service))
			continue;
		if (found)
			return NULL;
		found = p;
	}
	return found;
}

/*
 * Forget which node a peer is, and what was stored about its copy: the next node at the address
 * becomes the peer, and gets the whole copy. A primary goes on as before: alone, or with its writes
 * held. These may end without the old node when the next one has them, so a generation begins: if
 * the old node returns, it does not pass for a copy that is the same. A secondary does not notice
 * that a primary is dead, so its session with a silent one ends.
 */
static int replace(struct kfm *m, struct kfm_cmd *cmd)
{
	struct kfm_peer *p = cmd->argc == 3 ? find_peer(m, cmd->argv[1], cmd->argv[2]) : NULL;
	struct kfm_super before = m->sb;
	struct kfm_pair pair = {};
	int ret;

	if (cmd->argc != 3)
		return -EINVAL;
	if (!m->formatted)
		return -ENODATA;
	if (!p)
		return -ENOENT;
	if (m->detached)	/* there is nothing to copy from */
		return -EIO;
	if (p->state > KFM_SESSION_HELLO &&
	    (m->primary || time_before(jiffies, p->live + m->timeout)))
		return -EBUSY;
	if (m->primary && !kfm_quorate(m))
		return -EBUSY;
	if (p->state == KFM_SESSION_UP)
		kfm_peers_end(m);
	pair.flags = kfm_pair(p)->flags;
	kfm_quorum_forget(p);
	ret = kfm_pair_change(p, &pair);
	if (ret) {
		m->sb = before;
		return ret;
	}
	if (kfm_other_node(p))
		p->refused = NULL;	/* and the next one that is refused is reported */
	p->next = jiffies;
	return 0;
}

/* Parse the limit of a resynchronisation, in a table or a message. Return: 0 or a negative error. */
int kfm_rate_parse(const char *word, unsigned int *kib)
{
	unsigned int rate;
	int ret = kstrtouint(word, 10, &rate);

	if (!ret && rate > KFM_RATE_MAX)
		ret = -ERANGE;
	if (!ret)
		WRITE_ONCE(*kib, rate);
	return ret;
}

static int set_rate(struct kfm *m, struct kfm_cmd *cmd)
{
	unsigned int least = m->rate_min;
	int ret = cmd->argc == 2 || cmd->argc == 3 ? 0 : -EINVAL;

	if (cmd->argc == 3)
		ret = kfm_rate_parse(cmd->argv[2], &least);
	ret = ret ?: kfm_rate_parse(cmd->argv[1], &m->rate);
	if (!ret)
		WRITE_ONCE(m->rate_min, least);
	return ret;
}

static int verify(struct kfm *m, struct kfm_cmd *cmd)
{
	if (cmd->argc == 1 || (cmd->argc == 2 && has_word(cmd, "report")))
		return kfm_verify_start(m, cmd->argc == 2);
	if (cmd->argc != 2 || !has_word(cmd, "stop"))
		return -EINVAL;
	kfm_verify_stop(m);
	return 0;
}

static int other_command(struct kfm *m, struct kfm_cmd *cmd)
{
	const char *word = cmd->argv[0];

	if (!strcmp(word, "create"))
		return create(m, cmd);
	if (!strcmp(word, "rate"))
		return set_rate(m, cmd);
	if (!strcmp(word, "fenced"))
		return fenced(m, cmd);
	if (!strcmp(word, "replace"))
		return replace(m, cmd);
	if (!strcmp(word, "verify"))
		return verify(m, cmd);
	if (cmd->argc != 1)
		return -EINVAL;
	if (!strcmp(word, "demote"))
		return m->primary && kfm_in_use(m) ? -EBUSY : kfm_demote(m);
	if (!strcmp(word, "detach"))
		return m->primary ? kfm_detach(m) : -EINVAL;
	if (!strcmp(word, "outdate"))
		return outdate(m);
	return strcmp(word, "invalidate") ? -EINVAL : invalidate(m);
}

/* ---- suspend: a command without words ---- */

static void stop_begin(struct kfm *m, struct kfm_cmd *cmd)
{
	struct kfm_peer *p;

	if (m->promote)
		promote_end(m, -EINTR);
	kfm_leave_end(m, -EINTR);
	kfm_verify_stop(m);
	m->stop = cmd;
	kfm_sessions_drop(m);
	kfm_for_each_peer(p, m)
		kfm_net_close(p);
}

/* Are all endpoints closed? stop_begin() does not close one that is being opened. */
static bool nets_closed(struct kfm *m)
{
	struct kfm_peer *p;
	bool closed = true;

	kfm_for_each_peer(p, m) {
		closed &= !kfm_busy(&p->net.opening);
		kfm_net_close(p);
	}
	return closed;
}

/* End a suspend when no operation is in flight any more. dm has waited for its bios before. */
static void stop_tick(struct kfm *m)
{
	struct kfm_cmd *cmd = m->stop;
	bool last;
	int ret;

	if (!cmd || !nets_closed(m) || !kfm_writes_idle(m) || !list_empty(&m->draining) ||
	    kfm_serve_busy(m))
		return;
	ret = kfm_own_empty(m);
	if (m->formatted) {
		ret = kfm_bits_rest(m) ?: ret;
		kfm_label_renew(m);
	}
	spin_lock_irq(&m->lock);
	last = list_empty(&m->cmds);
	if (last)
		m->active = false;
	spin_unlock_irq(&m->lock);
	if (!last) {	/* end the commands that arrived meanwhile first */
		kfm_kick(m);
		return;
	}
	m->stop = NULL;
	kfm_cmd_end(cmd, ret);
}

/* ---- the queue ---- */

static struct kfm_cmd *next_cmd(struct kfm *m)
{
	struct kfm_cmd *cmd;

	spin_lock_irq(&m->lock);
	cmd = list_first_entry_or_null(&m->cmds, struct kfm_cmd, entry);
	if (cmd)
		list_del(&cmd->entry);
	spin_unlock_irq(&m->lock);
	return cmd;
}

/* Does a command end the sessions of a primary? */
static bool ends_sessions(const struct kfm_cmd *cmd)
{
	return !cmd->argc || !strcmp(cmd->argv[0], "demote");
}

static void cmd_back(struct kfm *m, struct kfm_cmd *cmd)
{
	spin_lock_irq(&m->lock);
	list_add(&cmd->entry, &m->cmds);
	spin_unlock_irq(&m->lock);
}

/* Execute the queued commands. One that ends sessions may wait for a flush, with those behind. */
void kfm_commands(struct kfm *m)
{
	struct kfm_cmd *cmd;

	while ((cmd = next_cmd(m))) {
		if (ends_sessions(cmd) && !m->stop && !kfm_flush_settles(m)) {
			cmd_back(m, cmd);
			break;
		}
		if (!cmd->argc)
			stop_begin(m, cmd);
		else if (m->stop)
			kfm_cmd_end(cmd, -EBUSY);
		else if (!strcmp(cmd->argv[0], "promote"))
			promote(m, cmd);
		else if (!strcmp(cmd->argv[0], "leave"))
			kfm_leave(m, cmd);
		else
			kfm_cmd_end(cmd, other_command(m, cmd));
	}
	stop_tick(m);
}

/**
 * kfm_command() - queue a command for the worker and wait for its result
 * @m: mirror
 * @argc: number of words; 0 stops the worker
 * @argv: the words
 *
 * Return: 0 or a negative error; -EBUSY while the mirror is suspended.
 */
int kfm_command(struct kfm *m, unsigned int argc, char **argv)
{
	struct kfm_cmd cmd = { .argc = argc, .argv = argv };

	init_completion(&cmd.done);
	spin_lock_irq(&m->lock);
	if (!m->active) {
		spin_unlock_irq(&m->lock);
		return -EBUSY;
	}
	list_add_tail(&cmd.entry, &m->cmds);
	spin_unlock_irq(&m->lock);
	kfm_kick(m);
	wait_for_completion(&cmd.done);
	return cmd.ret;
}
