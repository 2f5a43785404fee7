// SPDX-License-Identifier: GPL-2.0
/* The kernel reports each allocation of slab memory, and its caller. */
#include <linux/kernel.h>
#include <linux/slab.h>      /* the next but one of 6.1 needs struct kmem_cache */
#include <linux/string.h>
#include <trace/events/kmem.h>
#include "trap.h"

#ifdef CONFIG_TRACEPOINTS

/* By the name of the module that contains the place */
static bool is_ours(unsigned long site)
{
	char name[160];

	snprintf(name, sizeof(name), "%ps", (void *)site);
	return strstr(name, "[kfi") && !strstr(name, "[kfi_conformance");
}

static void hit(struct trap *trap, unsigned long site)
{
	if (!is_ours(site))
		return;
	atomic_long_cmpxchg(&trap->site, 0, site);
	atomic_inc(&trap->hits);
}

static void on_kmalloc(void *trap, unsigned long site, const void *ptr, size_t req, size_t alloc,
		       gfp_t gfp, int node)
{
	hit(trap, site);
}

static void on_cache_alloc(void *trap, unsigned long site, const void *ptr, struct kmem_cache *s,
			   gfp_t gfp, int node)
{
	hit(trap, site);
}

int trap_set(struct trap *trap)
{
	int ret;

	atomic_set(&trap->hits, 0);
	atomic_long_set(&trap->site, 0);
	ret = register_trace_kmalloc(on_kmalloc, trap);
	if (ret)
		return ret;
	ret = register_trace_kmem_cache_alloc(on_cache_alloc, trap);
	if (ret)
		unregister_trace_kmalloc(on_kmalloc, trap);
	return ret;
}

/* On return no probe runs any more. */
int trap_lift(struct trap *trap)
{
	unregister_trace_kmem_cache_alloc(on_cache_alloc, trap);
	unregister_trace_kmalloc(on_kmalloc, trap);
	tracepoint_synchronize_unregister();
	return atomic_read(&trap->hits);
}

#endif
