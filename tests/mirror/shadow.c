// SPDX-License-Identifier: GPL-2.0
/*
 * shadow.c - persistent memory that loses its power.
 *
 *   insmod kfi_shadow.ko at=ADDRESS[,ADDRESS...] size=BYTES[,BYTES...]
 *
 * Each of these pieces of persistent memory gets a shadow, to which only persisted ranges are
 * copied: those of dax_flush(), and what the pmem driver writes past the caches. A number N that is
 * written to the parameter "off" takes the power from piece N: the shadow does not change any more,
 * and persist() of a mirror whose log is there fails, as a machine without power does not answer.
 * Of the lines that were in a cache then some are persistent and some are not, by chance. A number
 * that is written to the parameter "on" gives power back: the memory becomes what the shadow has.
 *
 * "N AT SIZE", written to the parameter "tear", takes the power from piece N in the middle of the next
 * write of the pmem driver to these of its bytes: some lines of the write are persistent, and some are
 * not. From then on writes to a leg fail if the log of its mirror is in that piece, too. The parameter
 * "torn" counts these losses of power.
 *
 * A missing pmem_wmb() is not noticed: a range counts as persisted when its flush begins.
 */
#include <linux/cache.h>
#include <linux/io.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/spinlock.h>
#include <linux/vmalloc.h>
#include "../../ulps/mirror/write.h"

#define PIECES	4
#define LINE	64	/* what a CPU writes back at least */

/**
 * struct piece - a piece of persistent memory
 * @memory: the memory
 * @copy: its shadow
 * @size: bytes of both
 * @lock: protects @copy and @off. Taken in probes
 * @off: no power
 * @tear_at: where the next write loses the power, bytes from @memory
 * @tear_size: how many bytes; 0: nowhere
 */
struct piece {
	u8		*memory;
	u8		*copy;
	size_t		size;
	raw_spinlock_t	lock;
	bool		off;
	size_t		tear_at;
	size_t		tear_size;
};

static unsigned long at[PIECES], size[PIECES];
static unsigned int count, sizes;
module_param_array(at, ulong, &count, 0444);
MODULE_PARM_DESC(at, "physical addresses");
module_param_array(size, ulong, &sizes, 0444);
MODULE_PARM_DESC(size, "bytes of each");

static unsigned int torn;
module_param(torn, uint, 0444);
MODULE_PARM_DESC(torn, "writes that have lost the power");

static struct piece pieces[PIECES];
static bool ready;

static struct piece *piece_of(const void *addr)
{
	unsigned int i;

	for (i = 0; i < count; i++) {
		if ((const u8 *)addr >= pieces[i].memory &&
		    (const u8 *)addr < pieces[i].memory + pieces[i].size)
			return &pieces[i];
	}
	return NULL;
}

/*
 * The power fails while @len bytes of @from are being written to @offset. It fails everywhere else,
 * too, but only lines of this write are taken for what was in a cache.
 */
static bool tears(struct piece *p, size_t offset, const u8 *from, size_t len)
{
	size_t i;

	if (offset < p->tear_at || offset + len > p->tear_at + p->tear_size)
		return false;
	for (i = 0; i < len; i += LINE) {
		if (get_random_u32() & 1)
			memcpy(p->copy + offset + i, from + i, LINE);
	}
	WRITE_ONCE(p->off, true);
	torn++;
	return true;
}

/* Bytes of @from become persistent at @to; @store: they are being written there. */
static void keep(const void *to, const void *from, size_t len, bool store)
{
	struct piece *p = piece_of(to);
	unsigned long flags;
	size_t offset;

	if (!p)
		return;
	offset = (const u8 *)to - p->memory;
	raw_spin_lock_irqsave(&p->lock, flags);
	len = min(len, p->size - offset);
	if (!p->off && !(store && tears(p, offset, from, len)))
		memcpy(p->copy + offset, from, len);
	raw_spin_unlock_irqrestore(&p->lock, flags);
}

/* ---- probes ---- */

/* dax_flush(dax_dev, addr, size) */
static int on_flush(struct kprobe *probe, struct pt_regs *regs)
{
	unsigned long addr = regs_get_kernel_argument(regs, 1);
	unsigned long end = ALIGN(addr + regs_get_kernel_argument(regs, 2), LINE);

	addr = ALIGN_DOWN(addr, LINE);
	keep((void *)addr, (void *)addr, end - addr, false);
	return 0;
}

/* __memcpy_flushcache(dst, src, size) */
static int on_store(struct kprobe *probe, struct pt_regs *regs)
{
	keep((void *)regs_get_kernel_argument(regs, 0), (void *)regs_get_kernel_argument(regs, 1),
	     regs_get_kernel_argument(regs, 2), true);
	return 0;
}

/* kfm_persist(mr, offset, len) */
static int on_persist(struct kretprobe_instance *call, struct pt_regs *regs)
{
	struct kfid_mr *mr = (void *)regs_get_kernel_argument(regs, 0);
	struct kfm *m = mr->fid.context;

	*(struct piece **)call->data = piece_of(m->log.ring);
	return 0;
}

static int on_persisted(struct kretprobe_instance *call, struct pt_regs *regs)
{
	struct piece *p = *(struct piece **)call->data;

	if (p && READ_ONCE(p->off))
		regs_set_return_value(regs, -EIO);
	return 0;
}

/* leg_end_io(bio): a machine without power does not say that its leg has the data. */
static int on_leg(struct kprobe *probe, struct pt_regs *regs)
{
	struct bio *bio = (void *)regs_get_kernel_argument(regs, 0);
	struct piece *p = piece_of(container_of(bio, struct kfm_write, leg)->m->log.ring);

	if (p && READ_ONCE(p->off))
		bio->bi_status = BLK_STS_IOERR;
	return 0;
}

static struct kprobe leg_probe = { .symbol_name = "leg_end_io", .pre_handler = on_leg };
static struct kprobe flush_probe = { .symbol_name = "dax_flush", .pre_handler = on_flush };
static struct kprobe store_probe = {
	.symbol_name	= "__memcpy_flushcache",
	.pre_handler	= on_store,
};
static struct kretprobe persist_probe = {
	.kp.symbol_name	= "kfm_persist",
	.entry_handler	= on_persist,
	.handler	= on_persisted,
	.data_size	= sizeof(struct piece *),
	.maxactive	= 64,
};

/* ---- power ---- */

static void power_off(struct piece *p)
{
	unsigned long flags;
	size_t i;

	raw_spin_lock_irqsave(&p->lock, flags);
	for (i = 0; !p->off && i < p->size; i += LINE) {
		if (memcmp(p->copy + i, p->memory + i, LINE) && get_random_u32() & 1)
			memcpy(p->copy + i, p->memory + i, LINE);
	}
	WRITE_ONCE(p->off, true);
	raw_spin_unlock_irqrestore(&p->lock, flags);
}

/* Nothing uses the memory. */
static void power_on(struct piece *p)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&p->lock, flags);
	if (p->off)
		memcpy(p->memory, p->copy, p->size);
	p->tear_size = 0;
	WRITE_ONCE(p->off, false);
	raw_spin_unlock_irqrestore(&p->lock, flags);
}

static int set_power(const char *text, const struct kernel_param *param)
{
	void (*switch_to)(struct piece *p) = param->arg;
	unsigned int number;
	int ret = kstrtouint(text, 0, &number);

	if (ret)
		return ret;
	if (!ready || number >= count)
		return -ENODEV;
	switch_to(&pieces[number]);
	return 0;
}

static const struct kernel_param_ops power_ops = { .set = set_power };
module_param_cb(off, &power_ops, power_off, 0200);
MODULE_PARM_DESC(off, "number of a piece that loses its power");
module_param_cb(on, &power_ops, power_on, 0200);
MODULE_PARM_DESC(on, "number of a piece that has power again");

static int set_tear(const char *text, const struct kernel_param *param)
{
	unsigned long from, bytes;
	unsigned int number;
	struct piece *p;

	if (sscanf(text, "%u %lu %lu", &number, &from, &bytes) != 3)
		return -EINVAL;
	if (!ready || number >= count || bytes > pieces[number].size ||
	    from > pieces[number].size - bytes)
		return -ENODEV;
	p = &pieces[number];
	raw_spin_lock_irq(&p->lock);
	p->tear_at = from;
	p->tear_size = bytes;
	raw_spin_unlock_irq(&p->lock);
	return 0;
}

static const struct kernel_param_ops tear_ops = { .set = set_tear };
module_param_cb(tear, &tear_ops, NULL, 0200);
MODULE_PARM_DESC(tear, "piece, first byte and size of what loses its power while it is written");

/* ---- the module ---- */

static void free_copies(void)
{
	unsigned int i;

	for (i = 0; i < count; i++)
		vfree(pieces[i].copy);
}

static int copy_all(void)
{
	unsigned int i;

	for (i = 0; i < count; i++) {
		raw_spin_lock_init(&pieces[i].lock);
		pieces[i].memory = phys_to_virt(at[i]);
		pieces[i].size = size[i];
		pieces[i].copy = vmalloc(size[i]);
		if (!pieces[i].copy)
			return -ENOMEM;
		memcpy(pieces[i].copy, pieces[i].memory, size[i]);
	}
	return 0;
}

static int __init shadow_init(void)
{
	int ret;

	if (!count || sizes != count)
		return -EINVAL;
	ret = copy_all();
	if (ret)
		goto free;
	ret = register_kprobe(&flush_probe);
	if (ret)
		goto free;
	ret = register_kprobe(&store_probe);
	if (ret)
		goto unregister_flush;
	ret = register_kretprobe(&persist_probe);
	if (ret)
		goto unregister_store;
	ret = register_kprobe(&leg_probe);
	if (ret)
		goto unregister_persist;
	ready = true;
	return 0;

unregister_persist:
	unregister_kretprobe(&persist_probe);
unregister_store:
	unregister_kprobe(&store_probe);
unregister_flush:
	unregister_kprobe(&flush_probe);
free:
	free_copies();
	return ret;
}

static void __exit shadow_exit(void)
{
	unregister_kprobe(&leg_probe);
	unregister_kretprobe(&persist_probe);
	unregister_kprobe(&store_probe);
	unregister_kprobe(&flush_probe);
	WARN(flush_probe.nmissed || store_probe.nmissed || persist_probe.nmissed ||
	     leg_probe.nmissed,
	     "missed probes\n");
	free_copies();
}

module_init(shadow_init);
module_exit(shadow_exit);

MODULE_DESCRIPTION("persistent memory that loses its power, for tests");
MODULE_LICENSE("GPL");
