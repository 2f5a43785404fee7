// SPDX-License-Identifier: GPL-2.0
/*
 * Cases: address vectors, event queues, completion queues, counters.
 */
#include "trace.h"

static void say_lookup(struct run *r, const char *what, kfi_addr_t addr)
{
	char buf[64];
	size_t len = sizeof(buf);
	int ret = kfi_av_lookup(r->a.av, addr, buf, &len);

	say_ret(r, what, ret);
	if (!ret)
		say(r, "%s same=%d", what, len == r->b.addrlen && !memcmp(buf, r->b.addr, len));
}

static void av_insert(struct run *r)
{
	struct node *a = &r->a, *b = &r->b;
	kfi_addr_t addrs[2] = { 77, 77 };
	char two[128], buf[64];
	size_t len = 2;

	memcpy(two, b->addr, b->addrlen);
	memcpy(two + b->addrlen, a->addr, a->addrlen);
	say_ret(r, "insert 2", kfi_av_insert(a->av, two, 2, addrs, 0, NULL));
	say_lookup(r, "lookup", addrs[0]);
	say_ret(r, "lookup short", kfi_av_lookup(a->av, addrs[0], buf, &len));
	say(r, "lookup short len=%s", len == b->addrlen ? "full" : "other");
	say_lookup(r, "lookup never inserted", 4000);
	say_ret(r, "remove", kfi_av_remove(a->av, addrs, 1, 0));
	say_lookup(r, "lookup removed", addrs[0]);
}

static void av_remove_twice(struct run *r)
{
	kfi_addr_t addr = r->a.peer, never = 4000;

	say_ret(r, "remove", kfi_av_remove(r->a.av, &addr, 1, 0));
	say_lookup(r, "lookup removed", addr);
	say_ret(r, "remove again", kfi_av_remove(r->a.av, &addr, 1, 0));
	say_ret(r, "remove never inserted", kfi_av_remove(r->a.av, &never, 1, 0));
}

static void av_bad_address(struct run *r)
{
	char two[128] = { 0 };
	kfi_addr_t addrs[2] = { 77, 77 };

	memcpy(two + r->b.addrlen, r->b.addr, r->b.addrlen);
	say_ret(r, "insert bad", kfi_av_insert(r->a.av, two, 1, addrs, 0, NULL));
	say(r, "bad addr=%s", addrs[0] == KFI_ADDR_NOTAVAIL ? "notavail" : "given");
	say_ret(r, "insert bad and good", kfi_av_insert(r->a.av, two, 2, addrs, 0, NULL));
	say(r, "good addr=%s", addrs[1] == KFI_ADDR_NOTAVAIL ? "notavail" : "given");
}

/* A peer that was removed is inserted again, and sends. */
static void av_again(struct run *r)
{
	struct op *rx = op_new(r, 64), *tx = op_message(r, 0, 1 + rnd_below(r, 64));

	say_ret(r, "remove", kfi_av_remove(r->a.av, &r->a.peer, 1, 0));
	say_ret(r, "insert", kfi_av_insert(r->a.av, r->b.addr, 1, &r->a.peer, 0, NULL));
	rx->wants = 0;
	say_ret(r, "recv", kfi_recv(r->b.ep, rx->buf, rx->len, NULL, KFI_ADDR_UNSPEC, rx));
	say_ret(r, "send", POST(r, kfi_send(r->a.ep, tx->buf, tx->len, NULL, r->a.peer, tx)));
	collect(r, 1, 0, 0, 1);
}

static void eq_events(struct run *r)
{
	struct kfi_eq_entry in = { .fid = &r->a.domain->fid }, out;
	struct kfid_eq *eq = r->a.eq;
	uint64_t data[3];
	uint32_t event;
	int i;

	say_ret(r, "read empty", kfi_eq_read(eq, &event, &out, sizeof(out), 0));
	for (i = 0; i < 3; i++) {
		in.data = data[i] = rnd(r);
		say_ret(r, "write", kfi_eq_write(eq, KFI_NOTIFY, &in, sizeof(in), 0));
	}
	for (i = -1; i < 3; i++) {
		memset(&out, 0, sizeof(out));
		event = 99;
		say_ret(r, i < 0 ? "peek" : "read",
			kfi_eq_read(eq, &event, &out, sizeof(out), i < 0 ? KFI_PEEK : 0));
		say(r, "event=%d data=%s fid=%s", (int)event,
		    out.data == data[i < 0 ? 0 : i] ? "ok" : "bad",
		    out.fid == in.fid ? "ok" : "bad");
	}
	say_ret(r, "read empty again", kfi_eq_read(eq, &event, &out, sizeof(out), 0));
}

static void eq_short(struct run *r)
{
	struct kfi_eq_entry in = { .fid = &r->a.domain->fid }, out;
	uint32_t event;

	say_ret(r, "write", kfi_eq_write(r->a.eq, KFI_NOTIFY, &in, sizeof(in), 0));
	say_ret(r, "read short", kfi_eq_read(r->a.eq, &event, &out, 4, 0));
	say_ret(r, "read", kfi_eq_read(r->a.eq, &event, &out, sizeof(out), 0));
}

static void eq_no_error(struct run *r)
{
	struct kfi_eq_err_entry err = { 0 };
	struct kfi_eq_entry out;
	uint64_t before = port_ms();
	uint32_t event;

	say_ret(r, "readerr", kfi_eq_readerr(r->a.eq, &err, 0));
	say_ret(r, "sread", kfi_eq_sread(r->a.eq, &event, &out, sizeof(out), 50, 0));
	say(r, "waited=%d", port_ms() - before >= 45);
}

static void cq_empty(struct run *r)
{
	struct kfi_cq_err_entry err = { 0 };
	struct kfi_cq_tagged_entry entry;

	say_ret(r, "read", kfi_cq_read(r->a.rxcq, &entry, 1));
	say_ret(r, "readerr", kfi_cq_readerr(r->a.rxcq, &err, 0));
}

/* An error blocks the queue until it was read. */
static void cq_error(struct run *r)
{
	struct op *op = op_new(r, 8);
	struct kfi_cq_tagged_entry entry;
	struct kfi_cq_err_entry err = { 0 };
	uint64_t until = port_ms() + 5000;
	ssize_t ret;

	say_ret(r, "recv", kfi_recv(r->a.ep, op->buf, op->len, NULL, KFI_ADDR_UNSPEC, op));
	say_ret(r, "cancel", kfi_cancel(&r->a.ep->fid, op));
	do {
		ret = kfi_cq_read(r->a.rxcq, &entry, 1);
	} while (ret == -KFI_EAGAIN && port_ms() < until);
	say_ret(r, "read", ret);
	say_ret(r, "read again", kfi_cq_read(r->a.rxcq, &entry, 1));
	say_ret(r, "readerr", kfi_cq_readerr(r->a.rxcq, &err, 0));
	say(r, "err=%s same=%d", error_name(err.err), err.op_context == op);
	say_ret(r, "read after", kfi_cq_read(r->a.rxcq, &entry, 1));
}

static void cntr_arithmetic(struct run *r)
{
	struct kfi_cntr_attr attr = { .events = KFI_CNTR_EVENTS_COMP, .wait_obj = KFI_WAIT_UNSPEC };
	struct kfid_cntr *cntr = NULL;
	uint64_t n = rnd_below(r, 1000);
	int ret;

	ret = kfi_cntr_open(r->a.domain, &attr, &cntr, NULL);
	say_ret(r, "open", ret);
	if (ret)
		return;
	say(r, "new value=%d", (int)kfi_cntr_read(cntr));
	say_ret(r, "add", kfi_cntr_add(cntr, n));
	say(r, "added value=%d", (int)kfi_cntr_read(cntr));
	say_ret(r, "wait reached", kfi_cntr_wait(cntr, n, 1000));
	say_ret(r, "set", kfi_cntr_set(cntr, 7));
	say(r, "set value=%d", (int)kfi_cntr_read(cntr));
	say_ret(r, "wait in vain", kfi_cntr_wait(cntr, 8, 50));
	say_ret(r, "adderr", kfi_cntr_adderr(cntr, 3));
	say(r, "errors value=%d and=%d", (int)kfi_cntr_readerr(cntr), (int)kfi_cntr_read(cntr));
	say_ret(r, "seterr", kfi_cntr_seterr(cntr, 1));
	say(r, "seterr value=%d", (int)kfi_cntr_readerr(cntr));
	close_said(r, "cntr", &cntr->fid);
}

/* ---- counters bound to endpoints ---- */

static const uint64_t feeds[2][3] = {
	{ KFI_SEND, KFI_WRITE, KFI_READ }, { KFI_RECV, KFI_REMOTE_WRITE, KFI_REMOTE_READ },
};

struct fed {
	struct kfid_cntr	*cntr[2][3];
	uint64_t		want[2][3];
};

static bool have_counted(struct run *r, void *arg)
{
	struct fed *f = arg;
	int side, i;

	for (side = 0; side < 2; side++)
		for (i = 0; i < 3; i++)
			if (f->cntr[side][i] && kfi_cntr_read(f->cntr[side][i]) < f->want[side][i])
				return false;
	return true;
}

static bool open_fed(struct run *r, struct fed *f)
{
	struct node *n = &r->a;
	int side, i, ret;

	for (side = 0; side < 2; side++, n = &r->b) {
		if (node_queues(r, n) || node_endpoint(r, n, n->info))
			return false;
		for (i = 0; i < 3; i++) {
			ret = kfi_cntr_open(n->domain,
					    &(struct kfi_cntr_attr) { .events = KFI_CNTR_EVENTS_COMP,
								     .wait_obj = KFI_WAIT_UNSPEC },
					    &f->cntr[side][i], NULL);
			if (!ret)
				ret = kfi_ep_bind(n->ep, &f->cntr[side][i]->fid, feeds[side][i]);
			add(r, "ret bind %d.%d", side, i);
			add(r, " is=%s", ret ? error_name(ret) : "0");
			end(r);
		}
		if (node_enable(r, n))
			return false;
	}
	return kfi_av_insert(r->a.av, r->b.addr, 1, &r->a.peer, 0, NULL) == 1;
}

static void use_fed(struct run *r, struct fed *f, struct op *target, struct kfid_mr *mr)
{
	uint64_t key = kfi_mr_key(mr);
	struct op *op;
	int i;

	for (i = 0; i < 2; i++) {
		op = op_new(r, 64);
		kfi_recv(r->b.ep, op->buf, op->len, NULL, KFI_ADDR_UNSPEC, op);
	}
	for (i = 0; i < 6; i++) {
		op = op_message(r, i, 1 + rnd_below(r, 64));
		if (i < 2)
			POST(r, kfi_send(r->a.ep, op->buf, op->len, NULL, r->a.peer, op));
		else if (i < 5)
			POST(r, kfi_write(r->a.ep, op->buf, op->len, NULL, r->a.peer, 0, key, op));
		else
			POST(r, kfi_read(r->a.ep, op->buf, op->len, NULL, r->a.peer, 0, key, op));
	}
	f->want[0][0] = f->want[1][0] = 2;
	f->want[0][1] = f->want[1][1] = 3;
	f->want[0][2] = f->want[1][2] = 1;
}

static void cntr_fed(struct run *r)
{
	struct op *target = op_new(r, 4096);
	struct kfid_mr *mr = NULL;
	struct fed f = { 0 };
	int side, i;

	if (!open_fed(r, &f))
		return;
	say_ret(r, "mr_reg",
		kfi_mr_reg(r->b.domain, target->buf, target->len,
			   KFI_REMOTE_READ | KFI_REMOTE_WRITE, 0, 1 + rnd_below(r, 1000), 0, &mr,
			   NULL));
	if (!mr)
		return;
	use_fed(r, &f, target, mr);
	wait_until(r, have_counted, &f);
	for (side = 0; side < 2; side++)
		for (i = 0; i < 3; i++)
			say(r, "count %d.%d value=%d errors=%d", side, i,
			    (int)kfi_cntr_read(f.cntr[side][i]),
			    (int)kfi_cntr_readerr(f.cntr[side][i]));
	close_said(r, "mr", &mr->fid);
	close_said(r, "ep", &r->a.ep->fid);
	close_said(r, "ep", &r->b.ep->fid);
	r->a.ep = r->b.ep = NULL;
	for (side = 0; side < 2; side++)
		for (i = 0; i < 3; i++)
			close_said(r, "cntr", &f.cntr[side][i]->fid);
}

const struct trace_case queue_cases[] = {
	{ "av.insert", SETUP_PAIR, 0, 0, av_insert },
	{ "av.remove_twice", SETUP_PAIR, 0, 0, av_remove_twice },
	{ "av.bad_address", SETUP_PAIR, 0, 0, av_bad_address },
	{ "av.again", SETUP_PAIR, 0, 0, av_again },
	{ "eq.events", SETUP_NODE, 0, 0, eq_events },
	{ "eq.short", SETUP_NODE, 0, 0, eq_short },
	{ "eq.no_error", SETUP_NODE, 0, 0, eq_no_error },
	{ "cq.empty", SETUP_PAIR, 0, 0, cq_empty },
	{ "cq.error", SETUP_PAIR, 0, 0, cq_error },
	{ "cntr.arithmetic", SETUP_NODE, 0, 0, cntr_arithmetic },
	{ "cntr.fed", SETUP_NOTHING, KFI_RMA_EVENT, 0, cntr_fed },
	{ }
};
