/* SPDX-License-Identifier: GPL-2.0 */
/* perf.h - kfi perf run: its command line, one measurement, and its figures */
#ifndef KFI_TOOL_PERF_H
#define KFI_TOOL_PERF_H

#include <linux/kfi_perf.h>

#include "kfi.h"

/**
 * enum bench - kind of a measurement
 */
enum bench {
	BENCH_LATENCY,
	BENCH_BANDWIDTH,
	BENCH_MAX
};

#define SIZES_MAX 64

/**
 * struct plan - the command line
 * @provider: provider of the server
 * @node: node of the server
 * @service: service of the server
 * @type: endpoint type
 * @ops: operations to be measured, bits
 * @benches: kinds of measurements, bits
 * @sizes: bytes of messages
 * @nsizes: number of @sizes
 * @depth: operations in flight
 * @batch: operations that are posted together
 * @depth_given: @depth was on the command line
 * @iterations: number of operations; 0: measure for @duration_ms
 * @duration_ms: time of a measurement
 * @warmup: operations before the measurement; -1: a default
 * @timeout_ms: time limit
 * @wait: method of waiting for completions
 * @mem: kind of memory, by mem_names
 * @check: a short verified run precedes each measurement
 * @verify: the measurement itself is verified
 * @progress: show the progress
 */
struct plan {
	const char *provider, *node, *service;
	int type;
	unsigned int ops, benches;
	uint64_t sizes[SIZES_MAX];
	unsigned int nsizes;
	uint32_t depth, batch;
	bool depth_given;
	uint64_t iterations;
	uint32_t duration_ms;
	int64_t warmup;
	uint32_t timeout_ms;
	uint32_t wait, mem;
	bool check, verify, progress;
};

/**
 * struct task - one measurement, with its results
 */
struct task {
	enum bench bench;
	uint32_t op;
	uint64_t size;
	uint32_t depth, batch, warmup;
	uint64_t iterations;
	uint32_t duration_ms;
	bool verify;

	uint32_t id, state, error;
	char error_text[128];
	uint64_t result[KFI_PERF_RESULT_A_MAX + 1];
};

extern const char *const op_names[];
extern const char *const bench_names[];
extern const char *const wait_names[];
extern const char *const mem_names[];

/* perf_args.c. Return: an exit code, or -1 to go on */
int perf_parse(int argc, char **argv, struct plan *plan);

/* perf_print.c */
double perf_mb_per_s(const struct task *t);
void perf_print_begin(const struct plan *plan);
void perf_print(const struct plan *plan, const struct task *task, const struct task *check);
int perf_print_end(void);
void perf_progress(const struct plan *plan, const struct task *task);
void perf_progress_clear(const struct plan *plan);

#endif /* KFI_TOOL_PERF_H */
