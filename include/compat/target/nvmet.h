/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* <target/nvmet.h>; older kernels get the names of the newest one. */
#ifndef _KFI_COMPAT_TARGET_NVMET_H
#define _KFI_COMPAT_TARGET_NVMET_H

#include_next <target/nvmet.h>

#ifndef KFI_HAVE_NVMET_CQ_REFS
/* Completion queues have no references, and a request names its completion queue. */
static inline void nvmet_cq_init(struct nvmet_cq *cq)
{
}

static inline void nvmet_cq_put(struct nvmet_cq *cq)
{
}

#define nvmet_sq_init(sq, cq)		((void)(cq), nvmet_sq_init(sq))
#define nvmet_req_init(req, sqp, ops)	\
	nvmet_req_init(req, &container_of(sqp, struct kfnt_queue, sq)->cq, sqp, ops)
#endif

#ifndef KFI_HAVE_NVME_STATUS_DNR
#define NVME_STATUS_DNR			0x4000	/* NVME_SC_DNR */
#endif

#ifndef KFI_HAVE_NVMET_PORT_QUEUE_SIZE
/* The transport alone determines the length of queues; ports have no setting for it. */
static inline int kfnt_port_queue_size(struct nvmet_port *nport, int preset)
{
	return preset;
}

static inline void kfnt_port_set_queue_size(struct nvmet_port *nport, int size)
{
}
#else
static inline int kfnt_port_queue_size(struct nvmet_port *nport, int preset)
{
	return nport->max_queue_size;
}

static inline void kfnt_port_set_queue_size(struct nvmet_port *nport, int size)
{
	nport->max_queue_size = size;
}
#endif

#endif /* _KFI_COMPAT_TARGET_NVMET_H */
