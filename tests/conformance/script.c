// SPDX-License-Identifier: GPL-2.0
/*
 * Cases in which the script (inside) changes the network. Each prints "script: ready WORD[.ROUND]"
 * when it is time for what the script does at this word, and continues when the script has written
 * to the parameter go.
 */
#include <linux/delay.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/vmalloc.h>
#include "peerloss.h"

#define SCRIPT_MS	150000	/* in which the script has done its part */

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
	unsigned long until = jiffies + msecs_to_jiffies(SCRIPT_MS);

	while (!READ_ONCE(go)) {
		if (time_after(jiffies, until)) {
			FAIL(t, "the script did not answer");
			return false;
		}
		msleep(20);
	}
	return true;
}

bool script_ask(struct test *t, const char *fmt, ...)
{
	char what[32];
	va_list args;

	va_start(args, fmt);
	vsnprintf(what, sizeof(what), fmt, args);
	va_end(args);
	say_ready(t, what);
	return gone(t);
}

/* Objects are open: the script tries to unload the provider and kfi.ko. */
static void hold(struct test *t, struct pair *p)
{
	still_works(p);
	REQUIRE(t, script_ask(t, "hold"));
	still_works(p);
}

/* A fabric alone is enough to keep the provider. */
static void hold_fabric(struct test *t)
{
	struct kfid_fabric *fabric;

	REQUIRE_EQ(t, kfi_fabric_net(t->w->side[0].net, t->info[0]->fabric_attr, &fabric, NULL),
		   0);
	test_keep(t, &fabric->fid);
	script_ask(t, "hold.fabric");
}

/* Posts are accepted, and fail in bounded time because the peer can't be reached. */
static void no_way(struct node *a)
{
	struct test *t = a->t;
	u8 *buf = test_zalloc(t, 64);
	comp_t c;
	int i;

	for (i = 0; i < 3; i++) {
		REQUIRE_EQ(t, kfi_send(a->ep, buf, 64, NULL, a->peer, CTX(i)), 0);
		REQUIRE(t, !comp_wait_ms(t, a, a->txcq, &c, t->w->loss_ms + t->w->wait_ms, __FILE__,
					 __LINE__));
		EXPECT_ERR(t, &c, CTX(i), EHOSTUNREACH);
		EXPECT_EQ(t, c.flags, KFI_MSG | KFI_SEND);
	}
	NONE_TX(a);
}

/* The wire is cut during traffic, and joined when all operations have ended. */
static void wire_cut(struct test *t, struct pair *p)
{
	struct traffic *f;
	comp_t c;

	f = traffic_start(t, p);
	REQUIRE(t, f);
	traffic_fill(f);
	REQUIRE(t, !t->failures && f->posted > f->ended);
	REQUIRE(t, script_ask(t, "wire_cut"));
	traffic_lost(f, 2 * t->w->loss_ms + t->w->wait_ms);
	REQUIRE(t, !t->failures);
	if (t->type == KFI_EP_RDM)
		no_way(&p->a);
	REQUIRE(t, script_ask(t, "wire_join"));
	REQUIRE_EQ(t, test_close(t, &f->r.mr->fid), 0);
	REQUIRE(t, !node_close_ep(&p->b));
	REQUIRE(t, !pair_reconnect(p, &p->b));
	while (comp_poll(&p->b, p->b.rxcq, &c) == 1 || comp_poll(&p->a, p->a.rxcq, &c) == 1)
		;
	still_works(p);
}

/*
 * The wire drops everything, and A continues with little traffic. None of it can arrive, so the
 * loss is noticed.
 */
static void wire_trickle(struct test *t, struct pair *p)
{
	u8 *near = test_pages(t, 64), *far = test_pages(t, 64);
	struct region r;
	unsigned long until;
	comp_t c = {};
	int ret = 0;

	REQUIRE(t, !region_open(&p->b, &r, far, 64, KFI_REMOTE_WRITE));
	POST(t, kfi_write(p->a.ep, near, 64, NULL, p->a.peer, r.addr, r.key, NULL));
	REQUIRE(t, !WAIT_TX(&p->a, &c));
	REQUIRE(t, script_ask(t, "wire_trickle"));
	until = jiffies + msecs_to_jiffies(2 * t->w->loss_ms + t->w->wait_ms);
	while (!c.err && !ret && !t->failures) {
		REQUIRE(t, time_before(jiffies, until));
		ret = kfi_write(p->a.ep, near, 64, NULL, p->a.peer, r.addr, r.key, NULL);
		if (ret == -EAGAIN)
			ret = 0;
		EXPECT(t, !ret || ret == -ENOTCONN || ret == -ESHUTDOWN);
		while (!c.err && comp_poll(&p->a, p->a.txcq, &c) == 1)
			;
		/* a number of these are needed below, whether the peer receives them or not */
		msleep(1000);
	}
	REQUIRE(t, script_ask(t, "wire_trickled"));
}

#define PIECE	(2 * PAGE_SIZE)	/* mapped in a row, although the pieces are not adjacent */

/* @n pieces of slab memory as one */
static u8 *map_apart(struct test *t, unsigned int n)
{
	u8 *mem = test_zalloc(t, 2 * n * PIECE), *at = NULL;
	struct page **page = test_zalloc(t, 2 * n * sizeof(*page));
	unsigned int i;

	if (!EXPECT(t, mem && page && !is_vmalloc_addr(mem)))
		return NULL;
	for (i = 0; i < 2 * n; i++)
		page[i] = virt_to_page(mem + i / 2 * 2 * PIECE + i % 2 * PAGE_SIZE);
	at = vmap(page, 2 * n, VM_MAP, PAGE_KERNEL);
	EXPECT(t, at);
	return at;
}

/* Send a message and write to @far, and read it to @back. */
static void move_all(struct pair *p, u8 *near, u8 *far, u8 *back, size_t len)
{
	struct test *t = p->a.t;
	struct region r;
	comp_t c;

	fill(near, len, len);
	POST(t, kfi_recv(p->b.ep, far, len, NULL, KFI_ADDR_UNSPEC, far));
	POST(t, kfi_send(p->a.ep, near, len, NULL, p->a.peer, near));
	REQUIRE(t, !WAIT_RX(&p->b, &c));
	REQUIRE(t, !WAIT_TX(&p->a, &c));
	EXPECT_DATA(t, far, len, len);
	memset(far, 0, len);
	REQUIRE(t, !region_open(&p->b, &r, far, len, KFI_REMOTE_WRITE | KFI_REMOTE_READ));
	POST(t, kfi_write(p->a.ep, near, len, NULL, p->a.peer, r.addr, r.key, near));
	REQUIRE(t, !WAIT_TX(&p->a, &c));
	EXPECT_DATA(t, far, len, len);
	POST(t, kfi_read(p->a.ep, back, len, NULL, p->a.peer, r.addr, r.key, back));
	REQUIRE(t, !WAIT_TX(&p->a, &c));
	EXPECT_DATA(t, back, len, len);
	EXPECT_EQ(t, test_close(t, &r.mr->fid), 0);
}

static void lend(struct pair *p, unsigned int n)
{
	struct test *t = p->a.t;
	u8 *near = test_zalloc(t, n * PIECE), *far = map_apart(t, n), *back = map_apart(t, n);

	if (EXPECT(t, near && far && back))
		move_all(p, near, far, back, n * PIECE);
	if (t->failures)
		return;		/* it may be in use */
	vunmap(far);
	vunmap(back);
}

/*
 * Memory that does not belong to a domain, in one piece and in several: the script checks how the
 * bytes were moved.
 */
static void lent_memory(struct test *t, struct pair *p)
{
	static const unsigned int pieces[] = { 1, 16, 17 };
	int i;

	still_works(p);
	for (i = 0; i < ARRAY_SIZE(pieces) && !t->failures; i++) {
		REQUIRE(t, script_ask(t, "lent.%u", pieces[i]));
		lend(p, pieces[i]);
		REQUIRE(t, script_ask(t, "moved.%u", pieces[i]));
	}
}

/*
 * The same region is written to again and again: the script looks at how many writes did not ask.
 */
#define GRANTED		100000

static void granted(struct test *t, struct pair *p)
{
	u8 *near = test_pages(t, GRANTED), *far;
	struct region r;
	comp_t c;
	int i;

	far = test_best(t, p->b.domain, GRANTED);
	REQUIRE(t, far && !region_open(&p->b, &r, far, GRANTED, KFI_REMOTE_WRITE));
	for (i = 0; i < 20; i++) {
		fill(near, GRANTED, i);
		POST(t, kfi_write(p->a.ep, near, GRANTED, NULL, p->a.peer, r.addr, r.key, near));
		REQUIRE_TX_OK(&p->a, &c);
		EXPECT_DATA(t, far, GRANTED, i);
	}
	REQUIRE(t, script_ask(t, "granted"));
}

/* Side B's namespace ends during traffic, with an endpoint and receives in it. */
static void namespace_gone(struct test *t, struct pair *p)
{
	u8 *buf = test_pages(t, 4096);
	struct traffic *f;
	comp_t c;
	int i;

	f = traffic_start(t, p);
	REQUIRE(t, f);
	for (i = 0; i < 8; i++)
		POST(t, kfi_trecv(p->b.ep, buf, 64, NULL, KFI_ADDR_UNSPEC, 1, 0, CTX(i)));
	traffic_fill(f);
	REQUIRE(t, !t->failures && f->posted > f->ended);
	/* Objects do not keep a namespace, and the test drops its reference. */
	world_drop_net(t->w, 1);
	REQUIRE(t, script_ask(t, "namespace_gone"));
	traffic_lost(f, 2 * t->w->loss_ms + t->w->wait_ms);
	/* The objects there are dead: posted operations have ended, and further posts fail. */
	for (i = 0; i < 8; i++) {
		REQUIRE(t, !WAIT_RX(&p->b, &c));
		EXPECT(t, c.err > 0);
	}
	EXPECT(t, test_until(t, kfi_trecv(p->b.ep, buf, 64, NULL, KFI_ADDR_UNSPEC, 1, 0, NULL) ==
				-ENODEV));
	EXPECT_EQ(t, kfi_send(p->b.ep, buf, 8, NULL, p->b.peer, NULL), -ENODEV);
}

/*
 * Garbage is sent to B's port while A and B communicate. What a peer of a connection may send is
 * tested in tests/kunit/proto_hostile_test.c.
 */
static void garbage_peer(struct test *t, struct pair *p)
{
	char text[64], what[96];
	struct node *b = &p->b;
	size_t len = sizeof(text);
	unsigned long until;
	struct kfid_av *av;
	struct kfi_av_attr attr = {};
	u8 *tx = test_pages(t, 8192), *rx = test_pages(t, 8192);
	size_t max = min_t(size_t, 1400, t->info[0]->ep_attr->max_msg_size);
	unsigned int i = 0;

	REQUIRE_EQ(t, kfi_av_open(b->domain, &attr, &av, NULL), 0);
	test_keep(t, &av->fid);
	kfi_av_straddr(av, b->addr, text, &len);
	snprintf(what, sizeof(what), "garbage %s", text);
	say_ready(t, what);
	until = jiffies + msecs_to_jiffies(SCRIPT_MS);
	while (!READ_ONCE(go) && !t->failures && time_before(jiffies, until)) {
		exchange(&p->a, b, tx, rx, 1 + i % max, i);
		i++;
		usleep_range(5000, 10000);
	}
	EXPECT(t, READ_ONCE(go));
	still_works(p);
}

/* ---- removal of a device ---- */

/**
 * struct removal - a pair that transfers in both directions when the device of one side is removed
 * @p: the pair
 * @back: the same with A and B exchanged, for the other direction
 * @side: side of the device
 * @lost: that side
 * @stays: the other side
 * @to: traffic to @lost
 * @from: traffic of @lost
 * @left: receives of @lost that have not ended
 */
struct removal {
	struct pair	*p, back;
	int		side;
	struct node	*lost, *stays;
	struct traffic	*to, *from;
	u32		left;
};

/*
 * Post receives for all messages of @f: on the side that is removed every one of them has to end.
 */
static u32 feed(struct traffic *f)
{
	struct node *b = &f->p->b;
	u32 i;

	for (i = 0; i < f->most; i++)
		if (POST(b->t, kfi_recv(b->ep, f->far, f->len, NULL, KFI_ADDR_UNSPEC, CTX(i))))
			break;
	return i;
}

static bool removal_open(struct test *t, struct removal *r, int side)
{
	u32 n = t->w->lost_ops;
	struct node_opts room = { .cq_size = 2 * n, .rx_size = n, .tx_size = n };

	r->p = pair_open(t, &room, &room);
	if (!r->p)
		return false;
	r->back = (struct pair){ .a = r->p->b, .b = r->p->a };
	r->side = side;
	r->lost = side ? &r->p->b : &r->p->a;
	r->stays = side ? &r->p->a : &r->p->b;
	r->to = traffic_start(t, side ? r->p : &r->back);
	r->from = traffic_start(t, side ? &r->back : r->p);
	if (!r->to || !r->from)
		return false;
	r->from->lost_device = true;
	r->left = feed(r->to);
	feed(r->from);
	return !t->failures;
}

static int transfer_until_lost(void *arg)
{
	struct traffic *f = arg;
	struct world *w = f->p->a.t->w;

	traffic_lost(f, 2 * w->loss_ms + w->wait_ms);
	return 0;
}

static bool removal_under_load(struct test *t, struct removal *r, u32 round)
{
	struct worker to, from;
	bool ret;

	if (worker_start(t, &to, -1, transfer_until_lost, r->to))
		return false;
	if (worker_start(t, &from, -1, transfer_until_lost, r->from)) {
		worker_join(&to, SCRIPT_MS);
		return false;
	}
	ret = script_ask(t, "device_gone.%u", round);
	worker_join(&to, SCRIPT_MS);
	worker_join(&from, SCRIPT_MS);
	return ret && !t->failures;
}

/*
 * Each object on the device reports the removal once. A connection may have ended before its
 * endpoint.
 */
static void removal_reported(struct removal *r)
{
	struct node *n = r->lost;
	struct test *t = n->t;
	struct event *ev = test_new(t, struct event);
	bool ep = false, pep = !n->pep, shut = false;

	while (!ep || !pep) {
		REQUIRE(t, !WAIT_EVENT(n, ev));
		if (t->type == KFI_EP_MSG && !ev->err && ev->type == KFI_SHUTDOWN && !shut && !ep) {
			shut = true;
			continue;
		}
		EXPECT_EQ(t, ev->err, ENODEV);
		if (ev->fid == &n->ep->fid)
			REQUIRE(t, !ep && (ep = true));
		else
			REQUIRE(t, !pep && ev->fid == &n->pep->fid && (pep = true));
	}
	if (t->type == KFI_EP_RDM)
		return;
	REQUIRE(t, !WAIT_EVENT(r->stays, ev));
	EXPECT_EQ(t, ev->err, 0);
	EXPECT_EQ(t, ev->type, KFI_SHUTDOWN);
	EXPECT(t, ev->fid == &r->stays->ep->fid);
}

static void are_dead(struct removal *r)
{
	u8 *buf = r->to->far;
	struct node *n = r->lost;
	struct kfi_info *info;
	struct test *t = n->t;
	struct kfid_mr *mr;
	struct kfid_ep *ep;
	comp_t c;

	while (r->left && !WAIT_RX(n, &c))
		r->left--;
	NONE_RX(n);
	NONE_TX(n);
	EXPECT_EQ(t, kfi_send(n->ep, buf, 8, NULL, n->peer, NULL), -ENODEV);
	EXPECT_EQ(t, kfi_recv(n->ep, buf, 8, NULL, KFI_ADDR_UNSPEC, NULL), -ENODEV);
	EXPECT_EQ(t, kfi_mr_reg(n->domain, buf, 8, KFI_REMOTE_READ, 0, 77, 0, &mr, NULL), -ENODEV);
	EXPECT_EQ(t, kfi_endpoint(n->domain, n->info, &ep, NULL), -ENODEV);
	EXPECT_EQ(t, test_getinfo(t, n->side, t->c->caps, &info), -ENODATA);
}

/*
 * The side that has stayed communicates with a new endpoint, and two new endpoints with each other.
 */
static void works_again(struct removal *r)
{
	struct test *t = r->lost->t;
	struct pair *p;

	if (t->type == KFI_EP_RDM) {
		REQUIRE(t, !node_open_ep(t, r->lost, r->side, NULL) &&
				   !node_insert(r->stays, r->lost, &r->stays->peer));
		transfer(r->stays, r->lost, 1000, 1);
	}
	p = pair_open(t, NULL, NULL);
	REQUIRE(t, p);
	still_works(p);
}

/* The device of B goes, then that of A. */
static void device_gone_once(struct test *t, u32 round)
{
	struct removal *r = test_new(t, struct removal);

	REQUIRE(t, removal_open(t, r, !(round & 1)));
	REQUIRE(t, removal_under_load(t, r, round));
	removal_reported(r);
	are_dead(r);
	REQUIRE_EQ(t, test_close(t, &r->to->r.mr->fid), 0);
	node_close(r->lost);
	REQUIRE(t, script_ask(t, "device_back.%u", round));
	works_again(r);
}

/*
 * The device of one side is removed while both sides transfer: all operations end there, and
 * transfers work again with a new device.
 */
static void device_gone(struct test *t)
{
	u32 i;

	for (i = 0; i < t->w->removals && !t->failures; i++) {
		device_gone_once(t, i);
		test_teardown(t);
	}
}

/* ---- a wire that drops everything for a moment ---- */

#define PAUSES	4

static void pause_once(struct test *t, struct pair *p)
{
	struct batch *there = test_new(t, struct batch), *back = test_new(t, struct batch);
	struct pair *swapped = test_new(t, struct pair);

	*swapped = (struct pair){ .a = p->b, .b = p->a };
	REQUIRE(t, !batch_open(t, there, p, 0) && !batch_open(t, back, swapped, 1));
	REQUIRE(t, script_ask(t, "wire_pause"));
	REQUIRE(t, batch_begin(there) && batch_begin(back));
	REQUIRE(t, script_ask(t, "wire_resume"));
	REQUIRE(t, batch_end(there) && batch_end(back));
}

/*
 * The wire drops everything for a second, and no data is lost. Both sides have sent packets that
 * they have to repeat.
 */
static void wire_pause(struct test *t, struct pair *p)
{
	u32 i;

	still_works(p);
	for (i = 0; i < PAUSES && !t->failures; i++)
		pause_once(t, p);
	still_works(p);
}

/* ---- a cable that comes back ---- */

#define HELD_MS	3000	/* less than the cable is away */

static int limit_ops(struct node *n)
{
	size_t ms = HELD_MS;

	EXPECT_EQ(n->t, kfi_setopt(&n->ep->fid, KFI_OPT_ENDPOINT, KFI_OPT_OP_TIMEOUT_MS, &ms,
				   sizeof(ms)), 0);
	return 0;
}

/*
 * The cable is pulled and put back under load, again and again. Nothing fails, although no
 * operation may take so long; nothing gets lost, and nothing arrives twice.
 */
static void wire_held(struct test *t)
{
	struct node_opts opts = { .before_enable = limit_ops };
	struct pair *p = pair_open(t, &opts, &opts);

	REQUIRE(t, p);
	still_works(p);
	REQUIRE(t, script_ask(t, "wire_held"));
	stress_pairs(t, &p, 1);
	REQUIRE(t, script_ask(t, "wire_whole"));
	still_works(p);
}

/* The cable is out: operations wait, and a consumer that closes its endpoint does not. */
static void held_close(struct test *t, struct pair *p)
{
	u8 *buf = test_zalloc(t, 4096);
	unsigned long begin;
	comp_t c;
	int i;

	still_works(p);
	REQUIRE(t, script_ask(t, "held_close"));
	for (i = 0; i < 3; i++)
		POST(t, kfi_send(p->a.ep, buf, 4096, NULL, p->a.peer, CTX(i)));
	msleep(500);
	EXPECT_EQ(t, comp_poll(&p->a, p->a.txcq, &c), 0);
	begin = jiffies;
	node_close(&p->a);
	node_close(&p->b);
	EXPECT(t, time_before(jiffies, begin + 3 * HZ));
}

/* ---- two bridges between the same machines ---- */

/* The link of the bridge is down when an endpoint calls. The call is made when the link is up. */
static void call_waits(struct test *t, struct pair *p)
{
	struct batch *b = test_new(t, struct batch);
	int i;

	REQUIRE(t, script_ask(t, "call_waits"));
	REQUIRE(t, !batch_open(t, b, p, 0) && batch_begin(b));
	msleep(200);
	for (i = 0; i < BATCH; i++)
		EXPECT(t, !completion_done(&b->tx[i].ended));
	REQUIRE(t, script_ask(t, "call_made"));
	REQUIRE(t, batch_end(b));
}

/* Open B's domain over the other bridge. */
static struct kfid_domain *other_domain(struct test *t, struct node *b)
{
	struct kfi_info *hints = test_hints(t, KFI_MSG), *info;
	struct kfid_domain *domain;
	int ret;

	hints->domain_attr->name = kstrdup("mock1.1", GFP_KERNEL);
	ret = kfi_getinfo_net(t->w->side[1].net, kfi_version(), NULL, NULL, 0, hints, &info);
	kfi_freeinfo(hints);
	if (!EXPECT_EQ(t, ret, 0))
		return NULL;
	test_keep_info(t, info);
	if (!EXPECT_EQ(t, kfi_domain(b->fabric, info, &domain, NULL), 0))
		return NULL;
	test_keep(t, &domain->fid);
	return domain;
}

/*
 * A connection stays on the bridge that the call has come by, so an endpoint in the domain of
 * another bridge can't accept it. Then an endpoint in the right domain can.
 */
static void other_bridge(struct test *t)
{
	struct node *a = test_new(t, struct node), *b = test_new(t, struct node);
	struct kfid_domain *domain;
	struct kfid_ep *ep;
	struct event ev;

	REQUIRE(t, !node_open_ep(t, a, 0, NULL) && !node_open(t, b, 1, NULL) &&
			   !node_listen(b));
	domain = other_domain(t, b);
	REQUIRE(t, domain);
	REQUIRE_EQ(t, kfi_connect(a->ep, b->addr, NULL, 0), 0);
	REQUIRE(t, !WAIT_EVENT(b, &ev) && ev.info);
	test_keep_info(t, ev.info);
	EXPECT_EQ(t, kfi_endpoint(domain, ev.info, &ep, NULL), -EINVAL);
	REQUIRE_EQ(t, node_endpoint(b, ev.info), 0);
	REQUIRE_EQ(t, kfi_accept(b->ep, NULL, 0), 0);
	REQUIRE(t, !WAIT_EVENT(a, &ev));
	EXPECT_EQ(t, ev.type, KFI_CONNECTED);
}

/*
 * ---- a wire that loses packets ----
 *
 * RDMA devices and TCP have to repeat them. The script makes the wire lose packets after the pairs
 * were connected, because a lost connection request takes seconds.
 */

#define PARTING_PAIRS	10

/* A sender that closes at once waits until lost packets were repeated. */
static void parting_lossy(struct test *t)
{
	struct pair *p[PARTING_PAIRS];
	int i;

	for (i = 0; i < PARTING_PAIRS; i++) {
		p[i] = pair_open(t, NULL, NULL);
		REQUIRE(t, p[i]);
		still_works(p[i]);
	}
	REQUIRE(t, script_ask(t, "lossy"));
	for (i = 0; i < PARTING_PAIRS && !t->failures; i++)
		pair_part(p[i], i & 1);
	script_ask(t, "lossless");
}

static void stress_lossy(struct test *t, struct pair *p)
{
	still_works(p);
	REQUIRE(t, script_ask(t, "lossy"));
	stress_pairs(t, &p, 1);
	script_ask(t, "lossless");
}

const struct test_case lossy_cases[] = {
	{ "lossy.parting", T_REL, CASE_SCRIPT, C_MSG, parting_lossy },
	{ "lossy.stress", T_REL, CASE_SCRIPT, C_MSG | C_TAGGED | C_RMA, .pair = stress_lossy },
	{ }
};

const struct test_case script_cases[] = {
	{ "script.hold", T_REL, CASE_SCRIPT | CASE_ONCE, C_MSG, .pair = hold },
	{ "script.fabric", T_REL, CASE_SCRIPT | CASE_ONCE, C_MSG, hold_fabric },
	{ "script.lent", T_REL, CASE_SCRIPT, C_MSG | C_RMA, .pair = lent_memory },
	{ "script.granted", T_REL, CASE_SCRIPT, C_MSG | C_RMA, .pair = granted },
	{ "script.wire_cut", T_REL, CASE_SCRIPT, C_MSG | C_RMA, .pair = wire_cut },
	{ "script.wire_trickle", T_REL, CASE_SCRIPT, C_RMA, .pair = wire_trickle },
	{ "script.wire_pause", T_REL, CASE_SCRIPT, C_MSG | C_TAGGED | C_RMA, .pair = wire_pause },
	{ "script.wire_held", T_REL, CASE_SCRIPT, C_MSG | C_TAGGED | C_RMA, wire_held },
	{ "script.held_close", T_REL, CASE_SCRIPT, C_MSG, .pair = held_close },
	{ "script.namespace_gone", T_REL, CASE_SCRIPT, C_MSG | C_TAGGED | C_RMA,
	  .pair = namespace_gone },
	{ "script.device_gone", T_REL, CASE_SCRIPT, C_MSG | C_RMA, device_gone },
	{ "script.call_waits", T_RDM, CASE_SCRIPT, C_MSG | C_TAGGED | C_RMA, .pair = call_waits },
	{ "script.other_bridge", T_MSG, CASE_SCRIPT, C_MSG, other_bridge },
	{ "script.garbage_datagrams", T_DGRAM, CASE_SCRIPT, C_MSG, .pair = garbage_peer },
	{ }
};
