// SPDX-License-Identifier: GPL-2.0
/*
 * samples.c - latencies: a random subset of bounded size in which each sample has the same
 * probability, so that quantiles are those of the whole run.
 */
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/sort.h>

#include "perf.h"

#define SAMPLES_MAX	(1U << 18)

int perf_samples_init(struct perf_samples *s, u64 expected)
{
	s->room = min_t(u64, expected, SAMPLES_MAX);
	s->ns = kvmalloc_array(s->room, sizeof(*s->ns), GFP_KERNEL);
	s->seen = 0;
	s->min = U32_MAX;
	s->max = 0;
	return s->ns ? 0 : -ENOMEM;
}

void perf_samples_free(struct perf_samples *s)
{
	kvfree(s->ns);
	s->ns = NULL;
}

/* A random number below @seen, nearly uniform */
static u64 random_below(u64 seen)
{
	return mul_u64_u32_shr(seen, get_random_u32(), 32);
}

void perf_samples_add(struct perf_samples *s, u64 ns)
{
	u32 v = min_t(u64, ns, U32_MAX);
	u64 at = s->seen++;

	s->min = min(s->min, v);
	s->max = max(s->max, v);
	if (at >= s->room)
		at = random_below(s->seen);
	if (at < s->room)
		s->ns[at] = v;
}

static int compare(const void *a, const void *b)
{
	u32 x = *(const u32 *)a, y = *(const u32 *)b;

	return x < y ? -1 : x > y;
}

void perf_samples_sort(struct perf_samples *s)
{
	sort(s->ns, min_t(u64, s->seen, s->room), sizeof(*s->ns), compare, NULL);
}

u32 perf_samples_at(const struct perf_samples *s, unsigned int permille)
{
	u64 n = min_t(u64, s->seen, s->room);

	return n ? s->ns[div_u64((n - 1) * permille, 1000)] : 0;
}
