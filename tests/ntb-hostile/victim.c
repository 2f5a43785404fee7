// SPDX-License-Identifier: GPL-2.0
/*
 * victim.c - endpoints as any consumer has them, by the public interface alone.
 */
#include <linux/kthread.h>
#include <linux/slab.h>
#include <kfi_cm.h>
#include <kfi_domain.h>
#include <kfi_endpoint.h>
#include <kfi_eq.h>
#include <kfi_mem.h>
#include "hostile.h"

#define KEY	"a key that no peer was told"

static int victim_ask(struct victim *v, bool key)
{
	struct kfi_info *hints = kfi_allocinfo();
	int ret = -ENOMEM;

	if (!hints)
		return ret;
	hints->caps = KFI_MSG | KFI_RMA;
	hints->ep_attr->type = KFI_EP_RDM;
	hints->fabric_attr->prov_name = kstrdup("ntb", GFP_KERNEL);
	if (key) {
		hints->ep_attr->auth_key = kstrdup(KEY, GFP_KERNEL);
		hints->ep_attr->auth_key_size = strlen(KEY);
	}
	if (hints->fabric_attr->prov_name && (!key || hints->ep_attr->auth_key))
		ret = kfi_getinfo(0, NULL, NULL, 0, hints, &v->info);
	kfi_freeinfo(hints);
	return ret;
}

static int victim_queues(struct victim *v)
{
	struct kfi_cq_attr cq = { .size = VICTIM_CQ, .format = KFI_CQ_FORMAT_CONTEXT, .wait_obj = KFI_WAIT_QUEUE };
	struct kfi_av_attr av = { .type = KFI_AV_TABLE };
	int ret = kfi_cq_open(v->domain, &cq, &v->cq, NULL, NULL);

	cq.size = 256;
	ret = ret ?: kfi_cq_open(v->domain, &cq, &v->txcq, NULL, NULL);
	return ret ?: kfi_av_open(v->domain, &av, &v->av, NULL);
}

static int victim_endpoint(struct victim *v)
{
	size_t len = sizeof(v->name);
	int ret = kfi_endpoint(v->domain, v->info, &v->ep, NULL);

	if (!ret)
		ret = kfi_ep_bind(v->ep, &v->cq->fid, KFI_RECV);
	if (!ret)
		ret = kfi_ep_bind(v->ep, &v->txcq->fid, KFI_TRANSMIT);
	if (!ret)
		ret = kfi_ep_bind(v->ep, &v->av->fid, 0);
	ret = ret ?: kfi_enable(v->ep);
	return ret ?: kfi_getname(&v->ep->fid, &v->name, &len);
}

int victim_open(struct victim *v, bool key)
{
	int ret;

	*v = (struct victim) { .buf = kzalloc(VICTIM_BUF, GFP_KERNEL) };
	ret = v->buf ? victim_ask(v, key) : -ENOMEM;
	if (!ret)
		ret = kfi_fabric(v->info->fabric_attr, &v->fabric, NULL);
	if (!ret)
		ret = kfi_domain(v->fabric, v->info, &v->domain, NULL);
	if (!ret)
		ret = victim_queues(v);
	if (!ret)
		ret = victim_endpoint(v);
	if (ret)
		victim_close(v);
	return ret;
}

void victim_close(struct victim *v)
{
	struct kfid *fids[] = {
		v->ep ? &v->ep->fid : NULL, v->mr ? &v->mr->fid : NULL, v->av ? &v->av->fid : NULL, v->cq ? &v->cq->fid : NULL,
		v->txcq ? &v->txcq->fid : NULL, v->domain ? &v->domain->fid : NULL, v->fabric ? &v->fabric->fid : NULL,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(fids); i++) {
		/* What is still lent would be in a region that is open. */
		if (i == 2 && v->mem)
			WARN_ON(kfi_mem_free(v->mem));
		if (fids[i])
			WARN_ON(kfi_close(fids[i]));
	}
	kfi_freeinfo(v->info);
	kfree(v->buf);
	v->info = NULL;
}

int victim_offer(struct victim *v, size_t len)
{
	int ret = kfi_mem_alloc(v->domain, len, KFI_MEM_DIRECT, &v->mem);

	return ret ?: kfi_mr_reg(v->domain, v->mem->addr, len, KFI_REMOTE_WRITE, 0, 1, 0, &v->mr, NULL);
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

void victim_close_end(struct victim *v)
{
	kthread_stop(v->closer);
	put_task_struct(v->closer);
}

static int victim_next(struct kfid_cq *cq)
{
	struct kfi_cq_err_entry err = {};
	struct kfi_cq_entry entry;
	ssize_t ret = kfi_cq_sread(cq, &entry, 1, NULL, HP_WAIT_MS);

	if (ret == -KFI_EAVAIL)
		return kfi_cq_readerr(cq, &err, 0) == 1 && err.err ? -err.err : -EIO;
	return ret == 1 ? 0 : ret ?: -EIO;
}

int victim_done(struct victim *v)
{
	return victim_next(v->txcq);
}

int victim_region(struct victim *v, u64 *key)
{
	int ret = kfi_mr_reg(v->domain, v->buf, VICTIM_BUF, KFI_REMOTE_WRITE, 0, 1, 0, &v->mr, NULL);

	*key = ret ? 0 : kfi_mr_key(v->mr);
	return ret;
}

int victim_receive(struct victim *v, unsigned int n)
{
	int ret = 0;

	while (n-- && !ret) {
		ret = kfi_recv(v->ep, v->buf, VICTIM_BUF, NULL, KFI_ADDR_UNSPEC, NULL);
		ret = ret ?: victim_next(v->cq);
	}
	return ret;
}

int victim_send(struct victim *v, const struct ntw_addr *to)
{
	kfi_addr_t addr;

	if (kfi_av_insert(v->av, to, 1, &addr, 0, NULL) != 1)
		return -EINVAL;
	return kfi_send(v->ep, v->buf, VICTIM_BUF, NULL, addr, NULL);
}
