// SPDX-License-Identifier: GPL-2.0
/*
 * What kfi_sockets passes on of a stream, and where it stops. kfi_sockets exports nothing, so its
 * source is compiled into this module. A buffer of frames replaces TCP; the test ignores the
 * contents of frames.
 */
#include <linux/skbuff.h>
#include <net/tcp.h>
#include "suite.h"

static int stream_read(struct sock *sk, read_descriptor_t *desc, sk_read_actor_t actor);
#define tcp_read_sock stream_read
/* avoid the names of kfi.ko, which other tests of this module call */
#define kfi_link_rx_bytes stream_rx_bytes
#define kfi_link_fail stream_fail
#include "../../providers/sockets/stream.c"
#undef tcp_read_sock

bool ks_splice;	/* the parameter of the module; nothing is sent here */

#define FRAMES		100000U		/* as in a receive buffer of a few MiB */
#define PER_SKB		500U
#define FRAME		56U		/* bytes of a frame */
#define STEPS		2048U		/* frames that the protocol takes in one run */

/**
 * struct stream - state of the stream
 * @skb: PER_SKB frames
 * @left: frames that have not been read
 * @off: offset in @skb of the first of them
 * @read: frames that were read
 * @steps: frames that the protocol still takes in this run
 * @calls: of kfi_link_rx_bytes()
 * @whole: the protocol takes bytes, not frames
 * @bytes: with @whole: bytes that it has taken
 * @stop: with @whole: bytes after which it takes no more; 0: there is no limit
 * @tp: the socket
 * @err: the connection has failed with this error
 */
static struct stream {
	struct sk_buff	*skb;
	unsigned int	left, off;
	unsigned int	read, steps, calls;
	bool		whole;
	size_t		bytes, stop;
	struct tcp_sock	tp;
	int		err;
} stream;

/* As tcp_read_sock(): until the actor takes no more, or no frame is left. */
static int stream_read(struct sock *sk, read_descriptor_t *desc, sk_read_actor_t actor)
{
	int used;

	while (stream.left) {
		unsigned int here = min(stream.left, PER_SKB - stream.off);

		used = actor(desc, stream.skb, stream.off * FRAME, here * FRAME);
		if (used <= 0)
			break;
		stream.left -= used / FRAME;
		stream.off = (stream.off + used / FRAME) % PER_SKB;
	}
	return 0;
}

/* ---- functions of the protocol ---- */

/* Takes frames up to the budget of the run. */
size_t kfi_link_rx_bytes(struct kfi_link *link, const void *bytes, size_t len)
{
	unsigned int n = min_t(size_t, len / FRAME, stream.steps);

	stream.calls++;
	if (stream.whole) {
		if (stream.stop)
			len = min(len, stream.stop - stream.bytes);
		stream.bytes += len;
		return len;
	}
	stream.read += n;
	stream.steps -= n;
	return n * FRAME;
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
	return kl;
}

/* A full receive buffer is read to its end, a socket buffer with one call. */
static void stream_is_read_in_bursts(struct kunit *test)
{
	struct ks_link *kl = stream_link(test, FRAMES);
	unsigned int runs = 0;

	for (; stream.left && runs < FRAMES; runs++) {
		stream.steps = STEPS;
		ks_read(&kl->link);
	}
	KUNIT_EXPECT_EQ(test, FRAMES, stream.read);
	KUNIT_EXPECT_EQ(test, DIV_ROUND_UP(FRAMES, STEPS), runs);
	KUNIT_EXPECT_LE(test, stream.calls, FRAMES / PER_SKB + 2 * runs);
	kfree_skb(stream.skb);
}

/* A buffer in several parts is passed on in order, without a gap. */
static void stream_is_in_parts(struct kunit *test)
{
	struct ks_link *kl = stream_link(test, 1);
	struct page *page = alloc_pages(GFP_KERNEL, 0);

	KUNIT_ASSERT_NOT_NULL(test, page);
	skb_add_rx_frag(stream.skb, 0, page, 0, PAGE_SIZE, PAGE_SIZE);
	get_page(page);
	skb_add_rx_frag(stream.skb, 1, page, 0, PAGE_SIZE, PAGE_SIZE);
	stream.steps = STEPS;
	stream.whole = true;
	KUNIT_EXPECT_EQ(test, (int)stream.skb->len - 7,
			ks_rx_actor(&(read_descriptor_t) { .arg.data = &kl->link }, stream.skb, 7,
				    stream.skb->len - 7));
	KUNIT_EXPECT_EQ(test, stream.skb->len - 7, stream.bytes);
	KUNIT_EXPECT_EQ(test, 3, stream.calls);
	/* It stops where the protocol stops. */
	stream.bytes = 0;
	stream.stop = PER_SKB * FRAME + 100;
	KUNIT_EXPECT_EQ(test, (int)stream.stop,
			ks_rx_actor(&(read_descriptor_t) { .arg.data = &kl->link }, stream.skb, 0,
				    stream.skb->len));
	kfree_skb(stream.skb);
}

/* A link that has to stop reads nothing. */
static void stream_stops(struct kunit *test)
{
	struct ks_link *kl = stream_link(test, PER_SKB);

	ks_read(&kl->link);
	KUNIT_EXPECT_EQ(test, PER_SKB, stream.left);
	KUNIT_EXPECT_EQ(test, 1, stream.calls);
	kfree_skb(stream.skb);
}

/* Urgent data, at which TCP's reader stops, ends the connection. */
static void stream_is_urgent(struct kunit *test)
{
	struct ks_link *kl = stream_link(test, PER_SKB);

	stream.tp.urg_data = TCP_URG_NOTYET;
	ks_read(&kl->link);
	KUNIT_EXPECT_EQ(test, -EPROTO, stream.err);
	KUNIT_EXPECT_EQ(test, PER_SKB, stream.left);
	kfree_skb(stream.skb);
}

KFI_SUITE(kfi_sockets_stream,
	KUNIT_CASE(stream_is_read_in_bursts),
	KUNIT_CASE(stream_is_in_parts),
	KUNIT_CASE(stream_stops),
	KUNIT_CASE(stream_is_urgent));
