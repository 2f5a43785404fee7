/* SPDX-License-Identifier: GPL-2.0 */
/*
 * dma.h - copies to the peer, one after another: by a channel of the DMA engine, or by a work item where there is none.
 *
 * Copies are executed in the order in which they were given, and are reaped in it. All of a struct nt_engine is protected by the lock of its
 * ring, but what the comments say otherwise. Nothing is allocated and nothing sleeps on the way of a copy.
 */
#ifndef _KFI_NTB_DMA_H
#define _KFI_NTB_DMA_H

#include <linux/dmaengine.h>
#include <linux/interrupt.h>
#include <linux/iosys-map.h>
#include <linux/workqueue.h>
#include "wire.h"

struct nt_rec;
struct page;
struct nt_engine;

#define NT_DESCS	1024U	/* copies under way; a power of two */
#define NT_PIECE_MAX	(1UL << 20)
#define NT_BOUNCE	65536U	/* bytes of a copy of what the engine can't be given where it is */
#define NT_QUIET	16U	/* copies of which the engine need not tell at once, at most */

/** enum nt_fate - of a copy */
enum nt_fate {
	NT_GIVEN,
	NT_DONE,
	NT_ABORTED,	/* not executed, for one before it has failed */
	NT_FAILED
};

/* How a copy is given */
#define NT_COPY_LAST	0x1	/* the last of its batch */
/* No copy that is given later begins before this one, and those before it, are complete */
#define NT_COPY_FENCE	0x2

/** enum nt_what - a copy is for */
enum nt_what {
	NT_PAYLOAD,	/* of a record */
	NT_BYTES,	/* a run of the ring */
	NT_LINE,
	NT_SIGNAL
};

/**
 * struct nt_desc - one copy
 * @engine:	whose
 * @from:	bytes
 * @dma: the same for the engine; @mapped: it was made for this copy; @bounced: it is &nt_engine.bounce
 * @at:		byte of the peer's inbound memory, or with NTW_FLAT of its flat window; NT_SIGNAL: which bell
 * @len:	bytes
 * @what:	enum nt_what
 * @flags:	NT_COPY_*
 * @fate:	enum nt_fate; released by who executes, acquired by who reaps
 * @rec:	NT_PAYLOAD: whose
 */
struct nt_desc {
	struct nt_engine	*engine;
	const void		*from;
	dma_addr_t		dma;
	u64			at;
	u32			len;
	u8			what;
	u8			flags;
	bool			mapped, bounced;
	u8			fate;
	struct nt_rec		*rec;
};

/**
 * struct nt_copies - what it has been doing
 */
struct nt_copies {
	u64	descriptors, dma_bytes, cpu_bytes, full;
	u64	refused;	/* copies that the engine's driver did not take */
	u64	unmapped;	/* copies of what could not be mapped for the engine */
};

/**
 * struct nt_engine - what copies to the peer of one link
 * @chan: and @dev: the channel and whom to map for; NULL: the work item copies
 * @peer:	the peer's inbound memory as the CPU writes it; @size: bytes that can be reached
 * @piece_max:	bytes of a copy
 * @window: the same for the channel; @window_len: bytes mapped; @bell: where it can ring, @bells of them, or 0
 * @bell_data:	what to write there; @bell_dma: where that is, @bell_len bytes each
 * @bounce:	NT_BOUNCE bytes for one copy at a time whose source can't be mapped for the channel;
 *		@bounce_dma: the same for it; @bouncing: in use
 * @flat: the peer's flat window for the channel, @flat_len bytes; 0: none. The CPU does not write there
 * @desc:	ring of NT_DESCS
 * @head: given; @tail: reaped
 * @ran:	executed; the work item's alone
 * @quiet:	copies since the last one that the engine is to tell of; @loud: it is told to after so many
 * @cookie:	of the last one
 * @broken:	a copy has failed, and those behind it; set in callbacks, under locks of the engine's driver; cleared when all are reaped
 * @halt:	the work item executes no more
 * @work: and @wq: the work item
 * @wake:	the ring's tasklet
 * @count:	what it has been doing; @cpu_bytes are also changed by the work item, of which there is one at a time
 */
struct nt_engine {
	struct dma_chan		*chan;
	struct device		*dev;
	struct iosys_map	peer;
	size_t			size;
	size_t			piece_max;
	dma_addr_t		window;
	size_t			window_len;
	dma_addr_t		flat;
	u64			flat_len;
	dma_addr_t		bell[NTW_BELLS_MAX];
	unsigned int		bells;
	__le64			*bell_data;
	dma_addr_t		bell_dma;
	u32			bell_len;
	void			*bounce;
	dma_addr_t		bounce_dma;
	bool			bouncing;
	struct nt_desc		*desc;
	u32			head, tail;
	u32			ran;
	u32			quiet, loud;
	dma_cookie_t		cookie;
	bool			broken;
	bool			halt;
	struct work_struct	work;
	struct workqueue_struct	*wq;
	struct tasklet_struct	*wake;
	struct nt_copies	count;
};

/* A piece of memory: at @addr, and in one piece for an engine from @off of @page on, or behind @dma if that is not 0 */
struct nt_piece {
	const void	*addr;
	struct page	*page;
	size_t		off;
	dma_addr_t	dma;
	size_t		len;
};

/* Process context. @node: prefer a channel there; @use: false: none is looked for. @wake: see above; @wq: for the work item. */
int nt_engine_init(struct nt_engine *e, int node, bool use, struct tasklet_struct *wake, struct workqueue_struct *wq);
void nt_engine_exit(struct nt_engine *e);
/* Memory that copies come from, zeroed; @dma is what &nt_piece.dma wants. Process context. */
void *nt_engine_alloc(struct nt_engine *e, size_t len, dma_addr_t *dma);
void nt_engine_free(struct nt_engine *e, size_t len, void *mem, dma_addr_t dma);
/* The peer's window, of @len bytes at @base; @vaddr: as the CPU sees it. Process context. */
int nt_engine_open(struct nt_engine *e, phys_addr_t base, size_t len, const struct iosys_map *vaddr);
void nt_engine_close(struct nt_engine *e);
/* The same for its flat window. Return: false: not by this engine */
bool nt_engine_flat(struct nt_engine *e, phys_addr_t base, u64 len);
/* A register that rings at the peer when @data is written to it. Return: false: not by this engine. Process context. */
bool nt_engine_bell(struct nt_engine *e, phys_addr_t base, size_t len, u64 data);

static inline bool nt_engine_idle(const struct nt_engine *e)
{
	return e->head == e->tail;
}

/*
 * One copy, of the first bytes of @piece: &nt_piece.len says of how many when it returns.
 * Return: false: no room: something is being done, and who reaps it should try again, or after a
 * while if there is nothing.
 */
bool nt_engine_copy(struct nt_engine *e, enum nt_what what, struct nt_piece *piece, u64 at,
		    struct nt_rec *rec, u8 flags);
bool nt_engine_ring(struct nt_engine *e, unsigned int bell);
/* Begin. After the last of a number of copies. */
void nt_engine_go(struct nt_engine *e);
/* Look whether something has been executed of which the engine has not told. */
void nt_engine_poke(struct nt_engine *e);
/* The oldest copy, if it has been executed, with its fate. Its mapping is taken away; NULL: none. The caller adds 1 to @tail. */
struct nt_desc *nt_engine_reap(struct nt_engine *e);
/* What has not been executed will not be. Process context. Return: false: nobody knows: ask again. */
bool nt_engine_abort(struct nt_engine *e);

/* Now, by CPU: only while nothing is under way */
void nt_engine_write(struct nt_engine *e, u32 at, const void *from, size_t len);
/* ... and one word, tagged, with those before it there first */
void nt_engine_write_word(struct nt_engine *e, u32 at, u64 word);
void nt_engine_write_line(struct nt_engine *e, const struct ntw_line *line);

#endif /* _KFI_NTB_DMA_H */
