/* SPDX-License-Identifier: GPL-2.0 */
/*
 * netlink.h - shared by the files of the netlink family
 */
#ifndef _KFI_NETLINK_H
#define _KFI_NETLINK_H

#include <net/genetlink.h>
#include <net/sock.h>
#include <linux/kfi.h>

#include "netlink_gen.h"
#include "registry.h"

extern struct genl_family kfi_family;

/**
 * struct kfi_nl_cursor - progress of a dump; stored in netlink_callback.ctx
 * @fabric: id of the fabric of the last object that was shown completely. Lists are ordered by id,
 *	so the dump continues with the first object that has greater ids. For providers, parts of
 *	their devices and entries of the map of fabric ids this is the id of the provider or entry
 * @domain: id of the object's domain, 0 if it has none; of a part the number of its device
 * @ep: id of the object if it is an endpoint, number of a part, else 0
 * @peers: number of the last peer shown of the endpoint @peers_ep
 * @peers_ep: id of an endpoint whose peers were shown in part, else 0. The endpoint may close
 *	before the next buffer; @peers does not apply to another endpoint
 * @infos: KFI_CMD_GET_INFO: the complete answer
 * @next: KFI_CMD_GET_INFO: the next entry of @infos to be shown
 */
struct kfi_nl_cursor {
	u32			fabric, domain, ep;
	u32			peers, peers_ep;
	struct kfi_info		*infos;
	struct kfi_info		*next;
};

/**
 * struct kfi_nl_dump - one call of a dumpit function
 * @skb: buffer to fill
 * @cb: callback state of the dump
 * @cur: cursor in @cb
 * @cmd: command of the request and the answers
 * @only_ep: id of the requested endpoint, 0 for all
 * @prov: KFI_CMD_GET_DEVICE: the provider whose devices are shown
 * @msg: message under construction
 */
struct kfi_nl_dump {
	struct sk_buff		*skb;
	struct netlink_callback	*cb;
	struct kfi_nl_cursor	*cur;
	u8			cmd;
	u32			only_ep;
	const struct kfi_provider *prov;
	void			*msg;
};

static inline struct kfi_nl_cursor *kfi_nl_cursor(struct netlink_callback *cb)
{
	BUILD_BUG_ON(sizeof(struct kfi_nl_cursor) > sizeof(cb->ctx));
	return (struct kfi_nl_cursor *)cb->ctx;
}

/* netlink.c */
void kfi_nl_dump_init(struct kfi_nl_dump *d, struct sk_buff *skb, struct netlink_callback *cb);
int kfi_nl_begin(struct kfi_nl_dump *d);
int kfi_nl_end(struct kfi_nl_dump *d, int ret);
int kfi_nl_dump_result(struct kfi_nl_dump *d, int ret);
bool kfi_nl_seen(const struct kfi_nl_cursor *cur, u32 fabric, u32 domain, u32 ep);
void kfi_nl_done(struct kfi_nl_cursor *cur, u32 fabric, u32 domain, u32 ep);
int kfi_nl_show(struct kfi_nl_dump *d, u32 fabric, u32 domain, u32 ep,
		int (*put)(struct sk_buff *skb, void *object), void *object);
int kfi_nl_put_fabric(struct sk_buff *skb, void *object);
int kfi_nl_put_ctx(struct sk_buff *skb, int attr, const struct kfi_tx_attr *tx,
		   const struct kfi_rx_attr *rx);

/* netlink_ep.c */
int kfi_nl_show_eps(struct kfi_fabric *fabric, void *arg);

#endif /* _KFI_NETLINK_H */
