// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * test_slots.c - every operation table of the library is complete
 *
 * libfabric's inline functions call through these tables without a test, so an empty slot crashes
 * the program. The tables are found by the symbols of this program, including static symbols:
 * each object whose name ends in "_ops" begins with its size, and pointers follow.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kfi_fi.h"

/* Those of libfabric 1.17. Fewer mean that a table is shorter, or that this program misses it. */
#define TABLES_MIN	28
#define SLOTS_MIN	200

static unsigned int tables, slots, failures;

static bool is_table(const char *name, const Elf64_Sym *sym)
{
	size_t len = strlen(name);

	return ELF64_ST_TYPE(sym->st_info) == STT_OBJECT && len > 4 &&
	       !strcmp(name + len - 4, "_ops");
}

/* @bytes: of the table; slots beyond its size are not called. */
static void check_table(const char *name, const void *table, size_t bytes)
{
	size_t n, size = *(const size_t *)table;
	void *const *slot = table;

	tables++;
	if (size > bytes || size % sizeof(*slot)) {
		printf("%s: its size is %zu, with %zu bytes\n", name, size, bytes);
		failures++;
		return;
	}
	for (n = 1; n < size / sizeof(*slot); n++) {
		slots++;
		if (!slot[n]) {
			printf("%s: slot %zu is empty\n", name, n);
			failures++;
		}
	}
}

static void check_symbols(const char *elf, const Elf64_Shdr *sections, const Elf64_Shdr *symbols)
{
	const Elf64_Sym *first = (const void *)(elf + symbols->sh_offset);
	const Elf64_Sym *end = (const void *)((const char *)first + symbols->sh_size), *sym;
	const char *names = elf + sections[symbols->sh_link].sh_offset;
	uintptr_t base = 0;

	for (sym = first; sym < end; sym++)
		if (!strcmp(names + sym->st_name, "kfi_prov"))
			base = (uintptr_t)&kfi_prov - sym->st_value;
	for (sym = first; sym < end; sym++)
		if (is_table(names + sym->st_name, sym))
			check_table(names + sym->st_name, (const void *)(base + sym->st_value),
				    sym->st_size);
}

int main(void)
{
	int fd = open("/proc/self/exe", O_RDONLY);
	const Elf64_Shdr *sections;
	const Elf64_Ehdr *head;
	struct stat st;
	int n;

	if (fd < 0 || fstat(fd, &st)) {
		perror("/proc/self/exe");
		return 1;
	}
	head = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (head == MAP_FAILED || head->e_ident[EI_CLASS] != ELFCLASS64) {
		printf("test_slots: not a program of 64 bits\n");
		return 1;
	}
	sections = (const void *)((const char *)head + head->e_shoff);
	for (n = 0; n < head->e_shnum; n++)
		if (sections[n].sh_type == SHT_SYMTAB)
			check_symbols((const char *)head, sections, &sections[n]);
	failures += tables < TABLES_MIN || slots < SLOTS_MIN;
	printf("test_slots: %s, %u slots of %u tables\n", failures ? "failed" : "passed", slots,
	       tables);
	return failures != 0;
}
