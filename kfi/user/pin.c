// SPDX-License-Identifier: GPL-2.0
/*
 * Memory of the process that operations read and write. It is pinned, and stays pinned for later
 * operations.
 *
 * A cached pin is in the tree of its context, with a reference of the cache. It has a notifier of
 * the memory management, which is called when the process unmaps or discards a part of the memory:
 * the pin is then dead, leaves the tree and is unpinned when the last operation has ended. The next
 * operation on that address pins again. Other changes of the mapping, such as an attempt to migrate
 * pages or a change of protection, do not move pinned pages.
 *
 * The notifier may not sleep, so it takes only ku_cache.lock. Unpinning may sleep, and the last
 * reference may be dropped in softirq, so ku_ctx.reap_work unpins.
 *
 * Pages are counted against RLIMIT_MEMLOCK as long as they are pinned. When the limit is reached
 * the cache releases pins that no operation uses.
 */
#include <linux/highmem.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <linux/wait_bit.h>
#include "user.h"

#define CACHE_MAX	4096U			/* pins of one cache */
#define PIN_MAX		(1UL << 28)		/* pages of one pin: 1 TiB, as a region of verbs */
#define PIN_BATCH	(PAGE_SIZE / sizeof(struct page *))

/* ---- unpinning ---- */

/* Adjacent pages are unpinned together. */
static void unpin_pages(struct ku_pin *pin)
{
	unsigned int i, n;
	struct page *first;

	for (i = 0; i < pin->nr_pages; i += n) {
		first = pin->bvec[i].bv_page;
		for (n = 1; i + n < pin->nr_pages && n < PIN_BATCH; n++)
			if (page_to_pfn(pin->bvec[i + n].bv_page) != page_to_pfn(first) + n)
				break;
		unpin_user_page_range_dirty_lock(first, n, pin->writable);
		cond_resched();
	}
}

static void free_pin(struct ku_pin *pin)
{
	struct ku_ctx *ctx = pin->ctx;

	if (pin->cached)
		mmu_interval_notifier_remove(&pin->notifier);
	if (pin->mapped)
		vunmap(pin->mapped);
	unpin_pages(pin);
	ku_limits_unlock(ctx, pin->nr_pages);
	kvfree(pin->bvec);
	kfree(pin);
	if (atomic_dec_and_test(&ctx->pins))
		wake_up_var(&ctx->pins);
}

static void reap(struct ku_ctx *ctx)
{
	struct llist_node *list = llist_del_all(&ctx->reap);
	struct ku_pin *pin, *next;

	llist_for_each_entry_safe(pin, next, list, reap) {
		free_pin(pin);
		cond_resched();
	}
}

static void reap_work(struct work_struct *work)
{
	reap(container_of(work, struct ku_ctx, reap_work));
}

void ku_pin_put(struct ku_pin *pin)
{
	struct ku_ctx *ctx = pin->ctx;

	if (refcount_dec_and_test(&pin->ref) && llist_add(&pin->reap, &ctx->reap))
		schedule_work(&ctx->reap_work);
}

void ku_pin_release(struct ku_pin *pin, bool receive)
{
	atomic_long_t *held = &pin->ctx->held[receive];
	long pages = pin->nr_pages;

	ku_pin_put(pin);
	smp_mb__before_atomic();	/* charge() finds the pages either held or not in use */
	atomic_long_sub(pages, held);
}

/* ---- the cache ---- */

/* Take a pin out of the cache. The caller gets the reference of the cache. */
static void uncache(struct ku_pin *pin)
{
	struct ku_cache *cache = &pin->ctx->cache;

	lockdep_assert_held(&cache->lock);
	interval_tree_remove(&pin->node, &cache->tree);
	list_del_init(&pin->idle);
	cache->pins--;
}

/* The process unmaps or discards a part of the memory. */
static bool invalidate(struct mmu_interval_notifier *notifier,
		       const struct mmu_notifier_range *range, unsigned long seq)
{
	struct ku_pin *pin = container_of(notifier, struct ku_pin, notifier);
	struct ku_cache *cache = &pin->ctx->cache;

	if (range->event != MMU_NOTIFY_UNMAP && range->event != MMU_NOTIFY_CLEAR &&
	    range->event != MMU_NOTIFY_RELEASE)
		return true;
	spin_lock(&cache->lock);
	mmu_interval_set_seq(notifier, seq);
	if (!list_empty(&pin->idle)) {
		uncache(pin);
		ku_pin_put(pin);	/* under the lock, on which ku_cache_exit() waits */
	}
	pin->dead = true;
	spin_unlock(&cache->lock);
	return true;
}

static const struct mmu_interval_notifier_ops pin_notifier_ops = {
	.invalidate = invalidate,
};

static struct ku_pin *cache_find(struct ku_ctx *ctx, unsigned long start, unsigned long last,
				 bool write, bool receive)
{
	struct ku_cache *cache = &ctx->cache;
	struct interval_tree_node *node;
	struct ku_pin *pin = NULL;

	spin_lock(&cache->lock);
	for (node = interval_tree_iter_first(&cache->tree, start, last); node;
	     node = interval_tree_iter_next(node, start, last)) {
		pin = container_of(node, struct ku_pin, node);
		if (node->start <= start && node->last >= last && (pin->writable || !write)) {
			atomic_long_add(pin->nr_pages, &ctx->held[receive]);
			refcount_inc(&pin->ref);
			list_move_tail(&pin->idle, &cache->idle);
			break;
		}
		pin = NULL;
	}
	spin_unlock(&cache->lock);
	return pin;
}

/* Return the least recently used pin that no operation uses. */
static struct ku_pin *cache_oldest(struct ku_cache *cache)
{
	struct ku_pin *pin;

	spin_lock(&cache->lock);
	list_for_each_entry(pin, &cache->idle, idle)
		if (refcount_read(&pin->ref) == 1) {
			uncache(pin);
			spin_unlock(&cache->lock);
			return pin;
		}
	spin_unlock(&cache->lock);
	return NULL;
}

/* Release a pin that is not in use, at once. Return: false if there is none. */
static bool cache_shrink(struct ku_ctx *ctx)
{
	struct ku_pin *pin = cache_oldest(&ctx->cache);

	if (!pin)
		return false;
	ku_pin_put(pin);
	flush_work(&ctx->reap_work);
	return true;
}

/*
 * Put a pin into the cache, unless the process has unmapped or discarded the memory since @seq:
 * then only the operation that requested it uses the pin.
 */
static void cache_add(struct ku_pin *pin, unsigned long seq)
{
	struct ku_cache *cache = &pin->ctx->cache;

	spin_lock(&cache->lock);
	if (!pin->dead && !mmu_interval_read_retry(&pin->notifier, seq)) {
		refcount_inc(&pin->ref);
		interval_tree_insert(&pin->node, &cache->tree);
		list_add_tail(&pin->idle, &cache->idle);
		cache->pins++;
	}
	spin_unlock(&cache->lock);
}

void ku_cache_init(struct ku_ctx *ctx)
{
	spin_lock_init(&ctx->cache.lock);
	ctx->cache.tree = RB_ROOT_CACHED;
	INIT_LIST_HEAD(&ctx->cache.idle);
	init_llist_head(&ctx->reap);
	INIT_WORK(&ctx->reap_work, reap_work);
}

/* All operations have ended. A notifier may still run; it drops its pin under the lock. */
void ku_cache_exit(struct ku_ctx *ctx)
{
	while (cache_shrink(ctx))
		cond_resched();
	wait_var_event(&ctx->pins, !atomic_read(&ctx->pins));
	spin_lock(&ctx->cache.lock);
	spin_unlock(&ctx->cache.lock);
	cancel_work_sync(&ctx->reap_work);
}

/* ---- pinning ---- */

/* An array with an element for each page, for kvfree(). kvmalloc() ends at INT_MAX bytes. */
static void *page_array(unsigned int pages, size_t size)
{
	const gfp_t gfp = GFP_KERNEL_ACCOUNT | __GFP_NOWARN;
	size_t bytes = array_size(pages, size);

	return bytes > INT_MAX ? __vmalloc(bytes, gfp) : kvmalloc(bytes, gfp);
}

/*
 * Charge pages to the limit, and release pins of the cache if necessary.
 *
 * Return: 0; -EAGAIN if the limit will permit it when all operations that hold *@held pages (NULL:
 * none) have ended, except the calling operation, which holds @own of these pages; -ENOMEM if that
 * would not suffice. *@held is read before and after the search of the cache, so that an operation
 * that ends or begins meanwhile is counted.
 */
static int charge(struct ku_ctx *ctx, unsigned long pages, const atomic_long_t *held,
		  unsigned long own)
{
	unsigned long before = held ? atomic_long_read_acquire(held) : 0, after;

	lockdep_assert_held(&ctx->pinning);
	if (pages > ku_limits_lockable())
		return -ENOMEM;
	while (ku_limits_lock(ctx, pages)) {
		if (cache_shrink(ctx))
			continue;
		/* The remaining pins of the cache are in use, or are being unpinned already. */
		flush_work(&ctx->reap_work);
		if (!ku_limits_lock(ctx, pages))
			return 0;
		after = held ? atomic_long_read(held) : 0;
		after = max(before, after);
		after -= min(after, own);
		return ku_limits_may_lock(ctx, pages, after) ? -EAGAIN : -ENOMEM;
	}
	return 0;
}

static int pin_pages(struct ku_pin *pin, unsigned long start, unsigned int pages, bool write)
{
	struct page **batch = (void *)__get_free_page(GFP_KERNEL_ACCOUNT);
	unsigned int flags = FOLL_LONGTERM | (write ? FOLL_WRITE : 0), i;
	int n = -ENOMEM;

	if (!batch)
		return n;
	while (pin->nr_pages < pages) {
		n = min_t(unsigned int, pages - pin->nr_pages, PIN_BATCH);
		n = pin_user_pages_fast(start + ((unsigned long)pin->nr_pages << PAGE_SHIFT), n,
					flags, batch);
		if (n <= 0)
			break;
		for (i = 0; i < n; i++)
			bvec_set_page(&pin->bvec[pin->nr_pages++], batch[i], PAGE_SIZE, 0);
	}
	free_page((unsigned long)batch);
	if (pin->nr_pages == pages) {
		pin->writable = write;
		return 0;
	}
	while (pin->nr_pages)
		unpin_user_page(pin->bvec[--pin->nr_pages].bv_page);
	return n < 0 ? n : -EFAULT;
}

/*
 * Pin memory, for writing if possible, so that the pin can be used by sends and receives. @cached:
 * put the pin into the cache. The notifier is inserted before the pages are pinned, because a
 * change of the mapping in between would be missed otherwise. @held, @own: see charge().
 */
static struct ku_pin *pin_new(struct ku_ctx *ctx, unsigned long start, unsigned int pages,
			      bool write, bool cached, const atomic_long_t *held,
			      unsigned long own)
{
	unsigned long seq = 0;
	struct ku_pin *pin;
	int ret;

	ret = charge(ctx, pages, held, own);
	if (ret)
		return ERR_PTR(ret);
	ret = -ENOMEM;
	pin = kzalloc(sizeof(*pin), GFP_KERNEL_ACCOUNT);
	if (!pin)
		goto uncharge;
	pin->bvec = page_array(pages, sizeof(*pin->bvec));
	if (!pin->bvec)
		goto free_pin;
	refcount_set(&pin->ref, 1);
	INIT_LIST_HEAD(&pin->idle);
	pin->ctx = ctx;
	pin->node.start = start;
	pin->node.last = start + ((unsigned long)pages << PAGE_SHIFT) - 1;
	if (cached) {
		ret = mmu_interval_notifier_insert(&pin->notifier, ctx->mm, start,
						   (unsigned long)pages << PAGE_SHIFT,
						   &pin_notifier_ops);
		if (ret)
			goto free_bvec;
		pin->cached = true;
		seq = mmu_interval_read_begin(&pin->notifier);
	}
	ret = pin_pages(pin, start, pages, true);
	if (ret == -EFAULT && !write)
		ret = pin_pages(pin, start, pages, false);
	if (ret)
		goto remove_notifier;
	atomic_inc(&ctx->pins);
	if (cached)
		cache_add(pin, seq);
	return pin;

remove_notifier:
	if (cached)
		mmu_interval_notifier_remove(&pin->notifier);
free_bvec:
	kvfree(pin->bvec);
free_pin:
	kfree(pin);
uncharge:
	ku_limits_unlock(ctx, pages);
	return ERR_PTR(ret);
}

/* Return the pages that contain bytes of the process. */
static int whole_pages(u64 base, u64 len, unsigned long *start, unsigned int *pages)
{
	u64 end, n;

	if (!len || check_add_overflow(base, len, &end) || end > ULONG_MAX ||
	    !access_ok((void __user *)(unsigned long)base, len))
		return -EFAULT;
	*start = base & PAGE_MASK;
	n = (PAGE_ALIGN(end) - *start) >> PAGE_SHIFT;
	if (n > PIN_MAX)
		return -EINVAL;
	if (n > totalram_pages())	/* before memory is allocated for what can't be pinned */
		return -ENOMEM;
	*pages = n;
	return 0;
}

struct ku_pin *ku_pin_new(struct ku_ctx *ctx, u64 base, u64 len, bool write)
{
	unsigned int pages;
	unsigned long start;
	struct ku_pin *pin;
	int ret;

	ret = whole_pages(base, len, &start, &pages);
	if (ret)
		return ERR_PTR(ret);
	if (mutex_lock_killable(&ctx->pinning))
		return ERR_PTR(-EINTR);
	pin = pin_new(ctx, start, pages, write, false, NULL, 0);
	mutex_unlock(&ctx->pinning);
	return pin;
}

struct ku_pin *ku_pin_get(struct ku_ctx *ctx, u64 base, u64 len, bool write, bool receive,
			  unsigned long own)
{
	unsigned int pages;
	unsigned long start;
	struct ku_pin *pin;
	int ret;

	ret = whole_pages(base, len, &start, &pages);
	if (ret)
		return ERR_PTR(ret);
	pin = cache_find(ctx, base, base + len - 1, write, receive);
	if (pin)
		return pin;
	if (mutex_lock_killable(&ctx->pinning))
		return ERR_PTR(-EINTR);
	pin = cache_find(ctx, base, base + len - 1, write, receive);
	if (!pin) {
		if (ctx->cache.pins >= CACHE_MAX)
			cache_shrink(ctx);
		pin = pin_new(ctx, start, pages, write, true, &ctx->held[receive], own);
		if (!IS_ERR(pin))
			atomic_long_add(pin->nr_pages, &ctx->held[receive]);
	}
	mutex_unlock(&ctx->pinning);
	return pin;
}

void *ku_pin_map(struct ku_pin *pin)
{
	struct page **pages;
	unsigned int i;

	mutex_lock(&pin->ctx->pinning);
	if (pin->mapped)
		goto unlock;
	pages = page_array(pin->nr_pages, sizeof(*pages));
	if (!pages)
		goto unlock;
	for (i = 0; i < pin->nr_pages; i++)
		pages[i] = pin->bvec[i].bv_page;
	pin->mapped = vmap(pages, pin->nr_pages, VM_MAP, PAGE_KERNEL);
	kvfree(pages);
unlock:
	mutex_unlock(&pin->ctx->pinning);
	return pin->mapped ?: ERR_PTR(-ENOMEM);
}
