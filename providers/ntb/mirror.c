// SPDX-License-Identifier: GPL-2.0
/*
 * mirror.c - records to this end of the bridge. A bridge does not lead back, so endpoints of one end talk to each other through here: the
 * same records, handed over by a work item with bottom halves off, as the link's tasklet would.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include "ntb.h"

enum { NT_MIRROR_BUDGET = 64 };

int nt_mirror_init(struct nt_mirror *mirror, struct nt_dev *dev)
{
	spin_lock_init(&mirror->lock);
	INIT_LIST_HEAD(&mirror->queue);
	INIT_WORK(&mirror->work, nt_mirror_work);
	mirror->dev = dev;
	mirror->buf = kvmalloc(NTW_REC_MAX, GFP_KERNEL);
	return mirror->buf ? 0 : -ENOMEM;
}

void nt_mirror_free(struct nt_mirror *mirror)
{
	cancel_work_sync(&mirror->work);
	kvfree(mirror->buf);
}

void nt_mirror_post(struct nt_mirror *mirror, struct nt_rec *rec)
{
	spin_lock_bh(&mirror->lock);
	rec->waits = true;
	list_add_tail(&rec->entry, &mirror->queue);
	spin_unlock_bh(&mirror->lock);
	queue_work(nt_mirror_wq, &mirror->work);
}

/* True: it is the caller's again, and no callback comes. */
bool nt_mirror_unpost(struct nt_mirror *mirror, struct nt_rec *rec)
{
	bool waits;

	spin_lock_bh(&mirror->lock);
	waits = rec->waits;
	if (waits)
		list_del(&rec->entry);
	rec->waits = false;
	spin_unlock_bh(&mirror->lock);
	return waits;
}

/* What is being handed over this moment ends; others' records may follow for ever. */
void nt_mirror_drain(struct nt_mirror *mirror)
{
	flush_work(&mirror->work);
}

static struct nt_rec *nt_mirror_next(struct nt_mirror *mirror)
{
	struct nt_rec *rec;

	spin_lock_bh(&mirror->lock);
	rec = list_first_entry_or_null(&mirror->queue, struct nt_rec, entry);
	if (rec) {
		list_del(&rec->entry);
		rec->waits = false;
	}
	spin_unlock_bh(&mirror->lock);
	return rec;
}

/* What is behind the record's first bytes, as it would lie in a ring. Return: its length */
static size_t nt_mirror_body(struct nt_mirror *mirror, const struct nt_rec *rec)
{
	size_t head = rec->head_len - sizeof(struct ntw_rec);
	struct iov_iter iter = rec->iter;

	memcpy(mirror->buf, rec->head + sizeof(struct ntw_rec), head);
	if (rec->len && copy_from_iter(mirror->buf + head, rec->len, &iter) != rec->len)
		WARN_ON_ONCE(1);	/* kernel memory can't fault */
	return head + rec->len;
}

static void nt_mirror_hand_over(struct nt_mirror *mirror, struct nt_rec *rec)
{
	struct nt_burst burst = { .mirror = true };
	struct ntw_rec first = rec->rec;
	size_t len = nt_mirror_body(mirror, rec);

	if (rec->sent)
		rec->sent(rec, 0);
	nt_burst_begin(&burst);
	nt_burst_record(mirror->dev, &burst, &first, mirror->buf, len);
	nt_burst_end(&burst);
	if (rec->heard)
		rec->heard(rec, 0);
}

/* Two endpoints that answer each other keep the queue from ever being empty: who drains it waits for one run, so a run has an end. */
void nt_mirror_work(struct work_struct *work)
{
	struct nt_mirror *mirror = container_of(work, struct nt_mirror, work);
	unsigned int budget = NT_MIRROR_BUDGET;
	struct nt_rec *rec = NULL;

	while (budget-- && (rec = nt_mirror_next(mirror))) {
		local_bh_disable();
		nt_mirror_hand_over(mirror, rec);
		local_bh_enable();
		cond_resched();
	}
	if (rec)
		queue_work(nt_mirror_wq, &mirror->work);
}
