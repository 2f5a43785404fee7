/* SPDX-License-Identifier: GPL-2.0 */
/*
 * victim.h - the endpoint that a hostile peer attacks, an endpoint like that of any consumer. The
 * modules in ntb/ and sockets/ are linked with victim.c.
 */
#ifndef KFI_HOSTILE_VICTIM_H
#define KFI_HOSTILE_VICTIM_H

#include <linux/delay.h>
#include <linux/jiffies.h>
#include <kfabric.h>
#include <kfi_prov.h>

#define VICTIM_NAME	32U	/* maximum of bytes of an address */

/**
 * struct victim_attr - the endpoint that is to be opened
 * @provider: name of its provider
 * @node: address of this machine, or NULL
 * @type: @caps: of the endpoint; 0: RDM; messages and RMA
 * @auth: authorization key, or NULL
 * @format: of its address; 0: the first that the provider offers
 * @buf_len: bytes of &victim.buf
 * @cq_size: entries of the completion queue
 * @txcq_size: entries of another completion queue, for sends; 0: one queue has receives and sends
 */
struct victim_attr {
	const char	*provider;
	const char	*node;
	const char	*auth;
	u32		type;
	u32		format;
	u64		caps;
	size_t		buf_len;
	size_t		cq_size;
	size_t		txcq_size;
};

/**
 * struct victim - an RDM endpoint with all its objects
 * @info: NULL while it is closed
 * @cq: completions of receives
 * @txcq: completions of sends; may be the same queue as @cq
 * @mr: the region that peers may access, or NULL
 * @mem: memory of @mr that kfi_mem_alloc() has returned, or NULL
 * @name: the endpoint's address, of @name_len bytes
 * @buf: messages are sent from here and received here, @buf_len bytes
 * @closer: thread of victim_close_begin()
 * @closed: that thread has closed everything
 */
struct victim {
	struct kfi_info		*info;
	struct kfid_fabric	*fabric;
	struct kfid_domain	*domain;
	struct kfid_cq		*cq, *txcq;
	struct kfid_av		*av;
	struct kfid_ep		*ep;
	struct kfid_mr		*mr;
	struct kfi_mem		*mem;
	u8			name[VICTIM_NAME] __aligned(8);
	size_t			name_len;
	u8			*buf;
	size_t			buf_len;
	struct task_struct	*closer;
	bool			closed;
};

/* All of these may sleep, and return 0 or a negative error if nothing else is said. */
int victim_open(struct victim *v, const struct victim_attr *attr);
void victim_close(struct victim *v);

/* A thread closes the victim. victim_close_end() waits for the thread. */
int victim_close_begin(struct victim *v);
bool victim_closed_in(struct victim *v, unsigned int ms);
void victim_close_end(struct victim *v);

/* Wait until @cond holds. Return: does it, within @ms? */
#define victim_until(cond, ms)						\
({									\
	unsigned long __end = jiffies + msecs_to_jiffies(ms);		\
	bool __holds;							\
									\
	while (!(__holds = (cond)) && time_before(jiffies, __end))	\
		msleep(20);						\
	__holds;							\
})

int victim_region(struct victim *v, void *mem, size_t len, u64 access, u64 key);
/* open a region of kfi_mem_alloc() that peers may write to */
int victim_offer(struct victim *v, size_t len);

int victim_post(struct victim *v);				/* post one receive */
/* receive @n messages, each within @ms */
int victim_receive(struct victim *v, unsigned int n, unsigned int ms);
/* send all of its buffer to an address */
int victim_send(struct victim *v, const void *to);
/* return the next status in txcq; -EAGAIN: none */
int victim_done(struct victim *v, unsigned int ms);
/* the same, with the context of the operation */
int victim_ended(struct victim *v, unsigned int ms, void **context);
kfi_addr_t victim_knows(struct victim *v, const void *name);	/* or KFI_ADDR_NOTAVAIL */

#endif
