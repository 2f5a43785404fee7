/* SPDX-License-Identifier: GPL-2.0 */
/* All objects: two hosts and the links between them. */
#ifndef NTBSIM_WORLD_H
#define NTBSIM_WORLD_H

#include <stddef.h>
#include <stdint.h>

#include "ioat.h"
#include "link.h"
#include "ntb.h"

/* ---- the bus of one guest for its DMA engine: memory, and the BARs of the NTBs ---- */

#define HOST_LINKS 8

struct host {
	struct ioat ioat;
	struct ntb *ntb[HOST_LINKS];
	unsigned int ntbs;
};

/*
 * Is that address the guest's memory or the BAR of an NTB? If not, another device of the guest may
 * have it: device_fetch().
 */
bool host_knows(struct host *host, struct memory *memory, uint64_t address);

/*
 * host_copy() - move bytes on the bus
 * @memory: the guest's memory, as the mover sees it
 * @from: where @source is: @memory, or bytes that were fetched before
 *
 * One end at least is memory. Writes to the registers of an NTB are whole registers: a doorbell, a
 * scratchpad.
 *
 * Return: 0, HOST_READ_ERROR or HOST_WRITE_ERROR.
 */
enum { HOST_READ_ERROR = 1, HOST_WRITE_ERROR };
int host_copy(struct host *host, struct memory *memory, uint64_t target, struct memory *from,
	      uint64_t source, size_t len);

/* ---- all ---- */

struct world {
	struct host host[2];
	struct link link[HOST_LINKS];
	struct ntb ntb[HOST_LINKS][2];
	unsigned int links;
	int wake;
};

struct world_options {
	const char *dir;		/* for the sockets; NULL: no sockets */
	unsigned int links;
	unsigned int delay_ms;
	uint64_t window[NTB_WINDOWS];
};

/* 0 or a negative errno. A world is static: zeroed, and never freed. */
int world_init(struct world *world, const struct world_options *options);
int world_start(struct world *world);
/* Return device @n: the engines first, then the NTBs; NULL behind the last. */
struct device *world_device(struct world *world, unsigned int n);

#endif
