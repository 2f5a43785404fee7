// SPDX-License-Identifier: GPL-2.0
/*
 * stats.c - what is counted, for reading: debugfs kfi_ntb_mock/stats; and the directory.
 */
#include <linux/debugfs.h>
#include <linux/export.h>
#include <linux/seq_file.h>
#include <linux/string.h>
#include "command.h"
#include "mock.h"

static struct dentry *nm_dir;

static const char *const nm_count_name[NM_COUNTS] = {
	[NM_CPU_WRITES] = "cpu_writes", [NM_CPU_BYTES] = "cpu_bytes",
	[NM_CPU_READS] = "cpu_reads",	[NM_DMA_WRITES] = "dma_writes",
	[NM_DMA_BYTES] = "dma_bytes",	[NM_DMA_READS] = "dma_reads",
	[NM_REG_READS] = "reg_reads",	[NM_REG_WRITES] = "reg_writes",
	[NM_BELLS_RUNG] = "bells_rung", [NM_DEAD] = "lost_dead",
	[NM_CLOSED] = "lost_closed",	[NM_BEYOND] = "lost_beyond",
	[NM_FAULT] = "lost_fault",	[NM_BELL_IRQS] = "bell_irqs",
	[NM_LINK_IRQS] = "link_irqs",	[NM_LOST_IRQS] = "lost_irqs",
};

u64 kfi_ntb_mock_count(int bridge, int port, const char *name)
{
	int i = match_string(nm_count_name, NM_COUNTS, name);

	if (i < 0 || bridge < 0 || bridge >= nm_bridges || port < 0 || port > 1)
		return ~0ULL;
	return atomic64_read(&nm_bridge[bridge].end[port].count[i]);
}
EXPORT_SYMBOL_GPL(kfi_ntb_mock_count);

static void nm_show_end(struct seq_file *file, const struct nm_end *end)
{
	int i;

	seq_printf(file, "end %d.%d present %d enabled %d seen_up %d", end->bridge->index,
		   end->port, end->present, end->enabled, end->seen_up);
	for (i = 0; i < NM_COUNTS; i++)
		seq_printf(file, " %s %llu", nm_count_name[i], (u64)atomic64_read(&end->count[i]));
	seq_putc(file, '\n');
}

/*
 * A line for each bridge, end and channel; pairs of name and number. Not one moment: each number is
 * exact by itself.
 */
static int nm_stats_show(struct seq_file *file, void *unused)
{
	int i;

	for (i = 0; i < nm_bridges; i++) {
		seq_printf(file, "link %d up %d held %d\n", i, nm_bridge[i].up, nm_bridge[i].held);
		nm_show_end(file, &nm_bridge[i].end[0]);
		nm_show_end(file, &nm_bridge[i].end[1]);
	}
	nm_dma_show(file);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(nm_stats);

void nm_stats_init(void)
{
	nm_dir = debugfs_create_dir("kfi_ntb_mock", NULL);
	debugfs_create_file("stats", 0444, nm_dir, NULL, &nm_stats_fops);
	debugfs_create_file("control", 0200, nm_dir, NULL, &nm_control_fops);
}

void nm_stats_exit(void)
{
	debugfs_remove_recursive(nm_dir);
}
