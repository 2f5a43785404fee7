// SPDX-License-Identifier: GPL-2.0
/* rx.c - receives, messages without a completion, and lasting regions of a connection. */
#include <linux/dma-mapping.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include "ulp.h"

static size_t head_stride(const struct kfi_conn *conn)
{
	return ALIGN(conn->attr.rx_len, max_t(size_t, 8, dma_get_cache_alignment()));
}

static size_t buf_size(const struct kfi_conn *conn)
{
	return conn->attr.rx_priv ?: sizeof(struct kfi_rxbuf);
}

static struct kfi_rxbuf *buf_at(const struct kfi_conn *conn, struct kfi_rxset *set, unsigned int i)
{
	return set->bufs + i * buf_size(conn);
}

void kfi_rxset_free(struct kfi_conn *conn, struct kfi_rxset *set)
{
	struct page *more;
	unsigned int i;

	for (i = 0; set->bufs && i < set->n; i++) {
		more = buf_at(conn, set, i)->more;
		if (more)
			__free_pages(more, get_order(conn->attr.rx_more));
	}
	kvfree(set->bufs);
	if (set->heads)
		free_pages_exact(set->heads, set->n * head_stride(conn));
	*set = (struct kfi_rxset){};
}

/* Receives of a head and more have to be in pages. */
int kfi_rxset_alloc(struct kfi_conn *conn, struct kfi_rxset *set, unsigned int n)
{
	struct kfi_rxbuf *rx;
	unsigned int i;

	if (!conn->attr.rx_len)
		return 0;
	set->n = n;
	set->bufs = kvcalloc(n, buf_size(conn), GFP_KERNEL);
	set->heads = alloc_pages_exact(n * head_stride(conn), GFP_KERNEL);
	if (!set->bufs || !set->heads)
		goto free;
	for (i = 0; i < n; i++) {
		rx = buf_at(conn, set, i);
		rx->conn = conn;
		rx->head = set->heads + i * head_stride(conn);
		rx->cqe.done = conn->ops->received;
		if (!conn->attr.rx_more)
			continue;
		rx->more = alloc_pages(GFP_KERNEL | __GFP_COMP, get_order(conn->attr.rx_more));
		if (!rx->more)
			goto free;
	}
	return 0;

free:
	kfi_rxset_free(conn, set);
	return -ENOMEM;
}

/* Post a receive, in a section of kfi_conn_enter() or one of its own. */
static int rx_post(struct kfi_rxbuf *rx)
{
	struct kfi_conn *conn = rx->conn;
	struct kvec iov = { rx->head, conn->attr.rx_len };
	struct bio_vec vec[2];
	struct kfi_msg msg = {
		.type = KFI_KVEC, .msg_iov = &iov, .iov_count = 1, .addr = KFI_ADDR_UNSPEC,
		.context = &rx->cqe,
	};

	if (rx->more) {
		bvec_set_page(&vec[0], virt_to_page(rx->head), conn->attr.rx_len,
			      offset_in_page(rx->head));
		bvec_set_page(&vec[1], rx->more, conn->attr.rx_more, 0);
		msg.type = KFI_BVEC;
		msg.msg_biov = vec;
		msg.iov_count = 2;
	}
	return __kfi_recvmsg(conn->ep, &msg, KFI_CQE);
}

/*
 * Two tasks may find an idle receive: the one that opens the connection, and the one that gives
 * the receive back. The one that changes the state posts it.
 */
static int rx_post_idle(struct kfi_rxbuf *rx)
{
	if (cmpxchg(&rx->state, KFI_RXBUF_IDLE, KFI_RXBUF_POSTED) != KFI_RXBUF_IDLE)
		return 0;
	return rx_post(rx);
}

/* Post the receives of a set that neither the endpoint nor the ULP has. */
int kfi_rxset_post(struct kfi_conn *conn, struct kfi_rxset *set)
{
	unsigned int i;
	int ret = 0;

	for (i = 0; i < set->n && !ret; i++) {
		rcu_read_lock_bh();
		ret = rx_post_idle(buf_at(conn, set, i));
		rcu_read_unlock_bh();
	}
	return ret;
}

/* The connection is stopped, so none is posted, and only the ULP changes those that it keeps. */
void kfi_rxset_stopped(struct kfi_conn *conn, struct kfi_rxset *set)
{
	struct kfi_rxbuf *rx;
	unsigned int i;

	for (i = 0; i < set->n; i++) {
		rx = buf_at(conn, set, i);
		if (READ_ONCE(rx->state) == KFI_RXBUF_POSTED)
			WRITE_ONCE(rx->state, KFI_RXBUF_IDLE);
	}
}

int kfi_rx_done(struct kfi_rxbuf *rx)
{
	struct kfi_conn *conn = rx->conn;
	int ret;

	if (likely(kfi_conn_enter(conn))) {
		/* It was not IDLE, so rx_post_idle() leaves it. */
		WRITE_ONCE(rx->state, KFI_RXBUF_POSTED);
		ret = rx_post(rx);
	} else {
		/* A full barrier: if it opens, the opener or this function sees the other. */
		xchg(&rx->state, KFI_RXBUF_IDLE);
		if (!kfi_conn_enter(conn))
			return 0;
		ret = rx_post_idle(rx);
	}
	if (unlikely(ret))
		kfi_conn_fail(conn, ret);
	kfi_conn_exit(conn);
	return ret;
}
EXPORT_SYMBOL_GPL(kfi_rx_done);

struct kfi_conn *kfi_rx_take(struct kfi_cqe *cqe, const struct kfi_cq_err_entry *wc, void *msg,
			     size_t len)
{
	struct kfi_rxbuf *rx = kfi_rx_got(cqe, wc, len);

	if (!rx)
		return NULL;
	memcpy(msg, rx->head, len);
	kfi_rx_done(rx);
	return rx->conn;
}
EXPORT_SYMBOL_GPL(kfi_rx_take);

/* ---- messages ---- */

void kfi_inject_failed(struct kfid_cq *cq, struct kfi_cqe *cqe, const struct kfi_cq_err_entry *wc)
{
	if (wc->err)
		kfi_conn_fail(container_of(cqe, struct kfi_conn, inject_cqe), -wc->err);
}

/* As kfi_conn_inject(), in a section of kfi_conn_enter(). */
ssize_t __kfi_conn_inject(struct kfi_conn *conn, const void *msg, size_t len, u64 flags)
{
	struct kvec iov = { (void *)msg, len };
	struct kfi_msg post = {
		.type = KFI_KVEC, .msg_iov = &iov, .iov_count = 1, .addr = conn->peer,
		.context = &conn->inject_cqe,
	};

	return __kfi_sendmsg(conn->ep, &post, KFI_CQE | KFI_INJECT | KFI_NO_COMPLETION | flags);
}

ssize_t kfi_conn_inject(struct kfi_conn *conn, const void *msg, size_t len, u64 flags)
{
	ssize_t ret;

	if (!kfi_conn_enter(conn))
		return -ENOTCONN;
	ret = __kfi_conn_inject(conn, msg, len, flags);
	kfi_conn_exit(conn);
	return ret;
}
EXPORT_SYMBOL_GPL(kfi_conn_inject);

/* ---- regions ---- */

int kfi_region_open(struct kfi_conn *conn, const struct kfi_mr_attr *attr, u64 flags,
		    struct kfid_mr **mr)
{
	int ret;

	if (!conn->ep)
		return -ENOTCONN;
	ret = kfi_mr_regattr(conn->dom->domain, attr, flags, mr);
	if (ret)
		return ret;
	ret = kfi_mr_bind(*mr, &conn->ep->fid, 0);
	if (!ret && conn->info->domain_attr->mr_mode & KFI_MR_ENDPOINT)
		ret = kfi_mr_enable(*mr);
	if (!ret)
		return 0;
	WARN_ON(kfi_close(&(*mr)->fid));
	*mr = NULL;
	return ret;
}
EXPORT_SYMBOL_GPL(kfi_region_open);
