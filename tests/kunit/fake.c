// SPDX-License-Identifier: GPL-2.0
/* The fake provider, see fake.h. */
#include <linux/delay.h>
#include <linux/slab.h>
#include "fake.h"
#include "../../kfi/proto/conn.h"

static struct fake_ep *fake_of(struct kfi_ep *ep)
{
	return container_of(ep, struct fake_ep, ep);
}

static int fake_ep_open(struct kfi_ep *ep)
{
	struct fake_ep *fake = fake_of(ep);

	spin_lock_init(&fake->lock);
	INIT_LIST_HEAD(&fake->ops);
	fake->noio = current->flags & PF_MEMALLOC_NOIO;
	return 0;
}

static struct kfi_oper *fake_take(struct fake_ep *fake)
{
	struct kfi_oper *op;

	spin_lock_bh(&fake->lock);
	op = list_first_entry_or_null(&fake->ops, struct kfi_oper, link);
	if (op)
		list_del(&op->link);
	spin_unlock_bh(&fake->lock);
	return op;
}

bool fake_finish(struct fake_ep *fake, int err)
{
	struct kfi_oper *op = fake_take(fake);

	if (op)
		kfi_tx_complete(op, err);
	return op;
}

static void fake_ep_stop(struct kfi_ep *ep, int err)
{
	struct fake_ep *fake = fake_of(ep);

	fake->stopped = err;
	fake->noio &= !!(current->flags & PF_MEMALLOC_NOIO);
	WRITE_ONCE(fake->stops, fake->stops + 1);
	while (fake_finish(fake, err))
		;
}

static void fake_ep_close(struct kfi_ep *ep)
{
	struct fake_ep *fake = fake_of(ep);

	WARN_ON(fake->stops != 1 || !list_empty(&fake->ops));
}

static int fake_tx(struct kfi_ep *ep, struct kfi_oper *op)
{
	struct fake_ep *fake = fake_of(ep);

	if (fake->refuse)
		return fake->refuse;
	udelay(fake->slow);
	if (READ_ONCE(fake->stops))
		atomic_inc(&fake->late);
	spin_lock_bh(&fake->lock);
	list_add_tail(&op->link, &fake->ops);
	spin_unlock_bh(&fake->lock);
	return 0;
}

static int fake_getname(struct kfi_ep *ep, void *addr)
{
	memset(addr, 0x5a, KFI_WORLD_ADDRLEN);
	return KFI_WORLD_ADDRLEN;
}

static int fake_connect(struct kfi_ep *ep, const void *addr, const void *data, size_t len)
{
	return fake_of(ep)->refuse;
}

/* The provider takes the request; the test decides the outcome. */
static int fake_accept(struct kfi_ep *ep, const void *data, size_t len)
{
	return fake_of(ep)->refuse;
}

static int fake_shutdown(struct kfi_ep *ep)
{
	return 0;
}

static int fake_reject(struct kfi_pep *pep, struct kfi_connreq *req, const void *data, size_t len)
{
	container_of(req, struct fake_req, req)->rejected++;
	return 0;
}

static int fake_pep_open(struct kfi_pep *pep)
{
	return 0;
}

static void fake_pep_close(struct kfi_pep *pep)
{
}

static int fake_listen(struct kfi_pep *pep)
{
	return 0;
}

struct kfi_world *fake_open(struct kunit *test)
{
	struct kfi_world *w = kfi_world_open(test, NULL);
	struct kfi_prov_ops *ops = &w->ops;

	INIT_LIST_HEAD(&w->fabric.peps);
	INIT_LIST_HEAD(&w->fabric.domains);
	ops->ep_size = sizeof(struct fake_ep);
	ops->cm_data_size = 32;
	ops->ep_open = fake_ep_open;
	ops->ep_stop = fake_ep_stop;
	ops->ep_close = fake_ep_close;
	ops->tx = fake_tx;
	ops->getname = fake_getname;
	ops->connect = fake_connect;
	ops->accept = fake_accept;
	ops->shutdown = fake_shutdown;
	ops->reject = fake_reject;
	ops->pep_open = fake_pep_open;
	ops->pep_close = fake_pep_close;
	ops->listen = fake_listen;
	return w;
}

struct kfi_world *fake_proto_open(struct kunit *test)
{
	struct kfi_world *w = fake_open(test);
	struct kfi_prov_ops *ops = &w->ops;

	ops->tx_priv = KFI_PROTO_TX_PRIV;
	ops->ep_close = kfi_proto_ep_close;
	ops->tx = kfi_proto_tx;
	ops->tx_flush = kfi_proto_tx_flush;
	ops->rx_matched = kfi_proto_rx_matched;
	ops->rx_drop = kfi_proto_rx_drop;
	return w;
}

size_t fake_name_len(const void *name)
{
	return sizeof(u64);
}

int fake_name_cmp(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(u64));
}

u32 fake_name_hash(const void *name)
{
	return *(const u32 *)name;
}

int fake_name_address(const struct kfi_ep *ep, const void *name, void *addr)
{
	memcpy(addr, name, sizeof(u64));
	return sizeof(u64);
}

void fake_name_str(const void *name, size_t len, char *buf, size_t size)
{
	snprintf(buf, size, "memory");
}

void fake_close(struct kfi_world *w)
{
	KUNIT_EXPECT_EQ(w->test, 0, atomic_read(&w->fabric.obj.users));
	kfi_world_close(w);
}

struct kfi_info *fake_info(struct kfi_world *w, enum kfi_ep_type type)
{
	struct kfi_info *info = kfi_allocinfo();

	KUNIT_ASSERT_NOT_NULL(w->test, info);
	info->caps = KFI_MSG | KFI_TAGGED | KFI_RMA | KFI_SEND | KFI_RECV | KFI_READ | KFI_WRITE |
		     KFI_MULTI_RECV | KFI_SOURCE;
	info->ep_attr->type = type;
	info->ep_attr->max_msg_size = 65536;
	info->tx_attr->size = 8;
	info->tx_attr->iov_limit = 4;
	info->tx_attr->rma_iov_limit = 2;
	info->tx_attr->inject_size = 64;
	info->rx_attr->size = 8;
	info->rx_attr->iov_limit = 4;
	return info;
}

struct kfid_cq *fake_cq(struct kfi_world *w, u32 size, u64 flags, kfi_comp_handler handler,
			void *context)
{
	struct kfi_cq_attr attr = {
		.size = size,
		.flags = flags,
		.format = KFI_CQ_FORMAT_TAGGED,
		.wait_obj = KFI_WAIT_QUEUE,
	};
	struct kfid_cq *cq = NULL;

	KUNIT_ASSERT_EQ(w->test, 0, kfi_cq_open(&w->domain.fid, &attr, &cq, handler, context));
	return cq;
}

struct kfid_eq *fake_eq(struct kfi_world *w, u32 size)
{
	struct kfi_eq_attr attr = { .size = size, .flags = KFI_WRITE, .wait_obj = KFI_WAIT_QUEUE };
	struct kfid_eq *eq = NULL;

	KUNIT_ASSERT_EQ(w->test, 0, kfi_eq_open(&w->fabric.fid, &attr, &eq, NULL, NULL));
	return eq;
}

struct kfid_ep *fake_rdm(struct kfi_world *w, struct kfi_info *info, struct kfid_cq *cq)
{
	struct kfid_ep *ep = NULL;

	KUNIT_ASSERT_EQ(w->test, 0, kfi_endpoint(&w->domain.fid, info, &ep, NULL));
	KUNIT_ASSERT_EQ(w->test, 0, kfi_ep_bind(ep, &cq->fid, KFI_TRANSMIT | KFI_RECV));
	KUNIT_ASSERT_EQ(w->test, 0, kfi_ep_bind(ep, &w->av->fid, 0));
	KUNIT_ASSERT_EQ(w->test, 0, kfi_enable(ep));
	return ep;
}

void fake_rig_open(struct kunit *test, struct fake_rig *r, u32 cq_size, u64 cq_flags)
{
	r->w = fake_open(test);
	r->info = fake_info(r->w, KFI_EP_RDM);
	r->cq = fake_cq(r->w, cq_size, cq_flags, NULL, NULL);
	r->ep = fake_rdm(r->w, r->info, r->cq);
	r->fake = to_fake(r->ep);
}

void fake_rig_close(struct fake_rig *r)
{
	KUNIT_EXPECT_EQ(r->w->test, 0, kfi_close(&r->ep->fid));
	KUNIT_EXPECT_EQ(r->w->test, 0, kfi_close(&r->cq->fid));
	kfi_freeinfo(r->info);
	fake_close(r->w);
}
