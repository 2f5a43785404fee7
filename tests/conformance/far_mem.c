// SPDX-License-Identifier: GPL-2.0
/*
 * The driver's memory, as far as the other machine uses it.
 *
 * Memory that a case passes to side B has a window there. The two are separate, but are made equal
 * whenever it matters. Before a post, changes of the case are sent. After a completion, an event, a
 * counter or a close, and when the case reads the memory, changes there are fetched. Both sides
 * find changes by a twin, which has the contents that both know.
 *
 * Only the part that was passed is compared, and only of windows that were used recently or are
 * registered.
 */
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/vmalloc.h>
#include "far_call.h"
#include "far_buf.h"

#define RECENT	24	/* windows that are compared each time, besides the registered ones */

/**
 * struct memory - memory of the case
 * @p: address
 * @len: bytes
 * @twin: contents that both machines know, once there is a window
 * @window: number, or 0
 * @lo: begin of the part that was passed
 * @hi: end of the part that was passed
 * @pinned: a region: peers may access it at any time
 * @known: the agent knows the window
 * @fresh: changes came with the latest exchange, and the case has not read them yet
 * @copy: no memory of the case, but a copy of data that is sent once
 */
struct memory {
	struct list_head	link;
	u8			*p, *twin;
	size_t			len, lo, hi;
	u64			window;
	bool			pinned, known, fresh, copy;
};

/*
 * @lock protects all, and serialises exchanges. @unheard: changes may come without a call of this
 * file. @flying: operations that side A has posted and whose completion was not read.
 */
static struct {
	struct mutex		lock;
	struct list_head	all;	/* recently used windows come first */
	u64			windows;
	bool			unheard;
	atomic_t		flying;
} mem = {
	.lock = __MUTEX_INITIALIZER(mem.lock),
	.all = LIST_HEAD_INIT(mem.all),
};

/* ---- memory of the case ---- */

static struct memory *memory_new(void *p, size_t len)
{
	struct memory *m = kzalloc(sizeof(*m), GFP_KERNEL);

	if (!m)
		return NULL;
	m->p = p;
	m->len = len;
	mutex_lock(&mem.lock);
	list_add_tail(&m->link, &mem.all);
	mutex_unlock(&mem.lock);
	return m;
}

/* Without memory for the record, passing it will fail. */
void far_memory(void *p, size_t len)
{
	if (far_on())
		memory_new(p, len);
}

static struct memory *find(const void *p)
{
	struct memory *m;

	list_for_each_entry(m, &mem.all, link)
		if (!m->copy && p >= (void *)m->p && p < (void *)(m->p + m->len))
			return m;
	return NULL;
}

static void memory_free(struct memory *m)
{
	if (m->copy)
		kvfree(m->p);
	kvfree(m->twin);
	list_del(&m->link);
	kfree(m);
}

s64 far_reset(u64 *open, u64 *refused)
{
	struct far_call c = { .op = FAR_RESET };
	struct memory *m, *next;
	s64 ret;

	*open = 0;
	*refused = 0;
	if (!far_on())
		return 0;
	far_refuse_reset();
	ret = far_call(&c);
	*open = c.val[0];
	*refused = c.val[1];
	mutex_lock(&mem.lock);
	list_for_each_entry_safe(m, next, &mem.all, link)
		memory_free(m);
	mem.unheard = false;
	atomic_set(&mem.flying, 0);
	mutex_unlock(&mem.lock);
	return ret;
}

static bool holds_page(const struct memory *m, const struct page *page, void **address)
{
	void *p = (void *)((unsigned long)m->p & PAGE_MASK);

	if (m->copy || !is_vmalloc_addr(m->p))
		return false;	/* page_address() knows */
	for (; p < (void *)m->p + m->len; p += PAGE_SIZE) {
		if (vmalloc_to_page(p) == page) {
			*address = p;
			return true;
		}
	}
	return false;
}

void *far_page_address(const struct page *page)
{
	void *address = page_address(page);
	struct memory *m;

	mutex_lock(&mem.lock);
	list_for_each_entry(m, &mem.all, link)
		if (holds_page(m, page, &address))
			break;
	mutex_unlock(&mem.lock);
	return address;
}

/* ---- passing memory ---- */

static int touch(struct memory *m, size_t at, size_t len)
{
	lockdep_assert_held(&mem.lock);
	if (!m->window) {
		m->twin = kvzalloc(m->len, GFP_KERNEL);
		if (!m->twin)
			return -ENOMEM;
		m->window = ++mem.windows;
		m->lo = at;
	}
	m->lo = min(m->lo, at);
	m->hi = max(m->hi, at + len);
	list_move(&m->link, &mem.all);
	return 0;
}

/*
 * Copy memory that the case can't write through a window, such as a variable on its stack, for
 * reading.
 */
static struct memory *copy_of(const void *p, size_t len)
{
	struct memory *m;
	void *copy;

	if (len > FAR_MAX_BODY)
		return NULL;
	copy = kvmalloc(len, GFP_KERNEL);
	m = copy ? memory_new(copy, len) : NULL;
	if (!m) {
		kvfree(copy);
		return NULL;
	}
	memcpy(copy, p, len);
	m->copy = true;
	return m;
}

int far_seg(struct far_seg *seg, const void *p, size_t len, bool source)
{
	struct memory *m;
	size_t at;
	int ret;

	*seg = (struct far_seg){ .at = (uintptr_t)p, .len = len };
	if (!p || !len)
		return 0;
	mutex_lock(&mem.lock);
	m = find(p);
	mutex_unlock(&mem.lock);
	at = m ? p - (void *)m->p : 0;
	if (!m && source) {
		m = copy_of(p, len);
		if (!m)
			return -ENOMEM;
	}
	if (!m) {
		far_refuse("memory of side B is not the case's own");
		return -EFAULT;
	}
	mutex_lock(&mem.lock);
	ret = touch(m, at, min(len, m->len - at));
	mutex_unlock(&mem.lock);
	seg->window = m->window;
	seg->at = at;
	return ret;
}

void far_pin(const struct far_seg *seg)
{
	struct memory *m;

	mutex_lock(&mem.lock);
	list_for_each_entry(m, &mem.all, link)
		if (seg->window && m->window == seg->window)
			m->pinned = true;
	mutex_unlock(&mem.lock);
}

/* ---- exchanges ---- */

static void put_changes(struct far_buf *b, struct memory *m, bool even_none)
{
	struct far_change ch = {
		.window = m->window,
		.base = (uintptr_t)m->p,
		.size = m->len,
		.lo = m->lo,
		.hi = m->hi,
		.whole = !is_vmalloc_addr(m->p),
	};
	size_t at = b->len;

	far_put(b, &ch, sizeof(ch));
	ch.runs = far_runs_put(b, m->p, m->twin, m->lo, m->hi);
	if (b->bad)
		return;
	if (ch.runs || even_none || !m->known)
		memcpy(b->p + at, &ch, sizeof(ch));
	else
		b->len = at;
	m->known = true;
}

static struct memory *by_window(u64 window)
{
	struct memory *m;

	list_for_each_entry(m, &mem.all, link)
		if (m->window == window)
			return m;
	return NULL;
}

static int take_changes(struct far_buf *b, bool fresh)
{
	struct far_change ch;
	struct memory *m;

	while (b->at < b->len) {
		far_get(b, &ch, sizeof(ch));
		m = by_window(ch.window);
		if (b->bad || !m || !far_runs_get(b, ch.runs, m->p, m->twin, m->len))
			return -EPROTO;
		m->fresh = fresh;
	}
	return 0;
}

/* Has it to be compared? @recent counts. */
static bool concerns(const struct memory *m, enum far_news news, const struct memory *only,
		     int *recent)
{
	if (!m->window || (m->copy && m->known))
		return false;
	if (only)
		return m == only;
	return m->pinned || !m->known || (news != FAR_NEAR_NEWS && (*recent)++ < RECENT);
}

static int sync(enum far_news news, struct memory *only)
{
	struct far_buf out = {}, in = {};
	struct far_call c = { .op = FAR_SYNC, .keep = &in };
	int recent = 0, ret = 0;
	struct memory *m;

	lockdep_assert_held(&mem.lock);
	list_for_each_entry(m, &mem.all, link) {
		if (concerns(m, news, only, &recent))
			put_changes(&out, m, news != FAR_NO_NEWS);
		else if (news == FAR_NEAR_NEWS)
			m->fresh = false;
	}
	if (out.bad)
		ret = -ENOMEM;
	if (!ret && out.len) {
		c.in = out.p;
		c.in_len = out.len;
		ret = far_call(&c) ?: take_changes(&in, news != FAR_NO_NEWS);
	}
	far_free(&out);
	far_free(&in);
	return ret;
}

int far_sync(enum far_news news)
{
	unsigned int nth;
	int ret;

	if (in_interrupt() || irqs_disabled())
		return 0;
	nth = far_no_faults();
	mutex_lock(&mem.lock);
	ret = sync(news, NULL);
	mutex_unlock(&mem.lock);
	far_faults_again(nth);
	if (ret)
		pr_err("kfi_conformance: memory can't be made equal: %d\n", ret);
	return ret;
}

/* ---- events here ---- */

void far_unheard(void)
{
	WRITE_ONCE(mem.unheard, true);
}

void far_push(u64 flags)
{
	if (!far_on())
		return;
	if (flags & KFI_CQE)
		far_unheard();
	far_sync(FAR_NO_NEWS);
}

void far_posted(u64 flags, ssize_t ret)
{
	if (far_on() && !ret && !(flags & (KFI_CQE | KFI_NO_COMPLETION)))
		atomic_inc(&mem.flying);
}

/*
 * Within a series of operations a case may read only by differs() and the like; at its end it may
 * read directly.
 */
void far_ended(ssize_t n)
{
	struct memory *m;

	if (!far_on() || n <= 0)
		return;
	if (atomic_sub_return(n, &mem.flying) <= 0) {
		atomic_set(&mem.flying, 0);
		far_sync(FAR_NEAR_NEWS);
	} else if (!in_interrupt() && !irqs_disabled()) {
		mutex_lock(&mem.lock);
		list_for_each_entry(m, &mem.all, link)
			m->fresh = false;
		mutex_unlock(&mem.lock);
	}
}

void far_look(const void *p)
{
	struct memory *m;

	if (!far_on() || in_interrupt() || irqs_disabled())
		return;
	mutex_lock(&mem.lock);
	m = find(p);
	/* A case that reads again expects new contents. */
	if (m && m->window && (!m->fresh || READ_ONCE(mem.unheard)))
		sync(FAR_NEWS, m);
	if (m)
		m->fresh = false;
	mutex_unlock(&mem.lock);
}
