// SPDX-License-Identifier: GPL-2.0
/* Conversion between the flat info of the process and the kernel's. */
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include "user.h"

#define NODE_MAX	256
#define SERVICE_MAX	64

/* Copy members that both structures have under the same name, in either direction. */
#define COPY_TX(to, from) do { \
	(to)->caps = (from)->caps; \
	(to)->mode = (from)->mode; \
	(to)->op_flags = (from)->op_flags; \
	(to)->msg_order = (from)->msg_order; \
	(to)->inject_size = (from)->inject_size; \
	(to)->size = (from)->size; \
	(to)->iov_limit = (from)->iov_limit; \
	(to)->rma_iov_limit = (from)->rma_iov_limit; \
	(to)->tclass = (from)->tclass; \
} while (0)

#define COPY_RX(to, from) do { \
	(to)->caps = (from)->caps; \
	(to)->mode = (from)->mode; \
	(to)->op_flags = (from)->op_flags; \
	(to)->msg_order = (from)->msg_order; \
	(to)->size = (from)->size; \
	(to)->iov_limit = (from)->iov_limit; \
} while (0)

#define COPY_EP(to, from) do { \
	(to)->type = (from)->type; \
	(to)->protocol = (from)->protocol; \
	(to)->protocol_version = (from)->protocol_version; \
	(to)->max_msg_size = (from)->max_msg_size; \
	(to)->msg_prefix_size = (from)->msg_prefix_size; \
	(to)->max_order_raw_size = (from)->max_order_raw_size; \
	(to)->max_order_war_size = (from)->max_order_war_size; \
	(to)->max_order_waw_size = (from)->max_order_waw_size; \
	(to)->mem_tag_format = (from)->mem_tag_format; \
	(to)->tx_ctx_cnt = (from)->tx_ctx_cnt; \
	(to)->rx_ctx_cnt = (from)->rx_ctx_cnt; \
} while (0)

#define COPY_DOMAIN(to, from) do { \
	(to)->threading = (from)->threading; \
	(to)->control_progress = (from)->control_progress; \
	(to)->data_progress = (from)->data_progress; \
	(to)->resource_mgmt = (from)->resource_mgmt; \
	(to)->av_type = (from)->av_type; \
	(to)->mr_mode = (from)->mr_mode; \
	(to)->tclass = (from)->tclass; \
	(to)->mr_key_size = (from)->mr_key_size; \
	(to)->cq_data_size = (from)->cq_data_size; \
	(to)->cq_cnt = (from)->cq_cnt; \
	(to)->ep_cnt = (from)->ep_cnt; \
	(to)->tx_ctx_cnt = (from)->tx_ctx_cnt; \
	(to)->rx_ctx_cnt = (from)->rx_ctx_cnt; \
	(to)->max_ep_tx_ctx = (from)->max_ep_tx_ctx; \
	(to)->max_ep_rx_ctx = (from)->max_ep_rx_ctx; \
	(to)->max_ep_stx_ctx = (from)->max_ep_stx_ctx; \
	(to)->max_ep_srx_ctx = (from)->max_ep_srx_ctx; \
	(to)->cntr_cnt = (from)->cntr_cnt; \
	(to)->mr_iov_limit = (from)->mr_iov_limit; \
	(to)->caps = (from)->caps; \
	(to)->mode = (from)->mode; \
	(to)->max_err_data = (from)->max_err_data; \
	(to)->mr_cnt = (from)->mr_cnt; \
} while (0)

/* ---- from the process ---- */

static int take_string(char **to, const char *from)
{
	if (!memchr(from, 0, KFI_USER_NAME_MAX))
		return -EINVAL;
	if (!*from)
		return 0;
	*to = kstrdup(from, GFP_KERNEL_ACCOUNT);
	return *to ? 0 : -ENOMEM;
}

/* Copy an address or a key, which have a length. */
static int take_bytes(void **to, size_t *size, const u8 *from, u32 len, size_t room)
{
	if (len > room)
		return -EINVAL;
	if (!len)
		return 0;
	*to = kmemdup(from, len, GFP_KERNEL_ACCOUNT);
	*size = len;
	return *to ? 0 : -ENOMEM;
}

static int take_key(u8 **to, size_t *size, const u8 *from, u32 len)
{
	void *key = NULL;
	int ret = take_bytes(&key, size, from, len, KFI_USER_DATA_MAX);

	*to = key;
	return ret;
}

static int take_info(struct kfi_info *info, const struct kfi_user_info *from)
{
	struct kfi_domain_attr *domain = info->domain_attr;
	struct kfi_fabric_attr *fabric = info->fabric_attr;
	struct kfi_tx_attr *tx = info->tx_attr;
	struct kfi_rx_attr *rx = info->rx_attr;
	struct kfi_ep_attr *ep = info->ep_attr;

	/* Bits for kernel code only are removed: a process has no kernel pointers. */
	info->caps = from->caps & ~GENMASK_ULL(63, 60);
	info->mode = from->mode;
	info->addr_format = from->addr_format;
	COPY_TX(tx, &from->tx);
	COPY_RX(rx, &from->rx);
	COPY_EP(ep, &from->ep);
	COPY_DOMAIN(domain, &from->domain);
	tx->caps &= ~GENMASK_ULL(63, 60);
	rx->caps &= ~GENMASK_ULL(63, 60);
	fabric->prov_version = from->fabric.prov_version;
	fabric->api_version = from->fabric.api_version;
	return take_bytes(&info->src_addr, &info->src_addrlen,
			  from->src_addr, from->src_addrlen, KFI_USER_ADDR_MAX) ?:
	       take_bytes(&info->dest_addr, &info->dest_addrlen,
			  from->dest_addr, from->dest_addrlen, KFI_USER_ADDR_MAX) ?:
	       take_key(&ep->auth_key, &ep->auth_key_size,
			from->ep.auth_key, from->ep.auth_key_size) ?:
	       take_key(&domain->auth_key, &domain->auth_key_size,
			from->domain.auth_key, from->domain.auth_key_size) ?:
	       take_string(&domain->name, from->domain.name) ?:
	       take_string(&fabric->name, from->fabric.name) ?:
	       take_string(&fabric->prov_name, from->fabric.prov_name);
}

struct kfi_info *ku_info_from_user(u64 from, u32 size)
{
	struct kfi_user_info *user;
	struct kfi_info *info = NULL;
	int ret = -ENOMEM;

	if (size > PAGE_SIZE)
		return ERR_PTR(-E2BIG);
	user = kmalloc(sizeof(*user), GFP_KERNEL_ACCOUNT);
	if (user)
		info = kfi_allocinfo();
	if (info)
		ret = copy_struct_from_user(user, sizeof(*user), u64_to_user_ptr(from), size);
	if (!ret)
		ret = take_info(info, user);
	if (ret) {
		kfi_freeinfo(info);
		info = ERR_PTR(ret);
	}
	kfree_sensitive(user);
	return info;
}

/* ---- to the process ---- */

static void give_string(char *to, const char *from)
{
	if (from)
		strscpy(to, from, KFI_USER_NAME_MAX);
}

static u32 give_bytes(u8 *to, const void *from, size_t len, size_t room)
{
	if (!from || len > room)
		return 0;
	memcpy(to, from, len);
	return len;
}

static void give_info(struct kfi_user_info *to, const struct kfi_info *info)
{
	const struct kfi_domain_attr *domain = info->domain_attr;
	const struct kfi_fabric_attr *fabric = info->fabric_attr;
	const struct kfi_tx_attr *tx = info->tx_attr;
	const struct kfi_rx_attr *rx = info->rx_attr;
	const struct kfi_ep_attr *ep = info->ep_attr;

	memset(to, 0, sizeof(*to));
	to->caps = info->caps & ~GENMASK_ULL(63, 60);
	to->mode = info->mode;
	to->addr_format = info->addr_format;
	to->src_addrlen = give_bytes(to->src_addr, info->src_addr, info->src_addrlen,
				     sizeof(to->src_addr));
	to->dest_addrlen = give_bytes(to->dest_addr, info->dest_addr, info->dest_addrlen,
				      sizeof(to->dest_addr));
	COPY_TX(&to->tx, tx);
	COPY_RX(&to->rx, rx);
	COPY_EP(&to->ep, ep);
	COPY_DOMAIN(&to->domain, domain);
	to->tx.caps &= ~GENMASK_ULL(63, 60);
	to->rx.caps &= ~GENMASK_ULL(63, 60);
	/* Limits of the operations of a process */
	to->tx.iov_limit = min_t(u64, tx->iov_limit, KFI_USER_IOV_MAX);
	to->rx.iov_limit = min_t(u64, rx->iov_limit, KFI_USER_IOV_MAX);
	to->tx.rma_iov_limit = min_t(u64, tx->rma_iov_limit, KFI_USER_IOV_MAX);
	to->domain.mr_iov_limit = KFI_USER_IOV_MAX;
	to->ep.auth_key_size = give_bytes(to->ep.auth_key, ep->auth_key, ep->auth_key_size,
					  sizeof(to->ep.auth_key));
	to->domain.auth_key_size = give_bytes(to->domain.auth_key, domain->auth_key,
					      domain->auth_key_size, sizeof(to->domain.auth_key));
	give_string(to->domain.name, domain->name);
	give_string(to->fabric.name, fabric->name);
	give_string(to->fabric.prov_name, fabric->prov_name);
	to->fabric.prov_version = fabric->prov_version;
	to->fabric.api_version = fabric->api_version;
}

int ku_info_to_user(const struct kfi_info *info, u64 to, u32 size)
{
	struct kfi_user_info *user;
	u32 known = min_t(u32, size, sizeof(*user));
	int ret = 0;

	if (size > PAGE_SIZE)
		return -E2BIG;
	user = kmalloc(sizeof(*user), GFP_KERNEL_ACCOUNT);
	if (!user)
		return -ENOMEM;
	give_info(user, info);
	if (copy_to_user(u64_to_user_ptr(to), user, known) ||
	    clear_user(u64_to_user_ptr(to) + known, size - known))
		ret = -EFAULT;
	kfree_sensitive(user);
	return ret;
}

/* ---- KFI_IOC_GETINFO ---- */

char *ku_string(u64 from, size_t max)
{
	return from ? strndup_user(u64_to_user_ptr(from), max) : NULL;
}

/*
 * Is the info offered to processes? Short names are not, because this module can't check the ports
 * that they denote. An MSG endpoint over verbs is a queue pair without kfabric's protocol: it has
 * no tags, no FI_DELIVERY_COMPLETE, and needs a segment for each page of a process. A process that
 * needs a queue pair should use the user-space driver of the device.
 */
bool ku_info_offered(const struct kfi_info *info)
{
	return info->addr_format != KFI_ADDR_CXI &&
	       info->ep_attr->protocol != KFI_PROTO_RDMA_CM_IB_RC;
}

static int give_infos(struct kfi_user_getinfo *get, const struct kfi_info *list)
{
	u32 room = get->infos ? get->count : 0, n = 0;
	const struct kfi_info *info;
	int ret;

	for (info = list; info; info = info->next) {
		if (!ku_info_offered(info))
			continue;
		if (n < room) {
			ret = ku_info_to_user(info, get->infos + (u64)n * get->info_size,
					      get->info_size);
			if (ret)
				return ret;
		}
		n++;
	}
	get->count = n;
	return n ? 0 : -ENODATA;
}

int ku_ioc_getinfo(struct ku_ctx *ctx, void *arg)
{
	struct kfi_info *hints = NULL, *list = NULL;
	struct kfi_user_getinfo *get = arg;
	char *node, *service = NULL;
	int ret;

	if (get->reserved)
		return -EINVAL;
	node = ku_string(get->node, NODE_MAX);
	if (IS_ERR(node))
		return PTR_ERR(node);
	service = ku_string(get->service, SERVICE_MAX);
	if (IS_ERR(service)) {
		ret = PTR_ERR(service);
		goto free_node;
	}
	if (get->hints) {
		hints = ku_info_from_user(get->hints, get->info_size);
		if (IS_ERR(hints)) {
			ret = PTR_ERR(hints);
			goto free_service;
		}
	}
	ret = kfi_getinfo_net(ctx->net, get->version, node, service, get->flags, hints, &list);
	if (!ret)
		ret = give_infos(get, list);
	kfi_freeinfo(list);
	kfi_freeinfo(hints);
free_service:
	kfree(service);
free_node:
	kfree(node);
	return ret;
}
