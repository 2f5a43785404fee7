// SPDX-License-Identifier: GPL-2.0
/* Nodes: the objects of one side, and the connection of two sides. */
#include "trace.h"

#define CAPS	(KFI_MSG | KFI_TAGGED | KFI_RMA | KFI_SEND | KFI_RECV | KFI_READ | KFI_WRITE | \
		 KFI_REMOTE_READ | KFI_REMOTE_WRITE)

#define PROV_NAME	32

static int failed(struct run *r, const char *what, long ret)
{
	if (ret)
		say_ret(r, what, ret);
	return ret;
}

int run_getinfo(struct run *r, enum kfi_ep_type type, uint64_t caps, struct kfi_info **info)
{
	struct kfi_info *hints = kfi_allocinfo();
	int ret;

	if (!hints)
		return -KFI_ENOMEM;
	hints->caps = caps;
	hints->ep_attr->type = type;
	hints->domain_attr->mr_mode = 0;
	hints->fabric_attr->prov_name = port_alloc(PROV_NAME);
	scnprintf(hints->fabric_attr->prov_name, PROV_NAME, "%s", r->provider);
	ret = kfi_getinfo(KFI_VERSION(KFI_MAJOR_VERSION, KFI_MINOR_VERSION), r->node, NULL,
			  KFI_SOURCE, hints, info);
	kfi_freeinfo(hints);
	return ret;
}

int node_queues(struct run *r, struct node *n)
{
	struct kfi_eq_attr eq = { .size = 16, .flags = KFI_WRITE, .wait_obj = KFI_WAIT_UNSPEC };
	struct kfi_cq_attr cq = {
		.size = 256, .format = KFI_CQ_FORMAT_TAGGED, .wait_obj = KFI_WAIT_NONE,
	};
	struct kfi_av_attr av = { .type = KFI_AV_TABLE, .count = 8 };
	int ret;

	ret = failed(r, "fabric", kfi_fabric(n->info->fabric_attr, &n->fabric, NULL));
	if (!ret)
		ret = failed(r, "domain", kfi_domain(n->fabric, n->info, &n->domain, NULL));
	if (!ret)
		ret = failed(r, "eq_open", port_eq_open(n->fabric, &eq, &n->eq));
	if (!ret)
		ret = failed(r, "cq_open tx", port_cq_open(n->domain, &cq, &n->txcq));
	if (!ret)
		ret = failed(r, "cq_open rx", port_cq_open(n->domain, &cq, &n->rxcq));
	if (!ret && n->info->ep_attr->type != KFI_EP_MSG)
		ret = failed(r, "av_open", kfi_av_open(n->domain, &av, &n->av, NULL));
	return ret;
}

int node_endpoint(struct run *r, struct node *n, struct kfi_info *info)
{
	int ret;

	ret = failed(r, "endpoint", kfi_endpoint(n->domain, info, &n->ep, NULL));
	if (!ret && !n->av)
		ret = failed(r, "bind eq", kfi_ep_bind(n->ep, &n->eq->fid, 0));
	if (!ret)
		ret = failed(r, "bind txcq",
			     kfi_ep_bind(n->ep, &n->txcq->fid, KFI_TRANSMIT | r->c->tx_bind));
	if (!ret)
		ret = failed(r, "bind rxcq", kfi_ep_bind(n->ep, &n->rxcq->fid, KFI_RECV));
	if (!ret && n->av)
		ret = failed(r, "bind av", kfi_ep_bind(n->ep, &n->av->fid, 0));
	return ret;
}

int node_enable(struct run *r, struct node *n)
{
	int ret = failed(r, "enable", kfi_enable(n->ep));

	n->addrlen = sizeof(n->addr);
	if (!ret && n->av)
		ret = failed(r, "getname", kfi_getname(&n->ep->fid, n->addr, &n->addrlen));
	return ret;
}

static int introduce(struct run *r, struct node *n, struct node *peer)
{
	int ret = kfi_av_insert(n->av, peer->addr, 1, &n->peer, 0, NULL);

	return ret == 1 ? 0 : failed(r, "av_insert", ret ?: -KFI_EOTHER);
}

static int open_pair(struct run *r)
{
	struct node *n;
	int ret = 0;

	for (n = &r->a; n && !ret; n = n == &r->a ? &r->b : NULL) {
		ret = node_queues(r, n);
		if (!ret)
			ret = node_endpoint(r, n, n->info);
		if (!ret)
			ret = node_enable(r, n);
	}
	if (!ret)
		ret = introduce(r, &r->a, &r->b);
	if (!ret)
		ret = introduce(r, &r->b, &r->a);
	return ret;
}

static int open_listener(struct run *r)
{
	struct node *b = &r->b;
	int ret;

	ret = node_queues(r, &r->a);
	if (!ret)
		ret = node_endpoint(r, &r->a, r->a.info);
	if (!ret)
		ret = failed(r, "enable", kfi_enable(r->a.ep));
	if (!ret)
		ret = node_queues(r, b);
	if (!ret)
		ret = failed(r, "passive_ep", kfi_passive_ep(b->fabric, b->info, &b->pep, NULL));
	if (!ret)
		ret = failed(r, "pep_bind", kfi_pep_bind(b->pep, &b->eq->fid, 0));
	if (!ret)
		ret = failed(r, "listen", kfi_listen(b->pep));
	b->addrlen = sizeof(b->addr);
	if (!ret)
		ret = failed(r, "getname", kfi_getname(&b->pep->fid, b->addr, &b->addrlen));
	return ret;
}

static int open_connection(struct run *r)
{
	struct kfi_info *info = NULL;
	int ret = open_listener(r);

	if (!ret)
		ret = failed(r, "connect", kfi_connect(r->a.ep, r->b.addr, NULL, 0));
	if (ret)
		return ret;
	say_event(r, &r->b, &info);
	if (!info)
		return -KFI_EOTHER;
	ret = node_endpoint(r, &r->b, info);
	kfi_freeinfo(info);
	if (!ret)
		ret = failed(r, "accept", kfi_accept(r->b.ep, NULL, 0));
	if (ret)
		return ret;
	say_event(r, &r->b, NULL);
	say_event(r, &r->a, NULL);
	return 0;
}

int nodes_open(struct run *r)
{
	enum kfi_ep_type type = r->c->setup >= SETUP_LISTEN ? KFI_EP_MSG : KFI_EP_RDM;
	int ret;

	r->a.name = 'A';
	r->b.name = 'B';
	ret = failed(r, "getinfo",
		     run_getinfo(r, type,
				 (type == KFI_EP_MSG ? CAPS & ~KFI_TAGGED : CAPS) | r->c->caps,
				 &r->a.info));
	if (ret)
		return ret;
	r->b.info = kfi_dupinfo(r->a.info);
	if (!r->b.info)
		return -KFI_ENOMEM;
	switch (r->c->setup) {
	case SETUP_NODE:
		ret = node_queues(r, &r->a);
		return ret   ?:
			       failed(r, "endpoint",
				      kfi_endpoint(r->a.domain, r->a.info, &r->a.ep, NULL));
	case SETUP_PAIR:	return open_pair(r);
	case SETUP_LISTEN:	return open_listener(r);
	case SETUP_CONNECTED:	return open_connection(r);
	default:		return 0;
	}
}

void close_said(struct run *r, const char *what, struct kfid *fid)
{
	int ret = fid ? kfi_close(fid) : 0;

	if (ret) {
		add(r, "ret close %s", what);
		add(r, " is=%s", error_name(ret));
		end(r);
	}
}

#define CLOSE(r, n, what) \
	do { if ((n)->what) { close_said(r, #what, &(n)->what->fid); (n)->what = NULL; } } while (0)

static void node_close(struct run *r, struct node *n)
{
	CLOSE(r, n, ep);
	CLOSE(r, n, pep);
	CLOSE(r, n, av);
	CLOSE(r, n, txcq);
	CLOSE(r, n, rxcq);
	CLOSE(r, n, eq);
	CLOSE(r, n, domain);
	CLOSE(r, n, fabric);
	kfi_freeinfo(n->info);
	n->info = NULL;
}

void nodes_close(struct run *r)
{
	int i;

	node_close(r, &r->a);
	node_close(r, &r->b);
	for (i = 0; i < r->nr_ops; i++) {
		port_free(r->ops[i]->buf);
		port_free(r->ops[i]);
	}
	r->nr_ops = 0;
}
