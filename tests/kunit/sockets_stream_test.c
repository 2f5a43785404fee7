// SPDX-License-Identifier: GPL-2.0
/*
 * How much of a stream kfi_sockets looks at in one run with bottom halves off. The source is
 * compiled into this module, for a provider exports nothing; TCP is a buffer of frames here, and
 * what frames mean is nobody's business.
 */
#include <kunit/test.h>
#include <linux/skbuff.h>
#include <net/tcp.h>

static int stream_read(struct sock *sk, read_descriptor_t *desc, sk_read_actor_t actor);
#define tcp_read_sock stream_read
#include "../../providers/sockets/stream.c"
#undef tcp_read_sock

#define FRAMES		100000U		/* as a receive buffer of a few MiB has them */
#define PER_SKB		500U

/**
 * struct stream - what has come, and what became of it
 * @skb: PER_SKB frames; @left: frames that have not been read; @off: of the first of them in @skb
 * @read: frames that were looked at; @most: in one run; @queued: times that rx_work was queued;
 *		@checked: looks for the end
 */
static struct stream {
	struct sk_buff	*skb;
	unsigned int	left, off;
	unsigned int	read, most, queued, checked;
} stream;

/* As tcp_read_sock(): until the actor takes no more, or there is no more. */
static int stream_read(struct sock *sk, read_descriptor_t *desc, sk_read_actor_t actor)
{
	const unsigned int frame = sizeof(struct skw_hdr);
	unsigned int before = stream.read;
	int used;

	while (stream.left) {
		unsigned int here = min(stream.left, PER_SKB - stream.off);

		used = actor(desc, stream.skb, stream.off * frame, here * frame);
		if (used <= 0)
			break;
		stream.left -= used / frame;
		stream.off = (stream.off + used / frame) % PER_SKB;
	}
	stream.most = max(stream.most, stream.read - before);
	return 0;
}

/* ---- what the rest of the provider would do ---- */

void ks_rx_header(struct ks_conn *conn, const struct skw_hdr *hdr)
{
	stream.read++;
}

void ks_rx_proceed(struct ks_conn *conn)
{
}

void ks_rx_payload_done(struct ks_conn *conn)
{
}

void ks_conn_check(struct ks_conn *conn)
{
	stream.checked++;
}

void ks_conn_queue(struct ks_conn *conn, struct delayed_work *work, unsigned long delay)
{
	if (work == &conn->rx_work && !delay)
		stream.queued++;
}

void ks_grants_pause(struct ks_conn *conn, unsigned long pause)
{
}

int ks_conn_cpu(const struct ks_conn *conn)
{
	return 0;
}

bool ks_conn_lock(struct ks_conn *conn)
{
	return true;
}

void ks_conn_unlock(struct ks_conn *conn)
{
}

void ks_tx_run_locked(struct ks_conn *conn)
{
	clear_bit(0, &conn->busy);
}

struct workqueue_struct *ks_wq;

/* ---- the tests ---- */

/*
 * A full receive buffer is read in pieces, to its end, and nobody looks for the end of the
 * connection before that.
 */
static void stream_is_read_in_pieces(struct kunit *test)
{
	struct ks_conn *conn = kunit_kzalloc(test, sizeof(*conn), GFP_KERNEL);
	unsigned int runs;

	KUNIT_ASSERT_NOT_NULL(test, conn);
	memset(&stream, 0, sizeof(stream));
	stream.skb = alloc_skb(PER_SKB * sizeof(struct skw_hdr), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, stream.skb);
	skb_put_zero(stream.skb, PER_SKB * sizeof(struct skw_hdr));
	stream.left = FRAMES;
	conn->state = KS_READY;
	for (runs = 0; runs <= stream.queued && runs < FRAMES; runs++) {
		KUNIT_EXPECT_EQ(test, 0u, stream.checked);
		ks_rx_burst(conn, ks_rx_run);
	}
	KUNIT_EXPECT_EQ(test, FRAMES, stream.read);
	KUNIT_EXPECT_LE(test, stream.most, (unsigned int)KS_RX_STEPS);
	KUNIT_EXPECT_EQ(test, 1u, stream.checked);
	KUNIT_EXPECT_EQ(test, (u64)FRAMES * sizeof(struct skw_hdr), conn->rx.bytes);
	kfree_skb(stream.skb);
}

static struct kunit_case stream_cases[] = {
	KUNIT_CASE(stream_is_read_in_pieces),
	{}
};

static struct kunit_suite stream_suite = {
	.name = "kfi_sockets_stream",
	.test_cases = stream_cases,
};
kunit_test_suite(stream_suite);
