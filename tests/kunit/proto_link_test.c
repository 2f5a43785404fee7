// SPDX-License-Identifier: GPL-2.0
/*
 * The message protocol over a link in memory: what a caller can send before frames flow, and in
 * which order a link may report. The protocol runs in kfi.ko; the link below it is in this file.
 */
#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/delay.h>

#include "../../kfi/proto/proto.h"

#define WAIT	(10 * HZ)
#define CALLER	0xca11e4ULL	/* names of both sides */
#define SELF	0x5e1fULL

/**
 * struct ml_world - a passive endpoint that callers reach by links of memory
 * @proto: the protocol over them
 * @ppep: the passive endpoint; it does not listen, so each request is rejected
 * @fabric: its fabric
 * @info: its info
 * @ep_attr: part of @info
 */
struct ml_world {
	struct kfi_proto	proto;
	struct kfi_proto_pep	ppep;
	struct kfi_fabric	fabric;
	struct kfi_info		info;
	struct kfi_ep_attr	ep_attr;
};

/**
 * struct ml_caller - a caller as the test sees it; the link refers to it and may end before it
 * @in: bytes that the caller has sent
 * @len: their number
 * @off: of these, bytes that the protocol has taken
 * @ended: what ops->ended() answers
 * @out: bytes that the protocol has sent
 * @out_len: their number
 * @room: bytes that the link has room for
 * @closed: the link is closed
 */
struct ml_caller {
	u8			in[256];
	size_t			len;
	size_t			off;
	int			ended;
	u8			out[256];
	size_t			out_len;
	size_t			room;
	struct completion	closed;
};

/** struct ml_link - a link. @lock: the link's; @caller: its other end */
struct ml_link {
	struct kfi_link		link;
	spinlock_t		lock;
	struct ml_caller	*caller;
};

static struct ml_link *to_ml(const struct kfi_link *link)
{
	return container_of(link, struct ml_link, link);
}

/* ---- the link ---- */

static size_t ml_len(const void *name)
{
	return sizeof(u64);
}

static int ml_cmp(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(u64));
}

static u32 ml_hash(const void *name)
{
	return *(const u32 *)name;
}

static void ml_source(const void *name, void *source)
{
	memcpy(source, name, sizeof(u64));
}

static void ml_self(struct kfi_link *link, void *name)
{
	*(u64 *)name = SELF;
}

static size_t ml_wire_name(const void *name, u8 *bytes)
{
	memcpy(bytes, name, sizeof(u64));
	return sizeof(u64);
}

static int ml_ended(const struct kfi_link *link)
{
	return READ_ONCE(to_ml(link)->caller->ended);
}

static void ml_detach(struct kfi_link *link)
{
	spin_lock_bh(&to_ml(link)->lock);	/* no read is under way */
	spin_unlock_bh(&to_ml(link)->lock);
}

static void ml_close(struct kfi_link *link, bool abort)
{
	complete(&to_ml(link)->caller->closed);
}

static bool ml_lock(struct kfi_link *link)
{
	spin_lock_bh(&to_ml(link)->lock);
	return true;
}

static void ml_unlock(struct kfi_link *link)
{
	spin_unlock_bh(&to_ml(link)->lock);
}

static int ml_post(struct kfi_link *link, struct kfi_unit *unit)
{
	struct ml_caller *caller = to_ml(link)->caller;
	size_t n = min_t(size_t, unit->len - unit->done, caller->room);

	memcpy(caller->out + caller->out_len, unit->head + unit->done, n);
	caller->out_len += n;
	caller->room -= n;
	unit->done += n;
	return unit->done < unit->len ? -EAGAIN : 0;
}

static u64 ml_sent_to(const struct kfi_link *link)
{
	return link->posted;
}

static bool ml_read(struct kfi_link *link)
{
	struct ml_caller *caller = to_ml(link)->caller;

	while (caller->off < caller->len && READ_ONCE(link->want) == KFI_WANT_HEAD)
		caller->off += kfi_link_rx_head(link, caller->in + caller->off,
						caller->len - caller->off);
	return true;
}

static const struct kfi_link_ops ml_ops = {
	.link_size	= sizeof(struct ml_link),
	.name_len	= sizeof(u64),
	.len		= ml_len,
	.cmp		= ml_cmp,
	.hash		= ml_hash,
	.source		= ml_source,
	.self		= ml_self,
	.wire_name	= ml_wire_name,
	.ended		= ml_ended,
	.detach		= ml_detach,
	.close		= ml_close,
	.trylock	= ml_lock,
	.lock		= ml_lock,
	.unlock		= ml_unlock,
	.post		= ml_post,
	.sent_to	= ml_sent_to,
	.read		= ml_read,
};

static void ml_addr_str(const void *name, size_t len, char *buf, size_t size)
{
	snprintf(buf, size, "memory");
}

/* ---- the world ---- */

static int ml_init(struct kunit *test)
{
	struct ml_world *w = kunit_kzalloc(test, sizeof(*w), GFP_KERNEL);

	if (!w)
		return -ENOMEM;
	test->priv = w;
	w->proto.name = "memory";
	w->proto.ops = &ml_ops;
	w->proto.addr_str = ml_addr_str;
	w->proto.params = (struct kfi_proto_params) {
		.eager_size = 4096,
		.unexpected = 64,
		.requests = 16,
		.connect_timeout_ms = 60000,
		.hello_timeout_ms = 60000,
		.peer_timeout_ms = 10000,
		.max_peers = 4,
		.source_peers = 4,
		.source_backlog = 4,
		.backlog = 4,
	};
	w->info.ep_attr = &w->ep_attr;
	w->ppep.pep.fabric = &w->fabric;
	w->ppep.pep.info = &w->info;
	mutex_init(&w->ppep.pep.lock);
	mutex_init(&w->ppep.pep.req_lock);
	INIT_LIST_HEAD(&w->ppep.pep.connreqs);
	if (kfi_proto_init(&w->proto))
		return -ENOMEM;
	kfi_proto_pep_open(&w->ppep.pep, &w->proto);
	return 0;
}

static void ml_exit(struct kunit *test)
{
	struct ml_world *w = test->priv;

	kfi_proto_pep_close(&w->ppep.pep);
	kfi_proto_exit(&w->proto);
}

/* Connect a caller. Its link may report from here on. */
static struct ml_link *ml_called(struct kunit *test, struct ml_caller *caller)
{
	struct ml_world *w = test->priv;
	struct kfi_link *link = kfi_link_new(NULL, &w->ppep);

	KUNIT_ASSERT_NOT_NULL(test, link);
	init_completion(&caller->closed);
	spin_lock_init(&to_ml(link)->lock);
	to_ml(link)->caller = caller;
	*(u64 *)link->name = CALLER;
	KUNIT_ASSERT_EQ(test, 0, kfi_link_called(link));
	return to_ml(link);
}

/* Receive bytes, as in softirq. */
static void ml_receive(struct ml_link *ml)
{
	spin_lock_bh(&ml->lock);
	kfi_link_rx(&ml->link);
	spin_unlock_bh(&ml->lock);
}

static struct ml_caller *ml_caller(struct kunit *test)
{
	struct ml_caller *caller = kunit_kzalloc(test, sizeof(*caller), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, caller);
	caller->room = sizeof(caller->out);
	return caller;
}

static struct kfw_hello *ml_hello(struct ml_caller *caller)
{
	struct kfw_hello *hello = (void *)caller->in;

	*hello = (struct kfw_hello) {
		.magic = cpu_to_le32(KFW_MAGIC), .version = cpu_to_le16(KFW_VERSION),
		.len = cpu_to_le16(sizeof(*hello)), .kind = KFW_HELLO, .ep_type = KFI_EP_MSG,
		.port = cpu_to_le16(1), .incarnation = cpu_to_le64(7), .stream = cpu_to_le64(8),
		.window_msg = cpu_to_le32(64), .window_tag = cpu_to_le32(64),
		.requests = cpu_to_le32(16), .eager = cpu_to_le32(4096),
	};
	caller->len = sizeof(*hello);
	return hello;
}

/* Wait until the protocol has closed the link by itself. */
static void ml_closes(struct kunit *test, struct ml_caller *caller)
{
	KUNIT_EXPECT_NE(test, 0ul, wait_for_completion_timeout(&caller->closed, WAIT));
}

/* ---- the tests ---- */

/*
 * A caller has sent an invalid hello before its link reports up. Nothing of it is read until then:
 * the connection would end, and be freed, while the link still holds it.
 */
static void nonsense_comes_early(struct kunit *test)
{
	struct ml_caller *caller = ml_caller(test);
	struct ml_link *ml;

	memset(caller->in, 0xff, sizeof(caller->in));
	caller->len = sizeof(caller->in);
	ml = ml_called(test, caller);
	ml_receive(ml);
	KUNIT_ASSERT_EQ(test, (size_t)0, caller->off);
	msleep(20);
	KUNIT_EXPECT_FALSE(test, completion_done(&caller->closed));
	kfi_link_up(&ml->link);
	ml_closes(test, caller);
	KUNIT_EXPECT_EQ(test, (size_t)0, caller->out_len);
}

/*
 * A caller of another version is recognized by its first eight bytes, whatever the rest of its
 * hello is.
 */
static void version_is_looked_at_first(struct kunit *test)
{
	struct ml_caller *caller = ml_caller(test);
	struct ml_link *ml;

	ml_hello(caller)->version = cpu_to_le16(KFW_VERSION + 1);
	caller->len = KFW_FROZEN;
	ml = ml_called(test, caller);
	kfi_link_up(&ml->link);
	ml_closes(test, caller);
	KUNIT_EXPECT_EQ(test, (size_t)KFW_FROZEN, caller->off);
}

/*
 * Magic, version and length are these bytes, in the hellos of both sides. All versions have them at
 * these offsets, so that each version can refuse each other one.
 */
static void front_is_frozen(struct kunit *test)
{
	static const u8 front[KFW_FROZEN] = { 'K', 'F', 'I', 'P', 1, 0, 72, 0 };
	struct ml_caller *caller = ml_caller(test);

	ml_hello(caller);
	memcpy(caller->in, front, sizeof(front));
	kfi_link_up(&ml_called(test, caller)->link);
	ml_closes(test, caller);
	KUNIT_ASSERT_EQ(test, sizeof(struct kfw_hello), caller->out_len);
	KUNIT_EXPECT_EQ(test, (u8)KFW_REJECT, ((struct kfw_hello *)caller->out)->kind);
	KUNIT_EXPECT_MEMEQ(test, front, caller->out, sizeof(front));
}

/*
 * A hello that arrives byte by byte is as good as one that arrives at once: its request is
 * rejected.
 */
static void hello_comes_in_pieces(struct kunit *test)
{
	const struct kfw_hello *answer;
	struct ml_caller *caller = ml_caller(test);
	struct ml_link *ml;
	size_t len;

	ml_hello(caller);
	len = caller->len;
	caller->len = 0;
	ml = ml_called(test, caller);
	kfi_link_up(&ml->link);
	while (caller->len < len) {
		spin_lock_bh(&ml->lock);
		caller->len++;
		kfi_link_rx(&ml->link);
		spin_unlock_bh(&ml->lock);
	}
	ml_closes(test, caller);
	answer = (void *)caller->out;
	KUNIT_ASSERT_EQ(test, sizeof(*answer), caller->out_len);
	KUNIT_EXPECT_EQ(test, (u8)KFW_REJECT, answer->kind);
	KUNIT_EXPECT_EQ(test, (u32)ECONNREFUSED, le32_to_cpu(answer->status));
}

/* A link ends behind a hello, which is answered all the same. */
static void hello_then_end(struct kunit *test)
{
	struct ml_caller *caller = ml_caller(test);
	struct ml_link *ml;

	ml_hello(caller);
	caller->ended = -ESHUTDOWN;
	ml = ml_called(test, caller);
	kfi_link_up(&ml->link);
	ml_closes(test, caller);
	KUNIT_EXPECT_EQ(test, sizeof(struct kfw_hello), caller->out_len);
}

/* Bytes of a connection that has failed are not read: their sender may have reused the memory. */
static void nothing_after_a_failure(struct kunit *test)
{
	struct ml_caller *caller = ml_caller(test);
	struct ml_link *ml = ml_called(test, caller);

	kfi_link_up(&ml->link);
	spin_lock_bh(&ml->lock);
	ml_hello(caller);
	kfi_link_fail(&ml->link, -ECONNRESET);
	kfi_link_rx(&ml->link);
	spin_unlock_bh(&ml->lock);
	KUNIT_EXPECT_EQ(test, (size_t)0, caller->off);
	ml_closes(test, caller);
}

/* A link that reports up once more changes nothing, in any state. */
static void up_comes_twice(struct kunit *test)
{
	struct ml_caller *caller = ml_caller(test);
	struct ml_link *ml = ml_called(test, caller);
	struct kfp_conn *conn = link_conn(&ml->link);

	kfi_link_up(&ml->link);
	msleep(20);
	KUNIT_EXPECT_EQ(test, (u8)KFP_HELLO, READ_ONCE(conn->state));
	WRITE_ONCE(conn->state, KFP_WAITING);	/* as if the request waited for the consumer */
	kfi_link_up(&ml->link);
	msleep(20);
	KUNIT_EXPECT_EQ(test, (u8)KFP_WAITING, READ_ONCE(conn->state));
}

/* A caller without a hello is gone when the passive endpoint closes. */
static void silence_ends_with_the_listener(struct kunit *test)
{
	struct ml_world *w = test->priv;
	struct ml_caller *caller = ml_caller(test);
	struct ml_link *ml;

	ml = ml_called(test, caller);
	kfi_link_up(&ml->link);
	kfi_proto_pep_close(&w->ppep.pep);
	KUNIT_EXPECT_TRUE(test, completion_done(&caller->closed));
}

/*
 * More callers of one source than the backlog permits: the oldest makes room that has sent no
 * hello, or that waits until the peer with its name has been probed. One whose request the consumer
 * has stays, and so does one that waits for the probe with a key, because its proof was valid.
 */
static void oldest_makes_room(struct kunit *test)
{
	static const u8 states[] = { KFP_WAITING, KFP_ADMITTING, KFP_ADMITTING, KFP_HELLO,
				     KFP_HELLO, KFP_HELLO };
	struct ml_caller *callers[ARRAY_SIZE(states)];
	struct ml_world *w = test->priv;
	struct kfp_conn *conn;
	struct ml_link *ml;
	int i;

	for (i = 0; i < ARRAY_SIZE(states); i++) {
		callers[i] = ml_caller(test);
		w->ep_attr.auth_key_size = i == 1;
		ml = ml_called(test, callers[i]);
		conn = link_conn(&ml->link);
		kfi_link_up(&ml->link);
		if (i < 4) {
			flush_delayed_work(&conn->hello_work);
			WRITE_ONCE(conn->state, states[i]);
		} else {
			ml_closes(test, callers[i - 2]);
		}
	}
	for (i = 0; i < ARRAY_SIZE(states); i++)
		if (i != 2 && i != 3)
			KUNIT_EXPECT_FALSE(test, completion_done(&callers[i]->closed));
	kfi_proto_pep_close(&w->ppep.pep);
}

/* Make room without a callback of the link: the protocol has to look by itself. */
static void ml_room(struct ml_link *ml, size_t room)
{
	spin_lock_bh(&ml->lock);
	ml->caller->room += room;
	spin_unlock_bh(&ml->lock);
}

/*
 * A caller is rejected, and its link has room for a part of the answer only. The work item does not
 * wait for room, because other connections need its workqueue; the rest follows later.
 */
static void full_link_holds_up_nobody(struct kunit *test)
{
	struct ml_caller *caller = ml_caller(test);
	const struct kfw_hello *answer;
	struct kfp_conn *conn;
	struct ml_link *ml;
	int i;

	ml_hello(caller);
	caller->room = 10;
	ml = ml_called(test, caller);
	conn = link_conn(&ml->link);
	kfi_link_up(&ml->link);
	msleep(50);
	KUNIT_EXPECT_EQ(test, (size_t)10, READ_ONCE(caller->out_len));
	KUNIT_EXPECT_FALSE(test, completion_done(&caller->closed));
	/* It tries again with each jiffy, so it may be running now, but not all the time. */
	for (i = 0; i < 100 && work_busy(&conn->hello_work.work) & WORK_BUSY_RUNNING; i++)
		msleep(20);
	KUNIT_EXPECT_LT(test, i, 100);
	ml_room(ml, 20);
	msleep(50);
	KUNIT_EXPECT_EQ(test, (size_t)30, READ_ONCE(caller->out_len));
	KUNIT_EXPECT_FALSE(test, completion_done(&caller->closed));
	ml_room(ml, sizeof(*answer));
	ml_closes(test, caller);
	answer = (void *)caller->out;
	KUNIT_ASSERT_EQ(test, sizeof(*answer), caller->out_len);
	KUNIT_EXPECT_EQ(test, (u8)KFW_REJECT, answer->kind);
	KUNIT_EXPECT_EQ(test, (u32)ECONNREFUSED, le32_to_cpu(answer->status));
}

/* A link that never has room for the answer loses its connection at the deadline of the hello. */
static void full_link_ends(struct kunit *test)
{
	struct ml_world *w = test->priv;
	struct ml_caller *caller = ml_caller(test);
	struct ml_link *ml;

	w->proto.params.hello_timeout_ms = 200;
	ml_hello(caller);
	caller->room = 0;
	ml = ml_called(test, caller);
	kfi_link_up(&ml->link);
	msleep(100);
	KUNIT_EXPECT_FALSE(test, completion_done(&caller->closed));
	ml_closes(test, caller);
	KUNIT_EXPECT_EQ(test, (size_t)0, caller->out_len);
}

/* struct ml_proof - what the proof of a caller covers, in this order */
struct ml_proof {
	char			label[18];
	u64			caller;
	u64			self;
	struct kfw_hello	hello;
	struct kfw_hello	challenge;
	u8			nonce[2][KFW_AUTH_LEN];
	struct kfw_hello	proof;
} __packed;

/*
 * A caller proves the key of the passive endpoint; bit 0 of byte @wrong of what the proof covers is
 * another one, unless @wrong is negative. Return: the reason of the REJECT.
 */
static u32 ml_prove(struct kunit *test, int wrong)
{
	struct ml_world *w = test->priv;
	struct ml_proof proof = { .label = "kfabric connector", .caller = CALLER, .self = SELF };
	struct ml_caller *caller = ml_caller(test);
	struct kfw_hello *hello = ml_hello(caller);
	const size_t len = sizeof(*hello) + KFW_AUTH_LEN;
	struct kvec all = { &proof, sizeof(proof) };
	unsigned long end = jiffies + WAIT;
	struct ml_link *ml;

	hello->features = cpu_to_le32(KFW_FEAT_AUTH);
	hello->auth_len = cpu_to_le16(KFW_AUTH_LEN);
	memset(hello + 1, 0x5a, KFW_AUTH_LEN);
	caller->len = len;
	ml = ml_called(test, caller);
	kfi_link_up(&ml->link);
	while (READ_ONCE(caller->out_len) < len && time_before(jiffies, end))
		msleep(20);
	KUNIT_ASSERT_EQ(test, len, caller->out_len);
	proof.hello = *hello;
	memcpy(&proof.challenge, caller->out, sizeof(proof.challenge));
	memcpy(proof.nonce[0], hello + 1, KFW_AUTH_LEN);
	memcpy(proof.nonce[1], caller->out + sizeof(*hello), KFW_AUTH_LEN);
	proof.proof = *hello;
	proof.proof.kind = KFW_PROOF;
	memcpy(caller->in + len, &proof.proof, sizeof(proof.proof));
	if (wrong >= 0)
		((u8 *)&proof)[wrong] ^= 1;
	kfi_auth_proof(&w->ep_attr, &all, 1, caller->in + len + sizeof(*hello));
	spin_lock_bh(&ml->lock);
	caller->len += len;
	kfi_link_rx(&ml->link);
	spin_unlock_bh(&ml->lock);
	ml_closes(test, caller);
	KUNIT_ASSERT_EQ(test, len + sizeof(*hello), caller->out_len);
	hello = (void *)(caller->out + len);
	KUNIT_EXPECT_EQ(test, (u8)KFW_REJECT, hello->kind);
	return le32_to_cpu(hello->status);
}

/*
 * The proof of a caller covers all that belongs to the connection, so that it is of no use for
 * another one. With the right proof the request reaches the passive endpoint, which rejects it.
 */
static void proof_is_for_one_connection(struct kunit *test)
{
	static const int wrong[] = {
		offsetof(struct ml_proof, label),
		offsetof(struct ml_proof, caller),
		offsetof(struct ml_proof, self),
		offsetof(struct ml_proof, hello.incarnation),
		offsetof(struct ml_proof, hello.eager),
		offsetof(struct ml_proof, challenge.incarnation),
		offsetof(struct ml_proof, nonce[0]),
		offsetof(struct ml_proof, nonce[1]),
		offsetof(struct ml_proof, proof.kind),
	};
	struct ml_world *w = test->priv;
	u8 key[] = "a key";
	int i;

	w->ep_attr.auth_key = key;
	w->ep_attr.auth_key_size = sizeof(key);
	KUNIT_EXPECT_EQ(test, (u32)ECONNREFUSED, ml_prove(test, -1));
	for (i = 0; i < ARRAY_SIZE(wrong); i++)
		KUNIT_EXPECT_EQ(test, (u32)EKEYREJECTED, ml_prove(test, wrong[i]));
}

static struct kunit_case ml_cases[] = {
	KUNIT_CASE(nonsense_comes_early),
	KUNIT_CASE(version_is_looked_at_first),
	KUNIT_CASE(front_is_frozen),
	KUNIT_CASE(hello_comes_in_pieces),
	KUNIT_CASE(hello_then_end),
	KUNIT_CASE(nothing_after_a_failure),
	KUNIT_CASE(up_comes_twice),
	KUNIT_CASE(silence_ends_with_the_listener),
	KUNIT_CASE(oldest_makes_room),
	KUNIT_CASE(full_link_holds_up_nobody),
	KUNIT_CASE(full_link_ends),
	KUNIT_CASE(proof_is_for_one_connection),
	{}
};

static struct kunit_suite ml_suite = {
	.name = "kfi_proto_link",
	.init = ml_init,
	.exit = ml_exit,
	.test_cases = ml_cases,
};
kunit_test_suite(ml_suite);
