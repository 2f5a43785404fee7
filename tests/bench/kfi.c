// SPDX-License-Identifier: GPL-2.0
/*
 * kfi.c - runs of kfi_perf between the two nodes. A variant has a server on the second node, to
 * which it connects when it is opened, and then runs operations, which it times. Payload isn't
 * compared here: kfi_perf's own suite does that.
 */
#include <linux/atomic.h>
#include <linux/err.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <net/net_namespace.h>
#include <kfi_mem.h>
#include "../../ulps/perf/perf.h"
#include "kfi.h"

/* Each variant has its own: those of a case are open at once. A peer's port has to be below 1024. */
#define KB_SERVICE	800
#define KB_SERVICES	200

struct kb {
	const struct kb_kind	*kind;
	struct kb_place		place;
	struct perf_server	*server;
	struct perf_run		*run;
};

/*
 * A provider within one kernel does not connect the namespaces, so both nodes are in the first.
 * Bridges belong to the machine.
 */
static struct net *kb_net(const struct bench_env *env, const struct kb_kind *kind, int side)
{
	if (!strcmp(kind->prov, "ntb"))
		return &init_net;
	return env->net[strcmp(kind->prov, "loop") ? side : 0];
}

void kb_place(struct kb_place *place, const struct bench_env *env, const struct kb_kind *kind)
{
	static atomic_t last = ATOMIC_INIT(0);
	u32 nth = (u32)atomic_inc_return(&last) % KB_SERVICES;

	place->net[0] = kb_net(env, kind, 0);
	place->net[1] = kb_net(env, kind, 1);
	snprintf(place->service, sizeof(place->service), "%u", KB_SERVICE + nth);
	if (!strcmp(kind->prov, "ntb")) {
		strscpy(place->node, env->bridge[1], sizeof(place->node));
		snprintf(place->peer, sizeof(place->peer), "%s/peer", env->bridge[0]);
	} else if (!strcmp(kind->prov, "loop")) {
		strscpy(place->peer, "loop", sizeof(place->peer));
	} else {
		strscpy(place->node, env->node[1], sizeof(place->node));
		strscpy(place->peer, env->node[1], sizeof(place->peer));
	}
}

static int kb_serve(struct kb *kb)
{
	struct perf_server *server = perf_server_new(kb->place.net[1]);

	if (!server)
		return -ENOMEM;
	kb->server = server;
	server->ep_type = kb->kind->type;
	strscpy(server->prov, kb->kind->prov, sizeof(server->prov));
	strscpy(server->service, kb->place.service, sizeof(server->service));
	strscpy(server->node, kb->place.node, sizeof(server->node));
	return perf_server_start(server);
}

static int kb_connect(struct kb *kb, const struct bench_variant *v)
{
	const struct kb_kind *kind = kb->kind;
	struct perf_run *run = kzalloc(sizeof(*run), GFP_KERNEL);
	struct perf_hello hello = {
		.op = kind->op,
		.mode = kind->mode,
		.wait = kind->wait,
		.mem = kind->mem,
		.size = v->size,
		.depth = v->depth,
	};

	if (!run)
		return -ENOMEM;
	kb->run = run;
	run->net = kb->place.net[0];
	run->ep_type = kind->type;
	run->batch = 1;
	strscpy(run->prov, kind->prov, sizeof(run->prov));
	strscpy(run->service, kb->place.service, sizeof(run->service));
	strscpy(run->node, kb->place.peer, sizeof(run->node));
	/* A write completes when it can't fail any more. */
	return perf_run_join(run, &hello, kind->op == KFI_PERF_WRITE ? KFI_TRANSMIT_COMPLETE : 0);
}

/*
 * Is all memory of the window that should be? If it does not last, kfi_mem_alloc() returns other
 * memory, and the figure would be that of another way. Both ends have as much of it.
 */
static bool kb_placed(const struct kb *kb)
{
	const struct perf_flow *flow = &kb->run->flow;
	unsigned int i;

	for (i = 0; i < flow->nops; i++)
		if (flow->ops[i].buf && flow->ops[i].buf->dom && !flow->ops[i].buf->dom->direct)
			return false;
	return true;
}

s64 kb_run(void *priv, u32 ops)
{
	struct kb *kb = priv;
	u64 start = bench_clock();
	int ret = perf_run_begin(kb->run, ops), end = perf_run_finish(kb->run);

	return ret ?: end ?: bench_clock() - start;
}

void kb_close(void *priv)
{
	struct kb *kb = priv;

	if (kb->run)
		perf_run_leave(kb->run);
	if (kb->server)
		perf_server_free(kb->server);
	kfree(kb);
}

void *kb_open(struct bench_env *env, const struct bench_variant *v)
{
	struct kb *kb = kzalloc(sizeof(*kb), GFP_KERNEL);
	int ret;

	if (!kb)
		return ERR_PTR(-ENOMEM);
	kb->kind = (const struct kb_kind *)v->arg;
	kb_place(&kb->place, env, kb->kind);
	ret = kb_serve(kb) ?: kb_connect(kb, v);
	if (!ret && !kb_placed(kb))
		ret = -ENOBUFS;
	if (!ret)
		return kb;
	kb_close(kb);
	return ERR_PTR(ret);
}
