// SPDX-License-Identifier: GPL-2.0
/*
 * loaded.c - round trips of 64 bytes over a bridge that is busy: two other endpoints write 16 MiB
 * each time, some operations of each in progress, in the direction of the requests. The bridges
 * have an engine that takes time instead of the CPU (engine_mbs of ../mock).
 */
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/slab.h>
#include "kfi.h"

#define LOADED_BY	2	/* endpoints that write */
#define LOADED_MS	150	/* from the begin of the writes to the first round trip */

/**
 * struct loaded_kind - the round trips, and the writes of the other endpoints
 */
struct loaded_kind {
	const struct bench_variant	*pingpong;
	const struct bench_variant	*write;
};

/**
 * struct loaded - a measurement
 * @moved: bytes that were written during the last run, per second of it
 */
struct loaded {
	const struct loaded_kind	*kind;
	struct bench_env		*env;
	void				*pingpong;
	void				*write[LOADED_BY];
	s64				moved;
};

static u64 loaded_ended(struct loaded *loaded)
{
	u64 ended = 0;
	int i;

	for (i = 0; i < LOADED_BY; i++)
		ended += kb_rma_ended(loaded->write[i]);
	return ended;
}

static s64 loaded_measure(struct loaded *loaded, u32 ops)
{
	u64 ended;
	s64 took;

	msleep(LOADED_MS);
	ended = loaded_ended(loaded);
	took = loaded->kind->pingpong->run(loaded->pingpong, ops);
	ended = loaded_ended(loaded) - ended;
	if (took > 0)
		loaded->moved = div64_u64(ended * loaded->kind->write->size * NSEC_PER_SEC, took);
	return took;
}

/* All endpoints write the same bytes to the same memory. */
static s64 loaded_run(void *priv, u32 ops)
{
	struct loaded *loaded = priv;
	u32 seed = bench_mem_stamp(&loaded->env->large[0]);
	int i, ret, err = 0;
	s64 took = 0;

	for (i = 0; i < LOADED_BY && !err; i++)
		err = kb_rma_begin(loaded->write[i]);
	if (!err)
		took = loaded_measure(loaded, ops);
	while (i--) {
		ret = kb_rma_stop(loaded->write[i]);
		err = err ?: ret;
	}
	if (!err && took >= 0 && !bench_mem_check(&loaded->env->large[1], seed))
		err = -EBADMSG;
	return err ?: took;
}

static s64 loaded_moved(void *priv)
{
	return ((struct loaded *)priv)->moved;
}

static void loaded_close(void *priv)
{
	struct loaded *loaded = priv;
	int i;

	for (i = 0; i < LOADED_BY; i++)
		if (loaded->write[i])
			loaded->kind->write->close(loaded->write[i]);
	if (loaded->pingpong)
		loaded->kind->pingpong->close(loaded->pingpong);
	kfree(loaded);
}

static int loaded_open_one(struct bench_env *env, const struct bench_variant *v, void **priv)
{
	void *opened = v->open(env, v);

	if (IS_ERR(opened))
		return PTR_ERR(opened);
	*priv = opened;
	return 0;
}

static void *loaded_open(struct bench_env *env, const struct bench_variant *v)
{
	struct loaded *loaded = kzalloc(sizeof(*loaded), GFP_KERNEL);
	int i, ret;

	if (!loaded)
		return ERR_PTR(-ENOMEM);
	loaded->env = env;
	loaded->kind = (const struct loaded_kind *)v->arg;
	ret = loaded_open_one(env, loaded->kind->pingpong, &loaded->pingpong);
	for (i = 0; i < LOADED_BY && !ret; i++)
		ret = loaded_open_one(env, loaded->kind->write, &loaded->write[i]);
	if (!ret)
		return loaded;
	loaded_close(loaded);
	return ERR_PTR(ret);
}

#define LOADED(_name, _pingpong, _write)					\
	{									\
		.name	= _name,						\
		.open	= loaded_open,						\
		.run	= loaded_run,						\
		.also	= loaded_moved,						\
		.close	= loaded_close,						\
		.arg	= (unsigned long)&(const struct loaded_kind) { _pingpong, _write },	\
		.depth	= 1,							\
		.size	= 64,							\
	}

const struct bench_variant kb_ntb_loaded_msg = LOADED("msg-loaded", &kb_ntb_idle_msg,
						      &kb_ntb_long_msg);
const struct bench_variant kb_ntb_loaded_rdm = LOADED("rdm-loaded", &kb_ntb_idle_rdm,
						      &kb_ntb_long_rdm);
