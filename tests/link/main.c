// SPDX-License-Identifier: GPL-2.0
/*
 * main.c - a client of links: both ends of a bridge, in one kernel, send each other records of
 * random sizes as fast as they can - inline, long and placed - and check that each arrives once, in
 * order and intact. The bridge's link goes down and up meanwhile. Loading the module runs the test;
 * insmod returns its result.
 *
 * Both ends are in one kernel, so a sender sees which records the other side has handled. Until
 * then it keeps the memory to which their payload was written.
 */
#include <linux/delay.h>
#include <linux/iopoll.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/ntb.h>
#include <linux/prandom.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include "../../providers/ntb/bridge.h"
#include "../mock/command.h"

static unsigned int records = 20000;
module_param(records, uint, 0444);
MODULE_PARM_DESC(records, "records each way in a round");

static unsigned int rounds = 5;
module_param(rounds, uint, 0444);
MODULE_PARM_DESC(rounds, "how often; the link goes in the middle of all but the last");

static unsigned int seed;
module_param(seed, uint, 0444);

static unsigned int up_ms = 20000;	/* until a link has to be up */
module_param(up_ms, uint, 0444);

static bool errors_ok;
module_param(errors_ok, bool, 0444);
MODULE_PARM_DESC(errors_ok, "copies are made to fail: records may be missing if their sender hears so");

static bool all_memory;
module_param(all_memory, bool, 0444);
MODULE_PARM_DESC(all_memory, "there is a flat window (parameter flat or mapped), and an engine that reaches it");

static bool engine = true;
module_param(engine, bool, 0444);
MODULE_PARM_DESC(engine, "if not, there is none that will do: the CPU copies");

static bool stuck;
module_param(stuck, bool, 0444);
MODULE_PARM_DESC(stuck, "in the end a window of kfi_ntb_mock's can't be closed any more");

static bool unshut;
module_param(unshut, bool, 0444);
MODULE_PARM_DESC(unshut, "a window of this bridge can be shortened, but not switched off");

static bool halts = true;
module_param(halts, bool, 0444);
MODULE_PARM_DESC(halts, "in the end the machine goes down; else links are removed while it runs");

static bool placed = true;
module_param(placed, bool, 0444);
MODULE_PARM_DESC(placed, "records with payload elsewhere, in which nobody notices what is lost");

static unsigned int queue;
module_param(queue, uint, 0444);
MODULE_PARM_DESC(queue, "number of the queue that carries the records (parameter queues)");

static bool narrow;
module_param(narrow, bool, 0444);
MODULE_PARM_DESC(narrow, "one end has a window to the other that is shorter than the other's memory");

#define POOL		128U
#define SLOTS		8U
#define SLOT_LEN	65536U
#define SIDES		2
#define WINDOWS		2	/* default of kfi_ntb_mock */

/* follows struct ntw_rec in each record of the test */
struct said {
	__le64	seq;
	__le32	len;	/* of the payload */
	__le32	slot;	/* 0: inline; else the place, from 1 on */
} __packed;

struct side;

struct item {
	struct list_head	entry;
	struct nt_rec		rec;
	struct side		*side;
	u64			seq;
	u32			slot;
	struct nt_place		place[2];
	struct kvec		vec[2];
	struct nt_mapping	mapping[NT_MAPPINGS];
	bool			was_sent;
	u8			*buf;
};

struct side {
	struct nt_link		*link;
	struct side		*peer;
	struct task_struct	*task;
	/* protects up and posted: records that were posted belong to this life of the link */
	struct mutex		life;
	spinlock_t		lock;		/* protects free, copied, slots, out, bulk_end */
	struct list_head	free;
	struct list_head	copied;		/* the peer has not handled them yet */
	unsigned long		slots;		/* slots of the peer that this side uses */
	unsigned int		out;		/* records that were posted and not copied */
	u64			bulk_end;	/* position in the bulk ring behind the others */
	wait_queue_head_t	wait;
	struct item		*item;
	u8			*slot[SLOTS];
	struct nt_place		at[SLOTS];	/* their places, for the peer */
	unsigned long		placeless;	/* slots that the peer does not reach */
	/* slots in a flat window of this life of the link, which have their own memory */
	unsigned long		bare;
	u64			flat;		/* records to such slots of the peer */
	u64			posted, got, handled, lost, failed;
	u64			messages;	/* records to the message ring */
	u64			all;		/* got, in all rounds */
	bool			up;
};

static struct side sides[SIDES];

static unsigned int found;
static unsigned int wrong;

static struct nt_ring *ring_of(const struct side *side)
{
	return &side->link->ring[queue];
}

static __printf(1, 2) void say_wrong(const char *format, ...)
{
	struct va_format vaf = { .fmt = format };
	va_list args;

	if (wrong++ >= 20)
		return;
	va_start(args, format);
	vaf.va = &args;
	pr_err("link_test: wrong: %pV", &vaf);
	va_end(args);
}

static u8 byte_of(u64 seq, u32 i)
{
	return (u8)(seq * 31 + i * 7 + (i >> 8));
}

static struct side *side_of(struct nt_link *link)
{
	return link->priv;
}

/* ---- records that were copied ---- */

/* The peer has handled the record, or the link is down. The caller holds side->lock. */
static void item_free(struct item *item)
{
	struct side *side = item->side;

	list_move_tail(&item->entry, &side->free);
	if (item->slot)
		side->slots &= ~BIT(item->slot - 1);
}

/* Take back what the peer has handled. The caller holds side->lock. */
static void items_handled(struct side *side)
{
	struct item *item, *next;

	list_for_each_entry_safe(item, next, &side->copied, entry) {
		if (item->seq >= READ_ONCE(side->peer->got))
			return;
		item_free(item);
		side->handled++;
	}
}

static void items_lost(struct side *side)
{
	spin_lock_bh(&side->lock);
	items_handled(side);
	while (!list_empty(&side->copied)) {
		item_free(list_first_entry(&side->copied, struct item, entry));
		side->lost++;
	}
	spin_unlock_bh(&side->lock);
}

/* Return: true if the peer has handled all records */
static bool all_handled(struct side *side)
{
	bool all;

	spin_lock_bh(&side->lock);
	items_handled(side);
	all = !side->out && list_empty(&side->copied);
	spin_unlock_bh(&side->lock);
	return all;
}

/* ---- callbacks of the link ---- */

static void check_bytes(struct side *side, u64 seq, const u8 *bytes, u32 len)
{
	u32 i;

	for (i = 0; i < len && bytes[i] == byte_of(seq, i); i++)
		;
	if (i < len)
		say_wrong("%d: record %llu of %u bytes: byte %u is %02x, not %02x\n",
			  (int)(side - sides), seq, len, i, bytes[i], byte_of(seq, i));
}

void nt_rx_burst_begin(struct nt_ring *ring)
{
}

void nt_rx_burst_end(struct nt_ring *ring)
{
}

void nt_conns_room(struct nt_ring *ring)
{
}

void nt_rx_record(struct nt_ring *ring, const struct ntw_rec *rec, const void *body, size_t len)
{
	struct side *side = side_of(nt_ring_link(ring));
	struct said said;
	u32 slot, bytes;
	u64 seq;

	memset(&said, 0, sizeof(said));
	if (len < sizeof(said))
		say_wrong("short record\n");
	else
		memcpy(&said, body, sizeof(said));
	slot = le32_to_cpu(said.slot);
	bytes = le32_to_cpu(said.len);
	seq = le64_to_cpu(said.seq);
	if (!side->up)
		say_wrong("record while down\n");
	if (seq != side->got && !(errors_ok && seq > side->got))
		say_wrong("%d: record %llu, wanted %llu\n", (int)(side - sides), seq, side->got);
	if (rec->type != NTW_FIRST + 1 || le32_to_cpu(rec->conn) != (u32)seq ||
	    len != sizeof(said) + (slot ? 0 : bytes))
		say_wrong("header of %llu\n", seq);
	else
		check_bytes(side, seq, slot ? side->slot[slot - 1] : body + sizeof(said), bytes);
	WRITE_ONCE(side->got, seq + 1);
	side->all++;
	wake_up(&side->peer->wait);
}

/*
 * Half of the slots are ordinary memory, if a flat window permits: allocated for one life of the
 * link and freed after it.
 */
static void slot_make(struct side *side, unsigned int i)
{
	bool bare = i % 2 && nt_link_flat_in_use(side->link);
	struct kvec vec = { .iov_len = SLOT_LEN };
	struct iov_iter it;

	vec.iov_base = bare ? kmalloc(SLOT_LEN, GFP_KERNEL) : nt_mem_get(side->link, SLOT_LEN);
	if (IS_ERR_OR_NULL(vec.iov_base))
		return say_wrong("no memory for slots\n");
	side->slot[i] = vec.iov_base;
	iov_iter_kvec(&it, ITER_DEST, &vec, 1, SLOT_LEN);
	side->at[i].len = SLOT_LEN;
	if (bare && nt_window_maps(side->link) ?
		    nt_window_map(side->link, &it, SLOT_LEN, &side->at[i].at) :
		    nt_window_places(side->link, &it, SLOT_LEN, &side->at[i], 1) != 1) {
		if (!narrow)
			say_wrong("memory has no place\n");
		set_bit(i, &side->placeless);
	}
	if (bare != !!(side->at[i].at & NTW_FLAT))
		say_wrong("memory has another place\n");
	smp_mb__before_atomic();	/* the place before it is used */
	if (bare)
		set_bit(i, &side->bare);
}

/* No byte may land any more. The slots are freed, so that KASAN, or the IOMMU, detects one. */
static void slots_end(struct side *side)
{
	unsigned int i;

	for (i = 0; i < SLOTS; i++) {
		if (!test_and_clear_bit(i, &side->bare))
			continue;
		if (nt_window_maps(side->link))
			nt_window_unmap(side->link, side->at[i].at, SLOT_LEN);
		kfree(side->slot[i]);
		side->slot[i] = NULL;
	}
}

void nt_conns_link_up(struct nt_link *link)
{
	struct side *side = side_of(link);
	unsigned int i;

	/* The peer may send at any moment. */
	for (i = 0; i < 1000 && all_memory && !nt_link_flat_in_use(link); i++)
		usleep_range(500, 1000);
	for (i = 0; i < SLOTS; i++)
		if (!side->slot[i])
			slot_make(side, i);
	mutex_lock(&side->life);
	side->posted = 0;
	side->bulk_end = 0;
	WRITE_ONCE(side->up, true);
	mutex_unlock(&side->life);
	wake_up_all(&side->wait);
}

void nt_conns_link_down(struct nt_link *link)
{
	struct side *side = side_of(link);

	mutex_lock(&side->life);
	if (side->out)
		say_wrong("%u records are still out\n", side->out);
	WRITE_ONCE(side->up, false);
	/* The peer may be up again, and send, before this side is. */
	WRITE_ONCE(side->got, 0);
	mutex_unlock(&side->life);
	items_lost(side);
	slots_end(side);
	wake_up_all(&side->wait);
}

/* ---- transmit ---- */

static void item_sent(struct nt_rec *rec, int err)
{
	struct item *item = container_of(rec, struct item, rec);
	struct side *side = item->side;

	if (item->was_sent)
		say_wrong("sent twice\n");
	item->was_sent = true;
	/* Nothing reads the buffer any more. */
	memset(item->buf, 0xee, min_t(size_t, rec->len, 64));
	spin_lock_bh(&side->lock);
	side->bulk_end = max(side->bulk_end, rec->end);
	list_add_tail(&item->entry, &side->copied);
	if (err)
		item_free(item);
	side->out--;
	side->failed += err == -EIO;
	side->lost += err && err != -EIO;
	spin_unlock_bh(&side->lock);
	wake_up(&side->wait);
}

static bool item_get(struct side *side, struct item **item)
{
	spin_lock_bh(&side->lock);
	items_handled(side);
	*item = list_first_entry_or_null(&side->free, struct item, entry);
	if (*item)
		list_del(&(*item)->entry);
	spin_unlock_bh(&side->lock);
	return *item;
}

static void item_back(struct item *item)
{
	struct side *side = item->side;

	spin_lock_bh(&side->lock);
	list_add(&item->entry, &side->copied);
	item_free(item);
	spin_unlock_bh(&side->lock);
}

static void out_add(struct side *side, int n)
{
	spin_lock_bh(&side->lock);
	side->out += n;
	spin_unlock_bh(&side->lock);
}

static u32 slot_get(struct side *side)
{
	unsigned long slot, taken, bare = READ_ONCE(side->peer->bare), odd = 0xaa;
	bool half = nt_link_exposes_all(side->peer->link) || nt_window_maps(side->peer->link);

	spin_lock_bh(&side->lock);
	/* The odd slots may have no memory yet, or memory that the peer does not reach. */
	taken = side->slots | READ_ONCE(side->peer->placeless) | (half ? odd & ~bare : 0) |
		(READ_ONCE(ring_of(side)->engine.flat_len) ? 0 : bare);
	slot = find_first_zero_bit(&taken, SLOTS);
	if (slot < SLOTS) {
		side->slots |= BIT(slot);
		side->flat += !!(bare & BIT(slot));
	}
	spin_unlock_bh(&side->lock);
	return slot < SLOTS ? slot + 1 : 0;
}

static u32 below(struct rnd_state *rnd, u32 n)
{
	return prandom_u32_state(rnd) % n;
}

static u32 a_length(struct rnd_state *rnd, u32 room)
{
	switch (below(rnd, 8)) {
	case 0: return 0;
	case 1: return below(rnd, room + 1);
	case 2: return room;
	case 3: return below(rnd, min(room, 2048U));
	default: return below(rnd, 128);
	}
}

static void item_payload(struct item *item, struct rnd_state *rnd, u32 len)
{
	u32 cut = len ? below(rnd, len) : 0, i;

	for (i = 0; i < len; i++)
		item->buf[i] = byte_of(item->seq, i);
	item->vec[0] = (struct kvec) { .iov_base = item->buf, .iov_len = cut };
	item->vec[1] = (struct kvec) { .iov_base = item->buf + cut, .iov_len = len - cut };
	iov_iter_kvec(&item->rec.iter, ITER_SOURCE, item->vec, 2, len);
	item->rec.len = len;
}

static void item_places(struct item *item, struct rnd_state *rnd, u32 len)
{
	const struct nt_place *at = &item->side->peer->at[item->slot - 1];
	u32 cut = len ? below(rnd, len) : 0;

	item->place[0] = (struct nt_place) { .at = at->at, .len = cut };
	item->place[1] = (struct nt_place) { .at = at->at + cut, .len = len - cut };
	item->rec.place = item->place;
	item->rec.count = 2;
}

static void item_make(struct item *item, struct rnd_state *rnd)
{
	struct nt_rec *rec = &item->rec;
	struct said said;
	u32 len;

	memset(rec, 0, sizeof(*rec));
	item->was_sent = false;
	item->slot = below(rnd, 10) || !placed ? 0 : slot_get(item->side);
	len = item->slot ? below(rnd, SLOT_LEN + 1) :
			   a_length(rnd, nt_ring_room(ring_of(item->side)) - 32);
	rec->sent = item_sent;
	rec->mapping = item->mapping;
	rec->rec.type = NTW_FIRST + 1;
	rec->rec.conn = cpu_to_le32(item->seq);
	said = (struct said) {
		.seq = cpu_to_le64(item->seq), .len = cpu_to_le32(len),
		.slot = cpu_to_le32(item->slot),
	};
	memcpy(rec->head + sizeof(rec->rec), &said, sizeof(said));
	rec->head_len = sizeof(rec->rec) + sizeof(said);
	item_payload(item, rnd, len);
	if (item->slot)
		item_places(item, rnd, len);
}

/*
 * Send a short record through the message ring, if the peer has handled all records in the bulk
 * ring: it would overtake them. Return: was it sent?
 */
static bool item_put(struct item *item, bool more)
{
	struct side *side = item->side;
	struct nt_ring *ring = ring_of(side);
	struct kvec head = { item->rec.head, item->rec.head_len };
	struct iov_iter iter = item->rec.iter;
	bool sent;

	if (item->slot || item->rec.len > 1024)
		return false;
	spin_lock_bh(&side->lock);
	sent = !side->out && nt_ring_acked(ring, side->bulk_end) &&
	       !nt_ring_put(ring, NTW_MSG, &head, 1, &iter, item->rec.len, more);
	if (sent) {
		list_add_tail(&item->entry, &side->copied);
		side->messages++;
	}
	spin_unlock_bh(&side->lock);
	return sent;
}

static int item_post(struct item *item, bool more)
{
	struct side *side = item->side;
	int ret;

	if (!side->up)
		return -ENOTCONN;
	if (item_put(item, more))
		return 0;
	out_add(side, 1);
	ret = nt_ring_post(ring_of(side), &item->rec, more);
	if (ret)
		out_add(side, -1);
	return ret;
}

/* Return: false: the link is down */
static bool send_one(struct side *side, struct rnd_state *rnd, bool last)
{
	struct item *item = NULL;
	int ret;

	if (!wait_event_timeout(side->wait, !READ_ONCE(side->up) || item_get(side, &item),
				30 * HZ)) {
		say_wrong("%d: nothing comes back, %llu posted, %llu heard\n", (int)(side - sides),
			  side->posted, side->handled);
		return false;
	}
	if (!item)
		return false;
	mutex_lock(&side->life);
	item->seq = side->posted;
	item_make(item, rnd);
	ret = item_post(item, !last && below(rnd, 3));
	if (!ret)
		side->posted++;
	mutex_unlock(&side->life);
	if (!ret)
		return true;
	if (ret != -ENOTCONN)
		say_wrong("post says %d\n", ret);
	item_back(item);
	return false;
}

/* When the peer has reported what it has handled, the message ring can be used. */
static void let_report(struct side *side)
{
	unsigned int i;

	nt_ring_kick(ring_of(side));
	nt_ring_drain(ring_of(side));
	for (i = 0; i < 20 && !nt_ring_acked(ring_of(side), READ_ONCE(side->bulk_end)); i++) {
		nt_ring_beat(ring_of(side->peer), 0);
		usleep_range(1000, 2000);
		nt_ring_schedule(ring_of(side));
	}
}

static int sender(void *arg)
{
	struct side *side = arg;
	struct rnd_state rnd;
	unsigned int n;

	prandom_seed_state(&rnd, seed + (side - sides));
	for (n = 0; n < records; n++) {
		if (!send_one(side, &rnd, n + 1 == records))
			break;
		if (n % 64 == 63)
			let_report(side);
	}
	nt_ring_kick(ring_of(side));
	if (!(below(&rnd, 2)))
		nt_ring_drain(ring_of(side));
	if (!wait_event_timeout(side->wait, all_handled(side), 30 * HZ))
		say_wrong("%d: not all records were handled, %u not sent\n", (int)(side - sides),
			  side->out);
	return 0;
}

/* ---- rounds ---- */

static int wait_link(struct nt_link *link, unsigned int ms)
{
	bool up;

	return read_poll_timeout(nt_link_is_up, up, up, 1000, 1000UL * ms, false, link);
}

static int wait_up(void)
{
	int i, ret = 0;

	for (i = 0; i < SIDES && !ret; i++)
		ret = wait_link(sides[i].link, up_ms);
	/* Either end may be down again; it was up. */
	for (i = 0; i < SIDES && !ret; i++)
		if (!wait_event_timeout(sides[i].wait, READ_ONCE(sides[i].up), 10 * HZ))
			ret = -ETIMEDOUT;
	if (!ret && queue >= READ_ONCE(sides[0].link->queues))
		say_wrong("queue %u is not in use\n", queue);
	return ret;
}

static struct ntb_dev *ntb_of(struct side *side)
{
	return side->link->ntb;
}

/*
 * If the bridge's link is up again before the interrupt handler looks, the bridge reports nothing,
 * as Intel's driver does not, and lost payload is not noticed. Bridges are required not to do that
 * (docs/wire-ntb.md), so the link stays down until both ends have seen it.
 */
static void flap(unsigned int round)
{
	struct ntb_dev *ntb = ntb_of(&sides[round % SIDES]);
	unsigned int ms;

	msleep(20 + 30 * (round % 4));
	ntb_link_disable(ntb);
	for (ms = 0; ms < up_ms && (nt_link_is_up(sides[0].link) || nt_link_is_up(sides[1].link));
	     ms++)
		usleep_range(500, 1000);
	msleep(round % 3 * 10);
	ntb_link_enable(ntb, NTB_SPEED_AUTO, NTB_WIDTH_AUTO);
}

static int one_round(unsigned int round)
{
	int i, ret = wait_up();

	if (ret) {
		say_wrong("the link does not come up (round %u)\n", round);
		return ret;
	}
	for (i = 0; i < SIDES; i++) {
		sides[i].task = kthread_run(sender, &sides[i], "link_test%d", i);
		if (IS_ERR(sides[i].task))
			return PTR_ERR(sides[i].task);
		get_task_struct(sides[i].task);
	}
	if (round + 1 < rounds)
		flap(round);
	for (i = 0; i < SIDES; i++) {
		kthread_stop(sides[i].task);
		put_task_struct(sides[i].task);
	}
	return 0;
}

/* A fault that is reported for an earlier life of the link does not end the present one. */
static void late_fault(struct nt_link *link)
{
	unsigned int life = nt_link_life(link), ms;

	if (wait_up())
		return say_wrong("the link does not come up (late fault)\n");
	nt_link_fault(link, life - 1, "it has ended a life ago");
	msleep(300);
	if (!nt_link_is_up(link) || nt_link_life(link) != life)
		return say_wrong("the next life has ended with the last one\n");
	nt_link_fault(link, life, "it is asked to");
	for (ms = 0; ms < up_ms && nt_link_life(link) == life; ms += 20)
		msleep(20);
	if (nt_link_life(link) == life)
		say_wrong("a life does not end when it is asked to\n");
}

/*
 * The end of a life is bounded in time. If memory could still be written to, no other life follows
 * and the memory is not used again.
 */
static void never_closed(struct nt_link *link)
{
	unsigned int life = nt_link_life(link), ms;

	if (wait_up() || kfi_ntb_mock_command("end 0.0 stuck on"))
		return say_wrong("the link does not come up (never closed)\n");
	nt_link_fault(link, life, "it is asked to");
	for (ms = 0; ms < 10000 && nt_link_life(link) == life; ms += 20)
		msleep(20);
	if (nt_link_life(link) == life)
		say_wrong("a life does not end while a window can't be closed\n");
	kfi_ntb_mock_command("end 0.0 stuck off");
	if (!wait_link(link, 1000))
		say_wrong("there is a life after a window could not be closed\n");
	if (!IS_ERR(nt_mem_get(link, 64)))
		say_wrong("memory that the peer can write is given away\n");
}

/*
 * Memory in an open window belongs to its next user: windows are closed when links have ended, or
 * when the machine shuts down. Memory that stays in a window is not freed.
 */
static void windows_shut(void)
{
	phys_addr_t first;
	unsigned int i;
	u64 len;

	for (i = 0; i < SIDES * WINDOWS; i++) {
		len = kfi_ntb_mock_shows(0, i / WINDOWS, i % WINDOWS, &first);
		if (len && !unshut)
			say_wrong("%u: window %u shows %llu bytes\n", i / WINDOWS, i % WINDOWS,
				  len);
		else if (len && !(first && page_count(pfn_to_page(PHYS_PFN(first)))))
			say_wrong("%u: window %u shows what is free\n", i / WINDOWS, i % WINDOWS);
	}
}

/*
 * The machine shuts down: both ends notice at once, from the end that shuts down, and no other life
 * follows.
 */
static void halted(void)
{
	unsigned int i, ms;

	if (wait_up())
		return say_wrong("the link does not come up after its end\n");
	nt_links_halt();
	for (i = 0; i < SIDES; i++)
		if (READ_ONCE(sides[i].up))
			say_wrong("%u: up though its machine goes down\n", i);
	windows_shut();
	for (ms = 0; ms < 500; ms += 20) {
		if (nt_link_is_up(sides[0].link) || nt_link_is_up(sides[1].link))
			return say_wrong("up again though the machine goes down\n");
		msleep(20);
	}
}

static int run(void)
{
	unsigned int i, n;
	int ret = 0;

	for (i = 0; i < rounds && !ret; i++) {
		ret = one_round(i);
		for (n = 0; n < SIDES; n++)
			pr_info("link_test: round %u side %u: heard %llu lost %llu failed %llu got %llu\n",
				i, n, sides[n].handled, sides[n].lost, sides[n].failed,
				sides[n].all);
	}
	for (n = 0; n < SIDES && !ret; n++)
		if (sides[n].got != sides[n].peer->posted && !errors_ok)
			say_wrong("%u: got %llu of %llu\n", n, sides[n].got, sides[n].peer->posted);
	for (n = 0; n < SIDES && !ret && records >= 1000; n++)
		if (!sides[n].messages)
			say_wrong("%u: no record took the message ring\n", n);
	for (n = 0; n < SIDES && !ret; n++)
		if (all_memory != !!sides[n].flat)
			say_wrong("%u: %llu records to memory of anybody's\n", n, sides[n].flat);
	/* Where copies fail, the round ends by itself. */
	if (!ret && !errors_ok)
		late_fault(sides[0].link);
	if (narrow != !!(sides[0].placeless | sides[1].placeless))
		say_wrong("slots out of reach: %lx and %lx\n", sides[0].placeless,
			  sides[1].placeless);
	if (!ret && stuck)
		never_closed(sides[0].link);
	else if (!ret && !errors_ok && halts)
		halted();
	return ret ?: wrong ? -EIO : 0;
}

/* ---- life ---- */

static int side_init(struct side *side)
{
	unsigned int i;

	mutex_init(&side->life);
	spin_lock_init(&side->lock);
	init_waitqueue_head(&side->wait);
	INIT_LIST_HEAD(&side->free);
	INIT_LIST_HEAD(&side->copied);
	side->item = kvcalloc(POOL, sizeof(*side->item), GFP_KERNEL);
	if (!side->item)
		return -ENOMEM;
	for (i = 0; i < POOL; i++) {
		struct item *item = &side->item[i];

		item->side = side;
		/* both kinds of kernel memory */
		item->buf = i % 2 ? vmalloc(SLOT_LEN) : kmalloc(SLOT_LEN, GFP_KERNEL);
		if (!item->buf)
			return -ENOMEM;
		list_add(&item->entry, &side->free);
	}
	return 0;
}

static void side_exit(struct side *side)
{
	unsigned int i;

	for (i = 0; side->item && i < POOL; i++)
		kvfree(side->item[i].buf);
	kvfree(side->item);
}

static int probe(struct ntb_client *client, struct ntb_dev *ntb)
{
	struct side *side = &sides[found];
	int ret;

	if (found == SIDES)
		return -ENODEV;
	side->peer = &sides[1 - found];
	side->link = nt_link_add(ntb, side);
	if (IS_ERR(side->link))
		return PTR_ERR(side->link);
	ret = nt_link_start(side->link);
	if (ret) {
		nt_link_remove(side->link);
		return ret;
	}
	found++;
	return 0;
}

static void remove(struct ntb_client *client, struct ntb_dev *ntb)
{
	struct side *side = sides[0].link && sides[0].link->ntb == ntb ? &sides[0] : &sides[1];
	unsigned int i;

	nt_link_stop(side->link);
	for (i = 0; i < SLOTS; i++)
		if (side->slot[i])
			nt_mem_put(side->link->win.in, side->slot[i], SLOT_LEN);
	nt_link_remove(side->link);
	side->link = NULL;
}

static struct ntb_client client = {
	.ops = {
		.probe	= probe,
		.remove	= remove,
	},
};

static bool good_stats(void)
{
	const struct nt_copies *c;
	const struct nt_stats *s;
	struct nt_link *link;
	int i;

	for (i = 0; i < SIDES; i++) {
		link = sides[i].link;
		s = &ring_of(&sides[i])->stats;
		c = &ring_of(&sides[i])->engine.count;
		if (!engine && c->descriptors)
			say_wrong("%d: an engine that will not do copies\n", i);
		pr_info("link_test: side %d: out %llu in %llu batches %llu messages %llu lines %llu descs %llu dma %llu cpu %llu signals %llu irqs %lld full %llu engine %llu dma_errors %llu protocol %llu ups %llu resets %llu\n",
			i, s->records_out, s->records_in, s->batches, s->messages, s->lines,
			c->descriptors, c->dma_bytes, c->cpu_bytes + c->work_bytes, s->signals, atomic64_read(&link->interrupts),
			s->full, c->full, s->dma_errors, s->protocol_errors, link->ups,
			link->resets);
	}
	return !wrong;
}

static int __init test_init(void)
{
	int i, ret = nt_links_init();

	if (ret)
		return ret;
	if (!seed)
		seed = get_random_u32();
	pr_info("link_test: seed=%u\n", seed);
	for (i = 0; i < SIDES && !ret; i++)
		ret = side_init(&sides[i]);
	if (ret)
		goto exit_sides;
	ret = ntb_register_client(&client);
	if (ret)
		goto exit_sides;
	ret = found == SIDES ? run() : -ENODEV;
	if (found == SIDES && !good_stats())
		ret = ret ?: -EIO;
	ntb_unregister_client(&client);
	windows_shut();
	ret = ret ?: wrong ? -EIO : 0;
	pr_info("link_test: %s\n", ret ? "FAILED" : "passed");
	if (!ret)
		return 0;
exit_sides:
	for (i = 0; i < SIDES; i++)
		side_exit(&sides[i]);
	nt_links_exit();
	return ret;
}

static void __exit test_exit(void)
{
	int i;

	for (i = 0; i < SIDES; i++)
		side_exit(&sides[i]);
	nt_links_exit();
}

module_init(test_init);
module_exit(test_exit);
MODULE_DESCRIPTION("links of kfi_ntb, both ends at once");
MODULE_LICENSE("GPL");
