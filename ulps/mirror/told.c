// SPDX-License-Identifier: GPL-2.0
/*
 * told.c - a disk may give back what it had before, with its right checksum. Nothing in that tells
 * so, but somebody else remembers that there was something later. README.md, Who remembers what,
 * has all of these; this file has the peers.
 *
 * Whatever a node stores has a serial number, which never becomes smaller. In most messages a node
 * says what it has stored, and a peer remembers that, in its superblock, too, whenever that is
 * written for another reason. HELLO and STATE tell their receiver what the sender remembers of it.
 * A node that has less has lost something: it is in doubt, as after damage of a superblock, or its
 * log is unusable, as after damage of a head.
 *
 * The number of a node goes with it, so a node that has taken the place of another one, and begins
 * with the serial number 1, is told nothing.
 *
 * The worker runs all of it.
 */
#include "event.h"
#include "log.h"
#include "meta.h"
#include "mirror.h"
#include "peer.h"
#include "told.h"

/* What this node has stored, in HELLO, STATE, SYNCED, SYNCED_OK, PING, PONG and APPLIED */
void kfm_told_speaks(const struct kfm *m, struct kfm_msg *msg)
{
	msg->super = m->sb.serial;
	msg->head = m->log.head.serial;
}

static bool speaks(u16 type)
{
	switch (type) {
	case KFM_HELLO:
	case KFM_STATE:
	case KFM_SYNCED:
	case KFM_SYNCED_OK:
	case KFM_PING:
	case KFM_PONG:
	case KFM_APPLIED:
		return true;
	default:
		return false;
	}
}

static u64 believed(u64 serial)
{
	return serial <= KFM_SERIAL_MAX ? serial : 0;
}

/**
 * kfm_told_hears() - remember what a node has stored
 * @p: peer
 * @msg: any message of it
 *
 * In memory: on the device it is remembered with the next superblock.
 */
void kfm_told_hears(struct kfm_peer *p, const struct kfm_msg *msg)
{
	struct kfm_heard *heard = &p->m->sb.heard[p->index];

	if (!speaks(msg->type) || !msg->node || msg->node != kfm_pair(p)->node)
		return;
	heard->super = max(heard->super, believed(msg->super));
	heard->head = max(heard->head, believed(msg->head));
}

/* In HELLO and STATE: what this node remembers of the receiver */
void kfm_told_tells(const struct kfm_peer *p, struct kfm_msg *msg)
{
	const struct kfm_heard *heard = &p->m->sb.heard[p->index];

	msg->told_node = kfm_pair(p)->node;
	msg->told_super = heard->super;
	msg->told_head = heard->head;
}

/* Does the sender of HELLO or STATE know of a later superblock of this node? */
bool kfm_told_knows(const struct kfm *m, const struct kfm_msg *msg)
{
	return m->sb.node && msg->told_node == m->sb.node &&
	       believed(msg->told_super) > m->sb.serial;
}

/**
 * kfm_told_takes() - take what another node remembers of this one
 * @m: secondary, or a node that asks before a promotion
 * @msg: HELLO or STATE
 *
 * What a peer knows of the superblock is stored: this node is in doubt from now on, and goes on
 * with a serial number behind that. What it knows of the head of the log counts when the log is
 * read, until the next log begins.
 *
 * Return: is this node in doubt because of the message?
 */
bool kfm_told_takes(struct kfm *m, const struct kfm_msg *msg)
{
	if (m->sb.node && msg->told_node == m->sb.node)
		m->log.told = max(m->log.told, believed(msg->told_head));
	if (!kfm_told_knows(m, msg))
		return false;
	kfm_super_doubt(m, "a peer knows of a later superblock");
	m->was_insync = false;
	m->sb.serial = msg->told_super + KFM_SERIAL_STEP;
	kfm_super_save(m);
	kfm_event(m, "invalid");
	return true;
}

/**
 * kfm_told_longer() - does the log of a peer go further than that of this node did?
 * @p: peer that has answered a candidate, whose log has been replayed
 *
 * Both logs were written by one primary, whose writes have numbers, in the present generation. Of a
 * log that this table has begun it knows how far that went. Otherwise the last records may have
 * been lost, and may have been acknowledged.
 */
bool kfm_told_longer(const struct kfm_peer *p)
{
	const struct kfm_log *log = &p->m->log;

	return log->begun != log->head.id && p->log_epoch && p->log_epoch == log->head.epoch &&
	       p->log_number > log->head.number;
}
