/* SPDX-License-Identifier: GPL-2.0 */
/*
 * nb.h - the kernel's own messages over an NTB, and what a DMA engine takes by itself.
 */
#ifndef _KFI_BENCH_NB_H
#define _KFI_BENCH_NB_H

#include "../ntb.h"

int nb_transport_init(void);	/* queues at both ends of a bridge that ntb_transport has */
void nb_transport_exit(void);	/* nothing is measured any more */

#endif /* _KFI_BENCH_NB_H */
