/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kfabric: overview, fabrics, and what all objects share
 */
#ifndef KFABRIC_H
#define KFABRIC_H

#include <linux/bvec.h>
#include <linux/scatterlist.h>
#include <linux/types.h>
#include <linux/uio.h>
#include <kfi_info.h>
#include <kfi_types.h>

struct net;

/**
 * DOC: Overview
 *
 * kfabric is an interface for kernel code to send messages and tagged messages,
 * and to access remote memory, also atomically, over any transport that has a
 * provider module. The interface follows libfabric 2.x: names differ only in the
 * prefix (fi_send() is kfi_send(), struct fid_ep is struct kfid_ep), and
 * constants have the same values. Unless the comments here differ,
 * the manual pages of libfabric describe the semantics.
 *
 * A consumer requests a service with kfi_getinfo(), and opens a fabric and a
 * domain with the answer. Then it opens queues (kfi_eq_open(), kfi_cq_open()), an
 * address vector (kfi_av_open()) and endpoints (kfi_endpoint()), binds them
 * (kfi_ep_bind()) and enables the endpoint (kfi_enable()).
 *
 * Objects are opaque. Each begins with a struct kfid, and is closed by
 * kfi_close(). A parent stays while it has children, and what is bound to an
 * object stays while that is open, so a consumer closes in reverse order of
 * opening.
 *
 * When a network namespace goes, all operations of its fabrics complete, and
 * calls on the objects return -ENODEV. The objects stay until the consumer closes
 * them. When a device goes, the same happens to its domain, to what is in that,
 * and to listeners at the device: KFI_SHUTDOWN is written to the event queues of
 * the domain and its endpoints, and the error ENODEV to those of the listeners.
 * The fabric and its other domains still work.
 */

/**
 * DOC: Calling contexts
 *
 * *Setup* functions (discovery, open, bind, enable, connection management, close)
 * sleep and allocate with GFP_KERNEL. Callers in the path of memory reclaim use
 * memalloc_noio_save().
 *
 * *Data* functions (post, cancel, read a queue, register per-I/O memory) do not
 * sleep. They may be called in process context and in softirq, under spin locks
 * that are not taken in hard interrupts, and from completion handlers. They must
 * not be called in hard interrupts or with interrupts disabled.
 *
 * A completion or event handler may post, read its queue and cancel. It must not
 * close the object that it was called for, or an object that this object depends
 * on. kfi_close() returns after the last handler has returned.
 *
 * A message structure, its vectors and an array of descriptors may be on the
 * caller's stack, because a post copies them. The data buffers belong to the
 * provider from the post until the completion of the operation.
 */

/**
 * DOC: Differences from libfabric
 *
 * - kfi_cq_open() and kfi_eq_open() take a handler.
 * - Message structures have a type, which determines the kind of their vector.
 * - Flags that exist only in kfabric use bits 60 to 63, and enumerators that
 *   exist only in kfabric are 0x1000 and above.
 * - A timeout is in milliseconds; a negative one means no limit. Fatal signals
 *   end waits, other signals do not.
 * - Not supported, because the kernel has no use for them: file descriptors as
 *   wait objects, wait and poll sets, asynchronous address insertion, device
 *   memory, collectives. Enumerators of such features exist if other values
 *   depend on them, and are refused.
 */

/**
 * kfi_version() - return the version of the interface that kfi.ko implements
 *
 * Context: Any.
 * Return: KFI_VERSION(KFI_MAJOR_VERSION, KFI_MINOR_VERSION) of kfi.ko.
 */
uint32_t kfi_version(void);

/**
 * kfi_fabric() - open a fabric
 * @attr: fabric_attr of an info of kfi_getinfo()
 * @fabric: where to store the fabric; close it with kfi_close()
 * @context: pointer of the consumer, stored in kfid.context
 *
 * The module of the provider is loaded if necessary. The fabric belongs to the
 * caller's network namespace, and holds a reference to the provider's module.
 * When the namespace goes, all operations of the fabric's objects are completed,
 * and calls on the objects return -ENODEV. See fi_fabric(3).
 *
 * Context: Process context, may sleep.
 * Return: 0; -ENODATA if there is no such provider; -EINVAL if @attr lacks a
 * name, or if the name of the fabric is too long; -ENOSYS if its api_version is
 * newer than kfi_version(); -ENOMEM; or another error of the provider.
 */
int kfi_fabric(struct kfi_fabric_attr *attr, struct kfid_fabric **fabric,
	       void *context);

/**
 * kfi_fabric_net() - kfi_fabric() in another network namespace
 * @net: namespace that the fabric will belong to. The caller holds a reference
 *	during the call.
 * @attr: as kfi_fabric()
 * @fabric: as kfi_fabric()
 * @context: as kfi_fabric()
 *
 * Context: Process context, may sleep.
 * Return: as kfi_fabric().
 */
int kfi_fabric_net(struct net *net, struct kfi_fabric_attr *attr,
		   struct kfid_fabric **fabric, void *context);

/**
 * kfi_close() - close an object
 * @fid: head of the object
 *
 * Closing an endpoint ends all its outstanding operations. When the function returns, a completion
 * with ECANCELED is queued for each of them, and no handler runs for the endpoint. Entries in a
 * completion queue stay there. Closing a region waits until no peer can access its memory, and
 * until no call of its persist() is in progress; "Memory regions" in kfi_domain.h has the time
 * limits of this wait. See the manual pages of the objects, for example fi_endpoint(3).
 *
 * Context: Process context, may sleep. Not from a handler of this object.
 * Return: 0; -EBUSY if other objects depend on this one, if a kfi_mr_work of a per-I/O region is in
 * progress, or if a handle for places is in use; the object is not changed then. -EINVAL if @fid is
 * no object.
 */
int kfi_close(struct kfid *fid);

/**
 * kfi_bind() - bind an object to another one
 * @fid: endpoint, passive endpoint, domain or region
 * @bfid: object to bind to @fid
 * @flags: see the typed functions
 *
 * kfi_ep_bind(), kfi_pep_bind(), kfi_scalable_ep_bind(), kfi_domain_bind() and
 * kfi_mr_bind() are this function with types.
 *
 * Context: Process context, may sleep.
 * Return: 0; -EINVAL if such objects can't be bound, or one of the kind is bound
 * already; -KFI_EDOMAIN if the objects are of different domains or fabrics;
 * -KFI_EBADFLAGS; -KFI_EOPBADSTATE if @fid is enabled or listens already, or is
 * a domain with endpoints; -EOPNOTSUPP if nothing can be bound to an object of
 * this class; -ENODEV if the device or the namespace has gone.
 */
int kfi_bind(struct kfid *fid, struct kfid *bfid, uint64_t flags);

/* Commands of kfi_control(), with the type of arg */
enum {
	KFI_GETFIDFLAG,		/* not supported */
	KFI_SETFIDFLAG,		/* not supported */
	KFI_GETOPSFLAG,		/* not supported */
	KFI_SETOPSFLAG,		/* not supported */
	KFI_ALIAS,		/* not supported */
	KFI_GETWAIT,		/* not supported */
	KFI_ENABLE,		/* NULL */
	KFI_BACKLOG,		/* not supported */
	KFI_GET_RAW_MR,		/* not supported */
	KFI_MAP_RAW_MR,		/* not supported */
	KFI_UNMAP_KEY,		/* not supported */
	KFI_QUEUE_WORK,		/* not supported */
	KFI_CANCEL_WORK,	/* not supported */
	KFI_FLUSH_WORK,		/* not supported */
	KFI_REFRESH,		/* not supported */
	KFI_DUP,		/* not supported */
	KFI_GETWAITOBJ,		/* not supported */
	KFI_GET_VAL,		/* not supported */
	KFI_SET_VAL,		/* not supported */
	KFI_EXPORT_FID,		/* not supported */
};

/**
 * kfi_control() - control an object
 * @fid: head of the object
 * @command: one of the commands above
 * @arg: depends on @command
 *
 * kfi_enable() and kfi_mr_enable() are this function with types. See fi_control(3).
 *
 * Context: Process context, may sleep.
 * Return: 0; -ENOSYS if the command is unknown; -EOPNOTSUPP if the object or the
 * provider does not support it; -EINVAL if @fid is no object; or the error of
 * the typed function.
 */
int kfi_control(struct kfid *fid, int command, void *arg);

/**
 * kfi_open_ops() - return functions that are not part of the common interface
 * @fid: head of a fabric or domain
 * @name: name of the set of functions
 * @flags: 0
 * @ops: where to store a pointer to the set, whose structure @name determines.
 *	It is valid until @fid is closed.
 * @context: pointer of the consumer, or NULL
 *
 * kfi_cxi_ext.h has the sets. See fi_open_ops(3).
 *
 * Context: Process context, may sleep.
 * Return: 0; -ENOSYS if objects of this class have no set of that name;
 * -KFI_EBADFLAGS; -EINVAL if an argument is missing or @fid is no object.
 */
int kfi_open_ops(struct kfid *fid, const char *name, uint64_t flags,
		 void **ops, void *context);

/**
 * struct kfi_context - memory that an operation with mode KFI_CONTEXT provides
 * @internal: for the provider
 *
 * No provider of this tree requires it.
 */
struct kfi_context {
	void			*internal[4];
};

/**
 * struct kfi_context2 - memory that an operation with mode KFI_CONTEXT2 provides
 * @internal: for the provider
 *
 * No provider of this tree requires it.
 */
struct kfi_context2 {
	void			*internal[8];
};

/**
 * struct kfi_recv_context - not used; for sources written for libfabric
 * @ep: the endpoint
 * @context: the operation's context
 */
struct kfi_recv_context {
	struct kfid_ep		*ep;
	void			*context;
};

#endif /* KFABRIC_H */
