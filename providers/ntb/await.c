// SPDX-License-Identifier: GPL-2.0
/*
 * await.c - what a link that is not up waits for, in words: for the log, and for "kfi show
 * devices". life.c sets it in each step of the handshake.
 */
#include "bridge.h"

#define NT_AWAIT_LOG	(5 * HZ)	/* until the first line of the log, and between two */
/*
 * A life that begins again passes in less time all that comes before what the last one has waited
 * for.
 */
#define NT_AWAIT_PASSES	HZ

void nt_await(struct nt_link *link, enum nt_awaited what)
{
	if (what == link->awaits)
		return;
	/* It is not up any more, or was not yet. */
	if (!link->awaits) {
		link->told = 0;
		link->ends = 0;
		link->quiet_until = jiffies + NT_AWAIT_LOG;
	}
	if (what > link->again || !what)
		WRITE_ONCE(link->again, NT_AWAITS_NOTHING);
	WRITE_ONCE(link->awaits_at, jiffies);
	WRITE_ONCE(link->awaits, what);
}

void nt_await_again(struct nt_link *link, enum nt_awaited what)
{
	nt_await(link, what);
	WRITE_ONCE(link->again, what);
}

enum nt_awaited nt_awaited(const struct nt_link *link)
{
	u8 awaits = READ_ONCE(link->awaits), again = READ_ONCE(link->again);

	if (again > awaits && awaits != NT_AWAITS_CARRIER &&
	    time_before(jiffies, READ_ONCE(link->awaits_at) + NT_AWAIT_PASSES))
		return again;
	return awaits;
}

static const char *nt_await_say_pads(const struct nt_link *link, char *buf, size_t len)
{
	u32 pads[NTW_PADS], ones = ~0U, any = 0;
	int i;

	for (i = 0; i < NTW_PADS; i++) {
		pads[i] = READ_ONCE(link->pads[i]);
		ones &= pads[i];
		any |= pads[i];
	}
	if (!any || !~ones) {
		scnprintf(buf, len, "scratchpads that the peer has written: all read as %s",
			  any ? "ones" : "0");
		return any ? "check the bridge: they can't be read" : "load kfi_ntb at the peer";
	}
	if (pads[NTW_PAD_MAGIC] >> 16 == NTW_MAGIC && !(pads[NTW_PAD_STATE] & 0xf)) {
		scnprintf(buf, len, "scratchpads that the peer has written: the last one has left");
		return "load kfi_ntb at the peer";
	}
	scnprintf(buf, len,
		  "scratchpads that the peer has written whole: %08x %08x %08x %08x %08x %08x",
		  pads[0], pads[1], pads[2], pads[3], pads[4], pads[5]);
	return "check whether something else writes to them, and whether each can be written";
}

static const char *nt_await_say_version(const struct nt_link *link, char *buf, size_t len)
{
	struct kfi_versions theirs = ntw_pads_versions(link->pads);

	scnprintf(buf, len,
		  "a peer with a version of this end: the peer has %u to %u, this end %u to %u",
		  theirs.lowest, theirs.highest, NTW_VERSION_MIN, NTW_VERSION);
	return theirs.highest < NTW_VERSION ? "install a newer kfabric at the peer" :
					      "install a newer kfabric at this end";
}

const char *nt_await_say(const struct nt_link *link, char *buf, size_t len)
{
	static const struct {
		const char *what, *help;
	} words[] = {
		[NT_AWAITS_NOTHING] = { "nothing" },
		[NT_AWAITS_CARRIER] = {
			"the link of the bridge",
			"is the peer running, with the driver of its bridge and kfi_ntb?"
		},
		[NT_AWAITS_END] = {
			"the DMA engine to end what it copies: the last life can't end before",
			"reset the engine"
		},
		[NT_AWAITS_PAUSE] = { "the time at which another life may begin" },
		[NT_AWAITS_PLACES] = {
			"devices of this machine that write to the peer's memory",
			"see kfi show places"
		},
		[NT_AWAITS_MEMORY] = {
			"memory for the window, in one piece and aligned as the bridge wants it",
			"load kfi_ntb soon after boot, or reserve memory with cma="
		},
		[NT_AWAITS_FLAT] = { "a flat or mapped window that is possible", "see the log" },
		[NT_AWAITS_ECHO] = {
			"the peer to read our scratchpads",
			"is kfi_ntb loaded at the peer, and is its link down?"
		},
		[NT_AWAITS_SIDE] = {
			"the ends to have different numbers", "load kfi_ntb again at one of them"
		},
		[NT_AWAITS_TRY] = {
			"the peer to try our closed window", "see the log of the peer"
		},
		[NT_AWAITS_OPEN] = { "the peer to open its window", "see the log of the peer" },
		[NT_AWAITS_STEADY] = {
			"the link of the bridge to stay up: it has changed during the handshake",
			"check the cable, and the log of the driver of the bridge"
		},
		[NT_AWAITS_HELLO] = {
			"the peer's hello, which has to arrive through our window",
			"check the IOMMU, and where the driver of the bridge lets the window begin"
		},
		[NT_AWAITS_ALL] = {
			"what the peer writes to the end of our window", "see the log of the peer"
		},
		[NT_AWAITS_ENGINE] = {
			"the DMA engine to complete what it writes as a proof", "reset the engine"
		},
		[NT_AWAITS_PROOF] = { "the peer to see what the engine and the doorbells do" },
		[NT_AWAITS_READY] = {
			"the peer to know what works there", "see the log of the peer"
		},
		[NT_AWAITS_RELOAD] = {
			"nothing: a window can't be shut, and no life follows", "see the log"
		},
	};
	const struct nt_window *win = &link->win;
	enum nt_awaited what = nt_awaited(link);

	switch (what) {
	case NT_AWAITS_PADS:
		return nt_await_say_pads(link, buf, len);
	case NT_AWAITS_VERSION:
		return nt_await_say_version(link, buf, len);
	case NT_AWAITS_ROOM:
		scnprintf(buf, len,
			  "room for a queue: its window shows %zu KiB now, one queue takes %u KiB",
			  READ_ONCE(win->shown) / 1024, ntw_arena_at(1, win->ring) / 1024);
		return "set the size of the bridge's window, or ring_kib";
	case NT_AWAITS_REACH:
		scnprintf(buf, len,
			  "a longer window: %llu KiB of %u KiB are reached, one queue takes %u KiB",
			  (u64)win->peer_len / 1024, link->peer.size_kib,
			  ntw_arena_at(1, 1U << link->peer.ring_shift) / 1024);
		return "set the size of the bridge's window, or ring_kib at the peer";
	case NT_AWAITS_SPAN:
		scnprintf(buf, len,
			  "a longer window at the peer: it reaches %u KiB of %zu KiB here, one queue takes %u KiB",
			  link->peer.reach_kib, READ_ONCE(win->shown) / 1024,
			  ntw_arena_at(1, win->ring) / 1024);
		return "set ring_kib here, or the size of the bridge's window at the peer";
	case NT_AWAITS_DRIVER:
		scnprintf(buf, len, "the driver of the bridge to open and close window %d (%d)",
			  win->index, READ_ONCE(link->refused));
		return "see the log of that driver";
	default:
		scnprintf(buf, len, "%s", words[what].what);
		return words[what].help;
	}
}

void nt_await_log(struct nt_link *link)
{
	enum nt_awaited what = nt_awaited(link);
	const char *help;
	char buf[160];

	if (!what || link->told & BIT(what) || time_before(jiffies, link->quiet_until))
		return;
	link->told |= BIT(what);
	link->quiet_until = jiffies + NT_AWAIT_LOG;
	help = nt_await_say(link, buf, sizeof(buf));
	dev_warn(&link->ntb->dev, "the link is not up and waits for %s%s%s\n", buf,
		 help ? "; " : "", help ?: "");
}
