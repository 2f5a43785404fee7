/* SPDX-License-Identifier: GPL-2.0 */
/*
 * raw.h - the limit: TCP inside the kernel, used as directly as possible
 *
 * Two connected sockets in two namespaces. Either end is used by a thread that blocks
 * (kernel_sendmsg, kernel_recvmsg) or in softirq: sk_data_ready takes the bytes with
 * tcp_read_sock() and answers with tcp_sendmsg_locked(). Every byte is received into memory of the
 * benchmark, as any consumer would do.
 */
#ifndef _KFI_BENCH_RAW_H
#define _KFI_BENCH_RAW_H

#include <linux/net.h>
#include <linux/tcp.h>
#include <net/sock.h>
#include <net/tcp.h>
#include "../bench.h"

/**
 * struct raw_pair - both ends of a connection
 * @sock: the ends: index 0 in the first namespace is connected to index 1 in the second
 * @ready: data_ready functions that hooks have replaced
 */
struct raw_pair {
	struct socket	*sock[2];
	void		(*ready[2])(struct sock *sk);
};

int raw_pair_open(struct raw_pair *pair, struct bench_env *env);
void raw_pair_close(struct raw_pair *pair);
void raw_hook(struct raw_pair *pair, int end, void (*ready)(struct sock *sk), void *data);
void raw_unhook(struct raw_pair *pair, int end);
int raw_send(struct socket *sock, void *buf, size_t len);
int raw_recv(struct socket *sock, void *buf, size_t len, int flags);
int raw_send_softirq(struct sock *sk, void *buf, size_t len);
int raw_send_from(struct sock *sk, void *buf, size_t len);

extern const struct bench_variant bench_tcp_pingpong_block;
extern const struct bench_variant bench_tcp_pingpong_softirq;
extern const struct bench_variant bench_tcp_stream_copy;

#endif /* _KFI_BENCH_RAW_H */
