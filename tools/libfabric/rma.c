// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* rma.c - reads and writes of memory of peers */
#include "kfi_fi.h"

#define READ_DEFAULTS	FI_COMPLETION
#define WRITE_DEFAULTS	(FI_COMPLETION | FI_INJECT | FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE | \
			 FI_DELIVERY_COMPLETE | FI_COMMIT_COMPLETE)

static struct kfi_ep *to_ep(struct fid_ep *fid)
{
	return kfi_container(fid, struct kfi_ep, fid);
}

static uint64_t read_flags(const struct kfi_ep *ep)
{
	return (ep->tx_flags & READ_DEFAULTS) | ep->tx_always;
}

static uint64_t write_flags(const struct kfi_ep *ep)
{
	return (ep->tx_flags & WRITE_DEFAULTS) | ep->tx_always;
}

/* Set remote segments, as kfi_set_iov() does */
static int set_rma(struct kfi_user_desc *desc, const struct fi_rma_iov *rma, size_t count,
		   struct kfi_user_rma *room)
{
	size_t i;

	if (!count || count > KFI_USER_IOV_MAX)
		return -FI_EINVAL;
	if (count == 1 && rma->len == desc->len) {
		desc->rma_addr = rma->addr;
		desc->rma_key = rma->key;
		return 0;
	}
	for (i = 0; i < count; i++)
		room[i] = (struct kfi_user_rma){ rma[i].addr, rma[i].len, rma[i].key };
	desc->rma_addr = (uintptr_t)room;
	desc->rma_count = count;
	return 0;
}

static ssize_t post_vector(struct kfi_ep *ep, enum kfi_user_opcode opcode,
			   const struct fi_msg_rma *msg, uint64_t flags)
{
	struct kfi_user_desc desc = {
		.opcode		= opcode,
		.flags		= flags,
		.context	= (uintptr_t)msg->context,
		.addr		= msg->addr,
		.data		= msg->data,
	};
	struct kfi_user_iovec iov[KFI_USER_IOV_MAX];
	struct kfi_user_rma rma[KFI_USER_IOV_MAX];
	int ret;

	ret = kfi_set_iov(&desc, msg->msg_iov, msg->iov_count, iov);
	if (!ret)
		ret = set_rma(&desc, msg->rma_iov, msg->rma_iov_count, rma);
	return ret ? ret : kfi_post(ep, &desc);
}

/* Calls with one remote segment, which is as long as the local ones together */
static ssize_t post_iov(struct kfi_ep *ep, enum kfi_user_opcode opcode, const struct iovec *iov,
			size_t count, fi_addr_t peer, uint64_t addr, uint64_t key, void *context,
			uint64_t flags)
{
	struct kfi_user_desc desc = {
		.opcode		= opcode,
		.flags		= flags,
		.context	= (uintptr_t)context,
		.addr		= peer,
		.rma_addr	= addr,
		.rma_key	= key,
	};
	struct kfi_user_iovec room[KFI_USER_IOV_MAX];
	int ret;

	ret = kfi_set_iov(&desc, iov, count, room);
	return ret ? ret : kfi_post(ep, &desc);
}

static ssize_t write_buffer(struct kfi_ep *ep, const void *buf, size_t len, uint64_t data,
			    fi_addr_t peer, uint64_t addr, uint64_t key, void *context,
			    uint64_t flags)
{
	struct kfi_user_desc desc = {
		.opcode		= KFI_USER_WRITE,
		.flags		= flags,
		.context	= (uintptr_t)context,
		.addr		= peer,
		.data		= data,
		.buf		= (uintptr_t)buf,
		.len		= len,
		.rma_addr	= addr,
		.rma_key	= key,
	};

	return kfi_post(ep, &desc);
}

static ssize_t rma_readv(struct fid_ep *fid, const struct iovec *iov, void **mr_desc, size_t count,
			 fi_addr_t src_addr, uint64_t addr, uint64_t key, void *context)
{
	struct kfi_ep *ep = to_ep(fid);

	return post_iov(ep, KFI_USER_READ, iov, count, src_addr, addr, key, context,
			read_flags(ep));
}

static ssize_t rma_read(struct fid_ep *fid, void *buf, size_t len, void *mr_desc,
			fi_addr_t src_addr, uint64_t addr, uint64_t key, void *context)
{
	struct iovec iov = { .iov_base = buf, .iov_len = len };

	return rma_readv(fid, &iov, NULL, 1, src_addr, addr, key, context);
}

static ssize_t rma_readmsg(struct fid_ep *fid, const struct fi_msg_rma *msg, uint64_t flags)
{
	return post_vector(to_ep(fid), KFI_USER_READ, msg, flags | to_ep(fid)->tx_always);
}

static ssize_t rma_write(struct fid_ep *fid, const void *buf, size_t len, void *mr_desc,
			 fi_addr_t dest_addr, uint64_t addr, uint64_t key, void *context)
{
	return write_buffer(to_ep(fid), buf, len, 0, dest_addr, addr, key, context,
			    write_flags(to_ep(fid)));
}

static ssize_t rma_writev(struct fid_ep *fid, const struct iovec *iov, void **mr_desc, size_t count,
			  fi_addr_t dest_addr, uint64_t addr, uint64_t key, void *context)
{
	struct kfi_ep *ep = to_ep(fid);

	return post_iov(ep, KFI_USER_WRITE, iov, count, dest_addr, addr, key, context,
			write_flags(ep));
}

static ssize_t rma_writemsg(struct fid_ep *fid, const struct fi_msg_rma *msg, uint64_t flags)
{
	return post_vector(to_ep(fid), KFI_USER_WRITE, msg, flags | to_ep(fid)->tx_always);
}

static ssize_t rma_inject(struct fid_ep *fid, const void *buf, size_t len, fi_addr_t dest_addr,
			  uint64_t addr, uint64_t key)
{
	return write_buffer(to_ep(fid), buf, len, 0, dest_addr, addr, key, NULL, FI_INJECT);
}

static ssize_t rma_writedata(struct fid_ep *fid, const void *buf, size_t len, void *mr_desc,
			     uint64_t data, fi_addr_t dest_addr, uint64_t addr, uint64_t key,
			     void *context)
{
	return write_buffer(to_ep(fid), buf, len, data, dest_addr, addr, key, context,
			    write_flags(to_ep(fid)) | FI_REMOTE_CQ_DATA);
}

static ssize_t rma_injectdata(struct fid_ep *fid, const void *buf, size_t len, uint64_t data,
			      fi_addr_t dest_addr, uint64_t addr, uint64_t key)
{
	return write_buffer(to_ep(fid), buf, len, data, dest_addr, addr, key, NULL,
			    FI_INJECT | FI_REMOTE_CQ_DATA);
}

struct fi_ops_rma kfi_rma_ops = {
	.size		= sizeof(struct fi_ops_rma),
	.read		= rma_read,
	.readv		= rma_readv,
	.readmsg	= rma_readmsg,
	.write		= rma_write,
	.writev		= rma_writev,
	.writemsg	= rma_writemsg,
	.inject		= rma_inject,
	.writedata	= rma_writedata,
	.injectdata	= rma_injectdata,
};
