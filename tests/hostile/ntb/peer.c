// SPDX-License-Identifier: GPL-2.0
/* peer.c - the handshake, lines and records in both directions, and the thread that polls. */
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/io.h>
#include <linux/iopoll.h>
#include <linux/iosys-map.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/random.h>
#include "hostile.h"

#define HP_LOOK_US	500
#define HP_WAIT_US	(HP_WAIT_MS * 1000UL)

/*
 * ---- from scratchpads to a link, with the lock held. The peer follows the protocol here, or no
 * link would come up ----
 */

static void hp_ring(struct hp *hp, unsigned int queue)
{
	if (hp->bells)
		ntb_peer_db_set(hp->ntb, BIT_ULL(hp->bell + __ffs64(ntw_bells(queue, hp->used,
									      hp->bells))));
}

static void hp_send_handshake(struct hp *hp, enum ntw_state state)
{
	const struct hp_pads *our = state == NTW_OPEN ? &hp->later : &hp->pads;
	struct ntw_handshake handshake = {
		.state = state,
		.tried = hp->tried,
		.queues = our->queues,
		.ring_shift = our->ring_shift,
		.bell = our->bell,
		.bells = our->bells,
		.own_id = hp->own_id,
		.peer_id = hp->peer_id,
		.size_kib = our->size_kib,
		.reach_kib = hp->reach_kib,
	};
	u32 pads[NTW_PADS];
	int i;

	ntw_encode_handshake(&handshake, pads);
	for (i = 0; i < NTW_PADS; i++)
		ntb_peer_spad_write(hp->ntb, 0, i, pads[i]);
	hp_ring(hp, 0);
}

static int hp_read_handshake(struct hp *hp, struct ntw_handshake *handshake)
{
	u32 pads[NTW_PADS];
	int i, ret;

	for (i = 0; i < NTW_PADS; i++)
		pads[i] = ntb_spad_read(hp->ntb, i);
	ret = ntw_decode_handshake(pads, handshake);
	if (ret)
		return ret;
	hp->bell = handshake->bell;
	hp->bells = handshake->bells;
	return 0;
}

/* Half-written scratchpads are ignored. */
static bool hp_same_life(struct hp *hp)
{
	struct ntw_handshake handshake;

	return hp_read_handshake(hp, &handshake) || (handshake.own_id == hp->peer_id &&
						     handshake.peer_id == hp->own_id);
}

static void hp_down(struct hp *hp)
{
	if (hp->state > HP_QUIET)
		ntb_mw_clear_trans(hp->ntb, 0, 0);
	hp->state = HP_DOWN;
}

static void hp_shake_down(struct hp *hp)
{
	if (!(ntb_link_is_up(hp->ntb, NULL, NULL) & 1))
		return;
	hp->own_id = get_random_u32() | 1;
	hp->peer_id = 0;
	hp->tried = 0;
	hp->state = HP_QUIET;
	hp_send_handshake(hp, NTW_QUIET);
}

static void hp_reset(struct hp *hp)
{
	unsigned int i;

	memset(hp->queue, 0, sizeof(hp->queue));
	for (i = 0; i < HP_QUEUES; i++)
		memset(hp->mem + ntw_queue_at(i, HP_RING), 0, NTW_CTL_SIZE);
	wmb();	/* empty before the victim can write */
}

/* The victim's window is closed, and stays so on this bridge: nothing is written there. */
static void hp_try(struct hp *hp, const struct ntw_handshake *handshake)
{
	if (handshake->state > NTW_OPEN)
		hp->tried = handshake->state;
}

static void hp_shake_quiet(struct hp *hp)
{
	struct ntw_handshake handshake;
	int ret = hp_read_handshake(hp, &handshake);

	if (!ret) {
		hp->peer_id = handshake.own_id;
		hp_try(hp, &handshake);
	}
	hp_send_handshake(hp, NTW_QUIET);
	if (ret || handshake.peer_id != hp->own_id)
		return;
	hp->ring = 1U << handshake.ring_shift;
	hp->used = clamp(min(hp->hello.queues, handshake.queues), 1, HP_QUEUES);
	hp_reset(hp);
	if (!ntb_mw_set_trans(hp->ntb, 0, 0, hp->dma, HP_MEM))
		hp->state = HP_OPEN;
}

static void hp_shake_open(struct hp *hp)
{
	struct ntw_handshake handshake;
	int ret = hp_read_handshake(hp, &handshake);

	if (!ret)
		hp_try(hp, &handshake);
	hp_send_handshake(hp, NTW_OPEN);
	if (!ret && handshake.state == NTW_OPEN)
		hp->state = HP_HELLO;
}

static u32 hp_control(struct hp *hp, const __le64 *word)
{
	u32 value;

	return ntw_decode_word(le64_to_cpu(READ_ONCE(*word)), hp->own_id, &value) ? value : 0;
}

/* Return the victim's word: 1: its hello is complete; 2: it knows what works; 0: neither */
static u32 hp_victim_ready(struct hp *hp)
{
	const struct ntw_ctl *ctl = hp->mem;

	return hp_control(hp, &ctl->ready);
}

static void hp_put(struct hp *hp, u32 at, u32 value)
{
	struct iosys_map out = IOSYS_MAP_INIT_VADDR_IOMEM(hp->window);

	wmb();	/* behind what was written before */
	iosys_map_wr(&out, at, u64, (__force u64)cpu_to_le64(ntw_word(hp->peer_id, value)));
}

static void hp_shake_hello(struct hp *hp)
{
	const struct ntw_ctl *ctl = hp->mem;
	bool fewer = hp->fewer && hp_control(hp, &ctl->proof[0]);
	struct ntw_hello_info g = {
		.version = NTW_VERSION,
		.own_id = hp->own_id,
		.peer_id = hp->peer_id,
		.queues = fewer ? 1 : hp->hello.queues,
		.ring = 1U << hp->hello.ring_shift,
		.size = (u64)hp->hello.size_kib * 1024,
		.end = hp->end,
		.heartbeat = HP_BEAT_MS,
		.features = hp->features,
	};
	struct ntw_hello_info victim;
	struct ntw_hello hello;
	unsigned int i;
	bool both;

	if (hp->no_hello)
		return;
	both = hp_victim_ready(hp) && !ntw_decode_hello(&ctl->hello, &victim);
	ntw_encode_hello(&g, &hello);
	memcpy_toio(hp->window + offsetof(struct ntw_ctl, hello), &hello, sizeof(hello));
	/* Whatever the victim proves, this peer claims to have seen it. */
	for (i = 0; i < 3 && hp->fewer == fewer; i++)
		hp_put(hp, offsetof(struct ntw_ctl, seen) + i * sizeof(u64), ~0U);
	if (both && !hp->no_end)
		hp_put(hp, victim.end, victim.end / sizeof(u64));
	hp_put(hp, offsetof(struct ntw_ctl, ready), both ? NTW_READY_UP : NTW_READY_HELLO);
	hp_ring(hp, 0);
	if (hp_victim_ready(hp) == NTW_READY_UP)
		hp->state = HP_UP;
}

static void hp_shake(struct hp *hp)
{
	if (hp->state > HP_QUIET && !hp_same_life(hp)) {
		hp->left++;
		hp_down(hp);
	}
	switch (hp->state) {
	case HP_DOWN:
		return hp_shake_down(hp);
	case HP_QUIET:
		return hp_shake_quiet(hp);
	case HP_OPEN:
		return hp_shake_open(hp);
	case HP_HELLO:
		return hp_shake_hello(hp);
	case HP_UP:
		return;
	}
}

/* ---- to the victim, with the lock held ---- */

static void hp_line(struct hp *hp, unsigned int queue)
{
	struct iosys_map out = IOSYS_MAP_INIT_VADDR_IOMEM(hp->window + ntw_queue_at(queue, hp->ring));
	struct hp_queue *q = &hp->queue[queue];
	u64 counts[] = {
		q->placed, q->got[NTW_MSG] + q->more[NTW_MSG], q->got[NTW_BULK] + q->more[NTW_BULK],
		q->seen, q->serial + NTW_SERIAL_STEP,
	};
	unsigned int i;

	if (!(hp->deaf & BIT(queue)))
		q->echo = q->seen;
	counts[3] = q->echo;
	for (i = 0; i < ARRAY_SIZE(counts); i++) {
		wmb();	/* records before the line, and its words in order */
		iosys_map_wr(&out, offsetof(struct ntw_ctl, line) + i * sizeof(u64), u64,
			     (__force u64)cpu_to_le64(ntw_word(hp->peer_id, counts[i])));
	}
	wmb();	/* the line before the doorbell */
	q->serial += NTW_SERIAL_STEP;
	q->reported = q->placed;
	q->beat = jiffies;
	hp_ring(hp, queue);
}

/* Bytes of the victim's message ring, through which all records go */
static u32 hp_msg_size(const struct hp *hp)
{
	return ntw_ring_size(NTW_MSG, hp->ring);
}

static void hp_write(struct hp *hp, const void *from, u32 len)
{
	memcpy_toio(hp->window + ntw_queue_at(hp->on, hp->ring) + NTW_CTL_SIZE +
		    (hp->queue[hp->on].placed & (hp_msg_size(hp) - 1)), from, len);
}

static void hp_skip(struct hp *hp, u32 rest)
{
	struct hp_queue *q = &hp->queue[hp->on];
	struct ntw_rec skip = {
		.type = NTW_SKIP,
		.len = cpu_to_le16(rest - sizeof(skip)),
		.check = cpu_to_le32((u32)q->placed ^ hp->peer_id),
	};

	if (rest)
		hp_write(hp, &skip, sizeof(skip));
	q->placed += rest;
}

/*
 * Write @copies of a record at once, so that the victim has more to do for each than the peer.
 * Return: was there room?
 */
static bool hp_place(struct hp *hp, struct ntw_rec *rec, const void *body, u32 len,
		     unsigned int copies)
{
	u32 span = ntw_rec_span(sizeof(*rec) + len), all = copies * span, at;
	struct hp_queue *q = &hp->queue[hp->on];
	u32 size = hp_msg_size(hp), rest = size - (q->placed & (size - 1));

	if (rest >= all)
		rest = 0;
	if (q->placed + rest + all > q->freed + size)
		return false;
	hp_skip(hp, rest);
	rec->len = cpu_to_le16(len);
	for (at = 0; at < all; at += span) {
		rec->check = cpu_to_le32((u32)(q->placed + at) ^ hp->peer_id);
		memcpy(hp->block + at, rec, sizeof(*rec));
		memcpy(hp->block + at + sizeof(*rec), body, len);
	}
	hp_write(hp, hp->block, all);
	q->placed += all;
	return true;
}

/* ---- from the victim, with the lock held ---- */

/* Parse a hello or frame. Return: its length; 0: it is incomplete */
static u32 hp_parse(struct hp_stream *s, struct hp_received *received)
{
	const struct kfw_hello *hello = (const void *)s->in;
	const struct kfw_hdr *hdr = (const void *)s->in;
	const struct kfw_plain *plain = (const void *)s->in;
	const struct kfw_rma *seg = (const void *)(hdr + 1);
	const struct kfw_place *place;
	u32 len, type = hdr->type;

	if (!s->hello_done) {
		if (s->have < sizeof(*hello))
			return 0;
		len = sizeof(*hello) + le16_to_cpu(hello->data_len) + le16_to_cpu(hello->auth_len);
		if (s->have < len)
			return 0;
		received->types |= HP_HELLO(hello->kind);
		s->hello_done = hello->kind == KFW_ACCEPT;
		return len;
	}
	if (s->have < kfw_hdr_len(type))
		return 0;
	if (type == KFW_PLAIN) {
		len = sizeof(*plain) + le32_to_cpu(plain->payload);
		received->types |= s->have < len ? 0 : HP_FRAME(KFW_MSG);
		return s->have < len ? 0 : len;
	}
	place = (const void *)(seg + le16_to_cpu(hdr->rma_count));
	len = (const u8 *)place - s->in + le64_to_cpu(hdr->payload);
	if (type == KFW_GRANT)
		len += hdr->places * sizeof(*place);
	if (s->have < len)
		return 0;
	received->types |= HP_FRAME(type);
	if (type == KFW_RTS) {
		received->id = le32_to_cpu(hdr->id);
		received->gen = le32_to_cpu(hdr->gen);
	}
	if (type == KFW_GRANT) {
		received->places = hdr->places;
		received->grant = *hdr;
		received->seg = received->places ? *seg : (struct kfw_rma) {};
		received->at = received->places ? le64_to_cpu(place->at) : 0;
		received->key = received->places ? le32_to_cpu(place->key) : 0;
	}
	return len;
}

/* Bytes that do not fit are dropped, and the rest of the stream is not parsed: no case needs it. */
static void hp_data(struct hp *hp, struct hp_received *received, const struct ntw_rec *rec,
		    const void *body)
{
	u32 len = le16_to_cpu(rec->len) - sizeof(struct kmw_data), n;
	struct hp_stream *s = &hp->stream;
	const struct kmw_placed *placed = body + sizeof(struct kmw_data);

	if (rec->bits & KMW_D_PLACED) {
		received->placed += le32_to_cpu(placed->len);
		received->crc = le32_to_cpu(placed->crc);
		return;
	}
	if (received->number != s->number)
		return;
	s->got += len;
	len = min_t(u32, len, sizeof(s->in) - s->have);
	memcpy(s->in + s->have, body + sizeof(struct kmw_data), len);
	s->have += len;
	while ((n = hp_parse(s, received))) {
		s->have -= n;
		memmove(s->in, s->in + n, s->have);
	}
}

static void hp_record(struct hp *hp, unsigned int queue, const struct ntw_rec *rec, const void *body)
{
	u32 number = le32_to_cpu(rec->conn);
	struct hp_received *received = &hp->received[number % HP_NUMBERS];
	const struct kmw_answer *answer = body;

	if (rec->type < KMW_CALL || rec->type >= KMW_TYPES)
		return;
	hp->counts[rec->type]++;
	if (!number || received->number != number)
		return;
	received->queues |= BIT(queue);
	if (rec->type == KMW_DATA)
		hp_data(hp, received, rec, body);
	if (rec->type == KMW_CLOSE)
		received->bits = rec->bits;
	if (rec->type == KMW_ANSWER) {
		received->from = le32_to_cpu(answer->number);
		received->status = le32_to_cpu(answer->status);
	}
	received->types |= HP_RECEIVED(rec->type);
}

static u64 hp_word(struct hp *hp, const __le64 *word, u64 old)
{
	u32 value;

	return ntw_decode_word(le64_to_cpu(READ_ONCE(*word)), hp->own_id, &value) ?
	       old + (u32)(value - (u32)old) : old;
}

static void hp_take_from(struct hp *hp, unsigned int queue, enum ntw_which which, u64 avail)
{
	const void *ring = hp->mem + ntw_queue_at(queue, HP_RING) + ntw_ring_at(which, HP_RING);
	u64 *got = &hp->queue[queue].got[which];
	const void *at;
	struct ntw_rec rec;
	int span;

	while (!(hp->deaf & BIT(queue)) && *got != avail) {
		at = ring + (*got & (HP_RING - 1));
		memcpy(&rec, at, sizeof(rec));
		span = ntw_decode_rec(&rec, which, (u32)*got, avail - *got, HP_RING,
				      hp->own_id);
		if (span < 0) {
			pr_err("hostile: wrong: no record at %llu\n", *got);
			return;
		}
		hp_record(hp, queue, &rec, at + sizeof(rec));
		*got += span;
	}
}

static void hp_take(struct hp *hp, unsigned int queue)
{
	const struct ntw_ctl *ctl = hp->mem + ntw_queue_at(queue, HP_RING);
	struct hp_queue *q = &hp->queue[queue];
	u64 msg = q->got[NTW_MSG], avail, bulk, after;

	q->seen = hp_word(hp, &ctl->line.serial, q->seen);
	q->freed = hp_word(hp, &ctl->line.consumed[NTW_MSG], q->freed);
	rmb();	/* read the words in the order in which the victim writes them */
	avail = hp_word(hp, &ctl->line.produced, msg);
	bulk = hp_word(hp, &ctl->bulk.produced, q->got[NTW_BULK]);
	rmb();	/* the positions before the records, and before @after */
	after = hp_word(hp, &ctl->bulk.after, msg / NTW_ALIGN);
	hp_take_from(hp, queue, NTW_MSG, avail);
	/* A position that was passed looks like one far ahead. */
	if (after - msg / NTW_ALIGN > HP_RING || after * NTW_ALIGN <= q->got[NTW_MSG])
		hp_take_from(hp, queue, NTW_BULK, bulk);
}

static bool hp_over(struct hp *hp)
{
	const struct ntw_line *line = hp->mem;

	return hp_word(hp, &line->bye, 0) || !hp_same_life(hp);
}

static bool hp_look_at(struct hp *hp, unsigned int queue)
{
	struct hp_queue *q = &hp->queue[queue];
	bool beat = time_after_eq(jiffies, q->beat + msecs_to_jiffies(HP_BEAT_MS));
	u64 got = q->got[NTW_MSG] + q->got[NTW_BULK];

	hp_take(hp, queue);
	if (beat || q->got[NTW_MSG] + q->got[NTW_BULK] != got ||
	    (!(hp->deaf & BIT(queue)) && q->seen & NTW_ASK && q->seen != q->echo))
		hp_line(hp, queue);
	return beat;
}

static void hp_look(struct hp *hp)
{
	bool beat = false;
	unsigned int i;

	for (i = 0; i < hp->used; i++)
		beat |= hp_look_at(hp, i);
	if (beat && hp_over(hp))
		hp_down(hp);
}

static int hp_run(void *arg)
{
	struct hp *hp = arg;

	while (!kthread_should_stop()) {
		mutex_lock(&hp->lock);
		if (hp->state == HP_UP)
			hp_look(hp);
		else
			hp_shake(hp);
		mutex_unlock(&hp->lock);
		usleep_range(HP_LOOK_US, 2 * HP_LOOK_US);
	}
	return 0;
}

/* ---- functions for the cases ---- */

int hp_wait_up(struct hp *hp)
{
	enum hp_state state;

	return read_poll_timeout(READ_ONCE, state, state == HP_UP, HP_LOOK_US, HP_WAIT_US, false,
				 hp->state);
}

void hp_bye(struct hp *hp)
{
	struct iosys_map out = IOSYS_MAP_INIT_VADDR_IOMEM(hp->window);

	mutex_lock(&hp->lock);
	if (hp->state == HP_UP) {
		iosys_map_wr(&out, offsetof(struct ntw_ctl, line.bye), u64,
			     (__force u64)cpu_to_le64(ntw_word(hp->peer_id, 1)));
		hp_ring(hp, 0);
	}
	hp_down(hp);
	mutex_unlock(&hp->lock);
}

void hp_set_features(struct hp *hp, u32 features)
{
	hp_set(hp, features, features);
	hp_bye(hp);
}

void hp_set_reach(struct hp *hp, u32 kib)
{
	hp_set(hp, reach_kib, kib);
	hp_bye(hp);
}

void hp_set_end(struct hp *hp, u64 end)
{
	hp_set(hp, end, end);
	hp_bye(hp);
}

struct hp_pads hp_pads(u8 queues)
{
	return (struct hp_pads) {
		.queues = queues, .ring_shift = HP_RING_SHIFT, .bells = 1, .size_kib = HP_MEM / 1024,
	};
}

void hp_set_pads(struct hp *hp, struct hp_pads pads, struct hp_pads later, struct hp_pads hello)
{
	mutex_lock(&hp->lock);
	hp->pads = pads;
	hp->later = later;
	hp->hello = hello;
	hp->on = 0;
	mutex_unlock(&hp->lock);
	hp_bye(hp);
}

void hp_set_queues(struct hp *hp, u8 queues, u8 hello)
{
	hp_set_pads(hp, hp_pads(queues), hp_pads(queues), hp_pads(hello));
}

void hp_add_positions(struct hp *hp, unsigned int queue, u32 placed, u32 message, u32 bulk)
{
	struct hp_queue *q = &hp->queue[queue];

	mutex_lock(&hp->lock);
	q->placed += placed;
	q->more[NTW_MSG] = message;
	q->more[NTW_BULK] = bulk;
	if (hp->state == HP_UP)
		hp_line(hp, queue);
	mutex_unlock(&hp->lock);
}

void hp_write_word(struct hp *hp, unsigned int queue, u32 at, u32 value)
{
	struct iosys_map out = IOSYS_MAP_INIT_VADDR_IOMEM(hp->window + ntw_queue_at(queue, hp->ring));

	mutex_lock(&hp->lock);
	if (hp->state == HP_UP) {
		iosys_map_wr(&out, at, u64, (__force u64)cpu_to_le64(ntw_word(hp->peer_id, value)));
		wmb();	/* the word before the doorbell */
		hp_ring(hp, queue);
	}
	mutex_unlock(&hp->lock);
}

bool hp_hello_received(struct hp *hp)
{
	bool hello_done;

	mutex_lock(&hp->lock);
	hello_done = hp->state == HP_HELLO && hp_victim_ready(hp);
	mutex_unlock(&hp->lock);
	return hello_done;
}

static bool hp_try_post(struct hp *hp, struct ntw_rec *rec, const void *body, u32 len,
			unsigned int copies, int *ret)
{
	bool done;

	mutex_lock(&hp->lock);
	done = hp->state != HP_UP;
	*ret = done ? -ENOTCONN : 0;
	if (!done)
		done = hp_place(hp, rec, body, len, copies);
	if (!done) {
		hp_take(hp, hp->on);
		if (hp->queue[hp->on].reported != hp->queue[hp->on].placed)
			hp_line(hp, hp->on);
	}
	mutex_unlock(&hp->lock);
	return done;
}

int hp_post(struct hp *hp, struct ntw_rec *rec, const void *body, u32 len, unsigned int copies)
{
	bool done;
	int ret;

	if (copies * ntw_rec_span(sizeof(*rec) + len) > HP_BLOCK)
		return -EMSGSIZE;
	return read_poll_timeout(hp_try_post, done, done, HP_LOOK_US, HP_WAIT_US, false, hp, rec, body, len, copies, &ret) ?:
		       ret;
}

void hp_flush(struct hp *hp)
{
	mutex_lock(&hp->lock);
	if (hp->state == HP_UP)
		hp_line(hp, hp->on);
	mutex_unlock(&hp->lock);
}

static bool hp_taken(struct hp *hp)
{
	bool taken;

	mutex_lock(&hp->lock);
	taken = hp->queue[hp->on].freed == hp->queue[hp->on].placed;
	mutex_unlock(&hp->lock);
	return taken;
}

int hp_wait_taken(struct hp *hp)
{
	bool taken;

	hp_flush(hp);
	return read_poll_timeout(hp_taken, taken, taken, HP_LOOK_US, HP_WAIT_US, false, hp);
}

u32 hp_number(struct hp *hp)
{
	u32 number;

	mutex_lock(&hp->lock);
	number = ++hp->next;
	hp->received[number % HP_NUMBERS] = (struct hp_received) { .number = number };
	mutex_unlock(&hp->lock);
	return number;
}

struct hp_received hp_received(struct hp *hp, u32 number)
{
	struct hp_received received = hp_get(hp, received[number % HP_NUMBERS]);

	return received.number == number ? received : (struct hp_received) {};
}

u64 hp_wait(struct hp *hp, u32 number, u64 types, unsigned int ms)
{
	struct hp_received received;

	hp_flush(hp);
	read_poll_timeout(hp_received, received, received.types & types, HP_LOOK_US, ms * 1000UL,
			  false, hp, number);
	return received.types & types;
}

void hp_follow(struct hp *hp, u32 number)
{
	mutex_lock(&hp->lock);
	hp->stream = (struct hp_stream) { .number = number };
	mutex_unlock(&hp->lock);
}

/* ---- single records and frames, each well-formed; their values may be wrong ---- */

/* Send a record, and @len bytes of the stream in it. */
static int hp_post_record(struct hp *hp, const struct kfi_mux_rec *from, const void *bytes, u32 len,
			  unsigned int copies)
{
	struct ntw_rec rec = {
		.type = from->type, .bits = from->bits,
		.conn = cpu_to_le32(from->conn),
	};
	u8 *body = kmalloc(sizeof(from->body) + len, GFP_KERNEL);
	int ret;

	if (!body)
		return -ENOMEM;
	memcpy(body, from->body, from->len);
	memcpy(body + from->len, bytes, len);
	ret = hp_post(hp, &rec, body, from->len + len, copies);
	kfree(body);
	return ret;
}

int hp_send_call(struct hp *hp, u32 number, u32 from, u32 to, unsigned int copies)
{
	struct kmw_calling c = { .number = number, .from = from, .to = to, .window = HP_WINDOW };
	struct kfi_mux_rec rec;

	kmw_encode_call(&c, &rec);
	return hp_post_record(hp, &rec, NULL, 0, copies);
}

int hp_send_answer(struct hp *hp, u32 to, u32 number)
{
	struct kmw_calling c = { .number = number, .window = HP_WINDOW };
	struct kfi_mux_rec rec;

	kmw_encode_answer(&c, to, &rec);
	return hp_post_record(hp, &rec, NULL, 0, 1);
}

int hp_send_close(struct hp *hp, u32 to, u16 bits)
{
	struct kfi_mux_rec rec;

	kmw_encode_close(bits, to, &rec);
	return hp_post_record(hp, &rec, NULL, 0, 1);
}

/* ---- streams ---- */

/*
 * Fill with frames without content. @at: position in the stream, from the beginning of a frame on.
 * So a stream that lacks some of them, or is longer than it may be, is wrong for no other reason.
 */
static void hp_fill_frames(u8 *bytes, size_t len, u64 at)
{
	struct kfw_hdr hdr = {
		.type = KFW_CREDIT,
		.credit_msg = cpu_to_le32(HP_CREDIT), .credit_tag = cpu_to_le32(HP_CREDIT),
	};
	size_t i;

	for (i = 0; i < len; i++)
		bytes[i] = ((u8 *)&hdr)[(at + i) % sizeof(hdr)];
}

int hp_send_data(struct hp *hp, u32 number, u64 pos, u32 less, u16 bits, u32 len)
{
	struct kfi_mux_rec rec;
	u8 *bytes;
	int ret;

	len = min(len, 2048U);
	bytes = kmalloc(len, GFP_KERNEL);
	if (!bytes)
		return -ENOMEM;
	kmw_encode_data(pos, hp->stream.got + HP_WINDOW - less, hp_received(hp, number).from, &rec);
	rec.bits |= bits;
	hp_fill_frames(bytes, len, pos - hp->stream.sent);
	ret = hp_post_record(hp, &rec, bytes, len, 1);
	kfree(bytes);
	return ret;
}

static int hp_send_bytes(struct hp *hp, u32 number, const void *bytes, u32 len)
{
	struct kfi_mux_rec rec;

	kmw_encode_data(hp->stream.sent + hp->stream.put, hp->stream.got + HP_WINDOW,
			hp_received(hp, number).from, &rec);
	hp->stream.sent += len;
	return hp_post_record(hp, &rec, bytes, len, 1);
}

int hp_send_hello(struct hp *hp, u32 number, u64 incarnation, bool key)
{
	struct kfw_hello_info info = {
		.kind = KFW_HELLO, .ep_type = KFI_EP_RDM, .auth = key, .port = 1,
		.incarnation = incarnation, .call_id = get_random_u64(),
		.allowance_msg = HP_CREDIT, .allowance_tag = HP_CREDIT, .requests = HP_CREDIT,
		.eager = 4096,
	};
	struct {
		struct kfw_hello hello;
		u8 auth[KFW_AUTH_LEN];
	} out;

	kfw_encode_hello(&info, &out.hello);
	get_random_bytes(out.auth, sizeof(out.auth));
	return hp_send_bytes(hp, number, &out, sizeof(out.hello) + (key ? sizeof(out.auth) : 0));
}

/* @len bytes behind the header */
static int hp_send_frame(struct hp *hp, u32 number, const struct kfw_hdr *hdr, const void *tail,
			 u32 len)
{
	struct {
		struct kfw_hdr hdr;
		u8 tail[64];
	} out;

	out.hdr = *hdr;
	out.hdr.credit_msg = cpu_to_le32(HP_CREDIT);
	out.hdr.credit_tag = cpu_to_le32(HP_CREDIT);
	memcpy(out.tail, tail, len);
	return hp_send_bytes(hp, number, &out, sizeof(out.hdr) + len);
}

int hp_send_asking(struct hp *hp, u32 number, u64 key, u64 len)
{
	struct kfw_hdr hdr = {
		.type = KFW_RTW, .rma_count = cpu_to_le16(1), .id = cpu_to_le32(7),
		.gen = cpu_to_le32(1), .len = cpu_to_le64(len),
	};
	struct kfw_rma seg = { .len = cpu_to_le64(len), .key = cpu_to_le64(key) };

	return hp_send_frame(hp, number, &hdr, &seg, sizeof(seg));
}

int hp_send_touch(struct hp *hp, u32 number, u64 key)
{
	struct kfw_hdr hdr = {
		.type = KFW_WRITE, .flags = cpu_to_le16(KFW_F_CQ_DATA),
		.rma_count = cpu_to_le16(1),
	};
	struct kfw_rma seg = { .key = cpu_to_le64(key) };

	return hp_send_frame(hp, number, &hdr, &seg, sizeof(seg));
}

int hp_send_take(struct hp *hp, u32 number, u32 at, u32 len)
{
	struct hp_received received = hp_received(hp, number);
	struct kfw_hdr hdr = {
		.type = KFW_CTS, .id = cpu_to_le32(received.id), .gen = cpu_to_le32(received.gen),
		.slot = cpu_to_le16(1), .places = 1,
	};
	struct kfw_place place = {
		.at = cpu_to_le64(at), .len = cpu_to_le32(len),
	};

	return hp_send_frame(hp, number, &hdr, &place, sizeof(place));
}

int hp_send_message(struct hp *hp, u32 number, u32 value)
{
	__le32 bytes = cpu_to_le32(value);
	struct kfw_hdr hdr = {
		.type = KFW_MSG, .payload = cpu_to_le64(sizeof(bytes)),
		.len = cpu_to_le64(sizeof(bytes)),
	};

	return hp_send_frame(hp, number, &hdr, &bytes, sizeof(bytes));
}

int hp_send_placed(struct hp *hp, u32 number, u32 len, u32 crc)
{
	struct hp_received received = hp_received(hp, number);
	struct kfi_mux_piece piece = {
		.len = len, .key = crc ? received.key & ~NTW_K_WINDOW : 0, .crc = crc,
	};
	struct kfw_hdr hdr = {
		.type = KFW_WRITE, .flags = cpu_to_le16(KFW_F_PLACED), .id = cpu_to_le32(7),
		.gen = cpu_to_le32(1), .rma_count = cpu_to_le16(1),
		.grant = received.grant.grant, .grant_id = received.grant.grant_id,
		.len = cpu_to_le64(len),
	};
	struct kfi_mux_rec rec;

	kmw_encode_data(hp->stream.sent + hp->stream.put, hp->stream.got + HP_WINDOW, received.from,
			&rec);
	kmw_encode_placed(&piece, &rec);
	hp->stream.put += len;
	return hp_post_record(hp, &rec, NULL, 0, 1) ?:
	       hp_send_frame(hp, number, &hdr, &received.seg, sizeof(received.seg));
}

/* ---- start and stop ---- */

static int hp_memory(struct hp *hp)
{
	phys_addr_t base;
	resource_size_t len;
	int ret = ntb_peer_mw_get_addr(hp->ntb, 0, &base, &len);

	if (ret)
		return ret;
	hp->window = ioremap_wc(base, len);
	if (hp->window)
		hp->mem = dma_alloc_coherent(ntb_get_dma_dev(hp->ntb), HP_MEM, &hp->dma,
					     GFP_KERNEL);
	return hp->mem ? 0 : -ENOMEM;
}

int hp_start(struct hp *hp, struct ntb_dev *ntb)
{
	int ret;

	hp->ntb = ntb;
	hp->pads = hp_pads(1);
	hp->later = hp->pads;
	hp->hello = hp->pads;
	hp->used = 1;
	hp->reach_kib = HP_REACH_KIB;
	hp->end = HP_END;
	mutex_init(&hp->lock);
	ret = hp_memory(hp) ?: ntb_link_enable(ntb, NTB_SPEED_AUTO, NTB_WIDTH_AUTO);
	if (!ret) {
		hp->task = kthread_run(hp_run, hp, "hostile_peer");
		ret = PTR_ERR_OR_ZERO(hp->task);
	}
	if (ret) {
		hp->task = NULL;
		hp_stop(hp);
	}
	return ret;
}

void hp_stop(struct hp *hp)
{
	if (hp->task)
		kthread_stop(hp->task);
	hp_down(hp);
	ntb_link_disable(hp->ntb);
	if (hp->mem)
		dma_free_coherent(ntb_get_dma_dev(hp->ntb), HP_MEM, hp->mem, hp->dma);
	if (hp->window)
		iounmap(hp->window);
}

/* ---- the module ---- */

static char *only = "";
module_param(only, charp, 0444);
MODULE_PARM_DESC(only, "this case alone (default: all)");

static bool mapped;
module_param(mapped, bool, 0444);
MODULE_PARM_DESC(mapped, "kfi_ntb has a window over what is registered: the cases that want one");

static struct hp hp;

static int probe(struct ntb_client *client, struct ntb_dev *ntb)
{
	if (hp.ntb || ntb_port_number(ntb) < ntb_peer_port_number(ntb, 0))
		return -ENODEV;
	return hp_start(&hp, ntb);
}

static void remove(struct ntb_client *client, struct ntb_dev *ntb)
{
	hp_stop(&hp);
}

static struct ntb_client client = {
	.ops = {
		.probe	= probe,
		.remove	= remove,
	},
};

static int __init hostile_init(void)
{
	int ret = ntb_register_client(&client);

	if (ret)
		return ret;
	ret = hp.ntb ? hp_wait_up(&hp) : -ENODEV;
	if (ret)
		pr_err("hostile: wrong: there is no link (%d)\n", ret);
	else
		ret = hostile_cases(&hp, only, mapped) ? -EIO : 0;
	if (ret)
		ntb_unregister_client(&client);
	return ret;
}

static void __exit hostile_exit(void)
{
	ntb_unregister_client(&client);
}

module_init(hostile_init);
module_exit(hostile_exit);
MODULE_DESCRIPTION("a hostile peer of kfi_ntb");
MODULE_LICENSE("GPL");
