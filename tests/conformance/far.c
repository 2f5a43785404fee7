// SPDX-License-Identifier: GPL-2.0
/* The driver's connections to the agent, each with one call at a time, and proxies. */
#include <linux/inet.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/net.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/tcp.h>
#include <linux/vmalloc.h>
#include <net/net_namespace.h>
#include <net/sock.h>
#include <net/tcp.h>
#include "far_call.h"

struct far_proxy *far_proxies;

struct channel {
	struct list_head	link;
	struct socket		*sock;
};

/**
 * struct far - state of the driver
 * @lock: protects @idle, @all and the use of proxies
 * @session: number of the session, chosen by the agent
 * @idle: channels without a call
 * @first: the channel whose end ends the session; it makes no other calls
 * @dma_device: see far_dma_device()
 * @lost: a channel has failed: no call works any more
 * @next: where the search for a free proxy begins, so that numbers are not reused soon
 */
static struct {
	spinlock_t		lock;
	struct net		*net;
	struct sockaddr_storage	address;
	u64			session;
	struct list_head	idle;
	struct channel		*first;
	struct device		*dma_device;
	bool			lost;
	unsigned int		next;
} far;

static const char *refused;

const char *far_refused(void)
{
	return READ_ONCE(refused);
}

int far_refuse(const char *why)
{
	WRITE_ONCE(refused, why);
	return -EOPNOTSUPP;
}

/* A case may call side B in any context, but an answer can't be waited for in atomic context. */
bool far_cannot_wait(void)
{
	if (!in_interrupt() && !irqs_disabled())
		return false;
	far_refuse("side B is called where nobody may sleep");
	return true;
}

void far_refuse_reset(void)
{
	WRITE_ONCE(refused, NULL);
}

struct net *far_net(void)
{
	return (struct net *)far_proxies;
}

/* ---- channels ---- */

static s64 exchange(struct channel *ch, const struct far_call *c, struct far_answer *a,
		    struct far_buf *body)
{
	struct far_request r = {
		.magic = cpu_to_le32(FAR_MAGIC),
		.op = cpu_to_le32(c->op),
		.len = cpu_to_le64(c->in_len),
	};
	s64 ret;
	int i;

	for (i = 0; i < FAR_ARGS; i++)
		r.arg[i] = cpu_to_le64(c->arg[i]);
	ret = far_send(ch->sock, &r, sizeof(r), c->in, c->in_len);
	if (!ret)
		ret = far_recv(ch->sock, a, sizeof(*a));
	if (ret)
		return ret;
	return le32_to_cpu(a->magic) == FAR_MAGIC ?
	       far_recv_body(ch->sock, body, le64_to_cpu(a->len)) : -EPROTO;
}

static void channel_free(struct channel *ch)
{
	if (!ch)
		return;
	sock_release(ch->sock);
	kfree(ch);
}

static struct channel *channel_new(int *err)
{
	struct far_call hello = {
		.op = FAR_HELLO, .arg = { far_fingerprint(), READ_ONCE(far.session) },
	};
	struct channel *ch = kzalloc(sizeof(*ch), GFP_KERNEL);
	struct far_answer a;
	struct far_buf body;

	*err = -ENOMEM;
	if (!ch)
		return NULL;
	*err = sock_create_kern(far.net, far.address.ss_family, SOCK_STREAM, IPPROTO_TCP, &ch->sock);
	if (*err)
		goto free;
	tcp_sock_set_nodelay(ch->sock->sk);
	*err = kernel_connect(ch->sock, (void *)&far.address, sizeof(far.address), 0);
	if (!*err)
		*err = exchange(ch, &hello, &a, &body);
	if (!*err)
		*err = le64_to_cpu(a.ret);
	if (*err)
		goto release;
	far_free(&body);
	/* Callers may open channels at the same time; all but the first get the same number. */
	WRITE_ONCE(far.session, le64_to_cpu(a.val[0]));
	return ch;
release:
	sock_release(ch->sock);
free:
	kfree(ch);
	return NULL;
}

static struct channel *channel_get(void)
{
	struct channel *ch;
	int err;

	spin_lock_bh(&far.lock);
	ch = list_first_entry_or_null(&far.idle, struct channel, link);
	if (ch)
		list_del(&ch->link);
	spin_unlock_bh(&far.lock);
	if (ch || READ_ONCE(far.lost))
		return ch;
	ch = channel_new(&err);
	if (!ch)
		pr_err("kfi_conformance: no further connection to the agent: %d\n", err);
	return ch;
}

static void channel_put(struct channel *ch)
{
	spin_lock_bh(&far.lock);
	list_add(&ch->link, &far.idle);
	spin_unlock_bh(&far.lock);
}

static void take_body(struct far_call *c, struct far_buf *body)
{
	c->out_len = body->len;
	if (c->keep) {
		*c->keep = *body;
		return;
	}
	if (c->out)
		memcpy(c->out, body->p, min(c->room, body->len));
	far_free(body);
}

static s64 call(struct far_call *c)
{
	struct far_buf body = {};
	struct channel *ch;
	struct far_answer a;
	s64 ret;

	ch = channel_get();
	if (!ch)
		return -ENOTCONN;
	ret = exchange(ch, c, &a, &body);
	if (ret) {
		if (!xchg(&far.lost, true))
			pr_err("kfi_conformance: the agent is lost: %lld\n", ret);
		far_free(&body);
		channel_free(ch);
		return -ENOTCONN;
	}
	channel_put(ch);
	take_body(c, &body);
	c->val[0] = le64_to_cpu(a.val[0]);
	c->val[1] = le64_to_cpu(a.val[1]);
	c->val[2] = le64_to_cpu(a.val[2]);
	return le64_to_cpu(a.ret);
}

#ifdef CONFIG_FAULT_INJECTION

unsigned int far_no_faults(void)
{
	return xchg(&current->fail_nth, 0);
}

void far_faults_again(unsigned int nth)
{
	current->fail_nth = nth;
}

#else

unsigned int far_no_faults(void)
{
	return 0;
}

void far_faults_again(unsigned int nth)
{
}

#endif

s64 far_call(struct far_call *c)
{
	unsigned int nth;
	s64 ret;

	if (c->keep)
		memset(c->keep, 0, sizeof(*c->keep));
	if (far_cannot_wait())
		return -EOPNOTSUPP;
	nth = far_no_faults();
	ret = call(c);
	far_faults_again(nth);
	return ret;
}

/* ---- proxies ---- */

static struct far_proxy *proxy_new(void)
{
	struct far_proxy *p = NULL;
	unsigned int i;

	spin_lock_bh(&far.lock);
	for (i = 0; i < FAR_OBJECTS && !p; i++) {
		far.next = (far.next + 1) % FAR_OBJECTS;
		if (!far_proxies[far.next].used)
			p = &far_proxies[far.next];
	}
	if (p) {
		memset(p, 0, sizeof(*p));
		p->used = true;
	}
	spin_unlock_bh(&far.lock);
	return p;
}

void far_proxy_free(void *fid)
{
	WRITE_ONCE(((struct far_proxy *)fid)->used, false);
}

struct kfid *far_proxy_of(u64 number)
{
	return number && number <= FAR_PROXIES ? &far_proxies[number - 1].fid : NULL;
}

static u64 name_number(void *owner, struct kfid *fid)
{
	return far_is(fid) ? far_number(fid) : 0;
}

static struct kfid *name_object(void *owner, u64 number)
{
	return far_proxy_of(number);
}

const struct far_names far_names = { .number = name_number, .object = name_object };

int far_open(struct far_call *c, void *context, void *to)
{
	struct far_proxy *p = proxy_new();
	int ret;

	if (!p)
		return -ENOMEM;
	c->arg[6] = (uintptr_t)context;
	c->arg[7] = far_number(p);
	ret = far_call(c);
	if (ret) {
		far_proxy_free(p);
		return ret;
	}
	p->fid.fclass = c->val[0];
	p->fid.context = context;
	p->mr.key = c->val[1];
	p->mr.addr = c->val[2];
	*(struct far_proxy **)to = p;
	return 0;
}

/* ---- the run ---- */

struct device *far_dma_device(void)
{
	return far.dma_device;
}

/*
 * It is that of a domain here, and outlives the domain: the device of software providers is
 * kfi.ko's.
 */
static int find_dma_device(const char *provider)
{
	struct kfi_info *hints = kfi_allocinfo(), *info = NULL;
	struct kfi_domain_limits limits = {};
	struct kfid_fabric *fabric;
	struct kfid_domain *domain;
	int ret;

	if (!hints)
		return -ENOMEM;
	hints->fabric_attr->prov_name = kstrdup(provider, GFP_KERNEL);
	ret = kfi_getinfo_net(far.net, kfi_version(), NULL, NULL, 0, hints, &info);
	kfi_freeinfo(hints);
	if (ret)
		return ret;
	ret = kfi_fabric_net(far.net, info->fabric_attr, &fabric, NULL);
	if (ret)
		goto free_info;
	ret = kfi_domain(fabric, info, &domain, NULL);
	if (ret)
		goto close_fabric;
	ret = kfi_domain_limits(domain, &limits);
	far.dma_device = limits.dma_device;
	kfi_close(&domain->fid);
close_fabric:
	kfi_close(&fabric->fid);
free_info:
	kfi_freeinfo(info);
	return ret;
}

int far_connect(struct net *net, const char *address, unsigned int port, const char *provider)
{
	char service[8];
	int i, ret;

	spin_lock_init(&far.lock);
	INIT_LIST_HEAD(&far.idle);
	far.net = net;
	snprintf(service, sizeof(service), "%u", port);
	ret = inet_pton_with_scope(net, AF_UNSPEC, address, service, &far.address) ?:
		      find_dma_device(provider);
	if (ret)
		return ret;
	far.first = channel_new(&ret);
	if (!far.first)
		return ret;
	far_proxies = vzalloc(FAR_PROXIES * sizeof(*far_proxies));
	if (!far_proxies) {
		channel_free(far.first);
		return -ENOMEM;
	}
	for (i = FAR_OBJECTS; i < FAR_PROXIES; i++)
		far_proxies[i].fid.fclass = KFI_CLASS_CONNREQ;
	return 0;
}

void far_disconnect(void)
{
	struct channel *ch, *next;

	if (!far_proxies)
		return;
	list_for_each_entry_safe(ch, next, &far.idle, link)
		channel_free(ch);
	channel_free(far.first);
	vfree(far_proxies);
	far_proxies = NULL;
}
