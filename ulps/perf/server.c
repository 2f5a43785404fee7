// SPDX-License-Identifier: GPL-2.0
/* server.c - listeners, each with a thread that receives hellos and starts a session for each. */
#include <linux/export.h>
#include <linux/slab.h>

#include "perf.h"

#define LISTENERS_MAX	32

/* What a passive endpoint offers to its sessions; a provider may have less. */
static const struct {
	u64	caps;
	size_t	ops;
} offers[] = {
	{ KFI_MSG | KFI_TAGGED | KFI_RMA, 520 },
	{ KFI_MSG | KFI_TAGGED | KFI_RMA, 0 },
	{ KFI_MSG | KFI_RMA, 0 },
	{ KFI_MSG, 0 },
};

/* ---- refusing ---- */

static void refuse_msg(struct perf_listener *l, struct kfi_info *req, const void *data, size_t len)
{
	if (req)
		kfi_reject(l->pep, req->handle, data, len);
}

static void refuse_rdm(struct perf_listener *l, const struct perf_ctl *hello, const void *data,
		       size_t len)
{
	struct kvec iov = { .iov_base = (void *)data, .iov_len = len };
	struct kfi_msg msg = {
		.type = KFI_KVEC,
		.msg_iov = &iov,
		.iov_count = 1,
		.data = PERF_CTL_DATA,
	};

	if (hello->addrlen != l->info->src_addrlen || len > l->info->tx_attr->inject_size ||
	    kfi_av_insert(l->av, hello->addr, 1, &msg.addr, 0, NULL) != 1)
		return;
	kfi_sendmsg(l->ep, &msg, KFI_INJECT | KFI_NO_COMPLETION | KFI_REMOTE_CQ_DATA);
	kfi_av_remove(l->av, &msg.addr, 1, 0);
}

void perf_refuse(struct perf_listener *l, const struct perf_ctl *hello, struct kfi_info *req,
		 int err)
{
	struct perf_ctl ctl = { .type = PERF_WELCOME, .status = -err };
	u8 data[PERF_CTL_MAX];
	size_t len = perf_encode(&ctl, data);

	atomic64_inc(&l->server->counts.refused);
	if (l->pep)
		refuse_msg(l, req, data, len);
	else
		refuse_rdm(l, hello, data, len);
}

/* ---- the threads ---- */

static void take_request(struct perf_listener *l)
{
	struct {
		struct kfi_eq_cm_entry	cm;
		u8			data[PERF_CTL_MAX];
	} e;
	struct perf_ctl hello;
	u32 event;
	ssize_t n;

	n = kfi_eq_sread(l->eq, &event, &e, sizeof(e), PERF_SLICE_MS, 0);
	if (n == -KFI_EAVAIL) {
		struct kfi_eq_err_entry err = {};

		kfi_eq_readerr(l->eq, &err, 0);
	}
	if (n < (ssize_t)sizeof(e.cm) || event != KFI_CONNREQ)
		return;
	if (!perf_decode(e.cm.data, n - sizeof(e.cm), &hello) && hello.type == PERF_HELLO) {
		perf_session_start(l, &hello, e.cm.info);
		return;
	}
	kfi_reject(l->pep, e.cm.info->handle, NULL, 0);
	kfi_freeinfo(e.cm.info);
}

static int post_hello(struct perf_listener *l, void *buf)
{
	return kfi_recv(l->ep, buf, PERF_CTL_MAX, NULL, KFI_ADDR_UNSPEC, buf);
}

static void take_hello(struct perf_listener *l, const struct kfi_cq_tagged_entry *e)
{
	struct perf_ctl hello;

	if ((e->flags & KFI_REMOTE_CQ_DATA) && e->data == PERF_CTL_DATA &&
	    !perf_decode(e->op_context, e->len, &hello) && hello.type == PERF_HELLO)
		perf_session_start(l, &hello, NULL);
	post_hello(l, e->op_context);
}

/* The receive of a hello that was too long is posted again; sends have no receive. */
static void take_error(struct perf_listener *l)
{
	struct kfi_cq_err_entry e = {};

	if (kfi_cq_readerr(l->cq, &e, 0) == 1 && e.op_context)
		post_hello(l, e.op_context);
}

static void take_hellos(struct perf_listener *l)
{
	struct kfi_cq_tagged_entry e[4];
	ssize_t n = kfi_cq_sread(l->cq, e, ARRAY_SIZE(e), NULL, PERF_SLICE_MS);
	ssize_t i;

	if (n == -KFI_EAVAIL)
		take_error(l);
	else if (n < 0 && n != -EAGAIN)
		schedule_timeout_idle(msecs_to_jiffies(PERF_SLICE_MS));
	for (i = 0; i < n; i++)
		take_hello(l, &e[i]);
}

static int listener_main(void *arg)
{
	struct perf_listener *l = arg;

	while (!kthread_should_stop()) {
		if (l->pep)
			take_request(l);
		else
			take_hellos(l);
		perf_sessions_reap(l, false);
	}
	perf_sessions_reap(l, true);
	return 0;
}

/* ---- opening ---- */

static int open_pep(struct perf_listener *l)
{
	struct kfi_eq_attr attr = { .wait_obj = KFI_WAIT_QUEUE };

	return kfi_eq_open(l->fabric, &attr, &l->eq, NULL, NULL) ?:
	       kfi_passive_ep(l->fabric, l->info, &l->pep, NULL) ?:
	       kfi_pep_bind(l->pep, &l->eq->fid, 0) ?:
	       kfi_listen(l->pep);
}

static int post_hellos(struct perf_listener *l)
{
	int i, err = 0;

	l->bufs = kcalloc(PERF_HELLOS, sizeof(*l->bufs), GFP_KERNEL);
	if (!l->bufs)
		return -ENOMEM;
	for (i = 0; !err && i < PERF_HELLOS; i++)
		err = post_hello(l, l->bufs[i]);
	return err;
}

static int open_ep(struct perf_listener *l)
{
	struct kfi_cq_attr cq = {
		.size = 4 * PERF_HELLOS,
		.format = KFI_CQ_FORMAT_TAGGED,
		.wait_obj = KFI_WAIT_QUEUE,
	};
	struct kfi_av_attr av = { .type = KFI_AV_TABLE };

	return kfi_cq_open(l->domain, &cq, &l->cq, NULL, NULL) ?:
	       kfi_av_open(l->domain, &av, &l->av, NULL) ?:
	       kfi_endpoint(l->domain, l->info, &l->ep, NULL) ?:
	       kfi_ep_bind(l->ep, &l->cq->fid, KFI_TRANSMIT | KFI_RECV) ?:
	       kfi_ep_bind(l->ep, &l->av->fid, 0) ?:
	       kfi_enable(l->ep) ?:
	       post_hellos(l);
}

static int listener_open(struct perf_listener *l)
{
	int err;

	err = kfi_fabric_net(l->server->net, l->info->fabric_attr, &l->fabric, NULL) ?:
	      kfi_domain(l->fabric, l->info, &l->domain, NULL);
	if (err)
		return err;
	err = l->server->ep_type == KFI_EP_MSG ? open_pep(l) : open_ep(l);
	if (err)
		return err;
	l->task = kthread_run(listener_main, l, "kfi_perf_srv/%u", l->server->id);
	if (!IS_ERR(l->task))
		return 0;
	err = PTR_ERR(l->task);
	l->task = NULL;
	return err;
}

#define CLOSE(obj)					\
do {							\
	if (obj)					\
		WARN_ON_ONCE(kfi_close(&(obj)->fid));	\
	(obj) = NULL;					\
} while (0)

static void listener_free(struct perf_listener *l)
{
	if (l->task)
		kthread_stop(l->task);
	CLOSE(l->ep);
	CLOSE(l->pep);
	CLOSE(l->av);
	CLOSE(l->cq);
	CLOSE(l->eq);
	CLOSE(l->domain);
	CLOSE(l->fabric);
	kfi_freeinfo(l->info);
	kfree(l->bufs);
	kfree(l);
}

/* Consumes @info. */
static int add_listener(struct perf_server *server, struct kfi_info *info)
{
	struct perf_listener *l = kzalloc(sizeof(*l), GFP_KERNEL);
	int err;

	if (!l) {
		kfi_freeinfo(info);
		return -ENOMEM;
	}
	l->server = server;
	l->info = info;
	INIT_LIST_HEAD(&l->sessions);
	err = listener_open(l);
	if (err) {
		listener_free(l);
		return err;
	}
	list_add_tail(&l->entry, &server->listeners);
	return 0;
}

/* Several devices may report the same address. */
static bool same_address(const struct kfi_info *a, const struct kfi_info *b)
{
	return a->src_addrlen == b->src_addrlen &&
	       !strcmp(a->domain_attr->name, b->domain_attr->name) &&
	       (!a->src_addrlen || !memcmp(a->src_addr, b->src_addr, a->src_addrlen));
}

static bool has_address(const struct perf_server *server, const struct kfi_info *info)
{
	const struct perf_listener *l;

	list_for_each_entry(l, &server->listeners, entry)
		if (same_address(l->info, info))
			return true;
	return false;
}

/* Open a listener for each address. Some may fail, but not all. */
static int add_listeners(struct perf_server *server, struct kfi_info *list)
{
	unsigned int n = 0;
	struct kfi_info *info;
	int err, last = -ENODATA;

	while ((info = list)) {
		list = info->next;
		info->next = NULL;
		if (n == LISTENERS_MAX || has_address(server, info)) {
			kfi_freeinfo(info);
			continue;
		}
		err = add_listener(server, info);
		if (err)
			last = err;
		else
			n++;
	}
	return n ? 0 : last;
}

static int find_addresses(struct perf_server *server, struct kfi_info **list)
{
	struct perf_ask ask = {
		.net = server->net,
		.prov = server->prov,
		.node = server->node,
		.service = server->service,
		.flags = KFI_SOURCE,
		.ep_type = server->ep_type,
		.caps = KFI_MSG,
	};
	int i, err;

	if (server->ep_type != KFI_EP_MSG)
		return perf_getinfo(&ask, list);
	for (i = 0; i < ARRAY_SIZE(offers); i++) {
		ask.caps = offers[i].caps;
		ask.tx = offers[i].ops;
		ask.rx = offers[i].ops;
		ask.iov = offers[i].ops ? PERF_IOV_MAX : 0;
		err = perf_getinfo(&ask, list);
		if (err != -ENODATA)
			return err;
	}
	return err;
}

/**
 * perf_server_start() - open a server's listeners
 * @server: the server with its parameters
 * Return: 0 or a negative error. perf_server_free() must be called either way.
 */
int perf_server_start(struct perf_server *server)
{
	struct kfi_info *list;
	int err;

	INIT_LIST_HEAD(&server->listeners);
	err = find_addresses(server, &list);
	return err ?: add_listeners(server, list);
}
EXPORT_SYMBOL_GPL(perf_server_start);

void perf_server_free(struct perf_server *server)
{
	struct perf_listener *l, *next;

	list_for_each_entry_safe(l, next, &server->listeners, entry) {
		list_del(&l->entry);
		listener_free(l);
	}
	kfree(server);
}
EXPORT_SYMBOL_GPL(perf_server_free);
