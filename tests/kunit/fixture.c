// SPDX-License-Identifier: GPL-2.0
/*
 * The world of the unit tests, see fixture.h.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include "fixture.h"
#include "../../kfi/av.h"
#include "../../kfi/pool.h"

static void world_matched(struct kfi_ep *ep, struct kfi_rx *rx)
{
	struct kfi_world *w = container_of(ep, struct kfi_world, ep);

	bool held = false;

	atomic_inc(&w->matched);
	spin_lock_bh(&w->hold_lock);
	if (w->hold && w->nr_held < ARRAY_SIZE(w->held)) {
		w->held[w->nr_held++] = rx;
		held = true;
	}
	spin_unlock_bh(&w->hold_lock);
	if (!held)
		kfi_rx_complete(rx, 0);
}

static void world_drop(struct kfi_ep *ep, struct kfi_rx *rx)
{
	struct kfi_world *w = container_of(ep, struct kfi_world, ep);

	atomic_inc(&w->dropped);
}

static int world_resolve(struct kfi_domain *domain, const char *node, const char *service,
			 void *addr)
{
	u64 n, s = 0;

	if (kstrtou64(node, 0, &n) || (service && kstrtou64(service, 0, &s)))
		return -EINVAL;
	n = n << 32 | s;
	memcpy(addr, &n, sizeof(n));
	return sizeof(n);
}

/* Address 0 is invalid. */
static int world_addr_check(struct kfi_domain *domain, u32 format, const void *addr)
{
	return memchr_inv(addr, 0, KFI_WORLD_ADDRLEN) ? 0 : -EINVAL;
}

static void make_domain(struct kfi_world *w, const struct kfi_world_opts *opts)
{
	w->ops.rx_matched = world_matched;
	w->ops.rx_drop = world_drop;
	w->ops.resolve = world_resolve;
	w->ops.addr_check = world_addr_check;
	w->prov.name = "world";
	spin_lock_init(&w->hold_lock);
	w->prov.ops = &w->ops;
	w->fabric.prov = &w->prov;
	w->fabric.fid.fid.fclass = KFI_CLASS_FABRIC;
	kfi_obj_init(&w->fabric.obj);
	mutex_init(&w->fabric.lock);
	w->domain_attr.mr_mode = opts->mr_mode;
	w->domain_attr.mr_key_size = opts->key_size;
	w->info.domain_attr = &w->domain_attr;
	w->domain.fid.fid.fclass = KFI_CLASS_DOMAIN;
	w->domain.fabric = &w->fabric;
	w->domain.info = &w->info;
	w->domain.addrlen = KFI_WORLD_ADDRLEN;
	w->domain.limits.numa_node = NUMA_NO_NODE;
	mutex_init(&w->domain.lock);
	xa_init(&w->domain.mems);
	INIT_LIST_HEAD(&w->domain.eps);
	INIT_LIST_HEAD(&w->domain.regions);
	kfi_obj_init(&w->domain.obj);
	KUNIT_ASSERT_EQ(w->test, 0, kfi_mr_table_init(&w->domain));
}

static void make_ep(struct kfi_world *w, const struct kfi_world_opts *opts)
{
	struct kfi_av_attr av_attr = { .type = KFI_AV_TABLE, .rx_ctx_bits = 8 };
	struct kfi_cq_attr cq_attr = {
		.size = opts->cq_size ?: 1024,
		.format = KFI_CQ_FORMAT_TAGGED,
		.wait_obj = KFI_WAIT_NONE,
	};
	u32 depth = opts->depth ?: 256;
	struct kfi_ep *ep = &w->ep;

	KUNIT_ASSERT_EQ(w->test, 0, kfi_cq_open(&w->domain.fid, &cq_attr, &w->cq, NULL, NULL));
	KUNIT_ASSERT_EQ(w->test, 0, kfi_av_open(&w->domain.fid, &av_attr, &w->av, NULL));
	ep->fid.fid.fclass = KFI_CLASS_EP;
	ep->domain = &w->domain;
	ep->ops = &w->ops;
	ep->type = KFI_EP_RDM;
	ep->caps = opts->caps ?: KFI_MSG | KFI_TAGGED | KFI_SOURCE | KFI_DIRECTED_RECV;
	ep->rx_cq = kfi_to_cq(w->cq);
	ep->av = kfi_to_av(w->av);
	kfi_obj_init(&ep->obj);
	mutex_init(&ep->lock);
	init_waitqueue_head(&ep->drained);
	ep->stats = alloc_percpu(struct kfi_stats);
	KUNIT_ASSERT_NOT_NULL(w->test, ep->stats);
	KUNIT_ASSERT_EQ(w->test, 0, kfi_pool_init(&ep->rx, ep, depth, 4, 0, 0, 0));
	KUNIT_ASSERT_EQ(w->test, 0, kfi_match_init(&ep->match, depth, true));
}

struct kfi_world *kfi_world_open(struct kunit *test, const struct kfi_world_opts *opts)
{
	static const struct kfi_world_opts plain;
	struct kfi_world *w = kfi_test_zalloc(test, sizeof(*w));

	w->test = test;
	make_domain(w, opts ?: &plain);
	make_ep(w, opts ?: &plain);
	return w;
}

void kfi_world_close(struct kfi_world *w)
{
	struct kunit *test = w->test;

	kfi_match_close(&w->ep, -ECANCELED);
	kfi_match_exit(&w->ep.match);
	KUNIT_EXPECT_EQ(test, 0, kfi_pool_used(&w->ep.rx));
	kfi_pool_exit(&w->ep.rx);
	free_percpu(w->ep.stats);
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&w->cq->fid));
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&w->av->fid));
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&w->domain.obj.users));
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&w->ep.obj.users));
	kfi_mr_table_exit(&w->domain);
}

struct kfi_oper *kfi_world_recv(struct kfi_world *w, u64 kind, void *buf, size_t len, void *context,
				u64 flags)
{
	struct kfi_oper *op = kfi_op_get(&w->ep, &w->ep.rx, w->ep.rx_cq, flags);

	if (IS_ERR(op))
		return NULL;
	op->code = kind & KFI_TAGGED ? KFI_OPC_TRECV : KFI_OPC_RECV;
	op->context = context;
	op->addr = KFI_ADDR_UNSPEC;
	op->tag = 0;
	op->ignore = 0;
	op->len = len;
	op->iov.kvec[0] = (struct kvec){ .iov_base = buf, .iov_len = len };
	iov_iter_kvec(&op->iter, ITER_DEST, op->iov.kvec, 1, len);
	return op;
}

int kfi_world_post(struct kfi_world *w, struct kfi_oper *op)
{
	struct kfi_rx *rx;

	if (!op)
		return -EAGAIN;
	local_bh_disable();
	rx = kfi_match_post(&w->ep, op);
	local_bh_enable();
	if (IS_ERR(rx)) {
		kfi_op_abort(op);
		return PTR_ERR(rx);
	}
	for (; rx; rx = kfi_match_more(&w->ep))
		w->ops.rx_matched(&w->ep, rx);
	return 0;
}

void kfi_world_search_end(struct kfi_world *w)
{
	const struct kfi_match *m = &w->ep.match;

	/* Also if nothing searches any more: the work item may not have delivered yet. */
	do
		flush_work(&w->ep.match.work);
	while (!list_empty_careful(&m->search[0].ops) || !list_empty_careful(&m->search[1].ops));
}

int kfi_post_tag(struct kfi_world *w, u64 tag, u64 ignore, void *context)
{
	struct kfi_oper *op = kfi_world_recv(w, KFI_TAGGED, NULL, 0, context, 0);

	if (op) {
		op->tag = tag;
		op->ignore = ignore;
	}
	return kfi_world_post(w, op);
}

bool kfi_world_entry(struct kfi_world *w, struct kfi_cq_err_entry *wc)
{
	struct kfi_cq_tagged_entry e;
	kfi_addr_t src;
	ssize_t ret;

	memset(wc, 0, sizeof(*wc));
	ret = kfi_cq_readfrom(w->cq, &e, 1, &src);
	if (ret == 1) {
		*wc = (struct kfi_cq_err_entry) { .op_context = e.op_context, .flags = e.flags, .len = e.len,
			.buf = e.buf, .data = e.data, .tag = e.tag, .src_addr = src };
		return true;
	}
	if (ret != -KFI_EAVAIL)
		return false;
	return kfi_cq_readerr(w->cq, wc, 0) == 1;
}

kfi_addr_t kfi_world_peer(struct kfi_world *w, u64 address)
{
	kfi_addr_t handle = KFI_ADDR_NOTAVAIL;

	KUNIT_EXPECT_EQ(w->test, 1, kfi_av_insert(w->av, &address, 1, &handle, 0, NULL));
	return handle;
}

/* ---- memory regions ---- */

struct kfid_mr *kfi_world_region(struct kfi_world *w, void *buf, size_t len, u64 key)
{
	struct kfid_mr *mr = NULL;

	KUNIT_ASSERT_EQ(w->test, 0,
			kfi_mr_reg(&w->domain.fid, buf, len, RW, 0, key, 0, &mr, NULL));
	return mr;
}

bool may(struct kfi_world *w, u64 key, u64 addr, size_t len, u64 access)
{
	struct iov_iter iter;
	struct kfi_mr *mr = kfi_mr_get(&w->ep, key, addr, len, access, &iter);

	if (IS_ERR(mr)) {
		KUNIT_EXPECT_EQ(w->test, -EACCES, (int)PTR_ERR(mr));
		return false;
	}
	KUNIT_EXPECT_EQ(w->test, len, iov_iter_count(&iter));
	kfi_mr_put(mr);
	return true;
}

static void job_done(struct kfi_mr_work *work, int err)
{
	struct job *j = container_of(work, struct job, work);

	j->calls++;
	j->err = err;
	complete(&j->done);
}

void job_init(struct job *j)
{
	*j = (struct job) { .work.done = job_done };
	init_completion(&j->done);
}

int attach_key(struct kfid_mr *mr, void *buf, size_t len, u64 key, struct job *j)
{
	struct kvec iov = { .iov_base = buf, .iov_len = len };
	struct kfi_mr_attr attr = {
		.type = KFI_KVEC, .mr_iov = &iov, .iov_count = 1, .access = RW,
		.requested_key = key,
	};
	int ret;

	job_init(j);
	ret = kfi_mr_register(mr, &attr, &j->work);
	if (!ret)
		wait_for_completion(&j->done);
	return ret;
}

int attach(struct kfid_mr *mr, void *buf, size_t len, struct job *j)
{
	return attach_key(mr, buf, len, KFI_KEY_NOTAVAIL, j);
}

int detach(struct kfid_mr *mr, struct job *j)
{
	int ret;

	job_init(j);
	ret = kfi_mr_invalidate(mr, &j->work);
	if (!ret)
		wait_for_completion(&j->done);
	return ret;
}

MODULE_DESCRIPTION("kfabric: unit tests");
MODULE_LICENSE("GPL");
