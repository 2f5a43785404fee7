// SPDX-License-Identifier: GPL-2.0
/*
 * Cases: discovery, and the life of objects.
 */
#include "trace.h"

static void bind_queues(struct run *r, bool tx, bool rx, bool av)
{
	struct node *a = &r->a;

	if (tx)
		say_ret(r, "bind txcq", kfi_ep_bind(a->ep, &a->txcq->fid, KFI_TRANSMIT));
	if (rx)
		say_ret(r, "bind rxcq", kfi_ep_bind(a->ep, &a->rxcq->fid, KFI_RECV));
	if (av)
		say_ret(r, "bind av", kfi_ep_bind(a->ep, &a->av->fid, 0));
}

static void enable_no_cq(struct run *r)
{
	bind_queues(r, false, false, true);
	say_ret(r, "enable", kfi_enable(r->a.ep));
}

static void enable_no_txcq(struct run *r)
{
	bind_queues(r, false, true, true);
	say_ret(r, "enable", kfi_enable(r->a.ep));
}

static void enable_no_rxcq(struct run *r)
{
	bind_queues(r, true, false, true);
	say_ret(r, "enable", kfi_enable(r->a.ep));
}

static void enable_no_av(struct run *r)
{
	bind_queues(r, true, true, false);
	say_ret(r, "enable", kfi_enable(r->a.ep));
}

static void enable_twice(struct run *r)
{
	bind_queues(r, true, true, true);
	say_ret(r, "enable", kfi_enable(r->a.ep));
	say_ret(r, "enable again", kfi_enable(r->a.ep));
}

static void post_not_enabled(struct run *r)
{
	struct op *op = op_new(r, 8);

	bind_queues(r, true, true, true);
	say_ret(r, "recv", kfi_recv(r->a.ep, op->buf, op->len, NULL, KFI_ADDR_UNSPEC, op));
	say_ret(r, "send", kfi_send(r->a.ep, op->buf, op->len, NULL, 0, op));
}

static void bind_wrong(struct run *r)
{
	struct node *a = &r->a;

	say_ret(r, "bind domain", kfi_ep_bind(a->ep, &a->domain->fid, 0));
	say_ret(r, "bind cq, unknown flag",
		kfi_ep_bind(a->ep, &a->txcq->fid, KFI_TRANSMIT | KFI_PEEK));
	bind_queues(r, true, true, true);
	say_ret(r, "bind txcq again", kfi_ep_bind(a->ep, &a->txcq->fid, KFI_TRANSMIT));
}

static void getname_short(struct run *r)
{
	struct node *a = &r->a;
	char buf[64] = { 0 };
	size_t len = 2;

	say_ret(r, "getname", kfi_getname(&a->ep->fid, buf, &len));
	say(r, "len=%s", len == a->addrlen ? "full" : "other");
	say(r, "beyond=%s",
	    memchr(buf + 2, 0, sizeof(buf) - 2) == buf + 2 ? "untouched" : "written");
}

static void options(struct run *r)
{
	struct kfid *ep = &r->a.ep->fid;
	size_t value = 0, len = sizeof(value);
	char small = 0;

	value = 256;
	say_ret(r, "setopt min_multi_recv",
		kfi_setopt(ep, KFI_OPT_ENDPOINT, KFI_OPT_MIN_MULTI_RECV, &value, len));
	value = 0;
	say_ret(r, "getopt min_multi_recv",
		kfi_getopt(ep, KFI_OPT_ENDPOINT, KFI_OPT_MIN_MULTI_RECV, &value, &len));
	say(r, "min_multi_recv value=%zu len=%zu", value, len);
	len = 1;
	say_ret(r, "getopt short",
		kfi_getopt(ep, KFI_OPT_ENDPOINT, KFI_OPT_MIN_MULTI_RECV, &small, &len));
	say(r, "short len=%zu", len);
	len = sizeof(value);
	say_ret(r, "getopt unknown", kfi_getopt(ep, KFI_OPT_ENDPOINT, 4242, &value, &len));
	say_ret(r, "getopt level", kfi_getopt(ep, 77, KFI_OPT_MIN_MULTI_RECV, &value, &len));
	say_ret(r, "setopt unknown", kfi_setopt(ep, KFI_OPT_ENDPOINT, 4242, &value, sizeof(value)));
}

static void close_busy(struct run *r)
{
	struct node *a = &r->a;

	say_ret(r, "close domain", kfi_close(&a->domain->fid));
	say_ret(r, "close fabric", kfi_close(&a->fabric->fid));
	say_ret(r, "close cq", kfi_close(&a->txcq->fid));
	say_ret(r, "close av", kfi_close(&a->av->fid));
}

static void say_classes(struct run *r)
{
	struct node *a = &r->a;

	say(r, "class fabric=%zu domain=%zu eq=%zu cq=%zu av=%zu ep=%zu", a->fabric->fid.fclass,
	    a->domain->fid.fclass, a->eq->fid.fclass, a->rxcq->fid.fclass, a->av->fid.fclass,
	    a->ep->fid.fclass);
}

static void ask(struct run *r, const char *what, enum kfi_ep_type type, uint64_t caps)
{
	struct kfi_info *info = NULL;

	say_ret(r, what, run_getinfo(r, type, caps, &info));
	if (info)
		say(r, "%s has=%s type=%d", what, (info->caps & caps) == caps ? "all" : "less",
		    info->ep_attr->type);
	kfi_freeinfo(info);
}

static void getinfo(struct run *r)
{
	const char *provider = r->provider;

	ask(r, "rdm msg", KFI_EP_RDM, KFI_MSG);
	ask(r, "rdm rma", KFI_EP_RDM, KFI_RMA | KFI_REMOTE_WRITE);
	ask(r, "rdm multicast", KFI_EP_RDM, KFI_MULTICAST);
	ask(r, "msg msg", KFI_EP_MSG, KFI_MSG);
	ask(r, "rdm source", KFI_EP_RDM, KFI_MSG | KFI_SOURCE);
	r->provider = "nosuch";
	ask(r, "unknown provider", KFI_EP_RDM, KFI_MSG);
	r->provider = provider;
}

static void getinfo_version(struct run *r)
{
	struct kfi_info *info = NULL;

	say_ret(r, "getinfo 99.0", kfi_getinfo(KFI_VERSION(99, 0), NULL, NULL, 0, NULL, &info));
	kfi_freeinfo(info);
}

const struct trace_case object_cases[] = {
	{ "object.enable_no_cq", SETUP_NODE, 0, 0, enable_no_cq },
	{ "object.enable_no_txcq", SETUP_NODE, 0, 0, enable_no_txcq },
	{ "object.enable_no_rxcq", SETUP_NODE, 0, 0, enable_no_rxcq },
	{ "object.enable_no_av", SETUP_NODE, 0, 0, enable_no_av },
	{ "object.enable_twice", SETUP_NODE, 0, 0, enable_twice },
	{ "object.post_not_enabled", SETUP_NODE, 0, 0, post_not_enabled },
	{ "object.bind_wrong", SETUP_NODE, 0, 0, bind_wrong },
	{ "object.getname_short", SETUP_PAIR, 0, 0, getname_short },
	{ "object.options", SETUP_PAIR, KFI_MULTI_RECV, 0, options },
	{ "object.close_busy", SETUP_PAIR, 0, 0, close_busy },
	{ "object.classes", SETUP_PAIR, 0, 0, say_classes },
	{ "object.getinfo", SETUP_NOTHING, 0, 0, getinfo },
	{ "object.getinfo_version", SETUP_NOTHING, 0, 0, getinfo_version },
	{ }
};

/* ---- connections ---- */

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

/* An end sees that its peer has closed; its receives that waited end. */
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
