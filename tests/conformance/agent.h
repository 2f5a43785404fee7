/* SPDX-License-Identifier: GPL-2.0 */
/*
 * agent.h - the part of a run on the other machine: it makes the calls for side B that the driver's
 * cases make.
 */
#ifndef KFI_CONFORMANCE_AGENT_H
#define KFI_CONFORMANCE_AGENT_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/types.h>
#include <linux/xarray.h>
#include "far_buf.h"

struct kfi_mr_attr;
struct net;

/* Start to listen on @port of @net. There is only one agent. */
int agent_start(struct net *net, unsigned int port);
void agent_stop(void);

enum agent_kind {
	K_NONE,
	K_ANY,
	K_FABRIC,
	K_DOMAIN,
	K_EQ,
	K_CQ,
	K_CNTR,
	K_AV,
	K_EP,
	K_PEP,
	K_STX,
	K_MR,
	K_HANDLE
};

/**
 * struct agent_object - an object that the driver has opened
 * @fid: its head; NULL: the number is free
 * @seq: order of opening
 * @kind: enum agent_kind
 */
struct agent_object {
	struct kfid	*fid;
	u64		seq;
	u8		kind;
};

#define AGENT_HANDLES	256	/* connection requests that the driver may still name */

/**
 * struct agent_session - objects and memory of a driver
 * @lock: protects the table of objects, while numbers are given or freed
 * @mem_lock: protects the bytes of windows that are being made, and @windows
 * @windows: struct agent_window by number
 * @spare: memory that operations may still use, freed with the windows
 */
struct agent_session {
	u64			id;
	struct net		*net;
	struct mutex		lock;
	struct agent_object	object[FAR_OBJECTS + 1];
	struct kfid		*handle[AGENT_HANDLES];
	unsigned int		handles;
	u64			seq;
	struct mutex		mem_lock;
	struct xarray		windows;
	struct list_head	spare;
};

/**
 * struct agent_call - a request that is being served
 * @obj: objects that the first two arguments name, if the row says so
 * @opened: of a call that opens: the new object
 */
struct agent_call {
	struct agent_session	*s;
	u64			arg[FAR_ARGS];
	struct kfid		*obj[2];
	struct kfid		*opened;
	struct far_buf		in, out;
	u64			val[3];
};

/* An object as the type that its row has checked */
#define FID(c, i, type)	container_of((c)->obj[i], struct type, fid)

/* agent_calls.c */
s64 agent_serve(struct agent_call *c, unsigned int op);
/* Close all open objects; count those that were open and those that could not be closed. */
void agent_reset(struct agent_session *s, u64 *open, u64 *refused);
u64 agent_number(struct agent_session *s, struct kfid *fid);
struct far_names agent_names(struct agent_session *s);
void agent_keep_handle(struct agent_session *s, struct kfid *fid);
/* Return the rest of the request; NULL if there is none. */
const void *agent_rest(struct agent_call *c, size_t *len);
/* Return zeroed room in the answer. */
void *agent_room(struct agent_call *c, u64 len);
#define AGENT_ROOM	65536	/* bytes of a name, an option, an event */

/* agent_queues.c */
s64 agent_eq_read(struct agent_call *c);
s64 agent_eq_readerr(struct agent_call *c);
s64 agent_eq_write(struct agent_call *c);
s64 agent_cq_read(struct agent_call *c);
s64 agent_cq_readerr(struct agent_call *c);
s64 agent_cq_signal(struct agent_call *c);
s64 agent_cq_poll(struct agent_call *c);
s64 agent_cntr_read(struct agent_call *c);
s64 agent_cntr_readerr(struct agent_call *c);
s64 agent_cntr_change(struct agent_call *c);
s64 agent_cntr_wait(struct agent_call *c);

/* agent_mem.c */
s64 agent_sync(struct agent_call *c);
/* Return an error, and NULL, for memory that does not exist. */
int agent_seg(struct agent_session *s, const struct far_seg *seg, void **p);
/* Return the driver's address for an address here, or the address itself. */
u64 agent_driver_address(struct agent_session *s, const void *p);
/* Allocate memory that is freed with the windows. */
void *agent_spare(struct agent_session *s, size_t len);
/*
 * Make a vector of @type over @n segments. It may have to outlive the call, so its memory is spare.
 */
int agent_vector(struct agent_session *s, unsigned int type, const struct far_seg *seg, size_t n,
		 bool to_device, const void **vec);
void agent_forget_memory(struct agent_session *s);

/* agent_post.c */
s64 agent_post(struct agent_call *c);
s64 agent_mr_reg(struct agent_call *c);
/* Decode the attributes of a registration, which follow the request. */
int agent_take_mr(struct agent_call *c, struct kfi_mr_attr *attr);

#endif /* KFI_CONFORMANCE_AGENT_H */
