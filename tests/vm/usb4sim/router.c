// SPDX-License-Identifier: GPL-2.0
/* The router: its configuration space, those of its adapters, and path entries. */
#include <string.h>

#include "host.h"

/* Buffers of a lane adapter, and of the host interface's */
#define LANE_BUFFERS	120u
#define HOST_BUFFERS	32u
/* Of these the router recommends so many for each path between hosts. */
#define PATH_BUFFERS	14u
#define LANE_HOPIDS	31u
#define USB4_VERSION_1	0x20u
#define SPEEDS		0xcu	/* generation 2 and 3 */

struct port *router_port(struct host *host, unsigned int adapter)
{
	return adapter && adapter < HOST_ADAPTER ? &host->port[(adapter - 1) / LANES] : NULL;
}

static bool is_lane(unsigned int adapter)
{
	return adapter && adapter < HOST_ADAPTER && (adapter - 1) % LANES == 0;
}

/* ---- lanes ---- */

static uint32_t *phy(const struct port *port)
{
	return &port->host->adapter[port->adapter].config[LANE_AT_PHY + 1];
}

bool router_allows(const struct port *port)
{
	return !(*phy(port) & LANE_DISABLE) &&
	       !(port->host->adapter[port->adapter].config[PORT_AT_CONTROL] & PORT_RESET);
}

/* State, width and speed */
void router_show_lane(struct port *port)
{
	enum lane_state state = cable_peer(port) ? LANE_UP : LANE_UNPLUGGED;
	uint32_t *word = phy(port);

	if (*word & LANE_DISABLE)
		state = LANE_DISABLED;
	*word = (*word & ~LANE_SHOWN) | (uint32_t)state << 26 | 1u << 20 | LANE_SPEED_GEN3;
}

/* ---- paths ---- */

bool router_path(const struct host *host, unsigned int adapter, unsigned int hopid,
		 unsigned int *to_adapter, unsigned int *to_hopid)
{
	uint32_t entry;

	if (hopid >= PATH_HOPIDS)
		return false;
	entry = host->adapter[adapter].path[2 * hopid];
	*to_hopid = FIELD(entry, 0, 11);
	*to_adapter = FIELD(entry, 11, 6);
	return entry & PATH_VALID;
}

static void path_written(struct host *host, unsigned int adapter, unsigned int at)
{
	uint32_t entry = host->adapter[adapter].path[at & ~1u];

	say(host, "path: adapter %u HopID %u %s, to adapter %u HopID %u, %u credits", adapter,
	    at / 2, entry & PATH_VALID ? "on" : "off", FIELD(entry, 11, 6), FIELD(entry, 0, 11),
	    FIELD(entry, 17, 7));
}

/* ---- writes to configuration spaces ---- */

/* Operations are done at once: usb4_native_switch_op(). */
static void operate(struct host *host)
{
	uint32_t *word = &host->router[ROUTER_OPERATION];

	*word &= 0xffff;
	if (*word == ROUTER_BUFFER_ALLOC) {	/* one recommendation: usb4_switch_credits_init() */
		host->router[ROUTER_METADATA] = 1;
		host->router[ROUTER_DATA] = PATH_BUFFERS << 16 | BUFFERS_FOR_HOSTS;
	} else {
		*word |= ROUTER_UNSUPPORTED;
	}
}

static void write_router(struct host *host, unsigned int at, uint32_t value)
{
	uint32_t *word = &host->router[at];

	switch (at) {
	case 0:
	case 1:
	case 6:
	case 7:
	case 8:
		return;		/* identity, state, unique identifier */
	case 4:
		*word = (*word & 0xff000000u) | (value & 0xffffffu);
		return;
	case 5:
		*word = value;	/* ready to sleep at once */
		host->router[6] = (host->router[6] & ~ROUTER_SLEEP) | (value & ROUTER_SLEEP);
		return;
	case ROUTER_AT_TMU:
		*word = (value & ~0xffffu) | (*word & 0xffffu);
		return;
	}
	*word = value;
	if (at == ROUTER_OPERATION && (value & ROUTER_START))
		operate(host);
}

static void write_lane(struct host *host, unsigned int adapter, unsigned int at, uint32_t value)
{
	uint32_t *word = &host->adapter[adapter].config[at];

	switch (at) {
	case LANE_AT_PHY:
	case LANE_AT_USB4:
	case PORT_AT_STATUS:
		return;
	case LANE_AT_PHY + 1:
		*word = (*word & 0xffff0000u) | (value & 0xffffu);
		break;
	case PORT_AT_RETIMERS:	/* none ever answers: usb4_port_sb_op() */
		*word = value & PORT_PENDING ? (value & ~PORT_PENDING) | PORT_NO_RETIMER : value;
		return;
	case PORT_AT_CONTROL:
		*word = value;
		break;
	default:
		*word = value;
		return;
	}
	port_changed(router_port(host, adapter));
}

static void write_adapter(struct host *host, unsigned int adapter, unsigned int at, uint32_t value)
{
	uint32_t *word = &host->adapter[adapter].config[at];

	switch (at) {
	case 0:
	case 1:
	case 2:
	case 3:
	case 6:
	case 7:
		return;
	case 4:
		*word = (*word & ADAPTER_BUFFERS) | (value & ~ADAPTER_BUFFERS);
		return;
	case 5:
		*word = (*word & ADAPTER_HOPIDS) | (value & ~ADAPTER_HOPIDS);
		return;
	}
	if (is_lane(adapter))
		write_lane(host, adapter, at, value);
	else
		*word = value;
}

/* ---- accesses ---- */

/* Return where these words of a space are, NULL if it has them not. */
static uint32_t *find(struct host *host, unsigned int space, unsigned int adapter,
		      unsigned int at, unsigned int len)
{
	struct adapter *one = &host->adapter[adapter < ADAPTERS ? adapter : 0];
	bool exists = adapter && adapter < ADAPTERS;

	if (space == SPACE_ROUTER && at + len <= ROUTER_WORDS)
		return host->router + at;
	if (space == SPACE_ADAPTER && exists && at + len <= ADAPTER_WORDS)
		return one->config + at;
	if (space == SPACE_PATHS && exists && at + len <= 2 * PATH_HOPIDS)
		return one->path + at;
	return NULL;
}

bool router_access(struct host *host, bool write, uint32_t address, uint32_t *data)
{
	unsigned int at = FIELD(address, 0, 13), len = FIELD(address, 13, 6);
	unsigned int adapter = FIELD(address, 19, 6), space = FIELD(address, 25, 2);
	uint32_t *word = find(host, space, adapter, at, len);

	if (!word)
		return false;
	if (!write)
		memcpy(data, word, len * sizeof(*data));
	for (unsigned int i = 0; write && i < len; i++) {
		if (space == SPACE_ROUTER)
			write_router(host, at + i, data[i]);
		else if (space == SPACE_ADAPTER)
			write_adapter(host, adapter, at + i, data[i]);
		else
			word[i] = data[i];
	}
	if (write && space == SPACE_PATHS && len)
		path_written(host, adapter, at);
	return true;
}

/* ---- reset ---- */

static void reset_lane(struct adapter *one)
{
	uint32_t *config = one->config;

	config[LANE_AT_PHY] = LANE_AT_TMU | 1u << 8 | SPEEDS << 16 | 1u << 20;
	config[LANE_AT_PHY + 1] = SPEEDS | 1u << 4;
	config[LANE_AT_TMU] = LANE_AT_USB4 | 3u << 8;
	config[LANE_AT_USB4] = 6u << 8;
	one->path[0] = 2u << 17 | PATH_VALID;	/* the control channel's */
}

static void reset_adapter(struct host *host, unsigned int number)
{
	struct adapter *one = &host->adapter[number];
	bool lane = is_lane(number), of_host = number == HOST_ADAPTER;
	uint32_t hopids = of_host ? NHI_RINGS - 1 : LANE_HOPIDS;

	memset(one, 0, sizeof(*one));
	one->config[0] = host->router[0];
	one->config[3] = number << 20;
	if (!lane && !of_host)
		return;		/* of type 0: inactive */
	one->config[1] = lane ? LANE_AT_PHY : HOST_AT_CAP;
	one->config[2] = (lane ? ADAPTER_LANE : ADAPTER_HOST) | USB4_VERSION_1 << 24;
	one->config[4] = (lane ? LANE_BUFFERS : HOST_BUFFERS) << 20;
	one->config[5] = hopids | hopids << 11 | ADAPTER_NO_EVENTS;
	if (lane)
		reset_lane(one);
	else
		one->config[HOST_AT_CAP] = 4u << 8;
}

void router_identify(struct host *host)
{
	unsigned int number = host - world.host;

	host->router[7] = 0x11223344u + number;
	host->router[8] = 0x00cafe00u + number + (world.uuid_per_boot ? host->boots << 24 : 0);
}

void router_reset(struct host *host)
{
	memset(host->router, 0, sizeof(host->router));
	host->router[0] = host->dev.id->vendor | (uint32_t)host->dev.id->device << 16;
	host->router[1] = ROUTER_AT_TMU | HOST_ADAPTER << 8 | HOST_ADAPTER << 14;
	host->router[4] = USB4_VERSION_1 << 24;
	router_identify(host);
	host->router[ROUTER_AT_TMU] = 3u << 8;
	for (unsigned int n = 1; n < ADAPTERS; n++)
		reset_adapter(host, n);
	for (unsigned int n = 0; n < PORTS; n++) {
		host->port[n].told = false;
		router_show_lane(&host->port[n]);
	}
}
