// SPDX-License-Identifier: GPL-2.0
/* ep.c - endpoints and passive endpoints: their numbers, open, enable, stop, close. */
#include <net/net_namespace.h>
#include "loop.h"

/* ---- numbers ---- */

DEFINE_MUTEX(loop_calling);
static LIST_HEAD(loop_selves);

struct loop_self *loop_find(u64 net, bool passive, u64 id)
{
	struct loop_self *self;

	lockdep_assert_held(&loop_calling);
	list_for_each_entry(self, &loop_selves, entry)
		if (self->id == id && self->passive == passive && self->net == net)
			return self;
	return NULL;
}

/*
 * Give the object the number @id, or a free one if @id is 0: one of the upper half, because
 * consumers tend to choose small numbers.
 */
static int loop_self_number(struct loop_self *self, u64 id)
{
	static u32 next;
	int ret = 0;

	mutex_lock(&loop_calling);
	if (id && loop_find(self->net, self->passive, id))
		ret = -EADDRINUSE;
	while (!id || (!ret && loop_find(self->net, self->passive, id)))
		id = next++ | BIT(31);
	if (!ret) {
		self->id = id;
		list_move(&self->entry, &loop_selves);
	}
	mutex_unlock(&loop_calling);
	return ret;
}

/* @info: has the number that the object wants, or NULL */
static int loop_self_open(struct loop_self *self, const struct kfi_info *info)
{
	const struct kfi_loop_addr *a = info ? info->src_addr : NULL;

	return loop_self_number(self, a && info->src_addrlen == sizeof(*a) ? a->id : 0);
}

static void loop_self_init(struct loop_self *self, const struct net *net, bool passive)
{
	INIT_LIST_HEAD(&self->entry);
	self->net = net->net_cookie;
	self->passive = passive;
}

static void loop_self_close(struct loop_self *self)
{
	mutex_lock(&loop_calling);
	list_del(&self->entry);
	mutex_unlock(&loop_calling);
}

/* @listens: from here on peers call the object; else no call begins after this function has returned. */
static void loop_self_listen(struct loop_self *self, bool listens)
{
	mutex_lock(&loop_calling);
	self->listens = listens;
	mutex_unlock(&loop_calling);
}

static int loop_self_get(const struct loop_self *self, void *addr)
{
	((struct kfi_loop_addr *)addr)->id = self->id;
	return sizeof(struct kfi_loop_addr);
}

static int loop_self_set(struct loop_self *self, const void *addr, size_t len)
{
	u64 id = len == sizeof(struct kfi_loop_addr) ? ((struct kfi_loop_addr *)addr)->id : 0;

	if (!id)
		return -EINVAL;
	return id == self->id ? 0 : loop_self_number(self, id);
}

/* ---- endpoints ---- */

/*
 * The info of an endpoint that accepts a request has the number of the listener, so the endpoint
 * gets a number of its own. The number is released when all connections are closed: a new endpoint
 * with this number is not taken for the old one.
 */
int loop_ep_open(struct kfi_ep *ep)
{
	struct loop_self *self = &to_loop_ep(ep)->self;
	int err = 0;

	ep->tx_levels = KFI_PROTO_LEVELS;
	loop_self_init(self, kfi_ep_net(ep), false);
	if (!ep->sep)
		err = loop_self_open(self, ep->connreq ? NULL : ep->info);
	if (err)
		return err;
	err = kfi_proto_ep_open(ep, &loop_proto);
	if (err)
		loop_self_close(self);
	return err;
}

/* A context has the name of its scalable endpoint, which listens for it: kfi_conn_set_adopt(). */
int loop_ep_enable(struct kfi_ep *ep)
{
	struct loop_ep *le = to_loop_ep(ep), *top;

	if (ep->type != KFI_EP_RDM)
		return 0;
	if (!ep->sep) {
		loop_self_listen(&le->self, true);
		return 0;
	}
	top = to_loop_ep(ep->sep);
	le->self.id = top->self.id;
	le->pe.peers.incarnation = top->pe.peers.incarnation;
	return 0;
}

static void loop_ep_unlisten(struct kfi_proto_ep *pe)
{
	loop_self_listen(&container_of(pe, struct loop_ep, pe)->self, false);
}

void loop_ep_stop(struct kfi_ep *ep, int err)
{
	kfi_proto_ep_stop(ep, err, loop_ep_unlisten);
}

void loop_ep_close(struct kfi_ep *ep)
{
	kfi_proto_ep_close(ep);
	loop_self_close(&to_loop_ep(ep)->self);
}

int loop_getname(struct kfi_ep *ep, void *addr)
{
	return loop_self_get(&to_loop_ep(ep->sep ?: ep)->self, addr);
}

int loop_setname(struct kfi_ep *ep, const void *addr, size_t len)
{
	return loop_self_set(&to_loop_ep(ep)->self, addr, len);
}

int loop_getpeer(struct kfi_ep *ep, void *addr)
{
	memcpy(addr, to_proto_ep(ep)->peer_name, sizeof(struct kfi_loop_addr));
	return sizeof(struct kfi_loop_addr);
}

/* ---- passive endpoints ---- */

int loop_pep_open(struct kfi_pep *pep)
{
	struct loop_self *self = &to_loop_pep(pep)->self;

	kfi_proto_pep_open(pep, &loop_proto);
	loop_self_init(self, read_pnet(&pep->fabric->net), true);
	return loop_self_open(self, pep->info);
}

int loop_listen(struct kfi_pep *pep)
{
	loop_self_listen(&to_loop_pep(pep)->self, true);
	return 0;
}

void loop_pep_close(struct kfi_pep *pep)
{
	struct loop_self *self = &to_loop_pep(pep)->self;

	loop_self_listen(self, false);
	kfi_proto_pep_close(pep);
	loop_self_close(self);
}

int loop_pep_getname(struct kfi_pep *pep, void *addr)
{
	return loop_self_get(&to_loop_pep(pep)->self, addr);
}

int loop_pep_setname(struct kfi_pep *pep, const void *addr, size_t len)
{
	return loop_self_set(&to_loop_pep(pep)->self, addr, len);
}
