/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Registers of the Intel Skylake NTB. Offsets and bits as in drivers/ntb/hw/intel/ntb_hw_gen3.h and
 * ntb_hw_intel.h; details that those files do not have are from Intel's public description of the
 * first generation of this bridge (Xeon C5500/C3500 datasheet, volume 1, document 323103, chapter
 * 3: comments of the drivers relate the registers).
 *
 * "Internal" (IM) is the side of the own processor, "external" (EM) the side of the link.
 */
#ifndef NTBSIM_NTB_REGS_H
#define NTBSIM_NTB_REGS_H

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

#endif
