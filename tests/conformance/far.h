/* SPDX-License-Identifier: GPL-2.0 */
/*
 * far.h - side B on another machine: what the cases hold are proxies, and calls on them are made by the agent there.
 *
 * All of it is out of use, and far_of() says no, until far_connect().
 */
#ifndef KFI_CONFORMANCE_FAR_H
#define KFI_CONFORMANCE_FAR_H

#include <linux/types.h>

struct net;

/* Meet the agent at @address. Objects opened in far_net() live there. */
int far_connect(struct net *net, const char *address, unsigned int port, const char *provider);
void far_disconnect(void);
struct net *far_net(void);

/* Memory that a case may hand to the other side: from when it is made until far_reset(). */
void far_memory(void *p, size_t len);
/* The case is about to look at it: whatever came in at the other side is seen. */
void far_look(const void *p);
/* The case is over: forget its memory. How many objects were still open there, and how many could not be closed? */
s64 far_reset(u64 *open, u64 *refused);
/* What the case has asked that can't be had from another machine, or NULL; far_reset() forgets it. */
const char *far_refused(void);

#endif /* KFI_CONFORMANCE_FAR_H */
