// SPDX-License-Identifier: GPL-2.0
/*
 * cases.c - loading the module is the test, and its result is that of insmod. It runs in the network
 * namespace of the process that loads it. The cases run one after the other; after each the
 * well-behaved peer is served as before, and so is a new one.
 */
#include <linux/delay.h>
#include <linux/in.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/vmalloc.h>
#include <linux/vmstat.h>
#include <rdma/restrack.h>
#include <kfi_rma.h>
#include "hostile.h"

static char *node = "10.0.0.1";
module_param(node, charp, 0444);
MODULE_PARM_DESC(node, "an address of this namespace that an RDMA device has");

static char *only = "";
module_param(only, charp, 0444);
MODULE_PARM_DESC(only, "this case alone (default: all)");

static char *without = "";
module_param(without, charp, 0444);
MODULE_PARM_DESC(without, "not this case (default: all run)");

#define PORT_GOOD	900
#define PORT_NEW	901

bool check(bool truth, const char *what)
{
	if (!truth)
		pr_err("hostile: wrong: %s\n", what);
	return truth;
}

/* A message of this one comes. */
static bool served(struct hostile *h, struct hv *hv)
{
	struct kfw_frame f = { .type = KFW_MSG, .len = 16, .payload = 16 };
	u64 body[2] = { ++h->serial, ~h->serial };

	return check(!victim_post(&h->v), "no receive") &&
	       check(!hv_frame(hv, &f, body, sizeof(body)), "a message can't be sent") &&
	       check(!victim_done(&h->v, HV_WAIT_MS), "a message is not received") &&
	       check(!memcmp(h->v.buf, body, sizeof(body)), "another message is received");
}

bool hostile_well(struct hostile *h)
{
	struct hv *hv = hv_open(&h->v, PORT_NEW);
	bool ok = check(!IS_ERR(hv), "nobody is let in any more") && served(h, hv);

	if (!IS_ERR(hv))
		hv_close(hv);
	ok &= check(!hv_gone(h->good), "somebody else has lost his connection");
	return ok && served(h, h->good);
}

/* ---- what a peer does before there is a connection ---- */

#define PORT_FRONTS		1000

/* Fronts that are refused; the answer says which version the victim speaks. */
static const struct kvw_front wrong_fronts[] = {
	{},
	{ .magic = cpu_to_le32(KVW_MAGIC) },
	{ .magic = cpu_to_le32(KVW_MAGIC + 1), .version = KVW_VERSION, .version_min = KVW_VERSION },
	{ .magic = cpu_to_le32(KVW_MAGIC), .version = 4, .version_min = 1 },
	{ .magic = cpu_to_le32(KVW_MAGIC), .version = 4, .version_min = KVW_VERSION },
	{ .magic = cpu_to_le32(KVW_MAGIC), .version = 255, .version_min = KVW_VERSION + 1 },
	{ .magic = cpu_to_le32(KVW_MAGIC), .version = 255, .version_min = 255 },
};

static bool front_is_refused(struct hostile *h, const struct kvw_front *front)
{
	struct hv_call call = { .hello = front, .len = sizeof(*front), .silent = true };
	const struct kvw_front *said;
	struct hv *hv = hv_new();
	bool ok;

	if (!check(hv, "no memory"))
		return false;
	said = (void *)hv->said;
	ok = check(hv_call(hv, &h->v, &call) == -ECONNREFUSED, "a wrong front is not refused") &&
	     check(hv->said_len >= sizeof(*said) && le32_to_cpu(said->magic) == KVW_MAGIC &&
		   said->version == KVW_VERSION, "the answer does not say the version");
	hv_close(hv);
	return ok;
}

static bool fronts(struct hostile *h)
{
	unsigned int i;
	bool ok = true;

	for (i = 0; i < ARRAY_SIZE(wrong_fronts); i++) {
		if (front_is_refused(h, &wrong_fronts[i]))
			continue;
		pr_err("hostile: wrong: front %u\n", i);
		ok = false;
	}
	return ok;
}

static const struct hostile_case hello_cases[] = {
	{ "fronts",	fronts },
	{}
};

/*
 * ---- what a peer that does not receive, or dies, leaves at the victim. What SENDs may be is tested
 * in tests/kunit/verbs_stream_test.c ----
 */

#define PORT_LEFT	2000

/*
 * A peer that gives no receive back: the victim sends no more than the peer has receives for, and
 * what it can't send ends with the connection.
 */
static bool deaf(struct hostile *h)
{
	struct hv_call call = { .port = PORT_LEFT, .recvs = KVW_FIRST };
	kfi_addr_t to = hv_knows(&h->v, PORT_LEFT);
	struct hv *hv = hv_new();
	unsigned int i, n = 2 * KVW_FIRST, posted = 0;
	bool ok = hv && check(!hv_call(hv, &h->v, &call), "not let in");
	int ret;

	for (i = 0; i < n && ok; i++) {
		ret = kfi_send(h->v.ep, h->v.buf, 3000, NULL, to, NULL);
		ok = check(!ret, "can't send");
		posted += !ret;
	}
	ok = ok && check(hv_wait(hv, KFW_MSG, 1, HV_WAIT_MS), "no message") &&
	     check(!hv_wait(hv, KFW_MSG, KVW_FIRST, HV_NOT_MS), "more than there is room for") &&
	     check(!hv_gone(hv), "a slow peer has lost its connection");
	if (hv)
		hv_close(hv);
	for (i = 0; i < posted; i++)
		ok &= check(victim_done(&h->v, HV_WAIT_MS) != -EAGAIN, "a send does not end");
	return ok;
}

#define DEATHS		40U	/* at most BITS_PER_LONG */
#define CONN_KIB	344UL	/* buffers of a connection that are pages */

/* A peer connects, leaves a short message, and dies. Return: false if it can't. */
static bool leave_one(struct victim *v, u32 serial)
{
	struct kfw_frame f = { .type = KFW_MSG, .len = 16, .payload = 16 };
	u64 body[2] = { serial, ~(u64)serial };
	struct hv *hv = hv_open(v, PORT_LEFT);
	unsigned int ms;
	bool ok = check(!IS_ERR(hv), "not let in again");

	if (!ok)
		return false;
	ok = check(!hv_frame(hv, &f, body, sizeof(body)), "a message can't be sent");
	for (ms = 0; ok && ms < HV_WAIT_MS && victim_stat(v, unexpected) <= serial; ms += 20)
		msleep(20);
	ok = ok && check(ms < HV_WAIT_MS, "an unexpected message does not arrive") &&
	     check(victim_stat(v, unexpected) == serial + 1, "a message is counted twice");
	hv_close(hv);
	return ok;
}

/* Wait until the device has as many queue pairs as before. */
static bool queue_pairs_end(struct hostile *h, int before)
{
	struct ib_device *ib = h->good->id->device;
	unsigned int ms;

	for (ms = 0; ms < HV_WAIT_MS; ms += 20) {
		if (rdma_restrack_count(ib, RDMA_RESTRACK_QP, false) <= before)
			return true;
		msleep(20);
	}
	return check(false, "a message holds the queue pair of a dead peer");
}

/*
 * What a message that waits for its receive holds after the death of its sender is the message, and
 * not the queue pair and the buffers of its connection.
 */
static bool leaves(struct hostile *h)
{
	int before = rdma_restrack_count(h->good->id->device, RDMA_RESTRACK_QP, false);
	unsigned long pages = global_zone_page_state(NR_FREE_PAGES), kib, seen = 0;
	struct victim v;
	unsigned int i;
	char node[16];
	bool ok = true;

	snprintf(node, sizeof(node), "%pI4", &((struct sockaddr_in *)h->v.name)->sin_addr);
	if (!check(!hv_victim(&v, node), "no endpoint"))
		return false;
	for (i = 0; ok && i < DEATHS; i++)
		ok = leave_one(&v, i) && queue_pairs_end(h, before);
	kib = (pages - min(pages, global_zone_page_state(NR_FREE_PAGES))) << (PAGE_SHIFT - 10);
	pr_info("hostile: %lu KiB more than before, %llu messages dropped\n", kib,
		victim_stat(&v, dropped));
	ok = ok && check(kib < DEATHS * CONN_KIB / 2, "a message holds the buffers of a dead peer");
	/*
	 * Messages may be dropped to make room for the windows of later connections. How many, and
	 * which, depends on time: a connection is charged with its windows until its end is
	 * complete, and that can be after the next peer was let in. proto_account_test.c tests what
	 * is dropped.
	 */
	for (i = victim_stat(&v, dropped); ok && i < DEATHS; i++)
		ok = check(!victim_receive(&v, 1, HV_WAIT_MS) && *(u64 *)v.buf < DEATHS &&
			   !__test_and_set_bit(*(u64 *)v.buf, &seen),
			   "a message is lost that was not dropped");
	victim_close(&v);
	return ok;
}

static const struct hostile_case head_cases[] = {
	{ "deaf",	deaf },
	{ "leaves",	leaves },
	{}
};

/* ---- places: those of the victim, and those that the peer names itself ---- */

#define PORT_PLACES	3000
#define OP		7	/* number of our operation */

/* Write @len bytes of our memory to the victim's. Return: 0, or negative if its device refuses */
static int put(struct hv *hv, u64 at, u32 key, u32 len)
{
	struct ib_sge sge = { hv->dma, len, hv->pd->local_dma_lkey };
	struct ib_rdma_wr wr = {
		.wr = { .wr_cqe = &hv->send, .sg_list = &sge, .num_sge = 1,
			.opcode = IB_WR_RDMA_WRITE, .send_flags = IB_SEND_SIGNALED },
		.remote_addr = at, .rkey = key,
	};

	hv->sent = 1;
	if (ib_post_send(hv->qp, &wr.wr, NULL))
		return -EIO;
	wait_event_timeout(hv->wait, READ_ONCE(hv->sent) <= 0, msecs_to_jiffies(HV_WAIT_MS));
	return hv->sent;
}

/* Ask to send a long message, for which there is a receive. @place: the first place of the CTS */
static bool granted(struct hv *hv, struct kfw_place *place)
{
	struct kfw_frame rts = { .type = KFW_RTS, .id = OP, .gen = 1, .len = VICTIM_BUF };

	if (!check(!hv_frame(hv, &rts, NULL, 0), "can't ask") ||
	    !check(hv_wait(hv, KFW_CTS, 1, HV_WAIT_MS), "no CTS") ||
	    !check(hv->heard[KFW_CTS].last.places, "no place is named"))
		return false;
	*place = hv->heard[KFW_CTS].places[0];
	return check(le32_to_cpu(place->len) == VICTIM_BUF, "another length");
}

static int announce(struct hv *hv)
{
	struct kfw_frame data = {
		.type = KFW_DATA, .flags = KFW_F_PLACED, .id = OP, .gen = 1, .len = VICTIM_BUF,
		.slot = hv->heard[KFW_CTS].last.slot,
	};

	return hv_frame(hv, &data, NULL, 0);
}

/* A message by way of a place; after its end the place is none. */
static bool late(struct hostile *h)
{
	struct hv *hv = hv_open(&h->v, PORT_PLACES);
	struct kfw_place place;
	bool ok = check(!IS_ERR(hv), "not let in") && check(!victim_post(&h->v), "no receive") &&
		  granted(hv, &place);

	memset(h->v.buf, 0, VICTIM_BUF);
	if (ok) {
		memset(hv->mem, 0x5a, HV_MEM);
		ok = check(!put(hv, le64_to_cpu(place.at), le32_to_cpu(place.key), VICTIM_BUF),
			   "the place can't be written") &&
		     check(!announce(hv), "can't announce") &&
		     check(!victim_done(&h->v, HV_WAIT_MS), "not received") &&
		     check(!memchr_inv(h->v.buf, 0x5a, VICTIM_BUF), "other bytes are received");
	}
	if (ok) {
		memset(hv->mem, 0xa5, HV_MEM);
		ok = check(put(hv, le64_to_cpu(place.at), le32_to_cpu(place.key), 64),
			   "the place can be written after its end") &&
		     check(!memchr_inv(h->v.buf, 0x5a, VICTIM_BUF), "bytes have landed after the end") &&
		     check(hv_ended(hv), "the peer goes on");
	}
	if (!IS_ERR(hv))
		hv_close(hv);
	return ok;
}

/* ---- places that are not there ---- */

/* The victim sends a message that is granted by places which are not there. */
static bool lie(struct hostile *h, u16 port, const struct kfw_place *places, unsigned int n)
{
	struct hv *hv = hv_open(&h->v, port);
	kfi_addr_t to = hv_knows(&h->v, port);
	struct kfw_frame cts = { .type = KFW_CTS, .places = n, .slot = 1 };
	bool ok = check(!IS_ERR(hv), "not let in");
	int ret;

	msleep(50);	/* until the victim has published the connection: else it would call us */
	ok = ok && check(!kfi_send(h->v.ep, h->v.buf, VICTIM_BUF, NULL, to, NULL), "can't send") &&
	     check(hv_wait(hv, KFW_RTS, 1, HV_WAIT_MS), "no question");
	if (ok) {
		cts.id = hv->heard[KFW_RTS].last.id;
		cts.gen = hv->heard[KFW_RTS].last.gen;
		hv_frame(hv, &cts, places, n * sizeof(*places));	/* it may end before */
		ret = victim_done(&h->v, HV_WAIT_MS);
		ok = check(ret && ret != -EAGAIN, "what is not there is written to") &&
		     check(hv_ended(hv), "a liar goes on");
	}
	if (!IS_ERR(hv))
		hv_close(hv);
	return ok;
}

#define PLACE(at, len, key)	{ cpu_to_le64(at), cpu_to_le32(len), cpu_to_le32(key) }

static bool lies(struct hostile *h)
{
	static const struct kfw_place rows[][2] = {
		{ PLACE(0x1000, VICTIM_BUF, 0xdead00) },
		{ PLACE(U64_MAX - 8, VICTIM_BUF, 1) },
		{ PLACE(0x1000, VICTIM_BUF - 1, 1) },
		{ PLACE(0x1000, U32_MAX, 1) },
		{ PLACE(0x1000, 0, 1), PLACE(0x1000, VICTIM_BUF, 0) },
	};
	unsigned int i;
	bool ok = true;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		ok &= lie(h, PORT_PLACES + i, rows[i], rows[i][1].len ? 2 : 1);
	return ok;
}

/* ---- keys that are not the peer's to end ---- */

#define PART	4096	/* bytes of the victim's region that are written */

/* Write to the victim's region. Return: 1, and the place that was named; 0: none was; negative */
static int region_write(struct hv *hv, u32 gen, struct kfw_place *place)
{
	struct kfw_rma seg = { .len = cpu_to_le64(PART), .key = cpu_to_le64(VICTIM_KEY) };
	struct kfw_frame ask = {
		.type = KFW_RTW, .id = OP, .gen = gen, .rma_count = 1, .len = PART,
	};
	struct kfw_frame write = { .type = KFW_WRITE, .id = OP, .gen = gen, .rma_count = 1, .len = PART };
	unsigned int grants = hv_count(hv, KFW_GRANT), ack = hv_count(hv, KFW_ACK);
	struct {
		struct kfw_rma	seg;
		u8		payload[PART];
	} *tail = (void *)hv->mem;
	bool placed;

	if (hv_frame(hv, &ask, &seg, sizeof(seg)) ||
	    !hv_wait(hv, KFW_GRANT, grants + 1, HV_WAIT_MS))
		return -EIO;
	placed = hv->heard[KFW_GRANT].last.places;
	*place = hv->heard[KFW_GRANT].places[0];
	if (placed && put(hv, le64_to_cpu(place->at), le32_to_cpu(place->key), 64))
		return -EIO;
	if (placed) {
		write.flags = KFW_F_PLACED;
		write.grant = hv->heard[KFW_GRANT].last.grant;
		write.grant_id = hv->heard[KFW_GRANT].last.grant_id;
	} else {
		write.payload = PART;
	}
	tail->seg = seg;
	if (hv_frame(hv, &write, tail, sizeof(seg) + write.payload) ||
	    !hv_wait(hv, KFW_ACK, ack + 1, HV_WAIT_MS) || hv->heard[KFW_ACK].last.status)
		return -EIO;
	return placed;
}

/* A region without a place gets one soon. */
static bool region_place(struct hv *hv, struct kfw_place *place)
{
	unsigned int tries;
	int ret = 0;

	for (tries = 1; tries < 100 && !ret; tries++) {
		ret = region_write(hv, tries, place);
		if (!ret)
			msleep(20);
	}
	return check(ret > 0, ret ? "a write fails" : "the region has no place");
}

/*
 * The victim's device forgets a key, of a transfer or of a region: others are served all the
 * same.
 */
static bool invalidations(struct hostile *h)
{
	struct kvw_head head = {};
	struct kfw_place place;
	unsigned int i;
	struct hv *hv;
	bool ok = true;

	for (i = 0; i < 3 && ok; i++) {
		hv = hv_open(&h->v, PORT_PLACES + i);
		ok = check(!IS_ERR(hv), "not let in") && region_place(hv, &place);
		if (ok) {
			head.limit = cpu_to_le32(READ_ONCE(hv->posted));
			hv_send(hv, &head, sizeof(head), le32_to_cpu(place.key));
		}
		ok = ok && check(hv_ended(hv), "a peer that ends a region goes on");
		if (!IS_ERR(hv))
			hv_close(hv);
	}
	return ok;
}

static const struct hostile_case place_cases[] = {
	{ "late",		late },
	{ "lies",		lies },
	{ "invalidations",	invalidations },
	{}
};

static unsigned int run_cases(struct hostile *h, const struct hostile_case *c, unsigned int *ran)
{
	unsigned int wrong = 0;
	bool ok;

	for (; c->name; c++) {
		if ((*only && strcmp(only, c->name)) || !strcmp(without, c->name))
			continue;
		pr_info("hostile: begin %s\n", c->name);
		ok = c->run(h);
		ok &= hostile_well(h);
		pr_info("hostile: %s %s\n", ok ? "ok" : "FAILED", c->name);
		wrong += !ok;
		++*ran;
	}
	return wrong;
}

static unsigned int run_all(struct hostile *h)
{
	unsigned int wrong, ran = 0;

	h->good = hv_open(&h->v, PORT_GOOD);
	if (!check(!IS_ERR(h->good), "nobody is let in"))
		return 1;
	wrong = run_cases(h, hello_cases, &ran);
	wrong += run_cases(h, head_cases, &ran);
	wrong += run_cases(h, place_cases, &ran);
	wrong += run_cases(h, plain_cases, &ran);
	hv_close(h->good);
	return check(ran, "no such case") ? wrong : 1;
}

int hv_victim(struct victim *v, const char *node)
{
	struct victim_attr attr = {
		.provider = "verbs", .node = node,
		.buf_len = VICTIM_BUF, .cq_size = 256,
	};

	return victim_open(v, &attr);
}

kfi_addr_t hv_knows(struct victim *v, u16 port)
{
	struct sockaddr_in name = *(struct sockaddr_in *)v->name;

	name.sin_port = cpu_to_be16(port);
	return victim_knows(v, &name);
}

static int __init hostile_init(void)
{
	struct hostile h = { .mem = vzalloc(VICTIM_MEM) };
	int wrong = 1, ret;

	if (check(h.mem && !hv_victim(&h.v, node), "no endpoint")) {
		ret = victim_region(&h.v, h.mem, VICTIM_MEM, KFI_REMOTE_READ | KFI_REMOTE_WRITE, VICTIM_KEY);
		wrong = check(!ret, "no region") ? run_all(&h) : 1;
		if (!check(!victim_close_in(&h.v, HV_WAIT_MS), "an endpoint can't be closed"))
			wrong++;
	}
	vfree(h.mem);
	return wrong ? -EIO : 0;
}

static void __exit hostile_exit(void)
{
}

module_init(hostile_init);
module_exit(hostile_exit);
MODULE_DESCRIPTION("a hostile peer of kfi_verbs");
MODULE_LICENSE("GPL");
