// SPDX-License-Identifier: GPL-2.0
/*
 * hlayout.c - what nvme-kfi assumes of the host's private structures: those that it allocates,
 * embeds or passes on, and the members that it uses.
 */
#include "host.h"
#include "layout.h"

static const struct kfn_layout kfn_core[] = {
	KFN_SIZE(nvme_ctrl),
	KFN_OFFSET(nvme_ctrl, opts),
	KFN_OFFSET(nvme_ctrl, device),
	KFN_OFFSET(nvme_ctrl, admin_q),
	KFN_OFFSET(nvme_ctrl, tagset),
	KFN_OFFSET(nvme_ctrl, admin_tagset),
	KFN_OFFSET(nvme_ctrl, reset_work),
	KFN_OFFSET(nvme_ctrl, async_event_work),
	KFN_OFFSET(nvme_ctrl, queue_count),
	KFN_OFFSET(nvme_ctrl, numa_node),
	KFN_OFFSET(nvme_ctrl, max_hw_sectors),
	KFN_OFFSET(nvme_ctrl, max_segments),
	KFN_OFFSET(nvme_ctrl, max_integrity_segments),
	KFN_OFFSET(nvme_ctrl, sqsize),
	KFN_OFFSET(nvme_ctrl, kato),
	KFN_OFFSET(nvme_ctrl, cntlid),
	KFN_OFFSET(nvme_ctrl, sgls),
	KFN_OFFSET(nvme_ctrl, ioccsz),
	KFN_OFFSET(nvme_ctrl, icdoff),
	KFN_OFFSET(nvme_ctrl, maxcmd),
	KFN_OFFSET(nvme_ctrl, nr_reconnects),
	KFN_SIZE(nvme_request),
	KFN_OFFSET(nvme_request, cmd),
	KFN_OFFSET(nvme_request, result),
	KFN_OFFSET(nvme_request, genctr),
	KFN_OFFSET(nvme_request, status),
	KFN_OFFSET(nvme_request, ctrl),
	KFN_SIZE(nvme_ctrl_ops),
	KFN_OFFSET(nvme_ctrl_ops, reg_read32),
	KFN_OFFSET(nvme_ctrl_ops, free_ctrl),
	KFN_OFFSET(nvme_ctrl_ops, submit_async_event),
	KFN_OFFSET(nvme_ctrl_ops, delete_ctrl),
	KFN_OFFSET(nvme_ctrl_ops, stop_ctrl),
	KFN_OFFSET(nvme_ctrl_ops, get_address),
};

static const struct kfn_layout kfn_fabrics[] = {
	KFN_SIZE(nvmf_ctrl_options),
	KFN_OFFSET(nvmf_ctrl_options, mask),
	KFN_OFFSET(nvmf_ctrl_options, max_reconnects),
	KFN_OFFSET(nvmf_ctrl_options, traddr),
	KFN_OFFSET(nvmf_ctrl_options, trsvcid),
	KFN_OFFSET(nvmf_ctrl_options, host_traddr),
	KFN_OFFSET(nvmf_ctrl_options, host_iface),
	KFN_OFFSET(nvmf_ctrl_options, queue_size),
	KFN_OFFSET(nvmf_ctrl_options, nr_io_queues),
	KFN_OFFSET(nvmf_ctrl_options, reconnect_delay),
	KFN_OFFSET(nvmf_ctrl_options, duplicate_connect),
	KFN_OFFSET(nvmf_ctrl_options, kato),
	KFN_OFFSET(nvmf_ctrl_options, nr_write_queues),
	KFN_OFFSET(nvmf_ctrl_options, nr_poll_queues),
	KFN_OFFSET(nvmf_ctrl_options, hdr_digest),
	KFN_OFFSET(nvmf_ctrl_options, data_digest),
	KFN_OFFSET(nvmf_ctrl_options, tos),
	KFN_TLS_ROWS
	KFN_SIZE(nvmf_transport_ops),
	KFN_OFFSET(nvmf_transport_ops, name),
	KFN_OFFSET(nvmf_transport_ops, allowed_opts),
	KFN_OFFSET(nvmf_transport_ops, create_ctrl),
};

/* Return: 0, or -ENOEXEC with the reason in the log. */
int kfn_check_layouts(void)
{
	return kfn_layout_check("nvme_core", kfn_core, ARRAY_SIZE(kfn_core)) ?:
	       kfn_layout_check("nvme_fabrics", kfn_fabrics, ARRAY_SIZE(kfn_fabrics));
}
