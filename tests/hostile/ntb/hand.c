// SPDX-License-Identifier: GPL-2.0
/*
 * hand.c - from scratchpads to a link. Up to here it keeps to the rules: else it would have nobody
 * to talk to.
 */
#include <linux/io.h>
#include <linux/iosys-map.h>
#include <linux/random.h>
#include "hostile.h"

void hp_ring(struct hp *hp)
{
	if (hp->bells)
		ntb_peer_db_set(hp->ntb, BIT_ULL(hp->bell));
}

static void hp_say_hand(struct hp *hp, enum ntw_state state)
{
	struct ntw_hand hand = {
		.state = state,
		.ring_shift = HP_RING_SHIFT,
		.bell = 0,
		.bells = 1,
		.mine = hp->mine,
		.yours = hp->yours,
		.size_kib = HP_MEM / 1024,
	};
	u32 pads[NTW_PADS];
	int i;

	ntw_encode_hand(&hand, pads);
	for (i = 0; i < NTW_PADS; i++)
		ntb_peer_spad_write(hp->ntb, 0, i, pads[i]);
	hp_ring(hp);
}

static int hp_hear_hand(struct hp *hp, struct ntw_hand *hand)
{
	u32 pads[NTW_PADS];
	int i, ret;

	for (i = 0; i < NTW_PADS; i++)
		pads[i] = ntb_spad_read(hp->ntb, i);
	ret = ntw_decode_hand(pads, hand);
	if (ret)
		return ret;
	hp->bell = hand->bell;
	hp->bells = true;
	return 0;
}

/* Half-written scratchpads say nothing. */
bool hp_same_life(struct hp *hp)
{
	struct ntw_hand hand;

	return hp_hear_hand(hp, &hand) || (hand.mine == hp->yours && hand.yours == hp->mine);
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
	hp->mine = get_random_u32() | 1;
	hp->yours = 0;
	hp->state = HP_QUIET;
	hp_say_hand(hp, NTW_QUIET);
}

static void hp_reset(struct hp *hp)
{
	hp->placed = 0;
	hp->told = 0;
	hp->freed = 0;
	hp->got = 0;
	hp->serial = 0;
	hp->seen = 0;
	hp->echo = 0;
	memset(hp->mem, 0, NTW_CTL_SIZE);
	wmb();	/* empty, before the victim can write */
}

static void hp_shake_quiet(struct hp *hp)
{
	struct ntw_hand hand;
	int ret = hp_hear_hand(hp, &hand);

	if (!ret)
		hp->yours = hand.mine;
	hp_say_hand(hp, NTW_QUIET);
	if (ret || hand.yours != hp->mine)
		return;
	hp->ring = 1U << hand.ring_shift;
	hp->reach = (u64)hand.size_kib * 1024 + hp->reach_more;
	hp_reset(hp);
	if (!ntb_mw_set_trans(hp->ntb, 0, 0, hp->dma, HP_MEM))
		hp->state = HP_OPEN;
}

static void hp_shake_open(struct hp *hp)
{
	struct ntw_hand hand;

	hp_say_hand(hp, NTW_OPEN);
	if (!hp_hear_hand(hp, &hand) && hand.state == NTW_OPEN)
		hp->state = HP_HELLO;
}

bool hp_has_greeted(struct hp *hp)
{
	const struct ntw_ctl *ctl = hp->mem;
	u32 ready;

	return ntw_decode_word(le64_to_cpu(READ_ONCE(ctl->ready)), hp->mine, &ready) && ready;
}

static void hp_shake_hello(struct hp *hp)
{
	struct iosys_map out = IOSYS_MAP_INIT_VADDR_IOMEM(hp->window);
	struct ntw_greeting g = {
		.version = NTW_VERSION,
		.mine = hp->mine,
		.yours = hp->yours,
		.ring = HP_RING,
		.size = HP_MEM,
		.reach = hp->reach,
		.heartbeat = HP_BEAT_MS,
		.flat_shift = hp->flat_shift,
		.flat_window = hp->flat_window,
		.features = hp->features,
	};
	struct ntw_hello hello;

	if (hp->shy)
		return;
	ntw_encode_hello(&g, &hello);
	memcpy_toio(hp->window + offsetof(struct ntw_ctl, hello), &hello, sizeof(hello));
	wmb();	/* whole, before it is said to be */
	iosys_map_wr(&out, offsetof(struct ntw_ctl, ready), u64,
		     (__force u64)cpu_to_le64(ntw_word(hp->yours, 1)));
	hp_ring(hp);
	if (!hp_has_greeted(hp))
		return;
	hp->state = HP_UP;
	hp->beat = jiffies;
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
