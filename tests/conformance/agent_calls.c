// SPDX-License-Identifier: GPL-2.0
/*
 * The agent: each request is one call of the consumer interface. A row of the table says which
 * objects its first arguments are, so a call gets only objects that exist and have the right type.
 */
#include <linux/completion.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <kfi_atomic.h>
#include <kfi_cm.h>
#include <kfi_domain.h>
#include <kfi_endpoint.h>
#include <kfi_eq.h>
#include "agent.h"

#define CONTEXT(c)	((void *)(uintptr_t)(c)->arg[6])

/* ---- objects ---- */

u64 agent_number(struct agent_session *s, struct kfid *fid)
{
	u64 i;

	for (i = 1; i <= FAR_OBJECTS; i++)
		if (s->object[i].fid == fid)
			return i;
	for (i = 0; i < AGENT_HANDLES; i++)
		if (s->handle[i] == fid)
			return FAR_OBJECTS + 1 + i;
	return 0;
}

static struct kfid *find(struct agent_session *s, u64 number, enum agent_kind kind)
{
	if (number > FAR_OBJECTS && number <= FAR_OBJECTS + AGENT_HANDLES)
		return kind == K_HANDLE || kind == K_ANY ? s->handle[number - FAR_OBJECTS - 1] :
							   NULL;
	if (!number || number > FAR_OBJECTS || (kind != K_ANY && kind != s->object[number].kind))
		return NULL;
	return s->object[number].fid;
}

static u64 name_number(void *owner, struct kfid *fid)
{
	return agent_number(owner, fid);
}

static struct kfid *name_object(void *owner, u64 number)
{
	return find(owner, number, K_ANY);
}

struct far_names agent_names(struct agent_session *s)
{
	return (struct far_names){ .number = name_number, .object = name_object, .owner = s };
}

/*
 * Keep the handle of a connection request. The core only compares the pointer, so an old one does
 * no harm.
 */
void agent_keep_handle(struct agent_session *s, struct kfid *fid)
{
	mutex_lock(&s->lock);
	s->handle[s->handles++ % AGENT_HANDLES] = fid;
	mutex_unlock(&s->lock);
}

static int install(struct agent_call *c, enum agent_kind kind)
{
	struct agent_object *o = &c->s->object[c->arg[7]];

	mutex_lock(&c->s->lock);
	o->kind = kind;
	o->seq = ++c->s->seq;
	WRITE_ONCE(o->fid, c->opened);
	mutex_unlock(&c->s->lock);
	c->val[0] = c->opened->fclass;
	return 0;
}

/* Return the newest object that is older than @below, or NULL. */
static struct agent_object *next_newest(struct agent_session *s, u64 below)
{
	struct agent_object *found = NULL;
	int i;

	for (i = 1; i <= FAR_OBJECTS; i++) {
		struct agent_object *o = &s->object[i];

		if (o->fid && o->seq < below && (!found || o->seq > found->seq))
			found = o;
	}
	return found;
}

/* One round of closing. Return: number of objects that were closed. */
static int close_round(struct agent_session *s)
{
	struct agent_object *o;
	u64 below = U64_MAX;
	int closed = 0;

	while ((o = next_newest(s, below))) {
		below = o->seq;
		if (kfi_close(o->fid))
			continue;
		o->fid = NULL;
		closed++;
	}
	return closed;
}

/* Objects that can't be closed are left as they are for ever, and so is their memory. */
void agent_reset(struct agent_session *s, u64 *open, u64 *refused)
{
	int i;

	*open = 0;
	*refused = 0;
	for (i = 1; i <= FAR_OBJECTS; i++)
		*open += !!s->object[i].fid;
	while (close_round(s))
		;
	for (i = 1; i <= FAR_OBJECTS; i++)
		*refused += !!s->object[i].fid;
	memset(s->object, 0, sizeof(s->object));
	memset(s->handle, 0, sizeof(s->handle));
	if (!*refused)
		agent_forget_memory(s);
}

static s64 do_reset(struct agent_call *c)
{
	agent_reset(c->s, &c->val[0], &c->val[1]);
	return 0;
}

/* ---- data that follows a request ---- */

/* Return a copy of the attributes that a call may change, or NULL if none were given. */
static void *attr_of(struct agent_call *c, bool given, void *copy, size_t size)
{
	if (!given)
		return NULL;
	far_get(&c->in, copy, size);
	return copy;
}

static struct kfi_info *info_of(struct agent_call *c)
{
	struct far_names names = agent_names(c->s);

	return far_get_infos(&c->in, &names);
}

const void *agent_rest(struct agent_call *c, size_t *len)
{
	*len = c->in.len - c->in.at;
	return *len ? far_take(&c->in, *len) : NULL;
}

void *agent_room(struct agent_call *c, u64 len)
{
	void *p = len <= AGENT_ROOM ? far_room(&c->out, len) : NULL;

	if (p)
		memset(p, 0, len);
	else
		c->out.bad = true;
	return p;
}

/* ---- opening ---- */

static s64 do_getinfo(struct agent_call *c)
{
	struct far_names names = agent_names(c->s);
	struct kfi_info *hints, *info = NULL;
	const char *node, *service;
	s64 ret;

	node = far_take_str(&c->in);
	service = far_take_str(&c->in);
	hints = far_get_infos(&c->in, &names);
	if (c->in.bad)
		return -EPROTO;
	ret = kfi_getinfo_net(c->s->net, c->arg[0], node, service, c->arg[1], hints, &info);
	kfi_freeinfo(hints);
	far_put_infos(&c->out, info, &names);
	kfi_freeinfo(info);
	return ret;
}

/* For calls that open with an info: @call uses @info, and stores the object in @obj. */
#define OPEN_BY_INFO(c, obj, call)					\
({									\
	struct kfi_info *info = info_of(c);				\
	s64 __ret = info ? (call) : -EPROTO;				\
									\
	if (!__ret)							\
		(c)->opened = &(obj)->fid;				\
	kfi_freeinfo(info);						\
	__ret;								\
})

#define OPEN(c, obj, call)						\
({									\
	s64 __ret = (c)->in.bad ? -EPROTO : (call);			\
									\
	if (!__ret)							\
		(c)->opened = &(obj)->fid;				\
	__ret;								\
})

static s64 do_fabric(struct agent_call *c)
{
	struct kfid_fabric *fabric;

	return OPEN_BY_INFO(c, fabric,
			    kfi_fabric_net(c->s->net, info->fabric_attr, &fabric, CONTEXT(c)));
}

static s64 do_domain(struct agent_call *c)
{
	struct kfid_domain *domain;

	return OPEN_BY_INFO(c, domain,
			    kfi_domain(FID(c, 0, kfid_fabric), info, &domain, CONTEXT(c)));
}

static s64 do_ep(struct agent_call *c)
{
	struct kfid_ep *ep;

	return OPEN_BY_INFO(c, ep, kfi_endpoint(FID(c, 0, kfid_domain), info, &ep, CONTEXT(c)));
}

static s64 do_sep(struct agent_call *c)
{
	struct kfid_ep *ep;

	return OPEN_BY_INFO(c, ep, kfi_scalable_ep(FID(c, 0, kfid_domain), info, &ep, CONTEXT(c)));
}

static s64 do_pep(struct agent_call *c)
{
	struct kfid_pep *pep;

	return OPEN_BY_INFO(c, pep, kfi_passive_ep(FID(c, 0, kfid_fabric), info, &pep, CONTEXT(c)));
}

static s64 do_eq(struct agent_call *c)
{
	struct kfi_eq_attr attr, *a = attr_of(c, c->arg[1], &attr, sizeof(attr));
	struct kfid_eq *eq;

	return OPEN(c, eq, kfi_eq_open(FID(c, 0, kfid_fabric), a, &eq, NULL, CONTEXT(c)));
}

static s64 do_cq(struct agent_call *c)
{
	struct kfi_cq_attr attr, *a = attr_of(c, c->arg[1], &attr, sizeof(attr));
	struct kfid_cq *cq;

	return OPEN(c, cq, kfi_cq_open(FID(c, 0, kfid_domain), a, &cq, NULL, CONTEXT(c)));
}

static s64 do_cntr(struct agent_call *c)
{
	struct kfi_cntr_attr attr, *a = attr_of(c, c->arg[1], &attr, sizeof(attr));
	struct kfid_cntr *cntr;

	return OPEN(c, cntr, kfi_cntr_open(FID(c, 0, kfid_domain), a, &cntr, CONTEXT(c)));
}

/* All providers refuse a name or a map address: only whether there is one matters. */
static s64 do_av(struct agent_call *c)
{
	struct kfi_av_attr attr, *a = attr_of(c, c->arg[1], &attr, sizeof(attr));
	struct kfid_av *av;

	if (a && a->name)
		a->name = "name";
	return OPEN(c, av, kfi_av_open(FID(c, 0, kfid_domain), a, &av, CONTEXT(c)));
}

static s64 do_tx_ctx(struct agent_call *c)
{
	struct kfi_tx_attr attr, *a = attr_of(c, c->arg[2], &attr, sizeof(attr));
	struct kfid_ep *ep;

	return OPEN(c, ep, kfi_tx_context(FID(c, 0, kfid_ep), c->arg[1], a, &ep, CONTEXT(c)));
}

static s64 do_rx_ctx(struct agent_call *c)
{
	struct kfi_rx_attr attr, *a = attr_of(c, c->arg[2], &attr, sizeof(attr));
	struct kfid_ep *ep;

	return OPEN(c, ep, kfi_rx_context(FID(c, 0, kfid_ep), c->arg[1], a, &ep, CONTEXT(c)));
}

static s64 do_stx(struct agent_call *c)
{
	struct kfi_tx_attr attr, *a = attr_of(c, c->arg[1], &attr, sizeof(attr));
	struct kfid_stx *stx;

	return OPEN(c, stx, kfi_stx_context(FID(c, 0, kfid_domain), a, &stx, CONTEXT(c)));
}

static s64 do_srx(struct agent_call *c)
{
	struct kfi_rx_attr attr, *a = attr_of(c, c->arg[1], &attr, sizeof(attr));
	struct kfid_ep *ep;

	return OPEN(c, ep, kfi_srx_context(FID(c, 0, kfid_domain), a, &ep, CONTEXT(c)));
}

static s64 do_mr_alloc(struct agent_call *c)
{
	struct kfid_mr *mr;
	s64 ret = OPEN(c, mr,
		       kfi_mr_alloc(FID(c, 0, kfid_domain), c->arg[1], c->arg[2], &mr, CONTEXT(c)));

	if (!ret) {
		c->val[1] = kfi_mr_key(mr);
		c->val[2] = kfi_mr_addr(mr);
	}
	return ret;
}

/* ---- calls for all objects ---- */

/* Taken out of the table first: after the close another object may have its address. */
static s64 do_close(struct agent_call *c)
{
	struct agent_object *o = &c->s->object[c->arg[0]];
	s64 ret;

	if (c->arg[0] > FAR_OBJECTS)
		return -EBADF;
	WRITE_ONCE(o->fid, NULL);
	ret = kfi_close(c->obj[0]);
	if (ret)
		WRITE_ONCE(o->fid, c->obj[0]);
	return ret;
}

/* The key of a region may be known only now. */
static void tell_key(struct agent_call *c)
{
	if (c->obj[0]->fclass == KFI_CLASS_MR) {
		c->val[1] = kfi_mr_key(FID(c, 0, kfid_mr));
		c->val[2] = kfi_mr_addr(FID(c, 0, kfid_mr));
	}
}

static s64 do_bind(struct agent_call *c)
{
	s64 ret = kfi_bind(c->obj[0], c->obj[1], c->arg[2]);

	tell_key(c);
	return ret;
}

static s64 do_control(struct agent_call *c)
{
	u64 value = c->arg[2];
	s64 ret = kfi_control(c->obj[0], c->arg[1], c->arg[3] ? &value : NULL);

	c->val[0] = value;
	tell_key(c);
	return ret;
}

/* The operations are useless on the other machine; only whether they exist is the answer. */
static s64 do_open_ops(struct agent_call *c)
{
	const char *name = far_take_str(&c->in);
	void *ops;
	s64 ret = name ? kfi_open_ops(c->obj[0], name, c->arg[1], &ops, NULL) : -EPROTO;

	return ret ?: -EOPNOTSUPP;
}

/* ---- connections and names ---- */

static s64 do_setname(struct agent_call *c)
{
	size_t len;
	const void *addr = agent_rest(c, &len);

	return kfi_setname(c->obj[0], (void *)addr, len);
}

/* All of the room is returned: bytes that a call does not set have to be unchanged. */
#define WITH_ROOM(c, given, call)					\
({									\
	size_t len = (given);						\
	void *room = agent_room(c, len);					\
	s64 __ret = room ? (call) : -ENOMEM;				\
									\
	(c)->val[0] = len;						\
	__ret;								\
})

static s64 do_getname(struct agent_call *c)
{
	return WITH_ROOM(c, c->arg[1], kfi_getname(c->obj[0], room, &len));
}

static s64 do_getpeer(struct agent_call *c)
{
	return WITH_ROOM(c, c->arg[1], kfi_getpeer(FID(c, 0, kfid_ep), room, &len));
}

static s64 do_listen(struct agent_call *c)
{
	return kfi_listen(FID(c, 0, kfid_pep));
}

static s64 do_connect(struct agent_call *c)
{
	const void *addr = far_take(&c->in, c->arg[1]), *param;
	size_t len;

	if (!addr)
		return -EPROTO;
	param = agent_rest(c, &len);
	return kfi_connect(FID(c, 0, kfid_ep), addr, param, len);
}

static s64 do_accept(struct agent_call *c)
{
	size_t len;
	const void *param = agent_rest(c, &len);

	return kfi_accept(FID(c, 0, kfid_ep), param, len);
}

static s64 do_reject(struct agent_call *c)
{
	/* An unknown request is one that the core does not know either. */
	struct kfid none = {}, *handle = find(c->s, c->arg[1], K_HANDLE) ?: &none;
	size_t len;
	const void *param = agent_rest(c, &len);

	return kfi_reject(FID(c, 0, kfid_pep), handle, param, len);
}

static s64 do_shutdown(struct agent_call *c)
{
	return kfi_shutdown(FID(c, 0, kfid_ep), c->arg[1]);
}

/* ---- domains and address vectors ---- */

static s64 do_limits(struct agent_call *c)
{
	return WITH_ROOM(c, sizeof(struct kfi_domain_limits),
			 kfi_domain_limits(FID(c, 0, kfid_domain), room));
}

static s64 do_av_insert(struct agent_call *c)
{
	size_t bytes, n = min_t(u64, c->arg[1], AGENT_ROOM / sizeof(kfi_addr_t));
	const void *addr = agent_rest(c, &bytes);

	return WITH_ROOM(c, n * sizeof(kfi_addr_t),
			 kfi_av_insert(FID(c, 0, kfid_av), addr, c->arg[1], room, c->arg[2], NULL));
}

static s64 do_av_insertsvc(struct agent_call *c)
{
	const char *node = far_take_str(&c->in), *service = far_take_str(&c->in);

	return WITH_ROOM(c, sizeof(kfi_addr_t),
			 kfi_av_insertsvc(FID(c, 0, kfid_av), node, service, room, c->arg[1],
					  NULL));
}

static s64 do_av_insertsym(struct agent_call *c)
{
	const char *node = far_take_str(&c->in), *service = far_take_str(&c->in);

	if (c->arg[1] > 64 || c->arg[2] > 64)
		return -EPROTO;
	return WITH_ROOM(c, c->arg[1] * c->arg[2] * sizeof(kfi_addr_t),
			 kfi_av_insertsym(FID(c, 0, kfid_av), node, c->arg[1], service, c->arg[2],
					  room, c->arg[3], NULL));
}

static s64 do_av_remove(struct agent_call *c)
{
	size_t bytes;
	const void *addr = agent_rest(c, &bytes);

	return kfi_av_remove(FID(c, 0, kfid_av), (kfi_addr_t *)addr, bytes / sizeof(kfi_addr_t),
			     c->arg[1]);
}

static s64 do_av_lookup(struct agent_call *c)
{
	return WITH_ROOM(c, c->arg[2], kfi_av_lookup(FID(c, 0, kfid_av), c->arg[1], room, &len));
}

static s64 do_av_straddr(struct agent_call *c)
{
	size_t bytes;
	const void *addr = agent_rest(c, &bytes);

	return WITH_ROOM(c, c->arg[1], (kfi_av_straddr(FID(c, 0, kfid_av), addr, room, &len), 0));
}

/* ---- endpoints ---- */

static s64 do_cancel(struct agent_call *c)
{
	return kfi_cancel(c->obj[0], (void *)(uintptr_t)c->arg[1]);
}

static s64 do_tx_flush(struct agent_call *c)
{
	kfi_ep_tx_flush(FID(c, 0, kfid_ep));
	return 0;
}

static s64 do_setopt(struct agent_call *c)
{
	size_t len;
	const void *value = agent_rest(c, &len);

	return kfi_setopt(c->obj[0], c->arg[1], c->arg[2], value, len);
}

static s64 do_getopt(struct agent_call *c)
{
	return WITH_ROOM(c, c->arg[3], kfi_getopt(c->obj[0], c->arg[1], c->arg[2], room, &len));
}

static s64 do_query_atomic(struct agent_call *c)
{
	struct kfi_atomic_attr attr = {};
	s64 ret;

	if (c->obj[0]->fclass == KFI_CLASS_DOMAIN)
		ret = kfi_query_atomic(FID(c, 0, kfid_domain), c->arg[1], c->arg[2], &attr,
				       c->arg[3]);
	else
		ret = kfi_ep_query_atomic(FID(c, 0, kfid_ep), c->arg[1], c->arg[2], &attr,
					  c->arg[3]);
	far_put(&c->out, &attr, sizeof(attr));
	return ret;
}

/* ---- regions that are allocated first ---- */

struct mr_wait {
	struct kfi_mr_work	work;
	struct completion	done;
	int			err;
};

static void mr_done(struct kfi_mr_work *work, int err)
{
	struct mr_wait *w = container_of(work, struct mr_wait, work);

	w->err = err;
	complete(&w->done);
}

static void mr_wait_init(struct mr_wait *w)
{
	w->work.done = mr_done;
	w->err = 0;
	init_completion(&w->done);
}

/* The driver calls its done() when the answer has come, so wait for done() here. */
static s64 mr_wait(struct agent_call *c, struct mr_wait *w, s64 ret)
{
	if (!ret)
		wait_for_completion(&w->done);
	c->val[0] = w->err;
	tell_key(c);
	return ret;
}

static s64 do_mr_register(struct agent_call *c)
{
	struct kfi_mr_attr attr;
	struct mr_wait w;
	s64 ret;

	mr_wait_init(&w);
	ret = agent_take_mr(c, &attr);
	return ret ?: mr_wait(c, &w, kfi_mr_register(FID(c, 0, kfid_mr), &attr, &w.work));
}

static s64 do_mr_invalidate(struct agent_call *c)
{
	struct mr_wait w;

	mr_wait_init(&w);
	return mr_wait(c, &w, kfi_mr_invalidate(FID(c, 0, kfid_mr), &w.work));
}

/* ---- the table ---- */

static const struct {
	s64 (*fn)(struct agent_call *c);
	u8 kind[2];	/* kinds of the objects that the first arguments name; K_NONE: none */
	u8 opens;	/* kind of the object that [7] will name */
} rows[FAR_OPS] = {
	[FAR_RESET]		= { do_reset },
	[FAR_SYNC]		= { agent_sync },
	[FAR_GETINFO]		= { do_getinfo },
	[FAR_FABRIC]		= { do_fabric, { K_NONE }, K_FABRIC },
	[FAR_DOMAIN]		= { do_domain, { K_FABRIC }, K_DOMAIN },
	[FAR_EQ]		= { do_eq, { K_FABRIC }, K_EQ },
	[FAR_CQ]		= { do_cq, { K_DOMAIN }, K_CQ },
	[FAR_CNTR]		= { do_cntr, { K_DOMAIN }, K_CNTR },
	[FAR_AV]		= { do_av, { K_DOMAIN }, K_AV },
	[FAR_EP]		= { do_ep, { K_DOMAIN }, K_EP },
	[FAR_SEP]		= { do_sep, { K_DOMAIN }, K_EP },
	[FAR_PEP]		= { do_pep, { K_FABRIC }, K_PEP },
	[FAR_TX_CTX]		= { do_tx_ctx, { K_EP }, K_EP },
	[FAR_RX_CTX]		= { do_rx_ctx, { K_EP }, K_EP },
	[FAR_STX]		= { do_stx, { K_DOMAIN }, K_STX },
	[FAR_SRX]		= { do_srx, { K_DOMAIN }, K_EP },
	[FAR_MR_REG]		= { agent_mr_reg, { K_DOMAIN }, K_MR },
	[FAR_MR_ALLOC]		= { do_mr_alloc, { K_DOMAIN }, K_MR },
	[FAR_MR_REGISTER]	= { do_mr_register, { K_MR } },
	[FAR_MR_INVALIDATE]	= { do_mr_invalidate, { K_MR } },
	[FAR_CLOSE]		= { do_close, { K_ANY } },
	[FAR_BIND]		= { do_bind, { K_ANY, K_ANY } },
	[FAR_CONTROL]		= { do_control, { K_ANY } },
	[FAR_OPEN_OPS]		= { do_open_ops, { K_ANY } },
	[FAR_SETNAME]		= { do_setname, { K_ANY } },
	[FAR_GETNAME]		= { do_getname, { K_ANY } },
	[FAR_GETPEER]		= { do_getpeer, { K_EP } },
	[FAR_LISTEN]		= { do_listen, { K_PEP } },
	[FAR_CONNECT]		= { do_connect, { K_EP } },
	[FAR_ACCEPT]		= { do_accept, { K_EP } },
	[FAR_REJECT]		= { do_reject, { K_PEP } },
	[FAR_SHUTDOWN]		= { do_shutdown, { K_EP } },
	[FAR_LIMITS]		= { do_limits, { K_DOMAIN } },
	[FAR_AV_INSERT]		= { do_av_insert, { K_AV } },
	[FAR_AV_INSERTSVC]	= { do_av_insertsvc, { K_AV } },
	[FAR_AV_INSERTSYM]	= { do_av_insertsym, { K_AV } },
	[FAR_AV_REMOVE]		= { do_av_remove, { K_AV } },
	[FAR_AV_LOOKUP]		= { do_av_lookup, { K_AV } },
	[FAR_AV_STRADDR]	= { do_av_straddr, { K_AV } },
	[FAR_EQ_READ]		= { agent_eq_read, { K_EQ } },
	[FAR_EQ_READERR]	= { agent_eq_readerr, { K_EQ } },
	[FAR_EQ_WRITE]		= { agent_eq_write, { K_EQ } },
	[FAR_CQ_READ]		= { agent_cq_read, { K_CQ } },
	[FAR_CQ_READERR]	= { agent_cq_readerr, { K_CQ } },
	[FAR_CQ_SIGNAL]		= { agent_cq_signal, { K_CQ } },
	[FAR_CQ_POLL]		= { agent_cq_poll, { K_CQ } },
	[FAR_CNTR_READ]		= { agent_cntr_read, { K_CNTR } },
	[FAR_CNTR_READERR]	= { agent_cntr_readerr, { K_CNTR } },
	[FAR_CNTR_CHANGE]	= { agent_cntr_change, { K_CNTR } },
	[FAR_CNTR_WAIT]		= { agent_cntr_wait, { K_CNTR } },
	[FAR_CANCEL]		= { do_cancel, { K_ANY } },
	[FAR_TX_FLUSH]		= { do_tx_flush, { K_EP } },
	[FAR_SETOPT]		= { do_setopt, { K_ANY } },
	[FAR_GETOPT]		= { do_getopt, { K_ANY } },
	[FAR_QUERY_ATOMIC]	= { do_query_atomic, { K_ANY } },
	[FAR_POST]		= { agent_post, { K_EP } },
};

s64 agent_serve(struct agent_call *c, unsigned int op)
{
	s64 ret;
	int i;

	if (op >= FAR_OPS || !rows[op].fn)
		return -ENOSYS;
	for (i = 0; i < 2; i++) {
		if (rows[op].kind[i] == K_NONE)
			continue;
		c->obj[i] = find(c->s, c->arg[i], rows[op].kind[i]);
		if (!c->obj[i])
			return -EBADF;
	}
	if (!rows[op].opens)
		return rows[op].fn(c);
	if (!c->arg[7] || c->arg[7] > FAR_OBJECTS || c->s->object[c->arg[7]].fid)
		return -EBADF;
	ret = rows[op].fn(c);
	return ret ?: install(c, rows[op].opens);
}
