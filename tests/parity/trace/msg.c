// SPDX-License-Identifier: GPL-2.0
/*
 * Cases: messages.
 */
#include "trace.h"

#define LONGEST		8192

/*
 * Post receives at @n for messages first, first + 1, ...; each names the message that it expects.
 */
static void recv_messages(struct run *r, struct node *n, int first, int count)
{
	struct op *op;
	long ret;

	while (count--) {
		op = op_new(r, LONGEST);
		op->wants = first++;
		ret = kfi_recv(n->ep, op->buf, op->len, NULL, KFI_ADDR_UNSPEC, op);
		if (ret)
			say_ret(r, "recv", ret);
	}
}

static void send_message(struct run *r, struct node *n, int msg, size_t len)
{
	struct op *op = op_message(r, msg, len);
	long ret = POST(r, kfi_send(n->ep, op->buf, len, NULL, n->peer, op));

	if (ret)
		say_ret(r, "send", ret);
}

static void exchange(struct run *r)
{
	int i, count = 4 + rnd_below(r, 6);

	r->by_order = true;
	recv_messages(r, &r->b, 0, count);
	recv_messages(r, &r->a, 20, 3);
	for (i = 0; i < count; i++)
		send_message(r, &r->a, i, rnd_below(r, LONGEST + 1));
	for (i = 20; i < 23; i++)
		send_message(r, &r->b, i, rnd_below(r, LONGEST + 1));
	collect(r, count, 3, 3, count);
}

static void empty(struct run *r)
{
	recv_messages(r, &r->b, 0, 2);
	send_message(r, &r->a, 0, 0);
	send_message(r, &r->a, 1, 1);
	collect(r, 2, 0, 0, 2);
}

/* Messages arrive before their receives. */
static void unexpected(struct run *r)
{
	int i, count = 3 + rnd_below(r, 6);

	for (i = 0; i < count; i++)
		send_message(r, &r->a, i, rnd_below(r, LONGEST + 1));
	for (i = 0; i < 20; i++)
		port_nap();
	recv_messages(r, &r->b, 0, count);
	collect(r, count, 0, 0, count);
}

/* A vector of three is sent, and a vector of two received. */
static void vectors(struct run *r)
{
	size_t len = 3 + rnd_below(r, LONGEST - 3), one = rnd_below(r, len / 2),
	       two = rnd_below(r, len / 2);
	struct op *op = op_message(r, 0, len), *rx = op_new(r, LONGEST);
	struct kvec tv[3] = {
		{ op->buf, one }, { op->buf + one, two }, { op->buf + one + two, len - one - two },
	};
	size_t cut = 1 + rnd_below(r, LONGEST - 1);
	struct kvec rv[2] = { { rx->buf, cut }, { rx->buf + cut, LONGEST - cut } };

	rx->wants = 0;
	say_ret(r, "recvv", kfi_recvv(r->b.ep, rv, NULL, 2, KFI_ADDR_UNSPEC, rx));
	say_ret(r, "sendv", POST(r, kfi_sendv(r->a.ep, tv, NULL, 3, r->a.peer, op)));
	collect(r, 1, 0, 0, 1);
}

/* Messages with and without remote CQ data in turns. */
static void cq_data(struct run *r)
{
	int i, count = 6;
	uint64_t data;
	struct op *op;

	r->by_order = true;
	recv_messages(r, &r->b, 0, count);
	for (i = 0; i < count; i++) {
		data = rnd(r);
		if (i & 1) {
			send_message(r, &r->a, i, rnd_below(r, LONGEST));
			continue;
		}
		op = op_message(r, i, rnd_below(r, LONGEST));
		say_ret(r, "senddata",
			POST(r,
			     kfi_senddata(r->a.ep, op->buf, op->len, NULL, data, r->a.peer, op)));
	}
	collect(r, count, 0, 0, count);
}

static void source(struct run *r)
{
	r->sources = true;
	recv_messages(r, &r->b, 0, 2);
	recv_messages(r, &r->a, 2, 1);
	send_message(r, &r->a, 0, rnd_below(r, LONGEST));
	send_message(r, &r->a, 1, rnd_below(r, LONGEST));
	send_message(r, &r->b, 2, rnd_below(r, LONGEST));
	collect(r, 2, 1, 1, 2);
}

/* Only operations that request a completion have one. */
static void selective(struct run *r)
{
	uint64_t asked[4] = { 0, KFI_COMPLETION, 0, KFI_COMPLETION };
	struct kvec iov;
	struct op *op;
	int i;

	recv_messages(r, &r->b, 0, 5);
	for (i = 0; i < 4; i++) {
		op = op_message(r, i, 1 + rnd_below(r, LONGEST));
		iov.iov_base = op->buf;
		iov.iov_len = op->len;
		say_ret(r, "sendmsg",
			POST(r, kfi_sendmsg(r->a.ep,
					    &(struct kfi_msg) {
						    VECTOR_IS_KVEC.msg_iov = &iov,
						    .iov_count = 1,
						    .addr = r->a.peer,
						    .context = op,
					    },
					    asked[i])));
	}
	send_message(r, &r->a, 4, 1 + rnd_below(r, LONGEST));
	collect(r, 2, 0, 0, 5);
}

/* The sender may reuse its buffer at once. */
static void inject(struct run *r)
{
	size_t most = r->a.info->tx_attr->inject_size;
	int i, count = 6;
	struct kvec iov;
	uint64_t data;
	struct op *op;
	long ret;

	if (most > 64)
		most = 64;
	r->by_order = true;
	recv_messages(r, &r->b, 0, count);
	for (i = 0; i < count; i++) {
		data = rnd(r);
		op = op_message(r, i, rnd_below(r, most + 1));
		iov.iov_base = op->buf;
		iov.iov_len = op->len;
		if (i % 3 == 0)
			ret = POST(r, kfi_inject(r->a.ep, op->buf, op->len, r->a.peer));
		else if (i % 3 == 1)
			ret = POST(r, kfi_injectdata(r->a.ep, op->buf, op->len, data, r->a.peer));
		else
			ret = POST(r, kfi_sendmsg(r->a.ep,
						  &(struct kfi_msg) {
							  VECTOR_IS_KVEC.msg_iov = &iov,
							  .iov_count = 1,
							  .addr = r->a.peer,
							  .context = op,
						  },
						  KFI_INJECT | KFI_COMPLETION));
		memset(op->buf, 0xdd, op->len);
		say_ret(r, "inject", ret);
	}
	collect(r, count / 3, 0, 0, count);
}

/* A message that is longer than its buffer is reported; the next one arrives unchanged. */
static void truncated(struct run *r)
{
	struct op *op = op_new(r, 64);

	say_ret(r, "recv", kfi_recv(r->b.ep, op->buf, op->len, NULL, KFI_ADDR_UNSPEC, op));
	recv_messages(r, &r->b, 1, 1);
	send_message(r, &r->a, 0, 65 + rnd_below(r, LONGEST));
	send_message(r, &r->a, 1, 1 + rnd_below(r, LONGEST));
	collect(r, 2, 0, 0, 2);
	say(r, "beyond=%s", op->buf[64] ? "written" : "untouched");
}

static void canceled(struct run *r)
{
	struct op *stray = op_new(r, 8);
	int which, first = r->nr_ops;

	recv_messages(r, &r->b, 0, 3);
	which = rnd_below(r, 3);
	say_ret(r, "cancel", kfi_cancel(&r->b.ep->fid, r->ops[first + which]));
	collect(r, 0, 0, 0, 1);
	say_ret(r, "cancel twice", kfi_cancel(&r->b.ep->fid, r->ops[first + which]));
	say_ret(r, "cancel unknown", kfi_cancel(&r->b.ep->fid, stray));
	/* The other two messages are unaffected. */
	r->ops[first + (which + 1) % 3]->wants = which == 2 ? 0 : which == 1 ? 1 : 0;
	r->ops[first + (which + 2) % 3]->wants = which == 2 ? 1 : which == 1 ? 0 : 1;
	send_message(r, &r->a, 0, 100);
	send_message(r, &r->a, 1, 200);
	collect(r, 2, 0, 0, 2);
}

/* One buffer takes many messages; the last that fits releases it. */
static void multi_recv(struct run *r)
{
	size_t least = 128, len = 1000, used = 0, part;
	struct op *op = op_new(r, len);
	struct kvec iov = { op->buf, len };
	int i;

	say_ret(r, "setopt",
		kfi_setopt(&r->b.ep->fid, KFI_OPT_ENDPOINT, KFI_OPT_MIN_MULTI_RECV, &least,
			   sizeof(least)));
	say_ret(r, "recvmsg",
		kfi_recvmsg(r->b.ep,
			    &(struct kfi_msg) {
				    VECTOR_IS_KVEC.msg_iov = &iov,
				    .iov_count = 1,
				    .addr = KFI_ADDR_UNSPEC,
				    .context = op,
			    },
			    KFI_MULTI_RECV));
	for (i = 0; len - used >= least; i++) {
		part = 100 + rnd_below(r, 28);
		send_message(r, &r->a, i, part);
		used += part;
	}
	collect(r, i, 0, 0, i);
}

static void oversize_inject(struct run *r)
{
	size_t len = r->a.info->tx_attr->inject_size + 1;
	struct op *op;

	if (len > 1 << 20) {
		say(r, "no limit");
		return;
	}
	op = op_new(r, len);
	recv_messages(r, &r->b, 0, 1);
	say_ret(r, "inject", POST(r, kfi_inject(r->a.ep, op->buf, len, r->a.peer)));
	send_message(r, &r->a, 0, 10);
	collect(r, 1, 0, 0, 1);
}

static void oversize_send(struct run *r)
{
	size_t len = r->a.info->ep_attr->max_msg_size;
	struct op *op = op_new(r, 8);

	if (len == SIZE_MAX) {
		say(r, "no limit");
		return;
	}
	say_ret(r, "send", POST(r, kfi_send(r->a.ep, op->buf, len + 1, NULL, r->a.peer, op)));
	collect(r, 0, 0, 0, 0);
}

const struct trace_case msg_cases[] = {
	{ "msg.exchange", SETUP_PAIR, 0, 0, exchange },
	{ "msg.empty", SETUP_PAIR, 0, 0, empty },
	{ "msg.unexpected", SETUP_PAIR, 0, 0, unexpected },
	{ "msg.vectors", SETUP_PAIR, 0, 0, vectors },
	{ "msg.cq_data", SETUP_PAIR, 0, 0, cq_data },
	{ "msg.source", SETUP_PAIR, KFI_SOURCE, 0, source },
	{ "msg.selective", SETUP_PAIR, 0, KFI_SELECTIVE_COMPLETION, selective },
	{ "msg.inject", SETUP_PAIR, 0, 0, inject },
	{ "msg.truncated", SETUP_PAIR, 0, 0, truncated },
	{ "msg.cancel", SETUP_PAIR, 0, 0, canceled },
	{ "msg.multi_recv", SETUP_PAIR, KFI_MULTI_RECV, 0, multi_recv },
	{ "msg.oversize_inject", SETUP_PAIR, 0, 0, oversize_inject },
	{ "msg.oversize_send", SETUP_PAIR, 0, 0, oversize_send },
	{ "msg.connected", SETUP_CONNECTED, 0, 0, exchange },
	{ "msg.connected_unexpected", SETUP_CONNECTED, 0, 0, unexpected },
	{ "msg.connected_cq_data", SETUP_CONNECTED, 0, 0, cq_data },
	{ }
};
