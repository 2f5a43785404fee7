/* SPDX-License-Identifier: GPL-2.0 */
/*
 * grant.h - memory of regions that the peer may write (grant.c), and the places of devices, which
 * use it (device_place.c).
 */
#ifndef _KFI_PROTO_GRANT_H
#define _KFI_PROTO_GRANT_H

#include "conn.h"

#define KFP_GRANT_BITS	4

/**
 * struct kfp_permit - the initiator's part of a grant: memory of the peer to which this side may
 *	write; all (L), except @out
 * @entry: entry in &kfp_grants.by_key, or in &kfp_grants.returned, or in neither
 * @given: this side may write. Not any more when its WRITE is encoded, with @once, or its RECALLED
 *	is due
 * @once: for one write. The permit is in no list
 * @recalled: the peer has recalled the grant. Written under kfp_dev_places_lock as well
 * @busy: a part of a payload was sent, and the WRITE behind it was not
 * @commits: the peer can make the memory durable
 * @slot: number that the peer has given it, index in &kfp_grants.permits
 * @out: number of its places that devices may write; under kfp_dev_places_lock. RECALLED waits
 *	until it is 0
 * @op: with @once and @given: the write; NULL: a device has the memory, or had it
 * @id: id that the peer has given it
 * @key: key of the peer's region
 * @addr: address of the first byte
 * @len: bytes
 * @places: the places
 */
struct kfp_permit {
	struct hlist_node	entry;
	bool			given;
	bool			once;
	bool			recalled;
	bool			busy;
	bool			commits;
	u8			slot;
	unsigned int		out;
	struct kfi_oper		*op;
	u64			id;
	u64			key;
	u64			addr;
	u64			len;
	struct kfp_places	places;
};

/**
 * struct kfp_grants - grants of a connection whose link has places; all (L), except @out
 * @conn: the connection
 * @work: sends the RECALLs and RECALLEDs that are due
 * @given: grants of this side, by slot. An object stays until the end, for the next grant
 * @lasting: number of lasting ones
 * @bytes: sum of their lengths
 * @last: id of the last grant of this side
 * @asked: keys of the regions that the peer has sent RTWs for, by hash
 * @permits: grants of the peer, by slot; as @given
 * @by_key: lasting ones of @permits that are not recalled, by key
 * @returned: those of @permits whose RECALLED is due
 * @newest: id of the last grant of the peer
 * @out: places that consumers have, struct kfi_proto_place; under kfp_dev_places_lock
 */
struct kfp_grants {
	struct kfp_conn		*conn;
	struct delayed_work	work;
	struct kfp_grant	*given[KFW_GRANTS_MAX];
	unsigned int		lasting;
	u64			bytes;
	u64			last;
	u64			asked[1 << KFP_GRANT_BITS];
	struct kfp_permit	*permits[KFW_GRANTS_MAX];
	struct hlist_head	by_key[1 << KFP_GRANT_BITS];
	struct hlist_head	returned;
	u64			newest;
	struct list_head	out;
};

/* grant.c */
int kfp_rx_placed(struct kfp_conn *conn);
/* Return the lasting permit whose memory includes the segment, or NULL. */
struct kfp_permit *kfp_permit_over(const struct kfp_conn *conn, const struct kfi_rma_iov *seg);
/* Encode the WRITE behind what was written because of a permit. */
void kfp_permit_write(struct kfp_conn *conn, struct kfi_oper *op, struct kfp_permit *p, u16 flags);
/* RECALLED is due for a permit: this side writes nothing because of it any more. */
void kfp_permit_return(struct kfp_conn *conn, struct kfp_permit *p);
/*
 * Queue the work item that sends the RECALLs and RECALLEDs that are due. Called in an RCU read
 * section, in any context.
 */
void kfp_grants_kick(struct kfp_conn *conn);

/* device_place.c */
/* Mark a permit as recalled by the peer. Return: true if devices may still write its memory. */
bool kfp_permit_recall(struct kfp_permit *p);

extern const struct kfp_protocol kfp_grant_protocol, kfp_dev_place_protocol;
extern const struct kfp_op_row kfp_place_get_op, kfp_place_put_op;
extern const struct kfp_frame_row kfp_rtw_frame, kfp_grant_frame;
extern const struct kfp_frame_row kfp_recall_frame, kfp_recalled_frame;

#endif /* _KFI_PROTO_GRANT_H */
