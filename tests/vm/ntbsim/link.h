/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The link between two NTBs. It carries when both ends have a client, both have enabled it
 * (NTB_CTL_DISABLE), nothing holds it down, and that has been so for the time that training takes.
 * What the status registers show is the same, unless they are stuck.
 */
#ifndef NTBSIM_LINK_H
#define NTBSIM_LINK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct ntb;

#define LINK_NEVER UINT64_MAX

struct link {
	/*
	 * All state of both NTBs. For reading while bytes cross, so that a change waits for those
	 * that are under way.
	 */
	pthread_rwlock_t lock;
	struct ntb *ntb[2];
	bool attached[2];
	bool carries;
	bool shown;
	uint64_t up_at;		/* ms; LINK_NEVER: not about to come up */
	int wake;		/* eventfd: a time has changed */

	/* switches */
	unsigned int delay_ms;
	bool held_down;
	bool stuck;		/* the status registers go on to say what they say */
	bool dead_writes_fail;	/* DMA to a dead link ends in an error instead of vanishing */

	/* a flap that is under way */
	unsigned int flaps;	/* ups still to come */
	unsigned int down_ms, up_ms;
	uint64_t flap_at;
};

void link_init(struct link *link, unsigned int delay_ms, int wake);

/* Below: under the lock, for writing. */
/* Something that the link depends on has changed. */
void link_update(struct link *link);
/* The registers of a side have been reset: they show what they showed, without an event. */
void link_shown_again(struct link *link, unsigned int side);
void link_flap(struct link *link, unsigned int count, unsigned int down_ms, unsigned int up_ms);
void link_stick(struct link *link, bool stuck);

/* Do what is due by now and tell when to come again. Takes the lock. */
uint64_t link_tick(struct link *link, uint64_t now);
uint64_t link_now(void);

#endif
