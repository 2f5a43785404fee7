/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The part of ulp_test.c with the cases of calls that wait for no answer, and of domains: who waits
 * for whom when they are opened and closed.
 */

static int kit_dial(unsigned int i)
{
	struct kit_client *c = &kit.clients[i];

	c->answered = 0;
	return kfi_conn_open(&c->conn, kit.dom, kit.info, &kit.client) ?:
	       kfi_conn_dial(&c->conn, kit.info->dest_addr, NULL, 0, NULL, NULL);
}

static void kit_let(bool *hold)
{
	WRITE_ONCE(*hold, false);
	wake_up_all(&kit.held);
}

/* A call waits for its answer in no task, and ends when nobody waits for it any longer. */
static void kit_dials(struct kunit *test)
{
	struct kit_client *c = &kit.clients[0];

	KUNIT_EXPECT_EQ(test, -ENOTCONN, kfi_conn_dialed(&c->conn));
	kit.lie = &kit_truth;
	kit.hold_call = true;
	KUNIT_ASSERT_EQ(test, 0, kit_dial(0));
	msleep(20);
	KUNIT_EXPECT_FALSE(test, kfi_conn_answered(&c->conn));
	KUNIT_EXPECT_EQ(test, -ETIMEDOUT, kfi_conn_dialed(&c->conn));
	KUNIT_EXPECT_EQ(test, 0, c->answered);

	KUNIT_ASSERT_EQ(test, 0, kit_dial(0));
	kfi_conn_cancel(&c->conn);
	KUNIT_EXPECT_EQ(test, 1, c->answered);
	KUNIT_EXPECT_EQ(test, -ECANCELED, kfi_conn_dialed(&c->conn));
	kit_let(&kit.hold_call);

	KUNIT_ASSERT_EQ(test, 0, kit_dial(0));
	KUNIT_EXPECT_TRUE(test, fake_soon(READ_ONCE(c->answered)));
	KUNIT_EXPECT_TRUE(test, kfi_conn_answered(&c->conn));
	KUNIT_ASSERT_EQ(test, 0, kfi_conn_dialed(&c->conn));
	KUNIT_ASSERT_EQ(test, 0, kit_request(0, true, false));
	KUNIT_EXPECT_TRUE(test, fake_soon(READ_ONCE(kit.rqs[0].done)));
	KUNIT_EXPECT_EQ(test, 0, c->lost);
}

static void kit_open_other(struct work_struct *work)
{
	struct kfi_dom *dom = kfi_dom_get(&init_net, kit.info, NULL);	/* another module's */

	if (!IS_ERR(dom))
		kfi_dom_put(dom);
}

static DECLARE_WORK(kit_open_other_work, kit_open_other);

static void kit_reopen(struct work_struct *work)
{
	struct kfi_dom *dom = kfi_dom_get(&init_net, kit.info, THIS_MODULE);

	if (!IS_ERR(dom))
		kfi_dom_put(dom);
}

static DECLARE_WORK(kit_reopen_work, kit_reopen);

static void kit_closing(struct kfi_dom *dom)
{
	schedule_work(&kit_reopen_work);
	KUNIT_EXPECT_TRUE(kit.test, fake_soon(!work_busy(&kit_reopen_work)));
}

/* A task that opens a domain for long makes no other module, and no other namespace, wait. */
static void kit_opens_alone(struct kunit *test)
{
	struct kfi_dom *dom;

	kit.hold_open = true;
	schedule_work(&kit_open_other_work);
	KUNIT_EXPECT_TRUE(test, fake_soon(READ_ONCE(kit.opening)));
	schedule_work(&kit_reopen_work);
	KUNIT_EXPECT_TRUE(test, fake_soon(!work_busy(&kit_reopen_work)));
	kit_let(&kit.hold_open);
	flush_work(&kit_open_other_work);
	flush_work(&kit_reopen_work);
	dom = kfi_dom_get(&init_net, kit.info, THIS_MODULE);
	KUNIT_EXPECT_PTR_EQ(test, kit.dom, dom);
	kfi_dom_put(dom);
}

static void kit_open_fabric(struct work_struct *work)
{
	struct kfid_fabric *fabric;

	if (!kfi_fabric_net(&init_net, kit.info->fabric_attr, &fabric, NULL))
		kfi_close(&fabric->fid);
}

static DECLARE_WORK(kit_open_fabric_work, kit_open_fabric);

static int kit_walk(struct kfi_ep *ep, void *arg)
{
	schedule_work(&kit_open_fabric_work);
	KUNIT_EXPECT_TRUE(kit.test, fake_soon(!work_busy(&kit_open_fabric_work)));
	return 1;
}

/* A walk over the fabrics of a namespace, or their end, stops no task that opens another one. */
static void kit_walks_alone(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, 0, kit_connect(0));
	KUNIT_EXPECT_EQ(test, 1, kfi_walk_eps(&init_net, kit_walk, NULL));
	flush_work(&kit_open_fabric_work);
}

/* A domain belongs to those whose account pays for it. */
static void kit_domains_paid(struct kunit *test)
{
	static const unsigned int max_mib = 1;
	atomic_long_t bytes = ATOMIC_LONG_INIT(0);
	struct kfi_account account = { .bytes = &bytes, .max_mib = &max_mib };
	struct kfi_dom *dom, *same;

	dom = kfi_dom_get_paid(&init_net, kit.info, THIS_MODULE, &account);
	same = kfi_dom_get_paid(&init_net, kit.info, THIS_MODULE, &account);
	KUNIT_ASSERT_FALSE(test, IS_ERR(dom) || IS_ERR(same));
	KUNIT_EXPECT_PTR_EQ(test, dom, same);
	KUNIT_EXPECT_PTR_NE(test, dom, kit.dom);
	KUNIT_EXPECT_PTR_EQ(test, &account, kfi_to_domain(dom->domain)->account);
	KUNIT_EXPECT_PTR_EQ(test, NULL, kfi_to_domain(kit.dom->domain)->account);
	kfi_dom_put(same);
	KUNIT_EXPECT_EQ(test, 0, kfi_conn_open(&kit.clients[0].conn, dom, kit.info, &kit.client));
	KUNIT_EXPECT_GT(test, atomic_long_read(&bytes), 0);
	kfi_conn_close(&kit.clients[0].conn);
	KUNIT_EXPECT_EQ(test, 0, atomic_long_read(&bytes));
	kfi_dom_put(dom);
}

/* The close of a domain may wait for a task that opens a domain. */
static void kit_domain_closes(struct kunit *test)
{
	kit.dom->closing = kit_closing;
	kfi_dom_put(kit.dom);
	flush_work(&kit_reopen_work);
	kit.dom = kfi_dom_get(&init_net, kit.info, THIS_MODULE);
	KUNIT_EXPECT_PTR_EQ(test, NULL, kit.dom->closing);
}

/* One that can't be opened takes nothing from others, and one without its device is replaced. */
static void kit_domains_shared(struct kunit *test)
{
	struct kfi_domain_attr *attr = kit.info->domain_attr;
	struct kfi_dom *old = kit.dom, *other;
	int device;

	attr->mr_mode ^= KFI_MR_VIRT_ADDR;	/* for another domain */
	attr->auth_key_size = 1;		/* without a key */
	other = kfi_dom_get(&init_net, kit.info, THIS_MODULE);
	KUNIT_EXPECT_EQ(test, -EINVAL, PTR_ERR_OR_ZERO(other));
	attr->auth_key_size = 0;
	other = kfi_dom_get(&init_net, kit.info, THIS_MODULE);
	attr->mr_mode ^= KFI_MR_VIRT_ADDR;
	KUNIT_ASSERT_FALSE(test, IS_ERR(other));
	kfi_to_domain(old->domain)->device = &device;
	kfi_device_gone(&device);
	kit.dom = kfi_dom_get(&init_net, kit.info, THIS_MODULE);
	KUNIT_EXPECT_PTR_NE(test, old, kit.dom);
	KUNIT_EXPECT_TRUE(test, old->fab == other->fab && other->fab == kit.dom->fab);
	kfi_dom_put(old);
	kfi_dom_put(other);
}
