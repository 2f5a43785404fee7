// SPDX-License-Identifier: GPL-2.0
/*
 * The agent: queues and counters.
 */
#include <linux/minmax.h>
#include <kfi_domain.h>
#include <kfi_eq.h>
#include "agent.h"

/* ---- event queues ---- */

/* An info follows the entry; the driver makes one of its own. */
static void put_request(struct agent_call *c, struct kfi_info *info)
{
	struct far_names names = agent_names(c->s);

	agent_keep_handle(c->s, info->handle);
	far_put_infos(&c->out, info, &names);
	if (!(c->arg[2] & KFI_PEEK))
		kfi_freeinfo(info);
}

/*
 * The fid is the first member of every event. Fids in events of the consumer are the driver's
 * already.
 */
static void name_event(struct agent_call *c, u32 event, struct kfi_eq_cm_entry *e)
{
	struct kfi_info *info = event == KFI_CONNREQ ? e->info : NULL;
	u64 number = agent_number(c->s, e->fid);

	if (number)
		e->fid = (kfid_t)(uintptr_t)number;
	/* The entry may move. */
	if (info)
		put_request(c, info);
}

s64 agent_eq_read(struct agent_call *c)
{
	struct kfid_eq *eq = FID(c, 0, kfid_eq);
	void *room = agent_room(c, c->arg[1]);
	u32 event = 0;
	s64 ret;

	if (!room)
		return -ENOMEM;
	ret = c->arg[3] ? kfi_eq_sread(eq, &event, room, c->arg[1], c->arg[4], c->arg[2]) :
			  kfi_eq_read(eq, &event, room, c->arg[1], c->arg[2]);
	if (ret >= (s64)sizeof(struct kfi_eq_cm_entry))
		name_event(c, event, room);
	c->val[0] = event;
	return ret;
}

s64 agent_eq_readerr(struct agent_call *c)
{
	struct kfi_eq_err_entry *e = agent_room(c,
						sizeof(*e) + min_t(u64, c->arg[1], AGENT_ROOM / 2));
	u64 number;
	s64 ret;

	if (!e)
		return -ENOMEM;
	e->err_data_size = c->arg[1];
	e->err_data = c->arg[1] ? e + 1 : NULL;
	ret = kfi_eq_readerr(FID(c, 0, kfid_eq), e, c->arg[2]);
	number = ret > 0 ? agent_number(c->s, e->fid) : 0;
	e->fid = (kfid_t)(uintptr_t)number;
	return ret;
}

s64 agent_eq_write(struct agent_call *c)
{
	size_t len;
	const void *entry = agent_rest(c, &len);

	return kfi_eq_write(FID(c, 0, kfid_eq), c->arg[1], entry, len, c->arg[2]);
}

/* ---- completion queues ---- */

/* All entries with a buffer have it where struct kfi_cq_data_entry has it. */
static void name_buffers(struct agent_call *c, void *entries, size_t size, s64 n)
{
	for (; size >= sizeof(struct kfi_cq_data_entry) && n > 0; n--, entries += size) {
		struct kfi_cq_data_entry *e = entries;

		e->buf = (void *)(uintptr_t)agent_driver_address(c->s, e->buf);
	}
}

s64 agent_cq_read(struct agent_call *c)
{
	struct kfid_cq *cq = FID(c, 0, kfid_cq);
	size_t n = c->arg[1], size = c->arg[2];
	kfi_addr_t *from;
	void *room;
	s64 ret;

	if (size > sizeof(struct kfi_cq_tagged_entry) || n > FAR_MAX_VEC)
		return -EPROTO;
	room = agent_room(c, n * (size + sizeof(*from)));
	if (!room)
		return -ENOMEM;
	from = room + n * size;
	if (c->arg[4])
		ret = c->arg[3] ? kfi_cq_sreadfrom(cq, room, n, from, NULL, c->arg[5]) :
				  kfi_cq_sread(cq, room, n, NULL, c->arg[5]);
	else
		ret = c->arg[3] ? kfi_cq_readfrom(cq, room, n, from) : kfi_cq_read(cq, room, n);
	name_buffers(c, room, size, ret);
	return ret;
}

s64 agent_cq_readerr(struct agent_call *c)
{
	struct kfi_cq_err_entry *e = agent_room(c,
						sizeof(*e) + min_t(u64, c->arg[1], AGENT_ROOM / 2));
	s64 ret;

	if (!e)
		return -ENOMEM;
	e->err_data_size = c->arg[1];
	e->err_data = c->arg[1] ? e + 1 : NULL;
	ret = kfi_cq_readerr(FID(c, 0, kfid_cq), e, c->arg[2]);
	name_buffers(c, e, sizeof(*e), ret);
	return ret;
}

s64 agent_cq_signal(struct agent_call *c)
{
	return kfi_cq_signal(FID(c, 0, kfid_cq));
}

s64 agent_cq_poll(struct agent_call *c)
{
	return kfi_cq_poll(FID(c, 0, kfid_cq), c->arg[1]);
}

/* ---- counters ---- */

s64 agent_cntr_read(struct agent_call *c)
{
	c->val[0] = kfi_cntr_read(FID(c, 0, kfid_cntr));
	return 0;
}

s64 agent_cntr_readerr(struct agent_call *c)
{
	c->val[0] = kfi_cntr_readerr(FID(c, 0, kfid_cntr));
	return 0;
}

s64 agent_cntr_change(struct agent_call *c)
{
	struct kfid_cntr *cntr = FID(c, 0, kfid_cntr);

	switch (c->arg[1]) {
	case FAR_CNTR_ADD:
		return kfi_cntr_add(cntr, c->arg[2]);
	case FAR_CNTR_SET:
		return kfi_cntr_set(cntr, c->arg[2]);
	case FAR_CNTR_ADDERR:
		return kfi_cntr_adderr(cntr, c->arg[2]);
	case FAR_CNTR_SETERR:
		return kfi_cntr_seterr(cntr, c->arg[2]);
	}
	return -EPROTO;
}

s64 agent_cntr_wait(struct agent_call *c)
{
	return kfi_cntr_wait(FID(c, 0, kfid_cntr), c->arg[1], c->arg[2]);
}
