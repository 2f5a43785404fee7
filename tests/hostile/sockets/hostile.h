/* SPDX-License-Identifier: GPL-2.0 */
/*
 * hostile.h - a raw TCP peer of kfi_sockets. The peer shares the wire format (wire.h) with
 * kfi_sockets and nothing else.
 *
 *	peer.c	 one TCP connection: hello, frames, reset
 *	cases.c	 the attacks, and the module that runs them
 *	../victim.c an endpoint over kfi_sockets
 */
#ifndef KFI_SOCKETS_HOSTILE_H
#define KFI_SOCKETS_HOSTILE_H

#include <linux/in.h>
#include <linux/net.h>
#include <linux/time.h>
#include <kfabric.h>
#include "../../../kfi/proto/wire.h"
#include "../victim.h"

#define HS_WAIT_MS	20000U		/* limit for an event that has to happen */
#define HS_NOT_MS	300U		/* how long to look for an event that must not happen */
#define VICTIM_BUF	65536U		/* bytes of a receive buffer */

/**
 * struct hs_call - how a connection begins
 * @node: source address 127.0.0.@node; 0: 127.0.0.1
 * @port: the listening port that the hello claims
 * @source: source port; 0: a free reserved one, below 1024
 * @rcvbuf: size of the receive buffer; 0: the default
 * @incarnation: of the hello; 0: a fixed one
 */
struct hs_call {
	u8	node;
	u16	port;
	u16	source;
	int	rcvbuf;
	u64	incarnation;
};

/** struct hs - a connection of the peer's; @said: the victim's answer to the hello */
struct hs {
	struct socket		*sock;
	struct kfw_hello	said;
};

/* peer.c: process context. 0 or a negative errno unless something else is said */
/* TCP alone; ERR_PTR() */
struct hs *hs_connect(const struct victim *v, const struct hs_call *call);
int hs_hello(struct hs *hs, const struct hs_call *call);		/* the hello */
/* all of it, and the victim's ACCEPT; ERR_PTR() */
struct hs *hs_open(const struct victim *v, const struct hs_call *call);
/* Be called: a listener on all addresses of this machine; ERR_PTR() */
struct socket *hs_listen(u16 port, int backlog);
/* ... and its next caller, @port: the port that it calls from; the same, and accept its hello */
struct hs *hs_called(struct socket *listener, u16 *port);
struct hs *hs_accept(struct socket *listener, u16 *port);
int hs_get(struct hs *hs, void *bytes, size_t len, unsigned int ms);	/* exactly @len bytes */
/* a frame with @payload bytes of 0x5a behind it */
int hs_send(struct hs *hs, struct kfw_hdr *hdr, size_t payload);
/* the next frame of this type; payload of others is skipped */
int hs_recv(struct hs *hs, u8 type, struct kfw_hdr *hdr, unsigned int ms);
/* the victim has closed the connection */
bool hs_ended(struct hs *hs, unsigned int ms);
/* These do nothing for NULL and an ERR_PTR(). */
void hs_close(struct hs *hs);
void hs_reset(struct hs *hs);
void hs_deafen(struct socket *listener);

/* cases.c: on top of victim.h. 0 or a negative errno */
int hs_victim(struct victim *v, enum kfi_ep_type type);		/* on 127.0.0.1 */
bool check(bool truth, const char *what);

#endif
