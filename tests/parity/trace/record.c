// SPDX-License-Identifier: GPL-2.0
/* Records: lines, completions and events in a form that does not depend on the implementation. */
#include "trace.h"

#define QUIET_MS	30

void add(struct run *r, const char *fmt, ...)
{
	va_list args;

	if (!r->at)
		r->at = scnprintf(r->line, sizeof(r->line), "PARITY %s: ", r->c->name);
	va_start(args, fmt);
	r->at += vscnprintf(r->line + r->at, sizeof(r->line) - r->at, fmt, args);
	va_end(args);
	if (r->at >= sizeof(r->line))
		r->at = sizeof(r->line) - 1;
}

void end(struct run *r)
{
	port_line(r->line);
	r->at = 0;
}

void say(struct run *r, const char *fmt, ...)
{
	char text[200];
	va_list args;

	va_start(args, fmt);
	vscnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	add(r, "%s", text);
	end(r);
}

#define NAMED(e)	{ e, #e + 4 }

static const struct {
	int		value;
	const char	*name;
} error_names[] = {
	NAMED(KFI_EPERM),	 NAMED(KFI_ENOENT),	   NAMED(KFI_EINTR),
	NAMED(KFI_EIO),		 NAMED(KFI_E2BIG),	   NAMED(KFI_EBADF),
	NAMED(KFI_EAGAIN),	 NAMED(KFI_ENOMEM),	   NAMED(KFI_EACCES),
	NAMED(KFI_EFAULT),	 NAMED(KFI_EBUSY),	   NAMED(KFI_ENODEV),
	NAMED(KFI_EINVAL),	 NAMED(KFI_ENOSPC),	   NAMED(KFI_ENOSYS),
	NAMED(KFI_ENOMSG),	 NAMED(KFI_ENODATA),	   NAMED(KFI_EOVERFLOW),
	NAMED(KFI_EMSGSIZE),	 NAMED(KFI_ENOPROTOOPT),   NAMED(KFI_EOPNOTSUPP),
	NAMED(KFI_EADDRINUSE),	 NAMED(KFI_EADDRNOTAVAIL), NAMED(KFI_ENETUNREACH),
	NAMED(KFI_ECONNABORTED), NAMED(KFI_ECONNRESET),	   NAMED(KFI_EISCONN),
	NAMED(KFI_ENOTCONN),	 NAMED(KFI_ESHUTDOWN),	   NAMED(KFI_ETIMEDOUT),
	NAMED(KFI_ECONNREFUSED), NAMED(KFI_EHOSTUNREACH),  NAMED(KFI_EALREADY),
	NAMED(KFI_EINPROGRESS),	 NAMED(KFI_EREMOTEIO),	   NAMED(KFI_ECANCELED),
	NAMED(KFI_EOTHER),	 NAMED(KFI_ETOOSMALL),	   NAMED(KFI_EOPBADSTATE),
	NAMED(KFI_EAVAIL),	 NAMED(KFI_EBADFLAGS),	   NAMED(KFI_ENOEQ),
	NAMED(KFI_EDOMAIN),	 NAMED(KFI_ENOCQ),	   NAMED(KFI_ETRUNC),
	NAMED(KFI_ENOKEY),	 NAMED(KFI_ENOAV),	   NAMED(KFI_EOVERRUN),
	NAMED(KFI_ENORX),
};

const char *error_name(long err)
{
	size_t i;

	if (err < 0)
		err = -err;
	for (i = 0; i < ARRAY_SIZE(error_names); i++)
		if (error_names[i].value == err)
			return error_names[i].name;
	return "E?";
}

void say_ret(struct run *r, const char *what, long ret)
{
	add(r, "ret %s", what);
	if (ret < 0)
		add(r, " is=%s", error_name(ret));
	else
		add(r, " is=%ld", ret);
	end(r);
}

static const struct {
	uint64_t	flag;
	const char	*name;
} flag_names[] = {
	{ KFI_MSG, "MSG" }, { KFI_TAGGED, "TAGGED" }, { KFI_RMA, "RMA" }, { KFI_ATOMIC, "ATOMIC" },
	{ KFI_READ, "READ" }, { KFI_WRITE, "WRITE" }, { KFI_SEND, "SEND" }, { KFI_RECV, "RECV" },
	{ KFI_REMOTE_READ, "REMOTE_READ" }, { KFI_REMOTE_WRITE, "REMOTE_WRITE" },
	{ KFI_REMOTE_CQ_DATA, "REMOTE_CQ_DATA" }, { KFI_MULTI_RECV, "MULTI_RECV" },
	{ KFI_COMPLETION, "COMPLETION" }, { KFI_INJECT, "INJECT" }, { KFI_CLAIM, "CLAIM" },
	{ KFI_DISCARD, "DISCARD" }, { KFI_PEEK, "PEEK" },
};

void add_flags(struct run *r, uint64_t flags)
{
	const char *between = "";
	size_t i;

	add(r, " flags=");
	for (i = 0; i < ARRAY_SIZE(flag_names); i++) {
		if (!(flags & flag_names[i].flag))
			continue;
		add(r, "%s%s", between, flag_names[i].name);
		between = "|";
		flags &= ~flag_names[i].flag;
	}
	if (flags || !*between)
		add(r, "%s0x%llx", between, (unsigned long long)flags);
}

/* ---- completions ---- */

static struct kfid_cq *queue_of(struct run *r, int queue)
{
	struct node *n = queue < 2 ? &r->a : &r->b;

	return queue & 1 ? n->rxcq : n->txcq;
}

static int op_of(struct run *r, const void *context)
{
	int i;

	for (i = 0; i < r->nr_ops; i++)
		if (context == r->ops[i])
			return i;
	return context ? -2 : -1;
}

static bool read_one(struct run *r, int queue)
{
	struct seen *s = &r->seen[r->nr_seen];
	struct kfi_cq_tagged_entry *t = (struct kfi_cq_tagged_entry *)&s->e;
	struct kfid_cq *cq = queue_of(r, queue);
	ssize_t ret;

	if (!cq || r->nr_seen == SEEN_MAX)
		return false;
	memset(s, 0, sizeof(*s));
	s->src = KFI_ADDR_NOTAVAIL;
	/* An error entry begins with the members of an entry. */
	ret = kfi_cq_readfrom(cq, t, 1, &s->src);
	if (ret == -KFI_EAVAIL) {
		s->failed = true;
		ret = kfi_cq_readerr(cq, &s->e, 0);
	}
	if (ret == -KFI_EAGAIN || !ret)
		return false;
	if (ret < 0) {
		say_ret(r, "cq_read", ret);
		return false;
	}
	s->queue = queue;
	s->op = op_of(r, s->e.op_context);
	s->nr = r->nr_seen++;
	return true;
}

static void read_all(struct run *r, int counts[4])
{
	int queue;

	for (queue = 0; queue < 4; queue++)
		while (read_one(r, queue))
			counts[queue]++;
}

void keep_going(struct run *r)
{
	int counts[4] = { 0 };

	read_all(r, counts);
	port_nap();
}

bool wait_until(struct run *r, bool (*ready)(struct run *r, void *arg), void *arg)
{
	uint64_t until = port_ms() + PATIENCE_MS;
	int counts[4] = { 0 };

	do {
		read_all(r, counts);
		if (ready(r, arg))
			return true;
		port_nap();
	} while (port_ms() < until);
	return false;
}

/* Sort by queue, then by context or order of arrival; any other order is random. */
static long long rank(struct run *r, const struct seen *s)
{
	long long within = r->by_order && (s->queue & 1) ? s->nr : (s->op + 2LL) * SEEN_MAX + s->nr;

	return s->queue * 1000000LL + within;
}

static void sort_seen(struct run *r)
{
	struct seen tmp;
	int i, j;

	for (i = 1; i < r->nr_seen; i++) {
		tmp = r->seen[i];
		for (j = i; j > 0 && rank(r, &r->seen[j - 1]) > rank(r, &tmp); j--)
			r->seen[j] = r->seen[j - 1];
		r->seen[j] = tmp;
	}
}

/*
 * The payload: its offset in the buffer, its checksum, and whether it is the message that was sent.
 */
static void add_payload(struct run *r, const struct seen *s)
{
	const struct op *op = s->op >= 0 ? r->ops[s->op] : NULL;
	const char *buf;
	size_t len = s->e.len;

	if (!op || !(s->e.flags & KFI_RECV) || s->failed)
		return;
	buf = op->buf;
	if (s->e.flags & KFI_MULTI_RECV || op->wants == NO_MESSAGE) {
		buf = s->e.buf;
		if (!buf && !len)
			return;
		if (buf < op->buf || buf > op->buf + op->len) {
			add(r, " off=outside");
			return;
		}
		add(r, " off=%zu", (size_t)(buf - op->buf));
	}
	if (len > op->len - (size_t)(buf - op->buf)) {
		add(r, " bytes=toomany");
		return;
	}
	add(r, " sum=%08x", checksum(buf, len));
	if (op->wants != NO_MESSAGE)
		add(r, " bytes=%s", is_filled(r, buf, len, op->wants) ? "ok" : "bad");
}

static void add_source(struct run *r, const struct seen *s)
{
	const struct node *n = s->queue < 2 ? &r->a : &r->b;

	if (r->sources && !s->failed && s->queue & 1)
		add(r, " src=%s",
		    s->src == n->peer		? "peer" :
		    s->src == KFI_ADDR_NOTAVAIL ? "none" :
						  "other");
}

static void say_seen(struct run *r, const struct seen *s)
{
	const struct kfi_cq_err_entry *e = &s->e;
	bool rx = s->queue & 1;

	add(r, "%c.%s", s->queue < 2 ? 'A' : 'B', rx ? "rx" : "tx");
	if (s->op >= 0)
		add(r, " ctx=%d", r->ops[s->op]->id);
	else
		add(r, " ctx=%s", s->op == -1 ? "none" : "unknown");
	if (s->failed)
		add(r, " err=%s", error_name(e->err));
	add_flags(r, e->flags);
	if (rx && (!s->failed || e->err == KFI_ETRUNC))
		add(r, " len=%zu", e->len);
	if (rx && s->failed && e->err == KFI_ETRUNC)
		add(r, " olen=%zu", e->olen);
	if (e->flags & KFI_REMOTE_CQ_DATA && rx)
		add(r, " data=0x%llx", (unsigned long long)e->data);
	if (e->flags & KFI_TAGGED && rx && (!s->failed || e->err == KFI_ETRUNC))
		add(r, " tag=0x%llx", (unsigned long long)e->tag);
	add_payload(r, s);
	add_source(r, s);
	end(r);
}

void collect(struct run *r, int a_tx, int a_rx, int b_tx, int b_rx)
{
	const int want[4] = { a_tx, a_rx, b_tx, b_rx };
	uint64_t until = port_ms() + PATIENCE_MS, quiet = 0;
	int counts[4] = { 0 }, i;
	bool done;

	/* Entries that were read while waiting for others count. */
	for (i = 0; i < r->nr_seen; i++)
		counts[r->seen[i].queue]++;
	do {
		read_all(r, counts);
		for (done = true, i = 0; i < 4; i++)
			done &= counts[i] >= want[i];
		if (done && !quiet)
			quiet = port_ms() + QUIET_MS;
		port_nap();
	} while (port_ms() < (quiet ?: until));
	sort_seen(r);
	for (i = 0; i < r->nr_seen; i++)
		say_seen(r, &r->seen[i]);
	r->nr_seen = 0;
}

/* ---- events ---- */

union any_event {
	struct kfi_eq_cm_entry		cm;
	struct kfi_eq_entry		plain;
	char				room[256];
};

static const char *event_name(uint32_t event)
{
	switch (event) {
	case KFI_NOTIFY:	return "NOTIFY";
	case KFI_CONNREQ:	return "CONNREQ";
	case KFI_CONNECTED:	return "CONNECTED";
	case KFI_SHUTDOWN:	return "SHUTDOWN";
	default:		return "other";
	}
}

static const char *fid_name(struct run *r, const struct kfid *fid)
{
	const struct node *n;

	for (n = &r->a; n; n = n == &r->a ? &r->b : NULL) {
		if (n->ep && fid == &n->ep->fid)
			return n == &r->a ? "A.ep" : "B.ep";
		if (n->pep && fid == &n->pep->fid)
			return "B.pep";
	}
	return "other";
}

static void say_event_error(struct run *r, struct node *n)
{
	struct kfi_eq_err_entry err = { 0 };
	char data[64];
	ssize_t ret;

	err.err_data = data;
	err.err_data_size = sizeof(data);
	ret = kfi_eq_readerr(n->eq, &err, 0);
	add(r, "%c.eq error=%s fid=%s", n->name, error_name(err.err), fid_name(r, err.fid));
	if (ret < 0)
		add(r, " ret=%s", error_name(ret));
	if (err.err_data_size)
		add(r, " data=%zu sum=%08x", err.err_data_size,
		    checksum(err.err_data, err.err_data_size));
	end(r);
}

/* Some providers of libfabric complete a connection only while both sides poll their queues. */
static void other_side(struct run *r, const struct node *n, union any_event *ev)
{
	struct node *other = n == &r->a ? &r->b : &r->a;
	uint32_t event;

	if (other->eq)
		kfi_eq_read(other->eq, &event, ev, sizeof(*ev), KFI_PEEK);
}

void say_event(struct run *r, struct node *n, struct kfi_info **info)
{
	uint64_t until = port_ms() + PATIENCE_MS;
	union any_event *ev = port_alloc(sizeof(*ev));
	uint32_t event = 0;
	ssize_t ret;
	size_t data;

	do {
		ret = kfi_eq_read(n->eq, &event, ev, sizeof(*ev), 0);
		if (ret == -KFI_EAGAIN) {
			other_side(r, n, ev);
			keep_going(r);
		}
	} while (ret == -KFI_EAGAIN && port_ms() < until);
	if (ret == -KFI_EAVAIL) {
		say_event_error(r, n);
	} else if (ret < 0) {
		add(r, "%c.eq error=%s", n->name, ret == -KFI_EAGAIN ? "nothing" : error_name(ret));
		end(r);
	} else {
		data = (size_t)ret > sizeof(ev->cm) ? ret - sizeof(ev->cm) : 0;
		say(r, "%c.eq event=%s fid=%s data=%zu sum=%08x", n->name, event_name(event),
		    fid_name(r, ev->cm.fid), data, checksum((char *)ev->cm.data, data));
		if (event == KFI_CONNREQ && info)
			*info = ev->cm.info;
	}
	port_free(ev);
}
