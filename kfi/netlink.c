// SPDX-License-Identifier: GPL-2.0
/*
 * netlink.c - the generic netlink family, and the dumps of providers, devices, fabrics and domains.
 * docs/netlink/kfi.yaml specifies the family; commands and policies are made from it
 * (netlink_gen.c).
 *
 * A dump holds the mutexes of the objects that it walks, and fills one message buffer at a time.
 * Between two buffers it holds no lock and no reference, only the ids of the cursor.
 */
#include "netlink.h"

/* docs/netlink/kfi.yaml has these as numbers. */
static_assert(KFI_NAME_MAX == 63 + 1);
static_assert(KFI_EP_RDM == 3);

/* ---- messages and cursors ---- */

/**
 * kfi_nl_dump_init() - begin or continue a dump
 * @d: dump to be initialized
 * @skb: buffer to fill
 * @cb: callback state of the dump
 */
void kfi_nl_dump_init(struct kfi_nl_dump *d, struct sk_buff *skb, struct netlink_callback *cb)
{
	const struct genlmsghdr *request = nlmsg_data(cb->nlh);

	memset(d, 0, sizeof(*d));
	d->skb = skb;
	d->cb = cb;
	d->cur = kfi_nl_cursor(cb);
	d->cmd = request->cmd;
}

/**
 * kfi_nl_begin() - begin a message
 * @d: dump
 *
 * Return: 0, or -EMSGSIZE if the buffer is full.
 */
int kfi_nl_begin(struct kfi_nl_dump *d)
{
	d->msg = genlmsg_put(d->skb, NETLINK_CB(d->cb->skb).portid,
			     d->cb->nlh->nlmsg_seq, &kfi_family, NLM_F_MULTI, d->cmd);
	return d->msg ? 0 : -EMSGSIZE;
}

/**
 * kfi_nl_end() - finish a message, or cancel it
 * @d: dump
 * @ret: 0 if the message is complete, else an errno
 *
 * Return: @ret.
 */
int kfi_nl_end(struct kfi_nl_dump *d, int ret)
{
	if (ret)
		genlmsg_cancel(d->skb, d->msg);
	else
		genlmsg_end(d->skb, d->msg);
	return ret;
}

/**
 * kfi_nl_dump_result() - compute the result of a dumpit function
 * @d: dump
 * @ret: 0 if all objects were shown, -EMSGSIZE if the buffer is full, or another errno
 *
 * Return: bytes in the buffer, 0 at the end, or a negative errno.
 */
int kfi_nl_dump_result(struct kfi_nl_dump *d, int ret)
{
	if (ret && !(ret == -EMSGSIZE && d->skb->len))
		return ret;
	return d->skb->len;
}

/**
 * kfi_nl_seen() - check whether an object was shown already
 * @cur: cursor
 * @fabric: id of the object's fabric, or of another object without a domain
 * @domain: id of the object's domain, or 0
 * @ep: id of the endpoint, or 0
 *
 * Return: true if the object was shown: its ids are not greater than the cursor.
 */
bool kfi_nl_seen(const struct kfi_nl_cursor *cur, u32 fabric, u32 domain, u32 ep)
{
	if (fabric != cur->fabric)
		return fabric < cur->fabric;
	if (domain != cur->domain)
		return domain < cur->domain;
	return ep <= cur->ep;
}

/**
 * kfi_nl_done() - advance the cursor behind an object that was shown
 * @cur: cursor
 * @fabric: as in kfi_nl_seen()
 * @domain: as in kfi_nl_seen()
 * @ep: as in kfi_nl_seen()
 */
void kfi_nl_done(struct kfi_nl_cursor *cur, u32 fabric, u32 domain, u32 ep)
{
	cur->fabric = fabric;
	cur->domain = domain;
	cur->ep = ep;
	cur->peers_ep = 0;
}

/**
 * kfi_nl_show() - add an object to the buffer as a message, unless it was shown already
 * @d: dump
 * @fabric: as in kfi_nl_seen()
 * @domain: as in kfi_nl_seen()
 * @ep: as in kfi_nl_seen()
 * @put: adds the attributes of the object
 * @object: argument of @put
 *
 * Return: 0, -EMSGSIZE, or another error of @put.
 */
int kfi_nl_show(struct kfi_nl_dump *d, u32 fabric, u32 domain, u32 ep,
		int (*put)(struct sk_buff *skb, void *object), void *object)
{
	int ret;

	if (kfi_nl_seen(d->cur, fabric, domain, ep))
		return 0;
	ret = kfi_nl_begin(d);
	if (ret)
		return ret;
	ret = kfi_nl_end(d, put(d->skb, object));
	if (!ret)
		kfi_nl_done(d->cur, fabric, domain, ep);
	return ret;
}

static int put_u64(struct sk_buff *skb, int attr, u64 value)
{
	return nla_put_u64_64bit(skb, attr, value, KFI_CTX_A_PAD);
}

/**
 * kfi_nl_put_ctx() - add a nest of enum kfi_ctx_attr
 * @skb: buffer
 * @attr: KFI_A_TX_ATTR or KFI_A_RX_ATTR
 * @tx: transmit attributes, or NULL
 * @rx: receive attributes, if @tx is NULL
 *
 * Return: 0, -EMSGSIZE.
 */
int kfi_nl_put_ctx(struct sk_buff *skb, int attr, const struct kfi_tx_attr *tx,
		   const struct kfi_rx_attr *rx)
{
	struct nlattr *nest = nla_nest_start(skb, attr);

	if (!nest ||
	    put_u64(skb, KFI_CTX_A_CAPS, tx ? tx->caps : rx->caps) ||
	    put_u64(skb, KFI_CTX_A_OP_FLAGS, tx ? tx->op_flags : rx->op_flags) ||
	    put_u64(skb, KFI_CTX_A_MSG_ORDER, tx ? tx->msg_order : rx->msg_order) ||
	    put_u64(skb, KFI_CTX_A_SIZE, tx ? tx->size : rx->size) ||
	    put_u64(skb, KFI_CTX_A_IOV_LIMIT, tx ? tx->iov_limit : rx->iov_limit))
		return -EMSGSIZE;
	if (tx && (put_u64(skb, KFI_CTX_A_INJECT_SIZE, tx->inject_size) ||
		   put_u64(skb, KFI_CTX_A_RMA_IOV_LIMIT, tx->rma_iov_limit) ||
		   put_u64(skb, KFI_CTX_A_TCLASS, tx->tclass)))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

/* ---- providers ---- */

static int put_provider(struct sk_buff *skb, void *object)
{
	const struct kfi_provider *prov = object;

	return nla_put_string(skb, KFI_A_PROV_NAME, prov->name) ?:
	       nla_put_u32(skb, KFI_A_PROV_VERSION, prov->version);
}

static int show_provider(struct kfi_provider *prov, void *arg)
{
	return kfi_nl_show(arg, prov->id, 0, 0, put_provider, prov);
}

int kfi_nl_get_provider_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct kfi_nl_dump d;

	kfi_nl_dump_init(&d, skb, cb);
	return kfi_nl_dump_result(&d, kfi_walk_providers(show_provider, &d));
}

/* ---- devices ---- */

struct shown_part {
	const char		*prov;
	const struct kfi_part	*part;
};

static int put_part(struct sk_buff *skb, void *object)
{
	const struct shown_part *shown = object;
	const struct kfi_part *part = shown->part;
	struct nlattr *nest;

	if (nla_put_string(skb, KFI_A_PROV_NAME, shown->prov) ||
	    nla_put_string(skb, KFI_A_DOMAIN_NAME, part->domain))
		return -EMSGSIZE;
	nest = nla_nest_start(skb, KFI_A_PART);
	if (!nest || nla_put_string(skb, KFI_PART_A_NAME, part->name) ||
	    nla_put_string(skb, KFI_PART_A_STATE, part->state) ||
	    (part->help && nla_put_string(skb, KFI_PART_A_HELP, part->help)))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int show_part(void *arg, const struct kfi_part *part)
{
	struct kfi_nl_dump *d = arg;
	struct shown_part shown = { .prov = d->prov->name, .part = part };

	return kfi_nl_show(d, d->prov->id, part->device, part->nr, put_part, &shown);
}

static int show_devices(struct kfi_provider *prov, void *arg)
{
	struct kfi_nl_dump *d = arg;

	d->prov = prov;
	return prov->ops->parts ? prov->ops->parts(sock_net(d->cb->skb->sk), show_part, d) : 0;
}

int kfi_nl_get_device_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct kfi_nl_dump d;

	kfi_nl_dump_init(&d, skb, cb);
	return kfi_nl_dump_result(&d, kfi_walk_providers(show_devices, &d));
}

/* ---- fabrics ---- */

/* Add the names and the id of a fabric. */
int kfi_nl_put_fabric(struct sk_buff *skb, void *object)
{
	const struct kfi_fabric *fabric = object;

	return nla_put_string(skb, KFI_A_PROV_NAME, fabric->prov->name) ?:
	       nla_put_u32(skb, KFI_A_FABRIC_ID, fabric->obj.id) ?:
	       nla_put_string(skb, KFI_A_FABRIC_NAME, fabric->name);
}

static int show_fabric(struct kfi_fabric *fabric, void *arg)
{
	return kfi_nl_show(arg, fabric->obj.id, 0, 0, kfi_nl_put_fabric, fabric);
}

/* ---- domains ---- */

static u64 registered(const struct kfi_domain *domain)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += *per_cpu_ptr(domain->registered, cpu);
	return sum;
}

static int put_domain(struct sk_buff *skb, void *object)
{
	const struct kfi_domain *domain = object;

	return kfi_nl_put_fabric(skb, domain->fabric) ?:
	       nla_put_u32(skb, KFI_A_DOMAIN_ID, domain->obj.id) ?:
	       nla_put_string(skb, KFI_A_DOMAIN_NAME, domain->name) ?:
	       nla_put_u64_64bit(skb, KFI_A_REGISTERED, registered(domain), KFI_A_PAD);
}

static int show_domains(struct kfi_fabric *fabric, void *arg)
{
	struct kfi_domain *domain;
	int ret = 0;

	mutex_lock(&fabric->lock);
	list_for_each_entry(domain, &fabric->domains, obj.entry) {
		ret = kfi_nl_show(arg, fabric->obj.id, domain->obj.id, 0, put_domain, domain);
		if (ret)
			break;
	}
	mutex_unlock(&fabric->lock);
	return ret;
}

/* ---- devices that may write to places ---- */

struct shown_writer {
	const struct kfi_domain *domain;
	const struct kfi_place_writer *writer;
};

static int put_writer(struct sk_buff *skb, void *object)
{
	const struct shown_writer *shown = object;
	const struct kfi_domain *domain = shown->domain;
	const struct kfi_place_writer *writer = shown->writer;
	struct nlattr *nest;

	if (nla_put_string(skb, KFI_A_PROV_NAME, domain->fabric->prov->name) ||
	    nla_put_u32(skb, KFI_A_DOMAIN_ID, domain->obj.id) ||
	    nla_put_string(skb, KFI_A_DOMAIN_NAME, domain->name))
		return -EMSGSIZE;
	nest = nla_nest_start(skb, KFI_A_PLACE);
	if (!nest || nla_put_string(skb, KFI_PLACE_A_DEVICE, writer->name) ||
	    nla_put_string(skb, KFI_PLACE_A_VERDICT, READ_ONCE(writer->verdict)) ||
	    nla_put_u32(skb, KFI_PLACE_A_COUNT, atomic_read(&writer->places)) ||
	    nla_put_string(skb, KFI_PLACE_A_FENCE,
			   domain->limits.place_device ? "unproven" : "not needed"))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int show_domain_writers(struct kfi_domain *domain, void *arg)
{
	struct shown_writer shown = { .domain = domain };
	int ret = 0;

	mutex_lock(&domain->lock);
	list_for_each_entry(shown.writer, &domain->writers, entry) {
		ret = kfi_nl_show(arg, domain->fabric->obj.id, domain->obj.id, shown.writer->id,
				  put_writer, &shown);
		if (ret)
			break;
	}
	mutex_unlock(&domain->lock);
	return ret;
}

static int show_writers(struct kfi_fabric *fabric, void *arg)
{
	struct kfi_domain *domain;
	int ret = 0;

	mutex_lock(&fabric->lock);
	list_for_each_entry(domain, &fabric->domains, obj.entry) {
		ret = show_domain_writers(domain, arg);
		if (ret)
			break;
	}
	mutex_unlock(&fabric->lock);
	return ret;
}

/* ---- dumps of fabrics, and of objects that belong to fabrics ---- */

static int dump_fabrics(struct kfi_nl_dump *d, int (*show)(struct kfi_fabric *fabric, void *arg))
{
	return kfi_nl_dump_result(d, kfi_walk_fabrics(sock_net(d->cb->skb->sk), show, d));
}

int kfi_nl_get_fabric_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct kfi_nl_dump d;

	kfi_nl_dump_init(&d, skb, cb);
	return dump_fabrics(&d, show_fabric);
}

int kfi_nl_get_domain_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct kfi_nl_dump d;

	kfi_nl_dump_init(&d, skb, cb);
	return dump_fabrics(&d, show_domains);
}

int kfi_nl_get_place_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct kfi_nl_dump d;

	kfi_nl_dump_init(&d, skb, cb);
	return dump_fabrics(&d, show_writers);
}

/* Peers and statistics belong to endpoints. The policies of all three commands have EP_ID. */
static int dump_eps(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct nlattr *ep = genl_info_dump(cb)->attrs[KFI_A_EP_ID];
	struct kfi_nl_dump d;

	kfi_nl_dump_init(&d, skb, cb);
	d.only_ep = ep ? nla_get_u32(ep) : 0;
	return dump_fabrics(&d, kfi_nl_show_eps);
}

int kfi_nl_get_ep_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	return dump_eps(skb, cb);
}

int kfi_nl_get_peer_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	return dump_eps(skb, cb);
}

int kfi_nl_get_stats_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	return dump_eps(skb, cb);
}

/* ---- the family ---- */

/*
 * Dumps take locks of their own and may wait for a provider, so they do not serialize each other.
 */
struct genl_family kfi_family __ro_after_init = {
	.name		= KFI_GENL_NAME,
	.version	= KFI_GENL_VERSION,
	.maxattr	= KFI_A_MAX,
	.netnsok	= true,
	.parallel_ops	= true,
	.split_ops	= kfi_nl_ops,
	.n_split_ops	= ARRAY_SIZE(kfi_nl_ops),
	.resv_start_op	= KFI_CMD_GET_PROVIDER,
	.module		= THIS_MODULE,
};

/**
 * kfi_netlink_init() - register the family
 *
 * Return: 0, or a negative errno.
 */
int kfi_netlink_init(void)
{
	return genl_register_family(&kfi_family);
}

/** kfi_netlink_exit() - unregister the family; on return no dump is left */
void kfi_netlink_exit(void)
{
	genl_unregister_family(&kfi_family);
}
