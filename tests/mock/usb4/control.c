// SPDX-License-Identifier: GPL-2.0
/*
 * control.c - commands: debugfs kfi_usb4_mock/control takes one line a write. What went wrong is
 * the write's error. README.md lists the commands, which are those of usb4sim and some more.
 *
 *   cable 0.a lose every 100      object, verb, perhaps a second word, perhaps a number
 */
#include <linux/debugfs.h>
#include <linux/export.h>
#include <linux/kstrtox.h>
#include <linux/mutex.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include "command.h"
#include "mock.h"

#define TM_LINE		80

/* Serializes commands, because some call drivers */
static DEFINE_MUTEX(tm_control_lock);

/* Object of a command, and its number */
struct tm_call {
	struct tm_host	*host;
	struct tm_cable	*cable;
	unsigned int	ends;		/* bits: hosts a and b */
	enum tm_kind	kind;
	u32		n;
};

struct tm_command {
	const char	*object, *verb, *word;	/* verb NULL: a kind of fault */
	bool		number;
	int		(*run)(const struct tm_call *call);
};

static const char *const tm_kind_name[TM_KINDS] = {
	[TM_LOSE] = "lose",
	[TM_DAMAGE] = "damage",
	[TM_OVERRUN] = "overrun",
	[TM_LOSE_CONTROL] = "lose-control",
	[TM_LOSE_REQUESTS] = "lose-requests",
	[TM_LOSE_RESPONSES] = "lose-responses",
	[TM_ERROR] = "error",
};

static int tm_set_plugged(const struct tm_call *call, bool plugged)
{
	spin_lock_irq(&tm_lock);
	tm_cable_plug(call->cable, plugged);
	spin_unlock_irq(&tm_lock);
	return 0;
}

static int tm_plug(const struct tm_call *call)
{
	return tm_set_plugged(call, true);
}

static int tm_unplug(const struct tm_call *call)
{
	return tm_set_plugged(call, false);
}

/* Set a number of a cable, of its ends that the command names, or of a host. */
static int tm_set(const struct tm_call *call, size_t offset, bool of_ends)
{
	void *object = call->cable ? (void *)call->cable : call->host;
	int i;

	spin_lock_irq(&tm_lock);
	if (!of_ends)
		*(u32 *)(object + offset) = call->n;
	for (i = 0; of_ends && i < TM_HOSTS; i++)
		if (call->ends & BIT(i))
			*(u32 *)((void *)&call->cable->port[i] + offset) = call->n;
	tm_engine_go_on();
	spin_unlock_irq(&tm_lock);
	return 0;
}

/* A command that sets a number */
#define TM_COMMAND(name, type, member, of_ends)					\
static int tm_ ## name(const struct tm_call *call)				\
{										\
	static_assert(sizeof_field(struct type, member) == sizeof(u32));	\
	return tm_set(call, offsetof(struct type, member), of_ends);		\
}

TM_COMMAND(unplug_at, tm_cable, unplug_at, false)
TM_COMMAND(delay, tm_port, delay_us, true)
TM_COMMAND(stall, tm_port, stalled, true)
TM_COMMAND(event_ms, tm_port, event_ms, true)
TM_COMMAND(lose_interrupts, tm_host, lose_interrupts, false)
TM_COMMAND(fail_rings, tm_host, fail_rings, false)
TM_COMMAND(fail_paths, tm_host, fail_paths, false)
TM_COMMAND(slow_paths, tm_host, slow_paths_ms, false)
TM_COMMAND(slow_free, tm_host, slow_free_ms, false)
TM_COMMAND(boots, tm_host, boots, false)
TM_COMMAND(set_called, tm_host, called, false)

/* The other host reads the name anew. */
static int tm_called(const struct tm_call *call)
{
	tm_set_called(call);
	return tm_xdomains_rename(call->host);
}

static int tm_fault_set(const struct tm_call *call, size_t member)
{
	return tm_set(call, offsetof(struct tm_port, fault) +
		      call->kind * sizeof(struct tm_fault) + member, true);
}

static int tm_fault_next(const struct tm_call *call)
{
	return tm_fault_set(call, offsetof(struct tm_fault, next));
}

static int tm_fault_every(const struct tm_call *call)
{
	return tm_fault_set(call, offsetof(struct tm_fault, every));
}

static int tm_fault_ppm(const struct tm_call *call)
{
	return tm_fault_set(call, offsetof(struct tm_fault, ppm));
}

static int tm_announce(const struct tm_call *call)
{
	WRITE_ONCE(call->host->silent, !call->n);
	tm_properties_changed();
	return 0;
}

static void tm_set_asleep(struct tm_host *host, bool asleep)
{
	spin_lock_irq(&tm_lock);
	host->asleep = asleep;
	tm_engine_go_on();
	tm_engine_wake(host);
	spin_unlock_irq(&tm_lock);
}

static int tm_host_suspend(const struct tm_call *call)
{
	int err = tm_drivers_suspend(call->host);

	if (err)
		return err;
	tm_xdomains_stop(call->host);
	tm_set_asleep(call->host, true);
	return 0;
}

static int tm_host_resume(const struct tm_call *call)
{
	tm_set_asleep(call->host, false);
	tm_xdomains_start(call->host);
	return tm_drivers_resume(call->host);
}

static int tm_host_shutdown(const struct tm_call *call)
{
	tm_drivers_shutdown(call->host);
	return 0;
}

static int tm_gone(const struct tm_call *call)
{
	tm_host_set_gone(call->host, call->n);
	return 0;
}

static const struct tm_command tm_commands[] = {
	{ "cable", "plug", NULL, false, tm_plug },
	{ "cable", "unplug", NULL, false, tm_unplug },
	{ "cable", "unplug-at", NULL, true, tm_unplug_at },
	{ "cable", "delay", NULL, true, tm_delay },
	{ "cable", "stall", NULL, true, tm_stall },
	{ "cable", "event-ms", NULL, true, tm_event_ms },
	{ "cable", NULL, "next", true, tm_fault_next },
	{ "cable", NULL, "every", true, tm_fault_every },
	{ "cable", NULL, "ppm", true, tm_fault_ppm },
	{ "nhi", "lose-interrupts", NULL, true, tm_lose_interrupts },
	{ "nhi", "fail-rings", NULL, true, tm_fail_rings },
	{ "nhi", "fail-paths", NULL, true, tm_fail_paths },
	{ "nhi", "slow-paths", NULL, true, tm_slow_paths },
	{ "nhi", "slow-free", NULL, true, tm_slow_free },
	{ "nhi", "boots", NULL, true, tm_boots },
	{ "nhi", "called", NULL, true, tm_called },
	{ "nhi", "announce", NULL, true, tm_announce },
	{ "nhi", "suspend", NULL, false, tm_host_suspend },
	{ "nhi", "resume", NULL, false, tm_host_resume },
	{ "nhi", "shutdown", NULL, false, tm_host_shutdown },
	{ "nhi", "gone", NULL, true, tm_gone },
};

/* ---- words ---- */

/* "0": both ends of the cable, "0.a": one of them */
static int tm_take_cable(const char *word, struct tm_call *call)
{
	unsigned int n;
	char end, rest;
	int count = sscanf(word, "%u.%c%c", &n, &end, &rest);

	if (count < 1 || count > 2 || n >= tm_cables)
		return -EINVAL;
	call->cable = &tm_cable[n];
	call->ends = BIT(TM_HOSTS) - 1;
	if (count == 1)
		return strchr(word, '.') ? -EINVAL : 0;
	if (end != 'a' && end != 'b')
		return -EINVAL;
	call->ends = BIT(end - 'a');
	return 0;
}

/* "nhi.a", or "cable" with a second word. Return how many words that were, or an error. */
static int tm_take_object(char **words, int count, struct tm_call *call, const char **object)
{
	if (count >= 2 && !strcmp(words[0], "cable")) {
		*object = "cable";
		return tm_take_cable(words[1], call) ?: 2;
	}
	if (count < 1 || (strcmp(words[0], "nhi.a") && strcmp(words[0], "nhi.b")))
		return -EINVAL;
	*object = "nhi";
	call->host = &tm_host[words[0][4] - 'a'];
	return 1;
}

static bool tm_verb_fits(const struct tm_command *c, const char *verb, struct tm_call *call)
{
	int kind;

	if (c->verb)
		return !strcmp(c->verb, verb);
	kind = match_string(tm_kind_name, TM_KINDS, verb);
	call->kind = max(kind, 0);
	return kind >= 0;
}

/* Parse a number, or "on" or "off". */
static int tm_number(const char *word, u32 *n)
{
	if (!strcmp(word, "on") || !strcmp(word, "off")) {
		*n = word[1] == 'n';
		return 0;
	}
	return kstrtou32(word, 10, n);
}

static int tm_obey(char **words, int count)
{
	const struct tm_command *c;
	struct tm_call call = {};
	const char *object;
	int used, err;

	used = tm_take_object(words, count, &call, &object);
	if (used < 0)
		return used;
	words += used;
	count -= used;
	for (c = tm_commands; c < tm_commands + ARRAY_SIZE(tm_commands); c++) {
		if (count != 1 + !!c->word + c->number || strcmp(c->object, object) ||
		    !tm_verb_fits(c, words[0], &call) || (c->word && strcmp(c->word, words[1])))
			continue;
		err = c->number ? tm_number(words[count - 1], &call.n) : 0;
		return err ?: c->run(&call);
	}
	return -EINVAL;
}

int kfi_usb4_mock_command(const char *line)
{
	char **words;
	int count, err;

	words = argv_split(GFP_KERNEL, line, &count);
	if (!words)
		return -ENOMEM;
	mutex_lock(&tm_control_lock);
	err = tm_obey(words, count);
	mutex_unlock(&tm_control_lock);
	argv_free(words);
	return err;
}
EXPORT_SYMBOL_GPL(kfi_usb4_mock_command);

static ssize_t tm_control_write(struct file *file, const char __user *from, size_t len, loff_t *pos)
{
	char line[TM_LINE];
	int err;

	if (len >= sizeof(line))
		return -EINVAL;
	if (copy_from_user(line, from, len))
		return -EFAULT;
	line[len] = '\0';
	err = kfi_usb4_mock_command(line);
	return err ?: len;
}

static const struct file_operations tm_control_fops = {
	.owner = THIS_MODULE, .open = simple_open, .write = tm_control_write,
};

/* ---- counters in debugfs kfi_usb4_mock/stats, and that directory ---- */

static struct dentry *tm_dir;

static const char *const tm_count_name[TM_COUNTS] = {
	[TM_FRAMES_SENT] = "frames_sent",
	[TM_BYTES_SENT] = "bytes_sent",
	[TM_FRAMES_RECEIVED] = "frames_received",
	[TM_BYTES_RECEIVED] = "bytes_received",
	[TM_WAITS] = "waits",
	[TM_FRAMES_LOST] = "frames_lost",
	[TM_FRAMES_DAMAGED] = "frames_damaged",
	[TM_FRAMES_CUT] = "frames_cut",
	[TM_FRAMES_REFUSED] = "frames_refused",
	[TM_OVERFLOWS] = "overflows",
	[TM_DMA_ERRORS] = "dma_errors",
	[TM_CONTROL_SENT] = "control_sent",
	[TM_CONTROL_CUT] = "control_cut",
	[TM_CONTROL_ERRORS] = "control_errors",
	[TM_CONTROL_RECEIVED] = "control_received",
	[TM_CONTROL_LOST] = "control_lost",
	[TM_INTERRUPTS] = "interrupts",
	[TM_INTERRUPTS_LOST] = "interrupts_lost",
	[TM_INTERRUPTS_LATE] = "interrupts_late",
	[TM_PATHS] = "paths",
	[TM_PATHS_LATE] = "paths_late",
	[TM_PATHS_LEFT] = "paths_left",
};

static u64 tm_read_count(struct tm_host *host, enum tm_count what)
{
	unsigned long flags;
	u64 n;

	spin_lock_irqsave(&tm_lock, flags);
	n = host->count[what];
	spin_unlock_irqrestore(&tm_lock, flags);
	return n;
}

u64 kfi_usb4_mock_count(char host, const char *name)
{
	int i = match_string(tm_count_name, TM_COUNTS, name);

	if (i < 0 || (host != 'a' && host != 'b'))
		return ~0ULL;
	return tm_read_count(&tm_host[host - 'a'], i);
}
EXPORT_SYMBOL_GPL(kfi_usb4_mock_count);

/* What hangs, hangs here: the descriptors of rings that were started, and their interrupts */
static void tm_show_ring(struct seq_file *file, const struct tm_host *host, const struct tm_ring *r)
{
	if (!r)
		return;
	seq_printf(file, "ring %c.%s.%d next %u posted %u size %d", host->name,
		   r->ring.is_tx ? "tx" : "rx", r->ring.hop, r->next, r->posted, r->ring.size);
	seq_printf(file, " coming %u enabled %d status %d\n", r->comings, r->enabled, r->status);
}

static void tm_show_host(struct seq_file *file, struct tm_host *host)
{
	const struct tm_tunnel *t;
	int i;

	seq_printf(file, "nhi %c asleep %d", host->name, host->asleep);
	for (i = 0; i < TM_COUNTS; i++)
		seq_printf(file, " %s %llu", tm_count_name[i], tm_read_count(host, i));
	seq_putc(file, '\n');
	spin_lock_irq(&tm_lock);
	for (i = 0; i < TM_HOPS; i++) {
		tm_show_ring(file, host, host->tx[i]);
		tm_show_ring(file, host, host->rx[i]);
	}
	list_for_each_entry(t, &host->tunnels, entry)
		seq_printf(file, "path %c.%d tx_ring %d tx_hopid %d rx_hopid %d rx_ring %d\n",
			   host->name, t->port->cable->index, t->tx_ring, t->tx_hopid, t->rx_hopid,
			   t->rx_ring);
	spin_unlock_irq(&tm_lock);
}

/* Print lines with pairs of name and number. Each number is exact, but not read at one moment. */
static int tm_stats_show(struct seq_file *file, void *unused)
{
	int i;

	for (i = 0; i < tm_cables; i++)
		seq_printf(file, "cable %d plugged %d life %u\n", i, tm_cable[i].plugged,
			   tm_cable[i].life);
	tm_show_host(file, &tm_host[0]);
	tm_show_host(file, &tm_host[1]);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(tm_stats);

void tm_control_init(void)
{
	tm_dir = debugfs_create_dir("kfi_usb4_mock", NULL);
	debugfs_create_file("stats", 0444, tm_dir, NULL, &tm_stats_fops);
	debugfs_create_file("control", 0200, tm_dir, NULL, &tm_control_fops);
}

void tm_control_exit(void)
{
	debugfs_remove_recursive(tm_dir);
}
