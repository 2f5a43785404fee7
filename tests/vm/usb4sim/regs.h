/* SPDX-License-Identifier: GPL-2.0 */
/*
 * regs.h - registers of the host interface, descriptors, control packets and configuration spaces
 *
 * Offsets and bits as in drivers/thunderbolt/nhi_regs.h, tb_regs.h and tb_msgs.h (Linux 7.2), whose
 * names are in the comments.
 */
#ifndef USB4SIM_REGS_H
#define USB4SIM_REGS_H

#include <assert.h>
#include <stdint.h>

#define BIT(n)		(1u << (n))
/* Value of the field of @width bits at bit @at */
#define FIELD(word, at, width)	((word) >> (at) & (BIT(width) - 1))

/* ---- the host interface: BAR 0 ---- */

#define NHI_RINGS		12	/* of each direction, ring 0 included: REG_CAPS */
#define NHI_VECTORS		16	/* MSIX_MAX_VECS */
#define NHI_BAR0_SIZE		0x40000
/* not used here: addresses of the client's MSI-X table and pending bits */
#define NHI_MSIX_TABLE		0x3e000
#define NHI_MSIX_PENDING	0x3f000

#define NHI_TX_RINGS		0x00000	/* REG_TX_RING_BASE, 16 bytes a ring */
#define NHI_RX_RINGS		0x08000	/* REG_RX_RING_BASE */
#define NHI_TX_OPTIONS		0x19800	/* REG_TX_OPTIONS_BASE, 32 bytes a ring */
#define NHI_RX_OPTIONS		0x29800	/* REG_RX_OPTIONS_BASE */
#define NHI_NOTIFY		0x37800	/* REG_RING_NOTIFY_BASE */
#define NHI_INT_CLEAR		0x37808	/* REG_RING_INT_CLEAR */
#define NHI_INT_ENABLE		0x38200	/* REG_RING_INTERRUPT_BASE */
#define NHI_INT_DISABLE		0x38208	/* REG_RING_INTERRUPT_MASK_CLEAR_BASE */
#define NHI_THROTTLE		0x38c00	/* REG_INT_THROTTLING_RATE, a word a vector, in 256 ns */
#define NHI_VECTOR_OF		0x38c40	/* REG_INT_VEC_ALLOC_BASE, 4 bits a ring */
#define NHI_CAPS		0x39640	/* REG_CAPS */
#define NHI_CAPS_VERSION_1	0x10000	/* the driver resets ports, not the router: nhi_reset() */

/* within a ring */
#define RING_BASE_LOW		0x0
#define RING_BASE_HIGH		0x4
#define RING_INDICES		0x8
#define RING_SIZE		0xc
/* within its options */
#define RING_FLAGS		0x0
#define RING_PDF_MASKS		0x4

#define RING_E2E		BIT(28)	/* RING_FLAG_E2E_FLOW_CONTROL */
#define RING_RAW		BIT(30)	/* RING_FLAG_RAW */
#define RING_ENABLE		BIT(31)	/* RING_FLAG_ENABLE */

/* struct ring_desc */
struct descriptor {
	uint64_t address;
	uint32_t word;		/* length 12 bits, end 4, start 4, flags 12 */
	uint32_t time;
};
static_assert(sizeof(struct descriptor) == 16, "descriptor");

#define FRAME_BYTES		4096	/* length 0 means that */
/* enum ring_desc_flags, within the word */
#define DESC_CRC_ERROR		BIT(20)
#define DESC_COMPLETED		BIT(21)

/* ---- control packets: struct tb_cfg_header and what follows, in 32-bit words ---- */

#define PACKET_BYTES		256	/* TB_FRAME_SIZE, checksum included */
#define PACKET_WORDS		(PACKET_BYTES / 4)

enum packet_type {		/* enum tb_cfg_pkg_type */
	PACKET_READ = 1, PACKET_WRITE, PACKET_ERROR, PACKET_NOTIFY_ACK, PACKET_EVENT,
	PACKET_XDOMAIN_REQUEST, PACKET_XDOMAIN_RESPONSE, PACKET_OVERRIDE, PACKET_RESET,
};

enum packet_space { SPACE_PATHS, SPACE_ADAPTER, SPACE_ROUTER, SPACE_COUNTERS };

enum packet_error {		/* enum tb_cfg_error */
	ERROR_NOT_CONNECTED = 0, ERROR_NO_SUCH_SPACE = 2, ERROR_ACK_PLUG_EVENT = 7,
};

#define PACKET_REPLY		BIT(31)
#define EVENT_UNPLUG		BIT(31)
#define ACK_OF_PLUG		2	/* TB_CFG_ERROR_PG_HOT_PLUG */
#define ACCESS_WORDS		60	/* TB_MAX_CONFIG_RW_LENGTH */

/* ---- the router: ROUTER_CS_n is word n ---- */

#define ROUTER_WORDS		0x80
#define ROUTER_VALID		BIT(31)	/* in word 3: ROUTER_CS_3_V */
#define ROUTER_SLEEP		BIT(0)	/* ROUTER_CS_5_SLP, ROUTER_CS_6_SLPR */
#define ROUTER_DATA		9	/* ROUTER_CS_9 */
#define ROUTER_METADATA		0x19	/* ROUTER_CS_25 */
#define ROUTER_OPERATION	0x1a	/* ROUTER_CS_26 */
#define ROUTER_UNSUPPORTED	BIT(30)	/* ROUTER_CS_26_ONS */
#define ROUTER_START		BIT(31)	/* ROUTER_CS_26_OV */
#define ROUTER_BUFFER_ALLOC	0x33	/* USB4_SWITCH_OP_BUFFER_ALLOC */
#define BUFFERS_FOR_HOSTS	5	/* USB4_BA_MAX_HI */
#define ROUTER_AT_TMU		0x40

/* ---- an adapter: ADP_CS_n is word n ---- */

#define ADAPTER_WORDS		0x80
#define ADAPTER_LANE		1	/* TB_TYPE_PORT */
#define ADAPTER_HOST		2	/* TB_TYPE_NHI */
#define ADAPTER_NO_EVENTS	BIT(31)	/* ADP_CS_5_DHP */
#define ADAPTER_BUFFERS		0x3ff00000u	/* ADP_CS_4_TOTAL_BUFFERS_MASK */
#define ADAPTER_HOPIDS		0x3fffffu	/* in word 5 */

#define LANE_AT_PHY		0x10	/* TB_PORT_CAP_PHY: LANE_ADP_CS_n */
#define LANE_AT_TMU		0x20	/* TB_PORT_CAP_TIME1 */
#define LANE_AT_USB4		0x30	/* TB_PORT_CAP_USB4: PORT_CS_n */
#define HOST_AT_CAP		0x10	/* TB_PORT_CAP_ADAP */

#define LANE_DISABLE		BIT(14)	/* LANE_ADP_CS_1_LD */
#define LANE_SHOWN		(0xfu << 26 | 0x3fu << 20 | 0xfu << 16)	/* state, width, speed */
#define LANE_SPEED_GEN3		(4u << 16)
enum lane_state { LANE_DISABLED = 0, LANE_UP = 2, LANE_UNPLUGGED = 7 };
#define PORT_AT_RETIMERS	(LANE_AT_USB4 + 1)	/* PORT_CS_1 */
#define PORT_NO_RETIMER		BIT(25)	/* PORT_CS_1_NR */
#define PORT_PENDING		BIT(31)	/* PORT_CS_1_PND */
#define PORT_AT_STATUS		(LANE_AT_USB4 + 0x12)	/* PORT_CS_18 */
#define PORT_AT_CONTROL		(LANE_AT_USB4 + 0x13)	/* PORT_CS_19 */
#define PORT_RESET		BIT(0)	/* PORT_CS_19_DPR */

/* A path entry, struct tb_regs_hop: two words for each HopID */
#define PATH_HOPIDS		64
#define PATH_VALID		BIT(31)

#endif
