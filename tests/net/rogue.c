// SPDX-License-Identifier: GPL-2.0
/*
 * rogue.c - kfi_net_rogue.ko, a peer of a network device (ulps/net) whose calls, answers and frames
 * make no sense. Its init runs the cases, each a line "kfabric-rogue: ok NAME" or "not ok NAME",
 * and fails.
 */
#include <linux/delay.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/mm.h>
#include <linux/nsproxy.h>
#include <linux/prandom.h>
#include <linux/sched.h>
#include <kfi_conn.h>
#include "hello.h"

static char *victim;
module_param(victim, charp, 0);
MODULE_PARM_DESC(victim, "address of the node to call");

static char *own;
module_param(own, charp, 0);
MODULE_PARM_DESC(own, "address of this node");

static char *cases = "all";
module_param(cases, charp, 0);
MODULE_PARM_DESC(cases,
		 "all: frames, calls and answers that make no sense; "
		 "sweep: frames of all kinds and lengths; plain: a call from any port");

static unsigned int seed;
module_param(seed, uint, 0);
MODULE_PARM_DESC(seed, "of what is chosen at random");

enum {
	ROGUE_LEN	= 300 << 10,
	ROGUE_SHORT	= 160,		/* each kind of frame has each length below this */
	ROGUE_EACH	= 2200,		/* and some kind has each length below this */
	ROGUE_STEP	= 2000,		/* average of the steps from there to ROGUE_LEN, halved */
};

#define SERVICE	"342"

static struct kfi_conn conn;
static struct kfi_dom *dom;
static struct rnd_state rnd;
static struct kfi_info *info;
static u8 *frame;	/* ROGUE_LEN bytes */
static u8 victim_mac[ETH_ALEN], broadcast[ETH_ALEN] = { 255, 255, 255, 255, 255, 255 };
static int sent_err;
static DECLARE_COMPLETION(sent);

static void rogue_sent(struct kfid_cq *cq, struct kfi_cqe *cqe, const struct kfi_cq_err_entry *wc)
{
	sent_err = -wc->err;
	complete(&sent);
}

static const struct kfi_conn_ops rogue_ops = {};
static struct kfi_cqe rogue_cqe = { .done = rogue_sent };

static void said(const char *name, bool ok, int ret)
{
	pr_info("kfabric-rogue: %s %s (%d)\n", ok ? "ok" : "not ok", name, ret);
}

/* ---- calls ---- */

/* An address below all that are chosen at random: the victim accepts the call. */
static const struct knet_hello good = {
	.magic = cpu_to_le32(KNET_MAGIC), .version = KNET_VERSION,
	.mac = { 0, 0, 0, 0, 0, 2 },
};

/* The victim has one connection at a time, and answers when that has ended. */
static int call(const struct knet_hello *hello, size_t len, struct knet_hello *answer)
{
	const struct kfi_conn_attr attr = {
		.depth = 16, .where = KFI_CONN_SOFTIRQ, .need_privilege = strcmp(cases, "plain"),
	};
	size_t answer_len = sizeof(*answer);
	int ret = -EIO, i;

	for (i = 0; i < 100; i++) {
		memset(answer, 0, sizeof(*answer));
		ret = kfi_conn_open(&conn, dom, info, &attr) ?:
		      kfi_conn_connect(&conn, info->dest_addr, hello, len, answer, &answer_len,
				       10000);
		if (ret != -ECONNREFUSED || answer->status != KNET_BUSY)
			break;
		msleep(50);
	}
	return ret;
}

static void refused(const char *name, const struct knet_hello *hello, size_t len, int status)
{
	struct knet_hello answer;
	int ret = call(hello, len, &answer);

	said(name, ret == -ECONNREFUSED && answer.status == status, ret);
	if (!ret)
		kfi_conn_stop(&conn);
}

static void calls(const u8 *mac)
{
	struct knet_hello hello = good;
	size_t len;

	for (len = 0; len < sizeof(good); len += 1 + len % 3)
		refused("a part of a hello", &good, len, 0);
	hello.version = KNET_VERSION + 1;
	refused("another version", &hello, sizeof(hello), KNET_VERSIONS);
	hello = good;
	hello.magic = 0;
	refused("another protocol", &hello, sizeof(hello), 0);
	hello = good;
	hello.mac[0] = 1;
	refused("a multicast address", &hello, sizeof(hello), 0);
	memcpy(hello.mac, mac, ETH_ALEN);
	refused("the address of the victim", &hello, sizeof(hello), KNET_SAME);
	hello.mac[0] = 0xfe;
	hello.mac[1] = 0xff;
	refused("a high address", &hello, sizeof(hello), KNET_WAIT);
}

/* ---- frames ---- */

static int send(size_t len)
{
	struct kvec iov = { frame, len };
	struct kfi_msg msg = {
		.type = KFI_KVEC, .msg_iov = &iov, .iov_count = 1, .addr = KFI_ADDR_UNSPEC,
		.context = &rogue_cqe,
	};
	int ret;

	reinit_completion(&sent);
	ret = kfi_sendmsg(conn.ep, &msg, KFI_CQE);
	if (ret)
		return ret;
	if (!wait_for_completion_timeout(&sent, 20 * HZ))
		return -ETIMEDOUT;
	return sent_err;
}

#define CSUM	VIRTIO_NET_HDR_F_NEEDS_CSUM
#define TCP4	VIRTIO_NET_HDR_GSO_TCPV4

/* Each is dropped, and counted as malformed; the connection stays. */
static const struct {
	const char	*name;
	size_t		len;
	u8		flags, type;
	u16		size, start, offset;
} frames[] = {
	{ "nothing", 0 },
	{ "half a header", 9 },
	{ "a header", 10 },
	{ "half an address", 23 },
	{ "a frame that is too long", KNET_MSG + 1 },
	{ "a message that fits no buffer", ROGUE_LEN },
	{ "a checksum behind the end", 74, CSUM, .start = 200, .offset = 16 },
	{ "a checksum far away", 74, CSUM, .start = 65535, .offset = 65535 },
	{ "a sum behind the end", 74, CSUM, .start = 34, .offset = 30 },
	{ "a type that does not exist", 2000, CSUM, 0x7f, 1000, 34, 16 },
	{ "segments of nothing", 2000, CSUM, TCP4, 0, 34, 16 },
	{ "segments with a sum elsewhere", 2000, CSUM, TCP4, 1000, 34, 6 },
	{ "segments of what is no TCP", 2000, 0, TCP4, 1000 },
	{ "segments of a long frame that is no TCP", 60000, 0, VIRTIO_NET_HDR_GSO_TCPV6, 1000 },
};

static void fill(u8 flags, u8 type, u16 size, u16 start, u16 offset)
{
	struct virtio_net_hdr hdr = {
		.flags = flags, .gso_type = type,
		.gso_size = (__force __virtio16)cpu_to_le16(size),
		.csum_start = (__force __virtio16)cpu_to_le16(start),
		.csum_offset = (__force __virtio16)cpu_to_le16(offset),
	};

	memcpy(frame, &hdr, sizeof(hdr));
}

/* ---- frames of all kinds and lengths ---- */

#define ADDRESSES	0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 9
#define IP4(proto)	0x45, 0, 0, 0, 0, 0, 0, 0, 64, proto, 0, 0, 10, 88, 0, 1, 10, 99, 0, 1
#define IP6(proto)	0x60, 0, 0, 0, 0, 0, proto, 64,						\
			0xfd, 0x88, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1,			\
			0xfd, 0x99, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1
#define TCP		0, 22, 0, 99, 0, 0, 0, 0, 0, 0, 0, 0, 0x50
#define KIND(text, at, ...)	{ text, sizeof((u8[]){ __VA_ARGS__ }), at, { __VA_ARGS__ } }

/*
 * What a frame begins with. Node addresses, lengths and checksums of IP are filled in, so that some
 * frames are forwarded, and segmented for it.
 */
static const struct {
	const char	*name;		/* for the reader */
	u8		len, ip;	/* bytes of @head; where IP begins, 0: nowhere */
	u8		head[80];
} kinds[] = {
	KIND("zeros", 0, 0),
	KIND("a type at random", 0, ADDRESSES),
	KIND("a length of 802.3 that is none", 0, ADDRESSES, 5, 0xdc, 0xaa, 0xaa, 3),
	KIND("ARP", 0, ADDRESSES, 8, 6, 0, 1, 8, 0, 6, 4, 0, 1),
	KIND("IPv4 with TCP", 14, ADDRESSES, 8, 0, IP4(6), TCP),
	KIND("IPv4 with UDP", 14, ADDRESSES, 8, 0, IP4(17), 0, 22, 0, 99),
	KIND("IPv4 in IPv4", 14, ADDRESSES, 8, 0, IP4(4), 0x45),
	KIND("IPv4 in GRE", 14, ADDRESSES, 8, 0, IP4(47), 0, 0, 8, 0, 0x45),
	KIND("IPv6 with TCP", 14, ADDRESSES, 0x86, 0xdd, IP6(6), TCP),
	KIND("IPv6 with UDP", 14, ADDRESSES, 0x86, 0xdd, IP6(17)),
	KIND("IPv6 with options", 14, ADDRESSES, 0x86, 0xdd, IP6(0), 6, 0xff),
	KIND("a tag of a VLAN", 18, ADDRESSES, 0x81, 0, 0, 5, 8, 0, IP4(6)),
	KIND("two tags of VLANs", 22, ADDRESSES, 0x88, 0xa8, 0, 5, 0x81, 0, 0, 6, 8, 0, IP4(6)),
	KIND("a row of tags", 0, ADDRESSES, 0x81, 0, 0, 5, 0x81, 0, 0, 5, 0x81, 0, 0, 5, 0x81, 0),
	KIND("MPLS", 0, ADDRESSES, 0x88, 0x47, 0, 0, 0, 64),
	KIND("PPPoE", 0, ADDRESSES, 0x88, 0x64, 0x11, 0, 0, 1, 0, 99, 0, 0x21, 0x45),
};

static u32 below(u32 n)
{
	return prandom_u32_state(&rnd) % n;
}

/* A header of offloads: none, one that fits IP at @ip, or any. */
static void fill_offloads(unsigned int ip)
{
	static const u8 types[] = { 0, 1, 3, 4, 5, 0x81, 0x84, 0x7f };
	static const u16 sizes[] = { 0, 1, 8, 536, 1448, 9000, 65535 };
	u8 type = types[below(ARRAY_SIZE(types))], flags = below(4);
	u16 size = sizes[below(ARRAY_SIZE(sizes))];
	u16 start = ip + (frame[10 + ip] >> 4 == 6 ? 40 : 20);

	if (!below(3))
		fill(0, 0, 0, 0, 0);
	else if (below(3))
		fill(flags, type, size, start, type == 5 ? 6 : 16);
	else
		fill(prandom_u32_state(&rnd), prandom_u32_state(&rnd), prandom_u32_state(&rnd),
		     below(100), below(100));
}

static void fill_lengths(u8 *ip, size_t len)
{
	struct ipv6hdr *v6 = (void *)ip;
	struct iphdr *v4 = (void *)ip;

	if (*ip >> 4 == 6) {
		v6->payload_len = cpu_to_be16(len - sizeof(*v6));
		return;
	}
	v4->tot_len = cpu_to_be16(len);
	v4->check = ip_fast_csum(v4, 5);
}

/* Send a message of @len bytes. Every second one has changed bytes, or lengths that lie. */
static int send_kind(unsigned int kind, size_t len)
{
	unsigned int ip = kinds[kind].ip, changes = below(2) ? 1 + below(3) : 0;
	u8 *eth = frame + sizeof(struct virtio_net_hdr);

	prandom_bytes_state(&rnd, frame, min_t(size_t, len + 64, 2048));
	memcpy(eth, kinds[kind].head, kinds[kind].len);
	memcpy(eth, below(4) ? victim_mac : broadcast, ETH_ALEN);
	if (ip)
		fill_lengths(eth + ip, changes ? below(1 << 16) : len - (eth - frame) - ip);
	fill_offloads(ip);
	while (changes--)
		frame[below(min_t(size_t, len + 1, 100))] ^= 1 << below(8);
	return send(len);
}

static int sweep_short(void)
{
	unsigned int kind;
	int ret = 0;
	size_t len;

	for (kind = 0; kind < ARRAY_SIZE(kinds); kind++)
		for (len = 0; len < ROGUE_SHORT && !ret; len++)
			ret = send_kind(kind, len);
	return ret;
}

static int sweep_long(void)
{
	static const size_t edges[] = {
		KNET_MSG - 1, KNET_MSG, KNET_MSG + 1, (128 << 10) - 1, 128 << 10, (128 << 10) + 1,
		ROGUE_LEN,
	};
	unsigned int i;
	int ret = 0;
	size_t len;

	for (len = ROGUE_SHORT; len < ROGUE_LEN && !ret;
	     len += len < ROGUE_EACH ? 1 : 1 + below(2 * ROGUE_STEP))
		ret = send_kind(below(ARRAY_SIZE(kinds)), len);
	for (i = 0; i < ARRAY_SIZE(edges) * ARRAY_SIZE(kinds) && !ret; i++)
		ret = send_kind(i / ARRAY_SIZE(edges), edges[i % ARRAY_SIZE(edges)]);
	return ret;
}

/* The connection stays, whatever is sent. */
static void sweep(void)
{
	int ret;

	prandom_seed_state(&rnd, seed);
	ret = sweep_short();
	said("each kind of frame in each short length", !ret, ret);
	ret = ret ?: sweep_long();
	said("frames of all lengths", !ret, ret);
}

static void frames_all(void)
{
	unsigned int i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(frames); i++) {
		memset(frame, 0, ROGUE_LEN);
		fill(frames[i].flags, frames[i].type, frames[i].size, frames[i].start,
		     frames[i].offset);
		ret = send(frames[i].len);
		said(frames[i].name, !ret, ret);
	}
}

/* ---- answers ---- */

static struct kfi_listener listener;
static struct completion answered;
static unsigned int answers;

/* What the victim gets for its calls. It calls again after each. */
static const struct {
	size_t	len;
	bool	accept;
	u8	status;
	u8	version;
	u32	magic;
	u8	mac0;
} replies[] = {
	{ 0, true, KNET_OK, KNET_VERSION, KNET_MAGIC },
	{ 0, false, KNET_OK, KNET_VERSION, KNET_MAGIC },
	{ 23, true, KNET_OK, KNET_VERSION, KNET_MAGIC },
	{ 23, false, KNET_WAIT, KNET_VERSION, KNET_MAGIC },
	{ 24, true, KNET_OK, KNET_VERSION + 1, KNET_MAGIC },
	{ 24, true, KNET_OK, KNET_VERSION, KNET_MAGIC + 1 },
	{ 24, true, KNET_WAIT, KNET_VERSION, KNET_MAGIC },
	{ 24, true, 255, KNET_VERSION, KNET_MAGIC },
	{ 24, true, KNET_OK, KNET_VERSION, KNET_MAGIC, 1 },
	{ 24, false, 255, KNET_VERSION, KNET_MAGIC },
	{ 256, false, KNET_OK, KNET_VERSION, KNET_MAGIC },
	{ 256, true, KNET_SAME, KNET_VERSION, KNET_MAGIC },
};

static void answer_released(struct kfi_conn *caller)
{
	kfi_conn_close(caller);
	kfree(caller);
}

static struct kfi_conn_ops answer_ops = { .release = answer_released };

static int accept(struct kfi_caller *caller, const void *data, size_t len)
{
	const struct kfi_conn_attr attr = { .depth = 16, .where = KFI_CONN_SOFTIRQ };
	struct kfi_conn *link = kzalloc(sizeof(*link), GFP_KERNEL);
	int ret;

	if (!link)
		return -ENOMEM;
	kfi_conn_init(link, &answer_ops);
	ret = kfi_conn_accept(link, caller, &attr, data, len);
	if (ret)
		kfree(link);
	return ret;
}

/* The caller may have given up meanwhile, so a failure to accept is none of the victim. */
static int called(struct kfi_caller *caller)
{
	unsigned int i = answers++;
	u8 data[256] = {};
	struct knet_hello *hello = (void *)data;

	if (i >= ARRAY_SIZE(replies)) {
		complete(&answered);
		return -EACCES;
	}
	*hello = good;
	hello->magic = cpu_to_le32(replies[i].magic);
	hello->version = replies[i].version;
	hello->status = replies[i].status;
	hello->mac[0] = replies[i].mac0;
	if (replies[i].accept)
		return accept(caller, data, replies[i].len);
	kfi_conn_reject(caller, data, replies[i].len);
	return 0;
}

/* None of these answers makes a connection, so the victim calls again. */
static void answers_all(struct net *net, const struct kfi_need *need)
{
	int ret;

	init_completion(&answered);
	listener.called = called;
	answer_ops.end_wq = alloc_workqueue("rogue", WQ_UNBOUND, 0);
	ret = answer_ops.end_wq ? kfi_listener_open(&listener, net, need, own, SERVICE,
						    THIS_MODULE) : -ENOMEM;
	if (!ret) {
		if (!wait_for_completion_timeout(&answered, 120 * HZ))
			ret = -ETIMEDOUT;
		kfi_listener_close(&listener);
		kfi_listener_wait(&listener);
	}
	if (answer_ops.end_wq)
		destroy_workqueue(answer_ops.end_wq);
	said("answers that are none", !ret, answers);
}

/* ---- all ---- */

static void rogue_run(struct net *net, const struct kfi_need *need)
{
	struct knet_hello answer;
	int ret = call(&good, sizeof(good), &answer);

	if (!strcmp(cases, "plain")) {
		said("a call from a port that is not reserved", ret == -EACCES, ret);
		return;
	}
	said("a call", !ret, ret);
	if (ret)
		return;
	memcpy(victim_mac, answer.mac, ETH_ALEN);
	if (!strcmp(cases, "sweep")) {
		sweep();
		return;
	}
	frames_all();
	kfi_conn_stop(&conn);
	msleep(1000);
	calls(answer.mac);
	answers_all(net, need);
	ret = call(&good, sizeof(good), &answer);
	said("a call after that", !ret, ret);
}

static int __init rogue(void)
{
	const struct kfi_need need = {
		.provider = "sockets", .type = KFI_EP_MSG, .order = KFI_ORDER_SAS,
		.max_len = ROGUE_LEN,
	};
	struct net *net = current->nsproxy->net_ns;
	int ret = kfi_find(net, &need, NULL, victim, SERVICE, &info);

	if (ret)
		return ret;
	frame = alloc_pages_exact(ROGUE_LEN, GFP_KERNEL);
	dom = kfi_dom_get(net, info, THIS_MODULE);
	if (frame && !IS_ERR(dom)) {
		kfi_conn_init(&conn, &rogue_ops);
		rogue_run(net, &need);
		kfi_conn_close(&conn);
	}
	if (!IS_ERR(dom))
		kfi_dom_put(dom);
	if (frame)
		free_pages_exact(frame, ROGUE_LEN);
	kfi_freeinfo(info);
	return -EAGAIN;		/* the module does not stay */
}

module_init(rogue);
MODULE_DESCRIPTION("kfabric: a peer of kfi_net that means ill");
MODULE_LICENSE("GPL");
