/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef _KFI_COMPAT_LINUX_SOCKET_H
#define _KFI_COMPAT_LINUX_SOCKET_H

#include_next <linux/socket.h>
#include <linux/version.h>

/*
 * Since 6.5 TCP takes references of pages that are sent with MSG_SPLICE_PAGES. Older stable kernels
 * may define the flag for backports, but TCP ignores it and copies. There the flag is 0.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0)
#undef MSG_SPLICE_PAGES
#define MSG_SPLICE_PAGES	0
#endif

#endif
