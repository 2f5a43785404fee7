/* SPDX-License-Identifier: GPL-2.0 */
/* kfi.h - kfabric's side of the comparison, by the consumer interface only */
#ifndef _KFI_BENCH_KFI_H
#define _KFI_BENCH_KFI_H

#include <linux/completion.h>
#include <kfabric.h>
#include <kfi_cm.h>
#include <kfi_endpoint.h>
#include <kfi_eq.h>
#include <kfi_rma.h>
#include <kfi_tagged.h>
#include "bench.h"

#define KB_ADDR		64
#define KB_WAIT_MS	10000

/**
 * enum kb_style - how completions are read
 */
enum kb_style {
	KB_BLOCK,	/* kfi_cq_sread() in a thread */
	KB_HANDLER,	/* handler of the queue in softirq, kfi_cq_read() */
	KB_DONE,	/* done() of each operation in softirq */
	/* kfi_cq_read() by the thread that posts, which polls the device if possible */
	KB_POLL,
};

/**
 * struct kb_kind - requirements of a variant, in its arg
 * @size: size of an endpoint's queues, 0: the default
 * @caps: besides messages and RMA
 * @protocol: 0: any
 */
struct kb_kind {
	const char		*prov;
	enum kfi_ep_type	type;
	enum kb_style		style;
	u32			size;
	u64			caps;
	u64			flags;
	u32			protocol;
};

/**
 * struct kb_node - one side: fabric, domain, queue, address vector
 * @info: info of all its objects
 * @cntr: if not NULL, counts writes in both directions for endpoints that are opened next
 */
struct kb_node {
	struct kfi_info		*info;
	struct kfid_fabric	*fabric;
	struct kfid_domain	*domain;
	struct kfid_eq		*eq;
	struct kfid_cq		*cq;
	struct kfid_av		*av;
	struct kfid_cntr	*cntr;
};

#define KB_BARE	.protocol = KFI_PROTO_RDMA_CM_IB_RC

int kb_node_open(struct kb_node *node, struct bench_env *env, int side, const struct kb_kind *kind,
		 enum kfi_cq_format format, kfi_comp_handler handler, void *context);
void kb_node_close(struct kb_node *node);
int kb_ep_open(struct kb_node *node, struct kfi_info *info, struct kfid_ep **ep);
int kb_know(struct kb_node *node, struct kfid_ep *peer, kfi_addr_t *addr);
int kb_join(struct kb_node node[2], const struct kb_kind *kind, struct kfid_ep *ep[2],
	    kfi_addr_t addr[2]);
int kb_cq_error(struct kfid_cq *cq);

/* rma.c: writes of a variant without a thread, in the background */
int kb_rma_begin(void *priv);
u32 kb_rma_ended(void *priv);		/* operations since then */
int kb_rma_stop(void *priv);		/* may sleep */

static inline void kb_close(struct kfid *fid)
{
	WARN_ON_ONCE(kfi_close(fid));
}

extern const struct bench_variant kb_pingpong_rdm_block;
extern const struct bench_variant kb_pingpong_rdm_handler;
extern const struct bench_variant kb_pingpong_rdm_done;
extern const struct bench_variant kb_pingpong_msg_block;
extern const struct bench_variant kb_pingpong_msg_handler;
extern const struct bench_variant kb_pingpong_tag_block;
extern const struct bench_variant kb_pingpong_loop_done;
extern const struct bench_variant kb_write_copy;
extern const struct bench_variant kb_write_copy_msg;
extern const struct bench_variant kb_write_splice;
extern const struct bench_variant kb_read;
extern const struct bench_variant kb_messages;
extern const struct bench_variant kb_messages_multi;
extern const struct bench_variant kb_messages_loop;
extern const struct bench_variant kb_match_10;
extern const struct bench_variant kb_match_10000;
extern const struct bench_variant kb_av_16;
extern const struct bench_variant kb_av_1024;
extern const struct bench_variant kb_av_65536;
extern const struct bench_variant kb_table_16;
extern const struct bench_variant kb_table_1024;
extern const struct bench_variant kb_table_65536;
extern const struct bench_variant kb_readers_1;
extern const struct bench_variant kb_readers_2;
extern const struct bench_variant kb_atomics;
extern const struct bench_variant kb_counters;
extern const struct bench_variant kb_many_1;
extern const struct bench_variant kb_many_16;
extern const struct bench_variant kb_many_64;
extern const struct bench_variant kb_many_256;
extern const struct bench_variant kb_verbs_bare_block;
extern const struct bench_variant kb_verbs_bare_handler;
extern const struct bench_variant kb_verbs_bare_done;
extern const struct bench_variant kb_verbs_bare_poll;
extern const struct bench_variant kb_verbs_messages_bare;
extern const struct bench_variant kb_verbs_single_bare;
extern const struct bench_variant kb_verbs_send_bare;
extern const struct bench_variant kb_verbs_msg_block;
extern const struct bench_variant kb_verbs_rdm_block;
extern const struct bench_variant kb_verbs_msg_handler;
extern const struct bench_variant kb_verbs_msg_done;
extern const struct bench_variant kb_verbs_rdm_handler;
extern const struct bench_variant kb_verbs_rdm_done;
extern const struct bench_variant kb_verbs_msg_poll;
extern const struct bench_variant kb_verbs_rdm_poll;
extern const struct bench_variant kb_verbs_messages_msg;
extern const struct bench_variant kb_verbs_messages_rdm;
extern const struct bench_variant kb_verbs_single_msg;
extern const struct bench_variant kb_verbs_single_rdm;
extern const struct bench_variant kb_verbs_send_msg;
extern const struct bench_variant kb_verbs_send_rdm;
extern const struct bench_variant kb_verbs_write_msg;
extern const struct bench_variant kb_verbs_write_rdm;
extern const struct bench_variant kb_verbs_write_msg_8;
extern const struct bench_variant kb_verbs_write_msg_4k;
extern const struct bench_variant kb_verbs_write_rdm_8;
extern const struct bench_variant kb_verbs_write_rdm_4k;
extern const struct bench_variant kb_ntb_msg_block;
extern const struct bench_variant kb_ntb_rdm_block;
extern const struct bench_variant kb_ntb_msg_handler;
extern const struct bench_variant kb_ntb_msg_done;
extern const struct bench_variant kb_ntb_rdm_handler;
extern const struct bench_variant kb_ntb_rdm_done;
extern const struct bench_variant kb_ntb_messages_msg;
extern const struct bench_variant kb_ntb_messages_rdm;
extern const struct bench_variant kb_ntb_single_msg;
extern const struct bench_variant kb_ntb_single_rdm;
extern const struct bench_variant kb_ntb_send_msg;
extern const struct bench_variant kb_ntb_send_rdm;
extern const struct bench_variant kb_ntb_send_msg_4k;
extern const struct bench_variant kb_ntb_send_rdm_4k;
extern const struct bench_variant kb_ntb_write_msg;
extern const struct bench_variant kb_ntb_write_rdm;
extern const struct bench_variant kb_ntb_write_msg_8;
extern const struct bench_variant kb_ntb_write_msg_4k;
extern const struct bench_variant kb_ntb_write_rdm_8;
extern const struct bench_variant kb_ntb_write_rdm_4k;
extern const struct bench_variant kb_ntb_placed_msg;
extern const struct bench_variant kb_ntb_placed_rdm;
extern const struct bench_variant kb_ntb_placed_long_msg;
extern const struct bench_variant kb_ntb_placed_long_rdm;
extern const struct bench_variant kb_ntb_long_msg;
extern const struct bench_variant kb_ntb_long_rdm;
extern const struct bench_variant kb_ntb_commit;
extern const struct bench_variant kb_ntb_idle_msg;
extern const struct bench_variant kb_ntb_idle_rdm;
extern const struct bench_variant kb_ntb_loaded_msg;
extern const struct bench_variant kb_ntb_loaded_rdm;
extern const struct bench_variant kb_scarce_bypass;
extern const struct bench_variant kb_scarce_through;
extern const struct bench_variant kb_neighbour_alone;
extern const struct bench_variant kb_neighbour_bypass;
extern const struct bench_variant kb_neighbour_through;
extern const struct bench_variant kb_scale_messages;
extern const struct bench_variant kb_scale_write;
extern const struct bench_variant kb_scale_roundtrip;
extern const struct bench_variant kb_scale_atomics;
extern const struct bench_variant kb_scale_counters;
extern const struct bench_variant kb_scale_tcp_messages;
extern const struct bench_variant kb_scale_tcp_stream;
extern const struct bench_variant kb_scale_tcp_roundtrip;
extern const struct bench_variant kb_queues_messages;
extern const struct bench_variant kb_queues_single;
extern const struct bench_variant kb_queues_roundtrip;
extern const struct bench_variant kb_queues_send;
extern const struct bench_variant kb_queues_write;

#endif /* _KFI_BENCH_KFI_H */
