// SPDX-License-Identifier: GPL-2.0
/*
 * dial.c - outgoing connections: a socket with the right source address and port, and TCP's
 * connect.
 */
#include <linux/tcp.h>
#include <net/ip.h>
#include "sock.h"

/* Return the reserved port whose turn it is, in network byte order. */
__be16 ks_next_reserved(void)
{
	static atomic_t next;

	return cpu_to_be16(KS_PORT_MAX - (unsigned int)atomic_inc_return(&next) % KS_PORTS);
}

/*
 * Bind to the next reserved port. Connections to different destinations share a port
 * (SO_REUSEADDR): only TCP's connect finds out whether the port is free. Called in a work item,
 * which may bind reserved ports in any namespace.
 */
static int ks_dial_bind_reserved(struct socket *sock, union kfi_inaddr *from)
{
	struct net *net = sock_net(sock->sk);
	int ret = -EADDRINUSE;
	unsigned int tries;
	__be16 port;

	sock_set_reuseaddr(sock->sk);
	for (tries = 0; tries < KS_PORTS && ret == -EADDRINUSE; tries++) {
		port = ks_next_reserved();
		if (inet_is_local_reserved_port(net, be16_to_cpu(port)))
			continue;
		kfi_inaddr_set_port(from, port);
		ret = kernel_bind(sock, (void *)&from->sa, kfi_inaddr_len(from->sa.sa_family));
	}
	return ret;
}

/* Create a socket bound to the endpoint's address, by which the peer identifies the endpoint. */
static int ks_dial_socket(struct kfi_link *link, struct socket **sockp)
{
	struct kfi_ep *ep = &link->ep->ep;
	union kfi_inaddr from = to_ks_ep(ep)->addr;
	const union kfi_inaddr *to = (void *)link->name;
	struct socket *sock;
	int ret;

	ret = ks_socket(kfi_ep_net(ep), ks_iface_info(ep), to->sa.sa_family, SOCK_STREAM, &sock);
	if (ret)
		return ret;
	ks_set_options(sock, ep->info->tx_attr->tclass);
	kfi_inaddr_set_port(&from, 0);
	if (kfi_proto_need_privilege(ep))
		ret = ks_dial_bind_reserved(sock, &from);
	else
		ret = kernel_bind(sock, (void *)&from.sa, kfi_inaddr_len(from.sa.sa_family));
	if (ret) {
		sock_release(sock);
		return ret;
	}
	*sockp = sock;
	return ks_tls_on() ? ks_sock_open_file(sock) : 0;
}

int ks_open(struct kfi_link *link)
{
	struct socket *sock;
	int ret = ks_dial_socket(link, &sock);

	if (ret)
		return ret;
	ks_link_init(to_ks_link(link), sock);
	link->privileged = ks_port_reserved(link->name);
	return 0;
}

/*
 * Replace the socket by one with another port, because the port is in use. Called in the hello
 * work; kfp_conn_down() waits for the end of this work before it closes the socket.
 */
static int ks_redial(struct kfi_link *link, const struct ks_callbacks *callbacks)
{
	struct ks_link *kl = to_ks_link(link);
	struct socket *sock;
	int ret;

	ret = ks_dial_socket(link, &sock);
	if (ret)
		return ret;
	ks_link_release(kl);
	kl->sock = sock;
	kl->sk = sock->sk;
	ks_set_memalloc(link);
	ks_link_attach(kl, callbacks);
	return 0;
}

static int ks_connect(struct ks_link *kl)
{
	union kfi_inaddr to = *(const union kfi_inaddr *)kl->link.name;

	return kernel_connect(kl->sock, (void *)&to.sa, kfi_inaddr_len(to.sa.sa_family),
			      O_NONBLOCK);
}

int ks_dial_with(struct kfi_link *link, const struct ks_callbacks *callbacks)
{
	struct ks_link *kl = to_ks_link(link);
	unsigned int tries;
	int ret;

	ks_set_memalloc(link);
	ks_link_attach(kl, callbacks);
	ret = ks_connect(kl);
	/* The port belongs to another connection to the same destination, perhaps in TIME_WAIT. */
	for (tries = 0; ret == -EADDRNOTAVAIL && tries < KS_PORTS; tries++) {
		if (!kfi_proto_need_privilege(&link->ep->ep) || ks_redial(link, callbacks))
			break;
		ret = ks_connect(kl);
	}
	return ret == -EINPROGRESS ? 0 : ret;
}

int ks_dial(struct kfi_link *link)
{
	return ks_dial_with(link, &ks_link_callbacks);
}
