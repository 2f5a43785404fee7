// SPDX-License-Identifier: GPL-2.0
/*
 * Cases in which somebody outside does something to the network. Each prints
 * "script: ready <case> ..." when it is time, and goes on when the script has
 * written to the parameter go.
 */
#include <linux/delay.h>
#include <linux/moduleparam.h>
#include "peerloss.h"

static int go;
module_param(go, int, 0644);
MODULE_PARM_DESC(go, "written by the script: it has done what the case waits for");

static void say_ready(struct test *t, const char *what)
{
	WRITE_ONCE(go, 0);
	pr_info("    # script: ready %s\n", what);
}

static bool gone(struct test *t)
{
	unsigned long until = jiffies + msecs_to_jiffies(t->w->script_ms);

	while (!READ_ONCE(go)) {
		if (time_after(jiffies, until)) {
			FAIL(t, "the script did not answer");
			return false;
		}
		msleep(20);
	}
	return true;
}

/* Objects are open: the script tries to unload the provider and kfi.ko. */
static void hold(struct test *t)
{
	struct pair *p = pair_open(t, NULL, NULL);

	REQUIRE(t, p);
	still_works(p);
	say_ready(t, "hold");
	REQUIRE(t, gone(t));
	still_works(p);
}

/* A fabric alone is enough to keep the provider. */
static void hold_fabric(struct test *t)
{
	struct kfid_fabric *fabric;

	REQUIRE_EQ(t, kfi_fabric_net(t->w->side[0].net, t->info[0]->fabric_attr, &fabric, NULL),
		   0);
	test_keep(t, &fabric->fid);
	say_ready(t, "hold_fabric");
	gone(t);
}

/* Posts are accepted, and say in bounded time that there is no way. */
static void no_way(struct node *a)
{
	struct test *t = a->t;
	u8 *buf = test_zalloc(t, 64);
	comp_t c;
	int i;

	REQUIRE(t, buf);
	for (i = 0; i < 3; i++) {
		REQUIRE_EQ(t, kfi_send(a->ep, buf, 64, NULL, a->peer, CTX(i)), 0);
		REQUIRE(t, !comp_wait_ms(t, a, a->txcq, &c, t->w->loss_ms + t->w->wait_ms, __FILE__, __LINE__));
		EXPECT_ERR(t, &c, CTX(i), EHOSTUNREACH);
		EXPECT_EQ(t, c.flags, KFI_MSG | KFI_SEND);
	}
	NONE_TX(a);
}

/* The wire is cut in mid-traffic, and joined when all has ended. */
static void wire_cut(struct test *t)
{
	struct pair *p = pair_open(t, NULL, NULL);
	struct traffic *f;
	comp_t c;

	REQUIRE(t, p);
	f = traffic_start(t, p);
	REQUIRE(t, f);
	traffic_fill(f);
	REQUIRE(t, !t->failures && f->posted > f->ended);
	say_ready(t, "wire_cut");
	REQUIRE(t, gone(t));
	traffic_lost(f, 2 * t->w->loss_ms + t->w->wait_ms);
	REQUIRE(t, !t->failures);
	if (t->type == KFI_EP_RDM)
		no_way(&p->a);
	say_ready(t, "wire_join");
	REQUIRE(t, gone(t));
	REQUIRE_EQ(t, test_close(t, &f->r.mr->fid), 0);
	REQUIRE_EQ(t, test_close(t, &p->b.ep->fid), 0);
	p->b.ep = NULL;
	REQUIRE(t, !pair_reconnect(p, &p->b));
	while (comp_poll(&p->b, p->b.rxcq, &c) == 1 || comp_poll(&p->a, p->a.rxcq, &c) == 1)
		;
	still_works(p);
}

/* Side B's namespace goes in mid-traffic, with an endpoint and receives in it. */
static void namespace_gone(struct test *t)
{
	struct pair *p = pair_open(t, NULL, NULL);
	u8 *buf = test_pages(t, 4096);
	unsigned long until;
	struct traffic *f;
	comp_t c;
	int i;

	REQUIRE(t, p && buf);
	f = traffic_start(t, p);
	REQUIRE(t, f);
	for (i = 0; i < 8; i++)
		POST(t, kfi_trecv(p->b.ep, buf, 64, NULL, KFI_ADDR_UNSPEC, 1, 0, CTX(i)));
	traffic_fill(f);
	REQUIRE(t, !t->failures && f->posted > f->ended);
	/* Nothing of ours keeps it: objects do not pin a namespace. */
	world_drop_net(t->w, 1);
	say_ready(t, "namespace_gone");
	REQUIRE(t, gone(t));
	traffic_lost(f, 2 * t->w->loss_ms + t->w->wait_ms);
	/* The objects there are husks: what was posted has ended, posts say so. */
	for (i = 0; i < 8; i++) {
		REQUIRE(t, !WAIT_RX(&p->b, &c));
		EXPECT(t, c.err > 0);
	}
	until = jiffies + msecs_to_jiffies(t->w->wait_ms);
	while (kfi_trecv(p->b.ep, buf, 64, NULL, KFI_ADDR_UNSPEC, 1, 0, NULL) != -ENODEV) {
		if (time_after(jiffies, until)) {
			FAIL(t, "a post in a namespace that has gone is not refused");
			break;
		}
		msleep(20);
	}
	EXPECT_EQ(t, kfi_send(p->b.ep, buf, 8, NULL, p->b.peer, NULL), -ENODEV);
}

/* Receives for the tricks of garbage.py; what lands in them is nobody's news. */
static void wait_for_tricks(struct node *b, void *buf)
{
	struct kvec iov = { buf, 64 };
	struct kfi_msg_tagged msg = {
		.type = KFI_KVEC, .msg_iov = &iov, .iov_count = 1, .addr = KFI_ADDR_UNSPEC, .tag = 0xaced,
	};
	int i;

	for (i = 0; i < 200; i++)
		POST(b->t, kfi_trecvmsg(b->ep, &msg, KFI_NO_COMPLETION));
}

/* Garbage is sent to B's port while A and B talk. */
static void garbage_peer(struct test *t)
{
	struct pair *p = pair_open(t, NULL, NULL);
	char text[64], what[96];
	struct node *b = &p->b;
	size_t len = sizeof(text);
	unsigned long until;
	struct kfid_av *av;
	struct kfi_av_attr attr = {};
	u8 *tx = test_pages(t, 8192), *rx = test_pages(t, 8192), *trick = test_pages(t, 64);
	u64 i = 0;

	REQUIRE(t, p && tx && rx && trick);
	if (t->c->caps & KFI_TAGGED)
		wait_for_tricks(b, trick);
	/* An address is printed by a vector; a connected node has none. */
	REQUIRE_EQ(t, kfi_av_open(b->domain, &attr, &av, NULL), 0);
	test_keep(t, &av->fid);
	kfi_av_straddr(av, b->addr, text, &len);
	snprintf(what, sizeof(what), "garbage %s", text);
	say_ready(t, what);
	until = jiffies + msecs_to_jiffies(t->w->script_ms);
	while (!READ_ONCE(go) && !t->failures && time_before(jiffies, until)) {
		exchange(&p->a, b, tx, rx, 1 + i % 1400, i);
		i++;
		usleep_range(5000, 10000);
	}
	EXPECT(t, READ_ONCE(go));
	still_works(p);
}

const struct test_case script_cases[] = {
	{ "script.hold", T_REL, CASE_SCRIPT | CASE_ONCE, C_MSG, hold },
	{ "script.fabric", T_REL, CASE_SCRIPT | CASE_ONCE, C_MSG, hold_fabric },
	{ "script.wire_cut", T_REL, CASE_SCRIPT, C_MSG | C_RMA, wire_cut },
	{ "script.namespace_gone", T_REL, CASE_SCRIPT, C_MSG | C_TAGGED | C_RMA, namespace_gone },
	{ "script.garbage", T_REL, CASE_SCRIPT, C_MSG | C_TAGGED, garbage_peer },
	{ "script.garbage_datagrams", T_DGRAM, CASE_SCRIPT, C_MSG, garbage_peer },
	{ }
};
