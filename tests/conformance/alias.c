// SPDX-License-Identifier: GPL-2.0
/* Aliases: the same endpoint with other default flags. */
#include "harness.h"

static int alias_of(struct test *t, struct kfid_ep *ep, struct kfid_ep **alias, u64 flags)
{
	if (!EXPECT_EQ(t, kfi_ep_alias(ep, alias, flags), 0))
		return -EIO;
	test_keep(t, &(*alias)->fid);
	return 0;
}

/* The endpoint does not ask for completions, its alias does. */
static void defaults(struct test *t)
{
	struct node_opts opts = {
		.tx_bind = KFI_SELECTIVE_COMPLETION, .rx_bind = KFI_SELECTIVE_COMPLETION,
	};
	struct pair *p = pair_open(t, &opts, &opts);
	struct kfid_ep *tx, *rx;
	u8 *buf = test_zalloc(t, 128);
	comp_t c;

	REQUIRE(t, p && buf);
	REQUIRE(t, !alias_of(t, p->a.ep, &tx, KFI_TRANSMIT | KFI_COMPLETION));
	REQUIRE(t, !alias_of(t, p->b.ep, &rx, KFI_RECV | KFI_COMPLETION));
	REQUIRE(t, !POST(t, kfi_recv(p->b.ep, buf, 8, NULL, KFI_ADDR_UNSPEC, CTX(1))));
	REQUIRE(t, !POST(t, kfi_recv(rx, buf + 8, 8, NULL, KFI_ADDR_UNSPEC, CTX(2))));
	fill(buf + 64, 8, 1);
	fill(buf + 72, 8, 2);
	REQUIRE(t, !POST(t, kfi_send(p->a.ep, buf + 64, 8, NULL, p->a.peer, CTX(3))));
	REQUIRE(t, !POST(t, kfi_send(tx, buf + 72, 8, NULL, p->a.peer, CTX(4))));
	REQUIRE(t, !WAIT_TX(&p->a, &c));
	EXPECT_COMP(t, &c, CTX(4), KFI_MSG | KFI_SEND);
	REQUIRE(t, !WAIT_RX(&p->b, &c));
	EXPECT_COMP(t, &c, CTX(2), KFI_MSG | KFI_RECV);
	EXPECT_DATA(t, buf, 8, 1);
	EXPECT_DATA(t, buf + 8, 8, 2);
	NONE_TX(&p->a);
	NONE_RX(&p->b);
}

/* Flags of the endpoint and of its alias are independent. */
static void flags(struct test *t)
{
	struct pair *p = pair_open(t, NULL, NULL);
	struct kfid_ep *alias;
	u64 was = KFI_TRANSMIT, value;

	REQUIRE(t, p);
	REQUIRE_EQ(t, kfi_control(&p->a.ep->fid, KFI_GETOPSFLAG, &was), 0);
	REQUIRE(t, !alias_of(t, p->a.ep, &alias, KFI_TRANSMIT | KFI_COMPLETION | KFI_INJECT));
	value = KFI_TRANSMIT;
	EXPECT_EQ(t, kfi_control(&alias->fid, KFI_GETOPSFLAG, &value), 0);
	EXPECT_EQ(t, value, KFI_COMPLETION | KFI_INJECT);
	value = KFI_TRANSMIT | KFI_COMPLETION;
	EXPECT_EQ(t, kfi_control(&alias->fid, KFI_SETOPSFLAG, &value), 0);
	value = KFI_TRANSMIT;
	EXPECT_EQ(t, kfi_control(&alias->fid, KFI_GETOPSFLAG, &value), 0);
	EXPECT_EQ(t, value, KFI_COMPLETION);
	value = KFI_TRANSMIT;
	EXPECT_EQ(t, kfi_control(&p->a.ep->fid, KFI_GETOPSFLAG, &value), 0);
	EXPECT_EQ(t, value, was);
	value = KFI_TRANSMIT | KFI_MULTI_RECV;
	EXPECT_EQ(t, kfi_control(&alias->fid, KFI_SETOPSFLAG, &value), -KFI_EBADFLAGS);
	value = KFI_TRANSMIT | KFI_COMMIT_COMPLETE | KFI_MATCH_COMPLETE;
	EXPECT_EQ(t, kfi_control(&alias->fid, KFI_SETOPSFLAG, &value), -EOPNOTSUPP);
}

/* All other calls act on the endpoint. */
static void same(struct test *t)
{
	struct pair *p = pair_open(t, NULL, NULL);
	struct kfid_ep *alias, *second;
	u8 *buf = test_zalloc(t, 64);
	size_t min = 4711, len = sizeof(min);
	u8 name[2][128];
	size_t size[2] = { sizeof(name[0]), sizeof(name[1]) };
	comp_t c;

	REQUIRE(t, p && buf && !alias_of(t, p->b.ep, &alias, KFI_RECV | KFI_COMPLETION));
	EXPECT_EQ(t, kfi_enable(alias), -EINVAL);
	EXPECT_EQ(t, kfi_ep_bind(alias, &p->b.rxcq->fid, KFI_RECV), -KFI_EOPBADSTATE);
	EXPECT_EQ(t,
		  kfi_setopt(&alias->fid, KFI_OPT_ENDPOINT, KFI_OPT_MIN_MULTI_RECV, &min,
			     sizeof(min)),
		  0);
	min = 0;
	EXPECT_EQ(t,
		  kfi_getopt(&p->b.ep->fid, KFI_OPT_ENDPOINT, KFI_OPT_MIN_MULTI_RECV, &min, &len),
		  0);
	EXPECT_EQ(t, min, 4711);
	EXPECT_EQ(t, kfi_getname(&alias->fid, name[0], &size[0]), 0);
	EXPECT_EQ(t, kfi_getname(&p->b.ep->fid, name[1], &size[1]), 0);
	EXPECT(t, size[0] == size[1] && !memcmp(name[0], name[1], size[0]));
	/* A receive that was posted by one can be cancelled by the other. */
	REQUIRE(t, !POST(t, kfi_recv(p->b.ep, buf, 8, NULL, KFI_ADDR_UNSPEC, CTX(1))));
	EXPECT_EQ(t, kfi_cancel(&alias->fid, CTX(1)), 0);
	REQUIRE(t, !WAIT_RX(&p->b, &c));
	EXPECT_ERR(t, &c, CTX(1), ECANCELED);
	/* An alias of an alias is an alias of the endpoint. */
	REQUIRE(t, !alias_of(t, alias, &second, KFI_TRANSMIT));
	EXPECT_EQ(t, kfi_close(&p->b.ep->fid), -EBUSY);
	EXPECT_EQ(t, test_close(t, &alias->fid), 0);
	EXPECT_EQ(t, kfi_close(&p->b.ep->fid), -EBUSY);
	REQUIRE(t, !POST(t, kfi_recv(second, buf, 64, NULL, KFI_ADDR_UNSPEC, CTX(2))));
	REQUIRE(t, !POST(t, kfi_send(p->a.ep, buf, 8, NULL, p->a.peer, CTX(3))));
	REQUIRE(t, !WAIT_RX(&p->b, &c));
	EXPECT_COMP(t, &c, CTX(2), KFI_MSG | KFI_RECV);
	EXPECT_EQ(t, test_close(t, &second->fid), 0);
	EXPECT_EQ(t, test_close(t, &p->b.ep->fid), 0);
}

static void refused(struct test *t)
{
	struct pair *p = pair_open(t, NULL, NULL);
	struct kfid *fid;

	REQUIRE(t, p);
	EXPECT_EQ(t, kfi_alias(&p->a.ep->fid, &fid, 0), -EINVAL);
	EXPECT_EQ(t, kfi_alias(&p->a.ep->fid, &fid, KFI_TRANSMIT | KFI_RECV), -EINVAL);
	EXPECT_EQ(t, kfi_alias(&p->a.ep->fid, NULL, KFI_TRANSMIT), -EINVAL);
	EXPECT_EQ(t, kfi_alias(&p->a.ep->fid, &fid, KFI_RECV | KFI_INJECT), -KFI_EBADFLAGS);
	EXPECT_EQ(t, kfi_alias(&p->a.rxcq->fid, &fid, KFI_RECV), -EOPNOTSUPP);
	EXPECT_EQ(t, kfi_alias(&p->a.domain->fid, &fid, KFI_RECV), -EOPNOTSUPP);
}

const struct test_case alias_cases[] = {
	{ "alias.defaults", T_ALL, 0, C_MSG, defaults },
	{ "alias.flags", T_ALL, 0, C_MSG, flags },
	{ "alias.same", T_ALL, CASE_MATCHING, C_MSG, same },
	{ "alias.refused", T_ALL, 0, C_MSG, refused },
	{ }
};
