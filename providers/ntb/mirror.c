// SPDX-License-Identifier: GPL-2.0
/*
 * mirror.c - records to this end of the bridge. A bridge does not lead back, so records between
 * endpoints of one end go through here: they are the same records, delivered by a work item with
 * bottom halves off, as the link's tasklet would deliver them.
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

static struct nt_rec *nt_mirror_next(struct nt_mirror *mirror)
{
	struct nt_rec *rec;

	spin_lock_bh(&mirror->lock);
	rec = list_first_entry_or_null(&mirror->queue, struct nt_rec, entry);
	if (rec)
		list_del(&rec->entry);
	spin_unlock_bh(&mirror->lock);
	return rec;
}

void nt_mirror_free(struct nt_mirror *mirror)
{
	struct nt_rec *rec;

	cancel_work_sync(&mirror->work);
	while ((rec = nt_mirror_next(mirror)))
		rec->sent(rec, -ENOTCONN);
	kvfree(mirror->buf);
}

void nt_mirror_post(struct nt_mirror *mirror, struct nt_rec *rec)
{
	spin_lock_bh(&mirror->lock);
	list_add_tail(&rec->entry, &mirror->queue);
	spin_unlock_bh(&mirror->lock);
	queue_work(nt_mirror_wq, &mirror->work);
}

static void nt_mirror_sent(struct nt_rec *rec, int err)
{
	kfree(rec);
}

/* Send a record that is copied at once. Return: 0, -ENOMEM */
int nt_mirror_put(struct nt_mirror *mirror, const struct kvec *vec, unsigned int n,
		  struct iov_iter *iter, u32 len)
{
	struct nt_mirrored {
		struct nt_rec	rec;
		struct kvec	vec;
		u8		bytes[];
	} *m;
	u32 all = len, at = 0;
	unsigned int i;

	for (i = 0; i < n; i++)
		all += vec[i].iov_len;
	m = kmalloc(sizeof(*m) + all, GFP_ATOMIC | __GFP_NOWARN);
	if (!m)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		memcpy(m->bytes + at, vec[i].iov_base, vec[i].iov_len);
		at += vec[i].iov_len;
	}
	if (len && kfi_copy_from(m->bytes + at, iter, len) != len)
		WARN_ON_ONCE(1);	/* kernel memory does not fault */
	m->rec = (struct nt_rec) { .sent = nt_mirror_sent, .head_len = sizeof(struct ntw_rec) };
	memcpy(&m->rec.rec, m->bytes, sizeof(struct ntw_rec));
	m->vec = (struct kvec) { m->bytes + sizeof(struct ntw_rec), all - sizeof(struct ntw_rec) };
	m->rec.len = m->vec.iov_len;
	iov_iter_kvec(&m->rec.iter, ITER_SOURCE, &m->vec, 1, m->rec.len);
	nt_mirror_post(mirror, &m->rec);
	return 0;
}

/* Copy to @buf what follows the header, as it would be in a ring. Return: its length */
static size_t nt_mirror_body(struct nt_mirror *mirror, const struct nt_rec *rec)
{
	size_t head = rec->head_len - sizeof(struct ntw_rec);
	struct iov_iter iter = rec->iter;

	memcpy(mirror->buf, rec->head + sizeof(struct ntw_rec), head);
	if (rec->len && copy_from_iter(mirror->buf + head, rec->len, &iter) != rec->len)
		WARN_ON_ONCE(1);	/* kernel memory does not fault */
	return head + rec->len;
}

static void nt_mirror_hand_over(struct nt_mirror *mirror, struct nt_rec *rec)
{
	struct ntw_rec first = rec->rec;
	size_t len = nt_mirror_body(mirror, rec);

	rcu_read_lock();
	kfi_batch_begin();
	nt_record_in(mirror->dev, &first, mirror->buf, len, true);
	kfi_batch_end();
	rcu_read_unlock();
	rec->sent(rec, 0);	/* may drop the last reference to the bridge */
}

/*
 * Two endpoints that answer each other can keep the queue from becoming empty, so the records of
 * one run are bounded.
 */
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
