// SPDX-License-Identifier: GPL-2.0
/* The life of a case: objects that it opens, expectations, end. */
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/vmalloc.h>
#include <net/net_namespace.h>
#include "harness.h"

enum kept_kind { KEPT_FID, KEPT_MEM, KEPT_INFO, KEPT_DOMAIN_MEM };

struct kept {
	struct list_head	link;
	enum kept_kind		kind;
	void			*p;
};

/* ---- expectations ---- */

void test_fail(struct test *t, const char *file, int line, const char *fmt, ...)
{
	struct va_format vaf;
	bool first;
	va_list args;

	if (t->excused)
		return;
	file = kbasename(file);
	spin_lock_bh(&t->lock);
	/* A case that fails in a loop must not flood the log. */
	first = t->failures++ < 10;
	spin_unlock_bh(&t->lock);
	if (!first)
		return;
	va_start(args, fmt);
	vaf.fmt = fmt;
	vaf.va = &args;
	pr_info("    # %s/%s: %s:%d: %pV\n", t->c->name, type_name(t->type),
		file, line, &vaf);
	va_end(args);
}

bool test_eq(struct test *t, const char *file, int line, const char *what,
	     long long got, long long want)
{
	if (got == want)
		return true;
	test_fail(t, file, line, "%s: expected %lld (%#llx), got %lld (%#llx)",
		  what, want, want, got, got);
	return false;
}

void test_skip(struct test *t, const char *fmt, ...)
{
	va_list args;

	spin_lock_bh(&t->lock);
	va_start(args, fmt);
	vsnprintf(t->why, sizeof(t->why), fmt, args);
	va_end(args);
	t->skipped = true;
	spin_unlock_bh(&t->lock);
}

/* ---- objects and memory that are released ---- */

static void put_in(struct test *t, struct kept *k)
{
	spin_lock_bh(&t->lock);
	list_add(&k->link, &t->kept);
	spin_unlock_bh(&t->lock);
}

/*
 * These allocations are spared where a case lets others fail: what was opened would stay. And no
 * case has to ask whether there was memory for it.
 */
static void *keep(struct test *t, enum kept_kind kind, void *p)
{
	struct kept *k = kmalloc(sizeof(*k), GFP_KERNEL | __GFP_NOFAIL);

	k->kind = kind;
	k->p = p;
	put_in(t, k);
	return p;
}

void *test_zalloc(struct test *t, size_t len)
{
	return keep(t, KEPT_MEM, kvzalloc(len ?: 1, GFP_KERNEL | __GFP_NOFAIL));
}

/* No two pages are adjacent, except for a queue pair, whose receives have few pieces. */
void *test_pages(struct test *t, size_t len)
{
	void *p;

	len = PAGE_ALIGN(len ?: 1);
	if (!test_hw_recv(t))
		return keep(t, KEPT_MEM, __vmalloc(len, GFP_KERNEL | __GFP_ZERO | __GFP_NOFAIL));
	/* The kernel warns of __GFP_NOFAIL for as many adjacent pages. */
	while (!(p = kzalloc(len, GFP_KERNEL)))
		msleep(20);
	return keep(t, KEPT_MEM, p);
}

static int domain_mem(struct test *t, struct kfid_domain *domain, size_t len, struct kfi_mem **mem)
{
	int ret = kfi_mem_alloc(domain, len, 0, mem);

	if (ret && ret != -EOPNOTSUPP)
		FAIL(t, "mem_alloc of %zu bytes: %d", len, ret);
	if (!ret)
		keep(t, KEPT_DOMAIN_MEM, *mem);
	return ret;
}

struct kfi_mem *test_mem(struct test *t, struct kfid_domain *domain, size_t len)
{
	struct kfi_mem *mem;

	return domain_mem(t, domain, len, &mem) ? NULL : mem;
}

void *test_best(struct test *t, struct kfid_domain *domain, size_t len)
{
	struct kfi_mem *mem;
	int ret = domain_mem(t, domain, len, &mem);

	if (ret == -EOPNOTSUPP)
		return test_pages(t, len);
	return ret ? NULL : mem->addr;
}

void test_keep(struct test *t, struct kfid *fid)
{
	keep(t, KEPT_FID, fid);
}

static struct kept *take_out(struct test *t, void *p)
{
	struct kept *k, *found = NULL;

	spin_lock_bh(&t->lock);
	list_for_each_entry(k, &t->kept, link) {
		if (k->p == p) {
			list_del(&k->link);
			found = k;
			break;
		}
	}
	spin_unlock_bh(&t->lock);
	return found;
}

void test_keep_info(struct test *t, struct kfi_info *info)
{
	keep(t, KEPT_INFO, info);
}

void test_free_info(struct test *t, struct kfi_info *info)
{
	kfree(take_out(t, info));
	kfi_freeinfo(info);
}

void test_forget(struct test *t, struct kfid *fid)
{
	kfree(take_out(t, fid));
}

/*
 * Take it out of the list first: after the close another thread's object may have the same address.
 */
int test_close(struct test *t, struct kfid *fid)
{
	struct kept *k = take_out(t, fid);
	int ret = kfi_close(fid);

	if (!ret || !k)
		kfree(k);
	else
		put_in(t, k);
	return ret;
}

int test_mem_free(struct test *t, struct kfi_mem *mem)
{
	struct kept *k = take_out(t, mem);
	int ret = kfi_mem_free(mem);

	if (!ret)
		kfree(k);
	else
		put_in(t, k);
	return ret;
}

/* Take the newest memory of @domain, or of any domain, out of the list. */
static struct kept *take_domain_mem(struct test *t, const struct kfid_domain *domain)
{
	struct kept *k, *found = NULL;
	const struct kfi_mem *mem;

	spin_lock_bh(&t->lock);
	list_for_each_entry(k, &t->kept, link) {
		mem = k->p;
		if (k->kind == KEPT_DOMAIN_MEM && (!domain || mem->domain == domain)) {
			list_del(&k->link);
			found = k;
			break;
		}
	}
	spin_unlock_bh(&t->lock);
	return found;
}

/*
 * Only the domain uses the memory at this point. kfi_mem_free() may sleep, and other workers change
 * the list meanwhile, so each round takes one record out under the lock and starts again at the
 * head.
 */
void test_drop_mem(struct test *t, const struct kfid_domain *domain)
{
	struct kept *k;

	while ((k = take_domain_mem(t, domain))) {
		if (kfi_mem_free(k->p))
			FAIL(t, "memory of a domain is busy at the end");
		kfree(k);
	}
}

/*
 * One round of closing, newest first. Return: number of objects that were closed. All workers have
 * ended, so the list needs no lock.
 */
static int close_round(struct test *t, bool last)
{
	struct kept *k, *next;
	int ret, closed = 0;

	list_for_each_entry_safe(k, next, &t->kept, link) {
		if (k->kind != KEPT_FID)
			continue;
		ret = kfi_close(k->p);
		if (ret == -EBUSY && !last)
			continue;
		if (ret)
			FAIL(t, "close of an object of class %zu at the end: %d",
			     ((struct kfid *)k->p)->fclass, ret);
		list_del(&k->link);
		kfree(k);
		closed++;
	}
	return closed;
}

/*
 * An object may still be used although it was opened last, so repeat the rounds as long as that
 * helps. Memory is freed last: a provider may use it until its endpoint is closed.
 */
void test_teardown(struct test *t)
{
	struct kept *k, *next;

	worker_join_all(t);
	while (close_round(t, false))
		;
	test_drop_mem(t, NULL);
	while (close_round(t, false))
		;
	close_round(t, true);
	list_for_each_entry_safe(k, next, &t->kept, link) {
		if (k->kind == KEPT_INFO)
			kfi_freeinfo(k->p);
		else
			kvfree(k->p);
		kfree(k);
	}
	INIT_LIST_HEAD(&t->kept);
}

struct test *test_alloc(struct world *w, const struct test_case *c,
			enum kfi_ep_type type)
{
	struct test *t = kzalloc(sizeof(*t), GFP_KERNEL);

	if (!t)
		return NULL;
	t->w = w;
	t->c = c;
	t->type = type;
	INIT_LIST_HEAD(&t->kept);
	INIT_LIST_HEAD(&t->workers);
	spin_lock_init(&t->lock);
	return t;
}

static int test_ask(struct test *t, int side, u64 *caps)
{
	int ret = test_getinfo(t, side, *caps, &t->info[side]);

	if (ret != -ENODATA || !(t->c->flags & CASE_LESS))
		return ret;
	*caps &= ~KFI_ATOMIC;
	return test_getinfo(t, side, *caps, &t->info[side]);
}

/* Only an answer of getinfo skips a case. */
void test_run(struct test *t)
{
	u64 caps = t->c->caps ?: C_MSG;
	struct pair *p;
	int i, ret;

	for (i = 0; i < 2; i++) {
		ret = test_ask(t, i, &caps);
		if (ret == -ENODATA) {
			test_skip(t, "getinfo offers no %s endpoint with caps %#llx",
				  type_name(t->type), caps);
			return;
		}
		if (ret) {
			FAIL(t, "getinfo of side %c: %d", 'A' + i, ret);
			return;
		}
	}
	if (t->c->fn) {
		t->c->fn(t);
		return;
	}
	p = pair_open(t, NULL, NULL);
	REQUIRE(t, p);
	t->c->pair(t, p);
}

void test_free(struct test *t)
{
	kfi_freeinfo(t->info[0]);
	kfi_freeinfo(t->info[1]);
	kfree(t);
}

void world_drop_net(struct world *w, int side)
{
	struct net *net = w->side[side].net;

	w->side[side].net = NULL;
	if (net)
		put_net(net);
}

/* ---- discovery ---- */

/* Modes that the cases support as a consumer */
#define MR_MODE	(KFI_MR_LOCAL | KFI_MR_VIRT_ADDR | KFI_MR_ALLOCATED | \
		 KFI_MR_PROV_KEY | KFI_MR_ENDPOINT)

struct kfi_info *test_hints(struct test *t, u64 caps)
{
	struct kfi_info *hints;

	while (!(hints = kfi_allocinfo()))
		msleep(20);
	hints->caps = caps;
	hints->ep_attr->type = t->type;
	hints->domain_attr->mr_mode = MR_MODE;
	hints->fabric_attr->prov_name = kstrdup(t->w->provider, GFP_KERNEL | __GFP_NOFAIL);
	return hints;
}

int test_answer(struct test *t, int side, struct kfi_info *hints, struct kfi_info **info)
{
	struct side *s = &t->w->side[side];
	int ret;

	ret = kfi_getinfo_net(s->net, kfi_version(), s->node, NULL,
			      s->node ? KFI_SOURCE : 0, hints, info);
	kfi_freeinfo(hints);
	return ret;
}

int test_getinfo(struct test *t, int side, u64 caps, struct kfi_info **info)
{
	return test_answer(t, side, test_hints(t, caps), info);
}

/* ---- random numbers and patterns ---- */

u32 test_random(struct test *t, u32 below)
{
	u32 r;

	if (!below)
		return 0;
	spin_lock_bh(&t->lock);
	r = prandom_u32_state(&t->rnd);
	spin_unlock_bh(&t->lock);
	return r % below;
}

/* A sequence in which no part resembles another (splitmix64) */
static u64 pattern(u64 seed, u64 word)
{
	u64 x = seed + (word + 1) * 0x9e3779b97f4a7c15ULL;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	return x ^ (x >> 31);
}

void fill(void *buf, size_t len, u64 seed)
{
	size_t i, n;
	__le64 word;

	for (i = 0; i < len; i += n) {
		word = cpu_to_le64(pattern(seed, i / 8));
		n = min_t(size_t, len - i, 8);
		memcpy(buf + i, &word, n);
	}
}

ssize_t differs(const void *buf, size_t len, u64 seed)
{
	const u8 *p = buf;
	size_t i, j, n;
	__le64 word;

	for (i = 0; i < len; i += n) {
		word = cpu_to_le64(pattern(seed, i / 8));
		n = min_t(size_t, len - i, 8);
		if (!memcmp(p + i, &word, n))
			continue;
		for (j = 0; p[i + j] == ((u8 *)&word)[j]; j++)
			;
		return i + j;
	}
	return -1;
}

ssize_t not_all(const void *buf, size_t len, u8 byte)
{
	const u8 *bad = memchr_inv(buf, byte, len);

	return bad ? bad - (const u8 *)buf : -1;
}

/* ---- posting ---- */

bool test_again(struct test *t, unsigned long *until)
{
	if (!*until)
		*until = jiffies + msecs_to_jiffies(t->w->wait_ms);
	if (time_after(jiffies, *until) || fatal_signal_pending(current))
		return false;
	usleep_range(20, 100);
	return true;
}

/* ---- threads of a case ---- */

static int worker_thread(void *data)
{
	struct worker *w = data;

	w->ret = w->fn(w->arg);
	complete(&w->ended);
	/* Stay until joined, so that no thread is left in the module's text. */
	for (;;) {
		set_current_state(TASK_IDLE);
		if (kthread_should_stop())
			break;
		schedule();
	}
	__set_current_state(TASK_RUNNING);
	return 0;
}

int worker_start(struct test *t, struct worker *w, int cpu, int (*fn)(void *arg), void *arg)
{
	w->t = t;
	w->fn = fn;
	w->arg = arg;
	init_completion(&w->ended);
	w->task = kthread_create(worker_thread, w, "kfi_conformance");
	if (IS_ERR(w->task)) {
		FAIL(t, "no thread: %ld", PTR_ERR(w->task));
		return PTR_ERR(w->task);
	}
	if (cpu >= 0)
		kthread_bind(w->task, cpu);
	spin_lock_bh(&t->lock);
	list_add(&w->link, &t->workers);
	spin_unlock_bh(&t->lock);
	wake_up_process(w->task);
	return 0;
}

/*
 * Wait in pieces. The kernel reports a task that sleeps for a minute, and a worker may run for
 * longer.
 */
static bool worker_ends(struct worker *w, unsigned int ms)
{
	unsigned long end = jiffies + msecs_to_jiffies(ms), left;

	do {
		left = time_before(jiffies, end) ? end - jiffies : 0;
		if (wait_for_completion_timeout(&w->ended, min(left, 10UL * HZ)))
			return true;
	} while (left);
	return false;
}

int worker_join(struct worker *w, unsigned int ms)
{
	if (!worker_ends(w, ms)) {
		FAIL(w->t, "a thread did not end within %u ms", ms);
		wait_for_completion(&w->ended);
	}
	kthread_stop(w->task);
	spin_lock_bh(&w->t->lock);
	list_del(&w->link);
	spin_unlock_bh(&w->t->lock);
	return w->ret;
}

void worker_join_all(struct test *t)
{
	struct worker *w;

	while ((w = list_first_entry_or_null(&t->workers, struct worker, link))) {
		FAIL(t, "the case returned while a worker was running");
		worker_join(w, t->w->wait_ms);
	}
}
