/* SPDX-License-Identifier: GPL-2.0 */
/*
 * hostile.h - a peer of kfi_verbs that breaks the rules of a link. The peer has queue pairs of its
 * own on the device of the victim (../victim.h), which is an RDM endpoint of kfi_verbs. The peer
 * shares the wire formats with kfi_verbs and with kfi.ko, and no other code.
 *
 *	peer.c	 a connection of ours: hello, frames, both ways
 *	plain.c	 what it does to a MSG endpoint
 *	cases.c	 the cases, and the module that runs them
 */
#ifndef KFI_VERBS_HOSTILE_H
#define KFI_VERBS_HOSTILE_H

#include <linux/completion.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>
#include <kfabric.h>
#include <kfi_prov.h>
#include "../../../kfi/proto/wire.h"
#include "../../../providers/verbs/wire.h"
#include "../victim.h"

#define HV_RECVS	64U		/* receives of a connection */
#define HV_SENDS	64U
#define HV_BUF		16384U		/* bytes of each, more than a SEND may have */
#define HV_MEM		65536U		/* memory that the victim may be told of */
#define HV_WAIT_MS	20000U		/* for whatever has to come */
#define HV_NOT_MS	400U		/* for what must not come */
#define HV_WINDOW	1024U		/* units of messages that we say we hold */
#define HV_STREAM	131072U		/* bytes of the stream, kept until a frame is whole */
#define VICTIM_BUF	16384U		/* bytes of a message */
#define VICTIM_MEM	(4U << 20)	/* bytes of its region */
#define VICTIM_KEY	0x1234

/**
 * struct hv_heard - frames of a type: @n of them
 * @last: header of the last; @places: its places
 */
struct hv_heard {
	unsigned int		n;
	struct kfw_frame	last;
	struct kfw_place	places[KFW_PLACES_MAX];
};

/**
 * struct hv_call - how a connection is to begin
 * @port: of our name: a listener's, though nobody listens
 * @recvs: receives that there are, which are not given back; 0: HV_RECVS
 * @hello: private data instead of a proper one, @len bytes
 * @bare: without a queue pair that rdma_cm knows, so its events come raw
 * @silent: no hello is sent
 */
struct hv_call {
	u16		port;
	unsigned int	recvs;
	const void	*hello;
	u8		len;
	bool		bare;
	bool		silent;
};

/**
 * struct hv - a connection of ours
 * @lock: protects @heard, @events; @wait: something has come
 * @events: BIT(enum rdma_cm_event_type); @said: private data of the last
 * @broken: the queue pair has ended
 * @deaf: receives are not given back; @taken: so many have come
 * @plain: what comes is no packet
 * @mem: @dma: memory of ours, reachable with pd's global key
 */
struct hv {
	struct rdma_cm_id	*id;
	struct ib_pd		*pd;
	struct ib_cq		*cq;
	struct ib_qp		*qp;
	spinlock_t		lock;
	wait_queue_head_t	wait;
	unsigned long		events;
	u8			said[256];
	u8			said_len;
	bool			broken;
	bool			deaf;
	bool			plain;
	unsigned int		taken;
	unsigned int		posted;
	struct ib_cqe		recv;
	struct ib_cqe		send;
	int			sent;		/* status of the send under way, 1: none yet */
	u8			*out;
	u64			out_dma;
	u8			*in;
	u64			in_dma;
	u8			*mem;
	u64			dma;
	u32			grant;		/* units that the victim may send us */
	u32			limit;		/* SENDs that the victim takes */
	u32			told;		/* SENDs of ours */
	bool			accepted;	/* the victim has accepted our hello */
	u8			*stream;
	u32			have;
	struct hv_heard		heard[KFW_TYPES];
};

/* peer.c: may sleep. 0 or negative */
struct hv *hv_new(void);
int hv_call(struct hv *hv, const struct victim *v, const struct hv_call *call);
struct hv *hv_open(const struct victim *v, u16 port);	/* a proper one, accepted; ERR_PTR */
void hv_close(struct hv *hv);
int hv_send(struct hv *hv, const void *bytes, u32 len, u32 inv);	/* returns when the victim's device has it; @inv: key, or 0 */
/* a SEND with a proper head, to which the victim has a receive */
int hv_say(struct hv *hv, const void *bytes, u32 len, u16 flags);
/* a frame, with @len bytes of segments, places and payload behind its header */
int hv_frame(struct hv *hv, struct kfw_frame *f, const void *rest, u32 len);
void hv_listen(struct hv *hv, unsigned int n);			/* n receives more */
unsigned int hv_count(struct hv *hv, u8 type);
bool hv_wait(struct hv *hv, u8 type, unsigned int n, unsigned int ms);	/* has heard so many */
bool hv_wait_event(struct hv *hv, enum rdma_cm_event_type type, unsigned int ms);
bool hv_gone(struct hv *hv);
bool hv_ended(struct hv *hv);				/* the victim has ended it, in time */

/* cases.c */
int hv_victim(struct victim *v, const char *node);
kfi_addr_t hv_knows(struct victim *v, u16 port);		/* the victim's handle of a name of ours */

/**
 * struct hostile - what all cases share
 * @v:		the victim
 * @mem:	memory of the victim's region VICTIM_KEY, VICTIM_MEM bytes
 * @good:	a connection of a well-behaved peer, which stays up whatever the others do
 * @serial:	of the last message of a well-behaved peer
 */
struct hostile {
	struct victim	v;
	u8		*mem;
	struct hv	*good;
	u64		serial;
};

struct hostile_case {
	const char *name;
	bool (*run)(struct hostile *h);
};

extern const struct hostile_case plain_cases[];

bool check(bool truth, const char *what);
bool hostile_well(struct hostile *h);		/* the good one is served, and a new one, too */

#endif
