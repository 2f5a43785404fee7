// SPDX-License-Identifier: GPL-2.0
/*
 * peer.c - one TCP connection of the hostile peer.
 */
#include <linux/slab.h>
#include <linux/tcp.h>
#include <net/sock.h>
#include "hostile.h"

#define HS_PORT_MAX	1023
#define HS_PORT_MIN	600

static int hs_bind(struct socket *sock, u8 node, u16 port)
{
	struct sockaddr_in from = {
		.sin_family = AF_INET, .sin_port = cpu_to_be16(port),
		.sin_addr.s_addr = cpu_to_be32(INADDR_LOOPBACK - 1 + (node ?: 1)),
	};

	return kernel_bind(sock, (void *)&from, sizeof(from));
}

/*
 * Reserved ports in turn: a port whose last connection is in TIME_WAIT can't be used for another
 * one to the same victim.
 */
static int hs_bind_reserved(struct socket *sock, u8 node)
{
	static u16 turn = HS_PORT_MAX;
	int ret = -EADDRINUSE;
	u16 tries;

	for (tries = HS_PORT_MIN; tries <= HS_PORT_MAX && ret == -EADDRINUSE; tries++) {
		ret = hs_bind(sock, node, turn);
		turn = turn > HS_PORT_MIN ? turn - 1 : HS_PORT_MAX;
	}
	return ret;
}

struct hs *hs_connect(const struct victim *v, const struct hs_call *call)
{
	struct hs *hs = kzalloc(sizeof(*hs), GFP_KERNEL);
	struct sockaddr_in to = *(const struct sockaddr_in *)v->name;
	int ret = -ENOMEM;

	if (!hs)
		return ERR_PTR(ret);
	ret = sock_create_kern(&init_net, AF_INET, SOCK_STREAM, IPPROTO_TCP, &hs->sock);
	if (ret)
		goto free;
	sock_set_reuseaddr(hs->sock->sk);
	tcp_sock_set_nodelay(hs->sock->sk);
	if (call->rcvbuf)
		sock_set_rcvbuf(hs->sock->sk, call->rcvbuf);
	ret = call->source ? hs_bind(hs->sock, call->node, call->source) :
			     hs_bind_reserved(hs->sock, call->node);
	ret = ret ?: kernel_connect(hs->sock, (void *)&to, sizeof(to), 0);
	if (!ret)
		return hs;
	sock_release(hs->sock);
free:
	kfree(hs);
	return ERR_PTR(ret);
}

static int hs_put(struct hs *hs, const void *bytes, size_t len)
{
	struct kvec vec = { (void *)bytes, len };
	struct msghdr msg = { .msg_flags = MSG_NOSIGNAL };
	int ret;

	hs->sock->sk->sk_sndtimeo = msecs_to_jiffies(HS_WAIT_MS);
	ret = kernel_sendmsg(hs->sock, &msg, &vec, 1, len);
	if (ret < 0)
		return ret;
	return ret == len ? 0 : -EAGAIN;
}

int hs_get(struct hs *hs, void *bytes, size_t len, unsigned int ms)
{
	struct kvec vec = { bytes, len };
	struct msghdr msg = {};
	int ret;

	hs->sock->sk->sk_rcvtimeo = msecs_to_jiffies(ms);
	ret = kernel_recvmsg(hs->sock, &msg, &vec, 1, len, MSG_WAITALL);
	if (ret < 0)
		return ret;
	return ret == len ? 0 : -ECONNRESET;
}

static int hs_say_hello(struct hs *hs, const struct hs_call *call, u8 kind)
{
	struct kfw_hello hello = {
		.magic = cpu_to_le32(KFW_MAGIC),
		.kind = kind,
		.ep_type = KFI_EP_RDM,
		.version = KFW_VERSION,
		.len = cpu_to_le16(sizeof(hello)),
		.port = cpu_to_le16(call->port),
		.incarnation = cpu_to_le64(call->incarnation ?: 4711),
		.call_id = cpu_to_le64(0x57ea),
		.allowance_msg = cpu_to_le32(1024),
		.allowance_tag = cpu_to_le32(1024),
		.requests = cpu_to_le32(64),
		.eager = cpu_to_le32(16384),
	};

	return hs_put(hs, &hello, sizeof(hello));
}

int hs_hello(struct hs *hs, const struct hs_call *call)
{
	return hs_say_hello(hs, call, KFW_HELLO);
}

struct socket *hs_listen(u16 port, int backlog)
{
	struct sockaddr_in name = { .sin_family = AF_INET, .sin_port = cpu_to_be16(port) };
	struct socket *sock;
	int ret;

	ret = sock_create_kern(&init_net, AF_INET, SOCK_STREAM, IPPROTO_TCP, &sock);
	if (ret)
		return ERR_PTR(ret);
	sock_set_reuseaddr(sock->sk);
	ret = kernel_bind(sock, (void *)&name, sizeof(name)) ?: kernel_listen(sock, backlog);
	if (!ret)
		return sock;
	sock_release(sock);
	return ERR_PTR(ret);
}

struct hs *hs_called(struct socket *listener, u16 *port)
{
	struct hs *hs = kzalloc(sizeof(*hs), GFP_KERNEL);
	struct sockaddr_in name;
	int ret = -ENOMEM;

	if (!hs)
		return ERR_PTR(ret);
	listener->sk->sk_rcvtimeo = msecs_to_jiffies(HS_WAIT_MS);
	ret = kernel_accept(listener, &hs->sock, 0);
	if (ret)
		goto free;
	ret = kernel_getpeername(hs->sock, (void *)&name);
	*port = be16_to_cpu(name.sin_port);
	if (ret > 0)
		return hs;
	sock_release(hs->sock);
free:
	kfree(hs);
	return ERR_PTR(ret);
}

struct hs *hs_accept(struct socket *listener, u16 *port)
{
	const struct hs_call call = { .port = 1 };
	struct hs *hs = hs_called(listener, port);
	int ret;

	if (IS_ERR(hs))
		return hs;
	ret = hs_get(hs, &hs->said, sizeof(hs->said), HS_WAIT_MS);
	ret = ret ?: hs_say_hello(hs, &call, KFW_ACCEPT);
	if (!ret)
		return hs;
	hs_close(hs);
	return ERR_PTR(ret);
}

static int hs_exchange_hello(struct hs *hs, const struct hs_call *call)
{
	int ret = hs_hello(hs, call);

	ret = ret ?: hs_get(hs, &hs->said, sizeof(hs->said), HS_WAIT_MS);
	if (ret)
		return ret;
	return hs->said.kind == KFW_ACCEPT ? 0 : -ECONNREFUSED;
}

struct hs *hs_open(const struct victim *v, const struct hs_call *call)
{
	struct hs *hs = hs_connect(v, call);
	int ret;

	if (IS_ERR(hs))
		return hs;
	ret = hs_exchange_hello(hs, call);
	if (!ret)
		return hs;
	hs_close(hs);
	return ERR_PTR(ret);
}

int hs_send(struct hs *hs, struct kfw_hdr *hdr, size_t payload)
{
	size_t len = sizeof(*hdr) + payload;
	u8 *frame = kmalloc(len, GFP_KERNEL);
	int ret;

	if (!frame)
		return -ENOMEM;
	/* a limit of one allowance, which the victim has not used: it is always valid */
	hdr->credit_msg = cpu_to_le32(1024);
	hdr->credit_tag = cpu_to_le32(1024);
	if (hdr->type == KFW_MSG || hdr->type == KFW_DATA) {
		hdr->payload = cpu_to_le64(payload);
		hdr->len = cpu_to_le64(payload);
	}
	memcpy(frame, hdr, sizeof(*hdr));
	memset(frame + sizeof(*hdr), 0x5a, payload);
	ret = hs_put(hs, frame, len);
	kfree(frame);
	return ret;
}

static int hs_skip(struct hs *hs, u64 left, unsigned int ms)
{
	u8 some[256];
	size_t n;
	int ret = 0;

	for (; left && !ret; left -= n) {
		n = min_t(u64, left, sizeof(some));
		ret = hs_get(hs, some, n, ms);
	}
	return ret;
}

int hs_recv(struct hs *hs, u8 type, struct kfw_hdr *hdr, unsigned int ms)
{
	struct kfw_plain *plain = (struct kfw_plain *)hdr;
	int ret;

	do {
		ret = hs_get(hs, plain, sizeof(*plain), ms);
		if (!ret && plain->type == KFW_PLAIN) {
			ret = hs_skip(hs, le32_to_cpu(plain->payload), ms);
			continue;
		}
		ret = ret ?: hs_get(hs, plain + 1, sizeof(*hdr) - sizeof(*plain), ms);
		if (!ret && hdr->type != type)
			ret = hs_skip(hs,
				      le64_to_cpu(hdr->payload) + 24 * le16_to_cpu(hdr->rma_count),
				      ms);
	} while (!ret && hdr->type != type);
	return ret;
}

bool hs_ended(struct hs *hs, unsigned int ms)
{
	unsigned long end = jiffies + msecs_to_jiffies(ms);
	u8 byte;
	int ret;

	do {
		ret = hs_get(hs, &byte, sizeof(byte), 100);
		if (ret && ret != -EAGAIN)
			return true;
	} while (time_before(jiffies, end));
	return false;
}

void hs_deafen(struct socket *listener)
{
	if (!IS_ERR_OR_NULL(listener))
		sock_release(listener);
}

void hs_close(struct hs *hs)
{
	if (IS_ERR_OR_NULL(hs))
		return;
	sock_release(hs->sock);
	kfree(hs);
}

void hs_reset(struct hs *hs)
{
	if (!IS_ERR_OR_NULL(hs))
		sock_no_linger(hs->sock->sk);
	hs_close(hs);
}
