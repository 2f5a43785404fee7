// SPDX-License-Identifier: GPL-2.0
/* Discovery, open, close, names and connections, here or on the other machine. */
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/slab.h>
#include <linux/socket.h>
#include <linux/string.h>
#include "far_call.h"

/* ---- discovery ---- */

static int far_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
		       const struct kfi_info *hints, struct kfi_info **info)
{
	struct far_buf out = {}, in;
	struct far_call c = { .op = FAR_GETINFO, .arg = { version, flags }, .keep = &in };
	int ret;

	*info = NULL;
	far_put_str(&out, node);
	far_put_str(&out, service);
	far_put_infos(&out, hints, &far_names);
	c.in = out.p;
	c.in_len = out.len;
	ret = out.bad ? -ENOMEM : far_call(&c);
	if (!ret)
		*info = far_get_infos(&in, &far_names);
	if (!ret && !*info)
		ret = -ENOMEM;
	far_free(&in);
	far_free(&out);
	return ret;
}

/* Objects of the other machine are unknown to this one. */
static bool foreign(const struct kfi_info *hints)
{
	return hints && ((hints->domain_attr && far_is(hints->domain_attr->domain)) ||
			 (hints->fabric_attr && far_is(hints->fabric_attr->fabric)));
}

int side_getinfo_net(struct net *net, uint32_t version, const char *node, const char *service,
		     uint64_t flags, const struct kfi_info *hints, struct kfi_info **info)
{
	if (far_is(net))
		return far_getinfo(version, node, service, flags, hints, info);
	if (foreign(hints)) {
		*info = NULL;
		return -ENODATA;
	}
	return kfi_getinfo_net(net, version, node, service, flags, hints, info);
}

/* ---- opening ---- */

static int open_by_info(enum far_op op, void *parent, const struct kfi_info *info, void *context,
			void *to)
{
	struct far_call c = { .op = op, .arg = { parent ? far_number(parent) : 0 } };
	struct far_buf b = {};
	int ret;

	far_put_infos(&b, info, &far_names);
	c.in = b.p;
	c.in_len = b.len;
	ret = b.bad ? -ENOMEM : far_open(&c, context, to);
	if (!ret)
		(*(struct far_proxy **)to)->format = info->addr_format;
	far_free(&b);
	return ret;
}

/* @attr may be NULL, which is encoded as well. */
static int open_by_attr(enum far_op op, void *parent, u64 index, const void *attr, size_t size,
			void *context, void *to)
{
	struct far_call c = {
		.op = op, .arg = { far_number(parent) }, .in = attr, .in_len = attr ? size : 0,
	};

	if (op == FAR_TX_CTX || op == FAR_RX_CTX) {
		c.arg[1] = index;
		c.arg[2] = !!attr;
	} else {
		c.arg[1] = !!attr;
	}
	return far_open(&c, context, to);
}

int side_fabric_net(struct net *net, struct kfi_fabric_attr *attr, struct kfid_fabric **fabric,
		    void *context)
{
	struct kfi_info info = { .fabric_attr = attr };

	return far_is(net) ? open_by_info(FAR_FABRIC, NULL, &info, context, fabric) :
			     kfi_fabric_net(net, attr, fabric, context);
}

int side_domain(struct kfid_fabric *fabric, struct kfi_info *info, struct kfid_domain **domain,
		void *context)
{
	return far_is(fabric) ? open_by_info(FAR_DOMAIN, fabric, info, context, domain) :
				kfi_domain(fabric, info, domain, context);
}

int side_endpoint(struct kfid_domain *domain, struct kfi_info *info, struct kfid_ep **ep,
		  void *context)
{
	return far_is(domain) ? open_by_info(FAR_EP, domain, info, context, ep) :
				kfi_endpoint(domain, info, ep, context);
}

int side_scalable_ep(struct kfid_domain *domain, struct kfi_info *info, struct kfid_ep **sep,
		     void *context)
{
	return far_is(domain) ? open_by_info(FAR_SEP, domain, info, context, sep) :
				kfi_scalable_ep(domain, info, sep, context);
}

int side_passive_ep(struct kfid_fabric *fabric, struct kfi_info *info, struct kfid_pep **pep,
		    void *context)
{
	return far_is(fabric) ? open_by_info(FAR_PEP, fabric, info, context, pep) :
				kfi_passive_ep(fabric, info, pep, context);
}

/* Handlers run on the machine of their queue. */
int side_eq_open(struct kfid_fabric *fabric, struct kfi_eq_attr *attr, struct kfid_eq **eq,
		 kfi_event_handler handler, void *context)
{
	if (!far_is(fabric))
		return kfi_eq_open(fabric, attr, eq, handler, context);
	return handler ? far_refuse("side B has a handler") :
			 open_by_attr(FAR_EQ, fabric, 0, attr, sizeof(*attr), context, eq);
}

static size_t entry_size(enum kfi_cq_format format)
{
	switch (format) {
	case KFI_CQ_FORMAT_MSG:
		return sizeof(struct kfi_cq_msg_entry);
	case KFI_CQ_FORMAT_DATA:
		return sizeof(struct kfi_cq_data_entry);
	case KFI_CQ_FORMAT_TAGGED:
		return sizeof(struct kfi_cq_tagged_entry);
	default:
		return sizeof(struct kfi_cq_entry);
	}
}

int side_cq_open(struct kfid_domain *domain, struct kfi_cq_attr *attr, struct kfid_cq **cq,
		 kfi_comp_handler handler, void *context)
{
	int ret;

	if (handler)
		far_unheard();
	if (!far_is(domain))
		return kfi_cq_open(domain, attr, cq, handler, context);
	if (handler)
		return far_refuse("side B has a handler");
	ret = open_by_attr(FAR_CQ, domain, 0, attr, sizeof(*attr), context, cq);
	if (!ret)
		far_proxy(*cq)->entry = entry_size(attr ? attr->format : KFI_CQ_FORMAT_UNSPEC);
	return ret;
}

int side_cntr_open(struct kfid_domain *domain, struct kfi_cntr_attr *attr, struct kfid_cntr **cntr,
		   void *context)
{
	return far_is(domain) ?
		       open_by_attr(FAR_CNTR, domain, 0, attr, sizeof(*attr), context, cntr) :
		       kfi_cntr_open(domain, attr, cntr, context);
}

int side_av_open(struct kfid_domain *domain, struct kfi_av_attr *attr, struct kfid_av **av,
		 void *context)
{
	int ret;

	if (!far_is(domain))
		return kfi_av_open(domain, attr, av, context);
	ret = open_by_attr(FAR_AV, domain, 0, attr, sizeof(*attr), context, av);
	if (!ret)
		far_proxy(*av)->format = far_proxy(domain)->format;
	return ret;
}

int side_tx_context(struct kfid_ep *ep, int idx, struct kfi_tx_attr *attr, struct kfid_ep **tx_ep,
		    void *context)
{
	return far_is(ep) ? open_by_attr(FAR_TX_CTX, ep, idx, attr, sizeof(*attr), context, tx_ep) :
			    kfi_tx_context(ep, idx, attr, tx_ep, context);
}

int side_rx_context(struct kfid_ep *ep, int idx, struct kfi_rx_attr *attr, struct kfid_ep **rx_ep,
		    void *context)
{
	return far_is(ep) ? open_by_attr(FAR_RX_CTX, ep, idx, attr, sizeof(*attr), context, rx_ep) :
			    kfi_rx_context(ep, idx, attr, rx_ep, context);
}

int side_stx_context(struct kfid_domain *domain, struct kfi_tx_attr *attr, struct kfid_stx **stx,
		     void *context)
{
	return far_is(domain) ?
		       open_by_attr(FAR_STX, domain, 0, attr, sizeof(*attr), context, stx) :
		       kfi_stx_context(domain, attr, stx, context);
}

int side_srx_context(struct kfid_domain *domain, struct kfi_rx_attr *attr, struct kfid_ep **rx_ep,
		     void *context)
{
	return far_is(domain) ?
		       open_by_attr(FAR_SRX, domain, 0, attr, sizeof(*attr), context, rx_ep) :
		       kfi_srx_context(domain, attr, rx_ep, context);
}

int side_mr_alloc(struct kfid_domain *domain, size_t iov_limit, uint64_t flags, struct kfid_mr **mr,
		  void *context)
{
	struct far_call c = { .op = FAR_MR_ALLOC, .arg = { far_number(domain), iov_limit, flags } };

	return far_is(domain) ? far_open(&c, context, mr) :
				kfi_mr_alloc(domain, iov_limit, flags, mr, context);
}

/* Its address would be invalid here. A caller that accepts any memory uses other memory. */
int side_mem_alloc(struct kfid_domain *domain, size_t len, uint64_t flags, struct kfi_mem **mem)
{
	return far_is(domain) ? -EOPNOTSUPP : kfi_mem_alloc(domain, len, flags, mem);
}

/* ---- calls for all objects ---- */

int side_close(struct kfid *fid)
{
	int ret;

	if (!far_is(fid)) {
		ret = kfi_close(fid);
	} else {
		ret = far_do(FAR_CLOSE, far_number(fid));
		if (!ret)
			far_proxy_free(fid);
	}
	far_pull(fid, !ret);
	return ret;
}

/* The key of a region may be known only now. */
static s64 call_of_fid(struct far_call *c, struct kfid *fid)
{
	s64 ret = far_call(c);

	if (fid->fclass == KFI_CLASS_MR) {
		container_of(fid, struct kfid_mr, fid)->key = c->val[1];
		container_of(fid, struct kfid_mr, fid)->addr = c->val[2];
	}
	return ret;
}

int side_bind(struct kfid *fid, struct kfid *bfid, uint64_t flags)
{
	struct far_call c = { .op = FAR_BIND, .arg = { far_number(fid), far_number(bfid), flags } };

	if (far_is(fid) != far_is(bfid))
		return far_refuse("objects of both machines are bound to one another");
	return far_is(fid) ? call_of_fid(&c, fid) : kfi_bind(fid, bfid, flags);
}

static int far_control(struct kfid *fid, int command, void *arg)
{
	struct far_call c = { .op = FAR_CONTROL, .arg = { far_number(fid), command, 0, !!arg } };

	return call_of_fid(&c, fid);
}

int side_control(struct kfid *fid, int command, void *arg)
{
	return far_is(fid) ? far_control(fid, command, arg) : kfi_control(fid, command, arg);
}

int side_open_ops(struct kfid *fid, const char *name, uint64_t flags, void **ops, void *context)
{
	struct far_call c = { .op = FAR_OPEN_OPS, .arg = { far_number(fid), flags } };
	struct far_buf b = {};
	int ret;

	if (!far_is(fid))
		return kfi_open_ops(fid, name, flags, ops, context);
	far_put_str(&b, name);
	c.in = b.p;
	c.in_len = b.len;
	ret = b.bad ? -ENOMEM : far_call(&c);
	far_free(&b);
	return ret;
}

/* ---- names ---- */

int side_setname(kfid_t fid, void *addr, size_t addrlen)
{
	struct far_call c = {
		.op = FAR_SETNAME, .arg = { far_number(fid) }, .in = addr, .in_len = addrlen
	};

	return far_is(fid) ? far_call(&c) : kfi_setname(fid, addr, addrlen);
}

/* The answer has all of the room, written to or not. */
static int with_room(struct far_call *c, void *room, size_t *len)
{
	int ret;

	c->out = room;
	c->room = *len;
	ret = far_call(c);
	*len = c->val[0];
	return ret;
}

int side_getname(kfid_t fid, void *addr, size_t *addrlen)
{
	struct far_call c = { .op = FAR_GETNAME, .arg = { far_number(fid), *addrlen } };

	return far_is(fid) ? with_room(&c, addr, addrlen) : kfi_getname(fid, addr, addrlen);
}

int side_getpeer(struct kfid_ep *ep, void *addr, size_t *addrlen)
{
	struct far_call c = { .op = FAR_GETPEER, .arg = { far_number(ep), *addrlen } };

	return far_is(ep) ? with_room(&c, addr, addrlen) : kfi_getpeer(ep, addr, addrlen);
}

/* ---- connections ---- */

/* The family determines the length of an IP address; all other formats here have 8 bytes. */
static size_t address_size(void *fid, const void *addr)
{
	u32 format = far_proxy(fid)->format;
	const struct sockaddr *sa = addr;

	if (format != KFI_SOCKADDR && format != KFI_SOCKADDR_IN && format != KFI_SOCKADDR_IN6)
		return sizeof(u64);
	return sa->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
}

int side_listen(struct kfid_pep *pep)
{
	return far_is(pep) ? far_do(FAR_LISTEN, far_number(pep)) : kfi_listen(pep);
}

int side_connect(struct kfid_ep *ep, const void *addr, const void *param, size_t paramlen)
{
	struct far_call c = { .op = FAR_CONNECT, .arg = { far_number(ep) } };
	struct far_buf b = {};
	int ret;

	if (!far_is(ep))
		return kfi_connect(ep, addr, param, paramlen);
	c.arg[1] = address_size(ep, addr);
	far_put(&b, addr, c.arg[1]);
	far_put(&b, param, paramlen);
	c.in = b.p;
	c.in_len = b.len;
	ret = b.bad ? -ENOMEM : far_call(&c);
	far_free(&b);
	return ret;
}

int side_accept(struct kfid_ep *ep, const void *param, size_t paramlen)
{
	struct far_call c = {
		.op = FAR_ACCEPT, .arg = { far_number(ep) }, .in = param, .in_len = paramlen
	};

	return far_is(ep) ? far_call(&c) : kfi_accept(ep, param, paramlen);
}

int side_reject(struct kfid_pep *pep, kfid_t handle, const void *param, size_t paramlen)
{
	struct far_call c = {
		.op = FAR_REJECT,
		.arg = { far_number(pep), far_is(handle) ? far_number(handle) : 0 },
		.in = param,
		.in_len = paramlen,
	};

	return far_is(pep) ? far_call(&c) : kfi_reject(pep, handle, param, paramlen);
}

int side_shutdown(struct kfid_ep *ep, uint64_t flags)
{
	return far_is(ep) ? far_do(FAR_SHUTDOWN, far_number(ep), flags) : kfi_shutdown(ep, flags);
}

/* ---- address vectors ---- */

int side_av_insert(struct kfid_av *av, const void *addr, size_t count, kfi_addr_t *kfi_addr,
		   uint64_t flags, void *context)
{
	struct far_call c = {
		.op = FAR_AV_INSERT, .arg = { far_number(av), count, flags },
		.out = kfi_addr, .room = count * sizeof(*kfi_addr),
	};

	if (!far_is(av))
		return kfi_av_insert(av, addr, count, kfi_addr, flags, context);
	c.in = addr;
	c.in_len = addr && count ? count * address_size(av, addr) : 0;
	return far_call(&c);
}

static int insert_by_name(struct far_call *c, const char *node, const char *service)
{
	struct far_buf b = {};
	int ret;

	far_put_str(&b, node);
	far_put_str(&b, service);
	c->in = b.p;
	c->in_len = b.len;
	ret = b.bad ? -ENOMEM : far_call(c);
	far_free(&b);
	return ret;
}

int side_av_insertsvc(struct kfid_av *av, const char *node, const char *service,
		      kfi_addr_t *kfi_addr, uint64_t flags, void *context)
{
	struct far_call c = {
		.op = FAR_AV_INSERTSVC,
		.arg = { far_number(av), flags },
		.out = kfi_addr,
		.room = sizeof(*kfi_addr),
	};

	return far_is(av) ? insert_by_name(&c, node, service) :
			    kfi_av_insertsvc(av, node, service, kfi_addr, flags, context);
}

int side_av_insertsym(struct kfid_av *av, const char *node, size_t nodecnt, const char *service,
		      size_t svccnt, kfi_addr_t *kfi_addr, uint64_t flags, void *context)
{
	struct far_call c = {
		.op = FAR_AV_INSERTSYM, .arg = { far_number(av), nodecnt, svccnt, flags },
		.out = kfi_addr, .room = nodecnt * svccnt * sizeof(*kfi_addr),
	};

	return far_is(av) ? insert_by_name(&c, node, service) :
			    kfi_av_insertsym(av, node, nodecnt, service, svccnt, kfi_addr, flags,
					     context);
}

int side_av_remove(struct kfid_av *av, kfi_addr_t *kfi_addr, size_t count, uint64_t flags)
{
	struct far_call c = {
		.op = FAR_AV_REMOVE, .arg = { far_number(av), flags },
		.in = kfi_addr, .in_len = count * sizeof(*kfi_addr),
	};

	return far_is(av) ? far_call(&c) : kfi_av_remove(av, kfi_addr, count, flags);
}

int side_av_lookup(struct kfid_av *av, kfi_addr_t kfi_addr, void *addr, size_t *addrlen)
{
	struct far_call c = { .op = FAR_AV_LOOKUP, .arg = { far_number(av), kfi_addr, *addrlen } };

	return far_is(av) ? with_room(&c, addr, addrlen) :
			    kfi_av_lookup(av, kfi_addr, addr, addrlen);
}

const char *side_av_straddr(struct kfid_av *av, const void *addr, char *buf, size_t *len)
{
	struct far_call c = { .op = FAR_AV_STRADDR, .arg = { far_number(av), *len } };

	if (!far_is(av))
		return kfi_av_straddr(av, addr, buf, len);
	c.in = addr;
	c.in_len = address_size(av, addr);
	return with_room(&c, buf, len) ? NULL : buf;
}

/* The device for mappings is that of the machine that maps: each maps for itself. */
int side_domain_limits(struct kfid_domain *domain, struct kfi_domain_limits *limits)
{
	struct far_call c = {
		.op = FAR_LIMITS,
		.arg = { far_number(domain) },
		.out = limits,
		.room = sizeof(*limits),
	};
	int ret;

	if (!far_is(domain))
		return kfi_domain_limits(domain, limits);
	ret = far_call(&c);
	if (!ret && limits->dma_device)
		limits->dma_device = far_dma_device();
	return ret;
}
