// SPDX-License-Identifier: GPL-2.0
/*
 * record.c - RMA with a peer: records that are written to it, and what is read from it. All
 * but the completions runs with the mirror claimed (claim.c); the endpoint is open. Completions run
 * in softirq.
 */
#include "mirror.h"
#include "peer.h"
#include "record.h"
#include "write.h"

static void fetched(struct kfid_cq *cq, struct kfi_cqe *cqe, const struct kfi_cq_err_entry *wc)
{
	struct kfm_peer *p = container_of(cqe, struct kfm_peer, fetch);

	p->fetch_err = -wc->err;
	kfm_signal(p->m, &p->fetch_busy);
}

/* Begin a read. @busy becomes false when it has ended, or now, if it does not begin. */
static ssize_t rma_read(struct kfm_peer *p, void *buf, u64 key, u64 addr, u32 len,
			struct kfi_cqe *cqe, bool *busy)
{
	struct kvec iov = { .iov_base = buf, .iov_len = len };
	struct kfi_rma_iov rma = { .addr = addr, .len = len, .key = key };
	struct kfi_msg_rma msg = {
		.type = KFI_KVEC, .msg_iov = &iov, .iov_count = 1, .addr = p->rail->conn.peer,
		.rma_iov = &rma, .rma_iov_count = 1, .context = cqe,
	};
	ssize_t ret;

	*busy = true;
	ret = kfi_readmsg(p->rail->conn.ep, &msg, KFI_CQE);
	if (ret)
		*busy = false;
	return ret;
}

/* Read the peer's bitmap. */
ssize_t kfm_net_fetch(struct kfm_peer *p, u64 key, u64 addr, u32 len)
{
	p->fetch.done = fetched;
	return rma_read(p, p->wire, key, addr, len, &p->fetch, &p->fetch_busy);
}

static void record_done(struct kfid_cq *cq, struct kfi_cqe *cqe, const struct kfi_cq_err_entry *wc)
{
	struct kfm_post *next, *post = container_of(cqe, struct kfm_post, cqe);
	struct kfm *m = post->w->m;

	rcu_read_lock();	/* see kfm_signal() */
	for (; post; post = next) {
		next = post->next;
		post->err = -wc->err;
		smp_store_release(&post->busy, false);	/* pairs with kfm_busy(), see claim.c */
	}
	kfm_run_atomic(m, NULL);
	rcu_read_unlock();
}

/* Read what the peer has copied to a patch. */
ssize_t kfm_net_read(struct kfm_peer *p, struct kfm_write *w, u32 patch)
{
	struct kfm_post *post = &w->posts[p->index];

	post->next = NULL;
	post->cqe.done = record_done;
	return rma_read(p, w->buf + KFM_DATA_AT, p->ring.patch_key,
			p->ring.patch_addr + patch * KFM_WRITE_MAX, w->len, &post->cqe,
			&post->busy);
}

/*
 * All of a record's room: zeros before its head, the head, and the data. All heads are in front of
 * the data, but only one can be next to it.
 */
static unsigned int rec_iov(const struct kfm_peer *p, const struct kfm_write *w, struct kvec *iov)
{
	if (!p->index)
		return kfm_write_pieces(w, KFM_DATA_AT - KFM_REC_DATA_AT, kfm_rec_room(w->len),
					iov);
	iov[0] = (struct kvec) {
		.iov_base = kfm_write_head(p, w) - KFM_REC_HEAD_AT, .iov_len = KFM_REC_DATA_AT,
	};
	return 1 + kfm_write_pieces(w, KFM_DATA_AT, w->len, iov + 1);
}

/* The heads of direct records, then their data: pages, which a provider may send as they are */
static unsigned int direct_iov(const struct kfm_peer *p, const struct kfm_group *g,
			       struct bio_vec *iov)
{
	unsigned int i, k, n, count = g->count;
	struct kvec pieces[KFM_CHUNKS];
	const struct kfm_write *w;
	void *head;

	for (i = 0; i < g->count; i++) {
		w = g->writes[i];
		head = kfm_write_head(p, w);
		bvec_set_page(&iov[i], virt_to_page(head), sizeof(struct kfm_le_direct),
			      offset_in_page(head));
		n = kfm_write_pieces(w, KFM_DATA_AT, kfm_write_data(w), pieces);
		for (k = 0; k < n; k++)
			bvec_set_page(&iov[count++], virt_to_page(pieces[k].iov_base),
				      pieces[k].iov_len, offset_in_page(pieces[k].iov_base));
	}
	return count;
}

static unsigned int log_iov(const struct kfm_peer *p, const struct kfm_group *g, struct kvec *iov)
{
	unsigned int i, n = 0;

	for (i = 0; i < g->count; i++)
		n += rec_iov(p, g->writes[i], &iov[n]);
	return n;
}

/* Link the posts, which complete together, and mark them. */
static void group_busy(const struct kfm_peer *p, const struct kfm_group *g, bool busy)
{
	struct kfm_post *post, *next = NULL;
	unsigned int i;

	for (i = g->count; i--; next = post) {
		post = &g->writes[i]->posts[p->index];
		post->next = next;
		post->busy = busy;
	}
}

/* Write a group of records to the peer's ring or to one of its slots, durably. */
ssize_t kfm_net_write(struct kfm_peer *p, const struct kfm_group *g)
{
	struct kfi_cqe *cqe = &g->writes[0]->posts[p->index].cqe;
	union {
		struct kvec	ring[KFM_IOV];
		struct bio_vec	slot[KFM_IOV];
	} iov;
	struct kfi_rma_iov rma = {
		.addr = (g->direct ? g->rail->slots_addr : p->ring.addr) + g->at,
		.len = g->bytes, .key = g->direct ? g->rail->slots_key : p->ring.key,
	};
	struct kfi_msg_rma msg = {
		.type = KFI_KVEC, .msg_iov = iov.ring, .addr = g->rail->conn.peer,
		.rma_iov = &rma, .rma_iov_count = 1, .context = cqe,
	};
	ssize_t ret;

	if (g->direct) {
		msg.type = KFI_BVEC;
		msg.msg_biov = iov.slot;
		msg.iov_count = direct_iov(p, g, iov.slot);
	} else {
		msg.iov_count = log_iov(p, g, iov.ring);
	}
	cqe->done = record_done;
	group_busy(p, g, true);
	ret = kfi_writemsg(g->rail->conn.ep, &msg, KFI_CQE | KFI_COMMIT_COMPLETE);
	if (ret)
		group_busy(p, g, false);
	return ret;
}
