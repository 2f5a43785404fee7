// SPDX-License-Identifier: GPL-2.0
/* The agent: operations and registrations, with vectors over its windows. */
#include <linux/err.h>
#include <linux/slab.h>
#include <kfi_atomic.h>
#include <kfi_endpoint.h>
#include <kfi_rma.h>
#include <kfi_tagged.h>
#include "agent.h"

/* An operation that is being decoded */
struct posting {
	struct agent_session	*s;
	struct kfid_ep		*ep;
	struct far_post		p;
	const struct far_seg	*seg[3];
	const struct far_remote_seg *remote;
	const void		*vec;		/* vector of the first segments */
	struct kfi_rma_iov	*rma;
	struct kfi_ioc		*ioc[3];
	struct kfi_rma_ioc	*rma_ioc;
};

static ssize_t post_msg(const struct posting *o, bool rx)
{
	struct kfi_msg msg = {
		.type = o->p.type,
		.msg_iov = o->vec,
		.iov_count = o->p.counts[0],
		.addr = o->p.addr,
		.context = (void *)(uintptr_t)o->p.context,
		.data = o->p.data,
		.inv_key = o->p.inv_key,
	};

	return rx ? kfi_recvmsg(o->ep, &msg, o->p.flags) : kfi_sendmsg(o->ep, &msg, o->p.flags);
}

static ssize_t post_tagged(const struct posting *o, bool rx)
{
	struct kfi_msg_tagged msg = {
		.type = o->p.type,
		.msg_iov = o->vec,
		.iov_count = o->p.counts[0],
		.addr = o->p.addr,
		.tag = o->p.tag,
		.ignore = o->p.ignore,
		.context = (void *)(uintptr_t)o->p.context,
		.data = o->p.data,
		.inv_key = o->p.inv_key,
	};

	return rx ? kfi_trecvmsg(o->ep, &msg, o->p.flags) : kfi_tsendmsg(o->ep, &msg, o->p.flags);
}

static ssize_t post_rma(const struct posting *o, bool read)
{
	struct kfi_msg_rma msg = {
		.type = o->p.type,
		.msg_iov = o->vec,
		.iov_count = o->p.counts[0],
		.addr = o->p.addr,
		.rma_iov = o->rma,
		.rma_iov_count = o->p.rma_count,
		.context = (void *)(uintptr_t)o->p.context,
		.data = o->p.data,
	};

	return read ? kfi_readmsg(o->ep, &msg, o->p.flags) : kfi_writemsg(o->ep, &msg, o->p.flags);
}

static ssize_t post_atomic(const struct posting *o, unsigned int kind)
{
	struct kfi_msg_atomic msg = {
		.msg_iov = o->ioc[0],
		.iov_count = o->p.counts[0],
		.addr = o->p.addr,
		.rma_iov = o->rma_ioc,
		.rma_iov_count = o->p.rma_count,
		.datatype = o->p.datatype,
		.op = o->p.op,
		.context = (void *)(uintptr_t)o->p.context,
		.data = o->p.data,
	};

	if (kind == FAR_ATOMIC)
		return kfi_atomicmsg(o->ep, &msg, o->p.flags);
	if (kind == FAR_FETCH)
		return kfi_fetch_atomicmsg(o->ep, &msg, o->ioc[2], NULL, o->p.counts[2],
					   o->p.flags);
	return kfi_compare_atomicmsg(o->ep, &msg, o->ioc[1], NULL, o->p.counts[1], o->ioc[2], NULL,
				     o->p.counts[2], o->p.flags);
}

/* Operands of atomic operations; NULL if none are given */
static int take_iocs(struct posting *o, int which)
{
	u32 n = o->p.given[which], i;
	void *at;
	int ret;

	o->ioc[which] = n ? agent_spare(o->s, n * sizeof(struct kfi_ioc)) : NULL;
	if (n && !o->ioc[which])
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		ret = agent_seg(o->s, &o->seg[which][i], &at);
		if (ret)
			return ret;
		o->ioc[which][i] = (struct kfi_ioc){ at, o->seg[which][i].len };
	}
	return 0;
}

/* Remote addresses of the driver's machine are valid on both machines. */
static int take_remote(struct posting *o)
{
	u32 n = o->p.rma_given, i;

	if (!n)
		return 0;
	o->rma = agent_spare(o->s, n * sizeof(*o->rma));
	o->rma_ioc = agent_spare(o->s, n * sizeof(*o->rma_ioc));
	if (!o->rma || !o->rma_ioc)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		const struct far_remote_seg *r = &o->remote[i];

		o->rma[i] = (struct kfi_rma_iov){ r->addr, r->len, r->key };
		o->rma_ioc[i] = (struct kfi_rma_ioc){ r->addr, r->len, r->key };
	}
	return 0;
}

static int take(struct posting *o, struct agent_call *c)
{
	int i;

	far_get(&c->in, &o->p, sizeof(o->p));
	for (i = 0; i < 3 && !c->in.bad; i++)
		if (o->p.given[i] <= FAR_MAX_VEC)
			o->seg[i] = far_take(&c->in, o->p.given[i] * sizeof(struct far_seg));
	if (o->p.rma_given <= FAR_MAX_VEC)
		o->remote = far_take(&c->in, o->p.rma_given * sizeof(struct far_remote_seg));
	for (i = 0; i < 3; i++)
		if (o->p.given[i] && !o->seg[i])
			return -EPROTO;
	if (c->in.bad || (o->p.rma_given && !o->remote))
		return -EPROTO;
	return take_remote(o);
}

static ssize_t post(const struct posting *o, unsigned int kind)
{
	switch (kind) {
	case FAR_RECV:
	case FAR_SEND:
		return post_msg(o, kind == FAR_RECV);
	case FAR_TRECV:
	case FAR_TSEND:
		return post_tagged(o, kind == FAR_TRECV);
	case FAR_READ:
	case FAR_WRITE:
		return post_rma(o, kind == FAR_READ);
	case FAR_FLUSH:
		return kfi_flush(o->ep, o->p.addr, o->rma, o->p.rma_count, o->p.flags,
				 (void *)(uintptr_t)o->p.context);
	case FAR_ATOMIC:
	case FAR_FETCH:
	case FAR_COMPARE:
		return post_atomic(o, kind);
	}
	return -EPROTO;
}

s64 agent_post(struct agent_call *c)
{
	struct posting o = { .s = c->s, .ep = FID(c, 0, kfid_ep) };
	unsigned int kind = c->arg[1];
	int i, ret;

	ret = take(&o, c);
	if (ret)
		return ret;
	if (kind >= FAR_ATOMIC)
		for (i = 0; i < 3 && !ret; i++)
			ret = take_iocs(&o, i);
	else
		ret = agent_vector(c->s, o.p.type, o.seg[0], o.p.given[0],
				   kind == FAR_SEND || kind == FAR_TSEND || kind == FAR_WRITE,
				   &o.vec);
	return ret ?: post(&o, kind);
}

/* ---- registrations ---- */

int agent_take_mr(struct agent_call *c, struct kfi_mr_attr *attr)
{
	const struct far_seg *seg;
	struct far_mr m;
	const void *vec;
	int ret;

	far_get(&c->in, &m, sizeof(m));
	seg = m.given <= FAR_MAX_VEC ? far_take(&c->in, m.given * sizeof(*seg)) : NULL;
	if (c->in.bad || (m.given && !seg))
		return -EPROTO;
	ret = agent_vector(c->s, m.type, seg, m.given, false, &vec);
	if (ret)
		return ret;
	*attr = (struct kfi_mr_attr){
		.type = m.type,
		.mr_iov = vec,
		.iov_count = m.count,
		.access = m.access,
		.offset = m.offset,
		.requested_key = m.requested_key,
		.context = (void *)(uintptr_t)m.context,
	};
	if (!m.has_auth_key)
		return 0;
	attr->auth_key_size = min_t(u64, m.auth_key_size, sizeof(m.auth_key));
	attr->auth_key = agent_spare(c->s, sizeof(m.auth_key));
	if (!attr->auth_key)
		return -ENOMEM;
	memcpy(attr->auth_key, m.auth_key, sizeof(m.auth_key));
	return 0;
}

s64 agent_mr_reg(struct agent_call *c)
{
	struct kfi_mr_attr attr;
	struct kfid_mr *mr;
	s64 ret;

	ret = agent_take_mr(c, &attr);
	if (!ret)
		ret = kfi_mr_regattr(FID(c, 0, kfid_domain), &attr, c->arg[1], &mr);
	if (!ret) {
		c->opened = &mr->fid;
		c->val[1] = kfi_mr_key(mr);
		c->val[2] = kfi_mr_addr(mr);
	}
	return ret;
}
