// SPDX-License-Identifier: GPL-2.0
/*
 * provider_test.c - domains of a provider that connections of one module share
 */
#include <kunit/test.h>
#include <linux/err.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <net/net_namespace.h>
#include <kfi_conn.h>

#include "../../kfi/registry.h"

#define NODE	"kunit-node"	/* no other provider knows it */

/* ---- a fake provider ---- */

struct fake {
	struct kfi_provider	prov;
	int			offers;		/* number of offers */
	int			domains;	/* open domains */
	int			refuse;		/* what domain_open returns */
	void			*device;	/* of domains that are opened next */
};

static struct fake *to_fake(const struct kfi_provider *prov)
{
	return container_of(prov, struct fake, prov);
}

static int fake_offer(struct kfi_query *q, int n)
{
	struct kfi_info *offer = kfi_allocinfo();
	int ret = -ENOMEM;

	if (!offer)
		return -ENOMEM;
	offer->caps = KFI_MSG | KFI_SEND | KFI_RECV;
	offer->tx_attr->size = 100;
	offer->rx_attr->size = 100;
	offer->ep_attr->type = KFI_EP_MSG + n;
	offer->fabric_attr->name = kasprintf(GFP_KERNEL, "fab-%s", q->prov->name);
	offer->domain_attr->name = kasprintf(GFP_KERNEL, "dom-%s-%d", q->prov->name, n);
	if (offer->fabric_attr->name && offer->domain_attr->name)
		ret = kfi_query_add(q, offer);
	kfi_freeinfo(offer);
	return ret;
}

static int fake_getinfo(struct kfi_query *q)
{
	struct fake *fake = to_fake(q->prov);
	int i, ret;

	if (!q->node || strcmp(q->node, NODE))
		return -ENODATA;
	for (i = 0; i < fake->offers; i++) {
		ret = fake_offer(q, i);
		if (ret)
			return ret;
	}
	return 0;
}

static int fake_resolve(struct kfi_domain *domain, const char *node, const char *service,
			void *addr)
{
	return -EINVAL;
}

static void fake_addr_str(const void *addr, size_t len, char *buf, size_t size)
{
}

static int fake_domain_open(struct kfi_domain *domain)
{
	struct fake *fake = to_fake(domain->fabric->prov);

	if (fake->refuse)
		return fake->refuse;
	fake->domains++;
	domain->device = fake->device;
	domain->limits.sge_limit = 7;
	return 0;
}

static void fake_domain_close(struct kfi_domain *domain)
{
	to_fake(domain->fabric->prov)->domains--;
}

static int fake_ep(struct kfi_ep *ep)
{
	return -EOPNOTSUPP;
}

static void fake_ep_stop(struct kfi_ep *ep, int err)
{
}

static void fake_ep_close(struct kfi_ep *ep)
{
}

static int fake_tx(struct kfi_ep *ep, struct kfi_oper *op)
{
	return -EOPNOTSUPP;
}

static void fake_rx(struct kfi_ep *ep, struct kfi_rx *rx)
{
}

static int fake_getname(struct kfi_ep *ep, void *addr)
{
	return -EOPNOTSUPP;
}

static const struct kfi_prov_ops fake_ops = {
	.getinfo	= fake_getinfo,
	.resolve	= fake_resolve,
	.addr_str	= fake_addr_str,
	.domain_open	= fake_domain_open,
	.domain_close	= fake_domain_close,
	.ep_open	= fake_ep,
	.ep_enable	= fake_ep,
	.ep_stop	= fake_ep_stop,
	.ep_close	= fake_ep_close,
	.tx		= fake_tx,
	.rx_matched	= fake_rx,
	.rx_drop	= fake_rx,
	.getname	= fake_getname,
};

static struct fake fake_a;

static int init_fake(struct kunit *test)
{
	memset(&fake_a, 0, sizeof(fake_a));
	fake_a.prov.name = "kunit-a";
	fake_a.prov.version = KFI_VERSION(3, 1);
	fake_a.prov.ops = &fake_ops;
	return kfi_provider_register(&fake_a.prov);
}

static void exit_fake(struct kunit *test)
{
	kfi_provider_deregister(&fake_a.prov);
}

/*
 * Domains that connections of one module share (kfi_conn.h): one that can't be opened takes
 * nothing from the others of its fabric, and one whose device has gone is replaced.
 */
static void test_shared_domains(struct kunit *test)
{
	struct module *owner = (struct module *)test;	/* a name of the sharer, no more */
	struct kfi_dom *one, *other, *gone;
	struct kfi_info *info;
	int device;

	fake_a.offers = 2;
	KUNIT_ASSERT_EQ(test, kfi_getinfo_net(&init_net, 0, NODE, NULL, 0, NULL, &info), 0);
	fake_a.device = &device;
	gone = kfi_dom_get(&init_net, info, owner);
	fake_a.device = NULL;
	KUNIT_ASSERT_FALSE(test, IS_ERR(gone));
	fake_a.refuse = -ENODEV;
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(kfi_dom_get(&init_net, info->next, owner)), -ENODEV);
	fake_a.refuse = 0;
	one = kfi_dom_get(&init_net, info, owner);
	other = kfi_dom_get(&init_net, info->next, owner);
	KUNIT_ASSERT_FALSE(test, IS_ERR(one) || IS_ERR(other));
	KUNIT_EXPECT_PTR_EQ(test, one, gone);
	KUNIT_EXPECT_PTR_EQ(test, kfi_to_domain(one->domain)->fabric,
			    kfi_to_domain(other->domain)->fabric);
	kfi_dom_put(one);
	kfi_device_gone(&device);
	one = kfi_dom_get(&init_net, info, owner);
	KUNIT_ASSERT_FALSE(test, IS_ERR(one));
	KUNIT_EXPECT_PTR_NE(test, one, gone);
	KUNIT_EXPECT_EQ(test, fake_a.domains, 3);
	kfi_dom_put(gone);
	kfi_dom_put(other);
	kfi_dom_put(one);
	KUNIT_EXPECT_EQ(test, fake_a.domains, 0);
	kfi_freeinfo(info);
}

static struct kunit_case provider_cases[] = {
	KUNIT_CASE(test_shared_domains),
	{ }
};

static struct kunit_suite provider_suite = {
	.name = "kfi-provider",
	.init = init_fake,
	.exit = exit_fake,
	.test_cases = provider_cases,
};
kunit_test_suite(provider_suite);
