// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * msg.c - messages, plain and tagged
 *
 * Each call is one descriptor for the kernel. Calls without a flags argument use the endpoint's
 * default flags, others use their argument. ep->tx_always and ep->rx_always request a completion
 * unless the queue is bound for selective completion.
 */
#include "kfi_fi.h"

#define SEND_DEFAULTS	(FI_COMPLETION | FI_INJECT | FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE | \
			 FI_DELIVERY_COMPLETE | FI_MATCH_COMPLETE)
#define RECV_DEFAULTS	(FI_COMPLETION | FI_MULTI_RECV)

static uint64_t send_flags(const struct kfi_ep *ep)
{
	return (ep->tx_flags & SEND_DEFAULTS) | ep->tx_always;
}

static uint64_t recv_flags(const struct kfi_ep *ep)
{
	return (ep->rx_flags & RECV_DEFAULTS) | ep->rx_always;
}

/* A source is meaningful only for endpoints with directed receives. */
static uint64_t source(const struct kfi_ep *ep, fi_addr_t addr)
{
	return ep->directed ? addr : FI_ADDR_UNSPEC;
}

static struct kfi_ep *to_ep(struct fid_ep *fid)
{
	return kfi_container(fid, struct kfi_ep, fid);
}

/* ---- descriptors ---- */

/* A plain message is a tagged one without a tag. */
static struct fi_msg_tagged untagged(const struct fi_msg *msg)
{
	return (struct fi_msg_tagged){
		.msg_iov	= msg->msg_iov,
		.iov_count	= msg->iov_count,
		.addr		= msg->addr,
		.context	= msg->context,
		.data		= msg->data,
	};
}

static ssize_t recv_vector(struct kfi_ep *ep, enum kfi_user_opcode opcode,
			   const struct fi_msg_tagged *msg, uint64_t flags)
{
	struct kfi_user_desc desc = {
		.opcode		= opcode,
		.flags		= flags,
		.context	= (uintptr_t)msg->context,
		.addr		= source(ep, msg->addr),
		.tag		= msg->tag,
		.ignore		= msg->ignore,
	};
	struct kfi_user_iovec iov[KFI_USER_IOV_MAX];
	int ret;

	ret = kfi_set_iov(&desc, msg->msg_iov, msg->iov_count, iov);
	return ret ? ret : kfi_post(ep, &desc);
}

static ssize_t send_vector(struct kfi_ep *ep, enum kfi_user_opcode opcode,
			   const struct fi_msg_tagged *msg, uint64_t flags)
{
	struct kfi_user_desc desc = {
		.opcode		= opcode,
		.flags		= flags,
		.context	= (uintptr_t)msg->context,
		.addr		= msg->addr,
		.tag		= msg->tag,
		.data		= msg->data,
	};
	struct kfi_user_iovec iov[KFI_USER_IOV_MAX];
	int ret;

	ret = kfi_set_iov(&desc, msg->msg_iov, msg->iov_count, iov);
	return ret ? ret : kfi_post(ep, &desc);
}

static ssize_t send_buffer(struct kfi_ep *ep, enum kfi_user_opcode opcode, const void *buf,
			   size_t len, uint64_t data, fi_addr_t dest_addr, uint64_t tag,
			   void *context, uint64_t flags)
{
	struct kfi_user_desc desc = {
		.opcode		= opcode,
		.flags		= flags,
		.context	= (uintptr_t)context,
		.addr		= dest_addr,
		.tag		= tag,
		.data		= data,
		.buf		= (uintptr_t)buf,
		.len		= len,
	};

	return kfi_post(ep, &desc);
}

/* ---- plain messages ---- */

static ssize_t msg_recv(struct fid_ep *fid, void *buf, size_t len, void *mr_desc,
			fi_addr_t src_addr, void *context)
{
	struct kfi_ep *ep = to_ep(fid);
	struct kfi_user_desc desc = {
		.opcode		= KFI_USER_RECV,
		.flags		= recv_flags(ep),
		.context	= (uintptr_t)context,
		.addr		= source(ep, src_addr),
		.buf		= (uintptr_t)buf,
		.len		= len,
	};

	return kfi_post(ep, &desc);
}

static ssize_t msg_recvv(struct fid_ep *fid, const struct iovec *iov, void **mr_desc, size_t count,
			 fi_addr_t src_addr, void *context)
{
	struct fi_msg_tagged msg = {
		.msg_iov	= iov,
		.iov_count	= count,
		.addr		= src_addr,
		.context	= context,
	};

	return recv_vector(to_ep(fid), KFI_USER_RECV, &msg, recv_flags(to_ep(fid)));
}

static ssize_t msg_recvmsg(struct fid_ep *fid, const struct fi_msg *msg, uint64_t flags)
{
	struct fi_msg_tagged plain = untagged(msg);

	return recv_vector(to_ep(fid), KFI_USER_RECV, &plain, flags | to_ep(fid)->rx_always);
}

static ssize_t msg_send(struct fid_ep *fid, const void *buf, size_t len, void *mr_desc,
			fi_addr_t dest_addr, void *context)
{
	return send_buffer(to_ep(fid), KFI_USER_SEND, buf, len, 0, dest_addr, 0, context,
			   send_flags(to_ep(fid)));
}

static ssize_t msg_sendv(struct fid_ep *fid, const struct iovec *iov, void **mr_desc, size_t count,
			 fi_addr_t dest_addr, void *context)
{
	struct fi_msg_tagged msg = {
		.msg_iov	= iov,
		.iov_count	= count,
		.addr		= dest_addr,
		.context	= context,
	};

	return send_vector(to_ep(fid), KFI_USER_SEND, &msg, send_flags(to_ep(fid)));
}

static ssize_t msg_sendmsg(struct fid_ep *fid, const struct fi_msg *msg, uint64_t flags)
{
	struct fi_msg_tagged plain = untagged(msg);

	return send_vector(to_ep(fid), KFI_USER_SEND, &plain, flags | to_ep(fid)->tx_always);
}

static ssize_t msg_inject(struct fid_ep *fid, const void *buf, size_t len, fi_addr_t dest_addr)
{
	return send_buffer(to_ep(fid), KFI_USER_SEND, buf, len, 0, dest_addr, 0, NULL, FI_INJECT);
}

static ssize_t msg_senddata(struct fid_ep *fid, const void *buf, size_t len, void *mr_desc,
			    uint64_t data, fi_addr_t dest_addr, void *context)
{
	return send_buffer(to_ep(fid), KFI_USER_SEND, buf, len, data, dest_addr, 0, context,
			   send_flags(to_ep(fid)) | FI_REMOTE_CQ_DATA);
}

static ssize_t msg_injectdata(struct fid_ep *fid, const void *buf, size_t len, uint64_t data,
			      fi_addr_t dest_addr)
{
	return send_buffer(to_ep(fid), KFI_USER_SEND, buf, len, data, dest_addr, 0, NULL,
			   FI_INJECT | FI_REMOTE_CQ_DATA);
}

struct fi_ops_msg kfi_msg_ops = {
	.size		= sizeof(struct fi_ops_msg),
	.recv		= msg_recv,
	.recvv		= msg_recvv,
	.recvmsg	= msg_recvmsg,
	.send		= msg_send,
	.sendv		= msg_sendv,
	.sendmsg	= msg_sendmsg,
	.inject		= msg_inject,
	.senddata	= msg_senddata,
	.injectdata	= msg_injectdata,
};

/* ---- tagged messages ---- */

static ssize_t tagged_recv(struct fid_ep *fid, void *buf, size_t len, void *mr_desc,
			   fi_addr_t src_addr, uint64_t tag, uint64_t ignore, void *context)
{
	struct kfi_ep *ep = to_ep(fid);
	struct kfi_user_desc desc = {
		.opcode		= KFI_USER_TRECV,
		/*
		 * Multi-receive by default is for plain messages; tagged ones need the flag in the
		 * call.
		 */
		.flags		= recv_flags(ep) & ~FI_MULTI_RECV,
		.context	= (uintptr_t)context,
		.addr		= source(ep, src_addr),
		.tag		= tag,
		.ignore		= ignore,
		.buf		= (uintptr_t)buf,
		.len		= len,
	};

	return kfi_post(ep, &desc);
}

static ssize_t tagged_recvv(struct fid_ep *fid, const struct iovec *iov, void **mr_desc,
			    size_t count, fi_addr_t src_addr, uint64_t tag, uint64_t ignore,
			    void *context)
{
	struct fi_msg_tagged msg = {
		.msg_iov	= iov,
		.iov_count	= count,
		.addr		= src_addr,
		.tag		= tag,
		.ignore		= ignore,
		.context	= context,
	};

	return recv_vector(to_ep(fid), KFI_USER_TRECV, &msg,
			   recv_flags(to_ep(fid)) & ~FI_MULTI_RECV);
}

static ssize_t tagged_recvmsg(struct fid_ep *fid, const struct fi_msg_tagged *msg, uint64_t flags)
{
	return recv_vector(to_ep(fid), KFI_USER_TRECV, msg, flags | to_ep(fid)->rx_always);
}

static ssize_t tagged_send(struct fid_ep *fid, const void *buf, size_t len, void *mr_desc,
			   fi_addr_t dest_addr, uint64_t tag, void *context)
{
	return send_buffer(to_ep(fid), KFI_USER_TSEND, buf, len, 0, dest_addr, tag, context,
			   send_flags(to_ep(fid)));
}

static ssize_t tagged_sendv(struct fid_ep *fid, const struct iovec *iov, void **mr_desc,
			    size_t count, fi_addr_t dest_addr, uint64_t tag, void *context)
{
	struct fi_msg_tagged msg = {
		.msg_iov	= iov,
		.iov_count	= count,
		.addr		= dest_addr,
		.tag		= tag,
		.context	= context,
	};

	return send_vector(to_ep(fid), KFI_USER_TSEND, &msg, send_flags(to_ep(fid)));
}

static ssize_t tagged_sendmsg(struct fid_ep *fid, const struct fi_msg_tagged *msg, uint64_t flags)
{
	return send_vector(to_ep(fid), KFI_USER_TSEND, msg, flags | to_ep(fid)->tx_always);
}

static ssize_t tagged_inject(struct fid_ep *fid, const void *buf, size_t len, fi_addr_t dest_addr,
			     uint64_t tag)
{
	return send_buffer(to_ep(fid), KFI_USER_TSEND, buf, len, 0, dest_addr, tag, NULL,
			   FI_INJECT);
}

static ssize_t tagged_senddata(struct fid_ep *fid, const void *buf, size_t len, void *mr_desc,
			       uint64_t data, fi_addr_t dest_addr, uint64_t tag, void *context)
{
	return send_buffer(to_ep(fid), KFI_USER_TSEND, buf, len, data, dest_addr, tag, context,
			   send_flags(to_ep(fid)) | FI_REMOTE_CQ_DATA);
}

static ssize_t tagged_injectdata(struct fid_ep *fid, const void *buf, size_t len, uint64_t data,
				 fi_addr_t dest_addr, uint64_t tag)
{
	return send_buffer(to_ep(fid), KFI_USER_TSEND, buf, len, data, dest_addr, tag, NULL,
			   FI_INJECT | FI_REMOTE_CQ_DATA);
}

struct fi_ops_tagged kfi_tagged_ops = {
	.size		= sizeof(struct fi_ops_tagged),
	.recv		= tagged_recv,
	.recvv		= tagged_recvv,
	.recvmsg	= tagged_recvmsg,
	.send		= tagged_send,
	.sendv		= tagged_sendv,
	.sendmsg	= tagged_sendmsg,
	.inject		= tagged_inject,
	.senddata	= tagged_senddata,
	.injectdata	= tagged_injectdata,
};
