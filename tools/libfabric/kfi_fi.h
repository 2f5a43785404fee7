/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kfi_fi.h - objects of the provider, and the functions that its files share
 *
 * Each object begins with libfabric's fid and contains its handle in the kernel. The kernel has the
 * references between objects: it refuses to close an object that another object still uses, and the
 * library frees its part of an object only after the kernel has closed the kernel's part. So the
 * pointers below are valid as long as the object that contains them is open.
 *
 * Locks: eq->lock is taken before fabric->lock, and domain->post_lock before cq->lock. The lock of
 * device.c is held across fork(); no other lock is taken under it.
 */
#ifndef KFI_FI_H
#define KFI_FI_H

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <rdma/providers/fi_log.h>
#include <rdma/providers/fi_prov.h>

#include <linux/kfi_user.h>

/* Versions of libfabric's interface from which on some flags and modes have another meaning */
#define KFI_API_MODES	FI_VERSION(1, 5)	/* mr_mode is a set of bits */
#define KFI_API_HMEM	FI_VERSION(1, 9)	/* struct fi_mr_attr has iface */
#define KFI_API_2	FI_VERSION(2, 0)	/* bits 45, 46 and 48 of caps have new meanings */

/* Values of mr_mode from before it was a set of bits; headers of libfabric 2 warn of their names */
#define KFI_MR_UNSPEC	0
#define KFI_MR_BASIC	(1 << 0)
#define KFI_MR_SCALABLE	(1 << 1)

/* mr_mode bits that are required of programs of any version, if they support them */
#define KFI_MR_BITS	(FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY)

#define KFI_LEVELS	(FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE | \
			 FI_MATCH_COMPLETE | FI_COMMIT_COMPLETE)

#define KFI_BATCH_MAX	64	/* posts with FI_MORE that are gathered for one call */

#define kfi_container(ptr, type, member) ((type *)((char *)(ptr) - offsetof(type, member)))

extern struct fi_provider kfi_prov;

/* ---- objects ---- */

/*
 * One open of the device. @fd is -1 in a child of fork(), which may not use the objects of its
 * parent; nothing else changes it.
 */
struct kfi_fabric {
	struct fid_fabric	fid;
	int			fd;
	uint32_t		handle;
	char			prov_name[KFI_USER_NAME_MAX];	/* of the kernel */
	char			name[KFI_USER_NAME_MAX];
	pthread_mutex_t		lock;		/* wait descriptors, connection requests */

	LIST_HEAD(, kfi_connreq) orphans;	/* requests whose passive endpoint is closed */

	LIST_ENTRY(kfi_fabric)	entry;		/* kfi_fabrics, under its lock */
};

struct kfi_domain {
	struct fid_domain	fid;
	struct kfi_fabric	*fabric;
	uint32_t		handle;
	int			mr_mode;	/* requirements on registrations */
	struct kfi_user_info	info;		/* info with which shared contexts are opened */
	pthread_mutex_t		post_lock;	/* all batches of the domain, and their list */

	LIST_HEAD(, kfi_batch)	batches;	/* batches that are not empty */
	atomic_uint		batched;	/* entries of the list */
	atomic_bool		stuck;		/* the kernel had no room for one of them */
};

/* Posts with FI_MORE that the kernel has not received yet, of one direction of an endpoint */
struct kfi_batch {
	struct kfi_ep		*ep;
	struct kfi_user_desc	*descs;		/* KFI_BATCH_MAX; allocated by the first post */
	atomic_uint		count;		/* changes under post_lock */

	LIST_ENTRY(kfi_batch)	entry;
};

/* How a thread waits for an object. @fd is -1 until FI_GETWAIT, and changes under fabric->lock. */
struct kfi_wait {
	enum fi_wait_obj	obj;
	int			fd;
};

/* A gathered operation that the kernel has refused: an error entry of the library's own */
struct kfi_late {
	STAILQ_ENTRY(kfi_late)	entry;
	struct kfi_user_cqe	cqe;
};

struct kfi_cq {
	struct fid_cq		fid;
	struct kfi_domain	*domain;
	uint32_t		handle;
	enum fi_cq_format	format;
	struct kfi_wait		wait;
	size_t			ring_bytes;
	struct kfi_user_ring	*ring;
	struct kfi_user_cqe	*slots;
	uint32_t		mask;
	pthread_mutex_t		lock;		/* everything below, and taking from the ring */
	uint32_t		head;		/* slots taken; ring->head is for the kernel */
	bool			moved;		/* head was stored since overflow was read */
	unsigned int		idle;		/* reads of an empty ring in a row */
	bool			signalled;	/* the kernel has a signal for an error in @late */
	atomic_bool		signal_pending;	/* the kernel has a signal of fi_cq_signal() */

	STAILQ_HEAD(, kfi_late)	late;
};

/* The event that was read last and not taken yet, with its data */
struct kfi_event {
	struct kfi_user_event	event;
	struct fi_info		*info;		/* of a connection request */
	uint8_t			data[KFI_USER_DATA_MAX];
};

struct kfi_eq {
	struct fid_eq		fid;
	struct kfi_fabric	*fabric;
	uint32_t		handle;
	struct kfi_wait		wait;
	pthread_mutex_t		lock;		/* everything below */
	bool			pending;	/* @next is valid */
	bool			signalled;	/* the kernel has a signal: an event is in @next */
	struct kfi_event	next;
	uint8_t			err_data[KFI_USER_DATA_MAX];	/* of the last fi_eq_readerr() */
};

struct kfi_cntr {
	struct fid_cntr		fid;
	struct kfi_domain	*domain;
	uint32_t		handle;
	struct kfi_wait		wait;

	_Atomic uint32_t	idle;		/* reads in a row that have seen @last */
	_Atomic uint64_t	last;
	size_t			map_bytes;
	const struct kfi_user_count *count;
};

struct kfi_av {
	struct fid_av		fid;
	struct kfi_domain	*domain;
	uint32_t		handle;
	uint32_t		addrlen;
};

struct kfi_mr {
	struct fid_mr		fid;
	struct kfi_domain	*domain;
	uint32_t		handle;
	uint64_t		offset;		/* address of the first byte for peers */
};

/* Counters of an endpoint that count gathered operations which fail */
enum kfi_counted {
	KFI_COUNT_SEND,
	KFI_COUNT_RECV,
	KFI_COUNT_READ,
	KFI_COUNT_WRITE,
	KFI_COUNTED,
};

/*
 * An endpoint or shared receive context. An alias is a struct of its own with other default flags;
 * @base is the endpoint of which it is an alias, and which has the batches.
 */
struct kfi_ep {
	struct fid_ep		fid;
	struct kfi_domain	*domain;
	uint32_t		handle;
	struct kfi_ep		*base;
	unsigned int		aliases;	/* of a base, under domain->post_lock */
	uint64_t		tx_flags;	/* flags of posts that have no flags argument */
	uint64_t		rx_flags;
	uint64_t		tx_always;	/* KFI_USER_COMPLETION, unless selective */
	uint64_t		rx_always;
	bool			directed;	/* receives may name a source */
	uint32_t		addr_format;
	/* bytes of an address if its format does not define the length */
	size_t			addrlen;
	struct kfi_cq		*tx_cq;
	struct kfi_cq		*rx_cq;
	struct kfi_eq		*eq;
	struct kfi_ep		*srx;
	struct kfi_cntr		*cntr[KFI_COUNTED];
	struct kfi_batch	batch[2];	/* transmit, receive */
};

struct kfi_pep {
	struct fid_pep		fid;
	struct kfi_fabric	*fabric;
	uint32_t		handle;
	struct kfi_eq		*eq;
	struct fi_info		*info;

	LIST_HEAD(, kfi_connreq) connreqs;	/* under fabric->lock */
};

/*
 * A connection request, until an endpoint is opened for it or it is rejected. fi_freeinfo() does
 * not free info->handle, so a request that is not taken is freed with the fabric. @handle is 0
 * after the passive endpoint was closed: the kernel has rejected the request.
 */
struct kfi_connreq {
	struct fid		fid;
	struct kfi_fabric	*fabric;
	uint32_t		handle;

	LIST_ENTRY(kfi_connreq)	entry;
};

struct kfi_stx {
	struct fid_stx		fid;
	struct kfi_domain	*domain;
	uint32_t		handle;
};

/* ---- device.c: the device ---- */

/*
 * Open the device for a fabric, whose other members need not be set yet. *@api is set to the
 * version of the kernel's interface. Return: 0 or a negative error.
 */
int kfi_device_open(struct kfi_fabric *fabric, uint32_t *api);
void kfi_device_close(struct kfi_fabric *fabric);
/* Return: 0 or a negative error of libfabric */
int kfi_call(const struct kfi_fabric *fabric, unsigned long request, void *arg);
int kfi_handle_close(const struct kfi_fabric *fabric, uint32_t handle);
int kfi_bind(const struct kfi_fabric *fabric, uint32_t handle, uint32_t target, uint64_t flags);
void *kfi_map(const struct kfi_fabric *fabric, uint32_t handle, size_t bytes, bool writable);

int kfi_device_watch_fork(void);

/* ---- name.c: names of hosts and services ---- */

int kfi_resolve(const char *node, const char *service, uint32_t addr_format, uint64_t flags,
		int (*call)(void *arg, const char *node, const char *service), void *arg,
		int unknown);

int kfi_wait_init(struct kfi_wait *wait, enum fi_wait_obj obj);
int kfi_wait_control(struct kfi_fabric *fabric, uint32_t handle, struct kfi_wait *wait, int command,
		     void *arg);
void kfi_wait_close(struct kfi_wait *wait);

/*
 * Return the time @timeout_ms from now, and the time left until then; a negative timeout never ends
 */
uint64_t kfi_deadline(int timeout_ms);
int kfi_time_left(uint64_t deadline);

/* ---- info.c: struct fi_info and its flat form ---- */

int kfi_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
		const struct fi_info *hints, struct fi_info **info);
int kfi_info_pack(const struct fi_info *info, uint32_t version, struct kfi_user_info *flat,
		  const char **provider);
struct fi_info *kfi_info_unpack(const struct kfi_user_info *flat, uint32_t version);
void kfi_pack_tx(const struct fi_tx_attr *attr, struct kfi_user_info *flat);
void kfi_pack_rx(const struct fi_rx_attr *attr, struct kfi_user_info *flat);
int kfi_mr_bits(uint32_t version, int mr_mode);
int kfi_name_split(const char *name, char *provider, char *rest);

/* ---- objects ---- */

int kfi_fabric_open(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context);
int kfi_eq_open(struct fid_fabric *fabric, struct fi_eq_attr *attr, struct fid_eq **eq,
		void *context);
/* @fid is closed: drop an event about it. */
void kfi_eq_purge(struct kfi_eq *eq, const struct fid *fid);
bool kfi_eq_ready(struct kfi_eq *eq);
int kfi_pep_open(struct fid_fabric *fabric, struct fi_info *info, struct fid_pep **pep,
		 void *context);
int kfi_domain_open(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **domain,
		    void *context);
int kfi_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **cq,
		void *context);
bool kfi_cq_ready(struct kfi_cq *cq);
/* Return: false if there is no memory for it */
bool kfi_cq_add_late(struct kfi_cq *cq, const struct kfi_user_cqe *cqe);
int kfi_cntr_open(struct fid_domain *domain, struct fi_cntr_attr *attr, struct fid_cntr **cntr,
		  void *context);
int kfi_av_open(struct fid_domain *domain, struct fi_av_attr *attr, struct fid_av **av,
		void *context);
int kfi_ep_open(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep, void *context);
int kfi_stx_open(struct fid_domain *domain, struct fi_tx_attr *attr, struct fid_stx **stx,
		 void *context);
int kfi_srx_open(struct fid_domain *domain, struct fi_rx_attr *attr, struct fid_ep **srx,
		 void *context);
int kfi_getopt(const struct kfi_fabric *fabric, uint32_t handle, int level, int name, void *value,
	       size_t *len);

/* these tables identify objects of this provider */
extern struct fi_ops kfi_domain_fid_ops, kfi_fabric_fid_ops;
extern struct fi_ops_mr kfi_mr_ops;

/* ---- cm.c: connections ---- */

extern struct fi_ops_cm kfi_cm_ops;		/* of endpoints */
extern struct fi_ops_cm kfi_pep_cm_ops;
struct kfi_connreq *kfi_connreq_new(struct kfi_pep *pep, uint32_t handle);
/*
 * Free a request for which an endpoint was opened, or that is not needed any more. The handle in
 * its info is invalid after this.
 */
void kfi_connreq_free(struct kfi_connreq *req);

/* ---- posting ---- */

extern struct fi_ops_msg kfi_msg_ops;
extern struct fi_ops_tagged kfi_tagged_ops;
extern struct fi_ops_rma kfi_rma_ops;
extern struct fi_ops_atomic kfi_atomic_ops;
int kfi_query_atomic(struct fid_domain *domain, enum fi_datatype datatype, enum fi_op op,
		     struct fi_atomic_attr *attr, uint64_t flags);

/* ---- post.c ---- */

ssize_t kfi_post_gather(struct kfi_ep *ep, struct kfi_batch *batch,
			const struct kfi_user_desc *desc);
ssize_t kfi_post_one(const struct kfi_ep *ep, struct kfi_user_desc *desc);
void kfi_flush_batches(struct kfi_domain *domain);
void kfi_batch_drop(struct kfi_ep *ep);

static inline bool kfi_is_recv(const struct kfi_user_desc *desc)
{
	return desc->opcode == KFI_USER_RECV || desc->opcode == KFI_USER_TRECV;
}

/* Post one operation, or gather it. A post first posts the operations that were gathered before. */
static inline ssize_t kfi_post(struct kfi_ep *ep, struct kfi_user_desc *desc)
{
	struct kfi_batch *batch = &ep->base->batch[kfi_is_recv(desc)];

	desc->ep = ep->handle;
	if (!(desc->flags & (FI_MORE | FI_TRIGGER)) &&
	    !atomic_load_explicit(&batch->count, memory_order_relaxed))
		return kfi_post_one(ep, desc);
	return kfi_post_gather(ep, batch, desc);
}

/* Post gathered operations. Called by each read of a queue or counter. */
static inline void kfi_flush(struct kfi_domain *domain)
{
	if (atomic_load_explicit(&domain->batched, memory_order_relaxed))
		kfi_flush_batches(domain);
}

/*
 * Set the segments of a vector: one is stored in the descriptor itself, several in an array beside
 * it.
 */
static inline int kfi_set_iov(struct kfi_user_desc *desc, const struct iovec *iov, size_t count,
			      struct kfi_user_iovec *room)
{
	size_t i;

	if (count == 1) {
		desc->buf = (uintptr_t)iov->iov_base;
		desc->len = iov->iov_len;
		return 0;
	}
	if (count > KFI_USER_IOV_MAX)
		return -FI_EINVAL;
	for (i = 0; i < count; i++) {
		room[i] = (struct kfi_user_iovec){ (uintptr_t)iov[i].iov_base, iov[i].iov_len };
		desc->len += iov[i].iov_len;
	}
	desc->buf = count ? (uintptr_t)room : 0;
	desc->iov_count = count;
	return 0;
}

/* ---- refuse.c: functions for the slots of operations that an object does not have ---- */

int kfi_no_bind(struct fid *fid, struct fid *bfid, uint64_t flags);
int kfi_no_control(struct fid *fid, int command, void *arg);
int kfi_no_ops_open(struct fid *fid, const char *name, uint64_t flags, void **ops, void *context);
int kfi_no_tostr(const struct fid *fid, char *buf, size_t len);
int kfi_no_ops_set(struct fid *fid, const char *name, uint64_t flags, void *ops, void *context);
ssize_t kfi_no_cancel(fid_t fid, void *context);
int kfi_no_getopt(fid_t fid, int level, int name, void *value, size_t *len);
int kfi_no_setopt(fid_t fid, int level, int name, const void *value, size_t len);
int kfi_no_tx_ctx(struct fid_ep *sep, int index, struct fi_tx_attr *attr, struct fid_ep **ep,
		  void *context);
int kfi_no_rx_ctx(struct fid_ep *sep, int index, struct fi_rx_attr *attr, struct fid_ep **ep,
		  void *context);
ssize_t kfi_no_size_left(struct fid_ep *ep);
int kfi_no_setname(fid_t fid, void *addr, size_t addrlen);
int kfi_no_getname(fid_t fid, void *addr, size_t *addrlen);
int kfi_no_getpeer(struct fid_ep *ep, void *addr, size_t *addrlen);
int kfi_no_connect(struct fid_ep *ep, const void *addr, const void *param, size_t paramlen);
int kfi_no_listen(struct fid_pep *pep);
int kfi_no_accept(struct fid_ep *ep, const void *param, size_t paramlen);
int kfi_no_reject(struct fid_pep *pep, fid_t handle, const void *param, size_t paramlen);
int kfi_no_shutdown(struct fid_ep *ep, uint64_t flags);
int kfi_no_join(struct fid_ep *ep, const void *addr, uint64_t flags, struct fid_mc **mc,
		void *context);
extern struct fi_ops_cm kfi_no_cm_ops;	/* of shared receive contexts */

#endif /* KFI_FI_H */
