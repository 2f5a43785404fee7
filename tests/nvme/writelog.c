// SPDX-License-Identifier: GPL-2.0
/*
 * writelog DEVICE MIB SECONDS THREADS [WAIT] - write, remember what was acknowledged, and read it
 * back.
 *
 * The first MIB of the device are cells of 4 KiB; each thread owns a part of them and has one write
 * or read under way. The content of a cell names the cell and the number of the write, and is
 * different in each sector. A write counts as acknowledged when pwrite() (O_DIRECT) has returned;
 * from then on every read has to return that write, until the next one was acknowledged. At the end
 * all cells are read. Failures of the disk may delay operations, but must not lose an acknowledged
 * write. With WAIT the disk may fail operations as well: they are repeated until they succeed.
 *
 * Prints "acknowledged N, read M, pause P ms" now and then, P being the longest wait for a write
 * since the last line, and at the end once more with "all there". SIGTERM ends it early.
 */
#define _GNU_SOURCE	/* O_DIRECT */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { CELL = 4096, SECTOR = 512, RUN = 32, THREADS = 64, WORDS = SECTOR / 8 };

struct part {
	pthread_t thread;
	uint64_t seed;
	uint64_t first, count;	/* cells */
	uint32_t *acked;	/* number of the write that each cell has; 0: none yet */
	uint32_t writes;
	uint64_t *buffer;
};

static int device;
static atomic_bool stop, failed;
static int wait_for_disk;
static atomic_ulong acknowledged, read_back, pause_ms;

static uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	return x ^ (x >> 31);
}

static uint64_t draw(struct part *part)
{
	return mix(part->seed += 0x9e3779b97f4a7c15ULL);
}

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000ULL + t.tv_nsec / 1000000;
}

/* The first two words of a sector name it, the others depend on them. */
static uint64_t word(uint64_t cell, uint64_t write, unsigned int sector, unsigned int i)
{
	if (i == 0)
		return cell << 8 | sector;
	if (i == 1)
		return write;
	return mix((cell << 8 | sector) * 0x100000001b3ULL + (write << 7) + i);
}

static void fill(uint64_t *p, uint64_t cell, uint32_t write)
{
	unsigned int sector, i;

	for (sector = 0; sector < CELL / SECTOR; sector++)
		for (i = 0; i < WORDS; i++)
			*p++ = word(cell, write, sector, i);
}

static int same(const uint64_t *p, uint64_t cell, uint32_t write)
{
	unsigned int sector, i;

	for (sector = 0; sector < CELL / SECTOR; sector++)
		for (i = 0; i < WORDS; i++, p++)
			if (*p != word(cell, write, sector, i)) {
				printf("cell %llu, sector %u, word %u: %#llx, not that of write %u; the sector says cell %llu, write %llu\n",
				       (unsigned long long)cell, sector, i, (unsigned long long)*p,
				       write, (unsigned long long)(p - i)[0] >> 8,
				       (unsigned long long)(p - i)[1]);
				return 0;
			}
	return 1;
}

static void give_up(const char *what, uint64_t cell, long got)
{
	printf("%s of cell %llu: %ld (%s)\n", what, (unsigned long long)cell, got, strerror(errno));
	failed = stop = 1;
}

static void note_pause(uint64_t since)
{
	unsigned long ms = now_ms() - since, most = pause_ms;

	while (ms > most && !atomic_compare_exchange_weak(&pause_ms, &most, ms))
		;
}

/* Write or read cells. A disk without another path fails all while its only path is gone. */
static ssize_t move(struct part *part, int writes, uint64_t from, unsigned int n)
{
	size_t bytes = (size_t)n * CELL;
	off_t at = (part->first + from) * CELL;
	ssize_t got;

	for (;;) {
		got = writes ? pwrite(device, part->buffer, bytes, at) :
			       pread(device, part->buffer, bytes, at);
		if (got >= 0 || errno != EIO || !wait_for_disk || failed)
			return got;
		usleep(100000);
	}
}

static void write_run(struct part *part, uint64_t from, unsigned int n)
{
	uint32_t number = ++part->writes;
	uint64_t start = now_ms();
	unsigned int i;
	ssize_t got;

	for (i = 0; i < n; i++)
		fill(part->buffer + i * (CELL / 8), part->first + from + i, number);
	got = move(part, 1, from, n);
	if (got != (ssize_t)n * CELL) {
		give_up("write", part->first + from, got);
		return;
	}
	note_pause(start);
	for (i = 0; i < n; i++)
		part->acked[from + i] = number;
	acknowledged++;
}

static void read_run(struct part *part, uint64_t from, unsigned int n)
{
	ssize_t got = move(part, 0, from, n);
	unsigned int i;

	if (got != (ssize_t)n * CELL) {
		give_up("read", part->first + from, got);
		return;
	}
	for (i = 0; i < n; i++)
		if (part->acked[from + i] && !same(part->buffer + i * (CELL / 8),
						   part->first + from + i, part->acked[from + i]))
			failed = stop = 1;
	read_back++;
}

static void *work(void *arg)
{
	struct part *part = arg;
	uint64_t from, at;
	unsigned int n;

	while (!stop) {
		from = draw(part) % part->count;
		n = 1 + draw(part) % RUN;
		if (n > part->count - from)
			n = part->count - from;
		if (draw(part) % 3)
			write_run(part, from, n);
		else
			read_run(part, from, n);
	}
	for (at = 0; at < part->count && !failed; at += n) {
		n = part->count - at < RUN ? part->count - at : RUN;
		read_run(part, at, n);
	}
	return NULL;
}

static void on_term(int number)
{
	(void)number;
	stop = 1;
}

static void say(const char *more)
{
	printf("acknowledged %lu, read %lu, pause %lu ms%s\n", acknowledged, read_back,
	       atomic_exchange(&pause_ms, 0), more);
	fflush(stdout);
}

static int start(struct part *part, uint64_t first, uint64_t count, uint64_t seed)
{
	part->first = first;
	part->count = count;
	part->seed = seed;
	part->acked = calloc(count, sizeof(*part->acked));
	if (!part->acked || posix_memalign((void **)&part->buffer, CELL, RUN * CELL))
		return -1;
	return pthread_create(&part->thread, NULL, work, part);
}

int main(int argc, char **argv)
{
	static struct part parts[THREADS];
	uint64_t cells, each, end;
	int i, threads;

	threads = argc >= 5 ? atoi(argv[4]) : 0;
	wait_for_disk = argc == 6;
	if (threads < 1 || threads > THREADS || argc > 6)
		return fprintf(stderr, "usage: writelog DEVICE MIB SECONDS THREADS [WAIT]\n"), 2;
	device = open(argv[1], O_RDWR | O_DIRECT);
	if (device < 0)
		return perror(argv[1]), 2;
	signal(SIGTERM, on_term);
	cells = (uint64_t)atoi(argv[2]) << 20 >> 12;
	each = cells / threads;
	end = now_ms() + 1000ULL * atoi(argv[3]);
	for (i = 0; i < threads; i++)
		if (start(&parts[i], i * each, each, end * 1000 + i))
			return perror("thread"), 2;
	while (!stop && now_ms() < end) {
		usleep(250000);
		say("");
	}
	stop = 1;
	for (i = 0; i < threads; i++)
		pthread_join(parts[i].thread, NULL);
	say(failed ? ", NOT all there" : ", all there");
	return failed;
}
