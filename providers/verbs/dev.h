/* SPDX-License-Identifier: GPL-2.0 */
/*
 * dev.h - the RDMA devices of this machine, the domains that use them, and discovery.
 *
 * A device may be removed at any moment, and its driver waits until this module does not use the
 * device any more. So each user has a reference, in one of two counts:
 *
 *	kv_dev.users	users of the device: domains, listeners, running queries
 *	kv_domain.users	users of the protection domains: the domain, its connections and regions
 *
 * Removal takes the device off the list, ends the objects that use it (kfi_device_gone()), drops
 * the domains' own references and waits for the last reference. So the time for which a reference
 * is held must not depend on a consumer or a peer: a reference is dropped in ep_stop, pep_close or
 * mr_dereg, or by a work item that these functions have queued, but not in the consumer's close.
 */
#ifndef _KFI_VERBS_DEV_H
#define _KFI_VERBS_DEV_H

#include <linux/completion.h>
#include <linux/refcount.h>
#include <rdma/ib_verbs.h>
#include <kfi_inaddr.h>
#include "wire.h"

#define KV_SQ			256		/* work requests in a send queue, a power of two */
#define KV_RECV_MAX		1024		/* receives of a MSG endpoint */
#define KV_SGE			16		/* most segments of a work request */
#define KV_DEPTH_MAX		16384		/* operations of an endpoint, each direction */
#define KV_INJECT_MAX		512
#define KV_MSG_MAX		(8UL << 20)	/* bytes of a message, or of an RMA operation */
#define KV_LINK_SQ		128		/* RDM: as KV_SQ */
#define KV_LINK_BUF		2048		/* RDM: bytes of a SEND that are copied at most */
#define KV_RECVS		64		/* RDM: receives of a connection */
#define KV_PLACE_MIN		8192		/* RDM: shortest payload for places */
#define KV_FRMR_PAGES		256U		/* most pages of one fast registration */
#define KV_KEY_PAGES	65536U		/* most pages of a region with a key of the device */
#define KV_FRMRS		32U		/* RDM: fast registrations of a connection */

/**
 * struct kv_dev - a device that this module can use
 * @ib:		the device; it exists as long as a reference is held
 * @entry:	in the list of all devices
 * @max_wr_size: bytes of one request, at any of its ports
 * @domains:	domains that use it; empty when it is removed
 * @users:	see above
 * @idle:	completed by the last user; the removal waits for it
 */
struct kv_dev {
	struct ib_device	*ib;
	struct list_head	entry;
	size_t			max_wr_size;
	struct list_head	domains;
	refcount_t		users;
	struct completion	idle;
};

/**
 * struct kv_domain - an open domain: one port of a device, one address family
 * @domain:	common part
 * @dev:	its device; @ib: device of the RDMA core; @port: its port. The pointers may be
 *		dereferenced only with a reference of kv_domain_get()
 * @names:	format of the names
 * @iwarp:	the port uses iWARP
 * @repeats:	rxe: when it retransmits a request, it executes all later requests again,
 *		including registrations
 * @pd:		protection domain of RDM endpoints, without a global key
 * @pds:	MSG endpoints, each with a protection domain of its own (kv_pd_open()); @pds_lock
 *		protects the list, and &kv_ep.pd
 * @dma:	device for which memory is mapped, with a reference, or NULL
 * @bounces:	DMA mappings may use a copy of the memory, see kv_map_mr()
 * @max_send_sge: elements of a send or write request; @max_recv_sge: of a receive;
 *		@max_sge_rd: of a read
 * @max_qp_wr:	requests of a queue; @max_receives: receives of a MSG endpoint
 * @max_frmr_pages: pages of one fast registration; @max_key_pages: the same for a registration that
 *		holds a whole region
 * @max_wr_size: as in struct kv_dev
 * @responder_resources: reads of a peer that are served at a time, per connection;
 *		@initiator_depth: reads that this side may have in flight
 * @entry:	in &kv_dev.domains
 * @users:	see above
 * @idle:	completed by the last user; domain_close waits for it
 * @regions:	regions of the domain that use registrations; read under RCU
 * @regions_lock: protects changes of @regions
 */
struct kv_domain {
	struct kfi_domain	domain;
	struct kv_dev		*dev;
	struct ib_device	*ib;
	u32			port;
	struct kfi_inaddr_names	names;
	bool			iwarp;
	bool			repeats;
	bool			bounces;
	struct ib_pd		*pd;
	struct list_head	pds;
	struct mutex		pds_lock;
	struct device		*dma;
	unsigned int		max_send_sge;
	unsigned int		max_recv_sge;
	unsigned int		max_sge_rd;
	unsigned int		max_qp_wr;
	unsigned int		max_receives;
	unsigned int		max_frmr_pages;
	unsigned int		max_key_pages;
	size_t			max_wr_size;
	u8			responder_resources;
	u8			initiator_depth;
	struct list_head	entry;
	refcount_t		users;
	struct completion	idle;
	struct list_head	regions;
	spinlock_t		regions_lock;
};

static inline struct kv_domain *to_kv_domain(struct kfi_domain *domain)
{
	return container_of(domain, struct kv_domain, domain);
}

/*
 * Return the number of receives that the queue pair of a MSG endpoint can have beside its sends.
 * One more entry of each queue is reserved for kv_qp_drain().
 */
static inline unsigned int kv_max_receives(const struct ib_device_attr *a)
{
	return clamp(min(a->max_qp_wr - 1, a->max_cqe - KV_SQ - 3), 1, KV_RECV_MAX);
}

/* dev.c: devices come and go. May sleep */
int kv_dev_init(void);
void kv_dev_exit(void);
/*
 * Return the device with a reference, or NULL if this module does not use it or if it is being
 * removed. A listener also sets &kfi_pep.device to it.
 */
struct kv_dev *kv_dev_get(const struct ib_device *ib);
void kv_dev_put(struct kv_dev *dev);	/* any context */
int kv_domain_open(struct kfi_domain *domain);
void kv_domain_close(struct kfi_domain *domain);
/* Take a reference. Return: false if the device is being removed. Any context. */
bool kv_domain_get(struct kv_domain *kdom);
void kv_domain_put(struct kv_domain *kdom);	/* may sleep */
struct kv_ep;
/* Allocate the protection domain of a MSG endpoint. Return: 0 or a negative errno. May sleep */
int kv_pd_open(struct kv_domain *kdom, struct kv_ep *vep);
void kv_pd_close(struct kv_domain *kdom, struct kv_ep *vep);	/* may sleep */

/* addr.c: names, and the devices behind them */
int kv_resolve(struct kfi_domain *domain, const char *node, const char *service, void *addr);
int kv_addr_check(struct kfi_domain *domain, u32 format, const void *addr);
/*
 * Return the device that has a local address, with a reference, and its port; NULL if there is
 * none; ERR_PTR(-ENOMEM). May sleep
 */
struct kv_dev *kv_dev_at(struct net *net, const union kfi_inaddr *addr, u32 *port);
/* Return the device of a domain, with a reference, and its port; ERR_PTR. May sleep */
struct kv_dev *kv_dev_of(const struct kfi_domain *domain, const struct kfi_inaddr_names *names,
			 u32 *port);

/* qp.c: number of requests for which a queue needs room */
int kv_qp_depth(void);

/* info.c: discovery */
int kv_getinfo(struct kfi_query *q);
u64 kv_levels(enum kfi_ep_type type);

#endif /* _KFI_VERBS_DEV_H */
