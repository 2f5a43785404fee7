// SPDX-License-Identifier: GPL-2.0
/*
 * control.c - commands: debugfs kfi_usb4_mock/control takes one line a write. What went wrong is
 * the write's error. README.md lists the commands.
 *
 *   cable 0.a lose ppm 100      object, verb, perhaps a second word, perhaps a number
 */
#include <linux/debugfs.h>
#include <linux/kstrtox.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include "mock.h"

#define TM_LINE		80

/* Serializes commands */
static DEFINE_MUTEX(tm_control_lock);

/* Object of a command, and its number */
struct tm_call {
	struct tm_host	*host;
	struct tm_cable	*cable;
	unsigned int	ends;		/* bits: hosts a and b */
	u32		n;
};

struct tm_command {
	const char	*object, *verb, *word;
	bool		number;
	int		(*run)(const struct tm_call *call);
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

/* Set a number of the ends of a cable that the command names, or of a host. */
static int tm_set(const struct tm_call *call, size_t offset)
{
	int i;

	spin_lock_irq(&tm_lock);
	if (!call->cable)
		*(u32 *)((void *)call->host + offset) = call->n;
	for (i = 0; call->cable && i < TM_HOSTS; i++)
		if (call->ends & BIT(i))
			*(u32 *)((void *)&call->cable->port[i] + offset) = call->n;
	tm_engine_go_on();
	spin_unlock_irq(&tm_lock);
	return 0;
}

/* A command that sets a number */
#define TM_COMMAND(name, type, member)						\
static int tm_ ## name(const struct tm_call *call)				\
{										\
	static_assert(sizeof_field(struct type, member) == sizeof(u32));	\
	return tm_set(call, offsetof(struct type, member));			\
}

TM_COMMAND(lose, tm_port, lose_ppm)
TM_COMMAND(damage, tm_port, damage_ppm)
TM_COMMAND(delay, tm_port, delay_us)
TM_COMMAND(stall, tm_port, stalled)
TM_COMMAND(slow_free, tm_host, slow_free_ms)
TM_COMMAND(boots, tm_host, boots)
TM_COMMAND(set_called, tm_host, called)

/* The other host reads the name anew. */
static int tm_called(const struct tm_call *call)
{
	tm_set_called(call);
	return tm_xdomains_rename(call->host);
}

static int tm_announce(const struct tm_call *call)
{
	WRITE_ONCE(call->host->silent, !call->n);
	tm_properties_changed();
	return 0;
}

static const struct tm_command tm_commands[] = {
	{ "cable", "plug", NULL, false, tm_plug },
	{ "cable", "unplug", NULL, false, tm_unplug },
	{ "cable", "delay", NULL, true, tm_delay },
	{ "cable", "stall", NULL, true, tm_stall },
	{ "cable", "lose", "ppm", true, tm_lose },
	{ "cable", "damage", "ppm", true, tm_damage },
	{ "nhi", "slow-free", NULL, true, tm_slow_free },
	{ "nhi", "boots", NULL, true, tm_boots },
	{ "nhi", "called", NULL, true, tm_called },
	{ "nhi", "announce", NULL, true, tm_announce },
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
		    strcmp(c->verb, words[0]) || (c->word && strcmp(c->word, words[1])))
			continue;
		err = c->number ? tm_number(words[count - 1], &call.n) : 0;
		return err ?: c->run(&call);
	}
	return -EINVAL;
}

static int tm_command(const char *line)
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

static ssize_t tm_control_write(struct file *file, const char __user *from, size_t len, loff_t *pos)
{
	char line[TM_LINE];
	int err;

	if (len >= sizeof(line))
		return -EINVAL;
	if (copy_from_user(line, from, len))
		return -EFAULT;
	line[len] = '\0';
	err = tm_command(line);
	return err ?: len;
}

static const struct file_operations tm_control_fops = {
	.owner = THIS_MODULE, .open = simple_open, .write = tm_control_write,
};

static struct dentry *tm_dir;

void tm_control_init(void)
{
	tm_dir = debugfs_create_dir("kfi_usb4_mock", NULL);
	debugfs_create_file("control", 0200, tm_dir, NULL, &tm_control_fops);
}

void tm_control_exit(void)
{
	debugfs_remove_recursive(tm_dir);
}
