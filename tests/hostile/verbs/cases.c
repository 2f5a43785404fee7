// SPDX-License-Identifier: GPL-2.0
/*
 * cases.c - loading the module is the test, and its result is that of insmod. It runs in the network
 * namespace of the process that loads it. The cases run one after the other; after each the
 * well-behaved peer is served as before, and so is a new one.
 */
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/vmalloc.h>
#include <rdma/ib_cm.h>
#include "hostile.h"

static char *node = "10.0.0.1";
module_param(node, charp, 0444);
MODULE_PARM_DESC(node, "an address of this namespace that an RDMA device has");

static char *only = "";
module_param(only, charp, 0444);
MODULE_PARM_DESC(only, "this case alone (default: all)");

static char *without = "";
module_param(without, charp, 0444);
MODULE_PARM_DESC(without, "not this case (default: all run)");

#define PORT_GOOD	900
#define PORT_NEW	901

bool check(bool truth, const char *what)
{
	if (!truth)
		pr_err("hostile: wrong: %s\n", what);
	return truth;
}

/* A message of this one comes. */
static bool served(struct hostile *h, struct hv *hv)
{
	struct kfw_frame f = { .type = KFW_MSG, .len = 16, .payload = 16 };
	u64 body[2] = { ++h->serial, ~h->serial };

	return check(!victim_post(&h->v), "no receive") &&
	       check(!hv_frame(hv, &f, body, sizeof(body)), "a message can't be sent") &&
	       check(!victim_done(&h->v, HV_WAIT_MS), "a message is not received") &&
	       check(!memcmp(h->v.buf, body, sizeof(body)), "another message is received");
}

bool hostile_well(struct hostile *h)
{
	struct hv *hv = hv_open(&h->v, PORT_NEW);
	bool ok = check(!IS_ERR(hv), "nobody is let in any more") && served(h, hv);

	if (!IS_ERR(hv))
		hv_close(hv);
	ok &= check(!hv_gone(h->good), "somebody else has lost his connection");
	return ok && served(h, h->good);
}

/* ---- what a peer does before there is a connection ---- */

#define PORT		1000
#define SILENT		12

/* Fronts that are refused; the answer says which version the victim speaks. */
static const struct kvw_front wrong_fronts[] = {
	{},
	{ .magic = cpu_to_le32(KVW_MAGIC) },
	{ .magic = cpu_to_le32(KVW_MAGIC + 1), .version = KVW_VERSION, .version_min = KVW_VERSION },
	{ .magic = cpu_to_le32(KVW_MAGIC), .version = 4, .version_min = 1 },
	{ .magic = cpu_to_le32(KVW_MAGIC), .version = 4, .version_min = KVW_VERSION },
	{ .magic = cpu_to_le32(KVW_MAGIC), .version = 255, .version_min = KVW_VERSION + 1 },
	{ .magic = cpu_to_le32(KVW_MAGIC), .version = 255, .version_min = 255 },
};

static bool front_is_refused(struct hostile *h, const struct kvw_front *front)
{
	struct hv_call call = { .hello = front, .len = sizeof(*front), .silent = true };
	const struct kvw_front *said;
	struct hv *hv = hv_new();
	bool ok;

	if (!check(hv, "no memory"))
		return false;
	said = (void *)hv->said;
	ok = check(hv_call(hv, &h->v, &call) == -ECONNREFUSED, "a wrong front is not refused") &&
	     check(hv->said_len >= sizeof(*said) && le32_to_cpu(said->magic) == KVW_MAGIC &&
		   said->version == KVW_VERSION, "the answer does not say the version");
	hv_close(hv);
	return ok;
}

static bool fronts(struct hostile *h)
{
	unsigned int i;
	bool ok = true;

	for (i = 0; i < ARRAY_SIZE(wrong_fronts); i++) {
		if (front_is_refused(h, &wrong_fronts[i]))
			continue;
		pr_err("hostile: wrong: front %u\n", i);
		ok = false;
	}
	return ok;
}

/* A caller that says nothing costs a place until the time-out, and nothing waits for it. */
static bool silence(struct hostile *h)
{
	struct hv *hv[SILENT] = {};
	struct victim v;
	bool ok = check(!hv_victim(&v, "10.0.0.1"), "no endpoint");
	unsigned int i;

	for (i = 0; i < SILENT && ok; i++) {
		struct hv_call call = { .port = PORT + i, .silent = true };

		hv[i] = hv_new();
		ok = hv[i] && check(!hv_call(hv[i], &v, &call), "not let in");
	}
	ok = ok && check(hv_ended(hv[0]), "a silent caller is not ended");
	if (v.info)
		ok &= check(!victim_close_in(&v, HV_WAIT_MS),
			    "an endpoint can't be closed while a caller is silent");
	for (i = 0; i < SILENT; i++)
		if (hv[i])
			hv_close(hv[i]);
	return ok;
}

/* A caller that is let in refuses in its turn, which no listener has to do with. */
static bool refusals(struct hostile *h)
{
	struct hv_call call = { .port = PORT, .bare = true };
	struct kvw_front front = {
		.magic = cpu_to_le32(KVW_MAGIC), .version = 1, .version_min = 1,
	};
	struct hv *hv = hv_new();
	bool ok;

	ok = hv && check(!hv_call(hv, &h->v, &call), "not let in") &&
	     check(!rdma_reject(hv->id, &front, sizeof(front), IB_CM_REJ_CONSUMER_DEFINED),
		   "can't refuse");
	msleep(300);
	if (hv)
		hv_close(hv);
	return ok;
}

static const struct hostile_case hello_cases[] = {
	{ "fronts",	fronts },
	{ "silence",	silence },
	{ "refusals",	refusals },
	{}
};

static unsigned int run_cases(struct hostile *h, const struct hostile_case *c, unsigned int *ran)
{
	unsigned int wrong = 0;
	bool ok;

	for (; c->name; c++) {
		if ((*only && strcmp(only, c->name)) || !strcmp(without, c->name))
			continue;
		pr_info("hostile: begin %s\n", c->name);
		ok = c->run(h);
		ok &= hostile_well(h);
		pr_info("hostile: %s %s\n", ok ? "ok" : "FAILED", c->name);
		wrong += !ok;
		++*ran;
	}
	return wrong;
}

static unsigned int run_all(struct hostile *h)
{
	unsigned int wrong, ran = 0;

	h->good = hv_open(&h->v, PORT_GOOD);
	if (!check(!IS_ERR(h->good), "nobody is let in"))
		return 1;
	wrong = run_cases(h, hello_cases, &ran);
	wrong += run_cases(h, head_cases, &ran);
	wrong += run_cases(h, place_cases, &ran);
	wrong += run_cases(h, plain_cases, &ran);
	hv_close(h->good);
	return check(ran, "no such case") ? wrong : 1;
}

int hv_victim(struct victim *v, const char *node)
{
	struct victim_attr attr = {
		.provider = "verbs", .node = node,
		.buf_len = VICTIM_BUF, .cq_size = 256,
	};

	return victim_open(v, &attr);
}

kfi_addr_t hv_knows(struct victim *v, u16 port)
{
	struct sockaddr_in name = *(struct sockaddr_in *)v->name;

	name.sin_port = cpu_to_be16(port);
	return victim_knows(v, &name);
}

static int __init hostile_init(void)
{
	struct hostile h = { .mem = vzalloc(VICTIM_MEM) };
	int wrong = 1, ret;

	if (check(h.mem && !hv_victim(&h.v, node), "no endpoint")) {
		ret = victim_region(&h.v, h.mem, VICTIM_MEM, KFI_REMOTE_READ | KFI_REMOTE_WRITE, VICTIM_KEY);
		wrong = check(!ret, "no region") ? run_all(&h) : 1;
		if (!check(!victim_close_in(&h.v, HV_WAIT_MS), "an endpoint can't be closed"))
			wrong++;
	}
	vfree(h.mem);
	return wrong ? -EIO : 0;
}

static void __exit hostile_exit(void)
{
}

module_init(hostile_init);
module_exit(hostile_exit);
MODULE_DESCRIPTION("a hostile peer of kfi_verbs");
MODULE_LICENSE("GPL");
