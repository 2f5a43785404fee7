/* SPDX-License-Identifier: GPL-2.0 */
/*
 * hostile_calls.h - the calls of the hostile process: a table of the fields of their structures, and
 * what makes right, nearly right and wrong ones of it. hostile.c includes it after its random
 * numbers and handles.
 */

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
	case IS:
		return f->usual;
	case BELOW:
		return below(f->usual);
	case COUNT:
		return *count = 1 + below(f->usual);
	case SELDOM:
		return chance(20) ? f->usual : 0;
	case FLAGS:
		return flags_of(f->usual);
	case HANDLE:
		return handle_of(c, f->usual);
	case CONN:
		return chance(25) ? handle(c, CONNREQ) : 0;
	case MEMORY:
		return place(zero, sizeof(zero));
	case INFO:
		return place(some_info(f->usual), sizeof(struct kfi_user_info));
	case NODE:
		return chance(f->usual) ? place("loop", 5) : 0;
	case SERVICE:
		snprintf(text, sizeof(text), "%d", 1 + (int)below(100));
		return chance(f->usual) ? place(text, sizeof(text)) : 0;
	case ADDRS:
		return place_addrs();
	case IOV:
		return place_iov();
	case DESCS:
		return place_descs(c);
	case ADDRS_SIZE:
		return *count * learnt_len;
	case ADDR_LEN:
		return learnt_len;
	default:
		return any64();
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
	/* class of the handle that it returns, if any, and its position */
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

static int kept(struct context *c, enum class kind, int h)
{
	if (h > 0)
		keep(c, kind, h);
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
