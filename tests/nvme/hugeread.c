// SPDX-License-Identifier: GPL-2.0
/*
 * hugeread DEVICE BYTES DEPTH COUNT FILE - read the first BYTES * COUNT bytes of the device, DEPTH
 * requests of BYTES at a time, into memory that is contiguous (huge pages), and write them to FILE.
 */
#define _GNU_SOURCE	/* O_DIRECT */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { HUGE = 2 << 20, DEPTH_MAX = 64 };

static int device, out;
static size_t bytes;
static long count;
static atomic_long next;
static atomic_bool failed;

static void *reads(void *arg)
{
	char *buf = arg;
	long i;

	while (!failed && (i = atomic_fetch_add(&next, 1)) < count) {
		off_t at = i * (off_t)bytes;

		if (pread(device, buf, bytes, at) == (ssize_t)bytes &&
		    pwrite(out, buf, bytes, at) == (ssize_t)bytes)
			continue;
		perror("hugeread");
		failed = true;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[DEPTH_MAX];
	int depth, i, per;
	char *mem;

	if (argc != 6)
		return 2;
	bytes = strtoul(argv[2], NULL, 0);
	depth = atoi(argv[3]);
	count = atol(argv[4]);
	if (!bytes || bytes > HUGE || HUGE % bytes || depth < 1 || depth > DEPTH_MAX)
		return 2;
	device = open(argv[1], O_RDONLY | O_DIRECT);
	out = open(argv[5], O_RDWR | O_CREAT | O_TRUNC, 0600);
	per = HUGE / bytes;
	mem = mmap(NULL, (size_t)(depth + per - 1) / per * HUGE, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_POPULATE, -1, 0);
	if (device < 0 || out < 0 || mem == MAP_FAILED) {
		perror("hugeread");
		return 1;
	}
	for (i = 0; i < depth; i++)
		if (pthread_create(&thread[i], NULL, reads, mem + i * bytes))
			return 1;
	while (i--)
		pthread_join(thread[i], NULL);
	return failed;
}
