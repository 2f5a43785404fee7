/* SPDX-License-Identifier: GPL-2.0 */
/* command.h - functions of kfi_ntb_mock.ko for tests in the kernel */
#ifndef KFI_NTB_MOCK_COMMAND_H
#define KFI_NTB_MOCK_COMMAND_H

#include <linux/types.h>

/*
 * Execute a line as of the file control. It may sleep. "kill" and "revive" remove and add a device,
 * so they must not be called from probe or remove of a client. Return: 0 or an error
 */
int kfi_ntb_mock_command(const char *line);

/* Return a counter of an end, by its name in the file stats; ~0 if there is none. Any context. */
u64 kfi_ntb_mock_count(int bridge, int port, const char *name);

struct page;

/*
 * A device of the writer's machine, other than CPU and DMA engine, writes @len bytes to a page of a
 * window (parameter pages). See the command "devices". Return: false: the page is none of a window.
 * Any context.
 */
bool kfi_ntb_mock_device_write(struct page *page, size_t off, const void *src, size_t len);

/*
 * In kfi_iommu_mock.ko, set by kfi_ntb_mock.ko: waits until accesses have ended that have translated
 * their addresses before. Called in any context, so it does not sleep.
 */
extern void (*kfi_iommu_mock_wait)(void);

#endif
