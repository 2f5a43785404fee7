// SPDX-License-Identifier: GPL-2.0
/*
 * mirror_label.c - kfi mirror label: is a device the leg of a mirror? Its last block says so, if
 * the metadata is on it, or its label happens to end there. kfi_mirror writes it; see struct
 * kfm_le_label of ulps/mirror/proto.h. What a device has is not trusted.
 *
 * The last block of a leg may be the last block of a longer device, too: of the disk whose last
 * partition or volume the leg is. So a label counts only on the device that it fits.
 *
 * The last block of a device may belong to a file, whose owner can write a label there, and
 * superblocks that fit it. The data of a leg ends before its label. So a label that a file system or
 * a partition reaches to does not count, see mirror_cover.c. But what is on a leg may say of itself
 * that it is longer, as its owner may be anybody, too: a virtual machine. So the label of a device
 * that the configuration of this node names as the leg of this mirror counts in any case.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mirror.h"

#define BLOCK		4096
#define SECTOR		512
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

#define SUPER_F_INTERNAL	128u

/* A superblock, of which there are two, in blocks one behind the other */
struct super {
	char magic[MAGIC_LEN];
	uint8_t version[4];
	uint8_t crc[4];		/* as above */
	uint8_t serial[8];
	uint8_t uuid[16];
	uint8_t node[8];
	uint8_t generations[88];
	uint8_t sectors[8];
	uint8_t sizes[16];
	uint8_t flags[4];
	uint8_t rest[348];
};
_Static_assert(sizeof(struct super) == SECTOR, "struct super");

/* What a device has in its last block */
enum found { LEG, NO_LABEL, OTHER_VERSION, OTHER_DEVICE, COVERED, UNREADABLE };

/**
 * struct labelled - a device and its label
 * @path: name of the device
 * @where: the configuration
 * @label: the label, valid for LEG, OTHER_DEVICE and COVERED
 * @cover: what reaches to the label, for COVERED
 */
struct labelled {
	const char *path;
	struct mirror_where where;
	struct label label;
	struct mirror_cover cover;
};

uint64_t mirror_number(const uint8_t *p, int bytes)
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

bool mirror_checks(void *sector, uint8_t crc[4])
{
	uint32_t said = mirror_number(crc, 4);

	memset(crc, 0, 4);
	return said == crc32c(sector, SECTOR);
}

/* The byte where metadata begins that is behind so many sectors */
static uint64_t behind(uint64_t sectors)
{
	uint64_t per_block = BLOCK / SECTOR;

	return (sectors / per_block + !!(sectors % per_block)) * BLOCK;
}

bool mirror_read_sector(int fd, void *sector, uint64_t at)
{
	posix_fadvise(fd, at / BLOCK * BLOCK, BLOCK, POSIX_FADV_DONTNEED);
	return pread(fd, sector, SECTOR, at) == SECTOR;
}

/* Is there, at this byte, a superblock of the mirror, node and size of a label? */
static bool is_super(int fd, uint64_t at, const struct label *label)
{
	struct super super;

	return mirror_read_sector(fd, &super, at) &&
	       !memcmp(super.magic, "KIFSUPR1", MAGIC_LEN) && mirror_checks(&super, super.crc) &&
	       !memcmp(super.uuid, label->uuid, sizeof(super.uuid)) &&
	       !memcmp(super.node, label->node, sizeof(super.node)) &&
	       mirror_number(super.flags, sizeof(super.flags)) & SUPER_F_INTERNAL &&
	       behind(mirror_number(super.sectors, sizeof(super.sectors))) ==
	       mirror_number(label->at, sizeof(label->at));
}

/*
 * Is it this device that the label describes, which has @blocks blocks? Metadata on a leg begins
 * behind the data, at the byte that the label names, counted from the beginning of the leg, and one
 * of the superblocks may be damaged. Another label is in the first block behind the data.
 */
static bool fits(int fd, const struct label *label, uint64_t blocks)
{
	uint64_t end = behind(mirror_number(label->sectors, sizeof(label->sectors)));
	uint64_t at = mirror_number(label->at, sizeof(label->at));

	if (!(mirror_number(label->flags, sizeof(label->flags)) & F_INTERNAL))
		return end / BLOCK + 1 == blocks;
	return at == end && at / BLOCK + 2 < blocks &&
	       (is_super(fd, at, label) || is_super(fd, at + BLOCK, label));
}

static bool is_label(struct label *label)
{
	return !memcmp(label->magic, "KIFSLBL1", MAGIC_LEN) && mirror_checks(label, label->crc);
}

static void print_uuid(char text[37], const uint8_t *uuid)
{
	int i, at = 0;

	for (i = 0; i < 16; i++)
		at += snprintf(text + at, 37 - at, "%s%02x",
			       i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
}

/* Are both names of one device? */
static bool same_file(const char *a, const char *b)
{
	struct stat one, other;

	if (!strcmp(a, b))
		return true;
	if (stat(a, &one) || stat(b, &other) || (one.st_mode ^ other.st_mode) & S_IFMT)
		return false;
	if (S_ISBLK(one.st_mode))
		return one.st_rdev == other.st_rdev;
	return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

/*
 * Is @leg a link that udev is about to make to the device? It gives the programs of its rules the
 * names. Those of what is on the device are names that its owner chooses.
 */
static bool will_be_link(const char *leg)
{
	const char *links = getenv("DEVLINKS"), *next;
	size_t len;

	if (strstr(leg, "/by-uuid/") || strstr(leg, "/by-label/"))
		return false;
	for (; links && *links; links = next + strspn(next, " ")) {
		len = strcspn(links, " ");
		next = links + len;
		if (len == strlen(leg) && !strncmp(links, leg, len))
			return true;
	}
	return false;
}

/* Does the configuration name the device as the leg of this mirror on this node? */
static bool is_configured(const struct labelled *it)
{
	struct mirror_conf *list = NULL, *conf;
	char uuid[37], leg[4096];
	bool found = false;

	if (access(it->where.dir, F_OK))
		return false;
	print_uuid(uuid, it->label.uuid);
	mirror_conf_all(&it->where, &list);
	for (conf = list; conf && !found; conf = conf->next)
		found = !strcasecmp(conf->uuid, uuid) && sscanf(conf->table, "%4095s", leg) == 1 &&
			(same_file(leg, it->path) || will_be_link(leg));
	mirror_conf_free(list);
	return found;
}

/* A label was read. The rest of the device is looked at only then: others have none. */
static enum found judge(int fd, struct labelled *it, uint64_t blocks)
{
	if (mirror_number(it->label.version, sizeof(it->label.version)) != MIRROR_LABEL_VERSION)
		return OTHER_VERSION;
	if (!fits(fd, &it->label, blocks))
		return OTHER_DEVICE;
	mirror_cover(fd, &it->cover);
	return it->cover.end > (blocks - 1) * BLOCK && !is_configured(it) ? COVERED : LEG;
}

/* Look at the last block. Nothing is said but that the device can't be read. */
static enum found look_at(struct labelled *it)
{
	int fd = open(it->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), err = 0;
	off_t end = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
	off_t blocks = end / BLOCK;
	enum found found = NO_LABEL;

	if (end < 0)
		err = errno;
	else if (blocks && !mirror_read_sector(fd, &it->label, (blocks - 1) * BLOCK))
		err = EIO;
	else if (blocks && is_label(&it->label))
		found = judge(fd, it, blocks);
	if (fd >= 0)
		close(fd);
	if (!err)
		return found;
	complain("%s: %s", it->path, strerror(err));
	return UNREADABLE;
}

/* Properties of the device, for a rule of udev */
static void print_udev(const char *uuid)
{
	printf("ID_FS_TYPE=kfi_mirror_member\nID_FS_USAGE=raid\nID_FS_UUID=%s\nID_FS_UUID_ENC=%s\n",
	       uuid, uuid);
}

static int label_one(struct labelled *it, bool udev)
{
	static const char *const refusals[] = {
		[NO_LABEL] = "its last block is no label of a mirror",
		[OTHER_VERSION] = "its last block is a label of another version; "
				  "see 'kfi mirror formats'",
		[OTHER_DEVICE] = "its last block is a label, but not of this device; "
				 "it is that of a part of it, or the metadata is gone",
	};
	const struct label *label = &it->label;
	enum found found = look_at(it);
	char uuid[37];

	if (found == COVERED && !udev)
		complain("%s: its last block is a label, but not believed: %s %s there", it->path,
			 it->cover.what,
			 it->cover.end == UINT64_MAX ? "may reach" : "reaches");
	else if (found < ARRAY_SIZE(refusals) && refusals[found] && !udev)
		complain("%s: %s", it->path, refusals[found]);
	if (found != LEG)
		return EXIT_FAILED;
	print_uuid(uuid, label->uuid);
	if (udev)
		print_udev(uuid);
	else
		printf("%s: leg of mirror %s, %" PRIu64 " sectors, metadata %s\n", it->path, uuid,
		       mirror_number(label->sectors, sizeof(label->sectors)),
		       mirror_number(label->flags, sizeof(label->flags)) & F_INTERNAL ? "behind them" :
										 "elsewhere");
	return EXIT_OK;
}

int cmd_mirror_label(int argc, char **argv)
{
	static const char usage[] =
		"Usage: kfi mirror label [-u] [-c DIR] [-n NODE] DEVICE\n\n"
		"Print whose leg a device is, by the label in its last block, which it has if its\n"
		"metadata is on it. Fails if there is no label, if it does not fit the device, or\n"
		"if a file system or partition reaches to it: then it may be that of a file. A\n"
		"device that the configuration names as this leg has its label in any case.\n\n"
		"  -c, --config DIR  folder of the configuration (" MIRROR_CONF_DIR ")\n"
		"  -n, --node NODE   this node's name in it (uname -n)\n"
		"  -u, --udev        as properties of the device, for a rule of udev\n";
	static const struct option longs[] = {
		COMMON_LONG,
		{ "config", required_argument, NULL, 'c' },
		{ "node", required_argument, NULL, 'n' },
		{ "udev", no_argument, NULL, 'u' },
		{}
	};
	struct labelled it = { .where = { MIRROR_CONF_DIR, mirror_conf_node() } };
	bool udev = false;
	int opt;

	while ((opt = getopt_long(argc, argv, COMMON_SHORT "c:n:u", longs, NULL)) != -1) {
		if (common_option(opt))
			continue;
		if (opt == 'c') {
			it.where.dir = optarg;
		} else if (opt == 'n') {
			it.where.node = optarg;
		} else if (opt == 'u') {
			udev = true;
		} else {
			fputs(usage, opt == 'h' ? stdout : stderr);
			return opt == 'h' ? EXIT_OK : EXIT_USAGE;
		}
	}
	if (argc - optind != 1)
		return usage_error("mirror label", "one DEVICE is needed");
	it.path = argv[optind];
	return label_one(&it, udev);
}
