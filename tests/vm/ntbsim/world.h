/* SPDX-License-Identifier: GPL-2.0 */
/* All there is: two hosts, the links between them. */
#ifndef NTBSIM_WORLD_H
#define NTBSIM_WORLD_H

#include "host.h"
#include "link.h"

struct world {
	struct host host[2];
	struct link link[HOST_LINKS];
	struct ntb ntb[HOST_LINKS][2];
	unsigned int links;
	int wake;
};

struct world_options {
	const char *dir;		/* for the sockets; NULL: none */
	unsigned int links;
	unsigned int delay_ms;
	uint64_t window[NTB_WINDOWS];
};

/* 0 or a negative errno. A world is static: zeroed, and there until the end. */
int world_init(struct world *world, const struct world_options *options);
int world_start(struct world *world);
/* The n-th device: the engines first, then the NTBs; NULL behind the last. */
struct device *world_device(struct world *world, unsigned int n);

#endif
