// SPDX-License-Identifier: GPL-2.0
/* Cases: RMA from A into a region of B. */
#include "trace.h"

#define LEN		8192
#define NO_BYTES	0xee

struct region {
	struct op	*op;
	struct kfid_mr	*mr;
	uint64_t	key;
};

static bool open_region(struct run *r, struct region *m, uint64_t access)
{
	int ret;

	m->op = op_new(r, LEN);
	m->key = 1 + rnd_below(r, 1000000);
	ret = kfi_mr_reg(r->b.domain, m->op->buf, LEN, access, 0, m->key, 0, &m->mr, NULL);
	say_ret(r, "mr_reg", ret);
	if (!ret)
		m->key = kfi_mr_key(m->mr);
	return !ret;
}

static bool untouched(const char *buf, size_t len)
{
	while (len--)
		if ((unsigned char)*buf++ != NO_BYTES)
			return false;
	return true;
}

struct landing {
	const char	*buf;
	size_t		len;
	int		msg;
};

static bool has_landed(struct run *r, void *arg)
{
	const struct landing *l = arg;

	return is_filled(r, l->buf, l->len, l->msg);
}

/* A write completes when its buffer can be reused: the bytes may arrive later. */
static void say_landed(struct run *r, const char *buf, size_t len, int msg)
{
	struct landing l = { buf, len, msg };
	bool ok = wait_until(r, has_landed, &l);

	say(r, "landed=%s sum=%08x", ok ? "yes" : "no", checksum(buf, len));
}

static void write_and_read(struct run *r)
{
	size_t len = 1 + rnd_below(r, LEN / 2), at = rnd_below(r, LEN / 2);
	struct op *tx = op_message(r, 0, len), *rx = op_new(r, len);
	struct region m;

	if (!open_region(r, &m, KFI_REMOTE_READ | KFI_REMOTE_WRITE))
		return;
	say_ret(r, "write",
		POST(r, kfi_write(r->a.ep, tx->buf, len, NULL, r->a.peer, at, m.key, tx)));
	say_landed(r, m.op->buf + at, len, 0);
	collect(r, 1, 0, 0, 0);
	say_ret(r, "read",
		POST(r, kfi_read(r->a.ep, rx->buf, len, NULL, r->a.peer, at, m.key, rx)));
	collect(r, 1, 0, 0, 0);
	say(r, "read bytes=%s before=%s behind=%s", is_filled(r, rx->buf, len, 0) ? "ok" : "bad",
	    untouched(m.op->buf, at) ? "ok" : "bad",
	    untouched(m.op->buf + at + len, LEN - at - len) ? "ok" : "bad");
	close_said(r, "mr", &m.mr->fid);
}

static void write_data(struct run *r)
{
	size_t len = 1 + rnd_below(r, LEN);
	struct op *tx = op_message(r, 0, len), *rx = op_new(r, 64);
	uint64_t data = rnd(r);
	struct region m;

	if (!open_region(r, &m, KFI_REMOTE_WRITE))
		return;
	/* The receive stays for the message: RMA takes none. */
	rx->wants = 1;
	say_ret(r, "recv", kfi_recv(r->b.ep, rx->buf, rx->len, NULL, KFI_ADDR_UNSPEC, rx));
	say_ret(r, "writedata",
		POST(r, kfi_writedata(r->a.ep, tx->buf, len, NULL, data, r->a.peer, 0, m.key, tx)));
	say_landed(r, m.op->buf, len, 0);
	collect(r, 1, 0, 0, 1);
	tx = op_message(r, 1, 20);
	say_ret(r, "send", POST(r, kfi_send(r->a.ep, tx->buf, tx->len, NULL, r->a.peer, tx)));
	collect(r, 1, 0, 0, 1);
	close_said(r, "mr", &m.mr->fid);
}

static void inject_write(struct run *r)
{
	size_t len = 1 + rnd_below(r, 64);
	struct op *tx = op_message(r, 0, len);
	uint64_t data = rnd(r);
	struct region m;

	if (!open_region(r, &m, KFI_REMOTE_WRITE))
		return;
	say_ret(r, "inject_write",
		POST(r, kfi_inject_write(r->a.ep, tx->buf, len, r->a.peer, 100, m.key)));
	memset(tx->buf, 0xdd, len);
	say_landed(r, m.op->buf + 100, len, 0);
	tx = op_message(r, 1, len);
	say_ret(r, "inject_writedata",
		POST(r, kfi_inject_writedata(r->a.ep, tx->buf, len, data, r->a.peer, 200, m.key)));
	memset(tx->buf, 0xdd, len);
	say_landed(r, m.op->buf + 200, len, 1);
	collect(r, 0, 0, 0, 1);
	close_said(r, "mr", &m.mr->fid);
}

static void vectors(struct run *r)
{
	size_t len = 2 + rnd_below(r, LEN / 2), cut = rnd_below(r, len);
	struct op *tx = op_message(r, 0, len), *rx = op_new(r, len);
	struct kvec tv[2] = { { tx->buf, cut }, { tx->buf + cut, len - cut } };
	struct kvec rv[2] = { { rx->buf, len - cut }, { rx->buf + len - cut, cut } };
	struct region m;

	if (!open_region(r, &m, KFI_REMOTE_READ | KFI_REMOTE_WRITE))
		return;
	say_ret(r, "writev", POST(r, kfi_writev(r->a.ep, tv, NULL, 2, r->a.peer, 8, m.key, tx)));
	say_landed(r, m.op->buf + 8, len, 0);
	say_ret(r, "readv", POST(r, kfi_readv(r->a.ep, rv, NULL, 2, r->a.peer, 8, m.key, rx)));
	collect(r, 2, 0, 0, 0);
	say(r, "read bytes=%s", is_filled(r, rx->buf, len, 0) ? "ok" : "bad");
	close_said(r, "mr", &m.mr->fid);
}

/* An access that is not permitted fails, moves no data, and leaves the endpoint usable. */
static void refused(struct run *r, struct region *m, bool write, uint64_t at, uint64_t key,
		    size_t len)
{
	struct op *op = op_message(r, 0, len), *ok = op_message(r, 1, 32), *rx = op_new(r, 32);
	long ret;

	if (write) {
		ret = POST(r, kfi_write(r->a.ep, op->buf, len, NULL, r->a.peer, at, key, op));
	} else {
		memset(op->buf, NO_BYTES, len);
		ret = POST(r, kfi_read(r->a.ep, op->buf, len, NULL, r->a.peer, at, key, op));
	}
	say_ret(r, write ? "write" : "read", ret);
	collect(r, 1, 0, 0, 0);
	say(r, "region=%s buffer=%s", untouched(m->op->buf, LEN) ? "untouched" : "written",
	    write || untouched(op->buf, len) ? "untouched" : "written");
	rx->wants = 1;
	say_ret(r, "recv", kfi_recv(r->b.ep, rx->buf, rx->len, NULL, KFI_ADDR_UNSPEC, rx));
	say_ret(r, "send", POST(r, kfi_send(r->a.ep, ok->buf, ok->len, NULL, r->a.peer, ok)));
	collect(r, 1, 0, 0, 1);
	close_said(r, "mr", &m->mr->fid);
}

static void write_bad_key(struct run *r)
{
	struct region m;

	if (open_region(r, &m, KFI_REMOTE_READ | KFI_REMOTE_WRITE))
		refused(r, &m, true, 0, m.key + 1, 1 + rnd_below(r, LEN));
}

static void read_bad_key(struct run *r)
{
	struct region m;

	if (open_region(r, &m, KFI_REMOTE_READ | KFI_REMOTE_WRITE))
		refused(r, &m, false, 0, m.key + 1, 1 + rnd_below(r, LEN));
}

static void write_outside(struct run *r)
{
	struct region m;

	if (open_region(r, &m, KFI_REMOTE_READ | KFI_REMOTE_WRITE))
		refused(r, &m, true, LEN - 10, m.key, 11 + rnd_below(r, 100));
}

static void read_outside(struct run *r)
{
	struct region m;

	if (open_region(r, &m, KFI_REMOTE_READ | KFI_REMOTE_WRITE))
		refused(r, &m, false, LEN - 10, m.key, 11 + rnd_below(r, 100));
}

static void write_no_right(struct run *r)
{
	struct region m;

	if (open_region(r, &m, KFI_REMOTE_READ))
		refused(r, &m, true, 0, m.key, 1 + rnd_below(r, LEN));
}

static void read_no_right(struct run *r)
{
	struct region m;

	if (open_region(r, &m, KFI_REMOTE_WRITE))
		refused(r, &m, false, 0, m.key, 1 + rnd_below(r, LEN));
}

static void closed_region(struct run *r)
{
	struct op *op = op_message(r, 0, 100);
	struct region m;

	if (!open_region(r, &m, KFI_REMOTE_WRITE))
		return;
	close_said(r, "mr", &m.mr->fid);
	say_ret(r, "write",
		POST(r, kfi_write(r->a.ep, op->buf, op->len, NULL, r->a.peer, 0, m.key, op)));
	collect(r, 1, 0, 0, 0);
	say(r, "region=%s", untouched(m.op->buf, LEN) ? "untouched" : "written");
}

static void duplicate_key(struct run *r)
{
	struct op *op = op_new(r, 64);
	struct kfid_mr *mr = NULL;
	struct region m;
	int ret;

	if (!open_region(r, &m, KFI_REMOTE_WRITE))
		return;
	ret = kfi_mr_reg(r->b.domain, op->buf, op->len, KFI_REMOTE_WRITE, 0, m.key, 0, &mr, NULL);
	say_ret(r, "mr_reg again", ret);
	if (!ret)
		close_said(r, "mr again", &mr->fid);
	close_said(r, "mr", &m.mr->fid);
	ret = kfi_mr_reg(r->b.domain, op->buf, op->len, KFI_REMOTE_WRITE, 0, m.key, 0, &mr, NULL);
	say_ret(r, "mr_reg after close", ret);
	if (!ret)
		close_said(r, "mr again", &mr->fid);
}

const struct trace_case rma_cases[] = {
	{ "rma.write_and_read", SETUP_PAIR, 0, 0, write_and_read },
	{ "rma.write_data", SETUP_PAIR, 0, 0, write_data },
	{ "rma.inject_write", SETUP_PAIR, 0, 0, inject_write },
	{ "rma.vectors", SETUP_PAIR, 0, 0, vectors },
	{ "rma.write_bad_key", SETUP_PAIR, 0, 0, write_bad_key },
	{ "rma.read_bad_key", SETUP_PAIR, 0, 0, read_bad_key },
	{ "rma.write_outside", SETUP_PAIR, 0, 0, write_outside },
	{ "rma.read_outside", SETUP_PAIR, 0, 0, read_outside },
	{ "rma.write_no_right", SETUP_PAIR, 0, 0, write_no_right },
	{ "rma.read_no_right", SETUP_PAIR, 0, 0, read_no_right },
	{ "rma.closed_region", SETUP_PAIR, 0, 0, closed_region },
	{ "rma.duplicate_key", SETUP_PAIR, 0, 0, duplicate_key },
	{ "rma.connected", SETUP_CONNECTED, 0, 0, write_and_read },
	{ "rma.connected_data", SETUP_CONNECTED, 0, 0, write_data },
	{ }
};
