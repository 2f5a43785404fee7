/* SPDX-License-Identifier: GPL-2.0 */
/*
 * dma.h - copies to the peer, which a channel of a DMA engine executes, or the CPU in a work item:
 * if there is no channel, or it can't be used, and for copies that the channel has failed to make
 * or that it can't make (nt_turn()). At any time all copies under way are executed by one of the
 * two. The same work item gives the copies to a channel whose driver may sleep, or that knows no
 * fence.
 *
 * Copies are reaped in the order in which they were given. A channel may execute the copies between
 * two fences (NT_COPY_FENCE) in any order. The lock of the ring protects all members of struct
 * nt_engine, unless their comments say otherwise. Nothing is allocated and nothing sleeps on the
 * path of a copy, and nothing is mapped: with an IOMMU that takes long (nt_ring_post()).
 */
#ifndef _KFI_NTB_DMA_H
#define _KFI_NTB_DMA_H

#include <linux/dma-mapping.h>
#include <linux/dmaengine.h>
#include <linux/interrupt.h>
#include <linux/iosys-map.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include "wire.h"

struct nt_rec;
struct page;
struct nt_engine;

#define NT_DESCS	1024U	/* copies under way, at most; a power of two */
#define NT_PIECE_MAX	(1UL << 20)
#define NT_BOUNCE	32768U	/* bytes of a copy whose source can't be mapped for the engine */
#define NT_MAPPINGS	64U	/* pieces of a record's payload that the engine reads, at most */
#define NT_IRQ_INTERVAL	16U	/* copies per completion interrupt, at most */

/**
 * enum nt_copy_state - state of a copy
 */
enum nt_copy_state {
	NT_GIVEN,
	NT_DONE,
	NT_ABORTED,	/* not executed, because a copy before it has failed */
	NT_FAILED
};

/* Flags of a copy */
#define NT_COPY_LAST	0x1	/* the last of its batch */
/* No copy that is given later starts before this one and those before it are complete */
#define NT_COPY_FENCE	0x2

/**
 * enum nt_what - purpose of a copy
 */
enum nt_what {
	NT_PAYLOAD,	/* payload of a record */
	NT_BYTES,	/* a run of the bulk ring */
	NT_LINE,	/* struct ntw_bulk_line */
	NT_SIGNAL
};

/**
 * struct nt_desc - one copy
 * @engine: its engine
 * @from: source
 * @dma: address of @from for the engine
 * @at: byte of the peer's inbound memory, or with NTW_FLAT of its flat window; NT_SIGNAL: number of
 *	the bell
 * @len: bytes
 * @what: enum nt_what
 * @flags: NT_COPY_*
 * @cpu: the CPU executes it
 * @bounced: the source is &nt_engine.bounce
 * @state: enum nt_copy_state; stored with a release when the copy was executed, and read with an
 *	acquire when it is reaped
 * @rec: NT_PAYLOAD: its record
 */
struct nt_desc {
	struct nt_engine	*engine;
	const void		*from;
	dma_addr_t		dma;
	u64			at;
	u32			len;
	u8			what;
	u8			flags;
	bool			cpu;
	bool			bounced;
	u8			state;
	struct nt_rec		*rec;
};

/**
 * struct nt_copies - statistics of an engine
 * @descriptors: copies that the channel has taken
 * @dma_bytes: bytes of these
 * @cpu_bytes: bytes that the CPU has written at once
 * @work_bytes: bytes that the work item has written
 * @full: times that there was no room for a copy
 * @refused: copies that the driver of the channel has refused to submit
 * @unmapped: copies whose source could not be mapped for the engine
 */
struct nt_copies {
	u64	descriptors, dma_bytes, cpu_bytes, work_bytes, full;
	u64	refused;
	u64	unmapped;
};

/**
 * struct nt_reason - why a channel is not used
 * @why: for the log, and for "kfi show devices"
 * @help: what the administrator can do, or NULL
 */
struct nt_reason {
	const char *why, *help;
};

/* What @help says if the next attempt may succeed */
#define NT_LOAD_AGAIN	"load kfi_ntb again to try it again"

/**
 * struct nt_engine - the copies to the peer of one queue of a link
 * @chan: the channel; NULL: there is none
 * @bad: why there is no channel, or why it is not used in this life; NULL: it is used
 * @failed: it is not used in later lives either
 * @hangs: it does not complete its copies, and can't be stopped, so the link waits for it. The link's
 *	work item alone writes this
 * @failures: batches that the channel has failed to copy since it has copied one
 * @cpu: the work item executes what is given
 * @tasked: the work item gives copies to the channel
 * @dev: device for which memory is mapped
 * @peer: the peer's inbound memory as the CPU writes it
 * @size: bytes of @peer
 * @piece_max: bytes of a copy, at most
 * @window: the peer's inbound memory for the channel
 * @window_len: bytes of @window that were mapped, or 0
 * @flat: the peer's flat window for the channel. The CPU does not write there
 * @flat_len: bytes of @flat, or 0
 * @bell: address of the peer's doorbell for the channel
 * @bell_len: bytes to write there; 0: the channel does not write it
 * @bell_data: the number to be written
 * @bell_dma: address of @bell_data for the channel
 * @bounce: NT_BOUNCE bytes for one copy at a time whose source can't be mapped for the channel
 * @bounce_dma: address of @bounce for the channel
 * @bouncing: @bounce is in use
 * @desc: ring of NT_DESCS copies
 * @head: number of copies that were given
 * @given: number of these that were given to the work item, and @passed to the channel; @passed
 *	does not change while the work item has copies
 * @tail: number of copies that were reaped
 * @ran: number of copies that it has executed or passed on; used by the work item only
 * @flying: with @tasked: copies that the channel has and has not ended
 * @settled: wakes the work item when @flying is 0, or @halt is set
 * @since_irq: copies since the last one with a completion interrupt; with @tasked the work item
 *	alone uses this, @cookie and the statistics of the channel
 * @irq_interval: number of copies after which one gets a completion interrupt
 * @cookie: cookie of the last copy
 * @broken: a copy has failed or was refused, so lines behind it have to be empty. Also set in
 *	callbacks, under locks of the engine's driver; cleared when all copies were reaped
 * @halt: the work item must not execute the copies that it has; cleared with the next one that is
 *	given to an idle engine
 * @work: the work item
 * @wq: its workqueue
 * @wake: BH work of the ring
 * @count: statistics; the work item alone changes @work_bytes
 */
struct nt_engine {
	struct dma_chan		*chan;
	const struct nt_reason	*bad;
	bool			failed;
	bool			hangs;
	u8			failures;
	bool			cpu;
	bool			tasked;
	struct device		*dev;
	struct iosys_map	peer;
	size_t			size;
	size_t			piece_max;
	dma_addr_t		window;
	size_t			window_len;
	dma_addr_t		flat;
	u64			flat_len;
	dma_addr_t		bell;
	u32			bell_len;
	__le64			*bell_data;
	dma_addr_t		bell_dma;
	void			*bounce;
	dma_addr_t		bounce_dma;
	bool			bouncing;
	struct nt_desc		*desc;
	u32			head, tail;
	u32			given, passed;
	u32			ran;
	atomic_t		flying;
	wait_queue_head_t	settled;
	u32			since_irq, irq_interval;
	dma_cookie_t		cookie;
	bool			broken;
	bool			halt;
	struct work_struct	work;
	struct workqueue_struct	*wq;
	struct bh_work_struct	*wake;
	struct nt_copies	count;
};

/*
 * struct nt_piece - a contiguous piece of memory
 * @addr: address for the CPU
 * @page: its first page; nt_piece_take() sets it
 * @off: offset in @page
 * @dma: address for the engine; DMA_MAPPING_ERROR: the piece can't be mapped for it
 * @len: bytes
 */
struct nt_piece {
	const void	*addr;
	struct page	*page;
	size_t		off;
	dma_addr_t	dma;
	size_t		len;
};

/* How a piece of memory was mapped for the channel */
enum {
	NT_MAP_NONE,	/* not at all, or it is a bus address */
	NT_MAP_PAGE,
	NT_MAP_LIST	/* as a scatterlist: memory of another device */
};

/**
 * struct nt_mapping - a piece of memory that the channel reads
 * @dma: its address; DMA_MAPPING_ERROR: it can't be mapped, because there are no free addresses, or
 *	because of the kind of the memory
 * @addr: address for the CPU
 * @len: bytes
 * @how: NT_MAP_*
 */
struct nt_mapping {
	dma_addr_t	dma;
	const void	*addr;
	u32		len;
	u8		how;
};

/*
 * Process context. A channel of @node is preferred; with @use false no channel is used. @wake:
 * BH work of the ring; @wq: workqueue for the work item; @like: NULL, or an engine of the same
 * link: the new one has a channel of the same driver and node, or none if that has none. Return: 0;
 * -ENOMEM; -ENODEV: there is no other channel of that kind
 */
int nt_engine_init(struct nt_engine *e, int node, bool use, struct bh_work_struct *wake,
		   struct workqueue_struct *wq, const struct nt_engine *like);
void nt_engine_exit(struct nt_engine *e);
/* Allocate zeroed memory for sources of copies. *@dma is for &nt_piece.dma. Process context */
void *nt_engine_alloc(struct nt_engine *e, size_t len, dma_addr_t *dma);
void nt_engine_free(struct nt_engine *e, size_t len, void *mem, dma_addr_t dma);
/* Use the window to the peer, @len bytes at @base, for the CPU at @vaddr. Process context */
int nt_engine_open(struct nt_engine *e, phys_addr_t base, size_t len,
		   const struct iosys_map *vaddr);
void nt_engine_close(struct nt_engine *e);
/* The same for the peer's flat window. Return: false if this engine can't reach it */
bool nt_engine_flat(struct nt_engine *e, phys_addr_t base, u64 len);
void nt_engine_flat_close(struct nt_engine *e);
/*
 * Use a register that signals the peer when @data is written to it. Process context. Return: false
 * if this engine can't write to it, or @data are longer than @len
 */
bool nt_engine_bell(struct nt_engine *e, phys_addr_t base, size_t len, u64 data);
void nt_engine_bell_close(struct nt_engine *e);

static inline bool nt_engine_idle(const struct nt_engine *e)
{
	return e->head == e->tail;
}

/* Return: true if the channel is used in this life */
static inline bool nt_engine_uses_chan(const struct nt_engine *e)
{
	return e->chan && !READ_ONCE(e->bad);
}

/* The name of the driver of the channel, by which kfi_ntb knows what the engine can't do */
const char *nt_engine_driver(const struct nt_engine *e);
/* Return: true if the engine is known to report each copy that it has not made */
bool nt_engine_reports(const struct nt_engine *e);
/*
 * Give up the channel for this life, or with @failed for all, and log @bad, which is static. No
 * copy is under way
 */
void nt_engine_give_up(struct nt_engine *e, const struct nt_reason *bad, bool failed);
/*
 * Return: true if the channel can copy between addresses and for lengths that have these bits;
 * @bits: all of them, or-ed
 */
bool nt_engine_aligned(const struct nt_engine *e, u64 bits);

/*
 * Give a copy of @piece to the engine. If not all of its bytes are copied, &nt_piece.len is set to
 * the number of the first bytes that are.
 * Return: false if there is no room: the caller tries again when it has reaped a copy, or after a
 * while if none is under way.
 */
bool nt_engine_copy(struct nt_engine *e, enum nt_what what, struct nt_piece *piece, u64 at,
		    struct nt_rec *rec, u8 flags);
bool nt_engine_ring(struct nt_engine *e);
/* Start the copies that were given */
void nt_engine_go(struct nt_engine *e);
/* Let the driver look for copies that have completed without an interrupt */
void nt_engine_poll(struct nt_engine *e);
/*
 * Return the oldest copy, if its state is known; else NULL. The caller increments &nt_engine.tail.
 */
struct nt_desc *nt_engine_reap(struct nt_engine *e);
/*
 * End copies that were not executed. Process context. Return: false if the engine may still execute
 * them, so the caller has to try again.
 */
bool nt_engine_abort(struct nt_engine *e);

/* Write at once, by CPU, in no order with copies */
void nt_engine_write(struct nt_engine *e, u32 at, const void *from, size_t len);
/* Write one tagged word, behind all that the CPU has written before */
void nt_engine_write_word(struct nt_engine *e, u32 at, u64 word);
/* @at: byte of the peer's inbound memory at which its line is */
void nt_engine_write_line(struct nt_engine *e, u32 at, const struct ntw_line *line);

#endif /* _KFI_NTB_DMA_H */
