// SPDX-License-Identifier: GPL-2.0
/* The victim, its links, and the peers at their other ends, see hostile_peer.h. */
#include "hostile_peer.h"

struct ph_world ph;
struct kfi_proto ph_proto;

struct ph_link {
	struct kfi_link		link;
	struct ph_peer		*peer;
};

static struct ph_peer *to_peer(const struct kfi_link *link)
{
	return container_of(link, struct ph_link, link)->peer;
}

/* ---- the link. A name is the number of a node, and a port in the lower 16 bits ---- */

static int ph_name(const struct kfi_ep *ep, const void *addr, void *name)
{
	if (ph.naming)
		ph.naming();
	memcpy(name, addr, sizeof(u64));
	return 0;
}

static void ph_origin(const void *name, void *origin)
{
	*(u64 *)origin = *(const u64 *)name & ~0xffffULL;
}

static u16 ph_port(const struct kfi_proto_ep *pe)
{
	return PH_SELF;
}

static void ph_set_port(void *name, u16 port)
{
	*(u64 *)name = (*(u64 *)name & ~0xffffULL) | port;
}

static void ph_self(struct kfi_link *link, void *name)
{
	*(u64 *)name = to_peer(link)->self;
}

static size_t ph_wire_name(const void *name, u8 *bytes)
{
	memcpy(bytes, name, sizeof(u64));
	return sizeof(u64);
}

static int ph_open(struct kfi_link *link)
{
	return 0;
}

static struct ph_peer *ph_alloc(void)
{
	struct ph_peer *peer = kvzalloc(sizeof(*peer), GFP_KERNEL);

	if (!peer)
		return NULL;
	spin_lock_init(&peer->lock);
	peer->room = ph.room;
	peer->self = PH_SELF;
	peer->in = kvmalloc(ph.room, GFP_KERNEL);
	peer->out = kvmalloc(ph.room, GFP_KERNEL);
	if (!peer->in || !peer->out) {
		kvfree(peer->in);
		kvfree(peer->out);
		kvfree(peer);
		return NULL;
	}
	spin_lock_bh(&ph.lock);
	list_add(&peer->entry, &ph.peers);
	spin_unlock_bh(&ph.lock);
	return peer;
}

static int ph_dial(struct kfi_link *link)
{
	struct ph_peer *peer = ph.accepts ? ph_alloc() : ph.dialed;
	struct kfw_hello hello = ph_hello(1, KFW_ACCEPT);

	atomic_inc(&ph.dials);
	if (!peer)
		return -ECONNREFUSED;
	ph.dialed = NULL;
	if (ph.accepts) {
		memcpy(peer->in, &hello, sizeof(hello));
		peer->len = sizeof(hello);
	}
	container_of(link, struct ph_link, link)->peer = peer;
	peer->link = link;
	kfi_link_up(link);
	return 0;
}

static int ph_ended(const struct kfi_link *link)
{
	return READ_ONCE(to_peer(link)->ended);
}

static void ph_detach(struct kfi_link *link)
{
	struct ph_peer *peer = to_peer(link);

	if (!peer)
		return;
	spin_lock_bh(&peer->lock);
	peer->link = NULL;
	spin_unlock_bh(&peer->lock);
}

static void ph_close(struct kfi_link *link, bool abort)
{
	if (to_peer(link))
		WRITE_ONCE(to_peer(link)->closed, true);
}

static bool ph_released(struct kfi_link *link)
{
	return !READ_ONCE(ph.unreleased);
}

static int ph_probe(struct kfi_link *link)
{
	return ph_ended(link) ? -1 : ph.there;
}

static bool ph_trylock(struct kfi_link *link)
{
	return spin_trylock_bh(&to_peer(link)->lock);
}

static bool ph_lock(struct kfi_link *link)
{
	if (READ_ONCE(to_peer(link)->busy))
		return false;
	spin_lock_bh(&to_peer(link)->lock);
	return true;
}

static void ph_unlock(struct kfi_link *link)
{
	spin_unlock_bh(&to_peer(link)->lock);
}

static int ph_post(struct kfi_link *link, struct kfi_unit *unit)
{
	struct ph_peer *peer = to_peer(link);
	u32 n = min(unit->len - unit->done, peer->room - peer->out_len);

	if (peer->ended == -ECONNRESET)
		return -ECONNRESET;
	memcpy(peer->out + peer->out_len, unit->head + unit->done, n);
	unit->done += n;
	peer->out_len += n;
	if (unit->done == unit->len && unit->left) {
		n = min_t(u64, unit->left, peer->room - peer->out_len);
		kfi_copy_from(peer->out + peer->out_len, unit->payload, n);
		unit->left -= n;
		peer->out_len += n;
	}
	peer->full = unit->done < unit->len || unit->left;
	return peer->full ? -EAGAIN : 0;
}

static u64 ph_sent_to(const struct kfi_link *link)
{
	return link->posted;
}

static void ph_read(struct kfi_link *link)
{
	struct ph_peer *peer = to_peer(link);

	peer->off += kfi_link_rx_bytes(link, peer->in + peer->off, peer->len - peer->off);
}

static const struct kfi_link_ops ph_ops = {
	.link_size	= sizeof(struct ph_link),
	.name_len	= sizeof(u64),
	.len		= fake_name_len,
	.cmp		= fake_name_cmp,
	.hash		= fake_name_hash,
	.name		= ph_name,
	.address	= fake_name_address,
	.origin		= ph_origin,
	.port		= ph_port,
	.set_port	= ph_set_port,
	.self		= ph_self,
	.wire_name	= ph_wire_name,
	.open		= ph_open,
	.dial		= ph_dial,
	.ended		= ph_ended,
	.detach		= ph_detach,
	.close		= ph_close,
	.released	= ph_released,
	.probe		= ph_probe,
	.trylock	= ph_trylock,
	.lock		= ph_lock,
	.unlock		= ph_unlock,
	.post		= ph_post,
	.sent_to	= ph_sent_to,
	.read		= ph_read,
};

/* ---- the peer: bytes ---- */

struct ph_peer *ph_new(void)
{
	struct ph_peer *peer = ph_alloc();

	KUNIT_ASSERT_NOT_NULL(ph.test, peer);
	return peer;
}

bool ph_passed(unsigned long begin, unsigned int ms)
{
	return time_after(jiffies, begin + msecs_to_jiffies(ms));
}

bool ph_put(struct ph_peer *peer, const void *bytes, u32 len)
{
	unsigned long begin = jiffies;
	u32 n;

	for (;;) {
		spin_lock_bh(&peer->lock);
		memmove(peer->in, peer->in + peer->off, peer->len - peer->off);
		peer->len -= peer->off;
		peer->off = 0;
		n = min(len, ph.room - peer->len);
		memcpy(peer->in + peer->len, bytes, n);
		peer->len += n;
		bytes += n;
		len -= n;
		if (peer->link)
			kfi_link_rx(peer->link);
		spin_unlock_bh(&peer->lock);
		if (!len || READ_ONCE(peer->closed) || ph_passed(begin, PH_WAIT_MS))
			return !len;
		usleep_range(1000, 2000);
	}
}

int ph_get(struct ph_peer *peer, void *bytes, u32 len, unsigned int ms)
{
	unsigned long begin = jiffies;

	while (READ_ONCE(peer->out_len) < len) {
		if (READ_ONCE(peer->closed))
			return -ECONNRESET;
		if (ph_passed(begin, ms))
			return -EAGAIN;
		usleep_range(1000, 2000);
	}
	spin_lock_bh(&peer->lock);
	memcpy(bytes, peer->out, len);
	peer->out_len -= len;
	memmove(peer->out, peer->out + len, peer->out_len);
	if (peer->full && peer->link) {
		peer->full = false;
		kfi_link_room(peer->link);
	}
	spin_unlock_bh(&peer->lock);
	return 0;
}

bool ph_closes(struct ph_peer *peer, unsigned int ms)
{
	unsigned long begin = jiffies;

	while (!READ_ONCE(peer->closed) && !ph_passed(begin, ms))
		usleep_range(1000, 2000);
	return READ_ONCE(peer->closed);
}

void ph_cut(struct ph_peer *peer)
{
	spin_lock_bh(&peer->lock);
	WRITE_ONCE(peer->ended, -ECONNRESET);
	if (peer->link)
		kfi_link_down(peer->link);
	spin_unlock_bh(&peer->lock);
}

void ph_reset(struct ph_peer *peer)
{
	ph_cut(peer);
	KUNIT_EXPECT_TRUE(ph.test, ph_closes(peer, PH_WAIT_MS));
}

/* ---- the peer: hellos and frames ---- */

struct kfw_hello ph_hello(u16 port, u8 kind)
{
	return (struct kfw_hello) {
		.magic = cpu_to_le32(KFW_MAGIC), .version = KFW_VERSION,
		.len = cpu_to_le16(sizeof(struct kfw_hello)), .kind = kind, .ep_type = KFI_EP_RDM,
		.port = cpu_to_le16(port), .incarnation = cpu_to_le64(get_random_u64() | 1),
		.call_id = cpu_to_le64(get_random_u64() | 1),
		.allowance_msg = cpu_to_le32(PH_CREDIT), .allowance_tag = cpu_to_le32(PH_CREDIT),
		.requests = cpu_to_le32(64),
		.eager = cpu_to_le32(16384),
	};
}

struct ph_peer *ph_try(u64 node, bool listener)
{
	struct kfi_link *link = listener ? kfi_link_new(NULL, &ph.ppep) :
					   kfi_link_new(to_proto_ep(kfi_to_ep(ph.ep)), NULL);
	struct ph_peer *peer = link ? ph_alloc() : NULL;

	if (!peer)
		return NULL;
	container_of(link, struct ph_link, link)->peer = peer;
	link->privileged = true;
	*(u64 *)link->name = node << 16;
	peer->link = link;
	if (!kfi_link_called(link))
		return peer;
	peer->link = NULL;
	return NULL;
}

struct ph_peer *ph_arrive(u64 node, bool listener)
{
	struct ph_peer *peer = ph_try(node, listener);

	KUNIT_ASSERT_NOT_NULL(ph.test, peer);
	return peer;
}

struct ph_peer *ph_connect(u64 node)
{
	struct ph_peer *peer = ph_arrive(node, false);

	kfi_link_up(peer->link);
	return peer;
}

int ph_ask(struct ph_peer *peer, const struct kfw_hello *hello)
{
	int ret;

	ph_put(peer, hello, sizeof(*hello));
	ret = ph_get(peer, &peer->said, sizeof(peer->said), PH_WAIT_MS);
	if (ret)
		return -ret;
	return peer->said.kind == KFW_ACCEPT ? 0 : le32_to_cpu(peer->said.status);
}

struct ph_peer *ph_call(u64 node, u16 port)
{
	struct kfw_hello hello = ph_hello(port, KFW_HELLO);
	struct ph_peer *peer = ph_connect(node);

	KUNIT_ASSERT_EQ(ph.test, 0, ph_ask(peer, &hello));
	return peer;
}

struct ph_peer *ph_call_short(void)
{
	ph_proto.params.peer_timeout_ms = PH_SHORT_MS;
	return ph_call(2, 5);
}

struct kfw_hdr ph_rts(u64 tag, u32 id, u64 len)
{
	return (struct kfw_hdr) {
		.type = KFW_RTS, .flags = cpu_to_le16(KFW_F_TAGGED), .tag = cpu_to_le64(tag),
		.id = cpu_to_le32(id), .len = cpu_to_le64(len),
	};
}

struct kfw_hdr ph_msg(u64 tag)
{
	return (struct kfw_hdr) { .type = KFW_MSG, .flags = cpu_to_le16(KFW_F_TAGGED), .tag = cpu_to_le64(tag) };
}

struct kfw_hdr ph_data(const struct kfw_hdr *cts)
{
	return (struct kfw_hdr) {
		.type = KFW_DATA, .id = cts->id, .gen = cts->gen, .slot = cts->slot,
	};
}

bool ph_put_hdr(struct ph_peer *peer, struct kfw_hdr *hdr)
{
	hdr->credit_msg = cpu_to_le32(PH_CREDIT);
	hdr->credit_tag = cpu_to_le32(PH_CREDIT);
	return ph_put(peer, hdr, sizeof(*hdr));
}

bool ph_begin(struct ph_peer *peer, struct kfw_hdr *hdr, const struct kfw_rma *seg, u64 len)
{
	hdr->payload = cpu_to_le64(len);
	hdr->len = cpu_to_le64(len);
	hdr->rma_count = cpu_to_le16(!!seg);
	return ph_put_hdr(peer, hdr) && (!seg || ph_put(peer, seg, sizeof(*seg)));
}

bool ph_send(struct ph_peer *peer, struct kfw_hdr *hdr, u32 payload)
{
	static u8 bytes[PH_BUF];

	memset(bytes, 0x5a, payload);
	if (hdr->type == KFW_MSG || hdr->type == KFW_DATA) {
		hdr->payload = cpu_to_le64(payload);
		hdr->len = cpu_to_le64(payload);
	}
	return ph_put_hdr(peer, hdr) && ph_put(peer, bytes, payload);
}

bool ph_pad(struct ph_peer *peer, u32 len)
{
	u32 n;

	for (; len; len -= n) {
		n = min(len, PH_BUF);
		if (!ph_put(peer, ph.buf, n))
			return false;
	}
	return true;
}

bool ph_part(struct ph_peer *peer, struct kfw_hdr *hdr, u32 len)
{
	return ph_begin(peer, hdr, NULL, len) && ph_pad(peer, len);
}

int ph_skip(struct ph_peer *peer, u64 left)
{
	u8 some[512];
	u32 n;
	int ret = 0;

	for (; left && !ret; left -= n) {
		n = min_t(u64, left, sizeof(some));
		ret = ph_get(peer, some, n, PH_WAIT_MS);
	}
	return ret;
}

int ph_get_hdr(struct ph_peer *peer, struct kfw_hdr *hdr, unsigned int ms)
{
	struct kfw_plain plain;
	int ret = ph_get(peer, &plain, sizeof(plain), ms);

	if (ret)
		return ret;
	if (plain.type == KFW_PLAIN) {
		*hdr = (struct kfw_hdr) {
			.type = KFW_MSG, .payload = cpu_to_le64(le32_to_cpu(plain.payload)),
			.len = cpu_to_le64(le32_to_cpu(plain.payload)),
			.credit_msg = plain.credit_msg, .credit_tag = plain.credit_tag,
		};
		return 0;
	}
	memcpy(hdr, &plain, sizeof(plain));
	return ph_get(peer, (void *)hdr + sizeof(plain), sizeof(*hdr) - sizeof(plain), ms);
}

int ph_recv(struct ph_peer *peer, u8 type, struct kfw_hdr *hdr, unsigned int ms)
{
	int ret;

	do {
		ret = ph_get_hdr(peer, hdr, ms);
		if (!ret)
			ret = ph_skip(peer, le64_to_cpu(hdr->payload) +
				      le16_to_cpu(hdr->rma_count) * sizeof(struct kfw_rma));
	} while (!ret && hdr->type != type);
	return ret;
}

/* ---- the victim ---- */

void ph_receive(u64 tag, void *context)
{
	KUNIT_ASSERT_EQ(ph.test, (ssize_t)0,
			kfi_trecv(ph.ep, ph.buf, PH_BUF, NULL, KFI_ADDR_UNSPEC, tag, 0, context));
}

void ph_long_receive(u64 tag, void *context)
{
	struct kvec vec[] = {
		{ ph.buf, PH_BUF }, { ph.buf, PH_BUF }, { ph.buf, PH_BUF }, { ph.buf, PH_BUF },
		{ ph.buf, PH_BUF },
	};

	struct kfi_msg_tagged msg = {
		.type = KFI_KVEC, .msg_iov = vec, .iov_count = ARRAY_SIZE(vec),
		.addr = KFI_ADDR_UNSPEC, .tag = tag, .context = context,
	};

	KUNIT_ASSERT_EQ(ph.test, (ssize_t)0, kfi_trecvmsg(ph.ep, &msg, KFI_COMPLETION));
}

kfi_addr_t ph_addr(u64 node, u16 port)
{
	return kfi_world_peer(ph.w, node << 16 | port);
}

void ph_message(u64 node, u16 port, void *context)
{
	struct kvec vec = { ph.buf, 64 };
	struct kfi_msg msg = {
		.type = KFI_KVEC, .msg_iov = &vec, .iov_count = 1, .addr = ph_addr(node, port),
		.context = context,
	};

	KUNIT_ASSERT_EQ(ph.test, (ssize_t)0,
			kfi_sendmsg(ph.ep, &msg, KFI_COMPLETION | KFI_TRANSMIT_COMPLETE));
}

struct kfw_hdr ph_ack_due(struct ph_peer *peer)
{
	struct kfw_hdr hdr = {};

	KUNIT_EXPECT_EQ(ph.test, 0, ph_recv(peer, KFW_MSG, &hdr, PH_WAIT_MS));
	KUNIT_EXPECT_TRUE(ph.test, le16_to_cpu(hdr.flags) & KFW_F_ACK);
	return (struct kfw_hdr) { .type = KFW_ACK, .id = hdr.id, .gen = hdr.gen };
}

int ph_done(unsigned int ms, void **context)
{
	struct kfi_cq_err_entry err = {};
	struct kfi_cq_tagged_entry e = {};
	ssize_t ret = kfi_cq_sread(ph.cq, &e, 1, NULL, ms);

	*context = e.op_context;
	if (ret != -KFI_EAVAIL)
		return ret == 1 ? 0 : -EAGAIN;
	if (kfi_cq_readerr(ph.cq, &err, 0) != 1)
		return -EAGAIN;		/* another thread has read it */
	*context = err.op_context;
	return -err.err;
}

void ph_still_posted(u64 tag, void *context)
{
	struct kfw_hdr msg = ph_msg(tag);
	struct ph_peer *peer = ph_call(1000, ++ph.served);

	KUNIT_EXPECT_TRUE(ph.test, ph_send(peer, &msg, 64));
	PH_DONE(0, context);
	ph_reset(peer);
}

void ph_region(void)
{
	memset(ph.buf, 0xa5, PH_BUF);
	KUNIT_ASSERT_EQ(ph.test, 0, kfi_mr_reg(&ph.w->domain.fid, ph.buf, PH_BUF,
					       KFI_REMOTE_READ | KFI_REMOTE_WRITE, 0, KEY, 0,
					       &ph.mr, NULL));
}

void ph_region_ends(void)
{
	KUNIT_EXPECT_EQ(ph.test, 0, kfi_close(&ph.mr->fid));
	ph.mr = NULL;
}

u64 ph_dropped(void)
{
	const struct kfi_ep *ep = kfi_to_ep(ph.ep);
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += per_cpu_ptr(ep->stats, cpu)->dropped;
	return sum;
}

static int ph_ep_open(struct kfi_ep *ep)
{
	ep->tx_levels = KFI_PROTO_LEVELS;
	return kfi_proto_ep_open(ep, &ph_proto);
}

static void ph_unlisten(struct kfi_proto_ep *pe)
{
}

static void ph_ep_stop(struct kfi_ep *ep, int err)
{
	kfi_proto_ep_stop(ep, err, ph_unlisten);
}

int ph_init(struct kunit *test)
{
	struct kfi_prov_ops *ops;
	struct kfi_info *info;

	memset(&ph, 0, sizeof(ph));
	memset(&ph_proto, 0, sizeof(ph_proto));
	ph.test = test;
	ph.there = 1;
	ph.room = PH_ROOM;
	spin_lock_init(&ph.lock);
	INIT_LIST_HEAD(&ph.peers);
	ph_proto.name = "hostile";
	ph_proto.ops = &ph_ops;
	ph_proto.addr_str = fake_name_str;
	ph_proto.params = (struct kfi_proto_params) {
		.eager_size = 16384, .unexpected = 1024, .unexpected_peer = 8192,
		.unexpected_origin = 32768, .unexpected_total = 131072, .requests = 64,
		.connect_timeout_ms = 60000, .hello_timeout_ms = 60000, .peer_timeout_ms = 10000,
		.max_peers = PH_PEERS, .origin_peers = 24, .origin_backlog = 8, .backlog = 32,
	};
	if (kfi_proto_init(&ph_proto))
		return -ENOMEM;
	ph.w = fake_proto_open(test);
	ops = &ph.w->ops;
	ops->ep_size = sizeof(struct kfi_proto_ep);
	ops->ep_open = ph_ep_open;
	ops->ep_stop = ph_ep_stop;
	info = fake_info(ph.w, KFI_EP_RDM);
	info->caps |= KFI_REMOTE_READ | KFI_REMOTE_WRITE;
	info->ep_attr->max_msg_size = KFW_PAYLOAD_MAX;
	info->tx_attr->size = 64;
	info->tx_attr->iov_limit = KFI_PROTO_IOV_MAX;
	info->rx_attr->iov_limit = KFI_PROTO_IOV_MAX;
	info->rx_attr->size = 256;
	ph.cq = fake_cq(ph.w, 4096, 0, NULL, NULL);
	ph.ep = fake_rdm(ph.w, info, ph.cq);
	kfi_freeinfo(info);
	ph.buf = kzalloc(PH_BUF, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, ph.buf);
	ph.info.ep_attr = &ph.ep_attr;
	ph.ppep.pep.fabric = &ph.w->fabric;
	ph.ppep.pep.info = &ph.info;
	mutex_init(&ph.ppep.pep.lock);
	mutex_init(&ph.ppep.pep.req_lock);
	INIT_LIST_HEAD(&ph.ppep.pep.connreqs);
	kfi_proto_pep_open(&ph.ppep.pep, &ph_proto);
	return 0;
}

void ph_exit(struct kunit *test)
{
	struct ph_peer *peer, *next;
	void *context;
	int x;

	ph.accepts = false;
	ph.room = PH_ROOM;
	ph.naming = NULL;
	ph_proto.params.max_peers = PH_PEERS;
	kfi_proto_pep_close(&ph.ppep.pep);
	while (ph_done(0, &context) != -EAGAIN)
		;
	ph_receive(0x600d, &x);
	ph_still_posted(0x600d, &x);
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&ph.ep->fid));
	if (ph.mr)
		ph_region_ends();
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&ph.cq->fid));
	list_for_each_entry_safe(peer, next, &ph.peers, entry) {
		kvfree(peer->in);
		kvfree(peer->out);
		kvfree(peer);
	}
	kfree(ph.buf);
	fake_close(ph.w);
	kfi_proto_exit(&ph_proto);
}
