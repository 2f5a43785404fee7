// SPDX-License-Identifier: GPL-2.0
/*
 * Places: pieces of B's regions that devices of A's machine write. A CPU stands for the device: it
 * writes the pages of the place, not the memory of the region. If they are pages of the window of a
 * mock bridge, its device writes them: then the bytes are late, unless something pushes them.
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/module.h>
#include "../mock/command.h"
#include "harness.h"

#define LEN	(64 * 1024)	/* bytes of B's region */
#define SEGS	(LEN / PAGE_SIZE + 1)
#define PLACES	2
#define HELD_MS	60	/* a call that waits for a place has not returned after this time */
#define GIVE_UP_MS 3000	/* well below NT_RETURN_MS of kfi_ntb */
#define WROTE	(KFI_RMA | KFI_WRITE)
#define REST	0x5a

/**
 * struct desk - a pair, a region of B, and handles of A
 * @rma: the piece of the region that a case gets
 * @device: writes to pages of a mock bridge, or NULL
 */
struct desk {
	struct test		*t;
	struct pair		*p;
	struct region		r;
	struct kfi_rma_iov	rma;
	struct kfid_place	*place[PLACES];
	typeof(kfi_ntb_mock_device_write) *device;
};

static bool desk_open(struct test *t, struct desk *d, const struct node_opts *near,
		      const struct node_opts *far)
{
	int i;

	memset(d, 0, sizeof(*d));
	d->t = t;
	d->p = pair_open(t, near, far);
	if (!d->p)
		return false;
	for (i = 0; i < PLACES; i++) {
		if (!EXPECT_EQ(t, kfi_place_open(d->p->a.domain, SEGS, &d->place[i], d), 0))
			return false;
		test_keep(t, &d->place[i]->fid);
	}
	d->r.buf = test_best(t, d->p->b.domain, LEN);
	if (!d->r.buf || region_open(&d->p->b, &d->r, d->r.buf, LEN, KFI_REMOTE_WRITE))
		return false;
	memset(d->r.buf, REST, LEN);
	d->rma = (struct kfi_rma_iov){ d->r.addr, LEN, d->r.key };
	d->device = symbol_get(kfi_ntb_mock_device_write);
	return true;
}

/*
 * A case that has failed may have a place, and the close of the region would wait for it for ever.
 */
static void desk_clear(struct desk *d)
{
	int i;

	for (i = 0; i < PLACES; i++)
		if (d->place[i])
			kfi_place_drop(d->place[i]);
	if (d->device)
		symbol_put(kfi_ntb_mock_device_write);
	d->device = NULL;
}

/* Run the function of the row between desk_open() and desk_clear(). */
static void at_desk(struct test *t)
{
	void (*fn)(struct desk *d) = t->c->arg;
	struct desk *d = test_new(t, struct desk);

	if (desk_open(t, d, NULL, NULL))
		fn(d);
	desk_clear(d);
}

/* Return the error of the next completion of A. */
static int ends(struct desk *d, void *ctx)
{
	comp_t c;

	if (WAIT_TX(&d->p->a, &c))
		return -1;
	EXPECT_EQ(d->t, (uintptr_t)c.op_context, (uintptr_t)ctx);
	EXPECT_EQ(d->t, c.flags, WROTE);
	return c.err;
}

/* Return the error of a get of d->rma. */
static int get(struct desk *d, int i)
{
	struct node *a = &d->p->a;

	if (POST(d->t, kfi_place_get(a->ep, d->place[i], a->peer, &d->rma, 0, CTX(i))))
		return -1;
	return ends(d, CTX(i));
}

static int put(struct desk *d, int i, size_t len)
{
	if (POST(d->t, kfi_place_put(d->p->a.ep, d->place[i], len, KFI_COMPLETION, CTX(i))))
		return -1;
	return ends(d, CTX(i));
}

/* The device: write a segment of a place. */
static void device_segment(struct desk *d, const struct bio_vec *bv, const u8 *from, size_t len)
{
	if (!d->device || !d->device(bv->bv_page, bv->bv_offset, from, len))
		memcpy(page_address(bv->bv_page) + bv->bv_offset, from, len);
}

/* The device: write the pattern @seed to the first @len bytes of the place. */
static void device_writes(struct desk *d, int i, size_t len, u64 seed)
{
	const struct kfid_place *place = d->place[i];
	u8 *pattern = test_zalloc(d->t, len), *from = pattern;
	size_t seg, n;

	fill(pattern, len, seed);
	for (seg = 0; seg < place->count && len; seg++, from += n, len -= n) {
		n = min_t(size_t, len, place->bvec[seg].bv_len);
		device_segment(d, &place->bvec[seg], from, n);
	}
	EXPECT_EQ(d->t, len, 0);
}

/* The bytes of the device arrive, although the place was not put. */
static void arrives(struct desk *d, size_t len, u64 seed)
{
	EXPECT(d->t, test_until(d->t, differs(d->r.buf, len, seed) == -1));
}

/* ---- what is written where ---- */

static void some_ranges(struct desk *d)
{
	struct test *t = d->t;
	int i, n = t->w->quick ? 30 : 200;
	size_t at, len, wrote;

	for (i = 0; i < n && !t->failures; i++) {
		at = i ? test_random(t, LEN) : 0;
		len = i ? 1 + test_random(t, LEN - at) : LEN;
		wrote = i % 3 ? 1 + test_random(t, len) : len;
		memset(d->r.buf, REST, LEN);
		d->rma.addr = d->r.addr + at;
		d->rma.len = len;
		REQUIRE_EQ(t, get(d, 0), 0);
		EXPECT_EQ(t, d->place[0]->len, len);
		EXPECT_EQ(t, kfi_bvec_len(d->place[0]->bvec, d->place[0]->count), len);
		device_writes(d, 0, wrote, i);
		REQUIRE_EQ(t, put(d, 0, wrote), 0);
		EXPECT_DATA(t, d->r.buf + at, wrote, i);
		EXPECT_EQ(t, not_all(d->r.buf, at, REST), -1);
		EXPECT_EQ(t, not_all(d->r.buf + at + wrote, LEN - at - wrote, REST), -1);
	}
	NONE_RX(&d->p->b);
}

/*
 * Pages in descending order: no two are adjacent, so each is a segment. A handle with room for
 * fewer gets none of them.
 */
static void descending(struct desk *d)
{
	struct test *t = d->t;
	size_t n = LEN / PAGE_SIZE, i;
	u8 *buf = test_best(t, d->p->b.domain, LEN), *want = test_pages(t, LEN);
	struct bio_vec *bv = test_zalloc(t, n * sizeof(*bv));
	struct kfi_mr_attr attr = {
		.type = KFI_BVEC, .mr_biov = bv, .iov_count = n, .access = KFI_REMOTE_WRITE,
		.requested_key = KFI_KEY_NOTAVAIL,
	};
	struct kfid_place *small;
	struct kfid_mr *mr;

	REQUIRE(t, buf);
	for (i = 0; i < n; i++) {
		bv[i].bv_page = test_page(buf + (n - 1 - i) * PAGE_SIZE);
		bv[i].bv_len = PAGE_SIZE;
	}
	REQUIRE_EQ(t, kfi_mr_regattr(d->p->b.domain, &attr, 0, &mr), 0);
	test_keep(t, &mr->fid);
	REQUIRE(t, !region_enable(&d->p->b, mr));
	d->rma = (struct kfi_rma_iov){ kfi_mr_addr(mr), LEN, kfi_mr_key(mr) };
	REQUIRE_EQ(t, get(d, 0), 0);
	if (EXPECT_EQ(t, d->place[0]->count, n))
		device_writes(d, 0, LEN, 5);
	REQUIRE_EQ(t, put(d, 0, LEN), 0);
	fill(want, LEN, 5);
	for (i = 0; i < n; i++)
		EXPECT_EQ(t, memcmp(buf + (n - 1 - i) * PAGE_SIZE, want + i * PAGE_SIZE, PAGE_SIZE),
			  0);
	REQUIRE_EQ(t, kfi_place_open(d->p->a.domain, n - 1, &small, NULL), 0);
	swap(d->place[0], small);
	EXPECT_EQ(t, get(d, 0), EMSGSIZE);
	EXPECT_EQ(t, kfi_place_drop(d->place[0]), -KFI_EOPBADSTATE);
	swap(d->place[0], small);
	EXPECT_EQ(t, kfi_close(&small->fid), 0);
	EXPECT_EQ(t, test_close(t, &mr->fid), 0);
}

/* A message that is posted behind the put arrives behind the bytes, also without a wait between. */
static void followed(struct desk *d)
{
	struct node *a = &d->p->a, *b = &d->p->b;
	struct test *t = d->t;
	u8 *tx = test_pages(t, 64), *rx = test_pages(t, 64);
	int i, n = t->w->quick ? 50 : 300;
	comp_t c;

	for (i = 0; i < n && !t->failures; i++) {
		POST(t, kfi_recv(b->ep, rx, 64, NULL, KFI_ADDR_UNSPEC, rx));
		REQUIRE_EQ(t, get(d, 0), 0);
		device_writes(d, 0, LEN, i);
		POST(t, kfi_place_put(a->ep, d->place[0], LEN,
				      KFI_COMPLETION | (i & 1 ? KFI_MORE : 0), CTX(0)));
		POST(t, kfi_send(a->ep, tx, 64, NULL, a->peer, tx));
		REQUIRE_RX_OK(b, &c);
		EXPECT_DATA(t, d->r.buf, LEN, i);
		REQUIRE(t, !WAIT_TX(a, &c) && !c.err);
		REQUIRE(t, !WAIT_TX(a, &c) && !c.err);
	}
}

/* ---- abandoned places, and what the owner sees ---- */

/* A put is one remote write. A get is none, nor is a place that is abandoned. */
static void counted(struct test *t)
{
	struct node_opts opts = { .caps = C_MSG | C_RMA | KFI_RMA_EVENT };
	struct kfi_cntr_attr attr = {};
	struct desk *d = test_new(t, struct desk);
	struct kfid_cntr *cntr;
	struct kfid_mr *mr;
	u64 total = 0;
	int i;

	REQUIRE(t, desk_open(t, d, NULL, &opts));
	REQUIRE_EQ(t, kfi_cntr_open(d->p->b.domain, &attr, &cntr, NULL), 0);
	test_keep(t, &cntr->fid);
	REQUIRE_EQ(t, kfi_mr_reg(d->p->b.domain, d->r.buf, LEN, KFI_REMOTE_WRITE, 0, 99,
				 KFI_RMA_EVENT, &mr, NULL), 0);
	test_keep(t, &mr->fid);
	EXPECT_EQ(t, kfi_mr_bind(mr, &cntr->fid, KFI_REMOTE_WRITE), 0);
	if (d->p->b.info->domain_attr->mr_mode & KFI_MR_ENDPOINT)
		EXPECT_EQ(t, kfi_mr_bind(mr, &d->p->b.ep->fid, 0), 0);
	EXPECT_EQ(t, kfi_mr_enable(mr), 0);
	d->rma = (struct kfi_rma_iov){ kfi_mr_addr(mr), LEN, kfi_mr_key(mr) };
	for (i = 0; i < 12 && !t->failures; i++) {
		size_t len = i % 3 ? 0 : 1000 + i;

		EXPECT_EQ(t, get(d, 0), 0);
		EXPECT_EQ(t, kfi_cntr_read(cntr), total);
		if (i % 3 == 2)
			EXPECT_EQ(t, kfi_place_drop(d->place[0]), 0);
		else
			EXPECT_EQ(t, put(d, 0, len), 0);
		total += !!len;
		EXPECT(t, test_until(t, kfi_cntr_read(cntr) == total));
	}
	desk_clear(d);
}

/* An abandoned place keeps what the device has written, and the handle is free again. */
static void given_up(struct desk *d)
{
	struct test *t = d->t;
	int i;

	for (i = 0; i < 10 && !t->failures; i++) {
		REQUIRE_EQ(t, get(d, 0), 0);
		device_writes(d, 0, 512, i);
		if (i & 1)
			EXPECT_EQ(t, kfi_place_drop(d->place[0]), 0);
		else
			EXPECT_EQ(t, put(d, 0, 0), 0);
		EXPECT_EQ(t, kfi_place_drop(d->place[0]), -KFI_EOPBADSTATE);
		EXPECT_DATA(t, d->r.buf, 512, i);	/* nothing of it comes later */
	}
	EXPECT_EQ(t, test_close(t, &d->r.mr->fid), 0);
}

/* ---- what is refused ---- */

static void wrong_memory(struct desk *d)
{
	const struct kfi_rma_iov good = d->rma;
	struct test *t = d->t;
	struct region readable, closed;

	REQUIRE(t, !region_open(&d->p->b, &readable, test_pages(t, 4096), 4096, KFI_REMOTE_READ));
	REQUIRE(t, !region_open(&d->p->b, &closed, test_pages(t, 4096), 4096, KFI_REMOTE_WRITE));
	REQUIRE_EQ(t, test_close(t, &closed.mr->fid), 0);
	d->rma.len = LEN + 1;
	EXPECT_EQ(t, get(d, 0), EACCES);
	d->rma = good;
	d->rma.addr += LEN;
	d->rma.len = 1;
	EXPECT_EQ(t, get(d, 0), EACCES);
	d->rma.addr = d->r.addr - 1;
	EXPECT_EQ(t, get(d, 0), EACCES);
	d->rma = good;
	d->rma.key++;
	EXPECT_EQ(t, get(d, 0), EACCES);
	d->rma = (struct kfi_rma_iov){ readable.addr, 4096, readable.key };
	EXPECT_EQ(t, get(d, 0), EACCES);
	d->rma = (struct kfi_rma_iov){ closed.addr, 4096, closed.key };
	EXPECT_EQ(t, get(d, 0), EACCES);
	EXPECT_EQ(t, kfi_place_drop(d->place[0]), -KFI_EOPBADSTATE);
	d->rma = good;
	EXPECT_EQ(t, get(d, 0), 0);
	EXPECT_EQ(t, put(d, 0, LEN), 0);
	EXPECT_EQ(t, not_all(d->r.buf, LEN, REST), -1);
	still_works(d->p);
}

static void wrong_calls(struct desk *d)
{
	struct node *a = &d->p->a;
	struct test *t = d->t;
	struct kfi_rma_iov none = d->rma;
	struct kfid_place *place;

	EXPECT_EQ(t, kfi_place_open(a->domain, 0, &place, NULL), -EINVAL);
	EXPECT_EQ(t, kfi_place_open(a->domain, KFI_PLACE_SEGS_MAX + 1, &place, NULL), -EINVAL);
	place = d->place[0];
	none.len = 0;
	EXPECT_EQ(t, kfi_place_get(a->ep, place, a->peer, &none, 0, NULL), -EINVAL);
	EXPECT_EQ(t, kfi_place_get(a->ep, place, a->peer, NULL, 0, NULL), -EINVAL);
	EXPECT_EQ(t, kfi_place_get(a->ep, place, a->peer, &d->rma, KFI_INJECT, NULL),
		  -KFI_EBADFLAGS);
	EXPECT_EQ(t, kfi_place_get(a->ep, place, a->peer, &d->rma, KFI_TRIGGER, NULL),
		  -KFI_EBADFLAGS);
	EXPECT_EQ(t, kfi_place_get(d->p->b.ep, place, d->p->b.peer, &d->rma, 0, NULL),
		  -KFI_EDOMAIN);
	EXPECT_EQ(t, kfi_place_put(a->ep, place, 1, 0, NULL), -KFI_EOPBADSTATE);
	EXPECT_EQ(t, kfi_place_drop(place), -KFI_EOPBADSTATE);
	/* none of these has changed the state */
	REQUIRE_EQ(t, get(d, 0), 0);
	EXPECT_EQ(t, kfi_place_get(a->ep, place, a->peer, &d->rma, 0, NULL), -KFI_EOPBADSTATE);
	EXPECT_EQ(t, kfi_close(&place->fid), -EBUSY);
	EXPECT_EQ(t, kfi_place_put(a->ep, place, LEN + 1, 0, NULL), -EINVAL);
	EXPECT_EQ(t, kfi_place_put(d->p->b.ep, place, 1, 0, NULL), -EINVAL);
	EXPECT_EQ(t, kfi_place_put(a->ep, place, 1, KFI_REMOTE_CQ_DATA, NULL), -KFI_EBADFLAGS);
	EXPECT_EQ(t, kfi_place_put(a->ep, place, 1, KFI_TRIGGER, NULL), -KFI_EBADFLAGS);
	EXPECT_EQ(t, put(d, 0, 1), 0);
	NONE_TX(a);
	still_works(d->p);
}

/*
 * The offer and the calls agree. An endpoint has places only if it was opened with the capability.
 * A provider may have places in other domains, and then opens handles in this one, too.
 */
static void offered(struct test *t)
{
	struct kfi_rma_iov rma = { 0, 1, 1 };
	struct kfid_place *place;
	struct kfi_info *info;
	struct pair *p;
	int has, ret;

	t->info[0]->caps &= ~KFI_PLACE;	/* granted without a request */
	p = pair_open(t, NULL, NULL);
	REQUIRE(t, p);
	has = test_getinfo(t, 0, C_MSG | C_RMA | KFI_PLACE, &info);
	if (!has)
		kfi_freeinfo(info);
	else
		EXPECT_EQ(t, has, -ENODATA);
	ret = kfi_place_open(p->a.domain, 1, &place, NULL);
	EXPECT(t, !ret || (has && ret == -EOPNOTSUPP));
	if (ret)
		return;
	EXPECT_EQ(t, kfi_place_get(p->a.ep, place, p->a.peer, &rma, 0, NULL), -EOPNOTSUPP);
	EXPECT_EQ(t, kfi_close(&place->fid), 0);
}

/* ---- ends while a place is out ---- */

/**
 * struct waiter - a call that has to wait for a place
 * @call: the call
 * @over: it has returned
 */
struct waiter {
	struct desk	*d;
	int		(*call)(struct desk *d);
	bool		over;
};

static int waiter_run(void *arg)
{
	struct waiter *w = arg;
	int ret = w->call(w->d);

	WRITE_ONCE(w->over, true);
	return ret;
}

static int close_region(struct desk *d)
{
	return test_close(d->t, &d->r.mr->fid);
}

static int bind_region(struct desk *d)
{
	return kfi_mr_bind(d->r.mr, &d->p->b.ep->fid, 0);
}

/*
 * Begin @call while place 0 is out; it has not returned when @end is called, and returns because of
 * that. Meanwhile a get ends with @other.
 */
static void waits_for(struct desk *d, int (*call)(struct desk *d), int other,
		      void (*end)(struct desk *d))
{
	struct waiter w = { .d = d, .call = call };
	struct test *t = d->t;
	struct worker worker;

	REQUIRE_EQ(t, get(d, 0), 0);
	if (!EXPECT_EQ(t, worker_start(t, &worker, -1, waiter_run, &w), 0))
		return;
	msleep(HELD_MS);
	EXPECT(t, !READ_ONCE(w.over));
	EXPECT_EQ(t, get(d, 1), other);
	device_writes(d, 0, LEN, 7);
	arrives(d, LEN, 7);
	end(d);
	kfi_place_drop(d->place[0]);	/* or the worker would not end */
	EXPECT_EQ(t, worker_join(&worker, t->w->wait_ms), 0);
}

static void end_dead(struct desk *d)
{
	EXPECT_EQ(d->t, put(d, 0, LEN), EREMOTEIO);
}

static void end_dead_abandoned(struct desk *d)
{
	EXPECT_EQ(d->t, put(d, 0, 0), 0);
}

static void end_dropped(struct desk *d)
{
	EXPECT_EQ(d->t, kfi_place_drop(d->place[0]), 0);
}

static void (*const ends_of[])(struct desk *d) = { end_dead, end_dead_abandoned, end_dropped };

/* The owner closes the region: that waits, and no new place of it is given. */
static void closing(struct desk *d)
{
	struct test *t = d->t;
	int i;

	for (i = 0; i < ARRAY_SIZE(ends_of) && !t->failures; i++) {
		waits_for(d, close_region, EACCES, ends_of[i]);
		EXPECT_EQ(t, get(d, 1), EACCES);
		REQUIRE(t, !region_open(&d->p->b, &d->r, d->r.buf, LEN, KFI_REMOTE_WRITE));
		d->rma = (struct kfi_rma_iov){ d->r.addr, LEN, d->r.key };
	}
	still_works(d->p);
}

/*
 * The owner takes the region from the peers of other endpoints, which waits: it does not see what a
 * device writes meanwhile, so the put fails. The region is not dead: a get that comes meanwhile
 * finds that it has no places at present.
 */
static void binding(struct desk *d)
{
	struct test *t = d->t;
	int i;

	if (d->p->b.info->domain_attr->mr_mode & KFI_MR_ENDPOINT)
		return;		/* bound before there was a place */
	for (i = 0; i < ARRAY_SIZE(ends_of) && !t->failures; i++) {
		waits_for(d, bind_region, EOPNOTSUPP, ends_of[i]);
		EXPECT_EQ(t, get(d, 0), 0);
		EXPECT_EQ(t, put(d, 0, LEN), 0);
		EXPECT_EQ(t, test_close(t, &d->r.mr->fid), 0);
		REQUIRE(t, !region_open(&d->p->b, &d->r, d->r.buf, LEN, KFI_REMOTE_WRITE));
		d->rma = (struct kfi_rma_iov){ d->r.addr, LEN, d->r.key };
	}
}

/* The end of an invalidation, and a send that invalidates, find the place. */
static void invalidating(struct desk *d)
{
	struct node *a = &d->p->a, *b = &d->p->b;
	struct test *t = d->t;
	struct kvec vec = { d->r.buf, LEN };
	struct kfi_mr_attr attr = io_attr(&vec, KFI_REMOTE_WRITE);
	struct io_work *io = io_work_new(t);
	u8 *tx = test_pages(t, 64), *rx = test_pages(t, 64);
	struct kvec sent = { tx, 64 };
	struct kfi_msg msg = { .type = KFI_KVEC, .msg_iov = &sent, .iov_count = 1, .context = tx };
	struct kfid_mr *mr;
	comp_t c;
	int i;

	REQUIRE_EQ(t, kfi_mr_alloc(b->domain, SEGS, 0, &mr, NULL), 0);
	test_keep(t, &mr->fid);
	for (i = 0; i < 6 && !t->failures; i++) {
		REQUIRE_EQ(t, kfi_mr_register(mr, &attr, NULL), 0);
		d->rma = (struct kfi_rma_iov){ kfi_mr_addr(mr), LEN, kfi_mr_key(mr) };
		REQUIRE_EQ(t, get(d, 0), 0);
		if (i & 1) {
			POST(t, kfi_recv(b->ep, rx, 64, NULL, KFI_ADDR_UNSPEC, rx));
			msg.addr = a->peer;
			msg.inv_key = d->rma.key;
			POST(t, kfi_sendmsg(a->ep, &msg, KFI_COMPLETION | KFI_INVALIDATE));
			REQUIRE(t, !WAIT_RX(b, &c) && !c.err);
			EXPECT_EQ(t, c.flags & (KFI_INVALIDATE | KFI_INVALIDATE_DUE),
				  KFI_INVALIDATE_DUE);
			EXPECT_EQ(t, c.data, d->rma.key);
			REQUIRE(t, !WAIT_TX(a, &c) && !c.err);
		}
		EXPECT_EQ(t, kfi_mr_invalidate(mr, &io->work), 0);
		EXPECT_EQ(t, wait_for_completion_timeout(&io->ended, msecs_to_jiffies(HELD_MS)), 0);
		device_writes(d, 0, LEN, i);
		if (i < 2)
			EXPECT_EQ(t, kfi_place_drop(d->place[0]), 0);
		else
			EXPECT_EQ(t, put(d, 0, LEN), EREMOTEIO);
		REQUIRE(t, io_work_wait(t, io));
		EXPECT_DATA(t, d->r.buf, LEN, i);
	}
}

/* The endpoint of the place closes: the pages stay until the drop, and the region with them. */
static void own_end(struct desk *d)
{
	struct waiter w = { .d = d, .call = close_region };
	struct test *t = d->t;
	struct worker worker;

	REQUIRE_EQ(t, get(d, 0), 0);
	REQUIRE(t, !node_close_ep(&d->p->a));
	EXPECT_EQ(t, kfi_close(&d->p->a.domain->fid), -EBUSY);
	REQUIRE_EQ(t, worker_start(t, &worker, -1, waiter_run, &w), 0);
	msleep(HELD_MS);
	EXPECT(t, !READ_ONCE(w.over));
	device_writes(d, 0, LEN, 3);
	arrives(d, LEN, 3);
	EXPECT_EQ(t, kfi_place_drop(d->place[0]), 0);
	/* B waits for the drop, not until it gives A up. */
	EXPECT_EQ(t, worker_join(&worker, min(t->w->wait_ms, GIVE_UP_MS)), 0);
}

/* The peer goes: the put fails, at the call or later, and the place ends all the same. */
static void far_end(struct desk *d)
{
	struct test *t = d->t;
	ssize_t ret;

	REQUIRE_EQ(t, get(d, 0), 0);
	REQUIRE_EQ(t, get(d, 1), 0);
	REQUIRE(t, !node_close_ep(&d->p->b));
	device_writes(d, 0, LEN, 4);
	ret = kfi_place_put(d->p->a.ep, d->place[0], LEN, KFI_COMPLETION, CTX(0));
	if (ret)
		EXPECT_EQ(t, kfi_place_drop(d->place[0]), 0);
	else
		EXPECT(t, ends(d, CTX(0)) > 0);
	EXPECT_EQ(t, kfi_place_drop(d->place[0]), -KFI_EOPBADSTATE);
	EXPECT_EQ(t, kfi_place_drop(d->place[1]), 0);
	EXPECT_EQ(t, test_close(t, &d->r.mr->fid), 0);
}

#define C_PLACE	(C_MSG | C_RMA | KFI_PLACE)

const struct test_case place_cases[] = {
	{ "place.offered", T_REL, 0, C_MSG | C_RMA, offered },
	{ "place.ranges", T_REL, 0, C_PLACE, at_desk, some_ranges },
	{ "place.apart", T_REL, 0, C_PLACE, at_desk, descending },
	{ "place.order", T_REL, 0, C_PLACE, at_desk, followed },
	{ "place.counted", T_REL, 0, C_PLACE | KFI_RMA_EVENT, counted },
	{ "place.abandoned", T_REL, 0, C_PLACE, at_desk, given_up },
	{ "place.refused", T_REL, 0, C_PLACE, at_desk, wrong_memory },
	{ "place.bad_calls", T_REL, 0, C_PLACE, at_desk, wrong_calls },
	{ "place.region_closes", T_REL, 0, C_PLACE, at_desk, closing },
	{ "place.bind", T_REL, 0, C_PLACE, at_desk, binding },
	{ "place.invalidate", T_REL, 0, C_PLACE, at_desk, invalidating },
	{ "place.endpoint_closes", T_REL, 0, C_PLACE, at_desk, own_end },
	{ "place.peer_closes", T_REL, 0, C_PLACE, at_desk, far_end },
	{ }
};
