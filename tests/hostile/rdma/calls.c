// SPDX-License-Identifier: GPL-2.0
/* calls.c - calls that are wrong, that come twice, or are many. */
#include <linux/slab.h>
#include "cases.h"

static bool refused(const void *data, size_t len)
{
	struct hi_peer p;
	int ret = hi_call(&p, data, len);

	hi_end(&p);
	if (check(ret && ret != -ETIMEDOUT, "a call is accepted, or has no answer"))
		return true;
	print_hex_dump(KERN_ERR, "hello: ", DUMP_PREFIX_NONE, 16, 1, data, len, false);
	return false;
}

/* A call with the right number, one member of which is wrong, or that is short, changes nothing. */
bool hellos(void)
{
	static const struct {
		u8 at, value;
	} wrong[] = {
		{ offsetof(struct kib_hello, magic), 0 },
		{ offsetof(struct kib_hello, magic) + 3, 0 },
		{ offsetof(struct kib_hello, version), KIB_VERSION + 1 },
		{ offsetof(struct kib_hello, version), KIB_VERSION - 1 },
		{ offsetof(struct kib_hello, version), 0 },
		{ offsetof(struct kib_hello, version), 255 },
		{ offsetof(struct kib_hello, version_min), KIB_VERSION + 1 },
		{ offsetof(struct kib_hello, version_min), 255 },
		{ offsetof(struct kib_hello, qpn), 1 },
		{ offsetof(struct kib_hello, qpn), 255 },
	};
	struct kib_hello hello;
	struct hi_peer p = {};
	struct hi_heard *h;
	struct hi_qp *q;
	bool ok = pair_up(HI_LOW, true, &q, &h) &&
		  check(hi_hear(&h->readys, 1), "the device does not say READY");
	size_t i;

	for (i = 0; ok && i < ARRAY_SIZE(wrong); i++) {
		hello = hi_hello(q->ib->qp_num, h->secret);
		((u8 *)&hello)[wrong[i].at] = wrong[i].value;
		ok = refused(&hello, sizeof(hello));
	}
	if (ok)
		hello = hi_hello(q->ib->qp_num, h->secret);
	for (i = 0; ok && i < sizeof(hello); i++)
		ok = refused(&hello, i);
	ok = ok && meet(q, h, HI_LOW, &p) && say(&p, 0, 100);
	hi_end(&p);
	return ended() && ok;
}

/* As much private data as the network has room for, and a byte more, which does not leave. */
bool lengths(void)
{
	struct {
		struct kib_hello	hello;
		u8			data[HI_DATA];
	} msg;
	static const size_t lens[] = { 24, 25, 79, 255, HI_DATA };
	struct hi_heard *h;
	struct hi_peer p;
	struct hi_qp *q;
	bool ok = true;
	size_t i;

	memset(msg.data, 0xff, sizeof(msg.data));
	for (i = 0; ok && i < ARRAY_SIZE(lens); i++) {
		ok = pair_up(HI_LOW, true, &q, &h) &&
		     check(hi_hear(&h->readys, 1), "the device does not say READY");
		if (!ok)
			break;
		msg.hello = hi_hello(q->ib->qp_num, h->secret);
		ok = check(!hi_call(&p, &msg, lens[i]), "data behind a call is refused");
		q->connected = ok;
		hi_end(&p);
	}
	ok &= check(hi_call(&p, &msg, HI_DATA + 1) == -EINVAL, "too much private data leaves");
	hi_end(&p);
	return ended() && ok;
}

bool no_entry(u32 qpn, u64 secret)
{
	struct kib_hello hello = hi_hello(qpn, secret);

	return refused(&hello, sizeof(hello));
}

/* The number of a READY opens one queue pair, in one of its RTR, once. */
bool secrets(void)
{
	struct hi_heard *h, *h2;
	struct hi_peer p = {};
	struct hi_qp *q, *q2;
	u32 qpn, gone;
	u64 former;
	bool ok;

	if (!pair_up(HI_LOW, true, &q, &h) || !pair_up(HI_LOW, true, &q2, &h2) ||
	    !check(hi_hear(&h->readys, 1) && hi_hear(&h2->readys, 1),
		   "the device does not say READY"))
		return ended() && false;
	qpn = q->ib->qp_num;
	former = h->secret;
	ok = check(former && h2->secret && former != h2->secret, "a number can be guessed") &&
	     no_entry(qpn, former ^ 1) && no_entry(qpn, former ^ 1ULL << 63) &&
	     no_entry(qpn, 0) && no_entry(qpn, ~0ULL) && no_entry(qpn, h2->secret) &&
	     no_entry(q2->ib->qp_num, former) && no_entry(0, former) && no_entry(1, former) &&
	     no_entry(0xffffff, former) && no_entry(U32_MAX, former);
	/* in RESET, in INIT, and in the next RTR */
	ok = ok && check(!hi_qp_reset(q), "RESET fails") && no_entry(qpn, former) &&
	     no_entry(qpn, 0) && check(!hi_qp_init(q), "INIT fails") && no_entry(qpn, former) &&
	     no_entry(qpn, 0);
	h = hi_number();
	ok = ok && check(!hi_qp_rtr(q, HI_LOW, h->number), "RTR fails") &&
	     check(hi_hear(&h->readys, 1) && h->secret != former, "a number comes again") &&
	     no_entry(qpn, former) && check(!hi_qp_rts(q), "RTS fails") && no_entry(qpn, former);
	/* a second call, while the first is connected, and after its end */
	ok = ok && meet(q, h, HI_LOW, &p) && no_entry(qpn, h->secret) && say(&p, 0, 100) &&
	     no_entry(qpn, h->secret);
	hi_end(&p);
	ok = ok && check(wait_for_completion_timeout(&q->last, HI_WAIT),
			 "a queue pair outlives its connection") && no_entry(qpn, h->secret);
	complete(&q->last);
	/* in ERR, and when it has gone */
	gone = q2->ib->qp_num;
	ok = ok && check(!hi_qp_err(q2), "ERR fails") && no_entry(gone, h2->secret);
	ok &= ended();
	return ok && no_entry(gone, h2->secret) && no_entry(qpn, h->secret);
}

#define CALLS	256	/* at a time */

/* Begin calls, whose outcomes do not matter yet. Return: how many */
static int call_all(struct hi_peer *p, int n, struct kib_hello hello)
{
	int i;

	hi_patience = 0;
	for (i = 0; i < n; i++)
		hi_call(&p[i], &hello, sizeof(hello));
	hi_patience = HI_WAIT;
	return n;
}

/* Return: how many of these calls were accepted; -1: one has no answer */
static int accepted(struct hi_peer *p, int n)
{
	int i, good = 0;

	for (i = 0; i < n; i++) {
		if (!wait_for_completion_timeout(&p[i].answered, HI_WAIT))
			return -1;
		good += !p[i].err;
	}
	return good;
}

/*
 * Many calls with a wrong number do not keep the right one away for long. Of many with the right
 * number one gets the queue pair, and the others are refused.
 */
bool call_flood(void)
{
	struct hi_peer *p = kvcalloc(CALLS, sizeof(*p), GFP_KERNEL);
	struct hi_heard *h;
	struct hi_qp *q;
	bool ok = p && pair_up(HI_LOW, true, &q, &h) &&
		  check(hi_hear(&h->readys, 1), "the device does not say READY");
	int i, n = 0, good = 0;

	if (ok) {
		n = call_all(p, CALLS, hi_hello(q->ib->qp_num, h->secret ^ 1));
		good = accepted(p, n);
		ok = check(!good, "a call with a wrong number is accepted, or has no answer");
	}
	for (i = 0; i < n; i++)
		hi_end(&p[i]);
	if (ok) {
		call_all(p, CALLS - 8, hi_hello(q->ib->qp_num, h->secret ^ 1));
		n = CALLS - 8 + call_all(p + CALLS - 8, 8, hi_hello(q->ib->qp_num, h->secret));
		good = accepted(p + CALLS - 8, 8);
		ok = check(good >= 0 && good <= 1 && !accepted(p, CALLS - 8),
			   "a number opens more than one connection");
		q->connected = good == 1;
	}
	for (i = CALLS - 8; ok && good == 1 && i < CALLS; i++)
		if (!p[i].err)
			ok = say(&p[i], 0, 100);
	for (i = 0; i < n; i++)
		hi_end(&p[i]);
	/* a network that refuses calls when many wait may have refused all */
	if (ok && !good) {
		ok = meet(q, h, HI_LOW, &p[0]) && say(&p[0], 0, 100);
		hi_end(&p[0]);
	}
	kvfree(p);
	return ended() && ok;
}
