/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ntb.h - the objects of kfi_ntb above a bridge (link.h): endpoints, and connections.
 *
 * MSG and RDM endpoints use the message protocol of kfi.ko. A connection is a stream of bytes in
 * each direction (struct nt_stream), and a link of the message protocol (struct nt_end, see
 * kfi_link.h). docs/wire-ntb-endpoints.md describes the records.
 *
 * Locks, outermost first:
 *
 *   nt_dev.answering (mutex)	ports of a bridge, while a caller is added to a listener
 *   kfi_home.lock		see kfi_home.h
 *   nt_stream.lock (spin, bh)	the members marked (L) in struct nt_stream; it is the link's lock of
 *				kfi_link.h. A post only tries it
 *   nt_dev.lock (spin, bh)	callers, and connections that wait for room
 *   nt_mirror.lock, locks of the ring (link.h)
 */
#ifndef _KFI_NTB_NTB_H
#define _KFI_NTB_NTB_H

#include <linux/completion.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/workqueue.h>
#include <kfi_link.h>
#include "link.h"
#include "record.h"

#define NT_IOV_MAX	256
#define NT_DEPTH	4096		/* operations of an endpoint, each direction */
#define NT_INJECT	512
#define NT_CTX_MAX	256		/* contexts of a scalable endpoint, in each direction */
#define NT_MSG_MAX	(1UL << 30)
#define NT_CALLERS	512U		/* callers that were not looked at yet */
#define NT_ANSWERED	32		/* callers that are looked at before other work items run */
#define NT_RX_STEPS	2048		/* steps of one run of nt_read() */
#define NT_LOADS	8		/* payloads of a connection that the engine reads */
#define NT_LEAVING	16384		/* closed streams that wait for room for their last record */
#define NT_PLACES	16		/* places of one of them */
#define NT_STRETCH	NT_LOAD_MAX	/* placed bytes that one record stands for */
#define NT_CHECKED	262144U		/* ... with a CRC, which is computed under a lock */
#define NT_RETURN_MS	5000		/* for the CLOSE of a peer that can write to our memory */
#define NT_PREFIX	(sizeof(struct ntw_rec) + sizeof(struct ntw_data))

/* Module parameters (main.c) */
extern unsigned int nt_stream_kib;
extern struct kfi_proto nt_proto;

extern struct workqueue_struct *nt_cm_wq;	/* unbound: connections come and go */
extern struct workqueue_struct *nt_mirror_wq;	/* unbound: mirrors, for which works of nt_cm_wq wait */

struct nt_dev;
struct nt_ep;
struct nt_pep;

/**
 * struct nt_listener - a port of a bridge at which an endpoint listens
 * @port: number of the port; 0: none
 * @nep: @npep: the endpoint; one of them
 *
 * In &nt_dev.ports. To remove it, wait for &nt_dev.answering, which protects its users.
 */
struct nt_listener {
	u32		port;
	struct nt_ep	*nep;
	struct nt_pep	*npep;
};

/**
 * struct nt_mirror - records to our own end of a bridge
 * @dev:	the bridge
 * @lock:	protects @queue
 * @queue:	records
 * @work:	hands them over
 * @buf:	one of them, for @work
 */
struct nt_mirror {
	struct nt_dev		*dev;
	spinlock_t		lock;
	struct list_head	queue;
	struct work_struct	work;
	void			*buf;
};

/**
 * struct nt_kin - which machine is at the other end of a bridge, as the machine has said; way.c
 * @host:	0: not known
 * @bridge:	its number of the bridge
 * @here:	it has said so in this life of the link
 */
struct nt_kin {
	u64	host;
	u32	bridge;
	bool	here;
};

/**
 * struct nt_caller - a CALL that was not looked at yet, or a number that wants a CLOSE
 * @entry:	in &nt_dev.callers or &nt_dev.spares
 * @mirror:	from our own end
 * @version:	CALL of another version
 * @close:	not a CALL: the other side has to be told that there is no connection
 * @life:	of the link, when it came
 * @call:	the CALL
 */
struct nt_caller {
	struct list_head	entry;
	bool			mirror;
	bool			version;
	bool			close;
	unsigned int		life;
	struct ntw_calling	call;
};

/**
 * struct nt_dev - a bridge
 * @link:	the bridge; there as long as there is a reference
 * @entry:	in the list of all
 * @users:	references: an open domain until the device goes, a listener, a connection, a query
 * @idle:	wakes the removal
 * @streams:	connections by our number; found under RCU
 * @ports:	struct nt_listener by port
 * @answering:	protects the listener that was found in @ports, until the caller is listed
 * @back:	wakes nt_close(), which waits for the peer or for the end of a life of the link
 * @next_number: @next_port: where to look for a free number; random at first, and not soon used
 *		again, so that a record for an earlier one finds no connection
 * @going:	the bridge goes
 * @lock:	protects @callers, @spares, @kin, @stalled
 * @callers:	calls that were not looked at yet
 * @spares:	NT_CALLERS for the peer, and for our own end; @caller_mem: all of them
 * @refusals:	struct nt_refusal under way, at most NT_CALLERS
 * @leaving:	closed streams whose last record has not found room in the ring yet
 * @stalled:	connections that wait for room in the ring
 * @cm_work:	looks at @callers
 * @mirror:	for endpoints of one end that talk to each other
 * @number:	of this end, which the peer is told; @kin: the other end
 * @kin_rec:	what we say of that; @kin_work: what it leads to
 */
struct nt_dev {
	struct nt_link		*link;
	struct list_head	entry;
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
	struct list_head	spares[2];
	struct nt_caller	*caller_mem;
	atomic_t		refusals;
	atomic_t		leaving;
	struct list_head	stalled;
	struct work_struct	cm_work;
	struct nt_mirror	mirror;
	u32			number;
	struct nt_kin		kin;
	struct nt_rec		kin_rec;
	struct work_struct	kin_work;
};

/**
 * struct nt_domain - an open domain: one bridge
 * @domain: common part
 * @dev: its bridge. After the bridge has gone, only an object with a reference may use it
 * @entry: in the list of domains, until the bridge goes: then its reference has gone
 */
struct nt_domain {
	struct kfi_domain	domain;
	struct nt_dev		*dev;
	struct list_head	entry;
};

/**
 * struct nt_mr - a memory region
 * @mr:	common part
 * @at:	where the peer of @dev finds it in a window over what is registered; 0: nowhere. It has a reference of @dev then
 * @dev: see @at
 */
struct nt_mr {
	struct kfi_mr	mr;
	u64		at;
	struct nt_dev	*dev;
};

/**
 * struct nt_ep - an endpoint
 * @pe:		common part
 * @dev:	its bridge; there until ep_stop has returned
 * @addr:	own name; the port is fixed at enable
 * @listener:	RDM: where peers call
 */
struct nt_ep {
	struct kfi_proto_ep	pe;
	struct nt_dev		*dev;
	struct ntw_addr		addr;
	struct nt_listener	listener;
};

/**
 * struct nt_pep - a passive endpoint
 * @ppep:	common part
 * @dev:	its bridge, with a reference
 * @addr:	where it listens
 * @listener:	the same
 */
struct nt_pep {
	struct kfi_proto_pep	ppep;
	struct nt_dev		*dev;
	struct ntw_addr		addr;
	struct nt_listener	listener;
};

struct nt_stream;

/**
 * struct nt_end - a connection as the message protocol sees it
 * @link:	common part
 * @stream:	the connection, with a reference until ops->close()
 */
struct nt_end {
	struct kfi_link		link;
	struct nt_stream	*stream;
};

/**
 * struct nt_load - payload that the engine reads where it is
 * @rec:	the record
 * @stream:	the connection, which waits for it in nt_close()
 * @entry:	in &nt_stream.idle or &nt_stream.flying (L)
 * @at:		bytes that were sent before (L)
 * @place:	where the payload goes, if not into the stream
 * @copy:	payload for places that can't be read later; @vec: describes it
 */
struct nt_load {
	struct nt_rec		rec;
	struct nt_stream	*stream;
	struct list_head	entry;
	u64			at;
	struct nt_place		place[NT_PLACES];
	struct kvec		vec;
	u8			copy[NT_COPY];
};

/**
 * struct nt_exposure - memory that the peer writes to, if its payload has a CRC; all (L)
 * @entry:	in &nt_stream.exposures or &nt_stream.unexposed
 * @key:	&kfi_place.key of its places, without the window
 * @iter:	the memory
 * @len:	bytes of it; @checked: bytes that the peer has reported. Each is reported once
 */
struct nt_exposure {
	struct list_head	entry;
	u32			key;
	struct iov_iter		iter;
	u64			len;
	u64			checked;
};

/** enum nt_stream_state - (L) */
enum nt_stream_state {
	NT_NEW,		/* not called yet, or the link of the bridge is awaited */
	NT_CALLED,	/* CALL is due, ANSWER is awaited */
	NT_OPEN,	/* both numbers are known */
	NT_CLOSED,	/* ops->close() was called */
};

/* Records of a connection without bytes, in the order in which they are sent: &nt_stream.due */
enum {
	NT_DUE_CALL,
	NT_DUE_ANSWER,
	NT_DUE_LIMIT,		/* DATA without bytes */
	NT_DUE_CLOSE,
};

/**
 * struct nt_stream - a connection
 * @ref:	references: the struct nt_end, @word under way, @stall in a list
 * @lock:	protects the members marked (L), and is the lock of the link
 * @dev:	the bridge that carries it, with a reference
 * @id:		our number
 * @mirror:	the peer is at our own end
 * @end:	for callbacks; NULL: there are none any more (L)
 * @peer:	the peer's number; 0: not known yet (L)
 * @life:	of the link that it belongs to; from NT_CALLED on
 * @state:	&enum nt_stream_state (L)
 * @ended:	0, or why no more bytes come; negative errno. Written under @lock
 * @call:	what CALL says
 * @room:	bytes of the stream in one record, from NT_OPEN on
 * @sent:	bytes that were sent in DATA (L); @put: bytes that were sent to places (L)
 * @limit:	bytes that may be sent in DATA (L)
 * @loads:	NT_LOADS, from ops->admit() on; @idle: @flying: those that are unused, and under
 *		way, in order (L)
 * @starved:	a post has found no unused load (L)
 * @got:	bytes that have arrived in DATA (L); @landed: at our places (L)
 * @used:	... and were passed to the protocol (L)
 * @told:	bytes that the peer may send, as it was told (L)
 * @window:	bytes of @backlog, a power of two (L)
 * @backlog:	bytes from @used to @got, unless they are in @piece; byte p is at p mod @window (L)
 * @piece:	bytes of a record that is being handled, from @used to @got; else NULL (L)
 * @first:	@backlog of a caller that was not admitted yet
 * @due:	records to be sent by @word, bits (L)
 * @word:	one of them; @busy: it is under way (L)
 * @exposed:	pieces of memory that the peer can write to (L)
 * @exposures:	struct nt_exposure (L); @unexposed: those for reuse (L); @key: of the last one (L)
 * @abort:	the CLOSE says so; @wants: it asks for one of the peer; @closing: it is due or was
 *		sent (L)
 * @returned:	the peer has sent its CLOSE. Written under @lock
 * @leaving:	closed, and counted in &nt_dev.leaving
 * @stalled:	@stall is in &nt_dev.stalled (L)
 * @stall:	entry there, under nt_dev.lock
 * @rcu:	frees it
 */
struct nt_stream {
	refcount_t		ref;
	spinlock_t		lock;
	struct nt_dev		*dev;
	u32			id;
	bool			mirror;
	struct nt_end		*end;
	u32			peer;
	unsigned int		life;
	u8			state;
	int			ended;
	struct ntw_calling	call;
	u32			room;

	u64			sent, put;
	u64			limit;
	struct nt_load		*loads;
	struct list_head	idle, flying;
	bool			starved;

	u64			got, landed;
	u64			used;
	u64			told;
	u32			window;
	u8			*backlog;
	const u8		*piece;
	u8			first[NTW_WINDOW_MIN];

	unsigned long		due;
	struct nt_rec		word;
	bool			busy;
	unsigned int		exposed;
	struct list_head	exposures, unexposed;
	u32			key;
	bool			abort, wants, closing;
	bool			returned;
	bool			leaving;
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

/* Bytes of the window of a connection whose peer is known */
static inline u32 nt_window(void)
{
	return nt_stream_kib * 1024;
}

/* The endpoint of a connection that was dialed, or that has called an RDM endpoint */
static inline struct nt_ep *nt_link_ep(const struct kfi_link *link)
{
	return container_of(link->ep, struct nt_ep, pe);
}

/* dev.c: bridges come and go */
int nt_devs_init(void);
void nt_devs_exit(void);
/* With a reference, or NULL. By name; else (name NULL) by the side of its own end. May sleep */
struct nt_dev *nt_dev_find(const char *name, u32 side);
void nt_dev_get(struct nt_dev *dev);
void nt_dev_put(struct nt_dev *dev);	/* any context */
/* Each bridge, with a reference while fn runs, until it answers nonzero */
int nt_devs_each(int (*fn)(struct nt_dev *dev, void *arg), void *arg);
int nt_domain_open(struct kfi_domain *domain);
void nt_domain_close(struct kfi_domain *domain);
/* Its bridge, with a reference; NULL: that goes. May sleep */
struct nt_dev *nt_domain_dev(struct kfi_domain *domain);
int nt_mem_alloc(struct kfi_domain *domain, struct kfi_mem *mem);
void nt_mem_free(struct kfi_domain *domain, struct kfi_mem *mem);
/* Take a port; 0 in @l->port: any. Process context. 0, -EADDRINUSE, -ENOMEM */
int nt_port_take(struct nt_dev *dev, struct nt_listener *l);
void nt_port_give(struct nt_dev *dev, struct nt_listener *l);

/* A record for endpoints of @dev. Softirq, or bottom halves off; in an RCU section */
void nt_record_in(struct nt_dev *dev, const struct ntw_rec *rec, const void *body, size_t len,
		  bool mirror);

/* way.c: several bridges to one machine */
void nt_ways_init(void);
void nt_kin_init(struct nt_dev *dev);
void nt_kin_say(struct nt_dev *dev);
void nt_kin_lost(struct nt_dev *dev);
void nt_kin_in(struct nt_dev *dev, const struct ntw_rec *rec, const void *body, size_t len);
void nt_kin_look(struct nt_dev *dev);
struct nt_dev *nt_called_dev(struct nt_dev *dev, u32 number);
u32 nt_call_number(struct nt_dev *way, struct nt_dev *own);
struct nt_dev *nt_way(struct nt_ep *nep, const struct ntw_addr *to);
bool nt_way_other(struct nt_ep *nep, struct nt_dev *dev, const struct ntw_addr *to);

/* mirror.c: as in link.h, to our own end */
int nt_mirror_init(struct nt_mirror *mirror, struct nt_dev *dev);
void nt_mirror_free(struct nt_mirror *mirror);
void nt_mirror_post(struct nt_mirror *mirror, struct nt_rec *rec);
int nt_mirror_put(struct nt_mirror *mirror, const struct kvec *vec, unsigned int n,
		  struct iov_iter *iter, u32 len);
void nt_mirror_work(struct work_struct *work);

/* info.c, addr.c */
int nt_getinfo(struct kfi_query *q);
int nt_resolve(struct kfi_domain *domain, const char *node, const char *service, void *addr);
int nt_addr_check(struct kfi_domain *domain, const void *addr);
void nt_addr_str(const void *addr, size_t len, char *buf, size_t size);
/* For &struct kfi_link_ops */
size_t nt_name_len(const void *name);
int nt_name_cmp(const void *a, const void *b);
u32 nt_name_hash(const void *name);
int nt_name_read(const struct kfi_ep *ep, const void *addr, void *name);
int nt_name_write(const struct kfi_ep *ep, const void *name, void *addr);
void nt_name_source(const void *name, void *source);
void nt_name_self(struct kfi_link *link, void *name);
/* The side that a node string names, from a bridge's point of view. 0, -ENODATA */
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
int nt_callers_init(struct nt_dev *dev);	/* on failure nt_callers_free() is due, too */
void nt_callers_free(struct nt_dev *dev);
void nt_callers_work(struct work_struct *work);
void nt_callers_drop(struct nt_dev *dev);	/* those of the peer */
void nt_call_in(struct nt_dev *dev, const struct ntw_rec *rec, const void *body, size_t len,
		bool mirror);
void nt_answer_in(struct nt_dev *dev, struct nt_stream *s, const struct ntw_rec *rec,
		  const void *body, size_t len, bool mirror);

/* stream.c: connections as links of the message protocol */
extern const struct kfi_link_ops nt_link_ops;
/* A connection by @dev, with a number. Process context. Return: NULL: no memory */
struct nt_stream *nt_stream_new(struct nt_dev *dev, u32 window);
void nt_stream_free(struct nt_stream *s);	/* process context */
void nt_stream_put(struct nt_stream *s);
void nt_stream_publish(struct nt_stream *s);	/* make it findable by its number */
void nt_backlog_free(struct nt_stream *s, u8 *backlog);
/* The lock is held, these four. It is open, and records may come for it. */
void nt_stream_open(struct nt_stream *s, u32 peer, u32 limit);
void nt_stream_due(struct nt_stream *s, int what);
void nt_stream_end(struct nt_stream *s, int err);
void nt_stream_call(struct nt_stream *s);
/* Is the life of the link over that it belongs to? In an RCU section, for which its end waits */
bool nt_stream_over(const struct nt_stream *s);
void nt_close_in(struct nt_stream *s, const struct ntw_rec *rec, size_t len);

/* send.c */
int nt_loads_alloc(struct nt_stream *s);	/* process context */
void nt_loads_unpost(struct nt_stream *s);	/* the lock is held */
int nt_post_unit(struct kfi_link *link, struct kfi_unit *unit);
bool nt_splices(const struct kfi_link *link, const struct iov_iter *iter, size_t len);
u64 nt_sent_to(const struct kfi_link *link);

/* recv.c */
int nt_window_grow(struct nt_stream *s);	/* process context */
u32 nt_tell(struct nt_stream *s);		/* the lock is held, these two */
void nt_tell_soon(struct nt_stream *s);
bool nt_read(struct kfi_link *link);
void nt_data_in(struct nt_stream *s, const struct ntw_rec *rec, const void *body, size_t len);

/* expose.c: memory that the peer writes to */
int nt_expose(struct kfi_link *link, struct kfi_exposed *x, const struct iov_iter *iter, u64 len,
	      struct kfi_place *place, unsigned int max);
int nt_conceal(struct kfi_link *link, struct kfi_exposed *x);
/* The peer says that it has written to places. The lock is held. Return: 0, or why the connection ends */
int nt_placed_in(struct nt_stream *s, const struct ntw_piece *piece);
void nt_exposures_free(struct nt_stream *s);
/* On return the peer can't write to our memory by @s any more. Process context, sleeps */
void nt_recall(struct nt_stream *s);
int nt_mr_reg(struct kfi_mr *mr);		/* process context, these two */
void nt_mr_dereg(struct kfi_mr *mr);

#endif /* _KFI_NTB_NTB_H */
