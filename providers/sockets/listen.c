// SPDX-License-Identifier: GPL-2.0
/*
 * listen.c - listening sockets, and the connections that they accept.
 *
 * An accepted connection occupies a socket and a connection object. Its handshake ends when its
 * hello has been read, when hello_timeout_ms have passed, or when there are too many connections in
 * handshake and it is the oldest of them.
 */
#include <linux/sched/mm.h>
#include <linux/tcp.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include "sock.h"

#define KS_ACCEPTS	64		/* in one run of the work item */

/* The callback of a TCP socket */
static void (*ks_tcp_data_ready)(struct sock *sk);

/*
 * Connections that are not accepted yet inherit this callback, and may call it after the listener
 * was closed.
 */
static void ks_listener_ready(struct sock *sk)
{
	struct delayed_work *work = sk->sk_user_data;

	if (sk->sk_state == TCP_LISTEN && work)
		queue_delayed_work(ks_cm_wq, work, 0);
}

/*
 * Bind and listen, and store the port in @addr. @work is queued when a connection has arrived. Each
 * attempt needs a new socket, because kernel_listen() may find out that the port is in use.
 */
int ks_listen(struct net *net, const struct kfi_info *info, union kfi_inaddr *addr, int backlog,
	      struct delayed_work *work, struct socket **sockp)
{
	struct socket *sock;
	struct sock *sk;
	int ret;

	ret = ks_socket(net, info, addr->sa.sa_family, SOCK_STREAM, &sock);
	if (ret)
		return ret;
	sk = sock->sk;
	sk->sk_allocation = GFP_ATOMIC;
	sock_set_reuseaddr(sk);
	if (addr->sa.sa_family == AF_INET6)
		ip6_sock_set_v6only(sk);
	ret = kernel_bind(sock, (void *)&addr->sa, kfi_inaddr_len(addr->sa.sa_family));
	if (ret)
		goto release;
	ret = kernel_getsockname(sock, (void *)&addr->sa);
	if (ret < 0)
		goto release;
	write_lock_bh(&sk->sk_callback_lock);
	WRITE_ONCE(ks_tcp_data_ready, sk->sk_data_ready);
	sk->sk_user_data = work;
	sk->sk_data_ready = ks_listener_ready;
	write_unlock_bh(&sk->sk_callback_lock);
	*sockp = sock;		/* @work reads it as soon as a connection arrives */
	ret = kernel_listen(sock, backlog);
	if (ret) {
		ks_unlisten(sock, work);
		*sockp = NULL;
	}
	return ret;
release:
	sock_release(sock);
	return ret;
}

/*
 * Listen as ks_listen() does, at a port that the caller has not chosen: at a reserved one, because
 * peers dial only such ports of this endpoint.
 */
int ks_listen_reserved(struct net *net, const struct kfi_info *info, union kfi_inaddr *addr,
		       int backlog, struct delayed_work *work, struct socket **sockp)
{
	int ret = -EADDRINUSE;
	unsigned int tries;
	__be16 port;

	for (tries = 0; tries < KS_PORTS && ret == -EADDRINUSE; tries++) {
		port = ks_next_reserved();
		if (inet_is_local_reserved_port(net, be16_to_cpu(port)))
			continue;
		kfi_inaddr_set_port(addr, port);
		ret = ks_listen(net, info, addr, backlog, work, sockp);
	}
	if (ret)
		kfi_inaddr_set_port(addr, 0);
	return ret;
}

/* Close the listener. On return no connection is accepted, and @work does not run. */
void ks_unlisten(struct socket *sock, struct delayed_work *work)
{
	struct sock *sk = sock->sk;

	lock_sock(sk);
	write_lock_bh(&sk->sk_callback_lock);
	sk->sk_user_data = NULL;
	write_unlock_bh(&sk->sk_callback_lock);
	release_sock(sk);
	synchronize_rcu_expedited();	/* callbacks that read sk_user_data have queued @work */
	cancel_delayed_work_sync(work);
	sock_release(sock);
}

/*
 * Release an accepted socket that has no link. The socket holds no namespace, so TCP does not
 * repeat lost segments any more: without a reset the socket could wait for an answer for ever.
 */
static void ks_drop(struct socket *sock)
{
	sock_no_linger(sock->sk);
	ks_sock_release(sock);
}

/*
 * Accept a connection and get the name of its peer. Return: 0 or a negative error. *@sockp is NULL
 * if the peer has ended the connection meanwhile.
 */
static int ks_accept_one(struct socket *listener, struct socket **sockp, union kfi_inaddr *name)
{
	struct socket *sock;
	int ret;

	memset(name, 0, sizeof(*name));
	*sockp = NULL;
	ret = kernel_accept(listener, &sock, O_NONBLOCK);
	if (ret)
		return ret;
	/* The new socket has inherited the callback of the listener; remove it. */
	write_lock_bh(&sock->sk->sk_callback_lock);
	sock->sk->sk_user_data = NULL;
	sock->sk->sk_data_ready = READ_ONCE(ks_tcp_data_ready);
	write_unlock_bh(&sock->sk->sk_callback_lock);
	if (kernel_getpeername(sock, (void *)&name->sa) > 0)
		*sockp = sock;
	else
		ks_drop(sock);
	return 0;
}

static void ks_accepted(struct ks_ep *ke, struct ks_pep *kp, struct socket *sock,
			const union kfi_inaddr *name)
{
	struct kfi_link *link;

	if (ks_tls_on() && ks_sock_open_file(sock))
		return;
	link = kfi_link_new(ke ? &ke->pe : NULL, kp ? &kp->ppep : NULL);
	if (!link) {
		ks_drop(sock);
		return;
	}
	ks_link_init(to_ks_link(link), sock);
	memcpy(link->name, name, sizeof(*name));
	link->privileged = ks_port_reserved(link->name);
	ks_set_options(sock, ke ? ke->pe.ep.info->tx_attr->tclass :
				  kp->ppep.pep.info->tx_attr->tclass);
	if (ks_tls_on())
		ks_tls_called(link);
	if (kfi_link_called(link))
		return;
	if (ks_tls_on()) {
		ks_tls_accepted(link);
		return;
	}
	ks_link_attach(to_ks_link(link), &ks_link_callbacks);
	kfi_link_up(link);
}

/*
 * Accept the connections of the listener of @ke or @kp; the other one is NULL. One run accepts a
 * limited number of them, because ks_unlisten() waits for it, and callers may never stop.
 */
static void ks_accept_some(struct ks_ep *ke, struct ks_pep *kp, struct socket *listener,
			   struct delayed_work *work)
{
	unsigned int noio = memalloc_noio_save();
	union kfi_inaddr name;
	struct socket *sock;
	int n, ret = 0;

	for (n = 0; n < KS_ACCEPTS && !ret; n++) {
		ret = ks_accept_one(listener, &sock, &name);
		if (sock)
			ks_accepted(ke, kp, sock, &name);
	}
	/*
	 * No callback reports the connections again that stay in TCP's queue, because the run has
	 * ended or there is no memory.
	 */
	if (!ret)
		queue_delayed_work(ks_cm_wq, work, 0);
	else if (ret == -ENOMEM || ret == -ENFILE)
		queue_delayed_work(ks_cm_wq, work, 1);
	memalloc_noio_restore(noio);
}

void ks_ep_accept_work(struct work_struct *work)
{
	struct ks_ep *ke = container_of(to_delayed_work(work), struct ks_ep, accept);

	ks_accept_some(ke, NULL, ke->listener, &ke->accept);
}

void ks_pep_accept_work(struct work_struct *work)
{
	struct ks_pep *kp = container_of(to_delayed_work(work), struct ks_pep, accept);

	ks_accept_some(NULL, kp, kp->listener, &kp->accept);
}
