/* SPDX-License-Identifier: GPL-2.0 */
/*
 * bench.h - what can be measured.
 *
 * A variant is one way of doing one thing, e.g. "an 8-byte round trip over raw TCP, readers block".
 * It opens whatever it needs, then runs a given number of operations as often as it is told to.
 * measure.c runs the variants of a case in turns, so that they share whatever else happens on the
 * machine.
 */
#ifndef _KFI_BENCH_H
#define _KFI_BENCH_H

#include <linux/types.h>
#include "clock.h"
#include "mem.h"

struct net;

#define BENCH_TIMEOUT	(10 * HZ)	/* no run takes longer */
#define BENCH_MB	(1UL << 20)
#define BENCH_DEPTH	4		/* blocks of a stream under way */
#define BENCH_BLOCKS	8		/* the same where one asks for the next */
/* blocks of BENCH_LARGE_SIZE, of which an operation is that is longer */
#define BENCH_LARGE	4
#define BENCH_LARGE_SIZE (4 * BENCH_MB)
#define BENCH_LONGS	3		/* of those under way, in the same memory */
/* the same in the memory of a bridge's window, which has room for no more */
#define BENCH_PLACED	3

/**
 * struct bench_env - the two nodes
 * @net: namespaces; index 0 starts things, index 1 answers
 * @node: their addresses as text
 * @bridge: the ends of a bridge that belong to them, in the first namespace; devices that kfi_ntb
 *	has
 * @mem: BENCH_BLOCKS buffers of BENCH_MB at each node, for all variants of a stream: where memory
 *	happens to lie makes a difference of some per cent
 * @large: BENCH_LARGE of BENCH_LARGE_SIZE, likewise
 */
struct bench_env {
	struct net		*net[2];
	const char		*node[2];
	const char		*bridge[2];
	struct bench_mem	mem[2];
	struct bench_mem	large[2];
};

/**
 * struct bench_variant - one way of doing one thing
 * @name: as in the results
 * @open: make everything ready; may sleep. Returns private data or ERR_PTR(). @env stays as long as
 *	the module.
 * @run: perform @ops operations; may sleep. Returns nanoseconds (bench_clock()) or a negative
 *	errno, after which the variant is only closed.
 * @cpu: NULL, or nanoseconds of CPU time that the last run took
 * @close: the end
 * @arg: @open's: tells apart variants that share code
 * @depth: operations under way at once
 * @size: bytes of an operation
 */
struct bench_variant {
	const char	*name;
	void		*(*open)(struct bench_env *env, const struct bench_variant *v);
	s64		(*run)(void *priv, u32 ops);
	s64		(*cpu)(void *priv);
	void		(*close)(void *priv);
	unsigned long	arg;
	u32		depth;
	u32		size;
};

#endif /* _KFI_BENCH_H */
