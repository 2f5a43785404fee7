// SPDX-License-Identifier: GPL-2.0
/*
 * handshake.c - from scratchpads to a link. The peer follows the protocol here, or no link would
 * come up.
 */
#include <linux/io.h>
#include <linux/iosys-map.h>
#include <linux/random.h>
#include "hostile.h"

void hp_ring(struct hp *hp, unsigned int queue)
{
	if (hp->wrong_bells)
		queue = (queue + 1) % hp->used;
	if (hp->bells)
		ntb_peer_db_set(hp->ntb, BIT_ULL(hp->bell + ntw_bell(queue, hp->used, hp->bells, 0)));
}

static void hp_send_handshake(struct hp *hp, enum ntw_state state)
{
	const struct hp_pads *our = state == NTW_OPEN ? &hp->later : &hp->pads;
	struct ntw_handshake handshake = {
		.state = state,
		.queues = our->queues,
		.ring_shift = our->ring_shift,
		.bell = our->bell,
		.bells = our->bells,
		.own_id = hp->own_id,
		.peer_id = hp->peer_id,
		.size_kib = our->size_kib,
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
bool hp_same_life(struct hp *hp)
{
	struct ntw_handshake handshake;

	return hp_read_handshake(hp, &handshake) || (handshake.own_id == hp->peer_id &&
						     handshake.peer_id == hp->own_id);
}

void hp_down(struct hp *hp)
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
	hp->state = HP_QUIET;
	hp_send_handshake(hp, NTW_QUIET);
}

static void hp_reset(struct hp *hp)
{
	unsigned int i;

	memset(hp->queue, 0, sizeof(hp->queue));
	hp->called = (struct hp_called) {};
	for (i = 0; i < HP_QUEUES; i++)
		memset(hp->mem + ntw_queue_at(i, HP_RING), 0, NTW_CTL_SIZE);
	wmb();	/* empty before the victim can write */
}

static void hp_shake_quiet(struct hp *hp)
{
	struct ntw_handshake handshake;
	int ret = hp_read_handshake(hp, &handshake);

	if (!ret)
		hp->peer_id = handshake.own_id;
	hp_send_handshake(hp, NTW_QUIET);
	if (ret || handshake.peer_id != hp->own_id)
		return;
	hp->ring = 1U << handshake.ring_shift;
	hp->used = clamp(min(hp->hello.queues, handshake.queues), 1, HP_QUEUES);
	hp->reach = (u64)handshake.size_kib * 1024 + hp->reach_more;
	hp_reset(hp);
	if (!ntb_mw_set_trans(hp->ntb, 0, 0, hp->dma, HP_MEM))
		hp->state = HP_OPEN;
}

static void hp_shake_open(struct hp *hp)
{
	struct ntw_handshake handshake;

	hp_send_handshake(hp, NTW_OPEN);
	if (!hp_read_handshake(hp, &handshake) && handshake.state == NTW_OPEN)
		hp->state = HP_HELLO;
}

bool hp_has_hello(struct hp *hp)
{
	const struct ntw_ctl *ctl = hp->mem;
	u32 ready;

	return ntw_decode_word(le64_to_cpu(READ_ONCE(ctl->ready)), hp->own_id, &ready) && ready;
}

static void hp_shake_hello(struct hp *hp)
{
	struct iosys_map out = IOSYS_MAP_INIT_VADDR_IOMEM(hp->window);
	struct ntw_hello_info g = {
		.version = NTW_VERSION,
		.own_id = hp->own_id,
		.peer_id = hp->peer_id,
		.queues = hp->hello.queues,
		.ring = 1U << hp->hello.ring_shift,
		.size = (u64)hp->hello.size_kib * 1024,
		.reach = hp->reach,
		.heartbeat = HP_BEAT_MS,
		.flat_shift = hp->flat_shift,
		.flat_window = hp->flat_window,
		.features = hp->features,
	};
	struct ntw_hello hello;

	if (hp->no_hello)
		return;
	ntw_encode_hello(&g, &hello);
	memcpy_toio(hp->window + offsetof(struct ntw_ctl, hello), &hello, sizeof(hello));
	wmb();	/* complete before it is announced */
	iosys_map_wr(&out, offsetof(struct ntw_ctl, ready), u64,
		     (__force u64)cpu_to_le64(ntw_word(hp->peer_id, 1)));
	hp_ring(hp, 0);
	if (!hp_has_hello(hp))
		return;
	hp->state = HP_UP;
}

void hp_shake(struct hp *hp)
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
