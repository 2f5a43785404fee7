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

/* The events of a mirror, and its peers */
struct fixture {
	struct kfm_events	events;
	struct kfm_peer		peers[KFM_PEERS];
};

static struct fixture *fixture_of(struct kunit *test)
{
	struct fixture *f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, f);
	ev_init(&f->events);
	for (i = 0; i < KFM_PEERS; i++)
		f->peers[i].index = i;
	return f;
}

static void add(struct fixture *f, const char *what, const struct kfm_peer *peer, u32 outage)
{
	event_add(&f->events, &(struct kfm_uevent) {
		.what = what, .peer = peer, .outage = outage,
	});
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
	struct fixture *f = fixture_of(test);
	struct kfm_uevent event;
	unsigned int i, n = 0;

	for (i = 1; i <= 10000; i++) {
		add(f, "synced", &f->peers[1], i);
		n += take(&f->events, &event);
	}
	KUNIT_EXPECT_EQ(test, n, KFM_EVENT_BURST);
	KUNIT_EXPECT_EQ(test, f->events.count, 1);
	KUNIT_EXPECT_GT(test, event_take(&f->events, &event), 0);
	KUNIT_EXPECT_LE(test, event_take(&f->events, &event), KFM_EVENT_PERIOD);
	f->events.budgets[1].since -= KFM_EVENT_PERIOD;
	KUNIT_EXPECT_EQ(test, take(&f->events, &event), 1);
	KUNIT_EXPECT_EQ(test, event.outage, 10000);
	KUNIT_EXPECT_EQ(test, event_take(&f->events, &event), -ENOENT);
}

/*
 * Peers that cause events without end delay neither those of another peer nor those of the mirror
 * itself. The next event of theirs comes when the first of them may cause one again.
 */
static void neighbours(struct kunit *test)
{
	struct fixture *f = fixture_of(test);
	struct kfm_uevent event;
	unsigned int i;

	for (i = 0; i <= KFM_EVENT_BURST; i++) {
		add(f, "synced", &f->peers[0], i);
		add(f, "synced", &f->peers[2], i);
		take(&f->events, &event);
	}
	KUNIT_ASSERT_EQ(test, f->events.count, 2);
	add(f, "lost", &f->peers[3], 7);
	add(f, "detached", NULL, 0);
	KUNIT_EXPECT_EQ(test, event_take(&f->events, &event), 0);
	KUNIT_EXPECT_PTR_EQ(test, event.peer, &f->peers[3]);
	KUNIT_EXPECT_EQ(test, event.outage, 7);
	KUNIT_EXPECT_EQ(test, event_take(&f->events, &event), 0);
	KUNIT_EXPECT_STREQ(test, event.what, "detached");

	f->events.budgets[2].since -= KFM_EVENT_PERIOD / 2;
	KUNIT_EXPECT_GT(test, event_take(&f->events, &event), 0);
	KUNIT_EXPECT_LE(test, event_take(&f->events, &event), KFM_EVENT_PERIOD / 2);
	f->events.budgets[2].since -= KFM_EVENT_PERIOD / 2;
	KUNIT_EXPECT_EQ(test, take(&f->events, &event), 1);
	KUNIT_EXPECT_PTR_EQ(test, event.peer, &f->peers[2]);
	KUNIT_EXPECT_EQ(test, f->events.count, 1);
}

/* An event is merged with an older one of the same kind and peer only, and the order stays. */
static void merged(struct kunit *test)
{
	struct fixture *f = fixture_of(test);
	struct kfm_uevent event;

	add(f, "lost", &f->peers[1], 1);
	add(f, "lost", &f->peers[2], 1);
	add(f, "connected", &f->peers[1], 1);
	add(f, "lost", &f->peers[1], 2);
	add(f, "verified", NULL, 0);
	KUNIT_EXPECT_EQ(test, f->events.count, 4);
	KUNIT_EXPECT_EQ(test, event_take(&f->events, &event), 0);
	KUNIT_EXPECT_PTR_EQ(test, event.peer, &f->peers[2]);
	KUNIT_EXPECT_EQ(test, event_take(&f->events, &event), 0);
	KUNIT_EXPECT_STREQ(test, event.what, "connected");
	KUNIT_EXPECT_EQ(test, event_take(&f->events, &event), 0);
	KUNIT_EXPECT_EQ(test, event.outage, 2);
	KUNIT_EXPECT_EQ(test, event_take(&f->events, &event), 0);
	KUNIT_EXPECT_STREQ(test, event.what, "verified");
}

/* The queue is long enough for all kinds; if it were not, the oldest event would go. */
static void full(struct kunit *test)
{
	char what[KFM_EVENTS / KFM_PEERS + 1][2] = {};
	struct fixture *f = fixture_of(test);
	struct kfm_uevent event;
	unsigned int i;

	for (i = 0; i <= KFM_EVENTS; i++) {
		what[i / KFM_PEERS][0] = 'a' + i / KFM_PEERS;
		add(f, what[i / KFM_PEERS], &f->peers[i % KFM_PEERS], 0);
	}
	KUNIT_EXPECT_EQ(test, f->events.count, KFM_EVENTS);
	KUNIT_EXPECT_EQ(test, event_take(&f->events, &event), 0);
	KUNIT_EXPECT_STREQ(test, event.what, "a");
	KUNIT_EXPECT_PTR_EQ(test, event.peer, &f->peers[1]);
}

KFI_SUITE(kfi_mirror_event,
	KUNIT_CASE(flood),
	KUNIT_CASE(neighbours),
	KUNIT_CASE(merged),
	KUNIT_CASE(full));
