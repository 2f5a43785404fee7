/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The kit for ULPs: a request whose answer is a message, and whose memory the peer reads or writes
 */
#ifndef KFI_REQ_H
#define KFI_REQ_H

#include <kfi_conn.h>

enum {
	KFI_REQ_AWAITED,	/* the context that clears it calls kfi_req_put() for the answer */
	KFI_REQ_MAPPED,		/* memory is attached to the region of @tag */
};

/**
 * struct kfi_req - part of the ULP's request
 * @conn: connection
 * @key: key of its region, after kfi_req_map()
 * @addr: address of its region
 *
 * A request ends when its answer has arrived, kfi_req_send() has returned (a malicious peer may
 * answer before it has the request), and the send of a message with data has completed. @pending
 * counts these. The last event detaches the region, unless the answer has done so, and calls
 * &kfi_conn_ops.req_done. The ULP owns a request before kfi_req_send(), after req_done, and after a
 * stop of the connection.
 */
struct kfi_req {
	struct kfi_conn		*conn;
	u64			key, addr;
	/* private: */
	u32			epoch, tag;
	unsigned long		flags;
	atomic_t		pending;
	int			err;
	struct kfi_mr_work	work;
	struct kfi_cqe		sent;
};

/**
 * kfi_req_begin() - begin a request
 * @req: request
 * @conn: connection
 * @tag: number below &kfi_conn_attr.depth that no other request of @conn has
 *
 * Context: Any but hard interrupts, between kfi_conn_enter() and kfi_conn_exit(), which also
 * include the following calls.
 */
static inline void kfi_req_begin(struct kfi_req *req, struct kfi_conn *conn, u32 tag)
{
	/* A request that was cancelled with its connection is still awaited. */
	WRITE_ONCE(req->flags, 0);
	req->conn = conn;
	req->tag = tag;
	req->err = 0;
}

/**
 * kfi_req_vec() - return an array in which the memory for kfi_req_map() can be listed
 * @req: request that has begun, of a connection with regions
 *
 * Context: As kfi_req_begin().
 * Return: room for &kfi_conn_attr.region_segs pieces, see kfi_mr_biov().
 */
static inline struct bio_vec *kfi_req_vec(struct kfi_req *req)
{
	return kfi_mr_biov(req->conn->mrs[req->tag]);
}

/**
 * kfi_req_map() - let the peer access the memory of a request until it ends
 * @req: request that has begun
 * @vec: memory; copied, unless it is kfi_req_vec()
 * @n: pieces of memory, at most &kfi_conn_attr.region_segs
 * @access: KFI_REMOTE_READ, KFI_REMOTE_WRITE
 *
 * Context: As kfi_req_begin().
 * Return: 0: kfi_req_send() has to follow. -EAGAIN if there is no room; -EINVAL if there is no
 * piece, or there are too many; -ENOTCONN if the connection is not open; or an error of
 * kfi_mr_register(): no memory is attached.
 */
int kfi_req_map(struct kfi_req *req, const struct bio_vec *vec, unsigned int n, u64 access);

/**
 * kfi_req_send() - send the message of a request
 * @req: request that has begun
 * @msg: message; copied
 * @len: bytes of @msg; with data at most &kfi_conn_attr.tx_len, else at most &kfi_need.inject
 * @data: data behind it, which is used until the request ends; or NULL
 * @n: pieces of @data, less than &kfi_conn.tx_segs
 * @flags: KFI_MORE or 0
 *
 * Context: As kfi_req_begin().
 * Return: 0: &kfi_conn_ops.req_done follows, or was called. -EAGAIN if there is no room; -EINVAL if
 * @data has too many pieces, or @len is too large with it; -ENOTCONN if the connection is not open;
 * or an error of kfi_sendmsg(): the request is the caller's again, as no answer is accepted. An
 * error after kfi_req_map() is passed to req_done.
 */
int kfi_req_send(struct kfi_req *req, const void *msg, size_t len, const struct bio_vec *data,
		 unsigned int n, u64 flags);

/**
 * kfi_req_answered() - take the answer of a request
 * @req: request of this ULP, in any state
 * @conn: connection on which the answer has come
 * @wc: argument of &kfi_conn_ops.received
 *
 * Context: &kfi_conn_ops.received.
 * Return: true: the caller stores what the answer says, and calls kfi_req_put(). false: no answer
 * to it is awaited on the connection, or the peer has invalidated another key. The ULP fails the
 * connection.
 */
bool kfi_req_answered(struct kfi_req *req, struct kfi_conn *conn,
		      const struct kfi_cq_err_entry *wc);

/**
 * kfi_req_put() - one of the events has happened for which a request waits
 * @req: request after kfi_req_answered()
 *
 * Context: Any but hard interrupts. &kfi_conn_ops.req_done may be called inside.
 */
void kfi_req_put(struct kfi_req *req);

/**
 * kfi_req_fail() - the answer of a request does not come: end the connection that it was sent on
 * @req: request after kfi_req_send()
 * @err: as for kfi_conn_fail()
 *
 * If the connection has been stopped meanwhile, nothing happens.
 *
 * Context: Any but hard interrupts; a time limit, for example.
 */
static inline void kfi_req_fail(struct kfi_req *req, int err)
{
	struct kfi_conn *conn = req->conn;

	rcu_read_lock();	/* nothing is posted */
	if (test_bit(KFI_CONN_OPEN, &conn->flags) &&
	    READ_ONCE(req->epoch) == READ_ONCE(conn->epoch))
		kfi_conn_fail(conn, err);
	rcu_read_unlock();
}

#endif /* KFI_REQ_H */
