/* SPDX-License-Identifier: GPL-2.0 */
/*
 * mem.h - the buffers of streams, the same for everybody who is measured.
 */
#ifndef _KFI_BENCH_MEM_H
#define _KFI_BENCH_MEM_H

#include <linux/mm.h>

#define BENCH_MEM_MAX	16

/**
 * struct bench_mem - some buffers of physically contiguous pages
 * @page: first page of each; @count: how many; @size: bytes of each
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
 * The first of them: as many as a stream has under way, and so many bytes of each as it moves at
 * once.
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

#endif /* _KFI_BENCH_MEM_H */
