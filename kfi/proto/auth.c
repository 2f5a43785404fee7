// SPDX-License-Identifier: GPL-2.0
/*
 * auth.c - the handshake of endpoints that have an authorization key.
 *
 *	connecting side			accepting side
 *	HELLO, random number	->
 *				<-	CHALLENGE, random number
 *	PROOF			->
 *				<-	ACCEPT, proof
 *
 * A proof is an HMAC over a label that names the side, the names of both sides, all hellos so far
 * with their private data, and both random numbers. It is valid for one handshake, and only between
 * the two sides that mean each other: a caller that has no key can't pass a proof on to another
 * endpoint with the key, or back to the endpoint that has sent it.
 *
 * The connecting side sends its proof first. Before the proof is checked no consumer gets the
 * request, and only struct kfp_auth is allocated for it. Each side that sends a proof lets its
 * peer test guesses of the key without further messages. In this order only an acceptor at the name
 * of a peer can do so, while in the other order each caller could.
 */
#include <linux/random.h>
#include <linux/string.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include "conn.h"
#include "proof.h"

/**
 * struct kfp_auth - contents of the proofs
 * @hello: the HELLO as it was sent
 * @data: private data of the HELLO
 * @data_len: bytes at @data
 * @challenge: the CHALLENGE as it was sent
 * @nonce: random numbers of the connecting and of the accepting side
 * @challenged: the CHALLENGE was sent, or answered
 * @hello_info: accepting side: the decoded HELLO, until the proof of the caller was checked
 */
struct kfp_auth {
	struct kfw_hello	hello;
	u8			data[KFW_DATA_MAX];
	u16			data_len;
	struct kfw_hello	challenge;
	u8			nonce[2][KFW_AUTH_LEN];
	bool			challenged;
	struct kfw_hello_info	hello_info;
};

static_assert(KFW_AUTH_LEN == KFI_AUTH_PROOF);

static const struct kfi_ep_attr *kfp_auth_attr(const struct kfp_conn *conn)
{
	return conn->ep ? conn->ep->ep.info->ep_attr : conn->pep->pep.info->ep_attr;
}

int kfp_auth_new(struct kfp_conn *conn)
{
	if (!kfp_auth_attr(conn)->auth_key_size)
		return 0;
	conn->auth = kzalloc(sizeof(*conn->auth), GFP_NOIO);
	return conn->auth ? 0 : -ENOMEM;
}

static void kfp_auth_keep(struct kfp_auth *auth, const struct kfw_hello *hello, const void *data,
			  size_t len)
{
	auth->hello = *hello;
	memcpy(auth->data, data, len);
	auth->data_len = len;
}

/*
 * Write the names of both sides, that of the connecting side first, in the form that is the same on
 * both sides. Return: their length.
 */
static size_t kfp_auth_names(struct kfp_conn *conn, u8 *names)
{
	u8 name[2][KFI_ADDR_MAX] __aligned(8) = {};
	const struct kfi_link_ops *ops = conn->ops;
	bool dialed = conn->pc.dialed;
	size_t len;

	ops->self(&conn->link, name[!dialed]);
	memcpy(name[dialed], conn->link.name, ops->name_len);
	/* On the accepting side the name is that of the link's origin until the HELLO is used. */
	if (!dialed && ops->set_port && conn->ep && conn->ep->ep.type == KFI_EP_RDM)
		ops->set_port(name[0], le16_to_cpu(conn->auth->hello.port));
	len = kfp_name_wire(ops, name[0], names);
	return len + kfp_name_wire(ops, name[1], names + len);
}

static void kfp_auth_prove(struct kfp_conn *conn, u8 kind, const struct kfw_hello *last,
			   const void *data, u8 *proof)
{
	static const char connector[] = "kfabric connector", acceptor[] = "kfabric accepting";
	struct kfp_auth *auth = conn->auth;
	bool accept = kind == KFW_ACCEPT;
	u8 names[2 * KFI_ADDR_MAX];
	struct kvec parts[] = {
		{ (void *)(accept ? acceptor : connector), sizeof(connector) },
		{ names, kfp_auth_names(conn, names) },
		{ &auth->hello, sizeof(auth->hello) },
		{ auth->data, auth->data_len },
		{ &auth->challenge, sizeof(auth->challenge) },
		{ auth->nonce, sizeof(auth->nonce) },
		{ (void *)last, sizeof(*last) },
		{ (void *)data, le16_to_cpu(last->data_len) },
	};

	static_assert(sizeof(connector) == sizeof(acceptor));
	kfi_auth_proof(kfp_auth_attr(conn), parts, ARRAY_SIZE(parts), proof);
}

void kfp_auth_outgoing(struct kfp_conn *conn, const struct kfw_hello *hello)
{
	struct kfp_auth *auth = conn->auth;

	switch (hello->kind) {
	case KFW_HELLO:
		kfp_auth_keep(auth, hello, conn->data_out, conn->data_out_len);
		get_random_bytes(auth->nonce[0], KFW_AUTH_LEN);
		memcpy(conn->auth_out, auth->nonce[0], KFW_AUTH_LEN);
		break;
	case KFW_CHALLENGE:
		auth->challenge = *hello;
		get_random_bytes(auth->nonce[1], KFW_AUTH_LEN);
		memcpy(conn->auth_out, auth->nonce[1], KFW_AUTH_LEN);
		break;
	default:
		kfp_auth_prove(conn, hello->kind, hello, conn->data_out, conn->auth_out);
	}
}

/* Check the proof of the peer. */
static int kfp_auth_check(struct kfp_conn *conn)
{
	u8 proof[KFW_AUTH_LEN];

	if (!conn->auth->challenged)
		return -EPROTO;
	kfp_auth_prove(conn, conn->hello_info.kind, &conn->hello_in, conn->data_in, proof);
	return kfi_auth_proved(proof, conn->auth_in, sizeof(proof)) ? 0 : -KFI_EKEYREJECTED;
}

/*
 * Handle a hello on the connecting side. Return: 0 if the proof in the ACCEPT of the peer is valid;
 * -EAGAIN if the hello was a CHALLENGE, which has been answered; another negative errno.
 */
int kfp_auth_answered(struct kfp_conn *conn)
{
	struct kfp_auth *auth = conn->auth;
	int ret;

	if (conn->hello_info.kind != KFW_CHALLENGE) {
		ret = kfp_auth_check(conn);
		if (!ret && conn->pc.peer && conn->hello_in.incarnation != auth->challenge.incarnation)
			ret = -EPROTO;	/* not the endpoint that has sent the CHALLENGE */
		return ret;
	}
	if (auth->challenged)
		return -EPROTO;
	/* An acceptor that has no number of its own has only the messages of others. */
	if (!memcmp(auth->nonce[0], conn->auth_in, KFW_AUTH_LEN))
		return -KFI_EKEYREJECTED;
	auth->challenged = true;
	auth->challenge = conn->hello_in;
	memcpy(auth->nonce[1], conn->auth_in, KFW_AUTH_LEN);
	kfp_rx_hello_next(conn);
	ret = kfp_hello_send_auth(conn, KFW_PROOF);
	return ret ?: -EAGAIN;
}

/*
 * Handle a hello on the accepting side. Return: 0 if the proof of the peer is valid; then its HELLO
 * is in conn->hello_info again; -EAGAIN if the CHALLENGE was sent; another negative errno.
 */
int kfp_auth_from_caller(struct kfp_conn *conn)
{
	struct kfp_auth *auth = conn->auth;
	int ret;

	if (conn->hello_info.kind == KFW_PROOF) {
		ret = kfp_auth_check(conn);
		conn->hello_info = auth->hello_info;
		return ret;
	}
	if (auth->challenged || conn->hello_info.kind != KFW_HELLO)
		return -EPROTO;
	auth->challenged = true;
	auth->hello_info = conn->hello_info;
	kfp_auth_keep(auth, &conn->hello_in, conn->data_in, conn->hello_info.data_len);
	memcpy(auth->nonce[0], conn->auth_in, KFW_AUTH_LEN);
	kfp_rx_hello_next(conn);
	ret = kfp_hello_send_auth(conn, KFW_CHALLENGE);
	return ret ?: -EAGAIN;
}
