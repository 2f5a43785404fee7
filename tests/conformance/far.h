/* SPDX-License-Identifier: GPL-2.0 */
/*
 * far.h - side B on another machine: cases hold proxies, and the agent there makes the calls on
 * them.
 *
 * None of it is used before far_connect().
 */
#ifndef KFI_CONFORMANCE_FAR_H
#define KFI_CONFORMANCE_FAR_H

#include <linux/types.h>

struct net;

/* Connect to the agent at @address. Objects opened in far_net() are on its machine. */
int far_connect(struct net *net, const char *address, unsigned int port, const char *provider);
void far_disconnect(void);
struct net *far_net(void);

/* Register memory that a case may pass to the other side, until far_reset(). */
void far_memory(void *p, size_t len);
/* The case is about to read it: fetch changes from the other side. */
void far_look(const void *p);
/*
 * The case is over: forget its memory. Return in @open and @refused how many objects were still
 * open there, and could not be closed.
 */
s64 far_reset(u64 *open, u64 *refused);
/*
 * Return what the case has asked for that is impossible on another machine, or NULL; far_reset()
 * clears it.
 */
const char *far_refused(void);

#endif /* KFI_CONFORMANCE_FAR_H */
