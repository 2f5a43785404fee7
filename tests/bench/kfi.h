/* SPDX-License-Identifier: GPL-2.0 */
/* kfi.h - kfabric's side of the comparison: runs of kfi_perf (kfi.c), and messages.c */
#ifndef _KFI_BENCH_KFI_H
#define _KFI_BENCH_KFI_H

#include <kfi_endpoint.h>
#include <linux/kfi_perf.h>
#include "bench.h"

/**
 * struct kb_kind - what a variant runs, in its arg
 * @prov: provider
 * @type: of endpoints
 * @op: enum kfi_perf_op
 * @mode: KFI_PERF_LATENCY: one message after the other, each of which comes back
 * @wait: enum kfi_perf_wait
 * @mem: enum kfi_perf_mem
 * @more: messages.c: KFI_MORE joins messages that are posted at once
 */
struct kb_kind {
	const char		*prov;
	enum kfi_ep_type	type;
	u8			op, mode, wait, mem;
	bool			more;
};

/**
 * struct kb_place - where a variant has its ends
 * @net: namespaces of the sender and of the receiver
 * @node: address of the receiver, or ""
 * @peer: the same as the sender knows it
 * @service: of the receiver
 */
struct kb_place {
	struct net		*net[2];
	char			node[64], peer[64], service[8];
};

void kb_place(struct kb_place *place, const struct bench_env *env, const struct kb_kind *kind);

#define KB_SOFTIRQ	.wait = KFI_PERF_WAIT_SOFTIRQ
#define KB_KVEC		.mem = KFI_PERF_MEM_KVEC
#define KB_PLACED	.mem = KFI_PERF_MEM_DOMAIN
#define KB_MSG		KFI_EP_MSG
#define KB_RDM		KFI_EP_RDM

void *kb_open(struct bench_env *env, const struct bench_variant *v);
s64 kb_run(void *priv, u32 ops);
void kb_close(void *priv);

void *kb_messages_open(struct bench_env *env, const struct bench_variant *v);
s64 kb_messages_run(void *priv, u32 ops);
void kb_messages_close(void *priv);

/* @...: provider, type of endpoints, and members of struct kb_kind */
#define KB(_name, _op, _mode, _depth, _size, _prov, _type, ...)				\
	(&(const struct bench_variant) {						\
		.name	= _name,							\
		.open	= kb_open,							\
		.run	= kb_run,							\
		.close	= kb_close,							\
		.arg	= (unsigned long)&(const struct kb_kind) {			\
			.prov = _prov, .type = _type, .op = _op,			\
			.mode = KFI_PERF_##_mode, ##__VA_ARGS__				\
		},									\
		.depth	= _depth,							\
		.size	= _size,							\
	})

#define KB_PINGPONG(_name, ...)		KB(_name, KFI_PERF_SEND, LATENCY, 1, 8, __VA_ARGS__, KB_KVEC)
#define KB_MESSAGES(_name, _more, _prov, _type)						\
	(&(const struct bench_variant) {						\
		.name	= _name,							\
		.open	= kb_messages_open,						\
		.run	= kb_messages_run,						\
		.close	= kb_messages_close,						\
		.arg	= (unsigned long)&(const struct kb_kind) {			\
			.prov = _prov, .type = _type, .more = _more,			\
		},									\
		.depth	= 64,								\
		.size	= 64,								\
	})
#define KB_MORE(_name, ...)		KB_MESSAGES(_name, true, __VA_ARGS__)
#define KB_SINGLE(_name, ...)		KB_MESSAGES(_name, false, __VA_ARGS__)

#endif /* _KFI_BENCH_KFI_H */
