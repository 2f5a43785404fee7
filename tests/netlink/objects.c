// SPDX-License-Identifier: GPL-2.0
/*
 * objects.c - many open objects for dump.py: some that stay, and a thread that opens and closes
 * others all the time
 */
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/slab.h>

#include <kfabric.h>
#include <kfi_domain.h>
#include <kfi_endpoint.h>
#include <kfi_cm.h>
#include <kfi_eq.h>
#include <kfi_prov.h>

#define MAX_DOMAINS	8
#define MAX_EPS		4096

static unsigned int domains = 3;
module_param(domains, uint, 0444);
MODULE_PARM_DESC(domains, "domains to open");
static unsigned int eps = 200;
module_param(eps, uint, 0444);
MODULE_PARM_DESC(eps, "endpoints to open in each domain");

static int get_state(char *buf, const struct kernel_param *kp);
static const struct kernel_param_ops state_ops = { .get = get_state };
module_param_cb(state, &state_ops, NULL, 0444);
MODULE_PARM_DESC(state, "what became of the first domain: alive or dead");

static int set_crowd(const char *val, const struct kernel_param *kp);
static const struct kernel_param_ops crowd_ops = { .set = set_crowd };
module_param_cb(crowd, &crowd_ops, NULL, 0200);
MODULE_PARM_DESC(crowd, "endpoints with many peers, 0 to 2; those with the lowest numbers close first");

static struct kfi_info *rdm, *msg;
static struct kfid_fabric *fabric;
static struct kfid_domain *domain[MAX_DOMAINS];
static struct kfid_ep *ep[MAX_EPS];
static unsigned int nr_domains, nr_eps;
static struct kfid_eq *eq;
static struct kfid_pep *pep;
static struct kfid_cq *cq;
static struct kfid_av *av;
static struct kfid_cntr *cntr;
static struct kfid_ep *live, *crowd[2];
static struct task_struct *churner;

static int ask(enum kfi_ep_type type, struct kfi_info **info)
{
	struct kfi_info *hints = kfi_allocinfo();
	int ret = -ENOMEM;

	if (!hints)
		return ret;
	hints->ep_attr->type = type;
	hints->tx_attr->size = 4;
	hints->rx_attr->size = 4;
	hints->fabric_attr->prov_name = kstrdup("loop", GFP_KERNEL);
	if (hints->fabric_attr->prov_name)
		ret = kfi_getinfo(0, NULL, NULL, 0, hints, info);
	kfi_freeinfo(hints);
	return ret;
}

static int open_domain(void)
{
	int ret = kfi_domain(fabric, rdm, &domain[nr_domains], NULL);
	unsigned int i;

	if (ret)
		return ret;
	nr_domains++;
	for (i = 0; i < eps && nr_eps < MAX_EPS; i++) {
		ret = kfi_endpoint(domain[nr_domains - 1], rdm, &ep[nr_eps], NULL);
		if (ret)
			return ret;
		nr_eps++;
	}
	return 0;
}

static int open_pep(void)
{
	int ret = kfi_eq_open(fabric, NULL, &eq, NULL, NULL);

	if (!ret)
		ret = kfi_passive_ep(fabric, msg, &pep, NULL);
	if (!ret)
		ret = kfi_pep_bind(pep, &eq->fid, 0);
	return ret ?: kfi_listen(pep);
}

static int get_state(char *buf, const struct kernel_param *kp)
{
	struct kfi_domain_limits limits;
	bool dead = !domain[0] || kfi_domain_limits(domain[0], &limits) == -ENODEV;

	return sysfs_emit(buf, "%s\n", dead ? "dead" : "alive");
}

/* An enabled endpoint with a counter */
static int open_live(void)
{
	struct kfi_cq_attr cq_attr = { .size = 64, .format = KFI_CQ_FORMAT_TAGGED };
	struct kfi_av_attr av_attr = { .type = KFI_AV_TABLE };
	struct kfi_cntr_attr cntr_attr = {};
	int ret;

	ret = kfi_cq_open(domain[0], &cq_attr, &cq, NULL, NULL);
	if (!ret)
		ret = kfi_av_open(domain[0], &av_attr, &av, NULL);
	if (!ret)
		ret = kfi_cntr_open(domain[0], &cntr_attr, &cntr, NULL);
	if (!ret)
		ret = kfi_endpoint(domain[0], rdm, &live, NULL);
	if (!ret)
		ret = kfi_ep_bind(live, &cq->fid, KFI_TRANSMIT | KFI_RECV);
	if (!ret)
		ret = kfi_ep_bind(live, &av->fid, 0);
	if (!ret)
		ret = kfi_ep_bind(live, &cntr->fid, KFI_SEND);
	ret = ret ?: kfi_enable(live);
	return ret ?: kfi_cntr_add(cntr, 5);
}

#define CROWD_PEERS	300U	/* more than fit one buffer */

static void crowd_peers(struct kfi_ep *ep, u32 after,
			int (*emit)(void *arg, const struct kfi_peer_info *peer), void *arg)
{
	struct kfi_peer_info info = { .state = "idle", .cpu = -1 };

	while (after < CROWD_PEERS) {
		info.nr = ++after;
		snprintf(info.addr, sizeof(info.addr), "peer%u", after);
		if (emit(arg, &info))
			return;
	}
}

/* An endpoint of loop with as many peers as the test wants */
static int open_crowd(struct kfid_ep **ep)
{
	static struct kfi_prov_ops ops;
	int ret = kfi_endpoint(domain[0], rdm, ep, NULL);

	if (!ret)
		ret = kfi_ep_bind(*ep, &cq->fid, KFI_TRANSMIT | KFI_RECV);
	if (!ret)
		ret = kfi_ep_bind(*ep, &av->fid, 0);
	ret = ret ?: kfi_enable(*ep);
	if (ret)
		return ret;
	if (!ops.peers)
		ops = *kfi_to_ep(*ep)->ops;
	ops.peers = crowd_peers;
	kfi_to_ep(*ep)->ops = &ops;
	return 0;
}

static void close_crowd(unsigned int i)
{
	if (crowd[i])
		WARN_ON(kfi_close(&crowd[i]->fid));
	crowd[i] = NULL;
}

static int set_crowd(const char *val, const struct kernel_param *kp)
{
	unsigned int n, i;
	int ret = kstrtouint(val, 0, &n);

	for (i = 0; !ret && i < ARRAY_SIZE(crowd); i++) {
		if (i < ARRAY_SIZE(crowd) - min_t(unsigned int, n, ARRAY_SIZE(crowd)))
			close_crowd(i);
		else if (!crowd[i])
			ret = open_crowd(&crowd[i]);
	}
	return ret;
}

static void churn_once(void)
{
	struct kfid_fabric *f;
	struct kfid_domain *d;
	struct kfid_ep *e[8];
	int i, n = 0;

	if (kfi_fabric(rdm->fabric_attr, &f, NULL))
		return;
	if (kfi_domain(f, rdm, &d, NULL))
		goto close_fabric;
	while (n < ARRAY_SIZE(e) && !kfi_endpoint(d, rdm, &e[n], NULL))
		n++;
	for (i = 0; i < n; i++)
		WARN_ON(kfi_close(&e[i]->fid));
	WARN_ON(kfi_close(&d->fid));
close_fabric:
	WARN_ON(kfi_close(&f->fid));
}

static int churn(void *arg)
{
	while (!kthread_should_stop()) {
		churn_once();
		cond_resched();
	}
	return 0;
}

static void close_fid(struct kfid *fid)
{
	if (fid)
		WARN_ON(kfi_close(fid));
}

#define CLOSE(obj)	close_fid((obj) ? &(obj)->fid : NULL)

static void close_all(void)
{
	if (churner)
		kthread_stop(churner);
	close_crowd(0);
	close_crowd(1);
	CLOSE(live);
	CLOSE(cntr);
	CLOSE(av);
	CLOSE(cq);
	CLOSE(pep);
	CLOSE(eq);
	while (nr_eps)
		close_fid(&ep[--nr_eps]->fid);
	while (nr_domains)
		close_fid(&domain[--nr_domains]->fid);
	CLOSE(fabric);
	kfi_freeinfo(msg);
	kfi_freeinfo(rdm);
}

static int open_all(void)
{
	unsigned int i;
	int ret;

	ret = ask(KFI_EP_RDM, &rdm) ?: ask(KFI_EP_MSG, &msg);
	if (!ret)
		ret = kfi_fabric(rdm->fabric_attr, &fabric, NULL);
	for (i = 0; !ret && i < min_t(unsigned int, domains, MAX_DOMAINS); i++)
		ret = open_domain();
	if (!ret)
		ret = open_pep();
	return ret ?: open_live();
}

static int __init nltest_init(void)
{
	struct task_struct *task;
	int ret = open_all();

	if (!ret) {
		task = kthread_run(churn, NULL, "kfi_nltest");
		ret = PTR_ERR_OR_ZERO(task);
		if (!ret)
			churner = task;
	}
	if (ret)
		close_all();
	return ret;
}

static void __exit nltest_exit(void)
{
	close_all();
}

module_init(nltest_init);
module_exit(nltest_exit);
MODULE_DESCRIPTION("kfabric netlink test objects");
MODULE_LICENSE("GPL");
