/* SPDX-License-Identifier: GPL-2.0 */
/* direct.h - records that a secondary writes to its leg at once */
#ifndef KFM_DIRECT_H
#define KFM_DIRECT_H

#include <linux/bio.h>
#include <linux/workqueue.h>
#include "proto.h"

struct kfi_persist;
struct kfm;
struct kfm_peer;
struct kfm_rail;

#define KFM_DIRECT_OFF		U32_MAX	/* kfm.direct_min: no record is direct */
#define KFM_DIRECT_DEFAULT	16384

/* Pages of the data of a group: each record but the first may begin in the middle of a page */
#define KFM_DIRECT_PAGES	(DIV_ROUND_UP(KFM_WRITE_MAX, PAGE_SIZE) + KFM_GROUP)

/**
 * struct kfm_direct_slot - a group of direct records in the memory of a secondary
 * @entry: in kfm_direct.busy, from the call of persist() to its end
 * @held: in kfm_direct.held, until the worker has it
 * @m: the mirror
 * @p: the call of persist(), NULL if the slot is not in use
 * @data: the slot, KFM_DIRECT_SLOT bytes
 * @recs: the records; @at is the place of the data in the slot
 * @count: how many
 * @pending: writes to the leg that have not ended, plus 1 until all have begun, and the flush
 *	behind @zero has ended
 * @err: first error of these writes
 * @bios: the writes, KFM_GROUP of kfm_direct.bios
 * @vecs: their vectors
 * @zero: writes the zeroes of records that have no data
 * @work: ends the call if the last of @bios has ended where interrupts are off
 */
struct kfm_direct_slot {
	struct list_head	entry;
	struct list_head	held;
	struct kfm		*m;
	struct kfi_persist	*p;
	u8			*data;
	struct kfm_rec		recs[KFM_GROUP];
	unsigned int		count;
	atomic_t		pending;
	int			err;
	struct bio		*bios;
	struct bio_vec		vecs[KFM_DIRECT_PAGES];
	struct work_struct	zero;
	struct work_struct	work;
};

/**
 * struct kfm_direct - the slots of a secondary
 * @mem: memory of all slots, which the peer writes to. NULL if this node has none; then all
 *	records of its primary are logged. Set by the constructor
 * @slots: the slots
 * @bios: of all slots
 * @open: the primary may write to the slots, by the rails that have kfm_rail.slots_mr
 * @busy: slots in use. With all members below protected by kfm_log.lock
 * @held: those whose regions are to be marked as different from those of other peers
 * @closed: no slot is taken: the session ends
 * @top: highest number of a direct record of the session
 */
struct kfm_direct {
	u8			*mem;
	struct kfm_direct_slot	*slots;
	struct bio		*bios;
	bool			open;
	struct list_head	busy;
	struct list_head	held;
	bool			closed;
	u64			top;
};

int kfm_direct_alloc(struct kfm *m);
void kfm_direct_free(struct kfm *m);
int kfm_direct_open(struct kfm_peer *p);
int kfm_direct_rail(struct kfm_rail *rail);
void kfm_direct_close(struct kfm *m);
void kfm_direct_run(struct kfm *m);
bool kfm_direct_takes(const struct kfm *m);
bool kfm_rec_blocks(const struct kfm *m, const struct kfm_rec *r);
bool kfm_direct_overlaps(const struct kfm *m, const struct kfm_rec *r);

#endif /* KFM_DIRECT_H */
