// SPDX-License-Identifier: GPL-2.0
/*
 * executed - a plugin of QEMU that counts the instructions which a machine executes, by the address
 * of their block. A CPU that is idle executes none.
 *
 * Each connection to the socket of the plugin gets all counters so far, as pairs of 64-bit numbers,
 * address and instructions. Processes share one counter, of address 0, because they have the same
 * addresses.
 */
#include <pthread.h>
#include <stdio.h>

#include "plugin.h"
#include "serve.h"

/* More than a kernel has blocks that are ever executed. A power of two */
#define SLOTS		(1u << 20)
#define KERNEL		(1ull << 63)

int qemu_plugin_version = PLUGIN_VERSION;

/* Slot 0 is that of processes, and of blocks that have found no other. */
static _Atomic uint64_t address[SLOTS];
static struct qemu_plugin_scoreboard *counters;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;	/* of changes of address[] */

static struct plugin_u64 counter(unsigned int slot)
{
	return (struct plugin_u64){ .score = counters, .offset = slot * sizeof(uint64_t) };
}

static unsigned int find_slot(uint64_t at)
{
	unsigned int slot = at * 0x9e3779b97f4a7c15ull >> 44;

	for (unsigned int tries = 0; tries < SLOTS; tries++, slot = (slot + 1) % SLOTS) {
		if (slot && address[slot] == at)
			return slot;
		if (slot && !address[slot]) {
			address[slot] = at;
			return slot;
		}
	}
	return 0;
}

static void translated(struct qemu_plugin_tb *tb, void *data)
{
	uint64_t at = qemu_plugin_tb_vaddr(tb);
	unsigned int slot = 0;

	if (at & KERNEL) {
		pthread_mutex_lock(&lock);
		slot = find_slot(at);
		pthread_mutex_unlock(&lock);
	}
	qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(tb, PLUGIN_ADD, counter(slot),
							  qemu_plugin_tb_n_insns(tb));
}

static void answer(FILE *peer)
{
	uint64_t pair[2];

	for (unsigned int slot = 0; slot < SLOTS; slot++) {
		pair[0] = address[slot];
		pair[1] = qemu_plugin_u64_sum(counter(slot));
		if (pair[1] && !fwrite(pair, sizeof(pair), 1, peer))
			return;
	}
}

int qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv)
{
	counters = qemu_plugin_scoreboard_new(SLOTS * sizeof(uint64_t));
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated, NULL);
	return serve("executed", argc, argv, answer);
}
