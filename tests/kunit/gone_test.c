// SPDX-License-Identifier: GPL-2.0
/*
 * The objects on a device that goes away. The domain of the world is on a device, which has
 * registered regions.
 */
#include <linux/slab.h>
#include "fake.h"
#include "../../kfi/registry.h"

/**
 * struct gone - a world on a device
 * @device: the device of the domain
 * @other: a device that no object uses
 * @regs: regions that the provider has registered
 * @deregs: how many of them it has freed
 * @dies: the device goes while a region is being registered
 */
struct gone {
	struct kfi_world	*w;
	struct kfid_cq		*cq;
	struct kfid_eq		*eq;
	struct kfi_info		*info;
	u8			mem[64];
	int			device, other;
	int			regs, deregs;
	bool			dies;
};

static struct gone *gone_of(struct kfi_mr *mr)
{
	return (void *)mr->domain->device - offsetof(struct gone, device);
}

static int gone_reg(struct kfi_mr *mr)
{
	struct gone *g = gone_of(mr);

	g->regs++;
	WRITE_ONCE(mr->fid.key, 100 + g->regs);
	if (g->dies)
		kfi_fabric_kill(&g->w->fabric, &g->device);
	return 0;
}

static void gone_dereg(struct kfi_mr *mr)
{
	struct gone *g = gone_of(mr);

	g->regs--;
	g->deregs++;
}

static struct gone *gone_open(struct kunit *test)
{
	struct gone *g = kfi_test_zalloc(test, sizeof(*g));

	g->w = fake_open(test);
	g->w->ops.mr_reg = gone_reg;
	g->w->ops.mr_dereg = gone_dereg;
	g->w->domain.device = &g->device;
	list_add(&g->w->domain.obj.entry, &g->w->fabric.domains);
	g->cq = fake_cq(g->w, 64, 0, NULL, NULL);
	g->eq = fake_eq(g->w, 16);
	g->info = fake_info(g->w, KFI_EP_RDM);
	KUNIT_ASSERT_EQ(test, 0, kfi_domain_bind(&g->w->domain.fid, &g->eq->fid, 0));
	return g;
}

static void gone_close(struct gone *g)
{
	struct kunit *test = g->w->test;

	KUNIT_EXPECT_EQ(test, 0, g->regs);
	KUNIT_EXPECT_TRUE(test, list_empty(&g->w->domain.regions));
	/* the reference of the domain, which is not closed */
	kfi_obj_put(kfi_eq_obj(kfi_to_eq(g->eq)));
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&g->eq->fid));
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&g->cq->fid));
	list_del_init(&g->w->domain.obj.entry);
	kfi_freeinfo(g->info);
	fake_close(g->w);
}

/* The next event says that the network of @fid has gone. */
static void expect_error(struct gone *g, struct kfid *fid)
{
	struct kfi_eq_err_entry err = {};

	KUNIT_EXPECT_EQ(g->w->test, sizeof(err), kfi_eq_readerr(g->eq, &err, 0));
	KUNIT_EXPECT_EQ(g->w->test, ENODEV, err.err);
	KUNIT_EXPECT_PTR_EQ(g->w->test, fid, err.fid);
}

static void expect_shutdown(struct gone *g)
{
	struct kfi_eq_cm_entry entry = {};
	u32 event = ~0;

	KUNIT_EXPECT_EQ(g->w->test, sizeof(entry),
			kfi_eq_read(g->eq, &event, &entry, sizeof(entry), 0));
	KUNIT_EXPECT_EQ(g->w->test, KFI_SHUTDOWN, event);
	KUNIT_EXPECT_PTR_EQ(g->w->test, &g->w->domain.fid.fid, entry.fid);
}

static void expect_quiet(struct gone *g)
{
	struct kfi_eq_cm_entry entry;
	u32 event;

	KUNIT_EXPECT_EQ(g->w->test, -EAGAIN, kfi_eq_read(g->eq, &event, &entry, sizeof(entry), 0));
}

static void gone_endpoint(struct kunit *test)
{
	struct gone *g = gone_open(test);
	struct kfi_cq_err_entry wc = {};
	struct kfid_ep *ep;

	KUNIT_ASSERT_EQ(test, 0, kfi_endpoint(&g->w->domain.fid, g->info, &ep, NULL));
	KUNIT_ASSERT_EQ(test, 0, kfi_ep_bind(ep, &g->cq->fid, KFI_TRANSMIT | KFI_RECV));
	KUNIT_ASSERT_EQ(test, 0, kfi_ep_bind(ep, &g->w->av->fid, 0));
	KUNIT_ASSERT_EQ(test, 0, kfi_ep_bind(ep, &g->eq->fid, 0));
	KUNIT_ASSERT_EQ(test, 0, kfi_enable(ep));
	KUNIT_EXPECT_EQ(test, 0, kfi_send(ep, g->mem, 8, NULL, 0, NULL));

	kfi_fabric_kill(&g->w->fabric, &g->other);
	expect_quiet(g);
	KUNIT_EXPECT_EQ(test, -EAGAIN, kfi_cq_read(g->cq, &wc, 1));
	KUNIT_EXPECT_EQ(test, 0, kfi_send(ep, g->mem, 8, NULL, 0, NULL));

	kfi_fabric_kill(&g->w->fabric, &g->device);
	kfi_fabric_kill(&g->w->fabric, &g->device);
	KUNIT_EXPECT_EQ(test, 1, to_fake(ep)->stops);
	KUNIT_EXPECT_EQ(test, -ENODEV, to_fake(ep)->stopped);
	KUNIT_EXPECT_TRUE(test, to_fake(ep)->noio);
	KUNIT_EXPECT_EQ(test, 1, kfi_cq_readerr(g->cq, &wc, 0));
	KUNIT_EXPECT_EQ(test, ENODEV, wc.err);
	KUNIT_EXPECT_EQ(test, 1, kfi_cq_readerr(g->cq, &wc, 0));
	KUNIT_EXPECT_EQ(test, -EAGAIN, kfi_cq_readerr(g->cq, &wc, 0));
	expect_error(g, &ep->fid);
	expect_shutdown(g);
	expect_quiet(g);
	KUNIT_EXPECT_EQ(test, -ENODEV, kfi_send(ep, g->mem, 8, NULL, 0, NULL));
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&ep->fid));
	gone_close(g);
}

/* Nothing can be opened on the domain; the fabric is not affected. */
static void gone_opens(struct kunit *test)
{
	struct gone *g = gone_open(test);
	struct kfid_domain *d = &g->w->domain.fid;
	struct kfi_av_attr av_attr = { .type = KFI_AV_TABLE };
	struct kfi_domain_limits limits;
	struct kfid_cntr *cntr;
	struct kfid_ep *ep;
	struct kfid_cq *cq;
	struct kfid_eq *eq;
	struct kfid_av *av;
	struct kfid_mr *mr;

	kfi_fabric_kill(&g->w->fabric, &g->device);
	expect_shutdown(g);
	KUNIT_EXPECT_EQ(test, -ENODEV, kfi_domain_limits(d, &limits));
	KUNIT_EXPECT_EQ(test, -ENODEV, kfi_endpoint(d, g->info, &ep, NULL));
	KUNIT_EXPECT_EQ(test, -ENODEV, kfi_cq_open(d, NULL, &cq, NULL, NULL));
	KUNIT_EXPECT_EQ(test, -ENODEV, kfi_cntr_open(d, NULL, &cntr, NULL));
	KUNIT_EXPECT_EQ(test, -ENODEV, kfi_av_open(d, &av_attr, &av, NULL));
	KUNIT_EXPECT_EQ(test, -ENODEV,
			kfi_mr_reg(d, g->mem, 8, KFI_REMOTE_WRITE, 0, 0, 0, &mr, NULL));
	KUNIT_EXPECT_EQ(test, 0, g->deregs);
	eq = fake_eq(g->w, 4);
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&eq->fid));
	gone_close(g);
}

/* The provider frees a region once, when its owner closes it or when the device goes. */
static void gone_regions(struct kunit *test)
{
	struct gone *g = gone_open(test);
	struct kfid_domain *d = &g->w->domain.fid;
	struct kfid_mr *mr[3];
	int i;

	for (i = 0; i < 3; i++)
		KUNIT_ASSERT_EQ(test, 0,
				kfi_mr_reg(d, g->mem, 8, KFI_REMOTE_WRITE, 0, i, 0, &mr[i], NULL));
	KUNIT_EXPECT_EQ(test, 3, g->regs);
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&mr[1]->fid));
	KUNIT_EXPECT_EQ(test, 1, g->deregs);
	kfi_fabric_kill(&g->w->fabric, &g->device);
	KUNIT_EXPECT_EQ(test, 3, g->deregs);
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&mr[0]->fid));
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&mr[2]->fid));
	KUNIT_EXPECT_EQ(test, 3, g->deregs);
	gone_close(g);
}

static void gone_while_registering(struct kunit *test)
{
	struct gone *g = gone_open(test);
	struct kfid_mr *mr;

	g->dies = true;
	KUNIT_EXPECT_EQ(test, -ENODEV,
			kfi_mr_reg(&g->w->domain.fid, g->mem, 8, KFI_REMOTE_WRITE, 0, 0, 0, &mr,
				   NULL));
	KUNIT_EXPECT_EQ(test, 1, g->deregs);
	gone_close(g);
}

/* A listener on the device ends, one without a device stays. */
static void gone_listeners(struct kunit *test)
{
	struct gone *g = gone_open(test);
	struct kfid_pep *pep[2];
	int i;

	g->info->ep_attr->type = KFI_EP_MSG;
	for (i = 0; i < 2; i++) {
		KUNIT_ASSERT_EQ(test, 0, kfi_passive_ep(&g->w->fabric.fid, g->info, &pep[i], NULL));
		KUNIT_ASSERT_EQ(test, 0, kfi_pep_bind(pep[i], &g->eq->fid, 0));
	}
	kfi_to_pep(pep[0])->device = &g->device;
	kfi_fabric_kill(&g->w->fabric, &g->device);
	expect_error(g, &pep[0]->fid);
	expect_shutdown(g);
	expect_quiet(g);
	KUNIT_EXPECT_EQ(test, -ENODEV, kfi_listen(pep[0]));
	KUNIT_EXPECT_EQ(test, 0, kfi_listen(pep[1]));
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&pep[0]->fid));
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&pep[1]->fid));
	gone_close(g);
}

/*
 * A request that an endpoint has taken returns to the provider at once, not when the endpoint is
 * closed.
 */
static void gone_request(struct kunit *test)
{
	struct { struct kfi_eq_cm_entry entry; u8 data[32]; } room = {};
	struct gone *g = gone_open(test);
	struct fake_req req = {};
	u8 peer[8] = { 7 };
	struct kfid_pep *pep;
	struct kfid_ep *ep;
	u32 event;

	g->info->ep_attr->type = KFI_EP_MSG;
	KUNIT_ASSERT_EQ(test, 0, kfi_passive_ep(&g->w->fabric.fid, g->info, &pep, NULL));
	KUNIT_ASSERT_EQ(test, 0, kfi_pep_bind(pep, &g->eq->fid, 0));
	KUNIT_ASSERT_EQ(test, 0, kfi_listen(pep));
	KUNIT_ASSERT_EQ(test, 0,
			kfi_pep_connreq(kfi_to_pep(pep), &req.req, peer, NULL, 8, NULL, 0));
	KUNIT_ASSERT_GT(test, kfi_eq_read(g->eq, &event, &room, sizeof(room), 0), 0);
	KUNIT_ASSERT_EQ(test, 0, kfi_endpoint(&g->w->domain.fid, room.entry.info, &ep, NULL));
	kfi_fabric_kill(&g->w->fabric, &g->device);
	KUNIT_EXPECT_EQ(test, 1, req.rejected);
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&ep->fid));
	KUNIT_EXPECT_EQ(test, 1, req.rejected);
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&pep->fid));
	kfi_freeinfo(room.entry.info);
	gone_close(g);
}

KFI_SUITE(kfi_gone,
	KUNIT_CASE(gone_endpoint),
	KUNIT_CASE(gone_opens),
	KUNIT_CASE(gone_regions),
	KUNIT_CASE(gone_while_registering),
	KUNIT_CASE(gone_listeners),
	KUNIT_CASE(gone_request));
