/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kfabric: places, memory of a peer that devices of this machine write
 */
#ifndef KFI_PLACE_H
#define KFI_PLACE_H

#include <linux/atomic.h>
#include <linux/bvec.h>
#include <linux/list.h>
#include <kfi_domain.h>
#include <kfi_endpoint.h>
#include <kfi_rma.h>

/**
 * DOC: Places
 *
 * A place is a piece of a peer's region that devices of this machine can write:
 * a disk reads into it, and the data passes neither through the memory nor
 * through the CPUs of this machine. A consumer gets the place, lets its device
 * write, and puts the place, which has the effect of a write.
 *
 * The calls need an endpoint with KFI_PLACE, KFI_RMA and KFI_WRITE. A provider
 * may not have KFI_PLACE, and a get may fail for a single region, so a consumer
 * always needs a second path, through its own memory. docs/places.md has the
 * states and the rules. libfabric has no counterpart.
 *
 * From the completion of a get until the end of the put the peer's region is
 * held: its close or invalidation waits. The owner of the region waits for the
 * consumer of the place and for its device, so a consumer must not keep places
 * longer than its device needs.
 */

#define KFI_PLACE_SEGS_MAX	4096	/* highest number of segments of a place */

/**
 * struct kfi_place_writer - a device of this machine that may write to places, for "kfi show"
 * @name: name of the device, as that of a disk; set by the consumer
 * @verdict: may it write there, and the reason, as "yes: ..."; set by the consumer,
 *	and replaced at any time by WRITE_ONCE(). The text is never freed
 * @places: number of places that it has now
 * @id: used by kfi.ko
 * @entry: used by kfi.ko
 */
struct kfi_place_writer {
	char			name[32];
	const char		*verdict;
	atomic_t		places;
	uint32_t		id;
	struct list_head	entry;
};

/**
 * struct kfid_place - handle for one place at a time
 * @fid: class KFI_CLASS_PLACE; close it with kfi_close()
 * @bvec: pages of the place, valid from the completion of a get until the put or
 *	the drop is called. They may be pages of a device: a CPU must not touch
 *	them, and a bio or request with them needs what the block layer requires for
 *	pages of kfi_domain_limits.place_device. A segment may be longer than a page.
 * @count: number of segments
 * @len: bytes
 * @writer: device that will write there, or NULL. The consumer sets it while the
 *	handle has no place; kfi_place_writer_add() was called for it
 *
 * A struct kfi_link_place (kfi_link.h) is memory that the *link* of the other side
 * writes; here devices write.
 */
struct kfid_place {
	struct kfid		fid;
	const struct bio_vec	*bvec;
	size_t			count;
	size_t			len;
	struct kfi_place_writer	*writer;
};

/**
 * kfi_place_writer_add() - let "kfi show places" show a device
 * @domain: domain of its places
 * @writer: the device; belongs to the caller, and must not be in a list yet
 *
 * An administrator sees there which devices write to memory of peers, and which
 * device does not return its places, for which the network may have to wait.
 *
 * Context: Process context, may sleep.
 */
void kfi_place_writer_add(struct kfid_domain *domain, struct kfi_place_writer *writer);

/**
 * kfi_place_writer_del() - undo kfi_place_writer_add()
 * @domain: the domain
 * @writer: the device. It has no place
 *
 * Context: Process context, may sleep.
 */
void kfi_place_writer_del(struct kfid_domain *domain, struct kfi_place_writer *writer);

/**
 * kfi_place_open() - create a handle for places
 * @domain: the domain
 * @seg_limit: highest number of segments of a place
 * @place: where to store the handle; close it with kfi_close(), which returns
 *	-EBUSY unless the handle has no place
 * @context: pointer of the consumer, stored in kfid.context
 *
 * Context: Process context, may sleep.
 * Return: 0; -EINVAL if @seg_limit is 0 or above KFI_PLACE_SEGS_MAX; -EOPNOTSUPP
 * if the provider has no places; -ENODEV if the device or the namespace has
 * gone; -ENOMEM.
 */
int kfi_place_open(struct kfid_domain *domain, size_t seg_limit,
		   struct kfid_place **place, void *context);

/**
 * kfi_place_get() - get a piece of a peer's region for devices of this machine
 * @ep: the endpoint or transmit context, in the domain of @place
 * @place: handle without a place
 * @addr: peer; ignored on a connected endpoint
 * @rma: piece of the peer's region, not empty; copied
 * @flags: KFI_CQE, KFI_COMPLETION, KFI_MORE, KFI_OPFLAGS_DEFAULT
 * @context: returned in the completion; a struct kfi_cqe with KFI_CQE
 *
 * Success writes a completion in any case, with the flags KFI_RMA | KFI_WRITE;
 * @place then describes the pages. No byte moves, the owner of the region gets no
 * event, and neither the counters nor the statistics of errors of @ep count the
 * get. After an error @place has no place:
 *
 * - EACCES: no such key, right or range, as for kfi_writemsg().
 * - EOPNOTSUPP: devices can't write this memory. Write it with kfi_writemsg().
 * - EMSGSIZE: the place has more segments than @place has room for.
 * - The error of the connection, if the connection or the peer is lost.
 *
 * Context: Process context or softirq, does not sleep.
 * Return: see "Posting" in kfi_endpoint.h. -EOPNOTSUPP if the endpoint has no
 * KFI_PLACE; -KFI_EOPBADSTATE if @place has a place, or a get or put is
 * outstanding; -KFI_EDOMAIN if @place is of another domain; -EINVAL if @rma is
 * empty; -EMSGSIZE if @rma is longer than max_msg_size.
 */
ssize_t kfi_place_get(struct kfid_ep *ep, struct kfid_place *place,
		      kfi_addr_t addr, const struct kfi_rma_iov *rma,
		      uint64_t flags, void *context);

/**
 * kfi_place_put() - end a place, and report what was written there
 * @ep: the endpoint or transmit context that the place was got with, which was
 *	not reset since
 * @place: handle with a place
 * @len: bytes that devices have written, from the beginning of the place; 0 if
 *	the place is abandoned
 * @flags: KFI_CQE, KFI_COMPLETION, KFI_NO_COMPLETION, KFI_MORE,
 *	KFI_OPFLAGS_DEFAULT
 * @context: returned in the completion; a struct kfi_cqe with KFI_CQE
 *
 * Devices must have finished before this call. The put is ordered as a write of
 * @len bytes: nothing that this endpoint posts later becomes visible at the peer
 * before these bytes. Success means that they are visible to readers at the peer,
 * as after KFI_DELIVERY_COMPLETE; the flags of completion levels are refused. The
 * completion has the flags KFI_RMA | KFI_WRITE. For the owner of the region the
 * put is a remote write of @len bytes, and for the counters of @ep a write. A put
 * of 0 bytes has no effect at the peer and is not counted.
 *
 * If the call returns 0, the place ends, whatever the result of the completion,
 * and @place can be used again from the completion on. With KFI_NO_COMPLETION a
 * success is not reported: until the place has ended, kfi_place_get() returns
 * -KFI_EOPBADSTATE and kfi_close() -EBUSY. If the call returns an error, the place
 * stays as it is. Errors of the completion:
 *
 * - EREMOTEIO: the owner has closed, invalidated or bound the region
 *   meanwhile. It is unknown what has arrived.
 * - The error of the connection, if the connection or the peer is lost.
 *
 * Context: Process context or softirq, does not sleep.
 * Return: see "Posting" in kfi_endpoint.h. -EINVAL if @len is more than the
 * place has, or @ep is another endpoint or was reset (kfi_ep_reset()), so that
 * only kfi_place_drop() is left; -KFI_EOPBADSTATE if @place has no place.
 */
ssize_t kfi_place_put(struct kfid_ep *ep, struct kfid_place *place, size_t len,
		      uint64_t flags, void *context);

/**
 * kfi_place_drop() - abandon a place without a post
 * @place: handle with a place
 *
 * As kfi_place_put() of 0 bytes, but without a completion, and also legal after
 * the endpoint was closed or the device has gone.
 *
 * Context: Process context or softirq with interrupts enabled, does not sleep.
 * Return: 0; -KFI_EOPBADSTATE if @place has no place.
 */
int kfi_place_drop(struct kfid_place *place);

#endif /* KFI_PLACE_H */
