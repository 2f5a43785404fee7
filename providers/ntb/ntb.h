/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ntb.h - the objects of kfi_ntb above a bridge (bridge.h): endpoints and connections.
 *
 * MSG and RDM endpoints use the message protocol of kfi.ko. A connection is a stream of bytes in
 * each direction (struct nt_stream), and a link of the message protocol (struct nt_end, see
 * kfi_link.h). docs/wire-ntb-endpoints.md describes the records.
 *
 * Locks, outermost first:
 *
 *   nt_dev.answering (mutex)	the listeners of a bridge, while a caller is added to one of them
 *   kfi_conn_set.lock		see kfi_conn_set.h
 *   nt_stream.lock (spin, bh)	the members marked (L) in struct nt_stream. It is the link's lock of
 *				kfi_link.h; a post only tries to take it
 *   nt_dev.lock (spin, bh)	callers, and connections that wait for room
 *   locks of the ring (ring.h)
 */
#ifndef _KFI_NTB_NTB_H
#define _KFI_NTB_NTB_H

#include <linux/completion.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/workqueue.h>
#include <kfi_link.h>
#include "bridge.h"
#include "record.h"

#define NT_DEPTH	4096		/* operations of an endpoint, in each direction */
#define NT_MSG_MAX	(1UL << 30)
#define NT_CALLERS	512U		/* callers that the work item has not handled yet */
#define NT_ANSWERED	32		/* callers that one run of the work item handles */
#define NT_RX_STEPS	2048		/* steps of one run of nt_read() */
#define NT_LOADS	8		/* payloads of a connection under way at a time */
#define NT_LEAVING	16384		/* closed streams whose last record waits for room */
#define NT_PLACES	16		/* places of one payload */
#define NT_STRETCH	NT_LOAD_MAX	/* placed bytes that one record announces, at most */
#define NT_CHECKED	262144U		/* the same with a CRC, which is computed under a lock */
#define NT_PREFIX	(sizeof(struct ntw_rec) + sizeof(struct ntw_data))

/* Module parameters (main.c) */
extern unsigned int nt_stream_kib, nt_return_ms;
extern struct kfi_proto nt_proto;

extern struct workqueue_struct *nt_cm_wq;	/* unbound; runs cm_work and held_work */

struct nt_dev;
struct nt_ep;
struct nt_pep;

/**
 * struct nt_listener - a port of a bridge at which an endpoint listens
 * @port: number of the port; 0: no port is taken
 * @nep: the RDM endpoint, or NULL
 * @npep: the passive endpoint, or NULL
 *
 * It is an entry of &nt_dev.ports, and used under &nt_dev.answering. nt_port_give() removes the
 * entry and then waits for the holder of the mutex.
 */
struct nt_listener {
	u32		port;
	struct nt_ep	*nep;
	struct nt_pep	*npep;
};

/**
 * struct nt_caller - a CALL that was not handled yet, or a number for which a CLOSE has to be sent
 * @entry: entry in &nt_dev.callers or &nt_dev.spares
 * @version: the CALL has a version that is not supported
 * @close: this is no CALL: a CLOSE has to be sent for the number
 * @life: life of the link in which the record came
 * @ring: the queue through which it came
 * @call: contents of the CALL
 */
struct nt_caller {
	struct list_head	entry;
	bool			version;
	bool			close;
	unsigned int		life;
	struct nt_ring		*ring;
	struct ntw_calling	call;
};

/**
 * struct nt_dev - a bridge
 * @link: the bridge; valid as long as there is a reference
 * @entry: entry in the list of all bridges, which is in the order of @number
 * @number: number of the bridge, from 1
 * @users: references: one of the device until it is removed; of each open domain until then; of
 *	passive endpoints, connections, refusals, mapped regions and queries
 * @idle: completed when the last reference is dropped; the removal waits for it
 * @streams: connections by our number; looked up under RCU
 * @ports: struct nt_listener by port
 * @answering: held from the look-up of a listener in @ports until the caller is in its connection
 *	set
 * @back: wakes nt_close(), which waits for the peer or for the end of a life of the link
 * @next_number: number at which the search for a free number of a connection begins. It is random
 *	at first and counts up, so that a record for an earlier connection finds no connection
 * @next_port: port at which the search for a free port begins
 * @going: the bridge is being removed
 * @lock: protects @callers, @spares and @stalled
 * @callers: callers that were not handled yet
 * @spares: unused entries of @caller_mem
 * @caller_mem: NT_CALLERS entries
 * @refusals: number of struct nt_refusal that were posted and not sent, at most NT_CALLERS
 * @leaving: closed streams whose last record has not found room in its ring yet
 * @stalled: connections that wait for room in a ring, for each queue
 * @cm_work: handles @callers
 */
struct nt_dev {
	struct nt_link		*link;
	struct list_head	entry;
	u32			number;
	refcount_t		users;
	struct completion	idle;
	struct xarray		streams;
	struct xarray		ports;
	struct mutex		answering;
	wait_queue_head_t	back;
	u32			next_number;
	u32			next_port;
	bool			going;
	spinlock_t		lock;
	struct list_head	callers;
	struct list_head	spares;
	struct nt_caller	*caller_mem;
	atomic_t		refusals;
	atomic_t		leaving;
	struct list_head	stalled[NTW_QUEUES_MAX];
	struct work_struct	cm_work;
};

/**
 * struct nt_domain - an open domain: one bridge
 * @domain: common part
 * @dev: its bridge. After the removal of the bridge, only an object that holds a reference of its
 *	own may use it
 * @entry: entry in the list of domains. The domain has a reference of @dev as long as it is in the
 *	list, which is at most until the bridge is removed
 */
struct nt_domain {
	struct kfi_domain	domain;
	struct nt_dev		*dev;
	struct list_head	entry;
};

/**
 * struct nt_mr - a memory region
 * @mr: common part
 * @at: address at which the peer of @dev finds the region in a window, from registration on; 0: it
 *	is in none. If it is in one, it holds a reference of @dev
 * @dev: the bridge of that window
 */
struct nt_mr {
	struct kfi_mr	mr;
	u64		at;
	struct nt_dev	*dev;
};

/**
 * struct nt_ep - an endpoint
 * @pe: common part
 * @dev: its bridge; valid until ep_stop() has returned
 * @addr: own name; the port is constant after enable
 * @listener: RDM: the port that peers call
 */
struct nt_ep {
	struct kfi_proto_ep	pe;
	struct nt_dev		*dev;
	struct ntw_addr		addr;
	struct nt_listener	listener;
};

/**
 * struct nt_pep - a passive endpoint
 * @ppep: common part
 * @dev: its bridge, with a reference
 * @addr: name at which it listens
 * @listener: the port of @addr
 */
struct nt_pep {
	struct kfi_proto_pep	ppep;
	struct nt_dev		*dev;
	struct ntw_addr		addr;
	struct nt_listener	listener;
};

struct nt_stream;

/**
 * struct nt_end - a connection as a link of the message protocol
 * @link: common part
 * @stream: the connection, with a reference until ops->close()
 */
struct nt_end {
	struct kfi_link		link;
	struct nt_stream	*stream;
};

/**
 * struct nt_load - payload that the engine reads from the consumer's memory, or from @copy
 * @rec: the record
 * @stream: the connection; nt_close() waits until the engine has read the payload
 * @entry: entry in &nt_stream.idle or &nt_stream.posted (L)
 * @at: bytes of the connection that were sent before the payload (L)
 * @place: places to which the payload is written, unless it is part of the stream
 * @mapping: &nt_rec.mapping
 * @vec: describes @copy
 * @copy: copy of payload for places whose memory may be reused before the engine has read it
 */
struct nt_load {
	struct nt_rec		rec;
	struct nt_stream	*stream;
	struct list_head	entry;
	u64			at;
	struct nt_place		place[NT_PLACES];
	struct nt_mapping	mapping[NT_MAPPINGS];
	struct kvec		vec;
	u8			copy[NT_COPY];
};

/**
 * struct nt_exposure - memory that the peer writes to, if it was mapped for that, or placed payload
 *	has a CRC; all members (L)
 * @entry: entry in &nt_stream.exposures or &nt_stream.unexposed
 * @key: &kfi_link_place.key of its places, without the bit of the window
 * @iter: the memory
 * @len: bytes of the memory
 * @at: address at which the peer finds the memory, if it was mapped for this exposure; or 0
 * @lasting: the memory belongs to a lasting grant
 * @checked: bytes that the peer has announced. Each byte is announced once; in @lasting memory once
 *	between two frames
 * @behind: if @lasting: bytes of the stream that have come before the bytes of @checked
 */
struct nt_exposure {
	struct list_head	entry;
	u32			key;
	struct iov_iter		iter;
	u64			len;
	u64			at;
	bool			lasting;
	u64			checked;
	u64			behind;
};

/**
 * enum nt_stream_state - state of a connection (L)
 */
enum nt_stream_state {
	NT_NEW,		/* not called yet, or the link of the bridge is down */
	NT_CALLED,	/* CALL is due or was sent, and ANSWER has not come */
	NT_OPEN,	/* both sides know the other's number */
	NT_CLOSED,	/* ops->close() was called */
};

/*
 * Records of a connection without bytes, in the order in which they are sent; bits of
 * &nt_stream.due
 */
enum {
	NT_DUE_CALL,
	NT_DUE_ANSWER,
	NT_DUE_LIMIT,		/* DATA without bytes */
	NT_DUE_CLOSE,
};

/**
 * struct nt_stream - a connection
 * @ref: references: of the struct nt_end; of @ctrl while it is posted; of @stall while it is in a
 *	list; of each pin, the last of which passes its reference to @held_work if that is queued
 * @lock: protects the members marked (L); it is also the lock of the link of the message protocol
 * @dev: the bridge that carries the connection, with a reference
 * @id: our number of the connection
 * @end: the link of the message protocol; NULL: no callback is called any more (L)
 * @peer: the peer's number of the connection; 0: not known yet (L)
 * @port: port of this side: that it calls from, or at which it was called
 * @life: life of the bridge's link that the connection belongs to; set from NT_CALLED on
 * @ring: the queue of its records, in both directions; as @life
 * @state: &enum nt_stream_state (L)
 * @ended: 0, or the reason why no more bytes come, a negative errno. Written under @lock
 * @call: contents of the CALL
 * @room: bytes of the stream that fit in one record; set from NT_OPEN on
 * @sent: bytes that were sent in DATA (L)
 * @put: bytes that were sent to places (L)
 * @bulk_end: position behind the records of the connection in the bulk ring that were placed (L)
 * @limit: bytes that may be sent in DATA (L)
 * @loads: NT_LOADS entries, allocated by ops->admit()
 * @idle: unused entries of @loads (L)
 * @posted: posted entries of @loads, in order (L)
 * @starved: a post has found @idle empty, or left its turn to others (L)
 * @got: bytes that were received in DATA (L)
 * @landed: bytes that were received at our places (L)
 * @used: bytes of @got that were passed to the protocol (L)
 * @advertised: position in DATA up to which the peer was allowed to send (L)
 * @window: bytes of @backlog, a power of two (L)
 * @backlog: bytes from @used to @got, unless they are in @piece. Byte p is at p mod @window (L)
 * @piece: bytes from @used to @got of the record that is being handled, or NULL (L)
 * @first: @backlog of a caller that was not admitted yet
 * @due: records that have to be sent, bits (L)
 * @ctrl: record without bytes; a record of the bulk ring, unlike that of NT_DUE_LIMIT
 * @busy: @ctrl is posted (L)
 * @exposed: number of pieces of memory that the peer can write to (L)
 * @exposures: list of struct nt_exposure (L)
 * @unexposed: struct nt_exposure that can be reused (L)
 * @key: key of the newest entry of @exposures (L)
 * @wrapped: all keys have been used once (L)
 * @abort: the CLOSE has NTW_C_ABORT (L)
 * @wants: the CLOSE has NTW_C_RETURN (L)
 * @closing: the CLOSE is due or was sent (L)
 * @returned: the CLOSE of the peer has come. Written under @lock
 * @leaving: the connection is closed, and counted in &nt_dev.leaving
 * @pins: places that devices of this machine write, and fences that have failed; see
 *	nt_place_pages()
 * @held: the CLOSE that was sent last has NTW_C_HELD. Written under @lock
 * @held_work: sends another CLOSE when no pin is left
 * @stalled: @stall is in &nt_dev.stalled (L)
 * @stall: entry in &nt_dev.stalled, under nt_dev.lock
 * @rcu: frees the structure
 */
struct nt_stream {
	refcount_t		ref;
	spinlock_t		lock;
	struct nt_dev		*dev;
	u32			id;
	struct nt_end		*end;
	u32			peer;
	u32			port;
	unsigned int		life;
	struct nt_ring		*ring;
	u8			state;
	int			ended;
	struct ntw_calling	call;
	u32			room;

	u64			sent, put;
	u64			bulk_end;
	u64			limit;
	struct nt_load		*loads;
	struct list_head	idle, posted;
	bool			starved;

	u64			got, landed;
	u64			used;
	u64			advertised;
	u32			window;
	u8			*backlog;
	const u8		*piece;
	u8			first[NTW_WINDOW_MIN];

	unsigned long		due;
	struct nt_rec		ctrl;
	bool			busy;
	unsigned int		exposed;
	struct list_head	exposures, unexposed;
	u32			key;
	bool			wrapped;
	bool			abort, wants, closing;
	bool			returned;
	bool			leaving;
	atomic_t		pins;
	bool			held;
	struct work_struct	held_work;
	bool			stalled;
	struct list_head	stall;
	struct rcu_head		rcu;
};

static inline struct nt_ep *to_nt_ep(struct kfi_ep *ep)
{
	return container_of(ep, struct nt_ep, pe.ep);
}

static inline struct nt_pep *to_nt_pep(struct kfi_pep *pep)
{
	return container_of(pep, struct nt_pep, ppep.pep);
}

static inline struct nt_domain *to_nt_domain(struct kfi_domain *domain)
{
	return container_of(domain, struct nt_domain, domain);
}

static inline struct nt_mr *to_nt_mr(struct kfi_mr *mr)
{
	return container_of(mr, struct nt_mr, mr);
}

static inline struct nt_stream *nt_stream_of(const struct kfi_link *link)
{
	return container_of(link, struct nt_end, link)->stream;
}

/* The endpoint that has dialed the connection, or the RDM endpoint that was called */
static inline struct nt_ep *nt_link_ep(const struct kfi_link *link)
{
	return container_of(link->ep, struct nt_ep, pe);
}

/* dev.c: bridges and domains */
int nt_devs_init(void);
void nt_devs_exit(void);
/*
 * Return the bridge of this name, or with a NULL name the one whose own end is @side, with a
 * reference; or NULL. May sleep
 */
struct nt_dev *nt_dev_find(const char *name, u32 side);
void nt_dev_get(struct nt_dev *dev);
void nt_dev_put(struct nt_dev *dev);	/* any context */
/* Call @fn for each bridge, with a reference during the call, until it returns nonzero */
int nt_devs_each(int (*fn)(struct nt_dev *dev, void *arg), void *arg);
int nt_domain_open(struct kfi_domain *domain);
void nt_domain_close(struct kfi_domain *domain);
/* Return the bridge of the domain with a reference; NULL if it is being removed. May sleep */
struct nt_dev *nt_domain_dev(struct kfi_domain *domain);
int nt_mem_alloc(struct kfi_domain *domain, struct kfi_mem *mem);
void nt_mem_free(struct kfi_domain *domain, struct kfi_mem *mem);
/*
 * Take port @l->port, or any if that is 0. Process context. Return: 0, -EADDRINUSE, -EADDRNOTAVAIL
 * if no port is free, -ENOMEM
 */
int nt_port_take(struct nt_dev *dev, struct nt_listener *l);
void nt_port_give(struct nt_dev *dev, struct nt_listener *l);

/* info.c, addr.c */
int nt_getinfo(struct kfi_query *q);
int nt_parts(struct net *net, int (*emit)(void *arg, const struct kfi_part *part), void *arg);
int nt_resolve(struct kfi_domain *domain, const char *node, const char *service, void *addr);
int nt_addr_check(struct kfi_domain *domain, u32 format, const void *addr);
void nt_addr_str(const void *addr, size_t len, char *buf, size_t size);
/* operations of &struct kfi_link_ops */
size_t nt_name_len(const void *name);
int nt_name_cmp(const void *a, const void *b);
u32 nt_name_hash(const void *name);
int nt_name_read(const struct kfi_ep *ep, const void *addr, void *name);
int nt_name_write(const struct kfi_ep *ep, const void *name, void *addr);
void nt_name_origin(const void *name, void *origin);
void nt_name_self(struct kfi_link *link, void *name);
size_t nt_name_wire(const void *name, u8 *bytes);
/* Store the side that a node string names, from a bridge's point of view. Return: 0, -ENODATA */
int nt_node_side(struct nt_dev *dev, const char *node, u32 *side);
int nt_port_parse(const char *service, u32 *port);
int nt_source(const struct kfi_info *info, struct nt_dev *dev, struct ntw_addr *addr);

/* ep.c */
int nt_ep_open(struct kfi_ep *ep);
int nt_ep_enable(struct kfi_ep *ep);
void nt_ep_stop(struct kfi_ep *ep, int err);
int nt_ep_getname(struct kfi_ep *ep, void *addr);
int nt_ep_setname(struct kfi_ep *ep, const void *addr, size_t len);
int nt_ep_getpeer(struct kfi_ep *ep, void *addr);
int nt_pep_open(struct kfi_pep *pep);
void nt_pep_close(struct kfi_pep *pep);
int nt_pep_getname(struct kfi_pep *pep, void *addr);
int nt_pep_setname(struct kfi_pep *pep, const void *addr, size_t len);
int nt_pep_listen(struct kfi_pep *pep);

/* call.c: callers */
/* after a failure, too, nt_callers_free() has to be called */
int nt_callers_init(struct nt_dev *dev);
void nt_callers_free(struct nt_dev *dev);
void nt_callers_work(struct work_struct *work);
void nt_callers_drop(struct nt_dev *dev);
void nt_call_in(struct nt_dev *dev, struct nt_ring *ring, const struct ntw_rec *rec,
		const void *body, size_t len);
/* @s: the connection that is called, or NULL */
void nt_answer_in(struct nt_dev *dev, struct nt_ring *ring, struct nt_stream *s,
		  const struct ntw_rec *rec, const void *body, size_t len);

/* stream.c: connections as links of the message protocol */
extern const struct kfi_link_ops nt_link_ops;
/* Create a connection over @dev, with a number. Process context. Return: NULL without memory */
struct nt_stream *nt_stream_new(struct nt_dev *dev, u32 window);
void nt_stream_free(struct nt_stream *s);	/* process context */
void nt_stream_put(struct nt_stream *s);
void nt_stream_publish(struct nt_stream *s);	/* let records find the connection by its number */
void nt_backlog_free(struct nt_stream *s, u8 *backlog);
/*
 * The callers of the next five functions hold @s->lock. nt_ctrl_run() sends records that are due.
 * nt_stream_open() begins to exchange bytes with the connection that has the number @peer at the
 * peer
 */
void nt_ctrl_run(struct nt_stream *s);
void nt_stream_open(struct nt_stream *s, u32 peer, u32 limit);
void nt_stream_due(struct nt_stream *s, int what);
void nt_stream_end(struct nt_stream *s, int err);
void nt_stream_call(struct nt_stream *s);
/*
 * Return: true if the life of the link that the connection belongs to has ended. Called in an RCU
 * section, for which the end of that life waits
 */
bool nt_stream_over(const struct nt_stream *s);
void nt_close_in(struct nt_stream *s, const struct ntw_rec *rec, size_t len);

/* send.c */
int nt_loads_alloc(struct nt_stream *s);	/* process context */
void nt_loads_unpost(struct nt_stream *s);	/* the callers of these two hold @s->lock */
void nt_send_limit(struct nt_stream *s);
int nt_post_unit(struct kfi_link *link, struct kfi_unit *unit);
bool nt_splices(const struct kfi_link *link, const struct iov_iter *iter, size_t len);
u64 nt_sent_to(const struct kfi_link *link);
/*
 * Find up to @max bytes of the places of the unit, from byte @at on; with @one all of them have the
 * same key. @to has room for NT_PLACES entries, and *@count of them are filled in.
 * Return: bytes; 0: there are no such places.
 */
u32 nt_places_cut(const struct kfi_unit *unit, u64 at, u64 max, bool one, struct nt_place *to,
		  unsigned int *count);

/* recv.c */
int nt_window_grow(struct nt_stream *s, u32 window);	/* process context */
u32 nt_advertise(struct nt_stream *s);		/* the callers of these two hold @s->lock */
void nt_advertise_soon(struct nt_stream *s);
bool nt_read(struct kfi_link *link);
void nt_data_in(struct nt_stream *s, const struct ntw_rec *rec, const void *body, size_t len);

/* expose.c: memory that the peer writes to */
int nt_expose(struct kfi_link *link, struct kfi_exposed *x, const struct iov_iter *iter, u64 len,
	      struct kfi_link_place *place, unsigned int max);
int nt_conceal(struct kfi_link *link, struct kfi_exposed *x);
/*
 * The peer has announced bytes that it has written to places. The caller holds @s->lock. Return: 0,
 * or the error with which the connection ends
 */
int nt_placed_in(struct nt_stream *s, const struct ntw_piece *piece);
void nt_exposures_free(struct nt_stream *s);
/* Wait until the peer can't write to our memory through @s any more. Process context, sleeps */
void nt_wait_access_end(struct nt_stream *s);
int nt_mr_reg(struct kfi_mr *mr);		/* process context, these two */
void nt_mr_dereg(struct kfi_mr *mr);

/* place.c: memory of the peer that devices write; operations of &struct kfi_link_ops */
void *nt_place_pages(struct kfi_link *link, const struct kfi_link_place *place, unsigned int n,
		     u64 at, u64 len, struct kfi_dev_place *to);
int nt_unpin(void *pin, const struct kfi_dev_place *place);
/*
 * A CLOSE is about to be sent. Return: true if there are pins, so another CLOSE follows. The caller
 * holds @s->lock
 */
bool nt_stream_note_held(struct nt_stream *s);
void nt_held_work(struct work_struct *work);

#endif /* _KFI_NTB_NTB_H */
