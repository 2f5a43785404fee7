// SPDX-License-Identifier: GPL-2.0
/* The client of ulps/example: which errors of a send end a request, and which repeat it. */
#include <kunit/test.h>
#include <linux/blk-mq.h>
#include <kfi_req.h>

static int sends;	/* what kfi_req_send() returns */

#define blk_mq_start_request(rq)	((void)(rq))
#define kfi_req_send(req, msg, len, data, n, flags) \
	((void)(req), (void)(msg), (void)(flags), sends)
#include "../../ulps/example/client.c"

static int ended;

struct ex_rq *ex_rq_find(unsigned int tag)
{
	return NULL;
}

void ex_rq_done(struct request *rq, int err)
{
	ended = err;
}

void ex_disk_pause(void)
{
}

void ex_disk_resume(void)
{
}

/* A request on a connection that is about to end, or without memory, is repeated. */
static void example_errors(struct kunit *test)
{
	static const int errs[][2] = {
		{ 0, 0 }, { -EAGAIN, -EAGAIN }, { -ESHUTDOWN, -EAGAIN }, { -ENODEV, -EAGAIN },
		{ -ENOMEM, -EAGAIN }, { -EINVAL, -EINVAL }, { -EMSGSIZE, -EMSGSIZE },
	};
	struct request *rq = kunit_kzalloc(test, sizeof(*rq) + sizeof(struct ex_rq), GFP_KERNEL);
	struct ex_rq *er = blk_mq_rq_to_pdu(rq);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, rq);
	rq->cmd_flags = REQ_OP_FLUSH;
	kfi_conn_init(&ex_conn, &ex_ops);
	KUNIT_EXPECT_EQ(test, -ENOTCONN, ex_send(rq, false));
	set_bit(KFI_CONN_OPEN, &ex_conn.flags);
	for (i = 0; i < ARRAY_SIZE(errs); i++) {
		sends = errs[i][0];
		KUNIT_EXPECT_EQ(test, errs[i][1], ex_send(rq, false));
		ex_req_done(&er->req, errs[i][0]);
		KUNIT_EXPECT_EQ(test, errs[i][1], ended);
	}
}

static struct kunit_case example_cases[] = {
	KUNIT_CASE(example_errors),
	{}
};

static struct kunit_suite example_suite = {
	.name = "kfi_example",
	.test_cases = example_cases,
};

kunit_test_suite(example_suite);
