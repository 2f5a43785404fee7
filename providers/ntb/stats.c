// SPDX-License-Identifier: GPL-2.0
/*
 * stats.c - state, counters and health of a bridge in debugfs. kfi.ko has the counters of
 * endpoints.
 */
#include <linux/debugfs.h>
#include <linux/seq_file.h>
#include "bridge.h"

/* Add counters, a structure of numbers of 64 bits. */
static void nt_count(void *sum, const void *more, size_t len)
{
	u64 *to = sum;
	const u64 *from = more, *end = more + len;

	while (from < end)
		*to++ += READ_ONCE(*from++);
}

static int stats_show(struct seq_file *seq, void *v)
{
	const struct nt_link *link = seq->private;
	struct nt_copies copies = {}, *c = &copies;
	struct nt_stats stats = {}, *s = &stats;
	unsigned int i;

	for (i = 0; i < link->rings; i++) {
		nt_count(s, &link->ring[i].stats, sizeof(*s));
		nt_count(c, &link->ring[i].engine.count, sizeof(*c));
	}

	seq_printf(seq, "up %d\nexposes_all %d\nflat_in_use %d\n", nt_link_is_up(link),
		   nt_link_exposes_all(link), nt_link_flat_in_use(link));
	seq_printf(seq, "queues %u\nreaches_flat %d\nmapped %zu\n", READ_ONCE(link->queues),
		   !!READ_ONCE(link->ring[0].engine.flat_len), nt_map_used(link));
	seq_printf(seq, "records_out %llu\nrecords_in %llu\n", s->records_out, s->records_in);
	seq_printf(seq, "bytes_out %llu\nbytes_in %llu\n", s->bytes_out, s->bytes_in);
	seq_printf(seq, "descriptors %llu\ndma_bytes %llu\ncpu_bytes %llu\n", c->descriptors,
		   c->dma_bytes, c->cpu_bytes + c->work_bytes);
	seq_printf(seq, "batches %llu\nmessages %llu\nlines %llu\n", s->batches, s->messages,
		   s->lines);
	seq_printf(seq, "signals %llu\nsignals_saved %llu\ninterrupts %llu\n", s->signals,
		   s->signals_saved, (u64)atomic64_read(&link->interrupts));
	seq_printf(seq, "full %llu\nengine_full %llu\nunmapped %llu\n", s->full, c->full,
		   c->unmapped);
	seq_printf(seq, "crc %d\ncrc_placed %d\ncrc_errors %llu\n", link->ring[0].crc, link->checks,
		   s->crc_errors + atomic64_read(&link->torn));
	seq_printf(seq, "dma_errors %llu\nprotocol_errors %llu\n", s->dma_errors + c->refused,
		   s->protocol_errors);
	seq_printf(seq, "ups %llu\nresets %llu\n", link->ups, link->resets);
	seq_printf(seq, "places %u\n", nt_pages_pinned(link));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(stats);

static void health_engine(struct seq_file *seq, const struct nt_engine *e)
{
	const char *bad = READ_ONCE(e->bad);

	if (!e->chan)
		seq_puts(seq, "engine: none: the CPU copies. Load the driver of one before kfi_ntb\n");
	else if (bad)
		seq_printf(seq, "engine: %s (%s) is not used: %s. The CPU copies\n",
			   dma_chan_name(e->chan), nt_engine_driver(e), bad);
	else
		seq_printf(seq, "engine: %s (%s)%s\n", dma_chan_name(e->chan), nt_engine_driver(e),
			   nt_engine_reports(e) ? "" : ", which may hide errors: see crc_placed");
}

/* What works, and what is done without: for the administrator */
static int health_show(struct seq_file *seq, void *v)
{
	const struct nt_link *link = seq->private;
	const struct nt_bells *bells = &link->bells;
	u32 side = nt_link_side(link);
	unsigned int i;

	if (side == NT_NO_SIDE)
		seq_puts(seq, "end: not known before the link is up\n");
	else
		seq_printf(seq, "end: %u%s\n", side, link->draws ? ", as both ends agree" : "");
	for (i = 0; i < READ_ONCE(link->queues); i++)
		health_engine(seq, &link->ring[i].engine);
	seq_printf(seq, "doorbells: %s%s\n", bells->why ? "the CPU rings: " : "the engine rings",
		   bells->why ?: "");
	if (bells->good != U64_MAX)
		seq_printf(seq, "doorbells: these ring: %#llx\n", bells->good);
	seq_printf(seq, "window %d: %s\n", link->win.index,
		   !link->win.proven ? "not tried yet" :
		   link->win.unshut ? "can't be shut: the bridge is not used" : "is shut when closed");
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(health);

void nt_link_show(struct nt_link *link)
{
	debugfs_create_file("stats", 0400, link->debugfs, link, &stats_fops);
	debugfs_create_file("health", 0400, link->debugfs, link, &health_fops);
}
