// SPDX-License-Identifier: GPL-2.0
/*
 * kfi_conformance.ko - one list of cases for every provider.
 *
 * Loading the module runs the cases and reports them as KTAP in the kernel log. Loading succeeds if
 * all have passed and fails with -EIO otherwise, so a script needs only the exit code of insmod.
 * The log shows which case has failed, where, and why.
 */
#include <linux/hash.h>
#include <linux/module.h>
#include <linux/nsproxy.h>
#include <linux/random.h>
#include <linux/sched/signal.h>
#include <linux/stringhash.h>
#include <net/net_namespace.h>
#include "harness.h"

static char *provider;
module_param(provider, charp, 0444);
MODULE_PARM_DESC(provider, "provider to test, as in fabric_attr.prov_name");

static char *node_a, *node_b;
module_param(node_a, charp, 0444);
MODULE_PARM_DESC(node_a, "node string of side A (none: the provider's default)");
module_param(node_b, charp, 0444);
MODULE_PARM_DESC(node_b, "node string of side B (none: the provider's default)");

static char *ns_a, *ns_b;
module_param(ns_a, charp, 0444);
MODULE_PARM_DESC(ns_a, "namespace of side A: pid:N or fd:N (none: the loader's)");
module_param(ns_b, charp, 0444);
MODULE_PARM_DESC(ns_b, "namespace of side B: pid:N or fd:N (none: the loader's)");

static char *ep_types = "msg,rdm,dgram";
module_param(ep_types, charp, 0444);
MODULE_PARM_DESC(ep_types, "endpoint types to test, comma separated");

static char *filter = "";
module_param(filter, charp, 0444);
MODULE_PARM_DESC(filter, "prefixes of cases to run, comma separated; a leading - excludes");

static unsigned long long seed;
module_param(seed, ullong, 0444);
MODULE_PARM_DESC(seed, "of random numbers; 0 (default): a new one, always printed");

static bool quick;
module_param(quick, bool, 0444);
MODULE_PARM_DESC(quick, "fewer and smaller messages, for slow kernels");

static unsigned int loss_ms = 20000;
module_param(loss_ms, uint, 0444);
MODULE_PARM_DESC(loss_ms, "milliseconds in which the provider promises to find a dead peer");

static unsigned int stress_ms = 2000;
module_param(stress_ms, uint, 0444);
MODULE_PARM_DESC(stress_ms, "milliseconds each stress case runs");

static unsigned int lost_ops = 10000;
module_param(lost_ops, uint, 0444);
MODULE_PARM_DESC(lost_ops, "operations outstanding or reposted when a peer is lost");

static unsigned int removals = 5;
module_param(removals, uint, 0444);
MODULE_PARM_DESC(removals, "how often script.device_gone wants a device removed");

static bool over_kfi;
module_param(over_kfi, bool, 0444);
MODULE_PARM_DESC(over_kfi, "the RDMA devices are those of kfi_ib");

static unsigned long below[3];
module_param_array(below, ulong, NULL, 0444);
MODULE_PARM_DESC(below, "for nomem_any: begin and end of the code that the provider stands on, end of its drivers");

#define SUITE(name)	name##_cases,
static const struct test_case *const suites[] = { TEST_SUITES(SUITE) };

static const struct {
	enum kfi_ep_type type;
	const char *name;
} type_names[] = {
	{ KFI_EP_RDM, "rdm" },
	{ KFI_EP_MSG, "msg" },
	{ KFI_EP_DGRAM, "dgram" },
};

const char *type_name(enum kfi_ep_type type)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(type_names); i++)
		if (type_names[i].type == type)
			return type_names[i].name;
	return "?";
}

/* Is @word one of the comma separated words of @words? */
static bool has_word(const char *words, const char *word)
{
	size_t len = strlen(word);
	const char *p = words;

	while (p && *p) {
		if (!strncmp(p, word, len) && (!p[len] || p[len] == ','))
			return true;
		p = strchr(p, ',');
		if (p)
			p++;
	}
	return false;
}

/* Does the case pass the filter? Exclusions win; no inclusion means all. */
static bool wanted(const struct test_case *c)
{
	bool any = false, in = false;
	const char *p = filter;

	while (p && *p) {
		bool not = *p == '-';
		size_t len = strcspn(p += not, ",");
		bool hit = len && !strncmp(c->name, p, len);

		if (not && hit)
			return false;
		any |= !not;
		in |= hit && !not;
		p += len;
		p += *p == ',';
	}
	/* The cases of the script wait for the script: they run only when named. */
	if (c->flags & CASE_SCRIPT)
		return in;
	return in || !any;
}

/* A case with features that a queue pair does not have does not run on it. */
static bool suits(const struct world *w, const struct test_case *c, enum kfi_ep_type type)
{
	if (w->hw_recv & BIT(type))
		return !(c->flags & (CASE_MATCHING | CASE_CHECKED)) && !(c->caps & ~C_HW_RECV);
	return !(c->flags & CASE_HW_RECV);
}

typedef void (*visit_fn)(const struct test_case *c, enum kfi_ep_type type,
			 void *arg);

/*
 * Run every case with every endpoint type that it names. A type that the provider does not have is
 * skipped once, by the case that asks for it, and not by each case.
 */
static void visit_cases(const struct world *w, visit_fn fn, void *arg)
{
	const struct test_case *c;
	int i, j;

	for (i = 0; i < ARRAY_SIZE(suites); i++) {
		for (c = suites[i]; c->name; c++) {
			if (!wanted(c))
				continue;
			for (j = 0; j < ARRAY_SIZE(type_names); j++) {
				if (!(c->types & BIT(type_names[j].type)) ||
				    !(c->flags & CASE_OFFER ||
				      w->offered & BIT(type_names[j].type)) ||
				    !has_word(ep_types, type_names[j].name) ||
				    !suits(w, c, type_names[j].type))
					continue;
				fn(c, type_names[j].type, arg);
				if (c->flags & CASE_ONCE)
					break;
			}
		}
	}
}

struct tally {
	struct world	*world;
	unsigned int	number, passed, failed, skipped;
};

static void count_case(const struct test_case *c, enum kfi_ep_type type,
		       void *arg)
{
	struct tally *tally = arg;

	tally->number++;
}

static void report(struct tally *tally, const struct test *t)
{
	tally->number++;
	if (t->failures) {
		tally->failed++;
		pr_info("    not ok %u %s/%s\n", tally->number, t->c->name,
			type_name(t->type));
	} else if (t->skipped) {
		tally->skipped++;
		pr_info("    ok %u %s/%s # SKIP %s\n", tally->number,
			t->c->name, type_name(t->type), t->why);
	} else {
		tally->passed++;
		pr_info("    ok %u %s/%s\n", tally->number, t->c->name,
			type_name(t->type));
	}
}

static void run_case(const struct test_case *c, enum kfi_ep_type type,
		     void *arg)
{
	struct tally *tally = arg;
	struct test *t;

	t = test_alloc(tally->world, c, type);
	if (!t) {
		pr_info("    # no memory for a case\n");
		tally->number++;
		tally->failed++;
		return;
	}
	prandom_seed_state(&t->rnd, tally->world->seed ^
			   hashlen_string(NULL, c->name) ^ type);
	if (!signal_pending(current))
		test_run(t);
	else
		test_fail(t, __FILE__, __LINE__, "interrupted");
	test_teardown(t);
	report(tally, t);
	test_free(t);
	cond_resched();
}

static struct net *get_net_by_name(const char *name)
{
	int num;

	if (!name || !*name)
		return get_net(current->nsproxy->net_ns);
	if (sscanf(name, "pid:%d", &num) == 1)
		return get_net_ns_by_pid(num);
	if (sscanf(name, "fd:%d", &num) == 1)
		return get_net_ns_by_fd(num);
	return ERR_PTR(-EINVAL);
}

static int world_init(struct world *w)
{
	if (!provider || !*provider) {
		pr_err("the parameter provider= is missing\n");
		return -EINVAL;
	}
	while (!seed)
		seed = get_random_u64();
	w->provider = provider;
	w->seed = seed;
	w->quick = quick;
	w->loss_ms = loss_ms;
	w->wait_ms = 20000;
	w->stress_ms = stress_ms;
	w->lost_ops = lost_ops;
	w->removals = removals;
	w->over_kfi = over_kfi;
	memcpy(w->below, below, sizeof(below));
	w->side[0].node = node_a;
	w->side[1].node = node_b;
	w->side[0].net = get_net_by_name(ns_a);
	if (IS_ERR(w->side[0].net))
		return PTR_ERR(w->side[0].net);
	w->side[1].net = get_net_by_name(ns_b);
	if (IS_ERR(w->side[1].net)) {
		put_net(w->side[0].net);
		return PTR_ERR(w->side[1].net);
	}
	return 0;
}

static void probe_types(struct world *w)
{
	struct kfi_info *info;
	struct test *t;
	int i;

	for (i = 0; i < ARRAY_SIZE(type_names); i++) {
		t = test_alloc(w, info_cases, type_names[i].type);
		if (t && !test_getinfo(t, 0, KFI_MSG, &info)) {
			w->offered |= BIT(type_names[i].type);
			if (info->ep_attr->protocol == KFI_PROTO_RDMA_CM_IB_RC)
				w->hw_recv |= BIT(type_names[i].type);
			kfi_freeinfo(info);
		}
		kfree(t);
	}
}

static int run_all(struct world *w)
{
	struct tally tally = { .world = w };

	probe_types(w);
	visit_cases(w, count_case, &tally);
	pr_info("KTAP version 1\n");
	pr_info("1..1\n");
	pr_info("    KTAP version 1\n");
	pr_info("    # Subtest: %s\n", w->provider);
	pr_info("    # seed=%llu quick=%d\n", w->seed, w->quick);
	pr_info("    1..%u\n", tally.number);
	tally.number = 0;
	visit_cases(w, run_case, &tally);
	pr_info("# %s: pass:%u fail:%u skip:%u total:%u\n", w->provider,
		tally.passed, tally.failed, tally.skipped, tally.number);
	pr_info("%sok 1 %s\n", tally.failed || !tally.passed ? "not " : "",
		w->provider);
	return tally.failed || !tally.passed ? -EIO : 0;
}

static int __init conformance_init(void)
{
	struct world *w;
	int ret;

	w = kzalloc(sizeof(*w), GFP_KERNEL);
	if (!w)
		return -ENOMEM;
	ret = world_init(w);
	if (ret)
		goto free_world;
	ret = run_all(w);
	world_drop_net(w, 0);
	world_drop_net(w, 1);
free_world:
	kfree(w);
	return ret;
}
module_init(conformance_init);

static void __exit conformance_exit(void)
{
}
module_exit(conformance_exit);

MODULE_DESCRIPTION("kfabric provider conformance suite");
MODULE_LICENSE("GPL");
