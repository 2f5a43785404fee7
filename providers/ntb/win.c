// SPDX-License-Identifier: GPL-2.0
/*
 * win.c - memory that the peer writes: control page, ring, arena; and the window to the peer's.
 *
 * The inbound memory is one contiguous piece, allocated when the bridge first says what it wants (with the link up), and kept for the
 * life of the device: regions of consumers lie in its arena. Whether the peer can reach it is another matter, see nt_win_open().
 */
#include <linux/dma-mapping.h>
#include <linux/io.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sizes.h>
#include <linux/vmalloc.h>
#include "bridge.h"

#define NT_GRAIN_SHIFT	6	/* of the arena */

static unsigned int nt_window;
module_param_named(window, nt_window, uint, 0444);
MODULE_PARM_DESC(window, "memory window of the bridge that is used, the same at both ends (default 0)");

static unsigned int nt_window_mib = 4;
module_param_named(window_mib, nt_window_mib, uint, 0444);
MODULE_PARM_DESC(window_mib, "memory that the peer can write to, MiB, 1 to 4095; no more than the window (default 4)");

static unsigned int nt_ring_kib = 256;
module_param_named(ring_kib, nt_ring_kib, uint, 0444);
MODULE_PARM_DESC(ring_kib, "ring for the peer's records, KiB, a power of two from 16 to 4096 (default 256)");

int nt_win_check_params(void)
{
	u64 ring = (u64)nt_ring_kib * SZ_1K;

	if (!is_power_of_2(nt_ring_kib) || ring < 1U << NTW_RING_SHIFT_MIN || ring > 1U << NTW_RING_SHIFT_MAX) {
		pr_err("kfi_ntb: ring_kib=%u is no power of two from 16 to 4096\n", nt_ring_kib);
		return -EINVAL;
	}
	if (!nt_window_mib || nt_window_mib > 4095 || (u64)nt_window_mib * SZ_1M < ring + 2 * NTW_CTL_SIZE) {
		pr_err("kfi_ntb: window_mib=%u: not from 1 to 4095, or without room for the ring\n", nt_window_mib);
		return -EINVAL;
	}
	return 0;
}

int nt_win_init(struct nt_window *win, struct ntb_dev *ntb)
{
	int ret;

	win->index = nt_window;
	if (ntb_mw_count(ntb, NT_PEER) <= win->index || ntb_peer_mw_count(ntb) <= win->index || !ntb->ops->mw_set_trans) {
		dev_err(&ntb->dev, "no memory window %d that this side can set up\n", win->index);
		return -ENODEV;
	}
	ret = ntb_peer_mw_get_addr(ntb, win->index, &win->peer_base, &win->peer_len);
	if (ret)
		return ret;
	win->peer_len = min_t(resource_size_t, win->peer_len, NTW_SIZE_MAX);
	win->peer = ioremap_wc(win->peer_base, win->peer_len);
	return win->peer ? 0 : -ENOMEM;
}

/* ---- memory ---- */

static int nt_win_get(struct nt_window *win, struct device *dev, size_t len, size_t align)
{
	win->base_len = len;
	win->base = dma_alloc_coherent(dev, len, &win->base_dma, GFP_KERNEL | __GFP_NOWARN);
	if (win->base && !IS_ALIGNED(win->base_dma, align)) {
		/* As much more as it takes to find an aligned piece in it. */
		dma_free_coherent(dev, len, win->base, win->base_dma);
		win->base_len = len + align;
		win->base = dma_alloc_coherent(dev, win->base_len, &win->base_dma, GFP_KERNEL | __GFP_NOWARN);
	}
	if (!win->base)
		return -ENOMEM;
	win->dma = ALIGN(win->base_dma, align);
	win->mem = win->base + (win->dma - win->base_dma);
	win->size = len;
	return 0;
}

static void nt_win_put(struct nt_window *win, struct device *dev)
{
	if (win->base)
		dma_free_coherent(dev, win->base_len, win->base, win->base_dma);
	win->base = NULL;
}

static int nt_win_arena(struct nt_window *win, int node)
{
	size_t at = NTW_RING_AT + win->ring;
	struct gen_pool *arena = gen_pool_create(NT_GRAIN_SHIFT, node);
	int ret;

	if (!arena)
		return -ENOMEM;
	ret = gen_pool_add_virt(arena, (unsigned long)win->mem + at, win->dma + at, win->size - at, node);
	if (ret) {
		gen_pool_destroy(arena);
		return ret;
	}
	/* Pairs with nt_arena(). */
	smp_store_release(&win->arena, arena);
	return 0;
}

int nt_win_alloc(struct nt_window *win, struct ntb_dev *ntb)
{
	resource_size_t addr_align, size_align, size_max;
	struct device *dev = ntb_get_dma_dev(ntb);
	size_t len;
	int ret;

	if (win->arena)
		return 0;
	ret = ntb_mw_get_align(ntb, NT_PEER, win->index, &addr_align, &size_align, &size_max);
	if (ret)
		return ret;
	win->ring = nt_ring_kib * SZ_1K;
	len = min_t(u64, round_up((u64)nt_window_mib * SZ_1M, max_t(u64, size_align, PAGE_SIZE)), size_max);
	if (len < win->ring + 2 * NTW_CTL_SIZE)
		return -ENOSPC;
	ret = nt_win_get(win, dev, len, max_t(u64, addr_align, PAGE_SIZE));
	if (ret)
		return ret;
	ret = nt_win_arena(win, dev_to_node(dev));
	if (ret)
		nt_win_put(win, dev);
	return ret;
}

void nt_win_exit(struct nt_window *win, struct ntb_dev *ntb)
{
	if (win->arena)
		gen_pool_destroy(win->arena);
	nt_win_put(win, ntb_get_dma_dev(ntb));
	if (win->peer)
		iounmap(win->peer);
}

/* ---- who can write to it ---- */

int nt_win_open(struct nt_window *win, struct ntb_dev *ntb)
{
	int ret;

	memset(win->mem, 0, NTW_CTL_SIZE);
	/* The page is empty before the peer's first word can be in it. */
	wmb();
	ret = ntb_mw_set_trans(ntb, NT_PEER, win->index, win->dma, win->size);
	win->open = !ret;
	return ret;
}

void nt_win_close(struct nt_window *win, struct ntb_dev *ntb)
{
	if (!win->open)
		return;
	win->open = false;
	if (ntb_mw_clear_trans(ntb, NT_PEER, win->index))
		dev_warn_ratelimited(&ntb->dev, "window %d can't be closed\n", win->index);
}

/* ---- the arena, for the endpoints ---- */

static struct gen_pool *nt_arena(const struct nt_link *link)
{
	/* Pairs with nt_win_arena(). */
	return smp_load_acquire(&link->win.arena);
}

void *nt_arena_alloc(struct nt_link *link, size_t len)
{
	struct genpool_data_align page = { .align = PAGE_SIZE };
	struct gen_pool *arena = nt_arena(link);
	unsigned long mem;

	if (!arena || !len)
		return NULL;
	mem = len < PAGE_SIZE ? gen_pool_alloc(arena, len) :
	      gen_pool_alloc_algo(arena, len, gen_pool_first_fit_align, &page);
	return mem ? memset((void *)mem, 0, len) : NULL;
}

void nt_arena_free(struct nt_link *link, void *mem, size_t len)
{
	gen_pool_free(link->win.arena, (unsigned long)mem, len);
}

size_t nt_arena_size(const struct nt_link *link, size_t *avail)
{
	struct gen_pool *arena = nt_arena(link);

	*avail = arena ? gen_pool_avail(arena) : 0;
	return arena ? gen_pool_size(arena) : 0;
}

struct page *nt_arena_page(struct nt_link *link, void *mem)
{
	return is_vmalloc_addr(mem) ? vmalloc_to_page(mem) : virt_to_page(mem);
}

/* Where @piece is. Memory that is named by its pages is only found if the inbound memory is in the linear map. */
static bool nt_inside(const struct nt_window *win, const struct nt_piece *piece, u32 *at)
{
	uintptr_t begin = (uintptr_t)win->mem + NTW_RING_AT + win->ring, end = (uintptr_t)win->mem + win->size;
	uintptr_t mem = (uintptr_t)piece->addr;

	*at = mem - (uintptr_t)win->mem;
	return mem >= begin && mem < end && piece->len <= end - mem;
}

int nt_window_places(struct nt_link *link, const struct iov_iter *iter, size_t len, struct nt_place *place, unsigned int max)
{
	struct iov_iter it = *iter;
	struct nt_piece piece;
	unsigned int n = 0;
	u32 at;

	if (!nt_arena(link) || len > it.count)
		return 0;
	for (; len; len -= piece.len) {
		nt_piece_take(&it, len, &piece);
		if (!nt_inside(&link->win, &piece, &at))
			return 0;
		if (n && place[n - 1].at + place[n - 1].len == at) {
			place[n - 1].len += piece.len;
			continue;
		}
		if (n == max)
			return 0;
		place[n++] = (struct nt_place) { .at = at, .len = piece.len };
	}
	return n;
}
