// SPDX-License-Identifier: GPL-2.0
/*
 * engine ENGINE DEVICE BAR - have the DMA engine copy from memory of another device, and compare
 *
 * ENGINE and DEVICE are directories in /sys/bus/pci/devices; no driver is bound to either. The
 * program writes a pattern to the first bytes of the BAR and drives channel 0 by its registers: one
 * descriptor for each page of its memory, whose addresses are those of /proc/self/pagemap. The
 * kernel's driver maps only memory that it knows.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../ioat_regs.h"

#define PAGE		4096ul
#define PAGES		16
#define PCI_COMMAND	4
#define TRIES		3000	/* ms */

/* Accesses to registers, and to memory that the engine writes: each is made once, in this order. */
#define store(at, value)	__atomic_store_n(at, value, __ATOMIC_SEQ_CST)
#define load(at)		__atomic_load_n(at, __ATOMIC_SEQ_CST)

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static int open_in(const char *dir, const char *name, int flags)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, flags);
	if (fd < 0)
		die(path);
	return fd;
}

/* Let the device decode its BARs and be master of the bus, and map a BAR. */
static uint8_t *map_bar(const char *dir, const char *bar, size_t size)
{
	int config = open_in(dir, "config", O_RDWR), fd;
	char name[32];
	uint16_t command;
	void *at;

	if (pread(config, &command, 2, PCI_COMMAND) != 2)
		die("config");
	command |= 6;
	if (pwrite(config, &command, 2, PCI_COMMAND) != 2)
		die("config");
	close(config);
	snprintf(name, sizeof(name), "resource%s", bar);
	fd = open_in(dir, name, O_RDWR | O_SYNC);
	at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		die("mmap");
	close(fd);
	return at;
}

/* The address of a BAR on the bus: line @bar of the file resource */
static uint64_t bus_address(const char *dir, int bar)
{
	char path[256], line[128];
	uint64_t start;
	FILE *file;

	snprintf(path, sizeof(path), "%s/resource", dir);
	file = fopen(path, "r");
	for (int i = 0; file && i <= bar; i++)
		if (!fgets(line, sizeof(line), file))
			die(path);
	start = file ? strtoull(line, NULL, 16) : 0;
	if (!start)
		die(path);
	fclose(file);
	return start;
}

static uint64_t physical(const void *at)
{
	int fd = open("/proc/self/pagemap", O_RDONLY);
	uint64_t entry = 0;

	if (fd < 0 || pread(fd, &entry, 8, (uintptr_t)at / PAGE * 8) != 8 || !(entry >> 63))
		die("pagemap");
	close(fd);
	return (entry & ((1ull << 55) - 1)) * PAGE;
}

static void *pages(unsigned int n)
{
	void *at = mmap(NULL, n * PAGE, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (at == MAP_FAILED || mlock(at, n * PAGE))
		die("memory");
	memset(at, 0, n * PAGE);
	return at;
}

static uint64_t pattern(unsigned int i)
{
	return (i + 1) * 0x9e3779b97f4a7c15ull;
}

int main(int argc, char **argv)
{
	struct ioat_descriptor *chain = pages(1);
	uint64_t *record = pages(1), *memory = pages(PAGES), *cmb, source, status = 0;
	uint8_t *ch;
	unsigned int i;

	if (argc != 4)
		return 2;
	ch = map_bar(argv[1], "0", IOAT_BAR0_SIZE) + IOAT_HEADER;
	cmb = (uint64_t *)map_bar(argv[2], argv[3], PAGES * PAGE);
	source = bus_address(argv[2], atoi(argv[3]));
	for (i = 0; i < PAGES * PAGE / 8; i++)
		store(&cmb[i], pattern(i));
	for (i = 0; i < PAGES; i++)
		chain[i] = (struct ioat_descriptor) {
			.size = PAGE, .control = IOAT_DESC_COMPLETE, .source = source + i * PAGE,
			.target = physical((char *)memory + i * PAGE),
			.next = physical(chain) + (i + 1) * sizeof(*chain),
		};
	store((uint8_t *)(ch + IOAT_CHANCMD), IOAT_CMD_RESET);
	store((uint16_t *)(ch + IOAT_CHANCTRL), IOAT_CTRL_ERR_COMPLETE);
	store((uint64_t *)(ch + IOAT_CHANCMP), physical(record));
	store((uint64_t *)(ch + IOAT_CHAINADDR), physical(chain));
	store((uint16_t *)(ch + IOAT_DMACOUNT), PAGES);
	for (i = 0; i < TRIES && (status & 7) != IOAT_DONE && (status & 7) != IOAT_HALTED; i++) {
		usleep(1000);
		status = load(record);
	}
	if ((status & 7) != IOAT_DONE) {
		printf("not done: record 0x%llx, error 0x%x\n", (unsigned long long)status,
		       load((uint32_t *)(ch + IOAT_CHANERR)));
		return 1;
	}
	for (i = 0; i < PAGES * PAGE / 8; i++) {
		if (memory[i] == pattern(i))
			continue;
		printf("byte %u differs\n", i * 8);
		return 1;
	}
	printf("%lu bytes\n", PAGES * PAGE);
	return 0;
}
