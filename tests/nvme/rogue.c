// SPDX-License-Identifier: GPL-2.0
/*
 * rogue.c - kfi_nvme_rogue.ko: a target that nvme-kfi connects to and that sends invalid answers.
 * Its init listens in the network namespace of the process that loads it, accepts a connection for
 * each case, and always fails, so that the module never stays. Each case is a line "kfabric-rogue:
 * ok NAME" or "kfabric-rogue: not ok NAME: ..." in the log, the last one "kfabric-rogue: done".
 *
 * A case is ok when the answers were sent. tests/nvme/inside checks the host: its connect has to
 * fail, and the kernel to survive.
 */
#include <linux/module.h>
#include <linux/nsproxy.h>
#include <linux/nvme.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <kfi_cm.h>
#include "hints.h"

static char *provider = "sockets", *node = "10.0.0.2", *service = "4430";
module_param(provider, charp, 0);
MODULE_PARM_DESC(provider, "kfabric's provider to listen over");
module_param(node, charp, 0);
MODULE_PARM_DESC(node, "address to listen on");
module_param(service, charp, 0);
MODULE_PARM_DESC(service, "service to listen on");

/* With more guesses the host would count the lines that it leaves out of its log. */
enum {
	ROGUE_WAIT_MS	= 30000,
	ROGUE_GUESSES	= 3,
	ROGUE_DNR	= 0x4000,	/* do not retry: its name depends on the kernel */
	ROGUE_NO	= NVME_SC_CONNECT_INVALID_PARAM | ROGUE_DNR,
};

/**
 * struct rogue - a listener, and a connection at a time
 * @info: address at which it listens
 * @fabric: fabric
 * @eq: connection requests and events
 * @pep: listener
 * @domain: domain of the connection
 * @cq: completions
 * @ep: connection
 * @sqe: command of the host
 * @cqe: answer
 *
 * One task uses it.
 */
struct rogue {
	struct kfi_info		*info;
	struct kfid_fabric	*fabric;
	struct kfid_eq		*eq;
	struct kfid_pep		*pep;
	struct kfid_domain	*domain;
	struct kfid_cq		*cq;
	struct kfid_ep		*ep;
	struct nvme_command	sqe;
	struct nvme_completion	cqe;
};

/* ---- a listener ---- */

static void rogue_close_fid(kfid_t fid)
{
	if (fid)
		WARN_ON(kfi_close(fid));
}

static void rogue_close(struct rogue *rogue)
{
	rogue_close_fid(rogue->pep ? &rogue->pep->fid : NULL);
	rogue_close_fid(rogue->eq ? &rogue->eq->fid : NULL);
	rogue_close_fid(rogue->fabric ? &rogue->fabric->fid : NULL);
	kfi_freeinfo(rogue->info);
	kfree(rogue);
}

static int rogue_find(struct rogue *rogue)
{
	struct kfi_info *hints = kfn_hints(provider, NULL);
	int ret;

	if (!hints)
		return -ENOMEM;
	ret = kfi_getinfo_net(current->nsproxy->net_ns, KFN_API, node, service, KFI_SOURCE, hints,
			      &rogue->info);
	kfi_freeinfo(hints);
	return ret;
}

static int rogue_listen(struct rogue *rogue)
{
	struct kfi_eq_attr eq = { .wait_obj = KFI_WAIT_QUEUE };

	return rogue_find(rogue) ?:
		       kfi_fabric_net(current->nsproxy->net_ns, rogue->info->fabric_attr, &rogue->fabric, NULL) ?:
		       kfi_eq_open(rogue->fabric, &eq, &rogue->eq, NULL, NULL)	     ?:
		       kfi_passive_ep(rogue->fabric, rogue->info, &rogue->pep, NULL) ?:
		       kfi_pep_bind(rogue->pep, &rogue->eq->fid, 0)		     ?:
		       kfi_listen(rogue->pep);
}

/* ---- a connection ---- */

/* Return: 0, with the request's info in @info if a request is waited for; or a negative error. */
static int rogue_event(struct rogue *rogue, u32 want, struct kfi_info **info)
{
	u8 buf[sizeof(struct kfi_eq_cm_entry) + sizeof(struct nvme_rdma_cm_req)] __aligned(8);
	struct kfi_eq_cm_entry *cm = (void *)buf;
	u32 event;
	ssize_t n;

	do {	/* events of the connection before */
		struct kfi_eq_err_entry err = {};

		n = kfi_eq_sread(rogue->eq, &event, buf, sizeof(buf), ROGUE_WAIT_MS, 0);
		if (n == -KFI_EAVAIL)
			kfi_eq_readerr(rogue->eq, &err, 0);
	} while (n == -KFI_EAVAIL || (n > 0 && event == KFI_SHUTDOWN && want == KFI_CONNREQ));
	if (n < 0)
		return n;
	if (event == KFI_CONNREQ && info)
		*info = cm->info;
	return event == want ? 0 : -EPROTO;
}

static int rogue_objects(struct rogue *rogue, struct kfi_info *info)
{
	struct kfi_cq_attr cq = {
		.size = 64, .format = KFI_CQ_FORMAT_DATA, .wait_obj = KFI_WAIT_QUEUE,
	};

	return kfi_domain(rogue->fabric, info, &rogue->domain, NULL) ?:
	       kfi_cq_open(rogue->domain, &cq, &rogue->cq, NULL, NULL) ?:
	       kfi_endpoint(rogue->domain, info, &rogue->ep, NULL) ?:
	       kfi_ep_bind(rogue->ep, &rogue->cq->fid, KFI_TRANSMIT | KFI_RECV) ?:
	       kfi_ep_bind(rogue->ep, &rogue->eq->fid, 0) ?:
	       kfi_enable(rogue->ep) ?:
	       kfi_recv(rogue->ep, &rogue->sqe, sizeof(rogue->sqe), NULL, 0, &rogue->sqe);
}

/* Accept with @len bytes of @rep as private data. */
static int rogue_accept(struct rogue *rogue, const struct nvme_rdma_cm_rep *rep, size_t len)
{
	struct kfi_info *info = NULL;
	int ret = rogue_event(rogue, KFI_CONNREQ, &info);

	if (ret)
		return ret;
	ret = rogue_objects(rogue, info) ?: kfi_accept(rogue->ep, rep, len);
	kfi_freeinfo(info);
	return ret ?: rogue_event(rogue, KFI_CONNECTED, NULL);
}

static int rogue_reject(struct rogue *rogue, const void *data, size_t len)
{
	struct kfi_info *info = NULL;
	int ret = rogue_event(rogue, KFI_CONNREQ, &info);

	ret = ret ?: kfi_reject(rogue->pep, info->handle, data, len);
	kfi_freeinfo(info);
	return ret;
}

static void rogue_hang_up(struct rogue *rogue)
{
	rogue_close_fid(rogue->ep ? &rogue->ep->fid : NULL);
	rogue_close_fid(rogue->cq ? &rogue->cq->fid : NULL);
	rogue_close_fid(rogue->domain ? &rogue->domain->fid : NULL);
	rogue->ep = NULL;
	rogue->cq = NULL;
	rogue->domain = NULL;
}

/* It is copied, so the next one may follow at once. */
static int rogue_answer(struct rogue *rogue, u16 command_id, u16 status)
{
	rogue->cqe.command_id = command_id;
	rogue->cqe.status = cpu_to_le16(status << 1);
	return kfi_inject(rogue->ep, &rogue->cqe, sizeof(rogue->cqe), 0);
}

static int rogue_command(struct rogue *rogue)
{
	struct kfi_cq_data_entry entry;
	ssize_t n = kfi_cq_sread(rogue->cq, &entry, 1, NULL, ROGUE_WAIT_MS);

	return n == 1 ? 0 : n ?: -ETIMEDOUT;
}

/* ---- cases ---- */

/* The command is refused: the host does not try again. */
static int rogue_refuse(struct rogue *rogue)
{
	return rogue_answer(rogue, rogue->sqe.common.command_id, ROGUE_NO);
}

/* A host that has received an invalid answer may disconnect. */
static int rogue_unless_gone(int ret)
{
	return ret == -KFI_EAVAIL || ret == -ENOTCONN || ret == -ESHUTDOWN ? 0 : ret;
}

static const struct nvme_rdma_cm_rep rogue_good = { .crqsize = cpu_to_le16(NVME_AQ_DEPTH) };

/* A host that finds an error in private data disconnects. */
static int rogue_bad_rep(struct rogue *rogue, const struct nvme_rdma_cm_rep *rep, size_t len)
{
	return rogue_accept(rogue, rep, len) ?: rogue_event(rogue, KFI_SHUTDOWN, NULL);
}

static int rogue_no_rep(struct rogue *rogue)
{
	return rogue_bad_rep(rogue, NULL, 0);
}

static int rogue_other_format(struct rogue *rogue)
{
	struct nvme_rdma_cm_rep rep = rogue_good;

	rep.recfmt = cpu_to_le16(1);
	return rogue_bad_rep(rogue, &rep, sizeof(rep));
}

static int rogue_few_receives(struct rogue *rogue)
{
	struct nvme_rdma_cm_rep rep = rogue_good;

	rep.crqsize = cpu_to_le16(5);
	return rogue_bad_rep(rogue, &rep, sizeof(rep));
}

static int rogue_refuses(struct rogue *rogue)
{
	struct nvme_rdma_cm_rej rej = { .sts = cpu_to_le16(NVME_RDMA_CM_INVALID_QID) };

	return rogue_reject(rogue, &rej, sizeof(rej));
}

/* Too short to contain a status */
static int rogue_refuses_briefly(struct rogue *rogue)
{
	return rogue_reject(rogue, "ab", 2);
}

static int rogue_early(struct rogue *rogue)
{
	int i, ret = rogue_accept(rogue, &rogue_good, sizeof(rogue_good));

	for (i = 0; i < ROGUE_GUESSES && !ret; i++)
		ret = rogue_answer(rogue, i, 0);
	return rogue_unless_gone(ret ?: rogue_command(rogue) ?: rogue_refuse(rogue));
}

/* An event is an answer whose command has the first ID behind the tags. */
static int rogue_early_event(struct rogue *rogue)
{
	int ret = rogue_accept(rogue, &rogue_good, sizeof(rogue_good));

	ret = ret ?: rogue_answer(rogue, NVME_AQ_BLK_MQ_DEPTH, 0);
	return rogue_unless_gone(ret ?: rogue_command(rogue) ?: rogue_refuse(rogue));
}

/* Tags in generations that the host may have reached, but not the command that it has sent. */
static int rogue_guesses(struct rogue *rogue)
{
	int i, ret = rogue_accept(rogue, &rogue_good, sizeof(rogue_good)) ?: rogue_command(rogue);

	for (i = 0; i < ROGUE_GUESSES && !ret; i++)
		if ((i << 12 | i) != rogue->sqe.common.command_id)
			ret = rogue_answer(rogue, i << 12 | i, 0);
	return rogue_unless_gone(ret ?: rogue_refuse(rogue));
}

static int rogue_twice(struct rogue *rogue)
{
	return rogue_accept(rogue, &rogue_good, sizeof(rogue_good)) ?:
	       rogue_command(rogue) ?: rogue_refuse(rogue) ?:
	       rogue_answer(rogue, rogue->sqe.common.command_id, 0);
}

/*
 * The host's receive fails, and this side keeps the connection. The host has to disconnect instead
 * of waiting for an answer, because it has no receive left for one.
 */
static int rogue_too_long(struct rogue *rogue)
{
	return rogue_accept(rogue, &rogue_good, sizeof(rogue_good)) ?:
	       rogue_command(rogue) ?:
	       kfi_inject(rogue->ep, &rogue->sqe, sizeof(rogue->sqe), 0) ?:
	       rogue_event(rogue, KFI_SHUTDOWN, NULL);
}

static const struct rogue_case {
	const char	*name;
	int		(*run)(struct rogue *rogue);
} rogue_cases[] = {
	{ "an acceptance without private data", rogue_no_rep },
	{ "an acceptance of another format", rogue_other_format },
	{ "an acceptance with few receives", rogue_few_receives },
	{ "a refusal with a reason", rogue_refuses },
	{ "a refusal without a reason", rogue_refuses_briefly },
	{ "answers before any command", rogue_early },
	{ "an event before any command", rogue_early_event },
	{ "answers to what was not asked", rogue_guesses },
	{ "an answer, and again", rogue_twice },
	{ "an answer that is too long", rogue_too_long },
};

/* Time for the host to handle them before it learns of the end of the connection. */
static void rogue_case(struct rogue *rogue, const struct rogue_case *c)
{
	int ret = c->run(rogue);

	if (ret)
		pr_info("kfabric-rogue: not ok %s: %d\n", c->name, ret);
	else
		pr_info("kfabric-rogue: ok %s\n", c->name);
	schedule_timeout_uninterruptible(HZ);
	rogue_hang_up(rogue);
}

static int __init rogue_init(void)
{
	struct rogue *rogue = kzalloc(sizeof(*rogue), GFP_KERNEL);
	unsigned int i;
	int ret;

	if (!rogue)
		return -ENOMEM;
	ret = rogue_listen(rogue);
	pr_info("kfabric-rogue: listens (%d)\n", ret);
	for (i = 0; i < ARRAY_SIZE(rogue_cases) && !ret; i++)
		rogue_case(rogue, &rogue_cases[i]);
	rogue_close(rogue);
	pr_info("kfabric-rogue: done\n");
	return -ECANCELED;
}

module_init(rogue_init);
MODULE_DESCRIPTION("A target that means ill, for nvme-kfi");
MODULE_LICENSE("GPL");
