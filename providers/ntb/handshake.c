// SPDX-License-Identifier: GPL-2.0
/*
 * handshake.c - the handshake at the beginning of a life: scratchpads, and the hello in the control
 * page. docs/wire-ntb.md describes it.
 */
#include "bridge.h"

void nt_handshake_write(struct nt_link *link, enum ntw_state state)
{
	struct ntw_handshake handshake = {
		.state = link->tries && state == NTW_QUIET ? link->tries : state,
		.side = link->draws && nt_link_side(link) != NT_NO_SIDE ? 1 + link->side : 0,
		.tried = link->tried,
		/* 1, if the peer's window is too short for it, so that the peer can say so */
		.queues = max(nt_win_queues(&link->win), 1U),
		.ring_shift = link->win.ring ? ilog2(link->win.ring) : 0,
		.bell = link->bells.first,
		.bells = link->bells.count,
		.own_id = link->own_id,
		.peer_id = link->peer_id,
		.size_kib = link->win.shown / 1024,
		.reach_kib = link->win.peer_len / 1024,
	};
	u32 pads[NTW_PADS];
	int i;

	ntw_encode_handshake(&handshake, pads);
	for (i = 0; i < NTW_PADS; i++)
		ntb_peer_spad_write(link->ntb, NT_PEER, i, pads[i]);
	/*
	 * If the peer's doorbell bits are known, let it read the scratchpads at once. But what it
	 * was woken for before it finds by itself. Two sides that wait would else wake each other
	 * for ever, because each writes when it is woken.
	 */
	if (!link->bells.peer_count || !memcmp(pads, link->rung, sizeof(pads)))
		return;
	memcpy(link->rung, pads, sizeof(pads));
	nt_bell_knock(link);
}

int nt_handshake_read(struct nt_link *link, struct ntw_handshake *handshake)
{
	u32 *pads = link->pads;
	int i, ret;

	for (i = 0; i < NTW_PADS; i++)
		WRITE_ONCE(pads[i], ntb_spad_read(link->ntb, i));
	ret = ntw_decode_handshake(pads, handshake);
	if (ret)
		return ret;
	link->bells.peer_first = handshake->bell;
	link->bells.peer_count = handshake->bells;
	return 0;
}

/*
 * The channels of a link are of one driver, so the first one stands for all. A channel that is not
 * used in this life counts, too, because the peer may have read a hello that is older than that.
 */
u32 nt_features(const struct nt_link *link)
{
	bool wants = nt_crc_placed > 0 || !nt_engine_reports(&link->ring[0].engine);

	return (nt_crc ? NTW_FEAT_CRC : 0) |
	       (nt_crc_placed ? NTW_FEAT_CRC_PLACED | (wants ? NTW_FEAT_WANT_PLACED : 0) : 0);
}

void nt_hello_write(struct nt_link *link)
{
	struct nt_engine *e = &link->ring[0].engine;
	struct ntw_hello_info g = {
		.version = link->peer.version,
		.own_id = link->own_id,
		.peer_id = link->peer_id,
		.queues = link->queues,
		.ring = link->win.ring,
		.size = link->win.shown,
		.end = link->win.end,
		.heartbeat = nt_heartbeat_ms,
		.features = nt_features(link),
	};
	u32 ready = link->proof == NT_PROOF_DONE ? NTW_READY_UP :
		    link->peer_end ? NTW_READY_END : NTW_READY_HELLO;
	struct ntw_hello hello;
	u64 said;

	if (link->flat.open) {
		g.flat_window = link->flat.index;
		g.flat_shift = ilog2(link->flat.size);
		g.flat_at = link->flat.word;
	}
	ntw_encode_hello(&g, &hello);
	nt_engine_write(e, offsetof(struct ntw_ctl, hello), &hello, sizeof(hello));
	if (link->peer_end)
		nt_engine_write_word(e, link->peer_end,
				     ntw_word(link->peer_id, link->peer_end / sizeof(u64)));
	/* The hello and that word have to be complete before the peer sees @ready. */
	said = nt_prove_report(link) * (NTW_READY_UP + 1) + ready;
	nt_engine_write_word(e, offsetof(struct ntw_ctl, ready), ntw_word(link->peer_id, ready));
	if (said != link->said)
		nt_bell_knock(link);
	link->said = said;
}

static u32 nt_hello_word(const struct nt_link *link, const __le64 *word)
{
	u32 value;

	return ntw_decode_word(le64_to_cpu(READ_ONCE(*word)), link->own_id, &value) ? value : 0;
}

bool nt_hello_line(const struct nt_link *link)
{
	const struct ntw_ctl *ctl = link->win.mem;

	return nt_hello_word(link, &ctl->line.serial);
}

bool nt_hello_bye(const struct nt_link *link)
{
	const struct ntw_ctl *ctl = link->win.mem;

	return nt_hello_word(link, &ctl->line.bye);
}

int nt_hello_read(struct nt_link *link, const struct ntw_handshake *handshake,
		  struct ntw_hello_info *g)
{
	const struct ntw_ctl *ctl = link->win.mem;
	struct ntw_hello hello;
	int ret;

	if (!ntw_decode_word(le64_to_cpu(READ_ONCE(ctl->ready)), link->own_id,
			     &link->peer_ready) || !link->peer_ready)
		return -EAGAIN;
	dma_rmb();
	memcpy(&hello, &ctl->hello, sizeof(hello));
	barrier_data(&hello);
	ret = ntw_decode_hello(&hello, g);
	if (ret)
		return ret;
	/* The peer reaches no more queues than these, and this side not more than that. */
	if (g->queues > nt_win_queues(&link->win) ||
	    g->end + sizeof(u64) > link->ring[0].engine.size)
		return -EPROTO;
	/* The hello, which came through the window, has to agree with the scratchpads. */
	return g->version == handshake->version &&
	       g->own_id == link->peer_id && g->peer_id == link->own_id &&
	       g->queues <= handshake->queues && g->ring == 1U << handshake->ring_shift &&
	       g->size == (u64)handshake->size_kib * 1024 ? 0 : -EPROTO;
}
