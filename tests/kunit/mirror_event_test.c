// SPDX-License-Identifier: GPL-2.0
/*
 * How many events of a mirror start programs of user space, and which: event.c is compiled into
 * this file, and nothing is reported.
 */
#include "suite.h"

/* mirror_world.c has functions of the same names; event.h declares these instead. */
#define kfm_event	ev_event
#define kfm_peer_event	ev_peer_event
#define kfm_events_init	ev_init
#define kfm_events_end	ev_end

#include "../../ulps/mirror/event.c"

static struct kfm_events *events_of(struct kunit *test)
{
	struct kfm_events *events = kunit_kzalloc(test, sizeof(*events), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, events);
	ev_init(events);
	return events;
}

static void add(struct kfm_events *events, const char *what, unsigned long peer, u32 outage)
{
	const struct kfm_uevent event = {
		.what = what, .peer = (const struct kfm_peer *)peer, .outage = outage,
	};

	event_add(events, &event);
}

/* Take all that may be reported now. Return: how many */
static unsigned int take(struct kfm_events *events, struct kfm_uevent *last)
{
	unsigned int n = 0;

	while (!event_take(events, last))
		n++;
	return n;
}

/* A peer that causes events without end gets a burst in each period, and the last one is kept. */
static void flood(struct kunit *test)
{
	struct kfm_events *events = events_of(test);
	struct kfm_uevent event;
	unsigned int i, n = 0;

	for (i = 1; i <= 10000; i++) {
		add(events, "synced", 1, i);
		n += take(events, &event);
	}
	KUNIT_EXPECT_EQ(test, n, KFM_EVENT_BURST);
	KUNIT_EXPECT_EQ(test, events->count, 1);
	KUNIT_EXPECT_GT(test, event_take(events, &event), 0);
	KUNIT_EXPECT_LE(test, event_take(events, &event), KFM_EVENT_PERIOD);
	events->since -= KFM_EVENT_PERIOD;
	KUNIT_EXPECT_EQ(test, take(events, &event), 1);
	KUNIT_EXPECT_EQ(test, event.outage, 10000);
	KUNIT_EXPECT_EQ(test, event_take(events, &event), -ENOENT);
}

/* An event is merged with an older one of the same kind and peer only, and the order stays. */
static void merged(struct kunit *test)
{
	struct kfm_events *events = events_of(test);
	struct kfm_uevent event;

	add(events, "lost", 1, 1);
	add(events, "lost", 2, 1);
	add(events, "connected", 1, 1);
	add(events, "lost", 1, 2);
	add(events, "verified", 0, 0);
	KUNIT_EXPECT_EQ(test, events->count, 4);
	KUNIT_EXPECT_EQ(test, event_take(events, &event), 0);
	KUNIT_EXPECT_EQ(test, (unsigned long)event.peer, 2);
	KUNIT_EXPECT_EQ(test, event_take(events, &event), 0);
	KUNIT_EXPECT_STREQ(test, event.what, "connected");
	KUNIT_EXPECT_EQ(test, event_take(events, &event), 0);
	KUNIT_EXPECT_EQ(test, event.outage, 2);
	KUNIT_EXPECT_EQ(test, event_take(events, &event), 0);
	KUNIT_EXPECT_STREQ(test, event.what, "verified");
}

/* The queue is long enough for all kinds; if it were not, the oldest event would go. */
static void full(struct kunit *test)
{
	struct kfm_events *events = events_of(test);
	struct kfm_uevent event;
	unsigned long i;

	for (i = 0; i <= KFM_EVENTS; i++)
		add(events, "lost", i, 0);
	KUNIT_EXPECT_EQ(test, events->count, KFM_EVENTS);
	KUNIT_EXPECT_EQ(test, event_take(events, &event), 0);
	KUNIT_EXPECT_EQ(test, (unsigned long)event.peer, 1);
}

KFI_SUITE(kfi_mirror_event,
	KUNIT_CASE(flood),
	KUNIT_CASE(merged),
	KUNIT_CASE(full));
