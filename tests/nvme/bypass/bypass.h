/* SPDX-License-Identifier: GPL-2.0 */
/* bypass.h - the two parts of kfi_nvme_bypass.ko */
#ifndef KFI_NVME_BYPASS_H
#define KFI_NVME_BYPASS_H

#include <linux/hash.h>
#include <linux/types.h>

struct dentry;

#define BYPASS_DISK	"bypass0"
#define BYPASS_MIB	64

/* The word of the disk at byte @pos, a multiple of 8 */
static inline u64 bypass_word(u64 pos)
{
	return hash_64(pos + 1, 64) ^ pos;
}

int bypass_disk_init(struct dentry *dir);
void bypass_disk_exit(void);
void bypass_reader_init(struct dentry *dir);

#endif
