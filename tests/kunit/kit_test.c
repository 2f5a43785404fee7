// SPDX-License-Identifier: GPL-2.0
/*
 * kit_test.c - the kit for ULPs (kfi_conn.h, kfi_rw.h) over kfi_loop: what a ULP does late, for a
 * connection that has ended, has no effect on the next one. tests/example has the rest.
 */
#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/string.h>
#include <net/net_namespace.h>
#include <kfi_req.h>
#include <kfi_rw.h>

enum { DEPTH = 2, LEN = 8, MS = 2000 };

#define NEED (struct kfi_need) { .provider = "loop", .type = KFI_EP_MSG, .max_len = LEN,	\
	.inject = LEN, .order = KFI_ORDER_SAS | KFI_ORDER_SAW }

/* A message that the client keeps */
struct kept {
	struct kfi_rxbuf	rx;
	struct kfi_rw		rw;
	int			err;
	unsigned int		calls;
};

/*
 * The client connects twice, so the server has two connections.
 *
 * @early: given back while the server is called
 */
static struct {
	struct kfi_conn_ops	ops;
	struct kfi_listener	listener;
	struct kfi_conn		server[2];
	unsigned int		servers;
	unsigned int		answers;
	struct completion	answered;
	struct kfi_info		*info;
	struct kfi_dom		*dom;
	struct kfi_conn		client;
	struct kept		*kept[8];
	struct kept		*early;
	struct kfi_req		req;
	unsigned int		n;
	unsigned int		lost;
	struct completion	came;
} kit;

static void server_received(struct kfid_cq *cq, struct kfi_cqe *cqe,
			    const struct kfi_cq_err_entry *wc)
{
	char msg[LEN];

	if (!kfi_rx_take(cqe, wc, msg, LEN))
		return;
	kit.answers++;
	complete(&kit.answered);
}

static void server_release(struct kfi_conn *conn)
{
	kfi_conn_close(conn);
}

static int server_called(struct kfi_caller *caller)
{
	const struct kfi_conn_attr attr = { .depth = DEPTH, .rx_len = LEN };
	struct kfi_conn *conn = &kit.server[kit.servers];
	int ret;

	if (kit.servers == ARRAY_SIZE(kit.server))
		return -EBUSY;
	if (kit.early)
		kfi_rx_done(&kit.early->rx);
	kfi_conn_init(conn, &kit.ops);
	ret = kfi_conn_accept(conn, caller, &attr, NULL, 0);
	kit.servers += !ret;
	return ret;
}

static void client_received(struct kfid_cq *cq, struct kfi_cqe *cqe,
			    const struct kfi_cq_err_entry *wc)
{
	struct kfi_rxbuf *rx = kfi_rx_got(cqe, wc, LEN);
	struct kept *kept = container_of(rx, struct kept, rx);

	if (!rx || kit.n == ARRAY_SIZE(kit.kept))
		return;
	kfi_rw_begin(&kept->rw, rx->conn);
	kit.kept[kit.n++] = kept;
	complete(&kit.came);
}

static void client_lost(struct kfi_conn *conn, int err)
{
	kit.lost++;
}

static const struct kfi_conn_ops client_ops = { .received = client_received, .lost = client_lost };

static void client_connects(struct kunit *test)
{
	const struct kfi_conn_attr attr = {
		.depth = DEPTH, .rx_len = LEN, .rx_priv = sizeof(struct kept),
	};

	KUNIT_ASSERT_EQ(test, 0, kfi_conn_open(&kit.client, kit.dom, kit.info, &attr));
	KUNIT_ASSERT_EQ(test, 0, kfi_conn_connect(&kit.client, kit.info->dest_addr, NULL, 0, NULL,
						  NULL, MS));
}

/* The server's newest connection sends a message, whose bytes are all @byte. */
static void server_sends(struct kunit *test, char byte)
{
	char msg[LEN];

	memset(msg, byte, LEN);
	KUNIT_EXPECT_EQ(test, 0, (int)kfi_conn_inject(&kit.server[kit.servers - 1], msg, LEN, 0));
}

static bool message_comes(void)
{
	return wait_for_completion_timeout(&kit.came, msecs_to_jiffies(MS));
}

static bool holds(const struct kept *kept, char byte)
{
	return !memchr_inv(kept->rx.head, byte, LEN);
}

/* Both are connected, the client keeps message A, and is stopped. */
static void kit_stopped(struct kunit *test)
{
	client_connects(test);
	server_sends(test, 'A');
	KUNIT_ASSERT_TRUE(test, message_comes());
	kfi_conn_stop(&kit.client);
	KUNIT_ASSERT_EQ(test, 1U, kit.n);
}

static int kit_init(struct kunit *test)
{
	const struct kfi_need need = NEED;

	memset(&kit, 0, sizeof(kit));
	init_completion(&kit.came);
	init_completion(&kit.answered);
	kit.ops = (struct kfi_conn_ops) {
		.received = server_received, .release = server_release,
		.end_wq = alloc_workqueue("kfi_kit", WQ_UNBOUND, 0),
	};
	KUNIT_ASSERT_NOT_NULL(test, kit.ops.end_wq);
	kit.listener.called = server_called;
	kfi_conn_init(&kit.client, &client_ops);
	KUNIT_ASSERT_EQ(test, 0, kfi_listener_open(&kit.listener, &init_net, &need, "loop", "4460",
						   THIS_MODULE));
	KUNIT_ASSERT_EQ(test, 0, kfi_find(&init_net, &need, NULL, "loop", "4460", &kit.info));
	kit.dom = kfi_dom_get(&init_net, kit.info, THIS_MODULE);
	KUNIT_ASSERT_FALSE(test, IS_ERR(kit.dom));
	return 0;
}

static void kit_exit(struct kunit *test)
{
	kfi_conn_close(&kit.client);
	if (!IS_ERR_OR_NULL(kit.dom))
		kfi_dom_put(kit.dom);
	kfi_freeinfo(kit.info);
	kfi_listener_close(&kit.listener);
	kfi_listener_wait(&kit.listener);
	destroy_workqueue(kit.ops.end_wq);
}

/*
 * One of two receives is kept, so one message arrives, and the other waits. The kept one has its
 * message until it is given back, and receives then.
 */
static void kept_over_a_reconnect(struct kunit *test)
{
	kit_stopped(test);
	client_connects(test);
	server_sends(test, 'B');
	server_sends(test, 'C');
	KUNIT_ASSERT_TRUE(test, message_comes());
	schedule_timeout_uninterruptible(HZ / 20);
	KUNIT_EXPECT_EQ(test, 2U, kit.n);
	KUNIT_EXPECT_TRUE(test, holds(kit.kept[0], 'A'));
	KUNIT_EXPECT_TRUE(test, holds(kit.kept[1], 'B'));
	kfi_rx_done(&kit.kept[0]->rx);
	KUNIT_ASSERT_TRUE(test, message_comes());
	KUNIT_EXPECT_PTR_EQ(test, kit.kept[0], kit.kept[2]);
	KUNIT_EXPECT_TRUE(test, holds(kit.kept[2], 'C'));
	KUNIT_EXPECT_EQ(test, 0U, kit.lost);
}

static void both_receive(struct kunit *test)
{
	server_sends(test, 'B');
	server_sends(test, 'C');
	KUNIT_ASSERT_TRUE(test, message_comes());
	KUNIT_ASSERT_TRUE(test, message_comes());
	KUNIT_EXPECT_PTR_NE(test, kit.kept[1], kit.kept[2]);
	KUNIT_EXPECT_EQ(test, 0U, kit.lost);
}

static void given_back_when_stopped(struct kunit *test)
{
	kit_stopped(test);
	kfi_rx_done(&kit.kept[0]->rx);
	client_connects(test);
	both_receive(test);
}

/* The receives are posted, but the connection is not open yet. */
static void given_back_in_a_connect(struct kunit *test)
{
	kit_stopped(test);
	kit.early = kit.kept[0];
	client_connects(test);
	both_receive(test);
}

static void replied(struct kfi_rw *rw, int err)
{
	struct kept *kept = container_of(rw, struct kept, rw);

	kept->err = err;
	kept->calls++;
	kfi_rx_done(&kept->rx);
}

static void reply(struct kept *kept)
{
	static const char answer[LEN];

	kept->calls = 0;
	kept->rw.done = replied;
	kfi_rw_reply(&kept->rw, NULL, 0, answer, LEN, false);
}

/* An answer to the peer of a former connection goes nowhere. The next connection works. */
static void late_reply(struct kunit *test)
{
	struct kept *kept;

	kit_stopped(test);
	client_connects(test);
	kept = kit.kept[0];
	reply(kept);
	KUNIT_EXPECT_EQ(test, 1U, kept->calls);
	KUNIT_EXPECT_EQ(test, -ESHUTDOWN, kept->err);
	both_receive(test);
	kept = kit.kept[1];
	reply(kept);
	KUNIT_EXPECT_EQ(test, 1U, kept->calls);
	KUNIT_EXPECT_EQ(test, 0, kept->err);
	KUNIT_EXPECT_TRUE(test, wait_for_completion_timeout(&kit.answered, msecs_to_jiffies(MS)));
	KUNIT_EXPECT_EQ(test, 1U, kit.answers);
	KUNIT_EXPECT_EQ(test, 0U, kit.lost);
}

/* The server does not answer. */
static void client_asks(struct kunit *test)
{
	static const char msg[LEN];

	KUNIT_ASSERT_TRUE(test, kfi_conn_enter(&kit.client));
	kfi_req_begin(&kit.req, &kit.client, 0);
	KUNIT_EXPECT_EQ(test, 0, kfi_req_send(&kit.req, msg, LEN, NULL, 0, 0));
	kfi_conn_exit(&kit.client);
}

/* The time of a request runs out when its connection has been replaced: the new one is not to blame. */
static void late_timeout(struct kunit *test)
{
	client_connects(test);
	client_asks(test);
	kfi_conn_stop(&kit.client);
	kfi_req_fail(&kit.req, -ETIMEDOUT);
	client_connects(test);
	kfi_req_fail(&kit.req, -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, 0U, kit.lost);
	client_asks(test);
	kfi_req_fail(&kit.req, -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, 1U, kit.lost);
}

static struct kunit_case kit_cases[] = {
	KUNIT_CASE(kept_over_a_reconnect),
	KUNIT_CASE(given_back_when_stopped),
	KUNIT_CASE(given_back_in_a_connect),
	KUNIT_CASE(late_reply),
	KUNIT_CASE(late_timeout),
	{}
};

static struct kunit_suite kit_suite = {
	.name = "kfi_kit",
	.init = kit_init,
	.exit = kit_exit,
	.test_cases = kit_cases,
};
kunit_test_suite(kit_suite);
