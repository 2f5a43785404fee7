// SPDX-License-Identifier: GPL-2.0
/*
 * rogue.c - kfi_example_rogue.ko: a server and a client of ulps/example that mean ill. What the kit
 * proves with them holds for every ULP that uses it: answers that are lost, early, doubled, foreign
 * or malformed, foreign keys, requests that make no sense.
 *
 * As a server (node=...) it answers READs with zeros, and each request whose number is in the list
 * of lies with a lie, after which the client has to end the connection. As a client (server=...)
 * its init runs the cases, each a line "kfabric-rogue: ok NAME" or "not ok NAME", and fails.
 */
#include <linux/blk_types.h>
#include <linux/delay.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <kfi_req.h>
#include <kfi_rw.h>
#include "proto.h"

static char *node, *server;
module_param(node, charp, 0);
MODULE_PARM_DESC(node, "address to listen at");
module_param(server, charp, 0);
MODULE_PARM_DESC(server, "address of the server to call");

static unsigned int calls, told;
module_param(calls, uint, 0444);
MODULE_PARM_DESC(calls, "connections that were accepted");
module_param(told, uint, 0444);
MODULE_PARM_DESC(told, "lies that were told");

static struct workqueue_struct *end_wq, *post_wq;

/* ---- the server ---- */

enum lie { TWICE, NO_REQUEST, NO_TAG, TOO_SHORT, TOO_LONG, FOREIGN_KEY, NO_ANSWER, LIES };

struct rogue_cmd {
	struct kfi_rxbuf	rx;
	struct kfi_rw		rw;
	struct ex_request	req;
	u8			answer[64];
	struct scatterlist	sg;
};

static void *zeros;
static unsigned int requests;

static void rogue_answered(struct kfi_rw *rw, int err)
{
	kfi_rx_done(&container_of(rw, struct rogue_cmd, rw)->rx);
}

/* One lie after eight true answers, each once */
static void rogue_received(struct kfid_cq *cq, struct kfi_cqe *cqe,
			   const struct kfi_cq_err_entry *wc)
{
	struct kfi_rxbuf *rx = kfi_rx_got(cqe, wc, sizeof(struct ex_request));
	struct rogue_cmd *cmd = container_of(rx, struct rogue_cmd, rx);
	struct ex_answer *answer;
	unsigned int len = sizeof(*answer), lie = LIES;

	if (!rx)
		return;
	cmd->req = *(struct ex_request *)rx->head;
	answer = (void *)cmd->answer;
	memset(cmd->answer, 0, sizeof(cmd->answer));
	answer->tag = cmd->req.tag;
	kfi_rw_begin(&cmd->rw, rx->conn);
	cmd->rw.key = le32_to_cpu(cmd->req.key);
	cmd->rw.addr = le64_to_cpu(cmd->req.addr);
	cmd->rw.done = rogue_answered;
	sg_init_one(&cmd->sg, zeros, PAGE_SIZE);
	if (++requests % 8 == 0 && told < LIES)
		lie = told++;
	switch (lie) {
	case TWICE:
		kfi_conn_inject(rx->conn, answer, len, 0);
		break;
	case NO_REQUEST:
		answer->tag = cpu_to_le16((le16_to_cpu(answer->tag) + EX_DEPTH / 2) % EX_DEPTH);
		break;
	case NO_TAG:
		answer->tag = cpu_to_le16(EX_DEPTH);
		break;
	case TOO_SHORT:
		len -= 4;
		break;
	case TOO_LONG:
		len = 24;
		break;
	case FOREIGN_KEY:
		cmd->rw.key++;
		kfi_rw_reply(&cmd->rw, NULL, 0, answer, len, true);
		return;
	case NO_ANSWER:
		kfi_conn_fail(rx->conn, -ECONNRESET);
		return;
	}
	/* every second time the client has to end its region */
	kfi_rw_reply(&cmd->rw, &cmd->sg,
		     lie == LIES ? min_t(u32, le32_to_cpu(cmd->req.len), PAGE_SIZE) : 0,
		     answer, len, requests % 2 && cmd->req.key);
}

static void rogue_release(struct kfi_conn *conn)
{
	kfi_conn_close(conn);
	kfree(conn);
}

static struct kfi_conn_ops server_ops = { .received = rogue_received, .release = rogue_release };

static int rogue_called(struct kfi_caller *caller)
{
	const struct ex_hello answer = {
		.version = cpu_to_le32(EX_VERSION), .depth = cpu_to_le32(EX_DEPTH),
		.sectors = cpu_to_le64(SZ_1M >> SECTOR_SHIFT),
	};
	const struct kfi_conn_attr attr = {
		.depth = EX_DEPTH, .spare = EX_DEPTH, .rx_len = sizeof(struct ex_request),
		.rx_priv = sizeof(struct rogue_cmd), .where = KFI_CONN_WORK,
	};
	struct kfi_conn *conn = kzalloc(sizeof(*conn), GFP_KERNEL | __GFP_NOFAIL);
	int ret;

	calls++;
	kfi_conn_init(conn, &server_ops);
	ret = kfi_conn_accept(conn, caller, &attr, &answer, sizeof(answer));
	if (ret)
		kfree(conn);
	return ret;
}

static struct kfi_listener listener = { .called = rogue_called };

/* ---- the client ---- */

static struct kfi_conn conn;
static struct kfi_dom *dom;
static struct kfi_info *info;
static struct ex_answer got;
static DECLARE_COMPLETION(answered);

/* A message, a loss: whatever happens */
static void client_received(struct kfid_cq *cq, struct kfi_cqe *cqe,
			    const struct kfi_cq_err_entry *wc)
{
	if (kfi_rx_take(cqe, wc, &got, sizeof(got)))
		complete(&answered);
}

static void client_lost(struct kfi_conn *c, int err)
{
	got.status = cpu_to_le32(U32_MAX);
	complete(&answered);
}

static const struct kfi_conn_ops client_ops = { .received = client_received, .lost = client_lost };

/* The server has one connection at a time: a call while the last one ends is refused. */
static int client_connect(const struct ex_hello *hello, size_t len)
{
	const struct kfi_conn_attr attr = {
		.depth = EX_DEPTH, .rx_len = sizeof(struct ex_answer), .where = KFI_CONN_SOFTIRQ,
	};
	int ret = -EIO, i;

	for (i = 0; i < 100 && ret; i++) {
		ret = kfi_conn_open(&conn, dom, info, &attr) ?:
		      kfi_conn_connect(&conn, info->dest_addr, hello, len, NULL, NULL, 10000);
		if (ret != -ECONNREFUSED)
			break;
		msleep(50);
	}
	return ret;
}

/*
 * Send @len bytes of @req. Return: the status; U32_MAX if the connection ends, which with @loss is
 * awaited, as there may be an answer before; or -ETIMEDOUT.
 */
static s64 client_ask(const struct ex_request *req, size_t len, bool loss)
{
	reinit_completion(&answered);
	if (kfi_conn_inject(&conn, req, len, 0))
		return U32_MAX;
	do {
		if (!wait_for_completion_timeout(&answered, 20 * HZ))
			return -ETIMEDOUT;
	} while (loss && le32_to_cpu(READ_ONCE(got.status)) != U32_MAX);
	return le32_to_cpu(got.status);
}

#define NO_KEY	cpu_to_le32(0x12345678)

static const struct {
	const char		*name;
	struct ex_request	req;
	size_t			len;
	u32			status;
} cases[] = {
	{ "no operation", { .op = cpu_to_le16(7), .len = cpu_to_le32(512), .key = NO_KEY }, 32,
	  EX_IO },
	{ "a read of nothing", { .op = cpu_to_le16(EX_READ), .key = NO_KEY }, 32, EX_IO },
	{ "a flush with data", { .op = cpu_to_le16(EX_FLUSH), .len = cpu_to_le32(512) }, 32,
	  EX_IO },
	{ "too much", { .op = cpu_to_le16(EX_READ), .len = cpu_to_le32(EX_MAX + 512) }, 32, EX_IO },
	{ "half a sector", { .op = cpu_to_le16(EX_WRITE), .len = cpu_to_le32(256) }, 32, EX_IO },
	{ "behind the end", { .op = cpu_to_le16(EX_READ), .len = cpu_to_le32(512), .key = NO_KEY,
			      .sector = cpu_to_le64(1ULL << 50) }, 32, EX_IO },
	{ "data from no region", { .op = cpu_to_le16(EX_WRITE), .len = cpu_to_le32(512),
				   .key = NO_KEY }, 32, EX_IO },
	{ "data to no region", { .op = cpu_to_le16(EX_READ), .len = cpu_to_le32(512),
				 .key = NO_KEY }, 32, U32_MAX },
	{ "a short request", { .op = cpu_to_le16(EX_READ) }, 31, U32_MAX },
	{ "a flush", { .op = cpu_to_le16(EX_FLUSH) }, 32, EX_OK },
};

static void client_run(void)
{
	struct ex_hello hello = {
		.version = cpu_to_le32(EX_VERSION), .depth = cpu_to_le32(EX_DEPTH),
	};
	const char *said;
	unsigned int i;
	s64 ret;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		ret = client_connect(&hello, sizeof(hello));
		if (!ret)
			ret = client_ask(&cases[i].req, cases[i].len,
					 cases[i].status == U32_MAX);
		said = "not ok";
		if (ret == cases[i].status)
			said = "ok";
		pr_info("kfabric-rogue: %s %s (%lld)\n", said, cases[i].name, ret);
		kfi_conn_stop(&conn);
	}
	hello.version = 0;
	ret = client_connect(&hello, sizeof(hello)) ?: client_connect(&hello, 3);
	pr_info("kfabric-rogue: %s another protocol (%lld)\n", ret ? "ok" : "not ok", ret);
}

static int client(void)
{
	struct kfi_need need = EX_NEED;
	int ret = kfi_find(current->nsproxy->net_ns, &need, NULL, server, EX_SERVICE, &info);

	if (ret)
		return ret;
	dom = kfi_dom_get(current->nsproxy->net_ns, info, THIS_MODULE);
	if (!IS_ERR(dom)) {
		kfi_conn_init(&conn, &client_ops);
		client_run();
		kfi_conn_close(&conn);
		kfi_dom_put(dom);
	}
	kfi_freeinfo(info);
	return -EAGAIN;		/* the module does not stay */
}

/* ---- the module ---- */

static int __init rogue_init(void)
{
	struct kfi_need need = EX_NEED;
	int ret = -ENOMEM;

	if (server)
		return client();
	end_wq = alloc_workqueue("rogue_end", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	post_wq = alloc_workqueue("rogue_post", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	zeros = (void *)get_zeroed_page(GFP_KERNEL);
	if (!end_wq || !post_wq || !zeros)
		goto free;
	server_ops.end_wq = end_wq;
	server_ops.post_wq = post_wq;
	ret = kfi_listener_open(&listener, current->nsproxy->net_ns, &need, node, EX_SERVICE,
				THIS_MODULE);
	if (!ret)
		return 0;
free:
	free_page((unsigned long)zeros);
	if (post_wq)
		destroy_workqueue(post_wq);
	if (end_wq)
		destroy_workqueue(end_wq);
	return ret;
}

static void __exit rogue_exit(void)
{
	kfi_listener_close(&listener);
	kfi_listener_wait(&listener);
	destroy_workqueue(end_wq);
	destroy_workqueue(post_wq);
	free_page((unsigned long)zeros);
}

module_init(rogue_init);
module_exit(rogue_exit);
MODULE_DESCRIPTION("kfabric: peers of the example that mean ill");
MODULE_LICENSE("GPL");
