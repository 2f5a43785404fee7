/* SPDX-License-Identifier: GPL-2.0 */
/* opcode.h - what the kinds of operations have in common, as data: one row for each. */
#ifndef _KFI_OPCODE_H
#define _KFI_OPCODE_H

#include <kfi_prov.h>

/* Flags that change what a tagged receive does */
#define KFI_PEEK_FLAGS	(KFI_PEEK | KFI_CLAIM | KFI_DISCARD)

/**
 * struct kfi_opcode_row - one kind of operation
 * @flags: operation flags that a post may have
 * @caps: capabilities that the endpoint needs
 * @dir: direction of the payload, ITER_SOURCE or ITER_DEST
 * @cntr: &enum kfi_cntr_dir of the counter
 * @wc_flags: flags of the completion; those of a receive come from the message
 */
struct kfi_opcode_row {
	u64	flags;
	u64	caps;
	u64	wc_flags;
	u8	dir;
	u8	cntr;
};

extern const struct kfi_opcode_row kfi_opcode_rows[KFI_OPC_CODES];

static inline bool kfi_opc_is_rx(u8 code)
{
	return code >= KFI_OPC_RECV;
}

#endif /* _KFI_OPCODE_H */
