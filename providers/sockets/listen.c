// SPDX-License-Identifier: GPL-2.0
/*
 * listen.c - listening sockets, and what comes out of them.
 *
 * A caller costs a socket and one connection object until its hello has been read, or it is one
 * of too many in handshake and the oldest of them, or hello_timeout_ms have passed.
 */
#include <linux/sched/mm.h>
#include <linux/tcp.h>
#include <net/ipv6.h>
#include "sock.h"

/* Connections that nobody has accepted yet have this too, and may call it when the listener is gone already. */
static void ks_listener_ready(struct sock *sk)
{
	struct delayed_work *work = sk->sk_user_data;

	if (sk->sk_state == TCP_LISTEN && work)
		queue_delayed_work(ks_cm_wq, work, 0);
}

/* Bind and listen; @addr's port is filled in. @work runs when somebody knocks. */
int ks_listen(struct net *net, union kfi_inaddr *addr, int backlog, struct delayed_work *work, struct socket **sockp)
{
	struct socket *sock;
	struct sock *sk;
	int ret;

	ret = sock_create_kern(net, addr->sa.sa_family, SOCK_STREAM, IPPROTO_TCP, &sock);
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
	sk->sk_user_data = work;
	sk->sk_data_ready = ks_listener_ready;
	write_unlock_bh(&sk->sk_callback_lock);
	*sockp = sock;		/* that is where @work looks, from now on */
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

/* Nobody knocks any more; @work is not running on return. */
void ks_unlisten(struct socket *sock, struct delayed_work *work)
{
	struct sock *sk = sock->sk;

	lock_sock(sk);
	write_lock_bh(&sk->sk_callback_lock);
	sk->sk_user_data = NULL;
	write_unlock_bh(&sk->sk_callback_lock);
	release_sock(sk);
	synchronize_rcu_expedited();	/* who has seen us there has queued the work */
	cancel_delayed_work_sync(work);
	sock_release(sock);
}

/* One connection off the queue, its peer's name known. Return: 0, or why there is none. */
static int ks_accept_one(struct socket *listener, struct socket **sockp, union kfi_inaddr *name)
{
	struct socket *sock;
	int ret;

	while (!(ret = kernel_accept(listener, &sock, O_NONBLOCK))) {
		/* The listener's callback and its data were inherited: they are not for this socket. */
		write_lock_bh(&sock->sk->sk_callback_lock);
		sock->sk->sk_user_data = NULL;
		write_unlock_bh(&sock->sk->sk_callback_lock);
		*sockp = sock;
		if (kernel_getpeername(sock, (void *)&name->sa) > 0)
			return 0;
		sock_release(sock);
	}
	return ret;
}

static void ks_accepted(struct ks_ep *sep, struct ks_pep *spep, struct socket *sock, const union kfi_inaddr *name)
{
	struct ks_conn *conn = ks_conn_new(sep, spep, sock);

	if (!conn) {
		sock_release(sock);
		return;
	}
	conn->name = *name;
	conn->reserved = be16_to_cpu(kfi_inaddr_port(name)) <= KS_PORT_MAX;
	conn->deadline = jiffies + msecs_to_jiffies(min(READ_ONCE(ks_hello_timeout_ms), READ_ONCE(ks_connect_timeout_ms)));
	ks_conn_tune(sock, sep ? sep->ep.info->tx_attr->tclass : spep->pep.info->tx_attr->tclass);
	if (kfi_home_list(sep ? &sep->home : &spep->home, &conn->pc, NULL)) {
		net_warn_ratelimited("kfi_sockets: too many connections in handshake, %pISpc turned away\n", name);
		sock_release(sock);
		ks_conn_put(conn);
		return;
	}
	ks_conn_attach(conn);
	ks_greet_start(conn, KS_GREETING);
	ks_conn_put(conn);
}

/* One of the two has the listener, whose work this is. */
static void ks_accept_all(struct ks_ep *sep, struct ks_pep *spep, struct socket *listener, struct delayed_work *work)
{
	unsigned int noio = memalloc_noio_save();
	union kfi_inaddr name;
	struct socket *sock;
	int ret;

	while (!(ret = ks_accept_one(listener, &sock, &name)))
		ks_accepted(sep, spep, sock, &name);
	/* No memory: whoever has called stays in the queue, and does not knock again. */
	if (ret == -ENOMEM || ret == -ENFILE)
		queue_delayed_work(ks_cm_wq, work, 1);
	memalloc_noio_restore(noio);
}

void ks_ep_accept_work(struct work_struct *work)
{
	struct ks_ep *sep = container_of(to_delayed_work(work), struct ks_ep, accept);

	ks_accept_all(sep, NULL, sep->listener, &sep->accept);
}

void ks_pep_accept_work(struct work_struct *work)
{
	struct ks_pep *spep = container_of(to_delayed_work(work), struct ks_pep, accept);

	ks_accept_all(NULL, spep, spep->listener, &spep->accept);
}
