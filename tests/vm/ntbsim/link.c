// SPDX-License-Identifier: GPL-2.0
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "world.h"

void link_init(struct link *link, unsigned int delay_ms, int wake)
{
	pthread_rwlockattr_t attr;

	memset(link, 0, sizeof(*link));
	link->delay_ms = delay_ms;
	link->wake = wake;
	link->up_at = LINK_NEVER;
	link->flap_at = LINK_NEVER;
	/* register accesses must not starve while two engines keep the bridge busy */
	pthread_rwlockattr_init(&attr);
	pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&link->lock, &attr);
	pthread_rwlockattr_destroy(&attr);
}

uint64_t link_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000ull + ts.tv_nsec / 1000000;
}

static void wake(struct link *link)
{
	uint64_t one = 1;

	/* if the counter is full, the thread wakes up anyway */
	if (write(link->wake, &one, sizeof(one)) < 0)
		return;
}

static void show(struct link *link)
{
	if (link->stuck || link->shown == link->carries)
		return;
	link->shown = link->carries;
	for (unsigned int side = 0; side < 2; side++) {
		if (link->ntb[side])
			ntb_show_link(link->ntb[side], link->shown);
	}
}

static bool trainable(const struct link *link)
{
	for (unsigned int side = 0; side < 2; side++) {
		if (!link->ntb[side] || !link->attached[side] || !ntb_enabled(link->ntb[side]))
			return false;
	}
	return !link->held_down;
}

void link_update(struct link *link)
{
	if (!trainable(link)) {
		link->carries = false;
		link->up_at = LINK_NEVER;
	} else if (!link->carries && !link->delay_ms) {
		link->carries = true;
	} else if (!link->carries && link->up_at == LINK_NEVER) {
		link->up_at = link_now() + link->delay_ms;
		wake(link);
	}
	show(link);
}

void link_shown_again(struct link *link, unsigned int side)
{
	if (link->shown)
		pci_put(&link->ntb[side]->dev.pci, NTB_AT_LINK_STATUS,
			NTB_LINK_ACTIVE | NTB_LINK_GEN3_X16, 2);
	link_update(link);
}

void link_flap(struct link *link, unsigned int flaps, unsigned int down_ms, unsigned int up_ms)
{
	link->flaps = flaps;
	link->down_ms = down_ms;
	link->up_ms = up_ms;
	link->flap_at = flaps ? link_now() : LINK_NEVER;
	wake(link);
}

void link_stick(struct link *link, bool stuck)
{
	link->stuck = stuck;
	show(link);
}

/* Down, up, down, up: the last state is up. */
static void flap_tick(struct link *link, uint64_t now)
{
	if (now < link->flap_at)
		return;
	link->held_down = !link->held_down;
	if (link->held_down)
		link->flap_at = now + link->down_ms;
	else if (--link->flaps)
		link->flap_at = now + link->up_ms;
	else
		link->flap_at = LINK_NEVER;
	link_update(link);
}

uint64_t link_tick(struct link *link, uint64_t now)
{
	uint64_t next;

	pthread_rwlock_wrlock(&link->lock);
	flap_tick(link, now);
	if (now >= link->up_at) {
		link->up_at = LINK_NEVER;
		link->carries = true;
		show(link);
	}
	next = link->up_at < link->flap_at ? link->up_at : link->flap_at;
	pthread_rwlock_unlock(&link->lock);
	return next;
}
