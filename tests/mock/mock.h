/* SPDX-License-Identifier: GPL-2.0 */
/*
 * mock.h - NTBs back to back in one kernel, and a DMA engine in software.
 *
 * A bridge is two ends; each is a struct ntb_dev with a client of its own. What one end stores into
 * its windows comes out in the memory that the other end's client has given for it. The windows and
 * doorbells of all ends lie in one range of physical addresses where nothing is; the CPU gets at it
 * by ioremap(), our DMA engine by looking at the address.
 *
 * Locks, outermost first:
 *   nm_end.post_lock spinlock, interrupts off: writes under way; held while they arrive.
 *   nm_bridge.lock   reader-writer, interrupts off. Read while bytes cross; written to change the link or a translation, so
 *                    after that nothing is under way that went by the old one.
 *   nm_end.lock      spinlock, interrupts off: doorbells and interrupts due.
 * The engine's locks (nm_chan.lock) are held around nothing of the above. Clients are called with
 * no lock of ours held, in hard interrupt context, or in the context of whoever adds or removes a
 * device.
 */
#ifndef KFI_NTB_MOCK_H
#define KFI_NTB_MOCK_H

#include <linux/hrtimer.h>
#include <linux/ntb.h>
#include <linux/pci.h>
#include <linux/platform_device.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#define NM_BRIDGES	4
#define NM_WINDOWS	4
#define NM_SPADS	16
#define NM_BELLS	31		/* as gen3: the 32nd is the link's */
#define NM_BELL_MASK	(BIT_ULL(NM_BELLS) - 1)

/* The page of registers that each end has besides its windows: what belongs to the peer. */
#define NM_REG_BELL	0x000		/* 4 bytes a doorbell: writing 1 rings it */
#define NM_REG_SPAD	0x400		/* 4 bytes a scratchpad */

/* What is counted at an end; the names are in stats.c. All only grow. */
enum nm_count {
	NM_CPU_WRITES,		/* stores of the CPU into a window, memcpy_toio() counts once */
	NM_CPU_BYTES,
	NM_CPU_READS,		/* loads of the CPU from a window: a provider has none */
	NM_DMA_WRITES,		/* copies of the engine into a window */
	NM_DMA_BYTES,
	NM_DMA_READS,
	/* accesses to registers: doorbells, masks, scratchpads, on either side of the bridge */
	NM_REG_READS,
	NM_REG_WRITES,
	/* doorbell writes that crossed to the peer, however they were made */
	NM_BELLS_RUNG,
	NM_DEAD,		/* writes that vanished: link down, */
	NM_CLOSED,		/* no translation, */
	NM_BEYOND,		/* behind its end, or nothing there */
	NM_FAULT,		/* where the IOMMU has no page */
	NM_BELL_IRQS,		/* doorbell interrupts that this end got */
	NM_LINK_IRQS,
	NM_LOST_IRQS,		/* by command */
	NM_COUNTS
};

/*
 * Memory behind a window: what this end's client gave for the peer to write to. Under
 * nm_bridge.lock.
 */
struct nm_trans {
	dma_addr_t	addr;
	resource_size_t	size;			/* 0: closed */
};

struct nm_bridge;

struct nm_end {
	struct ntb_dev		ntb;		/* registered while present */
	struct nm_bridge	*bridge;
	int			port;		/* 0 or 1 */
	/* whose addresses its client translates to; there while present */
	struct platform_device	*dma;
	struct iommu_domain	*iommu;		/* which an IOMMU translates; NULL: it doesn't */

	/* under nm_bridge.lock */
	bool			present;	/* the device is there */
	bool			enabled;	/* by ntb_link_enable() */
	/*
	 * of the n-th copy of the engine from here into a window a piece gets lost; 0: none.
	 * READ_ONCE
	 */
	u32			lose_tlp;
	/* if not 0, translations can't be changed; READ_ONCE */
	u32			stuck;
	/* if not 0, this end can't disable the link; READ_ONCE */
	u32			tied;
	struct nm_trans		trans[NM_WINDOWS];

	/* The peer writes these too: single words, READ_ONCE and WRITE_ONCE. */
	u32			spad[NM_SPADS];

	/* protects what follows up to the timers; interrupts off */
	spinlock_t		lock;
	u64			pending;	/* doorbells rung */
	u64			mask;		/* those that may not interrupt */
	u64			due;		/* vectors whose interrupt is on its way */
	u32			lose;		/* so many interrupts will get lost */
	/* they stand for the interrupt controller: they call the client in hard */
	struct hrtimer		bell_irq;
	struct hrtimer		link_irq;	/* interrupt context, soon */
	/* link status at the last link interrupt, as the Intel driver has it; READ_ONCE */
	bool			seen_up;

	spinlock_t		post_lock;	/* protects the list */
	struct list_head	posted;		/* writes of this end that have not arrived */
	struct hrtimer		post_timer;	/* when the first does */

	atomic64_t		count[NM_COUNTS];
};

struct nm_bridge {
	int			index;
	struct nm_end		end[2];
	rwlock_t		lock;		/* protects what follows, and much of the ends */
	bool			up;		/* it carries */
	u32			life;		/* so often it has gone down; READ_ONCE */
	bool			held;		/* down by command */
	u32			stuck;		/* if not 0, no end hears of changes */
	u32			delay_ms;	/* of training */
	u32			lag_us;		/* of link interrupts behind doorbells */
	u32			posted_us;	/* writes arrive so much later; READ_ONCE */
	ktime_t			ready;		/* when training ends */
	struct delayed_work	train;
};

extern struct nm_bridge nm_bridge[NM_BRIDGES];
extern unsigned int nm_bridges, nm_windows, nm_vectors;
extern u64 nm_window_size, nm_last_size, nm_align, nm_narrow;
extern bool nm_inline, nm_no_zero, nm_no_clear;

static inline u64 nm_size(int window)
{
	return window == nm_windows - 1 ? nm_last_size : nm_window_size;
}

static inline struct nm_end *nm_of(struct ntb_dev *ntb)
{
	return container_of(ntb, struct nm_end, ntb);
}

static inline struct nm_end *nm_peer(struct nm_end *end)
{
	return &end->bridge->end[!end->port];
}

static inline void nm_add(struct nm_end *end, enum nm_count what, u64 n)
{
	atomic64_add(n, &end->count[what]);
}

/* end.c: the device that clients see */
void nm_end_init(struct nm_bridge *bridge, int port);
/* may sleep; nobody else may add or remove this end meanwhile */
int nm_end_appear(struct nm_end *end);
void nm_end_vanish(struct nm_end *end);		/* the same */

/* link.c */
void nm_link_init(struct nm_bridge *bridge);
void nm_link_stop(struct nm_bridge *bridge);	/* no training any more; may sleep */
void nm_link_enable(struct nm_end *end, bool enable);	/* any context */
void nm_link_set_present(struct nm_end *end, bool present);
void nm_link_hold(struct nm_bridge *bridge, bool held);
void nm_link_configure(struct nm_bridge *bridge, u32 *what, u32 value);

/* bell.c: any context */
void nm_bell_init(struct nm_end *end);
void nm_bell_reset(struct nm_end *end);		/* may sleep: no interrupt is under way any more */
void nm_bell_ring(struct nm_end *end, u64 bits);	/* it arrives at this end */
void nm_bell_send(struct nm_end *end);		/* then, without locks: the interrupt */
void nm_bell_mask(struct nm_end *end, u64 set, u64 clear);
void nm_bell_clear(struct nm_end *end, u64 bits);
u64 nm_bell_pending(struct nm_end *end);
void nm_bell_lose(struct nm_end *end, u32 count);
void nm_link_interrupt(struct nm_end *end);

/* cross.c: through the bridge, any context */

/* A place in the range of addresses: registers if window is -1. */
struct nm_place {
	struct nm_end	*end;		/* whose windows these are: the writer's side */
	int		window;
	u64		at;		/* offset in it */
	u64		room;		/* bytes from there to its end */
	/* the link's when the access began: it does not outlast that */
	u32		life;
};

void nm_write(const struct nm_place *place, const void *src, size_t len, bool dma);
void nm_read(const struct nm_place *place, void *dst, size_t len, bool dma);
/* by the CPU, to the page of registers */
void nm_reg_write(struct nm_end *from, u64 at, u32 value);
u32 nm_reg_read(struct nm_end *from, u64 at);
/* the write arrives now */
void nm_land(const struct nm_place *place, const void *src, size_t len);

/* post.c: between the two */
void nm_post(const struct nm_place *place, const void *src, size_t len);
void nm_post_push(struct nm_end *end);		/* a read comes behind */
void nm_post_init(struct nm_end *end);
void nm_post_reset(struct nm_end *end);		/* may sleep */

/* io.c: where windows and registers are */
int nm_io_init(void);
void nm_io_exit(void);
phys_addr_t nm_window_addr(const struct nm_end *end, int window);
phys_addr_t nm_regs_addr(const struct nm_end *end);
bool nm_find(phys_addr_t addr, struct nm_place *place);

/* stats.c, control.c: the files in debugfs */
extern const struct file_operations nm_control_fops;

void nm_stats_init(void);
void nm_stats_exit(void);	/* no command runs any more */

/* dma.c */
struct seq_file;

int nm_dma_init(void);
void nm_dma_exit(void);			/* nobody has a channel any more */
void nm_dma_show(struct seq_file *file);

#endif
