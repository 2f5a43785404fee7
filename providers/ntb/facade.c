// SPDX-License-Identifier: GPL-2.0
/*
 * facade.c - a link as the endpoints (link.h) and an administrator see it.
 */
#include <linux/debugfs.h>
#include <linux/seq_file.h>
#include "bridge.h"

/* ---- for the endpoints ---- */

void *nt_link_priv(const struct nt_link *link)
{
	return link->priv;
}

const char *nt_link_name(const struct nt_link *link)
{
	return dev_name(&link->ntb->dev);
}

struct device *nt_link_device(const struct nt_link *link)
{
	return &link->ntb->dev;
}

int nt_link_node(const struct nt_link *link)
{
	return dev_to_node(ntb_get_dma_dev(link->ntb));
}

u32 nt_link_side(const struct nt_link *link)
{
	return ntb_port_number(link->ntb);
}

u32 nt_link_peer_side(const struct nt_link *link)
{
	return ntb_peer_port_number(link->ntb, NT_PEER);
}

bool nt_link_hung(const struct nt_link *link)
{
	return READ_ONCE(link->hung);
}

bool nt_link_is_up(const struct nt_link *link)
{
	return READ_ONCE(link->state) == NT_LINK_UP;
}

int nt_link_wait_up(struct nt_link *link, unsigned int ms)
{
	long left = wait_event_interruptible_timeout(link->wait, nt_link_is_up(link),
						     msecs_to_jiffies(ms));

	return left > 0 ? 0 : left ?: -ETIMEDOUT;
}

u32 nt_rec_room(const struct nt_link *link)
{
	return ntw_rec_max(link->ring.out.size);
}

u32 nt_rec_room_own(const struct nt_link *link)
{
	return ntw_rec_max(link->win.ring);
}

int nt_post(struct nt_link *link, struct nt_rec *rec, bool more)
{
	return nt_ring_post(&link->ring, rec, more);
}

int nt_put(struct nt_link *link, const struct kvec *vec, unsigned int n, struct iov_iter *iter,
	   u32 len, bool more)
{
	return nt_ring_put(&link->ring, vec, n, iter, len, more);
}

void nt_want_room(struct nt_link *link)
{
	nt_ring_want(&link->ring);
}

void nt_kick(struct nt_link *link)
{
	nt_ring_kick(&link->ring);
}

bool nt_unpost(struct nt_link *link, struct nt_rec *rec)
{
	return nt_ring_unpost(&link->ring, rec);
}

void nt_drain(struct nt_link *link)
{
	nt_ring_drain(&link->ring);
}

void nt_payload_in(struct nt_link *link, size_t bytes, bool placed)
{
	atomic64_add(bytes, placed ? &link->placed : &link->bounced);
}

bool nt_link_reaches_flat(const struct nt_link *link)
{
	return READ_ONCE(link->ring.engine.flat_len);
}

unsigned int nt_link_life(const struct nt_link *link)
{
	return READ_ONCE(link->life);
}

void nt_link_fault(struct nt_link *link, unsigned int life, const char *why)
{
	bool meant;

	spin_lock_bh(&link->lock);
	meant = link->life == life;
	if (meant) {
		link->why = why;
		set_bit(NT_EV_FAULT, &link->events);
	}
	spin_unlock_bh(&link->lock);
	if (meant)
		nt_link_queue(link);
}

bool nt_link_checks(const struct nt_link *link)
{
	return READ_ONCE(link->checks);
}

bool nt_link_crc(const struct nt_link *link)
{
	return READ_ONCE(link->ring.crc);
}

void nt_link_torn(struct nt_link *link, unsigned int life)
{
	atomic64_inc(&link->torn);
	nt_link_fault(link, life, "placed payload is not what was written");
}

void nt_link_stats(const struct nt_link *link, struct nt_stats *stats)
{
	const struct nt_copies *copies = &link->ring.engine.count;

	*stats = link->ring.stats;
	stats->descriptors = copies->descriptors;
	stats->dma_bytes = copies->dma_bytes;
	stats->cpu_bytes = copies->cpu_bytes;
	stats->engine_full = copies->full;
	stats->dma_errors += copies->refused;
	stats->unmapped = copies->unmapped;
	stats->interrupts = atomic64_read(&link->interrupts);
	stats->bounced = atomic64_read(&link->bounced);
	stats->placed = atomic64_read(&link->placed);
	stats->crc_errors += atomic64_read(&link->torn);
	stats->ups = link->ups;
	stats->resets = link->resets;
}

/* ---- what an administrator sees ---- */

static int stats_show(struct seq_file *seq, void *v)
{
	const struct nt_link *link = seq->private;
	struct nt_stats s;

	nt_link_stats(link, &s);
	seq_printf(seq, "up %d\nexposes_all %d\nflat_in_use %d\n", nt_link_is_up(link),
		   nt_link_exposes_all(link), nt_link_flat_in_use(link));
	seq_printf(seq, "reaches_flat %d\nmapped %zu\n", nt_link_reaches_flat(link),
		   nt_map_used(link));
	seq_printf(seq, "records_out %llu\nrecords_in %llu\n", s.records_out, s.records_in);
	seq_printf(seq, "bytes_out %llu\nbytes_in %llu\n", s.bytes_out, s.bytes_in);
	seq_printf(seq, "descriptors %llu\ndma_bytes %llu\ncpu_bytes %llu\n", s.descriptors,
		   s.dma_bytes, s.cpu_bytes);
	seq_printf(seq, "batches %llu\nlines %llu\n", s.batches, s.lines);
	seq_printf(seq, "signals %llu\nsignals_saved %llu\ninterrupts %llu\n", s.signals,
		   s.signals_saved, s.interrupts);
	seq_printf(seq, "full %llu\nengine_full %llu\nunmapped %llu\n", s.full, s.engine_full,
		   s.unmapped);
	seq_printf(seq, "bounced %llu\nplaced %llu\n", s.bounced, s.placed);
	seq_printf(seq, "crc %d\ncrc_placed %d\ncrc_errors %llu\n", link->ring.crc, link->checks,
		   s.crc_errors);
	seq_printf(seq, "dma_errors %llu\nprotocol_errors %llu\n", s.dma_errors, s.protocol_errors);
	seq_printf(seq, "ups %llu\nresets %llu\n", s.ups, s.resets);
	seq_printf(seq, "places %u\n", nt_pages_pinned(link));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(stats);

void nt_link_show(struct nt_link *link)
{
	debugfs_create_file("stats", 0400, link->debugfs, link, &stats_fops);
}
