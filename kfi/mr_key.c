// SPDX-License-Identifier: GPL-2.0
/*
 * mr_key.c - keys of regions: how a region gets one, and is found by it.
 *
 * A region whose keys are chosen here has a slot of its domain from its creation to its end. The
 * low part of each of its keys is the slot, and the rest can't be guessed. So a region for single
 * I/Os gets a new key by a write to itself alone, and no CPU touches a line of the table that
 * another one has changed. A registration that has ended leaves its key in the region until the
 * next one, and is not found any more because the region is not live.
 *
 * Keys that the consumer or the provider chooses are in a hash table instead, from the registration
 * to its end, and so are those of a domain whose slots are all taken. Of a key of four bytes, as
 * NVMe has, half are the slot: a consumer whose peers do not trust each other binds such regions to
 * endpoints, and from the 65,535th on regions of such a domain are slower to register.
 */
#include <linux/export.h>
#include <linux/random.h>
#include <linux/rcupdate.h>
#include <linux/siphash.h>
#include "core.h"
#include "mr.h"

#define RANDOM_TRIES		16
/* Bits of a key that are a slot: of a key of eight bytes, and of a shorter one, of four at least */
#define SLOT_BITS		24
#define SHORT_SLOT_BITS		16

static const struct rhashtable_params mr_params = {
	.key_len = sizeof(u64),
	.key_offset = offsetof(struct kfi_mr, fid.key),
	.head_offset = offsetof(struct kfi_mr, node),
	.min_size = 64,
	.automatic_shrinking = true,
};

/* ---- tables ---- */

static size_t key_size(const struct kfi_domain *domain)
{
	size_t size = domain->info->domain_attr->mr_key_size;

	return size && size < sizeof(u64) ? size : sizeof(u64);
}

static u64 key_mask(const struct kfi_domain *domain)
{
	return GENMASK_ULL(key_size(domain) * 8 - 1, 0);
}

int kfi_mr_table_init(struct kfi_domain *domain)
{
	size_t size = key_size(domain);
	int ret;

	domain->registered = alloc_percpu(u64);
	if (!domain->registered)
		return -ENOMEM;
	ret = rhashtable_init(&domain->mrs, &mr_params);
	if (ret) {
		free_percpu(domain->registered);
		return ret;
	}
	xa_init_flags(&domain->slots, XA_FLAGS_ALLOC | XA_FLAGS_ACCOUNT);
	get_random_bytes(&domain->key_secret, sizeof(domain->key_secret));
	if (size >= 4)
		domain->slot_mask = BIT(size == sizeof(u64) ? SLOT_BITS : SHORT_SLOT_BITS) - 1;
	return 0;
}

void kfi_mr_table_exit(struct kfi_domain *domain)
{
	rhashtable_destroy(&domain->mrs);
	xa_destroy(&domain->slots);
	free_percpu(domain->registered);
}

/* ---- keys ---- */

/*
 * Slot 0 and the last one are not used, so no drawn key is 0, or all ones, which is
 * KFI_KEY_NOTAVAIL cut to the length of a key.
 */
int kfi_mr_take_slot(struct kfi_mr *mr)
{
	struct kfi_domain *domain = mr->domain;
	int ret;

	if (!domain->slot_mask || domain->prov_keys)
		return 0;
	mr->serial = get_random_u64();
	ret = xa_alloc_cyclic(&domain->slots, &mr->slot, mr, XA_LIMIT(1, domain->slot_mask - 1),
			      &domain->next_slot, GFP_KERNEL_ACCOUNT);
	if (ret < 0)
		mr->slot = 0;
	return ret < 0 && ret != -EBUSY ? ret : 0;
}

void kfi_mr_leave_slot(struct kfi_mr *mr)
{
	if (mr->slot)
		xa_erase(&mr->domain->slots, mr->slot);
}

/* A long-lived region is found from its registration on, whether it is live or not. */
static struct kfi_mr *find_in_slot(struct kfi_domain *domain, u64 key)
{
	struct kfi_mr *mr = xa_load(&domain->slots, key & domain->slot_mask);

	if (!mr)
		return NULL;
	return (mr->per_io ? kfi_mr_live(mr, key) : READ_ONCE(mr->fid.key) == key) ? mr : NULL;
}

static struct kfi_mr *find_hashed(struct kfi_domain *domain, u64 key)
{
	return rhashtable_lookup(&domain->mrs, &key, mr_params);
}

/*
 * Draw the next key of the slot. A peer that has seen former ones can't guess it. It differs from
 * the one before, and from keys that the consumer has chosen. (If the consumer chooses the very
 * same key for another region at the same time, neither is noticed. The domain that has both kinds
 * of keys is a rare one.) Return: 0, or -EEXIST if it finds none
 */
static int draw_key(struct kfi_mr *mr)
{
	struct kfi_domain *domain = mr->domain;
	u64 mask = key_mask(domain) & ~(u64)domain->slot_mask, key;
	int tries;

	for (tries = 0; tries < RANDOM_TRIES; tries++) {
		key = (siphash_1u64(mr->serial++, &domain->key_secret) & mask) | mr->slot;
		if (key == mr->fid.key ||
		    (atomic_read(&domain->mrs.nelems) && find_hashed(domain, key)))
			continue;
		WRITE_ONCE(mr->fid.key, key);
		return 0;
	}
	return -EEXIST;
}

/* Enter the region into the hash table. Return: 0, -EEXIST or another negative errno */
static int hash_key(struct kfi_mr *mr, u64 key)
{
	struct kfi_domain *domain = mr->domain;
	int ret = -EEXIST;

	WRITE_ONCE(mr->fid.key, key);
	if (!find_in_slot(domain, key))
		ret = rhashtable_lookup_insert_fast(&domain->mrs, &mr->node, mr_params);
	if (ret)
		WRITE_ONCE(mr->fid.key, KFI_KEY_NOTAVAIL);
	mr->hashed = !ret;
	return ret;
}

static int hash_random_key(struct kfi_mr *mr)
{
	u64 mask = key_mask(mr->domain), old = mr->fid.key, key;
	int tries = RANDOM_TRIES, ret = -EEXIST;

	do {
		key = get_random_u64() & mask;
		if (key && key != old && key != (KFI_KEY_NOTAVAIL & mask))
			ret = hash_key(mr, key);
	} while (ret == -EEXIST && --tries);
	return ret;
}

int kfi_mr_set_key(struct kfi_mr *mr, u64 requested)
{
	int ret;

	if (requested != KFI_KEY_NOTAVAIL && requested & ~key_mask(mr->domain))
		return -EINVAL;
	rcu_read_lock();		/* regions that are compared may end meanwhile */
	if (requested != KFI_KEY_NOTAVAIL)
		ret = hash_key(mr, requested);
	else if (mr->domain->prov_keys)
		ret = hash_key(mr, mr->prov_key);
	else if (mr->slot)
		ret = draw_key(mr);
	else
		ret = hash_random_key(mr);
	rcu_read_unlock();
	return ret == -EEXIST ? -KFI_ENOKEY : ret;
}

void kfi_mr_drop_key(struct kfi_mr *mr)
{
	if (!mr->hashed)
		return;
	rhashtable_remove_fast(&mr->domain->mrs, &mr->node, mr_params);
	mr->hashed = false;
}

/* ---- look-up ---- */

static struct kfi_mr *find_key(struct kfi_domain *domain, u64 key)
{
	return find_in_slot(domain, key) ?: find_hashed(domain, key);
}

struct kfi_mr *kfi_mr_find(struct kfi_ep *ep, u64 key)
{
	struct kfi_mr *mr = find_key(ep->domain, key);
	struct kfi_ep *only;

	if (!mr)
		return NULL;
	only = READ_ONCE(mr->ep);
	return only && only != ep && only != ep->sep ? NULL : mr;
}
EXPORT_SYMBOL_GPL(kfi_mr_find);

/*
 * Return true if a region of the domain has this key, including regions that are bound to other
 * endpoints. Called under rcu_read_lock().
 */
bool kfi_mr_key_exists(struct kfi_ep *ep, u64 key)
{
	return find_key(ep->domain, key);
}
