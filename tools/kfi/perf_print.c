// SPDX-License-Identifier: GPL-2.0
/*
 * perf_print.c - figures of kfi perf run, as a table or as JSON
 */
#include <inttypes.h>

#include "perf.h"

#define R(task, what) ((task)->result[KFI_PERF_RESULT_A_##what])

static double us(uint64_t ns)
{
	return ns / 1e3;
}

double perf_mb_per_s(const struct task *t)
{
	return R(t, ELAPSED_NS) ? R(t, BYTES) * 1e3 / R(t, ELAPSED_NS) : 0;
}

static double mops(const struct task *t)
{
	return R(t, ELAPSED_NS) ? R(t, ITERATIONS) * 1e3 / R(t, ELAPSED_NS) : 0;
}

static uint64_t verified(const struct task *task, const struct task *check)
{
	return R(task, VERIFIED) + R(check, VERIFIED);
}

static uint64_t wrong(const struct task *task, const struct task *check)
{
	return R(task, VERIFY_ERRORS) + R(check, VERIFY_ERRORS) + R(task, LOST) + R(check, LOST);
}

/* ---- progress ---- */

void perf_progress(const struct plan *plan, const struct task *task)
{
	char size[32];

	if (!plan->progress)
		return;
	size_text(task->size, size, sizeof(size));
	fprintf(stderr, "\r%s %s %s: %3d%% \033[K", op_names[task->op], bench_names[task->bench], size,
		(int)(R(task, PERMILLE) / 10));
	fflush(stderr);
}

void perf_progress_clear(const struct plan *plan)
{
	if (plan->progress)
		fputs("\r\033[K", stderr);
}

/* ---- the table ---- */

static void table_head(const struct plan *plan)
{
	printf("%s %s to %s port %s, %s, %s\n\n", plan->provider, ep_type_name(plan->type), plan->node,
	       plan->service, wait_names[plan->wait], mem_names[plan->mem]);
	printf("%-7s %-10s %6s %5s %10s %9s %9s %9s %9s %10s %9s %9s\n", "op", "mode", "size",
	       "depth", "ops", "min us", "median", "p99", "max", "MB/s", "Mops/s", "verified");
}

static void table_latency(const struct task *t)
{
	printf(" %9.2f %9.2f %9.2f %9.2f %10s %9s", us(R(t, LAT_MIN_NS)), us(R(t, LAT_MEDIAN_NS)),
	       us(R(t, LAT_P99_NS)), us(R(t, LAT_MAX_NS)), "-", "-");
}

static void table_row(const struct task *t, const struct task *check)
{
	char size[32];

	size_text(t->size, size, sizeof(size));
	printf("%-7s %-10s %6s %5u %10" PRIu64, op_names[t->op], bench_names[t->bench], size, t->depth,
	       R(t, ITERATIONS));
	if (t->bench == BENCH_LATENCY)
		table_latency(t);
	else
		printf(" %9s %9s %9s %9s %10.1f %9.4f", "-", "-", "-", "-", perf_mb_per_s(t), mops(t));
	printf(" %9" PRIu64, verified(t, check));
	if (wrong(t, check))
		printf("  %" PRIu64 " WRONG", wrong(t, check));
	putchar('\n');
	fflush(stdout);
}

/* ---- JSON ---- */

static void json_figure(const struct task *t)
{
	bool latency = t->bench == BENCH_LATENCY;

	json_string("unit", latency ? "us" : "MB/s");
	json_string("better", latency ? "lower" : "higher");
	json_double("ours", latency ? us(R(t, LAT_MEDIAN_NS)) : perf_mb_per_s(t));
}

static void json_detail(const struct plan *plan, const struct task *t, const struct task *check)
{
	json_begin("detail", '{');
	json_string("type", ep_type_name(plan->type));
	json_string("wait", wait_names[plan->wait]);
	json_string("mem", mem_names[plan->mem]);
	json_u64("batch", t->batch);
	json_bool("verified_while_measuring", t->verify);
	json_u64("iterations", R(t, ITERATIONS));
	json_u64("bytes", R(t, BYTES));
	json_double("elapsed_s", R(t, ELAPSED_NS) / 1e9);
	if (t->bench == BENCH_LATENCY) {
		json_double("min_us", us(R(t, LAT_MIN_NS)));
		json_double("median_us", us(R(t, LAT_MEDIAN_NS)));
		json_double("mean_us", R(t, ITERATIONS) ? us(R(t, ELAPSED_NS)) / R(t, ITERATIONS) : 0);
		json_double("p99_us", us(R(t, LAT_P99_NS)));
		json_double("max_us", us(R(t, LAT_MAX_NS)));
	}
	json_u64("verified", verified(t, check));
	json_u64("wrong", R(t, VERIFY_ERRORS) + R(check, VERIFY_ERRORS));
	json_u64("lost", R(t, LOST) + R(check, LOST));
	json_end('}');
}

static void json_row(const struct plan *plan, const struct task *t, const struct task *check)
{
	json_begin(NULL, '{');
	json_string("bench", bench_names[t->bench]);
	json_string("provider", plan->provider);
	json_string("op", op_names[t->op]);
	json_u64("size", t->size);
	json_u64("depth", t->depth);
	json_figure(t);
	json_null("peer");
	json_null("peer_name");
	json_null("ratio");
	json_null("goal");
	json_null("met");
	json_u64("runs", 1);
	json_detail(plan, t, check);
	json_end('}');
}

void perf_print_begin(const struct plan *plan)
{
	if (options.json)
		json_begin(NULL, '[');
	else
		table_head(plan);
}

void perf_print(const struct plan *plan, const struct task *task, const struct task *check)
{
	perf_progress_clear(plan);
	if (options.json)
		json_row(plan, task, check);
	else
		table_row(task, check);
}

int perf_print_end(void)
{
	if (options.json)
		json_end(']');
	return json_finish();
}
