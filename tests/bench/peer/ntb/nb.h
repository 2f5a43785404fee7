/* SPDX-License-Identifier: GPL-2.0 */
/*
 * nb.h - the kernel's own messages over an NTB, and what a DMA engine takes by itself.
 */
#ifndef _KFI_BENCH_NB_H
#define _KFI_BENCH_NB_H

#include "../ntb.h"

#define NB_WINDOWS	3

/**
 * struct nb_window - the way of an engine through the windows of a bridge of ours
 * @dev: the engine's device
 * @dma: the windows, for it; @len: bytes mapped of each
 * @at: where it writes each block
 * @bus: blocks that are mapped for the other end's device, @shown of them, @size bytes each
 */
struct nb_window {
	struct device	*dev;
	dma_addr_t	dma[NB_WINDOWS];
	resource_size_t	len[NB_WINDOWS];
	dma_addr_t	at[BENCH_MEM_MAX];
	dma_addr_t	bus[BENCH_MEM_MAX];
	u32		shown, size;
};

int nb_window_init(void);	/* both ends of a bridge that nobody has, if there is one */
void nb_window_exit(void);
/*
 * The way to the blocks of @mem, or to as many of ours, whose pages @mem gets. Waits for the link.
 */
int nb_window_open(struct nb_window *w, struct device *dev, struct bench_mem *mem);
void nb_window_close(struct nb_window *w);

int nb_transport_init(void);	/* queues at both ends of a bridge that ntb_transport has */
void nb_transport_exit(void);	/* nothing is measured any more */

#endif /* _KFI_BENCH_NB_H */
