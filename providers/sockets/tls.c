// SPDX-License-Identifier: GPL-2.0
/*
 * tls.c - TLS handshakes: which key belongs to a pair of machines, or which certificate to a peer,
 * and the steps from a TCP connection to one with TLS. tlshd performs the handshake itself, see
 * net/handshake.h.
 *
 * ks_tls_shake_work() makes all steps, one at a time and without blocking. It fails closed: a link
 * is up only after tlshd has reported success, the socket has keys for both directions, and the
 * key or the certificate belongs to the addresses.
 */
#include <keys/asymmetric-type.h>
#include <linux/inet.h>
#include <linux/key-type.h>
#include <linux/kmod.h>
#include <linux/module.h>
#include <linux/nvme-keyring.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/tcp.h>
#include <net/handshake.h>
#include <net/inet_connection_sock.h>
#include <net/tls.h>
#include "tls.h"

#define KS_TLS_NAME	128	/* room for two IPv6 addresses as text */
#define KS_TLS_AGAIN	2	/* jiffies until another attempt to begin a handshake */
#define KS_TLS_LABELS	256	/* names of handshakes, see ks_tls_label() */
#define KS_TLS_HOLD	(5 * HZ)	/* see struct ks_tls_hold */

static bool ks_tls_x509 __ro_after_init;
static struct key *ks_tls_keyring;	/* NULL with ks_tls_x509 */
static char ks_tls_labels[KS_TLS_LABELS][sizeof("kfi 255")];
static struct kfi_link_ops ks_tls_ops __ro_after_init;

/* ---- keys ---- */

/* The type of the keys that tlshd looks up belongs to nvme-keyring, which does not export it. */
static bool ks_tls_key_is(const struct key *key, const char *name)
{
	return !strcmp(key->type->name, "psk") && !strcmp(key->description, name) &&
	       !key_validate(key);
}

/* Return the serial numbers of all keys, to be freed; or NULL. Store their number in @count. */
static key_serial_t *ks_tls_keys(size_t *count)
{
	key_serial_t *all;
	long bytes;

	down_read(&ks_tls_keyring->sem);
	bytes = key_type_keyring.read(ks_tls_keyring, NULL, 0);
	*count = max(bytes, 0L) / sizeof(*all);
	all = kvcalloc(max_t(size_t, *count, 1), sizeof(*all), GFP_NOIO);
	if (all)
		key_type_keyring.read(ks_tls_keyring, (char *)all, *count * sizeof(*all));
	up_read(&ks_tls_keyring->sem);
	return all;
}

/* Return the key with this description; 0: there is none; -ENOMEM. */
static key_serial_t ks_tls_key_find(const char *name)
{
	key_serial_t *all, found = 0;
	size_t count, i;
	struct key *key;

	all = ks_tls_keys(&count);
	if (!all)
		return -ENOMEM;
	for (i = 0; !found && i < count; i++) {
		key = key_lookup(all[i]);
		if (IS_ERR(key))
			continue;
		if (ks_tls_key_is(key, name))
			found = all[i];
		key_put(key);
	}
	kvfree(all);
	return found;
}

/*
 * Write the description of the key for a call of @tl's pair of machines. It has a direction:
 * otherwise this machine would accept its own call if somebody on the path sent it back.
 */
static int ks_tls_key_name(const struct ks_tls_link *tl, char *name)
{
	const union kfi_inaddr *peer = (void *)tl->kl.link.name;
	union kfi_inaddr self = {};
	int ret = kernel_getsockname(tl->kl.sock, &self.sa);

	if (ret < 0)
		return ret;
	snprintf(name, KS_TLS_NAME, "kfi/%pISc/%pISc/", tl->dialed ? &self.sa : &peer->sa,
		 tl->dialed ? &peer->sa : &self.sa);
	return 0;
}

/* Was the key of this pair of machines used, in this direction? */
static bool ks_tls_key_used(const struct ks_tls_link *tl)
{
	char name[KS_TLS_NAME];
	struct key *key;
	bool used;

	if (tl->dialed && tl->peerid != tl->offered)
		return false;
	key = key_lookup(tl->peerid);
	if (IS_ERR(key))
		return false;
	used = !ks_tls_key_name(tl, name) && ks_tls_key_is(key, name);
	key_put(key);
	return used;
}

/* ---- certificates ---- */

/*
 * Return a name for a handshake in which tlshd compares none. Without a name it would ask the name
 * service for that of the peer. It describes the key with the certificate of a caller by the name,
 * and a key replaces one of the same description: so handshakes at the same time have different
 * names. A name outlives the handshake, see struct ks_tls_hold.
 */
static const char *ks_tls_label(struct ks_tls_link *tl)
{
	static atomic_t next;

	/* not another one for each attempt: many that wait would use up all names */
	if (!tl->label && !(ks_tls_x509 && tl->dialed))
		tl->label = ks_tls_labels[(unsigned int)atomic_inc_return(&next) % KS_TLS_LABELS];
	return tl->label;
}

/*
 * Is this part of a subject, as X.690 encodes it, a common name with the value @name? Then it is a
 * set of one attribute, whose type is 2.5.4.3, and whose value is a UTF8String or a
 * PrintableString.
 */
static bool ks_tls_rdn_is(const u8 *rdn, size_t rdn_len, const char *name)
{
	size_t len = strlen(name);
	const u8 head[] = { 0x31, len + 9, 0x30, len + 7, 0x06, 3, 0x55, 0x04, 0x03 };
	const u8 *value = rdn + sizeof(head);

	return rdn_len == sizeof(head) + 2 + len && !memcmp(rdn, head, sizeof(head)) &&
	       (value[0] == 0x0c || value[0] == 0x13) && value[1] == len &&
	       !memcmp(value + 2, name, len);
}

/* Has the subject this common name? Parts behind one of 128 bytes or more are not read. */
static bool ks_tls_subject_has(const struct asymmetric_key_id *subject, const char *name)
{
	const u8 *at = subject->data, *end = at + subject->len;
	size_t len;

	for (; end - at >= 2 && at[0] == 0x31 && at[1] < 0x80; at += len) {
		len = 2 + at[1];
		if (len > end - at)
			return false;
		if (ks_tls_rdn_is(at, len, name))
			return true;
	}
	return false;
}

/*
 * Return why the caller has shown no certificate for its address, or NULL if it has. tlshd has
 * verified the certificate, but not for whom it is. Some versions of tlshd make no key of it: they
 * report the number -1, or none.
 */
static const char *ks_tls_caller_stranger(const struct ks_tls_link *tl)
{
	const union kfi_inaddr *peer = (void *)tl->kl.link.name;
	const struct asymmetric_key_ids *ids;
	char name[INET6_ADDRSTRLEN];
	bool used = false;
	struct key *key;

	if (tl->peerid == TLS_NO_PEERID)
		return "the caller has no certificate, or tlshd does not show it";
	key = key_lookup(tl->peerid);
	if (IS_ERR(key))
		return "tlshd does not show the certificate of the caller";
	if (!strcmp(key->type->name, "asymmetric") && !key_validate(key)) {
		snprintf(name, sizeof(name), "%pISc", &peer->sa);
		ids = asymmetric_key_ids(key);
		used = ids && ids->id[2] && ks_tls_subject_has(ids->id[2], name);
	}
	key_put(key);
	return used ? NULL : "the certificate is that of another machine";
}

/* Return why the peer is not the one with this address, or NULL if it is. */
static const char *ks_tls_stranger(const struct ks_tls_link *tl)
{
	if (!ks_tls_x509)
		return ks_tls_key_used(tl) ? NULL : "the key is that of other machines";
	if (tl->dialed)
		return NULL;	/* tlshd has compared the certificate with &ks_tls_hold.name */
	return ks_tls_caller_stranger(tl);
}

/* ---- what tlshd may use ---- */

/**
 * struct ks_tls_hold - what tlshd may use of a handshake
 * @slot: called: entry in the list of handshakes of callers, under ks_tls_slots_lock
 * @origin: origin of the peer
 * @net: network namespace, which @file holds. Only compared
 * @privileged: the port of the peer is a reserved one
 * @file: after a cancel the socket's file, else NULL; under ks_tls_slots_lock
 * @reap: work item that frees the hold after a cancel
 * @name: address of the peer, which its certificate must have if this side has called
 *
 * A request has pointers to the socket and to a name, and a cancel does not wait for a call of
 * tlshd that is taking the request. That call reads the name, which may be a label of this module;
 * and some kernels take the socket's file only at its end. Nothing shows that the call is over. So
 * after a cancel file and module stay for KS_TLS_HOLD, in which the call ends unless it waits for
 * memory for so long, and then until nobody else has the socket.
 */
struct ks_tls_hold {
	struct list_head	slot;
	union kfi_inaddr	origin;
	const struct net	*net;
	bool			privileged;
	struct file		*file;
	struct delayed_work	reap;
	char			name[INET6_ADDRSTRLEN];
};

static DEFINE_SPINLOCK(ks_tls_slots_lock);
static LIST_HEAD(ks_tls_slots);

static void ks_tls_hold_free(struct ks_tls_hold *hold)
{
	spin_lock(&ks_tls_slots_lock);
	list_del(&hold->slot);
	spin_unlock(&ks_tls_slots_lock);
	kfree(hold);
}

static void ks_tls_hold_reap(struct work_struct *work)
{
	struct ks_tls_hold *hold = container_of(to_delayed_work(work), struct ks_tls_hold, reap);

	if (file_count(hold->file) > 1) {
		queue_delayed_work(ks_cm_wq, &hold->reap, HZ / 10);
		return;
	}
	fput(hold->file);
	ks_tls_hold_free(hold);
	module_put(THIS_MODULE);	/* the end of the module waits for this work item */
}

/*
 * Each handshake occupies a process of tlshd, so an origin has KS_TLS_ORIGIN of them at a time.
 * Otherwise callers that do not finish their handshakes would delay all others. A handshake that
 * was canceled occupies a socket for some time, so an origin has KS_TLS_CANCELED of those.
 * Reserved ports have slots of their own, so that a process does not take those of its machine's
 * kernel; and so has each namespace, because the same address may be another machine in it, and
 * its tlshd is another one.
 */
static bool ks_tls_slot_take(struct ks_tls_hold *hold)
{
	unsigned int now = 0, canceled = 0;
	struct ks_tls_hold *other;
	bool room;

	spin_lock(&ks_tls_slots_lock);
	list_for_each_entry(other, &ks_tls_slots, slot) {
		if (hold->net != other->net || hold->privileged != other->privileged ||
		    kfi_inaddr_cmp(&hold->origin, &other->origin))
			continue;
		if (other->file)
			canceled++;
		else
			now++;
	}
	room = now < KS_TLS_ORIGIN && canceled < KS_TLS_CANCELED;
	if (room)
		list_add(&hold->slot, &ks_tls_slots);
	spin_unlock(&ks_tls_slots_lock);
	return room;
}

/* Allocate the hold of a handshake that begins. Return false if the handshake has to wait. */
static bool ks_tls_hold_new(struct ks_tls_link *tl)
{
	const union kfi_inaddr *peer = (void *)tl->kl.link.name;
	struct ks_tls_hold *hold = kzalloc(sizeof(*hold), GFP_NOIO);

	if (!hold)
		return false;
	INIT_LIST_HEAD(&hold->slot);
	INIT_DELAYED_WORK(&hold->reap, ks_tls_hold_reap);
	kfi_inaddr_name_origin(peer, &hold->origin);
	hold->net = sock_net(tl->kl.sk);
	hold->privileged = tl->kl.link.privileged;
	snprintf(hold->name, sizeof(hold->name), "%pISc", &peer->sa);
	if (!tl->dialed && !ks_tls_slot_take(hold)) {
		kfree(hold);
		return false;
	}
	tl->hold = hold;
	return true;
}

/* There is no request, or it was answered. */
static void ks_tls_hold_drop(struct ks_tls_link *tl)
{
	ks_tls_hold_free(tl->hold);
	tl->hold = NULL;
}

/* Called before the socket is released, when the handshake was answered or canceled. */
void ks_tls_hold_end(struct ks_tls_link *tl)
{
	struct ks_tls_hold *hold = tl->hold;

	if (!hold)
		return;
	/* In a namespace that ends there is no tlshd. */
	if (tl->answered || !ks_sock_hold_net(tl->kl.sk)) {
		ks_tls_hold_drop(tl);
		return;
	}
	tl->hold = NULL;
	__module_get(THIS_MODULE);	/* a tlshd that hangs keeps the module, too */
	spin_lock(&ks_tls_slots_lock);
	hold->file = get_file(tl->kl.sock->file);
	spin_unlock(&ks_tls_slots_lock);
	queue_delayed_work(ks_cm_wq, &hold->reap, KS_TLS_HOLD);
}

/* ---- the steps ---- */

static void ks_tls_fail(struct ks_tls_link *tl, int err, const char *why)
{
	struct kfi_link *link = &tl->kl.link;
	char name[KFI_ADDR_MAX];

	tl->state = KS_TLS_OVER;
	kfi_inaddr_str(link->name, sizeof(union kfi_inaddr), name, sizeof(name));
	net_warn_ratelimited("kfi_sockets: no TLS %s %s: %s (%d)\n", tl->dialed ? "to" : "from",
			     name, why, err);
	kfi_link_fail(link, err);
}

static void ks_tls_again(struct ks_tls_link *tl, unsigned long delay)
{
	queue_delayed_work(ks_cm_wq, &tl->shake, delay);
}

static unsigned long ks_tls_left(const struct ks_tls_link *tl)
{
	return time_before(jiffies, tl->deadline) ? tl->deadline - jiffies : 0;
}

/*
 * tlshd has finished, or its namespace ends. Called once for each request that was submitted and
 * was not canceled.
 */
static void ks_tls_done(void *data, int status, key_serial_t peerid)
{
	struct ks_tls_link *tl = data;

	tl->status = status;
	tl->peerid = peerid;
	smp_store_release(&tl->answered, true);		/* pairs with ks_tls_shake() */
	mod_delayed_work(ks_cm_wq, &tl->shake, 0);
	complete(&tl->done);
}

static int ks_tls_submit_x509(struct ks_tls_link *tl, struct tls_handshake_args *args)
{
	args->ta_my_cert = TLS_NO_CERT;		/* those of tlshd's configuration */
	args->ta_my_privkey = TLS_NO_PRIVKEY;
	if (!tl->dialed)
		return tls_server_hello_x509(args, GFP_NOIO);
	args->ta_peername = tl->hold->name;
	return tls_client_hello_x509(args, GFP_NOIO);
}

static int ks_tls_submit_psk(struct ks_tls_link *tl, struct tls_handshake_args *args)
{
	char name[KS_TLS_NAME];
	int ret;

	if (!tl->dialed)
		return tls_server_hello_psk(args, GFP_NOIO);
	ret = ks_tls_key_name(tl, name);
	if (ret)
		return ret;
	tl->offered = ks_tls_key_find(name);
	if (tl->offered <= 0)
		return tl->offered ?: -ENOKEY;
	args->ta_my_peerids[0] = tl->offered;
	args->ta_num_peerids = 1;
	return tls_client_hello_psk(args, GFP_NOIO);
}

static int ks_tls_submit(struct ks_tls_link *tl)
{
	struct tls_handshake_args args = {
		.ta_sock = tl->kl.sock,
		.ta_done = ks_tls_done,
		.ta_data = tl,
		.ta_peername = ks_tls_label(tl),
		.ta_keyring = key_serial(ks_tls_keyring),
		.ta_timeout_ms = jiffies_to_msecs(ks_tls_left(tl)) ?: 1,
	};
	void (*destruct)(struct sock *sk) = tl->kl.sk->sk_destruct;
	int ret = ks_tls_x509 ? ks_tls_submit_x509(tl, &args) : ks_tls_submit_psk(tl, &args);

	/*
	 * Some kernels leave the destructor of a handshake in a socket whose request they refuse.
	 * It would not find the request, and not call TCP's; and the next attempt would save it as
	 * TCP's.
	 */
	if (ret)
		tl->kl.sk->sk_destruct = destruct;
	return ret;
}

/* TCP is established, and a caller has sent something: begin the handshake, unless it has to wait. */
static void ks_tls_begin(struct ks_tls_link *tl)
{
	int ret;

	if (!ks_tls_hold_new(tl)) {
		ks_tls_again(tl, KS_TLS_AGAIN);
		return;
	}
	ks_callbacks_end(&tl->kl);	/* tlshd needs those of TCP */
	tl->state = KS_TLS_SHAKE;
	ret = ks_tls_submit(tl);
	if (ret)
		ks_tls_hold_drop(tl);
	switch (ret) {
	case 0:
		ks_tls_again(tl, ks_tls_left(tl));
		break;
	case -EAGAIN:		/* too many requests wait for tlshd */
	case -ENOMEM:
		tl->state = KS_TLS_WAIT;
		ks_tls_again(tl, KS_TLS_AGAIN);
		break;
	case -ENOKEY:
		ks_tls_fail(tl, ret, "there is no key for this pair of machines");
		break;
	case -ESRCH:
		ks_tls_fail(tl, -EACCES, "tlshd does not run in this network namespace");
		break;
	default:
		ks_tls_fail(tl, ret, "the handshake can't begin");
	}
}

static void ks_tls_waiting(struct ks_tls_link *tl)
{
	struct sock *sk = tl->kl.sk;
	int state = READ_ONCE(sk->sk_state), err = READ_ONCE(sk->sk_err);
	bool ready = state == TCP_ESTABLISHED &&
		     (tl->dialed || !skb_queue_empty_lockless(&sk->sk_receive_queue));

	if (state != TCP_ESTABLISHED && state != TCP_SYN_SENT && state != TCP_SYN_RECV) {
		tl->state = KS_TLS_OVER;
		kfi_link_fail(&tl->kl.link, err ? -err : tl->dialed ? -ECONNREFUSED : -ECONNRESET);
	} else if (!ks_tls_left(tl)) {
		ks_tls_fail(tl, -ETIMEDOUT, "the peer is silent");
	} else if (ready) {
		ks_tls_begin(tl);
	} else {
		ks_tls_again(tl, ks_tls_left(tl));
	}
}

/*
 * A peer has called. This happens here, and not where the call is accepted, because detach() waits
 * for this work item: from the callbacks on the peer can end the connection, and after
 * kfi_link_securing() other callers can.
 */
static void ks_tls_called_first(struct ks_tls_link *tl)
{
	ks_link_attach(&tl->kl, &ks_tls_wait_callbacks);
	kfi_link_securing(&tl->kl.link);
	tl->state = KS_TLS_WAIT;
	ks_tls_waiting(tl);
}

/* Does the socket encrypt what it sends, and decrypt what it receives, by TLS 1.3? */
static bool ks_tls_secure(const struct sock *sk)
{
	const struct tcp_ulp_ops *ulp = inet_csk(sk)->icsk_ulp_ops;
	const struct tls_context *ctx;

	if (!ulp || strcmp(ulp->name, "tls"))
		return false;
	ctx = tls_get_ctx(sk);
	return ctx && ctx->tx_conf != TLS_BASE && ctx->rx_conf != TLS_BASE &&
	       ctx->prot_info.version == TLS_1_3_VERSION;
}

static void ks_tls_answered(struct ks_tls_link *tl)
{
	const char *why;
	int ret;

	ks_tls_hold_drop(tl);
	if (tl->status)
		why = "the handshake has failed, see the log of tlshd";
	else if (!ks_tls_secure(tl->kl.sk))
		why = "tlshd has set no keys of TLS 1.3";
	else
		why = ks_tls_stranger(tl);
	if (why) {
		ks_tls_fail(tl, -EACCES, why);
		return;
	}
	ret = ks_tls_up(tl);
	if (ret)
		ks_tls_fail(tl, ret, "no memory");
}

static void ks_tls_shake(struct ks_tls_link *tl)
{
	if (smp_load_acquire(&tl->answered)) {		/* pairs with ks_tls_done() */
		ks_tls_answered(tl);
	} else if (ks_tls_left(tl)) {
		ks_tls_again(tl, ks_tls_left(tl));
	} else if (tls_handshake_cancel(tl->kl.sk)) {
		ks_tls_fail(tl, -ETIMEDOUT, "the handshake takes too long");
	} else {
		ks_tls_again(tl, 1);	/* ks_tls_done() is running, or has run */
	}
}

void ks_tls_shake_work(struct work_struct *work)
{
	struct ks_tls_link *tl = container_of(to_delayed_work(work), struct ks_tls_link, shake);
	unsigned int noio = memalloc_noio_save();	/* writeback may wait for it */
	int state = smp_load_acquire(&tl->state);	/* pairs with ks_tls_start() */

	if (READ_ONCE(tl->closing))
		;	/* detach() waits for this work item */
	else if (state == KS_TLS_CALLED)
		ks_tls_called_first(tl);
	else if (state == KS_TLS_WAIT)
		ks_tls_waiting(tl);
	else if (state == KS_TLS_SHAKE)
		ks_tls_shake(tl);
	memalloc_noio_restore(noio);
}

/*
 * Let @shake begin, with KS_TLS_CALLED or KS_TLS_WAIT. With KS_TLS_CALLED nothing else queues it
 * yet, so the link may be gone as soon as this has queued it.
 */
void ks_tls_start(struct ks_tls_link *tl, int state, unsigned int timeout_ms)
{
	tl->deadline = jiffies + msecs_to_jiffies(timeout_ms);
	smp_store_release(&tl->state, state);	/* callbacks may have queued @shake already */
	mod_delayed_work(ks_cm_wq, &tl->shake, 0);
}

/*
 * End the handshake and the callbacks of the socket, for detach(). On return @shake is not queued
 * any more, and no call of tlshd uses the link.
 */
void ks_tls_shake_end(struct ks_tls_link *tl)
{
	cancel_delayed_work_sync(&tl->shake);
	/* Not before, because @shake attaches callbacks. Until here they may have queued it again. */
	ks_callbacks_end(&tl->kl);
	/* A request that can't be canceled has been answered, or is being answered. */
	if (tl->state == KS_TLS_SHAKE && !tls_handshake_cancel(tl->kl.sk))
		wait_for_completion(&tl->done);
	cancel_delayed_work_sync(&tl->shake);		/* ks_tls_done() has queued it */
}

/* ---- the module ---- */

/*
 * The keys are in the keyring of NVMe, because the acceptor's tlshd searches only keyrings that it
 * has been told when it was started, and that one by default, and only for keys of NVMe's type.
 * The module is used only with such keys, so kfi_sockets does not depend on it.
 */
static int __init ks_tls_keyring_get(void)
{
	key_serial_t (*id)(void);

	request_module("nvme-keyring");
	id = symbol_get(nvme_keyring_id);
	if (!id) {
		pr_err("kfi_sockets: tls=%s is refused: the module nvme-keyring is missing\n", ks_tls);
		return -EOPNOTSUPP;
	}
	ks_tls_keyring = key_lookup(id());
	if (IS_ERR(ks_tls_keyring)) {
		symbol_put(nvme_keyring_id);
		return PTR_ERR(ks_tls_keyring);
	}
	return 0;
}

int __init ks_tls_init(struct kfi_proto *proto)
{
	unsigned int i;
	int ret;

	for (i = 0; i < KS_TLS_LABELS; i++)
		snprintf(ks_tls_labels[i], sizeof(ks_tls_labels[i]), "kfi %u", i);
	ks_tls_x509 = !strcmp(ks_tls, "x509");
	ret = ks_tls_x509 ? 0 : ks_tls_keyring_get();
	if (ret)
		return ret;
	ks_tls_ops = *proto->ops;
	ks_tls_ops_init(&ks_tls_ops);
	proto->ops = &ks_tls_ops;
	proto->protection = "tls1.3";
	proto->identity = ks_tls;
	proto->buffers += KS_TLS_OUT + KS_TLS_IN;
	return 0;
}

void ks_tls_exit(void)
{
	if (ks_tls_x509)
		return;
	key_put(ks_tls_keyring);
	symbol_put(nvme_keyring_id);
}
