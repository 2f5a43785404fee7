// SPDX-License-Identifier: GPL-2.0
/*
 * listen.c - listeners, and the calls that arrive at them.
 *
 * A device listens at one service for all of its listeners: ports of RDMA are no ports of the
 * network below. A *place* is a passive endpoint at one address of the network device; there are
 * places as long as there are listeners. The hello of a caller names a listener by its address and
 * port.
 *
 * iw_cm may drop a CONNECT_REQUEST without a word, if it has no memory or the listener ends. So a
 * call is known to it by number only, one is refused when there are too many, and the end of a
 * listener refuses its calls that were not accepted, those that its ULP knows, too.
 */
#include <linux/delay.h>
#include <linux/inetdevice.h>
#include <linux/slab.h>
#include <net/addrconf.h>
#include <net/ipv6.h>
#include <rdma/rdma_cm.h>
#include "kib.h"

#define KIB_ORIGIN6	8	/* bytes of an IPv6 address that are those of a machine or a site */

/**
 * struct kib_listener - a listener of rdma_cm
 * @entry: in &kib_dev.listeners
 * @id: its identifier
 * @net: its namespace, which @id keeps; only compared
 */
struct kib_listener {
	struct list_head	entry;
	struct iw_cm_id		*id;
	const struct net	*net;
};

/* ---- calls ---- */

static void call_unlink(struct kib_dev *dev, struct kib_call *call)
{
	lockdep_assert_held(&dev->lock);
	list_del(&call->entry);
	dev->nr_calls--;
}

/* Return: the call, which belongs to the caller then; NULL if it is gone */
struct kib_call *kib_call_take(struct kib_dev *dev, unsigned long number)
{
	struct kib_call *call, *found = NULL;

	mutex_lock(&dev->lock);
	list_for_each_entry(call, &dev->calls, entry) {
		if (call->number != number)
			continue;
		found = call;
		break;
	}
	if (found)
		call_unlink(dev, found);
	mutex_unlock(&dev->lock);
	return found;
}

void kib_call_free(struct kib_call *call)
{
	kfi_freeinfo(call->info);
	kfree(call);
}

static struct kib_place *find_place(struct kib_dev *dev, const struct kfid *fid)
{
	struct kib_place *place;

	lockdep_assert_held(&dev->lock);
	list_for_each_entry(place, &dev->places, entry)
		if (&place->pep->fid == fid)
			return place;
	return NULL;
}

/* The place may be closed. Another one may have its memory, but has no such call. */
static void call_refuse(struct kib_dev *dev, struct kib_call *call, const void *data, size_t len)
{
	struct kib_place *place;

	lockdep_assert_held(&dev->lock);
	kib_count(dev, KIB_REFUSED, 1);
	place = find_place(dev, call->place);
	if (place)
		kfi_reject(place->pep, call->info->handle, data, len);
	kib_call_free(call);
}

/* Free a call that was taken, and refuse it unless it was accepted, or its caller has given up. */
void kib_call_end(struct kib_dev *dev, struct kib_call *call, const void *data, size_t len)
{
	mutex_lock(&dev->lock);
	call_refuse(dev, call, data, len);
	mutex_unlock(&dev->lock);
}

/*
 * Do these calls come from one machine, as far as the network below knows, and may unprivileged
 * processes have made both of them or none? A machine has a whole prefix of IPv6 addresses, and a
 * way has one machine at its other end.
 */
static bool same_origin(const struct kib_dev *dev, const struct kib_call *a,
			const struct kib_call *b)
{
	const struct sockaddr_in6 *a6 = a->info->dest_addr, *b6 = b->info->dest_addr;
	const struct sockaddr_in *a4 = a->info->dest_addr, *b4 = b->info->dest_addr;

	if (*dev->way)
		return true;
	if (a->privileged != b->privileged || a4->sin_family != b4->sin_family)
		return false;
	return a4->sin_family == AF_INET ? a4->sin_addr.s_addr == b4->sin_addr.s_addr :
		!memcmp(&a6->sin6_addr, &b6->sin6_addr, KIB_ORIGIN6);
}

/* The oldest call of the origin that has the most of them */
static struct kib_call *call_surplus(struct kib_dev *dev)
{
	struct kib_call *call, *other, *found = NULL;
	unsigned int most = 0, n;

	lockdep_assert_held(&dev->lock);
	list_for_each_entry(call, &dev->calls, entry) {
		n = 0;
		list_for_each_entry(other, &dev->calls, entry)
			n += same_origin(dev, call, other);
		if (n > most) {
			most = n;
			found = call;
		}
		if (2 * most >= dev->nr_calls)
			break;	/* no other origin has more */
	}
	return found;
}

/*
 * Store a call, which a listener will be told of. If the device keeps as many as it may, it refuses
 * an old one, whose caller has probably given up, or which iw_cm has forgotten. That one is of the
 * origin that has the most, so a peer that calls faster than the ULP answers takes no place from
 * the calls of others, which the ULP may be about to accept.
 */
static void call_link(struct kib_dev *dev, struct kib_call *call)
{
	struct kib_call *surplus;

	lockdep_assert_held(&dev->lock);
	if (dev->nr_calls == KIB_CALLS) {
		surplus = call_surplus(dev);
		call_unlink(dev, surplus);
		call_refuse(dev, surplus, NULL, 0);
	}
	call->number = ++dev->next_call;
	list_add_tail(&call->entry, &dev->calls);
	dev->nr_calls++;
}

/* ---- a call arrives ---- */

/* Make an address of a hello. Return: whether it is one */
static bool hello_addr(struct sockaddr_storage *addr, const struct kib_dev *dev, u8 family,
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
		in6->sin6_scope_id = dev->netdev->ifindex;
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
static bool addrs_ok(struct kib_dev *dev, const struct kib_place *place,
		     const struct kib_call *call, const struct sockaddr_storage *local,
		     const struct sockaddr_storage *remote)
{
	const struct kfi_info *info = call->info;

	if (*dev->way)
		return kib_routed(dev, remote);
	return addr_is(place->addr, place->len, local) &&
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
 * One of the same family is preferred: rdma_cm may listen at 0.0.0.0 and at [::]. It listens on
 * each device, also on those of other namespaces, but serves there none of their callers.
 */
static struct iw_cm_id *find_listener(struct kib_dev *dev, const struct sockaddr_storage *to)
{
	struct kib_listener *l, *other = NULL;

	lockdep_assert_held(&dev->lock);
	list_for_each_entry(l, &dev->listeners, entry) {
		if (l->net != READ_ONCE(dev->net) || !listens_at(l->id, to))
			continue;
		if (l->id->local_addr.ss_family == to->ss_family)
			return l->id;
		other = l;
	}
	return other ? other->id : NULL;
}

/* Tell a listener. Return: 0; or a negative error, with which the call is refused */
static int call_raise(struct kib_dev *dev, const struct kib_place *place, struct kib_call *call,
		      const void *data, size_t len)
{
	const struct kib_hello *hello = data;
	struct iw_cm_event event = { .event = IW_CM_EVENT_CONNECT_REQUEST };
	struct iw_cm_id *id;
	int ret;

	lockdep_assert_held(&dev->lock);
	if (len < sizeof(*hello) || hello->magic != cpu_to_be32(KIB_MAGIC) ||
	    hello->version != KIB_VERSION ||
	    !hello_addr(&event.local_addr, dev, hello->family, hello->dst, hello->dst_port) ||
	    !hello_addr(&event.remote_addr, dev, hello->family, hello->src, hello->src_port) ||
	    !addrs_ok(dev, place, call, &event.local_addr, &event.remote_addr))
		return -EPROTO;
	id = find_listener(dev, &event.local_addr);
	if (!id)
		return -ECONNREFUSED;
	call->ird = be16_to_cpu(hello->ird);
	event.ird = call->ird;
	event.ord = be16_to_cpu(hello->ord);
	event.private_data = len > sizeof(*hello) ? (void *)(hello + 1) : NULL;
	event.private_data_len = min_t(size_t, len - sizeof(*hello), U8_MAX);
	call->listener = id;
	call_link(dev, call);
	event.provider_data = (void *)call->number;
	ret = id->event_handler(id, &event);	/* the call waits for our lock if it is answered */
	if (ret)
		call_unlink(dev, call);
	return ret;
}

static void called(struct kib_dev *dev, const struct kfi_event *ev)
{
	struct kib_call *call = kzalloc(sizeof(*call), GFP_KERNEL);
	struct kib_place *place;

	mutex_lock(&dev->lock);
	place = find_place(dev, ev->fid);
	if (call && place) {
		call->place = ev->fid;
		call->info = ev->info;
		call->privileged = *dev->way || port_is_reserved(ev->info->dest_addr);
		if (call_raise(dev, place, call, ev->data, ev->len))
			call_refuse(dev, call, NULL, 0);
	} else {	/* a place that is closed refuses its calls */
		if (place)
			kfi_reject(place->pep, ev->info->handle, NULL, 0);
		kfi_freeinfo(ev->info);
		kfree(call);
	}
	mutex_unlock(&dev->lock);
}

void kib_place_event(struct kfid_eq *eq, void *context)
{
	struct kib_dev *dev = context;
	struct kfi_event ev;

	while (kfi_eq_next(eq, &ev))
		if (!ev.err && ev.event == KFI_CONNREQ)
			called(dev, &ev);
}

/* ---- places ---- */

static int place_listen(struct kib_dev *dev, struct kib_place *place)
{
	return kfi_pep_bind(place->pep, &dev->eq->fid, 0) ?: kfi_listen(place->pep);
}

/* It is in use while one of its calls is being accepted. */
static void place_close(struct kib_dev *dev, struct kib_place *place)
{
	mutex_lock(&dev->lock);
	list_del(&place->entry);
	mutex_unlock(&dev->lock);
	while (kfi_close(&place->pep->fid) == -EBUSY)
		usleep_range(1000, 2000);
	kfree(place);
}

static int place_open(struct kib_dev *dev, struct kfi_info *info)
{
	struct kib_place *place = kzalloc(struct_size(place, addr, info->src_addrlen), GFP_KERNEL);
	int ret;

	if (!place)
		return -ENOMEM;
	place->wanted = true;
	place->len = info->src_addrlen;
	memcpy(place->addr, info->src_addr, place->len);
	ret = kfi_passive_ep(dev->fabric, info, &place->pep, NULL);
	if (ret) {
		kfree(place);
		return ret;
	}
	mutex_lock(&dev->lock);	/* the first call may come before kfi_listen() returns */
	list_add_tail(&place->entry, &dev->places);
	mutex_unlock(&dev->lock);
	ret = place_listen(dev, place);
	if (ret)
		place_close(dev, place);
	return ret;
}

static struct kib_place *place_at(struct kib_dev *dev, const struct kfi_info *info)
{
	struct kib_place *place;

	list_for_each_entry(place, &dev->places, entry)
		if (place->len == info->src_addrlen &&
		    !memcmp(place->addr, info->src_addr, place->len))
			return place;
	return NULL;
}

/* Open places at new addresses, and close those whose addresses have gone. */
static int places_match(struct kib_dev *dev, struct kfi_info *list)
{
	struct kib_place *place, *next;
	struct kfi_info *info;
	int ret = 0;

	lockdep_assert_held(&dev->places_lock);
	for (info = list; info; info = info->next) {
		place = place_at(dev, info);
		if (place)
			place->wanted = true;
		else
			ret = place_open(dev, info) ?: ret;
	}
	list_for_each_entry_safe(place, next, &dev->places, entry) {
		if (!place->wanted)
			place_close(dev, place);
		else
			place->wanted = false;
	}
	return ret;
}

static int places_update(struct kib_dev *dev)
{
	struct kfi_info *list = NULL;
	int ret = 0;

	lockdep_assert_held(&dev->places_lock);
	if (!list_empty(&dev->listeners))
		ret = kib_find(dev, dev->netdev->name, KFI_SOURCE, &list);
	if (ret && ret != -ENODATA && ret != -ENODEV)
		return ret;	/* it is unknown which addresses there are */
	ret = places_match(dev, list);
	kfi_freeinfo(list);
	return ret;
}

/*
 * Try again after a failure: an address is not usable yet while IPv6 looks for duplicates of it.
 */
void kib_places_work(struct work_struct *work)
{
	struct kib_dev *dev = container_of(to_delayed_work(work), struct kib_dev, places_work);

	mutex_lock(&dev->places_lock);
	if (places_update(dev))
		queue_delayed_work(system_long_wq, &dev->places_work, HZ / 4);
	mutex_unlock(&dev->places_lock);
}

/* ---- listeners ---- */

static void listener_end(struct kib_dev *dev, struct kib_listener *l)
{
	struct kib_call *call, *next;

	lockdep_assert_held(&dev->places_lock);
	mutex_lock(&dev->lock);
	list_del(&l->entry);
	list_for_each_entry_safe(call, next, &dev->calls, entry) {
		if (call->listener != l->id)
			continue;
		call_unlink(dev, call);
		call_refuse(dev, call, NULL, 0);
	}
	mutex_unlock(&dev->lock);
	if (list_empty(&dev->listeners))
		places_update(dev);
	l->id->rem_ref(l->id);
	kfree(l);
}

/*
 * A listener without any place is one all the same: the network device may get an address later, or
 * may be permitted to use one later. Without memory for all places there is no listener, because
 * callers of the others would be refused.
 */
int kib_create_listen(struct iw_cm_id *id, int backlog)
{
	struct kib_dev *dev = to_kib_dev(id->device);
	struct kib_listener *l = kzalloc(sizeof(*l), GFP_KERNEL);
	int ret;

	if (!l)
		return -ENOMEM;
	l->id = id;
	l->net = kib_id_net(id);
	id->add_ref(id);
	mutex_lock(&dev->places_lock);
	mutex_lock(&dev->lock);
	list_add_tail(&l->entry, &dev->listeners);
	id->provider_data = l;
	mutex_unlock(&dev->lock);
	ret = places_update(dev);
	if (ret)
		queue_delayed_work(system_long_wq, &dev->places_work, HZ / 4);
	if (ret == -EADDRNOTAVAIL || (ret != -ENOMEM && !list_empty(&dev->places)))
		ret = 0;
	if (ret)
		listener_end(dev, l);
	mutex_unlock(&dev->places_lock);
	return ret;
}

int kib_destroy_listen(struct iw_cm_id *id)
{
	struct kib_dev *dev = to_kib_dev(id->device);

	mutex_lock(&dev->places_lock);
	listener_end(dev, id->provider_data);
	mutex_unlock(&dev->places_lock);
	return 0;
}
