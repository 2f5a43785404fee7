/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kfabric: memory that a domain reaches best
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
 * reach some of it better than all else: the window of a non-transparent bridge
 * is bounded, and what lies in it a peer writes without a copy. Who asks the
 * domain for memory gets such, and plain pages where there is no difference.
 */

/* Flags of kfi_mem_alloc() */
#define KFI_MEM_DIRECT		(1ULL << 60)	/* the best there is, or none */

#define KFI_MEM_MAX		(1ULL << 40)	/* bytes of one allocation */

/**
 * struct kfi_mem - memory that a domain has given
 * @addr: the first byte, at the beginning of a page; kernel memory as any other
 * @len: bytes: as many as were asked for, up to whole pages
 * @numa_node: where it is, or NUMA_NO_NODE
 * @direct: no memory of this domain is reached better. Where it is not set,
 *	peers' bytes are copied by a CPU once more.
 */
struct kfi_mem {
	void			*addr;
	size_t			len;
	int			numa_node;
	bool			direct;
	/* private: kfabric's, @priv the provider's */
	struct kfid_domain	*domain;
	refcount_t		regions;
	void			*priv;
	struct rcu_head		rcu;
};

/**
 * kfi_mem_alloc() - allocate memory that the domain reaches best
 * @domain: the domain, which stays open until the memory is given back
 * @len: bytes, 1 to KFI_MEM_MAX
 * @flags: 0: if there is no direct memory, other memory does; KFI_MEM_DIRECT:
 *	it does not
 * @mem: where to put the memory, zeroed
 *
 * It is near the device. Local buffers in it need no registration, as
 * elsewhere; regions of it (any call that registers, any kind of vector, each
 * segment within one allocation) keep it from being freed. When the device
 * goes it stays what it is, memory, until it is given back.
 *
 * Context: Process context, may sleep.
 * Return: 0; -EINVAL, -KFI_EBADFLAGS, -ENODEV, -ENOMEM; with KFI_MEM_DIRECT
 * -EAGAIN: there is none before the link has been up for the first time.
 */
int kfi_mem_alloc(struct kfid_domain *domain, size_t len, uint64_t flags,
		  struct kfi_mem **mem);

/**
 * kfi_mem_free() - give memory of kfi_mem_alloc() back
 * @mem: the memory; no posted operation names it any more
 *
 * Context: Process context, may sleep.
 * Return: 0; -EBUSY: a region of it is registered, or a handle for single I/Os
 * has it attached: it stays the caller's.
 */
int kfi_mem_free(struct kfi_mem *mem);

#endif /* KFI_MEM_H */
