// SPDX-License-Identifier: GPL-2.0
/*
 * cases.c - what the peer does, and how the victim must react. Loading the module runs the cases;
 * insmod returns the result. Each case has its own victim. After each case a well-behaved peer has
 * to be served.
 */
#include <linux/bvec.h>
#include <linux/delay.h>
#include <linux/gfp.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <net/sock.h>
#include <kfi_cxi_ext.h>
#include <kfi_domain.h>
#include <kfi_endpoint.h>
#include <kfi_payer.h>
#include <kfi_tagged.h>
#include "hostile.h"

static char *only = "";
module_param(only, charp, 0444);
MODULE_PARM_DESC(only, "run this case alone (default: all)");

bool check(bool truth, const char *what)
{
	if (!truth)
		pr_err("hostile: wrong: %s\n", what);
	return truth;
}

int hs_victim(struct victim *v, enum kfi_ep_type type)
{
	const struct victim_attr attr = {
		.provider = "sockets",
		.node = "127.0.0.1",
		.type = type,
		.buf_len = VICTIM_BUF,
		.cq_size = 4096,
		.caps = type == KFI_EP_DGRAM ? KFI_MSG : KFI_MSG | KFI_TAGGED | KFI_RMA,
	};

	return victim_open(v, &attr);
}

static int hs_post(struct victim *v, u64 tag, void *context)
{
	return kfi_trecv(v->ep, v->buf, v->buf_len, NULL, KFI_ADDR_UNSPEC, tag, 0, context);
}

static kfi_addr_t hs_known(struct victim *v, u8 node, u16 port)
{
	struct sockaddr_in name = {
		.sin_family = AF_INET, .sin_port = cpu_to_be16(port),
		.sin_addr.s_addr = cpu_to_be32(INADDR_LOOPBACK - 1 + node),
	};

	return victim_knows(v, &name);
}

/* A message of a well-behaved peer is received. */
static bool hostile_served(struct victim *v)
{
	const struct hs_call call = { .node = 200, .port = 700 };
	struct kfw_hdr msg = { .type = KFW_MSG, .flags = KFW_F_TAGGED, .tag = cpu_to_le64(0x600d) };
	struct hs *hs = hs_open(v, &call);
	void *context;
	bool ok;
	int x;

	if (!check(!IS_ERR(hs), "a well-behaved peer is not admitted"))
		return false;
	ok = check(!hs_post(v, 0x600d, &x), "no receive can be posted") &&
	     check(!hs_send(hs, &msg, 100), "a well-behaved peer can't send") &&
	     check(!victim_ended(v, HS_WAIT_MS, &context) && context == &x,
		   "a well-behaved peer is not served");
	hs_close(hs);
	return ok;
}

#define TAG_X	0xaa

/*
 * The peer reads the header of a message whose pages TCP has by reference, keeps its receive
 * window closed and acknowledges the message. The pages must not go back to their owner: TCP
 * still has to send them.
 */
static bool early_ack(struct victim *v)
{
	const struct hs_call call = { .port = 703, .rcvbuf = 1 };
	struct kfw_hdr hdr, ack = { .type = KFW_ACK };
	struct page *pages = alloc_pages(GFP_KERNEL | __GFP_COMP, 1);
	struct bio_vec vec;
	struct hs *hs;
	void *done;
	int x, ret;
	bool ok;

	if (!check(pages, "no memory"))
		return false;
	bvec_set_page(&vec, pages, 2 * PAGE_SIZE, 0);
	hs = hs_open(v, &call);
	ok = check(!IS_ERR(hs), "the peer is not admitted");
	if (!ok)
		goto free;
	ok = check(!kfi_sendbv(v->ep, &vec, NULL, 1, hs_known(v, 1, call.port), &x),
		   "nothing can be sent") &&
	     check(!hs_get(hs, &hdr, sizeof(hdr), HS_WAIT_MS) && hdr.type == KFW_MSG &&
			   hdr.flags & KFW_F_ACK,
		   "no message that wants an acknowledgement");
	ack.id = hdr.id;
	ack.gen = hdr.gen;
	ok = ok && check(!hs_send(hs, &ack, 0), "the peer can't send");
	ret = ok ? victim_ended(v, HS_WAIT_MS, &done) : 0;
	pr_info("hostile: the send ended with %d\n", ret);
	ok = ok &&
	     check(ret < 0 && done == &x,
		   "the send has succeeded before its bytes were acknowledged") &&
	     check(hs_ended(hs, HS_WAIT_MS), "the connection goes on");
	hs_reset(hs);
free:
	__free_pages(pages, 1);
	return ok;
}

/* Another process on a peer's host claims the name of the peer. */
static bool impostor(struct victim *v)
{
	struct hs_call good = { .node = 10, .port = 711 }, plain = good, another = good;
	struct kfw_hdr msg = { .type = KFW_MSG, .flags = KFW_F_TAGGED, .tag = cpu_to_le64(TAG_X) };
	struct hs *hs = hs_open(v, &good), *hostile;
	void *done;
	int x;
	bool ok = check(!IS_ERR(hs), "the peer is not admitted");

	if (!ok)
		return false;
	plain.source = 40000;
	plain.port = 712;
	hostile = hs_open(v, &plain);
	ok &= check(IS_ERR(hostile), "a caller is believed whose port is not reserved");
	hs_close(hostile);
	another.incarnation = 4712;
	hostile = hs_open(v, &another);
	ok &= check(IS_ERR(hostile), "a stream is replaced while its peer is there");
	hs_close(hostile);
	ok = ok &&
	     check(!hs_post(v, TAG_X, &x) && !hs_send(hs, &msg, 100),
		   "the peer can't send any more") &&
	     check(!victim_ended(v, HS_WAIT_MS, &done) && done == &x,
		   "the peer is not served any more");
	hs_reset(hs);
	hs = hs_open(v, &another);
	ok &= check(!IS_ERR(hs), "a peer that has restarted is not admitted");
	hs_close(hs);
	return ok;
}

#define CLOSED_MS	4200U	/* TCP has backed off: it probes the window in 2.8 seconds */

/* The consumer of a live peer does not read for a while. No other peer replaces it meanwhile. */
static bool closed_window(struct victim *v)
{
	const struct hs_call call = { .node = 14, .port = 717, .rcvbuf = 1 };
	const struct hs_call hostile = { .node = 14, .port = 717, .incarnation = 4712 };
	struct hs *hs = hs_open(v, &call), *other;
	unsigned long begin;
	void *done;
	int i, x;
	bool ok = check(!IS_ERR(hs), "the peer is not admitted");

	if (!ok)
		return false;
	for (i = 0; ok && i < 8; i++)
		ok = check(!kfi_send(v->ep, v->buf, 16000, NULL, hs_known(v, 14, call.port), &x),
			   "nothing can be sent");
	msleep(CLOSED_MS);
	begin = jiffies;
	other = hs_open(v, &hostile);
	pr_info("hostile: decided after %u ms\n", jiffies_to_msecs(jiffies - begin));
	ok &= check(IS_ERR(other), "a stream is replaced while its peer has no room") &&
	      check(READ_ONCE(hs->sock->sk->sk_state) == TCP_ESTABLISHED,
		    "the connection has ended");
	hs_reset(other);
	hs_reset(hs);
	while (victim_ended(v, HS_NOT_MS, &done) != -EAGAIN)
		;
	return ok;
}

/*
 * A caller makes the victim probe an established peer and disconnects: the victim must stop to
 * probe.
 */
static bool forgotten_caller(struct victim *v)
{
	const struct hs_call call = { .node = 15, .port = 718 };
	const struct hs_call hostile = { .node = 15, .port = 718, .incarnation = 4712 };
	struct hs *hs = hs_open(v, &call), *other;
	struct kfw_hdr credit;
	bool ok = check(!IS_ERR(hs), "the peer is not admitted");

	if (!ok)
		return false;
	other = hs_connect(v, &hostile);
	ok = check(!IS_ERR(other), "TCP does not connect");
	if (ok) {
		ok = check(!hs_hello(other, &hostile), "the caller can't send");
		usleep_range(2000, 3000);
		hs_reset(other);
	}
	ok = ok && check(!hs_recv(hs, KFW_CREDIT, &credit, HS_WAIT_MS), "the peer is not asked");
	msleep(5000);
	/* discard what has arrived so far */
	while (ok && !hs_get(hs, &credit, sizeof(credit), 1))
		;
	ok = ok && check(hs_get(hs, &credit, sizeof(credit), 4000) == -EAGAIN,
			 "the peer is asked for ever");
	hs_reset(hs);
	return ok;
}

#define DATAGRAMS	48

/*
 * A datagram endpoint is closed while its link transmits nothing. The suite stops lo before it runs
 * this case alone.
 */
static bool dgram_stop(struct victim *v)
{
	struct victim dgram;
	unsigned long begin;
	kfi_addr_t to;
	int i, x;
	bool ok;

	if (!check(!hs_victim(&dgram, KFI_EP_DGRAM), "no datagram endpoint"))
		return false;
	to = hs_known(&dgram, 12, 999);
	for (i = 0, ok = true; ok && i < DATAGRAMS; i++)
		ok = check(!kfi_send(dgram.ep, dgram.buf, 60000, NULL, to, &x),
			   "a datagram is not taken");
	msleep(300);
	begin = jiffies;
	ok &= check(!kfi_close(&dgram.ep->fid), "the endpoint can't be closed");
	dgram.ep = NULL;
	pr_info("hostile: closed after %u ms\n", jiffies_to_msecs(jiffies - begin));
	ok &= check(time_before(jiffies, begin + HZ),
		    "the end of an endpoint waits for its datagrams");
	victim_close(&dgram);
	return ok;
}

/*
 * The end of an operation returns its pages: no packet that waits in a queue of this machine may
 * refer to them any more. The suite makes lo delay its packets before it runs this case alone. The
 * peer has closed its socket when the packets arrive, so TCP drops them.
 */
static bool queued_pages(struct victim *v)
{
	const struct hs_call call = { .node = 16, .port = 719 };
	struct page *pages = alloc_pages(GFP_KERNEL | __GFP_COMP, 1);
	struct hs *hs = hs_open(v, &call);
	struct bio_vec vec;
	int x;
	bool ok;

	if (!check(pages && !IS_ERR(hs), "no memory, or the peer is not admitted"))
		return false;
	bvec_set_page(&vec, pages, 2 * PAGE_SIZE, 0);
	ok = check(!kfi_sendbv(v->ep, &vec, NULL, 1, hs_known(v, 16, call.port), &x) &&
		   page_count(pages) > 1, "no packet refers to the pages of a send");
	hs_close(hs);
	ok &= check(!kfi_close(&v->ep->fid), "the endpoint can't be closed");
	v->ep = NULL;
	ok &= check(page_count(pages) == 1, "a send has ended while its packets wait in a queue");
	__free_pages(pages, 1);
	return ok;
}

/* ---- the victim calls more peers than there are reserved ports; and impostors ---- */

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
		hs_reset(again[n].hs);
	victim_close(&v);
	return ok && check(avoided >= CONFLICTS / 2, "no port was in use");
}

/* Connections to different destinations share the reserved ports. */
static bool shared_ports(struct victim *v)
{
	struct dialed *all = kcalloc(DESTS, sizeof(*all), GFP_KERNEL);
	struct socket *listener = hs_listen(PORT, 16);
	unsigned int i;
	bool ok = check(all && !IS_ERR(listener), "nobody can be called");

	for (i = 0; ok && i < DESTS; i++)
		ok = dial(v, listener, i, &all[i]);
	ok = ok && conflicts(listener, all, all[DESTS - 1].port);
	for (i = 0; all && i < DESTS; i++)
		hs_reset(all[i].hs);
	hs_deafen(listener);
	kfree(all);
	return ok;
}

/*
 * Another process on a peer's host listens at the port of the peer. The victim tells it nothing,
 * and has a port of its own that no such process can have.
 */
static bool false_acceptor(struct victim *v)
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
	hs_deafen(listener);
	return ok;
}

/*
 * The key of an endpoint with a short name is the number of a service, which everybody knows: the
 * victim calls from a reserved port, and only peers that have one. The suite gives lo the address.
 */
static bool known_key(struct victim *v)
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
	hs_reset(hs);
	ok = ok && check(victim_ended(&lnd, HS_WAIT_MS, &done) < 0, "a message is sent") &&
	     check(!victim_send(&lnd, &plain), "nothing can be sent") &&
	     check(victim_ended(&lnd, HS_WAIT_MS, &done) == -EACCES,
		   "an acceptor is believed whose port is not reserved");
	victim_close(&lnd);
release:
	hs_deafen(listener);
	return ok;
}

/* ---- many addresses ---- */

#define ADDRESSES	6
#define FROM_EACH	20
#define CALLERS_MIB	6U

/*
 * A peer with several addresses and no key has as many idle connections as it gets. All of them
 * together take no more memory than callers may have, and an honest peer gets its place.
 */
static bool many_addresses(struct victim *v)
{
	static const unsigned int mib = CALLERS_MIB;
	struct kfi_account *callers = kfi_payer_callers();
	const unsigned int *old = callers->max_mib;
	struct hs_call call = { .port = 700 };
	struct hs *all[ADDRESSES * FROM_EACH], *honest;
	unsigned int i, admitted = 0;
	bool bounded, served;

	callers->max_mib = &mib;
	for (i = 0; i < ARRAY_SIZE(all); i++) {
		call.node = 10 + i % ADDRESSES;
		call.port = 700 + i / ADDRESSES;
		all[i] = hs_open(v, &call);
		admitted += !IS_ERR(all[i]);
	}
	bounded = atomic_long_read(callers->bytes) <= (long)(CALLERS_MIB + 1) << 20;
	call.node = 20;
	honest = hs_open(v, &call);
	served = !IS_ERR(honest);
	hs_close(honest);
	for (i = 0; i < ARRAY_SIZE(all); i++)
		hs_reset(all[i]);
	callers->max_mib = old;
	return check(admitted > ADDRESSES, "callers are refused that have room") &
	       check(admitted < ARRAY_SIZE(all), "there is no bound for all addresses") &
	       check(bounded, "callers take more memory than they may") &
	       check(served, "an honest peer is locked out");
}

/**
 * struct hostile_case - a case; it runs only by name if one of these is set
 * @stopped: lo must transmit nothing, or late; no peer is served afterwards
 * @patient: peer_timeout_ms must be 10000
 */
struct hostile_case {
	const char	*name;
	bool		(*run)(struct victim *v);
	bool		stopped;
	bool		patient;
};

static const struct hostile_case hostile_cases[] = {
	{ "early_ack", early_ack },
	{ "impostor", impostor },
	{ "false_acceptor", false_acceptor },
	{ "known_key", known_key },
	{ "forgotten_caller", forgotten_caller },
	{ "shared_ports", shared_ports },
	{ "many_addresses", many_addresses },
	{ "closed_window", closed_window, .patient = true },
	{ "dgram_stop", dgram_stop, .stopped = true },
	{ "queued_pages", queued_pages, .stopped = true },
	{}
};

static bool hostile_run(const struct hostile_case *c)
{
	struct victim v;
	bool ok;

	pr_info("hostile: begin %s\n", c->name);
	if (!check(!hs_victim(&v, KFI_EP_RDM), "no endpoint"))
		return false;
	ok = c->run(&v);
	ok = ok && (c->stopped || hostile_served(&v));
	victim_close(&v);
	pr_info("hostile: %s %s\n", ok ? "ok" : "FAILED", c->name);
	return ok;
}

static int __init hostile_init(void)
{
	const struct hostile_case *c;
	unsigned int ran = 0;
	bool ok = true;

	for (c = hostile_cases; c->name; c++) {
		if (*only ? strcmp(only, c->name) : c->stopped || c->patient)
			continue;
		ok &= hostile_run(c);
		ran++;
	}
	return check(ran, "no such case") && ok ? 0 : -EIO;
}

static void __exit hostile_exit(void)
{
}

module_init(hostile_init);
module_exit(hostile_exit);
MODULE_DESCRIPTION("a hostile peer of kfi_sockets");
MODULE_LICENSE("GPL");
