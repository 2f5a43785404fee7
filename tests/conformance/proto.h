/* SPDX-License-Identifier: GPL-2.0 */
/*
 * proto.h - the protocol between the driver of a two-machine run and its agent, over TCP.
 *
 * A request is answered before the next one of its connection; for several calls at a time there
 * are several connections. The first request of each is FAR_HELLO. Numbers of the header are
 * little-endian. The data that follows may contain structures of the consumer headers as they are
 * in memory: both ends are one build of one module, which the hello checks.
 *
 * Objects are named by numbers that the driver chooses, from 1 on; 0 is none. Memory is named by
 * windows, see far_mem.c.
 */
#ifndef KFI_CONFORMANCE_PROTO_H
#define KFI_CONFORMANCE_PROTO_H

#include <linux/build_bug.h>
#include <linux/types.h>

#define FAR_MAGIC	0x3172666bU	/* "kfr1" */
#define FAR_ARGS	8
#define FAR_OBJECTS	4096
#define FAR_MAX_BODY	(64U << 20)
#define FAR_MAX_VEC	1024		/* entries of a vector */

/*
 * Requests, with their arguments; "<" is data behind the header, ">" data behind the answer's
 * header.
 */
enum far_op {
	FAR_HELLO,		/* fingerprint, session or 0 -> session */
	FAR_RESET,		/* -> objects that were open */
	FAR_SYNC,		/* < > changes of windows */
	FAR_GETINFO,		/* version, flags < node, service, hints > infos */
	/* Those that open: ... context in [6], number in [7] -> fclass, key, address */
	FAR_FABRIC,		/* < info */
	FAR_DOMAIN,		/* fabric < info */
	FAR_EQ,			/* fabric, attr given < attr */
	FAR_CQ,			/* domain, attr given < attr */
	FAR_CNTR,		/* domain, attr given < attr */
	FAR_AV,			/* domain, attr given < attr */
	FAR_EP,			/* domain < info */
	FAR_SEP,		/* domain < info */
	FAR_PEP,		/* fabric < info */
	FAR_TX_CTX,		/* ep, index, attr given < attr */
	FAR_RX_CTX,		/* ep, index, attr given < attr */
	FAR_STX,		/* domain, attr given < attr */
	FAR_SRX,		/* domain, attr given < attr */
	FAR_MR_REG,		/* domain, flags < struct far_mr, segments */
	FAR_MR_ALLOC,		/* domain, most segments, flags */
	/* Others */
	FAR_MR_REGISTER,	/* -> result for done(), key, address */
	FAR_MR_INVALIDATE,	/* -> result for done() */
	FAR_CLOSE,		/* object */
	FAR_BIND,		/* object, object, flags -> nothing, key, address */
	FAR_CONTROL,		/* object, command, value, there is one -> value, key, address */
	FAR_OPEN_OPS,		/* object, flags < name */
	FAR_SETNAME,		/* object < address */
	FAR_GETNAME,		/* object, room > address -> its length */
	FAR_GETPEER,		/* as FAR_GETNAME */
	FAR_LISTEN,		/* pep */
	FAR_CONNECT,		/* ep, bytes of address < address, param */
	FAR_ACCEPT,		/* ep < param */
	FAR_REJECT,		/* pep, handle < param */
	FAR_SHUTDOWN,		/* ep, flags */
	FAR_LIMITS,		/* domain > limits */
	FAR_AV_INSERT,		/* av, count, flags < addresses > handles */
	FAR_AV_INSERTSVC,	/* av, flags < node, service > handle */
	FAR_AV_INSERTSYM,	/* av, nodes, services, flags < node, service > handles */
	FAR_AV_REMOVE,		/* av, flags < handles */
	FAR_AV_LOOKUP,		/* av, handle, room > address -> its length */
	FAR_AV_STRADDR,		/* av, room < address > text -> its length */
	FAR_EQ_READ,		/* eq, room, flags, may wait, timeout > event -> event */
	FAR_EQ_READERR,		/* eq, room, flags > entry, data */
	FAR_EQ_WRITE,		/* eq, event, flags < entry */
	/* cq, count, bytes of an entry, senders wanted, may wait, timeout > entries, senders */
	FAR_CQ_READ,
	FAR_CQ_READERR,		/* cq, room, flags > entry, data */
	FAR_CQ_SIGNAL,		/* cq */
	FAR_CQ_POLL,		/* cq, budget */
	FAR_CNTR_READ,		/* cntr -> value */
	FAR_CNTR_READERR,	/* cntr -> value */
	FAR_CNTR_CHANGE,	/* cntr, enum far_cntr, value */
	FAR_CNTR_WAIT,		/* cntr, threshold, timeout */
	FAR_CANCEL,		/* ep, context */
	FAR_TX_FLUSH,		/* ep */
	FAR_SETOPT,		/* ep, level, option < value */
	FAR_GETOPT,		/* ep, level, option, room > value -> its length */
	FAR_QUERY_ATOMIC,	/* domain or ep, type, op, flags > attr */
	/* ep, enum far_post_kind < struct far_post, segments, remote segments */
	FAR_POST,
	FAR_OPS
};

enum far_cntr { FAR_CNTR_ADD, FAR_CNTR_SET, FAR_CNTR_ADDERR, FAR_CNTR_SETERR };

enum far_post_kind {
	FAR_RECV, FAR_SEND, FAR_TRECV, FAR_TSEND, FAR_READ, FAR_WRITE, FAR_FLUSH,
	FAR_ATOMIC, FAR_FETCH, FAR_COMPARE,
	FAR_POST_KINDS
};

struct far_request {
	__le32	magic;
	__le32	op;
	__le64	len;		/* bytes that follow */
	__le64	arg[FAR_ARGS];
};

struct far_answer {
	__le32	magic;
	__le32	pad;
	__le64	len;		/* bytes that follow */
	__le64	ret;
	__le64	val[3];
};

static_assert(sizeof(struct far_request) == 80);
static_assert(sizeof(struct far_answer) == 48);

/**
 * struct far_change - header of one window in FAR_SYNC, followed by its runs
 * @window: its number
 * @base: for a new window: the driver's address
 * @size: for a new window: bytes
 * @whole: its pages are adjacent
 * @lo: begin of the part in which the other side may have changed something
 * @hi: end of that part
 * @runs: number of pieces that follow, each a struct far_run and its bytes
 */
struct far_change {
	u32	window, runs;
	u64	base, size;
	u64	lo, hi;
	u64	whole;
};

struct far_run {
	u32	at, len;
};

/*
 * A piece of memory: @len bytes or elements at @at of a window; without a window @at is the
 * address.
 */
struct far_seg {
	u64	window, at, len;
};

struct far_remote_seg {
	u64	addr, len, key;
};

/**
 * struct far_post - an operation
 * @counts: entries of the vectors as the consumer gives them: local, compare, results
 * @rma_count: entries of the remote vector
 * @given: number of segments that follow for each vector; fewer if the count is absurd or the
 *	vector is NULL
 * @rma_given: the same for the remote vector
 */
struct far_post {
	u64	flags, addr, context, data, tag, ignore, inv_key;
	u32	type, datatype, op;
	u64	counts[3], rma_count;
	u32	given[3], rma_given;
};

struct far_mr {
	u64	access, offset, requested_key, context, count, auth_key_size;
	u32	type, given, has_auth_key;
	u8	auth_key[64];
};

#endif /* KFI_CONFORMANCE_PROTO_H */
