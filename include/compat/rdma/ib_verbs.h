/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * ib_virt_dma_to_ptr() and _page() came with 6.4, ib_mark_name_assigned_by_user() after 6.8,
 * and the second argument of create_cq changed its type with 6.11.
 *
 * kfi_ib_cq_context() returns the context of the process for which create_cq was called with that
 * argument, or NULL; kfi_ib_cq_udata() what its library says to the driver.
 *
 * KFI_IB_DMAH_ARG: an argument of reg_user_mr that came with 6.18. KFI_IB_REPORTS_PORT: a driver
 * raises the events of its port itself; since 6.14 the RDMA core does so.
 */
#ifndef _KFI_COMPAT_RDMA_IB_VERBS_H
#define _KFI_COMPAT_RDMA_IB_VERBS_H

#include_next <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

#ifndef KFI_HAVE_IB_VIRT_DMA_TO_PTR
static inline void *ib_virt_dma_to_ptr(u64 dma_addr)
{
	return (void *)(uintptr_t)dma_addr;
}

static inline struct page *ib_virt_dma_to_page(u64 dma_addr)
{
	return virt_to_page(ib_virt_dma_to_ptr(dma_addr));
}
#endif

#ifndef KFI_HAVE_IB_NAME_BY_USER
#define ib_mark_name_assigned_by_user(dev)	do { } while (0)
#endif

#ifndef KFI_HAVE_IB_CQ_ATTRS
static inline struct ib_ucontext *kfi_ib_cq_context(struct ib_udata *udata)
{
	return udata ? container_of(udata, struct uverbs_attr_bundle, driver_udata)->context : NULL;
}

static inline struct ib_udata *kfi_ib_cq_udata(struct ib_udata *udata)
{
	return udata;
}

#define uverbs_attr_bundle	ib_udata
#else
static inline struct ib_ucontext *kfi_ib_cq_context(struct uverbs_attr_bundle *attrs)
{
	return attrs ? attrs->context : NULL;
}

static inline struct ib_udata *kfi_ib_cq_udata(struct uverbs_attr_bundle *attrs)
{
	return &attrs->driver_udata;
}
#endif

#ifndef KFI_HAVE_IB_DMAH
#define KFI_IB_DMAH_ARG
#define KFI_IB_DMAH_GIVEN	false
#else
#define KFI_IB_DMAH_ARG		struct ib_dmah *dmah,
#define KFI_IB_DMAH_GIVEN	(dmah)
#endif

#ifdef KFI_HAVE_IB_PORT_EVENTS
#define KFI_IB_REPORTS_PORT	false
#else
#define KFI_IB_REPORTS_PORT	true
#endif

#endif
