// SPDX-License-Identifier: GPL-2.0
/*
 * hostile.c - kfi_nvme_hostile.ko: a host that connects to nvmet-kfi and sends what no host should
 * send. Its init runs the cases, in the network namespace of the process that loads it, and always
 * fails, so that the module never stays. Each case is a line "kfabric-hostile: ok NAME" or
 * "kfabric-hostile: not ok NAME: ..." in the log, the last one "kfabric-hostile: done".
 *
 * The target has to refuse, to answer with an error, or to end the connection; and to continue to
 * serve others, which tests/nvme/inside checks. With rogue=1 it is a target that nvme-kfi connects
 * to, and stays until it is unloaded.
 *
 * What the kit does with crowds, short messages, and answers that are doubled or too long is proved
 * by tests/kunit/ulp_test.c.
 */
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/nsproxy.h>
#include <linux/nvme.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/unaligned.h>
#include <kfi_req.h>
#include "proto.h"

static char *provider = "sockets", *node = "10.0.0.2";
module_param(provider, charp, 0);
MODULE_PARM_DESC(provider, "kfabric's provider to connect over");
module_param(node, charp, 0);
MODULE_PARM_DESC(node, "address of the target");

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

static unsigned int calls;
module_param(calls, uint, 0444);
MODULE_PARM_DESC(calls, "connections that a host has requested of it");

enum {
	HOSTILE_WAIT_MS	= 20000,
	HOSTILE_RSPS	= 8,
	HOSTILE_CAPSULE	= 8192,
	HOSTILE_REFUSED	= 1000,
	HOSTILE_QID	= 2,	/* a queue that a host with one I/O queue does not have */
};

#define HOSTILE_NO_KEY	U64_MAX

/**
 * struct hostile - a connection
 * @conn: the kit's part
 * @info: the target
 * @dom: domain
 * @wait: woken by an answer, and by the loss
 * @answers: that have arrived and were not looked at
 * @lost: the target has ended the connection
 * @rep: the target's answer to the connection request
 * @capsule: message that is sent
 * @next: message that is sent behind it
 * @sent: for both
 * @digests: KFN_DIGEST_* of the connection
 * @len: bytes of the last answer
 * @status: its status, without the phase
 * @detached: key of the region that it has detached, or HOSTILE_NO_KEY
 * @req: has a region
 *
 * One task uses it.
 */
struct hostile {
	struct kfi_conn		conn;
	struct kfi_info		*info;
	struct kfi_dom		*dom;
	wait_queue_head_t	wait;
	atomic_t		answers;
	bool			lost;
	struct nvme_rdma_cm_rep	rep;
	u8			capsule[HOSTILE_CAPSULE];
	u8			next[HOSTILE_CAPSULE];
	struct kfi_cqe		sent[2];
	u8			digests;
	u32			len;
	u16			status;
	u64			detached;
	struct kfi_req		req;
};

/* ---- a connection ---- */

static void hostile_received(struct kfid_cq *cq, struct kfi_cqe *cqe,
			     const struct kfi_cq_err_entry *wc)
{
	struct nvme_completion rsp;
	struct kfi_conn *conn = kfi_rx_take(cqe, wc, &rsp, sizeof(rsp));
	struct hostile *hostile = container_of(conn, struct hostile, conn);

	if (!conn)
		return;
	hostile->len = wc->len;
	hostile->status = le16_to_cpu(rsp.status) >> 1;
	hostile->detached = wc->flags & KFI_INVALIDATE ? wc->data : HOSTILE_NO_KEY;
	atomic_inc(&hostile->answers);
	wake_up(&hostile->wait);
}

static void hostile_lost(struct kfi_conn *conn, int err)
{
	struct hostile *hostile = container_of(conn, struct hostile, conn);

	WRITE_ONCE(hostile->lost, true);
	wake_up(&hostile->wait);
}

static const struct kfi_conn_ops hostile_ops = {
	.received = hostile_received, .lost = hostile_lost,
};

static void hostile_close(struct hostile *hostile)
{
	kfi_conn_close(&hostile->conn);
	if (!IS_ERR_OR_NULL(hostile->dom))
		kfi_dom_put(hostile->dom);
	kfi_freeinfo(hostile->info);
	kfree(hostile);
}

static int hostile_objects(struct hostile *hostile)
{
	const struct kfi_conn_attr attr = {
		.depth = HOSTILE_RSPS, .rx_len = sizeof(struct kfn_cqe), .region_segs = 1,
		.where = KFI_CONN_WORK,
	};
	struct kfi_need need = KFN_NEED;
	int ret;

	need.provider = provider;
	ret = kfi_find(current->nsproxy->net_ns, &need, NULL, node, KFN_PORT, &hostile->info);
	if (ret)
		return ret;
	hostile->dom = kfi_dom_get(current->nsproxy->net_ns, hostile->info, THIS_MODULE);
	return PTR_ERR_OR_ZERO(hostile->dom) ?:
	       kfi_conn_open(&hostile->conn, hostile->dom, hostile->info, &attr);
}

static struct hostile *hostile_open(void)
{
	struct hostile *hostile = kzalloc(sizeof(*hostile), GFP_KERNEL);
	int ret;

	if (!hostile)
		return ERR_PTR(-ENOMEM);
	init_waitqueue_head(&hostile->wait);
	kfi_conn_init(&hostile->conn, &hostile_ops);
	ret = hostile_objects(hostile);
	if (!ret)
		return hostile;
	hostile_close(hostile);
	return ERR_PTR(ret);
}

/* Return: 0; HOSTILE_REFUSED + the target's reason; or a negative error. */
static int hostile_connect(struct hostile *hostile, const void *data, size_t len)
{
	const struct nvme_rdma_cm_rej *rej = (void *)&hostile->rep;
	size_t answer = sizeof(hostile->rep);
	int ret = kfi_conn_connect(&hostile->conn, hostile->info->dest_addr, data, len,
				   &hostile->rep, &answer, HOSTILE_WAIT_MS);

	if (ret == -ECONNREFUSED && answer >= sizeof(*rej) &&
	    rej->recfmt == cpu_to_le16(NVME_RDMA_CM_FMT_1_0))
		return HOSTILE_REFUSED + le16_to_cpu(rej->sts);
	return ret;
}

/* Return: 0 when the target has ended the connection. */
static int hostile_ended(struct hostile *hostile, unsigned int ms)
{
	return wait_event_timeout(hostile->wait, READ_ONCE(hostile->lost), msecs_to_jiffies(ms)) ?
	       0 : -ETIMEDOUT;
}

/* ---- commands ---- */

static void hostile_sent(struct kfid_cq *cq, struct kfi_cqe *cqe, const struct kfi_cq_err_entry *wc)
{
}

static int hostile_post(struct hostile *hostile, void *capsule, struct kfi_cqe *sent, size_t len)
{
	struct kvec iov = { capsule, len };
	struct kfi_msg msg = {
		.type = KFI_KVEC, .msg_iov = &iov, .iov_count = 1, .addr = KFI_ADDR_UNSPEC,
		.context = sent,
	};
	int ret = -ENOTCONN;

	sent->done = hostile_sent;
	if (kfi_conn_enter(&hostile->conn)) {
		ret = kfi_sendmsg(hostile->conn.ep, &msg, KFI_CQE);
		kfi_conn_exit(&hostile->conn);
	}
	return ret;
}

static int hostile_send(struct hostile *hostile, size_t len)
{
	return hostile_post(hostile, hostile->capsule, &hostile->sent[0], len);
}

/* Wait for the next answer. Return: 0, or a negative error, -EIO for an end of the connection. */
static int hostile_answer(struct hostile *hostile)
{
	if (!wait_event_timeout(hostile->wait, atomic_read(&hostile->answers) ||
			       READ_ONCE(hostile->lost), msecs_to_jiffies(HOSTILE_WAIT_MS)))
		return -ETIMEDOUT;
	if (!atomic_add_unless(&hostile->answers, -1, 0))
		return -EIO;
	return hostile->len == kfn_head_len(sizeof(struct nvme_completion), hostile->digests) ?
	       0 : -EPROTO;
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
	strscpy(data->subsysnqn, "nqn.2026-01.kfabric:test", sizeof(data->subsysnqn));
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
	int ret = kfi_getopt(&hostile->conn.ep->fid, KFI_OPT_ENDPOINT, KFI_OPT_CM_DATA_SIZE, &most,
			     &len);

	memcpy(data, &good, sizeof(good));
	return ret ?: hostile_connect(hostile, data, min(most, sizeof(data)));
}

static size_t hostile_read_command(struct hostile *hostile)
{
	struct nvme_command *cmd = (void *)hostile->capsule;

	hostile_clear(hostile);
	cmd->rw.opcode = nvme_cmd_read;
	cmd->rw.nsid = cpu_to_le32(1);
	cmd->rw.dptr.sgl.type = NVME_KEY_SGL_FMT_DATA_DESC << 4 | NVME_SGL_FMT_INVALIDATE;
	return sizeof(*cmd);
}

/* More commands than there is room for before NVMe's connect. */
static int hostile_flood(struct hostile *hostile)
{
	size_t len = hostile_read_command(hostile);
	int i, ret = 0;

	for (i = 0; i < 3 && !ret; i++)
		ret = hostile_is_error(hostile, len, NVME_SC_INVALID_OPCODE);
	return ret;
}

static size_t hostile_unknown(struct hostile *hostile)
{
	return hostile_connect_command(hostile, 1, 31, 0xfff0);
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
	size_t len = hostile_unknown(hostile);

	return hostile_is_error(hostile, len, NVME_SC_CONNECT_INVALID_PARAM) ?:
	       hostile_send(hostile, len) ?: hostile_ended(hostile, HOSTILE_WAIT_MS);
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
	       hostile_post(hostile, hostile->next, &hostile->sent[1], len)	  ?:
	       hostile_ended(hostile, HOSTILE_WAIT_MS);
}

static size_t hostile_beyond_capsule(struct hostile *hostile)
{
	struct nvmf_connect_command *cmd = (void *)hostile->capsule;
	size_t len = hostile_connect_command(hostile, 1, 31, 1);

	cmd->dptr.sgl.addr = cpu_to_le64(U64_MAX - 100);
	return len;
}

static size_t hostile_more_than_came(struct hostile *hostile)
{
	return hostile_connect_command(hostile, 1, 31, 1) - 1;
}

/* Among them: a data block at an address, a keyed one with an offset or of an unknown subtype. */
static int hostile_odd_sgls(struct hostile *hostile)
{
	static const u8 types[] = { 0xff, 0x00, 0x11, 0x31, 0x41, 0x42, 0x50 };
	struct nvmf_connect_command *cmd = (void *)hostile->capsule;
	size_t i, len = hostile_connect_command(hostile, 1, 31, 1);
	int ret = 0;

	for (i = 0; i < ARRAY_SIZE(types) && !ret; i++) {
		cmd->dptr.sgl.type = types[i];
		ret = hostile_is_error(hostile, len, NVME_SC_SGL_INVALID_TYPE);
	}
	return ret;
}

/*
 * A connect command with its data in a region, which it asks the target to detach, or does not. It
 * names a controller that never was.
 */
static int hostile_region_ends(struct hostile *hostile, bool detach)
{
	struct nvmf_connect_command *cmd = (void *)hostile->capsule;
	struct kfi_req *req = &hostile->req;
	struct bio_vec vec;
	int ret;

	hostile_unknown(hostile);
	bvec_set_virt(&vec, cmd + 1, sizeof(struct nvmf_connect_data));
	if (!kfi_conn_enter(&hostile->conn))
		return -ENOTCONN;
	kfi_req_begin(req, &hostile->conn, 0);
	ret = kfi_req_map(req, &vec, 1, KFI_REMOTE_READ);
	kfi_conn_exit(&hostile->conn);
	cmd->dptr.ksgl.addr = cpu_to_le64(req->addr);
	put_unaligned_le24(vec.bv_len, cmd->dptr.ksgl.length);
	put_unaligned_le32(req->key, cmd->dptr.ksgl.key);
	cmd->dptr.ksgl.type = NVME_KEY_SGL_FMT_DATA_DESC << 4 |
			      (detach ? NVME_SGL_FMT_INVALIDATE : NVME_SGL_FMT_ADDRESS);
	ret = ret ?: hostile_is_error(hostile, sizeof(struct nvme_command),
				      NVME_SC_CONNECT_INVALID_PARAM);
	if (!ret && hostile->detached != (detach ? req->key : HOSTILE_NO_KEY))
		ret = -ENOKEY;
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
static size_t hostile_much_data(struct hostile *hostile)
{
	struct nvmf_connect_command *cmd = (void *)hostile->capsule;

	hostile_connect_command(hostile, 1, 31, 1);
	memset(&cmd->dptr, 0, sizeof(cmd->dptr));
	put_unaligned_le24(sizeof(struct nvmf_connect_data) + 1, cmd->dptr.ksgl.length);
	cmd->dptr.ksgl.type = NVME_KEY_SGL_FMT_DATA_DESC << 4 | NVME_SGL_FMT_INVALIDATE;
	return sizeof(struct nvme_command);
}

/* Connect with digests, and prepare NVMe's connect, with its data behind the digest. */
static int hostile_digests(struct hostile *hostile, u8 digests, size_t *len)
{
	struct nvme_rdma_cm_req req = good;
	int ret;

	kfn_cm_set_digests(req.rsvd, digests);
	ret = hostile_connect(hostile, &req, sizeof(req));
	if (ret)
		return ret;
	hostile->digests = kfn_cm_get_digests(hostile->rep.rsvd);
	*len = hostile_unknown(hostile) + sizeof(struct kfn_digest);
	memmove(hostile->capsule + sizeof(struct kfn_sqe),
		hostile->capsule + sizeof(struct nvme_command), sizeof(struct nvmf_connect_data));
	return hostile->digests == KFN_DIGESTS ? 0 : -EPROTO;
}

/* The target confirms what there is. */
static int hostile_unknown_digests(struct hostile *hostile)
{
	size_t len;

	return hostile_digests(hostile, 0xff, &len);
}

static int hostile_wrong_header(struct hostile *hostile)
{
	size_t len;

	return hostile_digests(hostile, KFN_DIGESTS, &len) ?: hostile_send(hostile, len) ?:
	       hostile_ended(hostile, HOSTILE_WAIT_MS);
}

static int hostile_no_digest(struct hostile *hostile)
{
	size_t len;

	return hostile_digests(hostile, KFN_DIGESTS, &len) ?:
	       hostile_send(hostile, sizeof(struct nvme_command)) ?:
	       hostile_ended(hostile, HOSTILE_WAIT_MS);
}

static int hostile_wrong_data(struct hostile *hostile)
{
	size_t len;
	int ret = hostile_digests(hostile, KFN_DIGESTS, &len);

	kfn_seal(hostile->capsule, sizeof(struct nvme_command), KFN_DIGESTS, 0);
	return ret ?: hostile_is_error(hostile, len, NVME_SC_DATA_XFER_ERROR);
}

/* Either @run, on a connection unless it is to @call itself, or @make a command and expect @why. */
static const struct hostile_case {
	const char	*name;
	int		(*run)(struct hostile *hostile);
	bool		call;
	size_t		(*make)(struct hostile *hostile);
	u16		why;
} hostile_cases[] = {
	{ "private data that is filled up", hostile_long_request, true },
	{ "I/O before NVMe's connect, again and again", hostile_flood },
	{ "a queue of an unknown controller", .make = hostile_unknown,
	  .why = NVME_SC_CONNECT_INVALID_PARAM },
	{ "another queue than announced", hostile_other_queue, true },
	{ "a second connect", hostile_second_connect },
	{ "data beyond the capsule", .make = hostile_beyond_capsule,
	  .why = NVME_SC_SGL_INVALID_OFFSET },
	{ "more data than came", .make = hostile_more_than_came,
	  .why = NVME_SC_SGL_INVALID_OFFSET },
	{ "SGLs of no known type", hostile_odd_sgls },
	{ "a region that the target is to detach", hostile_detached },
	{ "a region that the target is to leave alone", hostile_left_attached },
	{ "much data before NVMe's connect", .make = hostile_much_data,
	  .why = NVME_SC_SGL_INVALID_DATA },
	{ "digests that do not exist", hostile_unknown_digests, true },
	{ "a wrong header digest", hostile_wrong_header, true },
	{ "a command without its digest", hostile_no_digest, true },
	{ "a wrong data digest", hostile_wrong_data, true },
};

static const struct hostile_case hostile_install = {
	"a queue that is not installed", hostile_uninstalled, true
};

static int hostile_try(struct hostile *hostile, const struct hostile_case *c)
{
	int ret = c->call ? 0 : hostile_connect(hostile, &good, sizeof(good));

	return ret ?: c->run ? c->run(hostile) :
			       hostile_is_error(hostile, c->make(hostile), c->why);
}

static void hostile_case(const char *name, const struct hostile_case *c,
			 const struct hostile_request *r)
{
	struct hostile *hostile = hostile_open();
	int ret = IS_ERR(hostile) ? PTR_ERR(hostile) :
		  c ? hostile_try(hostile, c) : hostile_refused(hostile, r);

	if (ret)
		pr_info("kfabric-hostile: not ok %s: %d (status %#x)\n", name, ret,
			IS_ERR(hostile) ? 0 : hostile->status);
	else
		pr_info("kfabric-hostile: ok %s\n", name);
	if (!IS_ERR(hostile))
		hostile_close(hostile);
}

/*
 * ---- a target that answers wrongly. Each connection request is another case; the host's connect
 * has to fail, for a reason that tests/nvme/inside looks for ----
 */

#define ROGUE_SERVICE	"4430"

/* With more guesses the host would count the lines that it leaves out of its log. */
enum {
	ROGUE_GUESSES	= 3,
	ROGUE_DNR	= 0x4000,	/* do not retry: its name depends on the kernel */
	ROGUE_NO	= NVME_SC_CONNECT_INVALID_PARAM | ROGUE_DNR,
};

#define ROGUE_REP(format, receives) (&(const struct nvme_rdma_cm_rep) {			\
	.recfmt = cpu_to_le16(format), .crqsize = cpu_to_le16(receives) })

/**
 * struct rogue_case - what it does to a host
 * @data: private data of the acceptance or refusal
 * @len: bytes of @data
 * @refuse: refuse the connection
 * @early: answers before any command: to tags from @tag on
 * @tag: see @early
 * @late: guesses in place of the command's tag: one in each of the first generations
 * @digests: it has confirmed digests, and sends wrong ones
 *
 * The command is refused in the end, so that the host does not try again.
 */
static const struct rogue_case {
	const void	*data;
	size_t		len;
	bool		refuse;
	unsigned int	early, tag, late;
	bool		digests;
} rogue_cases[] = {
	{ NULL },
	{ ROGUE_REP(1, NVME_AQ_DEPTH), sizeof(struct nvme_rdma_cm_rep) },
	{ ROGUE_REP(0, 5), sizeof(struct nvme_rdma_cm_rep) },
	{ &(const struct nvme_rdma_cm_rej) { .sts = cpu_to_le16(NVME_RDMA_CM_INVALID_QID) },
	  sizeof(struct nvme_rdma_cm_rej), .refuse = true },
	{ "ab", 2, .refuse = true },	/* too short to contain a status */
	{ ROGUE_REP(0, NVME_AQ_DEPTH), sizeof(struct nvme_rdma_cm_rep), .early = ROGUE_GUESSES },
	/* an event is an answer whose command has the first ID behind the tags */
	{ ROGUE_REP(0, NVME_AQ_DEPTH), sizeof(struct nvme_rdma_cm_rep), .early = 1,
	  .tag = NVME_AQ_BLK_MQ_DEPTH },
	{ ROGUE_REP(0, NVME_AQ_DEPTH), sizeof(struct nvme_rdma_cm_rep), .late = ROGUE_GUESSES },
	{ ROGUE_REP(0, NVME_AQ_DEPTH), sizeof(struct nvme_rdma_cm_rep) },
	{ &(const struct nvme_rdma_cm_rep) { .crqsize = cpu_to_le16(NVME_AQ_DEPTH),
					     .rsvd = "KDg1\3" },
	  sizeof(struct nvme_rdma_cm_rep), .digests = true },
};

struct rogue {
	struct kfi_conn		conn;
	const struct rogue_case	*c;
	bool			lost;
};

static DEFINE_MUTEX(rogue_lock);	/* held while rogue_called() uses a connection */

static int rogue_answer(struct kfi_conn *conn, u16 command_id, u16 status)
{
	const struct kfn_cqe answer = { .cqe = {
		.command_id = command_id, .status = cpu_to_le16(status << 1),
	} };
	bool digests = container_of(conn, struct rogue, conn)->c->digests;

	return kfi_conn_inject(conn, &answer, digests ? sizeof(answer) : sizeof(answer.cqe), 0);
}

static void rogue_received(struct kfid_cq *cq, struct kfi_cqe *cqe,
			   const struct kfi_cq_err_entry *wc)
{
	struct nvme_command sqe;
	struct kfi_conn *conn = kfi_rx_take(cqe, wc, &sqe, sizeof(sqe));
	unsigned int i;

	mutex_lock(&rogue_lock);	/* the early answers come first */
	mutex_unlock(&rogue_lock);
	for (i = 0; conn && i < container_of(conn, struct rogue, conn)->c->late; i++)
		if ((i << 12 | i) != sqe.common.command_id)
			rogue_answer(conn, i << 12 | i, 0);
	if (conn)
		rogue_answer(conn, sqe.common.command_id, ROGUE_NO);
}

static void rogue_release(struct kfi_conn *conn)
{
	mutex_lock(&rogue_lock);
	mutex_unlock(&rogue_lock);
	kfi_conn_close(conn);
	kfree(container_of(conn, struct rogue, conn));
}

static void rogue_lost(struct kfi_conn *conn, int err)
{
	WRITE_ONCE(container_of(conn, struct rogue, conn)->lost, true);
}

static struct kfi_conn_ops rogue_ops = {
	.received = rogue_received, .lost = rogue_lost, .release = rogue_release,
};

static int rogue_called(struct kfi_caller *caller)
{
	static const struct kfi_conn_attr attr = {
		.depth = NVME_AQ_DEPTH, .rx_len = sizeof(struct kfn_sqe), .where = KFI_CONN_WORK,
	};
	const struct rogue_case *c = &rogue_cases[calls];
	unsigned int i = 0;
	struct rogue *r;
	int ret;

	if (calls == ARRAY_SIZE(rogue_cases))
		return -EBUSY;
	calls++;
	if (c->refuse) {
		kfi_conn_reject(caller, c->data, c->len);
		return 0;
	}
	r = kzalloc(sizeof(*r), GFP_KERNEL | __GFP_NOFAIL);
	r->c = c;
	kfi_conn_init(&r->conn, &rogue_ops);
	mutex_lock(&rogue_lock);
	ret = kfi_conn_accept(&r->conn, caller, &attr, c->data, c->len);
	while (!ret && i < c->early && !READ_ONCE(r->lost))
		if (rogue_answer(&r->conn, c->tag + i, 0))
			usleep_range(50, 100);	/* it is not connected yet */
		else
			i++;
	mutex_unlock(&rogue_lock);
	if (ret)
		kfree(r);
	return ret;
}

static struct kfi_listener rogue_listener = { .called = rogue_called };

static void rogue_close(void)
{
	kfi_listener_close(&rogue_listener);
	kfi_listener_wait(&rogue_listener);
	destroy_workqueue(rogue_ops.end_wq);
}

static int rogue_open(void)
{
	struct kfi_need need = KFN_NEED;
	int ret;

	rogue_ops.end_wq = alloc_workqueue("rogue_end", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	if (!rogue_ops.end_wq)
		return -ENOMEM;
	need.provider = provider;
	ret = kfi_listener_open(&rogue_listener, current->nsproxy->net_ns, &need, node,
				ROGUE_SERVICE, THIS_MODULE);
	if (ret)
		destroy_workqueue(rogue_ops.end_wq);
	return ret;
}

static int __init hostile_init(void)
{
	unsigned int i;

	if (rogue)
		return rogue_open();
	for (i = 0; i < ARRAY_SIZE(hostile_requests) && !cntlid; i++)
		hostile_case(hostile_requests[i].name, NULL, &hostile_requests[i]);
	for (i = 0; i < ARRAY_SIZE(hostile_cases) && !cntlid; i++)
		hostile_case(hostile_cases[i].name, &hostile_cases[i], NULL);
	if (cntlid)
		hostile_case(hostile_install.name, &hostile_install, NULL);
	pr_info("kfabric-hostile: done\n");
	return -ECANCELED;
}

module_init(hostile_init);
module_exit(rogue_close);	/* only a target stays */
MODULE_DESCRIPTION("A host that means ill, for nvmet-kfi, and such a target, for nvme-kfi");
MODULE_LICENSE("GPL");
