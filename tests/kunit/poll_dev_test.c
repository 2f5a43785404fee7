// SPDX-License-Identifier: GPL-2.0
/*
 * Polled devices (struct kfi_poll_dev): the readers of a completion queue poll the device. The one
 * here has events, and interrupts once after it was armed.
 */
#include <linux/delay.h>
#include <linux/kthread.h>
#include <kfi_poll_dev.h>
#include "crew.h"
#include "fake.h"

/**
 * struct gadget - the device of a provider
 * @ep: its endpoint, with one or two queues
 * @cq: queue for the entries
 * @lock: protects @said and @armed
 * @said: events that were not polled
 * @next: number of the next entry
 * @inside: calls of poll in progress
 * @wrong: calls of poll that ran at the same time, or outside of softirq
 * @hot: the device stayed hot although a reader slept
 * @arms: how often it was armed
 * @readers: calls of poll by readers that found events
 * @softirqs: calls of poll by softirq that found events
 */
struct gadget {
	struct kfi_poll_dev	dev;
	struct kfi_ep		*ep;
	struct kfid_cq		*cq;
	spinlock_t		lock;
	u32			said;
	bool			armed;
	bool			hot;
	u32			next;
	atomic_t		inside, wrong;
	atomic_t		arms, readers, softirqs;
};

static u32 gadget_take(struct gadget *d, u32 budget)
{
	u32 n;

	spin_lock(&d->lock);
	n = min(d->said, budget);
	d->said -= n;
	spin_unlock(&d->lock);
	return n;
}

static int gadget_poll(struct kfi_poll_dev *dev, int budget)
{
	struct gadget *d = container_of(dev, struct gadget, dev);
	struct kfi_cq_err_entry wc = { .flags = KFI_MSG | KFI_RECV };
	u32 n, i;

	if (atomic_inc_return(&d->inside) != 1 || !in_softirq())
		atomic_inc(&d->wrong);
	n = gadget_take(d, budget);
	for (i = 0; i < n; i++) {
		d->next++;
		wc.op_context = (void *)(unsigned long)d->next;
		kfi_cq_fill(kfi_to_cq(d->cq), &wc);
	}
	if (n)
		atomic_inc(in_serving_softirq() ? &d->softirqs : &d->readers);
	atomic_dec(&d->inside);
	return n;
}

static bool gadget_arm(struct kfi_poll_dev *dev)
{
	struct gadget *d = container_of(dev, struct gadget, dev);
	bool missed;

	spin_lock_bh(&d->lock);
	d->armed = true;
	missed = d->said;
	spin_unlock_bh(&d->lock);
	atomic_inc(&d->arms);
	return missed;
}

static const struct kfi_poll_dev_ops gadget_ops = { .poll = gadget_poll, .arm = gadget_arm };

/* Add an event. Return: false: the queue has no room. */
static bool gadget_say(struct gadget *d)
{
	bool tell;

	if (!kfi_cq_reserve(kfi_to_cq(d->cq)))
		return false;
	spin_lock_bh(&d->lock);
	d->said++;
	tell = d->armed;
	d->armed = false;
	spin_unlock_bh(&d->lock);
	if (tell)
		kfi_poll_dev_event(&d->dev);
	return true;
}

/* Return: the number of the next entry, 0: none */
static unsigned long gadget_read(struct gadget *d)
{
	struct kfi_cq_tagged_entry e;

	return kfi_cq_read(d->cq, &e, 1) == 1 ? (unsigned long)e.op_context : 0;
}

static bool gadget_armed(struct gadget *d)
{
	return READ_ONCE(d->armed);
}

static struct gadget *gadget_new(struct kunit *test, struct kfi_world *w, struct kfid_cq *tx)
{
	struct gadget *d = kfi_test_zalloc(test, sizeof(*d));

	d->ep = kfi_test_zalloc(test, sizeof(*d->ep));
	spin_lock_init(&d->lock);
	d->cq = fake_cq(w, 64, KFI_CQ_DIRECT, NULL, NULL);
	d->ep->rx_cq = kfi_to_cq(d->cq);
	d->ep->tx_cq = tx ? kfi_to_cq(tx) : kfi_to_cq(d->cq);
	KUNIT_ASSERT_TRUE(test, kfi_poll_dev_wanted(d->ep));
	KUNIT_ASSERT_EQ(test, 0, kfi_poll_dev_start(&d->dev, &gadget_ops, d->ep));
	KUNIT_EXPECT_TRUE(test, fake_soon(gadget_armed(d)));
	return d;
}

static void gadget_close(struct kunit *test, struct gadget *d)
{
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&d->wrong));
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&d->cq->fid));
}

static void gadget_end(struct kunit *test, struct gadget *d)
{
	kfi_poll_dev_stop(&d->dev);
	gadget_close(test, d);
}

/*
 * A thread that begins to poll while the softirq is due does not wait for it: the softirq may run
 * in ksoftirqd, which may have to wait for that thread.
 */
static void poll_dev_overtaken(struct kunit *test)
{
	struct kfi_world *w = fake_open(test);
	struct gadget *d = gadget_new(test, w, NULL);

	local_bh_disable();
	KUNIT_EXPECT_TRUE(test, gadget_say(d));
	KUNIT_EXPECT_EQ(test, KFI_POLL_DEV_DUE, d->dev.state);
	KUNIT_EXPECT_EQ(test, 1, gadget_read(d));
	KUNIT_EXPECT_FALSE(test, gadget_armed(d));
	local_bh_enable();
	KUNIT_EXPECT_TRUE(test, fake_soon(gadget_armed(d)));
	KUNIT_EXPECT_EQ(test, 1, atomic_read(&d->readers));
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&d->softirqs));
	gadget_end(test, d);
	fake_close(w);
}

/*
 * A poller gets the entries without softirq and interrupts. The device is armed again when there
 * were no events for a while, or the poller has stopped.
 */
static void poll_dev_attended(struct kunit *test)
{
	struct kfi_world *w = fake_open(test);
	struct gadget *d = gadget_new(test, w, NULL);
	int i, arms = atomic_read(&d->arms);

	KUNIT_EXPECT_EQ(test, 0, gadget_read(d));
	/* as if the poller had the CPU and kept softirqs from it */
	local_bh_disable();
	for (i = 1; i <= 10; i++) {
		KUNIT_EXPECT_TRUE(test, gadget_say(d));
		KUNIT_EXPECT_EQ(test, i, gadget_read(d));
		KUNIT_EXPECT_EQ(test, 0, gadget_read(d));
	}
	local_bh_enable();
	KUNIT_EXPECT_EQ(test, 10, atomic_read(&d->readers));
	KUNIT_EXPECT_EQ(test, arms, atomic_read(&d->arms));
	KUNIT_EXPECT_TRUE(test, fake_soon((gadget_read(d), gadget_armed(d))));
	KUNIT_EXPECT_EQ(test, arms + 1, atomic_read(&d->arms));
	KUNIT_EXPECT_EQ(test, 0, gadget_read(d));
	KUNIT_EXPECT_TRUE(test, gadget_say(d));	/* hot again; now nobody polls */
	KUNIT_EXPECT_TRUE(test, fake_soon(atomic_read(&d->softirqs) == 1 && gadget_armed(d)));
	KUNIT_EXPECT_EQ(test, 11, gadget_read(d));
	gadget_end(test, d);
	fake_close(w);
}

/* Polling either queue polls the device, and kfi_cq_poll() does as well. */
static void poll_dev_two_queues(struct kunit *test)
{
	struct kfi_world *w = fake_open(test);
	struct kfid_cq *tx = fake_cq(w, 8, KFI_CQ_DIRECT, NULL, NULL);
	struct gadget *d = gadget_new(test, w, tx);
	struct kfi_cq_tagged_entry e;

	KUNIT_EXPECT_EQ(test, 0, kfi_cq_poll(tx, 1));
	local_bh_disable();
	KUNIT_EXPECT_TRUE(test, gadget_say(d));
	KUNIT_EXPECT_EQ(test, 0, kfi_cq_poll(tx, 1));
	KUNIT_EXPECT_EQ(test, 1, atomic_read(&d->readers));
	KUNIT_EXPECT_TRUE(test, gadget_say(d));
	KUNIT_EXPECT_EQ(test, -EAGAIN, kfi_cq_read(tx, &e, 1));
	KUNIT_EXPECT_EQ(test, 2, atomic_read(&d->readers));
	KUNIT_EXPECT_EQ(test, 1, gadget_read(d));
	KUNIT_EXPECT_EQ(test, 2, gadget_read(d));
	local_bh_enable();
	gadget_end(test, d);
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&tx->fid));
	fake_close(w);
}

static int say_later(void *arg)
{
	struct gadget *d = arg;

	while (!READ_ONCE(kfi_to_cq(d->cq)->waiting))
		schedule_timeout_uninterruptible(1);
	local_bh_disable();
	WRITE_ONCE(kfi_to_cq(d->cq)->polled, jiffies);	/* another reader has just polled */
	gadget_say(d);
	d->hot = d->dev.state == KFI_POLL_DEV_HOT;
	local_bh_enable();
	return 0;
}

/*
 * A reader that sleeps leaves the device to the softirq, also if the device is hot or another
 * reader polls.
 */
static void poll_dev_sleeper(struct kunit *test)
{
	struct kfi_world *w = fake_open(test);
	struct gadget *d = gadget_new(test, w, NULL);
	struct kfi_cq_tagged_entry e;

	local_bh_disable();
	KUNIT_EXPECT_EQ(test, 0, gadget_read(d));
	KUNIT_EXPECT_TRUE(test, gadget_say(d));
	KUNIT_EXPECT_EQ(test, 1, gadget_read(d));	/* hot from here on */
	local_bh_enable();
	KUNIT_EXPECT_FALSE(test, gadget_armed(d));
	kfi_cq_sleeps(kfi_to_cq(d->cq));
	KUNIT_EXPECT_TRUE(test, gadget_armed(d));	/* the softirq has run */
	KUNIT_ASSERT_FALSE(test, IS_ERR(kthread_run(say_later, d, "kfi_test")));
	KUNIT_EXPECT_EQ(test, 1, kfi_cq_sread(d->cq, &e, 1, NULL, 2000));
	KUNIT_EXPECT_EQ(test, 1, atomic_read(&d->softirqs));
	KUNIT_EXPECT_FALSE(test, d->hot);
	gadget_end(test, d);
	fake_close(w);
}

/* A device that was stopped is not polled, whatever the device reports. */
static void poll_dev_stopped(struct kunit *test)
{
	struct kfi_world *w = fake_open(test);
	struct gadget *d = gadget_new(test, w, NULL);
	int i;

	for (i = 0; i < 2; i++) {
		if (i) {
			KUNIT_ASSERT_EQ(test, 0,
					kfi_poll_dev_start(&d->dev, &gadget_ops, d->ep));
			KUNIT_EXPECT_TRUE(test, fake_soon(gadget_armed(d)));
			KUNIT_EXPECT_EQ(test, 1, gadget_read(d));
			KUNIT_EXPECT_EQ(test, 0, gadget_read(d));
			local_bh_disable();
			KUNIT_EXPECT_TRUE(test, gadget_say(d));		/* hot */
			local_bh_enable();
		}
		kfi_poll_dev_stop(&d->dev);
		KUNIT_EXPECT_EQ(test, 0, gadget_read(d));
		KUNIT_EXPECT_TRUE(test, i || gadget_say(d));
		kfi_poll_dev_event(&d->dev);
		msleep(30);
		KUNIT_EXPECT_EQ(test, i, atomic_read(&d->softirqs));
		KUNIT_EXPECT_EQ(test, 0, atomic_read(&d->readers));
	}
	kfi_cq_unreserve(kfi_to_cq(d->cq));
	gadget_close(test, d);
	fake_close(w);
}

#define RACE_EACH	3000

struct race {
	struct gadget	*d;
	atomic_t	read;
};

/*
 * Some threads add events, some poll, and one sleeps now and then. Each entry is read once and in
 * order.
 */
static void race_thread(void *arg, unsigned int id, struct rnd_state *rnd)
{
	struct kfi_cq_tagged_entry e;
	struct race *race = arg;
	struct gadget *d = race->d;
	int i;

	for (i = 0; i < RACE_EACH && id < 2; i++) {
		while (!gadget_say(d))
			crew_turn();
		crew_dawdle(rnd);
	}
	while (id >= 2 && atomic_read(&race->read) < 2 * RACE_EACH) {
		if (id == 3 && !(prandom_u32_state(rnd) & 31))
			i = kfi_cq_sread(d->cq, &e, 1, NULL, 1);
		else
			i = kfi_cq_read(d->cq, &e, 1);
		if (i == 1)
			atomic_inc(&race->read);
		else
			crew_turn();
		crew_dawdle(rnd);
	}
}

static void poll_dev_race(struct kunit *test)
{
	struct kfi_world *w = fake_open(test);
	struct race race = { .d = gadget_new(test, w, NULL) };

	crew_run(test, 4, race_thread, &race);
	KUNIT_EXPECT_EQ(test, 2 * RACE_EACH, atomic_read(&race.read));
	KUNIT_EXPECT_EQ(test, 2 * RACE_EACH, race.d->next);
	KUNIT_EXPECT_EQ(test, 0, gadget_read(race.d));
	gadget_end(test, race.d);
	fake_close(w);
}

KFI_SUITE(kfi_poll_dev,
	KUNIT_CASE(poll_dev_overtaken),
	KUNIT_CASE(poll_dev_attended),
	KUNIT_CASE(poll_dev_two_queues),
	KUNIT_CASE(poll_dev_sleeper),
	KUNIT_CASE(poll_dev_stopped),
	KUNIT_CASE(poll_dev_race));
