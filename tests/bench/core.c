// SPDX-License-Identifier: GPL-2.0
/*
 * core.c - the core alone: matching over loop, and address vectors
 */
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/in.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <net/net_namespace.h>
#include <kfabric.h>
#include <kfi_cm.h>
#include <kfi_domain.h>
#include <kfi_endpoint.h>
#include <kfi_eq.h>
#include <kfi_tagged.h>
#include "kfi.h"

#define CORE_QUEUE	16384
#define MATCH_CONNECT_MS	5000
#define CORE_STRIDE	7919	/* a prime, so that everything is visited, and neighbours are far apart */

/**
 * struct core - a domain and what is looked up in it
 * @count: receives, or addresses
 * @at: number of the next message, or the next address
 * @ep: matching: sender and receiver; the queue is the receiver's
 * @to: address of the receiver
 * @buf: matching: of each receive
 */
struct core {
	struct kfi_info		*info;
	struct kfid_fabric	*fabric;
	struct kfid_domain	*domain;
	struct kfid_av		*av;
	struct kfid_cq		*cq;
	u32			count;
	u32			at;
	struct kfid_ep		*ep[2];
	kfi_addr_t		to;
	u64			*buf;
};

static void core_close(void *priv)
{
	struct core *c = priv;
	struct kfid *fids[] = {
		c->ep[0] ? &c->ep[0]->fid : NULL, c->ep[1] ? &c->ep[1]->fid : NULL,
		c->cq ? &c->cq->fid : NULL, c->av ? &c->av->fid : NULL,
		c->domain ? &c->domain->fid : NULL, c->fabric ? &c->fabric->fid : NULL,
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(fids); i++)
		if (fids[i])
			WARN_ON_ONCE(kfi_close(fids[i]));
	kfi_freeinfo(c->info);
	kvfree(c->buf);
	kfree(c);
}

static int core_find(struct core *c, struct net *net, const char *prov)
{
	struct kfi_info *hints = kfi_allocinfo();
	int ret = -ENOMEM;

	if (!hints)
		return ret;
	hints->caps = KFI_MSG | KFI_TAGGED;
	hints->ep_attr->type = KFI_EP_RDM;
	hints->rx_attr->size = strcmp(prov, "loop") ? 0 : CORE_QUEUE;
	hints->fabric_attr->prov_name = kstrdup(prov, GFP_KERNEL);
	if (hints->fabric_attr->prov_name)
		ret = kfi_getinfo_net(net, KFI_VERSION(KFI_MAJOR_VERSION, KFI_MINOR_VERSION), NULL,
				      NULL, 0, hints, &c->info);
	kfi_freeinfo(hints);
	return ret;
}

static int core_open_in(struct core *c, struct net *net, const char *prov)
{
	struct kfi_av_attr av = { .type = KFI_AV_TABLE };
	struct kfi_cq_attr cq = {
		.size = CORE_QUEUE, .format = KFI_CQ_FORMAT_TAGGED, .flags = KFI_CQ_DIRECT,
	};
	int ret = core_find(c, net, prov);

	return ret ?: kfi_fabric_net(net, c->info->fabric_attr, &c->fabric, NULL) ?:
		      kfi_domain(c->fabric, c->info, &c->domain, NULL) ?:
		      kfi_av_open(c->domain, &av, &c->av, NULL) ?:
		      kfi_cq_open(c->domain, &cq, &c->cq, NULL, NULL);
}

/* @fill: what the variant needs besides */
static void *core_open(struct bench_env *env, const struct bench_variant *v, const char *prov,
		       int (*fill)(struct core *c))
{
	struct core *c = kzalloc(sizeof(*c), GFP_KERNEL);
	int ret;

	if (!c)
		return ERR_PTR(-ENOMEM);
	c->count = v->arg;
	ret = core_open_in(c, env->net[0], prov) ?: fill(c);
	if (!ret)
		return c;
	core_close(c);
	return ERR_PTR(ret);
}

/*
 * The cost of a message while many receives are posted, each with its own tag. One thread sends a
 * message, reads its completion at the receiver, and posts the receive again.
 */

static int match_post(struct core *c, u32 i)
{
	return kfi_trecv(c->ep[1], &c->buf[i], sizeof(c->buf[i]), NULL, KFI_ADDR_UNSPEC, i, 0,
			 &c->buf[i]);
}

/* The first message arrives when the endpoints are connected; others are there when a post returns. */
static ssize_t match_read(struct core *c, struct kfi_cq_tagged_entry *e)
{
	ssize_t ret = kfi_cq_read(c->cq, e, 1);
	int ms;

	for (ms = 0; ret == -EAGAIN && ms < MATCH_CONNECT_MS; ms++) {
		fsleep(USEC_PER_MSEC);
		ret = kfi_cq_read(c->cq, e, 1);
	}
	return ret;
}

static int match_one(struct core *c, u32 i)
{
	struct kfi_cq_tagged_entry e;
	u64 number = c->at;
	ssize_t ret = kfi_tinject(c->ep[0], &number, sizeof(number), c->to, i);

	if (!ret)
		ret = match_read(c, &e);
	if (ret != 1)
		return ret ?: -EIO;
	if (e.op_context != &c->buf[i] || c->buf[i] != number)
		return -EBADMSG;
	return match_post(c, i);
}

static s64 match_run(void *priv, u32 ops)
{
	struct core *c = priv;
	u64 start = bench_clock();
	int ret = 0;

	for (; ops && !ret; ops--, c->at++)
		ret = match_one(c, (u64)c->at * CORE_STRIDE % c->count);
	return ret ?: bench_clock() - start;
}

static int match_fill(struct core *c)
{
	u8 name[64];
	size_t len = sizeof(name);
	u32 i;
	int ret = 0;

	c->buf = kvcalloc(c->count, sizeof(*c->buf), GFP_KERNEL);
	if (!c->buf)
		return -ENOMEM;
	for (i = 0; i < 2 && !ret; i++)
		ret = kfi_endpoint(c->domain, c->info, &c->ep[i], NULL) ?:
		      kfi_ep_bind(c->ep[i], &c->cq->fid, KFI_TRANSMIT | KFI_RECV) ?:
		      kfi_ep_bind(c->ep[i], &c->av->fid, 0) ?: kfi_enable(c->ep[i]);
	if (!ret)
		ret = kfi_getname(&c->ep[1]->fid, name, &len);
	if (!ret && kfi_av_insert(c->av, name, 1, &c->to, 0, NULL) != 1)
		ret = -EADDRNOTAVAIL;
	for (i = 0; i < c->count && !ret; i++)
		ret = match_post(c, i);
	return ret;
}

static void *match_open(struct bench_env *env, const struct bench_variant *v)
{
	return core_open(env, v, "loop", match_fill);
}

/*
 * The look-up of the handle of an address, among few and many addresses, as a provider does for the
 * source of each message. A consumer can do this look-up, with a mutex around it, by inserting an
 * address that is there. The next address depends on the result, so that look-ups can't overlap.
 */

/* Return the handle of address number @i, which is @i; KFI_ADDR_NOTAVAIL on failure. */
static kfi_addr_t av_ask(struct core *c, u32 i)
{
	struct sockaddr_in sin = {
		.sin_family = AF_INET,
		.sin_port = htons(5000),
		.sin_addr.s_addr = htonl(0x0b000000 + i),
	};
	kfi_addr_t handle;

	return kfi_av_insert(c->av, &sin, 1, &handle, 0, NULL) == 1 ? handle : KFI_ADDR_NOTAVAIL;
}

static s64 av_run(void *priv, u32 ops)
{
	struct core *c = priv;
	u64 start = bench_clock();
	kfi_addr_t handle, wrong = 0;

	for (; ops; ops--) {
		handle = av_ask(c, c->at);
		wrong |= handle ^ c->at;
		c->at = (u32)(handle + CORE_STRIDE) % c->count;
	}
	return wrong ? -EBADMSG : bench_clock() - start;
}

/* Handles are assigned in order. */
static int av_fill(struct core *c)
{
	u32 i;

	for (i = 0; i < c->count; i++)
		if (av_ask(c, i) != i)
			return -EBADMSG;
	return 0;
}

static void *av_open(struct bench_env *env, const struct bench_variant *v)
{
	return core_open(env, v, "sockets", av_fill);
}

#define CORE(_name, _what, _count)		\
	{					\
		.name	= _name #_count,	\
		.open	= _what##_open,		\
		.run	= _what##_run,		\
		.close	= core_close,		\
		.arg	= _count,		\
		.depth	= 1,			\
		.size	= 8,			\
	}

const struct bench_variant kb_match_10 = CORE("posted-", match, 10);
const struct bench_variant kb_match_10000 = CORE("posted-", match, 10000);
const struct bench_variant kb_av_16 = CORE("known-", av, 16);
const struct bench_variant kb_av_1024 = CORE("known-", av, 1024);
const struct bench_variant kb_av_65536 = CORE("known-", av, 65536);
