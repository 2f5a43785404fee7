// SPDX-License-Identifier: GPL-2.0
/* Discovery: requests are answered, and nothing else. */
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/string.h>
#include "harness.h"

/* Ask on side A with @hints, which are freed. The answer replaces *info. */
static int ask(struct test *t, struct kfi_info *hints, struct kfi_info **info)
{
	int ret;

	*info = CTX(1);
	ret = test_answer(t, 0, hints, info);
	if (ret)
		EXPECT(t, !*info);
	return ret;
}

static void unknown_node(struct test *t)
{
	struct kfi_info *hints = test_hints(t, C_MSG), *info = CTX(1);
	struct net *net = t->w->side[0].net;

	EXPECT_EQ(t, kfi_getinfo_net(net, kfi_version(), "no-such-node", NULL,
				     KFI_SOURCE, hints, &info), -ENODATA);
	EXPECT(t, !info);
	kfi_freeinfo(hints);
}

static void foreign_node(struct test *t)
{
	struct kfi_info *hints, *info = CTX(1);
	struct world *w = t->w;

	if (w->side[0].net == w->side[1].net || !w->side[1].node) {
		test_skip(t, "both sides are in one namespace");
		return;
	}
	hints = test_hints(t, C_MSG);
	EXPECT_EQ(t, kfi_getinfo_net(w->side[0].net, kfi_version(), w->side[1].node,
				     NULL, KFI_SOURCE, hints, &info), -ENODATA);
	EXPECT(t, !info);
	kfi_freeinfo(hints);
}

static void impossible(struct test *t)
{
	struct kfi_info *hints, *info;

	EXPECT_EQ(t, kfi_getinfo_net(t->w->side[0].net, kfi_version() + 1, NULL, NULL, 0, NULL,
				     &info), -ENOSYS);
	EXPECT_EQ(t, test_getinfo(t, 0, KFI_MSG | KFI_MULTICAST, &info), -ENODATA);
	EXPECT_EQ(t, test_getinfo(t, 0, KFI_MSG | KFI_TRIGGER, &info), -ENODATA);
	EXPECT_EQ(t, test_getinfo(t, 0, KFI_MSG | KFI_FENCE, &info), -ENODATA);
	EXPECT_EQ(t, test_getinfo(t, 0, KFI_COLLECTIVE, &info), -ENODATA);
	EXPECT_EQ(t, test_getinfo(t, 0, KFI_MSG | BIT_ULL(63), &info), -ENODATA);
	hints = test_hints(t, C_MSG);
	hints->addr_format = 0x7fff;
	EXPECT_EQ(t, ask(t, hints, &info), -ENODATA);
	hints = test_hints(t, C_MSG);
	hints->ep_attr->protocol = 0x7fff;
	EXPECT_EQ(t, ask(t, hints, &info), -ENODATA);
	hints = test_hints(t, C_MSG);
	hints->domain_attr->name = kstrdup("no-such-domain", GFP_KERNEL);
	EXPECT_EQ(t, ask(t, hints, &info), -ENODATA);
	hints = test_hints(t, C_MSG);
	hints->fabric_attr->name = kstrdup("no-such-fabric", GFP_KERNEL);
	EXPECT_EQ(t, ask(t, hints, &info), -ENODATA);
}

/* Capabilities that have to be requested, because they have a cost */
#define PRIMARY	(KFI_MSG | KFI_RMA | KFI_TAGGED | KFI_ATOMIC | KFI_MULTICAST | \
		 KFI_NAMED_RX_CTX | KFI_DIRECTED_RECV)

static void check_caps(struct test *t, u64 caps, const struct kfi_info *info)
{
	for (; info; info = info->next) {
		EXPECT_EQ(t, info->caps & caps, caps);
		EXPECT_EQ(t, info->caps & PRIMARY & ~caps, 0);
		/* The capabilities of contexts are part of the whole. */
		EXPECT_EQ(t, info->tx_attr->caps & ~info->caps, 0);
		EXPECT_EQ(t, info->rx_attr->caps & ~info->caps, 0);
		EXPECT_EQ(t, info->ep_attr->type, t->type);
	}
}

static void every_caps(struct test *t)
{
	static const u64 bits[] = {
		KFI_MSG, KFI_RMA, KFI_TAGGED, KFI_ATOMIC, KFI_READ, KFI_WRITE,
		KFI_REMOTE_READ | KFI_REMOTE_WRITE, KFI_SEND, KFI_RECV,
		KFI_MULTI_RECV | KFI_SOURCE, KFI_DIRECTED_RECV,
	};
	unsigned int set, i, offered = 0;
	struct kfi_info *info;
	u64 caps;
	int ret;

	for (set = 1; set < BIT(ARRAY_SIZE(bits)); set += t->w->quick ? 5 : 1) {
		for (i = 0, caps = 0; i < ARRAY_SIZE(bits); i++)
			caps |= set & BIT(i) ? bits[i] : 0;
		ret = test_getinfo(t, 0, caps, &info);
		if (ret == -ENODATA)
			continue;
		REQUIRE_EQ(t, ret, 0);
		check_caps(t, caps, info);
		kfi_freeinfo(info);
		offered++;
		if (t->failures)
			return;
	}
	EXPECT(t, offered > 0);
}

/* Who requests protection has it or gets no endpoint, also if getinfo has not been asked. */
static void protected(struct test *t)
{
	bool has = t->info[0]->caps & KFI_PROTECTED;	/* granted without a request */
	struct node *n = test_new(t, struct node);
	struct kfid_ep *ep = NULL;
	struct kfi_info *info;
	int ret;

	ret = test_getinfo(t, 0, C_MSG | KFI_PROTECTED, &info);
	EXPECT_EQ(t, ret, has ? 0 : -ENODATA);
	if (!ret) {
		EXPECT(t, info->caps & KFI_PROTECTED);
		kfi_freeinfo(info);
	}
	REQUIRE(t, !node_open(t, n, 0, NULL));
	n->info->caps |= KFI_PROTECTED;
	EXPECT_EQ(t, kfi_endpoint(n->domain, n->info, &ep, NULL), has ? 0 : -EOPNOTSUPP);
	if (ep)
		EXPECT_EQ(t, kfi_close(&ep->fid), 0);
}

/* More than the limit: no answer. The limit: at least that. */
#define CHECK_LIMIT(t, member, more)					\
do {									\
	struct kfi_info *__h = test_hints(t, C_MSG), *__i;		\
	size_t __max = (t)->info[0]->member;				\
									\
	REQUIRE(t, __h);						\
	__h->member = __max + (more);					\
	EXPECT_EQ(t, ask(t, __h, &__i), -ENODATA);			\
	__h = test_hints(t, C_MSG);					\
	REQUIRE(t, __h);						\
	__h->member = __max;						\
	if (EXPECT_EQ(t, ask(t, __h, &__i), 0)) {			\
		EXPECT(t, __i->member >= __max);			\
		kfi_freeinfo(__i);					\
	}								\
} while (0)

static void limits(struct test *t)
{
	CHECK_LIMIT(t, ep_attr->max_msg_size, 1);
	CHECK_LIMIT(t, tx_attr->inject_size, BIT(20));
	CHECK_LIMIT(t, tx_attr->size, BIT(24));
	CHECK_LIMIT(t, tx_attr->iov_limit, BIT(20));
	CHECK_LIMIT(t, rx_attr->size, BIT(24));
	CHECK_LIMIT(t, rx_attr->iov_limit, BIT(20));
	CHECK_LIMIT(t, domain_attr->cq_data_size, 1);
	CHECK_LIMIT(t, domain_attr->mr_iov_limit, BIT(20));
}

static bool asked_for(struct test *t, u64 level, struct kfi_info **info)
{
	struct kfi_info *hints = test_hints(t, t->c->caps ?: C_MSG);
	int ret;

	hints->tx_attr->op_flags = level;
	ret = ask(t, hints, info);
	EXPECT(t, !ret || ret == -ENODATA);
	return !ret;
}

/*
 * A completion level is granted or refused, never weakened; a provider with a strong level has the
 * weaker ones, too. A level that needs an answer can't be offered without one: for datagrams, or
 * for durability of memory that no operation accesses.
 */
static void levels(struct test *t)
{
	static const u64 level[] = { KFI_INJECT_COMPLETE, KFI_TRANSMIT_COMPLETE,
				     KFI_DELIVERY_COMPLETE };
	struct kfi_info *info, *i;
	bool granted = true;
	int n;

	for (n = 0; n < ARRAY_SIZE(level); n++) {
		if (!asked_for(t, level[n], &info)) {
			granted = false;
			continue;
		}
		EXPECT(t, granted);
		for (i = info; i; i = i->next)
			EXPECT_EQ(t, i->tx_attr->op_flags & level[n], level[n]);
		kfi_freeinfo(info);
	}
	if (t->type != KFI_EP_DGRAM)
		return;
	EXPECT(t, !asked_for(t, KFI_DELIVERY_COMPLETE, &info));
	EXPECT(t, !asked_for(t, KFI_COMMIT_COMPLETE, &info));
}

static void contents(struct test *t)
{
	struct kfi_info *info = t->info[0];

	EXPECT_EQ(t, info->mode, 0);
	EXPECT(t, info->addr_format != KFI_FORMAT_UNSPEC);
	EXPECT(t, !strcmp(info->fabric_attr->prov_name, t->w->provider));
	EXPECT(t, info->fabric_attr->name && *info->fabric_attr->name);
	EXPECT(t, info->domain_attr->name && *info->domain_attr->name);
	EXPECT_EQ(t, info->fabric_attr->api_version, kfi_version());
	EXPECT(t, info->fabric_attr->prov_version > 0);
	EXPECT(t, !info->fabric_attr->fabric && !info->domain_attr->domain);
	EXPECT(t, info->ep_attr->protocol != KFI_PROTO_UNSPEC);
	EXPECT(t, info->ep_attr->max_msg_size > 0);
	EXPECT(t, info->tx_attr->size > 0 && info->rx_attr->size > 0);
	EXPECT(t, info->tx_attr->iov_limit > 0 && info->rx_attr->iov_limit > 0);
	EXPECT(t, info->domain_attr->data_progress != KFI_PROGRESS_UNSPEC);
	EXPECT(t, info->domain_attr->threading != KFI_THREAD_UNSPEC);
	EXPECT(t, info->domain_attr->resource_mgmt == KFI_RM_ENABLED);
	if (t->w->side[0].node)
		EXPECT(t, info->src_addr && info->src_addrlen);
	if (t->type == KFI_EP_RDM)
		EXPECT(t, info->tx_attr->msg_order & KFI_ORDER_SAS);
}

/* An open object in the hints matches only answers of it. */
static void reuse(struct test *t)
{
	struct node *a = test_new(t, struct node), *b = test_new(t, struct node);
	struct kfi_info *hints, *info;

	REQUIRE(t, !node_open(t, a, 0, NULL) && !node_open(t, b, 1, NULL));
	hints = test_hints(t, C_MSG);
	hints->fabric_attr->fabric = a->fabric;
	REQUIRE_EQ(t, ask(t, hints, &info), 0);
	EXPECT(t, !strcmp(info->fabric_attr->name, a->info->fabric_attr->name));
	kfi_freeinfo(info);
	hints = test_hints(t, C_MSG);
	hints->domain_attr->domain = a->domain;
	REQUIRE_EQ(t, ask(t, hints, &info), 0);
	EXPECT(t, !strcmp(info->domain_attr->name, a->info->domain_attr->name));
	kfi_freeinfo(info);
	if (!strcmp(a->info->domain_attr->name, b->info->domain_attr->name))
		return;
	/* Side A's node is not in side B's domain. */
	hints = test_hints(t, C_MSG);
	hints->domain_attr->domain = b->domain;
	EXPECT_EQ(t, ask(t, hints, &info), -ENODATA);
}

static bool is_loopback(const struct kfi_info *info)
{
	const struct sockaddr_in *in = info->src_addr;
	const struct sockaddr_in6 *in6 = info->src_addr;

	if (info->addr_format == KFI_SOCKADDR_IN && in)
		return ipv4_is_loopback(in->sin_addr.s_addr);
	return info->addr_format == KFI_SOCKADDR_IN6 && in6 &&
	       !memcmp(&in6->sin6_addr, &in6addr_loopback, sizeof(in6addr_loopback));
}

/* A consumer that takes the first info wants to reach other machines. */
static void loopback_last(struct test *t)
{
	struct kfi_info *hints = test_hints(t, C_MSG), *info, *i;
	bool loopback = false;

	REQUIRE_EQ(t,
		   kfi_getinfo_net(t->w->side[0].net, kfi_version(), NULL, NULL, 0, hints, &info),
		   0);
	for (i = info; i; i = i->next) {
		EXPECT(t, !loopback || is_loopback(i));
		loopback = is_loopback(i);
	}
	kfi_freeinfo(info);
	kfi_freeinfo(hints);
}

/*
 * The script has given the interface of side A this name, which is too long for a first name. It
 * denotes the node, and the domain, as the first name does.
 */
static void other_name(struct test *t)
{
	static const char name[] = "alternative-name-of-side-a";
	struct kfi_info *hints = test_hints(t, C_MSG), *info;
	bool node;

	for (node = true; ; node = false) {
		if (!node)
			hints->domain_attr->name = kstrdup(name, GFP_KERNEL);
		if (EXPECT_EQ(t, kfi_getinfo_net(t->w->side[0].net, kfi_version(),
						 node ? name : NULL, NULL, node ? KFI_SOURCE : 0,
						 hints, &info), 0)) {
			EXPECT(t, !strcmp(info->domain_attr->name,
					  t->info[0]->domain_attr->name));
			kfi_freeinfo(info);
		}
		if (!node)
			break;
	}
	kfi_freeinfo(hints);
}

/* The script has added 100 addresses. All are offered, and a query for the last one finds it. */
static void many_addresses(struct test *t)
{
	struct kfi_info *hints = test_hints(t, C_MSG), *info, *i;
	struct net *net = t->w->side[0].net;
	unsigned int n = 0;

	REQUIRE_EQ(t, kfi_getinfo_net(net, kfi_version(), NULL, NULL, 0, hints, &info), 0);
	for (i = info; i; i = i->next)
		n += !strcmp(i->fabric_attr->name, "10.77.0.0/24");
	EXPECT_EQ(t, n, 100);
	kfi_freeinfo(info);
	if (EXPECT_EQ(t, kfi_getinfo_net(net, kfi_version(), "10.77.0.100", NULL, KFI_SOURCE, hints,
					 &info), 0)) {
		EXPECT(t, !info->next);
		kfi_freeinfo(info);
	}
	kfi_freeinfo(hints);
}

static bool is_bound(const struct kfi_info *info)
{
	return info->domain_attr->caps & KFI_BOUND;
}

/*
 * A domain is bound to its interface if the consumer has named that. The script gives the name as
 * the node of side A.
 */
static void bound(struct test *t)
{
	struct kfi_info *hints = test_hints(t, C_MSG), *info;
	const char *name = t->info[0]->domain_attr->name;

	EXPECT(t, is_bound(t->info[0]));
	hints->domain_attr->name = kstrdup(name, GFP_KERNEL);
	if (!EXPECT_EQ(t, kfi_getinfo_net(t->w->side[0].net, kfi_version(), NULL, NULL, 0, hints,
					  &info), 0))
		goto free;
	EXPECT(t, is_bound(info));
	kfi_freeinfo(info);
	/* The hints are an answer to a consumer that had not named it. */
	hints->domain_attr->caps = KFI_LOCAL_COMM | KFI_REMOTE_COMM;
	if (!EXPECT_EQ(t, kfi_getinfo_net(t->w->side[0].net, kfi_version(), NULL, NULL, 0, hints,
					  &info), 0))
		goto free;
	EXPECT(t, !is_bound(info));
	kfi_freeinfo(info);
free:
	kfi_freeinfo(hints);
}

/*
 * The name of a domain whose network has one other end, and a service, are the address of that end.
 * Other domains are not offered to a consumer that requests such a network.
 */
static void one_peer(struct test *t)
{
	struct kfi_info *hints = test_hints(t, C_MSG), *info, *there;
	const struct kfi_domain_attr *dom = t->info[0]->domain_attr;
	const struct side *far = &t->w->side[1];
	int ret;

	hints->domain_attr->caps = KFI_ONE_PEER;
	hints->domain_attr->name = kstrdup(dom->name, GFP_KERNEL);
	ret = kfi_getinfo_net(t->w->side[0].net, kfi_version(), NULL, "4000", 0, hints, &info);
	EXPECT_EQ(t, ret, dom->caps & KFI_ONE_PEER ? 0 : -ENODATA);
	if (ret)
		goto free;
	kfree(hints->domain_attr->name);
	hints->domain_attr->name = NULL;
	if (EXPECT_EQ(t, kfi_getinfo_net(far->net, kfi_version(), far->node, "4000", KFI_SOURCE,
					 hints, &there), 0)) {
		EXPECT(t, !info->next);
		EXPECT_EQ(t, info->dest_addrlen, there->src_addrlen);
		EXPECT(t, !memcmp(info->dest_addr, there->src_addr, there->src_addrlen));
		kfi_freeinfo(there);
	}
	kfi_freeinfo(info);
free:
	kfi_freeinfo(hints);
}

/* Skipped for a type that the provider does not have. */
static void offers(struct test *t)
{
	EXPECT(t, t->w->offered & BIT(t->type));
}

static bool same_place(const struct kfi_info *a, const struct kfi_info *b)
{
	return !strcmp(a->fabric_attr->prov_name, b->fabric_attr->prov_name) &&
	       !strcmp(a->domain_attr->name, b->domain_attr->name) &&
	       a->src_addrlen == b->src_addrlen &&
	       !memcmp(a->src_addr, b->src_addr, a->src_addrlen);
}

/* A consumer that listens at each answer listens nowhere twice. */
static void once(struct test *t)
{
	struct kfi_info *hints = test_hints(t, C_MSG), *info, *i, *j;

	REQUIRE_EQ(t, ask(t, hints, &info), 0);
	for (i = info; i; i = i->next)
		for (j = i->next; j; j = j->next)
			EXPECT(t, !same_place(i, j));
	kfi_freeinfo(info);
}

/* Ask for the way from @text, of @len bytes, to the other side. */
static int ask_from(struct test *t, const char *text, size_t len, struct kfi_info **info)
{
	const struct side *s = t->w->side;
	struct kfi_info *hints = test_hints(t, C_MSG);
	int ret;

	hints->addr_format = KFI_ADDR_STR;
	hints->src_addr = kmemdup(text, len, GFP_KERNEL);
	hints->src_addrlen = len;
	ret = kfi_getinfo_net(s[0].net, kfi_version(), s[1].node ?: s[0].node, NULL, 0, hints,
			      info);
	kfi_freeinfo(hints);
	return ret;
}

/* The local address is a text in the hints, if it is an IP address. */
static void text_source(struct test *t)
{
	struct kfi_info *hints = test_hints(t, C_MSG), *info, *local;
	const char *node = t->w->side[0].node ?: "no-node";
	bool ip;

	REQUIRE_EQ(t, ask(t, hints, &local), 0);
	ip = local->addr_format == KFI_SOCKADDR_IN || local->addr_format == KFI_SOCKADDR_IN6;
	EXPECT_EQ(t, ask_from(t, "no-such-node", sizeof("no-such-node"), &info), -ENODATA);
	EXPECT_EQ(t, ask_from(t, node, strlen(node), &info), -ENODATA);	/* has no end */
	if (EXPECT_EQ(t, ask_from(t, node, strlen(node) + 1, &info), ip ? 0 : -ENODATA) && ip) {
		EXPECT(t, same_place(info, local));
		EXPECT(t, info->dest_addr);
		kfi_freeinfo(info);
	}
	kfi_freeinfo(local);
}

const struct test_case info_cases[] = {
	{ "info.offers", T_ALL, CASE_OFFER, 0, offers },
	{ "info.unknown_node", T_ALL, 0, 0, unknown_node },
	{ "info.foreign_node", T_ALL, CASE_ONCE, 0, foreign_node },
	{ "info.impossible", T_ALL, 0, 0, impossible },
	{ "info.every_caps", T_ALL, 0, 0, every_caps },
	{ "info.protected", T_ALL, 0, C_MSG, protected },
	{ "info.limits", T_ALL, 0, 0, limits },
	{ "info.levels", T_ALL, 0, 0, levels },
	{ "info.contents", T_ALL, 0, 0, contents },
	{ "info.loopback_last", T_ALL, 0, 0, loopback_last },
	{ "info.reuse", T_ALL, 0, 0, reuse },
	{ "info.once", T_ALL, 0, 0, once },
	{ "info.one_peer", T_ALL, 0, 0, one_peer },
	{ "info.text_source", T_ALL, 0, 0, text_source },
	{ "script.alternative", T_RDM, CASE_SCRIPT, 0, other_name },
	{ "script.addresses", T_RDM, CASE_SCRIPT, 0, many_addresses },
	{ "script.bound", T_ALL, CASE_SCRIPT, 0, bound },
	{ }
};
