// SPDX-License-Identifier: GPL-2.0
/*
 * mpi.c - a program for MPI: messages of each rank to each other, reductions and exchanges over
 * all, at sizes that use each kind of transfer of kfabric. All data is checked. A rank that finds a
 * wrong byte says where the byte is, and ends all ranks.
 *
 *	mpi --nodes N [--short] [--rates] [--until FILE] RANKS
 *
 * The ranks have to be on as many nodes as --nodes says, or the test would show nothing. A node is
 * a network namespace of a machine. --short leaves out what is longer than 64 KiB, and --rates
 * prints how fast messages and reductions are, too. With --until there are only reductions, until
 * there is that file.
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
#define SIZE_SHORT	65536

static int rank, ranks, longest = SIZE_MAX_;

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

	for (i = 0; i < ARRAY_SIZE(sizes) && sizes[i] <= longest; i++)
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

	for (c = 0; c < ARRAY_SIZE(counts) && counts[c] * (int)sizeof(long) <= longest; c++)
		reduce_one(counts[c], 1);
	mine = 0.5 * (rank + 1);
	MPI_Allreduce(&mine, &largest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	if (largest != 0.5 * ranks)
		die("allreduce: the largest is %g and not %g", largest, 0.5 * ranks);
	done("allreduce of numbers");
}

/* Each rank has another piece for each rank. */
static void exchange_all(void)
{
	unsigned char *in = allocate((size_t)ranks * SIZE_SHORT);
	unsigned char *out = allocate((size_t)ranks * SIZE_SHORT);
	int i, peer, len;

	for (i = 0; i < ARRAY_SIZE(sizes) && sizes[i] <= SIZE_SHORT; i++) {
		len = sizes[i];
		for (peer = 0; peer < ranks; peer++)
			fill(out + (size_t)peer * len, len, rank * 100 + peer);
		MPI_Alltoall(out, len, MPI_BYTE, in, len, MPI_BYTE, MPI_COMM_WORLD);
		for (peer = 0; peer < ranks; peer++)
			check("alltoall", in + (size_t)peer * len, len, peer * 100 + rank);
	}
	free(in);
	free(out);
	done("alltoall of up to 65536 bytes for each");
}

/* Between rank 0 and the last one, which is on another node. What comes back is checked. */
static void rate_of_messages(unsigned char *buf, int len, int rounds)
{
	double start = MPI_Wtime(), seconds;
	int i, other = rank ? 0 : ranks - 1;

	if (rank && rank != ranks - 1)
		return;
	for (i = 0; i < rounds; i++) {
		if (rank) {
			MPI_Recv(buf, len, MPI_BYTE, other, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			MPI_Send(buf, len, MPI_BYTE, other, i, MPI_COMM_WORLD);
			continue;
		}
		fill(buf, len, i);
		MPI_Send(buf, len, MPI_BYTE, other, i, MPI_COMM_WORLD);
		memset(buf, 0, len);
		MPI_Recv(buf, len, MPI_BYTE, other, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		check("messages", buf, len, i);
	}
	seconds = MPI_Wtime() - start;
	if (!rank)
		printf("rate    message %d %.1f %.1f\n", len, seconds / rounds / 2 * 1e6,
		       2.0 * rounds * len / seconds / 1e6);
}

static void rate_of_sums(int count, int rounds)
{
	long *in = (long *)allocate(count * sizeof(*in)), *out = (long *)allocate(count * sizeof(*out));
	double start, seconds;
	int i, round;

	for (i = 0; i < count; i++)
		in[i] = rank + i;
	MPI_Barrier(MPI_COMM_WORLD);
	start = MPI_Wtime();
	for (round = 0; round < rounds; round++)
		MPI_Allreduce(in, out, count, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
	seconds = MPI_Wtime() - start;
	for (i = 0; i < count; i++)
		if (out[i] != (long)ranks * (ranks - 1) / 2 + (long)ranks * i)
			die("allreduce: sum %d of %d is %ld", i, count, out[i]);
	if (!rank)
		printf("rate    allreduce %zu %.1f %.1f\n", count * sizeof(*in), seconds / rounds * 1e6,
		       (double)rounds * count * sizeof(*in) / seconds / 1e6);
	free(in);
	free(out);
}

static void rates(void)
{
	static const int lens[] = { 8, 4096, 65536, 1048576 };
	unsigned char *buf = allocate(lens[ARRAY_SIZE(lens) - 1]);
	int i;

	for (i = 0; i < ARRAY_SIZE(lens); i++)
		rate_of_messages(buf, lens[i], lens[i] > 65536 ? 8 : 50);
	for (i = 0; i < ARRAY_SIZE(lens); i++)
		rate_of_sums(lens[i] / sizeof(long), lens[i] > 65536 ? 4 : 20);
	free(buf);
}

/* Return how many ranks there have to be, and on how many nodes. */
static int parse(int argc, char **argv, int *nodes_, int *want_rates, const char **until)
{
	int i;

	*nodes_ = 0;
	for (i = 1; i < argc - 1; i++) {
		if (!strcmp(argv[i], "--nodes") && i + 1 < argc - 1)
			*nodes_ = atoi(argv[++i]);
		else if (!strcmp(argv[i], "--short"))
			longest = SIZE_SHORT;
		else if (!strcmp(argv[i], "--rates"))
			*want_rates = 1;
		else if (!strcmp(argv[i], "--until") && i + 1 < argc - 1)
			*until = argv[++i];
		else
			break;
	}
	if (i != argc - 1 || !*nodes_)
		die("usage: mpi --nodes N [--short] [--rates] [--until FILE] RANKS");
	return atoi(argv[i]);
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
	int wanted, on, want_rates = 0;
	const char *until = NULL;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	wanted = parse(argc, argv, &on, &want_rates, &until);
	if (ranks != wanted)
		die("there are %d ranks, not %d", ranks, wanted);
	check_nodes(on);
	if (until) {
		reduce_until(until);
		MPI_Finalize();
		return 0;
	}
	done(on == 2 ? "ranks on both nodes" : "ranks on all nodes");
	all_crowds();
	reduce_all();
	exchange_all();
	if (want_rates)
		rates();
	MPI_Finalize();
	if (!rank)
		printf("4 passed, 0 failed\n");
	return 0;
}
