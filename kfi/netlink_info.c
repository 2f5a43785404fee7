// SPDX-License-Identifier: GPL-2.0
/*
 * netlink_info.c - KFI_CMD_GET_INFO. The start of the dump calls kfi_getinfo_net(); the answer is
 * kept in memory until the dump has shown it.
 */
#include <linux/slab.h>

#include "netlink.h"

/* ---- the query ---- */

/*
 * Make hints that restrict nothing but what the request names. Without domain attributes the hints
 * make no demand on memory registration.
 */
static struct kfi_info *make_hints(struct nlattr **attrs)
{
	struct kfi_info *hints = kfi_allocinfo();

	if (!hints)
		return NULL;
	kfree(hints->domain_attr);
	hints->domain_attr = NULL;
	hints->mode = ~0ULL;
	if (attrs[KFI_A_EP_TYPE])
		hints->ep_attr->type = nla_get_u32(attrs[KFI_A_EP_TYPE]);
	if (attrs[KFI_A_CAPS])
		hints->caps = nla_get_u64(attrs[KFI_A_CAPS]);
	if (!attrs[KFI_A_PROV_NAME])
		return hints;
	hints->fabric_attr->prov_name = nla_strdup(attrs[KFI_A_PROV_NAME], GFP_KERNEL);
	if (hints->fabric_attr->prov_name)
		return hints;
	kfi_freeinfo(hints);
	return NULL;
}

static const char *string_of(const struct nlattr *attr)
{
	return attr ? nla_data(attr) : NULL;
}

static int get_info(struct net *net, struct nlattr **attrs, struct kfi_info **answer)
{
	struct kfi_info *hints = make_hints(attrs);
	int ret;

	if (!hints)
		return -ENOMEM;
	ret = kfi_getinfo_net(net, 0, string_of(attrs[KFI_A_NODE]),
			      string_of(attrs[KFI_A_SERVICE]),
			      attrs[KFI_A_SOURCE] ? KFI_SOURCE : 0, hints, answer);
	kfi_freeinfo(hints);
	return ret;
}

/**
 * kfi_nl_get_info_start() - query the providers
 * @cb: callback state of the dump
 *
 * No module may be loaded here: a module may register a netlink family, and registering would wait
 * for this call. So a provider that the request names must be loaded already. Its module is pinned
 * during the query.
 *
 * Return: 0, -ENODATA, or another error of kfi_getinfo().
 */
int kfi_nl_get_info_start(struct netlink_callback *cb)
{
	struct nlattr **attrs = genl_info_dump(cb)->attrs;
	struct kfi_nl_cursor *cur = kfi_nl_cursor(cb);
	struct kfi_provider *prov = NULL;
	int ret;

	if (attrs[KFI_A_PROV_NAME]) {
		prov = kfi_provider_find(nla_data(attrs[KFI_A_PROV_NAME]));
		if (!prov)
			return -ENODATA;
	}
	ret = get_info(sock_net(cb->skb->sk), attrs, &cur->infos);
	cur->next = cur->infos;
	if (prov)
		kfi_provider_put(prov);
	return ret;
}

/**
 * kfi_nl_get_info_done() - free the answer
 * @cb: callback state of the dump
 *
 * Return: 0.
 */
int kfi_nl_get_info_done(struct netlink_callback *cb)
{
	kfi_freeinfo(kfi_nl_cursor(cb)->infos);
	return 0;
}

/* ---- the answer ---- */

static int put_ep_u64(struct sk_buff *skb, int attr, u64 value)
{
	return nla_put_u64_64bit(skb, attr, value, KFI_EP_A_PAD);
}

static int put_ep_attr(struct sk_buff *skb, const struct kfi_ep_attr *ep)
{
	struct nlattr *nest = nla_nest_start(skb, KFI_A_EP_ATTR);

	if (!nest ||
	    put_ep_u64(skb, KFI_EP_A_PROTOCOL, ep->protocol) ||
	    put_ep_u64(skb, KFI_EP_A_PROTOCOL_VERSION, ep->protocol_version) ||
	    put_ep_u64(skb, KFI_EP_A_MAX_MSG_SIZE, ep->max_msg_size) ||
	    put_ep_u64(skb, KFI_EP_A_MEM_TAG_FORMAT, ep->mem_tag_format))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int put_dom_u64(struct sk_buff *skb, int attr, u64 value)
{
	return nla_put_u64_64bit(skb, attr, value, KFI_DOMAIN_A_PAD);
}

static int put_domain_attr(struct sk_buff *skb, const struct kfi_domain_attr *dom)
{
	struct nlattr *nest = nla_nest_start(skb, KFI_A_DOMAIN_ATTR);

	if (!nest ||
	    put_dom_u64(skb, KFI_DOMAIN_A_MR_MODE, dom->mr_mode) ||
	    put_dom_u64(skb, KFI_DOMAIN_A_MR_KEY_SIZE, dom->mr_key_size) ||
	    put_dom_u64(skb, KFI_DOMAIN_A_MR_IOV_LIMIT, dom->mr_iov_limit) ||
	    put_dom_u64(skb, KFI_DOMAIN_A_CQ_DATA_SIZE, dom->cq_data_size) ||
	    put_dom_u64(skb, KFI_DOMAIN_A_MAX_EP_TX_CTX, dom->max_ep_tx_ctx) ||
	    put_dom_u64(skb, KFI_DOMAIN_A_MAX_EP_RX_CTX, dom->max_ep_rx_ctx) ||
	    put_dom_u64(skb, KFI_DOMAIN_A_MAX_EP_STX_CTX, dom->max_ep_stx_ctx) ||
	    put_dom_u64(skb, KFI_DOMAIN_A_MAX_EP_SRX_CTX, dom->max_ep_srx_ctx))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int put_names(struct sk_buff *skb, const struct kfi_info *info)
{
	return nla_put_string(skb, KFI_A_PROV_NAME, info->fabric_attr->prov_name) ?:
	       nla_put_u32(skb, KFI_A_PROV_VERSION, info->fabric_attr->prov_version) ?:
	       nla_put_string(skb, KFI_A_FABRIC_NAME, info->fabric_attr->name) ?:
	       nla_put_string(skb, KFI_A_DOMAIN_NAME, info->domain_attr->name);
}

/*
 * The provider prints the address. Without the provider, whose module may be gone, there is no
 * address.
 */
static int put_addr(struct sk_buff *skb, int attr, const struct kfi_info *info,
		    const void *addr, size_t len)
{
	struct kfi_provider *prov;
	char text[128] = "";

	if (!addr || !len)
		return 0;
	prov = kfi_provider_find(info->fabric_attr->prov_name);
	if (!prov)
		return 0;
	prov->ops->addr_str(addr, len, text, sizeof(text));
	kfi_provider_put(prov);
	return nla_put_string(skb, attr, text);
}

static int put_info(struct sk_buff *skb, const struct kfi_info *info)
{
	return put_names(skb, info) ?:
	       nla_put_u32(skb, KFI_A_EP_TYPE, info->ep_attr->type) ?:
	       nla_put_u64_64bit(skb, KFI_A_CAPS, info->caps, KFI_A_PAD) ?:
	       nla_put_u64_64bit(skb, KFI_A_MODE, info->mode, KFI_A_PAD) ?:
	       nla_put_u32(skb, KFI_A_ADDR_FORMAT, info->addr_format) ?:
	       put_addr(skb, KFI_A_SRC_ADDR, info, info->src_addr, info->src_addrlen) ?:
	       put_addr(skb, KFI_A_DEST_ADDR, info, info->dest_addr, info->dest_addrlen) ?:
	       kfi_nl_put_ctx(skb, KFI_A_TX_ATTR, info->tx_attr, NULL) ?:
	       kfi_nl_put_ctx(skb, KFI_A_RX_ATTR, NULL, info->rx_attr) ?:
	       put_ep_attr(skb, info->ep_attr) ?:
	       put_domain_attr(skb, info->domain_attr);
}

/**
 * kfi_nl_get_info_dumpit() - show the next entries of the answer
 * @skb: buffer
 * @cb: callback state of the dump
 *
 * Return: bytes in the buffer, 0 at the end, or a negative errno.
 */
int kfi_nl_get_info_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct kfi_nl_dump d;
	int ret = 0;

	kfi_nl_dump_init(&d, skb, cb);
	for (; !ret && d.cur->next; d.cur->next = d.cur->next->next) {
		ret = kfi_nl_begin(&d);
		if (!ret)
			ret = kfi_nl_end(&d, put_info(skb, d.cur->next));
		if (ret)
			break;
	}
	return kfi_nl_dump_result(&d, ret);
}
