// SPDX-License-Identifier: GPL-2.0
/*
 * How much of a stream kfi_sockets reads in one run with bottom halves off. kfi_sockets exports
 * nothing, so its source is compiled into this module. A buffer of frames replaces TCP; the test
 * ignores the contents of frames.
 */
#include <linux/skbuff.h>
#include <net/tcp.h>
#include "suite.h"

static int stream_read(struct sock *sk, read_descriptor_t *desc, sk_read_actor_t actor);
#define tcp_read_sock stream_read
/* avoid the names of kfi.ko, which other tests of this module call */
#define kfi_link_rx_head stream_rx_head
#define kfi_link_rx_live stream_rx_live
#define kfi_link_rx_payload stream_rx_payload
#define kfi_link_fail stream_fail
#include "../../providers/sockets/stream.c"
#undef tcp_read_sock

#define FRAMES		100000U		/* as in a receive buffer of a few MiB */
#define PER_SKB		500U
#define FRAME		56U		/* bytes of a frame */

/**
 * struct stream - state of the stream
 * @skb: PER_SKB frames
 * @left: frames that have not been read
 * @off: offset in @skb of the first of them
 * @read: frames that were read
 * @most: frames that were read in one run, at most
 * @tp: the socket
 * @err: the connection has failed with this error
 */
static struct stream {
	struct sk_buff	*skb;
	unsigned int	left, off;
	unsigned int	read, most;
	struct tcp_sock	tp;
	int		err;
} stream;

/* As tcp_read_sock(): until the actor takes no more, or no frame is left. */
static int stream_read(struct sock *sk, read_descriptor_t *desc, sk_read_actor_t actor)
{
	unsigned int before = stream.read;
	int used;

	while (stream.left) {
		unsigned int here = min(stream.left, PER_SKB - stream.off);

		used = actor(desc, stream.skb, stream.off * FRAME, here * FRAME);
		if (used <= 0)
			break;
		stream.left -= used / FRAME;
		stream.off = (stream.off + used / FRAME) % PER_SKB;
	}
	stream.most = max(stream.most, stream.read - before);
	return 0;
}

/* ---- functions of the protocol ---- */

size_t kfi_link_rx_head(struct kfi_link *link, const void *bytes, size_t len)
{
	stream.read++;
	return min_t(size_t, len, FRAME);
}

bool kfi_link_rx_live(struct kfi_link *link)
{
	return false;
}

void kfi_link_rx_payload(struct kfi_link *link, size_t len)
{
}

void kfi_link_fail(struct kfi_link *link, int err)
{
	stream.err = err;
}

/* ---- the tests ---- */

/* A link whose socket has @frames frames. */
static struct ks_link *stream_link(struct kunit *test, unsigned int frames)
{
	struct ks_link *kl = kfi_test_zalloc(test, sizeof(*kl));

	memset(&stream, 0, sizeof(stream));
	stream.skb = alloc_skb(PER_SKB * FRAME, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, stream.skb);
	skb_put_zero(stream.skb, PER_SKB * FRAME);
	stream.left = frames;
	kl->sk = (struct sock *)&stream.tp;
	kl->link.want = KFI_WANT_HEAD;
	return kl;
}

/* A full receive buffer is read in pieces, to its end. */
static void stream_is_read_in_pieces(struct kunit *test)
{
	struct ks_link *kl = stream_link(test, FRAMES);
	unsigned int runs = 1;

	while (!ks_read(&kl->link) && runs < FRAMES)
		runs++;
	KUNIT_EXPECT_EQ(test, FRAMES, stream.read);
	KUNIT_EXPECT_LE(test, stream.most, (unsigned int)KS_RX_STEPS);
	KUNIT_EXPECT_GE(test, runs, FRAMES / KS_RX_STEPS);
	kfree_skb(stream.skb);
}

/* A link that has to stop reads nothing. */
static void stream_stops(struct kunit *test)
{
	struct ks_link *kl = stream_link(test, PER_SKB);

	kl->link.want = KFI_WANT_STOP;
	KUNIT_EXPECT_TRUE(test, ks_read(&kl->link));
	KUNIT_EXPECT_EQ(test, PER_SKB, stream.left);
	kfree_skb(stream.skb);
}

/* Urgent data, at which TCP's reader stops, ends the connection. */
static void stream_is_urgent(struct kunit *test)
{
	struct ks_link *kl = stream_link(test, PER_SKB);

	stream.tp.urg_data = TCP_URG_NOTYET;
	KUNIT_EXPECT_TRUE(test, ks_read(&kl->link));
	KUNIT_EXPECT_EQ(test, -EPROTO, stream.err);
	KUNIT_EXPECT_EQ(test, PER_SKB, stream.left);
	kfree_skb(stream.skb);
}

KFI_SUITE(kfi_sockets_stream,
	KUNIT_CASE(stream_is_read_in_pieces),
	KUNIT_CASE(stream_stops),
	KUNIT_CASE(stream_is_urgent));
