/* SPDX-License-Identifier: GPL-2.0 */
/* command.h - functions of kfi_usb4_mock.ko for tests in the kernel */
#ifndef KFI_USB4_MOCK_COMMAND_H
#define KFI_USB4_MOCK_COMMAND_H

#include <linux/types.h>

/*
 * Execute a line as of the file control. It may sleep. "suspend", "resume" and "shutdown" call
 * service drivers. Return: 0 or an error
 */
int kfi_usb4_mock_command(const char *line);

/*
 * Return a counter of host 'a' or 'b', by its name in the file stats; ~0 if there is none. Any
 * context.
 */
u64 kfi_usb4_mock_count(char host, const char *name);

#endif
