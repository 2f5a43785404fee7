// SPDX-License-Identifier: GPL-2.0
/*
 * Connections of MSG endpoints of kfi_verbs, and regions of its domains, when things happen in an
 * order that devices and peers seldom produce. The sources are compiled into this module.
 */
#define pr_fmt(fmt) "kfi_verbs: " fmt

/* In place of those of kfi.ko and rdma_cm */
#define __kfi_tx_complete		conn_test_told
#define kfi_recv_complete		conn_test_received
#define rdma_consumer_reject_data	conn_test_reject_data
#define __rdma_create_kernel_id		conn_test_create_id
#define rdma_bind_addr			conn_test_bind
#define rdma_destroy_id			conn_test_destroy_id
#define rdma_disconnect			conn_test_disconnect
#define rdma_listen			conn_test_listen
#define rdma_lock_handler		conn_test_id_done
#define rdma_reject			conn_test_reject
#define rdma_unlock_handler		conn_test_id_done

#include <linux/irq_work.h>
#include "verbs_world.h"
#include "../../providers/verbs/plain.c"
#include "../../providers/verbs/recv.c"
#include "../../providers/verbs/conn.c"
#include "../../providers/verbs/cm.c"

/* Of msg.c only passive endpoints are tested; below is what connections use instead. */
#define kv_msg_conn			conn_test_msg_conn
#define kv_msg_ready			conn_test_msg_ready
#define kv_msg_was_ready		conn_test_msg_was_ready
#define kv_msg_lost			conn_test_msg_lost
#include "../../providers/verbs/msg.c"
#undef kv_msg_conn
#undef kv_msg_ready
#undef kv_msg_was_ready
#undef kv_msg_lost

struct kfi_prov_ops kv_msg_ops;

/**
 * struct msg - a connection
 * @op: operations, each with @kop
 * @told: operations that have ended, with @err; receives with @len bytes
 * @lost: ends of the connection that were begun
 */
struct msg {
	struct world		*w;
	struct kv_conn		*conn;
	struct kfi_oper		*op[OPS];
	struct kv_op		kop[OPS];
	unsigned int		told[OPS];
	int			err[OPS];
	size_t			len[OPS];
	atomic_t		lost;
};

static struct msg *the_msg;

/**
 * struct host - the devices of a machine, one of which has the address
 * @dev: devices, with so many references
 * @ib: the same, as rdma_cm has them
 * @at: index of the one with the address
 * @err: what a bind returns
 * @ids: identifiers
 */
static struct host {
	struct kv_dev		dev[2];
	unsigned int		refs[2];
	struct ib_device	*ib[2];
	unsigned int		at;
	int			err;
	unsigned int		ids;
} host;

/* ---- in place of others ---- */

void conn_test_told(struct kfi_oper *op, int err)
{
	the_msg->told[op->index]++;
	the_msg->err[op->index] = err;
}

void conn_test_received(struct kfi_oper *op, size_t len, u64 flags, u64 data, int err)
{
	the_msg->len[op->index] = len;
	conn_test_told(op, err);
}

const void *conn_test_reject_data(struct rdma_cm_id *id, struct rdma_cm_event *ev, u8 *data_len)
{
	*data_len = ev->param.conn.private_data_len;
	return ev->param.conn.private_data;
}

int conn_test_reject(struct rdma_cm_id *id, const void *data, u8 len, u8 reason)
{
	return 0;
}

int conn_test_disconnect(struct rdma_cm_id *id)
{
	return 0;
}

void conn_test_id_done(struct rdma_cm_id *id)
{
}

struct rdma_cm_id *conn_test_create_id(struct net *net, rdma_cm_event_handler handler,
				       void *context, enum rdma_ucm_port_space ps,
				       enum ib_qp_type type, const char *caller)
{
	struct rdma_cm_id *id = kzalloc(sizeof(*id), GFP_KERNEL);

	if (!id)
		return ERR_PTR(-ENOMEM);
	id->event_handler = handler;
	id->context = context;
	host.ids++;
	return id;
}

/* The identifier of a connection is a part of its world. */
void conn_test_destroy_id(struct rdma_cm_id *id)
{
	if (id == &the_world->id)
		return;
	host.ids--;
	kfree(id);
}

int conn_test_bind(struct rdma_cm_id *id, struct sockaddr *addr)
{
	memcpy(&id->route.addr.src_addr, addr, sizeof(struct sockaddr_in));
	id->device = host.ib[host.at];
	return host.err;
}

int conn_test_listen(struct rdma_cm_id *id, int backlog)
{
	return 0;
}

struct kv_dev *kv_dev_get(const struct ib_device *ib)
{
	unsigned int i = ib == host.ib[1];

	host.refs[i]++;
	return &host.dev[i];
}

void kv_dev_put(struct kv_dev *dev)
{
	host.refs[dev - host.dev]--;
}

struct kv_conn *kv_msg_conn(struct kv_ep *vep)
{
	return the_conn;
}

void kv_msg_ready(struct kv_conn *conn)
{
}

bool kv_msg_was_ready(struct kv_conn *conn)
{
	return true;
}

void kv_msg_lost(struct kv_conn *conn, int err)
{
}

static void conn_lost(struct work_struct *work)
{
	atomic_inc(&the_msg->lost);
	kv_conn_put(container_of(work, struct kv_conn, down_work));
}

static void step_none(struct work_struct *work)
{
}

/* ---- the connection ---- */

static struct msg *msg_open(struct kunit *test)
{
	struct msg *m = kfi_test_zalloc(test, sizeof(*m));
	unsigned int i;

	for (i = 0; i < OPS; i++)
		m->op[i] = kfi_test_zalloc(test, struct_size(m->op[i], iov.kvec, 1));
	the_msg = m;
	m->w = world_open(test);
	KUNIT_ASSERT_EQ(test, 0, kv_plain_open(&m->w->vep));
	m->conn = kv_conn_new(&m->w->vep);
	KUNIT_ASSERT_NOT_NULL(test, m->conn);
	the_conn = m->conn;
	INIT_WORK(&m->conn->down_work, conn_lost);
	INIT_WORK(&m->conn->qp.step_work, step_none);
	m->conn->qp.kdom = &m->w->kdom;
	kv_cm_take(&m->conn->qp, &m->w->id);
	KUNIT_ASSERT_EQ(test, 0, kv_conn_open(&m->conn->qp));
	cancel_delayed_work_sync(&m->conn->deadline);
	m->conn->qp.state = KV_CM_CONNECTED;
	m->conn->qp.reads_max = 4;
	m->conn->qp.mtu = 4096;
	m->conn->qp.up = true;
	return m;
}

/* The queue pair has gone: what is left ends. */
static void flush(struct msg *m)
{
	m->conn->qp.detached = true;
	kv_tx_flush_all(m->conn, -ESHUTDOWN);
}

static void msg_close(struct msg *m)
{
	struct kv_conn *conn = m->conn;

	flush(m);
	cancel_delayed_work_sync(&conn->deadline);
	cancel_delayed_work_sync(&conn->more_work);
	flush_workqueue(kv_cm_wq);
	kv_rq_stop(conn);
	kv_qp_destroy(&conn->qp);
	kv_qp_free(&conn->qp);
	KUNIT_EXPECT_EQ(m->w->test, 1, refcount_read(&conn->ref));
	kv_conn_put(conn);
	world_close(m->w);
}

/* Post an operation on @len bytes of the world's memory. */
static void post(struct msg *m, unsigned int i, u8 code, size_t len, struct kfi_rma_iov *rma,
		 u16 rma_count)
{
	struct kfi_oper *op = m->op[i];

	op->priv = &m->kop[i];
	op->index = i;
	op->ep = &m->w->vep.pe.ep;
	op->code = code;
	op->flags = KFI_TRANSMIT_COMPLETE;
	op->len = len;
	op->rma = rma;
	op->rma_count = rma_count;
	op->iov.kvec[0] = (struct kvec){ m->w->mem, len };
	iov_iter_kvec(&op->iter, code == KFI_OPC_READ ? ITER_DEST : ITER_SOURCE, op->iov.kvec, 1,
		      len);
	rcu_read_lock_bh();
	KUNIT_ASSERT_EQ(m->w->test, 0, kv_plain_tx(op->ep, op));
	rcu_read_unlock_bh();
}

/* ---- answers ---- */

/* What @answered of the queue pair below returns, and the error that it was ended with */
static int answer, answer_failed;

static int answer_check(struct kv_qp *qp, const void *data, u8 len, bool accepted)
{
	return accepted ? answer : -ECONNREFUSED;
}

static void answer_fail(struct kv_qp *qp, int err)
{
	answer_failed = err;
}

/* A peer that has accepted, with an answer that this side does not take, is disconnected. */
static void answer_is_refused(struct kunit *test)
{
	static const struct kv_qp_ops ops = { .answered = answer_check, .fail = answer_fail };
	static const int rows[] = { 0, -EPROTONOSUPPORT, -ECONNREFUSED };
	struct rdma_cm_event event = { .event = RDMA_CM_EVENT_ESTABLISHED };
	struct msg *m = msg_open(test);
	struct kv_qp *qp = &m->conn->qp;
	const struct kv_qp_ops *before = qp->ops;
	unsigned int i;

	qp->ops = &ops;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		answer = rows[i];
		answer_failed = 0;
		qp->state = KV_CM_CALLING;
		clear_bit(KV_STEP_READY, &qp->steps);
		kv_cm_handler(&m->w->id, &event);
		KUNIT_EXPECT_EQ(test, rows[i], answer_failed);
		KUNIT_EXPECT_EQ(test, !rows[i], test_bit(KV_STEP_READY, &qp->steps));
		KUNIT_EXPECT_EQ(test, KV_CM_CONNECTED, qp->state);
		flush_workqueue(kv_cm_wq);
	}
	qp->ops = before;
	clear_bit(KV_STEP_READY, &qp->steps);
	msg_close(m);
}

/* ---- receives ---- */

static void post_recv(struct msg *m, unsigned int i)
{
	struct kfi_oper *op = m->op[i];
	struct kv_rq *rq = &m->w->vep.rq;

	op->index = i;
	op->ep = &m->w->vep.pe.ep;
	op->len = 512;
	op->iov.kvec[0] = (struct kvec){ m->w->mem + i * 512, op->len };
	iov_iter_kvec(&op->iter, ITER_DEST, op->iov.kvec, 1, op->len);
	spin_lock_bh(&rq->lock);
	KUNIT_EXPECT_EQ(m->w->test, 0, kv_rqe_post(m->conn, op));
	spin_unlock_bh(&rq->lock);
}

/* The device has filled the oldest receive. */
static void filled(struct msg *m, struct ib_wc wc)
{
	wc.wr_cqe = m->w->recv[m->w->came++];
	local_bh_disable();
	wc.wr_cqe->done(NULL, &wc);
	local_bh_enable();
}

/*
 * What comes before rdma_cm knows of the connection waits for it, in order: a message, and what
 * has gone wrong since, whether or not the consumer could be told of the one before the other.
 */
static void held_until_connected(struct kunit *test)
{
	static const struct {
		struct ib_wc wc;
		int err, why;
	} rows[] = {
		{ { .status = IB_WC_LOC_LEN_ERR }, -KFI_ETRUNC, -ESHUTDOWN },
		/* takes a receive, and is no message */
		{ { .opcode = IB_WC_RECV_RDMA_WITH_IMM, .wc_flags = IB_WC_WITH_IMM, .byte_len = 1 },
		  -EPROTO, -EPROTO },
		{ { .status = IB_WC_REM_INV_REQ_ERR }, -EIO, -EIO },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct msg *m = msg_open(test);

		m->conn->qp.up = false;
		post_recv(m, 0);
		post_recv(m, 1);
		post_recv(m, 2);
		filled(m, (struct ib_wc){ .opcode = IB_WC_RECV, .byte_len = 100 });
		KUNIT_EXPECT_TRUE(test, test_bit(KV_STEP_READY, &m->conn->qp.steps));
		filled(m, rows[i].wc);
		KUNIT_EXPECT_EQ(test, 0, m->told[0] + m->told[1]);
		flush_workqueue(kv_cm_wq);
		KUNIT_EXPECT_EQ(test, 1, atomic_read(&m->lost));
		KUNIT_EXPECT_EQ(test, rows[i].why, m->conn->error);
		kv_rq_stop(m->conn);
		kv_rq_lost(m->conn);
		KUNIT_EXPECT_EQ(test, 0, m->err[0]);
		KUNIT_EXPECT_EQ(test, 100, m->len[0]);
		KUNIT_EXPECT_EQ(test, rows[i].err, m->err[1]);
		KUNIT_EXPECT_LT(test, m->err[2], 0);
		msg_close(m);
		KUNIT_EXPECT_EQ(test, 1, m->told[0]);
		KUNIT_EXPECT_EQ(test, 1, m->told[1]);
		KUNIT_EXPECT_EQ(test, 1, m->told[2]);
	}
}

/* A caller that is accepted, and says no more, has the time of a call. */
static void says_no_more(struct kunit *test)
{
	struct msg *m = msg_open(test);
	unsigned int was = kv_proto.params.connect_timeout_ms;

	m->conn->qp.up = false;
	post_recv(m, 0);
	kv_proto.params.connect_timeout_ms = 1;
	kv_conn_deadline(m->conn);
	kv_proto.params.connect_timeout_ms = was;
	flush_delayed_work(&m->conn->deadline);
	flush_workqueue(kv_cm_wq);
	KUNIT_EXPECT_EQ(test, 1, atomic_read(&m->lost));
	KUNIT_EXPECT_EQ(test, -ETIMEDOUT, m->conn->error);
	kv_rq_stop(m->conn);
	kv_rq_lost(m->conn);
	KUNIT_EXPECT_EQ(test, 1, m->told[0]);
	KUNIT_EXPECT_EQ(test, -ETIMEDOUT, m->err[0]);
	msg_close(m);
}

/* ---- RMA ---- */

/* One that ends well stands for all before it, so nothing may follow what the device refused. */
static void post_refused(struct kunit *test)
{
	struct kfi_rma_iov rma = { .len = 512, .key = 1 };
	struct msg *m = msg_open(test);
	struct world *w = m->w;
	unsigned int i;

	for (i = 0; i < 3; i++) {
		w->refuse = i == 1 ? -ENOMEM : 0;
		post(m, i, KFI_OPC_WRITE, 512, &rma, 1);
	}
	spin_lock_bh(&m->conn->qp.lock);
	kv_put_empty_write(&m->conn->qp, KV_SQ_OTHER);
	kv_conn_post(m->conn);
	spin_unlock_bh(&m->conn->qp.lock);
	for (i = w->nwr; i--; )		/* the last first, which stands for the others */
		device_report(w, i, IB_WC_SUCCESS);
	flush_workqueue(kv_cm_wq);
	KUNIT_EXPECT_EQ(test, 1, atomic_read(&m->lost));
	KUNIT_EXPECT_EQ(test, 1, w->nwr);
	flush(m);
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, 1, m->told[i]);
	KUNIT_EXPECT_EQ(test, 0, m->err[0]);
	KUNIT_EXPECT_LT(test, m->err[1], 0);
	KUNIT_EXPECT_LT(test, m->err[2], 0);
	msg_close(m);
}

/*
 * The peer may still reach the memory of a READ that has failed, until the queue pair has gone: its
 * operation ends then, and so do those that wait for their turn, which are not sent any more.
 */
static void reads_end(struct msg *m, unsigned int nwr, unsigned int n)
{
	struct kunit *test = m->w->test;
	unsigned int i;

	KUNIT_EXPECT_EQ(test, nwr, m->w->nwr);
	for (i = 0; i < n; i++)
		KUNIT_EXPECT_EQ(test, 0, m->told[i]);
	flush_workqueue(kv_cm_wq);
	KUNIT_EXPECT_EQ(test, 1, atomic_read(&m->lost));
	KUNIT_EXPECT_EQ(test, -ETIMEDOUT, m->conn->error);
	flush(m);
	for (i = 0; i < n; i++) {
		KUNIT_EXPECT_EQ(test, 1, m->told[i]);
		KUNIT_EXPECT_LT(test, m->err[i], 0);
	}
	KUNIT_EXPECT_EQ(test, -ETIMEDOUT, m->err[0]);
	msg_close(m);
}

static void read_fails(struct kunit *test)
{
	struct kfi_rma_iov rma = { .len = PAGE_SIZE, .key = 1 };
	struct msg *m = msg_open(test);
	unsigned int i;

	m->conn->qp.reads_max = 2;
	for (i = 0; i < OPS; i++)
		post(m, i, KFI_OPC_READ, PAGE_SIZE, &rma, 1);
	KUNIT_ASSERT_EQ(test, 2, m->w->nwr);
	device_report(m->w, 0, IB_WC_RETRY_EXC_ERR);
	device_report(m->w, 1, IB_WC_WR_FLUSH_ERR);
	reads_end(m, 2, OPS);
}

/* READs are each reported: a later one does not stand for an earlier one. */
static void read_overtaken(struct kunit *test)
{
	struct kfi_rma_iov rma = { .len = PAGE_SIZE, .key = 1 };
	struct msg *m = msg_open(test);

	post(m, 0, KFI_OPC_READ, PAGE_SIZE, &rma, 1);
	post(m, 1, KFI_OPC_WRITE, PAGE_SIZE, &rma, 1);
	device_report(m->w, 1, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, 0, m->told[0] + m->told[1]);
	device_report(m->w, 0, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, 1, m->told[0]);
	KUNIT_EXPECT_EQ(test, 1, m->told[1]);
	KUNIT_EXPECT_EQ(test, 0, m->conn->qp.reads);
	msg_close(m);
}

/* ---- regions ---- */

/* The region ends, while the device may still execute its registration. */
static void end_while_registered(struct kunit *test)
{
	struct msg *m = msg_open(test);
	struct world *w = m->w;

	open_region(w);
	KUNIT_EXPECT_EQ(test, 0, kv_mr_enable(&w->mr));
	kv_tx_kick(m->conn);
	KUNIT_ASSERT_EQ(test, 1, w->nwr);
	owner_ends(w);
	flush_workqueue(kv_cm_wq);
	KUNIT_EXPECT_EQ(test, 0, w->nderegs);
	KUNIT_EXPECT_EQ(test, 2, refcount_read(&w->mr.uses));
	device_report(w, 0, IB_WC_SUCCESS);
	flush_workqueue(kv_cm_wq);
	expect_ended(w, 1);
	kv_mr_close(&w->mr);
	msg_close(m);
}

/*
 * A message may name the key of any region that was published before it, so the registrations
 * precede it in the send queue. A published region without a message behind it is not registered
 * yet: both are one chain, and one call of the device.
 */
static void registered_before_message(struct kunit *test)
{
	struct msg *m = msg_open(test);
	struct world *w = m->w;
	struct kv_region *region = open_region(w);

	kv_mr_unbind(&w->mr);		/* kfi.ko can't use the first key */
	KUNIT_ASSERT_EQ(test, 0, kv_mr_bind(&w->mr));
	RCU_INIT_POINTER(w->vep.pe.conn_set.conn, &m->conn->pc);
	post(m, 0, KFI_OPC_SEND, PAGE_SIZE, NULL, 0);
	rcu_read_lock();
	kv_mr_publish(&w->mr, false);
	rcu_read_unlock();
	KUNIT_EXPECT_EQ(test, 1, w->nwr);
	post(m, 1, KFI_OPC_SEND, PAGE_SIZE, NULL, 0);
	KUNIT_ASSERT_EQ(test, 3, w->nwr);
	KUNIT_EXPECT_EQ(test, IB_WR_SEND, w->opcode[0]);
	KUNIT_EXPECT_EQ(test, IB_WR_REG_MR, w->opcode[1]);
	KUNIT_EXPECT_EQ(test, IB_WR_SEND, w->opcode[2]);
	device_report(w, 2, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, 1, m->told[0]);
	KUNIT_EXPECT_EQ(test, 1, m->told[1]);
	KUNIT_EXPECT_EQ(test, KV_REGION_VALID, region->state);
	RCU_INIT_POINTER(w->vep.pe.conn_set.conn, NULL);
	kv_mr_close(&w->mr);
	msg_close(m);
}

/* A long-lived region goes to the next connection, with its key and from whatever the device has done. */
static void next_connection(struct msg *m, struct kv_region *region, u32 key)
{
	struct kunit *test = m->w->test;

	KUNIT_EXPECT_EQ(test, KV_REGION_NEW, region->state);
	KUNIT_ASSERT_FALSE(test, list_empty(&region->reg_node));
	m->conn->qp.broken = false;
	m->conn->qp.detached = false;
	m->w->nwr = 0;
	kv_tx_kick(m->conn);
	KUNIT_ASSERT_EQ(test, 2, m->w->nwr);
	KUNIT_EXPECT_EQ(test, IB_WR_LOCAL_INV, m->w->opcode[0]);
	KUNIT_EXPECT_EQ(test, IB_WR_REG_MR, m->w->opcode[1]);
	KUNIT_EXPECT_EQ(test, key, region->ib->rkey);
	KUNIT_EXPECT_EQ(test, key, m->w->mr.prov_key);
}

static void lost_with_connection(struct kunit *test)
{
	struct msg *m = msg_open(test);
	struct world *w = m->w;
	struct kv_region *region = open_region(w);
	u32 key = w->mr.prov_key;

	KUNIT_EXPECT_EQ(test, 0, kv_mr_enable(&w->mr));
	kv_tx_kick(m->conn);
	KUNIT_ASSERT_EQ(test, 1, w->nwr);
	device_report(w, 0, IB_WC_WR_FLUSH_ERR);
	next_connection(m, region, key);
	flush(m);			/* neither does this one come to it */
	next_connection(m, region, key);
	device_report(w, 1, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, KV_REGION_VALID, region->state);
	KUNIT_EXPECT_TRUE(test, kv_region_invalidated(&w->kdom, key));	/* by the peer */
	next_connection(m, region, key);
	device_report(w, 1, IB_WC_SUCCESS);
	kv_mr_close(&w->mr);
	KUNIT_EXPECT_TRUE(test, list_empty(&w->vep.reg_queue));
	msg_close(m);
}

/* ---- events ---- */

static struct irq_work from_irq;

static void event_comes(struct irq_work *irq)
{
	struct ib_event event = { .event = IB_EVENT_QP_ACCESS_ERR };

	the_world->event(&event, the_world->context);
}

/* Some drivers call in hard interrupt, where a thread may hold any of our locks. For lockdep. */
static void event_in_irq(struct kunit *test)
{
	struct msg *m = msg_open(test);

	spin_lock_bh(&m->conn->qp.lock);
	spin_unlock_bh(&m->conn->qp.lock);
	from_irq = IRQ_WORK_INIT_HARD(event_comes);
	irq_work_queue(&from_irq);
	irq_work_sync(&from_irq);
	flush_workqueue(kv_cm_wq);
	KUNIT_EXPECT_TRUE(test, test_bit(KV_FLUSHED, &m->conn->flags));
	msg_close(m);
}

/* ---- an address that moves to another device, as that of a bond ---- */

static void moved(struct rdma_cm_id *id)
{
	struct rdma_cm_event event = { .event = RDMA_CM_EVENT_ADDR_CHANGE };

	KUNIT_EXPECT_EQ(the_world->test, 0, id->event_handler(id, &event));
}

static void moved_conn(struct kunit *test)
{
	static const struct {
		enum kv_cm_state state;
		int err;
	} rows[] = {
		{ KV_CM_CALLING, -EHOSTUNREACH },
		{ KV_CM_CONNECTED, -ECONNRESET },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct msg *m = msg_open(test);

		m->conn->qp.state = rows[i].state;
		m->conn->qp.up = rows[i].state == KV_CM_CONNECTED;
		moved(&m->w->id);
		flush_workqueue(kv_cm_wq);
		KUNIT_EXPECT_EQ(test, 1, atomic_read(&m->lost));
		KUNIT_EXPECT_EQ(test, rows[i].err, m->conn->error);
		msg_close(m);
	}
}

/*
 * A listener gets an identifier of the device that has the address now, as soon as there is one. It
 * keeps the device before until then, and the close waits for it.
 */
static void moved_listener(struct kunit *test)
{
	struct world *w = world_open(test);
	struct kfi_fabric *fabric = kfi_test_zalloc(test, sizeof(*fabric));
	struct kv_pep *vpep = kfi_test_zalloc(test, sizeof(*vpep));
	struct kv_listener *listener = &vpep->listener;

	memset(&host, 0, sizeof(host));
	host.ib[0] = w->ib;
	host.ib[1] = kfi_test_zalloc(test, sizeof(*host.ib[1]));
	write_pnet(&fabric->net, &init_net);
	mutex_init(&vpep->pep.lock);
	vpep->pep.fabric = fabric;
	vpep->pep.info = &w->info;
	KUNIT_ASSERT_EQ(test, 0, kv_pep_open(&vpep->pep));
	mutex_lock(&vpep->pep.lock);
	KUNIT_ASSERT_EQ(test, 0, kv_pep_listen(&vpep->pep));
	mutex_unlock(&vpep->pep.lock);
	KUNIT_EXPECT_PTR_EQ(test, &host.dev[0], vpep->pep.device);

	host.at = 1;
	host.err = -ENODEV;
	moved(listener->id);
	flush_delayed_work(&listener->again_work);
	KUNIT_EXPECT_PTR_EQ(test, NULL, listener->id);
	KUNIT_EXPECT_PTR_EQ(test, &host.dev[0], vpep->pep.device);
	KUNIT_EXPECT_TRUE(test, delayed_work_pending(&listener->again_work));
	host.err = 0;
	flush_delayed_work(&listener->again_work);
	KUNIT_ASSERT_NOT_NULL(test, listener->id);
	KUNIT_EXPECT_PTR_EQ(test, host.ib[1], listener->id->device);
	KUNIT_EXPECT_PTR_EQ(test, &host.dev[1], vpep->pep.device);
	KUNIT_EXPECT_EQ(test, 0, host.refs[0]);
	KUNIT_EXPECT_FALSE(test, delayed_work_pending(&listener->again_work));

	moved(listener->id);
	vpep->pep.dead = true;
	kv_pep_close(&vpep->pep);
	KUNIT_EXPECT_FALSE(test, delayed_work_pending(&listener->again_work));
	KUNIT_EXPECT_EQ(test, 0, host.ids);
	KUNIT_EXPECT_EQ(test, 0, host.refs[1]);
	world_close(w);
}

KFI_SUITE(kfi_verbs_conn,
	KUNIT_CASE(answer_is_refused),
	KUNIT_CASE(held_until_connected),
	KUNIT_CASE(says_no_more),
	KUNIT_CASE(post_refused),
	KUNIT_CASE(read_fails),
	KUNIT_CASE(read_overtaken),
	KUNIT_CASE(end_while_registered),
	KUNIT_CASE(registered_before_message),
	KUNIT_CASE(lost_with_connection),
	KUNIT_CASE(event_in_irq),
	KUNIT_CASE(moved_conn),
	KUNIT_CASE(moved_listener));
