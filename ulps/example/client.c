// SPDX-License-Identifier: GPL-2.0
/*
 * client.c - the client's side of the fabric. docs/ulp-guide.md goes through it.
 *
 * After the loss of the connection a work item stops it, and another one connects again. Memory
 * reclaim may wait for both: they run on a queue with WQ_MEM_RECLAIM and in a NOIO scope, and the
 * kit keeps the memory of the connection.
 */
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <net/net_namespace.h>
#include <kfi_blk.h>
#include "client.h"

enum { EX_CONNECT_MS = 10000 };

/**
 * struct ex_client - the connection to the server
 * @net: network namespace, held
 * @node: address of the server
 * @service: its service
 * @wq: runs @lost and @again, one at a time
 * @lost: stops the connection
 * @again: connects
 * @leaving: the module is being unloaded
 */
static struct ex_client {
	struct net		*net;
	const char		*node, *service;
	struct workqueue_struct	*wq;
	struct work_struct	lost;
	struct delayed_work	again;
	bool			leaving;
} ex;

struct kfi_conn ex_conn;
u64 ex_sectors;

/* ---- requests ---- */

/*
 * Repeat the request, unless the error will be the same next time: the connection may be about to
 * end, or memory is short.
 */
static int ex_error(int err)
{
	return !err || err == -EINVAL || err == -EMSGSIZE || err == -EOPNOTSUPP ? err : -EAGAIN;
}

static void ex_req_done(struct kfi_req *req, int err)
{
	struct ex_rq *er = container_of(req, struct ex_rq, req);

	ex_rq_done(blk_mq_rq_from_pdu(er), err ? ex_error(err) : er->status == EX_OK ? 0 :
		   er->status == EX_AGAIN ? -EAGAIN : -EIO);
}

/* An answer has arrived. Nothing in it is trusted. */
static void ex_received(struct kfid_cq *cq, struct kfi_cqe *cqe, const struct kfi_cq_err_entry *wc)
{
	struct ex_answer answer;
	struct kfi_conn *conn = kfi_rx_take(cqe, wc, &answer, sizeof(answer));
	struct ex_rq *er;

	if (!conn)
		return;
	er = ex_rq_find(le16_to_cpu(answer.tag));
	if (!er || !kfi_req_answered(&er->req, conn, wc)) {
		kfi_conn_fail(conn, -EPROTO);
		return;
	}
	er->status = le32_to_cpu(answer.status);
	kfi_req_put(&er->req);
}

/* Return: 0; -ENOTCONN, -EAGAIN or another error: the request is the caller's. */
int ex_send(struct request *rq, bool more)
{
	static const u16 ops[] = {
		[REQ_OP_READ] = EX_READ, [REQ_OP_WRITE] = EX_WRITE, [REQ_OP_FLUSH] = EX_FLUSH,
	};
	struct ex_rq *er = blk_mq_rq_to_pdu(rq);
	struct bio_vec *vec;
	struct ex_request msg = {
		.tag = cpu_to_le16(rq->tag), .op = cpu_to_le16(ops[(__force u32)req_op(rq)]),
		.len = cpu_to_le32(blk_rq_bytes(rq)), .sector = cpu_to_le64(blk_rq_pos(rq)),
	};
	int ret = 0;

	if (!kfi_conn_enter(&ex_conn))
		return -ENOTCONN;
	blk_mq_start_request(rq);
	kfi_req_begin(&er->req, &ex_conn, rq->tag);
	if (blk_rq_bytes(rq)) {
		vec = kfi_req_vec(&er->req);
		ret = kfi_req_map(&er->req, vec, kfi_rq_bvecs(rq, vec, EX_SEGS),
				  rq_data_dir(rq) == WRITE ? KFI_REMOTE_READ : KFI_REMOTE_WRITE);
	}
	if (!ret && blk_rq_bytes(rq)) {
		msg.key = cpu_to_le32(er->req.key);
		msg.addr = cpu_to_le64(er->req.addr);
	}
	if (!ret)
		ret = kfi_req_send(&er->req, &msg, sizeof(msg), NULL, 0, more ? KFI_MORE : 0);
	kfi_conn_exit(&ex_conn);
	return ex_error(ret);
}

/* ---- the connection ---- */

/* Only the first connection may load a provider. The connection keeps its domain. */
static int ex_open(struct ex_hello *answer, size_t *len)
{
	const struct ex_hello hello = {
		.version = cpu_to_le32(EX_VERSION), .depth = cpu_to_le32(EX_DEPTH),
	};
	const struct kfi_conn_attr attr = {
		.depth = EX_DEPTH, .rx_len = sizeof(struct ex_answer), .region_segs = EX_SEGS,
		.where = KFI_CONN_SOFTIRQ, .reclaim = true,
	};
	struct kfi_need need = EX_NEED;
	struct kfi_info *info;
	struct kfi_dom *dom;
	int ret;

	need.load = !ex_sectors;
	ret = kfi_find(ex.net, &need, NULL, ex.node, ex.service, &info);
	if (ret)
		return ret;
	dom = kfi_dom_get(ex.net, info, THIS_MODULE);
	ret = PTR_ERR_OR_ZERO(dom) ?: kfi_conn_open(&ex_conn, dom, info, &attr) ?:
	      kfi_conn_connect(&ex_conn, info->dest_addr, &hello, sizeof(hello), answer, len,
			       EX_CONNECT_MS);
	if (!IS_ERR(dom))
		kfi_dom_put(dom);
	kfi_freeinfo(info);
	return ret;
}

static int ex_connect(void)
{
	struct ex_hello answer;
	size_t len = sizeof(answer);
	int ret = ex_open(&answer, &len);

	if (ret)
		return ret;
	if (len >= sizeof(answer) && le32_to_cpu(answer.version) == EX_VERSION &&
	    le32_to_cpu(answer.depth) >= EX_DEPTH && answer.sectors &&
	    (!ex_sectors || le64_to_cpu(answer.sectors) == ex_sectors)) {
		ex_sectors = le64_to_cpu(answer.sectors);
		return 0;
	}
	kfi_conn_stop(&ex_conn);
	return -EPROTO;
}

/* Requests without an answer are ours after the stop: they are sent again. */
static void ex_lost_work(struct work_struct *work)
{
	unsigned int noio = memalloc_noio_save();

	kfi_conn_stop(&ex_conn);
	ex_disk_pause();
	memalloc_noio_restore(noio);
	if (!READ_ONCE(ex.leaving))
		queue_delayed_work(ex.wq, &ex.again, HZ);
}

static void ex_again_work(struct work_struct *work)
{
	unsigned int noio = memalloc_noio_save();
	int ret = ex_connect();

	memalloc_noio_restore(noio);
	if (ret && !READ_ONCE(ex.leaving))
		queue_delayed_work(ex.wq, &ex.again, HZ);
	else if (!ret)
		ex_disk_resume();
}

/* Hard interrupts, too */
static void ex_lost(struct kfi_conn *conn, int err)
{
	queue_work(ex.wq, &ex.lost);
}

static const struct kfi_conn_ops ex_ops = {
	.received = ex_received, .req_done = ex_req_done, .lost = ex_lost,
};

int ex_begin(const char *node, const char *service)
{
	int ret;

	ex.node = node;
	ex.service = service;
	ex.wq = alloc_ordered_workqueue("kfi_example", WQ_MEM_RECLAIM);
	if (!ex.wq)
		return -ENOMEM;
	ex.net = get_net(current->nsproxy->net_ns);
	INIT_WORK(&ex.lost, ex_lost_work);
	INIT_DELAYED_WORK(&ex.again, ex_again_work);
	kfi_conn_init(&ex_conn, &ex_ops);
	ret = ex_connect();
	if (ret)
		ex_end();
	return ret;
}

/* No connection from here on. Requests without an answer are the caller's. */
void ex_leave(void)
{
	WRITE_ONCE(ex.leaving, true);
	cancel_delayed_work_sync(&ex.again);
	kfi_conn_stop(&ex_conn);	/* ex_lost() is not called any more */
	cancel_work_sync(&ex.lost);
	cancel_delayed_work_sync(&ex.again);
	kfi_conn_stop(&ex_conn);
}

void ex_end(void)
{
	kfi_conn_close(&ex_conn);
	put_net(ex.net);
	destroy_workqueue(ex.wq);
}
