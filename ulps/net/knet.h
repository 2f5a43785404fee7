/* SPDX-License-Identifier: GPL-2.0 */
/*
 * knet.h - shared by the files of kfi_net.ko. docs/network-device.md describes how they work
 * together.
 *
 * Locks, outermost first: &knet_net.ears_lock, &knet_ear.lock, the RTNL, &knet_net.lock,
 * &knet.lock, the lock of the device, which the calls of NAPI take since Linux 6.14, and
 * &knet_link.done_lock, a leaf. All but the RTNL belong to a network namespace, so none of them
 * makes another one wait. Nothing that waits for &knet_peer.work, for a connection or for a query
 * of providers is done under the RTNL or in a file of sysfs: all of them may need the RTNL.
 */
#ifndef KNET_H
#define KNET_H

#include <linux/etherdevice.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/rtnetlink.h>
#include <linux/skbuff.h>
#include <linux/socket.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <kfi_conn.h>
#include <kfi_netdev.h>
#include <kfi_payer.h>
#include "hello.h"

/**
 * struct knet_secret - a secret, which the nodes of a device share
 * @len: bytes, 0: none
 * @bytes: the authorization key of endpoints
 */
struct knet_secret {
	u16			len;
	u8			bytes[KFI_SECRET_MAX];
};

struct knet;
struct knet_link;
struct knet_peer;

enum {
	KNET_PEERS	= 31,		/* of a device; each has a queue, and queue 0 floods */
	KNET_TX		= 256,		/* frames in flight to a peer */
	KNET_SEGS	= 1 + MAX_SKB_FRAGS,	/* pieces of a frame */
	KNET_BUFS	= 8,		/* receives that are posted for a peer */
	KNET_BUF	= 128 << 10,	/* bytes of each: room for one longest frame */
	KNET_GIVEN	= 16,		/* full buffers of a peer that are kept, to be used again */
	KNET_COPY	= 2048,		/* a frame up to this length is copied */
	KNET_WAY_MTU	= 65280,	/* a frame and all headers are a record of 64 KiB */
	KNET_HEAD	= 256,		/* of a longer one so many bytes are copied */
	KNET_CONNECT_MS	= 3000,		/* time limit of a call */
	KNET_OP_MS	= 5000,		/* a peer that takes no frame for so long is lost */
	KNET_AGAIN_MS	= 500,		/* a call that has failed is repeated after so long */
	KNET_PATIENCE_MS = 10000,	/* after so long the log has what may pass by itself */
	KNET_WAIT_MS	= 5000,		/* for a call of the peer; then this side calls */
	KNET_NODE	= 64,		/* bytes of the name of a peer or a domain */
	KNET_WORKERS	= 8,		/* of a namespace, for its peers; as many for their ends */
	/* Bytes that are charged for a link: its pages, also those that the stack gets first */
	KNET_LINK_BYTES	= (2 * KNET_BUFS + KNET_GIVEN) * KNET_BUF,
	/* ... and for its endpoint, which a call has already */
	KNET_EP_BYTES	= KFI_PAYER_ENDPOINT_BYTES + (KNET_TX + KNET_BUFS) * KFI_PAYER_OPER_BYTES,
};

/* Counters for ethtool -S, in the order of counter_names (show.c) */
enum knet_counter {
	KNET_TX_CSUM,		/* frames whose checksum was left to the receiver */
	KNET_TX_GSO,		/* frames that were not segmented */
	KNET_TX_FLOOD,		/* frames that were sent to each peer */
	KNET_TX_BUSY,		/* times that a queue was stopped */
	KNET_TX_LOST,		/* frames that did not reach the peer, or had no peer */
	KNET_RX_CSUM,
	KNET_RX_GSO,
	KNET_RX_COPIED,		/* frames that were copied as a whole */
	KNET_RX_REUSED,		/* buffers that were used again after the stack had parts of them */
	KNET_RX_SMALL,		/* long frames that were copied to small pages */
	KNET_RX_NOMEM,		/* frames that were dropped for lack of memory */
	KNET_RX_BAD,		/* messages that are no frame, or contradict themselves */
	KNET_UP,		/* connections that came about */
	KNET_LOST,		/* connections that ended */
	KNET_REFUSED,		/* calls that were refused */
	KNET_COUNTERS
};

struct knet_counters {
	unsigned long		n[KNET_COUNTERS];
};

/**
 * struct knet_net - what the devices of a network namespace share
 *
 * Any user can be the administrator of a namespace. So what waits for a peer, or holds memory, is
 * counted here, and no namespace waits for another one. The initial namespace has no limits.
 *
 * @lock: protects @devices, @payer, and the making of queues
 * @devices: devices
 * @peers: peers of all devices
 * @wq: does &knet_peer.work; NULL before the first device
 * @in_ops: functions of links that peers have dialed; with the queue for their ends, for which
 *	@wq waits
 * @payer: while there are devices, that of the first one, see &knet.payer; pays for callers that
 *	are not known yet
 * @ears_lock: protects @ears, and is held while an address is opened or closed. Only work items of
 *	peers take it, so a call never waits for it
 * @ears: addresses at which peers are awaited
 */
struct knet_net {
	struct mutex		lock;
	unsigned int		devices;
	atomic_t		peers;
	struct workqueue_struct	*wq;
	struct kfi_conn_ops	in_ops;
	struct kfi_payer	*payer;
	struct mutex		ears_lock;
	struct list_head	ears;
};

/**
 * struct knet_ear - a local address at which peers of devices are awaited
 * @entry: in &knet_net.ears
 * @users: peers that use it, under &knet_net.ears_lock
 * @listener: the kit's part
 * @lock: protects @peers; held while a call is answered
 * @peers: peers that may call
 * @secret: that of the devices
 * @device: name of the domain
 * @node: the address as text, or @device again where addresses are not those of IP
 */
struct knet_ear {
	struct list_head	entry;
	unsigned int		users;
	struct kfi_listener	listener;
	struct mutex		lock;
	struct list_head	peers;
	struct knet_secret	secret;
	char			device[KNET_NODE];
	char			node[KNET_NODE];
};

/**
 * struct knet_buf - a multi-receive buffer
 * @page: its memory; sent-up frames have references of their own
 * @spare: takes the place of @page when that is full, because a frame was sent up with a part of
 *	it; NULL: all frames of @page were copied or dropped, and it is posted again
 * @posted: the endpoint has it
 */
struct knet_buf {
	struct page		*page, *spare;
	bool			posted;
};

/**
 * struct knet_link - a connection to a peer
 * @conn: the kit's part
 * @peer: its peer, which exists longer
 * @polling: &knet_peer.napi is enabled, and reads the queue of @conn; under &knet.lock
 * @paid: KNET_LINK_BYTES are charged
 * @broken: the endpoint takes no receives any more; only knet_poll() uses it
 * @lost: the kit has reported the end; only for the link that this side has dialed
 * @mac: Ethernet address of the peer; constant while the link can be found
 * @session: &knet_hello.session of the peer
 * @done_lock: serialises reports to the byte queue limits
 * @bufs: receives; only knet_poll() uses them while @polling
 * @given: pages of which the stack may still have parts, the oldest at @given_at; like @bufs
 * @given_at: place in @given
 * @rcu: knet_xmit() may have found it
 */
struct knet_link {
	struct kfi_conn		conn;
	struct knet_peer	*peer;
	bool			polling;
	bool			paid;
	bool			broken;
	bool			lost;
	u8			mac[ETH_ALEN];
	u64			session;
	spinlock_t		done_lock;
	struct knet_buf		bufs[KNET_BUFS];
	struct page		*given[KNET_GIVEN];
	unsigned int		given_at;
	struct rcu_head		rcu;
};

/**
 * struct knet_peer - another node of the LAN
 * @kn: the device, which exists longer
 * @slot: number of its transmit queue, and place in &knet.peers
 * @link: the connection, for knet_xmit(); written under &knet.lock
 * @owner: the link that is in use or still ends, under &knet.lock. There is no other one before
 *	all frames of this one have ended: queue limits count frames of one link
 * @napi: reads the queue of @owner, which does not change while it is enabled
 * @has_napi: the device has @napi; only @work uses it
 * @gone: the peer was removed, under &knet.lock
 * @work: dials, ends @out, and ends the peer. It does one thing after the other, and waits for no
 *	answer of the peer
 * @err: how the last call has ended, see knet_reason(); 0: none has, since there was a connection
 *	or the device came up. Written by @work
 * @said: the error that the log has told of since then; only @work uses it, as the next one
 * @met: there was a connection since @work has looked at this, under &knet.lock
 * @since: with @err: time (jiffies) at which the first call ended
 * @out: the link that this side dials; only @work opens and closes it
 * @dialing: @out waits for the answer to its call, until @deadline; both only @work uses
 * @deadline: in jiffies
 * @hello: private data of the call
 * @answer: that of the answer, @answer_len bytes
 * @answer_len: length of @answer
 * @in: links that the peer has dialed
 * @ear: where it may call; only @work changes it
 * @ear_entry: in &knet_ear.peers
 * @addr: its address, if it is one of IP; else AF_UNSPEC, for the other end of a way
 * @rcu: knet_xmit() may have found it
 * @node: the name under which it was added. That of the other end of a way is only shown
 */
struct knet_peer {
	struct knet		*kn;
	unsigned int		slot;
	struct knet_link __rcu	*link;
	struct knet_link	*owner;
	struct napi_struct	napi;
	bool			has_napi;
	bool			gone;
	struct delayed_work	work;
	int			err, said;
	bool			met;
	unsigned long		since;
	struct knet_link	out;
	bool			dialing;
	unsigned long		deadline;
	struct knet_hello	hello, answer;
	size_t			answer_len;
	atomic_t		in;
	struct knet_ear		*ear;
	struct list_head	ear_entry;
	struct sockaddr_storage	addr;
	struct rcu_head		rcu;
	char			node[KNET_NODE];
};

/**
 * struct knet - a network device
 * @dev: the device
 * @net: namespace of the fabric; not held, because its end ends the device
 * @ns: what is known of @net; NULL before the device was registered
 * @payer: pays for memory: the user that has made the device, and its memory cgroup. NULL: the
 *	device is in the initial namespace, and the kernel's
 * @lower: index of the interface below, 0: a way, @domain
 * @below: this interface, until @dev is unregistered; under the RTNL
 * @domain: name of the domain of the way
 * @nd: lets kfi_ib find @domain; entered while @nd.dev is set
 * @parent: the device that the way is plugged into, referenced, if it is on a bus; or NULL. It may
 *	have gone
 * @parent_gone: it has; under the RTNL
 * @parent_nb: tells that; registered while @parent is set
 * @registered: the destructor of the device is to call knet_port_exit(), as it has no RTNL
 * @where: name of that device, also if it is on no bus; or empty
 * @port: number of its port; 0: it has one
 * @counters: for ethtool
 * @entry: in the list of main.c, if it has no interface below
 * @lock: protects the following members, and what struct knet_peer and struct knet_link say
 * @running: the device is up
 * @load: the next call may load the provider: once for each time that the device comes up
 * @mac: its address, as peers know it
 * @session: &knet_hello.session
 * @secret: of calls and callers
 * @speed: &kfi_domain_limits.speed of the last connection, or of the way before there was one
 * @up: peers that are connected
 * @nr_peers: peers in @peers
 * @end: behind the last of them
 * @peers: by number of the queue; read under RCU
 * @alive: peers that exist, also those that end
 * @idle: woken when @alive becomes 0
 */
struct knet {
	struct net_device	*dev;
	struct net		*net;
	struct knet_net		*ns;
	struct kfi_payer	*payer;
	int			lower;
	struct net_device	*below;
	char			domain[KNET_NODE];
	struct kfi_netdev	nd;
	struct device		*parent;
	bool			parent_gone;
	struct notifier_block	parent_nb;
	bool			registered;
	char			where[KNET_NODE];
	u64			port;
	struct knet_counters __percpu *counters;
	struct list_head	entry;
	struct mutex		lock;
	bool			running;
	bool			load;
	u8			mac[ETH_ALEN];
	u64			session;
	struct knet_secret	secret;
	unsigned int		speed;
	unsigned int		up, nr_peers, end;
	struct knet_peer __rcu	*peers[KNET_PEERS + 1];
	atomic_t		alive;
	wait_queue_head_t	idle;
};

static inline void knet_count(struct knet *kn, enum knet_counter counter)
{
	this_cpu_inc(kn->counters->n[counter]);
}

static inline struct knet_peer *knet_peer(struct knet *kn, unsigned int slot)
{
	return rcu_dereference_protected(kn->peers[slot], lockdep_is_held(&kn->lock));
}

/* main.c */
extern char knet_service[KFI_NAME_MAX];

/* net.c */
int knet_net_init(void);
void knet_net_exit(void);
int knet_enter(struct knet *kn, struct net *net, struct netlink_ext_ack *extack);
void knet_leave(struct knet *kn);
int knet_count_peer(struct knet *kn);
void knet_uncount_peer(struct knet *kn);
struct mem_cgroup *knet_charge_to(struct knet *kn);

/* dev.c */
extern struct rtnl_link_ops knet_link_ops;
bool knet_is(const struct net_device *dev);
void knet_setup(struct net_device *dev);
void knet_init(struct net_device *dev, struct net *net);
/* kn->dev has another address. Under the RTNL */
void knet_mac_changed(struct knet *kn);
void knet_set_secret(struct knet *kn, const struct knet_secret *secret);
bool knet_same_secret(const struct knet_secret *a, const struct knet_secret *b);

/* port.c. Process context, without the RTNL but for knet_port_name() */
void knet_port_init(struct knet *kn, const struct kfi_domain_limits *limits);
/* Make the address of the port's device number @n. Return: false: it can't be identified */
bool knet_port_address(struct knet *kn, unsigned int n);
int knet_port_register(struct knet *kn);	/* instead of register_netdev() */
void knet_port_clash(struct knet *kn);
void knet_port_exit(struct knet *kn);		/* it may have been called before */
int knet_port_name(struct net_device *dev, char *name, size_t len);

/* show.c */
extern const struct ethtool_ops knet_ethtool_ops;
extern const struct attribute_group knet_group;

/* peer.c */
extern const struct kfi_conn_ops knet_in_ops;
/* Return: words for why a call has ended with that negative errno, or NULL */
const char *knet_reason(int err);
int knet_peer_add(struct knet *kn, const char *node);
int knet_peer_remove(struct knet *kn, const char *node);
void knet_peers_remove(struct knet *kn);
void knet_peers_wait(struct knet *kn);
void knet_peer_again(struct knet_peer *peer, unsigned int ms);
int knet_answer(struct knet_peer *peer, const struct knet_secret *secret,
		struct kfi_caller *caller, const struct knet_hello *hello);
extern struct kfi_wire knet_wire;
/*
 * Check the hello of a peer, of which @len bytes have arrived. Return: 0; -EPROTO;
 * -EPROTONOSUPPORT: no version is common, which the log and "kfi show" tell
 */
int knet_hello_check(const struct knet_peer *peer, const struct knet_hello *hello, size_t len);

/* ear.c */
int knet_ear_join(struct knet_peer *peer, const struct kfi_need *need,
		  const struct knet_secret *secret, const struct kfi_info *info);
void knet_ear_leave(struct knet_peer *peer);

/* link.c */
struct kfi_conn_attr knet_conn_attr(struct knet *kn);
int knet_link_begin(struct knet_link *link, struct knet_peer *peer);
int knet_link_alloc(struct knet_link *link);
void knet_link_free(struct knet_link *link);
void knet_link_up(struct knet_link *link, const struct knet_hello *hello);
void knet_link_hide(struct knet_link *link);
void knet_link_down(struct knet_link *link);

/* send.c */
netdev_tx_t knet_xmit(struct sk_buff *skb, struct net_device *dev);
u16 knet_select_queue(struct net_device *dev, struct sk_buff *skb, struct net_device *sb_dev);

/* Frames for @link that this CPU sends in between wait for the second call. Softirq */
void knet_hold(struct knet_link *link);
void knet_release(struct knet_link *link);

/* recv.c */
int knet_poll(struct napi_struct *napi, int budget);
void knet_ready(struct kfid_cq *cq, void *conn);
struct page *knet_page(struct knet *kn, gfp_t gfp, unsigned int order);

#endif /* KNET_H */
