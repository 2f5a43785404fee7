// SPDX-License-Identifier: GPL-2.0
/*
 * cases.c - what the peer does, and how the device must react. Loading the module runs the cases;
 * insmod returns the result. After each case a peer that behaves is served, and no receive of the
 * shared queue has got lost.
 */
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/prandom.h>
#include <linux/slab.h>
#include "hostile.h"

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

static struct rnd_state rnd;
static u8 *buf;

static bool check(bool truth, const char *what)
{
	if (!truth)
		pr_err("hostile: wrong: %s\n", what);
	return truth;
}

static bool wait_until(atomic_t *value, int least)
{
	unsigned long end = jiffies + HI_WAIT;

	while (atomic_read(value) < least && time_before(jiffies, end))
		usleep_range(1000, 2000);
	return atomic_read(value) >= least;
}

static bool call_good(struct hi_peer *p)
{
	struct kib_hello hello = hi_hello();

	return check(!hi_call(p, &hello, sizeof(hello)), "a peer that behaves is refused");
}

/* Send message number @nr of a connection. */
static bool say(struct hi_peer *p, u32 nr, size_t len)
{
	struct hi_msg *msg = (void *)buf;

	*msg = (struct hi_msg) { .magic = KIB_MAGIC, .number = nr };
	return check(!hi_send(p, buf, len, 0, 0, 0), "a peer that behaves can't send");
}

/* Each receive gets a message, so all of them were posted, and again after that. */
static bool served(void)
{
	int i, before = atomic_read(&hi_seen.messages);
	struct hi_peer p;
	bool ok = call_good(&p);

	hi_ulp_hold(true);
	for (i = 0; ok && i < HI_RECVS; i++)
		ok = say(&p, i, sizeof(struct hi_msg));
	ok = ok && check(wait_until(&hi_seen.messages, before + HI_RECVS), "a receive got lost");
	hi_ulp_hold(false);
	ok = ok && say(&p, i, sizeof(struct hi_msg)) &&
	     check(wait_until(&hi_seen.messages, before + HI_RECVS + 1), "a message got lost");
	hi_end(&p);
	return check(hi_ulp_wait(), "an event of the end has not come") && ok;
}

/* ---- hellos ---- */

static bool refused(const void *data, size_t len)
{
	int calls = atomic_read(&hi_seen.calls);
	struct hi_peer p;
	int ret = hi_call(&p, data, len);

	hi_end(&p);
	if (check(ret && ret != -ETIMEDOUT, "a hello is accepted, or has no answer") &&
	    check(atomic_read(&hi_seen.calls) == calls, "the ULP was told of a bad hello"))
		return true;
	print_hex_dump(KERN_ERR, "hello: ", DUMP_PREFIX_NONE, 16, 1, data, len, false);
	return false;
}

/* One member is wrong. */
static bool hellos(void)
{
	static const struct {
		u8 at, value;
	} wrong[] = {
		{ offsetof(struct kib_hello, magic), 0 },
		{ offsetof(struct kib_hello, version), KIB_VERSION + 1 },
		{ offsetof(struct kib_hello, version), 0 },
		{ offsetof(struct kib_hello, family), 0 },
		{ offsetof(struct kib_hello, family), 5 },
		{ offsetof(struct kib_hello, family), 6 },
		{ offsetof(struct kib_hello, family), 255 },
		{ offsetof(struct kib_hello, src), 11 },
		{ offsetof(struct kib_hello, dst), 11 },
		{ offsetof(struct kib_hello, dst_port), 0 },
	};
	struct kib_hello hello;
	bool ok = true;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		hello = hi_hello();
		((u8 *)&hello)[wrong[i].at] = wrong[i].value;
		ok &= refused(&hello, sizeof(hello));
	}
	hello = hi_hello();
	memset(hello.src, 0, sizeof(hello.src));
	ok &= refused(&hello, sizeof(hello));
	hello = hi_hello();
	for (i = 0; i < sizeof(hello); i += i ? 7 : 1)
		ok &= refused(&hello, i);
	return ok;
}

/* A call is made with these members, from a reserved port or another one. */
static bool calls(const struct kib_hello *hello, size_t len, bool reserved, bool good)
{
	int accepted = atomic_read(&hi_seen.calls) + good;
	struct hi_peer p;
	int ret;

	hi_reserved = reserved;
	ret = hi_call(&p, hello, len);
	hi_reserved = false;
	hi_end(&p);
	return check(hi_ulp_wait(), "an event of the end has not come") &&
	       check(good ? !ret : ret && ret != -ETIMEDOUT, "a port is believed, or is not") &&
	       check(atomic_read(&hi_seen.calls) == accepted, "the ULP was told, or was not");
}

/* Any process can call from a port of TCP above 1023, so that proves no port of RDMA below. */
static bool ports(void)
{
	static const u16 claimed[] = { 0, 1, 512, 1023, 1024, 65535 };
	struct kib_hello hello = hi_hello();
	bool ok = true;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(claimed); i++) {
		hello.src_port = cpu_to_be16(claimed[i]);
		ok &= calls(&hello, sizeof(hello), false, hi_bridge() || claimed[i] >= 1024);
		ok &= calls(&hello, sizeof(hello), true, true);
	}
	return ok;
}

/* As much private data as the network has room for, and a byte more, which does not leave. */
static bool lengths(void)
{
	struct {
		struct kib_hello	hello;
		u8			data[HI_DATA];
	} msg = { .hello = hi_hello() };
	static const size_t lens[] = { 48, 49, 79, 255, HI_DATA };
	struct hi_peer p;
	bool ok = true;
	size_t i;

	memset(msg.data, 0xff, sizeof(msg.data));
	for (i = 0; i < ARRAY_SIZE(lens); i++)
		ok &= calls(&msg.hello, lens[i], false, true);
	ok &= check(hi_call(&p, &msg, HI_DATA + 1) == -EINVAL, "too much private data leaves");
	hi_end(&p);
	return ok;
}

/* With the parameter reserved_ports the ULP serves no caller that may be a process. */
static bool strict(void)
{
	struct kib_hello hello = hi_hello();
	bool ok = calls(&hello, sizeof(hello), true, true);
	struct hi_peer p;

	/* the ULP is told, and its connection ends at once */
	ok &= check(hi_call(&p, &hello, sizeof(hello)) == (hi_bridge() ? 0 : -ECONNREFUSED),
		    "a caller from any port is served, or one over a bridge is not");
	hi_end(&p);
	return check(hi_ulp_wait(), "an event of the end has not come") && ok;
}

static bool foreign(void)
{
	return check(hi_ulp_foreign(false) == -EINVAL, "a caller of the namespace is refused") &
	       check(hi_ulp_foreign(true) == -EHOSTUNREACH,
		     "a caller of another namespace is connected");
}

#define KEPT	100	/* calls without an answer that the device keeps */
#define FLOOD	(4 * KEPT)

/*
 * Calls that the ULP does not answer take no place from those that it does, nor from one of another
 * origin that it has not answered yet. All callers of a bridge are of one origin.
 */
static bool flood(void)
{
	struct hi_peer *p = kvcalloc(FLOOD, sizeof(*p), GFP_KERNEL);
	struct kib_hello hello = hi_hello();
	bool ok = p && check(!hi_ulp_mute(), "a second port can't be listened at");
	unsigned int n = 0, ended = 0, i;
	int calls = atomic_read(&hi_seen.unanswered);

	hello.dst_port = cpu_to_be16(HI_PORT + 1);
	hi_patience = 0;
	for (; ok && n < FLOOD; n++) {
		hi_reserved = !n;
		hi_call(&p[n], &hello, sizeof(hello));
		ok = n || check(wait_until(&hi_seen.unanswered, calls + 1), "a call was not heard");
	}
	hi_reserved = false;
	hi_patience = HI_WAIT;
	ok = ok && check(wait_until(&hi_seen.unanswered, calls + KEPT + 1),
			 "too few calls were heard") &&
	     served() && check(hi_bridge() || p[0].err != -ECONNREFUSED,
			       "a call makes room for those of another origin");
	hi_ulp_unmute();
	for (i = 0; i < n; i++) {
		ended += wait_for_completion_timeout(&p[i].answered, HI_WAIT) && p[i].err;
		hi_end(&p[i]);
	}
	kvfree(p);
	return check(ended == n, "a call is accepted, or outlives its listener") && ok;
}

/*
 * A listener ends, others of the device do not. iw_cm drops calls that the ULP was not told of, so
 * the device refuses all calls that have no answer.
 */
static bool unanswered(void)
{
	struct kib_hello hello = hi_hello();
	struct hi_peer p = {};
	bool ok = check(!hi_ulp_mute(), "a second port can't be listened at");

	hello.dst_port = cpu_to_be16(HI_PORT + 1);
	hi_patience = HZ / 2;
	ok = ok && check(hi_call(&p, &hello, sizeof(hello)) == -ETIMEDOUT, "a call has an answer");
	hi_patience = HI_WAIT;
	hi_ulp_unmute();
	ok = ok && check(wait_for_completion_timeout(&p.answered, HI_WAIT) &&
			 p.err != -ETIMEDOUT, "a call outlives its listener");
	hi_end(&p);
	return ok;
}

/*
 * A caller has gone before the ULP accepts its call. The accept succeeds all the same, and the
 * connection ends: ULPs rely on it.
 */
static bool gone_caller(void)
{
	int i, calls = atomic_read(&hi_seen.calls);
	struct kib_hello hello = hi_hello();
	struct hi_peer p = {};
	bool ok;

	hi_ulp_pause();
	hi_patience = HZ / 10;
	ok = check(hi_call(&p, &hello, sizeof(hello)) == -ETIMEDOUT, "a call has an answer") &&
	     check(wait_until(&hi_seen.calls, calls + 1), "a call was not heard");
	hi_patience = HI_WAIT;
	hi_end(&p);
	msleep(200);	/* until the device has noticed */
	hi_ulp_resume();
	for (i = 0; ok && !hi_ulp_conns() && i < 100; i++)
		msleep(20);
	ok = ok && check(hi_ulp_conns() == 1, "an accept has failed");
	return check(hi_ulp_wait(), "an event of the end has not come") && ok;
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
		ok = call_good(&p);
		if (!ok)
			break;
		ret = misuse(&p, how);
		if (how == 3 || how == 4 || how == 6)
			ok = check(ret, "memory is open that was not registered");
		hi_end(&p);
		ok &= check(hi_ulp_wait(), "an event of the end has not come");
		ok &= served();
	}
	return ok;
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
		ok = call_good(&p[i]);
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
	return check(hi_ulp_wait(), "an event of the end has not come") && ok;
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
	bool ok = call_good(&p);

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
	return check(hi_ulp_wait(), "an event of the end has not come") && ok;
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
		ok = call_good(&p) && say(&p, 0, len);
		if (i % 2)
			ok &= check(hi_ulp_drop(), "an event of the end has not come");
		hi_end(&p);
		ok &= check(hi_ulp_wait(), "an event of the end has not come");
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
		ok = call_good(&p[n]);
	ok = ok && check(hi_ulp_conns() == crowd, "connections got lost");
	for (i = 0; ok && i < crowd; i++)
		ok = say(&p[i], 0, i % 2 ? 100 : 30000);
	ok = ok && check(wait_until(&hi_seen.messages, before + crowd), "messages got lost");
	for (i = 0; i < n; i++)
		hi_end(&p[i]);
	kvfree(p);
	return check(hi_ulp_wait(), "an event of the end has not come") && ok;
}

/*
 * Traffic of connections that come and go, until the script removes the device. Outcomes do not
 * matter any more, but events of the end do.
 */
static bool until_gone(void)
{
	struct kib_hello hello = hi_hello();
	struct hi_peer p[TALKERS] = {};
	bool ok = true;
	int i, n;
	u32 nr;

	/* rdma_cm drops calls while the device goes; they end with the listener, which is ours. */
	hi_patience = HZ;
	pr_info("hostile: storm\n");
	while (!atomic_read(&hi_seen.removals) && ok) {
		for (n = 0; n < TALKERS && !atomic_read(&hi_seen.removals); n++)
			hi_call(&p[n], &hello, sizeof(hello));
		/* A peer whose network device has gone waits for kfi_sockets to give up. */
		for (nr = 0; nr < n * TALK && !atomic_read(&hi_seen.removals); nr++)
			hi_send(&p[nr % n], buf, nr % 2 ? HI_BUF - nr : 8 + nr, 0, 0, 0);
		for (i = 0; i < n; i++)
			hi_end(&p[i]);
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
	{ "ports", ports },
	{ "lengths", lengths },
	{ "foreign", foreign },
	{ "flood", flood },
	{ "unanswered", unanswered },
	{ "gone_caller", gone_caller },
	{ "misuses", misuses },
	{ "churn", churn },
	{ "many", many },
	{ "strict", strict, true },
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
