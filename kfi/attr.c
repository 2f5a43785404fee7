// SPDX-License-Identifier: GPL-2.0
/*
 * attr.c - comparison of a provider's offer with a consumer's hints: pure functions over memory,
 * following fi_getinfo(3).
 *
 * kfi_attr_match() decides whether an offer meets the hints. kfi_attr_answer() then turns a copy of
 * the offer, which states limits, into an answer, which states values:
 *
 * - Attributes that cost memory or work (queue sizes, vector lengths, inject size, capabilities,
 *   ordering) are granted as requested. If the hints have no value, the answer has the value of the
 *   offer, but at most the default of the tables below.
 * - Attributes that cost nothing (longest message, size of CQ data, ...) have the value of the
 *   offer, which is at least what was requested.
 *
 * Conventions for offers, in addition to those of kfi_query_add():
 *
 * - tx_attr.caps or rx_attr.caps 0: all capabilities of the info that concern that direction.
 * - tx_attr.tclass: the supported kinds of traffic classes, KFI_TC_DSCP, KFI_TC_LABEL or both. If
 *   there are none, a request for a class other than best effort is refused.
 * - domain_attr counts of objects (cq_cnt, ...) 0: no limit of the provider; query.c sets those of
 *   the core.
 * - domain_attr.max_ep_auth_key 0: no authorization keys. A request for a key is refused.
 * - domain_attr.mr_mode has KFI_MR_PROV_KEY only if the provider can't accept keys that the
 *   consumer chooses. A provider that supports both chooses the keys if the hints request that.
 */
#include <linux/bitops.h>
#include <linux/slab.h>

#include "attr.h"
#include "auth.h"

/* Directions that a capability without a direction implies, fi_getinfo(3) */
#define MESSAGE_CAPS	(KFI_MSG | KFI_TAGGED | KFI_MULTICAST)
#define MEMORY_CAPS	(KFI_RMA | KFI_ATOMIC)
#define MESSAGE_DIRS	(KFI_SEND | KFI_RECV)
#define MEMORY_DIRS	(KFI_READ | KFI_WRITE | KFI_REMOTE_READ | KFI_REMOTE_WRITE)

/* Granted without a request: they cost nothing if they are not used */
#define FREE_CAPS							\
	(KFI_MULTI_RECV | KFI_LOCAL_COMM | KFI_REMOTE_COMM |		\
	 KFI_SHARED_AV | KFI_RMA_PMEM | KFI_PLACE | KFI_PROTECTED)

#define TX_ONLY_CAPS							\
	(KFI_SEND | KFI_READ | KFI_WRITE |				\
	 KFI_NAMED_RX_CTX | KFI_RMA_PMEM | KFI_PLACE)
#define RX_ONLY_CAPS							\
	(KFI_RECV | KFI_REMOTE_READ | KFI_REMOTE_WRITE |		\
	 KFI_MULTI_RECV | KFI_SOURCE | KFI_SOURCE_ERR | KFI_RMA_EVENT |	\
	 KFI_DIRECTED_RECV | KFI_TAGGED_DIRECTED_RECV)

/* Operation flags that every offer supports */
#define TX_OP_FLAGS	(KFI_COMPLETION | KFI_INJECT)
#define RX_OP_FLAGS	KFI_COMPLETION

/* Old modes of memory registration, which mr_mode bits have replaced */
#define MR_REFUSED	(KFI_MR_BASIC | KFI_MR_SCALABLE)
/* Minimum size, in bytes, of a key that a provider chooses at random */
#define MIN_RANDOM_KEY	4

/* ---- limits: members of type size_t, where a larger value means that more is possible ---- */

enum limit_kind {
	GRANT_REQUESTED,	/* the answer has the requested value, or the default */
	GRANT_ALL,		/* the answer has the value of the offer */
};

struct limit {
	size_t		offset;
	enum limit_kind	kind;
	bool		open;	/* 0 in an offer means no limit */
	size_t		def;	/* maximum if nothing is requested; 0: the value of the offer */
};

#define REQUESTED(type, field, def) \
	{ offsetof(struct type, field), GRANT_REQUESTED, false, def }
#define ALL(type, field)	{ offsetof(struct type, field), GRANT_ALL, false, 0 }
#define COUNT(type, field)	{ offsetof(struct type, field), GRANT_REQUESTED, true, 0 }

static const struct limit tx_limits[] = {
	REQUESTED(kfi_tx_attr, inject_size, KFI_DEF_INJECT),
	REQUESTED(kfi_tx_attr, size, KFI_DEF_QUEUE),
	REQUESTED(kfi_tx_attr, iov_limit, KFI_DEF_IOV),
	REQUESTED(kfi_tx_attr, rma_iov_limit, KFI_DEF_IOV),
};

static const struct limit rx_limits[] = {
	REQUESTED(kfi_rx_attr, size, KFI_DEF_QUEUE),
	REQUESTED(kfi_rx_attr, iov_limit, KFI_DEF_IOV),
};

static const struct limit ep_limits[] = {
	ALL(kfi_ep_attr, max_msg_size),
	ALL(kfi_ep_attr, max_order_raw_size),
	ALL(kfi_ep_attr, max_order_war_size),
	ALL(kfi_ep_attr, max_order_waw_size),
};

static const struct limit domain_limits[] = {
	ALL(kfi_domain_attr, cq_data_size),
	ALL(kfi_domain_attr, max_err_data),
	ALL(kfi_domain_attr, max_ep_tx_ctx),
	ALL(kfi_domain_attr, max_ep_rx_ctx),
	ALL(kfi_domain_attr, max_ep_stx_ctx),
	ALL(kfi_domain_attr, max_ep_srx_ctx),
	ALL(kfi_domain_attr, max_ep_auth_key),
	REQUESTED(kfi_domain_attr, mr_iov_limit, 0),
	COUNT(kfi_domain_attr, cq_cnt),
	COUNT(kfi_domain_attr, ep_cnt),
	COUNT(kfi_domain_attr, tx_ctx_cnt),
	COUNT(kfi_domain_attr, rx_ctx_cnt),
	COUNT(kfi_domain_attr, cntr_cnt),
	COUNT(kfi_domain_attr, mr_cnt),
};

static size_t *limit_of(const struct limit *l, const void *attr)
{
	return (size_t *)((char *)attr + l->offset);
}

static bool limits_match(const struct limit *l, size_t n, const void *offer, const void *hint)
{
	for (; n--; l++) {
		size_t max = *limit_of(l, offer);

		if (*limit_of(l, hint) > max && !(l->open && !max))
			return false;
	}
	return true;
}

static void limits_answer(const struct limit *l, size_t n, void *attr, const void *hint)
{
	for (; n--; l++) {
		size_t requested = hint ? *limit_of(l, hint) : 0;
		size_t *value = limit_of(l, attr);

		if (l->kind != GRANT_REQUESTED)
			continue;
		if (requested)
			*value = requested;
		else if (l->def)
			*value = min(*value, l->def);
	}
}

#define LIMITS_MATCH(table, offer, hint) \
	limits_match(table, ARRAY_SIZE(table), offer, hint)
#define LIMITS_ANSWER(table, attr, hint) \
	limits_answer(table, ARRAY_SIZE(table), attr, hint)

/* ---- capabilities and modes ---- */

/**
 * kfi_caps_expand() - add the directions that capabilities imply
 * @caps: capabilities as requested
 *
 * Return: @caps, with all directions of each interface that is requested without a direction.
 */
u64 kfi_caps_expand(u64 caps)
{
	if ((caps & MESSAGE_CAPS) && !(caps & MESSAGE_DIRS))
		caps |= MESSAGE_DIRS;
	if ((caps & MEMORY_CAPS) && !(caps & MEMORY_DIRS))
		caps |= MEMORY_DIRS;
	return caps;
}

/* Capabilities of the answer: those that were requested, and those that cost nothing. */
static u64 caps_grant(u64 offer, u64 requested)
{
	return requested ? kfi_caps_expand(requested) | (offer & FREE_CAPS) : offer;
}

static u64 side_caps(u64 side, u64 all, u64 others_only)
{
	return (side ? side & all : all) & ~others_only;
}

/*
 * Does the offer have the capabilities @side that the hints request for one direction? They also
 * have to be among those that the hints request as a whole, if the hints name any.
 */
static bool side_caps_match(u64 offer, u64 side, u64 info_hint)
{
	u64 whole = info_hint ? kfi_caps_expand(info_hint) | FREE_CAPS : ~0ULL;

	return !(side & ~offer) && !(side & ~whole);
}

static bool mode_match(u64 required, u64 hint)
{
	return !(required & ~hint);
}

/* ---- addresses ---- */

static bool is_sockaddr(u32 format)
{
	return format >= KFI_SOCKADDR && format <= KFI_SOCKADDR_IB;
}

static bool addr_format_match(u32 offer, u32 hint)
{
	if (hint == KFI_FORMAT_UNSPEC || offer == hint)
		return true;
	/* KFI_SOCKADDR means any address family, in the offer and in the hints; so does a text. */
	return (offer == KFI_SOCKADDR && is_sockaddr(hint)) ||
	       ((hint == KFI_SOCKADDR || hint == KFI_ADDR_STR) && is_sockaddr(offer));
}

/* ---- transmit and receive ---- */

static bool tclass_match(u32 offer, u32 hint)
{
	if (hint == KFI_TC_UNSPEC || hint == KFI_TC_BEST_EFFORT)
		return true;
	if (hint & KFI_TC_DSCP)
		return (offer & KFI_TC_DSCP) && (hint & ~KFI_TC_DSCP) < 64;
	return (offer & KFI_TC_LABEL) && hint > KFI_TC_LABEL && hint <= KFI_TC_NETWORK_CTRL;
}

static bool tx_match(const struct kfi_info *offer, const struct kfi_info *hints)
{
	const struct kfi_tx_attr *o = offer->tx_attr, *h = hints->tx_attr;
	u64 caps = side_caps(o->caps, offer->caps, RX_ONLY_CAPS);

	if (!h)
		return mode_match(o->mode, hints->mode);
	return side_caps_match(caps, h->caps, hints->caps) &&
	       mode_match(o->mode, h->mode ?: hints->mode) &&
	       !(h->op_flags & ~(o->op_flags | TX_OP_FLAGS)) &&
	       !(h->msg_order & ~o->msg_order) &&
	       tclass_match(o->tclass, h->tclass) &&
	       LIMITS_MATCH(tx_limits, o, h);
}

static bool rx_match(const struct kfi_info *offer, const struct kfi_info *hints)
{
	const struct kfi_rx_attr *o = offer->rx_attr, *h = hints->rx_attr;
	u64 caps = side_caps(o->caps, offer->caps, TX_ONLY_CAPS);
	u64 flags = o->op_flags | RX_OP_FLAGS | (offer->caps & KFI_MULTI_RECV);

	if (!h)
		return mode_match(o->mode, hints->mode);
	return side_caps_match(caps, h->caps, hints->caps) &&
	       mode_match(o->mode, h->mode ?: hints->mode) &&
	       !(h->op_flags & ~flags) &&
	       !(h->msg_order & ~o->msg_order) &&
	       LIMITS_MATCH(rx_limits, o, h);
}

/* ---- endpoint ---- */

static bool tag_format_match(u64 offer, u64 hint)
{
	/*
	 * The named formats fit any tag. Otherwise the offer needs at least as many tag bits as the
	 * hints.
	 */
	if (hint <= KFI_TAG_CCL || offer <= KFI_TAG_CCL)
		return true;
	return fls64(hint) <= fls64(offer);
}

static bool ctx_cnt_match(size_t requested, size_t max, size_t shared)
{
	return requested == KFI_SHARED_CONTEXT ? shared > 0 : requested <= max_t(size_t, max, 1);
}

static bool auth_key_match(const struct kfi_domain_attr *offer, const u8 *key, size_t size)
{
	return kfi_auth_key_ok(key, size) && (!size || offer->max_ep_auth_key);
}

static bool ep_match(const struct kfi_info *offer, const struct kfi_info *hints)
{
	const struct kfi_ep_attr *o = offer->ep_attr, *h = hints->ep_attr;
	const struct kfi_domain_attr *dom = offer->domain_attr;

	if (!h)
		return true;
	return (!h->type || h->type == o->type) &&
	       (!h->protocol || h->protocol == o->protocol) &&
	       h->protocol_version <= o->protocol_version &&
	       (!h->msg_prefix_size || h->msg_prefix_size >= o->msg_prefix_size) &&
	       tag_format_match(o->mem_tag_format, h->mem_tag_format) &&
	       ctx_cnt_match(h->tx_ctx_cnt, dom->max_ep_tx_ctx, dom->max_ep_stx_ctx) &&
	       ctx_cnt_match(h->rx_ctx_cnt, dom->max_ep_rx_ctx, dom->max_ep_srx_ctx) &&
	       auth_key_match(dom, h->auth_key, h->auth_key_size) &&
	       LIMITS_MATCH(ep_limits, o, h);
}

/* ---- domain ---- */

/*
 * Required modes of memory registration. They apply only to a consumer whose memory is accessed by
 * RMA or atomic operations.
 */
static int mr_mode_required(const struct kfi_info *offer, const struct kfi_info *hints)
{
	u64 caps = hints->caps ?: offer->caps;

	return caps & MEMORY_CAPS ? offer->domain_attr->mr_mode : 0;
}

static bool mr_key_match(const struct kfi_domain_attr *o, const struct kfi_domain_attr *h)
{
	bool random = h->mr_mode & KFI_MR_PROV_KEY;

	if (!h->mr_key_size)
		return true;
	/*
	 * If the provider chooses keys, mr_key_size of the hints is the largest key that the
	 * consumer can carry. If the consumer chooses keys, it is the size of the keys.
	 */
	if (o->mr_mode & KFI_MR_PROV_KEY)
		return h->mr_key_size >= o->mr_key_size;
	return random ? h->mr_key_size >= MIN_RANDOM_KEY :
			h->mr_key_size <= o->mr_key_size;
}

static bool domain_match(const struct kfi_info *offer, const struct kfi_info *hints)
{
	const struct kfi_domain_attr *o = offer->domain_attr, *h = hints->domain_attr;

	if (!h)
		return mode_match(o->mode, hints->mode);
	return (!h->name || (o->name && !strcmp(h->name, o->name))) &&
	       h->threading <= KFI_THREAD_ENDPOINT &&
	       h->control_progress <= KFI_PROGRESS_CONTROL_UNIFIED &&
	       h->data_progress <= KFI_PROGRESS_CONTROL_UNIFIED &&
	       h->resource_mgmt <= KFI_RM_ENABLED &&
	       (h->av_type == KFI_AV_UNSPEC || h->av_type == KFI_AV_TABLE) &&
	       !(h->caps & ~o->caps) &&
	       mode_match(o->mode, h->mode ?: hints->mode) &&
	       tclass_match(offer->tx_attr->tclass, h->tclass) &&
	       auth_key_match(o, h->auth_key, h->auth_key_size) &&
	       !(h->mr_mode & MR_REFUSED) &&
	       !(mr_mode_required(offer, hints) & ~h->mr_mode) &&
	       mr_key_match(o, h) &&
	       LIMITS_MATCH(domain_limits, o, h);
}

/* ---- fabric ---- */

/* query.c compares the name and the version of the provider, which are not part of an offer. */
static bool fabric_match(const struct kfi_info *offer, const struct kfi_info *hints)
{
	const struct kfi_fabric_attr *o = offer->fabric_attr, *h = hints->fabric_attr;

	if (!h)
		return true;
	return (!h->name || (o->name && !strcmp(h->name, o->name))) &&
	       h->api_version <= KFI_VERSION(KFI_MAJOR_VERSION, KFI_MINOR_VERSION);
}

/**
 * kfi_attr_match() - decide whether an offer meets the hints
 * @offer: offer with all attribute structures
 * @hints: what is requested, or NULL. A missing structure requests nothing
 *
 * Return: true if the offer meets all members of the hints.
 */
bool kfi_attr_match(const struct kfi_info *offer, const struct kfi_info *hints)
{
	if (!hints)
		return true;
	return !(kfi_caps_expand(hints->caps) & ~offer->caps) &&
	       mode_match(offer->mode, hints->mode) &&
	       addr_format_match(offer->addr_format, hints->addr_format) &&
	       fabric_match(offer, hints) && domain_match(offer, hints) &&
	       ep_match(offer, hints) && tx_match(offer, hints) &&
	       rx_match(offer, hints);
}

/* ---- the answer ---- */

static void answer_tx(struct kfi_info *info, const struct kfi_info *hints)
{
	const struct kfi_tx_attr *h = hints ? hints->tx_attr : NULL;
	struct kfi_tx_attr *attr = info->tx_attr;
	u64 caps = side_caps(attr->caps, info->caps, RX_ONLY_CAPS);

	attr->caps = h && h->caps ? h->caps | (caps & FREE_CAPS) : caps;
	attr->op_flags = h ? h->op_flags : 0;
	if (h && h->msg_order)
		attr->msg_order = h->msg_order;
	attr->tclass = h ? h->tclass : KFI_TC_UNSPEC;
	if (!attr->tclass && hints && hints->domain_attr)
		attr->tclass = hints->domain_attr->tclass;
	LIMITS_ANSWER(tx_limits, attr, h);
}

static void answer_rx(struct kfi_info *info, const struct kfi_info *hints)
{
	const struct kfi_rx_attr *h = hints ? hints->rx_attr : NULL;
	struct kfi_rx_attr *attr = info->rx_attr;
	u64 caps = side_caps(attr->caps, info->caps, TX_ONLY_CAPS);

	attr->caps = h && h->caps ? h->caps | (caps & FREE_CAPS) : caps;
	attr->op_flags = h ? h->op_flags : 0;
	if (h && h->msg_order)
		attr->msg_order = h->msg_order;
	LIMITS_ANSWER(rx_limits, attr, h);
}

/* Replace a key by the key of the hints, if the hints have one. */
static int answer_auth_key(u8 **key, size_t *size, const u8 *from, size_t from_size)
{
	u8 *copy;

	if (!from_size)
		return 0;
	copy = kmemdup(from, from_size, GFP_KERNEL_ACCOUNT);
	if (!copy)
		return -ENOMEM;
	kfree_sensitive(*key);
	*key = copy;
	*size = from_size;
	return 0;
}

/*
 * A consumer that requests KFI_NAMED_RX_CTX without a number of contexts may open as many as the
 * provider has.
 */
static size_t answer_ctx_cnt(const struct kfi_info *hints, size_t requested, size_t max)
{
	if (requested)
		return requested;
	return hints && hints->caps & KFI_NAMED_RX_CTX ? max_t(size_t, max, 1) : 1;
}

static int answer_ep(struct kfi_info *info, const struct kfi_info *hints)
{
	const struct kfi_domain_attr *dom = info->domain_attr;
	const struct kfi_ep_attr *h = hints ? hints->ep_attr : NULL;
	struct kfi_ep_attr *attr = info->ep_attr;

	attr->tx_ctx_cnt = answer_ctx_cnt(hints, h ? h->tx_ctx_cnt : 0, dom->max_ep_tx_ctx);
	attr->rx_ctx_cnt = answer_ctx_cnt(hints, h ? h->rx_ctx_cnt : 0, dom->max_ep_rx_ctx);
	LIMITS_ANSWER(ep_limits, attr, h);
	if (!h)
		return 0;
	if (h->mem_tag_format)
		attr->mem_tag_format = h->mem_tag_format;
	return answer_auth_key(&attr->auth_key, &attr->auth_key_size,
			       h->auth_key, h->auth_key_size);
}

/*
 * A consumer whose memory is not accessed needs no mode of registration, so its answer has only
 * those modes of the offer that the hints have, too.
 */
static void answer_mr(struct kfi_domain_attr *attr, const struct kfi_domain_attr *h, u64 caps)
{
	if (!(caps & MEMORY_CAPS))
		attr->mr_mode &= h ? h->mr_mode : 0;
	if (!h || (attr->mr_mode & KFI_MR_PROV_KEY))
		return;		/* the provider chooses the keys */
	attr->mr_mode |= h->mr_mode & KFI_MR_PROV_KEY;
	if (h->mr_key_size)
		attr->mr_key_size = min(attr->mr_key_size, h->mr_key_size);
}

/*
 * The deprecated threading models demand less from the provider than KFI_THREAD_SAFE, which every
 * endpoint has.
 */
static enum kfi_threading answer_threading(enum kfi_threading requested)
{
	return requested == KFI_THREAD_DOMAIN || requested == KFI_THREAD_COMPLETION ?
		requested : KFI_THREAD_SAFE;
}

static int answer_domain(struct kfi_info *info, const struct kfi_info *hints)
{
	const struct kfi_domain_attr *h = hints ? hints->domain_attr : NULL;
	struct kfi_domain_attr *attr = info->domain_attr;

	attr->threading = answer_threading(h ? h->threading : KFI_THREAD_SAFE);
	attr->control_progress = KFI_PROGRESS_AUTO;
	attr->data_progress = KFI_PROGRESS_AUTO;
	attr->resource_mgmt = h && h->resource_mgmt ? h->resource_mgmt : KFI_RM_ENABLED;
	attr->av_type = KFI_AV_TABLE;
	attr->tclass = h ? h->tclass : KFI_TC_UNSPEC;
	answer_mr(attr, h, info->caps);
	LIMITS_ANSWER(domain_limits, attr, h);
	if (!h)
		return 0;
	return answer_auth_key(&attr->auth_key, &attr->auth_key_size,
			       h->auth_key, h->auth_key_size);
}

/**
 * kfi_attr_answer() - turn an offer into an answer
 * @info: copy of an offer that kfi_attr_match() has accepted
 * @hints: what is requested, or NULL
 *
 * Context: Process context, may sleep.
 * Return: 0, or -ENOMEM. After an error @info can only be freed.
 */
int kfi_attr_answer(struct kfi_info *info, const struct kfi_info *hints)
{
	int ret;

	if (hints) {
		info->caps = caps_grant(info->caps, hints->caps);
		if (info->addr_format == KFI_SOCKADDR && is_sockaddr(hints->addr_format))
			info->addr_format = hints->addr_format;
	}
	answer_tx(info, hints);
	answer_rx(info, hints);
	ret = answer_ep(info, hints);
	return ret ?: answer_domain(info, hints);
}
