/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef _KFI_COMPAT_LINUX_SOCKET_H
#define _KFI_COMPAT_LINUX_SOCKET_H

#include_next <linux/socket.h>

/*
 * Since 6.5 TCP takes references of pages that are sent with MSG_SPLICE_PAGES. Older stable kernels
 * may define the flag for backports, but TCP ignores it and copies. There the flag is 0.
 */
#ifndef KFI_HAVE_SKB_SPLICE
#undef MSG_SPLICE_PAGES
#define MSG_SPLICE_PAGES	0
#endif

#endif
