// SPDX-License-Identifier: GPL-2.0
/*
 * The stream of a link of kfi_verbs, and memory that the peer writes to: what a peer may say, how
 * many SENDs it takes, and what the protocol is told of. The sources are compiled into this module;
 * the protocol is replaced.
 */
#define kfi_link_concealed	stream_test_concealed
#define kfi_link_down		stream_test_down
#define kfi_link_fail		stream_test_fail
#define kfi_link_room		stream_test_room
#define kfi_link_rx		stream_test_rx
#define kfi_link_sent		stream_test_sent
#define kfi_link_rx_bytes	stream_test_bytes

#include "verbs_world.h"
#include "../../providers/verbs/stream.c"
#include "../../providers/verbs/expose.c"

const struct kvw_front kv_front;

#define UNIT	100	/* bytes of a unit here: one SEND */

/**
 * struct side - this side of a link
 * @rooms: calls of kfi_link_room(), and so on
 * @err: of kfi_link_fail()
 * @takes: bytes that the protocol takes at once; @taken: in all
 * @calls: of kfi_link_rx_bytes()
 */
struct side {
	struct world		*w;
	struct kv_link		kl;
	struct kv_stream	*s;
	unsigned int		rooms, rxs, sents, downs, fails, concealed;
	int			err;
	size_t			takes, taken;
	unsigned int		calls;
};

static struct side *the_side;

/* ---- in place of the protocol ---- */

void stream_test_concealed(struct kfi_link *link, struct kfi_exposed *x)
{
	the_side->concealed++;
}

void stream_test_down(struct kfi_link *link)
{
	the_side->downs++;
}

void stream_test_fail(struct kfi_link *link, int err)
{
	the_side->fails++;
	the_side->err = err;
}

void stream_test_room(struct kfi_link *link)
{
	the_side->rooms++;
}

void stream_test_rx(struct kfi_link *link)
{
	the_side->rxs++;
}

void stream_test_sent(struct kfi_link *link)
{
	the_side->sents++;
}

size_t stream_test_bytes(struct kfi_link *link, const void *bytes, size_t len)
{
	struct side *side = the_side;
	size_t n = min(len, side->takes);

	side->calls++;
	side->takes -= n;
	side->taken += n;
	return n;
}

/* ---- the side ---- */

static const struct kv_qp_ops side_ops = {
	.watch = kv_stream_watch, .sent = kv_stream_sent,
};

static struct side *side_open(struct kunit *test)
{
	struct side *side = kfi_test_zalloc(test, sizeof(*side));

	the_side = side;
	side->w = world_open(test);
	side->takes = SIZE_MAX;
	side->s = kv_stream_new(&side->w->vep, &side->kl.link, &side_ops);
	KUNIT_ASSERT_FALSE(test, IS_ERR(side->s));
	side->kl.stream = side->s;
	kv_cm_take(&side->s->qp, &side->w->id);
	side->s->qp.state = KV_CM_CONNECTED;
	KUNIT_ASSERT_EQ(test, 0, kv_stream_open(&side->s->qp));
	KUNIT_ASSERT_EQ(test, KVW_FIRST, side->w->nrecvs);
	kv_stream_up(side->s);
	return side;
}

static void side_close(struct side *side)
{
	kv_cm_detach(&side->s->qp);
	kv_stream_close(side->s);
	kv_stream_free(side->s);
	world_close(side->w);
}

static struct kvw_head *head_of(struct side *side, unsigned int i)
{
	return container_of(side->w->wr[i], struct kv_sqe, cqe)->buf;
}

/* A SEND of the peer comes, to the oldest receive that is free. */
static void come_as(struct side *side, const struct kvw_head *head, struct ib_wc wc)
{
	struct world *w = side->w;
	struct kv_buf *buf;

	KUNIT_ASSERT_LT(w->test, w->came, w->nrecvs);
	wc.wr_cqe = w->recv[w->came++];
	buf = container_of(wc.wr_cqe, struct kv_buf, cqe);
	memcpy(page_address(buf->page), head, sizeof(*head));
	local_bh_disable();
	wc.wr_cqe->done(NULL, &wc);
	local_bh_enable();
}

static void come(struct side *side, u32 limit, u16 flags, u32 bytes)
{
	struct kvw_head head = { .limit = cpu_to_le32(limit), .flags = cpu_to_le16(flags) };

	come_as(side, &head, (struct ib_wc) {
		.opcode = IB_WC_RECV, .byte_len = sizeof(head) + bytes,
	});
}

static int send(struct side *side)
{
	static const u8 frames[UNIT];
	struct kfi_unit unit = { .head = frames, .len = sizeof(frames) };
	int ret;

	spin_lock_bh(&side->s->qp.lock);
	ret = kv_post_unit(&side->kl.link, &unit);
	spin_unlock_bh(&side->s->qp.lock);
	KUNIT_EXPECT_EQ(side->w->test, ret ? 0 : UNIT, unit.done);
	return ret;
}

/* Send until there is no room. Return: SENDs */
static unsigned int send_all(struct side *side)
{
	unsigned int n = 0;

	while (!send(side))
		n++;
	return n;
}

/* ---- heads ---- */

static void heads(struct kunit *test)
{
	static const struct {
		struct kvw_head head;
		u32 bytes;
		int flags;
		enum ib_wc_opcode opcode;
		int ret;
	} rows[] = {
#define ROW(l, f, z, b, w, o, r)							\
	{ { cpu_to_le32(l), cpu_to_le16(f), cpu_to_le16(z) }, b, w, o, r }
		ROW(16, 0, 0, 8, 0, IB_WC_RECV, 0),
		ROW(16, 3, 0, 8, 0, IB_WC_RECV, 0),
		ROW(17, 0, 0, 9, 0, IB_WC_RECV, 0),
		ROW(17, 0, 0, KVW_SEND_MAX, 0, IB_WC_RECV, 0),
		ROW(KVW_RECVS_MAX, 0, 0, 8, 0, IB_WC_RECV, 0),
		/* no head */
		ROW(16, 0, 0, 0, 0, IB_WC_RECV, -EPROTO),
		ROW(16, 0, 0, 7, 0, IB_WC_RECV, -EPROTO),
		/* backwards */
		ROW(15, 0, 0, 8, 0, IB_WC_RECV, -EPROTO),
		ROW(0, 0, 0, 8, 0, IB_WC_RECV, -EPROTO),
		ROW(U32_MAX, 0, 0, 8, 0, IB_WC_RECV, -EPROTO),
		/* more than any side has */
		ROW(KVW_RECVS_MAX + 1, 0, 0, 8, 0, IB_WC_RECV, -EPROTO),
		ROW(S32_MAX, 0, 0, 8, 0, IB_WC_RECV, -EPROTO),
		/* what is not defined */
		ROW(16, 4, 0, 8, 0, IB_WC_RECV, -EPROTO),
		ROW(16, 0x8000, 0, 8, 0, IB_WC_RECV, -EPROTO),
		ROW(16, 0, 1, 8, 0, IB_WC_RECV, -EPROTO),
		ROW(16, 0, 0, 8, IB_WC_WITH_IMM, IB_WC_RECV, -EPROTO),
		ROW(16, 0, 0, 8, IB_WC_WITH_INVALIDATE, IB_WC_RECV, -EPROTO),
		ROW(16, 0, 0, 8, IB_WC_WITH_IMM, IB_WC_RECV_RDMA_WITH_IMM, -EPROTO),
#undef ROW
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct side *side = side_open(test);
		bool bytes = rows[i].bytes > sizeof(struct kvw_head);

		come_as(side, &rows[i].head, (struct ib_wc) {
			.opcode = rows[i].opcode, .wc_flags = rows[i].flags,
			.byte_len = rows[i].bytes,
		});
		KUNIT_EXPECT_EQ_MSG(test, rows[i].ret, side->s->ended, "row %u", i);
		KUNIT_EXPECT_EQ_MSG(test, !!rows[i].ret, side->fails, "row %u", i);
		KUNIT_EXPECT_EQ_MSG(test, rows[i].ret, side->err, "row %u", i);
		KUNIT_EXPECT_EQ_MSG(test, !!rows[i].ret, side->downs, "row %u", i);
		KUNIT_EXPECT_EQ_MSG(test, !rows[i].ret && bytes, side->rxs, "row %u", i);
		KUNIT_EXPECT_EQ_MSG(test, rows[i].ret ? KVW_FIRST : le32_to_cpu(rows[i].head.limit),
				    side->s->limit, "row %u", i);
		side_close(side);
	}
}

/* Receives are counted modulo 2^32. */
static void limit_wraps(struct kunit *test)
{
	struct side *side = side_open(test);

	side->s->sent = U32_MAX - 7;
	side->s->limit = U32_MAX - 3;
	come(side, 4, 0, 0);
	KUNIT_EXPECT_EQ(test, 0, side->s->ended);
	KUNIT_EXPECT_EQ(test, 12 - KVW_RESERVE, send_all(side));
	KUNIT_EXPECT_EQ(test, U32_MAX - 1, side->s->sent);
	come(side, 4 + KVW_RESERVE, 0, 0);
	KUNIT_EXPECT_EQ(test, KVW_RESERVE, send_all(side));
	KUNIT_EXPECT_EQ(test, 4, side->s->sent);
	come(side, U32_MAX, 0, 0);
	KUNIT_EXPECT_EQ(test, -EPROTO, side->s->ended);
	side_close(side);
}

/* ---- credit ---- */

/* The last receives of the peer are for SENDs without bytes; the protocol hears of more, once. */
static void reserve(struct kunit *test)
{
	struct side *side = side_open(test);
	unsigned int i;

	KUNIT_EXPECT_EQ(test, KVW_FIRST - KVW_RESERVE, send_all(side));
	KUNIT_EXPECT_TRUE(test, side->s->starved);
	for (i = 0; i < KVW_RESERVE + 2; i++) {
		come(side, KVW_FIRST, KVW_F_PING, 0);
		side->rooms = 0;
		side->s->starved = true;
	}
	KUNIT_EXPECT_EQ(test, KVW_FIRST, side->w->nwr);
	KUNIT_EXPECT_EQ(test, KVW_FIRST, side->s->sent);
	KUNIT_EXPECT_NE(test, 0, side->s->due);
	/* What is due goes first, and leaves the reserve to others like it. */
	come(side, KVW_FIRST + 1 + KVW_RESERVE, 0, 0);
	KUNIT_EXPECT_EQ(test, 1, side->rooms);
	KUNIT_EXPECT_FALSE(test, side->s->starved);
	KUNIT_EXPECT_EQ(test, KVW_FIRST + 1, side->w->nwr);
	KUNIT_EXPECT_EQ(test, KVW_F_PONG, le16_to_cpu(head_of(side, KVW_FIRST)->flags));
	KUNIT_EXPECT_EQ(test, 0, side->s->due);
	KUNIT_EXPECT_EQ(test, 0, send_all(side));
	come(side, KVW_FIRST + 3 + KVW_RESERVE, 0, 0);
	KUNIT_EXPECT_EQ(test, 2, side->rooms);
	KUNIT_EXPECT_EQ(test, 2, send_all(side));
	side_close(side);
}

/* Send @head bytes of frames, and @len bytes that the device reads in the memory of their owner. */
static void send_mapped(struct side *side, u32 head, size_t len)
{
	static const u8 frames[UNIT];
	struct kvec kvec = { side->w->mem, len };
	struct iov_iter iter;
	struct kfi_unit unit = {
		.head = frames, .len = head, .payload = &iter, .left = len,
		.flags = KFI_UNIT_SPLICE,
	};

	iov_iter_kvec(&iter, ITER_SOURCE, &kvec, 1, len);
	spin_lock_bh(&side->s->qp.lock);
	KUNIT_EXPECT_EQ(side->w->test, 0, kv_post_unit(&side->kl.link, &unit));
	spin_unlock_bh(&side->s->qp.lock);
}

/* What is mapped is read when its request has ended; bytes before it and behind it are copied. */
static void memory_is_read(struct kunit *test)
{
	struct side *side = side_open(test);
	unsigned int i;

	KUNIT_EXPECT_EQ(test, 0, send(side));
	KUNIT_EXPECT_EQ(test, UNIT, kv_sent_to(&side->kl.link));
	for (i = 0; i < 2; i++) {
		send_mapped(side, UNIT, KV_COPY + 1);
		KUNIT_EXPECT_EQ(test, 0, send(side));
		KUNIT_EXPECT_EQ(test, 2 * UNIT, kv_sent_to(&side->kl.link));
	}
	KUNIT_ASSERT_EQ(test, 5, side->w->nwr);
	device_report(side->w, 1, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, 4 * UNIT + KV_COPY + 1, kv_sent_to(&side->kl.link));
	device_report(side->w, 3, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, 5 * UNIT + 2 * (KV_COPY + 1), kv_sent_to(&side->kl.link));
	send_mapped(side, 0, KV_COPY + 1);
	KUNIT_EXPECT_EQ(test, 5 * UNIT + 2 * (KV_COPY + 1), kv_sent_to(&side->kl.link));
	side_close(side);
}

/* Nothing is sent before the connection stands, nor after its end. */
static void closed(struct kunit *test)
{
	struct side *side = side_open(test);

	side->s->qp.up = false;
	KUNIT_EXPECT_EQ(test, -EAGAIN, send(side));
	KUNIT_EXPECT_FALSE(test, side->s->starved);
	come(side, KVW_FIRST, KVW_F_PING, 0);
	KUNIT_EXPECT_EQ(test, 0, side->w->nwr);
	side->s->qp.up = true;
	KUNIT_EXPECT_EQ(test, 0, send(side));
	KUNIT_EXPECT_EQ(test, KVW_F_PONG, le16_to_cpu(head_of(side, 0)->flags));
	side->w->refuse = -ENOMEM;
	KUNIT_EXPECT_EQ(test, 0, send(side));
	KUNIT_EXPECT_EQ(test, -ENOMEM, side->s->ended);
	KUNIT_EXPECT_EQ(test, 1, side->downs);
	KUNIT_EXPECT_EQ(test, -EAGAIN, send(side));
	KUNIT_EXPECT_EQ(test, 1, side->w->nwr);
	side_close(side);
}

/* ---- memory that the peer writes to ---- */

static int expose(struct side *side, struct kfi_exposed *x, size_t len,
		  struct kfi_link_place *place, unsigned int max)
{
	struct kvec kvec = { side->w->mem, MEM };
	struct iov_iter iter;
	int ret;

	iov_iter_kvec(&iter, ITER_DEST, &kvec, 1, MEM);
	spin_lock_bh(&side->s->qp.lock);
	ret = kv_expose(&side->kl.link, x, &iter, len, place, max);
	kv_stream_run(side->s);
	spin_unlock_bh(&side->s->qp.lock);
	return ret;
}

static int conceal(struct side *side, struct kfi_exposed *x)
{
	int ret;

	spin_lock_bh(&side->s->qp.lock);
	ret = kv_conceal(&side->kl.link, x);
	spin_unlock_bh(&side->s->qp.lock);
	return ret;
}

/* None of those that are free has memory. */
static unsigned int nfree(struct side *side)
{
	struct kv_frmr *frmr;
	unsigned int n = 0;

	list_for_each_entry(frmr, &side->s->frmrs, entry) {
		KUNIT_EXPECT_EQ(side->w->test, 0, frmr->nents);
		n++;
	}
	return n;
}

static struct side *open_writable(struct kunit *test)
{
	struct side *side = side_open(test);

	kv_frmrs_alloc(side->s);
	KUNIT_ASSERT_EQ(test, KV_FRMRS, nfree(side));
	return side;
}

/* The memory is the owner's when the device has made each key invalid. */
static void exposed(struct kunit *test)
{
	struct side *side = open_writable(test);
	struct kfi_link_place place[4];
	struct kfi_exposed x = {};
	u32 key;

	KUNIT_ASSERT_EQ(test, 2, expose(side, &x, MEM - 1, place, 4));
	KUNIT_ASSERT_EQ(test, 2, side->w->nwr);
	KUNIT_EXPECT_EQ(test, IB_WR_REG_MR, side->w->opcode[0]);
	KUNIT_EXPECT_EQ(test, IB_WR_REG_MR, side->w->opcode[1]);
	KUNIT_EXPECT_EQ(test, PAGE_SIZE, place[0].len);
	KUNIT_EXPECT_EQ(test, PAGE_SIZE - 1, place[1].len);
	KUNIT_EXPECT_NE(test, place[0].key, place[1].key);
	KUNIT_EXPECT_EQ(test, KV_FRMRS - 2, nfree(side));
	key = place[0].key;
	KUNIT_EXPECT_EQ(test, -EINPROGRESS, conceal(side, &x));
	KUNIT_ASSERT_EQ(test, 4, side->w->nwr);
	KUNIT_EXPECT_EQ(test, IB_WR_LOCAL_INV, side->w->opcode[2]);
	KUNIT_EXPECT_EQ(test, IB_WR_LOCAL_INV, side->w->opcode[3]);
	device_report(side->w, 2, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, 0, side->concealed);
	device_report(side->w, 3, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, 1, side->concealed);
	KUNIT_EXPECT_EQ(test, KV_FRMRS, nfree(side));
	/* The next use has another key. */
	for (x.priv[0] = NULL; nfree(side); x.priv[0] = NULL) {
		KUNIT_ASSERT_EQ(test, 1, expose(side, &x, 1, place, 4));
		KUNIT_EXPECT_NE(test, key, place[0].key);
	}
	side_close(side);
}

/* After an error the peer may still write there, until the registrations are taken back. */
static void conceal_fails(struct kunit *test)
{
	struct side *side = open_writable(test);
	struct kfi_link_place place[4];
	struct kfi_exposed x = {};
	struct kv_frmr *frmr;

	KUNIT_ASSERT_EQ(test, 1, expose(side, &x, PAGE_SIZE, place, 4));
	frmr = x.priv[0];
	KUNIT_ASSERT_EQ(test, -EINPROGRESS, conceal(side, &x));
	device_report(side->w, 1, IB_WC_WR_FLUSH_ERR);
	KUNIT_EXPECT_EQ(test, 0, side->concealed);
	KUNIT_EXPECT_EQ(test, KV_FRMRS - 1, nfree(side));
	KUNIT_EXPECT_EQ(test, 1, frmr->nents);
	KUNIT_EXPECT_EQ(test, -ESHUTDOWN, side->s->ended);
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP, expose(side, &x, PAGE_SIZE, place, 4));
	kv_frmrs_dereg(side->s);
	KUNIT_EXPECT_EQ(test, KV_FRMRS, side->w->nderegs);
	KUNIT_EXPECT_EQ(test, 0, frmr->nents);
	side_close(side);
}

KFI_SUITE(kfi_verbs_stream,
	KUNIT_CASE(heads),
	KUNIT_CASE(limit_wraps),
	KUNIT_CASE(reserve),
	KUNIT_CASE(memory_is_read),
	KUNIT_CASE(closed),
	KUNIT_CASE(exposed),
	KUNIT_CASE(conceal_fails));
