// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "unit.h"

#define FILE_SIZE 0x10000

static void test_ranges(struct memory *mem, int fd)
{
	char text[8] = "";

	WANT(!memory_map(mem, 0x1000, 0x2000, fd, 0, true));
	WANT(!memory_map(mem, 0x3000, 0x1000, fd, 0x8000, true));
	WANT(!memory_map(mem, 0x9000, 0x1000, fd, 0xf000, false));
	/* overlapping, empty, behind the end of the file, wrapping around */
	WANT(memory_map(mem, 0x2fff, 2, fd, 0, true) == -EEXIST);
	WANT(memory_map(mem, 0, 0x10000, fd, 0, true) == -EEXIST);
	WANT(memory_map(mem, 0x20000, 0, fd, 0, true) == -EINVAL);
	WANT(memory_map(mem, 0x20000, FILE_SIZE, fd, 0x1000, true) == -EINVAL);
	WANT(memory_map(mem, 0x20000, 0x1000, fd, ~0xfffull, true) == -EINVAL);
	WANT(memory_map(mem, ~0xfffull, 0x2000, fd, 0, true) == -EINVAL);

	/* across two ranges that are not adjacent in the file */
	WANT(!memory_write(mem, 0x2ffc, "abcdefg", 8));
	WANT(!memory_read(mem, 0x2ffc, text, 8) && !strcmp(text, "abcdefg"));
	/* an access beyond the range does nothing */
	WANT(memory_write(mem, 0x3ffc, "zzzzzzz", 8) == -EFAULT);
	WANT(!memory_read(mem, 0x3ffc, text, 4) && !text[0]);
	WANT(memory_write(mem, 0x9000, "a", 1) == -EFAULT && !memory_read(mem, 0x9000, text, 1));
	WANT(memory_read(mem, 0xfff, text, 1) == -EFAULT &&
	     memory_read(mem, ~0ull, text, 8) == -EFAULT);
}

static void test_copies(struct memory *mem)
{
	char text[16] = "";

	WANT(!memory_write(mem, 0x1000, "0123456789", 10));
	WANT(!memory_copy(mem, 0x2ffb, mem, 0x1000, 10));
	WANT(!memory_read(mem, 0x2ffb, text, 10) && !memcmp(text, "0123456789", 10));
	/* overlapping */
	WANT(!memory_copy(mem, 0x1002, mem, 0x1000, 8));
	WANT(!memory_read(mem, 0x1000, text, 10) && !memcmp(text, "0101234567", 10));
	WANT(memory_copy(mem, 0x1000, mem, 0x8000, 4) == MEMORY_NO_SOURCE);
	WANT(memory_copy(mem, 0x9000, mem, 0x1000, 4) == MEMORY_NO_TARGET);
}

static void test_unmap(struct memory *mem)
{
	char c;

	/* a range is unmapped as a whole */
	WANT(!memory_unmap(mem, 0x1000, 0x1000) && !memory_read(mem, 0x1000, &c, 1));
	WANT(!memory_unmap(mem, 0x1000, 0x3000) && memory_read(mem, 0x1000, &c, 1) == -EFAULT);
	WANT(!memory_read(mem, 0x9000, &c, 1));
	WANT(memory_unmap(mem, 0x1000, ~0ull) == -EINVAL);
}

void test_memory(void)
{
	int fd = memfd_create("memory", 0);
	struct memory mem;

	WANT(!ftruncate(fd, FILE_SIZE));
	memory_init(&mem);
	test_ranges(&mem, fd);
	test_copies(&mem);
	test_unmap(&mem);
	memory_clear(&mem);
	for (unsigned int i = 0; i < MEMORY_RANGES; i++)
		WANT(!memory_map(&mem, 0x1000ull * i, 0x1000, fd, 0, true));
	WANT(memory_map(&mem, 0x1000ull * MEMORY_RANGES, 0x1000, fd, 0, true) == -ENOSPC);
	memory_clear(&mem);
	close(fd);
}

void test_pci(void)
{
	static const struct pci_identity id = { .device = 1,
						.vectors = 33,
						.bar = { [2] = 0x100000 } };
	uint64_t ones = ~0ull, value = 0;
	uint8_t end[8];
	struct pci pci;

	pci_reset(&pci, &id);
	pci_write(&pci, PCI_AT_BAR0 + 8, &ones, 8);
	WANT(pci_get(&pci, PCI_AT_BAR0 + 8, 8) == (~0xfffffull | 4));
	pci_write(&pci, 0, &ones, 4);
	WANT(pci_get(&pci, 0, 4) == 0x00018086);
	/* no address is decoded before memory is enabled */
	value = 0xabc00000;
	pci_write(&pci, PCI_AT_BAR0 + 8, &value, 8);
	WANT(!pci_claims(&pci, 2, value, 4));
	pci_write(&pci, PCI_AT_COMMAND, &ones, 2);
	WANT(pci_claims(&pci, 2, value, 0x100000) && !pci_claims(&pci, 2, value, 0x100001));
	WANT(!pci_claims(&pci, 2, value - 1, 4) && !pci_claims(&pci, 2, value + 0xffffd, 4));
	WANT(!pci_claims(&pci, 4, 0, 0));
	pci_write(&pci, PCI_CONFIG_SIZE - 4, &ones, 8);
	pci_read(&pci, PCI_CONFIG_SIZE - 4, end, 8);
	WANT(end[3] == 0 && end[4] == 0xff && end[7] == 0xff);
	pci_read(&pci, ~0ull, end, 1);
	WANT(end[0] == 0xff);
}
