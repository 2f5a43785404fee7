/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kfabric: tracepoints at post, complete, error, connect and disconnect
 *
 *	echo 1 > /sys/kernel/tracing/events/kfi/enable
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM kfi

#if !defined(_TRACE_KFI_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_KFI_H

#include <linux/string.h>
#include <linux/tracepoint.h>
#include <kfi_prov.h>

TRACE_DEFINE_ENUM(KFI_OPC_SEND);
TRACE_DEFINE_ENUM(KFI_OPC_TSEND);
TRACE_DEFINE_ENUM(KFI_OPC_WRITE);
TRACE_DEFINE_ENUM(KFI_OPC_READ);
TRACE_DEFINE_ENUM(KFI_OPC_REPLY);
TRACE_DEFINE_ENUM(KFI_OPC_TWRITE);
TRACE_DEFINE_ENUM(KFI_OPC_TREAD);
TRACE_DEFINE_ENUM(KFI_OPC_PLACE_GET);
TRACE_DEFINE_ENUM(KFI_OPC_PLACE_PUT);
TRACE_DEFINE_ENUM(KFI_OPC_ATOMIC);
TRACE_DEFINE_ENUM(KFI_OPC_FETCH_ATOMIC);
TRACE_DEFINE_ENUM(KFI_OPC_COMPARE_ATOMIC);
TRACE_DEFINE_ENUM(KFI_OPC_RECV);
TRACE_DEFINE_ENUM(KFI_OPC_TRECV);

#define kfi_show_opcode(code)				\
	__print_symbolic(code,				\
		{ KFI_OPC_SEND,		"send" },	\
		{ KFI_OPC_TSEND,		"tsend" },	\
		{ KFI_OPC_WRITE,		"write" },	\
		{ KFI_OPC_READ,		"read" },	\
		{ KFI_OPC_REPLY,	"reply" },	\
		{ KFI_OPC_TWRITE,	"twrite" },	\
		{ KFI_OPC_TREAD,		"tread" },	\
		{ KFI_OPC_PLACE_GET,	"place_get" },	\
		{ KFI_OPC_PLACE_PUT,	"place_put" },	\
		{ KFI_OPC_ATOMIC,	"atomic" },	\
		{ KFI_OPC_FETCH_ATOMIC,	"fetch_atomic" }, \
		{ KFI_OPC_COMPARE_ATOMIC, "compare_atomic" }, \
		{ KFI_OPC_RECV,		"recv" },	\
		{ KFI_OPC_TRECV,		"trecv" })

TRACE_DEFINE_ENUM(KFI_EP_MSG);
TRACE_DEFINE_ENUM(KFI_EP_RDM);
TRACE_DEFINE_ENUM(KFI_EP_DGRAM);

#define kfi_show_ep_type(type)				\
	__print_symbolic(type,				\
		{ KFI_EP_MSG,		"msg" },	\
		{ KFI_EP_RDM,		"rdm" },	\
		{ KFI_EP_DGRAM,		"dgram" })

/* The core has accepted an operation, and passes it to the provider or the matching. */
TRACE_EVENT(kfi_post,
	TP_PROTO(const struct kfi_oper *op),
	TP_ARGS(op),
	TP_STRUCT__entry(
		__field(u32,		ep)
		__field(u8,		code)
		__field(u32,		index)
		__field(u32,		gen)
		__field(const void *,	context)
		__field(u64,		flags)
		__field(u64,		addr)
		__field(u64,		tag)
		__field(size_t,		len)
	),
	TP_fast_assign(
		__entry->ep	 = op->ep->obj.id;
		__entry->code	 = op->code;
		__entry->index	 = op->index;
		__entry->gen	 = op->gen;
		__entry->context = op->context;
		__entry->flags	 = op->flags;
		__entry->addr	 = op->addr;
		__entry->tag	 = op->tag;
		__entry->len	 = op->len;
	),
	TP_printk("ep=%u op=%s index=%u.%u context=%p flags=0x%llx addr=0x%llx tag=0x%llx len=%zu",
		  __entry->ep, kfi_show_opcode(__entry->code), __entry->index,
		  __entry->gen, __entry->context, __entry->flags,
		  __entry->addr, __entry->tag, __entry->len)
);

/* An operation has ended; @wc is its completion. */
TRACE_EVENT(kfi_complete,
	TP_PROTO(const struct kfi_oper *op, const struct kfi_cq_err_entry *wc),
	TP_ARGS(op, wc),
	TP_STRUCT__entry(
		__field(u32,		ep)
		__field(u8,		code)
		__field(u32,		index)
		__field(u32,		gen)
		__field(const void *,	context)
		__field(u64,		flags)
		__field(u64,		tag)
		__field(size_t,		len)
		__field(int,		err)
	),
	TP_fast_assign(
		__entry->ep	 = op->ep->obj.id;
		__entry->code	 = op->code;
		__entry->index	 = op->index;
		__entry->gen	 = op->gen;
		__entry->context = op->context;
		__entry->flags	 = wc->flags;
		__entry->tag	 = wc->tag;
		__entry->len	 = wc->len;
		__entry->err	 = wc->err;
	),
	TP_printk("ep=%u op=%s index=%u.%u context=%p flags=0x%llx tag=0x%llx len=%zu err=%d",
		  __entry->ep, kfi_show_opcode(__entry->code), __entry->index,
		  __entry->gen, __entry->context, __entry->flags,
		  __entry->tag, __entry->len, __entry->err)
);

/* An error has occurred on an endpoint; @what is a word that describes it. */
TRACE_EVENT(kfi_error,
	TP_PROTO(const struct kfi_ep *ep, int err, const char *what),
	TP_ARGS(ep, err, what),
	TP_STRUCT__entry(
		__field(u32,	ep)
		__field(int,	type)
		__field(int,	state)
		__field(int,	err)
		__array(char,	what, 32)
	),
	TP_fast_assign(
		__entry->ep	= ep->obj.id;
		__entry->type	= ep->type;
		__entry->state	= READ_ONCE(ep->state);
		__entry->err	= err;
		strscpy(__entry->what, what, 32);
	),
	TP_printk("ep=%u type=%s state=%d err=%d %s",
		  __entry->ep, kfi_show_ep_type(__entry->type), __entry->state,
		  __entry->err, __entry->what)
);

/* A connection is established. RDM endpoints have one for each peer. */
TRACE_EVENT(kfi_connect,
	TP_PROTO(const struct kfi_ep *ep),
	TP_ARGS(ep),
	TP_STRUCT__entry(
		__field(u32,	ep)
		__field(int,	type)
	),
	TP_fast_assign(
		__entry->ep	= ep->obj.id;
		__entry->type	= ep->type;
	),
	TP_printk("ep=%u type=%s", __entry->ep,
		  kfi_show_ep_type(__entry->type))
);

/* A connection has ended, or could not be established; @err is 0 after an orderly shutdown. */
TRACE_EVENT(kfi_disconnect,
	TP_PROTO(const struct kfi_ep *ep, int err),
	TP_ARGS(ep, err),
	TP_STRUCT__entry(
		__field(u32,	ep)
		__field(int,	type)
		__field(int,	state)
		__field(int,	err)
	),
	TP_fast_assign(
		__entry->ep	= ep->obj.id;
		__entry->type	= ep->type;
		__entry->state	= READ_ONCE(ep->state);
		__entry->err	= err;
	),
	TP_printk("ep=%u type=%s state=%d err=%d", __entry->ep,
		  kfi_show_ep_type(__entry->type), __entry->state, __entry->err)
);

#endif /* _TRACE_KFI_H */

#include <trace/define_trace.h>
