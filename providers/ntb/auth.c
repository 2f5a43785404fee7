// SPDX-License-Identifier: GPL-2.0
/*
 * auth.c - the handshake of endpoints that have an authorization key.
 *
 *	HELLO, random number ->
 *			     <- CHALLENGE, random number
 *	PROOF                ->
 *			     <- ACCEPT, proof
 *
 * A proof is an HMAC of a word that says whose it is and of all that the two have said, itself excepted. Who calls proves first:
 * nobody is told of him before.
 */
#include <linux/random.h>
#include <linux/slab.h>
#include "ntb.h"

/**
 * struct nt_auth - what proofs are about
 * @hello:	as it was on the wire; @data: private data that came with it, @data_len bytes
 * @nonce:	random numbers, of who calls and of who is called
 * @asked:	the challenge has been sent, or answered
 */
struct nt_auth {
	struct ntw_call	hello;
	u8		data[NTW_DATA_MAX];
	u16		data_len;
	u8		nonce[2][NTW_AUTH_LEN];
	bool		asked;
};

static_assert(NTW_AUTH_LEN == KFI_AUTH_PROOF);

static const struct kfi_ep_attr *nt_auth_attr(const struct nt_conn *conn)
{
	return conn->nep ? conn->nep->ep.info->ep_attr : conn->npep->pep.info->ep_attr;
}

int nt_auth_new(struct nt_conn *conn)
{
	if (!nt_auth_attr(conn)->auth_key_size)
		return 0;
	conn->auth = kzalloc(sizeof(*conn->auth), GFP_NOIO);
	return conn->auth ? 0 : -ENOMEM;
}

static void nt_auth_keep(struct nt_auth *auth, const struct ntw_call *hello, const void *data, const u8 *nonce)
{
	auth->hello = *hello;
	auth->data_len = le16_to_cpu(hello->data_len);
	memcpy(auth->data, data, auth->data_len);
	memcpy(auth->nonce[0], nonce, NTW_AUTH_LEN);
}

/* @accept: what the proof comes with, and its private data; NULL: of who has called */
static void nt_auth_prove(const struct nt_conn *conn, const struct ntw_call *accept, const void *data, u8 *proof)
{
	static const char caller[] = "kfi_ntb caller", called[] = "kfi_ntb called";
	struct nt_auth *auth = conn->auth;
	struct kvec parts[] = {
		{ (void *)(accept ? called : caller), sizeof(caller) },
		{ &auth->hello, sizeof(auth->hello) },
		{ auth->data, auth->data_len },
		{ auth->nonce, sizeof(auth->nonce) },
		{ (void *)accept, sizeof(*accept) },
		{ (void *)data, accept ? le16_to_cpu(accept->data_len) : 0 },
	};

	static_assert(sizeof(caller) == sizeof(called));
	kfi_auth_proof(nt_auth_attr(conn), parts, accept ? ARRAY_SIZE(parts) : 4, proof);
}

/* What belongs behind the private data of what is about to be said. */
void nt_auth_outgoing(struct nt_conn *conn, u8 type, const struct ntw_call *call, struct nt_say *say)
{
	u8 *out = say->buf + le16_to_cpu(call->data_len);

	if (type == NTW_HELLO || type == NTW_CHALLENGE)
		get_random_bytes(out, NTW_AUTH_LEN);
	if (type == NTW_HELLO)
		nt_auth_keep(conn->auth, call, say->buf, out);
	else if (type == NTW_CHALLENGE)
		memcpy(conn->auth->nonce[1], out, NTW_AUTH_LEN);
	else
		nt_auth_prove(conn, type == NTW_ACCEPT ? call : NULL, say->buf, out);
}

static int nt_auth_check(const struct nt_conn *conn, const struct ntw_call *accept, const void *data, const u8 *in)
{
	u8 proof[NTW_AUTH_LEN];

	nt_auth_prove(conn, accept, data, proof);
	return kfi_auth_proved(proof, in, sizeof(proof)) ? 0 : -KFI_EKEYREJECTED;
}

/* Who has called is to prove himself, once. */
int nt_auth_challenged(struct nt_conn *conn, const u8 *in)
{
	struct nt_auth *auth = conn->auth;

	if (auth->asked)
		return -EPROTO;
	auth->asked = true;
	memcpy(auth->nonce[1], in, NTW_AUTH_LEN);
	return 0;
}

/* He hears an accept, whose private data is in front of @in. Who accepts without having asked knows no key. */
int nt_auth_accepted(struct nt_conn *conn, const struct ntw_call *call, const u8 *in)
{
	if (!conn->auth->asked)
		return -EPROTO;
	return nt_auth_check(conn, call, in - le16_to_cpu(call->data_len), in);
}

/* Who was called keeps what the proof will be about. */
void nt_auth_called(struct nt_conn *conn, const struct ntw_call *call, const u8 *in)
{
	nt_auth_keep(conn->auth, call, conn->data_in, in);
}

/* Return: 0: the caller has proved himself, and the handshake goes on. */
int nt_auth_proved(struct nt_conn *conn, const u8 *in)
{
	int ret;

	if (conn->auth->asked)
		return -EPROTO;
	conn->auth->asked = true;
	ret = nt_auth_check(conn, NULL, NULL, in);
	if (ret)
		nt_refuse(conn, ret);
	else
		nt_step(conn, NT_STEP_ASKED);
	return 0;
}
