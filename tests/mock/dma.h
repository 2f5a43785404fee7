/* SPDX-License-Identifier: GPL-2.0 */
/*
 * dma.h - the DMA engine: channels, copies and their states
 *
 * A copy is in one list of its channel at any time, and each list is a state:
 *
 *   idle -> prepared -> submitted -> issued -> running -> done -> idle
 *           (owned by the client)    (by the worker)   (the tasklet calls the client)
 *
 * nm_chan.lock, a spinlock taken with interrupts off, protects all lists, cookies and faults of a
 * channel. The copies of a channel are allocated when a client takes the channel, and freed when it
 * releases the channel. Their number is fixed, as in hardware: none can be prepared while all are
 * in use.
 */
#ifndef KFI_NTB_MOCK_DMA_H
#define KFI_NTB_MOCK_DMA_H

#include <linux/dmaengine.h>
#include <linux/interrupt.h>
#include <linux/kthread.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/timer.h>

#define NM_CHANS	16

/* Faults, set by commands */
struct nm_fault {
	/* the n-th copy from now ends with a write error, later ones are aborted; 0: none */
	u32	fail_write;
	/* if not 0, copies are made in reverse order up to the next DMA_PREP_FENCE */
	u32	reorder;
	/* if not 0, no copy begins */
	u32	hang;
};

struct nm_copy {
	struct dma_async_tx_descriptor	tx;
	struct list_head		node;
	dma_addr_t			dst, src;
	size_t				len;
	/* terminated while it ran: no callback */
	bool				dropped;
	bool				fails;		/* by command */
	struct dmaengine_result		result;		/* owned by the worker while it runs */
};

struct nm_chan {
	struct dma_chan		chan;
	/*
	 * held from prepare to submit, and around an error, as in ioatdma; taken before lock,
	 * bottom halves off
	 */
	spinlock_t		prep_lock;
	spinlock_t		lock;
	struct list_head	idle, prepared, submitted, issued, running, done;
	/* all copies; allocated and freed with the channel */
	struct nm_copy		*ring;
	struct nm_fault		fault;
	struct kthread_worker	*worker;
	struct kthread_work	work;
	struct tasklet_struct	told;		/* its interrupt */
	/* finds completions without an interrupt, as ioatdma does after 100 ms */
	struct timer_list	look;
	/* counted under the lock; they only increase */
	u64			copies, bytes, irqs, errors, aborted, full;
};

extern struct nm_chan nm_chan[NM_CHANS];
extern unsigned int nm_channels;

static inline struct nm_chan *to_nm_chan(struct dma_chan *chan)
{
	return container_of(chan, struct nm_chan, chan);
}

static inline struct nm_copy *to_nm_copy(struct dma_async_tx_descriptor *tx)
{
	return container_of(tx, struct nm_copy, tx);
}

#define NM_LOOK_MS	100

/* dma.c: under the lock: copies may have been issued, or may begin again */
void nm_kick(struct nm_chan *c);

/* dma_run.c */
void nm_run(struct kthread_work *work);
void nm_tell(struct tasklet_struct *task);
void nm_look(struct timer_list *timer);

#endif
