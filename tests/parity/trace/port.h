/* SPDX-License-Identifier: GPL-2.0 */
/*
 * port.h - differences between a kernel with kfabric and a process with libfabric.
 *
 * The cases are written with kfabric's names. For libfabric names.h, which run makes from the words
 * in these sources, has a line "#define kfi_send fi_send" for each of them: only the prefix can
 * differ.
 */
#ifndef PARITY_PORT_H
#define PARITY_PORT_H

#ifdef __KERNEL__

#include <linux/kernel.h>
#include <linux/sort.h>
#include <linux/string.h>
#include <linux/types.h>
#include <linux/uio.h>

#include <kfabric.h>
#include <kfi_cm.h>
#include <kfi_domain.h>
#include <kfi_endpoint.h>
#include <kfi_eq.h>
#include <kfi_errno.h>
#include <kfi_info.h>
#include <kfi_rma.h>
#include <kfi_tagged.h>

/* A member that libfabric's messages do not have */
#define VECTOR_IS_KVEC	.type = KFI_KVEC,
/* Time limit of an event that must come: a debug kernel on a busy machine is slow. */
#define PATIENCE_MS	5000

#else

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "names.h"
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

#define kvec			iovec
#define VECTOR_IS_KVEC
#define PATIENCE_MS		2000
#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))
#define __printf(a, b)		__attribute__((format(printf, a, b)))
#define scnprintf		snprintf
#define vscnprintf		vsnprintf

#endif

void *port_alloc(size_t len);		/* zeroed; never NULL in a process */
void port_free(void *buf);
void port_line(const char *text);
uint64_t port_ms(void);
void port_nap(void);			/* sleep a short while */

/* In a kernel these calls have a handler. */
int port_cq_open(struct kfid_domain *domain, struct kfi_cq_attr *attr, struct kfid_cq **cq);
int port_eq_open(struct kfid_fabric *fabric, struct kfi_eq_attr *attr, struct kfid_eq **eq);

#endif /* PARITY_PORT_H */
