// SPDX-License-Identifier: GPL-2.0
/* Regions that peers may access, and memory cut into vectors of every kind. */
#include <linux/dma-mapping.h>
#include <linux/mm.h>
#include <linux/scatterlist.h>
#include "harness.h"

int region_enable(struct node *n, struct kfid_mr *mr)
{
	struct test *t = n->t;
	int ret;

	if (!(n->info->domain_attr->mr_mode & KFI_MR_ENDPOINT))
		return 0;
	ret = kfi_mr_bind(mr, &n->ep->fid, 0) ?: kfi_mr_enable(mr);
	EXPECT_EQ(t, ret, 0);
	return ret;
}

int region_open(struct node *n, struct region *r, void *buf, size_t len, u64 access)
{
	struct test *t = n->t;
	int ret;

	r->buf = buf;
	r->len = len;
	ret = kfi_mr_reg(n->domain, buf, len, access, 0, test_random(t, INT_MAX), 0, &r->mr, n);
	if (ret) {
		FAIL(t, "mr_reg: %d", ret);
		return ret;
	}
	test_keep(t, &r->mr->fid);
	ret = region_enable(n, r->mr);
	if (ret)
		return ret;
	r->key = kfi_mr_key(r->mr);
	r->addr = kfi_mr_addr(r->mr);
	EXPECT(t, r->key != KFI_KEY_NOTAVAIL);
	return 0;
}

static void io_work_done(struct kfi_mr_work *work, int err)
{
	struct io_work *io = container_of(work, struct io_work, work);

	io->err = err;
	complete(&io->ended);
}

void io_work_init(struct io_work *io)
{
	*io = (struct io_work) { .work.done = io_work_done };
	init_completion(&io->ended);
}

struct io_work *io_work_new(struct test *t)
{
	struct io_work *io = test_new(t, struct io_work);

	io_work_init(io);
	return io;
}

bool io_work_wait(struct test *t, struct io_work *io)
{
	return EXPECT(t, wait_for_completion_timeout(&io->ended,
					msecs_to_jiffies(t->w->wait_ms))) &&
	       EXPECT_EQ(t, io->err, 0);
}

struct kfi_mr_attr io_attr(const struct kvec *iov, u64 access)
{
	return (struct kfi_mr_attr) {
		.type = KFI_KVEC, .mr_iov = iov, .iov_count = 1, .access = access,
		.requested_key = KFI_KEY_NOTAVAIL,
	};
}

struct kfid_mr *io_region(struct node *n, size_t pages)
{
	struct test *t = n->t;
	struct kfid_mr *mr;
	int ret;

	ret = kfi_mr_alloc(n->domain, pages, 0, &mr, NULL);
	if (ret == -EOPNOTSUPP) {
		test_skip(t, "no per-I/O regions");
		return NULL;
	}
	if (!EXPECT_EQ(t, ret, 0))
		return NULL;
	test_keep(t, &mr->fid);
	return EXPECT_EQ(t, kfi_mr_bind(mr, &n->ep->fid, 0), 0) ? mr : NULL;
}

/* The lengths of the segments, which add up to @len. */
static size_t cut_lengths(struct test *t, size_t *lens, size_t len, size_t most)
{
	size_t i, left = len;

	most = clamp_t(size_t, most, 1, len ?: 1);
	for (i = 0; i < most - 1; i++) {
		/* At least one byte is left for each of those that follow. */
		size_t room = left - (most - 1 - i), share = 2 * left / (most - i);

		lens[i] = clamp_t(size_t, 1 + test_random(t, share), 1, room);
		left -= lens[i];
	}
	lens[i] = left;
	return most;
}

static void cut_kvec(struct cut *c, void *buf, const size_t *lens)
{
	size_t i;

	for (i = 0; i < c->count; buf += lens[i++]) {
		c->kvec[i].iov_base = buf;
		c->kvec[i].iov_len = lens[i];
	}
}

/* A segment ends at its page: the rest goes into the next one. */
static size_t page_part(const void *buf, size_t left)
{
	return min(left, PAGE_SIZE - offset_in_page(buf));
}

static size_t cut_pages(struct cut *c, void *buf, size_t len, const size_t *lens, size_t room)
{
	size_t i = 0, j = 0, n, seg = lens[0];
	struct page *page;

	while (len && i < room) {
		n = page_part(buf, min(seg, len));
		page = test_page(buf);
		if (c->type == KFI_BVEC)
			bvec_set_page(&c->bvec[i], page, n, offset_in_page(buf));
		else
			sg_set_page(&c->sgl[i], page, n, offset_in_page(buf));
		i++;
		buf += n;
		len -= n;
		seg -= n;
		if (!seg && len)
			seg = lens[++j];
	}
	return i;
}

static int map_sgl(struct node *n, struct cut *c, bool to_device)
{
	struct kfi_domain_limits limits = {};
	int ret;

	ret = kfi_domain_limits(n->domain, &limits);
	if (!EXPECT_EQ(n->t, ret, 0) || !EXPECT(n->t, limits.dma_device))
		return ret ?: -ENODEV;
	ret = dma_map_sg(limits.dma_device, c->sgl, c->count,
			 to_device ? DMA_TO_DEVICE : DMA_FROM_DEVICE);
	if (!EXPECT(n->t, ret > 0))
		return -EIO;
	c->nents = c->count;
	c->count = ret;
	c->dir = to_device ? DMA_TO_DEVICE : DMA_FROM_DEVICE;
	return 0;
}

void uncut(struct node *n, struct cut *c)
{
	struct kfi_domain_limits limits = {};

	if (c->type != KFI_SGL || !c->nents ||
	    kfi_domain_limits(n->domain, &limits))
		return;
	dma_unmap_sg(limits.dma_device, c->sgl, c->nents, c->dir);
	c->nents = 0;
}

int cut(struct node *n, struct cut *c, enum kfi_iov_type type, void *buf,
	size_t len, size_t most, bool to_device)
{
	size_t pages = len / PAGE_SIZE + 2, room = min(most + pages, most + len + 1), *lens;
	struct test *t = n->t;

	/*
	 * Segments of pages end at pages, too: then there are fewer cuts, but never fewer segments
	 * than pages.
	 */
	if (type != KFI_KVEC) {
		most = max(most, pages);
		room = most;
		most = most > pages ? most - pages : 1;
	}
	lens = test_zalloc(t, (most + 1) * sizeof(*lens));
	c->type = type;
	c->any = test_zalloc(t, room * sizeof(struct scatterlist));
	c->count = cut_lengths(t, lens, len, most);
	if (type == KFI_KVEC) {
		cut_kvec(c, buf, lens);
		return 0;
	}
	if (type == KFI_SGL)
		sg_init_table(c->sgl, room);
	c->count = cut_pages(c, buf, len, lens, room);
	if (type != KFI_SGL)
		return 0;
	sg_mark_end(&c->sgl[c->count - 1]);
	return map_sgl(n, c, to_device);
}

static void cut_msg(const struct cut *c, struct kfi_msg *msg, kfi_addr_t addr, void *ctx)
{
	memset(msg, 0, sizeof(*msg));
	msg->type = c->type;
	msg->msg_iov = c->any;
	msg->iov_count = c->count;
	msg->addr = addr;
	msg->context = ctx;
}

int send_cut(struct node *n, const struct cut *c, void *ctx, u64 flags)
{
	struct kfi_msg msg;

	cut_msg(c, &msg, n->peer, ctx);
	return POST(n->t, kfi_sendmsg(n->ep, &msg, flags));
}

int recv_cut(struct node *n, const struct cut *c, void *ctx, u64 flags)
{
	struct kfi_msg msg;

	cut_msg(c, &msg, KFI_ADDR_UNSPEC, ctx);
	return POST(n->t, kfi_recvmsg(n->ep, &msg, flags));
}
