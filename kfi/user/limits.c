// SPDX-License-Identifier: GPL-2.0
/*
 * Limits of one user, in all contexts together.
 *
 * Objects are counted for the user that has opened the context, even if a process of another user
 * closes it. Pinned memory is charged to user_struct.locked_vm, as io_uring, AF_XDP and mlock() of
 * shared memory do, so that RLIMIT_MEMLOCK covers all of them together.
 *
 * Kernel memory is charged to ku_user.bytes: by this module for what its calls allocate, and by
 * kfi.ko, through ku_ctx.account, for connections and unexpected messages. docs/user-space.md lists
 * what is charged where.
 */
#include <linux/cred.h>
#include <linux/in6.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/sched/user.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <net/net_namespace.h>
#include <net/ip.h>
#include "user.h"

static unsigned int max_contexts = 256;
module_param(max_contexts, uint, 0644);
MODULE_PARM_DESC(max_contexts, "number of times that a user can have /dev/kfi open (default 256)");

static unsigned int max_endpoints = 1024;
module_param(max_endpoints, uint, 0644);
MODULE_PARM_DESC(max_endpoints, "endpoints per user (default 1024)");

static unsigned int max_regions = 65536;
module_param(max_regions, uint, 0644);
MODULE_PARM_DESC(max_regions, "memory regions per user (default 65536)");

static unsigned int max_objects = 65536;
module_param(max_objects, uint, 0644);
MODULE_PARM_DESC(max_objects,
		 "queues, counters, vectors and requests per user (default 65536)");

static unsigned int max_queue_mb;
module_param(max_queue_mb, uint, 0644);
MODULE_PARM_DESC(max_queue_mb,
		 "MiB of kernel memory per user (default: a quarter of the machine's memory)");

/**
 * struct ku_user - a user with an open context
 * @entry: entry in ku_users
 * @contexts: references; under ku_users_lock
 * @cred: credentials of the first opener, which hold the user's account, to which pinned memory is
 *	charged
 * @count: objects of each kind
 * @bytes: kernel memory
 */
struct ku_user {
	struct list_head	entry;
	unsigned int		contexts;
	const struct cred	*cred;
	atomic_t		count[KU_KINDS];
	atomic_long_t		bytes;
};

void ku_limits_init(void)
{
	if (!max_queue_mb)
		max_queue_mb = max(totalram_pages() >> (20 - PAGE_SHIFT + 2), 16UL);
}

static LIST_HEAD(ku_users);
static DEFINE_MUTEX(ku_users_lock);

static struct ku_user *user_of(const struct user_struct *account)
{
	struct ku_user *user;

	lockdep_assert_held(&ku_users_lock);
	list_for_each_entry(user, &ku_users, entry)
		if (user->cred->user == account)
			return user;
	return NULL;
}

struct ku_user *ku_user_get(void)
{
	struct ku_user *user;

	mutex_lock(&ku_users_lock);
	user = user_of(current_user());
	if (!user) {
		user = kzalloc(sizeof(*user), GFP_KERNEL);
		if (!user)
			goto unlock;
		user->cred = get_current_cred();
		list_add(&user->entry, &ku_users);
	}
	user->contexts++;
unlock:
	mutex_unlock(&ku_users_lock);
	return user ?: ERR_PTR(-ENOMEM);
}

void ku_user_put(struct ku_user *user)
{
	mutex_lock(&ku_users_lock);
	if (!--user->contexts) {
		list_del(&user->entry);
		WARN_ON_ONCE(atomic_long_read(&user->bytes));
		put_cred(user->cred);
		kfree(user);
	}
	mutex_unlock(&ku_users_lock);
}

int ku_limits_take(struct ku_user *user, enum ku_kind kind)
{
	const unsigned int limit[KU_KINDS] = {
		[KU_CONTEXTS] = max_contexts, [KU_ENDPOINTS] = max_endpoints,
		[KU_REGIONS] = max_regions, [KU_OTHERS] = max_objects,
	};

	if ((unsigned int)atomic_inc_return(&user->count[kind]) <= limit[kind])
		return 0;
	atomic_dec(&user->count[kind]);
	return -EMFILE;
}

void ku_limits_give(struct ku_user *user, enum ku_kind kind)
{
	atomic_dec(&user->count[kind]);
}

void ku_limits_account(struct ku_user *user, struct kfi_account *account)
{
	account->bytes = &user->bytes;
	account->max_mib = &max_queue_mb;
}

/*
 * Copies are charged to the account in pieces of KU_STOCK bytes at least. ku_ctx.stock is what of
 * that is not used, so most operations do not access the count of the user.
 */
#define KU_STOCK	SZ_64K

static bool stock_debit(struct ku_ctx *ctx, long bytes)
{
	long stock = atomic_long_read(&ctx->stock);

	do {
		if (stock < bytes)
			return false;
	} while (!atomic_long_try_cmpxchg(&ctx->stock, &stock, stock - bytes));
	return true;
}

/*
 * Do operations hold copies that will make room when they end? A receive may end only after the
 * transmit that asks.
 */
static bool stock_in_use(struct ku_ctx *ctx, bool receive)
{
	long idle = atomic_long_read(&ctx->stock);

	if (!receive)
		idle += atomic_long_read(&ctx->received);
	return idle < atomic_long_read(&ctx->stocked);
}

int ku_stock_take(struct ku_ctx *ctx, size_t bytes, bool receive)
{
	size_t more = max_t(size_t, bytes, KU_STOCK);
	bool before;

	if (unlikely(!stock_debit(ctx, bytes))) {
		before = stock_in_use(ctx, receive);
		if (kfi_account_charge(&ctx->account, more))
			return before || stock_in_use(ctx, receive) ? -EAGAIN : -ENOMEM;
		atomic_long_add(more, &ctx->stocked);
		atomic_long_add(more - bytes, &ctx->stock);
	}
	if (receive)
		atomic_long_add(bytes, &ctx->received);
	return 0;
}

static void stock_return(struct ku_ctx *ctx, long bytes)
{
	atomic_long_sub(bytes, &ctx->stocked);
	kfi_account_uncharge(&ctx->account, bytes);
}

void ku_stock_give(struct ku_ctx *ctx, size_t bytes, bool receive)
{
	long stock;

	if (receive)
		atomic_long_sub(bytes, &ctx->received);
	stock = atomic_long_add_return(bytes, &ctx->stock);
	if (unlikely(stock > 2 * KU_STOCK) &&
	    atomic_long_try_cmpxchg(&ctx->stock, &stock, KU_STOCK))
		stock_return(ctx, stock - KU_STOCK);
}

void ku_stock_empty(struct ku_ctx *ctx)
{
	stock_return(ctx, atomic_long_xchg(&ctx->stock, 0));
	WARN_ON_ONCE(atomic_long_read(&ctx->stocked));
}

unsigned long ku_limits_lockable(void)
{
	return capable(CAP_IPC_LOCK) ? LONG_MAX : rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT;
}

int ku_limits_lock(struct ku_ctx *ctx, unsigned long pages)
{
	unsigned long limit = ku_limits_lockable();
	atomic_long_t *locked = &ctx->user->cred->user->locked_vm;
	unsigned long old = atomic_long_read(locked);

	do {
		if (old + pages > limit)
			return -ENOMEM;
	} while (!atomic_long_try_cmpxchg(locked, (long *)&old, old + pages));
	atomic64_add(pages, &ctx->mm->pinned_vm);
	return 0;
}

bool ku_limits_may_lock(struct ku_ctx *ctx, unsigned long pages, unsigned long ending)
{
	unsigned long locked = atomic_long_read(&ctx->user->cred->user->locked_vm);

	return locked - min(locked, ending) + pages <= ku_limits_lockable();
}

void ku_limits_unlock(struct ku_ctx *ctx, unsigned long pages)
{
	atomic_long_sub(pages, &ctx->user->cred->user->locked_vm);
	atomic64_sub(pages, &ctx->mm->pinned_vm);
}

/*
 * bind() makes the same check for a process. kfi.ko can't make it, because it binds in work items,
 * which may use any port. The format comes from the provider and not from the process. Processes
 * may not use short names: only the provider can convert their numbers to ports.
 */
int ku_limits_addr(struct ku_ctx *ctx, u32 format, const void *addr, size_t len)
{
	const struct sockaddr *sa = addr;
	unsigned int port = 0;

	switch (format) {
	case KFI_SOCKADDR_IN:
	case KFI_SOCKADDR_IN6:
		if (!addr)
			return 0;
		if (len >= sizeof(struct sockaddr_in) && sa->sa_family == AF_INET)
			port = ntohs(((const struct sockaddr_in *)addr)->sin_port);
		else if (len >= sizeof(struct sockaddr_in6) && sa->sa_family == AF_INET6)
			port = ntohs(((const struct sockaddr_in6 *)addr)->sin6_port);
		else
			return -EINVAL;
		if (port && inet_port_requires_bind_service(ctx->net, port) &&
		    !ns_capable(ctx->net->user_ns, CAP_NET_BIND_SERVICE))
			return -EACCES;
		return 0;
	case KFI_ADDR_LOOP:
	case KFI_ADDR_NTB:
		return 0;
	default:
		return -EINVAL;
	}
}
