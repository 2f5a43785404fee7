// SPDX-License-Identifier: GPL-2.0
/* victim.c - an endpoint, used by the public interface only */
#include <linux/kthread.h>
#include <linux/percpu.h>
#include <linux/slab.h>
#include <kfi_cm.h>
#include <kfi_domain.h>
#include <kfi_endpoint.h>
#include <kfi_eq.h>
#include <kfi_mem.h>
#include "victim.h"

static int victim_ask(struct victim *v, const struct victim_attr *attr)
{
	struct kfi_info *hints = kfi_allocinfo();
	int ret = -ENOMEM;

	if (!hints)
		return ret;
	hints->caps = attr->caps ?: KFI_MSG | KFI_RMA;
	hints->ep_attr->type = attr->type ?: KFI_EP_RDM;
	hints->addr_format = attr->format;
	hints->fabric_attr->prov_name = kstrdup(attr->provider, GFP_KERNEL);
	if (attr->auth) {
		hints->ep_attr->auth_key = kstrdup(attr->auth, GFP_KERNEL);
		hints->ep_attr->auth_key_size = strlen(attr->auth);
	}
	if (hints->fabric_attr->prov_name && (!attr->auth || hints->ep_attr->auth_key))
		ret = kfi_getinfo(0, attr->node, NULL, attr->node ? KFI_SOURCE : 0, hints,
				  &v->info);
	kfi_freeinfo(hints);
	return ret;
}

static int victim_queues(struct victim *v, const struct victim_attr *attr)
{
	struct kfi_cq_attr cq = {
		.size = attr->cq_size, .format = KFI_CQ_FORMAT_MSG, .wait_obj = KFI_WAIT_QUEUE,
	};
	struct kfi_av_attr av = { .type = KFI_AV_TABLE };
	int ret = kfi_cq_open(v->domain, &cq, &v->cq, NULL, NULL);

	if (!ret && attr->txcq_size) {
		cq.size = attr->txcq_size;
		ret = kfi_cq_open(v->domain, &cq, &v->txcq, NULL, NULL);
	} else {
		v->txcq = v->cq;
	}
	return ret ?: kfi_av_open(v->domain, &av, &v->av, NULL);
}

static int victim_endpoint(struct victim *v, const struct victim_attr *attr)
{
	int ret = kfi_endpoint(v->domain, v->info, &v->ep, NULL);

	if (!ret && v->txcq == v->cq) {
		ret = kfi_ep_bind(v->ep, &v->cq->fid, KFI_TRANSMIT | KFI_RECV);
	} else if (!ret) {
		ret = kfi_ep_bind(v->ep, &v->cq->fid, KFI_RECV);
		ret = ret ?: kfi_ep_bind(v->ep, &v->txcq->fid, KFI_TRANSMIT);
	}
	ret = ret ?: kfi_ep_bind(v->ep, &v->av->fid, 0);
	ret = ret ?: kfi_enable(v->ep);
	v->name_len = sizeof(v->name);
	return ret ?: kfi_getname(&v->ep->fid, v->name, &v->name_len);
}

int victim_open(struct victim *v, const struct victim_attr *attr)
{
	int ret;

	*v = (struct victim) { .buf = kzalloc(attr->buf_len, GFP_KERNEL), .buf_len = attr->buf_len };
	ret = v->buf ? victim_ask(v, attr) : -ENOMEM;
	if (!ret)
		ret = kfi_fabric(v->info->fabric_attr, &v->fabric, NULL);
	if (!ret)
		ret = kfi_domain(v->fabric, v->info, &v->domain, NULL);
	if (!ret)
		ret = victim_queues(v, attr);
	if (!ret)
		ret = victim_endpoint(v, attr);
	if (ret)
		victim_close(v);
	return ret;
}

static void close_one(struct kfid *fid)
{
	if (fid)
		WARN_ON(kfi_close(fid));
}

/* A case may have opened only some of the objects. */
void victim_close(struct victim *v)
{
	close_one(v->ep ? &v->ep->fid : NULL);
	close_one(v->mr ? &v->mr->fid : NULL);
	/* The region is closed, so no part of its memory is exposed to a peer any more. */
	if (v->mem)
		WARN_ON(kfi_mem_free(v->mem));
	close_one(v->av ? &v->av->fid : NULL);
	if (v->txcq != v->cq)
		close_one(v->txcq ? &v->txcq->fid : NULL);
	close_one(v->cq ? &v->cq->fid : NULL);
	close_one(v->domain ? &v->domain->fid : NULL);
	close_one(v->fabric ? &v->fabric->fid : NULL);
	kfi_freeinfo(v->info);
	kfree(v->buf);
	v->info = NULL;
}

static int victim_closer(void *arg)
{
	struct victim *v = arg;

	victim_close(v);
	WRITE_ONCE(v->closed, true);
	return 0;
}

int victim_close_begin(struct victim *v)
{
	struct task_struct *task = kthread_create(victim_closer, v, "hostile_close");

	if (IS_ERR(task))
		return PTR_ERR(task);
	v->closer = get_task_struct(task);
	wake_up_process(task);
	return 0;
}

bool victim_closed_in(struct victim *v, unsigned int ms)
{
	return victim_until(READ_ONCE(v->closed), ms);
}

void victim_close_end(struct victim *v)
{
	kthread_stop(v->closer);
	put_task_struct(v->closer);
}

int victim_region(struct victim *v, void *mem, size_t len, u64 access, u64 key)
{
	return kfi_mr_reg(v->domain, mem, len, access, 0, key, 0, &v->mr, NULL);
}

int victim_offer(struct victim *v, size_t len)
{
	int ret = kfi_mem_alloc(v->domain, len, KFI_MEM_DIRECT, &v->mem);

	return ret ?: victim_region(v, v->mem->addr, len, KFI_REMOTE_WRITE, 1);
}

static int victim_next(struct victim *v, struct kfid_cq *cq, unsigned int ms, void **context)
{
	struct kfi_cq_err_entry err = {};
	struct kfi_cq_msg_entry entry = {};
	ssize_t ret = kfi_cq_sread(cq, &entry, 1, NULL, ms);

	*context = entry.op_context;
	if (ret == -KFI_EAVAIL) {
		ret = kfi_cq_readerr(cq, &err, 0);
		*context = err.op_context;
		return ret == 1 && err.err ? -err.err : -EIO;
	}
	return ret == 1 ? 0 : ret ?: -EAGAIN;
}

int victim_ended(struct victim *v, unsigned int ms, void **context)
{
	return victim_next(v, v->txcq, ms, context);
}

int victim_done(struct victim *v, unsigned int ms)
{
	void *context;

	return victim_ended(v, ms, &context);
}

int victim_post(struct victim *v)
{
	return kfi_recv(v->ep, v->buf, v->buf_len, NULL, KFI_ADDR_UNSPEC, NULL);
}

int victim_receive(struct victim *v, unsigned int n, unsigned int ms)
{
	void *context;
	int ret = 0;

	while (n-- && !ret) {
		ret = victim_post(v);
		ret = ret ?: victim_next(v, v->cq, ms, &context);
	}
	return ret;
}

kfi_addr_t victim_knows(struct victim *v, const void *name)
{
	kfi_addr_t addr;

	return kfi_av_insert(v->av, name, 1, &addr, 0, NULL) == 1 ? addr : KFI_ADDR_NOTAVAIL;
}

int victim_send(struct victim *v, const void *to)
{
	kfi_addr_t addr = victim_knows(v, to);

	return addr == KFI_ADDR_NOTAVAIL ? -EINVAL :
					   kfi_send(v->ep, v->buf, v->buf_len, NULL, addr, NULL);
}
