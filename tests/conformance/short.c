// SPDX-License-Identifier: GPL-2.0
/*
 * Short names: a node is a number and a port is a number, as Lustre's kfilnd uses them. They are
 * offered by a provider whose other names are IPv4 addresses. The number of a node is the host part
 * of an address, or one that an administrator has chosen.
 */
#include <linux/in.h>
#include "harness.h"
#include <kfi_cxi_ext.h>

#define C_SHORT	(C_MSG | C_TAGGED | C_RMA | KFI_TAGGED_RMA | KFI_DIRECTED_RECV | KFI_SOURCE)
#define C_LND	(C_MSG | C_TAGGED | C_RMA | KFI_TAGGED_RMA | KFI_DIRECTED_RECV | KFI_MULTI_RECV | KFI_REMOTE_COMM | \
		 KFI_NAMED_RX_CTX)

/* All addresses of a side: its node in this run may be of another family. */
static int ask(struct test *t, int side, u64 caps, u32 format, const char *service,
	       struct kfi_info **info)
{
	struct kfi_info *hints = test_hints(t, caps);
	int ret;

	hints->addr_format = format;
	ret = kfi_getinfo_net(t->w->side[side].net, kfi_version(), NULL, service, KFI_SOURCE, hints,
			      info);
	kfi_freeinfo(hints);
	return ret;
}

/* From now on the side uses its short name. If there are none the case is skipped. */
static int go_short(struct test *t, int side, const char *service)
{
	struct kfi_info *info;
	int ret = ask(t, side, t->c->caps, KFI_ADDR_CXI, service, &info);

	if (ret == -ENODATA)
		test_skip(t, "nodes have no numbers");
	else if (ret)
		FAIL(t, "getinfo: %d", ret);
	if (ret)
		return ret;
	kfi_freeinfo(t->info[side]);
	t->info[side] = info;
	return 0;
}

static const struct kcxi_addr *name_of(const struct kfi_info *info)
{
	return info->src_addr;
}

/* The fabric is named after the subnet: which part of the address does its prefix leave? */
static u32 host_bits(const struct kfi_info *plain)
{
	const struct sockaddr_in *in = plain->src_addr;
	const char *slash = strchr(plain->fabric_attr->name, '/');
	u8 prefix;

	if (!slash || kstrtou8(slash + 1, 10, &prefix) || prefix >= 32)
		return 0;
	return ntohl(in->sin_addr.s_addr) & ~0U >> prefix;
}

/* Is it the number of an address of its interface in its subnet? */
static bool is_host_part(const struct kfi_info *brief, const struct kfi_info *plain)
{
	for (; plain; plain = plain->next)
		if (!strcmp(plain->domain_attr->name, brief->domain_attr->name) &&
		    !strcmp(plain->fabric_attr->name, brief->fabric_attr->name) &&
		    host_bits(plain) == name_of(brief)->nic)
			return true;
	return false;
}

/* ---- discovery ---- */

static void check_offer(struct test *t, const struct kfi_info *info, const struct kfi_info *plain)
{
	EXPECT_EQ(t, info->ep_attr->type, KFI_EP_RDM);
	EXPECT_EQ(t, info->addr_format, KFI_ADDR_CXI);
	REQUIRE_EQ(t, info->src_addrlen, 8);
	REQUIRE(t, info->src_addr);
	EXPECT_EQ(t, name_of(info)->pid, 7);
	EXPECT_EQ(t, name_of(info)->flags, 0);
	EXPECT(t, name_of(info)->nic);
	EXPECT(t, is_host_part(info, plain));
	EXPECT(t, !info->dest_addr);
}

static void offers(struct test *t)
{
	struct kfi_info *plain, *none, *i;

	if (go_short(t, 0, "7"))
		return;
	REQUIRE_EQ(t, ask(t, 0, t->c->caps, KFI_SOCKADDR_IN, "7", &plain), 0);
	test_keep_info(t, plain);
	for (i = t->info[0]; i; i = i->next)
		check_offer(t, i, plain);
	/* A port has 12 bits. */
	EXPECT_EQ(t, ask(t, 0, t->c->caps, KFI_ADDR_CXI, "4096", &none), -ENODATA);
	EXPECT_EQ(t, ask(t, 0, t->c->caps, KFI_ADDR_CXI, "zzz", &none), -ENODATA);
	REQUIRE(t, !go_short(t, 0, "4095"));
	EXPECT_EQ(t, name_of(t->info[0])->pid, 4095);
}

/* A consumer that asks as kfilnd does takes the first answer. */
static void first_for_kfilnd(struct test *t)
{
	struct kfi_info *info, *i;
	bool other = false;

	if (go_short(t, 0, "7"))
		return;
	REQUIRE_EQ(t, ask(t, 0, C_LND, KFI_FORMAT_UNSPEC, "7", &info), 0);
	test_keep_info(t, info);
	EXPECT_EQ(t, info->addr_format, KFI_ADDR_CXI);
	EXPECT_EQ(t, info->caps & C_LND, C_LND);
	/* The other names follow, without a short name in between. */
	for (i = info; i; i = i->next) {
		EXPECT(t, !other || i->addr_format != KFI_ADDR_CXI);
		other |= i->addr_format != KFI_ADDR_CXI;
	}
	EXPECT(t, other);
}

static void expect_no_short(struct test *t, u64 caps, u32 format)
{
	struct kfi_info *info, *i;

	REQUIRE_EQ(t, ask(t, 0, caps, format, "7", &info), 0);
	for (i = info; i; i = i->next)
		EXPECT(t, i->addr_format != KFI_ADDR_CXI);
	kfi_freeinfo(info);
}

/* Without the request there are no short names. */
static void not_asked_for(struct test *t)
{
	struct kfi_info *info, *i;

	if (go_short(t, 0, "7"))
		return;
	expect_no_short(t, 0, KFI_FORMAT_UNSPEC);
	expect_no_short(t, C_MSG, KFI_FORMAT_UNSPEC);
	expect_no_short(t, C_LND & ~KFI_TAGGED_RMA, KFI_FORMAT_UNSPEC);
	expect_no_short(t, C_LND & ~KFI_NAMED_RX_CTX, KFI_FORMAT_UNSPEC);
	expect_no_short(t, C_LND, KFI_SOCKADDR_IN);
	REQUIRE_EQ(t,
		   kfi_getinfo_net(t->w->side[0].net, kfi_version(), NULL, "7", KFI_SOURCE, NULL,
				   &info),
		   0);
	for (i = info; i; i = i->next)
		EXPECT(t, i->addr_format != KFI_ADDR_CXI);
	kfi_freeinfo(info);
}

/* ---- names ---- */

static void expect_no_name(struct node *n, struct kcxi_addr name, size_t len)
{
	EXPECT_EQ(n->t, kfi_setname(&n->ep->fid, &name, len), -EINVAL);
}

static void bad_names(struct node *n, const struct kcxi_addr *good)
{
	struct kcxi_addr name = *good;

	expect_no_name(n, name, 4);
	expect_no_name(n, name, 7);
	name.nic = 0;
	expect_no_name(n, name, 8);
	name.nic = 0x100000;
	expect_no_name(n, name, 8);
	name.nic = U32_MAX;
	expect_no_name(n, name, 8);
	name = *good;
	name.flags = 1;
	expect_no_name(n, name, 8);
}

static void own_name(struct test *t)
{
	struct node *n = test_new(t, struct node);
	struct sockaddr_in in = { .sin_family = AF_INET };
	char text[32], want[32];
	size_t len = sizeof(text);
	struct kcxi_addr name;

	if (go_short(t, 0, "7"))
		return;
	REQUIRE(t, !node_open(t, n, 0, NULL) && !node_endpoint(n, n->info));
	name = *name_of(n->info);
	bad_names(n, &name);
	EXPECT_EQ(t, kfi_setname(&n->ep->fid, &in, sizeof(in)), -EINVAL);
	name.pid = 4095;
	EXPECT_EQ(t, kfi_setname(&n->ep->fid, &name, sizeof(name)), 0);
	REQUIRE(t, !node_enable(n));
	REQUIRE_EQ(t, n->addrlen, sizeof(name));
	EXPECT(t, !memcmp(n->addr, &name, sizeof(name)));
	snprintf(want, sizeof(want), "%#x:%u", (u32)name.nic, (u32)name.pid);
	kfi_av_straddr(n->av, n->addr, text, &len);
	EXPECT(t, !strcmp(text, want));
	EXPECT_EQ(t, len, strlen(want) + 1);
	len = 7;
	EXPECT_EQ(t, kfi_getname(&n->ep->fid, n->addr, &len), -KFI_ETOOSMALL);
	EXPECT_EQ(t, len, 8);
}

/* A number that is in use can't be taken again, by any fabric object; the first user keeps it. */
static void one_name(struct test *t)
{
	struct node *n = test_new(t, struct node), *twin = test_new(t, struct node);
	kfi_addr_t addr[2];

	if (go_short(t, 0, "9"))
		return;
	REQUIRE(t, !node_open_ep(t, n, 0, NULL));
	REQUIRE(t, !node_open(t, twin, 0, NULL) && !node_endpoint(twin, twin->info));
	EXPECT_EQ(t, kfi_setname(&twin->ep->fid, n->addr, n->addrlen), 0);
	EXPECT_EQ(t, kfi_enable(twin->ep), -EADDRINUSE);
	/* The same number twice is one peer. */
	EXPECT_EQ(t, kfi_av_insert(n->av, n->addr, 1, &addr[0], 0, NULL), 1);
	EXPECT_EQ(t, kfi_av_insert(n->av, n->addr, 1, &addr[1], 0, NULL), 1);
	EXPECT_EQ(t, addr[0], addr[1]);
	n->peer = addr[0];
	transfer(n, n, 1000, 1);
}

static void expect_no_node(struct node *n, const char *node, const char *service)
{
	kfi_addr_t addr = 1;

	if (!EXPECT_EQ(n->t, kfi_av_insertsvc(n->av, node, service, &addr, 0, NULL), -EINVAL))
		FAIL(n->t, "node '%s' service '%s'", node ?: "(none)", service ?: "(none)");
	EXPECT_EQ(n->t, addr, KFI_ADDR_NOTAVAIL);
}

/* ---- two nodes that know each other by numbers ---- */

static int know(struct node *n, const struct node *peer)
{
	const struct kcxi_addr *name = (const void *)peer->addr;
	char node[16], service[16];
	struct kcxi_addr back = {};
	size_t len = sizeof(back);
	struct test *t = n->t;

	snprintf(node, sizeof(node), "%#x", (u32)name->nic);
	snprintf(service, sizeof(service), "%u", (u32)name->pid);
	if (!EXPECT_EQ(t, kfi_av_insertsvc(n->av, node, service, &n->peer, 0, NULL), 1) ||
	    !EXPECT_EQ(t, kfi_av_lookup(n->av, n->peer, &back, &len), 0))
		return -EIO;
	return EXPECT(t, len == sizeof(back) && !memcmp(&back, name, len)) ? 0 : -EIO;
}

static struct pair *pair_open_short(struct test *t)
{
	struct pair *p = test_new(t, struct pair);

	if (!p || go_short(t, 0, "8") || go_short(t, 1, "7"))
		return NULL;
	if (node_open_ep(t, &p->a, 0, NULL) || node_open_ep(t, &p->b, 1, NULL) ||
	    know(&p->a, &p->b) || know(&p->b, &p->a))
		return NULL;
	return p;
}

/* Messages report their sender, and match receives for that sender only. */
static void check_source(struct node *a, struct node *b)
{
	u8 *buf = test_zalloc(a->t, 128);
	struct kfi_cq_tagged_entry e;
	struct test *t = a->t;
	kfi_addr_t from;
	comp_t c;
	int i;

	for (i = 0; i < 2; i++) {
		from = KFI_ADDR_UNSPEC;
		REQUIRE(t, !POST(t, kfi_recv(b->ep, buf, 64, NULL, i ? b->peer : KFI_ADDR_UNSPEC,
					     CTX(i))));
		REQUIRE(t, !POST(t, kfi_send(a->ep, buf + 64, 8, NULL, a->peer, CTX(9))));
		REQUIRE(t, !WAIT_TX(a, &c));
		REQUIRE(t, test_until(t, kfi_cq_readfrom(b->rxcq, &e, 1, &from) == 1));
		EXPECT(t, e.op_context == CTX(i));
		EXPECT_EQ(t, from, b->peer);
	}
}

/*
 * A bulk transfer as kfilnd makes it: one side waits with a tagged receive, the other reads or
 * writes it.
 */
static void bulk(struct node *a, struct node *b, u8 *near, u8 *far, size_t len, bool write)
{
	u64 flags = KFI_TAGGED | KFI_RMA | (write ? KFI_WRITE : KFI_READ);
	u64 tag = 0x900 + write;
	struct test *t = a->t;
	comp_t c;

	fill(write ? near : far, len, write);
	memset(write ? far : near, 0, len);
	REQUIRE(t, !POST(t, kfi_trecv(b->ep, far, len, NULL, b->peer, tag, 0, CTX(2))));
	REQUIRE(t, !POST(t, rma_tagged(a, a->peer, near, len, tag, CTX(1), write)));
	REQUIRE_TX(a, &c, CTX(1), flags | KFI_SEND);
	REQUIRE_RX(b, &c, CTX(2), flags | KFI_RECV);
	EXPECT_DATA(t, write ? far : near, len, write);
}

static void talk_both_ways(struct pair *p)
{
	struct test *t = p->a.t;
	u8 *near = test_pages(t, 65536), *far = test_pages(t, 65536);
	int i;

	still_works(p);
	check_source(&p->a, &p->b);
	check_source(&p->b, &p->a);
	for (i = 0; i < 2 && !t->failures; i++) {
		bulk(&p->a, &p->b, near, far, 65536, i);
		bulk(&p->b, &p->a, near, far, 65536, i);
	}
}

static void talk(struct test *t)
{
	struct pair *p = pair_open_short(t);

	if (p)
		talk_both_ways(p);
}

/*
 * The administrator of both sides has given numbers to their addresses that differ from those of
 * their subnets: they use these, and no others.
 */
static void mapped(struct test *t)
{
	struct pair *p = pair_open_short(t);
	struct kfi_info *plain;
	char old[16];
	int i;

	REQUIRE(t, p);
	for (i = 0; i < 2; i++) {
		REQUIRE_EQ(t, ask(t, i, t->c->caps, KFI_SOCKADDR_IN, "7", &plain), 0);
		test_keep_info(t, plain);
		EXPECT(t, !is_host_part(t->info[i], plain));
		for (; plain; plain = plain->next) {
			if (strcmp(plain->domain_attr->name, t->info[i]->domain_attr->name))
				continue;
			snprintf(old, sizeof(old), "%u", host_bits(plain));
			expect_no_node(i ? &p->a : &p->b, old, "7");
		}
	}
	talk_both_ways(p);
}

const struct test_case short_cases[] = {
	{ "short.offers", T_RDM, 0, C_SHORT, offers },
	{ "short.first_for_kfilnd", T_RDM, 0, C_SHORT, first_for_kfilnd },
	{ "short.not_asked_for", T_RDM, 0, C_SHORT, not_asked_for },
	{ "short.own_name", T_RDM, 0, C_SHORT, own_name },
	{ "short.one_name", T_RDM, 0, C_SHORT, one_name },
	{ "short.talk", T_RDM, 0, C_SHORT, talk },
	{ "script.mapped", T_RDM, CASE_SCRIPT, C_SHORT, mapped },
	{ }
};
