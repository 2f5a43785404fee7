/* SPDX-License-Identifier: GPL-2.0 */
/* command.h - what kfi_ntb_mock.ko offers to tests in the kernel. */
#ifndef KFI_NTB_MOCK_COMMAND_H
#define KFI_NTB_MOCK_COMMAND_H

#include <linux/types.h>

/*
 * A line as for the file control. It may sleep, and "kill" and "revive" remove and add a device:
 * never from within a client's probe or remove. 0 or an error.
 */
int kfi_ntb_mock_command(const char *line);

/* A counter of an end by its name in the file stats; ~0 if there is none. Any context. */
u64 kfi_ntb_mock_count(int bridge, int port, const char *name);

/*
 * What the client of an end shows its peer by a window.
 * @first: where in memory its first byte is; 0: nowhere. Any context.
 * Return: bytes; 0: it is closed
 */
u64 kfi_ntb_mock_shows(int bridge, int port, int window, phys_addr_t *first);

#endif
