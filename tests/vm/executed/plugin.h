/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The part of QEMU's interface for plugins that is used here, by version 7 of it (QEMU 11). QEMU
 * installs no header, and resolves these names when it loads the plugin.
 */
#ifndef EXECUTED_PLUGIN_H
#define EXECUTED_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#define PLUGIN_VERSION	7
#define PLUGIN_EXPORT	__attribute__((visibility("default")))

/* A piece of code without jumps in it, which is translated at once */
struct qemu_plugin_tb;
/* An array with an element for each CPU */
struct qemu_plugin_scoreboard;

/* A number in each element of such an array. Passed by value */
struct plugin_u64 {
	struct qemu_plugin_scoreboard	*score;
	size_t				offset;
};

enum plugin_op {
	PLUGIN_ADD,
};

typedef void (*plugin_translated)(struct qemu_plugin_tb *tb, void *data);

void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, plugin_translated function, void *data);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);
/* From now on the code of @tb adds @value to a number of its CPU each time it is executed */
void qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(struct qemu_plugin_tb *tb, enum plugin_op op,
						       struct plugin_u64 number, uint64_t value);
struct qemu_plugin_scoreboard *qemu_plugin_scoreboard_new(size_t size);
/* Of all CPUs */
uint64_t qemu_plugin_u64_sum(struct plugin_u64 number);

/* What a plugin has to export */
extern PLUGIN_EXPORT int qemu_plugin_version;
PLUGIN_EXPORT int qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv);

#endif
