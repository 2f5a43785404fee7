// SPDX-License-Identifier: GPL-2.0
/*
 * mpi.c - a program for MPI: messages of each rank to each other and reductions over all, at
 * sizes that use each kind of transfer of kfabric. All data is checked. A rank that finds a wrong
 * byte says where the byte is, and ends all ranks.
 *
 * The ranks have to be on as many nodes as --nodes says, or the test would show nothing. A node is
 * a network namespace of a machine.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WINDOW		8	/* messages in progress */
#define RANKS_MAX	64

/*
 * Injected, copied, around the limits of copies and eager messages, and longer ones of several
 * regions
 */
static const int sizes[] = {
	0, 1, 8, 64, 192, 193, 4096, 4097, 16384, 16385, 65536, 262144, 1048576, 4194304,
};
#define ARRAY_SIZE(a)	(int)(sizeof(a) / sizeof((a)[0]))
#define SIZE_MAX_	4194304

static int rank, ranks;

static void __attribute__((format(printf, 1, 2), noreturn)) die(const char *format, ...)
{
	va_list args;

	printf("NOT OK  mpi: rank %d: ", rank);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
	fflush(stdout);
	MPI_Abort(MPI_COMM_WORLD, 1);
	exit(1);
}

static void done(const char *what)
{
	MPI_Barrier(MPI_COMM_WORLD);
	if (!rank) {
		printf("ok      mpi: %s\n", what);
		fflush(stdout);
	}
}

/* A byte that depends on the message and the position in it */
static unsigned char byte(unsigned int seed, int at)
{
	return seed * 131 + at * 7 + (at >> 8) * 13 + (at >> 16);
}

static void fill(unsigned char *buf, int len, unsigned int seed)
{
	int i;

	for (i = 0; i < len; i++)
		buf[i] = byte(seed, i);
}

static void check(const char *what, const unsigned char *buf, int len, unsigned int seed)
{
	int i;

	for (i = 0; i < len; i++)
		if (buf[i] != byte(seed, i))
			die("%s: byte %d of %d is %#x and not %#x", what, i, len, buf[i],
			    byte(seed, i));
}

static unsigned char *allocate(size_t len)
{
	unsigned char *buf = malloc(len);

	if (!buf)
		die("no memory");
	return buf;
}

/* The first network namespace has the same number on all machines, but each boot has its own id. */
static struct node {
	char boot[64];
	unsigned long net;
} nodes[RANKS_MAX];

static void read_node(struct node *node)
{
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "r");
	struct stat st;

	if (!file || !fgets(node->boot, sizeof(node->boot), file) || stat("/proc/self/ns/net", &st))
		die("no /proc");
	fclose(file);
	node->net = st.st_ino;
}

static void check_nodes(int wanted)
{
	struct node mine = { 0 };
	int i, j, found = 0;

	if (ranks > RANKS_MAX)
		die("too many ranks");
	read_node(&mine);
	MPI_Allgather(&mine, sizeof(mine), MPI_BYTE, nodes, sizeof(mine), MPI_BYTE, MPI_COMM_WORLD);
	for (i = 0; i < ranks; i++) {
		for (j = 0; j < i && memcmp(&nodes[j], &nodes[i], sizeof(mine)); j++)
			;
		found += j == i;
	}
	if (found != wanted)
		die("%d ranks are on %d nodes, not on %d", ranks, found, wanted);
}

/*
 * All ranks send to all at once; receives are posted in the reverse order of the sends, and some
 * messages arrive before their receive. The next rank learns the size of the first one from
 * the message.
 */
static void crowd_one(int len, unsigned char *in, unsigned char *out)
{
	MPI_Request requests[2 * WINDOW];
	int i, step, to, from, n, count;
	MPI_Status status;

	for (step = 1; step < ranks; step++) {
		to = (rank + step) % ranks, from = (rank + ranks - step) % ranks, n = 0;
		for (i = 0; i < WINDOW; i++) {
			fill(out + (size_t)i * len, len, rank * 1000 + to * 100 + i);
			MPI_Isend(out + (size_t)i * len, len, MPI_BYTE, to, i, MPI_COMM_WORLD,
				  &requests[n++]);
		}
		if (step == 1) {
			MPI_Probe(from, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
			MPI_Get_count(&status, MPI_BYTE, &count);
			if (count != len || status.MPI_TAG != 0)
				die("crowd: %d bytes with tag %d came, not %d with 0", count,
				    status.MPI_TAG, len);
		}
		for (i = WINDOW - 1; i >= 0; i--)
			MPI_Irecv(in + (size_t)i * len, len, MPI_BYTE, from, i, MPI_COMM_WORLD,
				  &requests[n++]);
		MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
		for (i = 0; i < WINDOW; i++)
			check("crowd", in + (size_t)i * len, len, from * 1000 + rank * 100 + i);
	}
}

static void all_crowds(void)
{
	unsigned char *in = allocate((size_t)WINDOW * SIZE_MAX_);
	unsigned char *out = allocate((size_t)WINDOW * SIZE_MAX_);
	int i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		crowd_one(sizes[i], in, out);
	free(in);
	free(out);
	done("messages from all to all, out of order");
}

/* Add up @count numbers that depend on @seed. */
static void reduce_one(int count, long seed)
{
	long *in = calloc(count, sizeof(*in)), *out = calloc(count, sizeof(*out));
	long sum = (long)ranks * (ranks + 1) / 2;
	int i;

	if (!in || !out)
		die("no memory");
	for (i = 0; i < count; i++)
		in[i] = (rank + 1) * (i + seed);
	MPI_Allreduce(in, out, count, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
	for (i = 0; i < count; i++)
		if (out[i] != sum * (i + seed))
			die("allreduce: sum %d of %d is %ld and not %ld", i, count, out[i],
			    sum * (i + seed));
	free(in);
	free(out);
}

static void reduce_all(void)
{
	int counts[] = { 1, 7, 1024, 10000, 262144 }, c;
	double mine, largest;

	for (c = 0; c < ARRAY_SIZE(counts); c++)
		reduce_one(counts[c], 1);
	mine = 0.5 * (rank + 1);
	MPI_Allreduce(&mine, &largest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	if (largest != 0.5 * ranks)
		die("allreduce: the largest is %g and not %g", largest, 0.5 * ranks);
	done("allreduce of 1 to 262144 numbers");
}

/*
 * Reductions until there is a file: the network has trouble meanwhile. After some of them all
 * connections exist that the ranks need, and that is said.
 */
static void reduce_until(const char *path)
{
	static const int counts[] = { 1, 500, 20000, 65536 };
	int round, over = 0;

	for (round = 0; !over; round++) {
		reduce_one(counts[round % ARRAY_SIZE(counts)], round);
		over = !access(path, F_OK);
		MPI_Bcast(&over, 1, MPI_INT, 0, MPI_COMM_WORLD);
		if (round == ARRAY_SIZE(counts))
			done("connected");
	}
	if (!rank)
		printf("ok      mpi: %d reductions\n", round);
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if ((argc != 4 && argc != 6) || strcmp(argv[1], "--nodes") ||
	    (argc == 6 && strcmp(argv[4], "--until")))
		die("usage: mpi --nodes N RANKS [--until FILE]");
	if (ranks != atoi(argv[3]))
		die("there are %d ranks, not %s", ranks, argv[3]);
	check_nodes(atoi(argv[2]));
	if (argc == 6) {
		reduce_until(argv[5]);
		MPI_Finalize();
		return 0;
	}
	done("ranks on both nodes");
	all_crowds();
	reduce_all();
	MPI_Finalize();
	if (!rank)
		printf("3 passed, 0 failed\n");
	return 0;
}
