/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* <host/nvme.h>; older kernels get the names of the newest one. */
#ifndef _KFI_COMPAT_HOST_NVME_H
#define _KFI_COMPAT_HOST_NVME_H

#include_next <host/nvme.h>

/* Without the operation the core resets the subsystem by reg_write32. */
#ifdef KFI_HAVE_NVME_SUBSYSTEM_RESET
#define KFN_SUBSYSTEM_RESET_OP(fn)	.subsystem_reset = fn,
#else
#define KFN_SUBSYSTEM_RESET_OP(fn)
#endif

/* Without the operation the virt boundary of every queue is 4 KiB. */
#ifdef KFI_HAVE_NVME_VIRT_BOUNDARY
#define KFN_VIRT_BOUNDARY_OP(fn)	.get_virt_boundary = fn,
#else
#define KFN_VIRT_BOUNDARY_OP(fn)
#endif

#ifdef KFI_HAVE_NVME_FREEZE_TIMEOUT
#define nvme_wait_freeze_timeout(ctrl)	nvme_wait_freeze_timeout(ctrl, NVME_IO_TIMEOUT)
#endif

#ifndef KFI_HAVE_NVME_SGLS_KSDBDS
#define NVME_CTRL_SGLS_KSDBDS		BIT(2)
#define NVME_CTRL_SGLS_SAOS		BIT(20)
#endif

/* NUMA node, argument of init_request in blk_mq_ops */
#ifdef KFI_HAVE_BLK_NODE_INT
typedef int kfn_node_t;
#else
typedef unsigned int kfn_node_t;
#endif

/* Shown in sysfs by kernels that have the member */
static inline void kfn_count_reconnects(struct nvme_ctrl *ctrl)
{
#ifdef KFI_HAVE_NVME_ACC_RECONNECTS
	atomic_long_add(ctrl->nr_reconnects, &ctrl->acc_reconnects);
#endif
}

/* These names came together. */
#ifndef KFI_HAVE_NVME_QUIESCE
#define nvme_quiesce_io_queues		nvme_stop_queues
#define nvme_unquiesce_io_queues	nvme_start_queues
#define nvme_quiesce_admin_queue	nvme_stop_admin_queue
#define nvme_unquiesce_admin_queue	nvme_start_admin_queue
#define nvme_start_request		blk_mq_start_request
#define nvme_init_ctrl_finish(ctrl, was_suspended)	\
	((void)(was_suspended), nvme_init_ctrl_finish(ctrl))
#define nvme_disable_ctrl(ctrl, shutdown)	\
	((shutdown) ? nvme_shutdown_ctrl(ctrl) : nvme_disable_ctrl(ctrl))
#endif

#ifndef KFI_HAVE_NVME_ADD_CTRL
/* nvme_init_ctrl() includes this. */
static inline int nvme_add_ctrl(struct nvme_ctrl *ctrl)
{
	return 0;
}
#endif

#ifndef KFI_HAVE_NVME_FABRICS_OPCODE_STR
static inline const char *nvme_fabrics_opcode_str(int qid, const struct nvme_command *cmd)
{
	return qid ? nvme_get_opcode_str(cmd->common.opcode) :
		     nvme_get_admin_opcode_str(cmd->common.opcode);
}
#endif

#endif /* _KFI_COMPAT_HOST_NVME_H */
