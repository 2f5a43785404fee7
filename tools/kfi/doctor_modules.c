// SPDX-License-Identifier: GPL-2.0
/* doctor_modules.c - kfi doctor: are the modules built, signed, loaded, and of one version? */
#define _GNU_SOURCE	/* memrchr() */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "doctor.h"

bool loaded(struct doctor *d, const char *module)
{
	return tree_has(d->tree, NULL, "sys/module/%s", module);
}

static const char *release(struct doctor *d)
{
	const char *text = tree_text(d->tree, "proc/sys/kernel/osrelease");

	return text ? text : "";
}

/* ---- files ---- */

/* Is this, up to its end or a colon, the path of a module's file? A file may be compressed. */
static bool is_file_of(const char *path, const char *module)
{
	size_t len = strcspn(path, ":"), i;
	const char *name = memrchr(path, '/', len);

	name = name ? name + 1 : path;
	for (i = 0; module[i]; i++)
		if (name[i] != module[i] && !(name[i] == '-' && module[i] == '_'))
			return false;
	return !strncmp(name + i, ".ko", 3) && (name[i + 3] == ':' || name[i + 3] == '.');
}

static bool keep_ours(const char *line)
{
	const char *name;
	size_t i;

	for (i = 0; (name = module_name(i)); i++)
		if (is_file_of(line, name))
			return true;
	return false;
}

/* The path of a module's file for the kernel that runs, or false */
static bool find_file(struct doctor *d, const char *module, char path[PATH_MAX])
{
	const char *line = tree_pick(d->tree, "\n", keep_ours, "lib/modules/%s/modules.dep",
				     release(d));

	for (; line && *line; line += strcspn(line, "\n"), line += *line == '\n') {
		if (!is_file_of(line, module))
			continue;
		if (*line == '/')
			snprintf(path, PATH_MAX, "%.*s", (int)strcspn(line, ":"), line);
		else
			snprintf(path, PATH_MAX, "lib/modules/%s/%.*s", release(d),
				 (int)strcspn(line, ":"), line);
		return true;
	}
	return false;
}

/* The value of a word of the file, up to the next blank; false if the file does not say */
static bool file_says(struct doctor *d, const char *module, const char *word, char value[128])
{
	char path[PATH_MAX];
	const char *said = find_file(d, module, path) ? tree_module(d->tree, path) : NULL;
	const char *at = said ? strstr(said, word) : NULL;

	if (!at)
		return false;
	at += strlen(word);
	snprintf(value, 128, "%.*s", (int)strcspn(at, "\n "), at);
	return true;
}

/* ---- checks ---- */

bool is_built(struct doctor *d)
{
	char path[PATH_MAX];

	return loaded(d, "kfi") || find_file(d, "kfi", path);
}

static bool has_headers(struct doctor *d)
{
	return tree_has(d->tree, NULL, "lib/modules/%s/build", release(d));
}

static void no_headers(struct doctor *d)
{
	if (!is_built(d) && !has_headers(d))
		found(d, release(d),
		      "there are no modules for the kernel %s, and no headers to build them",
		      release(d));
}

static void not_built(struct doctor *d)
{
	if (!is_built(d) && has_headers(d))
		found(d, release(d), "there are no modules for the kernel %s", release(d));
}

static void other_kernel(struct doctor *d)
{
	char built_for[128];
	const char *name;
	size_t i;

	for (i = 0; (name = module_name(i)); i++)
		if (file_says(d, name, "vermagic=", built_for) && strcmp(built_for, release(d)))
			found(d, release(d),
			      "the file of %s is for the kernel %s, and %s runs", name,
			      built_for, release(d));
}

static bool wants_signature(struct doctor *d)
{
	const char *enforce = tree_text(d->tree, "sys/module/module/parameters/sig_enforce");
	const char *lockdown = tree_text(d->tree, "sys/kernel/security/lockdown");

	return (enforce && *enforce == 'Y') ||
	       (lockdown && !strstr(lockdown, "[none]") && strchr(lockdown, '['));
}

static void secure_boot_unsigned(struct doctor *d)
{
	char path[PATH_MAX];
	const char *said = find_file(d, "kfi", path) ? tree_module(d->tree, path) : NULL;

	if (said && wants_signature(d) && !strstr(said, "~Module signature"))
		found(d, release(d), "the kernel demands signed modules, and kfi is not signed");
}

static void not_loaded(struct doctor *d)
{
	if (is_built(d) && !loaded(d, "kfi"))
		found(d, NULL, "the module kfi is not loaded");
}

static void mixed_versions(struct doctor *d)
{
	const char *first = NULL, *version, *name, *of = NULL;
	size_t i;

	for (i = 0; (name = module_name(i)); i++) {
		if (!loaded(d, name))
			continue;
		version = tree_text(d->tree, "sys/module/%s/version", name);
		version = version ? version : "without a version";
		if (first && strcmp(first, version))
			found(d, NULL, "%s is %s, and %s is %s", of, first, name, version);
		if (!first) {
			first = version;
			of = name;
		}
	}
}

/* A build that is no release has more behind the number: see kfi_version.h. */
static void tool_version(struct doctor *d)
{
	const char *version = loaded(d, "kfi") ?
			      tree_text(d->tree, "sys/module/kfi/version") : NULL;
	size_t len = strlen(KFABRIC_VERSION);

	if (version && (strncmp(version, KFABRIC_VERSION, len) ||
			(version[len] >= '0' && version[len] <= '9')))
		found(d, NULL, "the module kfi is %s, and this command " KFABRIC_VERSION, version);
}

static void old_module(struct doctor *d)
{
	const char *name, *build;
	char newer[128];
	size_t i;

	for (i = 0; (name = module_name(i)); i++) {
		build = loaded(d, name) ?
			tree_text(d->tree, "sys/module/%s/srcversion", name) : NULL;
		if (build && file_says(d, name, "srcversion=", newer) && strcmp(build, newer))
			found(d, name, "%s is loaded as it was before its file was replaced", name);
	}
}

const struct check checks_of_modules[] = {
	{ "no-headers", no_headers,
	  "the modules are built on this machine, for each kernel that it boots",
	  "apt install linux-headers-%s   (or kernel-devel-%s), which builds them" },
	{ "not-built", not_built,
	  "the modules are built for each kernel; the build for this one has failed or was not tried",
	  "dkms autoinstall -k %s" },
	{ "other-kernel", other_kernel,
	  "the kernel refuses to load a module that was built for another one",
	  "dkms autoinstall -k %s" },
	{ "secure-boot-unsigned", secure_boot_unsigned,
	  "with Secure Boot the kernel loads no module without a signature by a key that it knows",
	  "mokutil --import /var/lib/dkms/mok.pub, boot and enroll the key, then: dkms autoinstall --force -k %s" },
	{ "not-loaded", not_loaded,
	  "nothing of kfabric works without it",
	  "modprobe kfi_sockets   (or kfi_usb4, kfi_ntb, kfi_verbs), which loads kfi, too" },
	{ "mixed-versions", mixed_versions,
	  "modules of several versions do not work together",
	  "unload all of them and load them again, or boot" },
	{ "tool-version", tool_version,
	  "the command and the modules of another version may not understand each other",
	  "install packages of one version, and load the modules again, or boot" },
	{ "old-module", old_module,
	  "an update takes effect when the module is loaded again",
	  "modprobe -r %s and modprobe %s, or boot" },
	{}
};
