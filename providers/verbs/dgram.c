// SPDX-License-Identifier: GPL-2.0
/*
 * dgram.c - datagram endpoints, over a UD queue pair.
 *
 *   kv_dgram_tx()	is there a way to the peer? Else the operation waits at the peer until there is (way.c)
 *   kv_dgram_run()	copied behind a header and given to the device: for the consumer that is all there is to sending
 *   kv_dgram_came()	softirq: the device has filled a buffer
 *   kv_dgram_deliver()	to its receive. What finds none is dropped, as UDP drops what finds no buffer
 */
#include <linux/random.h>
#include <linux/slab.h>
#include <rdma/ib_cache.h>
#include "dgram.h"

/* ---- sending ---- */

/* What the consumer is told when the lock has been dropped. */
static void kv_dgram_tell(struct list_head *done)
{
	struct kfi_oper *op, *next;

	list_for_each_entry_safe(op, next, done, link) {
		list_del(&op->link);
		kfi_tx_complete(op, kv_dgram_op(op)->err);
	}
}

static int kv_dgram_fill(struct kv_datagram *b, struct kv_way *way, struct kfi_oper *op)
{
	struct kvw_dgram_hdr *hdr = b->mem;
	struct kvw_dgram d = {
		.flags = op->flags & KFI_REMOTE_CQ_DATA ? KVW_F_CQ_DATA : 0,
		.port = be16_to_cpu(kfi_inaddr_port(&b->dg->vep->addr)),
		.len = op->len,
		.data = op->data,
	};

	if (op->len > way->mtu - sizeof(*hdr))
		return -EMSGSIZE;
	memcpy(d.addr, way->src, sizeof(d.addr));
	kvw_encode_dgram(&d, hdr);
	if (kfi_copy_from(hdr + 1, &op->iter, op->len) != op->len)
		return -EFAULT;
	__kfi_stat_add(op->ep, copied, op->len);
	return 0;
}

static int kv_dgram_post(struct kv_datagram *b, struct kv_way *way, u32 bytes)
{
	struct kv_dgram *dg = b->dg;
	struct ib_sge sge = { b->dma, bytes, dg->kdom->pd->local_dma_lkey };
	struct ib_ud_wr wr = {
		.wr = {
			.wr_cqe = &b->cqe, .sg_list = &sge, .num_sge = 1, .opcode = IB_WR_SEND,
			.send_flags = IB_SEND_SIGNALED,
		},
		.ah = way->ah,
		.remote_qpn = way->qpn,
		.remote_qkey = way->qkey,
	};

	ib_dma_sync_single_for_device(dg->kdom->ib, b->dma, bytes, DMA_TO_DEVICE);
	return ib_post_send(dg->qp, &wr.wr, NULL);
}

/* On success the buffer uses the way in the operation's place. */
static int kv_dgram_send(struct kv_datagram *b, struct kfi_oper *op)
{
	struct kv_way *way = kv_dgram_op(op)->way;
	u32 bytes = sizeof(struct kvw_dgram_hdr) + op->len;
	int ret = kv_dgram_fill(b, way, op) ?: kv_dgram_post(b, way, bytes);

	if (ret)
		return ret;
	list_del_init(&b->link);
	b->way = way;
	b->dg->nsending++;
	way->tx_bytes += bytes;
	return 0;
}

/* The lock is held. */
static void kv_dgram_run(struct kv_dgram *dg, struct list_head *done)
{
	struct kv_datagram *b;
	struct kfi_oper *op;
	int err;

	lockdep_assert_held(&dg->lock);
	while (!dg->stopping && !list_empty(&dg->queue) && !list_empty(&dg->free)) {
		op = list_first_entry(&dg->queue, struct kfi_oper, link);
		b = list_first_entry(&dg->free, struct kv_datagram, link);
		err = kv_dgram_send(b, op);
		if (err)
			kv_way_left(kv_dgram_op(op)->way);
		kv_dgram_op(op)->err = err;
		list_move_tail(&op->link, done);
	}
}

void kv_dgram_kick(struct kv_dgram *dg)
{
	LIST_HEAD(done);

	spin_lock_bh(&dg->lock);
	kv_dgram_run(dg, &done);
	spin_unlock_bh(&dg->lock);
	kv_dgram_tell(&done);
}

/* &kfi_peer_ops.queue */
void kv_dgram_queue(struct kv_way *way, struct kfi_oper *op)
{
	struct kv_dgram *dg = way->dg;

	kv_dgram_op(op)->way = way;
	spin_lock_bh(&dg->lock);
	way->users++;
	list_add_tail(&op->link, &dg->queue);
	spin_unlock_bh(&dg->lock);
}

int kv_dgram_tx(struct kv_ep *vep, struct kfi_oper *op)
{
	struct kfi_peer_conn *pc;

	rcu_read_lock();
	pc = kfi_peer_way(&vep->peers, op);
	if (!IS_ERR_OR_NULL(pc)) {
		kv_dgram_queue(to_kv_way(pc), op);
		kv_dgram_kick(vep->dgram);
	}
	rcu_read_unlock();
	return PTR_ERR_OR_ZERO(pc);
}

/* The endpoint stops and nobody posts to @way any more: what the device has not got does not go. */
void kv_dgram_flush(struct kv_way *way)
{
	struct kv_dgram *dg = way->dg;
	struct kfi_oper *op, *next;
	LIST_HEAD(done);

	spin_lock_bh(&dg->lock);
	list_for_each_entry_safe(op, next, &dg->queue, link) {
		if (kv_dgram_op(op)->way != way)
			continue;
		kv_dgram_op(op)->err = dg->vep->home.stop_err;
		kv_way_left(way);
		list_move_tail(&op->link, &done);
	}
	spin_unlock_bh(&dg->lock);
	kv_dgram_tell(&done);
}

/* Sent, or lost: nobody asks. */
static void kv_dgram_sent(struct ib_cq *cq, struct ib_wc *wc)
{
	struct kv_datagram *b = container_of(wc->wr_cqe, struct kv_datagram, cqe);
	struct kv_dgram *dg = b->dg;
	LIST_HEAD(done);

	spin_lock_bh(&dg->lock);
	kv_way_left(b->way);
	b->way = NULL;
	list_add(&b->link, &dg->free);
	kv_dgram_run(dg, &done);
	if (!--dg->nsending && dg->stopping)
		wake_up_all(&dg->idle);
	spin_unlock_bh(&dg->lock);
	kv_dgram_tell(&done);
}

/* ---- receiving ---- */

static int kv_dgram_recv(struct kv_datagram *b)
{
	struct kv_dgram *dg = b->dg;
	struct ib_sge sge = { b->dma, b->size, dg->kdom->pd->local_dma_lkey };
	struct ib_recv_wr wr = { .wr_cqe = &b->cqe, .sg_list = &sge, .num_sge = 1 };

	ib_dma_sync_single_for_device(dg->kdom->ib, b->dma, b->size, DMA_FROM_DEVICE);
	return ib_post_recv(dg->qp, &wr, NULL);
}

static void kv_dgram_retire(struct kv_datagram *b)
{
	struct kv_dgram *dg = b->dg;

	spin_lock_bh(&dg->rx_lock);
	if (!--dg->nposted)
		wake_up_all(&dg->idle);
	spin_unlock_bh(&dg->rx_lock);
}

/* A queue pair that has been stopped gives it back at once. */
static void kv_dgram_recv_again(struct kv_datagram *b)
{
	if (kv_dgram_recv(b))
		kv_dgram_retire(b);
}

static bool kv_dgram_name(const struct kv_dgram *dg, struct kv_datagram *b)
{
	const struct in6_addr *addr = (void *)b->d.addr;
	union kfi_inaddr *from = &b->from;

	memset(from, 0, sizeof(*from));
	from->sa.sa_family = dg->kdom->names.family;
	kfi_inaddr_set_port(from, cpu_to_be16(b->d.port));
	if (ipv6_addr_v4mapped(addr) != (dg->kdom->names.family == AF_INET))
		return false;
	if (dg->kdom->names.family == AF_INET)
		from->in.sin_addr.s_addr = addr->s6_addr32[3];
	else
		from->in6.sin6_addr = *addr;
	return true;
}

/* Where it came from is what it says. InfiniBand's addresses are no IP addresses: there the sender has to be believed. */
static bool kv_dgram_honest(const struct kv_dgram *dg, const struct kv_datagram *b, const struct ib_wc *wc)
{
	enum rdma_network_type type = RDMA_NETWORK_IPV6;	/* the GRH looks the same */
	union ib_gid sgid, dgid;

	if (!rdma_protocol_roce(dg->kdom->ib, dg->kdom->port))
		return true;
	if (!(wc->wc_flags & IB_WC_GRH))
		return false;
	if (wc->wc_flags & IB_WC_WITH_NETWORK_HDR_TYPE)
		type = wc->network_hdr_type;
	else if (ib_get_rdma_header_version(b->mem) == 4)
		type = RDMA_NETWORK_IPV4;
	return !ib_get_gids_from_rdma_hdr(b->mem, type, &sgid, &dgid) && !memcmp(sgid.raw, b->d.addr, sizeof(sgid.raw));
}

/* Who has our key can send us anything: what is no message of a peer's is dropped without a word. */
static bool kv_dgram_read(struct kv_dgram *dg, struct kv_datagram *b, const struct ib_wc *wc)
{
	if (wc->byte_len < KV_GRH || kvw_decode_dgram(b->mem + KV_GRH, wc->byte_len - KV_GRH, &b->d))
		return false;
	b->src_qp = wc->src_qp;
	return kv_dgram_name(dg, b) && kv_dgram_honest(dg, b, wc);
}

/* Return: false when the completion queue is full: the datagram waits. */
static bool kv_dgram_deliver(struct kv_dgram *dg, struct kv_datagram *b)
{
	struct kfi_ep *ep = &dg->vep->ep;
	kfi_addr_t src = ep->av ? kfi_av_reverse(ep->av, &b->from) : KFI_ADDR_NOTAVAIL;
	struct kfi_rx rx = {
		.len = b->d.len, .data = b->d.data,
		.flags = KFI_MSG | (b->d.flags & KVW_F_CQ_DATA ? KFI_REMOTE_CQ_DATA : 0),
		.src = ep->caps & KFI_SOURCE ? src : KFI_ADDR_NOTAVAIL,
	};

	if (src != KFI_ADDR_NOTAVAIL)
		kv_way_heard(dg, src, b->src_qp);
	switch (kfi_rx_arrive(ep, &rx, false)) {
	case KFI_RX_MATCHED:
		if (kfi_copy_to(&rx.iter, b->mem + KV_GRH + sizeof(struct kvw_dgram_hdr), rx.room) != rx.room)
			WARN_ON_ONCE(1);	/* kernel memory can't fault */
		kfi_rx_complete(&rx, 0);
		return true;
	case KFI_RX_FULL:
		return false;
	default:
		kfi_stat_inc(ep, unexpected);
		return true;
	}
}

/* Whoever makes it busy looks at everything that is there, or leaves it busy and waits for room. */
static void kv_dgram_rx_loop(struct kv_dgram *dg)
{
	struct kv_datagram *b;
	bool done;

	lockdep_assert_held(&dg->rx_lock);
	while (!dg->rx_stopped && !list_empty(&dg->rxq)) {
		b = list_first_entry(&dg->rxq, struct kv_datagram, link);
		list_del_init(&b->link);
		spin_unlock_bh(&dg->rx_lock);
		done = kv_dgram_deliver(dg, b);
		if (done)
			kv_dgram_recv_again(b);
		spin_lock_bh(&dg->rx_lock);
		if (done)
			continue;
		list_add(&b->link, &dg->rxq);
		if (!dg->rx_stopped && kfi_cq_wait_space(dg->vep->ep.rx_cq, &dg->space))
			return;
	}
	dg->rx_busy = false;
	if (dg->rx_stopped)
		wake_up_all(&dg->idle);
}

static void kv_dgram_space(struct kfi_cq_waiter *w)
{
	struct kv_dgram *dg = container_of(w, struct kv_dgram, space);

	spin_lock_bh(&dg->rx_lock);
	kv_dgram_rx_loop(dg);
	spin_unlock_bh(&dg->rx_lock);
}

static void kv_dgram_came(struct ib_cq *cq, struct ib_wc *wc)
{
	struct kv_datagram *b = container_of(wc->wr_cqe, struct kv_datagram, cqe);
	struct kv_dgram *dg = b->dg;

	if (unlikely(wc->status == IB_WC_WR_FLUSH_ERR)) {
		kv_dgram_retire(b);
		return;
	}
	ib_dma_sync_single_for_cpu(dg->kdom->ib, b->dma, b->size, DMA_FROM_DEVICE);
	if (unlikely(wc->status != IB_WC_SUCCESS || !kv_dgram_read(dg, b, wc))) {
		kv_dgram_recv_again(b);
		return;
	}
	kfi_batch_begin();
	spin_lock_bh(&dg->rx_lock);
	list_add_tail(&b->link, &dg->rxq);
	if (!dg->rx_busy) {
		dg->rx_busy = true;
		kv_dgram_rx_loop(dg);
	}
	spin_unlock_bh(&dg->rx_lock);
	kfi_batch_end();
}

/* ---- what there is at the device ---- */

static bool kv_is_tx(const struct kv_dgram *dg, const struct kv_datagram *b)
{
	return b < dg->bufs + KV_DGRAM_TX;
}

static void kv_dgram_bufs_free(struct kv_dgram *dg)
{
	struct kv_datagram *b;

	for (b = dg->bufs; b < dg->bufs + ARRAY_SIZE(dg->bufs) && b->mem; b++) {
		ib_dma_unmap_single(dg->kdom->ib, b->dma, b->size, kv_is_tx(dg, b) ? DMA_TO_DEVICE : DMA_FROM_DEVICE);
		if (dg->kept)
			continue;
		kfree(b->mem);
		b->mem = NULL;
	}
}

static int kv_dgram_buf(struct kv_dgram *dg, struct kv_datagram *b, u32 size)
{
	b->dg = dg;
	b->size = size;
	b->mem = kmalloc(size, GFP_KERNEL);
	if (!b->mem)
		return -ENOMEM;
	b->dma = ib_dma_map_single(dg->kdom->ib, b->mem, size, kv_is_tx(dg, b) ? DMA_TO_DEVICE : DMA_FROM_DEVICE);
	if (!ib_dma_mapping_error(dg->kdom->ib, b->dma))
		return 0;
	kfree(b->mem);
	b->mem = NULL;
	return -EIO;
}

/* @longest: that a link of this kind carries: no peer can send more than fits a buffer. */
static int kv_dgram_bufs(struct kv_dgram *dg, u32 longest)
{
	struct kv_datagram *b;
	int ret = 0;

	for (b = dg->bufs; b < dg->bufs + ARRAY_SIZE(dg->bufs) && !ret; b++) {
		if (kv_is_tx(dg, b)) {
			b->cqe.done = kv_dgram_sent;
			list_add_tail(&b->link, &dg->free);
			ret = kv_dgram_buf(dg, b, dg->mtu);
		} else {
			b->cqe.done = kv_dgram_came;
			ret = kv_dgram_buf(dg, b, KV_GRH + longest);
		}
	}
	return ret;
}

static int kv_dgram_qp(struct kv_dgram *dg)
{
	struct ib_qp_init_attr attr = {
		.qp_type	= IB_QPT_UD,
		.sq_sig_type	= IB_SIGNAL_REQ_WR,
		.send_cq	= dg->cq,
		.recv_cq	= dg->cq,
		.port_num	= dg->kdom->port,
		.cap		= {
			.max_send_wr = KV_DGRAM_TX, .max_recv_wr = KV_DGRAM_RX, .max_send_sge = 1, .max_recv_sge = 1,
		},
	};
	struct ib_qp *qp = ib_create_qp(dg->kdom->pd, &attr);

	if (IS_ERR(qp))
		return PTR_ERR(qp);
	dg->qp = qp;
	return 0;
}

/* The partition is that of our address; whoever listens at all of them is in the first one. */
static int kv_dgram_partition(struct kv_dgram *dg, struct ib_qp_attr *attr)
{
	struct rdma_cm_id *id = dg->vep->id;
	int mask;

	attr->port_num = dg->kdom->port;
	attr->pkey_index = 0;
	if (!id->device)
		return 0;
	if (id->device != dg->kdom->ib || id->port_num != dg->kdom->port)
		return -EADDRNOTAVAIL;
	return rdma_init_qp_attr(id, attr, &mask);
}

static int kv_dgram_recv_all(struct kv_dgram *dg)
{
	struct kv_datagram *b;
	int ret;

	for (b = dg->bufs + KV_DGRAM_TX; b < dg->bufs + ARRAY_SIZE(dg->bufs); b++) {
		dg->nposted++;
		ret = kv_dgram_recv(b);
		if (ret) {
			dg->nposted--;
			return ret;
		}
	}
	return 0;
}

/* Receives are there before anything can come. */
static int kv_dgram_start(struct kv_dgram *dg)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_INIT };
	int ret = kv_dgram_partition(dg, &attr);

	attr.qkey = dg->qkey;
	ret = ret ?: ib_modify_qp(dg->qp, &attr, IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_QKEY);
	ret = ret ?: kv_dgram_recv_all(dg);
	attr.qp_state = IB_QPS_RTR;
	ret = ret ?: ib_modify_qp(dg->qp, &attr, IB_QP_STATE);
	attr.qp_state = IB_QPS_RTS;
	attr.sq_psn = 0;
	return ret ?: ib_modify_qp(dg->qp, &attr, IB_QP_STATE | IB_QP_SQ_PSN);
}

static int kv_dgram_make(struct kv_dgram *dg)
{
	struct kv_domain *kdom = dg->kdom;
	struct ib_port_attr port;
	int ret = ib_query_port(kdom->ib, kdom->port, &port);

	if (ret)
		return ret;
	dg->mtu = ib_mtu_enum_to_int(port.active_mtu);
	dg->cq = ib_cq_pool_get(kdom->ib, KV_DGRAM_TX + KV_DGRAM_RX, -1, IB_POLL_SOFTIRQ);
	if (IS_ERR(dg->cq)) {
		ret = PTR_ERR(dg->cq);
		dg->cq = NULL;
		return ret;
	}
	return kv_dgram_bufs(dg, max(dg->mtu, (u32)ib_mtu_enum_to_int(port.max_mtu))) ?: kv_dgram_qp(dg);
}

/* ---- the endpoint ---- */

static struct kv_dgram *kv_dgram_new(struct kv_ep *vep)
{
	struct kv_dgram *dg = kvzalloc(sizeof(*dg), GFP_KERNEL);

	if (!dg)
		return NULL;
	dg->vep = vep;
	dg->qkey = get_random_u32() >> 1 | 1;	/* not 0; the upper half has a meaning of its own */
	spin_lock_init(&dg->lock);
	INIT_LIST_HEAD(&dg->queue);
	INIT_LIST_HEAD(&dg->free);
	INIT_LIST_HEAD(&dg->ways);
	spin_lock_init(&dg->rx_lock);
	INIT_LIST_HEAD(&dg->rxq);
	INIT_LIST_HEAD(&dg->space.link);
	dg->space.fn = kv_dgram_space;
	init_waitqueue_head(&dg->idle);
	return dg;
}

int kv_dgram_enable(struct kv_ep *vep)
{
	struct kv_dgram *dg = kv_dgram_new(vep);
	int ret;

	if (!dg)
		return -ENOMEM;
	vep->dgram = dg;
	if (!kv_domain_get(to_kv_domain(vep->ep.domain))) {
		kv_dgram_close(vep);
		return -ENODEV;
	}
	dg->kdom = to_kv_domain(vep->ep.domain);
	ret = kv_dgram_make(dg);
	ret = ret ?: kv_cm_listen(kfi_ep_net(&vep->ep), RDMA_PS_UDP, &vep->addr, kv_backlog, kv_way_asked, vep, &vep->id);
	ret = ret ?: kv_dgram_start(dg);
	if (!ret)
		return 0;
	if (vep->id)
		rdma_destroy_id(vep->id);
	vep->id = NULL;
	kv_dgram_stop(vep, ret);
	kv_dgram_close(vep);
	return ret;
}

/* Every buffer is ours again; those with datagrams that nobody has looked at are emptied. */
static bool kv_dgram_quiet(struct kv_dgram *dg)
{
	bool quiet;

	spin_lock_bh(&dg->rx_lock);
	while (!list_empty(&dg->rxq)) {
		list_del_init(dg->rxq.next);
		dg->nposted--;
	}
	quiet = !dg->nposted;
	spin_unlock_bh(&dg->rx_lock);
	spin_lock_bh(&dg->lock);
	quiet &= !dg->nsending;
	spin_unlock_bh(&dg->lock);
	return quiet;
}

/* The device is broken: what it may still tell of stays, and is nobody's any more. See drain.c */
static void kv_dgram_forget(struct kv_dgram *dg)
{
	struct kv_datagram *b;

	kv_forget(dg->qp);
	dg->kept = true;
	for (b = dg->bufs; b < dg->bufs + ARRAY_SIZE(dg->bufs); b++)
		WRITE_ONCE(b->cqe.done, kv_late_done);
	synchronize_rcu();
	spin_lock_bh(&dg->rx_lock);
	dg->nposted = 0;
	spin_unlock_bh(&dg->rx_lock);
	spin_lock_bh(&dg->lock);
	dg->nsending = 0;
	for (b = dg->bufs; b < dg->bufs + KV_DGRAM_TX; b++)
		if (b->way)
			kv_way_left(b->way);
	spin_unlock_bh(&dg->lock);
}

static void kv_dgram_quiesce(struct kv_dgram *dg)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };

	if (ib_modify_qp(dg->qp, &attr, IB_QP_STATE) ||
	    !wait_event_timeout(dg->idle, kv_dgram_quiet(dg), msecs_to_jiffies(kv_drain_ms)))
		kv_dgram_forget(dg);
}

/* Nothing here waits for a peer: what the device has, it gives back when it is told to stop. */
void kv_dgram_stop(struct kv_ep *vep, int err)
{
	struct kv_dgram *dg = vep->dgram;

	if (!dg)
		return;
	spin_lock_bh(&dg->lock);
	dg->stopping = true;
	spin_unlock_bh(&dg->lock);
	spin_lock_bh(&dg->rx_lock);
	dg->rx_stopped = true;
	spin_unlock_bh(&dg->rx_lock);
	wake_up_all(&dg->idle);
	if (vep->ep.rx_cq)
		kfi_cq_cancel_wait(vep->ep.rx_cq, &dg->space);
	if (!kv_dgram_quiet(dg))
		kv_dgram_quiesce(dg);
	wait_event(dg->idle, kv_ways_gone(dg, err));
	if (dg->qp)
		ib_destroy_qp(dg->qp);
	if (dg->cq)
		ib_cq_pool_put(dg->cq, KV_DGRAM_TX + KV_DGRAM_RX);
	kv_dgram_bufs_free(dg);
	kv_domain_put(dg->kdom);
}

void kv_dgram_close(struct kv_ep *vep)
{
	if (vep->dgram && vep->dgram->kept)
		kv_keep(&vep->dgram->husk);
	else
		kvfree(vep->dgram);
	vep->dgram = NULL;
}
