// SPDX-License-Identifier: GPL-2.0
/*
 * control.c - commands: debugfs kfi_ntb_mock/control takes one line a write. What went wrong is the
 * write's error.
 *
 *   link 0 lag 1000        link, end or channel, which one, the command and its numbers; README.md has all
 */
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/export.h>
#include <linux/kstrtox.h>
#include <linux/mutex.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include "command.h"
#include "dma.h"
#include "mock.h"

#define NM_NUMBERS	3	/* maximum of numbers in a command */
#define NM_LINE		80

/* Serializes commands, because they add and remove devices */
static DEFINE_MUTEX(nm_control_lock);

/* Object of a command: one of these */
struct nm_target {
	struct nm_bridge	*bridge;
	struct nm_end		*end;
	struct nm_chan		*chan;
};

struct nm_command {
	const char	*object, *verb;
	int		numbers;
	int		(*run)(const struct nm_target *target, const u32 *n);
};

/* A command that does one thing */
#define NM_COMMAND(name, deed)							\
static int nm_ ## name(const struct nm_target *t, const u32 *n)			\
{										\
	deed;									\
	return 0;								\
}

NM_COMMAND(link_down, nm_link_hold(t->bridge, true))
NM_COMMAND(link_up, nm_link_hold(t->bridge, false))
NM_COMMAND(link_lag, nm_link_configure(t->bridge, &t->bridge->lag_us, n[0]))
NM_COMMAND(link_stuck, nm_link_configure(t->bridge, &t->bridge->stuck, n[0]))
NM_COMMAND(link_posted, nm_link_configure(t->bridge, &t->bridge->posted_us, n[0]))
NM_COMMAND(link_devices, nm_link_configure(t->bridge, &t->bridge->devices_us, n[0]))
NM_COMMAND(stick, WRITE_ONCE(t->end->stuck, n[0]))
NM_COMMAND(link_late_cpu, nm_link_configure(t->bridge, &t->bridge->late_us[0], n[0]))
NM_COMMAND(link_late_dma, nm_link_configure(t->bridge, &t->bridge->late_us[1], n[0]))
NM_COMMAND(lose_tlp, WRITE_ONCE(t->end->lose_tlp, n[0]))
NM_COMMAND(lose_event, WRITE_ONCE(t->end->lose_event, n[0]))
NM_COMMAND(lose_irq, WRITE_ONCE(t->end->lose_irq, n[0]))
NM_COMMAND(dead_spads, WRITE_ONCE(t->end->dead_pads, n[0]))
NM_COMMAND(below, WRITE_ONCE(t->end->below_kib, n[0]))
NM_COMMAND(longest, WRITE_ONCE(t->end->longest_kib, n[0]))
NM_COMMAND(shows, WRITE_ONCE(t->end->shows_kib, n[0]))
NM_COMMAND(repeat_event, nm_link_repeat(t->end, n[0]))
NM_COMMAND(free_spads, WRITE_ONCE(t->end->held_pads, 0))

static int nm_hold_spad(const struct nm_target *t, const u32 *n)
{
	if (n[0] >= NM_SPADS)
		return -EINVAL;
	WRITE_ONCE(t->end->held[n[0]], n[1]);
	WRITE_ONCE(t->end->held_pads, READ_ONCE(t->end->held_pads) | BIT(n[0]));
	return 0;
}

static int nm_damage_spad(const struct nm_target *t, const u32 *n)
{
	if (n[0] >= NM_SPADS)
		return -EINVAL;
	WRITE_ONCE(t->end->spad[n[0]], ~READ_ONCE(t->end->spad[n[0]]));
	return 0;
}

static int nm_intruder(const struct nm_target *t, const u32 *n)
{
	if (n[0] > NM_SPADS)
		return -EINVAL;
	nm_intrude(t->end, n[0]);
	return 0;
}

/* The machine of the end dies: it sends nothing any more, and then its device is removed. */
static int nm_kill(const struct nm_target *t, const u32 *n)
{
	if (!t->end->present)
		return -ENODEV;
	nm_link_set_present(t->end, false);
	nm_end_vanish(t->end);
	return 0;
}

static int nm_revive(const struct nm_target *t, const u32 *n)
{
	return t->end->present ? -EEXIST : nm_end_appear(t->end);
}

static void nm_set_fault(struct nm_chan *c, u32 *fault, u32 value)
{
	spin_lock_irq(&c->lock);
	*fault = value;
	spin_unlock_irq(&c->lock);
}

NM_COMMAND(dma_fail_write, nm_set_fault(t->chan, &t->chan->fault.fail_write, n[0]))
NM_COMMAND(dma_reorder, nm_set_fault(t->chan, &t->chan->fault.reorder, n[0]))

static int nm_dma_hang(const struct nm_target *t, const u32 *n)
{
	spin_lock_irq(&t->chan->lock);
	t->chan->fault.hang = n[0];
	nm_kick(t->chan);
	spin_unlock_irq(&t->chan->lock);
	return 0;
}

static const struct nm_command nm_commands[] = {
	{ "link", "down", 0, nm_link_down },
	{ "link", "up", 0, nm_link_up },
	{ "link", "lag", 1, nm_link_lag },
	{ "link", "stuck", 1, nm_link_stuck },
	{ "link", "posted", 1, nm_link_posted },
	{ "link", "devices", 1, nm_link_devices },
	{ "end", "kill", 0, nm_kill },
	{ "end", "revive", 0, nm_revive },
	{ "end", "stuck", 1, nm_stick },
	{ "link", "late-cpu", 1, nm_link_late_cpu },
	{ "link", "late-dma", 1, nm_link_late_dma },
	{ "end", "lose-tlp", 1, nm_lose_tlp },
	{ "end", "lose-event", 1, nm_lose_event },
	{ "end", "lose-irq", 1, nm_lose_irq },
	{ "end", "damage-spad", 1, nm_damage_spad },
	{ "end", "dead-spads", 1, nm_dead_spads },
	{ "end", "intruder", 1, nm_intruder },
	{ "end", "below", 1, nm_below },
	{ "end", "longest", 1, nm_longest },
	{ "end", "shows", 1, nm_shows },
	{ "end", "repeat-event", 1, nm_repeat_event },
	{ "end", "hold-spad", 2, nm_hold_spad },
	{ "end", "free-spads", 0, nm_free_spads },
	{ "dma", "fail-write", 1, nm_dma_fail_write },
	{ "dma", "reorder", 1, nm_dma_reorder },
	{ "dma", "hang", 1, nm_dma_hang },
};

static int nm_find_end(const char *word, struct nm_target *target)
{
	unsigned int bridge, port;
	char rest;

	if (sscanf(word, "%u.%u%c", &bridge, &port, &rest) != 2 || bridge >= nm_bridges || port > 1)
		return -EINVAL;
	target->end = &nm_bridge[bridge].end[port];
	return 0;
}

static int nm_find_target(const char *object, const char *word, struct nm_target *target)
{
	unsigned int i, limit = strcmp(object, "dma") ? nm_bridges : nm_channels;

	*target = (struct nm_target){};
	if (!strcmp(object, "end"))
		return nm_find_end(word, target);
	if (kstrtouint(word, 10, &i) || i >= limit)
		return -EINVAL;
	if (!strcmp(object, "dma"))
		target->chan = &nm_chan[i];
	else
		target->bridge = &nm_bridge[i];
	return 0;
}

/* Parse a number, or "on" or "off". */
static int nm_number(const char *word, u32 *n)
{
	if (!strcmp(word, "on") || !strcmp(word, "off")) {
		*n = word[1] == 'n';
		return 0;
	}
	return kstrtou32(word, 0, n);
}

static const struct nm_command *nm_find_command(const char *object, const char *verb, int numbers)
{
	const struct nm_command *c;

	for (c = nm_commands; c < nm_commands + ARRAY_SIZE(nm_commands); c++)
		if (!strcmp(c->object, object) && !strcmp(c->verb, verb) && c->numbers == numbers)
			return c;
	return NULL;
}

/* words: object, which, verb, numbers */
static int nm_obey(char **words, int count)
{
	const struct nm_command *command;
	struct nm_target target;
	u32 n[NM_NUMBERS];
	int i, err;

	command = count < 3 ? NULL : nm_find_command(words[0], words[2], count - 3);
	if (!command)
		return -EINVAL;
	err = nm_find_target(words[0], words[1], &target);
	for (i = 0; !err && i < command->numbers; i++)
		err = nm_number(words[3 + i], &n[i]);
	return err ?: command->run(&target, n);
}

int kfi_ntb_mock_command(const char *line)
{
	char **words;
	int count, err;

	words = argv_split(GFP_KERNEL, line, &count);
	if (!words)
		return -ENOMEM;
	mutex_lock(&nm_control_lock);
	err = nm_obey(words, count);
	mutex_unlock(&nm_control_lock);
	argv_free(words);
	return err;
}
EXPORT_SYMBOL_GPL(kfi_ntb_mock_command);

static ssize_t nm_control_write(struct file *file, const char __user *from, size_t len, loff_t *pos)
{
	char line[NM_LINE];
	int err;

	if (len >= sizeof(line))
		return -EINVAL;
	if (copy_from_user(line, from, len))
		return -EFAULT;
	line[len] = '\0';
	err = kfi_ntb_mock_command(line);
	return err ?: len;
}

const struct file_operations nm_control_fops = {
	.owner = THIS_MODULE, .open = simple_open, .write = nm_control_write,
};

/* ---- counters in debugfs kfi_ntb_mock/stats, and that directory ---- */

static struct dentry *nm_dir;

static const char *const nm_count_name[NM_COUNTS] = {
	[NM_CPU_WRITES] = "cpu_writes", [NM_CPU_BYTES] = "cpu_bytes",
	[NM_CPU_READS] = "cpu_reads",	[NM_DMA_WRITES] = "dma_writes",
	[NM_DMA_BYTES] = "dma_bytes",	[NM_DMA_READS] = "dma_reads",
	[NM_DEVICE_BYTES] = "device_bytes",
	[NM_REG_READS] = "reg_reads",	[NM_REG_WRITES] = "reg_writes",
	[NM_BELLS_RUNG] = "bells_rung", [NM_DEAD] = "lost_dead",
	[NM_CLOSED] = "lost_closed",	[NM_BEYOND] = "lost_beyond",
	[NM_FAULT] = "lost_fault",	[NM_BLOCKED] = "lost_blocked",
	[NM_FOREIGN] = "lost_foreign",
	[NM_BELL_IRQS] = "bell_irqs",	[NM_LINK_IRQS] = "link_irqs",
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
 * Print a line for each bridge, end and channel, with pairs of name and number. Each number is
 * exact, but they are not read at one moment.
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
