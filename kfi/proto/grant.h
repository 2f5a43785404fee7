/* SPDX-License-Identifier: GPL-2.0 */
/*
 * grant.h - lasting grants (grant.c), and the places of devices, which use them (device_place.c).
 */
#ifndef _KFI_PROTO_GRANT_H
#define _KFI_PROTO_GRANT_H

#include "proto.h"

#define KFP_GRANT_BITS	4

/**
 * struct kfp_permit - memory of the peer to which this side may write without an RTW; all (L),
 * except @out
 * @entry: entry in &kfp_grants.by_key, or in &kfp_grants.returned, or in neither
 * @recalled: the peer has recalled the grant. Written under kfp_dev_places_lock as well
 * @commits: the peer can make the memory durable
 * @slot: number that the peer has given it, index in &kfp_grants.permits
 * @out: number of its places that devices may write; under kfp_dev_places_lock. RECALLED waits
 *	until it is 0
 * @id: id that the peer has given it
 * @key: key of the peer's region
 * @addr: address of the first byte
 * @len: bytes
 * @places: the places
 */
struct kfp_permit {
	struct hlist_node	entry;
	bool			recalled;
	bool			commits;
	u8			slot;
	unsigned int		out;
	u64			id;
	u64			key;
	u64			addr;
	u64			len;
	struct kfp_places	*places;
};

/**
 * struct kfp_grants - lasting grants of a connection whose link has places; all (L), except @out
 * @conn: the connection
 * @work: sends the RECALLs and RECALLEDs that are due
 * @given: grants of this side, by slot
 * @bytes: sum of the lengths of @given
 * @last: id of the last grant of this side
 * @written: keys of regions that the peer has written to with places, by hash
 * @permits: grants of the peer, by slot
 * @by_key: those of @permits that are not recalled, by key
 * @returned: those of @permits that are recalled and have no place: their RECALLED is due
 * @newest: id of the last grant of the peer
 * @out: places that consumers have, struct kfi_proto_place; under kfp_dev_places_lock
 */
struct kfp_grants {
	struct kfp_conn		*conn;
	struct delayed_work	work;
	struct kfp_grant	*given[KFW_GRANTS_MAX];
	u64			bytes;
	u64			last;
	u64			written[1 << KFP_GRANT_BITS];
	struct kfp_permit	*permits[KFW_GRANTS_MAX];
	struct hlist_head	by_key[1 << KFP_GRANT_BITS];
	struct hlist_head	returned;
	u64			newest;
	struct list_head	out;
};

/* grant.c */
void kfp_grant_written(struct kfp_conn *conn, u64 key);
void kfp_send_grant(struct kfp_conn *conn, u32 id, u32 gen, const struct kfw_rma *seg,
		    const struct kfp_places *write);
int kfp_rx_placed(struct kfp_conn *conn);
/* Return the permit whose memory includes the segment, or NULL. */
struct kfp_permit *kfp_permit_over(const struct kfp_conn *conn, const struct kfi_rma_iov *seg);
/*
 * Give a grant for a place, unless there is one, and encode the GRANT. Return: true if there is a
 * grant.
 */
bool kfp_send_place_grant(struct kfp_conn *conn, const struct kfp_answer *answer);
/*
 * Queue the work item that sends the RECALLs and RECALLEDs that are due. Called in an RCU read
 * section, in any context.
 */
void kfp_grants_kick(struct kfp_conn *conn);

/* device_place.c */
int kfp_rx_dev_place(struct kfp_conn *conn);
/* Mark a permit as recalled by the peer. Return: true if devices may still write its memory. */
bool kfp_permit_recall(struct kfp_permit *p);

extern const struct kfp_protocol kfp_grant_protocol, kfp_dev_place_protocol;
extern const struct kfp_op_row kfp_place_get_op, kfp_place_put_op;
extern const struct kfp_frame_row kfp_grant_frame, kfp_recall_frame, kfp_recalled_frame;

#endif /* _KFI_PROTO_GRANT_H */
