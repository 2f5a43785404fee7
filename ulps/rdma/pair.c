// SPDX-License-Identifier: GPL-2.0
/*
 * pair.c - RC queue pairs find each other. A program, or ib_cm, has told both sides the GID and the
 * number of the other one, and moves each of them to RTR when it likes. From there on the kernels
 * do the rest, by packets (wire.h, talk.c) and a connection of kfabric:
 *
 *	the caller, whose name is lower		the other one
 *	RTR	ASK, until READY has come
 *						RTR	READY, until it is called
 *	call, with the number of READY	-->	accepted by kib_pair_called()
 *	KFI_CONNECTED				KFI_CONNECTED: both are ready
 *
 * A name is a GID and a number. READY that comes before the caller is in RTR is kept, if talk.c knows
 * its sender; if not, ASK of the caller brings another one.
 *
 * Who may connect: the number of READY is random, is sent from kernel to kernel, and is that of one
 * RTR of one queue pair. So no process, and nobody else who can open a connection to this node, gets
 * to a queue pair, and no call is for an earlier queue pair that had the same number.
 *
 * A connection that fails before it was ready is tried again, until the clock of the requests that
 * wait has run out: then the queue pair ends with IB_WC_RETRY_EXC_ERR. One that is lost later ends
 * the queue pair of a ULP at once. A queue pair of a process ends with the next request, as with
 * hardware: the other side may just have finished. Until then nothing is reported.
 *
 * &kib_qp.pair_work does all of this, under &kib_qp.lock.
 */
#include <linux/random.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>
#include "kib.h"

#define PAIR_FIRST	(HZ / 50 ?: 1)	/* the first repetition, */
#define PAIR_LAST	HZ		/* and the slowest */
#define PAIR_TIME	(15 * HZ)	/* requests wait at least so long for a connection */

/* ---- names ---- */

/* Is this side the caller? The names of both sides differ: see local.c */
static bool pair_calls(const struct kib_qp *qp)
{
	int diff = memcmp(&qp->dest.sgid, &qp->dest.dgid, sizeof(qp->dest.sgid));

	return diff < 0 || (!diff && qp->ib.qp_num < qp->remote_qpn);
}

/* Does the packet come from the queue pair that this one is to be connected to? */
static bool pair_is_from(const struct kib_qp *qp, const struct kib_packet_head *head)
{
	return be32_to_cpu(head->src_qpn) == qp->remote_qpn &&
	       !memcmp(head->sgid, &qp->dest.dgid, sizeof(head->sgid));
}

static void pair_say(struct kib_qp *qp, enum kib_packet_type type)
{
	struct kib_packet *packet = kib_packet_new(0, GFP_KERNEL);

	if (!packet)
		return;		/* it is repeated */
	packet->head.type = type;
	packet->head.src_qpn = cpu_to_be32(qp->ib.qp_num);
	packet->head.dst_qpn = cpu_to_be32(qp->remote_qpn);
	if (type == KIB_PACKET_READY)
		packet->head.secret = cpu_to_be64(qp->secret);
	memcpy(packet->head.sgid, &qp->dest.sgid, sizeof(packet->head.sgid));
	memcpy(packet->head.dgid, &qp->dest.dgid, sizeof(packet->head.dgid));
	kib_packet_send(qp->dev->fabric, qp->dest.ifindex, packet);
}

/* ---- packets ---- */

/*
 * The other side has said ASK or READY. Context: softirq, under RCU. A queue pair that is not in
 * RTR keeps one READY, the last one.
 */
static void pair_heard(struct kib_qp *qp, const struct kib_packet_head *head)
{
	bool mine;

	spin_lock_bh(&qp->heard_lock);
	mine = !qp->paired || pair_is_from(qp, head);
	if (mine && head->type == KIB_PACKET_READY)
		qp->heard = *head;
	mine &= qp->paired;
	spin_unlock_bh(&qp->heard_lock);
	if (mine)
		mod_delayed_work(kib_wq, &qp->pair_work, 0);
}

/* A packet has come. Context: softirq. Return: whether it is kept, for kib_rx_put() */
bool kib_packet_came(struct kib_fabric *fabric, int ifindex, struct kib_rx *rx)
{
	const struct kib_packet_head *head = &rx->head;
	struct kib_qp *qp;
	bool kept = false;

	rcu_read_lock();	/* kib_destroy_qp() waits for us */
	qp = kib_qp_find(fabric, ifindex, be32_to_cpu(head->dst_qpn));
	if (!qp)
		;
	else if (head->type == KIB_PACKET_UD)
		kept = kib_ud_came(qp, rx);
	else if (kib_is_connected(qp) &&
		 (head->type == KIB_PACKET_ASK || head->type == KIB_PACKET_READY))
		pair_heard(qp, head);
	rcu_read_unlock();
	return kept;
}

/* ---- the connection ---- */

/* Take the number that the other side has said. Return: false if it has said none */
static bool pair_take_heard(struct kib_qp *qp, u64 *secret)
{
	bool has;

	spin_lock_bh(&qp->heard_lock);
	has = qp->heard.type == KIB_PACKET_READY && pair_is_from(qp, &qp->heard);
	*secret = be64_to_cpu(qp->heard.secret);
	qp->heard.type = 0;
	spin_unlock_bh(&qp->heard_lock);
	return has;
}

/* Call the other side. A call that fails is tried again after the pause. */
static void pair_call(struct kib_qp *qp, u64 secret)
{
	struct kib_hello hello = {
		.magic = cpu_to_be32(KIB_MAGIC), .version = kib_speaks.highest,
		.version_min = kfi_versions_lowest(&kib_speaks),
		.qpn = cpu_to_be32(qp->remote_qpn), .secret = cpu_to_be64(secret),
	};
	struct kfi_info *info;

	if (kib_find_gid(qp->dev, KFI_EP_MSG, qp->dest.ifindex, &qp->dest.sgid, &qp->dest.dgid,
			 &info))
		return;
	if (kib_qp_open(qp, info) ?:
	    kfi_connect(qp->ep, info->dest_addr, &hello, sizeof(hello)))
		kib_qp_reopen(qp);
	kfi_freeinfo(info);
}

/*
 * A connection has called. The call is for the queue pair that has said this number in its READY,
 * and is accepted by pair_work. Process context. Return: whether the queue pair has @info
 */
bool kib_pair_called(struct kib_fabric *fabric, const struct kfid *place, struct kfi_info *info,
		     const void *data, size_t len)
{
	const struct kib_hello *hello = data;
	struct kfi_versions theirs, agreed;
	struct kib_qp *qp;
	bool taken = false;

	/* A caller has heard READY, so its kernel and this one have a version in common. */
	if (len < sizeof(*hello) || hello->magic != cpu_to_be32(KIB_MAGIC))
		return false;
	theirs = kfi_versions_read(hello->version, hello->version_min, 0);
	if (kfi_versions_agree(&kib_speaks, &theirs, &agreed))
		return false;
	rcu_read_lock();	/* kib_destroy_qp() waits for us */
	qp = kib_qp_find(fabric, 0, be32_to_cpu(hello->qpn));
	if (qp && kib_is_connected(qp)) {
		spin_lock_bh(&qp->heard_lock);
		taken = qp->paired && be64_to_cpu(hello->secret) == qp->secret && !qp->call;
		if (taken) {
			qp->call = info;
			qp->call_place = place;
		}
		spin_unlock_bh(&qp->heard_lock);
	}
	if (taken)
		mod_delayed_work(kib_wq, &qp->pair_work, 0);
	rcu_read_unlock();
	return taken;
}

static void pair_forget_call(struct kib_qp *qp)
{
	spin_lock_bh(&qp->heard_lock);
	qp->call = NULL;
	spin_unlock_bh(&qp->heard_lock);
}

/*
 * Refuse a call that was not accepted. Process context, without locks; called by pair_work, and
 * when it does not run any more
 */
void kib_pair_refuse(struct kib_qp *qp)
{
	struct kfi_info *info = READ_ONCE(qp->call);

	if (!info)
		return;
	kib_refuse(qp->dev->fabric, qp->call_place, info);
	pair_forget_call(qp);	/* meanwhile there was no other one */
}

/*
 * Accept a call, if there is one. If that fails, the caller of this function refuses it. The place
 * where it has arrived can't be closed meanwhile.
 */
static void pair_accept(struct kib_qp *qp)
{
	struct kib_fabric *fabric = qp->dev->fabric;
	struct kfi_info *info = READ_ONCE(qp->call);

	atomic_inc(&fabric->accepts);
	if (info && !kib_qp_open(qp, info)) {
		if (kfi_accept(qp->ep, NULL, 0)) {
			kib_qp_reopen(qp);
			if (qp->ep)	/* the queue pair is in ERROR meanwhile */
				kib_qp_close(qp);
		} else {
			pair_forget_call(qp);
			kfi_freeinfo(info);
		}
	}
	if (atomic_dec_and_test(&fabric->accepts))
		wake_up_var(&fabric->accepts);
}

/* Events of an endpoint. kib_qp_close() waits for this function, under &kib_qp.lock. */
void kib_pair_event(struct kfid_eq *eq, void *context)
{
	struct kib_qp *qp = context;
	struct kfi_event ev;

	while (kfi_eq_next(eq, &ev)) {
		if (!ev.err && ev.event == KFI_CONNECTED) {
			kib_qp_ready(qp);
		} else {
			WRITE_ONCE(qp->lost, true);
			mod_delayed_work(kib_wq, &qp->pair_work, 0);
			smp_mb();	/* qp_last_words() reads @lost when it waits */
			wake_up_var(&qp->lost);
		}
	}
}

/* ---- the work ---- */

/* How long requests wait for a connection, or for one that was lost */
static unsigned long pair_time(const struct kib_qp *qp)
{
	u64 ns = (4096ULL << qp->timeout) * (qp->retry_cnt + 1);

	if (!qp->timeout && qp->ib.qp_type == IB_QPT_RC)
		return MAX_JIFFY_OFFSET;
	return max_t(u64, nsecs_to_jiffies64(ns), PAIR_TIME);
}

/* Has the first request that waits waited for too long? Sends wait from RTS on. */
static bool pair_is_late(struct kib_qp *qp)
{
	if (READ_ONCE(qp->sq.head) == READ_ONCE(qp->sq.tail) || !READ_ONCE(qp->rts)) {
		qp->waits_since = jiffies;
		return false;
	}
	return time_after(jiffies, qp->waits_since + pair_time(qp));
}

static void pair_try(struct kib_qp *qp)
{
	u64 secret;

	if (qp->local) {
		if (kib_local_is_ready(qp))
			kib_qp_ready_local(qp);
		return;
	}
	if (!pair_calls(qp)) {
		pair_say(qp, KIB_PACKET_READY);
		return;
	}
	if (!pair_take_heard(qp, &secret))
		pair_say(qp, KIB_PACKET_ASK);
	else
		pair_call(qp, secret);
}

/*
 * What fails is tried again after a pause, which gets longer, so that two sides one of which has no
 * room for a connection do not call each other without end. Return: whether a call that has come
 * is to be refused; one that comes behind this runs the work again
 */
static bool pair_run(struct kib_qp *qp)
{
	bool lost = READ_ONCE(qp->lost), called;

	lockdep_assert_held(&qp->lock);
	if (!qp->paired || READ_ONCE(qp->state) >= KIB_QP_ERROR)
		return true;
	if (READ_ONCE(qp->state) == KIB_QP_READY) {
		if (lost)
			kib_qp_lost(qp);
		return true;
	}
	if (lost) {		/* before it was ready */
		kib_qp_reopen(qp);
		WRITE_ONCE(qp->lost, false);
	}
	if (pair_is_late(qp)) {
		qp->late = true;
		kib_qp_fail(qp);
		return true;
	}
	called = READ_ONCE(qp->state) == KIB_QP_IDLE && READ_ONCE(qp->call);
	if (called)
		pair_accept(qp);
	else if (READ_ONCE(qp->state) == KIB_QP_IDLE && !lost)
		pair_try(qp);
	if (READ_ONCE(qp->state) == KIB_QP_READY)
		return true;
	queue_delayed_work(kib_wq, &qp->pair_work, qp->pause);
	qp->pause = min_t(unsigned long, 2 * qp->pause, PAIR_LAST);
	return called || READ_ONCE(qp->state) != KIB_QP_IDLE;
}

void kib_pair_work(struct work_struct *work)
{
	struct kib_qp *qp = container_of(to_delayed_work(work), struct kib_qp, pair_work);
	unsigned int noio;
	bool refuse;

	noio = memalloc_noio_save();	/* reclaim may wait for the connection of a ULP */
	mutex_lock(&qp->lock);
	refuse = pair_run(qp);
	mutex_unlock(&qp->lock);
	memalloc_noio_restore(noio);
	if (refuse)
		kib_pair_refuse(qp);	/* one that was not accepted */
}

/* The queue pair is in RTR: &kib_qp.dest and @remote_qpn are set. Return: 0 or a negative error */
int kib_pair_begin(struct kib_qp *qp)
{
	lockdep_assert_held(&qp->lock);
	if (kib_local_ifindex(qp->dev->fabric, &qp->dest.dgid)) {
		if (!qp->bounce)
			qp->bounce = kmalloc(PAGE_SIZE, GFP_KERNEL_ACCOUNT);
		if (!qp->bounce)
			return -ENOMEM;
		kib_local_join(qp);
	}
	spin_lock_bh(&qp->heard_lock);
	qp->secret = get_random_u64();
	qp->paired = true;
	spin_unlock_bh(&qp->heard_lock);
	qp->pause = PAIR_FIRST;
	qp->waits_since = jiffies;
	mod_delayed_work(kib_wq, &qp->pair_work, 0);
	return 0;
}

/* The queue pair is in RESET, or goes. No endpoint is left, and none is opened any more. */
void kib_pair_end(struct kib_qp *qp)
{
	lockdep_assert_held(&qp->lock);
	spin_lock_bh(&qp->heard_lock);
	qp->paired = false;
	qp->heard.type = 0;
	spin_unlock_bh(&qp->heard_lock);
}
