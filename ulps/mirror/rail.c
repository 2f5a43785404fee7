// SPDX-License-Identifier: GPL-2.0
/*
 * rail.c - several ways to a peer: pairs of addresses, each with an endpoint of its own at both
 * nodes.
 *
 * A session has one rail for its messages, for the log and for what is read: that by which the
 * primary has sent HELLO. Direct records have no order among themselves, so they go by all rails:
 *
 *   primary					secondary
 *   RAIL, by each other rail		->	registers its slots at that endpoint, too
 *					<-	RAIL, with the key
 *   direct records, by the rail that has
 *   the fewest bytes to carry		->
 *
 * The primary repeats RAIL. It uses a rail from the first answer on. When no answer has come for
 * the time-out, and nothing is in flight there, it stops using that rail, and the session goes on.
 *
 * But when an operation fails by the way it took, the session ends, whichever rail that is. The
 * primary closes the endpoint of the rail that has failed, which ends what was posted there, and
 * begins the next session at once, by another rail. The secondary closes its regions at all rails
 * before it takes part in that, so no byte of the old session lands later. The policy is applied if
 * no session begins within the time-out. A rail on which RAIL passes, and records fail, is used
 * again after pauses that double.
 *
 * The worker calls all functions but kfm_rail_for_slots(), which any context that has claimed the
 * mirror calls, and kfm_rails_used(), which is for the status.
 */
#include "mirror.h"
#include "net.h"
#include "peer.h"
#include "rail.h"

#define PAUSE_MOST	(60 * HZ)

/* Open the endpoints that are not open, each once a second at most. */
void kfm_rails_open(struct kfm_peer *p)
{
	struct kfm_rail *rail;

	kfm_for_each_rail(rail, p) {
		if (kfm_busy(&rail->opening) || rail->up || time_before(jiffies, rail->retry))
			continue;
		rail->retry = jiffies + HZ;
		rail->failed = false;
		rail->opening = true;
		queue_work(kfm_open_wq, &rail->work);
	}
}

/* Return: the next rail behind @from, in turn, whose endpoint is open; or @from if there is none */
struct kfm_rail *kfm_rail_next(struct kfm_rail *from)
{
	struct kfm_rail *rail, *first = NULL, *behind = NULL;
	bool passed = false;

	kfm_for_each_rail(rail, from->p) {
		if (rail == from)
			passed = true;
		else if (!kfm_rail_up(rail))
			continue;
		else if (!passed)
			first = first ?: rail;
		else
			behind = behind ?: rail;
	}
	return behind ?: first ?: from;
}

/* How long to wait for an answer by one rail, so that all are tried within half of the time-out */
unsigned long kfm_rails_wait(const struct kfm_peer *p, unsigned long most)
{
	unsigned int n = kfm_rail_count(p);

	return n == 1 ? most : clamp(p->m->timeout / (2 * n), 1UL, most);
}

/* A rail of a session has failed: all that was posted there ends now. */
static void rail_ends(struct kfm_rail *rail)
{
	unsigned long least = rail->p->m->timeout;

	rail->pause = min(max(2 * rail->pause, least), max(least, PAUSE_MOST));
	rail->again = jiffies + rail->pause;
	kfm_net_close(rail);
}

/**
 * kfm_rails_lost() - a session, or an attempt to begin one, has ended
 * @p: peer of a primary, still in the state in which that happened
 *
 * Return: true if a rail has failed, and another one may be in order.
 */
bool kfm_rails_lost(struct kfm_peer *p)
{
	bool failed = false, other = false;
	struct kfm_rail *rail;

	kfm_for_each_rail(rail, p) {
		rail->open = false;
		if (rail->failed && p->rails[1] && p->state > KFM_SESSION_HELLO)
			rail_ends(rail);
		failed |= rail->failed;
		other |= !rail->failed && kfm_rail_up(rail);
	}
	if (p->rail->failed)
		p->rail = kfm_rail_next(p->rail);
	kfm_for_each_rail(rail, p)
		rail->failed = false;
	return failed && other;
}

/* The peer says, by one rail, that it has lost another one. It does not say which. */
void kfm_rails_others_failed(struct kfm_peer *p)
{
	struct kfm_rail *rail;

	kfm_for_each_rail(rail, p)
		rail->failed |= rail->open && rail != p->came;
}

/* A session begins: the peer has granted slots by its rail, or none. */
void kfm_rails_begin(struct kfm_peer *p, const struct kfm_msg *grant)
{
	struct kfm_rail *rail;

	kfm_for_each_rail(rail, p) {
		rail->open = false;
		rail->failed = false;
		rail->bytes = 0;
	}
	p->rail->open = grant->arg;
	p->rail->slots_key = grant->slots_key;
	p->rail->slots_addr = grant->slots_addr;
}

/*
 * Ask for the slots by each other rail. By one that is in use, the answer shows that it still leads
 * to the peer. The peer may have no such rail, and then never answers.
 */
void kfm_rails_ask(struct kfm_peer *p)
{
	const struct kfm_msg msg = { .type = KFM_RAIL, .session = p->session };
	struct kfm_rail *rail;

	kfm_for_each_rail(rail, p) {
		if (rail->pause && time_after(jiffies, rail->again + 8 * rail->pause))
			rail->pause = 0;
		if (rail == p->rail || !p->rail->open)
			continue;
		if (!rail->bytes && time_after(jiffies, rail->live + p->m->timeout))
			rail->open = false;
		if (!rail->pause || time_after_eq(jiffies, rail->again))
			kfm_net_send_by(rail, &msg);
	}
}

/* The peer has registered its slots at another rail of the session, or still has them there. */
void kfm_rail_granted(struct kfm_peer *p, const struct kfm_msg *msg)
{
	struct kfm_rail *rail = p->came;

	if (!p->rail->open || rail == p->rail)
		return;
	rail->live = jiffies;
	if (rail->open)
		return;
	rail->slots_key = msg->slots_key;
	rail->slots_addr = msg->slots_addr;
	p->slots.data_crc |= !rail->checked;
	rail->open = true;
}

/* The rail by which the next direct records go: that with the fewest bytes to carry */
struct kfm_rail *kfm_rail_for_slots(const struct kfm_peer *p)
{
	struct kfm_rail *rail, *best = p->rail;

	kfm_for_each_rail(rail, p) {
		if (rail->open && rail->bytes < best->bytes)
			best = rail;
	}
	return best;
}

/* How many rails share the records to the leg of a peer; 0 without a session in which they do */
unsigned int kfm_rails_used(const struct kfm_peer *p)
{
	unsigned int n = 0;
	struct kfm_rail *rail;

	if (p->state != KFM_SESSION_UP || !READ_ONCE(p->m->primary))
		return 0;
	kfm_for_each_rail(rail, p)
		n += READ_ONCE(rail->open);
	return n;
}
