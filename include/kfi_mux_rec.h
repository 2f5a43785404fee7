/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kfi_mux_rec.h - a record of the multiplexer, between it and a provider (kfi_mux.h). It compiles
 * in user space as well, for the fuzzer.
 */
#ifndef _KFI_MUX_REC_H
#define _KFI_MUX_REC_H

#ifdef __KERNEL__
#include <linux/types.h>
#endif

/** KFI_MUX_BODY_MAX - bytes of what follows the header of a record, without bytes of a stream */
#define KFI_MUX_BODY_MAX	24U
/** KFI_MUX_DATA_LEN - the same of a record with bytes of a stream */
#define KFI_MUX_DATA_LEN	8U
/** KFI_MUX_WINDOW_MIN - bytes of the window of a caller that was not admitted yet: a hello */
#define KFI_MUX_WINDOW_MIN	1024U

/**
 * struct kfi_mux_rec - the beginning of a record: its header, and what follows before any bytes of
 *	a stream
 * @type: &enum kmw_type, 16 or more; smaller numbers are the provider's
 * @bits: bits of the type; the upper eight are 0
 * @conn: the number of the connection at the receiver; 0 in a call
 * @len: record to be sent: bytes of @body; received record: all bytes behind the header
 * @body: what follows the header. A provider that receives a record leaves it empty
 *
 * How the header looks is up to the provider: it carries @type, @bits and @conn, and the length of
 * the record.
 */
struct kfi_mux_rec {
	u8	type;
	u16	bits;
	u32	conn;
	u32	len;
	u8	body[KFI_MUX_BODY_MAX];
};

/**
 * struct kfi_mux_piece - bytes that the sender has written to memory of the receiver, ahead of the
 *	record that announces them
 * @len: number of bytes, not 0
 * @key: for the provider; the receiver has chosen it
 * @crc: for the provider
 * @at: for the provider
 */
struct kfi_mux_piece {
	u32	len;
	u32	key;
	u32	crc;
	u32	at;
};

#endif /* _KFI_MUX_REC_H */
