/* SPDX-License-Identifier: GPL-2.0 */
/* link_test.h - what the files of the test share */
#ifndef _KFI_LINK_TEST_H
#define _KFI_LINK_TEST_H

#include "../../providers/ntb/bridge.h"

/* main.c */
extern unsigned int up_ms;	/* milliseconds until a link has to be up */
__printf(1, 2) void say_wrong(const char *format, ...);
/* Wait until a link, or both, are up. Return: 0, -ETIMEDOUT */
int wait_link(struct nt_link *link, unsigned int ms);
int wait_up(void);

/* devices.c: devices on the side of @link write to memory of @peer */
void paged(struct nt_link *link, struct nt_link *peer);

#endif
