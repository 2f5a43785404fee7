// SPDX-License-Identifier: GPL-2.0
/*
 * link.c - connections of RDM endpoints, as links of the message protocol (kfi_link.h): names, and
 * the life of a link. stream.c transfers the bytes, expose.c registers memory that the peer writes
 * to.
 *
 *	the side that calls			the side that listens
 *	kv_open(), kv_dial()
 *	ADDR_RESOLVED, ROUTE_RESOLVED
 *	kv_connect_work(): queue pair, connect
 *				------------>	kv_link_called(): queue pair, accept
 *	ESTABLISHED		<------------
 *	hello of the protocol	============>	the first SEND
 *
 * The private data of rdma_cm has only the version of the link. iWARP requires that the side that
 * has called sends first, and the protocol does so. Over InfiniBand the first SEND may arrive
 * before rdma_cm reports that the connection is established; the link does not wait for that
 * report. If the last message of the handshake is lost, ib_cm requests it again. rdma_notify() is
 * not used: if the peer disconnects at once, ib_cm would repeat its answer for up to a minute, and
 * rdma_destroy_id() would wait for the end of the repetition.
 */
#include <linux/net.h>
#include <linux/sched/mm.h>
#include <rdma/ib_cm.h>
#include "verbs.h"

static struct kv_ep *kv_link_ep(const struct kfi_link *link)
{
	return container_of(link->ep, struct kv_ep, pe);
}

/* ---- names ---- */

static const struct kfi_inaddr_names *kv_names(const struct kfi_ep *ep)
{
	return &to_kv_domain(ep->domain)->names;
}

static int kv_name_read(const struct kfi_ep *ep, const void *addr, void *name)
{
	return kfi_inaddr_name_read(kv_names(ep), addr, name) ?:
	       kfi_inaddr_check(kv_names(ep)->family, name);
}

static int kv_name_write(const struct kfi_ep *ep, const void *name, void *addr)
{
	return kfi_inaddr_name_write(kv_names(ep), name, addr);
}

static u16 kv_name_port(const struct kfi_proto_ep *pe)
{
	return be16_to_cpu(kfi_inaddr_port(&container_of(pe, struct kv_ep, pe)->addr));
}

static void kv_name_self(struct kfi_link *link, void *name)
{
	kv_cm_name(name, &to_kv_link(link)->id->route.addr.src_addr,
		   kfi_inaddr_port(&kv_link_ep(link)->addr));
}

/* ---- private data of rdma_cm ---- */

static const struct kvw_front kv_front = {
	.magic = cpu_to_le32(KVW_MAGIC),
	.version = KVW_VERSION,
	.version_min = KVW_VERSION,
};

/* Return: 0; -EPROTONOSUPPORT: another version of kfi_verbs; -EPROTO: not from kfi_verbs */
static int kv_front_check(const void *data, u8 len)
{
	const struct kvw_front *front = data;

	if (!data || len < sizeof(*front) || front->magic != kv_front.magic)
		return -EPROTO;
	return front->version_min > KVW_VERSION || front->version < KVW_VERSION ?
	       -EPROTONOSUPPORT : 0;
}

/* kvw_head.limit ensures that each SEND finds a receive, so no device has to wait for one. */
static struct rdma_conn_param kv_param(void)
{
	return (struct rdma_conn_param) {
		.private_data = &kv_front,
		.private_data_len = sizeof(kv_front),
		.retry_count = 7,
		.rnr_retry_count = 7,
	};
}

static void kv_link_ended(struct kv_stream *s, int err)
{
	spin_lock_bh(&s->qp.lock);
	kv_stream_end(s, err);
	spin_unlock_bh(&s->qp.lock);
}

/* ---- calling ---- */

/*
 * siw_connect() waits until TCP is connected, for minutes if the peer does not answer. All events
 * of rdma_cm come from one ordered workqueue, so the handler must not wait for that.
 */
static void kv_connect_work(struct work_struct *work)
{
	struct kv_link *kl = container_of(work, struct kv_link, connect);
	unsigned int noio = memalloc_noio_save();
	struct rdma_conn_param param = kv_param();
	int ret = 0;

	if (!READ_ONCE(kl->detached))
		ret = kv_stream_open(kl->stream, &kl->link.ep->ep, kl->id) ?:
		      rdma_connect(kl->id, &param);
	memalloc_noio_restore(noio);
	if (ret)
		kv_link_ended(kl->stream, ret);
}

static int kv_open(struct kfi_link *link)
{
	struct kfi_ep *ep = &link->ep->ep;
	struct kv_domain *kdom = to_kv_domain(ep->domain);
	struct kv_link *kl = to_kv_link(link);
	struct rdma_cm_id *id;

	if (!kv_domain_get(kdom))
		return -ENODEV;
	kl->stream = kv_stream_new(kdom, link);
	if (!kl->stream) {
		kv_domain_put(kdom);
		return -ENOMEM;
	}
	id = rdma_create_id(kfi_ep_net(ep), kv_link_handler, kl, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id)) {
		kv_stream_free(kl->stream);
		kl->stream = NULL;
		return PTR_ERR(id);
	}
	kv_cm_set_options(id, ep);
	INIT_WORK(&kl->connect, kv_connect_work);
	kl->stream->dialed = true;
	kl->id = id;
	return 0;
}

/* Call from the endpoint's address, by which the peer identifies the endpoint, and any port. */
static int kv_dial_link(struct kfi_link *link)
{
	union kfi_inaddr src = kv_link_ep(link)->addr, dst = *(union kfi_inaddr *)link->name;
	int ret;

	kfi_inaddr_set_port(&src, 0);
	ret = rdma_resolve_addr(to_kv_link(link)->id, kfi_inaddr_any(&src) ? NULL : &src.sa,
				&dst.sa, READ_ONCE(kv_proto.params.connect_timeout_ms));
	return ret && ret != -ENOMEM ? -EHOSTUNREACH : ret;
}

static int kv_addr_resolved(struct kv_link *kl)
{
	if (kl->id->device != kl->stream->qp.kdom->ib)
		return -EHOSTUNREACH;	/* the route uses another device */
	return rdma_resolve_route(kl->id, READ_ONCE(kv_proto.params.connect_timeout_ms));
}

/* The call was rejected: the peer has another version of the link, or no endpoint listens. */
static int kv_refused(struct kv_link *kl, struct rdma_cm_event *event)
{
	const struct rdma_conn_param *param = &event->param.conn;

	return kv_front_check(param->private_data, param->private_data_len) == -EPROTONOSUPPORT ?
	       -EPROTONOSUPPORT : -ECONNREFUSED;
}

/* ---- events ---- */

static void kv_established(struct kv_link *kl)
{
	struct kv_stream *s = kl->stream;

	s->connected = true;
	if (!s->dialed || kl->detached)
		return;
	kv_stream_up(s);
	kfi_link_up(&kl->link);
}

static int kv_link_event(struct kv_link *kl, struct rdma_cm_event *event)
{
	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		return kl->detached ? 0 : kv_addr_resolved(kl);
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		if (!kl->detached)
			queue_work(kv_cm_wq, &kl->connect);
		return 0;
	case RDMA_CM_EVENT_ESTABLISHED:
		kv_established(kl);
		return 0;
	case RDMA_CM_EVENT_REJECTED:
		if (!kl->stream->up)
			return kv_refused(kl, event);
		fallthrough;
	case RDMA_CM_EVENT_DISCONNECTED:
		return -ESHUTDOWN;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		return -ENODEV;
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
		return kv_cm_error(event);
	default:
		return 0;
	}
}

/* kv_close() destroys the identifier. */
int kv_link_handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	unsigned int noio = memalloc_noio_save();	/* writeback may wait for this connection */
	struct kv_link *kl = id->context;
	int ret = kv_link_event(kl, event);

	memalloc_noio_restore(noio);
	if (ret)
		kv_link_ended(kl->stream, ret);
	return 0;
}

/* ---- listening ---- */

static int kv_accept(struct kv_link *kl, struct kv_ep *vep)
{
	struct rdma_conn_param param = kv_param();
	int ret;

	kv_cm_set_options(kl->id, &vep->pe.ep);
	ret = kv_stream_open(kl->stream, &vep->pe.ep, kl->id);
	if (ret)
		return ret;
	kv_stream_up(kl->stream);
	ret = rdma_accept(kl->id, &param);
	kl->stream->connected = !ret;
	return ret;
}

/*
 * Set up the link of a caller. The end of the connection may begin at any time after
 * kfi_link_called(), but kv_detach() waits for this handler.
 */
static int kv_link_accept(struct kv_ep *vep, struct rdma_cm_id *id)
{
	struct kv_domain *kdom = to_kv_domain(vep->pe.ep.domain);
	struct kv_stream *s;
	struct kfi_link *link;
	struct kv_link *kl;
	int ret;

	if (id->device != kdom->ib)
		return -EHOSTUNREACH;
	if (!kv_domain_get(kdom))
		return -ENODEV;
	s = kv_stream_new(kdom, NULL);
	if (!s) {
		kv_domain_put(kdom);
		return -ENOMEM;
	}
	link = kfi_link_new(&vep->pe, NULL);
	if (!link) {
		kv_stream_free(s);
		return -ENOMEM;
	}
	s->link = link;
	kl = to_kv_link(link);
	kl->stream = s;
	kl->id = id;
	kl->in_connreq = true;
	kv_cm_name((void *)link->name, &id->route.addr.dst_addr, 0);
	ret = kfi_link_called(link);
	if (ret)
		return ret;
	kl->in_connreq = false;
	id->context = kl;
	id->event_handler = kv_link_handler;
	ret = kv_accept(kl, vep);
	if (ret)
		kfi_link_fail(link, ret);
	else
		kfi_link_up(link);
	return 0;
}

/* The handler of a listening endpoint. Nonzero: rdma_cm destroys the identifier of the caller. */
int kv_link_called(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	const struct rdma_conn_param *param = &event->param.conn;
	unsigned int noio;
	int ret;

	if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST)
		return 0;
	ret = kv_front_check(param->private_data, param->private_data_len);
	if (ret == -EPROTONOSUPPORT)
		net_warn_ratelimited("kfi_verbs: %pISpc speaks another version, not %u\n",
				     &id->route.addr.dst_addr, KVW_VERSION);
	noio = memalloc_noio_save();
	ret = ret ?: kv_link_accept(id->context, id);
	memalloc_noio_restore(noio);
	if (ret)
		rdma_reject(id, &kv_front, sizeof(kv_front), IB_CM_REJ_CONSUMER_DEFINED);
	return ret;
}

/* The peer has proved its identity: post more receives for it. */
static void kv_admit(struct kfi_link *link)
{
	kv_stream_grow(kv_stream_of(link));
}

/* ---- end ---- */

static int kv_ended(const struct kfi_link *link)
{
	return READ_ONCE(kv_stream_of(link)->ended);
}

/* Over siw this waits for siw_connect(), which runs under the handler lock. */
static void kv_detach(struct kfi_link *link)
{
	struct kv_link *kl = to_kv_link(link);

	rdma_lock_handler(kl->id);
	WRITE_ONCE(kl->detached, true);
	rdma_unlock_handler(kl->id);
	if (kl->stream->dialed)
		cancel_work_sync(&kl->connect);		/* no handler queues it any more */
	kv_stream_detach(kl->stream);
}

static void kv_close(struct kfi_link *link, bool abort)
{
	struct kv_link *kl = to_kv_link(link);
	struct kv_stream *s = kl->stream;

	kv_stream_detach(s);
	if (!abort)
		kv_stream_linger(s);
	/* A message that arrives now must not cause a post: kv_qp_drain() would not wait for it. */
	spin_lock_bh(&s->qp.lock);
	kv_stream_end(s, -ESHUTDOWN);
	spin_unlock_bh(&s->qp.lock);
	if (s->qp.ib)
		rdma_disconnect(kl->id);
	kv_stream_close(s, kl->id);
	if (!kl->in_connreq)
		rdma_destroy_id(kl->id);
	kl->stream = NULL;
	kv_stream_free(s);
}

/* The peer's link answers a ping. */
static int kv_probe(struct kfi_link *link)
{
	struct kv_stream *s = kv_stream_of(link);

	if (READ_ONCE(s->ended))
		return -1;
	if (!kv_probing(s)) {
		WRITE_ONCE(s->probing, jiffies ?: 1);
		mod_delayed_work(kv_cm_wq, &s->tick, 0);
		return 0;
	}
	/* An answer in the same tick counts: a caller that is refused by mistake calls again. */
	if (time_after_eq(READ_ONCE(s->qp.last_active), s->probing)) {
		WRITE_ONCE(s->probing, 0);
		return 1;
	}
	return time_after(jiffies, s->probing + msecs_to_jiffies(KV_PROBE_MS)) ? -1 : 0;
}

/* ---- lock of the link ---- */

static bool kv_trylock(struct kfi_link *link)
{
	return spin_trylock_bh(&kv_stream_of(link)->qp.lock);
}

static bool kv_lock(struct kfi_link *link)
{
	spin_lock_bh(&kv_stream_of(link)->qp.lock);
	return true;
}

static void kv_unlock(struct kfi_link *link)
{
	spin_unlock_bh(&kv_stream_of(link)->qp.lock);
}

const struct kfi_link_ops kv_link_ops = {
	.link_size	= sizeof(struct kv_link),
	.name_len	= sizeof(union kfi_inaddr),
	.flags		= KFI_LINK_REPORTS_SENT,
	.place_min	= KV_PLACE_MIN,

	.len		= kfi_inaddr_name_len,
	.cmp		= kfi_inaddr_cmp,
	.hash		= kfi_inaddr_hash,
	.name		= kv_name_read,
	.address	= kv_name_write,
	.source		= kfi_inaddr_name_origin,
	.port		= kv_name_port,
	.set_port	= kfi_inaddr_name_set_port,
	.self		= kv_name_self,
	.wire_name	= kfi_inaddr_name_wire,

	.open		= kv_open,
	.dial		= kv_dial_link,
	.admit		= kv_admit,
	.ended		= kv_ended,
	.detach		= kv_detach,
	.close		= kv_close,
	.probe		= kv_probe,

	.trylock	= kv_trylock,
	.lock		= kv_lock,
	.unlock		= kv_unlock,

	.post		= kv_post_unit,
	.splices	= kv_splices,
	.sent_to	= kv_sent_to,
	.read		= kv_read,

	.expose		= kv_expose,
	.conceal	= kv_conceal,
};
