// SPDX-License-Identifier: GPL-2.0
/* Refusals: their errors, and that they have no effect. */
#include <linux/dma-mapping.h>
#include <linux/scatterlist.h>
#include "harness.h"
#include <kfi_cxi_ext.h>

/* Open an endpoint without bindings. */
static struct node *bare(struct test *t)
{
	struct node *n = test_new(t, struct node);

	if (node_open(t, n, 0, NULL))
		return NULL;
	if (!EXPECT_EQ(t, kfi_endpoint(n->domain, n->info, &n->ep, NULL), 0))
		return NULL;
	test_keep(t, &n->ep->fid);
	return n;
}

static void missing_queues(struct test *t)
{
	struct node *n = bare(t);

	REQUIRE(t, n);
	EXPECT_EQ(t, kfi_ep_bind(n->ep, &n->eq->fid, 0), 0);
	if (n->av)
		EXPECT_EQ(t, kfi_ep_bind(n->ep, &n->av->fid, 0), 0);
	EXPECT_EQ(t, kfi_enable(n->ep), -KFI_ENOCQ);
	EXPECT_EQ(t, kfi_ep_bind(n->ep, &n->txcq->fid, KFI_TRANSMIT), 0);
	EXPECT_EQ(t, kfi_enable(n->ep), -KFI_ENOCQ);
	EXPECT_EQ(t, kfi_ep_bind(n->ep, &n->rxcq->fid, KFI_RECV), 0);
	EXPECT_EQ(t, kfi_enable(n->ep), 0);
}

static void missing_vector(struct test *t)
{
	struct node *n = bare(t);

	REQUIRE(t, n);
	EXPECT_EQ(t, kfi_ep_bind(n->ep, &n->txcq->fid, KFI_TRANSMIT), 0);
	EXPECT_EQ(t, kfi_ep_bind(n->ep, &n->rxcq->fid, KFI_RECV), 0);
	EXPECT_EQ(t, kfi_enable(n->ep), -KFI_ENOAV);
	EXPECT_EQ(t, kfi_ep_bind(n->ep, &n->av->fid, 0), 0);
	EXPECT_EQ(t, kfi_enable(n->ep), 0);
}

static void enable_twice(struct test *t)
{
	struct node *n = test_new(t, struct node);

	REQUIRE(t, !node_open_ep(t, n, 0, NULL));
	EXPECT_EQ(t, kfi_enable(n->ep), -EINVAL);
	/* The bindings can't be changed any more. */
	EXPECT_EQ(t, kfi_ep_bind(n->ep, &n->txcq->fid, KFI_TRANSMIT), -KFI_EOPBADSTATE);
}

static void never(struct kfid_ep *ep, void *context)
{
	WARN_ON_ONCE(1);
}

static void not_enabled(struct test *t)
{
	struct node *n = test_new(t, struct node);
	u8 *buf = test_zalloc(t, 64);

	REQUIRE(t, !node_open(t, n, 0, NULL) && !node_endpoint(n, n->info));
	EXPECT_EQ(t, kfi_recv(n->ep, buf, 64, NULL, KFI_ADDR_UNSPEC, NULL), -KFI_EOPBADSTATE);
	EXPECT_EQ(t, kfi_send(n->ep, buf, 64, NULL, 0, NULL), -KFI_EOPBADSTATE);
	EXPECT_EQ(t, kfi_inject(n->ep, buf, 1, 0), -KFI_EOPBADSTATE);
	EXPECT_EQ(t, kfi_ep_tx_space(n->ep, never, NULL), -KFI_EOPBADSTATE);
	NONE_TX(n);
	NONE_RX(n);
}

static void bad_bindings(struct test *t)
{
	struct node *n = bare(t), *other = test_new(t, struct node);

	REQUIRE(t, n && !node_open(t, other, 0, NULL));
	EXPECT_EQ(t, kfi_ep_bind(n->ep, &n->fabric->fid, 0), -EINVAL);
	EXPECT_EQ(t, kfi_ep_bind(n->ep, &n->domain->fid, 0), -EINVAL);
	EXPECT_EQ(t, kfi_ep_bind(n->ep, &n->txcq->fid, BIT_ULL(40)), -KFI_EBADFLAGS);
	EXPECT_EQ(t, kfi_ep_bind(n->ep, &other->txcq->fid, KFI_TRANSMIT), -KFI_EDOMAIN);
	if (n->av)
		EXPECT_EQ(t, kfi_ep_bind(n->ep, &other->av->fid, 0), -KFI_EDOMAIN);
	EXPECT_EQ(t, kfi_ep_bind(n->ep, &n->txcq->fid, KFI_TRANSMIT), 0);
	EXPECT_EQ(t, kfi_ep_bind(n->ep, &n->rxcq->fid, KFI_TRANSMIT), -EINVAL);
	EXPECT_EQ(t, kfi_bind(&n->txcq->fid, &n->eq->fid, 0) < 0, true);
	EXPECT_EQ(t, kfi_ep_bind(n->ep, &other->eq->fid, 0), -KFI_EDOMAIN);
	EXPECT_EQ(t, kfi_domain_bind(n->domain, &other->eq->fid, 0), -KFI_EDOMAIN);
	/* A refused binding holds no reference. */
	EXPECT_EQ(t, test_close(t, &n->rxcq->fid), 0);
	EXPECT_EQ(t, test_close(t, &other->txcq->fid), 0);
	n->rxcq = NULL;
	other->txcq = NULL;
}

/* Capabilities that were not requested from getinfo are not available. */
static void without_capability(struct test *t, struct pair *p)
{
	u8 *buf = test_zalloc(t, 64);

	REQUIRE(t, !(p->a.info->caps & (KFI_RMA | KFI_TAGGED)));
	EXPECT_EQ(t, kfi_tsend(p->a.ep, buf, 8, NULL, p->a.peer, 1, NULL), -EOPNOTSUPP);
	EXPECT_EQ(t, kfi_trecv(p->a.ep, buf, 8, NULL, KFI_ADDR_UNSPEC, 1, 0, NULL), -EOPNOTSUPP);
	EXPECT_EQ(t, kfi_write(p->a.ep, buf, 8, NULL, p->a.peer, 0, 1, NULL), -EOPNOTSUPP);
	EXPECT_EQ(t, kfi_read(p->a.ep, buf, 8, NULL, p->a.peer, 0, 1, NULL), -EOPNOTSUPP);
	NONE_TX(&p->a);
	still_works(p);
}

/* One byte more than getinfo's limit, with each call that sends. */
static void too_long(struct test *t, struct pair *p)
{
	size_t len = t->info[0]->ep_attr->max_msg_size + 1;
	u8 *buf = test_zalloc(t, 64);

	REQUIRE(t, len);
	/* The memory of a message that is refused is not accessed. */
	EXPECT_EQ(t, kfi_send(p->a.ep, buf, len, NULL, p->a.peer, NULL), -EMSGSIZE);
	EXPECT_EQ(t, kfi_senddata(p->a.ep, buf, len, NULL, 1, p->a.peer, NULL), -EMSGSIZE);
	if (p->a.info->caps & KFI_TAGGED) {
		EXPECT_EQ(t, kfi_tsend(p->a.ep, buf, len, NULL, p->a.peer, 1, NULL), -EMSGSIZE);
		EXPECT_EQ(t, kfi_tsenddata(p->a.ep, buf, len, NULL, 1, p->a.peer, 1, NULL),
			  -EMSGSIZE);
	}
	if (p->a.info->caps & KFI_RMA) {
		EXPECT_EQ(t, kfi_write(p->a.ep, buf, len, NULL, p->a.peer, 0, 1, NULL), -EMSGSIZE);
		EXPECT_EQ(t, kfi_read(p->a.ep, buf, len, NULL, p->a.peer, 0, 1, NULL), -EMSGSIZE);
	}
	NONE_TX(&p->a);
	still_works(p);
}

/* Calls that are found by name: a scatterlist can be mapped for the device of a domain. */
static void extensions(struct test *t)
{
	struct kfi_cxi_fabric_ops *fabric = NULL;
	struct kfi_cxi_domain_ops *domain = NULL;
	struct kfi_domain_limits limits;
	struct device *device = NULL;
	struct scatterlist sg;
	struct sg_table table = { .sgl = &sg, .nents = 1, .orig_nents = 1 };
	struct node *n = bare(t);
	u8 *buf = (u8 *)__get_free_page(GFP_KERNEL);

	if (!EXPECT(t, n && buf))
		goto out;
	EXPECT_EQ(t, kfi_open_ops(&n->fabric->fid, KFI_CXI_FAB_OPS_1, 0, (void **)&fabric, NULL),
		  0);
	if (EXPECT(t, fabric)) {
		EXPECT_EQ(t, fabric->enable_dynamic_rsrc_alloc(&n->fabric->fid, true), 0);
		EXPECT_EQ(t, fabric->enable_dynamic_rsrc_alloc(&n->domain->fid, true), -EINVAL);
	}
	EXPECT_EQ(t, kfi_open_ops(&n->domain->fid, KFI_CXI_DOM_OPS_1, 0, (void **)&domain, NULL),
		  0);
	if (!EXPECT(t, domain) || !EXPECT_EQ(t, domain->get_device(&n->domain->fid, &device), 0) ||
	    !EXPECT(t, device))
		goto out;
	EXPECT_EQ(t, domain->get_device(&n->fabric->fid, &device), -EINVAL);
	EXPECT_EQ(t, kfi_domain_limits(n->domain, &limits), 0);
	EXPECT(t, limits.dma_device == device);
	/* Each domain has its own device. */
	EXPECT_EQ(t, kfi_open_ops(&n->fabric->fid, KFI_CXI_DOM_OPS_1, 0, (void **)&domain, NULL),
		  -ENOSYS);
	EXPECT_EQ(t, kfi_open_ops(&n->domain->fid, KFI_CXI_FAB_OPS_1, 0, (void **)&fabric, NULL),
		  -ENOSYS);
	sg_init_one(&sg, buf, PAGE_SIZE);
	if (EXPECT_EQ(t, dma_map_sgtable(device, &table, DMA_BIDIRECTIONAL, 0), 0)) {
		EXPECT_EQ(t, table.nents, 1);
		EXPECT_EQ(t, sg_dma_len(&sg), PAGE_SIZE);
		dma_unmap_sgtable(device, &table, DMA_BIDIRECTIONAL, 0);
	}
out:
	free_page((unsigned long)buf);
}

static void unknown_calls(struct test *t)
{
	struct node *n = bare(t);
	void *ops = NULL;
	int one = 1;

	REQUIRE(t, n);
	EXPECT_EQ(t, kfi_open_ops(&n->fabric->fid, "no such calls", 0, &ops, NULL), -ENOSYS);
	EXPECT_EQ(t, kfi_open_ops(&n->domain->fid, "no such calls", 0, &ops, NULL), -ENOSYS);
	EXPECT(t, !ops);
	EXPECT_EQ(t, kfi_control(&n->ep->fid, 9999, &one), -ENOSYS);
	EXPECT_EQ(t, kfi_control(&n->ep->fid, KFI_GETWAIT, &one), -EOPNOTSUPP);
}

/* ---- remote memory that must not be touched ---- */

/**
 * struct fence - a region inside of memory that is checked
 * @near: local memory
 * @far: 3 * 4096 bytes, of which the middle is the region
 */
struct fence {
	struct pair	*p;
	u8		*near, *far;
	struct region	r;
};

static struct fence *fence_open(struct test *t, u64 access)
{
	struct fence *f = test_new(t, struct fence);

	f->p = pair_open(t, NULL, NULL);
	f->near = test_pages(t, 3 * 4096);
	f->far = test_pages(t, 3 * 4096);
	if (!f->p || region_open(&f->p->b, &f->r, f->far + 4096, 4096, access))
		return NULL;
	memset(f->far, 0x5a, 3 * 4096);
	memset(f->near, 0xa5, 3 * 4096);
	return f;
}

/*
 * Make an access that must not change a byte on either side. Return: its error, or that of the
 * post, positive
 */
static int attempt(struct fence *f, bool write, size_t len, u64 addr, u64 key)
{
	struct test *t = f->p->a.t;
	struct node *a = &f->p->a;
	unsigned long until = 0;
	ssize_t ret;
	comp_t c;

	do {
		ret = write ? kfi_write(a->ep, f->near, len, NULL, a->peer, addr, key, f) :
			      kfi_read(a->ep, f->near, len, NULL, a->peer, addr, key, f);
	} while (ret == -EAGAIN && test_again(t, &until));
	if (ret)
		return -ret;
	if (WAIT_TX(a, &c))
		return 0;
	EXPECT(t, c.op_context == f);
	EXPECT_EQ(t, c.flags, KFI_RMA | (write ? KFI_WRITE : KFI_READ));
	EXPECT_EQ(t, not_all(f->far, 3 * 4096, 0x5a), -1);
	EXPECT_EQ(t, not_all(f->near, 3 * 4096, 0xa5), -1);
	return c.err;
}

static void refused(struct fence *f, bool write, size_t len, u64 addr, u64 key)
{
	struct test *t = f->p->a.t;

	EXPECT_EQ(t, attempt(f, write, len, addr, key), EACCES);
	if (t->failures)
		FAIL(t, "%s %zu bytes at %#llx, key %#llx", write ? "writing" : "reading",
		     len, addr, key);
}

static void rma_outside(struct test *t)
{
	struct fence *f = fence_open(t, ALL_RIGHTS);
	int w;

	REQUIRE(t, f);
	for (w = 0; w < 2 && !t->failures; w++) {
		refused(f, w, 1, f->r.addr + 4096, f->r.key);
		refused(f, w, 4097, f->r.addr, f->r.key);
		refused(f, w, 2, f->r.addr + 4095, f->r.key);
		refused(f, w, 8192, f->r.addr, f->r.key);
		refused(f, w, 16, f->r.addr - 8, f->r.key);
		refused(f, w, 16, U64_MAX - 7, f->r.key);
		refused(f, w, 16, f->r.addr + BIT_ULL(63), f->r.key);
		refused(f, w, 16, f->r.addr + BIT_ULL(32), f->r.key);
	}
	still_works(f->p);
}

static void rma_wrong_key(struct test *t)
{
	struct fence *f = fence_open(t, ALL_RIGHTS);
	int w;

	REQUIRE(t, f);
	for (w = 0; w < 2 && !t->failures; w++) {
		refused(f, w, 16, f->r.addr, f->r.key + 1);
		refused(f, w, 16, f->r.addr, f->r.key ^ BIT_ULL(31));
		refused(f, w, 16, f->r.addr, 0);
		refused(f, w, 16, f->r.addr, U32_MAX);
	}
	still_works(f->p);
}

static void rma_closed_key(struct test *t)
{
	struct fence *f = fence_open(t, ALL_RIGHTS);
	comp_t c;
	int w;

	REQUIRE(t, f);
	POST(t, kfi_write(f->p->a.ep, f->near, 16, NULL, f->p->a.peer, f->r.addr, f->r.key, f));
	REQUIRE_TX_OK(&f->p->a, &c);
	EXPECT(t, test_until(t, not_all(f->far + 4096, 16, 0xa5) == -1));
	REQUIRE_EQ(t, test_close(t, &f->r.mr->fid), 0);
	memset(f->far, 0x5a, 3 * 4096);
	/*
	 * A device that has used the key refuses by itself, which may end the connection:
	 * plain.wrong_keys.
	 */
	for (w = 0; w < 2; w++) {
		REQUIRE(t, is_refused(&f->p->a, attempt(f, w, 16, f->r.addr, f->r.key), 16));
		REQUIRE(t, goes_on(f->p));
		EXPECT_EQ(t, not_all(f->far, 3 * 4096, 0x5a), -1);
	}
}

/* A region that is bound to one endpoint can't be used through another. */
static void rma_other_endpoint(struct test *t)
{
	struct fence *f = fence_open(t, ALL_RIGHTS);
	struct node *other = test_new(t, struct node);
	struct kfid_mr *mr;
	u64 addr;

	REQUIRE(t, f && other);
	*other = f->p->b;
	REQUIRE(t, !node_endpoint(other, other->info) && !node_enable(other));
	REQUIRE_EQ(t, kfi_mr_reg(other->domain, f->far + 4096, 4096, ALL_RIGHTS, 0, 4242, 0, &mr,
				 NULL), 0);
	test_keep(t, &mr->fid);
	EXPECT_EQ(t, kfi_mr_bind(mr, &other->ep->fid, 0), 0);
	kfi_mr_enable(mr);
	addr = kfi_mr_addr(mr);
	refused(f, true, 16, addr, kfi_mr_key(mr));
	refused(f, false, 16, addr, kfi_mr_key(mr));
	still_works(f->p);
}

/* One bad piece of several fails the operation, and no part of it is performed. */
static void rma_half_wrong(struct test *t)
{
	struct fence *f = fence_open(t, ALL_RIGHTS);
	struct kfi_rma_iov rma[2];
	struct kvec iov;
	struct kfi_msg_rma msg = { .type = KFI_KVEC, .msg_iov = &iov, .iov_count = 1 };
	comp_t c;

	REQUIRE(t, f);
	if (t->info[0]->tx_attr->rma_iov_limit < 2) {
		test_skip(t, "one remote segment is all there is");
		return;
	}
	iov = (struct kvec){ f->near, 32 };
	rma[0] = (struct kfi_rma_iov){ f->r.addr, 16, f->r.key };
	rma[1] = (struct kfi_rma_iov){ f->r.addr + 4090, 16, f->r.key };
	msg.addr = f->p->a.peer;
	msg.rma_iov = rma;
	msg.rma_iov_count = 2;
	POST(t, kfi_writemsg(f->p->a.ep, &msg, KFI_COMPLETION));
	REQUIRE(t, !WAIT_TX(&f->p->a, &c));
	EXPECT_EQ(t, c.err, EACCES);
	EXPECT_EQ(t, not_all(f->far, 3 * 4096, 0x5a), -1);
	/* Lengths that do not agree are detected by the post. */
	rma[1].len = 8;
	EXPECT_EQ(t, kfi_writemsg(f->p->a.ep, &msg, KFI_COMPLETION), -EINVAL);
	msg.rma_iov_count = t->info[0]->tx_attr->rma_iov_limit + 1;
	msg.rma_iov = test_zalloc(t, msg.rma_iov_count * sizeof(*rma));
	REQUIRE(t, msg.rma_iov);
	EXPECT_EQ(t, kfi_writemsg(f->p->a.ep, &msg, KFI_COMPLETION), -EINVAL);
	still_works(f->p);
}

/* Refusals and successes mixed, many under way: each gets its own result. */
static void rma_mixed(struct test *t)
{
	struct fence *f = fence_open(t, ALL_RIGHTS);
	int i, n = t->w->quick ? 200 : 1000, ended = 0, posted = 0;
	unsigned long until = jiffies + msecs_to_jiffies(2 * t->w->wait_ms);
	comp_t c;

	REQUIRE(t, f);
	while (ended < n && !t->failures && time_before(jiffies, until)) {
		i = posted;
		if (posted < n && posted < ended + 32 &&
		    !kfi_write(f->p->a.ep, f->near, 64, NULL, f->p->a.peer, f->r.addr,
			       i % 3 ? f->r.key : f->r.key + 1, CTX(i)))
			posted++;
		if (comp_poll(&f->p->a, f->p->a.txcq, &c) != 1)
			continue;
		EXPECT_EQ(t, c.err, (unsigned long)c.op_context % 3 ? 0 : EACCES);
		ended++;
	}
	EXPECT_EQ(t, ended, n);
	EXPECT(t, test_until(t, not_all(f->far + 4096, 64, 0xa5) == -1));
	EXPECT_EQ(t, not_all(f->far, 4096, 0x5a), -1);
	EXPECT_EQ(t, not_all(f->far + 4096 + 64, 2 * 4096 - 64, 0x5a), -1);
	still_works(f->p);
}

const struct test_case errors_cases[] = {
	{ "errors.missing_queues", T_ALL, 0, C_MSG, missing_queues },
	{ "errors.missing_vector", T_RDM | T_DGRAM, 0, C_MSG, missing_vector },
	{ "errors.enable_twice", T_ALL, 0, C_MSG, enable_twice },
	{ "errors.not_enabled", T_ALL, 0, C_MSG, not_enabled },
	{ "errors.bad_bindings", T_ALL, 0, C_MSG, bad_bindings },
	{ "errors.without_capability", T_ALL, 0, C_MSG, .pair = without_capability },
	{ "errors.too_long", T_REL, 0, C_MSG | C_TAGGED | C_RMA, .pair = too_long },
	{ "errors.datagram_too_long", T_DGRAM, 0, C_MSG, .pair = too_long },
	{ "errors.extensions", T_ALL, CASE_ONCE, C_MSG, extensions },
	{ "errors.unknown_calls", T_ALL, 0, C_MSG, unknown_calls },
	{ "errors.rma_outside", T_REL, CASE_CHECKED, C_MSG | C_RMA, rma_outside },
	{ "errors.rma_wrong_key", T_REL, CASE_CHECKED, C_MSG | C_RMA, rma_wrong_key },
	{ "errors.rma_closed_key", T_REL, 0, C_MSG | C_RMA, rma_closed_key },
	{ "errors.rma_other_endpoint", T_RDM, 0, C_MSG | C_RMA, rma_other_endpoint },
	{ "errors.rma_half_wrong", T_REL, CASE_CHECKED, C_MSG | C_RMA, rma_half_wrong },
	{ "errors.rma_mixed", T_REL, CASE_CHECKED, C_MSG | C_RMA, rma_mixed },
	{ }
};
