/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Configuration space of an endpoint: registers that the client reads once, and the few that have a
 * meaning later. Base addresses are ordinary writes for the device. The client has the MSI-X table;
 * the device only tells its address.
 */
#ifndef NTBSIM_PCI_H
#define NTBSIM_PCI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PCI_CONFIG_SIZE	4096
#define PCI_BARS	6

#define PCI_AT_COMMAND	0x04
#define PCI_AT_BAR0	0x10
/* where the drivers expect it: GEN3_DEVCTRL_OFFSET is 0x98 */
#define PCI_AT_EXPRESS	0x90
#define PCI_AT_MSIX	0x80

#define PCI_MEMORY	0x2
#define PCI_MASTER	0x4

struct pci_identity {
	uint16_t device;
	uint32_t class;		/* 24 bits */
	uint8_t revision;
	unsigned int vectors;
	uint32_t msix_table;	/* offset in BAR 0 */
	uint32_t msix_pending;
	uint64_t bar[PCI_BARS];	/* sizes; the second entry of a 64-bit BAR is 0 */
	unsigned int prefetchable;	/* a bit for each BAR */
};

struct pci {
	uint8_t config[PCI_CONFIG_SIZE];
	uint8_t writable[PCI_CONFIG_SIZE];	/* bits that a write changes */
	uint64_t bar[PCI_BARS];
};

void pci_reset(struct pci *pci, const struct pci_identity *id);

/* Bytes behind the end read as ones and are not written. */
void pci_read(const struct pci *pci, uint64_t offset, void *data, size_t len);
void pci_write(struct pci *pci, uint64_t offset, const void *data, size_t len);

/* For use by the device itself. */
void pci_put(struct pci *pci, unsigned int offset, uint64_t value, size_t len);
uint64_t pci_get(const struct pci *pci, unsigned int offset, size_t len);

uint64_t pci_base(const struct pci *pci, unsigned int bar);
bool pci_claims(const struct pci *pci, unsigned int bar, uint64_t address, size_t len);
bool pci_is_master(const struct pci *pci);

#endif
