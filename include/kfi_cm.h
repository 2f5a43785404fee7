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
 * and listens. Each connection request raises KFI_CONNREQ. The info of this event
 * is used to open the endpoint that accepts; its handle is used to reject. The
 * client opens an endpoint and connects it. Both sides get KFI_CONNECTED when
 * data can be sent. A rejection is reported to the client as an error with
 * ECONNREFUSED and the private data of the server. KFI_SHUTDOWN reports that the
 * connection has ended, and that all its operations have ended before. It is
 * raised on both sides, whichever of them, or the network, has ended the
 * connection. An endpoint is connected once, unless kfi_ep_reset() is called. See
 * fi_cm(3).
 */

/**
 * kfi_setname() - set the local address of an endpoint
 * @fid: head of an endpoint that is not enabled, or of a passive endpoint that
 *	does not listen
 * @addr: address in the format of the endpoint's info
 * @addrlen: length in bytes
 *
 * Context: Process context, may sleep.
 * Return: 0; -EINVAL if @addr is no address of this format, or if @fid can have no
 * address; -EADDRNOTAVAIL; -KFI_EOPBADSTATE if the endpoint is enabled or listens;
 * -EOPNOTSUPP if the provider does not support it; -ENODEV if the device or the
 * namespace has gone.
 */
int kfi_setname(kfid_t fid, void *addr, size_t addrlen);

/**
 * kfi_getname() - return the local address of an endpoint
 * @fid: head of an endpoint or passive endpoint
 * @addr: where to store the address
 * @addrlen: in: bytes at @addr; out: length of the address. If that is more, only
 *	the beginning of the address was stored.
 *
 * If the system chooses the address, it is available when the endpoint is enabled
 * or listens.
 *
 * Context: Process context, may sleep.
 * Return: 0; -KFI_ETOOSMALL if @addr is too small; -KFI_EOPBADSTATE if the
 * endpoint has no address yet; -EINVAL if @fid has no address; -ENODEV if the
 * device or the namespace has gone.
 */
int kfi_getname(kfid_t fid, void *addr, size_t *addrlen);

/**
 * kfi_getpeer() - return the address of the peer of a connected endpoint
 * @ep: the endpoint
 * @addr: where to store the address
 * @addrlen: as kfi_getname()
 *
 * Context: Process context, may sleep.
 * Return: 0; -KFI_ETOOSMALL if @addr is too small; -ENOTCONN; -EOPNOTSUPP if the
 * endpoint is not of type KFI_EP_MSG.
 */
int kfi_getpeer(struct kfid_ep *ep, void *addr, size_t *addrlen);

/**
 * kfi_listen() - accept connection requests
 * @pep: passive endpoint with an event queue
 *
 * Up to 128 requests wait for the consumer; others are refused.
 *
 * Context: Process context, may sleep.
 * Return: 0; -KFI_ENOEQ if there is no event queue; -KFI_EOPBADSTATE if the
 * endpoint listens already; -EADDRINUSE; -EADDRNOTAVAIL; -ENODEV if the device
 * or the namespace has gone; -ENOMEM.
 */
int kfi_listen(struct kfid_pep *pep);

/**
 * kfi_connect() - request a connection
 * @ep: endpoint with an event queue. This function enables it if it is not
 *	enabled.
 * @addr: address of the peer
 * @param: private data for the peer, or NULL; copied
 * @paramlen: length in bytes, at most KFI_OPT_CM_DATA_SIZE
 *
 * An event reports the result, in bounded time: KFI_CONNECTED, or an error such
 * as ECONNREFUSED, ETIMEDOUT or EHOSTUNREACH. The error is KFI_EKEYREJECTED if the
 * two endpoints have different authorization keys.
 *
 * Context: Process context, may sleep.
 * Return: 0; -EINVAL if there is no valid address or too much private data;
 * -KFI_ENOEQ and -KFI_ENOCQ as kfi_enable(); -KFI_EOPBADSTATE if the endpoint
 * is connecting, was connected, or was opened for a connection request;
 * -EISCONN; -EOPNOTSUPP if the endpoint is not of type KFI_EP_MSG; -ENODEV if
 * the device or the namespace has gone; -ENOMEM.
 */
int kfi_connect(struct kfid_ep *ep, const void *addr, const void *param,
		size_t paramlen);

/**
 * kfi_accept() - accept a connection request
 * @ep: endpoint that was opened with the info of the KFI_CONNREQ event, with an
 *	event queue. This function enables it if it is not enabled.
 * @param: private data for the peer, or NULL; copied
 * @paramlen: length in bytes, at most KFI_OPT_CM_DATA_SIZE
 *
 * Receives can be posted to an enabled endpoint before this call. Events report
 * the result, as for kfi_connect().
 *
 * Context: Process context, may sleep.
 * Return: 0; -EINVAL if there is too much private data; -KFI_ENOEQ and
 * -KFI_ENOCQ as kfi_enable(); -KFI_EOPBADSTATE if the endpoint has no connection
 * request, or is shut; -EISCONN if it is connected; -EOPNOTSUPP if it is not of
 * type KFI_EP_MSG; -KFI_EKEYREJECTED if it has another authorization key than
 * the passive endpoint; -ECONNABORTED if the peer has given up; -ENODEV if the
 * device or the namespace has gone; -ENOMEM.
 */
int kfi_accept(struct kfid_ep *ep, const void *param, size_t paramlen);

/**
 * kfi_reject() - reject a connection request
 * @pep: the passive endpoint
 * @handle: handle in the info of the KFI_CONNREQ event. It is invalid
 *	afterwards.
 * @param: private data for the peer, or NULL; copied
 * @paramlen: length in bytes, at most KFI_OPT_CM_DATA_SIZE
 *
 * Context: Process context, may sleep.
 * Return: 0; -EINVAL if the handle denotes no request that waits, or if there is
 * too much private data.
 */
int kfi_reject(struct kfid_pep *pep, kfid_t handle, const void *param,
	       size_t paramlen);

/**
 * kfi_shutdown() - end a connection
 * @ep: the endpoint
 * @flags: 0
 *
 * Over a network, operations that were posted before are still sent, and the
 * connection ends when the peer has received them. To end a connection without
 * waiting for the peer, close the endpoint. Operations that were not sent
 * complete with ECANCELED or ESHUTDOWN. Both sides get KFI_SHUTDOWN.
 *
 * Context: Process context, may sleep.
 * Return: 0; -ENOTCONN if the endpoint is not connected; -KFI_EBADFLAGS;
 * -EOPNOTSUPP if the endpoint is not of type KFI_EP_MSG.
 */
int kfi_shutdown(struct kfid_ep *ep, uint64_t flags);

/**
 * kfi_ep_reset() - end a connection at once, and keep the endpoint
 * @ep: enabled endpoint of type KFI_EP_MSG without shared contexts
 *
 * For consumers that must be able to connect again without new memory, such as
 * block devices that memory reclaim writes to. The connection ends in any state,
 * without waiting for the peer, as by kfi_close(). Operations complete with
 * ECANCELED. When the function returns, their memory is not used any more, the
 * done() of each has returned, no event of the endpoint is queued, and
 * kfi_connect() is allowed. Bindings, options and the regions that are bound to
 * the endpoint stay. No memory is attached to its per-I/O regions any more, and
 * the done() of each invalidation has returned. "Memory regions" in kfi_domain.h
 * has the time limits for that.
 *
 * A callback of kfi_ep_tx_space() is cancelled. During the call the caller must
 * not post, and must not attach memory to the regions of the endpoint, except in
 * RCU read sections that have begun before: the call waits for their end first.
 * It must not bind or close the regions, the endpoint or its queues. libfabric
 * has no counterpart.
 *
 * Context: Process context, may sleep; not from a callback of its queues.
 * Return: 0; -ENODEV if the device or the namespace has gone, then the endpoint
 * can't be used again, but all else holds; -KFI_EOPBADSTATE if it is not enabled;
 * -EOPNOTSUPP for other endpoints.
 */
int kfi_ep_reset(struct kfid_ep *ep);

#endif /* KFI_CM_H */
