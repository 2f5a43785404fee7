/* SPDX-License-Identifier: GPL-2.0 */
/*
 * simulator.h - a process of simulated devices: its times, and its control socket
 *
 * Each device has a thread; the thread of main() does what is due at a time, and executes commands:
 * a line of words in, a line of JSON out - {"ok":true} with the result, or {"ok":false,
 * "error":"..."}.
 */
#ifndef VFIO_SIMULATOR_H
#define VFIO_SIMULATOR_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <cjson/cJSON.h>

#include "device.h"

#define CALL_WORDS 8

/* A command with the objects and numbers that its words stand for */
struct call {
	void *world;
	struct device *dev;		/* of letter D */
	uint32_t number[CALL_WORDS];	/* of letters N, in order */
	unsigned int numbers;
	void *object;			/* of a letter of the simulator, as the following */
	unsigned int part, kind;
	pthread_rwlock_t *lock;		/* taken for writing while the command runs, if set */
	cJSON *answer;
};

/*
 * D: name of a device, N: a number, other capital letters: the simulator's. Other words are
 * literal.
 */
struct command {
	const char *pattern;
	void (*run)(struct call *call);
	const char *help;
};

struct simulator {
	const char *name;
	void *world;
	const struct command *commands;	/* the last row is empty */
	/* Take a word for that letter. False: it stands for nothing. */
	bool (*take)(struct call *call, char letter, const char *word);
	/* Device @n, NULL behind the last */
	struct device *(*device)(void *world, unsigned int n);
	/* Add all but the counters of devices to the statistics. */
	void (*stats)(void *world, cJSON *to);
	/* Do what is due at @now; return the next time, in microseconds, or TIME_NEVER. */
	uint64_t (*tick)(void *world, uint64_t now);
};

/* Start the devices, say "ready" and serve. Returns an exit status after a failure only. */
int simulator_run(const struct simulator *sim, const char *dir);

/* Take a number of a command line, in any base. */
bool simulator_number(const char *text, uint64_t min, uint64_t max, uint64_t *value);
/* Take a word of a command as a number. */
bool call_number(const char *word, uint32_t *number);

#define TIME_NEVER UINT64_MAX

/* Microseconds of a clock that never goes back */
uint64_t time_now(void);
/* What the next tick is to do has changed. Any thread, under any lock */
void time_changed(void);

#endif
