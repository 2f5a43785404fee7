// SPDX-License-Identifier: GPL-2.0
/*
 * What a caller of a passive endpoint can send before frames flow, and in which order a link may
 * report. The links are memory, see hostile_peer.h.
 */
#include "hostile_peer.h"
#include "../../kfi/proof.h"

#define NODE	2

/* A caller whose link is not up yet */
static struct ph_peer *caller(void)
{
	return ph_arrive(NODE, true);
}

static struct kfw_hello msg_hello(void)
{
	struct kfw_hello hello = ph_hello(1, KFW_HELLO);

	hello.ep_type = KFI_EP_MSG;
	return hello;
}

/* The protocol closes the link by itself. */
static void closes(struct kunit *test, struct ph_peer *peer)
{
	KUNIT_EXPECT_TRUE(test, ph_closes(peer, PH_WAIT_MS));
}

/* ... behind a REJECT with this reason */
static void rejected_for(struct kunit *test, struct ph_peer *peer, u32 status)
{
	const struct kfw_hello *answer = (void *)peer->out;

	closes(test, peer);
	KUNIT_ASSERT_EQ(test, sizeof(*answer), peer->out_len);
	KUNIT_EXPECT_EQ(test, (u8)KFW_REJECT, answer->kind);
	KUNIT_EXPECT_EQ(test, status, le32_to_cpu(answer->status));
}

/* ... behind the REJECT that a passive endpoint has for each request */
static void rejected(struct kunit *test, struct ph_peer *peer)
{
	rejected_for(test, peer, ECONNREFUSED);
}

/*
 * A caller has sent an invalid hello before its link reports up. Nothing of it is read until then:
 * the connection would end, and be freed, while the link still holds it.
 */
static void nonsense_comes_early(struct kunit *test)
{
	struct ph_peer *peer = caller();
	u8 bytes[256];

	memset(bytes, 0xff, sizeof(bytes));
	ph_put(peer, bytes, sizeof(bytes));
	KUNIT_ASSERT_EQ(test, 0U, peer->off);
	KUNIT_EXPECT_FALSE(test, ph_closes(peer, 20));
	kfi_link_up(peer->link);
	closes(test, peer);
	KUNIT_EXPECT_EQ(test, 0U, peer->out_len);
}

/*
 * A caller without a common version learns what this side speaks, whatever else its hello has: also
 * private data that would not be valid here.
 */
static void other_versions_are_told(struct kunit *test)
{
	static const struct {
		u8 highest, lowest;
	} rows[] = {
		{ KFW_VERSION + 1 }, { KFW_VERSION + 9, KFW_VERSION + 1 }, { 255, 255 },
		{ KFW_VERSION_MIN - 1 }, { KFW_VERSION_MIN - 1, 1 },
	};
	const struct kfw_hello *answer;
	struct kfw_hello hello;
	struct ph_peer *peer;
	u8 data[7] = { 1 };
	int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		hello = msg_hello();
		hello.version = rows[i].highest;
		hello.version_min = rows[i].lowest;
		hello.data_len = cpu_to_le16(sizeof(data));
		hello.eager = 0;
		hello.zero = ~0;
		peer = caller();
		ph_put(peer, &hello, sizeof(hello));
		kfi_link_up(peer->link);
		KUNIT_EXPECT_FALSE_MSG(test, ph_closes(peer, 20), "row %d", i);
		ph_put(peer, data, sizeof(data));
		rejected_for(test, peer, EPROTONOSUPPORT);
		answer = (void *)peer->out;
		KUNIT_EXPECT_EQ(test, (u8)KFW_VERSION, answer->version);
	}
}

/* A caller that speaks later versions, too, and has features that this side does not have */
static void later_versions_are_welcome(struct kunit *test)
{
	struct kfw_hello hello = msg_hello();
	struct ph_peer *peer = caller();

	hello.version = KFW_VERSION + 5;
	hello.version_min = KFW_VERSION;
	hello.features = cpu_to_le32(~KFW_FEAT_PROTECTION);
	hello.zero = ~0;
	ph_put(peer, &hello, sizeof(hello));
	kfi_link_up(peer->link);
	rejected(test, peer);
}

/* The side that is called speaks no version of the caller, which tells its consumer so. */
static void called_side_is_older(struct kunit *test)
{
	struct kfw_hello hello, no = ph_hello(1, KFW_REJECT);
	struct ph_peer *peer = ph.dialed = ph_new();
	int x;

	no.version = KFW_VERSION - 1;
	no.status = cpu_to_le32(EPROTONOSUPPORT);
	ph_message(NODE, 5, &x);
	KUNIT_ASSERT_EQ(test, 0, ph_get(peer, &hello, sizeof(hello), PH_WAIT_MS));
	ph_put(peer, &no, sizeof(no));
	PH_DONE(-EPROTONOSUPPORT, &x);
}

/*
 * Magic, versions and length are these bytes, in the hellos of both sides. All versions have them at
 * these offsets, so that each version can refuse each other one.
 */
static void front_is_frozen(struct kunit *test)
{
	static const u8 front[KFW_FROZEN] = { 'K', 'F', 'I', 'P', 3, 0, 72, 0 };
	struct kfw_hello hello = msg_hello();
	struct ph_peer *peer = caller();

	memcpy(&hello, front, sizeof(front));
	ph_put(peer, &hello, sizeof(hello));
	kfi_link_up(peer->link);
	rejected(test, peer);
	KUNIT_EXPECT_MEMEQ(test, front, peer->out, sizeof(front));
}

/* Bytes of a connection that has failed are not read: their sender may have reused the memory. */
static void nothing_after_a_failure(struct kunit *test)
{
	struct kfw_hello hello = msg_hello();
	struct ph_peer *peer = caller();

	kfi_link_up(peer->link);
	spin_lock_bh(&peer->lock);
	memcpy(peer->in, &hello, sizeof(hello));
	peer->len = sizeof(hello);
	kfi_link_fail(peer->link, -ECONNRESET);
	kfi_link_rx(peer->link);
	spin_unlock_bh(&peer->lock);
	KUNIT_EXPECT_EQ(test, 0U, peer->off);
	closes(test, peer);
}

/*
 * The answer to a call has arrived, and the read that has met its end may still go on: there is no
 * connection before the link's lock is free, because the read would handle frames.
 */
static void answer_waits_for_the_read(struct kunit *test)
{
	struct kfw_hello hello, yes = ph_hello(1, KFW_ACCEPT);
	struct ph_peer *peer = ph.dialed = ph_new();
	struct kfw_hdr ack;
	int x;

	ph_message(NODE, 5, &x);
	KUNIT_ASSERT_EQ(test, 0, ph_get(peer, &hello, sizeof(hello), PH_WAIT_MS));
	WRITE_ONCE(peer->busy, true);
	ph_put(peer, &yes, sizeof(yes));
	msleep(20);
	KUNIT_EXPECT_NE(test, (u8)KFP_READY, READ_ONCE(link_conn(peer->link)->state));
	WRITE_ONCE(peer->busy, false);
	ack = ph_ack_due(peer);
	ph_send(peer, &ack, 0);
	PH_DONE(0, &x);
}

/* A caller without a hello is gone when the passive endpoint closes. */
static void silence_ends_with_the_listener(struct kunit *test)
{
	struct ph_peer *peer = caller();

	kfi_link_up(peer->link);
	kfi_proto_pep_close(&ph.ppep.pep);
	KUNIT_EXPECT_TRUE(test, peer->closed);
}

/*
 * More callers of one origin than the backlog permits: the oldest makes room that has sent no
 * hello, or that waits until the peer with its name has been probed. One whose request the consumer
 * has stays, and so does one that waits for the probe with a key, because its proof was valid.
 */
static void oldest_makes_room(struct kunit *test)
{
	static const u8 states[] = { KFP_WAITING, KFP_ADMITTING, KFP_ADMITTING, KFP_HELLO,
				     KFP_HELLO, KFP_HELLO };
	struct ph_peer *peers[ARRAY_SIZE(states)];
	struct kfp_conn *conn;
	int i;

	ph_proto.params.origin_backlog = 4;
	for (i = 0; i < ARRAY_SIZE(states); i++) {
		ph.ep_attr.auth_key_size = i == 1;
		peers[i] = caller();
		conn = link_conn(peers[i]->link);
		kfi_link_up(peers[i]->link);
		if (i < 4) {
			flush_delayed_work(&conn->hello_work);
			WRITE_ONCE(conn->state, states[i]);
		} else {
			closes(test, peers[i - 2]);
		}
	}
	for (i = 0; i < ARRAY_SIZE(states); i++)
		if (i != 2 && i != 3)
			KUNIT_EXPECT_FALSE(test, peers[i]->closed);
	kfi_proto_pep_close(&ph.ppep.pep);
}

/*
 * The same for callers of all origins. Those that have failed count until they have ended: there
 * are no more than twice as many as the backlog permits.
 */
static void backlog_makes_room(struct kunit *test)
{
	struct ph_peer *peers[4];
	int i;

	ph_proto.params.backlog = 2;
	ph.unreleased = true;
	for (i = 0; i < ARRAY_SIZE(peers); i++) {
		peers[i] = ph_arrive(NODE + i, true);
		kfi_link_up(peers[i]->link);
		if (i > 1)
			closes(test, peers[i - 2]);
	}
	KUNIT_EXPECT_NULL(test, ph_try(NODE + i, true));
	KUNIT_EXPECT_FALSE(test, peers[2]->closed || peers[3]->closed);
	ph.unreleased = false;
	KUNIT_EXPECT_TRUE(test, fake_soon(ph_try(NODE + i, true)));
	closes(test, peers[2]);
	KUNIT_EXPECT_FALSE(test, peers[3]->closed);
	kfi_proto_pep_close(&ph.ppep.pep);
}

/*
 * A caller whose link is being secured makes room as well, but not one whose link has not begun
 * to: the context that accepts it still uses it.
 */
static void securing_makes_room(struct kunit *test)
{
	struct ph_peer *accepted, *securing, *other;

	ph_proto.params.origin_backlog = 2;
	accepted = caller();
	securing = caller();
	kfi_link_securing(securing->link);
	other = caller();
	closes(test, securing);
	KUNIT_EXPECT_FALSE(test, accepted->closed);
	KUNIT_EXPECT_FALSE(test, other->closed);
	kfi_proto_pep_close(&ph.ppep.pep);
}

/* Make room without a callback of the link: the protocol has to look by itself. */
static void make_room(struct ph_peer *peer, u32 room)
{
	spin_lock_bh(&peer->lock);
	peer->room = room;
	spin_unlock_bh(&peer->lock);
}

/*
 * A caller is rejected, and its link has room for a part of the answer only. The work item does not
 * wait for room, because other connections need its workqueue; the rest follows later.
 */
static void full_link_holds_up_nobody(struct kunit *test)
{
	struct kfw_hello hello = msg_hello();
	struct ph_peer *peer = caller();
	struct kfp_conn *conn = link_conn(peer->link);
	int i;

	peer->room = 10;
	ph_put(peer, &hello, sizeof(hello));
	kfi_link_up(peer->link);
	KUNIT_EXPECT_FALSE(test, ph_closes(peer, 50));
	KUNIT_EXPECT_EQ(test, 10U, READ_ONCE(peer->out_len));
	/* It tries again with each jiffy, so it may be running now, but not all the time. */
	for (i = 0; i < 100 && work_busy(&conn->hello_work.work) & WORK_BUSY_RUNNING; i++)
		msleep(20);
	KUNIT_EXPECT_LT(test, i, 100);
	make_room(peer, 30);
	KUNIT_EXPECT_FALSE(test, ph_closes(peer, 50));
	KUNIT_EXPECT_EQ(test, 30U, READ_ONCE(peer->out_len));
	make_room(peer, PH_ROOM);
	rejected(test, peer);
}

/* A link that never has room for the answer loses its connection at the deadline of the hello. */
static void full_link_ends(struct kunit *test)
{
	struct kfw_hello hello = msg_hello();
	struct ph_peer *peer;

	ph_proto.params.hello_timeout_ms = 200;
	peer = caller();
	peer->room = 0;
	ph_put(peer, &hello, sizeof(hello));
	kfi_link_up(peer->link);
	KUNIT_EXPECT_FALSE(test, ph_closes(peer, 100));
	closes(test, peer);
	KUNIT_EXPECT_EQ(test, 0U, peer->out_len);
	ph_proto.params.hello_timeout_ms = 60000;
}

/*
 * A passive endpoint that needs privileged callers refuses others before its consumer gets the
 * request, unless the administrator has allowed them.
 */
static void callers_need_privilege(struct kunit *test)
{
	struct kfw_hello hello = msg_hello();
	struct ph_peer *peer;
	int i;

	for (i = 0; i < 8; i++) {
		ph_proto.params.need_privilege = i & 1;
		ph.ppep.pep.need_privilege = i & 2;
		peer = caller();
		peer->link->privileged = i & 4;
		ph_put(peer, &hello, sizeof(hello));
		kfi_link_up(peer->link);
		rejected_for(test, peer, i == 3 ? EACCES : ECONNREFUSED);
	}
}

/* struct proof - what the proof of a caller covers, in this order */
struct proof {
	char			label[18];
	u64			caller;
	u64			self;
	struct kfw_hello	hello;
	struct kfw_hello	challenge;
	u8			nonce[2][KFW_AUTH_LEN];
	struct kfw_hello	proof;
} __packed;

/*
 * A caller proves the key of the passive endpoint; bit 0 of byte @wrong of what the proof covers is
 * another one, unless @wrong is negative. Return: the reason of the REJECT.
 */
static u32 prove(struct kunit *test, int wrong)
{
	struct proof proof = { .label = "kfabric connector", .caller = NODE << 16, .self = PH_SELF };
	struct kvec all = { &proof, sizeof(proof) };
	struct { struct kfw_hello hello; u8 auth[KFW_AUTH_LEN]; } said = { .hello = msg_hello() };
	struct ph_peer *peer = caller();
	struct kfw_hello answer;

	peer->link->privileged = false;
	said.hello.features = cpu_to_le32(KFW_FEAT_AUTH);
	said.hello.auth_len = cpu_to_le16(KFW_AUTH_LEN);
	memset(said.auth, 0x5a, KFW_AUTH_LEN);
	kfi_link_up(peer->link);
	ph_put(peer, &said, sizeof(said));
	proof.hello = said.hello;
	memcpy(proof.nonce[0], said.auth, KFW_AUTH_LEN);
	KUNIT_ASSERT_EQ(test, 0, ph_get(peer, &proof.challenge, sizeof(answer), PH_WAIT_MS));
	KUNIT_ASSERT_EQ(test, 0, ph_get(peer, proof.nonce[1], KFW_AUTH_LEN, PH_WAIT_MS));
	said.hello.kind = KFW_PROOF;
	proof.proof = said.hello;
	if (wrong >= 0)
		((u8 *)&proof)[wrong] ^= 1;
	kfi_auth_proof(&ph.ep_attr, &all, 1, said.auth);
	ph_put(peer, &said, sizeof(said));
	KUNIT_ASSERT_EQ(test, 0, ph_get(peer, &answer, sizeof(answer), PH_WAIT_MS));
	KUNIT_EXPECT_EQ(test, (u8)KFW_REJECT, answer.kind);
	return le32_to_cpu(answer.status);
}

/*
 * The proof of a caller covers all that belongs to the connection, so that it is of no use for
 * another one. With the right proof the request reaches the passive endpoint, which rejects it.
 */
static void proof_is_for_one_connection(struct kunit *test)
{
	static const int wrong[] = {
		offsetof(struct proof, label),
		offsetof(struct proof, caller),
		offsetof(struct proof, self),
		offsetof(struct proof, hello.incarnation),
		offsetof(struct proof, hello.eager),
		offsetof(struct proof, challenge.incarnation),
		offsetof(struct proof, nonce[0]),
		offsetof(struct proof, nonce[1]),
		offsetof(struct proof, proof.kind),
	};
	u8 key[] = "a key";
	int i;

	ph.ep_attr.auth_key = key;
	ph.ep_attr.auth_key_size = sizeof(key);
	ph_proto.params.need_privilege = true;	/* which the key makes needless */
	ph.ppep.pep.need_privilege = true;
	KUNIT_EXPECT_EQ(test, (u32)ECONNREFUSED, prove(test, -1));
	for (i = 0; i < ARRAY_SIZE(wrong); i++)
		KUNIT_EXPECT_EQ(test, (u32)EKEYREJECTED, prove(test, wrong[i]));
}

/* The header of a plain message is shorter than others. It may come in pieces. */
static void plain_in_pieces(struct kunit *test)
{
	static const u8 bytes[] = "a message of some bytes";
	struct kfw_plain plain = {
		.type = KFW_PLAIN, .payload = cpu_to_le32(sizeof(bytes)),
		.credit_msg = cpu_to_le32(PH_CREDIT), .credit_tag = cpu_to_le32(PH_CREDIT),
	};
	struct ph_peer *peer = ph_call(2, 5);
	unsigned int cut;
	int x;

	for (cut = 0; cut < sizeof(plain); cut++) {
		memset(ph.buf, 0, sizeof(bytes));
		KUNIT_ASSERT_EQ(test, (ssize_t)0,
				kfi_recv(ph.ep, ph.buf, 64, NULL, KFI_ADDR_UNSPEC, &x));
		ph_put(peer, &plain, cut);
		ph_put(peer, (u8 *)&plain + cut, sizeof(plain) - cut);
		ph_put(peer, bytes, sizeof(bytes));
		PH_DONE(0, &x);
		KUNIT_EXPECT_MEMEQ(test, bytes, ph.buf, sizeof(bytes));
	}
}

/* A plain message is not longer than the victim accepts at once, and has nothing in its header. */
static void plain_is_checked(struct kunit *test)
{
	struct kfw_plain plain = {
		.type = KFW_PLAIN, .payload = cpu_to_le32(16384),
		.credit_msg = cpu_to_le32(PH_CREDIT), .credit_tag = cpu_to_le32(PH_CREDIT),
	};
	struct ph_peer *peer;
	int i;

	for (i = 0; i < 4; i++) {
		peer = ph_call(2, 5);
		le32_add_cpu(&plain.payload, !i);
		plain.zero[max(i - 1, 0)] = !!i;
		ph_put(peer, &plain, sizeof(plain));
		KUNIT_EXPECT_TRUE(test, ph_closes(peer, 1000));
		ph_reset(peer);
		plain.payload = cpu_to_le32(16384);
		memset(plain.zero, 0, sizeof(plain.zero));
	}
}

#define TURN_TAG	0xd0

/* The peer sends request @id, and the victim receives it. */
static void turn_asks(struct ph_peer *peer, u32 id)
{
	struct kfw_hdr msg = ph_msg(TURN_TAG);
	int x;

	ph_receive(TURN_TAG, &x);
	msg.id = cpu_to_le32(id);
	msg.flags = cpu_to_le16(KFW_F_TAGGED | KFW_F_ACK);
	KUNIT_ASSERT_TRUE(ph.test, ph_send(peer, &msg, 8));
	PH_DONE(0, &x);
}

/* The victim's consumer answers. Return: the ACK of the request came before that, alone */
static bool turn_answers(struct ph_peer *peer, u32 id)
{
	struct kfw_hdr hdr;
	bool alone;
	int x;

	spin_lock_bh(&peer->lock);
	alone = peer->out_len;
	spin_unlock_bh(&peer->lock);
	ph_message(4, 5, &x);
	/* In both cases it is ahead of the answer. */
	KUNIT_ASSERT_EQ(ph.test, 0, ph_get_hdr(peer, &hdr, PH_WAIT_MS));
	KUNIT_ASSERT_EQ(ph.test, KFW_ACK, hdr.type);
	KUNIT_ASSERT_EQ(ph.test, id, le32_to_cpu(hdr.id));
	hdr = ph_ack_due(peer);
	KUNIT_ASSERT_TRUE(ph.test, ph_put_hdr(peer, &hdr));
	PH_DONE(0, &x);
	return alone;
}

/*
 * When requests of the peer and messages of the victim take turns, the ACKs wait for the messages.
 * Without a message they come soon, and the next ones at once. A busy machine may be too slow for a
 * turn now and then, and must not be so always.
 */
static void acks_take_turns(struct kunit *test)
{
	struct ph_peer *peer = ph_call(4, 5);
	struct kfp_rx *rx = &link_conn(peer->link)->rx;
	unsigned int together = 0;
	struct kfw_hdr hdr, due;
	u32 id;
	int x;

	for (id = 0; id < 1000 && together < 8; id++) {
		turn_asks(peer, id);
		if (!turn_answers(peer, id))
			together++;
		if (id < KFP_PAIRED)
			KUNIT_EXPECT_EQ(test, 0U, together);
	}
	KUNIT_EXPECT_EQ(test, 8U, together);
	for (; id < 1000 && READ_ONCE(rx->paired) != KFP_PAIRED; id++) {
		turn_asks(peer, id);
		turn_answers(peer, id);
	}
	turn_asks(peer, id);
	PH_RECV(peer, KFW_ACK, &hdr);
	KUNIT_EXPECT_EQ(test, 0, READ_ONCE(rx->paired));
	for (; id < 2000 && READ_ONCE(rx->paired) != KFP_PAIRED; id++) {
		turn_asks(peer, id);
		turn_answers(peer, id);
	}
	/*
	 * The victim waits for an ACK itself, and the peer may do the same: an ACK that the victim
	 * held would end the turns.
	 */
	ph_message(4, 5, &x);
	due = ph_ack_due(peer);
	turn_asks(peer, id);
	PH_RECV(peer, KFW_ACK, &hdr);
	KUNIT_EXPECT_EQ(test, id++, le32_to_cpu(hdr.id));
	KUNIT_EXPECT_EQ(test, KFP_PAIRED, READ_ONCE(rx->paired));
	KUNIT_ASSERT_TRUE(test, ph_put_hdr(peer, &due));
	PH_DONE(0, &x);
	turn_asks(peer, id);
	turn_asks(peer, id + 1);
	KUNIT_EXPECT_EQ(test, 0, READ_ONCE(rx->paired));
	PH_RECV(peer, KFW_ACK, &hdr);
	KUNIT_EXPECT_EQ(test, id, le32_to_cpu(hdr.id));
	PH_RECV(peer, KFW_ACK, &hdr);
	KUNIT_EXPECT_EQ(test, id + 1, le32_to_cpu(hdr.id));
}

KFI_SUITE_IN(kfi_proto_link, ph_init, ph_exit,
	KUNIT_CASE(nonsense_comes_early),
	KUNIT_CASE(other_versions_are_told),
	KUNIT_CASE(later_versions_are_welcome),
	KUNIT_CASE(called_side_is_older),
	KUNIT_CASE(front_is_frozen),
	KUNIT_CASE(nothing_after_a_failure),
	KUNIT_CASE(plain_in_pieces),
	KUNIT_CASE(plain_is_checked),
	KUNIT_CASE(answer_waits_for_the_read),
	KUNIT_CASE(acks_take_turns),
	KUNIT_CASE(silence_ends_with_the_listener),
	KUNIT_CASE(oldest_makes_room),
	KUNIT_CASE(backlog_makes_room),
	KUNIT_CASE(securing_makes_room),
	KUNIT_CASE(full_link_holds_up_nobody),
	KUNIT_CASE(full_link_ends),
	KUNIT_CASE(callers_need_privilege),
	KUNIT_CASE(proof_is_for_one_connection));
