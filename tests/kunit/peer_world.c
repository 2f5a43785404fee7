// SPDX-License-Identifier: GPL-2.0
/* The provider without a network, see peer_world.h. */
#include <linux/slab.h>
#include "peer_world.h"
#include "../../kfi/proto/peers.c"

struct workqueue_struct *kfp_cm_wq;
int pw_there;
static const unsigned int pw_backlog = UINT_MAX;

static struct pw *pw_now;	/* KUnit runs one test at a time */
static u8 pw_buf[16];
static struct kvec pw_vec = { pw_buf, sizeof(pw_buf) };

static struct pw_ep *to_pw_ep(struct kfi_ep *ep)
{
	return container_of(ep, struct pw_ep, pe.ep);
}

/* ---- connections ---- */

void pw_get(struct pw_conn *conn)
{
	refcount_inc(&conn->ref);
}

void pw_put(struct pw_conn *conn)
{
	if (!refcount_dec_and_test(&conn->ref))
		return;
	kfree(conn);
	atomic_dec(&pw_now->nr_conns);
}

/* Keep a reference, so that the test may look at the connection until the world closes. */
static void pw_keep(struct pw_conn *conn)
{
	pw_get(conn);
	spin_lock_bh(&pw_now->lock);
	list_add(&conn->keep, &pw_now->kept);
	spin_unlock_bh(&pw_now->lock);
}

void pw_fail(struct pw_conn *conn, int err)
{
	if (test_and_set_bit(KFP_FAILED, &conn->kc.flags))
		return;
	conn->err = err;
	pw_get(conn);
	queue_work(kfp_cm_wq, &conn->down);
}

void pw_say(struct pw_conn *conn, enum pw_said what, int why)
{
	spin_lock_bh(&conn->lock);
	conn->said = what;
	conn->why = why;
	spin_unlock_bh(&conn->lock);
	if (pw_now->live)
		queue_work(kfp_cm_wq, &conn->hello);
}

/*
 * An operation has arrived: at the peer that was addressed, once, and in the order in which its
 * thread has posted.
 */
static void pw_arrive(struct pw_conn *conn, struct kfi_oper *op)
{
	unsigned long context = (unsigned long)op->context;
	u32 thread = context >> PW_COUNT_BITS, count = context & GENMASK(PW_COUNT_BITS - 1, 0);

	if (op->data != conn->to || thread >= PW_THREADS || count <= conn->seen[thread])
		atomic_inc(&pw_now->wrong);
	else
		conn->seen[thread] = count;
}

static void pw_end_all(struct pw_conn *conn, int err)
{
	struct llist_node *all = llist_reverse_order(llist_del_all(&conn->kc.posted));
	struct kfi_oper *op, *next;

	llist_for_each_entry_safe(op, next, all, lnode) {
		if (!err)
			pw_arrive(conn, op);
		kfi_tx_complete(op, err);
		atomic_inc(&pw_now->ended);
	}
}

/* Runs after the connection was published: operations that have waited come first. */
static void pw_run(struct work_struct *work)
{
	pw_end_all(container_of(work, struct pw_conn, run), 0);
}

static void pw_down(struct work_struct *work)
{
	struct pw_conn *conn = container_of(work, struct pw_conn, down);

	kfi_conn_set_wait_move(&conn->kc.pc);
	cancel_work_sync(&conn->hello);		/* it publishes */
	if (conn->kc.pc.peer)
		kfi_peer_unpublish(&conn->kc.pc);
	synchronize_rcu_expedited();
	cancel_work_sync(&conn->hello);
	cancel_work_sync(&conn->run);
	pw_end_all(conn, conn->err);
	if (conn->kc.pc.peer)
		kfi_peer_lost(&conn->kc.pc, conn->err);
	if (conn->far) {
		pw_fail(conn->far, -ECONNRESET);
		pw_put(conn->far);
	}
	if (conn->kc.pc.peer)
		kfi_peer_leave(&conn->kc.pc);
	kfi_conn_set_remove(&conn->kc.pc);
	pw_put(conn);		/* the reference of the work item */
}

/* ---- the handshake of live connections ---- */

static struct pw_conn *pw_conn_new(struct pw_ep *pe, u64 to, struct kfi_peer *peer,
				   struct pw_conn *far);

/* Return false if there is no such endpoint, or it stops. */
static bool pw_knock(struct pw_conn *conn)
{
	unsigned int i;

	for (i = 0; i < pw_now->nr_eps && pw_now->eps[i]->name != conn->to; i++)
		;
	if (i < pw_now->nr_eps)
		conn->far = pw_conn_new(pw_now->eps[i], conn->pe->name, NULL, conn);
	return conn->far;
}

static int pw_answer(struct pw_conn *conn)
{
	struct pw_conn *far = conn->far;
	struct kfi_peer_call call = {
		.name = &far->pe->name,
		.self = &conn->pe->name,
		.incarnation = far->pe->pe.peers.incarnation,
		.stream = far->kc.pc.stream,
		.known = far->kc.pc.known,
	};

	return kfi_peer_admit(&conn->pe->pe.peers, &conn->kc.pc, &call);
}

static void pw_publish(struct pw_conn *conn)
{
	kfi_peer_publish(&conn->kc.pc);
	queue_work(kfp_cm_wq, &conn->run);
}

static void pw_handle_received(struct pw_conn *conn, enum pw_said said, int why)
{
	switch (said) {
	case PW_CALL:
		why = pw_answer(conn);
		if (why == -EINPROGRESS) {	/* ask again, as kfp_rdm_admit() */
			pw_say(conn, PW_CALL, 0);
			break;
		}
		pw_say(conn->far, why ? PW_REFUSE : PW_ACCEPT, why);
		if (why)
			pw_fail(conn, why);
		else
			pw_publish(conn);
		break;
	case PW_ACCEPT:
		if (pw_accepted(conn, conn->far->pe->pe.peers.incarnation))
			queue_work(kfp_cm_wq, &conn->run);
		break;
	case PW_REFUSE:
		pw_fail(conn, why);
		break;
	case PW_LET_IN:
		pw_publish(conn);
		break;
	case PW_NOTHING:
		if (!conn->started || conn->far)
			break;
		if (pw_knock(conn))
			pw_say(conn->far, PW_CALL, 0);
		else
			pw_fail(conn, -ECONNREFUSED);
		break;
	case PW_DONE:
		break;
	}
}

static void pw_hello(struct work_struct *work)
{
	struct pw_conn *conn = container_of(work, struct pw_conn, hello);
	enum pw_said said;
	int why;

	if (kfp_conn_failed(&conn->kc.pc))
		return;
	spin_lock_bh(&conn->lock);
	said = conn->said;
	why = conn->why;
	if (said != PW_NOTHING)
		conn->said = PW_DONE;
	spin_unlock_bh(&conn->lock);
	pw_handle_received(conn, said, why);
}

/*
 * List a connection in the set of the endpoint: it calls @peer, or @far calls it. It has a
 * reference for the caller. NULL: the endpoint stops, or there is no memory.
 */
static struct pw_conn *pw_conn_new(struct pw_ep *pe, u64 to, struct kfi_peer *peer,
				   struct pw_conn *far)
{
	struct pw_conn *conn = kzalloc(sizeof(*conn), GFP_KERNEL);

	if (!conn)
		return NULL;
	atomic_inc(&pw_now->nr_conns);
	conn->pe = pe;
	conn->to = to;
	refcount_set(&conn->ref, 1);
	spin_lock_init(&conn->lock);
	init_llist_head(&conn->kc.posted);
	INIT_WORK(&conn->hello, pw_hello);
	INIT_WORK(&conn->run, pw_run);
	INIT_WORK(&conn->down, pw_down);
	conn->far = far;
	conn->kc.pc.dialed = peer;
	if (far)
		pw_get(far);
	if (peer)
		kfi_peer_join(peer, &conn->kc.pc);
	if (!kfi_conn_set_add(&pe->pe.conn_set, &conn->kc.pc))
		return conn;
	if (peer)
		kfi_peer_leave(&conn->kc.pc);
	if (far)
		pw_put(far);
	pw_put(conn);
	return NULL;
}

/* ---- what the peers call ---- */

static int pw_name(const struct kfi_ep *ep, const void *addr, void *name)
{
	memcpy(name, addr, sizeof(u64));
	if (pw_now->while_naming)
		pw_now->while_naming(pw_now);
	return 0;
}

static int pw_cmp(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

struct kfp_conn *kfp_dial(struct kfi_proto_ep *proto_ep, const void *to, struct kfi_peer *peer)
{
	struct pw_ep *pe = to_pw_ep(&proto_ep->ep);
	struct pw_conn *conn;

	pe->dials++;
	if (pw_now->dial_err)
		return ERR_PTR(pw_now->dial_err);
	conn = pw_conn_new(pe, *(const u64 *)to, peer, NULL);
	if (!conn)
		return ERR_PTR(-ENODEV);
	if (!pw_now->live) {
		pw_keep(conn);
		pe->last = conn;
	}
	if (pw_now->while_dialing)
		pw_now->while_dialing(peer);
	return &conn->kc;
}

void kfp_dial_start(struct kfp_conn *kc)
{
	struct pw_conn *conn = to_pw_conn(&kc->pc);

	conn->started = true;
	if (pw_now->live)
		queue_work(kfp_cm_wq, &conn->hello);
}

void kfp_conn_put(struct kfp_conn *kc)
{
	pw_put(to_pw_conn(&kc->pc));
}

void kfp_conn_fail(struct kfp_conn *kc, int err)
{
	pw_fail(to_pw_conn(&kc->pc), err);
}

static void pw_ops_put(struct kfi_peer_conn *pc)
{
	pw_put(to_pw_conn(pc));
}

static void pw_ops_fail(struct kfi_peer_conn *pc, int err)
{
	pw_fail(to_pw_conn(pc), err);
}

bool kfp_conn_failed(const struct kfi_peer_conn *pc)
{
	return test_bit(KFP_FAILED, &to_kfp_conn(pc)->flags);
}

static void pw_ops_get(struct kfi_peer_conn *pc)
{
	pw_get(to_pw_conn(pc));
}

unsigned int pw_shows;

void kfp_peer_info(const struct kfi_proto_ep *pe, const void *name, const struct kfi_peer_conn *pc,
		   struct kfi_peer_info *info)
{
	pw_shows++;
	snprintf(info->addr, sizeof(info->addr), "%llu", *(const u64 *)name);
	if (pc)
		info->state = "connected";
}

static int pw_probe(struct kfi_link *link)
{
	lockdep_assert_held(&link_conn(link)->pc.peer->lock);
	return pw_there;
}

static const struct kfi_link_ops pw_link_ops = {
	.name_len	= sizeof(u64),
	.name		= pw_name,
	.cmp		= pw_cmp,
	.probe		= pw_probe,
};

struct kfi_proto pw_proto = { .ops = &pw_link_ops };

static const struct kfi_conn_set_ops pw_conn_set_ops = {
	.backlog	= &pw_backlog,
	.get		= pw_ops_get,
	.put		= pw_ops_put,
	.fail		= pw_ops_fail,
	.failed		= kfp_conn_failed,
};

/* ---- endpoints ---- */

static int pw_ep_open(struct kfi_ep *ep)
{
	struct pw_ep *pe = to_pw_ep(ep);

	pe->pe.proto = &pw_proto;
	kfi_peers_init(&pe->pe.peers, ep);
	kfi_conn_set_init(&pe->pe.conn_set, ep, &pw_conn_set_ops);
	return 0;
}

static void pw_ep_stop(struct kfi_ep *ep, int err)
{
	struct kfi_proto_ep *pe = &to_pw_ep(ep)->pe;

	kfi_peers_stop(&pe->peers);
	kfi_conn_set_stop(&pe->conn_set, err);
	kfi_conn_set_drain(&pe->conn_set);
	synchronize_rcu();
	kfi_peers_flush(&pe->peers, err);
}

static void pw_ep_close(struct kfi_ep *ep)
{
	struct kfi_peers *peers = &to_pw_ep(ep)->pe.peers;
	struct kfi_peer *peer;

	list_for_each_entry(peer, &peers->list, entry)
		KUNIT_EXPECT_TRUE(pw_now->test,
				  list_empty(&peer->pending) && !rcu_access_pointer(peer->conn) &&
					  !peer->dialing && !atomic_read(&peer->users));
	kfi_peers_free(peers);
}

static int pw_tx(struct kfi_ep *ep, struct kfi_oper *op)
{
	struct kfi_peer_conn *pc;
	struct pw_conn *conn;

	rcu_read_lock();
	pc = kfi_peer_find_conn(&to_pw_ep(ep)->pe.peers, op);
	if (!IS_ERR_OR_NULL(pc)) {
		conn = to_pw_conn(pc);
		llist_add(&op->lnode, &conn->kc.posted);
		if (pw_now->live)
			queue_work(kfp_cm_wq, &conn->run);
	}
	rcu_read_unlock();
	return PTR_ERR_OR_ZERO(pc);
}

static void pw_removed(struct kfi_ep *ep, u32 index)
{
	kfi_peers_removed(&to_pw_ep(ep)->pe.peers, index);
}

/* ---- for the tests ---- */

void pw_open(struct kunit *test, struct pw *pw)
{
	struct kfi_prov_ops *ops;

	memset(pw, 0, sizeof(*pw));
	pw->test = test;
	spin_lock_init(&pw->lock);
	INIT_LIST_HEAD(&pw->kept);
	pw_now = pw;
	pw_proto.params.max_peers = 16;
	pw_there = -1;
	pw_proto.params.connect_timeout_ms = 10000;
	kfp_cm_wq = alloc_workqueue("kfi_kunit_peer", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	KUNIT_ASSERT_NOT_NULL(test, kfp_cm_wq);
	pw->w = fake_open(test);
	ops = &pw->w->ops;
	ops->ep_size = sizeof(struct pw_ep);
	ops->tx_priv = KFI_PROTO_TX_PRIV;
	ops->ep_open = pw_ep_open;
	ops->ep_stop = pw_ep_stop;
	ops->ep_close = pw_ep_close;
	ops->tx = pw_tx;
	ops->addr_removed = pw_removed;
	pw->info = fake_info(pw->w, KFI_EP_RDM);
	pw->info->tx_attr->size = 64;
	pw->cq = fake_cq(pw->w, 1024, 0, NULL, NULL);
}

void pw_close(struct pw *pw)
{
	struct pw_conn *conn, *next;
	unsigned int i;
	int err;

	for (i = 0; i < pw->nr_eps; i++)
		KUNIT_EXPECT_EQ(pw->test, 0, kfi_close(&pw->eps[i]->pe.ep.fid.fid));
	while (pw_entry(pw, &err))
		;
	list_for_each_entry_safe(conn, next, &pw->kept, keep)
		pw_put(conn);
	destroy_workqueue(kfp_cm_wq);
	KUNIT_EXPECT_EQ(pw->test, 0, atomic_read(&pw->nr_conns));
	KUNIT_EXPECT_EQ(pw->test, 1024, atomic_read(&kfi_to_cq(pw->cq)->free));
	KUNIT_EXPECT_EQ(pw->test, 0, kfi_close(&pw->cq->fid));
	kfi_freeinfo(pw->info);
	fake_close(pw->w);
}

struct pw_ep *pw_ep(struct pw *pw)
{
	struct pw_ep *pe = to_pw_ep(kfi_to_ep(fake_rdm(pw->w, pw->info, pw->cq)));

	pe->name = pw->nr_eps + 1;
	pw->eps[pw->nr_eps++] = pe;
	return pe;
}

void pw_settle(struct pw *pw)
{
	int i;

	for (i = 0; i < 8; i++)
		flush_workqueue(kfp_cm_wq);
}

int pw_send(struct pw_ep *pe, kfi_addr_t addr, u64 name, unsigned long context)
{
	struct kfi_msg msg = {
		.type = KFI_KVEC,
		.msg_iov = &pw_vec,
		.iov_count = 1,
		.addr = addr,
		.context = (void *)context,
		.data = name,
	};

	return kfi_sendmsg(&pe->pe.ep.fid, &msg, KFI_REMOTE_CQ_DATA);
}

unsigned long pw_entry(struct pw *pw, int *err)
{
	struct kfi_cq_err_entry wc = {};
	struct kfi_cq_tagged_entry e;
	ssize_t ret;

	*err = 0;
	ret = kfi_cq_read(pw->cq, &e, 1);
	if (ret == 1)
		return (unsigned long)e.op_context;
	if (ret != -KFI_EAVAIL || kfi_cq_readerr(pw->cq, &wc, 0) != 1)
		return 0;
	*err = wc.err;
	return (unsigned long)wc.op_context;
}

unsigned long pw_waiting(struct kfi_peer *peer)
{
	struct kfi_oper *op;
	unsigned long all = 0;

	spin_lock_bh(&peer->lock);
	list_for_each_entry(op, &peer->pending, link)
		all = all * 10 + (unsigned long)op->context;
	spin_unlock_bh(&peer->lock);
	return all;
}

/* The newest operation is the first of the list. */
unsigned long pw_given(struct pw_conn *conn)
{
	unsigned long all = 0, unit = 1;
	struct kfi_oper *op;

	llist_for_each_entry(op, READ_ONCE(conn->kc.posted.first), lnode) {
		all += unit * (unsigned long)op->context;
		unit *= 10;
	}
	return all;
}

bool pw_reclaim(struct kfi_peers *peers)
{
	return kfi_peer_reclaim(peers, list_first_entry(&peers->list, struct kfi_peer, entry));
}

struct kfi_peer *pw_peer(struct pw_ep *pe, u64 name, int ctx_id)
{
	struct kfi_peer *peer;

	list_for_each_entry(peer, &pe->pe.peers.list, entry)
		if (*(u64 *)peer->name == name && peer->ctx_id == ctx_id)
			return peer;
	return NULL;
}

struct pw_conn *pw_called(struct pw_ep *pe, const struct kfi_peer_call *call, int *ret)
{
	struct pw_conn *conn = pw_conn_new(pe, *(const u64 *)call->name, NULL, NULL);

	*ret = -ENOMEM;
	if (!conn)
		return NULL;
	*ret = kfi_peer_admit(&pe->pe.peers, &conn->kc.pc, call);
	if (*ret)
		pw_fail(conn, *ret);
	if (pw_now->live)
		return conn;
	pw_keep(conn);
	pw_put(conn);
	return conn;
}

bool pw_accepted(struct pw_conn *conn, u64 incarnation)
{
	if (!kfi_peer_is_dialing(&conn->kc.pc)) {
		pw_fail(conn, -EALREADY);
		return false;
	}
	conn->kc.pc.incarnation = incarnation;
	kfi_peer_publish(&conn->kc.pc);
	return true;
}
