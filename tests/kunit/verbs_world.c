// SPDX-License-Identifier: GPL-2.0
/*
 * verbs_world.c - see verbs_world.h. The sources are compiled into this module, for a provider
 * exports nothing. Some functions of rdma_cm, and the other parts of the provider, are replaced.
 */
#define pr_fmt(fmt) "kfi_verbs: " fmt

#define rdma_create_qp	world_create_qp
#define rdma_destroy_qp	world_destroy_qp

#include "verbs_world.h"
#include "../../providers/verbs/qp.c"
#include "../../providers/verbs/region.c"

/* For region.c the connection is the_conn. It is in no set, where rkey.c looks. */
#define kv_region_conn	world_set_conn
struct kv_conn *world_set_conn(const struct kfi_mr *mr);
#include "../../providers/verbs/rkey.c"
#undef kv_region_conn

#include "../../providers/verbs/sq.c"

struct kfi_proto kv_proto = {
	.params = { .peer_timeout_ms = 10000, .connect_timeout_ms = 10000 },
};
struct workqueue_struct *kv_cm_wq;
struct workqueue_struct *kv_end_wq;
struct workqueue_struct *kv_region_wq;
struct world *the_world;
struct kv_conn *the_conn;

/* ---- in place of others ---- */

int world_create_qp(struct rdma_cm_id *id, struct ib_pd *pd, struct ib_qp_init_attr *attr)
{
	the_world->event = attr->event_handler;
	the_world->context = attr->qp_context;
	attr->cap.max_inline_data = 0;
	id->qp = &the_world->qp;
	return 0;
}

void world_destroy_qp(struct rdma_cm_id *id)
{
}

int kv_cq_open(struct kv_qp *qp, struct kfi_ep *ep, unsigned int ncqe)
{
	return 0;
}

void kv_cq_close(struct kv_qp *qp)
{
}

struct kv_conn *kv_region_conn(const struct kfi_mr *mr)
{
	return the_conn;
}

int kv_pd_open(struct kv_domain *kdom, struct kv_ep *vep)
{
	return 0;
}

bool kv_domain_get(struct kv_domain *kdom)
{
	return true;
}

void kv_domain_put(struct kv_domain *kdom)
{
}

/* ---- the device ---- */

static int device_post_send(struct ib_qp *qp, const struct ib_send_wr *wr,
			    const struct ib_send_wr **bad)
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

static int device_post_recv(struct ib_qp *qp, const struct ib_recv_wr *wr,
			    const struct ib_recv_wr **bad)
{
	struct world *w = container_of(qp, struct world, qp);

	if (WARN_ON(w->nrecvs == WRS))
		return -ENOMEM;
	w->recv[w->nrecvs++] = wr->wr_cqe;
	return 0;
}

static void device_drain(struct ib_qp *qp)
{
}

static struct ib_mr *device_alloc_mr(struct ib_pd *pd, enum ib_mr_type type, u32 pages)
{
	static u32 key;
	struct ib_mr *mr = kzalloc(sizeof(*mr), GFP_KERNEL);

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
		w->refs[w->nderegs] = refcount_read(&w->mr.uses);
	w->nderegs++;
	kfree(mr);
	return 0;
}

static int device_set_page(struct ib_mr *mr, u64 addr)
{
	return 0;
}

static int device_map_mr_sg(struct ib_mr *mr, struct scatterlist *sg, int nents,
			    unsigned int *offset)
{
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

void device_report(struct world *w, unsigned int i, enum ib_wc_status status)
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
	w->id.device = w->ib;
	w->kdom.ib = w->ib;
	w->kdom.pd = &w->pd;
	w->vep.pd = &w->pd;
	w->kdom.max_send_sge = KV_SGE;
	w->kdom.max_recv_sge = 1;
	w->kdom.max_sge_rd = KV_SGE;
	w->kdom.max_frmr_pages = 1;
	w->kdom.max_key_pages = 16;
	w->kdom.max_receives = OPS;
	w->kdom.max_wr_size = SZ_1G;
	w->kdom.responder_resources = 4;
	w->kdom.initiator_depth = 4;
	INIT_LIST_HEAD(&w->kdom.regions);
	spin_lock_init(&w->kdom.regions_lock);
}

static void open_ep(struct world *w)
{
	struct kfi_ep *ep = &w->vep.pe.ep;

	w->ep_attr.type = KFI_EP_MSG;
	w->info.ep_attr = &w->ep_attr;
	ep->type = KFI_EP_MSG;
	ep->info = &w->info;
	ep->domain = &w->kdom.domain;
	ep->rx.depth = OPS;
	ep->stats = alloc_percpu(struct kfi_stats);
	KUNIT_ASSERT_NOT_NULL(w->test, ep->stats);
	spin_lock_init(&w->vep.reg_lock);
	INIT_LIST_HEAD(&w->vep.reg_queue);
	spin_lock_init(&w->vep.rq.lock);
	INIT_LIST_HEAD(&w->vep.rq.waiting);
}

struct world *world_open(struct kunit *test)
{
	struct world *w = kfi_test_zalloc(test, sizeof(*w));

	the_world = w;
	w->test = test;
	w->mem = (void *)__get_free_pages(GFP_KERNEL, 1);
	KUNIT_ASSERT_NOT_NULL(test, w->mem);
	kv_cm_wq = alloc_workqueue("kfi_verbs_test", WQ_UNBOUND, 0);
	KUNIT_ASSERT_NOT_NULL(test, kv_cm_wq);
	kv_end_wq = kv_cm_wq;
	kv_region_wq = alloc_workqueue("kfi_region_test", WQ_UNBOUND, 0);
	KUNIT_ASSERT_NOT_NULL(test, kv_region_wq);
	open_device(w);
	open_ep(w);
	return w;
}

void world_close(struct world *w)
{
	destroy_workqueue(kv_region_wq);
	destroy_workqueue(kv_cm_wq);
	free_percpu(w->vep.pe.ep.stats);
	ib_dealloc_device(w->ib);
	free_pages((unsigned long)w->mem, 1);
	the_conn = NULL;
}

/* ---- regions ---- */

struct kv_region *open_region(struct world *w)
{
	struct kvec *kvec = kfi_test_zalloc(w->test, sizeof(*kvec));
	struct kv_region *region;

	*kvec = (struct kvec){ w->mem, MEM };
	w->kdom.domain.prov_keys = true;
	w->mr.domain = &w->kdom.domain;
	w->mr.ep = &w->vep.pe.ep;
	w->mr.len = MEM;
	w->mr.access = KFI_REMOTE_READ | KFI_REMOTE_WRITE;
	spin_lock_init(&w->mr.lease_lock);
	INIT_LIST_HEAD(&w->mr.leases);
	refcount_set(&w->mr.uses, 2);	/* the case sees when the other one goes */
	iov_iter_kvec(&w->mr.iter, ITER_SOURCE, kvec, 1, MEM);
	KUNIT_ASSERT_EQ(w->test, 0, kv_mr_open(&w->mr));
	KUNIT_ASSERT_EQ(w->test, 0, kv_mr_bind(&w->mr));
	region = w->mr.priv;
	KUNIT_ASSERT_NOT_NULL(w->test, region);
	return region;
}

void owner_ends(struct world *w)
{
	rcu_read_lock();
	KUNIT_EXPECT_TRUE(w->test, kv_mr_end(&w->mr));
	rcu_read_unlock();
}

void expect_ended(struct world *w, unsigned int nderegs)
{
	unsigned int i;

	KUNIT_EXPECT_EQ(w->test, nderegs, w->nderegs);
	for (i = 0; i < min(w->nderegs, OPS); i++)
		KUNIT_EXPECT_EQ(w->test, 2, w->refs[i]);
	KUNIT_EXPECT_EQ(w->test, 1, refcount_read(&w->mr.uses));
}
