// SPDX-License-Identifier: GPL-2.0
/*
 * pep.c - passive endpoints: numbers and look-up. Life times are those of endpoints, see loop.h.
 */
#include "loop.h"

int loop_pep_open(struct kfi_pep *pep)
{
	const struct kfi_loop_addr *a = pep->info->src_addr;
	struct loop_pep *lp = to_loop_pep(pep);

	lp->ln = loop_net(read_pnet(&pep->fabric->net));
	refcount_set(&lp->users, 1);
	if (a && pep->info->src_addrlen == sizeof(*a))
		lp->id = a->id;
	if (lp->id && !loop_addr_ok(lp->id))
		return -EINVAL;
	return loop_id_reserve(&lp->ln->listeners, &lp->ln->next_listener, &lp->id);
}

void loop_pep_close(struct kfi_pep *pep)
{
	struct loop_pep *lp = to_loop_pep(pep);

	xa_erase(&lp->ln->listeners, lp->id);
	loop_wait_unpinned(&lp->users);
}

int loop_pep_getname(struct kfi_pep *pep, void *addr)
{
	struct kfi_loop_addr *a = addr;

	a->id = to_loop_pep(pep)->id;
	return sizeof(*a);
}

int loop_pep_setname(struct kfi_pep *pep, const void *addr, size_t len)
{
	struct loop_pep *lp = to_loop_pep(pep);
	const struct kfi_loop_addr *a = addr;
	u64 id;
	int err;

	if (len != sizeof(*a) || !loop_addr_ok(a->id))
		return -EINVAL;
	id = a->id;
	if (id == lp->id)
		return 0;
	err = loop_id_reserve(&lp->ln->listeners, &lp->ln->next_listener, &id);
	if (err)
		return err;
	xa_erase(&lp->ln->listeners, lp->id);
	lp->id = id;
	return 0;
}

int loop_listen(struct kfi_pep *pep)
{
	struct loop_pep *lp = to_loop_pep(pep);

	/* The entry is reserved, so the store allocates nothing. */
	return xa_err(xa_store(&lp->ln->listeners, lp->id, lp, GFP_KERNEL));
}

/* ---- look-up ---- */

void loop_pep_put(struct loop_pep *lp)
{
	loop_unpin(&lp->users);
}

struct loop_pep *loop_pep_get(struct loop_net *ln, u64 id)
{
	struct loop_pep *lp;

	rcu_read_lock();
	lp = xa_load(&ln->listeners, id);
	if (lp && !refcount_inc_not_zero(&lp->users))
		lp = NULL;
	rcu_read_unlock();
	return lp;
}
