/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A DMA engine: channels that copy by chains of descriptors, in the guest's memory and through its
 * NTBs.
 */
#ifndef NTBSIM_IOAT_H
#define NTBSIM_IOAT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "device.h"
#include "ioat_regs.h"

#define IOAT_CHANNELS	4	/* IOAT_MAX_CHANS of the driver */
/* What one descriptor may copy: 1 MiB */
#define IOAT_XFERCAP_LOG	20

struct host;

struct ioat_channel {
	enum ioat_state state;
	uint16_t control;
	uint16_t count;		/* DMACOUNT: descriptors of this chain that may be executed */
	uint16_t done;		/* ... that were executed */
	uint64_t chain;
	uint64_t next;		/* address of the next descriptor */
	uint64_t last;		/* address of the last completed one, 0 if none of this chain is */
	uint64_t completion;	/* address of completion records */
	uint32_t error;
	uint32_t error_mask;
	bool armed;		/* may send its next interrupt */
	bool waiting;		/* has one to send */
	uint64_t ready_at;	/* us: the present descriptor takes until then (slow DMA) */
	uint32_t restarts;	/* resets, suspensions, new chains */
};

/* Only the device's thread uses channels; any thread may change the switches. */
struct ioat {
	struct device dev;	/* first */
	struct host *host;
	struct pci_identity id;
	pthread_rwlock_t lock;
	uint8_t interrupts;	/* INTRCTRL */
	struct ioat_channel channel[IOAT_CHANNELS];
	struct memory fetched;	/* bytes from memory of another device, from address 0 on */

	/* switches */
	atomic_uint fail_in;	/* the n-th copy from now on fails; 0: none */
	atomic_uint fail_with;	/* IOAT_ERR_READ_DATA or _WRITE_DATA */
	atomic_uint slow_us;	/* additional time of each copy */
};

int ioat_init(struct ioat *ioat, struct host *host, char side, const char *path);

/*
 * For ioat.c: ioat_run.c executes descriptors, as many as one turn permits. Return: are there more?
 */
bool ioat_run(struct ioat *ioat, unsigned int number);
void ioat_interrupt(struct ioat *ioat, unsigned int number);
uint64_t ioat_now(void);

#endif
