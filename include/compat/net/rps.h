/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KFI_COMPAT_NET_RPS_H
#define _KFI_COMPAT_NET_RPS_H

/* Before 6.9, <net/sock.h> has what is needed of it. */
#ifdef KFI_HAVE_RPS_H
#include_next <net/rps.h>
#else
#include <net/sock.h>
#endif

#endif
