// SPDX-License-Identifier: GPL-2.0
/*
 * victim.c - an endpoint as any consumer has it, by the public interface alone.
 */
#include <linux/kthread.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <kfi_cm.h>
#include <kfi_domain.h>
#include <kfi_endpoint.h>
#include <kfi_eq.h>
#include "hostile.h"

static int victim_ask(struct victim *v, const char *node, bool key)
{
	struct kfi_info *hints = kfi_allocinfo();
	int ret = -ENOMEM;

	if (!hints)
		return ret;
	hints->caps = KFI_MSG | KFI_RMA;
	hints->ep_attr->type = KFI_EP_RDM;
	hints->fabric_attr->prov_name = kstrdup("verbs", GFP_KERNEL);
	if (key) {
		hints->ep_attr->auth_key = kstrdup(VICTIM_AUTH, GFP_KERNEL);
		hints->ep_attr->auth_key_size = strlen(VICTIM_AUTH);
	}
	if (hints->fabric_attr->prov_name && (!key || hints->ep_attr->auth_key))
		ret = kfi_getinfo(0, node, NULL, KFI_SOURCE, hints, &v->info);
	kfi_freeinfo(hints);
	return ret;
}

static int victim_queues(struct victim *v)
{
	struct kfi_cq_attr cq = { .size = 256, .format = KFI_CQ_FORMAT_CONTEXT, .wait_obj = KFI_WAIT_QUEUE };
	struct kfi_av_attr av = { .type = KFI_AV_TABLE };
	int ret = kfi_cq_open(v->domain, &cq, &v->cq, NULL, NULL);

	return ret ?: kfi_av_open(v->domain, &av, &v->av, NULL);
}

static int victim_endpoint(struct victim *v)
{
	size_t len = sizeof(v->name);
	int ret = kfi_endpoint(v->domain, v->info, &v->ep, NULL);

	if (!ret)
		ret = kfi_ep_bind(v->ep, &v->cq->fid, KFI_TRANSMIT | KFI_RECV);
	if (!ret)
		ret = kfi_ep_bind(v->ep, &v->av->fid, 0);
	ret = ret ?: kfi_enable(v->ep);
	return ret ?: kfi_getname(&v->ep->fid, &v->name, &len);
}

int victim_open(struct victim *v, const char *node, bool key)
{
	int ret;

	*v = (struct victim) { .buf = kzalloc(VICTIM_BUF, GFP_KERNEL), .mem = vzalloc(VICTIM_MEM) };
	ret = v->buf && v->mem ? victim_ask(v, node, key) : -ENOMEM;
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

int victim_share(struct victim *v)
{
	return kfi_mr_reg(v->domain, v->mem, VICTIM_MEM, KFI_REMOTE_READ | KFI_REMOTE_WRITE, 0, VICTIM_KEY, 0, &v->mr, NULL);
}

void victim_close(struct victim *v)
{
	struct kfid *fids[] = {
		v->mr ? &v->mr->fid : NULL, v->ep ? &v->ep->fid : NULL, v->av ? &v->av->fid : NULL,
		v->cq ? &v->cq->fid : NULL, v->domain ? &v->domain->fid : NULL, v->fabric ? &v->fabric->fid : NULL,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(fids); i++)
		if (fids[i])
			WARN_ON(kfi_close(fids[i]));
	kfi_freeinfo(v->info);
	vfree(v->mem);
	kfree(v->buf);
	memset(v, 0, sizeof(*v));
}

static int victim_closer(void *arg)
{
	struct victim *v = arg;

	victim_close(v);
	WRITE_ONCE(v->closed, true);
	return 0;
}

int victim_close_in_time(struct victim *v)
{
	struct task_struct *task = kthread_create(victim_closer, v, "hostile_close");
	unsigned long end = jiffies + msecs_to_jiffies(HV_WAIT_MS);
	int ret;

	if (IS_ERR(task))
		return PTR_ERR(task);
	get_task_struct(task);
	wake_up_process(task);
	while (!READ_ONCE(v->closed) && time_before(jiffies, end))
		schedule_timeout_uninterruptible(1);
	ret = READ_ONCE(v->closed) ? 0 : -ETIMEDOUT;
	kthread_stop(task);
	put_task_struct(task);
	return ret;
}

int victim_post(struct victim *v)
{
	return kfi_recv(v->ep, v->buf, VICTIM_BUF, NULL, KFI_ADDR_UNSPEC, NULL);
}

int victim_done(struct victim *v, unsigned int ms)
{
	struct kfi_cq_err_entry err = {};
	struct kfi_cq_entry entry;
	ssize_t ret = kfi_cq_sread(v->cq, &entry, 1, NULL, ms);

	if (ret == -KFI_EAVAIL)
		return kfi_cq_readerr(v->cq, &err, 0) == 1 && err.err ? -err.err : -EIO;
	return ret == 1 ? 0 : ret ?: -EAGAIN;
}

kfi_addr_t victim_knows(struct victim *v, u16 port)
{
	struct sockaddr_in name = v->name;
	kfi_addr_t addr;

	name.sin_port = cpu_to_be16(port);
	return kfi_av_insert(v->av, &name, 1, &addr, 0, NULL) == 1 ? addr : KFI_ADDR_NOTAVAIL;
}
