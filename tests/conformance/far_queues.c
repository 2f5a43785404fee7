// SPDX-License-Identifier: GPL-2.0
/* Queues, counters and other calls of endpoints, here or on the other machine. */
#include <linux/slab.h>
#include <linux/string.h>
#include "far_call.h"

/* ---- event queues ---- */

/* Decode the agent's answer: an entry of @len bytes at most, followed by an info and its handle. */
static s64 take_event(struct far_buf *in, s64 ret, void *buf, size_t len, u32 event)
{
	struct kfi_eq_cm_entry *e = buf;
	const void *room = far_take(in, len);

	if (in->bad)
		return ret < 0 ? ret : -EPROTO;
	if (ret <= 0)
		return ret;
	memcpy(buf, room, ret);
	if (ret < sizeof(*e))
		return ret;
	if (far_proxy_of((uintptr_t)e->fid))
		e->fid = far_proxy_of((uintptr_t)e->fid);
	if (event == KFI_CONNREQ && in->at < in->len)
		e->info = far_get_infos(in, &far_names);
	return ret;
}

static ssize_t far_eq_read(struct kfid_eq *eq, u32 *event, void *buf, size_t len, u64 flags,
			   bool wait, int timeout)
{
	struct far_buf in;
	struct far_call c = {
		.op = FAR_EQ_READ,
		.arg = { far_number(eq), len, flags, wait, (s64)timeout },
		.keep = &in,
	};
	/* The event is taken from the queue, so this must not fail for lack of memory. */
	unsigned int nth = far_no_faults();
	s64 ret = far_call(&c);

	if (ret > 0)
		*event = c.val[0];
	ret = take_event(&in, ret, buf, len, c.val[0]);
	far_free(&in);
	far_faults_again(nth);
	return ret;
}

ssize_t side_eq_read(struct kfid_eq *eq, uint32_t *event, void *buf, size_t len, uint64_t flags)
{
	ssize_t ret = far_is(eq) ? far_eq_read(eq, event, buf, len, flags, false, 0) :
				   kfi_eq_read(eq, event, buf, len, flags);

	far_pull(eq, ret != -EAGAIN);
	return ret;
}

ssize_t side_eq_sread(struct kfid_eq *eq, uint32_t *event, void *buf, size_t len, int timeout,
		      uint64_t flags)
{
	ssize_t ret = far_is(eq) ? far_eq_read(eq, event, buf, len, flags, true, timeout) :
				   kfi_eq_sread(eq, event, buf, len, timeout, flags);

	far_pull(eq, ret != -EAGAIN);
	return ret;
}

/* Decode an error entry and its data: memory for the data is the caller's. */
#define TAKE_ERROR(in, ret, buf)					\
do {									\
	typeof(*(buf)) __e;						\
	void *__data = (buf)->err_data;					\
	size_t __room = (buf)->err_data_size;				\
									\
	far_get(in, &__e, sizeof(__e));					\
	if ((in)->bad || (ret) < 0)					\
		break;							\
	*(buf) = __e;							\
	(buf)->err_data = __data;					\
	if (__data && __e.err_data_size)				\
		far_get(in, __data, min(__room, __e.err_data_size));	\
} while (0)

ssize_t side_eq_readerr(struct kfid_eq *eq, struct kfi_eq_err_entry *buf, uint64_t flags)
{
	struct far_buf in;
	struct far_call c = {
		.op = FAR_EQ_READERR,
		.arg = { far_number(eq), buf->err_data ? buf->err_data_size : 0, flags },
		.keep = &in,
	};
	s64 ret;

	if (!far_is(eq))
		return kfi_eq_readerr(eq, buf, flags);
	ret = far_call(&c);
	TAKE_ERROR(&in, ret, buf);
	if (ret > 0)
		buf->fid = far_proxy_of((uintptr_t)buf->fid);
	far_free(&in);
	return ret;
}

ssize_t side_eq_write(struct kfid_eq *eq, uint32_t event, const void *buf, size_t len,
		      uint64_t flags)
{
	struct far_call c = {
		.op = FAR_EQ_WRITE,
		.arg = { far_number(eq), event, flags },
		.in = buf,
		.in_len = len,
	};

	return far_is(eq) ? far_call(&c) : kfi_eq_write(eq, event, buf, len, flags);
}

/* ---- completion queues ---- */

struct reading {
	void		*buf;
	size_t		count;
	kfi_addr_t	*src;
	bool		wait;
	int		timeout;
};

static ssize_t far_cq_read(struct kfid_cq *cq, const struct reading *r)
{
	size_t size = far_proxy(cq)->entry, n = min_t(size_t, r->count, FAR_MAX_VEC);
	struct far_buf in;
	struct far_call c = {
		.op = FAR_CQ_READ, .keep = &in,
		.arg = { far_number(cq), n, size, !!r->src, r->wait, (s64)r->timeout },
	};
	s64 ret = far_call(&c);
	const void *entries;

	entries = far_take(&in, n * size);
	if (ret > 0 && (!entries || ret > n))
		ret = -EPROTO;
	if (ret > 0) {
		memcpy(r->buf, entries, ret * size);
		if (r->src)
			far_get(&in, r->src, ret * sizeof(*r->src));
	}
	far_free(&in);
	return ret;
}

#define CQ_READ(cq, call, ...)						\
({									\
	ssize_t __ret;							\
									\
	if (far_is(cq)) {						\
		__ret = far_cq_read(cq, &(struct reading){ __VA_ARGS__ });	\
		far_pull(cq, __ret > 0);				\
	} else {							\
		__ret = (call);						\
		far_ended(__ret);					\
	}								\
	__ret;								\
})

ssize_t side_cq_read(struct kfid_cq *cq, void *buf, size_t count)
{
	return CQ_READ(cq, kfi_cq_read(cq, buf, count), .buf = buf, .count = count);
}

ssize_t side_cq_readfrom(struct kfid_cq *cq, void *buf, size_t count, kfi_addr_t *src_addr)
{
	return CQ_READ(cq, kfi_cq_readfrom(cq, buf, count, src_addr), .buf = buf, .count = count,
		       .src = src_addr);
}

ssize_t side_cq_sread(struct kfid_cq *cq, void *buf, size_t count, const void *cond, int timeout)
{
	return CQ_READ(cq, kfi_cq_sread(cq, buf, count, cond, timeout), .buf = buf, .count = count,
		       .wait = true, .timeout = timeout);
}

ssize_t side_cq_sreadfrom(struct kfid_cq *cq, void *buf, size_t count, kfi_addr_t *src_addr,
			  const void *cond, int timeout)
{
	return CQ_READ(cq, kfi_cq_sreadfrom(cq, buf, count, src_addr, cond, timeout), .buf = buf,
		       .count = count, .src = src_addr, .wait = true, .timeout = timeout);
}

ssize_t side_cq_readerr(struct kfid_cq *cq, struct kfi_cq_err_entry *buf, uint64_t flags)
{
	struct far_buf in;
	struct far_call c = {
		.op = FAR_CQ_READERR,
		.arg = { far_number(cq), buf->err_data ? buf->err_data_size : 0, flags },
		.keep = &in,
	};
	s64 ret;

	if (!far_is(cq)) {
		ret = kfi_cq_readerr(cq, buf, flags);
		far_ended(ret);
		return ret;
	}
	ret = far_call(&c);
	TAKE_ERROR(&in, ret, buf);
	far_free(&in);
	far_pull(cq, ret > 0);
	return ret;
}

int side_cq_signal(struct kfid_cq *cq)
{
	return far_is(cq) ? far_do(FAR_CQ_SIGNAL, far_number(cq)) : kfi_cq_signal(cq);
}

int side_cq_poll(struct kfid_cq *cq, int budget)
{
	return far_is(cq) ? far_do(FAR_CQ_POLL, far_number(cq), (s64)budget) :
			    kfi_cq_poll(cq, budget);
}

/* ---- counters ---- */

static u64 far_cntr_value(enum far_op op, struct kfid_cntr *cntr)
{
	struct far_call c = { .op = op, .arg = { far_number(cntr) } };

	far_call(&c);
	return c.val[0];
}

uint64_t side_cntr_read(struct kfid_cntr *cntr)
{
	u64 value = far_is(cntr) ? far_cntr_value(FAR_CNTR_READ, cntr) : kfi_cntr_read(cntr);

	far_pull(cntr, true);
	return value;
}

uint64_t side_cntr_readerr(struct kfid_cntr *cntr)
{
	return far_is(cntr) ? far_cntr_value(FAR_CNTR_READERR, cntr) : kfi_cntr_readerr(cntr);
}

int side_cntr_add(struct kfid_cntr *cntr, uint64_t value)
{
	return far_is(cntr) ? far_do(FAR_CNTR_CHANGE, far_number(cntr), FAR_CNTR_ADD, value) :
			      kfi_cntr_add(cntr, value);
}

int side_cntr_set(struct kfid_cntr *cntr, uint64_t value)
{
	return far_is(cntr) ? far_do(FAR_CNTR_CHANGE, far_number(cntr), FAR_CNTR_SET, value) :
			      kfi_cntr_set(cntr, value);
}

int side_cntr_adderr(struct kfid_cntr *cntr, uint64_t value)
{
	return far_is(cntr) ? far_do(FAR_CNTR_CHANGE, far_number(cntr), FAR_CNTR_ADDERR, value) :
			      kfi_cntr_adderr(cntr, value);
}

int side_cntr_seterr(struct kfid_cntr *cntr, uint64_t value)
{
	return far_is(cntr) ? far_do(FAR_CNTR_CHANGE, far_number(cntr), FAR_CNTR_SETERR, value) :
			      kfi_cntr_seterr(cntr, value);
}

int side_cntr_wait(struct kfid_cntr *cntr, uint64_t threshold, int timeout)
{
	int ret = far_is(cntr) ? far_do(FAR_CNTR_WAIT, far_number(cntr), threshold, (s64)timeout) :
				 kfi_cntr_wait(cntr, threshold, timeout);

	far_pull(cntr, true);
	return ret;
}

/* ---- endpoints ---- */

ssize_t side_cancel(struct kfid *fid, void *context)
{
	return far_is(fid) ? far_do(FAR_CANCEL, far_number(fid), (uintptr_t)context) :
			     kfi_cancel(fid, context);
}

void side_ep_tx_flush(struct kfid_ep *ep)
{
	if (far_is(&ep->fid))
		far_do(FAR_TX_FLUSH, far_number(&ep->fid));
	else
		kfi_ep_tx_flush(ep);
}

int side_setopt(struct kfid *fid, int level, int optname, const void *optval, size_t optlen)
{
	struct far_call c = {
		.op = FAR_SETOPT,
		.arg = { far_number(fid), (s64)level, (s64)optname },
		.in = optval,
		.in_len = optlen,
	};

	return far_is(fid) ? far_call(&c) : kfi_setopt(fid, level, optname, optval, optlen);
}

int side_getopt(struct kfid *fid, int level, int optname, void *optval, size_t *optlen)
{
	struct far_call c = {
		.op = FAR_GETOPT, .arg = { far_number(fid), (s64)level, (s64)optname, *optlen },
		.out = optval, .room = *optlen,
	};
	int ret;

	if (!far_is(fid))
		return kfi_getopt(fid, level, optname, optval, optlen);
	ret = far_call(&c);
	*optlen = c.val[0];
	return ret;
}

/* A callback runs on the machine of its endpoint; without one there is nothing to disarm. */
int side_ep_tx_space(struct kfid_ep *ep, void (*fn)(struct kfid_ep *ep, void *context),
		     void *context)
{
	if (!far_is(ep))
		return kfi_ep_tx_space(ep, fn, context);
	return fn ? far_refuse("side B has a callback for room") : 0;
}

static int far_query(const void *fid, u64 type, u64 op, struct kfi_atomic_attr *attr, u64 flags)
{
	struct far_call c = {
		.op = FAR_QUERY_ATOMIC,
		.arg = { far_number(fid), type, op, flags },
		.out = attr,
		.room = sizeof(*attr),
	};

	return far_call(&c);
}

int side_query_atomic(struct kfid_domain *domain, enum kfi_datatype datatype, enum kfi_op op,
		      struct kfi_atomic_attr *attr, uint64_t flags)
{
	return far_is(domain) ? far_query(domain, datatype, op, attr, flags) :
				kfi_query_atomic(domain, datatype, op, attr, flags);
}

int side_ep_query_atomic(struct kfid_ep *ep, enum kfi_datatype datatype, enum kfi_op op,
			 struct kfi_atomic_attr *attr, uint64_t flags)
{
	return far_is(ep) ? far_query(ep, datatype, op, attr, flags) :
			    kfi_ep_query_atomic(ep, datatype, op, attr, flags);
}
