// SPDX-License-Identifier: GPL-2.0
/* Use of a region: rights, keys, bindings, enabling. */
#include "harness.h"

#define BOTH	(KFI_REMOTE_READ | KFI_REMOTE_WRITE)
#define LEN	4096

static int enable_for(struct node *n, struct kfid_mr *mr)
{
	struct test *t = n->t;

	if (!(n->info->domain_attr->mr_mode & KFI_MR_ENDPOINT))
		return 0;
	return EXPECT_EQ(t, kfi_mr_bind(mr, &n->ep->fid, 0), 0) &&
	       EXPECT_EQ(t, kfi_mr_enable(mr), 0) ? 0 : -EIO;
}

/* What peers can ask of a region. Atomic operations are in atomic_errors.c. */
enum kind { A_WRITE, A_READ, A_WRITEDATA, A_INJECT, A_VECTORS };

static ssize_t ask(struct node *a, enum kind how, u8 *near, u64 addr, u64 key)
{
	struct kvec iov[2] = { { near, 8 }, { near + 8, 8 } };

	switch (how) {
	case A_WRITE:
		return kfi_write(a->ep, near, 16, NULL, a->peer, addr, key, a);
	case A_READ:
		return kfi_read(a->ep, near, 16, NULL, a->peer, addr, key, a);
	case A_WRITEDATA:
		return kfi_writedata(a->ep, near, 16, NULL, 7, a->peer, addr, key, a);
	case A_INJECT:
		return kfi_inject_write(a->ep, near, 16, a->peer, addr, key);
	default:
		return kfi_readv(a->ep, iov, NULL, 2, a->peer, addr, key, a);
	}
}

/* Post, and return the result; a permitted access was performed, another one was not. */
static bool try(struct pair *p, enum kind how, const struct region *r, u8 *near, bool may)
{
	struct test *t = p->a.t;
	bool read = how == A_READ || how == A_VECTORS;
	comp_t c;

	fill(near, 16, 1);
	fill(r->buf, 16, 2);
	if (POST(t, ask(&p->a, how, near, r->addr, r->key)))
		return false;
	if (how != A_INJECT || !may) {
		if (WAIT_TX(&p->a, &c))
			return false;
		EXPECT_EQ(t, c.err, may ? 0 : EACCES);
		EXPECT_EQ(t, c.flags, KFI_RMA | (read ? KFI_READ : KFI_WRITE));
	}
	if (may && how == A_WRITEDATA) {
		if (WAIT_RX(&p->b, &c))
			return false;
		EXPECT_EQ(t, c.data, 7);
	}
	if (may && !read)
		EXPECT(t, test_until(t, differs(r->buf, 16, 1) == -1));
	EXPECT_EQ(t, differs(near, 16, may && read ? 2 : 1), -1);
	if (!may || read)
		EXPECT_EQ(t, differs(r->buf, 16, 2), -1);
	return !t->failures;
}

static void rights(struct test *t)
{
	static const u64 access[] = {
		KFI_SEND,
		KFI_RECV,
		KFI_READ,
		KFI_WRITE,
		KFI_SEND | KFI_RECV | KFI_READ | KFI_WRITE,
		KFI_REMOTE_READ,
		KFI_REMOTE_WRITE,
		BOTH,
		KFI_REMOTE_READ | KFI_WRITE,
		KFI_REMOTE_WRITE | KFI_READ,
	};
	struct pair *p = pair_open(t, NULL, NULL);
	u8 *near = test_pages(t, LEN), *far = test_pages(t, LEN);
	struct region r;
	int i, how;
	u64 need;

	REQUIRE(t, p && near && far);
	for (i = 0; i < ARRAY_SIZE(access); i++) {
		REQUIRE(t, !region_open(&p->b, &r, far, LEN, access[i]));
		for (how = A_WRITE; how <= A_VECTORS; how++) {
			need = how == A_READ || how == A_VECTORS ? KFI_REMOTE_READ :
								   KFI_REMOTE_WRITE;
			if (!try(p, how, &r, near, access[i] & need)) {
				FAIL(t, "with access %#llx, kind %d", access[i], how);
				return;
			}
		}
		EXPECT_EQ(t, test_close(t, &r.mr->fid), 0);
	}
	NONE_RX(&p->b);
	still_works(p);
}

/* A requested key fits what getinfo says of keys. */
static void long_key(struct test *t)
{
	struct node *n = test_new(t, struct node);
	struct kfi_info *hints = test_hints(t, t->c->caps), *info;
	struct side *s = &t->w->side[0];
	struct kfid_mr *mr = NULL;
	u8 *buf = test_zalloc(t, 64);
	int ret;

	REQUIRE(t, n && hints && buf);
	hints->domain_attr->mr_key_size = 2;
	hints->domain_attr->mr_mode &= ~KFI_MR_PROV_KEY;
	ret = kfi_getinfo_net(s->net, kfi_version(), s->node, NULL, s->node ? KFI_SOURCE : 0, hints,
			      &info);
	kfi_freeinfo(hints);
	if (ret == -ENODATA)
		return;		/* the provider chooses keys */
	REQUIRE_EQ(t, ret, 0);
	kfi_freeinfo(t->info[0]);
	t->info[0] = info;
	REQUIRE_EQ(t, info->domain_attr->mr_key_size, 2);
	EXPECT_EQ(t, info->domain_attr->mr_mode & KFI_MR_PROV_KEY, 0);
	REQUIRE(t, !node_open(t, n, 0, NULL));
	EXPECT_EQ(t, kfi_mr_reg(n->domain, buf, 64, BOTH, 0, 0x10000, 0, &mr, NULL), -EINVAL);
	EXPECT_EQ(t, kfi_mr_reg(n->domain, buf, 64, BOTH, 0, BIT_ULL(63) | 5, 0, &mr, NULL),
		  -EINVAL);
	EXPECT(t, !mr);
	REQUIRE_EQ(t, kfi_mr_reg(n->domain, buf, 64, BOTH, 0, 0xffff, 0, &mr, NULL), 0);
	test_keep(t, &mr->fid);
	EXPECT_EQ(t, kfi_mr_key(mr), 0xffff);
	REQUIRE_EQ(t, kfi_mr_reg(n->domain, buf, 64, BOTH, 0, 0, 0, &mr, NULL), 0);
	test_keep(t, &mr->fid);
	EXPECT_EQ(t, kfi_mr_key(mr), 0);
}

/* Peers use a region that counts only after it was bound and enabled. */
static void waits(struct test *t)
{
	struct pair *p = pair_open(t, NULL, NULL);
	u8 *near = test_pages(t, LEN), *far = test_pages(t, LEN);
	struct region r = { .buf = far };
	struct kfid_cntr *cntr;

	REQUIRE(t, p && near && far && !kfi_cntr_open(p->b.domain, NULL, &cntr, NULL));
	test_keep(t, &cntr->fid);
	REQUIRE_EQ(t, kfi_mr_reg(p->b.domain, far, LEN, BOTH, 0, 11, KFI_RMA_EVENT, &r.mr, NULL),
		   0);
	test_keep(t, &r.mr->fid);
	r.key = kfi_mr_key(r.mr);
	r.addr = kfi_mr_addr(r.mr);
	REQUIRE(t, try(p, A_WRITE, &r, near, false));
	EXPECT_EQ(t, kfi_mr_enable(r.mr), -KFI_EOPBADSTATE);
	REQUIRE(t, try(p, A_WRITE, &r, near, false));
	EXPECT_EQ(t, kfi_mr_bind(r.mr, &cntr->fid, BOTH), 0);
	EXPECT_EQ(t, kfi_mr_bind(r.mr, &p->b.ep->fid, 0), 0);
	REQUIRE(t, try(p, A_READ, &r, near, false));
	EXPECT_EQ(t, kfi_cntr_read(cntr), 0);
	EXPECT_EQ(t, kfi_mr_enable(r.mr), 0);
	EXPECT_EQ(t, kfi_mr_enable(r.mr), -EINVAL);
	EXPECT_EQ(t, kfi_mr_bind(r.mr, &p->b.ep->fid, 0), -EINVAL);
	REQUIRE(t, try(p, A_WRITE, &r, near, true));
	REQUIRE(t, try(p, A_READ, &r, near, true));
	EXPECT(t, test_until(t, kfi_cntr_read(cntr) == 2));
}

/* It is bound to the endpoint of its domain only, once, and keeps what it is bound to. */
static void bindings(struct test *t)
{
	struct pair *p = pair_open(t, NULL, NULL);
	struct node *other = test_new(t, struct node);
	u8 *near = test_pages(t, LEN), *far = test_pages(t, LEN);
	struct region r = { .buf = far };

	REQUIRE(t, p && other && near && far && !node_open_ep(t, other, 1, NULL));
	REQUIRE_EQ(t, kfi_mr_reg(p->b.domain, far, LEN, BOTH, 0, 12, 0, &r.mr, NULL), 0);
	test_keep(t, &r.mr->fid);
	EXPECT_EQ(t, kfi_mr_bind(r.mr, &other->ep->fid, 0), -KFI_EDOMAIN);
	EXPECT_EQ(t, kfi_mr_bind(r.mr, &p->b.ep->fid, KFI_REMOTE_READ), -KFI_EBADFLAGS);
	EXPECT_EQ(t, kfi_mr_bind(r.mr, &p->b.txcq->fid, 0), -EINVAL);
	EXPECT_EQ(t, kfi_mr_bind(r.mr, &p->b.domain->fid, 0), -EINVAL);
	/* a refused bind holds no reference */
	EXPECT_EQ(t, test_close(t, &other->ep->fid), 0);
	EXPECT_EQ(t, kfi_mr_bind(r.mr, &p->b.ep->fid, 0), 0);
	EXPECT_EQ(t, kfi_mr_bind(r.mr, &p->b.ep->fid, 0), -EINVAL);
	if (p->b.info->domain_attr->mr_mode & KFI_MR_ENDPOINT)
		EXPECT_EQ(t, kfi_mr_enable(r.mr), 0);
	EXPECT_EQ(t, kfi_close(&p->b.ep->fid), -EBUSY);
	r.key = kfi_mr_key(r.mr);
	r.addr = kfi_mr_addr(r.mr);
	REQUIRE(t, try(p, A_WRITE, &r, near, true) && try(p, A_READ, &r, near, true));
	still_works(p);
}

/*
 * Other pages behind an address: accesses after the refresh use them. Here they are the same pages,
 * under the same address.
 */
static void refresh(struct test *t)
{
	struct pair *p = pair_open(t, NULL, NULL);
	u8 *near = test_pages(t, LEN), *far = test_pages(t, 3 * LEN);
	struct kvec part = { far + LEN + 100, 1000 };
	struct region r;
	int ret;

	REQUIRE(t, p && near && far && !region_open(&p->b, &r, far + LEN, LEN, BOTH));
	ret = kfi_mr_refresh(r.mr, &part, 1, 0);
	EXPECT(t, ret == 0 || ret == -EOPNOTSUPP);
	EXPECT_EQ(t, kfi_mr_refresh(r.mr, &part, 0, 0), -EINVAL);
	EXPECT_EQ(t, kfi_mr_refresh(r.mr, NULL, 1, 0), -EINVAL);
	if (!ret) {
		EXPECT_EQ(t, kfi_mr_refresh(r.mr, &part, 1, 1), -KFI_EBADFLAGS);
		part.iov_len = LEN;
		EXPECT_EQ(t, kfi_mr_refresh(r.mr, &part, 1, 0), -EINVAL);
		part = (struct kvec){ far, 1 };
		EXPECT_EQ(t, kfi_mr_refresh(r.mr, &part, 1, 0), -EINVAL);
	}
	REQUIRE(t, try(p, A_WRITE, &r, near, true) && try(p, A_READ, &r, near, true));
}

/*
 * Addresses of the first byte from one end of the range to the other; accesses beside the region
 * are refused.
 */
static void offsets(struct test *t)
{
	static const u64 at[] = { 0, 1, 0xfff, BIT_ULL(32) - 8, BIT_ULL(63), U64_MAX - LEN };
	struct pair *p = pair_open(t, NULL, NULL);
	u8 *near = test_pages(t, LEN), *far = test_pages(t, 3 * LEN);
	struct region r = { .buf = far + LEN };
	int i, how;

	REQUIRE(t, p && near && far);
	if (p->b.info->domain_attr->mr_mode & KFI_MR_VIRT_ADDR)
		return;		/* there the address is the virtual one */
	for (i = 0; i < ARRAY_SIZE(at) && !t->failures; i++) {
		REQUIRE_EQ(t,
			   kfi_mr_reg(p->b.domain, r.buf, LEN, BOTH, at[i], KFI_KEY_NOTAVAIL, 0,
				      &r.mr, NULL),
			   0);
		test_keep(t, &r.mr->fid);
		REQUIRE(t, !enable_for(&p->b, r.mr));
		r.key = kfi_mr_key(r.mr);
		for (how = A_WRITE; how <= A_READ; how++) {
			r.addr = at[i];
			REQUIRE(t, try(p, how, &r, near, true));
			r.addr = at[i] + LEN - 15;
			REQUIRE(t, try(p, how, &r, near, false));
			r.addr = at[i] - 1;
			REQUIRE(t, try(p, how, &r, near, false));
		}
		EXPECT_EQ(t, test_close(t, &r.mr->fid), 0);
	}
}

#define C_MR	(C_MSG | C_RMA)

const struct test_case mr_bind_cases[] = {
	{ "mr.rights", T_REL, CASE_CHECKED, C_MR, rights },
	{ "mr.long_key", T_REL, CASE_ONCE, C_MR, long_key },
	{ "mr.waits_for_enable", T_REL, 0, C_MR | KFI_RMA_EVENT, waits },
	{ "mr.bindings", T_REL, 0, C_MR, bindings },
	{ "mr.refresh", T_REL, 0, C_MR, refresh },
	{ "mr.offsets", T_REL, 0, C_MR, offsets },
	{ }
};
