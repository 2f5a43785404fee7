// SPDX-License-Identifier: GPL-2.0
/*
 * frmr.c - fast registrations of a connection's own, for the time of one message, or of one READ.
 *
 * There is a pool for each class that has long messages (rdv.c), and on iWARP one for the sinks of READs. There a READ's request names to the peer
 * where its data goes, and the data comes as if it were a WRITE of his: so that memory is registered for him, in one piece, for this READ alone,
 * which takes the registration back as it ends. Elsewhere the device remembers where the data goes, and all of our memory has one key.
 *
 * All but alloc, dereg and free are under kv_conn.lock.
 */
#include <linux/slab.h>
#include "verbs.h"

static unsigned int kv_nfrmrs(const struct kv_conn *conn)
{
	return (conn->kdom->iwarp ? KV_POOLS : KV_POOL_SINKS) * KV_FRMRS;
}

static int kv_frmr_init(struct kv_conn *conn, struct kv_frmr *frmr, u8 pool)
{
	frmr->mr = ib_alloc_mr(conn->kdom->pd, IB_MR_TYPE_MEM_REG, conn->kdom->max_frmr_pages);
	if (IS_ERR(frmr->mr)) {
		int ret = PTR_ERR(frmr->mr);

		frmr->mr = NULL;
		return ret;
	}
	frmr->pool = pool;
	list_add_tail(&frmr->link, &conn->frmrs[pool]);
	conn->nfrmrs[pool]++;
	return 0;
}

int kv_frmrs_alloc(struct kv_conn *conn)
{
	unsigned int i, n = kv_nfrmrs(conn), pages = conn->kdom->max_frmr_pages;
	int ret = 0;

	conn->frmr_mem = kvcalloc(n, sizeof(*conn->frmr_mem), GFP_NOIO);
	conn->frmr_sg = kvcalloc(n * pages, sizeof(*conn->frmr_sg), GFP_NOIO);
	if (!conn->frmr_mem || !conn->frmr_sg)
		return -ENOMEM;
	for (i = 0; i < n && !ret; i++) {
		conn->frmr_mem[i].sg = conn->frmr_sg + i * pages;
		sg_init_table(conn->frmr_mem[i].sg, pages);
		ret = kv_frmr_init(conn, &conn->frmr_mem[i], i / KV_FRMRS);
	}
	return ret;
}

static void kv_frmr_unmap(struct kv_conn *conn, struct kv_frmr *frmr)
{
	if (frmr->nents)
		ib_dma_unmap_sg(conn->kdom->ib, frmr->sg, frmr->nents, frmr->dir);
	frmr->nents = 0;
}

/* Process context. After it the peer can't touch what was registered, whatever other queue pairs it has. */
void kv_frmrs_dereg(struct kv_conn *conn)
{
	struct kv_frmr *frmr;
	unsigned int i;

	for (i = 0; conn->frmr_mem && i < kv_nfrmrs(conn); i++) {
		frmr = &conn->frmr_mem[i];
		if (frmr->mr)
			ib_dereg_mr(frmr->mr);
		frmr->mr = NULL;
		kv_frmr_unmap(conn, frmr);
	}
}

void kv_frmrs_free(struct kv_conn *conn)
{
	kvfree(conn->frmr_sg);
	conn->frmr_sg = NULL;
	kvfree(conn->frmr_mem);
	conn->frmr_mem = NULL;
}

/* The front of @iter, which moves on. */
int kv_frmr_map(struct kv_conn *conn, struct kv_frmr *frmr, struct iov_iter *iter, enum dma_data_direction dir)
{
	unsigned int n;
	size_t bytes;
	int nents;

	n = kv_take_run(iter, frmr->sg, conn->kdom->max_frmr_pages, &bytes);
	frmr->dir = dir;
	nents = ib_dma_map_sg(conn->kdom->ib, frmr->sg, n, dir);
	if (!nents)
		return -EIO;
	frmr->nents = n;
	if (ib_map_mr_sg(frmr->mr, frmr->sg, nents, NULL, PAGE_SIZE) != nents || frmr->mr->length != bytes)
		return -EIO;
	return 0;
}

struct kv_frmr *kv_frmr_take(struct kv_conn *conn, u8 pool, struct list_head *to)
{
	struct kv_frmr *frmr = list_first_entry_or_null(&conn->frmrs[pool], struct kv_frmr, link);

	if (!frmr)
		return NULL;
	conn->nfrmrs[pool]--;
	list_move_tail(&frmr->link, to);
	return frmr;
}

void kv_frmr_give(struct kv_conn *conn, struct kv_frmr *frmr)
{
	kv_frmr_unmap(conn, frmr);
	frmr->valid = false;
	list_move(&frmr->link, &conn->frmrs[frmr->pool]);
	conn->nfrmrs[frmr->pool]++;
}

/* ---- READs ---- */

static ssize_t kv_sink_map(struct kv_conn *conn, struct kv_frmr *sink, struct iov_iter *iter, size_t len)
{
	struct iov_iter front = *iter;
	int ret;

	iov_iter_truncate(&front, len);
	ret = kv_frmr_map(conn, sink, &front, DMA_FROM_DEVICE);
	if (ret)
		return ret;
	iov_iter_advance(iter, sink->mr->length);
	return sink->mr->length;
}

/* Registration first, and then the READ that ends it. There is one for each READ that kv_may_read() lets pass. */
static struct kv_sqe *kv_sink_read(struct kv_conn *conn, u8 kind, struct iov_iter *iter, size_t len, ssize_t *n)
{
	struct list_head *pool = &conn->frmrs[KV_POOL_SINKS];
	struct kv_frmr *sink = list_first_entry(pool, struct kv_frmr, link);
	struct kv_sqe *e;

	*n = kv_sink_map(conn, sink, iter, len);
	if (*n < 0) {
		kv_frmr_unmap(conn, sink);
		return kv_sq_get(conn, kind);
	}
	kv_put_reg(conn, kv_sq_get(conn, KV_SQ_REG), sink->mr, IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE, false);
	list_del_init(&sink->link);
	conn->nfrmrs[KV_POOL_SINKS]--;
	sink->valid = true;
	e = kv_sq_get(conn, kind);
	e->frmr = sink;
	e->sge[e->nsge++] = (struct ib_sge){ sink->mr->iova, *n, sink->mr->lkey };
	e->wr.rdma.wr.opcode = IB_WR_RDMA_READ_WITH_INV;
	e->wr.rdma.wr.ex.invalidate_rkey = sink->mr->rkey;
	return e;
}

/*
 * A READ of @len bytes from @addr of the peer's to the front of @iter, which moves on. Return: its entry, for the caller to fill in where it comes
 * from; *@n: how many bytes it moves; negative: the memory can't be mapped, and the entry is for nothing.
 */
struct kv_sqe *kv_sq_read(struct kv_conn *conn, u8 kind, struct iov_iter *iter, u64 addr, u64 len, ssize_t *n)
{
	struct kv_sqe *e;

	if (conn->kdom->iwarp)
		return kv_sink_read(conn, kind, iter, kv_read_room(addr, len), n);
	e = kv_sq_get(conn, kind);
	*n = kv_sq_map(conn, e, iter, len, min_t(u32, KV_SGE, conn->kdom->max_sge_rd), DMA_FROM_DEVICE);
	e->wr.rdma.wr.opcode = IB_WR_RDMA_READ;
	return e;
}

/* The READ has ended. After an error the peer may still know the sink's key: it stays what it is until kv_frmrs_dereg(). */
void kv_sink_done(struct kv_sqe *e, int err)
{
	if (!err)
		kv_frmr_give(e->conn, e->frmr);
}
