/* SPDX-License-Identifier: GPL-2.0 */
/*
 * mux.h - the multiplexer, for its own files. include/kfi_mux.h has the objects, and the contract
 * with providers; docs/wire-mux.md describes the records.
 *
 * Locks, outermost first:
 *
 *   kfi_mux.answering (mutex)	the listeners of a way, while a caller is added to one of them
 *   kfi_conn_set.lock		see kfi_conn_set.h
 *   kfi_mux_stream.lock (spin, bh)	the members marked (L) in struct kfi_mux_stream. It is the
 *				link's lock of kfi_link.h; a post only tries to take it
 *   kfi_mux.lock (spin, bh)	callers, and connections that wait for room
 *   locks of the provider
 */
#ifndef _KFI_MUX_MUX_H
#define _KFI_MUX_MUX_H

#include <kfi_mux.h>
#include "record.h"

#define KMX_DEPTH	4096		/* operations of an endpoint, in each direction */
#define KMX_MSG_MAX	(1UL << 30)
#define KMX_CALLERS	512U		/* callers that the work item has not handled yet */
#define KMX_ANSWERED	32		/* callers that one run of the work item handles */
#define KMX_LEAVING	16384		/* closed streams whose last record waits for room */
#define KMX_PORT_AUTO	0x10000U	/* first of the ports that are chosen automatically */

/**
 * struct kmx_caller - a CALL that was not handled yet, or a number for which a CLOSE has to be sent
 * @entry: entry in &kfi_mux.callers or &kfi_mux.spares
 * @close: this is no CALL: a CLOSE has to be sent for the number
 * @life: life of the way in which the record came
 * @lane: the lane through which it came
 * @call: contents of the CALL
 */
struct kmx_caller {
	struct list_head	entry;
	bool			close;
	unsigned int		life;
	u8			lane;
	struct kmw_calling	call;
};

/*
 * Records of a connection without bytes, in the order in which they are sent; bits of
 * &kfi_mux_stream.due
 */
enum {
	KMX_DUE_CALL,
	KMX_DUE_ANSWER,
	KMX_DUE_LIMIT,		/* DATA without bytes */
	KMX_DUE_CLOSE,
};

static inline struct kfi_mux_ep *to_mux_ep(struct kfi_ep *ep)
{
	return container_of(ep, struct kfi_mux_ep, pe.ep);
}

static inline struct kfi_mux_pep *to_mux_pep(struct kfi_pep *pep)
{
	return container_of(pep, struct kfi_mux_pep, ppep.pep);
}

static inline struct kfi_mux_domain *to_mux_domain(struct kfi_domain *domain)
{
	return container_of(domain, struct kfi_mux_domain, domain);
}

static inline struct kfi_mux_prov *to_mux_prov(const struct kfi_provider *prov)
{
	return container_of((struct kfi_provider *)prov, struct kfi_mux_prov, prov);
}

/* Return: true if an end of the way is that one */
static inline bool kmx_is_side(const struct kfi_mux *mux, const u8 *end, const void *side)
{
	return !memcmp(end, side, mux->prov->side_len);
}

/* name.c: an address is what identifies an end, and a port */
static inline size_t kmx_addr_len(const struct kfi_mux_prov *mp)
{
	return mp->side_len + sizeof(__le32);
}

void kmx_addr_set(const struct kfi_mux_prov *mp, void *addr, const void *side, u32 port);
u32 kmx_addr_port(const struct kfi_mux_prov *mp, const void *addr);
/*
 * Store in @side the end of a way that a node string names. Return: 0, -ENODATA, or -ENOTUNIQ as
 * &kfi_mux_ops.side
 */
int kmx_node_side(struct kfi_mux *mux, const char *node, u8 *side);
int kmx_port_parse(const char *service, u32 *port);
/* Store the port that an info requests for its endpoint on the way; 0 stands for any port */
int kmx_source(const struct kfi_info *info, struct kfi_mux *mux, u32 *port);

/* way.c */
void kmx_get(struct kfi_mux *mux);	/* by a caller that has a reference. Any context */
/* Return: true if that is a name of the way, by &kfi_mux.name or &kfi_mux_ops.called */
bool kmx_is_called(struct kfi_mux *mux, const char *name);
/*
 * Return the way whose own end is @side, with a reference; ERR_PTR(-ENODEV) if there is none, and
 * ERR_PTR(-ENOTUNIQ) if there are several. Process context
 */
struct kfi_mux *kmx_find_side(struct kfi_mux_prov *mp, const void *side);
/*
 * Take port @l->port, or any if that is 0. Process context. Return: 0, -EADDRINUSE, -EADDRNOTAVAIL
 * if no port is free, -ENOMEM
 */
int kmx_port_take(struct kfi_mux *mux, struct kfi_mux_listener *l);
void kmx_port_give(struct kfi_mux *mux, struct kfi_mux_listener *l);

/* call.c: callers */
extern struct kfi_wire kmx_wire;		/* what "kfi show versions" lists */
int kmx_callers_init(struct kfi_mux *mux);
void kmx_callers_work(struct work_struct *work);
void kmx_callers_drop(struct kfi_mux *mux);
void kmx_call_in(struct kfi_mux *mux, unsigned int lane, const struct kfi_mux_rec *rec);
/* @s: the connection that is called, or NULL */
void kmx_answer_in(struct kfi_mux *mux, unsigned int lane, struct kfi_mux_stream *s,
		   const struct kfi_mux_rec *rec);

/* stream.c: connections as links of the message protocol */
/* Create a connection over @mux, with a number. Process context. Return: NULL without memory */
struct kfi_mux_stream *kmx_stream_new(struct kfi_mux *mux, u32 window);
void kmx_stream_free(struct kfi_mux_stream *s);		/* process context */
void kmx_stream_publish(struct kfi_mux_stream *s);	/* let records find the connection */
void kmx_backlog_free(struct kfi_mux_stream *s, u8 *backlog);
/*
 * The callers of the next functions hold @s->lock. kmx_ctl_run() sends records that are due.
 * kmx_stream_open() begins to exchange bytes with the connection that has the number @peer at the
 * peer
 */
void kmx_ctl_run(struct kfi_mux_stream *s);
void kmx_stream_open(struct kfi_mux_stream *s, u32 peer, u32 limit);
void kmx_stream_due(struct kfi_mux_stream *s, int what);
void kmx_stream_call(struct kfi_mux_stream *s);
void kmx_close_in(struct kfi_mux_stream *s, const struct kfi_mux_rec *rec);

/* send.c. The caller holds @s->lock */
void kmx_send_limit(struct kfi_mux_stream *s);

/* recv.c */
int kmx_window_grow(struct kfi_mux_stream *s, u32 window);	/* process context */
void kmx_advertise_soon(struct kfi_mux_stream *s);	/* the caller holds @s->lock */
void kmx_data_in(struct kfi_mux_stream *s, const struct kfi_mux_rec *rec, const void *body);

#endif /* _KFI_MUX_MUX_H */
