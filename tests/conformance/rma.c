// SPDX-License-Identifier: GPL-2.0
/* Remote memory access that succeeds. errors.c has accesses that must not. */
#include "harness.h"

static void sizes(struct test *t, struct pair *p)
{
	bool write = case_num(t);
	size_t max = size_max(t), size;
	u8 *near = test_pages(t, max), *far = test_pages(t, max);
	struct region r;
	comp_t c;

	REQUIRE(t, !region_open(&p->b, &r, far, max, ALL_RIGHTS));
	for (size = 1; size <= max && !t->failures; size = size_next(t, size)) {
		fill(write ? near : far, size, size);
		memset(write ? far : near, 0, size);
		if (write)
			POST(t,
			     kfi_write(p->a.ep, near, size, NULL, p->a.peer, r.addr, r.key, near));
		else
			POST(t,
			     kfi_read(p->a.ep, near, size, NULL, p->a.peer, r.addr, r.key, near));
		REQUIRE_TX(&p->a, &c, near, KFI_RMA | (write ? KFI_WRITE : KFI_READ));
		if (write)
			EXPECT(t, test_until(t, differs(far, size, size) == -1));
		else
			EXPECT_DATA(t, near, size, size);
		if (t->failures)
			FAIL(t, "with %zu bytes", size);
	}
	/* The target was not involved. */
	NONE_RX(&p->b);
	NONE_TX(&p->b);
}

/* A reader at the target sees delivered data when the completion has come. */
static void delivered(struct test *t)
{
	struct node_opts opts = { .tx_op_flags = KFI_DELIVERY_COMPLETE };
	struct kfi_info *hints = test_hints(t, t->c->caps), *info;
	struct pair *p;
	u8 *near, *far;
	struct region r;
	comp_t c;
	int i;

	hints->tx_attr->op_flags = KFI_DELIVERY_COMPLETE;
	i = test_answer(t, 0, hints, &info);
	if (i == -ENODATA) {
		test_skip(t, "getinfo refuses delivery complete");
		return;
	}
	REQUIRE_EQ(t, i, 0);
	kfi_freeinfo(info);
	p = pair_open(t, &opts, NULL);
	near = test_pages(t, 65536);
	far = test_pages(t, 65536);
	REQUIRE(t, p && !region_open(&p->b, &r, far, 65536, ALL_RIGHTS));
	for (i = 0; i < 30 && !t->failures; i++) {
		size_t len = 1 + test_random(t, 65536);

		fill(near, len, i);
		POST(t, kfi_write(p->a.ep, near, len, NULL, p->a.peer, r.addr, r.key, near));
		REQUIRE_TX_OK(&p->a, &c);
		EXPECT_DATA(t, far, len, i);
	}
}

/* It needs no posted receive, and uses none. */
static void remote_data(struct test *t, struct pair *p)
{
	u8 *near = test_pages(t, 8192), *far = test_pages(t, 8192), *rx = test_zalloc(t, 64);
	struct region r;
	comp_t c;
	int i;

	REQUIRE(t, !region_open(&p->b, &r, far, 8192, ALL_RIGHTS));
	for (i = 0; i < 20 && !t->failures; i++) {
		size_t len = i ? 1 + test_random(t, 8192) : 0;

		if (i == 10)
			POST(t, kfi_recv(p->b.ep, rx, 64, NULL, KFI_ADDR_UNSPEC, rx));
		fill(near, len, i);
		POST(t, kfi_writedata(p->a.ep, near, len, NULL, 0xfeed0000 + i, p->a.peer, r.addr,
				      r.key, CTX(i)));
		REQUIRE_RX_OK(&p->b, &c);
		EXPECT_EQ(t, c.flags, KFI_RMA | KFI_REMOTE_WRITE | KFI_REMOTE_CQ_DATA);
		EXPECT_EQ(t, c.data, 0xfeed0000 + i);
		/* The entry reports that the data is in place. */
		EXPECT_DATA(t, far, len, i);
		REQUIRE_TX(&p->a, &c, CTX(i), KFI_RMA | KFI_WRITE);
	}
	POST(t, kfi_send(p->a.ep, near, 8, NULL, p->a.peer, near));
	REQUIRE_RX(&p->b, &c, rx, KFI_MSG | KFI_RECV);
	REQUIRE(t, !WAIT_TX(&p->a, &c));
}

#define MANY	200	/* remote segments */
#define MANY_LEN 96	/* bytes of the longest segment */

struct many {
	struct pair		*p;
	struct kfi_rma_iov	rma[MANY];
	struct region		r[4];
	u8			*near, *far;
	size_t			len;
	struct kvec		iov;	/* @len bytes of @near */
	struct kfi_msg_rma	msg;	/* of @iov and all segments */
};

/*
 * Both sides ask for that many. Segments are of all regions in turn, of different lengths, with a
 * gap behind each.
 */
static struct many *many_open(struct test *t)
{
	struct many *m = test_new(t, struct many);
	struct kfi_info *hints, *info;
	size_t i, at;
	int side, ret;

	for (side = 0; side < 2; side++) {
		hints = test_hints(t, t->c->caps);
		hints->tx_attr->rma_iov_limit = MANY;
		ret = test_answer(t, side, hints, &info);
		if (ret == -ENODATA)
			test_skip(t, "an operation names fewer segments");
		if (ret || t->skipped)
			return NULL;
		kfi_freeinfo(t->info[side]);
		t->info[side] = info;
	}
	m->p = pair_open(t, NULL, NULL);
	m->near = test_pages(t, MANY * MANY_LEN);
	m->far = test_pages(t, 2 * MANY * MANY_LEN);
	if (!m->p)
		return NULL;
	at = 2 * MANY * MANY_LEN / ARRAY_SIZE(m->r);
	for (i = 0; i < ARRAY_SIZE(m->r); i++)
		if (region_open(&m->p->b, &m->r[i], m->far + i * at, at, ALL_RIGHTS))
			return NULL;
	for (i = 0; i < MANY; i++) {
		struct region *r = &m->r[i % ARRAY_SIZE(m->r)];

		m->rma[i] = (struct kfi_rma_iov){ r->addr + i / ARRAY_SIZE(m->r) * 2 * MANY_LEN,
						  1 + i % MANY_LEN, r->key };
		m->len += m->rma[i].len;
	}
	m->iov = (struct kvec){ m->near, m->len };
	m->msg = (struct kfi_msg_rma){
		.type = KFI_KVEC, .msg_iov = &m->iov, .iov_count = 1, .addr = m->p->a.peer,
		.rma_iov = m->rma, .rma_iov_count = MANY, .context = CTX(1), .data = 77,
	};
	return m;
}

static u8 *many_at(struct many *m, size_t i)
{
	return m->r[i % ARRAY_SIZE(m->r)].buf + i / ARRAY_SIZE(m->r) * 2 * MANY_LEN;
}

/*
 * Far more segments than a packet has room for, in both directions; the target gets one entry for
 * all.
 */
static void many_segments(struct test *t)
{
	struct many *m = many_open(t);
	bool tells = !test_hw_recv(t);
	size_t i, at;
	comp_t c;

	if (t->skipped)
		return;
	REQUIRE(t, m);
	fill(m->near, m->len, 1);
	POST(t, kfi_writemsg(m->p->a.ep, &m->msg,
			     KFI_COMPLETION | (tells ? KFI_REMOTE_CQ_DATA : 0) | test_delivery(t)));
	REQUIRE_TX(&m->p->a, &c, CTX(1), KFI_RMA | KFI_WRITE);
	if (tells) {
		REQUIRE(t, !WAIT_RX(&m->p->b, &c));
		EXPECT_EQ(t, c.flags, KFI_RMA | KFI_REMOTE_WRITE | KFI_REMOTE_CQ_DATA);
		EXPECT_EQ(t, c.len, m->len);
		EXPECT_EQ(t, c.data, 77);
	}
	for (i = 0, at = 0; i < MANY && !t->failures; at += m->rma[i++].len) {
		EXPECT(t, !memcmp(many_at(m, i), m->near + at, m->rma[i].len));
		EXPECT_EQ(t, not_all(many_at(m, i) + m->rma[i].len, MANY_LEN, 0), -1);
	}
	memset(m->near, 0, m->len);
	m->msg.context = CTX(2);
	POST(t, kfi_readmsg(m->p->a.ep, &m->msg, KFI_COMPLETION));
	REQUIRE_TX(&m->p->a, &c, CTX(2), KFI_RMA | KFI_READ);
	EXPECT_DATA(t, m->near, m->len, 1);
	NONE_RX(&m->p->b);
	still_works(m->p);
}

/* Two of them are in no region: the write fails, once, however many others there are. */
static void many_refused(struct test *t)
{
	struct many *m = many_open(t);
	comp_t c;

	if (t->skipped)
		return;
	REQUIRE(t, m);
	m->rma[3].addr += 1 << 20;
	m->rma[MANY - 3].addr += 1 << 20;
	POST(t, kfi_writemsg(m->p->a.ep, &m->msg, KFI_COMPLETION | test_delivery(t)));
	REQUIRE_TX_ERR(&m->p->a, &c, CTX(1), EACCES);
	NONE_TX(&m->p->a);
	still_works(m->p);
}

static int broken_disk(struct kfid_mr *mr, uint64_t at, size_t len, struct kfi_persist *p)
{
	return -EIO;
}

/*
 * Accesses of many segments end with an error of the owner while some of their segments were not
 * reported: the target's count for the next access begins at 0.
 */
static void many_ends(struct test *t)
{
	struct many *m = many_open(t);
	struct kvec far;
	struct kfi_mr_attr attr = {
		.type = KFI_KVEC, .mr_iov = &far, .iov_count = 1, .access = ALL_RIGHTS,
		.requested_key = KFI_KEY_NOTAVAIL, .persist = broken_disk,
	};
	struct kfid_mr *mr;
	size_t last = 0;
	comp_t c;
	int i;

	if (t->skipped)
		return;
	REQUIRE(t, m);
	far = (struct kvec){ m->far, 2 * MANY * MANY_LEN };
	REQUIRE_EQ(t, kfi_mr_regattr(m->p->b.domain, &attr, KFI_RMA_PMEM, &mr), 0);
	test_keep(t, &mr->fid);
	for (i = 0; i < MANY; i++) {
		m->rma[i].key = kfi_mr_key(mr);
		m->rma[i].addr = kfi_mr_addr(mr) + (many_at(m, i) - m->far);
	}
	for (i = 0; i < 8; i++) {
		m->msg.context = CTX(i);
		POST(t, kfi_writemsg(m->p->a.ep, &m->msg,
				     KFI_COMPLETION | KFI_REMOTE_CQ_DATA | KFI_COMMIT_COMPLETE));
	}
	for (i = 0; i < 8; i++) {
		REQUIRE(t, !WAIT_TX(&m->p->a, &c));
		EXPECT_EQ(t, c.err, EIO);
	}
	m->iov.iov_len = 100;
	m->rma[0].len = 100;
	m->msg.rma_iov_count = 1;
	POST(t, kfi_writemsg(m->p->a.ep, &m->msg,
			     KFI_COMPLETION | KFI_REMOTE_CQ_DATA | KFI_DELIVERY_COMPLETE));
	REQUIRE_TX_OK(&m->p->a, &c);
	while (last != 100) {
		REQUIRE(t, !WAIT_RX(&m->p->b, &c));
		EXPECT(t, c.len == m->len || c.len == 100);
		last = c.len;
	}
	NONE_RX(&m->p->b);
}

/* Every kind of local vector, and of region. */
static void kinds(struct test *t, struct pair *p)
{
	static const enum kfi_iov_type types[] = { KFI_KVEC, KFI_BVEC, KFI_SGL };
	size_t len = 30000, limit = min_t(size_t, 64, t->info[0]->tx_attr->iov_limit);
	u8 *near = test_pages(t, 65536), *far = test_pages(t, 65536);
	struct kfi_mr_attr attr = { .access = ALL_RIGHTS };
	struct cut local, remote;
	struct kfid_mr *mr;
	comp_t c;
	int i;

	len = min(len, limit * 1024);
	for (i = 0; i < 9 && !t->failures; i++) {
		struct kfi_rma_iov rma = { .len = len };
		struct kfi_msg_rma msg = { .addr = p->a.peer, .rma_iov = &rma, .rma_iov_count = 1 };

		memset(&local, 0, sizeof(local));
		memset(&remote, 0, sizeof(remote));
		fill(near + 13, len, i);
		memset(far, 0, 65536);
		REQUIRE(t, !cut(&p->a, &local, types[i % 3], near + 13, len, limit, true));
		REQUIRE(t, !cut(&p->b, &remote, types[i / 3], far + 1001, len,
				min_t(size_t, 64, t->info[1]->domain_attr->mr_iov_limit), false));
		attr.type = remote.type;
		attr.mr_iov = remote.any;
		attr.iov_count = remote.count;
		attr.requested_key = KFI_KEY_NOTAVAIL;
		REQUIRE_EQ(t, kfi_mr_regattr(p->b.domain, &attr, 0, &mr), 0);
		test_keep(t, &mr->fid);
		EXPECT_EQ(t, region_enable(&p->b, mr), 0);
		rma.key = kfi_mr_key(mr);
		rma.addr = kfi_mr_addr(mr);
		msg.type = local.type;
		msg.msg_iov = local.any;
		msg.iov_count = local.count;
		POST(t, kfi_writemsg(p->a.ep, &msg, KFI_COMPLETION));
		REQUIRE_TX_OK(&p->a, &c);
		EXPECT(t, test_until(t, differs(far + 1001, len, i) == -1));
		memset(near, 0, 65536);
		uncut(&p->a, &local);
		REQUIRE(t, !cut(&p->a, &local, types[(i + 1) % 3], near + 100, len, limit, false));
		msg.type = local.type;
		msg.msg_iov = local.any;
		msg.iov_count = local.count;
		POST(t, kfi_readmsg(p->a.ep, &msg, KFI_COMPLETION));
		REQUIRE_TX_OK(&p->a, &c);
		uncut(&p->a, &local);
		EXPECT_DATA(t, near + 100, len, i);
		EXPECT_EQ(t, test_close(t, &mr->fid), 0);
		uncut(&p->b, &remote);
	}
}

static void read_over(struct pair *p, struct region *r, u8 *near, size_t len, size_t before)
{
	struct test *t = p->a.t;
	size_t at = 4096 - before;
	comp_t c;

	memset(near, 0, 4096);
	POST(t, kfi_read(p->a.ep, near, len, NULL, p->a.peer, r->addr + at, r->key, near));
	REQUIRE_TX(&p->a, &c, near, KFI_RMA | KFI_READ);
	if (memcmp(near, r->buf + at, len))
		FAIL(t, "%zu bytes, %zu of them before the border, are not the region's", len,
		     before);
	EXPECT_EQ(t, not_all(near + len, 4096 - len, 0), -1);
}

/* A long message whose receive has a short piece across a border of the sender's pages. */
static void receive_over(struct pair *p, u8 *tx, u8 *rx)
{
	struct test *t = p->a.t;
	struct kvec iov[] = { { rx, 4096 - 12 },
			      { rx + 4096 - 12, 20 },
			      { rx + 4096 + 8, 8192 - 4096 - 8 } };
	struct kfi_msg msg = {
		.type = KFI_KVEC,
		.msg_iov = iov,
		.iov_count = 3,
		.addr = KFI_ADDR_UNSPEC,
		.context = rx,
	};
	comp_t c;

	POST(t, kfi_recvmsg(p->b.ep, &msg, KFI_COMPLETION));
	POST(t, kfi_send(p->a.ep, tx, 8192, NULL, p->a.peer, tx));
	REQUIRE(t, !WAIT_TX(&p->a, &c) && !WAIT_RX(&p->b, &c));
	EXPECT_COMP(t, &c, rx, KFI_MSG | KFI_RECV);
	EXPECT_DATA(t, rx, 8192, 1);
}

/* A few bytes on both sides of a page's border. */
static void borders(struct test *t, struct pair *p)
{
	u8 *near = test_pages(t, 8192), *far = test_pages(t, 8192);
	struct region r;
	size_t len;

	REQUIRE(t, !region_open(&p->b, &r, far, 8192, ALL_RIGHTS));
	fill(far, 8192, 1);
	for (len = 2; len <= 70 && !t->failures; len++) {
		read_over(p, &r, near, len, 1);
		read_over(p, &r, near, len, len / 2);
		read_over(p, &r, near, len, len - 1);
	}
	fill(near, 8192, 1);
	memset(far, 0, 8192);
	if (t->info[1]->rx_attr->iov_limit >= 3)
		receive_over(p, near, far);
}

/* ---- a write and the message behind it ---- */

static ssize_t reply(struct pair *p, struct region *r, u8 *near, size_t len, const void *msg,
		     u64 flags)
{
	struct kvec vec = { near, len };
	struct kfi_rma_iov rma = { .addr = r->addr, .len = len, .key = r->key };
	struct kfi_msg_rma data = {
		.type = KFI_KVEC, .msg_iov = &vec, .iov_count = 1, .addr = p->a.peer,
		.rma_iov = &rma, .rma_iov_count = 1, .context = near,
	};
	ssize_t ret;

	rcu_read_lock_bh();
	ret = __kfi_replymsg(p->a.ep, &data, msg, 16, KFI_COMPLETION | flags);
	rcu_read_unlock_bh();
	return ret;
}

/*
 * When the message arrives its data is in place, for all lengths that one operation may have; other
 * ones are refused before a byte has moved.
 */
static void replies(struct test *t, struct pair *p)
{
	size_t max = size_max(t), size;
	u8 *near = test_pages(t, max), *far = test_pages(t, max), *rx = test_zalloc(t, 64);
	u8 msg[16];
	struct region r;
	ssize_t ret;
	comp_t c;
	int n = 0;

	REQUIRE(t, !region_open(&p->b, &r, far, max, ALL_RIGHTS));
	POST(t, kfi_recv(p->b.ep, rx, 64, NULL, KFI_ADDR_UNSPEC, rx));
	for (size = 1; size <= max && !t->failures; size = size_next(t, size), n++) {
		fill(near, size, size);
		fill(msg, sizeof(msg), n);
		memset(far, 0, size);
		do {
			ret = reply(p, &r, near, size, msg, 0);
		} while (ret == -EAGAIN && !t->failures);
		if (ret == -EMSGSIZE)
			break;
		REQUIRE_EQ(t, ret, 0);
		REQUIRE_RX(&p->b, &c, rx, KFI_MSG | KFI_RECV);
		EXPECT_DATA(t, far, size, size);
		EXPECT_EQ(t, c.len, 16);
		EXPECT_DATA(t, rx, sizeof(msg), n);
		REQUIRE_TX(&p->a, &c, near, KFI_MSG | KFI_SEND | KFI_RMA | KFI_WRITE);
		POST(t, kfi_recv(p->b.ep, rx, 64, NULL, KFI_ADDR_UNSPEC, rx));
		if (t->failures)
			FAIL(t, "with %zu bytes", size);
	}
	EXPECT(t, size > 1024);
	NONE_RX(&p->b);
}

/* Without its data the message does not arrive. */
static void reply_refused(struct test *t, struct pair *p)
{
	u8 *near = test_pages(t, 4096), *far = test_pages(t, 4096), *rx = test_zalloc(t, 64);
	struct region r;
	comp_t c;

	if (t->w->over_kfi) {
		test_skip(t, "a message arrives although the write before it was refused");
		return;
	}
	REQUIRE(t, !region_open(&p->b, &r, far, 4096, KFI_REMOTE_READ));
	POST(t, kfi_recv(p->b.ep, rx, 64, NULL, KFI_ADDR_UNSPEC, rx));
	REQUIRE_EQ(t, reply(p, &r, near, 1000, near, KFI_TRANSMIT_COMPLETE), 0);
	REQUIRE(t, !WAIT_TX(&p->a, &c));
	EXPECT(t, is_refused(&p->a, c.err, 1000));
	if (refusal(&p->a) == KFI_REFUSAL_OP)
		NONE_RX(&p->b);
	else if (!WAIT_RX(&p->b, &c))
		EXPECT(t, c.err);	/* the connection has ended */
}

const struct test_case rma_cases[] = {
	{ "rma.write_sizes", T_REL, 0, C_MSG | C_RMA, .pair = sizes, .arg = CASE_NUM(true) },
	{ "rma.read_sizes", T_REL, 0, C_MSG | C_RMA, .pair = sizes, .arg = CASE_NUM(false) },
	{ "rma.delivered", T_REL, CASE_CHECKED, C_MSG | C_RMA, delivered },
	{ "rma.remote_data", T_REL, CASE_CHECKED, C_MSG | C_RMA, .pair = remote_data },
	{ "rma.many_segments", T_REL, 0, C_MSG | C_RMA, many_segments },
	{ "rma.many_refused", T_REL, CASE_CHECKED, C_MSG | C_RMA, many_refused },
	{ "rma.many_ends", T_REL, CASE_CHECKED, C_MSG | C_RMA, many_ends },
	{ "rma.kinds", T_REL, CASE_CHECKED, C_MSG | C_RMA, .pair = kinds },
	{ "rma.replies", T_REL, 0, C_MSG | C_RMA, .pair = replies },
	{ "rma.reply_refused", T_REL, 0, C_MSG | C_RMA, .pair = reply_refused },
	{ "rma.borders", T_REL, 0, C_MSG | C_RMA, .pair = borders },
	{ }
};
