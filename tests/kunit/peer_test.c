// SPDX-License-Identifier: GPL-2.0
/*
 * The peers of an RDM endpoint: which posts wait, which of two calls stands, which peers are
 * forgotten. The peers are those of hostile_peer.h.
 */
#include "hostile_peer.h"
#include "../../kfi/proto/peers.h"

#define NODE	2
#define PORT	5
#define LARGER	U64_MAX	/* a name of the victim that is larger than those of peers */
#define LIFE	99	/* an incarnation */

/* The victim sends a message to a node, and calls it for that. Return: the call, with its hello */
static struct ph_peer *dial(u64 node, void *context, struct kfw_hello *hello)
{
	struct ph_peer *peer = ph_new();

	ph.dialed = peer;
	ph_message(node, PORT, context);
	KUNIT_ASSERT_EQ(ph.test, 0, ph_get(peer, hello, sizeof(*hello), PH_WAIT_MS));
	return peer;
}

static void answer(struct ph_peer *peer, u8 kind, int status)
{
	struct kfw_hello hello = ph_hello(PORT, kind);

	hello.incarnation = cpu_to_le64(LIFE);
	hello.status = cpu_to_le32(status);
	ph_put(peer, &hello, sizeof(hello));
}

/* The message that the victim has sent comes over this connection, and is acknowledged. */
static void arrives(struct ph_peer *peer, void *context)
{
	struct kfw_hdr ack = ph_ack_due(peer);

	ph_send(peer, &ack, 0);
	PH_DONE(0, context);
}

/*
 * The node calls the victim by the name @self. @known: the last connection that it knows of.
 * Return: the call, whose hello is not sent
 */
static struct ph_peer *call(u64 node, u64 self, u64 life, u64 known, struct kfw_hello *hello)
{
	struct ph_peer *peer = ph_connect(node);

	peer->self = self;
	*hello = ph_hello(PORT, KFW_HELLO);
	hello->incarnation = cpu_to_le64(life);
	hello->known = cpu_to_le64(known);
	return peer;
}

/* ... and gets an answer. Return: the reason of a refusal */
static int asks(struct ph_peer **peer, u64 node, u64 self, u64 life, u64 known)
{
	struct kfw_hello hello;

	*peer = call(node, self, life, known, &hello);
	return ph_ask(*peer, &hello);
}

/* ---- which call stands ---- */

/*
 * Another call in the name of the peer takes no place from one that is being accepted, whose caller
 * may have the ACCEPT already. It waits until that one is published, or has failed.
 */
static void called_twice(struct kunit *test)
{
	struct ph_peer *peer, *first, *second;
	struct kfw_hello hello;
	int x;

	peer = dial(NODE, &x, &hello);
	first = call(NODE, LARGER, LIFE, 0, &hello);
	first->room = 0;
	ph_put(first, &hello, sizeof(hello));
	KUNIT_EXPECT_TRUE(test, ph_closes(peer, PH_WAIT_MS));
	second = call(NODE, LARGER, LIFE, 0, &hello);
	ph_put(second, &hello, sizeof(hello));
	KUNIT_EXPECT_EQ(test, -EAGAIN, ph_get(second, &hello, sizeof(hello), PH_NOT_MS));
	KUNIT_EXPECT_FALSE(test, first->closed);
	ph_cut(first);
	KUNIT_ASSERT_EQ(test, 0, ph_get(second, &hello, sizeof(hello), PH_WAIT_MS));
	KUNIT_EXPECT_EQ(test, (u8)KFW_ACCEPT, hello.kind);
	arrives(second, &x);
}

/* When does our call stand, if a connected peer calls? */
static void calls_of_the_connected(struct kunit *test)
{
	static const struct meeting { bool dialed, smaller, knows, same, stands; } meetings[] = {
		{ 1, 1, 0, 1, true },		/* the calls have crossed */
		{ 1, 1, 1, 1, false },		/* the peer knew it, so it has lost it */
		{ 1, 1, 0, 0, false },		/* the peer has restarted */
		{ 1, 0, 0, 1, false },		/* the peer's call stands, by name */
		{ 0, 1, 0, 1, false },		/* the peer made the old connection as well */
		{ 0, 0, 0, 1, false },
	};
	const struct meeting *m = meetings;
	struct ph_peer *old, *new;
	struct kfw_hello hello;
	int ret, x, y;
	u64 node;

	ph.there = -1;
	for (node = NODE; m < meetings + ARRAY_SIZE(meetings); m++, node++) {
		if (m->dialed) {
			old = dial(node, &x, &hello);
			answer(old, KFW_ACCEPT, 0);
		} else {
			old = call(node, LARGER, LIFE, 0, &hello);
			KUNIT_ASSERT_EQ(test, 0, ph_ask(old, &hello));
			ph_message(node, PORT, &x);
		}
		ph_ack_due(old);
		ret = asks(&new, node, m->smaller ? PH_SELF : LARGER, m->same ? LIFE : LIFE + 1,
			   m->knows ? le64_to_cpu(hello.call_id) : 1);
		KUNIT_EXPECT_EQ_MSG(test, m->stands ? EALREADY : 0, ret, "meeting %zd",
				    m - meetings);
		if (ret) {
			KUNIT_EXPECT_FALSE(test, old->closed);
			ph_reset(old);
		}
		PH_DONE(-ECONNRESET, &x);		/* nothing is sent twice */
		KUNIT_EXPECT_TRUE(test, ph_closes(old, PH_WAIT_MS));
		if (!ret) {
			ph_message(node, PORT, &y);
			arrives(new, &y);
		}
	}
}

/*
 * A call by the name of a connected peer waits until it is known whether the peer is alive; if it
 * is, the call is refused.
 */
static void name_in_use(struct kunit *test)
{
	struct ph_peer *old, *new;
	struct kfw_hello hello;
	int x;

	old = dial(NODE, &x, &hello);
	answer(old, KFW_ACCEPT, 0);
	ph.there = 0;
	new = call(NODE, LARGER, LIFE + 1, 1, &hello);
	ph_put(new, &hello, sizeof(hello));
	KUNIT_EXPECT_EQ(test, -EAGAIN, ph_get(new, &hello, sizeof(hello), PH_NOT_MS));
	ph.there = 1;
	KUNIT_ASSERT_EQ(test, 0, ph_get(new, &hello, sizeof(hello), PH_WAIT_MS));
	KUNIT_EXPECT_EQ(test, (u8)KFW_REJECT, hello.kind);
	KUNIT_EXPECT_EQ(test, (u32)EALREADY, le32_to_cpu(hello.status));
	arrives(old, &x);
	ph.there = -1;
	KUNIT_EXPECT_EQ(test, 0, asks(&new, NODE, LARGER, LIFE + 1, 1));
	KUNIT_EXPECT_TRUE(test, ph_closes(old, PH_WAIT_MS));
}

/* ---- the limit of peers ---- */

/* A peer that nothing uses is forgotten for the caller; its last connection may just be ending. */
static bool admitted_at_last(u64 node)
{
	unsigned long begin = jiffies;
	struct ph_peer *peer;

	while (asks(&peer, node, PH_SELF, LIFE, 0))
		if (ph_passed(begin, 2000))
			return false;
	return true;
}

static void callers_are_bounded(struct kunit *test)
{
	struct kfw_hello hello;
	struct ph_peer *first, *peer;
	int x;

	ph_proto.params.max_peers = 2;
	KUNIT_EXPECT_EQ(test, 0, asks(&first, 11, PH_SELF, LIFE, 0));
	KUNIT_EXPECT_EQ(test, 0, asks(&peer, 12, PH_SELF, LIFE, 0));
	KUNIT_EXPECT_EQ(test, ECONNREFUSED, asks(&peer, 13, PH_SELF, LIFE, 0));
	ph.there = -1;
	KUNIT_EXPECT_EQ(test, 0, asks(&peer, 12, PH_SELF, LIFE, 0));	/* is known */
	/* and the limit does not bind our own consumer */
	dial(14, &x, &hello);
	ph_proto.params.max_peers = 3;
	KUNIT_EXPECT_EQ(test, ECONNREFUSED, asks(&peer, 13, PH_SELF, LIFE, 0));
	ph_reset(first);
	KUNIT_EXPECT_TRUE(test, admitted_at_last(13));
	KUNIT_EXPECT_EQ(test, ECONNREFUSED, asks(&peer, 11, PH_SELF, LIFE, 0));
}

/*
 * A peer with posts that wait is not forgotten. One that is forgotten leaves the cache as well,
 * and a post to its handle makes a new one, which knows nothing of the earlier connection.
 */
static void forgotten_and_named_again(struct kunit *test)
{
	struct ph_peer *peer, *other;
	struct kfw_hello hello;
	int x;

	ph_proto.params.max_peers = 1;
	peer = dial(NODE, &x, &hello);
	KUNIT_EXPECT_EQ(test, ECONNREFUSED, asks(&other, 11, PH_SELF, LIFE, 0));
	answer(peer, KFW_ACCEPT, 0);
	ph_ack_due(peer);
	ph_reset(peer);
	PH_DONE(-ECONNRESET, &x);
	KUNIT_EXPECT_TRUE(test, admitted_at_last(11));
	peer = dial(NODE, &x, &hello);
	KUNIT_EXPECT_EQ(test, 0ULL, le64_to_cpu(hello.known));
	answer(peer, KFW_ACCEPT, 0);
	arrives(peer, &x);
}

static struct kfi_peers *peers(void)
{
	return &to_proto_ep(kfi_to_ep(ph.ep))->peers;
}

/*
 * The last use of the name by a post is under kfi_peers.lock, after the post has found or created
 * the peer. The peer is freed there as if a call had done so when the lock was free again.
 */
static void free_found(void)
{
	struct kfi_peer *peer = list_first_entry_or_null(&peers()->list, struct kfi_peer, entry);

	if (!peer)
		return;		/* the post has not created it yet */
	ph.naming = NULL;
	spin_lock(&peer->lock);
	peer->gone = true;
	spin_unlock(&peer->lock);
	xa_erase(&peers()->cache, peer->key);
	list_del_rcu(&peer->entry);
	peers()->nr--;
	kfree_rcu(peer, rcu);
}

/* A post that has found a peer, which is freed before the operation waits there, looks again. */
static void freed_when_found(struct kunit *test)
{
	struct kfw_hello hello;
	struct ph_peer *peer;
	int x;

	ph.naming = free_found;
	peer = dial(NODE, &x, &hello);
	KUNIT_EXPECT_NULL(test, ph.naming);
	KUNIT_EXPECT_EQ(test, 2U, peers()->last);
	answer(peer, KFW_ACCEPT, 0);
	arrives(peer, &x);
	KUNIT_EXPECT_EQ(test, 1, atomic_read(&ph.dials));
}

KFI_SUITE_IN(kfi_peer, ph_init, ph_exit,
	KUNIT_CASE(called_twice),
	KUNIT_CASE(calls_of_the_connected),
	KUNIT_CASE(name_in_use),
	KUNIT_CASE(callers_are_bounded),
	KUNIT_CASE(forgotten_and_named_again),
	KUNIT_CASE(freed_when_found));

/* ---- operations that take too long: KFI_OPT_OP_TIMEOUT_MS ---- */

#define LIMIT_MS	1U
#define SCAN_MS		50U	/* between two scans, with so short a limit */

static int set_limit(size_t ms)
{
	return kfi_setopt(&ph.ep->fid, KFI_OPT_ENDPOINT, KFI_OPT_OP_TIMEOUT_MS, &ms, sizeof(ms));
}

static int fails(struct kfi_ep *ep)
{
	return -EIO;
}

/* Open the victim again, with a time limit and a queue with @cq_flags. */
static void limited(struct kunit *test, u64 cq_flags)
{
	struct kfi_info *info = fake_info(ph.w, KFI_EP_RDM);
	size_t ms, len = sizeof(ms);

	KUNIT_ASSERT_EQ(test, 0, kfi_close(&ph.ep->fid));
	KUNIT_ASSERT_EQ(test, 0, kfi_close(&ph.cq->fid));
	ph.cq = fake_cq(ph.w, 64, cq_flags, NULL, NULL);
	KUNIT_ASSERT_EQ(test, 0, kfi_endpoint(&ph.w->domain.fid, info, &ph.ep, NULL));
	kfi_freeinfo(info);
	KUNIT_ASSERT_EQ(test, 0, kfi_ep_bind(ph.ep, &ph.cq->fid, KFI_TRANSMIT | KFI_RECV));
	KUNIT_ASSERT_EQ(test, 0, kfi_ep_bind(ph.ep, &ph.w->av->fid, 0));
	KUNIT_EXPECT_EQ(test, -EINVAL, set_limit(KFI_OP_TIMEOUT_MAX_MS + 1));
	KUNIT_ASSERT_EQ(test, 0, set_limit(KFI_OP_TIMEOUT_MAX_MS));
	ph.w->ops.ep_enable = fails;
	KUNIT_EXPECT_EQ(test, -EIO, kfi_enable(ph.ep));
	ph.w->ops.ep_enable = NULL;
	KUNIT_ASSERT_EQ(test, 0, set_limit(LIMIT_MS));
	KUNIT_ASSERT_EQ(test, 0, kfi_enable(ph.ep));
	KUNIT_EXPECT_EQ(test, -KFI_EOPBADSTATE, set_limit(0));
	KUNIT_EXPECT_EQ(test, 0, kfi_getopt(&ph.ep->fid, KFI_OPT_ENDPOINT, KFI_OPT_OP_TIMEOUT_MS,
					    &ms, &len));
	KUNIT_EXPECT_EQ(test, LIMIT_MS, ms);
}

/* Time without a connection does not count. */
static void overdue_unconnected(struct kunit *test)
{
	struct kfw_hello hello;
	struct ph_peer *peer;
	unsigned long start;
	int x;

	limited(test, 0);
	peer = dial(NODE, &x, &hello);
	KUNIT_EXPECT_FALSE(test, ph_closes(peer, 4 * SCAN_MS));
	start = jiffies;
	answer(peer, KFW_ACCEPT, 0);
	PH_DONE(-ETIMEDOUT, &x);
	KUNIT_EXPECT_TRUE(test, time_after_eq(jiffies, start + msecs_to_jiffies(SCAN_MS)));
	KUNIT_EXPECT_TRUE(test, ph_closes(peer, PH_WAIT_MS));
}

static void no_done(struct kfid_cq *cq, struct kfi_cqe *cqe, const struct kfi_cq_err_entry *wc)
{
}

/* An operation that has ended stays in the pool until its done() was called. */
static void overdue_ended(struct kunit *test)
{
	struct kfi_cqe cqe = { .done = no_done };
	struct kfi_msg msg = { .type = KFI_KVEC, .addr = ph_addr(NODE, PORT), .context = &cqe };
	struct ph_peer *peer = ph_new();
	struct kfw_hdr hdr;

	limited(test, KFI_CQ_DIRECT);
	ph.dialed = peer;
	KUNIT_ASSERT_EQ(test, (ssize_t)0, kfi_sendmsg(ph.ep, &msg, KFI_CQE));
	ph_skip(peer, sizeof(struct kfw_hello));
	answer(peer, KFW_ACCEPT, 0);
	PH_RECV(peer, KFW_MSG, &hdr);
	KUNIT_EXPECT_FALSE(test, ph_closes(peer, 4 * SCAN_MS));
	KUNIT_EXPECT_EQ(test, 1U, kfi_pool_used(&kfi_to_ep(ph.ep)->tx));
	KUNIT_EXPECT_EQ(test, 1, kfi_cq_poll(ph.cq, 1));
}

KFI_SUITE_IN(kfi_overdue, ph_init, ph_exit,
	KUNIT_CASE(overdue_unconnected),
	KUNIT_CASE(overdue_ended));
