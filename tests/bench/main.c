// SPDX-License-Identifier: GPL-2.0
/*
 * kfi_bench - kfabric beside raw TCP, in one kernel with two network namespaces.
 *
 * debugfs/kfi_bench/cases lists the cases. A write of "CASE[/VARIANT] ROUNDS MILLISECONDS [wall]"
 * to debugfs/kfi_bench/run measures; a read returns the results, in lines:
 *	variant NAME DEPTH SIZE					for each variant
 *	failed NAME ERRNO					for one that failed
 *	NAME ROUND OPERATIONS NANOSECONDS ALSO			for each run, bench_variant.also
 * "wall" selects the wall clock, see peer/clock.c.
 *
 * The namespaces are descriptors of the process that loads the module:
 *	insmod kfi_bench.ko net_a=8 net_b=9 8</run/netns/a 9</run/netns/b
 */
#include <linux/debugfs.h>
#include <linux/err.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/printk.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <net/net_namespace.h>
#include "bench.h"

static int net_a = -1;
module_param(net_a, int, 0);
MODULE_PARM_DESC(net_a, "descriptor of the namespace of the first node");

static int net_b = -1;
module_param(net_b, int, 0);
MODULE_PARM_DESC(net_b, "descriptor of the namespace of the second node");

static char *addr_a = "10.0.0.1";
module_param(addr_a, charp, 0444);
MODULE_PARM_DESC(addr_a, "address of the first node");

static char *addr_b = "10.0.0.2";
module_param(addr_b, charp, 0444);
MODULE_PARM_DESC(addr_b, "address of the second node");

static char *bridge_a = "mock1.0";
module_param(bridge_a, charp, 0444);
MODULE_PARM_DESC(bridge_a, "NTB device of the first node");

static char *bridge_b = "mock1.1";
module_param(bridge_b, charp, 0444);
MODULE_PARM_DESC(bridge_b, "NTB device of the second node");

#define BENCH_TEXT	(256 * 1024)

static DEFINE_MUTEX(bench_lock);	/* serializes measurements, protects bench_text */
static struct bench_env bench_env;
static struct bench_text bench_text;
static struct dentry *bench_dir;

static ssize_t run_write(struct file *file, const char __user *user, size_t len, loff_t *pos)
{
	char line[80], name[40], clock[8] = "";
	unsigned int rounds, ms;
	int ret;

	if (len >= sizeof(line))
		return -EINVAL;
	if (copy_from_user(line, user, len))
		return -EFAULT;
	line[len] = 0;
	if (sscanf(line, "%39s %u %u %7s", name, &rounds, &ms, clock) < 3 || !rounds || !ms ||
	    ms > 1000)
		return -EINVAL;
	mutex_lock(&bench_lock);
	bench_text.len = 0;
	bench_clock_wall = !strcmp(clock, "wall");
	ret = bench_measure(&bench_env, name, rounds, ms, &bench_text);
	mutex_unlock(&bench_lock);
	return ret ?: len;
}

static ssize_t run_read(struct file *file, char __user *user, size_t len, loff_t *pos)
{
	ssize_t ret;

	mutex_lock(&bench_lock);
	ret = simple_read_from_buffer(user, len, pos, bench_text.buf, bench_text.len);
	mutex_unlock(&bench_lock);
	return ret;
}

static const struct file_operations run_fops = {
	.owner	= THIS_MODULE,
	.open	= simple_open,
	.write	= run_write,
	.read	= run_read,
};

static int cases_show(struct seq_file *seq, void *unused)
{
	bench_list(seq);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(cases);

static void bench_forget(void)
{
	int i;

	for (i = 0; i < 2; i++) {
		bench_mem_free(&bench_env.mem[i]);
		bench_mem_free(&bench_env.large[i]);
	}
}

static int __init bench_memory(void)
{
	int i, ret = 0;

	for (i = 0; i < 2 && !ret; i++)
		ret = bench_mem_alloc(&bench_env.mem[i], BENCH_BLOCKS, BENCH_MB) ?:
		      bench_mem_alloc(&bench_env.large[i], BENCH_LARGE, BENCH_LARGE_SIZE);
	if (ret)
		bench_forget();
	return ret;
}

static int __init bench_init(void)
{
	int ret;

	bench_env.node[0] = addr_a;
	bench_env.node[1] = addr_b;
	bench_env.bridge[0] = bridge_a;
	bench_env.bridge[1] = bridge_b;
	bench_env.net[0] = get_net_ns_by_fd(net_a);
	if (IS_ERR(bench_env.net[0]))
		return PTR_ERR(bench_env.net[0]);
	bench_env.net[1] = get_net_ns_by_fd(net_b);
	ret = PTR_ERR_OR_ZERO(bench_env.net[1]);
	if (ret)
		goto put_net_a;
	ret = bench_memory();
	if (ret)
		goto put_net_b;
	ret = -ENOMEM;
	bench_text.size = BENCH_TEXT;
	bench_text.buf = kvmalloc(BENCH_TEXT, GFP_KERNEL);
	if (!bench_text.buf)
		goto free_memory;
	bench_dir = debugfs_create_dir("kfi_bench", NULL);
	debugfs_create_file("run", 0600, bench_dir, NULL, &run_fops);
	debugfs_create_file("cases", 0400, bench_dir, NULL, &cases_fops);
	return 0;
free_memory:
	bench_forget();
put_net_b:
	put_net(bench_env.net[1]);
put_net_a:
	put_net(bench_env.net[0]);
	return ret;
}

static void __exit bench_exit(void)
{
	debugfs_remove(bench_dir);
	kvfree(bench_text.buf);
	bench_forget();
	put_net(bench_env.net[1]);
	put_net(bench_env.net[0]);
}

module_init(bench_init);
module_exit(bench_exit);
MODULE_DESCRIPTION("kfabric beside raw TCP");
MODULE_LICENSE("GPL");

/*
 * run the variants of a case in turns, each for about the same time, beginning with another one in
 * each round. So other load on the machine affects all of them, and two runs of one round make a
 * pair.
 */

#define OPS_MAX		(1U << 24)

struct turn {
	const struct bench_variant	*v;
	void				*priv;
	u32				ops;
};

__printf(2, 3)
static void say(struct bench_text *text, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	text->len += vscnprintf(text->buf + text->len, text->size - text->len, fmt, args);
	va_end(args);
}

static void turn_close(struct turn *t)
{
	t->v->close(t->priv);
	t->priv = NULL;
}

static void turn_failed(struct turn *t, struct bench_text *text, s64 err)
{
	say(text, "failed %s %lld\n", t->v->name, -err);
	if (t->priv)
		turn_close(t);
}

/* Find out how many operations take about @ns. These runs also warm up caches. */
static int turn_calibrate(struct turn *t, u64 ns)
{
	u32 step = max(t->v->depth, 1U);
	s64 took = t->v->run(t->priv, step);	/* it may connect */

	if (took < 0)
		return took;
	for (t->ops = 4 * step;; t->ops = min(OPS_MAX, 4 * t->ops)) {
		took = t->v->run(t->priv, t->ops);
		if (took < 0)
			return took;
		if (took >= ns / 4 || t->ops == OPS_MAX)
			break;
	}
	t->ops = clamp_t(u64, div64_u64(t->ops * ns, max_t(u64, took, 1)), step, OPS_MAX);
	t->ops = roundup(t->ops, step);
	return 0;
}

static void turn_open(struct turn *t, struct bench_env *env, u64 ns, struct bench_text *text)
{
	s64 ret;

	t->priv = t->v->open(env, t->v);
	if (IS_ERR(t->priv)) {
		ret = PTR_ERR(t->priv);
		t->priv = NULL;
	} else {
		ret = turn_calibrate(t, ns);
	}
	if (ret)
		turn_failed(t, text, ret);
	else
		say(text, "variant %s %u %u\n", t->v->name, t->v->depth, t->v->size);
}

static void turn_run(struct turn *t, u32 round, struct bench_text *text)
{
	s64 ns;

	if (!t->priv)
		return;
	ns = t->v->run(t->priv, t->ops);
	if (ns < 0)
		turn_failed(t, text, ns);
	else
		say(text, "%s %u %u %lld %lld\n", t->v->name, round, t->ops, ns,
		    t->v->also ? t->v->also(t->priv) : ns);
}

/* "CASE", or "CASE/VARIANT" for one of its variants, for use with a profiler */
static const struct bench_case *bench_find(const char *name, const char **only)
{
	const struct bench_case *c;
	size_t len = strcspn(name, "/");

	*only = name[len] ? name + len + 1 : NULL;
	for (c = bench_cases; c->name; c++)
		if (strlen(c->name) == len && !strncmp(c->name, name, len))
			return c;
	return NULL;
}

static u32 bench_open(struct turn *turn, struct bench_env *env, const struct bench_case *c,
		      const char *only, u32 ms, struct bench_text *text)
{
	u32 count = 0;
	int i;

	for (i = 0; i < BENCH_VARIANTS; i++) {
		/* a variant may be missing, see peer/modules.h */
		if (!c->variant[i] || (only && strcmp(c->variant[i]->name, only)))
			continue;
		turn[count].v = c->variant[i];
		turn_open(&turn[count++], env, ms * 1000000ULL, text);
	}
	return count;
}

int bench_measure(struct bench_env *env, const char *name, u32 rounds, u32 ms,
		  struct bench_text *text)
{
	const char *only;
	const struct bench_case *c = bench_find(name, &only);
	struct turn turn[BENCH_VARIANTS] = { };
	u32 count, round, i;

	if (!c)
		return -ENOENT;
	count = bench_open(turn, env, c, only, ms, text);
	for (round = 0; round < rounds && !signal_pending(current); round++)
		for (i = 0; i < count; i++) {
			turn_run(&turn[(round + i) % count], round, text);
			cond_resched();
		}
	for (i = 0; i < count; i++)
		if (turn[i].priv)
			turn_close(&turn[i]);
	return signal_pending(current) ? -EINTR : 0;
}

void bench_list(struct seq_file *seq)
{
	const struct bench_case *c;

	for (c = bench_cases; c->name; c++)
		seq_printf(seq, "%s\n", c->name);
}
