// SPDX-License-Identifier: GPL-2.0
/*
 * Windows at the agent: memory that stands for memory of the driver. It has the same offset in its
 * page, and adjacent pages where the driver's are adjacent, so that vectors of pages look the same
 * on both machines.
 */
#include <linux/bvec.h>
#include <linux/dma-mapping.h>
#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <kfi_domain.h>
#include "agent.h"
#include "far_buf.h"

/**
 * struct agent_window - a window
 * @base: the driver's address
 * @size: bytes
 * @all: memory that was allocated
 * @mem: memory of the window, in @all
 * @twin: contents that both machines know
 */
struct agent_window {
	u64	base, size;
	u8	*all, *mem, *twin;
};

/* Memory that is freed with the windows; a mapping is undone before. */
struct spare {
	struct list_head	link;
	struct device		*dev;
	struct scatterlist	*sgl;
	int			nents;
	enum dma_data_direction	dir;
	u8			mem[] __aligned(8);
};

/* ---- windows ---- */

static void window_free(struct agent_window *w)
{
	kvfree(w->all);
	kvfree(w->twin);
	kfree(w);
}

static void *window_mem(const struct far_change *ch)
{
	size_t len = PAGE_ALIGN(offset_in_page(ch->base) + ch->size);

	return ch->whole ? kzalloc(len, GFP_KERNEL) : vzalloc(len);
}

static struct page *window_page(const void *p)
{
	return is_vmalloc_addr(p) ? vmalloc_to_page(p) : virt_to_page(p);
}

static struct agent_window *window_new(struct agent_session *s, const struct far_change *ch)
{
	struct agent_window *w;

	if (!ch->size || ch->size > FAR_MAX_BODY || !ch->window)
		return NULL;
	w = kzalloc(sizeof(*w), GFP_KERNEL);
	if (!w)
		return NULL;
	w->base = ch->base;
	w->size = ch->size;
	w->all = window_mem(ch);
	w->twin = kvzalloc(ch->size, GFP_KERNEL);
	w->mem = w->all + offset_in_page(ch->base);
	if (w->all && w->twin && !xa_err(xa_store(&s->windows, ch->window, w, GFP_KERNEL)))
		return w;
	window_free(w);
	return NULL;
}

/* Apply the driver's changes, and answer with those made here. */
static s64 sync_one(struct agent_call *c)
{
	struct far_change ch, *ours;
	struct agent_window *w;
	size_t at;
	u32 runs;

	far_get(&c->in, &ch, sizeof(ch));
	w = xa_load(&c->s->windows, ch.window) ?: window_new(c->s, &ch);
	if (!w)
		return -EINVAL;
	if (ch.lo > ch.hi || ch.hi > w->size ||
	    !far_runs_get(&c->in, ch.runs, w->mem, w->twin, w->size))
		return -EINVAL;
	at = c->out.len;
	ch.runs = 0;
	far_put(&c->out, &ch, sizeof(ch));
	runs = far_runs_put(&c->out, w->mem, w->twin, ch.lo, ch.hi);
	if (c->out.bad)
		return -ENOMEM;
	ours = (void *)(c->out.p + at);
	ours->runs = runs;
	return 0;
}

s64 agent_sync(struct agent_call *c)
{
	s64 ret = 0;

	mutex_lock(&c->s->mem_lock);
	while (!ret && c->in.at < c->in.len)
		ret = sync_one(c);
	mutex_unlock(&c->s->mem_lock);
	return ret;
}

/* A length may be wrong, because cases test that; an address may not. */
int agent_seg(struct agent_session *s, const struct far_seg *seg, void **p)
{
	struct agent_window *w;

	*p = NULL;
	if (!seg->window) {
		/* An address outside of windows: NULL, or any address without bytes. */
		*p = seg->len ? NULL : (void *)(uintptr_t)seg->at;
		return 0;
	}
	w = xa_load(&s->windows, seg->window);
	if (!w || seg->at > w->size)
		return -EINVAL;
	*p = w->mem + seg->at;
	return 0;
}

/* The end of a window is behind it, where another one may begin. */
u64 agent_driver_address(struct agent_session *s, const void *p)
{
	u64 address = (uintptr_t)p;
	struct agent_window *w;
	unsigned long i;

	xa_for_each(&s->windows, i, w) {
		if (p >= (void *)w->mem && p < (void *)(w->mem + w->size))
			return w->base + (p - (void *)w->mem);
		if (p == w->mem + w->size)
			address = w->base + w->size;
	}
	return address;
}

/* ---- memory that is freed with the windows ---- */

static struct spare *spare_new(struct agent_session *s, size_t len)
{
	struct spare *spare = kvzalloc(struct_size(spare, mem, len), GFP_KERNEL);

	if (!spare)
		return NULL;
	mutex_lock(&s->mem_lock);
	list_add(&spare->link, &s->spare);
	mutex_unlock(&s->mem_lock);
	return spare;
}

void *agent_spare(struct agent_session *s, size_t len)
{
	struct spare *spare = spare_new(s, len);

	return spare ? spare->mem : NULL;
}

void agent_forget_memory(struct agent_session *s)
{
	struct spare *spare, *next;
	struct agent_window *w;
	unsigned long i;

	list_for_each_entry_safe(spare, next, &s->spare, link) {
		if (spare->nents)
			dma_unmap_sg(spare->dev, spare->sgl, spare->nents, spare->dir);
		kvfree(spare);
	}
	INIT_LIST_HEAD(&s->spare);
	xa_for_each(&s->windows, i, w)
		window_free(w);
	xa_destroy(&s->windows);
}

/* ---- vectors ---- */

/* Return the device of any domain: the cases have one provider. */
static struct device *device_of(struct agent_session *s)
{
	struct kfi_domain_limits limits = {};
	int i;

	for (i = 1; i <= FAR_OBJECTS; i++)
		if (s->object[i].fid && s->object[i].kind == K_DOMAIN &&
		    !kfi_domain_limits(container_of(s->object[i].fid, struct kfid_domain, fid),
				       &limits))
			break;
	return limits.dma_device;
}

static int map(struct agent_session *s, struct spare *spare, size_t n, bool to_device)
{
	spare->sgl = (void *)spare->mem;
	spare->dev = device_of(s);
	spare->dir = to_device ? DMA_TO_DEVICE : DMA_FROM_DEVICE;
	if (!spare->dev || dma_map_sg(spare->dev, spare->sgl, n, spare->dir) != n)
		return -EIO;
	spare->nents = n;
	return 0;
}

static int set_segment(struct agent_session *s, unsigned int type, void *vec, size_t i,
		       const struct far_seg *seg)
{
	struct scatterlist *sgl = vec;
	struct bio_vec *bvec = vec;
	struct kvec *kvec = vec;
	struct page *page;
	void *p;
	int ret;

	ret = agent_seg(s, seg, &p);
	if (ret)
		return ret;
	page = seg->window ? window_page(p) : seg->len ? NULL : ZERO_PAGE(0);
	if (type == KFI_KVEC)
		kvec[i] = (struct kvec){ p, seg->len };
	else if (!page)
		return -EINVAL;
	else if (type == KFI_BVEC)
		bvec_set_page(&bvec[i], page, seg->len, offset_in_page(p));
	else
		sg_set_page(&sgl[i], page, seg->len, offset_in_page(p));
	return 0;
}

int agent_vector(struct agent_session *s, unsigned int type, const struct far_seg *seg, size_t n,
		 bool to_device, const void **vec)
{
	size_t size = type == KFI_SGL ? sizeof(struct scatterlist) : sizeof(struct kvec), i;
	struct spare *spare;
	int ret = 0;

	*vec = NULL;
	if (!n)
		return 0;
	BUILD_BUG_ON(sizeof(struct bio_vec) > sizeof(struct kvec));
	/* The core does not read entries of an unknown type. */
	spare = spare_new(s, n * size);
	if (!spare)
		return -ENOMEM;
	*vec = spare->mem;
	if (type < KFI_KVEC || type > KFI_SGL)
		return 0;
	if (type == KFI_SGL)
		sg_init_table((void *)spare->mem, n);
	for (i = 0; i < n && !ret; i++)
		ret = set_segment(s, type, spare->mem, i, &seg[i]);
	if (!ret && type == KFI_SGL)
		ret = map(s, spare, n, to_device);
	return ret;
}
