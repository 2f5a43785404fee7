// SPDX-License-Identifier: GPL-2.0
/*
 * cable.c - the life of a cable: one work item logs in, begins lives and ends them.
 *
 * The core removes the service of a cable that was pulled, in old kernels under tb->lock. The work
 * item may wait for that lock just then. So u4_remove() (plug.c) does not wait for the work item:
 * it stops and frees the rings by itself, and the work item finds that out and drops the rest.
 */
#include <linux/random.h>
#include <linux/slab.h>
#include "usb4.h"

#define U4_TRIAL	(3 * HZ)	/* a life has to begin within this time */
#define U4_RETRY_MIN	(HZ / 5)	/* between logins */
#define U4_RETRY_MAX	(2 * HZ)
#define U4_PATIENCE	(2 * HZ)	/* for an earlier cable to leave its way */
#define U4_SHORT	(10 * HZ)	/* after a life that was shorter there is a pause */

/* ---- paths ---- */

static int u4_path_on(struct u4_cable *c)
{
	int ret = tb_xdomain_enable_paths(c->xd, c->out_hop, c->tx.ring.hop, c->in_hop,
					  c->rx.ring.hop);

	c->paths = !ret;
	if (!ret && READ_ONCE(c->xd->is_unplugged))
		c->late = true;
	return ret;
}

/*
 * If the cable was pulled, the core ignores this call, and has removed the path itself or is about
 * to. A connection manager in firmware may find after a sleep of the machine that the cable is
 * plugged after all: so this is left to the core.
 */
static void u4_path_off(struct u4_cable *c)
{
	if (!c->paths)
		return;
	c->paths = false;
	tb_xdomain_disable_paths(c->xd, c->out_hop, c->tx.ring.hop, c->in_hop, c->rx.ring.hop);
	if (!READ_ONCE(c->xd->is_unplugged))
		c->late = false;
}

/*
 * The core has configured our path after it had removed those of a cable that was pulled. Nobody
 * removes it then, and it is in the way of the next cable in this port. The core has to be told
 * that the cable is plugged, or it ignores the call. That must not be seen by the drivers of other
 * services: they would wait for tb->lock, and old kernels unbind them under this lock. So wait
 * until the core has released it, and write under it, as the core does. The path is found by its
 * rings, because the peer may have another HopID by now.
 */
static void u4_path_off_late(struct u4_cable *c)
{
	struct tb_xdomain *xd = c->xd;

	if (!c->late)
		return;
	mutex_lock(&xd->tb->lock);
	xd->is_unplugged = false;
	mutex_unlock(&xd->tb->lock);
	tb_xdomain_disable_paths(xd, -1, c->tx.ring.hop, -1, c->rx.ring.hop);
	mutex_lock(&xd->tb->lock);
	xd->is_unplugged = true;
	mutex_unlock(&xd->tb->lock);
}

/* ---- lives ---- */

static void u4_life_said(struct u4_cable *c, const char *what, const char *why)
{
	bool up = c->state == U4_UP;

	if (up || why != c->said)
		u4_way_say(c->way, up ? what : "no connection: ", why);
	c->said = why;
	c->lives = up && time_after(jiffies, c->up_at + U4_SHORT) ? 0 : min(c->lives + 1, 8U);
	c->not_before = jiffies + min(U4_RETRY_MIN << c->lives, U4_RETRY_MAX);
}

static void u4_life_stop(struct u4_cable *c)
{
	/* Before the rings: a path may never become idle if its ring was stopped. */
	u4_path_off(c);
	mutex_lock(&c->lock);
	u4_rings_stop(c);
	mutex_unlock(&c->lock);
	u4_hold_forget(c);
}

static void u4_life_again(struct u4_cable *c)
{
	c->state = U4_LOGIN;
	u4_login_reset(c);
}

/* End the life of this cable, or that which its way holds. */
static void u4_life_end(struct u4_cable *c, const char *why)
{
	bool up = c->state == U4_UP;
	struct kfi_mux *mux;

	if (c->state != U4_LOGIN) {
		mux = &c->way->mux;
		u4_life_said(c, "down: ", why);
		if (up) {
			u4_tx_shut(c);
			RCU_INIT_POINTER(c->way->cable, NULL);
		}
		if (!READ_ONCE(c->gone) && !READ_ONCE(c->over))
			u4_logout(c);
		u4_life_stop(c);
		if (up) {
			u4_tx_cancel(c);
			/* Records were handled until now, and their calls belong to this life. */
			WRITE_ONCE(mux->life, mux->life + 1);
			kfi_mux_down(mux);
		}
		u4_life_again(c);
	}
	if (c->way)
		u4_hold_end(c->way, why);
	WRITE_ONCE(c->fault, NULL);
}

/* The life can't go on over this cable as it is. The peer is not told: it finds that out. */
static void u4_life_lost(struct u4_cable *c, const char *why)
{
	bool up = c->state == U4_UP;
	unsigned long time = up ? u4_hold_time(c) : 0;

	if (!time && !c->resumes) {
		u4_life_end(c, why);
		return;
	}
	u4_life_said(c, "down, connections wait: ", why);
	if (up)
		c->not_before = jiffies + U4_RETRY_MIN;
	u4_life_stop(c);
	u4_life_again(c);
	if (up)
		u4_hold_begin(c, time);
}

/* Start the rings and configure the path. Return: 0, or a negative errno */
static int u4_life_try(struct u4_cable *c)
{
	int ret = -ENODEV;

	c->state = U4_TRYING;
	c->restart = false;
	mutex_lock(&c->lock);
	if (!c->gone && !c->asleep)
		ret = u4_rings_start(c);
	mutex_unlock(&c->lock);
	if (ret)
		return ret;
	ret = u4_path_on(c);
	c->deadline = jiffies + U4_TRIAL;
	mutex_lock(&c->lock);
	if (!ret && c->running)
		u4_watch_start(c);
	mutex_unlock(&c->lock);
	return ret;
}

/* Both directions work. */
static void u4_life_up(struct u4_cable *c)
{
	struct kfi_mux *mux = &c->way->mux;

	if (c->resumes && !u4_hold_resume(c)) {
		u4_life_end(c, "the connections have ended meanwhile");
		return;
	}
	c->state = U4_UP;
	c->said = NULL;
	c->up_at = jiffies;
	if (!c->resumes) {
		u4_way_say(c->way, "up", "");
		c->born_own = c->incarnation;
		c->born_peer = c->tx.life;
		c->way->held_left = 0;
		rcu_assign_pointer(c->way->cable, c);
		u4_tx_open(c);
		kfi_mux_up(mux);
	}
	u4_hold_forget(c);
	mutex_lock(&c->lock);
	if (c->running) {
		u4_tx_run(c);
		WRITE_ONCE(c->rx.open, true);
		queue_bh_work(&c->poll);
	}
	mutex_unlock(&c->lock);
}

/* ---- the work item ---- */

static const char *u4_refusal(int err)
{
	if (err == -ESHUTDOWN || err == -ENODEV)
		return "the host interface is going away";
	return "the connection manager configures no path; does it allow but one, and thunderbolt_net has that?";
}

static unsigned long u4_work_login(struct u4_cable *c)
{
	const char *why;
	int ret;

	if (time_before(jiffies, c->not_before))
		return c->not_before - jiffies;
	ret = u4_login(c);
	if (ret == -EUSERS || ret == -ENOMEM) {
		why = ret == -ENOMEM ? "no memory for a way" : "too many ways without a cable";
		if (why != c->said)
			pr_warn_ratelimited("kfi_usb4: the host at %s is refused: %s\n", c->where,
					    why);
		c->said = why;
		return U4_RETRY_MAX;
	}
	if (ret) {
		if (c->tries > 4)
			u4_publish_again();
		return min(U4_RETRY_MIN << min(c->tries, 8U), U4_RETRY_MAX);
	}
	ret = u4_life_try(c);
	if (!ret)
		return U4_TRIAL + 1;
	u4_life_lost(c, u4_refusal(ret));
	return U4_RETRY_MAX;
}

/*
 * The cable was removed: drop what u4_remove() has left. The next cable to this host waits until
 * this one has left its way.
 */
static void u4_work_last(struct u4_cable *c)
{
	u4_path_off_late(c);
	u4_way_leave(c);
	u4_login_free(c);
	cancel_delayed_work(&c->work);	/* nobody queues it any more */
	u4_cable_unlist(c);
	u4_cable_put(c);
}

static void u4_cable_work(struct work_struct *work)
{
	struct u4_cable *c = container_of(to_delayed_work(work), struct u4_cable, work);
	bool removed = u4_cable_removed(c), asleep = READ_ONCE(c->asleep);
	const char *why = READ_ONCE(c->fault), *lost = READ_ONCE(c->lost);
	unsigned long delay = 0;

	if (removed || READ_ONCE(c->gone))
		lost = "the cable is gone";
	else if (c->state == U4_TRYING && !READ_ONCE(c->rx.proved) &&
		 time_after_eq(jiffies, c->deadline))
		lost = lost ?: "nothing arrives, though both sides have logged in";
	if (asleep)
		why = "this machine goes to sleep";
	if (why)
		u4_life_end(c, why);
	else if (lost && c->state != U4_LOGIN)
		u4_life_lost(c, lost);
	if (removed) {
		u4_work_last(c);
		return;
	}
	if (asleep || READ_ONCE(c->gone)) {
		WRITE_ONCE(c->rests, true);
		wake_up_all(&c->wait);
		return;
	}
	if (c->state == U4_LOGIN) {
		delay = u4_work_login(c);
	} else if (c->state == U4_TRYING) {
		if (READ_ONCE(c->rx.proved))
			u4_life_up(c);
		else
			delay = max_t(long, c->deadline - jiffies, 0) + 1;
	} else if (READ_ONCE(c->restart)) {
		mutex_lock(&c->lock);
		WRITE_ONCE(c->restart, false);
		u4_ring_rx_restart(c);
		mutex_unlock(&c->lock);
	}
	if (delay)
		queue_delayed_work(u4_wq, &c->work, delay);
}

struct u4_cable *u4_cable_new(struct tb_service *svc)
{
	struct u4_cable *c = kvzalloc(sizeof(*c), GFP_KERNEL);

	if (!c)
		return NULL;
	kref_init(&c->ref);
	INIT_LIST_HEAD(&c->entry);
	c->xd = tb_xdomain_get(tb_service_parent(svc));
	INIT_DELAYED_WORK(&c->work, u4_cable_work);
	init_waitqueue_head(&c->wait);
	c->not_before = jiffies;
	mutex_init(&c->ask_lock);
	mutex_init(&c->login_lock);
	c->out_hop = -1;
	c->in_hop = -1;
	INIT_LIST_HEAD(&c->lone);
	c->patience = jiffies + U4_PATIENCE;
	mutex_init(&c->lock);
	INIT_BH_WORK(&c->poll, u4_poll);
	timer_setup(&c->tick, u4_tick, 0);
	spin_lock_init(&c->tx.lock);
	INIT_LIST_HEAD(&c->tx.posted);
	INIT_LIST_HEAD(&c->tx.done);
	u4_login_reset(c);
	return c;
}
