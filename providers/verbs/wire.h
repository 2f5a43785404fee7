/* SPDX-License-Identifier: GPL-2.0 */
/*
 * wire.h - format of a link of kfi_verbs: private data of the connection manager, and the head of
 * each SEND. The rest of a SEND is bytes of the message protocol.
 *
 * All integers are little endian. docs/wire-verbs.md describes the link.
 */
#ifndef _KFI_VERBS_WIRE_H
#define _KFI_VERBS_WIRE_H

#include <linux/build_bug.h>
#include <linux/types.h>
#include <kfi_versions.h>

#define KVW_MAGIC	0x5649464b	/* "KFIV" */
#define KVW_VERSION	5		/* highest version that this side speaks */
#define KVW_VERSION_MIN	5		/* lowest one; 1 to 4 had another message protocol */
#define KVW_DATA_MAX	32		/* private data of a consumer of MSG endpoints */
#define KVW_FIRST	16		/* receives of each side until the first kvw_head.limit */
#define KVW_RECVS_MAX	1024		/* receives of a side at any time */
#define KVW_SEND_MAX	8192		/* bytes of a SEND, with its head */
#define KVW_RESERVE	6		/* receives that only a SEND without bytes may use */

/**
 * struct kvw_front - private data of a request, of the answer to it, and of its refusal
 * @magic: KVW_MAGIC
 * @zero: 0: a hello of versions 1 to 4 has a kind here
 * @version: highest version that the sender speaks
 * @version_min: the lowest one
 *
 * The offsets of these members are the same in all versions, so that sides of different versions
 * refuse each other with a message.
 */
struct kvw_front {
	__le32	magic;
	__le16	zero;
	u8	version;
	u8	version_min;
} __packed;

static_assert(sizeof(struct kvw_front) == 8, "front");

#define KVW_F_PING	0x0001		/* the receiver has to answer at once, with KVW_F_PONG */
#define KVW_F_PONG	0x0002		/* all SENDs up to the last ping were received */

/**
 * struct kvw_head - the first bytes of each SEND
 * @limit: receives that the sender of this head has posted since the connection began: the number
 *	of SENDs that its peer may send
 * @flags: KVW_F_PING, KVW_F_PONG
 * @zero: 0
 */
struct kvw_head {
	__le32	limit;
	__le16	flags;
	__le16	zero;
};

static_assert(sizeof(struct kvw_head) == 8, "head");

#endif /* _KFI_VERBS_WIRE_H */
