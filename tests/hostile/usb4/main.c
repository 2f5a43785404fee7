// SPDX-License-Identifier: GPL-2.0
/*
 * main.c - the module: its driver takes the service that kfi_usb4 was unbound from, and the cases
 * run while the module is loaded.
 */
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/slab.h>
#include "hostile.h"

static char *only = "";
module_param(only, charp, 0444);
MODULE_PARM_DESC(only, "this case alone (default: all)");

static ulong seed;
module_param(seed, ulong, 0444);
MODULE_PARM_DESC(seed, "of random numbers");

static const struct hu_case {
	const char	*name;
	bool		(*run)(struct hu *hu);
} cases[] = {
	{ "random",		hu_random },
	{ "random_records",	hu_random_records },
	{ "headers",		hu_headers },
	{ "cut",		hu_cut },
	{ "contents",		hu_contents },
	{ "many_records",	hu_many_records },
	{ "asks",		hu_asks },
	{ "gaps",		hu_gaps },
	{ "duplicates",		hu_duplicates },
	{ "unacknowledged",	hu_unacknowledged },
	{ "calls",		hu_calls },
	{ "windows",		hu_windows },
	{ "unknown",		hu_unknown },
	{ "streams",		hu_streams },
	{ "strangers",		hu_strangers },
	{ "ignored",		hu_ignored },
	{ "versions",		hu_versions },
	{ "hops",		hu_hops },
	{ "incarnations",	hu_incarnations },
	{ "logouts",		hu_logouts },
	{ "replies",		hu_replies },
	{ "unasked",		hu_unasked },
	{ "names",		hu_names },
	{ "resumes",		hu_resumes },
	{ "lies",		hu_lies },
	{ "returns",		hu_returns },
	{ "turns",		hu_turns },
	{ "silent",		hu_silent },
	{ "deaf",		hu_deaf },
	{ "ringless",		hu_ringless },
};

bool hu_check(bool truth, const char *what)
{
	if (!truth)
		pr_err("hostile: wrong: %s\n", what);
	return truth;
}

unsigned long hu_mem_free(void)
{
	struct sysinfo info;

	si_meminfo(&info);
	return info.freeram * PAGE_SIZE;
}

bool hu_bounded(unsigned long before, unsigned long most, const char *what)
{
	unsigned long now = hu_mem_free(), used = before > now ? before - now : 0;

	pr_info("hostile: %lu KiB for %s\n", used / 1024, what);
	return hu_check(used < most, "a flood takes memory");
}

/* After each case kfi_usb4 accepts an honest login, and answers a call. */
static bool hu_run(struct hu *hu, const struct hu_case *c)
{
	bool ok = hu_check(!hu_begin(hu), "no life begins") && c->run(hu);

	hu_set(hu, reply, HU_HONEST);
	hu->said = (struct u4_said) { .machine = 1 };
	hu_end(hu);
	ok &= hu_check(!hu_begin(hu), "an honest login fails") &&
	      hu_check(hu_answers(hu), "an honest call is not answered");
	return ok;
}

static int hu_cases(struct hu *hu)
{
	unsigned int i, ran = 0, wrong = 0;
	bool ok;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		if (*only && strcmp(only, cases[i].name))
			continue;
		prandom_seed_state(&hu->rnd, seed + i);
		ok = hu_run(hu, &cases[i]);
		pr_info("hostile: %s %s\n", ok ? "ok" : "FAILED", cases[i].name);
		wrong += !ok;
		ran++;
	}
	return hu_check(ran, "no such case") && !wrong ? 0 : -EIO;
}

static struct hu hu;

static int hu_probe(struct tb_service *svc)
{
	int ret;

	if (hu.xd)
		return -EBUSY;
	hu.xd = tb_xdomain_get(tb_service_parent(svc));
	ret = hu_rings_alloc(&hu);
	if (!ret)
		return 0;
	tb_xdomain_put(hu.xd);
	hu.xd = NULL;
	return ret;
}

static void hu_remove(struct tb_service *svc)
{
	hu_end(&hu);
	hu_rings_free(&hu);
}

static const struct tb_service_id hu_ids[] = {
	{ TB_SERVICE("kfabric", 1) },
	{ },
};

static struct tb_service_driver hu_driver = {
	.driver = {
		.owner	= THIS_MODULE,
		.name	= "kfi_usb4_hostile",
	},
	.probe		= hu_probe,
	.remove		= hu_remove,
	.id_table	= hu_ids,
};

static void hu_leave(struct hu *hu)
{
	tb_unregister_service_driver(&hu_driver);
	if (hu->xd)
		tb_xdomain_put(hu->xd);
}

static int __init hu_init(void)
{
	int ret;

	spin_lock_init(&hu.lock);
	hu.number = get_random_u32() / 2;
	hu.said.machine = 1;
	ret = tb_register_service_driver(&hu_driver);
	if (ret)
		return ret;
	if (!hu_check(hu.xd, "no service has lost its driver")) {
		ret = -ENODEV;
		goto unregister;
	}
	ret = hu_messages_init(&hu);
	if (ret)
		goto unregister;
	ret = hu_cases(&hu);
	if (!ret)
		return 0;
	hu_end(&hu);
	hu_messages_exit(&hu);
unregister:
	hu_leave(&hu);
	return ret;
}

static void __exit hu_exit(void)
{
	hu_end(&hu);
	hu_messages_exit(&hu);
	hu_leave(&hu);
}

module_init(hu_init);
module_exit(hu_exit);
MODULE_DESCRIPTION("a hostile peer of kfi_usb4");
MODULE_LICENSE("GPL");
