// SPDX-License-Identifier: GPL-2.0
/* Regressions: cases for defects that a review has found and the list had not. */
#include <linux/delay.h>
#include "harness.h"

#define REJECTS	32

/*
 * The peer ends while its request is being answered, at all stages: the accept must not use freed
 * objects. In the last rounds the end is known before the answer.
 */
static void gone_while_answered(struct test *t)
{
	struct node *a = test_new(t, struct node), *b = test_new(t, struct node);
	struct event *ev = test_new(t, struct event);
	int i, ret;

	REQUIRE(t, !node_open(t, a, 0, NULL) && !node_open(t, b, 1, NULL) && !node_listen(b));
	for (i = 0; i < REJECTS && !t->failures; i++) {
		REQUIRE(t, !node_endpoint(a, a->info) && !node_enable(a));
		REQUIRE_EQ(t, kfi_connect(a->ep, b->addr, NULL, 0), 0);
		REQUIRE(t, !WAIT_EVENT(b, ev));
		REQUIRE_EQ(t, ev->type, KFI_CONNREQ);
		if (i & 1) {
			ret = kfi_reject(b->pep, ev->info->handle, NULL, 0);
			kfi_freeinfo(ev->info);
			EXPECT_EQ(t, ret, 0);
			REQUIRE_EQ(t, test_close(t, &a->ep->fid), 0);
			continue;
		}
		ret = node_endpoint(b, ev->info);
		kfi_freeinfo(ev->info);
		REQUIRE_EQ(t, ret, 0);
		REQUIRE_EQ(t, test_close(t, &a->ep->fid), 0);
		if (i < REJECTS - 4)
			udelay(20 * i);
		else
			msleep(300);
		ret = kfi_accept(b->ep, NULL, 0);
		EXPECT(t, !ret || (ret == -ECONNABORTED && i >= REJECTS - 4));
		/* Accepted or not, it does not stay half open. */
		if (!ret && i >= REJECTS - 4) {
			REQUIRE(t, !event_wait(t, b->eq, ev, t->w->loss_ms + t->w->wait_ms,
					       __FILE__, __LINE__));
			if (!ev->err && ev->type == KFI_CONNECTED)
				REQUIRE(t, !WAIT_EVENT(b, ev));
			EXPECT(t, ev->err > 0 || ev->type == KFI_SHUTDOWN);
		}
		REQUIRE(t, !node_close_ep(b));
	}
	a->ep = NULL;
}

#define READS	64

/* A read does not see a later write, if that order was granted. */
static void write_after_read(struct test *t, struct pair *p)
{
	u8 *near = test_pages(t, READS * 4096), *new = test_pages(t, 4096),
	   *far = test_pages(t, 4096);
	struct region r;
	comp_t c;
	int i, j;

	REQUIRE(t, far &&
		   !region_open(&p->b, &r, far, 4096, KFI_REMOTE_READ | KFI_REMOTE_WRITE));
	if (!(p->a.info->tx_attr->msg_order & KFI_ORDER_WAR)) {
		EXPECT_EQ(t, p->a.info->ep_attr->max_order_war_size, 0);
		return;
	}
	memset(new, 0xff, 4096);
	for (i = 0; i < READS && !t->failures; i++) {
		memset(far, 0x11, 4096);
		POST(t, kfi_read(p->a.ep, near, 4096, NULL, p->a.peer, r.addr, r.key, CTX(1)));
		POST(t, kfi_write(p->a.ep, new, 4096, NULL, p->a.peer, r.addr, r.key, CTX(2)));
		for (j = 0; j < 2; j++)
			REQUIRE_TX_OK(&p->a, &c);
		EXPECT_EQ(t, not_all(near, 4096, 0x11), -1);
	}
}

/* A post with KFI_MORE is sent although no other follows to the same peer. */
static void more_and_no_more(struct test *t, struct pair *p)
{
	u8 *tx = test_pages(t, 64), *rx = test_pages(t, 64);
	struct kvec iov = { tx, 64 };
	struct kfi_msg msg = { .type = KFI_KVEC, .iov_count = 1, .context = tx };
	comp_t c;

	fill(tx, 64, 5);
	POST(t, kfi_recv(p->b.ep, rx, 64, NULL, KFI_ADDR_UNSPEC, rx));
	msg.msg_iov = &iov;
	msg.addr = p->a.peer;
	POST(t, kfi_sendmsg(p->a.ep, &msg, KFI_MORE | KFI_COMPLETION));
	/* The post that was to follow fails. */
	EXPECT(t, kfi_send(p->a.ep, tx, p->a.info->ep_attr->max_msg_size + 1, NULL, p->a.peer, tx) <
			  0);
	REQUIRE(t, !WAIT_RX(&p->b, &c));
	EXPECT_DATA(t, rx, 64, 5);
	REQUIRE(t, !WAIT_TX(&p->a, &c));
}

#define WORDS	12

/*
 * Messages whose sends have succeeded arrive, also if their receiver's queue was full and their
 * sender was closed.
 */
static void last_words(struct test *t)
{
	struct node_opts small = { .cq_size = 4 };
	struct pair *p = pair_open(t, NULL, &small);
	u8 *tx = test_pages(t, 4096), *rx = test_pages(t, 65536);
	int i, sent = 0, got = 0;
	comp_t c;

	REQUIRE(t, p && !POST(t, recv_multi(p->b.ep, rx, 65536, NULL)));
	for (i = 0; i < WORDS; i++)
		REQUIRE(t, !POST(t, kfi_send(p->a.ep, tx, 100, NULL, p->a.peer, CTX(i))));
	msleep(500);
	while (comp_poll(&p->a, p->a.txcq, &c) == 1)
		sent += !c.err;
	EXPECT(t, sent > 0);
	REQUIRE(t, !node_close_ep(&p->a));
	msleep(300);
	while (got < sent) {
		REQUIRE_RX(&p->b, &c, NULL, KFI_MSG | KFI_RECV);
		got++;
	}
}

#define PARTING		40
#define PARTING_LEN	48

/*
 * The same if the sender closes at once: a success is not revoked. @inject: the buffer is free when
 * the call returns, and there is no completion to wait for before the close.
 */
void pair_part(struct pair *p, bool inject)
{
	struct test *t = p->a.t;
	u8 *tx = test_pages(t, PARTING_LEN), *rx = test_pages(t, PARTING * PARTING_LEN);
	comp_t c;
	int i;

	fill(tx, PARTING_LEN, 3);
	for (i = 0; i < PARTING; i++)
		POST(t, kfi_recv(p->b.ep, rx + i * PARTING_LEN, PARTING_LEN, NULL, KFI_ADDR_UNSPEC,
				 CTX(i)));
	for (i = 0; i < PARTING; i++)
		REQUIRE(t, inject ? !POST(t, kfi_inject(p->a.ep, tx, PARTING_LEN, p->a.peer)) :
				    !POST(t, kfi_send(p->a.ep, tx, PARTING_LEN, NULL, p->a.peer,
						      CTX(i))));
	for (i = 0; i < PARTING && !inject; i++)
		REQUIRE_TX(&p->a, &c, CTX(i), KFI_MSG | KFI_SEND);
	REQUIRE(t, !node_close_ep(&p->a));
	for (i = 0; i < PARTING; i++) {
		REQUIRE_RX(&p->b, &c, CTX(i), KFI_MSG | KFI_RECV);
		EXPECT_DATA(t, rx + i * PARTING_LEN, PARTING_LEN, 3);
	}
}

/* They know each other, so nothing delays the messages. */
static void part(struct test *t, struct pair *p)
{
	still_works(p);
	pair_part(p, case_num(t));
}

const struct test_case regress_cases[] = {
	{ "regress.gone_while_answered", T_MSG, 0, 0, gone_while_answered },
	{ "regress.write_after_read", T_REL, 0, C_RMA, .pair = write_after_read },
	{ "regress.more_and_no_more", T_ALL, 0, C_MSG, .pair = more_and_no_more },
	{ "regress.last_words", T_RDM, 0, C_MSG | KFI_MULTI_RECV, last_words },
	{ "regress.parting", T_REL, 0, C_MSG, .pair = part, .arg = CASE_NUM(false) },
	{ "regress.parting_inject", T_REL, 0, C_MSG, .pair = part, .arg = CASE_NUM(true) },
	{ }
};
