// SPDX-License-Identifier: GPL-2.0
/* Listeners of the kit for ULPs (kfi/ulp/listener.c) over kfi_loop, whose devices go and come back. */
#include "fake.h"
#include "ulp_kit.h"

#define EAR_SERVICE	"4471"

/**
 * struct ear - a listener, and a caller
 * @calls: calls that it was told of, all of which it refuses
 * @fab: the fabric of the listener
 * @info: what the caller has found
 */
static struct ear {
	struct kfi_listener	listener;
	atomic_t		calls;
	struct kfi_fab		*fab;
	struct kfi_info		*info;
	struct kfi_conn		conn;
} ear;

static const struct kfi_need ear_need = {
	.provider = "loop", .type = KFI_EP_MSG, .max_len = 64, .inject = 64,
	.order = KFI_ORDER_SAS | KFI_ORDER_SAW,
};

static int ear_called(struct kfi_caller *caller)
{
	atomic_inc(&ear.calls);
	return -EACCES;
}

static void ear_received(struct kfid_cq *cq, struct kfi_cqe *cqe, const struct kfi_cq_err_entry *wc)
{
}

static const struct kfi_conn_ops ear_conn_ops = { .received = ear_received };

/* Does the listener get calls? */
static bool ear_hears(struct kunit *test)
{
	static const struct kfi_conn_attr attr = {
		.depth = 1, .rx_len = 64, .tx_len = 64, .where = KFI_CONN_SOFTIRQ,
	};
	struct kfi_dom *dom = kfi_dom_get(&init_net, ear.info, THIS_MODULE);
	int was = atomic_read(&ear.calls);

	KUNIT_ASSERT_FALSE(test, IS_ERR(dom));
	kfi_conn_init(&ear.conn, &ear_conn_ops);
	KUNIT_EXPECT_EQ(test, 0, kfi_conn_open(&ear.conn, dom, ear.info, &attr));
	KUNIT_EXPECT_LT(test, kfi_conn_connect(&ear.conn, ear.info->dest_addr, NULL, 0, NULL, NULL,
					       5000), 0);
	kfi_conn_close(&ear.conn);
	kfi_dom_put(dom);
	return atomic_read(&ear.calls) != was;
}

/* The passive endpoint, or NULL */
static struct kfi_pep *ear_pep(void)
{
	struct kfi_fabric *fabric = container_of(ear.fab->fabric, struct kfi_fabric, fid);
	struct kfi_pep *pep;

	mutex_lock(&fabric->lock);
	pep = list_first_entry_or_null(&fabric->peps, struct kfi_pep, obj.entry);
	mutex_unlock(&fabric->lock);
	return pep;
}

/* The device goes: the listener closes its passive endpoint. */
static void ear_lose(struct kunit *test)
{
	struct kfi_pep *pep = ear_pep();
	int device;

	KUNIT_ASSERT_NOT_NULL(test, pep);
	mutex_lock(&pep->lock);
	pep->device = &device;
	mutex_unlock(&pep->lock);
	kit_no_device = true;
	kfi_device_gone(&device);
	KUNIT_EXPECT_TRUE(test, fake_soon(!ear_pep()));
}

static int ear_init(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, 0, kfi_find(&init_net, &ear_need, NULL, "loop", EAR_SERVICE,
					  &ear.info));
	ear.fab = kfi_fab_get(&init_net, ear.info, THIS_MODULE, NULL);
	KUNIT_ASSERT_FALSE(test, IS_ERR(ear.fab));
	kfi_listeners_init();
	ear.listener.called = ear_called;
	KUNIT_ASSERT_EQ(test, 0, kfi_listener_open(&ear.listener, &init_net, &ear_need, "loop",
						   EAR_SERVICE, THIS_MODULE));
	return 0;
}

static void ear_exit(struct kunit *test)
{
	kfi_listener_close(&ear.listener);
	kfi_listener_wait(&ear.listener);
	kfi_listeners_exit();
	kit_no_device = false;
	KUNIT_EXPECT_PTR_EQ(test, NULL, ear_pep());
	kfi_fab_put(ear.fab);
	kfi_freeinfo(ear.info);
	memset(&ear, 0, sizeof(ear));
}

/* It listens at the address again as soon as that has a device, and only then. */
static void device_back(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_TRUE(test, ear_hears(test));
		ear_lose(test);
		KUNIT_EXPECT_FALSE(test, ear_hears(test));
		kfi_device_new();		/* another one */
		flush_delayed_work(&ear.listener.again);
		KUNIT_EXPECT_PTR_EQ(test, NULL, ear_pep());
		kit_no_device = false;
		kfi_device_new();
		flush_delayed_work(&ear.listener.again);
	}
	KUNIT_EXPECT_TRUE(test, ear_hears(test));
}

/* A provider may have the address later than it reports the device. */
static void address_later(struct kunit *test)
{
	ear_lose(test);
	kfi_device_new();
	flush_delayed_work(&ear.listener.again);
	kit_no_device = false;
	KUNIT_EXPECT_TRUE(test, delayed_work_pending(&ear.listener.again));
	flush_delayed_work(&ear.listener.again);	/* as if the time was over */
	KUNIT_EXPECT_TRUE(test, ear_hears(test));
	KUNIT_EXPECT_FALSE(test, delayed_work_pending(&ear.listener.again));
}

/* The listener is closed while there is no device. */
static void closed_without(struct kunit *test)
{
	ear_lose(test);
	KUNIT_EXPECT_FALSE(test, ear_hears(test));
}

KFI_SUITE_IN(kfi_ulp_listener, ear_init, ear_exit,
	KUNIT_CASE(device_back),
	KUNIT_CASE(address_later),
	KUNIT_CASE(closed_without));
