/* SPDX-License-Identifier: GPL-2.0 */
/*
 * verbs_world.h - a connection of kfi_verbs, all of it real, beside a device that does nothing before a case says so, and without the
 * endpoint, rdma_cm and kfi.ko's queues. For one test: it brings the sources of the provider along.
 */
#ifndef _KFI_KUNIT_VERBS_WORLD_H
#define _KFI_KUNIT_VERBS_WORLD_H

#define pr_fmt(fmt) "kfi_verbs: " fmt

#include <kunit/test.h>

/* Other tests of this module have these, or something in their place. */
#define kv_ask_later	conn_test_ask_later
#define kv_got_key	conn_test_got_key
#define kv_grow		conn_test_grow
#define kv_key_find	conn_test_key_find
#define kv_key_rkey	conn_test_key_rkey
#define kv_keys_old	conn_test_keys_old
#define kv_put_packet	conn_test_put_packet
/* ... and these are in place of kfi.ko's and rdma_cm's. */
#define kfi_home_stays	conn_test_home
#define kfi_home_unlist	conn_test_home
#define kfi_home_unpublish conn_test_home
#define __kfi_tx_complete	conn_test_told
#define rdma_destroy_id	conn_test_destroy_id
#define rdma_destroy_qp	conn_test_destroy_qp
#define rdma_disconnect	conn_test_disconnect

#include <linux/irq_work.h>
#include "fixture.h"
#include "../../kfi/cq.h"
#include "../../providers/verbs/atomic.c"
#include "../../providers/verbs/auth.c"
#include "../../providers/verbs/plain.c"
#include "../../providers/verbs/cm.c"
#include "../../providers/verbs/commit.c"
#include "../../providers/verbs/conn.c"
#include "../../providers/verbs/cq.c"
#include "../../providers/verbs/drain.c"
#include "../../providers/verbs/frmr.c"
#include "../../providers/verbs/held.c"
#include "../../providers/verbs/key.c"
#include "../../providers/verbs/qp.c"
#include "../../providers/verbs/rdv.c"
#include "../../providers/verbs/region.c"
#include "../../providers/verbs/rkey.c"
#include "../../providers/verbs/rma.c"
#include "../../providers/verbs/rx.c"
#include "../../providers/verbs/slot.c"
#include "../../providers/verbs/sq.c"
#include "../../providers/verbs/told.c"
#include "../../providers/verbs/tx.c"

unsigned int kv_window = 64;
unsigned int kv_answers = 64;
unsigned int kv_connect_timeout_ms = 10000;
unsigned int kv_keepalive_s = 5;
unsigned int kv_timeout_ms = 10000;
unsigned int kv_backlog = 512;
unsigned int kv_held_max = 8192;
unsigned int kv_drain_ms = 60000;
struct workqueue_struct *kv_cm_wq;
struct workqueue_struct *kv_region_wq;
struct workqueue_struct *kv_commit_wq;

#define WRS	64
#define OPS	4
#define MEM	(2 * PAGE_SIZE)

/**
 * struct world - a connection, its device, and what they have heard
 * @kfi:	around it; of its objects the queue alone
 * @mem:	MEM bytes of a consumer's
 * @wr: @nwr:	what the device was given; @signalled: what it is to report; @refuse: what it says to the next that it is given, once
 * @room: @pieces:	of the last receive that it was given
 * @told:	operations that have ended, with @err; each has a place in the pool of the endpoint, and @mem of its own
 * @lost:	ends of the connection that were begun
 * @draining:	called while the device gives back what it had
 * @mapping:	called while the device maps memory
 * @poor:	it has no registrations to give
 * @dereg:	called before the device forgets a registration, the @nderegs th; @unsettled: who waited for the region's end then
 * @waited:	packets still waited for room when the identifier went
 */
struct world {
	struct kunit		*test;
	struct kfi_world	*kfi;
	struct ib_device	*ib;
	struct ib_pd		pd;
	struct ib_qp		qp;
	struct kv_domain	kdom;
	struct kv_ep		vep;
	struct kv_conn		*conn;
	void			*mem;
	struct ib_cqe		*wr[WRS];
	bool			signalled[WRS];
	enum ib_wr_opcode	opcode[WRS];
	unsigned int		nwr;
	int			refuse;
	u32			room;
	unsigned int		pieces;
	unsigned int		told[OPS];
	int			err[OPS];
	atomic_t		lost;
	void			(*draining)(struct world *w);
	void			(*mapping)(struct world *w);
	bool			poor;
	void			(*dereg)(struct world *w, struct ib_mr *mr);
	unsigned int		nderegs;
	unsigned int		unsettled[OPS];
	bool			waited;
	struct kfi_mr		mr;
	struct completion	reached;
};

/* One case at a time. */
static struct world *the_world;

/* ---- in place of others ---- */

void conn_test_home(struct kfi_peer_conn *pc)
{
}

void conn_test_told(struct kfi_oper *op, int err)
{
	the_world->told[op->index]++;
	the_world->err[op->index] = err;
}

void conn_test_destroy_id(struct rdma_cm_id *id)
{
	the_world->waited |= !list_empty(&the_world->conn->space.link);
}

void conn_test_destroy_qp(struct rdma_cm_id *id)
{
}

int conn_test_disconnect(struct rdma_cm_id *id)
{
	return 0;
}

int kv_rdm_tx(struct kv_ep *vep, struct kfi_oper *op)
{
	kv_tx_post(the_world->conn, op);
	return 0;
}

struct kfi_prov_ops kv_msg_ops;

struct kv_conn *kv_msg_way(struct kv_ep *vep)
{
	return the_world->conn;
}

bool kv_rdm_accepted(struct kv_conn *conn)
{
	return true;
}

int kv_rdm_admit(struct kv_conn *conn)
{
	return 0;
}

void kv_rdm_ready(struct kv_conn *conn)
{
}

void kv_conn_named(struct kv_conn *conn)
{
}

void kv_rdm_lost(struct kv_conn *conn, int err)
{
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

bool kv_domain_get(struct kv_domain *kdom)
{
	return true;
}

void kv_domain_put(struct kv_domain *kdom)
{
}

/* ---- the device ---- */

static int device_post_send(struct ib_qp *qp, const struct ib_send_wr *wr, const struct ib_send_wr **bad)
{
	struct world *w = container_of(qp, struct world, qp);
	int ret = w->refuse;

	w->refuse = 0;
	for (; wr && !ret; wr = wr->next) {
		if (WARN_ON(w->nwr == WRS))
			return -ENOMEM;
		w->wr[w->nwr] = wr->wr_cqe;
		w->opcode[w->nwr] = wr->opcode;
		w->signalled[w->nwr++] = wr->send_flags & IB_SEND_SIGNALED;
	}
	return ret;
}

static int device_post_recv(struct ib_qp *qp, const struct ib_recv_wr *wr, const struct ib_recv_wr **bad)
{
	struct world *w = container_of(qp, struct world, qp);
	int i;

	w->room = 0;
	w->pieces = wr->num_sge;
	for (i = 0; i < wr->num_sge; i++)
		w->room += wr->sg_list[i].length;
	return 0;
}

static void device_drain(struct ib_qp *qp)
{
	struct world *w = container_of(qp, struct world, qp);

	if (w->draining)
		w->draining(w);
}

static struct ib_mr *device_alloc_mr(struct ib_pd *pd, enum ib_mr_type type, u32 pages)
{
	static u32 key;
	struct ib_mr *mr = READ_ONCE(the_world->poor) ? NULL : kzalloc(sizeof(*mr), GFP_KERNEL);

	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->rkey = ++key << 8;
	mr->lkey = mr->rkey;
	return mr;
}

static int device_dereg_mr(struct ib_mr *mr, struct ib_udata *udata)
{
	struct world *w = the_world;

	if (w->nderegs < OPS)
		w->unsettled[w->nderegs++] = refcount_read(&w->mr.persists);
	if (w->dereg)
		w->dereg(w, mr);
	kfree(mr);
	return 0;
}

static int device_set_page(struct ib_mr *mr, u64 addr)
{
	return 0;
}

static int device_map_mr_sg(struct ib_mr *mr, struct scatterlist *sg, int nents, unsigned int *offset)
{
	if (the_world->mapping)
		the_world->mapping(the_world);
	return ib_sg_to_pages(mr, sg, nents, offset, device_set_page);
}

static const struct ib_device_ops device_ops = {
	.owner		= THIS_MODULE,
	.driver_id	= RDMA_DRIVER_UNKNOWN,
	.post_send	= device_post_send,
	.post_recv	= device_post_recv,
	.drain_sq	= device_drain,
	.drain_rq	= device_drain,
	.alloc_mr	= device_alloc_mr,
	.dereg_mr	= device_dereg_mr,
	.map_mr_sg	= device_map_mr_sg,
};

/* The device reports one that it was given, if it was to. It says nothing of others, and they have ended with it. */
static void device_report(struct world *w, unsigned int i, enum ib_wc_status status)
{
	struct ib_wc wc = { .wr_cqe = w->wr[i], .status = status };

	KUNIT_ASSERT_LT(w->test, i, w->nwr);
	if (!w->signalled[i] && !status)
		return;
	local_bh_disable();
	w->wr[i]->done(NULL, &wc);
	local_bh_enable();
}

/* ---- the world ---- */

static void conn_lost(struct work_struct *work)
{
	struct kv_conn *conn = container_of(work, struct kv_conn, down_work);

	atomic_inc(&the_world->lost);
	kv_conn_put(conn);
}

static void step_none(struct work_struct *work)
{
}

struct world_device {
	struct ib_device	ib;
};

static void open_device(struct world *w)
{
	struct world_device *dev = ib_alloc_device(world_device, ib);

	KUNIT_ASSERT_NOT_NULL(w->test, dev);
	w->ib = &dev->ib;
	w->ib->ops = device_ops;
	w->pd.device = w->ib;
	w->qp.device = w->ib;
	w->kdom.ib = w->ib;
	w->kdom.pd = &w->pd;
	w->kdom.max_send_sge = KV_SGE;
	w->kdom.max_recv_sge = 2;
	w->kdom.max_sge_rd = KV_SGE;
	w->kdom.max_frmr_pages = 1;
	INIT_LIST_HEAD(&w->kdom.regions);
	spin_lock_init(&w->kdom.regions_lock);
}

static void open_ep(struct world *w)
{
	struct kfi_ep *ep = &w->vep.ep;

	ep->type = KFI_EP_MSG;
	ep->domain = &w->kdom.domain;
	ep->stats = w->kfi->ep.stats;
	ep->rx_cq = w->kfi->ep.rx_cq;
	ep->tx.depth = OPS;
	ep->tx.stride = sizeof(struct kfi_oper);
	ep->tx.mem = kunit_kcalloc(w->test, OPS, sizeof(struct kfi_oper), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(w->test, ep->tx.mem);
	init_waitqueue_head(&w->vep.home.idle);
	spin_lock_init(&w->vep.fresh_lock);
	INIT_LIST_HEAD(&w->vep.fresh);
}

/* READY, with receives for what may come and credit for what may go. */
static void open_conn(struct world *w)
{
	struct kv_conn *conn = kv_conn_new(&w->vep, NULL);

	KUNIT_ASSERT_NOT_NULL(w->test, conn);
	w->conn = conn;
	INIT_WORK(&conn->down_work, conn_lost);
	INIT_WORK(&conn->step_work, step_none);
	conn->kdom = &w->kdom;
	conn->qp = &w->qp;
	conn->id = kunit_kzalloc(w->test, sizeof(*conn->id), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(w->test, conn->id);
	conn->mtu = 4096;
	conn->reads_max = 4;
	conn->greeting = (struct kvw_greeting){
		.version = KVW_VERSION, .window = { 64, 64, 64 }, .answers = 64, .packet = KVW_PACKET,
	};
	conn->keys = kvcalloc(KV_KEYS, sizeof(*conn->keys), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(w->test, conn->keys);
	KUNIT_ASSERT_EQ(w->test, 0, kv_sq_create(conn));
	KUNIT_ASSERT_EQ(w->test, 0, kv_slots_create(conn));
	kv_conn_open(conn);
	conn->state = KV_READY;
}

static struct world *world_open(struct kunit *test)
{
	struct world *w = kunit_kzalloc(test, sizeof(*w), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, w);
	the_world = w;
	w->test = test;
	init_completion(&w->reached);
	w->mem = (void *)__get_free_pages(GFP_KERNEL, 1);
	KUNIT_ASSERT_NOT_NULL(test, w->mem);
	kv_cm_wq = alloc_workqueue("kfi_conn_test", WQ_UNBOUND, 0);
	KUNIT_ASSERT_NOT_NULL(test, kv_cm_wq);
	kv_region_wq = alloc_workqueue("kfi_region_test", WQ_UNBOUND, 0);
	KUNIT_ASSERT_NOT_NULL(test, kv_region_wq);
	w->kfi = kfi_world_open(test, NULL);
	open_device(w);
	open_ep(w);
	open_conn(w);
	return w;
}

static void world_close(struct world *w)
{
	struct kv_conn *conn = w->conn;

	cancel_delayed_work_sync(&conn->deadline);
	cancel_delayed_work_sync(&conn->more_work);
	destroy_workqueue(kv_region_wq);
	destroy_workqueue(kv_cm_wq);
	kv_slots_unmap(conn);
	kv_qp_free(conn);
	kv_conn_put(conn);
	ib_dealloc_device(w->ib);
	kfi_world_close(w->kfi);
	free_pages((unsigned long)w->mem, 1);
}

/* An operation on @len bytes, posted. */
static void post(struct world *w, unsigned int i, u8 code, size_t len, u64 flags, struct kfi_rma_iov *rma, u16 rma_count)
{
	struct kfi_oper *op = kfi_tx_by_index(&w->vep.ep, i);

	op->priv = op->priv ?: kunit_kzalloc(w->test, sizeof(struct kv_op), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(w->test, op->priv);
	op->index = i;
	op->gen = 7;
	op->ep = &w->vep.ep;
	op->code = code;
	op->flags = flags;
	op->len = len;
	op->rma = rma;
	op->rma_count = rma_count;
	op->iov.kvec[0] = (struct kvec){ w->mem, len };
	iov_iter_kvec(&op->iter, ITER_SOURCE, op->iov.kvec, 1, len);
	rcu_read_lock_bh();
	KUNIT_ASSERT_EQ(w->test, 0, kv_tx(&w->vep.ep, op));
	rcu_read_unlock_bh();
}

/* The queue pair has gone; what is left ends. */
static void flush(struct world *w)
{
	set_bit(KV_DEAD, &w->conn->flags);
	kv_tx_flush_all(w->conn, -ESHUTDOWN);
}

/* ---- RMA ---- */

/* Of a region of PAGE_SIZE bytes the first @known. */
static void know(struct world *w, unsigned int i, u64 known)
{
	w->conn->keys[i] = (struct kv_key){
		.key = i + 1, .state = KV_KEY_KNOWN, .rights = KVW_K_READ | KVW_K_WRITE, .len = PAGE_SIZE, .end = known, .count = 1,
		.desc[0] = { .addr = SZ_1M, .len = known, .rkey = 1 },
	};
}

/* On iWARP, with as many sinks as READs may be under way; each takes a page. */
static struct world *open_reader(struct kunit *test, unsigned int reads)
{
	struct world *w = world_open(test);
	LIST_HEAD(spare);

	w->kdom.iwarp = true;
	w->conn->reads_max = reads;
	KUNIT_ASSERT_EQ(test, 0, kv_frmrs_alloc(w->conn));
	while (w->conn->nfrmrs[KV_POOL_SINKS] > reads)
		kv_frmr_take(w->conn, KV_POOL_SINKS, &spare);
	list_del(&spare);
	know(w, 0, PAGE_SIZE);
	know(w, 1, PAGE_SIZE);
	return w;
}

/* The memory of those that have ended in error is the peer's until the registrations have gone: nothing follows them, and nobody is told. */
static void close_reader(struct world *w, unsigned int nwr, unsigned int n)
{
	unsigned int i;

	KUNIT_EXPECT_EQ(w->test, nwr, w->nwr);
	for (i = 0; i < n; i++)
		KUNIT_EXPECT_EQ(w->test, 0, w->told[i]);
	kv_frmrs_dereg(w->conn);
	flush(w);
	for (i = 0; i < n; i++) {
		KUNIT_EXPECT_EQ(w->test, 1, w->told[i]);
		KUNIT_EXPECT_LT(w->test, w->err[i], 0);
	}
	world_close(w);
}

#endif /* _KFI_KUNIT_VERBS_WORLD_H */
