// SPDX-License-Identifier: GPL-2.0
/*
 * Memory of a domain: allocated, registered, written by peers, and freed when no peer can write any
 * more.
 */
#include <linux/bvec.h>
#include <linux/delay.h>
#include <linux/mm.h>
#include <linux/nodemask.h>
#include "harness.h"

#define ACCESS	(KFI_REMOTE_READ | KFI_REMOTE_WRITE)
#define LEN	(256 * 1024)
#define LONG	(1 << 20)	/* a transfer of this length takes a while */

/* ---- allocation ---- */

static void well_formed(struct test *t, const struct kfi_mem *mem, size_t len)
{
	EXPECT(t, PAGE_ALIGNED(mem->addr));
	EXPECT_EQ(t, mem->len, PAGE_ALIGN(len));
	EXPECT_EQ(t, not_all(mem->addr, mem->len, 0), -1);
	EXPECT(t, mem->numa_node == NUMA_NO_NODE || node_online(mem->numa_node));
}

static void sizes(struct test *t, struct pair *p)
{
	static const size_t len[] = { 1,	 100,		PAGE_SIZE - 1,
				      PAGE_SIZE, PAGE_SIZE + 1, 3 * PAGE_SIZE,
				      65536,	 100000,	1 << 20 };
	struct kfi_mem *mem[ARRAY_SIZE(len)];
	int i, j;

	for (j = 0; j < 2; j++) {
		for (i = 0; i < ARRAY_SIZE(len); i++) {
			mem[i] = test_mem(t, p->a.domain, len[i]);
			REQUIRE(t, mem[i]);
			well_formed(t, mem[i], len[i]);
			memset(mem[i]->addr, 0x11 + i, mem[i]->len);
		}
		/* No two pieces overlap; and freed memory is zeroed when it is allocated again. */
		for (i = 0; i < ARRAY_SIZE(len); i++) {
			EXPECT_EQ(t, not_all(mem[i]->addr, mem[i]->len, 0x11 + i), -1);
			EXPECT_EQ(t, test_mem_free(t, mem[i]), 0);
		}
	}
}

static void limits(struct test *t, struct pair *p)
{
	struct kfi_mem *mem, *best[64];
	int i, n, ret = 0;

	EXPECT_EQ(t, kfi_mem_alloc(p->a.domain, 0, 0, &mem), -EINVAL);
	EXPECT_EQ(t, kfi_mem_alloc(p->a.domain, KFI_MEM_MAX + 1, 0, &mem), -EINVAL);
	EXPECT_EQ(t, kfi_mem_alloc(p->a.domain, SIZE_MAX, 0, &mem), -EINVAL);
	EXPECT_EQ(t, kfi_mem_alloc(p->a.domain, 4096, BIT_ULL(3), &mem), -KFI_EBADFLAGS);
	EXPECT_EQ(t, kfi_mem_alloc(p->a.domain, KFI_MEM_MAX, KFI_MEM_DIRECT, &mem), -ENOMEM);
	/* There is some, and if it is used up there is other memory. */
	for (n = 0; n < ARRAY_SIZE(best); n++) {
		ret = kfi_mem_alloc(p->a.domain, 1 << 20, KFI_MEM_DIRECT, &best[n]);
		if (ret)
			break;
		EXPECT(t, best[n]->direct);
		well_formed(t, best[n], 1 << 20);
	}
	EXPECT(t, n && (!ret || ret == -ENOMEM));
	if (ret) {
		mem = test_mem(t, p->a.domain, 1 << 20);
		EXPECT(t, mem && !mem->direct);
	}
	for (i = 0; i < n; i++)
		EXPECT_EQ(t, kfi_mem_free(best[i]), 0);
	EXPECT_EQ(t, kfi_mem_alloc(p->a.domain, 1 << 20, KFI_MEM_DIRECT, &mem), 0);
	EXPECT_EQ(t, kfi_mem_free(mem), 0);
}

/* ---- what keeps it ---- */

static void busy_region(struct test *t, struct node *n, struct kfi_mem *mem, const void *vec,
			enum kfi_iov_type type)
{
	struct kfi_mr_attr attr = {
		.type = type,
		.mr_iov = vec,
		.iov_count = 1,
		.access = ACCESS,
		.requested_key = KFI_KEY_NOTAVAIL,
	};
	struct kfid_mr *mr;

	REQUIRE_EQ(t, kfi_mr_regattr(n->domain, &attr, 0, &mr), 0);
	EXPECT_EQ(t, test_mem_free(t, mem), -EBUSY);
	EXPECT_EQ(t, kfi_close(&mr->fid), 0);
}

static void busy_handle(struct test *t, struct node *n, struct kfi_mem *mem)
{
	/* Whole pages, for devices whose regions must not have gaps */
	struct kvec iov[] = { { mem->addr, PAGE_SIZE }, { mem->addr + 2 * PAGE_SIZE, PAGE_SIZE } };
	struct kfi_mr_attr attr = {
		.type = KFI_KVEC, .mr_iov = iov, .iov_count = 2, .access = ACCESS,
		.requested_key = KFI_KEY_NOTAVAIL,
	};
	struct io_work *io = io_work_new(t);
	struct kfid_mr *mr;
	int i, ret;

	if (test_hw_recv(t))
		return;		/* without a connection there is no memory for single I/Os */
	ret = kfi_mr_alloc(n->domain, 2, 0, &mr, NULL);
	if (ret == -EOPNOTSUPP)
		return;
	REQUIRE_EQ(t, ret, 0);
	for (i = 0; i < 2; i++) {
		REQUIRE_EQ(t, kfi_mr_register(mr, &attr, &io->work), 0);
		REQUIRE(t, io_work_wait(t, io));
		EXPECT_EQ(t, test_mem_free(t, mem), -EBUSY);
		REQUIRE_EQ(t, kfi_mr_invalidate(mr, &io->work), 0);
		REQUIRE(t, io_work_wait(t, io));
	}
	REQUIRE_EQ(t, kfi_mr_register(mr, &attr, &io->work), 0);
	REQUIRE(t, io_work_wait(t, io));
	EXPECT_EQ(t, kfi_close(&mr->fid), 0);
}

static void busy(struct test *t, struct pair *p)
{
	struct kfi_mem *mem;
	struct bio_vec bv;
	struct kvec kv;

	mem = test_mem(t, p->a.domain, 3 * PAGE_SIZE);
	REQUIRE(t, mem);
	kv = (struct kvec){ mem->addr + 5000, 2000 };
	busy_region(t, &p->a, mem, &kv, KFI_KVEC);
	if (!is_vmalloc_addr(mem->addr)) {
		bvec_set_page(&bv, virt_to_page(mem->addr + PAGE_SIZE), 2000, 50);
		busy_region(t, &p->a, mem, &bv, KFI_BVEC);
	}
	busy_handle(t, &p->a, mem);
	EXPECT_EQ(t, test_close(t, &p->a.domain->fid), -EBUSY);
	EXPECT_EQ(t, test_mem_free(t, mem), 0);
}

/* ---- transfers ---- */

/* Transfers between A and B, with memory of any kind and of the domain. */
static u8 *memory(struct test *t, struct node *n, size_t len, bool own)
{
	struct kfi_mem *mem = own ? test_mem(t, n->domain, len) : NULL;

	if (own)
		return mem ? mem->addr : NULL;
	return test_pages(t, len);
}

static void write_and_read(struct test *t, struct node *a, const struct region *r, u8 *near,
			   size_t len)
{
	comp_t c;

	fill(near, len, len);
	memset(r->buf, 0, len + 1);
	POST(t, kfi_write(a->ep, near, len, NULL, a->peer, r->addr, r->key, near));
	REQUIRE_TX(a, &c, near, KFI_RMA | KFI_WRITE);
	EXPECT(t, test_until(t, differs(r->buf, len, len) == -1));
	EXPECT_EQ(t, r->buf[len], 0);
	memset(near, 0, len + 1);
	POST(t, kfi_read(a->ep, near, len, NULL, a->peer, r->addr, r->key, near));
	REQUIRE_TX(a, &c, near, KFI_RMA | KFI_READ);
	EXPECT_DATA(t, near, len, len);
	EXPECT_EQ(t, near[len], 0);
	if (t->failures)
		FAIL(t, "with %zu bytes", len);
}

static void rma(struct test *t, struct pair *p)
{
	size_t max = min_t(size_t, LEN, size_max(t)), size;
	u8 *near[2], *far[2];
	struct region r[2];
	int i;

	for (i = 0; i < 2; i++) {
		near[i] = memory(t, &p->a, max + 1, i);
		far[i] = memory(t, &p->b, max + 1, i);
		REQUIRE(t,
			near[i] && far[i] && !region_open(&p->b, &r[i], far[i], max + 1, ACCESS));
	}
	for (size = 1; size <= max && !t->failures; size = size_next(t, size))
		for (i = 0; i < 4 && !t->failures; i++)
			write_and_read(t, &p->a, &r[i & 1], near[i >> 1], size);
}

/* A region of pieces of several kinds, longer than any of them */
static void rma_mixed(struct test *t, struct pair *p)
{
	struct kvec iov[5];
	size_t at, len = 5 * 20000;
	struct kfid_mr *mr;
	u8 *near, *seen = test_zalloc(t, len);
	int i, round;
	comp_t c;

	near = memory(t, &p->a, len, true);
	REQUIRE(t, near);
	for (round = 0; round < 3 && !t->failures; round++) {
		for (i = 0; i < 5; i++) {
			iov[i] = (struct kvec) {
				memory(t, &p->b, 20000, round == 1 || (round && i & 1)), 20000
			};
			REQUIRE(t, iov[i].iov_base);
		}
		REQUIRE_EQ(t,
			   kfi_mr_regv(p->b.domain, iov, 5, ACCESS, 0, KFI_KEY_NOTAVAIL, 0, &mr,
				       NULL),
			   0);
		test_keep(t, &mr->fid);
		EXPECT_EQ(t, region_enable(&p->b, mr), 0);
		at = kfi_mr_addr(mr);
		fill(near, len, round);
		POST(t, kfi_write(p->a.ep, near + 10, len - 20, NULL, p->a.peer, at + 10,
				  kfi_mr_key(mr), near));
		REQUIRE_TX_OK(&p->a, &c);
		memset(near, 0, len);
		POST(t, kfi_read(p->a.ep, near, len, NULL, p->a.peer, at, kfi_mr_key(mr), near));
		REQUIRE_TX_OK(&p->a, &c);
		fill(seen, len, round);
		memset(seen, 0, 10);
		memset(seen + len - 10, 0, 10);
		EXPECT(t, !memcmp(seen, near, len));
	}
}

static void messages(struct test *t, struct pair *p)
{
	size_t max = min_t(size_t, LEN, size_max(t)), size;
	u8 *tx[2], *rx[2];
	int i;

	for (i = 0; i < 2; i++) {
		tx[i] = memory(t, &p->a, max, i);
		rx[i] = memory(t, &p->b, max, i);
		REQUIRE(t, tx[i] && rx[i]);
	}
	for (size = 1; size <= max && !t->failures; size = size_next(t, size))
		for (i = 0; i < 4 && !t->failures; i++)
			REQUIRE_EQ(t, exchange(&p->a, &p->b, tx[i & 1], rx[i >> 1], size, size), 0);
}

/* ---- ends ---- */

/* Wait for a random moment, mostly until the first byte has arrived. */
static void in_the_middle(struct test *t, u8 *mem, u8 old)
{
	unsigned long until = jiffies + msecs_to_jiffies(200);

	if (test_random(t, 4)) {
		while (READ_ONCE(*mem) == old && time_before(jiffies, until))
			cond_resched();
		if (test_random(t, 2))
			return;
	}
	usleep_range(1, 2 + test_random(t, 1000));
}

static void drain(struct node *n)
{
	comp_t c;

	while (comp_poll(n, n->rxcq, &c) == 1)
		;
}

/**
 * struct ending - an endpoint that closes while memory of both sides is being written
 * @near: A's source
 * @sink: A's destination
 * @far: B's region
 * @rx: B's receive
 * @len: bytes of each
 */
struct ending {
	struct pair	*p;
	u8		*near, *sink, *far, *rx;
	size_t		len;
};

static bool ending_open(struct test *t, struct ending *e)
{
	e->p = pair_open(t, NULL, NULL);
	e->len = min_t(size_t, LONG, t->info[0]->ep_attr->max_msg_size);
	if (!e->p)
		return false;
	e->near = memory(t, &e->p->a, e->len, true);
	e->sink = memory(t, &e->p->a, e->len, true);
	e->far = memory(t, &e->p->b, e->len, true);
	e->rx = memory(t, &e->p->b, e->len, true);
	if (!e->near || !e->sink || !e->far || !e->rx)
		return false;
	memset(e->near, 0x77, e->len);
	return true;
}

/* A region ends before its endpoint, and with it writes to it. Return: number of A's operations */
static int rma_midway(struct test *t, struct ending *e)
{
	struct node *a = &e->p->a;
	struct region r;

	if (region_open(&e->p->b, &r, e->far, e->len, ACCESS))
		return 0;
	POST(t, kfi_write(a->ep, e->near, e->len, NULL, a->peer, r.addr, r.key, CTX(1)));
	POST(t, kfi_read(a->ep, e->sink, e->len, NULL, a->peer, r.addr, r.key, CTX(3)));
	in_the_middle(t, e->far, 0x33);
	EXPECT_EQ(t, test_close(t, &r.mr->fid), 0);
	return 2;
}

static int message_midway(struct test *t, struct ending *e)
{
	struct node *a = &e->p->a;

	POST(t, kfi_recv(e->p->b.ep, e->rx, e->len, NULL, 0, e->rx));
	POST(t, kfi_send(a->ep, e->near, e->len, NULL, a->peer, CTX(2)));
	in_the_middle(t, e->rx, 0x33);
	return 1;
}

static void end_once(struct test *t, struct ending *e, bool rma)
{
	struct pair *p = e->p;
	comp_t c;
	int n;

	memset(e->far, 0x33, e->len);
	memset(e->rx, 0x33, e->len);
	n = rma ? rma_midway(t, e) : message_midway(t, e);
	REQUIRE(t, !node_close_ep(&p->b));
	memset(e->far, 0x33, e->len);
	memset(e->rx, 0x33, e->len);
	drain(&p->b);
	for (; n; n--)
		REQUIRE(t, !comp_wait_ms(t, &p->a, p->a.txcq, &c, t->w->loss_ms + t->w->wait_ms,
					 __FILE__, __LINE__));
	memset(e->sink, 0x55, e->len);
	usleep_range(2000, 4000);
	EXPECT_EQ(t, not_all(e->far, e->len, 0x33), -1);
	EXPECT_EQ(t, not_all(e->rx, e->len, 0x33), -1);
	EXPECT_EQ(t, not_all(e->sink, e->len, 0x55), -1);
}

/*
 * B's endpoint closes meanwhile: its memory can be reused, and so can A's memory that is the
 * destination of reads.
 */
static void endpoint_ends(struct test *t)
{
	int i, n = t->w->quick ? 10 : 40;
	struct ending e;

	REQUIRE(t, ending_open(t, &e));
	for (i = 0; i < n && !t->failures; i++) {
		end_once(t, &e, i & 1);
		REQUIRE(t, !t->failures && !pair_reconnect(e.p, &e.p->b));
	}
}

const struct test_case mem_cases[] = {
	{ "mem.sizes", T_ALL, CASE_ONCE, C_MSG, .pair = sizes },
	{ "mem.limits", T_ALL, CASE_ONCE, C_MSG, .pair = limits },
	{ "mem.busy", T_REL, CASE_ONCE, C_MSG | C_RMA, .pair = busy },
	{ "mem.rma", T_REL, 0, C_MSG | C_RMA, .pair = rma },
	{ "mem.rma_mixed", T_REL, CASE_CHECKED, C_MSG | C_RMA, .pair = rma_mixed },
	{ "mem.messages", T_REL, 0, C_MSG, .pair = messages },
	{ "mem.endpoint_ends", T_REL, 0, C_MSG | C_RMA, endpoint_ends },
	{ }
};
