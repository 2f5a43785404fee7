// SPDX-License-Identifier: GPL-2.0
/*
 * mirror_formats.c - kfi mirror formats: of which version is what a device has, and which versions
 * can this release read? kfi_mirror(7) has a table of them. Nothing is written, and what is read is
 * not trusted.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "mirror.h"

#define BLOCK	4096

/* What the first bytes of each block are, in all versions */
struct head {
	char magic[8];
	uint8_t version[4];
	uint8_t crc[4];
	uint8_t rest[496];
};

/**
 * struct format - something that kfi_mirror stores
 * @name: what it is called
 * @magic: how it begins
 * @lowest: first version that can be read
 * @highest: last one, in which it is written
 */
static const struct format {
	const char *name;
	char magic[9];
	uint32_t lowest;
	uint32_t highest;
} formats[] = {
	{ "metadata", "KIFSUPR1", MIRROR_META_LOWEST, MIRROR_META_VERSION },
	{ "log", "KIFSLOG1", MIRROR_LOG_LOWEST, MIRROR_LOG_VERSION },
	{ "label", "KIFSLBL1", MIRROR_LABEL_VERSION, MIRROR_LABEL_VERSION },
};

/* A block of this format that was found; the later one of two */
struct found {
	bool there;
	bool damaged;
	uint32_t version;
};

static void look(int fd, uint64_t at, struct found found[ARRAY_SIZE(formats)])
{
	struct head head;
	uint32_t version;
	size_t i;

	if (!mirror_read_sector(fd, &head, at))
		return;
	for (i = 0; i < ARRAY_SIZE(formats); i++) {
		if (memcmp(head.magic, formats[i].magic, sizeof(head.magic)))
			continue;
		found[i].there = true;
		version = mirror_number(head.version, sizeof(head.version));
		if (!mirror_checks(&head, head.crc))
			found[i].damaged = true;
		else if (version > found[i].version)
			found[i].version = version;
	}
}

/* The byte of the metadata that the label in the last block names; 0 for none */
static uint64_t behind_data(int fd, uint64_t last)
{
	struct head head;

	if (!mirror_read_sector(fd, &head, last) ||
	    memcmp(head.magic, formats[ARRAY_SIZE(formats) - 1].magic, sizeof(head.magic)) ||
	    mirror_number(head.version, sizeof(head.version)) != MIRROR_LABEL_VERSION)
		return 0;
	return mirror_number(head.rest + 40, 8);	/* behind UUID, node, mark and size */
}

static void print_one(const char *device, const struct format *f, const struct found *found)
{
	bool read = found->version >= f->lowest && found->version <= f->highest;

	if (options.json) {
		json_begin(NULL, '{');
		json_string("device", device);
		json_string("format", f->name);
		json_u64("version", found->version);
		json_bool("damaged", found->damaged);
		json_bool("read", read);
		json_end('}');
		return;
	}
	printf("%s: %s", device, f->name);
	if (found->version)
		printf(" of version %u, which %s", found->version,
		       read ? "can be read" : "can't be read by this release: use ");
	if (found->version && !read)
		fputs(found->version > f->highest ? "a newer one" : "an older one", stdout);
	if (found->damaged)
		fputs(found->version ? "; a copy of it is damaged" : ", which is damaged", stdout);
	putchar('\n');
}

static int device_one(const char *device)
{
	struct found found[ARRAY_SIZE(formats)] = {};
	int fd = open(device, O_RDONLY | O_CLOEXEC | O_NONBLOCK), ret = EXIT_FAILED;
	off_t end = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
	uint64_t last = end < BLOCK ? 0 : end / BLOCK * BLOCK - BLOCK, at;
	size_t i;

	if (end < 0) {
		complain("%s: %s", device, strerror(errno));
	} else {
		at = behind_data(fd, last);
		look(fd, at, found);
		look(fd, at + BLOCK, found);
		if (last)
			look(fd, last, found);
		ret = EXIT_OK;
	}
	for (i = 0; i < ARRAY_SIZE(formats); i++) {
		if (!found[i].there)
			continue;
		print_one(device, &formats[i], &found[i]);
		if (found[i].damaged || found[i].version < formats[i].lowest ||
		    found[i].version > formats[i].highest)
			ret = EXIT_FAILED;
	}
	if (!ret && !found[0].there && !found[1].there && !found[2].there) {
		complain("%s: no metadata and no log at its beginning, and no label at its end",
			 device);
		ret = EXIT_FAILED;
	}
	if (fd >= 0)
		close(fd);
	return ret;
}

static void print_formats(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(formats); i++) {
		const struct format *f = &formats[i];

		if (options.json) {
			json_begin(NULL, '{');
			json_string("format", f->name);
			json_u64("lowest", f->lowest);
			json_u64("highest", f->highest);
			json_end('}');
		} else if (f->lowest == f->highest) {
			printf("%-8s  version %u\n", f->name, f->highest);
		} else {
			printf("%-8s  versions %u to %u, written as %u\n", f->name, f->lowest,
			       f->highest, f->highest);
		}
	}
}

int cmd_mirror_formats(int argc, char **argv)
{
	static const char usage[] =
		"Usage: kfi mirror formats [DEVICE...]\n\n"
		"Print of which versions the metadata, the log and the label of a device are, and\n"
		"fails if this release can't read one of them. Without a DEVICE: which versions of\n"
		"them this release reads.\n\n"
		"  -j, --json        in JSON\n";
	static const struct option longs[] = { COMMON_LONG, {} };
	int opt, ret = EXIT_OK;

	while ((opt = getopt_long(argc, argv, COMMON_SHORT, longs, NULL)) != -1) {
		if (common_option(opt))
			continue;
		fputs(usage, opt == 'h' ? stdout : stderr);
		return opt == 'h' ? EXIT_OK : EXIT_USAGE;
	}
	if (options.json)
		json_begin(NULL, '[');
	if (optind == argc)
		print_formats();
	for (; optind < argc; optind++)
		ret = device_one(argv[optind]) ?: ret;
	if (options.json)
		json_end(']');
	return json_finish() ?: ret;
}
