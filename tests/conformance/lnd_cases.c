// SPDX-License-Identifier: GPL-2.0
/*
 * Two consumers that work as Lustre's kfilnd: hello, immediate messages, bulk data in both
 * directions, cancels, loss of a peer.
 */
#include <linux/delay.h>
#include "lnd.h"

static void two_free(struct lnd *l)
{
	if (!l)
		return;
	lnd_free(&l[0]);
	lnd_free(&l[1]);
}

/* Open two that have exchanged a hello. */
static struct lnd *two_open(struct test *t)
{
	struct lnd *l = test_zalloc(t, 2 * sizeof(*l));
	int i;

	if (!l)
		return NULL;
	if (lnd_open(t, &l[0], 0) || lnd_open(t, &l[1], 1) || lnd_know(&l[0], &l[1]) ||
	    lnd_know(&l[1], &l[0]))
		goto failed;
	for (i = 0; i < 2; i++)
		if (lnd_start(&l[i], i, LND_HELLO, 0, 0) ||
		    !EXPECT_EQ(t, lnd_wait(&l[i], i, t->w->wait_ms), 0))
			goto failed;
	return l;

failed:
	two_free(l);
	return NULL;
}

/* Open and close several times, in the LND's order. */
static void bring_up(struct test *t)
{
	struct lnd *l;
	int i;

	for (i = 0; i < (t->w->quick ? 2 : 20) && !t->failures; i++) {
		l = two_open(t);
		two_free(l);
	}
}

/* @n transactions of @l, at most LND_TNS at a time. */
static void run(struct lnd *l, int n, enum lnd_type kind, size_t most)
{
	struct test *t = l->t;
	int i, ended = 0;

	for (i = 0; i < n && !t->failures; i++) {
		if (i - ended == LND_TNS)
			EXPECT_EQ(t, lnd_wait(l, ended++ % LND_TNS, t->w->wait_ms), 0);
		if (lnd_start(l, i % LND_TNS, kind, 1 + (u64)i * 7919 % most, (u64)kind << 32 | i))
			return;
	}
	while (ended < i)
		EXPECT_EQ(t, lnd_wait(l, ended++ % LND_TNS, t->w->wait_ms), 0);
}

/* More messages than all buffers hold: each buffer is released, and posted again, several times. */
static void immediates(struct test *t)
{
	struct lnd *l = two_open(t);
	int i, n = t->w->quick ? 120 : 3000;

	REQUIRE(t, l);
	for (i = 0; i < 2; i++) {
		run(&l[i], n, LND_IMMEDIATE, LND_MSG - sizeof(struct lnd_msg));
		EXPECT(t, test_until(t, atomic_read(&l[!i].served[LND_IMMEDIATE]) == n));
	}
	two_free(l);
}

struct runner {
	struct lnd	*l;
	int		n;
};

static int run_bulk(void *arg)
{
	struct runner *r = arg;
	int i;

	for (i = 0; i < 3; i++) {
		run(r->l, r->n, LND_PUT, LND_BULK);
		run(r->l, r->n, LND_GET, LND_BULK);
		run(r->l, r->n, LND_SKIP, LND_BULK);
	}
	return 0;
}

/* Put, get, and the path without data; both sides at once. */
static void bulk(struct test *t)
{
	struct lnd *l = two_open(t);
	struct worker *w = test_zalloc(t, 2 * sizeof(*w));
	struct runner r[2];
	int i, started;

	REQUIRE(t, l);
	for (started = 0; w && started < 2; started++) {
		r[started] = (struct runner){ &l[started], t->w->quick ? 12 : 300 };
		if (worker_start(t, &w[started], -1, run_bulk, &r[started]))
			break;
	}
	for (i = 0; i < started; i++)
		worker_join(&w[i], 4 * t->w->wait_ms);
	for (i = 0; i < 2; i++)
		EXPECT(t, test_until(t, atomic_read(&l[i].served[LND_PUT]) == 3 * r[!i].n &&
				     atomic_read(&l[i].served[LND_GET]) == 3 * r[!i].n &&
				     atomic_read(&l[i].served[LND_SKIP]) == 3 * r[!i].n));
	two_free(l);
}

/*
 * Give up a transaction. Its tagged receive ends once, by the cancel or otherwise; so does its
 * send.
 */
static int give_up(struct lnd *l, int i, unsigned int ms)
{
	struct lnd_tn *tn = &l->tn[i];
	struct test *t = l->t;
	unsigned long until = 0;
	int ret, err;

	do {
		ret = kfi_cancel(&tn->part->rx->fid, tn);
		EXPECT(t, ret == 0 || ret == -ENOENT || ret == -EAGAIN);
	} while (ret == -EAGAIN && test_again(t, &until));
	err = lnd_wait(l, i, ms);
	EXPECT(t, ret || err);
	return err;
}

/*
 * Transactions are given up at all stages; the peer, which may be in the middle of one, continues.
 */
static void cancels(struct test *t)
{
	struct lnd *l = two_open(t);
	int i, j, err, rounds = t->w->quick ? 12 : 200, cancelled = 0, whole = 0;

	REQUIRE(t, l);
	l[1].lossy = true;
	for (i = 0; i < rounds && !t->failures; i++) {
		for (j = 0; j < LND_TNS; j++)
			if (lnd_start(&l[0], j, LND_PUT + (i + j) % 3, LND_BULK, i * LND_TNS + j))
				break;
		if (i % 4)
			usleep_range(50 * i, 50 * i + 1);
		while (j--) {
			err = give_up(&l[0], j, t->w->wait_ms);
			EXPECT(t, err == 0 || err == ECANCELED);
			cancelled += err == ECANCELED;
			whole += !err;
		}
	}
	pr_info("    # lnd: %d cancelled, %d whole\n", cancelled, whole);
	/* Other transactions are not affected by leftovers of them. */
	run(&l[0], 20, LND_GET, LND_BULK);
	run(&l[0], 20, LND_PUT, LND_BULK);
	two_free(l);
}

/* Is this an error that tells the LND about the peer or the network? */
static bool tells_of_loss(int err)
{
	return err == EHOSTUNREACH || err == ENOTCONN || err == ETIMEDOUT || err == EIO ||
	       err == ECONNREFUSED || err == ECONNRESET;
}

/*
 * The peer is lost during traffic: all transactions end in bounded time, the buffers stay, and when
 * the peer is back all works as before.
 */
static void peer_lost(struct test *t)
{
	struct lnd *l = two_open(t);
	int i, err, lost = 0;

	REQUIRE(t, l);
	l[0].lossy = l[1].lossy = true;
	for (i = 0; i < LND_TNS && !t->failures; i++)
		lnd_start(&l[0], i, i & 1 ? LND_PUT : LND_GET, LND_BULK, i);
	lnd_free(&l[1]);
	for (i = 0; i < LND_TNS && !t->failures; i++) {
		err = give_up(&l[0], i, t->w->loss_ms + t->w->wait_ms);
		EXPECT(t, !err || err == ECANCELED || tells_of_loss(err));
	}
	/* A missing peer is reported asynchronously. */
	for (i = 0; i < LND_TNS && !t->failures; i++)
		lnd_start(&l[0], i, LND_IMMEDIATE, 100, i);
	for (i = 0; i < LND_TNS && !t->failures; i++) {
		err = lnd_wait(&l[0], i, t->w->loss_ms + t->w->wait_ms);
		EXPECT(t, tells_of_loss(err));
		lost += !!err;
	}
	EXPECT_EQ(t, lost, LND_TNS);
	EXPECT_EQ(t, atomic_read(&l[0].buffers), LND_PARTS * LND_BUFS);
	if (t->failures || lnd_open(t, &l[1], 1))
		goto out;
	EXPECT_EQ(t, kfi_av_remove(l[0].av, &l[0].peer, 1, 0), 0);
	if (lnd_know(&l[0], &l[1]) || lnd_know(&l[1], &l[0]))
		goto out;
	run(&l[0], 20, LND_GET, LND_BULK);
	run(&l[1], 20, LND_PUT, LND_BULK);
	run(&l[1], 20, LND_IMMEDIATE, 1000);
out:
	two_free(l);
}

const struct test_case lnd_cases[] = {
	{ "lnd.bring_up", T_RDM, 0, LND_CAPS, bring_up },
	{ "lnd.immediates", T_RDM, 0, LND_CAPS, immediates },
	{ "lnd.bulk", T_RDM, 0, LND_CAPS, bulk },
	{ "lnd.cancels", T_RDM, 0, LND_CAPS, cancels },
	{ "lnd.peer_lost", T_RDM, 0, LND_CAPS, peer_lost },
	{ }
};
