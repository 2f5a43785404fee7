// SPDX-License-Identifier: GPL-2.0
/*
 * mirror_cover.c - what reaches to the end of a device: a file system, a partition, a partition
 * table. What is written there may have been written by whoever owns a file, or a volume.
 *
 * libblkid knows what is on a device. It tells the end of few file systems, and before version 2.39
 * of none, so the ends of those that are common are read here. The end of any other one is not
 * known, and it may be that of the device.
 */
#include <blkid.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "mirror.h"

#define SECTOR		512

#ifndef BLKID_SUBLKS_FSINFO	/* before version 2.39 */
#define BLKID_SUBLKS_FSINFO	0
#endif

static uint64_t little(const uint8_t *p, int bytes)
{
	uint64_t n = 0;

	while (bytes)
		n = n << 8 | p[--bytes];
	return n;
}

static uint64_t big(const uint8_t *p, int bytes)
{
	uint64_t n = 0;

	while (bytes--)
		n = n << 8 | *p++;
	return n;
}

/* ---- file systems: the byte behind the last one, by the superblock; 0 if it makes no sense ---- */

static uint64_t ext_end(const uint8_t *super)
{
	uint64_t blocks = little(super + 0x4, 4), log_size = little(super + 0x18, 4);

	if (little(super + 0x60, 4) & 0x80)	/* numbers of blocks have 64 bits */
		blocks |= little(super + 0x150, 4) << 32;
	return log_size <= 6 ? blocks << (10 + log_size) : 0;
}

static uint64_t xfs_end(const uint8_t *super)
{
	return big(super + 0x8, 8) * big(super + 0x4, 4);
}

/* The part of the file system that is on this device */
static uint64_t btrfs_end(const uint8_t *super)
{
	return little(super + 0xd1, 8);
}

static const struct {
	const char *type;	/* for libblkid; all types that begin so */
	off_t at;
	uint64_t (*end)(const uint8_t *super);
} systems[] = {
	{ "ext", 1024, ext_end },
	{ "xfs", 0, xfs_end },
	{ "btrfs", 65536, btrfs_end },
};

/* A number that libblkid knows of what it has found; 0 if it does not */
static uint64_t value(blkid_probe probe, const char *name)
{
	const char *text;

	return blkid_probe_lookup_value(probe, name, &text, NULL) ? 0 : strtoull(text, NULL, 10);
}

/* Return: the end of what libblkid has found, or UINT64_MAX if that is not known */
static uint64_t end_of(blkid_probe probe, int fd, const char *type)
{
	uint64_t end = value(probe, "FSLASTBLOCK") * value(probe, "FSBLOCKSIZE");
	uint8_t super[1024];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(systems); i++) {
		/* "xfs_external_log" is no XFS */
		if (strncmp(type, systems[i].type, strlen(systems[i].type)) || strchr(type, '_'))
			continue;
		if (pread(fd, super, sizeof(super), systems[i].at) != sizeof(super))
			return UINT64_MAX;
		end = systems[i].end(super);
	}
	return end ? end : UINT64_MAX;
}

/* ---- partitions ---- */

/* The byte behind what a GPT takes: its copy is at the end. 0 if there is none. */
static uint64_t gpt_end(int fd)
{
	uint8_t header[SECTOR];
	uint64_t end = 0, copy;
	off_t block;

	for (block = SECTOR; block <= 4096; block *= 8) {	/* it is in the block behind the first */
		if (pread(fd, header, sizeof(header), block) != sizeof(header) ||
		    memcmp(header, "EFI PART", 8))
			continue;
		copy = (little(header + 32, 8) + 1) * block;
		end = copy > end ? copy : end;
	}
	return end;
}

/* The byte behind the last partition, and behind the table; 0 for none */
static uint64_t partitions_end(blkid_probe probe, int fd)
{
	blkid_partlist list = blkid_probe_get_partitions(probe);
	int n = list ? blkid_partlist_numof_partitions(list) : 0, i;
	uint64_t end = gpt_end(fd), one;
	blkid_partition part;

	for (i = 0; i < n; i++) {
		part = blkid_partlist_get_partition(list, i);
		one = (blkid_partition_get_start(part) + blkid_partition_get_size(part)) * SECTOR;
		end = one > end ? one : end;
	}
	return end;
}

/* ---- all of them ---- */

static void note(struct mirror_cover *cover, const char *what, uint64_t end)
{
	if (end <= cover->end)
		return;
	cover->end = end;
	snprintf(cover->what, sizeof(cover->what), "%s", what);
}

/*
 * What is found of one kind. Each is looked for, also if there are several. The end of what is
 * encrypted is known to nobody, and none of its users chooses what stands in its last block.
 */
static int note_next(blkid_probe probe, int fd, struct mirror_cover *cover)
{
	int ret = blkid_do_probe(probe);
	const char *type, *usage;
	uint64_t end;

	if (ret || blkid_probe_lookup_value(probe, "TYPE", &type, NULL))
		return ret;
	end = end_of(probe, fd, type);
	if (end != UINT64_MAX || blkid_probe_lookup_value(probe, "USAGE", &usage, NULL) ||
	    strcmp(usage, "crypto"))
		note(cover, type, end);
	return 0;
}

void mirror_cover(int fd, struct mirror_cover *cover)
{
	blkid_probe probe = blkid_new_probe();
	int ret = -1;

	*cover = (struct mirror_cover){};
	if (probe && !blkid_probe_set_device(probe, fd, 0, 0)) {
		blkid_probe_enable_superblocks(probe, 1);
		blkid_probe_set_superblocks_flags(probe, BLKID_SUBLKS_TYPE | BLKID_SUBLKS_USAGE |
						  BLKID_SUBLKS_FSINFO);
		do {
			ret = note_next(probe, fd, cover);
		} while (!ret);
	}
	if (ret >= 0)
		note(cover, "a partition table", partitions_end(probe, fd));
	else
		note(cover, "what can't be read", UINT64_MAX);
	if (probe)
		blkid_free_probe(probe);
}

/* Open a leg as a table names it: a path, or the numbers of the device. Return: -1 if it can't */
static int open_leg(const char *leg)
{
	unsigned int major, minor;
	char *path = NULL;
	int fd;

	if (sscanf(leg, "%u:%u", &major, &minor) == 2)
		path = blkid_devno_to_devname(makedev(major, minor));
	fd = open(path ? path : leg, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	free(path);
	return fd;
}

bool mirror_leg_fits(const char *name, const char *leg, uint64_t bytes)
{
	struct mirror_cover cover = {};
	int fd = open_leg(leg);

	if (fd >= 0) {
		mirror_cover(fd, &cover);
		close(fd);
	}
	if (cover.end <= bytes || cover.end == UINT64_MAX)
		return true;
	complain("%s: %s on %s has %" PRIu64 " bytes, and the mirror has %" PRIu64
		 ": make it shorter first, or 'wipefs -a' if it is not needed", name, cover.what, leg,
		 cover.end, bytes);
	return false;
}
