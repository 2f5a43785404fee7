// SPDX-License-Identifier: GPL-2.0
/*
 * Places: how they end. What devices write there, and the order of puts and messages, is tested by
 * the list of conformance (place.*).
 */
#include <kfi_place.h>
#include "fake.h"
#include "../../kfi/registry.h"

#define LEN	64

/**
 * struct staged - what the provider does
 * @tx: takes operations that wait for fake_finish()
 * @staging: what devices write
 * @ends: calls of place_end
 */
static struct staged {
	int		(*tx)(struct kfi_ep *ep, struct kfi_oper *op);
	u8		*staging;
	int		ends;
} staged;

static int staged_tx(struct kfi_ep *ep, struct kfi_oper *op)
{
	struct kvec vec = { staged.staging, LEN };
	struct iov_iter it;

	if (op->code != KFI_OPC_PLACE_GET)
		return staged.tx(ep, op);
	iov_iter_kvec(&it, ITER_DEST, &vec, 1, op->rma[0].len);
	kfi_tx_complete(op, kfi_place_fill(op->place, it));
	return 0;
}

static void staged_end(struct kfi_dev_place *place)
{
	staged.ends++;
}

struct place_world {
	struct kfi_world	*w;
	struct kfi_info		*info;
	struct kfid_cq		*cq;
	struct kfid_ep		*ep;
	struct kfid_place	*place;
	int			device;
};

static void place_open(struct kunit *test, struct place_world *p)
{
	memset(&staged, 0, sizeof(staged));
	staged.staging = kfi_test_zalloc(test, LEN);
	p->w = fake_open(test);
	staged.tx = p->w->ops.tx;
	p->w->ops.tx = staged_tx;
	p->w->ops.place_end = staged_end;
	p->info = fake_info(p->w, KFI_EP_RDM);
	p->info->caps |= KFI_PLACE;
	p->cq = fake_cq(p->w, 64, 0, NULL, NULL);
	p->ep = fake_rdm(p->w, p->info, p->cq);
	KUNIT_ASSERT_EQ(test, 0, kfi_place_open(&p->w->domain.fid, 4, &p->place, NULL));
}

static void place_close(struct kunit *test, struct place_world *p)
{
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&p->place->fid));
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&p->ep->fid));
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&p->cq->fid));
	kfi_freeinfo(p->info);
	fake_close(p->w);
}

static ssize_t get(struct place_world *p)
{
	struct kfi_rma_iov rma = { 0, LEN, 1 };

	return kfi_place_get(p->ep, p->place, 0, &rma, 0, NULL);
}

static int next_error(struct kunit *test, struct place_world *p)
{
	struct kfi_cq_err_entry wc = {};
	int ret = kfi_cq_read(p->cq, &wc, 1);

	if (ret == -KFI_EAVAIL)
		ret = kfi_cq_readerr(p->cq, &wc, 0);
	KUNIT_EXPECT_EQ(test, 1, ret);
	return wc.err;
}

/* A put keeps the place until it has ended; a put that fails gives it back all the same. */
static void place_put_fails(struct kunit *test)
{
	struct place_world p;

	place_open(test, &p);
	KUNIT_ASSERT_EQ(test, 0, get(&p));
	KUNIT_ASSERT_EQ(test, 0, next_error(test, &p));
	KUNIT_ASSERT_EQ(test, 0, kfi_place_put(p.ep, p.place, LEN, 0, NULL));
	KUNIT_EXPECT_EQ(test, -KFI_EOPBADSTATE, kfi_place_drop(p.place));
	KUNIT_EXPECT_EQ(test, -EBUSY, kfi_close(&p.place->fid));
	KUNIT_EXPECT_EQ(test, 0, staged.ends);
	KUNIT_ASSERT_TRUE(test, fake_finish(to_fake(p.ep), -ECANCELED));
	KUNIT_EXPECT_EQ(test, ECANCELED, next_error(test, &p));
	KUNIT_EXPECT_EQ(test, 1, staged.ends);
	KUNIT_EXPECT_EQ(test, -KFI_EOPBADSTATE, kfi_place_drop(p.place));
	KUNIT_EXPECT_EQ(test, 0, get(&p));
	KUNIT_EXPECT_EQ(test, 0, next_error(test, &p));
	KUNIT_EXPECT_EQ(test, 0, kfi_place_drop(p.place));
	place_close(test, &p);
}

/* An endpoint at the address of the one before it, or that was reset, has no places of that. */
static void place_other_life(struct kunit *test)
{
	struct place_world p;

	place_open(test, &p);
	KUNIT_ASSERT_EQ(test, 0, get(&p));
	KUNIT_ASSERT_EQ(test, 0, next_error(test, &p));
	kfi_to_ep(p.ep)->life++;
	KUNIT_EXPECT_EQ(test, -EINVAL, kfi_place_put(p.ep, p.place, LEN, 0, NULL));
	KUNIT_EXPECT_EQ(test, 0, staged.ends);
	KUNIT_EXPECT_EQ(test, 0, kfi_place_drop(p.place));
	KUNIT_EXPECT_EQ(test, 1, staged.ends);
	KUNIT_EXPECT_EQ(test, -KFI_EOPBADSTATE, kfi_place_drop(p.place));
	place_close(test, &p);
}

/* The device goes: a place that is out stays until it is dropped. */
static void place_device_gone(struct kunit *test)
{
	struct kfid_place *other;
	struct place_world p;

	place_open(test, &p);
	p.w->domain.device = &p.device;
	list_add(&p.w->domain.obj.entry, &p.w->fabric.domains);
	KUNIT_ASSERT_EQ(test, 0, get(&p));
	KUNIT_ASSERT_EQ(test, 0, next_error(test, &p));
	kfi_fabric_kill(&p.w->fabric, &p.device);
	KUNIT_EXPECT_EQ(test, -ENODEV, kfi_place_put(p.ep, p.place, LEN, 0, NULL));
	KUNIT_EXPECT_EQ(test, 0, staged.ends);
	KUNIT_EXPECT_EQ(test, -EBUSY, kfi_close(&p.place->fid));
	KUNIT_EXPECT_EQ(test, 0, kfi_place_drop(p.place));
	KUNIT_EXPECT_EQ(test, 1, staged.ends);
	KUNIT_EXPECT_EQ(test, -ENODEV, get(&p));
	KUNIT_EXPECT_EQ(test, -ENODEV, kfi_place_open(&p.w->domain.fid, 1, &other, NULL));
	list_del_init(&p.w->domain.obj.entry);
	place_close(test, &p);
}

KFI_SUITE(kfi_place,
	KUNIT_CASE(place_put_fails),
	KUNIT_CASE(place_other_life),
	KUNIT_CASE(place_device_gone));
