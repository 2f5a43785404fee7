// SPDX-License-Identifier: GPL-2.0
/*
 * auth.c - the handshake of endpoints that have an authorization key.
 *
 *	HELLO, random number	------------>
 *				<------------	refused: CHALLENGE, random number
 *	another call: PROOF	------------>	now the listener knows him, and goes on as without keys
 *				<------------	ACCEPT, proof
 *
 * A request has too little room for both a random number and a proof, and there is no queue pair to talk over before it is
 * accepted: a listener has none of its own. So who calls does it twice, the first time with a queue pair for nothing.
 *
 * A proof is an HMAC of a word that says whose it is and of all that the two have said, itself excepted; each has put a random
 * number of his own into it. Who calls proves first: nobody is told of him before. A challenge is good for one call, so the
 * comparison of a proof need not hide where it fails, and a guess at the part of it that a request has room for is one try.
 *
 * Until its proof was found good the peer has no credit, so there is nothing of it that could reach a receive (kv_conn_open()), for
 * credit is looked at first until the connection is ready (kv_rx_is_plain()); and it has been told no key of a region.
 */
#include <linux/net.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <rdma/ib_cm.h>
#include <rdma/rdma_cm.h>
#include "verbs.h"

/**
 * struct kv_auth - what proofs are about
 * @entry:	in &kv_door.challenges, until the call with the proof comes
 * @hello: @challenge: @proof: as they were on the wire, in this order
 * @asked:	who calls: he has been
 */
struct kv_auth {
	struct list_head	entry;
	struct kvw_hello	hello;
	struct kvw_hello	challenge;
	struct kvw_hello	proof;
	bool			asked;
};

static_assert(KVW_NONCE == KFI_AUTH_PROOF);
static_assert(offsetof(struct kv_auth, proof) == offsetof(struct kv_auth, hello) + 2 * sizeof(struct kvw_hello));

static const struct kfi_ep_attr *kv_auth_attr(const struct kv_conn *conn)
{
	return conn->vep ? conn->vep->ep.info->ep_attr : conn->pep->pep.info->ep_attr;
}

void kv_auth_warn(const void *name)
{
	net_warn_ratelimited("kfi_verbs: %pISpc has another authorization key, or only one side has any\n", name);
}

/* @last is what it comes with. The listener's is about the caller's proof, too. */
static void kv_auth_prove(const struct kv_conn *conn, const struct kv_auth *auth, const struct kvw_hello *last, u8 *proof)
{
	static const char caller[] = "kfi_verbs caller  ", listener[] = "kfi_verbs listener";
	bool accept = last->kind == KVW_ACCEPT;
	struct kvec parts[] = {
		{ (void *)(accept ? listener : caller), sizeof(caller) },
		{ (void *)&auth->hello, (accept ? 3 : 2) * sizeof(auth->hello) },
		{ (void *)last, sizeof(*last) },
	};

	static_assert(sizeof(caller) == sizeof(listener));
	kfi_auth_proof(kv_auth_attr(conn), parts, ARRAY_SIZE(parts), proof);
}

/* Of what is in front of the proof and behind it. */
static void kv_auth_prove_call(const struct kv_conn *conn, const struct kv_auth *auth, const struct kvw_hello *call, u8 *proof)
{
	struct kvw_hello blank = *call;
	u8 whole[KFI_AUTH_PROOF];

	memset(blank.proof, 0, sizeof(blank.proof));
	kv_auth_prove(conn, auth, &blank, whole);
	memcpy(proof, whole, KVW_PROOF_LEN);
}

/* ---- who calls ---- */

int kv_auth_new(struct kv_conn *conn)
{
	if (!kv_auth_attr(conn)->auth_key_size)
		return 0;
	conn->auth = kzalloc(sizeof(*conn->auth), GFP_NOIO);
	return conn->auth ? 0 : -ENOMEM;
}

u8 kv_auth_kind(const struct kv_conn *conn)
{
	return conn->auth && conn->auth->asked ? KVW_PROOF : KVW_HELLO;
}

u16 kv_auth_ticket(const struct kv_conn *conn)
{
	return le16_to_cpu(conn->auth->challenge.ticket);
}

/* What is about to be said by somebody with a key. Return: its bytes. */
size_t kv_auth_outgoing(struct kv_conn *conn, struct kvw_accept *say)
{
	struct kv_auth *auth = conn->auth;

	switch (say->hello.kind) {
	case KVW_HELLO:
		get_random_bytes(say->hello.nonce, KVW_NONCE);
		auth->hello = say->hello;
		break;
	case KVW_PROOF:
		kv_auth_prove_call(conn, auth, &say->hello, say->hello.proof);
		auth->proof = say->hello;
		break;
	case KVW_ACCEPT:
		kv_auth_prove(conn, auth, &say->hello, say->proof);
		return sizeof(*say);
	}
	return sizeof(say->hello);
}

/* Our call was refused with a challenge. Return: 0: call again. */
int kv_auth_challenged(struct kv_conn *conn, const struct kvw_hello *challenge)
{
	struct kv_auth *auth = conn->auth;

	if (!auth)
		return -KFI_EKEYREJECTED;
	if (auth->asked)
		return -EPROTO;
	auth->challenge = *challenge;
	auth->asked = true;
	return 0;
}

/* Our call was accepted, by somebody who has our key? */
int kv_auth_accepted(struct kv_conn *conn, const struct kvw_accept *said)
{
	u8 proof[KFI_AUTH_PROOF];

	if (conn->greeting.auth != !!conn->auth)
		return -KFI_EKEYREJECTED;
	if (!conn->auth)
		return 0;
	if (!conn->auth->asked)
		return -EPROTO;
	kv_auth_prove(conn, conn->auth, &said->hello, proof);
	return kfi_auth_proved(proof, said->proof, sizeof(proof)) ? 0 : -KFI_EKEYREJECTED;
}

/* ---- who listens ---- */

void kv_door_init(struct kv_door *door)
{
	spin_lock_init(&door->lock);
	INIT_LIST_HEAD(&door->challenges);
}

/* Nobody calls any more. */
void kv_door_close(struct kv_door *door)
{
	struct kv_auth *auth, *next;

	list_for_each_entry_safe(auth, next, &door->challenges, entry)
		kfree(auth);
	INIT_LIST_HEAD(&door->challenges);
}

/* Who asks and does not come back costs the oldest of those that have not, either. */
static u16 kv_door_keep(struct kv_door *door, struct kv_auth *auth)
{
	struct kv_auth *old = NULL;
	u16 ticket;

	spin_lock_bh(&door->lock);
	ticket = door->ticket++;
	auth->challenge.ticket = cpu_to_le16(ticket);
	list_add_tail(&auth->entry, &door->challenges);
	if (door->nchallenges < kv_backlog)
		door->nchallenges++;
	else
		old = list_first_entry(&door->challenges, struct kv_auth, entry);
	if (old)
		list_del(&old->entry);
	spin_unlock_bh(&door->lock);
	kfree(old);
	return ticket;
}

static struct kv_auth *kv_door_find(struct kv_door *door, __le16 ticket)
{
	struct kv_auth *auth, *found = NULL;

	spin_lock_bh(&door->lock);
	list_for_each_entry(auth, &door->challenges, entry)
		if (auth->challenge.ticket == ticket)
			found = auth;
	if (found) {
		list_del(&found->entry);
		door->nchallenges--;
	}
	spin_unlock_bh(&door->lock);
	return found;
}

static int kv_door_ask(struct kv_door *door, struct rdma_cm_id *id, const struct kvw_hello *hello)
{
	struct kv_auth *auth = kzalloc(sizeof(*auth), GFP_NOIO);
	struct kvw_greeting g = { .kind = KVW_CHALLENGE, .auth = true };
	struct kvw_hello challenge;

	if (!auth)
		return -ENOMEM;
	kvw_encode_hello(&g, &challenge);
	get_random_bytes(challenge.nonce, KVW_NONCE);
	auth->hello = *hello;
	auth->challenge = challenge;
	challenge.ticket = cpu_to_le16(kv_door_keep(door, auth));
	rdma_reject(id, &challenge, sizeof(challenge), IB_CM_REJ_CONSUMER_DEFINED);
	return -EINPROGRESS;
}

/* Of the hello that the call began with, what the proof has no room for. */
static void kv_door_recall(struct kvw_greeting *g, const struct kvw_hello *hello)
{
	struct kvw_greeting first;

	kvw_decode_hello(hello, sizeof(*hello), &first);	/* it could be the first time */
	memcpy(g->window, first.window, sizeof(g->window));
	g->answers = first.answers;
	g->packet = first.packet;
}

static int kv_door_check(struct kv_door *door, struct kv_conn *conn, const struct kvw_hello *hello)
{
	struct kv_auth *auth = kv_door_find(door, hello->ticket);
	u8 proof[KVW_PROOF_LEN];

	if (!auth)
		return -ECONNREFUSED;
	kv_auth_prove_call(conn, auth, hello, proof);
	if (!kfi_auth_proved(proof, hello->proof, sizeof(proof))) {
		kfree(auth);
		return -KFI_EKEYREJECTED;
	}
	auth->proof = *hello;
	conn->auth = auth;
	kv_door_recall(&conn->greeting, &auth->hello);
	return 0;
}

/*
 * Somebody calls, by @hello. Return: 0: he may; -EINPROGRESS: he has been refused, and asked for a proof; others: a reason to refuse
 * him.
 */
int kv_auth_called(struct kv_conn *conn, struct kv_door *door, struct rdma_cm_id *id, const struct kvw_hello *hello)
{
	if (conn->greeting.auth != !!kv_auth_attr(conn)->auth_key_size)
		return -KFI_EKEYREJECTED;
	if (!conn->greeting.auth)
		return 0;
	return conn->greeting.kind == KVW_PROOF ? kv_door_check(door, conn, hello) : kv_door_ask(door, id, hello);
}
