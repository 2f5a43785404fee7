// SPDX-License-Identifier: GPL-2.0
/*
 * fsynced write DIR SEED | check DIR SEED COUNT... - files whose content is known, and which was
 * acknowledged.
 *
 * Threads 0 and 1 append records to a file each, threads 2 and 3 make a new file for each record,
 * in the directory DIR of any file system. Length and content of a record follow from SEED, thread
 * and number. After fsync() of the file, and of the directory if a name is new, "write" prints the
 * line "THREAD NUMBER": this record, and all of the thread before it, must never be lost. It ends
 * when the file system fails or the machine is killed, or by SIGTERM.
 *
 * "check" gets the last number that was printed by each thread, and compares every byte up to it.
 * It prints "right R, missing M, wrong W, later L", where L counts right records that were written
 * but not acknowledged, and fails if M or W is not 0.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { THREADS = 4, APPENDING = 2, LONGEST = 8192, ALIGN = 8 };

static const char *dir;
static uint64_t seed;

static uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	return x ^ (x >> 31);
}

/* Return: bytes of a record. They are in @data. */
static size_t record(unsigned int thread, unsigned int number, uint64_t *data)
{
	uint64_t state = mix(seed ^ mix((uint64_t)thread << 32 | number));
	size_t len = state % (LONGEST / ALIGN) + 1, i;

	for (i = 0; i < len; i++)
		data[i] = mix(state += 0x9e3779b97f4a7c15ULL);
	return len * ALIGN;
}

static void file_name(unsigned int thread, unsigned int number, char *path, size_t size)
{
	if (thread < APPENDING)
		snprintf(path, size, "%s/all.%u", dir, thread);
	else
		snprintf(path, size, "%s/one.%u.%u", dir, thread, number);
}

/* ---- write ---- */

static void give_up(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	exit(1);
}

static void sync_dir(void)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY);

	if (fd < 0 || fsync(fd))
		give_up(dir);
	close(fd);
}

static void *write_thread(void *arg)
{
	unsigned int thread = (uintptr_t)arg, number;
	uint64_t data[LONGEST / ALIGN];
	char path[512], line[64];
	bool new;
	size_t len;
	int fd = -1;

	for (number = 1;; number++) {
		new = thread >= APPENDING || number == 1;
		if (new) {
			file_name(thread, number, path, sizeof(path));
			fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0644);
		}
		len = record(thread, number, data);
		if (fd < 0 || write(fd, data, len) != (ssize_t)len || fsync(fd))
			give_up(path);
		if (new)
			sync_dir();
		/* one write, so that lines of several threads do not mix */
		len = snprintf(line, sizeof(line), "%u %u\n", thread, number);
		if (write(STDOUT_FILENO, line, len) != (ssize_t)len)
			exit(1);
		if (thread >= APPENDING)
			close(fd);
	}
	return NULL;
}

static int write_all(void)
{
	pthread_t threads[THREADS];
	uintptr_t i;

	if (mkdir(dir, 0755) && errno != EEXIST)
		give_up(dir);
	for (i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, write_thread, (void *)i))
			give_up("pthread_create");
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

/* ---- check ---- */

enum verdict { RIGHT, MISSING, WRONG };

/* Look at a record, which begins at @at of an open file. Its length is added to @at. */
static enum verdict look(int fd, unsigned int thread, unsigned int number, off_t *at)
{
	uint64_t data[LONGEST / ALIGN], is[LONGEST / ALIGN];
	size_t len = record(thread, number, data);
	ssize_t got = fd < 0 ? 0 : pread(fd, is, len, *at);

	*at += len;
	if (got < 0)
		return WRONG;
	if ((size_t)got < len)
		return MISSING;
	return memcmp(data, is, len) ? WRONG : RIGHT;
}

static enum verdict look_named(unsigned int thread, unsigned int number, int *fd, off_t *at)
{
	char path[512];

	if (thread >= APPENDING) {
		if (*fd >= 0)
			close(*fd);
		*fd = -1;
		*at = 0;
	}
	if (*fd < 0) {
		file_name(thread, number, path, sizeof(path));
		*fd = open(path, O_RDONLY);
	}
	return look(*fd, thread, number, at);
}

static int check_all(char **counts)
{
	unsigned long found[3] = { 0 }, later = 0, acked;
	unsigned int thread, number;
	enum verdict verdict;
	off_t at;
	int fd;

	for (thread = 0; thread < THREADS; thread++) {
		acked = strtoul(counts[thread], NULL, 10);
		fd = -1;
		at = 0;
		for (number = 1; number <= acked; number++) {
			verdict = look_named(thread, number, &fd, &at);
			found[verdict]++;
			if (verdict != RIGHT)
				fprintf(stderr, "thread %u, record %u is %s\n", thread, number,
					verdict == MISSING ? "missing" : "wrong");
		}
		while (look_named(thread, number++, &fd, &at) == RIGHT)
			later++;
		if (fd >= 0)
			close(fd);
	}
	printf("right %lu, missing %lu, wrong %lu, later %lu\n", found[RIGHT], found[MISSING],
	       found[WRONG], later);
	return found[MISSING] || found[WRONG];
}

int main(int argc, char **argv)
{
	bool checks = argc == 4 + THREADS && !strcmp(argv[1], "check");

	if (!checks && (argc != 4 || strcmp(argv[1], "write"))) {
		fprintf(stderr, "usage: fsynced write DIR SEED | check DIR SEED COUNT...\n");
		return 2;
	}
	dir = argv[2];
	seed = mix(strtoull(argv[3], NULL, 10) + 1);
	return checks ? check_all(argv + 4) : write_all();
}
