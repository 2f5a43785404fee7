// SPDX-License-Identifier: GPL-2.0
/*
 * Peers with several threads: endpoints post to each other and to themselves, connections fail,
 * handles are removed and inserted again, unknown peers call, and calls look like those of a peer
 * that has restarted.
 */
#include <linux/delay.h>
#include <linux/slab.h>
#include "crew.h"
#include "peer_world.h"

#define RACE_EPS	3
#define RACE_POSTERS	4
#define RACE_EACH	3000
#define RACE_THREADS	(RACE_POSTERS + 3)

/**
 * struct race - state of the test
 * @h: handle of each endpoint; one thread writes it
 * @posting: posters that have not finished
 * @got: entries
 * @good: entries without error
 * @twice: entries that had been there before
 * @broken: connections that were failed
 * @called: calls that were accepted
 * @odd: unexpected errors
 * @what: the last of them
 */
struct race {
	struct pw	pw;
	kfi_addr_t	h[RACE_EPS];
	atomic_t	posting;
	atomic_t	got, good, twice, broken, called, odd;
	int		what;
	unsigned long	seen[BITS_TO_LONGS(RACE_POSTERS * RACE_EACH)];
};

static bool race_error_ok(int err)
{
	return err == ECONNRESET || err == ECONNREFUSED || err == EALREADY || err == ENOMEM;
}

static void race_odd(struct race *r, int err)
{
	WRITE_ONCE(r->what, err);
	atomic_inc(&r->odd);
}

static void race_reap(struct race *r)
{
	unsigned long context;
	unsigned int bit;
	int err;

	while ((context = pw_entry(&r->pw, &err))) {
		bit = (context >> PW_COUNT_BITS) * RACE_EACH +
		      (context & GENMASK(PW_COUNT_BITS - 1, 0)) - 1;
		if (bit >= RACE_POSTERS * RACE_EACH || test_and_set_bit(bit, r->seen))
			atomic_inc(&r->twice);
		if (!err)
			atomic_inc(&r->good);
		else if (!race_error_ok(err))
			race_odd(r, err);
		atomic_inc(&r->got);
	}
}

static void race_post(struct race *r, unsigned int id, struct rnd_state *rnd)
{
	struct pw_ep *pe = r->pw.eps[id % RACE_EPS];
	unsigned int i;
	u32 seq;
	int ret;

	for (seq = 1; seq <= RACE_EACH; seq++) {
		do {
			i = prandom_u32_state(rnd) % RACE_EPS;
			ret = pw_send(pe, READ_ONCE(r->h[i]), i + 1, pw_context(id, seq));
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

/* Fail any connection of any endpoint, whatever its state. */
static void race_break(struct race *r, struct rnd_state *rnd)
{
	struct pw_ep *pe = r->pw.eps[prandom_u32_state(rnd) % RACE_EPS];
	unsigned int n = prandom_u32_state(rnd) % 4;
	struct pw_conn *conn;

	spin_lock_bh(&pe->pe.conn_set.lock);
	list_for_each_entry(conn, &pe->pe.conn_set.conns, kc.pc.entry) {
		if (n--)
			continue;
		pw_fail(conn, -ECONNRESET);
		atomic_inc(&r->broken);
		break;
	}
	spin_unlock_bh(&pe->pe.conn_set.lock);
}

/* Remove a handle and insert the address again, which gets another handle. */
static void race_rename(struct race *r, struct rnd_state *rnd)
{
	unsigned int i = prandom_u32_state(rnd) % RACE_EPS;
	kfi_addr_t h = r->h[i];
	int ret;

	kfi_av_remove(r->pw.w->av, &h, 1, 0);
	crew_dawdle(rnd);
	ret = kfi_av_insert(r->pw.w->av, &r->pw.eps[i]->name, 1, &h, 0, NULL);
	if (ret != 1)
		race_odd(r, ret);
	WRITE_ONCE(r->h[i], h);
}

/* Call by the name of an endpoint or by one of many unknown names, and disconnect soon. */
static void race_call(struct race *r, struct rnd_state *rnd)
{
	struct pw_ep *pe = r->pw.eps[prandom_u32_state(rnd) % RACE_EPS];
	u64 name = 1 + prandom_u32_state(rnd) % 12;
	struct kfi_peer_call call = {
		.name = &name, .self = &pe->name, .src_ctx = prandom_u32_state(rnd) % 2,
		.incarnation = 1 + prandom_u32_state(rnd), .stream = prandom_u32_state(rnd),
	};
	struct pw_conn *conn;
	int ret;

	conn = pw_called(pe, &call, &ret);
	if (!ret) {
		atomic_inc(&r->called);
		crew_dawdle(rnd);
		pw_say(conn, PW_LET_IN, 0);
		usleep_range(20, 200);
		pw_fail(conn, -ECONNRESET);
	}
	if (conn)
		pw_put(conn);
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

static bool race_over(struct race *r)
{
	race_reap(r);
	return atomic_read(&r->got) == RACE_POSTERS * RACE_EACH;
}

/*
 * When the other threads have ended, every endpoint reaches every other, and both ends use the same
 * connection.
 */
static void race_agree(struct kunit *test, struct race *r)
{
	int i, j, err, good = 0, bad = 0, before = atomic_read(&r->pw.ended);
	struct kfi_peer *there, *back;

	pw_settle(&r->pw);
	for (i = 0; i < RACE_EPS; i++)
		for (j = 0; j < RACE_EPS; j++)
			KUNIT_EXPECT_EQ(test, 0,
					pw_send(r->pw.eps[i], r->h[j], j + 1,
						pw_context(RACE_POSTERS + i, j + 1)));
	KUNIT_EXPECT_TRUE(test,
			  fake_soon(atomic_read(&r->pw.ended) - before == RACE_EPS * RACE_EPS));
	while (pw_entry(&r->pw, &err))
		err ? bad++ : good++;
	KUNIT_EXPECT_EQ(test, RACE_EPS * RACE_EPS, good);
	KUNIT_EXPECT_EQ(test, 0, bad);
	pw_settle(&r->pw);
	for (i = 0; i < RACE_EPS; i++) {
		for (j = 0; j < i; j++) {
			there = pw_peer(r->pw.eps[i], j + 1, 0);
			back = pw_peer(r->pw.eps[j], i + 1, 0);
			KUNIT_ASSERT_TRUE(test, there && rcu_access_pointer(there->conn));
			KUNIT_ASSERT_TRUE(test, back && rcu_access_pointer(back->conn));
			KUNIT_EXPECT_PTR_EQ(test, to_pw_conn(rcu_access_pointer(there->conn))->far,
					    to_pw_conn(rcu_access_pointer(back->conn)));
		}
	}
}

static void everything_ends_once(struct kunit *test)
{
	struct race *r = kunit_kzalloc(test, sizeof(*r), GFP_KERNEL);
	unsigned long end;
	int i;

	KUNIT_ASSERT_NOT_NULL(test, r);
	pw_open(test, &r->pw);
	r->pw.live = true;
	pw_proto.params.max_peers = 6;	/* so that endpoints have to forget peers */
	for (i = 0; i < RACE_EPS; i++) {
		pw_ep(&r->pw);
		r->h[i] = kfi_world_peer(r->pw.w, i + 1);
	}
	atomic_set(&r->posting, RACE_POSTERS);
	crew_run(test, RACE_THREADS, race_thread, r);
	for (end = jiffies + 30 * HZ; !race_over(r) && time_before(jiffies, end);)
		schedule_timeout_uninterruptible(1);
	KUNIT_EXPECT_EQ(test, RACE_POSTERS * RACE_EACH, atomic_read(&r->got));
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&r->twice));
	KUNIT_EXPECT_EQ_MSG(test, 0, atomic_read(&r->odd), "the last was %d", r->what);
	pw_proto.params.max_peers = 100;
	race_agree(test, r);
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&r->pw.wrong));
	kunit_info(test, "%d arrived, %d not; %d broken, %d called\n", atomic_read(&r->good),
		   atomic_read(&r->got) - atomic_read(&r->good), atomic_read(&r->broken),
		   atomic_read(&r->called));
	/* or nothing was tested */
	KUNIT_EXPECT_GT(test, atomic_read(&r->good), RACE_EACH);
	KUNIT_EXPECT_GT(test, atomic_read(&r->broken), 10);
	KUNIT_EXPECT_GT(test, atomic_read(&r->called), 10);
	pw_close(&r->pw);
}

static struct kunit_case peer_race_cases[] = {
	KUNIT_CASE_SLOW(everything_ends_once),
	{}
};

static struct kunit_suite peer_race_suite = {
	.name = "kfi_peer_race",
	.test_cases = peer_race_cases,
};
kunit_test_suite(peer_race_suite);
