// SPDX-License-Identifier: GPL-2.0
/*
 * rogue.c - kfi_net_rogue.ko, a peer of a network device (ulps/net) whose calls and frames make no
 * sense. Its init runs the cases, each a line "kfabric-rogue: ok NAME" or "not ok NAME", and
 * fails.
 */
#include <linux/delay.h>
#include <linux/mm.h>
#include <linux/nsproxy.h>
#include <linux/prandom.h>
#include <linux/sched.h>
#include <kfi_conn.h>
#include "hello.h"

static char *victim;
module_param(victim, charp, 0);
MODULE_PARM_DESC(victim, "address of the node to call");

static unsigned int random;
module_param(random, uint, 0);
MODULE_PARM_DESC(random, "frames to send at random");

enum { ROGUE_LEN = 300 << 10 };

static struct kfi_conn conn;
static struct kfi_dom *dom;
static struct kfi_info *info;
static u8 *frame;	/* ROGUE_LEN bytes */
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
	.magic = cpu_to_le32(KNET_MAGIC), .version = cpu_to_le16(KNET_VERSION),
	.mac = { 0, 0, 0, 0, 0, 2 },
};

/* The victim has one connection at a time, and answers when that has ended. */
static int call(const struct knet_hello *hello, size_t len, struct knet_hello *answer)
{
	const struct kfi_conn_attr attr = { .depth = 16, .where = KFI_CONN_SOFTIRQ };
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

	refused("half a hello", &good, 9, 0);
	hello.version = cpu_to_le16(KNET_VERSION + 1);
	refused("another version", &hello, sizeof(hello), 0);
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

/* What passes for a frame goes to the stack, with any content. */
static int send_random(struct rnd_state *rnd)
{
	static const u8 types[] = { 0, 0, 1, 3, 4, 5, 0x81, 0x84 };
	u32 r = prandom_u32_state(rnd), len = r % 8 ? r % 1600 : r % KNET_MSG;

	prandom_bytes_state(rnd, frame, min_t(u32, len, 2048));
	if (len > 80) {
		fill(r >> 8, types[r >> 16 & 7], r >> 4 & 0xfff, r >> 20 & 63, r >> 26);
		frame[22] = 8 ^ (r >> 30 & 1);	/* IPv4, or so */
		frame[23] = 0;
		frame[24] = 0x45;
		frame[33] = r & 1 ? 6 : 17;
	}
	return send(len);
}

static void frames_all(void)
{
	struct rnd_state rnd;
	unsigned int i;
	int ret = 0;

	for (i = 0; i < ARRAY_SIZE(frames); i++) {
		memset(frame, 0, ROGUE_LEN);
		fill(frames[i].flags, frames[i].type, frames[i].size, frames[i].start,
		     frames[i].offset);
		ret = send(frames[i].len);
		said(frames[i].name, !ret, ret);
	}
	prandom_seed_state(&rnd, 4468);
	for (i = 0; i < random && !ret; i++)
		ret = send_random(&rnd);
	said("frames at random", !ret, ret);
}

static void rogue_run(void)
{
	struct knet_hello answer;
	int ret = call(&good, sizeof(good), &answer);

	said("a call", !ret, ret);
	if (ret)
		return;
	frames_all();
	kfi_conn_stop(&conn);
	msleep(1000);
	calls(answer.mac);
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
	int ret = kfi_find(net, &need, NULL, victim, "4468", &info);

	if (ret)
		return ret;
	frame = alloc_pages_exact(ROGUE_LEN, GFP_KERNEL);
	dom = kfi_dom_get(net, info, THIS_MODULE);
	if (frame && !IS_ERR(dom)) {
		kfi_conn_init(&conn, &rogue_ops);
		rogue_run();
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
