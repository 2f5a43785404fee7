// SPDX-License-Identifier: GPL-2.0
/* Nodes: the objects of one side, and how two sides are connected. */
#include "harness.h"

/* Open an object and keep it for the end of the case, or fail the case with the result. */
#define OPEN(t, what, call, fid)					\
({									\
	int __ret = (call);						\
	if (__ret)							\
		FAIL(t, "%s: %d", what, __ret);				\
	else								\
		test_keep(t, fid);					\
	__ret;								\
})

static int open_cq(struct node *n, struct kfid_cq **cq)
{
	struct kfi_cq_attr attr = {
		.size = n->opts.cq_size ?: 512,
		.flags = n->opts.cq_flags,
		.signaling_vector = n->opts.cq_cpu,
		.format = n->opts.format ?: KFI_CQ_FORMAT_TAGGED,
		.wait_obj = n->opts.wait ?: KFI_WAIT_NONE,
	};

	return OPEN(n->t, "cq_open",
		    kfi_cq_open(n->domain, &attr, cq, n->opts.handler, n->opts.arg),
		    &(*cq)->fid);
}

static int open_queues(struct node *n)
{
	struct kfi_eq_attr eq = { .size = n->opts.eq_size ?: 64, .wait_obj = KFI_WAIT_UNSPEC };
	struct kfi_av_attr av = { .type = KFI_AV_UNSPEC };
	int ret;

	ret = OPEN(n->t, "eq_open", kfi_eq_open(n->fabric, &eq, &n->eq, NULL, NULL), &n->eq->fid);
	if (ret)
		return ret;
	ret = open_cq(n, &n->txcq);
	if (ret)
		return ret;
	ret = open_cq(n, &n->rxcq);
	if (ret || n->t->type == KFI_EP_MSG)
		return ret;
	return OPEN(n->t, "av_open", kfi_av_open(n->domain, &av, &n->av, NULL), &n->av->fid);
}

static int set_key(u8 **to, size_t *size, const char *key)
{
	if (!key)
		return 0;
	kfree(*to);
	*to = kstrdup(key, GFP_KERNEL);
	*size = *to ? strlen(key) : 0;
	return *to ? 0 : -ENOMEM;
}

/* Make the info to open with: getinfo's answer, with the changes that the case wants. */
static int node_info(struct node *n)
{
	struct test *t = n->t;
	int ret = 0;

	if (n->opts.caps)
		ret = test_getinfo(t, n->side, n->opts.caps, &n->info);
	else
		n->info = kfi_dupinfo(t->info[n->side]);
	if (ret || !n->info) {
		FAIL(t, "no info to open a node with: %d", ret);
		return ret ?: -ENOMEM;
	}
	test_keep_info(t, n->info);
	if (n->opts.tx_size)
		n->info->tx_attr->size = n->opts.tx_size;
	if (n->opts.rx_size)
		n->info->rx_attr->size = n->opts.rx_size;
	if (n->opts.tclass)
		n->info->tx_attr->tclass = n->opts.tclass;
	n->info->tx_attr->op_flags |= n->opts.tx_op_flags;
	n->info->rx_attr->op_flags |= n->opts.rx_op_flags;
	return set_key(&n->info->ep_attr->auth_key, &n->info->ep_attr->auth_key_size, n->opts.key) ?:
		       set_key(&n->info->domain_attr->auth_key,
			       &n->info->domain_attr->auth_key_size, n->opts.domain_key);
}

static int open_fabric(struct node *n)
{
	struct net *net = n->t->w->side[n->side].net;
	int ret;

	ret = OPEN(n->t, "fabric", kfi_fabric_net(net, n->info->fabric_attr, &n->fabric, n),
		   &n->fabric->fid);
	if (ret)
		return ret;
	return OPEN(n->t, "domain", kfi_domain(n->fabric, n->info, &n->domain, n),
		    &n->domain->fid);
}

int node_open(struct test *t, struct node *n, int side, const struct node_opts *opts)
{
	int ret;

	memset(n, 0, sizeof(*n));
	n->t = t;
	n->side = side;
	n->peer = KFI_ADDR_UNSPEC;
	if (opts)
		n->opts = *opts;
	ret = node_info(n);
	if (!ret)
		ret = open_fabric(n);
	if (!ret)
		ret = open_queues(n);
	return ret;
}

#define BIND(n, fid, flags)						\
({									\
	int __ret = kfi_ep_bind((n)->ep, fid, flags);			\
	if (__ret)							\
		FAIL((n)->t, "ep_bind of class %zu: %d", (fid)->fclass, __ret); \
	__ret;								\
})

int node_endpoint(struct node *n, struct kfi_info *info)
{
	int ret;

	ret = OPEN(n->t, "endpoint", kfi_endpoint(n->domain, info, &n->ep, n), &n->ep->fid);
	if (ret)
		return ret;
	ret = BIND(n, &n->eq->fid, 0);
	if (ret)
		return ret;
	ret = BIND(n, &n->txcq->fid, KFI_TRANSMIT | n->opts.tx_bind);
	if (ret)
		return ret;
	ret = BIND(n, &n->rxcq->fid, KFI_RECV | n->opts.rx_bind);
	if (ret)
		return ret;
	if (n->av)
		ret = BIND(n, &n->av->fid, 0);
	if (!ret && n->opts.before_enable)
		ret = n->opts.before_enable(n);
	return ret;
}

int node_enable(struct node *n)
{
	int ret = kfi_enable(n->ep);

	if (ret) {
		FAIL(n->t, "enable: %d", ret);
		return ret;
	}
	if (n->t->type == KFI_EP_MSG)
		return 0;
	n->addrlen = sizeof(n->addr);
	ret = kfi_getname(&n->ep->fid, n->addr, &n->addrlen);
	if (ret)
		FAIL(n->t, "getname: %d", ret);
	return ret;
}

int node_open_ep(struct test *t, struct node *n, int side, const struct node_opts *opts)
{
	int ret;

	ret = node_open(t, n, side, opts);
	if (!ret)
		ret = node_endpoint(n, n->info);
	if (!ret)
		ret = node_enable(n);
	return ret;
}

int node_insert(struct node *n, const struct node *peer, kfi_addr_t *addr)
{
	int ret = kfi_av_insert(n->av, peer->addr, 1, addr, 0, NULL);

	if (ret == 1)
		return 0;
	FAIL(n->t, "av_insert: expected 1, got %d", ret);
	return ret < 0 ? ret : -EIO;
}

int node_listen(struct node *n)
{
	int ret;

	ret = OPEN(n->t, "passive_ep", kfi_passive_ep(n->fabric, n->info, &n->pep, n),
		   &n->pep->fid);
	if (ret)
		return ret;
	ret = kfi_pep_bind(n->pep, &n->eq->fid, 0);
	if (!ret)
		ret = kfi_listen(n->pep);
	n->addrlen = sizeof(n->addr);
	if (!ret)
		ret = kfi_getname(&n->pep->fid, n->addr, &n->addrlen);
	if (ret)
		FAIL(n->t, "listen: %d", ret);
	return ret;
}

static int close_one(struct node *n, struct kfid *fid)
{
	int ret = test_close(n->t, fid);

	if (ret)
		FAIL(n->t, "close of class %zu: %d", fid->fclass, ret);
	return ret;
}

int node_close_ep(struct node *n)
{
	int ret = close_one(n, &n->ep->fid);

	if (!ret)
		n->ep = NULL;
	return ret;
}

void node_close(struct node *n)
{
	if (n->ep)
		node_close_ep(n);
	if (n->pep && !close_one(n, &n->pep->fid))
		n->pep = NULL;
	if (n->av && !close_one(n, &n->av->fid))
		n->av = NULL;
	if (n->rxcq && !close_one(n, &n->rxcq->fid))
		n->rxcq = NULL;
	if (n->txcq && !close_one(n, &n->txcq->fid))
		n->txcq = NULL;
	if (n->eq && !close_one(n, &n->eq->fid))
		n->eq = NULL;
	if (n->domain)
		test_drop_mem(n->t, n->domain);
	if (n->domain && !close_one(n, &n->domain->fid))
		n->domain = NULL;
	if (n->fabric && !close_one(n, &n->fabric->fid))
		n->fabric = NULL;
}

/* ---- pairs ---- */

static int expect_connected(struct node *n)
{
	struct event *ev = test_new(n->t, struct event);
	int ret;

	ret = WAIT_EVENT(n, ev);
	if (ret)
		return ret;
	if (!EXPECT_EQ(n->t, ev->err, 0) || !EXPECT_EQ(n->t, ev->type, KFI_CONNECTED) ||
	    !EXPECT(n->t, ev->fid == &n->ep->fid))
		return -EPROTO;
	return 0;
}

static int accept_request(struct node *b)
{
	struct event *ev = test_new(b->t, struct event);
	int ret;

	ret = WAIT_EVENT(b, ev);
	if (ret)
		return ret;
	if (!EXPECT_EQ(b->t, ev->err, 0) || !EXPECT_EQ(b->t, ev->type, KFI_CONNREQ) ||
	    !EXPECT(b->t, ev->fid == &b->pep->fid) || !EXPECT(b->t, ev->info))
		return -EPROTO;
	ev->info->tx_attr->op_flags |= b->opts.tx_op_flags;
	ev->info->rx_attr->op_flags |= b->opts.rx_op_flags;
	if (b->opts.tx_size)
		ev->info->tx_attr->size = b->opts.tx_size;
	if (b->opts.rx_size)
		ev->info->rx_attr->size = b->opts.rx_size;
	ret = node_endpoint(b, ev->info);
	kfi_freeinfo(ev->info);
	if (!ret)
		ret = node_enable(b);
	if (!ret) {
		ret = kfi_accept(b->ep, NULL, 0);
		if (ret)
			FAIL(b->t, "accept: %d", ret);
	}
	return ret;
}

int pair_connect(struct node *a, struct node *b)
{
	int ret = kfi_connect(a->ep, b->addr, NULL, 0);

	if (ret) {
		FAIL(a->t, "connect: %d", ret);
		return ret;
	}
	ret = accept_request(b);
	if (!ret)
		ret = expect_connected(a);
	if (!ret)
		ret = expect_connected(b);
	return ret;
}

static int pair_open_msg(struct test *t, struct pair *p, const struct node_opts *a,
			 const struct node_opts *b)
{
	int ret;

	ret = node_open_ep(t, &p->a, 0, a);
	if (!ret)
		ret = node_open(t, &p->b, 1, b);
	if (!ret)
		ret = node_listen(&p->b);
	if (!ret)
		ret = pair_connect(&p->a, &p->b);
	return ret;
}

static int pair_open_rdm(struct test *t, struct pair *p, const struct node_opts *a,
			 const struct node_opts *b)
{
	int ret;

	ret = node_open_ep(t, &p->a, 0, a);
	if (!ret)
		ret = node_open_ep(t, &p->b, 1, b);
	if (!ret)
		ret = node_insert(&p->a, &p->b, &p->a.peer);
	if (!ret)
		ret = node_insert(&p->b, &p->a, &p->b.peer);
	return ret;
}

struct pair *pair_open(struct test *t, const struct node_opts *a, const struct node_opts *b)
{
	struct pair *p = test_new(t, struct pair);
	int ret;

	if (t->type == KFI_EP_MSG)
		ret = pair_open_msg(t, p, a, b);
	else
		ret = pair_open_rdm(t, p, a, b);
	return ret ? NULL : p;
}

int pair_reconnect(struct pair *p, struct node *lost)
{
	struct node *a = &p->a, *b = &p->b, *other = lost == a ? b : a;
	kfi_addr_t old = other->peer;
	int ret;

	if (lost->t->type == KFI_EP_MSG) {
		if (a->ep)
			close_one(a, &a->ep->fid);
		if (b->ep)
			close_one(b, &b->ep->fid);
		ret = node_endpoint(a, a->info) ?: node_enable(a);
		return ret ?: pair_connect(a, b);
	}
	ret = node_endpoint(lost, lost->info) ?: node_enable(lost);
	if (ret)
		return ret;
	/* It may have another address now. */
	ret = kfi_av_remove(other->av, &old, 1, 0);
	if (!EXPECT_EQ(lost->t, ret, 0))
		return ret;
	return node_insert(other, lost, &other->peer);
}
