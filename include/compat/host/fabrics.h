/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* <host/fabrics.h>; older kernels get the names of the newest one. */
#ifndef _KFI_COMPAT_HOST_FABRICS_H
#define _KFI_COMPAT_HOST_FABRICS_H

#include <linux/blk-mq.h>
#include_next <host/fabrics.h>

#ifdef KFI_HAVE_NVMF_TLS
#define KFN_TLS_ROWS			KFN_OFFSET(nvmf_ctrl_options, tls),	\
					KFN_OFFSET(nvmf_ctrl_options, keyring),

/* nvme-cli passes the keyring of --tls to each transport, but tls itself only to tcp. */
static inline bool kfn_demands_tls(const struct nvmf_ctrl_options *opts)
{
	return opts->tls || opts->keyring;
}
#else
#define NVMF_OPT_TLS			0
#define NVMF_OPT_KEYRING		0
#define KFN_TLS_ROWS

static inline bool kfn_demands_tls(const struct nvmf_ctrl_options *opts)
{
	return false;
}
#endif

#ifndef KFI_HAVE_NVMF_RECONNECT_STATUS
#define nvmf_should_reconnect(ctrl, status)	((void)(status), nvmf_should_reconnect(ctrl))
#endif

#ifndef KFI_HAVE_NVMF_MAP_QUEUES
static inline unsigned int nvmf_nr_io_queues(struct nvmf_ctrl_options *opts)
{
	unsigned int cpus = num_online_cpus();

	return min(opts->nr_io_queues, cpus) + min(opts->nr_write_queues, cpus) +
	       min(opts->nr_poll_queues, cpus);
}

/*
 * Distribute the queues that the controller has granted. If writes are to have queues of their own,
 * reads get theirs first.
 */
static inline void nvmf_set_io_queues(struct nvmf_ctrl_options *opts, u32 left,
				      u32 count[HCTX_MAX_TYPES])
{
	bool split = opts->nr_write_queues && opts->nr_io_queues < left;

	if (split) {
		count[HCTX_TYPE_READ] = opts->nr_io_queues;
		left -= opts->nr_io_queues;
	}
	count[HCTX_TYPE_DEFAULT] = min(split ? opts->nr_write_queues : opts->nr_io_queues, left);
	left -= count[HCTX_TYPE_DEFAULT];
	count[HCTX_TYPE_POLL] = min(opts->nr_poll_queues, left);
}

static inline void kfn_map_type(struct blk_mq_tag_set *set, int type, u32 first, u32 count)
{
	set->map[type].nr_queues = count;
	set->map[type].queue_offset = first;
	if (count)
		blk_mq_map_queues(&set->map[type]);
}

static inline void nvmf_map_queues(struct blk_mq_tag_set *set, struct nvme_ctrl *ctrl,
				   u32 count[HCTX_MAX_TYPES])
{
	u32 own = count[HCTX_TYPE_READ];

	kfn_map_type(set, HCTX_TYPE_DEFAULT, 0, count[HCTX_TYPE_DEFAULT]);
	kfn_map_type(set, HCTX_TYPE_READ, own ? count[HCTX_TYPE_DEFAULT] : 0,
		     own ?: count[HCTX_TYPE_DEFAULT]);
	if (set->nr_maps > HCTX_TYPE_POLL)
		kfn_map_type(set, HCTX_TYPE_POLL, count[HCTX_TYPE_DEFAULT] + own,
			     count[HCTX_TYPE_POLL]);
}
#endif

#endif /* _KFI_COMPAT_HOST_FABRICS_H */
