// SPDX-License-Identifier: GPL-2.0
/*
 * What a connection of kfi_verbs does when things come in an order in which devices and peers seldom let them come. The sources are
 * compiled into this module, for a provider exports nothing.
 */
#include "verbs_world.h"

/* ---- messages that are answered ---- */

static void peer_answers(struct world *w, unsigned int i)
{
	struct kvw_packet p = { .type = KVW_FIN, .id = i, .gen = 7 };
	struct kv_done done = KV_DONE(done);

	spin_lock_bh(&w->conn->lock);
	KUNIT_EXPECT_EQ(w->test, 0, kv_got_fin(w->conn, &p, &done));
	spin_unlock_bh(&w->conn->lock);
	kv_done(&done);
}

/* The device may send the consumer's memory once more as long as it has not said that it has ended. */
static void answer_first(struct kunit *test)
{
	struct world *w = world_open(test);

	post(w, 0, KFI_OPC_SEND, 2000, KFI_DELIVERY_COMPLETE, NULL, 0);
	KUNIT_ASSERT_EQ(test, 1, w->nwr);
	KUNIT_EXPECT_TRUE(test, w->signalled[0]);
	peer_answers(w, 0);
	KUNIT_EXPECT_EQ(test, 0, w->told[0]);
	device_report(w, 0, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, 1, w->told[0]);
	KUNIT_EXPECT_EQ(test, 0, w->err[0]);
	KUNIT_EXPECT_EQ(test, 0, w->conn->inflight);
	world_close(w);
}

static void answer_last(struct kunit *test)
{
	struct world *w = world_open(test);

	post(w, 0, KFI_OPC_SEND, 2000, KFI_DELIVERY_COMPLETE, NULL, 0);
	device_report(w, 0, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, 0, w->told[0]);
	peer_answers(w, 0);
	KUNIT_EXPECT_EQ(test, 1, w->told[0]);
	KUNIT_EXPECT_EQ(test, 0, w->err[0]);
	KUNIT_EXPECT_EQ(test, 0, w->conn->inflight);
	KUNIT_EXPECT_EQ(test, 0, w->conn->requests);
	world_close(w);
}

/* What has been copied is nobody's memory: the answer is enough. */
static void answer_alone(struct kunit *test)
{
	struct world *w = world_open(test);

	post(w, 0, KFI_OPC_SEND, KV_INLINE, KFI_DELIVERY_COMPLETE, NULL, 0);
	KUNIT_EXPECT_FALSE(test, w->signalled[0]);
	peer_answers(w, 0);
	KUNIT_EXPECT_EQ(test, 1, w->told[0]);
	KUNIT_EXPECT_EQ(test, 0, w->conn->inflight);
	flush(w);
	world_close(w);
}

/* With either of the two still to come, and with both. */
static void answer_never(struct kunit *test)
{
	struct world *w = world_open(test);
	unsigned int i;

	for (i = 0; i < 3; i++)
		post(w, i, KFI_OPC_SEND, 2000, KFI_DELIVERY_COMPLETE, NULL, 0);
	device_report(w, 0, IB_WC_SUCCESS);
	peer_answers(w, 1);
	device_report(w, 1, IB_WC_RETRY_EXC_ERR);
	device_report(w, 2, IB_WC_WR_FLUSH_ERR);
	KUNIT_EXPECT_EQ(test, 0, w->told[0] + w->told[1] + w->told[2]);
	flush(w);
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_EQ(test, 1, w->told[i]);
		KUNIT_EXPECT_LT(test, w->err[i], 0);
	}
	KUNIT_EXPECT_EQ(test, -ETIMEDOUT, w->err[1]);
	world_close(w);
}

/* ---- how long packets are ---- */

/* The longest message that goes in one packet goes, and what is longer is to be registered first, which this device has nothing for. */
static void expect_room(struct world *w, u32 packet)
{
	post(w, 0, KFI_OPC_SEND, packet - KVW_HDR_MAX + 1, 0, NULL, 0);
	KUNIT_EXPECT_EQ(w->test, 0, w->nwr);
	flush(w);
	KUNIT_EXPECT_EQ(w->test, 1, w->told[0]);
}

static void agreed_on(struct kunit *test)
{
	static const struct {
		u8 version;
		u16 theirs;
		unsigned int pieces;	/* that the device takes for a receive */
		u32 takes, sends;
	} rows[] = {
		{ KVW_VERSION, KVW_PACKET, 2, KVW_PACKET, KVW_PACKET },
		{ KVW_VERSION, 0xffff, 2, KVW_PACKET, KVW_PACKET },
		{ KVW_VERSION, KVW_PAGE + 8, 2, KVW_PACKET, KVW_PAGE + 8 },
		{ KVW_VERSION, KVW_PAGE, 2, KVW_PACKET, KVW_PAGE },
		{ KVW_VERSION, KVW_PACKET, 1, KVW_PAGE, KVW_PACKET },
		{ KVW_VERSION_LONG - 1, KVW_PAGE, 2, KVW_PAGE, KVW_PAGE },
	};
	struct kv_batch *batch;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct world *w = world_open(test);

		KUNIT_EXPECT_EQ(test, 2, w->pieces);
		KUNIT_EXPECT_EQ(test, KVW_PACKET, w->room);
		w->kdom.max_recv_sge = rows[i].pieces;
		batch = kv_batch_new(w->conn, 9, GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, batch);
		KUNIT_EXPECT_EQ(test, 0, kv_batch_post(w->conn, batch));
		KUNIT_EXPECT_EQ(test, rows[i].pieces, w->pieces);
		KUNIT_EXPECT_EQ(test, rows[i].pieces == 1 ? KVW_PAGE : KVW_PACKET, w->room);
		w->conn->greeting.version = rows[i].version;
		w->conn->greeting.packet = rows[i].theirs;
		kv_slots_open(w->conn);
		KUNIT_EXPECT_EQ_MSG(test, rows[i].takes, w->conn->takes, "row %u", i);
		post(w, 1, KFI_OPC_SEND, rows[i].sends - KVW_HDR_MAX, 0, NULL, 0);
		KUNIT_EXPECT_EQ_MSG(test, 1, w->nwr, "row %u", i);
		w->nwr = 0;
		expect_room(w, rows[i].sends);
		world_close(w);
	}
}

/* ---- RMA ---- */

/* Some of it is in the send queue, where nobody is to be told of it, when no more can follow. */
static void refused_midway(struct kunit *test)
{
	struct kfi_rma_iov rma[] = { { .len = PAGE_SIZE, .key = 1 }, { .len = PAGE_SIZE, .key = 2 } };
	struct world *w = world_open(test);
	struct kvw_packet p = { .type = KVW_KEY_IS, .status = EACCES, .id = 1 };
	unsigned int last;

	know(w, 0, PAGE_SIZE);
	know(w, 1, PAGE_SIZE / 2);
	post(w, 0, KFI_OPC_WRITE, MEM, KFI_TRANSMIT_COMPLETE, rma, 2);
	KUNIT_ASSERT_EQ(test, KV_KEY_ASKED, w->conn->keys[1].state);
	p.gen = w->conn->keys[1].gen;
	spin_lock_bh(&w->conn->lock);
	KUNIT_EXPECT_EQ(test, 0, kv_got_key(w->conn, &p, NULL));
	spin_unlock_bh(&w->conn->lock);
	kv_tx_kick(w->conn);
	last = w->nwr - 1;
	KUNIT_EXPECT_EQ(test, IB_WR_RDMA_WRITE, w->opcode[0]);
	KUNIT_EXPECT_TRUE(test, w->signalled[last]);
	device_report(w, last, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, 1, w->told[0]);
	KUNIT_EXPECT_EQ(test, -EREMOTEIO, w->err[0]);
	KUNIT_EXPECT_EQ(test, 0, w->conn->inflight);
	flush(w);
	world_close(w);
}

/* What ends well stands for all before it, so nothing may follow what the device has not taken. */
static void post_refused(struct kunit *test)
{
	struct kfi_rma_iov rma = { .len = 512, .key = 1 };
	struct world *w = world_open(test);
	unsigned int i;

	know(w, 0, PAGE_SIZE);
	for (i = 0; i < 3; i++) {
		w->refuse = i == 1 ? -ENOMEM : 0;
		post(w, i, KFI_OPC_WRITE, 512, KFI_TRANSMIT_COMPLETE, &rma, 1);
	}
	spin_lock_bh(&w->conn->lock);
	kv_put_probe(w->conn);
	kv_sq_post(w->conn);
	spin_unlock_bh(&w->conn->lock);
	for (i = w->nwr; i--; )		/* the last first, which stands for the others */
		device_report(w, i, IB_WC_SUCCESS);
	flush_workqueue(kv_cm_wq);
	KUNIT_EXPECT_EQ(test, 1, atomic_read(&w->lost));
	KUNIT_EXPECT_EQ(test, 1, w->nwr);
	flush(w);
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, 1, w->told[i]);
	KUNIT_EXPECT_EQ(test, 0, w->err[0]);
	KUNIT_EXPECT_LT(test, w->err[1], 0);
	KUNIT_EXPECT_LT(test, w->err[2], 0);
	world_close(w);
}

/* Others wait for a sink, and those of the two that fail are nobody's any more. */
static void read_fails(struct kunit *test)
{
	struct kfi_rma_iov rma = { .len = PAGE_SIZE, .key = 1 };
	struct world *w = open_reader(test, 2);
	unsigned int i;

	for (i = 0; i < OPS; i++)
		post(w, i, KFI_OPC_READ, PAGE_SIZE, 0, &rma, 1);
	KUNIT_EXPECT_EQ(test, IB_WR_REG_MR, w->opcode[0]);
	KUNIT_EXPECT_EQ(test, IB_WR_RDMA_READ_WITH_INV, w->opcode[1]);
	device_report(w, 1, IB_WC_RETRY_EXC_ERR);
	device_report(w, 3, IB_WC_WR_FLUSH_ERR);
	close_reader(w, 4, OPS);
}

/* Of an operation that has more to ask for. */
static void read_fails_midway(struct kunit *test)
{
	struct kfi_rma_iov rma[] = { { .len = PAGE_SIZE, .key = 1 }, { .len = PAGE_SIZE, .key = 2 } };
	struct world *w = open_reader(test, 1);

	post(w, 0, KFI_OPC_READ, MEM, 0, rma, 2);
	KUNIT_EXPECT_PTR_EQ(test, kfi_tx_by_index(&w->vep.ep, 0), w->conn->op);
	device_report(w, 1, IB_WC_RETRY_EXC_ERR);
	close_reader(w, 2, 1);
}

/* ---- regions ---- */

/* Two registrations, a page each. */
static struct kv_region *open_region(struct world *w)
{
	struct kvec *kvec = kunit_kzalloc(w->test, sizeof(*kvec), GFP_KERNEL);
	struct kv_region *region;

	KUNIT_ASSERT_NOT_NULL(w->test, kvec);
	*kvec = (struct kvec){ w->mem, MEM };
	w->mr.domain = &w->kdom.domain;
	w->mr.len = MEM;
	w->mr.access = KFI_REMOTE_READ | KFI_REMOTE_WRITE;
	refcount_set(&w->mr.persists, 2);	/* for us to see when the other goes */
	iov_iter_kvec(&w->mr.iter, ITER_SOURCE, kvec, 1, MEM);
	KUNIT_ASSERT_EQ(w->test, 0, kv_mr_open(&w->mr));
	region = w->mr.priv;
	KUNIT_ASSERT_EQ(w->test, 2, region->cut);
	return region;
}

static struct kv_slot *some_slot(struct world *w)
{
	struct kv_batch *batch = list_first_entry(&w->conn->batches, struct kv_batch, entry);
	struct kv_slot *slot = &batch->slot[0];

	slot->state = KV_SLOT_HERE;
	slot->read = true;
	slot->cls = KVW_CLS;
	slot->holds = KV_HOLD_MESSAGE;
	return slot;
}

/* A message that has promised more than it describes, of which the only READ fails. */
static void fetch_fails(struct kunit *test)
{
	struct world *w = open_reader(test, 1);
	struct kv_slot *slot = some_slot(w);
	struct kvec kvec = { w->mem, MEM };

	slot->p = (struct kvw_packet){ .type = KVW_RTS, .count = 1 };
	*kv_slot_descs(slot) = (struct kvw_desc){ .len = cpu_to_le64(PAGE_SIZE) };
	slot->rx.room = MEM;
	iov_iter_kvec(&slot->rx.iter, ITER_DEST, &kvec, 1, MEM);
	spin_lock_bh(&w->conn->lock);
	kv_fetch_start(w->conn, slot);
	kv_tx_run(w->conn, NULL);
	spin_unlock_bh(&w->conn->lock);
	device_report(w, 1, IB_WC_RETRY_EXC_ERR);
	KUNIT_EXPECT_EQ(test, KV_SLOT_FETCHING, slot->state);
	list_del_init(&slot->link);
	close_reader(w, 2, 0);
}

/* A peer asks for what is from @at on. */
static void peer_asks(struct world *w, struct kv_region *region, u64 at)
{
	struct kv_slot *slot = some_slot(w);

	slot->p = (struct kvw_packet){ .type = KVW_KEY, .data = at };
	spin_lock_bh(&w->conn->lock);
	spin_lock(&region->lock);
	KUNIT_EXPECT_EQ(w->test, 0, kv_region_prepare(region, slot));
	spin_unlock(&region->lock);
	kv_sq_post(w->conn);
	spin_unlock_bh(&w->conn->lock);
}

/* What kfi.ko does when it finds the region used. */
static void owner_ends(struct world *w)
{
	rcu_read_lock();
	KUNIT_EXPECT_TRUE(w->test, kv_mr_end(&w->mr));
	rcu_read_unlock();
}

static void set_state(struct kv_region *region, unsigned int i, u8 state)
{
	spin_lock_bh(&region->lock);
	region->chunk[i].state = state;
	spin_unlock_bh(&region->lock);
}

/* Each registration was taken back before the owner was told. */
static void expect_ended(struct world *w, unsigned int nderegs)
{
	unsigned int i;

	KUNIT_EXPECT_EQ(w->test, nderegs, w->nderegs);
	for (i = 0; i < w->nderegs; i++)
		KUNIT_EXPECT_EQ(w->test, 2, w->unsettled[i]);
	KUNIT_EXPECT_EQ(w->test, 1, refcount_read(&w->mr.persists));
}

/* The first is registered, and the region ends, while the second is on its way back for another reason. */
static void ends_behind(struct world *w, struct ib_mr *mr)
{
	w->dereg = NULL;
	set_state(w->mr.priv, 0, KV_CHUNK_VALID);
	owner_ends(w);
}

static void end_while_renewed(struct kunit *test)
{
	struct world *w = world_open(test);
	struct kv_region *region = open_region(w);

	set_state(region, 1, KV_CHUNK_GOING);
	w->dereg = ends_behind;
	queue_work(kv_cm_wq, &region->renew);
	flush_workqueue(kv_cm_wq);
	expect_ended(w, 2);
	kv_mr_close(&w->mr);
	world_close(w);
}

/* The second is given to the device to register, and the region ends, while the first is on its way back. */
static void asked_meanwhile(struct world *w, struct ib_mr *mr)
{
	w->dereg = NULL;
	peer_asks(w, w->mr.priv, PAGE_SIZE);
	owner_ends(w);
	complete(&w->reached);
}

static void renew_while_registered(struct kunit *test)
{
	struct world *w = world_open(test);
	struct kv_region *region = open_region(w);

	set_state(region, 0, KV_CHUNK_GOING);
	w->dereg = asked_meanwhile;
	queue_work(kv_cm_wq, &region->renew);
	KUNIT_ASSERT_TRUE(test, wait_for_completion_timeout(&w->reached, 10 * HZ));
	msleep(50);
	KUNIT_EXPECT_EQ(test, 1, w->nderegs);	/* it could still execute the second */
	KUNIT_EXPECT_EQ(test, 2, refcount_read(&w->mr.persists));
	device_report(w, w->nwr - 1, IB_WC_SUCCESS);
	flush_workqueue(kv_cm_wq);
	expect_ended(w, 2);
	flush(w);
	kv_mr_close(&w->mr);
	world_close(w);
}

/* A peer has had the device invalidate what it has no business with, by a message that does not say so. */
static void spoilt(struct kunit *test)
{
	struct world *w = world_open(test);
	struct kv_region *region = open_region(w);
	struct kv_slot *slot = some_slot(w);

	set_state(region, 1, KV_CHUNK_VALID);
	slot->p = (struct kvw_packet){ .type = KVW_MSG };
	slot->inv_key = region->chunk[1].mr->rkey;
	KUNIT_EXPECT_FALSE(test, kv_rx_is_plain(slot));
	KUNIT_EXPECT_EQ(test, -EPROTO, kv_rx_invalidate(slot));
	flush_workqueue(kv_cm_wq);
	flush_workqueue(kv_region_wq);
	KUNIT_EXPECT_EQ(test, 1, w->nderegs);
	KUNIT_EXPECT_EQ(test, KV_CHUNK_NEW, region->chunk[1].state);
	KUNIT_EXPECT_EQ(test, 1, atomic_read(&w->kdom.epoch));
	slot->inv_key = 0;
	KUNIT_EXPECT_EQ(test, 0, kv_rx_invalidate(slot));
	KUNIT_EXPECT_EQ(test, 1, atomic_read(&w->kdom.epoch));
	flush(w);
	kv_mr_close(&w->mr);
	world_close(w);
}

/*
 * The sender has had the device invalidate what it was told of, and says so: but the owner is ending it just then, or has. Neither
 * is to blame; and nobody else is told anything.
 */
static void crossed(struct kunit *test)
{
	static const u8 states[] = { KV_CHUNK_GOING, KV_CHUNK_NEW };
	struct world *w = world_open(test);
	struct kv_region *region = open_region(w);
	struct kv_slot *slot = some_slot(w);
	unsigned int i;

	KUNIT_ASSERT_EQ(test, 0, kfi_mr_table_init(&w->kdom.domain));
	slot->p = (struct kvw_packet){ .type = KVW_MSG, .flags = KVW_F_INV, .count = 1 };
	kv_slot_descs(slot)->addr = cpu_to_le64(4711);
	slot->inv_key = region->chunk[1].mr->rkey;
	for (i = 0; i < ARRAY_SIZE(states); i++) {
		set_state(region, 1, states[i]);
		KUNIT_EXPECT_EQ(test, 0, kv_rx_invalidate(slot));
		KUNIT_EXPECT_FALSE(test, slot->inv_over);
	}
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&w->kdom.epoch));
	set_state(region, 1, KV_CHUNK_VALID);
	KUNIT_EXPECT_EQ(test, -EPROTO, kv_rx_invalidate(slot));	/* what is another's is not the same */
	flush_workqueue(kv_cm_wq);
	flush(w);
	kv_mr_close(&w->mr);
	kfi_mr_table_exit(&w->kdom.domain);
	world_close(w);
}

/* The owner is told though the device has nothing to put in the place of what it has given back; peers wait, and the region is not lost. */
static void ends_without_memory(struct kunit *test)
{
	struct world *w = world_open(test);
	struct kv_region *region = open_region(w);
	struct kv_slot *slot = some_slot(w);
	unsigned long end = jiffies + 10 * HZ;

	WRITE_ONCE(w->poor, true);
	set_state(region, 0, KV_CHUNK_VALID);
	owner_ends(w);
	flush_workqueue(kv_cm_wq);
	flush_workqueue(kv_region_wq);
	expect_ended(w, 1);
	KUNIT_EXPECT_FALSE(test, kv_mr_known(&w->mr));
	rcu_read_lock();
	KUNIT_EXPECT_FALSE(test, kv_mr_end(&w->mr));
	rcu_read_unlock();
	KUNIT_ASSERT_EQ(test, 0, kv_mr_attach(&w->mr));
	slot->p = (struct kvw_packet){ .type = KVW_KEY };
	spin_lock_bh(&region->lock);
	KUNIT_EXPECT_EQ(test, -EAGAIN, kv_region_prepare(region, slot));
	spin_unlock_bh(&region->lock);
	WRITE_ONCE(w->poor, false);
	while (READ_ONCE(region->chunk[0].state) != KV_CHUNK_NEW && time_before(jiffies, end))
		msleep(20);
	peer_asks(w, region, 0);
	device_report(w, w->nwr - 1, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, KV_CHUNK_VALID, region->chunk[0].state);
	flush(w);
	kv_mr_close(&w->mr);
	world_close(w);
}

/* Closed while there is no memory: nobody waits for any. */
static void closes_without_memory(struct kunit *test)
{
	struct world *w = world_open(test);
	struct kv_region *region = open_region(w);
	unsigned int count;

	WRITE_ONCE(w->poor, true);
	set_state(region, 0, KV_CHUNK_VALID);
	owner_ends(w);
	flush_workqueue(kv_cm_wq);
	flush_workqueue(kv_region_wq);
	expect_ended(w, 1);
	KUNIT_EXPECT_EQ(test, KV_CHUNK_BARE, region->chunk[0].state);
	count = region->count;
	kv_mr_close(&w->mr);
	KUNIT_EXPECT_EQ(test, min_t(unsigned int, count, OPS), w->nderegs);	/* so many are counted */
	world_close(w);
}

/* ---- events ---- */

static struct irq_work from_irq;

static void event_comes(struct irq_work *irq)
{
	struct ib_event event = { .event = IB_EVENT_QP_ACCESS_ERR };

	kv_qp_event(&event, the_world->conn);
}

/* Some drivers tell of events in hard interrupt, which may hit a thread that holds any of our locks. lockdep looks on. */
static void event_in_irq(struct kunit *test)
{
	struct world *w = world_open(test);

	spin_lock_bh(&w->conn->lock);
	spin_unlock_bh(&w->conn->lock);
	from_irq = IRQ_WORK_INIT_HARD(event_comes);
	irq_work_queue(&from_irq);
	irq_work_sync(&from_irq);
	flush_workqueue(kv_cm_wq);
	KUNIT_EXPECT_TRUE(test, test_bit(KV_FLUSHED, &w->conn->flags));
	world_close(w);
}

/* A peer whose call we have accepted refuses it, with the words of one that is called: that is an end, and no reason to call. */
static void refused_by_caller(struct kunit *test)
{
	static const u8 states[] = { KV_WAITING, KV_ACCEPTED, KV_READY };
	struct kvw_greeting g = { .kind = KVW_CHALLENGE, .auth = true };
	struct rdma_cm_event event = { .event = RDMA_CM_EVENT_REJECTED };
	struct world *w = world_open(test);
	struct kvw_hello hello;
	unsigned int i;

	kvw_encode_hello(&g, &hello);
	event.param.conn.private_data = &hello;
	event.param.conn.private_data_len = sizeof(hello);
	for (i = 0; i < 2 * ARRAY_SIZE(states); i++) {
		w->conn->auth = kzalloc(sizeof(*w->conn->auth), GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, w->conn->auth);
		w->conn->pc.dialed = i & 1;
		w->conn->state = states[i / 2];
		KUNIT_EXPECT_LT(test, kv_cm_event(w->conn, &event), 0);
		KUNIT_EXPECT_FALSE(test, test_bit(KV_STEP_AGAIN, &w->conn->flags));
		KUNIT_EXPECT_EQ(test, 64, w->conn->greeting.answers);
		kfree(w->conn->auth);
		w->conn->auth = NULL;
	}
	world_close(w);
}

/* Whoever calls is asked for his proof so. */
static void refused_by_called(struct kunit *test)
{
	struct kvw_greeting g = { .kind = KVW_CHALLENGE, .auth = true };
	struct rdma_cm_event event = { .event = RDMA_CM_EVENT_REJECTED };
	struct world *w = world_open(test);
	struct kvw_hello hello;

	kvw_encode_hello(&g, &hello);
	event.param.conn.private_data = &hello;
	event.param.conn.private_data_len = sizeof(hello);
	w->conn->auth = kzalloc(sizeof(*w->conn->auth), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, w->conn->auth);
	w->conn->pc.dialed = true;
	w->conn->state = KV_CALLING;
	KUNIT_EXPECT_EQ(test, 0, kv_cm_event(w->conn, &event));
	KUNIT_EXPECT_TRUE(test, test_bit(KV_STEP_AGAIN, &w->conn->flags));
	flush_workqueue(kv_cm_wq);
	KUNIT_EXPECT_EQ(test, -EPROTO, kv_cm_event(w->conn, &event));
	world_close(w);
}

/* ---- the end ---- */

/* Somebody has looked at a packet all the while, and finds only now that there is no room. */
static void finds_no_room(struct world *w)
{
	struct kv_conn *conn = w->conn;

	w->draining = NULL;
	spin_lock_bh(&conn->rx_lock);
	conn->rx_waits = true;
	KUNIT_EXPECT_TRUE(w->test, kfi_cq_wait_space(w->vep.ep.rx_cq, &conn->space));
	spin_unlock_bh(&conn->rx_lock);
}

/* Else he goes on beside those who look at the rest. */
static void full_at_the_end(struct kunit *test)
{
	struct world *w = world_open(test);
	struct kfi_cq *cq = w->vep.ep.rx_cq;
	int room = atomic_xchg(&cq->free, 0);

	w->draining = finds_no_room;
	kv_conn_fail(w->conn, -ESHUTDOWN);
	flush_workqueue(kv_cm_wq);
	kv_conn_take_down(w->conn);
	KUNIT_EXPECT_NULL(test, w->draining);
	KUNIT_EXPECT_FALSE(test, w->waited);
	KUNIT_EXPECT_FALSE(test, w->conn->rx_waits);
	kfi_cq_cancel_wait(cq, &w->conn->space);
	atomic_set(&cq->free, room);
	world_close(w);
}

/* ---- operations of more segments than a packet has room for ---- */

#define PARTS_SEGS	(2 * KV_DESCS + 8)	/* three packets */

static struct world *flush_in_parts(struct kunit *test, u16 version)
{
	static struct kfi_rma_iov segs[PARTS_SEGS];
	struct world *w = world_open(test);
	unsigned int i;

	for (i = 0; i < PARTS_SEGS; i++)
		segs[i] = (struct kfi_rma_iov){ .addr = 8 * i, .len = 8, .key = 1 };
	w->conn->greeting.version = version;
	w->vep.ep.rma_iov_limit = PARTS_SEGS;
	post(w, 0, KFI_OPC_FLUSH, 0, KFI_DELIVERY_COMPLETE, segs, PARTS_SEGS);
	return w;
}

static void answer_part(struct world *w, u16 status)
{
	struct kvw_packet p = { .type = KVW_FIN, .id = 0, .gen = 7, .status = status };
	struct kv_done done = KV_DONE(done);

	spin_lock_bh(&w->conn->lock);
	KUNIT_EXPECT_EQ(w->test, 0, kv_got_fin(w->conn, &p, &done));
	w->conn->waits = !kv_tx_idle(w->conn);
	kv_tx_run(w->conn, &done);
	spin_unlock_bh(&w->conn->lock);
	kv_done(&done);
}

static void expect_parts_end(struct world *w, int err)
{
	KUNIT_EXPECT_EQ(w->test, 1, w->told[0]);
	KUNIT_EXPECT_EQ(w->test, err, w->err[0]);
	KUNIT_EXPECT_EQ(w->test, 0, w->conn->requests);
	KUNIT_EXPECT_EQ(w->test, 0, w->conn->inflight);
	KUNIT_EXPECT_TRUE(w->test, list_empty(&w->conn->waiting));
	world_close(w);
}

/* It ends with the last answer, in whichever order they come. */
static void answered_in_parts(struct kunit *test)
{
	struct world *w = flush_in_parts(test, KVW_VERSION);

	KUNIT_EXPECT_EQ(test, 3, w->nwr);
	KUNIT_EXPECT_EQ(test, 3, w->conn->requests);
	answer_part(w, 0);
	answer_part(w, EACCES);
	KUNIT_EXPECT_EQ(test, 0, w->told[0]);
	answer_part(w, 0);
	expect_parts_end(w, -EACCES);
}

/* Of what was refused nothing more is asked for. */
static void refused_in_parts(struct kunit *test)
{
	struct kfi_rma_iov segs[PARTS_SEGS] = {};
	struct world *w;

	w = world_open(test);
	w->conn->credit_tx[KVW_CLS_CTL].limit = w->conn->credit_tx[KVW_CLS_CTL].used + 2;
	post(w, 0, KFI_OPC_FLUSH, 0, KFI_DELIVERY_COMPLETE, segs, PARTS_SEGS);
	KUNIT_EXPECT_EQ(test, 2, w->nwr);
	answer_part(w, EACCES);
	w->conn->credit_tx[KVW_CLS_CTL].limit++;
	answer_part(w, 0);
	KUNIT_EXPECT_EQ(test, 2, w->nwr);
	expect_parts_end(w, -EACCES);
}

/* What an older peer does not know is not said to it. */
static void parts_too_new(struct kunit *test)
{
	struct world *w = flush_in_parts(test, KVW_VERSION_PARTS - 1);

	KUNIT_EXPECT_EQ(test, 0, w->nwr);
	expect_parts_end(w, -EOPNOTSUPP);
}

/* The connection ends in the middle of it. */
static void lost_in_parts(struct kunit *test)
{
	struct world *w = flush_in_parts(test, KVW_VERSION);

	answer_part(w, 0);
	flush(w);
	KUNIT_EXPECT_EQ(test, 1, w->told[0]);
	KUNIT_EXPECT_EQ(test, -ESHUTDOWN, w->err[0]);
	world_close(w);
}

static struct kunit_case conn_cases[] = {
	KUNIT_CASE(answer_first),
	KUNIT_CASE(answer_last),
	KUNIT_CASE(answer_alone),
	KUNIT_CASE(answer_never),
	KUNIT_CASE(agreed_on),
	KUNIT_CASE(refused_midway),
	KUNIT_CASE(post_refused),
	KUNIT_CASE(read_fails),
	KUNIT_CASE(read_fails_midway),
	KUNIT_CASE(fetch_fails),
	KUNIT_CASE(end_while_renewed),
	KUNIT_CASE(renew_while_registered),
	KUNIT_CASE(spoilt),
	KUNIT_CASE(crossed),
	KUNIT_CASE(ends_without_memory),
	KUNIT_CASE(closes_without_memory),
	KUNIT_CASE(event_in_irq),
	KUNIT_CASE(refused_by_caller),
	KUNIT_CASE(refused_by_called),
	KUNIT_CASE(full_at_the_end),
	KUNIT_CASE(answered_in_parts),
	KUNIT_CASE(refused_in_parts),
	KUNIT_CASE(parts_too_new),
	KUNIT_CASE(lost_in_parts),
	{}
};

static struct kunit_suite conn_suite = {
	.name = "kfi_verbs_conn",
	.test_cases = conn_cases,
};
kunit_test_suite(conn_suite);
