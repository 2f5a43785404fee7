// SPDX-License-Identifier: GPL-2.0
/* dials.c - the victim calls more peers than there are reserved ports; and impostors. */
#include <linux/in.h>
#include <linux/slab.h>
#include <kfi_cxi_ext.h>
#include <kfi_endpoint.h>
#include "hostile.h"

#define PORT		500U		/* reserved, and no port that an endpoint calls from */
#define PLAIN_PORT	7000U
#define PORT_MIN	512U		/* the ports that an endpoint calls from */
#define PORT_MAX	1023U
#define DESTS		600U		/* more than those */
#define CONFLICTS	16U
#define SHORT_PORT	914		/* service 0 of a short name */

/* struct dialed - a connection to an address; @port: what it was called from */
struct dialed {
	struct hs	*hs;
	u16		port;
};

/* Address @i, all of which are those of this machine */
static kfi_addr_t dest(struct victim *v, unsigned int i, u16 port)
{
	struct sockaddr_in name = {
		.sin_family = AF_INET, .sin_port = cpu_to_be16(port),
		.sin_addr.s_addr = cpu_to_be32(INADDR_LOOPBACK + ((i / 200 + 1) << 8) + i % 200),
	};

	return victim_knows(v, &name);
}

/* The victim sends a message to address @i, where a peer accepts the call. */
static bool dial(struct victim *v, struct socket *listener, unsigned int i, struct dialed *d)
{
	void *done;
	int x;

	if (!check(!kfi_send(v->ep, v->buf, 64, NULL, dest(v, i, PORT), &x), "nothing can be sent"))
		return false;
	d->hs = hs_accept(listener, &d->port);
	return check(!IS_ERR(d->hs), "no call comes") &&
	       check(d->port >= PORT_MIN && d->port <= PORT_MAX,
		     "the port of the caller is not reserved") &&
	       check(!victim_ended(v, HS_WAIT_MS, &done) && done == &x, "a message is not sent");
}

/* The port that is tried after this one */
static u16 next_port(u16 port)
{
	return port == PORT_MIN ? PORT_MAX : port - 1;
}

/*
 * Another endpoint of the same address calls addresses for which the port that is its turn belongs
 * to the first endpoint: it has to take another one.
 */
static bool conflicts(struct socket *listener, const struct dialed *all, u16 last)
{
	struct dialed again[CONFLICTS] = { };
	unsigned int i, n, avoided = 0;
	struct victim v;
	bool ok = true;
	u16 turn;

	if (!check(!hs_victim(&v, KFI_EP_RDM), "no other endpoint"))
		return false;
	for (n = 0; ok && n < CONFLICTS; n++) {
		turn = next_port(last);
		for (i = 0; i < DESTS && all[i].port != turn; i++)
			;
		ok = check(i < DESTS, "a reserved port is not in use") &&
		     dial(&v, listener, i, &again[n]);
		avoided += again[n].port == next_port(turn);
		last = again[n].port;
	}
	pr_info("hostile: %u ports were in use for their destination\n", avoided);
	for (n = 0; n < CONFLICTS; n++)
		if (!IS_ERR_OR_NULL(again[n].hs))
			hs_reset(again[n].hs);
	victim_close(&v);
	return ok && check(avoided >= CONFLICTS / 2, "no port was in use");
}

/* Connections to different destinations share the reserved ports. */
bool shared_ports(struct victim *v)
{
	struct dialed *all = kcalloc(DESTS, sizeof(*all), GFP_KERNEL);
	struct socket *listener = hs_listen(PORT, 16);
	unsigned int i;
	bool ok = check(all && !IS_ERR(listener), "nobody can be called");

	for (i = 0; ok && i < DESTS; i++)
		ok = dial(v, listener, i, &all[i]);
	ok = ok && conflicts(listener, all, all[DESTS - 1].port);
	for (i = 0; all && i < DESTS; i++)
		if (!IS_ERR_OR_NULL(all[i].hs))
			hs_reset(all[i].hs);
	if (!IS_ERR(listener))
		sock_release(listener);
	kfree(all);
	return ok;
}

/*
 * Another process on a peer's host listens at the port of the peer. The victim tells it nothing,
 * and has a port of its own that no such process can have.
 */
bool false_acceptor(struct victim *v)
{
	struct socket *listener = hs_listen(PLAIN_PORT, 16), *sock = NULL;
	const struct sockaddr_in *own = (void *)v->name;
	int i, x, err;
	void *done;
	bool ok = check(!IS_ERR(listener), "nobody can be called");

	for (i = 0; ok && i < 2; i++) {
		ok = check(!kfi_send(v->ep, v->buf, 64, NULL, dest(v, 0, PLAIN_PORT), &x),
			   "nothing can be sent");
		err = ok ? victim_ended(v, HS_WAIT_MS, &done) : 0;
		ok = ok && check(err == -EACCES && done == &x,
				 "an acceptor is believed whose port is not reserved");
	}
	ok = ok && check(kernel_accept(listener, &sock, O_NONBLOCK) == -EAGAIN,
			 "a peer is called that is not believed") &&
	     check(be16_to_cpu(own->sin_port) <= PORT_MAX, "the endpoint's own port is not reserved");
	if (sock)
		sock_release(sock);
	if (!IS_ERR(listener))
		sock_release(listener);
	return ok;
}

/*
 * The key of an endpoint with a short name is the number of a service, which everybody knows: the
 * victim calls from a reserved port, and only peers that have one. The suite gives lo the address.
 */
bool known_key(struct victim *v)
{
	const struct victim_attr attr = {
		.provider = "sockets", .node = "10.9.0.1", .format = KFI_ADDR_CXI, .auth = "1234",
		.cq_size = 64, .buf_len = 64,
	};
	const struct kcxi_addr peer = { .nic = 1, .pid = 5 }, plain = { .nic = 1, .pid = 200 };
	struct socket *listener = hs_listen(SHORT_PORT + 5, 16);
	struct hs *hs = ERR_PTR(-EIO);
	struct victim lnd;
	u16 port = 0;
	void *done;
	bool ok = check(!IS_ERR(listener), "nobody can be called") &&
		  check(!victim_open(&lnd, &attr), "no endpoint with a short name");

	if (!ok)
		goto release;
	ok = check(!victim_send(&lnd, &peer), "nothing can be sent");
	if (ok)
		hs = hs_called(listener, &port);
	ok = ok && check(!IS_ERR(hs), "no call comes") &&
	     check(port >= PORT_MIN && port <= PORT_MAX, "the port of the caller is not reserved");
	if (!IS_ERR(hs))
		hs_reset(hs);
	ok = ok && check(victim_ended(&lnd, HS_WAIT_MS, &done) < 0, "a message is sent") &&
	     check(!victim_send(&lnd, &plain), "nothing can be sent") &&
	     check(victim_ended(&lnd, HS_WAIT_MS, &done) == -EACCES,
		   "an acceptor is believed whose port is not reserved");
	victim_close(&lnd);
release:
	if (!IS_ERR(listener))
		sock_release(listener);
	return ok;
}
