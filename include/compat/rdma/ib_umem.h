/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* ib_umem_get_va() is the name of ib_umem_get() since 7.2. */
#ifndef _KFI_COMPAT_RDMA_IB_UMEM_H
#define _KFI_COMPAT_RDMA_IB_UMEM_H

#include_next <rdma/ib_umem.h>

#ifndef KFI_HAVE_IB_UMEM_GET_VA
#define ib_umem_get_va	ib_umem_get
#endif

#endif
