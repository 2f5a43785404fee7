// SPDX-License-Identifier: GPL-2.0
/*
 * hugeio read|write DEVICE BYTES DEPTH COUNT FILE - copy the first BYTES * COUNT bytes of the device to
 * FILE, or of FILE to the device, DEPTH requests of BYTES at a time, by memory that is contiguous
 * (huge pages).
 */
#define _GNU_SOURCE	/* O_DIRECT */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { HUGE = 2 << 20, DEPTH_MAX = 64 };

static int from, to;
static size_t bytes;
static long count;
static atomic_long next;
static atomic_bool failed;

static void *copies(void *arg)
{
	char *buf = arg;
	long i;

	while (!failed && (i = atomic_fetch_add(&next, 1)) < count) {
		off_t at = i * (off_t)bytes;

		if (pread(from, buf, bytes, at) == (ssize_t)bytes &&
		    pwrite(to, buf, bytes, at) == (ssize_t)bytes)
			continue;
		perror("hugeio");
		failed = true;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[DEPTH_MAX];
	int depth, i, per;
	char *mem;

	if (argc != 7)
		return 2;
	bytes = strtoul(argv[3], NULL, 0);
	depth = atoi(argv[4]);
	count = atol(argv[5]);
	if (!bytes || bytes > HUGE || HUGE % bytes || depth < 1 || depth > DEPTH_MAX)
		return 2;
	if (!strcmp(argv[1], "write")) {
		from = open(argv[6], O_RDONLY);
		to = open(argv[2], O_WRONLY | O_DIRECT);
	} else {
		from = open(argv[2], O_RDONLY | O_DIRECT);
		to = open(argv[6], O_RDWR | O_CREAT | O_TRUNC, 0600);
	}
	per = HUGE / bytes;
	mem = mmap(NULL, (size_t)(depth + per - 1) / per * HUGE, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_POPULATE, -1, 0);
	if (from < 0 || to < 0 || mem == MAP_FAILED) {
		perror("hugeio");
		return 1;
	}
	for (i = 0; i < depth; i++)
		if (pthread_create(&thread[i], NULL, copies, mem + i * bytes))
			return 1;
	while (i--)
		pthread_join(thread[i], NULL);
	return failed;
}
