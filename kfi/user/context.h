/* SPDX-License-Identifier: GPL-2.0 */
/*
 * context.h - the file operations of /dev/kfi.
 */
#ifndef _KFI_USER_CONTEXT_H
#define _KFI_USER_CONTEXT_H

#include "user.h"

int ku_open(struct inode *inode, struct file *file);
int ku_release(struct inode *inode, struct file *file);
int ku_mmap(struct file *file, struct vm_area_struct *vma);

#endif /* _KFI_USER_CONTEXT_H */
