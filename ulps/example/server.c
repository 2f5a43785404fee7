// SPDX-License-Identifier: GPL-2.0
/*
 * server.c - the server's side of the fabric. docs/ulp-guide.md goes through it.
 *
 * A client repeats requests after it has connected again. An old request must not be executed
 * behind a new one, so there is one connection at a time, and the next one is accepted when the
 * last command of this one has ended.
 */
#include <linux/blk_types.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include "server.h"

/**
 * struct ex_conn - a connection
 * @conn: the kit's part
 * @busy: commands that are executed
 * @idle: woken when @busy becomes 0
 */
struct ex_conn {
	struct kfi_conn		conn;
	atomic_t		busy;
	wait_queue_head_t	idle;
};

/* The connection, until it is released */
static struct ex_conn *ex_current;
static DEFINE_SPINLOCK(ex_lock);

static struct ex_conn *ex_conn(struct ex_cmd *cmd)
{
	return container_of(cmd->rx.conn, struct ex_conn, conn);
}

/*
 * The answer was posted, or can't be. kfi_conn_close() waits for the end of the RCU section, so
 * for that of the wake-up.
 */
static void ex_answered(struct kfi_rw *rw, int err)
{
	struct ex_cmd *cmd = container_of(rw, struct ex_cmd, rw);
	struct ex_conn *ec = ex_conn(cmd);

	sgl_free(cmd->sg);
	kfi_rx_done(&cmd->rx);
	rcu_read_lock();
	if (atomic_dec_and_test(&ec->busy))
		wake_up(&ec->idle);
	rcu_read_unlock();
}

/* A command has ended. Any context */
void ex_reply(struct ex_cmd *cmd, int status)
{
	bool data = status == EX_OK && le16_to_cpu(cmd->req.op) == EX_READ;

	cmd->answer = (struct ex_answer) { .tag = cmd->req.tag, .status = cpu_to_le32(status) };
	cmd->rw.done = ex_answered;
	kfi_rw_reply(&cmd->rw, cmd->sg, data ? le32_to_cpu(cmd->req.len) : 0, &cmd->answer,
		     sizeof(cmd->answer), cmd->req.len);
}

static void ex_fetched(struct kfi_rw *rw, int err)
{
	struct ex_cmd *cmd = container_of(rw, struct ex_cmd, rw);

	if (err)
		ex_reply(cmd, EX_IO);
	else
		ex_execute(cmd);
}

/* A request has arrived. Nothing in it is trusted. */
static void ex_received(struct kfid_cq *cq, struct kfi_cqe *cqe, const struct kfi_cq_err_entry *wc)
{
	struct kfi_rxbuf *rx = kfi_rx_got(cqe, wc, sizeof(struct ex_request));
	struct ex_cmd *cmd = container_of(rx, struct ex_cmd, rx);
	u32 len, op;

	if (!rx)
		return;
	cmd->req = *(struct ex_request *)rx->head;
	kfi_rw_begin(&cmd->rw, rx->conn);
	cmd->rw.key = le32_to_cpu(cmd->req.key);
	cmd->rw.addr = le64_to_cpu(cmd->req.addr);
	cmd->rw.done = ex_fetched;
	cmd->sg = NULL;
	len = le32_to_cpu(cmd->req.len);
	op = le16_to_cpu(cmd->req.op);
	atomic_inc(&ex_conn(cmd)->busy);
	if (op > EX_FLUSH || len > EX_MAX || len % SECTOR_SIZE || !len != (op == EX_FLUSH)) {
		ex_reply(cmd, EX_IO);
		return;
	}
	if (len)
		cmd->sg = sgl_alloc(len, GFP_NOIO | __GFP_NOWARN, &cmd->nents);
	if (len && !cmd->sg)
		ex_reply(cmd, EX_AGAIN);
	else if (op == EX_WRITE)
		kfi_rw_read(&cmd->rw, cmd->sg, len);
	else
		ex_execute(cmd);
}

static void ex_drop(struct ex_conn *ec)
{
	spin_lock(&ex_lock);
	ex_current = NULL;
	spin_unlock(&ex_lock);
	kfree(ec);
}

/* The connection has ended. Commands still are at the disk: their answers go nowhere. */
static void ex_release(struct kfi_conn *conn)
{
	struct ex_conn *ec = container_of(conn, struct ex_conn, conn);

	wait_event(ec->idle, !atomic_read(&ec->busy));
	kfi_conn_close(conn);
	ex_drop(ec);
}

static struct kfi_conn_ops ex_ops = { .received = ex_received, .release = ex_release };

/* Return: 0; -EBUSY if there is a connection. It ends. */
static int ex_take(struct ex_conn *ec)
{
	int ret = 0;

	spin_lock(&ex_lock);
	if (ex_current) {
		kfi_conn_fail(&ex_current->conn, -ESTALE);
		ret = -EBUSY;
	} else {
		ex_current = ec;
	}
	spin_unlock(&ex_lock);
	return ret;
}

static int ex_called(struct kfi_caller *caller)
{
	const struct ex_hello *hello = caller->data;
	struct ex_hello answer = {
		.version = cpu_to_le32(EX_VERSION), .depth = cpu_to_le32(EX_DEPTH),
		.sectors = cpu_to_le64(ex_sectors()),
	};
	const struct kfi_conn_attr attr = {
		.depth = EX_DEPTH, .spare = EX_DEPTH / 4, .rx_len = sizeof(struct ex_request),
		.rx_priv = sizeof(struct ex_cmd), .where = KFI_CONN_ROUNDS, .reclaim = true,
	};
	struct ex_conn *ec;
	int ret;

	if (caller->len < sizeof(*hello) || le32_to_cpu(hello->version) != EX_VERSION ||
	    le32_to_cpu(hello->depth) > EX_DEPTH)
		return -EPROTO;
	ec = kzalloc(sizeof(*ec), GFP_KERNEL);
	if (!ec)
		return -ENOMEM;
	init_waitqueue_head(&ec->idle);
	kfi_conn_init(&ec->conn, &ex_ops);
	ret = ex_take(ec);
	if (ret) {
		kfree(ec);
		return ret;
	}
	ret = kfi_conn_accept(&ec->conn, caller, &attr, &answer, sizeof(answer));
	if (ret)
		ex_drop(ec);
	return ret;
}

static struct kfi_listener ex_listener = { .called = ex_called, .wait = true };

int ex_listen(const char *node, const char *service)
{
	struct kfi_need need = EX_NEED;
	int ret = -ENOMEM;

	ex_ops.end_wq = alloc_workqueue("kfi_example_end", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	if (!ex_ops.end_wq)
		return ret;
	ex_ops.post_wq = alloc_workqueue("kfi_example_post",
					 WQ_MEM_RECLAIM | WQ_PERCPU | WQ_HIGHPRI, 0);
	if (!ex_ops.post_wq)
		goto end_wq;
	ret = kfi_listener_open(&ex_listener, current->nsproxy->net_ns, &need, node, service,
				THIS_MODULE);
	if (!ret)
		return 0;
	destroy_workqueue(ex_ops.post_wq);
end_wq:
	destroy_workqueue(ex_ops.end_wq);
	return ret;
}

void ex_unlisten(void)
{
	kfi_listener_close(&ex_listener);
	kfi_listener_wait(&ex_listener);
	destroy_workqueue(ex_ops.end_wq);	/* ex_release() has returned */
	destroy_workqueue(ex_ops.post_wq);
}
