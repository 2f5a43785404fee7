// SPDX-License-Identifier: GPL-2.0
/*
 * The host interface: rings of descriptors, frames from a ring here to a ring there, interrupts,
 * registers.
 */
#include <string.h>

#include "host.h"

/* Unit of the throttling registers */
#define THROTTLE_NS	256

/* ---- interrupts: a message when a status bit is set, none until the driver clears it ---- */

static uint64_t quiet_time(const struct host *host, unsigned int vector)
{
	return (host->throttle[vector] * THROTTLE_NS + 999) / 1000;
}

static void fire(struct host *host, unsigned int bit)
{
	unsigned int vector = FIELD(host->vector_of[bit / 8], bit % 8 * 4, 4);
	uint64_t now = time_now();

	if (now < host->quiet_until[vector]) {
		if (!(host->owed & BIT(vector)))
			count(&host->dev.counters, COUNT_interrupts_late);
		host->owed |= BIT(vector);
		time_changed();
		return;
	}
	host->owed &= ~BIT(vector);
	host->quiet_until[vector] = now + quiet_time(host, vector);
	device_interrupt(&host->dev, vector);
}

static void fire_all(struct host *host, uint32_t bits)
{
	for (; bits; bits &= bits - 1)
		fire(host, __builtin_ctz(bits));
}

static void notify(struct host *host, unsigned int bit)
{
	uint32_t fresh = BIT(bit) & ~host->status[0];

	host->status[0] |= fresh;
	fire_all(host, fresh & host->enabled);
}

/* A bit that is pending when it is enabled causes a message. */
static void enable(struct host *host, uint32_t bits)
{
	uint32_t fresh = bits & ~host->enabled & host->status[0];

	host->enabled = bits;
	fire_all(host, fresh);
}

/* Send what throttling put off, if there is still a reason. */
static uint64_t pay_interrupts(struct host *host, uint64_t now)
{
	uint64_t next = TIME_NEVER;
	uint32_t due = 0;

	for (unsigned int vector = 0; vector < NHI_VECTORS; vector++) {
		if (!(host->owed & BIT(vector)))
			continue;
		if (now >= host->quiet_until[vector])
			due |= BIT(vector);
		else if (host->quiet_until[vector] < next)
			next = host->quiet_until[vector];
	}
	host->owed &= ~due;
	for (unsigned int bit = 0; bit < 2 * NHI_RINGS && due; bit++) {
		unsigned int vector = FIELD(host->vector_of[bit / 8], bit % 8 * 4, 4);

		if ((due & BIT(vector)) && (host->status[0] & host->enabled & BIT(bit))) {
			due &= ~BIT(vector);
			fire(host, bit);
		}
	}
	return next;
}

/* ---- descriptors ---- */

static bool has_descriptor(const struct ring *ring)
{
	return (ring->flags & RING_ENABLE) && ring->size && ring->own != ring->driver;
}

static uint32_t posted(const struct ring *ring)
{
	return ring->size ? (ring->driver + ring->size - ring->own) % ring->size : 0;
}

static bool fetch(struct host *host, const struct ring *ring, struct descriptor *desc)
{
	return !memory_read(&host->dev.memory, ring->base + ring->own * sizeof(*desc), desc,
			    sizeof(*desc));
}

static void complete(struct host *host, struct ring *ring, unsigned int bit, uint32_t word)
{
	uint64_t at = ring->base + ring->own * sizeof(struct descriptor) +
		      offsetof(struct descriptor, word);

	word |= DESC_COMPLETED;
	if (memory_write(&host->dev.memory, at, &word, sizeof(word)))
		count(&host->dev.counters, COUNT_dma_errors);
	ring->own = (ring->own + 1) % ring->size;
	notify(host, bit);
}

bool ring_put(struct host *host, unsigned int number, const void *data, size_t len, uint32_t word)
{
	struct ring *ring = &host->rx[number];
	struct descriptor desc;

	if (!has_descriptor(ring))
		return false;
	if (!fetch(host, ring, &desc) ||
	    memory_write(&host->dev.memory, desc.address, data, len))
		count(&host->dev.counters, COUNT_dma_errors);
	complete(host, ring, NHI_RINGS + number, word | (len & (FRAME_BYTES - 1)));
	return true;
}

/* ---- frames that arrive ---- */

static bool accepts(const struct ring *ring, uint32_t pdfs)
{
	return (ring->flags & RING_RAW) || ((ring->pdf_masks >> 16 & BIT(FIELD(pdfs, 16, 4))) &&
					    (ring->pdf_masks & BIT(FIELD(pdfs, 12, 4))));
}

static void overflow(struct host *host, unsigned int number)
{
	unsigned int bit = 2 * NHI_RINGS + number;

	count(&host->dev.counters, COUNT_overflows);
	host->status[bit / 32] |= BIT(bit % 32);
}

static void land(struct host *host, unsigned int number, const struct frame *frame)
{
	struct counters *counters = &host->dev.counters;

	if (!accepts(&host->rx[number], frame->pdfs)) {
		count(counters, COUNT_frames_refused);
	} else if (!ring_put(host, number, frame->data, frame->len,
			     frame->pdfs | (frame->damaged ? DESC_CRC_ERROR : 0))) {
		overflow(host, number);
	} else {
		count(counters, COUNT_frames_received);
		count_add(counters, COUNT_bytes_received, frame->len);
	}
}

/* ---- frames that are sent ---- */

/* Where the frames of a ring go: over a cable, to a ring of another host */
struct route {
	struct way *way;
	struct host *to;
	unsigned int ring;
};

static bool find_route(struct host *host, unsigned int number, struct route *route)
{
	unsigned int adapter, hopid;
	struct port *port, *peer;

	if (!router_path(host, HOST_ADAPTER, number, &adapter, &hopid))
		return false;
	port = router_port(host, adapter);
	peer = port ? cable_peer(port) : NULL;
	if (!peer)
		return false;
	*route = (struct route) { .way = &port->cable->way[port->end], .to = peer->host };
	return router_path(route->to, peer->adapter + adapter - port->adapter, hopid, &adapter,
			   &route->ring) &&
	       adapter == HOST_ADAPTER && route->ring && route->ring < NHI_RINGS;
}

/*
 * May a frame go? A ring that is disabled returns no credits, nor does one with E2E that has no
 * descriptors left.
 */
static bool may_send(const struct route *route)
{
	const struct ring *ring = &route->to->rx[route->ring];

	return (ring->flags & RING_ENABLE) && !route->way->stalled &&
	       (!(ring->flags & RING_E2E) || posted(ring));
}

static void send_frame(struct host *host, const struct route *route, uint64_t address,
		       uint32_t len, uint32_t pdfs)
{
	struct counters *there = &route->to->dev.counters;
	struct frame frame = { .len = len, .pdfs = pdfs };

	count(&host->dev.counters, COUNT_frames_sent);
	count_add(&host->dev.counters, COUNT_bytes_sent, len);
	if (fault_strikes(route->way->ppm[LOSE])) {
		count(there, COUNT_frames_lost);
		return;
	}
	if (memory_read(&host->dev.memory, address, frame.data, len)) {
		count(&host->dev.counters, COUNT_dma_errors);
		return;
	}
	frame.damaged = fault_strikes(route->way->ppm[DAMAGE]);
	if (frame.damaged) {
		count(there, COUNT_frames_damaged);
		/* The flag alone would not harm a careless driver. */
		frame.data[len / 2] ^= 0x40;
	}
	land(route->to, route->ring, &frame);
}

/* Send the next frame of a ring if it may go. */
static bool send_next(struct host *host, unsigned int number, const struct descriptor *desc)
{
	uint32_t len = FIELD(desc->word, 0, 12);
	struct route route;

	if (!len)
		len = FRAME_BYTES;
	if (!find_route(host, number, &route) || !may_send(&route)) {
		count(&host->dev.counters, COUNT_waits);
		return false;
	}
	send_frame(host, &route, desc->address, len, desc->word & 0xff000);
	return true;
}

static void send_packet(struct host *host, const struct descriptor *desc)
{
	uint32_t len = FIELD(desc->word, 0, 12);
	uint8_t data[PACKET_BYTES];

	if (len > sizeof(data) || memory_read(&host->dev.memory, desc->address, data, len))
		len = 0;
	channel_packet(host, data, len, FIELD(desc->word, 12, 4));
}

static void send_ring(struct host *host, unsigned int number)
{
	struct ring *ring = &host->tx[number];
	struct descriptor desc;

	while (has_descriptor(ring)) {
		if (!fetch(host, ring, &desc)) {
			count(&host->dev.counters, COUNT_dma_errors);
			return;
		}
		if (!number)
			send_packet(host, &desc);
		else if (!send_next(host, number, &desc))
			return;
		complete(host, ring, number, desc.word);
	}
}

void rings_go_on(void)
{
	for (struct host *host = world.host; host < world.host + world.hosts; host++) {
		for (unsigned int number = 1; number < NHI_RINGS; number++)
			send_ring(host, number);
	}
}

uint64_t rings_tick(uint64_t now)
{
	uint64_t next = TIME_NEVER, at;

	for (struct host *host = world.host; host < world.host + world.hosts; host++) {
		at = pay_interrupts(host, now);
		next = at < next ? at : next;
	}
	return next;
}

/* ---- registers ---- */

/* Is that register one of @count blocks of @size bytes at @base? Return its block and offset. */
static bool within(uint32_t offset, uint32_t base, uint32_t size, unsigned int count,
		   unsigned int *block, unsigned int *at)
{
	if (offset < base || offset >= base + size * count)
		return false;
	*block = (offset - base) / size;
	*at = (offset - base) % size;
	return true;
}

static uint32_t ring_read(const struct ring *ring, bool tx, unsigned int at)
{
	switch (at) {
	case RING_BASE_LOW:
		return (uint32_t)ring->base;
	case RING_BASE_HIGH:
		return ring->base >> 32;
	case RING_INDICES:
		return tx ? ring->driver << 16 | ring->own : ring->own << 16 | ring->driver;
	default:
		return ring->size;
	}
}

/* The half of the indices that belongs to the host interface is read-only: ring_iowrite_cons(). */
static void ring_write(struct host *host, unsigned int number, bool tx, unsigned int at,
		       uint32_t value)
{
	struct ring *ring = tx ? &host->tx[number] : &host->rx[number];

	switch (at) {
	case RING_BASE_LOW:
		ring->base = (ring->base & ~0xffffffffull) | value;
		break;
	case RING_BASE_HIGH:
		ring->base = (uint32_t)ring->base | (uint64_t)value << 32;
		break;
	case RING_INDICES:
		ring->driver = (tx ? value >> 16 : value) & 0xffff;
		if (ring->driver >= ring->size)
			ring->driver = 0;
		if (tx)
			send_ring(host, number);
		else if (number)
			rings_go_on();
		else
			channel_go_on(host);
		break;
	case RING_SIZE:
		ring->size = value & 0xffff;
		break;
	}
}

static void options_write(struct ring *ring, unsigned int at, uint32_t value)
{
	uint32_t changed = ring->flags ^ value;

	if (at == RING_PDF_MASKS) {
		ring->pdf_masks = value;
	} else if (at == RING_FLAGS) {
		if (changed & RING_ENABLE)
			ring->own = ring->driver = 0;
		ring->flags = value;
	}
}

static uint32_t register_read(struct host *host, uint32_t offset)
{
	unsigned int n, at;

	if (within(offset, NHI_TX_RINGS, 16, NHI_RINGS, &n, &at))
		return ring_read(&host->tx[n], true, at);
	if (within(offset, NHI_RX_RINGS, 16, NHI_RINGS, &n, &at))
		return ring_read(&host->rx[n], false, at);
	if (within(offset, NHI_NOTIFY, 4, 2, &n, &at))
		return host->status[n];
	if (within(offset, NHI_VECTOR_OF, 4, 4, &n, &at))
		return host->vector_of[n];
	if (within(offset, NHI_THROTTLE, 4, NHI_VECTORS, &n, &at))
		return host->throttle[n];
	if (offset == NHI_INT_ENABLE)
		return host->enabled;
	if (offset == NHI_CAPS)
		return NHI_RINGS | NHI_CAPS_VERSION_1;
	return host->other[offset / 4];
}

static void register_write(struct host *host, uint32_t offset, uint32_t value)
{
	unsigned int n, at;

	if (within(offset, NHI_TX_RINGS, 16, NHI_RINGS, &n, &at))
		ring_write(host, n, true, at, value);
	else if (within(offset, NHI_RX_RINGS, 16, NHI_RINGS, &n, &at))
		ring_write(host, n, false, at, value);
	else if (within(offset, NHI_TX_OPTIONS, 32, NHI_RINGS, &n, &at))
		options_write(&host->tx[n], at, value);
	else if (within(offset, NHI_RX_OPTIONS, 32, NHI_RINGS, &n, &at))
		options_write(&host->rx[n], at, value);
	else if (within(offset, NHI_INT_CLEAR, 4, 2, &n, &at))
		host->status[n] &= ~value;
	else if (within(offset, NHI_VECTOR_OF, 4, 4, &n, &at))
		host->vector_of[n] = value;
	else if (within(offset, NHI_THROTTLE, 4, NHI_VECTORS, &n, &at))
		host->throttle[n] = value & 0xffff;
	else if (offset == NHI_INT_ENABLE)
		enable(host, value);
	else if (offset == NHI_INT_DISABLE)
		host->enabled &= ~value;
	else
		host->other[offset / 4] = value;
}

/* ---- the device ---- */

/* Registers are 32-bit words, of which an access has one or two. */
static bool is_word(const struct device *dev, unsigned int bar, uint64_t offset, size_t len)
{
	return !bar && !(offset & 3) && (len == 4 || len == 8) && offset + len <= dev->id->bar[0];
}

static void cpu_read(struct device *dev, unsigned int bar, uint64_t offset, void *data, size_t len)
{
	uint32_t *word = data;

	count(&dev->counters, COUNT_mmio_reads);
	memset(data, 0xff, len);
	if (!is_word(dev, bar, offset, len)) {
		count(&dev->counters, COUNT_mmio_refused);
		return;
	}
	pthread_rwlock_wrlock(dev->lock);
	for (size_t i = 0; i < len / 4; i++)
		word[i] = register_read((struct host *)dev, offset + 4 * i);
	pthread_rwlock_unlock(dev->lock);
}

static void cpu_write(struct device *dev, unsigned int bar, uint64_t offset, const void *data,
		      size_t len)
{
	const uint32_t *word = data;

	count(&dev->counters, COUNT_mmio_writes);
	if (!is_word(dev, bar, offset, len)) {
		count(&dev->counters, COUNT_mmio_refused);
		return;
	}
	pthread_rwlock_wrlock(dev->lock);
	for (size_t i = 0; i < len / 4; i++)
		register_write((struct host *)dev, offset + 4 * i, word[i]);
	pthread_rwlock_unlock(dev->lock);
}

static void reset(struct device *dev)
{
	struct host *host = (struct host *)dev;

	memset(host->tx, 0, sizeof(host->tx));
	memset(host->rx, 0, sizeof(host->rx));
	memset(host->status, 0, sizeof(host->status));
	memset(host->vector_of, 0, sizeof(host->vector_of));
	memset(host->throttle, 0, sizeof(host->throttle));
	memset(host->quiet_until, 0, sizeof(host->quiet_until));
	memset(host->other, 0, sizeof(host->other));
	host->enabled = host->owed = 0;
	host->packets_in = host->packets_out = 0;
	router_reset(host);
	cables_retrain(host);
}

static void attach(struct device *dev, bool there)
{
	struct host *host = (struct host *)dev;

	host->attached = there;
	host->boots += there;
	router_identify(host);
	say(host, there ? "has a machine" : "has no machine");
	cables_retrain(host);
}

static const struct device_ops host_ops = {
	.reset	= reset,
	.attach	= attach,
	.read	= cpu_read,
	.write	= cpu_write,
};

/*
 * Not a device of Intel's, for whose the driver asks that reading the status clears it
 * (QUIRK_AUTO_CLEAR_INT).
 */
static const struct pci_identity identity = {
	.vendor		= 0x1b36,
	.device		= 0x4004,
	.class		= 0x0c0340,	/* PCI_CLASS_SERIAL_USB_USB4 */
	.revision	= 1,
	.vectors	= NHI_VECTORS,
	.msix_table	= NHI_MSIX_TABLE,
	.msix_pending	= NHI_MSIX_PENDING,
	.bar		= { [0] = NHI_BAR0_SIZE },
};

void host_prepare(struct host *host)
{
	for (unsigned int n = 0; n < PORTS; n++)
		host->port[n] = (struct port) { .host = host, .adapter = 1 + n * LANES };
}

int host_init(struct host *host, char letter, const char *dir)
{
	char name[sizeof(host->dev.name)] = { 'n', 'h', 'i', '.', letter };

	return device_init(&host->dev, &host_ops, &identity, name, &world.lock, dir);
}
