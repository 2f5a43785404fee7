/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kfabric: error numbers
 */
#ifndef KFI_ERRNO_H
#define KFI_ERRNO_H

#include <linux/errno.h>

/**
 * DOC: Error numbers
 *
 * kfabric uses the kernel's errno values. Functions return them negated; the
 * err member of a completion or event error entry holds them positive. Aliases
 * such as KFI_EAGAIN exist for sources ported from libfabric; code written for the
 * kernel may use the plain names.
 *
 * Conditions that errno has no name for have numbers from 256 on, with the values
 * of libfabric (fi_errno(3)). The kernel's internal errors begin at 512, so the
 * numbers do not collide.
 *
 * These mean the same everywhere:
 *
 * - EAGAIN: there is no room, or no entry. Do not try again in a loop, which may
 *   spin for ever: kfi_ep_tx_space() and the handlers of queues report when.
 * - EOPNOTSUPP: the provider, or this object, does not support it.
 * - ENODEV: the device or the network namespace has gone. Close the object.
 * - EACCES: the peer's region does not allow the access; no byte has moved.
 * - ECANCELED: kfi_cancel() or kfi_close() has ended the operation.
 * - EHOSTUNREACH, ETIMEDOUT, ECONNREFUSED: the peer can't be reached, does not
 *   answer, or refuses. ETIMEDOUT also ends the operations of a connection that
 *   has exceeded KFI_OPT_OP_TIMEOUT_MS; their outcome is unknown.
 *
 * prov_errno of an error entry is a number of the provider.
 */

#define KFI_SUCCESS		0
#define KFI_EPERM		EPERM
#define KFI_ENOENT		ENOENT
#define KFI_EINTR		EINTR
#define KFI_EIO			EIO
#define KFI_E2BIG		E2BIG
#define KFI_EBADF		EBADF
#define KFI_EAGAIN		EAGAIN
#define KFI_ENOMEM		ENOMEM
#define KFI_EACCES		EACCES
#define KFI_EFAULT		EFAULT
#define KFI_EBUSY		EBUSY
#define KFI_ENODEV		ENODEV
#define KFI_EINVAL		EINVAL
#define KFI_EMFILE		EMFILE
#define KFI_ENOSPC		ENOSPC
#define KFI_ENOSYS		ENOSYS
#define KFI_EWOULDBLOCK		EWOULDBLOCK
#define KFI_ENOMSG		ENOMSG
#define KFI_ENODATA		ENODATA
#define KFI_EPROTO		EPROTO
#define KFI_EOVERFLOW		EOVERFLOW
#define KFI_EMSGSIZE		EMSGSIZE
#define KFI_ENOPROTOOPT		ENOPROTOOPT
#define KFI_EOPNOTSUPP		EOPNOTSUPP
#define KFI_EADDRINUSE		EADDRINUSE
#define KFI_EADDRNOTAVAIL	EADDRNOTAVAIL
#define KFI_ENETDOWN		ENETDOWN
#define KFI_ENETUNREACH		ENETUNREACH
#define KFI_ECONNABORTED	ECONNABORTED
#define KFI_ECONNRESET		ECONNRESET
#define KFI_ENOBUFS		ENOBUFS
#define KFI_EISCONN		EISCONN
#define KFI_ENOTCONN		ENOTCONN
#define KFI_ESHUTDOWN		ESHUTDOWN
#define KFI_ETIMEDOUT		ETIMEDOUT
#define KFI_ECONNREFUSED	ECONNREFUSED
#define KFI_EHOSTDOWN		EHOSTDOWN
#define KFI_EHOSTUNREACH	EHOSTUNREACH
#define KFI_EALREADY		EALREADY
#define KFI_EINPROGRESS		EINPROGRESS
#define KFI_EREMOTEIO		EREMOTEIO
#define KFI_ECANCELED		ECANCELED
#define KFI_EKEYREJECTED	EKEYREJECTED

#define KFI_ERRNO_OFFSET	256

/* Errors that have no errno, with the numbers of libfabric */
enum {
	KFI_EOTHER	 = KFI_ERRNO_OFFSET,	/* another error */
	KFI_ETOOSMALL	 = 257,	/* the caller's buffer is too small */
	KFI_EOPBADSTATE	 = 258,	/* the object's state forbids this call */
	KFI_EAVAIL	 = 259,	/* the next entry of the queue is an error */
	KFI_EBADFLAGS	 = 260,	/* a flag is unknown or not allowed */
	KFI_ENOEQ	 = 261,	/* no event queue is bound */
	KFI_EDOMAIN	 = 262,	/* the objects belong to different domains */
	KFI_ENOCQ	 = 263,	/* no completion queue is bound */
	KFI_ECRC	 = 264,	/* the payload was damaged in transit */
	KFI_ETRUNC	 = 265,	/* the message was longer than the buffer */
	KFI_ENOKEY	 = 266,	/* the key is in use, or no key is available */
	KFI_ENOAV	 = 267,	/* no address vector is bound */
	KFI_EOVERRUN	 = 268,	/* a queue has lost entries */
	KFI_ENORX	 = 269,	/* no receive is posted, or no receive context is bound */
	KFI_ENOMR	 = 270,	/* there can't be more memory regions */
	KFI_ERRNO_MAX
};

#endif /* KFI_ERRNO_H */
