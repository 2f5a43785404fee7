// SPDX-License-Identifier: GPL-2.0
/*
 * Limits of one user, besides those of ku_ctx.payer: copies, pinned memory, and ports.
 *
 * Pinned memory is charged to user_struct.locked_vm, as io_uring, AF_XDP and mlock() of shared
 * memory do, so that RLIMIT_MEMLOCK covers all of them together, and to the owners of the user
 * namespaces (kfi_payer.h). docs/user-space.md lists what is charged where.
 */
#include <linux/in6.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/user.h>
#include <linux/sizes.h>
#include <net/net_namespace.h>
#include <net/ip.h>
#include "user.h"

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
		if (kfi_account_charge(ku_account(ctx), more))
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
	kfi_account_uncharge(ku_account(ctx), bytes);
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
	int ret = kfi_payer_lock(ctx->payer, pages, ku_limits_lockable());

	if (!ret)
		atomic64_add(pages, &ctx->mm->pinned_vm);
	return ret;
}

bool ku_limits_may_lock(struct ku_ctx *ctx, unsigned long pages, unsigned long ending)
{
	return kfi_payer_may_lock(ctx->payer, pages, ku_limits_lockable(), ending);
}

void ku_limits_unlock(struct ku_ctx *ctx, unsigned long pages)
{
	kfi_payer_unlock(ctx->payer, pages);
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

	if (format >= KFI_ADDR_LOOP)
		return 0;	/* formats that exist only in kfabric have no ports of IP */
	if (format != KFI_SOCKADDR_IN && format != KFI_SOCKADDR_IN6)
		return -EINVAL;
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
}
