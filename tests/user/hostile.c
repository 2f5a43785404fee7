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

/* An info of the kernel, sometimes changed. @wanted: its type, or 0 */
static struct kfi_user_info *some_info(uint64_t wanted)
{
	static __thread struct kfi_user_info copy;
	int try;

	for (try = 0; try < 8; try++) {
		copy = infos[below(info_count)];
		if (!wanted || copy.ep.type == wanted)
			break;
	}
	if (chance(10))
		((unsigned char *)&copy)[below(sizeof(copy))] = raw_next(&dice);
	if (chance(5))
		((uint64_t *)&copy)[below(sizeof(copy) / 8)] = any64();
	/* Sizes that soon exhaust a limit would prevent everything else. */
	if (chance(90))
		copy.tx.size = copy.rx.size = 1 + below(64);
	return &copy;
}

/* ---- the structures of the calls ---- */

enum kind {
	IS,		/* the value @usual */
	BELOW,		/* a number below it */
	COUNT,		/* from 1 to it, which an ADDRS_SIZE behind it is about */
	SELDOM,		/* @usual, or most often 0 */
	ANY,
	FLAGS,		/* about @usual */
	HANDLE,		/* of one of the classes @usual, bits */
	CONN,		/* a connection request, or most often 0 */
	COPY,		/* from byte @usual of an info */
	/* pointers */
	MEMORY,		/* to anything */
	INFO,		/* to an info for endpoints of this type; 0: of any */
	NODE, SERVICE,	/* to a name, in @usual of 100 cases */
	ADDRS,		/* to addresses */
	IOV,		/* to a vector */
	DESCS,		/* to descriptors */
	ADDRS_SIZE, ADDR_LEN,
};

struct field {
	unsigned short at, size;
	enum kind kind;
	uint64_t usual;
};

#define FIELDS_MAX	18
#define ONE(class)	(1U << (class))
#define AT(of, field) \
	offsetof(struct kfi_user_##of, field), sizeof(((struct kfi_user_##of *)0)->field)

/* Addresses of endpoints of both kinds, so that calls and vectors often name one that exists. */
static unsigned char learnt[16][KFI_USER_ADDR_MAX];
static uint32_t learnt_len = 16;

/* Memory that stays, with these bytes: what the kernel writes behind them hurts nobody. */
static uint64_t place(const void *bytes, size_t len)
{
	char *at = steady + below(ARENA - (1 << 18));

	memcpy(at, bytes, len);
	return (uintptr_t)at;
}

static void fill(struct context *c, void *to, const struct field *f, int wrong);

static uint64_t place_descs(struct context *c);

static uint64_t place_iov(void)
{
	struct kfi_user_iovec iov[KFI_USER_IOV_MAX];
	uint64_t longest = chance(90) ? 1 << 16 : 1 << 22;
	int n;

	for (n = 0; n < KFI_USER_IOV_MAX; n++) {
		iov[n].len = chance(97) ? below(longest) : any64();
		iov[n].base = pointer(iov[n].len);
	}
	return place(iov, sizeof(iov));
}

static uint64_t place_rma(void)
{
	struct kfi_user_rma rma[4];
	int n;

	for (n = 0; n < 4; n++)
		rma[n] = (struct kfi_user_rma){ below(4096), below(4096), below(64) };
	return place(rma, sizeof(rma));
}

static uint64_t place_addrs(void)
{
	unsigned char addrs[8 * KFI_USER_ADDR_MAX] = {};
	int n;

	for (n = 0; n < 8; n++)
		memcpy(addrs + n * learnt_len, learnt[below(16)], learnt_len);
	return place(addrs, sizeof(addrs));
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
	static const char zero[4096];
	char text[16];

	switch (f->kind) {
	case IS: return f->usual;
	case BELOW: return below(f->usual);
	case COUNT: return *count = 1 + below(f->usual);
	case SELDOM: return chance(20) ? f->usual : 0;
	case FLAGS: return flags_of(f->usual);
	case HANDLE: return handle_of(c, f->usual);
	case CONN: return chance(25) ? handle(c, CONNREQ) : 0;
	case MEMORY: return place(zero, sizeof(zero));
	case INFO: return place(some_info(f->usual), sizeof(struct kfi_user_info));
	case NODE: return chance(f->usual) ? place("loop", 5) : 0;
	case SERVICE:
		snprintf(text, sizeof(text), "%d", 1 + (int)below(100));
		return chance(f->usual) ? place(text, sizeof(text)) : 0;
	case ADDRS: return place_addrs();
	case IOV: return place_iov();
	case DESCS: return place_descs(c);
	case ADDRS_SIZE: return *count * learnt_len;
	case ADDR_LEN: return learnt_len;
	default: return any64();
	}
}

/* Make a structure. @wrong: so many of 100 of its fields have another value */
static void fill(struct context *c, void *to, const struct field *f, int wrong)
{
	uint64_t v, count = 1;

	for (; f->size; f++) {
		if (f->kind == COPY) {
			memcpy((char *)to + f->at, (char *)some_info(0) + f->usual, f->size);
			continue;
		}
		v = !chance(wrong) ? value(c, f, &count) :
		    f->kind >= MEMORY && f->kind < ADDRS_SIZE ? pointer(below(4096)) : any64();
		memcpy((char *)to + f->at, &v, f->size);	/* little-endian machines only */
	}
}

/* ---- posting ---- */

static const struct field desc_fields[FIELDS_MAX] = {
	{ AT(desc, opcode), BELOW, KFI_USER_COMPARE_ATOMIC + 1 },
	{ AT(desc, ep), HANDLE, ONE(READY) },
	{ AT(desc, flags), FLAGS, KFI_USER_COMPLETION },
	{ AT(desc, context), BELOW, 8 },
	{ AT(desc, addr), SELDOM, 1 },
	{ AT(desc, tag), BELOW, 4 },
	{ AT(desc, data), ANY },
	{ AT(desc, buf), MEMORY },
	{ AT(desc, len), BELOW, 4096 },
	{ AT(desc, rma_addr), BELOW, 4096 },
	{ AT(desc, rma_key), BELOW, 64 },
	{ AT(desc, result), MEMORY },
	{ AT(desc, compare), MEMORY },
	{ AT(desc, atomic_op), BELOW, 20 },
	{ AT(desc, atomic_type), BELOW, 10 },
	{ AT(desc, iov_count), SELDOM, 4 },
	{ AT(desc, rma_count), SELDOM, 2 },
};

/* The most usual descriptor has no errors, except that its buffer may be unmapped meanwhile. */
static void descriptor(struct context *c, struct kfi_user_desc *d)
{
	int wrong = chance(70) ? 0 : 8;

	memset(d, 0, sizeof(*d));
	fill(c, d, desc_fields, wrong);
	if (!wrong) {
		d->opcode = below(KFI_USER_WRITE + 1);
		d->ep = c->given[READY] ? c->handles[READY][(c->given[READY] - 1) % HANDLES] : 0;
		d->flags = KFI_USER_COMPLETION;
		d->iov_count = d->rma_count = d->addr = 0;
		d->rma_key = below(4);
		if (chance(40))
			d->len = below(1 << 17);
	}
	if (!wrong || chance(50))
		d->buf = d->len < ARENA ? (uintptr_t)(chance(50) ? arena : steady) + below(ARENA - d->len) :
			 pointer(d->len);
	if (wrong && chance(80))
		d->ignore = any64();
	if ((d->opcode == KFI_USER_RECV || d->opcode == KFI_USER_TRECV) && !chance(wrong))
		d->addr = FI_ADDR_UNSPEC;
	if (d->opcode == KFI_USER_RECV && chance(wrong))
		d->flags |= FI_MULTI_RECV;
	if (d->opcode >= KFI_USER_ATOMIC && !chance(wrong))
		d->len = 8 * (1 + below(8));
	if (d->iov_count)
		d->buf = place_iov();
	if (d->rma_count)
		d->rma_addr = place_rma();
	if (wrong && chance(3))
		((unsigned char *)d)[below(sizeof(*d))] = raw_next(&dice);
}

static uint64_t place_descs(struct context *c)
{
	struct kfi_user_desc descs[16];
	int n, count = chance(80) ? 4 : 16;

	memset(descs, 0, sizeof(descs));
	for (n = 0; n < count; n++)
		descriptor(c, &descs[n]);
	return place(descs, sizeof(descs));
}

/* ---- what follows a call that has succeeded ---- */

static void map_ring(struct context *c, uint32_t number, uint32_t bytes)
{
	if (bytes <= RING)
		mmap(rings + below(RINGS) * RING, chance(90) ? bytes : 1 + below(RING),
		     PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, c->fd, (off_t)number * PAGE);
}

static void then_ring(struct context *c, const void *arg)
{
	const struct kfi_user_cq *cq = arg;

	if (chance(50))
		map_ring(c, cq->handle, cq->ring_bytes);
}

static void then_page(struct context *c, const void *arg)
{
	const struct kfi_user_cntr *cntr = arg;
	size_t bytes = chance(90) ? PAGE : below(1 << 20) + 1;
	void *page = mmap(NULL, bytes, PROT_READ | (chance(10) ? PROT_WRITE : 0), MAP_SHARED, c->fd,
			  (off_t)cntr->handle * PAGE);

	if (page != MAP_FAILED)
		munmap(page, bytes);
}

static void then_learn(struct context *c, const void *arg)
{
	const struct kfi_user_name *n = arg;

	(void)c;
	if (n->addrlen && n->addrlen <= KFI_USER_ADDR_MAX && n->addr >= (uintptr_t)steady &&
	    n->addr < (uintptr_t)steady + ARENA - KFI_USER_ADDR_MAX) {
		learnt_len = n->addrlen;
		memcpy(learnt[below(16)], (void *)(uintptr_t)n->addr, n->addrlen);
	}
}

static void then_connreq(struct context *c, const void *arg)
{
	const struct kfi_user_event *event = arg;

	if (event->connreq)
		keep(c, CONNREQ, event->connreq);
}

static void then_close(struct context *c, const void *arg)
{
	const struct kfi_user_handle *h = arg;

	if (h->fd > 2 && h->fd < 1024 && h->fd != (uint32_t)c->fd)
		close(h->fd);
}

static void then_posted(struct context *c, const void *arg)
{
	const struct kfi_user_post *post = arg;

	(void)c;
	__atomic_add_fetch(&counts->posted, post->posted, __ATOMIC_RELAXED);
}

#define ACCESS	(FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE)
#define INFO_SIZE	sizeof(struct kfi_user_info)
#define OPEN(from, of_type) \
	{ AT(open, parent), HANDLE, ONE(from) }, { AT(open, cookie), ANY }, \
	{ AT(open, info), INFO, of_type }, { AT(open, info_size), IS, INFO_SIZE }
#define OBJECT(of, member, class) { AT(of, member), HANDLE, class }, { AT(of, cookie), ANY }
#define OPTION \
	{ { AT(opt, handle), HANDLE, ONE(EP) | ONE(PEP) }, { AT(opt, level), IS, FI_OPT_ENDPOINT }, \
	  { AT(opt, name), BELOW, 16 }, { AT(opt, len), IS, 8 }, { AT(opt, value), MEMORY } }
#define GETS_NAME(classes) \
	{ { AT(name, handle), HANDLE, classes }, { AT(name, addr), ADDRS }, \
	  { AT(name, addrlen), IS, KFI_USER_ADDR_MAX } }
#define NAMES(classes) \
	{ { AT(name, handle), HANDLE, classes }, { AT(name, addr), ADDRS }, \
	  { AT(name, addrlen), ADDR_LEN }, { AT(name, param), MEMORY }, \
	  { AT(name, paramlen), SELDOM, 200 } }
#define LOOKUP \
	{ AT(av_lookup, av), HANDLE, ONE(AV) }, { AT(av_lookup, addr), ADDRS }, \
	{ AT(av_lookup, addrlen), ADDR_LEN }, { AT(av_lookup, fi_addr), BELOW, 8 }
#define JUST(classes)	{ { AT(handle, handle), HANDLE, classes } }
#define NONE		0, 0, NULL

static const struct {
	unsigned long request;
	int weight;
	struct field fields[8];
	/* for the handle that it returns, if any: class, position */
	enum class class;
	unsigned int at;
	void (*then)(struct context *c, const void *arg);
} calls[] = {
	{ KFI_IOC_VERSION, 2, {}, NONE },
	{ KFI_IOC_GETINFO, 10,
	  { { AT(getinfo, version), IS, FI_VERSION(2, 1) }, { AT(getinfo, count), BELOW, 5 },
	    { AT(getinfo, flags), SELDOM, FI_SOURCE }, { AT(getinfo, info_size), IS, INFO_SIZE },
	    { AT(getinfo, hints), INFO }, { AT(getinfo, infos), MEMORY },
	    { AT(getinfo, node), NODE, 20 }, { AT(getinfo, service), SERVICE, 20 } }, NONE },
	{ KFI_IOC_FABRIC, 10,
	  { { AT(fabric, api_version), IS, FI_VERSION(2, 1) },
	    { AT(fabric, prov_name), COPY, offsetof(struct kfi_user_info, fabric.prov_name) },
	    { AT(fabric, name), COPY, offsetof(struct kfi_user_info, fabric.name) } },
	  FABRIC, offsetof(struct kfi_user_fabric, handle), NULL },
#define OPENED(class) class, offsetof(struct kfi_user_open, handle), NULL
	{ KFI_IOC_DOMAIN, 10, { OPEN(FABRIC, 0) }, OPENED(DOMAIN) },
	{ KFI_IOC_PASSIVE_EP, 6, { OPEN(FABRIC, FI_EP_MSG) }, OPENED(PEP) },
	{ KFI_IOC_ENDPOINT, 20, { OPEN(DOMAIN, 0), { AT(open, connreq), CONN } }, OPENED(EP) },
	{ KFI_IOC_STX, 4, { OPEN(DOMAIN, 0) }, OPENED(STX) },
	{ KFI_IOC_SRX, 4, { OPEN(DOMAIN, 0) }, OPENED(SRX) },
	{ KFI_IOC_CQ, 12, { OBJECT(cq, domain, ONE(DOMAIN)), { AT(cq, size), BELOW, 300 } },
	  CQ, offsetof(struct kfi_user_cq, handle), then_ring },
	{ KFI_IOC_EQ, 8, { OBJECT(eq, fabric, ONE(FABRIC)), { AT(eq, size), BELOW, 300 },
			   { AT(eq, flags), FLAGS, FI_WRITE } },
	  EQ, offsetof(struct kfi_user_eq, handle), NULL },
	{ KFI_IOC_CNTR, 8, { OBJECT(cntr, domain, ONE(DOMAIN)), { AT(cntr, events), BELOW, 2 } },
	  CNTR, offsetof(struct kfi_user_cntr, handle), then_page },
	{ KFI_IOC_AV, 8, { OBJECT(av, domain, ONE(DOMAIN)), { AT(av, count), BELOW, 300 } },
	  AV, offsetof(struct kfi_user_av, handle), NULL },
	{ KFI_IOC_MR, 30,
	  { OBJECT(mr, domain, ONE(DOMAIN)), { AT(mr, iov), IOV },
	    { AT(mr, iov_count), COUNT, 2 }, { AT(mr, offset), SELDOM, 4096 },
	    { AT(mr, access), FLAGS, ACCESS },
	    { AT(mr, requested_key), IS, FI_KEY_NOTAVAIL }, { AT(mr, flags), SELDOM, FI_RMA_EVENT } },
	  MR, offsetof(struct kfi_user_mr, handle), NULL },
	/* Objects that use others are closed more often, or few would ever be complete. */
	{ KFI_IOC_CLOSE, 30, JUST(ONE(EP) | ONE(MR) | ONE(CONNREQ)), NONE },
	{ KFI_IOC_CLOSE, 20, JUST(ONE(READY) - 1), NONE },
#define BIND(what, to, with) \
	{ { AT(bind, handle), HANDLE, what }, { AT(bind, target), HANDLE, to }, \
	  { AT(bind, flags), FLAGS, with } }, NONE
	{ KFI_IOC_BIND, 10, BIND(ONE(EP), ONE(CQ), FI_TRANSMIT | FI_RECV) },
	{ KFI_IOC_BIND, 20, BIND(ONE(EP), ONE(AV) | ONE(EQ) | ONE(STX) | ONE(SRX), 0) },
	{ KFI_IOC_BIND, 4, BIND(ONE(EP), ONE(CNTR), ACCESS) },
	{ KFI_IOC_BIND, 4, BIND(ONE(PEP) | ONE(MR), ONE(EQ) | ONE(EP), 0) },
	{ KFI_IOC_BIND, 4, BIND(ONE(SRX) | ONE(MR), ONE(CQ) | ONE(CNTR), FI_RECV | FI_REMOTE_WRITE) },
	{ KFI_IOC_ENABLE, 15, JUST(ONE(EP) | ONE(MR)), NONE },
	{ KFI_IOC_GETOPT, 5, OPTION, NONE },
	{ KFI_IOC_SETOPT, 5, OPTION, NONE },
	{ KFI_IOC_GETNAME, 15, GETS_NAME(ONE(EP) | ONE(PEP)), 0, 0, then_learn },
	{ KFI_IOC_GETPEER, 3, GETS_NAME(ONE(EP)), 0, 0, then_learn },
	{ KFI_IOC_SETNAME, 5, NAMES(ONE(EP) | ONE(PEP)), NONE },
	{ KFI_IOC_LISTEN, 6, JUST(ONE(PEP)), NONE },
	{ KFI_IOC_CONNECT, 15, NAMES(ONE(EP)), NONE },
	{ KFI_IOC_ACCEPT, 8, { { AT(name, handle), HANDLE, ONE(EP) } }, NONE },
	{ KFI_IOC_REJECT, 4,
	  { { AT(name, handle), HANDLE, ONE(PEP) }, { AT(name, connreq), HANDLE, ONE(CONNREQ) } }, NONE },
	{ KFI_IOC_SHUTDOWN, 4, { { AT(shutdown, handle), HANDLE, ONE(EP) } }, NONE },
	{ KFI_IOC_AV_INSERT, 15,
	  { { AT(av_insert, av), HANDLE, ONE(AV) }, { AT(av_insert, count), COUNT, 8 },
	    { AT(av_insert, addrs), ADDRS }, { AT(av_insert, fi_addrs), MEMORY },
	    { AT(av_insert, addrs_size), ADDRS_SIZE } }, NONE },
	{ KFI_IOC_AV_INSERTSVC, 10,
	  { { AT(av_svc, av), HANDLE, ONE(AV) }, { AT(av_svc, node), NODE, 97 },
	    { AT(av_svc, service), SERVICE, 97 }, { AT(av_svc, nodecnt), IS, 1 },
	    { AT(av_svc, svccnt), COUNT, 4 }, { AT(av_svc, fi_addrs), MEMORY } }, NONE },
	{ KFI_IOC_AV_REMOVE, 5,
	  { { AT(av_remove, av), HANDLE, ONE(AV) }, { AT(av_remove, count), COUNT, 2 },
	    { AT(av_remove, fi_addrs), MEMORY } }, NONE },
	{ KFI_IOC_AV_LOOKUP, 5, { LOOKUP }, NONE },
	{ KFI_IOC_AV_STRADDR, 5,
	  { LOOKUP, { AT(av_lookup, str), MEMORY }, { AT(av_lookup, len), BELOW, 256 } }, NONE },
	{ KFI_IOC_EQ_READ, 20,
	  { { AT(event, eq), HANDLE, ONE(EQ) }, { AT(event, flags), SELDOM, FI_PEEK },
	    { AT(event, buf), MEMORY }, { AT(event, len), IS, 512 },
	    { AT(event, info), MEMORY }, { AT(event, info_size), IS, INFO_SIZE } }, 0, 0, then_connreq },
	{ KFI_IOC_EQ_WRITE, 8,
	  { { AT(event, eq), HANDLE, ONE(EQ) }, { AT(event, event), BELOW, 8 },
	    { AT(event, cookie), ANY }, { AT(event, buf), MEMORY },
	    { AT(event, len), BELOW, 300 } }, NONE },
	{ KFI_IOC_DRAIN, 20, JUST(ONE(CQ)), NONE },
	/* A wait without a time limit ends by a signal, see interrupter(). */
	{ KFI_IOC_WAIT, 10,
	  { { AT(wait, handle), HANDLE, ONE(CQ) | ONE(EQ) | ONE(CNTR) },
	    { AT(wait, timeout_ms), BELOW, 3 }, { AT(wait, threshold), BELOW, 4 } }, NONE },
	{ KFI_IOC_SIGNAL, 4, JUST(ONE(CQ) | ONE(EQ)), NONE },
	{ KFI_IOC_GETWAIT, 5, JUST(ONE(CQ) | ONE(EQ) | ONE(CNTR)), 0, 0, then_close },
	{ KFI_IOC_COUNT, 8,
	  { { AT(count_change, cntr), HANDLE, ONE(CNTR) }, { AT(count_change, op), BELOW, 4 },
	    { AT(count_change, value), ANY } }, NONE },
	{ KFI_IOC_QUERY_ATOMIC, 5,
	  { { AT(query_atomic, handle), HANDLE, ONE(EP) | ONE(DOMAIN) },
	    { AT(query_atomic, datatype), BELOW, 12 }, { AT(query_atomic, op), BELOW, 20 },
	    { AT(query_atomic, flags), SELDOM, FI_FETCH_ATOMIC } }, NONE },
	{ KFI_IOC_POST, 300, { { AT(post, descs), DESCS }, { AT(post, count), COUNT, 4 } }, 0, 0, then_posted },
	{ KFI_IOC_CANCEL, 10, { { AT(cancel, ep), HANDLE, ONE(EP) }, { AT(cancel, context), BELOW, 8 } }, NONE },
};

#define CALLS	(int)(sizeof(calls) / sizeof(*calls))

static int call_number(struct context *c, int n)
{
	_Alignas(8) char arg[512] = {};
	uint32_t number;
	int ret;

	fill(c, arg, calls[n].fields, chance(25) ? 10 : 1);
	ret = call(c, calls[n].request, arg);
	if (ret)
		return ret;
	memcpy(&number, arg + calls[n].at, sizeof(number));
	if (calls[n].at)
		keep(c, calls[n].class, number);
	if (calls[n].then)
		calls[n].then(c, arg);
	return 0;
}

/* ---- sequences of calls that fit each other, or few endpoints would ever be enabled ---- */

static const struct kfi_user_info *info_of(enum fi_ep_type type)
{
	int n;

	for (n = 0; n < info_count; n++)
		if (infos[n].ep.type == type)
			return &infos[n];
	return &infos[0];
}

static int kept(struct context *c, enum class class, int h)
{
	if (h > 0)
		keep(c, class, h);
	return h;
}

/* An endpoint with a queue of its own */
static int endpoint(struct context *c, int domain, int eq, int av, const struct kfi_user_info *info,
		    uint32_t connreq)
{
	int ep = kept(c, EP, raw_object(c->fd, KFI_IOC_ENDPOINT, domain, info, connreq));
	struct kfi_user_handle h = {};
	struct kfi_user_cq cq;

	if (ep < 0 || raw_cq(c->fd, domain, 1 + below(64), &cq))
		return -1;
	keep(c, CQ, cq.handle);
	map_ring(c, cq.handle, cq.ring_bytes);
	raw_bind(c->fd, ep, cq.handle, FI_TRANSMIT | FI_RECV);
	raw_bind(c->fd, ep, eq, 0);
	if (av > 0)
		raw_bind(c->fd, ep, av, 0);
	h.handle = ep;
	call(c, KFI_IOC_ENABLE, &h);
	return ep;
}

/* Ask for a name, and remember it. */
static int name_of(struct context *c, int h, struct kfi_user_name *n, unsigned char *addr)
{
	*n = (struct kfi_user_name){
		.handle = h, .addr = (uintptr_t)addr, .addrlen = KFI_USER_ADDR_MAX,
	};
	if (raw_ioctl(c->fd, KFI_IOC_GETNAME, n))
		return -1;
	memcpy(learnt[below(16)], addr, KFI_USER_ADDR_MAX);
	learnt_len = n->addrlen;
	return 0;
}

static void read_event(struct context *c, int eq)
{
	static __thread struct kfi_user_info info;
	char data[512];
	struct kfi_user_event event = {
		.eq = eq, .len = sizeof(data), .buf = (uintptr_t)data,
		.info = (uintptr_t)&info, .info_size = sizeof(info),
	};

	if (!raw_ioctl(c->fd, KFI_IOC_EQ_READ, &event))
		then_connreq(c, &event);
}

/* An RDM endpoint with its queue, vector and a region, which is its own peer */
static void whole(struct context *c, int domain, int eq)
{
	struct kfi_user_av_insert in = { .count = 1 };
	unsigned char addr[KFI_USER_ADDR_MAX];
	struct kfi_user_name n;
	uint64_t key;
	int av, ep;

	kept(c, MR, raw_mr(c->fd, domain, steady, 1 << 16, &key));
	av = kept(c, AV, raw_av(c->fd, domain));
	ep = endpoint(c, domain, eq, av, info_of(FI_EP_RDM), 0);
	if (ep < 0 || name_of(c, ep, &n, addr))
		return;
	keep(c, READY, ep);
	in.av = av;
	in.addrs = (uintptr_t)addr;
	in.addrs_size = n.addrlen;
	raw_ioctl(c->fd, KFI_IOC_AV_INSERT, &in);
}

/* A connection of MSG endpoints: a listener, a call, the event, any answer */
static void connection(struct context *c, int fabric, int domain, int eq)
{
	const struct kfi_user_info *info = info_of(FI_EP_MSG);
	int try, pep = kept(c, PEP, raw_object(c->fd, KFI_IOC_PASSIVE_EP, fabric, info, 0));
	unsigned char addr[KFI_USER_ADDR_MAX];
	unsigned int requests = c->given[CONNREQ];
	struct kfi_user_handle h = { .handle = pep };
	struct kfi_user_name n;

	if (pep < 0 || raw_bind(c->fd, pep, eq, 0) || call(c, KFI_IOC_LISTEN, &h) ||
	    name_of(c, pep, &n, addr))
		return;
	n.handle = endpoint(c, domain, eq, 0, info, 0);
	if (call(c, KFI_IOC_CONNECT, &n))
		return;
	for (try = 0; try < 20 && c->given[CONNREQ] == requests; try++) {
		usleep(500);
		read_event(c, eq);
	}
	if (c->given[CONNREQ] == requests)
		return;
	n = (struct kfi_user_name){ .handle = pep, .connreq = c->handles[CONNREQ][requests % HANDLES] };
	if (chance(20)) {
		call(c, KFI_IOC_REJECT, &n);
		return;
	}
	n = (struct kfi_user_name){ .handle = endpoint(c, domain, eq, 0, info, n.connreq) };
	call(c, KFI_IOC_ACCEPT, &n);
	for (try = 0; try < 4; try++)
		read_event(c, eq);
	if (!name_of(c, n.handle, &n, addr))
		call(c, KFI_IOC_GETPEER, &n);
	if (chance(50)) {
		struct kfi_user_shutdown s = { .handle = n.handle };

		call(c, KFI_IOC_SHUTDOWN, &s);
	}
}

static void do_sequence(struct context *c)
{
	const struct kfi_user_info *info = info_of(chance(80) ? FI_EP_RDM : FI_EP_MSG);
	int fabric = kept(c, FABRIC, raw_fabric(c->fd, info)), domain, eq;

	if (fabric < 0)
		return;
	domain = kept(c, DOMAIN, raw_object(c->fd, KFI_IOC_DOMAIN, fabric, info, 0));
	eq = kept(c, EQ, raw_eq(c->fd, fabric));
	if (domain < 0 || eq < 0)
		return;
	if (info->ep.type == FI_EP_RDM)
		whole(c, domain, eq);
	else
		connection(c, fabric, domain, eq);
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
