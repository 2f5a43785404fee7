// SPDX-License-Identifier: GPL-2.0
/*
 * foe.c - kfi_nvme_foe.ko: a host that connects to nvmet-kfi and sends what no host should send.
 * Its init runs the cases, in the network namespace of the process that loads it, and always fails,
 * so that the module never stays. Each case is a line "kfabric-foe: ok NAME" or "kfabric-foe: not
 * ok NAME: ..." in the log, the last one "kfabric-foe: done".
 *
 * The target has to refuse, to answer with an error, or to end the connection; and to continue to
 * serve others, which tests/nvme/inside checks.
 */
#include <linux/module.h>
#include <linux/nsproxy.h>
#include <linux/nvme.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/unaligned.h>
#include <kfi_cm.h>
#include "hints.h"

static char *provider = "sockets", *node = "10.0.0.2", *service = KFN_PORT,
	    *nqn = "nqn.2026-01.kfabric:test";
module_param(provider, charp, 0);
MODULE_PARM_DESC(provider, "kfabric's provider to connect over");
module_param(node, charp, 0);
MODULE_PARM_DESC(node, "address of the target");
module_param(service, charp, 0);
MODULE_PARM_DESC(service, "its service");
module_param(nqn, charp, 0);
MODULE_PARM_DESC(nqn, "a subsystem of its");

static unsigned int silence;
module_param(silence, uint, 0);
MODULE_PARM_DESC(silence, "seconds that the target waits for NVMe's connect, to be tried alone: all else may take longer than that");

enum { FOE_WAIT_MS = 20000, FOE_RSPS = 8, FOE_CAPSULE = 8192, FOE_REFUSED = 1000 };

#define FOE_NO_KEY	U64_MAX

/**
 * struct foe - a connection
 * @info: the target
 * @fabric: fabric
 * @domain: domain
 * @eq: events
 * @cq: completions
 * @ep: endpoint
 * @rsps: answers of the target
 * @capsule: message that is sent
 * @status: status of the last answer, without the phase
 * @detached: key of the region that it has detached, or FOE_NO_KEY
 *
 * One task uses it.
 */
struct foe {
	struct kfi_info		*info;
	struct kfid_fabric	*fabric;
	struct kfid_domain	*domain;
	struct kfid_eq		*eq;
	struct kfid_cq		*cq;
	struct kfid_ep		*ep;
	struct nvme_completion	rsps[FOE_RSPS];
	u8			capsule[FOE_CAPSULE];
	u16			status;
	u64			detached;
};

/* ---- a connection ---- */

static void foe_close_fid(kfid_t fid)
{
	if (fid)
		WARN_ON(kfi_close(fid));
}

static void foe_close(struct foe *foe)
{
	foe_close_fid(foe->ep ? &foe->ep->fid : NULL);
	foe_close_fid(foe->cq ? &foe->cq->fid : NULL);
	foe_close_fid(foe->eq ? &foe->eq->fid : NULL);
	foe_close_fid(foe->domain ? &foe->domain->fid : NULL);
	foe_close_fid(foe->fabric ? &foe->fabric->fid : NULL);
	kfi_freeinfo(foe->info);
	kfree(foe);
}

static int foe_find(struct foe *foe)
{
	struct kfi_info *hints = kfn_hints(provider, NULL);
	int ret;

	if (!hints)
		return -ENOMEM;
	ret = kfi_getinfo_net(current->nsproxy->net_ns, KFN_API, node, service, 0, hints,
			      &foe->info);
	kfi_freeinfo(hints);
	return ret;
}

static int foe_receives(struct foe *foe)
{
	int i, ret = 0;

	for (i = 0; i < FOE_RSPS && !ret; i++)
		ret = kfi_recv(foe->ep, &foe->rsps[i], sizeof(foe->rsps[i]), NULL, 0,
			       &foe->rsps[i]);
	return ret;
}

static int foe_objects(struct foe *foe)
{
	struct kfi_eq_attr eq = { .wait_obj = KFI_WAIT_QUEUE };
	struct kfi_cq_attr cq = {
		.size = 64, .format = KFI_CQ_FORMAT_DATA, .wait_obj = KFI_WAIT_QUEUE,
	};

	return foe_find(foe) ?:
		       kfi_fabric_net(current->nsproxy->net_ns, foe->info->fabric_attr, &foe->fabric, NULL) ?:
		       kfi_domain(foe->fabric, foe->info, &foe->domain, NULL)	    ?:
		       kfi_eq_open(foe->fabric, &eq, &foe->eq, NULL, NULL)	    ?:
		       kfi_cq_open(foe->domain, &cq, &foe->cq, NULL, NULL)	    ?:
		       kfi_endpoint(foe->domain, foe->info, &foe->ep, NULL)	    ?:
		       kfi_ep_bind(foe->ep, &foe->cq->fid, KFI_TRANSMIT | KFI_RECV) ?:
		       kfi_ep_bind(foe->ep, &foe->eq->fid, 0)			    ?:
		       kfi_enable(foe->ep)					    ?:
		       foe_receives(foe);
}

static struct foe *foe_open(void)
{
	struct foe *foe = kzalloc(sizeof(*foe), GFP_KERNEL);
	int ret;

	if (!foe)
		return ERR_PTR(-ENOMEM);
	ret = foe_objects(foe);
	if (!ret)
		return foe;
	foe_close(foe);
	return ERR_PTR(ret);
}

static int foe_event_error(struct foe *foe)
{
	struct nvme_rdma_cm_rej rej = {};
	struct kfi_eq_err_entry err = { .err_data = &rej, .err_data_size = sizeof(rej) };

	if (kfi_eq_readerr(foe->eq, &err, 0) < 0)
		return -EIO;
	return err.err_data_size >= sizeof(rej) && rej.recfmt == cpu_to_le16(NVME_RDMA_CM_FMT_1_0) ?
	       FOE_REFUSED + le16_to_cpu(rej.sts) : -err.err;
}

/* Return: 0 if the result is @want; FOE_REFUSED + the target's reason; or a negative error. */
static int foe_event(struct foe *foe, u32 want, unsigned int ms)
{
	u8 buf[sizeof(struct kfi_eq_cm_entry) + sizeof(struct nvme_rdma_cm_rep)] __aligned(8);
	u32 event;
	ssize_t n = kfi_eq_sread(foe->eq, &event, buf, sizeof(buf), ms, 0);

	if (n == -KFI_EAVAIL)
		return foe_event_error(foe);
	if (n < 0)
		return n;
	return event == want ? 0 : -EPROTO;
}

static int foe_connect(struct foe *foe, const void *data, size_t len)
{
	return kfi_connect(foe->ep, foe->info->dest_addr, data, len) ?:
		       foe_event(foe, KFI_CONNECTED, FOE_WAIT_MS);
}

/* Return: 0 when the target has ended the connection. */
static int foe_ended(struct foe *foe, unsigned int ms)
{
	int ret = foe_event(foe, KFI_SHUTDOWN, ms);

	return ret == -ECONNRESET || ret == -ECONNABORTED ? 0 : ret;
}

/* ---- commands ---- */

static int foe_send(struct foe *foe, size_t len)
{
	return kfi_send(foe->ep, foe->capsule, len, NULL, 0, foe->capsule);
}

/* Wait for the next answer. Return: 0, or a negative error, -EIO for an end of the connection. */
static int foe_answer(struct foe *foe)
{
	struct kfi_cq_data_entry entry;
	struct nvme_completion *rsp;
	ssize_t n;

	do {
		n = kfi_cq_sread(foe->cq, &entry, 1, NULL, FOE_WAIT_MS);
	} while (n == 1 && !(entry.flags & KFI_RECV));
	if (n != 1)
		return n == -KFI_EAVAIL ? -EIO : n ?: -ETIMEDOUT;
	rsp = entry.op_context;
	foe->status = le16_to_cpu(rsp->status) >> 1;
	foe->detached = entry.flags & KFI_INVALIDATE ? entry.data : FOE_NO_KEY;
	return entry.len == sizeof(*rsp) ? 0 : -EPROTO;
}

/* Send, and expect this error as the answer. */
static int foe_is_error(struct foe *foe, size_t len, u16 why)
{
	int ret = foe_send(foe, len) ?: foe_answer(foe);

	return ret ?: (foe->status & 0x7ff) == why ? 0 : -EBADE;
}

static void foe_clear(struct foe *foe)
{
	struct nvme_command *cmd = (void *)foe->capsule;

	memset(foe->capsule, 0, sizeof(foe->capsule));
	cmd->common.flags = NVME_CMD_SGL_METABUF;
}

/* A connect command as nvme-kfi would send, with its data in the capsule. */
static size_t foe_connect_command(struct foe *foe, u16 qid, u16 sqsize, u16 cntlid)
{
	struct nvmf_connect_command *cmd = (void *)foe->capsule;
	struct nvmf_connect_data *data = (void *)(cmd + 1);

	BUILD_BUG_ON(sizeof(*cmd) + sizeof(*data) > FOE_CAPSULE);
	foe_clear(foe);
	cmd->opcode = nvme_fabrics_command;
	cmd->fctype = nvme_fabrics_type_connect;
	cmd->dptr.sgl.length = cpu_to_le32(sizeof(*data));
	cmd->dptr.sgl.type = NVME_SGL_FMT_DATA_DESC << 4 | NVME_SGL_FMT_OFFSET;
	cmd->qid = cpu_to_le16(qid);
	cmd->sqsize = cpu_to_le16(sqsize);
	data->cntlid = cpu_to_le16(cntlid);
	strscpy(data->subsysnqn, nqn, sizeof(data->subsysnqn));
	strscpy(data->hostnqn, "nqn.2026-01.kfabric:foe", sizeof(data->hostnqn));
	return sizeof(*cmd) + sizeof(*data);
}

/* ---- cases ---- */

static const struct nvme_rdma_cm_req good = {
	.recfmt = cpu_to_le16(NVME_RDMA_CM_FMT_1_0), .qid = cpu_to_le16(1),
	.hrqsize = cpu_to_le16(32), .hsqsize = cpu_to_le16(31),
};

static int foe_refused(struct foe *foe, const struct nvme_rdma_cm_req *req, size_t len,
		       enum nvme_rdma_cm_status why)
{
	int ret = foe_connect(foe, req, len);

	return ret == FOE_REFUSED + why ? 0 : ret ?: -EISCONN;
}

/*
 * InfiniBand and RoCE fill private data up with zeros. A request that is too short is there a
 * request for a queue without commands.
 */
static bool foe_fills_up(void)
{
	return !strcmp(provider, "verbs");
}

static int foe_nothing(struct foe *foe)
{
	return foe_refused(foe, NULL, 0, foe_fills_up() ? NVME_RDMA_CM_INVALID_HSQSIZE :
							  NVME_RDMA_CM_INVALID_LEN);
}

/* The missing byte is reserved. */
static int foe_short_request(struct foe *foe)
{
	if (foe_fills_up())
		return foe_connect(foe, &good, sizeof(good) - 1);
	return foe_refused(foe, &good, sizeof(good) - 1, NVME_RDMA_CM_INVALID_LEN);
}

static int foe_other_format(struct foe *foe)
{
	struct nvme_rdma_cm_req req = good;

	req.recfmt = cpu_to_le16(0x4b01);
	return foe_refused(foe, &req, sizeof(req), NVME_RDMA_CM_INVALID_RECFMT);
}

static int foe_no_commands(struct foe *foe)
{
	struct nvme_rdma_cm_req req = good;

	req.hsqsize = 0;
	return foe_refused(foe, &req, sizeof(req), NVME_RDMA_CM_INVALID_HSQSIZE);
}

static int foe_many_commands(struct foe *foe)
{
	struct nvme_rdma_cm_req req = good;

	req.hsqsize = cpu_to_le16(0xffff);
	return foe_refused(foe, &req, sizeof(req), NVME_RDMA_CM_INVALID_HSQSIZE);
}

static int foe_long_admin(struct foe *foe)
{
	struct nvme_rdma_cm_req req = good;

	req.qid = 0;
	req.hsqsize = cpu_to_le16(127);
	req.hrqsize = cpu_to_le16(128);
	return foe_refused(foe, &req, sizeof(req), NVME_RDMA_CM_INVALID_HSQSIZE);
}

static int foe_no_room(struct foe *foe)
{
	struct nvme_rdma_cm_req req = good;

	req.hrqsize = cpu_to_le16(3);
	return foe_refused(foe, &req, sizeof(req), NVME_RDMA_CM_INVALID_HRQSIZE);
}

/* As a network fills it up. With such a network a consumer has room for the request only. */
static int foe_long_request(struct foe *foe)
{
	u8 data[sizeof(good) + 24] = {};
	size_t most, len = sizeof(most);
	int ret = kfi_getopt(&foe->ep->fid, KFI_OPT_ENDPOINT, KFI_OPT_CM_DATA_SIZE, &most, &len);

	memcpy(data, &good, sizeof(good));
	return ret ?: foe_connect(foe, data, min(most, sizeof(data)));
}

static int foe_short_command(struct foe *foe)
{
	return foe_connect(foe, &good, sizeof(good)) ?:
		       foe_send(foe, 63)	     ?:
						       foe_ended(foe, FOE_WAIT_MS);
}

/* More commands than there is room for before NVMe's connect. */
static int foe_flood(struct foe *foe)
{
	int i, ret = foe_connect(foe, &good, sizeof(good));

	foe_connect_command(foe, 7, 31, 0xfffe);
	for (i = 0; i < 3 && !ret; i++)
		ret = foe_is_error(foe, sizeof(struct nvme_command), NVME_SC_SGL_INVALID_OFFSET);
	return ret;
}

static int foe_silent(struct foe *foe)
{
	return foe_connect(foe, &good, sizeof(good)) ?:
		       foe_ended(foe, silence * MSEC_PER_SEC + FOE_WAIT_MS);
}

static int foe_read_first(struct foe *foe)
{
	struct nvme_command *cmd = (void *)foe->capsule;

	foe_clear(foe);
	cmd->rw.opcode = nvme_cmd_read;
	cmd->rw.nsid = cpu_to_le32(1);
	cmd->rw.dptr.sgl.type = NVME_KEY_SGL_FMT_DATA_DESC << 4 | NVME_SGL_FMT_INVALIDATE;
	return foe_connect(foe, &good, sizeof(good)) ?:
		       foe_is_error(foe, sizeof(*cmd), NVME_SC_INVALID_OPCODE);
}

static int foe_unknown_controller(struct foe *foe)
{
	int ret = foe_connect(foe, &good, sizeof(good));

	return ret   ?:
		       foe_is_error(foe, foe_connect_command(foe, 1, 31, 0xfff0),
				    NVME_SC_CONNECT_INVALID_PARAM);
}

/* It has announced a queue and connects another one. */
static int foe_other_queue(struct foe *foe)
{
	struct nvme_rdma_cm_req req = good;
	int ret;

	req.qid = cpu_to_le16(0xffff);
	ret = foe_connect(foe, &req, sizeof(req));
	return ret   ?:
		       foe_is_error(foe, foe_connect_command(foe, 0, 31, 0xffff),
				    NVME_SC_CONNECT_INVALID_PARAM);
}

static int foe_beyond_capsule(struct foe *foe)
{
	struct nvmf_connect_command *cmd = (void *)foe->capsule;
	int ret = foe_connect(foe, &good, sizeof(good));
	size_t len = foe_connect_command(foe, 1, 31, 1);

	cmd->dptr.sgl.addr = cpu_to_le64(U64_MAX - 100);
	return ret ?: foe_is_error(foe, len, NVME_SC_SGL_INVALID_OFFSET);
}

static int foe_more_than_came(struct foe *foe)
{
	int ret = foe_connect(foe, &good, sizeof(good));

	foe_connect_command(foe, 1, 31, 1);
	return ret   ?:
		       foe_is_error(foe, sizeof(struct nvmf_connect_command) + 1023,
				    NVME_SC_SGL_INVALID_OFFSET);
}

/* Among them: a data block at an address, a keyed one with an offset or of an unknown subtype. */
static int foe_odd_sgls(struct foe *foe)
{
	static const u8 types[] = { 0xff, 0x00, 0x11, 0x31, 0x41, 0x42, 0x50 };
	struct nvmf_connect_command *cmd = (void *)foe->capsule;
	size_t i, len = foe_connect_command(foe, 1, 31, 1);
	int ret = foe_connect(foe, &good, sizeof(good));

	for (i = 0; i < ARRAY_SIZE(types) && !ret; i++) {
		cmd->dptr.sgl.type = types[i];
		ret = foe_is_error(foe, len, NVME_SC_SGL_INVALID_TYPE);
	}
	return ret;
}

/* A connect command whose data is in a region that does not exist. */
static int foe_region_command(struct foe *foe, u32 len)
{
	struct nvmf_connect_command *cmd = (void *)foe->capsule;
	int ret = foe_connect(foe, &good, sizeof(good));

	foe_connect_command(foe, 1, 31, 1);
	cmd->dptr.ksgl.addr = cpu_to_le64(4096);
	memset(cmd->dptr.ksgl.key, 0x5a, sizeof(cmd->dptr.ksgl.key));
	put_unaligned_le24(len, cmd->dptr.ksgl.length);
	cmd->dptr.ksgl.type = NVME_KEY_SGL_FMT_DATA_DESC << 4 | NVME_SGL_FMT_INVALIDATE;
	return ret;
}

/* The data can't be fetched. */
static int foe_no_region(struct foe *foe)
{
	int ret = foe_region_command(foe, sizeof(struct nvmf_connect_data));

	ret = ret ?: foe_is_error(foe, sizeof(struct nvme_command), NVME_SC_DATA_XFER_ERROR);
	return ret == -EIO ? foe_ended(foe, FOE_WAIT_MS) : ret;
}

/* A connect command with its data in a region, which it asks the target to detach, or does not. */
static int foe_region_ends(struct foe *foe, bool detach)
{
	struct nvmf_connect_command *cmd = (void *)foe->capsule;
	struct kvec iov = { cmd + 1, sizeof(struct nvmf_connect_data) };
	struct kfi_mr_attr attr = {
		.type = KFI_KVEC, .mr_iov = &iov, .iov_count = 1, .access = KFI_REMOTE_READ,
		.requested_key = KFI_KEY_NOTAVAIL,
	};
	struct kfid_mr *mr;
	int ret;

	ret = foe_connect(foe, &good, sizeof(good)) ?: kfi_mr_alloc(foe->domain, 1, 0, &mr, NULL);
	if (ret)
		return ret;
	foe_connect_command(foe, 1, 31, 1);
	ret = kfi_mr_bind(mr, &foe->ep->fid, 0) ?: kfi_mr_register(mr, &attr, NULL);
	cmd->dptr.ksgl.addr = cpu_to_le64(kfi_mr_addr(mr));
	put_unaligned_le24(iov.iov_len, cmd->dptr.ksgl.length);
	put_unaligned_le32(kfi_mr_key(mr), cmd->dptr.ksgl.key);
	cmd->dptr.ksgl.type = NVME_KEY_SGL_FMT_DATA_DESC << 4 |
			      (detach ? NVME_SGL_FMT_INVALIDATE : NVME_SGL_FMT_ADDRESS);
	ret = ret ?: foe_is_error(foe, sizeof(struct nvme_command), NVME_SC_CONNECT_INVALID_PARAM);
	if (!ret && foe->detached != (detach ? kfi_mr_key(mr) : FOE_NO_KEY))
		ret = -ENOKEY;
	foe_close_fid(&mr->fid);
	return ret;
}

static int foe_detached(struct foe *foe)
{
	return foe_region_ends(foe, true);
}

static int foe_left_attached(struct foe *foe)
{
	return foe_region_ends(foe, false);
}

/* More data than a connect command has, for which an unknown host gets no memory. */
static int foe_much_data(struct foe *foe)
{
	int ret = foe_region_command(foe, sizeof(struct nvmf_connect_data) + 1);

	return ret ?: foe_is_error(foe, sizeof(struct nvme_command), NVME_SC_SGL_INVALID_DATA);
}

static const struct foe_case {
	const char	*name;
	int		(*run)(struct foe *foe);
} foe_cases[] = {
	{ "no private data", foe_nothing },
	{ "private data a byte short", foe_short_request },
	{ "another format", foe_other_format },
	{ "private data that is filled up", foe_long_request },
	{ "a queue of one command", foe_no_commands },
	{ "a queue of 65536 commands", foe_many_commands },
	{ "an admin queue of 128 commands", foe_long_admin },
	{ "no room for answers", foe_no_room },
	{ "a command of 63 bytes", foe_short_command },
	{ "I/O before NVMe's connect", foe_read_first },
	{ "connects without data, again and again", foe_flood },
	{ "a queue of an unknown controller", foe_unknown_controller },
	{ "another queue than announced", foe_other_queue },
	{ "data beyond the capsule", foe_beyond_capsule },
	{ "more data than came", foe_more_than_came },
	{ "SGLs of no known type", foe_odd_sgls },
	{ "a region that is not there", foe_no_region },
	{ "a region that the target is to detach", foe_detached },
	{ "a region that the target is to leave alone", foe_left_attached },
	{ "much data before NVMe's connect", foe_much_data },
};

static const struct foe_case foe_silence = { "silence", foe_silent };

static void foe_case(const struct foe_case *c)
{
	struct foe *foe = foe_open();
	int ret = IS_ERR(foe) ? PTR_ERR(foe) : c->run(foe);

	if (ret)
		pr_info("kfabric-foe: not ok %s: %d (status %#x)\n", c->name, ret,
			IS_ERR(foe) ? 0 : foe->status);
	else
		pr_info("kfabric-foe: ok %s\n", c->name);
	if (!IS_ERR(foe))
		foe_close(foe);
}

static int __init foe_init(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(foe_cases) && !silence; i++)
		foe_case(&foe_cases[i]);
	if (silence)
		foe_case(&foe_silence);
	pr_info("kfabric-foe: done\n");
	return -ECANCELED;
}

module_init(foe_init);
MODULE_DESCRIPTION("A host that means ill, for nvmet-kfi");
MODULE_LICENSE("GPL");
