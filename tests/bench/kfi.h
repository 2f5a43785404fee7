/* SPDX-License-Identifier: GPL-2.0 */
/* kfi.h - kfabric's side of the comparison: runs of kfi_perf */
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
 * @thread: a thread sends and sleeps, whatever @wait says of the receiver
 * @batch: operations posted at once, 0: 1
 */
struct kb_kind {
	const char		*prov;
	enum kfi_ep_type	type;
	u8			op, mode, wait, mem;
	bool			thread;
	u32			batch;
};

#define KB_SOFTIRQ	.wait = KFI_PERF_WAIT_SOFTIRQ
#define KB_KVEC		.mem = KFI_PERF_MEM_KVEC
#define KB_PLACED	.mem = KFI_PERF_MEM_DOMAIN
#define KB_MSG		KFI_EP_MSG
#define KB_RDM		KFI_EP_RDM

void *kb_open(struct bench_env *env, const struct bench_variant *v);
s64 kb_run(void *priv, u32 ops);
void kb_close(void *priv);

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
/* A thread sends, in batches that KFI_MORE joins or one by one; softirq receives */
#define KB_MESSAGES(_name, _batch, ...)								\
	KB(_name, KFI_PERF_SEND, BANDWIDTH, 64, 64, __VA_ARGS__, KB_KVEC, KB_SOFTIRQ,		\
	   .thread = true, .batch = _batch)
#define KB_MORE(_name, ...)		KB_MESSAGES(_name, 32, __VA_ARGS__)
#define KB_SINGLE(_name, ...)		KB_MESSAGES(_name, 1, __VA_ARGS__)

#endif /* _KFI_BENCH_KFI_H */
