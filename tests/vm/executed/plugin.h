/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The part of QEMU's interface for plugins that is used here, by version 7 of it (QEMU 11). QEMU
 * installs no header, and resolves these names when it loads a plugin.
 */
#ifndef EXECUTED_PLUGIN_H
#define EXECUTED_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PLUGIN_VERSION	7
#define PLUGIN_EXPORT	__attribute__((visibility("default")))

/* A piece of code without jumps in it, which is translated at once */
struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_plugin_hwaddr;
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

/* Registers of the machine that a callback reads */
enum plugin_regs {
	PLUGIN_NO_REGS,
};

enum plugin_access {
	PLUGIN_READ_WRITE = 3,
};

typedef void (*plugin_translated)(struct qemu_plugin_tb *tb, void *data);
typedef void (*plugin_executed)(unsigned int cpu, void *data);
typedef void (*plugin_accessed)(unsigned int cpu, uint32_t info, uint64_t at, void *data);

void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, plugin_translated function, void *data);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);
/* From now on the code of @tb adds @value to a number of its CPU each time it is executed */
void qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(struct qemu_plugin_tb *tb, enum plugin_op op,
						       struct plugin_u64 number, uint64_t value);
/* From now on @function is called before each execution of @insn */
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn, plugin_executed function,
					    enum plugin_regs regs, void *data);
/* ... and behind each access of it to memory */
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn, plugin_accessed function,
				      enum plugin_regs regs, enum plugin_access access, void *data);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t number);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_data(const struct qemu_plugin_insn *insn, void *to, size_t len);
bool qemu_plugin_mem_is_store(uint32_t info);
unsigned int qemu_plugin_mem_size_shift(uint32_t info);
/* Valid until the callback returns. NULL if the address is none of memory */
struct qemu_plugin_hwaddr *qemu_plugin_get_hwaddr(uint32_t info, uint64_t at);
bool qemu_plugin_hwaddr_is_io(const struct qemu_plugin_hwaddr *hwaddr);
uint64_t qemu_plugin_hwaddr_phys_addr(const struct qemu_plugin_hwaddr *hwaddr);
struct qemu_plugin_scoreboard *qemu_plugin_scoreboard_new(size_t size);
/* Of all CPUs */
uint64_t qemu_plugin_u64_sum(struct plugin_u64 number);

/* What a plugin has to export */
extern PLUGIN_EXPORT int qemu_plugin_version;
PLUGIN_EXPORT int qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv);

#endif
