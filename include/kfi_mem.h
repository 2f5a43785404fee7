/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kfabric: memory that the device of a domain reaches best
 */
#ifndef KFI_MEM_H
#define KFI_MEM_H

#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <kfabric.h>

/**
 * DOC: Memory of a domain
 *
 * Any kernel memory can be sent, received into and registered. But a device may
 * reach some memory better than other memory: for example, the window of a
 * non-transparent bridge is of limited size, and only memory in the window can
 * be written by the peer without a copy. kfi_mem_alloc() returns such memory,
 * or ordinary pages where there is no difference. libfabric has no counterpart.
 */

/* Flags of kfi_mem_alloc() */
#define KFI_MEM_DIRECT		(1ULL << 60)	/* only memory that is kfi_mem.direct */

#define KFI_MEM_MAX		(1ULL << 40)	/* bytes of one allocation */

/**
 * struct kfi_mem - memory that kfi_mem_alloc() has allocated
 * @addr: kernel virtual address of the first byte, page aligned
 * @len: bytes: the requested length, rounded up to whole pages
 * @numa_node: node of the memory, or NUMA_NO_NODE
 * @direct: the domain reaches no memory better. If it is false, a CPU copies
 *	the bytes that peers send to this memory once more.
 */
struct kfi_mem {
	void			*addr;
	size_t			len;
	int			numa_node;
	bool			direct;
	/* private: for kfi.ko; @priv is for the provider */
	struct kfid_domain	*domain;
	refcount_t		regions;
	void			*priv;
	struct rcu_head		rcu;
};

/**
 * kfi_mem_alloc() - allocate memory that the device of a domain reaches best
 * @domain: the domain. It can't be closed before the memory is freed.
 * @len: bytes, 1 to KFI_MEM_MAX
 * @flags: 0 to get other memory if there is no direct memory; KFI_MEM_DIRECT to
 *	fail in this case
 * @mem: where to store the memory, which is zeroed and near the device
 *
 * As elsewhere, local buffers need no registration. While any segment of a
 * region lies in the memory, it can't be freed; each segment of a region has to
 * lie in one allocation. The memory can be used until it is freed, also when
 * the device has been removed.
 *
 * Context: Process context, may sleep.
 * Return: 0; -EINVAL if @len is 0 or too large, -KFI_EBADFLAGS, -ENODEV if the
 * device or the namespace of the domain has gone, -ENOMEM. With KFI_MEM_DIRECT
 * -EAGAIN if there is no direct memory before the link has been up once.
 */
int kfi_mem_alloc(struct kfid_domain *domain, size_t len, uint64_t flags,
		  struct kfi_mem **mem);

/**
 * kfi_mem_free() - free memory of kfi_mem_alloc()
 * @mem: the memory; no posted operation uses it
 *
 * Context: Process context, may sleep.
 * Return: 0; -EBUSY if a region or a per-I/O region uses it. Then the memory
 * stays allocated.
 */
int kfi_mem_free(struct kfi_mem *mem);

#endif /* KFI_MEM_H */
