/* SPDX-License-Identifier: GPL-2.0 */
/*
 * mock.h - simulated NTBs, back to back in one kernel, and a DMA engine in software
 *
 * A bridge has two ends. Each is a struct ntb_dev with its own client. What one end writes to its
 * windows arrives in the memory that the other end's client has set. Windows and doorbells of all
 * ends are in one range of physical addresses without memory, which the CPU reaches by ioremap()
 * and the DMA engine by comparing addresses.
 *
 * Locks, outermost first:
 *
 *   nm_queue.lock     spinlock, interrupts off: posted writes; held while they arrive
 *   nm_bridge.lock    reader-writer lock, interrupts off: read while bytes are copied; written to
 *                     change the link or a translation, so no access with the old
 *                     state is left then
 *   nm_end.lock       spinlock, interrupts off: doorbells and pending interrupts
 *
 * Nothing of these is taken with a lock of the engine (nm_chan.lock) held. Clients are called
 * without any of these locks, in hard interrupt context or in the context that adds or removes a
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
#define NM_BELLS	31		/* as gen3, where the 32nd is the link's */
#define NM_BELL_MASK	(BIT_ULL(NM_BELLS) - 1)

/* The page of registers of each end, besides its windows: registers of the peer */
#define NM_REG_BELL	0x000		/* 4 bytes per doorbell: writing 1 rings it */
#define NM_REG_SPAD	0x400		/* 4 bytes per scratchpad */

/* Counters of an end, named in control.c. They only increase. */
enum nm_count {
	NM_CPU_WRITES,		/* stores of the CPU into a window; memcpy_toio() counts as one */
	NM_CPU_BYTES,
	NM_CPU_READS,		/* loads of the CPU from a window, which a provider does not make */
	NM_DMA_WRITES,		/* copies of the engine into a window */
	NM_DMA_BYTES,
	NM_DMA_READS,
	NM_DEVICE_BYTES,	/* bytes that other devices have written to pages of a window */
	/* accesses to registers (doorbells, masks, scratchpads) of either side */
	NM_REG_READS,
	NM_REG_WRITES,
	/* doorbell writes that reached the peer, of the CPU or the engine */
	NM_BELLS_RUNG,
	NM_DEAD,		/* dropped writes: link down, */
	NM_CLOSED,		/* no translation, */
	NM_BEYOND,		/* behind its end, or no memory there, */
	NM_FAULT,		/* no page of the IOMMU, */
	NM_BLOCKED,		/* the engine's writes do not cross */
	NM_FOREIGN,		/* below the memory that was set */
	NM_BELL_IRQS,		/* doorbell interrupts of this end */
	NM_LINK_IRQS,
	NM_COUNTS
};

/*
 * Memory behind a window, which this end's client has set for the peer to write to. Under
 * nm_bridge.lock.
 */
struct nm_trans {
	dma_addr_t	addr;
	resource_size_t	size;			/* 0: closed */
};

struct nm_bridge;

/* Writes that have not arrived, in order. @lock protects @writes; @timer is for the first. */
struct nm_queue {
	spinlock_t		lock;
	struct list_head	writes;
	struct hrtimer		timer;
};

struct nm_end {
	struct ntb_dev		ntb;		/* registered while present */
	struct nm_bridge	*bridge;
	int			port;		/* 0 or 1 */
	/* device whose addresses the client translates to; while present */
	struct platform_device	*dma;
	struct iommu_domain	*iommu;		/* IOMMU domain of that device, or NULL */

	/* the following two under nm_bridge.lock */
	bool			present;	/* the device is there */
	bool			enabled;	/* by ntb_link_enable() */
	/* the n-th copy of the engine from here into a window loses a packet; 0: none. READ_ONCE */
	u32			lose_tlp;
	/* if not 0, translations can't be changed; READ_ONCE */
	u32			stuck;
	/* the n-th link interrupt from here is not reported to the client; 0: each is. READ_ONCE */
	u32			lose_event;
	/* one of so many doorbell interrupts is lost; 0: none. READ_ONCE, as all up to @trans */
	u32			lose_irq;
	u32			irqs;		/* since the last one that was lost */
	u32			dead_pads;	/* mask of scratchpads that read as ones */
	u32			below_kib;	/* translations begin so far too low */
	u32			longest_kib;	/* of a translation; 0: the window's size */
	u32			shows_kib;	/* of its first window, whatever was set; 0: all */
	u32			repeat_ms;	/* between reports that the link is up; 0: there is one */
	u32			held_pads;	/* mask of scratchpads that read as @held */
	u32			held[NM_SPADS];
	u32			intruder;	/* 1 + scratchpad that others write to */
	struct nm_trans		trans[NM_WINDOWS];

	/* The peer writes these too: single words, with READ_ONCE and WRITE_ONCE. */
	u32			spad[NM_SPADS];

	/* protects the following up to the timers; interrupts off */
	spinlock_t		lock;
	u64			pending;	/* doorbells rung */
	u64			mask;		/* doorbells that must not interrupt */
	u64			due;		/* vectors with an interrupt in flight */
	/* instead of an interrupt controller: they call the client in hard */
	struct hrtimer		bell_irq;
	struct hrtimer		link_irq;	/* interrupt context, soon */
	struct hrtimer		late_irq;	/* the same report again */
	struct hrtimer		intrusion;	/* of @intruder */
	/* link status at the last link interrupt, as the Intel driver has it; READ_ONCE */
	bool			seen_up;

	struct nm_queue		posted;		/* writes of CPU and engine that have not arrived */
	struct nm_queue		devices;	/* those of other devices */
	struct nm_queue		late[2];	/* bytes that doorbells overtake */

	atomic64_t		count[NM_COUNTS];
};

struct nm_bridge {
	int			index;
	struct nm_end		end[2];
	rwlock_t		lock;		/* protects the rest, and members of ends */
	bool			up;		/* the link carries data */
	u32			life;		/* how often it has gone down; READ_ONCE */
	bool			held;		/* down by command */
	u32			stuck;		/* if not 0, no end notices changes */
	u32			delay_ms;	/* duration of training */
	u32			lag_us;		/* delay of link interrupts behind doorbells */
	u32			posted_us;	/* delay of writes; READ_ONCE */
	u32			devices_us;	/* delay of writes of other devices; READ_ONCE */
	u32			late_us[2];	/* delay of bytes alone; READ_ONCE */
	ktime_t			ready;		/* when training ends */
	struct delayed_work	train;
};

extern struct nm_bridge nm_bridge[NM_BRIDGES];
extern unsigned int nm_bridges, nm_windows, nm_fewer, nm_vectors;
extern const u64 nm_window_size;
extern u64 nm_last_size, nm_align, nm_narrow;
extern unsigned int nm_dma_bells, nm_late_ms;
extern u64 nm_dead_bells;
extern bool nm_inline, nm_no_zero, nm_no_clear, nm_pages, nm_same_port, nm_no_close, nm_eio_close;
extern bool nm_moves, nm_slow_bells;
extern bool nm_unsafe;
extern char *nm_driver_name;

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

/* end.c: the device for clients */
void nm_end_init(struct nm_bridge *bridge, int port);
/* The bus of the functions, constant where the kernel has constant ones */
typedef typeof(*((struct device *)NULL)->bus) nm_bus_type;
extern nm_bus_type nm_bus;
/* may sleep; serialized with other changes of this end */
int nm_end_appear(struct nm_end *end);
void nm_end_vanish(struct nm_end *end);		/* likewise */

/* link.c */
void nm_link_init(struct nm_bridge *bridge);
void nm_link_stop(struct nm_bridge *bridge);	/* training ends; may sleep */
void nm_link_enable(struct nm_end *end, bool enable);	/* any context */
void nm_link_set_present(struct nm_end *end, bool present);
void nm_link_hold(struct nm_bridge *bridge, bool held);
void nm_link_configure(struct nm_bridge *bridge, u32 *what, u32 value);

/* bell.c: any context */
void nm_link_repeat(struct nm_end *end, u32 ms);
void nm_bell_init(struct nm_end *end);
void nm_bell_reset(struct nm_end *end);		/* may sleep: no interrupt is left */
void nm_bell_ring(struct nm_end *end, u64 bits);	/* at this end */
void nm_bell_send(struct nm_end *end);		/* interrupt, after locks were dropped */
void nm_bell_mask(struct nm_end *end, u64 set, u64 clear);
void nm_bell_clear(struct nm_end *end, u64 bits);
u64 nm_bell_pending(struct nm_end *end);
void nm_link_interrupt(struct nm_end *end);
void nm_intrude(struct nm_end *end, u32 intruder);

/* cross.c: through the bridge, any context */

/* A place in the range of addresses; registers if window is -1 */
struct nm_place {
	struct nm_end	*end;		/* the end whose windows these are: the writer's side */
	int		window;
	u64		at;		/* offset in it */
	u64		room;		/* bytes from there to its end */
	/* nm_bridge.life when the access began; the access is dropped if it has changed */
	u32		life;
};

void nm_write(const struct nm_place *place, const void *src, size_t len, bool dma);
void nm_read(const struct nm_place *place, void *dst, size_t len, bool dma);
/* by the CPU, to the page of registers */
void nm_reg_write(struct nm_end *from, u64 at, u32 value);
u32 nm_reg_read(struct nm_end *from, u64 at);
/* perform the write now */
void nm_land(const struct nm_place *place, const void *src, size_t len);

/* post.c: delay the write */
void nm_post(const struct nm_place *place, const void *src, size_t len, bool dma);
void nm_post_push(struct nm_end *end);		/* a read flushes them */
void nm_post_init(struct nm_end *end);
void nm_post_reset(struct nm_end *end);		/* may sleep */

/* io.c: addresses of windows and registers */
int nm_io_init(void);
void nm_io_exit(void);
phys_addr_t nm_window_addr(const struct nm_end *end, int window);
phys_addr_t nm_regs_addr(const struct nm_end *end);
bool nm_find(phys_addr_t addr, struct nm_place *place);

/* control.c: the files in debugfs */
extern const struct file_operations nm_control_fops;

void nm_stats_init(void);
void nm_stats_exit(void);	/* no command runs afterwards */

/* dma.c */
struct seq_file;

extern unsigned int nm_silent, nm_blind;
extern bool nm_shuffle, nm_no_order, nm_no_residue;

int nm_dma_init(void);
void nm_dma_exit(void);			/* no channel is in use */
void nm_dma_show(struct seq_file *file);

#endif
