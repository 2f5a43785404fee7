// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * av.c - address vectors
 *
 * The kernel's vectors are tables. A program that has requested FI_AV_MAP gets indices as handles.
 * An insertion is complete when the call returns, and makes no events.
 */
#include "kfi_fi.h"

#define AV_CHUNK	4096	/* addresses that the kernel takes in one call */

static int av_close(struct fid *fid)
{
	struct kfi_av *av = kfi_container(fid, struct kfi_av, fid.fid);
	int ret;

	ret = kfi_handle_close(av->domain->fabric, av->handle);
	if (!ret)
		free(av);
	return ret;
}

/* FI_SYNC_ERR: @context is an array with room for an error of each address. */
static int av_insert(struct fid_av *fid, const void *addr, size_t count, fi_addr_t *fi_addr,
		     uint64_t flags, void *context)
{
	struct kfi_av *av = kfi_container(fid, struct kfi_av, fid);
	int *errs = flags & FI_SYNC_ERR ? context : NULL;
	size_t at, inserted = 0;
	int ret;

	if (flags & ~(FI_MORE | FI_SYNC_ERR))
		return -FI_EBADFLAGS;
	if (flags & FI_SYNC_ERR && !context)
		return -FI_EINVAL;
	for (at = 0; at < count; at += AV_CHUNK) {
		size_t n = count - at < AV_CHUNK ? count - at : AV_CHUNK;
		struct kfi_user_av_insert arg = {
			.av		= av->handle,
			.count		= n,
			.addrs		= (uintptr_t)addr + at * av->addrlen,
			.fi_addrs	= fi_addr ? (uintptr_t)(fi_addr + at) : 0,
			.errs		= errs ? (uintptr_t)(errs + at) : 0,
			.addrs_size	= n * av->addrlen,
		};

		ret = kfi_call(av->domain->fabric, KFI_IOC_AV_INSERT, &arg);
		if (ret && !at)
			return ret;
		if (ret) {
			/* The caller has to learn which addresses were inserted. */
			for (; at < count; at++) {
				if (fi_addr)
					fi_addr[at] = FI_ADDR_NOTAVAIL;
				if (errs)
					errs[at] = -ret;
			}
			break;
		}
		inserted += arg.count;
	}
	return inserted;
}

static int av_insertsym(struct fid_av *fid, const char *node, size_t nodecnt, const char *service,
			size_t svccnt, fi_addr_t *fi_addr, uint64_t flags, void *context)
{
	struct kfi_av *av = kfi_container(fid, struct kfi_av, fid);
	struct kfi_user_av_svc arg = {
		.av		= av->handle,
		.node		= (uintptr_t)node,
		.service	= (uintptr_t)service,
		.nodecnt	= nodecnt,
		.svccnt		= svccnt,
		.fi_addrs	= (uintptr_t)fi_addr,
	};
	int ret;

	if (flags & ~FI_MORE)
		return -FI_EBADFLAGS;
	if (!nodecnt || !svccnt || nodecnt > AV_CHUNK || svccnt > AV_CHUNK)
		return -FI_EINVAL;
	ret = kfi_call(av->domain->fabric, KFI_IOC_AV_INSERTSVC, &arg);
	return ret ? ret : (int)arg.count;
}

struct insertion {
	struct fid_av	*av;
	fi_addr_t	*fi_addr;
	uint64_t	flags;
	void		*context;
};

static int insert_name(void *insertion, const char *node, const char *service)
{
	struct insertion *in = insertion;

	return av_insertsym(in->av, node, 1, service, 1, in->fi_addr, in->flags, in->context);
}

static int av_insertsvc(struct fid_av *fid, const char *node, const char *service,
			fi_addr_t *fi_addr, uint64_t flags, void *context)
{
	struct kfi_av *av = kfi_container(fid, struct kfi_av, fid);
	struct insertion in = { fid, fi_addr, flags, context };

	return kfi_resolve(node, service, av->domain->info.addr_format, 0, insert_name, &in,
			   -FI_EINVAL);
}

static int av_remove(struct fid_av *fid, fi_addr_t *fi_addr, size_t count, uint64_t flags)
{
	struct kfi_av *av = kfi_container(fid, struct kfi_av, fid);
	size_t at;
	int ret = 0;

	if (flags)
		return -FI_EBADFLAGS;
	for (at = 0; at < count && !ret; at += AV_CHUNK) {
		struct kfi_user_av_remove arg = {
			.av		= av->handle,
			.count		= count - at < AV_CHUNK ? count - at : AV_CHUNK,
			.fi_addrs	= (uintptr_t)(fi_addr + at),
		};

		ret = kfi_call(av->domain->fabric, KFI_IOC_AV_REMOVE, &arg);
	}
	return ret;
}

/* An address that does not fit is truncated; the length that is returned shows it. */
static int av_lookup(struct fid_av *fid, fi_addr_t fi_addr, void *addr, size_t *addrlen)
{
	struct kfi_av *av = kfi_container(fid, struct kfi_av, fid);
	uint8_t whole[KFI_USER_ADDR_MAX];
	struct kfi_user_av_lookup arg = {
		.av		= av->handle,
		.addrlen	= sizeof(whole),
		.fi_addr	= fi_addr,
		.addr		= (uintptr_t)whole,
	};
	int ret;

	ret = kfi_call(av->domain->fabric, KFI_IOC_AV_LOOKUP, &arg);
	if (ret)
		return ret;
	memcpy(addr, whole, *addrlen < arg.addrlen ? *addrlen : arg.addrlen);
	*addrlen = arg.addrlen;
	return 0;
}

static const char *av_straddr(struct fid_av *fid, const void *addr, char *buf, size_t *len)
{
	struct kfi_av *av = kfi_container(fid, struct kfi_av, fid);
	struct kfi_user_av_lookup arg = {
		.av		= av->handle,
		.addrlen	= av->addrlen,
		.addr		= (uintptr_t)addr,
		.str		= (uintptr_t)buf,
		.len		= *len > UINT32_MAX ? UINT32_MAX : *len,
	};

	if (kfi_call(av->domain->fabric, KFI_IOC_AV_STRADDR, &arg))
		return NULL;
	*len = arg.len;
	return buf;
}

static int no_av_set(struct fid_av *av, struct fi_av_set_attr *attr, struct fid_av_set **set,
		     void *context)
{
	return -FI_ENOSYS;
}

static struct fi_ops av_fid_ops = {
	.size		= sizeof(struct fi_ops),
	.close		= av_close,
	.bind		= kfi_no_bind,
	.control	= kfi_no_control,
	.ops_open	= kfi_no_ops_open,
	.tostr		= kfi_no_tostr,
	.ops_set	= kfi_no_ops_set,
};

/* libfabric 2 has three more slots, which it does not call if they are beyond the size. */
static struct fi_ops_av av_ops = {
	.size		= offsetof(struct fi_ops_av, av_set) + sizeof(av_ops.av_set),
	.insert		= av_insert,
	.insertsvc	= av_insertsvc,
	.insertsym	= av_insertsym,
	.remove		= av_remove,
	.lookup		= av_lookup,
	.straddr	= av_straddr,
	.av_set		= no_av_set,
};

int kfi_av_open(struct fid_domain *dfid, struct fi_av_attr *attr, struct fid_av **fid,
		void *context)
{
	struct kfi_domain *domain = kfi_container(dfid, struct kfi_domain, fid);
	struct kfi_user_av arg = {
		.domain		= domain->handle,
		.count		= attr->count,
		.rx_ctx_bits	= attr->rx_ctx_bits,
	};
	struct kfi_av *av;
	int ret;

	/* There are neither events of insertions, nor vectors that processes share by name. */
	if (attr->flags & FI_EVENT || attr->name)
		return -FI_ENOSYS;
	if (attr->type > FI_AV_TABLE)
		return -FI_EINVAL;
	av = calloc(1, sizeof(*av));
	if (!av)
		return -FI_ENOMEM;
	arg.cookie = (uintptr_t)av;
	ret = kfi_call(domain->fabric, KFI_IOC_AV, &arg);
	if (ret) {
		free(av);
		return ret;
	}
	av->domain = domain;
	av->handle = arg.handle;
	av->addrlen = arg.addrlen;
	av->fid.fid.fclass = FI_CLASS_AV;
	av->fid.fid.context = context;
	av->fid.fid.ops = &av_fid_ops;
	av->fid.ops = &av_ops;
	*fid = &av->fid;
	return 0;
}
