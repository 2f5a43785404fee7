/* SPDX-License-Identifier: GPL-2.0 */
/*
 * bridge.h - one bridge. It carries records in both directions, over one or more queues (ring.h),
 * writes payload to places in the peer's memory, and has memory that the peer can write to.
 *
 * One work item runs the state machine of a link (life.c). The structures below are used by that
 * work item only, or by nt_link_start() and nt_link_stop() while it does not run, unless their
 * comments say otherwise. Interrupts, timers and faults set a bit of @events and queue the work
 * item.
 *
 * Contexts. A function under "any" may be called in process context and in softirq, but not in
 * hard interrupts. It holds no lock longer than a copy of NT_COPY bytes takes, or with a CRC of
 * all payload a copy of one record. The link's work item calls kfi_mux_up() and kfi_mux_down(),
 * which may sleep, in turn and never at the same time.
 *
 * Life of a link: nt_link_add() -> nt_link_start() -> { kfi_mux_up() -> kfi_mux_down() } ... ->
 * nt_link_stop() -> nt_link_remove().
 */
#ifndef _KFI_NTB_BRIDGE_H
#define _KFI_NTB_BRIDGE_H

#include <linux/dma-mapping.h>
#include <linux/genalloc.h>
#include <linux/ntb.h>
#include <linux/pci.h>
#include <linux/refcount.h>
#include <linux/workqueue.h>
#include <kfi_mux.h>
#include "ring.h"

struct kfi_part;

#define NT_PEER		NTB_DEF_PEER_IDX	/* index of the bridge's peer that is used */
#define NT_END_MS	2000	/* ms for copies that the engine has before they are aborted */
#define NT_ABORT_MS	1000	/* ms until an engine has reported what was aborted */

/**
 * struct nt_inbound - memory that the peer can write
 * @ref: references: one of the device until it is removed, one of each piece that a consumer has.
 *	Dropping the last one frees the structure
 * @pages: pages that were allocated; NULL: the memory comes from dma_alloc_coherent(), or is never
 *	freed
 * @order: order of @pages
 * @arena: allocator of the memory behind the rings, with locks of its own; published with a release
 * @node: NUMA node of the memory
 */
struct nt_inbound {
	refcount_t		ref;
	struct page		*pages;
	unsigned int		order;
	struct gen_pool		*arena;
	int			node;
};

/**
 * struct nt_window - memory that the peer writes to, and the window to the same memory of the peer
 * @index: index of the memory window, the same in both directions
 * @in: the part that may live longer than the device
 * @base: the memory that was allocated; NULL until the bridge's link is up for the first time
 * @base_dma: address of @base for the device
 * @base_len: bytes of @base
 * @mem: inbound memory, within @base
 * @dma: address of @mem for the device
 * @size: bytes of @mem
 * @trans: bytes of @mem that the window shows in this life, as its driver says: fewer than @size,
 *	if the bridge has become smaller. A power of two
 * @whole: that is all that the window can show
 * @shown: bytes of @mem that are used. A power of two
 * @most: bound of @shown, because the window has hidden the rest; 0: there is none. It holds until
 *	the bridge's link goes down
 * @span: bytes of @mem that @shown and the length of the peer's window permit in this life
 * @wanted: queues that there would be in a window that is long enough
 * @queues: queues in @mem. Constant when there is an arena
 * @ring: size of the rings in @mem in this life, see ntw_ring_size()
 * @arena: byte of @mem at which the arena begins. Constant when there is one
 * @end: byte of @mem to which the peer writes a word in this life, to show that the window shows
 *	all that is in front of it
 * @mark: the grain of the arena that has this word, as an address; 0: it is in none
 * @size_align: the bridge requires lengths to be a multiple of this
 * @reach: bytes of @mem that the peer is known to reach in this life. Exposed memory lies below
 *	@reach. Read in any context
 * @open: the peer can write to @mem
 * @parked: bytes at the beginning of @mem that the window still shows after it was closed, or 0
 * @proven: the peer has tried to write through the closed window, see nt_win_tried()
 * @scrap: memory that contains the @size bytes which the window shows instead of being closed,
 *	because the driver can't close it; or NULL
 * @scrap_dma: address of these bytes for the device
 * @unshut: what it wrote has arrived: the window is open as long as the bridge is there
 * @off: whether a translation of length 0 closes the window: -1: it does not, whatever the driver
 *	returns; 1: as the driver says, and -EIO of ntb_hw_intel on Ice Lake is no error; 0: as the
 *	driver says
 * @peer: the peer's window in our address space
 * @peer_base: physical address of the peer's window
 * @peer_len: bytes of the peer's window
 * @pages: the peer's window has struct pages, to which devices of this machine may write
 */
struct nt_window {
	int			index;
	struct nt_inbound	*in;
	void			*base;
	dma_addr_t		base_dma;
	size_t			base_len;
	void			*mem;
	dma_addr_t		dma;
	size_t			size;
	size_t			trans;
	bool			whole;
	size_t			shown, most, span;
	unsigned int		wanted, queues;
	u32			ring;
	u32			arena;
	size_t			end;
	unsigned long		mark;
	resource_size_t		size_align;
	size_t			reach;
	bool			open;
	u32			parked;
	bool			proven;
	void			*scrap;
	dma_addr_t		scrap_dma;
	bool			unshut;
	s8			off;
	void __iomem		*peer;
	phys_addr_t		peer_base;
	resource_size_t		peer_len;
	bool			pages;
};

/**
 * struct nt_map - bus addresses at which memory is mapped; map.c
 * @iova: the whole range
 * @room: allocator of the range, in byte offsets, without the beginning that a closed window shows.
 *	It has locks of its own
 */
struct nt_map {
	struct dma_iova_state	iova;
	struct gen_pool		*room;
};

/**
 * struct nt_flat - a second window, over all memory or over that of transfers; flat.c
 * @index: index of the memory window; negative: there is none
 * @all: the window shows all memory, from address 0 on; otherwise it shows @map
 * @mapped: @map exists. Published with a release
 * @open: the peer can write to the window
 * @park: length to which the bridge can shorten the window so that it shows only bytes that are not
 *	in use; 0: there is no such length, so the window can't be parked
 * @parked: bytes at its beginning that the window still shows after it was closed, or 0
 * @size: bytes that the window shows, from @base on; 0 until the bridge has reported its limits
 * @base: bus address at which the window begins
 * @word: byte of the window that is &ntw_ctl.flat
 * @map: what the window shows if it does not show all memory
 * @peer: index of the peer's flat window in this life; -1: it has none
 * @why: why nothing is written there, or NULL
 */
struct nt_flat {
	int			index;
	bool			all;
	bool			mapped;
	bool			open;
	u32			park, parked;
	u64			size;
	dma_addr_t		base;
	u64			word;
	struct nt_map		map;
	int			peer;
	const char		*why;
};

/**
 * struct nt_paged - struct pages of a window that leads to the peer; paged.c
 * @index: index of the memory window
 * @base: physical address
 * @len: bytes
 * @mem: the same in the kernel's map of memory; NULL: there are no pages
 * @map: pages that this module has made; NULL: they are of the kernel's peer-to-peer DMA
 * @flat: in this life it is the peer's flat window. Set before the rings are on; read after that
 */
struct nt_paged {
	int			index;
	phys_addr_t		base;
	resource_size_t		len;
	void			*mem;
	struct dev_pagemap	*map;
	bool			flat;
};

/**
 * struct nt_bells - doorbell bits that we and the peer use for each other
 * @bits: our bits
 * @first: number of the first of our bits
 * @count: number of our bits
 * @peer_first: number of the first of the peer's bits
 * @peer_count: number of the peer's bits. The work item sets both before nt_ring_on(); after that
 *	posts read them
 * @wakes: our bits that wake each queue in this life. Set before the link is up; interrupts read
 *	them
 * @good: the peer's bits that have rung in this life's proof, counted from @peer_first, if a bit
 *	that should have rung has not; otherwise all
 * @rang: our bits that have rung since our hello, counted from @first. Interrupts set them
 * @why: why the CPU rings and not the engine, or NULL
 * @level: our interrupts are not MSI
 * @sleeps: the driver may sleep when it rings, so @work does
 * @due: bits of the peer that @work rings
 * @work: the work item
 */
struct nt_bells {
	u64	bits;
	u8	first, count;
	u8	peer_first, peer_count;
	u64	wakes[NTW_QUEUES_MAX];
	u64	good;
	atomic64_t rang;
	const char *why;
	bool	level;
	bool	sleeps;
	atomic64_t due;
	struct work_struct work;
};

/**
 * enum nt_proof - what a side has proved about itself after both hellos; prove.c
 */
enum nt_proof {
	NT_PROOF_NONE,
	NT_PROOF_WINDOW,	/* the peer's word at the end of our window has not arrived yet */
	NT_PROOF_ENGINE,	/* the engine writes, and rings or the CPU rings */
	NT_PROOF_BELLS,		/* the CPU rings, because the doorbells of the engine do not */
	NT_PROOF_DONE
};

/**
 * enum nt_link_state - state of a link, see life.c
 */
enum nt_link_state {
	NT_LINK_DOWN,
	NT_LINK_QUIET,	/* our incarnation is published; the peer's is awaited */
	NT_LINK_OPEN,	/* our window is open to the peer; the peer's window is awaited */
	/* our hello was written; the peer's is awaited, and each side proves what works */
	NT_LINK_HELLO,
	NT_LINK_UP
};

/**
 * enum nt_awaited - what a link that is not up waits for, in the order of the handshake; await.c
 */
enum nt_awaited {
	NT_AWAITS_NOTHING,	/* it is up */
	NT_AWAITS_CARRIER,	/* the bridge's link */
	NT_AWAITS_END,		/* the copies of an engine in the last life */
	NT_AWAITS_PAUSE,	/* the time at which another life may begin */
	NT_AWAITS_PLACES,	/* devices of this machine write to the peer's memory */
	NT_AWAITS_MEMORY,	/* memory for the window */
	NT_AWAITS_ROOM,		/* the window shows too little of it */
	NT_AWAITS_FLAT,		/* the same of the flat window */
	NT_AWAITS_PADS,		/* scratchpads of the peer that are whole */
	NT_AWAITS_VERSION,	/* a peer with the same format */
	NT_AWAITS_ECHO,		/* the peer has not read ours */
	NT_AWAITS_SIDE,		/* both ends have the same number */
	NT_AWAITS_REACH,	/* our window to the peer is too short */
	NT_AWAITS_SPAN,		/* the peer's window to us is too short */
	NT_AWAITS_TRY,		/* the peer's try of our closed window */
	NT_AWAITS_DRIVER,	/* it does not open our window, or does not close it */
	NT_AWAITS_OPEN,		/* the peer has not opened its window */
	NT_AWAITS_STEADY,	/* the bridge's link, which has changed during the handshake */
	NT_AWAITS_HELLO,
	NT_AWAITS_ALL,		/* the peer's word at the end of our window */
	NT_AWAITS_ENGINE,	/* our engine, in the proof */
	NT_AWAITS_PROOF,	/* what the peer has seen of ours */
	NT_AWAITS_READY,	/* the peer's proof */
	NT_AWAITS_RELOAD,	/* no further life begins */
};

/* Bits of &nt_link.events, set in any context */
enum nt_event {
	NT_EV_FAULT,	/* this life has to end; see &nt_link.why */
	NT_EV_FLAP,	/* the bridge's link has changed after our hello */
};

/**
 * struct nt_watch - progress of something that operations wait for
 * @done: number of its steps, as last read
 * @at: time at which @done has changed, or at which nothing waited, in jiffies
 */
struct nt_watch {
	u64		done;
	unsigned long	at;
};

/**
 * struct nt_link - one bridge
 * @ntb: the device
 * @mux: the same as a way of the multiplexer, with the number of the link's life
 * @entry: entry in the list of links that were started; link.c
 * @win: inbound memory and the window to the peer's
 * @flat: flat window
 * @paged: the peer's window that has pages
 * @bells: doorbells
 * @work: runs the state machine
 * @events: bits of enum nt_event
 * @lock: protects @why, &kfi_mux.life and NT_EV_FAULT; taken inside the ring's lock
 * @why: reason of NT_EV_FAULT
 * @state: enum nt_link_state; read in any context
 * @side: number of our end of the bridge; NT_NO_SIDE: the driver gives both ends the same, and the
 *	link was not up yet. It changes once. Read in any context
 * @peer_side: number of the other end; set before @side
 * @draws: the driver gives both ends the same number
 * @proof: enum nt_proof of this life
 * @proof_until: when the peer has to have seen it, in jiffies; later if engines still write
 * @proof_hangs: when engines that still write are stopped, in jiffies
 * @tries: enum ntw_state of our window that the peer is asked to try; 0: none
 * @tried: enum ntw_state for which we have tried the peer's window
 * @peer_ready: the peer's word &ntw_ctl.ready, as last read
 * @peer_end: &ntw_hello_info.end of the peer; 0: its hello has not come
 * @said: what the last hello has said, so that the peer is woken only by changes
 * @carrier: the bridge's link was up at its last event, which came at @carrier_at; interrupts only,
 *	as the next one
 * @repeats: how often such an event has followed another one, and was taken for a flap
 * @stopping: the link has to stay down
 * @halting: the link has to stay down, because this kernel ends
 * @hung: this kernel ends, but the engine still uses memory of ours, which is never freed: the
 *	callbacks of records are not called, nt_ring_drain() may never return, and nt_link_remove()
 *	must not be called. Read in any context
 * @no_memory: the last attempt to allocate memory for the window has failed
 * @no_flat: the same for the flat window
 * @held: the link stays down until devices have released their places, and that was logged
 * @exposed: a window could not be closed at the end of a life. There is no further life, and memory
 *	in that window is not allocated any more. Read in any context
 * @own_id: our incarnation of this life
 * @peer_id: the peer's incarnation of this life
 * @peer: the peer's scratchpads, as they were read last when it was quiet. Memory, rings and windows
 *	of this life are set up for them
 * @awaits: enum nt_awaited. The work item alone writes this and the next three, for which any
 *	context may look
 * @awaits_at: when that has changed, in jiffies
 * @again: what the life before has waited for, in vain: until the handshake has come that far
 *	again, what it waits for in between means little. enum nt_awaited
 * @refused: what the driver of the bridge has returned, if that is awaited
 * @told: bits of enum nt_awaited of which the log has had a line since the link was up
 * @quiet_until: when the log may have the next one, in jiffies
 * @failed: why the last life has not come up, for the log
 * @failed_at: when the log had that, in jiffies
 * @pads: the peer's scratchpads, as last read
 * @rung: ours, when the peer was last woken because of them
 * @begun: when this life has begun, in jiffies
 * @late: when a life that has no hello from the peer ends, in jiffies
 * @ends: such lives since the link was up
 * @pace: milliseconds until the next step of the handshake
 * @beat: serial number of the peer, as last read
 * @beat_at: time at which @beat has changed, in jiffies
 * @watch: what operations may wait for in each queue, see nt_ring_progress()
 * @checks: placed payload has a CRC, in the record that announces it, and with records that have
 *	a CRC so has all payload in the rings. Constant from kfi_mux_up() to kfi_mux_down(); read in
 *	any context
 * @torn: number of records whose CRC of placed payload was wrong
 * @damaged: bytes from the peer were not those that it has sent, in this life
 * @lies: the peer says that of ours
 * @pins: see nt_pages_pin()
 * @interrupts: doorbells that were received
 * @ups: times that the link has come up
 * @resets: times that the link has gone down
 * @debugfs: directory of the link
 * @queues: queues that both ends have, and that are used in this life: the first ones. 1 before the
 *	first life. It changes while the link is down; read in any context
 * @rings: number of entries of @ring; constant
 * @ring: the queues
 */
struct nt_link {
	struct ntb_dev		*ntb;
	struct kfi_mux		mux;
	struct list_head	entry;
	struct nt_window	win;
	struct nt_flat		flat;
	struct nt_paged		paged;
	struct nt_bells		bells;
	struct delayed_work	work;
	unsigned long		events;
	spinlock_t		lock;
	const char		*why;
	u8			state;
	u32			side, peer_side;
	bool			draws;
	u8			proof;
	unsigned long		proof_until, proof_hangs;
	u8			tries, tried;
	u32			peer_ready;
	u64			peer_end;
	u64			said;
	bool			carrier;
	unsigned int		repeats;
	unsigned long		carrier_at;
	bool			stopping;
	bool			halting;
	bool			hung;
	bool			no_memory;
	bool			no_flat;
	bool			held;
	bool			exposed;
	u32			own_id, peer_id;
	struct ntw_handshake	peer;
	u8			awaits, again;
	int			refused;
	unsigned long		awaits_at;
	u32			told;
	unsigned long		quiet_until;
	const char		*failed;
	unsigned long		failed_at;
	u32			pads[NTW_PADS], rung[NTW_PADS];
	unsigned long		begun, late;
	u8			ends;
	unsigned int		pace;
	u32			beat;
	unsigned long		beat_at;
	struct nt_watch		watch[NTW_QUEUES_MAX][NT_PROGRESS];
	bool			checks;
	atomic64_t		torn;
	bool			damaged;
	bool			lies;
	atomic_t		pins;
	atomic64_t		interrupts;
	u64			ups, resets;
	struct dentry		*debugfs;
	unsigned int		queues;
	unsigned int		rings;
	struct nt_ring		ring[];
};

static inline struct nt_link *nt_ring_link(struct nt_ring *ring)
{
	return container_of(ring - ring->index, struct nt_link, ring[0]);
}

/*
 * Return: true if this driver has the bridge: for what a driver does otherwise than others, and
 * does not say
 */
static inline bool nt_driver_is(const struct ntb_dev *ntb, const char *name)
{
	const struct device_driver *driver = ntb->pdev ? ntb->pdev->dev.driver : NULL;

	return driver && !strcmp(driver->name, name);
}

/* ---- properties of a link: any ---- */

/* Name of the NTB device; valid as long as the link */
static inline const char *nt_link_name(const struct nt_link *link)
{
	return dev_name(&link->ntb->dev);
}

#define NT_NO_SIDE	U32_MAX

/* Return the number of our end. NT_NO_SIDE: it is not known yet */
static inline u32 nt_link_side(const struct nt_link *link)
{
	return READ_ONCE(link->side);
}

/* The state may have changed when the function returns */
static inline bool nt_link_is_up(const struct nt_link *link)
{
	return READ_ONCE(link->state) == NT_LINK_UP;
}

/* Is the bridge's link up, as its driver knows it? Any context */
static inline bool nt_carrier(const struct nt_link *link)
{
	return ntb_link_is_up(link->ntb, NULL, NULL) & BIT_ULL(NT_PEER);
}

/* Number of the life. It changes when a life ends, just before kfi_mux_down() */
static inline unsigned int nt_link_life(const struct nt_link *link)
{
	return kfi_mux_life(&link->mux);
}

/* End this life of the link soon, unless it has ended already. @why: the reason, for the log */
void nt_link_fault(struct nt_link *link, unsigned int life, const char *why);
/* Return: true if the peer can write to all memory of this machine */
bool nt_link_exposes_all(const struct nt_link *link);
/*
 * Return: true if the peer has shown that its writes through our flat window arrive. The window may
 * show registered memory only
 */
bool nt_link_flat_in_use(const struct nt_link *link);

/* ---- life: process context, may sleep ---- */

/* Check the parameters; create the workqueue and the debugfs directory */
int nt_links_init(void);
void nt_links_exit(void);
/* No callback is called before nt_link_start(). Return: ERR_PTR() on error */
struct nt_link *nt_link_add(struct ntb_dev *ntb);
/* Enable the bridge's link. After this the link may come up at any time */
int nt_link_start(struct nt_link *link);
/*
 * Take the link down for good, with kfi_mux_down() if it was up. On return no callback runs
 * or will be called.
 */
void nt_link_stop(struct nt_link *link);
/* Free the link after nt_link_stop(), and its memory except for what consumers still have */
void nt_link_remove(struct nt_link *link);

/* ---- our inbound memory ---- */

/*
 * nt_mem_get() - allocate memory that the peer can write to directly
 *
 * The memory is zeroed. It is aligned to a page if @len is at least a page, else to 64 bytes. It
 * stays at its address whether the link is up or down, and may be kept longer than the link exists,
 * because it holds a reference of &nt_window.in. Any context.
 *
 * Return: ERR_PTR(-EAGAIN) before the link was up for the first time; ERR_PTR(-ENOMEM) if there is
 * no room, or if a window could not be closed.
 */
void *nt_mem_get(struct nt_link *link, size_t len);
void nt_mem_put(struct nt_inbound *in, void *mem, size_t len);
/*
 * nt_window_places() - find local memory in our inbound memory or in our flat window
 * @iter: the memory, kvec or bvec
 * @len: bytes of it from the beginning
 *
 * Any context. Return: number of places; 0: part of the memory is in neither of them, or it takes
 * more than @max places.
 */
int nt_window_places(struct nt_link *link, const struct iov_iter *iter, size_t len,
		     struct nt_place *place, unsigned int max);
/*
 * nt_window_map() - let the peer write to memory that stays at its address until nt_window_unmap()
 * @iter: the memory, kvec or bvec
 * @len: all of its bytes
 * @at: set to the address at which the peer finds it, in one piece
 *
 * It may be called only if nt_window_maps() has returned true; the link may be down. Process
 * context.
 *
 * Return: 0; -ENOSPC: no room; -EINVAL: the memory can't be mapped in one piece, or has no struct
 * page.
 */
int nt_window_map(struct nt_link *link, const struct iov_iter *iter, size_t len, u64 *at);
/*
 * nt_window_map_once() - let the peer write to memory for one transfer
 *
 * As nt_window_map(), in any context but hard interrupts, if the memory has whole pages and a
 * length that is worth it. Return: also -ENOSPC if there is no such window, or the peer does not
 * reach it.
 */
int nt_window_map_once(struct nt_link *link, const struct iov_iter *iter, size_t len, u64 *at);
/* End that. On return no write of the peer arrives there any more. Any but hard interrupts */
void nt_window_unmap(struct nt_link *link, u64 at, size_t len);
/* Return: true if bridges may have windows over the memory of transfers. Any context */
bool nt_flat_maps(void);
/* Return: true if this bridge has one. It has none before the link was up. Any context */
bool nt_window_maps(const struct nt_link *link);

/* ---- pages of a window (paged.c): process context, may sleep ---- */

extern bool nt_places_on;	/* win.c */
/* @ring: index of the window with the rings. If there can be no pages, the log says why */
void nt_paged_init(struct nt_paged *paged, struct ntb_dev *ntb, int ring);
void nt_paged_exit(struct nt_paged *paged, struct ntb_dev *ntb);

/* ---- the peer's memory as pages (pages.c): any ---- */

/* The device that owns the pages; NULL: the window has none, or places are not enabled */
struct device *nt_pages_device(const struct nt_link *link);
/* Return the device that reads memory of other devices, or NULL */
struct device *nt_p2p_device(const struct nt_link *link);
/* Return: true if memory of the peer has pages in this life of the link. The link is up */
bool nt_pages_any(const struct nt_link *link);
/*
 * nt_pages() - find the pages of the peer's memory
 * @bv: set to @n entries
 *
 * Return: 0; -EOPNOTSUPP: there are none; -ENOTCONN: the link is down; -EINVAL: we can't write to
 * these places.
 */
int nt_pages(struct nt_link *link, const struct nt_place *place, unsigned int n,
	     struct bio_vec *bv);
/*
 * nt_pages_fence() - wait until what devices have written to the pages has arrived
 *
 * Return: 0: the bytes arrive before all that is posted later in this life; -EIO: the link is down;
 * -ENOTCONN: the life has ended.
 */
int nt_pages_fence(struct nt_link *link, unsigned int life, const struct bio_vec *bv, size_t n);
/* From pin to unpin devices may write to pages: no life begins. The caller prevents the removal */
void nt_pages_pin(struct nt_link *link);
void nt_pages_unpin(struct nt_link *link);
unsigned int nt_pages_pinned(const struct nt_link *link);	/* number of pins */

/* ---- dev.c: what comes from a ring, for the multiplexer; see &struct nt_ring_ops ---- */

void nt_rx_burst_begin(struct nt_ring *ring);
void nt_rx_burst_end(struct nt_ring *ring);
void nt_rx_record(struct nt_ring *ring, const struct ntw_rec *head, const void *body, size_t len);
void nt_rx_room(struct nt_ring *ring);

/* ---- for the files of a bridge ---- */

/* stats.c: create the file `stats` in the link's debugfs directory */
void nt_link_show(struct nt_link *link);
/* Process context. &kfi_prov_ops.parts for one bridge, whose number is @device */
int nt_link_parts(const struct nt_link *link, u32 device,
		  int (*emit)(void *arg, const struct kfi_part *part), void *arg);

/* link.c: let the state machine run now. Any context */
void nt_link_queue(struct nt_link *link);
/* The ends have numbers, so that there may be names. Called once, or not at all */
void nt_link_named(struct nt_link *link);

/* life.c: the state machine; for the work item, or while it does not run */
extern bool nt_crc;
extern int nt_crc_placed;
/* Return: milliseconds until the next call */
unsigned int nt_life_run(struct nt_link *link);
/* End the life, if there is one */
void nt_life_end(struct nt_link *link, const char *why);

/* watch.c: while the link is up. Called by the work item */
extern unsigned int nt_heartbeat_ms;
/* Return why this life is over, or NULL */
const char *nt_life_over(struct nt_link *link);
/* Send signs of life, and look for what was lost */
void nt_life_beat(struct nt_link *link);

/* await.c: what the link waits for. The work item sets it; any context may ask */
void nt_await(struct nt_link *link, enum nt_awaited what);
/* The life begins again, because it has waited for this in vain */
void nt_await_again(struct nt_link *link, enum nt_awaited what);
enum nt_awaited nt_awaited(const struct nt_link *link);
/* Say in words what is awaited. Return: what the administrator can do, or NULL */
const char *nt_await_say(const struct nt_link *link, char *buf, size_t len);
/* Log it, if that is due */
void nt_await_log(struct nt_link *link);

/* win.c. Process context */
int nt_win_init(struct nt_window *win, struct ntb_dev *ntb);
/* After nt_win_switch_off(). @shown: a window still shows inbound memory, so it is never freed */
void nt_win_exit(struct nt_window *win, struct ntb_dev *ntb, bool shown);
/*
 * Before each life: allocate the memory when the bridge's link is up for the first time, and keep
 * it; and find how much of it the window shows. Return: 0; -ENOMEM; -ENOSPC: that is less than a
 * queue takes; or what the driver says
 */
int nt_win_ready(struct nt_window *win, struct ntb_dev *ntb);
/*
 * Choose the rings and their number for a peer whose window is @reach bytes long. Return: 0;
 * -ENOSPC: it is too short for a queue
 */
int nt_win_divide(struct nt_window *win, u64 reach);
/* Return how many queues the peer reaches in this life */
unsigned int nt_win_queues(const struct nt_window *win);
/* The window shows less than its driver says, so the next lives use half of it */
void nt_win_hide(struct nt_window *win);
/* Before the link is up: let consumers have memory. Return: 0, also if they may already; -ENOMEM */
int nt_win_arena(struct nt_window *win, int node);
/*
 * nt_win_open() empties the control page and lets the peer write. After nt_win_close() has returned
 * 0, no write of the peer arrives any more, except in the part that a parked window shows
 */
int nt_win_open(struct nt_window *win, struct ntb_dev *ntb);
int nt_win_close(struct nt_window *win, struct ntb_dev *ntb);
/*
 * Let the window show nothing, not even the memory on which it is parked. There is no further life
 * after that. Return: true: the peer can still write to inbound memory
 */
bool nt_win_switch_off(struct nt_window *win, struct ntb_dev *ntb);
/*
 * Close any window of ours. If the bridge can't switch it off, the window shows @len bytes at @park
 * afterwards. @len is 0 if there is no memory for that.
 * Return: bytes that the window shows; negative: it shows what it showed before
 */
int nt_mw_close(struct ntb_dev *ntb, int index, dma_addr_t park, size_t len);
/*
 * Switch a window off. @off: &nt_window.off of the bridge. Return: 0; otherwise the window shows
 * what it showed before
 */
int nt_mw_switch_off(struct ntb_dev *ntb, int index, s8 off);
/*
 * nt_win_try() opens the window and closes it as @how says, enum ntw_state NTW_TRY_*, for the peer
 * to write to. Return: 0; negative: the driver has not done that now. Then nt_win_tried() looks
 * what has arrived of that. @scrap: the window may show scrap memory when closed. Return: the next
 * way to be tried; 0: there is none
 */
int nt_win_try(struct nt_window *win, struct ntb_dev *ntb, u8 how);
u8 nt_win_tried(struct nt_window *win, struct ntb_dev *ntb, u8 how, u32 own_id, bool scrap);
int nt_win_check_params(void);

/* flat.c. Process context, but for nt_flat_at() */
int nt_flat_init(struct nt_flat *flat, struct ntb_dev *ntb, const struct nt_window *win);
/* As nt_win_switch_off() */
bool nt_flat_switch_off(struct nt_link *link);
/* After nt_flat_switch_off() */
void nt_flat_exit(struct nt_link *link);
/*
 * Prepare the window, with the bridge's link up. Return: 0, also if there is none; negative: the
 * bridge can't show what the window is for; with @log the reason is logged
 */
int nt_flat_ready(struct nt_link *link, bool log);
/* As nt_win_open() and nt_win_close(), and called next to them */
int nt_flat_open(struct nt_flat *flat, struct ntb_dev *ntb);
int nt_flat_close(struct nt_flat *flat, struct ntb_dev *ntb);
/*
 * Let the engine use the peer's flat window, if there is an engine that reaches all of it, and show
 * the peer that we reach it. Return: 0; -EPROTO: an invalid hello
 */
int nt_flat_use(struct nt_link *link, const struct ntw_hello_info *g);
/* Store in *@at the address of @piece in a window over all memory. Return: true if it is there */
bool nt_flat_at(const struct nt_flat *flat, const struct nt_piece *piece, u64 *at);
int nt_flat_check_params(void);

/* map.c. Process context */
bool nt_map_possible(struct device *dev);
int nt_map_open(struct nt_link *link, u64 size, u64 align);
/* @shown: a window still shows the range, so it is never freed and keeps its mapping */
void nt_map_close(struct nt_link *link, bool shown);
/* Return the bytes of the range that are in use. Any context */
size_t nt_map_used(const struct nt_link *link);

/* handshake.c: the handshake before records can be sent. Called by the work item */
void nt_handshake_write(struct nt_link *link, enum ntw_state state);
/* Read the peer's scratchpads. Return: as ntw_decode_handshake() */
int nt_handshake_read(struct nt_link *link, struct ntw_handshake *handshake);
void nt_hello_write(struct nt_link *link);
/*
 * Return: 0 if a hello that matches @handshake has come, with its contents in @g; -EAGAIN: not yet;
 * -EPROTO
 */
int nt_hello_read(struct nt_link *link, const struct ntw_handshake *handshake,
		  struct ntw_hello_info *g);

/* Return: true if the peer has sent a line, which only a side does that is up */
bool nt_hello_line(const struct nt_link *link);
/* Return: true if the peer has said that this life ends, before the rings were on */
bool nt_hello_bye(const struct nt_link *link);
extern struct kfi_wire nt_wire;		/* what "kfi show versions" lists */
/* Return NTW_FEAT_* that this side supports */
u32 nt_features(const struct nt_link *link);

/* prove.c: what works on this bridge, as the peer sees it. Called by the work item after its hello */
/* Write for the peer what we have seen of its proof. Return: the same in one number */
u64 nt_prove_report(struct nt_link *link);
/*
 * Has what the peer has written to the end of our window arrived? Return: 0: yes; -EAGAIN: not yet;
 * -ENXIO: no
 */
int nt_prove_window(struct nt_link *link);
/* After that. Return: true: it is known what works */
bool nt_prove(struct nt_link *link);

/* bell.c */
/* Wake a peer that is not up yet: by the last bit only */
void nt_bell_knock(struct nt_link *link);
/* Return the bits of the peer that the queues use, counted from the first */
u64 nt_bell_used(const struct nt_link *link);
/* Ring all bits of the peer, by CPU */
void nt_bell_try(struct nt_link *link);
/* Use other bits where those that are used are not in @rang, which have rung */
void nt_bell_replace(struct nt_link *link, u64 rang);
/* No engine rings from here on; @why: for the administrator */
void nt_bell_no_engine(struct nt_link *link, const char *why);
int nt_bell_init(struct nt_link *link);
void nt_bell_exit(struct nt_link *link);
/* Choose how to wake the peer, and the bits of each queue, in this life. Process context */
void nt_bell_open(struct nt_link *link);
/* Wake the peer's end of a queue, by CPU. Any context */
void nt_bell_ring(struct nt_ring *ring);
/* Clear the bits of a queue. They are clear at the bridge on return. BH work */
void nt_bell_settle(struct nt_ring *ring);
/*
 * Clear all of our bits: one whose interrupt was lost would never interrupt again. After that the
 * rings have to be looked at. Any context
 */
void nt_bell_revive(struct nt_link *link);
/* Handle a doorbell of ours. Hard interrupt */
void nt_bell_received(struct nt_link *link, int vector);
int nt_bell_check_params(void);

#endif /* _KFI_NTB_BRIDGE_H */
