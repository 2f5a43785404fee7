// SPDX-License-Identifier: GPL-2.0
/*
 * The multiplexer: which lane a connection has, and the list of ways, of a provider whose ways are
 * always down. What one side encodes the other decodes, and invalid values are refused: that is
 * tested by fuzzing (tests/fuzz/mux_fuzz.c). kfi.ko does not export the functions of record.c, so
 * their source is compiled into this module.
 */
#include <linux/delay.h>
#include <linux/unaligned.h>
#include <kfi_domain.h>
#include <kfi_endpoint.h>
#include <kfi_mux.h>
#include "suite.h"
#include "../../kfi/mux/record.c"

/*
 * A pair of ports has one lane, whoever calls. Connections of one port with many, of many pairs of
 * ports, and of callers without a port, are spread over all lanes.
 */
static void lanes_of_calls(struct kunit *test)
{
	unsigned int lanes, count[4][KFI_MUX_LANES], i, kind, lane;
	struct kmw_calling calls[4], back;

	for (lanes = 1; lanes <= KFI_MUX_LANES; lanes++) {
		memset(count, 0, sizeof(count));
		for (i = 0; i < 64 * lanes; i++) {
			calls[0] = (struct kmw_calling) { .from = 4420, .to = 0x10000 + i };
			calls[1] = (struct kmw_calling) { .from = 0x10000 + i, .to = 4420 };
			calls[2] = (struct kmw_calling) { .from = 0x10000 + i, .to = 0x10000 + i };
			calls[3] = (struct kmw_calling) { .number = 0x1234567 + i, .to = 4420 };
			for (kind = 0; kind < 4; kind++) {
				lane = kmw_call_lane(&calls[kind], true, lanes);
				count[kind][lane]++;
				back.from = calls[kind].to;
				back.to = calls[kind].from;
				if (kind != 3)
					KUNIT_EXPECT_EQ(test, lane,
							kmw_call_lane(&back, false, lanes));
			}
		}
		for (kind = 0; kind < 4; kind++)
			for (i = 0; i < lanes; i++)
				KUNIT_EXPECT_GE(test, count[kind][i], 32U);
	}
}

/* ---- a provider whose ways are always down. An end is identified by a number ---- */

#define WAYS		40
#define CHASSIS		7	/* our end of the ways of a machine that has one identity */
#define PORT		"5"

struct mock_way {
	struct kfi_mux		mux;
	bool			listed;
	char			name[8];
};

static struct mock_way *ways[WAYS + 1];
static unsigned int nr_ways;

static void mock_addr_str(const void *addr, size_t len, char *buf, size_t size)
{
	snprintf(buf, size, "mock:%u", get_unaligned_le32(addr));
}

static int mock_side(struct kfi_mux *mux, const char *text, void *side)
{
	u32 number;

	if (!strcmp(text, "clone"))
		return -ENOTUNIQ;
	if (kstrtou32(text, 10, &number))
		return -EINVAL;
	put_unaligned_le32(number, side);
	return 0;
}

/* The other name of the way w2 is alias2. */
static bool mock_called(struct kfi_mux *mux, const char *name)
{
	return !strncmp(name, "alias", 5) && !strcmp(name + 5, mux->name + 1);
}

static const struct kfi_link_ops mock_link_ops = {
	KFI_MUX_LINK_OPS(sizeof(__le32)),
	.sent_to	= kfi_mux_sent_to,
};

static struct kfi_proto mock_proto = {
	.name		= "muxtest",
	.ops		= &mock_link_ops,
	.addr_str	= mock_addr_str,
	.params		= { KFI_PROTO_DEFAULTS, .eager_size = 4096, .unexpected_origin = 131072 },
};

/* A connection: the record of its CALL stays posted until mock_sent(). */
struct mock_stream {
	struct kfi_mux_stream	s;
	struct kfi_mux_ctl	ctl;
};

static struct kfi_mux_ctl *mock_posted;
static unsigned int mock_posts;

static void mock_stream_init(struct kfi_mux_stream *s)
{
	s->ctl = &container_of(s, struct mock_stream, s)->ctl;
}

static int mock_post(struct kfi_mux *mux, unsigned int lane, struct kfi_mux_ctl *ctl)
{
	WRITE_ONCE(mock_posted, ctl);
	WRITE_ONCE(mock_posts, mock_posts + 1);
	return 0;
}

static void mock_sent(void)
{
	local_bh_disable();
	mock_posted->sent(mock_posted);
	local_bh_enable();
	mock_posted = NULL;
}

static const struct kfi_mux_ops mock_mux_ops = {
	.stream_size	= sizeof(struct mock_stream),
	.stream_init	= mock_stream_init,
	.post		= mock_post,
	.side		= mock_side,
	.called		= mock_called,
};

static const struct kfi_prov_ops mock_ops = {
	KFI_MUX_PROV_OPS,
	.domain_size	= sizeof(struct kfi_mux_domain),
	.addr_str	= mock_addr_str,
	.domain_open	= kfi_mux_domain_open,
	.domain_close	= kfi_mux_domain_close,
	.ep_open	= kfi_mux_ep_open,
};

static struct kfi_mux_prov mock_prov = {
	.prov		= { .name = "muxtest", .version = KFI_VERSION(1, 0), .ops = &mock_ops },
	.proto		= &mock_proto,
	.ops		= &mock_mux_ops,
	.addr_format	= KFI_ADDR_NTB,
	.side_len	= sizeof(__le32),
	.protocol	= KFI_PROTO_KFI_NTB,
	.stream_kib	= 64,
};

/* The first way is w0. */
static struct mock_way *way_add(struct kunit *test, u32 own, u32 peer)
{
	__le32 ends[] = { cpu_to_le32(own), cpu_to_le32(peer) };
	struct mock_way *way = kzalloc(sizeof(*way), GFP_KERNEL);
	int ret;

	KUNIT_ASSERT_LT(test, nr_ways, (unsigned int)ARRAY_SIZE(ways));
	KUNIT_ASSERT_NOT_NULL(test, way);
	snprintf(way->name, sizeof(way->name), "w%u", nr_ways);
	ret = kfi_mux_init(&way->mux, &mock_prov, way->name);
	if (ret)
		kfree(way);
	KUNIT_ASSERT_EQ(test, ret, 0);
	ways[nr_ways++] = way;
	kfi_mux_set_ends(&way->mux, &ends[0], &ends[1]);
	kfi_mux_list(&way->mux);
	way->listed = true;
	return way;
}

static bool way_retire(struct mock_way *way)
{
	bool ret = kfi_mux_retire(&way->mux);

	way->listed &= !ret;
	return ret;
}

static bool way_found(struct mock_way *way)
{
	struct kfi_mux *mux = kfi_mux_find(&mock_prov, way->name);

	if (mux)
		kfi_mux_put(mux);
	return mux;
}

static int ways_begin(struct kunit *test)
{
	int ret = kfi_mux_prov_init(&mock_prov);

	nr_ways = 0;
	if (ret)
		return ret;
	ret = kfi_provider_register(&mock_prov.prov);
	if (ret)
		kfi_mux_prov_exit(&mock_prov);
	return ret;
}

static void ways_finish(struct kunit *test)
{
	struct mock_way *way;

	kfi_provider_deregister(&mock_prov.prov);
	while (nr_ways) {
		way = ways[--nr_ways];
		if (way->listed)
			kfi_mux_unlist(&way->mux);
		kfi_mux_gone(&way->mux);
		kfi_mux_drop(&way->mux);
		KUNIT_EXPECT_TRUE(test, kfi_mux_idle(&way->mux, HZ));
		kfi_mux_destroy(&way->mux);
		kfree(way);
	}
	kfi_mux_prov_exit(&mock_prov);
}

/* Query with a service. @node, @domain: name, or NULL */
static struct kfi_info *ask_for(struct kunit *test, const char *node, const char *domain, u64 flags)
{
	struct kfi_info *hints = kfi_allocinfo(), *info = NULL;
	int ret;

	KUNIT_ASSERT_NOT_NULL(test, hints);
	hints->caps = KFI_MSG;
	hints->ep_attr->type = KFI_EP_MSG;
	hints->domain_attr->caps = KFI_ONE_PEER;
	hints->domain_attr->name = domain ? kstrdup(domain, GFP_KERNEL) : NULL;
	hints->fabric_attr->prov_name = kstrdup("muxtest", GFP_KERNEL);
	ret = kfi_getinfo_net(&init_net, kfi_version(), node, PORT, flags, hints, &info);
	kfi_freeinfo(hints);
	KUNIT_ASSERT_EQ(test, ret, 0);
	return info;
}

static struct kfi_info *ask(struct kunit *test, const char *domain, u64 flags)
{
	return ask_for(test, NULL, domain, flags);
}

static struct kfid_fabric *fabric_open(struct kunit *test, const struct kfi_info *info)
{
	struct kfid_fabric *fabric;

	KUNIT_ASSERT_EQ(test, kfi_fabric_net(&init_net, info->fabric_attr, &fabric, NULL), 0);
	return fabric;
}

/* ---- the list of ways ---- */

/* All cables of a machine have the same end here. The name of the domain says which one is used. */
static void other_end(struct kunit *test)
{
	struct kfi_info *info;
	unsigned int i;

	way_add(test, CHASSIS, 1);
	way_add(test, CHASSIS, 2);
	for (i = 0; i < 2; i++) {
		info = ask(test, ways[i]->name, 0);
		KUNIT_EXPECT_NULL(test, info->next);
		KUNIT_EXPECT_TRUE(test, info->domain_attr->caps & KFI_ONE_PEER);
		KUNIT_EXPECT_STREQ(test, info->domain_attr->name, ways[i]->name);
		KUNIT_ASSERT_EQ(test, info->dest_addrlen, sizeof(u64));
		KUNIT_EXPECT_EQ(test, get_unaligned_le64(info->dest_addr), 5ULL << 32 | (i + 1));
		kfi_freeinfo(info);
	}
}

/* Return the error of a query for a node. */
static int ask_error(struct kunit *test, const char *node, u64 flags)
{
	struct kfi_info *info = NULL;
	int ret = kfi_getinfo_net(&init_net, kfi_version(), node, PORT, flags, NULL, &info);

	KUNIT_EXPECT_TRUE(test, ret || info);
	kfi_freeinfo(info);
	return ret;
}

/* A way is found, and opened, by another name that it has; the answer has the name of the query. */
static void other_names(struct kunit *test)
{
	struct kfid_domain *domain;
	struct kfid_fabric *fabric;
	struct kfi_info *info;
	struct kfi_mux *mux;

	way_add(test, CHASSIS, 1);
	way_add(test, CHASSIS, 2);
	mux = kfi_mux_find(&mock_prov, "alias1");
	KUNIT_ASSERT_PTR_EQ(test, mux, &ways[1]->mux);
	kfi_mux_put(mux);
	KUNIT_EXPECT_NULL(test, kfi_mux_find(&mock_prov, "alias2"));
	info = ask(test, "alias1", 0);
	KUNIT_EXPECT_NULL(test, info->next);
	KUNIT_EXPECT_STREQ(test, info->domain_attr->name, "alias1");
	fabric = fabric_open(test, info);
	KUNIT_ASSERT_EQ(test, kfi_domain(fabric, info, &domain, NULL), 0);
	KUNIT_EXPECT_EQ(test, kfi_close(&domain->fid), 0);
	KUNIT_EXPECT_EQ(test, kfi_close(&fabric->fid), 0);
	kfi_freeinfo(info);
	info = ask_for(test, "alias1/peer", NULL, 0);
	KUNIT_EXPECT_NULL(test, info->next);
	KUNIT_EXPECT_STREQ(test, info->domain_attr->name, "w1");
	kfi_freeinfo(info);
	info = ask_for(test, "alias0", NULL, KFI_SOURCE);
	KUNIT_EXPECT_NULL(test, info->next);
	KUNIT_EXPECT_STREQ(test, info->domain_attr->name, "w0");
	kfi_freeinfo(info);
	KUNIT_EXPECT_EQ(test, ask_error(test, "alias1/other", 0), -ENODATA);
}

/* A name that several machines have is said to be that, and not to be unknown. */
static void two_of_one_name(struct kunit *test)
{
	way_add(test, CHASSIS, 1);
	KUNIT_EXPECT_EQ(test, ask_error(test, "clone", 0), -ENOTUNIQ);
	KUNIT_EXPECT_EQ(test, ask_error(test, "clone", KFI_SOURCE), -ENOTUNIQ);
	KUNIT_EXPECT_EQ(test, ask_error(test, "nobody", 0), -ENODATA);
	KUNIT_EXPECT_EQ(test, ask_error(test, "w0/peer", 0), 0);
}

/* Of several ways to a node, those that are up come first, and none is left out. */
static void up_first(struct kunit *test)
{
	static const char *const order[2][4] = {
		{ "w1", "w3", "w0", "w2" }, { "w3", "w0", "w1", "w2" },
	};
	struct kfi_info *info, *at;
	unsigned int held, i;

	for (i = 0; i < 4; i++)
		way_add(test, CHASSIS, 1);
	way_add(test, CHASSIS, 2);
	kfi_mux_up(&ways[1]->mux);
	kfi_mux_up(&ways[3]->mux);
	kfi_mux_up(&ways[4]->mux);
	for (held = 0; held < 2; held++) {
		if (held)
			kfi_mux_hold(&ways[1]->mux, jiffies);
		info = ask_for(test, "1", NULL, 0);
		for (i = 0, at = info; at && i < 4; at = at->next, i++)
			KUNIT_EXPECT_STREQ(test, at->domain_attr->name, order[held][i]);
		KUNIT_EXPECT_EQ(test, i, 4U);
		KUNIT_EXPECT_NULL(test, at);
		kfi_freeinfo(info);
	}
	for (i = 1; i < 5; i++) {
		ways[i]->mux.life++;
		kfi_mux_down(&ways[i]->mux);
	}
}

/* The time for which a way was held counts while it is held, and not afterwards. */
static void held_time(struct kunit *test)
{
	struct kfi_mux *mux = &way_add(test, CHASSIS, 1)->mux;
	unsigned long held;

	KUNIT_EXPECT_EQ(test, kfi_held(NULL), 0UL);
	kfi_mux_up(mux);
	KUNIT_EXPECT_EQ(test, kfi_held(&mux->hold), 0UL);
	kfi_mux_hold(mux, jiffies);
	msleep(50);
	held = kfi_held(&mux->hold);
	KUNIT_EXPECT_GE(test, held, msecs_to_jiffies(50));
	msleep(50);
	KUNIT_EXPECT_GE(test, kfi_held(&mux->hold), held + msecs_to_jiffies(50));
	kfi_mux_resume(mux);
	held = kfi_held(&mux->hold);
	msleep(50);
	KUNIT_EXPECT_EQ(test, kfi_held(&mux->hold), held);
	/* since nothing has got through, but not twice for the same time */
	kfi_mux_hold(mux, jiffies - HZ);
	KUNIT_EXPECT_GE(test, kfi_held(&mux->hold), held + msecs_to_jiffies(50));
	KUNIT_EXPECT_LT(test, kfi_held(&mux->hold), held + HZ);
	msleep(50);
	mux->life++;
	kfi_mux_down(mux);
	KUNIT_EXPECT_FALSE(test, mux->hold.now);
	KUNIT_EXPECT_GE(test, kfi_held(&mux->hold), held + msecs_to_jiffies(100));
}

/* Return an endpoint that calls the other end. */
static struct kfid_ep *caller(struct kunit *test, struct kfid_domain *domain,
			      struct kfi_info *info, struct kfid_eq *eq, struct kfid_cq *cq)
{
	struct kfid_ep *ep;

	KUNIT_ASSERT_EQ(test, kfi_endpoint(domain, info, &ep, NULL), 0);
	KUNIT_ASSERT_EQ(test, kfi_ep_bind(ep, &eq->fid, 0), 0);
	KUNIT_ASSERT_EQ(test, kfi_ep_bind(ep, &cq->fid, KFI_TRANSMIT | KFI_RECV), 0);
	KUNIT_ASSERT_EQ(test, kfi_enable(ep), 0);
	KUNIT_ASSERT_EQ(test, kfi_connect(ep, info->dest_addr, NULL, 0), 0);
	return ep;
}

/*
 * Calls wait while a way is held, and are sent when it goes on. One that is given up before leaves
 * no record: many of those would end the life.
 */
static void held_calls(struct kunit *test)
{
	struct kfi_eq_attr eq_attr = { .size = 8, .wait_obj = KFI_WAIT_QUEUE };
	struct kfi_cq_attr cq_attr = {
		.size = 64, .format = KFI_CQ_FORMAT_MSG, .wait_obj = KFI_WAIT_QUEUE,
	};
	struct kfi_mux *mux = &way_add(test, CHASSIS, 1)->mux;
	struct kfi_info *info = ask(test, NULL, 0);
	struct kfid_fabric *fabric = fabric_open(test, info);
	struct kfid_domain *domain;
	struct kfid_ep *ep, *other;
	struct kfid_eq *eq;
	struct kfid_cq *cq;
	int i;

	KUNIT_ASSERT_EQ(test, kfi_domain(fabric, info, &domain, NULL), 0);
	KUNIT_ASSERT_EQ(test, kfi_eq_open(fabric, &eq_attr, &eq, NULL, NULL), 0);
	KUNIT_ASSERT_EQ(test, kfi_cq_open(domain, &cq_attr, &cq, NULL, NULL), 0);
	mock_posts = 0;
	kfi_mux_up(mux);
	kfi_mux_hold(mux, jiffies);
	ep = caller(test, domain, info, eq, cq);
	other = caller(test, domain, info, eq, cq);
	msleep(100);
	KUNIT_EXPECT_EQ(test, READ_ONCE(mock_posts), 0U);
	KUNIT_EXPECT_EQ(test, kfi_close(&other->fid), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&mux->leaving), 0);
	kfi_mux_resume(mux);
	for (i = 0; i < 50 && !READ_ONCE(mock_posts); i++)
		msleep(20);
	KUNIT_EXPECT_EQ(test, READ_ONCE(mock_posts), 1U);
	if (mock_posted)
		mock_sent();
	KUNIT_EXPECT_EQ(test, kfi_close(&ep->fid), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&mux->leaving), 0);
	mux->life++;
	kfi_mux_down(mux);
	KUNIT_EXPECT_EQ(test, kfi_close(&cq->fid), 0);
	KUNIT_EXPECT_EQ(test, kfi_close(&eq->fid), 0);
	KUNIT_EXPECT_EQ(test, kfi_close(&domain->fid), 0);
	KUNIT_EXPECT_EQ(test, kfi_close(&fabric->fid), 0);
	kfi_freeinfo(info);
}

/* A passive endpoint that is given an address of several ways listens at none of them. */
static void passive_way(struct kunit *test)
{
	struct kfi_info *info, *nameless;
	struct kfid_fabric *fabric;
	struct kfid_pep *pep;

	way_add(test, CHASSIS, 1);
	way_add(test, CHASSIS, 2);
	info = ask(test, "w1", KFI_SOURCE);
	nameless = kfi_dupinfo(info);
	KUNIT_ASSERT_NOT_NULL(test, nameless);
	kfree(nameless->domain_attr->name);
	nameless->domain_attr->name = NULL;
	fabric = fabric_open(test, info);

	KUNIT_EXPECT_EQ(test, kfi_passive_ep(fabric, nameless, &pep, NULL), -ENOTUNIQ);
	KUNIT_EXPECT_TRUE(test, way_retire(ways[0]));
	KUNIT_ASSERT_EQ(test, kfi_passive_ep(fabric, nameless, &pep, NULL), 0);
	KUNIT_EXPECT_FALSE(test, way_retire(ways[1]));
	KUNIT_EXPECT_EQ(test, kfi_close(&pep->fid), 0);
	way_add(test, CHASSIS, 3);
	KUNIT_EXPECT_EQ(test, kfi_passive_ep(fabric, nameless, &pep, NULL), -ENOTUNIQ);
	KUNIT_ASSERT_EQ(test, kfi_passive_ep(fabric, info, &pep, NULL), 0);
	KUNIT_EXPECT_FALSE(test, way_retire(ways[1]));
	KUNIT_EXPECT_TRUE(test, way_retire(ways[2]));
	KUNIT_EXPECT_EQ(test, kfi_close(&pep->fid), 0);
	put_unaligned_le32(CHASSIS + 1, nameless->src_addr);
	KUNIT_EXPECT_EQ(test, kfi_passive_ep(fabric, nameless, &pep, NULL), -ENODEV);

	KUNIT_EXPECT_EQ(test, kfi_close(&fabric->fid), 0);
	kfi_freeinfo(nameless);
	kfi_freeinfo(info);
}

/* A way is retired only while no consumer holds it: no query, and no open domain. */
static void retire_unused(struct kunit *test)
{
	struct mock_way *way = way_add(test, 1, 2);
	struct kfid_domain *domain;
	struct kfid_fabric *fabric;
	struct kfi_info *info;
	struct kfi_mux *mux;

	mux = kfi_mux_find(&mock_prov, way->name);
	KUNIT_EXPECT_PTR_EQ(test, mux, &way->mux);
	KUNIT_EXPECT_FALSE(test, way_retire(way));
	KUNIT_EXPECT_TRUE(test, way_found(way));
	kfi_mux_put(&way->mux);

	info = ask(test, way->name, 0);
	fabric = fabric_open(test, info);
	KUNIT_ASSERT_EQ(test, kfi_domain(fabric, info, &domain, NULL), 0);
	KUNIT_EXPECT_FALSE(test, way_retire(way));
	KUNIT_EXPECT_EQ(test, kfi_close(&domain->fid), 0);
	KUNIT_EXPECT_TRUE(test, way_retire(way));
	KUNIT_EXPECT_FALSE(test, way_found(way));
	KUNIT_EXPECT_EQ(test, kfi_domain(fabric, info, &domain, NULL), -ENODEV);
	KUNIT_EXPECT_EQ(test, kfi_close(&fabric->fid), 0);
	kfi_freeinfo(info);
}

/**
 * struct visits - what kfi_mux_each() has called
 * @test: the case
 * @n: number of calls
 * @last: number of the way of the last one
 * @stop: stop at this call; 0: at none
 */
struct visits {
	struct kunit	*test;
	unsigned int	n;
	u32		last;
	unsigned int	stop;
};

/* The first call adds a way, which is not visited. */
static int visit(struct kfi_mux *mux, void *arg)
{
	struct visits *v = arg;

	KUNIT_EXPECT_GT(v->test, mux->number, v->last);
	KUNIT_EXPECT_GT(v->test, refcount_read(&mux->users), 1U);
	v->last = mux->number;
	if (!v->n++ && nr_ways == WAYS)
		way_add(v->test, 1, 2);
	return v->n == v->stop ? -EXDEV : 0;
}

/* All ways are visited, in order, however many there are, and all are offered. */
static void each_way(struct kunit *test)
{
	struct visits first = { .test = test }, then = { .test = test, .stop = WAYS - 1 };
	struct kfi_info *info, *i;
	unsigned int n = 0;

	while (nr_ways < WAYS)
		way_add(test, CHASSIS, nr_ways + 100);
	KUNIT_EXPECT_EQ(test, kfi_mux_each(&mock_prov, visit, &first), 0);
	KUNIT_EXPECT_EQ(test, first.n, (unsigned int)WAYS);
	KUNIT_EXPECT_EQ(test, nr_ways, WAYS + 1U);
	KUNIT_EXPECT_TRUE(test, way_retire(ways[WAYS / 2]));
	KUNIT_EXPECT_EQ(test, kfi_mux_each(&mock_prov, visit, &then), -EXDEV);
	KUNIT_EXPECT_EQ(test, then.n, WAYS - 1U);
	KUNIT_EXPECT_EQ(test, then.last, ways[WAYS - 1]->mux.number);
	info = ask(test, NULL, 0);
	for (i = info; i; i = i->next)
		n++;
	KUNIT_EXPECT_EQ(test, n, (unsigned int)WAYS);
	kfi_freeinfo(info);
}

KFI_SUITE(kfi_mux,
	KUNIT_CASE(lanes_of_calls));

KFI_SUITE_IN(kfi_mux_ways, ways_begin, ways_finish,
	KUNIT_CASE(other_end),
	KUNIT_CASE(other_names),
	KUNIT_CASE(two_of_one_name),
	KUNIT_CASE(up_first),
	KUNIT_CASE(held_time),
	KUNIT_CASE(held_calls),
	KUNIT_CASE(passive_way),
	KUNIT_CASE(retire_unused),
	KUNIT_CASE(each_way));
