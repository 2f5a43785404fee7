// SPDX-License-Identifier: GPL-2.0
/*
 * targets.c - the core alone, over loop: one word of the other node is added to, or written with
 * counters on both sides. scale.c runs several at once, each with a word and counters of its own:
 * do they wait for each other?
 */
#include <linux/err.h>
#include <linux/slab.h>
#include <kfi_atomic.h>
#include "kfi.h"

struct target {
	struct kb_node	node[2];
	struct kfid_ep	*ep[2];
	kfi_addr_t	addr[2];
	struct kfid_mr	*mr;
	u64		*word;
	u64		done;
};

/* What was there before says that nothing was lost. */
static int target_add(struct target *target)
{
	struct kfi_cq_entry entry;
	u64 one = 1, old = 0;
	ssize_t ret;

	ret = kfi_fetch_atomic(target->ep[0], &one, 1, NULL, &old, NULL, target->addr[0], 0,
			       kfi_mr_key(target->mr), KFI_UINT64, KFI_SUM, target);
	if (ret)
		return ret;
	ret = kfi_cq_read(target->node[0].cq, &entry, 1);
	if (ret != 1)
		return ret == -KFI_EAVAIL ? kb_cq_error(target->node[0].cq) : -EIO;
	return old == target->done ? 0 : -EBADMSG;
}

static s64 atomics_run(void *priv, u32 ops)
{
	struct target *target = priv;
	u64 start = bench_clock();
	int ret = 0;

	for (; ops && !ret; ops--, target->done++)
		ret = target_add(target);
	return ret ?: bench_clock() - start;
}

static bool target_counted(const struct target *target)
{
	return kfi_cntr_read(target->node[0].cntr) == target->done &&
	       kfi_cntr_read(target->node[1].cntr) == target->done;
}

/* Nothing but the counters tells of a write. */
static s64 counters_run(void *priv, u32 ops)
{
	struct target *target = priv;
	u64 start = bench_clock();
	int ret = 0;

	for (; ops && !ret; ops--, target->done++)
		ret = kfi_inject_write(target->ep[0], &target->done, sizeof(target->done),
				       target->addr[0], 0, kfi_mr_key(target->mr));
	start = bench_clock() - start;
	if (ret)
		return ret;
	return target_counted(target) && *target->word == target->done - 1 ? start : -EBADMSG;
}

static void target_close(void *priv)
{
	struct target *target = priv;
	int i;

	for (i = 0; i < 2; i++)
		if (target->ep[i])
			kb_close(&target->ep[i]->fid);
	if (target->mr)
		kb_close(&target->mr->fid);
	for (i = 0; i < 2; i++)
		kb_node_close(&target->node[i]);
	kfree(target->word);
	kfree(target);
}

static int target_prepare(struct target *target, struct bench_env *env, bool counted)
{
	static const struct kb_kind kind = {
		.prov = "loop", .type = KFI_EP_RDM, .style = KB_POLL, .caps = KFI_ATOMIC
	};
	int i, ret = 0;

	/* One line of the cache: those of several targets lie side by side. */
	target->word = kzalloc(SMP_CACHE_BYTES, GFP_KERNEL);
	if (!target->word)
		return -ENOMEM;
	for (i = 0; i < 2 && !ret; i++)
		ret = kb_node_open(&target->node[i], env, i, &kind, KFI_CQ_FORMAT_CONTEXT, NULL,
				   NULL);
	for (i = 0; i < 2 && !ret && counted; i++)
		ret = kfi_cntr_open(target->node[i].domain, NULL, &target->node[i].cntr, NULL);
	if (!ret)
		ret = kfi_mr_reg(target->node[1].domain, target->word, sizeof(*target->word),
				 KFI_REMOTE_READ | KFI_REMOTE_WRITE, 0, 0, 0, &target->mr, NULL);
	return ret ?: kb_join(target->node, &kind, target->ep, target->addr);
}

static void *target_open(struct bench_env *env, const struct bench_variant *v)
{
	struct target *target = kzalloc(sizeof(*target), GFP_KERNEL);
	int ret;

	if (!target)
		return ERR_PTR(-ENOMEM);
	ret = target_prepare(target, env, v->run == counters_run);
	if (!ret)
		return target;
	target_close(target);
	return ERR_PTR(ret);
}

#define TARGET(_name, _run)			\
	{					\
		.name	= _name,		\
		.open	= target_open,		\
		.run	= _run,			\
		.close	= target_close,		\
		.depth	= 1,			\
		.size	= 8,			\
	}

const struct bench_variant kb_atomics = TARGET("loop-atomics", atomics_run);
const struct bench_variant kb_counters = TARGET("loop-counters", counters_run);
