// SPDX-License-Identifier: GPL-2.0
/*
 * req.c - requests with an answer.
 *
 * A message without data behind it is injected: its answer implies that its send has ended. The
 * caller does not wait for the registration of a region: it takes effect before the peer can react
 * to the message.
 *
 * A stop needs nothing of this file: the reset of the endpoint ends sends and regions, waits for
 * done() of both, and nobody calls kfi_req_send() any more.
 */
#include <linux/mm.h>
#include <linux/string.h>
#include <kfi_req.h>
#include "ulp.h"

static void req_unmapped(struct kfi_mr_work *work, int err)
{
	struct kfi_req *req = container_of(work, struct kfi_req, work);

	req->conn->ops->req_done(req, req->err);
}

void kfi_req_put(struct kfi_req *req)
{
	if (!atomic_dec_and_test(&req->pending))
		return;
	if (req->flags & BIT(KFI_REQ_MAPPED)) {
		req->work.done = req_unmapped;
		if (!kfi_mr_invalidate(req->conn->mrs[req->tag], &req->work))
			return;
	}
	req->conn->ops->req_done(req, req->err);
}
EXPORT_SYMBOL_GPL(kfi_req_put);

static void req_sent(struct kfid_cq *cq, struct kfi_cqe *cqe, const struct kfi_cq_err_entry *wc)
{
	struct kfi_req *req = container_of(cqe, struct kfi_req, sent);

	if (wc->err)
		kfi_conn_fail(req->conn, -wc->err);
	kfi_req_put(req);
}

int kfi_req_map(struct kfi_req *req, const struct bio_vec *vec, unsigned int n, u64 access)
{
	struct kfid_mr *mr = req->conn->mrs[req->tag];
	struct kfi_mr_attr attr = {
		.type = KFI_BVEC, .mr_biov = vec, .iov_count = n, .access = access,
		.requested_key = KFI_KEY_NOTAVAIL,
	};
	int ret = kfi_mr_register(mr, &attr, NULL);

	if (ret)
		return ret;
	req->key = kfi_mr_key(mr);
	req->addr = kfi_mr_addr(mr);
	req->flags = BIT(KFI_REQ_MAPPED);
	return 0;
}
EXPORT_SYMBOL_GPL(kfi_req_map);

static ssize_t send_data(struct kfi_req *req, const void *msg, size_t len,
			 const struct bio_vec *data, unsigned int n, u64 flags)
{
	struct kfi_conn *conn = req->conn;
	void *head = conn->tx + req->tag * conn->attr.tx_len;
	struct bio_vec vec[KFI_ULP_SEGS];
	struct kfi_msg post = {
		.type = KFI_BVEC, .msg_biov = vec, .iov_count = 1 + n, .addr = conn->peer,
		.context = &req->sent,
	};
	ssize_t ret;

	if (WARN_ON_ONCE(n >= conn->tx_segs || len > conn->attr.tx_len))
		return -EINVAL;
	memcpy(head, msg, len);
	bvec_set_page(&vec[0], virt_to_page(head), len, offset_in_page(head));
	memcpy(vec + 1, data, n * sizeof(*data));
	req->sent.done = req_sent;
	atomic_inc(&req->pending);
	ret = __kfi_sendmsg(conn->ep, &post, KFI_CQE | KFI_INJECT_COMPLETE | flags);
	if (ret)
		atomic_dec(&req->pending);	/* does not reach 0: the caller counts, too */
	return ret;
}

int kfi_req_send(struct kfi_req *req, const void *msg, size_t len, const struct bio_vec *data,
		 unsigned int n, u64 flags)
{
	ssize_t ret;

	atomic_set(&req->pending, 2);	/* the answer, and this function */
	smp_wmb();	/* pairs with test_and_clear_bit() in kfi_req_answered() */
	WRITE_ONCE(req->epoch, req->conn->epoch);
	smp_wmb();	/* a context that clears the flag sees all of the above */
	WRITE_ONCE(req->flags, req->flags | BIT(KFI_REQ_AWAITED));
	ret = data ? send_data(req, msg, len, data, n, flags) :
		     __kfi_conn_inject(req->conn, msg, len, flags);
	if (unlikely(ret) && test_and_clear_bit(KFI_REQ_AWAITED, &req->flags)) {
		if (!test_bit(KFI_REQ_MAPPED, &req->flags))
			return ret;
		req->err = ret;
		atomic_dec(&req->pending);	/* for the answer */
	}
	kfi_req_put(req);
	return 0;
}
EXPORT_SYMBOL_GPL(kfi_req_send);

bool kfi_req_answered(struct kfi_req *req, struct kfi_conn *conn,
		      const struct kfi_cq_err_entry *wc)
{
	/* The atomic operation is a full barrier; see kfi_req_send(). */
	if (req->conn != conn || READ_ONCE(req->epoch) != conn->epoch ||
	    !test_and_clear_bit(KFI_REQ_AWAITED, &req->flags))
		return false;
	if (!(wc->flags & KFI_INVALIDATE))
		return true;
	if (!test_bit(KFI_REQ_MAPPED, &req->flags) || wc->data != req->key)
		return false;
	clear_bit(KFI_REQ_MAPPED, &req->flags);
	return true;
}
EXPORT_SYMBOL_GPL(kfi_req_answered);
