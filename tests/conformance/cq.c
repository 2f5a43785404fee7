// SPDX-License-Identifier: GPL-2.0
/*
 * Completion queues that are polled.
 */
#include <linux/delay.h>
#include "harness.h"

static u64 cq_data_mask(const struct test *t)
{
	return GENMASK_ULL(8 * t->info[0]->domain_attr->cq_data_size - 1, 0);
}

static void one_format(struct test *t, enum kfi_cq_format format)
{
	struct node_opts opts = { .format = format };
	struct pair *p = pair_open(t, &opts, &opts);
	bool flags = format != KFI_CQ_FORMAT_CONTEXT;
	bool data = flags && format != KFI_CQ_FORMAT_MSG;
	u8 *tx = test_pages(t, 256), *rx = test_pages(t, 256);
	comp_t c;

	REQUIRE(t, p && tx && rx);
	fill(tx, 200, format);
	POST(t, kfi_recv(p->b.ep, rx, 256, NULL, KFI_ADDR_UNSPEC, rx));
	REQUIRE(t, !POST(t, kfi_senddata(p->a.ep, tx, 200, NULL, 0x1122334455667788ULL,
					 p->a.peer, tx)));
	REQUIRE_TX(&p->a, &c, tx, flags ? KFI_MSG | KFI_SEND : 0);
	REQUIRE_RX(&p->b, &c, rx, flags ? KFI_MSG | KFI_RECV | KFI_REMOTE_CQ_DATA : 0);
	EXPECT_EQ(t, c.len, flags ? 200 : 0);
	EXPECT_EQ(t, c.data, data ? 0x1122334455667788ULL & cq_data_mask(t) : 0);
	EXPECT_DATA(t, rx, 200, format);
}

static void formats(struct test *t)
{
	one_format(t, KFI_CQ_FORMAT_CONTEXT);
	one_format(t, KFI_CQ_FORMAT_MSG);
	one_format(t, KFI_CQ_FORMAT_DATA);
	one_format(t, KFI_CQ_FORMAT_TAGGED);
}

/* The queue is not read: posts fail with -EAGAIN, and no completion is lost. */
static void full(struct test *t)
{
	struct node_opts small = { .cq_size = 8 };
	struct pair *p = pair_open(t, &small, NULL);
	unsigned long posted = 0, i, until = jiffies + msecs_to_jiffies(t->w->wait_ms);
	u8 *buf = test_zalloc(t, 64);
	ssize_t ret = 0;
	comp_t c;

	REQUIRE(t, p && buf);
	while (posted < 2000 && time_before(jiffies, until)) {
		POST(t, kfi_recv(p->b.ep, buf, 32, NULL, KFI_ADDR_UNSPEC, CTX(posted + 1)));
		ret = kfi_send(p->a.ep, buf + 32, 8, NULL, p->a.peer, CTX(posted + 1));
		if (ret == -EAGAIN)
			break;
		REQUIRE_EQ(t, ret, 0);
		posted++;
		/* The receiving side is read. */
		REQUIRE(t, !WAIT_RX(&p->b, &c));
	}
	EXPECT_EQ(t, ret, -EAGAIN);
	EXPECT(t, posted >= 8);
	for (i = 1; i <= posted; i++)
		REQUIRE_TX(&p->a, &c, CTX(i), KFI_MSG | KFI_SEND);
	NONE_TX(&p->a);
	EXPECT_EQ(t, kfi_send(p->a.ep, buf + 32, 8, NULL, p->a.peer, CTX(1)), 0);
	REQUIRE(t, !WAIT_TX(&p->a, &c));
}

static void have_space(struct kfid_ep *ep, void *context)
{
	complete(context);
}

/* After -EAGAIN a callback tells when there is room. */
static void space(struct test *t)
{
	struct node_opts small = { .cq_size = 4 };
	struct pair *p = pair_open(t, &small, NULL);
	struct completion *told = test_new(t, struct completion);
	u8 *buf = test_zalloc(t, 64);
	int posted = 0, ret;
	comp_t c;

	REQUIRE(t, p && told && buf);
	init_completion(told);
	for (ret = 0; !ret && posted < 2000; posted += !ret) {
		POST(t, kfi_recv(p->b.ep, buf, 32, NULL, KFI_ADDR_UNSPEC, buf));
		ret = kfi_send(p->a.ep, buf + 32, 8, NULL, p->a.peer, buf);
		if (!ret)
			REQUIRE(t, !WAIT_RX(&p->b, &c));
	}
	REQUIRE_EQ(t, ret, -EAGAIN);
	msleep(100);
	EXPECT_EQ(t, kfi_ep_tx_space(p->a.ep, have_space, told), 0);
	EXPECT_EQ(t, kfi_ep_tx_space(p->a.ep, have_space, told), -EALREADY);
	EXPECT_EQ(t, kfi_ep_tx_space(p->a.ep, NULL, NULL), 0);
	EXPECT_EQ(t, kfi_ep_tx_space(p->a.ep, have_space, told), 0);
	msleep(100);
	EXPECT(t, !completion_done(told));
	while (posted--)
		REQUIRE(t, !WAIT_TX(&p->a, &c));
	EXPECT(t, wait_for_completion_timeout(told, msecs_to_jiffies(t->w->wait_ms)));
	EXPECT_EQ(t, kfi_send(p->a.ep, buf + 32, 8, NULL, p->a.peer, buf), 0);
	REQUIRE(t, !WAIT_TX(&p->a, &c));
	/* Once per arming, and at once if there is room; disarming is always permitted. */
	msleep(50);
	EXPECT(t, !completion_done(told));
	EXPECT_EQ(t, kfi_ep_tx_space(p->a.ep, have_space, told), 0);
	EXPECT(t, wait_for_completion_timeout(told, msecs_to_jiffies(t->w->wait_ms)));
	EXPECT_EQ(t, kfi_ep_tx_space(p->a.ep, NULL, NULL), 0);
}

static void error_entry(struct test *t)
{
	struct pair *p = pair_open(t, NULL, NULL);
	struct kfi_cq_tagged_entry e;
	comp_t c = {};
	u8 *buf = test_zalloc(t, 64);

	REQUIRE(t, p && buf);
	EXPECT_EQ(t, kfi_cq_readerr(p->b.rxcq, &c, 0), -EAGAIN);
	POST(t, kfi_recv(p->b.ep, buf, 64, NULL, KFI_ADDR_UNSPEC, buf));
	EXPECT_EQ(t, kfi_cancel(&p->b.ep->fid, buf), 0);
	REQUIRE(t, test_until(t, kfi_cq_read(p->b.rxcq, &e, 1) == -KFI_EAVAIL));
	/* It stays until kfi_cq_readerr() takes it. */
	EXPECT_EQ(t, kfi_cq_read(p->b.rxcq, &e, 1), -KFI_EAVAIL);
	EXPECT_EQ(t, kfi_cq_readerr(p->b.rxcq, &c, BIT_ULL(40)), -KFI_EBADFLAGS);
	EXPECT_EQ(t, kfi_cq_readerr(p->b.rxcq, &c, 0), 1);
	EXPECT_EQ(t, c.err, ECANCELED);
	EXPECT(t, c.op_context == buf);
	EXPECT_EQ(t, kfi_cq_read(p->b.rxcq, &e, 1), -EAGAIN);
	EXPECT_EQ(t, kfi_cq_readerr(p->b.rxcq, &c, 0), -EAGAIN);
}

static void selective(struct test *t)
{
	struct node_opts sel = {
		.tx_bind = KFI_SELECTIVE_COMPLETION, .rx_bind = KFI_SELECTIVE_COMPLETION,
	};
	struct pair *p = pair_open(t, &sel, &sel);
	u8 *buf = test_zalloc(t, 64);
	struct kvec iov = { buf, 8 }, riov = { buf + 32, 32 };
	struct kfi_msg msg = { .type = KFI_KVEC, .msg_iov = &iov, .iov_count = 1 };
	struct kfi_msg rmsg = { .type = KFI_KVEC, .msg_iov = &riov, .iov_count = 1 };
	comp_t c;

	REQUIRE(t, p && buf);
	msg.addr = p->a.peer;
	rmsg.addr = KFI_ADDR_UNSPEC;
	/* Silent on both sides, then one with a completion. */
	POST(t, kfi_recv(p->b.ep, buf + 32, 32, NULL, KFI_ADDR_UNSPEC, CTX(1)));
	POST(t, kfi_send(p->a.ep, buf, 8, NULL, p->a.peer, CTX(1)));
	rmsg.context = CTX(2);
	msg.context = CTX(2);
	POST(t, kfi_recvmsg(p->b.ep, &rmsg, KFI_COMPLETION));
	POST(t, kfi_sendmsg(p->a.ep, &msg, KFI_COMPLETION));
	REQUIRE_TX(&p->a, &c, CTX(2), KFI_MSG | KFI_SEND);
	REQUIRE_RX(&p->b, &c, CTX(2), KFI_MSG | KFI_RECV);
	/* A failure is always reported. */
	POST(t, kfi_recv(p->b.ep, buf + 32, 32, NULL, KFI_ADDR_UNSPEC, CTX(3)));
	EXPECT_EQ(t, kfi_cancel(&p->b.ep->fid, CTX(3)), 0);
	REQUIRE_RX_ERR(&p->b, &c, CTX(3), ECANCELED);
	NONE_TX(&p->a);
	NONE_RX(&p->b);
}

/* KFI_COMPLETION as the endpoint's default; and a post without it. */
static void silent(struct test *t)
{
	struct node_opts sel = {
		.tx_bind = KFI_SELECTIVE_COMPLETION, .tx_op_flags = KFI_COMPLETION,
	};
	struct pair *p = pair_open(t, &sel, NULL);
	u8 *buf = test_zalloc(t, 64);
	struct kvec iov = { buf, 8 };
	struct kfi_msg msg = { .type = KFI_KVEC, .msg_iov = &iov, .iov_count = 1 };
	comp_t c;
	int i;

	REQUIRE(t, p && buf);
	for (i = 0; i < 3; i++)
		POST(t, kfi_recv(p->b.ep, buf + 32, 32, NULL, KFI_ADDR_UNSPEC, CTX(i)));
	msg.addr = p->a.peer;
	msg.context = CTX(9);
	POST(t, kfi_sendmsg(p->a.ep, &msg, 0));		/* exactly these flags */
	POST(t, kfi_sendmsg(p->a.ep, &msg, KFI_OPFLAGS_DEFAULT | KFI_NO_COMPLETION));
	POST(t, kfi_send(p->a.ep, buf, 8, NULL, p->a.peer, CTX(1)));
	REQUIRE_TX(&p->a, &c, CTX(1), KFI_MSG | KFI_SEND);
	NONE_TX(&p->a);
	for (i = 0; i < 3; i++)
		REQUIRE(t, !WAIT_RX(&p->b, &c));
}

static void source(struct test *t)
{
	struct node_opts opts = { .caps = C_MSG | KFI_SOURCE };
	struct pair *p = pair_open(t, &opts, &opts);
	struct kfi_cq_tagged_entry e;
	u8 *buf = test_zalloc(t, 64);
	kfi_addr_t src = 77;
	comp_t c;

	REQUIRE(t, p && buf);
	POST(t, kfi_recv(p->b.ep, buf, 32, NULL, KFI_ADDR_UNSPEC, CTX(1)));
	POST(t, kfi_send(p->a.ep, buf + 32, 8, NULL, p->a.peer, CTX(1)));
	REQUIRE(t, !WAIT_TX(&p->a, &c));
	REQUIRE(t, test_until(t, kfi_cq_readfrom(p->b.rxcq, &e, 1, &src) == 1));
	EXPECT_EQ(t, src, p->b.peer);
	/* A sender that is in no vector has no handle. */
	REQUIRE_EQ(t, kfi_av_remove(p->b.av, &p->b.peer, 1, 0), 0);
	POST(t, kfi_recv(p->b.ep, buf, 32, NULL, KFI_ADDR_UNSPEC, CTX(2)));
	POST(t, kfi_send(p->a.ep, buf + 32, 8, NULL, p->a.peer, CTX(2)));
	REQUIRE(t, !WAIT_TX(&p->a, &c));
	REQUIRE(t, test_until(t, kfi_cq_readfrom(p->b.rxcq, &e, 1, &src) == 1));
	EXPECT_EQ(t, src, KFI_ADDR_NOTAVAIL);
}

/* An error reports the sender of its message, as a success does. */
static void source_of_error(struct test *t)
{
	struct node_opts opts = { .caps = C_MSG | KFI_SOURCE };
	struct pair *p = pair_open(t, &opts, &opts);
	u8 *buf = test_zalloc(t, 128);
	comp_t c;
	int i;

	REQUIRE(t, p && buf);
	for (i = 0; i < 2; i++) {
		POST(t, kfi_recv(p->b.ep, buf, 10, NULL, KFI_ADDR_UNSPEC, CTX(i)));
		POST(t, kfi_send(p->a.ep, buf + 64, 30, NULL, p->a.peer, CTX(i)));
		REQUIRE(t, !WAIT_TX(&p->a, &c));
		REQUIRE_RX_ERR(&p->b, &c, CTX(i), KFI_ETRUNC);
		EXPECT_EQ(t, c.src_addr, i ? KFI_ADDR_NOTAVAIL : p->b.peer);
		/* The second time the sender is unknown. */
		if (!i)
			REQUIRE_EQ(t, kfi_av_remove(p->b.av, &p->b.peer, 1, 0), 0);
	}
}

const struct test_case cq_cases[] = {
	{ "cq.formats", T_ALL, 0, C_MSG, formats },
	{ "cq.full", T_REL, 0, 0, full },
	{ "cq.space", T_REL, 0, 0, space },
	{ "cq.error_entry", T_ALL, CASE_MATCHING, 0, error_entry },
	{ "cq.selective", T_ALL, CASE_MATCHING, 0, selective },
	{ "cq.silent", T_ALL, 0, 0, silent },
	{ "cq.source", T_RDM | T_DGRAM, 0, C_MSG | KFI_SOURCE, source },
	{ "cq.source_of_error", T_RDM | T_DGRAM, 0, C_MSG | KFI_SOURCE, source_of_error },
	{ }
};
