// SPDX-License-Identifier: GPL-2.0
/*
 * dev.c - devices, which may be added and removed at any time, and domains; see dev.h.
 */
#define pr_fmt(fmt) "kfi_verbs: " fmt

#include <linux/device.h>
#include <linux/dma-map-ops.h>
#include <linux/slab.h>
#include <kfi_ib.h>
#include <kfi_param.h>
#include "dev.h"
#include "verbs.h"

/* Minimum that a device has to support. Devices for storage support a hundred times as much. */
#define KV_MIN_SGE		2	/* a header and payload */
#define KV_MIN_PAGES		16

/*
 * Protects kv_devs and &kv_dev.domains. No function of kfi.ko is called under this lock.
 */
static DEFINE_MUTEX(kv_devs_lock);
static LIST_HEAD(kv_devs);

/* ---- references ---- */

struct kv_dev *kv_dev_get(const struct ib_device *ib)
{
	struct kv_dev *dev, *found = NULL;

	mutex_lock(&kv_devs_lock);
	list_for_each_entry(dev, &kv_devs, entry) {
		if (dev->ib != ib)
			continue;
		refcount_inc(&dev->users);
		found = dev;
		break;
	}
	mutex_unlock(&kv_devs_lock);
	return found;
}

void kv_dev_put(struct kv_dev *dev)
{
	if (refcount_dec_and_test(&dev->users))
		complete(&dev->idle);
}

bool kv_domain_get(struct kv_domain *kdom)
{
	return refcount_inc_not_zero(&kdom->users);
}

/*
 * A device checks a key against all regions of a protection domain. A MSG endpoint has one of its
 * own, so that a peer can neither use nor invalidate regions of other endpoints. It is freed by the
 * endpoint's close, or with the last reference of the domain if the device is removed before.
 */
int kv_pd_open(struct kv_domain *kdom, struct kv_ep *vep)
{
	struct ib_pd *pd;

	if (!kv_domain_get(kdom))
		return -ENODEV;
	pd = ib_alloc_pd(kdom->ib, 0);
	if (!IS_ERR(pd)) {
		mutex_lock(&kdom->pds_lock);
		vep->pd = pd;
		list_add_tail(&vep->pd_entry, &kdom->pds);
		mutex_unlock(&kdom->pds_lock);
	}
	kv_domain_put(kdom);
	return PTR_ERR_OR_ZERO(pd);
}

static void kv_pd_free(struct kv_ep *vep)
{
	list_del(&vep->pd_entry);
	ib_dealloc_pd(vep->pd);
	vep->pd = NULL;
}

void kv_pd_close(struct kv_domain *kdom, struct kv_ep *vep)
{
	mutex_lock(&kdom->pds_lock);
	if (vep->pd)
		kv_pd_free(vep);
	mutex_unlock(&kdom->pds_lock);
}

/* The reference of the device is dropped before domain_close may free @kdom. */
void kv_domain_put(struct kv_domain *kdom)
{
	struct kv_ep *vep, *next;

	if (!refcount_dec_and_test(&kdom->users))
		return;
	mutex_lock(&kdom->pds_lock);
	list_for_each_entry_safe(vep, next, &kdom->pds, pd_entry)
		kv_pd_free(vep);
	mutex_unlock(&kdom->pds_lock);
	ib_dealloc_pd(kdom->pd);
	kv_dev_put(kdom->dev);
	complete(&kdom->idle);
}

/* ---- domains ---- */

static void kv_domain_read_device(struct kv_domain *kdom)
{
	const struct ib_device_attr *a = &kdom->ib->attrs;

	kdom->iwarp = rdma_protocol_iwarp(kdom->ib, kdom->port);
	kdom->repeats = ib_uses_virt_dma(kdom->ib) && !kdom->iwarp;
	kdom->max_wr_size = kdom->dev->max_wr_size;
	kdom->max_send_sge = a->max_send_sge;
	kdom->max_recv_sge = a->max_recv_sge;
	kdom->max_sge_rd = clamp(a->max_sge_rd, 1, a->max_send_sge);
	kdom->max_qp_wr = a->max_qp_wr;
	kdom->max_receives = kv_max_receives(a);
	kdom->max_frmr_pages = min(a->max_fast_reg_page_list_len, KV_FRMR_PAGES);
	kdom->max_key_pages = min(a->max_fast_reg_page_list_len, KV_KEY_PAGES);
	kdom->responder_resources = min(a->max_qp_rd_atom, U8_MAX);
	kdom->initiator_depth = min(a->max_qp_init_rd_atom, U8_MAX);
}

/*
 * A consumer may unmap memory late, so the domain has a reference to the device for which memory is
 * mapped. A device without DMA has none; then kfi.ko uses a device of its own.
 */
static void kv_domain_set_limits(struct kv_domain *kdom)
{
	bool plain = kv_is_plain(kdom->domain.info);

	kdom->dma = ib_uses_virt_dma(kdom->ib) ? NULL : get_device(kdom->ib->dma_device);
	kdom->bounces = kdom->dma && (dma_max_mapping_size(kdom->dma) != SIZE_MAX ||
				      !dev_is_dma_coherent(kdom->dma));
	kdom->domain.limits = (struct kfi_domain_limits) {
		.dma_device = kdom->dma,
		.numa_node = ibdev_to_node(kdom->ib),
		.virt_boundary_mask = plain ? PAGE_SIZE - 1 : 0,
		/* a region that begins within a page touches one page more */
		.mr_page_limit = plain ? clamp(kdom->max_key_pages - 1, 1U, KV_FRMR_PAGES) :
					 SIZE_MAX,
		.sge_limit = KFI_PROTO_IOV_MAX,
		.refusal = plain ? KFI_REFUSAL_CONN : KFI_REFUSAL_OP,
		.short_msg_limit = plain ? 0 : kv_proto.params.eager_size,
		/* A mapping that fails ends the connection of an RDM endpoint. */
		.p2p_device = plain && ib_dma_pci_p2p_dma_supported(kdom->ib) ? kdom->dma : NULL,
	};
}

static void kv_domain_enter(struct kv_domain *kdom)
{
	refcount_set(&kdom->users, 1);
	init_completion(&kdom->idle);
	kdom->domain.device = kdom->dev;
	kdom->domain.prov_keys = kv_is_plain(kdom->domain.info);
	mutex_lock(&kv_devs_lock);
	list_add_tail(&kdom->entry, &kdom->dev->domains);
	mutex_unlock(&kv_devs_lock);
}

/*
 * The fabric's lock is held. So if the removal of the device begins after the device was found,
 * kfi_device_gone() waits for this function, and then ends this domain, too.
 */
int kv_domain_open(struct kfi_domain *domain)
{
	struct kv_domain *kdom = to_kv_domain(domain);
	int ret = kfi_inaddr_names_open(&kdom->names, domain, kv_short_port);
	struct kv_dev *dev;

	if (ret)
		return ret;
	dev = kv_dev_of(domain, &kdom->names, &kdom->port);
	if (IS_ERR(dev))
		return PTR_ERR(dev);
	INIT_LIST_HEAD(&kdom->regions);
	spin_lock_init(&kdom->regions_lock);
	INIT_LIST_HEAD(&kdom->pds);
	mutex_init(&kdom->pds_lock);
	kdom->dev = dev;
	kdom->ib = dev->ib;
	kv_domain_read_device(kdom);
	kdom->pd = ib_alloc_pd(kdom->ib, 0);
	if (IS_ERR(kdom->pd)) {
		kv_dev_put(dev);
		return PTR_ERR(kdom->pd);
	}
	kv_domain_set_limits(kdom);
	kv_domain_enter(kdom);
	return 0;
}

/* Take the domain off the list. Only the caller that gets true drops the domain's own reference. */
static bool kv_domain_leave(struct kv_domain *kdom)
{
	lockdep_assert_held(&kv_devs_lock);
	if (list_empty(&kdom->entry))
		return false;
	list_del_init(&kdom->entry);
	return true;
}

void kv_domain_close(struct kfi_domain *domain)
{
	struct kv_domain *kdom = to_kv_domain(domain);
	bool listed;

	mutex_lock(&kv_devs_lock);
	listed = kv_domain_leave(kdom);
	mutex_unlock(&kv_devs_lock);
	if (listed)
		kv_domain_put(kdom);
	wait_for_completion(&kdom->idle);
	put_device(kdom->dma);
}

/* The puts are under the lock, because domain_close takes it before the domain may be freed. */
static void kv_dev_drop_domains(struct kv_dev *dev)
{
	struct kv_domain *kdom, *next;

	mutex_lock(&kv_devs_lock);
	list_for_each_entry_safe(kdom, next, &dev->domains, entry)
		if (kv_domain_leave(kdom))
			kv_domain_put(kdom);
	mutex_unlock(&kv_devs_lock);
}

/* ---- devices ---- */

static bool kv_has_cm(struct ib_device *ib)
{
	u32 port;

	rdma_for_each_port(ib, port)
		if (rdma_cap_ib_cm(ib, port) || rdma_cap_iw_cm(ib, port))
			return true;
	return false;
}

/*
 * A device may take the RTNL for an answer. That is no lock to take below the lock of a fabric,
 * which kfi_net takes below the RTNL: so the ports are asked now, and not by domains.
 */
static int kv_dev_read_ports(struct kv_dev *dev)
{
	struct ib_port_attr attr;
	u32 port;
	int ret;

	dev->max_wr_size = KV_MSG_MAX;
	rdma_for_each_port(dev->ib, port) {
		ret = ib_query_port(dev->ib, port, &attr);
		if (ret)
			return ret;
		dev->max_wr_size = min_t(size_t, dev->max_wr_size, attr.max_msg_sz);
	}
	return 0;
}

static bool kv_over_kfi;
KFI_TEST_PARAM(over_kfi, kv_over_kfi, bool);

/*
 * Return the reason for which the device can't be used, or NULL. Ports that rdma_cm can connect
 * support reliable connections.
 */
static const char *kv_dev_unusable(struct ib_device *ib)
{
	const struct ib_device_attr *a = &ib->attrs;

	if (ib->ops.driver_id == KFI_IB_DRIVER_ID && !kv_over_kfi)
		return "it is one of kfabric itself";
	if (!kv_has_cm(ib))
		return "no port has connections";
	if (!(a->device_cap_flags & IB_DEVICE_MEM_MGT_EXTENSIONS))
		return "no fast registration";
	if (a->max_fast_reg_page_list_len < KV_MIN_PAGES)
		return "too few pages in a fast registration";
	if (a->max_send_sge < KV_MIN_SGE || a->max_recv_sge < 1)
		return "too few elements in a request";
	if (a->max_qp_wr < kv_qp_depth())
		return "too few requests in a queue";
	if (a->max_qp_rd_atom < 1 || a->max_qp_init_rd_atom < 1)
		return "no RDMA read";
	return NULL;
}

static struct ib_client kv_client;

static int kv_dev_add(struct ib_device *ib)
{
	const char *reason = kv_dev_unusable(ib);
	struct kv_dev *dev;
	int ret;

	if (reason) {
		pr_info("not using %s: %s\n", dev_name(&ib->dev), reason);
		return -EOPNOTSUPP;
	}
	dev = kzalloc(sizeof(*dev), GFP_KERNEL);
	if (!dev)
		return -ENOMEM;
	dev->ib = ib;
	ret = kv_dev_read_ports(dev);
	if (ret) {
		kfree(dev);
		return ret;
	}
	INIT_LIST_HEAD(&dev->domains);
	refcount_set(&dev->users, 1);
	init_completion(&dev->idle);
	ib_set_client_data(ib, &kv_client, dev);
	mutex_lock(&kv_devs_lock);
	list_add_tail(&dev->entry, &kv_devs);
	mutex_unlock(&kv_devs_lock);
	kfi_device_new();	/* rdma_cm's client, which was registered before, knows the device */
	return 0;
}

/* rdma_cm's client is removed after this one, when no identifier of this module is left. */
static void kv_dev_remove(struct ib_device *ib, void *data)
{
	struct kv_dev *dev = data;

	mutex_lock(&kv_devs_lock);
	list_del(&dev->entry);
	mutex_unlock(&kv_devs_lock);
	kfi_device_gone(dev);
	kv_dev_drop_domains(dev);
	kv_dev_put(dev);
	wait_for_completion(&dev->idle);
	kfree(dev);
}

static struct ib_client kv_client = {
	.name	= "kfi_verbs",
	.add	= kv_dev_add,
	.remove	= kv_dev_remove,
};

int kv_dev_init(void)
{
	return ib_register_client(&kv_client);
}

void kv_dev_exit(void)
{
	ib_unregister_client(&kv_client);
}
