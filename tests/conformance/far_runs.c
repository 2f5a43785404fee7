// SPDX-License-Identifier: GPL-2.0
/*
 * Changes of memory. They are exact to the byte: a byte that one side has not changed may have been
 * changed by the other.
 */
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/string.h>
#include "far_runs.h"

#define STRIDE	512	/* bytes that are compared at once, because most have not changed */

/*
 * The memory may change meanwhile: the bytes that are sent are those that are stored in the twin.
 */
static u32 put_run(struct far_buf *b, const u8 *mem, u8 *twin, size_t at, size_t len)
{
	struct far_run run = { at, len };

	memcpy(twin + at, mem + at, len);
	far_put(b, &run, sizeof(run));
	far_put(b, twin + at, len);
	return 1;
}

static u32 put_stride(struct far_buf *b, const u8 *mem, u8 *twin, size_t at, size_t end)
{
	size_t from;
	u32 n = 0;

	while (at < end) {
		for (; at < end && mem[at] == twin[at]; at++)
			;
		for (from = at; at < end && mem[at] != twin[at]; at++)
			;
		if (at > from)
			n += put_run(b, mem, twin, from, at - from);
	}
	return n;
}

u32 far_runs_put(struct far_buf *b, const u8 *mem, u8 *twin, size_t lo, size_t hi)
{
	size_t at, end;
	u32 n = 0;

	for (at = lo; at < hi; at = end) {
		end = min(hi, at + STRIDE);
		if (memcmp(mem + at, twin + at, end - at))
			n += put_stride(b, mem, twin, at, end);
	}
	return n;
}

bool far_runs_get(struct far_buf *b, u32 n, u8 *mem, u8 *twin, size_t size)
{
	struct far_run run;
	const void *p;

	while (n--) {
		far_get(b, &run, sizeof(run));
		p = far_take(b, run.len);
		if (b->bad || run.at > size || run.len > size - run.at)
			return false;
		memcpy(mem + run.at, p, run.len);
		memcpy(twin + run.at, p, run.len);
	}
	return true;
}
