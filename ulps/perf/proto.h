/* SPDX-License-Identifier: GPL-2.0 */
/*
 * proto.h - the control messages of kfi_perf: format, and nothing else.
 *
 * They travel on the measured endpoint itself, as plain messages that carry the
 * remote CQ data PERF_CTL_DATA; whatever comes without it is payload. A client
 * that connects sends its HELLO as private data of the connection instead, and
 * then a PING, because who accepts may not send before a message has come.
 *
 *	client				server
 *	HELLO (to the known address)	a session opens an endpoint of its own
 *					WELCOME (from that endpoint)
 *	payload ...			payload, if they play ping-pong
 *	CHECK				CHECKED		(verified writes, each round)
 *	PING				nothing: I am alive
 *	END				REPORT, when all payload has come
 *	BYE				closes
 *
 * All numbers are little-endian. hdr.len is the length of the whole message.
 */
#ifndef _KFI_PERF_PROTO_H
#define _KFI_PERF_PROTO_H

#include <linux/build_bug.h>
#include <linux/types.h>
#include <kfi_versions.h>

#define PERF_MAGIC	0x6670666bU	/* "kfpf" */
#define PERF_VERSION	3		/* highest version that this side speaks */
#define PERF_VERSION_MIN	3		/* lowest version that this side speaks */
#define PERF_CTL_DATA	0x636b6670U	/* fits the 4 bytes that all transports have */
#define PERF_ADDR_MAX	64
#define PERF_TIMEOUT_MAX_MS	600000U	/* so long a silent client has a session */
#define PERF_CTL_MAX	192		/* more than the longest message */

enum perf_type {
	PERF_HELLO = 1,
	PERF_WELCOME,
	PERF_CHECK,
	PERF_CHECKED,
	PERF_END,
	PERF_REPORT,
	PERF_BYE,
	PERF_PING,
};

#define PERF_HELLO_VERIFY	(1U << 0)
#define PERF_HELLO_OLDER(flags)	((flags) >> 4)	/* versions spoken below hdr.version */

extern const struct kfi_versions perf_speaks;

/*
 * HELLO, WELCOME and PING are the same in all versions. HELLO and the first PING have the highest
 * version that the client speaks, other messages have the one that both sides use.
 */

struct perf_wire_hdr {
	__le32	magic;
	__u8	version;
	__u8	type;
	__le16	len;
} __packed;

/* Followed by addrlen bytes: the client's address, if it is not connected. */
struct perf_wire_hello {
	struct perf_wire_hdr hdr;
	__u8	op;
	__u8	mode;
	__u8	wait;
	__u8	mem;
	__le32	size;
	__le16	depth;
	__u8	flags;
	__u8	addrlen;
	__le32	timeout_ms;
	__le64	seed;
} __packed;
static_assert(sizeof(struct perf_wire_hello) == 32,
	      "fits the private data that kfi_verbs has room for");

/* Followed by addrlen bytes: the session's address, if it is not connected. */
struct perf_wire_welcome {
	struct perf_wire_hdr hdr;
	__le32	status;		/* 0, or a positive error number */
	__le16	addrlen;
	__u8	version;	/* the highest that the server speaks; 0: hdr.version alone */
	__u8	version_min;	/* and the lowest, see kfi_versions_read() */
	__le64	base;		/* of the region for RMA */
	__le64	key;
} __packed;
static_assert(sizeof(struct perf_wire_welcome) == 32, "the same");

/* CHECK: messages seq to seq + count - 1 are in their slots. Others: counts. */
struct perf_wire_counts {
	struct perf_wire_hdr hdr;
	__le64	seq;
	__le64	count;
	__le64	errors;
} __packed;
static_assert(sizeof(struct perf_wire_counts) == 32);

static_assert(sizeof(struct perf_wire_hello) + PERF_ADDR_MAX <= PERF_CTL_MAX);
static_assert(sizeof(struct perf_wire_welcome) + PERF_ADDR_MAX <= PERF_CTL_MAX);

/* The same in the byte order of the CPU */

struct perf_hello {
	u8	op, mode, wait, mem;
	bool	verify;
	u32	size;
	u32	depth;
	u64	seed;
	u32	timeout_ms;
};

/**
 * struct perf_ctl - a control message
 * @type: enum perf_type
 * @version: version of the message; 0: the highest that this side speaks
 * @speaks: PERF_HELLO, PERF_WELCOME: what the sender speaks; set by perf_decode()
 * @hello: PERF_HELLO
 * @status: PERF_WELCOME
 * @base: PERF_WELCOME
 * @key: PERF_WELCOME
 * @seq: PERF_CHECK
 * @count: types with struct perf_wire_counts
 * @errors: types with struct perf_wire_counts
 * @addrlen: PERF_HELLO and PERF_WELCOME
 * @addr: PERF_HELLO and PERF_WELCOME
 */
struct perf_ctl {
	u8	type;
	u8	version;
	struct kfi_versions speaks;
	union {
		struct perf_hello hello;
		struct {
			u32	status;
			u64	base;
			u64	key;
		};
		struct {
			u64	seq;
			u64	count;
			u64	errors;
		};
	};
	u16	addrlen;
	u8	addr[PERF_ADDR_MAX];
};

/* Encode into PERF_CTL_MAX bytes. Return: the length */
size_t perf_encode(const struct perf_ctl *ctl, void *buf);
/*
 * Return: 0; -EPROTO for a message that perf_encode() does not produce; -EPROTONOSUPPORT for HELLO
 * and WELCOME without a common version
 */
int perf_decode(const void *buf, size_t len, struct perf_ctl *ctl);

#endif /* _KFI_PERF_PROTO_H */
