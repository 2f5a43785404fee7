/* SPDX-License-Identifier: GPL-2.0 */
/*
 * proto.h - a block protocol:
 *
 *	client				server
 *	ex_hello		-->	(private data)
 *				<--	ex_hello: size of the disk
 *	ex_request		-->	(a message) names a region with the data
 *				<->	RMA on that region
 *				<--	ex_answer (a message that ends the region)
 */
#ifndef EX_PROTO_H
#define EX_PROTO_H

#include <linux/sizes.h>
#include <linux/types.h>
#include <kfi_conn.h>

enum {
	EX_VERSION	= 1,
	EX_NAME		= 64,		/* bytes of an address or a service */
	EX_DEPTH	= 64,		/* requests in flight */
	EX_MAX		= SZ_1M,	/* bytes of a request */
	EX_SEGS		= 256,		/* pages of a request */
};

enum ex_op {
	EX_READ,
	EX_WRITE,
	EX_FLUSH,
};

/* Status of an answer */
enum {
	EX_OK,
	EX_IO,		/* the disk has failed, or the request makes no sense */
	EX_AGAIN,	/* the server has no memory: repeat it later */
};

struct ex_hello {
	__le32	version;
	__le32	depth;
	__le64	sectors;
};

struct ex_request {
	__le16	tag;
	__le16	op;
	__le32	len;
	__le32	key;
	__le32	zero;
	__le64	addr;
	__le64	sector;
};

struct ex_answer {
	__le16	tag;
	__le16	zero;
	__le32	status;
};

static_assert(sizeof(struct ex_request) == 32 && sizeof(struct ex_answer) == 8);

#define EX_SERVICE	"4460"

/* What both sides need of kfabric */
#define EX_NEED (struct kfi_need) {								\
	.type = KFI_EP_MSG, .max_len = EX_MAX, .inject = sizeof(struct ex_request),		\
	.order = KFI_ORDER_SAS | KFI_ORDER_SAW, .key_size = 4, .load = true,			\
}

#endif /* EX_PROTO_H */
