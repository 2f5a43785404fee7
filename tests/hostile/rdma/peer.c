// SPDX-License-Identifier: GPL-2.0
/*
 * peer.c - the peer: datagram endpoints of kfi_sockets, or of a bridge, a passive endpoint, and an
 * MSG endpoint for each connection.
 *
 * What is heard comes in work items, and is stored under peer_lock.
 */
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <net/ipv6.h>
#include <rdma/ib_mad.h>
#include "hostile.h"

static char *bridge = "";
module_param(bridge, charp, 0444);
MODULE_PARM_DESC(bridge, "call over the bridge whose other end is this domain");

#define IFNAME	"ib"		/* the peer's interface, in the namespace of insmod */
#define RX	16		/* receives of a datagram endpoint */
#define RX_BUF	512

static const char *const peer_nodes[HI_SIDES] = { "10.9.0.2", "10.9.0.9" };
static const u32 peer_addrs[HI_SIDES] = { 0x0a090002, 0x0a090009 };

/**
 * struct talk - a datagram endpoint
 * @addr: address of the device in @av
 * @rx: receives
 */
struct talk {
	struct kfid_domain	*domain;
	struct kfid_cq		*cq;
	struct kfid_av		*av;
	struct kfid_ep		*ep;
	kfi_addr_t		addr;
	struct rx {
		struct kfi_cqe	cqe;
		struct talk	*talk;
		union {
			struct kib_packet_head	head;
			u8			buf[RX_BUF];
		};
	} rx[RX];
};

unsigned long hi_patience = HI_WAIT;
u64 hi_mad;

static struct kfi_info *peer_info;
static struct kfid_fabric *peer_fabric;
static struct kfid_domain *peer_domain;
static struct kfid_cq *peer_cq;
static struct kfid_eq *peer_calls;
static struct kfid_pep *peer_pep;
static struct talk *peer_talks;
static DEFINE_MUTEX(peer_lock);
static struct hi_heard peer_heard[1024];
static u32 peer_next = 0x1000;		/* the next number */

bool hi_bridge(void)
{
	return *bridge;
}

/* Ways belong to the machine. */
static struct net *peer_net(void)
{
	return hi_bridge() ? &init_net : current->nsproxy->net_ns;
}

/* ---- packets ---- */

struct hi_heard *hi_number(void)
{
	struct hi_heard *h;
	u32 number = peer_next++;

	h = &peer_heard[number % ARRAY_SIZE(peer_heard)];
	hi_refuse(h);
	mutex_lock(&peer_lock);
	*h = (struct hi_heard) { .number = number, .said = get_random_u64() };
	mutex_unlock(&peer_lock);
	return h;
}

static struct hi_heard *heard(u32 number)
{
	struct hi_heard *h = &peer_heard[number % ARRAY_SIZE(peer_heard)];

	lockdep_assert_held(&peer_lock);
	return h->number == number ? h : NULL;
}

bool hi_hear(const int *counter, int least)
{
	unsigned long end = jiffies + hi_patience;

	while (READ_ONCE(*counter) < least && time_before(jiffies, end))
		usleep_range(500, 1000);
	return READ_ONCE(*counter) >= least;
}

static void rx_look(const struct kib_packet_head *head, size_t len)
{
	const struct ib_mad_hdr *mad = (const void *)(head + 1);
	struct hi_heard *h;

	if (head->type == KIB_PACKET_UD) {
		if (be32_to_cpu(head->dst_qpn) == 1 && len >= sizeof(*head) + sizeof(*mad))
			WRITE_ONCE(hi_mad, be64_to_cpu(mad->tid));
		return;
	}
	mutex_lock(&peer_lock);
	h = heard(be32_to_cpu(head->dst_qpn));
	if (h) {
		h->from = be32_to_cpu(head->src_qpn);
		if (head->type == KIB_PACKET_READY)
			h->secret = be64_to_cpu(head->secret);
		if (head->type == KIB_PACKET_READY)
			WRITE_ONCE(h->readys, h->readys + 1);
		else if (head->type == KIB_PACKET_VERSIONS)
			WRITE_ONCE(h->versions, h->versions + 1);
		else
			WRITE_ONCE(h->asks, h->asks + 1);
	}
	mutex_unlock(&peer_lock);
}

static int rx_post(struct rx *rx)
{
	struct kvec vec = { rx->buf, RX_BUF };
	struct kfi_msg msg = {
		.type = KFI_KVEC, .msg_iov = &vec, .iov_count = 1, .context = &rx->cqe,
	};

	return kfi_recvmsg(rx->talk->ep, &msg, KFI_CQE);
}

static void rx_done(struct kfid_cq *cq, struct kfi_cqe *cqe, const struct kfi_cq_err_entry *wc)
{
	struct rx *rx = container_of(cqe, struct rx, cqe);

	if (wc->err && wc->err != KFI_ETRUNC)
		return;		/* the endpoint goes */
	if (wc->len >= sizeof(rx->head) && rx->head.magic == cpu_to_be32(KIB_MAGIC) &&
	    rx->head.version == KIB_VERSION)
		rx_look(&rx->head, wc->len);
	rx_post(rx);
}

struct kib_packet_head hi_head(enum hi_side side, enum kib_packet_type type, u32 number, u32 qpn)
{
	struct kib_packet_head head = {
		.magic = cpu_to_be32(KIB_MAGIC), .version = KIB_VERSION, .type = type,
		.src_qpn = cpu_to_be32(number), .dst_qpn = cpu_to_be32(qpn),
	};

	ipv6_addr_set_v4mapped(cpu_to_be32(peer_addrs[side]), (struct in6_addr *)head.sgid);
	ipv6_addr_set_v4mapped(cpu_to_be32(HI_ADDR), (struct in6_addr *)head.dgid);
	return head;
}

static void op_done(struct kfid_cq *cq, struct kfi_cqe *cqe, const struct kfi_cq_err_entry *wc)
{
	struct hi_op *op = container_of(cqe, struct hi_op, cqe);

	op->err = -wc->err;
	complete(&op->done);
}

int hi_say_begin(enum hi_side from, struct hi_op *op, const void *packet, size_t len)
{
	struct talk *talk = &peer_talks[hi_bridge() ? 0 : from];
	struct kvec iov = { (void *)packet, len };
	struct kfi_msg msg = {
		.type = KFI_KVEC, .msg_iov = &iov, .iov_count = 1, .context = &op->cqe,
		.addr = talk->addr,
	};

	op->cqe.done = op_done;
	init_completion(&op->done);
	return kfi_sendmsg(talk->ep, &msg, KFI_CQE);
}

int hi_say(enum hi_side from, const void *packet, size_t len)
{
	struct hi_op op;

	return hi_say_begin(from, &op, packet, len) ?: hi_wait(&op);
}

int hi_ready(struct hi_heard *h, u32 qpn)
{
	struct kib_packet_head head = hi_head(HI_HIGH, KIB_PACKET_READY, h->number, qpn);

	head.secret = cpu_to_be64(h->said);
	return hi_say(HI_HIGH, &head, sizeof(head));
}

/* ---- calls of the device ---- */

static void call_refuse(struct kfi_info *info)
{
	if (info)
		kfi_reject(peer_pep, info->handle, NULL, 0);
	kfi_freeinfo(info);
}

/* Return: what is to be refused: the call, or one that it replaces, or NULL */
static struct kfi_info *called(const struct kfi_event *ev)
{
	const struct kib_hello *hello = ev->data;
	struct kfi_info *info = ev->info;
	struct hi_heard *h;

	if (ev->len < sizeof(*hello))
		return info;
	mutex_lock(&peer_lock);
	h = heard(be32_to_cpu(hello->qpn));
	if (h && be64_to_cpu(hello->secret) != h->said)
		h->wrong++;
	else if (h && !h->refuse)
		swap(h->info, info);
	if (h)
		WRITE_ONCE(h->calls, h->calls + 1);
	mutex_unlock(&peer_lock);
	return info;
}

static void call_event(struct kfid_eq *eq, void *context)
{
	struct kfi_event ev;

	while (kfi_eq_next(eq, &ev))
		if (!ev.err && ev.event == KFI_CONNREQ)
			call_refuse(called(&ev));
}

static struct kfi_info *call_take(struct hi_heard *h)
{
	struct kfi_info *info;

	mutex_lock(&peer_lock);
	info = h->info;
	h->info = NULL;
	mutex_unlock(&peer_lock);
	return info;
}

void hi_refuse(struct hi_heard *h)
{
	call_refuse(call_take(h));
}

/* ---- connections ---- */

struct kib_hello hi_hello(u32 qpn, u64 secret)
{
	return (struct kib_hello) {
		.magic = cpu_to_be32(KIB_MAGIC), .version = KIB_VERSION,
		.qpn = cpu_to_be32(qpn), .secret = cpu_to_be64(secret),
	};
}

static void peer_event(struct kfid_eq *eq, void *context)
{
	struct hi_peer *p = context;
	struct kfi_event ev;

	while (kfi_eq_next(eq, &ev)) {
		if (!ev.err && ev.event == KFI_CONNECTED) {
			complete_all(&p->answered);
			continue;
		}
		if (!completion_done(&p->answered)) {
			p->err = ev.err ?: -ECONNRESET;
			complete_all(&p->answered);
		}
		complete_all(&p->lost);
	}
}

static int peer_open(struct hi_peer *p, struct kfi_info *info)
{
	int ret;

	*p = (struct hi_peer) {};
	init_completion(&p->answered);
	init_completion(&p->lost);
	ret = kfi_eq_open(peer_fabric, NULL, &p->eq, peer_event, p);
	if (ret)
		return ret;
	return kfi_endpoint(peer_domain, info, &p->ep, p) ?:
	       kfi_ep_bind(p->ep, &peer_cq->fid, KFI_TRANSMIT | KFI_RECV) ?:
	       kfi_ep_bind(p->ep, &p->eq->fid, 0) ?: kfi_enable(p->ep);
}

static int peer_answer(struct hi_peer *p)
{
	return wait_for_completion_timeout(&p->answered, hi_patience) ? p->err : -ETIMEDOUT;
}

int hi_call(struct hi_peer *p, const void *data, size_t len)
{
	return peer_open(p, peer_info) ?: kfi_connect(p->ep, peer_info->dest_addr, data, len) ?:
	       peer_answer(p);
}

int hi_accept(struct hi_heard *h, struct hi_peer *p)
{
	struct kfi_info *info = call_take(h);
	int ret;

	*p = (struct hi_peer) {};
	if (!info)
		return -ENOENT;
	ret = peer_open(p, info) ?: kfi_accept(p->ep, NULL, 0);
	if (ret)
		kfi_reject(peer_pep, info->handle, NULL, 0);
	kfi_freeinfo(info);
	return ret ?: peer_answer(p);
}

void hi_end(struct hi_peer *p)
{
	if (p->ep)
		WARN_ON(kfi_close(&p->ep->fid));
	if (p->eq)
		WARN_ON(kfi_close(&p->eq->fid));
	*p = (struct hi_peer) {};
}

int hi_begin(struct hi_peer *p, struct hi_op *op, const void *buf, size_t len, u64 data,
	     u64 inv_key, u64 flags)
{
	struct kvec iov = { (void *)buf, len };
	struct kfi_msg msg = {
		.type = KFI_KVEC, .msg_iov = &iov, .iov_count = 1, .context = &op->cqe,
		.data = data, .inv_key = inv_key,
	};

	op->cqe.done = op_done;
	init_completion(&op->done);
	return kfi_sendmsg(p->ep, &msg, flags | KFI_CQE);
}

int hi_wait(struct hi_op *op)
{
	wait_for_completion(&op->done);
	return op->err;
}

/* A connection that has ended refuses posts: that is an outcome, too. */
int hi_send(struct hi_peer *p, const void *buf, size_t len, u64 data, u64 inv_key, u64 flags)
{
	struct hi_op op;

	return hi_begin(p, &op, buf, len, data, inv_key, flags) ?: hi_wait(&op);
}

int hi_rma(struct hi_peer *p, void *buf, size_t len, u64 addr, u64 key, bool read)
{
	struct hi_op op = { .cqe.done = op_done };
	struct kfi_rma_iov rma = { .addr = addr, .len = len, .key = key };
	struct kvec iov = { buf, len };
	struct kfi_msg_rma msg = {
		.type = KFI_KVEC, .msg_iov = &iov, .iov_count = 1, .rma_iov = &rma,
		.rma_iov_count = 1, .context = &op.cqe,
	};
	int ret;

	init_completion(&op.done);
	ret = read ? kfi_readmsg(p->ep, &msg, KFI_CQE) : kfi_writemsg(p->ep, &msg, KFI_CQE);
	return ret ?: hi_wait(&op);
}

/* ---- life ---- */

static int peer_find(enum kfi_ep_type type, const char *node, u64 flags, struct kfi_info **info)
{
	struct kfi_info *hints = kfi_allocinfo();
	int ret = -ENOMEM;

	if (!hints)
		return ret;
	hints->caps = type == KFI_EP_MSG ? KFI_MSG | KFI_RMA : KFI_MSG;
	hints->ep_attr->type = type;
	hints->domain_attr->mr_mode = KFI_MR_ALLOCATED;
	if (type == KFI_EP_MSG)
		hints->domain_attr->mr_key_size = sizeof(u32);
	hints->domain_attr->caps = hi_bridge() ? KFI_ONE_PEER : KFI_BOUND;
	hints->fabric_attr->prov_name = kstrdup(hi_bridge() ? "ntb" : "sockets", GFP_KERNEL);
	hints->domain_attr->name = kstrdup(hi_bridge() ? bridge : IFNAME, GFP_KERNEL);
	if (hints->fabric_attr->prov_name && hints->domain_attr->name)
		ret = kfi_getinfo_net(peer_net(),
				      KFI_VERSION(KFI_MAJOR_VERSION, KFI_MINOR_VERSION),
				      hi_bridge() ? NULL : node,
				      type == KFI_EP_MSG ? HI_SERVICE : HI_PACKETS, flags, hints,
				      info);
	kfi_freeinfo(hints);
	return ret;
}

static int talk_objects(struct talk *talk, struct kfi_info *info, const void *device)
{
	struct kfi_cq_attr cq = { .size = 64, .format = KFI_CQ_FORMAT_DATA };
	struct kfi_av_attr av = { .type = KFI_AV_UNSPEC };
	int ret;

	ret = kfi_domain(peer_fabric, info, &talk->domain, NULL) ?:
	      kfi_cq_open(talk->domain, &cq, &talk->cq, NULL, NULL) ?:
	      kfi_av_open(talk->domain, &av, &talk->av, NULL) ?:
	      kfi_endpoint(talk->domain, info, &talk->ep, NULL) ?:
	      kfi_ep_bind(talk->ep, &talk->cq->fid, KFI_TRANSMIT | KFI_RECV) ?:
	      kfi_ep_bind(talk->ep, &talk->av->fid, 0) ?: kfi_enable(talk->ep);
	if (!ret && kfi_av_insert(talk->av, device, 1, &talk->addr, 0, NULL) != 1)
		ret = -EADDRNOTAVAIL;
	return ret;
}

static int talk_open(struct talk *talk, const char *node)
{
	struct kfi_info *info = NULL, *device = NULL;
	struct rx *rx;
	int ret;

	ret = peer_find(KFI_EP_RDM, node, KFI_SOURCE, &info) ?:
	      peer_find(KFI_EP_RDM, HI_NODE, 0, &device) ?:
	      talk_objects(talk, info, device->dest_addr);
	for (rx = talk->rx; !ret && rx < talk->rx + RX; rx++) {
		rx->cqe.done = rx_done;
		rx->talk = talk;
		ret = rx_post(rx);
	}
	kfi_freeinfo(info);
	kfi_freeinfo(device);
	return ret;
}

static void talk_close(struct talk *talk)
{
	if (talk->ep)
		WARN_ON(kfi_close(&talk->ep->fid));
	if (talk->av)
		WARN_ON(kfi_close(&talk->av->fid));
	if (talk->cq)
		WARN_ON(kfi_close(&talk->cq->fid));
	if (talk->domain)
		WARN_ON(kfi_close(&talk->domain->fid));
}

static int calls_open(void)
{
	struct kfi_info *info;
	int ret = peer_find(KFI_EP_MSG, NULL, KFI_SOURCE, &info);

	if (ret)
		return ret;
	ret = kfi_eq_open(peer_fabric, NULL, &peer_calls, call_event, NULL) ?:
	      kfi_passive_ep(peer_fabric, info, &peer_pep, NULL) ?:
	      kfi_pep_bind(peer_pep, &peer_calls->fid, 0) ?: kfi_listen(peer_pep);
	kfi_freeinfo(info);
	return ret;
}

int hi_peers_open(void)
{
	struct kfi_cq_attr attr = { .size = 64, .format = KFI_CQ_FORMAT_DATA };
	int i, ret;

	peer_talks = kcalloc(HI_SIDES, sizeof(*peer_talks), GFP_KERNEL);
	if (!peer_talks)
		return -ENOMEM;
	ret = peer_find(KFI_EP_MSG, HI_NODE, 0, &peer_info) ?:
	      kfi_fabric_net(peer_net(), peer_info->fabric_attr, &peer_fabric, NULL) ?:
	      kfi_domain(peer_fabric, peer_info, &peer_domain, NULL) ?:
	      kfi_cq_open(peer_domain, &attr, &peer_cq, NULL, NULL) ?: calls_open();
	for (i = 0; !ret && i < (hi_bridge() ? 1 : HI_SIDES); i++)
		ret = talk_open(&peer_talks[i], peer_nodes[i]);
	return ret;
}

void hi_peers_close(void)
{
	int i;

	for (i = 0; peer_talks && i < HI_SIDES; i++)
		talk_close(&peer_talks[i]);
	for (i = 0; i < ARRAY_SIZE(peer_heard); i++)
		hi_refuse(&peer_heard[i]);
	if (peer_pep)
		WARN_ON(kfi_close(&peer_pep->fid));
	if (peer_calls)
		WARN_ON(kfi_close(&peer_calls->fid));
	for (i = 0; i < ARRAY_SIZE(peer_heard); i++)
		kfi_freeinfo(call_take(&peer_heard[i]));	/* of a call before the end */
	if (peer_cq)
		WARN_ON(kfi_close(&peer_cq->fid));
	if (peer_domain)
		WARN_ON(kfi_close(&peer_domain->fid));
	if (peer_fabric)
		WARN_ON(kfi_close(&peer_fabric->fid));
	kfi_freeinfo(peer_info);
	kfree(peer_talks);
}
