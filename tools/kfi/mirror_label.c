// SPDX-License-Identifier: GPL-2.0
/*
 * mirror_label.c - kfi mirror label: is a device the leg of a mirror? Its last block says so, if
 * the metadata is on it, or its label happens to end there. kfi_mirror writes it; see struct
 * kfm_le_label of ulps/mirror/proto.h. What a device has is not trusted.
 *
 * The last block of a leg may be the last block of a longer device, too: of the disk whose last
 * partition or volume the leg is. So a label counts only on the device that it fits.
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
#define MAGIC_LEN	8

/* All numbers are little-endian. */
struct label {
	char magic[MAGIC_LEN];
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

/* How a superblock begins, of which there are two, in blocks one behind the other */
struct super {
	char magic[MAGIC_LEN];
	uint8_t version[4];
	uint8_t crc[4];
	uint8_t serial[8];
	uint8_t uuid[16];
};
_Static_assert(sizeof(struct super) == 40, "struct super");

/* What a device has in its last block */
enum found { LEG, NO_LABEL, OTHER_DEVICE, UNREADABLE };

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

static bool is_super(int fd, uint64_t at, const uint8_t *uuid)
{
	struct super super;

	return pread(fd, &super, sizeof(super), at) == sizeof(super) &&
	       !memcmp(super.magic, "KIFSUPR1", MAGIC_LEN) &&
	       !memcmp(super.uuid, uuid, sizeof(super.uuid));
}

/*
 * Is it this device that the label describes, which has @blocks blocks? Metadata on a leg begins at
 * the byte that the label names, counted from the beginning of the leg, and one of the superblocks
 * may be damaged. Another label is in the first block behind the data.
 */
static bool fits(int fd, const struct label *label, uint64_t blocks)
{
	uint64_t sectors = number(label->sectors, sizeof(label->sectors));
	uint64_t at = number(label->at, sizeof(label->at)), per_block = BLOCK / SECTOR;

	if (number(label->flags, sizeof(label->flags)) & F_INTERNAL)
		return is_super(fd, at, label->uuid) || is_super(fd, at + BLOCK, label->uuid);
	return sectors / per_block + !!(sectors % per_block) + 1 == blocks;
}

static bool is_label(struct label *label)
{
	uint32_t crc = number(label->crc, sizeof(label->crc));

	memset(label->crc, 0, sizeof(label->crc));
	return !memcmp(label->magic, "KIFSLBL1", MAGIC_LEN) &&
	       number(label->version, sizeof(label->version)) == VERSION &&
	       crc == crc32c((void *)label, sizeof(*label));
}

/* Look at the last block. Nothing is said but that the device can't be read. */
static enum found look_at(const char *path, struct label *label)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), err = 0;
	off_t end = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
	off_t blocks = end / BLOCK;
	enum found found = NO_LABEL;

	if (end < 0)
		err = errno;
	else if (blocks &&
		 pread(fd, label, sizeof(*label), (blocks - 1) * BLOCK) != sizeof(*label))
		err = EIO;
	else if (blocks && is_label(label))
		found = fits(fd, label, blocks) ? LEG : OTHER_DEVICE;
	if (fd >= 0)
		close(fd);
	if (!err)
		return found;
	complain("%s: %s", path, strerror(err));
	return UNREADABLE;
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
	static const char *const refusals[] = {
		[NO_LABEL] = "its last block is no label of a mirror",
		[OTHER_DEVICE] = "its last block is a label, but not of this device; "
				 "it is that of a part of it, or the metadata is gone",
	};
	struct label label;
	enum found found = look_at(path, &label);
	char uuid[37];

	if ((found == NO_LABEL || found == OTHER_DEVICE) && !udev)
		complain("%s: %s", path, refusals[found]);
	if (found != LEG)
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
		"metadata is on it. Fails if there is no label, or it does not fit the device.\n\n"
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
