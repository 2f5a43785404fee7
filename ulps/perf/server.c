// SPDX-License-Identifier: GPL-2.0
/* server.c - servers, which start a session for each client that says hello. */
#include <linux/export.h>
#include <linux/slab.h>

#include "perf.h"

/* ---- MSG: a hello is the private data of a caller ---- */

static int called(struct kfi_caller *caller)
{
	struct perf_server *server = container_of(caller->listener, struct perf_server, listener);
	struct perf_ctl hello, ctl = { .type = PERF_WELCOME };
	u8 data[PERF_CTL_MAX];
	int err;

	err = perf_decode(caller->data, caller->len, &hello);
	if (err == -EPROTO || hello.type != PERF_HELLO)
		return -EPROTO;
	err = err ?: perf_session_accept(server, &hello, caller);
	if (!err)
		return 0;
	atomic64_inc(&server->counts.refused);
	ctl.status = -err;
	kfi_conn_reject(caller, data, perf_encode(&ctl, data));
	return 0;
}

/* ---- RDM: a hello is a message ---- */

void perf_refuse(struct perf_place *place, const struct perf_ctl *hello, int err)
{
	struct perf_ctl ctl = { .type = PERF_WELCOME, .status = -err };
	u8 data[PERF_CTL_MAX];
	struct kvec iov = { .iov_base = data, .iov_len = perf_encode(&ctl, data) };
	struct kfi_msg msg = {
		.type = KFI_KVEC,
		.msg_iov = &iov,
		.iov_count = 1,
		.data = PERF_CTL_DATA,
		.context = &place->refusal,
	};

	atomic64_inc(&place->server->counts.refused);
	if (hello->addrlen != place->info->src_addrlen ||
	    kfi_av_insert(place->conn.av, hello->addr, 1, &msg.addr, 0, NULL) != 1)
		return;
	kfi_sendmsg(place->conn.ep, &msg,
		    KFI_CQE | KFI_INJECT | KFI_NO_COMPLETION | KFI_REMOTE_CQ_DATA);
	kfi_av_remove(place->conn.av, &msg.addr, 1, 0);
}

/* Its client may have gone. */
static void refusal_done(struct kfid_cq *cq, struct kfi_cqe *cqe, const struct kfi_cq_err_entry *wc)
{
}

static void received(struct kfid_cq *cq, struct kfi_cqe *cqe, const struct kfi_cq_err_entry *wc)
{
	struct kfi_rxbuf *rx = container_of(cqe, struct kfi_rxbuf, cqe);
	struct perf_place *place = container_of(rx->conn, struct perf_place, conn);
	struct perf_ctl hello;
	int err = -EPROTO;

	if (!wc->err && (wc->flags & KFI_REMOTE_CQ_DATA) && wc->data == PERF_CTL_DATA)
		err = perf_decode(rx->head, wc->len, &hello);
	if (!err && hello.type == PERF_HELLO)
		perf_session_start(place, &hello);
	else if (err == -EPROTONOSUPPORT && hello.type == PERF_HELLO)
		perf_refuse(place, &hello, err);
	kfi_rx_done(rx);
}

static const struct kfi_conn_ops place_ops = { .received = received };

static void place_free(struct perf_place *place)
{
	kfi_conn_close(&place->conn);
	kfi_freeinfo(place->info);
	kfree(place);
}

static int place_open(struct perf_server *server, const struct kfi_info *info)
{
	static const struct kfi_conn_attr attr = {
		.depth = PERF_HELLOS, .rx_len = PERF_CTL_MAX, .where = KFI_CONN_WORK,
	};
	struct perf_place *place = kzalloc(sizeof(*place), GFP_KERNEL);
	struct kfi_dom *dom;
	int err;

	if (!place)
		return -ENOMEM;
	place->server = server;
	place->info = kfi_dupinfo(info);
	place->refusal.done = refusal_done;
	kfi_conn_init(&place->conn, &place_ops);
	dom = place->info ? kfi_dom_get(server->net, info, THIS_MODULE) : ERR_PTR(-ENOMEM);
	err = PTR_ERR_OR_ZERO(dom) ?: kfi_conn_open(&place->conn, dom, info, &attr);
	if (!IS_ERR(dom))
		kfi_dom_put(dom);	/* the endpoint has its own reference */
	if (err)
		place_free(place);
	else
		list_add_tail(&place->entry, &server->places);
	return err;
}

/* Several devices may report the same address. */
static bool has_address(const struct perf_server *server, const struct kfi_info *info)
{
	const struct perf_place *place;

	list_for_each_entry(place, &server->places, entry)
		if (place->info->src_addrlen == info->src_addrlen &&
		    !strcmp(place->info->domain_attr->name, info->domain_attr->name) &&
		    !memcmp(place->info->src_addr, info->src_addr, info->src_addrlen))
			return true;
	return false;
}

/* Open an endpoint for each address. Some may fail, but not all. */
static int open_places(struct perf_server *server, const struct kfi_need *need, const char *node)
{
	struct kfi_info *list, *info;
	int err, last = -ENODATA;

	err = kfi_find(server->net, need, node, NULL, server->service, &list);
	if (err)
		return err;
	for (info = list; info; info = info->next) {
		err = has_address(server, info) ? 0 : place_open(server, info);
		if (err)
			last = err;
	}
	kfi_freeinfo(list);
	return list_empty(&server->places) ? last : 0;
}

/* ---- both ---- */

struct perf_server *perf_server_new(struct net *net)
{
	struct perf_server *server = kzalloc(sizeof(*server), GFP_KERNEL);

	if (!server)
		return NULL;
	server->net = net;
	server->listener.called = called;
	server->listener.weak = true;
	INIT_LIST_HEAD(&server->places);
	spin_lock_init(&server->lock);
	INIT_LIST_HEAD(&server->sessions);
	init_waitqueue_head(&server->gone);
	return server;
}
EXPORT_SYMBOL_GPL(perf_server_new);

/**
 * perf_server_start() - let a server serve
 * @server: the server with its parameters
 * Return: 0 or a negative error. perf_server_free() must be called either way.
 */
int perf_server_start(struct perf_server *server)
{
	const char *node = *server->node ? server->node : NULL;
	struct kfi_need need = {
		.provider = server->prov, .type = server->ep_type, .order = KFI_ORDER_SAS,
	};
	int err;

	perf_need_key(&need);
	if (server->ep_type != KFI_EP_MSG)
		return open_places(server, &need, node);
	err = kfi_listener_open(&server->listener, server->net, &need, node, server->service,
				THIS_MODULE);
	server->listens = !err;
	return err;
}
EXPORT_SYMBOL_GPL(perf_server_start);

void perf_server_free(struct perf_server *server)
{
	struct perf_place *place, *next;

	if (server->listens)
		kfi_listener_close(&server->listener);
	perf_sessions_end(server);
	list_for_each_entry_safe(place, next, &server->places, entry)
		place_free(place);
	kfree(server);
}
EXPORT_SYMBOL_GPL(perf_server_free);
