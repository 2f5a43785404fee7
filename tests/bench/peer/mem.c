// SPDX-License-Identifier: GPL-2.0
/* mem.c - buffers of streams. Each page has a stamp of its run, buffer and page number. */
#include <linux/atomic.h>
#include <linux/gfp.h>
#include <linux/string.h>
#include "../bench.h"

int bench_mem_alloc(struct bench_mem *mem, u32 count, u32 size)
{
	*mem = (struct bench_mem) { .size = size };
	if (count > BENCH_MEM_MAX)
		return -EINVAL;
	for (; mem->count < count; mem->count++) {
		struct page *page = alloc_pages(GFP_KERNEL | __GFP_COMP | __GFP_ZERO,
						get_order(size));

		if (!page) {
			bench_mem_free(mem);
			return -ENOMEM;
		}
		mem->page[mem->count] = page;
	}
	return 0;
}

void bench_mem_free(struct bench_mem *mem)
{
	while (mem->count) {
		mem->count--;
		__free_pages(mem->page[mem->count], get_order(mem->size));
	}
}

static u64 bench_stamp(u32 seed, u32 i, u32 offset)
{
	return ((u64)seed << 32 | i << 24 | offset >> 10) * 0x9e3779b97f4a7c15ULL;
}

/* Write stamps that were never used before. Return: their seed */
u32 bench_mem_stamp(struct bench_mem *mem)
{
	static atomic_t seeds;
	u32 seed = atomic_inc_return(&seeds);
	u32 i, offset;

	for (i = 0; i < mem->count; i++)
		for (offset = 0; offset < mem->size; offset += PAGE_SIZE)
			*(u64 *)(bench_mem(mem, i) + offset) = bench_stamp(seed, i, offset);
	return seed;
}

/* Have all buffers the stamps of this seed? */
bool bench_mem_check(struct bench_mem *mem, u32 seed)
{
	u32 i, offset;

	for (i = 0; i < mem->count; i++)
		for (offset = 0; offset < mem->size; offset += PAGE_SIZE)
			if (*(u64 *)(bench_mem(mem, i) + offset) != bench_stamp(seed, i, offset))
				return false;
	return true;
}
