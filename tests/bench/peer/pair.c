// SPDX-License-Identifier: GPL-2.0
/* pair.c - connections, and the four ways to use an end of one */
#include <linux/in.h>
#include <linux/inet.h>
#include <linux/module.h>
#include <linux/uio.h>
#include "raw.h"

/* Listen on a port that the system chooses, and return it in @addr. */
static int raw_listen(struct net *net, const char *node, struct sockaddr_in *addr,
		      struct socket **sock)
{
	int ret;

	*addr = (struct sockaddr_in) { .sin_family = AF_INET, .sin_addr.s_addr = in_aton(node) };
	ret = sock_create_kern(net, AF_INET, SOCK_STREAM, IPPROTO_TCP, sock);
	if (ret)
		return ret;
	ret = kernel_bind(*sock, (void *)addr, sizeof(*addr));
	if (!ret)
		ret = kernel_getsockname(*sock, (void *)addr);
	if (ret >= 0)
		ret = kernel_listen(*sock, 1);
	if (ret < 0)
		sock_release(*sock);
	return ret;
}

static int raw_connect(struct net *net, struct sockaddr_in *addr, struct socket **sock)
{
	int ret = sock_create_kern(net, AF_INET, SOCK_STREAM, IPPROTO_TCP, sock);

	if (ret)
		return ret;
	ret = kernel_connect(*sock, (void *)addr, sizeof(*addr), 0);
	if (ret)
		sock_release(*sock);
	return ret;
}

static void raw_tune(struct raw_pair *pair, int end)
{
	struct sock *sk = pair->sock[end]->sk;

	tcp_sock_set_nodelay(sk);
	sk->sk_rcvtimeo = BENCH_TIMEOUT;
	sk->sk_sndtimeo = BENCH_TIMEOUT;
	pair->ready[end] = sk->sk_data_ready;
}

int raw_pair_open(struct raw_pair *pair, struct bench_env *env)
{
	struct sockaddr_in addr;
	struct socket *listener;
	int ret = raw_listen(env->net[1], env->node[1], &addr, &listener);

	if (ret < 0)
		return ret;
	ret = raw_connect(env->net[0], &addr, &pair->sock[0]);
	if (ret)
		goto close_listener;
	ret = kernel_accept(listener, &pair->sock[1], 0);
	if (ret)
		goto close_first;
	sock_release(listener);
	raw_tune(pair, 0);
	raw_tune(pair, 1);
	return 0;
close_first:
	sock_release(pair->sock[0]);
close_listener:
	sock_release(listener);
	return ret;
}

void raw_pair_close(struct raw_pair *pair)
{
	raw_unhook(pair, 0);
	raw_unhook(pair, 1);
	kernel_sock_shutdown(pair->sock[0], SHUT_RDWR);
	sock_release(pair->sock[0]);
	sock_release(pair->sock[1]);
}

/* From now on call ready() in softirq, with the socket locked, when data arrives at this end. */
void raw_hook(struct raw_pair *pair, int end, void (*ready)(struct sock *sk), void *data)
{
	struct sock *sk = pair->sock[end]->sk;

	lock_sock(sk);
	sk->sk_allocation = GFP_ATOMIC;
	sk->sk_use_task_frag = false;
	write_lock_bh(&sk->sk_callback_lock);
	sk->sk_user_data = data;
	sk->sk_data_ready = ready;
	write_unlock_bh(&sk->sk_callback_lock);
	release_sock(sk);
}

void raw_unhook(struct raw_pair *pair, int end)
{
	struct sock *sk = pair->sock[end]->sk;

	lock_sock(sk);
	write_lock_bh(&sk->sk_callback_lock);
	sk->sk_data_ready = pair->ready[end];
	sk->sk_user_data = NULL;
	write_unlock_bh(&sk->sk_callback_lock);
	release_sock(sk);
}

int raw_send(struct socket *sock, void *buf, size_t len)
{
	struct msghdr msg = { .msg_flags = MSG_NOSIGNAL };
	struct kvec vec = { buf, len };

	return kernel_sendmsg(sock, &msg, &vec, 1, len);
}

int raw_recv(struct socket *sock, void *buf, size_t len, int flags)
{
	struct msghdr msg = { };
	struct kvec vec = { buf, len };

	return kernel_recvmsg(sock, &msg, &vec, 1, len, flags);
}

/* For use in a hook, where the socket is locked */
int raw_send_softirq(struct sock *sk, void *buf, size_t len)
{
	struct msghdr msg = { .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL };
	struct kvec vec = { buf, len };

	iov_iter_kvec(&msg.msg_iter, ITER_SOURCE, &vec, 1, len);
	return tcp_sendmsg_locked(sk, &msg, len);
}

/* For use anywhere but in a hook of this socket. No thread may sleep with the socket locked. */
int raw_send_from(struct sock *sk, void *buf, size_t len)
{
	int ret = -EBUSY;

	local_bh_disable();
	bh_lock_sock_nested(sk);
	if (!sock_owned_by_user(sk))
		ret = raw_send_softirq(sk, buf, len);
	bh_unlock_sock(sk);
	local_bh_enable();
	return ret;
}

/* ---- the module ---- */

EXPORT_SYMBOL_GPL(bench_clock);
EXPORT_SYMBOL_GPL(bench_clock_wall);
EXPORT_SYMBOL_GPL(bench_mem_alloc);
EXPORT_SYMBOL_GPL(bench_mem_free);
EXPORT_SYMBOL_GPL(bench_mem_stamp);
EXPORT_SYMBOL_GPL(bench_mem_check);
EXPORT_SYMBOL_GPL(bench_tcp_pingpong_block);
EXPORT_SYMBOL_GPL(bench_tcp_pingpong_softirq);
EXPORT_SYMBOL_GPL(bench_tcp_stream_copy);

static int __init bench_tcp_init(void)
{
	bench_clock_open();
	return 0;
}

static void __exit bench_tcp_exit(void)
{
	bench_clock_close();
}

module_init(bench_tcp_init);
module_exit(bench_tcp_exit);
MODULE_DESCRIPTION("raw in-kernel TCP, the limit for kfabric's benchmarks");
MODULE_LICENSE("GPL");
