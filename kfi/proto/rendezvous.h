/* SPDX-License-Identifier: GPL-2.0 */
/*
 * rendezvous.h - payload that its receiver requests by a CTS, see rendezvous.c.
 */
#ifndef _KFI_PROTO_RENDEZVOUS_H
#define _KFI_PROTO_RENDEZVOUS_H

#include "engine.h"
#include "memory.h"

#define KFP_RDV		64		/* granted rendezvous of a connection and direction */
#define KFP_RDV_BYTES	(64ULL << 20)	/* bytes granted at once, or one longer payload */

struct kfp_rdv;

/**
 * struct kfp_rdv_ops - what the owner of a rendezvous does
 * @granted: the CTS is being queued. Under kfp_conn.lock
 * @expose: the CTS is encoded next: expose the destination, if that is possible, and store the
 *	places in &kfp_rdv.places. (L)
 * @data: DATA has arrived, with the part of the payload that ends at &kfp_rdv.got: as
 *	&kfp_frame_row.receive. The owner calls kfp_rdv_end() when the payload is complete. (L)
 */
struct kfp_rdv_ops {
	void	(*granted)(struct kfp_conn *conn, struct kfp_rdv *rdv);
	void	(*expose)(struct kfp_conn *conn, struct kfp_rdv *rdv);
	int	(*data)(struct kfp_conn *conn, struct kfp_rdv *rdv);
};

/**
 * struct kfp_rdv - a payload that this side receives by rendezvous; a part of its owner
 * @answer: the CTS. Its @id and @gen name the operation of the peer. The owner may use it for other
 *	answers when it is not in a list
 * @ops: of the owner
 * @len: bytes of the payload
 * @got: of these, bytes that have arrived or are arriving (L)
 * @places: places of the exposed destination, from the CTS on; or NULL (L)
 * @placed: the first part was in @places, and so are the others (L)
 * @slot: number in the CTS, index in &kfp_rdvs.slot
 * @since: the CTS is sent, or a part has begun: kfp_rx_now(). The next part is late peer_timeout_ms
 *	after it. Other bytes of the peer advance it, see kfp_extend()
 * @limit: when the payload is late in any case: kfp_rx_now()
 */
struct kfp_rdv {
	struct kfp_answer	answer;
	const struct kfp_rdv_ops *ops;
	u64			len;
	u64			got;
	struct kfp_places	*places;
	bool			placed;
	u16			slot;
	unsigned long		since;
	unsigned long		limit;
};

/**
 * struct kfp_rdvs - rendezvous of a connection, under kfp_conn.lock
 * @slot: payloads of which a part has not begun
 * @bytes: bytes of payloads that have a slot or arrive
 * @waiting: rendezvous that wait for a free slot, by &kfp_answer.link
 */
struct kfp_rdvs {
	struct kfp_rdv		*slot[KFP_RDV];
	u64			bytes;
	struct list_head	waiting;
};

void kfp_rdv_enqueue(struct kfp_conn *conn, struct kfp_rdv *rdv);	/* under kfp_conn.lock */
void kfp_rdv_end(struct kfp_conn *conn, struct kfp_rdv *rdv);		/* under kfp_conn.lock */
void kfp_rdv_send_data(struct kfp_conn *conn, struct kfi_oper *op);

extern const struct kfp_protocol kfp_rdv_protocol;
extern const struct kfp_frame_row kfp_cts_frame, kfp_data_frame;

#endif /* _KFI_PROTO_RENDEZVOUS_H */
