// SPDX-License-Identifier: GPL-2.0
/*
 * mirror_label.c - kfi mirror label: is a device the leg of a mirror? Its last block says so, if the
 * metadata is on it, or its label happens to end there. kfi_mirror writes it; see struct
 * kfm_le_label of ulps/mirror/proto.h. What a device has is not trusted.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mirror.h"

#define BLOCK		4096
#define SECTOR		512
#define VERSION		1
#define F_INTERNAL	1u	/* the metadata is on the device */

/* All numbers are little-endian. */
struct label {
	char magic[8];
	uint8_t version[4];
	uint8_t crc[4];		/* CRC32C of the sector, with 0 here */
	uint8_t uuid[16];
	uint8_t node[8];
	uint8_t mark[8];
	uint8_t sectors[8];
	uint8_t at[8];
	uint8_t flags[4];
	uint8_t zero[444];
};
_Static_assert(sizeof(struct label) == SECTOR, "struct label");

static uint64_t number(const uint8_t *p, int bytes)
{
	uint64_t n = 0;

	while (bytes)
		n = n << 8 | p[--bytes];
	return n;
}

static uint32_t crc32c(const uint8_t *p, size_t len)
{
	uint32_t crc = ~0u;
	int bit;

	while (len--) {
		crc ^= *p++;
		for (bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
	}
	return crc;
}

/* Read the last block. Return: 0; 1 if there is no label; -1 after a message */
static int read_label(const char *path, struct label *label)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), err = 0;
	off_t end = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
	off_t at = end / BLOCK * BLOCK - BLOCK;		/* of the last block, or negative */
	uint32_t crc;

	if (end < 0)
		err = errno;
	else if (at >= 0 && pread(fd, label, sizeof(*label), at) != sizeof(*label))
		err = EIO;
	if (fd >= 0)
		close(fd);
	if (err) {
		complain("%s: %s", path, strerror(err));
		return -1;
	}
	if (at < 0 || memcmp(label->magic, "KIFSLBL1", sizeof(label->magic)) ||
	    number(label->version, sizeof(label->version)) != VERSION)
		return 1;
	crc = number(label->crc, sizeof(label->crc));
	memset(label->crc, 0, sizeof(label->crc));
	return crc == crc32c((void *)label, sizeof(*label)) ? 0 : 1;
}

static void print_uuid(char text[37], const uint8_t *uuid)
{
	int i, at = 0;

	for (i = 0; i < 16; i++)
		at += snprintf(text + at, 37 - at, "%s%02x",
			       i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
}

/* Properties of the device, for a rule of udev */
static void print_udev(const char *uuid)
{
	printf("ID_FS_TYPE=kfi_mirror_member\nID_FS_USAGE=raid\nID_FS_UUID=%s\nID_FS_UUID_ENC=%s\n",
	       uuid, uuid);
}

static int label_one(const char *path, bool udev)
{
	struct label label;
	char uuid[37];
	int ret = read_label(path, &label);

	if (ret > 0 && !udev)
		complain("%s: its last block is no label of a mirror", path);
	if (ret)
		return EXIT_FAILED;
	print_uuid(uuid, label.uuid);
	if (udev)
		print_udev(uuid);
	else
		printf("%s: leg of mirror %s, %" PRIu64 " sectors, metadata %s\n", path, uuid,
		       number(label.sectors, sizeof(label.sectors)),
		       number(label.flags, sizeof(label.flags)) & F_INTERNAL ? "behind them" :
									       "elsewhere");
	return EXIT_OK;
}

int cmd_mirror_label(int argc, char **argv)
{
	static const char usage[] =
		"Usage: kfi mirror label [-u] DEVICE\n\n"
		"Print whose leg a device is, by the label in its last block, which it has if its\n"
		"metadata is on it. Fails if there is no label.\n\n"
		"  -u, --udev  as properties of the device, for a rule of udev\n";
	static const struct option longs[] = {
		COMMON_LONG,
		{ "udev", no_argument, NULL, 'u' },
		{}
	};
	bool udev = false;
	int opt;

	while ((opt = getopt_long(argc, argv, COMMON_SHORT "u", longs, NULL)) != -1) {
		if (common_option(opt))
			continue;
		if (opt != 'u') {
			fputs(usage, opt == 'h' ? stdout : stderr);
			return opt == 'h' ? EXIT_OK : EXIT_USAGE;
		}
		udev = true;
	}
	if (argc - optind != 1)
		return usage_error("mirror label", "one DEVICE is needed");
	return label_one(argv[optind], udev);
}
