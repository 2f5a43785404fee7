// SPDX-License-Identifier: GPL-2.0
/*
 * attr_test.c - which offers match which hints, in the order of fi_getinfo(3). Next to each row
 * that matches is one that does not.
 */
#include <linux/slab.h>
#include <linux/string.h>
#include "suite.h"
#include "../../kfi/attr.h"

/* ---- an offer ---- */

enum part { NONE, INFO, TX, RX, EP, DOM, FAB };

struct set {
	enum part	part;
	u16		offset, size;
	u64		value;
};

#define SET(p, type, field, v) \
	{ p, offsetof(struct type, field), sizeof_field(struct type, field), v }
#define IN(field, v)	SET(INFO, kfi_info, field, v)
#define TX(field, v)	SET(TX, kfi_tx_attr, field, v)
#define RX(field, v)	SET(RX, kfi_rx_attr, field, v)
#define EP(field, v)	SET(EP, kfi_ep_attr, field, v)
#define DOM(field, v)	SET(DOM, kfi_domain_attr, field, v)
#define FAB(field, v)	SET(FAB, kfi_fabric_attr, field, v)

/*
 * @offer changes the standard offer and @ask the empty hints. @match: do they match? @want: what
 * the info returned then says.
 */
struct attr_case {
	const char	*name;
	struct set	offer[3];
	struct set	ask[4];
	bool		match;
	struct set	want[4];
};

#define OFFER_CAPS	(KFI_MSG | KFI_RMA | KFI_TAGGED | KFI_SEND | KFI_RECV | KFI_READ | \
			 KFI_WRITE | KFI_REMOTE_READ | KFI_REMOTE_WRITE | KFI_MULTI_RECV | \
			 KFI_DIRECTED_RECV | KFI_SOURCE | KFI_LOCAL_COMM | KFI_REMOTE_COMM)
#define FREE		(KFI_MULTI_RECV | KFI_LOCAL_COMM | KFI_REMOTE_COMM)
#define RMA_DIRS	(KFI_READ | KFI_WRITE | KFI_REMOTE_READ | KFI_REMOTE_WRITE)
#define LEVELS		(KFI_INJECT_COMPLETE | KFI_TRANSMIT_COMPLETE | KFI_DELIVERY_COMPLETE)
#define OURS		KFI_VERSION(KFI_MAJOR_VERSION, KFI_MINOR_VERSION)

static struct kfi_info *make_offer(struct kunit *test)
{
	struct kfi_info *o = kfi_allocinfo();

	KUNIT_ASSERT_NOT_NULL(test, o);
	o->caps = OFFER_CAPS;
	o->addr_format = KFI_SOCKADDR_IN;
	*o->tx_attr = (struct kfi_tx_attr) {
		.op_flags = LEVELS, .msg_order = KFI_ORDER_SAS | KFI_ORDER_WAW,
		.inject_size = 1024, .size = 4096, .iov_limit = 64, .rma_iov_limit = 32,
	};
	*o->rx_attr = (struct kfi_rx_attr) {
		.msg_order = KFI_ORDER_SAS, .size = 8192, .iov_limit = 48,
	};
	*o->ep_attr = (struct kfi_ep_attr) {
		.type = KFI_EP_RDM, .protocol = KFI_PROTO_KFI_TCP, .protocol_version = 3,
		.max_msg_size = 1 << 20, .max_order_waw_size = 4096,
		.mem_tag_format = 0xffffffffULL,
	};
	*o->domain_attr = (struct kfi_domain_attr) {
		.mr_key_size = 8,
		.cq_data_size = 8,
		.cq_cnt = 100,
		.ep_cnt = 0,
		.tx_ctx_cnt = 50,
		.rx_ctx_cnt = 50,
		.max_ep_tx_ctx = 16,
		.max_ep_rx_ctx = 16,
		.max_ep_auth_key = 1,
		.mr_iov_limit = 256,
		.caps = KFI_LOCAL_COMM | KFI_REMOTE_COMM,
	};
	o->domain_attr->name = kstrdup("dom", GFP_KERNEL);
	o->fabric_attr->name = kstrdup("fab", GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, o->domain_attr->name);
	KUNIT_ASSERT_NOT_NULL(test, o->fabric_attr->name);
	return o;
}

static void *part_of(struct kfi_info *info, enum part part)
{
	switch (part) {
	case INFO:
		return info;
	case TX:
		return info->tx_attr;
	case RX:
		return info->rx_attr;
	case EP:
		return info->ep_attr;
	case DOM:
		return info->domain_attr;
	case FAB:
		return info->fabric_attr;
	default:
		return NULL;
	}
}

static void apply(struct kfi_info *info, const struct set *sets, int n)
{
	for (; n-- && sets->part; sets++) {
		void *at = part_of(info, sets->part) + sets->offset;

		if (sets->size == 8)
			*(u64 *)at = sets->value;
		else
			*(u32 *)at = sets->value;
	}
}

static void expect(struct kunit *test, struct kfi_info *info, const struct set *sets, int n)
{
	for (; n-- && sets->part; sets++) {
		const void *at = part_of(info, sets->part) + sets->offset;
		u64 value = sets->size == 8 ? *(const u64 *)at : *(const u32 *)at;

		KUNIT_EXPECT_EQ_MSG(test, value, sets->value, "part %d offset %u",
				    sets->part, sets->offset);
	}
}

/* ---- the rows ---- */

static const struct attr_case attr_rows[] = {
	/* capabilities */
	{ "caps: none asked, all granted", {}, {}, true, { IN(caps, OFFER_CAPS) } },
	{ "caps: msg gets both directions and what is free", {}, { IN(caps, KFI_MSG) }, true,
	  { IN(caps, KFI_MSG | KFI_SEND | KFI_RECV | FREE) } },
	{ "caps: one direction stays alone", {}, { IN(caps, KFI_TAGGED | KFI_SEND) }, true,
	  { IN(caps, KFI_TAGGED | KFI_SEND | FREE) } },
	{ "caps: rma gets all four directions", {}, { IN(caps, KFI_RMA) }, true,
	  { IN(caps, KFI_RMA | RMA_DIRS | FREE) } },
	{ "caps: rma of one direction", {}, { IN(caps, KFI_RMA | KFI_READ) }, true,
	  { IN(caps, KFI_RMA | KFI_READ | FREE) } },
	{ "caps: a secondary one with a price only if asked", {}, { IN(caps, KFI_MSG | KFI_SOURCE) },
	  true, { IN(caps, KFI_MSG | KFI_SOURCE | KFI_SEND | KFI_RECV | FREE) } },
	{ "caps: a primary one that is not there", {}, { IN(caps, KFI_MSG | KFI_ATOMIC) }, false },
	{ "caps: a secondary one that is not there", {}, { IN(caps, KFI_MSG | KFI_RMA_EVENT) }, false },
	{ "caps: a kernel one that is not there", {}, { IN(caps, KFI_TAGGED_RMA) }, false },
	{ "caps: protection that is not there", {}, { IN(caps, KFI_PROTECTED) }, false },
	{ "caps: protection that is there is granted without a request",
	  { IN(caps, OFFER_CAPS | KFI_PROTECTED) }, { IN(caps, KFI_MSG) }, true,
	  { IN(caps, KFI_MSG | KFI_SEND | KFI_RECV | FREE | KFI_PROTECTED) } },
	{ "caps: an implied direction that is not there", { IN(caps, KFI_MSG | KFI_SEND) },
	  { IN(caps, KFI_MSG) }, false },
	{ "caps: an unknown bit", {}, { IN(caps, KFI_MSG | (1ULL << 63)) }, false },
	{ "tx caps: derived", {}, { IN(caps, KFI_MSG | KFI_RMA) }, true,
	  { TX(caps, KFI_MSG | KFI_RMA | KFI_SEND | KFI_READ | KFI_WRITE | KFI_LOCAL_COMM |
	       KFI_REMOTE_COMM) } },
	{ "rx caps: derived", {}, { IN(caps, KFI_MSG | KFI_RMA) }, true,
	  { RX(caps, KFI_MSG | KFI_RMA | KFI_RECV | KFI_REMOTE_READ | KFI_REMOTE_WRITE | FREE) } },
	{ "tx caps: fewer than the whole", {}, { IN(caps, KFI_MSG | KFI_RMA), TX(caps, KFI_MSG) },
	  true, { TX(caps, KFI_MSG | KFI_LOCAL_COMM | KFI_REMOTE_COMM) } },
	{ "tx caps: more than the whole", {}, { IN(caps, KFI_MSG), TX(caps, KFI_TAGGED) }, false },
	{ "tx caps: a receiver's", {}, { TX(caps, KFI_RECV) }, false },
	{ "rx caps: a sender's", {}, { RX(caps, KFI_SEND) }, false },
	{ "rx caps: more than the whole", {}, { IN(caps, KFI_MSG), RX(caps, KFI_DIRECTED_RECV) }, false },

	/* mode bits: requirements on the consumer */
	{ "mode: required and accepted", { IN(mode, KFI_CONTEXT) }, { IN(mode, KFI_CONTEXT | KFI_RX_CQ_DATA) },
	  true, { IN(mode, KFI_CONTEXT) } },
	{ "mode: required, not accepted", { IN(mode, KFI_CONTEXT) }, {}, false },
	{ "mode: tx, accepted as a whole", { TX(mode, KFI_CONTEXT) }, { IN(mode, KFI_CONTEXT) }, true,
	  { TX(mode, KFI_CONTEXT) } },
	{ "mode: tx, its own hint counts", { TX(mode, KFI_CONTEXT) },
	  { IN(mode, KFI_CONTEXT), TX(mode, KFI_RX_CQ_DATA) }, false },
	{ "mode: rx, not accepted", { RX(mode, KFI_RX_CQ_DATA) }, {}, false },
	{ "mode: domain, not accepted", { DOM(mode, KFI_CONTEXT) }, {}, false },

	/* address format */
	{ "format: the same", {}, { IN(addr_format, KFI_SOCKADDR_IN) }, true,
	  { IN(addr_format, KFI_SOCKADDR_IN) } },
	{ "format: any sockaddr", {}, { IN(addr_format, KFI_SOCKADDR) }, true,
	  { IN(addr_format, KFI_SOCKADDR_IN) } },
	{ "format: one of any sockaddr", { IN(addr_format, KFI_SOCKADDR) },
	  { IN(addr_format, KFI_SOCKADDR_IN6) }, true, { IN(addr_format, KFI_SOCKADDR_IN6) } },
	{ "format: another family", {}, { IN(addr_format, KFI_SOCKADDR_IN6) }, false },
	{ "format: text", {}, { IN(addr_format, KFI_ADDR_STR) }, true,
	  { IN(addr_format, KFI_SOCKADDR_IN) } },
	{ "format: text, no IP address", { IN(addr_format, KFI_ADDR_NTB) },
	  { IN(addr_format, KFI_ADDR_STR) }, false },

	/* endpoint */
	{ "ep type: any", {}, { EP(type, KFI_EP_UNSPEC) }, true, { EP(type, KFI_EP_RDM) } },
	{ "ep type: the same", {}, { EP(type, KFI_EP_RDM) }, true },
	{ "ep type: another", {}, { EP(type, KFI_EP_MSG) }, false },
	{ "protocol: the same", {}, { EP(protocol, KFI_PROTO_KFI_TCP) }, true },
	{ "protocol: another", {}, { EP(protocol, KFI_PROTO_SOCK_TCP) }, false },
	{ "protocol version: older", {}, { EP(protocol_version, 2) }, true,
	  { EP(protocol_version, 3) } },
	{ "protocol version: newer", {}, { EP(protocol_version, 4) }, false },
	{ "max_msg_size: less asked, all given", {}, { EP(max_msg_size, 5) }, true,
	  { EP(max_msg_size, 1 << 20) } },
	{ "order size: at the limit", {}, { EP(max_order_waw_size, 4096) }, true },
	{ "order size: above", {}, { EP(max_order_waw_size, 4097) }, false },
	{ "order size: of what is not ordered", {}, { EP(max_order_raw_size, 1) }, false },
	{ "tags: fewer bits", {}, { EP(mem_tag_format, 0xffffULL) }, true,
	  { EP(mem_tag_format, 0xffffULL) } },
	{ "tags: more bits", {}, { EP(mem_tag_format, 1ULL << 32) }, false },
	{ "contexts: as many as there can be", {}, { EP(tx_ctx_cnt, 16), EP(rx_ctx_cnt, 16) }, true,
	  { EP(tx_ctx_cnt, 16), EP(rx_ctx_cnt, 16) } },
	{ "contexts: one unless asked", {}, {}, true, { EP(tx_ctx_cnt, 1), EP(rx_ctx_cnt, 1) } },
	{ "contexts: too many to transmit", {}, { EP(tx_ctx_cnt, 17) }, false },
	{ "contexts: too many to receive", {}, { EP(rx_ctx_cnt, 17) }, false },
	{ "contexts: shared, there are none", {}, { EP(tx_ctx_cnt, KFI_SHARED_CONTEXT) }, false },
	{ "contexts: shared", { DOM(max_ep_srx_ctx, 1) }, { EP(rx_ctx_cnt, KFI_SHARED_CONTEXT) }, true },
	{ "auth key: bytes without a key", {}, { EP(auth_key_size, 4) }, false },

	/* transmit */
	{ "tx size: default", {}, {}, true, { TX(size, 256), TX(iov_limit, 4), TX(inject_size, 256) } },
	{ "tx size: default within a small limit", { TX(size, 10), TX(inject_size, 8) }, {}, true,
	  { TX(size, 10), TX(inject_size, 8) } },
	{ "rma iov: at the limit", {}, { TX(rma_iov_limit, 32) }, true, { TX(rma_iov_limit, 32) } },
	{ "rma iov: above", {}, { TX(rma_iov_limit, 33) }, false },
	{ "tx flags: none unless asked", {}, {}, true, { TX(op_flags, 0) } },
	{ "tx flags: a level on offer", {}, { TX(op_flags, KFI_DELIVERY_COMPLETE | KFI_COMPLETION) }, true,
	  { TX(op_flags, KFI_DELIVERY_COMPLETE | KFI_COMPLETION) } },
	{ "tx flags: a level not on offer", {}, { TX(op_flags, KFI_COMMIT_COMPLETE) }, false },
	{ "tx flags: a receiver's", {}, { TX(op_flags, KFI_MULTI_RECV) }, false },
	{ "tx order: part of the offer", {}, { TX(msg_order, KFI_ORDER_SAS) }, true,
	  { TX(msg_order, KFI_ORDER_SAS) } },
	{ "tx order: not asked, all", {}, {}, true, { TX(msg_order, KFI_ORDER_SAS | KFI_ORDER_WAW) } },
	{ "tx order: not on offer", {}, { TX(msg_order, KFI_ORDER_SAS | KFI_ORDER_RAW) }, false },
	{ "tclass: best effort is always there", {}, { TX(tclass, KFI_TC_BEST_EFFORT) }, true,
	  { TX(tclass, KFI_TC_BEST_EFFORT) } },
	{ "tclass: refused where there are no classes", {}, { TX(tclass, KFI_TC_LOW_LATENCY) }, false },
	{ "tclass: a label where there are DSCPs", { TX(tclass, KFI_TC_DSCP) },
	  { TX(tclass, KFI_TC_LOW_LATENCY) }, false },
	{ "tclass: a DSCP where there are labels", { TX(tclass, KFI_TC_LABEL) },
	  { TX(tclass, KFI_TC_DSCP | 46) }, false },
	{ "tclass: a label", { TX(tclass, KFI_TC_LABEL) }, { TX(tclass, KFI_TC_LOW_LATENCY) }, true,
	  { TX(tclass, KFI_TC_LOW_LATENCY) } },
	{ "tclass: a DSCP", { TX(tclass, KFI_TC_DSCP) }, { TX(tclass, KFI_TC_DSCP | 46) }, true,
	  { TX(tclass, KFI_TC_DSCP | 46) } },
	{ "tclass: no DSCP", { TX(tclass, KFI_TC_DSCP) }, { TX(tclass, KFI_TC_DSCP | 64) }, false },
	{ "tclass: no label", { TX(tclass, KFI_TC_LABEL) }, { TX(tclass, KFI_TC_NETWORK_CTRL + 1) }, false },
	{ "tclass: the domain's for the endpoint", { TX(tclass, KFI_TC_LABEL) },
	  { DOM(tclass, KFI_TC_BULK_DATA) }, true,
	  { TX(tclass, KFI_TC_BULK_DATA), DOM(tclass, KFI_TC_BULK_DATA) } },
	{ "tclass: the domain's refused", {}, { DOM(tclass, KFI_TC_BULK_DATA) }, false },

	/* receive */
	{ "rx size: default", {}, {}, true, { RX(size, 256), RX(iov_limit, 4) } },
	{ "rx flags: multi-receive", {}, { RX(op_flags, KFI_COMPLETION | KFI_MULTI_RECV) }, true,
	  { RX(op_flags, KFI_COMPLETION | KFI_MULTI_RECV) } },
	{ "rx flags: multi-receive, not there", { IN(caps, OFFER_CAPS & ~KFI_MULTI_RECV) },
	  { RX(op_flags, KFI_MULTI_RECV) }, false },
	{ "rx flags: a sender's", {}, { RX(op_flags, KFI_DELIVERY_COMPLETE) }, false },
	{ "rx order: not on offer", {}, { RX(msg_order, KFI_ORDER_WAW) }, false },

	/* domain */
	{ "threading: safe unless asked", {}, {}, true, { DOM(threading, KFI_THREAD_SAFE) } },
	{ "threading: asked", {}, { DOM(threading, KFI_THREAD_DOMAIN) }, true,
	  { DOM(threading, KFI_THREAD_DOMAIN) } },
	{ "threading: deprecated", {}, { DOM(threading, KFI_THREAD_FID) }, true,
	  { DOM(threading, KFI_THREAD_SAFE) } },
	{ "threading: unknown", {}, { DOM(threading, KFI_THREAD_ENDPOINT + 1) }, false },
	{ "progress: always automatic", {},
	  { DOM(data_progress, KFI_PROGRESS_MANUAL), DOM(control_progress, KFI_PROGRESS_MANUAL) }, true,
	  { DOM(data_progress, KFI_PROGRESS_AUTO), DOM(control_progress, KFI_PROGRESS_AUTO) } },
	{ "progress: unknown", {}, { DOM(data_progress, 9) }, false },
	{ "progress: control, unknown", {}, { DOM(control_progress, 9) }, false },
	{ "resources: managed", {}, {}, true, { DOM(resource_mgmt, KFI_RM_ENABLED) } },
	{ "resources: not needed", {}, { DOM(resource_mgmt, KFI_RM_DISABLED) }, true,
	  { DOM(resource_mgmt, KFI_RM_DISABLED) } },
	{ "resources: unknown", {}, { DOM(resource_mgmt, KFI_RM_ENABLED + 1) }, false },
	{ "av: a table", {}, {}, true, { DOM(av_type, KFI_AV_TABLE) } },
	{ "av: a table, asked", {}, { DOM(av_type, KFI_AV_TABLE) }, true },
	{ "av: a map", {}, { DOM(av_type, KFI_AV_MAP) }, false },
	{ "mr: basic", {}, { DOM(mr_mode, KFI_MR_BASIC) }, false },
	{ "mr: scalable", {}, { DOM(mr_mode, KFI_MR_SCALABLE) }, false },
	{ "mr: application's keys", {}, { DOM(mr_mode, KFI_MR_ENDPOINT) }, true, { DOM(mr_mode, 0) } },
	{ "mr: provider's keys if asked", {}, { DOM(mr_mode, KFI_MR_PROV_KEY) }, true,
	  { DOM(mr_mode, KFI_MR_PROV_KEY), DOM(mr_key_size, 8) } },
	{ "mr: a duty accepted", { DOM(mr_mode, KFI_MR_PROV_KEY) },
	  { DOM(mr_mode, KFI_MR_PROV_KEY | KFI_MR_ALLOCATED) }, true, { DOM(mr_mode, KFI_MR_PROV_KEY) } },
	{ "mr: a duty not accepted", { DOM(mr_mode, KFI_MR_ENDPOINT) }, { DOM(mr_mode, KFI_MR_PROV_KEY) }, false },
	{ "mr: no duty without memory access", { DOM(mr_mode, KFI_MR_PROV_KEY) }, { IN(caps, KFI_MSG) }, true },
	{ "mr key: own keys that fit", {}, { DOM(mr_key_size, 4) }, true, { DOM(mr_key_size, 4) } },
	{ "mr key: own keys too long", { DOM(mr_key_size, 4) }, { DOM(mr_key_size, 8) }, false },
	{ "mr key: random ones cut to measure", {}, { DOM(mr_mode, KFI_MR_PROV_KEY), DOM(mr_key_size, 4) },
	  true, { DOM(mr_key_size, 4) } },
	{ "mr key: random ones, more room than needed", { DOM(mr_key_size, 4) },
	  { DOM(mr_mode, KFI_MR_PROV_KEY), DOM(mr_key_size, 8) }, true, { DOM(mr_key_size, 4) } },
	{ "mr key: too short to be random", {}, { DOM(mr_mode, KFI_MR_PROV_KEY), DOM(mr_key_size, 2) }, false },
	{ "mr key: the device's, too long to carry", { DOM(mr_mode, KFI_MR_PROV_KEY) },
	  { DOM(mr_mode, KFI_MR_PROV_KEY), DOM(mr_key_size, 4) }, false },
	{ "cq data: all given", {}, { DOM(cq_data_size, 4) }, true, { DOM(cq_data_size, 8) } },
	{ "cq count: at the limit", {}, { DOM(cq_cnt, 100) }, true, { DOM(cq_cnt, 100) } },
	{ "cq count: above", {}, { DOM(cq_cnt, 101) }, false },
	{ "ep count: without a limit", {}, { DOM(ep_cnt, 100000) }, true, { DOM(ep_cnt, 100000) } },
	{ "context counts: the offer's", {}, {}, true, { DOM(tx_ctx_cnt, 50), DOM(rx_ctx_cnt, 50) } },
	{ "context counts: above", {}, { DOM(rx_ctx_cnt, 51) }, false },
	{ "contexts of an endpoint: above", {}, { DOM(max_ep_tx_ctx, 17) }, false },
	{ "error data: there is none", {}, { DOM(max_err_data, 1) }, false },
	{ "domain caps: there", {}, { DOM(caps, KFI_REMOTE_COMM) }, true },
	{ "domain caps: not there", {}, { DOM(caps, KFI_SHARED_AV) }, false },
	{ "domain caps: one peer, not there", {}, { DOM(caps, KFI_ONE_PEER) }, false },
	{ "domain caps: one peer", { DOM(caps, KFI_REMOTE_COMM | KFI_ONE_PEER) },
	  { DOM(caps, KFI_ONE_PEER) }, true, { DOM(caps, KFI_REMOTE_COMM | KFI_ONE_PEER) } },
	{ "domain auth key: bytes without a key", {}, { DOM(auth_key_size, 4) }, false },

	/* fabric */
	{ "api version: ours", {}, { FAB(api_version, OURS) }, true },
	{ "api version: newer", {}, { FAB(api_version, OURS + 1) }, false },
};

static void row_name(const struct attr_case *row, char *name)
{
	strscpy(name, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(attr, attr_rows, row_name);

static void test_row(struct kunit *test)
{
	const struct attr_case *row = test->param_value;
	struct kfi_info *info = make_offer(test), *hints = kfi_allocinfo();

	KUNIT_ASSERT_NOT_NULL(test, hints);
	apply(info, row->offer, ARRAY_SIZE(row->offer));
	apply(hints, row->ask, ARRAY_SIZE(row->ask));
	KUNIT_EXPECT_EQ(test, kfi_attr_match(info, hints), row->match);
	if (row->match) {
		KUNIT_EXPECT_EQ(test, kfi_attr_answer(info, hints), 0);
		expect(test, info, row->want, ARRAY_SIZE(row->want));
		/* An info that was returned matches as hints. */
		KUNIT_EXPECT_TRUE(test,
				  !hints->caps || !(kfi_caps_expand(hints->caps) & ~info->caps));
	}
	kfi_freeinfo(hints);
	kfi_freeinfo(info);
}

/* ---- names, keys, absent hints ---- */

static void test_auth_key(struct kunit *test)
{
	struct kfi_info *info = make_offer(test), *hints = kfi_allocinfo();
	u8 key[] = { 1, 2, 3, 4 };

	KUNIT_ASSERT_NOT_NULL(test, hints);
	hints->ep_attr->auth_key = key;
	hints->ep_attr->auth_key_size = sizeof(key);
	hints->domain_attr->auth_key = key;
	hints->domain_attr->auth_key_size = KFI_AUTH_KEY_MAX + 1;
	KUNIT_EXPECT_FALSE(test, kfi_attr_match(info, hints));
	hints->domain_attr->auth_key_size = 3;
	KUNIT_EXPECT_TRUE(test, kfi_attr_match(info, hints));
	info->domain_attr->max_ep_auth_key = 0;		/* not used by an info of this kind */
	KUNIT_EXPECT_FALSE(test, kfi_attr_match(info, hints));
	info->domain_attr->max_ep_auth_key = 1;
	KUNIT_ASSERT_EQ(test, kfi_attr_answer(info, hints), 0);
	KUNIT_EXPECT_EQ(test, info->ep_attr->auth_key_size, sizeof(key));
	KUNIT_EXPECT_EQ(test, info->domain_attr->auth_key_size, (size_t)3);
	KUNIT_EXPECT_PTR_NE(test, info->ep_attr->auth_key, &key[0]);
	KUNIT_EXPECT_EQ(test, memcmp(info->ep_attr->auth_key, key, sizeof(key)), 0);
	KUNIT_EXPECT_EQ(test, memcmp(info->domain_attr->auth_key, key, 3), 0);
	hints->ep_attr->auth_key = NULL;
	hints->domain_attr->auth_key = NULL;
	kfi_freeinfo(hints);
	kfi_freeinfo(info);
}

KFI_SUITE(kfi_attr,
	KUNIT_CASE_PARAM(test_row, attr_gen_params),
	KUNIT_CASE(test_auth_key));
