// SPDX-License-Identifier: GPL-2.0
/*
 * A node of kfi_mirror whose peers send any message of the right form at any time. Such a peer may
 * lose its own copy of the data. The node has to go on.
 */
#include <linux/prandom.h>
/* The messages of mirror_world.c go nowhere. These come from an endpoint that is none. */
#define kfm_net_work	lies_net_work
#define kfm_net_close	lies_net_close
#define kfm_net_region	lies_net_region
#define kfm_net_send	lies_net_send
#define kfm_net_send_by	lies_net_send_by
#define kfm_net_receive	lies_net_receive
#define kfm_net_fetch	lies_net_fetch
#define kfm_net_read	lies_net_read
#define kfm_net_write	lies_net_write
#include "mirror_world.h"

static int lies_posted(struct kfi_rxbuf *rx);
static int lies_open(struct kfi_conn *conn);
static unsigned int lies_closed;	/* endpoints */

#define kfm_conn_ops			lies_conn_ops
#define kfi_rx_done(rx)			lies_posted(rx)
#define kfi_conn_stop(conn)		((void)(conn), lies_closed++)
#define kfi_conn_open(conn, dom, info, attr)	((void)(attr), lies_open(conn))
#define kfi_find(net, need, src, dst, service, info)	\
	((void)(net), (void)(need), (*(info) = kfi_allocinfo()) ? 0 : -ENOMEM)
#define kfi_dom_get(net, info, owner)	((struct kfi_dom *)NULL)
#define kfi_dom_put(dom)		((void)(dom))
#define kfi_region_open(conn, attr, flags, mr)	((void)(conn), (void)(attr), -ENODEV)
#include "../../ulps/mirror/net.c"

static u32 below(struct rnd_state *rnd, u32 n)
{
	return prandom_u32_state(rnd) % n;
}

/* Mostly what would be true, else something near it, or anything */
static u64 claim(struct rnd_state *rnd, u64 truth)
{
	switch (below(rnd, 8)) {
	case 0:
		return truth + below(rnd, 5) - 2;
	case 1:
		return (u64)prandom_u32_state(rnd) << 32 | prandom_u32_state(rnd);
	default:
		return truth;
	}
}

/* A message of the right form, which may come at any time and say anything */
static void lie(struct mw *w, struct rnd_state *rnd)
{
	struct kfm_peer *p = &w->peers[below(rnd, 2)];
	struct kfm *m = &w->m;
	struct kfm_le_msg wire;
	struct kfm_msg msg = {
		.type = 1 + below(rnd, KFM_MSG_TYPES - 1),
		.session = claim(rnd, p->session),
		.gens = { .cur = claim(rnd, below(rnd, 2) ? m->sb.gens.cur : 5),
			  .base = claim(rnd, 5), .source = claim(rnd, m->sb.gens.cur),
			  .history = { claim(rnd, 5) } },
		.sectors = claim(rnd, m->sectors),
		.lbs = below(rnd, 2) ? KFM_SECTOR : below(rnd, KFM_PATCHES + 1),
		.state = below(rnd, KFM_STATES),
		.flags = below(rnd, KFM_M_FLAGS + 1),
		.arg = below(rnd, 4),
		.features = below(rnd, 4),
		.seq = claim(rnd, p->ring.next.seq),
		.ring_len = KFM_RING_MIN << below(rnd, 3),
		.bitmap_len = below(rnd, 2) ? claim(rnd, kfm_wire_bytes(m->sectors)) : 0,
		.id = 1,
		.node = claim(rnd, MW_NODE + p->index),
		.peers = 2,
	};

	kfm_msg_encode(&msg, &wire);
	if (!kfm_msg_decode(&wire, sizeof(wire), &msg))
		kfm_peer_message(p, &msg);
}

/* What the primary waits for */
static void answer(struct mw *w, unsigned int peer)
{
	switch (w->peers[peer].state) {
	case KFM_SESSION_HELLO:
		mw_state(w, peer, KFM_UPTODATE, 5, 0);
		break;
	case KFM_SESSION_ATTACH:
		mw_grant(w, peer);
		break;
	case KFM_SESSION_UP:
		mw_ack(w, peer);
		mw_synced_ok(w, peer);
		break;
	default:
		break;
	}
}

/* A record that was posted ends, of this session or an earlier one. */
static void record_ends(struct mw *w, struct rnd_state *rnd, unsigned int peer)
{
	struct kfm_post **first = w->posted[peer];

	if (!w->nr_posted[peer])
		return;
	(*first)->err = below(rnd, 16) ? 0 : -EIO;
	(*first)->busy = false;
	memmove(first, first + 1, --w->nr_posted[peer] * sizeof(*first));
}

static void something_happens(struct mw *w, struct rnd_state *rnd)
{
	unsigned int i = below(rnd, ARRAY_SIZE(w->bios));
	struct kfm_peer *p = &w->peers[i % 2];

	switch (below(rnd, 32)) {
	case 0 ... 3:
		if (!w->m.primary || test_bit(i, &w->flight))
			break;
		if (w->m.cache && !below(rnd, 4))
			mw_flush(w, i);
		else
			mw_write(w, i, below(rnd, MW_REGIONS));
		break;
	case 4 ... 7:
		record_ends(w, rnd, i % 2);
		break;
	case 8 ... 15:
		mw_run(w);
		break;
	case 16:
		lie(w, rnd);
		break;
	case 17:
		p->next = jiffies;
		p->down -= w->m.timeout / 4;
		prandom_bytes_state(rnd, p->wire, KFM_BLOCK);
		break;
	default:
		if (w->m.primary)
			answer(w, i % 2);
		else
			lie(w, rnd);
	}
}

/* A primary is not stopped by lies: when the peers have gone, all writes end well, each once. */
static void lies_peers(struct kunit *test)
{
	struct mw *w = mw_make(test, 2);
	const struct kfm_ring *ring = &w->peers[0].ring;
	u64 seed = get_random_u64();
	unsigned int i, ups = 0, synced = 0, writes = 0;
	struct rnd_state rnd;

	kunit_info(test, "seed %llu\n", seed);
	prandom_seed_state(&rnd, seed);
	mw_primary(w, 6);
	if (seed & 1)
		mw_cache(w);
	w->m.policy = KFM_ALONE;
	w->newer = true;
	w->slots = 2;
	w->m.direct_min = 0;
	for (i = 0; i < 200000; i++) {
		something_happens(w, &rnd);
		ups += w->peers[0].state == KFM_SESSION_UP;
		synced += w->peers[0].insync;
		if (w->peers[0].state == KFM_SESSION_UP) {
			/* It knows what of the log of a peer is in use. */
			KUNIT_EXPECT_LT(test, ring->applied, ring->next.seq);
			KUNIT_EXPECT_LE(test, ring->next.head - ring->tail, ring->len);
		}
		writes += hweight_long(w->done);
		w->done = 0;
		w->events[0] = 0;
	}
	kunit_info(test, "in %u of %u steps up, in %u in sync; %u writes ended\n", ups, i, synced,
		   writes);
	KUNIT_EXPECT_GT(test, synced, 0);
	KUNIT_EXPECT_GT(test, writes, 0);
	for (i = 0; i < 2; i++) {
		w->peers[i].rail->up = false;
		w->peers[i].rail->retry = jiffies + HZ * 60;
		w->peers[i].down = jiffies - 2 * w->m.timeout;
	}
	w->done = ~w->flight;
	mw_run(w);
	for (i = 0; i < 2; i++)
		while (w->nr_posted[i])
			record_ends(w, &rnd, i);
	for (i = 0; i < 4; i++)
		mw_run(w);
	KUNIT_EXPECT_EQ(test, w->flight, 0);
	KUNIT_EXPECT_EQ(test, w->done, ~0UL);
	KUNIT_EXPECT_TRUE(test, w->m.primary);
}

/* A node that follows takes no lie for a promotion, and gives out nothing for one. */
static void lies_primary(struct kunit *test)
{
	struct mw *w = mw_follower(test);
	u64 seed = get_random_u64();
	struct rnd_state rnd;
	unsigned int i;

	kunit_info(test, "seed %llu\n", seed);
	prandom_seed_state(&rnd, seed);
	for (i = 0; i < 200000; i++) {
		if (!below(&rnd, 64)) {		/* an ATTACH is accepted */
			w->m.log.open = true;
			w->m.log.peer = &w->peers[below(&rnd, 2)];
			w->m.log.peer->state = KFM_SESSION_UP;
		}
		something_happens(w, &rnd);
		w->events[0] = 0;
	}
	KUNIT_EXPECT_FALSE(test, w->m.primary);
	KUNIT_EXPECT_EQ(test, w->count[0][KFM_GRANT] + w->count[1][KFM_GRANT], 0);
	KUNIT_EXPECT_EQ(test, w->count[0][KFM_ATTACH] + w->count[1][KFM_ATTACH], 0);
}

static unsigned int lies_more;	/* messages that are on their way */

/* The receive is posted again, and the next message arrives at once. */
static int lies_posted(struct kfi_rxbuf *rx)
{
	if (lies_more && lies_more--)
		list_add_tail(&container_of(rx, struct kfm_rx, rx)->entry,
			      &to_rail(rx->conn)->p->inbox);
	return 0;
}

static struct kfm_le_msg lies_head;
static struct kfm_rx lies_rx = { .rx.head = &lies_head };

/* A message has arrived. */
static void arrive(struct kfm_peer *p, int err)
{
	struct kfm_msg pong = {
		.type = KFM_PONG, .session = p->session, .node = MW_NODE,
	};

	lies_rx.rx.conn = &p->rail->conn;
	lies_rx.err = err;
	lies_rx.rx.len = sizeof(lies_head);
	kfm_msg_encode(&pong, &lies_head);
	list_add_tail(&lies_rx.entry, &p->inbox);
}

/* The worker handles the messages that have arrived. */
static void receive(struct mw *w)
{
	w->receive = lies_net_receive;
	w->close = lies_net_close;
	kfm_peers_run(&w->m);
}

/* A message arrives before the open fails. */
static int lies_open(struct kfi_conn *conn)
{
	arrive(to_rail(conn)->p, 0);
	return -ENODEV;
}

/* An endpoint that could not be opened leaves nothing, for the next one posts all receives. */
static void lies_open_fails(struct kunit *test)
{
	struct kfm_peer *p = &mw_synced(test)->peers[0];

	p->rail->provider = "any";
	p->rail->up = false;
	lies_net_work(&p->rail->work);
	KUNIT_EXPECT_TRUE(test, list_empty(&p->inbox));
	KUNIT_EXPECT_EQ(test, -ENODEV, p->rail->logged_err);
}

/* However fast a peer sends, the worker does all else that is due after a few messages. */
static void lies_flood(struct kunit *test)
{
	struct mw *w = mw_synced(test);
	struct kfm_peer *p = &w->peers[0];

	lies_more = 1000;
	arrive(p, 0);
	receive(w);
	KUNIT_EXPECT_EQ(test, lies_more, 1000 - KFM_RX);
	KUNIT_EXPECT_EQ(test, p->state, KFM_SESSION_UP);
	lies_more = 0;
}

/* The first malformed message ends the session, and costs the peer its endpoint for a while. */
static void lies_malformed(struct kunit *test)
{
	static const int errs[] = { 0, 0, KFI_ETRUNC, KFI_ECONNRESET };
	struct mw *w;
	struct kfm_peer *p;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(errs); i++) {
		w = mw_synced(test);
		p = &w->peers[0];
		lies_closed = 0;
		lies_more = 1;
		arrive(p, errs[i]);
		lies_head.magic ^= cpu_to_le32(i == 0);
		lies_rx.rx.len -= sizeof(lies_head) * (i == 1);
		receive(w);
		/* what a connection has cut off is nobody's fault */
		KUNIT_EXPECT_EQ(test, lies_closed, i != 3);
		KUNIT_EXPECT_EQ(test, lies_more, i != 3);
		KUNIT_EXPECT_EQ(test, kfm_net_up(p), i == 3);
		if (i == 3)
			break;
		KUNIT_EXPECT_TRUE(test, time_after(p->rail->retry, jiffies));
		mw_run(w);
		KUNIT_EXPECT_EQ(test, p->state, KFM_SESSION_DOWN);
		KUNIT_EXPECT_NOT_NULL(test, strstr(w->events, "lost "));
	}
}

/* What is written in another version gets a reason, and one that any node can read, but only HELLO. */
static void lies_other_version(struct kunit *test)
{
	struct mw *w = mw_make(test, 1);
	struct kfm_peer *p = &w->peers[0];
	unsigned int i;

	w->newer = true;
	lies_closed = 0;
	for (i = 0; i < 2; i++) {
		arrive(p, 0);
		lies_head.version = cpu_to_le16(KFM_MSG_VERSION + 1);
		lies_head.type = cpu_to_le16(i ? KFM_PING : KFM_HELLO);
		lies_head.session = cpu_to_le64(77);
		receive(w);
		KUNIT_EXPECT_EQ(test, w->count[0][KFM_REFUSED], 1);
		KUNIT_EXPECT_EQ(test, w->sent[0][KFM_REFUSED].arg, KFM_R_VERSION);
		KUNIT_EXPECT_EQ(test, w->sent[0][KFM_REFUSED].session, 77);
		KUNIT_EXPECT_STREQ(test, kfm_refused_word(p), "other-version");
		KUNIT_EXPECT_EQ(test, lies_closed, i);
	}
}

KFI_SUITE(kfi_mirror_lies,
	KUNIT_CASE(lies_flood),
	KUNIT_CASE(lies_malformed),
	KUNIT_CASE(lies_open_fails),
	KUNIT_CASE(lies_other_version),
	KUNIT_CASE(lies_peers),
	KUNIT_CASE(lies_primary));
