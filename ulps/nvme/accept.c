// SPDX-License-Identifier: GPL-2.0
/* accept.c - turns connection requests into queues, or refuses them with the reason. */
#include <linux/slab.h>
#include <linux/string.h>
#include "target.h"

static void kfnt_domain_free(struct kref *ref)
{
	struct kfnt_domain *dom = container_of(ref, struct kfnt_domain, ref);

	kfnt_disks_free(dom);
	WARN_ON(kfi_close(&dom->domain->fid));
	kfree(dom);
}

void kfnt_domain_put(struct kfnt_domain *dom)
{
	kref_put(&dom->ref, kfnt_domain_free);
}

static struct kfnt_domain *kfnt_domain_find(struct kfnt_listener *listener, const char *name)
{
	struct kfnt_domain *dom;

	list_for_each_entry(dom, &listener->domains, entry)
		if (!strcmp(dom->name, name))
			return dom;
	return NULL;
}

/* Return the domain through which a request has come; NULL if it can't be opened. */
static struct kfnt_domain *kfnt_domain(struct kfnt_listener *listener, struct kfi_info *info)
{
	struct kfnt_domain *dom = kfnt_domain_find(listener, info->domain_attr->name);
	size_t len = strlen(info->domain_attr->name) + 1;

	if (dom)
		return dom;
	dom = kzalloc(struct_size(dom, name, len), GFP_KERNEL);
	if (!dom)
		return NULL;
	kref_init(&dom->ref);
	INIT_LIST_HEAD(&dom->disks);
	memcpy(dom->name, info->domain_attr->name, len);
	if (kfi_domain(listener->fabric, info, &dom->domain, NULL)) {
		kfree(dom);
		return NULL;
	}
	list_add_tail(&dom->entry, &listener->domains);
	return dom;
}

static void kfnt_domain_forget(struct kfnt_domain *dom)
{
	list_del(&dom->entry);
	kfnt_domain_put(dom);
}

static int kfnt_open_in(struct kfnt_queue *queue, struct kfnt_domain *dom, struct kfi_info *info)
{
	int ret = dom ? kfnt_queue_open(queue, dom->domain, info) : -ENOMEM;

	if (ret)
		return ret;
	kref_get(&dom->ref);
	queue->dom = dom;
	return 0;
}

/* Return: 0, or the reason of a refusal. */
static enum nvme_rdma_cm_status kfnt_check(struct nvmet_port *nport,
					   const struct nvme_rdma_cm_req *req, size_t len)
{
	unsigned int depth, limit;

	if (len < sizeof(*req))
		return NVME_RDMA_CM_INVALID_LEN;
	depth = le16_to_cpu(req->hsqsize) + 1;
	limit = req->qid ? kfnt_queue_limit(nport) : NVME_AQ_DEPTH;
	if (le16_to_cpu(req->recfmt) != NVME_RDMA_CM_FMT_1_0)
		return NVME_RDMA_CM_INVALID_RECFMT;
	if (depth < 2 || depth > limit)
		return NVME_RDMA_CM_INVALID_HSQSIZE;
	if (le16_to_cpu(req->hrqsize) < depth)
		return NVME_RDMA_CM_INVALID_HRQSIZE;
	return 0;
}

/*
 * A domain whose device was removed can't be used again: then the listener forgets it, and this
 * function returns -ENODEV.
 */
static int kfnt_accept(struct kfnt_listener *listener, struct kfi_info *info,
		       const struct nvme_rdma_cm_req *req)
{
	struct kfnt_queue *queue = kfnt_queue_new(listener, info, le16_to_cpu(req->qid),
						  le16_to_cpu(req->hsqsize) + 1);
	struct nvme_rdma_cm_rep rep = { .recfmt = cpu_to_le16(NVME_RDMA_CM_FMT_1_0) };
	struct kfnt_domain *dom;
	int ret;

	if (!queue)
		return -ENOMEM;
	dom = kfnt_domain(listener, info);
	ret = kfnt_open_in(queue, dom, info);
	if (ret) {
		kfnt_queue_drop(queue);
		if (ret == -ENODEV)
			kfnt_domain_forget(dom);
		return ret;
	}
	rep.crqsize = cpu_to_le16(queue->depth);
	kfnt_queue_enter(queue);
	if (kfi_accept(queue->ep, &rep, sizeof(rep)))
		kfnt_queue_end(queue);
	kfnt_queue_begin(queue);	/* may free the queue */
	return 0;
}

static void kfnt_refuse(struct kfnt_listener *listener, struct kfi_info *info,
			enum nvme_rdma_cm_status status)
{
	struct nvme_rdma_cm_rej rej = {
		.recfmt = cpu_to_le16(NVME_RDMA_CM_FMT_1_0),
		.sts = cpu_to_le16(status),
	};

	pr_warn_ratelimited("nvmet-kfi: a host is refused: %s\n", nvme_rdma_cm_msg(status));
	kfi_reject(listener->pep, info->handle, &rej, sizeof(rej));
}

static void kfnt_request(struct kfnt_listener *listener, struct kfi_info *info,
			 const struct nvme_rdma_cm_req *req, size_t len)
{
	enum nvme_rdma_cm_status status = kfnt_check(listener->port->nport, req, len);
	int ret;

	if (status) {
		kfnt_refuse(listener, info, status);
		return;
	}
	ret = kfnt_accept(listener, info, req);
	if (ret == -ENODEV)	/* another device of that name may exist by now */
		ret = kfnt_accept(listener, info, req);
	if (ret)
		kfnt_refuse(listener, info, NVME_RDMA_CM_NO_RSC);
}

void kfnt_listener_event(struct kfid_eq *eq, void *context)
{
	u8 buf[sizeof(struct kfi_eq_cm_entry) + sizeof(struct nvme_rdma_cm_req)] __aligned(8);
	struct kfi_eq_cm_entry *cm = (void *)buf;
	struct kfi_eq_err_entry err = {};
	struct kfnt_listener *listener = context;
	u32 event;
	ssize_t n;

	for (;;) {
		memset(buf, 0, sizeof(buf));
		n = kfi_eq_read(eq, &event, buf, sizeof(buf), 0);
		if (n == -KFI_EAVAIL && kfi_eq_readerr(eq, &err, 0) >= 0)
			continue;
		if (n < 0)
			return;
		if (event != KFI_CONNREQ)
			continue;
		mutex_lock(&listener->lock);
		if (listener->pep)
			kfnt_request(listener, cm->info, (void *)cm->data, n - sizeof(*cm));
		mutex_unlock(&listener->lock);
		kfi_freeinfo(cm->info);
	}
}
