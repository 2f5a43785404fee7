// SPDX-License-Identifier: GPL-2.0
/*
 * engine.c - the host interface at work: it takes frames from rings, puts them into rings of the
 * other host, and interrupts.
 *
 * A timer of each host does that in hard interrupt context, soon after the driver has posted a
 * descriptor: asynchronous to everything but code with interrupts off. It takes what is posted at
 * its own host, and delivers the interrupts of its own host. README.md lists the rules.
 */
#include <linux/dma-direct.h>
#include <linux/slab.h>
#include "mock.h"

#define TM_BURST	64		/* frames of one run of the timer, */
#define TM_PAUSE_NS	20000		/* after which it lets others run */
#define TM_RETRY_NS	1000000		/* no memory for a frame on its way */
/* Frames on the way to a ring without end-to-end flow control */
#define TM_COMINGS	1024
#define TM_PACKET	256		/* longest packet of the control channel */

DEFINE_SPINLOCK(tm_lock);

/* ---- when the engine runs ---- */

/* Run at @at, or earlier; 0: now. */
static void tm_arm(struct tm_host *host, ktime_t at)
{
	lockdep_assert_held(&tm_lock);
	if (at >= host->armed)
		return;
	host->armed = at;
	hrtimer_start(&host->timer, at, HRTIMER_MODE_ABS_PINNED);
}

void tm_engine_go_on(void)
{
	struct tm_host *host;

	for (host = tm_host; host < tm_host + TM_HOSTS; host++)
		if (host->waiting)
			tm_arm(host, 0);
}

/* ---- interrupts ---- */

static void tm_fire(struct tm_ring *r)
{
	r->due = true;
	tm_arm(tm_host_of(r->ring.nhi), 0);
}

/* A descriptor is completed. There is no second interrupt while the status stays set. */
static void tm_notify(struct tm_ring *r)
{
	if (r->status)
		return;
	r->status = true;
	if (r->enabled)
		tm_fire(r);
}

bool tm_engine_enable(struct tm_ring *r, bool on)
{
	bool before = r->enabled;

	lockdep_assert_held(&tm_lock);
	r->enabled = on;
	if (on && !before && r->status)
		tm_fire(r);
	return before;
}

/* The interrupt arrives: the core's handler clears the status first. */
static bool tm_take_interrupt(struct tm_ring *r)
{
	unsigned long flags;
	bool taken;

	spin_lock_irqsave(&tm_lock, flags);
	taken = r->due;
	if (taken) {
		r->due = false;
		r->status = false;
	}
	spin_unlock_irqrestore(&tm_lock, flags);
	return taken;
}

static void tm_deliver(struct tm_host *host)
{
	unsigned long flags;
	int i;

	spin_lock_irqsave(&host->nhi.lock, flags);
	for (i = 0; i < 2 * TM_HOPS; i++) {
		struct tb_ring *ring = i < TM_HOPS ? host->tx_rings[i] :
						     host->rx_rings[i - TM_HOPS];

		if (ring && tm_take_interrupt(to_tm_ring(ring)))
			tm_ring_interrupt(ring);
	}
	spin_unlock_irqrestore(&host->nhi.lock, flags);
}

/* ---- memory ---- */

/* The memory behind a bus address, up to the end of its page; NULL: none */
static void *tm_memory(const struct tm_host *host, dma_addr_t addr)
{
	phys_addr_t at = dma_to_phys(host->nhi.dev, addr);

	return at && pfn_valid(PHYS_PFN(at)) ? phys_to_virt(at) : NULL;
}

static size_t tm_rest_of_page(dma_addr_t addr, size_t len)
{
	return min_t(size_t, len, PAGE_SIZE - offset_in_page(addr));
}

static bool tm_read(const struct tm_host *host, void *to, dma_addr_t from, size_t len)
{
	size_t n;
	void *at;

	for (; len; len -= n, to += n, from += n) {
		n = tm_rest_of_page(from, len);
		at = tm_memory(host, from);
		if (!at)
			return false;
		memcpy(to, at, n);
	}
	return true;
}

static bool tm_write(const struct tm_host *host, dma_addr_t to, const void *from, size_t len)
{
	size_t n;
	void *at;

	for (; len; len -= n, to += n, from += n) {
		n = tm_rest_of_page(to, len);
		at = tm_memory(host, to);
		if (!at)
			return false;
		memcpy(at, from, n);
	}
	return true;
}

/* From memory of one host to that of the other */
static bool tm_move(const struct tm_host *there, dma_addr_t to, const struct tm_host *here,
		    dma_addr_t from, size_t len)
{
	size_t n;
	void *at;

	for (; len; len -= n, to += n, from += n) {
		n = tm_rest_of_page(from, len);
		at = tm_memory(here, from);
		if (!at || !tm_write(there, to, at, n))
			return false;
	}
	return true;
}

/* ---- descriptors ---- */

static u32 tm_posted(const struct tm_ring *r)
{
	return (r->posted + r->ring.size - r->next) % r->ring.size;
}

static void tm_complete(struct tm_ring *r, u32 word)
{
	struct ring_desc *desc = &r->ring.descriptors[r->next];

	/* The frame is there before the word says so: pairs with tm_completed(). */
	smp_store_release(&desc->word, cpu_to_le32(word | TM_DESC_DONE));
	r->next = (r->next + 1) % r->ring.size;
	tm_notify(r);
}

/* ---- frames that arrive ---- */

/* The ring to which frames with this HopID go that come in at the port; NULL: none that is on */
static struct tm_ring *tm_ring_behind(const struct tm_port *port, int hopid)
{
	const struct tm_host *host = port->host;
	const struct tm_tunnel *t;

	if (!hopid)
		return host->rx[0];
	list_for_each_entry(t, &host->tunnels, entry)
		if (t->port == port && t->rx_ring > 0 && t->rx_hopid == hopid)
			return host->rx[t->rx_ring];
	return NULL;
}

static bool tm_accepts(const struct tb_ring *ring, u32 word)
{
	return !(ring->flags & RING_FLAG_FRAME) ||
	       (ring->sof_mask & BIT(FIELD_GET(TM_DESC_SOF, word)) &&
		ring->eof_mask & BIT(FIELD_GET(TM_DESC_EOF, word)));
}

/* The flag of a wrong checksum alone would not harm a careless driver. */
static void tm_damage(const struct tm_host *host, dma_addr_t at, u32 word)
{
	u8 *byte = tm_memory(host, at);

	if (byte && FIELD_GET(TM_DESC_FLAGS, word) & RING_DESC_CRC_ERROR)
		*byte ^= 0x40;
}

static void tm_put(struct tm_ring *rx, const struct tm_frame *f, const struct tm_host *from,
		   dma_addr_t at)
{
	struct tm_host *host = tm_host_of(rx->ring.nhi);
	dma_addr_t to = le64_to_cpu(rx->ring.descriptors[rx->next].phys);

	/* The driver has posted an address that is no memory. */
	WARN_ON_ONCE(!(from ? tm_move(host, to, from, at, f->len) :
			      tm_write(host, to, f->data, f->len)));
	tm_damage(host, to + f->len / 2, f->word);
	tm_complete(rx, f->word | (f->len & TM_DESC_LENGTH));
}

/*
 * The frame is in f->data, or in memory of host @from. It is lost if its cable, path or ring went
 * meanwhile, if the ring does not take it, or has no descriptor.
 */
static void tm_land(const struct tm_frame *f, const struct tm_host *from, dma_addr_t at)
{
	const struct tm_cable *cable = f->port->cable;
	struct tm_ring *rx = tm_ring_behind(f->port, f->hopid);

	if (cable->plugged && cable->life == f->life && rx && tm_accepts(&rx->ring, f->word) &&
	    tm_posted(rx))
		tm_put(rx, f, from, at);
}

static void tm_frame_free(struct tm_ring *rx, struct tm_frame *f)
{
	list_del(&f->entry);
	rx->comings--;
	kfree(f->data);
	kfree(f);
}

static void tm_arrive(struct tm_host *host, ktime_t now)
{
	struct tm_frame *f;
	bool landed = false;
	int hop;

	for (hop = 0; hop < TM_HOPS; hop++) {
		struct tm_ring *rx = host->rx[hop];

		while (rx && (f = list_first_entry_or_null(&rx->coming, struct tm_frame, entry))) {
			if (f->due > now) {
				tm_arm(host, f->due);
				break;
			}
			tm_land(f, NULL, 0);
			tm_frame_free(rx, f);
			landed = true;
		}
	}
	if (landed)
		tm_engine_go_on();
}

/* ---- frames that are sent ---- */

/* A ring with end-to-end flow control gives as many credits as descriptors are posted. */
static bool tm_has_credit(const struct tm_ring *rx)
{
	u32 most = TM_COMINGS;

	if (rx->ring.flags & RING_FLAG_E2E || !rx->ring.hop)
		most = tm_posted(rx);
	return rx->comings < most;
}

/* Keep the frame until it is due. @f->data is null: it is in memory of host @from. */
static bool tm_send_later(struct tm_ring *rx, const struct tm_frame *f, const struct tm_host *from,
			  dma_addr_t at, ktime_t due)
{
	struct tm_frame *kept = kmemdup(f, sizeof(*f), GFP_ATOMIC | __GFP_NOWARN);

	if (!kept)
		return false;
	kept->data = kmalloc(f->len, GFP_ATOMIC | __GFP_NOWARN);
	if (!kept->data) {
		kfree(kept);
		return false;
	}
	if (f->data)
		memcpy(kept->data, f->data, f->len);
	else
		WARN_ON_ONCE(!tm_read(from, kept->data, at, f->len));
	kept->due = due;
	list_add_tail(&kept->entry, &rx->coming);
	rx->comings++;
	tm_arm(f->port->host, due);
	return true;
}

/* Put the frame on its way to @rx, over the cable that it leaves by @port. Return: it went */
static bool tm_send_to(struct tm_ring *rx, const struct tm_port *port, const struct tm_frame *f,
		       dma_addr_t at, ktime_t now)
{
	const struct tm_host *from = f->data ? NULL : port->host;
	ktime_t due = ktime_add_us(now, port->delay_us);
	struct tm_frame *last;

	if (!port->delay_us && list_empty(&rx->coming)) {
		tm_land(f, from, at);
		return true;
	}
	if (!list_empty(&rx->coming)) {
		last = list_last_entry(&rx->coming, struct tm_frame, entry);
		due = max(due, last->due);
	}
	if (tm_send_later(rx, f, from, at, due))
		return true;
	tm_arm(port->host, ktime_add_ns(now, TM_RETRY_NS));
	return false;
}

static struct tm_tunnel *tm_tunnel_of(const struct tm_host *host, int ring)
{
	struct tm_tunnel *t;

	list_for_each_entry(t, &host->tunnels, entry)
		if (t->tx_ring == ring)
			return t;
	return NULL;
}

static bool tm_send_frame(struct tm_host *host, struct tm_ring *tx, u32 word, dma_addr_t at,
			  ktime_t now)
{
	struct tm_tunnel *t = tm_tunnel_of(host, tx->ring.hop);
	struct tm_frame f = { .len = FIELD_GET(TM_DESC_LENGTH, word) ?: TB_MAX_FRAME_SIZE };
	struct tm_port *port, *peer;
	struct tm_ring *rx;

	if (!t || !t->port->cable->plugged || t->port->stalled)
		return false;
	port = t->port;
	peer = tm_peer(port);
	rx = tm_ring_behind(peer, t->tx_hopid);
	if (!rx || !tm_has_credit(rx))
		return false;
	f.port = peer;
	f.life = port->cable->life;
	f.hopid = t->tx_hopid;
	f.word = word & TM_DESC_PDFS;
	if (tm_fault_strikes(port->lose_ppm))
		return true;
	if (tm_fault_strikes(port->damage_ppm))
		f.word |= FIELD_PREP(TM_DESC_FLAGS, RING_DESC_CRC_ERROR);
	return tm_send_to(rx, port, &f, at, now);
}

/* ---- packets of the control channel ---- */

static struct tm_port *tm_port_at(const struct tm_host *host, u64 route)
{
	struct tm_port *port;
	int i;

	for (i = 0; i < tm_cables; i++) {
		port = &tm_cable[i].port[host->index];
		if (port->route == route && port->cable->plugged)
			return port;
	}
	return NULL;
}

/*
 * The packet names the route that it takes. It comes out with the route back, and with the highest
 * bit set. One that goes nowhere is lost.
 */
static bool tm_send_packet(struct tm_host *host, u32 word, dma_addr_t at, ktime_t now)
{
	u32 buf[TM_PACKET / sizeof(u32)];
	struct tm_frame f = { .len = FIELD_GET(TM_DESC_LENGTH, word), .data = buf };
	struct tm_port *port, *peer;

	if (f.len < 4 * sizeof(u32) || f.len > sizeof(buf) || !tm_read(host, buf, at, f.len))
		return true;
	port = tm_port_at(host, (u64)buf[0] << 32 | buf[1]);
	if (!port)
		return true;
	peer = tm_peer(port);
	if (!peer->host->rx[0] || !host->rx[0])
		return true;
	f.port = peer;
	f.life = port->cable->life;
	f.word = word & TM_DESC_PDFS;
	if (!tm_has_credit(peer->host->rx[0]) || !tm_has_credit(host->rx[0]))
		return false;
	buf[0] = BIT(31) | upper_32_bits(peer->route);
	buf[1] = lower_32_bits(peer->route);
	return tm_send_to(f.port->host->rx[0], port, &f, 0, now);
}

/* ---- the engine ---- */

/* Send the next frame of the ring. Return: it went */
static bool tm_send_next(struct tm_host *host, struct tm_ring *tx, ktime_t now)
{
	const struct ring_desc *desc = &tx->ring.descriptors[tx->next];
	dma_addr_t at = le64_to_cpu(desc->phys);
	u32 word = le32_to_cpu(READ_ONCE(desc->word));

	if (!(tx->ring.hop ? tm_send_frame(host, tx, word, at, now) :
			     tm_send_packet(host, word, at, now))) {
		host->waiting = true;
		return false;
	}
	tm_complete(tx, word & ~TM_DESC_FLAGS);
	return true;
}

/* Take turns, so that no ring keeps the others waiting. */
static void tm_send_all(struct tm_host *host, ktime_t now)
{
	bool stuck[TM_HOPS] = {}, sent = true;
	int hop, left = TM_BURST;

	host->waiting = false;
	while (sent && left > 0) {
		sent = false;
		for (hop = 0; hop < TM_HOPS; hop++) {
			struct tm_ring *tx = host->tx[hop];

			if (!tx || stuck[hop] || !tm_posted(tx))
				continue;
			stuck[hop] = !tm_send_next(host, tx, now);
			sent |= !stuck[hop];
			left -= !stuck[hop];
		}
	}
	if (sent)
		tm_arm(host, ktime_add_ns(now, TM_PAUSE_NS));
}

static void tm_work(struct tm_host *host)
{
	ktime_t now = ktime_get();
	unsigned long flags;

	spin_lock_irqsave(&tm_lock, flags);
	host->armed = KTIME_MAX;
	tm_arrive(host, now);
	tm_send_all(host, now);
	spin_unlock_irqrestore(&tm_lock, flags);
	tm_deliver(host);
}

static enum hrtimer_restart tm_expired(struct hrtimer *timer)
{
	tm_work(container_of(timer, struct tm_host, timer));
	return HRTIMER_NORESTART;
}

void tm_engine_post(struct tm_ring *r, u32 index)
{
	lockdep_assert_held(&tm_lock);
	r->posted = index;
	if (!r->ring.is_tx)
		tm_engine_go_on();
	else
		tm_arm(tm_host_of(r->ring.nhi), 0);
}

void tm_engine_start(struct tm_ring *r)
{
	struct tm_host *host = tm_host_of(r->ring.nhi);

	lockdep_assert_held(&tm_lock);
	r->next = 0;
	r->posted = 0;
	if (r->ring.is_tx)
		host->tx[r->ring.hop] = r;
	else
		host->rx[r->ring.hop] = r;
	tm_engine_go_on();
}

void tm_engine_stop(struct tm_ring *r)
{
	struct tm_host *host = tm_host_of(r->ring.nhi);
	struct tm_frame *f, *next;

	lockdep_assert_held(&tm_lock);
	if (r->ring.is_tx)
		host->tx[r->ring.hop] = NULL;
	else
		host->rx[r->ring.hop] = NULL;
	list_for_each_entry_safe(f, next, &r->coming, entry)
		tm_frame_free(r, f);
}

void tm_engine_init(struct tm_host *host)
{
	host->armed = KTIME_MAX;
	hrtimer_setup(&host->timer, tm_expired, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_PINNED);
}

void tm_engine_exit(struct tm_host *host)
{
	spin_lock_irq(&tm_lock);
	host->waiting = false;
	spin_unlock_irq(&tm_lock);
	hrtimer_cancel(&host->timer);
}
