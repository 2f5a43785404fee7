// SPDX-License-Identifier: GPL-2.0
/*
 * hostile - a hostile process: random calls of /dev/kfi, and rings with random contents
 *
 * A table describes the structure of each call: what a field refers to, and its usual values. Most
 * calls are nearly right, so that they get far: a field is sometimes another one, a handle of
 * another class or an invented one, or a pointer to memory that is read-only, without access, ends
 * within a page, or is unmapped by another thread while it is in use. Other threads write random
 * bytes to the mapped rings, close objects in use, and interrupt calls that wait. Children inherit
 * descriptors and use them. Random numbers follow from the seed, but the interleaving of the
 * threads does not.
 *
 * A child does all this, and may well corrupt its own memory by such calls: then another one
 * replaces it. At the end each call must have succeeded at least once, or the test did not reach
 * enough code.
 */
#define _GNU_SOURCE
#include <getopt.h>
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "raw.h"

#define CONTEXTS	3
#define HANDLES		512	/* per context and class; the oldest are overwritten */
#define ARENA		(4UL << 20)
#define RINGS		16	/* areas for rings, each mapped over its predecessor */
#define RING		(256UL << 10)
#define PAGE		4096UL

enum class {
	FABRIC, DOMAIN, PEP, EP, STX, SRX, CQ, EQ, CNTR, AV, MR, CONNREQ,
	READY,	/* endpoints that were enabled */
	CLASSES
};

struct context {
	int fd;
	/*
	 * Handles of the kernel. Threads read and write them without a lock: a stale one is a valid
	 * input.
	 */
	uint32_t handles[CLASSES][HANDLES];
	unsigned int given[CLASSES];
};

/* Results that outlive a child */
struct counts {
	unsigned long tries[256], good[256];
	unsigned long posted;	/* operations */
	unsigned long served;	/* forked processes with a call that was not refused */
};

static struct context contexts[CONTEXTS];
static struct kfi_user_info infos[16];	/* result of GETINFO, with the loop provider's infos */
static int info_count;
static char *arena;			/* the part that is mapped and unmapped repeatedly */
static char *steady;			/* the part that stays */
static char *barred,
	*readonly; /* a page without access behind a good one; a read-only page */
static char *rings;
static _Atomic int over;
static uint64_t seed, total = 100000;
static struct counts *counts;

/* Each thread has its own random numbers. */
static __thread struct raw_random dice;

static uint64_t below(uint64_t n)
{
	return raw_below(&dice, n);
}

static int chance(int percent)
{
	return below(100) < (uint64_t)percent;
}

static uint64_t any64(void)
{
	static const uint64_t edges[] = {
		0, 1, 2, 7, 8, 63, 64, 255, 256, 4095, 4096, 16384, 16385, 65535, 65536,
		0x7fffffff, 0x80000000, 0xffffffff, 0x100000000, 0x7fffffffffffffff,
		0x8000000000000000, ~0ULL, ~0ULL - 1, ~0ULL - 4095,
	};

	switch (below(4)) {
	case 0:
		return edges[below(sizeof(edges) / sizeof(*edges))];
	case 1:
		return below(4096);
	case 2:
		return 1ULL << below(64);
	default:
		return raw_next(&dice);
	}
}

/* Usually the address of at least @len bytes of memory */
static uint64_t pointer(uint64_t len)
{
	uint64_t room = len < ARENA ? ARENA - len : 1;

	switch (below(32)) {
	case 0:
		return 0;
	case 1:
		return (uintptr_t)barred - below(64);
	case 2:
		return (uintptr_t)barred;
	case 3:
		return (uintptr_t)readonly;
	case 4:
		return raw_next(&dice);
	case 5:
		return 0xffff888000000000ULL + below(1 << 30);
	case 6:
		return (uintptr_t)rings + below(RINGS * RING);
	case 7:
	case 8:
	case 9:
	case 10:
		return (uintptr_t)arena + below(room);
	default:
		return (uintptr_t)steady + below(room);
	}
}

static uint32_t handle(struct context *c, enum class class)
{
	switch (below(24)) {
	case 0:
		return any64();
	case 1:
		class = below(CLASSES);
		break;
	case 2:
		c = &contexts[below(CONTEXTS)];
		break;
	}
	/* One of the last few, which are most likely still open, and belong together. */
	return c->given[class] ?
		       c->handles[class]
				 [(c->given[class] - 1 - below(chance(80) ? 2 : 16)) % HANDLES] :
		       below(64);
}

static void keep(struct context *c, enum class kind, uint32_t h)
{
	c->handles[kind][c->given[kind]++ % HANDLES] = h;
}

static uint64_t flags_of(uint64_t usual)
{
	switch (below(8)) {
	case 0:
		return usual | 1ULL << below(64);
	case 1:
		return any64();
	case 2:
		return usual & raw_next(&dice);
	default:
		return usual;
	}
}

/* Call an ioctl, sometimes with another size than that of the structure. */
static int call(struct context *c, unsigned long request, void *arg)
{
	/* Random bytes or zeroes follow the structure, for lengths that are too large. */
	static __thread char room[16384];
	unsigned long size = _IOC_SIZE(request);
	unsigned int number = _IOC_NR(request);
	int ret;

	if (chance(4)) {
		memset(room, chance(50) ? 0 : raw_next(&dice), sizeof(room));
		memcpy(room, arg, size);
		size = chance(50) ? below(size + 1) : below(sizeof(room));
		request = _IOC(_IOC_DIR(request), _IOC_TYPE(request), number, size);
		return raw_ioctl(c->fd, request, room);
	}
	if (chance(1))
		return raw_ioctl(c->fd, request, (void *)(uintptr_t)pointer(size));
	if (chance(2))	/* change a random byte */
		((unsigned char *)arg)[below(size)] = raw_next(&dice);
	__atomic_add_fetch(&counts->tries[number], 1, __ATOMIC_RELAXED);
	ret = raw_ioctl(c->fd, request, arg);
	if (!ret)
		__atomic_add_fetch(&counts->good[number], 1, __ATOMIC_RELAXED);
	return ret;
}

#include "hostile_calls.h"

/* ---- replace a context ---- */

static void do_reopen(struct context *c)
{
	int fd = raw_open(), old = c->fd;

	if (fd < 0)
		return;
	/* Other threads may be using the old one. */
	c->fd = fd;
	memset(c->given, 0, sizeof(c->given));
	if (old >= 0)
		close(old);
}

/* A child with the same descriptors and memory, which is copied while operations are in progress */
static void do_fork(struct context *c)
{
	struct kfi_user_version version = { };
	pid_t pid = fork();
	int status, ret, fd;

	if (pid < 0)
		return;
	if (!pid) {
		memset(steady, 1, PAGE);
		fd = c->fd;
		ret = raw_ioctl(fd, KFI_IOC_VERSION, &version);
		/*
		 * Another thread may have closed that descriptor, or the process may have spoilt
		 * the number, which then is that of another file.
		 */
		if (ret != -EIO && ret != -EBADF && ret != -ENOTTY) {
			dprintf(2, "hostile: descriptor %d answers %d after a fork\n", fd, ret);
			__atomic_add_fetch(&counts->served, 1, __ATOMIC_RELAXED);
		}
		_exit(0);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
}

static void one_call(struct context *c)
{
	int sum = 42, n, at;	/* weights of the sequence, of a new context and of a fork */

	for (n = 0; n < CALLS; n++)
		sum += calls[n].weight;
	at = below(sum);
	for (n = 0; n < CALLS && at >= calls[n].weight; n++)
		at -= calls[n].weight;
	if (n < CALLS)
		call_number(c, n);
	else if (at >= 2)
		do_sequence(c);
	else if (at)
		do_fork(c);
	else
		do_reopen(c);
}

static unsigned long made(void)
{
	unsigned long sum = 0;
	int n;

	for (n = 0; n < 256; n++)
		sum += __atomic_load_n(&counts->tries[n], __ATOMIC_RELAXED);
	return sum;
}

/* ---- threads ---- */

static void *caller(void *number)
{
	raw_seed(&dice, seed, 10 + (uintptr_t)number);
	while (!over)
		one_call(&contexts[below(CONTEXTS)]);
	return NULL;
}

/* Pages of the arena are mapped, unmapped, change their rights, and are dropped. */
static void *mapper(void *unused)
{
	(void)unused;
	raw_seed(&dice, seed, 1);
	while (!over) {
		uint64_t pages = 1 + below(64), at = below(ARENA / PAGE - pages) * PAGE;

		switch (below(5)) {
		case 0:
			munmap(arena + at, pages * PAGE);
			usleep(below(2000));
			/* fallthrough */
		case 1:
			mmap(arena + at, pages * PAGE, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
			break;
		case 2:
			mprotect(arena + at, pages * PAGE, below(8));
			break;
		case 3:
			madvise(arena + at, pages * PAGE, MADV_DONTNEED);
			break;
		case 4:
			mremap(arena + at, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED,
			       arena + below(ARENA / PAGE) * PAGE);
			break;
		}
		usleep(below(3000));
	}
	return NULL;
}

/*
 * Write random bytes and wrong heads to rings. The kernel writes them (read()), because it survives
 * that another thread has just mapped something else there.
 */
static void *scribbler(void *unused)
{
	int file = open("/dev/urandom", O_RDONLY);

	(void)unused;
	raw_seed(&dice, seed, 2);
	while (!over) {
		size_t at = chance(70) ? offsetof(struct kfi_user_ring, head) : below(PAGE / 2) * 4;

		if (read(file, rings + below(RINGS) * RING + at, 4) < 0 && errno != EFAULT)
			perror("hostile: read");
		usleep(below(500));
	}
	close(file);
	return NULL;
}

/* Close objects that other threads use. */
static void *closer(void *unused)
{
	(void)unused;
	raw_seed(&dice, seed, 3);
	while (!over) {
		struct context *c = &contexts[below(CONTEXTS)];
		struct kfi_user_handle h = { .handle = handle(c, below(CLASSES)) };

		raw_ioctl(c->fd, KFI_IOC_CLOSE, &h);
		usleep(below(4000));
	}
	return NULL;
}

static pthread_t threads[8];
static int thread_count;

static void on_signal(int number)
{
	(void)number;
}

/* Signals end waits without a time limit. */
static void *interrupter(void *unused)
{
	(void)unused;
	raw_seed(&dice, seed, 4);
	while (!over) {
		pthread_kill(threads[0], SIGUSR1);
		pthread_kill(threads[1], SIGUSR1);
		usleep(2000 + below(8000));
	}
	return NULL;
}

static void start(void *(*function)(void *), void *argument)
{
	if (pthread_create(&threads[thread_count++], NULL, function, argument)) {
		fprintf(stderr, "hostile: no thread\n");
		exit(1);
	}
}

static void *map(size_t bytes)
{
	void *memory =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED) {
		perror("hostile: mmap");
		exit(1);
	}
	return memory;
}

static void prepare(void)
{
	struct sigaction action = { .sa_handler = on_signal };
	int n;

	sigaction(SIGUSR1, &action, NULL);
	arena = map(ARENA + PAGE);
	rings = map(RINGS * RING);
	steady = map(ARENA + PAGE);
	memset(steady, 5, ARENA);
	barred = map(2 * PAGE) + PAGE;
	mprotect(barred, PAGE, PROT_NONE);
	readonly = map(PAGE);
	mprotect(readonly, PAGE, PROT_READ);
	for (n = 0; n < CONTEXTS; n++) {
		contexts[n].fd = raw_open();
		if (contexts[n].fd < 0) {
			fprintf(stderr, "hostile: cannot open %s: %s\n", KFI_USER_DEVICE,
				strerror(-contexts[n].fd));
			exit(1);
		}
	}
	for (n = 0; n < 12; n++) {
		enum fi_ep_type type = n % 2 ? FI_EP_MSG : FI_EP_RDM;

		if (!raw_getinfo(contexts[0].fd, "loop", type, NULL, NULL, &infos[info_count]))
			info_count++;
	}
	if (!info_count) {
		fprintf(stderr, "hostile: no provider loop\n");
		exit(1);
	}
}

/* A child runs until all children together have made enough calls. */
static void child(void)
{
	int n;

	raw_seed(&dice, seed, 0);
	prepare();
	start(caller, (void *)0);
	start(caller, (void *)1);
	start(mapper, NULL);
	start(scribbler, NULL);
	start(closer, NULL);
	start(interrupter, NULL);
	while (made() < total)
		usleep(20000);
	over = 1;
	for (n = 0; n < thread_count; n++) {
		/* A wait that began after the signal needs another signal. */
		while (pthread_tryjoin_np(threads[n], NULL)) {
			pthread_kill(threads[n], SIGUSR1);
			usleep(1000);
		}
	}
	for (n = 0; n < CONTEXTS; n++)
		close(contexts[n].fd);
}

/* Run children one after the other. Return: how many have crashed. */
static int children(void)
{
	unsigned long before = 0, told = 0;
	uint64_t since;
	int status, crashes = 0;
	pid_t pid;

	while (made() < total) {
		pid = fork();
		if (!pid) {
			seed += crashes;
			child();
			_exit(0);
		}
		since = raw_ms();
		while (!waitpid(pid, &status, WNOHANG)) {
			if (made() != before)
				since = raw_ms();
			before = made();
			if (before - told >= 1000000) {
				told = before;
				printf("hostile: %lu calls\n", told);
			}
			if (raw_ms() - since > 20000)
				kill(pid, SIGKILL);
			usleep(20000);
		}
		if (WIFEXITED(status) && WEXITSTATUS(status))
			return -1;
		crashes += !WIFEXITED(status);
	}
	return crashes;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "count", 1, NULL, 'c' }, { "seed", 1, NULL, 's' }, { }
	};
	int option, n, crashes, bad = 0;
	long long pinned;

	seed = time(NULL) ^ (uint64_t)getpid() << 20;
	while ((option = getopt_long(argc, argv, "", options, NULL)) >= 0) {
		if (option == '?')
			return 2;
		*(option == 'c' ? &total : &seed) = strtoull(optarg, NULL, 0);
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("hostile: seed %llu, %llu calls\n", (unsigned long long)seed,
	       (unsigned long long)total);
	raw_unprivileged(8 << 20);
	counts = mmap(NULL, sizeof(*counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	crashes = children();
	bad |= crashes < 0;
	pinned = raw_pinned();
	if (pinned) {
		printf("hostile: %lld pages are still pinned\n", pinned);
		bad = 1;
	}
	if (counts->served) {
		printf("hostile: %lu forked processes could use a context\n", counts->served);
		bad = 1;
	}
	for (n = 0; n < CALLS; n++) {
		unsigned int number = _IOC_NR(calls[n].request);

		if (n && calls[n].request == calls[n - 1].request)
			continue;
		printf("hostile: call %02x: %lu of %lu succeeded\n", number, counts->good[number],
		       counts->tries[number]);
		if (!counts->good[number] && total >= 100000) {
			printf("hostile: call %02x never succeeded\n", number);
			bad = 1;
		}
	}
	printf("hostile: %lu operations were posted, %d children spoilt themselves\n",
	       counts->posted, crashes);
	if (counts->posted < total / 100) {
		printf("hostile: those are too few\n");
		bad = 1;
	}
	printf("%d passed, %d failed\n", !bad, bad ? 1 : 0);
	return bad ? 1 : 0;
}
