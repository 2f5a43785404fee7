// SPDX-License-Identifier: GPL-2.0
/*
 * main.c - kfi_perf.ko, a consumer that measures and verifies: init and exit of the module and of
 * each namespace.
 */
#include <linux/init.h>
#include <linux/module.h>
#include <linux/string.h>
#include <net/genetlink.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>
#include <kfi_param.h>
#include <kfi_version.h>

#include "perf.h"

static char perf_auth_key[KFI_SECRET_MAX + 1];
KFI_PARAM_TEXT(auth_key, perf_auth_key, 0400,
	       "authorization key of all endpoints (default: none)");

struct workqueue_struct *perf_wq;

static unsigned int perf_net_id __read_mostly;

struct perf_net *perf_net(struct net *net)
{
	return net_generic(net, perf_net_id);
}

void perf_need_key(struct kfi_need *need)
{
	need->auth_key_size = strlen(perf_auth_key);
	need->auth_key = need->auth_key_size ? perf_auth_key : NULL;
}

/* Ids of servers and runs. They only increase, so that a dump can continue behind the last one. */
u32 perf_new_id(void)
{
	static atomic_t last = ATOMIC_INIT(0);

	return atomic_inc_return(&last);
}

static int __net_init perf_net_init(struct net *net)
{
	struct perf_net *pn = perf_net(net);

	mutex_init(&pn->lock);
	INIT_LIST_HEAD(&pn->servers);
	INIT_LIST_HEAD(&pn->runs);
	return 0;
}

/* No socket is left that could add objects. Runs whose socket has closed end in perf_wq. */
static void __net_exit perf_net_exit(struct net *net)
{
	struct perf_net *pn = perf_net(net);
	struct perf_server *server, *next_server;
	struct perf_run *run, *next_run;

	list_for_each_entry_safe(run, next_run, &pn->runs, entry)
		perf_run_free(run);
	list_for_each_entry_safe(server, next_server, &pn->servers, entry)
		perf_server_free(server);
	flush_workqueue(perf_wq);
}

/* Registered after that of kfi.ko, so it exits before: our objects are closed first. */
static struct pernet_operations perf_pernet = {
	.init	= perf_net_init,
	.exit	= perf_net_exit,
	.id	= &perf_net_id,
	.size	= sizeof(struct perf_net),
};

static int __init perf_init(void)
{
	int err;

	perf_wq = alloc_workqueue("kfi_perf", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!perf_wq)
		return -ENOMEM;
	perf_session_ops.end_wq = perf_wq;
	err = register_pernet_subsys(&perf_pernet);
	if (err)
		goto destroy_wq;
	err = perf_nl_init();
	if (err)
		goto unregister_pernet;
	return 0;

unregister_pernet:
	unregister_pernet_subsys(&perf_pernet);
destroy_wq:
	destroy_workqueue(perf_wq);
	return err;
}
module_init(perf_init);

static void __exit perf_exit(void)
{
	perf_nl_exit();
	unregister_pernet_subsys(&perf_pernet);
	destroy_workqueue(perf_wq);
}
module_exit(perf_exit);

MODULE_DESCRIPTION("kfabric: latency, bandwidth and verified data, from inside the kernel");
MODULE_VERSION(KFABRIC_VERSION);
MODULE_LICENSE("GPL");
MODULE_ALIAS_GENL_FAMILY(KFI_PERF_GENL_NAME);
