// SPDX-License-Identifier: GPL-2.0
/*
 * poke FILE OFFSET [VALUE] - read or write 32 bits of a PCI BAR in a guest, by its file in
 * /sys/bus/pci/devices. For accesses that no driver makes: wrong ones, an interrupt message through
 * a window.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define PAGE 4096ul

int main(int argc, char **argv)
{
	uint32_t *place;
	unsigned long offset;
	char *page;
	int fd;

	if (argc < 3 || argc > 4)
		return 2;
	fd = open(argv[1], O_RDWR | O_SYNC);
	if (fd < 0) {
		perror(argv[1]);
		return 1;
	}
	offset = strtoul(argv[2], NULL, 0);
	page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		    (off_t)(offset & ~(PAGE - 1)));
	if (page == MAP_FAILED) {
		perror("mmap");
		return 1;
	}
	place = (uint32_t *)(page + (offset & (PAGE - 4)));
	if (argc == 4)
		__atomic_store_n(place, strtoul(argv[3], NULL, 0), __ATOMIC_RELAXED);
	else
		printf("0x%08x\n", __atomic_load_n(place, __ATOMIC_RELAXED));
	return 0;
}
