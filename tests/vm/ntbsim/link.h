/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The link between two NTBs. It is up when both ends have a client, both have enabled it
 * (NTB_CTL_DISABLE), no command holds it down, and this was so for the time of training. The status
 * registers show the same, unless they are stuck.
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
	 * Protects all state of both NTBs. Taken for reading while bytes are copied, so that a
	 * change waits for these.
	 */
	pthread_rwlock_t lock;
	struct ntb *ntb[2];
	bool attached[2];
	bool carries;
	bool shown;
	uint64_t up_at;		/* ms; LINK_NEVER: not in training */
	int wake;		/* eventfd: a time has changed */

	/* switches */
	unsigned int delay_ms;
	bool held_down;
	bool stuck;		/* the status registers do not change */
	bool dead_writes_fail;	/* DMA to a dead link ends with an error instead of being dropped */

	/* a flap in progress */
	unsigned int flaps;	/* ups still to come */
	unsigned int down_ms, up_ms;
	uint64_t flap_at;
};

void link_init(struct link *link, unsigned int delay_ms, int wake);

/* The following: under the lock, for writing. */
/* A condition of the link has changed. */
void link_update(struct link *link);
/* The registers of a side were reset: they show the state of the link again, without an event. */
void link_shown_again(struct link *link, unsigned int side);
void link_flap(struct link *link, unsigned int count, unsigned int down_ms, unsigned int up_ms);
void link_stick(struct link *link, bool stuck);

/* Do what is due by now and return when to call again. Takes the lock. */
uint64_t link_tick(struct link *link, uint64_t now);
uint64_t link_now(void);

#endif
