// SPDX-License-Identifier: GPL-2.0
/*
 * executed - a plugin of QEMU that counts the instructions which a machine executes, by the address
 * of their block. A CPU that is idle executes none.
 *
 * Each connection to the socket of the plugin gets all counters so far, as pairs of 64-bit numbers,
 * address and instructions. Processes share one counter, of address 0, because they have the same
 * addresses.
 */
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "plugin.h"

/* More than a kernel has blocks that are ever executed. A power of two */
#define SLOTS		(1u << 20)
#define KERNEL		(1ull << 63)
/* Pairs that are written at once */
#define PAIRS		4096

/* qemu_plugin_install() reads one byte less. */
static_assert(sizeof(((struct sockaddr_un *)0)->sun_path) == 108);

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

static int write_all(int fd, const void *data, size_t len)
{
	while (len) {
		ssize_t n = send(fd, data, len, MSG_NOSIGNAL);

		if (n < 0)
			return -errno;
		data = (const char *)data + n;
		len -= n;
	}
	return 0;
}

static void answer(int fd)
{
	uint64_t pairs[PAIRS][2], value;
	unsigned int n = 0;

	for (unsigned int slot = 0; slot < SLOTS; slot++) {
		value = qemu_plugin_u64_sum(counter(slot));
		if (!value)
			continue;
		pairs[n][0] = address[slot];
		pairs[n++][1] = value;
		if (n == PAIRS) {
			if (write_all(fd, pairs, sizeof(pairs)))
				return;
			n = 0;
		}
	}
	write_all(fd, pairs, n * sizeof(pairs[0]));
}

static void *serve(void *data)
{
	int listener = *(int *)data, fd;

	while ((fd = accept(listener, NULL, NULL)) >= 0) {
		answer(fd);
		close(fd);
	}
	return NULL;
}

/* The only argument is the path of the socket. */
int qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	static int listener;
	pthread_t thread;
	sigset_t all, old;

	if (argc != 1 || sscanf(argv[0], "socket=%107s", name.sun_path) != 1) {
		fputs("executed: the argument is socket=PATH\n", stderr);
		return 1;
	}
	listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (listener < 0 || bind(listener, (struct sockaddr *)&name, sizeof(name)) ||
	    listen(listener, 1)) {
		fprintf(stderr, "executed: %s: %s\n", name.sun_path, strerror(errno));
		return 1;
	}
	counters = qemu_plugin_scoreboard_new(SLOTS * sizeof(uint64_t));
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated, NULL);
	/* signals are QEMU's */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	errno = pthread_create(&thread, NULL, serve, &listener);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (errno) {
		fprintf(stderr, "executed: %s\n", strerror(errno));
		return 1;
	}
	return 0;
}
