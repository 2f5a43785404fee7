// SPDX-License-Identifier: GPL-2.0
/*
 * post.c - posted writes: on command, writes arrive some time after the CPU or DMA engine has
 * completed them. All writes of an end - bytes, doorbells and scratchpads - stay in order; a read
 * flushes them. Writes that have not arrived when the link goes down are lost. By another command
 * only bytes of windows are late: doorbells overtake them.
 *
 * Other devices of the writer's machine, such as disks, reach the bridge by another way: what they
 * write is not in order with the writes of CPU and DMA engine. A read flushes it, too.
 */
#include <linux/export.h>
#include <linux/io.h>
#include <linux/slab.h>
#include "command.h"
#include "mock.h"

struct nm_posted {
	struct list_head	node;
	ktime_t			due;
	struct nm_place		place;
	size_t			len;
	u8			data[] __counted_by(len);
};

/* Return the first write that has not arrived, if it is due. */
static struct nm_posted *nm_next_due(struct nm_queue *q, ktime_t now)
{
	struct nm_posted *first = list_first_entry_or_null(&q->writes, struct nm_posted, node);

	lockdep_assert_held(&q->lock);
	return first && ktime_compare(first->due, now) <= 0 ? first : NULL;
}

/* Writes are performed under the lock, so that none overtakes another of its queue. */
static void nm_land_due(struct nm_queue *q, ktime_t now)
{
	struct nm_posted *posted;

	lockdep_assert_held(&q->lock);
	while ((posted = nm_next_due(q, now))) {
		nm_land(&posted->place, posted->data, posted->len);
		list_del(&posted->node);
		kfree(posted);
	}
}

static void nm_arm(struct nm_queue *q)
{
	struct nm_posted *first = list_first_entry_or_null(&q->writes, struct nm_posted, node);

	lockdep_assert_held(&q->lock);
	if (first)
		hrtimer_start(&q->timer, first->due, HRTIMER_MODE_ABS_HARD);
}

static enum hrtimer_restart nm_post_expired(struct hrtimer *timer)
{
	struct nm_queue *q = container_of(timer, struct nm_queue, timer);
	unsigned long flags;

	spin_lock_irqsave(&q->lock, flags);
	nm_land_due(q, ktime_get());
	nm_arm(q);
	spin_unlock_irqrestore(&q->lock, flags);
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
static void nm_post_locked(struct nm_queue *q, const struct nm_place *place, const void *src,
			   size_t len, u32 us)
{
	struct nm_posted *posted = nm_post_create(place, src, len, us);

	lockdep_assert_held(&q->lock);
	if (!posted) {
		nm_land_due(q, KTIME_MAX);
		nm_land(place, src, len);
		return;
	}
	list_add_tail(&posted->node, &q->writes);
	if (list_is_singular(&q->writes))
		nm_arm(q);
}

static void nm_queue_add(struct nm_queue *q, const struct nm_place *place, const void *src,
			 size_t len, u32 us)
{
	unsigned long flags;

	if (!us && list_empty_careful(&q->writes)) {
		nm_land(place, src, len);
		return;
	}
	spin_lock_irqsave(&q->lock, flags);
	nm_post_locked(q, place, src, len, us);
	spin_unlock_irqrestore(&q->lock, flags);
}

/*
 * Bytes may arrive later than doorbells and scratchpads that are written behind them: then they
 * take another queue than these.
 */
void nm_post(const struct nm_place *place, const void *src, size_t len, bool dma)
{
	struct nm_end *end = place->end;
	u32 late = place->window < 0 ? 0 : READ_ONCE(end->bridge->late_us[dma]);

	if (late || (place->window >= 0 && !list_empty_careful(&end->late[dma].writes)))
		nm_queue_add(&end->late[dma], place, src, len, late);
	else
		nm_queue_add(&end->posted, place, src, len, READ_ONCE(end->bridge->posted_us));
}

bool kfi_ntb_mock_device_write(struct page *page, size_t off, const void *src, size_t len)
{
	struct nm_place place;

	if (!nm_find(page_to_phys(page) + off, &place) || len > place.room)
		return false;
	nm_add(place.end, NM_DEVICE_BYTES, len);
	nm_queue_add(&place.end->devices, &place, src, len,
		     READ_ONCE(place.end->bridge->devices_us));
	return true;
}
EXPORT_SYMBOL_GPL(kfi_ntb_mock_device_write);

static void nm_queue_push(struct nm_queue *q)
{
	unsigned long flags;

	if (list_empty_careful(&q->writes))
		return;
	spin_lock_irqsave(&q->lock, flags);
	nm_land_due(q, KTIME_MAX);
	spin_unlock_irqrestore(&q->lock, flags);
}

void nm_post_push(struct nm_end *end)
{
	nm_queue_push(&end->posted);
	nm_queue_push(&end->devices);
	nm_queue_push(&end->late[0]);
	nm_queue_push(&end->late[1]);
}

static void nm_queue_init(struct nm_queue *q)
{
	spin_lock_init(&q->lock);
	INIT_LIST_HEAD(&q->writes);
	hrtimer_setup(&q->timer, nm_post_expired, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_HARD);
}

void nm_post_init(struct nm_end *end)
{
	nm_queue_init(&end->posted);
	nm_queue_init(&end->devices);
	nm_queue_init(&end->late[0]);
	nm_queue_init(&end->late[1]);
}

/* The link is down, so the remaining writes are dropped. There are no new ones. */
void nm_post_reset(struct nm_end *end)
{
	nm_post_push(end);
	hrtimer_cancel(&end->posted.timer);
	hrtimer_cancel(&end->devices.timer);
	hrtimer_cancel(&end->late[0].timer);
	hrtimer_cancel(&end->late[1].timer);
}
