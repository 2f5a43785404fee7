/* SPDX-License-Identifier: GPL-2.0 */
/* event.h - what a mirror reports to user space, by uevents with KFI_MIRROR=what. */
#ifndef KFM_EVENT_H
#define KFM_EVENT_H

#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include "proto.h"

struct kfm;
struct kfm_peer;

#define KFM_EVENTS	(16 * KFM_PEERS)	/* more than kinds of events, for each peer */
#define KFM_EVENT_BURST	16			/* uevents of a budget in a period */
#define KFM_EVENT_PERIOD	(10 * HZ)

/* An event; @peer is NULL if it is not one of a single peer */
struct kfm_uevent {
	const char		*what;
	const struct kfm_peer	*peer;
	u32			outage;
};

/**
 * struct kfm_event_budget - how many events of one peer are reported
 * @since: beginning of the period, in jiffies
 * @sent: events that were reported in it
 */
struct kfm_event_budget {
	unsigned long		since;
	unsigned int		sent;
};

/**
 * struct kfm_events - events of a mirror that were not reported yet
 * @lock: protects all members but @work
 * @count: entries of @queue
 * @queue: the events, the oldest first; one of each kind for each peer
 * @budgets: of each peer, by kfm_peer.index; the last one is of events that concern no single peer
 * @work: reports them, which allocates memory
 */
struct kfm_events {
	spinlock_t		lock;
	unsigned int		count;
	struct kfm_uevent	queue[KFM_EVENTS];
	struct kfm_event_budget	budgets[KFM_PEERS + 1];
	struct delayed_work	work;
};

void kfm_events_init(struct kfm_events *events);
void kfm_events_end(struct kfm_events *events);	/* may sleep; nothing is reported after it */
void kfm_event(struct kfm *m, const char *what);
void kfm_peer_event(const struct kfm_peer *p, const char *what);

#endif /* KFM_EVENT_H */
