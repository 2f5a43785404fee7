// SPDX-License-Identifier: GPL-2.0
/* Listeners of the kit for ULPs (kfi/ulp/listener.c) over kfi_loop, whose devices go and come back. */
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include "fake.h"
#include "ulp_kit.h"

#define EAR_SERVICE	"4471"
#define EAR_LOOKS	3		/* of a listener that waits, after an event */

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
	KUNIT_ASSERT_EQ(test, 0, kfi_listeners_init());
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

/* Open the listener anew, as one that waits. */
static void ear_waits(struct kunit *test)
{
	kfi_listener_close(&ear.listener);
	kfi_listener_wait(&ear.listener);
	ear.listener.wait = true;
	KUNIT_ASSERT_EQ(test, 0, kfi_listener_open(&ear.listener, &init_net, &ear_need, "loop",
						   EAR_SERVICE, THIS_MODULE));
}

/* It looks as often as it would in the next seconds; once at least, if it has a reason. */
static void ear_looks(unsigned int times)
{
	while (times--)
		flush_delayed_work(&ear.listener.again);
}

/* It looks once, with a reason or without. */
static void ear_looks_once(void)
{
	mod_delayed_work(system_long_wq, &ear.listener.again, 1000 * HZ);
	flush_delayed_work(&ear.listener.again);
}

/* A listener that waits is opened before there is a device; then that goes and comes back. */
static void device_later(struct kunit *test)
{
	kit_no_device = true;
	ear_waits(test);
	kfi_device_new();			/* another one */
	ear_looks(2 * EAR_LOOKS);
	KUNIT_EXPECT_FALSE(test, ear_hears(test));
	KUNIT_EXPECT_TRUE(test, delayed_work_pending(&ear.listener.again));
	kit_no_device = false;
	kfi_device_new();
	ear_looks(1);
	KUNIT_EXPECT_TRUE(test, ear_hears(test));
	ear_lose(test);
	kit_no_device = false;
	kfi_device_new();
	ear_looks(1);
	KUNIT_EXPECT_TRUE(test, ear_hears(test));
	KUNIT_EXPECT_TRUE(test, list_is_singular(&ear.listener.places));
	KUNIT_EXPECT_TRUE(test, delayed_work_pending(&ear.listener.again));
	ear_looks(EAR_LOOKS - 1);
	KUNIT_EXPECT_FALSE(test, delayed_work_pending(&ear.listener.again));
}

/*
 * An address goes, and its device stays: a listener that waits keeps it over queries that find
 * nothing for less than ten seconds, however many there are, closes it after that, and listens
 * there when it is back.
 */
static void address_gone(struct kunit *test)
{
	unsigned int i;

	ear_waits(test);
	ear_looks(EAR_LOOKS);
	for (i = 0; i < 2; i++) {
		kit_no_device = true;
		ear_looks_once();
		kit_looked_before(&ear.listener, 9 * HZ);
		kit_no_device = false;
		ear_looks_once();
	}
	kit_no_device = true;
	for (i = 0; i < 2 * EAR_LOOKS; i++)
		ear_looks_once();
	KUNIT_EXPECT_TRUE(test, ear_hears(test));
	KUNIT_EXPECT_TRUE(test, delayed_work_pending(&ear.listener.again));
	kit_looked_before(&ear.listener, 10 * HZ);
	ear_looks_once();
	KUNIT_EXPECT_FALSE(test, ear_hears(test));
	KUNIT_EXPECT_TRUE(test, list_empty(&ear.listener.places));
	kit_no_device = false;
	ear_looks_once();
	KUNIT_EXPECT_TRUE(test, ear_hears(test));
}

/* An interface or an address comes: listeners of its namespace look at once. */
static void interface_event(struct kunit *test)
{
	struct net_device *dev = init_net.loopback_dev;

	ear_waits(test);
	ear_looks(EAR_LOOKS);
	KUNIT_EXPECT_FALSE(test, delayed_work_pending(&ear.listener.again));
	kit_no_device = true;
	rtnl_lock();
	call_netdevice_notifiers(NETDEV_CHANGENAME, dev);
	rtnl_unlock();
	ear_looks(1);
	kit_looked_before(&ear.listener, 10 * HZ);
	ear_looks(1);
	KUNIT_EXPECT_FALSE(test, ear_hears(test));
}

/* The listener is closed before the device has come. */
static void closed_before(struct kunit *test)
{
	static struct kfi_listener early;

	kit_no_device = true;
	early = (struct kfi_listener){ .called = ear_called, .wait = true };
	KUNIT_ASSERT_EQ(test, 0, kfi_listener_open(&early, &init_net, &ear_need, "later",
						   EAR_SERVICE, THIS_MODULE));
	kfi_listener_close(&early);
	kfi_listener_wait(&early);
	kit_no_device = false;
	kfi_device_new();
	KUNIT_EXPECT_TRUE(test, list_empty(&early.places));
}

/* What can't come is refused at once. */
static void never(struct kunit *test)
{
	static const char * const nodes[] = {
		"", "two words", "10.0.0", "10.0.0.256", "224.0.0.1", "fd00::x", "ff02::1",
	};
	static struct kfi_listener none;
	struct kfi_need need = ear_need;
	unsigned int i;

	kit_no_device = true;
	none = (struct kfi_listener){ .called = ear_called, .wait = true };
	for (i = 0; i < ARRAY_SIZE(nodes); i++)
		KUNIT_EXPECT_EQ_MSG(test, -EINVAL,
				    kfi_listener_open(&none, &init_net, &need, nodes[i],
						      EAR_SERVICE, THIS_MODULE),
				    "%s", nodes[i]);
	KUNIT_EXPECT_EQ(test, -EINVAL, kfi_listener_open(&none, &init_net, &need, "loop",
							 "nosuch", THIS_MODULE));
	KUNIT_EXPECT_EQ(test, -EINVAL, kfi_listener_open(&none, &init_net, &need, "10.0.0.1",
							 "65536", THIS_MODULE));
	need.provider = "nobody";
	KUNIT_EXPECT_EQ(test, -ENODATA, kfi_listener_open(&none, &init_net, &need, "loop",
							  EAR_SERVICE, THIS_MODULE));
	kit_no_device = false;
	need = ear_need;
	need.caps = KFI_PROTECTED;		/* it has the address, and no TLS */
	KUNIT_EXPECT_EQ(test, -ENODATA, kfi_listener_open(&none, &init_net, &need, "loop",
							  EAR_SERVICE, THIS_MODULE));
}

KFI_SUITE_IN(kfi_ulp_listener, ear_init, ear_exit,
	KUNIT_CASE(device_back),
	KUNIT_CASE(address_later),
	KUNIT_CASE(closed_without),
	KUNIT_CASE(device_later),
	KUNIT_CASE(address_gone),
	KUNIT_CASE(interface_event),
	KUNIT_CASE(closed_before),
	KUNIT_CASE(never));
