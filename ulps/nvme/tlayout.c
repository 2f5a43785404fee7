// SPDX-License-Identifier: GPL-2.0
/*
 * tlayout.c - what nvmet-kfi assumes of the target's private structures: those that it embeds or
 * passes on, and the members that it uses.
 */
#include "layout.h"
#include "target.h"

static const struct kfn_layout kfnt_core[] = {
	KFN_SIZE(nvmet_req),
	KFN_OFFSET(nvmet_req, cmd),
	KFN_OFFSET(nvmet_req, cqe),
	KFN_OFFSET(nvmet_req, sg),
	KFN_OFFSET(nvmet_req, sg_cnt),
	KFN_OFFSET(nvmet_req, transfer_len),
	KFN_OFFSET(nvmet_req, port),
	KFN_OFFSET(nvmet_req, ns),
	KFN_OFFSET(nvmet_req, execute),
	KFN_OFFSET(nvmet_req, error_loc),
	KFN_OFFSET(nvmet_req, p2p_dev),
	KFN_OFFSET(nvmet_req, p2p_client),
	KFN_SIZE(nvmet_sq),
	KFN_OFFSET(nvmet_sq, qid),
	KFN_OFFSET(nvmet_sq, size),
	KFN_OFFSET(nvmet_sq, ctrl),
	KFN_SIZE(nvmet_cq),
	KFN_OFFSET(nvmet_ns, bdev),
	KFN_OFFSET(nvmet_ns, use_p2pmem),
	KFN_SIZE(nvmet_ctrl),
	KFN_OFFSET(nvmet_ctrl, port),
	KFN_SIZE(nvmet_port),
	KFN_OFFSET(nvmet_port, disc_addr),
	KFN_OFFSET(nvmet_port, group),
	KFN_OFFSET(nvmet_port, priv),
	KFN_OFFSET(nvmet_port, inline_data_size),
	KFN_SIZE(nvmet_fabrics_ops),
	KFN_OFFSET(nvmet_fabrics_ops, type),
	KFN_OFFSET(nvmet_fabrics_ops, msdbd),
	KFN_OFFSET(nvmet_fabrics_ops, queue_response),
	KFN_OFFSET(nvmet_fabrics_ops, add_port),
	KFN_OFFSET(nvmet_fabrics_ops, remove_port),
	KFN_OFFSET(nvmet_fabrics_ops, delete_ctrl),
	KFN_OFFSET(nvmet_fabrics_ops, install_queue),
	KFN_OFFSET(nvmet_fabrics_ops, disc_traddr),
	KFN_OFFSET(nvmet_fabrics_ops, get_mdts),
	KFN_OFFSET(nvmet_fabrics_ops, get_max_queue_size),
};

/* Return: 0, or -ENOEXEC with the reason in the log. */
int kfnt_check_layouts(void)
{
	return kfn_layout_check("nvmet", kfnt_core, ARRAY_SIZE(kfnt_core));
}
