// SPDX-License-Identifier: GPL-2.0
/*
 * plug.c - the driver of the service "kfabric" that other hosts offer: cables that are plugged and
 * pulled, machines that go to sleep, host interfaces that go, and our own offer.
 */
#include <linux/module.h>
#include <linux/pm.h>
#include <linux/utsname.h>
#include "usb4.h"

#define U4_KEY		"kfabric"
#define U4_REST		(5 * HZ)	/* time for the end of a life */

/* ---- our offer ---- */

static DEFINE_MUTEX(u4_publish_lock);
static struct tb_property_dir *u4_dir;
static bool u4_published;
static unsigned long u4_publish_at;	/* not again before this time (jiffies) */
static char u4_published_as[U4_HOST];	/* the core has put this name of the host beside it */

static const uuid_t u4_dir_uuid =
	UUID_INIT(0x8d2b6a41, 0x5b0f, 0x4f7e, 0x8e, 0x11, 0x6b, 0x66, 0x61, 0x62, 0x72, 0x63);

static int u4_publish(void)
{
	int ret;

	strscpy(u4_published_as, init_utsname()->nodename, sizeof(u4_published_as));
	ret = tb_register_property_dir(U4_KEY, u4_dir);
	u4_published = !ret;
	u4_publish_at = jiffies + 2 * HZ;
	return ret;
}

static void u4_unpublish(void)
{
	if (u4_published)
		tb_unregister_property_dir(U4_KEY, u4_dir);
	u4_published = false;
}

static void u4_republish(bool renamed)
{
	char name[U4_HOST];

	strscpy(name, init_utsname()->nodename, sizeof(name));
	mutex_lock(&u4_publish_lock);
	if (u4_dir && time_after(jiffies, u4_publish_at) &&
	    (!renamed || strcmp(name, u4_published_as))) {
		u4_unpublish();
		if (u4_publish())
			pr_warn_ratelimited("kfi_usb4: other hosts can't be told of this one\n");
	}
	mutex_unlock(&u4_publish_lock);
}

void u4_publish_again(void)
{
	u4_republish(false);
}

void u4_publish_name(void)
{
	u4_republish(true);
}

static int u4_offer(void)
{
	int ret;

	mutex_lock(&u4_publish_lock);
	u4_dir = tb_property_create_dir(&u4_dir_uuid);
	ret = u4_dir ? 0 : -ENOMEM;
	ret = ret ?: tb_property_add_immediate(u4_dir, "prtcid", 1);
	ret = ret ?: tb_property_add_immediate(u4_dir, "prtcvers", U4W_VERSION);
	ret = ret ?: tb_property_add_immediate(u4_dir, "prtcrevs", 1);
	ret = ret ?: tb_property_add_immediate(u4_dir, "prtcstns", 0);
	ret = ret ?: u4_publish();
	mutex_unlock(&u4_publish_lock);
	return ret;
}

static void u4_withdraw(void)
{
	mutex_lock(&u4_publish_lock);
	u4_unpublish();
	if (u4_dir)
		tb_property_free_dir(u4_dir);
	u4_dir = NULL;
	mutex_unlock(&u4_publish_lock);
}

/* ---- ends ---- */

/*
 * End the life and begin none. u4_cable_work() may wait for tb->lock, and a context that holds it
 * for a lock that the caller has: so the time to wait is bounded.
 */
static void u4_rest(struct u4_cable *c)
{
	mutex_lock(&c->lock);
	WRITE_ONCE(c->rests, false);
	WRITE_ONCE(c->asleep, true);
	mutex_unlock(&c->lock);
	u4_cable_kick(c);
	wait_event_timeout(c->wait, READ_ONCE(c->rests) || READ_ONCE(c->gone), U4_REST);
}

/*
 * The host interface may be gone on return, so the rings and the mapped memory are freed, and
 * whoever wants to use them finds that out under &u4_cable.lock.
 */
static void u4_let_go(struct u4_cable *c)
{
	mutex_lock(&c->lock);
	WRITE_ONCE(c->gone, true);
	u4_rings_stop(c);
	u4_rings_free(c);
	mutex_unlock(&c->lock);
	mutex_lock(&c->ask_lock);
	mutex_unlock(&c->ask_lock);
	wake_up_all(&c->wait);
}

/* ---- host interfaces that go ---- */

/* The core frees all paths with the host interface. */
static void u4_host_gone(struct u4_cable *c)
{
	u4_rest(c);
	u4_let_go(c);
	flush_delayed_work(&c->work);
	c->late = false;
}

/*
 * A host interface is about to lose its driver, and with it goes the core's memory of this domain.
 * The core does not wait for calls of ours that are under way. u4_remove() can't wait for them,
 * since it may be called under tb->lock, and some kernels do not call it at all. Here nobody holds
 * that lock.
 */
static int u4_host_notify(struct notifier_block *nb, unsigned long event, void *dev)
{
	if (event == BUS_NOTIFY_UNBIND_DRIVER)
		u4_cables_each(u4_host_gone, dev);
	return NOTIFY_DONE;
}

static struct notifier_block u4_host_nb = { .notifier_call = u4_host_notify };
static DEFINE_MUTEX(u4_host_lock);		/* protects u4_host_bus */
static typeof_member(struct device, bus) u4_host_bus;	/* of all host interfaces */

static void u4_host_watch(struct device *dma)
{
	mutex_lock(&u4_host_lock);
	if (!u4_host_bus && !bus_register_notifier(dma->bus, &u4_host_nb))
		u4_host_bus = dma->bus;
	mutex_unlock(&u4_host_lock);
}

/* No cable is left. */
static void u4_host_unwatch(void)
{
	if (u4_host_bus)
		bus_unregister_notifier(u4_host_bus, &u4_host_nb);
}

/* ---- plugs and pulls ---- */

static int u4_probe(struct tb_service *svc)
{
	struct u4_cable *c = u4_cable_new(svc);
	int ret;

	if (!c)
		return -ENOMEM;
	if (uuid_equal(c->xd->local_uuid, c->xd->remote_uuid)) {
		dev_warn(&svc->dev, "the host has the UUID of this one\n");
		ret = -ENODEV;
		goto free;
	}
	mutex_lock(&c->lock);
	ret = u4_rings_alloc(c);
	mutex_unlock(&c->lock);
	if (ret) {
		dev_warn(&svc->dev, "no rings for kfi_usb4 (%d)\n", ret);
		goto free;
	}
	u4_host_watch(c->dma);
	u4_cable_place(c);
	u4_way_await(c);
	tb_service_set_drvdata(svc, c);
	u4_cable_list(c);
	u4_names_watch();
	u4_cable_kick(c);
	return 0;

free:
	u4_cable_put(c);
	return ret;
}

/* u4_cable_work() does the rest. */
static void u4_remove(struct tb_service *svc)
{
	struct u4_cable *c = tb_service_get_drvdata(svc);

	u4_let_go(c);
	u4_cable_remove(c);
}

/* ---- sleep ---- */

static int u4_suspend(struct device *dev)
{
	struct u4_cable *c = tb_service_get_drvdata(tb_to_service(dev));

	u4_rest(c);
	/* They must not run while the host interface sleeps, whatever u4_cable_work() waits for. */
	mutex_lock(&c->lock);
	u4_rings_stop(c);
	mutex_unlock(&c->lock);
	return 0;
}

static int u4_resume(struct device *dev)
{
	struct u4_cable *c = tb_service_get_drvdata(tb_to_service(dev));

	WRITE_ONCE(c->asleep, false);
	u4_cable_kick(c);
	return 0;
}

static DEFINE_SIMPLE_DEV_PM_OPS(u4_pm, u4_suspend, u4_resume);

/* The machine reboots: the peer need not find that out by itself. */
static void u4_shutdown(struct tb_service *svc)
{
	struct u4_cable *c = tb_service_get_drvdata(svc);

	u4_rest(c);
	u4_let_go(c);
}

/* ---- the driver ---- */

static const struct tb_service_id u4_ids[] = {
	{ TB_SERVICE(U4_KEY, 1) },
	{ },
};
MODULE_DEVICE_TABLE(tbsvc, u4_ids);

static struct tb_service_driver u4_driver = {
	.driver = {
		.owner	= THIS_MODULE,
		.name	= "kfi_usb4",
		.pm	= pm_sleep_ptr(&u4_pm),
	},
	.probe		= u4_probe,
	.remove		= u4_remove,
	.shutdown	= u4_shutdown,
	.id_table	= u4_ids,
};

/* The driver comes last: when a cable was probed, nothing fails any more. */
int u4_plug_init(void)
{
	int ret = u4_offer() ?: tb_register_service_driver(&u4_driver);

	if (ret)
		u4_withdraw();
	return ret;
}

/*
 * The work item of the core that calls u4_message() has come to its end. Any host can send a
 * message, also one without a cable of ours, so this is called for all devices of the core. The
 * core has no call that waits for this: without it the module might go while its code runs.
 */
static int u4_flush_messages(struct device *dev, void *unused)
{
	struct tb_ring *control;

	if (!dev->type || strcmp(dev->type->name, "thunderbolt_domain"))
		return 0;
	control = container_of(dev, struct tb, dev)->nhi->rx_rings[0];
	if (control)
		flush_work(&control->work);
	return 0;
}

/* Lives end in order, so that peers are told. No message is handled after this. */
void u4_plug_exit(void)
{
	u4_cables_each(u4_rest, NULL);
	u4_withdraw();
	u4_login_exit();
	bus_for_each_dev(u4_driver.driver.bus, NULL, NULL, u4_flush_messages);
	tb_unregister_service_driver(&u4_driver);
	flush_workqueue(u4_wq);		/* cables leave the list */
	u4_host_unwatch();
}
