/* SPDX-License-Identifier: GPL-2.0 */
/* regs.h - registers of the devices, and descriptors */
#ifndef NTBSIM_REGS_H
#define NTBSIM_REGS_H

#include <assert.h>
#include <stdint.h>

#define VENDOR_INTEL		0x8086

/*
 * Registers of the Intel Skylake NTB. Offsets and bits as in drivers/ntb/hw/intel/ntb_hw_gen3.h and
 * ntb_hw_intel.h; details that those files do not have are from Intel's public description of the
 * first generation of this bridge (Xeon C5500/C3500 datasheet, volume 1, document 323103, chapter
 * 3: comments of the drivers relate the registers).
 *
 * "Internal" (IM) is the side of the own processor, "external" (EM) the side of the link.
 */

#define NTB_DEVICE_ID		0x201c	/* PCI_DEVICE_ID_INTEL_NTB_B2B_SKX */
#define NTB_BAR0_SIZE		0x10000

/* configuration space */
#define NTB_AT_PPD		0xd4	/* XEON_PPD_OFFSET */
#define NTB_PPD_B2B_USD		0x01
#define NTB_PPD_B2B_DSD		0x11
#define NTB_AT_LINK_STATUS	0x1a2	/* GEN3_LINK_STATUS_OFFSET */
#define NTB_LINK_ACTIVE		0x2000	/* NTB_LNK_STA_ACTIVE_BIT */
#define NTB_LINK_GEN3_X16	(3 | 16 << 4)

/* BAR 0 */
#define NTB_CONTROL		0x0000	/* GEN3_NTBCNTL_OFFSET */
#define NTB_CONTROL_LOCK	0x1	/* NTB_CTL_CFG_LOCK */
#define NTB_CONTROL_DISABLE	0x2	/* NTB_CTL_DISABLE */
#define NTB_IM_XBASE		0x0010	/* GEN3_IMBAR1XBASE_OFFSET, the second window's at + 0x10 */
#define NTB_IM_XLIMIT		0x0018	/* GEN3_IMBAR1XLMT_OFFSET */
#define NTB_IM_STATUS		0x0040	/* GEN3_IM_INT_STATUS_OFFSET */
#define NTB_IM_MASK		0x0048	/* GEN3_IM_INT_DISABLE_OFFSET */
#define NTB_MISSES		0x0070	/* GEN3_USMEMMISS_OFFSET */
#define NTB_IM_SPAD		0x0080	/* GEN3_IM_SPAD_OFFSET */
#define NTB_VECTORS		0x00d0	/* GEN3_INTVEC_OFFSET */
#define NTB_IM_DOORBELL		0x0100	/* GEN3_IM_DOORBELL_OFFSET: rings at the peer */
#define NTB_B2B_SPAD		0x0180	/* GEN3_B2B_SPAD_OFFSET: the peer's */
#define NTB_EM_XBASE		0x4010	/* GEN3_EMBAR1XBASE_OFFSET */
#define NTB_EM_XLIMIT		0x4018	/* GEN3_EMBAR1XLMT_OFFSET */
#define NTB_EM_COMMAND		0x4504	/* GEN3_SPCICMD_OFFSET */
#define NTB_EM_BAR0		0x4510	/* GEN3_EMBAR0_OFFSET, EMBAR1 and 2 follow */
/* not used here: addresses of the client's MSI-X table and pending bits */
#define NTB_MSIX_TABLE		0x2000
#define NTB_MSIX_PENDING	0x3000

#define NTB_WINDOWS		2	/* XEON_MW_COUNT: BAR 2 and BAR 4 */
#define NTB_WINDOW_STEP		0x10
#define NTB_SPADS		16	/* GEN3_SPAD_COUNT */
#define NTB_DOORBELLS		32	/* GEN3_DB_COUNT */
#define NTB_LINK_BIT		32	/* GEN3_DB_LINK */
#define NTB_MSIX_VECTORS	33	/* GEN3_DB_MSIX_VECTOR_COUNT */

/*
 * Addresses of the windows on the link: XEON_B2B_BAR2_ADDR64, XEON_B2B_BAR4_ADDR64. 64-bit,
 * prefetchable.
 */
#define NTB_EM_BASE1		0x2000000000000000ull
#define NTB_EM_BASE2		0x4000000000000000ull
#define NTB_EM_FLAGS		0xc

/*
 * Registers and descriptors of the Intel I/OAT DMA engine, version 3, as in
 * drivers/dma/ioat/registers.h and hw.h. The behaviour of the engine follows from the code in dma.c
 * and init.c that expects it; ioat.c names the functions.
 */

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
