// SPDX-License-Identifier: GPL-2.0
/*
 * leg.c - what the kernel writes at the end of a leg, and how much room it needs there, by the code
 * of the kernel (proto.c and sizes.c of ulps/mirror), for tests of `kfi mirror`:
 *
 *   leg internal FILE SECTORS   superblocks behind the data of so many sectors, and a label
 *				 in the last block of the file
 *   leg astray FILE SECTORS     the same, but all of that one block later than it should be
 *   leg label FILE SECTORS      metadata is elsewhere: a label in the first block behind the data
 *   leg log FILE 0		 the two heads of a log, at the beginning of the file
 *   leg version FILE BYTE VERSION   the block there becomes one of this version
 *   leg room SECTORS            print how many bytes the shortest leg has for such a mirror with
 *				 as many peers as can be and with a log, all of that on the leg
 */
#include <err.h>
#include <fcntl.h>
#include <unistd.h>

#include "proto.h"

#define RING	(17ull << 20)	/* what of a log is used at most, says kfi_mirror(7) */

u32 crc32c(u32 crc, const void *p, size_t len)
{
	const u8 *byte = p;
	int bit;

	while (len--) {
		crc ^= *byte++;
		for (bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
	}
	return crc;
}

static u64 behind_data(u64 sectors)
{
	return (sectors * KFM_SECTOR + KFM_BLOCK - 1) / KFM_BLOCK * KFM_BLOCK;
}

static void put(int fd, u64 at, const void *sector)
{
	if (pwrite(fd, sector, KFM_SECTOR, at) != KFM_SECTOR)
		err(1, "write");
}

static void make(const char *path, u64 sectors, bool internal, u64 at)
{
	struct kfm_super super = { .serial = 1, .uuid = "mirrored UUID 01", .node = 1,
				   .sectors = sectors, .peers = 1, .flags = KFM_SB_INTERNAL };
	struct kfm_label label = { .node = 1, .sectors = sectors };
	int fd = open(path, O_RDWR);
	struct kfm_le_super block;
	struct kfm_le_label last;
	u64 i;

	if (fd < 0)
		err(1, "%s", path);
	memcpy(label.uuid, super.uuid, sizeof(label.uuid));
	if (internal) {
		label.flags = KFM_LABEL_INTERNAL;
		label.at = at;
		for (i = 0; i < 2; i++, super.serial++) {
			kfm_super_encode(&super, &block);
			put(fd, at + i * KFM_BLOCK, &block);
		}
		at = lseek(fd, 0, SEEK_END) / KFM_BLOCK * KFM_BLOCK - KFM_BLOCK;
	}
	kfm_label_encode(&label, &last);
	put(fd, at, &last);
	close(fd);
}

static void make_log(const char *path)
{
	struct kfm_log_head head = { .serial = 1, .id = 1, .seq = 1, .ring = KFM_RING_MIN };
	int fd = open(path, O_RDWR);
	struct kfm_le_log block;

	if (fd < 0)
		err(1, "%s", path);
	for (; head.serial < 3; head.serial++) {
		kfm_log_encode(&head, &block);
		put(fd, (head.serial & 1) * KFM_BLOCK, &block);
	}
	close(fd);
}

static void set_version(const char *path, u64 at, u32 version)
{
	u32 words[KFM_SECTOR / sizeof(u32)];
	int fd = open(path, O_RDWR);

	if (fd < 0 || pread(fd, words, sizeof(words), at) != sizeof(words))
		err(1, "%s", path);
	words[KFM_VERSION_AT / sizeof(u32)] = cpu_to_le32(version);
	words[KFM_VERSION_AT / sizeof(u32) + 1] = 0;
	words[KFM_VERSION_AT / sizeof(u32) + 1] = cpu_to_le32(crc32c(~0u, words, sizeof(words)));
	put(fd, at, words);
	close(fd);
}

int main(int argc, char **argv)
{
	u64 sectors = argc > 2 ? strtoull(argv[argc - 1], NULL, 10) : 0;

	if (argc == 3 && !strcmp(argv[1], "room"))
		printf("%llu\n", (unsigned long long)(behind_data(sectors) + KFM_RING_AT + RING +
						      kfm_meta_bytes(sectors, KFM_PEERS) +
						      KFM_BLOCK));
	else if (argc == 4 && !strcmp(argv[1], "log"))
		make_log(argv[2]);
	else if (argc == 5)
		set_version(argv[2], strtoull(argv[3], NULL, 10), strtoul(argv[4], NULL, 10));
	else if (argc == 4)
		make(argv[2], sectors, strcmp(argv[1], "label"),
		     behind_data(sectors) + (strcmp(argv[1], "astray") ? 0 : KFM_BLOCK));
	return argc < 3;
}
