/* SPDX-License-Identifier: GPL-2.0 */
/* host.h - hosts (a host interface and a router each), the cables between them, and all objects */
#ifndef USB4SIM_HOST_H
#define USB4SIM_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device.h"
#include "regs.h"
#include "simulator.h"

/*
 * A router has two USB4 ports of two lane adapters each, and the adapter of the host interface:
 * adapters 1 and 2 are port 0, 3 and 4 port 1. Adapter 0 is the router itself. Cables have one
 * lane, so adapters 2 and 4 are inactive: the driver takes two lanes that are neighbours for one
 * port.
 */
#define HOSTS		4
#define PORTS		2
#define LANES		2
#define HOST_ADAPTER	(PORTS * LANES + 1)
#define ADAPTERS	(HOST_ADAPTER + 1)
#define CABLES		(HOSTS * PORTS / 2)
/* Control packets that wait for descriptors */
#define WAITING_PACKETS	64

struct host;
struct cable;

/* A frame between the rings of two hosts */
struct frame {
	uint32_t len;
	uint32_t pdfs;		/* start and end, as in a descriptor's word */
	bool damaged;
	uint8_t data[FRAME_BYTES];
};

struct ring {
	uint64_t base;
	uint32_t size;
	uint32_t driver, own;	/* index of the driver, and of the host interface */
	uint32_t flags;
	uint32_t pdf_masks;	/* start << 16 | end */
};

struct adapter {
	uint32_t config[ADAPTER_WORDS];
	uint32_t path[2 * PATH_HOPIDS];
};

struct packet {
	uint32_t len, type;
	uint8_t data[PACKET_BYTES];
};

struct port {
	struct host *host;
	unsigned int adapter;	/* of lane 0 */
	struct cable *cable;	/* NULL: none */
	unsigned int end;	/* which one of the cable's */
	bool told;		/* the state of the cable that the driver has acknowledged */
	uint64_t tell_at;
};

struct host {
	struct device dev;	/* first */
	bool attached;		/* a machine has the device */
	unsigned int boots;	/* machines that it has had */

	/* the host interface */
	struct ring tx[NHI_RINGS], rx[NHI_RINGS];
	uint32_t status[2];	/* bits: transmit, receive, overflow */
	uint32_t enabled;
	uint32_t vector_of[4];
	uint32_t throttle[NHI_VECTORS];
	uint64_t quiet_until[NHI_VECTORS];
	uint32_t owed;		/* vectors whose interrupt is put off */
	uint32_t other[NHI_BAR0_SIZE / 4];	/* registers without a meaning here */

	/* the router */
	uint32_t router[ROUTER_WORDS];
	struct adapter adapter[ADAPTERS];
	struct port port[PORTS];

	/* the control channel: packets for the driver */
	struct packet waiting[WAITING_PACKETS];
	unsigned int packets_in, packets_out;
};

enum { LOSE, DAMAGE, FAULTS };

/* One direction of a cable: what an end sends */
struct way {
	unsigned int ppm[FAULTS];	/* each fault befalls so many frames of a million */
	bool stalled;
};

struct cable {
	struct port *end[2];
	struct way way[2];
	bool pulled;
	bool up;
	unsigned int life;	/* times that it came up */
	uint64_t up_at;		/* TIME_NEVER: not in training */
	unsigned int unplug_at;	/* pull it behind that XDomain packet; 0: no */
};

struct world {
	/* Protects all of it, and is the lock of all devices. */
	pthread_rwlock_t lock;
	struct host host[HOSTS];
	struct cable cable[CABLES];
	unsigned int hosts, cables;
	bool uuid_per_boot;	/* each machine that a host gets sees another identifier */
	uint64_t seed, random;
};
extern struct world world;

/* All that follows: under the lock, for writing. */

/* rings.c: registers and rings of the host interface */
void host_prepare(struct host *host);
/* It then has a socket @dir/nhi.@letter. 0 or a negative errno. */
int host_init(struct host *host, char letter, const char *dir);
/* Put bytes into the next descriptor of a receiving ring. False: there is none. */
bool ring_put(struct host *host, unsigned int number, const void *data, size_t len, uint32_t word);
/* What rings waited for may have changed: send what can be sent now, to any host. */
void rings_go_on(void);
/* Interrupts that are due. Return when there are more. */
uint64_t rings_tick(uint64_t now);

/* router.c: configuration spaces */
void router_reset(struct host *host);
/* Set the unique identifier, from which the driver makes a UUID. */
void router_identify(struct host *host);
struct port *router_port(struct host *host, unsigned int adapter);
/* Return where that path leads at the same router: true if it is valid. */
bool router_path(const struct host *host, unsigned int adapter, unsigned int hopid,
		 unsigned int *to_adapter, unsigned int *to_hopid);
/* Does the driver let the lane of the port train? */
bool router_allows(const struct port *port);
void router_show_lane(struct port *port);
/* Read or write words of a space, as a control packet says. False: there is no such place. */
bool router_access(struct host *host, bool write, uint32_t address, uint32_t *data);

/* channel.c: the control channel, ring 0 */
void channel_packet(struct host *host, const uint8_t *data, uint32_t len, uint32_t type);
/* There may be new descriptors for packets that wait. */
void channel_go_on(struct host *host);
/* Tell drivers of cables that came or went. Return when to do so again. */
uint64_t channel_tick(uint64_t now);

/* cable.c */
void cable_join(struct cable *cable, struct port *a, struct port *b);
struct port *cable_peer(const struct port *port);	/* NULL: the cable is not up */
/* A condition of the cable has changed. */
void cable_update(struct cable *cable);
/* A host was reset: its cables train again. */
void cables_retrain(struct host *host);
uint64_t cables_tick(uint64_t now);
/* The lane of a port has been told something. */
void port_changed(struct port *port);

/* faults.c: faults, commands and statistics */
bool fault_strikes(unsigned int ppm);
extern const struct command usb4_commands[];
bool usb4_take(struct call *call, char letter, const char *word);
void usb4_stats(void *world, cJSON *to);

/* A line of the log, of what happens once in a while */
void say(const struct host *host, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
