/* SPDX-License-Identifier: GPL-2.0 */
/*
 * harness.h - what the cases of the conformance suite share.
 *
 * A case is a function over a struct test. It opens nodes, moves data and
 * states what it expects; whatever it opened or allocated is undone after it,
 * newest first, so that a case can return at any point. A close that is
 * refused then is a failure of the case. All waits end after a time.
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

#include "far.h"
#include "route.h"

#include <kfabric.h>
#include <kfi_cm.h>
#include <kfi_domain.h>
#include <kfi_endpoint.h>
#include <kfi_eq.h>
#include <kfi_errno.h>
#include <kfi_rma.h>
#include <kfi_tagged.h>

struct test;
struct node;

/* ---- the list of cases ---- */

#define T_MSG		BIT(KFI_EP_MSG)
#define T_RDM		BIT(KFI_EP_RDM)
#define T_DGRAM		BIT(KFI_EP_DGRAM)
#define T_REL		(T_MSG | T_RDM)
#define T_ALL		(T_REL | T_DGRAM)

#define CASE_ONCE	BIT(0)	/* does not depend on the type: run with one */
#define CASE_SCRIPT	BIT(1)	/* needs the host script: run when named */
#define CASE_OFFER	BIT(2)	/* run on types too that getinfo does not offer */
#define CASE_LESS	BIT(3)	/* with KFI_ATOMIC where that is offered, else without */
#define CASE_MATCHING	BIT(4)	/* needs kfi.ko's matching, or what else a queue pair does not have (test_hw_recv()) */
#define CASE_CHECKED	BIT(6)	/* kfi.ko at the target checks and counts each access: not for a queue pair */
#define CASE_HW_RECV	BIT(5)	/* only for endpoints that are queue pairs */

/**
 * struct test_case - a row of the list
 * @name: file.case
 * @types: endpoint types it applies to, T_ bits
 * @flags: CASE_ bits
 * @caps: capabilities it needs; a provider whose getinfo refuses them for the
 *	type skips the case
 * @fn: the case
 */
struct test_case {
	const char	*name;
	unsigned int	types;
	unsigned int	flags;
	u64		caps;
	void		(*fn)(struct test *t);
};

/* In the order in which they run. */
#define TEST_SUITES(S)	\
	S(info) S(lifetime) S(close) S(av) S(mr) S(mr_bind) S(mr_io) S(mem) S(cq) S(cq_wait) S(eq) S(cntr) \
	S(cm) S(msg) S(tagged) S(tagged_rma) S(sep) S(shared) S(shared_tx) S(alias) S(inject) S(rma) S(order) \
	S(flush) S(atomic) S(atomic_error) S(multirecv) S(cancel) S(errors) S(flow) S(trigger) S(fence) S(overdue) S(reset) \
	S(auth) S(plain) S(dgram) S(nomem) S(nomem_any) S(noalloc) S(peerloss) S(overwrite) S(stress) S(short) S(lnd) \
	S(regress) S(verbs_rma) S(script)
#define TEST_SUITE(name)	name##_cases[],
extern const struct test_case TEST_SUITES(TEST_SUITE) no_cases[];	/* the last is for the comma before it */

/* Sets of capabilities that rows use */
#define C_MSG		(KFI_MSG | KFI_SEND | KFI_RECV)
#define C_TAGGED	(KFI_TAGGED | KFI_SEND | KFI_RECV)
#define C_RMA		(KFI_RMA | KFI_READ | KFI_WRITE | KFI_REMOTE_READ | \
			 KFI_REMOTE_WRITE)

/* What a queue pair is asked: messages and RMA, and what kfi.ko does by itself */
#define C_HW_RECV	(C_MSG | C_RMA | KFI_TRIGGER | KFI_FENCE)

/* ---- a run ---- */

struct side {
	struct net	*net;
	const char	*node;
};

/**
 * struct world - a run
 * @hw_recv: endpoint types, T_ bits, of which an endpoint is a plain queue pair (KFI_PROTO_RDMA_CM_IB_RC)
 * @below: where the code begins and ends that the provider stands on, and where its drivers end that follow; or 0
 */
struct world {
	const char	*provider;
	struct side	side[2];
	u64		seed;
	bool		quick;
	unsigned int	offered;	/* endpoint types, T_ bits */
	unsigned int	hw_recv;
	unsigned long	below[3];
	unsigned int	loss_ms, wait_ms, stress_ms, script_ms, lost_ops, removals;
};

/* Is an endpoint of this case a plain queue pair? */
#define test_hw_recv(t)	((t)->w->hw_recv & BIT((t)->type))

/* The level at which a write is in the peer's memory: a queue pair has it with the device's own report. */
#define test_delivery(t) (test_hw_recv(t) ? KFI_TRANSMIT_COMPLETE : KFI_DELIVERY_COMPLETE)

/* Let go of a namespace: nothing may be opened there any more. */
void world_drop_net(struct world *w, int side);

/**
 * struct test - a case that runs
 * @w: the run
 * @c: its row
 * @type: endpoint type of this time
 * @info: what getinfo answered for each side
 * @rnd: random numbers, a function of the run's seed and the case; see test_random()
 * @kept: fids and memory to be given back, newest first
 * @workers: started workers that were not joined yet
 * @lock: protects @rnd in test_random(), @kept, @workers, @skipped, @why and writes of @failures,
 *	as a case may have workers
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
	bool				skipped;
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
/* Not asked of every provider: ends as skipped, which the skip list must name. */
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
/* In functions that return nothing: no use going on otherwise. */
#define REQUIRE(t, cond)	do { if (!EXPECT(t, cond)) return; } while (0)
#define REQUIRE_EQ(t, got, want) do { if (!EXPECT_EQ(t, got, want)) return; } while (0)

/* ---- things that are undone after the case ---- */

/* All answer NULL or an error after having failed the case. */
void *test_zalloc(struct test *t, size_t len);	/* slab memory */
void *test_pages(struct test *t, size_t len);	/* whole pages, side by side for none but queue pairs */
/* The page that a byte of it is in */
static inline struct page *test_page(const void *at)
{
	return is_vmalloc_addr(at) ? vmalloc_to_page(at) : virt_to_page(at);
}

#define test_new(t, type)	((type *)test_zalloc(t, sizeof(type)))
/* Of a domain, the best that there is. One of the other machine's has none to show: the case is skipped. */
struct kfi_mem *test_mem(struct test *t, struct kfid_domain *domain, size_t len);
/* The same, or pages where it can't be had; NULL, having failed the case */
void *test_best(struct test *t, struct kfid_domain *domain, size_t len);
void test_drop_mem(struct test *t, const struct kfid_domain *domain);	/* all of one, or of every domain */
int test_mem_free(struct test *t, struct kfi_mem *mem);	/* now; forgotten only if that is 0 */
void test_keep(struct test *t, struct kfid *fid);
void test_keep_info(struct test *t, struct kfi_info *info);
void test_free_info(struct test *t, struct kfi_info *info);
/* Close now. The answer of kfi_close(); forgotten only if that is 0. */
int test_close(struct test *t, struct kfid *fid);
/* It has been closed by somebody else. */
void test_forget(struct test *t, struct kfid *fid);

/* ---- random numbers and patterns ---- */

u32 test_random(struct test *t, u32 below);
void fill(void *buf, size_t len, u64 seed);
/* Offset of the first byte that differs, or -1. */
ssize_t differs(const void *buf, size_t len, u64 seed);
#define EXPECT_DATA(t, buf, len, seed)					\
	EXPECT_EQ(t, differs(buf, len, seed), -1)
/* Offset of the first byte that is not @byte, or -1. */
ssize_t not_all(const void *buf, size_t len, u8 byte);

/* ---- nodes ---- */

/**
 * struct node_opts - how to open a node; zero members mean the usual
 * @caps: in place of the row's capabilities
 * @cq_size: entries of each queue (usual: 512)
 * @format: of the entries (usual: tagged)
 * @wait: wait object of the queues (usual: none; they are polled)
 * @cq_flags: flags of the queues
 * @tx_bind: @rx_bind: flags of the bindings besides the direction
 * @tx_op_flags: @rx_op_flags: default flags of operations
 * @key: authorization key of the endpoint; @domain_key: of its domain
 * @tx_size: @rx_size: depths (usual: what getinfo answered)
 * @handler: completion handler of both queues
 * @arg: its context
 * @before_enable: called when all is bound; 0 to go on
 * @eq_size: events that fit
 */
struct node_opts {
	u64			caps;
	size_t			cq_size;
	enum kfi_cq_format	format;
	enum kfi_wait_obj	wait;
	u64			cq_flags;
	u64			tx_bind, rx_bind;
	u64			tx_op_flags, rx_op_flags;
	const char		*key, *domain_key;
	size_t			tx_size, rx_size;
	kfi_comp_handler	handler;
	void			*arg;
	int			(*before_enable)(struct node *n);
	size_t			eq_size;
};

/**
 * struct node - one side of a conversation
 * @t: the case
 * @side: 0 (A) or 1 (B)
 * @opts: how it was opened
 * @info: what it was opened with
 * @fabric: ... @pep: its objects; @pep only on the listening side
 * @peer: the other side, in @av
 * @addr: own name, @addrlen bytes
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

/* Each answers 0 or, having failed the case, a negative errno. */
int node_open(struct test *t, struct node *n, int side, const struct node_opts *opts);
int node_endpoint(struct node *n, struct kfi_info *info);	/* open and bind */
int node_enable(struct node *n);	/* RDM, DGRAM: and learn the own name */
int node_listen(struct node *n);
int node_insert(struct node *n, const struct node *peer, kfi_addr_t *addr);
int node_open_ep(struct test *t, struct node *n, int side, const struct node_opts *opts);
/* Close endpoint and what belongs to it, in order. */
void node_close(struct node *n);

/* Two nodes that can talk: inserted into each other's vectors, or connected. */
struct pair *pair_open(struct test *t, const struct node_opts *a, const struct node_opts *b);
/* MSG: connect an unconnected endpoint of @a to the listener of @b. */
int pair_connect(struct node *a, struct node *b);
/* A fresh endpoint on a side whose endpoint was closed, and talk again. */
int pair_reconnect(struct pair *p, struct node *lost);

struct kfi_info *test_hints(struct test *t, u64 caps);
int test_getinfo(struct test *t, int side, u64 caps, struct kfi_info **info);

/* ---- completions and events ---- */

typedef struct kfi_cq_err_entry comp_t;	/* err 0: a success */

/* 1 and *c, 0 if there is none, or a negative errno. */
int comp_poll(struct node *n, struct kfid_cq *cq, comp_t *c);
int comp_wait_ms(struct test *t, struct node *n, struct kfid_cq *cq, comp_t *c,
		 unsigned int ms, const char *file, int line);
#define WAIT_TX(n, c)							\
	comp_wait_ms((n)->t, n, (n)->txcq, c, (n)->t->w->wait_ms, __FILE__, __LINE__)
#define WAIT_RX(n, c)							\
	comp_wait_ms((n)->t, n, (n)->rxcq, c, (n)->t->w->wait_ms, __FILE__, __LINE__)
/* Nothing comes for a moment. */
void comp_none(struct test *t, struct node *n, struct kfid_cq *cq,
	       const char *file, int line);
#define NONE_TX(n)	comp_none((n)->t, n, (n)->txcq, __FILE__, __LINE__)
#define NONE_RX(n)	comp_none((n)->t, n, (n)->rxcq, __FILE__, __LINE__)
/* The completion is that of @ctx, a success, and has exactly these flags. */
void comp_is(struct test *t, const comp_t *c, const void *ctx, u64 flags,
	     const char *file, int line);
#define EXPECT_COMP(t, c, ctx, flags)					\
	comp_is(t, c, ctx, flags, __FILE__, __LINE__)
void comp_is_err(struct test *t, const comp_t *c, const void *ctx, int err,
		 const char *file, int line);
#define EXPECT_ERR(t, c, ctx, err)					\
	comp_is_err(t, c, ctx, err, __FILE__, __LINE__)

/* A context of which only the identity matters. */
#define CTX(n)		((void *)(uintptr_t)(n))

/**
 * struct event - what an event queue said
 * @err: 0, or the positive error of an error entry
 * @type: KFI_CONNREQ ...
 * @fid: object
 * @info: of a connection request
 * @data: private data, @len bytes
 */
struct event {
	int		err;
	u32		type;
	struct kfid	*fid;
	struct kfi_info	*info;
	u8		data[256];
	size_t		len;
};

/* 0 and the next event, or fails the case. */
int event_wait(struct test *t, struct kfid_eq *eq, struct event *ev, unsigned int ms,
	       const char *file, int line);
#define WAIT_EVENT(n, ev)						\
	event_wait((n)->t, (n)->eq, ev, (n)->t->w->wait_ms, __FILE__, __LINE__)

/* ---- posting ---- */

/* Repeat a post while it answers -EAGAIN, for a bounded time. */
bool test_again(struct test *t, unsigned long *until);
/* Repeat until @cond holds, for a bounded time. Is it so? */
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

/* A send of @a, received by @b, both completions checked, data compared. If that is too long, what a message may have. */
int transfer(struct node *a, struct node *b, size_t len, u64 seed);
/* The same with memory of the caller's. */
int exchange(struct node *a, struct node *b, void *tx, void *rx, size_t len, u64 seed);
/* Sizes from 1 byte up: for (s = 1; s <= size_max(t); s = size_next(t, s)) */
size_t size_max(struct test *t);
size_t size_next(struct test *t, size_t size);
/* Both directions still work. */
void still_works(struct pair *p);

/* ---- what the script does meanwhile (script.c) ---- */

/* It is told of @what, with the number of the round, and has done it when this returns; false, having failed the case, if it hasn't. */
bool script_ask(struct test *t, const char *what, u32 round);

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
/* What fn() returned. Fails the case if that took longer than @ms, but waits. */
int worker_join(struct worker *w, unsigned int ms);
/* Join what a case has left running: test_teardown() frees what the workers use. */
void worker_join_all(struct test *t);

/* ---- remote memory ---- */

/**
 * struct region - memory that a peer may touch
 * @mr: the region
 * @buf: its memory, @len bytes
 * @addr: what a peer says for its first byte
 * @key: its key
 */
struct region {
	struct kfid_mr	*mr;
	u8		*buf;
	size_t		len;
	u64		addr, key;
};

int region_open(struct node *n, struct region *r, void *buf, size_t len, u64 access);
/* Can regions be for a single use? If not the case is skipped. */
bool region_single_use(struct node *n);

/* ---- accesses to a region of the peer that has ended meanwhile (refusal.c) ---- */

/* What one costs. */
enum kfi_refusal refusal(struct node *n);
/* It was under way on a connection that such an access has ended; false where that ends none. */
bool is_lost(struct node *n, int err);
/* So may such an access of @len bytes end. !@claims: a write without level, whose success says nothing of the peer */
bool is_refused(struct node *n, int err, size_t len, bool claims);
/* MSG: both hear of the end, and are replaced. */
bool is_over(struct pair *p);
/* Both directions work: on the old connection or, where refusals end it, on another. MSG endpoints are replaced then. */
bool goes_on(struct pair *p);

/* ---- vectors over one piece of memory ---- */

/**
 * struct cut - memory cut into segments, to be passed as a message's vector
 * @type: kind of segments; KFI_SGL is mapped for the domain until uncut()
 * @count: segments, of KFI_SGL the mapped ones
 * @nents: of KFI_SGL, segments before mapping
 * @dir: of the mapping
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
 * Cut @len bytes at @buf (from test_pages()) into at most @most segments of
 * random lengths and offsets.
 */
int cut(struct node *n, struct cut *c, enum kfi_iov_type type, void *buf,
	size_t len, size_t most, bool to_device);
void uncut(struct node *n, struct cut *c);
int send_cut(struct node *n, const struct cut *c, void *ctx, u64 flags);
int recv_cut(struct node *n, const struct cut *c, void *ctx, u64 flags);

#endif /* KFI_CONFORMANCE_HARNESS_H */
