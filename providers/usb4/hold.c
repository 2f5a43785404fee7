// SPDX-License-Identifier: GPL-2.0
/*
 * hold.c - lives that are held. When the cable is pulled, or the peer is silent, nothing of the
 * life has to be lost: frames that were not acknowledged are kept, and what is sent meanwhile
 * waits. If both hosts log in again in time, the life goes on with the numbers that it has, and
 * connections notice the delay alone. docs/wire-usb4.md says when both hosts agree about that.
 *
 *	u4_hold_begin()		the way holds the life; the cable may be dropped
 *	u4_hold_tell()		our LOGIN says so
 *	u4_hold_agree()		both hosts have logged in: U4_TRYING resumes the life, or it ends
 *	u4_hold_resume()	both directions work
 *	u4_hold_end()		the life ends: by its time, an error, or because nobody uses the way
 *
 * The time stops for all that waits for the peer (kfi_mux_hold()).
 */
#include "usb4.h"

#define U4_REFILL	4	/* seconds that a second gives back in which frames come */

/* ---- the end ---- */

static void u4_hold_over(struct u4_way *way, const char *why)
{
	struct u4_cable *holder = way->holder;
	struct kfi_mux *mux = &way->mux;

	lockdep_assert_held(&way->life_lock);
	if (!holder)
		return;
	if (why)
		u4_way_say(way, "connections end: ", why);
	way->holder = NULL;
	u4_tx_shut(holder);
	RCU_INIT_POINTER(way->cable, NULL);
	u4_tx_cancel(holder);
	WRITE_ONCE(mux->life, mux->life + 1);
	kfi_mux_down(mux);	/* also waits for those that have found @holder */
	WRITE_ONCE(holder->fault, NULL);
	u4_cable_put(holder);
}

void u4_hold_end(struct u4_way *way, const char *why)
{
	mutex_lock(&way->life_lock);
	u4_hold_over(way, why);
	mutex_unlock(&way->life_lock);
}

static void u4_hold_expire(struct work_struct *work)
{
	struct u4_way *way = container_of(to_delayed_work(work), struct u4_way, expire);
	const char *why;
	long left;

	mutex_lock(&way->life_lock);
	if (way->holder) {
		why = READ_ONCE(way->holder->fault);
		left = way->held_until - jiffies;
		if (why || left <= 0)
			u4_hold_over(way, why ?: "the peer did not come back in time");
		else
			mod_delayed_work(u4_wq, &way->expire, left);
	}
	mutex_unlock(&way->life_lock);
}

/* ---- begin ---- */

/*
 * All clocks stand still meanwhile, so a peer that comes back again and again must not win all the
 * time that it wants. A life that was resumed has what was left of its time, and U4_REFILL times as
 * long as frames have come since, unless something was sent and nothing acknowledged.
 */
unsigned long u4_hold_time(struct u4_cable *c)
{
	unsigned long most = READ_ONCE(u4_hold_s) * HZ;
	struct u4_way *way = c->way;
	u32 una = READ_ONCE(c->tx.una);
	long up = READ_ONCE(c->rx.heard_at) - c->up_at;

	if (!way->held_left)
		return most;
	if (una == way->held_una && una != READ_ONCE(c->tx.high))
		up = 0;
	return min(most, way->held_left + U4_REFILL * clamp(up, 0L, (long)most));
}

void u4_hold_begin(struct u4_cable *c, unsigned long time)
{
	struct u4_way *way = c->way;

	mutex_lock(&way->life_lock);
	kref_get(&c->ref);
	way->holder = c;
	way->held_at = jiffies;
	way->held_until = jiffies + time;
	kfi_mux_hold(&way->mux, READ_ONCE(c->rx.heard_at));
	mod_delayed_work(u4_wq, &way->expire, time);
	/* A fault that comes after this look lets the work item run, see &kfi_mux_ops.fault. */
	if (READ_ONCE(c->fault))
		mod_delayed_work(u4_wq, &way->expire, 0);
	mutex_unlock(&way->life_lock);
}

/* ---- the next login ---- */

static struct u4_held u4_hold_now(const struct u4_way *way)
{
	const struct u4_cable *holder = way->holder;

	lockdep_assert_held(&way->life_lock);
	if (!holder)
		return (struct u4_held) {};
	return (struct u4_held) {
		.own = holder->born_own, .peer = holder->born_peer,
		.next = holder->rx.next, .high = holder->tx.high,
	};
}

void u4_hold_tell(struct u4_way *way, struct u4_held *held)
{
	mutex_lock(&way->life_lock);
	*held = u4_hold_now(way);
	mutex_unlock(&way->life_lock);
}

int u4_hold_agree(struct u4_cable *c, const struct u4_said *told, const struct u4_said *said,
		  u32 window)
{
	struct u4_way *way = c->way;
	struct u4_cable *holder;
	const char *why = NULL;
	struct u4_held held;
	int ret = 0;

	mutex_lock(&way->life_lock);
	holder = way->holder;
	held = u4_hold_now(way);
	if (memcmp(&told->held, &held, sizeof(held))) {
		ret = -ESTALE;
	} else if (holder) {
		why = u4_may_resume(told, said, holder->machine, holder->tx.una, holder->tx.window);
		if (!why && window != holder->tx.window)
			why = "the peer has another window";
		if (why) {
			u4_hold_over(way, why);
		} else {
			kref_get(&holder->ref);
			c->resumes = holder;
			c->resume_una = said->held.next;
		}
	}
	mutex_unlock(&way->life_lock);
	return ret;
}

void u4_hold_forget(struct u4_cable *c)
{
	struct u4_cable *holder = c->resumes;

	c->resumes = NULL;
	if (holder)
		u4_cable_put(holder);
}

bool u4_hold_resume(struct u4_cable *c)
{
	struct u4_cable *holder = c->resumes;
	struct u4_way *way = c->way;
	const char *why;
	char after[32];
	bool held;

	mutex_lock(&way->life_lock);
	held = way->holder == holder;
	if (held) {
		way->holder = NULL;
		way->held_left = max_t(long, way->held_until - jiffies, 1);
		way->held_una = READ_ONCE(c->tx.una);
		c->born_own = holder->born_own;
		c->born_peer = holder->born_peer;
		u4_tx_move(c, holder);
		kfi_mux_resume(&way->mux);
		snprintf(after, sizeof(after), "after %u ms",
			 jiffies_to_msecs(jiffies - way->held_at));
		u4_way_say(way, "up again ", after);
	}
	mutex_unlock(&way->life_lock);
	if (!held)
		return false;
	if (holder != c) {
		synchronize_rcu();	/* u4_tx_lock(), u4_fault() */
		why = READ_ONCE(holder->fault);
		if (why)
			u4_cable_fault(c, why);
	}
	u4_cable_put(holder);	/* the way's; u4_hold_forget() drops ours */
	return true;
}

/* ---- ways ---- */

unsigned int u4_hold_left(struct u4_way *way)
{
	unsigned int left = 0;

	mutex_lock(&way->life_lock);
	if (way->holder)
		left = DIV_ROUND_UP(max_t(long, way->held_until - jiffies, 1), HZ);
	mutex_unlock(&way->life_lock);
	return left;
}

void u4_hold_init(struct u4_way *way)
{
	mutex_init(&way->life_lock);
	INIT_DELAYED_WORK(&way->expire, u4_hold_expire);
}

void u4_hold_exit(struct u4_way *way)
{
	cancel_delayed_work_sync(&way->expire);
}
