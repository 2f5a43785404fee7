/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kfabric: names that Lustre's kfilnd expects of a provider, and no more
 */
#ifndef KFI_CXI_EXT_H
#define KFI_CXI_EXT_H

#include <linux/build_bug.h>
#include <kfabric.h>

struct device;

/**
 * DOC: Calls beyond the common interface, for kfilnd
 *
 * kfilnd was written for one network card. These are the names of that card's
 * extensions that it uses; every provider that wants to carry kfilnd offers
 * them through kfi_open_ops().
 */

#define KFI_CXI_FAB_OPS_1	"cxi_fab_ops_v1"
#define KFI_CXI_DOM_OPS_1	"cxi_dom_ops_v1"

/**
 * struct kfi_cxi_fabric_ops - calls of KFI_CXI_FAB_OPS_1, on a fabric
 * @enable_dynamic_rsrc_alloc: let the domains opened from now on reserve the
 *	queues and contexts that their info asks for, instead of fixed numbers.
 *	May sleep. Answers 0 or a negative error.
 */
struct kfi_cxi_fabric_ops {
	int (*enable_dynamic_rsrc_alloc)(struct kfid *fid, bool enable);
};

/**
 * struct kfi_cxi_domain_ops - calls of KFI_CXI_DOM_OPS_1, on a domain
 * @get_device: the device to map KFI_SGL vectors for, as dma_device of
 *	kfi_domain_limits(); never NULL. Valid as long as the domain is open.
 *	Answers 0 or a negative error.
 */
struct kfi_cxi_domain_ops {
	int (*get_device)(struct kfid *fid, struct device **device);
};

/**
 * struct kcxi_addr - address in the format KFI_ADDR_CXI
 * @pid: process on the device, 0 to 4095
 * @nic: device; kfilnd makes it the address of its NID, so 0 is avoided.
 *	Devices of the card have 20 bits; 32 are enough for an IPv4 address.
 * @flags: the provider's
 */
struct kcxi_addr {
	uint64_t		pid:12;
	uint64_t		nic:32;
	uint64_t		flags:20;
};

static_assert(sizeof(struct kcxi_addr) == 8);

#endif /* KFI_CXI_EXT_H */
