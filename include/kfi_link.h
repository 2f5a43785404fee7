/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kfi_link.h - the contract between the message protocol in kfi.ko and a link.
 *
 * The protocol (kfi/proto/) implements MSG and RDM endpoints: hello and authorization, credits,
 * eager and rendezvous transfers, RMA, atomic operations, commit, the life of a
 * connection, and the peers of an RDM endpoint. A link carries the frames of one connection in
 * order, and reports when it is up, when it has room, and when it is down. A provider that has a
 * reliable ordered transport implements &struct kfi_link_ops and puts the kfi_proto_*() functions
 * below into its &struct kfi_prov_ops. docs/provider-guide.md explains how to write a link;
 * docs/wire-protocol.md describes the frames.
 */
#ifndef _KFI_LINK_H
#define _KFI_LINK_H

#include <kfi_conn_set.h>
#include <kfi_param.h>
#include <kfi_prov.h>

struct kfi_link;
struct kfi_proto;
struct kfp_accounts;
struct kfp_conn;
struct kfp_permit;

/**
 * DOC: Life of a link
 *
 * A connection and its link are one allocation: the protocol's structure, followed by the
 * provider's structure, which begins with &struct kfi_link. The protocol allocates and frees the
 * allocation, and holds all references to it.
 *
 *	this side dials			a peer calls
 *	---------------			------------
 *	ops->open()			kfi_link_new()
 *	ops->dial()			kfi_link_called(), kfi_link_securing()
 *	kfi_link_up()			kfi_link_up()
 *
 *		hello, and the proof if the endpoint has an authorization key
 *	ops->admit()			ops->admit()
 *
 *		frames: ops->post(), ops->read(), kfi_link_rx(), kfi_link_room()
 *
 *		kfi_link_down(), or the protocol ends the connection
 *	ops->detach()			no callback runs after it has returned
 *	ops->close()			the link reads no memory of the protocol after it ...
 *	ops->released()			... or after this has returned true
 */

/**
 * DOC: Lock of a link
 *
 * Each link has one lock, which may be a lock that the transport has anyway. The lock protects the
 * state that the protocol keeps of the streams of the connection in both directions. The
 * link holds the lock around kfi_link_rx(), kfi_link_room() and kfi_link_down().
 *
 * The posting path only tries the lock (ops->trylock()). A consumer may post from a completion
 * handler that runs under the lock, and while the consumer holds locks of its own.
 */

/**
 * DOC: Events
 *
 * Four events follow a post. None of them implies another one, and the protocol never takes one for
 * another:
 *
 *	memory read	the link does not read the memory of this side any more: @sent_to has passed
 *			the position
 *	data placed	the bytes are in the memory of the peer
 *	frame handled	the protocol of the peer has handled the frame
 *	link ended	the link carries no more bytes: kfi_link_down() and @ended
 *
 * A link reports the first and the last. No link reports the second to the sender, because the
 * completion of a device is no proof of it: a DMA engine completes when it has issued its writes,
 * and iWARP when TCP has the bytes. The second is a promise about order instead: bytes that were
 * posted with places are in the memory of the peer before the peer's link passes on any byte that
 * was posted later, see &struct kfi_unit. The third is reported by frames of the protocol (ACK).
 *
 *	kfi_loop	memory read	at the post
 *			data placed	at the post
 *			link ended	the other end is closed
 *	kfi_sockets	memory read	copied bytes: at the post; spliced pages: ACK of TCP, or
 *					after the end when no packet refers to them any more
 *			data placed	no places
 *			link ended	the socket is closed
 *	kfi_verbs RDM	memory read	copied: at the post; mapped: completion of the request
 *			data placed	the SEND behind the WRITEs has arrived
 *			link ended	the queue pair is disconnected, or the device is gone
 *	kfi_ntb		memory read	copied: at the post; otherwise: completion of the engine
 *			data placed	the record behind the payload has arrived
 *			link ended	CLOSE of the connection, or the bridge's link has gone down
 *	kfi_usb4	memory read	at the post
 *			data placed	no places
 *			link ended	CLOSE of the connection, or the cable was away for long
 */

/**
 * DOC: Received bytes, push-back and order
 *
 * *Buffers of the link.* The protocol keeps no pointer to received bytes. kfi_link_rx_bytes()
 * copies what it needs, so the link may use its buffer again when the function has returned. It
 * does not sleep, so the link may hold a mapping of the buffer. If the peer can still change the
 * bytes (a ring in shared memory), that is safe as well, because the protocol checks only its own
 * copy.
 *
 * *Push-back.* The protocol stops the receive direction by using fewer bytes than it was given, for
 * example while a completion queue is full. Then the link keeps the rest and lets the transport
 * push back: TCP closes its window, the ring of kfi_loop gets full, kfi_verbs posts no receives,
 * and kfi_ntb does not raise the position up to which the peer may send. There is no call that
 * resumes: the protocol calls @read again from a work item. If several connections share a
 * transport, a connection that has stopped must not stop the others, so its link needs memory of
 * its own for the bytes that the peer may still send.
 *
 * *Order.* The bytes of one direction are passed on in the order in which they were posted, and no
 * frame overtakes another one. A link with several queues has to restore that order. Only bytes
 * that are posted with places may arrive earlier than bytes that were posted before. Connections
 * are independent of each other.
 *
 * *Reserved space.* The protocol needs none: its control frames (ACK, CREDIT, CTS) are posted in
 * turn, and their number is bounded by what this side has accepted. So @read must make progress
 * although @post has no room; otherwise two sides without room would wait for each other. A link
 * whose push-back needs messages of its own has to reserve space for them: kfi_verbs reserves the
 * last receives (KVW_RESERVE), and kfi_ntb reports free room of its rings by words that are outside
 * of the rings. Credits of the protocol are no concern of a link.
 */

/**
 * struct kfi_link - the part of a connection that its link uses; the provider's structure begins
 *	with it
 * @eager: length of the longest message that the peer sends without a request. The protocol sets it
 *	before it calls ops->admit()
 * @cpu: CPU that received the last bytes. The link sets it. Work items of the connection run on
 *	this CPU unless the consumer has chosen another one
 * @posted: bytes that the link has accepted in ops->post(). The protocol sets it
 * @ep: endpoint of the connection; NULL while a connection request waits at a passive endpoint
 * @proto: the protocol over this kind of link
 * @privileged: only the administrator of the peer's machine can let the peer have @name: the
 *	caller has shown that it acts for the administrator, or nobody else can listen at the name
 *	that this side dials. See kfi_proto_need_privilege(). The provider sets it before
 *	kfi_link_called(), and in ops->open()
 * @checks: when the bytes behind a payload in places arrive, the link compares the payload with
 *	what its sender has written. So the protocol does not write to places before the peer has
 *	answered earlier writes. The link sets it before kfi_link_up()
 * @pages: &kfi_link_ops.pages may find pages of the peer's memory. Otherwise the protocol does not
 *	request places of devices from the peer. The link sets it before kfi_link_up()
 * @hold: &kfi_ep.hold or &kfi_pep.hold. While the network is held, nothing that the peer has to do
 *	is late
 * @name: name of the peer, &kfi_link_ops.name_len bytes. For a connection that it accepts, the
 *	provider stores the name of the caller's origin. The protocol adds the port from the
 *	hello by &kfi_link_ops.set_port
 */
struct kfi_link {
	u32			eager;
	int			cpu;
	u64			posted;
	struct kfi_proto_ep	*ep;
	struct kfi_proto	*proto;
	bool			privileged;
	bool			checks;
	bool			pages;
	struct kfi_hold		*hold;
	u8			name[KFI_ADDR_MAX] __aligned(8);
};

/* Flags of a unit */
#define KFI_UNIT_MORE	0x01	/* another unit follows at once; the link may wait for it */
#define KFI_UNIT_SPLICE	0x02	/* the link may reference the pages, see &kfi_link_ops.splices */

/* &kfi_link_ops.flags */
#define KFI_LINK_REPORTS_SENT	0x01	/* the link calls kfi_link_sent() */

/**
 * struct kfi_link_place - memory of one side that the link of the other side writes
 * @at: address; the owner's link defines its meaning
 * @len: bytes
 * @key: key of a device, or number of a window; the owner's link defines its meaning
 *
 * Places that came from the peer are not trusted: ops->post() checks them. Links write to such
 * places. The handle for a place to which devices of a consumer write is struct kfid_place
 * (kfi_place.h).
 */
struct kfi_link_place {
	u64	at;
	u32	len;
	u32	key;
};

/**
 * struct kfi_exposed - memory that the peer's link may write to between ops->expose() and
 *	ops->conceal()
 * @mr: region that the memory belongs to, or NULL. The protocol holds the region, so a link that
 *	has registered it with its device can use that registration
 * @addr: with @mr: address of the first byte, as the peer names it
 * @lasting: for a lasting grant: the peer may write the same bytes several times
 * @priv: for the link
 */
struct kfi_exposed {
	struct kfi_mr	*mr;
	u64		addr;
	bool		lasting;
	void		*priv[2];
};

/**
 * struct kfi_unit - bytes to be sent: whole frames, and the payload of the last frame
 * @head: frames, encoded by the protocol. The link does not read them after ops->post() has
 *	accepted them
 * @len: bytes at @head; 0 with @nplaces
 * @done: bytes of @head that the link has accepted
 * @payload: remaining payload of the last frame, or NULL. The link advances the iterator
 * @left: bytes of @payload that the link has not accepted yet
 * @at: where @payload begins, counted from the first byte of the first place
 * @place: with @nplaces: memory of the peer that @payload is written to. The bytes have to be there
 *	before the peer's link passes on any byte that is posted later, and before the bytes of a
 *	later unit with places. They may arrive before earlier bytes of the stream
 * @nplaces: number of entries of @place; 0: @payload follows @head in the stream
 * @flags: KFI_UNIT_*
 */
struct kfi_unit {
	const void	*head;
	u32		len;
	u32		done;
	struct iov_iter	*payload;
	u64		left;
	u64		at;
	const struct kfi_link_place *place;
	u16		nplaces;
	u8		flags;
};

/**
 * struct kfi_link_ops - operations of a link
 * @link_size: bytes of the provider's structure, which begins with &struct kfi_link
 * @name_len: bytes of a name, up to KFI_ADDR_MAX. The protocol does not interpret names
 *
 * @origin_len: without @origin: leading bytes of a name that identify its origin
 *
 * A link whose names are addresses of @name_len bytes, all of which count, leaves out @len, @cmp,
 * @hash, @name, @address and @wire_name.
 *
 * @len: optional: number of leading bytes of a name that consumers of MSG endpoints see. Any
 *	context
 * @cmp: optional: compare two names. Returns < 0, 0 or > 0; the order is the same on both sides.
 *	Any context
 * @hash: with @cmp: hash of a name, equal for names that @cmp finds equal. Any context
 * @name: optional: convert an address of an address vector to a name. Returns 0, or a negative
 *	errno if the address denotes no peer. Any context, inside rcu_read_lock()
 * @address: optional: convert a name to an address; the buffer has room for KFI_ADDR_MAX bytes.
 *	Returns the length, or a negative errno if the name has no address in this domain. Process
 *	context
 * @origin: optional: compute the part of a name that identifies its origin. Peers of one origin
 *	share an account. The result has the form of a name. Any context
 * @port: optional, with @set_port: the part of an endpoint's own name that a hello carries, never
 *	0. Process context
 * @set_port: store the port of a hello in the name of the origin. Process context
 * @self: store the name of this side as the peer knows it: by which the caller has called it, or
 *	which this side has as a caller. &kfi_link.ep may be NULL. Process context
 * @wire_name: optional: write a name in the form that is the same on both sides, for proofs of an
 *	authorization key. Returns its length, at most KFI_ADDR_MAX, the same for all names of a
 *	connection. Any context
 *
 * @open: prepare to dial &kfi_link.name. Must not wait for I/O, because memory reclaim may wait
 *	for this connection. After an error nothing is open. Process context, may sleep
 * @dial: start to connect. kfi_link_up() or kfi_link_down() reports the result. Context as @open
 * @admit: optional: the peer is admitted, and frames follow. Context as @open
 * @ended: state of the receive direction. Returns 0 while the link receives; -ESHUTDOWN if the
 *	peer has closed the link in order; any other negative errno if the link has failed.
 *	Any context, without a lock
 * @detach: stop the callbacks of the link. None of them runs on return, and none runs later.
 *	Process context, may sleep
 * @close: close a link that was detached, or that has made no callback yet. On return the link
 *	does not read memory of the protocol, except for spliced payload if there is @released. With
 *	@abort the link drops the bytes that it still holds, otherwise it delivers them if it can.
 *	Must not depend on the peer: a link that can learn only from the peer what was delivered
 *	waits for two seconds at most, and for a small part of that if the peer was not admitted.
 *	Process context, may sleep
 * @released: optional: returns whether nothing reads payload any more that the link has spliced.
 *	The link is closed, and what it has passed on before may still wait in a queue of this
 *	machine for as long as its administrator has allowed. Until then no operation returns its
 *	memory. Called again until it returns true. Process context, may sleep
 * @probe: find out whether the peer still answers, because another caller claims its name. The
 *	first call sends something to the peer (kfi_link_ping()), later calls check for the answer.
 *	Returns 0 if the result is not available yet, 1 if the peer answers, -1 if it does not.
 *	Called under kfi_peer.lock, bottom halves off
 *
 * @trylock: take the link's lock unless that requires waiting. Returns with bottom halves off if
 *	the lock was taken. Any context but hard interrupt
 * @lock: take the link's lock from a work item. Returns false if a task holds the lock; the
 *	caller tries again later. Returns with bottom halves off if the lock was taken
 * @unlock: release the link's lock and enable bottom halves
 *
 * @post: accept as much of the unit as there is room for, @head first. Returns 0 if the link has
 *	accepted all of it; -EAGAIN if there is no room, then the link calls kfi_link_room()
 *	later; -ENOMEM if there is no room and no callback follows; any other negative errno ends
 *	the connection. Called under the link's lock with bottom halves off, and inside the RCU
 *	section that protects the region that the payload may come from; must not sleep
 * @splices: optional: returns whether the link may reference the pages of this payload instead of
 *	copying them. The pages stay in use until @sent_to reports a position behind them. With
 *	KFI_LINK_REPORTS_SENT the payload may be that of an operation or memory of a region. Without
 *	it the payload is that of an operation, and the protocol waits for an answer of the peer.
 *	Called under the link's lock
 * @sent_to: position, in the count of &kfi_link.posted, up to which the link does not read bytes
 *	any more. Called under the link's lock
 * @read: pass received bytes to kfi_link_rx_bytes(), until there are none, or until it uses fewer
 *	than it was given. Then @read is called again later. Called under the link's lock
 *
 * @flags: KFI_LINK_*
 * @place_min: with @expose: shortest payload that is worth a place
 * @expose: optional, with @conceal: let the peer's link write to the first @len bytes of @iter,
 *	which stay at the same addresses until @conceal. The exposure is for one transfer, or for a
 *	lasting grant, in whose memory the peer writes any bytes in any order, also several times.
 *	Fills in up to @max places that cover the @len bytes in order. Returns the number of places,
 *	or a negative errno; then the payload comes as frames. After -ENOSPC, by which a bound of
 *	the link refuses this, the protocol recalls a lasting grant that has not been used for a
 *	second. Called under the link's lock with bottom halves off; must not sleep
 * @conceal: undo @expose. The peer has reported that its bytes have arrived, or that it writes no
 *	more bytes because of a grant; or the link is closed. Returns 0 if no byte of the
 *	peer can arrive any more, or -EINPROGRESS; then the link calls kfi_link_concealed(). Memory
 *	of a region for one I/O is concealed at once, or not exposed, because a message may
 *	invalidate the region next. Called as @expose; or after @close without the lock, perhaps
 *	once more for the same memory, and then it returns 0
 *
 * @pages: optional, with @expose and @unpin: describe, by kfi_place_fill(), the pages by which
 *	devices of this machine write to the memory of the peer that the @n entries of @place name:
 *	@len bytes from byte @at on, counted from the first byte of the first entry. The entries
 *	come from the peer, and are checked as @post checks them. Until @unpin devices may write
 *	there, also when the link ends: the link keeps the pages, and does not report to its peer
 *	that no more bytes arrive. Returns the argument for @unpin; ERR_PTR(-EOPNOTSUPP) if this
 *	memory has no pages here; ERR_PTR(-EMSGSIZE): too many segments for @to; ERR_PTR(-EPROTO)
 *	ends the connection. Called as @expose, only with &kfi_link.pages, which a link with
 *	&kfi_link.checks never sets, because it can't read the bytes that a device writes. Only
 *	places of consumers are pinned when @close is called: those of operations are unpinned
 *	before. Endpoints may have KFI_PLACE only over links with @pages
 * @unpin: devices have finished writing to a place of @pages: order their bytes before all bytes
 *	that are posted later. Returns 0, or a negative errno if the bytes may not have arrived. An
 *	error ends the connection, and from then on the link sends no frame of its own, either,
 *	which reports that no more bytes arrive. Called once for each result of @pages, in any
 *	context but hard interrupt, perhaps under the link's lock, perhaps long after @close. Must
 *	not sleep
 *
 * A link with @expose guarantees that no byte of the peer arrives in exposed memory any more when
 * @close has returned. If that depends on the peer, @close waits for a bounded time, and then ends
 * the peer's access permanently.
 */
struct kfi_link_ops {
	size_t	link_size;
	size_t	name_len;
	size_t	origin_len;
	u32	flags;
	u32	place_min;

	size_t	(*len)(const void *name);
	int	(*cmp)(const void *a, const void *b);
	u32	(*hash)(const void *name);
	int	(*name)(const struct kfi_ep *ep, const void *addr, void *name);
	int	(*address)(const struct kfi_ep *ep, const void *name, void *addr);
	void	(*origin)(const void *name, void *origin);
	u16	(*port)(const struct kfi_proto_ep *pe);
	void	(*set_port)(void *name, u16 port);
	void	(*self)(struct kfi_link *link, void *name);
	size_t	(*wire_name)(const void *name, u8 *bytes);

	int	(*open)(struct kfi_link *link);
	int	(*dial)(struct kfi_link *link);
	void	(*admit)(struct kfi_link *link);
	int	(*ended)(const struct kfi_link *link);
	void	(*detach)(struct kfi_link *link);
	void	(*close)(struct kfi_link *link, bool abort);
	bool	(*released)(struct kfi_link *link);
	int	(*probe)(struct kfi_link *link);

	bool	(*trylock)(struct kfi_link *link);
	bool	(*lock)(struct kfi_link *link);
	void	(*unlock)(struct kfi_link *link);

	int	(*post)(struct kfi_link *link, struct kfi_unit *unit);
	bool	(*splices)(const struct kfi_link *link, const struct iov_iter *iter, size_t len);
	u64	(*sent_to)(const struct kfi_link *link);
	void	(*read)(struct kfi_link *link);

	int	(*expose)(struct kfi_link *link, struct kfi_exposed *x, const struct iov_iter *iter,
			  u64 len, struct kfi_link_place *place, unsigned int max);
	int	(*conceal)(struct kfi_link *link, struct kfi_exposed *x);

	void	*(*pages)(struct kfi_link *link, const struct kfi_link_place *place, unsigned int n,
			  u64 at, u64 len, struct kfi_dev_place *to);
	int	(*unpin)(void *pin, const struct kfi_dev_place *place);
};

/**
 * struct kfi_proto_params - bounds and time limits of all endpoints of a provider
 * @eager_size: longest message that is sent without rendezvous, bytes, 256 to 256 KiB
 * @unexpected: unexpected messages held for each connection and class, credits of 256 bytes
 * @unexpected_peer: unexpected messages held for all connections of a peer, credits
 * @unexpected_origin: unexpected messages held by an endpoint for all peers of one origin, credits
 * @unexpected_total: unexpected messages held by an endpoint, credits
 * @requests: unanswered requests accepted on each connection, 16 to 65535
 * @connect_timeout_ms: time limit for the establishment of a connection
 * @hello_timeout_ms: time limit for the hello and the proof of a caller
 * @peer_timeout_ms: time after which a peer that does not send what is due loses its connection
 * @max_peers: number of peers of an endpoint from which on new callers are refused, unless a peer
 *	without a connection can be freed. Peers that this side dials count, and are never refused
 * @origin_peers: connections of an endpoint that come from one origin
 * @origin_backlog: connections in handshake that come from one origin, 1 to 65535
 * @backlog: connections in handshake for each listening endpoint, 1 to 65535
 * @grants: lasting grants that the peer of a connection has at a time, up to 64; 0: none. Only for
 *	a link with &kfi_link_ops.expose
 * @grant_mib: MiB of memory in these grants
 * @need_privilege: a peer must be &kfi_link.privileged, see kfi_proto_need_privilege()
 *
 * kfi_proto_init() fixes the first six. The others are read at each use. KFI_PROTO_PARAMS() makes
 * some of them parameters of the provider's module.
 */
struct kfi_proto_params {
	unsigned int	eager_size;
	unsigned int	unexpected;
	unsigned int	unexpected_peer;
	unsigned int	unexpected_origin;
	unsigned int	unexpected_total;
	unsigned int	requests;
	unsigned int	connect_timeout_ms;
	unsigned int	hello_timeout_ms;
	unsigned int	peer_timeout_ms;
	unsigned int	max_peers;
	unsigned int	origin_peers;
	unsigned int	origin_backlog;
	unsigned int	backlog;
	unsigned int	grants;
	unsigned int	grant_mib;
	bool		need_privilege;
};

/* Values of &struct kfi_proto_params that are the same for most providers */
#define KFI_PROTO_DEFAULTS		\
	.unexpected		= 1024,		\
	.unexpected_peer	= 8192,		\
	.unexpected_total	= 131072,	\
	.requests		= 256,		\
	.connect_timeout_ms	= 10000,	\
	.hello_timeout_ms	= 3000,		\
	.peer_timeout_ms	= 10000,	\
	.max_peers		= 4096,		\
	.backlog		= 512

/* The same for a link with &kfi_link_ops.expose */
#define KFI_PROTO_GRANT_DEFAULTS	\
	.grants			= 32,		\
	.grant_mib		= 1024

/**
 * KFI_PROTO_PARAMS() - define the parameters of the protocol in a provider's module
 * @proto: struct kfi_proto of the provider, a variable
 *
 * To be used at file scope. The parameters have the same names, ranges and descriptions everywhere;
 * kfi_provider(7) explains them.
 */
#define KFI_PROTO_PARAMS(proto) \
	extern struct kfi_proto proto;	/* anything else does not compile */ \
	KFI_PARAM(unexpected, (proto).params.unexpected, credits, 0444, \
		  "unexpected messages of a connection and class, 256 bytes (default 1024)"); \
	KFI_PARAM(connect_timeout_ms, (proto).params.connect_timeout_ms, ms, 0644, \
		  "milliseconds to establish a connection (default 10000)"); \
	KFI_PARAM(peer_timeout_ms, (proto).params.peer_timeout_ms, ms, 0644, \
		  "milliseconds without progress before a peer is dead (default 10000)"); \
	KFI_PARAM(max_peers, (proto).params.max_peers, count, 0644, \
		  "peers of an endpoint from which on new callers are refused (default 4096)"); \
	KFI_TEST_PARAM(eager_size, (proto).params.eager_size, uint); \
	KFI_TEST_PARAM(hello_timeout_ms, (proto).params.hello_timeout_ms, uint); \
	KFI_TEST_PARAM(origin_backlog, (proto).params.origin_backlog, uint); \
	KFI_TEST_PARAM(backlog, (proto).params.backlog, uint)

/**
 * struct kfi_proto - the message protocol over one kind of link
 * @name: name of the provider, for messages to the administrator
 * @ops: operations of the link
 * @params: parameters of the provider's module
 * @buffers: bytes that the link may allocate for a connection besides &kfi_link_ops.link_size. The
 *	account of the fabric pays for them (kfi_account.h). Set before kfi_proto_init()
 * @protection: what encrypts and authenticates all connections, as text for "kfi show"; NULL:
 *	nothing. Set before kfi_proto_init()
 * @identity: with @protection: what has shown which machine a peer is, as text. Set as @protection
 * @addr_str: print a name
 * @cache: slab cache of connections. Owned by the protocol
 * @accepting: orders the events of passive endpoints. Owned by the protocol
 * @conns: number of connections that are allocated. Owned by the protocol
 * @conn_set_ops: callbacks of the connection sets. Owned by the protocol
 */
struct kfi_proto {
	const char			*name;
	const struct kfi_link_ops	*ops;
	struct kfi_proto_params		params;
	size_t				buffers;
	const char			*protection;
	const char			*identity;
	void				(*addr_str)(const void *name, size_t len, char *buf,
						    size_t size);

	struct kmem_cache		*cache;
	struct mutex			accepting;
	atomic_t			conns;
	struct kfi_conn_set_ops		conn_set_ops;
};

/**
 * kfi_proto_init() - prepare the protocol for a provider
 * @proto: the provider's protocol object
 *
 * The provider's module init calls this before kfi_provider_register(). An allowance in which the
 * longest message has no room is enlarged, with a message in the kernel log, and so are, without
 * one, the bounds of peer, origin and endpoint if they are small for that allowance.
 * Context: process. Return: 0, -ENOMEM.
 */
int kfi_proto_init(struct kfi_proto *proto);
/**
 * kfi_proto_exit() - undo kfi_proto_init()
 * @proto: the provider's protocol object
 *
 * The provider's module exit calls this after kfi_provider_deregister(). The function waits until
 * the last call of a region's persist() has ended, which may take longer than the end of the
 * connection that the call was made for.
 * Context: process.
 */
void kfi_proto_exit(struct kfi_proto *proto);

/**
 * struct kfi_peers - the peers of an RDM endpoint. Owned by the protocol, except for @incarnation
 * @cache: peers by index and receive context of their address handle, in front of @list. Written
 *	under @lock, read under RCU
 * @ep: the endpoint
 * @incarnation: random number of this life of the endpoint, never 0. All contexts of a scalable
 *	endpoint have the same one: the provider copies it before it enables a context
 * @lock: protects @nr, @last, @nr_ctx_peers, and changes of @list, @cache and @stopping
 * @list: all peers, ordered by number. Read under @lock or RCU
 * @nr: number of peers
 * @last: number of the newest peer
 * @nr_ctx_peers: number of peers in @cache that are receive contexts above 0
 * @stopping: the endpoint stops. Read without the lock by READ_ONCE()
 */
struct kfi_peers {
	struct xarray		cache;
	struct kfi_ep		*ep;
	u64			incarnation;
	spinlock_t		lock;
	struct list_head	list;
	unsigned int		nr;
	u32			last;
	unsigned int		nr_ctx_peers;
	bool			stopping;
};

/**
 * struct kfi_proto_ep - an endpoint; the provider's structure begins with it
 * @ep: common part of all endpoints
 * @proto: the protocol over the provider's links
 * @peers: RDM: peers of the endpoint
 * @conn_set: connections of the endpoint
 * @accounts: RDM: accounts of the memory that peers make the endpoint hold
 * @allowance: MSG: credits for unexpected messages of each class that its connection may hold. The
 *	account of the fabric has paid for them
 * @peer_name: MSG: name of the peer that the endpoint is connected to
 */
struct kfi_proto_ep {
	struct kfi_ep		ep;
	struct kfi_proto	*proto;
	struct kfi_peers	peers;
	struct kfi_conn_set	conn_set;
	struct kfp_accounts	*accounts;
	u32			allowance;
	u8			peer_name[KFI_ADDR_MAX] __aligned(8);
};

/**
 * struct kfi_proto_pep - a passive endpoint; the provider's structure begins with it
 * @pep: common part of all passive endpoints
 * @proto: the protocol over the provider's links
 * @conn_set: connections that are in handshake or wait for the consumer's decision
 */
struct kfi_proto_pep {
	struct kfi_pep		pep;
	struct kfi_proto	*proto;
	struct kfi_conn_set	conn_set;
};

/**
 * struct kfi_proto_place - a handle for places, for &kfi_prov_ops.place_size
 * @place: common part
 * @entry: entry in the list of the connection, with @conn
 * @conn: connection that the place was got over; NULL: there is no place, or the connection has
 *	ended, or the put is encoded
 * @permit: grant of the peer that the place is a piece of, with @conn
 * @ops: operations of the link
 * @pin: result of &kfi_link_ops.pages; NULL: there is no place, or it needs no pin any more
 *
 * Members of the protocol, which protects them by a lock of its own.
 */
struct kfi_proto_place {
	struct kfi_dev_place		place;
	struct list_head		entry;
	struct kfp_conn			*conn;
	struct kfp_permit		*permit;
	const struct kfi_link_ops	*ops;
	void				*pin;
};

static inline struct kfi_proto_ep *to_proto_ep(struct kfi_ep *ep)
{
	return container_of(ep, struct kfi_proto_ep, ep);
}

static inline struct kfi_proto_pep *to_proto_pep(struct kfi_pep *pep)
{
	return container_of(pep, struct kfi_proto_pep, pep);
}

/**
 * kfi_proto_need_privilege() - does the endpoint believe the names of &kfi_link.privileged peers
 *	only?
 * @ep: the endpoint
 *
 * True for an endpoint of the kernel that has no secret key, and is an RDM endpoint or has
 * KFI_OPT_NEED_PRIVILEGE, if the administrator has not allowed other peers
 * (&kfi_proto_params.need_privilege). Such an endpoint refuses callers, and dials no names, that
 * are not privileged. So it has to show its own privilege: it calls, and listens, at places that an
 * unprivileged process of its machine can't use. The peers of an endpoint that belongs to a process
 * are other processes, which can't show that. Any context. Return: as the question says.
 */
bool kfi_proto_need_privilege(const struct kfi_ep *ep);

/**
 * kfi_link_refusal() - convert the reason that a peer has given for a refusal
 * @status: errno as received, not checked
 *
 * Return: a negative errno. It is never -EAGAIN, which means that a handshake continues.
 */
static inline int kfi_link_refusal(u32 status)
{
	return status && status < MAX_ERRNO && status != EAGAIN ? -(int)status : -ECONNREFUSED;
}

/* ------------------------------------------------------------------ */
/* Callbacks of a link							      */
/* ------------------------------------------------------------------ */

/**
 * kfi_link_new() - allocate a connection for a peer that calls
 * @pe: RDM endpoint that the peer calls, or NULL
 * @ppep: passive endpoint that the peer calls, or NULL
 *
 * The link fills in its part, &kfi_link.name and &kfi_link.privileged. Then the link calls
 * kfi_link_called(), enables its callbacks, and calls kfi_link_up(), in this order. The end of an
 * endpoint also fails a connection that is not up yet. So all of this is done before @unlisten of
 * kfi_proto_ep_stop() returns, and before kfi_proto_pep_close() is called; or ops->detach() waits
 * until it is done.
 * Context: process, without I/O. Return: the link, or NULL if there is no memory.
 */
struct kfi_link *kfi_link_new(struct kfi_proto_ep *pe, struct kfi_proto_pep *ppep);

/**
 * kfi_link_called() - add a connection of kfi_link_new() to its endpoint
 * @link: result of kfi_link_new()
 *
 * Context: process. Return: 0, or a negative errno if the endpoint has too many callers. In that
 * case the protocol has called ops->close(), and @link is gone.
 */
int kfi_link_called(struct kfi_link *link);

/**
 * kfi_link_securing() - report that the caller has to do something before the link is up
 * @link: link of a caller, between kfi_link_called() and kfi_link_up()
 *
 * For links with a handshake of their own. From now on other callers may end the connection to
 * make room, as one whose hello has not arrived: silent callers do not lock out others. So
 * ops->detach() waits for the context that calls this, and for the one that calls kfi_link_up().
 * Context: any but hard interrupt.
 */
void kfi_link_securing(struct kfi_link *link);

/**
 * kfi_link_up() - report that the link is up
 * @link: link of a caller, or link whose ops->dial() has succeeded
 *
 * Context: any but hard interrupt.
 */
void kfi_link_up(struct kfi_link *link);

/**
 * kfi_link_down() - report that ops->ended() does not return 0 any more, or that dialing failed
 * @link: the link
 *
 * Bytes that have arrived before are read first, if that is possible. Context: under the link's
 * lock.
 */
void kfi_link_down(struct kfi_link *link);

/**
 * kfi_link_fail() - end the connection
 * @link: the link
 * @err: reason, a negative errno
 *
 * Context: any but hard interrupt.
 */
void kfi_link_fail(struct kfi_link *link, int err);

/**
 * kfi_link_rx() - report that bytes have arrived
 * @link: the link
 *
 * Calls ops->read(). After ops->read() has returned, completion handlers run and answers are
 * posted. Context: under the link's lock, softirq or bottom halves off.
 */
void kfi_link_rx(struct kfi_link *link);

/**
 * kfi_link_room() - report that there is room again after ops->post() has returned -EAGAIN
 * @link: the link
 *
 * Calls ops->post() if there is something to send. Context: as kfi_link_rx().
 */
void kfi_link_room(struct kfi_link *link);

/**
 * kfi_link_sent() - report that ops->sent_to() has advanced
 * @link: a link with KFI_LINK_REPORTS_SENT
 *
 * Operations whose memory the link does not read any more complete. Context: as kfi_link_rx().
 */
void kfi_link_sent(struct kfi_link *link);

/**
 * kfi_link_concealed() - report that ops->conceal() is complete
 * @link: the link
 * @x: memory for which ops->conceal() has returned -EINPROGRESS
 *
 * Context: as kfi_link_rx(), and not after ops->detach().
 */
void kfi_link_concealed(struct kfi_link *link, struct kfi_exposed *x);

/**
 * kfi_link_ping() - send a frame without content, which the peer's link acknowledges
 * @link: the link
 *
 * Context: process or softirq.
 */
void kfi_link_ping(struct kfi_link *link);

/**
 * kfi_link_rx_bytes() - pass on bytes of the stream
 * @link: the link
 * @bytes: received bytes, contiguous in memory that the link keeps during the call. The peer may
 *	still change them
 * @len: number of bytes
 *
 * The protocol takes all that is in the bytes, whole frames and parts, and copies payload to its
 * destination.
 *
 * Context: from ops->read(). Return: number of bytes used. If it is less than @len, the link keeps
 * the rest, and passes on nothing until ops->read() is called again.
 */
size_t kfi_link_rx_bytes(struct kfi_link *link, const void *bytes, size_t len);

/* ------------------------------------------------------------------ */
/* For &struct kfi_prov_ops						      */
/* ------------------------------------------------------------------ */

/** KFI_PROTO_TX_PRIV - &kfi_prov_ops.tx_priv of a provider whose endpoints use the protocol */
#define KFI_PROTO_TX_PRIV	40
/** KFI_PROTO_DATA_MAX - &kfi_prov_ops.cm_data_size */
#define KFI_PROTO_DATA_MAX	256
/** KFI_PROTO_ATOMIC_MAX - &kfi_prov_ops.atomic_size */
#define KFI_PROTO_ATOMIC_MAX	512
/** KFI_PROTO_RMA_MAX - remote segments of one operation */
#define KFI_PROTO_RMA_MAX	256
/** KFI_PROTO_VERSION - version of the wire format, for &kfi_ep_attr.protocol_version */
#define KFI_PROTO_VERSION	3
/** KFI_PROTO_IOV_MAX - segments of a local vector */
#define KFI_PROTO_IOV_MAX	256
/** KFI_PROTO_CTX_MAX - contexts of a scalable endpoint, in each direction */
#define KFI_PROTO_CTX_MAX	256
/** KFI_PROTO_LEVELS - completion levels of MSG and RDM endpoints */
#define KFI_PROTO_LEVELS	(KFI_INJECT_COMPLETE | KFI_TRANSMIT_COMPLETE |		\
				 KFI_DELIVERY_COMPLETE | KFI_COMMIT_COMPLETE)

/**
 * struct kfi_proto_offer - what the endpoints of a link offer, beside what the protocol offers
 * @caps: capabilities of the link: KFI_LOCAL_COMM, KFI_REMOTE_COMM, KFI_PLACE, KFI_PROTECTED,
 *	KFI_DATA_CHECK
 * @tclass: supported kinds of traffic classes
 * @protocol: KFI_PROTO_*, the link and the protocol above it
 * @depth: operations of an endpoint, in each direction
 * @max_msg: longest message, bytes
 */
struct kfi_proto_offer {
	u64	caps;
	u32	tclass;
	u32	protocol;
	size_t	depth;
	size_t	max_msg;
};

/**
 * kfi_proto_offer() - fill in the attributes of an offer for kfi_query_add()
 * @info: has an attribute structure of each kind. All but the fabric's are overwritten; the
 *	provider then sets the names, and the members that its device limits further
 * @type: KFI_EP_MSG or KFI_EP_RDM
 * @offer: what the link offers
 *
 * Context: any.
 */
void kfi_proto_offer(struct kfi_info *info, enum kfi_ep_type type,
		     const struct kfi_proto_offer *offer);

/* Each implements the operation of &struct kfi_prov_ops with the same name. */
int kfi_proto_tx(struct kfi_ep *ep, struct kfi_oper *op);
void kfi_proto_tx_flush(struct kfi_ep *ep);
void kfi_proto_rx_matched(struct kfi_ep *ep, struct kfi_rx *rx);
void kfi_proto_rx_drop(struct kfi_ep *ep, struct kfi_rx *rx);
void kfi_proto_addr_removed(struct kfi_ep *ep, u32 index);
void kfi_proto_peers(struct kfi_ep *ep, u32 after,
		     int (*emit)(void *arg, const struct kfi_peer_info *peer), void *arg);
int kfi_proto_connect(struct kfi_ep *ep, const void *addr, const void *data, size_t len);
int kfi_proto_accept(struct kfi_ep *ep, const void *data, size_t len);
int kfi_proto_shutdown(struct kfi_ep *ep);
int kfi_proto_reject(struct kfi_pep *pep, struct kfi_connreq *req, const void *data, size_t len);
/* The provider's &kfi_prov_ops.place_size is that of struct kfi_proto_place. */
void kfi_proto_place_end(struct kfi_dev_place *place);

/**
 * kfi_proto_ep_open() - implement &kfi_prov_ops.ep_open
 * @ep: the endpoint
 * @proto: the provider's protocol object
 *
 * Context: process, may sleep. Return: 0; -EINVAL for a context number that is not below
 * KFI_PROTO_CTX_MAX; -EOPNOTSUPP for KFI_PROTECTED without &kfi_proto.protection; -ENOMEM. After 0
 * &kfi_prov_ops.ep_close has to call kfi_proto_ep_close().
 */
int kfi_proto_ep_open(struct kfi_ep *ep, struct kfi_proto *proto);

/**
 * kfi_proto_ep_stop() - implement &kfi_prov_ops.ep_stop: end all connections, admit no new one
 * @ep: the endpoint
 * @err: reason, a negative errno
 * @unlisten: stop listening, or NULL. kfi_link_called() is not called for @ep after it returns
 *
 * Waits for a peer only as long as &kfi_link_ops.close does. Context: process, may sleep.
 */
void kfi_proto_ep_stop(struct kfi_ep *ep, int err, void (*unlisten)(struct kfi_proto_ep *pe));

/**
 * kfi_proto_ep_close() - implement &kfi_prov_ops.ep_close
 * @ep: the endpoint
 *
 * Context: process, may sleep.
 */
void kfi_proto_ep_close(struct kfi_ep *ep);

/**
 * kfi_proto_pep_open() - implement &kfi_prov_ops.pep_open
 * @pep: the passive endpoint
 * @proto: the provider's protocol object
 *
 * Context: process.
 */
void kfi_proto_pep_open(struct kfi_pep *pep, struct kfi_proto *proto);

/**
 * kfi_proto_pep_close() - implement &kfi_prov_ops.pep_close
 * @pep: the passive endpoint. kfi_link_called() is not called for it any more
 *
 * Context: process, may sleep.
 */
void kfi_proto_pep_close(struct kfi_pep *pep);

#endif /* _KFI_LINK_H */
