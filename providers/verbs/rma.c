// SPDX-License-Identifier: GPL-2.0
/*
 * rma.c - RMA of ours: RDMA READs and WRITEs to memory of the peer, which does nothing for them.
 *
 * A region's key is kfabric's; where it lies for the device is asked for once (key.c). Every segment is known, and allowed, before
 * the first byte moves. If the owner wants to hear of it, or the consumer of its arrival, a DONE follows the data on the same
 * queue pair: what came before it is visible when it is looked at.
 */
#include "verbs.h"

static u8 kv_rma_right(const struct kfi_oper *op)
{
	return op->code == KFI_OPC_READ ? KVW_K_READ : KVW_K_WRITE;
}

/* Durable: can it be? */
static bool kv_rma_commits(const struct kfi_oper *op, const struct kv_run *run)
{
	return !(op->flags & KFI_COMMIT_COMPLETE) || run->commit;
}

/* Where the bytes from @at on of segment @i are. -EAGAIN: the peer is asked. */
static int kv_rma_find(struct kv_conn *conn, const struct kfi_oper *op, unsigned int i, u64 at, struct kv_run *run)
{
	const struct kfi_rma_iov *seg = &op->rma[i];

	return kv_key_find(conn, seg->key, seg->addr + at, seg->len - at, kv_rma_right(op), run);
}

/* Look at all segments before the first moves. @run: where the last one begins, if it had not been looked at before. */
static int kv_rma_check(struct kv_conn *conn, struct kfi_oper *op, struct kv_run *run)
{
	struct kv_op *kop = kv_op(op);
	int ret;

	for (; kop->checked < op->rma_count; kop->checked++) {
		ret = kv_rma_find(conn, op, kop->checked, 0, run);
		if (ret)
			return ret;
		if (!kv_rma_commits(op, run))
			return -EOPNOTSUPP;
		kop->tell |= run->tell;
	}
	return 0;
}

/* One work request: what is contiguous on both sides. @known: where the bytes are, if that has been looked up just now. */
static int kv_rma_move(struct kv_conn *conn, struct kfi_oper *op, const struct kv_run *known)
{
	bool read = op->code == KFI_OPC_READ;
	struct kv_op *kop = kv_op(op);
	struct kv_run run;
	struct kv_sqe *e;
	ssize_t n;
	int ret = 0;

	if (read && !kv_may_read(conn))
		return -EAGAIN;
	if (known)
		run = *known;
	else
		ret = kv_rma_find(conn, op, kop->seg, kop->at, &run);
	if (ret == -EACCES && kop->begun)
		return -EREMOTEIO;	/* the region went between two requests, and bytes have moved */
	if (ret)
		return ret;
	if (read)
		e = kv_sq_read(conn, KV_SQ_PART, &kop->iter, run.addr, run.len, &n);
	else
		e = kv_sq_write(conn, KV_SQ_PART, &kop->iter, run.len, &n);
	if (n < 0) {
		kv_sq_unmap(conn, e);
		return n;
	}
	e->op = op;
	e->atom = n <= conn->mtu && !kop->begun;
	kop->begun = true;
	e->wr.rdma.remote_addr = run.addr;
	e->wr.rdma.rkey = run.rkey;
	kop->at += n;
	kop->wrs++;
	kv_sq_put(conn, e, &e->wr.rdma.wr, !iov_iter_count(&kop->iter));
	return 0;
}

/*
 * Does a write's completion, or a flush's, need the peer's word? What a device reports is that the peer's has it, which is no
 * delivery; and on iWARP, that TCP has it. A read's data is its own word.
 */
static bool kv_rma_answered(const struct kv_conn *conn, const struct kfi_oper *op)
{
	u64 levels = KFI_DELIVERY_COMPLETE | KFI_COMMIT_COMPLETE | (conn->kdom->iwarp ? KFI_TRANSMIT_COMPLETE : 0);

	return op->code == KFI_OPC_FLUSH || (op->code == KFI_OPC_WRITE && op->flags & levels);
}

/* Remote segments, as the peer knows them. */
void kv_rma_descs(const struct kfi_oper *op, unsigned int first, unsigned int n,
		  struct kvw_desc *descs)
{
	const struct kfi_rma_iov *seg = op->rma + first;

	for (; n--; seg++)
		*descs++ = (struct kvw_desc){ cpu_to_le64(seg->addr), cpu_to_le64(seg->key),
					      cpu_to_le64(seg->len) };
}

/*
 * The next segments that the peer is to be told of. What an operation of more than KV_DESCS
 * segments asks for is asked for in each packet, if it is about the segments themselves, and what
 * is to be told at its end, or to be answered once, is in the last packet.
 */
static struct kvw_packet kv_done_packet(const struct kv_conn *conn, const struct kfi_oper *op, struct kvw_desc *descs)
{
	struct kvw_packet p = kv_op_packet(op, op->code == KFI_OPC_FLUSH ? KVW_FLUSH : KVW_DONE);
	unsigned int first = kv_op(op)->told, i;
	bool last;

	p.count = min_t(unsigned int, op->rma_count - first, KV_DESCS);
	last = first + p.count == op->rma_count;
	p.flags &= last ? KVW_F_CQ_DATA : 0;
	if (op->code == KFI_OPC_READ)
		p.flags |= KVW_F_READ;
	if (op->flags & KFI_COMMIT_COMPLETE)
		p.flags |= KVW_F_COMMIT;
	if (kv_rma_answered(conn, op) && (last || p.type == KVW_FLUSH || p.flags & KVW_F_COMMIT))
		p.flags |= KVW_F_LANDED;
	if (!last && p.type == KVW_DONE)
		p.flags |= KVW_F_PART;
	for (i = 0, p.len = 0; i < p.count; i++)
		p.len += op->rma[first + i].len;
	kv_rma_descs(op, first, p.count, descs);
	return p;
}

/* Is anything to be said when all of it is in the send queue? */
static bool kv_rma_tells(const struct kv_conn *conn, const struct kfi_oper *op)
{
	return kv_op(op)->tell || op->flags & KFI_REMOTE_CQ_DATA || kv_rma_answered(conn, op);
}

/* Return: 1: the peer has been told of all segments; 0: there are more; -EAGAIN: not now. */
static int kv_rma_tell(struct kv_conn *conn, struct kfi_oper *op)
{
	struct kvw_desc descs[KV_DESCS];
	struct kvw_packet p = kv_done_packet(conn, op, descs);

	if (p.flags & KVW_F_LANDED && !kv_may_ask(conn))
		return -EAGAIN;
	if (!kfi_credit_take(&conn->credit_tx[KVW_CLS_CTL], 1))
		return -EAGAIN;
	kv_put_packet(conn, &p, descs, p.flags & KVW_F_READ ? IB_SEND_FENCE : 0);
	if (p.flags & KVW_F_LANDED)
		kv_op_asked(conn, op);
	kv_op(op)->told += p.count;
	return kv_op(op)->told == op->rma_count;
}

/* A READ or WRITE of nothing: when it ends, the peer's device has all that is before it in the send queue. */
static void kv_put_nothing(struct kv_conn *conn, u8 kind, enum ib_wr_opcode opcode)
{
	struct kv_sqe *e = kv_sq_get(conn, kind);

	e->nsge = 1;
	e->sge[0] = (struct ib_sge){ e->dma, 0, conn->kdom->pd->local_dma_lkey };
	e->wr.rdma.wr.opcode = opcode;
	kv_sq_put(conn, e, &e->wr.rdma.wr, true);
}

/* It tells whether the peer's device is there. Whoever is not of ours need not serve READs, but a WRITE of nothing. */
void kv_put_probe(struct kv_conn *conn)
{
	kv_put_nothing(conn, KV_SQ_PROBE, conn->plain ? IB_WR_RDMA_WRITE : IB_WR_RDMA_READ);
}

/* What is before it, and was not to be reported, ends with it. Reported is all on iWARP. */
void kv_put_mark(struct kv_conn *conn)
{
	if (!conn->kdom->iwarp)
		kv_put_nothing(conn, KV_SQ_PROBE, IB_WR_RDMA_WRITE);
}

/* Orderly shutdown of a MSG endpoint. */
void kv_put_hangup(struct kv_conn *conn)
{
	kv_put_nothing(conn, KV_SQ_HANGUP, IB_WR_RDMA_WRITE);
}

/* Everything is in the send queue, or no more of it will be: then the last of it was not meant to be that. */
void kv_rma_issued(struct kv_conn *conn, struct kfi_oper *op, struct kv_done *done)
{
	conn->op = NULL;
	kv_op(op)->issued = true;
	if (kv_op(op)->asked)
		list_add_tail(&op->link, &conn->waiting);
	else
		kv_op(op)->err = kv_op(op)->err ?: kv_op(op)->said;
	if (!kv_op(op)->wrs)
		kv_rma_done(conn, op, done);
	else if (kv_op(op)->err)
		kv_put_mark(conn);
}

/* Its work requests have ended; what is answered ends when the peer has done that too. */
void kv_rma_done(struct kv_conn *conn, struct kfi_oper *op, struct kv_done *done)
{
	struct kv_op *kop = kv_op(op);

	if (kop->state == KV_OP_ASKED) {
		if (!kop->err)
			return;
		list_del(&op->link);	/* the connection ends: no answer will come */
		conn->requests -= kop->asked;
		kop->asked = 0;
	}
	conn->inflight--;
	kv_op_end(op, 0, done);
}

/*
 * An answer of the peer's came. What the device reports of it may be seen later, and there may be
 * more to be asked, or answered.
 */
void kv_rma_landed(struct kv_conn *conn, struct kfi_oper *op, int err, struct kv_done *done)
{
	struct kv_op *kop = kv_op(op);

	conn->atomics -= kfi_opc_is_atomic(op->code);
	kop->said = kop->said ?: err;
	if (kop->asked)
		return;
	kop->state = KV_OP_SENT;
	/* The peer waits for the last part, whatever it has said of the others. */
	if (!kop->issued)
		return;
	kop->err = kop->err ?: kop->said;
	if (!kop->wrs)
		kv_rma_done(conn, op, done);
}

/* Past what has been asked for. Return: there is more. */
bool kv_rma_left(const struct kfi_oper *op, struct kv_op *kop)
{
	while (kop->seg < op->rma_count && kop->at == op->rma[kop->seg].len) {
		kop->seg++;
		kop->at = 0;
	}
	return kop->seg < op->rma_count;
}

/* Return: 1: all of it is in the send queue; 0: call again, if there is room; -EAGAIN: it waits for the peer; others are its end. */
static int kv_rma_step(struct kv_conn *conn, struct kfi_oper *op)
{
	struct kv_op *kop = kv_op(op);
	bool first = !kop->checked && op->rma_count == 1;
	struct kv_run run;
	int ret;

	if (op->rma_count > KV_DESCS && conn->greeting.version < KVW_VERSION_PARTS)
		return -EOPNOTSUPP;
	if (kop->err)
		return kop->err;
	/* A part of a flush was refused: no more is asked for, and it ends when the others are answered. */
	if (kop->said && op->code == KFI_OPC_FLUSH)
		return 1;
	if (op->code == KFI_OPC_FLUSH)
		return kv_rma_tell(conn, op);	/* its owner looks at the segments */
	if (kfi_opc_is_atomic(op->code))
		return kv_put_atomic(conn, op) ? 1 : -EAGAIN;
	ret = kv_rma_check(conn, op, &run);
	if (ret)
		return ret;
	if (kv_rma_left(op, kop)) {
		if (conn->atomics)
			return -EAGAIN;		/* the peer's processor has still to do them */
		ret = kv_rma_move(conn, op, first ? &run : NULL);
		if (ret || kv_rma_left(op, kop))
			return ret;
	}
	return kv_rma_tells(conn, op) ? kv_rma_tell(conn, op) : 1;
}

/* A step of the operation that is under way. False: it waits for the peer. */
bool kv_put_rma(struct kv_conn *conn, struct kv_done *done)
{
	struct kfi_oper *op = conn->op;
	struct kv_op *kop = kv_op(op);
	int ret;

	if (kop->state == KV_OP_QUEUED) {
		kop->state = KV_OP_SENT;
		kop->iter = op->iter;
		conn->inflight++;
	}
	ret = kv_rma_step(conn, op);
	if (ret == -EAGAIN)
		return false;
	if (ret < 0)
		kop->err = kop->err ?: ret;
	if (ret)
		kv_rma_issued(conn, op, done);
	return true;
}
