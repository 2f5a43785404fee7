// SPDX-License-Identifier: GPL-2.0
/*
 * cross.c - accesses through the bridge to the memory that the other end's client has set, or to
 * nothing. Writes are dropped silently when the link is down, when the window has no translation,
 * and behind the end of the translation; reads return ones.
 */
#include <linux/dma-direct.h>
#include <linux/export.h>
#include <linux/iommu.h>
#include <linux/sizes.h>
#include <linux/unaligned.h>
#include "command.h"
#include "mock.h"

/*
 * Bytes that are copied at a time under the lock, because interrupts are off. Pieces never cross a
 * page.
 */
#define NM_STEP		SZ_4K
#define NM_TLP		64U	/* bytes of a packet that is lost */

static bool nm_carries(const struct nm_place *place)
{
	const struct nm_bridge *bridge = place->end->bridge;

	lockdep_assert_held(&bridge->lock);
	return bridge->up && bridge->life == place->life;
}

/*
 * Translate a bus address; 0: no page. The range must not cross a page. The caller has the lock of
 * the bridge, for which nm_accesses_wait() waits.
 */
static phys_addr_t nm_memory(const struct nm_end *end, dma_addr_t addr)
{
	return end->iommu ? iommu_iova_to_phys(end->iommu, addr) :
			    dma_to_phys(&end->dma->dev, addr);
}

/* Where byte @at of the window is in memory; NULL: nowhere, which is counted as @why. */
static void *nm_behind(const struct nm_place *place, u64 at, size_t len, enum nm_count *why)
{
	struct nm_end *peer = nm_peer(place->end);
	const struct nm_trans *trans = &peer->trans[place->window];
	u64 below = READ_ONCE(peer->below_kib) * SZ_1K, shows = READ_ONCE(peer->shows_kib) * SZ_1K;
	phys_addr_t to;

	*why = NM_DEAD;
	if (!nm_carries(place))
		return NULL;
	*why = NM_CLOSED;
	if (!trans->size)
		return NULL;
	*why = NM_BEYOND;
	if (at >= trans->size || len > trans->size - at ||
	    (shows && !place->window && at >= shows))
		return NULL;
	*why = NM_FOREIGN;
	if (at < below)
		return NULL;
	to = nm_memory(peer, trans->addr + at - below);
	*why = NM_FAULT;
	if (!to)
		return NULL;
	*why = NM_BEYOND;
	return pfn_valid(PHYS_PFN(to)) && pfn_valid(PHYS_PFN(to + len - 1)) ? phys_to_virt(to) :
									      NULL;
}

/* Write aligned words with a single store each. */
static void nm_put(void *to, const void *from, size_t len)
{
	/*
	 * and after earlier writes, as the interconnect orders them: a reader with acquire
	 * semantics relies on that
	 */
	smp_wmb();
	switch (IS_ALIGNED((unsigned long)to, len) ? len : 0) {
	case 8:
		WRITE_ONCE(*(u64 *)to, get_unaligned((const u64 *)from));
		break;
	case 4:
		WRITE_ONCE(*(u32 *)to, get_unaligned((const u32 *)from));
		break;
	case 2:
		WRITE_ONCE(*(u16 *)to, get_unaligned((const u16 *)from));
		break;
	default:
		memcpy(to, from, len);
	}
}

static void nm_get(void *to, const void *from, size_t len)
{
	if (len == 8 && IS_ALIGNED((unsigned long)from, 8))
		put_unaligned(READ_ONCE(*(const u64 *)from), (u64 *)to);
	else if (len == 4 && IS_ALIGNED((unsigned long)from, 4))
		put_unaligned(READ_ONCE(*(const u32 *)from), (u32 *)to);
	else
		memcpy(to, from, len);
}

static void nm_write_step(const struct nm_place *place, u64 at, const void *src, size_t len)
{
	rwlock_t *lock = &place->end->bridge->lock;
	enum nm_count why;
	unsigned long flags;
	void *to;

	read_lock_irqsave(lock, flags);
	to = nm_behind(place, at, len, &why);
	if (to)
		nm_put(to, src, len);
	read_unlock_irqrestore(lock, flags);
	if (!to)
		nm_add(place->end, why, 1);
}

static void nm_read_step(const struct nm_place *place, u64 at, void *dst, size_t len)
{
	rwlock_t *lock = &place->end->bridge->lock;
	enum nm_count why;
	unsigned long flags;
	void *from;

	read_lock_irqsave(lock, flags);
	from = nm_behind(place, at, len, &why);
	if (from)
		nm_get(dst, from, len);
	else
		memset(dst, 0xff, len);
	read_unlock_irqrestore(lock, flags);
}

static size_t nm_step(u64 at, size_t len)
{
	return min_t(u64, len, NM_STEP - at % NM_STEP);
}

static void nm_land_bytes(const struct nm_place *place, const void *src, size_t len)
{
	size_t done, n;

	for (done = 0; done < len; done += n) {
		n = nm_step(place->at + done, len - done);
		nm_write_step(place, place->at + done, src + done, n);
	}
}

static void nm_ring_peer(const struct nm_place *place, u64 bits)
{
	struct nm_bridge *bridge = place->end->bridge;
	unsigned long flags;
	bool up;

	read_lock_irqsave(&bridge->lock, flags);
	up = nm_carries(place);
	if (up)
		nm_bell_ring(nm_peer(place->end), bits & ~nm_dead_bells);
	read_unlock_irqrestore(&bridge->lock, flags);
	if (up)
		nm_bell_send(nm_peer(place->end));
	nm_add(place->end, up ? NM_BELLS_RUNG : NM_DEAD, hweight64(bits));
}

static void nm_spad_put(const struct nm_place *place, int i, u32 value)
{
	struct nm_bridge *bridge = place->end->bridge;
	unsigned long flags;
	bool up;

	read_lock_irqsave(&bridge->lock, flags);
	up = nm_carries(place);
	if (up)
		WRITE_ONCE(nm_peer(place->end)->spad[i], value);
	read_unlock_irqrestore(&bridge->lock, flags);
	nm_add(place->end, NM_DEAD, !up);
}

static void nm_land_word(const struct nm_place *place, u32 value, size_t len)
{
	u64 at = place->at;

	if (len != sizeof(u32) || at % sizeof(u32))
		nm_add(place->end, NM_BEYOND, 1);
	else if (at < NM_REG_BELL + NM_BELLS * sizeof(u32))
		nm_ring_peer(place, value & 1 ? BIT_ULL((at - NM_REG_BELL) / sizeof(u32)) : 0);
	else if (at >= NM_REG_SPAD && at < NM_REG_SPAD + NM_SPADS * sizeof(u32))
		nm_spad_put(place, (at - NM_REG_SPAD) / sizeof(u32), value);
	else
		nm_add(place->end, NM_BEYOND, 1);
}

void nm_land(const struct nm_place *place, const void *src, size_t len)
{
	u32 value = 0;

	if (place->window >= 0) {
		nm_land_bytes(place, src, len);
		return;
	}
	memcpy(&value, src, min(len, sizeof(value)));
	nm_land_word(place, value, len);
}

/*
 * One packet in the middle of a copy is lost silently. A copy that is no longer than a packet is
 * complete.
 */
static void nm_write_torn(const struct nm_place *place, const void *src, size_t len)
{
	struct nm_place rest = *place;
	size_t at = round_down(len / 2, NM_TLP), skip = min(len - at, (size_t)NM_TLP);

	if (at)
		nm_post(place, src, at, true);
	rest.at += at + skip;
	rest.room -= at + skip;
	if (len > at + skip)
		nm_post(&rest, src + at + skip, len - at - skip, true);
}

static bool nm_loses(struct nm_end *end, size_t len)
{
	u32 n = READ_ONCE(end->lose_tlp);

	if (!n || len <= NM_TLP)
		return false;
	return cmpxchg(&end->lose_tlp, n, n - 1) == n && n == 1;
}

void nm_write(const struct nm_place *place, const void *src, size_t len, bool dma)
{
	if (dma && place->window < 0 && nm_dma_bells == 2) {
		nm_add(place->end, NM_BLOCKED, 1);
		return;
	}
	if (place->window >= 0) {
		nm_add(place->end, dma ? NM_DMA_WRITES : NM_CPU_WRITES, 1);
		nm_add(place->end, dma ? NM_DMA_BYTES : NM_CPU_BYTES, len);
	} else {
		nm_add(place->end, NM_REG_WRITES, !dma);
	}
	if (dma && place->window >= 0 && nm_loses(place->end, len))
		nm_write_torn(place, src, len);
	else
		nm_post(place, src, len, dma);
}

void nm_reg_write(struct nm_end *from, u64 at, u32 value)
{
	struct nm_place place = {
		.end = from,
		.window = -1,
		.at = at,
		.room = PAGE_SIZE - at,
		.life = READ_ONCE(from->bridge->life),
	};

	nm_write(&place, &value, sizeof(value), false);
}

static u32 nm_spad_get(struct nm_end *from, int i)
{
	struct nm_bridge *bridge = from->bridge;
	unsigned long flags;
	u32 value = ~0;

	read_lock_irqsave(&bridge->lock, flags);
	if (bridge->up)
		value = READ_ONCE(nm_peer(from)->spad[i]);
	read_unlock_irqrestore(&bridge->lock, flags);
	return value;
}

/* Doorbells can't be read from this side. */
u32 nm_reg_read(struct nm_end *from, u64 at)
{
	nm_post_push(from);
	nm_add(from, NM_REG_READS, 1);
	if (at % sizeof(u32) || at < NM_REG_SPAD || at >= NM_REG_SPAD + NM_SPADS * sizeof(u32))
		return ~0;
	return nm_spad_get(from, (at - NM_REG_SPAD) / sizeof(u32));
}

static void nm_read_word(const struct nm_place *place, void *dst, size_t len)
{
	u32 value = nm_reg_read(place->end, place->at);

	memset(dst, 0xff, len);
	memcpy(dst, &value, min(len, sizeof(value)));
}

void nm_read(const struct nm_place *place, void *dst, size_t len, bool dma)
{
	size_t done, n;

	if (place->window < 0) {
		nm_read_word(place, dst, len);
		return;
	}
	nm_post_push(place->end);
	nm_add(place->end, dma ? NM_DMA_READS : NM_CPU_READS, 1);
	for (done = 0; done < len; done += n) {
		n = nm_step(place->at + done, len - done);
		nm_read_step(place, place->at + done, dst + done, n);
	}
}
