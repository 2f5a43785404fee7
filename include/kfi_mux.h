/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kfi_mux.h - the contract between the multiplexer in kfi.ko and a network with one other end.
 *
 * A bridge between two machines and a cable between two machines have the same shape: there is one
 * peer, and one way to it, which carries records in order. The multiplexer (kfi/mux/) makes
 * many connections of that: numbers, calls and answers, a stream of bytes in each direction with a
 * window, and an orderly end. Each connection is a link of the message protocol (kfi_link.h). The
 * multiplexer also has what is above the ways: their list, domains, endpoints, names, ports and
 * discovery. A provider moves records, says when its way is up and when it is down, and puts the
 * kfi_mux_*() functions below into its &struct kfi_prov_ops and &struct kfi_link_ops.
 *
 * docs/wire-mux.md describes the records.
 */
#ifndef _KFI_MUX_H
#define _KFI_MUX_H

#include <linux/completion.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/uio.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <kfi_hold.h>
#include <kfi_link.h>
#include <kfi_mux_rec.h>

/** KFI_MUX_LANES - lanes of a way, at most */
#define KFI_MUX_LANES		8
/** KFI_MUX_SIDE_MAX - bytes that identify an end of a way, at most */
#define KFI_MUX_SIDE_MAX	16

struct kmx_caller;
struct kfi_mux;
struct kfi_mux_stream;

/**
 * DOC: Ways, lanes and lives
 *
 * A *way* (struct kfi_mux) leads to one other end. It has one or more *lanes*: the records of a
 * lane are handled in the order in which they were sent, except that records with bytes may
 * overtake those of other connections. A connection has the same lane in both directions.
 *
 * A way is up for some time, which is one *life*, and then down. All connections of a life end with
 * it. The provider calls kfi_mux_up() and kfi_mux_down() in turn, and never at the same time. It
 * counts lives in &kfi_mux.life, which it changes before kfi_mux_down().
 *
 * In a life nothing may get through for some time, and nothing be lost: the provider keeps what it
 * was given, and sends it later. It says so by kfi_mux_hold(), and connections do not notice.
 *
 *	kfi_mux_prov_init()			the provider
 *	kfi_mux_init(), kfi_mux_list()		a way
 *	kfi_mux_set_ends()			before or after kfi_mux_list()
 *	{ kfi_mux_up(), { kfi_mux_hold(), kfi_mux_resume() } ..., kfi_mux_down() } ...
 *	kfi_mux_unlist(), kfi_mux_gone()	no consumer finds the way any more; instead of
 *						kfi_mux_unlist() kfi_mux_retire() for a way that
 *						nobody uses
 *	(the provider takes its way down)
 *	kfi_mux_drop(), kfi_mux_idle()		the last reference is gone
 *	kfi_mux_destroy()
 */

/**
 * struct kfi_mux_ctl - a record without bytes that may wait for room; the provider's structure
 *	begins with it
 * @rec: the record
 * @owner: for the multiplexer
 * @end: set by the provider before @sent: position on its way behind the record, for
 *	&kfi_mux_stream.behind
 * @sent: called by the provider when the record was sent, or the life has ended, with no lock of
 *	its own held, and never from within @post. Any context but hard interrupts
 */
struct kfi_mux_ctl {
	struct kfi_mux_rec	rec;
	void			*owner;
	u64			end;
	void			(*sent)(struct kfi_mux_ctl *ctl);
};

/**
 * struct kfi_mux_ops - operations of a provider
 * @stream_size: bytes of the provider's structure for a connection, which begins with
 *	&struct kfi_mux_stream
 * @ctl_size: bytes of the provider's structure for a record, which begins with &struct kfi_mux_ctl
 *
 * @put: send a record, and behind it in the same record @len bytes at @bytes and the next @load
 *	bytes of @payload, all of which are copied. With @more another record follows at once: this
 *	one may wait for it, or for @kick. The record has room in &kfi_mux_ops.room. It does not
 *	overtake a record of the same connection, also not one that waits since @post. Returns 0, or
 *	-EAGAIN if there is no room, or the way is down. Called under the lock of the connection
 * @want: after -EAGAIN of @put: call kfi_mux_room() for the lane when there is room. Called as @put
 * @post: send @ctl, when there is room. Records of one lane that were posted are handled in the
 *	order of the calls, whatever their connections are. Returns 0, then &kfi_mux_ctl.sent is
 *	called once; or -ENOTCONN if the way is down, as it is between a change of &kfi_mux.life and
 *	the next kfi_mux_up(). Called in an RCU section in any context but hard interrupts, perhaps
 *	under the lock of a connection
 * @kick: send what waits for another record to follow. The way may be down, as for @room
 * @room: bytes that may follow the header in a record of this lane, at least
 *	KFI_MUX_WINDOW_MIN. Constant in a life
 * @fault: end this life of the way soon, unless it has ended already. Called perhaps under the lock
 *	of a connection
 * @side: read the number or the name of an end from a string, which may be an end of another way;
 *	one name may stand for different ends of different ways. Process context. Returns 0;
 *	-EINVAL; or -ENOTUNIQ if several machines have that name, so that it stands for none
 * @called: optional: returns true if the way has this name, too, beside &kfi_mux.name. No other way
 *	may have it. Process context, with a reference of the way and no lock of kfi.ko but that of
 *	a fabric
 *
 * @stream_init: initialise the provider's part of a connection, which is cleared, and set
 *	&kfi_mux_stream.ctl to a record in that part
 * @opened: optional: both sides know the other's number. Sets &kfi_link.checks and &kfi_link.pages.
 *	Called under the lock of the connection
 * @admitted: optional: the peer is admitted. Returns 0 or -ENOMEM. Process context, NOIO
 * @withdraw: optional: the connection is being closed: take back payload that waits for room, and
 *	set &kfi_mux_stream.abort if there was some. Called under the lock of the connection
 * @closed: optional: wait until the way does not read memory of the connection any more, and the
 *	peer does not write any. Process context, sleeps
 * @held: optional: a CLOSE is about to be sent. Returns true if devices of this machine still write
 *	to memory of the peer: then kfi_mux_close_again() follows. Called under the lock of the
 *	connection
 * @splice_fits: optional: returns true if payload behind @len bytes that are copied is to be read
 *	where it is, and reduces *@load to the bytes that one record may have of it; or false, and
 *	*@load is not changed, or 0 if the payload has to be in a record of its own. Called as @put
 * @splice: with @splice_fits: as @put, but @payload is not copied. It is read until
 *	&kfi_link_ops.sent_to says otherwise. After -EAGAIN the provider itself calls
 *	kfi_link_room() later. Called as @put
 * @put_places: optional: send bytes of @unit to places of the peer, of which byte @at is the next
 *	one, and behind them the record that announces them (kfi_mux_announce()). Returns 0;
 *	-EAGAIN, then kfi_link_room() follows; -EPROTO if the peer has named places that can't be
 *	reached. Called as @put
 * @placed: with @put_places: bytes were placed. Returns 0, or the negative errno with which the
 *	connection ends. Called under the lock of the connection
 */
struct kfi_mux_ops {
	size_t	stream_size;
	size_t	ctl_size;

	int	(*put)(struct kfi_mux_stream *s, const struct kfi_mux_rec *rec, const void *bytes,
		       u32 len, struct iov_iter *payload, u32 load, bool more);
	void	(*want)(struct kfi_mux_stream *s);
	int	(*post)(struct kfi_mux *mux, unsigned int lane, struct kfi_mux_ctl *ctl);
	void	(*kick)(struct kfi_mux *mux, unsigned int lane);
	u32	(*room)(struct kfi_mux *mux, unsigned int lane);
	void	(*fault)(struct kfi_mux *mux, unsigned int life, const char *why);
	int	(*side)(struct kfi_mux *mux, const char *text, void *side);
	bool	(*called)(struct kfi_mux *mux, const char *name);

	void	(*stream_init)(struct kfi_mux_stream *s);
	void	(*opened)(struct kfi_mux_stream *s);
	int	(*admitted)(struct kfi_mux_stream *s);
	void	(*withdraw)(struct kfi_mux_stream *s);
	void	(*closed)(struct kfi_mux_stream *s);
	bool	(*held)(struct kfi_mux_stream *s);

	bool	(*splice_fits)(struct kfi_mux_stream *s, u32 len, const struct iov_iter *payload,
			       u32 *load);
	int	(*splice)(struct kfi_mux_stream *s, const struct kfi_mux_rec *rec,
			  const void *bytes, u32 len, struct iov_iter *payload, u32 load,
			  bool more);
	int	(*put_places)(struct kfi_mux_stream *s, struct kfi_unit *unit, u64 at);
	int	(*placed)(struct kfi_mux_stream *s, const struct kfi_mux_piece *piece);
};

/**
 * struct kfi_mux_prov - a provider whose ways the multiplexer serves
 * @prov: description of the provider; the name of its fabric is the same as its name
 * @proto: the message protocol over its connections
 * @ops: see &struct kfi_mux_ops
 * @addr_format: KFI_ADDR_*: @side_len bytes that identify an end, and a port, __le32. Our ends of
 *	several ways may be identified alike
 * @side_len: bytes that identify an end
 * @protocol: KFI_PROTO_*
 * @stream_kib: KiB that a peer may send ahead on a connection, a power of two from 4 to 8192
 * @lock: protects @list, @number and @domains. No other function of kfi.ko is called under it
 * @list: ways that consumers find, in the order of &kfi_mux.number
 * @number: number of the way that was added last
 * @domains: open domains whose way was not removed
 * @wq: unbound; runs the work items of ways and connections
 *
 * The members from @lock on are the multiplexer's, except that the provider may queue work to @wq.
 */
struct kfi_mux_prov {
	struct kfi_provider		prov;
	struct kfi_proto		*proto;
	const struct kfi_mux_ops	*ops;
	u32				addr_format;
	u32				side_len;
	u32				protocol;
	unsigned int			stream_kib;

	struct mutex			lock;
	struct list_head		list;
	u32				number;
	struct list_head		domains;
	struct workqueue_struct		*wq;
};

/**
 * struct kfi_mux - a way to one other end; embedded in the provider's structure
 * @caps: capabilities of its endpoints beside those of the protocol. Set by the provider before
 *	kfi_mux_list()
 * @life: number of the life. The provider changes it before kfi_mux_down(); kfi_mux_life()
 *	elsewhere
 * @lanes: lanes in use. Set by the provider before kfi_mux_up(), for this life
 *
 * The other members are the multiplexer's; a provider may read @name, @number and @going, and wait
 * at @back.
 *
 * @prov: the provider
 * @ops: &kfi_mux_prov.ops
 * @name: name of the domain of this way; valid as long as the structure
 * @number: number of the way, from 1; 0 before kfi_mux_list()
 * @own: what identifies our end
 * @peer: what identifies the other end
 * @named: both are known, see kfi_mux_set_ends()
 * @up: the way is up
 * @hold: it is held, and for how long it was before
 * @going: the way is being removed
 * @back: wakes contexts that wait for the peer or for the end of a life
 * @users: references: one of the provider until kfi_mux_drop(); of each open domain until then; of
 *	passive endpoints, connections, refusals, queries, and what a provider adds
 * @idle: completed when the last reference is dropped
 * @entry: entry in &kfi_mux_prov.list
 * @streams: connections by our number; looked up under RCU
 * @ports: struct kmx_listener by port
 * @answering: held from the look-up of a listener in @ports until the caller is in its connection
 *	set
 * @next_number: number at which the search for a free number of a connection begins. It is random
 *	at first and counts up, so that a record for an earlier connection finds no connection
 * @next_port: port at which the search for a free port begins
 * @lock: protects @callers, @spares and @stalled
 * @callers: callers that were not handled yet
 * @spares: unused entries of @caller_mem
 * @caller_mem: memory of both
 * @refusals: refusals that were posted and not sent
 * @leaving: closed connections whose last record has not found room yet
 * @stalled: connections that wait for room, for each lane
 * @work: handles @callers
 */
struct kfi_mux {
	u64			caps;
	unsigned int		life;
	unsigned int		lanes;

	struct kfi_mux_prov	*prov;
	const struct kfi_mux_ops *ops;
	const char		*name;
	u32			number;
	u8			own[KFI_MUX_SIDE_MAX];
	u8			peer[KFI_MUX_SIDE_MAX];
	bool			named;
	bool			up;
	struct kfi_hold		hold;
	bool			going;
	wait_queue_head_t	back;

	refcount_t		users;
	struct completion	idle;
	struct list_head	entry;
	struct xarray		streams;
	struct xarray		ports;
	struct mutex		answering;
	u32			next_number;
	u32			next_port;
	spinlock_t		lock;
	struct list_head	callers;
	struct list_head	spares;
	struct kmx_caller	*caller_mem;
	atomic_t		refusals;
	atomic_t		leaving;
	struct list_head	stalled[KFI_MUX_LANES];
	struct work_struct	work;
};

/**
 * struct kfi_mux_domain - an open domain: one way; the provider's structure begins with it
 * @domain: common part
 * @mux: its way. After the removal of the way, only an object that holds a reference of its own may
 *	use it
 * @entry: entry in &kfi_mux_prov.domains. The domain has a reference of @mux as long as it is in
 *	the list, which is at most until the way is removed
 */
struct kfi_mux_domain {
	struct kfi_domain	domain;
	struct kfi_mux		*mux;
	struct list_head	entry;
};

/**
 * struct kfi_mux_listener - a port of a way at which an endpoint listens
 * @port: number of the port; 0: no port is taken
 * @pe: the RDM endpoint, or NULL
 * @ppep: the passive endpoint, or NULL
 *
 * An entry of &kfi_mux.ports, used under &kfi_mux.answering.
 */
struct kfi_mux_listener {
	u32			port;
	struct kfi_proto_ep	*pe;
	struct kfi_proto_pep	*ppep;
};

/**
 * struct kfi_mux_ep - an endpoint
 * @pe: common part
 * @mux: its way; valid until ep_stop() has returned
 * @port: own port; constant after enable. 0: it has none
 * @listener: RDM: the port that peers call
 */
struct kfi_mux_ep {
	struct kfi_proto_ep	pe;
	struct kfi_mux		*mux;
	u32			port;
	struct kfi_mux_listener	listener;
};

/**
 * struct kfi_mux_pep - a passive endpoint
 * @ppep: common part
 * @mux: its way, with a reference
 * @port: port at which it listens
 * @listener: the same
 */
struct kfi_mux_pep {
	struct kfi_proto_pep	ppep;
	struct kfi_mux		*mux;
	u32			port;
	struct kfi_mux_listener	listener;
};

/**
 * struct kfi_mux_end - a connection as a link of the message protocol
 * @link: common part
 * @stream: the connection, with a reference until ops->close()
 */
struct kfi_mux_end {
	struct kfi_link		link;
	struct kfi_mux_stream	*stream;
};

/**
 * enum kfi_mux_state - state of a connection (L)
 * @KFI_MUX_NEW: not called yet, or the way is down
 * @KFI_MUX_CALLED: CALL is due or was sent, and ANSWER has not come
 * @KFI_MUX_OPEN: both sides know the other's number
 * @KFI_MUX_CLOSED: ops->close() was called
 */
enum kfi_mux_state {
	KFI_MUX_NEW,
	KFI_MUX_CALLED,
	KFI_MUX_OPEN,
	KFI_MUX_CLOSED,
};

/**
 * struct kfi_mux_stream - a connection: a stream of bytes in each direction; the provider's
 *	structure begins with it
 * @ref: references: of the &struct kfi_mux_end; of @ctl while it is posted; of @stall while it is
 *	in a list; and those of the provider
 * @lock: protects the members marked (L); it is also the lock of the link of the message protocol
 * @mux: the way of the connection, with a reference
 * @id: our number of the connection
 * @end: the link of the message protocol; NULL: no callback is called any more (L)
 * @peer: the peer's number of the connection; 0: not known yet (L)
 * @port: port of this side: that it calls from, or at which it was called
 * @to: port that this side calls
 * @life: life of the way that the connection belongs to; set from KFI_MUX_CALLED on
 * @lane: its lane, in both directions; as @life
 * @state: &enum kfi_mux_state (L)
 * @ended: 0, or the reason why no more bytes come, a negative errno. Written under @lock
 * @room: bytes of the stream that fit in one record; set from KFI_MUX_OPEN on
 * @sent: bytes that were sent in DATA (L)
 * @put: bytes that were sent to places (L)
 * @limit: bytes that may be sent in DATA (L)
 * @behind: for the provider: position on its way. Records that are sent earlier are not handled
 *	before the records of the connection below it. 0 at the beginning of a life (L)
 * @got: bytes that were received in DATA (L)
 * @landed: bytes that were received at our places (L)
 * @used: bytes of @got that were passed to the protocol (L)
 * @advertised: position in DATA up to which the peer was allowed to send (L)
 * @window: bytes of @backlog, a power of two (L)
 * @backlog: bytes from @used to @got, unless they are in @piece. Byte p is at p mod @window (L)
 * @piece: bytes from @used to @got of the record that is being handled, or NULL (L)
 * @first: @backlog of a caller that was not admitted yet
 * @due: records that have to be sent, bits (L)
 * @ctl: record without bytes, from &kfi_mux_ops.stream_init
 * @busy: @ctl is posted (L)
 * @exposed: number of pieces of memory that the peer can write to. The provider counts them (L)
 * @abort: bytes that were accepted are lost, and the CLOSE says so (L)
 * @wants: the CLOSE asks for a CLOSE of the peer, because memory is exposed (L)
 * @closing: the CLOSE is due or was sent (L)
 * @returned: the last CLOSE of the peer has come. Written under @lock
 * @leaving: the connection is closed, and counted in &kfi_mux.leaving
 * @stalled: @stall is in &kfi_mux.stalled (L)
 * @stall: entry in &kfi_mux.stalled, under &kfi_mux.lock
 * @rcu: frees the structure
 */
struct kfi_mux_stream {
	refcount_t		ref;
	spinlock_t		lock;
	struct kfi_mux		*mux;
	u32			id;
	struct kfi_mux_end	*end;
	u32			peer;
	u32			port, to;
	unsigned int		life;
	u8			lane;
	u8			state;
	int			ended;
	u32			room;

	u64			sent, put;
	u64			limit;
	u64			behind;

	u64			got, landed;
	u64			used;
	u64			advertised;
	u32			window;
	u8			*backlog;
	const u8		*piece;
	u8			first[KFI_MUX_WINDOW_MIN];

	unsigned long		due;
	struct kfi_mux_ctl	*ctl;
	bool			busy;
	unsigned int		exposed;
	bool			abort, wants, closing;
	bool			returned;
	bool			leaving;
	bool			stalled;
	struct list_head	stall;
	struct rcu_head		rcu;
};

/* ------------------------------------------------------------------ */
/* A provider and its ways						      */
/* ------------------------------------------------------------------ */

/**
 * kfi_mux_prov_init() - prepare the multiplexer and the protocol for a provider
 * @mp: the provider. Calls kfi_proto_init(), so kfi_mux_prov_exit() calls kfi_proto_exit()
 *
 * Before kfi_provider_register() and after kfi_provider_deregister(). Context: process.
 * Return: 0; -ENOMEM; -EINVAL if lengths of names do not fit together.
 */
int kfi_mux_prov_init(struct kfi_mux_prov *mp);
void kfi_mux_prov_exit(struct kfi_mux_prov *mp);

/**
 * kfi_mux_init() - initialise a way, which is cleared
 * @mux: the way
 * @mp: its provider
 * @name: see &kfi_mux.name
 *
 * Context: process. Return: 0, -ENOMEM. After 0 kfi_mux_destroy() has to be called.
 */
int kfi_mux_init(struct kfi_mux *mux, struct kfi_mux_prov *mp, const char *name);
/* After kfi_mux_idle(), or before kfi_mux_list(). Process context */
void kfi_mux_destroy(struct kfi_mux *mux);
/* Offer the way to consumers. Process context */
void kfi_mux_list(struct kfi_mux *mux);
/* Take that back: open domains and endpoints go on. Process context */
void kfi_mux_unlist(struct kfi_mux *mux);
/**
 * kfi_mux_retire() - take the way off the list if nobody uses it
 * @mux: the way, which is in the list; the provider has one reference, of kfi_mux_init()
 *
 * For a provider whose way is to stay while a consumer uses it, although its peer has gone. On
 * true, the provider goes on as after kfi_mux_unlist(): kfi_mux_gone() finds nothing to end, and
 * tells consumers such as kfi_net that there is a domain less. A call that the peer had made before
 * may still be refused meanwhile, so kfi_mux_idle() is necessary, too.
 *
 * Context: process.
 * Return: true if only the provider has a reference, and the way was taken off the list; false if
 * it is in use, maybe by a query that is in progress: nothing has changed, so try again later.
 */
bool kfi_mux_retire(struct kfi_mux *mux);
/* End all objects of consumers on the way, which was unlisted. Process context, sleeps */
void kfi_mux_gone(struct kfi_mux *mux);
/* The way is down for good: drop the references of the provider and of domains. Process context */
void kfi_mux_drop(struct kfi_mux *mux);
/* Wait for the last reference. Return: false if there still is one after @timeout jiffies */
bool kfi_mux_idle(struct kfi_mux *mux, unsigned long timeout);
/* Drop a reference. Any context */
void kfi_mux_put(struct kfi_mux *mux);
/* Return the way that has this name, with a reference, or NULL. Process context */
struct kfi_mux *kfi_mux_find(struct kfi_mux_prov *mp, const char *name);
/*
 * Call @fn for each way, in the order of &kfi_mux.number and with a reference during the call,
 * until it returns nonzero. Process context. Return: what the last call of @fn has returned, or 0
 */
int kfi_mux_each(struct kfi_mux_prov *mp, int (*fn)(struct kfi_mux *mux, void *arg), void *arg);

/**
 * kfi_mux_set_ends() - say what identifies both ends, once
 * @mux: the way
 * @own: our end, &kfi_mux_prov.side_len bytes
 * @peer: the other end, which is identified by other bytes: names have to tell the ends apart
 *
 * Before this the way is not offered. Context: process.
 */
void kfi_mux_set_ends(struct kfi_mux *mux, const void *own, const void *peer);

static inline bool kfi_mux_named(const struct kfi_mux *mux)
{
	return smp_load_acquire(&mux->named);	/* pairs with kfi_mux_set_ends() */
}

static inline unsigned int kfi_mux_life(const struct kfi_mux *mux)
{
	return READ_ONCE(mux->life);
}

/**
 * kfi_mux_up() - the way is up, and records may be sent
 * @mux: the way. &kfi_mux.lanes is set
 *
 * No record is handled and no callback is called before this function returns. Context: process.
 */
void kfi_mux_up(struct kfi_mux *mux);
/**
 * kfi_mux_ending() - the life will end, and that may take long
 * @mux: the way, which was up
 *
 * Optional, before kfi_mux_down(): connections end now. Those of which the provider still reads
 * memory, or whose memory the peer may still write, wait for &kfi_mux_ops.closed. Context: process.
 */
void kfi_mux_ending(struct kfi_mux *mux);
/**
 * kfi_mux_down() - the way is down, and a life has ended
 * @mux: the way. &kfi_mux.life was changed, and all records have had their callbacks
 *
 * Nothing reads memory of connections any more, and nothing of the peer arrives in it. No record is
 * handled until kfi_mux_up(). Context: process, sleeps.
 */
void kfi_mux_down(struct kfi_mux *mux);
/**
 * kfi_mux_hold() - nothing gets through, and nothing is lost
 * @mux: the way, which is up
 * @since: time (jiffies) at which the last record came
 *
 * The life goes on: &kfi_mux_ops.put finds no room, and records that are posted wait. New calls
 * are not posted, so that those which are given up leave nothing behind. Time stands still for what
 * the peer has to do (kfi_hold.h). kfi_mux_resume() or kfi_mux_down() follows. Context: process.
 */
void kfi_mux_hold(struct kfi_mux *mux, unsigned long since);
/* The way goes on, and records may be posted. kfi_mux_room() follows. Process context */
void kfi_mux_resume(struct kfi_mux *mux);
/* There is room in a lane again, see &kfi_mux_ops.want. Softirq, with no lock of the provider */
void kfi_mux_room(struct kfi_mux *mux, unsigned int lane);
/**
 * kfi_mux_rx() - handle a record of the peer
 * @mux: the way, which is up
 * @lane: the lane through which it came
 * @rec: the header; &kfi_mux_rec.len bytes follow it. The multiplexer fills in its body
 * @body: these bytes, in memory that the peer may still change
 *
 * The caller is in one RCU section, and between kfi_batch_begin() and kfi_batch_end(), with all
 * records that it handles together. Records of types that are not known are dropped. Context:
 * softirq, with no lock of the provider held; one at a time for a lane.
 */
void kfi_mux_rx(struct kfi_mux *mux, unsigned int lane, struct kfi_mux_rec *rec, const void *body);

/* ------------------------------------------------------------------ */
/* Connections								      */
/* ------------------------------------------------------------------ */

static inline struct kfi_mux_stream *kfi_mux_stream_of(const struct kfi_link *link)
{
	return container_of(link, struct kfi_mux_end, link)->stream;
}

/*
 * Return: true if the life of the way that the connection belongs to has ended. kfi_mux_down()
 * waits for RCU sections in which this function has returned false
 */
static inline bool kfi_mux_over(const struct kfi_mux_stream *s)
{
	return s->life != kfi_mux_life(s->mux);
}

void kfi_mux_stream_put(struct kfi_mux_stream *s);	/* any context */
/* The callers of the following functions hold the lock of the connection. */
/* End the connection: no more bytes come. @err: the reason, a negative errno */
void kfi_mux_end(struct kfi_mux_stream *s, int err);
/* Fill in the record of bytes that were written to places of the peer. The caller counts them */
void kfi_mux_announce(struct kfi_mux_stream *s, const struct kfi_mux_piece *piece,
		      struct kfi_mux_rec *rec);
/* That record was sent. It has told the peer how far it may send */
void kfi_mux_told(struct kfi_mux_stream *s);
/* Return: true if another connection waits for room in the lane of this one */
bool kfi_mux_others_wait(const struct kfi_mux_stream *s);
/* Devices do not write to memory of the peer any more: send another CLOSE */
void kfi_mux_close_again(struct kfi_mux_stream *s);

/* ------------------------------------------------------------------ */
/* For &struct kfi_prov_ops and &struct kfi_link_ops			      */
/* ------------------------------------------------------------------ */

int kfi_mux_getinfo(struct kfi_query *q);
int kfi_mux_resolve(struct kfi_domain *domain, const char *node, const char *service, void *addr);
int kfi_mux_addr_check(struct kfi_domain *domain, u32 format, const void *addr);
int kfi_mux_domain_open(struct kfi_domain *domain);
void kfi_mux_domain_close(struct kfi_domain *domain);
/* Return the way of the domain with a reference; NULL if it is being removed. Process context */
struct kfi_mux *kfi_mux_domain_get(struct kfi_domain *domain);
int kfi_mux_ep_open(struct kfi_ep *ep);
int kfi_mux_ep_enable(struct kfi_ep *ep);
void kfi_mux_ep_stop(struct kfi_ep *ep, int err);
int kfi_mux_getname(struct kfi_ep *ep, void *addr);
int kfi_mux_setname(struct kfi_ep *ep, const void *addr, size_t len);
int kfi_mux_getpeer(struct kfi_ep *ep, void *addr);
/*
 * The info names the way by its domain. Without that the source address does, if it is our end of
 * one way only: return -ENOTUNIQ if it is our end of several, -ENODEV if it is that of none
 */
int kfi_mux_pep_open(struct kfi_pep *pep);
void kfi_mux_pep_close(struct kfi_pep *pep);
int kfi_mux_pep_getname(struct kfi_pep *pep, void *addr);
int kfi_mux_pep_setname(struct kfi_pep *pep, const void *addr, size_t len);
int kfi_mux_listen(struct kfi_pep *pep);

/**
 * KFI_MUX_PROV_OPS - initialisers of the operations that all providers of ways have alike
 *
 * A provider adds domain_size, at least that of struct kfi_mux_domain; domain_open, which calls
 * kfi_mux_domain_open() and sets the limits; domain_close, ep_open and addr_str.
 */
#define KFI_MUX_PROV_OPS				\
	.ep_size	= sizeof(struct kfi_mux_ep),	\
	.pep_size	= sizeof(struct kfi_mux_pep),	\
	.tx_priv	= KFI_PROTO_TX_PRIV,		\
	.cm_data_size	= KFI_PROTO_DATA_MAX,		\
	.atomic_size	= KFI_PROTO_ATOMIC_MAX,		\
	.av_only	= true,				\
	.getinfo	= kfi_mux_getinfo,		\
	.resolve	= kfi_mux_resolve,		\
	.addr_check	= kfi_mux_addr_check,		\
	.addr_removed	= kfi_proto_addr_removed,	\
	.ep_enable	= kfi_mux_ep_enable,		\
	.ep_stop	= kfi_mux_ep_stop,		\
	.ep_close	= kfi_proto_ep_close,		\
	.getname	= kfi_mux_getname,		\
	.setname	= kfi_mux_setname,		\
	.peers		= kfi_proto_peers,		\
	.tx		= kfi_proto_tx,			\
	.tx_flush	= kfi_proto_tx_flush,		\
	.rx_matched	= kfi_proto_rx_matched,		\
	.rx_drop	= kfi_proto_rx_drop,		\
	.connect	= kfi_proto_connect,		\
	.accept		= kfi_proto_accept,		\
	.shutdown	= kfi_proto_shutdown,		\
	.getpeer	= kfi_mux_getpeer,		\
	.pep_open	= kfi_mux_pep_open,		\
	.pep_close	= kfi_mux_pep_close,		\
	.pep_getname	= kfi_mux_pep_getname,		\
	.pep_setname	= kfi_mux_pep_setname,		\
	.listen		= kfi_mux_listen,		\
	.reject		= kfi_proto_reject

void kfi_mux_name_self(struct kfi_link *link, void *name);
int kfi_mux_open(struct kfi_link *link);
int kfi_mux_dial(struct kfi_link *link);
void kfi_mux_admit(struct kfi_link *link);
int kfi_mux_ended(const struct kfi_link *link);
void kfi_mux_detach(struct kfi_link *link);
void kfi_mux_close(struct kfi_link *link, bool abort);
int kfi_mux_probe(struct kfi_link *link);
bool kfi_mux_trylock(struct kfi_link *link);
bool kfi_mux_lock(struct kfi_link *link);
void kfi_mux_unlock(struct kfi_link *link);
int kfi_mux_post(struct kfi_link *link, struct kfi_unit *unit);
u64 kfi_mux_sent_to(const struct kfi_link *link);
void kfi_mux_read(struct kfi_link *link);

/**
 * KFI_MUX_LINK_OPS() - initialisers of the operations that all connections of ways have alike
 * @side: bytes that identify an end
 *
 * A provider adds sent_to: kfi_mux_sent_to(), unless it has &kfi_mux_ops.splice.
 */
#define KFI_MUX_LINK_OPS(side)				\
	.link_size	= sizeof(struct kfi_mux_end),	\
	.name_len	= (side) + sizeof(__le32),	\
	.origin_len	= (side),			\
	.self		= kfi_mux_name_self,		\
	.open		= kfi_mux_open,			\
	.dial		= kfi_mux_dial,			\
	.admit		= kfi_mux_admit,		\
	.ended		= kfi_mux_ended,		\
	.detach		= kfi_mux_detach,		\
	.close		= kfi_mux_close,		\
	.probe		= kfi_mux_probe,		\
	.trylock	= kfi_mux_trylock,		\
	.lock		= kfi_mux_lock,			\
	.unlock		= kfi_mux_unlock,		\
	.post		= kfi_mux_post,			\
	.read		= kfi_mux_read

#endif /* _KFI_MUX_H */
