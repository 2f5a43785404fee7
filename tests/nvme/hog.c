// SPDX-License-Identifier: GPL-2.0
/*
 * hog MIB SECONDS LOCKED - use so much memory for so long, and check that its contents do not
 * change. With swap on the disk under test, memory beyond the machine's is on that disk. LOCKED MiB
 * more are allocated and can't be swapped out.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

enum { PAGE = 4096, WORDS = PAGE / 8 };

/* Pages that compress well or are all alike would be no load. */
static uint64_t word(uint64_t page, uint64_t round, unsigned int i)
{
	uint64_t x = (page << 20 ^ round << 9 ^ i) + 0x9e3779b97f4a7c15ULL;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	return x ^ (x >> 27);
}

static void fill(uint64_t *p, uint64_t page, uint64_t round)
{
	unsigned int i;

	for (i = 0; i < WORDS; i++)
		p[i] = word(page, round, i);
}

static int same(const uint64_t *p, uint64_t page, uint64_t round)
{
	unsigned int i;

	for (i = 0; i < WORDS; i++)
		if (p[i] != word(page, round, i))
			return 0;
	return 1;
}

static void *take(uint64_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

int main(int argc, char **argv)
{
	uint64_t pages, page, round = 0;
	uint64_t *memory, locked;
	void *ballast;
	time_t end;

	if (argc != 4)
		return fprintf(stderr, "usage: hog MIB SECONDS LOCKED\n"), 2;
	pages = (uint64_t)atoi(argv[1]) * 1048576 / PAGE;
	end = time(NULL) + atoi(argv[2]);
	locked = (uint64_t)atoi(argv[3]) * 1048576;
	memory = take(pages * PAGE);
	ballast = take(locked);
	if (!memory || (locked && (!ballast || mlock(ballast, locked))))
		return perror("hog"), 2;
	for (page = 0; page < pages; page++)
		fill(memory + page * WORDS, page, 0);
	do {
		for (page = 0; page < pages; page++) {
			if (!same(memory + page * WORDS, page, round))
				return printf("page %llu is not what it was\n",
					      (unsigned long long)page),
				       1;
			fill(memory + page * WORDS, page, round + 1);
		}
		round++;
	} while (time(NULL) < end);
	printf("%llu rounds over %llu pages, all right\n", (unsigned long long)round,
	       (unsigned long long)pages);
	return 0;
}
