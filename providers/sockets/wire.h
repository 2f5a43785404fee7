/* SPDX-License-Identifier: GPL-2.0 */
/*
 * wire.h - format of a UDP datagram of kfi_sockets: this header, then the payload. Little endian.
 *
 * A TCP connection carries the message protocol, see docs/wire-protocol.md.
 */
#ifndef _KFI_SOCKETS_WIRE_H
#define _KFI_SOCKETS_WIRE_H

#include <linux/build_bug.h>
#include <linux/types.h>

#define KSW_MAGIC	0x4449464b	/* "KFID" */
#define KSW_VERSION	1
#define KSW_F_CQ_DATA	0x01		/* @data is valid */

/**
 * struct ksw_datagram - header of a datagram
 * @magic: KSW_MAGIC
 * @version: KSW_VERSION
 * @flags: KSW_F_CQ_DATA or 0
 * @data: remote CQ data, or 0
 */
struct ksw_datagram {
	__le32	magic;
	__le16	version;
	__le16	flags;
	__le64	data;
} __packed;

static_assert(sizeof(struct ksw_datagram) == 16, "datagram header");

#endif /* _KFI_SOCKETS_WIRE_H */
