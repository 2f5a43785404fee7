// SPDX-License-Identifier: GPL-2.0
/* ep.c - endpoints and passive endpoints: their numbers, open, enable, stop, close. */
#include <linux/slab.h>
#include "loop.h"

/* ---- numbers ---- */

/* Reserve *@id, or a free number if *@id is 0. */
static int loop_id_reserve(struct loop_ids *ids, u64 *id)
{
	u32 free;
	int err;

	if (*id && !loop_addr_ok(*id))
		return -EINVAL;
	if (*id) {
		err = xa_insert(&ids->used, *id, NULL, GFP_KERNEL);
		return err == -EBUSY ? -EADDRINUSE : err;
	}
	/* Consumers tend to choose small numbers; free numbers are taken from the upper half. */
	err = xa_alloc_cyclic(&ids->used, &free, NULL, XA_LIMIT(1U << 31, U32_MAX), &ids->next,
			      GFP_KERNEL);
	if (err < 0)
		return err == -EBUSY ? -EADDRNOTAVAIL : err;
	*id = free;
	return 0;
}

void loop_net_put(struct loop_net *ln)
{
	if (refcount_dec_and_test(&ln->ref))
		kfree(ln);
}

/* Reserve the number that @info requests, or a free one. @ids NULL: none. */
static int loop_self_open(struct loop_self *self, struct loop_net *ln, struct loop_ids *ids,
			  const struct kfi_info *info)
{
	const struct kfi_loop_addr *a = info ? info->src_addr : NULL;
	int err;

	self->ln = ln;
	self->ids = ids;
	self->id = a && info->src_addrlen == sizeof(*a) ? a->id : 0;
	err = ids ? loop_id_reserve(ids, &self->id) : 0;
	if (!err)
		refcount_inc(&ln->ref);
	return err;
}

static void loop_self_close(struct loop_self *self)
{
	if (self->ids)
		xa_erase(&self->ids->used, self->id);
	loop_net_put(self->ln);
}

/* From here on peers call @object; NULL: no call begins after this function has returned. */
static int loop_self_listen(struct loop_self *self, void *object)
{
	void *old = NULL;

	mutex_lock(&self->ln->calling);
	if (self->ids)	/* reserved: the array allocates nothing */
		old = xa_store(&self->ids->used, self->id, object, GFP_KERNEL);
	mutex_unlock(&self->ln->calling);
	return xa_err(old);
}

static int loop_self_get(const struct loop_self *self, void *addr)
{
	((struct kfi_loop_addr *)addr)->id = self->id;
	return sizeof(struct kfi_loop_addr);
}

static int loop_self_set(struct loop_self *self, const void *addr, size_t len)
{
	u64 id = len == sizeof(struct kfi_loop_addr) ? ((struct kfi_loop_addr *)addr)->id : 0;
	int err;

	if (!loop_addr_ok(id))
		return -EINVAL;
	if (id == self->id)
		return 0;
	err = loop_id_reserve(self->ids, &id);
	if (err)
		return err;
	xa_erase(&self->ids->used, self->id);
	self->id = id;
	return 0;
}

/* ---- endpoints ---- */

/*
 * The info of an endpoint that accepts a request has the number of the listener, so the endpoint
 * gets a number of its own. The number is released when all connections are closed: a new endpoint
 * with this number is not taken for the old one.
 */
int loop_ep_open(struct kfi_ep *ep)
{
	struct loop_net *ln = loop_net(kfi_ep_net(ep));
	struct loop_self *self = &to_loop_ep(ep)->self;
	int err;

	ep->tx_levels = KFI_PROTO_LEVELS;
	err = loop_self_open(self, ln, ep->sep ? NULL : &ln->eps, ep->connreq ? NULL : ep->info);
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
	if (!ep->sep)
		return loop_self_listen(&le->self, le);
	top = to_loop_ep(ep->sep);
	le->self.id = top->self.id;
	le->pe.peers.incarnation = top->pe.peers.incarnation;
	return 0;
}

static void loop_ep_unlisten(struct kfi_proto_ep *pe)
{
	loop_self_listen(&container_of(pe, struct loop_ep, pe)->self, NULL);
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
	struct loop_net *ln = loop_net(read_pnet(&pep->fabric->net));

	kfi_proto_pep_open(pep, &loop_proto);
	return loop_self_open(&to_loop_pep(pep)->self, ln, &ln->peps, pep->info);
}

int loop_listen(struct kfi_pep *pep)
{
	return loop_self_listen(&to_loop_pep(pep)->self, to_loop_pep(pep));
}

void loop_pep_close(struct kfi_pep *pep)
{
	struct loop_self *self = &to_loop_pep(pep)->self;

	loop_self_listen(self, NULL);
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
