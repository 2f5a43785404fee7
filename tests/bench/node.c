// SPDX-License-Identifier: GPL-2.0
/* node.c - fabrics, domains, queues and endpoints of the measurements */
#include <linux/err.h>
#include <linux/slab.h>
#include <net/net_namespace.h>
#include "kfi.h"

static struct kfi_info *kb_hints(const struct kb_kind *kind)
{
	struct kfi_info *hints = kfi_allocinfo();

	if (!hints)
		return NULL;
	hints->caps = KFI_MSG | KFI_RMA | (kind->type == KFI_EP_MSG ? 0 : KFI_TAGGED) | kind->caps;
	hints->ep_attr->type = kind->type;
	hints->ep_attr->protocol = kind->protocol;
	hints->tx_attr->size = kind->size;
	hints->rx_attr->size = kind->size;
	hints->domain_attr->mr_mode = KFI_MR_PROV_KEY | KFI_MR_ALLOCATED | KFI_MR_VIRT_ADDR |
				      KFI_MR_ENDPOINT;
	hints->fabric_attr->prov_name = kstrdup(kind->prov, GFP_KERNEL);
	if (hints->fabric_attr->prov_name)
		return hints;
	kfi_freeinfo(hints);
	return NULL;
}

/**
 * struct kb_place - namespace and address of a node
 */
struct kb_place {
	struct net	*net;
	const char	*node;
};

/*
 * A provider within one kernel does not connect the namespaces, so both nodes are in the first.
 * Bridges belong to the machine.
 */
static struct kb_place kb_place(const struct bench_env *env, int side, const struct kb_kind *kind)
{
	if (!strcmp(kind->prov, "loop"))
		return (struct kb_place) { env->net[0], NULL };
	if (!strcmp(kind->prov, "ntb"))
		return (struct kb_place) { &init_net, env->bridge[side] };
	return (struct kb_place) { env->net[side], env->node[side] };
}

static int kb_getinfo(const struct kb_place *place, const struct kb_kind *kind,
		      struct kfi_info **info)
{
	struct kfi_info *hints = kb_hints(kind);
	int ret;

	if (!hints)
		return -ENOMEM;
	ret = kfi_getinfo_net(place->net, KFI_VERSION(KFI_MAJOR_VERSION, KFI_MINOR_VERSION),
			      place->node, NULL, place->node ? KFI_SOURCE : 0, hints, info);
	kfi_freeinfo(hints);
	return ret;
}

static int kb_cq_open(struct kb_node *node, const struct kb_kind *kind, enum kfi_cq_format format,
		      kfi_comp_handler handler, void *context)
{
	struct kfi_cq_attr attr = { .size = max(2048U, kind->size), .format = format };

	if (kind->style == KB_BLOCK)
		attr.wait_obj = KFI_WAIT_QUEUE;
	else
		attr.flags = kind->style == KB_POLL ? KFI_CQ_DIRECT : KFI_CQ_SOFTIRQ;
	return kfi_cq_open(node->domain, &attr, &node->cq,
			   kind->style == KB_HANDLER ? handler : NULL, context);
}

static int kb_node_rest(struct kb_node *node, struct net *net, const struct kb_kind *kind,
			enum kfi_cq_format format, kfi_comp_handler handler, void *context)
{
	struct kfi_eq_attr eq = { .wait_obj = KFI_WAIT_QUEUE };
	struct kfi_av_attr av = { .type = KFI_AV_TABLE };
	int ret;

	ret = kfi_fabric_net(net, node->info->fabric_attr, &node->fabric, NULL);
	if (!ret)
		ret = kfi_domain(node->fabric, node->info, &node->domain, NULL);
	if (!ret && kind->type == KFI_EP_MSG)
		ret = kfi_eq_open(node->fabric, &eq, &node->eq, NULL, NULL);
	if (!ret && kind->type == KFI_EP_RDM)
		ret = kfi_av_open(node->domain, &av, &node->av, NULL);
	return ret ?: kb_cq_open(node, kind, format, handler, context);
}

int kb_node_open(struct kb_node *node, struct bench_env *env, int side, const struct kb_kind *kind,
		 enum kfi_cq_format format, kfi_comp_handler handler, void *context)
{
	struct kb_place place = kb_place(env, side, kind);
	int ret;

	*node = (struct kb_node) { };
	ret = kb_getinfo(&place, kind, &node->info);
	if (!ret)
		ret = kb_node_rest(node, place.net, kind, format, handler, context);
	if (ret)
		kb_node_close(node);
	return ret;
}

/* The node may be incomplete, after a failure to open it. */
void kb_node_close(struct kb_node *node)
{
	if (node->cntr)
		kb_close(&node->cntr->fid);
	if (node->cq)
		kb_close(&node->cq->fid);
	if (node->av)
		kb_close(&node->av->fid);
	if (node->domain)
		kb_close(&node->domain->fid);
	if (node->eq)
		kb_close(&node->eq->fid);
	if (node->fabric)
		kb_close(&node->fabric->fid);
	kfi_freeinfo(node->info);
	*node = (struct kb_node) { };
}

/* A connected endpoint is enabled when it connects. */
int kb_ep_open(struct kb_node *node, struct kfi_info *info, struct kfid_ep **ep)
{
	int ret = kfi_endpoint(node->domain, info, ep, NULL);

	if (ret) {
		*ep = NULL;
		return ret;
	}
	ret = kfi_ep_bind(*ep, &node->cq->fid, KFI_TRANSMIT | KFI_RECV);
	if (!ret && node->av)
		ret = kfi_ep_bind(*ep, &node->av->fid, 0);
	if (!ret && node->eq)
		ret = kfi_ep_bind(*ep, &node->eq->fid, 0);
	if (!ret && node->cntr)
		ret = kfi_ep_bind(*ep, &node->cntr->fid, KFI_WRITE | KFI_REMOTE_WRITE);
	if (!ret && node->av)
		ret = kfi_enable(*ep);
	if (ret) {
		kb_close(&(*ep)->fid);
		*ep = NULL;
	}
	return ret;
}

int kb_know(struct kb_node *node, struct kfid_ep *peer, kfi_addr_t *addr)
{
	u8 name[KB_ADDR];
	size_t len = sizeof(name);
	int ret = kfi_getname(&peer->fid, name, &len);

	if (ret)
		return ret;
	ret = kfi_av_insert(node->av, name, 1, addr, 0, NULL);
	return ret == 1 ? 0 : ret < 0 ? ret : -EADDRNOTAVAIL;
}

/* ---- connections ---- */

static int kb_event(struct kb_node *node, u32 wanted, struct kfi_info **info)
{
	struct kfi_eq_cm_entry entry;
	u32 event;
	ssize_t ret = kfi_eq_sread(node->eq, &event, &entry, sizeof(entry), KB_WAIT_MS, 0);

	if (ret < 0)
		return ret;
	if (event != wanted)
		return -EPROTO;
	if (info)
		*info = entry.info;
	return 0;
}

static int kb_listen(struct kb_node *node, struct kfid_pep **pep, void *name, size_t *len)
{
	int ret = kfi_passive_ep(node->fabric, node->info, pep, NULL);

	if (ret)
		return ret;
	ret = kfi_pep_bind(*pep, &node->eq->fid, 0);
	if (!ret)
		ret = kfi_listen(*pep);
	if (!ret)
		ret = kfi_getname(&(*pep)->fid, name, len);
	if (ret)
		kb_close(&(*pep)->fid);
	return ret;
}

static int kb_answer_call(struct kb_node node[2], struct kfid_ep *ep[2])
{
	struct kfi_info *info;
	int ret = kb_event(&node[1], KFI_CONNREQ, &info);

	if (ret)
		return ret;
	ret = kb_ep_open(&node[1], info, &ep[1]);
	if (!ret)
		ret = kfi_accept(ep[1], NULL, 0);
	kfi_freeinfo(info);
	if (!ret)
		ret = kb_event(&node[0], KFI_CONNECTED, NULL);
	return ret ?: kb_event(&node[1], KFI_CONNECTED, NULL);
}

static int kb_connect(struct kb_node node[2], struct kfid_ep *ep[2])
{
	u8 name[KB_ADDR];
	size_t len = sizeof(name);
	struct kfid_pep *pep;
	int ret = kb_listen(&node[1], &pep, name, &len);

	if (ret)
		return ret;
	ret = kb_ep_open(&node[0], node[0].info, &ep[0]);
	if (!ret)
		ret = kfi_connect(ep[0], name, NULL, 0);
	if (!ret)
		ret = kb_answer_call(node, ep);
	kb_close(&pep->fid);
	return ret;
}

/* Open one endpoint on each node and connect them. On failure the caller closes what was opened. */
int kb_join(struct kb_node node[2], const struct kb_kind *kind, struct kfid_ep *ep[2],
	    kfi_addr_t addr[2])
{
	int i, ret = 0;

	ep[0] = NULL;
	ep[1] = NULL;
	if (kind->type == KFI_EP_MSG)
		return kb_connect(node, ep);
	for (i = 0; i < 2 && !ret; i++)
		ret = kb_ep_open(&node[i], node[i].info, &ep[i]);
	for (i = 0; i < 2 && !ret; i++)
		ret = kb_know(&node[i], ep[!i], &addr[i]);
	return ret;
}

/* Return the error of an operation of this queue. */
int kb_cq_error(struct kfid_cq *cq)
{
	struct kfi_cq_err_entry err = { };

	return kfi_cq_readerr(cq, &err, 0) == 1 ? -err.err : -EIO;
}
