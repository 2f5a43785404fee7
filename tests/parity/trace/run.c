// SPDX-License-Identifier: GPL-2.0
/*
 * The list of cases, their order, their random numbers and bytes.
 */
#include "trace.h"

static const struct trace_case *const lists[] = {
	msg_cases, tagged_cases, rma_cases, object_cases, queue_cases, conn_cases,
};

static const struct trace_case *nth(int nr)
{
	const struct trace_case *c;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(lists); i++)
		for (c = lists[i]; c->name; c++)
			if (!nr--)
				return c;
	return NULL;
}

int trace_count(void)
{
	int n = 0;

	while (nth(n))
		n++;
	return n;
}

/* splitmix64 */
static uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15ULL;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	return x ^ (x >> 31);
}

const struct trace_case *trace_case(uint64_t seed, int nr)
{
	int order[128], count = trace_count(), i, j, tmp;

	for (i = 0; i < count; i++)
		order[i] = i;
	for (i = count - 1; i > 0; i--) {
		j = mix(seed + i) % (i + 1);
		tmp = order[i];
		order[i] = order[j];
		order[j] = tmp;
	}
	return nth(order[nr]);
}

uint64_t rnd(struct run *r)
{
	return mix(r->state++);
}

uint64_t rnd_below(struct run *r, uint64_t below)
{
	return rnd(r) % below;
}

void shuffle(struct run *r, int *order, int count)
{
	int i, j, tmp;

	for (i = 0; i < count; i++)
		order[i] = i;
	for (i = count - 1; i > 0; i--) {
		j = rnd_below(r, i + 1);
		tmp = order[i];
		order[i] = order[j];
		order[j] = tmp;
	}
}

static char byte_of(struct run *r, int msg, size_t at)
{
	return mix(r->seed + ((uint64_t)msg << 40) + at / 8) >> (8 * (at % 8));
}

void fill(struct run *r, char *buf, size_t len, int msg)
{
	size_t i;

	for (i = 0; i < len; i++)
		buf[i] = byte_of(r, msg, i);
}

bool is_filled(struct run *r, const char *buf, size_t len, int msg)
{
	size_t i;

	if (len != r->msg_len[msg])
		return false;
	for (i = 0; i < len; i++)
		if (buf[i] != byte_of(r, msg, i))
			return false;
	return true;
}

/* FNV-1a */
uint32_t checksum(const char *buf, size_t len)
{
	uint32_t sum = 2166136261U;

	while (len--)
		sum = (sum ^ (uint8_t)*buf++) * 16777619U;
	return sum;
}

struct op *op_new(struct run *r, size_t len)
{
	struct op *op = port_alloc(sizeof(*op));

	op->buf = port_alloc(len + 1);
	memset(op->buf, 0xee, len);
	op->id = r->nr_ops;
	op->len = len;
	op->wants = NO_MESSAGE;
	r->ops[r->nr_ops++] = op;
	return op;
}

struct op *op_message(struct run *r, int msg, size_t len)
{
	struct op *op = op_new(r, len);

	r->msg_len[msg] = len;
	fill(r, op->buf, len, msg);
	return op;
}

/* A function of seed and case name, so that a case does not depend on its position. */
static uint64_t state_of(uint64_t seed, const char *name)
{
	return mix(seed) ^ ((uint64_t)checksum(name, strlen(name)) << 20);
}

void trace_run(struct run *r, const struct trace_case *c)
{
	r->c = c;
	r->state = state_of(r->seed, c->name);
	if (!nodes_open(r))
		c->fn(r);
	nodes_close(r);
}
