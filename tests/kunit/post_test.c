// SPDX-License-Identifier: GPL-2.0
/* Posts: which are refused, and what reaches the provider. */
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include "fake.h"

static struct kfi_oper *posted(struct fake_rig *p)
{
	return list_last_entry(&p->fake->ops, struct kfi_oper, link);
}

/* The provider has no operation, and neither an operation nor a slot is in use. */
static void expect_untouched(struct kunit *test, struct fake_rig *p)
{
	struct kfi_ep *ep = kfi_to_ep(p->ep);

	KUNIT_EXPECT_TRUE(test, list_empty(&p->fake->ops));
	KUNIT_EXPECT_EQ(test, 0, kfi_pool_used(&ep->tx));
	KUNIT_EXPECT_EQ(test, 0, kfi_pool_used(&ep->rx));
	KUNIT_EXPECT_EQ(test, 64, atomic_read(&ep->tx_cq->free));
}

static void post_refusals(struct kunit *test)
{
	static u8 buf[128];
	struct kvec iov[5] = {
		{ buf, 10 }, { buf, 10 }, { buf, 10 }, { buf, 10 }, { buf, 10 },
	};
	struct kvec huge = { buf, 65537 }, over[2] = { { buf, SIZE_MAX }, { buf, 2 } },
		    small = { buf, 65 };
	struct { struct kfi_msg msg; u64 flags; int ret; } c[] = {
		{ { .type = KFI_KVEC, .msg_iov = iov, .iov_count = 5 }, 0, -EINVAL },
		{ { .type = KFI_KVEC, .iov_count = 1 }, 0, -EINVAL },
		{ { .type = 77, .msg_iov = iov, .iov_count = 1 }, 0, -EINVAL },
		{ { .type = KFI_KVEC, .msg_iov = over, .iov_count = 2 }, 0, -EINVAL },
		{ { .type = KFI_KVEC, .msg_iov = &huge, .iov_count = 1 }, 0, -EMSGSIZE },
		{ { .type = KFI_KVEC, .msg_iov = &small, .iov_count = 1 }, KFI_INJECT, -EINVAL },
		{ { .type = KFI_KVEC, .msg_iov = iov, .iov_count = 1 }, KFI_MULTI_RECV, -KFI_EBADFLAGS },
		{ { .type = KFI_KVEC, .msg_iov = iov, .iov_count = 1 }, KFI_TAGGED, -KFI_EBADFLAGS },
		{ { .type = KFI_KVEC, .msg_iov = iov, .iov_count = 1 }, KFI_TRIGGER, -KFI_EBADFLAGS },
		{ { .type = KFI_KVEC, .msg_iov = iov, .iov_count = 1 }, KFI_FENCE, -KFI_EBADFLAGS },
		{ { .type = KFI_KVEC, .msg_iov = iov, .iov_count = 1 }, 1, -KFI_EBADFLAGS },
		{ { .type = KFI_KVEC, .msg_iov = iov, .iov_count = 1 }, KFI_DELIVERY_COMPLETE, -EOPNOTSUPP },
		{ { .type = KFI_KVEC, .msg_iov = iov, .iov_count = 1 }, KFI_MATCH_COMPLETE, -EOPNOTSUPP },
		{ { .type = KFI_KVEC, .msg_iov = iov, .iov_count = 1 }, KFI_CQE, -EINVAL },
		{ { .type = KFI_KVEC, .msg_iov = iov, .iov_count = 1 }, KFI_INVALIDATE | KFI_REMOTE_CQ_DATA, -EINVAL },
	};
	struct fake_rig p;
	unsigned int i;

	fake_rig_open(test, &p, 64, 0);
	for (i = 0; i < ARRAY_SIZE(c); i++) {
		KUNIT_EXPECT_EQ_MSG(test, c[i].ret, kfi_sendmsg(p.ep, &c[i].msg, c[i].flags),
				    "case %u", i);
		expect_untouched(test, &p);
	}
	p.fake->refuse = -ENETDOWN;
	KUNIT_EXPECT_EQ(test, -ENETDOWN, kfi_send(p.ep, buf, 10, NULL, 0, NULL));
	expect_untouched(test, &p);
	fake_rig_close(&p);
}

static void expect_bytes(struct kunit *test, struct kfi_oper *op, const u8 *want, size_t len)
{
	struct iov_iter iter = op->iter;
	u8 *got = kunit_kzalloc(test, len + 1, GFP_KERNEL);

	KUNIT_EXPECT_EQ(test, len, op->len);
	KUNIT_EXPECT_EQ(test, len, iov_iter_count(&iter));
	KUNIT_EXPECT_EQ(test, len, copy_from_iter(got, len, &iter));
	KUNIT_EXPECT_EQ(test, 0, memcmp(want, got, len));
}

/*
 * Mapped entries have the lengths, pages the addresses. One mapped entry may cover several pages.
 */
static void post_sgl(struct kunit *test)
{
	u8 *page = (u8 *)__get_free_pages(GFP_KERNEL, 2);
	struct scatterlist sg[3];
	struct fake_rig p;
	u8 want[300];
	int i;

	fake_rig_open(test, &p, 64, 0);
	for (i = 0; i < 4 * PAGE_SIZE; i++)
		page[i] = i * 7;
	sg_init_table(sg, 3);
	sg_set_buf(&sg[0], page + 3 * PAGE_SIZE, 100);
	sg_set_buf(&sg[1], page + 50, 100);
	sg_set_buf(&sg[2], page + PAGE_SIZE + 1, 100);
	for (i = 0; i < 3; i++) {
		memcpy(want + i * 100, sg_virt(&sg[i]), 100);
		sg_dma_len(&sg[i]) = 100;
	}
	KUNIT_EXPECT_EQ(test, 0, kfi_sendsgl(p.ep, sg, NULL, 3, 0, NULL));
	KUNIT_EXPECT_PTR_EQ(test, &sg[0], posted(&p)->sgl);
	expect_bytes(test, posted(&p), want, 300);
	if (IS_ENABLED(CONFIG_NEED_SG_DMA_LENGTH)) {
		sg_dma_len(&sg[0]) = 250;
		KUNIT_EXPECT_EQ(test, 0, kfi_sendsgl(p.ep, sg, NULL, 1, 0, NULL));
		expect_bytes(test, posted(&p), want, 250);
	}
	/* the list is shorter */
	KUNIT_EXPECT_EQ(test, -EINVAL, kfi_sendsgl(p.ep, sg, NULL, 4, 0, NULL));
	fake_rig_close(&p);
	free_pages((unsigned long)page, 2);
}

static struct kunit_case post_cases[] = {
	KUNIT_CASE(post_refusals),
	KUNIT_CASE(post_sgl),
	{}
};

static struct kunit_suite post_suite = {
	.name = "kfi_post",
	.test_cases = post_cases,
};

kunit_test_suite(post_suite);
