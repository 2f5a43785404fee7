// SPDX-License-Identifier: GPL-2.0
/*
 * loopback.c - records to this end of the bridge. A bridge does not lead back, so records between
 * endpoints of one end go through here: they are the same records, delivered by a work item with
 * bottom halves off, as the link's tasklet would deliver them.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include "ntb.h"

enum { NT_LOOPBACK_BUDGET = 64 };

int nt_loopback_init(struct nt_loopback *loopback, struct nt_dev *dev)
{
	spin_lock_init(&loopback->lock);
	INIT_LIST_HEAD(&loopback->queue);
	INIT_WORK(&loopback->work, nt_loopback_work);
	loopback->dev = dev;
	loopback->buf = kvmalloc(NTW_REC_MAX, GFP_KERNEL);
	return loopback->buf ? 0 : -ENOMEM;
}

static struct nt_rec *nt_loopback_next(struct nt_loopback *loopback)
{
	struct nt_rec *rec;

	spin_lock_bh(&loopback->lock);
	rec = list_first_entry_or_null(&loopback->queue, struct nt_rec, entry);
	if (rec)
		list_del(&rec->entry);
	spin_unlock_bh(&loopback->lock);
	return rec;
}

void nt_loopback_free(struct nt_loopback *loopback)
{
	struct nt_rec *rec;

	cancel_work_sync(&loopback->work);
	while ((rec = nt_loopback_next(loopback)))
		rec->sent(rec, -ENOTCONN);
	kvfree(loopback->buf);
}

void nt_loopback_post(struct nt_loopback *loopback, struct nt_rec *rec)
{
	spin_lock_bh(&loopback->lock);
	list_add_tail(&rec->entry, &loopback->queue);
	spin_unlock_bh(&loopback->lock);
	queue_work(nt_loopback_wq, &loopback->work);
}

static void nt_loopback_sent(struct nt_rec *rec, int err)
{
	kfree(rec);
}

/* Send a record that is copied at once. Return: 0, -ENOMEM */
int nt_loopback_put(struct nt_loopback *loopback, const struct kvec *vec, unsigned int n,
		    struct iov_iter *iter, u32 len)
{
	struct nt_loopback_rec {
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
	m->rec = (struct nt_rec) { .sent = nt_loopback_sent, .head_len = sizeof(struct ntw_rec) };
	memcpy(&m->rec.rec, m->bytes, sizeof(struct ntw_rec));
	m->vec = (struct kvec) { m->bytes + sizeof(struct ntw_rec), all - sizeof(struct ntw_rec) };
	m->rec.len = m->vec.iov_len;
	iov_iter_kvec(&m->rec.iter, ITER_SOURCE, &m->vec, 1, m->rec.len);
	nt_loopback_post(loopback, &m->rec);
	return 0;
}

/* Copy to @buf what follows the header, as it would be in a ring. Return: its length */
static size_t nt_loopback_body(struct nt_loopback *loopback, const struct nt_rec *rec)
{
	size_t head = rec->head_len - sizeof(struct ntw_rec);
	struct iov_iter iter = rec->iter;

	memcpy(loopback->buf, rec->head + sizeof(struct ntw_rec), head);
	if (rec->len && copy_from_iter(loopback->buf + head, rec->len, &iter) != rec->len)
		WARN_ON_ONCE(1);	/* kernel memory does not fault */
	return head + rec->len;
}

static void nt_loopback_deliver(struct nt_loopback *loopback, struct nt_rec *rec)
{
	struct ntw_rec first = rec->rec;
	size_t len = nt_loopback_body(loopback, rec);

	rcu_read_lock();
	kfi_batch_begin();
	nt_record_in(loopback->dev, &first, loopback->buf, len, true);
	kfi_batch_end();
	rcu_read_unlock();
	rec->sent(rec, 0);	/* may drop the last reference to the bridge */
}

/*
 * Two endpoints that answer each other can keep the queue from becoming empty, so the records of
 * one run are bounded.
 */
void nt_loopback_work(struct work_struct *work)
{
	struct nt_loopback *loopback = container_of(work, struct nt_loopback, work);
	unsigned int budget = NT_LOOPBACK_BUDGET;
	struct nt_rec *rec = NULL;

	while (budget-- && (rec = nt_loopback_next(loopback))) {
		local_bh_disable();
		nt_loopback_deliver(loopback, rec);
		local_bh_enable();
		cond_resched();
	}
	if (rec)
		queue_work(nt_loopback_wq, &loopback->work);
}
