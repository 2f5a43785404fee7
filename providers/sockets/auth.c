// SPDX-License-Identifier: GPL-2.0
/*
 * auth.c - the handshake of endpoints that have an authorization key.
 *
 *	HELLO, random number ->
 *			     <- CHALLENGE, random number
 *	PROOF                ->
 *			     <- ACCEPT, proof
 *
 * A proof is an HMAC of a word that says whose it is, the hello with its private data, and both random numbers; the accepting
 * side's is over its accept, too. Who connects proves first: nobody is told of him before, and nothing of his is kept
 * but this. A proof is good for one handshake, so its comparison need not hide where it fails.
 */
#include <linux/random.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include "sock.h"

/**
 * struct ks_auth - what a proof is about
 * @hello:	as it was on the wire
 * @data:	private data that came with it, @data_len bytes
 * @nonce:	random numbers, of the side that connects and the other
 * @asked:	the challenge has been sent, or answered
 * @greeting:	accepting side: the hello, until its sender has proved himself
 */
struct ks_auth {
	struct skw_hello	hello;
	u8			data[SKW_DATA_MAX];
	u16			data_len;
	u8			nonce[2][SKW_AUTH_LEN];
	bool			asked;
	struct skw_greeting	greeting;
};

static_assert(SKW_AUTH_LEN == KFI_AUTH_PROOF);

static const struct kfi_ep_attr *ks_auth_attr(const struct ks_conn *conn)
{
	return conn->sep ? conn->sep->ep.info->ep_attr : conn->pep->pep.info->ep_attr;
}

int ks_auth_new(struct ks_conn *conn)
{
	if (!ks_auth_attr(conn)->auth_key_size)
		return 0;
	conn->auth = kzalloc(sizeof(*conn->auth), GFP_NOIO);
	return conn->auth ? 0 : -ENOMEM;
}

static void ks_auth_keep(struct ks_auth *auth, const struct skw_hello *hello, const void *data, size_t len)
{
	auth->hello = *hello;
	memcpy(auth->data, data, len);
	auth->data_len = len;
}

static void ks_auth_prove(struct ks_conn *conn, u8 kind, const struct skw_hello *last, const void *data, u8 *proof)
{
	static const char connector[] = "kfi_sockets connector", acceptor[] = "kfi_sockets accepting";
	struct ks_auth *auth = conn->auth;
	bool accept = kind == SKW_ACCEPT;
	struct kvec parts[] = {
		{ (void *)(accept ? acceptor : connector), sizeof(connector) },
		{ &auth->hello, sizeof(auth->hello) },
		{ auth->data, auth->data_len },
		{ auth->nonce, sizeof(auth->nonce) },
		{ (void *)last, sizeof(*last) },
		{ (void *)data, le16_to_cpu(last->data_len) },
	};

	static_assert(sizeof(connector) == sizeof(acceptor));
	kfi_auth_proof(ks_auth_attr(conn), parts, accept ? ARRAY_SIZE(parts) : 4, proof);
}

void ks_auth_outgoing(struct ks_conn *conn, const struct skw_hello *hello)
{
	struct ks_auth *auth = conn->auth;

	switch (hello->kind) {
	case SKW_HELLO:
		ks_auth_keep(auth, hello, conn->data_out, conn->data_out_len);
		get_random_bytes(auth->nonce[0], SKW_AUTH_LEN);
		memcpy(conn->auth_out, auth->nonce[0], SKW_AUTH_LEN);
		break;
	case SKW_CHALLENGE:
		get_random_bytes(auth->nonce[1], SKW_AUTH_LEN);
		memcpy(conn->auth_out, auth->nonce[1], SKW_AUTH_LEN);
		break;
	default:
		ks_auth_prove(conn, hello->kind, hello, conn->data_out, conn->auth_out);
	}
}

/* Does what has come prove that the peer has our key? */
static int ks_auth_check(struct ks_conn *conn)
{
	u8 proof[SKW_AUTH_LEN];

	if (!conn->auth->asked)
		return -EPROTO;
	ks_auth_prove(conn, conn->greeting.kind, &conn->hello_in, conn->data_in, proof);
	return kfi_auth_proved(proof, conn->auth_in, sizeof(proof)) ? 0 : -KFI_EKEYREJECTED;
}

/* The side that has connected. Return: 0 the peer's accept is good; -EAGAIN: it was a challenge, and is answered. */
int ks_auth_answered(struct ks_conn *conn)
{
	struct ks_auth *auth = conn->auth;
	int ret;

	if (conn->greeting.kind != SKW_CHALLENGE)
		return ks_auth_check(conn);
	if (auth->asked)
		return -EPROTO;
	auth->asked = true;
	memcpy(auth->nonce[1], conn->auth_in, SKW_AUTH_LEN);
	conn->hello_have = 0;
	ret = ks_greet_say(conn, SKW_PROOF);
	return ret ?: -EAGAIN;
}

/* The other side. Return: 0 the peer has proved himself, his hello is where it was; -EAGAIN: he has been asked to. */
int ks_auth_asked(struct ks_conn *conn)
{
	struct ks_auth *auth = conn->auth;
	int ret;

	if (conn->greeting.kind == SKW_PROOF) {
		ret = ks_auth_check(conn);
		conn->greeting = auth->greeting;
		return ret;
	}
	if (auth->asked || conn->greeting.kind != SKW_HELLO)
		return -EPROTO;
	auth->asked = true;
	auth->greeting = conn->greeting;
	ks_auth_keep(auth, &conn->hello_in, conn->data_in, conn->greeting.data_len);
	memcpy(auth->nonce[0], conn->auth_in, SKW_AUTH_LEN);
	conn->hello_have = 0;
	ret = ks_greet_say(conn, SKW_CHALLENGE);
	return ret ?: -EAGAIN;
}
