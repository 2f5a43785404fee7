// SPDX-License-Identifier: GPL-2.0
/*
 * lines - a plugin of QEMU that counts what the CPUs of a machine cost each other: cache lines that
 * move from one to another, copies of lines that a write invalidates, and locked instructions.
 *
 * The caches of the model are as large as memory, and coherent as by MESI: a CPU misses a line only
 * if another CPU has taken it. Lines are found by physical address. The emulator has to run all
 * CPUs in one thread (-accel tcg,thread=single), so the tables need no lock.
 *
 * A client of the plugin's socket sends a line: the address of a function, a number of calls of it
 * during which the plugin only learns which CPU has which line, and the number of calls during
 * which it counts. The answer are lines of a letter and hexadecimal numbers:
 *
 *	T FILLS FIRST		reads of what others have a clean copy of; accesses of lines that
 *				no CPU has had yet
 *	I ADDRESS CPU TIMES	executions of an instruction
 *	A ADDRESS TIMES		locked stores of it
 *	L LINE ADDRESS TO FROM READS WRITES TAKES
 *				events (see enum event) of a physical line: the virtual address,
 *				the instruction that got the line, the one that had written it
 *	E LOST			events for which a table had no room
 *
 * All processes are instruction 0, because they have the same addresses.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "plugin.h"
#include "serve.h"

#define CPUS		16
#define KERNEL		(1ull << 63)
#define SITES		(1u << 20)		/* a power of two */
#define EVENT_SLOTS	(1u << 22)		/* a power of two */
#define TRIES		1000			/* slots that are looked at for one */
#define LINES		((4ull << 30) / 64)	/* of 64 bytes, of the largest machine */

int qemu_plugin_version = PLUGIN_VERSION;

/* What an access may cost other CPUs */
enum event {
	READ,		/* a read of what another CPU has written: the line moves */
	WRITE,		/* a write to such a line: it moves, and the other CPU loses it */
	TAKE,		/* a write to a line that other CPUs have a copy of: they lose it */
	EVENTS,
	NO_EVENT
};

/* An instruction. Slot 0 is that of all processes, and of what has found no other slot. */
struct site {
	uint64_t	at;
	bool		locked;
	uint64_t	atomics;
	uint64_t	executed[CPUS];
};

struct line {
	uint16_t	copies;		/* a bit for each CPU that has one */
	bool		dirty;		/* written since another CPU has read it */
	uint32_t	writer;		/* site of the last write */
};

/* Events of a line that went from one site to another. A slot with @at 0 is free. */
struct flow {
	uint64_t	at;		/* virtual address, of the last time */
	uint32_t	line;
	uint32_t	to;
	uint32_t	from;
	uint32_t	times[EVENTS];
};

static struct site *sites;
static struct line *lines;
static struct flow *flows;
static uint64_t fills, first, lost;

/*
 * The number of the CPU that QEMU passes to a callback is that of the CPU which has translated the
 * code, if one thread runs all of them. But code that was translated on x86-64 keeps the address of
 * the state of its CPU in this register.
 */
register uint64_t host_rbp asm("rbp");
static uint64_t states[CPUS];
static unsigned int nr_states, running;	/* the CPU of the last instruction */

/* The socket's thread leaves OFF and FINISHED, and the thread of the CPUs leaves the others. */
static _Atomic enum mode {
	OFF,		/* nothing is looked at */
	LEARN,		/* which CPU has which line */
	COUNT,
	FINISHED,	/* the counters are complete */
} mode;
static uint64_t call_at, calls_learn, calls_count;

static void *table(size_t size)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

static uint64_t hash(uint64_t value)
{
	value *= 0x9e3779b97f4a7c15ull;
	return value ^ value >> 29;
}

static struct site *find_site(uint64_t at)
{
	uint64_t slot = hash(at);

	for (unsigned int tries = 0; at & KERNEL && tries < TRIES; tries++, slot++) {
		struct site *site = &sites[slot % SITES];

		if (site == sites)
			continue;
		if (!site->at)
			site->at = at;
		if (site->at == at)
			return site;
	}
	return sites;
}

static void count_event(uint32_t line, uint32_t to, uint32_t from, uint64_t at, enum event event)
{
	uint64_t slot = hash(hash(line + ((uint64_t)to << 32)) + from);

	for (unsigned int tries = 0; tries < TRIES; tries++, slot++) {
		struct flow *flow = &flows[slot % EVENT_SLOTS];

		if (!flow->at)
			*flow = (struct flow){ .line = line, .to = to, .from = from };
		if (flow->line == line && flow->to == to && flow->from == from) {
			flow->at = at ?: 1;
			flow->times[event]++;
			return;
		}
	}
	lost++;
}

static void touch(struct site *site, uint64_t physical, uint64_t at, bool store)
{
	struct line *line = &lines[physical / 64];
	uint16_t mine = 1 << running;
	enum event event = NO_EVENT;

	if (!line->copies)
		first++;
	else if (line->copies & mine)
		event = store && line->copies != mine ? TAKE : NO_EVENT;
	else if (line->dirty)
		event = store ? WRITE : READ;
	else if (store)
		event = TAKE;
	else
		fills++;
	if (event != NO_EVENT && mode == COUNT)
		count_event(physical / 64, site - sites, line->writer, at, event);
	if (store) {
		*line = (struct line){ .copies = mine, .dirty = true, .writer = site - sites };
	} else {
		line->dirty = line->dirty && line->copies & mine;
		line->copies |= mine;
	}
}

static void accessed(unsigned int number, uint32_t info, uint64_t at, void *data)
{
	struct qemu_plugin_hwaddr *hwaddr;
	bool store = qemu_plugin_mem_is_store(info);
	struct site *site = data;
	uint64_t physical, end;

	if (mode != LEARN && mode != COUNT)
		return;
	hwaddr = qemu_plugin_get_hwaddr(info, at);
	if (!hwaddr || qemu_plugin_hwaddr_is_io(hwaddr))
		return;
	physical = qemu_plugin_hwaddr_phys_addr(hwaddr);
	if (physical / 64 >= LINES)
		return;
	site->atomics += store && site->locked;
	touch(site, physical, at, store);
	/* The physical address is not known of what crosses into another page, which is rare. */
	end = physical + (1ull << qemu_plugin_mem_size_shift(info)) - 1;
	if (end / 64 != physical / 64 && end / 4096 == physical / 4096)
		touch(site, end, at + end - physical, store);
}

/* Clear all counters. Generated code refers to the sites, so these stay. */
static void clear(void)
{
	for (unsigned int slot = 0; slot < SITES; slot++) {
		if (slot && !sites[slot].at)
			continue;
		sites[slot].atomics = 0;
		memset(sites[slot].executed, 0, sizeof(sites[slot].executed));
	}
	madvise(flows, EVENT_SLOTS * sizeof(*flows), MADV_DONTNEED);
	fills = first = lost = 0;
}

/* The function is called with which operations are counted. */
static void called(void)
{
	if (mode == LEARN && !--calls_learn) {
		clear();
		mode = COUNT;
	} else if (mode == COUNT && !--calls_count) {
		mode = FINISHED;
		/* what is written from here on is not seen */
		madvise(lines, LINES * sizeof(*lines), MADV_DONTNEED);
	}
}

/* QEMU calls this before accessed() of the same instruction. */
static void executed(unsigned int number, void *data)
{
	struct site *site = data;

	if (states[running] != host_rbp) {
		for (running = 0; running < nr_states && states[running] != host_rbp; running++)
			;
		if (running == CPUS)
			abort();
		if (running == nr_states)
			states[nr_states++] = host_rbp;
	}
	if (mode == COUNT)
		site->executed[running]++;
	if (site->at == call_at)
		called();
}

/* Does an instruction lock its line, by a prefix, or as XCHG with memory? */
static bool is_locked(const uint8_t *code, size_t len)
{
	static const uint8_t prefixes[] = { 0x66, 0x2e, 0x3e, 0x64, 0x65 };
	size_t at = 0;

	/* The lock stands among the prefixes of size, segment and registers in any order. */
	while (at < len &&
	       (memchr(prefixes, code[at], sizeof(prefixes)) || (code[at] & 0xf0) == 0x40))
		at++;
	return (at < len && code[at] == 0xf0) ||
	       (at + 1 < len && (code[at] & 0xfe) == 0x86 && code[at + 1] < 0xc0);
}

/*
 * Blocks of several instructions are left alone, so a machine starts as fast as without this
 * plugin. Counting begins with the monitor's one-insn-per-tb: a turn of a CPU can end behind any
 * instruction then without another translation.
 */
static void translated(struct qemu_plugin_tb *tb, void *data)
{
	struct qemu_plugin_insn *insn;
	struct site *site;
	uint8_t code[16];
	size_t len;

	if (qemu_plugin_tb_n_insns(tb) != 1)
		return;
	insn = qemu_plugin_tb_get_insn(tb, 0);
	site = find_site(qemu_plugin_insn_vaddr(insn));
	len = qemu_plugin_insn_data(insn, code, sizeof(code));
	/* The kernel patches its instructions. Those of processes are not told apart. */
	site->locked = site != sites && is_locked(code, len);
	qemu_plugin_register_vcpu_insn_exec_cb(insn, executed, PLUGIN_NO_REGS, site);
	qemu_plugin_register_vcpu_mem_cb(insn, accessed, PLUGIN_NO_REGS, PLUGIN_READ_WRITE, site);
}

static void write_counters(FILE *peer)
{
	fprintf(peer, "T %lx %lx\n", fills, first);
	for (struct site *site = sites; site < sites + SITES; site++) {
		for (unsigned int cpu = 0; cpu < nr_states; cpu++)
			if (site->executed[cpu])
				fprintf(peer, "I %lx %x %lx\n", site->at, cpu, site->executed[cpu]);
		if (site->atomics)
			fprintf(peer, "A %lx %lx\n", site->at, site->atomics);
	}
	for (struct flow *flow = flows; flow < flows + EVENT_SLOTS; flow++)
		if (flow->at)
			fprintf(peer, "L %x %lx %lx %lx %x %x %x\n", flow->line, flow->at,
				sites[flow->to].at, sites[flow->from].at, flow->times[READ],
				flow->times[WRITE], flow->times[TAKE]);
	fprintf(peer, "E %lx\n", lost);
}

static void answer(FILE *peer)
{
	char line[80];

	if (!fgets(line, sizeof(line), peer) ||
	    sscanf(line, "%lx %lu %lu", &call_at, &calls_learn, &calls_count) != 3)
		return;
	mode = LEARN;
	while (mode != FINISHED)
		usleep(20000);
	write_counters(peer);
	mode = OFF;
}

int qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv)
{
	sites = table(SITES * sizeof(*sites));
	flows = table(EVENT_SLOTS * sizeof(*flows));
	lines = table(LINES * sizeof(*lines));
	if (!sites || !flows || !lines) {
		fprintf(stderr, "lines: %s\n", strerror(errno));
		return 1;
	}
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated, NULL);
	return serve("lines", argc, argv, answer);
}
