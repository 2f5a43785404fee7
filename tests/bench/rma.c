// SPDX-License-Identifier: GPL-2.0
/*
 * rma.c - blocks, mostly of 1 MiB, are written to, or read from, the other node's memory, some in
 * progress at once. The consumer of that node does nothing. An operation that is longer than a
 * block consists of several blocks of one region.
 *
 * A thread posts and sleeps until some have ended (KB_BLOCK), or the end of each posts the next
 * (KB_DONE).
 */
#include <linux/bio.h>
#include <linux/blkdev.h>
#include <linux/bottom_half.h>
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <kfi_mem.h>
#include "kfi.h"

#define RMA_READ	KFI_READ	/* kb_kind.flags: read instead of write */
#define RMA_PAGES	KFI_WRITE	/* kb_kind.flags: local memory consists of pages */
#define RMA_LARGE	KFI_MULTI_RECV	/* kb_kind.flags: large blocks */
/* kb_kind.flags: remote memory of kfi_mem_alloc() */
#define RMA_PLACED	KFI_REMOTE_WRITE
/*
 * kb_kind.flags: an operation ends when its bytes are durable, which is when the other node has
 * written them to /dev/bench/commit
 */
#define RMA_COMMIT	KFI_COMMIT_COMPLETE

struct rma {
	struct kb_node		node[2];
	struct kfid_ep		*ep[2];
	kfi_addr_t		addr[2];
	const struct kb_kind	*kind;
	struct bench_mem	local;
	struct bench_mem	remote;
	u32			each;		/* blocks of an operation */
	u32			depth;		/* operations in progress */
	u32			ops, posted, ended;
	struct kfi_cqe		cqe;		/* for all operations */
	struct completion	done;
	int			err;
	struct kfid_mr		*mr[BENCH_MEM_MAX];
	struct kfi_mem		*placed[BENCH_MEM_MAX];
	struct file		*disk;		/* RMA_COMMIT */
};

/* The blocks of an operation. Return: how many */
static u32 rma_blocks(const struct rma *rma, const struct bench_mem *mem, u32 slot,
		      struct kvec *vec)
{
	u32 i;

	for (i = 0; i < rma->each; i++)
		vec[i] = (struct kvec) { bench_mem(mem, slot * rma->each + i), mem->size };
	return i;
}

static int rma_post(struct rma *rma, u32 i)
{
	struct bench_mem *mem = &rma->local;
	u32 slot = i % (mem->count / rma->each);
	struct kfi_rma_iov there = {
		.addr = kfi_mr_addr(rma->mr[slot]),
		.len = rma->each * mem->size,
		.key = kfi_mr_key(rma->mr[slot]),
	};
	struct kvec vec[BENCH_MEM_MAX];
	struct kfi_msg_rma msg = {
		.type = KFI_KVEC,
		.msg_iov = vec,
		.iov_count = rma_blocks(rma, mem, slot, vec),
		.addr = rma->addr[0],
		.rma_iov = &there,
		.rma_iov_count = 1,
		.context = &rma->cqe,
	};
	u64 flags = rma->kind->style == KB_DONE ? KFI_CQE : KFI_COMPLETION;
	struct bio_vec bv;

	bvec_set_page(&bv, mem->page[slot], mem->size, 0);
	if (rma->kind->flags & RMA_PAGES) {
		msg.type = KFI_BVEC;
		msg.msg_biov = &bv;
	}
	if (rma->kind->flags & RMA_READ)
		return kfi_readmsg(rma->ep[0], &msg, flags);
	flags |= rma->kind->flags & RMA_COMMIT ? KFI_COMMIT_COMPLETE : KFI_TRANSMIT_COMPLETE;
	return kfi_writemsg(rma->ep[0], &msg, flags);
}

/*
 * The buffer of an operation is reused when all earlier ones have ended, if each has its own:
 * operations end in order.
 */
static int rma_more(struct rma *rma)
{
	int ret = 0;

	while (!ret && rma->posted < READ_ONCE(rma->ops) && rma->posted - rma->ended < rma->depth)
		ret = rma_post(rma, rma->posted++);
	return ret;
}

/* ---- a thread ---- */

/* Wait for at least one completion. Return: how many */
static int rma_wait(struct rma *rma)
{
	struct kfid_cq *cq = rma->node[0].cq;
	struct kfi_cq_entry entry[BENCH_MEM_MAX];
	ssize_t n = kfi_cq_sread(cq, entry, ARRAY_SIZE(entry), NULL, KB_WAIT_MS);

	if (n > 0)
		return n;
	return n == -KFI_EAVAIL ? kb_cq_error(cq) : n == -EAGAIN ? -ETIMEDOUT : n;
}

static int rma_stream(struct rma *rma)
{
	int ret;

	while (rma->ended < rma->ops) {
		ret = rma_more(rma);
		if (ret)
			return ret;
		ret = rma_wait(rma);
		if (ret < 0)
			return ret;
		rma->ended += ret;
	}
	return 0;
}

/* ---- without a thread ---- */

static void rma_done(struct kfid_cq *cq, struct kfi_cqe *cqe, const struct kfi_cq_err_entry *wc)
{
	struct rma *rma = container_of(cqe, struct rma, cqe);

	rma->ended++;
	if (!rma->err)
		rma->err = wc->err ? -wc->err : rma_more(rma);
	/* Each operation that ends posts the next one, so none is left only at the end. */
	if (rma->err || rma->ended == rma->posted)
		complete(&rma->done);
}

static int rma_stream_done(struct rma *rma)
{
	reinit_completion(&rma->done);
	local_bh_disable();
	rma->err = rma_more(rma);
	local_bh_enable();
	if (!rma->err && !wait_for_completion_timeout(&rma->done, BENCH_TIMEOUT))
		return -ETIMEDOUT;
	return rma->err;
}

/*
 * In the background: writes without an end, until the stop. The caller stamps and checks the
 * memory.
 */

int kb_rma_begin(void *priv)
{
	struct rma *rma = priv;

	rma->ops = U32_MAX;
	rma->posted = 0;
	rma->ended = 0;
	reinit_completion(&rma->done);
	local_bh_disable();
	rma->err = rma_more(rma);
	local_bh_enable();
	return rma->err;
}

u32 kb_rma_ended(void *priv)
{
	return READ_ONCE(((struct rma *)priv)->ended);
}

int kb_rma_stop(void *priv)
{
	struct rma *rma = priv;

	WRITE_ONCE(rma->ops, 0);
	if (!rma->err && !wait_for_completion_timeout(&rma->done, BENCH_TIMEOUT))
		return -ETIMEDOUT;
	return rma->err;
}

/* ---- common ---- */

static s64 rma_run(void *priv, u32 ops)
{
	struct rma *rma = priv;
	bool read = rma->kind->flags & RMA_READ;
	u32 seed = bench_mem_stamp(read ? &rma->remote : &rma->local);
	u64 start;
	int ret;

	rma->ops = ops;
	rma->posted = 0;
	rma->ended = 0;
	start = bench_clock();
	ret = rma->kind->style == KB_DONE ? rma_stream_done(rma) : rma_stream(rma);
	start = bench_clock() - start;
	if (ret)
		return ret;
	return bench_mem_check(read ? &rma->local : &rma->remote, seed) ? start : -EBADMSG;
}

static void rma_close(void *priv)
{
	struct rma *rma = priv;
	int i;

	for (i = 0; i < BENCH_MEM_MAX; i++)
		if (rma->mr[i])
			kb_close(&rma->mr[i]->fid);
	for (i = 0; i < 2; i++)
		if (rma->ep[i])
			kb_close(&rma->ep[i]->fid);
	for (i = 0; i < BENCH_MEM_MAX; i++)
		if (rma->placed[i])
			WARN_ON(kfi_mem_free(rma->placed[i]));
	for (i = 0; i < 2; i++)
		kb_node_close(&rma->node[i]);
	if (!IS_ERR_OR_NULL(rma->disk))
		bdev_fput(rma->disk);
	kfree(rma);
}

/* Make bytes of the remote memory, a block, durable. */
static int rma_persist(struct kfid_mr *mr, uint64_t offset, size_t len)
{
	struct rma *rma = mr->fid.context;
	struct bio_vec vec;
	struct bio bio;
	int ret;

	bio_init(&bio, file_bdev(rma->disk), &vec, 1, REQ_OP_WRITE | REQ_FUA | REQ_SYNC);
	__bio_add_page(&bio, rma->remote.page[0], len, offset);
	ret = submit_bio_wait(&bio);
	bio_uninit(&bio);
	return ret;
}

static int rma_open_disk(struct rma *rma)
{
	if (!(rma->kind->flags & RMA_COMMIT))
		return 0;
	rma->disk = bdev_file_open_by_path("/dev/bench/commit", BLK_OPEN_WRITE, NULL, NULL);
	return PTR_ERR_OR_ZERO(rma->disk);
}

static int rma_register(struct rma *rma)
{
	struct kvec vec[BENCH_MEM_MAX];
	struct kfi_mr_attr attr = {
		.type = KFI_KVEC,
		.mr_iov = vec,
		.access = KFI_REMOTE_READ | KFI_REMOTE_WRITE,
		.context = rma,
		.persist = rma->disk ? rma_persist : NULL,
	};
	u32 i;
	int ret = 0;

	for (i = 0; i < rma->remote.count / rma->each && !ret; i++) {
		attr.iov_count = rma_blocks(rma, &rma->remote, i, vec);
		attr.requested_key = i;
		ret = kfi_mr_regattr(rma->node[1].domain, &attr, rma->disk ? KFI_RMA_PMEM : 0,
				     &rma->mr[i]);
		if (!ret && rma->node[1].info->domain_attr->mr_mode & KFI_MR_ENDPOINT)
			ret = kfi_mr_bind(rma->mr[i], &rma->ep[1]->fid, 0) ?:
				      kfi_mr_enable(rma->mr[i]);
	}
	return ret;
}

/* The bridge has no such memory before its first link. */
static int rma_place(struct rma *rma)
{
	struct bench_mem *mem = &rma->remote;
	unsigned long until = jiffies + msecs_to_jiffies(KB_WAIT_MS);
	u32 i;
	int ret;

	for (i = 0; i < mem->count; i++) {
		do
			ret = kfi_mem_alloc(rma->node[1].domain, mem->size, KFI_MEM_DIRECT,
					    &rma->placed[i]);
		while (ret == -EAGAIN && time_before(jiffies, until) && !msleep_interruptible(20));
		if (ret)
			return ret;
		if (is_vmalloc_addr(rma->placed[i]->addr))
			return -EOPNOTSUPP;
		mem->page[i] = virt_to_page(rma->placed[i]->addr);
	}
	return 0;
}

static int rma_prepare(struct rma *rma, struct bench_env *env, const struct bench_variant *v)
{
	bool large = rma->kind->flags & RMA_LARGE;
	u32 block = large ? BENCH_LARGE_SIZE : BENCH_MB, count;
	int i, ret = 0;

	rma->depth = v->depth;
	rma->each = max(v->size / block, 1U);
	count = rma->each > 1 ? rma->each : v->depth;
	rma->local = bench_mem_first(large ? &env->large[0] : &env->mem[0], count, v->size);
	rma->remote = bench_mem_first(large ? &env->large[1] : &env->mem[1], count, v->size);
	for (i = 0; i < 2 && !ret; i++)
		ret = kb_node_open(&rma->node[i], env, i, rma->kind, KFI_CQ_FORMAT_CONTEXT, NULL,
				   NULL);
	if (!ret && rma->kind->flags & RMA_PLACED)
		ret = rma_place(rma);
	if (!ret)
		ret = kb_join(rma->node, rma->kind, rma->ep, rma->addr);
	return ret ?: rma_open_disk(rma) ?: rma_register(rma);
}

static void *rma_open(struct bench_env *env, const struct bench_variant *v)
{
	struct rma *rma = kzalloc(sizeof(*rma), GFP_KERNEL);
	int ret;

	if (!rma)
		return ERR_PTR(-ENOMEM);
	rma->kind = (const struct kb_kind *)v->arg;
	rma->cqe.done = rma_done;
	init_completion(&rma->done);
	ret = rma_prepare(rma, env, v);
	if (!ret)
		return rma;
	rma_close(rma);
	return ERR_PTR(ret);
}

#define RMA(_name, _depth, _size, ...)						\
	{									\
		.name	= _name,						\
		.open	= rma_open,						\
		.run	= rma_run,						\
		.close	= rma_close,						\
		.arg	= (unsigned long)&(const struct kb_kind) { __VA_ARGS__ },	\
		.depth	= _depth,						\
		.size	= _size,						\
	}

const struct bench_variant kb_write_copy = RMA("kfi-write", BENCH_DEPTH, BENCH_MB, "sockets",
					       KFI_EP_RDM);
const struct bench_variant kb_write_copy_msg = RMA("kfi-write-msg", BENCH_DEPTH, BENCH_MB,
						   "sockets", KFI_EP_MSG);
const struct bench_variant kb_write_splice = RMA("kfi-write-pages", BENCH_DEPTH, BENCH_MB,
						 "sockets", KFI_EP_RDM, .flags = RMA_PAGES);
const struct bench_variant kb_read = RMA("kfi-read", BENCH_DEPTH, BENCH_MB, "sockets", KFI_EP_RDM,
					 .flags = RMA_READ);
const struct bench_variant kb_verbs_write_msg = RMA("msg-write", BENCH_BLOCKS, BENCH_MB, "verbs",
						    KFI_EP_MSG);
const struct bench_variant kb_verbs_write_rdm = RMA("rdm-write", BENCH_BLOCKS, BENCH_MB, "verbs",
						    KFI_EP_RDM);
const struct bench_variant kb_verbs_write_msg_8 = RMA("msg-write-8", BENCH_BLOCKS, 8, "verbs",
						      KFI_EP_MSG);
const struct bench_variant kb_verbs_write_msg_4k = RMA("msg-write-4k", BENCH_BLOCKS, 4096, "verbs",
						       KFI_EP_MSG);
const struct bench_variant kb_verbs_write_rdm_8 = RMA("rdm-write-8", BENCH_BLOCKS, 8, "verbs",
						      KFI_EP_RDM);
const struct bench_variant kb_verbs_write_rdm_4k = RMA("rdm-write-4k", BENCH_BLOCKS, 4096, "verbs",
						       KFI_EP_RDM);
const struct bench_variant kb_ntb_write_msg = RMA("msg-write", BENCH_BLOCKS, BENCH_MB, "ntb",
						  KFI_EP_MSG);
const struct bench_variant kb_ntb_write_rdm = RMA("rdm-write", BENCH_BLOCKS, BENCH_MB, "ntb",
						  KFI_EP_RDM);
const struct bench_variant kb_ntb_write_msg_8 = RMA("msg-write-8", BENCH_BLOCKS, 8, "ntb",
						    KFI_EP_MSG);
const struct bench_variant kb_ntb_write_msg_4k = RMA("msg-write-4k", BENCH_BLOCKS, 4096, "ntb",
						     KFI_EP_MSG);
const struct bench_variant kb_ntb_write_rdm_8 = RMA("rdm-write-8", BENCH_BLOCKS, 8, "ntb",
						    KFI_EP_RDM);
const struct bench_variant kb_ntb_write_rdm_4k = RMA("rdm-write-4k", BENCH_BLOCKS, 4096, "ntb",
						     KFI_EP_RDM);

/*
 * Memory that the peer's engine writes directly: some of it behind the bridge's window, or any with
 * a window over all memory. Without a thread.
 */
#define PLACED(_name, _size, _type)	RMA(_name, BENCH_PLACED, _size, "ntb", _type, KB_DONE, .flags = RMA_PLACED)
#define LONG(_name, _type)		RMA(_name, BENCH_LONGS, BENCH_LARGE * BENCH_LARGE_SIZE, "ntb", _type, KB_DONE, .flags = RMA_LARGE)

const struct bench_variant kb_ntb_placed_msg = PLACED("msg-placed", BENCH_MB, KFI_EP_MSG);
const struct bench_variant kb_ntb_placed_rdm = PLACED("rdm-placed", BENCH_MB, KFI_EP_RDM);
const struct bench_variant kb_ntb_placed_long_msg = PLACED("msg-placed-long",
							   BENCH_PLACED * BENCH_MB, KFI_EP_MSG);
const struct bench_variant kb_ntb_placed_long_rdm = PLACED("rdm-placed-long",
							   BENCH_PLACED * BENCH_MB, KFI_EP_RDM);
const struct bench_variant kb_ntb_long_msg = LONG("msg-long", KFI_EP_MSG);
const struct bench_variant kb_ntb_long_rdm = LONG("rdm-long", KFI_EP_RDM);
const struct bench_variant kb_ntb_commit = RMA("commit", 1, SZ_4K, "ntb", KFI_EP_RDM,
					       .flags = RMA_COMMIT);
