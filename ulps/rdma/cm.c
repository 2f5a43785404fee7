// SPDX-License-Identifier: GPL-2.0
/*
 * cm.c - connections, as rdma_cm wants them of an iWARP device.
 *
 *	caller:		iw_connect, then CONNECT_REPLY; after its success CLOSE
 *	listener:	CONNECT_REQUEST (listen.c), iw_accept, ESTABLISHED inside of it; then CLOSE
 *
 * iw_cm takes an event in a wrong state for a BUG(). So the context that raises an event takes
 * &kib_qp.cm_id before, under &kib_qp.cm_lock: the first outcome of a call is the only
 * CONNECT_REPLY, and end_work or kib_destroy_qp() raises the only CLOSE, under &kib_qp.lock. The
 * reference of the identifier is dropped after its last event. iw_cm needs memory only for private
 * data; an event without it can't get lost. Neither an event nor its handler waits for a peer.
 */
#include <linux/inet.h>
#include <net/ip6_route.h>
#include <net/ipv6.h>
#include <net/route.h>
#include <rdma/rdma_cm.h>
#include "kib.h"

/* ---- addresses ---- */

static void cm_text(const struct sockaddr_storage *addr, const char *ifname, char *buf,
		    size_t size)
{
	const struct sockaddr_in6 *in6 = (const void *)addr;
	int n = snprintf(buf, size, "%pISc", addr);

	if (addr->ss_family == AF_INET6 && ipv6_addr_type(&in6->sin6_addr) & IPV6_ADDR_LINKLOCAL)
		snprintf(buf + n, size - n, "%%%s", ifname);
}

/*
 * Return: the route to an address of one node, referenced, which may be one that has an error; or
 * NULL
 */
static struct dst_entry *cm_route(struct net *net, const struct sockaddr_storage *to)
{
	const struct sockaddr_in6 *in6 = (const void *)to;
	struct flowi6 fl6 = { .flowi6_oif = in6->sin6_scope_id, .daddr = in6->sin6_addr };
	struct flowi4 fl4 = { .daddr = ((const struct sockaddr_in *)to)->sin_addr.s_addr };
	struct rtable *rt;

	if (to->ss_family == AF_INET6) {	/* without IPv6 there are no tables */
		if (!ipv6_mod_enabled() || !(ipv6_addr_type(&fl6.daddr) & IPV6_ADDR_UNICAST))
			return NULL;
		return ip6_route_output(net, NULL, &fl6);
	}
	rt = ip_route_output_key(net, &fl4);
	if (IS_ERR(rt))
		return NULL;
	if (rt->rt_type == RTN_UNICAST)
		return &rt->dst;
	ip_rt_put(rt);
	return NULL;
}

/* Does this node send by the network device, or a VLAN of it, what is for this address? */
bool kib_routed(struct kib_dev *dev, const struct sockaddr_storage *to)
{
	struct net *net = kib_net_get(dev);
	struct dst_entry *dst;
	bool yes;

	if (!net)
		return false;
	dst = cm_route(net, to);
	rcu_read_lock();
	yes = dst && !dst->error && kib_dev_serves(dev, dst->dev->ifindex);
	rcu_read_unlock();
	dst_release(dst);
	put_net(net);
	return yes;
}

/* The source is the address that rdma_cm has chosen, at any port. */
static int cm_set_source(struct kfi_info *info, const struct sockaddr_storage *addr)
{
	size_t len = addr->ss_family == AF_INET ? sizeof(struct sockaddr_in) :
						  sizeof(struct sockaddr_in6);
	union {
		struct sockaddr_in	in;
		struct sockaddr_in6	in6;
	} *src = kmemdup(addr, len, GFP_KERNEL_ACCOUNT);

	if (!src)
		return -ENOMEM;
	src->in.sin_port = 0;	/* as that of IPv6 */
	kfree(info->src_addr);
	info->src_addr = src;
	info->src_addrlen = len;
	return 0;
}

/* The interface of the route is that of the device, or one that the device serves, too. */
static int cm_find(struct kib_dev *dev, const struct iw_cm_id *id, struct kfi_info **info)
{
	char node[INET6_ADDRSTRLEN + IFNAMSIZ + 1], ifname[IFNAMSIZ];
	const struct rdma_cm_id *ulp_id = id->context;
	int ret;

	if (*dev->way && !kib_routed(dev, &id->m_remote_addr))
		return -EHOSTUNREACH;	/* an address of this node: it is at no other end */
	if (!kib_dev_ifname(dev, ulp_id->route.addr.dev_addr.bound_dev_if, ifname))
		return -EHOSTUNREACH;
	cm_text(&id->m_remote_addr, ifname, node, sizeof(node));
	ret = kib_find(dev, ifname, node, 0, info);
	if (!ret && !*dev->way) {
		ret = cm_set_source(*info, &id->m_local_addr);
		if (ret)
			kfi_freeinfo(*info);
	}
	return ret == -ENODATA ? -EHOSTUNREACH : ret;
}

static void cm_fill_addr(u8 *bytes, __be16 *port, const struct sockaddr_storage *addr)
{
	const struct sockaddr_in6 *in6 = (const void *)addr;
	const struct sockaddr_in *in = (const void *)addr;

	*port = in->sin_port;	/* as that of IPv6 */
	if (addr->ss_family == AF_INET)
		memcpy(bytes, &in->sin_addr, sizeof(in->sin_addr));
	else
		memcpy(bytes, &in6->sin6_addr, sizeof(in6->sin6_addr));
}

/* ---- events ---- */

/* Return: 0; -ENOMEM if there is no memory for the data: the event was not raised */
static int cm_raise(struct kib_qp *qp, struct iw_cm_id *id, enum iw_cm_event_type type, int status,
		    const void *data, size_t len)
{
	struct iw_cm_event event = {
		.event = type, .status = status, .ird = qp->ird, .ord = qp->ord,
		.private_data = len ? (void *)data : NULL,	/* ULPs test it, not its length */
		.private_data_len = min_t(size_t, len, U8_MAX),
		.local_addr = id->m_local_addr, .remote_addr = id->m_remote_addr,
	};

	return id->event_handler(id, &event);
}

/*
 * Take the identifier, to raise its next event. &kib_qp.established decides which one that is, and
 * does not change while the identifier is taken.
 */
static struct iw_cm_id *cm_take(struct kib_qp *qp)
{
	struct iw_cm_id *id;
	unsigned long flags;

	spin_lock_irqsave(&qp->cm_lock, flags);
	id = qp->cm_id;
	qp->cm_id = NULL;
	spin_unlock_irqrestore(&qp->cm_lock, flags);
	return id;
}

/* Let @id get the next event, too. */
static void cm_give(struct kib_qp *qp, struct iw_cm_id *id, bool established)
{
	unsigned long flags;

	spin_lock_irqsave(&qp->cm_lock, flags);
	qp->cm_id = id;
	qp->established = established;
	spin_unlock_irqrestore(&qp->cm_lock, flags);
}

/*
 * The call of this side has failed, which is its last event. Without memory for the data of the
 * peer, the event has none.
 */
static void cm_refused(struct kib_qp *qp, struct iw_cm_id *id, int status, const void *data,
		       size_t len)
{
	if (cm_raise(qp, id, IW_CM_EVENT_CONNECT_REPLY, status, data, len))
		cm_raise(qp, id, IW_CM_EVENT_CONNECT_REPLY, status, NULL, 0);
	id->rem_ref(id);
}

/* The last event, whatever was the last one but one. */
static void cm_last(struct kib_qp *qp, int status, const void *data, size_t len)
{
	struct iw_cm_id *id = cm_take(qp);

	if (!id)
		return;
	if (qp->established) {
		cm_raise(qp, id, IW_CM_EVENT_CLOSE, 0, NULL, 0);
		id->rem_ref(id);
	} else {
		cm_refused(qp, id, status, data, len);
	}
}

/* The endpoint is closed. */
void kib_cm_end(struct kib_qp *qp)
{
	lockdep_assert_held(&qp->lock);
	cm_last(qp, -ECONNABORTED, NULL, 0);
}

/*
 * iw_connect fails: the identifier gets no event. Return: false if it has got one,
 * because the device or namespace has gone; then iw_cm must get no error
 */
static bool cm_abandon(struct kib_qp *qp)
{
	struct iw_cm_id *id = cm_take(qp);

	if (id)
		id->rem_ref(id);
	return id;
}

/* Return: the answer, or NULL if the peer is no kfi_ib */
static const struct kib_answer *cm_answer(const struct kfi_event *ev)
{
	const struct kib_answer *answer = ev->data;

	return ev->len >= sizeof(*answer) && answer->magic == cpu_to_be32(KIB_MAGIC) &&
	       answer->version == KIB_VERSION ? answer : NULL;
}

static void cm_connected(struct kib_qp *qp, const struct kfi_event *ev)
{
	const struct kib_answer *answer = cm_answer(ev);
	struct iw_cm_id *id;

	if (READ_ONCE(qp->established)) {	/* the listener's side */
		kib_qp_ready(qp);
		return;
	}
	id = cm_take(qp);
	if (!id)
		return;		/* it has ended */
	if (answer) {
		qp->ord = min(qp->ord, be16_to_cpu(answer->ird));
		kib_qp_ready(qp);
	}
	if (!answer || cm_raise(qp, id, IW_CM_EVENT_CONNECT_REPLY, 0, answer + 1,
				ev->len - sizeof(*answer))) {
		cm_refused(qp, id, answer ? -ENOMEM : -EPROTO, NULL, 0);
		kib_qp_fail(qp);
		return;
	}
	cm_give(qp, id, true);	/* kib_cm_end() comes later: kib_qp_close() waits for us */
}

/* A refusal of the ULP has an answer, and its data. */
static void cm_lost(struct kib_qp *qp, const struct kfi_event *ev)
{
	const struct kib_answer *answer = ev->err ? cm_answer(ev) : NULL;

	if (READ_ONCE(qp->established))
		;	/* end_work raises CLOSE */
	else if (answer)
		cm_last(qp, -ECONNREFUSED, answer + 1, ev->len - sizeof(*answer));
	else
		cm_last(qp, ev->err ?: -ECONNRESET, NULL, 0);
	kib_qp_fail(qp);
}

/* Events of an endpoint. kib_qp_close() waits for this function, under &kib_qp.lock. */
void kib_cm_event(struct kfid_eq *eq, void *context)
{
	struct kib_qp *qp = context;
	struct kfi_event ev;

	while (kfi_eq_next(eq, &ev)) {
		if (!ev.err && ev.event == KFI_CONNECTED)
			cm_connected(qp, &ev);
		else
			cm_lost(qp, &ev);
	}
}

/* ---- calls ---- */

/* All identifiers are rdma_cm's, and their context begins with the one of the ULP. */
const struct net *kib_id_net(const struct iw_cm_id *id)
{
	const struct rdma_cm_id *ulp_id = id->context;

	return ulp_id->route.addr.dev_addr.net;
}

/*
 * May the caller of rdma_cm connect the queue pair? A process names it by a number, which may be
 * that of another process, or of a ULP of the kernel; such a ULP has told rdma_cm its queue pair.
 */
static bool cm_may_use(const struct iw_cm_id *id, const struct kib_qp *qp)
{
	const struct rdma_cm_id *ulp_id = id->context;

	return qp->owner ? qp->owner == task_tgid(current) : ulp_id->qp == &qp->ib;
}

static struct kib_qp *cm_qp(const struct iw_cm_id *id, u32 number)
{
	struct kib_dev *dev = to_kib_dev(id->device);
	struct kib_qp *qp;

	xa_lock(&dev->qps);
	qp = xa_load(&dev->qps, number);
	if (qp && !cm_may_use(id, qp))
		qp = NULL;
	if (qp)
		kib_qp_add_ref(&qp->ib);
	xa_unlock(&dev->qps);
	return qp;
}

/*
 * Does the call come from a reserved port of the network below? With a reserved port of RDMA, which
 * rdma_cm gives to no unprivileged process, it has to (see addrs_ok()). The parameter is for the
 * ULPs of the kernel.
 */
static bool cm_reserved(const struct kib_qp *qp, const struct iw_cm_id *id)
{
	const struct sockaddr_in *from = (const void *)&id->m_local_addr;

	return be16_to_cpu(from->sin_port) < PROT_SOCK ||
	       (!qp->owner && READ_ONCE(kib_reserved_ports));
}

static int cm_call(struct kib_qp *qp, struct iw_cm_id *id, const struct iw_cm_conn_param *param,
		   struct kfi_info *info)
{
	struct {
		struct kib_hello	hello;
		u8			data[U8_MAX];
	} msg = { .hello = {
		.magic = cpu_to_be32(KIB_MAGIC), .version = KIB_VERSION,
		.family = id->m_remote_addr.ss_family == AF_INET ? 4 : 6,
		.ird = cpu_to_be16(param->ird), .ord = cpu_to_be16(param->ord),
	} };
	int ret;

	lockdep_assert_held(&qp->lock);
	cm_fill_addr(msg.hello.src, &msg.hello.src_port, &id->m_local_addr);
	cm_fill_addr(msg.hello.dst, &msg.hello.dst_port, &id->m_remote_addr);
	memcpy(msg.data, param->private_data, param->private_data_len);
	ret = kib_qp_open(qp, info, cm_reserved(qp, id));
	if (ret)
		return ret;
	qp->ird = param->ird;
	qp->ord = param->ord;
	id->add_ref(id);
	cm_give(qp, id, false);
	ret = kfi_connect(qp->ep, info->dest_addr, &msg,
			  sizeof(msg.hello) + param->private_data_len);
	if (!ret)
		return 0;
	if (!cm_abandon(qp))
		ret = 0;
	kib_qp_close(qp);
	return ret;
}

int kib_connect(struct iw_cm_id *id, struct iw_cm_conn_param *param)
{
	struct kib_dev *dev = to_kib_dev(id->device);
	struct kfi_info *info;
	struct kib_qp *qp;
	int ret;

	if (param->private_data_len > U8_MAX)
		return -EINVAL;
	/*
	 * rdma_cm of Linux 6.1 finds the device by the Ethernet address of the caller's route,
	 * which a process may choose in a namespace of its own.
	 */
	if (kib_id_net(id) != READ_ONCE(dev->net))
		return -EHOSTUNREACH;
	qp = cm_qp(id, param->qpn);
	if (!qp)
		return -EINVAL;
	ret = cm_find(dev, id, &info);
	if (!ret) {
		mutex_lock(&qp->lock);
		ret = cm_call(qp, id, param, info);
		mutex_unlock(&qp->lock);
		kfi_freeinfo(info);
	}
	kib_qp_rem_ref(&qp->ib);
	return ret;
}

/* ---- answers ---- */

/* May the queue pair serve the caller? Processes serve processes; kernel ULPs may trust callers. */
static bool cm_may_serve(const struct kib_qp *qp, const struct kib_call *call)
{
	return call->privileged || qp->owner || !READ_ONCE(kib_reserved_ports);
}

struct cm_answer_msg {
	struct kib_answer	answer;
	u8			data[U8_MAX];
};

static void cm_fill_answer(struct cm_answer_msg *msg, u16 ird, u16 ord, const void *data,
			   size_t len)
{
	msg->answer = (struct kib_answer) {
		.magic = cpu_to_be32(KIB_MAGIC), .version = KIB_VERSION,
		.ird = cpu_to_be16(ird), .ord = cpu_to_be16(ord),
	};
	memcpy(msg->data, data, len);
}

/*
 * ESTABLISHED is raised before the peer has got the answer: it may never get it, and iw_cm waits
 * for the event. The connection is lost then, as it may be at any time later. A caller that has
 * gone before the answer, before there was an endpoint for it or later, makes no other difference:
 * ksmbd has posted a receive by then, and frees it twice if the accept fails. Nor does a caller
 * that is not served. @call: NULL if it was forgotten for later ones. *@taken is whether the
 * endpoint has taken the call.
 */
static int cm_answer_call(struct kib_qp *qp, struct iw_cm_id *id, struct kib_call *call,
			  const struct iw_cm_conn_param *param, bool *taken)
{
	struct cm_answer_msg msg;

	lockdep_assert_held(&qp->lock);
	if (READ_ONCE(qp->state) != KIB_QP_IDLE)
		return -EINVAL;
	cm_fill_answer(&msg, param->ird, param->ord, param->private_data, param->private_data_len);
	qp->ird = param->ird;
	qp->ord = call ? min_t(u32, param->ord, call->ird) : 0;
	id->add_ref(id);
	cm_give(qp, id, true);
	*taken = call && cm_may_serve(qp, call) && !kib_qp_open(qp, call->info, false) &&
		 !kfi_accept(qp->ep, &msg, sizeof(msg.answer) + param->private_data_len);
	cm_raise(qp, id, IW_CM_EVENT_ESTABLISHED, 0, NULL, 0);
	if (!*taken)
		kib_qp_fail(qp);	/* raises CLOSE */
	return 0;
}

int kib_accept(struct iw_cm_id *id, struct iw_cm_conn_param *param)
{
	struct kib_call *call;
	bool taken = false;
	struct kib_qp *qp;
	int ret = -EINVAL;

	call = kib_call_take(to_kib_dev(id->device), (unsigned long)id->provider_data);
	qp = param->private_data_len <= U8_MAX ? cm_qp(id, param->qpn) : NULL;
	if (qp) {
		mutex_lock(&qp->lock);
		ret = cm_answer_call(qp, id, call, param, &taken);
		mutex_unlock(&qp->lock);
		kib_qp_rem_ref(&qp->ib);
	}
	if (taken)
		kib_call_free(call);
	else if (call)
		kib_call_end(to_kib_dev(id->device), call, NULL, 0);
	return ret;
}

int kib_reject(struct iw_cm_id *id, const void *data, u8 len)
{
	struct kib_dev *dev = to_kib_dev(id->device);
	struct kib_call *call = kib_call_take(dev, (unsigned long)id->provider_data);
	struct cm_answer_msg msg;

	if (!call)
		return -ECONNABORTED;
	if (len > KIB_DATA - sizeof(msg.answer))
		len = 0;	/* no network has room for it */
	cm_fill_answer(&msg, 0, 0, data, len);
	kib_call_end(dev, call, &msg, sizeof(msg.answer) + len);
	return 0;
}
