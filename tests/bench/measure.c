// SPDX-License-Identifier: GPL-2.0
/*
 * measure.c - the variants of a case run in turns, each for about the same time, beginning with
 * another one each round. So whatever else happens on the machine happens to all of them, and two
 * runs of one round make a pair.
 */
#include <linux/err.h>
#include <linux/math64.h>
#include <linux/printk.h>
#include <linux/sched.h>
#include <linux/string.h>
#include "measure.h"

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

/* How many operations take about ns? The runs that find out also warm everything up. */
static int turn_calibrate(struct turn *t, u64 ns)
{
	u32 step = max(t->v->depth, 1U);
	s64 took;

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
		    t->v->cpu ? t->v->cpu(t->priv) : ns);
}

/* "CASE", or "CASE/VARIANT" for one of its variants alone, to look at with a profiler. */
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

	for (i = 0; c->variant[i]; i++) {
		if (only && strcmp(c->variant[i]->name, only))
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
		if (c->variant[0])
			seq_printf(seq, "%s\n", c->name);
}
