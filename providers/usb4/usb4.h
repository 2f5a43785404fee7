/* SPDX-License-Identifier: GPL-2.0 */
/*
 * usb4.h - objects of kfi_usb4. docs/wire-usb4.md describes what goes over a cable.
 *
 * A *way* (struct u4_way) is one of the ways to another host, as consumers see it: it has the name
 * of the domain and the connections, and stays when the cable is pulled, for as long as somebody
 * uses it. A *cable* (struct u4_cable) exists from the plug to the pull. It belongs to a way, and
 * has one pair of rings. Each *life* of the way begins with a login over the cable, and ends with
 * the peer, a fault, or some time after the cable was pulled:
 *
 *	u4_probe()	u4_cable_work()		u4_cable_work()		u4_remove()
 *	   |		   |			   |			   |
 *	U4_LOGIN ---> U4_TRYING ------------> U4_UP			(rings stop, and are freed)
 *	   ^	      rings, path,	      kfi_mux_up()		u4_cable_work() leaves the
 *	   |	      STATE frames	      RECORDS frames		life, and drops the cable
 *	   +-------------+----------------------+
 *		u4_life_end(), u4_life_lost()
 *
 * A life whose cable is of no use is *held* by its way: the cable stays as the *holder*, with the
 * frames that were not acknowledged and the records that wait, also when it was pulled and has no
 * rings. The next login, over this or another cable, resumes the life; or it ends with its time
 * (hold.c).
 *
 * Contexts and locks, outermost first:
 *
 *   u4_cable.work (a work item)  the state of the cable, login, begin and end of lives. It waits
 *				  for the core, which holds tb->lock for long. u4_remove() may be
 *				  called under tb->lock, so it does not wait for the work item. The
 *				  exit of the module and u4_host_notify() do
 *   u4_cable.ask_lock (mutex)	  see there; a reply needs none of the other locks
 *   u4_ways_lock (mutex)	  the list of ways, what is known of their hosts, and which cable
 *				  has which way
 *   u4_way.life_lock (mutex)	  the life that is held; it may be held while that ends
 *   u4_cable.login_lock (mutex)  what both sides have said in their logins
 *   u4_cable.lock (mutex)	  the rings exist and run; held to start, stop and free them, never
 *				  around a function of the core that takes tb->lock
 *   kfi_mux_stream.lock	  of the multiplexer, outside of:
 *   u4_tx.lock (spin, bh)	  the sending side. Two of them are held when a life moves, first
 *				  that of the holder
 *   u4_cables_lock (spin)	  the list of cables
 *   tb_ring.lock (spin, irq)	  of the core; see u4_ring_stop()
 *
 * Received frames are handled by u4_cable.poll alone, in softirq. So the receiving side has no
 * lock.
 */
#ifndef _KFI_USB4_USB4_H
#define _KFI_USB4_USB4_H

#include <linux/interrupt.h>
#include <linux/kref.h>
#include <linux/thunderbolt.h>
#include <linux/timer.h>
#include <linux/workqueue.h>
#include <kfi_mux.h>
#include "same.h"
#include "wire.h"

#define U4_FRAMES	256	/* frames of a direction, a power of two */
#define U4_STATES	8	/* STATE frames that may wait for the ring */
#define U4_BUDGET	64	/* frames that one run of u4_poll() handles */
#define U4_NAME		48	/* bytes of the name of a way */
#define U4_LONE		BIT(31)	/* in &u4_cable.number */
#define U4_PORTS	256	/* bytes of the names of ports */

/**
 * struct u4_slot - a frame and its memory
 * @frame: the frame, as the core knows it
 * @mem: U4W_FRAME bytes
 * @mapped: @mem is mapped for the host interface
 * @len: sending side: bytes of records
 * @in_ring: sending side: the frame was given to the ring, and was not seen to have been sent
 */
struct u4_slot {
	struct ring_frame	frame;
	void			*mem;
	bool			mapped;
	u32			len;
	bool			in_ring;
};

/**
 * struct u4_ring - a ring of the host interface
 * @ring: the ring. While it runs, tb_ring_poll() takes the frames that are complete
 * @hop: &tb_ring.hop
 * @masked: the core has masked the interrupt of the ring, see u4_ring_unmask()
 * @irqs: interrupts so far
 */
struct u4_ring {
	struct tb_ring	*ring;
	int		hop;
	bool		masked;
	unsigned int	irqs;
};

/**
 * struct u4_tx - the sending side; all members are protected by @lock
 * @lock: taken with bottom halves off
 * @ring: its interrupt stays masked: frames that were sent are found when acknowledgements come
 * @slot: frames with records; number n is in slot n mod U4_FRAMES. Their memory stays until the
 *	cable is freed
 * @state: STATE frames
 * @open: the life is up: records are accepted
 * @runs: with @open: records are copied to frames, and these are sent. Otherwise the life is held:
 *	records that are posted wait, and the other members do not change
 * @window: frames that may be unacknowledged
 * @life: incarnation of the peer
 * @una: number of the oldest frame that was not acknowledged
 * @sent: number of the frame that is given to the ring next; goes back to @una if frames got lost
 * @high: one more than the highest number that was given to the ring
 * @next: number of the frame that is being filled
 * @fill: bytes of records in that frame; 0: it was not begun
 * @posted: records that wait for room, struct u4_ctl
 * @done: records that are in frames, and whose &kfi_mux_ctl.sent has to be called
 * @wanted: kfi_mux_room() has to be called when there is room
 * @acked: &u4w_head.ack that was sent last
 * @progress: time (jiffies) at which @una changed, or the first frame behind it was sent, or at
 *	which the life went on
 * @ask_at: time at which the peer is asked for an acknowledgement
 * @ask_delay: time until it is asked again
 * @ticks: the timer runs
 * @idle: it runs at its slow pace
 */
struct u4_tx {
	spinlock_t		lock;
	struct u4_ring		ring;
	struct u4_slot		slot[U4_FRAMES];
	struct u4_slot		state[U4_STATES];
	bool			open;
	bool			runs;
	u32			window;
	u32			life;
	u32			una, sent, high, next;
	u32			fill;
	struct list_head	posted, done;
	bool			wanted;
	u32			acked;
	unsigned long		progress, ask_at, ask_delay;
	bool			ticks, idle;
};

/**
 * struct u4_rx - the receiving side; used by u4_poll(), unless said otherwise
 * @ring: its interrupt is masked while u4_poll() is due
 * @slot: frames that the ring fills
 * @window: frames that the peer may have unacknowledged
 * @next: number of the next frame. Read elsewhere, too
 * @open: frames with records are handled. Set by u4_cable_work() after kfi_mux_up()
 * @heard: a frame of this life has arrived. Read elsewhere, too
 * @heard_at: time at which the last one came. Read by the timer
 * @proved: the peer has heard us. Read elsewhere, too
 * @gap: frames from @next on got lost, and the peer has to be told
 * @gap_told: it was told so
 * @missed: frames with records came before @open
 * @asked: the peer wants a STATE frame
 * @unannounced: frames that came without an interrupt; the timer resets it
 */
struct u4_rx {
	struct u4_ring	ring;
	struct u4_slot	slot[U4_FRAMES];
	u32		window;
	u32		next;
	bool		open;
	bool		heard;
	unsigned long	heard_at;
	bool		proved;
	bool		gap, gap_told;
	bool		missed;
	bool		asked;
	unsigned int	unannounced;
};

/**
 * struct u4_watch - what the timer remembers, to notice lost interrupts
 * @irqs: &u4_ring.irqs of the receiving ring when it looked last
 * @strikes: times in a row that frames had come without an interrupt
 */
struct u4_watch {
	unsigned int	irqs;
	unsigned int	strikes;
};

/* Counters of a cable */
struct u4_stats {
	u64	sent, repeated;		/* frames with records, under u4_tx.lock */
	u64	received;		/* the same, by u4_poll() as the next ones */
	u64	lost;			/* gaps in the numbers */
	u64	damaged;		/* frames with a wrong checksum */
	u64	strange;		/* frames of another life */
	u64	restarts;		/* of the receiving ring, by u4_cable_work() */
};

enum u4_state {
	U4_LOGIN,
	U4_TRYING,
	U4_UP,
};

/**
 * struct u4_cable - a cable that is plugged
 * @ref: references: of the service until u4_cable_work() has seen that it is gone; of users of
 *	u4_cable_find(); of &u4_way.holder and @resumes
 * @entry: entry in the list of cables, as long as u4_cable_work() may run
 * @xd: the other host, referenced
 * @dma: the device that reads and writes the frames, until the rings are freed
 * @way: its way; NULL until both hosts have logged in. Changed by @work under u4_ways_lock, so
 *	@work may read it without
 * @lone: entry in the list of cables without a way, under u4_ways_lock
 * @number: of such a cable, for `kfi show devices`
 * @where: its port of this machine; constant
 * @here: the same as a hash, see &u4_said.place
 * @host: the host interface, referenced; it may have been removed
 * @patience: time (jiffies) until which an earlier cable may leave its way
 *
 * @work: see above
 * @state: &enum u4_state; used by @work
 * @removed: u4_remove() was called, and has queued @work for the last time; under u4_cables_lock
 * @wait: wakes u4_suspend() when the cable rests
 * @rests: the cable sleeps, and its life has ended
 * @fault: NULL, or why the life has to end
 * @lost: NULL, or why it can't go on over this cable as it is
 * @over: the peer knows that the life has ended, or can't go on
 * @deadline: time at which U4_TRYING ends
 * @paths: the path was configured; used by @work
 * @late: that was when the cable had been pulled, see u4_path_off_late(); used by @work
 * @tries: logins that were not answered in a row; used by @work
 * @said: why there was no connection, as the log says; used by @work
 * @up_at: time at which the life was up; used by @work
 * @lives: lives in a row that were short, or did not begin; used by @work
 * @not_before: time of the next login; used by @work
 * @born_own: our incarnation in the login with which the life began; used by @work, and constant
 *	while it is held
 * @born_peer: that of the peer; the same
 * @machine: &u4_said.machine of the peer; the same
 * @resumes: the holder of the life that U4_TRYING resumes, referenced, perhaps this cable; or NULL.
 *	Used by @work
 * @resume_una: with @resumes: number of the first frame that the peer does not have
 *
 * @ask_lock: held while a message waits for its reply; u4_remove() waits for that
 *
 * @login_lock: protects the next members
 * @incarnation: ours, of the next life or this one. Changed by @work between lives
 * @out_hop: HopID on which we send
 * @in_hop: HopID on which the peer sends; -1: not allocated
 * @theirs: incarnation of the peer's LOGIN; 0: none has come
 * @their_window: its window
 * @replied: incarnation of the peer's reply to our LOGIN; 0: none has come
 * @begun: a life with @theirs has begun
 * @said_by: what the peer has said in its last LOGIN
 * @told: what our LOGINs with @incarnation say, if @telling
 * @telling: see there
 * @sn: number of the next message
 * @foreign: the last login message of the peer had no version of this side; not under a lock
 *
 * @lock: protects the next members
 * @gone: u4_remove() was called, so the rings are gone. Read elsewhere, too
 * @asleep: the machine sleeps. Read elsewhere, too
 * @running: the rings run
 *
 * @restart: the receiving ring has to be restarted
 * @poll: handles frames that have arrived
 * @tick: the timer, see watch.c
 * @tx: the sending side
 * @rx: the receiving side
 * @watch: used by @tick
 * @stats: counters
 */
struct u4_cable {
	struct kref		ref;
	struct list_head	entry;
	struct tb_xdomain	*xd;
	struct device		*dma;
	struct u4_way		*way;
	struct list_head	lone;
	u32			number;
	char			where[48];
	u32			here;
	struct device		*host;
	unsigned long		patience;

	struct delayed_work	work;
	enum u4_state		state;
	bool			removed;
	wait_queue_head_t	wait;
	bool			rests;
	const char		*fault, *lost;
	bool			over;
	unsigned long		deadline;
	bool			paths;
	bool			late;
	unsigned int		tries;
	const char		*said;
	unsigned long		up_at, not_before;
	unsigned int		lives;
	u32			born_own, born_peer;
	u64			machine;
	struct u4_cable		*resumes;
	u32			resume_una;

	struct mutex		ask_lock;
	struct mutex		login_lock;
	u32			incarnation;
	int			out_hop, in_hop;
	u32			theirs, their_window;
	u32			replied;
	bool			begun;
	struct u4_said		said_by, told;
	bool			telling;
	u32			sn;
	bool			foreign;

	struct mutex		lock;
	bool			gone;
	bool			asleep;
	bool			running;

	bool			restart;
	struct bh_work_struct	poll;
	struct timer_list	tick;
	struct u4_tx		tx;
	struct u4_rx		rx;
	struct u4_watch		watch;
	struct u4_stats		stats;
};

/**
 * struct u4_way - a way to another host
 * @mux: common part
 * @entry: entry in the list of ways
 * @plugged: its cable, NULL if that was pulled; under u4_ways_lock
 * @cable: the cable that has the sending side of the life: @plugged, or while it is held @holder;
 *	NULL without a life. Under RCU
 * @seen: the host that its last cable has led to; under u4_ways_lock
 * @wanted: without a cable: the one that logs in for this way; under u4_ways_lock
 * @disputed: the log says that another machine has this name; under u4_ways_lock
 * @name: &kfi_mux.name: name of the host that its first cable has led to, and a number. It stays,
 *	because consumers have it
 * @now: with another name of the host: that, and a number; or empty. Under u4_ways_lock, as the
 *	next ones
 * @host: the host interface that its last cable was plugged into, referenced
 * @route: the port of that
 *
 * @life_lock: protects the next members
 * @holder: the cable with the life that is held, referenced; NULL: none is
 * @held_at: time (jiffies) at which that began
 * @held_until: time at which it ends
 * @expire: ends the life that is held
 *
 * @held_left: jiffies that were left when the life was resumed last; 0: it never was. Used by
 *	u4_cable_work() of @plugged, as the next one
 * @held_una: &u4_tx.una at that time
 */
struct u4_way {
	struct kfi_mux		mux;
	struct list_head	entry;
	struct u4_cable		*plugged;
	struct u4_cable __rcu	*cable;
	struct u4_seen		seen;
	struct u4_cable		*wanted;
	bool			disputed;
	char			name[U4_NAME], now[U4_NAME];
	struct device		*host;
	u64			route;

	struct mutex		life_lock;
	struct u4_cable		*holder;
	unsigned long		held_at, held_until;
	struct delayed_work	expire;

	unsigned long		held_left;
	u32			held_una;
};

/**
 * struct u4_ctl - a record of the multiplexer that may wait for room
 * @ctl: common part
 * @entry: entry in &u4_tx.posted or &u4_tx.done
 */
struct u4_ctl {
	struct kfi_mux_ctl	ctl;
	struct list_head	entry;
};

/**
 * struct u4_stream - a connection
 * @s: common part
 * @ctl: &kfi_mux_stream.ctl
 */
struct u4_stream {
	struct kfi_mux_stream	s;
	struct u4_ctl		ctl;
};

/* The multiplexer frees these by their common parts. */
static_assert(!offsetof(struct u4_stream, s) && !offsetof(struct u4_ctl, ctl));
static_assert(UUID_SIZE == U4W_UUID && UUID_SIZE <= KFI_MUX_SIDE_MAX);
static_assert(U4_HOST + 4 <= U4_NAME);

static inline struct u4_way *to_u4_way(struct kfi_mux *mux)
{
	return container_of(mux, struct u4_way, mux);
}

extern struct kfi_mux_prov u4_prov;	/* main.c, as the next ones */
extern struct kfi_wire u4_wire;
extern struct workqueue_struct *u4_wq;
extern unsigned int u4_timeout_s;
extern unsigned int u4_hold_s;
extern bool u4_e2e;
extern char u4_ports[U4_PORTS];

/* plug.c: the service driver */
int u4_plug_init(void);
void u4_plug_exit(void);
/* Publish our properties again, if the last time was long ago. Process context */
void u4_publish_again(void);
/* The same if this host has another name since then */
void u4_publish_name(void);

/* cable.c: the life of a cable */
struct u4_cable *u4_cable_new(struct tb_service *svc);	/* process context */

/* cables.c: all cables. Any context but hard interrupts, unless something else is said */
void u4_cable_list(struct u4_cable *c);
/* Return the cable on that route from @local to @remote, referenced, or NULL. Process context */
struct u4_cable *u4_cable_find(u64 route, const void *local, const void *remote);
/*
 * Call @fn for each, without a lock; it may sleep. @dma: only cables of this host interface; NULL:
 * all. Process context
 */
void u4_cables_each(void (*fn)(struct u4_cable *c), const struct device *dma);
void u4_cable_put(struct u4_cable *c);		/* process context */
/* Let u4_cable_work() run, unless the cable was removed */
void u4_cable_kick(struct u4_cable *c);
/* Let it run for the last time */
void u4_cable_remove(struct u4_cable *c);
/* Return: true if it was removed, and u4_cable_work() runs for the last time */
bool u4_cable_removed(struct u4_cable *c);
void u4_cable_unlist(struct u4_cable *c);	/* u4_cable_work() has done its last */
/* End this life; nothing if it has ended. @why is a constant */
void u4_cable_fault(struct u4_cable *c, const char *why);
/* The same if the life may be held, and go on later */
void u4_cable_lost(struct u4_cable *c, const char *why);

/* hold.c: lives that are held. Process context */
void u4_hold_init(struct u4_way *way);
void u4_hold_exit(struct u4_way *way);		/* nobody uses the way any more */
/* The next ones are called by u4_cable_work(). Return: jiffies for which the life may be held */
unsigned long u4_hold_time(struct u4_cable *c);
/* Hold the life of the cable, whose rings have been stopped. @time is that of u4_hold_time() */
void u4_hold_begin(struct u4_cable *c, unsigned long time);
/*
 * Both sides have logged in: see whether the life that the way holds goes on over this cable, in
 * &u4_cable.resumes, and end it if not. Return: 0; -ESTALE: @told is not true any more, so log in
 * anew
 */
int u4_hold_agree(struct u4_cable *c, const struct u4_said *told, const struct u4_said *said,
		  u32 window);
/* Let the life go on over this cable. Return: false: it has ended meanwhile */
bool u4_hold_resume(struct u4_cable *c);
void u4_hold_forget(struct u4_cable *c);	/* the cable does not resume the life */
/* The next ones are called by others, too. Say which life the way holds */
void u4_hold_tell(struct u4_way *way, struct u4_held *held);
/* End the life, if one is held. @why: for the log, or NULL */
void u4_hold_end(struct u4_way *way, const char *why);
/* Return: seconds for which a life is still held, or 0 */
unsigned int u4_hold_left(struct u4_way *way);

/* login.c: messages */
void u4_login_init(void);
void u4_login_exit(void);	/* messages may still be handled */
/* The next three are called by u4_cable_work(). Choose an incarnation for the next life */
void u4_login_reset(struct u4_cable *c);
/* Log in. Return: 0: both sides have logged in, and a life may begin; -EAGAIN */
int u4_login(struct u4_cable *c);
void u4_logout(struct u4_cable *c);
void u4_login_free(struct u4_cable *c);		/* release HopIDs */

/* ring.c: rings and the memory of frames. Process context; the caller holds &u4_cable.lock */
int u4_rings_alloc(struct u4_cable *c);
void u4_rings_free(struct u4_cable *c);
int u4_rings_start(struct u4_cable *c);
void u4_frames_free(struct u4_cable *c);	/* of the sending side, after u4_rings_free() */
void u4_rings_stop(struct u4_cable *c);
void u4_ring_rx_restart(struct u4_cable *c);
void u4_ring_unmask(struct u4_ring *ring);	/* softirq */

/* tx.c: the sending side */
void u4_tx_reset(struct u4_cable *c);
/* From here to u4_tx_shut() records are accepted, and from u4_tx_run() to u4_tx_pause() sent */
void u4_tx_open(struct u4_cable *c);
void u4_tx_run(struct u4_cable *c);
void u4_tx_pause(struct u4_cable *c);
void u4_tx_shut(struct u4_cable *c);
/* The life of @from goes on with @c, which has its frames: u4_tx_reset() */
void u4_tx_move(struct u4_cable *c, struct u4_cable *from);
/* Call &kfi_mux_ctl.sent of records that were not sent. After u4_tx_shut() */
void u4_tx_cancel(struct u4_cable *c);
/* The peer has acknowledged frames below @ack, and with @gap wants all others again. Softirq */
int u4_tx_acked(struct u4_cable *c, u32 ack, bool gap);
/* Send a STATE frame. The caller holds u4_tx.lock. Return: false if there is no room */
bool u4_tx_state(struct u4_cable *c, u8 bits);
/* Collect frames that were sent, and send what can be sent. The caller holds u4_tx.lock */
void u4_tx_progress(struct u4_cable *c);
/* Call the multiplexer where it waits for us. Softirq, no lock */
void u4_tx_settle(struct u4_cable *c);
extern const struct kfi_mux_ops u4_mux_ops;

/* rx.c: the receiving side */
void u4_rx_reset(struct u4_cable *c);
void u4_poll(struct bh_work_struct *work);

/* watch.c: the timer */
void u4_tick(struct timer_list *timer);
void u4_watch_start(struct u4_cable *c);
void u4_watch_stop(struct u4_cable *c);
/* The timer has something to wait for. The caller holds u4_tx.lock, as for the next one */
void u4_watch_hurry(struct u4_cable *c);
/* A frame was sent that has to be acknowledged */
void u4_watch_expect(struct u4_cable *c);

/* way.c: ways, domains and names. Process context */
void u4_ways_init(void);
/* Find out which port of this machine the cable is in, before it is listed */
void u4_cable_place(struct u4_cable *c);
/* The cable is listed: see whether hosts get other names */
void u4_names_watch(void);
/* The cable is plugged. The next three are called by u4_cable_work() */
void u4_way_await(struct u4_cable *c);
/*
 * Say what our next LOGIN tells: names of the way that the cable has, or seems to belong to.
 * Return: 0; -EAGAIN: not yet
 */
int u4_way_guess(struct u4_cable *c, struct u4_said *told);
/*
 * Both sides have logged in, and have said @told and @said: find or create the way of the cable.
 * Return: 0; -ENOMEM; -EUSERS: there are too many; -ESTALE: @told was meant for another machine, so
 * log in anew
 */
int u4_way_join(struct u4_cable *c, const struct u4_said *told, const struct u4_said *said);
void u4_way_leave(struct u4_cable *c);
/* Say in the log what becomes of the life of a way: @what, followed by @more */
/* How the host at the other end of a cable is called. Takes the lock of the cable's xdomain */
void u4_host_name(struct u4_cable *c, char *host, size_t size);
void u4_way_say(const struct u4_way *way, const char *what, const char *more);
void u4_ways_exit(void);
int u4_domain_open(struct kfi_domain *domain);
void u4_domain_close(struct kfi_domain *domain);
int u4_side(struct kfi_mux *mux, const char *text, void *side);
bool u4_called(struct kfi_mux *mux, const char *name);
void u4_addr_str(const void *addr, size_t len, char *buf, size_t size);
int u4_parts(struct net *net, int (*emit)(void *arg, const struct kfi_part *part), void *arg);

#endif /* _KFI_USB4_USB4_H */
