// SPDX-License-Identifier: GPL-2.0
/*
 * neighbour.c - a server whose memory is the bottleneck (scarce/disk.c): READs of two disks over a
 * bridge, one of which writes the data into the host's memory, the other one into that of the
 * server; and a neighbour, a program on the server that reads memory as fast as it can, alone and
 * beside each of them.
 */
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/slab.h>
#include "kfi.h"
#include "scarce/scarce.h"

#define NEIGHBOUR_MS	20	/* from the begin of the READs to the first access */

/* ---- READs ---- */

static u64 scarce_crossed;	/* bytes of the last run; bench_lock */

static s64 scarce_run(void *priv, u32 ops)
{
	u64 before = bench_scarce.crossed();
	s64 took = kb_disk_run(priv, ops);

	scarce_crossed = bench_scarce.crossed() - before;
	return took;
}

static s64 scarce_also(void *priv)
{
	return scarce_crossed;
}

static void *scarce_open(struct bench_env *env, const struct bench_variant *v)
{
	return &bench_scarce ? kb_disk_open(env, v) : ERR_PTR(-ENODEV);
}

#define SCARCE(_disk)						\
	{							\
		.name	= _disk,				\
		.open	= scarce_open,				\
		.run	= scarce_run,				\
		.also	= scarce_also,				\
		.close	= kb_disk_close,			\
		.arg	= KB_DISK_PLACED,			\
		.depth	= 8,					\
		.size	= SZ_64K,				\
	}

const struct bench_variant kb_scarce_bypass = SCARCE("bypass");
const struct bench_variant kb_scarce_through = SCARCE("through");

/* ---- the neighbour ---- */

/**
 * struct neighbour - a measurement
 * @reads: READs beside it, or NULL
 * @moved: bytes of READs during the last run, per second of it
 */
struct neighbour {
	void	*reads;
	s64	moved;
};

static s64 neighbour_measure(struct neighbour *n, u32 ops)
{
	u64 moved = 0, start;
	s64 took;
	u32 i;

	if (n->reads) {
		msleep(NEIGHBOUR_MS);
		moved = kb_disk_moved(n->reads);
	}
	start = bench_clock();
	for (i = 0; i < ops; i++)
		bench_scarce.read(SZ_64K);
	took = bench_clock() - start;
	if (n->reads)
		n->moved = div64_u64((kb_disk_moved(n->reads) - moved) * NSEC_PER_SEC, took);
	return took;
}

static s64 neighbour_run(void *priv, u32 ops)
{
	struct neighbour *n = priv;
	int ret = n->reads ? kb_disk_begin(n->reads) : 0;
	s64 took;

	if (ret)
		return ret;
	took = neighbour_measure(n, ops);
	if (n->reads)
		ret = kb_disk_stop(n->reads);
	return ret ?: took;
}

static s64 neighbour_moved(void *priv)
{
	return ((struct neighbour *)priv)->moved;
}

static void neighbour_close(void *priv)
{
	struct neighbour *n = priv;

	if (n->reads)
		kb_disk_close(n->reads);
	kfree(n);
}

static void *neighbour_open(struct bench_env *env, const struct bench_variant *v)
{
	const struct bench_variant *reads = (const struct bench_variant *)v->arg;
	struct neighbour *n;
	void *opened;

	if (!&bench_scarce)
		return ERR_PTR(-ENODEV);
	n = kzalloc(sizeof(*n), GFP_KERNEL);
	if (!n)
		return ERR_PTR(-ENOMEM);
	if (!reads)
		return n;
	opened = scarce_open(env, reads);
	if (IS_ERR(opened)) {
		kfree(n);
		return opened;
	}
	n->reads = opened;
	return n;
}

#define NEIGHBOUR(_name, _reads)				\
	{							\
		.name	= _name,				\
		.open	= neighbour_open,			\
		.run	= neighbour_run,			\
		.also	= neighbour_moved,			\
		.close	= neighbour_close,			\
		.arg	= (unsigned long)(_reads),		\
		.depth	= 1,					\
		.size	= SZ_64K,				\
	}

const struct bench_variant kb_neighbour_alone = NEIGHBOUR("alone", NULL);
const struct bench_variant kb_neighbour_bypass = NEIGHBOUR("beside-bypass", &kb_scarce_bypass);
const struct bench_variant kb_neighbour_through = NEIGHBOUR("beside-through", &kb_scarce_through);
