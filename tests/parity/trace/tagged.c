// SPDX-License-Identifier: GPL-2.0
/*
 * Cases: tagged messages.
 */
#include "trace.h"

#define COUNT		8
#define LONGEST		4096

struct tags {
	uint64_t	tag[COUNT];
	int		order[COUNT];
};

/* Draw different tags with random bits, and the order in which they are used. */
static void draw_tags(struct run *r, struct tags *t)
{
	int i;

	for (i = 0; i < COUNT; i++)
		t->tag[i] = (rnd(r) & ~0xfULL) | i;
	shuffle(r, t->order, COUNT);
}

static void recv_tag(struct run *r, int msg, uint64_t tag, uint64_t ignore)
{
	struct op *op = op_new(r, LONGEST);
	long ret;

	op->wants = msg;
	ret = kfi_trecv(r->b.ep, op->buf, op->len, NULL, KFI_ADDR_UNSPEC, tag, ignore, op);
	if (ret)
		say_ret(r, "trecv", ret);
}

static void send_tag(struct run *r, int msg, uint64_t tag, size_t len)
{
	struct op *op = op_message(r, msg, len);
	long ret = POST(r, kfi_tsend(r->a.ep, op->buf, len, NULL, r->a.peer, tag, op));

	if (ret)
		say_ret(r, "tsend", ret);
}

static void expected(struct run *r)
{
	struct tags t;
	int i;

	draw_tags(r, &t);
	for (i = 0; i < COUNT; i++)
		recv_tag(r, i, t.tag[i], 0);
	for (i = 0; i < COUNT; i++)
		send_tag(r, t.order[i], t.tag[t.order[i]], rnd_below(r, LONGEST));
	collect(r, COUNT, 0, 0, COUNT);
}

static void unexpected(struct run *r)
{
	struct tags t;
	int i;

	draw_tags(r, &t);
	for (i = 0; i < COUNT; i++)
		send_tag(r, i, t.tag[i], rnd_below(r, LONGEST));
	for (i = 0; i < 20; i++)
		port_nap();
	for (i = 0; i < COUNT; i++)
		recv_tag(r, t.order[i], t.tag[t.order[i]], 0);
	collect(r, COUNT, 0, 0, COUNT);
}

/* Messages whose tags differ only in ignored bits match in the order of sending. */
static void ignored(struct run *r)
{
	uint64_t base = rnd(r) & ~0xffULL, other = ~base;
	int i;

	for (i = 0; i < 4; i++)
		recv_tag(r, i, base, 0xff);
	recv_tag(r, 4, other, 0);
	for (i = 0; i < 5; i++)
		send_tag(r, i, i < 4 ? base | rnd_below(r, 256) : other, 1 + rnd_below(r, LONGEST));
	collect(r, 5, 0, 0, 5);
}

/* Untagged messages do not match. */
static void apart(struct run *r)
{
	struct op *rx = op_new(r, LONGEST), *tx = op_message(r, 1, 50);

	rx->wants = 1;
	say_ret(r, "recv", kfi_recv(r->b.ep, rx->buf, rx->len, NULL, KFI_ADDR_UNSPEC, rx));
	recv_tag(r, 0, 0, 0);
	send_tag(r, 0, 0, 1 + rnd_below(r, LONGEST));
	say_ret(r, "send", POST(r, kfi_send(r->a.ep, tx->buf, tx->len, NULL, r->a.peer, tx)));
	collect(r, 2, 0, 0, 2);
}

static void data_and_inject(struct run *r)
{
	uint64_t tag = rnd(r), data = rnd(r);
	struct op *op;
	int i;

	for (i = 0; i < 3; i++)
		recv_tag(r, i, tag + i, 0);
	op = op_message(r, 0, rnd_below(r, LONGEST));
	say_ret(r, "tsenddata",
		POST(r, kfi_tsenddata(r->a.ep, op->buf, op->len, NULL, data, r->a.peer, tag, op)));
	op = op_message(r, 1, rnd_below(r, 64));
	say_ret(r, "tinject", POST(r, kfi_tinject(r->a.ep, op->buf, op->len, r->a.peer, tag + 1)));
	memset(op->buf, 0xdd, op->len);
	op = op_message(r, 2, rnd_below(r, 64));
	say_ret(r, "tinjectdata",
		POST(r, kfi_tinjectdata(r->a.ep, op->buf, op->len, data, r->a.peer, tag + 2)));
	memset(op->buf, 0xdd, op->len);
	collect(r, 1, 0, 0, 3);
}

static void truncated(struct run *r)
{
	struct op *op = op_new(r, 64);
	uint64_t tag = rnd(r);

	say_ret(r, "trecv",
		kfi_trecv(r->b.ep, op->buf, op->len, NULL, KFI_ADDR_UNSPEC, tag, 0, op));
	recv_tag(r, 1, tag + 1, 0);
	send_tag(r, 0, tag, 65 + rnd_below(r, LONGEST));
	send_tag(r, 1, tag + 1, 1 + rnd_below(r, LONGEST));
	collect(r, 2, 0, 0, 2);
	say(r, "beyond=%s", op->buf[64] ? "written" : "untouched");
}

static void canceled(struct run *r)
{
	uint64_t tag = rnd(r);

	recv_tag(r, 0, tag, 0);
	recv_tag(r, 0, tag, 0);
	say_ret(r, "cancel", kfi_cancel(&r->b.ep->fid, r->ops[0]));
	collect(r, 0, 0, 0, 1);
	send_tag(r, 0, tag, 1 + rnd_below(r, LONGEST));
	collect(r, 1, 0, 0, 1);
	say_ret(r, "cancel done", kfi_cancel(&r->b.ep->fid, r->ops[1]));
	collect(r, 0, 0, 0, 0);
}

/* Peek at arrived messages; op is the context and, when claiming, the buffer. */
static void peek(struct run *r, struct op *op, uint64_t tag, uint64_t flags)
{
	struct kvec iov = { op->buf, op->len };
	long ret = kfi_trecvmsg(r->b.ep, &(struct kfi_msg_tagged) {
		VECTOR_IS_KVEC .msg_iov = &iov, .iov_count = flags == KFI_CLAIM ? 1 : 0,
		.addr = KFI_ADDR_UNSPEC, .tag = tag, .context = op,
	}, flags | KFI_COMPLETION);

	say_ret(r, "peek", ret);
	if (!ret)
		collect(r, 0, 0, 0, 1);
}

static void peek_miss(struct run *r)
{
	peek(r, op_new(r, LONGEST), rnd(r), KFI_PEEK);
	peek(r, op_new(r, LONGEST), rnd(r), KFI_PEEK | KFI_CLAIM);
	peek(r, op_new(r, LONGEST), rnd(r), KFI_PEEK | KFI_DISCARD);
}

/* Three messages wait: one is peeked at and received, one claimed, one discarded. */
static void peek_hit(struct run *r)
{
	uint64_t tag = rnd(r);
	struct op *op;
	int i;

	/* When the fourth was received, the others have arrived. */
	recv_tag(r, 3, tag + 3, 0);
	/* Injected, because a send that waits may complete before or after it is received. */
	for (i = 0; i < 4; i++) {
		op = op_message(r, i, 1 + rnd_below(r, 64));
		say_ret(r, "tinject",
			POST(r, kfi_tinject(r->a.ep, op->buf, op->len, r->a.peer, tag + i)));
	}
	collect(r, 0, 0, 0, 1);
	peek(r, op_new(r, LONGEST), tag, KFI_PEEK);
	recv_tag(r, 0, tag, 0);
	collect(r, 0, 0, 0, 1);
	op = op_new(r, LONGEST);
	peek(r, op, tag + 1, KFI_PEEK | KFI_CLAIM);
	op->wants = 1;
	peek(r, op, tag + 1, KFI_CLAIM);
	peek(r, op_new(r, LONGEST), tag + 2, KFI_PEEK | KFI_DISCARD);
	peek(r, op_new(r, LONGEST), tag + 2, KFI_PEEK);
}

const struct trace_case tagged_cases[] = {
	{ "tagged.expected", SETUP_PAIR, 0, 0, expected },
	{ "tagged.unexpected", SETUP_PAIR, 0, 0, unexpected },
	{ "tagged.ignored", SETUP_PAIR, 0, 0, ignored },
	{ "tagged.apart", SETUP_PAIR, 0, 0, apart },
	{ "tagged.data_and_inject", SETUP_PAIR, 0, 0, data_and_inject },
	{ "tagged.truncated", SETUP_PAIR, 0, 0, truncated },
	{ "tagged.cancel", SETUP_PAIR, 0, 0, canceled },
	{ "tagged.peek_miss", SETUP_PAIR, 0, 0, peek_miss },
	{ "tagged.peek_hit", SETUP_PAIR, 0, 0, peek_hit },
	{ }
};
