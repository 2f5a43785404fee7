// SPDX-License-Identifier: GPL-2.0
/*
 * rogue.c - kfi_example_rogue.ko, a client of ulps/example that sends requests that make no sense.
 * Its init runs the cases, each a line "kfabric-rogue: ok NAME" or "not ok NAME", and fails.
 */
#include <linux/delay.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include "proto.h"

static char *server;
module_param(server, charp, 0);
MODULE_PARM_DESC(server, "address of the server to call");

static struct kfi_conn conn;
static struct kfi_dom *dom;
static struct kfi_info *info;
static struct ex_answer got;
static DECLARE_COMPLETION(answered);

static void client_received(struct kfid_cq *cq, struct kfi_cqe *cqe,
			    const struct kfi_cq_err_entry *wc)
{
	if (kfi_rx_take(cqe, wc, &got, sizeof(got)))
		complete(&answered);
}

static const struct kfi_conn_ops client_ops = { .received = client_received };

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

/* Return: the status of the answer, or a negative error. */
static s64 client_ask(const struct ex_request *req)
{
	int ret;

	reinit_completion(&answered);
	ret = kfi_conn_inject(&conn, req, sizeof(*req), 0);
	if (ret)
		return ret;
	return wait_for_completion_timeout(&answered, 20 * HZ) ? le32_to_cpu(got.status) :
								 -ETIMEDOUT;
}

#define NO_KEY	cpu_to_le32(0x12345678)

static const struct {
	const char		*name;
	struct ex_request	req;
	u32			status;
} cases[] = {
	{ "no operation", { .op = cpu_to_le16(7), .len = cpu_to_le32(512), .key = NO_KEY }, EX_IO },
	{ "a read of nothing", { .op = cpu_to_le16(EX_READ), .key = NO_KEY }, EX_IO },
	{ "a flush with data", { .op = cpu_to_le16(EX_FLUSH), .len = cpu_to_le32(512) }, EX_IO },
	{ "too much", { .op = cpu_to_le16(EX_READ), .len = cpu_to_le32(EX_MAX + 512) }, EX_IO },
	{ "half a sector", { .op = cpu_to_le16(EX_WRITE), .len = cpu_to_le32(256) }, EX_IO },
	{ "behind the end", { .op = cpu_to_le16(EX_READ), .len = cpu_to_le32(512), .key = NO_KEY,
			      .sector = cpu_to_le64(1ULL << 50) }, EX_IO },
	{ "a flush", { .op = cpu_to_le16(EX_FLUSH) }, EX_OK },
};

static void client_said(const char *name, bool ok, s64 ret)
{
	pr_info("kfabric-rogue: %s %s (%lld)\n", ok ? "ok" : "not ok", name, ret);
}

static void client_run(void)
{
	struct ex_hello hello = {
		.version = cpu_to_le32(EX_VERSION), .depth = cpu_to_le32(EX_DEPTH),
	};
	s64 ret = client_connect(&hello, sizeof(hello));
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		ret = client_ask(&cases[i].req);
		client_said(cases[i].name, ret == cases[i].status, ret);
	}
	kfi_conn_stop(&conn);
	ret = client_connect(&hello, 3);
	client_said("half a hello", ret, ret);
	hello.version = 0;
	ret = client_connect(&hello, sizeof(hello));
	client_said("another protocol", ret, ret);
}

static int __init client(void)
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

module_init(client);
MODULE_DESCRIPTION("kfabric: a client of the example that means ill");
MODULE_LICENSE("GPL");
