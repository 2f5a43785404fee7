/* SPDX-License-Identifier: GPL-2.0 */
/*
 * hostile.h - both sides of the cases: a peer, which is a consumer of kfabric and says in hellos
 * and messages what it likes, and a ULP of the RDMA core that listens on a device of kfi_ib and
 * receives by a shared receive queue.
 */
#ifndef KFI_IB_HOSTILE_H
#define KFI_IB_HOSTILE_H

#include <linux/completion.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>
#include <kfi_cm.h>
#include <kfi_domain.h>
#include <kfi_eq.h>
#include <kfi_rma.h>
#include "../../../ulps/rdma/hello.h"

#define HI_NODE		"10.9.0.1"
#define HI_ADDR		0x0a090001
#define HI_SERVICE	"4467"		/* of the device */
#define HI_PORT		7471		/* of the ULP */
#define HI_BUF		196608		/* bytes of a receive: longer than an eager message */
#define HI_RECVS	32
#define HI_WAIT		(20 * HZ)
#define HI_DATA		256		/* bytes of private data that the networks take */
#define HI_UNANSWERED	512		/* calls that the ULP leaves without an answer */

/* ---- the ULP ---- */

/**
 * struct hi_conn - a connection of the ULP
 * @entry: in the list of ulp.c
 * @id: its identifier, with a queue pair
 * @next: number that the next message has to have, see struct hi_msg
 * @last: IB_EVENT_QP_LAST_WQE_REACHED has come
 * @lost: the connection has ended
 */
struct hi_conn {
	struct list_head	entry;
	struct rdma_cm_id	*id;
	u32			next;
	struct completion	last;
	struct completion	lost;
};

/* How a message of a peer that behaves begins */
struct hi_msg {
	u32	magic;
	u32	number;		/* of this connection, from 0 */
};

/**
 * struct hi_seen - what the ULP has seen since it was opened
 * @calls: connection requests
 * @unanswered: those at the port where no call is answered
 * @messages: of peers that behave; @disorder: those with another number than expected
 * @others: messages of peers that do not, and receives that have failed
 * @limits: IB_EVENT_SRQ_LIMIT_REACHED
 * @removals: RDMA_CM_EVENT_DEVICE_REMOVAL: all objects have to go
 */
struct hi_seen {
	atomic_t	calls;
	atomic_t	unanswered;
	atomic_t	messages, disorder;
	atomic_t	others;
	atomic_t	limits;
	atomic_t	removals;
};

extern struct hi_seen hi_seen;

int hi_ulp_open(void);
void hi_ulp_close(void);
/* Arm the event of the shared receive queue. */
int hi_ulp_limit(u32 limit);
/* Keep received messages instead of posting the receives again; false posts them again. */
void hi_ulp_hold(bool hold);
/* Listen at the next port, too, and answer no call there. */
int hi_ulp_mute(void);
/* End that listener. Its calls have identifiers until the ULP is closed. */
void hi_ulp_unmute(void);
/*
 * Each completion of a queue pair that has ended posts the next receive, which ends at once, in the
 * handler of the completion queue. Return: how many handlers have run without another softirq, or a
 * negative error
 */
int hi_ulp_chain(void);
/*
 * Call for a queue pair that does not exist, from another namespace or that of the device. Return:
 * what the device has answered
 */
int hi_ulp_foreign(bool foreign);
/* How many connections are there? */
int hi_ulp_conns(void);
/* Accept no call meanwhile. No other function of the ULP may be called, but for its end */
void hi_ulp_pause(void);
void hi_ulp_resume(void);
/* End all connections from this side. Return: false if an event has not come for one of them */
bool hi_ulp_drop(void);
/* Wait until the peers have ended all connections. Return: false as hi_ulp_drop() */
bool hi_ulp_wait(void);

/* ---- the peer ---- */

/**
 * struct hi_peer - an endpoint that calls the device
 * @answered: the call has an outcome, which is @err: 0 if it was accepted
 * @lost: the connection has ended
 */
struct hi_peer {
	struct kfid_eq		*eq;
	struct kfid_ep		*ep;
	struct completion	answered;
	struct completion	lost;
	int			err;
};

/**
 * struct hi_op - an operation of a peer
 * @cqe: its completion
 * @done: it has ended with @err
 */
struct hi_op {
	struct kfi_cqe		cqe;
	struct completion	done;
	int			err;
};

/* How long hi_call() waits for an answer */
extern unsigned long hi_patience;
/* hi_call() calls from a reserved port */
extern bool hi_reserved;
/* The network below has no ports */
bool hi_bridge(void);

int hi_peers_open(void);
void hi_peers_close(void);
/* Return: the hello of a peer that behaves */
struct kib_hello hi_hello(void);
/* Call with private data. Return: 0 if accepted, or a negative error */
int hi_call(struct hi_peer *p, const void *data, size_t len);
void hi_end(struct hi_peer *p);
/* Send @len bytes, with flags of kfi_sendmsg(). Return: 0, or a negative error of the post */
int hi_begin(struct hi_peer *p, struct hi_op *op, const void *buf, size_t len, u64 data,
	     u64 inv_key, u64 flags);
/* Return: 0, or the negative error of the operation */
int hi_wait(struct hi_op *op);
/* Both. Return: as either */
int hi_send(struct hi_peer *p, const void *buf, size_t len, u64 data, u64 inv_key, u64 flags);
/* Read or write memory of the ULP by any key. Return: as hi_send() */
int hi_rma(struct hi_peer *p, void *buf, size_t len, u64 addr, u64 key, bool read);

#endif /* KFI_IB_HOSTILE_H */
