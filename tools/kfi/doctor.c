// SPDX-License-Identifier: GPL-2.0
/*
 * doctor.c - kfi doctor: what is wrong here, why it matters, and the command that mends it. Each
 * fault is a row of a table of checks: doctor_modules.c, doctor_machine.c, doctor_cables.c,
 * doctor_mirror.c, doctor_target.c and doctor_other.c have them. docs/doctor.md lists all.
 */
#define _GNU_SOURCE	/* asprintf() */
#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <linux/kfi.h>

#include "doctor.h"

/* Exit codes besides EXIT_OK, for nothing found */
enum { DOCTOR_FOUND = 1, DOCTOR_BLIND = 2 };

static const struct check *const all_checks[] = {
	checks_of_modules, checks_of_machine, checks_of_cables, checks_of_mirrors, checks_of_target,
	checks_of_other,
};

static void print_usage(FILE *to)
{
	fputs("Usage: kfi doctor [OPTIONS] [NODE [PORT]]\n\n"
	      "Look for what is wrong on this machine, and with a NODE on the way to that one. Each\n"
	      "finding has a name, says why it matters, and what mends it.\n\n"
	      "  -p, --provider NAME  that leads to NODE, default " PERF_PROVIDER "\n"
	      "  -m, --measure        measure for two seconds there and two seconds back; NODE has to\n"
	      "                       run: kfi perf server -p NAME\n"
	      "  -r, --report FILE    write a tar file of all that was looked at, for a bug report; it\n"
	      "                       has names and addresses, and no keys or passwords\n"
	      "      --root DIR       look at what was unpacked of such a file, not at this machine\n"
	      "  -l, --list           only list what is looked for\n"
	      "  -j, --json           in JSON\n\n"
	      "Exit codes: 0 nothing found, 1 something found, 2 not all could be looked at\n", to);
}

struct wishes {
	struct other other;
	const char *report, *root;
	bool list;
};

static int parse(int argc, char **argv, struct wishes *w)
{
	enum { OPT_ROOT = OPT_FIRST_FREE };
	static const struct option longs[] = {
		COMMON_LONG,
		{ "provider", required_argument, NULL, 'p' },
		{ "measure", no_argument, NULL, 'm' },
		{ "report", required_argument, NULL, 'r' },
		{ "root", required_argument, NULL, OPT_ROOT },
		{ "list", no_argument, NULL, 'l' },
		{}
	};
	int opt;

	while ((opt = getopt_long(argc, argv, COMMON_SHORT "p:mr:l", longs, NULL)) != -1) {
		if (common_option(opt))
			continue;
		if (opt == 'p') {
			w->other.provider = optarg;
		} else if (opt == 'm') {
			w->other.measure = true;
		} else if (opt == 'r') {
			w->report = optarg;
		} else if (opt == OPT_ROOT) {
			w->root = optarg;
		} else if (opt == 'l') {
			w->list = true;
		} else {
			print_usage(opt == 'h' ? stdout : stderr);
			return opt == 'h' ? EXIT_OK : EXIT_USAGE;
		}
	}
	if (optind < argc)
		w->other.node = argv[optind++];
	if (optind < argc)
		w->other.service = argv[optind++];
	if (optind < argc)
		return usage_error("doctor", "too many words: '%s'", argv[optind]);
	if (w->other.measure && !w->other.node)
		return usage_error("doctor", "--measure wants a NODE");
	if (w->root && w->other.measure)
		return usage_error("doctor", "--root comes without --measure");
	return -1;
}

/* ---- findings ---- */

/* Other machines choose their names, and must not command a terminal. */
static char *tame(char *text)
{
	char *at;

	for (at = text; *at; at++)
		if ((unsigned char)*at < 0x20 || *at == 0x7f)
			*at = '?';
	return text;
}

/* A command with @arg in the place of each %s */
static char *fill_in(const char *mend, const char *arg)
{
	const char *at;
	char *text;
	size_t len;
	FILE *to = must(open_memstream(&text, &len));

	while ((at = strstr(mend, "%s"))) {
		fprintf(to, "%.*s%s", (int)(at - mend), mend, arg ? arg : "");
		mend = at + 2;
	}
	fputs(mend, to);
	if (fclose(to))
		must(NULL);
	return text;
}

void found(struct doctor *d, const char *arg, const char *fmt, ...)
{
	struct finding *f;
	va_list args;

	d->findings = must(reallocarray(d->findings, d->n + 1, sizeof(*d->findings)));
	f = &d->findings[d->n++];
	f->check = d->check;
	va_start(args, fmt);
	if (vasprintf(&f->what, fmt, args) < 0)
		must(NULL);
	va_end(args);
	f->mend = tame(fill_in(d->check->mend, arg));
	tame(f->what);
}

static void print_text(const struct doctor *d)
{
	size_t i;

	for (i = 0; i < d->n; i++)
		printf("%s%s: %s\n    why: %s\n    try: %s\n", i ? "\n" : "",
		       d->findings[i].check->name, d->findings[i].what, d->findings[i].check->why,
		       d->findings[i].mend);
	if (*d->figures)
		printf("%smeasured: %s\n", d->n ? "\n" : "", d->figures);
	if (!d->n)
		puts("nothing found");
}

static void print_json(const struct doctor *d)
{
	size_t i;

	json_begin(NULL, '[');
	for (i = 0; i < d->n; i++) {
		json_begin(NULL, '{');
		json_string("check", d->findings[i].check->name);
		json_string("what", d->findings[i].what);
		json_string("why", d->findings[i].check->why);
		json_string("try", d->findings[i].mend);
		json_end('}');
	}
	json_end(']');
}

/* ---- the examination ---- */

static void find_devices(struct doctor *d)
{
	if (!tree_is_live(d->tree)) {
		d->devices_known = tree_rows(d->tree, "devices", DEVICE_FIELDS, &d->devices);
		return;
	}
	if (!loaded(d, "kfi"))
		return;
	d->devices_known = !list_fetch(KFI_CMD_GET_DEVICE, device_fields, DEVICE_FIELDS,
				       &d->devices);
	if (!d->devices_known) {
		complain("the kernel does not list devices");
		tree_add_unseen(d->tree);
		return;
	}
	tree_note_rows(d->tree, "devices", &d->devices);
}

static void examine(struct doctor *d)
{
	size_t i;

	find_devices(d);
	for (i = 0; i < ARRAY_SIZE(all_checks); i++)
		for (d->check = all_checks[i]; d->check->name; d->check++)
			d->check->run(d);
}

/* For readers of the report: what was found, and by which command */
static int write_report(struct doctor *d, const char *file)
{
	char *text;
	size_t len, i;
	FILE *to = must(open_memstream(&text, &len));

	fprintf(to, "kfi " KFABRIC_VERSION "\n");
	for (i = 0; i < d->n; i++)
		fprintf(to, "%s: %s\n", d->findings[i].check->name, d->findings[i].what);
	if (*d->figures)
		fprintf(to, "measured: %s\n", d->figures);
	if (fclose(to))
		must(NULL);
	tree_note(d->tree, "kfi/doctor", text);
	free(text);
	return report_write(d->tree, file);
}

static int list_checks(void)
{
	const struct check *check;
	size_t i;

	if (options.json)
		json_begin(NULL, '[');
	for (i = 0; i < ARRAY_SIZE(all_checks); i++)
		for (check = all_checks[i]; check->name; check++) {
			if (!options.json) {
				printf("%-26s %s\n", check->name, check->why);
				continue;
			}
			json_begin(NULL, '{');
			json_string("check", check->name);
			json_string("why", check->why);
			json_end('}');
		}
	if (options.json)
		json_end(']');
	return json_finish();
}

int cmd_doctor(int argc, char **argv)
{
	struct wishes w = { .other = { .provider = PERF_PROVIDER, .service = PERF_PORT } };
	struct doctor d = {};
	bool blind;
	size_t i;
	int ret;

	ret = parse(argc, argv, &w);
	if (ret >= 0)
		return ret;
	if (w.list)
		return list_checks();
	d.other = w.other;
	d.tree = tree_open(w.root);
	if (!d.tree)
		return DOCTOR_BLIND;
	/* Without these two nothing that is not found means that it is not there. */
	blind = !tree_text(d.tree, "proc/sys/kernel/osrelease") ||
		!tree_has(d.tree, NULL, "sys/module");
	if (blind) {
		complain("%s/proc and %s/sys do not say how a machine is", tree_path(d.tree),
			 tree_path(d.tree));
	} else {
		examine(&d);
		if (options.json)
			print_json(&d);
		else
			print_text(&d);
		blind = json_finish() || tree_unseen(d.tree);
	}
	if (w.report && write_report(&d, w.report))
		blind = true;
	ret = d.n ? DOCTOR_FOUND : blind ? DOCTOR_BLIND : EXIT_OK;
	for (i = 0; i < d.n; i++) {
		free(d.findings[i].what);
		free(d.findings[i].mend);
	}
	free(d.findings);
	list_free(&d.devices);
	tree_close(d.tree);
	return ret;
}
