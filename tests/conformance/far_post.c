// SPDX-License-Identifier: GPL-2.0
/* Posts and registrations, here or on the other machine. */
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/string.h>
#include "far_call.h"

/* Post here, after the other machine has the memory as the case sees it. */
#define NEAR_RX(flags, call)						\
({									\
	far_push(flags);						\
	call;								\
})

#define NEAR(flags, call)						\
({									\
	ssize_t __ret = NEAR_RX(flags, call);				\
									\
	far_posted(flags, __ret);					\
	__ret;								\
})

/* ---- vectors ---- */

/* Return the number of entries to encode: a count may be absurd. */
static size_t sane(const void *vec, u64 count)
{
	return vec && count <= FAR_MAX_VEC ? count : 0;
}

static int entry(struct far_seg *seg, unsigned int type, const void *vec, size_t i, bool source)
{
	const struct kvec *kvec = vec;
	const struct bio_vec *bvec = vec;
	const struct scatterlist *sg;
	size_t j;

	switch (type) {
	case KFI_KVEC:
		return far_seg(seg, kvec[i].iov_base, kvec[i].iov_len, source);
	case KFI_BVEC:
		return far_seg(seg, far_page_address(bvec[i].bv_page) + bvec[i].bv_offset,
			       bvec[i].bv_len, source);
	case KFI_SGL:
		for (sg = vec, j = 0; sg && j < i; j++)
			sg = sg_next((struct scatterlist *)sg);
		if (sg)
			return far_seg(seg,
				       far_page_address(sg_page((struct scatterlist *)sg)) +
					       sg->offset,
				       sg->length, source);
	}
	*seg = (struct far_seg){};
	return 0;
}

static int put_vector(struct far_buf *b, unsigned int type, const void *vec, size_t n, bool source,
		      bool pin)
{
	struct far_seg seg;
	size_t i;
	int ret;

	for (i = 0; i < n; i++) {
		ret = entry(&seg, type, vec, i, source);
		if (ret)
			return ret;
		if (pin)
			far_pin(&seg);
		far_put(b, &seg, sizeof(seg));
	}
	return 0;
}

/* ---- operations ---- */

static ssize_t post(struct kfid_ep *ep, enum far_post_kind kind, struct far_buf *b, int ret)
{
	struct far_call c = {
		.op = FAR_POST, .arg = { far_number(ep), kind }, .in = b->p, .in_len = b->len
	};

	if (b->bad)
		ret = -ENOMEM;
	if (!ret)
		ret = far_sync(FAR_NO_NEWS);
	if (!ret)
		ret = far_call(&c);
	far_free(b);
	return ret;
}

/* The context of these operations is a structure that the core reads. */
static int unfit(u64 flags)
{
	return flags & KFI_CQE ? far_refuse("side B has done() callbacks") : 0;
}

static ssize_t post_message(struct kfid_ep *ep, enum far_post_kind kind, struct far_post *p,
			    const void *vec, const struct kfi_rma_iov *rma)
{
	struct far_buf b = {};
	int ret;
	u32 i;

	ret = unfit(p->flags);
	if (ret)
		return ret;
	p->given[0] = sane(vec, p->counts[0]);
	p->rma_given = sane(rma, p->rma_count);
	far_put(&b, p, sizeof(*p));
	ret = put_vector(&b, p->type, vec, p->given[0],
			 kind == FAR_SEND || kind == FAR_TSEND || kind == FAR_WRITE, false);
	for (i = 0; i < p->rma_given; i++)
		far_put(&b, &(struct far_remote_seg){ rma[i].addr, rma[i].len, rma[i].key },
			sizeof(struct far_remote_seg));
	return post(ep, kind, &b, ret);
}

static ssize_t far_msg(struct kfid_ep *ep, const struct kfi_msg *m, u64 flags,
		       enum far_post_kind kind)
{
	struct far_post p = {
		.flags = flags, .addr = m->addr, .context = (uintptr_t)m->context, .data = m->data,
		.inv_key = m->inv_key, .type = m->type, .counts[0] = m->iov_count,
	};

	return post_message(ep, kind, &p, m->msg_iov, NULL);
}

static ssize_t far_tagged(struct kfid_ep *ep, const struct kfi_msg_tagged *m, u64 flags,
			  enum far_post_kind kind)
{
	struct far_post p = {
		.flags = flags,
		.addr = m->addr,
		.context = (uintptr_t)m->context,
		.data = m->data,
		.tag = m->tag,
		.ignore = m->ignore,
		.inv_key = m->inv_key,
		.type = m->type,
		.counts[0] = m->iov_count,
	};

	return post_message(ep, kind, &p, m->msg_iov, NULL);
}

static ssize_t far_rma(struct kfid_ep *ep, const struct kfi_msg_rma *m, u64 flags,
		       enum far_post_kind kind)
{
	struct far_post p = {
		.flags = flags,
		.addr = m->addr,
		.context = (uintptr_t)m->context,
		.data = m->data,
		.type = m->type,
		.counts[0] = m->iov_count,
		.rma_count = m->rma_iov_count,
	};

	return post_message(ep, kind, &p, m->msg_iov, m->rma_iov);
}

ssize_t side_recvmsg(struct kfid_ep *ep, const struct kfi_msg *msg, uint64_t flags)
{
	return far_is(ep) ? far_msg(ep, msg, flags, FAR_RECV) :
			    NEAR_RX(flags, kfi_recvmsg(ep, msg, flags));
}

ssize_t side_sendmsg(struct kfid_ep *ep, const struct kfi_msg *msg, uint64_t flags)
{
	return far_is(ep) ? far_msg(ep, msg, flags, FAR_SEND) :
			    NEAR(flags, kfi_sendmsg(ep, msg, flags));
}

ssize_t side_trecvmsg(struct kfid_ep *ep, const struct kfi_msg_tagged *msg, uint64_t flags)
{
	return far_is(ep) ? far_tagged(ep, msg, flags, FAR_TRECV) :
			    NEAR_RX(flags, kfi_trecvmsg(ep, msg, flags));
}

ssize_t side_tsendmsg(struct kfid_ep *ep, const struct kfi_msg_tagged *msg, uint64_t flags)
{
	return far_is(ep) ? far_tagged(ep, msg, flags, FAR_TSEND) :
			    NEAR(flags, kfi_tsendmsg(ep, msg, flags));
}

ssize_t side_readmsg(struct kfid_ep *ep, const struct kfi_msg_rma *msg, uint64_t flags)
{
	return far_is(ep) ? far_rma(ep, msg, flags, FAR_READ) :
			    NEAR(flags, kfi_readmsg(ep, msg, flags));
}

ssize_t side_writemsg(struct kfid_ep *ep, const struct kfi_msg_rma *msg, uint64_t flags)
{
	return far_is(ep) ? far_rma(ep, msg, flags, FAR_WRITE) :
			    NEAR(flags, kfi_writemsg(ep, msg, flags));
}

ssize_t side_flush(struct kfid_ep *ep, kfi_addr_t addr, const struct kfi_rma_iov *ranges,
		   size_t count, uint64_t scope, void *context)
{
	struct kfi_msg_rma m = {
		.addr = addr, .rma_iov = ranges, .rma_iov_count = count, .context = context
	};

	return far_is(ep) ? far_rma(ep, &m, scope, FAR_FLUSH) :
			    NEAR(scope, kfi_flush(ep, addr, ranges, count, scope, context));
}

/* ---- atomic operations ---- */

static size_t element(unsigned int type)
{
	static const u8 sizes[KFI_UINT128 + 1] = { 1, 1, 2, 2,	4,  4,	8,  8,
						   4, 8, 8, 16, 16, 32, 16, 16 };

	return type < ARRAY_SIZE(sizes) ? sizes[type] : 1;
}

struct iocs {
	const struct kfi_ioc	*v;
	size_t			count;
};

static int put_iocs(struct far_buf *b, const struct kfi_ioc *v, size_t n, unsigned int type,
		    bool source)
{
	struct far_seg seg;
	size_t i, bytes;
	int ret;

	for (i = 0; i < n; i++) {
		if (check_mul_overflow(v[i].count, element(type), &bytes))
			bytes = SIZE_MAX;
		ret = far_seg(&seg, v[i].addr, bytes, source);
		if (ret)
			return ret;
		seg.len = v[i].count;
		far_put(b, &seg, sizeof(seg));
	}
	return 0;
}

static ssize_t far_atomic(struct kfid_ep *ep, const struct kfi_msg_atomic *m, u64 flags,
			  enum far_post_kind kind, struct iocs compare, struct iocs result)
{
	const struct iocs iocs[3] = { { m->msg_iov, m->iov_count }, compare, result };
	struct far_post p = {
		.flags = flags, .addr = m->addr, .context = (uintptr_t)m->context, .data = m->data,
		.datatype = m->datatype, .op = m->op, .rma_count = m->rma_iov_count,
		.rma_given = sane(m->rma_iov, m->rma_iov_count),
	};
	struct far_buf b = {};
	int i, ret = unfit(flags);

	if (ret)
		return ret;
	for (i = 0; i < 3; i++) {
		p.counts[i] = iocs[i].count;
		p.given[i] = sane(iocs[i].v, iocs[i].count);
	}
	far_put(&b, &p, sizeof(p));
	for (i = 0; i < 3 && !ret; i++)
		ret = put_iocs(&b, iocs[i].v, p.given[i], m->datatype, i < 2);
	for (i = 0; i < p.rma_given; i++)
		far_put(&b,
			&(struct far_remote_seg) { m->rma_iov[i].addr, m->rma_iov[i].count,
						  m->rma_iov[i].key },
			sizeof(struct far_remote_seg));
	return post(ep, kind, &b, ret);
}

ssize_t side_atomicmsg(struct kfid_ep *ep, const struct kfi_msg_atomic *msg, uint64_t flags)
{
	struct iocs none = {};

	return far_is(ep) ? far_atomic(ep, msg, flags, FAR_ATOMIC, none, none) :
			    NEAR(flags, kfi_atomicmsg(ep, msg, flags));
}

ssize_t side_fetch_atomicmsg(struct kfid_ep *ep, const struct kfi_msg_atomic *msg,
			     struct kfi_ioc *resultv, void **result_desc, size_t result_count,
			     uint64_t flags)
{
	struct iocs none = {}, result = { resultv, result_count };

	return far_is(ep) ? far_atomic(ep, msg, flags, FAR_FETCH, none, result) :
			    NEAR(flags, kfi_fetch_atomicmsg(ep, msg, resultv, result_desc,
							    result_count, flags));
}

ssize_t side_compare_atomicmsg(struct kfid_ep *ep, const struct kfi_msg_atomic *msg,
			       const struct kfi_ioc *comparev, void **compare_desc,
			       size_t compare_count, struct kfi_ioc *resultv, void **result_desc,
			       size_t result_count, uint64_t flags)
{
	struct iocs compare = { comparev, compare_count }, result = { resultv, result_count };

	return far_is(ep) ? far_atomic(ep, msg, flags, FAR_COMPARE, compare, result) :
			    NEAR(flags, kfi_compare_atomicmsg(ep, msg, comparev, compare_desc,
							      compare_count, resultv, result_desc,
							      result_count, flags));
}

/* ---- registrations ---- */

static int put_mr(struct far_buf *b, const struct kfi_mr_attr *attr)
{
	struct far_mr m = {
		.access = attr->access,
		.offset = attr->offset,
		.requested_key = attr->requested_key,
		.context = (uintptr_t)attr->context,
		.count = attr->iov_count,
		.type = attr->type,
		.given = sane(attr->mr_iov, attr->iov_count),
		.auth_key_size = attr->auth_key_size,
		.has_auth_key = !!attr->auth_key,
	};
	int ret;

	if (attr->persist)
		return far_refuse("side B has a persist() callback");
	if (attr->auth_key)
		memcpy(m.auth_key, attr->auth_key, min(attr->auth_key_size, sizeof(m.auth_key)));
	far_put(b, &m, sizeof(m));
	ret = put_vector(b, attr->type, attr->mr_iov, m.given, true, true);
	return ret ?: b->bad ? -ENOMEM : far_sync(FAR_NO_NEWS);
}

int side_mr_regattr(struct kfid_domain *domain, const struct kfi_mr_attr *attr, uint64_t flags,
		    struct kfid_mr **mr)
{
	struct far_call c = { .op = FAR_MR_REG, .arg = { far_number(domain), flags } };
	struct far_buf b = {};
	int ret;

	if (!far_is(domain))
		return kfi_mr_regattr(domain, attr, flags, mr);
	ret = put_mr(&b, attr);
	c.in = b.p;
	c.in_len = b.len;
	if (!ret)
		ret = far_open(&c, attr->context, mr);
	far_free(&b);
	return ret;
}

/*
 * The agent has waited for the end, so done() is called before the call returns, which is
 * permitted.
 */
static int mr_work(struct kfid_mr *mr, struct far_call *c, struct kfi_mr_work *work)
{
	int ret = far_call(c);

	mr->key = c->val[1];
	mr->addr = c->val[2];
	if (!ret)
		work->done(work, c->val[0]);
	return ret;
}

int side_mr_register(struct kfid_mr *mr, const struct kfi_mr_attr *attr, struct kfi_mr_work *work)
{
	struct far_call c = { .op = FAR_MR_REGISTER, .arg = { far_number(mr) } };
	struct far_buf b = {};
	int ret;

	if (!far_is(mr))
		return kfi_mr_register(mr, attr, work);
	if (far_cannot_wait())
		return -EOPNOTSUPP;
	ret = put_mr(&b, attr);
	c.in = b.p;
	c.in_len = b.len;
	if (!ret)
		ret = mr_work(mr, &c, work);
	far_free(&b);
	return ret;
}

int side_mr_invalidate(struct kfid_mr *mr, struct kfi_mr_work *work)
{
	struct far_call c = { .op = FAR_MR_INVALIDATE, .arg = { far_number(mr) } };

	if (!far_is(mr))
		return kfi_mr_invalidate(mr, work);
	return far_cannot_wait() ? -EOPNOTSUPP : mr_work(mr, &c, work);
}
