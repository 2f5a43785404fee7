// SPDX-License-Identifier: GPL-2.0
/* main.c - the kfi command: options and verbs, similar to ip and rdma */
#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "kfi.h"

struct options options;

void complain(const char *fmt, ...)
{
	va_list args;

	fflush(stdout);
	fputs("kfi: ", stderr);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
}

void *must(void *p)
{
	if (!p) {
		complain("out of memory");
		exit(EXIT_FAILED);
	}
	return p;
}

int usage_error(const char *verb, const char *fmt, ...)
{
	va_list args;

	fflush(stdout);
	fprintf(stderr, "kfi %s: ", verb);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fprintf(stderr, "\nTry 'kfi %s --help'.\n", verb);
	return EXIT_USAGE;
}

bool common_option(int opt)
{
	if (opt == 'j')
		options.json = true;
	else if (opt == OPT_PRETTY)
		options.json = options.pretty = true;
	else
		return false;
	return true;
}

static const struct verb *find_verb(const struct verb *verbs, size_t n, const char *word,
				    unsigned int *matches)
{
	const struct verb *found = NULL;
	size_t i;

	*matches = 0;
	for (i = 0; i < n; i++) {
		if (strncmp(verbs[i].name, word, strlen(word)))
			continue;
		if (!verbs[i].name[strlen(word)]) {	/* the full name */
			*matches = 1;
			return &verbs[i];
		}
		found = &verbs[i];
		++*matches;
	}
	return found;
}

static int bad_verb(const char *of, const struct verb *verbs, size_t n, const char *word,
		    unsigned int matches)
{
	size_t i;

	fprintf(stderr, "kfi: '%s%s%s' is %s:", of, *of ? " " : "", word,
		matches ? "ambiguous" : "not a command; there are");
	for (i = 0; i < n; i++)
		if (!matches || !strncmp(verbs[i].name, word, strlen(word)))
			fprintf(stderr, " %s", verbs[i].name);
	fputc('\n', stderr);
	return EXIT_USAGE;
}

/* completion.bash reads this. */
static void print_words(const struct verb *verbs, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		puts(verbs[i].name);
}

int run_verb(const char *of, const struct verb *verbs, size_t n, int argc, char **argv,
	     void (*usage)(FILE *to))
{
	const struct verb *verb;
	unsigned int matches;

	if (!argc) {
		usage(stderr);
		return EXIT_USAGE;
	}
	if (!strcmp(argv[0], "help") && argc > 1 && !strcmp(argv[1], "words")) {
		print_words(verbs, n);
		return EXIT_OK;
	}
	if (!strcmp(argv[0], "help")) {
		usage(stdout);
		return EXIT_OK;
	}
	verb = *argv[0] ? find_verb(verbs, n, argv[0], &matches) : NULL;
	if (!verb || matches > 1)
		return bad_verb(of, verbs, n, argv[0], verb ? matches : 0);
	optind = 0;	/* start the scan again */
	return verb->run(argc, argv);
}

static const struct verb verbs[] = {
	{ "doctor", "what is wrong here, and what mends it", cmd_doctor },
	{ "info", "what providers offer", cmd_info },
	{ "map", "numbers that stand for nodes", cmd_map },
	{ "metrics", "figures for Prometheus", cmd_metrics },
	{ "mirror", "mirrored writes: pairs, roles, resynchronisation", cmd_mirror },
	{ "perf", "measure and verify, inside the kernel", cmd_perf },
	{ "provider", "providers that are loaded", cmd_provider },
	{ "show", "open domains, endpoints and their peers", cmd_show },
	{ "stats", "what endpoints have done", cmd_stats },
	{ "top", "what moves data now, repeatedly", cmd_top },
};

static void print_usage(FILE *to)
{
	size_t i;

	fputs("Usage: kfi [OPTIONS] COMMAND ...\n\n"
	      "Commands, which may be abbreviated:\n", to);
	for (i = 0; i < ARRAY_SIZE(verbs); i++)
		fprintf(to, "  %-10s %s\n", verbs[i].name, verbs[i].help);
	fputs("\nOptions:\n"
	      "  -j, --json     answer in JSON\n"
	      "      --pretty   in JSON, with line breaks\n"
	      "  -V, --version  print the version\n"
	      "  -h, --help     this text; after a command, about that command\n\n"
	      "Exit codes: 0 success, 1 failure or wrong data, 2 usage, 130 canceled\n", to);
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {
		COMMON_LONG,
		{ "version", no_argument, NULL, 'V' },
		{}
	};
	int opt;

	while ((opt = getopt_long(argc, argv, "+" COMMON_SHORT "V", longs, NULL)) != -1) {
		if (common_option(opt))
			continue;
		if (opt == 'V') {
			puts("kfi " KFABRIC_VERSION);
			return EXIT_OK;
		}
		print_usage(opt == 'h' ? stdout : stderr);
		return opt == 'h' ? EXIT_OK : EXIT_USAGE;
	}
	return run_verb("", verbs, ARRAY_SIZE(verbs), argc - optind, argv + optind, print_usage);
}
