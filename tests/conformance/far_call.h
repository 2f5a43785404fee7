/* SPDX-License-Identifier: GPL-2.0 */
/* far_call.h - calls on proxies. Not for cases: they use far.h. */
#ifndef KFI_CONFORMANCE_FAR_CALL_H
#define KFI_CONFORMANCE_FAR_CALL_H

#include <linux/compiler.h>
#include <linux/hardirq.h>
#include <linux/irqflags.h>
#include <kfi_atomic.h>
#include <kfi_cm.h>
#include <kfi_domain.h>
#include <kfi_endpoint.h>
#include <kfi_eq.h>
#include <kfi_rma.h>
#include <kfi_tagged.h>
#include "far.h"
#include "far_buf.h"

/* Numbers of handles of connection requests follow those of objects. */
#define FAR_HANDLES	256
#define FAR_PROXIES	(FAR_OBJECTS + FAR_HANDLES)

/**
 * struct far_proxy - an object of the other machine; its number is its index
 * @used: it is open
 * @entry: of a completion queue: bytes of an entry
 * @format: of objects with addresses: their format
 */
struct far_proxy {
	union {
		struct kfid		fid;
		struct kfid_fabric	fabric;
		struct kfid_domain	domain;
		struct kfid_eq		eq;
		struct kfid_cq		cq;
		struct kfid_cntr	cntr;
		struct kfid_av		av;
		struct kfid_ep		ep;
		struct kfid_pep		pep;
		struct kfid_stx		stx;
		struct kfid_mr		mr;
	};
	bool	used;
	u8	entry;
	u32	format;
};

/* All proxies, or NULL; written once before any case runs. */
extern struct far_proxy *far_proxies;

/* Is it an object of the other machine? The head of each object is its first member. */
static inline bool far_is(const void *fid)
{
	struct far_proxy *all = READ_ONCE(far_proxies);

	return unlikely(all) && fid >= (void *)all && fid < (void *)(all + FAR_PROXIES);
}

static inline u64 far_number(const void *fid)
{
	return (const struct far_proxy *)fid - far_proxies + 1;
}

static inline bool far_on(void)
{
	return unlikely(READ_ONCE(far_proxies));
}

/**
 * struct far_call - a call
 * @op: kind of the call
 * @arg: its arguments
 * @in: data that follows the request
 * @in_len: bytes of @in
 * @out: memory for the data that follows the answer
 * @room: bytes of @out
 * @out_len: bytes that have come
 * @keep: buffer for that data instead, to be freed by the caller
 */
struct far_call {
	enum far_op	op;
	u64		arg[FAR_ARGS];
	const void	*in;
	size_t		in_len;
	void		*out;
	size_t		room, out_len;
	struct far_buf	*keep;
	u64		val[3];
};

/* Return the result of the call on the other machine, or -ENOTCONN. Sleeps. */
s64 far_call(struct far_call *c);
#define far_do(op_, ...)							\
	far_call(&(struct far_call){ .op = (op_), .arg = { __VA_ARGS__ } })
/* Suspend fault injection of the case, which is not meant for allocations of the driver. */
unsigned int far_no_faults(void);
void far_faults_again(unsigned int nth);
/* Make a call that opens: *@to is the new proxy. */
int far_open(struct far_call *c, void *context, void *to);
void far_proxy_free(void *fid);
static inline struct far_proxy *far_proxy(void *fid)
{
	return fid;
}
/* The device for which a case maps memory of either side */
struct device *far_dma_device(void);
/* Return the proxy of a number, or NULL. */
struct kfid *far_proxy_of(u64 number);
extern const struct far_names far_names;

/* The case asks for something that is impossible on another machine. */
int far_refuse(const char *why);
bool far_cannot_wait(void);
void far_refuse_reset(void);

/* far_mem.c */

/*
 * Translate an address of the case to a place at the other machine. Memory that is not the case's
 * own is copied if it is a source.
 */
int far_seg(struct far_seg *seg, const void *p, size_t len, bool source);
/*
 * Reason to exchange changes: only to send ours, or because an operation has ended here, or there
 */
enum far_news { FAR_NO_NEWS, FAR_NEAR_NEWS, FAR_NEWS };
int far_sync(enum far_news news);
/* Return the address of a page of the case, or NULL. */
void *far_page_address(const struct page *page);
/* A peer may access it as long as the case runs. */
void far_pin(const struct far_seg *seg);

/*
 * From now on the case may learn of completions in callbacks, which do not pass through this file.
 */
void far_unheard(void);

/*
 * far_push(): before a post here that may move bytes there. far_posted(): after the post, with its
 * result.
 */
void far_push(u64 flags);
void far_posted(u64 flags, ssize_t ret);
/* @n completions were read here. */
void far_ended(ssize_t n);

/*
 * A completion here may have changed regions there; a completion there any memory that was passed.
 */
static inline void far_pull(const void *fid, bool news)
{
	if (news && far_on())
		far_sync(far_is(fid) ? FAR_NEWS : FAR_NEAR_NEWS);
}

/* The calls of route.h. */
typeof(kfi_getinfo_net) side_getinfo_net;
typeof(kfi_fabric_net) side_fabric_net;
typeof(kfi_close) side_close;
typeof(kfi_bind) side_bind;
typeof(kfi_control) side_control;
typeof(kfi_open_ops) side_open_ops;
typeof(kfi_setname) side_setname;
typeof(kfi_getname) side_getname;
typeof(kfi_getpeer) side_getpeer;
typeof(kfi_listen) side_listen;
typeof(kfi_connect) side_connect;
typeof(kfi_accept) side_accept;
typeof(kfi_reject) side_reject;
typeof(kfi_shutdown) side_shutdown;
typeof(kfi_domain) side_domain;
typeof(kfi_domain_limits) side_domain_limits;
typeof(kfi_cq_open) side_cq_open;
typeof(kfi_cntr_open) side_cntr_open;
typeof(kfi_mr_regattr) side_mr_regattr;
typeof(kfi_mr_alloc) side_mr_alloc;
typeof(kfi_mem_alloc) side_mem_alloc;
typeof(kfi_mr_register) side_mr_register;
typeof(kfi_mr_invalidate) side_mr_invalidate;
typeof(kfi_av_open) side_av_open;
typeof(kfi_av_insert) side_av_insert;
typeof(kfi_av_insertsvc) side_av_insertsvc;
typeof(kfi_av_insertsym) side_av_insertsym;
typeof(kfi_av_remove) side_av_remove;
typeof(kfi_av_lookup) side_av_lookup;
typeof(kfi_av_straddr) side_av_straddr;
typeof(kfi_eq_open) side_eq_open;
typeof(kfi_eq_read) side_eq_read;
typeof(kfi_eq_readerr) side_eq_readerr;
typeof(kfi_eq_write) side_eq_write;
typeof(kfi_eq_sread) side_eq_sread;
typeof(kfi_cq_read) side_cq_read;
typeof(kfi_cq_readfrom) side_cq_readfrom;
typeof(kfi_cq_readerr) side_cq_readerr;
typeof(kfi_cq_sread) side_cq_sread;
typeof(kfi_cq_sreadfrom) side_cq_sreadfrom;
typeof(kfi_cq_signal) side_cq_signal;
typeof(kfi_cq_poll) side_cq_poll;
typeof(kfi_cntr_read) side_cntr_read;
typeof(kfi_cntr_readerr) side_cntr_readerr;
typeof(kfi_cntr_add) side_cntr_add;
typeof(kfi_cntr_set) side_cntr_set;
typeof(kfi_cntr_adderr) side_cntr_adderr;
typeof(kfi_cntr_seterr) side_cntr_seterr;
typeof(kfi_cntr_wait) side_cntr_wait;
typeof(kfi_endpoint) side_endpoint;
typeof(kfi_passive_ep) side_passive_ep;
typeof(kfi_scalable_ep) side_scalable_ep;
typeof(kfi_cancel) side_cancel;
typeof(kfi_ep_tx_flush) side_ep_tx_flush;
typeof(kfi_setopt) side_setopt;
typeof(kfi_getopt) side_getopt;
typeof(kfi_tx_context) side_tx_context;
typeof(kfi_rx_context) side_rx_context;
typeof(kfi_stx_context) side_stx_context;
typeof(kfi_srx_context) side_srx_context;
typeof(kfi_ep_tx_space) side_ep_tx_space;
typeof(kfi_recvmsg) side_recvmsg;
typeof(kfi_sendmsg) side_sendmsg;
typeof(kfi_trecvmsg) side_trecvmsg;
typeof(kfi_tsendmsg) side_tsendmsg;
typeof(kfi_readmsg) side_readmsg;
typeof(kfi_writemsg) side_writemsg;
typeof(kfi_flush) side_flush;
typeof(kfi_query_atomic) side_query_atomic;
typeof(kfi_ep_query_atomic) side_ep_query_atomic;
typeof(kfi_atomicmsg) side_atomicmsg;
typeof(kfi_fetch_atomicmsg) side_fetch_atomicmsg;
typeof(kfi_compare_atomicmsg) side_compare_atomicmsg;

#endif /* KFI_CONFORMANCE_FAR_CALL_H */
