// SPDX-License-Identifier: GPL-2.0
#include <string.h>

#include "device.h"

#define VENDOR_INTEL	0x8086
#define CAPABILITIES	0x10	/* status: there is a capability list */
#define ID_EXPRESS	0x10
#define ID_MSIX		0x11
/*
 * An endpoint integrated in the root complex, as both devices are (capability version 2, type 9).
 */
#define EXPRESS_FLAGS	0x0092

void pci_put(struct pci *pci, unsigned int offset, uint64_t value, size_t len)
{
	memcpy(pci->config + offset, &value, len);
}

uint64_t pci_get(const struct pci *pci, unsigned int offset, size_t len)
{
	uint64_t value = 0;

	memcpy(&value, pci->config + offset, len);
	return value;
}

static void allow(struct pci *pci, unsigned int offset, uint64_t bits, size_t len)
{
	memcpy(pci->writable + offset, &bits, len);
}

static void put_bars(struct pci *pci, const struct pci_identity *id)
{
	for (unsigned int i = 0; i < PCI_BARS; i += 2) {
		unsigned int at = PCI_AT_BAR0 + 4 * i;

		pci->bar[i] = id->bar[i];
		if (!id->bar[i])
			continue;
		pci_put(pci, at, 0x4 | (id->prefetchable & (1u << i) ? 0x8 : 0), 8);
		allow(pci, at, ~(id->bar[i] - 1), 8);
	}
}

void pci_reset(struct pci *pci, const struct pci_identity *id)
{
	memset(pci, 0, sizeof(*pci));
	pci_put(pci, 0x00, VENDOR_INTEL, 2);
	pci_put(pci, 0x02, id->device, 2);
	pci_put(pci, 0x06, CAPABILITIES, 2);
	pci_put(pci, 0x08, (uint64_t)id->class << 8 | id->revision, 4);
	pci_put(pci, 0x2c, VENDOR_INTEL, 2);
	pci_put(pci, 0x34, PCI_AT_MSIX, 1);
	allow(pci, PCI_AT_COMMAND, PCI_MEMORY | PCI_MASTER | 0x400, 2);
	put_bars(pci, id);

	pci_put(pci, PCI_AT_MSIX, ID_MSIX | PCI_AT_EXPRESS << 8, 2);
	pci_put(pci, PCI_AT_MSIX + 2, id->vectors - 1, 2);
	allow(pci, PCI_AT_MSIX + 2, 0xc000, 2);
	pci_put(pci, PCI_AT_MSIX + 4, id->msix_table, 4);
	pci_put(pci, PCI_AT_MSIX + 8, id->msix_pending, 4);

	pci_put(pci, PCI_AT_EXPRESS, ID_EXPRESS, 2);
	pci_put(pci, PCI_AT_EXPRESS + 2, EXPRESS_FLAGS, 2);
	allow(pci, PCI_AT_EXPRESS + 8, 0x7fff, 2);
}

void pci_read(const struct pci *pci, uint64_t offset, void *data, size_t len)
{
	size_t there = 0;

	if (offset < PCI_CONFIG_SIZE)
		there = len < PCI_CONFIG_SIZE - offset ? len : PCI_CONFIG_SIZE - offset;
	memcpy(data, pci->config + (there ? offset : 0), there);
	memset((uint8_t *)data + there, 0xff, len - there);
}

void pci_write(struct pci *pci, uint64_t offset, const void *data, size_t len)
{
	const uint8_t *byte = data;

	for (size_t i = 0; i < len && offset < PCI_CONFIG_SIZE; i++, offset++) {
		uint8_t mask = pci->writable[offset];

		pci->config[offset] = (pci->config[offset] & ~mask) | (byte[i] & mask);
	}
}

uint64_t pci_base(const struct pci *pci, unsigned int bar)
{
	return pci_get(pci, PCI_AT_BAR0 + 4 * bar, 8) & ~0xfull;
}

bool pci_claims(const struct pci *pci, unsigned int bar, uint64_t address, size_t len)
{
	uint64_t base = pci_base(pci, bar);

	return pci->bar[bar] && base && (pci_get(pci, PCI_AT_COMMAND, 2) & PCI_MEMORY) &&
	       address >= base && len <= pci->bar[bar] && address - base <= pci->bar[bar] - len;
}

bool pci_is_master(const struct pci *pci)
{
	return pci_get(pci, PCI_AT_COMMAND, 2) & PCI_MASTER;
}
