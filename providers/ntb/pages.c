// SPDX-License-Identifier: GPL-2.0
/*
 * pages.c - the peer's memory as pages of this machine, for devices other than the DMA engine: a
 * disk writes what it has read into these pages, and the data goes through the window to the peer.
 * The CPU never writes to such a page.
 *
 * Memory of the peer's flat window has struct pages if that window has some (paged.c). Memory of
 * the window with the rings has struct pages only if its addresses have them (win.c), which only
 * tests/mock provides. A device that writes to such pages can't be stopped. A life may end while
 * devices have such places, because the peer closes its windows first. But no other life begins
 * here before all places were released (life.c): late writes would land in memory that the peer
 * uses for something else in the next life.
 */
#include <linux/bvec.h>
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/pci.h>
#include "bridge.h"

struct device *nt_pages_device(const struct nt_link *link)
{
	return link->win.pages || link->paged.mem ? &link->ntb->pdev->dev : NULL;
}

struct device *nt_p2p_device(const struct nt_link *link)
{
	return IS_ENABLED(CONFIG_PCI_P2PDMA) ? link->ring[0].engine.dev : NULL;
}

bool nt_pages_any(const struct nt_link *link)
{
	return link->win.pages || (link->paged.mem && link->paged.flat);
}

/* Return the address of the first byte of a place, if it has pages; 0: it has none. */
static phys_addr_t nt_pages_at(const struct nt_link *link, const struct nt_place *place)
{
	const struct nt_paged *paged = &link->paged;
	u64 at = place->at & ~NTW_FLAT;

	if (!(place->at & NTW_FLAT))
		return link->win.pages ? link->win.peer_base + at : 0;
	return paged->mem && paged->flat && at + place->len <= paged->len ? paged->base + at : 0;
}

int nt_pages(struct nt_link *link, const struct nt_place *place, unsigned int n,
	     struct bio_vec *bv)
{
	phys_addr_t at;
	int ret;

	/* The bounds of places are those of the link, the same in all queues. */
	ret = nt_ring_reaches(&link->ring[0], place, n);
	if (ret)
		return ret;
	for (; n; n--, place++, bv++) {
		at = nt_pages_at(link, place);
		if (!at)
			return -EOPNOTSUPP;
		bvec_set_page(bv, pfn_to_page(PHYS_PFN(at)), place->len, offset_in_page(at));
	}
	return 0;
}

static u8 nt_pages_read(const struct nt_link *link, const struct bio_vec *bv)
{
	phys_addr_t at = page_to_phys(bv->bv_page) + bv->bv_offset + bv->bv_len - 1;
	const struct nt_paged *paged = &link->paged;

	if (paged->mem && at >= paged->base && at - paged->base < paged->len)
		return readb((__force void __iomem *)paged->mem + (at - paged->base));
	return readb(link->win.peer + (at - link->win.peer_base));
}

/*
 * A read through the window is ordered behind what devices have written there before, anywhere in
 * the window: on the PCI bus, a read pushes the posted writes before it. If the link is down, the
 * read returns all ones. The peer's ready word is never all ones while the link is up, unless the
 * peer is hostile, and then this life ends.
 *
 * Bytes of a life that has ended need no fence, because the peer closes its window before it uses
 * that memory again. Also, a read through a link that is down may take long, and the host may
 * report it as an error.
 */
int nt_pages_fence(struct nt_link *link, unsigned int life, const struct bio_vec *bv, size_t n)
{
	const struct nt_window *win = &link->win;
	bool ones = false;

	if (life != nt_link_life(link))
		return -ENOTCONN;
	/*
	 * Without the barrier the CPU may read write-combining memory before it has seen the
	 * completion of the device. After the read, the checks of its value order it before what
	 * is posted later.
	 */
	mb();
	if (n)
		ones = nt_pages_read(link, bv) == 0xff;
	if (ones && readl(win->peer + offsetof(struct ntw_ctl, ready)) == ~0U)
		return -EIO;
	return life == nt_link_life(link) ? 0 : -ENOTCONN;
}

void nt_pages_pin(struct nt_link *link)
{
	atomic_inc(&link->pins);
}

void nt_pages_unpin(struct nt_link *link)
{
	if (atomic_dec_and_test(&link->pins))
		nt_link_queue(link);	/* the next life may be waiting for this */
}

unsigned int nt_pages_pinned(const struct nt_link *link)
{
	return atomic_read(&link->pins);
}
