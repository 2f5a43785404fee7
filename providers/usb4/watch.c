// SPDX-License-Identifier: GPL-2.0
/*
 * watch.c - the timer of a cable. It does what nothing else happens for: it acknowledges frames
 * that no other frame has acknowledged, asks a peer that does not, stops the life if the peer is
 * silent, and notices that an interrupt got lost.
 *
 * The timer runs every 10 ms while something is on the way, and otherwise every 250 ms.
 */
#include "usb4.h"

#define U4_TICK		msecs_to_jiffies(10)
#define U4_TICK_IDLE	msecs_to_jiffies(250)
#define U4_ASK		msecs_to_jiffies(20)
#define U4_ASK_MAX	msecs_to_jiffies(500)
#define U4_SILENCE	msecs_to_jiffies(1000)	/* after which a peer is asked for a sign */
#define U4_STRIKES	2

void u4_watch_hurry(struct u4_cable *c)
{
	lockdep_assert_held(&c->tx.lock);
	if (!c->tx.ticks || !c->tx.idle)
		return;
	c->tx.idle = false;
	mod_timer(&c->tick, jiffies + U4_TICK);
}

void u4_watch_expect(struct u4_cable *c)
{
	struct u4_tx *tx = &c->tx;

	tx->progress = jiffies;
	tx->ask_delay = U4_ASK;
	tx->ask_at = jiffies + U4_ASK;
	u4_watch_hurry(c);
}

/* Ask the peer for a sign of life, and for what it has received. */
static void u4_watch_ask(struct u4_cable *c)
{
	struct u4_tx *tx = &c->tx;

	if (time_before(jiffies, tx->ask_at))
		return;
	u4_tx_state(c, U4W_ASKS);
	tx->ask_delay = min(2 * tx->ask_delay, U4_ASK_MAX);
	tx->ask_at = jiffies + tx->ask_delay;
}

/* Return: why the life has to end, or NULL */
static const char *u4_watch_peer(struct u4_cable *c)
{
	unsigned long heard = READ_ONCE(c->rx.heard_at), patience = u4_timeout_s * HZ;
	struct u4_tx *tx = &c->tx;
	/* Until a life that was held goes on, @progress is that of another time. */
	bool waits = tx->runs && tx->una != tx->high;

	if (!READ_ONCE(c->rx.proved)) {
		/* U4_TRYING has its own end */
		tx->ask_delay = U4_ASK / 2;
		u4_watch_ask(c);
		return NULL;
	}
	if (time_after(jiffies, heard + patience)) {
		u4_cable_lost(c, "the peer is silent");
		return NULL;
	}
	/* A peer that has just fallen silent acknowledges nothing, either. */
	if (waits && time_after(jiffies, tx->progress + patience) &&
	    time_before(jiffies, heard + U4_SILENCE))
		return "the peer acknowledges nothing";
	if (waits || time_after(jiffies, heard + U4_SILENCE))
		u4_watch_ask(c);
	else
		tx->ask_delay = U4_ASK;
	return NULL;
}

/*
 * Frames that came without an interrupt were found by this timer. Once they may have come just when
 * it looked; if no interrupt follows, the host interface sends none any more.
 */
static void u4_watch_interrupts(struct u4_cable *c)
{
	struct u4_watch *watch = &c->watch;
	unsigned int irqs = READ_ONCE(c->rx.ring.irqs);

	if (irqs != watch->irqs)
		watch->strikes = 0;
	else if (READ_ONCE(c->rx.unannounced))
		watch->strikes++;
	WRITE_ONCE(c->rx.unannounced, 0);
	watch->irqs = irqs;
	if (watch->strikes < U4_STRIKES)
		return;
	watch->strikes = 0;
	WRITE_ONCE(c->restart, true);
	u4_cable_kick(c);
}

void u4_tick(struct timer_list *timer)
{
	struct u4_cable *c = container_of(timer, struct u4_cable, tick);
	struct u4_tx *tx = &c->tx;
	const char *why;

	u4_watch_interrupts(c);
	spin_lock(&tx->lock);
	u4_tx_progress(c);
	if (READ_ONCE(c->rx.next) != tx->acked)
		u4_tx_state(c, 0);
	why = u4_watch_peer(c);
	tx->idle = READ_ONCE(c->rx.proved) && tx->una == tx->next && !tx->wanted &&
		   list_empty(&tx->posted) && READ_ONCE(c->rx.next) == tx->acked &&
		   !c->watch.strikes;
	if (tx->ticks)
		mod_timer(timer, jiffies + (tx->idle ? U4_TICK_IDLE : U4_TICK));
	spin_unlock(&tx->lock);
	if (why)
		u4_cable_fault(c, why);
	queue_bh_work(&c->poll);	/* looks for frames without an interrupt */
}

void u4_watch_start(struct u4_cable *c)
{
	struct u4_tx *tx = &c->tx;

	c->watch = (struct u4_watch) { .irqs = c->rx.ring.irqs };
	spin_lock_bh(&tx->lock);
	tx->ask_at = jiffies;
	tx->ticks = true;
	tx->idle = false;
	mod_timer(&c->tick, jiffies);
	spin_unlock_bh(&tx->lock);
}

void u4_watch_stop(struct u4_cable *c)
{
	spin_lock_bh(&c->tx.lock);
	c->tx.ticks = false;
	spin_unlock_bh(&c->tx.lock);
	timer_delete_sync(&c->tick);
}
