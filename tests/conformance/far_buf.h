/* SPDX-License-Identifier: GPL-2.0 */
/*
 * far_buf.h - bytes of a request or an answer, while they are put together or taken apart, and their way over TCP.
 */
#ifndef KFI_CONFORMANCE_FAR_BUF_H
#define KFI_CONFORMANCE_FAR_BUF_H

#include <linux/types.h>
#include "proto.h"

struct kfi_info;
struct kfid;
struct socket;

/**
 * struct far_buf - bytes to write to or to read from
 * @p: the bytes: kvmalloc(), or NULL
 * @len: how many there are
 * @room: how many there could be
 * @at: where reading goes on
 * @bad: something was missing, or memory ran out
 */
struct far_buf {
	u8	*p;
	size_t	len, room, at;
	bool	bad;
};

void far_put(struct far_buf *b, const void *p, size_t len);
/* A place for @len bytes at the end, or NULL. */
void *far_room(struct far_buf *b, size_t len);
void far_get(struct far_buf *b, void *p, size_t len);
/* The next @len bytes, or NULL. */
const void *far_take(struct far_buf *b, size_t len);
void far_free(struct far_buf *b);

void far_put_str(struct far_buf *b, const char *s);
/* NULL as it was put, or if it is missing. */
const char *far_take_str(struct far_buf *b);

/* Objects in infos go as numbers. */
struct far_names {
	u64		(*number)(void *owner, struct kfid *fid);
	struct kfid	*(*object)(void *owner, u64 number);
	void		*owner;
};

void far_put_infos(struct far_buf *b, const struct kfi_info *info, const struct far_names *names);
/* A list, or NULL: none or, with b->bad, no memory or nonsense. */
struct kfi_info *far_get_infos(struct far_buf *b, const struct far_names *names);

int far_send(struct socket *sock, const void *head, size_t head_len, const void *body, size_t len);
int far_recv(struct socket *sock, void *p, size_t len);
/* Receive @len bytes of a body into a fresh buffer. */
int far_recv_body(struct socket *sock, struct far_buf *b, u64 len);
/* What both ends must agree on: sizes of what goes as it is. */
u64 far_fingerprint(void);

#endif /* KFI_CONFORMANCE_FAR_BUF_H */
