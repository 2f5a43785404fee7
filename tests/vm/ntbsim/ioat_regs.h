/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Registers and descriptors of the Intel I/OAT DMA engine, version 3, as in
 * drivers/dma/ioat/registers.h and hw.h. The behaviour of the engine follows from the code in dma.c
 * and init.c that expects it; ioat.c names the functions.
 */
#ifndef NTBSIM_IOAT_REGS_H
#define NTBSIM_IOAT_REGS_H

#include <assert.h>
#include <stdint.h>

#define IOAT_DEVICE_ID		0x2021	/* PCI_DEVICE_ID_INTEL_IOAT_SKX */
#define IOAT_BAR0_SIZE		0x4000
#define IOAT_AT_CHANERR_INT	0x180	/* configuration space: IOAT_PCI_CHANERR_INT_OFFSET */
#define IOAT_MSIX_TABLE		0x2000
#define IOAT_MSIX_PENDING	0x3000

/* the device */
#define IOAT_CHANCNT		0x00
#define IOAT_XFERCAP		0x01	/* log2 */
#define IOAT_INTRCTRL		0x03
#define IOAT_INTRCTRL_MASTER	0x01	/* IOAT_INTRCTRL_MASTER_INT_EN */
#define IOAT_VER		0x08
#define IOAT_VER_3_4		0x34
/* IOAT_CHANNEL_MMIO_SIZE; channel n follows at 0x80 * (n + 1) */
#define IOAT_HEADER		0x80

/* a channel */
#define IOAT_CHANCTRL		0x00
#define IOAT_CTRL_REARM		0x0001	/* IOAT_CHANCTRL_INT_REARM */
#define IOAT_CTRL_ERR_COMPLETE	0x0004	/* IOAT_CHANCTRL_ERR_COMPLETION_EN */
#define IOAT_CTRL_ERR_INT	0x0010	/* IOAT_CHANCTRL_ERR_INT_EN */
#define IOAT_CHANCMD		0x04
#define IOAT_CMD_SUSPEND	0x04
#define IOAT_CMD_RESET		0x20
#define IOAT_DMACOUNT		0x06
#define IOAT_CHANSTS		0x08
#define IOAT_CHAINADDR		0x10
#define IOAT_CHANCMP		0x18
#define IOAT_CHANERR		0x28
#define IOAT_CHANERR_MASK	0x2c
#define IOAT_DCACTRL		0x30

/* CHANSTS, low bits; the rest is the address of the last completed descriptor */
enum ioat_state { IOAT_ACTIVE, IOAT_DONE, IOAT_SUSPENDED, IOAT_HALTED };

/* CHANERR */
#define IOAT_ERR_NEXT_ADDR	0x0004
#define IOAT_ERR_CHAIN_ADDR	0x0010	/* IOAT_CHANERR_CHAIN_ADDR_VALUE_ERR */
#define IOAT_ERR_READ_DATA	0x0100
#define IOAT_ERR_WRITE_DATA	0x0200
#define IOAT_ERR_CONTROL	0x0400
#define IOAT_ERR_LENGTH		0x0800
#define IOAT_ERR_COMPLETION	0x1000

/* struct ioat_dma_descriptor */
struct ioat_descriptor {
	uint32_t size;
	uint32_t control;
	uint64_t source;
	uint64_t target;
	uint64_t next;
	uint64_t unused[4];
};
static_assert(sizeof(struct ioat_descriptor) == 64, "descriptor");

#define IOAT_DESC_INT		0x01	/* int_en */
#define IOAT_DESC_COMPLETE	0x08	/* compl_write */
#define IOAT_DESC_NULL		0x20	/* null */
#define IOAT_DESC_OP_SHIFT	24
#define IOAT_OP_COPY		0x00

#endif
