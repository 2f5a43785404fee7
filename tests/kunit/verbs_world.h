/* SPDX-License-Identifier: GPL-2.0 */
/*
 * verbs_world.h - a device of kfi_verbs that does nothing until a case tells it to, with the queue
 * pairs and regions of the provider on it.
 */
#ifndef _KFI_KUNIT_VERBS_WORLD_H
#define _KFI_KUNIT_VERBS_WORLD_H

#include "suite.h"
#include "../../providers/verbs/region.h"

#define WRS	256
#define OPS	4
#define MEM	(2 * PAGE_SIZE)

/**
 * struct world - a device, and what it was given
 * @mem: MEM bytes of a consumer
 * @event: handler of the queue pair's events, with @context
 * @wr: work requests, @nwr of them
 * @signalled: the device is to report it
 * @opcode: of the request
 * @refuse: what the device returns for the next post, once
 * @recv: receives, @nrecvs of them; @came: receives that have been used
 * @nderegs: registrations that were taken back
 * @refs: references that kept the region then
 * @mr: a region
 */
struct world {
	struct kunit		*test;
	struct ib_device	*ib;
	struct ib_pd		pd;
	struct ib_qp		qp;
	struct rdma_cm_id	id;
	struct kv_domain	kdom;
	struct kv_ep		vep;
	struct kfi_info		info;
	struct kfi_ep_attr	ep_attr;
	void			*mem;
	void			(*event)(struct ib_event *event, void *context);
	void			*context;
	struct ib_cqe		*wr[WRS];
	bool			signalled[WRS];
	enum ib_wr_opcode	opcode[WRS];
	unsigned int		nwr;
	int			refuse;
	struct ib_cqe		*recv[WRS];
	unsigned int		nrecvs, came;
	unsigned int		nderegs;
	unsigned int		refs[OPS];
	struct kfi_mr		mr;
};

/* One case at a time. */
extern struct world *the_world;
/* What kv_msg_conn() finds */
extern struct kv_conn *the_conn;

/* In verbs_conn_test.c, the names of what msg.c defines */
struct kv_conn *conn_test_msg_conn(struct kv_ep *vep);
void conn_test_msg_ready(struct kv_conn *conn);
bool conn_test_msg_was_ready(struct kv_conn *conn);
void conn_test_msg_lost(struct kv_conn *conn, int err);

struct world *world_open(struct kunit *test);
void world_close(struct world *w);
/*
 * The device reports request @i, if it was to. It ends with all before it, which are not
 * reported.
 */
void device_report(struct world *w, unsigned int i, enum ib_wc_status status);

/* A region of MEM bytes. */
struct kv_region *open_region(struct world *w);
/* What kfi.ko does when it finds the region used. */
void owner_ends(struct world *w);
/* Each registration was taken back before the owner was told. */
void expect_ended(struct world *w, unsigned int nderegs);

#endif /* _KFI_KUNIT_VERBS_WORLD_H */
