/* SPDX-License-Identifier: GPL-2.0 */
/*
 * far_buf.h - bytes of a request or an answer while they are encoded or decoded, and their transfer
 * over TCP.
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
 * @len: number of bytes
 * @room: bytes that were allocated
 * @at: position of the reader
 * @bad: data was missing, or memory ran out
 */
struct far_buf {
	u8	*p;
	size_t	len, room, at;
	bool	bad;
};

void far_put(struct far_buf *b, const void *p, size_t len);
/* Return room for @len bytes at the end, or NULL. */
void *far_room(struct far_buf *b, size_t len);
void far_get(struct far_buf *b, void *p, size_t len);
/* Return the next @len bytes, or NULL. */
const void *far_take(struct far_buf *b, size_t len);
void far_free(struct far_buf *b);

void far_put_str(struct far_buf *b, const char *s);
/* Return: NULL if NULL was put, or if the string is missing. */
const char *far_take_str(struct far_buf *b);

/* Objects in infos are encoded as numbers. */
struct far_names {
	u64		(*number)(void *owner, struct kfid *fid);
	struct kfid	*(*object)(void *owner, u64 number);
	void		*owner;
};

void far_put_infos(struct far_buf *b, const struct kfi_info *info, const struct far_names *names);
/* Return a list; or NULL: no infos or, with b->bad, no memory or invalid data. */
struct kfi_info *far_get_infos(struct far_buf *b, const struct far_names *names);

int far_send(struct socket *sock, const void *head, size_t head_len, const void *body, size_t len);
int far_recv(struct socket *sock, void *p, size_t len);
/* Receive @len bytes of a body into a new buffer. */
int far_recv_body(struct socket *sock, struct far_buf *b, u64 len);
/* Sizes of structures that are sent as they are, on which both sides must agree */
u64 far_fingerprint(void);

/*
 * Changes of a piece of memory since the other machine has seen it last, in both directions.
 *
 * Both sides have a twin of each window: the contents that both know. A change is a difference
 * between memory and twin.
 */

/*
 * Encode the differences between @mem and @twin from @lo to @hi, and make the twin equal. Return:
 * number of runs
 */
u32 far_runs_put(struct far_buf *b, const u8 *mem, u8 *twin, size_t lo, size_t hi);
/* Apply @n runs to memory and twin, which have @size bytes. Return: false if one is invalid. */
bool far_runs_get(struct far_buf *b, u32 n, u8 *mem, u8 *twin, size_t size);

#endif /* KFI_CONFORMANCE_FAR_BUF_H */
