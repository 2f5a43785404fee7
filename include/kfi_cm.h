/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kfabric: addresses of endpoints, connections
 */
#ifndef KFI_CM_H
#define KFI_CM_H

#include <kfi_endpoint.h>
#include <kfi_errno.h>

/**
 * DOC: Connections
 *
 * The server opens a passive endpoint (kfi_passive_ep()), binds an event queue
 * and listens. Each request raises KFI_CONNREQ, whose info is for opening an
 * endpoint that accepts, or whose handle is for rejecting. The client opens an
 * endpoint and connects it. KFI_CONNECTED is raised on both sides when data
 * may flow; a refusal comes as an error with ECONNREFUSED and the server's
 * private data. KFI_SHUTDOWN tells that the peer, or the network, has ended a
 * connection; all operations on it have ended before. See fi_cm(3).
 */

/**
 * kfi_setname() - set the local address of an endpoint
 * @fid: head of an endpoint or passive endpoint, not enabled or listening yet
 * @addr: address in the format of its info
 * @addrlen: bytes of it
 *
 * Context: Process context, may sleep.
 * Return: 0; -EINVAL, -EADDRNOTAVAIL, -KFI_EOPBADSTATE if it is too late,
 * -EOPNOTSUPP.
 */
int kfi_setname(kfid_t fid, void *addr, size_t addrlen);

/**
 * kfi_getname() - local address of an endpoint
 * @fid: head of an endpoint or passive endpoint
 * @addr: where to put the address
 * @addrlen: in: bytes at @addr; out: bytes of the address, of which no more
 *	were stored than fit
 *
 * An address that the system chooses is known when the endpoint is enabled,
 * or listening.
 *
 * Context: Process context, may sleep.
 * Return: 0; -KFI_ETOOSMALL with @addrlen set, -KFI_EOPBADSTATE if it has no
 * address yet.
 */
int kfi_getname(kfid_t fid, void *addr, size_t *addrlen);

/**
 * kfi_getpeer() - address of the peer of a connected endpoint
 * @ep: the endpoint
 * @addr: where to put the address
 * @addrlen: as kfi_getname()
 *
 * Context: Process context, may sleep.
 * Return: 0; -KFI_ETOOSMALL with @addrlen set, -ENOTCONN, -EOPNOTSUPP.
 */
int kfi_getpeer(struct kfid_ep *ep, void *addr, size_t *addrlen);

/**
 * kfi_listen() - take connection requests
 * @pep: a passive endpoint with an event queue
 *
 * Context: Process context, may sleep.
 * Return: 0; -KFI_ENOEQ, -KFI_EOPBADSTATE if it listens already, -EADDRINUSE,
 * -EADDRNOTAVAIL, -ENODEV, -ENOMEM.
 */
int kfi_listen(struct kfid_pep *pep);

/**
 * kfi_connect() - ask for a connection
 * @ep: an endpoint with an event queue; enabled by this call if it is not
 * @addr: the peer's address
 * @param: private data for the peer, or NULL; copied
 * @paramlen: bytes of it, at most KFI_OPT_CM_DATA_SIZE
 *
 * The outcome comes as an event, in bounded time: KFI_CONNECTED, or an error
 * with ECONNREFUSED, ETIMEDOUT, EHOSTUNREACH or the like; KFI_EKEYREJECTED says
 * that the authorization keys are not the same.
 *
 * Context: Process context, may sleep.
 * Return: 0; -EINVAL if there is too much private data, -KFI_ENOEQ,
 * -KFI_ENOCQ, -KFI_EOPBADSTATE, -EISCONN, -ENODEV, -ENOMEM.
 */
int kfi_connect(struct kfid_ep *ep, const void *addr, const void *param,
		size_t paramlen);

/**
 * kfi_accept() - accept a connection request
 * @ep: an endpoint opened with the info of the KFI_CONNREQ event, with an
 *	event queue; enabled by this call if it is not
 * @param: private data for the peer, or NULL; copied
 * @paramlen: bytes of it, at most KFI_OPT_CM_DATA_SIZE
 *
 * Receives may be posted before.
 *
 * Context: Process context, may sleep.
 * Return: 0; -EINVAL if there is too much private data, -KFI_ENOEQ,
 * -KFI_ENOCQ, -KFI_EOPBADSTATE, -KFI_EKEYREJECTED if the endpoint has another
 * authorization key than the listener, -ECONNABORTED if the peer has given up,
 * -ENODEV, -ENOMEM.
 */
int kfi_accept(struct kfid_ep *ep, const void *param, size_t paramlen);

/**
 * kfi_reject() - reject a connection request
 * @pep: the passive endpoint
 * @handle: handle of the info of the KFI_CONNREQ event; invalid afterwards
 * @param: private data for the peer, or NULL; copied
 * @paramlen: bytes of it, at most KFI_OPT_CM_DATA_SIZE
 *
 * Context: Process context, may sleep.
 * Return: 0; -EINVAL for an unknown handle or too much private data.
 */
int kfi_reject(struct kfid_pep *pep, kfid_t handle, const void *param,
	       size_t paramlen);

/**
 * kfi_shutdown() - end a connection
 * @ep: the endpoint
 * @flags: 0
 *
 * What was posted before is still sent where the network takes time (sockets);
 * the connection then ends when the peer has received it. Who can't wait for a
 * peer closes the endpoint. What has not been sent, or is held by a fence, ends
 * with ECANCELED or ESHUTDOWN. Both sides see KFI_SHUTDOWN.
 *
 * Context: Process context, may sleep.
 * Return: 0; -ENOTCONN, -KFI_EBADFLAGS, -EOPNOTSUPP.
 */
int kfi_shutdown(struct kfid_ep *ep, uint64_t flags);

/**
 * kfi_ep_reset() - end a connection at once, and keep the endpoint
 * @ep: an enabled endpoint of type KFI_EP_MSG, without shared contexts
 *
 * For consumers that may not need new memory to connect anew, such as block
 * devices that memory is written to. Whatever state the connection is in, it
 * ends without waiting for the peer, as by kfi_close(). Operations end with
 * ECANCELED. When the function returns, none of their memory is used any more,
 * the done() of each has returned, no event of the endpoint is queued, and
 * kfi_connect() is allowed. Bindings, options and the regions that are bound to
 * the endpoint stay, and attached regions stay attached: kfi_mr_invalidate()
 * them before their memory is used for something else.
 *
 * Callbacks that are set by kfi_ep_tx_space() are forgotten. The caller posts
 * nothing meanwhile, and closes neither the endpoint nor its queues.
 *
 * Context: Process context, may sleep; not from a callback of its queues.
 * Return: 0; -ENODEV if the network has gone, -KFI_EOPBADSTATE if the endpoint
 * is not enabled, -EOPNOTSUPP if it is of another kind, or the provider has no
 * such operation (loop): close it then.
 */
int kfi_ep_reset(struct kfid_ep *ep);

/**
 * kfi_join() - join a multicast group
 * @ep: the endpoint
 * @addr: address of the group
 * @flags: 0
 * @mc: where to put the group
 * @context: consumer's pointer
 *
 * No provider has multicast; the call is here for the sake of ported sources.
 *
 * Context: Any.
 * Return: -EOPNOTSUPP.
 */
static inline int
kfi_join(struct kfid_ep *ep, const void *addr, uint64_t flags,
	 struct kfid_mc **mc, void *context)
{
	return -EOPNOTSUPP;
}

#endif /* KFI_CM_H */
