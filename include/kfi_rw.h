/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The kit for ULPs: data between a scatterlist and a peer's region, and a message behind it */
#ifndef KFI_RW_H
#define KFI_RW_H

#include <linux/scatterlist.h>
#include <kfi_conn.h>
#include <kfi_place.h>

/**
 * struct kfi_rw - a transfer; part of the ULP's command
 * @conn: connection; set by kfi_rw_begin()
 * @done: called once, when no memory of the transfer is used any more. err is 0, or says why bytes
 *	may not have arrived. It is called in the context of the functions of @conn, in
 *	&kfi_conn_ops.post_wq, or in the call that has started the transfer
 * @key: key of the peer's region
 * @addr: address in it
 * @place: a place that has the bytes (kfi_place.h), which is put instead of a write; or NULL
 *
 * One context at a time owns a transfer: the caller, then the context that posts or
 * post_work, then @done.
 * While @refs is not 0, its operations own it as well.
 */
struct kfi_rw {
	struct kfi_conn		*conn;
	void			(*done)(struct kfi_rw *rw, int err);
	u64			key, addr;
	struct kfid_place	*place;
	/* private: */
	u32			epoch;
	struct kfi_cqe		cqe;
	atomic_t		refs;
	int			err;
	bool			reply, invalidate;
	u32			len, todo, msg_len;
	struct scatterlist	*sg;
	const void		*msg;
	struct llist_node	deferred;
};

/**
 * kfi_rw_begin() - tell to which connection a transfer belongs
 * @rw: transfer that is not in progress; @place becomes NULL
 * @conn: connection
 *
 * What is started when @conn is not open, or is open again, ends with -ESHUTDOWN: so a late answer
 * does not go to the next peer, nor does it end the next connection.
 *
 * Context: A function of @conn, or between kfi_conn_enter() and kfi_conn_exit().
 */
static inline void kfi_rw_begin(struct kfi_rw *rw, struct kfi_conn *conn)
{
	rw->conn = conn;
	rw->epoch = READ_ONCE(conn->epoch);
	rw->place = NULL;
}

/**
 * kfi_rw_read() - read from the peer's region
 * @rw: transfer
 * @sg: memory for the data
 * @len: bytes, not 0
 *
 * It is posted in pieces, when there is room for them.
 *
 * Context: Any, hard interrupts too.
 */
void kfi_rw_read(struct kfi_rw *rw, struct scatterlist *sg, u32 len);

/**
 * kfi_rw_reply() - write to the peer's region, and send a message behind the data
 * @rw: transfer
 * @sg: data, or NULL
 * @len: bytes of data; 0: none
 * @msg: message, which exists until @done; at most &kfi_need.inject bytes. NULL: none
 * @msg_len: bytes of @msg
 * @invalidate: the message ends the region of @key
 *
 * The connection needs KFI_ORDER_SAS and KFI_ORDER_SAW. After an error it has failed, because the
 * peer may have the message without the data. A success says that @sg and @msg are not used any
 * more, and not that the peer has the data: if it refuses the data later, the connection fails.
 *
 * Context: Any, hard interrupts too.
 */
void kfi_rw_reply(struct kfi_rw *rw, struct scatterlist *sg, u32 len, const void *msg, u32 msg_len,
		  bool invalidate);

#endif /* KFI_RW_H */
