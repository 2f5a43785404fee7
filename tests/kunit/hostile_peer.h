/* SPDX-License-Identifier: GPL-2.0 */
/*
 * hostile_peer.h - an endpoint and a passive endpoint over the message protocol, and peers that
 * read and write the bytes of their links, which are memory. Such a peer is not a second side of
 * the protocol: it shares only the wire format.
 */
#ifndef _KFI_KUNIT_HOSTILE_PEER_H
#define _KFI_KUNIT_HOSTILE_PEER_H

#include <linux/delay.h>
#include "fake.h"
#include "../../kfi/proto/conn.h"

#define PH_ROOM		131072U		/* default of &ph_world.room */
#define PH_BUF		65536U		/* bytes of a receive */
#define PH_WAIT_MS	20000U		/* limit for an event that has to happen */
#define PH_NOT_MS	200U		/* how long to look for one that must not happen */
#define PH_SHORT_MS	400U		/* peer_timeout_ms in the tests that wait for it */
#define PH_CREDIT	1024U		/* a limit of one allowance, valid while it is not used */
#define PH_SELF		1		/* name of the victim */
#define PH_PEERS	64U		/* default of max_peers */
#define KEY		7

/**
 * struct ph_peer - a connection as the peer sees it, until the end of the test
 * @entry: in &ph_world.peers
 * @lock: lock of the link; protects the following members
 * @link: the victim's link, or NULL
 * @in: bytes for the victim, of which it has taken @off
 * @out: bytes of the victim
 * @room: the most that @out may have
 * @full: the victim waits for room in @out
 * @busy: the link's lock is not available
 * @ended: what the link says of its end: -ECONNRESET if the peer has cut it
 * @closed: the victim has closed its link
 * @self: name by which the peer has called the victim
 * @said: answer to the hello
 */
struct ph_peer {
	struct list_head	entry;
	spinlock_t		lock;
	struct kfi_link		*link;
	u8			*in, *out;
	u32			len, off, out_len, room;
	bool			full, closed, busy;
	int			ended;
	u64			self;
	struct kfw_hello	said;
};

/**
 * struct ph_world - an endpoint, the victim
 * @ppep: a passive endpoint; it does not listen, so each request is rejected
 * @ep_attr: of its info
 * @peers: all &struct ph_peer, under @lock
 * @dialed: the peer that the victim reaches if it calls
 * @accepts: a peer that accepts is made for each call of the victim
 * @unreleased: connections whose links are closed do not end as long as this is set
 * @naming: called when the victim makes a name of an address
 * @dials: calls of the victim
 * @room: bytes that links hold which are made from now on, in each direction
 * @there: what the victim finds out about a peer whose name another one claims
 * @served: so many well-behaved peers have been served
 */
struct ph_world {
	struct kunit		*test;
	struct kfi_world	*w;
	struct kfid_cq		*cq;
	struct kfid_ep		*ep;
	struct kfid_mr		*mr;
	struct kfi_proto_pep	ppep;
	struct kfi_info		info;
	struct kfi_ep_attr	ep_attr;
	u8			*buf;
	spinlock_t		lock;
	struct list_head	peers;
	struct ph_peer		*dialed;
	bool			accepts, unreleased;
	void			(*naming)(void);
	atomic_t		dials;
	u32			room;
	int			there;
	u16			served;
};

extern struct ph_world ph;
extern struct kfi_proto ph_proto;

int ph_init(struct kunit *test);
/* After each test a well-behaved peer is served. */
void ph_exit(struct kunit *test);

/* ---- the peer: bytes ---- */

struct ph_peer *ph_new(void);
bool ph_passed(unsigned long begin, unsigned int ms);
/* Return: false if the victim has closed the link, or takes nothing */
bool ph_put(struct ph_peer *peer, const void *bytes, u32 len);
/* Exactly @len bytes of the victim. Return: 0, -EAGAIN after @ms, -ECONNRESET: there are no more */
int ph_get(struct ph_peer *peer, void *bytes, u32 len, unsigned int ms);
int ph_skip(struct ph_peer *peer, u64 left);
bool ph_closes(struct ph_peer *peer, unsigned int ms);
/* Cut the link, in any state. */
void ph_cut(struct ph_peer *peer);
/* ... and wait until the victim has closed it. */
void ph_reset(struct ph_peer *peer);

/* ---- the peer: hellos and frames ---- */

struct kfw_hello ph_hello(u16 port, u8 kind);
/*
 * Connect from node @node, to the passive endpoint if @listener. The link is not up yet. Return
 * NULL if there is no memory, or the victim does not take the connection. Any thread
 */
struct ph_peer *ph_try(u64 node, bool listener);
/* ... which it has to take */
struct ph_peer *ph_arrive(u64 node, bool listener);
/* Call from node @node, and send no hello. */
struct ph_peer *ph_connect(u64 node);
/* Send a hello. Return: the reason for which it is refused, 0 if it is accepted */
int ph_ask(struct ph_peer *peer, const struct kfw_hello *hello);
/* Call, as @port of the node. The last connection of this name has to have ended. */
struct ph_peer *ph_call(u64 node, u16 port);
/* ... with little time for what is due */
struct ph_peer *ph_call_short(void);
struct kfw_hdr ph_rts(u64 tag, u32 id, u64 len);
struct kfw_hdr ph_msg(u64 tag);
struct kfw_hdr ph_data(const struct kfw_hdr *cts);
bool ph_put_hdr(struct ph_peer *peer, struct kfw_hdr *hdr);
/* The header of a frame whose @len bytes are still to come, with a segment if there is @seg */
bool ph_begin(struct ph_peer *peer, struct kfw_hdr *hdr, const struct kfw_rma *seg, u64 len);
/* A frame with @payload bytes of 0x5a behind it */
bool ph_send(struct ph_peer *peer, struct kfw_hdr *hdr, u32 payload);
/* @len bytes of payload */
bool ph_pad(struct ph_peer *peer, u32 len);
/* A part of a payload */
bool ph_part(struct ph_peer *peer, struct kfw_hdr *hdr, u32 len);
/* The next header; that of a plain message as a MSG without flags */
int ph_get_hdr(struct ph_peer *peer, struct kfw_hdr *hdr, unsigned int ms);
/* The next frame of this type; others are skipped */
int ph_recv(struct ph_peer *peer, u8 type, struct kfw_hdr *hdr, unsigned int ms);

#define PH_RECV(peer, type, hdr) \
	KUNIT_ASSERT_EQ(ph.test, 0, ph_recv(peer, type, hdr, PH_WAIT_MS))

/* ---- the victim ---- */

void ph_receive(u64 tag, void *context);
/* A receive for long messages, which all have the same buffer */
void ph_long_receive(u64 tag, void *context);
kfi_addr_t ph_addr(u64 node, u16 port);
/* The victim sends a message that the peer has to acknowledge. */
void ph_message(u64 node, u16 port, void *context);
/* The peer receives it. Return: the header of its acknowledgement */
struct kfw_hdr ph_ack_due(struct ph_peer *peer);
/* Wait for the next completion. Return: its error, or -EAGAIN */
int ph_done(unsigned int ms, void **context);

#define PH_DONE(status, of)						\
do {									\
	void *__context;						\
									\
	KUNIT_ASSERT_EQ(ph.test, status, ph_done(PH_WAIT_MS, &__context));	\
	KUNIT_ASSERT_PTR_EQ(ph.test, (void *)(of), __context);		\
} while (0)

/* A receive is still posted, and takes the message of a well-behaved peer. */
void ph_still_posted(u64 tag, void *context);
void ph_region(void);
void ph_region_ends(void);
u64 ph_dropped(void);

#endif /* _KFI_KUNIT_HOSTILE_PEER_H */
