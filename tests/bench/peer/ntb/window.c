// SPDX-License-Identifier: GPL-2.0
/*
 * window.c - windows of a bridge of this module, set up as by any client: memory is mapped for the
 * device of port 1 and translated while the link is up. The DMA engine of port 0 writes to it
 * through the bridge, as that of a provider does.
 *
 * A window shows memory of this module; or, where the last window is larger than the others, all
 * memory from address 0.
 */
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/module.h>
#include <linux/ntb.h>
#include "nb.h"

#define NB_PEER		0		/* index of the other port */
#define NB_LINK_MS	20000
#define NB_VIEW		(4 * BENCH_MB)	/* memory of this module behind a window */

/* Contents of a window, from its first use to module exit */
struct nb_view {
	struct page		*pages;		/* NULL: all memory */
	unsigned int		order;
	dma_addr_t		dma;
	resource_size_t		size;		/* 0: it is closed */
};

static struct ntb_dev *nb_port[2];
static struct nb_view nb_view[NB_WINDOWS];

/* ---- the end of the target ---- */

static struct device *nb_target(void)
{
	return ntb_get_dma_dev(nb_port[1]);
}

/* Valid only while the link is up */
static int nb_wants(int i, resource_size_t *align, resource_size_t *size)
{
	return ntb_mw_get_align(nb_port[1], NB_PEER, i, align, NULL, size);
}

static void nb_view_free(struct nb_view *view)
{
	if (view->pages) {
		dma_unmap_page(nb_target(), view->dma, view->size, DMA_BIDIRECTIONAL);
		__free_pages(view->pages, view->order);
	}
	*view = (struct nb_view){};
}

static void nb_view_close(int i)
{
	if (nb_view[i].size)
		ntb_mw_clear_trans(nb_port[1], NB_PEER, i);
	nb_view_free(&nb_view[i]);
}

static int nb_view_alloc(struct nb_view *view, size_t size, size_t align)
{
	struct device *dev = nb_target();
	unsigned int order = get_order(max(size, align));
	struct page *pages = alloc_pages_node(dev_to_node(dev),
					      GFP_KERNEL | __GFP_COMP | __GFP_ZERO, order);
	dma_addr_t dma;

	if (!pages)
		return -ENOMEM;
	dma = dma_map_page(dev, pages, 0, size, DMA_BIDIRECTIONAL);
	if (dma_mapping_error(dev, dma)) {
		__free_pages(pages, order);
		return -ENOMEM;
	}
	*view = (struct nb_view){ .pages = pages, .order = order, .dma = dma, .size = size };
	return 0;
}

static int nb_view_open(int i, bool all)
{
	resource_size_t align, size;
	struct nb_view view = {};
	int err;

	if (i >= NB_WINDOWS)
		return -ENOSPC;
	if (nb_view[i].size)
		return 0;
	err = nb_wants(i, &align, &size);
	if (!err && all)
		view.size = size;
	else if (!err)
		err = size < NB_VIEW ? -ENOSPC : nb_view_alloc(&view, NB_VIEW, align);
	if (!err)
		err = ntb_mw_set_trans(nb_port[1], NB_PEER, i, view.dma, view.size);
	if (err)
		nb_view_free(&view);
	nb_view[i] = view;
	return err;
}

/* ---- the end of the writer ---- */

static bool nb_linked(void)
{
	return nb_port[0] && nb_port[1] && ntb_link_is_up(nb_port[0], NULL, NULL) == 1 &&
	       ntb_link_is_up(nb_port[1], NULL, NULL) == 1;
}

static int nb_linked_soon(void)
{
	int i;

	for (i = 0; i < NB_LINK_MS / 20 && !nb_linked(); i++)
		msleep(20);
	return nb_linked() ? 0 : -ENOTCONN;
}

/* Return the window that shows all memory, or -1. */
static int nb_all(void)
{
	resource_size_t first, last;
	int i = ntb_mw_count(nb_port[1], NB_PEER) - 1;

	return i > 0 && !nb_wants(0, NULL, &first) && !nb_wants(i, NULL, &last) && last > first ?
	       i : -1;
}

/* Map window @i for the engine. */
static int nb_window_map(struct nb_window *w, int i)
{
	resource_size_t len;
	phys_addr_t base;
	int err;

	if (w->len[i])
		return 0;
	err = ntb_peer_mw_get_addr(nb_port[0], i, &base, &len);
	if (err)
		return err;
	w->dma[i] = dma_map_resource(w->dev, base, len, DMA_FROM_DEVICE, 0);
	if (dma_mapping_error(w->dev, w->dma[i]))
		return -EIO;
	w->len[i] = len;
	return 0;
}

/*
 * Place blocks of this module's memory one behind the other; those that no longer fit go to the
 * next window.
 */
static int nb_place_ours(struct nb_window *w, struct bench_mem *mem, u32 i)
{
	u32 each = NB_VIEW / mem->size, window = i / each, at = i % each * mem->size;
	int err = nb_view_open(window, false);

	if (!err)
		err = nb_window_map(w, window);
	if (err)
		return err;
	mem->page[i] = nb_view[window].pages + (at >> PAGE_SHIFT);
	w->at[i] = w->dma[window] + at;
	return 0;
}

/* Place blocks of any memory: the offset of a byte in the window is its bus address at port 1. */
static int nb_place_all(struct nb_window *w, struct bench_mem *mem, u32 i, int window)
{
	int err = nb_view_open(window, true);
	dma_addr_t at;

	if (!err)
		err = nb_window_map(w, window);
	if (err)
		return err;
	at = dma_map_page(nb_target(), mem->page[i], 0, mem->size, DMA_FROM_DEVICE);
	if (dma_mapping_error(nb_target(), at))
		return -EIO;
	w->bus[w->shown++] = at;
	w->at[i] = w->dma[window] + at;
	return at + mem->size > w->len[window] ? -ENOSPC : 0;
}

int nb_window_open(struct nb_window *w, struct device *dev, struct bench_mem *mem)
{
	int all, err = nb_linked_soon();
	u32 i;

	*w = (struct nb_window){ .dev = dev, .size = mem->size };
	if (err)
		return err;
	all = nb_all();
	for (i = 0; i < mem->count && !err; i++)
		err = all < 0 ? nb_place_ours(w, mem, i) : nb_place_all(w, mem, i, all);
	if (err)
		nb_window_close(w);
	return err;
}

void nb_window_close(struct nb_window *w)
{
	int i;

	for (; w->shown; w->shown--)
		dma_unmap_page(nb_target(), w->bus[w->shown - 1], w->size, DMA_FROM_DEVICE);
	for (i = 0; i < NB_WINDOWS; i++)
		if (w->len[i])
			dma_unmap_resource(w->dev, w->dma[i], w->len[i], DMA_FROM_DEVICE, 0);
	memset(w->len, 0, sizeof(w->len));
}

/* ---- open and close ---- */

static void nb_link_event(void *ctx)
{
}

static void nb_db_event(void *ctx, int vector)
{
}

static const struct ntb_ctx_ops nb_ctx_ops = {
	.link_event = nb_link_event, .db_event = nb_db_event,
};

static int nb_probe(struct ntb_client *client, struct ntb_dev *ntb)
{
	int port = ntb_port_number(ntb), err;

	if (port < 0 || port > 1 || nb_port[port])
		return -EBUSY;
	err = ntb_set_ctx(ntb, NULL, &nb_ctx_ops);
	if (err)
		return err;
	nb_port[port] = ntb;
	err = ntb_link_enable(ntb, NTB_SPEED_AUTO, NTB_WIDTH_AUTO);
	if (!err)
		return 0;
	nb_port[port] = NULL;
	ntb_clear_ctx(ntb);
	return err;
}

static void nb_remove(struct ntb_client *client, struct ntb_dev *ntb)
{
	int i, port = ntb_port_number(ntb);

	ntb_link_disable(ntb);
	for (i = 0; i < NB_WINDOWS && port == 1; i++)
		nb_view_close(i);
	nb_port[port] = NULL;
	ntb_clear_ctx(ntb);
}

static struct ntb_client nb_client = { .ops = { .probe = nb_probe, .remove = nb_remove } };

int nb_window_init(void)
{
	return ntb_register_client(&nb_client);
}

void nb_window_exit(void)
{
	ntb_unregister_client(&nb_client);
}

/* ---- the module ---- */

EXPORT_SYMBOL_GPL(bench_window_blocks_4k);
EXPORT_SYMBOL_GPL(bench_window_blocks);
EXPORT_SYMBOL_GPL(bench_window_placed);
EXPORT_SYMBOL_GPL(bench_window_long);
EXPORT_SYMBOL_GPL(bench_nt_roundtrip);
EXPORT_SYMBOL_GPL(bench_nt_messages_64);

static int __init nb_init(void)
{
	int err = nb_transport_init();

	if (err)
		return err;
	err = nb_window_init();
	if (err)
		nb_transport_exit();
	return err;
}

static void __exit nb_exit(void)
{
	nb_window_exit();
	nb_transport_exit();
}

module_init(nb_init);
module_exit(nb_exit);
MODULE_DESCRIPTION("ntb_transport and a DMA engine, beside kfabric's benchmarks");
MODULE_LICENSE("GPL");
