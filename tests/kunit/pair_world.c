// SPDX-License-Identifier: GPL-2.0
/* Links and provider for the tests of two endpoints, see pair_world.h. */
#include <linux/delay.h>
#include "pair_world.h"

#define PM_RING		16384U
#define PM_EXPOSED	128

/**
 * struct pm_exposure - memory that the other end may write to; under pm_wire.lock
 * @iter: the memory
 * @len: bytes of the memory
 * @key: its key, which is used once; 0: the entry is free
 * @late: it is being concealed, and has to have the checksum @sum until kfi_link_concealed()
 */
struct pm_exposure {
	struct iov_iter		iter;
	u64			len;
	u32			key;
	struct kfi_exposed	*late;
	u64			sum;
};

/**
 * struct pm_ref - spliced payload that the link reads until position @end; under the link's lock
 */
struct pm_ref {
	struct list_head	entry;
	struct iov_iter		iter;
	u64			len, end, sum;
};

struct pm_link;

/*
 * struct pm_side - an end of a wire; @ring has bytes under way to it, of which those before @shown
 * can be read. @head_bytes are the last bytes of a hello or of a header, and @skip bytes follow
 * that are neither; @last is the last header, and @lies if it is the test's own. Under pm_wire.lock
 */
struct pm_side {
	struct pm_link		*kl;		/* NULL: no callbacks */
	bool			closed, aborted;
	bool			hello_done, lies;
	u8			head_bytes[sizeof(struct kfw_hello)];
	u32			nr_head;
	u64			skip;
	struct kfw_hdr		last;
	u64			head, shown, tail;
	u8			ring[PM_RING];
	struct pm_exposure	exposed[PM_EXPOSED];
};

struct pm_wire {
	refcount_t		ref;
	spinlock_t		lock;
	struct pm_side		side[2];
};

/**
 * struct pm_link - a link; @locked is its lock, which protects @full, @sent and @refs
 */
struct pm_link {
	struct kfi_link		link;
	unsigned long		locked;
	struct pm_wire		*wire;
	u8			nr;
	bool			admitted, full, down;
	u64			sent;
	struct list_head	refs;
	struct delayed_work	pump;
};

/**
 * struct pm_ep - an endpoint with the name @name; pm_world.lock protects @listens
 */
struct pm_ep {
	struct kfi_proto_ep	pe;
	u64			name;
	bool			listens;
};

struct pm_world pm;
struct kfi_proto pm_proto;

u32 pm_random(u32 below)
{
	u32 n;

	spin_lock_bh(&pm.rnd_lock);
	n = prandom_u32_state(&pm.rnd) % below;
	spin_unlock_bh(&pm.rnd_lock);
	return n;
}

static u64 pm_sum(struct iov_iter iter, u64 len)
{
	u8 buf[256];
	u64 sum = 1, n;
	unsigned int i;

	iter.data_source = ITER_SOURCE;
	for (; len; len -= n) {
		n = min_t(u64, len, sizeof(buf));
		kfi_copy_from(buf, &iter, n);
		for (i = 0; i < n; i++)
			sum = sum * 31 + buf[i];
	}
	return sum;
}

/* ---- the wire ---- */

static struct pm_link *to_pm(const struct kfi_link *link)
{
	return container_of(link, struct pm_link, link);
}

static void pm_kick(struct pm_side *side, unsigned long delay)
{
	if (side->kl)
		queue_delayed_work(pm.wq, &side->kl->pump, delay);
}

static void pm_wire_put(struct pm_wire *wire)
{
	if (refcount_dec_and_test(&wire->ref))
		kvfree(wire);
}

static bool pm_lock(struct kfi_link *link)
{
	local_bh_disable();
	if (!test_and_set_bit_lock(0, &to_pm(link)->locked))
		return true;
	local_bh_enable();
	return false;
}

static void pm_unlock(struct kfi_link *link)
{
	clear_bit_unlock(0, &to_pm(link)->locked);
	local_bh_enable();
}

/* ---- transmit ---- */

static void pm_ref(struct pm_link *kl, const struct kfi_unit *unit, struct iov_iter iter, u64 len)
{
	struct pm_ref *ref;

	if (!len || !(unit->flags & KFI_UNIT_SPLICE))
		return;
	ref = kmalloc(sizeof(*ref), GFP_ATOMIC);
	if (!ref)
		return;
	*ref = (struct pm_ref) {
		.iter = iter,
		.len = len,
		.end = kl->link.posted + unit->done + len,
		.sum = pm_sum(iter, len),
	};
	list_add_tail(&ref->entry, &kl->refs);
	atomic_inc(&pm.refs);
}

static void pm_refs_end(struct pm_link *kl, u64 to)
{
	struct pm_ref *ref, *next;

	list_for_each_entry_safe(ref, next, &kl->refs, entry) {
		if (ref->end > to)
			break;
		if (pm_sum(ref->iter, ref->len) != ref->sum)
			atomic_inc(&pm.early);
		list_del(&ref->entry);
		kfree(ref);
		atomic_dec(&pm.refs);
	}
}

/*
 * A frame that was encoded is decoded and encoded again: no other bytes. Return: bytes that follow
 * the header.
 */
static u64 pm_recode(const struct kfw_hdr *hdr, bool lies)
{
	struct kfw_frame f;
	struct kfw_plain plain;
	struct kfw_hdr back;

	if (hdr->type == KFW_PLAIN) {
		KUNIT_EXPECT_EQ(pm.test, 0, kfw_decode(hdr, KFW_FRAME_MAX, &f));
		plain = (struct kfw_plain) {
			.type = KFW_PLAIN, .payload = cpu_to_le32(f.len),
			.credit_msg = cpu_to_le32(f.credit_msg),
			.credit_tag = cpu_to_le32(f.credit_tag),
		};
		KUNIT_EXPECT_MEMEQ(pm.test, &plain, hdr, sizeof(plain));
		return f.payload;
	}
	if (kfw_decode(hdr, KFW_FRAME_MAX, &f)) {
		if (!lies)
			KUNIT_FAIL(pm.test, "a frame of type %u is not decoded\n", hdr->type);
		return le16_to_cpu(hdr->rma_count) * sizeof(struct kfw_rma) +
		       hdr->places * sizeof(struct kfw_place) + le64_to_cpu(hdr->payload);
	}
	back = (struct kfw_hdr) {
		.type = f.type, .places = f.places, .flags = cpu_to_le16(f.flags),
		.rma_count = cpu_to_le16(f.rma_count), .slot = cpu_to_le16(f.slot),
		.id = cpu_to_le32(f.id), .gen = cpu_to_le32(f.gen),
		.credit_msg = cpu_to_le32(f.credit_msg), .credit_tag = cpu_to_le32(f.credit_tag),
		.payload = cpu_to_le64(f.payload), .len = cpu_to_le64(f.len),
		.tag = cpu_to_le64(f.tag), .data = cpu_to_le64(f.data),
	};
	if (f.type == KFW_ATOMIC) {
		back.op = f.op;
		back.datatype = f.datatype;
	}
	if (memcmp(&back, hdr, sizeof(back)))
		KUNIT_FAIL(pm.test, "a frame of type %u is encoded in another way\n", hdr->type);
	return f.extra + f.payload;
}

/* Count the frames of a stream: @len bytes follow. */
static void pm_count(struct pm_side *to, const u8 *bytes, u32 len)
{
	const struct kfw_hello *hello = (void *)to->head_bytes;
	const struct kfw_hdr *hdr = (void *)to->head_bytes;
	u32 n, want;

	for (; len; len -= n, bytes += n) {
		n = min_t(u64, len, to->skip);
		to->skip -= n;
		if (n)
			continue;
		to->head_bytes[0] = to->nr_head ? to->head_bytes[0] : *bytes;
		want = to->hello_done ? kfw_hdr_len(hdr->type) : sizeof(*hello);
		n = min(len, want - to->nr_head);
		memcpy(to->head_bytes + to->nr_head, bytes, n);
		to->nr_head += n;
		if (to->nr_head < want)
			continue;
		to->nr_head = 0;
		if (!to->hello_done) {
			to->skip = le16_to_cpu(hello->data_len) + le16_to_cpu(hello->auth_len);
			to->hello_done = true;
			continue;
		}
		to->skip = pm_recode(hdr, to->lies);
		atomic_inc(&pm.frames[hdr->type == KFW_PLAIN ? KFW_MSG : hdr->type]);
		if (hdr->type != KFW_PLAIN) {
			to->last = *hdr;
			continue;
		}
		to->last.credit_msg = ((const struct kfw_plain *)hdr)->credit_msg;
		to->last.credit_tag = ((const struct kfw_plain *)hdr)->credit_tag;
	}
}

static u32 pm_fill(struct pm_side *to, const u8 *bytes, u32 len)
{
	u32 i;

	pm_count(to, bytes, len);
	for (i = 0; i < len; i++)
		to->ring[to->head++ % PM_RING] = bytes[i];
	return len;
}

static void pm_to_stream(struct pm_side *to, struct kfi_unit *unit, u32 most)
{
	u8 buf[256];
	u32 n;

	most = min_t(u32, most, PM_RING - (to->head - to->tail));
	n = min(most, unit->len - unit->done);
	unit->done += pm_fill(to, unit->head + unit->done, n);
	most -= n;
	for (; most && unit->left && unit->done == unit->len; most -= n) {
		n = min_t(u64, min_t(u32, most, sizeof(buf)), unit->left);
		kfi_copy_from(buf, unit->payload, n);
		unit->left -= pm_fill(to, buf, n);
	}
}

static struct pm_exposure *pm_exposed(struct pm_side *side, u32 key)
{
	struct pm_exposure *ex = &side->exposed[key % PM_EXPOSED];

	return key && ex->key == key ? ex : NULL;
}

static int pm_to_places(struct pm_side *to, struct kfi_unit *unit, u32 most)
{
	const struct kfi_link_place *place = unit->place;
	u64 at = unit->at, skip = 0;
	struct pm_exposure *ex;
	struct iov_iter iter;
	u8 buf[256];
	u32 n;

	for (; most && unit->left; most -= n) {
		for (; at >= skip + place->len; place++)
			skip += place->len;
		ex = pm_exposed(to, place->key);
		if (!ex || ex->late || place->at + place->len > ex->len) {
			atomic_inc(&pm.strays);
			return -EIO;
		}
		n = min_t(u64, min_t(u32, most, sizeof(buf)),
			  min(unit->left, skip + place->len - at));
		kfi_copy_from(buf, unit->payload, n);
		iter = ex->iter;
		iter.data_source = ITER_DEST;
		iov_iter_advance(&iter, place->at + at - skip);
		kfi_copy_to(&iter, buf, n);
		at += n;
		unit->left -= n;
		atomic64_add(n, &pm.placed);
	}
	return 0;
}

static int pm_post(struct kfi_link *link, struct kfi_unit *unit)
{
	struct pm_link *kl = to_pm(link);
	struct pm_side *self = &kl->wire->side[kl->nr], *to = &kl->wire->side[!kl->nr];
	struct iov_iter iter = unit->payload ? *unit->payload : (struct iov_iter) {};
	bool all_at_once = !kl->admitted || test_bit(kl->nr, &pm.deaf);
	u32 most = all_at_once ? 2 * PM_RING : pm_random(2 * PM_RING);
	u64 left = unit->left;
	bool all;
	int ret = 0;

	if (test_bit(kl->nr, &pm.clogged))
		most = 0;
	spin_lock(&kl->wire->lock);
	if (to->closed)
		ret = -ECONNRESET;
	else if (unit->nplaces)
		ret = pm_to_places(to, unit, most);
	else
		pm_to_stream(to, unit, most);
	all = unit->done == unit->len && !unit->left;
	/* A unit that another one follows waits for that one, as in the send queue of a device. */
	if (!all || !(unit->flags & KFI_UNIT_MORE))
		to->shown = to->head;
	pm_kick(to, 0);
	pm_kick(self, !pm_random(8));
	spin_unlock(&kl->wire->lock);
	pm_ref(kl, unit, iter, left - unit->left);
	if (!ret && !all) {
		kl->full = true;
		ret = -EAGAIN;
	}
	return ret;
}

static bool pm_splices(const struct kfi_link *link, const struct iov_iter *iter, size_t len)
{
	return pm_random(4);
}

static u64 pm_sent_to(const struct kfi_link *link)
{
	struct pm_link *kl = to_pm(link);

	return list_empty(&kl->refs) ? link->posted : kl->sent;
}

/* ---- receive ---- */

static void pm_read(struct kfi_link *link)
{
	struct pm_link *kl = to_pm(link);
	struct pm_side *self = &kl->wire->side[kl->nr];
	unsigned int len, used, i;
	u8 buf[512];

	do {
		spin_lock(&kl->wire->lock);
		len = min_t(u64, self->shown - self->tail, sizeof(buf));
		for (i = 0; i < len; i++)
			buf[i] = self->ring[(self->tail + i) % PM_RING];
		spin_unlock(&kl->wire->lock);
		if (!len)
			return;
		len = 1 + pm_random(len);
		used = kfi_link_rx_bytes(link, buf, len);
		spin_lock(&kl->wire->lock);
		self->tail += used;
		pm_kick(&kl->wire->side[!kl->nr], 0);
		spin_unlock(&kl->wire->lock);
	} while (used == len);
}

/* ---- places ---- */

static int pm_expose(struct kfi_link *link, struct kfi_exposed *x, const struct iov_iter *iter,
		     u64 len, struct kfi_link_place *place, unsigned int max)
{
	struct pm_link *kl = to_pm(link);
	struct pm_side *self = &kl->wire->side[kl->nr];
	u32 key = atomic_inc_return(&pm.keys), i, n = 1 + pm_random(min(max, 4U));
	struct pm_exposure *ex = &self->exposed[key % PM_EXPOSED];
	u64 at = 0;

	if (len < pm.expose_min)
		return -ENOSPC;
	if ((!pm.sure && !pm_random(8)) || ex->key)
		return -EBUSY;
	spin_lock(&kl->wire->lock);
	*ex = (struct pm_exposure) { .iter = *iter, .len = len, .key = key };
	spin_unlock(&kl->wire->lock);
	x->priv[0] = ex;
	for (i = 0; i < n; i++) {
		place[i] = (struct kfi_link_place) {
			.at = at, .key = key, .len = i + 1 < n ? len / n : len - at,
		};
		at += place[i].len;
	}
	return n;
}

static int pm_conceal(struct kfi_link *link, struct kfi_exposed *x)
{
	struct pm_link *kl = to_pm(link);
	struct pm_exposure *ex = x->priv[0];
	bool late;

	if (!kl->wire)
		return 0;
	late = !(x->mr && (pm.prompt || x->mr->per_io)) && pm_random(2);
	spin_lock(&kl->wire->lock);
	if (late) {
		ex->late = x;
		ex->sum = pm_sum(ex->iter, ex->len);
	} else {
		ex->key = 0;
	}
	pm_kick(&kl->wire->side[kl->nr], !pm_random(4));
	spin_unlock(&kl->wire->lock);
	return late ? -EINPROGRESS : 0;
}

/* Complete, at a random time, a conceal that was deferred. Return: was there one? */
static bool pm_concealed(struct pm_link *kl)
{
	struct pm_side *self = &kl->wire->side[kl->nr];
	struct kfi_exposed *x;
	unsigned int i;

	for (i = 0; i < PM_EXPOSED && !self->exposed[i].late; i++)
		;
	if (i == PM_EXPOSED)
		return false;
	if (pm_random(2))
		return true;
	x = self->exposed[i].late;
	/* Others may write to a region, but it does not end before this. */
	if (x->mr ? !refcount_read(&x->mr->uses) :
		    pm_sum(self->exposed[i].iter, self->exposed[i].len) != self->exposed[i].sum)
		atomic_inc(&pm.early);
	atomic_inc(&pm.lates);
	spin_lock(&kl->wire->lock);
	self->exposed[i].late = NULL;
	self->exposed[i].key = 0;
	spin_unlock(&kl->wire->lock);
	kfi_link_concealed(&kl->link, x);
	return true;
}

/* ---- places that devices write ---- */

/* struct pm_written - @len bytes @seed for @to, which have not arrived */
struct pm_written {
	struct list_head	entry;
	u8			*to;
	size_t			len;
	u8			seed;
};

void pm_device_writes(const struct kfid_place *place, u8 seed, size_t len)
{
	const struct bio_vec *bv = place->bvec;
	struct pm_written *w;

	for (; len; len -= w->len, bv++) {
		w = kzalloc(sizeof(*w), GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(pm.test, w);
		w->to = (u8 *)page_address(bv->bv_page) + bv->bv_offset;
		w->len = min_t(size_t, len, bv->bv_len);
		w->seed = seed;
		spin_lock_bh(&pm.device_lock);
		list_add_tail(&w->entry, &pm.devices);
		spin_unlock_bh(&pm.device_lock);
	}
}

static void pm_devices_arrive(void)
{
	struct pm_written *w, *next;

	spin_lock_bh(&pm.device_lock);
	list_for_each_entry_safe(w, next, &pm.devices, entry) {
		memset(w->to, w->seed, w->len);
		list_del(&w->entry);
		kfree(w);
	}
	spin_unlock_bh(&pm.device_lock);
}

/* All places of a piece of memory have its key. */
static void *pm_pages(struct kfi_link *link, const struct kfi_link_place *place, unsigned int n,
		      u64 at, u64 len, struct kfi_dev_place *to)
{
	struct pm_link *kl = to_pm(link);
	struct pm_exposure *ex;
	struct iov_iter iter;
	bool known;
	int ret;

	spin_lock(&kl->wire->lock);
	ex = pm_exposed(&kl->wire->side[!kl->nr], place->key);
	known = ex && !ex->late && at <= ex->len && len <= ex->len - at;
	if (known)
		iter = ex->iter;
	spin_unlock(&kl->wire->lock);
	if (!known)
		return ERR_PTR(-EPROTO);
	iov_iter_advance(&iter, at);
	iov_iter_truncate(&iter, len);
	ret = kfi_place_fill(to, iter);
	if (ret)
		return ERR_PTR(ret);
	atomic_inc(&pm.pins);
	return &pm.pins;
}

static int pm_unpin(void *pin, const struct kfi_dev_place *place)
{
	atomic_inc(&pm.fences);
	pm_devices_arrive();
	atomic_dec((atomic_t *)pin);
	return pm.fence_err;
}

/* ---- life of a link ---- */

/* Make all reports of the link. */
static void pm_pump(struct work_struct *work)
{
	struct pm_link *kl = container_of(to_delayed_work(work), struct pm_link, pump);
	struct pm_side *self = &kl->wire->side[kl->nr];
	bool more = true, read;

	if (test_bit(kl->nr, &pm.deaf))
		goto kick;
	if (pm_lock(&kl->link)) {
		if (kl->sent < kl->link.posted && pm_random(2)) {
			read = !list_empty(&kl->refs);
			pm_refs_end(kl, kl->link.posted);
			kl->sent = kl->link.posted;
			if (read)	/* bytes that were copied are not reported */
				kfi_link_sent(&kl->link);
		}
		more = pm_concealed(kl);
		kfi_link_rx(&kl->link);
		if (kl->full) {
			kl->full = false;
			kfi_link_room(&kl->link);
		}
		if (!kl->down && READ_ONCE(kl->wire->side[!kl->nr].closed)) {
			kl->down = true;
			kfi_link_down(&kl->link);
		}
		more |= kl->full || kl->sent < kl->link.posted;
		pm_unlock(&kl->link);
	}
kick:
	spin_lock_bh(&kl->wire->lock);
	if (more)
		pm_kick(self, !pm_random(8));
	spin_unlock_bh(&kl->wire->lock);
}

static struct pm_ep *to_pm_ep(struct kfi_ep *ep)
{
	return container_of(to_proto_ep(ep), struct pm_ep, pe);
}

static void pm_link_init(struct pm_link *kl)
{
	INIT_LIST_HEAD(&kl->refs);
	kl->link.pages = !pm.pageless;
	INIT_DELAYED_WORK(&kl->pump, pm_pump);
}

static int pm_open(struct kfi_link *link)
{
	pm_link_init(to_pm(link));
	return 0;
}

/* Attach a link to an end of the wire. From here on its pump may run. */
static void pm_join(struct pm_link *kl, struct pm_wire *wire, u8 nr)
{
	refcount_inc(&wire->ref);
	kl->wire = wire;
	kl->nr = nr;
}

static void pm_up(struct pm_link *kl)
{
	struct pm_wire *wire = kl->wire;

	spin_lock_bh(&wire->lock);
	wire->side[kl->nr].kl = kl;
	pm_kick(&wire->side[kl->nr], 0);
	spin_unlock_bh(&wire->lock);
	kfi_link_up(&kl->link);
}

/*
 * Make a new wire with both ends, while the called endpoint listens. Called with pm_world.lock
 * held.
 */
static int pm_dial_listener(struct pm_link *kl, struct pm_ep *to)
{
	struct pm_wire *wire = kvzalloc(sizeof(*wire), GFP_KERNEL);
	struct kfi_link *called = wire ? kfi_link_new(&to->pe, NULL) : NULL;
	int ret = -ENOMEM;

	if (!called)
		goto free;
	refcount_set(&wire->ref, 1);
	spin_lock_init(&wire->lock);
	pm_link_init(to_pm(called));
	pm_join(to_pm(called), wire, 1);
	memcpy(called->name, &to_pm_ep(&kl->link.ep->ep)->name, sizeof(u64));
	ret = kfi_link_called(called);
	if (ret)
		goto put;
	pm_join(kl, wire, 0);
	if (pm.wire)
		pm_wire_put(pm.wire);
	pm.wire = wire;
	pm_up(to_pm(called));
	pm_up(kl);
	return 0;
put:
	pm_wire_put(wire);
	return ret;
free:
	kvfree(wire);
	return ret;
}

static int pm_dial(struct kfi_link *link)
{
	u64 name = *(u64 *)link->name;
	int ret = -ECONNREFUSED;

	mutex_lock(&pm.lock);
	if (pm.pep[name - 1] && pm.pep[name - 1]->listens)
		ret = pm_dial_listener(to_pm(link), pm.pep[name - 1]);
	mutex_unlock(&pm.lock);
	return ret;
}

static void pm_admit(struct kfi_link *link)
{
	to_pm(link)->admitted = true;
}

static int pm_ended(const struct kfi_link *link)
{
	const struct pm_link *kl = to_pm(link);
	const struct pm_side *other = &kl->wire->side[!kl->nr];

	if (!READ_ONCE(other->closed))
		return 0;
	return other->aborted ? -ECONNRESET : -ESHUTDOWN;
}

static void pm_detach(struct kfi_link *link)
{
	struct pm_link *kl = to_pm(link);

	if (!kl->wire)
		return;
	spin_lock_bh(&kl->wire->lock);
	kl->wire->side[kl->nr].kl = NULL;
	spin_unlock_bh(&kl->wire->lock);
	cancel_delayed_work_sync(&kl->pump);
}

static void pm_close(struct kfi_link *link, bool abort)
{
	struct pm_link *kl = to_pm(link);
	struct pm_wire *wire = kl->wire;
	struct pm_side *self;

	if (!wire)
		return;
	if (!kl->nr)
		pm.close_pins = max(pm.close_pins, atomic_read(&pm.pins));
	self = &wire->side[kl->nr];
	spin_lock_bh(&wire->lock);
	self->aborted = abort;
	self->closed = true;
	memset(self->exposed, 0, sizeof(self->exposed));
	pm_kick(&wire->side[!kl->nr], 0);
	spin_unlock_bh(&wire->lock);
	atomic_inc(&pm.closing);
	while (READ_ONCE(pm.slow))
		usleep_range(1000, 2000);
	atomic_dec(&pm.closing);
	kl->wire = NULL;
	pm_wire_put(wire);
}

/* Spliced payload is read for a while after the close. */
static bool pm_released(struct kfi_link *link)
{
	if (to_pm(link)->nr && READ_ONCE(pm.unreleased)) {
		atomic_inc(&pm.waits);
		return false;
	}
	if (!list_empty(&to_pm(link)->refs) && pm_random(3))
		return false;
	pm_refs_end(to_pm(link), U64_MAX);
	return true;
}

static int pm_probe(struct kfi_link *link)
{
	return pm_ended(link) ? -1 : 1;
}

static int pm_name(const struct kfi_ep *ep, const void *addr, void *name)
{
	memcpy(name, addr, sizeof(u64));
	return 0;
}

static void pm_origin(const void *name, void *origin)
{
	memcpy(origin, name, sizeof(u64));
}

static void pm_self(struct kfi_link *link, void *name)
{
	memcpy(name, &to_pm_ep(&link->ep->ep)->name, sizeof(u64));
}

static const struct kfi_link_ops pm_ops = {
	.link_size	= sizeof(struct pm_link),
	.name_len	= sizeof(u64),
	.flags		= KFI_LINK_REPORTS_SENT,
	.place_min	= 2048,
	.len		= fake_name_len,
	.cmp		= fake_name_cmp,
	.hash		= fake_name_hash,
	.name		= pm_name,
	.address	= fake_name_address,
	.origin		= pm_origin,
	.self		= pm_self,
	.open		= pm_open,
	.dial		= pm_dial,
	.admit		= pm_admit,
	.ended		= pm_ended,
	.detach		= pm_detach,
	.close		= pm_close,
	.released	= pm_released,
	.probe		= pm_probe,
	.trylock	= pm_lock,
	.lock		= pm_lock,
	.unlock		= pm_unlock,
	.post		= pm_post,
	.splices	= pm_splices,
	.sent_to	= pm_sent_to,
	.read		= pm_read,
	.expose		= pm_expose,
	.conceal	= pm_conceal,
	.pages		= pm_pages,
	.unpin		= pm_unpin,
};

/* End one link of the last wire. */
void pm_cut(void)
{
	struct pm_side *side;

	mutex_lock(&pm.lock);
	if (pm.wire) {
		spin_lock_bh(&pm.wire->lock);
		side = &pm.wire->side[pm_random(2)];
		if (side->kl)
			kfi_link_fail(&side->kl->link, -ECONNRESET);
		spin_unlock_bh(&pm.wire->lock);
	}
	mutex_unlock(&pm.lock);
}

void pm_inject(int nr, struct kfw_hdr hdr, const void *tail, size_t len)
{
	struct pm_side *side;

	mutex_lock(&pm.lock);
	spin_lock_bh(&pm.wire->lock);
	side = &pm.wire->side[nr];
	if (side->kl) {
		hdr.credit_msg = side->last.credit_msg;
		hdr.credit_tag = side->last.credit_tag;
		hdr.id = pm.wire->side[!nr].last.id;
		hdr.gen = pm.wire->side[!nr].last.gen;
		side->lies = true;
		pm_fill(side, (u8 *)&hdr, sizeof(hdr));
		pm_fill(side, tail, len);
		side->lies = false;
		side->shown = side->head;
		pm_kick(side, 0);
	}
	spin_unlock_bh(&pm.wire->lock);
	mutex_unlock(&pm.lock);
}

bool pm_closed(int nr)
{
	bool closed;

	mutex_lock(&pm.lock);
	closed = READ_ONCE(pm.wire->side[nr].closed);
	mutex_unlock(&pm.lock);
	return closed;
}

bool pm_broken(void)
{
	return pm_closed(0) && pm_closed(1);
}

int pm_frames(int type)
{
	return atomic_read(&pm.frames[type]);
}

int pm_reg(u64 key, u32 len, struct kfid_mr **mr)
{
	return kfi_mr_reg(&pm.w->domain.fid, pm.area[1], len, KFI_REMOTE_WRITE, 0, key, 0, mr,
			  NULL);
}

static void pm_close_region(struct work_struct *work)
{
	KUNIT_EXPECT_EQ(pm.test, 0, kfi_close(&pm.closes->fid));
	complete_all(&pm.close_done);
}

void pm_close_begin(struct kfid_mr *mr)
{
	flush_work(&pm.closer);
	reinit_completion(&pm.close_done);
	pm.closes = mr;
	queue_work(pm.wq, &pm.closer);
}

bool pm_close_ends(unsigned int ms)
{
	return wait_for_completion_timeout(&pm.close_done, msecs_to_jiffies(ms));
}

int pm_wait_one(void)
{
	struct kfi_cq_err_entry err = {};
	struct kfi_cq_tagged_entry e;
	unsigned long end = jiffies + 20 * HZ;
	ssize_t ret = -EAGAIN;

	while (ret == -EAGAIN && time_before(jiffies, end)) {
		ret = kfi_cq_read(pm.cq[0], &e, 1);
		if (ret == -EAGAIN)
			usleep_range(100, 200);
	}
	if (ret == -KFI_EAVAIL)
		ret = kfi_cq_readerr(pm.cq[0], &err, 0);
	KUNIT_EXPECT_EQ(pm.test, 1, (int)ret);
	return -err.err;
}

/* ---- the provider ---- */

static int pm_ep_open(struct kfi_ep *ep)
{
	ep->tx_levels = KFI_PROTO_LEVELS;
	ep->hold = &pm.hold;
	to_pm_ep(ep)->listens = true;
	return kfi_proto_ep_open(ep, &pm_proto);
}

static void pm_unlisten(struct kfi_proto_ep *pe)
{
	mutex_lock(&pm.lock);
	container_of(pe, struct pm_ep, pe)->listens = false;
	mutex_unlock(&pm.lock);
}

static void pm_ep_stop(struct kfi_ep *ep, int err)
{
	kfi_proto_ep_stop(ep, err, pm_unlisten);
}

static void pm_endpoint(struct kunit *test, int i)
{
	struct kfi_info *info = fake_info(pm.w, KFI_EP_RDM);
	u64 name = i + 1;

	info->caps |= KFI_TAGGED_RMA | KFI_REMOTE_READ | KFI_REMOTE_WRITE | KFI_PLACE;
	info->ep_attr->max_msg_size = KFW_PAYLOAD_MAX;
	info->tx_attr->size = 4 * PM_SLOTS;
	info->tx_attr->rma_iov_limit = KFW_RMA_MAX;
	info->rx_attr->size = 4 * PM_SLOTS;
	pm.cq[i] = fake_cq(pm.w, PM_CQ, 0, NULL, NULL);
	pm.ep[i] = fake_rdm(pm.w, info, pm.cq[i]);
	kfi_freeinfo(info);
	pm.pep[i] = to_pm_ep(kfi_to_ep(pm.ep[i]));
	pm.pep[i]->name = name;
	pm.addr[i] = kfi_world_peer(pm.w, name);
	pm.area[i] = kvzalloc(PM_AREA, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, pm.area[i]);
	KUNIT_ASSERT_EQ(test, 0, kfi_mr_reg(&pm.w->domain.fid, pm.area[i], PM_AREA,
					    KFI_REMOTE_READ | KFI_REMOTE_WRITE, 0, name, 0,
					    &pm.mr[i], NULL));
}

int pm_init(struct kunit *test)
{
	u64 seed = get_random_u64();
	struct kfi_prov_ops *ops;

	memset(&pm, 0, sizeof(pm));
	kfi_hold_init(&pm.hold);
	memset(&pm_proto, 0, sizeof(pm_proto));
	pm.test = test;
	kunit_info(test, "seed %llu\n", seed);
	prandom_seed_state(&pm.rnd, seed);
	spin_lock_init(&pm.rnd_lock);
	spin_lock_init(&pm.device_lock);
	INIT_LIST_HEAD(&pm.devices);
	mutex_init(&pm.lock);
	INIT_WORK(&pm.closer, pm_close_region);
	init_completion(&pm.close_done);
	pm_proto.name = "pair";
	pm_proto.ops = &pm_ops;
	pm_proto.addr_str = fake_name_str;
	pm_proto.params = (struct kfi_proto_params) {
		.eager_size = 4096, .unexpected = 64, .requests = 16, .connect_timeout_ms = 60000,
		.hello_timeout_ms = 60000, .peer_timeout_ms = 10000, .max_peers = 4,
		.origin_peers = 4, .origin_backlog = 4, .backlog = 4, .grants = 8, .grant_mib = 16,
	};
	pm.wq = alloc_workqueue("kfi_pair", WQ_UNBOUND, 0);
	if (!pm.wq || kfi_proto_init(&pm_proto))
		return -ENOMEM;
	pm.w = fake_proto_open(test);
	ops = &pm.w->ops;
	ops->ep_size = sizeof(struct pm_ep);
	ops->ep_open = pm_ep_open;
	ops->ep_stop = pm_ep_stop;
	ops->place_size = sizeof(struct kfi_proto_place);
	ops->place_end = kfi_proto_place_end;
	pm_endpoint(test, 0);
	pm_endpoint(test, 1);
	return 0;
}

void pm_exit(struct kunit *test)
{
	int i;

	for (i = 0; i < 2; i++)
		KUNIT_EXPECT_EQ(test, 0, kfi_close(&pm.ep[i]->fid));
	pm_devices_arrive();
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_EQ(test, 0, kfi_close(&pm.mr[i]->fid));
		KUNIT_EXPECT_EQ(test, 0, kfi_close(&pm.cq[i]->fid));
		kvfree(pm.area[i]);
	}
	if (pm.wire)
		pm_wire_put(pm.wire);
	fake_close(pm.w);
	kfi_proto_exit(&pm_proto);
	destroy_workqueue(pm.wq);
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&pm.early));
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&pm.strays));
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&pm.pins));
}
