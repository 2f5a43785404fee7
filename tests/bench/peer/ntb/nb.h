/* SPDX-License-Identifier: GPL-2.0 */
/* nb.h - the kernel's own messages over an NTB, and a DMA engine alone */
#ifndef _KFI_BENCH_NB_H
#define _KFI_BENCH_NB_H

#include "../modules.h"

#define NB_WINDOWS	3

/**
 * struct nb_window - writes of an engine through the windows of a bridge
 * @dev: device of the engine
 * @dma: the windows, as mapped for the engine
 * @len: bytes mapped of each
 * @at: address of each block for the engine
 * @bus: blocks that are mapped for the device of the other end
 * @shown: number of blocks in @bus
 * @size: bytes of a block
 */
struct nb_window {
	struct device	*dev;
	dma_addr_t	dma[NB_WINDOWS];
	resource_size_t	len[NB_WINDOWS];
	dma_addr_t	at[BENCH_MEM_MAX];
	dma_addr_t	bus[BENCH_MEM_MAX];
	u32		shown, size;
};

int nb_window_init(void);	/* take both ends of a bridge without a client, if there is one */
void nb_window_exit(void);
/*
 * Map the blocks of @mem, or blocks of this module, whose pages are stored in @mem. Waits for the
 * link.
 */
int nb_window_open(struct nb_window *w, struct device *dev, struct bench_mem *mem);
void nb_window_close(struct nb_window *w);

int nb_transport_init(void);	/* open queues at both ends of a bridge of ntb_transport */
void nb_transport_exit(void);	/* no measurement runs */

#endif /* _KFI_BENCH_NB_H */
