// SPDX-License-Identifier: GPL-2.0
/*
 * The registers of one NTB. An access is within one register, or is refused; a write changes the
 * writable bits and then has the effect in the register's row.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "world.h"

struct ntb_register;
typedef void effect_t(struct ntb *ntb, const struct ntb_register *row, unsigned int at,
		      uint64_t old);

struct ntb_register {
	unsigned int offset;
	unsigned int width;
	unsigned int number;	/* number of consecutive registers */
	uint64_t writable;
	effect_t *effect;	/* called after a write; @old is the previous value */
};

static struct ntb *peer_of(const struct ntb *ntb)
{
	return ntb->link->ntb[!ntb->side];
}

uint64_t ntb_value(const struct ntb *ntb, unsigned int offset, size_t len)
{
	uint64_t value = 0;

	memcpy(&value, ntb->reg + offset, len);
	return value;
}

static void set_value(struct ntb *ntb, unsigned int offset, uint64_t value, size_t len)
{
	memcpy(ntb->reg + offset, &value, len);
}

bool ntb_enabled(const struct ntb *ntb)
{
	return !(ntb_value(ntb, NTB_CONTROL, 4) & NTB_CONTROL_DISABLE);
}

static void fire(struct ntb *ntb, uint64_t bits)
{
	for (; bits; bits &= bits - 1)
		device_interrupt(&ntb->dev, ntb->reg[NTB_VECTORS + __builtin_ctzll(bits)]);
}

/*
 * A message for each edge of "pending and not masked". A bit that is set already sends none, see
 * ntb_db_clear().
 */
void ntb_raise(struct ntb *ntb, uint64_t bits)
{
	uint64_t old = ntb_value(ntb, NTB_IM_STATUS, 8);

	set_value(ntb, NTB_IM_STATUS, old | bits, 8);
	fire(ntb, bits & ~old & ~ntb_value(ntb, NTB_IM_MASK, 8));
}

void ntb_show_link(struct ntb *ntb, bool up)
{
	pci_put(&ntb->dev.pci, NTB_AT_LINK_STATUS, up ? NTB_LINK_ACTIVE | NTB_LINK_GEN3_X16 : 0, 2);
	count(&ntb->dev.counters, up ? COUNT_link_ups : COUNT_link_downs);
	ntb_raise(ntb, 1ull << NTB_LINK_BIT);
}

static void control_written(struct ntb *ntb, const struct ntb_register *row, unsigned int at,
			    uint64_t old)
{
	link_update(ntb->link);
}

/*
 * "Reserved bits dictated by the size of the memory claimed by the BAR": the base is aligned to the
 * window.
 */
static void xbase_written(struct ntb *ntb, const struct ntb_register *row, unsigned int at,
			  uint64_t old)
{
	unsigned int bar = (at - row->offset) / NTB_WINDOW_STEP ? 4 : 2;

	set_value(ntb, at, ntb_value(ntb, at, 8) & ~(ntb->id.bar[bar] - 1), 8);
}

/* Ones clear. */
static void status_written(struct ntb *ntb, const struct ntb_register *row, unsigned int at,
			   uint64_t old)
{
	set_value(ntb, at, old & ~ntb_value(ntb, at, 8), 8);
}

/* ntb_db_clear_mask(): a bit that is pending when its mask bit is cleared causes an event. */
static void mask_written(struct ntb *ntb, const struct ntb_register *row, unsigned int at,
			 uint64_t old)
{
	fire(ntb, old & ~ntb_value(ntb, at, 8) & ntb_value(ntb, NTB_IM_STATUS, 8));
}

static void doorbell_written(struct ntb *ntb, const struct ntb_register *row, unsigned int at,
			     uint64_t old)
{
	struct ntb *peer = peer_of(ntb);
	uint64_t bit = 1ull << (at - row->offset) / 4;
	bool rung = ntb_value(ntb, at, 4) & 1;

	set_value(ntb, at, 0, 4);
	if (!rung || !window_open(ntb))
		return;
	count(&peer->dev.counters, COUNT_doorbells);
	if (bit & (ntb_value(peer, NTB_IM_MASK, 8) | ntb_value(peer, NTB_IM_STATUS, 8)))
		count(&peer->dev.counters, COUNT_doorbells_masked);
	ntb_raise(peer, bit);
}

static void peer_spad_written(struct ntb *ntb, const struct ntb_register *row, unsigned int at,
			      uint64_t old)
{
	struct ntb *peer = peer_of(ntb);
	uint64_t value = ntb_value(ntb, at, 4);

	set_value(ntb, at, 0, 4);
	if (!window_open(ntb))
		return;
	count(&peer->dev.counters, COUNT_scratchpads);
	set_value(peer, NTB_IM_SPAD + (at - row->offset), value, 4);
}

#define ALL		(~0ull)
/* "Limit register has a granularity of 4 KB." */
#define PAGES		(~0xfffull)

static const struct ntb_register map[] = {
	{ NTB_CONTROL,		4, 1, ALL, control_written },
	{ NTB_IM_XBASE,		8, 1, PAGES, xbase_written },
	{ NTB_IM_XLIMIT,	8, 1, PAGES },
	{ NTB_IM_XBASE + NTB_WINDOW_STEP, 8, 1, PAGES, xbase_written },
	{ NTB_IM_XLIMIT + NTB_WINDOW_STEP, 8, 1, PAGES },
	{ NTB_IM_STATUS,	8, 1, ALL, status_written },
	{ NTB_IM_MASK,		8, 1, ALL, mask_written },
	{ NTB_MISSES,		2, 1, 0 },
	{ NTB_IM_SPAD,		4, NTB_SPADS, ALL },
	{ NTB_VECTORS,		1, NTB_MSIX_VECTORS, ALL },
	{ NTB_IM_DOORBELL,	4, NTB_DOORBELLS, ALL, doorbell_written },
	{ NTB_B2B_SPAD,		4, NTB_SPADS, ALL, peer_spad_written },
	{ NTB_EM_XBASE,		8, 1, PAGES },
	{ NTB_EM_XLIMIT,	8, 1, PAGES },
	{ NTB_EM_XBASE + NTB_WINDOW_STEP, 8, 1, PAGES },
	{ NTB_EM_XLIMIT + NTB_WINDOW_STEP, 8, 1, PAGES },
	{ NTB_EM_COMMAND,	2, 1, 0x7 },
	{ NTB_EM_BAR0,		8, 3, 0 },
};

/*
 * Find the register that contains the whole access, and the offset of the access; NULL if there is
 * none.
 */
static const struct ntb_register *find(uint64_t offset, size_t len, unsigned int *at)
{
	for (const struct ntb_register *row = map; row < map + ARRAY_SIZE(map); row++) {
		if (offset < row->offset || offset >= row->offset + row->width * row->number)
			continue;
		*at = row->offset + (offset - row->offset) / row->width * row->width;
		return len <= row->width - (offset - *at) ? row : NULL;
	}
	return NULL;
}

/* Scratchpads of the peer; ones if there is no peer. */
static uint64_t peer_spad(const struct ntb *ntb, unsigned int at)
{
	if (!window_open(ntb))
		return UINT32_MAX;
	return ntb_value(peer_of(ntb), NTB_IM_SPAD + at - NTB_B2B_SPAD, 4);
}

bool ntb_read_register(const struct ntb *ntb, uint64_t offset, void *data, size_t len)
{
	unsigned int at;
	const struct ntb_register *row = find(offset, len, &at);
	uint64_t value;

	memset(data, 0, len);
	if (!row)
		return false;
	if (row->offset == NTB_B2B_SPAD)
		value = peer_spad(ntb, at);
	else if (row->offset == NTB_MISSES)	/* "Upstream Memory Miss" */
		value = counted(&ntb->dev.counters, COUNT_misses);
	else
		value = ntb_value(ntb, at, row->width);
	memcpy(data, (uint8_t *)&value + (offset - at), len);
	return true;
}

bool ntb_write_register(struct ntb *ntb, uint64_t offset, const void *data, size_t len)
{
	unsigned int at;
	const struct ntb_register *row = find(offset, len, &at);
	uint64_t old, new;

	if (!row)
		return false;
	old = ntb_value(ntb, at, row->width);
	/* bytes that are not written must not clear bits */
	new = row->effect == status_written ? 0 : old;
	memcpy((uint8_t *)&new + (offset - at), data, len);
	set_value(ntb, at, (old & ~row->writable) | (new & row->writable), row->width);
	if (row->effect)
		row->effect(ntb, row, at, old);
	return true;
}

static void reset(struct device *dev)
{
	struct ntb *ntb = (struct ntb *)dev;

	memset(ntb->reg, 0, sizeof(ntb->reg));
	pci_put(&dev->pci, NTB_AT_PPD, ntb->side ? NTB_PPD_B2B_DSD : NTB_PPD_B2B_USD, 1);
	set_value(ntb, NTB_CONTROL, NTB_CONTROL_DISABLE | NTB_CONTROL_LOCK, 4);
	set_value(ntb, NTB_IM_MASK, ~0ull, 8);
	set_value(ntb, NTB_EM_BAR0 + 8, NTB_EM_BASE1 | NTB_EM_FLAGS, 8);
	set_value(ntb, NTB_EM_BAR0 + 16, NTB_EM_BASE2 | NTB_EM_FLAGS, 8);
	/* "The vectors at reset is 1-32,0" (gen3_init_isr) */
	for (unsigned int bit = 0; bit < NTB_MSIX_VECTORS; bit++)
		ntb->reg[NTB_VECTORS + bit] = (bit + 1) % NTB_MSIX_VECTORS;
	link_shown_again(ntb->link, ntb->side);
}

static void attach(struct device *dev, bool there)
{
	struct ntb *ntb = (struct ntb *)dev;

	ntb->link->attached[ntb->side] = there;
	link_update(ntb->link);
}

static void cpu_read(struct device *dev, unsigned int bar, uint64_t offset, void *data, size_t len)
{
	struct ntb *ntb = (struct ntb *)dev;

	pthread_rwlock_rdlock(dev->lock);
	if (bar) {
		count(&dev->counters, COUNT_window_cpu_reads);
		window_read(ntb, bar, offset, data, len);
	} else {
		count(&dev->counters, COUNT_mmio_reads);
		if (!ntb_read_register(ntb, offset, data, len))
			count(&dev->counters, COUNT_mmio_refused);
	}
	pthread_rwlock_unlock(dev->lock);
}

static void cpu_write(struct device *dev, unsigned int bar, uint64_t offset, const void *data,
		      size_t len)
{
	struct ntb *ntb = (struct ntb *)dev;

	if (bar) {
		pthread_rwlock_rdlock(dev->lock);
		count(&dev->counters, COUNT_window_cpu_writes);
		window_write(ntb, bar, offset, data, len);
	} else {
		pthread_rwlock_wrlock(dev->lock);
		count(&dev->counters, COUNT_mmio_writes);
		if (!ntb_write_register(ntb, offset, data, len))
			count(&dev->counters, COUNT_mmio_refused);
	}
	pthread_rwlock_unlock(dev->lock);
}

static const struct device_ops ntb_ops = {
	.reset	= reset,
	.attach	= attach,
	.read	= cpu_read,
	.write	= cpu_write,
};

int ntb_init(struct ntb *ntb, struct link *link, unsigned int side, unsigned int number,
	     const uint64_t *window, const char *dir)
{
	char name[sizeof(ntb->dev.name)];

	ntb->link = link;
	ntb->side = side;
	ntb->id = (struct pci_identity) {
		.vendor = VENDOR_INTEL,
		.device = NTB_DEVICE_ID,
		.class = 0x068000,	/* bridge, other */
		.revision = 4,
		.vectors = NTB_MSIX_VECTORS,
		.msix_table = NTB_MSIX_TABLE,
		.msix_pending = NTB_MSIX_PENDING,
		.bar = { [0] = NTB_BAR0_SIZE, [2] = window[0], [4] = window[1] },
		.prefetchable = 1u << 0 | 1u << 2 | 1u << 4,
	};
	link->ntb[side] = ntb;
	snprintf(name, sizeof(name), "ntb%u.%c", number, 'a' + side);
	return device_init(&ntb->dev, &ntb_ops, &ntb->id, name, &link->lock, dir);
}

/* ---- the link: up when both ends are present and enabled, and trained; flaps, stuck ---- */

void link_init(struct link *link, unsigned int delay_ms)
{
	pthread_rwlockattr_t attr;

	memset(link, 0, sizeof(*link));
	link->delay_ms = delay_ms;
	link->up_at = TIME_NEVER;
	link->flap_at = TIME_NEVER;
	/* register accesses must not starve while two engines keep the bridge busy */
	pthread_rwlockattr_init(&attr);
	pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&link->lock, &attr);
	pthread_rwlockattr_destroy(&attr);
}

static void show(struct link *link)
{
	if (link->stuck || link->shown == link->carries)
		return;
	link->shown = link->carries;
	for (unsigned int side = 0; side < 2; side++) {
		if (link->ntb[side])
			ntb_show_link(link->ntb[side], link->shown);
	}
}

static bool trainable(const struct link *link)
{
	for (unsigned int side = 0; side < 2; side++) {
		if (!link->ntb[side] || !link->attached[side] || !ntb_enabled(link->ntb[side]))
			return false;
	}
	return !link->held_down;
}

void link_update(struct link *link)
{
	if (!trainable(link)) {
		link->carries = false;
		link->up_at = TIME_NEVER;
	} else if (!link->carries && !link->delay_ms) {
		link->carries = true;
	} else if (!link->carries && link->up_at == TIME_NEVER) {
		link->up_at = time_now() + 1000ull * link->delay_ms;
		time_changed();
	}
	show(link);
}

void link_shown_again(struct link *link, unsigned int side)
{
	if (link->shown)
		pci_put(&link->ntb[side]->dev.pci, NTB_AT_LINK_STATUS,
			NTB_LINK_ACTIVE | NTB_LINK_GEN3_X16, 2);
	link_update(link);
}

void link_flap(struct link *link, unsigned int flaps, unsigned int down_ms, unsigned int up_ms)
{
	link->flaps = flaps;
	link->down_ms = down_ms;
	link->up_ms = up_ms;
	link->flap_at = flaps ? time_now() : TIME_NEVER;
	time_changed();
}

void link_stick(struct link *link, bool stuck)
{
	link->stuck = stuck;
	show(link);
}

/* Down, up, down, up: the last state is up. */
static void flap_tick(struct link *link, uint64_t now)
{
	if (now < link->flap_at)
		return;
	link->held_down = !link->held_down;
	if (link->held_down)
		link->flap_at = now + 1000ull * link->down_ms;
	else if (--link->flaps)
		link->flap_at = now + 1000ull * link->up_ms;
	else
		link->flap_at = TIME_NEVER;
	link_update(link);
}

uint64_t link_tick(struct link *link, uint64_t now)
{
	uint64_t next;

	pthread_rwlock_wrlock(&link->lock);
	flap_tick(link, now);
	if (now >= link->up_at) {
		link->up_at = TIME_NEVER;
		link->carries = true;
		show(link);
	}
	next = link->up_at < link->flap_at ? link->up_at : link->flap_at;
	pthread_rwlock_unlock(&link->lock);
	return next;
}
