/* SPDX-License-Identifier: GPL-2.0 */
/*
 * bridge.h - a bridge: what link.c, hand.c, win.c, bell.c and msi.c share.
 *
 * One work item runs a link's state machine (link.c); everything below is its alone, or belongs to nt_link_start() and
 * nt_link_stop() when it does not run, but what the comments say otherwise. Interrupts, timers and faults set a bit of @events and queue it.
 */
#ifndef _KFI_NTB_BRIDGE_H
#define _KFI_NTB_BRIDGE_H

#include <linux/dma-mapping.h>
#include <linux/genalloc.h>
#include <linux/ntb.h>
#include <linux/refcount.h>
#include <linux/workqueue.h>
#include "link.h"
#include "ring.h"

#define NT_PEER		NTB_DEF_PEER_IDX	/* of the peers of a bridge, the one we speak to */

/** enum nt_signal - parameter signal */
enum nt_signal {
	NT_SIGNAL_AUTO,
	NT_SIGNAL_DMA,		/* the engine writes the peer's doorbell */
	NT_SIGNAL_MSI,		/* the engine, or the CPU, writes an interrupt message */
	NT_SIGNAL_CPU		/* the CPU rings the doorbell, when the engine is done */
};

/**
 * struct nt_inbound - memory that the peer can write, as its owners see it
 * @ref:	the device, until it goes; each piece that a consumer has. The last one frees it
 * @pages:	@order: pages of our own; NULL: it is dma_alloc_coherent()'s; @kept: of them the first ones that are never freed
 * @arena:	what is behind the ring. Its own locks; published with a release
 * @node:	where it is
 */
struct nt_inbound {
	refcount_t		ref;
	struct page		*pages;
	unsigned int		order;
	unsigned int		kept;
	struct gen_pool		*arena;
	int			node;
};

/**
 * struct nt_window - memory that the peer writes, and where we write to the peer's
 * @index:	of the memory window, the same both ways
 * @in:	what of its memory may be there when the device is not
 * @base: what was allocated, @base_len bytes at @base_dma; NULL until the link is up for the first time
 * @mem: of it the inbound memory, @size bytes at @dma; @ring: bytes of its ring
 * @size_align:	what the bridge wants lengths to be a multiple of
 * @reach:	bytes of it that the peer reaches, in this life: its window may be shorter. Read in any context; what is lent lies below it
 * @open:	the peer can write to it
 * @parked:	it can't, but for so many bytes of the beginning
 * @peer: the peer's window in our address space, @peer_len bytes at @peer_base
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
	u32			ring;
	resource_size_t		size_align;
	size_t			reach;
	bool			open;
	u32			parked;
	void __iomem		*peer;
	phys_addr_t		peer_base;
	resource_size_t		peer_len;
};

/**
 * struct nt_map - addresses of the bus that regions are put behind; map.c
 * @iova:	all of them; @room: those that are free, without the first page, as bytes of the range. Their own locks
 */
struct nt_map {
	struct dma_iova_state	iova;
	struct gen_pool		*room;
};

/**
 * struct nt_flat - a second window: over all memory of this machine, or over what is registered; flat.c
 * @index:	of the memory window; negative: there is none
 * @all:	it shows all memory, from address 0 on; else what is in @map
 * @size:	bytes that it shows, from @base on, once the bridge has said what it can
 * @word:	of them the one that is &ntw_ctl.flat
 * @mapped:	@map is there. Published with a release
 * @open:	the peer can write to it
 * @park:	bytes at its beginning that nobody uses, to which the bridge can shorten the window.
 *		0: there are too few, so the window can't be parked
 * @parked:	it is closed, but it shows so many of these bytes
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
};

/**
 * struct nt_bells - doorbell bits that we and the peer use for each other
 * @mine:	bits of ours
 * @first: and @count: the same as numbers
 * @peer_first: and @peer_count: the peer's; the work item sets them before the ring is on, after that they are read in posts
 */
struct nt_bells {
	u64	mine;
	u8	first, count;
	u8	peer_first, peer_count;
};

/**
 * struct nt_msi - signals that are interrupt messages
 * @offered:	the peer may write ours: @data to byte @at of our window @window, where @addr is; it makes the interrupt @irq
 * @open:	the window shows interrupt messages
 * @parked:	the window shows so many bytes of the beginning of the inbound memory instead
 * @addr_align: @size_align: addresses and lengths of this window are multiples of these
 * @peer:	where to write @peer_data to interrupt the peer; NULL: it is woken by its doorbell. Set before the ring is on
 */
struct nt_msi {
	bool		offered;
	bool		open;
	int		window;
	u32		parked;
	resource_size_t	addr_align, size_align;
	unsigned int	irq;
	u64		addr, at;
	u32		data;
	u32		peer_data;
	void __iomem	*peer;
};

/** enum nt_link_state - of a link */
enum nt_link_state {
	NT_LINK_DOWN,
	NT_LINK_QUIET,	/* has said its incarnation, looks for the peer's */
	NT_LINK_OPEN,	/* the window is open to the peer, looks whether the peer's is */
	NT_LINK_HELLO,	/* has written a hello, looks for the peer's */
	NT_LINK_UP
};

/* Bits of &nt_link.events, set in any context */
enum nt_event {
	NT_EV_FAULT,	/* this life can't go on */
	NT_EV_FLAP,	/* the bridge's link has changed, and we had said hello */
};

/**
 * struct nt_link - one bridge
 * @ntb:	the device
 * @priv:	the endpoints' part
 * @entry:	in the list of links that were started; link.c
 * @ring: records; @win: @flat: memory; @bells: @msi: signals
 * @work:	see above
 * @events:	bits of enum nt_event
 * @lock:	protects what follows, and NT_EV_FAULT; inside of the ring's
 * @why:	of NT_EV_FAULT
 * @life:	see nt_link_life(); read anywhere
 * @state:	enum nt_link_state; read anywhere
 * @stopping:	it is to stay down; @hasty: and this kernel ends
 * @hung:	it ended while the engine had memory of ours, of which nothing is ever freed. Read
 *		anywhere
 * @poor:	there was no memory for the window when it was last tried
 * @exposed:	a window of a life could not be closed: there is no other life, and what the window shows
 *		is given to nobody any more. Read anywhere
 * @mine: and @yours: the incarnations of this life
 * @pace:	milliseconds until the handshake is looked at again
 * @beat: the peer's, as last seen, at @beat_at, in jiffies
 * @given: what the peer has answered, as last seen, at @given_at, or when it last owed nothing
 * @wait:	woken when it comes up
 * @checks:	see nt_link_checks()
 * @torn:	times that nt_link_torn() was called
 * @bounced: @placed: see nt_payload_in(); @interrupts: doorbells of the peer; @ups: and @resets: in struct nt_stats
 * @debugfs:	its folder
 */
struct nt_link {
	struct ntb_dev		*ntb;
	void			*priv;
	struct list_head	entry;
	struct nt_ring		ring;
	struct nt_window	win;
	struct nt_flat		flat;
	struct nt_bells		bells;
	struct nt_msi		msi;
	struct delayed_work	work;
	unsigned long		events;
	spinlock_t		lock;
	const char		*why;
	unsigned int		life;
	u8			state;
	bool			stopping;
	bool			hasty;
	bool			hung;
	bool			poor;
	bool			exposed;
	u32			mine, yours;
	unsigned int		pace;
	u32			beat;
	unsigned long		beat_at;
	u64			given;
	unsigned long		given_at;
	wait_queue_head_t	wait;
	bool			checks;
	atomic64_t		torn;
	atomic64_t		bounced, placed, interrupts;
	u64			ups, resets;
	struct dentry		*debugfs;
};

static inline struct nt_link *nt_ring_link(struct nt_ring *ring)
{
	return container_of(ring, struct nt_link, ring);
}

/* facade.c: the file `stats` of the link's directory in debugfs */
void nt_link_show(struct nt_link *link);

/* link.c: the state machine should look, now. Any context */
void nt_link_queue(struct nt_link *link);
extern unsigned int nt_heartbeat_ms;
extern bool nt_crc, nt_crc_placed;

/* win.c. Process context */
int nt_win_init(struct nt_window *win, struct ntb_dev *ntb);
/*
 * After nt_win_shut(). @shown: bytes at the beginning of the inbound memory that some window still
 * shows: they are never freed
 */
void nt_win_exit(struct nt_window *win, struct ntb_dev *ntb, size_t shown);
/* Its memory, when the link is up for the first time. It stays. */
int nt_win_alloc(struct nt_window *win, struct ntb_dev *ntb);
/* Let the peer in, with an empty control page; and shut it out: on return nothing lands any more. */
int nt_win_open(struct nt_window *win, struct ntb_dev *ntb);
int nt_win_close(struct nt_window *win, struct ntb_dev *ntb);
/*
 * The window is to show nothing any more, not even what it is parked on: there is no other life.
 * Return: bytes from the beginning of the inbound memory that the peer can write all the same
 */
size_t nt_win_shut(struct nt_window *win, struct ntb_dev *ntb);
/*
 * The same for any window of ours, which shows @len bytes at @park afterwards if the bridge can't
 * switch it off; 0: there is no memory for that.
 * Return: bytes that it shows; negative: it still shows what it did
 */
int nt_mw_close(struct ntb_dev *ntb, int index, dma_addr_t park, size_t len);
/* Switch a window off. Return: 0; else it still shows what it did */
int nt_mw_shut(struct ntb_dev *ntb, int index);
/*
 * Bytes of the beginning of inbound memory that a closed window may show, or 0.
 * @size_align: lengths of that window are a multiple of it
 */
size_t nt_win_park(const struct nt_window *win, resource_size_t size_align);
int nt_win_check_params(void);

/* flat.c. Process context, but for the last one */
int nt_flat_init(struct nt_flat *flat, struct ntb_dev *ntb, const struct nt_window *win);
/* As nt_win_shut() */
size_t nt_flat_shut(struct nt_link *link);
/* After nt_flat_shut() */
void nt_flat_exit(struct nt_link *link);
/* With the link up: can the bridge show what it is to? Return: 0, also if it need not; negative: no, and with @say the log says why */
int nt_flat_ready(struct nt_link *link, bool say);
/* As nt_win_open() and nt_win_close(), next to them */
int nt_flat_open(struct nt_flat *flat, struct ntb_dev *ntb);
int nt_flat_close(struct nt_flat *flat, struct ntb_dev *ntb);
/* The peer's, for the engine, if that is there and reaches all of it; the peer is shown that. Return: 0, -EPROTO: no peer says this */
int nt_flat_use(struct nt_link *link, const struct ntw_greeting *g);
/* Where @piece is in there, for the peer */
bool nt_flat_at(const struct nt_flat *flat, const struct nt_piece *piece, u64 *at);
int nt_flat_check_params(void);

/* map.c. Process context */
bool nt_map_possible(struct device *dev);
int nt_map_open(struct nt_link *link, u64 size, u64 align);
/* @shown: a window still shows the range: it is never freed, and leads where it did */
void nt_map_close(struct nt_link *link, bool shown);
/* Bytes that are in use. Any context */
size_t nt_map_used(const struct nt_link *link);

/* hand.c: what is said before records can be. The work item's */
void nt_hand_say(struct nt_link *link, enum ntw_state state);
/* What the peer says. Return: as ntw_decode_hand() */
int nt_hand_hear(struct nt_link *link, struct ntw_hand *hand);
void nt_hello_say(struct nt_link *link);
/* Return: 0: it is there and matches @hand, and is now in @g; -EAGAIN: not there yet; -EPROTO */
int nt_hello_hear(struct nt_link *link, const struct ntw_hand *hand, struct ntw_greeting *g);

/* bell.c */
int nt_bell_init(struct nt_link *link);
void nt_bell_exit(struct nt_link *link);
/* What of ours the peer may use in this life, before the hello; how it is to be woken itself, when its own has come. Process context */
int nt_bell_offer(struct nt_link *link);
int nt_bell_open(struct nt_link *link, const struct ntw_greeting *g);
/* Wake it, by CPU. Any context */
void nt_bell_ring(struct nt_link *link);
/* A doorbell of ours: hard interrupt */
void nt_bell_heard(struct nt_link *link, int vector);
int nt_bell_check_params(void);

/* msi.c. Process context, but for the last one */
/* @asked: by the administrator, and not because nothing else will do */
int nt_msi_offer(struct nt_link *link, bool asked);
/* Of both ways */
void nt_msi_withdraw(struct nt_link *link);
/* As nt_win_shut() */
size_t nt_msi_shut(struct nt_link *link);
/* Not where the peer knows it to be any more */
bool nt_msi_moved(const struct nt_link *link);
/* Return: 0; -EOPNOTSUPP: the peer does not offer it, or so that we can't; -ENOMEM */
int nt_msi_use(struct nt_link *link, const struct ntw_greeting *g);
void nt_msi_ring(struct nt_link *link);

#endif /* _KFI_NTB_BRIDGE_H */
