/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* <host/nvme.h>; older kernels get the names of the newest one. */
#ifndef _KFI_COMPAT_HOST_NVME_H
#define _KFI_COMPAT_HOST_NVME_H

#include <linux/version.h>
#include_next <host/nvme.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 0, 0)
/* Before 7.0 the virt boundary of every queue is 4 KiB; there is no operation to set it. */
#define KFN_VIRT_BOUNDARY_OP(fn)
#define nvme_wait_freeze_timeout(ctrl)	nvme_wait_freeze_timeout(ctrl, NVME_IO_TIMEOUT)
#define NVME_CTRL_SGLS_KSDBDS		BIT(2)
#define NVME_CTRL_SGLS_SAOS		BIT(20)
typedef unsigned int kfn_node_t;	/* NUMA node argument of init_request in blk_mq_ops */

/* Before 7.0 sysfs does not show the number of reconnects. */
static inline void kfn_count_reconnects(struct nvme_ctrl *ctrl)
{
}
#else
#define KFN_VIRT_BOUNDARY_OP(fn)	.get_virt_boundary = fn,
typedef int kfn_node_t;

static inline void kfn_count_reconnects(struct nvme_ctrl *ctrl)
{
	atomic_long_add(ctrl->nr_reconnects, &ctrl->acc_reconnects);
}
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
#define nvme_quiesce_io_queues		nvme_stop_queues
#define nvme_unquiesce_io_queues	nvme_start_queues
#define nvme_quiesce_admin_queue	nvme_stop_admin_queue
#define nvme_unquiesce_admin_queue	nvme_start_admin_queue
#define nvme_start_request		blk_mq_start_request
#define nvme_init_ctrl_finish(ctrl, was_suspended)	\
	((void)(was_suspended), nvme_init_ctrl_finish(ctrl))
#define nvme_disable_ctrl(ctrl, shutdown)	\
	((shutdown) ? nvme_shutdown_ctrl(ctrl) : nvme_disable_ctrl(ctrl))

/* Before 6.12 nvme_init_ctrl() includes this. */
static inline int nvme_add_ctrl(struct nvme_ctrl *ctrl)
{
	return 0;
}

static inline const char *nvme_fabrics_opcode_str(int qid, const struct nvme_command *cmd)
{
	return qid ? nvme_get_opcode_str(cmd->common.opcode) :
		     nvme_get_admin_opcode_str(cmd->common.opcode);
}
#endif

#endif /* _KFI_COMPAT_HOST_NVME_H */
