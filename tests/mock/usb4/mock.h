/* SPDX-License-Identifier: GPL-2.0 */
/*
 * mock.h - a simulated core of USB4: two hosts in one kernel, and cables between them
 *
 * A host has what drivers/thunderbolt has of a computer: a domain (struct tb), a host interface
 * (struct tb_nhi) with rings, and an xdomain for each cable that is plugged. A cable has two ports,
 * one at each host. The module exports the functions of <linux/thunderbolt.h>, so a service driver
 * that is loaded is bound at both hosts.
 *
 * The driver's half of a ring (ring.c) and the host interface's half (engine.c) share descriptors
 * in memory, as hardware and driver do. engine.c is the only code that reads or writes the frames.
 *
 * Locks, outermost first:
 *
 *   tb.lock           mutex of a host: its paths, and adding and removing its xdomains
 *   tm_share_lock     mutex: directories of properties and protocol handlers, which all hosts share
 *   tb_xdomain.lock   mutex: properties of an xdomain, and whether it is being removed
 *   tb_ctl.lock       mutex of a host: requests that wait for their answers
 *   tb_nhi.lock       spinlock, interrupts off: which rings exist; held while interrupts are
 *                     delivered
 *   tb_ring.lock      spinlock, interrupts off: the driver's half of a ring
 *   tm_lock           spinlock, interrupts off: the hardware: the other half of all rings,
 *                     interrupts, cables, paths in use, faults. Held while a frame is
 *                     copied, so after a ring was stopped nothing lands in its buffers
 *
 * Service drivers are called with the locks that the kernel's core holds, and never with tm_lock.
 */
#ifndef KFI_USB4_MOCK_H
#define KFI_USB4_MOCK_H

#include <linux/bitfield.h>
#include <linux/bits.h>
#include <linux/hrtimer.h>
#include <linux/platform_device.h>
#include <linux/spinlock.h>
#include <linux/thunderbolt.h>
#include <linux/workqueue.h>

#define TM_HOSTS	2
#define TM_CABLES	3
#define TM_HOPS		12		/* rings of each direction; ring 0 is the control channel */
#define TM_VECTORS	16		/* interrupts; ring 0 takes two */
#define TM_MIN_HOPID	8		/* of paths over a cable; lower ones are reserved */
#define TM_MAX_HOPID	15

/* What the host interface and the driver exchange. The word is written last. */
struct ring_desc {
	__le64	phys;
	__le32	word;
	__le32	time;
};

#define TM_DESC_LENGTH	GENMASK(11, 0)		/* 0 is 4096 */
#define TM_DESC_EOF	GENMASK(15, 12)
#define TM_DESC_SOF	GENMASK(19, 16)
#define TM_DESC_FLAGS	GENMASK(31, 20)
#define TM_DESC_PDFS	(TM_DESC_EOF | TM_DESC_SOF)
#define TM_DESC_DONE	FIELD_PREP_CONST(TM_DESC_FLAGS, RING_DESC_COMPLETED)

struct tm_host;
struct tm_cable;

/* One end of a cable */
struct tm_port {
	struct tm_host		*host;
	struct tm_cable		*cable;
	u64			route;		/* how this host reaches the other one */

	/* the direction of what this host sends; under tm_lock */
	u32			lose_ppm, damage_ppm;	/* frames of a million */
	u32			delay_us;
	u32			stalled;

	struct delayed_work	hotplug;	/* on tb.wq: the cable was plugged or pulled */
	u32			life;		/* of the cable when @xd was added */
	/* NULL: none; it changes under tb.lock and tm_lock, on tb.wq */
	struct tb_xdomain	*xd;
};

/* Under tm_lock */
struct tm_cable {
	int			index;
	struct tm_port		port[TM_HOSTS];
	bool			plugged;
	u32			life;		/* how often it was pulled */
};

/* A pair of paths of one tb_xdomain_enable_paths(). Changes under tb.lock and tm_lock. */
struct tm_tunnel {
	struct list_head	entry;
	struct tm_port		*port;
	/* a ring of -1: there is no such path */
	int			tx_ring, tx_hopid, rx_hopid, rx_ring;
};

/* A frame on its way to a ring */
struct tm_frame {
	struct list_head	entry;
	ktime_t			due;
	struct tm_port		*port;		/* where it comes in */
	u32			life;		/* of the cable */
	int			hopid;
	u32			len, word;
	void			*data;
};

struct tm_ring {
	struct tb_ring		ring;
	/* the host interface's half, under tm_lock */
	bool			enabled;	/* its interrupt is not masked */
	bool			status;		/* something was completed since it was cleared */
	bool			due;		/* an interrupt is on its way */
	u32			next;		/* descriptor that is completed next */
	u32			posted;		/* descriptor that the driver will post next */
	struct list_head	coming;		/* tm_frame, in order */
	u32			comings;
};

struct tm_host {
	int			index;
	char			name;		/* 'a' or 'b' */
	uuid_t			uuid;		/* see tm_uuid_of() */
	struct tb		*tb;
	struct tb_nhi		nhi;
	struct tb_ring		*tx_rings[TM_HOPS], *rx_rings[TM_HOPS];	/* those of nhi */
	struct platform_device	*function;	/* does the DMA */
	unsigned long		vectors;	/* in use, under nhi.lock */
	u32			called;		/* length of its name, 0 as 1; READ_ONCE */
	struct list_head	tunnels;	/* tm_tunnel; under tb.lock and tm_lock */

	/* the following under tm_lock */
	struct tm_ring		*tx[TM_HOPS], *rx[TM_HOPS];		/* that were started */
	bool			waiting;	/* a frame could not go */
	/* the host interface at work, in hard interrupt context */
	struct hrtimer		timer;
	ktime_t			armed;		/* when @timer expires; KTIME_MAX: never */

	/* by command */
	u32			slow_free_ms;	/* tb_ring_free() takes so much more; READ_ONCE */
	u32			boots;		/* changes its UUIDs; READ_ONCE */
	bool			silent;		/* no service is announced; READ_ONCE */

	bool			unbound;	/* has no driver; tb.lock, and READ_ONCE */
};

struct tm_xdomain {
	struct tb_xdomain	xd;
	struct tm_port		*port;
};

extern struct tm_host tm_host[TM_HOSTS];
extern struct tm_cable tm_cable[TM_CABLES];
extern unsigned int tm_cables;
extern bool tm_old_core, tm_interfaces;
extern spinlock_t tm_lock;
extern struct mutex tm_share_lock;

static inline struct tm_ring *to_tm_ring(struct tb_ring *ring)
{
	return container_of(ring, struct tm_ring, ring);
}

static inline struct tm_port *tm_port_of(struct tb_xdomain *xd)
{
	return container_of(xd, struct tm_xdomain, xd)->port;
}

static inline struct tm_port *tm_peer(struct tm_port *port)
{
	return &port->cable->port[!port->host->index];
}

static inline struct tm_host *tm_host_of(struct tb_nhi *nhi)
{
	return container_of(nhi, struct tm_host, nhi);
}

/* host.c: the domain, its host interface and its control channel */
int tm_host_add(struct tm_host *host);
void tm_host_remove(struct tm_host *host);	/* no cable is plugged */
/* the driver of host interfaces, which /sys/bus/platform binds and unbinds */
int tm_driver_init(void);
void tm_driver_exit(void);

/* bus.c */
int tm_bus_init(void);
void tm_bus_exit(void);

/* property.c */
int tm_properties_init(void);
void tm_properties_exit(void);
/* what a host reads of the other one, to be freed by tb_property_free_dir(), or NULL */
struct tb_property_dir *tm_properties_read(u32 *generation);
void tm_properties_changed(void);

/* xdomain.c */
void tm_port_init(struct tm_port *port);
void tm_port_exit(struct tm_port *port);	/* may sleep: the xdomain is removed */
/* the host interface has lost its driver, or has one again; may sleep */
int tm_xdomains_rename(struct tm_host *host);	/* others read its name */
void tm_xdomains_gone(struct tm_host *host);
void tm_xdomains_back(struct tm_host *host);
void tm_properties_notify(struct tb_xdomain *xd);	/* the other host reads them again, soon */

/* channel.c: packets that services exchange */
int tm_channel_start(struct tm_host *host);
void tm_channel_stop(struct tm_host *host);

/* path.c; may sleep */
void tm_paths_drop(struct tm_port *port);

/* engine.c: the host interface; under tm_lock, if not said otherwise */
void tm_engine_init(struct tm_host *host);
void tm_engine_exit(struct tm_host *host);	/* without: may sleep */
void tm_engine_start(struct tm_ring *r);
void tm_engine_stop(struct tm_ring *r);
/* the driver has posted descriptors up to @index */
void tm_engine_post(struct tm_ring *r, u32 index);
bool tm_engine_enable(struct tm_ring *r, bool on);	/* its interrupt; return: as it was */
void tm_engine_go_on(void);			/* something has changed that frames may wait for */

/* cable.c: under tm_lock, any context */
void tm_cable_plug(struct tm_cable *cable, bool plugged);
bool tm_fault_strikes(u32 ppm);
void tm_fault_seed(void);

/* ring.c: in hard interrupt context, under nhi.lock */
void tm_ring_interrupt(struct tb_ring *ring);
bool tm_rings_left(struct tm_host *host);	/* drivers have rings; any context */

/* control.c: the file in debugfs */
void tm_control_init(void);
void tm_control_exit(void);			/* no command runs afterwards */

#endif
