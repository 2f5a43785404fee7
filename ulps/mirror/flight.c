// SPDX-License-Identifier: GPL-2.0
/*
 * flight.c - the writes of a mirror as objects: their memory, and which ranges those have that are
 * in flight. A range belongs to one write, or to one part of a resynchronisation, a repair or a
 * comparison at a time.
 *
 * All of it runs with the mirror claimed (claim.c). No memory is allocated after the table was
 * loaded.
 */
#include <linux/gfp.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include "mirror.h"
#include "peer.h"
#include "write.h"
#include "zero.h"

static void write_init(struct kfm *m, struct kfm_write *w)
{
	unsigned int i;

	w->m = m;
	INIT_WORK(&w->zero, kfm_zero_work);
	for (i = 0; i < KFM_PEERS; i++)
		w->posts[i].w = w;
}

/* Bytes of a chunk; the last one may be shorter. */
static u32 chunk_bytes(unsigned int i)
{
	return min_t(u32, KFM_CHUNK, KFM_BUF_SIZE - i * KFM_CHUNK);
}

static int buf_alloc(struct kfm_write *w)
{
	struct page *pages[KFM_BUF_SIZE / PAGE_SIZE];
	unsigned int i, n = ARRAY_SIZE(pages);

	static_assert(!(KFM_BUF_SIZE % PAGE_SIZE) && !(KFM_CHUNK % PAGE_SIZE));
	for (i = 0; i < KFM_CHUNKS; i++) {
		w->chunks[i] = alloc_pages_exact(chunk_bytes(i), GFP_KERNEL | __GFP_ZERO);
		if (!w->chunks[i])
			return -ENOMEM;
	}
	for (i = 0; i < n; i++)
		pages[i] = virt_to_page(w->chunks[i * PAGE_SIZE / KFM_CHUNK] +
					i * PAGE_SIZE % KFM_CHUNK);
	w->buf = vmap(pages, n, VM_MAP, PAGE_KERNEL);
	return w->buf ? 0 : -ENOMEM;
}

static void buf_free(struct kfm_write *w)
{
	unsigned int i;

	vunmap(w->buf);
	for (i = 0; i < KFM_CHUNKS && w->chunks[i]; i++)
		free_pages_exact(w->chunks[i], chunk_bytes(i));
}

int kfm_writes_alloc(struct kfm *m)
{
	unsigned int i;

	m->slots = KFM_WRITES + KFM_READS * kfm_peer_count(m) + 1;
	m->writes = kvcalloc(m->slots, sizeof(*m->writes), GFP_KERNEL);
	if (!m->writes)
		return -ENOMEM;
	for (i = 0; i < m->slots; i++) {
		write_init(m, &m->writes[i]);
		if (buf_alloc(&m->writes[i]))
			return -ENOMEM;
		list_add_tail(&m->writes[i].entry, &m->free);
	}
	return 0;
}

void kfm_writes_free(struct kfm *m)
{
	unsigned int i;

	for (i = 0; m->writes && i < m->slots; i++)
		buf_free(&m->writes[i]);
	kvfree(m->writes);
}

/* ---- ranges; a flush has none, and overlaps nothing ---- */

/*
 * The leg has a write, and so has a peer: what is copied to it from the leg meanwhile has the write
 * as well. With policy quorum the peer may have to be in sync before the write ends.
 */
static bool both_have(const struct kfm_write *w, const struct kfm_peer *peer)
{
	return peer && w->m->policy == KFM_QUORUM && !w->peer && !kfm_busy(&w->leg_busy) &&
	       !w->leg_status && w->posts[peer->index].state == KFM_P_ACKED;
}

static bool list_overlaps(const struct list_head *list, const struct kfm_peer *peer, u64 sector,
			  u64 end)
{
	struct kfm_write *w;

	list_for_each_entry(w, list, entry) {
		if (w->sector < end && sector < w->sector + w->len / KFM_SECTOR &&
		    !both_have(w, peer))
			return true;
	}
	return false;
}

/* What is in a slot ends with the session that has the slot. */
static void post_reset(struct kfm_post *post, int state)
{
	post->state = state;
	post->direct = false;
	post->slot = 0;
	post->settled.known = false;
}

/**
 * kfm_write_get() - take a free write for a range
 * @m: mirror
 * @peer: the peer that is resynchronised, or serves a read; NULL for a write to all peers
 * @sector: first sector
 * @len: bytes; 0 for a flush
 *
 * Return: the write, which is on no list; NULL if all writes are in use, or if the range is.
 */
struct kfm_write *kfm_write_get(struct kfm *m, struct kfm_peer *peer, u64 sector, u32 len)
{
	struct kfm_write *w = list_first_entry_or_null(&m->free, struct kfm_write, entry);
	u64 end = sector + len / KFM_SECTOR;
	struct kfm_peer *p;

	if (!w || list_overlaps(&m->flight, peer, sector, end) ||
	    list_overlaps(&m->reads, NULL, sector, end) ||
	    list_overlaps(&m->repairs, NULL, sector, end))
		return NULL;
	list_del_init(&w->entry);
	w->bio = NULL;
	w->kind = len ? KFM_DATA : KFM_FLUSH;
	w->sector = sector;
	w->len = len;
	w->leg_status = BLK_STS_OK;
	w->leg_busy = false;
	w->crc_known = false;
	w->cached = false;
	w->left_out = false;
	w->peer = peer;
	w->round = peer ? peer->rs_round : 0;
	w->number = m->numbered++;
	kfm_for_each_peer(p, m)
		post_reset(&w->posts[p->index],
			   (peer && peer != p) || p->witness ? KFM_P_NONE : KFM_P_WAIT);
	return w;
}

/* Is there a write in flight in a range that is not known to be durable at a peer? */
bool kfm_range_lacks(const struct kfm_peer *p, u64 sector, u32 len)
{
	u64 end = sector + len / KFM_SECTOR;
	struct kfm_write *w;

	list_for_each_entry(w, &p->m->flight, entry) {
		if (w->sector < end && sector < w->sector + w->len / KFM_SECTOR &&
		    w->posts[p->index].state != KFM_P_ACKED)
			return true;
	}
	return false;
}

/* Does a provider use the buffer? */
bool kfm_posts_busy(const struct kfm_write *w)
{
	struct kfm_peer *p;

	kfm_for_each_peer(p, w->m) {
		if (kfm_busy(&w->posts[p->index].busy))
			return true;
	}
	return false;
}

/* Release the range now, and @w when no provider uses its buffer any more. @leg_busy is false. */
void kfm_write_put(struct kfm_write *w)
{
	struct kfm *m = w->m;

	list_move_tail(&w->entry, kfm_posts_busy(w) ? &m->draining : &m->free);
}

/* Free writes whose buffers no provider uses any more. */
void kfm_writes_reclaim(struct kfm *m)
{
	struct kfm_write *w, *next;

	list_for_each_entry_safe(w, next, &m->draining, entry) {
		if (!kfm_posts_busy(w))
			list_move_tail(&w->entry, &m->free);
	}
}

bool kfm_writes_idle(const struct kfm *m)
{
	return bio_list_empty(&m->queue) && list_empty(&m->flight) && list_empty(&m->reads) &&
	       list_empty(&m->repairs) && list_empty(&m->hashes);
}

/* The session has ended: the next one posts the records again and restarts a resynchronisation. */
void kfm_writes_lost(struct kfm_peer *p)
{
	struct kfm_write *w, *next;

	if (p->witness)
		return;
	list_for_each_entry_safe(w, next, &p->m->flight, entry) {
		if (!w->peer) {
			post_reset(&w->posts[p->index], KFM_P_WAIT);
			w->left_out = false;	/* the next session decides */
		} else if (w->peer == p) {
			kfm_write_put(w);
		}
	}
}
