// SPDX-License-Identifier: GPL-2.0
/*
 * listen.c - listeners, and the calls that arrive at them.
 *
 * A fabric listens at one service for all listeners of its devices: ports of RDMA are no ports of
 * the network below. The hello of a caller, which arrives at a place (fabric.c), names a listener
 * by its address and port.
 *
 * iw_cm may drop a CONNECT_REQUEST without a word, if it has no memory or the listener ends. So a
 * call is known to it by number only, one is refused when there are too many, and the end of a
 * listener refuses its calls that were not accepted, those that its ULP knows, too.
 */
#include <linux/slab.h>
#include <net/ipv6.h>
#include <rdma/rdma_cm.h>
#include "kib.h"

#define KIB_ORIGIN6	8	/* bytes of the prefix that a machine or a site has */

/**
 * struct kib_listener - a listener of rdma_cm
 * @entry: in &kib_fabric.listeners
 * @dev: device
 * @id: its identifier
 * @net: its namespace, which @id keeps; only compared
 */
struct kib_listener {
	struct list_head	entry;
	struct kib_dev		*dev;
	struct iw_cm_id		*id;
	const struct net	*net;
};

/* ---- calls ---- */

static void call_unlink(struct kib_fabric *fabric, struct kib_call *call)
{
	lockdep_assert_held(&fabric->lock);
	list_del(&call->entry);
	fabric->nr_calls--;
}

/* Return: the call, which belongs to the caller then; NULL if it is gone */
struct kib_call *kib_call_take(struct kib_dev *dev, unsigned long number)
{
	struct kib_fabric *fabric = dev->fabric;
	struct kib_call *call, *found = NULL;

	mutex_lock(&fabric->lock);
	list_for_each_entry(call, &fabric->calls, entry) {
		if (call->number != number)
			continue;
		found = call;
		break;
	}
	if (found)
		call_unlink(fabric, found);
	mutex_unlock(&fabric->lock);
	return found;
}

void kib_call_free(struct kib_call *call)
{
	kfi_freeinfo(call->info);
	kfree(call);
}

static struct kib_place *find_place(struct kib_fabric *fabric, const struct kfid *fid)
{
	struct kib_place *place;

	lockdep_assert_held(&fabric->lock);
	list_for_each_entry(place, &fabric->places, entry)
		if (&place->pep->fid == fid)
			return place;
	return NULL;
}

/* Count the refusal at a device that serves the place. */
static void count_refused(struct kib_fabric *fabric, const struct kib_place *place)
{
	struct kib_dev *dev;

	lockdep_assert_held(&fabric->lock);
	rcu_read_lock();
	list_for_each_entry(dev, &fabric->devs, fabric_entry) {
		if (!kib_dev_serves(dev, place->ifindex))
			continue;
		kib_count(dev, KIB_REFUSED, 1);
		break;
	}
	rcu_read_unlock();
}

/* The place may be closed. Another one may have its memory, but has no such call. */
static void call_refuse(struct kib_fabric *fabric, struct kib_call *call, const void *data,
			size_t len)
{
	struct kib_place *place;

	lockdep_assert_held(&fabric->lock);
	place = find_place(fabric, call->place);
	if (place) {
		count_refused(fabric, place);
		kfi_reject(place->pep, call->info->handle, data, len);
	}
	kib_call_free(call);
}

/* Free a call that was taken, and refuse it unless it was accepted, or its caller has given up. */
void kib_call_end(struct kib_dev *dev, struct kib_call *call, const void *data, size_t len)
{
	mutex_lock(&dev->fabric->lock);
	call_refuse(dev->fabric, call, data, len);
	mutex_unlock(&dev->fabric->lock);
}

/*
 * Do these calls come from one machine, as far as the network below knows, and may unprivileged
 * processes have made both of them or none? A machine has a whole prefix of IPv6 addresses, and a
 * way has one machine at its other end.
 */
static bool same_origin(const struct kib_fabric *fabric, const struct kib_call *a,
			const struct kib_call *b)
{
	const struct sockaddr_in6 *a6 = a->info->dest_addr, *b6 = b->info->dest_addr;
	const struct sockaddr_in *a4 = a->info->dest_addr, *b4 = b->info->dest_addr;

	if (*fabric->way)
		return true;
	if (a->privileged != b->privileged || a4->sin_family != b4->sin_family)
		return false;
	return a4->sin_family == AF_INET ? a4->sin_addr.s_addr == b4->sin_addr.s_addr :
		!memcmp(&a6->sin6_addr, &b6->sin6_addr, KIB_ORIGIN6);
}

/* The oldest call of the origin that has the most of them */
static struct kib_call *call_surplus(struct kib_fabric *fabric)
{
	struct kib_call *call, *other, *found = NULL;
	unsigned int most = 0, n;

	lockdep_assert_held(&fabric->lock);
	list_for_each_entry(call, &fabric->calls, entry) {
		n = 0;
		list_for_each_entry(other, &fabric->calls, entry)
			n += same_origin(fabric, call, other);
		if (n > most) {
			most = n;
			found = call;
		}
		if (2 * most >= fabric->nr_calls)
			break;	/* no other origin has more */
	}
	return found;
}

/*
 * Store a call, which a listener will be told of. If the fabric keeps as many as it may, it refuses
 * an old one, whose caller has probably given up, or which iw_cm has forgotten. That one is of the
 * origin that has the most, so a peer that calls faster than the ULP answers takes no place from
 * the calls of others, which the ULP may be about to accept.
 */
static void call_link(struct kib_fabric *fabric, struct kib_call *call)
{
	struct kib_call *surplus;

	lockdep_assert_held(&fabric->lock);
	if (fabric->nr_calls == KIB_CALLS) {
		surplus = call_surplus(fabric);
		call_unlink(fabric, surplus);
		call_refuse(fabric, surplus, NULL, 0);
	}
	call->number = ++fabric->next_call;
	list_add_tail(&call->entry, &fabric->calls);
	fabric->nr_calls++;
}

/* ---- a call arrives ---- */

/* Make an address of a hello. Return: whether it is one */
static bool hello_addr(struct sockaddr_storage *addr, const struct kib_place *place, u8 family,
		       const u8 *bytes, __be16 port)
{
	struct sockaddr_in6 *in6 = (void *)addr;
	struct sockaddr_in *in = (void *)addr;

	memset(addr, 0, sizeof(*addr));
	in->sin_port = port;	/* as that of IPv6 */
	if (family == 4) {
		addr->ss_family = AF_INET;
		memcpy(&in->sin_addr, bytes, sizeof(in->sin_addr));
		return in->sin_addr.s_addr;
	}
	addr->ss_family = AF_INET6;
	memcpy(&in6->sin6_addr, bytes, sizeof(in6->sin6_addr));
	if (ipv6_addr_type(&in6->sin6_addr) & IPV6_ADDR_LINKLOCAL)
		in6->sin6_scope_id = place->ifindex;
	return family == 6 && !ipv6_addr_any(&in6->sin6_addr) &&
	       !ipv6_addr_v4mapped(&in6->sin6_addr);
}

static bool same_addr(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	const struct sockaddr_in6 *a6 = (const void *)a, *b6 = (const void *)b;
	const struct sockaddr_in *a4 = (const void *)a, *b4 = (const void *)b;

	if (a->ss_family != b->ss_family)
		return false;
	return a->ss_family == AF_INET ? a4->sin_addr.s_addr == b4->sin_addr.s_addr :
					 ipv6_addr_equal(&a6->sin6_addr, &b6->sin6_addr);
}

/* Does an address of the network below say the same as the hello? */
static bool addr_is(const void *below, size_t len, const struct sockaddr_storage *claimed)
{
	struct sockaddr_storage addr = {};

	memcpy(&addr, below, min(len, sizeof(addr)));
	return same_addr(&addr, claimed);
}

/* The port is at the same place in addresses of IPv4 and IPv6. */
static bool port_is_reserved(const void *addr)
{
	return be16_to_cpu(((const struct sockaddr_in *)addr)->sin_port) < PROT_SOCK;
}

/*
 * Does the network below confirm the addresses of the hello? A reserved port of RDMA needs one of
 * TCP: any process of the caller's machine could claim it otherwise. A way has no IP addresses:
 * there the caller is believed what it could claim in a packet without being filtered (strict
 * rp_filter), and rdma_cm looks whether this node has the address that is called.
 */
static bool addrs_ok(struct kib_dev *dev, const struct kib_call *call,
		     const struct sockaddr_storage *local, const struct sockaddr_storage *remote)
{
	const struct kfi_info *info = call->info;

	if (*dev->way)
		return kib_routed(dev, remote);
	return addr_is(info->src_addr, info->src_addrlen, local) &&
	       addr_is(info->dest_addr, info->dest_addrlen, remote) &&
	       (call->privileged || !port_is_reserved(remote));
}

/* A listener at [::] takes callers of both families, unless it says otherwise. */
static bool listens_at(const struct iw_cm_id *id, const struct sockaddr_storage *to)
{
	const struct sockaddr_in6 *in6 = (const void *)&id->local_addr;
	const struct sockaddr_in *in = (const void *)&id->local_addr;

	if (in->sin_port != ((const struct sockaddr_in *)to)->sin_port)
		return false;
	if (same_addr(&id->local_addr, to))
		return true;
	if (id->local_addr.ss_family == AF_INET)
		return to->ss_family == AF_INET && !in->sin_addr.s_addr;
	return ipv6_addr_any(&in6->sin6_addr) && (to->ss_family == AF_INET6 || !id->afonly);
}

/*
 * rdma_cm listens on each device, also on those of other namespaces, but serves there none of their
 * callers. One on the device of the interface is preferred, and then one of the same family: it may
 * listen at 0.0.0.0 and at [::].
 */
static struct kib_listener *find_listener(struct kib_fabric *fabric, const struct kib_place *place,
					  const struct sockaddr_storage *to)
{
	struct kib_listener *l, *found = NULL;
	int rank, best = -1;

	lockdep_assert_held(&fabric->lock);
	list_for_each_entry(l, &fabric->listeners, entry) {
		if (l->net != READ_ONCE(l->dev->net) || !listens_at(l->id, to) ||
		    !kib_dev_serves(l->dev, place->ifindex))
			continue;
		rank = 2 * (l->dev->netdev->ifindex == place->ifindex) +
		       (l->id->local_addr.ss_family == to->ss_family);
		if (rank > best) {
			best = rank;
			found = l;
		}
	}
	return found;
}

/* Tell a listener. Return: 0; or a negative error, with which the call is refused */
static int call_raise(struct kib_fabric *fabric, const struct kib_place *place,
		      struct kib_call *call, const void *data, size_t len)
{
	const struct kib_hello *hello = data;
	struct iw_cm_event event = { .event = IW_CM_EVENT_CONNECT_REQUEST };
	struct kib_listener *l;
	int ret;

	lockdep_assert_held(&fabric->lock);
	if (len < sizeof(*hello) || hello->magic != cpu_to_be32(KIB_MAGIC) ||
	    hello->version != KIB_VERSION ||
	    !hello_addr(&event.local_addr, place, hello->family, hello->dst, hello->dst_port) ||
	    !hello_addr(&event.remote_addr, place, hello->family, hello->src, hello->src_port))
		return -EPROTO;
	rcu_read_lock();
	l = find_listener(fabric, place, &event.local_addr);
	rcu_read_unlock();
	if (!l)
		return -ECONNREFUSED;
	call->privileged = *l->dev->way || port_is_reserved(call->info->dest_addr);
	if (!addrs_ok(l->dev, call, &event.local_addr, &event.remote_addr))
		return -EPROTO;
	call->ird = be16_to_cpu(hello->ird);
	event.ird = call->ird;
	event.ord = be16_to_cpu(hello->ord);
	event.private_data = len > sizeof(*hello) ? (void *)(hello + 1) : NULL;
	event.private_data_len = min_t(size_t, len - sizeof(*hello), U8_MAX);
	call->listener = l->id;
	call_link(fabric, call);
	event.provider_data = (void *)call->number;
	/* The call waits for our lock if it is answered. */
	ret = l->id->event_handler(l->id, &event);
	if (ret)
		call_unlink(fabric, call);
	return ret;
}

static void called(struct kib_fabric *fabric, const struct kfi_event *ev)
{
	struct kib_call *call = kzalloc(sizeof(*call), GFP_KERNEL);
	struct kib_place *place;

	mutex_lock(&fabric->lock);
	place = find_place(fabric, ev->fid);
	if (call && place) {
		call->place = ev->fid;
		call->info = ev->info;
		if (call_raise(fabric, place, call, ev->data, ev->len))
			call_refuse(fabric, call, NULL, 0);
	} else {	/* a place that is closed refuses its calls */
		if (place)
			kfi_reject(place->pep, ev->info->handle, NULL, 0);
		kfi_freeinfo(ev->info);
		kfree(call);
	}
	mutex_unlock(&fabric->lock);
}

void kib_place_event(struct kfid_eq *eq, void *context)
{
	struct kib_fabric *fabric = context;
	struct kfi_event ev;

	while (kfi_eq_next(eq, &ev))
		if (!ev.err && ev.event == KFI_CONNREQ)
			called(fabric, &ev);
}

/* ---- listeners ---- */

static void listener_end(struct kib_listener *l)
{
	struct kib_fabric *fabric = l->dev->fabric;
	struct kib_call *call, *next;

	lockdep_assert_held(&fabric->places_lock);
	mutex_lock(&fabric->lock);
	list_del(&l->entry);
	list_for_each_entry_safe(call, next, &fabric->calls, entry) {
		if (call->listener != l->id)
			continue;
		call_unlink(fabric, call);
		call_refuse(fabric, call, NULL, 0);
	}
	mutex_unlock(&fabric->lock);
	if (!--l->dev->nr_listeners)
		kib_places_later(fabric, 0);
	l->id->rem_ref(l->id);
	kfree(l);
}

/*
 * A listener without any place is one all the same: a place may become possible later. Without
 * memory for all places there is no listener, because callers of the others would be refused.
 */
int kib_create_listen(struct iw_cm_id *id, int backlog)
{
	struct kib_dev *dev = to_kib_dev(id->device);
	struct kib_fabric *fabric = dev->fabric;
	struct kib_listener *l = kzalloc(sizeof(*l), GFP_KERNEL_ACCOUNT);
	int ret = 0;

	if (!l)
		return -ENOMEM;
	l->dev = dev;
	l->id = id;
	l->net = kib_id_net(id);
	id->add_ref(id);
	mutex_lock(&fabric->places_lock);
	mutex_lock(&fabric->lock);
	list_add_tail(&l->entry, &fabric->listeners);
	id->provider_data = l;
	mutex_unlock(&fabric->lock);
	if (!dev->nr_listeners++)	/* others have their places, or will */
		ret = kib_places_update(fabric, dev);
	if (ret != -ENOMEM && kib_dev_has_place(dev))
		ret = 0;
	if (ret)
		listener_end(l);
	mutex_unlock(&fabric->places_lock);
	return ret;
}

int kib_destroy_listen(struct iw_cm_id *id)
{
	struct kib_fabric *fabric = to_kib_dev(id->device)->fabric;

	mutex_lock(&fabric->places_lock);
	listener_end(id->provider_data);
	mutex_unlock(&fabric->places_lock);
	return 0;
}
