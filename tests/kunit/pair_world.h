/* SPDX-License-Identifier: GPL-2.0 */
/*
 * pair_world.h - two RDM endpoints over the message protocol, connected by links of memory that do
 * all that kfi_link.h permits: they accept a part of a unit, report late what they have read,
 * expose memory, conceal it late, and end at any moment. Bytes for places arrive at once, ahead of
 * the stream; what devices write to places arrives late. The link reads the memory of spliced
 * payload again when it reports it, and exposed memory when it is concealed: memory that the
 * protocol has returned too early has changed.
 */
#ifndef _KFI_KUNIT_PAIR_WORLD_H
#define _KFI_KUNIT_PAIR_WORLD_H

#include <linux/prandom.h>
#include "fake.h"
#include "../../kfi/proto/conn.h"

#define PM_CQ		1024
#define PM_SLOTS	24
#define PM_MAX		24000U
#define PM_AREA		(2 * KFW_PLACED_MAX)	/* more than PM_SLOTS times PM_MAX */

struct pm_wire;
struct pm_ep;

/**
 * struct pm_world - state of a test
 * @lock: protects pm_ep.listens and @wire
 * @wire: the last wire
 * @refs: number of all struct pm_ref
 * @keys: number of exposures so far
 * @early: memory that has changed while a link used it
 * @strays: places that were not exposed
 * @placed: bytes that were written to places
 * @lates: memory that was concealed late
 * @frames: frames that were sent, by type
 * @sure: memory is exposed whenever the protocol wants that
 * @prompt: memory of regions is concealed at once
 * @expose_min: the links expose no shorter memory
 * @hold: the network of both endpoints
 * @deaf: the link of this endpoint reports nothing, a bit for each
 * @clogged: the link of this endpoint has no room, a bit for each
 * @devices: struct pm_written: what devices have written and has not arrived; under @device_lock
 * @fences: number of fences
 * @fence_err: what they return
 * @pins: number of pins
 * @close_pins: the most pins that there were when an end 0 was closed
 * @closing: links that are being closed
 * @pageless: links have no pages for devices
 * @slow: a link stays in its close as long as this is set
 * @unreleased: the links of endpoint 1 are not released as long as this is set
 * @waits: how often the protocol has asked such a link
 * @closer: closes @closes, and completes @close_done
 */
struct pm_world {
	struct kunit		*test;
	struct kfi_world	*w;
	struct workqueue_struct	*wq;
	struct mutex		lock;
	struct pm_wire		*wire;
	struct pm_ep		*pep[2];
	struct kfid_ep		*ep[2];
	struct kfid_cq		*cq[2];
	kfi_addr_t		addr[2];
	struct kfid_mr		*mr[2];
	u8			*area[2];
	spinlock_t		rnd_lock;
	struct rnd_state	rnd;
	atomic_t		early, strays, lates, keys, refs;
	atomic64_t		placed;
	atomic_t		frames[KFW_TYPES];
	bool			sure;
	bool			prompt;
	u64			expose_min;
	struct kfi_hold		hold;
	unsigned long		deaf, clogged;
	spinlock_t		device_lock;
	struct list_head	devices;
	atomic_t		fences, pins, closing, waits;
	int			close_pins;
	bool			pageless, slow, unreleased;
	int			fence_err;
	struct work_struct	closer;
	struct kfid_mr		*closes;
	struct completion	close_done;
};

extern struct pm_world pm;
extern struct kfi_proto pm_proto;

/* Set up and end the world of a test. Errors that the links have found fail the test. */
int pm_init(struct kunit *test);
void pm_exit(struct kunit *test);
/* Return a random number, from the seed that pm_init() prints. */
u32 pm_random(u32 below);
/* End one link of the last wire. */
void pm_cut(void);
/*
 * Send a frame to end @nr of the last wire, to which nothing is under way, with @len bytes behind
 * the header. It is about the operation of @nr's last frame that has a number.
 */
void pm_inject(int nr, struct kfw_hdr hdr, const void *tail, size_t len);
/* Has end @nr of the last wire been closed? */
bool pm_closed(int nr);
/* Have both ends? */
bool pm_broken(void);
/* Frames of a type that were sent */
int pm_frames(int type);
/* Peers may write to the first @len bytes of the area of endpoint 1. */
int pm_reg(u64 key, u32 len, struct kfid_mr **mr);
/* Begin to close a region, which may wait. */
void pm_close_begin(struct kfid_mr *mr);
/* Has it been closed, or is it within @ms? */
bool pm_close_ends(unsigned int ms);
/* Wait for one completion of endpoint 0. Return: its errno. */
int pm_wait_one(void);
/*
 * A device writes @seed to the first @len bytes of a place. The bytes arrive with the fence;
 * without one they arrive at the end of the test.
 */
void pm_device_writes(const struct kfid_place *place, u8 seed, size_t len);

#endif /* _KFI_KUNIT_PAIR_WORLD_H */
