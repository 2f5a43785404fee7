// SPDX-License-Identifier: GPL-2.0
/* link.c - the life of a TCP connection, as a link of the message protocol (kfi_link.h). */
#include <linux/file.h>
#include <linux/tcp.h>
#include <net/inet_connection_sock.h>
#include <net/tcp.h>
#include "sock.h"

/* ---- names ---- */

static int ks_name_read(const struct kfi_ep *ep, const void *addr, void *name)
{
	return kfi_inaddr_name_read(&to_ks_domain(ep->domain)->names, addr, name);
}

static int ks_name_write(const struct kfi_ep *ep, const void *name, void *addr)
{
	return kfi_inaddr_name_write(&to_ks_domain(ep->domain)->names, name, addr);
}

static u16 ks_name_port(const struct kfi_proto_ep *pe)
{
	return be16_to_cpu(kfi_inaddr_port(&container_of(pe, struct ks_ep, pe)->addr));
}

/* The port of an RDM endpoint is the one at which it listens, whichever side has called. */
static void ks_name_self(struct kfi_link *link, void *name)
{
	union kfi_inaddr *self = name;

	memset(self, 0, sizeof(*self));
	kernel_getsockname(to_ks_link(link)->sock, &self->sa);
	if (link->ep && link->ep->ep.type == KFI_EP_RDM)
		kfi_inaddr_set_port(self, kfi_inaddr_port(&container_of(link->ep, struct ks_ep,
									pe)->addr));
}

/* ---- the socket ---- */

/* Set the DSCP of a socket. TCP takes that of IPv6 from another place than that of IPv4. */
void ks_set_tclass(struct socket *sock, u32 tclass)
{
	int class = kfi_tc_dscp_get(tclass) << 2;

	if (!(tclass & KFI_TC_DSCP))
		return;
	ip_sock_set_tos(sock->sk, class);
	if (sock->sk->sk_family == AF_INET6)
		sock->ops->setsockopt(sock, IPPROTO_IPV6, IPV6_TCLASS, KERNEL_SOCKPTR(&class),
				      sizeof(class));
}

/*
 * Set the options of a socket. A dead peer is detected after peer_timeout_ms; if the connection is
 * idle, at the first probe after that. (With a user time-out TCP ignores the number of probes.)
 * Probes begin after half of that time, and follow each other after a fifth of it.
 */
void ks_set_options(struct socket *sock, u32 tclass)
{
	unsigned int timeout = READ_ONCE(ks_proto.params.peer_timeout_ms);
	struct sock *sk = sock->sk;

	tcp_sock_set_nodelay(sk);
	sock_set_keepalive(sk);
	tcp_sock_set_keepidle(sk, max_t(int, timeout / (2 * MSEC_PER_SEC), 1));
	tcp_sock_set_keepintvl(sk, max_t(int, timeout / (5 * MSEC_PER_SEC), 1));
	tcp_sock_set_user_timeout(sk, timeout);
	ks_set_tclass(sock, tclass);
	/* Allocations for this socket may run in softirq, or under memory reclaim. */
	sk->sk_allocation = GFP_ATOMIC | __GFP_NOWARN;	/* see ks_send_err() */
	sock_own_page_frag(sk);		/* softirq must not use the page_frag of a task */
}

/*
 * Allow the packets of a connection, in both directions, to use the memory reserve, if its endpoint
 * has KFI_OPT_RECLAIM. Such an endpoint is used to free memory: without the reserve, memory reclaim
 * could wait for this connection, and the connection for memory. Called under the socket lock, or
 * before another context uses the socket.
 */
void ks_set_memalloc(struct kfi_link *link)
{
	struct sock *sk = to_ks_link(link)->sk;

	if (link->ep->ep.reclaim && !sock_flag(sk, SOCK_MEMALLOC))
		sk_set_memalloc(sk);
}

static void ks_link_admit(struct kfi_link *link)
{
	struct sock *sk = to_ks_link(link)->sk;

	lock_sock(sk);
	ks_set_memalloc(link);
	release_sock(sk);
}

/*
 * Clear SOCK_MEMALLOC. A packet of the reserve in the backlog of a socket without this flag would
 * be a bug, so the flag is cleared while there is no backlog.
 */
static void ks_clear_memalloc(struct sock *sk)
{
	bool owned;

	if (!sock_flag(sk, SOCK_MEMALLOC))
		return;
	do {
		spin_lock_bh(&sk->sk_lock.slock);
		owned = sock_owned_by_user(sk);
		if (!owned)
			sock_reset_flag(sk, SOCK_MEMALLOC);
		spin_unlock_bh(&sk->sk_lock.slock);
		if (owned)
			cond_resched();
	} while (owned);
	lock_sock(sk);
	sk_clear_memalloc(sk);
	release_sock(sk);
}

/* ---- the link's lock is the socket lock ---- */

static bool ks_trylock(struct kfi_link *link)
{
	struct ks_link *kl = to_ks_link(link);
	struct sock *sk = kl->sk;

	/* A handler posts in a report of room: this context has the lock, and trylock would say so. */
	if (unlikely(READ_ONCE(kl->in_room)))
		return false;
	local_bh_disable();
	if (spin_trylock(&sk->sk_lock.slock)) {
		if (!sock_owned_by_user(sk))
			return true;
		spin_unlock(&sk->sk_lock.slock);
	}
	local_bh_enable();
	return false;
}

static bool ks_lock(struct kfi_link *link)
{
	struct sock *sk = to_ks_link(link)->sk;

	local_bh_disable();
	bh_lock_sock(sk);
	if (!sock_owned_by_user(sk))
		return true;
	bh_unlock_sock(sk);
	local_bh_enable();
	return false;
}

static void ks_unlock(struct kfi_link *link)
{
	bh_unlock_sock(to_ks_link(link)->sk);
	local_bh_enable();
}

/* ---- callbacks of TCP, under the socket lock ---- */

static void ks_data_ready(struct sock *sk)
{
	struct kfi_link *link = sk->sk_user_data;
	int cpu = raw_smp_processor_id();

	if (!link)
		return;
	if (unlikely(link->cpu != cpu))
		WRITE_ONCE(link->cpu, cpu);	/* work items run on the same CPU */
	kfi_link_rx(link);
}

static void ks_write_space(struct sock *sk)
{
	struct kfi_link *link = sk->sk_user_data;

	if (!link || !sk_stream_is_writeable(sk))
		return;
	clear_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
	WRITE_ONCE(to_ks_link(link)->in_room, true);
	kfi_link_room(link);
	WRITE_ONCE(to_ks_link(link)->in_room, false);
}

static void ks_state_change(struct sock *sk)
{
	struct kfi_link *link = sk->sk_user_data;

	if (!link)
		return;
	if (sk->sk_state == TCP_ESTABLISHED)
		kfi_link_up(link);
	else
		kfi_link_down(link);
}

static int ks_ended(const struct kfi_link *link)
{
	const struct sock *sk = to_ks_link(link)->sk;
	int state = READ_ONCE(sk->sk_state), err;

	if (state == TCP_ESTABLISHED || state == TCP_SYN_SENT || state == TCP_SYN_RECV)
		return 0;
	err = READ_ONCE(sk->sk_err);
	return err ? -err : -ESHUTDOWN;
}

const struct ks_callbacks ks_link_callbacks = {
	.data_ready	= ks_data_ready,
	.write_space	= ks_write_space,
	.state_change	= ks_state_change,
};

void ks_link_attach(struct ks_link *kl, const struct ks_callbacks *callbacks)
{
	struct sock *sk = kl->sk;

	write_lock_bh(&sk->sk_callback_lock);
	kl->old_data_ready = sk->sk_data_ready;
	kl->old_write_space = sk->sk_write_space;
	kl->old_state_change = sk->sk_state_change;
	sk->sk_user_data = &kl->link;
	sk->sk_data_ready = callbacks->data_ready;
	sk->sk_write_space = callbacks->write_space;
	sk->sk_state_change = callbacks->state_change;
	write_unlock_bh(&sk->sk_callback_lock);
}

/* Give the socket its own callbacks back. On return no other one runs. */
void ks_callbacks_end(struct ks_link *kl)
{
	struct sock *sk = kl->sk;

	lock_sock(sk);		/* waits for callbacks that have read sk_user_data */
	write_lock_bh(&sk->sk_callback_lock);
	if (sk->sk_user_data == &kl->link) {
		sk->sk_user_data = NULL;
		sk->sk_data_ready = kl->old_data_ready;
		sk->sk_write_space = kl->old_write_space;
		sk->sk_state_change = kl->old_state_change;
	}
	write_unlock_bh(&sk->sk_callback_lock);
	release_sock(sk);
}

/*
 * Stop the callbacks and the probe. The connection is unpublished, so ks_probe() is not called any
 * more.
 */
void ks_link_detach(struct kfi_link *link)
{
	struct ks_link *kl = to_ks_link(link);

	ks_callbacks_end(kl);
	cancel_delayed_work_sync(&kl->probe);
}

/* ---- probe whether the peer is alive ---- */

/*
 * Is a probe in progress? The result of an old probe is not valid now: the caller that requested it
 * may have closed its connection before the answer arrived.
 */
static bool ks_probing(const struct ks_link *kl)
{
	unsigned long probed = READ_ONCE(kl->probed);

	return probed && time_before(jiffies, probed + 2 * READ_ONCE(kl->probe_timeout));
}

static void ks_probe_work(struct work_struct *work)
{
	struct ks_link *kl = container_of(to_delayed_work(work), struct ks_link, probe);

	kfi_link_ping(&kl->link);
	if (ks_probing(kl))
		queue_delayed_work(ks_wq, &kl->probe, msecs_to_jiffies(KS_PROBE_MS / 4));
}

/*
 * Return the time in which a live peer acknowledges something. When TCP has backed off, or the
 * peer's window is closed, TCP may send nothing for longer than KS_PROBE_MS although the peer is
 * alive; after peer_timeout_ms TCP itself ends the connection. A machine that has restarted answers
 * the next packet with a reset in any case. The values are read without the socket lock: a change
 * makes the wait longer or shorter, no more.
 */
static unsigned long ks_probe_timeout(const struct sock *sk)
{
	const struct inet_connection_sock *icsk = inet_csk(sk);
	bool waits = READ_ONCE(icsk->icsk_backoff) || READ_ONCE(icsk->icsk_retransmits) ||
		     READ_ONCE(icsk->icsk_probes_out) || !READ_ONCE(tcp_sk(sk)->snd_wnd);
	unsigned int timeout = READ_ONCE(ks_proto.params.peer_timeout_ms);

	return msecs_to_jiffies(waits ? max(KS_PROBE_MS, timeout) : KS_PROBE_MS);
}

/* The peer's TCP acknowledges the bytes that we send, or a probe of its closed window. */
static int ks_probe(struct kfi_link *link)
{
	struct ks_link *kl = to_ks_link(link);
	u32 last_rx = READ_ONCE(tcp_sk(kl->sk)->rcv_tstamp);

	if (READ_ONCE(kl->sk->sk_state) != TCP_ESTABLISHED)
		return -1;
	if (!ks_probing(kl)) {
		WRITE_ONCE(kl->probe_timeout, ks_probe_timeout(kl->sk));
		WRITE_ONCE(kl->probed, jiffies ?: 1);
		mod_delayed_work(ks_wq, &kl->probe, 0);
		return 0;
	}
	/* An answer in the same tick counts: a caller that is refused by mistake calls again. */
	if ((s32)(last_rx - (u32)kl->probed) >= 0) {
		WRITE_ONCE(kl->probed, 0);
		return 1;
	}
	return time_after(jiffies, kl->probed + kl->probe_timeout) ? -1 : 0;
}

/* ---- begin and end ---- */

void ks_link_init(struct ks_link *kl, struct socket *sock)
{
	kl->sock = sock;
	kl->sk = sock->sk;
	INIT_DELAYED_WORK(&kl->probe, ks_probe_work);
}

/*
 * Give the socket a file, by which tlshd gets it. Without memory the socket is released, with a
 * reset as in ks_drop().
 */
int ks_sock_open_file(struct socket *sock)
{
	struct file *file;

	sock_no_linger(sock->sk);
	file = sock_alloc_file(sock, O_NONBLOCK, NULL);
	if (IS_ERR(file))
		return PTR_ERR(file);
	lock_sock(sock->sk);
	sock_reset_flag(sock->sk, SOCK_LINGER);
	release_sock(sock->sk);
	return 0;
}

/*
 * Let TCP deliver the bytes that it still holds after the close. A kernel's socket loses its timers
 * at the close, and does not retransmit without them, unless it holds its network namespace as the
 * socket of a process does. Return false if the namespace has ended.
 */
bool ks_sock_hold_net(struct sock *sk)
{
	struct net *net;

	if (sk->sk_net_refcnt)
		return true;
	net = maybe_get_net(sock_net(sk));
	if (!net)
		return false;
	sk_net_refcnt_upgrade(sk);
	put_net(net);
	return true;
}

/*
 * Release a socket. One with a file is released later: by tlshd, if it has the socket, too, or by
 * a work item, because the file's release takes a lock that this context must not take (the inode
 * lock, of one class for all sockets). Such a socket has to hold its namespace. If that is ending,
 * no tlshd has the socket any more.
 */
void ks_sock_release(struct socket *sock)
{
	if (!sock->file)
		sock_release(sock);
	else if (ks_sock_hold_net(sock->sk))
		fput(sock->file);
	else
		__fput_sync(sock->file);
}

/* Release the socket, which another one replaces. */
void ks_link_release(struct ks_link *kl)
{
	ks_callbacks_end(kl);
	ks_clear_memalloc(kl->sk);
	ks_sock_release(kl->sock);
}

void ks_link_close(struct kfi_link *link, bool abort)
{
	struct ks_link *kl = to_ks_link(link);

	if (abort || !ks_sock_hold_net(kl->sk))
		sock_no_linger(kl->sk);
	ks_clear_memalloc(kl->sk);
	if (abort && kl->spliced) {
		sock_hold(kl->sk);	/* for ks_link_released() */
		kl->closed = jiffies;
	} else {
		/* The peer has answered all that was spliced: another copy of it does no harm. */
		kl->sk = NULL;
	}
	ks_sock_release(kl->sock);
}

#define KS_NETNS_WAIT	HZ

/*
 * TCP has dropped what it had not sent, but a packet that it has sent may wait in a queueing
 * discipline or a driver, and refer to pages of the payload. Such a packet is charged to the socket
 * (&sock.sk_wmem_alloc) or holds a reference to it (netem). A device whose receiver is on the same
 * machine (lo, veth) drops both when it passes a packet on; the last one is the reset. After a grace
 * period the softirq that has done this is over, so the receiver has the reset, and reads nothing
 * more (kfp_rx_run()).
 *
 * The wait has no limit: the peer may accept the bytes of such a packet, so their owner must not
 * change them. Only the queues of a network namespace that is ending are not waited for longer than
 * KS_NETNS_WAIT, because they are destroyed after its endpoints.
 */
static bool ks_link_released(struct kfi_link *link)
{
	struct ks_link *kl = to_ks_link(link);
	struct sock *sk = kl->sk;
	char name[KFI_ADDR_MAX];

	if (!sk)
		return true;
	if ((refcount_read(&sk->sk_refcnt) > 1 || sk_wmem_alloc_get(sk)) &&
	    (check_net(sock_net(sk)) || time_before(jiffies, kl->closed + KS_NETNS_WAIT))) {
		if (!kl->warned && time_after(jiffies, kl->closed + KS_QUEUED_WARN)) {
			kl->warned = true;
			kfi_inaddr_str(link->name, sizeof(union kfi_inaddr), name, sizeof(name));
			net_warn_ratelimited("kfi_sockets: packets of an ended connection to %s wait in a queue of this machine, and its operations for them\n",
					     name);
		}
		return false;
	}
	synchronize_rcu_expedited();
	sock_put(sk);
	kl->sk = NULL;
	return true;
}

const struct kfi_link_ops ks_link_ops = {
	.link_size	= sizeof(struct ks_link),
	.name_len	= sizeof(union kfi_inaddr),

	.len		= kfi_inaddr_name_len,
	.cmp		= kfi_inaddr_cmp,
	.hash		= kfi_inaddr_hash,
	.name		= ks_name_read,
	.address	= ks_name_write,
	.origin		= kfi_inaddr_name_origin,
	.port		= ks_name_port,
	.set_port	= kfi_inaddr_name_set_port,
	.self		= ks_name_self,
	.wire_name	= kfi_inaddr_name_wire,

	.open		= ks_open,
	.dial		= ks_dial,
	.admit		= ks_link_admit,
	.ended		= ks_ended,
	.detach		= ks_link_detach,
	.close		= ks_link_close,
	.released	= ks_link_released,
	.probe		= ks_probe,

	.trylock	= ks_trylock,
	.lock		= ks_lock,
	.unlock		= ks_unlock,

	.post		= ks_post,
	.splices	= ks_splices,
	.sent_to	= ks_sent_to,
	.read		= ks_read,
};
