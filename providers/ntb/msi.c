// SPDX-License-Identifier: GPL-2.0
/*
 * msi.c - signals that are interrupt messages: the peer writes one through a second window, and no
 * doorbell register is touched.
 *
 * All vectors of a bridge belong to its driver, and stay there: one of those that the driver uses
 * for our doorbell bits is lent to the peer. The driver's handler calls us with the number of the
 * vector, and reads no register to find the reason (ntb_hw_intel, ntb_hw_amd, ntb_hw_switchtec).
 * Each message makes an interrupt of its own, unless the interrupt of an earlier message was not
 * handled yet and covers it: nothing has to be cleared.
 *
 * The kernel chooses the address and the data of the message, and changes them with the CPU that is
 * interrupted. The peer learns them from the hello only. So the vector stays where it is
 * (IRQ_NO_BALANCING). If it is moved nevertheless, because its CPU goes offline, this life of the
 * link ends, and the next one begins with another hello.
 *
 * The peer can write to all that the window translates to. A bridge aligns the base of a window, up
 * to the size of its BAR, so the window begins below the message's address: rounded down to a few
 * MiB it contains the I/O APIC, the HPET and a TPM, rounded down to 4 GiB it contains RAM.
 * Therefore a window is opened only if all of it lies where a write is an interrupt message and
 * nothing else (NT_MSI_FIRST to NT_MSI_LAST).
 *
 * Within those addresses the peer chooses the vector and the CPU by the bytes that it writes. With
 * interrupt remapping the IOMMU lets the bridge's own interrupts through and no others. Without it
 * the peer can raise any interrupt, NMI and the messages between processors included, so the window
 * is opened only if the administrator has asked for it (signal=msi), and the kernel is tainted.
 */
#include <linux/io.h>
#include <linux/irq.h>
#include <linux/msi.h>
#include <linux/panic.h>
#include <linux/pci.h>
#include <linux/sizes.h>
#include "bridge.h"

/* The addresses that x86 processors and IOMMUs take for interrupt messages */
#define NT_MSI_FIRST	0xfee00000ULL
#define NT_MSI_LAST	0xfeefffffULL

static u64 nt_msg_addr(const struct msi_msg *msg)
{
	return (u64)msg->address_hi << 32 | msg->address_lo;
}

/* Return the interrupt of our first doorbell bit. Negative: there is none that can be lent */
static int nt_msi_irq(struct nt_link *link)
{
	int vec, count = ntb_db_vector_count(link->ntb);

	if (!link->ntb->pdev || !link->ntb->pdev->msix_enabled)
		return -ENODEV;
	for (vec = 0; vec < count; vec++)
		if (ntb_db_vector_mask(link->ntb, vec) & BIT_ULL(link->bells.first))
			return pci_irq_vector(link->ntb->pdev, vec);
	return -ENODEV;
}

/* Return the last window that shows no memory. Negative: there is none */
static int nt_msi_window(struct nt_link *link)
{
	int window = min(ntb_mw_count(link->ntb, NT_PEER), ntb_peer_mw_count(link->ntb)) - 1;

	while (window >= 0 && (window == link->win.index || window == link->flat.index))
		window--;
	return window;
}

/*
 * Let the peer write the message. Return: 0; -ERANGE: the window would show more than interrupt
 * messages; or the bridge's error.
 */
static int nt_msi_open_window(struct nt_link *link, struct nt_msi *msi, u64 addr)
{
	resource_size_t addr_align, size_align, size_max, size;
	int ret = ntb_mw_get_align(link->ntb, NT_PEER, msi->window, &addr_align, &size_align,
				   &size_max);
	u64 base;

	if (ret)
		return ret;
	msi->addr_align = addr_align;
	msi->size_align = size_align;
	base = round_down(addr, max_t(u64, addr_align, SZ_4K));
	msi->at = addr - base;
	size = round_up(msi->at + sizeof(u32), max_t(u64, size_align, SZ_4K));
	if (base < NT_MSI_FIRST || base > NT_MSI_LAST || size > NT_MSI_LAST + 1 - base)
		return -ERANGE;
	if (size > size_max)
		return -ENOSPC;
	ret = ntb_mw_set_trans(link->ntb, NT_PEER, msi->window, base, size);
	if (ret)
		return ret;
	msi->open = true;
	msi->parked = 0;
	return 0;
}

/*
 * Close the window. It is switched off if the bridge can do that: parked it would show memory that
 * it has nothing to do with. Return: 0; negative: it still shows interrupt messages.
 */
static int nt_msi_close_window(struct nt_link *link)
{
	const struct nt_window *win = &link->win;
	struct nt_msi *msi = &link->msi;
	size_t park = nt_win_park(win, msi->size_align);
	int ret = nt_mw_shut(link->ntb, msi->window);

	if (!IS_ALIGNED(win->dma, max_t(u64, msi->addr_align, 1)))
		park = 0;
	if (ret)
		ret = nt_mw_close(link->ntb, msi->window, win->dma, park);
	if (ret < 0)
		return ret;
	msi->open = false;
	msi->parked = ret;
	return 0;
}

/*
 * @asked: the administrator has asked for it; @isolated: interrupt remapping keeps the peer to the
 *	bridge's own interrupts. Return: 0, -EPERM.
 */
static int nt_msi_allow(struct ntb_dev *ntb, bool asked, bool isolated)
{
	if (isolated)
		return 0;
	if (!asked)
		return -EPERM;
	dev_warn_once(&ntb->dev,
		      "signal=msi without interrupt remapping: the peer can raise any interrupt of this machine\n");
	add_taint(TAINT_USER, LOCKDEP_STILL_OK);
	return 0;
}

int nt_msi_offer(struct nt_link *link, bool asked)
{
	struct nt_msi *msi = &link->msi;
	struct msi_msg msg = {};
	int ret;

	msi->window = nt_msi_window(link);
	ret = msi->window < 0 ? -ENODEV : nt_msi_irq(link);
	if (ret <= 0)
		return ret ?: -ENODEV;
	msi->irq = ret;
	ret = nt_msi_allow(link->ntb, asked, msi_device_has_isolated_msi(&link->ntb->pdev->dev));
	if (ret)
		return ret;
	irq_set_status_flags(msi->irq, IRQ_NO_BALANCING);
	get_cached_msi_msg(msi->irq, &msg);
	msi->addr = nt_msg_addr(&msg);
	msi->data = msg.data;
	ret = msi->addr ? nt_msi_open_window(link, msi, msi->addr) : -ENODEV;
	msi->offered = !ret;
	if (ret)
		irq_clear_status_flags(msi->irq, IRQ_NO_BALANCING);
	return ret;
}

void nt_msi_withdraw(struct nt_link *link)
{
	struct nt_msi *msi = &link->msi;

	if (msi->peer)
		iounmap(msi->peer);
	msi->peer = NULL;
	if (!msi->offered)
		return;
	msi->offered = false;
	/* A peer that can still write there could interrupt us without need. */
	if (nt_msi_close_window(link))
		dev_warn_ratelimited(&link->ntb->dev,
				     "the window of interrupt messages can't be closed\n");
	irq_clear_status_flags(msi->irq, IRQ_NO_BALANCING);
}

size_t nt_msi_shut(struct nt_link *link)
{
	struct nt_msi *msi = &link->msi;

	if ((msi->open || msi->parked) && !nt_mw_shut(link->ntb, msi->window)) {
		msi->open = false;
		msi->parked = 0;
	}
	return msi->parked;
}

bool nt_msi_moved(const struct nt_link *link)
{
	struct msi_msg msg = {};

	if (!link->msi.offered)
		return false;
	get_cached_msi_msg(link->msi.irq, &msg);
	return nt_msg_addr(&msg) != link->msi.addr || msg.data != link->msi.data;
}

/* The hello of the peer need not be trusted: what it names is memory of the peer. */
int nt_msi_use(struct nt_link *link, const struct ntw_greeting *g)
{
	struct nt_msi *msi = &link->msi;
	resource_size_t len;
	phys_addr_t base;

	if (!(g->signals & NTW_S_MSI) || g->msi_window >= ntb_peer_mw_count(link->ntb) ||
	    g->msi_window == link->win.index ||
	    ntb_peer_mw_get_addr(link->ntb, g->msi_window, &base, &len) || len < sizeof(u32) ||
	    g->msi_at > len - sizeof(u32))
		return -EOPNOTSUPP;
	msi->peer = ioremap(base + g->msi_at, sizeof(u32));
	if (!msi->peer)
		return -ENOMEM;
	msi->peer_data = g->msi_data;
	/*
	 * The engine writes the message behind the line, if there is an engine; else nt_msi_ring()
	 * does.
	 */
	nt_engine_bell(&link->ring.engine, base + g->msi_at, sizeof(u32), g->msi_data);
	return 0;
}

void nt_msi_ring(struct nt_link *link)
{
	iowrite32(link->msi.peer_data, link->msi.peer);
}
