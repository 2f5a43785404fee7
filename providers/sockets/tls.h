/* SPDX-License-Identifier: GPL-2.0 */
/*
 * tls.h - links with TLS 1.3, which the parameter tls selects for all connections: tls.c has the
 * keys and the handshake, tls_link.c the stream. docs/security.md describes the life of such a
 * link.
 */
#ifndef _KFI_SOCKETS_TLS_H
#define _KFI_SOCKETS_TLS_H

#include <linux/bvec.h>
#include <linux/completion.h>
#include <linux/key.h>
#include "sock.h"

#define KS_TLS_OUT	(PAGE_SIZE > SZ_64K ? PAGE_SIZE : SZ_64K) /* bytes of the ring */
#define KS_TLS_IN	SZ_32K		/* bytes of the receive buffer: two records */
#define KS_TLS_ORIGIN	8		/* handshakes at a time, see ks_tls_slot_take() */
#define KS_TLS_CANCELED	64		/* canceled ones that are still held */

/**
 * enum ks_tls_state - state of a TLS link
 * @KS_TLS_NEW: not dialed yet
 * @KS_TLS_CALLED: a peer has called, @shake has to begin
 * @KS_TLS_WAIT: waits for TCP, for bytes of the caller, or until a handshake may begin
 * @KS_TLS_SHAKE: tlshd has the socket
 * @KS_TLS_OPEN: the handshake is complete
 * @KS_TLS_OVER: the handshake has failed
 */
enum ks_tls_state {
	KS_TLS_NEW,
	KS_TLS_CALLED,
	KS_TLS_WAIT,
	KS_TLS_SHAKE,
	KS_TLS_OPEN,
	KS_TLS_OVER,
};

/**
 * struct ks_tls_link - a TCP connection with TLS
 * @kl: common part
 * @lock: lock of the link; protects the members marked (L)
 * @state: &enum ks_tls_state. Written by @shake, and by ks_tls_start() with release semantics
 *	after
 *	@deadline; detach() reads it when @shake does nothing any more
 * @dialed: this side has called
 * @closing: detach() was called: no callback of the protocol (L)
 * @shake: work item for all steps up to KS_TLS_OPEN
 * @deadline: end of the time for these steps, jiffies
 * @offered: dialed: key of the handshake
 * @hold: what tlshd may use, from the begin of a handshake to its answer or to the close; or NULL
 * @label: name of a handshake in which tlshd compares none; or NULL
 * @answered: @status and @peerid are valid. Stored by ks_tls_done() with release semantics
 * @status: result of the handshake, 0 or a negative errno
 * @peerid: key that tlshd has used, or that it has made of the peer's certificate
 * @done: ks_tls_done() does not use the link any more
 * @rx: work item that receives
 * @tx: work item that sends
 * @out: ring of bytes to send, from KS_TLS_OPEN on. Byte p is at p mod KS_TLS_OUT
 * @out_pages: its pages, twice: what begins at its end continues at its beginning
 * @put: bytes that were put into @out (L)
 * @sent: bytes that were sent from @out. Written by @tx, and by close() after it (L)
 * @full: a post has found no room (L)
 * @in: receive buffer, from KS_TLS_OPEN on. Filled by @rx while it is empty
 * @in_pages: its pages
 * @in_at: bytes of @in that were passed on (L)
 * @in_len: bytes in @in (L)
 * @parked: @rx waits until @in is empty (L)
 * @ended: 0, or the reason why no more bytes come, a negative errno. Written under @lock
 */
struct ks_tls_link {
	struct ks_link		kl;
	spinlock_t		lock;
	u8			state;
	bool			dialed;
	bool			closing;

	struct delayed_work	shake;
	unsigned long		deadline;
	key_serial_t		offered;
	struct ks_tls_hold	*hold;
	const char		*label;
	bool			answered;
	int			status;
	key_serial_t		peerid;
	struct completion	done;

	struct delayed_work	rx;
	struct delayed_work	tx;
	u8			*out;
	struct bio_vec		out_pages[2 * KS_TLS_OUT / PAGE_SIZE];
	u64			put, sent;
	bool			full;
	u8			*in;
	struct bio_vec		in_pages[DIV_ROUND_UP(KS_TLS_IN, PAGE_SIZE)];
	u32			in_at, in_len;
	bool			parked;
	int			ended;
};

static inline struct ks_tls_link *to_ks_tls(const struct kfi_link *link)
{
	return container_of(to_ks_link(link), struct ks_tls_link, kl);
}

/* tls.c */
void ks_tls_shake_work(struct work_struct *work);
void ks_tls_start(struct ks_tls_link *tl, int state, unsigned int timeout_ms);
void ks_tls_shake_end(struct ks_tls_link *tl);
void ks_tls_hold_end(struct ks_tls_link *tl);

/* tls_link.c */
extern const struct ks_callbacks ks_tls_wait_callbacks;
void ks_tls_ops_init(struct kfi_link_ops *ops);
int ks_tls_up(struct ks_tls_link *tl);

#endif /* _KFI_SOCKETS_TLS_H */
