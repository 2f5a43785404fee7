// SPDX-License-Identifier: GPL-2.0
/*
 * main.c - loading the module runs the cases; insmod returns the result. Each case has its own
 * victim. After each case a well-behaved peer has to be served.
 */
#include <linux/module.h>
#include <kfi_endpoint.h>
#include <kfi_tagged.h>
#include "hostile.h"

static char *only = "";
module_param(only, charp, 0444);
MODULE_PARM_DESC(only, "run this case alone (default: all)");

bool check(bool truth, const char *what)
{
	if (!truth)
		pr_err("hostile: wrong: %s\n", what);
	return truth;
}

int hs_victim(struct victim *v, enum kfi_ep_type type, bool av_only)
{
	const struct victim_attr attr = {
		.provider = "sockets",
		.node = "127.0.0.1",
		.type = type,
		.av_only = av_only,
		.buf_len = VICTIM_BUF,
		.cq_size = 4096,
		.caps = type == KFI_EP_DGRAM ? KFI_MSG : KFI_MSG | KFI_TAGGED | KFI_RMA,
	};

	return victim_open(v, &attr);
}

int hs_post(struct victim *v, u64 tag, void *context)
{
	return kfi_trecv(v->ep, v->buf, v->buf_len, NULL, KFI_ADDR_UNSPEC, tag, 0, context);
}

kfi_addr_t hs_known(struct victim *v, u8 node, u16 port)
{
	struct sockaddr_in name = {
		.sin_family = AF_INET, .sin_port = cpu_to_be16(port),
		.sin_addr.s_addr = cpu_to_be32(INADDR_LOOPBACK - 1 + node),
	};

	return victim_knows(v, &name);
}

/* A message of a well-behaved peer is received. */
static bool hostile_served(struct victim *v)
{
	const struct hs_call call = { .node = 200, .port = 700 };
	struct kfw_hdr msg = { .type = KFW_MSG, .flags = KFW_F_TAGGED, .tag = cpu_to_le64(0x600d) };
	struct hs *hs = hs_open(v, &call);
	void *context;
	bool ok;
	int x;

	if (!check(!IS_ERR(hs), "a well-behaved peer is not admitted"))
		return false;
	ok = check(!hs_post(v, 0x600d, &x), "no receive can be posted") &&
	     check(!hs_send(hs, &msg, 100), "a well-behaved peer can't send") &&
	     check(!victim_ended(v, HS_WAIT_MS, &context) && context == &x,
		   "a well-behaved peer is not served");
	hs_close(hs);
	return ok;
}

static bool hostile_run(const struct hostile_case *c)
{
	struct victim v;
	bool ok;

	pr_info("hostile: begin %s\n", c->name);
	if (!check(!hs_victim(&v, KFI_EP_RDM, false), "no endpoint"))
		return false;
	ok = c->run(&v);
	ok = ok && (c->stopped || hostile_served(&v));
	victim_close(&v);
	pr_info("hostile: %s %s\n", ok ? "ok" : "FAILED", c->name);
	return ok;
}

static int __init hostile_init(void)
{
	const struct hostile_case *c;
	unsigned int ran = 0;
	bool ok = true;

	for (c = hostile_cases; c->name; c++) {
		if (*only ? strcmp(only, c->name) : c->stopped || c->patient)
			continue;
		ok &= hostile_run(c);
		ran++;
	}
	return check(ran, "no such case") && ok ? 0 : -EIO;
}

static void __exit hostile_exit(void)
{
}

module_init(hostile_init);
module_exit(hostile_exit);
MODULE_DESCRIPTION("a hostile peer of kfi_sockets");
MODULE_LICENSE("GPL");
