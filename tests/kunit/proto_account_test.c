// SPDX-License-Identifier: GPL-2.0
/*
 * How much the peers of an RDM endpoint can make it hold, and which callers are refused. The peers
 * are those of hostile_peer.h, and a node is an origin.
 */
#include <kfi_payer.h>
#include "hostile_peer.h"

#define NODE		2

/* Payload of the messages below: half of the least allowance, and so its eager size */
#define EAGER_CREDITS	(KFP_ACCOUNT_MIN / 2)
#define EAGER		(EAGER_CREDITS * KFW_CREDIT_BYTES)
#define TAG_HELD	0xcc
#define RECONNECTS	32

/*
 * Leave as many unexpected messages as the allowance permits. An acknowledgement is requested for
 * all with @promised, where they may be missing, and else for the last. Return: the
 * acknowledgements
 */
static unsigned int ph_leave(struct ph_peer *peer, bool promised, unsigned int *n)
{
	struct kfw_hdr msg = ph_msg(TAG_HELD), ack;
	unsigned int i, acks = 0;

	*n = le32_to_cpu(peer->said.allowance_tag) / EAGER_CREDITS;
	for (i = 0; i < *n; i++) {
		msg.flags = cpu_to_le16(KFW_F_TAGGED |
					(promised || i == *n - 1 ? KFW_F_ACK : 0));
		msg.id = cpu_to_le32(i);
		KUNIT_EXPECT_TRUE(ph.test, ph_send(peer, &msg, EAGER));
	}
	while (acks < (promised ? *n : !!*n) &&
	       !ph_recv(peer, KFW_ACK, &ack, promised ? PH_NOT_MS : PH_WAIT_MS))
		acks++;
	return acks;
}

/* Receive all messages that are held. */
static unsigned int ph_held(void)
{
	unsigned int n = 0;
	void *context;
	int x;

	for (ph_receive(TAG_HELD, &x); !ph_done(PH_NOT_MS, &context); n++)
		ph_receive(TAG_HELD, &x);
	return n;
}

/*
 * A peer leaves its allowance full of messages and reconnects, again and again: messages that were
 * not promised to their sender make room for others each time. Each that was dropped is counted.
 */
static void messages_are_left(struct kunit *test)
{
	unsigned int i, n, held, left = 0;
	struct ph_peer *peer;

	for (i = 0; i < RECONNECTS; i++) {
		peer = ph_call(4, 5);
		KUNIT_EXPECT_EQ(test, !!le32_to_cpu(peer->said.allowance_tag),
				ph_leave(peer, false, &n));
		left += n;
		ph_reset(peer);
	}
	held = ph_held();
	KUNIT_EXPECT_LE(test, held * EAGER_CREDITS, 8192u);	/* of a peer */
	KUNIT_EXPECT_GE(test, held, 16u);
	KUNIT_EXPECT_GT(test, left, held);
	KUNIT_EXPECT_EQ(test, ph_dropped(), (u64)left - held);
}

/*
 * The same with promised messages, whose sender knows that they have arrived: they are kept. When
 * the peer has left as many as it may, it is still admitted, but its messages are acknowledged
 * when they are received.
 */
static void promises_are_kept(struct kunit *test)
{
	unsigned int i, n, acks, held, acked = 0, late = 0;
	struct ph_peer *peer = NULL;
	struct kfw_hdr ack;

	for (i = 0; i < RECONNECTS && late < 4; i++) {
		if (peer)
			ph_reset(peer);
		peer = ph_call(4, 5);
		acks = ph_leave(peer, true, &n);
		KUNIT_EXPECT_TRUE(test, acks == n || !acks);
		acked += acks;
		late += n - acks;
	}
	held = ph_held();
	KUNIT_EXPECT_LE(test, acked * EAGER_CREDITS, 8192u);
	KUNIT_EXPECT_EQ(test, 4u, late);
	KUNIT_EXPECT_EQ(test, (u64)acked + late, held + ph_dropped());
	KUNIT_EXPECT_GT(test, held, acked);
	PH_RECV(peer, KFW_ACK, &ack);
}

static struct kfp_accounts *accounts(void)
{
	return to_proto_ep(kfi_to_ep(ph.ep))->accounts;
}

/* A call leaves as many promised messages as its allowance permits. Return: the promised ones */
static unsigned int call_leaves(u64 node, u16 port)
{
	struct ph_peer *peer = ph_call(node, port);
	unsigned int n, acks;

	acks = ph_leave(peer, true, &n);
	ph_reset(peer);
	return acks;
}

/*
 * Some origins have left as much as all may leave. Others get the smallest allowances, and
 * promises as long as they leave little.
 */
static void account_all_full(struct kunit *test)
{
	const u32 *left = &accounts()->all.dead_credits, most = 4096;
	struct ph_peer *peer;
	unsigned int i, n;

	ph_proto.params.unexpected_total = most;
	for (i = 0; *left <= KFP_ACCOUNT_SPARE && i < 100; i++)
		call_leaves(NODE, 5 + i);
	for (; *left + 2 * KFP_ACCOUNT_MIN <= most && i < 300; i++)
		call_leaves(NODE + i, 5);
	KUNIT_ASSERT_LT(test, i, 300U);
	KUNIT_EXPECT_LE(test, *left, most + 64);
	peer = ph_call(1000, 5);
	KUNIT_EXPECT_EQ(test, KFP_ACCOUNT_MIN, le32_to_cpu(peer->said.allowance_tag));
	KUNIT_EXPECT_EQ(test, 2U, ph_leave(peer, true, &n));
	KUNIT_EXPECT_EQ(test, 0U, call_leaves(NODE, 4));
}

/* An origin has a limited number of connections, whatever their names. */
static void account_origin(struct kunit *test)
{
	struct kfw_hello hello;
	int i;

	ph_proto.params.origin_peers = 4;
	for (i = 1; i <= 4; i++)
		ph_call(NODE, i);
	hello = ph_hello(i, KFW_HELLO);
	KUNIT_EXPECT_EQ(test, ENOBUFS, ph_ask(ph_connect(NODE), &hello));
	ph_call(NODE + 1, i);
}

/* A peer with port 0 has the same name as its origin, but has its own account. */
static void account_port_zero(struct kunit *test)
{
	struct kfw_hello hello, yes = ph_hello(1, KFW_ACCEPT);
	struct ph_peer *peer = ph.dialed = ph_new();
	const struct kfp_account *account;
	struct kfw_hdr ack;
	int x;

	ph_message(NODE, 0, &x);
	KUNIT_ASSERT_EQ(test, 0, ph_get(peer, &hello, sizeof(hello), PH_WAIT_MS));
	ph_put(peer, &yes, sizeof(yes));
	ack = ph_ack_due(peer);
	account = link_conn(peer->link)->account;
	KUNIT_ASSERT_NOT_NULL(test, account->up);
	KUNIT_EXPECT_PTR_EQ(test, &accounts()->all, account->up->up);
	ph_send(peer, &ack, 0);
	PH_DONE(0, &x);
}

static atomic_long_t paid;
static unsigned int max_mib;

/* Call from a node, if the account still has room for a link. Return: NULL, or the call */
static struct ph_peer *call_paid(u64 node)
{
	struct kfw_hello hello = ph_hello(5, KFW_HELLO);
	struct ph_peer *peer = ph_try(node, false);

	if (!peer)
		return NULL;
	kfi_link_up(peer->link);
	return ph_ask(peer, &hello) ? NULL : peer;
}

/*
 * A process pays for allowances, which get smaller, until it can't pay for the smallest: then no
 * connection begins, not even one that it dials. What ended connections have paid is returned.
 */
static void account_process(struct kunit *test)
{
	static struct kfi_account payer = { .bytes = &paid, .max_mib = &max_mib };
	u32 allowance, last = ph_proto.params.unexpected;
	struct ph_peer *peer, *first = NULL;
	u64 node = NODE;
	int x;

	max_mib = 16;
	ph_proto.params.max_peers = 1000;
	ph.room = 8192;
	ph.w->domain.account = &payer;
	accounts()->payer = &payer;
	while ((peer = call_paid(node++))) {
		allowance = le32_to_cpu(peer->said.allowance_tag);
		KUNIT_ASSERT_LE(test, allowance, last);
		KUNIT_ASSERT_LE(test, le32_to_cpu(peer->said.eager),
				allowance / 2 * KFW_CREDIT_BYTES);
		first = first ?: peer;
		last = allowance;
	}
	KUNIT_ASSERT_NOT_NULL(test, first);
	KUNIT_EXPECT_EQ(test, KFP_ACCOUNT_MIN, last);
	KUNIT_EXPECT_LE(test, atomic_long_read(&paid), 16L << 20);
	ph_message(node, 5, &x);
	PH_DONE(-ENOBUFS, &x);
	ph_reset(first);
	KUNIT_EXPECT_TRUE(test, fake_soon(call_paid(node)));
	list_for_each_entry(peer, &ph.peers, entry)
		if (peer->link)
			ph_reset(peer);
	KUNIT_EXPECT_TRUE(test, fake_soon(atomic_long_read(&paid) < 1L << 20));
	KUNIT_EXPECT_GE(test, atomic_long_read(&paid), 0L);	/* the peers are left */
}

/* Call from new names of a node until the victim refuses. Return: the calls, all of which it accepts */
static unsigned int call_all(u64 node, struct ph_peer **peers, unsigned int most)
{
	struct kfw_hello hello;
	unsigned int n;
	int refused = 0;

	for (n = 0; n < most; n++) {
		hello = ph_hello(n + 1, KFW_HELLO);
		peers[n] = ph_connect(node);
		refused = ph_ask(peers[n], &hello);
		if (refused)
			break;
	}
	KUNIT_EXPECT_EQ(ph.test, ENOBUFS, refused);
	return n;
}

static unsigned int closed(struct ph_peer **peers, unsigned int n)
{
	unsigned int i, count = 0;

	for (i = 0; i < n; i++)
		count += READ_ONCE(peers[i]->closed);
	return count;
}

/*
 * Callers of the kernel's endpoints have one account. If it is full, a node that has fewer
 * connections than another one takes places of that, and no node takes those of callers that have
 * proved who they are.
 */
static void account_callers(struct kunit *test)
{
	static const unsigned int mib = 4;
	struct kfi_account *callers = kfi_payer_callers();
	const unsigned int *old = callers->max_mib;
	struct kfw_hello hello = ph_hello(1, KFW_HELLO);
	struct ph_peer *first[60], *second[60];
	unsigned int n, m;

	callers->max_mib = &mib;
	ph_proto.params.origin_peers = 100;
	ph.room = 8192;
	n = call_all(NODE, first, ARRAY_SIZE(first));
	KUNIT_EXPECT_GT(test, n, 8U);
	KUNIT_EXPECT_EQ(test, 0U, closed(first, n));
	m = call_all(NODE + 1, second, ARRAY_SIZE(second));
	KUNIT_EXPECT_EQ(test, n / 2, m);
	KUNIT_EXPECT_TRUE(test, fake_soon(closed(first, n) == m));
	KUNIT_EXPECT_EQ(test, 0U, closed(second, m));
	KUNIT_EXPECT_LE(test, atomic_long_read(callers->bytes), (long)(mib + 1) << 20);
	ph_proto.identity = "its key";
	KUNIT_EXPECT_EQ(test, ENOBUFS, ph_ask(ph_connect(NODE + 2), &hello));
	ph_proto.identity = NULL;
	KUNIT_EXPECT_EQ(test, 0, ph_ask(ph_connect(NODE + 2), &hello));
	callers->max_mib = old;
}

/* An endpoint keeps to what it has announced. It needs no adjacent pages to keep a message. */
static void account_eager(struct kunit *test)
{
	struct kfw_hdr msg = ph_msg(TAG_HELD);
	struct ph_peer *peer;
	struct kfp_inmsg *in;
	size_t limit;

	for (limit = 5000; limit < PH_BUF; limit *= 4) {
		kfi_to_ep(ph.ep)->eager_size = limit;
		peer = ph_call(4, limit);
		KUNIT_EXPECT_EQ(test, limit, le32_to_cpu(peer->said.eager));
		KUNIT_EXPECT_TRUE(test, ph_send(peer, &msg, limit));
		in = list_first_entry_or_null(&link_conn(peer->link)->messages.all,
					      struct kfp_inmsg, entry);
		KUNIT_ASSERT_NOT_NULL(test, in);
		KUNIT_EXPECT_LE(test, in->vec->iov_len, PAGE_SIZE);
		ph_send(peer, &msg, limit + 1);
		KUNIT_EXPECT_TRUE(test, ph_closes(peer, PH_WAIT_MS));
	}
	KUNIT_EXPECT_EQ(test, 2, ph_held());
}

KFI_SUITE_IN(kfi_proto_account, ph_init, ph_exit,
	KUNIT_CASE(account_eager),
	KUNIT_CASE(messages_are_left),
	KUNIT_CASE(promises_are_kept),
	KUNIT_CASE(account_all_full),
	KUNIT_CASE(account_origin),
	KUNIT_CASE(account_port_zero),
	KUNIT_CASE(account_process),
	KUNIT_CASE(account_callers));
