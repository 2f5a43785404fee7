// SPDX-License-Identifier: GPL-2.0
/* fid.c - the calls that accept handles of any class, by a table with a row for each class. */
#include "core.h"

static const struct kfi_fid_class *const kfi_classes[] = {
	[KFI_CLASS_FABRIC]	= &kfi_fabric_class,
	[KFI_CLASS_DOMAIN]	= &kfi_domain_class,
	[KFI_CLASS_EP]		= &kfi_ep_class,
	[KFI_CLASS_SEP]		= &kfi_ep_class,
	[KFI_CLASS_TX_CTX]	= &kfi_ep_class,
	[KFI_CLASS_RX_CTX]	= &kfi_ep_class,
	[KFI_CLASS_SRX_CTX]	= &kfi_ep_class,
	[KFI_CLASS_STX_CTX]	= &kfi_ep_class,
	[KFI_CLASS_PEP]		= &kfi_pep_class,
	[KFI_CLASS_AV]		= &kfi_av_class,
	[KFI_CLASS_MR]		= &kfi_mr_class,
	[KFI_CLASS_EQ]		= &kfi_eq_class,
	[KFI_CLASS_CQ]		= &kfi_cq_class,
	[KFI_CLASS_CNTR]	= &kfi_cntr_class,
};

/* Return the operations of a handle's class, or NULL if the handle is not that of an object. */
static const struct kfi_fid_class *class_of(const struct kfid *fid)
{
	if (IS_ERR_OR_NULL(fid))
		return NULL;
	if (fid->fclass == KFI_CLASS_PLACE)
		return &kfi_place_class;
	if (fid->fclass >= ARRAY_SIZE(kfi_classes))
		return NULL;
	return kfi_classes[fid->fclass];
}

/**
 * kfi_close() - see kfabric.h
 * @fid: handle of an object
 *
 * Return: 0, -EBUSY or -EINVAL.
 */
int kfi_close(struct kfid *fid)
{
	const struct kfi_fid_class *class = class_of(fid);

	might_sleep();
	return class ? class->close(fid) : -EINVAL;
}
EXPORT_SYMBOL_GPL(kfi_close);

/**
 * kfi_bind() - see kfabric.h
 * @fid: object to bind to
 * @bfid: object that is bound
 * @flags: as in the typed calls
 *
 * Return: 0 or a negative errno.
 */
int kfi_bind(struct kfid *fid, struct kfid *bfid, uint64_t flags)
{
	const struct kfi_fid_class *class = class_of(fid);

	might_sleep();
	if (!class || !class_of(bfid))
		return -EINVAL;
	return class->bind ? class->bind(fid, bfid, flags) : -EOPNOTSUPP;
}
EXPORT_SYMBOL_GPL(kfi_bind);

/**
 * kfi_control() - see kfabric.h
 * @fid: handle of an object
 * @command: command
 * @arg: depends on @command
 *
 * Return: 0 or a negative errno.
 */
int kfi_control(struct kfid *fid, int command, void *arg)
{
	const struct kfi_fid_class *class = class_of(fid);

	if (!class)
		return -EINVAL;
	if (command < 0 || command > KFI_EXPORT_FID)
		return -ENOSYS;
	return class->control ? class->control(fid, command, arg) : -EOPNOTSUPP;
}
EXPORT_SYMBOL_GPL(kfi_control);

/**
 * kfi_open_ops() - see kfabric.h
 * @fid: handle of an object
 * @name: name of a set of operations
 * @flags: 0
 * @ops: where to store the set
 * @context: the consumer's pointer
 *
 * Return: 0 or a negative errno.
 */
int kfi_open_ops(struct kfid *fid, const char *name, uint64_t flags,
		 void **ops, void *context)
{
	const struct kfi_fid_class *class = class_of(fid);

	if (!class || !name || !ops)
		return -EINVAL;
	if (flags)
		return -KFI_EBADFLAGS;
	*ops = NULL;
	return class->ops_open ?
		class->ops_open(fid, name, flags, ops, context) : -ENOSYS;
}
EXPORT_SYMBOL_GPL(kfi_open_ops);
