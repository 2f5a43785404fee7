// SPDX-License-Identifier: GPL-2.0
/* Endpoints that share contexts: open and transfer. */
#include "crowd.h"

/* Bind the shared contexts, if there are any, to a new endpoint. */
static int bind_shared(struct node *n)
{
	struct crowd *c = n->opts.arg;
	struct test *t = n->t;

	if (c->srx && !EXPECT_EQ(t, kfi_ep_bind(n->ep, &c->srx->fid, 0), 0))
		return -EIO;
	if (c->stx && !EXPECT_EQ(t, kfi_ep_bind(n->ep, &c->stx->fid, 0), 0))
		return -EIO;
	if (c->cntrs[c->nr] &&
	    !EXPECT_EQ(t, kfi_ep_bind(n->ep, &c->cntrs[c->nr]->fid, KFI_RECV), 0))
		return -EIO;
	return 0;
}

struct crowd *crowd_host(struct test *t, struct kfi_rx_attr *rx, struct kfi_tx_attr *tx)
{
	struct crowd *c = test_new(t, struct crowd);
	struct node_opts opts = { .before_enable = bind_shared, .arg = c };

	if (!c || node_open(t, &c->host, 1, &opts))
		return NULL;
	c->t = t;
	if (rx && KEEP(t, kfi_srx_context(c->host.domain, rx, &c->srx, c), &c->srx->fid))
		return NULL;
	if (tx && KEEP(t, kfi_stx_context(c->host.domain, tx, &c->stx, c), &c->stx->fid))
		return NULL;
	if (rx)
		c->host.info->ep_attr->rx_ctx_cnt = KFI_SHARED_CONTEXT;
	if (tx)
		c->host.info->ep_attr->tx_ctx_cnt = KFI_SHARED_CONTEXT;
	if (t->type == KFI_EP_MSG && node_listen(&c->host))
		return NULL;
	c->host.ep = c->srx;
	return c;
}

int crowd_join(struct crowd *c, int i)
{
	struct node *a = &c->a[i], *b = &c->b[i];
	int ret;

	*b = c->host;
	b->ep = NULL;
	c->nr = i;
	if (c->t->type == KFI_EP_MSG)
		return pair_connect(a, b);
	ret = node_endpoint(b, b->info) ?: node_enable(b);
	return ret ?: node_insert(a, b, &a->peer) ?: node_insert(b, a, &b->peer);
}

struct crowd *crowd_meet(struct crowd *c)
{
	int i;

	for (i = 0; c && i < CROWD; i++)
		if (node_open_ep(c->t, &c->a[i], 0, NULL) || crowd_join(c, i))
			return NULL;
	return c;
}

struct crowd *crowd_open(struct test *t, struct kfi_rx_attr *rx, struct kfi_tx_attr *tx)
{
	return crowd_meet(crowd_host(t, rx, tx));
}

struct kfi_rx_attr plain_rx;
struct kfi_tx_attr plain_tx;

int crowd_recv(struct crowd *c, void *buf, size_t len, void *ctx)
{
	return POST(c->t, kfi_recv(c->srx, buf, len, NULL, KFI_ADDR_UNSPEC, ctx));
}

int crowd_send(struct crowd *c, int i, const void *buf, size_t len, void *ctx)
{
	return POST(c->t, kfi_send(c->a[i].ep, buf, len, NULL, c->a[i].peer, ctx));
}

int crowd_pass(struct crowd *c, int i, void *buf, size_t len, comp_t *rx)
{
	comp_t tx;

	fill(buf, len, i);
	if (crowd_send(c, i, buf, len, CTX(99)) || WAIT_TX(&c->a[i], &tx) || WAIT_RX(&c->host, rx))
		return -EIO;
	EXPECT_COMP(c->t, &tx, CTX(99), KFI_MSG | KFI_SEND);
	return 0;
}
