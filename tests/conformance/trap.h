/* SPDX-License-Identifier: GPL-2.0 */
/*
 * trap.h - notices allocations. A file of its own, because what the kernel's trace events include
 * has another struct node.
 */
#ifndef KFI_CONFORMANCE_TRAP_H
#define KFI_CONFORMANCE_TRAP_H

#include <linux/atomic.h>

/**
 * struct trap - allocations by kfi.ko and its providers, in any context
 * @hits: number of allocations
 * @site: place of the first one
 */
struct trap {
	atomic_t	hits;
	atomic_long_t	site;
};

/* Return: 0, or a negative errno. */
int trap_set(struct trap *trap);
/* Return: number of allocations that were noticed. */
int trap_lift(struct trap *trap);

#endif /* KFI_CONFORMANCE_TRAP_H */
