// SPDX-License-Identifier: GPL-2.0
/*
 * hello.c - what a peer does before there is a connection.
 */
#include <linux/delay.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <rdma/ib_cm.h>
#include "hostile.h"

#define PORT		1000
#define SILENT		12

/* A call with these bytes. Return: as hv_call(); @said: the kind of its answer, 0: none of ours */
static int call_with(const struct victim *v, const void *hello, u8 len, u8 *said, struct kvw_hello *answer)
{
	struct hv_call call = { .hello = hello, .len = len };
	struct kvw_greeting g = {};
	struct hv *hv = hv_new();
	int ret = hv ? hv_call(hv, v, &call) : -ENOMEM;

	if (hv && !kvw_decode_hello(hv->said, hv->said_len, &g) && answer)
		memcpy(answer, hv->said, sizeof(*answer));
	*said = g.kind;
	if (hv)
		hv_close(hv);
	return ret;
}

/* One byte of a hello is another one; or it is shorter. */
static const struct {
	u8 at, value, len;
} wrong_hellos[] = {
	{ 0, 0, 56 }, { 4, 0, 56 }, { 4, 2, 56 }, { 4, 3, 56 }, { 4, 4, 56 }, { 4, 5, 56 }, { 4, 6, 56 }, { 4, 255, 56 },
	{ 5, 0, 56 }, { 5, 1, 56 }, { 5, 2, 56 }, { 5, 4, 56 }, { 5, 255, 56 }, { 6, 0, 56 }, { 7, KVW_VERSION + 1, 56 }, { 7, 255, 56 },
	{ 8, 1, 56 }, { 8, 255, 56 }, { 9, 1, 56 }, { 9, 0x40, 56 }, { 9, 0x80, 56 }, { 9, 0xff, 56 }, { 11, 255, 56 },
	{ 12, 0, 56 }, { 13, 255, 56 }, { 18, 0, 56 }, { 21, 0, 56 }, { 21, 15, 56 }, { 24, 0, 56 }, { 0, 0, 1 }, { 54, 9, 8 },
};

static bool hellos(struct hostile *h)
{
	struct kvw_greeting g;
	struct kvw_hello hello;
	unsigned int i;
	bool ok = true;
	u8 said;

	for (i = 0; i < ARRAY_SIZE(wrong_hellos); i++) {
		hv_hello(&g, PORT + i);
		kvw_encode_hello(&g, &hello);
		((u8 *)&hello)[wrong_hellos[i].at] = wrong_hellos[i].value;
		if (!check(call_with(&h->v, &hello, wrong_hellos[i].len, &said, NULL) == -ECONNREFUSED && said == KVW_REJECT,
			   "a wrong hello is not refused")) {
			pr_err("hostile: wrong: byte %u is %u\n", wrong_hellos[i].at, wrong_hellos[i].value);
			ok = false;
		}
	}
	return ok;
}

/* Who has been let in and says nothing costs a place for as long as the time-out says, and nobody waits for him. */
static bool silence(struct hostile *h)
{
	struct hv *hv[SILENT] = {};
	struct victim v;
	bool ok = check(!hv_victim(&v, "10.0.0.1", false), "no endpoint");
	unsigned int i;

	for (i = 0; i < SILENT && ok; i++) {
		struct hv_call call = { .port = PORT + i, .silent = true };

		hv[i] = hv_new();
		ok = hv[i] && check(!hv_call(hv[i], &v, &call), "not let in");
	}
	if (v.info)
		ok &= check(!victim_close_in(&v, HV_WAIT_MS), "an endpoint can't be closed while somebody is silent");
	for (i = 0; i < SILENT; i++)
		if (hv[i])
			hv_close(hv[i]);
	return ok;
}

/* ---- keys ---- */

static void prove(const struct kvw_hello *hello, const struct kvw_hello *challenge, struct kvw_hello *proof)
{
	static const char caller[] = "kfi_verbs caller  ";
	struct kfi_ep_attr attr = { .auth_key = (u8 *)VICTIM_AUTH, .auth_key_size = strlen(VICTIM_AUTH) };
	struct kvec parts[] = {
		{ (void *)caller, sizeof(caller) }, { (void *)hello, sizeof(*hello) },
		{ (void *)challenge, sizeof(*challenge) }, { proof, sizeof(*proof) },
	};
	u8 whole[KFI_AUTH_PROOF];

	memset(proof->proof, 0, sizeof(proof->proof));
	kfi_auth_proof(&attr, parts, ARRAY_SIZE(parts), whole);
	memcpy(proof->proof, whole, sizeof(proof->proof));
}

/* The first half of a call with a key: we are asked for a proof, which is @proof. */
static bool challenged(const struct victim *v, u16 port, struct kvw_hello *proof)
{
	struct kvw_hello hello, challenge;
	struct kvw_greeting g;
	u8 said;

	hv_hello(&g, port);
	g.auth = true;
	kvw_encode_hello(&g, &hello);
	get_random_bytes(hello.nonce, sizeof(hello.nonce));
	if (!check(call_with(v, &hello, sizeof(hello), &said, &challenge) == -ECONNREFUSED && said == KVW_CHALLENGE,
		   "not asked for a proof"))
		return false;
	g.kind = KVW_PROOF;
	g.ticket = le16_to_cpu(challenge.ticket);
	kvw_encode_hello(&g, proof);
	prove(&hello, &challenge, proof);
	return true;
}

static bool proofs(struct hostile *h)
{
	struct kvw_hello proof;
	struct victim v;
	unsigned int i;
	u8 said;
	bool ok = check(!hv_victim(&v, "10.0.0.1", true), "no endpoint");

	for (i = 0; i < 3 && ok; i++) {
		ok = challenged(&v, PORT + i, &proof);
		if (i == 0)
			proof.proof[3] ^= 1;
		if (i == 1)
			proof.names.port ^= 1;
		if (i == 2)
			proof.ticket ^= 0x100;
		ok = ok && check(call_with(&v, &proof, sizeof(proof), &said, NULL) == -ECONNREFUSED && said == KVW_REJECT,
				 "a wrong proof is not refused");
	}
	ok = ok && challenged(&v, PORT, &proof) && check(!call_with(&v, &proof, sizeof(proof), &said, NULL), "a right one is") &&
	     check(call_with(&v, &proof, sizeof(proof), &said, NULL) == -ECONNREFUSED, "the same one is good twice");
	if (v.info)
		ok &= check(!victim_close_in(&v, HV_WAIT_MS), "an endpoint can't be closed");
	return ok;
}

/* Who has been let in asks for a proof, by a refusal: nothing that a listener has to do with. */
static bool refused(struct victim *v, u16 port, const struct kvw_hello *proof, u8 kind)
{
	struct hv_call call = { .port = port, .hello = proof, .len = proof ? sizeof(*proof) : 0, .bare = true };
	struct kvw_greeting g = { .kind = kind, .auth = kind == KVW_CHALLENGE };
	struct kvw_hello hello;
	struct hv *hv = hv_new();
	bool ok;

	kvw_encode_hello(&g, &hello);
	ok = hv && check(!hv_call(hv, v, &call), "not let in") &&
	     check(!rdma_reject(hv->id, &hello, sizeof(hello), IB_CM_REJ_CONSUMER_DEFINED), "can't refuse");
	msleep(300);
	if (hv)
		hv_close(hv);
	return ok;
}

static bool refusals(struct hostile *h)
{
	struct kvw_hello proof;
	struct victim v;
	unsigned int i;
	bool ok = check(!hv_victim(&v, "10.0.0.1", true), "no endpoint");

	for (i = 0; i < 4 && ok; i++)
		ok = challenged(&v, PORT + i, &proof) && refused(&v, PORT + i, &proof, i & 1 ? KVW_REJECT : KVW_CHALLENGE);
	if (v.info)
		ok &= check(!victim_close_in(&v, HV_WAIT_MS), "an endpoint can't be closed");
	return ok && refused(&h->v, PORT, NULL, KVW_CHALLENGE) && refused(&h->v, PORT, NULL, KVW_REJECT);
}

const struct hostile_case hello_cases[] = {
	{ "hellos",	hellos },
	{ "silence",	silence },
	{ "proofs",	proofs },
	{ "refusals",	refusals },
	{}
};
