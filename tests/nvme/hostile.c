// SPDX-License-Identifier: GPL-2.0
/*
 * hostile.c - kfi_nvme_hostile.ko: a host that connects to nvmet-kfi and sends what no host should
 * send. Its init runs the cases, in the network namespace of the process that loads it, and always
 * fails, so that the module never stays. Each case is a line "kfabric-hostile: ok NAME" or
 * "kfabric-hostile: not ok NAME: ..." in the log, the last one "kfabric-hostile: done".
 *
 * The target has to refuse, to answer with an error, or to end the connection; and to continue to
 * serve others, which tests/nvme/inside checks. With rogue=1 it is a target that nvme-kfi connects
 * to, and the lines begin with "kfabric-rogue:".
 */
#include <linux/module.h>
#include <linux/nsproxy.h>
#include <linux/nvme.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/unaligned.h>
#include <kfi_cm.h>
#include <kfi_conn.h>
#include "proto.h"

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

static char *other;
module_param(other, charp, 0);
MODULE_PARM_DESC(other, "another IPv4 address of this host, for a case that needs two");

static char *hostnqn = "nqn.2026-01.kfabric:hostile";
module_param(hostnqn, charp, 0);
MODULE_PARM_DESC(hostnqn, "name of this host");

static unsigned int cntlid;
module_param(cntlid, uint, 0);
MODULE_PARM_DESC(cntlid,
		 "a controller of hostnqn, to be tried alone: the target can't install its queues");

static bool rogue;
module_param(rogue, bool, 0);
MODULE_PARM_DESC(rogue, "be a target for nvme-kfi instead, which listens at node");

static unsigned int silence;
module_param(silence, uint, 0);
MODULE_PARM_DESC(silence,
		 "seconds that the target waits for NVMe's connect, to be tried alone: all else may take longer than that");

enum {
	HOSTILE_WAIT_MS	= 20000,
	HOSTILE_RSPS	= 8,
	HOSTILE_CAPSULE	= 8192,
	HOSTILE_REFUSED	= 1000,
	HOSTILE_QID	= 2,	/* a queue that a host with one I/O queue does not have */
	HOSTILE_CROWD	= 208,	/* more queues of the longest kind than a port has place for */
};

#define HOSTILE_NO_KEY	U64_MAX

/**
 * struct hostile - a connection
 * @info: the target
 * @fabric: fabric
 * @domain: domain
 * @eq: events
 * @cq: completions
 * @ep: endpoint
 * @rsps: answers of the target
 * @capsule: message that is sent
 * @next: message that is sent behind it
 * @status: status of the last answer, without the phase
 * @detached: key of the region that it has detached, or HOSTILE_NO_KEY
 *
 * One task uses it.
 */
struct hostile {
	struct kfi_info		*info;
	struct kfid_fabric	*fabric;
	struct kfid_domain	*domain;
	struct kfid_eq		*eq;
	struct kfid_cq		*cq;
	struct kfid_ep		*ep;
	struct nvme_completion	rsps[HOSTILE_RSPS];
	u8			capsule[HOSTILE_CAPSULE];
	u8			next[HOSTILE_CAPSULE];
	u16			status;
	u64			detached;
};

/* ---- a connection ---- */

static void hostile_close_fid(kfid_t fid)
{
	if (fid)
		WARN_ON(kfi_close(fid));
}

static void hostile_close(struct hostile *hostile)
{
	hostile_close_fid(hostile->ep ? &hostile->ep->fid : NULL);
	hostile_close_fid(hostile->cq ? &hostile->cq->fid : NULL);
	hostile_close_fid(hostile->eq ? &hostile->eq->fid : NULL);
	hostile_close_fid(hostile->domain ? &hostile->domain->fid : NULL);
	hostile_close_fid(hostile->fabric ? &hostile->fabric->fid : NULL);
	kfi_freeinfo(hostile->info);
	kfree(hostile);
}

/* @from: the address to connect from, or NULL */
static int hostile_find(struct hostile *hostile, const char *from)
{
	struct kfi_need need = KFN_NEED;

	need.provider = provider;
	return kfi_find(current->nsproxy->net_ns, &need, from, node, service, &hostile->info);
}

static int hostile_receives(struct hostile *hostile)
{
	int i, ret = 0;

	for (i = 0; i < HOSTILE_RSPS && !ret; i++)
		ret = kfi_recv(hostile->ep, &hostile->rsps[i], sizeof(hostile->rsps[i]), NULL, 0,
			       &hostile->rsps[i]);
	return ret;
}

static int hostile_objects(struct hostile *hostile, const char *from)
{
	struct kfi_eq_attr eq = { .wait_obj = KFI_WAIT_QUEUE };
	struct kfi_cq_attr cq = {
		.size = 64, .format = KFI_CQ_FORMAT_DATA, .wait_obj = KFI_WAIT_QUEUE,
	};

	return hostile_find(hostile, from) ?:
	       kfi_fabric_net(current->nsproxy->net_ns, hostile->info->fabric_attr,
			      &hostile->fabric, NULL) ?:
	       kfi_domain(hostile->fabric, hostile->info, &hostile->domain, NULL) ?:
	       kfi_eq_open(hostile->fabric, &eq, &hostile->eq, NULL, NULL) ?:
	       kfi_cq_open(hostile->domain, &cq, &hostile->cq, NULL, NULL) ?:
	       kfi_endpoint(hostile->domain, hostile->info, &hostile->ep, NULL) ?:
	       kfi_ep_bind(hostile->ep, &hostile->cq->fid, KFI_TRANSMIT | KFI_RECV) ?:
	       kfi_ep_bind(hostile->ep, &hostile->eq->fid, 0) ?:
	       kfi_enable(hostile->ep) ?:
	       hostile_receives(hostile);
}

static struct hostile *hostile_open(const char *from)
{
	struct hostile *hostile = kzalloc(sizeof(*hostile), GFP_KERNEL);
	int ret;

	if (!hostile)
		return ERR_PTR(-ENOMEM);
	ret = hostile_objects(hostile, from);
	if (!ret)
		return hostile;
	hostile_close(hostile);
	return ERR_PTR(ret);
}

static int hostile_event_error(struct hostile *hostile)
{
	struct nvme_rdma_cm_rej rej = {};
	struct kfi_eq_err_entry err = { .err_data = &rej, .err_data_size = sizeof(rej) };

	if (kfi_eq_readerr(hostile->eq, &err, 0) < 0)
		return -EIO;
	return err.err_data_size >= sizeof(rej) && rej.recfmt == cpu_to_le16(NVME_RDMA_CM_FMT_1_0) ?
	       HOSTILE_REFUSED + le16_to_cpu(rej.sts) : -err.err;
}

/* Return: 0 if the result is @want; HOSTILE_REFUSED + the target's reason; or a negative error. */
static int hostile_event(struct hostile *hostile, u32 want, unsigned int ms)
{
	u8 buf[sizeof(struct kfi_eq_cm_entry) + sizeof(struct nvme_rdma_cm_rep)] __aligned(8);
	u32 event;
	ssize_t n = kfi_eq_sread(hostile->eq, &event, buf, sizeof(buf), ms, 0);

	if (n == -KFI_EAVAIL)
		return hostile_event_error(hostile);
	if (n < 0)
		return n;
	return event == want ? 0 : -EPROTO;
}

static int hostile_connect(struct hostile *hostile, const void *data, size_t len)
{
	return kfi_connect(hostile->ep, hostile->info->dest_addr, data, len) ?:
		       hostile_event(hostile, KFI_CONNECTED, HOSTILE_WAIT_MS);
}

/* Return: 0 when the target has ended the connection. */
static int hostile_ended(struct hostile *hostile, unsigned int ms)
{
	int ret = hostile_event(hostile, KFI_SHUTDOWN, ms);

	return ret == -ECONNRESET || ret == -ECONNABORTED ? 0 : ret;
}

/* ---- commands ---- */

static int hostile_send(struct hostile *hostile, size_t len)
{
	return kfi_send(hostile->ep, hostile->capsule, len, NULL, 0, hostile->capsule);
}

/* Wait for the next answer. Return: 0, or a negative error, -EIO for an end of the connection. */
static int hostile_answer(struct hostile *hostile)
{
	struct kfi_cq_data_entry entry;
	struct nvme_completion *rsp;
	ssize_t n;

	do {
		n = kfi_cq_sread(hostile->cq, &entry, 1, NULL, HOSTILE_WAIT_MS);
	} while (n == 1 && !(entry.flags & KFI_RECV));
	if (n != 1)
		return n == -KFI_EAVAIL ? -EIO : n ?: -ETIMEDOUT;
	rsp = entry.op_context;
	hostile->status = le16_to_cpu(rsp->status) >> 1;
	hostile->detached = entry.flags & KFI_INVALIDATE ? entry.data : HOSTILE_NO_KEY;
	return entry.len == sizeof(*rsp) ? 0 : -EPROTO;
}

/* Send, and expect this error as the answer. */
static int hostile_is_error(struct hostile *hostile, size_t len, u16 why)
{
	int ret = hostile_send(hostile, len) ?: hostile_answer(hostile);

	return ret ?: (hostile->status & 0x7ff) == why ? 0 : -EBADE;
}

static void hostile_clear(struct hostile *hostile)
{
	struct nvme_command *cmd = (void *)hostile->capsule;

	memset(hostile->capsule, 0, sizeof(hostile->capsule));
	cmd->common.flags = NVME_CMD_SGL_METABUF;
}

/* A connect command as nvme-kfi would send, with its data in the capsule. */
static size_t hostile_connect_command(struct hostile *hostile, u16 qid, u16 sqsize, u16 cntlid)
{
	struct nvmf_connect_command *cmd = (void *)hostile->capsule;
	struct nvmf_connect_data *data = (void *)(cmd + 1);

	BUILD_BUG_ON(sizeof(*cmd) + sizeof(*data) > HOSTILE_CAPSULE);
	hostile_clear(hostile);
	cmd->opcode = nvme_fabrics_command;
	cmd->fctype = nvme_fabrics_type_connect;
	cmd->dptr.sgl.length = cpu_to_le32(sizeof(*data));
	cmd->dptr.sgl.type = NVME_SGL_FMT_DATA_DESC << 4 | NVME_SGL_FMT_OFFSET;
	cmd->qid = cpu_to_le16(qid);
	cmd->sqsize = cpu_to_le16(sqsize);
	data->cntlid = cpu_to_le16(cntlid);
	strscpy(data->subsysnqn, nqn, sizeof(data->subsysnqn));
	strscpy(data->hostnqn, hostnqn, sizeof(data->hostnqn));
	return sizeof(*cmd) + sizeof(*data);
}

/* ---- cases ---- */

static const struct nvme_rdma_cm_req good = {
	.recfmt = cpu_to_le16(NVME_RDMA_CM_FMT_1_0), .qid = cpu_to_le16(1),
	.hrqsize = cpu_to_le16(32), .hsqsize = cpu_to_le16(31),
};

/* Requests that the target refuses, with the reason */
static const struct hostile_request {
	const char	*name;
	size_t		len;
	u16		recfmt, qid, hsqsize, hrqsize;
	enum nvme_rdma_cm_status why;
} hostile_requests[] = {
	{ "no private data", 0, 0, 1, 31, 32, NVME_RDMA_CM_INVALID_LEN },
	/* The missing byte is reserved. */
	{ "private data a byte short", sizeof(good) - 1, 0, 1, 31, 32, NVME_RDMA_CM_INVALID_LEN },
	{ "another format", sizeof(good), 0x4b01, 1, 31, 32, NVME_RDMA_CM_INVALID_RECFMT },
	{ "a queue of one command", sizeof(good), 0, 1, 0, 32, NVME_RDMA_CM_INVALID_HSQSIZE },
	{ "a queue of 65536 commands", sizeof(good), 0, 1, 0xffff, 32, NVME_RDMA_CM_INVALID_HSQSIZE },
	{ "an admin queue of 128 commands", sizeof(good), 0, 0, 127, 128, NVME_RDMA_CM_INVALID_HSQSIZE },
	{ "no room for answers", sizeof(good), 0, 1, 31, 3, NVME_RDMA_CM_INVALID_HRQSIZE },
};

/*
 * InfiniBand and RoCE fill private data up with zeros. A request that is too short is a request for
 * a queue without commands there, or a good one.
 */
static int hostile_refused(struct hostile *hostile, const struct hostile_request *r)
{
	struct nvme_rdma_cm_req req = {
		.recfmt = cpu_to_le16(r->recfmt), .qid = cpu_to_le16(r->qid),
		.hrqsize = cpu_to_le16(r->hrqsize), .hsqsize = cpu_to_le16(r->hsqsize),
	};
	int ret = hostile_connect(hostile, &req, r->len), why = r->why;

	if (!strcmp(provider, "verbs") && why == NVME_RDMA_CM_INVALID_LEN) {
		if (r->len)
			return ret;
		why = NVME_RDMA_CM_INVALID_HSQSIZE;
	}
	return ret == HOSTILE_REFUSED + why ? 0 : ret ?: -EISCONN;
}

/* As a network fills it up. With such a network a consumer has room for the request only. */
static int hostile_long_request(struct hostile *hostile)
{
	u8 data[sizeof(good) + 24] = {};
	size_t most, len = sizeof(most);
	int ret = kfi_getopt(&hostile->ep->fid, KFI_OPT_ENDPOINT, KFI_OPT_CM_DATA_SIZE, &most,
			     &len);

	memcpy(data, &good, sizeof(good));
	return ret ?: hostile_connect(hostile, data, min(most, sizeof(data)));
}

static int hostile_short_command(struct hostile *hostile)
{
	return hostile_connect(hostile, &good, sizeof(good)) ?:
		       hostile_send(hostile, 63)	     ?:
						       hostile_ended(hostile, HOSTILE_WAIT_MS);
}

static void hostile_read_command(struct hostile *hostile)
{
	struct nvme_command *cmd = (void *)hostile->capsule;

	hostile_clear(hostile);
	cmd->rw.opcode = nvme_cmd_read;
	cmd->rw.nsid = cpu_to_le32(1);
	cmd->rw.dptr.sgl.type = NVME_KEY_SGL_FMT_DATA_DESC << 4 | NVME_SGL_FMT_INVALIDATE;
}

/* More commands than there is room for before NVMe's connect. */
static int hostile_flood(struct hostile *hostile)
{
	int i, ret = hostile_connect(hostile, &good, sizeof(good));

	hostile_read_command(hostile);
	for (i = 0; i < 3 && !ret; i++)
		ret = hostile_is_error(hostile, sizeof(struct nvme_command),
				       NVME_SC_INVALID_OPCODE);
	return ret;
}

static int hostile_silent(struct hostile *hostile)
{
	return hostile_connect(hostile, &good, sizeof(good)) ?:
		       hostile_ended(hostile, silence * MSEC_PER_SEC + HOSTILE_WAIT_MS);
}

static int hostile_read_first(struct hostile *hostile)
{
	hostile_read_command(hostile);
	return hostile_connect(hostile, &good, sizeof(good)) ?:
		       hostile_is_error(hostile, sizeof(struct nvme_command),
					NVME_SC_INVALID_OPCODE);
}

static int hostile_is_unknown(struct hostile *hostile)
{
	return hostile_is_error(hostile, hostile_connect_command(hostile, 1, 31, 0xfff0),
				NVME_SC_CONNECT_INVALID_PARAM);
}

static int hostile_unknown_controller(struct hostile *hostile)
{
	return hostile_connect(hostile, &good, sizeof(good)) ?: hostile_is_unknown(hostile);
}

/* It has announced a queue and connects another one. */
static int hostile_other_queue(struct hostile *hostile)
{
	struct nvme_rdma_cm_req req = good;
	int ret;

	req.qid = cpu_to_le16(0xffff);
	ret = hostile_connect(hostile, &req, sizeof(req));
	return ret   ?:
		       hostile_send(hostile, hostile_connect_command(hostile, 0, 31, 0xffff)) ?:
		       hostile_ended(hostile, HOSTILE_WAIT_MS);
}

/* The core may keep a part of a connect that fails, so a queue has only one. */
static int hostile_second_connect(struct hostile *hostile)
{
	int ret = hostile_connect(hostile, &good, sizeof(good));

	return ret   ?:
		       hostile_is_unknown(hostile) ?:
		       hostile_send(hostile, hostile_connect_command(hostile, 1, 31, 0xfff0)) ?:
		       hostile_ended(hostile, HOSTILE_WAIT_MS);
}

/*
 * The target finds the controller and can't allocate the queue. Behind that connect comes another
 * one, of queue 0, for a discovery controller, which has no other queue.
 */
static int hostile_uninstalled(struct hostile *hostile)
{
	struct nvmf_connect_command *cmd = (void *)hostile->next;
	struct nvmf_connect_data *data = (void *)(cmd + 1);
	struct nvme_rdma_cm_req req = good;
	size_t len = hostile_connect_command(hostile, HOSTILE_QID, 31, cntlid);

	memcpy(hostile->next, hostile->capsule, len);
	cmd->qid = 0;
	data->cntlid = cpu_to_le16(0xffff);
	strscpy(data->subsysnqn, NVME_DISC_SUBSYS_NAME, sizeof(data->subsysnqn));
	req.qid = cpu_to_le16(HOSTILE_QID);
	return hostile_connect(hostile, &req, sizeof(req))			  ?:
	       hostile_send(hostile, len)					  ?:
	       kfi_send(hostile->ep, hostile->next, len, NULL, 0, hostile->next) ?:
	       hostile_ended(hostile, HOSTILE_WAIT_MS);
}

static int hostile_beyond_capsule(struct hostile *hostile)
{
	struct nvmf_connect_command *cmd = (void *)hostile->capsule;
	int ret = hostile_connect(hostile, &good, sizeof(good));
	size_t len = hostile_connect_command(hostile, 1, 31, 1);

	cmd->dptr.sgl.addr = cpu_to_le64(U64_MAX - 100);
	return ret ?: hostile_is_error(hostile, len, NVME_SC_SGL_INVALID_OFFSET);
}

static int hostile_more_than_came(struct hostile *hostile)
{
	int ret = hostile_connect(hostile, &good, sizeof(good));

	hostile_connect_command(hostile, 1, 31, 1);
	return ret   ?:
		       hostile_is_error(hostile, sizeof(struct nvmf_connect_command) + 1023,
					NVME_SC_SGL_INVALID_OFFSET);
}

/* Among them: a data block at an address, a keyed one with an offset or of an unknown subtype. */
static int hostile_odd_sgls(struct hostile *hostile)
{
	static const u8 types[] = { 0xff, 0x00, 0x11, 0x31, 0x41, 0x42, 0x50 };
	struct nvmf_connect_command *cmd = (void *)hostile->capsule;
	size_t i, len = hostile_connect_command(hostile, 1, 31, 1);
	int ret = hostile_connect(hostile, &good, sizeof(good));

	for (i = 0; i < ARRAY_SIZE(types) && !ret; i++) {
		cmd->dptr.sgl.type = types[i];
		ret = hostile_is_error(hostile, len, NVME_SC_SGL_INVALID_TYPE);
	}
	return ret;
}

/* A connect command whose data is in a region that does not exist. */
static int hostile_region_command(struct hostile *hostile, u32 len)
{
	struct nvmf_connect_command *cmd = (void *)hostile->capsule;
	int ret = hostile_connect(hostile, &good, sizeof(good));

	hostile_connect_command(hostile, 1, 31, 1);
	cmd->dptr.ksgl.addr = cpu_to_le64(4096);
	memset(cmd->dptr.ksgl.key, 0x5a, sizeof(cmd->dptr.ksgl.key));
	put_unaligned_le24(len, cmd->dptr.ksgl.length);
	cmd->dptr.ksgl.type = NVME_KEY_SGL_FMT_DATA_DESC << 4 | NVME_SGL_FMT_INVALIDATE;
	return ret;
}

/* The data can't be fetched. */
static int hostile_no_region(struct hostile *hostile)
{
	int ret = hostile_region_command(hostile, sizeof(struct nvmf_connect_data));

	ret = ret ?: hostile_is_error(hostile, sizeof(struct nvme_command),
				      NVME_SC_DATA_XFER_ERROR);
	return ret == -EIO ? hostile_ended(hostile, HOSTILE_WAIT_MS) : ret;
}

/*
 * A connect command with its data in a region, which it asks the target to detach, or does not. It
 * names a controller that never was.
 */
static int hostile_region_ends(struct hostile *hostile, bool detach)
{
	struct nvmf_connect_command *cmd = (void *)hostile->capsule;
	struct kvec iov = { cmd + 1, sizeof(struct nvmf_connect_data) };
	struct kfi_mr_attr attr = {
		.type = KFI_KVEC, .mr_iov = &iov, .iov_count = 1, .access = KFI_REMOTE_READ,
		.requested_key = KFI_KEY_NOTAVAIL,
	};
	struct kfid_mr *mr;
	int ret;

	ret = hostile_connect(hostile, &good, sizeof(good)) ?: kfi_mr_alloc(hostile->domain, 1, 0,
									    &mr, NULL);
	if (ret)
		return ret;
	hostile_connect_command(hostile, 1, 31, 0xfff0);
	ret = kfi_mr_bind(mr, &hostile->ep->fid, 0) ?: kfi_mr_register(mr, &attr, NULL);
	cmd->dptr.ksgl.addr = cpu_to_le64(kfi_mr_addr(mr));
	put_unaligned_le24(iov.iov_len, cmd->dptr.ksgl.length);
	put_unaligned_le32(kfi_mr_key(mr), cmd->dptr.ksgl.key);
	cmd->dptr.ksgl.type = NVME_KEY_SGL_FMT_DATA_DESC << 4 |
			      (detach ? NVME_SGL_FMT_INVALIDATE : NVME_SGL_FMT_ADDRESS);
	ret = ret ?: hostile_is_error(hostile, sizeof(struct nvme_command),
				      NVME_SC_CONNECT_INVALID_PARAM);
	if (!ret && hostile->detached != (detach ? kfi_mr_key(mr) : HOSTILE_NO_KEY))
		ret = -ENOKEY;
	hostile_close_fid(&mr->fid);
	return ret;
}

static int hostile_detached(struct hostile *hostile)
{
	return hostile_region_ends(hostile, true);
}

static int hostile_left_attached(struct hostile *hostile)
{
	return hostile_region_ends(hostile, false);
}

/* More data than a connect command has, for which an unknown host gets no memory. */
static int hostile_much_data(struct hostile *hostile)
{
	int ret = hostile_region_command(hostile, sizeof(struct nvmf_connect_data) + 1);

	return ret ?: hostile_is_error(hostile, sizeof(struct nvme_command),
				       NVME_SC_SGL_INVALID_DATA);
}

/*
 * Another host makes more connections than the port has place for, and is silent. It ends its own
 * oldest connection, and neither that of this host nor its newest.
 */
static int hostile_crowd(struct hostile *hostile)
{
	static const struct nvme_rdma_cm_req req = {
		.recfmt = cpu_to_le16(NVME_RDMA_CM_FMT_1_0), .qid = cpu_to_le16(1),
		.hrqsize = cpu_to_le16(KFN_QUEUE_DEFAULT),
		.hsqsize = cpu_to_le16(KFN_QUEUE_DEFAULT - 1),
	};
	static struct hostile *crowd[HOSTILE_CROWD];
	int n, ret = hostile_connect(hostile, &req, sizeof(req));

	for (n = 0; n < HOSTILE_CROWD && !ret; n++) {
		crowd[n] = hostile_open(other);
		if (IS_ERR(crowd[n])) {
			ret = PTR_ERR(crowd[n]);
			break;
		}
		ret = hostile_connect(crowd[n], &req, sizeof(req));
	}
	if (!ret)
		ret = hostile_ended(crowd[0], HOSTILE_WAIT_MS) ?:
		      hostile_is_unknown(hostile) ?: hostile_is_unknown(crowd[n - 1]);
	while (n--)
		hostile_close(crowd[n]);
	return ret;
}

static const struct hostile_case {
	const char	*name;
	int		(*run)(struct hostile *hostile);
} hostile_cases[] = {
	{ "private data that is filled up", hostile_long_request },
	{ "a command of 63 bytes", hostile_short_command },
	{ "I/O before NVMe's connect", hostile_read_first },
	{ "I/O before NVMe's connect, again and again", hostile_flood },
	{ "a queue of an unknown controller", hostile_unknown_controller },
	{ "another queue than announced", hostile_other_queue },
	{ "a second connect", hostile_second_connect },
	{ "data beyond the capsule", hostile_beyond_capsule },
	{ "more data than came", hostile_more_than_came },
	{ "SGLs of no known type", hostile_odd_sgls },
	{ "a region that is not there", hostile_no_region },
	{ "a region that the target is to detach", hostile_detached },
	{ "a region that the target is to leave alone", hostile_left_attached },
	{ "much data before NVMe's connect", hostile_much_data },
};

static const struct hostile_case hostile_silence = { "silence", hostile_silent };
static const struct hostile_case hostile_install = { "a queue that is not installed",
						     hostile_uninstalled };
static const struct hostile_case hostile_silences = { "many silent connections", hostile_crowd };

static void hostile_case(const char *name, const struct hostile_case *c,
			 const struct hostile_request *r)
{
	struct hostile *hostile = hostile_open(NULL);
	int ret = IS_ERR(hostile) ? PTR_ERR(hostile) :
		  c ? c->run(hostile) : hostile_refused(hostile, r);

	if (ret)
		pr_info("kfabric-hostile: not ok %s: %d (status %#x)\n", name, ret,
			IS_ERR(hostile) ? 0 : hostile->status);
	else
		pr_info("kfabric-hostile: ok %s\n", name);
	if (!IS_ERR(hostile))
		hostile_close(hostile);
}

/*
 * ---- a target that sends invalid answers. It accepts a connection for each case. A case is ok when
 * the answers were sent; tests/nvme/inside checks the host: its connect has to fail, and the kernel
 * to survive ----
 */

#define ROGUE_SERVICE	"4430"

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

static void rogue_close(struct rogue *rogue)
{
	hostile_close_fid(rogue->pep ? &rogue->pep->fid : NULL);
	hostile_close_fid(rogue->eq ? &rogue->eq->fid : NULL);
	hostile_close_fid(rogue->fabric ? &rogue->fabric->fid : NULL);
	kfi_freeinfo(rogue->info);
	kfree(rogue);
}

static int rogue_find(struct rogue *rogue)
{
	struct kfi_need need = KFN_NEED;

	need.provider = provider;
	return kfi_find(current->nsproxy->net_ns, &need, node, NULL, ROGUE_SERVICE, &rogue->info);
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
	hostile_close_fid(rogue->ep ? &rogue->ep->fid : NULL);
	hostile_close_fid(rogue->cq ? &rogue->cq->fid : NULL);
	hostile_close_fid(rogue->domain ? &rogue->domain->fid : NULL);
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

static int rogue_run(void)
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
	return 0;
}

static int __init hostile_init(void)
{
	unsigned int i;

	if (rogue)
		return rogue_run() ?: -ECANCELED;
	for (i = 0; i < ARRAY_SIZE(hostile_requests) && !silence && !cntlid; i++)
		hostile_case(hostile_requests[i].name, NULL, &hostile_requests[i]);
	for (i = 0; i < ARRAY_SIZE(hostile_cases) && !silence && !cntlid; i++)
		hostile_case(hostile_cases[i].name, &hostile_cases[i], NULL);
	if (silence)
		hostile_case(hostile_silence.name, &hostile_silence, NULL);
	if (cntlid)
		hostile_case(hostile_install.name, &hostile_install, NULL);
	if (other)
		hostile_case(hostile_silences.name, &hostile_silences, NULL);
	pr_info("kfabric-hostile: done\n");
	return -ECANCELED;
}

module_init(hostile_init);
MODULE_DESCRIPTION("A host that means ill, for nvmet-kfi, and such a target, for nvme-kfi");
MODULE_LICENSE("GPL");
