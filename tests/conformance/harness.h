/* SPDX-License-Identifier: GPL-2.0 */
/*
 * harness.h - shared by the cases of the conformance suite.
 *
 * A case is a function over a struct test. It opens nodes, moves data and states what it expects.
 * All that it has opened or allocated is undone after it, newest first, so a case can return at any
 * point. If a close is refused then, the case has failed. All waits have a time limit.
 */
#ifndef KFI_CONFORMANCE_HARNESS_H
#define KFI_CONFORMANCE_HARNESS_H

#include <linux/bits.h>
#include <linux/completion.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/prandom.h>
#include <linux/slab.h>
#include <linux/types.h>
#include <linux/wait.h>

#include <kfabric.h>
#include <kfi_atomic.h>
#include <kfi_cm.h>
#include <kfi_domain.h>
#include <kfi_endpoint.h>
#include <kfi_eq.h>
#include <kfi_errno.h>
#include <kfi_place.h>
#include <kfi_rma.h>
#include <kfi_tagged.h>

struct test;
struct node;
struct pair;

/* ---- the list of cases ---- */

#define T_MSG		BIT(KFI_EP_MSG)
#define T_RDM		BIT(KFI_EP_RDM)
#define T_DGRAM		BIT(KFI_EP_DGRAM)
#define T_REL		(T_MSG | T_RDM)
#define T_ALL		(T_REL | T_DGRAM)

#define CASE_ONCE	BIT(0)	/* does not depend on the type: run with one type */
#define CASE_SCRIPT	BIT(1)	/* needs the host script: run only when named */
#define CASE_OFFER	BIT(2)	/* also run on types that getinfo does not offer */
#define CASE_LESS	BIT(3)	/* with KFI_ATOMIC where that is offered, else without */
/* needs kfi.ko's matching, or other features that a queue pair does not have (test_hw_recv()) */
#define CASE_MATCHING	BIT(4)
/* kfi.ko at the target checks and counts each access: not for a queue pair */
#define CASE_CHECKED	BIT(6)
#define CASE_HW_RECV	BIT(5)	/* only for endpoints that are queue pairs */

/**
 * struct test_case - a row of the list
 * @name: file.case
 * @types: endpoint types for which it runs, T_* bits
 * @flags: CASE_* bits
 * @caps: capabilities that it needs; it is skipped for a type if the provider's getinfo refuses
 *	them
 * @fn: the case
 * @arg: what it needs if it serves several rows, or NULL; see CASE_NUM()
 * @pair: the case, without @fn: it gets two nodes that can reach each other (pair_open())
 */
struct test_case {
	const char	*name;
	unsigned int	types;
	unsigned int	flags;
	u64		caps;
	void		(*fn)(struct test *t);
	const void	*arg;
	void		(*pair)(struct test *t, struct pair *p);
};

/* For a case that serves several rows, of which each has a number */
#define CASE_NUM(n)	((const void *)(uintptr_t)(n))
#define case_num(t)	((uintptr_t)(t)->c->arg)

/* The suites, in the order in which they run */
#define TEST_SUITES(S)	\
	S(info) S(close) S(av) S(mr) S(mr_io) S(mem) S(cq) S(cq_wait) S(eq) S(cntr) S(cm) S(msg) \
	S(tagged) S(tagged_rma) S(sep) S(shared) S(inject) S(rma) S(rma_grant) S(place) S(order) \
	S(commit) S(atomic) S(multirecv) S(cancel) S(errors) S(flow) S(overdue) S(reset) S(auth) \
	S(plain) S(dgram) S(nomem_any) S(noalloc) S(peerloss) S(lossy) S(stress) S(short) \
	S(regress) S(tclass) S(script)
#define TEST_SUITE(name)	name##_cases[],
/* the last is for the comma before it */
extern const struct test_case TEST_SUITES(TEST_SUITE) no_cases[];

/* Sets of capabilities that rows use */
#define C_MSG		(KFI_MSG | KFI_SEND | KFI_RECV)
#define C_TAGGED	(KFI_TAGGED | KFI_SEND | KFI_RECV)
#define C_RMA		(KFI_RMA | KFI_READ | KFI_WRITE | KFI_REMOTE_READ | \
			 KFI_REMOTE_WRITE)
#define C_ATOMIC	(KFI_ATOMIC | KFI_READ | KFI_WRITE | KFI_REMOTE_READ | KFI_REMOTE_WRITE)

/* The access that regions of most cases permit */
#define ALL_RIGHTS	(KFI_REMOTE_READ | KFI_REMOTE_WRITE)

/* Capabilities of a queue pair: messages and RMA */
#define C_HW_RECV	(C_MSG | C_RMA)

/* ---- a run ---- */

struct side {
	struct net	*net;
	const char	*node;
};

/**
 * struct world - a run
 * @provider: name of the provider
 * @side: side A and side B
 * @seed: seed of the random numbers
 * @quick: leave out many sizes and counts
 * @offered: endpoint types that the provider offers, T_* bits
 * @hw_recv: endpoint types, T_* bits, whose endpoints are plain queue pairs
 *	(KFI_PROTO_RDMA_CM_IB_RC)
 * @over_kfi: these are queue pairs of kfi_ib
 * @below: begin and end of the code below the provider, and the end of its drivers, which follow
 *	it; or 0
 */
struct world {
	const char	*provider;
	struct side	side[2];
	u64		seed;
	bool		quick;
	unsigned int	offered;	/* endpoint types, T_ bits */
	unsigned int	hw_recv;
	bool		over_kfi;
	unsigned long	below[3];
	unsigned int	loss_ms, wait_ms, stress_ms, lost_ops, removals;
};

/* Are the endpoints of this case plain queue pairs? */
#define test_hw_recv(t)	((t)->w->hw_recv & BIT((t)->type))

/*
 * Completion level at which a write is in the peer's memory; for a queue pair the device's own
 * report says so
 */
#define test_delivery(t) (test_hw_recv(t) ? KFI_TRANSMIT_COMPLETE : KFI_DELIVERY_COMPLETE)

/* Release a namespace: no further object may be opened there. */
void world_drop_net(struct world *w, int side);

/**
 * struct test - a running case
 * @w: the run
 * @c: its row
 * @type: endpoint type of this time
 * @info: answer of getinfo for each side
 * @rnd: state of the random numbers, which depend on the run's seed and the case; see test_random()
 * @kept: fids and memory to be released, newest first
 * @workers: started workers that were not joined yet
 * @excused: calls may fail, for memory is lacking: nothing is counted as a failure
 * @lock: protects @rnd in test_random(), @kept, @workers, @skipped, @why and writes of @failures,
 *	because a case may have workers
 */
struct test {
	struct world			*w;
	const struct test_case		*c;
	enum kfi_ep_type		type;
	struct kfi_info			*info[2];
	struct rnd_state		rnd;
	struct list_head		kept, workers;
	spinlock_t			lock;
	int				failures;
	bool				skipped, excused;
	char				why[96];
};

struct test *test_alloc(struct world *w, const struct test_case *c,
			enum kfi_ep_type type);
void test_run(struct test *t);
void test_teardown(struct test *t);
void test_free(struct test *t);
const char *type_name(enum kfi_ep_type type);

/* ---- expectations ---- */

void __printf(4, 5) test_fail(struct test *t, const char *file, int line,
			      const char *fmt, ...);
bool test_eq(struct test *t, const char *file, int line, const char *what,
	     long long got, long long want);
/* The provider does not offer it: the case ends as skipped, which the skip list must name. */
void __printf(2, 3) test_skip(struct test *t, const char *fmt, ...);

#define FAIL(t, ...)	test_fail(t, __FILE__, __LINE__, __VA_ARGS__)
#define EXPECT(t, cond)							\
({									\
	bool __ok = !!(cond);						\
	if (!__ok)							\
		FAIL(t, "%s is not so", #cond);				\
	__ok;								\
})
#define EXPECT_EQ(t, got, want)						\
	test_eq(t, __FILE__, __LINE__, #got, (long long)(got), (long long)(want))
/* For functions that return nothing: return if the condition fails */
#define REQUIRE(t, cond)	do { if (!EXPECT(t, cond)) return; } while (0)
#define REQUIRE_EQ(t, got, want) do { if (!EXPECT_EQ(t, got, want)) return; } while (0)

/* ---- objects and memory that are released after the case ---- */

/* These wait until there is memory. */
void *test_zalloc(struct test *t, size_t len);	/* slab memory */
void *test_pages(struct test *t, size_t len);	/* whole pages; adjacent only for queue pairs */
/* The page that contains a byte of it */
static inline struct page *test_page(const void *at)
{
	return is_vmalloc_addr(at) ? vmalloc_to_page(at) : virt_to_page(at);
}

#define test_new(t, type)	((type *)test_zalloc(t, sizeof(type)))
/*
 * Memory of a domain, the best that it has. NULL if it has none, or after having failed the case.
 */
struct kfi_mem *test_mem(struct test *t, struct kfid_domain *domain, size_t len);
/* The same, or pages if the domain has none; NULL after having failed the case */
void *test_best(struct test *t, struct kfid_domain *domain, size_t len);
/* all of a domain, or of every domain */
void test_drop_mem(struct test *t, const struct kfid_domain *domain);
/* free it now; it stays in the list on error */
int test_mem_free(struct test *t, struct kfi_mem *mem);
void test_keep(struct test *t, struct kfid *fid);
/* Open an object by @call and keep @fid for the end of the case. Return: 0, or -EIO: it failed. */
#define KEEP(t, call, fid)						\
({									\
	int __ret = EXPECT_EQ(t, call, 0) ? 0 : -EIO;			\
	if (!__ret)							\
		test_keep(t, fid);					\
	__ret;								\
})
void test_keep_info(struct test *t, struct kfi_info *info);
void test_free_info(struct test *t, struct kfi_info *info);
/* Close it now. Return: result of kfi_close(); on error it stays in the list. */
int test_close(struct test *t, struct kfid *fid);
/* The object was closed by other means. */
void test_forget(struct test *t, struct kfid *fid);

/* ---- random numbers and patterns ---- */

u32 test_random(struct test *t, u32 below);
void fill(void *buf, size_t len, u64 seed);
/* Return the offset of the first byte that differs, or -1 */
ssize_t differs(const void *buf, size_t len, u64 seed);
#define EXPECT_DATA(t, buf, len, seed)					\
	EXPECT_EQ(t, differs(buf, len, seed), -1)
/* Return the offset of the first byte that is not @byte, or -1 */
ssize_t not_all(const void *buf, size_t len, u8 byte);

/* ---- nodes ---- */

/**
 * struct node_opts - how to open a node; zero members stand for the default
 * @caps: in place of the row's capabilities
 * @cq_size: entries of each queue (default: 512)
 * @format: format of the entries (default: tagged)
 * @wait: wait object of the queues (default: none; they are polled)
 * @cq_flags: flags of the queues
 * @cq_cpu: with KFI_AFFINITY: the CPU for their handlers
 * @tx_bind: flags of the transmit binding besides the direction
 * @rx_bind: flags of the receive binding besides the direction
 * @tx_op_flags: default flags of transmits
 * @rx_op_flags: default flags of receives
 * @key: authorization key of the endpoint
 * @domain_key: authorization key of its domain
 * @tx_size: transmits (default: the answer of getinfo)
 * @rx_size: receives (default: the answer of getinfo)
 * @tclass: traffic class of transmits
 * @handler: completion handler of both queues
 * @arg: its context
 * @before_enable: called when all is bound; returns 0 to continue
 * @eq_size: events that fit
 */
struct node_opts {
	u64			caps;
	size_t			cq_size;
	enum kfi_cq_format	format;
	enum kfi_wait_obj	wait;
	u64			cq_flags;
	int			cq_cpu;
	u64			tx_bind, rx_bind;
	u64			tx_op_flags, rx_op_flags;
	const char		*key, *domain_key;
	size_t			tx_size, rx_size;
	u32			tclass;
	kfi_comp_handler	handler;
	void			*arg;
	int			(*before_enable)(struct node *n);
	size_t			eq_size;
};

/**
 * struct node - one side of a pair
 * @t: the case
 * @side: 0 (A) or 1 (B)
 * @opts: how it was opened
 * @info: the info with which it was opened
 * @fabric: its fabric; the following members up to @pep are its other objects, @pep only on the
 *	listening side
 * @peer: handle of the other side in @av
 * @addr: own name
 * @addrlen: bytes of @addr
 */
struct node {
	struct test		*t;
	int			side;
	struct node_opts	opts;
	struct kfi_info		*info;
	struct kfid_fabric	*fabric;
	struct kfid_domain	*domain;
	struct kfid_eq		*eq;
	struct kfid_av		*av;
	struct kfid_cq		*txcq, *rxcq;
	struct kfid_pep		*pep;
	struct kfid_ep		*ep;
	kfi_addr_t		peer;
	u8			addr[128];
	size_t			addrlen;
};

struct pair {
	struct node	a, b;
};

/* Each returns 0 or, having failed the case, a negative errno. */
int node_open(struct test *t, struct node *n, int side, const struct node_opts *opts);
int node_endpoint(struct node *n, struct kfi_info *info);	/* open and bind */
int node_enable(struct node *n);	/* RDM, DGRAM: also learns its own name */
int node_listen(struct node *n);
int node_insert(struct node *n, const struct node *peer, kfi_addr_t *addr);
int node_open_ep(struct test *t, struct node *n, int side, const struct node_opts *opts);
/* Close the endpoint. Return: 0 on success */
int node_close_ep(struct node *n);
/* Close the endpoint and its objects, in order. */
void node_close(struct node *n);

/* Open two nodes that can communicate: inserted into each other's vectors, or connected. */
struct pair *pair_open(struct test *t, const struct node_opts *a, const struct node_opts *b);
/* MSG: connect an unconnected endpoint of @a to the listener of @b. */
int pair_connect(struct node *a, struct node *b);
/* Open a new endpoint on a side whose endpoint was closed, and connect it. */
int pair_reconnect(struct pair *p, struct node *lost);

struct kfi_info *test_hints(struct test *t, u64 caps);
/* What getinfo answers on a side: to @hints, which are freed; to nothing but capabilities. */
int test_answer(struct test *t, int side, struct kfi_info *hints, struct kfi_info **info);
int test_getinfo(struct test *t, int side, u64 caps, struct kfi_info **info);

/* ---- completions and events ---- */

typedef struct kfi_cq_err_entry comp_t;	/* err 0: a success */

/* Return: 1 and *@c, 0 if there is none, or a negative errno. */
int comp_poll(struct node *n, struct kfid_cq *cq, comp_t *c);
int comp_wait_ms(struct test *t, struct node *n, struct kfid_cq *cq, comp_t *c,
		 unsigned int ms, const char *file, int line);
#define WAIT_TX(n, c)							\
	comp_wait_ms((n)->t, n, (n)->txcq, c, (n)->t->w->wait_ms, __FILE__, __LINE__)
#define WAIT_RX(n, c)							\
	comp_wait_ms((n)->t, n, (n)->rxcq, c, (n)->t->w->wait_ms, __FILE__, __LINE__)
/* Expect that no completion comes for a moment. */
void comp_none(struct test *t, struct node *n, struct kfid_cq *cq,
	       const char *file, int line);
#define NONE_TX(n)	comp_none((n)->t, n, (n)->txcq, __FILE__, __LINE__)
#define NONE_RX(n)	comp_none((n)->t, n, (n)->rxcq, __FILE__, __LINE__)
/* Expect a successful completion of @ctx with exactly these flags. */
void comp_is(struct test *t, const comp_t *c, const void *ctx, u64 flags,
	     const char *file, int line);
#define EXPECT_COMP(t, c, ctx, flags)					\
	comp_is(t, c, ctx, flags, __FILE__, __LINE__)
void comp_is_err(struct test *t, const comp_t *c, const void *ctx, int err,
		 const char *file, int line);
#define EXPECT_ERR(t, c, ctx, err)					\
	comp_is_err(t, c, ctx, err, __FILE__, __LINE__)
/* Wait for a completion, which has to be this one. */
#define REQUIRE_THIS(n, wait, expect, c, ctx, what)			\
do {									\
	REQUIRE((n)->t, !wait(n, c));					\
	expect((n)->t, c, ctx, what);					\
} while (0)
/* The same for a success of which nothing else matters */
#define REQUIRE_OK(n, wait, c)						\
do {									\
	REQUIRE((n)->t, !wait(n, c));					\
	EXPECT_EQ((n)->t, (c)->err, 0);					\
} while (0)
#define REQUIRE_TX_OK(n, c)	REQUIRE_OK(n, WAIT_TX, c)
#define REQUIRE_RX_OK(n, c)	REQUIRE_OK(n, WAIT_RX, c)
#define REQUIRE_TX(n, c, ctx, flags)	REQUIRE_THIS(n, WAIT_TX, EXPECT_COMP, c, ctx, flags)
#define REQUIRE_RX(n, c, ctx, flags)	REQUIRE_THIS(n, WAIT_RX, EXPECT_COMP, c, ctx, flags)
#define REQUIRE_TX_ERR(n, c, ctx, err)	REQUIRE_THIS(n, WAIT_TX, EXPECT_ERR, c, ctx, err)
#define REQUIRE_RX_ERR(n, c, ctx, err)	REQUIRE_THIS(n, WAIT_RX, EXPECT_ERR, c, ctx, err)

/* A context of which only the identity matters */
#define CTX(n)		((void *)(uintptr_t)(n))

/**
 * struct event - an event that was read
 * @err: 0, or the positive error of an error entry
 * @type: KFI_CONNREQ ...
 * @fid: object
 * @info: info of a connection request
 * @data: private data
 * @len: bytes of @data
 */
struct event {
	int		err;
	u32		type;
	struct kfid	*fid;
	struct kfi_info	*info;
	u8		data[256];
	size_t		len;
};

/* Return 0 and the next event, or fail the case. */
int event_wait(struct test *t, struct kfid_eq *eq, struct event *ev, unsigned int ms,
	       const char *file, int line);
#define WAIT_EVENT(n, ev)						\
	event_wait((n)->t, (n)->eq, ev, (n)->t->w->wait_ms, __FILE__, __LINE__)

/* ---- posting ---- */

/* Repeat a post while it returns -EAGAIN, for a bounded time. */
bool test_again(struct test *t, unsigned long *until);
/* Repeat until @cond is true, for a bounded time. Return: whether it is. */
#define test_until(t, cond)						\
({									\
	unsigned long __until = 0;					\
	bool __so;							\
	do {								\
		__so = !!(cond);					\
	} while (!__so && test_again(t, &__until));			\
	__so;								\
})
#define POST(t, call)							\
({									\
	unsigned long __until = 0;					\
	ssize_t __ret;							\
	do {								\
		__ret = (call);						\
	} while (__ret == -EAGAIN && test_again(t, &__until));		\
	EXPECT_EQ(t, __ret, 0) ? 0 : __ret;				\
})

/*
 * Send from @a to @b, and check both completions and the data. @len is reduced to the length that a
 * message may have.
 */
int transfer(struct node *a, struct node *b, size_t len, u64 seed);
/* The same with memory of the caller */
int exchange(struct node *a, struct node *b, void *tx, void *rx, size_t len, u64 seed);
/* Post a write or a read to a tagged receive (tagged_rma.c). */
ssize_t rma_tagged(struct node *n, kfi_addr_t to, void *buf, size_t len, u64 tag, void *ctx,
		   bool write);
/* Post a receive of many messages (multirecv.c). */
ssize_t recv_multi(struct kfid_ep *ep, void *buf, size_t len, void *ctx);
/* Sizes from 1 byte on: for (s = 1; s <= size_max(t); s = size_next(t, s)) */
size_t size_max(struct test *t);
size_t size_next(struct test *t, size_t size);
/* Expect that both directions still work. */
void still_works(struct pair *p);

/*
 * A sends messages and closes at once, and B receives all of them. @inject: A sends with
 * kfi_inject(). (regress.c)
 */
void pair_part(struct pair *p, bool inject);

/* ---- actions of the script (script.c) ---- */

/*
 * Ask the script for what it does at this word, behind which a dot and a round may stand. Return:
 * true when it has acted; false after having failed the case.
 */
__printf(2, 3)
bool script_ask(struct test *t, const char *fmt, ...);

/* ---- threads ---- */

struct worker {
	struct list_head	link;
	struct test		*t;
	struct task_struct	*task;
	struct completion	ended;
	int			(*fn)(void *arg);
	void			*arg;
	int			ret;
};

/* Run fn(arg) in a thread, on @cpu or anywhere (-1). Join it before returning. */
int worker_start(struct test *t, struct worker *w, int cpu, int (*fn)(void *arg), void *arg);
/*
 * Return the result of fn(). If that takes longer than @ms, fail the case, and wait nevertheless.
 */
int worker_join(struct worker *w, unsigned int ms);
/* Join workers that a case has left running: test_teardown() frees what they use. */
void worker_join_all(struct test *t);

/* ---- remote memory ---- */

/**
 * struct region - memory that a peer may access
 * @mr: the region
 * @buf: its memory
 * @len: bytes of @buf
 * @addr: address of its first byte for a peer
 * @key: its key
 */
struct region {
	struct kfid_mr	*mr;
	u8		*buf;
	size_t		len;
	u64		addr, key;
};

/* Bind a region to the endpoint and enable it, if the domain needs that. Return: 0 on success */
int region_enable(struct node *n, struct kfid_mr *mr);
/* Register, and enable. */
int region_open(struct node *n, struct region *r, void *buf, size_t len, u64 access);

/**
 * struct io_work - the work of a region for one I/O
 * @ended: the work has ended
 * @err: with this result
 */
struct io_work {
	struct kfi_mr_work	work;
	struct completion	ended;
	int			err;
};

void io_work_init(struct io_work *io);
struct io_work *io_work_new(struct test *t);
/* Wait until the work has ended, with success. */
bool io_work_wait(struct test *t, struct io_work *io);
/* What a registration asks for: this memory, under a key that is drawn */
struct kfi_mr_attr io_attr(const struct kvec *iov, u64 access);
/* A region for one I/O of the endpoint. Return: NULL if there is none, or the case has failed */
struct kfid_mr *io_region(struct node *n, size_t pages);

/* ---- operations of all kinds, of random lengths, with checksums of all data (stress.c) ---- */

#define BATCH	6
#define MAXLEN	70000

struct flight {
	struct kfi_cqe		cqe;
	struct completion	ended;
	int			err;
	size_t			len;
};

/**
 * struct batch - operations of A that are in progress together; used by one thread
 * @id: part of its tags
 * @near: memory of A, MAXLEN bytes for each operation
 * @far: memory of B, as much
 * @r: @far as a region for A
 * @tx: what A posts
 * @rx: receives of B
 * @what: kinds of the operations; @len: their lengths; @seed: of their data
 * @posted: number of the operations that have begun
 * @until: when @worker ends
 * @ops: number of all operations so far
 */
struct batch {
	struct test		*t;
	struct pair		*p;
	u32			id;
	struct rnd_state	rnd;
	u8			*near, *far;
	struct region		r;
	struct flight		tx[BATCH], rx[BATCH];
	int			what[BATCH], posted;
	size_t			len[BATCH];
	u64			seed[BATCH];
	struct worker		worker;
	unsigned long		until;
	u64			ops;
};

int batch_open(struct test *t, struct batch *b, struct pair *p, u32 id);
/* Return: false after having failed the case. Those that have begun have to be ended. */
bool batch_begin(struct batch *b);
bool batch_end(struct batch *b);
/* Threads work with @pairs connected pairs and compare all data. */
void stress_pairs(struct test *t, struct pair **p, int pairs);

/* ---- accesses to a region of the peer that has ended (comp.c) ---- */

/* Consequence of such an access */
enum kfi_refusal refusal(struct node *n);
/*
 * Was the operation under way on a connection that such an access has ended? False if it ends no
 * connection
 */
bool is_lost(struct node *n, int err);
/* May such an access of @len bytes end with @err? */
bool is_refused(struct node *n, int err, size_t len);
/* MSG: expect that both sides see the end, and replace both. */
bool is_over(struct pair *p);
/*
 * Expect that both directions work: on the old connection or, if refusals end it, on another one.
 * MSG endpoints are replaced then.
 */
bool goes_on(struct pair *p);

/* ---- vectors over one piece of memory ---- */

/**
 * struct cut - memory cut into segments, for the vector of a message
 * @type: kind of segments; KFI_SGL is mapped for the domain until uncut()
 * @count: segments, of KFI_SGL the mapped ones
 * @nents: of KFI_SGL, segments before mapping
 * @dir: direction of the mapping
 */
struct cut {
	enum kfi_iov_type	type;
	size_t			count;
	int			nents;
	int			dir;
	union {
		struct kvec		*kvec;
		struct bio_vec		*bvec;
		struct scatterlist	*sgl;
		const void		*any;
	};
};

/*
 * Cut @len bytes at @buf (from test_pages()) into at most @most segments of random lengths and
 * offsets.
 */
int cut(struct node *n, struct cut *c, enum kfi_iov_type type, void *buf,
	size_t len, size_t most, bool to_device);
void uncut(struct node *n, struct cut *c);
int send_cut(struct node *n, const struct cut *c, void *ctx, u64 flags);
int recv_cut(struct node *n, const struct cut *c, void *ctx, u64 flags);

#endif /* KFI_CONFORMANCE_HARNESS_H */
