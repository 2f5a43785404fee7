/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KFI_COMPAT_NET_SOCK_H
#define _KFI_COMPAT_NET_SOCK_H

#include_next <net/sock.h>

/*
 * Make the socket copy payload into page fragments of its own, and not into those of the current
 * task. Since 6.2 sk_use_task_frag controls this. Before, sk_page_frag() uses the socket's if
 * sk_allocation can't sleep.
 */
static inline void sock_own_page_frag(struct sock *sk)
{
#ifdef KFI_HAVE_USE_TASK_FRAG
	sk->sk_use_task_frag = false;
#endif
}

/*
 * Make a kernel socket hold a reference of its namespace, as the socket of a process does. Stable
 * kernels since 6.12 have this function.
 */
#ifndef KFI_HAVE_NET_REFCNT_UPGRADE
static inline void sk_net_refcnt_upgrade(struct sock *sk)
{
	struct net *net = sock_net(sk);

	sk->sk_net_refcnt = 1;
	get_net_track(net, &sk->ns_tracker, GFP_KERNEL);
	sock_inuse_add(net, 1);
}
#endif

#endif
