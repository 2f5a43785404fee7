// SPDX-License-Identifier: GPL-2.0
/*
 * modules.c - kfi info --modules: the modules of kfabric that are loaded, and their versions. After
 * an update of the packages the old ones stay loaded until they are unloaded, or the machine boots.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kfi.h"

#define FOLDER	"/sys/module"

/* The kernel writes nvme-kfi with an underscore. tools/check/run compares this with Kbuild. */
static const char *const names[] = {
	"kfi", "kfi_ib", "kfi_loop", "kfi_mirror", "kfi_net", "kfi_ntb", "kfi_perf", "kfi_sockets",
	"kfi_ulp", "kfi_usb4", "kfi_verbs", "nvme_kfi", "nvmet_kfi",
};

const char *module_name(size_t i)
{
	return i < ARRAY_SIZE(names) ? names[i] : NULL;
}

static int is_ours(const struct dirent *entry)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(entry->d_name, names[i]))
			return true;
	return false;
}

/* What sysfs says of a module, one word; "-" if it does not: modules before 1.0 have no version. */
static void read_word(const char *module, const char *name, char word[64])
{
	char path[320];
	FILE *file;

	snprintf(path, sizeof(path), FOLDER "/%s/%s", module, name);
	file = fopen(path, "re");
	if (!file || fscanf(file, "%63s", word) != 1)
		strcpy(word, "-");
	if (file)
		fclose(file);
}

static void print_json(const char *module, const char *version, const char *build)
{
	json_begin(NULL, '{');
	json_string("module", module);
	json_string("version", version);
	json_string("build", build);
	json_end('}');
}

int modules_each(void (*see)(const char *module, const char *version, const char *build,
			     void *arg), void *arg)
{
	char version[64], build[64];
	struct dirent **entries;
	int n, i;

	n = scandir(FOLDER, &entries, is_ours, alphasort);
	if (n < 0) {
		complain(FOLDER ": %s", strerror(errno));
		return -1;
	}
	for (i = 0; i < n; i++) {
		read_word(entries[i]->d_name, "version", version);
		read_word(entries[i]->d_name, "srcversion", build);
		see(entries[i]->d_name, version, build, arg);
		free(entries[i]);
	}
	free(entries);
	return n;
}

bool module_loaded(const char *module)
{
	char path[320];

	snprintf(path, sizeof(path), FOLDER "/%s", module);
	return !access(path, F_OK);
}

/**
 * struct seen - what was printed so far
 * @first: version of the first module
 * @any: there was a module
 * @mixed: another module has another version
 */
struct seen {
	char first[64];
	bool any, mixed;
};

static void show_module(const char *module, const char *version, const char *build, void *arg)
{
	struct seen *seen = arg;

	if (options.json)
		print_json(module, version, build);
	else if (!seen->any)
		printf("%-14s  %-28s  %s\n", "module", "version", "build");
	if (!options.json)
		printf("%-14s  %-28s  %s\n", module, version, build);
	if (!seen->any)
		strcpy(seen->first, version);
	seen->any = true;
	seen->mixed |= strcmp(seen->first, version);
}

int modules_show(void)
{
	struct seen seen = {};
	int n;

	if (options.json)
		json_begin(NULL, '[');
	n = modules_each(show_module, &seen);
	if (options.json)
		json_end(']');
	if (!n)
		complain("no module of kfabric is loaded; try: modprobe kfi");
	if (seen.mixed)
		complain("these modules are of several versions; load those of one version alone");
	return json_finish() ?: n > 0 ? EXIT_OK : EXIT_FAILED;
}
