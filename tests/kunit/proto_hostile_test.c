// SPDX-License-Identifier: GPL-2.0
/*
 * The message protocol against hostile peers, over links of memory (hostile_peer.h). What a peer
 * can do to a particular kind of link is tested in tests/hostile.
 */
#include "hostile_peer.h"

#define TAG_X	0xaa
#define TAG_Y	0xbb
#define TAG_Z	0xcc

/* ---- hellos, and bytes that are no frames ---- */

/* One byte of the hello is another one. The fuzzer has the other cases. */
static void wrong_hello_ends(struct kunit *test)
{
	static const struct {
		u8 at, value;
	} wrong[] = {
		{ offsetof(struct kfw_hello, magic), 0 }, { offsetof(struct kfw_hello, version), 9 },
		{ offsetof(struct kfw_hello, len), 0 },
		{ offsetof(struct kfw_hello, kind), KFW_ACCEPT },
		{ offsetof(struct kfw_hello, kind), 77 }, { offsetof(struct kfw_hello, ep_type), 1 },
		{ offsetof(struct kfw_hello, data_len) + 1, 255 },
		{ offsetof(struct kfw_hello, port), 0 },	/* no endpoint listens there */
	};
	struct kfw_hello hello;
	struct ph_peer *peer;
	int i;

	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		peer = ph_connect(2);
		hello = ph_hello(5, KFW_HELLO);
		((u8 *)&hello)[wrong[i].at] = wrong[i].value;
		ph_put(peer, &hello, sizeof(hello));
		if (!ph_closes(peer, PH_WAIT_MS))
			KUNIT_FAIL(test, "wrong hello %d is accepted\n", i);
		if (peer->out_len >= sizeof(hello))
			KUNIT_EXPECT_EQ(test, (u8)KFW_REJECT, ((struct kfw_hello *)peer->out)->kind);
	}
}

/* A caller gets the buffers of a connection after its hello, not before. */
static void silent_callers_cost_little(struct kunit *test)
{
	struct kfw_hello hello = ph_hello(5, KFW_HELLO);
	struct ph_peer *peer = ph_connect(2);
	const struct kfp_conn *conn = link_conn(peer->link);

	ph_put(peer, &hello, sizeof(hello) - 1);
	msleep(PH_NOT_MS);
	KUNIT_EXPECT_NULL(test, conn->tx.held);
	KUNIT_EXPECT_NULL(test, conn->rx.segs);
	KUNIT_EXPECT_NULL(test, conn->pool);
	ph_put(peer, (u8 *)&hello + sizeof(hello) - 1, 1);
	KUNIT_ASSERT_EQ(test, 0, ph_get(peer, &peer->said, sizeof(peer->said), PH_WAIT_MS));
	KUNIT_EXPECT_EQ(test, (u8)KFW_ACCEPT, peer->said.kind);
	KUNIT_EXPECT_NOT_NULL(test, conn->tx.held);
	KUNIT_EXPECT_LT(test, conn->nr_pool, ph_proto.params.requests);	/* more when it asks for more */
}

/* Request to send, and wait for the receive. Return: the header of the payload */
static struct kfw_hdr ph_granted(struct ph_peer *peer, struct kfw_hdr *rts)
{
	struct kfw_hdr cts = {};

	ph_send(peer, rts, 0);
	PH_RECV(peer, KFW_CTS, &cts);
	return ph_data(&cts);
}

/* ---- messages that end with their connection ---- */

#define LOSSES	24

/*
 * Two long messages for each of two receives, then the end of the connection. The first message
 * of each pair has its receive when the connection ends, the second one waits in the matching:
 * the receive that the first one gives back must not go to the second. In every third round a grant
 * is used in part.
 */
static void lost_after_rts(struct kunit *test)
{
	static const u64 tags[] = { TAG_X, TAG_X, TAG_Y, TAG_Y };
	struct kfw_hdr rts, cts, data;
	struct ph_peer *peer;
	int i, round, x, y;

	ph_receive(TAG_X, &x);
	ph_receive(TAG_Y, &y);
	for (round = 0; round < LOSSES; round++) {
		peer = ph_call(2, 5);
		for (i = 0; i < ARRAY_SIZE(tags); i++) {
			rts = ph_rts(tags[i], i, 32768);
			KUNIT_EXPECT_TRUE(test, ph_send(peer, &rts, 0));
		}
		if (round & 1)
			usleep_range(5000, 6000);
		if (round % 3 == 2) {
			PH_RECV(peer, KFW_CTS, &cts);
			data = ph_data(&cts);
			KUNIT_EXPECT_TRUE(test, ph_begin(peer, &data, NULL, 32768));
		}
		ph_reset(peer);
	}
	ph_still_posted(TAG_X, &x);
	ph_still_posted(TAG_Y, &y);
}

/*
 * A peer acknowledges what was sent to another one, and has read more than that itself. It loses
 * its connection, and the message waits for the acknowledgement of the other peer.
 */
static void ack_of_another(struct kunit *test)
{
	struct ph_peer *peer = ph_call(2, 5), *thief = ph_call(2, 6);
	struct kfw_hdr ack;
	void *context;
	int i, x;

	for (i = 0; i < 2; i++) {
		ph_message(2, 6, &x);
		ack = ph_ack_due(thief);
		ph_send(thief, &ack, 0);
		PH_DONE(0, &x);
	}
	ph_message(2, 5, &x);
	ack = ph_ack_due(peer);
	ph_send(thief, &ack, 0);
	KUNIT_EXPECT_TRUE(test, ph_closes(thief, PH_WAIT_MS));
	KUNIT_EXPECT_EQ(test, -EAGAIN, ph_done(PH_NOT_MS, &context));
	KUNIT_EXPECT_TRUE(test, ph_send(peer, &ack, 0));
	PH_DONE(0, &x);
}

/* ---- receives that a peer holds ---- */

/* All receives are granted, no payload is ever sent, and another frame is sent now and then. */
static void unused_grants_end(struct kunit *test)
{
	struct kfw_hdr credit = { .type = KFW_CREDIT }, cts = {};
	static struct kfw_hdr rts[100];
	struct ph_peer *peer = ph_call_short();
	unsigned int given = 0;
	int i, x;

	for (i = 0; i < ARRAY_SIZE(rts); i++) {
		rts[i] = ph_rts(TAG_X, i, 32768);
		rts[i].credit_msg = rts[i].credit_tag = cpu_to_le32(PH_CREDIT);
		ph_receive(TAG_X, &x);
	}
	ph_put(peer, rts, sizeof(rts));
	while (!ph_recv(peer, KFW_CTS, &cts, PH_NOT_MS))
		given = le32_to_cpu(cts.credit_tag) - PH_CREDIT;
	KUNIT_EXPECT_LE(test, given, 64u);	/* no credit for messages that were not granted */
	for (i = 0; i < 100 && !ph_closes(peer, 50); i++)
		ph_send(peer, &credit, 0);
	KUNIT_EXPECT_TRUE(test, READ_ONCE(peer->closed));
	ph_still_posted(TAG_X, &x);
}

#define RELAYS	6

/*
 * Many connections of one origin request to send to one receive, and none sends. The message of
 * another peer, which came behind all of them, gets the receive after the first one was late.
 */
static void relays_hold_once(struct kunit *test)
{
	struct kfw_hdr rts = ph_rts(TAG_X, 1, 32768), msg = ph_msg(TAG_X), ack;
	struct ph_peer *peer;
	unsigned long begin;
	int i, x;

	ph_proto.params.peer_timeout_ms = 2 * PH_SHORT_MS;
	peer = ph_call(3, 5);
	for (i = 0; i < RELAYS; i++)
		ph_send(ph_call(2, 10 + i), &rts, 0);
	msg.flags |= cpu_to_le16(KFW_F_ACK);
	ph_send(peer, &msg, 64);
	PH_RECV(peer, KFW_ACK, &ack);
	begin = jiffies;
	ph_receive(TAG_X, &x);
	PH_DONE(0, &x);
	KUNIT_EXPECT_FALSE(test, ph_passed(begin, 3 * 2 * PH_SHORT_MS));
}

/* A message that is longer than any may be, and one that is longer than its receive. */
static void too_long(struct kunit *test)
{
	struct kfw_hdr data, rts = ph_rts(TAG_X, 1, KFW_PAYLOAD_MAX + 1);
	struct ph_peer *peer = ph_call(2, 5);
	u8 byte = 0;
	int i, x;

	ph_receive(TAG_X, &x);
	ph_send(peer, &rts, 0);
	KUNIT_EXPECT_TRUE(test, ph_closes(peer, PH_WAIT_MS));
	peer = ph_call(2, 5);
	rts = ph_rts(TAG_X, 1, KFW_PAYLOAD_MAX);
	data = ph_granted(peer, &rts);
	ph_begin(peer, &data, NULL, KFW_FRAME_MAX);
	for (i = 0; i < PH_BUF; i++)
		ph_put(peer, &byte, 1);
	PH_DONE(-KFI_ETRUNC, &x);	/* the rest does not hold a receive that is full */
	ph_reset(peer);
}

/* Single bytes of a frame whose header has matched a receive: the receive must return. */
static void ph_drips(struct ph_peer *peer)
{
	u8 byte = 0x5a;
	int i;

	for (i = 0; i < 200 && !ph_closes(peer, 20); i++)
		ph_put(peer, &byte, 1);
	KUNIT_EXPECT_TRUE(ph.test, READ_ONCE(peer->closed));
}

static void dripping_ends(struct kunit *test)
{
	struct kfw_hdr data, rts = ph_rts(TAG_X, 1, KFW_PAYLOAD_MAX), msg = ph_msg(TAG_Y);
	struct ph_peer *peer = ph_call_short();
	int x, y;

	ph_receive(TAG_X, &x);
	data = ph_granted(peer, &rts);
	ph_begin(peer, &data, NULL, KFW_FRAME_MAX);
	ph_drips(peer);
	peer = ph_call(2, 5);
	ph_receive(TAG_Y, &y);
	ph_begin(peer, &msg, NULL, 4096);
	ph_drips(peer);
	ph_still_posted(TAG_X, &x);
	ph_still_posted(TAG_Y, &y);
}

/* A peer sends the first part of a payload, and then other frames: the receive must return. */
static void stopped_part_ends(struct kunit *test)
{
	struct kfw_hdr data, rts = ph_rts(TAG_X, 1, KFW_FRAME_MAX + 1);
	struct kfw_hdr credit = { .type = KFW_CREDIT };
	struct ph_peer *peer = ph_call_short();
	int i, x;

	ph_long_receive(TAG_X, &x);
	data = ph_granted(peer, &rts);
	KUNIT_EXPECT_TRUE(test, ph_part(peer, &data, KFW_FRAME_MAX));
	for (i = 0; i < 100 && !ph_closes(peer, 50); i++)
		ph_send(peer, &credit, 0);
	KUNIT_EXPECT_TRUE(test, READ_ONCE(peer->closed));
	ph_still_posted(TAG_X, &x);
}

#define CHUNKS	28U	/* one each PH_SHORT_MS / 8: more than twice the time that a grant has */

/*
 * A write is in progress when the grant arrives, and takes longer than a grant may be unused: the
 * payload of the grant follows it.
 */
static void write_before_payload(struct kunit *test)
{
	const struct kfw_rma seg = { .len = cpu_to_le64(CHUNKS * PH_BUF), .key = cpu_to_le64(0xbad) };
	struct kfw_hdr data, ack, rts = ph_rts(TAG_X, 1, 32768);
	struct kfw_hdr write = {
		.type = KFW_WRITE, .id = cpu_to_le32(2), .rma_count = cpu_to_le16(1),
		.len = seg.len, .payload = cpu_to_le64(KFW_FRAME_MAX),
	};
	struct ph_peer *peer = ph_call_short();
	int i, x;

	ph_receive(TAG_X, &x);
	data = ph_granted(peer, &rts);
	for (i = 0; i < CHUNKS; i++) {
		if (!(i * PH_BUF % KFW_FRAME_MAX)) {
			ph_put_hdr(peer, &write);
			ph_put(peer, &seg, sizeof(seg));
		}
		msleep(PH_SHORT_MS / 8);
		KUNIT_ASSERT_TRUE(test, ph_put(peer, ph.buf, PH_BUF));
	}
	PH_RECV(peer, KFW_ACK, &ack);
	KUNIT_EXPECT_EQ(test, EACCES, le16_to_cpu(ack.status));
	KUNIT_EXPECT_TRUE(test, ph_send(peer, &data, 32768));
	PH_DONE(0, &x);
}

#define READS	16

struct ph_read {
	struct kfw_hdr	hdr;
	struct kfw_rma	seg;
} __packed;

/* The peer requests many reads and grants a message: the answers must not starve the message. */
static void granted_takes_turns(struct kunit *test)
{
	const struct kfw_rma seg = { .len = cpu_to_le64(PH_BUF), .key = cpu_to_le64(KEY) };
	struct ph_peer *peer = ph_call(2, 5);
	struct kfw_hdr hdr, rts, ack = { .type = KFW_ACK };
	struct ph_read *said;
	int i, x, first = 0;

	ph_region();
	said = kfi_test_zalloc(test, (READS + 1) * sizeof(*said));
	KUNIT_ASSERT_EQ(test, (ssize_t)0, kfi_send(ph.ep, ph.buf, PH_BUF, NULL, ph_addr(2, 5), &x));
	PH_RECV(peer, KFW_RTS, &rts);
	for (i = 0; i <= READS; i++) {
		said[i].hdr = (struct kfw_hdr) {
			.type = i < READS ? KFW_READ : KFW_CTS, .id = i < READS ? cpu_to_le32(i) : rts.id,
			.gen = i < READS ? 0 : rts.gen, .rma_count = cpu_to_le16(i < READS),
			.len = cpu_to_le64(i < READS ? PH_BUF : 0),
			.credit_msg = cpu_to_le32(PH_CREDIT), .credit_tag = cpu_to_le32(PH_CREDIT),
		};
		said[i].seg = seg;
	}
	ph_put(peer, said, READS * sizeof(*said) + sizeof(said->hdr));
	do {
		KUNIT_ASSERT_EQ(test, 0, ph_get_hdr(peer, &hdr, PH_WAIT_MS));
		KUNIT_ASSERT_EQ(test, 0, ph_skip(peer, le64_to_cpu(hdr.payload)));
		first += hdr.type == KFW_READ_DATA;
	} while (hdr.type != KFW_DATA);
	KUNIT_EXPECT_LE(test, first, 2);	/* a granted message does not wait for all reads */
	ack.id = rts.id;
	ack.gen = rts.gen;
	ph_send(peer, &ack, 0);
	PH_DONE(0, &x);
}

/* ---- long payload comes in parts ---- */

#define LONG	(64U << 20)

/* Read the next header, and the segments behind it. */
static int ph_next(struct ph_peer *peer, struct kfw_hdr *hdr)
{
	int ret = ph_get_hdr(peer, hdr, PH_WAIT_MS);

	return ret ?: ph_skip(peer, le16_to_cpu(hdr->rma_count) * sizeof(struct kfw_rma));
}

/*
 * The peer has read the header @hdr of a part of a long payload. Now a message of the victim is
 * due, and an acknowledgement. Return: the bytes of payload that the peer has to read before both
 * of them
 */
static u64 ph_turns(struct ph_peer *peer, struct kfw_hdr *hdr, bool message)
{
	struct kfw_hdr msg = ph_msg(TAG_Z);
	u64 bytes = 0;
	int wanted = 1;

	msg.flags |= cpu_to_le16(KFW_F_ACK);
	KUNIT_EXPECT_TRUE(ph.test, ph_send(peer, &msg, 64));
	if (message) {
		KUNIT_EXPECT_EQ(ph.test, (ssize_t)0,
				kfi_send(ph.ep, ph.buf, 64, NULL, ph_addr(2, 5), NULL));
		wanted++;
	}
	for (;;) {
		bytes += le64_to_cpu(hdr->payload);
		if (bytes > LONG / 2 || ph_skip(peer, le64_to_cpu(hdr->payload)) ||
		    ph_next(peer, hdr))
			return LONG;
		wanted -= hdr->type == KFW_ACK || hdr->type == KFW_MSG;
		if (!wanted)
			return bytes;
	}
}

/* Neither a short message nor an acknowledgement waits for all of a message of 64 MiB. */
static void message_takes_turns(struct kunit *test)
{
	struct kvec *vec = kfi_test_zalloc(test, LONG / KFW_FRAME_MAX * sizeof(*vec));
	u8 *buf = kfi_test_zalloc(test, KFW_FRAME_MAX);
	struct kfw_hdr hdr, rts, cts = { .type = KFW_CTS };
	struct ph_peer *peer = ph_call(2, 5);
	unsigned int i;
	void *context;

	for (i = 0; i < LONG / KFW_FRAME_MAX; i++)
		vec[i] = (struct kvec) { buf, KFW_FRAME_MAX };
	KUNIT_ASSERT_EQ(test, (ssize_t)0, kfi_sendv(ph.ep, vec, NULL, LONG / KFW_FRAME_MAX,
						    ph_addr(2, 5), NULL));
	PH_RECV(peer, KFW_RTS, &rts);
	cts.id = rts.id;
	cts.gen = rts.gen;
	ph_send(peer, &cts, 0);
	KUNIT_ASSERT_EQ(test, 0, ph_get_hdr(peer, &hdr, PH_WAIT_MS));
	KUNIT_EXPECT_EQ(test, (u8)KFW_DATA, hdr.type);
	KUNIT_EXPECT_LE(test, ph_turns(peer, &hdr, true), 2ULL * KFW_FRAME_MAX);
	ph_reset(peer);
	KUNIT_EXPECT_EQ(test, 0, ph_done(PH_WAIT_MS, &context));	/* the short message */
	KUNIT_EXPECT_LT(test, ph_done(PH_WAIT_MS, &context), 0);
}

#define MANY	(KFW_FRAME_MAX + 1000)

/* Parts that do not continue the payload that has begun. Each ends the connection at once. */
static void broken_parts_end(struct kunit *test)
{
	struct kfw_hdr write = {
		.type = KFW_WRITE, .rma_count = cpu_to_le16(1), .len = cpu_to_le64(MANY),
		.payload = cpu_to_le64(KFW_FRAME_MAX), .id = cpu_to_le32(2),
	};
	const struct kfw_rma whole = { .len = write.len, .key = cpu_to_le64(KEY) };
	struct kfw_rma seg;
	struct kfw_hdr data, last, rts = ph_rts(TAG_X, 1, MANY);
	struct ph_peer *peer;
	int kind, x;

	ph_long_receive(TAG_X, &x);
	for (kind = 0; kind < 12; kind++) {
		peer = ph_call(2, 5);
		seg = whole;
		if (kind < 4) {
			data = ph_granted(peer, &rts);
			if (kind)
				ph_part(peer, &data, KFW_FRAME_MAX);
		} else if (kind > 4) {
			ph_put_hdr(peer, &write);
			ph_put(peer, &seg, sizeof(seg));
			ph_pad(peer, KFW_FRAME_MAX);
		}
		if (kind == 0) {			/* a short one is the first */
			ph_begin(peer, &data, NULL, KFW_FRAME_MAX - 1);
		} else if (kind == 1) {			/* the last one is too long */
			ph_begin(peer, &data, NULL, 1001);
		} else if (kind == 2) {			/* the last one is too short */
			ph_begin(peer, &data, NULL, 999);
		} else if (kind == 3) {			/* the last one is in a place */
			data.flags = cpu_to_le16(KFW_F_PLACED);
			data.payload = 0;
			data.len = cpu_to_le64(1000);
			ph_put_hdr(peer, &data);
		} else if (kind == 6) {			/* another write begins */
			last = write;
			last.id = cpu_to_le32(3);
			ph_put_hdr(peer, &last);
			ph_put(peer, &seg, sizeof(seg));
		} else {	/* of no write, too long, or it differs in one member */
			last = write;
			last.gen = cpu_to_le32(kind == 7);
			last.payload = cpu_to_le64(kind == 5 ? 1001 : 1000);
			last.flags = cpu_to_le16(kind == 9 ? KFW_F_CQ_DATA :
						 kind == 10 ? KFW_F_COMMIT : 0);
			if (kind == 8)
				seg.len = cpu_to_le64(MANY - 1);
			if (kind == 11)
				seg.addr = cpu_to_le64(1);
			ph_put_hdr(peer, &last);
			ph_put(peer, &seg, sizeof(seg));
		}
		if (!ph_closes(peer, 1000))
			KUNIT_FAIL(test, "broken part %d is accepted\n", kind);
	}
	ph_still_posted(TAG_X, &x);
}

/* A part of a write of MANY bytes in three segments, one of which is empty */
static void ph_write_part(struct ph_peer *peer, unsigned int len)
{
	const struct kfw_rma segs[] = {
		{ .len = cpu_to_le64(MANY - 2000), .key = cpu_to_le64(KEY) },
		{ .addr = cpu_to_le64(1), .key = cpu_to_le64(KEY) },
		{ .addr = cpu_to_le64(MANY - 2000), .len = cpu_to_le64(2000),
		  .key = cpu_to_le64(KEY) },
	};
	struct kfw_hdr write = {
		.type = KFW_WRITE, .rma_count = cpu_to_le16(ARRAY_SIZE(segs)), .id = cpu_to_le32(2),
		.len = cpu_to_le64(MANY), .payload = cpu_to_le64(len),
	};

	ph_put_hdr(peer, &write);
	ph_put(peer, segs, sizeof(segs));
	ph_pad(peer, len);
}

/* Between two parts of a write its region ends at once. The ACK does not say that nothing was written. */
static void region_ends_between_parts(struct kunit *test)
{
	u8 *region = kvzalloc(MANY, GFP_KERNEL);
	struct ph_peer *peer = ph_call(2, 5);
	struct kfw_hdr ack;
	int i;

	KUNIT_ASSERT_NOT_NULL(test, region);
	KUNIT_EXPECT_EQ(test, 0, kfi_mr_reg(&ph.w->domain.fid, region, MANY, KFI_REMOTE_WRITE, 0,
					    KEY, 0, &ph.mr, NULL));
	memset(ph.buf, 0x5a, PH_BUF);
	ph_write_part(peer, KFW_FRAME_MAX);
	for (i = 0; i < 1000 && READ_ONCE(region[KFW_FRAME_MAX - 1]) != 0x5a; i++)
		msleep(20);
	ph_region_ends();
	ph_write_part(peer, MANY - KFW_FRAME_MAX);
	PH_RECV(peer, KFW_ACK, &ack);
	KUNIT_EXPECT_EQ(test, EREMOTEIO, le16_to_cpu(ack.status));
	KUNIT_EXPECT_EQ(test, (u8)0x5a, region[KFW_FRAME_MAX - 1]);
	KUNIT_EXPECT_EQ(test, (u8)0, region[KFW_FRAME_MAX]);
	kvfree(region);
}

/* ---- commits ---- */

#define COMMITS	12

/* The owner of a region. Its calls wait for @go, or answer later. */
static struct {
	bool			sleeps;
	struct completion	go;
	atomic_t		calls;
	struct kfi_persist	*late[COMMITS];
} owner;

static int owner_persist(struct kfid_mr *mr, uint64_t at, size_t len, struct kfi_persist *p)
{
	owner.late[at] = p;
	atomic_inc(&owner.calls);
	if (!owner.sleeps)
		return -EIOCBQUEUED;
	wait_for_completion_timeout(&owner.go, msecs_to_jiffies(PH_WAIT_MS));
	return 0;
}

/* A peer whose commits sleep occupies few threads; calls that answer later occupy none. */
static void commits_take_turns(struct kunit *test)
{
	struct kvec vec = { ph.buf, PH_BUF };
	struct kfi_mr_attr attr = {
		.type = KFI_KVEC, .mr_iov = &vec, .iov_count = 1, .access = KFI_REMOTE_WRITE,
		.requested_key = KEY, .persist = owner_persist,
	};
	struct kfw_rma seg = { .key = cpu_to_le64(KEY) };
	struct kfw_hdr ack, write = { .type = KFW_WRITE, .flags = cpu_to_le16(KFW_F_COMMIT) };
	struct ph_peer *peer = ph_call(2, 5);
	int i, most;

	seg.len = cpu_to_le64(1);
	KUNIT_ASSERT_EQ(test, 0, kfi_mr_regattr(&ph.w->domain.fid, &attr, KFI_RMA_PMEM, &ph.mr));
	for (most = COMMITS; most >= KFP_COMMITS; most -= COMMITS - KFP_COMMITS) {
		atomic_set(&owner.calls, 0);
		init_completion(&owner.go);
		owner.sleeps = most < COMMITS;
		for (i = 0; i < COMMITS; i++) {
			write.id = cpu_to_le32(i);
			seg.addr = cpu_to_le64(i);
			ph_begin(peer, &write, &seg, 1);
			ph_pad(peer, 1);
		}
		KUNIT_EXPECT_TRUE(test, fake_soon(atomic_read(&owner.calls) == most));
		msleep(PH_NOT_MS);
		KUNIT_EXPECT_EQ(test, most, atomic_read(&owner.calls));
		complete_all(&owner.go);
		for (i = 0; i < most && !owner.sleeps; i++)
			kfi_persist_done(owner.late[i], 0);
		for (i = 0; i < COMMITS; i++) {
			PH_RECV(peer, KFW_ACK, &ack);
			KUNIT_EXPECT_EQ(test, 0, le16_to_cpu(ack.status));
		}
		KUNIT_EXPECT_EQ(test, COMMITS, atomic_read(&owner.calls));
	}
	ph_region_ends();
}

/* ---- RTWs. The link has no places: a GRANT gives none ---- */

#define RTW_LEN		40000U

/* Send an RTW for @len bytes. */
static void ph_rtw(struct ph_peer *peer, u32 id, u64 key, u16 flags, u32 len)
{
	struct kfw_hdr hdr = {
		.type = KFW_RTW, .flags = cpu_to_le16(flags), .id = cpu_to_le32(id), .len = cpu_to_le64(len),
		.rma_count = cpu_to_le16(1),
	};
	struct kfw_rma seg = { .len = cpu_to_le64(len), .key = cpu_to_le64(key) };

	ph_put_hdr(peer, &hdr);
	ph_put(peer, &seg, sizeof(seg));
}

/* The RTW is answered. @status: -1: by a GRANT without places */
static void ph_answered(struct ph_peer *peer, u32 id, int status)
{
	u8 type = status < 0 ? KFW_GRANT : KFW_ACK;
	struct kfw_hdr hdr = {};

	KUNIT_EXPECT_EQ(ph.test, 0, ph_recv(peer, type, &hdr, PH_WAIT_MS));
	KUNIT_EXPECT_EQ(ph.test, id, le32_to_cpu(hdr.id));
	KUNIT_EXPECT_EQ(ph.test, 0, hdr.places);
	if (status >= 0)
		KUNIT_EXPECT_EQ(ph.test, status, le16_to_cpu(hdr.status));
}

/* Each RTW has an answer, also if it has the id of another one. It holds nothing afterwards. */
static void rtw_is_answered(struct kunit *test)
{
	struct ph_peer *peer = ph_call(2, 5);
	unsigned long begin;
	int i;

	ph_region();
	ph_rtw(peer, 2, KEY + 1, 0, RTW_LEN);
	ph_answered(peer, 2, EACCES);
	ph_rtw(peer, 5, KEY + 1, KFW_F_DEVICE, RTW_LEN);
	ph_answered(peer, 5, EACCES);
	for (i = 0; i < 2 * le32_to_cpu(peer->said.requests); i++) {
		ph_rtw(peer, 6, KEY, i & 1 ? KFW_F_DEVICE : 0, RTW_LEN);
		ph_answered(peer, 6, -1);
	}
	begin = jiffies;
	ph_region_ends();
	KUNIT_EXPECT_FALSE(test, ph_passed(begin, 1000));
	ph_rtw(peer, 7, KEY, 0, RTW_LEN);
	ph_answered(peer, 7, EACCES);
}

/* A REPLY of @len bytes to the region of @key, with a message of 8 bytes */
static void ph_reply(struct ph_peer *peer, u32 id, u64 key, u16 flags, u32 len)
{
	struct kfw_hdr hdr = {
		.type = KFW_REPLY, .id = cpu_to_le32(id), .flags = cpu_to_le16(flags),
		.msg_len = cpu_to_le16(8),
	};
	struct kfw_rma seg = { .len = cpu_to_le64(len), .key = cpu_to_le64(key) };

	ph_begin(peer, &hdr, &seg, len);
	ph_pad(peer, 8 + len);
}

/*
 * A message whose data has no region does not arrive, and its credit returns. Its sender is told
 * so, whether or not it has asked for an answer.
 */
static void replies_are_refused(struct kunit *test)
{
	struct ph_peer *peer = ph_call(2, 5);
	struct kfi_cq_tagged_entry e;
	u32 i;

	ph_region();
	KUNIT_ASSERT_EQ(test, (ssize_t)0, kfi_recv(ph.ep, ph.buf, 64, NULL, KFI_ADDR_UNSPEC, &e));
	for (i = 0; i < 2 * le32_to_cpu(peer->said.allowance_msg); i++) {
		ph_reply(peer, i, KEY + 1, i & 1 ? KFW_F_ACK : 0, 100);
		ph_answered(peer, i, EACCES);
	}
	KUNIT_EXPECT_EQ(test, (ssize_t)-EAGAIN, kfi_cq_read(ph.cq, &e, 1));
	ph_reply(peer, i, KEY, KFW_F_ACK, 100);
	ph_answered(peer, i, 0);
	PH_DONE(0, &e);
	ph_reply(peer, i, KEY, KFW_F_ACK, 100);
	ph_answered(peer, i, 0);
	KUNIT_ASSERT_EQ(test, (ssize_t)0, kfi_recv(ph.ep, ph.buf, 64, NULL, KFI_ADDR_UNSPEC, &e));
	PH_DONE(0, &e);
	ph_region_ends();
}

/* ---- frames that no peer sends which follows the protocol ---- */

/*
 * A frame, with @segs segments of the region and @places places behind its header; in answer to
 * what the victim has sent with CTS. @payload is announced, and does not come.
 */
struct ph_frame {
	const char	*what;
	u8		type;
	u16		flags, segs;
	u8		places;
	u64		len, payload;
	u16		msg_len;
};

static const struct ph_frame ph_broken[] = {
	{ "DATA comes for a slot that is free", KFW_DATA, 0, 0, 0, 100, 100 },
	{ "an RTW has two segments", KFW_RTW, 0, 2, 0, 2 * RTW_LEN },
	{ "an RTW has no segments", KFW_RTW, 0, 0, 0, RTW_LEN },
	{ "an RTW has a flag of other frames", KFW_RTW, KFW_F_LAZY, 1, 0, RTW_LEN },
	{ "a READ names a place", KFW_READ, 0, 1, 1, RTW_LEN },
	{ "a READ names 17 places", KFW_READ, 0, 1, KFW_PLACES_MAX + 1, RTW_LEN },
	{ "a CTS names a place", KFW_CTS, 0, 0, 1 },
	{ "a CTS answers nothing", KFW_CTS },
	{ "an ACK ends nothing", KFW_ACK },
	{ "the data of no READ", KFW_READ_DATA, 0, 0, 0, 100, 100 },
	{ "a tagged read has no tag", KFW_TREAD, 0, 0, 0, 100 },
	{ "the data of no READ is in its places", KFW_READ_DATA, KFW_F_PLACED, 0, 0, RTW_LEN },
	{ "an RTW is empty", KFW_RTW, 0, 1, 0, 0 },
	{ "an RTW has another length than its segment", KFW_RTW, 0, 1, 0, RTW_LEN - 1 },
	{ "a grant is given for nothing", KFW_GRANT, 0, 1, 1, RTW_LEN },
	{ "a grant is recalled that was not given", KFW_RECALL },
	{ "a grant is returned that was not given", KFW_RECALLED },
	{ "a grant is used that was not given", KFW_WRITE, KFW_F_PLACED, 1, 0, RTW_LEN },
	{ "a segment is longer than its payload", KFW_WRITE, 0, 1, 0, RTW_LEN - 1, RTW_LEN - 1 },
	{ "a write is to be durable before it comes", KFW_RTW, KFW_F_COMMIT, 1, 0, RTW_LEN },
	{ "a place is put that was not given", KFW_WRITE, KFW_F_PLACED | KFW_F_DEVICE, 1, 0, RTW_LEN },
	{ "a REPLY has no segment", KFW_REPLY, 0, 0, 0, 16, 16, 8 },
	{ "a REPLY has two segments", KFW_REPLY, 0, 2, 0, RTW_LEN, RTW_LEN, 8 },
	{ "a REPLY has less data than its segment", KFW_REPLY, 0, 1, 0, RTW_LEN - 1, RTW_LEN - 1 },
	{ "a REPLY has a part of its data", KFW_REPLY, 0, 1, 0, RTW_LEN, RTW_LEN - 1, 8 },
	{ "a REPLY has a long message", KFW_REPLY, 0, 1, 0, RTW_LEN, RTW_LEN, KFW_REPLY_MAX + 1 },
	{ "a REPLY has a tag", KFW_REPLY, KFW_F_TAGGED, 1, 0, RTW_LEN, RTW_LEN, 8 },
	{ "the data of a REPLY is in places", KFW_REPLY, KFW_F_PLACED, 1, 0, RTW_LEN, 0, 8 },
};

static void ph_break(struct ph_peer *peer, const struct ph_frame *f)
{
	struct kfw_hdr hdr = {
		.type = f->type, .flags = cpu_to_le16(f->flags),
		.grant_id = cpu_to_le64(f->type >= KFW_GRANT || f->flags & KFW_F_PLACED),
		.rma_count = cpu_to_le16(f->segs), .places = f->places,
		.len = cpu_to_le64(f->len), .payload = cpu_to_le64(f->payload),
	};
	struct kfw_rma seg = { .len = cpu_to_le64(RTW_LEN), .key = cpu_to_le64(KEY) };
	struct kfw_place place = { .len = cpu_to_le32(f->type == KFW_CTS ? PH_BUF : RTW_LEN) };
	struct kfw_hdr rts;
	int i;

	if (f->type == KFW_REPLY)
		hdr.msg_len = cpu_to_le16(f->msg_len);
	if (f->type == KFW_CTS && f->places) {
		KUNIT_ASSERT_EQ(ph.test, (ssize_t)0,
				kfi_send(ph.ep, ph.buf, PH_BUF, NULL, ph_addr(2, 5), peer));
		PH_RECV(peer, KFW_RTS, &rts);
		hdr.id = rts.id;
		hdr.gen = rts.gen;
	}
	ph_put_hdr(peer, &hdr);
	for (i = 0; i < f->segs; i++)
		ph_put(peer, &seg, sizeof(seg));
	for (i = 0; i < f->places; i++)
		ph_put(peer, &place, sizeof(place));
	ph_pad(peer, f->msg_len);
}

/* Each of them ends the connection at once, and nothing else. */
static void broken_frames_end(struct kunit *test)
{
	const struct ph_frame *f;
	struct ph_peer *peer;
	void *context;

	ph_region();
	for (f = ph_broken; f < ph_broken + ARRAY_SIZE(ph_broken); f++) {
		peer = ph_call(2, 5);
		ph_break(peer, f);
		if (!ph_closes(peer, 1000))
			KUNIT_FAIL(test, "%s\n", f->what);
		if (f->type == KFW_CTS && f->places)
			KUNIT_EXPECT_LT(test, ph_done(PH_WAIT_MS, &context), 0);
		ph_reset(peer);
	}
}

/* ---- bursts ---- */

/* A burst of short frames is handled in runs, and what is left after a run is not forgotten. */
static void run_is_bounded(struct kunit *test)
{
	struct kfw_hdr credit = {
		.type = KFW_CREDIT,
		.credit_msg = cpu_to_le32(PH_CREDIT), .credit_tag = cpu_to_le32(PH_CREDIT),
	};
	struct ph_peer *peer = ph_call(2, 5);
	unsigned long begin = jiffies;
	u32 i;

	spin_lock_bh(&peer->lock);
	for (i = 0; i < KFP_RX_STEPS + 10; i++)
		memcpy(peer->in + i * sizeof(credit), &credit, sizeof(credit));
	peer->len = i * sizeof(credit);
	peer->off = 0;
	kfi_link_rx(peer->link);
	KUNIT_EXPECT_EQ(test, (u32)(KFP_RX_STEPS * sizeof(credit)), peer->off);
	spin_unlock_bh(&peer->lock);
	while (READ_ONCE(peer->off) < peer->len && !ph_passed(begin, PH_WAIT_MS))
		usleep_range(1000, 2000);
	KUNIT_EXPECT_EQ(test, peer->len, peer->off);
}

KFI_SUITE_IN(kfi_proto_hostile, ph_init, ph_exit,
	KUNIT_CASE(wrong_hello_ends),
	KUNIT_CASE(silent_callers_cost_little),
	KUNIT_CASE(lost_after_rts),
	KUNIT_CASE(ack_of_another),
	KUNIT_CASE(unused_grants_end),
	KUNIT_CASE(relays_hold_once),
	KUNIT_CASE(too_long),
	KUNIT_CASE(dripping_ends),
	KUNIT_CASE(stopped_part_ends),
	KUNIT_CASE(write_before_payload),
	KUNIT_CASE(granted_takes_turns),
	KUNIT_CASE(message_takes_turns),
	KUNIT_CASE(broken_parts_end),
	KUNIT_CASE(region_ends_between_parts),
	KUNIT_CASE(commits_take_turns),
	KUNIT_CASE(rtw_is_answered),
	KUNIT_CASE(replies_are_refused),
	KUNIT_CASE(broken_frames_end),
	KUNIT_CASE(run_is_bounded));
