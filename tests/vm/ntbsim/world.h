/* SPDX-License-Identifier: GPL-2.0 */
/* world.h - both models of devices, the links and windows between them, and all objects */
#ifndef NTBSIM_WORLD_H
#define NTBSIM_WORLD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device.h"
#include "regs.h"
#include "simulator.h"

/*
 * A DMA engine: channels that copy by chains of descriptors, in the guest's memory and through its
 * NTBs.
 */

#define IOAT_CHANNELS	4	/* IOAT_MAX_CHANS of the driver */
/* What one descriptor may copy: 1 MiB */
#define IOAT_XFERCAP_LOG	20

struct host;

struct ioat_channel {
	enum ioat_state state;
	uint16_t control;
	uint16_t count;		/* DMACOUNT: descriptors of this chain that may be executed */
	uint16_t done;		/* ... that were executed */
	uint64_t chain;
	uint64_t next;		/* address of the next descriptor */
	uint64_t last;		/* address of the last completed one, 0 if none of this chain is */
	uint64_t completion;	/* address of completion records */
	uint32_t error;
	uint32_t error_mask;
	bool armed;		/* may send its next interrupt */
	bool waiting;		/* has one to send */
	uint32_t restarts;	/* resets, suspensions, new chains */
};

/* Only the device's thread uses channels. */
struct ioat {
	struct device dev;	/* first */
	struct host *host;
	struct pci_identity id;
	pthread_rwlock_t lock;
	uint8_t interrupts;	/* INTRCTRL */
	struct ioat_channel channel[IOAT_CHANNELS];
	struct memory fetched;	/* bytes from memory of another device, from address 0 on */
};

int ioat_init(struct ioat *ioat, struct host *host, char side, const char *dir);

/* Execute descriptors, as many as one turn permits. Return: are there more? */
bool ioat_run(struct ioat *ioat, unsigned int number);
void ioat_interrupt(struct ioat *ioat, unsigned int number);

/* One end of a bridge: registers, doorbells, scratchpads, and windows into the guest's memory. */

struct ntb {
	struct device dev;	/* first */
	struct link *link;
	unsigned int side;	/* 0: upstream, 1: downstream */
	struct pci_identity id;
	uint8_t reg[NTB_BAR0_SIZE];	/* see the table in ntb.c */
};

int ntb_init(struct ntb *ntb, struct link *link, unsigned int side, unsigned int number,
	     const uint64_t *window, const char *dir);

/* The following: under the link's lock, for writing. */
/* Set these bits: an interrupt for each that was not pending and is not masked. */
void ntb_raise(struct ntb *ntb, uint64_t bits);
bool ntb_enabled(const struct ntb *ntb);
void ntb_show_link(struct ntb *ntb, bool up);
/* Access registers, by the own CPU or DMA engine. Return: false if there is no such register */
bool ntb_write_register(struct ntb *ntb, uint64_t offset, const void *data, size_t len);

/* Under the link's lock, for reading. */
bool ntb_read_register(const struct ntb *ntb, uint64_t offset, void *data, size_t len);
uint64_t ntb_value(const struct ntb *ntb, unsigned int offset, size_t len);

/*
 * The link between two NTBs. It is up when both ends have a client, both have enabled it
 * (NTB_CTL_DISABLE), no command holds it down, and this was so for the time of training. The status
 * registers show the same, unless they are stuck.
 */

struct link {
	/*
	 * Protects all state of both NTBs. Taken for reading while bytes are copied, so that a
	 * change waits for these.
	 */
	pthread_rwlock_t lock;
	struct ntb *ntb[2];
	bool attached[2];
	bool carries;
	bool shown;
	uint64_t up_at;		/* TIME_NEVER: not in training */

	/* switches */
	unsigned int delay_ms;
	bool held_down;
	bool stuck;		/* the status registers do not change */

	/* a flap in progress */
	unsigned int flaps;	/* ups still to come */
	unsigned int down_ms, up_ms;
	uint64_t flap_at;
};

void link_init(struct link *link, unsigned int delay_ms);

/* The following: under the lock, for writing. */
/* A condition of the link has changed. */
void link_update(struct link *link);
/* The registers of a side were reset: they show the state of the link again, without an event. */
void link_shown_again(struct link *link, unsigned int side);
void link_flap(struct link *link, unsigned int count, unsigned int down_ms, unsigned int up_ms);
void link_stick(struct link *link, bool stuck);

/* Do what is due by now and return when to call again. Takes the lock. */
uint64_t link_tick(struct link *link, uint64_t now);

/*
 * Accesses through the windows: BAR 2 and BAR 4 of an NTB lead to the memory behind its peer, as
 * far as the peer's translation and limit registers permit. All functions: under the link's lock,
 * for reading.
 */

/* Does any access of this end reach the peer? */
bool window_open(const struct ntb *ntb);
/* How many bytes of that window may the peer reach? */
uint64_t window_room(const struct ntb *ntb, unsigned int bar);

/*
 * Accesses of the own CPU: bytes that can't be read are ones, those that can't be written are
 * dropped.
 */
void window_read(struct ntb *ntb, unsigned int bar, uint64_t offset, void *data, size_t len);
void window_write(struct ntb *ntb, unsigned int bar, uint64_t offset, const void *data, size_t len);

/*
 * Accesses of a DMA engine. @memory is the engine's view of its guest.
 *
 * A write is posted: if the far side refuses it, it is dropped silently. Only a source that can't
 * be read is an error, or a dead link if the switch says so. A read without an answer is an error.
 *
 * Return: 0, WINDOW_READ_ERROR or WINDOW_WRITE_ERROR.
 */
enum { WINDOW_READ_ERROR = 1, WINDOW_WRITE_ERROR };
int window_dma_write(struct ntb *ntb, unsigned int bar, uint64_t offset, struct memory *memory,
		     uint64_t source, size_t len);
int window_dma_read(struct ntb *ntb, unsigned int bar, uint64_t offset, struct memory *memory,
		    uint64_t target, size_t len);

/* All objects: two hosts and the links between them. */

/* ---- the bus of one guest for its DMA engine: memory, and the BARs of the NTBs ---- */

#define HOST_LINKS 8

struct host {
	struct ioat ioat;
	struct ntb *ntb[HOST_LINKS];
	unsigned int ntbs;
};

/*
 * Is that address the guest's memory or the BAR of an NTB? If not, another device of the guest may
 * have it: device_fetch().
 */
bool host_knows(struct host *host, struct memory *memory, uint64_t address);

/*
 * host_copy() - move bytes on the bus
 * @memory: the guest's memory, as the mover sees it
 * @from: where @source is: @memory, or bytes that were fetched before
 *
 * One end at least is memory. Writes to the registers of an NTB are whole registers: a doorbell, a
 * scratchpad.
 *
 * Return: 0, HOST_READ_ERROR or HOST_WRITE_ERROR.
 */
enum { HOST_READ_ERROR = 1, HOST_WRITE_ERROR };
int host_copy(struct host *host, struct memory *memory, uint64_t target, struct memory *from,
	      uint64_t source, size_t len);

/* ---- all ---- */

struct world {
	struct host host[2];
	struct link link[HOST_LINKS];
	struct ntb ntb[HOST_LINKS][2];
	unsigned int links;
};

struct world_options {
	const char *dir;		/* for the sockets */
	unsigned int links;
	unsigned int delay_ms;
	uint64_t window[NTB_WINDOWS];
};

/* 0 or a negative errno. A world is static: zeroed, and never freed. */
int world_init(struct world *world, const struct world_options *options);
/* Return device @n: the engines first, then the NTBs; NULL behind the last. */
struct device *world_device(void *world, unsigned int n);

/* control.c: what the simulator has of its own */
extern const struct command ntb_commands[];
bool ntb_take(struct call *call, char letter, const char *word);
void ntb_stats(void *world, cJSON *to);

#endif
