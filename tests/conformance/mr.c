// SPDX-License-Identifier: GPL-2.0
/* Registration of memory: keys, rights, per-I/O regions. */
#include <linux/completion.h>
#include "harness.h"

#define ACCESS	(KFI_REMOTE_READ | KFI_REMOTE_WRITE)

static bool own_keys(struct node *n)
{
	return !(n->info->domain_attr->mr_mode & KFI_MR_PROV_KEY);
}

static void requested_key(struct test *t)
{
	struct node *n = test_new(t, struct node);
	struct kfid_mr *one, *two;
	u8 *buf = test_zalloc(t, 128);

	REQUIRE(t, !node_open_ep(t, n, 0, NULL));
	REQUIRE_EQ(t, kfi_mr_reg(n->domain, buf, 64, ACCESS, 0, 0x1234, 0, &one, NULL), 0);
	test_keep(t, &one->fid);
	if (!own_keys(n)) {
		EXPECT(t, kfi_mr_key(one) != KFI_KEY_NOTAVAIL);
		return;
	}
	EXPECT_EQ(t, kfi_mr_key(one), 0x1234);
	EXPECT_EQ(t, kfi_mr_reg(n->domain, buf + 64, 64, ACCESS, 0, 0x1234, 0, &two, NULL),
		  -KFI_ENOKEY);
	/* A closed key is free again. */
	EXPECT_EQ(t, test_close(t, &one->fid), 0);
	REQUIRE_EQ(t, kfi_mr_reg(n->domain, buf, 64, ACCESS, 0, 0x1234, 0, &two, NULL), 0);
	test_keep(t, &two->fid);
	EXPECT_EQ(t, kfi_mr_key(two), 0x1234);
}

static void short_keys(struct test *t)
{
	struct node *n = test_new(t, struct node);
	struct kfi_info *hints, *info;
	struct kfid_mr *mr;
	u8 *buf = test_zalloc(t, 64);
	int i;

	hints = test_hints(t, t->c->caps);
	hints->domain_attr->mr_key_size = 4;
	REQUIRE_EQ(t, test_answer(t, 0, hints, &info), 0);
	EXPECT(t, info->domain_attr->mr_key_size <= 4);
	kfi_freeinfo(t->info[0]);
	t->info[0] = info;
	REQUIRE(t, !node_open(t, n, 0, NULL));
	for (i = 0; i < 32; i++) {
		REQUIRE_EQ(t, kfi_mr_reg(n->domain, buf, 64, ACCESS, 0, KFI_KEY_NOTAVAIL,
					 0, &mr, NULL), 0);
		test_keep(t, &mr->fid);
		EXPECT_EQ(t, mr->key >> 32, 0);
	}
}

/* ---- regions for every I/O ---- */

static bool write_ends(struct pair *p, void *src, size_t len, u64 addr, u64 key, comp_t *c)
{
	struct node *a = &p->a;

	return !POST(a->t, kfi_write(a->ep, src, len, NULL, a->peer, addr, key, src)) &&
	       !WAIT_TX(a, c);
}

static bool write_to(struct pair *p, void *src, size_t len, u64 addr, u64 key)
{
	comp_t c;

	return write_ends(p, src, len, addr, key, &c) && EXPECT_EQ(p->a.t, c.err, 0);
}

static bool write_refused(struct pair *p, void *src, size_t len, u64 addr, u64 key)
{
	comp_t c;

	return write_ends(p, src, len, addr, key, &c) &&
	       EXPECT(p->a.t, is_refused(&p->a, c.err, len)) && goes_on(p);
}

static void per_io(struct test *t, struct pair *p)
{
	u8 *src = test_pages(t, 4096), *dst = test_pages(t, 8192);
	struct kvec iov;
	struct kfi_mr_attr attr = io_attr(&iov, KFI_REMOTE_WRITE);
	struct io_work *io = io_work_new(t);
	struct kfid_mr *mr;
	u64 key = 0;
	int i;

	mr = io_region(&p->b, 4);
	if (!mr)
		return;
	EXPECT_EQ(t, kfi_mr_invalidate(mr, &io->work), -KFI_EOPBADSTATE);
	for (i = 0; i < 8 && !t->failures; i++) {
		iov = (struct kvec){ dst + 512 * i, 4096 };
		fill(src, 4096, i);
		REQUIRE_EQ(t, kfi_mr_register(mr, &attr, &io->work), 0);
		REQUIRE(t, io_work_wait(t, io));
		EXPECT(t, kfi_mr_key(mr) != KFI_KEY_NOTAVAIL && kfi_mr_key(mr) != key);
		key = kfi_mr_key(mr);
		EXPECT_EQ(t, kfi_mr_register(mr, &attr, &io->work), -KFI_EOPBADSTATE);
		REQUIRE(t, write_to(p, src, 4096, kfi_mr_addr(mr), key));
		EXPECT_DATA(t, dst + 512 * i, 4096, i);
		REQUIRE_EQ(t, kfi_mr_invalidate(mr, &io->work), 0);
		REQUIRE(t, io_work_wait(t, io));
		/* No byte changes through a key that has ended. */
		memset(dst, 0x5a, 8192);
		/*
		 * Not with connected endpoints that have to be replaced: the region is bound to
		 * one.
		 */
		if (t->type == KFI_EP_RDM || refusal(&p->a) == KFI_REFUSAL_OP)
			REQUIRE(t, write_refused(p, src, 4096, kfi_mr_addr(mr), key));
		EXPECT_EQ(t, not_all(dst, 8192, 0x5a), -1);
	}
}

/* A consumer that names keys before they are registered chooses them. */
static void chosen_key(struct test *t, struct pair *p)
{
	u8 *src = test_pages(t, 4096), *dst = test_pages(t, 4096);
	struct kvec iov = { dst, 4096 };
	struct kfi_mr_attr attr = {
		.type = KFI_KVEC, .mr_iov = &iov, .iov_count = 1, .access = KFI_REMOTE_WRITE,
		.requested_key = 0x12345600,
	};
	struct io_work *io = io_work_new(t);
	struct kfid_mr *mr, *other;
	int i;

	REQUIRE_EQ(t, kfi_mr_alloc(p->b.domain, 1, 0, &mr, NULL), 0);
	test_keep(t, &mr->fid);
	REQUIRE_EQ(t, kfi_mr_alloc(p->b.domain, 1, 0, &other, NULL), 0);
	test_keep(t, &other->fid);
	if (!own_keys(&p->b)) {
		EXPECT_EQ(t, kfi_mr_register(mr, &attr, NULL), -EINVAL);
		return;
	}
	for (i = 0; i < 4; i++, attr.requested_key++) {
		fill(src, 4096, i);
		REQUIRE_EQ(t, kfi_mr_register(mr, &attr, NULL), 0);
		EXPECT_EQ(t, kfi_mr_key(mr), attr.requested_key);
		EXPECT_EQ(t, kfi_mr_register(other, &attr, NULL), -KFI_ENOKEY);
		REQUIRE(t, write_to(p, src, 4096, kfi_mr_addr(mr), attr.requested_key));
		EXPECT_DATA(t, dst, 4096, i);
		REQUIRE_EQ(t, kfi_mr_invalidate(mr, &io->work), 0);
		REQUIRE(t, io_work_wait(t, io));
	}
	/* The last key is free again, for the other region, too. */
	attr.requested_key--;
	REQUIRE_EQ(t, kfi_mr_register(other, &attr, NULL), 0);
	REQUIRE_EQ(t, kfi_mr_invalidate(other, &io->work), 0);
	io_work_wait(t, io);
}

/* The peer's send ends the region, and the receive reports it. */
static void remote_invalidate(struct test *t, struct pair *p)
{
	u8 *src = test_pages(t, 4096), *dst = test_pages(t, 4096);
	struct kvec iov = { dst, 4096 }, out = { src, 16 };
	struct kfi_mr_attr attr = io_attr(&iov, KFI_REMOTE_WRITE);
	struct kfi_msg msg = { .type = KFI_KVEC, .msg_iov = &out, .iov_count = 1 };
	struct io_work *io = io_work_new(t);
	struct kfid_mr *mr;
	comp_t c;

	mr = io_region(&p->b, 1);
	if (!mr)
		return;
	REQUIRE_EQ(t, kfi_mr_register(mr, &attr, &io->work), 0);
	REQUIRE(t, io_work_wait(t, io));
	msg.addr = p->a.peer;
	msg.context = &msg;
	msg.inv_key = kfi_mr_key(mr);
	POST(t, kfi_recv(p->b.ep, dst, 64, NULL, KFI_ADDR_UNSPEC, dst));
	REQUIRE(t, !POST(t, kfi_sendmsg(p->a.ep, &msg, KFI_INVALIDATE | KFI_COMPLETION)));
	REQUIRE(t, !WAIT_TX(&p->a, &c) && !WAIT_RX(&p->b, &c));
	EXPECT_COMP(t, &c, dst, KFI_MSG | KFI_RECV | KFI_INVALIDATE);
	EXPECT_EQ(t, c.data, msg.inv_key);
	memset(dst, 0x5a, 4096);
	REQUIRE(t, write_ends(p, src, 4096, kfi_mr_addr(mr), msg.inv_key, &c) &&
			   EXPECT_EQ(t, c.err, EACCES));
	EXPECT_EQ(t, not_all(dst, 4096, 0x5a), -1);
	/* It can be used again at once. */
	EXPECT_EQ(t, kfi_mr_register(mr, &attr, &io->work), 0);
	REQUIRE(t, io_work_wait(t, io));
	REQUIRE_EQ(t, kfi_mr_invalidate(mr, &io->work), 0);
	io_work_wait(t, io);
}

/* Expect a receive that reports the end of a region. Return: false if that is impossible here */
static bool invalidate_late(struct pair *p, u8 *buf, u64 key)
{
	struct kvec out = { buf, 16 };
	struct kfi_msg msg = {
		.type = KFI_KVEC,
		.msg_iov = &out,
		.iov_count = 1,
		.addr = p->a.peer,
		.context = &msg,
		.inv_key = key,
	};
	struct test *t = p->a.t;
	comp_t c;

	POST(t, kfi_recv(p->b.ep, buf + 64, 64, NULL, KFI_ADDR_UNSPEC, buf));
	if (POST(t, kfi_sendmsg(p->a.ep, &msg, KFI_INVALIDATE | KFI_COMPLETION)) ||
	    WAIT_TX(&p->a, &c) || WAIT_RX(&p->b, &c))
		return false;
	EXPECT_COMP(t, &c, buf, KFI_MSG | KFI_RECV);
	EXPECT_EQ(t, c.len, 16);
	return true;
}

/*
 * The owner has ended the region when the peer's message that does so is still under way. Neither
 * has made an error: the receive does not report an end, and both continue; also if the handle has
 * other memory by then, or is closed.
 */
static void invalidate_crossed(struct test *t, struct pair *p)
{
	u8 *buf = test_pages(t, 4096);
	struct kvec iov = { buf + 2048, 2048 };
	struct kfi_mr_attr attr = io_attr(&iov, KFI_REMOTE_WRITE);
	struct io_work *io = io_work_new(t);
	struct kfid_mr *mr;
	u64 key;

	REQUIRE_EQ(t, kfi_mr_alloc(p->b.domain, 1, 0, &mr, NULL), 0);
	EXPECT_EQ(t, kfi_mr_bind(mr, &p->b.ep->fid, 0), 0);
	REQUIRE(t, EXPECT_EQ(t, kfi_mr_register(mr, &attr, &io->work), 0) && io_work_wait(t, io));
	key = kfi_mr_key(mr);
	REQUIRE(t, EXPECT_EQ(t, kfi_mr_invalidate(mr, &io->work), 0) && io_work_wait(t, io));
	REQUIRE(t, invalidate_late(p, buf, key));
	REQUIRE(t, EXPECT_EQ(t, kfi_mr_register(mr, &attr, &io->work), 0) && io_work_wait(t, io));
	REQUIRE(t, invalidate_late(p, buf, key));
	key = kfi_mr_key(mr);
	EXPECT_EQ(t, kfi_mr_invalidate(mr, &io->work), 0);
	io_work_wait(t, io);
	EXPECT_EQ(t, kfi_close(&mr->fid), 0);
	REQUIRE(t, invalidate_late(p, buf, key));
}

/* ---- Use of a region: rights, keys, bindings, enabling. ---- */

#define LEN	4096

/* What peers can ask of a region. Atomic operations are in atomic.c. */
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

static void rights(struct test *t, struct pair *p)
{
	static const u64 access[] = {
		KFI_SEND,
		KFI_RECV,
		KFI_READ,
		KFI_WRITE,
		KFI_SEND | KFI_RECV | KFI_READ | KFI_WRITE,
		KFI_REMOTE_READ,
		KFI_REMOTE_WRITE,
		ACCESS,
		KFI_REMOTE_READ | KFI_WRITE,
		KFI_REMOTE_WRITE | KFI_READ,
	};
	u8 *near = test_pages(t, LEN), *far = test_pages(t, LEN);
	struct region r;
	int i, how;
	u64 need;

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

/* An endpoint limits what its peers may do, whatever its regions allow, at any time. */
static void remote_access(struct test *t, struct pair *p)
{
	static const size_t access[] = { 0, KFI_REMOTE_READ, KFI_REMOTE_WRITE, ACCESS };
	u8 *near = test_pages(t, LEN), *far = test_pages(t, LEN);
	struct kfid *ep = &p->b.ep->fid;
	size_t bad = KFI_SEND, value = ~0UL, len = sizeof(value);
	struct region r;
	int i, how, ret;
	u64 need;

	ret = kfi_setopt(ep, KFI_OPT_ENDPOINT, KFI_OPT_REMOTE_ACCESS, &bad, sizeof(bad));
	if (ret == -ENOPROTOOPT)
		return;		/* the keys are those of a device, which does not know endpoints */
	EXPECT_EQ(t, ret, -EINVAL);
	REQUIRE(t, !region_open(&p->b, &r, far, LEN, ACCESS));
	for (i = 0; i < ARRAY_SIZE(access); i++) {
		REQUIRE(t, !kfi_setopt(ep, KFI_OPT_ENDPOINT, KFI_OPT_REMOTE_ACCESS, &access[i],
				       sizeof(access[i])));
		EXPECT_EQ(t, kfi_getopt(ep, KFI_OPT_ENDPOINT, KFI_OPT_REMOTE_ACCESS, &value, &len), 0);
		EXPECT_EQ(t, value, access[i]);
		for (how = A_WRITE; how <= A_VECTORS; how++) {
			need = how == A_READ || how == A_VECTORS ? KFI_REMOTE_READ :
								   KFI_REMOTE_WRITE;
			if (!try(p, how, &r, near, access[i] & need)) {
				FAIL(t, "with access %#zx, kind %d", access[i], how);
				return;
			}
		}
	}
	EXPECT_EQ(t, test_close(t, &r.mr->fid), 0);
	NONE_RX(&p->b);
	still_works(p);
}

/* A requested key fits what getinfo says of keys. */
static void long_key(struct test *t)
{
	struct node *n = test_new(t, struct node);
	struct kfi_info *hints = test_hints(t, t->c->caps), *info;
	struct kfid_mr *mr = NULL;
	u8 *buf = test_zalloc(t, 64);
	int ret;

	hints->domain_attr->mr_key_size = 2;
	hints->domain_attr->mr_mode &= ~KFI_MR_PROV_KEY;
	ret = test_answer(t, 0, hints, &info);
	if (ret == -ENODATA)
		return;		/* the provider chooses keys */
	REQUIRE_EQ(t, ret, 0);
	kfi_freeinfo(t->info[0]);
	t->info[0] = info;
	REQUIRE_EQ(t, info->domain_attr->mr_key_size, 2);
	EXPECT_EQ(t, info->domain_attr->mr_mode & KFI_MR_PROV_KEY, 0);
	REQUIRE(t, !node_open(t, n, 0, NULL));
	EXPECT_EQ(t, kfi_mr_reg(n->domain, buf, 64, ACCESS, 0, 0x10000, 0, &mr, NULL), -EINVAL);
	EXPECT_EQ(t, kfi_mr_reg(n->domain, buf, 64, ACCESS, 0, BIT_ULL(63) | 5, 0, &mr, NULL),
		  -EINVAL);
	EXPECT(t, !mr);
	REQUIRE_EQ(t, kfi_mr_reg(n->domain, buf, 64, ACCESS, 0, 0xffff, 0, &mr, NULL), 0);
	test_keep(t, &mr->fid);
	EXPECT_EQ(t, kfi_mr_key(mr), 0xffff);
	REQUIRE_EQ(t, kfi_mr_reg(n->domain, buf, 64, ACCESS, 0, 0, 0, &mr, NULL), 0);
	test_keep(t, &mr->fid);
	EXPECT_EQ(t, kfi_mr_key(mr), 0);
}

/* Peers use a region that counts only after it was bound and enabled. */
static void waits(struct test *t, struct pair *p)
{
	u8 *near = test_pages(t, LEN), *far = test_pages(t, LEN);
	struct region r = { .buf = far };
	struct kfid_cntr *cntr;

	REQUIRE(t, !kfi_cntr_open(p->b.domain, NULL, &cntr, NULL));
	test_keep(t, &cntr->fid);
	REQUIRE_EQ(t, kfi_mr_reg(p->b.domain, far, LEN, ACCESS, 0, 11, KFI_RMA_EVENT, &r.mr, NULL),
		   0);
	test_keep(t, &r.mr->fid);
	r.key = kfi_mr_key(r.mr);
	r.addr = kfi_mr_addr(r.mr);
	REQUIRE(t, try(p, A_WRITE, &r, near, false));
	EXPECT_EQ(t, kfi_mr_enable(r.mr), -KFI_EOPBADSTATE);
	REQUIRE(t, try(p, A_WRITE, &r, near, false));
	EXPECT_EQ(t, kfi_mr_bind(r.mr, &cntr->fid, ACCESS), 0);
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
static void bindings(struct test *t, struct pair *p)
{
	struct node *other = test_new(t, struct node);
	u8 *near = test_pages(t, LEN), *far = test_pages(t, LEN);
	struct region r = { .buf = far };

	REQUIRE(t, !node_open_ep(t, other, 1, NULL));
	REQUIRE_EQ(t, kfi_mr_reg(p->b.domain, far, LEN, ACCESS, 0, 12, 0, &r.mr, NULL), 0);
	test_keep(t, &r.mr->fid);
	EXPECT_EQ(t, kfi_mr_bind(r.mr, &other->ep->fid, 0), -KFI_EDOMAIN);
	EXPECT_EQ(t, kfi_mr_bind(r.mr, &p->b.ep->fid, KFI_REMOTE_READ), -KFI_EBADFLAGS);
	EXPECT_EQ(t, kfi_mr_bind(r.mr, &p->b.txcq->fid, 0), -EINVAL);
	EXPECT_EQ(t, kfi_mr_bind(r.mr, &p->b.domain->fid, 0), -EINVAL);
	/* a refused bind holds no reference */
	EXPECT_EQ(t, test_close(t, &other->ep->fid), 0);
	if (p->b.info->domain_attr->mr_mode & KFI_MR_ENDPOINT)
		EXPECT_EQ(t, kfi_mr_enable(r.mr), -KFI_EOPBADSTATE);
	EXPECT_EQ(t, kfi_mr_bind(r.mr, &p->b.ep->fid, 0), 0);
	EXPECT_EQ(t, kfi_mr_bind(r.mr, &p->b.ep->fid, 0), -EINVAL);
	if (p->b.info->domain_attr->mr_mode & KFI_MR_ENDPOINT)
		EXPECT_EQ(t, kfi_mr_enable(r.mr), 0);
	EXPECT_EQ(t, kfi_mr_enable(r.mr), -EINVAL);
	EXPECT_EQ(t, kfi_close(&p->b.ep->fid), -EBUSY);
	r.key = kfi_mr_key(r.mr);
	r.addr = kfi_mr_addr(r.mr);
	REQUIRE(t, try(p, A_WRITE, &r, near, true) && try(p, A_READ, &r, near, true));
	still_works(p);
}

/*
 * Addresses of the first byte from one end of the range to the other; accesses beside the region
 * are refused.
 */
static void offsets(struct test *t, struct pair *p)
{
	static const u64 at[] = { 0, 1, 0xfff, BIT_ULL(32) - 8, BIT_ULL(63), U64_MAX - LEN };
	u8 *near = test_pages(t, LEN), *far = test_pages(t, 3 * LEN);
	struct region r = { .buf = far + LEN };
	int i, how;

	if (p->b.info->domain_attr->mr_mode & KFI_MR_VIRT_ADDR)
		return;		/* there the address is the virtual one */
	for (i = 0; i < ARRAY_SIZE(at) && !t->failures; i++) {
		REQUIRE_EQ(t,
			   kfi_mr_reg(p->b.domain, r.buf, LEN, ACCESS, at[i], KFI_KEY_NOTAVAIL, 0,
				      &r.mr, NULL),
			   0);
		test_keep(t, &r.mr->fid);
		REQUIRE(t, !region_enable(&p->b, r.mr));
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

const struct test_case mr_cases[] = {
	{ "mr.requested_key", T_REL, CASE_ONCE, C_MR, requested_key },
	{ "mr.short_keys", T_REL, CASE_ONCE, C_MR, short_keys },
	{ "mr.per_io", T_REL, 0, C_MR, .pair = per_io },
	{ "mr.chosen_key", T_REL, 0, C_MR, .pair = chosen_key },
	{ "mr.remote_invalidate", T_RDM, 0, C_MR, .pair = remote_invalidate },
	{ "mr.invalidate_crossed", T_REL, CASE_CHECKED, C_MR, .pair = invalidate_crossed },
	{ "mr.rights", T_REL, CASE_CHECKED, C_MR, .pair = rights },
	{ "mr.remote_access", T_REL, CASE_CHECKED, C_MR, .pair = remote_access },
	{ "mr.long_key", T_REL, CASE_ONCE, C_MR, long_key },
	{ "mr.waits_for_enable", T_REL, 0, C_MR | KFI_RMA_EVENT, .pair = waits },
	{ "mr.bindings", T_REL, 0, C_MR, .pair = bindings },
	{ "mr.offsets", T_REL, 0, C_MR, .pair = offsets },
	{ }
};
