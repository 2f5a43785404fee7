// SPDX-License-Identifier: GPL-2.0
/*
 * win.c - memory that the peer writes to: queues and arena; and the window to the same
 * memory of the peer.
 *
 * The inbound memory is one contiguous piece. It is allocated when the bridge first reports its
 * limits, with the link up, and kept until the device is removed, because its arena contains memory
 * of consumers. Memory that consumers still have when the device is removed stays (struct
 * nt_inbound). nt_win_open() and nt_win_close() decide whether the peer can reach it.
 *
 * Closing. Few drivers have a call that switches a window off. A translation with length 0 to
 * address 0 does not replace it: ntb_hw_intel returns -EIO for it on Ice Lake, and if a bridge has
 * no limit register, the window then shows the memory at address 0. So a window is closed by
 * *parking* it: it is shortened to the first control page, which is never given to consumers, and
 * in which words that are not of the current life are ignored.
 *
 * A parked window shows memory of ours as long as it is parked. So before that memory is freed,
 * each window is *switched off* (nt_win_switch_off(), nt_flat_switch_off()), by a translation with
 * length 0 if there is no other means. Memory that a window still shows after that is never freed.
 * Windows are also switched off when this kernel ends, because the kernel that is started next
 * (kexec) does not close them. One that shows scrap memory, see below, can't be.
 *
 * A driver may do nothing and return 0 (pci-epf-vntb). So before the first life the window is
 * opened and closed, and the peer writes to it. If that arrives, a window is closed by pointing it
 * to *scrap* memory of its whole length, because such a bridge translates all of a BAR or nothing.
 * For the same reason the inbound memory then has to be as long as the window: behind a shorter
 * piece the peer would reach memory of others. That is tried in the same way, and if it fails the
 * bridge is not used. The window shows the scrap memory for good, so that is never freed.
 *
 * That what the peer writes does not arrive is the peer's word: one that does not write gains that
 * the bridge is used as its driver describes it, and no more. In one case that word counts against
 * the driver: ntb_hw_intel returns -EIO on Ice Lake when it has switched a window off.
 */
#include <linux/dma-mapping.h>
#include <linux/io.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include "bridge.h"

#define NT_GRAIN_SHIFT	6	/* granularity of the arena */
#define NT_ICE_LAKE	0x347e	/* PCI device; Sapphire Rapids has the same */

static unsigned int nt_window;
module_param_named(window, nt_window, uint, 0444);
MODULE_PARM_DESC(window, "index of the memory window, the same at both ends (default 0)");

static unsigned int nt_window_mib = 4;
module_param_named(window_mib, nt_window_mib, uint, 0444);
MODULE_PARM_DESC(window_mib, "MiB that the peer can write to, a power of two to 2048 (default 4)");

#define NT_RING_USUAL	SZ_512K
#define NT_RING_LARGE	SZ_1M	/* without that, a sender of TCP waits for room again and again */
#define NT_RING_LEAST	(1U << NTW_RING_SHIFT_MIN)

static unsigned int nt_ring_kib;
module_param_named(ring_kib, nt_ring_kib, uint, 0444);
MODULE_PARM_DESC(ring_kib,
		 "KiB of the ring for long records, 16 to 4096; 0: 1024, or less (default 0)");

bool nt_places_on;
module_param_named(places, nt_places_on, bool, 0444);
MODULE_PARM_DESC(places, "let local devices write to the peer's memory (default no)");

int nt_win_check_params(void)
{
	u64 ring = nt_ring_kib ? (u64)nt_ring_kib * SZ_1K : NT_RING_LEAST;

	if (!is_power_of_2(ring) || ring < 1U << NTW_RING_SHIFT_MIN ||
	    ring > 1U << NTW_RING_SHIFT_MAX) {
		pr_err("kfi_ntb: ring_kib=%u is no power of two from 16 to 4096\n", nt_ring_kib);
		return -EINVAL;
	}
	/* On Ice Lake ntb_hw_intel knows only lengths that are powers of two (nt_win_shown()). */
	if (!is_power_of_2(nt_window_mib) || nt_window_mib > 2048 ||
	    (u64)nt_window_mib * SZ_1M < ntw_arena_at(1, ring) + NTW_CTL_SIZE) {
		pr_err("kfi_ntb: window_mib=%u: no power of two to 2048, or no room for the rings\n",
		       nt_window_mib);
		return -EINVAL;
	}
	return 0;
}

/*
 * Return: true if the window consists of ordinary pages. Only tests/mock provides such windows; its
 * bridges are on no bus. A valid page frame number is not enough, because a hole between pieces of
 * memory may have struct pages, too. A window of a real bridge may have pages from an earlier load
 * of this module, when another window had the rings. They are uncached, and are not used.
 */
static bool nt_has_pages(const struct nt_window *win, const struct ntb_dev *ntb)
{
	unsigned long pfn = PHYS_PFN(win->peer_base);
	unsigned long end = PHYS_PFN(win->peer_base + win->peer_len - 1);

	if (!ntb->pdev || ntb->pdev->bus)
		return false;
	for (; pfn <= end; pfn++)
		if (!pfn_valid(pfn) || PageReserved(pfn_to_page(pfn)))
			return false;
	return true;
}

int nt_win_init(struct nt_window *win, struct ntb_dev *ntb)
{
	int ret;

	win->index = nt_window;
	if (ntb_mw_count(ntb, NT_PEER) <= win->index || ntb_peer_mw_count(ntb) <= win->index ||
	    !ntb->ops->mw_set_trans) {
		dev_err(&ntb->dev, "no memory window %d that this side can set up\n", win->index);
		return -ENODEV;
	}
	ret = ntb_peer_mw_get_addr(ntb, win->index, &win->peer_base, &win->peer_len);
	if (ret)
		return ret;
	win->peer_len = min_t(resource_size_t, win->peer_len, NTW_SIZE_MAX);
	win->in = kzalloc(sizeof(*win->in), GFP_KERNEL);
	if (!win->in)
		return -ENOMEM;
	refcount_set(&win->in->ref, 1);
	win->in->node = dev_to_node(ntb_get_dma_dev(ntb));
	win->peer = ioremap_wc(win->peer_base, win->peer_len);
	win->pages = nt_places_on && nt_has_pages(win, ntb);
	if (win->peer)
		return 0;
	kfree(win->in);
	return -ENOMEM;
}

/* ---- memory ---- */

/*
 * Allocate pages and map them for the bridge's device: unlike coherent memory, pages can be kept
 * longer than the device. They can't be used if the CPU has to synchronize before it sees what the
 * peer has written.
 */
static int nt_win_pages(struct nt_window *win, struct device *dev, size_t len, size_t align)
{
	unsigned int order = get_order(max(len, align));
	struct page *pages;

	pages = alloc_pages_node(dev_to_node(dev),
				 GFP_KERNEL | __GFP_COMP | __GFP_ZERO | __GFP_NOWARN |
				 __GFP_NORETRY, order);
	if (!pages)
		return -ENOMEM;
	win->base_dma = dma_map_page(dev, pages, 0, len, DMA_BIDIRECTIONAL);
	if (dma_mapping_error(dev, win->base_dma))
		goto free;
	if (dma_need_sync(dev, win->base_dma) || !IS_ALIGNED(win->base_dma, align))
		goto unmap;
	win->in->pages = pages;
	win->in->order = order;
	win->in->node = page_to_nid(pages);
	win->base = page_address(pages);
	win->base_len = len;
	return 0;
unmap:
	dma_unmap_page(dev, win->base_dma, len, DMA_BIDIRECTIONAL);
free:
	__free_pages(pages, order);
	return -ENOMEM;
}

/*
 * Allocate more than the page allocator has in one piece, from memory that the platform has
 * reserved.
 */
static int nt_win_coherent(struct nt_window *win, struct device *dev, size_t len, size_t align)
{
	win->base_len = len;
	win->base = dma_alloc_coherent(dev, len, &win->base_dma, GFP_KERNEL | __GFP_NOWARN);
	if (win->base && !IS_ALIGNED(win->base_dma, align)) {
		/* Allocate enough to contain an aligned piece. */
		dma_free_coherent(dev, len, win->base, win->base_dma);
		win->base_len = len + align;
		win->base = dma_alloc_coherent(dev, win->base_len, &win->base_dma,
					       GFP_KERNEL | __GFP_NOWARN);
	}
	return win->base ? 0 : -ENOMEM;
}

static int nt_win_get(struct nt_window *win, struct device *dev, size_t len, size_t align)
{
	int ret = nt_win_pages(win, dev, len, align);

	if (ret)
		ret = nt_win_coherent(win, dev, len, align);
	if (ret)
		return ret;
	win->dma = ALIGN(win->base_dma, align);
	win->mem = win->base + (win->dma - win->base_dma);
	win->size = len;
	return 0;
}

static void nt_inbound_free(struct nt_inbound *in)
{
	if (in->arena)
		gen_pool_destroy(in->arena);
	if (in->pages)
		__free_pages(in->pages, in->order);
	in->arena = NULL;
	in->pages = NULL;
}

static void nt_inbound_put(struct nt_inbound *in)
{
	if (!refcount_dec_and_test(&in->ref))
		return;
	nt_inbound_free(in);
	kfree(in);
}

/* Free what the device alone uses. Memory that a window still shows stays allocated and mapped. */
static void nt_win_put(struct nt_window *win, struct ntb_dev *ntb, bool shown)
{
	struct device *dev = ntb_get_dma_dev(ntb);

	if (!win->base)
		return;
	if (shown) {
		dev_err(&ntb->dev, "a window can't be shut: %zu bytes stay allocated\n",
			win->base_len);
		win->in->pages = NULL;
	} else if (win->in->pages) {
		dma_unmap_page(dev, win->base_dma, win->base_len, DMA_BIDIRECTIONAL);
	} else if (refcount_read(&win->in->ref) == 1) {
		dma_free_coherent(dev, win->base_len, win->base, win->base_dma);
	} else {
		dev_warn(dev, "consumers hold memory of the window: %zu bytes stay allocated\n",
			 win->base_len);
	}
	win->base = NULL;
}

/* ---- rings, the arena, and the word at the end of both ---- */

unsigned int nt_win_queues(const struct nt_window *win)
{
	return min_t(size_t, win->queues, win->span / ntw_arena_at(1, win->ring));
}

/* Is there room for the queues? Consumers want memory, too. */
static bool nt_win_holds(const struct nt_window *win)
{
	return ntw_arena_at(win->queues, win->ring) <= win->span / 4 * 3;
}

static bool nt_win_has_queue(const struct nt_window *win)
{
	return ntw_arena_at(1, win->ring) <= win->span;
}

/*
 * Until there is an arena, the queues take what they want of the memory: long rings if there is
 * room for all queues, fewer queues rather than shorter rings than usual, and rings that are still
 * shorter rather than no queue. Consumers keep memory of the arena over many lives, so after that
 * the rings end where it begins at the latest.
 */
int nt_win_divide(struct nt_window *win, u64 reach)
{
	bool fixed = win->in->arena;

	win->span = min_t(u64, win->shown, reach);
	win->ring = nt_ring_kib ? nt_ring_kib * SZ_1K : NT_RING_LARGE;
	if (!fixed)
		win->queues = win->wanted;
	if (!nt_ring_kib && !nt_win_holds(win))
		win->ring = NT_RING_USUAL;
	while (!nt_ring_kib && win->ring > NT_RING_LEAST &&
	       (!nt_win_has_queue(win) ||
		(fixed && ntw_arena_at(win->queues, win->ring) > win->arena)))
		win->ring /= 2;
	while (!fixed && win->queues > 1 && !nt_win_holds(win))
		win->queues--;
	return nt_win_has_queue(win) ? 0 : -ENOSPC;
}

static void nt_win_unmark(struct nt_window *win)
{
	if (win->mark)
		gen_pool_free(win->in->arena, win->mark, BIT(NT_GRAIN_SHIFT));
	win->mark = 0;
}

/* An algorithm of genpool: the last free grain of the first *@end ones */
static unsigned long nt_last_grain(unsigned long *map, unsigned long size, unsigned long start,
				   unsigned int nr, void *end, struct gen_pool *pool,
				   unsigned long at)
{
	unsigned long i = min(size, *(unsigned long *)end);

	while (i--)
		if (!test_bit(i, map))
			return i;
	return size;
}

/*
 * Choose where the peer shows how much it reaches: at the end, or in front of memory of consumers
 * that is there. If consumers have all of the arena, the word is at the end of the queues.
 */
static void nt_win_mark(struct nt_window *win)
{
	size_t last = ntw_arena_at(nt_win_queues(win), win->ring) - sizeof(u64);
	struct gen_pool *arena = win->in->arena;
	unsigned long grains;

	nt_win_unmark(win);
	win->end = max_t(size_t, win->span - BIT(NT_GRAIN_SHIFT), last);
	if (!arena)
		return;
	if (win->span > win->arena) {
		grains = (win->span - win->arena) >> NT_GRAIN_SHIFT;
		win->mark = gen_pool_alloc_algo(arena, BIT(NT_GRAIN_SHIFT), nt_last_grain, &grains);
	}
	win->end = win->mark ? win->mark - (uintptr_t)win->mem : last;
}

int nt_win_arena(struct nt_window *win, int node)
{
	struct gen_pool *arena;
	unsigned long grains;
	int ret;

	if (win->in->arena)
		return 0;
	arena = gen_pool_create(NT_GRAIN_SHIFT, node);
	if (!arena)
		return -ENOMEM;
	win->arena = ntw_arena_at(win->queues, win->ring);
	ret = gen_pool_add_virt(arena, (unsigned long)win->mem + win->arena, win->dma + win->arena,
				win->size - win->arena, node);
	if (ret) {
		gen_pool_destroy(arena);
		return ret;
	}
	/* The word at the end is where it was, in this life. */
	if (win->end >= win->arena) {
		grains = (win->end - win->arena) / BIT(NT_GRAIN_SHIFT) + 1;
		win->mark = gen_pool_alloc_algo(arena, BIT(NT_GRAIN_SHIFT), nt_last_grain, &grains);
	}
	/* Pairs with nt_arena(). */
	smp_store_release(&win->in->arena, arena);
	return 0;
}

/* ---- how much the window shows ---- */

/*
 * Find how much of at most @len bytes the window shows. A bridge may be another one when its link
 * comes up again, because it was configured anew. On Ice Lake ntb_hw_intel programs the logarithm
 * of the length, so a length between two powers of two would show other memory.
 */
static int nt_win_shown(struct nt_window *win, u64 len, u64 size_align, u64 size_max)
{
	win->size_align = size_align;
	len = min(round_up(len, max_t(u64, size_align, PAGE_SIZE)), size_max);
	len = len ? rounddown_pow_of_two(len) : 0;
	win->trans = len;
	win->whole = len == size_max;
	WRITE_ONCE(win->shown, win->most ? min_t(u64, len, win->most) : len);
	return nt_win_divide(win, win->shown);
}

void nt_win_hide(struct nt_window *win)
{
	u32 ring = nt_ring_kib ? nt_ring_kib * SZ_1K : NT_RING_LEAST;

	win->most = rounddown_pow_of_two(win->span - 1);
	/* With less than a queue no life would begin: then the next one tries all of it again. */
	if (win->most < ntw_arena_at(1, ring))
		win->most = 0;
	/* It may also hide the word that shows whether the closed window is closed. */
	win->proven = false;
}

/*
 * The memory is allocated once, because consumers have pieces of it in later lives, too. If the
 * window has become shorter, it shows less of the memory.
 */
int nt_win_ready(struct nt_window *win, struct ntb_dev *ntb)
{
	resource_size_t addr_align, size_align, size_max;
	int ret = ntb_mw_get_align(ntb, NT_PEER, win->index, &addr_align, &size_align, &size_max);

	if (!ret)
		ret = nt_win_shown(win, win->base ? win->size : (u64)nt_window_mib * SZ_1M,
				   size_align, size_max);
	if (ret)
		return ret;
	if (!win->base)
		return nt_win_get(win, ntb_get_dma_dev(ntb), win->shown,
				  max_t(u64, addr_align, PAGE_SIZE));
	return win->trans <= win->size && IS_ALIGNED(win->dma, addr_align) ? 0 : -EFAULT;
}

void nt_win_exit(struct nt_window *win, struct ntb_dev *ntb, bool shown)
{
	nt_win_unmark(win);
	nt_win_put(win, ntb, shown);
	if (win->scrap)
		dev_warn(&ntb->dev, "a window shows %zu bytes, which stay allocated\n", win->size);
	nt_inbound_put(win->in);
	if (win->peer)
		iounmap(win->peer);
}

/* ---- opening and closing ---- */

int nt_win_open(struct nt_window *win, struct ntb_dev *ntb)
{
	unsigned int i;
	int ret;

	nt_win_mark(win);
	/* Up to the bulk ring, whose records are found by the line only */
	for (i = 0; i < win->queues; i++)
		memset(win->mem + ntw_queue_at(i, win->ring), 0, ntw_ring_at(NTW_BULK, win->ring));
	/* All of that is empty before the peer can write its first word. */
	wmb();
	ret = ntb_mw_set_trans(ntb, NT_PEER, win->index, win->dma, win->trans);
	win->open = !ret;
	return ret;
}

/*
 * On Ice Lake ntb_hw_intel also writes the logarithm of the length. That of 0 does not fit in the
 * register, so what is read back differs. Then the driver switches the window off and returns
 * -EIO.
 */
static bool nt_eio_is_off(const struct ntb_dev *ntb)
{
	return nt_driver_is(ntb, "ntb_hw_intel") && ntb->pdev->device == NT_ICE_LAKE;
}

int nt_mw_switch_off(struct ntb_dev *ntb, int index, s8 off)
{
	int ret = ntb->ops->mw_clear_trans ? ntb_mw_clear_trans(ntb, NT_PEER, index) : -EOPNOTSUPP;

	if (ret)
		ret = ntb_mw_set_trans(ntb, NT_PEER, index, 0, 0);
	if (off < 0)
		ret = -EIO;
	else if (off > 0 && ret == -EIO && nt_eio_is_off(ntb))
		ret = 0;
	/*
	 * The peer writes nothing through a bridge that was pulled out. A device that is on no bus
	 * (tests/mock) can't be pulled out.
	 */
	return ret && ntb->pdev && ntb->pdev->bus && !pci_device_is_present(ntb->pdev) ? 0 : ret;
}

int nt_mw_close(struct ntb_dev *ntb, int index, dma_addr_t park, size_t len)
{
	if (ntb->ops->mw_clear_trans && !ntb_mw_clear_trans(ntb, NT_PEER, index))
		return 0;
	if (len && !ntb_mw_set_trans(ntb, NT_PEER, index, park, len))
		return len;
	return nt_mw_switch_off(ntb, index, 0);
}

/* Return how many bytes of the beginning of the memory the closed window may show, or 0 */
static size_t nt_win_park(const struct nt_window *win)
{
	size_t len = round_up(NTW_CTL_SIZE, max_t(size_t, win->size_align, 1));
	u32 arena = win->in->arena ? win->arena : ntw_arena_at(win->queues, win->ring);

	/*
	 * The arena is in use between lives, too, so a closed window must not show it. The queues
	 * are read during a life only.
	 */
	return len <= arena ? len : 0;
}

int nt_win_close(struct nt_window *win, struct ntb_dev *ntb)
{
	int ret;

	if (!win->open)
		return 0;
	if (win->scrap)
		ret = ntb_mw_set_trans(ntb, NT_PEER, win->index, win->scrap_dma, win->trans);
	else
		ret = nt_mw_close(ntb, win->index, win->dma, nt_win_park(win));
	if (ret < 0)
		return ret;
	win->open = false;
	win->parked = ret;
	return 0;
}

bool nt_win_switch_off(struct nt_window *win, struct ntb_dev *ntb)
{
	if (nt_win_close(win, ntb) || win->unshut)
		return true;
	if (win->parked && !nt_mw_switch_off(ntb, win->index, win->off))
		win->parked = 0;
	return win->parked;
}

/* ---- is a closed window closed? ---- */

int nt_win_try(struct nt_window *win, struct ntb_dev *ntb, u8 how)
{
	int ret = nt_win_open(win, ntb) ?: nt_win_close(win, ntb);

	if (!ret && how == NTW_TRY_OFF)
		nt_mw_switch_off(ntb, win->index, 0);
	return ret;
}

static bool nt_win_wrote(const struct nt_window *win, u32 at, u8 how, u32 own_id)
{
	u32 value;

	return ntw_decode_word(le64_to_cpu(READ_ONCE(*(const __le64 *)(win->mem + at))), own_id,
			       &value) && value == how;
}

/*
 * Allocate scrap memory. It is aligned to its length, as a bridge in BAR match mode wants it,
 * whatever the driver says.
 */
static bool nt_win_scrap(struct nt_window *win, struct ntb_dev *ntb)
{
	struct device *dev = ntb_get_dma_dev(ntb);
	size_t len = win->size;

	if (!win->whole) {
		dev_warn(&ntb->dev, "a window shows more than %zu bytes: set window_mib\n", len);
		return false;
	}
	win->scrap = dma_alloc_coherent(dev, len, &win->scrap_dma, GFP_KERNEL | __GFP_NOWARN);
	if (win->scrap && !IS_ALIGNED(win->scrap_dma, len)) {
		dma_free_coherent(dev, len, win->scrap, win->scrap_dma);
		win->scrap = dma_alloc_coherent(dev, 2 * len, &win->scrap_dma,
						GFP_KERNEL | __GFP_NOWARN);
		win->scrap_dma = ALIGN(win->scrap_dma, len);
	}
	if (!win->scrap)
		dev_warn(&ntb->dev, "no memory for a window to show when closed\n");
	return win->scrap;
}

/*
 * The peer has written to the beginning of the memory and to the end of the first queue, and then
 * to our scratchpads, which come behind that. A parked window shows the beginning. A life that has
 * ended during the try may have allocated the scrap memory already.
 */
u8 nt_win_tried(struct nt_window *win, struct ntb_dev *ntb, u8 how, u32 own_id, bool scrap)
{
	bool first = nt_win_wrote(win, offsetof(struct ntw_ctl, shut), how, own_id);
	bool all = nt_win_wrote(win, ntw_shut_at(win->ring), how, own_id);

	all |= first && !win->parked;	/* a window may hide where the second word is */
	if (how == NTW_TRY_CLOSED && all && scrap && !win->scrap && nt_win_scrap(win, ntb)) {
		win->unshut = true;	/* until the next try shows something else */
		return NTW_TRY_SCRAP;
	}
	if (how == NTW_TRY_CLOSED && !all && win->parked)
		return NTW_TRY_OFF;
	if (how == NTW_TRY_OFF)
		win->off = first ? -1 : 1;
	else
		win->unshut = all;
	win->proven = true;
	return 0;
}

/* ---- memory of the arena: consumers may keep its memory longer than the bridge exists ---- */

static struct gen_pool *nt_arena(const struct nt_link *link)
{
	/* Pairs with nt_win_arena(). */
	return smp_load_acquire(&link->win.in->arena);
}

void *nt_mem_get(struct nt_link *link, size_t len)
{
	struct genpool_data_align page = { .align = PAGE_SIZE };
	struct gen_pool *arena = nt_arena(link);
	unsigned long mem = 0;

	if (!arena)
		return ERR_PTR(-EAGAIN);
	if (len && !READ_ONCE(link->exposed))
		mem = len < PAGE_SIZE ? gen_pool_alloc(arena, len) :
		      gen_pool_alloc_algo(arena, len, gen_pool_first_fit_align, &page);
	if (!mem)
		return ERR_PTR(-ENOMEM);
	refcount_inc(&link->win.in->ref);
	return memset((void *)mem, 0, len);
}

void nt_mem_put(struct nt_inbound *in, void *mem, size_t len)
{
	gen_pool_free(in->arena, (unsigned long)mem, len);
	nt_inbound_put(in);
}

/*
 * Store in *@at where @piece begins in the inbound memory. Return: true if the peer reaches all of
 * it. Memory of a bvec is found only if the inbound memory is in the linear map.
 */
static bool nt_inside(const struct nt_window *win, const struct nt_piece *piece, u64 *at)
{
	uintptr_t begin = (uintptr_t)win->mem + win->arena;
	uintptr_t end = (uintptr_t)win->mem + READ_ONCE(win->reach);
	uintptr_t mem = (uintptr_t)piece->addr;

	*at = mem - (uintptr_t)win->mem;
	return mem >= begin && mem < end && piece->len <= end - mem;
}

int nt_window_places(struct nt_link *link, const struct iov_iter *iter, size_t len,
		     struct nt_place *place, unsigned int max)
{
	struct iov_iter it = *iter;
	struct nt_piece piece;
	bool flat = nt_link_flat_in_use(link);
	unsigned int n = 0;
	u64 at;

	if (!nt_arena(link) || len > it.count)
		return 0;
	for (; len; len -= piece.len) {
		nt_piece_take(&it, len, &piece);
		if (!nt_inside(&link->win, &piece, &at) &&
		    !(flat && nt_flat_at(&link->flat, &piece, &at)))
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
