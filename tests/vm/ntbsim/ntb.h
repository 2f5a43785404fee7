/* SPDX-License-Identifier: GPL-2.0 */
/* One end of a bridge: registers, doorbells, scratchpads, and windows into the guest's memory. */
#ifndef NTBSIM_NTB_H
#define NTBSIM_NTB_H

#include <stdbool.h>
#include <stdint.h>

#include "device.h"
#include "ntb_regs.h"

struct link;

struct ntb {
	struct device dev;	/* first */
	struct link *link;
	unsigned int side;	/* 0: upstream, 1: downstream */
	struct pci_identity id;
	uint8_t reg[NTB_BAR0_SIZE];	/* see the table in ntb.c */
};

int ntb_init(struct ntb *ntb, struct link *link, unsigned int side, unsigned int number,
	     const uint64_t *window, const char *path);

/* The following: under the link's lock, for writing. */
/* Set these bits: an interrupt for each that was not pending and is not masked. */
void ntb_raise(struct ntb *ntb, uint64_t bits);
bool ntb_enabled(const struct ntb *ntb);
void ntb_show_link(struct ntb *ntb, bool up);
/* Access registers, by the own CPU or DMA engine. Return: false if there is no such register */
bool ntb_write_register(struct ntb *ntb, uint64_t offset, const void *data, size_t len);

/* Under the link's lock, for reading. */
bool ntb_read_register(const struct ntb *ntb, uint64_t offset, void *data, size_t len);
uint64_t ntb_value(const struct ntb *ntb, unsigned int offset, size_t len);

#endif
