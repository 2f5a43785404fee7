// SPDX-License-Identifier: GPL-2.0
/*
 * stats.c - state and counters of a bridge in debugfs, and its parts for "kfi show devices".
 * kfi.ko has the counters of endpoints.
 */
#include <linux/debugfs.h>
#include <linux/seq_file.h>
#include <kfi_prov.h>
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
	seq_printf(seq, "batches %llu\nmessages %llu\nbursts %llu\nlines %llu\n", s->batches,
		   s->messages, s->bursts, s->lines);
	seq_printf(seq, "signals %llu\nsignals_saved %llu\ninterrupts %llu\n", s->signals,
		   s->signals_saved, (u64)atomic64_read(&link->interrupts));
	seq_printf(seq, "late %llu\nreads_first %d\n", s->late, READ_ONCE(link->ring[0].flush));
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

/* ---- parts: what is used of a bridge and its engines ---- */

struct nt_shown {
	int		(*emit)(void *arg, const struct kfi_part *part);
	void		*arg;
	struct kfi_part	part;
	bool		up;
	char		state[200];
};

static __printf(4, 5) int nt_part(struct nt_shown *w, const char *name, const char *help,
				  const char *state, ...)
{
	va_list args;

	va_start(args, state);
	vscnprintf(w->state, sizeof(w->state), state, args);
	va_end(args);
	w->part.nr++;
	w->part.name = name;
	w->part.state = w->state;
	w->part.help = help;
	return w->emit(w->arg, &w->part);
}

static int nt_part_engine(struct nt_shown *w, const struct nt_engine *e)
{
	const struct nt_reason *bad = READ_ONCE(e->bad);
	char name[64] = "engine";

	if (e->chan)
		scnprintf(name, sizeof(name), "engine %s (%s)", dma_chan_name(e->chan),
			  nt_engine_driver(e));
	if (READ_ONCE(e->hangs))
		return nt_part(w, name, "reset it, and load kfi_ntb again",
			       "hangs and can't be stopped: the link waits for it");
	if (bad)
		return nt_part(w, name, bad->help, "the CPU copies: %s", bad->why);
	if (!w->up)
		return nt_part(w, name, NULL, "is tried before the link is up");
	if (nt_engine_reports(e))
		return nt_part(w, name, NULL, "copies");
	return nt_part(w, name, "see crc_placed in kfi_ntb(7)", "copies, and may hide errors");
}

static int nt_part_bells(struct nt_shown *w, const struct nt_link *link)
{
	const struct nt_bells *bells = &link->bells;
	const char *why = READ_ONCE(bells->why);
	char some[40] = "";
	bool flush = false;
	unsigned int i;

	if (!w->up)
		return nt_part(w, "doorbells", NULL, "are tried before the link is up");
	if (bells->good != U64_MAX)
		scnprintf(some, sizeof(some), "; these ring: %#llx", bells->good);
	for (i = 0; i < READ_ONCE(link->queues); i++)
		flush |= READ_ONCE(link->ring[i].flush);
	if (flush)
		why = "they overtake what was written, so it reads from the window before";
	return nt_part(w, "doorbells", NULL, "%s%s%s", why ? "the CPU rings: " : "the engine rings",
		       why ?: "", some);
}

static int nt_part_window(struct nt_shown *w, const struct nt_window *win)
{
	char name[16];

	scnprintf(name, sizeof(name), "window %d", win->index);
	if (!win->proven)
		return nt_part(w, name, NULL, "is tried before the first life of the link");
	if (win->unshut)
		return nt_part(w, name, "none: this bridge can't be used",
			       "can't be shut: the link stays down");
	return nt_part(w, name, NULL, win->scrap ? "shows scrap memory when closed" :
						   "is shut when closed");
}

static int nt_part_flat(struct nt_shown *w, const struct nt_flat *flat)
{
	const char *why = READ_ONCE(flat->why);
	int peer = READ_ONCE(flat->peer);
	char name[40];

	if (!w->up || peer < 0)
		return 0;
	scnprintf(name, sizeof(name), "flat window %d of the peer", peer);
	if (why)
		return nt_part(w, name, NULL, "is not written to: %s", why);
	return nt_part(w, name, NULL, "the engine writes there");
}

static int nt_part_link(struct nt_shown *w, const struct nt_link *link)
{
	char awaited[160];
	const char *help;

	if (w->up)
		return nt_part(w, "link", NULL, "up");
	help = nt_await_say(link, awaited, sizeof(awaited));
	return nt_part(w, "link", help, "waits for %s", awaited);
}

int nt_link_parts(const struct nt_link *link, u32 device,
		  int (*emit)(void *arg, const struct kfi_part *part), void *arg)
{
	struct nt_shown w = {
		.emit = emit, .arg = arg,
		.part = { .domain = nt_link_name(link), .device = device },
		.up = nt_link_is_up(link),
	};
	u32 side = nt_link_side(link);
	unsigned int i;
	int ret;

	ret = nt_part_link(&w, link);
	if (ret)
		return ret;
	if (side == NT_NO_SIDE)
		ret = nt_part(&w, "end", NULL, "not known before the link is up");
	else
		ret = nt_part(&w, "end", NULL, "%u, %s", side,
			      link->draws ? "as both ends agree" : "by the driver");
	for (i = 0; i < READ_ONCE(link->queues) && !ret; i++)
		ret = nt_part_engine(&w, &link->ring[i].engine);
	return ret ?: nt_part_bells(&w, link) ?: nt_part_window(&w, &link->win) ?:
	       nt_part_flat(&w, &link->flat);
}

void nt_link_show(struct nt_link *link)
{
	debugfs_create_file("stats", 0400, link->debugfs, link, &stats_fops);
}
