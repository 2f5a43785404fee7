// SPDX-License-Identifier: GPL-2.0
/*
 * provider_test.c - which providers may register, how kfi_getinfo() combines several providers, and
 * the life of fabrics and domains
 */
#include <kunit/test.h>
#include <linux/err.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <net/net_namespace.h>
#include <kfi_conn.h>

#include "../../kfi/registry.h"

#define NODE	"kunit-node"	/* no other provider knows it */

/* ---- fake providers ---- */

struct fake {
	struct kfi_provider	prov;
	int			ret;		/* what getinfo returns after its offers */
	int			offers;		/* number of offers */
	int			asked;
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
	fake->asked++;
	for (i = 0; i < fake->offers; i++) {
		ret = fake_offer(q, i);
		if (ret)
			return ret;
	}
	return fake->ret;
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

static struct fake fake_a, fake_b;

static void reset(struct fake *fake, const char *name)
{
	memset(fake, 0, sizeof(*fake));
	fake->prov.name = name;
	fake->prov.version = KFI_VERSION(3, 1);
	fake->prov.ops = &fake_ops;
	fake->offers = 1;
}

static int init_fakes(struct kunit *test)
{
	int ret;

	reset(&fake_a, "kunit-a");
	reset(&fake_b, "kunit-b");
	ret = kfi_provider_register(&fake_a.prov);
	if (ret)
		return ret;
	ret = kfi_provider_register(&fake_b.prov);
	if (ret)
		kfi_provider_deregister(&fake_a.prov);
	return ret;
}

static void exit_fakes(struct kunit *test)
{
	kfi_provider_deregister(&fake_b.prov);
	kfi_provider_deregister(&fake_a.prov);
}

/* ---- registration ---- */

#define REGISTER(prov, contract, size) __kfi_provider_register(prov, contract, size, THIS_MODULE)

static void test_refused(struct kunit *test)
{
	struct kfi_provider prov = { .name = "kunit-c", .ops = &fake_ops };
	static const char *const bad_names[] = {
		"", "UPPER", "a b", "../x", "a%s", "name;rm", "kunit\n",
		"this-name-is-much-too-long-for-a-provider-of-this-kind-0123456789",
	};
	int i;

	KUNIT_EXPECT_EQ(test, REGISTER(&prov, KFI_PROV_CONTRACT + 1, sizeof(fake_ops)), -EINVAL);
	KUNIT_EXPECT_EQ(test, REGISTER(&prov, KFI_PROV_CONTRACT, sizeof(fake_ops) - 8), -EINVAL);
	KUNIT_EXPECT_EQ(test, REGISTER(NULL, KFI_PROV_CONTRACT, sizeof(fake_ops)), -EINVAL);
	prov.ops = NULL;
	KUNIT_EXPECT_EQ(test, kfi_provider_register(&prov), -EINVAL);
	prov.ops = &fake_ops;
	for (i = 0; i < ARRAY_SIZE(bad_names); i++) {
		prov.name = bad_names[i];
		KUNIT_EXPECT_FALSE(test, kfi_provider_name_ok(prov.name));
		KUNIT_EXPECT_EQ(test, kfi_provider_register(&prov), -EINVAL);
	}
	prov.name = NULL;
	KUNIT_EXPECT_EQ(test, kfi_provider_register(&prov), -EINVAL);
	prov.name = fake_a.prov.name;
	KUNIT_EXPECT_EQ(test, kfi_provider_register(&prov), -EEXIST);
	KUNIT_EXPECT_NULL(test, kfi_provider_find("kunit-c"));
}

/* Each operation of a minimal provider is mandatory. */
static void test_mandatory(struct kunit *test)
{
	struct kfi_prov_ops ops = fake_ops;
	void **slot;
	int missing = 0;

	KUNIT_EXPECT_NULL(test, kfi_missing_op(&ops));
	for (slot = (void **)&ops.getinfo; slot < (void **)(&ops + 1); slot++) {
		void *op = *slot;

		if (!op || op == fake_domain_close)	/* optional */
			continue;
		*slot = NULL;
		KUNIT_EXPECT_NOT_NULL_MSG(test, kfi_missing_op(&ops), "slot %zd",
					  slot - (void **)&ops.getinfo);
		*slot = op;
		missing++;
	}
	KUNIT_EXPECT_EQ(test, missing, 12);
	ops.tx = NULL;
	KUNIT_EXPECT_STREQ(test, kfi_missing_op(&ops), "tx");
}

static int some_listen(struct kfi_pep *pep)
{
	return 0;
}

static int some_posted(struct kfi_ep *ep, struct kfi_oper *op)
{
	return 0;
}

static struct kfi_oper *some_cancel(struct kfi_ep *ep, void *context)
{
	return NULL;
}

/* Operations that need each other */
static void test_groups(struct kunit *test)
{
	struct kfi_prov_ops ops = fake_ops;

	ops.listen = some_listen;
	KUNIT_EXPECT_NOT_NULL(test, kfi_missing_op(&ops));
	ops = fake_ops;
	ops.rx_posted = some_posted;
	KUNIT_EXPECT_STREQ(test, kfi_missing_op(&ops), "rx_cancel");
	ops.rx_cancel = some_cancel;
	KUNIT_EXPECT_NULL(test, kfi_missing_op(&ops));
	ops.rx_matched = NULL;		/* receives that the device matches need no matching here */
	ops.rx_drop = NULL;
	KUNIT_EXPECT_NULL(test, kfi_missing_op(&ops));
}

/* ---- kfi_getinfo() ---- */

static struct kfi_info *const poison = (struct kfi_info *)0x1;

static int getinfo(const struct kfi_info *hints, u64 flags, struct kfi_info **info)
{
	*info = poison;
	return kfi_getinfo_net(&init_net, 0, NODE, NULL, flags, hints, info);
}

static void expect_none(struct kunit *test, const struct kfi_info *hints, int err)
{
	struct kfi_info *info;

	KUNIT_EXPECT_EQ(test, getinfo(hints, 0, &info), err);
	KUNIT_EXPECT_NULL(test, info);
}

static int length(const struct kfi_info *info)
{
	int n = 0;

	for (; info; info = info->next)
		n++;
	return n;
}

static void test_failing_provider(struct kunit *test)
{
	struct kfi_info *info;

	fake_a.offers = 2;
	fake_a.ret = -EIO;
	KUNIT_ASSERT_EQ(test, getinfo(NULL, 0, &info), 0);
	KUNIT_EXPECT_EQ(test, length(info), 1);
	KUNIT_EXPECT_STREQ(test, info->fabric_attr->prov_name, "kunit-b");
	kfi_freeinfo(info);
	fake_b.ret = -ENODATA;
	expect_none(test, NULL, -ENODATA);
	fake_b.ret = -ENOMEM;
	expect_none(test, NULL, -ENOMEM);
}

/* ---- fabrics and domains ---- */

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
	KUNIT_ASSERT_EQ(test, getinfo(NULL, 0, &info), 0);
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
	KUNIT_CASE(test_refused),
	KUNIT_CASE(test_mandatory),
	KUNIT_CASE(test_groups),
	KUNIT_CASE(test_failing_provider),
	KUNIT_CASE(test_shared_domains),
	{ }
};

static struct kunit_suite provider_suite = {
	.name = "kfi-provider",
	.init = init_fakes,
	.exit = exit_fakes,
	.test_cases = provider_cases,
};
kunit_test_suite(provider_suite);
