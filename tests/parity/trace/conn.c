// SPDX-License-Identifier: GPL-2.0
/*
 * Cases: connections.
 */
#include "trace.h"

static size_t private_data(struct run *r, char *data, int msg)
{
	size_t len = 1 + rnd_below(r, 40);

	fill(r, data, len, msg);
	return len;
}

static void accept_data(struct run *r)
{
	struct kfi_info *info = NULL;
	char data[64];
	size_t len = private_data(r, data, 0);

	say_ret(r, "connect", kfi_connect(r->a.ep, r->b.addr, data, len));
	say_event(r, &r->b, &info);
	if (!info || node_endpoint(r, &r->b, info))
		return;
	kfi_freeinfo(info);
	len = private_data(r, data, 1);
	say_ret(r, "accept", kfi_accept(r->b.ep, data, len));
	say_event(r, &r->b, NULL);
	say_event(r, &r->a, NULL);
}

static void reject_data(struct run *r)
{
	struct kfi_info *info = NULL;
	char data[64];
	size_t len;

	say_ret(r, "connect", kfi_connect(r->a.ep, r->b.addr, NULL, 0));
	say_event(r, &r->b, &info);
	if (!info)
		return;
	len = private_data(r, data, 1);
	say_ret(r, "reject", kfi_reject(r->b.pep, info->handle, data, len));
	kfi_freeinfo(info);
	say_event(r, &r->a, NULL);
}

static void nobody(struct run *r)
{
	say_ret(r, "close pep", kfi_close(&r->b.pep->fid));
	r->b.pep = NULL;
	say_ret(r, "connect", kfi_connect(r->a.ep, r->b.addr, NULL, 0));
	say_event(r, &r->a, NULL);
}

static void too_much(struct run *r)
{
	size_t most = 0, len = sizeof(most);
	char *data;

	say_ret(r, "getopt cm_data_size",
		kfi_getopt(&r->a.ep->fid, KFI_OPT_ENDPOINT, KFI_OPT_CM_DATA_SIZE, &most, &len));
	if (!most || most > 4096)
		return;
	data = port_alloc(most + 1);
	say_ret(r, "connect", kfi_connect(r->a.ep, r->b.addr, data, most + 1));
	port_free(data);
}

static void shut_down(struct run *r)
{
	struct op *op = op_new(r, 64);

	say_ret(r, "shutdown", kfi_shutdown(r->a.ep, 0));
	say_event(r, &r->a, NULL);
	say_event(r, &r->b, NULL);
	say_ret(r, "send", kfi_send(r->a.ep, op->buf, op->len, NULL, 0, op));
}

/* The peer's end is told to who stays, with the receives that waited. */
static void peer_closes(struct run *r)
{
	struct op *op = op_new(r, 64);

	say_ret(r, "recv", kfi_recv(r->b.ep, op->buf, op->len, NULL, KFI_ADDR_UNSPEC, op));
	say_ret(r, "close", kfi_close(&r->a.ep->fid));
	r->a.ep = NULL;
	say_event(r, &r->b, NULL);
	collect(r, 0, 0, 0, 1);
}

static void not_connected(struct run *r)
{
	struct op *op = op_new(r, 64);

	say_ret(r, "send", kfi_send(r->a.ep, op->buf, op->len, NULL, 0, op));
	say_ret(r, "shutdown", kfi_shutdown(r->a.ep, 0));
}

static void listen_twice(struct run *r)
{
	say_ret(r, "listen again", kfi_listen(r->b.pep));
}

static void peer_address(struct run *r)
{
	char buf[64];
	size_t len = sizeof(buf);
	int ret = kfi_getpeer(r->a.ep, buf, &len);

	say_ret(r, "getpeer", ret);
	if (!ret)
		say(r, "getpeer same=%d", len == r->b.addrlen && !memcmp(buf, r->b.addr, len));
	len = 2;
	say_ret(r, "getpeer short", kfi_getpeer(r->a.ep, buf, &len));
	say(r, "getpeer len=%s", len == r->b.addrlen ? "full" : "other");
}

const struct trace_case conn_cases[] = {
	{ "conn.accept_data", SETUP_LISTEN, 0, 0, accept_data },
	{ "conn.reject_data", SETUP_LISTEN, 0, 0, reject_data },
	{ "conn.nobody", SETUP_LISTEN, 0, 0, nobody },
	{ "conn.too_much", SETUP_LISTEN, 0, 0, too_much },
	{ "conn.not_connected", SETUP_LISTEN, 0, 0, not_connected },
	{ "conn.listen_twice", SETUP_LISTEN, 0, 0, listen_twice },
	{ "conn.shut_down", SETUP_CONNECTED, 0, 0, shut_down },
	{ "conn.peer_closes", SETUP_CONNECTED, 0, 0, peer_closes },
	{ "conn.getpeer", SETUP_CONNECTED, 0, 0, peer_address },
	{ }
};
