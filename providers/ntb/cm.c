// SPDX-License-Identifier: GPL-2.0
/*
 * cm.c - the handshake.
 *
 *	who calls				who is called
 *	HELLO to a port		  ------------>	nt_call_in(), then nt_callers_work(): a connection
 *				 <------------	RINGING (MSG), when a consumer is to decide; CHALLENGE, with a key
 *	PROOF			  ------------>
 *				 <------------	ACCEPT, and records may follow; or REJECT
 *
 * Answers are looked at where they arrive, for records may be right behind them. What has to sleep is done in step_work, in the order of
 * &nt_conn.steps. Nothing of the peer's is believed before ntw_decode_call() has seen it.
 */
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include "ntb.h"

/**
 * struct nt_caller - a hello that nobody has looked at yet, and the refusal that may be its answer
 * @entry: in &nt_dev.callers
 * @dev: its bridge; @mirror: from our own end of it; @life: of the link, when it came
 * @stock: it goes back to &nt_dev.stock
 * @call: as it came, with what is behind it
 */
struct nt_caller {
	struct list_head	entry;
	struct nt_rec		rec;
	struct ntw_rec		head;
	struct nt_dev		*dev;
	unsigned int		life;
	u32			len;
	bool			mirror;
	bool			stock;
	union {
		struct ntw_call	call;
		u8		raw[sizeof(struct ntw_call) + NTW_DATA_MAX + NTW_AUTH_LEN];
	};
};

/* Who has listed a connection may find it down already. What is queued then nobody would take back: see nt_conn_stop(). */
void nt_step(struct nt_conn *conn, int step)
{
	spin_lock_bh(&conn->lock);
	if (!test_bit(NT_DEAD, &conn->flags)) {
		set_bit(step, &conn->steps);
		queue_work(nt_cm_wq, &conn->step_work);
	}
	spin_unlock_bh(&conn->lock);
}

void nt_set_data(struct nt_conn *conn, const void *data, size_t len)
{
	memcpy(conn->data_out, data, len);	/* kfi.ko has compared @len with our cm_data_size */
	conn->data_out_len = len;
}

static u8 nt_wire_type(const struct nt_conn *conn)
{
	if (smp_load_acquire(&conn->npep))	/* pairs with nt_home_moved() */
		return KFI_EP_MSG;
	return conn->nep && conn->nep->ep.type == KFI_EP_MSG ? KFI_EP_MSG : KFI_EP_RDM;
}

/* ---- speaking ---- */

static struct ntw_calling nt_calling(const struct nt_conn *conn, u8 type, int status)
{
	const struct kfi_peer_conn *pc = &conn->pc;
	bool terms = type == NTW_HELLO || type == NTW_ACCEPT;

	return (struct ntw_calling) {
		.type = type,
		.ep_type = nt_wire_type(conn),
		.auth = conn->auth && type != NTW_REJECT && type != NTW_RINGING,
		.window = { nt_unexpected, nt_unexpected, nt_requests },
		.eager = nt_eager_size,
		.data_len = terms || type == NTW_REJECT ? conn->data_out_len : 0,
		.from = conn->nep ? le32_to_cpu(conn->nep->addr.port) : 0,
		.to = type == NTW_HELLO ? le32_to_cpu(conn->name.port) : 0,
		.bridge = type == NTW_HELLO ? nt_call_number(conn) : 0,
		.conn = conn->id,
		.status = status,
		.incarnation = conn->nep ? conn->nep->peers.incarnation : 1,
		.stream = pc->stream,
		.known = pc->known,
		.src_ctx = pc->dialed ? kfi_peer_tx_ctx(&conn->nep->ep) : 0,
		.dst_ctx = pc->dialed && pc->peer ? kfi_peer_rx_ctx(pc->peer) : 0,
	};
}

/* A side says at most two things that have something behind them, and never changes what it has said; RINGING has nothing. */
static struct nt_say *nt_say_room(struct nt_conn *conn, u8 type)
{
	return &conn->say[type == NTW_PROOF || type == NTW_ACCEPT || type == NTW_REJECT];
}

static void nt_say_fill(struct nt_conn *conn, const struct ntw_calling *c, struct nt_send *s, struct nt_say *say)
{
	struct ntw_call *call = (struct ntw_call *)(s->rec.head + sizeof(struct ntw_rec));

	ntw_encode_call(c, conn->peer_id, &s->rec.rec, call);
	s->rec.head_len = sizeof(struct ntw_rec) + sizeof(*call);
	memcpy(say->buf, conn->data_out, c->data_len);
	if (c->auth)
		nt_auth_outgoing(conn, c->type, call, say);
	s->rec.len = c->data_len + (c->auth ? NTW_AUTH_LEN : 0);
	if (s->rec.len) {
		say->vec = (struct kvec) { say->buf, s->rec.len };
		iov_iter_kvec(&s->rec.iter, ITER_SOURCE, &say->vec, 1, s->rec.len);
	}
	s->rec.flags = 0;
}

/* Any context. Return: 0, -ECONNRESET: the link has gone. */
int nt_say(struct nt_conn *conn, u8 type, int status)
{
	struct ntw_calling c = nt_calling(conn, type, status);
	struct nt_say *say = nt_say_room(conn, type);
	struct nt_send *s;
	int ret;

	spin_lock_bh(&conn->lock);
	s = nt_send_get(conn);
	nt_say_fill(conn, &c, s, say);
	nt_conn_get(conn);
	ret = nt_conn_post(conn, &s->rec, false);
	if (ret) {
		list_move(&s->entry, &conn->idle);
		conn->nidle++;
	} else {
		atomic_inc(&conn->unsent);
	}
	spin_unlock_bh(&conn->lock);
	if (!ret)
		return 0;
	nt_conn_put(conn);
	return -ECONNRESET;
}

/* The caller is told why, and hears no more of it. */
void nt_refuse(struct nt_conn *conn, int err)
{
	nt_say(conn, NTW_REJECT, -err);
	set_bit(NT_CLOSED, &conn->flags);
	nt_conn_fail(conn, err);
}

/* As nt_step() */
static void nt_deadline_start(struct nt_conn *conn)
{
	spin_lock_bh(&conn->lock);
	if (!test_bit(NT_DEAD, &conn->flags))
		queue_delayed_work(nt_cm_wq, &conn->deadline, msecs_to_jiffies(nt_connect_timeout_ms));
	spin_unlock_bh(&conn->lock);
}

/* ---- who calls ---- */

/* There is no link. Until there is nt_conns_link_up() comes back, but by another bridge it may go at once. */
static void nt_call_waits(struct nt_conn *conn)
{
	WRITE_ONCE(conn->state, NT_NEW);
	if (nt_way_other(conn))
		nt_conn_fail(conn, -EALREADY);
}

/* Names are as the endpoint's bridge has them, whatever the call goes by. */
static void nt_call(struct nt_conn *conn)
{
	struct nt_link *link = conn->dev->link, *own = conn->nep->dev->link;
	u32 side = le32_to_cpu(conn->name.side);

	if (conn->state != NT_NEW)
		return;
	if (!delayed_work_pending(&conn->deadline))
		nt_deadline_start(conn);
	conn->mirror = side == nt_link_side(own);
	if (!conn->mirror && side != nt_link_peer_side(own)) {
		nt_conn_fail(conn, -EHOSTUNREACH);
		return;
	}
	if (conn->pc.peer && !nt_way_free(conn)) {
		nt_conn_fail(conn, -EALREADY);
		return;
	}
	set_bit(NT_LINKLESS, &conn->flags);
	smp_mb();	/* either we see the link, or it sees us: nt_conns_link_up() */
	conn->life = nt_link_life(link);
	if (!conn->mirror && !nt_link_is_up(link)) {
		nt_call_waits(conn);
		return;
	}
	WRITE_ONCE(conn->state, NT_CALLING);
	if (nt_say(conn, NTW_HELLO, 0))
		nt_call_waits(conn);
	else
		clear_bit(NT_LINKLESS, &conn->flags);
}

static int nt_accepted(struct nt_conn *conn)
{
	if (conn->pc.peer) {
		if (!nt_rdm_accepted(conn))
			return -EALREADY;
		nt_rdm_ready(conn);
		return 0;
	}
	nt_msg_ready(conn);
	return 0;
}

/* The peer agrees. What has come with it is looked at first, so nobody sees a connection that is half open. */
static int nt_accept_in(struct nt_conn *conn, const struct ntw_calling *c, const struct ntw_call *call, const u8 *auth)
{
	int ret = conn->auth ? nt_auth_accepted(conn, call, auth) : 0;

	if (ret)
		return ret;
	spin_lock_bh(&conn->lock);
	conn->peer = *c;
	nt_conn_open(conn);
	spin_unlock_bh(&conn->lock);
	cancel_delayed_work(&conn->deadline);
	return nt_accepted(conn);
}

static int nt_rejected(struct nt_conn *conn, const struct ntw_calling *c)
{
	conn->peer = *c;
	set_bit(NT_CLOSED, &conn->flags);
	return c->status && c->status < MAX_ERRNO ? -(int)c->status : -ECONNREFUSED;
}

/* What the called side says, or a proof. Return: 0, or the end of the connection. */
static int nt_answered(struct nt_conn *conn, const struct ntw_calling *c, const struct ntw_call *call, const u8 *data)
{
	bool key = c->auth == !!conn->auth;

	if (c->type == NTW_PROOF)
		return conn->state == NT_ASKED && conn->auth && !conn->pc.dialed ? nt_auth_proved(conn, data) : -EPROTO;
	if (!conn->pc.dialed || conn->state != NT_CALLING)
		return -EPROTO;
	memcpy(conn->data_in, data, c->data_len);
	switch (c->type) {
	case NTW_REJECT:
		return nt_rejected(conn, c);
	case NTW_RINGING:
		conn->peer_id = c->conn;
		return 0;
	case NTW_CHALLENGE:
		conn->peer_id = c->conn;
		if (!key)
			return -KFI_EKEYREJECTED;
		return nt_auth_challenged(conn, data) ?: nt_say(conn, NTW_PROOF, 0);
	case NTW_ACCEPT:
		conn->peer_id = c->conn;
		if (!key)
			return -KFI_EKEYREJECTED;
		return c->ep_type == nt_wire_type(conn) ? nt_accept_in(conn, c, call, data + c->data_len) : -EPROTO;
	default:
		return -EPROTO;
	}
}

/* A record of the handshake for a connection that there is. Softirq, under RCU */
void nt_answer_in(struct nt_conn *conn, const struct ntw_rec *rec, const void *body, size_t len)
{
	u8 raw[sizeof(struct ntw_call) + NTW_DATA_MAX + NTW_AUTH_LEN] __aligned(8);
	struct ntw_call *call = (struct ntw_call *)raw;
	struct ntw_calling c;
	int ret = -EPROTO;

	if (len >= sizeof(*call) && len <= sizeof(raw)) {
		memcpy(raw, body, len);
		ret = ntw_decode_call(rec, call, len, &c);
	}
	if (!ret)
		ret = nt_answered(conn, &c, call, raw + sizeof(*call));
	if (ret)
		nt_conn_fail(conn, ret);
}

/* ---- who is called ---- */

/* A few are made with the bridge, for when there is no memory: who calls then is told, and need not wait for an answer until his time is up. */
int nt_callers_init(struct nt_dev *dev)
{
	struct nt_caller *caller;
	unsigned int i;

	INIT_LIST_HEAD(&dev->callers);
	INIT_LIST_HEAD(&dev->stock);
	INIT_WORK(&dev->cm_work, nt_callers_work);
	for (i = 0; i < NT_STOCK; i++) {
		caller = kzalloc(sizeof(*caller), GFP_KERNEL);
		if (!caller)
			return -ENOMEM;
		list_add(&caller->entry, &dev->stock);
	}
	return 0;
}

void nt_callers_free(struct nt_dev *dev)
{
	struct nt_caller *caller, *next;

	list_for_each_entry_safe(caller, next, &dev->stock, entry)
		kfree(caller);
}

static struct nt_caller *nt_caller_stock(struct nt_dev *dev)
{
	struct nt_caller *caller;

	spin_lock_bh(&dev->lock);
	caller = list_first_entry_or_null(&dev->stock, struct nt_caller, entry);
	if (caller)
		list_del(&caller->entry);
	spin_unlock_bh(&dev->lock);
	if (!caller)
		return NULL;
	memset(caller, 0, sizeof(*caller));
	caller->stock = true;
	return caller;
}

/* One more? An answer stays until the peer has heard it, and it may hear none: those of our end are counted for themselves. */
static bool nt_caller_count(struct nt_dev *dev, bool mirror)
{
	bool room;

	spin_lock_bh(&dev->lock);
	room = dev->ncallers[mirror] < nt_backlog;
	dev->ncallers[mirror] += room;
	spin_unlock_bh(&dev->lock);
	return room;
}

static void nt_caller_uncount(struct nt_dev *dev, bool mirror)
{
	spin_lock_bh(&dev->lock);
	dev->ncallers[mirror]--;
	spin_unlock_bh(&dev->lock);
}

/* Any context. NULL: there are enough of them, or there is no memory. */
static struct nt_caller *nt_caller_new(struct nt_dev *dev, bool mirror)
{
	struct nt_caller *caller;

	if (!nt_caller_count(dev, mirror))
		return NULL;
	caller = kzalloc(sizeof(*caller), GFP_ATOMIC | __GFP_NOWARN) ?: nt_caller_stock(dev);
	if (!caller) {
		nt_caller_uncount(dev, mirror);
		return NULL;
	}
	caller->dev = dev;
	caller->mirror = mirror;
	return caller;
}

static void nt_caller_free(struct nt_caller *caller)
{
	struct nt_dev *dev = caller->dev;

	nt_caller_uncount(dev, caller->mirror);
	if (!caller->stock) {
		kfree(caller);
		return;
	}
	spin_lock_bh(&dev->lock);
	list_add(&caller->entry, &dev->stock);
	spin_unlock_bh(&dev->lock);
}

static void nt_caller_heard(struct nt_rec *rec, int err)
{
	nt_caller_free(container_of(rec, struct nt_caller, rec));
}

/* To somebody for whom there is no connection. */
static void nt_caller_say(struct nt_dev *dev, struct nt_caller *caller, u16 head_len)
{
	caller->rec.head_len = head_len;
	caller->rec.heard = nt_caller_heard;
	if (caller->mirror)
		nt_mirror_post(&dev->mirror, &caller->rec);
	else if (nt_post(dev->link, &caller->rec, false))
		nt_caller_free(caller);
}

static void nt_turn_away(struct nt_dev *dev, struct nt_caller *caller, u32 conn, int err)
{
	struct ntw_calling c = { .type = NTW_REJECT, .status = -err };

	ntw_encode_call(&c, conn, &caller->rec.rec, (struct ntw_call *)(caller->rec.head + sizeof(struct ntw_rec)));
	nt_caller_say(dev, caller, sizeof(struct ntw_rec) + sizeof(struct ntw_call));
}

/* It answers a call that was given up: what it is about must not wait for us. Softirq */
void nt_stranger_close(struct nt_dev *dev, const struct ntw_rec *rec, const void *body, size_t len, bool mirror)
{
	struct ntw_frame f = { .type = NTW_CLOSE, .status = ECONNRESET };
	struct nt_caller *caller;
	struct ntw_calling c;

	if (rec->type == NTW_REJECT || rec->type == NTW_PROOF || len < sizeof(caller->call) || len > sizeof(caller->raw))
		return;
	caller = nt_caller_new(dev, mirror);
	if (!caller)
		return;
	memcpy(caller->raw, body, len);
	if (ntw_decode_call(rec, &caller->call, len, &c)) {
		nt_caller_free(caller);
		return;
	}
	f.conn = c.conn;
	ntw_encode(&f, &caller->rec.rec, (struct ntw_hdr *)(caller->rec.head + sizeof(struct ntw_rec)));
	nt_caller_say(dev, caller, NTW_PREFIX);
}

/* A hello. Who finds no room here hears nothing, and gives up after a time. Softirq */
void nt_call_in(struct nt_dev *dev, const struct ntw_rec *rec, const void *body, size_t len, bool mirror)
{
	struct nt_caller *caller;

	if (len < sizeof(caller->call) || len > sizeof(caller->raw))
		return;
	caller = nt_caller_new(dev, mirror);
	if (!caller)
		return;
	caller->head = *rec;
	caller->life = nt_link_life(dev->link);
	caller->len = len;
	memcpy(caller->raw, body, len);
	spin_lock_bh(&dev->lock);
	list_add_tail(&caller->entry, &dev->callers);
	spin_unlock_bh(&dev->lock);
	queue_work(nt_cm_wq, &dev->cm_work);
}

static struct nt_caller *nt_next_caller(struct nt_dev *dev)
{
	struct nt_caller *caller;

	spin_lock_bh(&dev->lock);
	caller = list_first_entry_or_null(&dev->callers, struct nt_caller, entry);
	if (caller)
		list_del(&caller->entry);
	spin_unlock_bh(&dev->lock);
	return caller;
}

/* The peer's are over with the link, which those of our own end have nothing to do with. */
void nt_callers_drop(struct nt_dev *dev, bool all)
{
	struct nt_caller *caller, *next;
	LIST_HEAD(over);

	spin_lock_bh(&dev->lock);
	list_for_each_entry_safe(caller, next, &dev->callers, entry)
		if (all || !caller->mirror)
			list_move_tail(&caller->entry, &over);
	spin_unlock_bh(&dev->lock);
	list_for_each_entry_safe(caller, next, &over, entry)
		nt_caller_free(caller);
}

/* One side has a key and the other none? */
static int nt_call_ok(const struct nt_conn *conn, const struct ntw_calling *c)
{
	if (c->ep_type != nt_wire_type(conn))
		return -EPROTOTYPE;
	if (conn->npep && (c->src_ctx || c->dst_ctx))
		return -EPROTO;
	return c->auth == !!conn->auth ? 0 : -KFI_EKEYREJECTED;
}

/* What the caller has said is in the connection from here on, and nobody else knows of that. */
static void nt_conn_called(struct nt_dev *dev, struct nt_conn *conn, const struct nt_caller *caller,
			   const struct ntw_calling *c)
{
	const u8 *data = caller->raw + sizeof(caller->call);

	conn->peer = *c;
	conn->peer_id = c->conn;
	conn->state = NT_ASKED;
	conn->mirror = caller->mirror;
	conn->life = caller->life;
	conn->name.side = cpu_to_le32(conn->mirror ? nt_link_side(dev->link) : nt_link_peer_side(dev->link));
	conn->name.port = cpu_to_le32(c->from);
	memcpy(conn->data_in, data, c->data_len);
	if (c->auth && conn->auth)
		nt_auth_called(conn, &caller->call, data + c->data_len);
}

/*
 * Has the link gone since the hello came? Then the caller has heard of that and may call by another bridge: it is not for this call to end what
 * he has there. The connection is listed: who ends a life of the link after this look finds it (nt_conns_link_down()).
 */
static bool nt_call_late(const struct nt_conn *conn)
{
	smp_mb();	/* listed, then the life: nt_conns_link_down() goes through the list behind that */
	return !conn->mirror && conn->life != nt_link_life(conn->dev->link);
}

/* Listed, with a number: it may end at any moment. */
static void nt_called(struct nt_conn *conn, const struct ntw_calling *c)
{
	int ret = nt_call_ok(conn, c);

	if (nt_call_late(conn)) {
		nt_conn_fail(conn, -ENOTCONN);
	} else if (ret) {
		nt_refuse(conn, ret);
	} else if (conn->auth) {
		nt_deadline_start(conn);
		ret = nt_say(conn, NTW_CHALLENGE, 0);
		if (ret)
			nt_conn_fail(conn, ret);
	} else {
		nt_step(conn, NT_STEP_ASKED);
	}
}

/* For a caller, if he may have one: @home is the bridge whose port he wants. Only RDM endpoints are called by another one. */
static struct nt_conn *nt_caller_conn(struct nt_dev *dev, struct nt_dev *home, const struct nt_caller *caller, u32 port)
{
	struct nt_listener *l = xa_load(&home->ports, port);

	if (!l || (dev != home && !l->nep) || (!caller->mirror && atomic_read(&home->remains) >= nt_backlog))
		return NULL;
	return nt_conn_new(dev, l->nep, l->npep);
}

/* Return: listed, with a reference; NULL: nobody is there for him. */
static struct nt_conn *nt_caller_list(struct nt_dev *dev, struct nt_dev *home, const struct nt_caller *caller, const struct ntw_calling *c)
{
	struct nt_conn *conn;

	mutex_lock(&home->answering);
	conn = nt_caller_conn(dev, home, caller, c->to);
	if (conn)
		nt_conn_called(home, conn, caller, c);
	if (conn && nt_conn_list(conn, NULL)) {
		nt_conn_put(conn);
		conn = NULL;
	}
	mutex_unlock(&home->answering);
	return conn;
}

static void nt_caller_answer(struct nt_dev *dev, struct nt_caller *caller)
{
	struct nt_dev *home = NULL;
	struct nt_conn *conn = NULL;
	struct ntw_calling c;
	int ret = ntw_decode_call(&caller->head, &caller->call, caller->len, &c);

	if (ret == -EPROTO) {
		nt_caller_free(caller);
		return;
	}
	if (!ret)
		home = nt_called_dev(dev, c.bridge);
	if (home) {
		conn = nt_caller_list(dev, home, caller, &c);
		nt_dev_put(home);
	}
	if (!conn) {
		nt_turn_away(dev, caller, le32_to_cpu(caller->call.conn), ret ?: -ECONNREFUSED);
		return;
	}
	nt_caller_free(caller);
	nt_called(conn, &c);
	nt_conn_put(conn);
}

/* Who closes waits for a run, and a peer that calls all the time must not make that a long one. */
void nt_callers_work(struct work_struct *work)
{
	struct nt_dev *dev = container_of(work, struct nt_dev, cm_work);
	unsigned int noio = memalloc_noio_save();
	struct nt_caller *caller;
	unsigned int n;

	for (n = 0; n < NT_ANSWERED && (caller = nt_next_caller(dev)); n++)
		nt_caller_answer(dev, caller);
	memalloc_noio_restore(noio);
	if (n == NT_ANSWERED)
		queue_work(nt_cm_wq, work);
}

/* ---- what may sleep ---- */

static int nt_step_asked(struct nt_conn *conn)
{
	if (conn->npep)
		return nt_msg_request(conn);
	return nt_conn_furnish(conn) ?: nt_rdm_admit(conn);
}

/* Who calls may. What he sends may be right behind the answer. False: the connection fails. */
bool nt_accept(struct nt_conn *conn)
{
	spin_lock_bh(&conn->lock);
	nt_conn_open(conn);
	spin_unlock_bh(&conn->lock);
	if (!nt_say(conn, NTW_ACCEPT, 0))
		return true;
	nt_conn_fail(conn, -ECONNRESET);
	return false;
}

/* The consumer has accepted. What he has to say about that does not come with a refusal. */
static void nt_step_accept(struct nt_conn *conn)
{
	int ret = nt_conn_furnish(conn);

	if (ret) {
		conn->data_out_len = 0;
		nt_refuse(conn, ret);
	} else if (nt_accept(conn)) {
		nt_msg_ready(conn);
	}
}

static void nt_steps(struct nt_conn *conn)
{
	int ret;

	if (test_and_clear_bit(NT_STEP_CALL, &conn->steps))
		nt_call(conn);
	if (test_and_clear_bit(NT_STEP_ASKED, &conn->steps)) {
		cancel_delayed_work(&conn->deadline);
		ret = nt_step_asked(conn);
		if (ret)
			nt_refuse(conn, ret);
	}
	if (test_and_clear_bit(NT_STEP_ACCEPT, &conn->steps))
		nt_step_accept(conn);
	if (test_and_clear_bit(NT_STEP_REJECT, &conn->steps))
		nt_refuse(conn, -ECONNREFUSED);
	if (test_and_clear_bit(NT_STEP_CONNECTED, &conn->steps) &&
	    kfi_ep_connected(&conn->nep->ep, conn->data_in, conn->pc.dialed ? conn->peer.data_len : 0))
		nt_conn_fail(conn, -ECANCELED);
}

void nt_step_work(struct work_struct *work)
{
	struct nt_conn *conn = container_of(work, struct nt_conn, step_work);
	unsigned int noio = memalloc_noio_save();

	if (!test_bit(NT_FAILED, &conn->flags))
		nt_steps(conn);
	memalloc_noio_restore(noio);
}
