/* SPDX-License-Identifier: GPL-2.0 */
/* The bus of one guest, as its DMA engine sees it: memory, and the BARs of the NTBs beside it. */
#ifndef NTBSIM_HOST_H
#define NTBSIM_HOST_H

#include <stddef.h>
#include <stdint.h>

#include "ioat.h"
#include "ntb.h"

#define HOST_LINKS 8

struct host {
	struct ioat ioat;
	struct ntb *ntb[HOST_LINKS];
	unsigned int ntbs;
};

/*
 * host_copy() - move bytes on the bus
 * @memory: the guest's memory, as the mover sees it
 *
 * One end at least is memory. Writes to the registers of an NTB are whole registers: a doorbell, a
 * scratchpad.
 *
 * Return: 0, HOST_READ_ERROR or HOST_WRITE_ERROR.
 */
enum { HOST_READ_ERROR = 1, HOST_WRITE_ERROR };
int host_copy(struct host *host, struct memory *memory, uint64_t target, uint64_t source,
	      size_t len);

#endif
