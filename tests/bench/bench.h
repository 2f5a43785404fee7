/* SPDX-License-Identifier: GPL-2.0 */
/*
 * bench.h - variants of measurements, and what they share
 *
 * A variant is one implementation of one task, e.g. "an 8-byte round trip over raw TCP, readers
 * block". It opens what it needs, and then runs a given number of operations, several times.
 * main.c runs the variants of a case in turns, so that other load on the machine affects all of
 * them.
 */
#ifndef _KFI_BENCH_H
#define _KFI_BENCH_H

#include <linux/mm.h>
#include <linux/seq_file.h>
#include <linux/sizes.h>
#include <linux/types.h>

/* ---- the clock of all measurements, see peer/clock.c ---- */

extern bool bench_clock_wall;	/* use the wall clock, to compare with user space */

u64 bench_clock(void);
void bench_clock_open(void);
void bench_clock_close(void);

/* ---- buffers of streams, shared by all variants ---- */

#define BENCH_MEM_MAX	32

/**
 * struct bench_mem - buffers of physically contiguous pages
 * @page: first page of each
 * @count: number of buffers
 * @size: bytes of each
 */
struct bench_mem {
	struct page	*page[BENCH_MEM_MAX];
	u32		count;
	u32		size;
};

int bench_mem_alloc(struct bench_mem *mem, u32 count, u32 size);
void bench_mem_free(struct bench_mem *mem);
u32 bench_mem_stamp(struct bench_mem *mem);
bool bench_mem_check(struct bench_mem *mem, u32 seed);

/*
 * Return the first buffers: as many as a stream has blocks in progress, each with the length of a
 * block.
 */
static inline struct bench_mem bench_mem_first(const struct bench_mem *mem, u32 count, u32 size)
{
	struct bench_mem first = *mem;

	first.count = min(count, mem->count);
	first.size = min(size, mem->size);
	return first;
}

static inline void *bench_mem(const struct bench_mem *mem, u32 i)
{
	return page_address(mem->page[i % mem->count]);
}

/* ---- variants ---- */

struct net;

#define BENCH_TIMEOUT	(10 * HZ)	/* time limit of a run */
#define BENCH_MB	(1UL << 20)
#define BENCH_DEPTH	4		/* blocks of a stream in progress */
#define BENCH_BLOCKS	8		/* the same if completions post the next block */
/* blocks of BENCH_LARGE_SIZE: as much memory as longer operations use */
#define BENCH_LARGE	8
#define BENCH_LARGE_SIZE (4 * BENCH_MB)
#define BENCH_LONG	(16 * BENCH_MB)	/* bytes of a longer operation */
#define BENCH_LONGS	2		/* longer operations in progress */
/* blocks in the memory of a bridge's window: of 4 MiB the rings of a queue leave 2.7 */
#define BENCH_PLACED	2

/**
 * struct bench_env - the two nodes
 * @net: namespaces; node 0 starts operations, node 1 answers
 * @node: their addresses as text
 * @bridge: their ends of a bridge, which are devices of kfi_ntb in the first namespace
 * @mem: BENCH_BLOCKS buffers of BENCH_MB for each node, for all variants of a stream: the address
 *	of memory can change results by some per cent
 * @large: BENCH_LARGE buffers of BENCH_LARGE_SIZE, likewise
 */
struct bench_env {
	struct net		*net[2];
	const char		*node[2];
	const char		*bridge[2];
	struct bench_mem	mem[2];
	struct bench_mem	large[2];
};

/**
 * struct bench_variant - one implementation of one task
 * @name: as in the results
 * @open: prepare; may sleep. Returns private data or ERR_PTR(). @env stays valid as long as the
 *	module.
 * @run: perform @ops operations; may sleep. Returns nanoseconds (bench_clock()) or a negative
 *	errno, after which the variant is only closed.
 * @also: NULL, or returns another figure of the last run, which report.py knows
 * @close: free everything
 * @arg: argument of @open, for variants that share code
 * @depth: operations in progress
 * @size: bytes of an operation
 */
struct bench_variant {
	const char	*name;
	void		*(*open)(struct bench_env *env, const struct bench_variant *v);
	s64		(*run)(void *priv, u32 ops);
	s64		(*also)(void *priv);
	void		(*close)(void *priv);
	unsigned long	arg;
	u32		depth;
	u32		size;
};

/* ---- measurements: main.c ---- */

#define BENCH_VARIANTS	12

/**
 * struct bench_text - output of a measurement
 */
struct bench_text {
	char	*buf;
	size_t	len;
	size_t	size;
};

/**
 * struct bench_case - variants that are compared; @variant ends with NULL, and is empty if the
 * module of the other side is not loaded
 */
struct bench_case {
	const char			*name;
	const struct bench_variant	*variant[BENCH_VARIANTS + 1];
};

extern const struct bench_case bench_cases[];	/* cases.c; ends without a name */

int bench_measure(struct bench_env *env, const char *name, u32 rounds, u32 ms,
		  struct bench_text *text);
void bench_list(struct seq_file *seq);

/* ---- loads on disks: disk.c ---- */

#define KB_DISK_SPAN	SZ_4M	/* bytes of a disk that are used, from its begin */
#define KB_DISK_PLACES	4096	/* or so many places, which are spread over the whole disk */

/* bench_variant.arg */
enum {
	KB_DISK_WRITE	= 1,
	KB_DISK_RANDOM	= 2,
	KB_DISK_SPREAD	= 4,	/* KB_DISK_PLACES */
};

void *kb_disk_open(struct bench_env *env, const struct bench_variant *v);
s64 kb_disk_run(void *priv, u32 ops);
/* nanoseconds of the last run in which the CPU was not idle */
s64 kb_disk_cpu(void *priv);
void kb_disk_close(void *priv);

/* @_disk: NAME of /dev/bench/NAME, and of the variant */
#define KB_DISK(_disk, _arg, _size, _depth)	(&(const struct bench_variant) {	\
		.name	= _disk,							\
		.open	= kb_disk_open,							\
		.run	= kb_disk_run,							\
		.also	= kb_disk_cpu,							\
		.close	= kb_disk_close,						\
		.arg	= _arg,								\
		.size	= _size,							\
		.depth	= _depth,							\
	})

#endif /* _KFI_BENCH_H */
