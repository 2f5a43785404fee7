// SPDX-License-Identifier: GPL-2.0
/*
 * command.c - dm messages and suspend: the worker executes each command while the caller waits.
 * promote.c and leave.c have those that take longer than a run of the worker.
 *
 *   create UUID [clean]		format the metadata device of this node
 *   promote [fenced|force]	become primary
 *   demote			become secondary, unless the device is mounted
 *   fenced OUTAGE		policy fence: the peer is outdated or powered off; write alone
 *   outdate			secondary: the primary continues without this copy
 *   leave			secondary: the same, and the primary is told, before this node stops
 *   invalidate			secondary: declare this copy worthless
 *   replace NODE SERVICE	forget which node this peer is: the next one takes its place
 *   verify [report|stop]	primary: compare the copies, and report what differs
 *   verify repair-from here|majority|NODE SERVICE
 *				primary: compare them, and overwrite what differs by what this copy
 *				has, that of this peer, or more than half of all
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
#include "copy.h"
#include "label.h"
#include "leave.h"
#include "leg.h"
#include "log.h"
#include "meta.h"
#include "mirror.h"
#include "peer.h"
#include "promote.h"
#include "quorum.h"
#include "refuse.h"
#include "repair.h"
#include "rest.h"
#include "resync.h"
#include "session.h"
#include "verify.h"
#include "write.h"

/* ---- messages ---- */

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
 * The flag that says how the leg is known: by the metadata on it, or by a label if there is room
 * and nothing of value. Return: 0 for none; or a negative error.
 */
static int create_label(struct kfm *m, const u8 *uuid)
{
	int ret = m->witness ? -ENOSPC : kfm_label_may_create(m, uuid);

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
	u8 bytes[UUID_SIZE];
	int ret, label;
	uuid_t uuid;

	if ((cmd->argc != 2 && !clean) || uuid_parse(cmd->argv[1], &uuid))
		return -EINVAL;
	if (m->formatted)
		return -EEXIST;
	/* An attempt that has failed may have left one superblock. */
	if (m->meta_failed && kfm_super_clear(m, m->meta_at))
		return -EIO;
	m->meta_failed = false;
	export_uuid(bytes, &uuid);
	ret = may_format(m) ?: kfm_label_name(m, bytes);
	label = ret ?: create_label(m, bytes);
	if (label < 0)
		return label;
	m->sb = (struct kfm_super) {
		.sectors = m->sectors, .node = kfm_random(), .peers = kfm_peer_count(m),
		.flags = (m->logdev ? 0 : KFM_SB_NO_LOG) | (m->witness ? KFM_SB_WITNESS : 0) |
			 label,
	};
	memcpy(m->sb.uuid, bytes, sizeof(bytes));
	if (clean)
		create_clean(&m->sb);
	kfm_quorum_witness(m);
	ret = kfm_bits_create(m) ?: kfm_log_start(m, kfm_random(), 0, 0) ?:
	      kfm_label_create(m) ?: kfm_super_save(m);
	m->formatted = !ret;
	if (ret)
		m->sb.node = 0;
	else if (m->internal && kfm_label_tag(m, m->meta_at, m->sectors))
		DMWARN("%s: can't write the last block of the leg", kfm_name(m));
	return ret;
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
		if (strcmp(p->rails[0]->remote[0], node) ||
		    strcmp(p->rails[0]->remote[1], service))
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
	m->sb.heard[p->index] = (struct kfm_heard) {};
	kfm_quorum_forget(p);
	ret = kfm_pair_change(p, &pair);
	if (ret) {
		m->sb = before;
		return ret;
	}
	if (kfm_other_node(p))
		p->refused = 0;	/* and the next one that is refused is reported */
	p->next = jiffies;
	return 0;
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

/* Whose copy is the right one has to be said: with two of them nothing else tells. */
static int verify(struct kfm *m, struct kfm_cmd *cmd)
{
	const char *word = cmd->argc > 1 ? cmd->argv[1] : "report";
	struct kfm_peer *p;

	if (cmd->argc <= 2 && !strcmp(word, "report"))
		return kfm_verify_start(m, KFM_VERIFY_REPORT, NULL);
	if (cmd->argc == 2 && !strcmp(word, "stop")) {
		kfm_verify_stop(m);
		return 0;
	}
	if (cmd->argc < 3 || cmd->argc > 4 || strcmp(word, "repair-from"))
		return -EINVAL;
	if (cmd->argc == 3 && !strcmp(cmd->argv[2], "here"))
		return kfm_verify_start(m, KFM_VERIFY_HERE, NULL);
	if (cmd->argc == 3)
		return strcmp(cmd->argv[2], "majority") ? -EINVAL :
		       kfm_verify_start(m, KFM_VERIFY_MAJORITY, NULL);
	p = find_peer(m, cmd->argv[2], cmd->argv[3]);
	return p && !p->witness ? kfm_verify_start(m, KFM_VERIFY_PEER, p) : -ENOENT;
}

/* Has a file system, or another user that is alone, the device open? */
static bool in_use(const struct kfm *m)
{
	const struct gendisk *disk = dm_disk(dm_table_get_md(m->ti->table));

	return READ_ONCE(disk->part0->bd_holder);
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
		return m->primary && in_use(m) ? -EBUSY : kfm_demote(m);
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

	kfm_promote_end(m, -EINTR);
	kfm_leave_end(m, -EINTR);
	kfm_verify_stop(m);
	m->stop = cmd;
	kfm_sessions_drop(m);
	kfm_for_each_peer(p, m)
		kfm_peer_close(p);
}

/* Are all endpoints closed? stop_begin() does not close one that is being opened. */
static bool nets_closed(struct kfm *m)
{
	struct kfm_rail *rail;
	struct kfm_peer *p;
	bool closed = true;

	kfm_for_each_peer(p, m) {
		kfm_for_each_rail(rail, p)
			closed &= !kfm_busy(&rail->opening);
		kfm_peer_close(p);
	}
	return closed;
}

/* End a suspend when no operation is in flight any more. dm has waited for its bios before. */
static void stop_tick(struct kfm *m)
{
	struct kfm_cmd *cmd = m->stop;
	bool last;
	int ret = 0;

	if (!cmd || !nets_closed(m) || !kfm_writes_idle(m) || !list_empty(&m->draining) ||
	    kfm_serve_busy(m))
		return;
	if (m->formatted) {
		ret = kfm_bits_rest(m);
		kfm_label_renew(m);
		if (!ret)
			kfm_rest_begin(m);
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

/*
 * Has a comparison ended that a demotion ends? Its part is in flight until this node has read, or
 * written, its leg. A leg that hangs does not hold up `detach`, which would be behind: the demotion
 * is refused after the time of a part. A suspend waits for all that is in flight, see stop_tick().
 */
static bool verify_settles(struct kfm *m, const struct kfm_cmd *cmd)
{
	if (!cmd->argc || cmd->argc > 1 || !m->primary || in_use(m))
		return true;
	kfm_verify_stop(m);
	return !m->verify.w || time_after(jiffies, m->verify.deadline + m->timeout);
}

static void cmd_back(struct kfm *m, struct kfm_cmd *cmd)
{
	spin_lock_irq(&m->lock);
	list_add(&cmd->entry, &m->cmds);
	spin_unlock_irq(&m->lock);
}

/*
 * Execute the queued commands. One that ends sessions may wait for a flush, or for a part that is
 * compared, with those behind.
 */
void kfm_commands(struct kfm *m)
{
	struct kfm_cmd *cmd;

	while ((cmd = next_cmd(m))) {
		if (ends_sessions(cmd) && !m->stop &&
		    (!verify_settles(m, cmd) || !kfm_flush_settles(m))) {
			cmd_back(m, cmd);
			break;
		}
		if (!cmd->argc)
			stop_begin(m, cmd);
		else if (m->stop)
			kfm_cmd_end(cmd, -EBUSY);
		else if (!strcmp(cmd->argv[0], "promote"))
			kfm_promote(m, cmd);
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
