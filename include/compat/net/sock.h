/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KFI_COMPAT_NET_SOCK_H
#define _KFI_COMPAT_NET_SOCK_H

#include_next <net/sock.h>
#include <linux/version.h>

/*
 * Copied payload goes into pages of the socket, never of the task that happens to run. Since 6.2 that is a flag; before,
 * sk_page_frag() concluded it from an sk_allocation that can't sleep.
 */
static inline void sock_own_page_frag(struct sock *sk)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
	sk->sk_use_task_frag = false;
#endif
}

/* From then on the socket holds its namespace, as one that was made by a user does; stable kernels from 6.12 on have it. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
static inline void sk_net_refcnt_upgrade(struct sock *sk)
{
	struct net *net = sock_net(sk);

	sk->sk_net_refcnt = 1;
	get_net_track(net, &sk->ns_tracker, GFP_KERNEL);
	sock_inuse_add(net, 1);
}
#endif

#endif
