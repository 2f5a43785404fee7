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
 * kfabric gives kernel code one interface for messages, tagged messages,
 * remote memory access and atomics over any transport that has a provider
 * module. The interface follows libfabric 2.x: names differ by the prefix
 * only (fi_send() is kfi_send(), struct fid_ep is struct kfid_ep), constants
 * have the same values, and the manual pages of libfabric describe the
 * semantics wherever the comments here say nothing else.
 *
 * A consumer asks for a service with kfi_getinfo(), opens a fabric and a
 * domain from the answer, then queues (kfi_eq_open(), kfi_cq_open()), an
 * address vector (kfi_av_open()) and endpoints (kfi_endpoint()), binds them
 * (kfi_ep_bind()) and enables the endpoint (kfi_enable()).
 *
 * Objects are opaque. Each begins with a struct kfid; kfi_close() ends it.
 */

/**
 * DOC: Calling contexts
 *
 * *Setup* calls (discovery, open, bind, enable, connection management, close)
 * sleep and allocate with GFP_KERNEL. Callers in the path of memory reclaim
 * wrap them in memalloc_noio_save().
 *
 * *Data* calls (post, cancel, read of a queue, per-I/O registration) do not
 * sleep. They are legal in process context and in softirq, under spin locks
 * that are not taken in hard interrupts, and from completion handlers. They
 * are not legal in hard interrupts or with interrupts disabled.
 *
 * A completion or event handler may post, read its queue and cancel. It may
 * not close the object it was called for, nor anything that object depends
 * on. kfi_close() returns only after the last handler has returned.
 *
 * A message structure, its vectors and a descriptor array may be on the
 * caller's stack: a post copies them. The data buffers belong to the provider
 * from the post until the completion of the operation.
 */

/**
 * DOC: Differences from libfabric
 *
 * - kfi_cq_open() and kfi_eq_open() take a handler;
 * - message structures say by a type what their vector consists of;
 * - the kernel-only flags lie in bits 60 to 63 and the kernel-only
 *   enumerators at 0x1000 and above;
 * - a timeout is in milliseconds, a negative one means forever, and waits can
 *   be ended by a fatal signal;
 * - kfi_tostr() returns memory that the caller frees;
 * - not here, because nothing in a kernel wants them: file descriptors as
 *   wait objects, wait and poll sets, asynchronous address insertion, device
 *   memory, collectives. Enumerators of such things exist where the numbering
 *   needs them and are refused.
 */

/**
 * kfi_version() - version of the interface that the core implements
 *
 * Context: Any.
 * Return: KFI_VERSION(KFI_MAJOR_VERSION, KFI_MINOR_VERSION) of kfi.ko.
 */
uint32_t kfi_version(void);

/**
 * kfi_fabric() - open a fabric
 * @attr: the fabric_attr of an answer of kfi_getinfo()
 * @fabric: where to put the fabric; close it with kfi_close()
 * @context: consumer's pointer, kept in the object
 *
 * The fabric belongs to the caller's network namespace and holds a reference
 * to the provider's module. When the namespace goes away the fabric's objects
 * are drained and answer -ENODEV. See fi_fabric(3).
 *
 * Context: Process context, may sleep.
 * Return: 0; -ENODATA if the provider has gone or does not know the name,
 * -EINVAL, -ENOMEM.
 */
int kfi_fabric(struct kfi_fabric_attr *attr, struct kfid_fabric **fabric,
	       void *context);

/**
 * kfi_fabric_net() - kfi_fabric() in a given network namespace
 * @net: the namespace that the fabric will belong to
 * @attr: as there
 * @fabric: as there
 * @context: as there
 *
 * Context: Process context, may sleep.
 * Return: as kfi_fabric().
 */
int kfi_fabric_net(struct net *net, struct kfi_fabric_attr *attr,
		   struct kfid_fabric **fabric, void *context);

/**
 * kfi_close() - end an object
 * @fid: its head
 *
 * Closing an endpoint ends all its outstanding operations: one ECANCELED for
 * each has been queued when the call returns, and no handler runs or will
 * run on its behalf. Entries that are in a completion queue stay there.
 * Closing a region waits until no peer can touch its memory any more, and for
 * calls of its persist().
 *
 * Context: Process context, may sleep. Not from a handler of this object.
 * Return: 0; -EBUSY if other objects depend on this one, which then stays as
 * it was.
 */
int kfi_close(struct kfid *fid);

/**
 * kfi_bind() - associate two objects
 * @fid: what to bind to: an endpoint, passive endpoint, domain or region
 * @bfid: what to bind
 * @flags: see the typed calls
 *
 * kfi_ep_bind(), kfi_pep_bind(), kfi_scalable_ep_bind(), kfi_domain_bind() and
 * kfi_mr_bind() are this call with types.
 *
 * Context: Process context, may sleep.
 * Return: 0; -EINVAL for classes that do not go together or a second binding
 * of a kind, -KFI_EDOMAIN for objects of different domains, -KFI_EBADFLAGS,
 * -KFI_EOPBADSTATE if @fid is enabled already, -EOPNOTSUPP.
 */
int kfi_bind(struct kfid *fid, struct kfid *bfid, uint64_t flags);

/* Commands of kfi_control(), with the type of the argument */
enum {
	KFI_GETFIDFLAG,		/* uint64_t * */
	KFI_SETFIDFLAG,		/* uint64_t * */
	KFI_GETOPSFLAG,		/* uint64_t *, with KFI_TRANSMIT or KFI_RECV */
	KFI_SETOPSFLAG,		/* uint64_t *, with KFI_TRANSMIT or KFI_RECV */
	KFI_ALIAS,		/* struct kfi_alias * */
	KFI_GETWAIT,		/* refused */
	KFI_ENABLE,		/* NULL */
	KFI_BACKLOG,		/* int *, connection requests held */
	KFI_GET_RAW_MR,		/* struct kfi_mr_raw_attr * */
	KFI_MAP_RAW_MR,		/* struct kfi_mr_map_raw * */
	KFI_UNMAP_KEY,		/* uint64_t * */
	KFI_QUEUE_WORK,		/* struct kfi_deferred_work * */
	KFI_CANCEL_WORK,	/* struct kfi_deferred_work * */
	KFI_FLUSH_WORK,		/* NULL; of a domain or a counter */
	KFI_REFRESH,		/* struct kfi_mr_modify * */
	KFI_DUP,		/* refused */
	KFI_GETWAITOBJ,		/* enum kfi_wait_obj * */
	KFI_GET_VAL,		/* refused */
	KFI_SET_VAL,		/* refused */
	KFI_EXPORT_FID,		/* refused */
};

/**
 * struct kfi_alias - argument of KFI_ALIAS
 * @fid: where to put the alias
 * @flags: default operation flags of the alias, with KFI_TRANSMIT or KFI_RECV
 */
struct kfi_alias {
	struct kfid		**fid;
	uint64_t		flags;
};

/**
 * struct kfi_mr_raw_attr - argument of KFI_GET_RAW_MR
 * @flags: 0
 * @base_addr: where to put the address of the region's first byte
 * @raw_key: where to put the key
 * @key_size: bytes at @raw_key; replaced by the bytes of the key
 */
struct kfi_mr_raw_attr {
	uint64_t		flags;
	uint64_t		*base_addr;
	uint8_t			*raw_key;
	size_t			*key_size;
};

/**
 * struct kfi_mr_map_raw - argument of KFI_MAP_RAW_MR
 * @flags: 0
 * @base_addr: address of the first byte at the peer
 * @raw_key: the peer's key
 * @key_size: bytes of @raw_key
 * @key: where to put the key for RMA operations
 */
struct kfi_mr_map_raw {
	uint64_t		flags;
	uint64_t		base_addr;
	uint8_t			*raw_key;
	size_t			key_size;
	uint64_t		*key;
};

/**
 * kfi_control() - read or change something of an object
 * @fid: its head
 * @command: see the list above
 * @arg: depends on @command
 *
 * See fi_control(3).
 *
 * Context: Process context, may sleep; KFI_QUEUE_WORK and KFI_CANCEL_WORK also
 * in softirq.
 * Return: 0; -ENOSYS for an unknown command, -EOPNOTSUPP for one that this
 * class or provider does not have, -EINVAL, or the error of the typed call.
 */
int kfi_control(struct kfid *fid, int command, void *arg);

/**
 * kfi_alias() - a second name of an object, with other default flags
 * @fid: head of an endpoint or context
 * @alias_fid: where to put the alias; close it with kfi_close(), before @fid
 * @flags: default operation flags of the alias, with KFI_TRANSMIT or KFI_RECV;
 *	those of the other direction are the endpoint's of now
 *
 * What is posted by it goes to the endpoint, with the alias's defaults; so does
 * every other call but KFI_GETOPSFLAG and KFI_SETOPSFLAG. As in fi_endpoint(3).
 *
 * Context: Process context, may sleep.
 * Return: 0; -EINVAL (no direction or both, a scalable endpoint),
 * -KFI_EBADFLAGS, -EOPNOTSUPP (a completion level that the endpoint does not
 * have, an object without aliases), -ENOMEM.
 */
static inline int
kfi_alias(struct kfid *fid, struct kfid **alias_fid, uint64_t flags)
{
	struct kfi_alias alias = { .fid = alias_fid, .flags = flags };

	return kfi_control(fid, KFI_ALIAS, &alias);
}

/**
 * kfi_open_ops() - calls beyond the common interface
 * @fid: head of a fabric or domain
 * @name: name of the set of calls
 * @flags: 0
 * @ops: where to put the set, a structure that @name determines. It is valid
 *	as long as @fid is open.
 * @context: consumer's pointer, or NULL
 *
 * Context: Process context, may sleep.
 * Return: 0; -ENOSYS for a name the provider does not know, -KFI_EBADFLAGS.
 */
int kfi_open_ops(struct kfid *fid, const char *name, uint64_t flags,
		 void **ops, void *context);

/**
 * enum kfi_type - what kfi_tostr() is to print
 * @KFI_TYPE_INFO: struct kfi_info
 * @KFI_TYPE_EP_TYPE: enum kfi_ep_type
 * @KFI_TYPE_CAPS: uint64_t of capabilities
 * @KFI_TYPE_OP_FLAGS: uint64_t of operation flags
 * @KFI_TYPE_ADDR_FORMAT: uint32_t address format
 * @KFI_TYPE_TX_ATTR: struct kfi_tx_attr
 * @KFI_TYPE_RX_ATTR: struct kfi_rx_attr
 * @KFI_TYPE_EP_ATTR: struct kfi_ep_attr
 * @KFI_TYPE_DOMAIN_ATTR: struct kfi_domain_attr
 * @KFI_TYPE_FABRIC_ATTR: struct kfi_fabric_attr
 * @KFI_TYPE_THREADING: enum kfi_threading
 * @KFI_TYPE_PROGRESS: enum kfi_progress
 * @KFI_TYPE_PROTOCOL: uint32_t protocol
 * @KFI_TYPE_MSG_ORDER: uint64_t of KFI_ORDER_
 * @KFI_TYPE_MODE: uint64_t of mode bits
 * @KFI_TYPE_AV_TYPE: enum kfi_av_type
 * @KFI_TYPE_ATOMIC_TYPE: enum kfi_datatype
 * @KFI_TYPE_ATOMIC_OP: enum kfi_op
 * @KFI_TYPE_VERSION: nothing; the version of the core
 * @KFI_TYPE_EQ_EVENT: uint32_t event
 * @KFI_TYPE_CQ_EVENT_FLAGS: uint64_t of completion flags
 * @KFI_TYPE_MR_MODE: int of KFI_MR_ bits
 * @KFI_TYPE_OP_TYPE: enum kfi_op_type
 * @KFI_TYPE_FID: struct kfid
 * @KFI_TYPE_COLLECTIVE_OP: not printed
 * @KFI_TYPE_HMEM_IFACE: not printed
 * @KFI_TYPE_CQ_FORMAT: enum kfi_cq_format
 * @KFI_TYPE_LOG_LEVEL: not printed
 * @KFI_TYPE_LOG_SUBSYS: not printed
 * @KFI_TYPE_AV_ATTR: struct kfi_av_attr
 * @KFI_TYPE_CQ_ATTR: struct kfi_cq_attr
 * @KFI_TYPE_MR_ATTR: struct kfi_mr_attr
 * @KFI_TYPE_CNTR_ATTR: struct kfi_cntr_attr
 * @KFI_TYPE_CQ_ERR_ENTRY: struct kfi_cq_err_entry
 */
enum kfi_type {
	KFI_TYPE_INFO,
	KFI_TYPE_EP_TYPE,
	KFI_TYPE_CAPS,
	KFI_TYPE_OP_FLAGS,
	KFI_TYPE_ADDR_FORMAT,
	KFI_TYPE_TX_ATTR,
	KFI_TYPE_RX_ATTR,
	KFI_TYPE_EP_ATTR,
	KFI_TYPE_DOMAIN_ATTR,
	KFI_TYPE_FABRIC_ATTR,
	KFI_TYPE_THREADING,
	KFI_TYPE_PROGRESS,
	KFI_TYPE_PROTOCOL,
	KFI_TYPE_MSG_ORDER,
	KFI_TYPE_MODE,
	KFI_TYPE_AV_TYPE,
	KFI_TYPE_ATOMIC_TYPE,
	KFI_TYPE_ATOMIC_OP,
	KFI_TYPE_VERSION,
	KFI_TYPE_EQ_EVENT,
	KFI_TYPE_CQ_EVENT_FLAGS,
	KFI_TYPE_MR_MODE,
	KFI_TYPE_OP_TYPE,
	KFI_TYPE_FID,
	KFI_TYPE_COLLECTIVE_OP,
	KFI_TYPE_HMEM_IFACE,
	KFI_TYPE_CQ_FORMAT,
	KFI_TYPE_LOG_LEVEL,
	KFI_TYPE_LOG_SUBSYS,
	KFI_TYPE_AV_ATTR,
	KFI_TYPE_CQ_ATTR,
	KFI_TYPE_MR_ATTR,
	KFI_TYPE_CNTR_ATTR,
	KFI_TYPE_CQ_ERR_ENTRY,
};

/**
 * kfi_tostr_r() - print a value or structure into a buffer
 * @buf: where to print; always terminated if @len is not 0
 * @len: bytes of @buf; longer text is cut off
 * @data: pointer to what @datatype says
 * @datatype: what @data points to
 *
 * Context: Any.
 * Return: @buf, or NULL if @buf is NULL or @len is 0.
 */
char *kfi_tostr_r(char *buf, size_t len, const void *data,
		  enum kfi_type datatype);

/**
 * kfi_tostr() - print a value or structure
 * @data: pointer to what @datatype says
 * @datatype: what @data points to
 *
 * Unlike fi_tostr(3), which answers with a buffer of its own, the text belongs
 * to the caller, who ends it with kfree().
 *
 * Context: Process context, may sleep.
 * Return: the text, or NULL if there is no memory.
 */
char *kfi_tostr(const void *data, enum kfi_type datatype);

/**
 * struct kfi_context - room that a provider with KFI_CONTEXT asks for
 * @internal: the provider's
 */
struct kfi_context {
	void			*internal[4];
};

/**
 * struct kfi_context2 - room that a provider with KFI_CONTEXT2 asks for
 * @internal: the provider's
 */
struct kfi_context2 {
	void			*internal[8];
};

/**
 * struct kfi_recv_context - context of a KFI_CLAIM on a shared context
 * @ep: the endpoint
 * @context: the operation's context
 */
struct kfi_recv_context {
	struct kfid_ep		*ep;
	void			*context;
};

#endif /* KFABRIC_H */
