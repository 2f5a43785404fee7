// SPDX-License-Identifier: GPL-2.0
/*
 * perf_run.c - kfi perf run: one measurement after the other. The kernel measures and reports the
 * progress; this file shows it, and stops the measurement on request.
 */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>

#include <netlink/genl/genl.h>

#include "perf.h"

#define CHECKED_OPS	32U		/* operations of a verified run before a measurement */
#define CHECKED_BYTES	(16U << 20)	/* but no more bytes than this */
#define IN_FLIGHT	(32U << 20)	/* bytes in flight, if the depth is not given */

static atomic_bool interrupted;

static void on_signal(int sig)
{
	interrupted = true;
}

static void catch_signals(void)
{
	struct sigaction sa = { .sa_handler = on_signal };	/* no SA_RESTART: poll() returns */

	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGHUP, &sa, NULL);
}

/* ---- messages of the kernel ---- */

static void take_result(struct task *t, struct nlattr *nest)
{
	struct nlattr *attrs[KFI_PERF_RESULT_A_MAX + 1];
	int i;

	if (nla_parse_nested(attrs, KFI_PERF_RESULT_A_MAX, nest, NULL) < 0)
		return;
	for (i = 0; i <= KFI_PERF_RESULT_A_MAX; i++)
		if (attrs[i] && nla_len(attrs[i]) == sizeof(uint64_t))
			t->result[i] = nla_get_u64(attrs[i]);
}

static void on_message(struct nlmsghdr *nlh, void *arg)
{
	struct nlattr *attrs[KFI_PERF_A_MAX + 1];
	struct task *t = arg;
	uint32_t id;

	if (genlmsg_parse(nlh, 0, attrs, KFI_PERF_A_MAX, NULL) < 0 || !attrs[KFI_PERF_A_ID])
		return;
	id = nla_get_u32(attrs[KFI_PERF_A_ID]);
	if (genlmsg_hdr(nlh)->cmd == KFI_PERF_CMD_RUN_START) {
		t->id = id;
		return;
	}
	/*
	 * The first report may arrive before the number of the run. Reports of other runs are old.
	 */
	if ((t->id && id != t->id) || !attrs[KFI_PERF_A_STATE])
		return;
	t->state = nla_get_u32(attrs[KFI_PERF_A_STATE]);
	if (attrs[KFI_PERF_A_RESULT])
		take_result(t, attrs[KFI_PERF_A_RESULT]);
	if (attrs[KFI_PERF_A_ERROR])
		t->error = nla_get_u32(attrs[KFI_PERF_A_ERROR]);
	if (attrs[KFI_PERF_A_ERROR_TEXT])
		nla_strlcpy(t->error_text, attrs[KFI_PERF_A_ERROR_TEXT], sizeof(t->error_text));
}

/* ---- one measurement ---- */

static struct nl_msg *start_request(struct nlx *nlx, const struct plan *plan, const struct task *t)
{
	struct nl_msg *msg = nlx_request(nlx, KFI_PERF_CMD_RUN_START, 0);

	if (!msg)
		return NULL;
	if (strcmp(plan->provider, "any"))
		nla_put_string(msg, KFI_PERF_A_PROV_NAME, plan->provider);
	nla_put_string(msg, KFI_PERF_A_NODE, plan->node);
	nla_put_string(msg, KFI_PERF_A_SERVICE, plan->service);
	nla_put_u32(msg, KFI_PERF_A_EP_TYPE, plan->type);
	nla_put_u32(msg, KFI_PERF_A_OP, t->op);
	nla_put_u32(msg, KFI_PERF_A_MODE,
		    t->bench == BENCH_LATENCY ? KFI_PERF_LATENCY : KFI_PERF_BANDWIDTH);
	nla_put_u32(msg, KFI_PERF_A_WAIT, plan->wait);
	nla_put_u32(msg, KFI_PERF_A_MEM, plan->mem ? KFI_PERF_MEM_DOMAIN : KFI_PERF_MEM_PAGES);
	nla_put_u32(msg, KFI_PERF_A_SIZE, t->size);
	nla_put_u32(msg, KFI_PERF_A_DEPTH, t->depth);
	nla_put_u32(msg, KFI_PERF_A_BATCH, t->batch);
	nla_put_u32(msg, KFI_PERF_A_WARMUP, t->warmup);
	nla_put_u32(msg, KFI_PERF_A_TIMEOUT_MS, plan->timeout_ms);
	if (t->iterations)
		nla_put_u64(msg, KFI_PERF_A_ITERATIONS, t->iterations);
	else
		nla_put_u32(msg, KFI_PERF_A_DURATION_MS, t->duration_ms);
	if (t->verify)
		nla_put_flag(msg, KFI_PERF_A_VERIFY);
	return msg;
}

static int call_id(struct nlx *nlx, int cmd, uint32_t id)
{
	struct nl_msg *msg = nlx_request(nlx, cmd, 0);

	if (msg)
		nla_put_u32(msg, KFI_PERF_A_ID, id);
	return nlx_call(nlx, msg);
}

/* Handle reports until the run ends. Reports may be lost: then request the state. */
static int follow(struct nlx *nlx, const struct plan *plan, struct task *t)
{
	uint64_t before;

	while (t->state < KFI_PERF_DONE && !interrupted) {
		before = t->result[KFI_PERF_RESULT_A_PERMILLE];
		if (!nlx_wait(nlx, 1000))
			return EIO;
		if (t->state < KFI_PERF_DONE && before == t->result[KFI_PERF_RESULT_A_PERMILLE] &&
		    call_id(nlx, KFI_PERF_CMD_RUN_GET, t->id))
			return EIO;
		perf_progress(plan, t);
	}
	return 0;
}

/* The server can't be reached: further measurements would fail in the same way. */
static bool unreachable(uint32_t error)
{
	return error == ETIMEDOUT || error == ECONNREFUSED || error == ECONNRESET ||
	       error == EHOSTUNREACH || error == ENETUNREACH || error == ENETDOWN;
}

static void complain_task(const struct plan *plan, const struct task *t)
{
	char size[32];

	size_text(t->size, size, sizeof(size));
	perf_progress_clear(plan);
	complain("%s %s %s: %s: %s", op_names[t->op], bench_names[t->bench], size,
		 t->error_text[0] ? t->error_text : "failed", error_text(t->error));
	if (t->error == ENODATA)
		complain_unserved(plan->provider, plan->node);
	if (!complain_links(plan->provider, plan->node) && unreachable(t->error))
		complain("is a server running there (kfi perf server) with this provider, type and port?");
}

/* Return: 0, or an exit code after a message */
static int run_task(struct nlx *nlx, const struct plan *plan, struct task *t)
{
	int err;

	nlx->arg = t;
	nlx->error = nlx_call(nlx, start_request(nlx, plan, t));
	if (nlx->error) {
		perf_progress_clear(plan);
		nlx_complain(nlx, "starting a run");
		return EXIT_FAILED;
	}
	err = follow(nlx, plan, t);
	call_id(nlx, KFI_PERF_CMD_RUN_STOP, t->id);
	if (interrupted) {
		perf_progress_clear(plan);
		complain("canceled");
		return EXIT_CANCELED;
	}
	if (err) {
		complain("the netlink socket fails");
		return EXIT_FAILED;
	}
	if (t->state == KFI_PERF_DONE)
		return 0;
	complain_task(plan, t);
	return EXIT_FAILED;
}

/* ---- all measurements ---- */

static uint32_t choose_depth(const struct plan *plan, uint64_t size)
{
	uint32_t depth = plan->depth;

	while (!plan->depth_given && depth > 1 && depth * size > IN_FLIGHT)
		depth /= 2;
	return depth;
}

static void plan_task(const struct plan *plan, uint32_t op, enum bench bench, uint64_t size,
		      struct task *t)
{
	memset(t, 0, sizeof(*t));
	t->op = op;
	t->bench = bench;
	t->size = size;
	t->depth = bench == BENCH_LATENCY ? 1 : choose_depth(plan, size);
	t->batch = plan->batch < t->depth ? plan->batch : t->depth;
	t->warmup = plan->warmup >= 0 ? plan->warmup : size <= 65536 ? 2 * t->depth : 2;
	t->iterations = plan->iterations;
	t->duration_ms = plan->duration_ms;
	t->verify = plan->verify;
}

/* Run a few operations, and compare all bytes. */
static void plan_check(const struct task *t, struct task *check)
{
	uint64_t fits = CHECKED_BYTES / t->size;

	*check = *t;
	check->verify = true;
	check->warmup = 0;
	check->iterations = fits < 2 ? 2 : fits < CHECKED_OPS ? fits : CHECKED_OPS;
}

static bool is_wrong(const struct task *t)
{
	return t->result[KFI_PERF_RESULT_A_VERIFY_ERRORS] || t->result[KFI_PERF_RESULT_A_LOST];
}

/* Return: 0, or an exit code; *@end is set if further measurements are pointless. */
static int measure(struct nlx *nlx, const struct plan *plan, uint32_t op, enum bench bench,
		   uint64_t size, bool *end)
{
	struct task task, check;
	int ret = 0;

	plan_task(plan, op, bench, size, &task);
	plan_check(&task, &check);
	if (plan->check && !plan->verify)
		ret = run_task(nlx, plan, &check);
	if (!ret)
		ret = run_task(nlx, plan, &task);
	if (ret) {
		*end = interrupted || unreachable(check.error) || unreachable(task.error);
		return ret;
	}
	perf_print(plan, &task, &check);
	return is_wrong(&task) || is_wrong(&check) ? EXIT_FAILED : 0;
}

/* Wrong data does not stop the measurements, so that the user sees how much of it is wrong. */
static int measure_all(struct nlx *nlx, const struct plan *plan)
{
	unsigned int n = __KFI_PERF_OP_MAX * BENCH_MAX * plan->nsizes, i;
	unsigned int op, bench, size;
	bool end = false;
	int ret, worst = 0;

	for (i = 0; i < n && !end; i++) {
		size = i % plan->nsizes;
		bench = i / plan->nsizes % BENCH_MAX;
		op = i / plan->nsizes / BENCH_MAX;
		if (!(plan->ops & 1U << op) || !(plan->benches & 1U << bench))
			continue;
		ret = measure(nlx, plan, op, bench, plan->sizes[size], &end);
		if (ret)
			worst = ret;
	}
	return worst;
}

int perf_run(int argc, char **argv)
{
	struct plan plan;
	struct nlx nlx;
	int ret, printed;

	ret = perf_parse(argc, argv, &plan);
	if (ret >= 0)
		return ret;
	ret = nlx_open(&nlx, KFI_PERF_GENL_NAME, "kfi_perf");
	if (ret)
		return ret;
	nlx.message = on_message;
	catch_signals();
	perf_print_begin(&plan);
	ret = measure_all(&nlx, &plan);
	printed = perf_print_end();
	nlx_close(&nlx);
	return ret ? ret : printed;
}

int perf_bandwidth(const char *provider, const char *node, const char *service, uint32_t op,
		   double *mb_per_s)
{
	struct plan plan = {
		.provider = provider, .node = node, .service = service, .type = 3,
		.depth = 16, .batch = 1, .duration_ms = 2000, .warmup = -1, .timeout_ms = 10000,
	};
	struct task task;
	struct nlx nlx;
	int ret;

	ret = nlx_open(&nlx, KFI_PERF_GENL_NAME, "kfi_perf");
	if (ret)
		return ret;
	nlx.message = on_message;
	catch_signals();
	plan_task(&plan, op, BENCH_BANDWIDTH, 1 << 20, &task);
	ret = run_task(&nlx, &plan, &task);
	nlx_close(&nlx);
	if (!ret)
		*mb_per_s = perf_mb_per_s(&task);
	return ret;
}
