/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kfabric: extensions that Lustre's kfilnd requires of a provider
 */
#ifndef KFI_CXI_EXT_H
#define KFI_CXI_EXT_H

#include <linux/build_bug.h>
#include <kfabric.h>

struct device;

/**
 * DOC: Extensions for kfilnd
 *
 * kfilnd was written for one network card. This header has those extensions of
 * the card's provider that kfilnd uses. Every provider supports them, through
 * kfi_open_ops().
 */

#define KFI_CXI_FAB_OPS_1	"cxi_fab_ops_v1"
#define KFI_CXI_DOM_OPS_1	"cxi_dom_ops_v1"

/**
 * struct kfi_cxi_fabric_ops - KFI_CXI_FAB_OPS_1, for a fabric
 * @enable_dynamic_rsrc_alloc: let domains that are opened later reserve the
 *	queues and contexts that their info requests, instead of fixed numbers.
 *	kfabric never reserves fixed numbers, so the call has no effect. Returns
 *	0, or -EINVAL if @fid is no fabric.
 */
struct kfi_cxi_fabric_ops {
	int (*enable_dynamic_rsrc_alloc)(struct kfid *fid, bool enable);
};

/**
 * struct kfi_cxi_domain_ops - KFI_CXI_DOM_OPS_1, for a domain
 * @get_device: return the device to map KFI_SGL vectors for, as dma_device of
 *	kfi_domain_limits(); never NULL, valid until the domain is closed.
 *	Returns 0; -EINVAL if @fid is no domain; -ENODEV if the device or the
 *	namespace has gone. Any context.
 */
struct kfi_cxi_domain_ops {
	int (*get_device)(struct kfid *fid, struct device **device);
};

/**
 * struct kcxi_addr - address in the format KFI_ADDR_CXI
 * @pid: number of a process on the device, 0 to 4095
 * @nic: number of the device. kfilnd uses it as the address of its NID, so 0 is
 *	not used. The card has 20 bits; 32 are enough for an IPv4 address.
 * @flags: for the provider; 0
 */
struct kcxi_addr {
	uint64_t		pid:12;
	uint64_t		nic:32;
	uint64_t		flags:20;
};

static_assert(sizeof(struct kcxi_addr) == 8);

#endif /* KFI_CXI_EXT_H */
