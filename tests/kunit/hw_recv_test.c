// SPDX-License-Identifier: GPL-2.0
/*
 * Receives that are the provider's: kfi.ko hands each over once, keeps the consumer's room in its
 * queue, and has nothing to do with the matching.
 */
#include "fake.h"

/**
 * struct hw - a world whose endpoints receive by themselves; @posted: what was handed over, oldest
 * first; @refuse: rather not
 */
struct hw {
	struct kfi_world	*w;
	struct kfi_info		*info;
	struct kfid_cq		*cq;
	struct kfid_ep		*ep;
	struct list_head	posted;
	int			refuse;
	int			(*open)(struct kfi_ep *ep);
};

static struct hw *hw;	/* one test at a time */

static int hw_open_ep(struct kfi_ep *ep)
{
	ep->hw_recv = true;
	return hw->open(ep);
}

static int hw_posted(struct kfi_ep *ep, struct kfi_oper *op)
{
	if (hw->refuse)
		return hw->refuse;
	list_add_tail(&op->link, &hw->posted);
	return 0;
}

static struct kfi_oper *hw_take(void *context, bool any)
{
	struct kfi_oper *op;

	list_for_each_entry(op, &hw->posted, link) {
		if (any || op->context == context) {
			list_del(&op->link);
			return op;
		}
	}
	return NULL;
}

static struct kfi_oper *hw_cancel(struct kfi_ep *ep, void *context)
{
	return hw_take(context, false);
}

static void hw_end(struct kunit *test, size_t len, u64 flags, u64 data, int err)
{
	struct kfi_oper *op = hw_take(NULL, true);

	KUNIT_ASSERT_NOT_NULL(test, op);
	local_bh_disable();
	kfi_recv_complete(op, len, flags, data, err);
	local_bh_enable();
}

static void hw_open(struct kunit *test)
{
	hw = kunit_kzalloc(test, sizeof(*hw), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, hw);
	INIT_LIST_HEAD(&hw->posted);
	hw->w = fake_open(test);
	hw->open = hw->w->ops.ep_open;
	hw->w->ops.ep_open = hw_open_ep;
	hw->w->ops.rx_posted = hw_posted;
	hw->w->ops.rx_cancel = hw_cancel;
	hw->info = fake_info(hw->w, KFI_EP_RDM);
	hw->cq = fake_cq(hw->w, 4, 0, NULL, NULL);
	hw->ep = fake_rdm(hw->w, hw->info, hw->cq);
}

static void hw_close(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, list_empty(&hw->posted));
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&hw->ep->fid));
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&hw->cq->fid));
	kfi_freeinfo(hw->info);
	fake_close(hw->w);
}

static void expect_entry(struct kunit *test, void *context, int err, u64 flags, size_t len,
			 u64 data)
{
	struct kfi_cq_err_entry wc = {};
	struct kfi_cq_tagged_entry entry;

	if (err) {
		KUNIT_ASSERT_EQ(test, -KFI_EAVAIL, kfi_cq_read(hw->cq, &entry, 1));
		KUNIT_ASSERT_EQ(test, 1, kfi_cq_readerr(hw->cq, &wc, 0));
		KUNIT_EXPECT_PTR_EQ(test, context, wc.op_context);
		KUNIT_EXPECT_EQ(test, err, wc.err);
		KUNIT_EXPECT_EQ(test, flags, wc.flags);
		return;
	}
	KUNIT_ASSERT_EQ(test, 1, kfi_cq_read(hw->cq, &entry, 1));
	KUNIT_EXPECT_PTR_EQ(test, context, entry.op_context);
	KUNIT_EXPECT_EQ(test, flags, entry.flags);
	KUNIT_EXPECT_EQ(test, len, entry.len);
	KUNIT_EXPECT_EQ(test, data, entry.data);
}

/* In the provider's order, with what it says. */
static void hw_recv_ends(struct kunit *test)
{
	u8 buf[3][16];

	hw_open(test);
	KUNIT_EXPECT_EQ(test, 0, kfi_recv(hw->ep, buf[0], 16, NULL, KFI_ADDR_UNSPEC, buf[0]));
	KUNIT_EXPECT_EQ(test, 0, kfi_recv(hw->ep, buf[1], 16, NULL, KFI_ADDR_UNSPEC, buf[1]));
	KUNIT_EXPECT_EQ(test, 0, kfi_recv(hw->ep, buf[2], 16, NULL, KFI_ADDR_UNSPEC, buf[2]));
	hw_end(test, 7, 0, 0, 0);
	hw_end(test, 0, KFI_REMOTE_CQ_DATA, 0x1234, 0);
	hw_end(test, 0, 0, 0, -KFI_ETRUNC);
	expect_entry(test, buf[0], 0, KFI_MSG | KFI_RECV, 7, 0);
	expect_entry(test, buf[1], 0, KFI_MSG | KFI_RECV | KFI_REMOTE_CQ_DATA, 0, 0x1234);
	expect_entry(test, buf[2], KFI_ETRUNC, KFI_MSG | KFI_RECV, 0, 0);
	hw_close(test);
}

/*
 * Each has its place in the queue; what is refused has neither that nor an operation. What comes after
 * the end is not refused: it ends at once.
 */
static void hw_recv_room(struct kunit *test)
{
	u8 buf[16];
	int i;

	hw_open(test);
	hw->refuse = -ENOMEM;
	for (i = 0; i < 20; i++)
		KUNIT_EXPECT_EQ(test, -ENOMEM,
				kfi_recv(hw->ep, buf, 16, NULL, KFI_ADDR_UNSPEC, buf));
	hw->refuse = -ESHUTDOWN;
	for (i = 0; i < 20; i++) {
		KUNIT_EXPECT_EQ(test, 0, kfi_recv(hw->ep, buf, 16, NULL, KFI_ADDR_UNSPEC, buf));
		expect_entry(test, buf, ESHUTDOWN, KFI_MSG | KFI_RECV, 0, 0);
	}
	hw->refuse = 0;
	for (i = 0; i < 4; i++)
		KUNIT_EXPECT_EQ(test, 0, kfi_recv(hw->ep, buf, 16, NULL, KFI_ADDR_UNSPEC, buf));
	KUNIT_EXPECT_EQ(test, -EAGAIN, kfi_recv(hw->ep, buf, 16, NULL, KFI_ADDR_UNSPEC, buf));
	for (i = 0; i < 4; i++)
		hw_end(test, i, 0, 0, 0);
	for (i = 0; i < 4; i++)
		expect_entry(test, buf, 0, KFI_MSG | KFI_RECV, i, 0);
	hw_close(test);
}

/* What the provider gives back ends here; what it keeps is not found. */
static void hw_recv_cancelled(struct kunit *test)
{
	u8 buf[2][16];

	hw_open(test);
	KUNIT_EXPECT_EQ(test, 0, kfi_recv(hw->ep, buf[0], 16, NULL, KFI_ADDR_UNSPEC, buf[0]));
	KUNIT_EXPECT_EQ(test, 0, kfi_recv(hw->ep, buf[1], 16, NULL, KFI_ADDR_UNSPEC, buf[1]));
	KUNIT_EXPECT_EQ(test, 0, kfi_cancel(&hw->ep->fid, buf[1]));
	KUNIT_EXPECT_EQ(test, -ENOENT, kfi_cancel(&hw->ep->fid, buf[1]));
	expect_entry(test, buf[1], ECANCELED, KFI_MSG | KFI_RECV, 0, 0);
	hw_end(test, 1, 0, 0, 0);
	KUNIT_EXPECT_EQ(test, -ENOENT, kfi_cancel(&hw->ep->fid, buf[0]));
	expect_entry(test, buf[0], 0, KFI_MSG | KFI_RECV, 1, 0);
	hw_close(test);
}

/*
 * Nothing can be looked for that has not been received, and no other endpoint's receives can be
 * used.
 */
static void hw_recv_alone(struct kunit *test)
{
	struct kfi_msg_tagged msg = { .tag = 9, .context = &msg, .addr = KFI_ADDR_UNSPEC };
	struct kfid_ep *ep, *srx;

	hw_open(test);
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP, kfi_trecvmsg(hw->ep, &msg, KFI_PEEK));
	hw->w->info.tx_attr = hw->info->tx_attr;
	hw->w->info.rx_attr = hw->info->rx_attr;
	hw->w->info.ep_attr = hw->info->ep_attr;
	KUNIT_ASSERT_EQ(test, 0, kfi_srx_context(&hw->w->domain.fid, NULL, &srx, NULL));
	hw->info->ep_attr->rx_ctx_cnt = KFI_SHARED_CONTEXT;
	KUNIT_ASSERT_EQ(test, 0, kfi_endpoint(&hw->w->domain.fid, hw->info, &ep, NULL));
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP, kfi_ep_bind(ep, &srx->fid, 0));
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&ep->fid));
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&srx->fid));
	hw_close(test);
}

/* A provider may have both kinds; each of its endpoints has a kind that it has. */
static void hw_recv_nobody(struct kunit *test)
{
	struct kfid_ep *ep;

	hw_open(test);
	hw->w->ops.rx_posted = NULL;
	hw->w->ops.rx_cancel = NULL;
	KUNIT_EXPECT_EQ(test, -EINVAL, kfi_endpoint(&hw->w->domain.fid, hw->info, &ep, NULL));
	hw->w->ops.rx_posted = hw_posted;
	hw->w->ops.rx_cancel = hw_cancel;
	KUNIT_ASSERT_EQ(test, 0, kfi_endpoint(&hw->w->domain.fid, hw->info, &ep, NULL));
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&ep->fid));
	hw_close(test);
}

static struct kunit_case hw_recv_cases[] = {
	KUNIT_CASE(hw_recv_ends),
	KUNIT_CASE(hw_recv_room),
	KUNIT_CASE(hw_recv_cancelled),
	KUNIT_CASE(hw_recv_alone),
	KUNIT_CASE(hw_recv_nobody),
	{}
};

static struct kunit_suite hw_recv_suite = {
	.name = "kfi_hw_recv",
	.test_cases = hw_recv_cases,
};

kunit_test_suite(hw_recv_suite);
