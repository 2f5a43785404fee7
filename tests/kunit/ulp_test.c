// SPDX-License-Identifier: GPL-2.0
/*
 * The kit for ULPs (kfi/ulp) over kfi_loop: peers that answer too early, twice, wrongly or never,
 * callers that are silent, the ends of connections, and what a ULP does late, for a connection
 * that has ended. What is shown here holds for every ULP.
 *
 * The source of the kit is compiled into this module. kit_gap() stands where the kit uses a
 * connection that another CPU could end meanwhile, and lets kit.other() do that. Posts can be
 * refused.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include "fake.h"
#include "ulp_kit.h"
#include <kfi_req.h>
#include <kfi_rw.h>

enum {
	KIT_DEPTH	= 4,
	KIT_CLIENTS	= 7,
	KIT_MS		= 5000,
	KIT_PIECES	= 24,		/* of memory: more than a post takes */
	KIT_PIECE	= 512,
	KIT_BYTES	= KIT_PIECES * KIT_PIECE,
	KIT_LONG	= 48,		/* bytes of a message that is too long */
};

#define KIT_SERVICE	"4470"

struct kit_msg {
	u32	tag, zero;
	u64	key, addr;
};

struct kit_client {
	struct kfi_conn	conn;
	int		lost, err, answered;
};

struct kit_rq {
	struct kfi_req	req;
	int		done, err;
};

/* A request at the server */
struct kit_cmd {
	struct kfi_rxbuf	rx;
	struct kfi_rw		rw;
	struct kit_msg		msg;
	u8			answer[KIT_LONG];
};

/* A message that a client keeps */
struct kit_kept {
	struct kfi_rxbuf	rx;
	struct kfi_rw		rw;
	int			err;
};

/* What the server answers instead of the truth, and what the client makes of it */
struct kit_lie {
	const char	*name;
	u32		tag;		/* added to that of the request */
	int		more, len;	/* further answers ahead of it; bytes more than it has */
	bool		data, detach, other_key, hang_up;
	int		done, lost;
};

static const struct kit_lie kit_truth = { "the truth", .data = true, .detach = true, .done = 1 };

/**
 * struct kit - a listener and its clients, all in one kernel
 * @client: sizes of connections
 * @server: the same
 * @srv: accepted last, until its release
 * @cmd: request that has arrived last
 * @lie: how requests are answered; NULL: not at all
 * @refuse: so many posts to @refuse_ep are refused with @refusal
 * @other: see kit_gap(), called once
 * @by_task: @other is called by @task; else by another one
 * @early: a post of a request returns when the answer has been taken, unless this needs the CPU
 * @hold: releases wait
 * @hold_call: calls wait for their answer
 * @hold_open: work items that open a domain wait; @opening: one does
 * @late: begin this transfer in the next release
 * @ask_name: ask for the name of the first client while it connects
 * @back: a message that is given back while the server is called
 * @answers: that the client has taken
 * @early_answers: of these, while the request was posted
 * @done_early: ends of requests while they were posted
 * @waits: of @task for grace periods, without those of kfi.ko
 * @moved: ends of transfers
 * @nr_kept: messages that clients have kept, the first of which are @kept
 * @released: connections
 */
static struct kit {
	struct kunit		*test;
	struct task_struct	*task;
	struct kfi_listener	listener;
	struct kfi_conn_attr	client, server;
	struct kfi_info		*info;
	struct kfi_dom		*dom;
	struct kit_client	*clients;
	struct kfi_conn		*srv;
	struct kit_cmd		*cmd;
	const struct kit_lie	*lie;
	struct kit_rq		rqs[KIT_DEPTH];
	u8			*mem, *near;
	struct scatterlist	sg[KIT_PIECES];
	struct kfi_rw		rw;
	int			refuse, refusal, nr_kept;
	struct kfid_ep		*refuse_ep;
	void			(*other)(void);
	bool			by_task, early, hold, hold_call, hold_open, opening, late, ask_name;
	struct kit_kept		*back, *kept[4];
	wait_queue_head_t	held;
	int			answers, early_answers, done_early, waits, moved, moved_err, name_err;
	atomic_t		released;
} kit;

/* ---- the kit ---- */

/* Only what waits for the RCU section of the caller, if there is one, has to wait. */
static void kit_gap(void)
{
	void (*other)(void) = kit.other;

	if (!other || (current == kit.task) != kit.by_task)
		return;
	kit.other = NULL;
	other();
}

static bool kit_refuses(const struct kfid_ep *ep)
{
	return ep == kit.refuse_ep && kit.refuse && kit.refuse--;
}

static ssize_t kit_sendmsg(struct kfid_ep *ep, const struct kfi_msg *msg, u64 flags)
{
	unsigned long end = jiffies + HZ / 20;
	ssize_t ret;

	if (kit_refuses(ep))
		return kit.refusal;
	ret = __kfi_sendmsg(ep, msg, flags);
	if (!kit.early || ep != kit.clients[0].conn.ep)
		return ret;
	while (!READ_ONCE(kit.answers) && time_before(jiffies, end)) {
		local_bh_enable();	/* as if the answer came on another CPU */
		local_bh_disable();
	}
	kit.early_answers += kit.answers;
	kit.done_early += kit.rqs[0].done;
	return ret;
}

static ssize_t kit_writemsg(struct kfid_ep *ep, const struct kfi_msg_rma *msg, u64 flags)
{
	return kit_refuses(ep) ? kit.refusal : __kfi_writemsg(ep, msg, flags);
}

bool kit_no_device;

static int kit_getinfo(struct net *net, u32 version, const char *node, const char *service,
		       u64 flags, const struct kfi_info *hints, struct kfi_info **info)
{
	return READ_ONCE(kit_no_device) && !(flags & KFI_PROV_ATTR_ONLY) ? -ENODATA :
	       kfi_getinfo_net(net, version, node, service, flags, hints, info);
}

static void kit_synchronize(void)
{
	kit.waits += current == kit.task;
	synchronize_rcu_expedited();
}

static bool kit_llist_add(struct llist_node *node, struct llist_head *head)
{
	bool first = llist_add(node, head);

	kit_gap();
	return first;
}

static int kit_domain(struct kfid_fabric *fabric, struct kfi_info *info,
		      struct kfid_domain **domain, void *context)
{
	if (current != kit.task) {
		WRITE_ONCE(kit.opening, true);
		wait_event(kit.held, !READ_ONCE(kit.hold_open));
	}
	return kfi_domain(fabric, info, domain, context);
}

#undef EXPORT_SYMBOL_GPL
#define EXPORT_SYMBOL_GPL(symbol)
#define kfi_getinfo_net			kit_getinfo
#define kfi_domain(fabric, info, domain, context)	kit_domain(fabric, info, domain, context)
#define __kfi_sendmsg			kit_sendmsg
#define __kfi_writemsg			kit_writemsg
#define synchronize_rcu_expedited()	kit_synchronize()
#undef smp_mb__after_atomic
#define smp_mb__after_atomic()		do { smp_mb(); kit_gap(); } while (0) /* as it is */
#include "../../kfi/ulp/dom.c"
#undef kfi_domain
#include "../../kfi/ulp/conn.c"
#include "../../kfi/ulp/rx.c"
#include "../../kfi/ulp/listener.c"

void kit_looked_before(struct kfi_listener *l, unsigned long age)
{
	struct place *place;

	list_for_each_entry(place, &l->places, entry)
		place->since -= age;
}

#include "../../kfi/ulp/req.c"
#define llist_add(node, head)		kit_llist_add(node, head)
#include "../../kfi/ulp/rw.c"
#undef llist_add

/* ---- the client ---- */

static void kit_received(struct kfid_cq *cq, struct kfi_cqe *cqe,
			 const struct kfi_cq_err_entry *wc)
{
	struct kit_msg msg;
	struct kfi_conn *conn = kfi_rx_take(cqe, wc, &msg, sizeof(msg));
	struct kfi_req *req;

	if (!conn)
		return;
	req = msg.tag < KIT_DEPTH ? &kit.rqs[msg.tag].req : NULL;
	if (!req || !kfi_req_answered(req, conn, wc)) {
		kfi_conn_fail(conn, -EPROTO);
		return;
	}
	kfi_req_put(req);
	WRITE_ONCE(kit.answers, kit.answers + 1);
}

static void kit_req_done(struct kfi_req *req, int err)
{
	struct kit_rq *rq = container_of(req, struct kit_rq, req);

	rq->err = err;
	WRITE_ONCE(rq->done, rq->done + 1);
}

static void kit_lost(struct kfi_conn *conn, int err)
{
	struct kit_client *c = container_of(conn, struct kit_client, conn);

	c->err = err;
	WRITE_ONCE(c->lost, c->lost + 1);
}

static void kit_told(struct kfi_conn *conn)
{
	struct kit_client *c = container_of(conn, struct kit_client, conn);

	WRITE_ONCE(c->answered, c->answered + 1);
}

static const struct kfi_conn_ops kit_client_ops = {
	.received = kit_received, .req_done = kit_req_done, .answered = kit_told, .lost = kit_lost,
};

static int kit_connect(unsigned int i)
{
	struct kfi_conn *conn = &kit.clients[i].conn;

	return kfi_conn_open(conn, kit.dom, kit.info, &kit.client) ?:
	       kfi_conn_connect(conn, kit.info->dest_addr, NULL, 0, NULL, NULL, KIT_MS);
}

/* Send a request, which names a region if @map, with @data behind it. */
static int kit_request(unsigned int tag, bool map, bool data)
{
	struct kfi_conn *conn = &kit.clients[0].conn;
	struct kit_rq *rq = &kit.rqs[tag];
	struct kit_msg msg = { .tag = tag };
	struct bio_vec vec;
	int ret = 0;

	rq->done = 0;
	bvec_set_virt(&vec, kit.mem, KIT_BYTES);
	if (!kfi_conn_enter(conn))
		return -ENOTCONN;
	kfi_req_begin(&rq->req, conn, tag);
	if (map)
		ret = kfi_req_map(&rq->req, &vec, 1, KFI_REMOTE_READ | KFI_REMOTE_WRITE);
	if (map && !ret) {
		msg.key = rq->req.key;
		msg.addr = rq->req.addr;
	}
	bvec_set_virt(&vec, kit.mem, KIT_PIECE);
	ret = ret ?: kfi_req_send(&rq->req, &msg, sizeof(msg), data ? &vec : NULL, data, 0);
	kfi_conn_exit(conn);
	return ret;
}

/* ---- the server ---- */

static void kit_moved(struct kfi_rw *rw, int err)
{
	kit.moved_err = err;
	WRITE_ONCE(kit.moved, kit.moved + 1);
}

static void kit_answered(struct kfi_rw *rw, int err)
{
	kfi_rx_done(&container_of(rw, struct kit_cmd, rw)->rx);
}

static void kit_answer(struct kit_cmd *cmd, const struct kit_lie *lie)
{
	struct kit_msg *answer = (void *)cmd->answer;

	*answer = cmd->msg;
	answer->tag += lie->tag;
	for (int i = 0; i < lie->more; i++)
		kfi_conn_inject(cmd->rx.conn, answer, sizeof(*answer), 0);
	if (lie->hang_up) {
		kfi_conn_fail(cmd->rx.conn, -ECONNRESET);
		return;
	}
	kfi_rw_begin(&cmd->rw, cmd->rx.conn);
	cmd->rw.done = kit_answered;
	cmd->rw.key = lie->other_key ? kit.rqs[1].req.key : cmd->msg.key;
	cmd->rw.addr = cmd->msg.addr;
	kfi_rw_reply(&cmd->rw, lie->data ? kit.sg : NULL, lie->data ? KIT_BYTES : 0, answer,
		     sizeof(*answer) + lie->len, lie->detach);
}

static void kit_asked(struct kfid_cq *cq, struct kfi_cqe *cqe, const struct kfi_cq_err_entry *wc)
{
	struct kfi_rxbuf *rx = kfi_rx_got(cqe, wc, sizeof(struct kit_msg));
	struct kit_cmd *cmd = container_of(rx, struct kit_cmd, rx);

	if (!rx)
		return;
	memcpy(&cmd->msg, rx->head, sizeof(cmd->msg));
	WRITE_ONCE(kit.cmd, cmd);
	if (kit.lie)
		kit_answer(cmd, kit.lie);
}

/* Begin a transfer from or to the region of request 0. */
static void kit_move(bool reply, u32 key)
{
	static const struct kit_msg msg = { .tag = KIT_DEPTH };

	kit.moved = 0;
	kfi_rw_begin(&kit.rw, kit.cmd->rx.conn);
	kit.rw.done = kit_moved;
	kit.rw.key = kit.cmd->msg.key + key;
	kit.rw.addr = kit.cmd->msg.addr;
	if (reply)
		kfi_rw_reply(&kit.rw, kit.sg, KIT_BYTES, &msg, sizeof(msg), false);
	else
		kfi_rw_read(&kit.rw, kit.sg, KIT_BYTES);
}

static void kit_release(struct kfi_conn *conn);
static struct kfi_conn_ops kit_server_ops = { .received = kit_asked, .release = kit_release };

static void kit_release(struct kfi_conn *conn)
{
	wait_event(kit.held, !READ_ONCE(kit.hold));
	if (kit.late) {
		kit.late = false;
		local_irq_disable();
		kit_move(true, 0);
		local_irq_enable();
		kfi_conn_drain(conn);
		KUNIT_EXPECT_EQ(kit.test, 1, kit.moved);
	}
	cmpxchg(&kit.srv, conn, NULL);
	kfi_conn_close(conn);
	kfree(conn);
	atomic_inc(&kit.released);
}

static int kit_called(struct kfi_caller *caller)
{
	struct kfi_conn *conn = kzalloc(sizeof(*conn), GFP_KERNEL);
	u8 name[64];
	size_t len = sizeof(name);
	int ret;

	if (!conn)
		return -ENOMEM;
	if (kit.back)
		kfi_rx_done(&kit.back->rx);
	wait_event(kit.held, !READ_ONCE(kit.hold_call));
	if (kit.ask_name)
		kit.name_err = kfi_conn_name(&kit.clients[0].conn, name, &len);
	kfi_conn_init(conn, &kit_server_ops);
	kit.srv = conn;
	ret = kfi_conn_accept(conn, caller, &kit.server, NULL, 0);
	if (ret)
		kfree(conn);
	return ret;
}

/* ---- the world ---- */

static const struct kfi_need kit_need = {
	.provider = "loop", .type = KFI_EP_MSG, .max_len = KIT_BYTES, .inject = KIT_LONG,
	.order = KFI_ORDER_SAS | KFI_ORDER_SAW,
};

static int kit_init(struct kunit *test)
{
	unsigned int i;
	int ret;

	kit.test = test;
	kit.task = current;
	init_waitqueue_head(&kit.held);
	kit.client = (struct kfi_conn_attr) {
		.depth = KIT_DEPTH, .rx_len = sizeof(struct kit_msg), .tx_len = 64,
		.region_segs = 1, .where = KFI_CONN_SOFTIRQ, .reclaim = true,
	};
	kit.server = (struct kfi_conn_attr) {
		.depth = KIT_DEPTH, .spare = KIT_DEPTH, .rx_len = sizeof(struct kit_msg),
		.rx_more = PAGE_SIZE, .rx_priv = sizeof(struct kit_cmd),
		.where = KFI_CONN_SOFTIRQ,
	};
	kit.mem = alloc_pages_exact(KIT_BYTES, GFP_KERNEL | __GFP_ZERO);
	kit.near = alloc_pages_exact(KIT_BYTES, GFP_KERNEL);
	kit.clients = kunit_kcalloc(test, KIT_CLIENTS, sizeof(*kit.clients), GFP_KERNEL);
	kit_server_ops.end_wq = alloc_workqueue("kit_end", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	kit_server_ops.post_wq = alloc_workqueue("kit_post", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	KUNIT_ASSERT_TRUE(test, kit.mem && kit.near && kit.clients && kit_server_ops.end_wq &&
				kit_server_ops.post_wq);
	memset(kit.near, 0x5a, KIT_BYTES);
	sg_init_table(kit.sg, KIT_PIECES);
	for (i = 0; i < KIT_PIECES; i++)
		sg_set_buf(&kit.sg[i], kit.near + i * KIT_PIECE, KIT_PIECE);
	for (i = 0; i < KIT_CLIENTS; i++)
		kfi_conn_init(&kit.clients[i].conn, &kit_client_ops);
	ret = kfi_find(&init_net, &kit_need, NULL, "loop", KIT_SERVICE, &kit.info);
	KUNIT_ASSERT_EQ(test, 0, ret);
	kit.dom = kfi_dom_get(&init_net, kit.info, THIS_MODULE);
	KUNIT_ASSERT_FALSE(test, IS_ERR(kit.dom));
	kit.listener.called = kit_called;
	KUNIT_ASSERT_EQ(test, 0, kfi_listener_open(&kit.listener, &init_net, &kit_need, "loop",
						   KIT_SERVICE, THIS_MODULE));
	return 0;
}

static void kit_exit(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < KIT_CLIENTS; i++)
		kfi_conn_close(&kit.clients[i].conn);
	kfi_listener_close(&kit.listener);
	kfi_listener_wait(&kit.listener);
	destroy_workqueue(kit_server_ops.end_wq);
	destroy_workqueue(kit_server_ops.post_wq);
	kfi_dom_put(kit.dom);
	kfi_freeinfo(kit.info);
	free_pages_exact(kit.near, KIT_BYTES);
	free_pages_exact(kit.mem, KIT_BYTES);
	memset(&kit, 0, sizeof(kit));	/* other tests use the kit, too */
}

/* ---- answers ---- */

static const struct kit_lie kit_lies[] = {
	{ "the region is left to the client", .data = true, .done = 1 },
	{ "twice", .more = 1, .done = 1, .lost = 1 },
	{ "to no request", .tag = 2, .lost = 1 },
	{ "to no tag", .tag = KIT_DEPTH, .lost = 1 },
	{ "too short", .len = -4, .lost = 1 },
	{ "too long", .len = KIT_LONG - sizeof(struct kit_msg), .lost = 1 },
	{ "with the key of another request", .other_key = true, .detach = true, .lost = 1 },
	{ "never", .hang_up = true, .lost = 1 },
};

/* A request has ended: nobody reaches its memory any more. */
static void kit_expect_detached(struct kunit *test)
{
	memset(kit.mem, 0, KIT_BYTES);
	kit_move(true, 0);
	KUNIT_EXPECT_TRUE(test, fake_soon(READ_ONCE(kit.moved)));
	KUNIT_EXPECT_NE(test, 0, kit.moved_err);
	KUNIT_EXPECT_PTR_EQ(test, NULL, memchr_inv(kit.mem, 0, KIT_BYTES));
}

/* @lie is the answer to a request. */
static void kit_lied(struct kunit *test, const struct kit_lie *lie)
{
	struct kit_client *c = &kit.clients[0];
	struct kit_rq *rq = &kit.rqs[0];
	bool told;

	c->lost = 0;
	kit.lie = NULL;
	kit.cmd = NULL;
	memset(kit.mem, 0, KIT_BYTES);
	KUNIT_ASSERT_EQ_MSG(test, 0, kit_connect(0), "%s", lie->name);
	KUNIT_ASSERT_EQ_MSG(test, 0, kit_request(1, true, false), "%s", lie->name);
	KUNIT_ASSERT_TRUE(test, fake_soon(READ_ONCE(kit.cmd)));
	kit.lie = lie;
	KUNIT_ASSERT_EQ_MSG(test, 0, kit_request(0, true, false), "%s", lie->name);
	told = fake_soon(READ_ONCE(rq->done) == lie->done && READ_ONCE(c->lost) == lie->lost);
	KUNIT_EXPECT_TRUE_MSG(test, told, "%s: %d ends, %d losses", lie->name, rq->done, c->lost);
	if (lie->data)
		KUNIT_EXPECT_EQ_MSG(test, 0, memcmp(kit.mem, kit.near, KIT_BYTES), "%s",
				    lie->name);
	if (!lie->lost)
		kit_expect_detached(test);
	kfi_conn_stop(&c->conn);
	KUNIT_EXPECT_EQ_MSG(test, lie->done, rq->done, "%s", lie->name);
}

/* A lie ends the connection, and no request but those that were answered; the next one works. */
static void kit_lies_end(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(kit_lies); i++) {
		kit_lied(test, &kit_lies[i]);
		kit_lied(test, &kit_truth);
	}
}

/* A request whose answer has arrived, and whose send has ended, may still be in kfi_req_send(). */
static void kit_answer_early(struct kunit *test)
{
	static const struct kit_lie plain = { "the truth", .detach = true };
	unsigned int i;

	kit.early = true;
	kit.lie = &plain;
	KUNIT_ASSERT_EQ(test, 0, kit_connect(0));
	for (i = 0; i < 20; i++) {
		kit.answers = 0;
		KUNIT_ASSERT_EQ(test, 0, kit_request(0, true, i & 1));
		KUNIT_EXPECT_EQ(test, 0, kit.done_early);
		KUNIT_ASSERT_TRUE(test, fake_soon(READ_ONCE(kit.rqs[0].done) == 1));
	}
	KUNIT_EXPECT_GT(test, kit.early_answers, 10);
}

/* A request that could not be sent is the caller's, or ends with the error if it has a region. */
static void kit_send_refused(struct kunit *test)
{
	struct kfi_cq_err_entry wc = {};
	struct kfi_conn *conn = &kit.clients[0].conn;

	KUNIT_ASSERT_EQ(test, 0, kit_connect(0));
	kit.refuse_ep = conn->ep;
	kit.refusal = -EAGAIN;
	kit.refuse = 2;
	KUNIT_EXPECT_EQ(test, -EAGAIN, kit_request(0, false, false));
	KUNIT_EXPECT_EQ(test, -EAGAIN, kit_request(0, false, true));
	KUNIT_EXPECT_FALSE(test, kfi_req_answered(&kit.rqs[0].req, conn, &wc));
	KUNIT_EXPECT_EQ(test, 0, kit.rqs[0].done);
	KUNIT_ASSERT_EQ(test, 0, kit_request(0, true, false));
	KUNIT_EXPECT_TRUE(test, fake_soon(READ_ONCE(kit.cmd)));
	kit.refuse = 1;
	KUNIT_EXPECT_EQ(test, 0, kit_request(1, true, false));
	KUNIT_EXPECT_TRUE(test, fake_soon(READ_ONCE(kit.rqs[1].done) == 1));
	KUNIT_EXPECT_EQ(test, -EAGAIN, kit.rqs[1].err);
}

/* An answer counts only on the connection of its request, and not on the next one of this queue. */
static void kit_answer_foreign(struct kunit *test)
{
	const struct kit_msg answer = {};
	unsigned int i;

	KUNIT_ASSERT_EQ(test, 0, kit_connect(0));
	KUNIT_ASSERT_EQ(test, 0, kit_request(0, true, false));
	for (i = 2; i--; ) {
		if (!i)
			kfi_conn_stop(&kit.clients[0].conn);
		KUNIT_ASSERT_EQ(test, 0, kit_connect(i));
		KUNIT_ASSERT_TRUE(test, fake_soon(!kfi_conn_inject(kit.srv, &answer,
								   sizeof(answer), 0)));
		KUNIT_EXPECT_TRUE(test, fake_soon(READ_ONCE(kit.clients[i].lost) == 1));
		KUNIT_EXPECT_EQ(test, -EPROTO, kit.clients[i].err);
	}
	KUNIT_EXPECT_EQ(test, 0, kit.rqs[0].done);
}

/* ---- transfers ---- */

static const struct kit_transfer {
	const char	*name;
	bool		reply, masked;
	u32		key;
	int		refuse, refusal;
	bool		fails, ends;
} kit_transfers[] = {
	{ "a read" },
	{ "a read in a hard interrupt", .masked = true },
	{ "a read from no region", .key = 1, .fails = true },
	{ "a write", .reply = true },
	{ "a write in a hard interrupt", .reply = true, .masked = true },
	{ "a write without room", .reply = true, .refuse = 2, .refusal = -EAGAIN },
	{ "a write that is refused", .reply = true, .refuse = 1, .refusal = -ENOMEM,
	  .fails = true, .ends = true },
	{ "a write to no region", .reply = true, .key = 1, .fails = true, .ends = true },
};

static void kit_transfer(struct kunit *test, const struct kit_transfer *t)
{
	int released = atomic_read(&kit.released);

	KUNIT_ASSERT_EQ(test, 0, kit_connect(0));
	kit.cmd = NULL;
	KUNIT_ASSERT_EQ(test, 0, kit_request(0, true, false));
	KUNIT_ASSERT_TRUE(test, fake_soon(READ_ONCE(kit.cmd)));
	memset(kit.mem, 0, KIT_BYTES);
	memset(kit.near, 0x5a, KIT_BYTES);
	kit.refuse_ep = kit.srv->ep;
	kit.refuse = t->refuse;
	kit.refusal = t->refusal;
	if (t->masked)
		local_irq_disable();
	kit_move(t->reply, t->key);
	if (t->masked)
		local_irq_enable();
	KUNIT_EXPECT_TRUE_MSG(test, fake_soon(READ_ONCE(kit.moved)), "%s", t->name);
	KUNIT_EXPECT_EQ_MSG(test, t->fails, !!kit.moved_err, "%s: %d", t->name, kit.moved_err);
	KUNIT_EXPECT_EQ_MSG(test, 0, kit.refuse, "%s", t->name);
	KUNIT_EXPECT_EQ_MSG(test, t->fails, !!memcmp(kit.mem, kit.near, KIT_BYTES), "%s",
			    t->name);
	if (t->ends)
		KUNIT_EXPECT_TRUE_MSG(test, fake_soon(atomic_read(&kit.released) > released),
				      "%s", t->name);
	kfi_conn_stop(&kit.clients[0].conn);
	KUNIT_EXPECT_TRUE(test, fake_soon(atomic_read(&kit.released) > released));
	KUNIT_EXPECT_EQ_MSG(test, 1, kit.moved, "%s", t->name);
}

/* Each transfer ends once; its error ends the connection if the peer may have the answer. */
static void kit_transfers_end(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(kit_transfers); i++)
		kit_transfer(test, &kit_transfers[i]);
}

/* One that begins in a hard interrupt when the connection has stopped ends, too. */
static void kit_transfer_late(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, 0, kit_connect(0));
	KUNIT_ASSERT_EQ(test, 0, kit_request(0, true, false));
	KUNIT_ASSERT_TRUE(test, fake_soon(READ_ONCE(kit.cmd)));
	kit.late = true;
	kfi_conn_stop(&kit.clients[0].conn);
	KUNIT_EXPECT_TRUE(test, fake_soon(atomic_read(&kit.released)));
	KUNIT_EXPECT_EQ(test, -ESHUTDOWN, kit.moved_err);
}

/* ---- ends ---- */

/* The connection ends. Is it released at once? */
static void kit_srv_ends(void)
{
	kfi_conn_fail(kit.srv, -ECONNRESET);
	if (!rcu_read_lock_held())
		flush_workqueue(kit_server_ops.end_wq);
	KUNIT_EXPECT_EQ(kit.test, 0, atomic_read(&kit.released));
}

/* A connection ends while kfi_conn_accept() still uses it. */
static void kit_ends_accepted(struct kunit *test)
{
	kit.other = kit_srv_ends;
	kit_connect(0);
	KUNIT_EXPECT_TRUE(test, fake_soon(atomic_read(&kit.released)));
	KUNIT_EXPECT_PTR_EQ(test, NULL, kit.other);
}

/* The last transfer of a connection waits for room, and both end while that is arranged. */
static void kit_ends_waiting(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, 0, kit_connect(0));
	KUNIT_ASSERT_EQ(test, 0, kit_request(0, true, false));
	KUNIT_ASSERT_TRUE(test, fake_soon(READ_ONCE(kit.cmd)));
	kit.other = kit_srv_ends;
	kit.by_task = true;
	kit.refuse_ep = kit.srv->ep;
	kit.refusal = -EAGAIN;
	kit.refuse = 1;
	kit_move(true, 0);
	KUNIT_EXPECT_PTR_EQ(test, NULL, kit.other);
	KUNIT_EXPECT_TRUE(test, fake_soon(atomic_read(&kit.released)));
	KUNIT_EXPECT_EQ(test, 1, kit.moved);
}

/* The reset of an endpoint waits for a grace period: a stop waits if it closes the endpoint. */
static void kit_stop_waits(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, 0, kit_connect(0));
	kit.waits = 0;
	kfi_conn_stop(&kit.clients[0].conn);
	KUNIT_EXPECT_EQ(test, 0, kit.waits);
	kit.client.where = KFI_CONN_READ;
	kit.client.tx = KIT_DEPTH;
	KUNIT_ASSERT_EQ(test, 0, kit_connect(0));
	kfi_conn_stop(&kit.clients[0].conn);
	KUNIT_EXPECT_EQ(test, 1, kit.waits);
}

/* ---- what is late ---- */

static void kit_keep(struct kfid_cq *cq, struct kfi_cqe *cqe, const struct kfi_cq_err_entry *wc)
{
	struct kfi_rxbuf *rx = kfi_rx_got(cqe, wc, sizeof(struct kit_msg));
	struct kit_kept *kept = container_of(rx, struct kit_kept, rx);

	if (!rx || kit.nr_kept == ARRAY_SIZE(kit.kept))
		return;
	kfi_rw_begin(&kept->rw, rx->conn);
	kit.kept[kit.nr_kept] = kept;
	smp_store_release(&kit.nr_kept, kit.nr_kept + 1);	/* pairs with kit_await_kept() */
}

static struct kfi_conn_ops kit_keeper_ops = { .received = kit_keep, .lost = kit_lost };

static void kit_await_kept(struct kunit *test, int n)
{
	/* pairs with kit_keep() */
	KUNIT_ASSERT_TRUE(test, fake_soon(smp_load_acquire(&kit.nr_kept) == n));
}

/* The server sends a message over its last connection. */
static void kit_say(struct kunit *test, u32 tag)
{
	const struct kit_msg msg = { .tag = tag };

	KUNIT_ASSERT_TRUE(test, fake_soon(!kfi_conn_inject(kit.srv, &msg, sizeof(msg), 0)));
}

/* One of the two receives of a client has message 1, and the client is stopped. */
static void kit_keep_one(struct kunit *test)
{
	kit_keeper_ops.post_wq = kit_server_ops.post_wq;
	kit.client.depth = 2;
	kit.client.rx_priv = sizeof(struct kit_kept);
	kfi_conn_init(&kit.clients[0].conn, &kit_keeper_ops);
	KUNIT_ASSERT_EQ(test, 0, kit_connect(0));
	kit_say(test, 1);
	kit_await_kept(test, 1);
	kfi_conn_stop(&kit.clients[0].conn);
}

/* The receives of the next connection are those of two messages. */
static void kit_expect_both(struct kunit *test)
{
	kit_say(test, 2);
	kit_say(test, 3);
	kit_await_kept(test, 3);
	KUNIT_EXPECT_PTR_NE(test, kit.kept[1], kit.kept[2]);
	KUNIT_EXPECT_EQ(test, 0, kit.clients[0].lost);
}

/* A receive has its message until it is given back, and then receives for the next connection. */
static void kit_kept_over(struct kunit *test)
{
	kit_keep_one(test);
	KUNIT_ASSERT_EQ(test, 0, kit_connect(0));
	kit_say(test, 2);
	kit_say(test, 3);
	kit_await_kept(test, 2);
	msleep(50);
	KUNIT_EXPECT_EQ(test, 2, kit.nr_kept);
	KUNIT_EXPECT_EQ(test, 1, *(u32 *)kit.kept[0]->rx.head);
	KUNIT_EXPECT_EQ(test, 2, *(u32 *)kit.kept[1]->rx.head);
	kfi_rx_done(&kit.kept[0]->rx);
	kit_await_kept(test, 3);
	KUNIT_EXPECT_PTR_EQ(test, kit.kept[0], kit.kept[2]);
	KUNIT_EXPECT_EQ(test, 3, *(u32 *)kit.kept[2]->rx.head);
	KUNIT_EXPECT_EQ(test, 0, kit.clients[0].lost);
}

/* The other receive is posted, but the connection is not open yet. */
static void kit_back_in_connect(struct kunit *test)
{
	kit_keep_one(test);
	kit.back = kit.kept[0];
	KUNIT_ASSERT_EQ(test, 0, kit_connect(0));
	kit_expect_both(test);
}

static void kit_replied(struct kfi_rw *rw, int err)
{
	struct kit_kept *kept = container_of(rw, struct kit_kept, rw);

	kept->err = err;
	kfi_rx_done(&kept->rx);
}

static void kit_expect_reply(struct kunit *test, struct kit_kept *kept, int err)
{
	static const struct kit_msg answer = { .tag = 4 };

	kept->err = 1;
	kept->rw.done = kit_replied;
	kfi_rw_reply(&kept->rw, NULL, 0, &answer, sizeof(answer), false);
	KUNIT_EXPECT_EQ(test, err, kept->err);
}

/* An answer to the peer of a former connection goes nowhere. The next connection works. */
static void kit_reply_late(struct kunit *test)
{
	kit_keep_one(test);
	KUNIT_ASSERT_EQ(test, 0, kit_connect(0));
	kit_expect_reply(test, kit.kept[0], -ESHUTDOWN);
	kit_expect_both(test);
	KUNIT_EXPECT_PTR_EQ(test, NULL, READ_ONCE(kit.cmd));
	kit_expect_reply(test, kit.kept[1], 0);
	KUNIT_EXPECT_TRUE(test, fake_soon(READ_ONCE(kit.cmd)));
	KUNIT_EXPECT_EQ(test, 0, kit.clients[0].lost);
}

/* The time of a request runs out when its connection has ended: the next one is not to blame. */
static void kit_timeout_late(struct kunit *test)
{
	struct kit_client *c = &kit.clients[0];

	KUNIT_ASSERT_EQ(test, 0, kit_connect(0));
	KUNIT_ASSERT_EQ(test, 0, kit_request(0, false, false));
	kfi_conn_stop(&c->conn);
	kfi_req_fail(&kit.rqs[0].req, -ETIMEDOUT);
	KUNIT_ASSERT_EQ(test, 0, kit_connect(0));
	kfi_req_fail(&kit.rqs[0].req, -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, 0, c->lost);
	KUNIT_ASSERT_EQ(test, 0, kit_request(0, false, false));
	kfi_req_fail(&kit.rqs[0].req, -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, 1, c->lost);
}

/* ---- connections ---- */

/* Who asks for the name of a connection does not wait for its connect. */
static void kit_name_connecting(struct kunit *test)
{
	u8 name[64];
	size_t len = sizeof(name);

	kit.ask_name = true;
	KUNIT_EXPECT_EQ(test, 0, kit_connect(0));
	KUNIT_EXPECT_EQ(test, -ENOTCONN, kit.name_err);
	KUNIT_EXPECT_EQ(test, 0, kfi_conn_name(&kit.clients[0].conn, name, &len));
}

/* Objects are used again if they fit, and only then. */
static void kit_reopened(struct kunit *test)
{
	struct kfi_conn *conn = &kit.clients[0].conn;
	size_t ms, len = sizeof(ms);
	struct kfid_ep *ep;

	kit.lie = &kit_truth;
	KUNIT_ASSERT_EQ(test, 0, kit_connect(0));
	ep = conn->ep;
	kfi_conn_stop(conn);
	KUNIT_ASSERT_EQ(test, 0, kit_connect(0));
	KUNIT_EXPECT_PTR_EQ(test, ep, conn->ep);
	kfi_conn_stop(conn);
	/* a smaller endpoint, then the first size again, for which there is memory */
	kit.client.where = KFI_CONN_WORK;
	kit.client.depth = 2;
	KUNIT_ASSERT_EQ(test, 0, kit_connect(0));
	kfi_conn_stop(conn);
	kit.client.depth = KIT_DEPTH;
	KUNIT_ASSERT_EQ(test, 0, kit_connect(0));
	KUNIT_EXPECT_GE(test, conn->info->tx_attr->size, 2 * KIT_DEPTH);
	KUNIT_ASSERT_NOT_NULL(test, conn->mrs[KIT_DEPTH - 1]);
	KUNIT_ASSERT_EQ(test, 0, kit_request(KIT_DEPTH - 1, true, false));
	KUNIT_EXPECT_TRUE(test, fake_soon(READ_ONCE(kit.rqs[KIT_DEPTH - 1].done)));
	kfi_conn_stop(conn);
	kit.client.timeout_ms = 1234;
	KUNIT_ASSERT_EQ(test, 0, kit_connect(0));
	KUNIT_EXPECT_EQ(test, 0, kfi_getopt(&conn->ep->fid, KFI_OPT_ENDPOINT,
					    KFI_OPT_OP_TIMEOUT_MS, &ms, &len));
	KUNIT_EXPECT_EQ(test, 1234, ms);
}

#include "ulp_opens.h"

/* ---- callers ---- */

static bool kit_alone_lost(unsigned int lost)
{
	unsigned int i;

	for (i = 0; i < KIT_CLIENTS && !!READ_ONCE(kit.clients[i].lost) == (i == lost); i++)
		;
	return i == KIT_CLIENTS;
}

/* A crowd of silent callers ends its own connections, and not that of another source. */
static void kit_callers_crowd(struct kunit *test)
{
	struct kfi_conn *srv[4];
	unsigned int i;

	kit.server.first = 1;
	kit.server.spare = 0;
	kit.listener.max_unready = 3 * KIT_DEPTH;
	for (i = 0; i < 4; i++) {
		KUNIT_ASSERT_EQ(test, 0, kit_connect(i));
		srv[i] = kit.srv;
		srv[0]->source.s6_addr[0] = 0x20;
	}
	KUNIT_EXPECT_TRUE(test, fake_soon(kit_alone_lost(1)));
	KUNIT_EXPECT_EQ(test, 0, kfi_conn_ready(srv[0]));
	KUNIT_EXPECT_EQ(test, 0, kfi_conn_ready(srv[3]));
	/* those that are ready do not count */
	KUNIT_ASSERT_EQ(test, 0, kit_connect(4));
	KUNIT_ASSERT_EQ(test, 0, kit_connect(5));
	msleep(20);
	KUNIT_EXPECT_TRUE(test, kit_alone_lost(1));
}

/* While releases take long, no more callers than twice the limit are accepted. */
static void kit_callers_bounded(struct kunit *test)
{
	unsigned int i;

	kit.server.first = 1;
	kit.server.spare = 0;
	kit.listener.max_unready = 3 * KIT_DEPTH;
	kit.hold = true;
	for (i = 0; i < 6; i++)
		KUNIT_ASSERT_EQ(test, 0, kit_connect(i));
	KUNIT_EXPECT_EQ(test, -ECONNREFUSED, kit_connect(6));
	kit.hold = false;
	wake_up_all(&kit.held);
	KUNIT_EXPECT_TRUE(test, fake_soon(atomic_read(&kit.released) == 3));
	KUNIT_EXPECT_EQ(test, 0, kit_connect(6));
}

/* A caller that is silent ends, one that is ready does not. */
static void kit_caller_silent(struct kunit *test)
{
	kit.server.first = 1;
	kit.listener.ready_ms = 500;
	KUNIT_ASSERT_EQ(test, 0, kit_connect(0));
	KUNIT_EXPECT_EQ(test, 0, kfi_conn_ready(kit.srv));
	KUNIT_ASSERT_EQ(test, 0, kit_connect(1));
	KUNIT_EXPECT_TRUE(test, fake_soon(kit_alone_lost(1)));
}

KFI_SUITE_IN(kfi_ulp, kit_init, kit_exit,
	KUNIT_CASE(kit_lies_end),
	KUNIT_CASE(kit_answer_early),
	KUNIT_CASE(kit_send_refused),
	KUNIT_CASE(kit_answer_foreign),
	KUNIT_CASE(kit_transfers_end),
	KUNIT_CASE(kit_transfer_late),
	KUNIT_CASE(kit_ends_accepted),
	KUNIT_CASE(kit_ends_waiting),
	KUNIT_CASE(kit_stop_waits),
	KUNIT_CASE(kit_kept_over),
	KUNIT_CASE(kit_back_in_connect),
	KUNIT_CASE(kit_reply_late),
	KUNIT_CASE(kit_timeout_late),
	KUNIT_CASE(kit_name_connecting),
	KUNIT_CASE(kit_reopened),
	KUNIT_CASE(kit_dials),
	KUNIT_CASE(kit_opens_alone),
	KUNIT_CASE(kit_walks_alone),
	KUNIT_CASE(kit_domains_paid),
	KUNIT_CASE(kit_domain_closes),
	KUNIT_CASE(kit_domains_shared),
	KUNIT_CASE(kit_callers_crowd),
	KUNIT_CASE(kit_callers_bounded),
	KUNIT_CASE(kit_caller_silent));
