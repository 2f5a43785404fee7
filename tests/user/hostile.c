// SPDX-License-Identifier: GPL-2.0
/*
 * hostile - a hostile process: random calls of /dev/kfi, and rings with random contents
 *
 * A table has the structure of each call: the values of its fields, the object that it gives, and
 * the structures that its pointers refer to. Most calls are nearly right, so that they get far: a
 * field is sometimes another one, a handle of another class or an invented one, or a pointer to
 * memory that is read-only, without access, ends within a page, or is unmapped by another thread
 * while it is in use. Sequences of exact calls make endpoints that work. Other threads write
 * random bytes to the mapped rings, close objects in use, and interrupt calls that wait. Random
 * numbers follow from the seed, but the interleaving of the threads does not.
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
#define NAMES		16	/* addresses of endpoints that calls have learnt */

/* READY: endpoints that were enabled */
enum class {
	NOTHING, FABRIC, DOMAIN, PEP, EP, STX, SRX, CQ, EQ, CNTR, AV, MR, CONNREQ, READY, CLASSES
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
};

static struct context contexts[CONTEXTS];
static struct kfi_user_info infos[2];	/* of the loop provider: RDM and MSG */
static char *arena;			/* the part that is mapped and unmapped repeatedly */
static char *steady;			/* the part that stays */
static char *barred;			/* a page without access behind a good one */
static char *readonly;
static char *rings;
static unsigned char names[2 * NAMES * KFI_USER_ADDR_MAX];
static uint64_t last_key;		/* of a region */
static _Atomic int over;
static uint64_t seed, total = 100000;
static struct counts *counts;

/* Each thread has its own random numbers, and its last name. */
static __thread struct raw_random dice;
static __thread unsigned int last_name;
/* Of 100 fields of a call so many have wrong values; 0: the call is exact. */
static __thread int wrong;

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
		0, 1, 7, 64, 255, 4095, 4096, 16384, 16385, 65536, 0x7fffffff, 0x80000000,
		0xffffffff, 0x100000000, INT64_MAX, 1ULL << 63, ~0ULL, ~0ULL - 4095,
	};

	switch (below(3)) {
	case 0:
		return edges[below(sizeof(edges) / sizeof(*edges))];
	case 1:
		return 1ULL << below(64);
	default:
		return raw_next(&dice);
	}
}

/* Usually the address of at least @len bytes of memory */
static uint64_t pointer(uint64_t len)
{
	uint64_t room = len < ARENA ? ARENA - len : 1;

	switch (wrong ? below(32) : 31) {
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
	case 7 ... 15:
		return (uintptr_t)arena + below(room);
	default:
		return (uintptr_t)steady + below(room);
	}
}

/* One of the last few, which are most likely still open, and belong together */
static uint32_t handle(struct context *c, enum class class)
{
	unsigned int back = 0;

	if (wrong) {
		back = below(chance(80) ? 2 : 16);
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
	}
	if (!c->given[class])
		return below(64);
	return c->handles[class][(c->given[class] - 1 - back) % HANDLES];
}

/* Call an ioctl, sometimes with another size than that of the structure. */
static int call(struct context *c, unsigned long request, void *arg)
{
	/* Random bytes or zeroes follow the structure, for lengths that are too large. */
	static __thread char room[16384];
	unsigned long size = _IOC_SIZE(request);
	unsigned int number = _IOC_NR(request);
	int ret;

	if (wrong && chance(4)) {
		memset(room, chance(50) ? 0 : raw_next(&dice), sizeof(room));
		memcpy(room, arg, size);
		size = chance(50) ? below(size + 1) : below(sizeof(room));
		request = _IOC(_IOC_DIR(request), _IOC_TYPE(request), number, size);
		return raw_ioctl(c->fd, request, room);
	}
	if (wrong && chance(1))
		return raw_ioctl(c->fd, request, (void *)(uintptr_t)pointer(size));
	if (wrong && chance(2))	/* change a random byte */
		((unsigned char *)arg)[below(size)] = raw_next(&dice);
	__atomic_add_fetch(&counts->tries[number], 1, __ATOMIC_RELAXED);
	ret = raw_ioctl(c->fd, request, arg);
	if (!ret)
		__atomic_add_fetch(&counts->good[number], 1, __ATOMIC_RELAXED);
	return ret;
}

/* ---- the structures of the calls ---- */

enum kind {
	IS,		/* the value @usual */
	BELOW,		/* a number below it */
	COUNT,		/* from 1 to it, which a NAMES_SIZE behind it is about */
	SELDOM,		/* @usual, or most often 0 */
	ANY,
	HANDLE,		/* of one of the classes @usual, bits */
	COPY,		/* from byte @usual of an info */
	KEY,		/* of the last region */
	NAME_LEN, NAMES_SIZE,
	/* pointers */
	MEMORY,		/* to anything */
	OF,		/* to structures of the shape @usual */
	NAME,		/* to an address, most often the last one */
	NEW_NAME,	/* to where it is to be stored */
};

/* A field of @size bytes, which follows the one before it */
struct field {
	unsigned short size;
	enum kind kind;
	uint64_t usual;
};

#define FIELDS		19
#define ONE(class)	(1U << (class))
#define ACCESS		(FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE)
#define INFO_SIZE	sizeof(struct kfi_user_info)
#define VERSION		FI_VERSION(2, 1)

/* Fields, with their sizes in bytes. What is a result begins as a zero. */
#define OUT2		{ 2, IS, 0 }
#define OUT4		{ 4, IS, 0 }
#define OUT8		{ 8, IS, 0 }
#define IS2(value)	{ 2, IS, value }
#define IS4(value)	{ 4, IS, value }
#define IS8(value)	{ 8, IS, value }
#define LT2(end)	{ 2, BELOW, end }
#define LT4(end)	{ 4, BELOW, end }
#define LT8(end)	{ 8, BELOW, end }
#define COUNT4(most)	{ 4, COUNT, most }
#define MAY4(value)	{ 4, SELDOM, value }
#define MAY8(value)	{ 8, SELDOM, value }
#define ANY8		{ 8, ANY, 0 }
#define KEY8		{ 8, KEY, 0 }
#define H(class)	{ 4, HANDLE, ONE(class) }
#define H_OF(classes)	{ 4, HANDLE, classes }
#define INFO_STRING(of)	{ KFI_USER_NAME_MAX, COPY, offsetof(struct kfi_user_info, of) }
#define TO(shape)	{ 8, OF, shape }
#define TO_ANY		{ 8, MEMORY, 0 }
#define TO_NAME		{ 8, NAME, 0 }
#define TO_NEW_NAME	{ 8, NEW_NAME, 0 }
#define NAME_LEN4	{ 4, NAME_LEN, 0 }
#define NAMES_SIZE4	{ 4, NAMES_SIZE, 0 }

/* What pointers refer to: @count structures of @size bytes, which begin as @model */
enum shape { RDM, MSG, NODE, SERVICE, ZEROES, VECTOR, REMOTE, OPERATION, ATOMIC, SEGMENTS };

#define DESC(opcodes, buf, len, rma_addr) \
	LT4(opcodes), H(READY), IS8(KFI_USER_COMPLETION), LT8(8), MAY8(1), LT8(4), MAY8(~0ULL), \
	ANY8, buf, len, rma_addr, KEY8
#define DESCS	sizeof(struct kfi_user_desc), 4, NULL

static const struct {
	unsigned int size, count;
	const void *model;
	struct field fields[FIELDS];
} shapes[] = {
	[RDM] = { INFO_SIZE, 1, &infos[0] },
	[MSG] = { INFO_SIZE, 1, &infos[1] },
	[NODE] = { 5, 1, "loop" },
	[SERVICE] = { 5, 1, "1000" },
	[ZEROES] = { PAGE, 1 },
	[VECTOR] = { sizeof(struct kfi_user_iovec), KFI_USER_IOV_MAX, NULL, { TO_ANY, IS8(8192) } },
	[REMOTE] = { sizeof(struct kfi_user_rma), 2, NULL, { LT8(4096), IS8(16384), KEY8 } },
	[OPERATION] = { DESCS, { DESC(KFI_USER_WRITE + 1, TO_ANY, LT8(1 << 15), LT8(4096)) } },
	[ATOMIC] = { DESCS, { DESC(KFI_USER_COMPARE_ATOMIC + 1, TO_ANY, IS8(64), LT8(4096)),
			      TO_ANY, TO_ANY, OUT2, OUT2, LT2(20), LT2(10) } },
	[SEGMENTS] = { DESCS, { DESC(KFI_USER_WRITE + 1, TO(VECTOR), IS8(32768), TO(REMOTE)),
				OUT8, OUT8, IS2(4), IS2(2) } },
};

static void fill(struct context *c, char *to, const struct field *f);

/* Structures in memory that stays: what the kernel writes behind them hurts nobody. */
static uint64_t made(struct context *c, enum shape number)
{
	char *at = steady + below(ARENA - (1 << 18));
	unsigned int n, size = shapes[number].size;

	for (n = 0; n < shapes[number].count; n++) {
		memset(at + n * size, 0, size);
		if (shapes[number].model)
			memcpy(at + n * size, shapes[number].model, size);
		fill(c, at + n * size, shapes[number].fields);
		if (chance(wrong))
			at[n * size + below(size)] = raw_next(&dice);
	}
	return (uintptr_t)at;
}

static uint32_t handle_of(struct context *c, uint32_t classes)
{
	enum class class;

	do {
		class = below(CLASSES);
	} while (!(classes & ONE(class)));
	return handle(c, class);
}

static uint64_t value(struct context *c, const struct field *f, uint64_t *count)
{
	uint64_t len = infos[0].src_addrlen;

	switch (f->kind) {
	case IS:
		return f->usual;
	case BELOW:
		return below(f->usual);
	case COUNT:
		return *count = wrong ? 1 + below(f->usual) : 1;
	case SELDOM:
		return chance(20) ? f->usual : 0;
	case HANDLE:
		return handle_of(c, f->usual);
	case KEY:
		return last_key;
	case NAME_LEN:
		return len;
	case NAMES_SIZE:
		return *count * len;
	case MEMORY:
		return pointer(1 << 17);
	case OF:
		return made(c, f->usual);
	case NEW_NAME:
		last_name = (last_name + 1) % NAMES;
		return (uintptr_t)names + last_name * len;
	case NAME:
		return (uintptr_t)names + (wrong && chance(40) ? below(NAMES) : last_name) * len;
	default:
		return any64();
	}
}

/* Make a structure. */
static void fill(struct context *c, char *to, const struct field *f)
{
	uint64_t v, count = 1;

	for (; f->size; to += f->size, f++) {
		if (f->kind == COPY) {
			memcpy(to, (char *)infos + f->usual, f->size);
			continue;
		}
		v = !chance(wrong) ? value(c, f, &count) :
		    f->kind >= MEMORY ? pointer(below(4096)) : any64();
		memcpy(to, &v, f->size);	/* little-endian machines only */
	}
}

#define OPEN(from, shape)	H(from), OUT4, ANY8, TO(shape), IS4(INFO_SIZE)
#define QUEUE(from)		H(from), OUT4, ANY8, LT8(300)
#define BIND(what, to, with)	{ H_OF(what), H_OF(to), IS8(with) }
#define OPTION \
	{ H_OF(ONE(EP) | ONE(PEP)), IS4(FI_OPT_ENDPOINT), LT4(16), IS4(8), TO(ZEROES) }
#define GETS_NAME(class)	{ H(class), OUT4, NAME_LEN4, OUT4, TO_NEW_NAME }
#define NAMED(classes)		{ H_OF(classes), OUT4, NAME_LEN4, MAY4(200), TO_NAME, TO_ANY }

/* @key: a letter of the sequences; @class: of the handle that it gives, which is at byte @at */
static const struct row {
	char key;
	int weight;
	unsigned long request;
	struct field fields[FIELDS];
	enum class class;
	unsigned int at;
} rows[] = {
	{ 0, 2, KFI_IOC_VERSION, {} },
	{ 0, 5, KFI_IOC_GETINFO,
	  { IS4(VERSION), LT4(3), OUT8, OUT8, OUT8, TO(RDM), TO_ANY, IS4(INFO_SIZE) } },
	{ 0, 5, KFI_IOC_GETINFO,
	  { IS4(VERSION), LT4(3), IS8(FI_SOURCE), TO(NODE), TO(SERVICE), TO(RDM), TO_ANY,
	    IS4(INFO_SIZE) } },
	{ 'F', 10, KFI_IOC_FABRIC,
	  { INFO_STRING(fabric.prov_name), INFO_STRING(fabric.name), IS4(VERSION) },
	  FABRIC, offsetof(struct kfi_user_fabric, handle) },
	{ 'D', 10, KFI_IOC_DOMAIN, { OPEN(FABRIC, RDM) }, DOMAIN, 4 },
	{ 'E', 8, KFI_IOC_EQ, { QUEUE(FABRIC), IS8(FI_WRITE) }, EQ, 4 },
	{ 'C', 12, KFI_IOC_CQ, { QUEUE(DOMAIN) }, CQ, 4 },
	{ 'V', 8, KFI_IOC_AV, { QUEUE(DOMAIN) }, AV, 4 },
	{ 'M', 30, KFI_IOC_MR,
	  { H(DOMAIN), OUT4, ANY8, TO(VECTOR), COUNT4(2), OUT4, IS8(ACCESS), MAY8(4096),
	    IS8(FI_KEY_NOTAVAIL), MAY8(FI_RMA_EVENT) }, MR, 4 },
	{ 'R', 12, KFI_IOC_ENDPOINT, { OPEN(DOMAIN, RDM) }, EP, 4 },
	{ 'S', 8, KFI_IOC_ENDPOINT, { OPEN(DOMAIN, MSG) }, EP, 4 },
	{ 'A', 8, KFI_IOC_ENDPOINT, { OPEN(DOMAIN, MSG), H(CONNREQ) }, EP, 4 },
	{ 'L', 6, KFI_IOC_PASSIVE_EP, { OPEN(FABRIC, MSG) }, PEP, 4 },
	{ 0, 4, KFI_IOC_STX, { OPEN(DOMAIN, RDM) }, STX, 4 },
	{ 0, 4, KFI_IOC_SRX, { OPEN(DOMAIN, RDM) }, SRX, 4 },
	{ 0, 8, KFI_IOC_CNTR, { H(DOMAIN), OUT4, ANY8, LT4(2) }, CNTR, 4 },
	/* Objects that use others are closed more often, or few would ever be complete. */
	{ 0, 30, KFI_IOC_CLOSE, { H_OF(ONE(EP) | ONE(MR) | ONE(CONNREQ)) } },
	{ 0, 20, KFI_IOC_CLOSE, { H_OF(ONE(READY) - 2) } },
	{ 'q', 10, KFI_IOC_BIND, BIND(ONE(EP), ONE(CQ), FI_TRANSMIT | FI_RECV) },
	{ 'e', 10, KFI_IOC_BIND, BIND(ONE(EP), ONE(EQ), 0) },
	{ 'v', 10, KFI_IOC_BIND, BIND(ONE(EP), ONE(AV), 0) },
	{ 'l', 4, KFI_IOC_BIND, BIND(ONE(PEP), ONE(EQ), 0) },
	{ 0, 4, KFI_IOC_BIND, BIND(ONE(EP) | ONE(MR), ONE(STX) | ONE(SRX) | ONE(EP), 0) },
	{ 0, 8, KFI_IOC_BIND, BIND(ONE(EP) | ONE(SRX) | ONE(MR), ONE(CQ) | ONE(CNTR), ACCESS) },
	{ 'n', 12, KFI_IOC_ENABLE, { H(EP) }, READY, 0 },
	{ 0, 3, KFI_IOC_ENABLE, { H(MR) } },
	{ 0, 5, KFI_IOC_GETOPT, OPTION },
	{ 0, 5, KFI_IOC_SETOPT, OPTION },
	{ 'N', 10, KFI_IOC_GETNAME, GETS_NAME(EP) },
	{ 'G', 5, KFI_IOC_GETNAME, GETS_NAME(PEP) },
	{ 'p', 3, KFI_IOC_GETPEER, GETS_NAME(EP) },
	{ 0, 5, KFI_IOC_SETNAME, NAMED(ONE(EP) | ONE(PEP)) },
	{ 's', 6, KFI_IOC_LISTEN, { H(PEP) } },
	{ 'c', 15, KFI_IOC_CONNECT, NAMED(ONE(EP)) },
	{ 'a', 8, KFI_IOC_ACCEPT, { H(EP) } },
	{ 'j', 4, KFI_IOC_REJECT, { H(PEP), H(CONNREQ) } },
	{ 'd', 4, KFI_IOC_SHUTDOWN, { H(EP) } },
	{ 'I', 15, KFI_IOC_AV_INSERT, { H(AV), COUNT4(8), TO_NAME, TO_ANY, OUT8, NAMES_SIZE4 } },
	{ 0, 10, KFI_IOC_AV_INSERTSVC,
	  { H(AV), OUT4, TO(NODE), TO(SERVICE), IS4(1), COUNT4(4), TO_ANY } },
	{ 0, 5, KFI_IOC_AV_REMOVE, { H(AV), COUNT4(2), TO(ZEROES) } },
	{ 0, 5, KFI_IOC_AV_LOOKUP, { H(AV), NAME_LEN4, LT8(4), TO_ANY } },
	{ 0, 5, KFI_IOC_AV_STRADDR, { H(AV), NAME_LEN4, OUT8, TO_NAME, TO_ANY, LT4(256) } },
	{ 'r', 20, KFI_IOC_EQ_READ,
	  { H(EQ), OUT4, MAY8(FI_PEEK), OUT8, OUT8, OUT8, OUT4, IS4(512), TO_ANY, TO_ANY,
	    IS4(INFO_SIZE) },
	  CONNREQ, offsetof(struct kfi_user_event, connreq) },
	{ 0, 8, KFI_IOC_EQ_WRITE,
	  { H(EQ), LT4(8), OUT8, OUT8, ANY8, OUT8, OUT4, LT4(300), TO_ANY } },
	{ 0, 20, KFI_IOC_DRAIN, { H(CQ) } },
	/* A wait without a time limit ends by a signal, see meddler(). */
	{ 0, 10, KFI_IOC_WAIT, { H_OF(ONE(CQ) | ONE(EQ) | ONE(CNTR)), LT4(3), LT8(4) } },
	{ 0, 4, KFI_IOC_SIGNAL, { H_OF(ONE(CQ) | ONE(EQ)) } },
	{ 0, 5, KFI_IOC_GETWAIT, { H_OF(ONE(CQ) | ONE(EQ) | ONE(CNTR)) } },
	{ 0, 8, KFI_IOC_COUNT, { H(CNTR), LT4(4), ANY8 } },
	{ 0, 5, KFI_IOC_QUERY_ATOMIC,
	  { H_OF(ONE(EP) | ONE(DOMAIN)), LT4(12), LT4(20), OUT4, MAY8(FI_FETCH_ATOMIC) } },
	{ 0, 200, KFI_IOC_POST, { TO(OPERATION), COUNT4(4) } },
	{ 0, 50, KFI_IOC_POST, { TO(ATOMIC), COUNT4(4) } },
	{ 0, 50, KFI_IOC_POST, { TO(SEGMENTS), COUNT4(4) } },
	{ 0, 10, KFI_IOC_CANCEL, { H(EP), OUT4, LT8(8) } },
};

#define ROWS	(int)(sizeof(rows) / sizeof(*rows))

/* ---- calls ---- */

/* Map a ring or a count, sometimes more or less of it, or to write. */
static void map_object(struct context *c, uint32_t number, uint32_t bytes)
{
	if (bytes <= RING)
		mmap(rings + below(RINGS) * RING, chance(90) ? bytes : 1 + below(RING),
		     PROT_READ | (bytes > PAGE || chance(10) ? PROT_WRITE : 0),
		     MAP_SHARED | MAP_FIXED, c->fd, (off_t)number * PAGE);
}

/* Take what a call has given. */
static void take(struct context *c, const struct row *r, const void *arg)
{
	uint32_t number;

	memcpy(&number, (const char *)arg + r->at, sizeof(number));
	if (r->class != NOTHING && number)
		c->handles[r->class][c->given[r->class]++ % HANDLES] = number;
	switch (r->request) {
	case KFI_IOC_CQ:
		map_object(c, number, ((const struct kfi_user_cq *)arg)->ring_bytes);
		break;
	case KFI_IOC_CNTR:
		map_object(c, number, PAGE);
		break;
	case KFI_IOC_MR:
		last_key = ((const struct kfi_user_mr *)arg)->key;
		break;
	case KFI_IOC_POST:
		__atomic_add_fetch(&counts->posted, ((const struct kfi_user_post *)arg)->posted,
				   __ATOMIC_RELAXED);
		break;
	case KFI_IOC_GETWAIT:
		number = ((const struct kfi_user_handle *)arg)->fd;
		if (number > 2 && number < 1024 && number != (uint32_t)c->fd)
			close(number);
		break;
	}
}

static void call_row(struct context *c, const struct row *r)
{
	_Alignas(8) char arg[512] = {};

	fill(c, arg, r->fields);
	if (!call(c, r->request, arg))
		take(c, r, arg);
}

/*
 * Calls that fit each other, or few endpoints would ever be enabled: an RDM endpoint that is its
 * own peer; a connection of MSG endpoints that is accepted, and one that is rejected
 */
static void sequence(struct context *c)
{
	static const char *const all[] = {
		"FDECVMRqevnNI", "FDECVMRqevnNI", "FDECMLlsGSqencrrrAqenarrpd", "FDECLlsGSqencrrrj",
	};
	const char *key;
	int n;

	wrong = 0;
	for (key = all[below(4)]; *key; key++) {
		if (*key == 'r')
			usleep(500);
		for (n = 0; rows[n].key != *key; n++)
			;
		call_row(c, &rows[n]);
	}
}

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

static void one_call(struct context *c)
{
	int sum = 21, n, at;	/* weights of the sequences and of a new context */

	for (n = 0; n < ROWS; n++)
		sum += rows[n].weight;
	at = below(sum);
	for (n = 0; n < ROWS && at >= rows[n].weight; n++)
		at -= rows[n].weight;
	wrong = chance(25) ? 10 : 1;
	if (n < ROWS && rows[n].request == KFI_IOC_POST && chance(60))
		wrong = 0;	/* most operations are to be posted */
	if (n < ROWS)
		call_row(c, &rows[n]);
	else if (at)
		sequence(c);
	else
		do_reopen(c);
}

static unsigned long calls_made(void)
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

static pthread_t threads[4];
static int thread_count;

static void on_signal(int number)
{
	(void)number;
}

/*
 * Write random bytes and wrong heads to rings, close objects that other threads use, and interrupt
 * those that wait. The kernel writes to the rings (read()), because it survives that another
 * thread has just mapped something else there.
 */
static void *meddler(void *unused)
{
	int file = open("/dev/urandom", O_RDONLY);
	struct kfi_user_handle h;
	struct context *c;
	size_t at;

	(void)unused;
	raw_seed(&dice, seed, 2);
	wrong = 1;
	while (!over) {
		at = chance(70) ? offsetof(struct kfi_user_ring, head) : below(PAGE / 2) * 4;
		if (read(file, rings + below(RINGS) * RING + at, 4) < 0 && errno != EFAULT)
			perror("hostile: read");
		if (chance(10)) {
			c = &contexts[below(CONTEXTS)];
			h.handle = handle(c, below(CLASSES));
			raw_ioctl(c->fd, KFI_IOC_CLOSE, &h);
		}
		if (chance(5))
			pthread_kill(threads[below(2)], SIGUSR1);
		usleep(below(500));
	}
	close(file);
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
	for (n = 0; n < 2; n++) {
		if (raw_getinfo(contexts[0].fd, "loop", n ? FI_EP_MSG : FI_EP_RDM, NULL, NULL,
				&infos[n])) {
			fprintf(stderr, "hostile: no provider loop\n");
			exit(1);
		}
		/* Sizes that soon exhaust a limit would prevent everything else. */
		infos[n].tx.size = infos[n].rx.size = 32;
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
	start(meddler, NULL);
	while (calls_made() < total)
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

	while (calls_made() < total) {
		pid = fork();
		if (!pid) {
			seed += crashes;
			child();
			_exit(0);
		}
		since = raw_ms();
		while (!waitpid(pid, &status, WNOHANG)) {
			if (calls_made() != before)
				since = raw_ms();
			before = calls_made();
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
	for (n = 0; n < 256; n++) {
		if (counts->tries[n] && !counts->good[n] && total >= 100000) {
			printf("hostile: call %02x never succeeded\n", n);
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
