// SPDX-License-Identifier: GPL-2.0
/*
 * link.c - connections of RDM endpoints, as links of the message protocol (kfi_link.h): names, and
 * the life of a link. cm.c connects it, stream.c transfers the bytes, expose.c registers memory
 * that the peer writes to.
 *
 * The private data of rdma_cm has only the version of the link. iWARP requires that the side that
 * has called sends first, and the protocol does so: its hello is the first SEND. The side that
 * listens accepts every caller with this version, and the protocol has a deadline for the hello.
 */
#include <linux/net.h>
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
	kv_cm_name(name, &kv_stream_of(link)->qp.id->route.addr.src_addr,
		   kfi_inaddr_port(&kv_link_ep(link)->addr));
}

/* ---- private data of rdma_cm ---- */

const struct kvw_front kv_front = {
	.magic = cpu_to_le32(KVW_MAGIC),
	.version = KVW_VERSION,
	.version_min = KVW_VERSION_MIN,
};

static const struct kfi_versions kvw_speaks = {
	.lowest = KVW_VERSION_MIN, .highest = KVW_VERSION,
};

struct kfi_wire kv_wire = { .name = "links over verbs", .speaks = &kvw_speaks };

/*
 * Check what the peer at the other end of @id speaks. Return: 0; -EPROTONOSUPPORT: no version of
 * this side, which the log and "kfi show" tell; -EPROTO: not from kfi_verbs
 */
static int kv_front_check(const struct rdma_cm_id *id, const void *data, u8 len)
{
	struct net *net = id->route.addr.dev_addr.net;
	const struct kvw_front *front = data;
	struct kfi_versions theirs, agreed;
	char peer[64];
	int ret;

	if (!data || len < sizeof(*front) || front->magic != kv_front.magic)
		return -EPROTO;
	theirs = kfi_versions_read(front->version, front->version_min, 0);
	ret = kfi_versions_agree(&kvw_speaks, &theirs, &agreed);
	if (!ret && !kfi_wire_any_refused())
		return 0;
	snprintf(peer, sizeof(peer), "%pIS", &id->route.addr.dst_addr);
	if (ret == -EPROTONOSUPPORT)
		kfi_wire_refused(net, &kv_wire, peer, &theirs);
	else if (!ret)
		kfi_wire_met(net, &kv_wire, peer);
	return ret;
}

/* ---- callbacks of the queue pair ---- */

static struct kv_stream *kv_qp_stream(struct kv_qp *qp)
{
	return container_of(qp, struct kv_stream, qp);
}

/*
 * The peer has answered the call. A refusal: it has another version, or no endpoint listens. A peer
 * that accepts and has no version in common, or is not kfi_verbs, is left for the same reasons.
 */
static int kv_link_answered(struct kv_qp *qp, const void *data, u8 len, bool accepted)
{
	int ret = kv_front_check(qp->id, data, len);

	if (accepted && !ret)
		return 0;
	return ret == -EPROTONOSUPPORT ? ret : -ECONNREFUSED;
}

static void kv_link_ready(struct kv_qp *qp)
{
	struct kv_stream *s = kv_qp_stream(qp);

	kv_stream_up(s);
	kfi_link_up(s->link);	/* kv_detach() waits for this step */
}

/* Before kfi_link_up() the protocol asks no caller whether its link has ended. */
static void kv_link_ended(struct kv_qp *qp, int err)
{
	struct kv_stream *s = kv_qp_stream(qp);

	spin_lock_bh(&qp->lock);
	if (qp->state == KV_CM_CALLED && s->link)
		kfi_link_fail(s->link, err);
	kv_stream_end(s, err);
	spin_unlock_bh(&qp->lock);
}

static void kv_link_stopped(struct kv_qp *qp)
{
	kv_link_ended(qp, -ESHUTDOWN);
}

static const struct kv_qp_ops kv_stream_ops = {
	.open		= kv_stream_open,
	.answered	= kv_link_answered,
	.ready		= kv_link_ready,
	.watch		= kv_stream_watch,
	.fail		= kv_link_ended,
	.stopped	= kv_link_stopped,
	.sent		= kv_stream_sent,
};

/* ---- begin ---- */

static int kv_open(struct kfi_link *link)
{
	struct kv_stream *s = kv_stream_new(kv_link_ep(link), link, &kv_stream_ops);
	int ret;

	if (IS_ERR(s))
		return PTR_ERR(s);
	s->known = true;
	s->qp.to = (void *)link->name;
	ret = kv_cm_create(&s->qp);
	if (ret)
		kv_stream_free(s);
	else
		to_kv_link(link)->stream = s;
	return ret;
}

static int kv_dial_link(struct kfi_link *link)
{
	kv_cm_step(&kv_stream_of(link)->qp, KV_STEP_CALL);
	return 0;
}

/*
 * Make the link of a caller. The end of the connection may begin at any time after
 * kfi_link_called(), but kv_detach() waits for the handler that calls this.
 */
static int kv_link_accept(struct kv_ep *vep, struct rdma_cm_id *id)
{
	struct kv_stream *s = kv_stream_new(vep, NULL, &kv_stream_ops);
	struct kfi_link *link;
	int ret;

	if (IS_ERR(s))
		return PTR_ERR(s);
	link = kfi_link_new(&vep->pe, NULL);
	if (!link) {
		kv_stream_free(s);
		return -ENOMEM;
	}
	to_kv_link(link)->stream = s;
	s->link = link;
	s->qp.id = id;
	kv_cm_name((void *)link->name, &id->route.addr.dst_addr, 0);
	ret = kfi_link_called(link);
	if (ret)
		return ret;
	kv_cm_take(&s->qp, id);
	kv_cm_step(&s->qp, KV_STEP_ACCEPT);
	return 0;
}

/* &kv_listener.called of an RDM endpoint */
int kv_link_called(struct kv_listener *listener, struct rdma_cm_id *id,
		   const struct rdma_conn_param *param)
{
	int ret = kv_front_check(id, param->private_data, param->private_data_len);

	return ret ?: kv_link_accept(container_of(listener, struct kv_ep, listener), id);
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

/* The device's completions find no link from here on. */
static void kv_unlink(struct kv_stream *s)
{
	spin_lock_bh(&s->qp.lock);
	s->link = NULL;
	spin_unlock_bh(&s->qp.lock);
}

static void kv_detach(struct kfi_link *link)
{
	struct kv_stream *s = kv_stream_of(link);

	kv_cm_detach(&s->qp);
	kv_unlink(s);
}

static void kv_close(struct kfi_link *link, bool abort)
{
	struct kv_stream *s = kv_stream_of(link);

	kv_unlink(s);	/* a link that has made no callback was not detached */
	if (!abort)
		kv_stream_linger(s);
	/* A message that arrives now must not cause a post: kv_cm_close() would not wait for it. */
	spin_lock_bh(&s->qp.lock);
	kv_stream_end(s, -ESHUTDOWN);
	spin_unlock_bh(&s->qp.lock);
	kv_stream_close(s);
	to_kv_link(link)->stream = NULL;
	kv_stream_free(s);
}

/* The peer's link answers a ping; over InfiniBand and RoCE its device may be enough. */
static int kv_probe(struct kfi_link *link)
{
	struct kv_stream *s = kv_stream_of(link);

	if (READ_ONCE(s->ended))
		return -1;
	if (!kv_probing(s)) {
		WRITE_ONCE(s->probing, jiffies ?: 1);
		mod_delayed_work(kv_cm_wq, &s->qp.watch_work, 0);
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
	.origin		= kfi_inaddr_name_origin,
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
