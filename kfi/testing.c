// SPDX-License-Identifier: GPL-2.0
/*
 * testing.c - exports internal functions for the unit tests; part of kfi.ko only if it is built
 * with KFI_TESTS=y
 */
#include <linux/export.h>
#include <kfi_payer.h>
#include "attr.h"
#include "core.h"
#include "cq.h"
#include "ep.h"
#include "mr.h"
#include "proof.h"
#include "registry.h"
#include "proto/wire.h"

EXPORT_SYMBOL_GPL(kfi_payer_open_as);
EXPORT_SYMBOL_GPL(kfi_payer_callers);
EXPORT_SYMBOL_GPL(kfi_auth_proof);
EXPORT_SYMBOL_GPL(kfi_obj_init);
EXPORT_SYMBOL_GPL(kfi_pool_init);
EXPORT_SYMBOL_GPL(kfi_pool_exit);
EXPORT_SYMBOL_GPL(kfi_op_abort);
EXPORT_SYMBOL_GPL(kfi_op_finish);
EXPORT_SYMBOL_GPL(kfi_cq_space_wq);
EXPORT_SYMBOL_GPL(kfi_cq_fill);
EXPORT_SYMBOL_GPL(kfi_cq_sleeps);
EXPORT_SYMBOL_GPL(kfi_eq_obj);
EXPORT_SYMBOL_GPL(kfi_eq_event);
EXPORT_SYMBOL_GPL(kfi_eq_error);
EXPORT_SYMBOL_GPL(kfi_eq_purge);
EXPORT_SYMBOL_GPL(kfi_cntr_count);
EXPORT_SYMBOL_GPL(kfi_ep_transition);
EXPORT_SYMBOL_GPL(kfi_ep_move);
EXPORT_SYMBOL_GPL(kfi_ep_kill);
EXPORT_SYMBOL_GPL(kfi_pep_kill);
EXPORT_SYMBOL_GPL(kfi_match_init);
EXPORT_SYMBOL_GPL(kfi_match_exit);
EXPORT_SYMBOL_GPL(kfi_match_post);
EXPORT_SYMBOL_GPL(kfi_match_more);
EXPORT_SYMBOL_GPL(kfi_match_peek);
EXPORT_SYMBOL_GPL(kfi_match_cancel);
EXPORT_SYMBOL_GPL(kfi_recv_end);
EXPORT_SYMBOL_GPL(kfi_match_close);
EXPORT_SYMBOL_GPL(kfi_match_reopen);
EXPORT_SYMBOL_GPL(kfi_av_obj);
EXPORT_SYMBOL_GPL(kfi_av_join);
EXPORT_SYMBOL_GPL(kfi_av_leave);
EXPORT_SYMBOL_GPL(kfi_mr_table_init);
EXPORT_SYMBOL_GPL(kfi_mr_table_exit);
EXPORT_SYMBOL_GPL(kfi_mr_recall_ep);
EXPORT_SYMBOL_GPL(kfi_attr_match);
EXPORT_SYMBOL_GPL(kfi_attr_answer);
EXPORT_SYMBOL_GPL(kfi_caps_expand);
EXPORT_SYMBOL_GPL(kfi_missing_op);
EXPORT_SYMBOL_GPL(kfi_provider_name_ok);
EXPORT_SYMBOL_GPL(kfi_provider_find);
EXPORT_SYMBOL_GPL(kfi_provider_put);
EXPORT_SYMBOL_GPL(kfi_walk_eps);
EXPORT_SYMBOL_GPL(kfi_fabric_kill);
EXPORT_SYMBOL_GPL(kfi_idmap_add);
EXPORT_SYMBOL_GPL(kfi_idmap_del);
EXPORT_SYMBOL_GPL(kfi_idmap_next);
EXPORT_SYMBOL_GPL(kfw_decode);
