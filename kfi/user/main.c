// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/kfi: kfabric for processes, see include/uapi/linux/kfi_user.h and docs/user-space.md
 */
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/nospec.h>
#include <linux/uaccess.h>
#include <kfi_version.h>
#include "context.h"

/* The longest structure of an ioctl, with some room for those of later kernels */
#define KU_ARG_MAX	256

static int ku_ioc_version(struct ku_ctx *ctx, void *arg)
{
	struct kfi_user_version *version = arg;

	version->abi = KFI_USER_ABI;
	version->api = kfi_version();
	version->features = 0;
	return 0;
}

#define KU_IOC(cmd, fn) \
	[_IOC_NR(cmd)] = { fn, _IOC_SIZE(cmd) + BUILD_BUG_ON_ZERO(_IOC_SIZE(cmd) > KU_ARG_MAX) }

/*
 * @size: bytes of the structure in this kernel. The first version has the same size, so a shorter
 *	structure is refused.
 */
static const struct {
	int (*fn)(struct ku_ctx *ctx, void *arg);
	size_t size;
} ku_ioctls[] = {
	KU_IOC(KFI_IOC_VERSION,		ku_ioc_version),
	KU_IOC(KFI_IOC_GETINFO,		ku_ioc_getinfo),
	KU_IOC(KFI_IOC_FABRIC,		ku_ioc_fabric),
	KU_IOC(KFI_IOC_DOMAIN,		ku_ioc_domain),
	KU_IOC(KFI_IOC_PASSIVE_EP,	ku_ioc_passive_ep),
	KU_IOC(KFI_IOC_ENDPOINT,	ku_ioc_endpoint),
	KU_IOC(KFI_IOC_STX,		ku_ioc_stx),
	KU_IOC(KFI_IOC_SRX,		ku_ioc_srx),
	KU_IOC(KFI_IOC_CQ,		ku_ioc_cq),
	KU_IOC(KFI_IOC_EQ,		ku_ioc_eq),
	KU_IOC(KFI_IOC_CNTR,		ku_ioc_cntr),
	KU_IOC(KFI_IOC_AV,		ku_ioc_av),
	KU_IOC(KFI_IOC_MR,		ku_ioc_mr),
	KU_IOC(KFI_IOC_CLOSE,		ku_ioc_close),
	KU_IOC(KFI_IOC_BIND,		ku_ioc_bind),
	KU_IOC(KFI_IOC_ENABLE,		ku_ioc_enable),
	KU_IOC(KFI_IOC_GETOPT,		ku_ioc_getopt),
	KU_IOC(KFI_IOC_SETOPT,		ku_ioc_setopt),
	KU_IOC(KFI_IOC_GETNAME,		ku_ioc_getname),
	KU_IOC(KFI_IOC_GETPEER,		ku_ioc_getpeer),
	KU_IOC(KFI_IOC_SETNAME,		ku_ioc_setname),
	KU_IOC(KFI_IOC_LISTEN,		ku_ioc_listen),
	KU_IOC(KFI_IOC_CONNECT,		ku_ioc_connect),
	KU_IOC(KFI_IOC_ACCEPT,		ku_ioc_accept),
	KU_IOC(KFI_IOC_REJECT,		ku_ioc_reject),
	KU_IOC(KFI_IOC_SHUTDOWN,	ku_ioc_shutdown),
	KU_IOC(KFI_IOC_AV_INSERT,	ku_ioc_av_insert),
	KU_IOC(KFI_IOC_AV_INSERTSVC,	ku_ioc_av_insertsvc),
	KU_IOC(KFI_IOC_AV_REMOVE,	ku_ioc_av_remove),
	KU_IOC(KFI_IOC_AV_LOOKUP,	ku_ioc_av_lookup),
	KU_IOC(KFI_IOC_AV_STRADDR,	ku_ioc_av_straddr),
	KU_IOC(KFI_IOC_EQ_READ,		ku_ioc_eq_read),
	KU_IOC(KFI_IOC_EQ_WRITE,	ku_ioc_eq_write),
	KU_IOC(KFI_IOC_DRAIN,		ku_ioc_drain),
	KU_IOC(KFI_IOC_WAIT,		ku_ioc_wait),
	KU_IOC(KFI_IOC_SIGNAL,		ku_ioc_signal),
	KU_IOC(KFI_IOC_GETWAIT,		ku_ioc_getwait),
	KU_IOC(KFI_IOC_COUNT,		ku_ioc_count),
	KU_IOC(KFI_IOC_QUERY_ATOMIC,	ku_ioc_query_atomic),
	KU_IOC(KFI_IOC_POST,		ku_ioc_post),
	KU_IOC(KFI_IOC_CANCEL,		ku_ioc_cancel),
};

static long ku_ioctl(struct file *file, unsigned int cmd, unsigned long to)
{
	u8 arg[KU_ARG_MAX] __aligned(8);
	struct ku_ctx *ctx = file->private_data;
	unsigned int nr = _IOC_NR(cmd);
	size_t size = _IOC_SIZE(cmd);
	int ret;

	if (_IOC_TYPE(cmd) != KFI_USER_MAGIC || nr >= ARRAY_SIZE(ku_ioctls))
		return -ENOTTY;
	nr = array_index_nospec(nr, ARRAY_SIZE(ku_ioctls));
	if (!ku_ioctls[nr].fn)
		return -ENOTTY;
	if (current->mm != ctx->mm)
		return -EIO;
	if (size < ku_ioctls[nr].size)
		return -EINVAL;
	ret = copy_struct_from_user(arg, ku_ioctls[nr].size, (void __user *)to, size);
	if (ret)
		return ret;
	ret = ku_ioctls[nr].fn(ctx, arg);
	/* Copied after an error as well: some calls return the size that they would have needed. */
	if (copy_to_user((void __user *)to, arg, min(size, ku_ioctls[nr].size)) && !ret)
		return -EFAULT;
	return ret;
}

static const struct file_operations ku_fops = {
	.owner		= THIS_MODULE,
	.open		= ku_open,
	.release	= ku_release,
	.mmap		= ku_mmap,
	.unlocked_ioctl	= ku_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
};

static struct miscdevice ku_device = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "kfi",
	.fops	= &ku_fops,
	.mode	= 0660,
};

static int __init ku_init(void)
{
	int ret;

	ret = ku_op_init();
	if (ret)
		return ret;
	ret = misc_register(&ku_device);
	if (ret)
		ku_op_exit();
	return ret;
}

/* Open contexts hold a reference of the module, so no context exists. */
static void __exit ku_exit(void)
{
	misc_deregister(&ku_device);
	ku_op_exit();
}

module_init(ku_init);
module_exit(ku_exit);

MODULE_DESCRIPTION("kfabric for processes: /dev/kfi");
MODULE_VERSION(KFABRIC_VERSION);
MODULE_LICENSE("GPL");
