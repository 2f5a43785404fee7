// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * refuse.c - functions for operations that an object does not support
 *
 * libfabric calls most operations without a test whether the pointer is set, so each slot has a
 * function. The functions in this file are for operations without a capability of the provider.
 */
#include "kfi_fi.h"

int kfi_no_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	return -FI_ENOSYS;
}

int kfi_no_control(struct fid *fid, int command, void *arg)
{
	return -FI_ENOSYS;
}

int kfi_no_ops_open(struct fid *fid, const char *name, uint64_t flags, void **ops, void *context)
{
	return -FI_ENOSYS;
}

int kfi_no_tostr(const struct fid *fid, char *buf, size_t len)
{
	return -FI_ENOSYS;
}

int kfi_no_ops_set(struct fid *fid, const char *name, uint64_t flags, void *ops, void *context)
{
	return -FI_ENOSYS;
}

ssize_t kfi_no_cancel(fid_t fid, void *context)
{
	return -FI_ENOSYS;
}

int kfi_no_getopt(fid_t fid, int level, int name, void *value, size_t *len)
{
	return -FI_ENOPROTOOPT;
}

int kfi_no_setopt(fid_t fid, int level, int name, const void *value, size_t len)
{
	return -FI_ENOPROTOOPT;
}

int kfi_no_tx_ctx(struct fid_ep *sep, int index, struct fi_tx_attr *attr, struct fid_ep **ep,
		  void *context)
{
	return -FI_ENOSYS;
}

int kfi_no_rx_ctx(struct fid_ep *sep, int index, struct fi_rx_attr *attr, struct fid_ep **ep,
		  void *context)
{
	return -FI_ENOSYS;
}

ssize_t kfi_no_size_left(struct fid_ep *ep)
{
	return -FI_ENOSYS;
}

int kfi_no_setname(fid_t fid, void *addr, size_t addrlen)
{
	return -FI_ENOSYS;
}

int kfi_no_getname(fid_t fid, void *addr, size_t *addrlen)
{
	return -FI_ENOSYS;
}

int kfi_no_getpeer(struct fid_ep *ep, void *addr, size_t *addrlen)
{
	return -FI_ENOSYS;
}

int kfi_no_connect(struct fid_ep *ep, const void *addr, const void *param, size_t paramlen)
{
	return -FI_ENOSYS;
}

int kfi_no_listen(struct fid_pep *pep)
{
	return -FI_ENOSYS;
}

int kfi_no_accept(struct fid_ep *ep, const void *param, size_t paramlen)
{
	return -FI_ENOSYS;
}

int kfi_no_reject(struct fid_pep *pep, fid_t handle, const void *param, size_t paramlen)
{
	return -FI_ENOSYS;
}

int kfi_no_shutdown(struct fid_ep *ep, uint64_t flags)
{
	return -FI_ENOSYS;
}

int kfi_no_join(struct fid_ep *ep, const void *addr, uint64_t flags, struct fid_mc **mc,
		   void *context)
{
	return -FI_ENOSYS;
}

struct fi_ops_cm kfi_no_cm_ops = {
	.size		= sizeof(struct fi_ops_cm),
	.setname	= kfi_no_setname,
	.getname	= kfi_no_getname,
	.getpeer	= kfi_no_getpeer,
	.connect	= kfi_no_connect,
	.listen		= kfi_no_listen,
	.accept		= kfi_no_accept,
	.reject		= kfi_no_reject,
	.shutdown	= kfi_no_shutdown,
	.join		= kfi_no_join,
};
