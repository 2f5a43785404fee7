// SPDX-License-Identifier: GPL-2.0
/*
 * cases.c - what the peer does, and how the device must react. Loading the module runs the cases;
 * insmod returns the result. After each case a peer that behaves is served, whichever side calls,
 * and no receive of the shared queue has got lost. Cases of calls, packets and lives have files of
 * their own.
 */
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/slab.h>
#include "cases.h"

static char *only = "";
module_param(only, charp, 0444);
MODULE_PARM_DESC(only, "run this case alone (default: all)");

static unsigned int rounds = 200;
module_param(rounds, uint, 0444);
MODULE_PARM_DESC(rounds, "connections one after the other (default 200)");

static unsigned int crowd = 256;
module_param(crowd, uint, 0444);
MODULE_PARM_DESC(crowd, "queue pairs at a time (default 256)");

static unsigned int seed;
module_param(seed, uint, 0444);
MODULE_PARM_DESC(seed, "of random numbers");

struct rnd_state rnd;
u8 *buf;
static bool quiet;	/* the device may go: nothing has to succeed */

bool check(bool truth, const char *what)
{
	if (!truth && !quiet)
		pr_err("hostile: wrong: %s\n", what);
	return truth;
}

bool wait_until(atomic_t *value, int least)
{
	unsigned long end = jiffies + HI_WAIT;

	while (atomic_read(value) < least && time_before(jiffies, end))
		usleep_range(1000, 2000);
	return atomic_read(value) >= least;
}


/* ---- a peer that behaves ---- */

/* Make a queue pair that leads to the peer. */
bool pair_up(enum hi_side side, bool shared, struct hi_qp **q, struct hi_heard **h)
{
	*h = hi_number();
	*q = hi_qp_new(shared);
	return check(*q && !hi_qp_up(*q, side, (*h)->number), "a queue pair can't be had");
}

/* Say READY, as often as a node does, until the device has called. */
bool answer(struct hi_qp *q, struct hi_heard *h)
{
	unsigned long end = jiffies + hi_patience;
	int i;

	while (!READ_ONCE(h->info) && time_before(jiffies, end)) {
		hi_ready(h, q->ib->qp_num);
		for (i = 0; !READ_ONCE(h->info) && i < 100; i++)
			usleep_range(1000, 2000);
	}
	return check(READ_ONCE(h->info), "the device does not call");
}

/* Connect a queue pair that leads to the peer. */
bool meet(struct hi_qp *q, struct hi_heard *h, enum hi_side side, struct hi_peer *p)
{
	struct kib_hello hello;
	int ret;

	*p = (struct hi_peer) {};
	if (side == HI_LOW) {
		if (!check(hi_hear(&h->readys, 1), "the device does not say READY"))
			return false;
		hello = hi_hello(q->ib->qp_num, h->secret);
		ret = hi_call(p, &hello, sizeof(hello));
	} else {
		if (!check(hi_hear(&h->asks, 1), "the device does not ask") || !answer(q, h))
			return false;
		ret = hi_accept(h, p);
	}
	/* The network may go before the device knows that it is connected: then it tries again. */
	q->connected = !ret && !quiet;
	return check(!ret, "a peer that behaves is not connected");
}

/* Return: a queue pair that a peer has connected, or NULL. The peer is to be ended anyway */
static struct hi_qp *join(enum hi_side side, struct hi_peer *p)
{
	struct hi_heard *h;
	struct hi_qp *q;

	*p = (struct hi_peer) {};
	return pair_up(side, true, &q, &h) && meet(q, h, side, p) ? q : NULL;
}

/* Send message number @nr of a connection. */
bool say(struct hi_peer *p, u32 nr, size_t len)
{
	struct hi_msg *msg = (void *)buf;

	*msg = (struct hi_msg) { .magic = KIB_MAGIC, .number = nr };
	return check(!hi_send(p, buf, len, 0, 0, 0), "a peer that behaves can't send");
}

bool ended(void)
{
	return check(hi_ulp_wait(), "an event of the end has not come");
}

/* Each receive gets a message, so all of them were posted, and again after that. */
static bool served(void)
{
	int i, before = atomic_read(&hi_seen.messages);
	struct hi_peer p[HI_SIDES] = {};
	bool ok = join(HI_LOW, &p[HI_LOW]) && join(HI_HIGH, &p[HI_HIGH]);

	hi_ulp_hold(true);
	for (i = 0; ok && i < HI_RECVS; i++)
		ok = say(&p[i % HI_SIDES], i / HI_SIDES, sizeof(struct hi_msg));
	ok = ok && check(wait_until(&hi_seen.messages, before + HI_RECVS), "a receive got lost");
	hi_ulp_hold(false);
	for (; ok && i < HI_RECVS + HI_SIDES; i++)
		ok = say(&p[i % HI_SIDES], i / HI_SIDES, sizeof(struct hi_msg));
	ok = ok && check(wait_until(&hi_seen.messages, before + i), "a message got lost");
	for (i = 0; i < HI_SIDES; i++)
		hi_end(&p[i]);
	return ended() && ok;
}

/* ---- connections that are misused ---- */

/* Each of these ends the connection, or is a message as any other. */
static int misuse(struct hi_peer *p, int how)
{
	u32 key = prandom_u32_state(&rnd);

	switch (how) {
	case 0:		/* a key that nobody has registered */
		return hi_send(p, buf, 100, 0, key, KFI_INVALIDATE);
	case 1:		/* a write of all bytes that the number has room for, which was not made */
		return hi_send(p, buf, 0, KIB_CQ_WRITE | KIB_CQ_LEN_MASK << KIB_CQ_LEN_SHIFT, 0,
			       KFI_REMOTE_CQ_DATA);
	case 2:		/* the same, with bytes of its own */
		return hi_send(p, buf, 5000, ~0ULL, 0, KFI_REMOTE_CQ_DATA);
	case 3:
		return hi_rma(p, buf, 4096, key, key, true);
	case 4:
		return hi_rma(p, buf, 4096, (unsigned long)buf, key & ~0xffU, false);
	case 5:		/* longer than the receive */
		return hi_send(p, buf, HI_BUF + 1, 0, 0, 0);
	default:	/* the key of all memory of a queue pair's own requests */
		return hi_rma(p, buf, 64, (unsigned long)buf, 1, true);
	}
}

static bool misuses(void)
{
	struct hi_peer p;
	bool ok = true;
	int how, ret;

	for (how = 0; ok && how < 7; how++) {
		ok = join(how % HI_SIDES, &p);
		if (!ok) {
			hi_end(&p);
			break;
		}
		ret = misuse(&p, how);
		if (how == 3 || how == 4 || how == 6)
			ok = check(ret, "memory is open that was not registered");
		hi_end(&p);
		ok &= ended();
		ok &= served();
	}
	return ended() && ok;
}

/* ---- the shared receive queue ---- */

#define TALKERS		3
#define TALK		10	/* messages of each */

/**
 * struct said - a message that was sent without a wait for those before it
 * @op: the send
 * @buf: HI_BUF bytes, or NULL
 * @sent: it was posted
 */
struct said {
	struct hi_op	op;
	u8		*buf;
	bool		sent;
};

static bool talk(struct hi_peer *p, struct said *said, u32 nr)
{
	size_t len = nr % 2 ? sizeof(struct hi_msg) + nr : HI_BUF - nr;
	struct hi_msg *msg;

	said->buf = kzalloc(HI_BUF, GFP_KERNEL);
	if (!said->buf)
		return false;
	msg = (void *)said->buf;
	*msg = (struct hi_msg) { .magic = KIB_MAGIC, .number = nr };
	/* A long one and the short one behind it leave together, so the short one ends first. */
	said->sent = !hi_begin(p, &said->op, msg, len, 0, 0, nr % 2 ? 0 : KFI_MORE);
	return check(said->sent, "a peer that behaves can't send");
}

/*
 * Long messages and short ones of several connections arrive in the order of each, although a long
 * one ends late.
 */
static bool in_order(void)
{
	int i, before = atomic_read(&hi_seen.messages), disorder = atomic_read(&hi_seen.disorder);
	struct said *said = kcalloc(TALKERS * TALK, sizeof(*said), GFP_KERNEL);
	struct hi_peer p[TALKERS] = {};
	bool ok = said;

	for (i = 0; ok && i < TALKERS; i++)
		ok = join(i % HI_SIDES, &p[i]);
	for (i = 0; ok && i < TALKERS * TALK; i++)
		ok = talk(&p[i % TALKERS], &said[i], i / TALKERS);
	ok = ok && check(wait_until(&hi_seen.messages, before + i), "messages got lost") &&
	     check(atomic_read(&hi_seen.disorder) == disorder, "a connection lost its order");
	for (i = 0; i < TALKERS; i++)
		hi_end(&p[i]);
	for (i = 0; said && i < TALKERS * TALK; i++) {
		if (said[i].sent)
			hi_wait(&said[i].op);
		kfree(said[i].buf);
	}
	kfree(said);
	return ended() && ok;
}

/*
 * The event comes once when fewer receives are left, and at once if they are few already. Between
 * two of them a message takes a receive, however often the event is armed.
 */
static int arm_again(u32 limit)
{
	int i, ret = 0;

	for (i = 0; !ret && i < 1000; i++)
		ret = hi_ulp_limit(limit);
	return ret;
}

static bool low(void)
{
	int i, before = atomic_read(&hi_seen.messages), limits = atomic_read(&hi_seen.limits);
	struct hi_peer p;
	bool ok = join(HI_LOW, &p);

	hi_ulp_hold(true);
	ok = ok && check(!hi_ulp_limit(HI_RECVS - 3), "the limit can't be set");
	for (i = 0; ok && i < 3; i++)
		ok = say(&p, i, 100);
	ok = ok && check(wait_until(&hi_seen.messages, before + 3), "messages got lost") &&
	     check(atomic_read(&hi_seen.limits) == limits, "the event comes too early");
	for (; ok && i < 6; i++)
		ok = say(&p, i, 100);
	ok = ok && check(wait_until(&hi_seen.messages, before + 6), "messages got lost") &&
	     check(atomic_read(&hi_seen.limits) == limits + 1, "the event does not come once") &&
	     check(!arm_again(HI_RECVS - 3), "the limit can't be set again") &&
	     check(atomic_read(&hi_seen.limits) == limits + 2, "an event costs nothing") &&
	     say(&p, i++, 100) &&
	     check(wait_until(&hi_seen.messages, before + 7), "a message got lost") &&
	     check(atomic_read(&hi_seen.limits) == limits + 3, "an event that is due is missing") &&
	     say(&p, i++, 100) &&
	     check(wait_until(&hi_seen.messages, before + 8), "a message got lost") &&
	     check(!hi_ulp_limit(HI_RECVS - 3), "the limit can't be set again") &&
	     check(atomic_read(&hi_seen.limits) == limits + 4, "an event does not come at once");
	ok &= check(hi_ulp_limit(HI_RECVS + 1) == -EINVAL, "a limit beyond the queue is accepted");
	hi_ulp_hold(false);
	hi_end(&p);
	return ended() && ok;
}

/* ---- the runner ---- */

/* It leaves the CPU to other softirqs, and with them to tasks, however much is posted meanwhile. */
static bool chain(void)
{
	int longest = hi_ulp_chain();

	return check(longest > 0 && longest < 100, "a runner does not yield");
}

/* ---- many ---- */

/* One connection after the other; each side ends some. */
static bool churn(void)
{
	struct hi_peer p;
	unsigned int i;
	bool ok = true;
	size_t len;

	for (i = 0; ok && i < rounds; i++) {
		len = HI_BUF - prandom_u32_state(&rnd) % (HI_BUF - sizeof(struct hi_msg));
		ok = join(i % HI_SIDES, &p) && say(&p, 0, len);
		if (i / HI_SIDES % 2)
			ok &= check(hi_ulp_drop(), "an event of the end has not come");
		hi_end(&p);
		ok &= ended();
	}
	return ok;
}

static bool many(void)
{
	struct hi_peer *p = kvcalloc(crowd, sizeof(*p), GFP_KERNEL);
	int before = atomic_read(&hi_seen.messages);
	unsigned int i, n;
	bool ok = p;

	for (n = 0; ok && n < crowd; n++)
		ok = join(n % HI_SIDES, &p[n]);
	ok = ok && check(hi_qps() == crowd, "queue pairs got lost");
	for (i = 0; ok && i < crowd; i++)
		ok = say(&p[i], 0, i % 2 ? 100 : 30000);
	ok = ok && check(wait_until(&hi_seen.messages, before + crowd), "messages got lost");
	for (i = 0; i < n; i++)
		hi_end(&p[i]);
	kvfree(p);
	return ended() && ok;
}

/*
 * Traffic of connections that come and go, until the script removes the device. Outcomes do not
 * matter any more, but events of the end do.
 */
static bool until_gone(void)
{
	struct hi_peer p[TALKERS] = {};
	bool ok = true;
	int i, n;
	u32 nr;

	hi_patience = HZ;
	pr_info("hostile: storm\n");
	while (!atomic_read(&hi_seen.removals) && ok) {
		quiet = true;
		for (n = 0; n < TALKERS && !atomic_read(&hi_seen.removals); n++)
			if (!join(n % HI_SIDES, &p[n]))
				hi_end(&p[n]);
		/* A peer whose network device has gone waits for kfi_sockets to give up. */
		for (nr = 0; nr < n * TALK && !atomic_read(&hi_seen.removals); nr++)
			if (p[nr % n].ep)
				hi_send(&p[nr % n], buf, nr % 2 ? HI_BUF - nr : 8 + nr, 0, 0, 0);
		for (i = 0; i < n; i++)
			hi_end(&p[i]);
		quiet = false;
		ok = check(prandom_u32_state(&rnd) % 2 ? hi_ulp_drop() : hi_ulp_wait(),
			   "an event of the end has not come");
	}
	return ok;
}

static const struct {
	const char *name;
	bool (*run)(void);
	bool alone;	/* only by name, and no peer that behaves is served afterwards */
} cases[] = {
	{ "order", in_order },
	{ "limit", low },
	{ "chain", chain },
	{ "hellos", hellos },
	{ "lengths", lengths },
	{ "secrets", secrets },
	{ "call_flood", call_flood },
	{ "packets", packets },
	{ "stale", stale },
	{ "ready_flood", ready_flood },
	{ "ask_flood", ask_flood },
	{ "forged", forged },
	{ "nobody", nobody },
	{ "versions", versions },
	{ "ud", ud },
	{ "mads", mads },
	{ "dead", dead },
	{ "second_call", second_call },
	{ "gone_caller", gone_caller },
	{ "states", states },
	{ "phases", phases },
	{ "within", within },
	{ "silent", silent },
	{ "misuses", misuses },
	{ "churn", churn },
	{ "many", many },
	{ "storm", until_gone, true },
};

static int run_all(void)
{
	int i, failed = 0;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		if (*only && strcmp(only, cases[i].name))
			continue;
		if (!*only && cases[i].alone)
			continue;
		if (!cases[i].run() || (!cases[i].alone && !served())) {
			pr_err("hostile: FAILED %s\n", cases[i].name);
			failed++;
		} else if (cases[i].run != until_gone) {
			pr_info("hostile: ok %s\n", cases[i].name);
		}
	}
	return failed ? -EIO : 0;
}

/* The removal of a device waits for the end of all objects, so they do not wait for rmmod. */
static void finish(void)
{
	hi_ulp_close();
	hi_peers_close();
	kvfree(buf);
}

static int __init hostile_init(void)
{
	int ret = -ENOMEM;

	seed = seed ?: get_random_u32();
	pr_info("hostile: seed %u\n", seed);
	prandom_seed_state(&rnd, seed);
	buf = kvzalloc(2 * HI_BUF, GFP_KERNEL);
	if (buf)
		ret = hi_peers_open() ?: hi_ulp_open() ?: run_all();
	finish();
	return ret;
}

static void __exit hostile_exit(void)
{
}

module_init(hostile_init);
module_exit(hostile_exit);
MODULE_DESCRIPTION("Hostile peer of kfi_ib");
MODULE_LICENSE("GPL");
