// SPDX-License-Identifier: GPL-2.0
/*
 * device_pages.c - posts and registrations with a page of a PCI device, such as that of a disk's
 * memory (CMB). The first device that has such memory is taken. The load fails if the provider does
 * not behave as it says: sends and writes are accepted only if its domain has a device that reads
 * them (kfi_domain_limits.p2p_device), and everything else is refused. The same calls with a page of
 * RAM show that nothing but the page is the reason.
 */
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/pci-p2pdma.h>
#include <linux/slab.h>
#include <kfabric.h>
#include <kfi_cm.h>
#include <kfi_domain.h>
#include <kfi_endpoint.h>
#include <kfi_rma.h>

static char *provider = "loop";
module_param(provider, charp, 0444);
MODULE_PARM_DESC(provider, "provider (default loop)");

static bool accepts;
module_param(accepts, bool, 0444);
MODULE_PARM_DESC(accepts, "the domain has a device that reads such pages (default no)");

/* The objects of an enabled RDM endpoint */
static struct kfid_fabric *fabric;
static struct kfid_domain *domain;
static struct kfid_cq *cq;
static struct kfid_av *av;
static struct kfid_ep *ep;

static int get_info(struct kfi_info **info)
{
	struct kfi_info *hints = kfi_allocinfo();
	int ret = -ENOMEM;

	if (!hints)
		return ret;
	hints->caps = KFI_MSG | KFI_RMA;
	hints->ep_attr->type = KFI_EP_RDM;
	hints->fabric_attr->prov_name = kstrdup(provider, GFP_KERNEL);
	if (hints->fabric_attr->prov_name)
		ret = kfi_getinfo(KFI_VERSION(KFI_MAJOR_VERSION, KFI_MINOR_VERSION), NULL, NULL, 0,
				  hints, info);
	kfi_freeinfo(hints);
	return ret;
}

static int open_all(struct kfi_info *info)
{
	struct kfi_cq_attr cq_attr = { .size = 64, .format = KFI_CQ_FORMAT_DATA };
	struct kfi_av_attr av_attr = { .type = KFI_AV_TABLE };

	return kfi_fabric(info->fabric_attr, &fabric, NULL) ?:
	       kfi_domain(fabric, info, &domain, NULL) ?:
	       kfi_cq_open(domain, &cq_attr, &cq, NULL, NULL) ?:
	       kfi_av_open(domain, &av_attr, &av, NULL) ?:
	       kfi_endpoint(domain, info, &ep, NULL) ?:
	       kfi_ep_bind(ep, &cq->fid, KFI_TRANSMIT | KFI_RECV) ?:
	       kfi_ep_bind(ep, &av->fid, 0) ?: kfi_enable(ep);
}

static void close_all(void)
{
	struct kfid *fids[] = { ep ? &ep->fid : NULL, av ? &av->fid : NULL, cq ? &cq->fid : NULL,
				domain ? &domain->fid : NULL, fabric ? &fabric->fid : NULL };
	int i;

	for (i = 0; i < ARRAY_SIZE(fids); i++)
		WARN_ON(fids[i] && kfi_close(fids[i]));
}

static ssize_t post(struct page *page, bool rma, bool out)
{
	struct kfi_rma_iov remote = { .len = PAGE_SIZE, .key = 1 };
	struct bio_vec vec;
	struct kfi_msg msg = {
		.type = KFI_BVEC, .msg_biov = &vec, .iov_count = 1, .addr = KFI_ADDR_UNSPEC,
	};
	struct kfi_msg_rma op = {
		.type = KFI_BVEC, .msg_biov = &vec, .iov_count = 1, .addr = KFI_ADDR_UNSPEC,
		.rma_iov = &remote, .rma_iov_count = 1,
	};

	bvec_set_page(&vec, page, PAGE_SIZE, 0);
	if (rma)
		return out ? kfi_writemsg(ep, &op, 0) : kfi_readmsg(ep, &op, 0);
	return out ? kfi_sendmsg(ep, &msg, 0) : kfi_recvmsg(ep, &msg, 0);
}

/* Whatever is wrong with a post to an unknown peer, it is not the page. */
static bool posts(struct page *page, bool takes_out, bool takes_in)
{
	ssize_t ret;
	int i;

	for (i = 0; i < 4; i++) {
		ret = post(page, i & 1, i & 2);
		if ((ret != -EOPNOTSUPP) == (i & 2 ? takes_out : takes_in))
			continue;
		pr_err("device_pages: %s: post %d of %s: %zd\n", provider, i,
		       is_pci_p2pdma_page(page) ? "a device's page" : "RAM", ret);
		return false;
	}
	return true;
}

static bool regions(struct page *page, int want)
{
	struct kfid_mr *mr;
	struct bio_vec vec;
	int ret;

	bvec_set_page(&vec, page, PAGE_SIZE, 0);
	ret = kfi_mr_regbv(domain, &vec, 1, KFI_REMOTE_READ, 0, 0, 0, &mr, NULL);
	if (!ret)
		WARN_ON(kfi_close(&mr->fid));
	if (ret != want)
		pr_err("device_pages: %s: a region of %s: %d\n", provider,
		       is_pci_p2pdma_page(page) ? "a device's page" : "RAM", ret);
	return ret == want;
}

static bool all_right(struct page *device, struct page *ram)
{
	struct kfi_domain_limits limits;

	if (kfi_domain_limits(domain, &limits) || !limits.p2p_device == accepts) {
		pr_err("device_pages: %s: p2p_device is %s\n", provider,
		       limits.p2p_device ? dev_name(limits.p2p_device) : "NULL");
		return false;
	}
	return posts(ram, true, true) && posts(device, accepts, false) && regions(ram, 0) &&
	       regions(device, -EOPNOTSUPP);
}

static int with_pages(struct page *device)
{
	struct page *ram = alloc_page(GFP_KERNEL | __GFP_ZERO);
	struct kfi_info *info = NULL;
	int ret;

	if (!ram)
		return -ENOMEM;
	ret = get_info(&info) ?: open_all(info);
	if (ret)
		pr_err("device_pages: %s: no endpoint (%d)\n", provider, ret);
	else if (!all_right(device, ram))
		ret = -EINVAL;
	close_all();
	kfi_freeinfo(info);
	__free_page(ram);
	return ret;
}

static int __init device_pages_init(void)
{
	struct pci_dev *pdev = NULL;
	void *mem = NULL;
	int ret;

	for_each_pci_dev(pdev) {
		mem = pci_alloc_p2pmem(pdev, PAGE_SIZE);
		if (mem)
			break;
	}
	if (!mem)
		return -ENODEV;
	ret = with_pages(virt_to_page(mem));
	pci_free_p2pmem(pdev, mem, PAGE_SIZE);
	pci_dev_put(pdev);
	return ret;
}

static void __exit device_pages_exit(void)
{
}

module_init(device_pages_init);
module_exit(device_pages_exit);

MODULE_DESCRIPTION("posts with pages of a PCI device");
MODULE_LICENSE("GPL");
