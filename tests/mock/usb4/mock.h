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
 *                     interrupts, cables, paths in use, faults, counters. Held while a frame is
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

/* Counters of a host, named in control.c. They only increase. */
enum tm_count {
	TM_FRAMES_SENT,		/* frames taken from rings of this host */
	TM_BYTES_SENT,
	TM_FRAMES_RECEIVED,	/* frames put into rings of this host */
	TM_BYTES_RECEIVED,
	TM_WAITS,		/* times that the next frame of a ring could not go */
	TM_FRAMES_LOST,		/* frames for this host that were lost by command, */
	TM_FRAMES_DAMAGED,	/* damaged by command, */
	TM_FRAMES_CUT,		/* lost, because their cable, path or ring went meanwhile, */
	TM_FRAMES_REFUSED,	/* dropped, because the ring does not take their start or end, */
	TM_OVERFLOWS,		/* dropped, because no descriptor was posted */
	TM_DMA_ERRORS,		/* frames in no memory */
	TM_CONTROL_SENT,	/* packets of the control channel sent by this host */
	TM_CONTROL_CUT,		/* ... that went nowhere, */
	TM_CONTROL_ERRORS,	/* ... for which an error came back by command */
	TM_CONTROL_RECEIVED,	/* ... received by this host */
	TM_CONTROL_LOST,	/* ... for this host that were lost by command */
	TM_INTERRUPTS,
	TM_INTERRUPTS_LOST,	/* by command */
	TM_INTERRUPTS_LATE,	/* by throttling */
	TM_PATHS,		/* times that paths were enabled, */
	TM_PATHS_LATE,		/* disabled with a ring stopped already, */
	TM_PATHS_LEFT,		/* enabled still when the cable was pulled */
	TM_COUNTS
};

/* What befalls the next so many, one of so many, or so many of a million */
struct tm_fault {
	u32	next, every, passed, ppm;
};

/* Faults of one direction of a cable: of frames, and of packets of the control channel */
enum tm_kind {
	TM_LOSE, TM_DAMAGE, TM_OVERRUN, TM_LOSE_CONTROL, TM_LOSE_REQUESTS, TM_LOSE_RESPONSES,
	TM_ERROR, TM_KINDS
};

struct tm_host;
struct tm_cable;

/* One end of a cable */
struct tm_port {
	struct tm_host		*host;
	struct tm_cable		*cable;
	u64			route;		/* how this host reaches the other one */

	/* the direction of what this host sends; under tm_lock */
	struct tm_fault		fault[TM_KINDS];
	u32			delay_us;
	u32			stalled;

	/* on tb.wq: the cable was plugged or pulled; so many ms after it was */
	struct delayed_work	hotplug;
	u32			event_ms;	/* READ_ONCE */
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
	/* it is pulled behind the n-th packet of the control channel; 0: not */
	u32			unplug_at;
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
	ktime_t			quiet_until;	/* throttling */
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
	struct iommu_domain	*iommu;		/* IOMMU domain of that device, or NULL */
	unsigned long		vectors;	/* in use, under nhi.lock */
	u32			called;		/* length of its name, 0 as 1; READ_ONCE */
	struct list_head	tunnels;	/* tm_tunnel; under tb.lock and tm_lock */

	/* the following under tm_lock */
	struct tm_ring		*tx[TM_HOPS], *rx[TM_HOPS];		/* that were started */
	bool			waiting;	/* a frame could not go */
	bool			asleep;		/* sends and receives nothing */
	/* the host interface at work, in hard interrupt context */
	struct hrtimer		timer;
	ktime_t			armed;		/* when @timer expires; KTIME_MAX: never */
	u64			count[TM_COUNTS];

	/* by command: the next so many interrupts get lost, rings can't be allocated, ... */
	u32			lose_interrupts, fail_rings, fail_paths;
	u32			slow_paths_ms, slow_free_ms;	/* READ_ONCE */
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
extern unsigned int tm_cables, tm_discover_ms;
extern bool tm_old_core, tm_inline, tm_interfaces;
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

static inline void tm_count(struct tm_host *host, enum tm_count what)
{
	lockdep_assert_held(&tm_lock);
	host->count[what]++;
}

/* host.c: the domain, its host interface and its control channel */
int tm_host_add(struct tm_host *host);
void tm_host_remove(struct tm_host *host);	/* no cable is plugged */
/* the host interface vanishes: rings are started and stopped no more */
void tm_host_set_gone(struct tm_host *host, bool gone);
/* the driver of host interfaces, which /sys/bus/platform binds and unbinds */
int tm_driver_init(void);
void tm_driver_exit(void);

/* bus.c */
int tm_bus_init(void);
void tm_bus_exit(void);
/* call the drivers that are bound at this host; a first error ends it */
int tm_drivers_suspend(struct tm_host *host);
int tm_drivers_resume(struct tm_host *host);
void tm_drivers_shutdown(struct tm_host *host);

/* property.c */
int tm_properties_init(void);
void tm_properties_exit(void);
/* what a host reads of the other one, to be freed by tb_property_free_dir(), or NULL */
struct tb_property_dir *tm_properties_read(u32 *generation);
void tm_properties_changed(void);

/* xdomain.c */
void tm_port_init(struct tm_port *port);
void tm_port_exit(struct tm_port *port);	/* may sleep: the xdomain is removed */
/* the host is suspended or resumed: no cable is discovered meanwhile */
void tm_xdomains_stop(struct tm_host *host);
void tm_xdomains_start(struct tm_host *host);
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
/*
 * the driver has posted descriptors up to @index. @here: tm_engine_here() follows when the caller
 * has released its locks
 */
void tm_engine_post(struct tm_ring *r, u32 index, bool here);
void tm_engine_here(void);			/* without; interrupts are on */
bool tm_engine_enable(struct tm_ring *r, bool on);	/* its interrupt; return: as it was */
void tm_engine_go_on(void);			/* something has changed that frames may wait for */
void tm_engine_wake(struct tm_host *host);	/* it was asleep */

/* cable.c: under tm_lock, any context */
void tm_cable_plug(struct tm_cable *cable, bool plugged);
bool tm_fault_strikes(struct tm_fault *fault);
void tm_fault_seed(void);

/* ring.c: in hard interrupt context, under nhi.lock */
void tm_ring_interrupt(struct tb_ring *ring);
bool tm_rings_left(struct tm_host *host);	/* drivers have rings; any context */

/* control.c: the files in debugfs */
void tm_control_init(void);
void tm_control_exit(void);			/* no command runs afterwards */

#endif
