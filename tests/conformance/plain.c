// SPDX-License-Identifier: GPL-2.0
/*
 * Endpoints that are plain queue pairs (KFI_PROTO_RDMA_CM_IB_RC): receives and keys that are the
 * device's, and what there is not without a protocol of the provider's.
 */
#include <linux/delay.h>
#include <linux/vmalloc.h>
#include "harness.h"

/* Both hear of the end of the connection. */
static void both_end(struct pair *p)
{
	struct event *ev = test_new(p->a.t, struct event);
	struct node *n[] = { &p->a, &p->b };
	int i;

	for (i = 0; ev && i < 2; i++) {
		if (WAIT_EVENT(n[i], ev))
			return;
		EXPECT_EQ(n[i]->t, ev->err, 0);
		EXPECT_EQ(n[i]->t, ev->type, KFI_SHUTDOWN);
		EXPECT(n[i]->t, ev->fid == &n[i]->ep->fid);
	}
}

/* ---- receives that wait for a connection ---- */

#define EARLY	32

static size_t early_len(int i)
{
	return 1 + i * 97;
}

static void send_all(struct pair *p, u8 *tx)
{
	struct test *t = p->a.t;
	comp_t c;
	int i;

	for (i = 0; i < EARLY; i++) {
		if (i == 5)
			continue;
		fill(tx, early_len(i), i);
		if (POST(t, kfi_send(p->b.ep, tx, early_len(i), NULL, 0, CTX(i))) || WAIT_TX(&p->b, &c))
			return;
		EXPECT_COMP(t, &c, CTX(i), KFI_MSG | KFI_SEND);
	}
}

/* They keep their order, and can be taken back as long as no device has them. */
static void before(struct test *t)
{
	struct pair *p = test_new(t, struct pair);
	u8 *tx = test_zalloc(t, 4096), *rx = test_zalloc(t, EARLY * 4096);
	comp_t c;
	int i;

	REQUIRE(t, !node_open_ep(t, &p->a, 0, NULL) && !node_open(t, &p->b, 1, NULL) &&
		   !node_listen(&p->b));
	for (i = 0; i < EARLY; i++)
		REQUIRE(t, !POST(t, kfi_recv(p->a.ep, rx + 4096 * i, 4096, NULL, KFI_ADDR_UNSPEC, CTX(i))));
	EXPECT_EQ(t, kfi_cancel(&p->a.ep->fid, CTX(5)), 0);
	EXPECT_EQ(t, kfi_cancel(&p->a.ep->fid, CTX(5)), -ENOENT);
	REQUIRE_RX_ERR(&p->a, &c, CTX(5), ECANCELED);
	REQUIRE(t, !pair_connect(&p->a, &p->b));
	EXPECT_EQ(t, kfi_cancel(&p->a.ep->fid, CTX(6)), -ENOENT);
	send_all(p, tx);
	for (i = 0; i < EARLY; i++) {
		if (i == 5)
			continue;
		REQUIRE_RX(&p->a, &c, CTX(i), KFI_MSG | KFI_RECV);
		EXPECT_EQ(t, c.len, early_len(i));
		EXPECT_DATA(t, rx + 4096 * i, c.len, i);
	}
	NONE_RX(&p->a);
}

/* Those that never get one end with the attempt to connect. */
static void never(struct test *t)
{
	struct pair *p = test_new(t, struct pair);
	u8 *rx = test_zalloc(t, 4096);
	struct event *ev = test_new(t, struct event);
	comp_t c;
	int i;

	REQUIRE(t, !node_open_ep(t, &p->a, 0, NULL) && !node_open(t, &p->b, 1, NULL) &&
		   !node_listen(&p->b));
	REQUIRE_EQ(t, test_close(t, &p->b.pep->fid), 0);
	for (i = 0; i < 4; i++)
		REQUIRE(t, !POST(t, kfi_recv(p->a.ep, rx + 64 * i, 64, NULL, KFI_ADDR_UNSPEC, CTX(i))));
	EXPECT_EQ(t, kfi_connect(p->a.ep, p->b.addr, NULL, 0), 0);
	REQUIRE(t, !event_wait(t, p->a.eq, ev, t->w->loss_ms + t->w->wait_ms, __FILE__, __LINE__));
	EXPECT_EQ(t, ev->err, ECONNREFUSED);
	for (i = 0; i < 4; i++) {
		REQUIRE_EQ(t, comp_poll(&p->a, p->a.rxcq, &c), 1);
		EXPECT(t, c.err > 0 && c.op_context == CTX(i));
	}
	REQUIRE(t, !POST(t, kfi_recv(p->a.ep, rx, 64, NULL, KFI_ADDR_UNSPEC, CTX(4))));
	REQUIRE_EQ(t, comp_poll(&p->a, p->a.rxcq, &c), 1);
	EXPECT_ERR(t, &c, CTX(4), ESHUTDOWN);
	NONE_RX(&p->a);
}

/* A message waits for its receive no longer than that takes, whichever side has called: the device asks again soon. */
static void late(struct test *t, struct pair *p)
{
	u8 *buf = test_zalloc(t, 256);
	unsigned long start;
	comp_t c;
	int i;

	for (i = 0; i < 2; i++) {
		struct node *from = i ? &p->b : &p->a, *to = i ? &p->a : &p->b;
		int n;

		start = jiffies;
		for (n = 0; n < 20; n++) {
			REQUIRE(t, !POST(t, kfi_send(from->ep, buf, 100, NULL, 0, CTX(n))));
			usleep_range(5000, 6000);
			REQUIRE(t, !POST(t, kfi_recv(to->ep, buf + 128, 100, NULL, KFI_ADDR_UNSPEC, CTX(n))) && !WAIT_RX(to, &c) &&
				   !WAIT_TX(from, &c));
		}
		EXPECT(t, time_before(jiffies, start + 6 * HZ));	/* 13 s, if the device were told nothing */
	}
}

/*
 * A connection on which nothing happens stays, although the device reports nothing of the last message. The pause is longer than
 * keepalive_s and peer_timeout_ms together.
 */
static void idle(struct test *t, struct pair *p)
{
	u8 *buf = test_zalloc(t, 256);
	comp_t c;
	int i;

	for (i = 0; i < 2; i++) {
		REQUIRE(t, !POST(t, kfi_recv(p->b.ep, buf, 100, NULL, KFI_ADDR_UNSPEC, CTX(i))));
		REQUIRE(t, !POST(t, kfi_inject(p->a.ep, buf + 128, 16, 0)) && !WAIT_RX(&p->b, &c));
		EXPECT_COMP(t, &c, CTX(i), KFI_MSG | KFI_RECV);
		if (!i)
			msleep(25000);
	}
	NONE_RX(&p->a);
}

/* ---- what does not fit ---- */

/* Of the device's words for it some are plainer than others. */
static bool says_too_long(int err)
{
	return err == KFI_ETRUNC || err == EIO;
}

static void one_too_long(struct test *t, size_t room, size_t len)
{
	struct pair *p = pair_open(t, NULL, NULL);
	u8 *tx = test_pages(t, 16384), *rx = test_pages(t, 16384);
	comp_t c;
	int i;

	REQUIRE(t, p);
	memset(rx, 0x5a, 16384);
	for (i = 0; i < 3; i++)
		REQUIRE(t, !POST(t, kfi_recv(p->b.ep, rx + 5000 * i, i ? 4096 : room, NULL, KFI_ADDR_UNSPEC, CTX(i))));
	POST(t, kfi_send(p->a.ep, tx, len, NULL, 0, tx));
	REQUIRE(t, !WAIT_TX(&p->a, &c));
	EXPECT(t, c.err > 0 && c.op_context == tx);
	for (i = 0; i < 3; i++) {
		REQUIRE(t, !WAIT_RX(&p->b, &c));
		EXPECT(t, c.op_context == CTX(i));
		EXPECT(t, i ? c.err > 0 : says_too_long(c.err));
	}
	both_end(p);
	EXPECT_EQ(t, not_all(rx + room, 16384 - room, 0x5a), -1);
	EXPECT_EQ(t, kfi_send(p->a.ep, tx, 1, NULL, 0, NULL), -ESHUTDOWN);
	REQUIRE(t, !POST(t, kfi_recv(p->b.ep, rx, 1, NULL, KFI_ADDR_UNSPEC, CTX(3))));
	REQUIRE_RX_ERR(&p->b, &c, CTX(3), ESHUTDOWN);
	node_close(&p->a);
	node_close(&p->b);
}

/* A message that is longer than its receive ends the connection, and not a byte of it is beyond the receive. */
static void too_long(struct test *t)
{
	if (t->w->over_kfi) {
		test_skip(t, "the sender hears of it when the connection ends");
		return;
	}
	one_too_long(t, 100, 101);
	one_too_long(t, 0, 65);
	one_too_long(t, 1000, 9000);
}

/* Memory that lies in more pieces than a request has, which are 16 at most: of side A, for the other's is what the agent has. */
static void pieces(struct test *t, struct pair *p)
{
	size_t len = 20 * PAGE_SIZE;
	u8 *buf = vzalloc(len);
	comp_t c;

	if (EXPECT(t, buf)) {
		EXPECT_EQ(t, kfi_recv(p->a.ep, buf, len, NULL, KFI_ADDR_UNSPEC, NULL), -EMSGSIZE);
		if (!POST(t, kfi_send(p->a.ep, buf, len, NULL, 0, buf)) && !WAIT_TX(&p->a, &c))
			EXPECT_ERR(t, &c, buf, EMSGSIZE);
		still_works(p);
	}
	vfree(buf);
}

/* ---- what there is not ---- */

static int open_as(struct node *n, u64 caps, enum kfi_ep_type type)
{
	struct kfi_info *info = kfi_dupinfo(n->info);
	struct kfid_ep *ep;
	int ret;

	if (!info)
		return -ENOMEM;
	info->caps |= caps;
	info->ep_attr->type = type;
	ret = kfi_endpoint(n->domain, info, &ep, NULL);
	if (!ret)
		kfi_close(&ep->fid);
	kfi_freeinfo(info);
	return ret;
}

static void absent(struct test *t, struct pair *p)
{
	u8 *buf = test_zalloc(t, 64);
	struct kvec iov = { buf, 8 };
	struct kfi_msg msg = { .type = KFI_KVEC, .msg_iov = &iov, .iov_count = 1 };
	struct kfi_rma_iov remote = { .len = 8 };
	struct kfi_msg_rma write = { .type = KFI_KVEC, .msg_iov = &iov, .iov_count = 1, .rma_iov = &remote, .rma_iov_count = 1 };

	EXPECT_EQ(t, t->info[0]->ep_attr->protocol, KFI_PROTO_RDMA_CM_IB_RC);
	EXPECT_EQ(t, t->info[0]->domain_attr->max_ep_srx_ctx, 0);
	EXPECT_EQ(t, open_as(&p->a, KFI_TAGGED, KFI_EP_MSG), -EOPNOTSUPP);
	EXPECT_EQ(t, open_as(&p->a, KFI_ATOMIC, KFI_EP_MSG), -EOPNOTSUPP);
	EXPECT_EQ(t, open_as(&p->a, KFI_MULTI_RECV, KFI_EP_MSG), -EOPNOTSUPP);
	EXPECT_EQ(t, open_as(&p->a, 0, KFI_EP_RDM), -EINVAL);
	EXPECT_EQ(t, open_as(&p->a, 0, KFI_EP_MSG), 0);
	EXPECT_EQ(t, kfi_sendmsg(p->a.ep, &msg, KFI_DELIVERY_COMPLETE), -EOPNOTSUPP);
	EXPECT_EQ(t, kfi_writemsg(p->a.ep, &write, KFI_REMOTE_CQ_DATA), -EOPNOTSUPP);
	EXPECT_EQ(t, kfi_writemsg(p->a.ep, &write, KFI_COMMIT_COMPLETE), -EOPNOTSUPP);
	EXPECT_EQ(t, kfi_trecv(p->a.ep, buf, 8, NULL, KFI_ADDR_UNSPEC, 1, 0, NULL), -EOPNOTSUPP);
	still_works(p);
}

/*
 * Requests for one feature that a plain queue pair lacks. There is none for credits: no attribute
 * asks for them, and a message without a receive waits (plain.late).
 */
struct absent_feature {
	const char	*name;
	u64		caps, tx_flags, rx_flags;
	int		no_mr_mode;	/* bits of mr_mode that the hints do not permit */
	u32		protocol;
	bool		key, shared_rx, contexts;
};

static const struct absent_feature absent_features[] = {
	{ "tags", .caps = KFI_TAGGED },
	{ "tagged RMA", .caps = KFI_TAGGED_RMA },
	{ "atomics", .caps = KFI_ATOMIC },
	{ "multi-receive", .caps = KFI_MULTI_RECV },
	{ "multi-receive by default", .rx_flags = KFI_MULTI_RECV },
	{ "sources", .caps = KFI_SOURCE },
	{ "directed receives", .caps = KFI_DIRECTED_RECV },
	{ "events of remote accesses", .caps = KFI_RMA_EVENT },
	{ "durable memory", .caps = KFI_RMA_PMEM },
	{ "places", .caps = KFI_PLACE },
	{ "protection", .caps = KFI_PROTECTED },
	{ "delivery", .tx_flags = KFI_DELIVERY_COMPLETE },
	{ "durability", .tx_flags = KFI_COMMIT_COMPLETE },
	{ "an authorization key", .key = true },
	{ "keys of its own choice", .no_mr_mode = KFI_MR_PROV_KEY },
	{ "offsets", .no_mr_mode = KFI_MR_VIRT_ADDR },
	{ "regions of the domain", .no_mr_mode = KFI_MR_ENDPOINT },
	{ "shared receives", .shared_rx = true },
	{ "two contexts", .contexts = true },
	{ "kfabric's protocol", .protocol = KFI_PROTO_KFI_RC },
};

static void not_offered(struct test *t)
{
	static u8 secret[16] = "sixteen of them";
	const struct absent_feature *f = absent_features;
	struct kfi_info *hints, *info;

	REQUIRE_EQ(t, test_getinfo(t, 0, C_MSG | C_RMA, &info), 0);
	EXPECT_EQ(t, info->domain_attr->mr_key_size, sizeof(u32));
	kfi_freeinfo(info);
	for (; f < absent_features + ARRAY_SIZE(absent_features); f++) {
		hints = test_hints(t, C_MSG | C_RMA | f->caps);
		info = NULL;
		hints->tx_attr->op_flags = f->tx_flags;
		hints->rx_attr->op_flags = f->rx_flags;
		hints->domain_attr->mr_mode &= ~f->no_mr_mode;
		hints->ep_attr->auth_key_size = f->key ? sizeof(secret) : 0;
		hints->ep_attr->auth_key = f->key ? kmemdup(secret, sizeof(secret), GFP_KERNEL) : NULL;
		hints->ep_attr->rx_ctx_cnt = f->shared_rx ? KFI_SHARED_CONTEXT : f->contexts ? 2 : 0;
		hints->ep_attr->protocol = f->protocol;
		if (!EXPECT_EQ(t, test_answer(t, 0, hints, &info), -ENODATA))
			FAIL(t, "asked for %s", f->name);
		kfi_freeinfo(info);
	}
}

/*
 * What an RDM endpoint does not accept as the first message: docs/wire-verbs.md. Versions are the
 * last two bytes.
 */
static const struct {
	size_t	len;
	char	data[9];
} wrong_fronts[] = {
	{ 0 },
	{ 8, "KFIV" },				/* of no version */
	{ 8, "KFIW\0\0\5\5" },
	{ 8, "KFIV\0\0\4\1" },
	{ 8, "KFIV\0\0\4\5" },
	{ 8, "KFIV\0\0\377\6" },
	{ 8, "KFIV\0\0\377\377" },
};

/* An RDM endpoint wants a hello of its version: a queue pair that calls it gets no connection. */
static void foreign(struct test *t)
{
	struct node *a = test_new(t, struct node), *b = test_new(t, struct node);
	struct node_opts opts = { .caps = C_MSG };
	struct event *ev = test_new(t, struct event);
	struct kfi_info *info = t->info[1];
	int i, ret;

	t->type = KFI_EP_RDM;
	ret = test_getinfo(t, 1, C_MSG, &t->info[1]) ?: node_open_ep(t, b, 1, &opts);
	kfi_freeinfo(t->info[1]);
	t->type = KFI_EP_MSG;
	t->info[1] = info;
	REQUIRE_EQ(t, ret, 0);
	REQUIRE(t, !node_open_ep(t, a, 0, NULL));
	for (i = 0; i < ARRAY_SIZE(wrong_fronts); i++) {
		EXPECT_EQ(t, kfi_connect(a->ep, b->addr, wrong_fronts[i].data,
					 wrong_fronts[i].len), 0);
		REQUIRE(t, !WAIT_EVENT(a, ev));
		EXPECT(t, ev->fid == &a->ep->fid);
		EXPECT_EQ(t, ev->err, ECONNREFUSED);
		REQUIRE(t, !node_close_ep(a));
		REQUIRE(t, !node_endpoint(a, a->info) && !node_enable(a));
	}
}

/* ---- RMA by keys of the device ---- */

#define BOTH	(KFI_REMOTE_READ | KFI_REMOTE_WRITE)
#define REACH	4096

/* Why the device refuses an access of 16 bytes: see refused_by_device() */
enum reason { W_KEY, W_NO_KEY, W_LONG_KEY, W_BEFORE, W_BEHIND, W_RIGHT, W_CLOSED, W_ENDPOINT, W_DOMAIN, REASONS };

/* An access that the peer's device refuses: nothing moves, on neither side. */
static bool is_no_access(struct pair *p, bool write, u8 *near, u64 addr, u64 key)
{
	struct node *a = &p->a;
	struct test *t = a->t;
	comp_t c;

	memset(near, 0xa5, 16);
	if (POST(t, write ? kfi_write(a->ep, near, 16, NULL, 0, addr, key, near) :
			    kfi_read(a->ep, near, 16, NULL, 0, addr, key, near)) ||
	    WAIT_TX(a, &c))
		return false;
	EXPECT(t, c.op_context == near);
	EXPECT_EQ(t, c.err, EACCES);
	EXPECT_EQ(t, c.flags, KFI_RMA | (write ? KFI_WRITE : KFI_READ));
	return EXPECT_EQ(t, not_all(near, 16, 0xa5), -1);
}

/* Another connection, whose side B shares all but the endpoint with that of @p. */
static struct pair *pair_beside(struct pair *p)
{
	struct test *t = p->a.t;
	struct pair *other = test_new(t, struct pair);

	other->b = p->b;
	other->b.ep = NULL;
	return node_open_ep(t, &other->a, 0, NULL) || pair_connect(&other->a, &other->b) ? NULL : other;
}

/* Both sides hear of the end, unless no device has seen the key. */
static void refused_by_device(struct test *t, enum reason why, bool write)
{
	struct pair *p = pair_open(t, NULL, NULL), *other = why == W_DOMAIN ? pair_open(t, NULL, NULL) : NULL;
	u8 *near = test_zalloc(t, 64), *far = test_pages(t, 3 * REACH);
	u64 right = why == W_RIGHT ? (write ? KFI_REMOTE_READ : KFI_REMOTE_WRITE) : BOTH;
	struct region r;
	u64 addr, key;

	REQUIRE(t, p);
	if (why == W_ENDPOINT)
		other = pair_beside(p);
	REQUIRE(t, other || why < W_ENDPOINT);
	REQUIRE(t, !region_open(other ? &other->b : &p->b, &r, far + REACH, REACH, right));
	memset(far, 0x5a, 3 * REACH);
	addr = r.addr + (why == W_BEFORE ? -8 : why == W_BEHIND ? REACH - 8 : 0);
	key = why == W_KEY ? r.key ^ 1 : why == W_NO_KEY ? 0 : why == W_LONG_KEY ? r.key | BIT_ULL(32) : r.key;
	if (why == W_CLOSED)
		REQUIRE_EQ(t, test_close(t, &r.mr->fid), 0);
	REQUIRE(t, is_no_access(p, write, near, addr, key));
	EXPECT_EQ(t, not_all(far, 3 * REACH, 0x5a), -1);
	if (why == W_LONG_KEY) {
		still_works(p);
		return;
	}
	both_end(p);
	/* The region is there for others. */
	if (other) {
		struct node *a = &other->a;
		comp_t c;

		REQUIRE(t, !POST(t, kfi_write(a->ep, near, 16, NULL, 0, r.addr, r.key, near)) && !WAIT_TX(a, &c));
		EXPECT_EQ(t, c.err, 0);
	}
}

static void wrong_keys(struct test *t)
{
	int why, write;

	for (why = 0; why < REASONS; why++)
		for (write = 0; write < 2; write++) {
			refused_by_device(t, why, write);
			if (t->failures) {
				FAIL(t, "%s, reason %d", write ? "write" : "read", why);
				return;
			}
		}
}

/* What a key of the device's can't be for is refused when the region is made. */
static void no_region(struct test *t, struct pair *p)
{
	u8 *buf = test_pages(t, 4 * PAGE_SIZE);
	struct kvec gap[] = { { buf, 100 }, { buf + PAGE_SIZE, 100 } };
	struct kfid_mr *mr;

	EXPECT_EQ(t, kfi_mr_reg(p->b.domain, buf, 64, BOTH, 0, 0, KFI_RMA_EVENT, &mr, NULL), -EOPNOTSUPP);
	EXPECT_EQ(t, kfi_mr_regv(p->b.domain, gap, 2, BOTH, 0, 0, 0, &mr, NULL), -EINVAL);
	REQUIRE_EQ(t, kfi_mr_reg(p->b.domain, buf, 64, BOTH, 0, 0, 0, &mr, NULL), 0);
	EXPECT_EQ(t, kfi_mr_key(mr), KFI_KEY_NOTAVAIL);	/* it depends on the endpoint */
	EXPECT_EQ(t, kfi_mr_enable(mr), -KFI_EOPBADSTATE);
	EXPECT_EQ(t, kfi_close(&mr->fid), 0);
	still_works(p);
}

/* A region that waits for the connection is there when the peer gets the first message. */
static void region_first(struct test *t)
{
	struct pair *p = test_new(t, struct pair);
	u8 *near = test_zalloc(t, 128), *far = test_pages(t, REACH);
	struct region *r = test_zalloc(t, EARLY * sizeof(*r));
	comp_t c;
	int i;

	REQUIRE(t, !node_open_ep(t, &p->a, 0, NULL) && !node_open(t, &p->b, 1, NULL) &&
		   !node_listen(&p->b));
	for (i = 0; i < EARLY; i++)
		REQUIRE(t, !region_open(&p->a, &r[i], far + i * 64, 64, BOTH));
	REQUIRE(t, !pair_connect(&p->a, &p->b));
	REQUIRE(t, !POST(t, kfi_recv(p->b.ep, near + 64, 64, NULL, KFI_ADDR_UNSPEC, near)) &&
		   !POST(t, kfi_send(p->a.ep, near, 16, NULL, 0, near)) && !WAIT_TX(&p->a, &c) && !WAIT_RX(&p->b, &c));
	for (i = 0; i < EARLY; i++) {
		fill(near, 64, i);
		REQUIRE(t, !POST(t, kfi_write(p->b.ep, near, 64, NULL, 0, r[i].addr, r[i].key, near)) && !WAIT_TX(&p->b, &c));
		EXPECT_EQ(t, c.err, 0);
		EXPECT(t, test_until(t, differs(far + i * 64, 64, i) == -1));
	}
}

/* ---- memory for one I/O ---- */

/*
 * Pages that begin anywhere have an address with that place in it, whatever offset the owner has named; and the peer may use what a message tells
 * of at once, without a registration that anybody has waited for.
 */
static void pages(struct test *t, struct pair *p)
{
	u8 *near = test_pages(t, 2 * PAGE_SIZE), *far = test_pages(t, 2 * PAGE_SIZE), *note = test_zalloc(t, 64);
	struct bio_vec bv[2];
	struct kfi_mr_attr attr = {
		.type = KFI_BVEC, .mr_biov = bv, .iov_count = 2, .access = BOTH, .offset = 0x123456789000,
		.requested_key = KFI_KEY_NOTAVAIL,
	};
	struct io_work *io = io_work_new(t);
	struct kfid_mr *mr;
	u64 key = 0, off;
	comp_t c;
	int i;

	REQUIRE_EQ(t, kfi_mr_alloc(p->b.domain, 2, 0, &mr, NULL), 0);
	test_keep(t, &mr->fid);
	EXPECT_EQ(t, kfi_mr_register(mr, &attr, NULL), -EINVAL);	/* nobody's */
	REQUIRE_EQ(t, kfi_mr_bind(mr, &p->b.ep->fid, 0), 0);
	for (i = 0; i < 20 && !t->failures; i++) {
		off = i * 100;
		bvec_set_page(&bv[0], test_page(far), PAGE_SIZE - off, off);
		bvec_set_page(&bv[1], test_page(far + PAGE_SIZE), 77, 0);
		REQUIRE_EQ(t, kfi_mr_register(mr, &attr, i & 1 ? &io->work : NULL), 0);
		if (i & 1)
			REQUIRE(t, io_work_wait(t, io));
		EXPECT_EQ(t, kfi_mr_addr(mr), 0x123456789000 + off);
		EXPECT(t, kfi_mr_key(mr) != key && kfi_mr_key(mr) <= U32_MAX);
		key = kfi_mr_key(mr);
		REQUIRE(t, !POST(t, kfi_recv(p->a.ep, note, 64, NULL, KFI_ADDR_UNSPEC, note)) &&
			   !POST(t, kfi_send(p->b.ep, &key, 8, NULL, 0, &key)) && !WAIT_RX(&p->a, &c) && !WAIT_TX(&p->b, &c));
		fill(near, PAGE_SIZE - off + 77, i);
		REQUIRE(t, !POST(t, kfi_write(p->a.ep, near, PAGE_SIZE - off + 77, NULL, 0, kfi_mr_addr(mr), *(u64 *)note, near)) &&
			   !WAIT_TX(&p->a, &c));
		EXPECT_EQ(t, c.err, 0);
		EXPECT_DATA(t, far + off, PAGE_SIZE - off + 77, i);
		REQUIRE_EQ(t, kfi_mr_invalidate(mr, &io->work), 0);
		REQUIRE(t, io_work_wait(t, io));
	}
	/* Without a connection nobody can be told of it. */
	EXPECT_EQ(t, kfi_shutdown(p->a.ep, 0), 0);
	both_end(p);
	EXPECT_EQ(t, kfi_mr_register(mr, &attr, NULL), -ENOTCONN);
}

/*
 * The key of a long-lived region is not the peer's to end: that costs the connection. A peer of another endpoint can use the region all the same, whether
 * or not the device has taken the key from it (rxe does).
 */
static void invalidate_other(struct test *t)
{
	bool beside = case_num(t);
	struct pair *p = pair_open(t, NULL, NULL), *other = NULL;
	u8 *buf = test_zalloc(t, 64), *far = test_pages(t, REACH);
	struct kvec iov = { buf, 16 };
	struct kfi_msg msg = { .type = KFI_KVEC, .msg_iov = &iov, .iov_count = 1, .context = buf };
	struct region r;
	comp_t c;

	REQUIRE(t, p);
	if (beside && t->w->over_kfi) {
		test_skip(t, "a key that the domain does not have is that of a region that has ended");
		return;
	}
	if (beside)
		other = pair_beside(p);
	REQUIRE(t, (other || !beside) && !region_open(beside ? &other->b : &p->b, &r, far, REACH, BOTH));
	msg.inv_key = BIT_ULL(32);
	EXPECT_EQ(t, kfi_sendmsg(p->a.ep, &msg, KFI_INVALIDATE), -EINVAL);
	msg.inv_key = r.key;
	REQUIRE(t, !POST(t, kfi_recv(p->b.ep, far, 64, NULL, KFI_ADDR_UNSPEC, far)));
	REQUIRE(t, !POST(t, kfi_sendmsg(p->a.ep, &msg, KFI_INVALIDATE | KFI_COMPLETION)));
	REQUIRE(t, !WAIT_TX(&p->a, &c) && !WAIT_RX(&p->b, &c));
	EXPECT(t, c.err == EPROTO || (beside && c.err));
	EXPECT(t, !(c.flags & KFI_INVALIDATE));
	both_end(p);
	if (!beside)
		return;
	/* If the region was registered again, that was before this message. */
	REQUIRE(t, !transfer(&other->b, &other->a, 100, 1));
	REQUIRE(t, !POST(t, kfi_write(other->a.ep, buf, 16, NULL, 0, r.addr, r.key, buf)) && !WAIT_TX(&other->a, &c));
	EXPECT_EQ(t, c.err, 0);
}

/* ---- many at once ---- */

#define READS	200

/* More READs than a device has under way, in series, into memory of more pieces than a request has. */
static void reads(struct test *t, struct pair *p)
{
	size_t len = 3 * PAGE_SIZE, all = 40 * PAGE_SIZE;
	u8 *far = test_pages(t, all), *near = vzalloc(READS * 64 + all);
	struct kfi_rma_iov rma;
	struct kvec iov;
	struct kfi_msg_rma msg = { .type = KFI_KVEC, .msg_iov = &iov, .iov_count = 1, .rma_iov = &rma, .rma_iov_count = 1 };
	struct region r;
	comp_t c;
	int i;

	if (!EXPECT(t, far && near && !region_open(&p->b, &r, far, all, BOTH)))
		goto free;
	fill(far, all, 1);
	for (i = 0; i < READS && !t->failures; i++) {
		iov = (struct kvec){ near + i * 64, 64 };
		rma = (struct kfi_rma_iov){ r.addr + i * 64, 64, r.key };
		msg.context = CTX(i);
		POST(t, kfi_readmsg(p->a.ep, &msg, KFI_COMPLETION | (i % 7 ? KFI_MORE : 0)));
	}
	for (i = 0; i < READS && !t->failures; i++) {
		if (WAIT_TX(&p->a, &c))
			goto free;
		EXPECT_EQ(t, c.err, 0);
	}
	EXPECT_DATA(t, near, READS * 64, 1);
	for (i = 0; i < 8 && !t->failures; i++) {
		len = i & 1 ? all : len;
		memset(near, 0, all);
		if (POST(t, kfi_read(p->a.ep, near + 13 * i, len - 13 * i, NULL, 0, r.addr, r.key, near)) || WAIT_TX(&p->a, &c))
			goto free;
		EXPECT_EQ(t, c.err, 0);
		EXPECT_DATA(t, near + 13 * i, len - 13 * i, 1);
		if (POST(t, kfi_write(p->a.ep, near + 13 * i, len - 13 * i, NULL, 0, r.addr, r.key, near)) || WAIT_TX(&p->a, &c))
			goto free;
		EXPECT_EQ(t, c.err, 0);
		EXPECT_DATA(t, far, all, 1);
	}
free:
	node_close(&p->a);
	vfree(near);
}

const struct test_case plain_cases[] = {
	{ "plain.before", T_MSG, CASE_HW_RECV, C_MSG, before },
	{ "plain.never", T_MSG, CASE_HW_RECV, C_MSG, never },
	{ "plain.late", T_MSG, CASE_HW_RECV, C_MSG, .pair = late },
	{ "plain.idle", T_MSG, CASE_HW_RECV, C_MSG, .pair = idle },
	{ "plain.too_long", T_MSG, CASE_HW_RECV, C_MSG, too_long },
	{ "plain.pieces", T_MSG, CASE_HW_RECV, C_MSG, .pair = pieces },
	{ "plain.absent", T_MSG, CASE_HW_RECV, C_MSG, .pair = absent },
	{ "plain.not_offered", T_MSG, CASE_HW_RECV, C_MSG, not_offered },
	{ "plain.foreign", T_MSG, CASE_HW_RECV, C_MSG, foreign },
	{ "plain.wrong_keys", T_MSG, CASE_HW_RECV, C_MSG | C_RMA, wrong_keys },
	{ "plain.no_region", T_MSG, CASE_HW_RECV, C_MSG | C_RMA, .pair = no_region },
	{ "plain.region_first", T_MSG, CASE_HW_RECV, C_MSG | C_RMA, region_first },
	{ "plain.pages", T_MSG, CASE_HW_RECV, C_MSG | C_RMA, .pair = pages },
	{ "plain.invalidates_other", T_MSG, CASE_HW_RECV, C_MSG | C_RMA, invalidate_other,
	  CASE_NUM(false) },
	{ "plain.invalidates_beside", T_MSG, CASE_HW_RECV, C_MSG | C_RMA, invalidate_other,
	  CASE_NUM(true) },
	{ "plain.reads", T_MSG, CASE_HW_RECV, C_MSG | C_RMA, .pair = reads },
	{ }
};
