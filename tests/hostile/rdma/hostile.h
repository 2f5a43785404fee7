/* SPDX-License-Identifier: GPL-2.0 */
/*
 * hostile.h - both sides of the cases: a peer, which is a consumer of kfabric and says in packets,
 * calls and messages what it likes, and a ULP of the RDMA core with queue pairs on a device of
 * kfi_ib, most of which receive by a shared receive queue.
 *
 *	the ULP				the device		the peer
 *	hi_qp_rtr(LOW, number)	->	READY		->	hi_heard(number)
 *							<-	hi_call()
 *	hi_qp_rtr(HIGH, number)	->	ASK		->	hi_heard(number)
 *							<-	hi_ready()
 *					a call		->	hi_accept(number)
 *
 * The peer has two addresses: the device waits for calls of the lower one, and calls the other one.
 */
#ifndef KFI_IB_HOSTILE_H
#define KFI_IB_HOSTILE_H

#include <linux/completion.h>
#include <rdma/ib_verbs.h>
#include <kfi_cm.h>
#include <kfi_domain.h>
#include <kfi_eq.h>
#include <kfi_rma.h>
#include "../../../ulps/rdma/wire.h"

#define HI_DEVICE	"kfi_n"		/* its name, and */
#define HI_NODE		"10.9.0.5"	/* its address */
#define HI_ADDR		0x0a090005
#define HI_SERVICE	"4467"		/* of calls */
#define HI_PACKETS	"446"		/* of packets */
#define HI_BUF		196608		/* bytes of a receive: longer than an eager message */
#define HI_RECVS	32
#define HI_OWN_RECVS	4		/* of a queue pair with a receive queue of its own */
#define HI_WAIT		(20 * HZ)
#define HI_DATA		256		/* bytes of private data that the networks take */
#define HI_MTU		4096		/* bytes of a datagram */
#define HI_QKEY		0x11111111	/* of the ULP's datagrams */
#define HI_UD_ROOM	256		/* bytes of the data of a datagram that it has room for */

/* Where a queue pair of the ULP leads */
enum hi_side {
	HI_LOW,		/* the peer calls */
	HI_HIGH,	/* the device calls */
	HI_SIDES,
};

/* ---- the ULP ---- */

/**
 * struct hi_qp - a queue pair of the ULP
 * @entry: in the list of ulp.c
 * @ib: the queue pair
 * @state: what it was modified to
 * @connected: its peer has connected it, or a message has come, so it ends when the peer does
 * @next: number that the next message has to have, see struct hi_msg
 * @last: the queue pair has ended: IB_EVENT_QP_LAST_WQE_REACHED, or the last of its own receives
 * @sent: the send of hi_qp_send() has ended with @status
 * @own: of a queue pair with receives of its own: those that have ended
 */
struct hi_qp {
	struct list_head	entry;
	struct ib_qp		*ib;
	enum ib_qp_state	state;
	bool			connected;
	u32			next;
	struct completion	last;
	struct ib_cqe		send;
	struct completion	sent;
	enum ib_wc_status	status;
	struct ib_cqe		recv;
	atomic_t		own;
};

/* How a message of a peer that behaves begins */
struct hi_msg {
	u32	magic;
	u32	number;		/* of this queue pair, from 0 */
};

/**
 * struct hi_seen - what the ULP has seen since it was opened
 * @messages: of peers that behave; @disorder: those with another number than expected
 * @others: messages of peers that do not, and receives that have failed
 * @limits: IB_EVENT_SRQ_LIMIT_REACHED
 * @datagrams: UD messages that were received; @bad_datagrams: receives of them that have failed
 * @removals: the device goes: all objects have to go
 */
struct hi_seen {
	atomic_t	messages, disorder;
	atomic_t	others;
	atomic_t	limits;
	atomic_t	datagrams, bad_datagrams;
	atomic_t	removals;
};

extern struct hi_seen hi_seen;

int hi_ulp_open(void);
void hi_ulp_close(void);
/* Arm the event of the shared receive queue. */
int hi_ulp_limit(u32 limit);
/* Keep received messages instead of posting the receives again; false posts them again. */
void hi_ulp_hold(bool hold);
/*
 * Each completion of a queue pair that has ended posts the next receive, which ends at once, in the
 * handler of the completion queue. Return: how many handlers have run without another softirq, or a
 * negative error
 */
int hi_ulp_chain(void);
/* Return: a queue pair in RESET, with receives of its own or the shared ones, or NULL */
struct hi_qp *hi_qp_new(bool shared);
/* Modify it. Return: 0 or a negative error */
int hi_qp_init(struct hi_qp *q);
int hi_qp_rtr(struct hi_qp *q, enum hi_side side, u32 number);
/* The same of one that leads to another one of this device */
int hi_qp_rtr_within(struct hi_qp *q, const struct hi_qp *other);
int hi_qp_rts(struct hi_qp *q);
int hi_qp_err(struct hi_qp *q);
int hi_qp_reset(struct hi_qp *q);
/* Without any attribute. Return: the same */
int hi_qp_to(struct hi_qp *q, enum ib_qp_state state);
/* Return: the state that it says it has, or a negative error */
int hi_qp_state(struct hi_qp *q);
/* INIT, RTR and RTS. Return: 0 or a negative error */
int hi_qp_up(struct hi_qp *q, enum hi_side side, u32 number);
/* Post a send, which ends with @status. */
int hi_qp_send(struct hi_qp *q);
/* Destroy it as it is. No shared receive may be in use */
void hi_qp_destroy(struct hi_qp *q);
/* How many are there? */
int hi_qps(void);
/*
 * End all queue pairs from this side, or wait until the peers have ended those that are connected.
 * Return: false if an event has not come for one of them
 */
bool hi_ulp_drop(void);
bool hi_ulp_wait(void);
/* A queue pair of datagrams. Return: its number, or a negative error */
int hi_ud_open(void);
void hi_ud_close(void);
/* Post receives to it. */
int hi_ud_post(int n);
/* Send a datagram to each of @nodes nodes that do not exist. Return: 0 or a negative error */
int hi_ud_dead(int nodes);

/* ---- the peer: packets and calls ---- */

/**
 * struct hi_heard - what the device has said to one of the peer's numbers
 * @number: number of a queue pair that the peer claims to have
 * @from: number of the device's queue pair
 * @asks: ASK packets
 * @readys: READY packets
 * @versions: VERSIONS packets
 * @calls: calls; @wrong: those with another number than @said
 * @secret: the number of the last READY
 * @said: the number that the peer has said in its READY
 * @refuse: refuse calls with that
 * @info: a call that has no answer yet, or NULL
 */
struct hi_heard {
	u32		number;
	u32		from;
	int		asks, readys, versions, calls, wrong;
	u64		secret;
	u64		said;
	bool		refuse;
	struct kfi_info	*info;
};

/* The transaction of the last MAD that the device has said to number 1 */
extern u64 hi_mad;

/* Return: a number that the peer has not had yet */
struct hi_heard *hi_number(void);
/* Wait until a counter of struct hi_heard has a value. Return: false if it has not, in HI_WAIT */
bool hi_hear(const int *counter, int least);
/* Return: the head of a packet of a peer that behaves */
struct kib_packet_head hi_head(enum hi_side side, enum kib_packet_type type, u32 number, u32 qpn);
/* Say a packet from an address of the peer. Return: 0, or a negative error */
int hi_say(enum hi_side from, const void *packet, size_t len);
/* Say READY as the device wants it, with the number @said. */
int hi_ready(struct hi_heard *h, u32 qpn);
/* Accept the call that was kept, or refuse it. Return: as hi_call() */
struct hi_peer;
int hi_accept(struct hi_heard *h, struct hi_peer *p);
void hi_refuse(struct hi_heard *h);

/* ---- the peer: connections ---- */

/**
 * struct hi_peer - an endpoint that has called the device, or was called
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

/* How long hi_call(), hi_accept() and hi_hear() wait */
extern unsigned long hi_patience;
/* The network below has one peer */
bool hi_bridge(void);

int hi_peers_open(void);
void hi_peers_close(void);
/* Return: the data of a call of a peer that behaves */
struct kib_hello hi_hello(u32 qpn, u64 secret);
/* Call with private data. Return: 0 if accepted, or a negative error */
int hi_call(struct hi_peer *p, const void *data, size_t len);
void hi_end(struct hi_peer *p);
/* Send @len bytes, with flags of kfi_sendmsg(). Return: 0, or a negative error of the post */
int hi_begin(struct hi_peer *p, struct hi_op *op, const void *buf, size_t len, u64 data,
	     u64 inv_key, u64 flags);
/* The same of a packet. The operation has to end before its bytes go */
int hi_say_begin(enum hi_side from, struct hi_op *op, const void *packet, size_t len);
/* Return: 0, or the negative error of the operation */
int hi_wait(struct hi_op *op);
/* Both. Return: as either */
int hi_send(struct hi_peer *p, const void *buf, size_t len, u64 data, u64 inv_key, u64 flags);
/* Read or write memory of the ULP by any key. Return: as hi_send() */
int hi_rma(struct hi_peer *p, void *buf, size_t len, u64 addr, u64 key, bool read);

#endif /* KFI_IB_HOSTILE_H */
