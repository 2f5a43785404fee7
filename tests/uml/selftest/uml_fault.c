// SPDX-License-Identifier: GPL-2.0
/*
 * Causes the fault that its parameter names. Tests in this environment must detect each of them;
 * otherwise their results would prove nothing.
 */
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

static char *what = "none";
module_param(what, charp, 0444);
MODULE_PARM_DESC(what, "which fault to commit");

static DEFINE_SPINLOCK(one);
static DEFINE_SPINLOCK(two);

static void leak(void)
{
	int i;

	for (i = 0; i < 10; i++) {
		void *p = kmalloc(300, GFP_KERNEL);

		OPTIMIZER_HIDE_VAR(p);
	}
}

static void use_after_free(void)
{
	char *p = kmalloc(30, GFP_KERNEL);

	kfree(p);
	OPTIMIZER_HIDE_VAR(p);
	WRITE_ONCE(p[3], 1);
}

static void out_of_bounds(void)
{
	char *p = kmalloc(30, GFP_KERNEL);

	OPTIMIZER_HIDE_VAR(p);
	WRITE_ONCE(p[30], 1);
	kfree(p);
}

static void bad_shift(void)
{
	int by = 40;

	OPTIMIZER_HIDE_VAR(by);
	pr_info("uml_fault: %d\n", 1 << by);
}

static void warn(void)
{
	WARN_ON(1);
}

static void sleep_in_atomic(void)
{
	spin_lock(&one);
	might_sleep();
	spin_unlock(&one);
}

static void lock_order(void)
{
	spin_lock(&one);
	spin_lock(&two);
	spin_unlock(&two);
	spin_unlock(&one);

	spin_lock(&two);
	spin_lock(&one);
	spin_unlock(&one);
	spin_unlock(&two);
}

static void unguarded(void)
{
	static int __rcu *nothing;

	if (rcu_dereference(nothing))
		pr_info("uml_fault: something\n");
}

static void keep_module(void)
{
	__module_get(THIS_MODULE);
}

static void die(void)
{
	panic("on purpose");
}

static void none(void)
{
}

static const struct {
	const char *name;
	void (*commit)(void);
} faults[] = {
	{ "none", none },
	{ "leak", leak },
	{ "use-after-free", use_after_free },
	{ "out-of-bounds", out_of_bounds },
	{ "shift", bad_shift },
	{ "warn", warn },
	{ "atomic", sleep_in_atomic },
	{ "lock-order", lock_order },
	{ "rcu", unguarded },
	{ "keep", keep_module },
	{ "panic", die },
};

static int __init fault_init(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(faults); i++) {
		if (!strcmp(faults[i].name, what)) {
			faults[i].commit();
			return 0;
		}
	}
	return -EINVAL;
}
module_init(fault_init);

static void __exit fault_exit(void)
{
}
module_exit(fault_exit);

MODULE_DESCRIPTION("Faults on purpose, for the self-test of the test bed");
MODULE_LICENSE("GPL");
