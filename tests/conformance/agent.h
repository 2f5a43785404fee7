/* SPDX-License-Identifier: GPL-2.0 */
/*
 * agent.h - the other machine's half of a run: it makes the calls that the driver's cases make for side B.
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

/* Start to listen on @port of @net. There is one agent. */
int agent_start(struct net *net, unsigned int port);
void agent_stop(void);

enum agent_kind {
	K_NONE, K_ANY, K_FABRIC, K_DOMAIN, K_EQ, K_CQ, K_CNTR, K_AV, K_EP, K_PEP, K_STX, K_MR, K_HANDLE
};

/**
 * struct agent_object - an object that the driver has opened
 * @fid: its head; NULL: the number is free
 * @seq: order of opening
 */
struct agent_object {
	struct kfid	*fid;
	u64		seq;
	u8		kind;
};

#define AGENT_HANDLES	256	/* connection requests that the driver may still speak of */

/**
 * struct agent_session - what a driver has here
 * @lock: protects the table of objects, while numbers come and go
 * @mem_lock: protects the windows' bytes in the making, and @windows
 * @windows: struct agent_window by number
 * @spare: what operations may still look at, freed with the windows
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
 * @obj: what the first two arguments name, where the row says so
 * @opened: of one that opens: the new object
 */
struct agent_call {
	struct agent_session	*s;
	u64			arg[FAR_ARGS];
	struct kfid		*obj[2];
	struct kfid		*opened;
	struct far_buf		in, out;
	u64			val[3];
};

/* An object as the type that its row has made sure of. */
#define FID(c, i, type)	container_of((c)->obj[i], struct type, fid)

/* agent_calls.c */
s64 agent_serve(struct agent_call *c, unsigned int op);
/* Close whatever is open. How many were there, and how many did not close? */
void agent_reset(struct agent_session *s, u64 *open, u64 *refused);
u64 agent_number(struct agent_session *s, struct kfid *fid);
struct far_names agent_names(struct agent_session *s);
void agent_keep_handle(struct agent_session *s, struct kfid *fid);
/* The rest of the request; NULL if there is none. */
const void *agent_rest(struct agent_call *c, size_t *len);
/* Zeroed room in the answer. */
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
s64 agent_cq_strerror(struct agent_call *c);
s64 agent_cntr_read(struct agent_call *c);
s64 agent_cntr_readerr(struct agent_call *c);
s64 agent_cntr_change(struct agent_call *c);
s64 agent_cntr_wait(struct agent_call *c);

/* agent_mem.c */
s64 agent_sync(struct agent_call *c);
/* NULL and an error for what is not there. */
int agent_seg(struct agent_session *s, const struct far_seg *seg, void **p);
/* The driver's address of ours, or what it was. */
u64 agent_driver_address(struct agent_session *s, const void *p);
/* Memory that goes with the windows. */
void *agent_spare(struct agent_session *s, size_t len);
/* A vector of @type over @n segments. It may have to outlive the call: its memory is spare. */
int agent_vector(struct agent_session *s, unsigned int type, const struct far_seg *seg, size_t n, bool to_device,
		 const void **vec);
void agent_forget_memory(struct agent_session *s);

/* agent_post.c */
s64 agent_post(struct agent_call *c);
s64 agent_mr_reg(struct agent_call *c);
/* The attributes of a registration, which follow the request. */
int agent_take_mr(struct agent_call *c, struct kfi_mr_attr *attr);

#endif /* KFI_CONFORMANCE_AGENT_H */
