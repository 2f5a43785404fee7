// SPDX-License-Identifier: GPL-2.0
/*
 * post.c - posted writes: on command, writes arrive some time after the CPU or DMA engine has
 * completed them. All writes of an end - bytes, doorbells and scratchpads - stay in order; a read
 * flushes them. Writes that have not arrived when the link goes down are lost.
 */
#include <linux/slab.h>
#include "mock.h"

struct nm_posted {
	struct list_head	node;
	ktime_t			due;
	struct nm_place		place;
	size_t			len;
	u8			data[] __counted_by(len);
};

/* Return the first write that has not arrived, if it is due. */
static struct nm_posted *nm_next_due(struct nm_end *end, ktime_t now)
{
	struct nm_posted *first = list_first_entry_or_null(&end->posted, struct nm_posted, node);

	lockdep_assert_held(&end->post_lock);
	return first && ktime_compare(first->due, now) <= 0 ? first : NULL;
}

/* Writes are performed under the lock, so that none overtakes another. */
static void nm_land_due(struct nm_end *end, ktime_t now)
{
	struct nm_posted *posted;

	lockdep_assert_held(&end->post_lock);
	while ((posted = nm_next_due(end, now))) {
		nm_land(&posted->place, posted->data, posted->len);
		list_del(&posted->node);
		kfree(posted);
	}
}

static void nm_arm(struct nm_end *end)
{
	struct nm_posted *first = list_first_entry_or_null(&end->posted, struct nm_posted, node);

	lockdep_assert_held(&end->post_lock);
	if (first)
		hrtimer_start(&end->post_timer, first->due, HRTIMER_MODE_ABS_HARD);
}

static enum hrtimer_restart nm_post_expired(struct hrtimer *timer)
{
	struct nm_end *end = container_of(timer, struct nm_end, post_timer);
	unsigned long flags;

	spin_lock_irqsave(&end->post_lock, flags);
	nm_land_due(end, ktime_get());
	nm_arm(end);
	spin_unlock_irqrestore(&end->post_lock, flags);
	return HRTIMER_NORESTART;
}

static struct nm_posted *nm_post_create(const struct nm_place *place, const void *src, size_t len,
					u32 us)
{
	struct nm_posted *posted = kmalloc(struct_size(posted, data, len),
					   GFP_ATOMIC | __GFP_NOWARN);

	if (!posted)
		return NULL;
	posted->due = ktime_add_us(ktime_get(), us);
	posted->place = *place;
	posted->len = len;
	memcpy(posted->data, src, len);
	return posted;
}

/* Without memory the write arrives at once, which is always permitted. */
static void nm_post_locked(struct nm_end *end, const struct nm_place *place, const void *src,
			   size_t len, u32 us)
{
	struct nm_posted *posted = nm_post_create(place, src, len, us);

	lockdep_assert_held(&end->post_lock);
	if (!posted) {
		nm_land_due(end, KTIME_MAX);
		nm_land(place, src, len);
		return;
	}
	list_add_tail(&posted->node, &end->posted);
	if (list_is_singular(&end->posted))
		nm_arm(end);
}

void nm_post(const struct nm_place *place, const void *src, size_t len)
{
	struct nm_end *end = place->end;
	u32 us = READ_ONCE(end->bridge->posted_us);
	unsigned long flags;

	if (!us && list_empty_careful(&end->posted)) {
		nm_land(place, src, len);
		return;
	}
	spin_lock_irqsave(&end->post_lock, flags);
	nm_post_locked(end, place, src, len, us);
	spin_unlock_irqrestore(&end->post_lock, flags);
}

void nm_post_push(struct nm_end *end)
{
	unsigned long flags;

	if (list_empty_careful(&end->posted))
		return;
	spin_lock_irqsave(&end->post_lock, flags);
	nm_land_due(end, KTIME_MAX);
	spin_unlock_irqrestore(&end->post_lock, flags);
}

void nm_post_init(struct nm_end *end)
{
	spin_lock_init(&end->post_lock);
	INIT_LIST_HEAD(&end->posted);
	hrtimer_setup(&end->post_timer, nm_post_expired, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_HARD);
}

/* The link is down, so the remaining writes are dropped. There are no new ones. */
void nm_post_reset(struct nm_end *end)
{
	nm_post_push(end);
	hrtimer_cancel(&end->post_timer);
}
