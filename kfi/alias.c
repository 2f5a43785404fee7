// SPDX-License-Identifier: GPL-2.0
/*
 * Aliases: further handles of an endpoint or context, with default flags of their own.
 *
 * An alias keeps its endpoint or context open. A post through an alias that has KFI_OPFLAGS_DEFAULT
 * takes the alias's flags instead of the endpoint's; all calls without a flags argument set
 * KFI_OPFLAGS_DEFAULT. The commands KFI_GETOPSFLAG and KFI_SETOPSFLAG act on the alias's flags. All
 * other calls act on the endpoint or context.
 *
 * The flags are read and written with READ_ONCE() and WRITE_ONCE(), without a lock.
 */
#include <linux/slab.h>
#include "ep.h"
#include "post.h"

static struct kfi_ep_alias *to_alias(struct kfid *fid)
{
	return container_of(fid, struct kfi_ep_alias, fid.fid);
}

int kfi_alias_open(struct kfi_ep *ep, const struct kfi_alias *arg)
{
	struct kfi_ep_alias *alias;
	int ret;

	if (!arg || !arg->fid || ep->fid.fid.fclass == KFI_CLASS_SEP)
		return -EINVAL;
	alias = kzalloc(sizeof(*alias), GFP_KERNEL);
	if (!alias)
		return -ENOMEM;
	alias->fid.fid.fclass = KFI_CLASS_ALIAS;
	alias->fid.fid.context = ep->fid.fid.context;
	alias->ep = ep;
	alias->tx_flags = READ_ONCE(ep->tx_flags);
	alias->rx_flags = READ_ONCE(ep->rx_flags);
	ret = kfi_ep_set_ops_flags(ep, &alias->tx_flags, &alias->rx_flags, &arg->flags);
	if (ret) {
		kfree(alias);
		return ret;
	}
	kfi_obj_get(&ep->obj);
	*arg->fid = &alias->fid.fid;
	return 0;
}

static int close_alias(struct kfid *fid)
{
	struct kfi_ep_alias *alias = to_alias(fid);

	kfi_obj_put(&alias->ep->obj);
	kfree(alias);
	return 0;
}

static int control_alias(struct kfid *fid, int command, void *arg)
{
	struct kfi_ep_alias *alias = to_alias(fid);

	switch (command) {
	case KFI_GETOPSFLAG:
		return kfi_ep_get_ops_flags(&alias->tx_flags, &alias->rx_flags, arg);
	case KFI_SETOPSFLAG:
		return kfi_ep_set_ops_flags(alias->ep, &alias->tx_flags, &alias->rx_flags, arg);
	default:
		return kfi_ep_control(&alias->ep->fid.fid, command, arg);
	}
}

const struct kfi_fid_class kfi_alias_class = {
	.name		= "alias",
	.close		= close_alias,
	.control	= control_alias,
};
