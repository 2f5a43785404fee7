/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef _KFI_COMPAT_LINUX_SOCKET_H
#define _KFI_COMPAT_LINUX_SOCKET_H

#include_next <linux/socket.h>
#include <linux/version.h>

/*
 * 6.5: TCP takes pages by reference. Stable kernels before it may have the name for the sake of backports, but TCP
 * there copies: 0 says that it can't.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0)
#undef MSG_SPLICE_PAGES
#define MSG_SPLICE_PAGES	0
#endif

#endif
