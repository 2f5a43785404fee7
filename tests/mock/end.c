// SPDX-License-Identifier: GPL-2.0
/*
 * end.c - the device that clients see: one end of a bridge.
 */
#include <linux/dma-mapping.h>
#include <linux/iommu.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include "mock.h"

static int nm_port_number(struct ntb_dev *ntb)
{
	return nm_same_port ? 0 : nm_of(ntb)->port;
}

static int nm_peer_port_count(struct ntb_dev *ntb)
{
	return 1;
}

static int nm_peer_port_number(struct ntb_dev *ntb, int pidx)
{
	return pidx ? -EINVAL : !nm_same_port && !nm_of(ntb)->port;
}

static int nm_peer_port_idx(struct ntb_dev *ntb, int port)
{
	return port == nm_peer_port_number(ntb, 0) ? 0 : -EINVAL;
}

/* The state at the last link interrupt; a doorbell may have come before it. */
static u64 nm_link_is_up(struct ntb_dev *ntb, enum ntb_speed *speed, enum ntb_width *width)
{
	bool up = READ_ONCE(nm_of(ntb)->seen_up);

	if (speed)
		*speed = up ? NTB_SPEED_GEN3 : NTB_SPEED_NONE;
	if (width)
		*width = up ? NTB_WIDTH_16 : NTB_WIDTH_NONE;
	return up;
}

static int nm_op_link_enable(struct ntb_dev *ntb, enum ntb_speed speed, enum ntb_width width)
{
	nm_link_enable(nm_of(ntb), true);
	return 0;
}

static int nm_op_link_disable(struct ntb_dev *ntb)
{
	nm_link_enable(nm_of(ntb), false);
	return 0;
}

static int nm_windows_shown(struct ntb_dev *ntb)
{
	return nm_of(ntb)->bridge->index < nm_fewer ? nm_windows - 1 : nm_windows;
}

static int nm_mw_count(struct ntb_dev *ntb, int pidx)
{
	return pidx ? -EINVAL : nm_windows_shown(ntb);
}

static u64 nm_longest(const struct nm_end *end, int widx)
{
	u64 longest = READ_ONCE(end->longest_kib) * SZ_1K;

	return longest && !widx ? min(longest, nm_size(widx)) : nm_size(widx);
}

static u64 nm_align_of(int widx)
{
	return nm_align ?: nm_size(widx);
}

/* ntb_mw_get_align() checks that the link is up. */
static int nm_mw_get_align(struct ntb_dev *ntb, int pidx, int widx, resource_size_t *addr_align,
			   resource_size_t *size_align, resource_size_t *size_max)
{
	if (pidx || widx < 0 || widx >= nm_windows)
		return -EINVAL;
	if (addr_align)
		*addr_align = nm_align_of(widx);
	if (size_align)
		*size_align = 1;
	if (size_max)
		*size_max = nm_longest(nm_of(ntb), widx);
	return 0;
}

static int nm_mw_set_trans(struct ntb_dev *ntb, int pidx, int widx, dma_addr_t addr,
			   resource_size_t size)
{
	struct nm_end *end = nm_of(ntb);
	unsigned long flags;

	if (pidx || widx < 0 || widx >= nm_windows || addr & (nm_align_of(widx) - 1) ||
	    size > nm_longest(end, widx))
		return -EINVAL;
	if (READ_ONCE(end->stuck) || (nm_no_zero && !size && !nm_eio_close))
		return -EIO;
	write_lock_irqsave(&end->bridge->lock, flags);
	if (!nm_no_close || size > end->trans[widx].size ||
	    (nm_moves && size == end->trans[widx].size))
		end->trans[widx] = (struct nm_trans){ .addr = addr, .size = size };
	write_unlock_irqrestore(&end->bridge->lock, flags);
	nm_add(end, NM_REG_WRITES, 1);
	return nm_no_zero && !size ? -EIO : 0;
}

static int nm_mw_clear_trans(struct ntb_dev *ntb, int pidx, int widx)
{
	return nm_mw_set_trans(ntb, pidx, widx, 0, 0);
}

static int nm_peer_mw_count(struct ntb_dev *ntb)
{
	return nm_windows_shown(ntb);
}

static int nm_peer_mw_get_addr(struct ntb_dev *ntb, int widx, phys_addr_t *base,
			       resource_size_t *size)
{
	if (widx < 0 || widx >= nm_windows)
		return -EINVAL;
	if (base)
		*base = nm_window_addr(nm_of(ntb), widx);
	if (size)
		*size = nm_of(ntb)->port && !widx && nm_narrow ? nm_narrow : nm_size(widx);
	return 0;
}

static int nm_db_is_unsafe(struct ntb_dev *ntb)
{
	return nm_unsafe;
}

static u64 nm_db_valid_mask(struct ntb_dev *ntb)
{
	return NM_BELL_MASK;
}

static int nm_db_vector_count(struct ntb_dev *ntb)
{
	return nm_vectors;
}

static u64 nm_db_vector_mask(struct ntb_dev *ntb, int vector)
{
	if (vector < 0 || vector >= nm_vectors)
		return 0;
	return nm_vectors == 1 ? NM_BELL_MASK : BIT_ULL(vector);
}

static u64 nm_db_read(struct ntb_dev *ntb)
{
	nm_add(nm_of(ntb), NM_REG_READS, 1);
	return nm_bell_pending(nm_of(ntb));
}

static int nm_db_clear(struct ntb_dev *ntb, u64 bits)
{
	if (bits & ~NM_BELL_MASK)
		return -EINVAL;
	nm_add(nm_of(ntb), NM_REG_WRITES, 1);
	nm_bell_clear(nm_of(ntb), bits);
	return 0;
}

static int nm_db_set_mask(struct ntb_dev *ntb, u64 bits)
{
	if (bits & ~NM_BELL_MASK)
		return -EINVAL;
	nm_add(nm_of(ntb), NM_REG_WRITES, 1);
	nm_bell_mask(nm_of(ntb), bits, 0);
	return 0;
}

static int nm_db_clear_mask(struct ntb_dev *ntb, u64 bits)
{
	if (bits & ~NM_BELL_MASK)
		return -EINVAL;
	nm_add(nm_of(ntb), NM_REG_WRITES, 1);
	nm_bell_mask(nm_of(ntb), 0, bits);
	return 0;
}

static int nm_peer_db_addr(struct ntb_dev *ntb, phys_addr_t *addr, resource_size_t *size, u64 *data,
			   int bit)
{
	if (nm_dma_bells == 3)
		return -EOPNOTSUPP;
	if (bit < 0 || bit >= NM_BELLS)
		return -EINVAL;
	if (addr)
		*addr = nm_regs_addr(nm_of(ntb)) + NM_REG_BELL + bit * sizeof(u32);
	if (size)
		*size = sizeof(u32);
	if (data)
		*data = nm_dma_bells == 1 ? 1ULL << 32 : 1;
	return 0;
}

static int nm_peer_db_set(struct ntb_dev *ntb, u64 bits)
{
	int bit;

	if (bits & ~NM_BELL_MASK)
		return -EINVAL;
	if (nm_slow_bells) {
		might_sleep();
		bits &= -bits;
	}
	for (bit = 0; bits >> bit; bit++)
		if (bits & BIT_ULL(bit))
			nm_reg_write(nm_of(ntb), NM_REG_BELL + bit * sizeof(u32), 1);
	return 0;
}

static int nm_spad_count(struct ntb_dev *ntb)
{
	return NM_SPADS;
}

static u32 nm_spad_read(struct ntb_dev *ntb, int i)
{
	if (i < 0 || i >= NM_SPADS)
		return 0;
	nm_add(nm_of(ntb), NM_REG_READS, 1);
	if (READ_ONCE(nm_of(ntb)->held_pads) & BIT(i))
		return READ_ONCE(nm_of(ntb)->held[i]);
	return READ_ONCE(nm_of(ntb)->dead_pads) & BIT(i) ? ~0 : READ_ONCE(nm_of(ntb)->spad[i]);
}

static int nm_spad_write(struct ntb_dev *ntb, int i, u32 value)
{
	if (i < 0 || i >= NM_SPADS)
		return -EINVAL;
	nm_add(nm_of(ntb), NM_REG_WRITES, 1);
	WRITE_ONCE(nm_of(ntb)->spad[i], value);
	return 0;
}

static int nm_peer_spad_addr(struct ntb_dev *ntb, int pidx, int i, phys_addr_t *addr)
{
	if (pidx || i < 0 || i >= NM_SPADS)
		return -EINVAL;
	if (addr)
		*addr = nm_regs_addr(nm_of(ntb)) + NM_REG_SPAD + i * sizeof(u32);
	return 0;
}

static u32 nm_peer_spad_read(struct ntb_dev *ntb, int pidx, int i)
{
	if (pidx || i < 0 || i >= NM_SPADS)
		return 0;
	return nm_reg_read(nm_of(ntb), NM_REG_SPAD + i * sizeof(u32));
}

static int nm_peer_spad_write(struct ntb_dev *ntb, int pidx, int i, u32 value)
{
	if (pidx || i < 0 || i >= NM_SPADS)
		return -EINVAL;
	nm_reg_write(nm_of(ntb), NM_REG_SPAD + i * sizeof(u32), value);
	return 0;
}

/* Kernels before 7.2 do not ask: there the clients use the function on no bus. */
static struct device __maybe_unused *nm_get_dma_dev(struct ntb_dev *ntb)
{
	return &nm_of(ntb)->dma->dev;
}

static struct ntb_dev_ops nm_ops = {
	.port_number		= nm_port_number,
	.peer_port_count	= nm_peer_port_count,
	.peer_port_number	= nm_peer_port_number,
	.peer_port_idx		= nm_peer_port_idx,
	.link_is_up		= nm_link_is_up,
	.link_enable		= nm_op_link_enable,
	.link_disable		= nm_op_link_disable,
	KFI_NTB_OPS_DMA_DEV(nm_get_dma_dev)
	.mw_count		= nm_mw_count,
	.mw_get_align		= nm_mw_get_align,
	.mw_set_trans		= nm_mw_set_trans,
	.mw_clear_trans		= nm_mw_clear_trans,
	.peer_mw_count		= nm_peer_mw_count,
	.peer_mw_get_addr	= nm_peer_mw_get_addr,
	.db_is_unsafe		= nm_db_is_unsafe,
	.db_valid_mask		= nm_db_valid_mask,
	.db_vector_count	= nm_db_vector_count,
	.db_vector_mask		= nm_db_vector_mask,
	.db_read		= nm_db_read,
	.db_clear		= nm_db_clear,
	.db_set_mask		= nm_db_set_mask,
	.db_clear_mask		= nm_db_clear_mask,
	.peer_db_addr		= nm_peer_db_addr,
	.peer_db_set		= nm_peer_db_set,
	.spad_count		= nm_spad_count,
	.spad_read		= nm_spad_read,
	.spad_write		= nm_spad_write,
	.peer_spad_addr		= nm_peer_spad_addr,
	.peer_spad_read		= nm_peer_spad_read,
	.peer_spad_write	= nm_peer_spad_write,
};

void nm_end_init(struct nm_bridge *bridge, int port)
{
	struct nm_end *end = &bridge->end[port];

	end->bridge = bridge;
	end->port = port;
	if (nm_no_zero || nm_no_clear)
		nm_ops.mw_clear_trans = NULL;
	nm_bell_init(end);
	nm_post_init(end);
}

static void nm_pdev_release(struct device *dev)
{
	kfree(to_pci_dev(dev));
}

#define NM_ICE_LAKE	0x347e	/* PCI device, as ntb_hw_intel knows it */

static struct device_driver nm_pdev_driver;
nm_bus_type nm_bus = { .name = "kfi_ntb_mock" };

/*
 * Clients want a PCI function for names, allocations, and as a parent. This one is on a bus without
 * drivers, so the kernel uses it for nothing else. Its driver is a name.
 */
static struct pci_dev *nm_pdev_create(struct nm_end *end)
{
	struct pci_dev *pdev = kzalloc(sizeof(*pdev), GFP_KERNEL);
	int err;

	if (!pdev)
		return ERR_PTR(-ENOMEM);
	device_initialize(&pdev->dev);
	pdev->dev.bus = &nm_bus;
	pdev->dev.release = nm_pdev_release;
	pdev->dma_mask = DMA_BIT_MASK(64);
	pdev->dev.dma_mask = &pdev->dma_mask;
	pdev->dev.coherent_dma_mask = DMA_BIT_MASK(64);
	err = dev_set_name(&pdev->dev, "mock%d.%d", end->bridge->index, end->port);
	if (!err)
		err = device_add(&pdev->dev);
	if (err) {
		put_device(&pdev->dev);
		return ERR_PTR(err);
	}
	pdev->device = nm_eio_close ? NM_ICE_LAKE : 0;
	nm_pdev_driver.name = nm_driver_name;
	pdev->dev.driver = &nm_pdev_driver;
	return pdev;
}

static void nm_pdev_destroy(struct pci_dev *pdev)
{
	pdev->dev.driver = NULL;
	device_unregister(&pdev->dev);
}

/*
 * The device that does the bridge's writes. It is on a bus, so that an IOMMU can translate for it.
 */
static int nm_dma_create(struct nm_end *end)
{
	const struct platform_device_info info = {
		.parent = &end->ntb.pdev->dev,
		.name = "mock-dma",
		.id = end->bridge->index * 2 + end->port,
		.dma_mask = DMA_BIT_MASK(64),
	};
	struct platform_device *dma = platform_device_register_full(&info);

	if (IS_ERR(dma))
		return PTR_ERR(dma);
	end->dma = dma;
	end->iommu = iommu_get_domain_for_dev(&dma->dev);
	return 0;
}

static void nm_dma_destroy(struct nm_end *end)
{
	platform_device_unregister(end->dma);
	end->dma = NULL;
	end->iommu = NULL;
}

/* Reset the device to its state after a restart of the machine. */
static void nm_end_reset(struct nm_end *end)
{
	unsigned long flags;

	memset(&end->ntb, 0, sizeof(end->ntb));
	memset(end->spad, 0, sizeof(end->spad));
	write_lock_irqsave(&end->bridge->lock, flags);
	memset(end->trans, 0, sizeof(end->trans));
	write_unlock_irqrestore(&end->bridge->lock, flags);
}

/* What an open window shows belongs to its next user when the client has gone. */
static void nm_windows_shut(const struct nm_end *end)
{
	int i;

	for (i = 0; i < nm_windows; i++)
		WARN(end->trans[i].size && !nm_no_close && (!nm_no_zero || nm_eio_close), "window %d is open and has no client\n", i);
}

int nm_end_appear(struct nm_end *end)
{
	struct pci_dev *pdev = nm_pdev_create(end);
	int err;

	if (IS_ERR(pdev))
		return PTR_ERR(pdev);
	nm_end_reset(end);
	end->ntb.pdev = pdev;
	end->ntb.topo = end->port ? NTB_TOPO_B2B_DSD : NTB_TOPO_B2B_USD;
	end->ntb.ops = &nm_ops;
	err = nm_dma_create(end);
	if (err)
		goto no_dma;
	nm_link_set_present(end, true);
	err = ntb_register_device(&end->ntb);
	if (!err)
		return 0;
	nm_link_set_present(end, false);
	nm_dma_destroy(end);
no_dma:
	end->ntb.pdev = NULL;
	nm_pdev_destroy(pdev);
	return err;
}

void nm_end_vanish(struct nm_end *end)
{
	struct pci_dev *pdev = end->ntb.pdev;

	if (!pdev)
		return;
	ntb_unregister_device(&end->ntb);
	nm_windows_shut(end);
	nm_link_set_present(end, false);
	nm_post_reset(end);
	nm_bell_reset(end);
	nm_dma_destroy(end);
	end->ntb.pdev = NULL;
	nm_pdev_destroy(pdev);
}
