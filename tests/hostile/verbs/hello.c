// SPDX-License-Identifier: GPL-2.0
/*
 * hello.c - what a peer does before there is a connection.
 */
#include <linux/delay.h>
#include <rdma/ib_cm.h>
#include "hostile.h"

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

const struct hostile_case hello_cases[] = {
	{ "fronts",	fronts },
	{ "silence",	silence },
	{ "refusals",	refusals },
	{}
};
