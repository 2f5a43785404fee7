// SPDX-License-Identifier: GPL-2.0
/*
 * perf_args.c - the command line of kfi perf run
 */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "perf.h"

#define VERB "perf run"

const char *const op_names[] = { "send", "tagged", "write", "read", NULL };
const char *const bench_names[] = { "latency", "bandwidth", NULL };
const char *const wait_names[] = { "block", "softirq", NULL };
const char *const mem_names[] = { "pages", "domain", NULL };

static void print_usage(FILE *to)
{
	fputs("Usage: kfi perf run [OPTIONS] NODE\n\n"
	      "Measure against the server on NODE ('kfi perf server').\n\n"
	      "What:\n"
	      "  -o, --op LIST          send, tagged, write, read; default send\n"
	      "  -m, --mode LIST        latency, bandwidth; default both\n"
	      "  -S, --size LIST        bytes, as 8, 64k, 1M, or 1:1M for powers of two;\n"
	      "                         default 8,64,1k,4k,64k,1M\n"
	      "  -d, --duration SECONDS of each measurement; default 0.25\n"
	      "  -i, --iterations N     operations of each measurement instead\n"
	      "  -D, --depth N          operations in flight; default 16, latency always 1\n"
	      "  -b, --batch N          operations posted together (KFI_MORE); default 1\n"
	      "  -w, --wait block|softirq  how both ends learn of completions; default block\n"
	      "  -M, --mem pages|domain  buffers; domain: of kfi_mem_alloc(); default pages\n"
	      "      --warmup N         operations before each measurement\n"
	      "      --verify           compare every byte while measuring\n"
	      "      --no-check         without the short verified run before each measurement\n"
	      "Where:\n"
	      "  -p, --provider NAME    default " PERF_PROVIDER "\n"
	      "  -t, --type msg|rdm     default rdm\n"
	      "  -s, --service PORT     default " PERF_PORT "\n"
	      "      --timeout SECONDS  without progress; default 10\n"
	      "How it is shown:\n"
	      "  -j, --json             an array of results\n"
	      "  -q, --quiet            no progress\n\n"
	      "Latency of messages is the round trip, of RMA the time from post to completion.\n"
	      "Exit codes: 0 all well, 1 failure or wrong data, 2 usage, 130 canceled\n", to);
}

static bool parse_names(const char *list, const char *const *names, unsigned int *bits)
{
	char *copy = strdup(list), *rest = copy, *word;
	unsigned int i;
	bool ok = copy;

	*bits = 0;
	while (ok && (word = strsep(&rest, ","))) {
		for (i = 0; names[i] && strcmp(names[i], word); i++)
			;
		ok = names[i];
		*bits |= 1U << i;
	}
	free(copy);
	return ok;
}

static bool parse_name(const char *name, const char *const *names, uint32_t *index)
{
	for (*index = 0; names[*index]; ++*index)
		if (!strcmp(names[*index], name))
			return true;
	return false;
}

static bool add_size(struct plan *plan, uint64_t size)
{
	if (!size || plan->nsizes == SIZES_MAX)
		return false;
	plan->sizes[plan->nsizes++] = size;
	return true;
}

/* FROM:TO adds FROM times powers of two up to TO, and TO itself. */
static bool add_range(struct plan *plan, uint64_t from, uint64_t to)
{
	if (!from || from > to)
		return false;
	for (; from < to; from *= 2)
		if (!add_size(plan, from))
			return false;
	return add_size(plan, to);
}

static bool parse_one_size(struct plan *plan, char *word)
{
	char *colon = strchr(word, ':');
	uint64_t from, to;

	if (!colon)
		return parse_size(word, KFI_PERF_SIZE_MAX, &from) && add_size(plan, from);
	*colon = '\0';
	return parse_size(word, KFI_PERF_SIZE_MAX, &from) &&
	       parse_size(colon + 1, KFI_PERF_SIZE_MAX, &to) && add_range(plan, from, to);
}

static bool parse_sizes(struct plan *plan, const char *list)
{
	char *copy = strdup(list), *rest = copy, *word;
	bool ok = copy;

	plan->nsizes = 0;
	while (ok && (word = strsep(&rest, ",")))
		ok = parse_one_size(plan, word);
	free(copy);
	return ok;
}

static bool parse_u32(const char *text, uint32_t max, uint32_t *value)
{
	uint64_t v;

	if (!parse_size(text, max, &v) || !v)
		return false;
	*value = v;
	return true;
}

static bool parse_seconds(const char *text, uint32_t min_ms, uint32_t max_ms, uint32_t *ms)
{
	char *end;
	double s = strtod(text, &end);

	if (end == text || *end || !(s * 1000 >= min_ms && s * 1000 <= max_ms))
		return false;
	*ms = s * 1000;
	return true;
}

enum { OPT_WARMUP = OPT_FIRST_FREE, OPT_VERIFY, OPT_NO_CHECK, OPT_TIMEOUT };

static const struct option longs[] = {
	COMMON_LONG,
	{ "op", required_argument, NULL, 'o' },
	{ "mode", required_argument, NULL, 'm' },
	{ "size", required_argument, NULL, 'S' },
	{ "duration", required_argument, NULL, 'd' },
	{ "iterations", required_argument, NULL, 'i' },
	{ "depth", required_argument, NULL, 'D' },
	{ "batch", required_argument, NULL, 'b' },
	{ "wait", required_argument, NULL, 'w' },
	{ "mem", required_argument, NULL, 'M' },
	{ "warmup", required_argument, NULL, OPT_WARMUP },
	{ "verify", no_argument, NULL, OPT_VERIFY },
	{ "no-check", no_argument, NULL, OPT_NO_CHECK },
	{ "provider", required_argument, NULL, 'p' },
	{ "type", required_argument, NULL, 't' },
	{ "service", required_argument, NULL, 's' },
	{ "timeout", required_argument, NULL, OPT_TIMEOUT },
	{ "quiet", no_argument, NULL, 'q' },
	{}
};

static bool parse_type(const char *name, int *type)
{
	*type = ep_type_parse(name);
	return *type == 1 || *type == 3;
}

static bool parse_what(int opt, const char *arg, struct plan *plan)
{
	uint32_t warmup;

	switch (opt) {
	case 'o':
		return parse_names(arg, op_names, &plan->ops);
	case 'm':
		return parse_names(arg, bench_names, &plan->benches);
	case 'S':
		return parse_sizes(plan, arg);
	case 'd':
		return parse_seconds(arg, 1, 86400000, &plan->duration_ms);
	case 'i':
		return parse_size(arg, 1ULL << 40, &plan->iterations) && plan->iterations;
	case 'D':
		plan->depth_given = true;
		return parse_u32(arg, KFI_PERF_DEPTH_MAX, &plan->depth);
	case 'b':
		return parse_u32(arg, KFI_PERF_DEPTH_MAX, &plan->batch);
	case 'w':
		return parse_name(arg, wait_names, &plan->wait);
	case 'M':
		return parse_name(arg, mem_names, &plan->mem);
	case OPT_WARMUP:
		plan->warmup = 0;
		if (!strcmp(arg, "0"))
			return true;
		if (!parse_u32(arg, 1 << 20, &warmup))
			return false;
		plan->warmup = warmup;
		return true;
	case 't':
		return parse_type(arg, &plan->type);
	case OPT_TIMEOUT:
		return parse_seconds(arg, 100, 600000, &plan->timeout_ms);
	default:
		return true;
	}
}

static void parse_rest(int opt, const char *arg, struct plan *plan)
{
	if (opt == 'p')
		plan->provider = arg;
	else if (opt == 's')
		plan->service = arg;
	else if (opt == OPT_VERIFY)
		plan->verify = true;
	else if (opt == OPT_NO_CHECK)
		plan->check = false;
	else if (opt == 'q')
		plan->progress = false;
}

static void defaults(struct plan *plan)
{
	*plan = (struct plan){
		.provider = PERF_PROVIDER,
		.service = PERF_PORT,
		.type = 3,
		.ops = 1U << KFI_PERF_SEND,
		.benches = 1U << BENCH_LATENCY | 1U << BENCH_BANDWIDTH,
		.depth = 16,
		.batch = 1,
		.duration_ms = 250,
		.warmup = -1,
		.timeout_ms = 10000,
		.check = true,
		.progress = isatty(STDERR_FILENO),
	};
	parse_sizes(plan, "8,64,1k,4k,64k,1M");
}

static const char *long_name(int opt)
{
	const struct option *o;

	for (o = longs; o->name && o->val != opt; o++)
		;
	return o->name;
}

int perf_parse(int argc, char **argv, struct plan *plan)
{
	int opt;

	defaults(plan);
	while ((opt = getopt_long(argc, argv, COMMON_SHORT "o:m:S:d:i:D:b:w:M:p:t:s:q", longs,
				  NULL)) != -1) {
		if (common_option(opt))
			continue;
		if (opt == 'h' || opt == '?') {
			print_usage(opt == 'h' ? stdout : stderr);
			return opt == 'h' ? EXIT_OK : EXIT_USAGE;
		}
		if (!parse_what(opt, optarg, plan))
			return usage_error(VERB, "'%s' makes no sense for --%s", optarg,
					   long_name(opt));
		parse_rest(opt, optarg, plan);
	}
	if (optind == argc)
		return usage_error(VERB, "the NODE of the server is missing");
	plan->node = argv[optind++];
	if (optind < argc)
		return usage_error(VERB, "too many words: '%s'", argv[optind]);
	if (plan->batch > plan->depth)
		return usage_error(VERB, "a batch of %u does not fit a depth of %u", plan->batch,
				   plan->depth);
	return -1;
}
