// SPDX-License-Identifier: GPL-2.0
/*
 * The traces over kfabric: a module that runs all cases while it is loaded.
 */
#include <linux/delay.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/module.h>

#include "trace.h"

static char *provider = "loop";
module_param(provider, charp, 0444);
MODULE_PARM_DESC(provider, "provider to trace");

static char *node = "loop";
module_param(node, charp, 0444);
MODULE_PARM_DESC(node, "node to ask the provider for");

static ulong seed = 1;
module_param(seed, ulong, 0444);
MODULE_PARM_DESC(seed, "where order, sizes and tags come from");

void *port_alloc(size_t len)
{
	return kvzalloc(len, GFP_KERNEL | __GFP_NOFAIL);
}

void port_free(void *buf)
{
	kvfree(buf);
}

void port_line(const char *text)
{
	pr_info("%s\n", text);
}

uint64_t port_ms(void)
{
	return ktime_to_ms(ktime_get());
}

void port_nap(void)
{
	usleep_range(200, 500);
}

int port_cq_open(struct kfid_domain *domain, struct kfi_cq_attr *attr, struct kfid_cq **cq)
{
	return kfi_cq_open(domain, attr, cq, NULL, NULL);
}

int port_eq_open(struct kfid_fabric *fabric, struct kfi_eq_attr *attr, struct kfid_eq **eq)
{
	return kfi_eq_open(fabric, attr, eq, NULL, NULL);
}

static void run_case(const struct trace_case *c)
{
	struct run *r = port_alloc(sizeof(*r));

	r->provider = provider;
	r->node = node;
	r->seed = seed;
	trace_run(r, c);
	say(r, "end by=return");
	port_free(r);
}

static int __init parity_init(void)
{
	int i;

	pr_info("PARITY begin\n");
	for (i = 0; i < trace_count(); i++)
		run_case(trace_case(seed, i));
	pr_info("PARITY end\n");
	return 0;
}
module_init(parity_init);

static void __exit parity_exit(void)
{
}
module_exit(parity_exit);

MODULE_DESCRIPTION("kfabric traces for comparison with libfabric");
MODULE_LICENSE("GPL");
