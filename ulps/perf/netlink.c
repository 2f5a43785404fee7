// SPDX-License-Identifier: GPL-2.0
/* netlink.c - the netlink family of kfi_perf (see uapi/linux/kfi_perf.h). */
#include <linux/netlink.h>
#include <linux/slab.h>
#include <net/genetlink.h>
#include <net/net_namespace.h>
#include <net/sock.h>

#include "perf.h"

#define SERVERS_MAX	16
#define RUNS_MAX	64

/* Not const, for 6.1 */
static struct netlink_range_validation size_range = { 1, KFI_PERF_SIZE_MAX };
static struct netlink_range_validation iterations_range = { 1, 1ULL << 40 };
static struct netlink_range_validation timeout_range = { 100, PERF_TIMEOUT_MAX_MS };
static struct netlink_range_validation duration_range = { 1, 86400000 };
static struct netlink_range_validation warmup_range = { 0, 1 << 20 };

static const struct nla_policy perf_policy[KFI_PERF_A_MAX + 1] = {
	[KFI_PERF_A_ID]		= { .type = NLA_U32 },
	[KFI_PERF_A_PROV_NAME]	= { .type = NLA_NUL_STRING, .len = KFI_NAME_MAX - 1 },
	[KFI_PERF_A_NODE]	= { .type = NLA_NUL_STRING, .len = PERF_NAME_MAX - 1 },
	[KFI_PERF_A_SERVICE]	= { .type = NLA_NUL_STRING, .len = KFI_NAME_MAX - 1 },
	[KFI_PERF_A_EP_TYPE]	= NLA_POLICY_RANGE(NLA_U32, KFI_EP_MSG, KFI_EP_RDM),
	[KFI_PERF_A_OP]		= NLA_POLICY_MAX(NLA_U32, __KFI_PERF_OP_MAX - 1),
	[KFI_PERF_A_MODE]	= NLA_POLICY_MAX(NLA_U32, __KFI_PERF_MODE_MAX - 1),
	[KFI_PERF_A_WAIT]	= NLA_POLICY_MAX(NLA_U32, __KFI_PERF_WAIT_MAX - 1),
	[KFI_PERF_A_MEM]	= NLA_POLICY_MAX(NLA_U32, __KFI_PERF_MEM_MAX - 1),
	[KFI_PERF_A_SIZE]	= NLA_POLICY_FULL_RANGE(NLA_U32, &size_range),
	[KFI_PERF_A_DEPTH]	= NLA_POLICY_RANGE(NLA_U32, 1, KFI_PERF_DEPTH_MAX),
	[KFI_PERF_A_BATCH]	= NLA_POLICY_RANGE(NLA_U32, 1, KFI_PERF_DEPTH_MAX),
	[KFI_PERF_A_ITERATIONS]	= NLA_POLICY_FULL_RANGE(NLA_U64, &iterations_range),
	[KFI_PERF_A_DURATION_MS] = NLA_POLICY_FULL_RANGE(NLA_U32, &duration_range),
	[KFI_PERF_A_WARMUP]	= NLA_POLICY_FULL_RANGE(NLA_U32, &warmup_range),
	[KFI_PERF_A_TIMEOUT_MS]	= NLA_POLICY_FULL_RANGE(NLA_U32, &timeout_range),
	[KFI_PERF_A_VERIFY]	= { .type = NLA_FLAG },
};

static struct genl_family perf_family;

/* ---- reading requests ---- */

static u32 get_u32(struct genl_info *info, int attr, u32 def)
{
	return info->attrs[attr] ? nla_get_u32(info->attrs[attr]) : def;
}

static void get_string(struct genl_info *info, int attr, char *to, size_t size)
{
	if (info->attrs[attr])
		nla_strscpy(to, info->attrs[attr], size);
}

static int get_ep_type(struct genl_info *info, u32 *type)
{
	*type = get_u32(info, KFI_PERF_A_EP_TYPE, KFI_EP_RDM);
	if (*type != KFI_EP_DGRAM)
		return 0;
	NL_SET_ERR_MSG(info->extack, "datagram endpoints are not measured");
	return -EOPNOTSUPP;
}

static int need(struct genl_info *info, int attr)
{
	if (info->attrs[attr])
		return 0;
	NL_SET_ERR_MSG(info->extack, "a service, an operation or a size is missing");
	return -EINVAL;
}

static int get_hello(struct genl_info *info, struct perf_hello *h)
{
	h->op = get_u32(info, KFI_PERF_A_OP, 0);
	h->mode = get_u32(info, KFI_PERF_A_MODE, KFI_PERF_LATENCY);
	h->wait = get_u32(info, KFI_PERF_A_WAIT, KFI_PERF_WAIT_BLOCK);
	h->mem = get_u32(info, KFI_PERF_A_MEM, KFI_PERF_MEM_PAGES);
	h->size = get_u32(info, KFI_PERF_A_SIZE, 1);
	h->depth = h->mode == KFI_PERF_LATENCY ? 1 : get_u32(info, KFI_PERF_A_DEPTH, 16);
	h->timeout_ms = get_u32(info, KFI_PERF_A_TIMEOUT_MS, 10000);
	h->verify = nla_get_flag(info->attrs[KFI_PERF_A_VERIFY]);
	if ((u64)h->depth * perf_stride(h) <= KFI_PERF_MEMORY_MAX)
		return 0;
	NL_SET_ERR_MSG(info->extack, "size times depth is too much memory");
	return -E2BIG;
}

static int get_length(struct genl_info *info, struct perf_run *run)
{
	struct nlattr *n = info->attrs[KFI_PERF_A_ITERATIONS];

	run->duration_ms = get_u32(info, KFI_PERF_A_DURATION_MS, 0);
	run->warmup = get_u32(info, KFI_PERF_A_WARMUP, 0);
	run->batch = min(get_u32(info, KFI_PERF_A_BATCH, 1), run->flow.hello.depth);
	run->iterations = n ? nla_get_u64(n) : 0;
	if (!run->iterations != !run->duration_ms)
		return 0;
	NL_SET_ERR_MSG(info->extack, "either iterations or a duration has to be given");
	return -EINVAL;
}

/* ---- answers ---- */

static int reply_id(struct genl_info *info, u32 id)
{
	struct sk_buff *skb = genlmsg_new(NLMSG_DEFAULT_SIZE, GFP_KERNEL);
	void *hdr;

	if (!skb)
		return -ENOMEM;
	hdr = genlmsg_put_reply(skb, info, &perf_family, 0, info->genlhdr->cmd);
	if (!hdr || nla_put_u32(skb, KFI_PERF_A_ID, id)) {
		nlmsg_free(skb);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, hdr);
	return genlmsg_reply(skb, info);
}

static int put_u64(struct sk_buff *skb, int attr, u64 value)
{
	return nla_put_u64_64bit(skb, attr, value, KFI_PERF_RESULT_A_PAD);
}

static int put_result(struct sk_buff *skb, const struct perf_result *r)
{
	struct nlattr *nest = nla_nest_start(skb, KFI_PERF_A_RESULT);

	if (!nest ||
	    put_u64(skb, KFI_PERF_RESULT_A_ITERATIONS, r->iterations) ||
	    put_u64(skb, KFI_PERF_RESULT_A_BYTES, r->bytes) ||
	    put_u64(skb, KFI_PERF_RESULT_A_ELAPSED_NS, r->elapsed_ns) ||
	    put_u64(skb, KFI_PERF_RESULT_A_LAT_MIN_NS, r->lat_min) ||
	    put_u64(skb, KFI_PERF_RESULT_A_LAT_MEDIAN_NS, r->lat_median) ||
	    put_u64(skb, KFI_PERF_RESULT_A_LAT_P99_NS, r->lat_p99) ||
	    put_u64(skb, KFI_PERF_RESULT_A_LAT_MAX_NS, r->lat_max) ||
	    put_u64(skb, KFI_PERF_RESULT_A_VERIFIED, r->verified) ||
	    put_u64(skb, KFI_PERF_RESULT_A_VERIFY_ERRORS, r->bad) ||
	    put_u64(skb, KFI_PERF_RESULT_A_LOST, r->lost) ||
	    put_u64(skb, KFI_PERF_RESULT_A_PERMILLE, r->permille))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int put_error(struct sk_buff *skb, const struct perf_result *r)
{
	if (!r->err)
		return 0;
	if (nla_put_u32(skb, KFI_PERF_A_ERROR, -r->err))
		return -EMSGSIZE;
	return r->what ? nla_put_string(skb, KFI_PERF_A_ERROR_TEXT, r->what) : 0;
}

static struct sk_buff *run_message(struct perf_run *run, u32 portid, u32 seq)
{
	struct sk_buff *skb = genlmsg_new(NLMSG_DEFAULT_SIZE, GFP_KERNEL);
	struct perf_result r;
	void *hdr;

	if (!skb)
		return NULL;
	perf_run_result(run, &r);
	hdr = genlmsg_put(skb, portid, seq, &perf_family, 0, KFI_PERF_CMD_RUN_GET);
	if (!hdr || nla_put_u32(skb, KFI_PERF_A_ID, run->id) ||
	    nla_put_u32(skb, KFI_PERF_A_STATE, r.state) ||
	    put_result(skb, &r) || put_error(skb, &r)) {
		nlmsg_free(skb);
		return NULL;
	}
	genlmsg_end(skb, hdr);
	return skb;
}

/* The event is lost if the socket is full: its owner asks when no event comes. */
void perf_nl_run_event(struct perf_run *run)
{
	struct sk_buff *skb = run_message(run, run->portid, 0);

	if (skb)
		genlmsg_unicast(run->net, skb, run->portid);
}

/* ---- servers ---- */

static int server_add(struct perf_net *pn, struct perf_server *server)
{
	int err = 0;

	mutex_lock(&pn->lock);
	if (pn->nservers == SERVERS_MAX) {
		err = -ENOSPC;
	} else {
		pn->nservers++;
		list_add_tail(&server->entry, &pn->servers);
	}
	mutex_unlock(&pn->lock);
	return err;
}

static int server_start(struct sk_buff *skb, struct genl_info *info)
{
	struct net *net = genl_info_net(info);
	struct perf_server *server;
	int err;

	err = need(info, KFI_PERF_A_SERVICE);
	if (err)
		return err;
	server = perf_server_new(net);
	if (!server)
		return -ENOMEM;
	server->id = perf_new_id();
	get_string(info, KFI_PERF_A_PROV_NAME, server->prov, sizeof(server->prov));
	get_string(info, KFI_PERF_A_NODE, server->node, sizeof(server->node));
	get_string(info, KFI_PERF_A_SERVICE, server->service, sizeof(server->service));
	err = get_ep_type(info, &server->ep_type);
	if (!err)
		err = perf_server_start(server) ?: server_add(perf_net(net), server);
	if (err) {
		perf_server_free(server);
		return err;
	}
	return reply_id(info, server->id);
}

static int server_stop(struct sk_buff *skb, struct genl_info *info)
{
	struct perf_net *pn = perf_net(genl_info_net(info));
	u32 id = get_u32(info, KFI_PERF_A_ID, 0);
	struct perf_server *server, *next;
	LIST_HEAD(stop);

	mutex_lock(&pn->lock);
	list_for_each_entry_safe(server, next, &pn->servers, entry) {
		if (info->attrs[KFI_PERF_A_ID] && server->id != id)
			continue;
		list_move_tail(&server->entry, &stop);
		pn->nservers--;
	}
	mutex_unlock(&pn->lock);
	if (list_empty(&stop))
		return -ENOENT;
	list_for_each_entry_safe(server, next, &stop, entry)
		perf_server_free(server);
	return 0;
}

static int put_counts(struct sk_buff *skb, const struct perf_counts *c)
{
	struct nlattr *nest = nla_nest_start(skb, KFI_PERF_A_SERVER);

	if (!nest ||
	    put_u64(skb, KFI_PERF_SERVER_A_SESSIONS, atomic_read(&c->sessions)) ||
	    put_u64(skb, KFI_PERF_SERVER_A_SESSIONS_TOTAL, atomic64_read(&c->sessions_total)) ||
	    put_u64(skb, KFI_PERF_SERVER_A_REFUSED, atomic64_read(&c->refused)) ||
	    put_u64(skb, KFI_PERF_SERVER_A_MESSAGES, atomic64_read(&c->messages)) ||
	    put_u64(skb, KFI_PERF_SERVER_A_BYTES, atomic64_read(&c->bytes)) ||
	    put_u64(skb, KFI_PERF_SERVER_A_VERIFY_ERRORS, atomic64_read(&c->errors)))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int put_server(struct sk_buff *skb, struct netlink_callback *cb,
		      const struct perf_server *server)
{
	void *hdr = genlmsg_put(skb, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq, &perf_family,
				NLM_F_MULTI, KFI_PERF_CMD_SERVER_GET);

	if (!hdr)
		return -EMSGSIZE;
	if (nla_put_u32(skb, KFI_PERF_A_ID, server->id) ||
	    (*server->prov && nla_put_string(skb, KFI_PERF_A_PROV_NAME, server->prov)) ||
	    (*server->node && nla_put_string(skb, KFI_PERF_A_NODE, server->node)) ||
	    nla_put_string(skb, KFI_PERF_A_SERVICE, server->service) ||
	    nla_put_u32(skb, KFI_PERF_A_EP_TYPE, server->ep_type) ||
	    put_counts(skb, &server->counts)) {
		genlmsg_cancel(skb, hdr);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, hdr);
	return 0;
}

/* Ids only increase, so a dump continues behind the last one. */
static int server_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct perf_net *pn = perf_net(sock_net(skb->sk));
	const struct perf_server *server;

	mutex_lock(&pn->lock);
	list_for_each_entry(server, &pn->servers, entry) {
		if (server->id <= cb->args[0])
			continue;
		if (put_server(skb, cb, server))
			break;
		cb->args[0] = server->id;
	}
	mutex_unlock(&pn->lock);
	return skb->len;
}

/* ---- runs ---- */

static int run_add(struct perf_net *pn, struct perf_run *run)
{
	int err = -EBUSY;

	mutex_lock(&pn->lock);
	if (pn->nruns < RUNS_MAX)
		err = perf_run_start(run);
	if (!err) {
		pn->nruns++;
		list_add_tail(&run->entry, &pn->runs);
	}
	mutex_unlock(&pn->lock);
	return err;
}

static void run_free_work(struct work_struct *work)
{
	perf_run_free(container_of(work, struct perf_run, free_work));
}

static struct perf_run *run_new(struct genl_info *info, const struct perf_hello *hello, u32 ep_type)
{
	struct perf_run *run = kzalloc(sizeof(*run), GFP_KERNEL);

	if (!run)
		return NULL;
	run->id = perf_new_id();
	run->portid = info->snd_portid;
	run->net = genl_info_net(info);
	run->ep_type = ep_type;
	INIT_WORK(&run->free_work, run_free_work);
	get_string(info, KFI_PERF_A_PROV_NAME, run->prov, sizeof(run->prov));
	get_string(info, KFI_PERF_A_NODE, run->node, sizeof(run->node));
	get_string(info, KFI_PERF_A_SERVICE, run->service, sizeof(run->service));
	perf_flow_init(&run->flow, ep_type, hello, &perf_run_role, &perf_run_ops);
	return run;
}

static int run_start(struct sk_buff *skb, struct genl_info *info)
{
	struct perf_hello hello = {};
	struct perf_run *run;
	u32 ep_type;
	int err;

	err = need(info, KFI_PERF_A_SERVICE) ?: need(info, KFI_PERF_A_OP) ?:
	      need(info, KFI_PERF_A_SIZE) ?: get_ep_type(info, &ep_type) ?:
	      get_hello(info, &hello);
	if (err)
		return err;
	run = run_new(info, &hello, ep_type);
	if (!run)
		return -ENOMEM;
	err = get_length(info, run) ?: run_add(perf_net(run->net), run);
	if (err) {
		perf_run_free(run);
		return err;
	}
	return reply_id(info, run->id);
}

static struct perf_run *run_find(struct perf_net *pn, struct genl_info *info)
{
	u32 id = get_u32(info, KFI_PERF_A_ID, 0);
	struct perf_run *run;

	lockdep_assert_held(&pn->lock);
	list_for_each_entry(run, &pn->runs, entry)
		if (run->id == id && run->portid == info->snd_portid)
			return run;
	return NULL;
}

static int run_get(struct sk_buff *skb, struct genl_info *info)
{
	struct perf_net *pn = perf_net(genl_info_net(info));
	struct sk_buff *answer = NULL;
	struct perf_run *run;

	mutex_lock(&pn->lock);
	run = run_find(pn, info);
	if (run)
		answer = run_message(run, info->snd_portid, info->snd_seq);
	mutex_unlock(&pn->lock);
	if (!run)
		return -ENOENT;
	return answer ? genlmsg_reply(answer, info) : -ENOMEM;
}

static int run_stop(struct sk_buff *skb, struct genl_info *info)
{
	struct perf_net *pn = perf_net(genl_info_net(info));
	struct perf_run *run;

	mutex_lock(&pn->lock);
	run = run_find(pn, info);
	if (run) {
		list_del(&run->entry);
		pn->nruns--;
	}
	mutex_unlock(&pn->lock);
	if (!run)
		return -ENOENT;
	perf_run_free(run);
	return 0;
}

/* A socket has closed: end its runs, without waiting for them. */
static int release_event(struct notifier_block *nb, unsigned long event, void *data)
{
	struct netlink_notify *n = data;
	struct perf_run *run, *next;
	struct perf_net *pn;

	if (event != NETLINK_URELEASE || n->protocol != NETLINK_GENERIC)
		return NOTIFY_DONE;
	pn = perf_net(n->net);
	mutex_lock(&pn->lock);
	list_for_each_entry_safe(run, next, &pn->runs, entry) {
		if (run->portid != n->portid)
			continue;
		list_del(&run->entry);
		pn->nruns--;
		queue_work(perf_wq, &run->free_work);
	}
	mutex_unlock(&pn->lock);
	return NOTIFY_DONE;
}

static struct notifier_block release_block = { .notifier_call = release_event };

/* ---- the family ---- */

static const struct genl_small_ops perf_ops[] = {
	{ .cmd = KFI_PERF_CMD_SERVER_START, .doit = server_start, .flags = GENL_ADMIN_PERM },
	{ .cmd = KFI_PERF_CMD_SERVER_STOP, .doit = server_stop, .flags = GENL_ADMIN_PERM },
	{ .cmd = KFI_PERF_CMD_SERVER_GET, .dumpit = server_dump },
	{ .cmd = KFI_PERF_CMD_RUN_START, .doit = run_start, .flags = GENL_ADMIN_PERM },
	{ .cmd = KFI_PERF_CMD_RUN_GET, .doit = run_get },
	{ .cmd = KFI_PERF_CMD_RUN_STOP, .doit = run_stop, .flags = GENL_ADMIN_PERM },
};

static struct genl_family perf_family = {
	.name		= KFI_PERF_GENL_NAME,
	.version	= KFI_PERF_GENL_VERSION,
	.maxattr	= KFI_PERF_A_MAX,
	.policy		= perf_policy,
	.netnsok	= true,
	.parallel_ops	= true,
	.module		= THIS_MODULE,
	.small_ops	= perf_ops,
	.n_small_ops	= ARRAY_SIZE(perf_ops),
	.resv_start_op	= __KFI_PERF_CMD_MAX,
};

int perf_nl_init(void)
{
	int err = netlink_register_notifier(&release_block);

	if (err)
		return err;
	err = genl_register_family(&perf_family);
	if (err)
		netlink_unregister_notifier(&release_block);
	return err;
}

void perf_nl_exit(void)
{
	genl_unregister_family(&perf_family);
	netlink_unregister_notifier(&release_block);
}
