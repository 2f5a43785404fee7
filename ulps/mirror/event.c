// SPDX-License-Identifier: GPL-2.0
/*
 * event.c - tells user space what happens to a mirror, by uevents with KFI_MIRROR=what.
 *
 * A uevent starts programs, and a peer can cause events as often as it sends messages. So of each
 * peer no more than KFM_EVENT_BURST are reported in KFM_EVENT_PERIOD, and as many of those that
 * concern no single peer: a peer that causes too many delays only its own. Events that wait are
 * merged: of one kind and one peer the last one is reported, and none is lost.
 */
#include <linux/kobject.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include "mirror.h"
#include "peer.h"

static void event_remove(struct kfm_events *events, struct kfm_uevent *at)
{
	struct kfm_uevent *end = events->queue + events->count--;

	memmove(at, at + 1, (char *)end - (char *)(at + 1));
}

static void event_add(struct kfm_events *events, const struct kfm_uevent *event)
{
	struct kfm_uevent *old = events->queue, *end = old + events->count;

	while (old < end && (strcmp(old->what, event->what) || old->peer != event->peer))
		old++;
	if (old < end)
		event_remove(events, old);
	else if (events->count == KFM_EVENTS)
		event_remove(events, events->queue);
	events->queue[events->count++] = *event;
}

static struct kfm_event_budget *event_budget(struct kfm_events *events,
					     const struct kfm_uevent *event)
{
	return &events->budgets[event->peer ? event->peer->index : KFM_PEERS];
}

/* Spend one event of a budget. Return: 0; otherwise jiffies until there is one again */
static long budget_spend(struct kfm_event_budget *budget, unsigned long now)
{
	if (time_after_eq(now, budget->since + KFM_EVENT_PERIOD)) {
		budget->since = now;
		budget->sent = 0;
	}
	if (budget->sent == KFM_EVENT_BURST)
		return budget->since + KFM_EVENT_PERIOD - now;
	budget->sent++;
	return 0;
}

/* Take the first event that may be reported. Return: 0; otherwise jiffies to wait, or -ENOENT */
static long event_take(struct kfm_events *events, struct kfm_uevent *event)
{
	struct kfm_uevent *at = events->queue, *end = at + events->count;
	long wait = at < end ? KFM_EVENT_PERIOD : -ENOENT, left;
	unsigned long now = jiffies;

	for (; at < end; at++) {
		left = budget_spend(event_budget(events, at), now);
		if (!left) {
			*event = *at;
			event_remove(events, at);
			return 0;
		}
		wait = min(wait, left);
	}
	return wait;
}

static void event_queue(struct kfm *m, const struct kfm_uevent *event)
{
	struct kfm_events *events = &m->events;

	spin_lock_irq(&events->lock);
	event_add(events, event);
	spin_unlock_irq(&events->lock);
	/*
	 * No queue with a rescuer: the work waits for memory, and without memory for the process
	 * that handles the event.
	 */
	schedule_delayed_work(&events->work, 0);
}

/*
 * Report an event. The memory for that may have to wait for a write to this mirror, so the worker
 * does not report it itself. @what: the kind, a string constant.
 */
void kfm_event(struct kfm *m, const char *what)
{
	event_queue(m, &(struct kfm_uevent) { .what = what });
}

/* The same for one peer */
void kfm_peer_event(const struct kfm_peer *p, const char *what)
{
	event_queue(p->m, &(struct kfm_uevent) { .what = what, .peer = p, .outage = p->outage });
}

static void event_report(struct kfm *m, const struct kfm_uevent *event)
{
	struct gendisk *disk = dm_disk(dm_table_get_md(m->ti->table));
	char outage[32], peer[128], service[64];
	char text[32], *env[] = { text, NULL, NULL, NULL, NULL };

	DMINFO("%s: %s %s", kfm_name(m), event->what,
	       event->peer ? kfm_peer_name(event->peer) : "");
	snprintf(text, sizeof(text), "KFI_MIRROR=%s", event->what);
	if (event->peer) {
		snprintf(outage, sizeof(outage), "KFI_MIRROR_OUTAGE=%u", event->outage);
		snprintf(peer, sizeof(peer), "KFI_MIRROR_PEER=%s", kfm_peer_name(event->peer));
		snprintf(service, sizeof(service), "KFI_MIRROR_SERVICE=%s",
			 event->peer->rails[0]->remote[1]);
		env[1] = outage;
		env[2] = peer;
		env[3] = service;
	}
	kobject_uevent_env(&disk_to_dev(disk)->kobj, KOBJ_CHANGE, env);
}

static void event_work(struct work_struct *work)
{
	struct kfm_events *events = container_of(to_delayed_work(work), struct kfm_events, work);
	struct kfm_uevent event;
	long wait;

	for (;;) {
		spin_lock_irq(&events->lock);
		wait = event_take(events, &event);
		spin_unlock_irq(&events->lock);
		if (wait)
			break;
		event_report(container_of(events, struct kfm, events), &event);
	}
	if (wait > 0)
		schedule_delayed_work(&events->work, wait);
}

void kfm_events_init(struct kfm_events *events)
{
	struct kfm_event_budget *budget = events->budgets;

	spin_lock_init(&events->lock);
	for (; budget < events->budgets + ARRAY_SIZE(events->budgets); budget++)
		budget->since = jiffies - KFM_EVENT_PERIOD;
	INIT_DELAYED_WORK(&events->work, event_work);
}

void kfm_events_end(struct kfm_events *events)
{
	flush_delayed_work(&events->work);
	cancel_delayed_work_sync(&events->work);
}
