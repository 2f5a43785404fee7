// SPDX-License-Identifier: GPL-2.0
/*
 * The control channel, ring 0: packets to and from configuration spaces, XDomain packets to the
 * host at the other end of a cable, events of cables.
 */
#include <endian.h>
#include <string.h>

#include "host.h"

/* A plug event is repeated until the driver acknowledges it. */
#define REPEAT_US	1000000

/* CRC32C over the packet as it is on the wire: tb_crc() */
static uint32_t checksum(const uint8_t *data, size_t len)
{
	uint32_t crc = ~0u;

	while (len--) {
		crc ^= *data++;
		for (int i = 0; i < 8; i++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
	}
	return ~crc;
}

/* ---- packets for the driver ---- */

void channel_go_on(struct host *host)
{
	const struct packet *packet;

	while (host->packets_out != host->packets_in) {
		packet = &host->waiting[host->packets_out % WAITING_PACKETS];
		if (!ring_put(host, 0, packet->data, packet->len, packet->type << 12))
			return;
		host->packets_out++;
		count(&host->dev.counters, COUNT_control_received);
	}
}

static void give(struct host *host, enum packet_type type, const uint32_t *word,
		 unsigned int words)
{
	struct packet *packet = &host->waiting[host->packets_in % WAITING_PACKETS];
	uint32_t value;

	if (!(host->rx[0].flags & RING_ENABLE) ||
	    host->packets_in - host->packets_out == WAITING_PACKETS) {
		count(&host->dev.counters, COUNT_control_dropped);
		return;
	}
	packet->type = type;
	packet->len = 4 * words + 4;
	for (unsigned int i = 0; i < words; i++) {
		value = htobe32(word[i]);
		memcpy(packet->data + 4 * i, &value, 4);
	}
	value = htobe32(checksum(packet->data, 4 * words));
	memcpy(packet->data + 4 * words, &value, 4);
	host->packets_in++;
	channel_go_on(host);
}

static void give_error(struct host *host, const uint32_t *word, enum packet_error error,
		       unsigned int adapter)
{
	uint32_t answer[3] = { word[0] | PACKET_REPLY, word[1], error | adapter << 8 };

	give(host, PACKET_ERROR, answer, 3);
}

/* ---- packets of the driver to its own router ---- */

static void access_space(struct host *host, enum packet_type type, const uint32_t *word,
			 unsigned int words)
{
	unsigned int len = FIELD(word[2], 13, 6);
	uint32_t answer[PACKET_WORDS] = { word[0] | PACKET_REPLY, word[1] };
	bool write = type == PACKET_WRITE;

	if (len > ACCESS_WORDS || (write && words < 3 + len))
		return;
	if (write)
		memcpy(answer + 3, word + 3, 4 * len);
	if (!router_access(host, write, word[2], answer + 3)) {
		give_error(host, word, ERROR_NO_SUCH_SPACE, FIELD(word[2], 19, 6));
		return;
	}
	/* the adapter that the packet came in at */
	answer[2] = (word[2] & ~(0x3fu << 19)) | HOST_ADAPTER << 19;
	give(host, type, answer, write ? 3 : 3 + len);
	if (!write)
		return;
	time_changed();		/* events may have been allowed */
	if (FIELD(word[2], 25, 2) == SPACE_PATHS)
		rings_go_on();
}

/* tb_cfg_ack_plug() */
static void acknowledged(struct host *host, uint32_t word)
{
	struct port *port = router_port(host, FIELD(word, 8, 6));

	if (port && (word & 0xff) == ERROR_ACK_PLUG_EVENT)
		port->told = word >> 30 == ACK_OF_PLUG;
}

static void to_router(struct host *host, enum packet_type type, const uint32_t *word,
		      unsigned int words)
{
	uint32_t answer[2] = { word[0] | PACKET_REPLY, word[1] };

	if ((type == PACKET_READ || type == PACKET_WRITE) && words >= 3)
		access_space(host, type, word, words);
	else if (type == PACKET_ERROR && words >= 3)
		acknowledged(host, word[2]);
	else if (type == PACKET_RESET)
		give(host, PACKET_RESET, answer, 2);
}

/* ---- packets of the driver over a cable ---- */

static void to_peer(struct port *port, enum packet_type type, const uint32_t *word,
		    unsigned int words)
{
	struct port *peer = cable_peer(port);
	struct cable *cable = port->cable;
	uint32_t copy[PACKET_WORDS];

	if (!peer)
		return;
	/* the route becomes the one back */
	memcpy(copy, word, 4 * words);
	copy[0] = PACKET_REPLY;
	copy[1] = peer->adapter;
	count(&peer->host->dev.counters, COUNT_xdomain);
	give(peer->host, type, copy, words);
	if (cable->unplug_at && !--cable->unplug_at) {
		say(port->host, "unplugged behind an XDomain packet");
		cable->pulled = true;
		cable_update(cable);
	}
}

static void over_cable(struct host *host, enum packet_type type, const uint32_t *word,
		       unsigned int words)
{
	struct port *port = router_port(host, word[1]);

	if (type == PACKET_READ || type == PACKET_WRITE)
		/* behind the cable is another domain, whose router does not answer this one */
		give_error(host, word, ERROR_NOT_CONNECTED, word[1] & 0x3f);
	else if (port && port->adapter == word[1] &&
		 (type == PACKET_XDOMAIN_REQUEST || type == PACKET_XDOMAIN_RESPONSE))
		to_peer(port, type, word, words);
}

void channel_packet(struct host *host, const uint8_t *data, uint32_t len, uint32_t type)
{
	unsigned int words = len / 4 - 1;	/* without the checksum */
	uint32_t word[PACKET_WORDS], crc;

	count(&host->dev.counters, COUNT_control_sent);
	if (len < 12 || len % 4) {
		count(&host->dev.counters, COUNT_control_bad);
		return;
	}
	memcpy(&crc, data + 4 * words, 4);
	if (be32toh(crc) != checksum(data, 4 * words)) {
		count(&host->dev.counters, COUNT_control_bad);
		return;
	}
	for (unsigned int i = 0; i < words; i++) {
		memcpy(&word[i], data + 4 * i, 4);
		word[i] = be32toh(word[i]);
	}
	if (!FIELD(word[0], 0, 22) && !word[1])
		to_router(host, type, word, words);
	else
		over_cable(host, type, word, words);
}

/* ---- events of cables ---- */

static bool may_tell(const struct port *port)
{
	const struct host *host = port->host;

	return (host->router[3] & ROUTER_VALID) && (host->rx[0].flags & RING_ENABLE) &&
	       !(host->adapter[port->adapter].config[5] & ADAPTER_NO_EVENTS);
}

static void tell(struct port *port, bool up)
{
	uint32_t event[3] = { PACKET_REPLY, 0, port->adapter | (up ? 0 : EVENT_UNPLUG) };

	count(&port->host->dev.counters, COUNT_plug_events);
	say(port->host, "event: adapter %u %s", port->adapter, up ? "plugged" : "unplugged");
	give(port->host, PACKET_EVENT, event, 3);
}

static uint64_t tell_about(struct port *port, uint64_t now)
{
	bool up = cable_peer(port);

	if (port->told == up || !may_tell(port))
		return TIME_NEVER;
	if (now >= port->tell_at) {
		port->tell_at = now + REPEAT_US;
		tell(port, up);
	}
	return port->tell_at;
}

uint64_t channel_tick(uint64_t now)
{
	uint64_t next = TIME_NEVER, at;

	for (struct host *host = world.host; host < world.host + world.hosts; host++) {
		for (struct port *port = host->port; port < host->port + PORTS; port++) {
			at = tell_about(port, now);
			next = at < next ? at : next;
		}
	}
	return next;
}
