// SPDX-License-Identifier: GPL-2.0
/*
 * Peers with several threads: an endpoint posts to some nodes, connections fail in any state,
 * handles are removed and inserted again, and nodes call, by known names and others, as if they
 * had restarted. The nodes are those of hostile_peer.h, which accept all calls.
 */
#include <linux/slab.h>
#include "crew.h"
#include "hostile_peer.h"

#define NODE		2
#define PORT		5
#define RACE_NODES	3
#define RACE_POSTERS	4
#define RACE_EACH	5000
#define RACE_THREADS	(RACE_POSTERS + 3)
#define RACE_SEQ_BITS	20
#define RACE_NEW	16	/* so many of the last connections may be failed */

/**
 * struct race - state of the test. Tag and context of a message are its node, the number of its
 *	thread, and its own number, from 1
 * @h: handle of each node; one thread writes it
 * @posting: posters that have not finished
 * @got: entries
 * @good: entries without error
 * @twice: entries that had been there before
 * @wrong: messages that came to another node, or before an earlier one of their thread
 * @broken: connections that were failed
 * @called: calls that were accepted
 * @odd: unexpected errors
 * @what: the last of them
 */
struct race {
	kfi_addr_t	h[RACE_NODES];
	atomic_t	posting;
	atomic_t	got, good, twice, wrong, broken, called, odd;
	int		what;
	unsigned long	seen[BITS_TO_LONGS(RACE_POSTERS * RACE_EACH)];
};

static u64 race_tag(unsigned int node, unsigned int thread, u32 seq)
{
	return (u64)node << 2 * RACE_SEQ_BITS | thread << RACE_SEQ_BITS | seq;
}

static bool race_error_ok(int err)
{
	return err == ECONNRESET || err == ECONNREFUSED || err == EALREADY || err == ENOBUFS;
}

static void race_odd(struct race *r, int err)
{
	WRITE_ONCE(r->what, err);
	atomic_inc(&r->odd);
}

static void race_reap(struct race *r)
{
	u32 mask = BIT(RACE_SEQ_BITS) - 1;
	unsigned long tag, bit;
	void *context;
	int ret;

	while ((ret = ph_done(0, &context)) != -EAGAIN) {
		tag = (unsigned long)context;
		bit = (tag >> RACE_SEQ_BITS & mask) * RACE_EACH + (tag & mask) - 1;
		if (bit >= RACE_POSTERS * RACE_EACH || test_and_set_bit(bit, r->seen))
			atomic_inc(&r->twice);
		if (!ret)
			atomic_inc(&r->good);
		else if (!race_error_ok(-ret))
			race_odd(r, ret);
		atomic_inc(&r->got);
	}
}

static void race_post(struct race *r, unsigned int id, struct rnd_state *rnd)
{
	unsigned int i;
	u64 tag;
	u32 seq;
	int ret;

	for (seq = 1; seq <= RACE_EACH; seq++) {
		do {
			i = prandom_u32_state(rnd) % RACE_NODES;
			tag = race_tag(NODE + i, id, seq);
			ret = kfi_tsend(ph.ep, NULL, 0, NULL, READ_ONCE(r->h[i]), tag,
					(void *)(unsigned long)tag);
			if (ret == -EAGAIN)
				usleep_range(50, 200);
			else if (ret && ret != -EINVAL)	/* another thread has removed that handle */
				race_odd(r, ret);
			race_reap(r);
		} while (ret);
		crew_dawdle(rnd);
	}
	atomic_dec(&r->posting);
}

/* What has come over a connection is for this node, and in the order of each thread. */
static void race_check(struct race *r, const struct ph_peer *peer)
{
	u32 at, last[RACE_POSTERS] = {}, thread, seq, mask = BIT(RACE_SEQ_BITS) - 1;
	u64 node = *(u64 *)peer->link->name >> 16;
	const struct kfw_hdr *hdr;

	for (at = sizeof(struct kfw_hello); at + sizeof(struct kfw_plain) <= peer->out_len;
	     at += kfw_hdr_len(hdr->type)) {
		hdr = (void *)peer->out + at;
		if (at + kfw_hdr_len(hdr->type) > peer->out_len)
			break;
		if (hdr->type != KFW_MSG)
			continue;
		thread = le64_to_cpu(hdr->tag) >> RACE_SEQ_BITS & mask;
		seq = le64_to_cpu(hdr->tag) & mask;
		if (thread >= RACE_POSTERS || seq <= last[thread] ||
		    le64_to_cpu(hdr->tag) >> 2 * RACE_SEQ_BITS != node)
			atomic_inc(&r->wrong);
		else
			last[thread] = seq;
	}
}

/* Fail one of the last connections, whatever its state. */
static void race_break(struct race *r, struct rnd_state *rnd)
{
	unsigned int n = prandom_u32_state(rnd) % RACE_NEW;
	bool down = prandom_u32_state(rnd) & 1;
	struct ph_peer *peer;

	spin_lock_bh(&ph.lock);
	list_for_each_entry(peer, &ph.peers, entry)
		if (!n--)
			break;
	spin_unlock_bh(&ph.lock);
	if (list_entry_is_head(peer, &ph.peers, entry))
		return;
	spin_lock_bh(&peer->lock);
	if (peer->link) {
		race_check(r, peer);
		WRITE_ONCE(peer->ended, -ECONNRESET);
		if (down)
			kfi_link_down(peer->link);
		else
			kfi_link_fail(peer->link, -ECONNRESET);
		atomic_inc(&r->broken);
	}
	spin_unlock_bh(&peer->lock);
}

/* Remove a handle and insert the address again, which gets another handle. */
static void race_rename(struct race *r, struct rnd_state *rnd)
{
	unsigned int i = prandom_u32_state(rnd) % RACE_NODES;
	kfi_addr_t h = r->h[i];

	kfi_av_remove(ph.w->av, &h, 1, 0);
	crew_dawdle(rnd);
	WRITE_ONCE(r->h[i], ph_addr(NODE + i, PORT));
}

/* Call by the name of a node that the endpoint posts to, or by one of many unknown names. */
static void race_call(struct race *r, struct rnd_state *rnd)
{
	struct ph_peer *peer = ph_try(NODE + prandom_u32_state(rnd) % 12, false);
	struct kfw_hello hello = ph_hello(PORT, KFW_HELLO);

	if (!peer)
		return;
	if (prandom_u32_state(rnd) & 1)
		peer->self = U64_MAX;
	hello.known = cpu_to_le64(prandom_u32_state(rnd));
	kfi_link_up(peer->link);
	if (!ph_ask(peer, &hello)) {
		atomic_inc(&r->called);
		usleep_range(20, 200);
	}
	ph_cut(peer);
}

static void race_thread(void *arg, unsigned int id, struct rnd_state *rnd)
{
	static void (*const mischief[])(struct race *r, struct rnd_state *rnd) = {
		race_break, race_rename, race_call,
	};
	struct race *r = arg;

	if (id < RACE_POSTERS) {
		race_post(r, id, rnd);
		return;
	}
	while (atomic_read(&r->posting)) {
		mischief[id - RACE_POSTERS](r, rnd);
		usleep_range(100, 1000);
	}
}

static void everything_ends_once(struct kunit *test)
{
	struct race *r = kfi_test_zalloc(test, sizeof(*r));
	struct ph_peer *peer;
	unsigned long begin;
	int i;

	ph.accepts = true;
	ph.there = -1;
	ph.room = 8192;
	ph_proto.params.max_peers = RACE_NODES + 3;	/* so that the endpoint forgets peers */
	for (i = 0; i < RACE_NODES; i++)
		r->h[i] = ph_addr(NODE + i, PORT);
	atomic_set(&r->posting, RACE_POSTERS);
	crew_run(test, RACE_THREADS, race_thread, r);
	list_for_each_entry(peer, &ph.peers, entry)
		ph_cut(peer);
	begin = jiffies;
	do {
		race_reap(r);
		schedule_timeout_uninterruptible(1);
	} while (atomic_read(&r->got) < RACE_POSTERS * RACE_EACH && !ph_passed(begin, 30000));
	KUNIT_EXPECT_EQ(test, RACE_POSTERS * RACE_EACH, atomic_read(&r->got));
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&r->twice));
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&r->wrong));
	KUNIT_EXPECT_EQ_MSG(test, 0, atomic_read(&r->odd), "the last was %d", r->what);
	kunit_info(test, "%d sent, %d not; %d broken, %d called, %d dialed\n",
		   atomic_read(&r->good), atomic_read(&r->got) - atomic_read(&r->good),
		   atomic_read(&r->broken), atomic_read(&r->called), atomic_read(&ph.dials));
	/* or nothing was tested */
	KUNIT_EXPECT_GT(test, atomic_read(&r->good), RACE_EACH);
	KUNIT_EXPECT_GT(test, atomic_read(&r->broken), 10);
	KUNIT_EXPECT_GT(test, atomic_read(&r->called), 10);
}

KFI_SUITE_IN(kfi_peer_race, ph_init, ph_exit,
	KUNIT_CASE_SLOW(everything_ends_once));
