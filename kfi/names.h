/* SPDX-License-Identifier: GPL-2.0 */
/*
 * names.h - tables with the names of flags and enumerators
 */
#ifndef _KFI_NAMES_H
#define _KFI_NAMES_H

#include <linux/types.h>

struct kfi_name {
	u64		value;
	const char	*text;
};

/**
 * struct kfi_names - names of one set of flags or enumerators
 * @tab: table of names
 * @count: number of entries
 */
struct kfi_names {
	const struct kfi_name	*tab;
	size_t			count;
};

extern const struct kfi_names kfi_names_ep_type;
extern const struct kfi_names kfi_names_threading;
extern const struct kfi_names kfi_names_progress;
extern const struct kfi_names kfi_names_resource_mgmt;
extern const struct kfi_names kfi_names_av_type;
extern const struct kfi_names kfi_names_datatype;
extern const struct kfi_names kfi_names_atomic_op;
extern const struct kfi_names kfi_names_addr_format;
extern const struct kfi_names kfi_names_protocol;
extern const struct kfi_names kfi_names_class;
extern const struct kfi_names kfi_names_tclass;
extern const struct kfi_names kfi_names_eq_event;
extern const struct kfi_names kfi_names_cq_format;
extern const struct kfi_names kfi_names_wait_obj;
extern const struct kfi_names kfi_names_cq_wait_cond;
extern const struct kfi_names kfi_names_cntr_events;
extern const struct kfi_names kfi_names_iov_type;
extern const struct kfi_names kfi_names_msg_order;
extern const struct kfi_names kfi_names_mr_mode;
extern const struct kfi_names kfi_names_mode;
extern const struct kfi_names kfi_names_caps;
extern const struct kfi_names kfi_names_op_flags;
extern const struct kfi_names kfi_names_cq_flags;
extern const struct kfi_names kfi_names_access;

#endif /* _KFI_NAMES_H */
