// SPDX-License-Identifier: GPL-2.0
/*
 * The peers of an RDM endpoint: which posts wait, which of two calls stands, which peers are
 * forgotten. The test makes each step of the other side.
 */
#include "peer_world.h"

#define ME	1	/* the name of the endpoint of pw_ep() */
#define LARGER	7
#define LIFE	99	/* an incarnation */

/* A call from the peer @who to the name @me */
#define CALL(who, me, life, ...)						\
	(&(struct kfi_peer_call) { .name = &(u64){ who }, .self = &(u64){ me },	\
				   .incarnation = (life), __VA_ARGS__ })
#define STREAM	500

static void expect_end(struct kunit *test, struct pw *pw, unsigned long context, int err)
{
	int got;

	KUNIT_EXPECT_EQ(test, context, pw_entry(pw, &got));
	KUNIT_EXPECT_EQ(test, err, got);
}

/* Open an endpoint, insert @who, and post once, which waits for a connection. Return: our call. */
static struct pw_conn *dial(struct kunit *test, struct pw *pw, u64 who, kfi_addr_t *h)
{
	struct pw_ep *pe;

	pw_open(test, pw);
	pe = pw_ep(pw);
	*h = kfi_world_peer(pw->w, who);
	KUNIT_EXPECT_EQ(test, 0, pw_post(pe, *h, 1));
	pw_settle(pw);
	KUNIT_ASSERT_NOT_NULL(test, pe->last);
	KUNIT_EXPECT_TRUE(test, pe->last->started);
	return pe->last;
}

/* ---- waiting ---- */

/* A post during the end of a connection makes another one, and does not end with the first. */
static void loss_calls_again(struct kunit *test)
{
	struct pw pw;
	kfi_addr_t h;
	struct pw_conn *conn = dial(test, &pw, LARGER, &h);
	struct pw_ep *pe = conn->pe;

	pw_accepted(conn, LIFE);
	pw_fail(conn, -ECONNRESET);
	pw_settle(&pw);
	expect_end(test, &pw, 1, ECONNRESET);
	KUNIT_EXPECT_EQ(test, 1u, pe->dials);		/* nothing waits, so nothing is dialed */
	KUNIT_EXPECT_EQ(test, 0, pw_post(pe, h, 2));
	pw_settle(&pw);
	KUNIT_EXPECT_EQ(test, 2u, pe->dials);
	KUNIT_EXPECT_EQ(test, conn->kc.pc.stream, pe->last->kc.pc.known);
	KUNIT_EXPECT_NE(test, conn->kc.pc.stream, pe->last->kc.pc.stream);
	pw_accepted(pe->last, LIFE);
	KUNIT_EXPECT_EQ(test, 2ul, pw_given(pe->last));
	KUNIT_EXPECT_EQ(test, 1ull, pw_peer(pe, LARGER, 0)->reconnects);
	pw_close(&pw);
}

/*
 * A connection that was accepted and lost before a post could use it ends the posts that have
 * waited; they are not repeated forever.
 */
static void accepts_and_hangs_up(struct kunit *test)
{
	struct pw pw;
	kfi_addr_t h;
	struct pw_conn *conn = dial(test, &pw, LARGER, &h);

	/*
	 * Its end has begun, and waits for this thread as it would for the work item that
	 * publishes.
	 */
	conn->err = -ECONNRESET;
	set_bit(KFP_FAILED, &conn->kc.flags);
	KUNIT_EXPECT_TRUE(test, pw_accepted(conn, LIFE));
	KUNIT_EXPECT_NULL(test, rcu_access_pointer(conn->kc.pc.peer->conn));
	KUNIT_EXPECT_EQ(test, 1ul, pw_given(conn));
	clear_bit(KFP_FAILED, &conn->kc.flags);
	pw_fail(conn, -ECONNRESET);
	pw_settle(&pw);
	expect_end(test, &pw, 1, ECONNRESET);
	KUNIT_EXPECT_EQ(test, 1u, conn->pe->dials);
	pw_close(&pw);
}

/* ---- which call stands ---- */

/* Both sides dial: our call stands if our name is the smaller one, however often the peer calls. */
static void ours_stands(struct kunit *test)
{
	struct pw pw;
	kfi_addr_t h;
	struct pw_conn *conn = dial(test, &pw, LARGER, &h);
	int ret;

	pw_called(conn->pe, CALL(LARGER, ME, LIFE), &ret);
	KUNIT_EXPECT_EQ(test, -EALREADY, ret);
	pw_called(conn->pe, CALL(LARGER, ME, LIFE), &ret);
	KUNIT_EXPECT_EQ(test, -EALREADY, ret);
	pw_settle(&pw);
	KUNIT_EXPECT_FALSE(test, kfp_conn_failed(&conn->kc.pc));
	KUNIT_EXPECT_TRUE(test, pw_accepted(conn, LIFE));
	KUNIT_EXPECT_EQ(test, 1ul, pw_given(conn));
	KUNIT_EXPECT_EQ(test, 1, atomic_read(&conn->kc.pc.peer->users));
	pw_close(&pw);
}

static void theirs_stands(struct kunit *test)
{
	struct pw pw;
	kfi_addr_t h;
	struct pw_conn *conn = dial(test, &pw, LARGER, &h), *theirs;
	int ret;

	theirs = pw_called(conn->pe, CALL(LARGER, LARGER + 1, LIFE, .stream = STREAM), &ret);
	KUNIT_EXPECT_EQ(test, 0, ret);
	KUNIT_EXPECT_EQ(test, -EALREADY, conn->err);
	KUNIT_EXPECT_FALSE(test, pw_accepted(conn, LIFE));
	pw_settle(&pw);			/* our call ends, which changes nothing */
	KUNIT_EXPECT_PTR_EQ(test, &theirs->kc.pc, theirs->kc.pc.peer->dialing);
	kfi_peer_publish(&theirs->kc.pc);
	KUNIT_EXPECT_EQ(test, 1ul, pw_given(theirs));
	KUNIT_EXPECT_EQ(test, (u64)STREAM, theirs->kc.pc.peer->stream);
	KUNIT_EXPECT_EQ(test, 1u, conn->pe->dials);
	pw_close(&pw);
}

/* The peer calls while our call is being made: ours is not started. */
static struct pw_conn *crossing;

static void call_meanwhile(struct kfi_peer *peer)
{
	struct pw_ep *pe = container_of(peer->peers, struct pw_ep, pe.peers);
	int ret;

	crossing = pw_called(pe, CALL(*(u64 *)peer->name, ME, LIFE), &ret);
	WARN_ON(ret);
}

static void called_while_dialing(struct kunit *test)
{
	struct pw_ep *pe;
	struct pw pw;
	kfi_addr_t h;

	pw_open(test, &pw);
	pe = pw_ep(&pw);
	pw.while_dialing = call_meanwhile;
	h = kfi_world_peer(pw.w, LARGER);
	KUNIT_EXPECT_EQ(test, 0, pw_post(pe, h, 1));
	pw_settle(&pw);
	KUNIT_EXPECT_FALSE(test, pe->last->started);
	KUNIT_EXPECT_EQ(test, -EALREADY, pe->last->err);
	kfi_peer_publish(&crossing->kc.pc);
	KUNIT_EXPECT_EQ(test, 1ul, pw_given(crossing));
	pw_close(&pw);
}

/* Our call lost against a call of the peer that never arrives: it is repeated a few times. */
static void lost_call_is_tried_again(struct kunit *test)
{
	struct pw pw;
	kfi_addr_t h;
	struct pw_conn *conn = dial(test, &pw, LARGER, &h);
	struct pw_ep *pe = conn->pe;
	struct kfi_peer *peer = conn->kc.pc.peer;
	unsigned int i;

	pw_proto.params.connect_timeout_ms = 200;
	for (i = 1; i <= 4; i++) {
		pw_fail(pe->last, -EALREADY);
		pw_settle(&pw);
		KUNIT_EXPECT_EQ(test, 1ul, pw_waiting(peer));
		flush_delayed_work(&peer->dial);
		KUNIT_ASSERT_EQ(test, 1 + i, pe->dials);
	}
	pw_fail(pe->last, -EALREADY);
	pw_settle(&pw);
	flush_delayed_work(&peer->dial);
	KUNIT_EXPECT_EQ(test, 5u, pe->dials);
	expect_end(test, &pw, 1, EALREADY);
	KUNIT_EXPECT_EQ(test, 0u, peer->redials);
	pw_close(&pw);
}

/* The peer's call has won and fails in the handshake: the post that waits is dialed again. */
static void winner_that_dies(struct kunit *test)
{
	struct pw pw;
	kfi_addr_t h;
	struct pw_conn *conn = dial(test, &pw, LARGER, &h), *theirs;
	struct kfi_peer *peer = conn->kc.pc.peer;
	struct pw_ep *pe = conn->pe;
	int ret;

	theirs = pw_called(pe, CALL(LARGER, LARGER + 1, LIFE, .stream = STREAM), &ret);
	KUNIT_EXPECT_EQ(test, 0, ret);
	pw_fail(theirs, -ECONNRESET);
	pw_settle(&pw);
	KUNIT_EXPECT_EQ(test, 1ul, pw_waiting(peer));
	flush_delayed_work(&peer->dial);
	KUNIT_EXPECT_EQ(test, 2u, pe->dials);
	KUNIT_EXPECT_TRUE(test, pe->last->started);
	pw_close(&pw);
}

/*
 * Another call in the name of the peer takes no place from one that is being accepted, whose caller
 * may have the ACCEPT already. It waits until that one is published, or has failed.
 */
static void called_twice(struct kunit *test)
{
	struct pw pw;
	kfi_addr_t h;
	struct pw_conn *conn = dial(test, &pw, LARGER, &h), *first, *second;
	int ret;

	first = pw_called(conn->pe, CALL(LARGER, LARGER + 1, LIFE, .stream = STREAM), &ret);
	KUNIT_EXPECT_EQ(test, 0, ret);
	pw_called(conn->pe, CALL(LARGER, LARGER + 1, LIFE, .stream = STREAM + 1), &ret);
	KUNIT_EXPECT_EQ(test, -EINPROGRESS, ret);
	KUNIT_EXPECT_EQ(test, 0, first->err);
	pw_fail(first, -ECONNRESET);
	second = pw_called(conn->pe, CALL(LARGER, LARGER + 1, LIFE, .stream = STREAM + 1), &ret);
	KUNIT_EXPECT_EQ(test, 0, ret);
	kfi_peer_publish(&first->kc.pc);
	KUNIT_EXPECT_EQ(test, 0ul, pw_given(first));
	KUNIT_EXPECT_EQ(test, 1ul, pw_waiting(second->kc.pc.peer));
	kfi_peer_publish(&second->kc.pc);
	KUNIT_EXPECT_EQ(test, 1ul, pw_given(second));
	pw_settle(&pw);
	KUNIT_EXPECT_PTR_EQ(test, &second->kc.pc, rcu_access_pointer(second->kc.pc.peer->conn));
	pw_close(&pw);
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
	const struct meeting *m;
	struct pw_conn *old, *new;
	struct pw pw;
	kfi_addr_t h;
	int ret;

	for (m = meetings; m < meetings + ARRAY_SIZE(meetings); m++) {
		old = dial(test, &pw, LARGER, &h);
		pw_accepted(old, LIFE);
		old->kc.pc.dialed = m->dialed;
		new = pw_called(old->pe, CALL(LARGER, m->smaller ? ME : LARGER + 1,
					      m->same ? LIFE : LIFE + 1,
					      .known = m->knows ? old->kc.pc.stream : 1), &ret);
		KUNIT_EXPECT_EQ_MSG(test, m->stands ? -EALREADY : 0, ret, "meeting %zd",
				    m - meetings);
		KUNIT_EXPECT_EQ(test, 0, old->err);	/* until the new one is published */
		if (!ret) {
			kfi_peer_publish(&new->kc.pc);
			KUNIT_EXPECT_EQ(test, -ECONNRESET, old->err);
			KUNIT_EXPECT_EQ(test, 0ul, pw_given(new));	/* nothing is sent twice */
			pw_settle(&pw);
			expect_end(test, &pw, 1, ECONNRESET);
			KUNIT_EXPECT_EQ(test, 0, pw_post(old->pe, h, 2));
			KUNIT_EXPECT_EQ(test, 2ul, pw_given(new));
			KUNIT_EXPECT_EQ(test, 1ull, new->kc.pc.peer->reconnects);
		}
		pw_close(&pw);
	}
}

/*
 * A call by the name of a connected peer waits until it is known whether the peer is alive; if it
 * is, the call is refused.
 */
static void name_in_use(struct kunit *test)
{
	struct pw pw;
	kfi_addr_t h;
	struct pw_conn *old = dial(test, &pw, LARGER, &h), *new;
	int ret;

	pw_accepted(old, LIFE);
	pw_there = 0;
	pw_called(old->pe, CALL(LARGER, LARGER + 1, LIFE + 1, .known = 1), &ret);
	KUNIT_EXPECT_EQ(test, -EINPROGRESS, ret);
	pw_there = 1;
	pw_called(old->pe, CALL(LARGER, LARGER + 1, LIFE + 1, .known = 1), &ret);
	KUNIT_EXPECT_EQ(test, -EALREADY, ret);
	KUNIT_EXPECT_EQ(test, 0, old->err);
	KUNIT_EXPECT_EQ(test, 0, pw_post(old->pe, h, 2));
	KUNIT_EXPECT_EQ(test, 12ul, pw_given(old));
	pw_there = -1;
	new = pw_called(old->pe, CALL(LARGER, LARGER + 1, LIFE + 1, .known = 1), &ret);
	KUNIT_EXPECT_EQ(test, 0, ret);
	kfi_peer_publish(&new->kc.pc);
	KUNIT_EXPECT_EQ(test, -ECONNRESET, old->err);
	pw_close(&pw);
}

/* ---- the limit of peers ---- */

/* A peer that has called and is connected */
static struct pw_conn *caller(struct pw_ep *pe, u64 name, int *ret)
{
	struct pw_conn *conn = pw_called(pe, CALL(name, ME, LIFE), ret);

	if (!*ret)
		kfi_peer_publish(&conn->kc.pc);
	return conn;
}

static void callers_are_bounded(struct kunit *test)
{
	struct pw_conn *first;
	struct pw_ep *pe;
	struct pw pw;
	int ret;

	pw_open(test, &pw);
	pe = pw_ep(&pw);
	pw_proto.params.max_peers = 2;
	first = caller(pe, 11, &ret);
	KUNIT_EXPECT_EQ(test, 0, ret);
	caller(pe, 12, &ret);
	KUNIT_EXPECT_EQ(test, 0, ret);
	caller(pe, 13, &ret);
	KUNIT_EXPECT_EQ(test, -ECONNREFUSED, ret);
	caller(pe, 12, &ret);			/* a known peer may call again */
	KUNIT_EXPECT_EQ(test, 0, ret);
	/* and the limit does not bind our own consumer */
	KUNIT_EXPECT_EQ(test, 0, pw_post(pe, kfi_world_peer(pw.w, 14), 1));
	pw_settle(&pw);
	KUNIT_EXPECT_EQ(test, 3u, pe->pe.peers.nr);
	pw_proto.params.max_peers = 3;
	caller(pe, 13, &ret);
	KUNIT_EXPECT_EQ(test, -ECONNREFUSED, ret);
	pw_fail(first, -ECONNRESET);
	pw_settle(&pw);
	KUNIT_EXPECT_NOT_NULL(test, pw_peer(pe, 11, 0));
	caller(pe, 13, &ret);
	KUNIT_EXPECT_EQ(test, 0, ret);
	KUNIT_EXPECT_NULL(test, pw_peer(pe, 11, 0));
	KUNIT_EXPECT_EQ(test, 3u, pe->pe.peers.nr);
	pw_close(&pw);
}

/*
 * A peer that is forgotten leaves the cache as well, and a post to its handle makes a new one. A
 * peer with posts that wait is not forgotten.
 */
static void forgotten_and_named_again(struct kunit *test)
{
	struct pw_conn *conn;
	struct kfi_peers *peers;
	struct pw pw;
	kfi_addr_t h;
	int ret;

	conn = dial(test, &pw, LARGER, &h);
	peers = &conn->pe->pe.peers;
	pw_proto.params.max_peers = 1;
	caller(conn->pe, 11, &ret);
	KUNIT_EXPECT_EQ(test, -ECONNREFUSED, ret);
	pw_settle(&pw);
	pw_accepted(conn, LIFE);
	pw_fail(conn, -ECONNRESET);
	pw_settle(&pw);
	expect_end(test, &pw, 1, ECONNRESET);
	KUNIT_EXPECT_NOT_NULL(test, kfi_peer_cached(peers, h));
	caller(conn->pe, 11, &ret);
	KUNIT_EXPECT_EQ(test, 0, ret);
	KUNIT_EXPECT_NULL(test, kfi_peer_cached(peers, h));
	KUNIT_EXPECT_EQ(test, 1u, peers->nr);
	KUNIT_EXPECT_EQ(test, 0, pw_post(conn->pe, h, 2));
	pw_settle(&pw);
	KUNIT_EXPECT_EQ(test, 2u, conn->pe->dials);
	/* nothing is known of the earlier connection */
	KUNIT_EXPECT_EQ(test, 0ull, conn->pe->last->kc.pc.known);
	KUNIT_EXPECT_EQ(test, 2ul, pw_waiting(kfi_peer_cached(peers, h)));
	pw_close(&pw);
}

static bool reclaimed;

/*
 * The last use of the name by a post is under kfi_peers.lock, after the post has found or created
 * the peer. To reclaim the peer there is as if a call had done so when the lock was free again.
 */
static void reclaim_found(struct pw *pw)
{
	struct kfi_peers *peers = &pw->eps[0]->pe.peers;

	if (list_empty(&peers->list))
		return;		/* the post has not created the peer yet */
	pw->while_naming = NULL;
	reclaimed = pw_reclaim(peers);
}

/* A post that has found a peer, which is freed before the operation waits there, looks again. */
static void freed_when_found(struct kunit *test)
{
	struct kfi_peer *peer;
	struct pw_ep *pe;
	struct pw pw;

	pw_open(test, &pw);
	pe = pw_ep(&pw);
	reclaimed = false;
	pw.while_naming = reclaim_found;
	KUNIT_EXPECT_EQ(test, 0, pw_post(pe, kfi_world_peer(pw.w, LARGER), 1));
	KUNIT_EXPECT_TRUE(test, reclaimed);
	peer = pw_peer(pe, LARGER, 0);
	KUNIT_ASSERT_NOT_NULL(test, peer);
	KUNIT_EXPECT_EQ(test, 1ul, pw_waiting(peer));
	KUNIT_EXPECT_EQ(test, 2u, pe->pe.peers.last);
	pw_settle(&pw);
	KUNIT_EXPECT_EQ(test, 1u, pe->dials);
	pw_close(&pw);
}

/* ---- end of an endpoint ---- */

#define PER_BUFFER	2

/*
 * A buffer that has room for two peers and refuses the third. @n: peers in it; @all: peers before;
 * @last: number of the newest
 */
struct buffer {
	struct kunit	*test;
	unsigned int	n, all;
	u32		last;
};

static int emit_into(void *arg, const struct kfi_peer_info *info)
{
	struct buffer *b = arg;
	char want[8];

	if (b->n == PER_BUFFER)
		return -EMSGSIZE;
	snprintf(want, sizeof(want), "%u", LARGER + b->all + b->n++);
	KUNIT_EXPECT_STREQ(b->test, want, info->addr);
	KUNIT_EXPECT_LT(b->test, b->last, info->nr);
	b->last = info->nr;
	return 0;
}

/*
 * A long list that needs several buffers has each peer once. The text of a peer is made for its own
 * buffer, and for one that was full.
 */
static void shows_in_parts(struct kunit *test)
{
	struct buffer b = { .test = test };
	struct pw_conn *conn;
	unsigned int i;
	struct pw pw;
	kfi_addr_t h;

	conn = dial(test, &pw, LARGER, &h);
	for (i = 1; i < 6; i++)
		KUNIT_EXPECT_EQ(test, 0,
				pw_post(conn->pe, kfi_world_peer(pw.w, LARGER + i), i + 1));
	pw_shows = 0;
	for (i = 0; i < 10; i++) {
		b.n = 0;
		kfi_peers_show(&conn->pe->pe.peers, b.last, emit_into, &b);
		b.all += b.n;
		if (!b.n)
			break;
	}
	KUNIT_EXPECT_EQ(test, 6u, b.all);
	KUNIT_EXPECT_EQ(test, 3u, i);
	KUNIT_EXPECT_LE(test, pw_shows, 6u + 3u);
	pw_close(&pw);
}

static struct kunit_case peer_cases[] = {
	KUNIT_CASE(loss_calls_again),
	KUNIT_CASE(accepts_and_hangs_up),
	KUNIT_CASE(ours_stands),
	KUNIT_CASE(theirs_stands),
	KUNIT_CASE(called_while_dialing),
	KUNIT_CASE(lost_call_is_tried_again),
	KUNIT_CASE(winner_that_dies),
	KUNIT_CASE(called_twice),
	KUNIT_CASE(calls_of_the_connected),
	KUNIT_CASE(name_in_use),
	KUNIT_CASE(callers_are_bounded),
	KUNIT_CASE(forgotten_and_named_again),
	KUNIT_CASE(freed_when_found),
	KUNIT_CASE(shows_in_parts),
	{}
};

static struct kunit_suite peer_suite = {
	.name = "kfi_peer",
	.test_cases = peer_cases,
};
kunit_test_suite(peer_suite);
