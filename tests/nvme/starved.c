// SPDX-License-Identifier: GPL-2.0
/*
 * starved.c - kfi_nvme_starved.ko: nvme-kfi and the kit, of the same source, over endpoints that
 * have no room for a command half of the time. No command may fail for that, nor be sent twice,
 * which tests/nvme/inside checks. And a stop of a queue takes long.
 */
#include <linux/atomic.h>
#include <linux/delay.h>
#include <linux/moduleparam.h>
#include "host.h"

/*
 * So many posts find room, and as many after them find none. It does not depend on time: otherwise
 * the number of commands without room would depend on the machine.
 */
enum { STARVED_RUN = 16 };

static unsigned int starved;
static atomic_t starved_posts;
module_param(starved, uint, 0444);
MODULE_PARM_DESC(starved, "commands for which there was no room");

/* The command of an asynchronous event is not tried again. */
static bool starved_spares(const struct kfi_msg *msg)
{
	const struct nvme_command *cmd = msg->type == KFI_KVEC ? msg->msg_iov->iov_base : NULL;

	return cmd && cmd->common.opcode == nvme_admin_async_event;
}

static ssize_t starved_sendmsg(struct kfid_ep *ep, const struct kfi_msg *msg, u64 flags)
{
	if (starved_spares(msg) ||
	    (unsigned int)atomic_inc_return(&starved_posts) / STARVED_RUN % 2 == 0)
		return __kfi_sendmsg(ep, msg, flags);
	starved++;
	return -EAGAIN;
}

/* A stop takes so long that answers which are on a slow wire arrive meanwhile. */
static int starved_reset(struct kfid_ep *ep)
{
	msleep(100);
	return kfi_ep_reset(ep);
}

#define __kfi_sendmsg starved_sendmsg
#define kfi_ep_reset starved_reset

/* The kit posts for nvme-kfi. */
#undef EXPORT_SYMBOL_GPL
#define EXPORT_SYMBOL_GPL(symbol)
#include "../../kfi/ulp/dom.c"
#include "../../kfi/ulp/conn.c"
#include "../../kfi/ulp/rx.c"
#include "../../kfi/ulp/listener.c"
#include "../../kfi/ulp/req.c"
#include "../../kfi/ulp/rw.c"

#include "../../ulps/nvme/host.c"
#include "../../ulps/nvme/ctrl.c"
#include "../../ulps/nvme/net.c"
#include "../../ulps/nvme/queue.c"
#include "../../ulps/nvme/io.c"
#include "../../ulps/nvme/hlayout.c"
