/* SPDX-License-Identifier: GPL-2.0 */
/*
 * sock.h - objects of kfi_sockets.
 *
 * MSG and RDM endpoints use the message protocol of kfi.ko over TCP: for them this provider is a
 * link, see kfi_link.h. The link's lock is the socket lock. DGRAM endpoints use UDP, without the
 * message protocol (dgram.c).
 */
#ifndef _KFI_SOCKETS_SOCK_H
#define _KFI_SOCKETS_SOCK_H

#include <linux/in6.h>
#include <linux/net.h>
#include <linux/socket.h>
#include <net/sock.h>
#include <kfi_cxi_ext.h>
#include <kfi_inaddr.h>
#include <kfi_link.h>

#define KS_PORT_MIN	512		/* reserved ports that endpoints choose */
#define KS_PORT_MAX	1023
#define KS_PORTS	(KS_PORT_MAX - KS_PORT_MIN + 1)
#define KS_PROBE_MS	2000U		/* time for a live peer to acknowledge something */
#define KS_QUEUED_WARN	(10 * HZ)	/* report packets that wait longer after a close */

/*
 * Are all connections under TLS? Fixed when the module is loaded. The compiler removes what
 * depends on it where the kernel lacks handshakes, or the type of their keys.
 */
#define KS_HAS_TLS	(IS_ENABLED(CONFIG_NET_HANDSHAKE) && IS_ENABLED(CONFIG_NVME_KEYRING))
#define ks_tls_on()	(KS_HAS_TLS && ks_tls_wanted)

/* Module parameters (main.c) */
extern char ks_tls[8];
extern bool ks_tls_wanted;
extern unsigned int ks_short_port;
extern bool ks_splice;

extern struct kfi_proto ks_proto;
extern struct workqueue_struct *ks_wq;		/* bound: datagrams and probes */
extern struct workqueue_struct *ks_cm_wq;	/* unbound: accept work */

/**
 * struct ks_domain - an address family in a network namespace
 * @domain: common part
 * @names: format of the names in this domain
 */
struct ks_domain {
	struct kfi_domain	domain;
	struct kfi_inaddr_names	names;
};

/**
 * struct ks_stay - a socket that is bound again when another interface gets the name of its own
 * @entry: in a list under a lock of iface.c
 * @sock: socket, which its owner does not release before ks_stay_end(); NULL: not in the list
 * @ifname: name of the interface
 *
 * Zeroed by its owner, which alone writes it.
 */
struct ks_stay {
	struct list_head	entry;
	struct socket		*sock;
	const char		*ifname;
};

/**
 * struct ks_ep - an endpoint
 * @pe: common part
 * @addr: own name; the port is final after ks_ep_enable()
 * @stay: @listener or @udp
 * @listener: RDM: listening socket
 * @accept: RDM: work item that accepts connections of @listener
 * @udp: DGRAM: socket
 * @dgram: DGRAM: queues (dgram.c)
 */
struct ks_ep {
	struct kfi_proto_ep	pe;
	union kfi_inaddr	addr;
	struct ks_stay		stay;
	struct socket		*listener;
	struct delayed_work	accept;
	struct socket		*udp;
	struct ks_dgram		*dgram;
};

/**
 * struct ks_pep - a passive endpoint
 * @ppep: common part
 * @addr: address that it listens on
 * @stay: @listener
 * @listener: listening socket
 * @accept: work item that accepts connections of @listener
 */
struct ks_pep {
	struct kfi_proto_pep	ppep;
	union kfi_inaddr	addr;
	struct ks_stay		stay;
	struct socket		*listener;
	struct delayed_work	accept;
};

/**
 * struct ks_callbacks - callbacks of a socket, see struct sock
 * @data_ready: bytes have arrived
 * @write_space: there is room
 * @state_change: the state of TCP has changed
 */
struct ks_callbacks {
	void	(*data_ready)(struct sock *sk);
	void	(*write_space)(struct sock *sk);
	void	(*state_change)(struct sock *sk);
};

/**
 * struct ks_link - a TCP connection
 * @link: common part
 * @sk: the struct sock of @sock; after the close NULL, or as long as its packets are waited for
 * @sock: the socket
 * @acked: bytes that the peer's TCP has acknowledged
 * @una: snd_una when @acked was counted last
 * @spliced: TCP has got pages of a payload by reference
 * @closed: time of the close after which packets may still refer to these pages, jiffies
 * @in_room: this context reports room, with the socket lock held
 * @warned: this has lasted so long that it was reported
 * @probe: work item that sends something to acknowledge while ks_probe() waits for the answer
 * @probed: time of the last probe, jiffies, 0 if there was none; under kfi_peer.lock
 * @probe_timeout: time to wait for the answer, jiffies
 * @old_data_ready: the callback that the socket had before, of TCP or TLS
 * @old_write_space: as @old_data_ready
 * @old_state_change: as @old_data_ready
 */
struct ks_link {
	struct kfi_link		link;
	struct sock		*sk;
	struct socket		*sock;
	u64			acked;
	u32			una;
	bool			spliced;
	bool			in_room;
	bool			warned;
	unsigned long		closed;
	struct delayed_work	probe;
	unsigned long		probed;
	unsigned long		probe_timeout;
	void			(*old_data_ready)(struct sock *sk);
	void			(*old_write_space)(struct sock *sk);
	void			(*old_state_change)(struct sock *sk);
};

static inline struct ks_ep *to_ks_ep(struct kfi_ep *ep)
{
	return container_of(ep, struct ks_ep, pe.ep);
}

static inline struct ks_pep *to_ks_pep(struct kfi_pep *pep)
{
	return container_of(pep, struct ks_pep, ppep.pep);
}

static inline struct ks_domain *to_ks_domain(struct kfi_domain *domain)
{
	return container_of(domain, struct ks_domain, domain);
}

static inline struct ks_link *to_ks_link(const struct kfi_link *link)
{
	return container_of(link, struct ks_link, link);
}

/* Is the port of @name one that no unprivileged process can bind? */
static inline bool ks_port_reserved(const void *name)
{
	return be16_to_cpu(kfi_inaddr_port(name)) <= KS_PORT_MAX;
}

/* addr.c: names, and the answers to getinfo */
int ks_getinfo(struct kfi_query *q);
int ks_resolve(struct kfi_domain *domain, const char *node, const char *service, void *addr);
int ks_addr_check(struct kfi_domain *domain, u32 format, const void *addr);
u64 ks_levels(enum kfi_ep_type type);

/* iface.c: interfaces of sockets. @info: that of the domain or of the passive endpoint */
int ks_socket(struct net *net, const struct kfi_info *info, int family, int type,
	      struct socket **sockp);
const struct kfi_info *ks_iface_info(const struct kfi_ep *ep);
void ks_stay(struct ks_stay *stay, const struct kfi_info *info, struct socket *sock);
void ks_stay_end(struct ks_stay *stay);
int ks_iface_init(void);
void ks_iface_exit(void);

/* ep.c: domains, endpoints and passive endpoints */
int ks_domain_open(struct kfi_domain *domain);
int ks_ep_open(struct kfi_ep *ep);
int ks_ep_enable(struct kfi_ep *ep);
void ks_ep_stop(struct kfi_ep *ep, int err);
void ks_ep_close(struct kfi_ep *ep);
int ks_ep_getname(struct kfi_ep *ep, void *addr);
int ks_ep_setname(struct kfi_ep *ep, const void *addr, size_t len);
int ks_ep_getpeer(struct kfi_ep *ep, void *addr);
int ks_pep_open(struct kfi_pep *pep);
void ks_pep_close(struct kfi_pep *pep);
int ks_pep_getname(struct kfi_pep *pep, void *addr);
int ks_pep_setname(struct kfi_pep *pep, const void *addr, size_t len);
int ks_pep_listen(struct kfi_pep *pep);

/* listen.c: listening sockets, and the connections that they accept */
int ks_listen(struct net *net, const struct kfi_info *info, union kfi_inaddr *addr, int backlog,
	      struct delayed_work *work, struct socket **sockp);
int ks_listen_reserved(struct net *net, const struct kfi_info *info, union kfi_inaddr *addr,
		       int backlog, struct delayed_work *work, struct socket **sockp);
void ks_unlisten(struct socket *sock, struct delayed_work *work);
void ks_ep_accept_work(struct work_struct *work);
void ks_pep_accept_work(struct work_struct *work);

/* dial.c: outgoing connections */
int ks_open(struct kfi_link *link);
int ks_dial(struct kfi_link *link);
int ks_dial_with(struct kfi_link *link, const struct ks_callbacks *callbacks);
__be16 ks_next_reserved(void);

/* link.c: the life of a TCP connection */
extern const struct kfi_link_ops ks_link_ops;
void ks_link_init(struct ks_link *kl, struct socket *sock);
extern const struct ks_callbacks ks_link_callbacks;
void ks_link_attach(struct ks_link *kl, const struct ks_callbacks *callbacks);
void ks_callbacks_end(struct ks_link *kl);
void ks_link_detach(struct kfi_link *link);
void ks_link_close(struct kfi_link *link, bool abort);
int ks_sock_open_file(struct socket *sock);
void ks_sock_release(struct socket *sock);
bool ks_sock_hold_net(struct sock *sk);
void ks_set_memalloc(struct kfi_link *link);
void ks_link_release(struct ks_link *kl);
void ks_set_tclass(struct socket *sock, u32 tclass);
void ks_set_options(struct socket *sock, u32 tclass);

/* stream.c: transmit and receive */
int ks_post(struct kfi_link *link, struct kfi_unit *unit);
bool ks_splices(const struct kfi_link *link, const struct iov_iter *iter, size_t len);
u64 ks_sent_to(const struct kfi_link *link);
void ks_read(struct kfi_link *link);

/* tls.c, tls_link.c: links with TLS (tls.h) */
int ks_tls_init(struct kfi_proto *proto);
void ks_tls_exit(void);
void ks_tls_called(struct kfi_link *link);
void ks_tls_accepted(struct kfi_link *link);

/* dgram.c: DGRAM endpoints */
size_t ks_dgram_max(void);
int ks_dgram_enable(struct ks_ep *ke);
void ks_dgram_stop(struct ks_ep *ke, int err);
void ks_dgram_close(struct ks_ep *ke);
int ks_dgram_tx(struct kfi_ep *ep, struct kfi_oper *op);
extern struct kfi_prov_ops ks_dgram_ops;		/* main.c */

#endif /* _KFI_SOCKETS_SOCK_H */
