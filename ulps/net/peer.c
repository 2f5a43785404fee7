// SPDX-License-Identifier: GPL-2.0
/*
 * peer.c - peers: which side dials, and which one answers.
 *
 * Both nodes know each other, and both dial. The one with the lower Ethernet address is right: its
 * call is accepted, and the call of the other one makes it dial at once. A call also tells that
 * the caller has no connection, so one that this side still has is dead.
 */
#include <linux/inet.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>
#include <net/addrconf.h>
#include <net/route.h>
#include "knet.h"

/* ---- why there is no connection ---- */

/**
 * struct reason - what the end of a call says
 * @err: the negative errno with which it has ended
 * @passes: it may pass by itself, as while the other node boots. So the log has it after
 *	KNET_PATIENCE_MS
 * @text: for `peers` and the log
 */
struct reason {
	int		err;
	bool		passes;
	const char	*text;
};

static const struct reason reasons[] = {
	{ -EACCES, false, "both nodes need ports below 1024" },
	{ -EKEYREJECTED, false, "both nodes need the same secret" },
	{ -EMFILE, false, "its user has too many connections, or too much memory of kfabric" },
	{ -ENOBUFS, false, "its user has too many connections, or too much memory of kfabric" },
	{ -EPROTONOSUPPORT, false, "no version is common, see kfi show versions" },
	{ -ENOTUNIQ, false, "both nodes have the same Ethernet address" },
	{ -EPROTO, false, "the other node does not answer as kfi_net does" },
	{ -ENOMEM, true, "this node has no memory" },
	{ -EADDRINUSE, true, "another device or program has this peer, or the port" },
	{ -EADDRNOTAVAIL, true, "this node does not have the address that leads there" },
	{ -ENODATA, true, "no provider of this node leads there" },
	{ -ENODEV, true, "the interface, the bridge or the cable has gone" },
	{ -ENETUNREACH, true, "there is no route" },
	{ -EHOSTUNREACH, true, "there is no route, or nobody at that address" },
	{ -ETIMEDOUT, true, "the other node does not answer" },
	{ -ECONNREFUSED, true,
	  "the other node has no kfi_net, its device is down, or this node is no peer there" },
	{ -EBUSY, true, "the connection before has not ended at the other node yet" },
	{ -EALREADY, true,
	  "the other node has the lower Ethernet address, and has not called yet" },
};

static const struct reason *find_reason(int err)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(reasons); i++)
		if (reasons[i].err == err)
			return &reasons[i];
	return NULL;
}

const char *knet_reason(int err)
{
	const struct reason *reason = find_reason(err);

	return reason ? reason->text : NULL;
}

/* Say once why there will be no connection, or why there has been none for long. */
static void warn(struct knet_peer *peer, int err)
{
	const struct reason *reason = find_reason(err);
	bool late;

	if (err && !peer->err)
		peer->since = jiffies;
	WRITE_ONCE(peer->err, err);
	if (!err)
		return;
	late = time_after(jiffies, peer->since + msecs_to_jiffies(KNET_PATIENCE_MS));
	if (reason && !reason->passes ? err == peer->said : peer->said || !late)
		return;
	if (!net_ratelimit())
		return;
	peer->said = err;
	if (reason)
		netdev_warn(peer->kn->dev, "no connection to %s: %s, see kfi_net(7)\n", peer->node,
			    reason->text);
	else
		netdev_warn(peer->kn->dev, "no connection to %s: calls end with error %d\n",
			    peer->node, -err);
}

/* ---- hello ---- */

static const struct kfi_versions speaks = {
	.lowest = KNET_VERSION_MIN, .highest = KNET_VERSION, .features = KNET_FEATS,
};

struct kfi_wire knet_wire = { .name = "network devices", .speaks = &speaks };

static void fill_hello(struct knet *kn, struct knet_hello *hello, enum knet_status status)
{
	lockdep_assert_held(&kn->lock);
	*hello = (struct knet_hello) {
		.magic = cpu_to_le32(KNET_MAGIC), .version = speaks.highest,
		.version_min = kfi_versions_lowest(&speaks), .features = speaks.features,
		.status = status, .session = cpu_to_le64(kn->session),
	};
	ether_addr_copy(hello->mac, kn->mac);
}

int knet_hello_check(const struct knet_peer *peer, const struct knet_hello *hello, size_t len)
{
	struct kfi_versions theirs, agreed;
	int ret;

	if (len < sizeof(*hello) || hello->magic != cpu_to_le32(KNET_MAGIC))
		return -EPROTO;
	theirs = kfi_versions_read(hello->version, hello->version_min, hello->features);
	ret = kfi_versions_agree(&speaks, &theirs, &agreed);
	if (ret == -EPROTONOSUPPORT)
		kfi_wire_refused(peer->kn->net, &knet_wire, peer->node, &theirs);
	if (ret)
		return ret;
	kfi_wire_met(peer->kn->net, &knet_wire, peer->node);
	return is_valid_ether_addr(hello->mac) ? 0 : -EPROTO;
}

/* Have the work done in so many milliseconds, or at once. Any context */
void knet_peer_again(struct knet_peer *peer, unsigned int ms)
{
	struct workqueue_struct *wq = peer->kn->ns->wq;

	if (ms)
		queue_delayed_work(wq, &peer->work, msecs_to_jiffies(ms));
	else
		mod_delayed_work(wq, &peer->work, 0);
}

/* ---- calls of the peer ---- */

/* No new frame finds the link. */
static void in_release(struct kfi_conn *conn)
{
	struct knet_link *link = container_of(conn, struct knet_link, conn);
	struct knet_peer *peer = link->peer;

	knet_link_down(link);
	kfree(link);
	knet_peer_again(peer, KNET_AGAIN_MS);
	rcu_read_lock();	/* peer_end() waits for the end of the wake-up */
	if (atomic_dec_and_test(&peer->in))
		wake_up_var(&peer->in);
	rcu_read_unlock();
}

/* Without &kfi_conn_ops.end_wq, see &knet_net.in_ops */
const struct kfi_conn_ops knet_in_ops = { .ready = knet_ready, .release = in_release };

static void in_free(struct knet_link *link)
{
	knet_link_free(link);
	kfree(link);
}

static struct knet_link *in_alloc(struct knet_peer *peer)
{
	struct knet_link *link = kzalloc(sizeof(*link), GFP_KERNEL_ACCOUNT);
	int ret;

	if (!link)
		return ERR_PTR(-ENOMEM);
	kfi_conn_init(&link->conn, &peer->kn->ns->in_ops);
	ret = knet_link_begin(link, peer);
	if (ret) {
		kfree(link);
		return ERR_PTR(ret);
	}
	ret = knet_link_alloc(link);
	if (ret) {
		in_free(link);
		return ERR_PTR(ret);
	}
	return link;
}

static int accept(struct knet_link *link, struct kfi_caller *caller,
		  const struct knet_hello *hello)
{
	struct knet_peer *peer = link->peer;
	struct kfi_conn_attr attr = knet_conn_attr(peer->kn);
	struct knet_hello answer;
	int ret;

	lockdep_assert_held(&peer->kn->lock);
	fill_hello(peer->kn, &answer, KNET_OK);
	atomic_inc(&peer->in);
	ret = kfi_conn_accept(&link->conn, caller, &attr, &answer, sizeof(answer));
	if (ret)
		atomic_dec(&peer->in);
	else
		knet_link_up(link, hello);	/* in_release() waits for the lock */
	return ret;
}

/*
 * What to say to a caller. The one with the higher address calls when it has no connection, or
 * when it does not know yet that the other one has called. A link of the same session may be that
 * one.
 */
static enum knet_status judge(struct knet_peer *peer, const struct knet_hello *hello)
{
	struct knet_link *owner = peer->owner;
	int cmp = memcmp(hello->mac, peer->kn->mac, ETH_ALEN);

	lockdep_assert_held(&peer->kn->lock);
	if (!cmp)
		return KNET_SAME;
	if (owner && (cmp < 0 || owner->session != le64_to_cpu(hello->session)))
		kfi_conn_fail(&owner->conn, -ESTALE);
	if (cmp > 0)
		return KNET_WAIT;
	return owner ? KNET_BUSY : KNET_OK;
}

static int answer_call(struct knet_peer *peer, const struct knet_secret *secret,
		       struct kfi_caller *caller, const struct knet_hello *hello)
{
	struct knet_link *link = NULL;
	struct knet *kn = peer->kn;
	enum knet_status status;
	struct knet_hello answer;
	bool common;
	int ret;

	ret = knet_hello_check(peer, hello, caller->len);
	if (ret && ret != -EPROTONOSUPPORT)
		return ret;
	common = !ret;
	ret = -ENETDOWN;
again:
	mutex_lock(&kn->lock);
	if (!kn->running || peer->gone || !knet_same_secret(secret, &kn->secret))
		goto unlock;
	status = common ? judge(peer, hello) : KNET_VERSIONS;
	if (status == KNET_OK && !link) {
		mutex_unlock(&kn->lock);
		link = in_alloc(peer);
		if (IS_ERR(link))
			return PTR_ERR(link);
		goto again;
	}
	if (status == KNET_OK) {
		ret = accept(link, caller, hello);
		if (!ret)
			link = NULL;
	} else {
		fill_hello(kn, &answer, status);
		kfi_conn_reject(caller, &answer, sizeof(answer));
		knet_count(kn, KNET_REFUSED);
		ret = 0;
	}
	if (status == KNET_WAIT && !peer->owner)
		knet_peer_again(peer, 0);
unlock:
	mutex_unlock(&kn->lock);
	if (link)
		in_free(link);
	return ret;
}

/*
 * Answer a call, whose caller has proved @secret. Context: &kfi_listener.called, with
 * &knet_ear.lock. All namespaces share the work items of such calls, so the RTNL is not waited for.
 * Return: 0; or a negative error, with which the call is refused
 */
int knet_answer(struct knet_peer *peer, const struct knet_secret *secret,
		struct kfi_caller *caller, const struct knet_hello *hello)
{
	struct mem_cgroup *memcg = knet_charge_to(peer->kn);
	int ret = answer_call(peer, secret, caller, hello);
	const struct reason *reason;

	set_active_memcg(memcg);
	reason = find_reason(ret);
	if (reason && !reason->passes && net_ratelimit())
		netdev_warn(peer->kn->dev, "no connection from %s: %s, see kfi_net(7)\n",
			    peer->node, reason->text);
	return ret;
}

/* ---- calls of this side ---- */

/* Softirq, or a hard interrupt */
static void out_lost(struct kfi_conn *conn, int err)
{
	struct knet_link *link = container_of(conn, struct knet_link, conn);

	WRITE_ONCE(link->lost, true);
	knet_peer_again(link->peer, 0);
}

static void out_answered(struct kfi_conn *conn)
{
	knet_peer_again(container_of(conn, struct knet_link, conn)->peer, 0);
}

static const struct kfi_conn_ops out_ops = {
	.ready = knet_ready, .answered = out_answered, .lost = out_lost,
};

/* @device: buffer for the name of the domain; @secret: the same */
static int fill_need(struct knet *kn, char *device, struct knet_secret *secret,
		     struct kfi_need *need)
{
	struct net_device *lower;
	int ret = 0;
	bool load;

	mutex_lock(&kn->lock);
	*secret = kn->secret;
	load = kn->load;
	kn->load = false;
	mutex_unlock(&kn->lock);

	strscpy(device, kn->domain, KNET_NODE);
	if (kn->lower) {
		rcu_read_lock();
		lower = dev_get_by_index_rcu(kn->net, kn->lower);
		if (lower)
			strscpy(device, lower->name, KNET_NODE);
		else
			ret = -ENODEV;
		rcu_read_unlock();
	}
	*need = (struct kfi_need) {
		.device = device, .type = KFI_EP_MSG, .order = KFI_ORDER_SAS, .max_len = KNET_MSG,
		.tx_segs = KNET_SEGS, .one_peer = !kn->lower, .load = load,
		.auth_key = secret->len ? secret->bytes : NULL, .auth_key_size = secret->len,
	};
	return ret;
}

/* The link is up then, unless something has changed since the call. */
static int connected(struct knet_peer *peer)
{
	struct knet_link *out = &peer->out;
	struct knet *kn = peer->kn;
	int ret;

	ret = knet_hello_check(peer, &peer->answer, peer->answer_len);
	if (ret)
		return ret;
	if (peer->answer.status != KNET_OK)
		return -EPROTO;
	if (ether_addr_equal(peer->answer.mac, peer->hello.mac))
		return -ENOTUNIQ;
	ret = knet_link_alloc(out);
	if (ret)
		return ret;
	mutex_lock(&kn->lock);
	if (kn->running && !peer->gone && !peer->owner &&
	    kn->session == le64_to_cpu(peer->hello.session))
		knet_link_up(out, &peer->answer);
	else
		ret = -ESTALE;
	mutex_unlock(&kn->lock);
	return ret;
}

static void close_out(struct knet_peer *peer)
{
	kfi_conn_stop(&peer->out.conn);
	knet_link_free(&peer->out);
	peer->dialing = false;
}

/* What the answer says of a call that the peer has refused. @err: how it has ended */
static int refused(const struct knet_peer *peer, int err)
{
	switch (peer->answer.status) {
	case KNET_WAIT:
		return -EALREADY;
	case KNET_BUSY:
		return -EBUSY;
	case KNET_SAME:
		return -ENOTUNIQ;
	default:
		return err;
	}
}

/* The call was answered, or is not waited for any longer. Return: 0: the link is up */
static int dialed(struct knet_peer *peer)
{
	int ret = kfi_conn_dialed(&peer->out.conn);

	if (!ret)
		ret = connected(peer);
	else if (peer->answer_len)
		ret = knet_hello_check(peer, &peer->answer, peer->answer_len) ?: refused(peer, ret);
	peer->dialing = false;
	if (ret)
		close_out(peer);
	return ret;
}

static int call(struct knet_peer *peer, const struct kfi_info *info)
{
	struct knet_link *out = &peer->out;
	struct knet *kn = peer->kn;

	mutex_lock(&kn->lock);
	fill_hello(kn, &peer->hello, KNET_OK);
	mutex_unlock(&kn->lock);
	WRITE_ONCE(out->lost, false);
	peer->answer = (struct knet_hello){};
	peer->answer_len = sizeof(peer->answer);
	peer->deadline = jiffies + msecs_to_jiffies(KNET_CONNECT_MS);
	peer->dialing = true;
	return kfi_conn_dial(&out->conn, info->dest_addr, &peer->hello, sizeof(peer->hello),
			     &peer->answer, &peer->answer_len);
}

static int open_link(struct knet_peer *peer, struct net *net, const struct kfi_info *info)
{
	struct kfi_conn_attr attr = knet_conn_attr(peer->kn);
	struct knet_link *out = &peer->out;
	struct kfi_dom *dom;
	int ret;

	dom = kfi_dom_get_paid(net, info, THIS_MODULE, attr.account);
	if (IS_ERR(dom))
		return PTR_ERR(dom);
	ret = knet_link_begin(out, peer);
	if (ret)
		goto put;
	ret = kfi_conn_open(&out->conn, dom, info, &attr) ?: call(peer, info);
	if (ret)
		close_out(peer);
put:
	kfi_dom_put(dom);
	return ret;
}

/*
 * The device knows the poll from the first call on. The RTNL guards its list of polls: Linux before
 * 6.14 has no lock of its own for it, and dumps it under the RTNL.
 */
static void add_napi(struct knet_peer *peer)
{
	if (peer->has_napi)
		return;
	rtnl_lock();
	netif_napi_add(peer->kn->dev, &peer->napi, knet_poll);
	rtnl_unlock();
	peer->has_napi = true;
}

static void del_napi(struct knet_peer *peer)
{
	if (!peer->has_napi)
		return;
	rtnl_lock();
	netif_napi_del(&peer->napi);
	rtnl_unlock();
}

/* Begin a call. Return: 0: peer_work() hears of the answer */
static int dial(struct knet_peer *peer)
{
	struct net *net = maybe_get_net(peer->kn->net);
	const char *node = peer->kn->lower ? peer->node : NULL;
	struct knet_secret secret;
	char device[KNET_NODE];
	struct kfi_info *info;
	struct kfi_need need;
	int ret;

	if (!net)
		return -ENODEV;
	add_napi(peer);
	ret = fill_need(peer->kn, device, &secret, &need) ?:
	      kfi_find(net, &need, NULL, node, knet_service, &info);
	if (!ret) {
		ret = knet_ear_join(peer, &need, &secret, info) ?: open_link(peer, net, info);
		kfi_freeinfo(info);
	}
	memzero_explicit(&secret, sizeof(secret));
	put_net(net);
	return ret;
}

/* ---- life ---- */

/* The last step of the work. */
static void peer_end(struct knet_peer *peer)
{
	struct knet *kn = peer->kn;
	unsigned int slot = peer->slot;

	knet_ear_leave(peer);
	mutex_lock(&kn->lock);
	if (peer->owner)
		kfi_conn_fail(&peer->owner->conn, -ESHUTDOWN);
	mutex_unlock(&kn->lock);
	wait_var_event(&peer->in, !atomic_read(&peer->in));
	synchronize_rcu();
	kfi_conn_close(&peer->out.conn);
	del_napi(peer);
	mutex_lock(&kn->lock);
	RCU_INIT_POINTER(kn->peers[slot], NULL);
	WRITE_ONCE(kn->nr_peers, kn->nr_peers - 1);
	mutex_unlock(&kn->lock);
	knet_uncount_peer(kn);
	cancel_delayed_work(&peer->work);
	kfree_rcu(peer, rcu);
	rcu_read_lock();	/* the end of the device waits for the end of the wake-up */
	if (atomic_dec_and_test(&kn->alive))
		wake_up(&kn->idle);
	rcu_read_unlock();
}

/* Wait on for the answer to a call if it is @wanted, or take it. */
static void take_answer(struct knet_peer *peer, bool wanted)
{
	long left = peer->deadline - jiffies;
	int ret;

	if (wanted && left > 0 && !kfi_conn_answered(&peer->out.conn)) {
		knet_peer_again(peer, jiffies_to_msecs(left) + 1);
		return;
	}
	ret = dialed(peer);
	if (wanted)
		warn(peer, ret);
	if (ret == -ENOTUNIQ)
		knet_port_clash(peer->kn);
	if (ret)
		knet_peer_again(peer, ret == -EALREADY ? KNET_WAIT_MS : KNET_AGAIN_MS);
}

static void make_call(struct knet_peer *peer)
{
	int ret = dial(peer);

	if (!ret)
		knet_peer_again(peer, KNET_CONNECT_MS);
	else
		knet_peer_again(peer, ret == -EADDRINUSE ? KNET_WAIT_MS : KNET_AGAIN_MS);
	if (ret)
		warn(peer, ret);
}

static void peer_step(struct knet_peer *peer)
{
	struct knet *kn = peer->kn;
	bool gone, running, want, down, stale, met;

	mutex_lock(&kn->lock);
	gone = peer->gone;
	down = peer->owner == &peer->out && (gone || READ_ONCE(peer->out.lost));
	running = kn->running;
	want = running && !peer->owner;
	stale = peer->dialing && kn->session != le64_to_cpu(peer->hello.session);
	met = peer->met;
	peer->met = false;
	mutex_unlock(&kn->lock);
	if (!want || met) {
		WRITE_ONCE(peer->err, 0);
		peer->said = 0;
	}
	if (peer->dialing)
		take_answer(peer, want && !gone && !stale);
	else if (down)
		knet_link_down(&peer->out);
	else if (want && !gone)
		make_call(peer);
	if (gone)
		peer_end(peer);
	else if (down)
		knet_peer_again(peer, KNET_AGAIN_MS);
	else if (!running)
		knet_ear_leave(peer);	/* the module of the provider may go then */
}

static void peer_work(struct work_struct *work)
{
	struct knet_peer *peer = container_of(to_delayed_work(work), struct knet_peer, work);
	struct mem_cgroup *memcg = knet_charge_to(peer->kn);

	peer_step(peer);	/* which may free the peer, and then the device goes */
	set_active_memcg(memcg);
}

/* Return why no other node behind the interface @lower has the address, or NULL if one may. */
static const char *wrong_addr4(struct net *net, const struct net_device *lower, __be32 addr)
{
	switch (ipv4_is_loopback(addr) ? RTN_LOCAL : inet_addr_type_dev_table(net, lower, addr)) {
	case RTN_UNICAST:
		return NULL;
	case RTN_LOCAL:
		return "an address of this node";
	default:
		return "no unicast address";
	}
}

static const char *wrong_addr6(struct net *net, const struct net_device *lower,
			       const struct sockaddr_in6 *sin6)
{
	int type = ipv6_addr_type(&sin6->sin6_addr);

	if (!(type & IPV6_ADDR_UNICAST))
		return "no unicast address";
	if (type & IPV6_ADDR_LINKLOCAL && sin6->sin6_scope_id != lower->ifindex)
		return "a link-local address without the interface below behind a %";
	if (type & IPV6_ADDR_LOOPBACK || ipv6_chk_addr(net, &sin6->sin6_addr, lower, 0))
		return "an address of this node";
	return NULL;
}

static int read_addr(struct knet *kn, const char *node, struct sockaddr_storage *addr)
{
	const char *wrong = NULL;
	struct net_device *lower;

	if (inet_pton_with_scope(kn->net, AF_UNSPEC, node, NULL, addr))
		return -EINVAL;
	rcu_read_lock();
	lower = dev_get_by_index_rcu(kn->net, kn->lower);
	if (lower && addr->ss_family == AF_INET)
		wrong = wrong_addr4(kn->net, lower,
				    ((struct sockaddr_in *)addr)->sin_addr.s_addr);
	else if (lower)
		wrong = wrong_addr6(kn->net, lower, (struct sockaddr_in6 *)addr);
	rcu_read_unlock();
	if (!lower)
		return -ENODEV;
	if (!wrong)
		return 0;
	if (net_ratelimit())
		netdev_err(kn->dev, "%s is no peer: it is %s\n", node, wrong);
	return -EINVAL;
}

static int add(struct knet *kn, struct knet_peer *peer)
{
	unsigned int i, slot = 0, end = min_t(unsigned int, kn->dev->num_tx_queues, KNET_PEERS + 1);

	lockdep_assert_held(&kn->lock);
	for (i = end - 1; i; i--) {
		if (!knet_peer(kn, i))
			slot = i;
		else if (!strcmp(knet_peer(kn, i)->node, peer->node))
			return knet_peer(kn, i)->gone ? -EBUSY : -EEXIST;
	}
	if (!slot || knet_count_peer(kn))
		return -ENOSPC;
	peer->slot = slot;
	atomic_inc(&kn->alive);
	rcu_assign_pointer(kn->peers[slot], peer);
	WRITE_ONCE(kn->nr_peers, kn->nr_peers + 1);
	WRITE_ONCE(kn->end, max(kn->end, slot + 1));
	if (kn->running)
		knet_peer_again(peer, 0);
	return 0;
}

int knet_peer_add(struct knet *kn, const char *node)
{
	struct knet_peer *peer = kzalloc(sizeof(*peer), GFP_KERNEL_ACCOUNT);
	int ret;

	if (!peer)
		return -ENOMEM;
	peer->kn = kn;
	INIT_DELAYED_WORK(&peer->work, peer_work);
	kfi_conn_init(&peer->out.conn, &out_ops);
	peer->out.peer = peer;
	ret = strscpy(peer->node, node, sizeof(peer->node)) < 0 ? -EINVAL : 0;
	if (!ret && kn->lower)
		ret = read_addr(kn, node, &peer->addr);
	if (!ret) {
		mutex_lock(&kn->lock);
		ret = add(kn, peer);
		mutex_unlock(&kn->lock);
	}
	if (ret)
		kfree(peer);
	return ret;
}

static void remove(struct knet *kn, struct knet_peer *peer)
{
	lockdep_assert_held(&kn->lock);
	peer->gone = true;
	kfi_conn_cancel(&peer->out.conn);
	knet_peer_again(peer, 0);
}

/* It goes later: nothing may wait here, see knet.h. */
int knet_peer_remove(struct knet *kn, const char *node)
{
	int ret = -ENOENT;
	unsigned int i;

	mutex_lock(&kn->lock);
	for (i = 1; i < kn->end; i++) {
		if (!knet_peer(kn, i) || strcmp(knet_peer(kn, i)->node, node))
			continue;
		remove(kn, knet_peer(kn, i));
		ret = 0;
	}
	mutex_unlock(&kn->lock);
	return ret;
}

/* All peers go later. Process context */
void knet_peers_remove(struct knet *kn)
{
	unsigned int i;

	mutex_lock(&kn->lock);
	for (i = 1; i < kn->end; i++)
		if (knet_peer(kn, i))
			remove(kn, knet_peer(kn, i));
	mutex_unlock(&kn->lock);
}

/* Process context, without the RTNL. On return there is no peer. */
void knet_peers_wait(struct knet *kn)
{
	knet_peers_remove(kn);	/* a file of sysfs may have added one meanwhile */
	wait_event(kn->idle, !atomic_read(&kn->alive));
	synchronize_rcu();
}
