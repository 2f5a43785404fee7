// SPDX-License-Identifier: GPL-2.0
/*
 * kfi_bench - kfabric beside raw TCP, in one kernel with two network namespaces.
 *
 * debugfs/kfi_bench/cases lists what can be measured debugfs/kfi_bench/run write "CASE[/VARIANT]
 * ROUNDS MILLISECONDS [wall]", read the result of that:
 *				"variant NAME DEPTH SIZE" for each variant, "failed NAME ERRNO" for one that did not work,
 *				"NAME ROUND OPERATIONS NANOSECONDS CPU-NANOSECONDS" for each run
 *				"wall": by the plain clock, see peer/clock.c
 *
 * The namespaces are given as descriptors of the process that loads the module:
 *	insmod kfi_bench.ko net_a=8 net_b=9 8</run/netns/a 9</run/netns/b
 */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <net/net_namespace.h>
#include "measure.h"

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

static DEFINE_MUTEX(bench_lock);	/* one measurement at a time; protects bench_text */
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
