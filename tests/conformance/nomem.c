// SPDX-License-Identifier: GPL-2.0
/*
 * No memory, at each place in turn: a walk through all calls that open and post, in which the nth
 * allocation of the calling thread fails, for every n. Each call fails with a reason or does
 * without; accepted operations end once; opened objects close. kmemleak finds leaks.
 */
#include <linux/sched.h>
#include "harness.h"

#ifdef CONFIG_FAILSLAB

#define OPS	5	/* operations of each kind that end at A, and as many receives at B */
#define LEN	5000
#define SITES	2000	/* a walk with more sites lets some of them fail, at random */
#define QUICK	300	/* the same with little time */
#define NEVER	INT_MAX

struct end {
	struct kfid_fabric	*fabric;
	struct kfid_domain	*domain;
	struct kfid_eq		*eq;
	struct kfid_cq		*cq;
	struct kfid_av		*av;
	struct kfid_cntr	*cntr;
	struct kfid_mr		*mr;
	struct kfid_pep		*pep;
	struct kfid_ep		*ep;
	u8			addr[128];
	kfi_addr_t		peer;
	u8			*buf;
};

/**
 * struct walk - one walk
 * @accepted: accepted operations by number: A's first, then B's
 * @ended: the same for completions
 * @injected: completions of the injected message, which has one if it fails
 */
struct walk {
	struct test	*t;
	struct end	a, b;
	u8		accepted[2 * OPS + 1], ended[2 * OPS + 1];
	u8		injected;
};

/*
 * Is lack of memory an excuse for this error? The kernel returns ENFILE and EADDRINUSE when it
 * can't make a socket, or can't store its port.
 */
static bool went(struct test *t, ssize_t ret)
{
	if (ret < 0 && ret != -ENOMEM && ret != -ENOBUFS && ret != -ENFILE && ret != -EADDRINUSE &&
	    ret != -EAGAIN)
		FAIL(t, "%zd is no answer to a lack of memory", ret);
	return ret >= 0;
}

static bool open_objects(struct test *t, struct end *e, struct net *net, struct kfi_info *info)
{
	struct kfi_eq_attr eq = { .size = 16, .wait_obj = KFI_WAIT_UNSPEC };
	struct kfi_cq_attr cq = { .size = 64, .format = KFI_CQ_FORMAT_TAGGED };
	struct kfi_av_attr av = { .type = KFI_AV_UNSPEC };

	return went(t, kfi_fabric_net(net, info->fabric_attr, &e->fabric, NULL)) &&
	       went(t, kfi_domain(e->fabric, info, &e->domain, NULL)) &&
	       went(t, kfi_eq_open(e->fabric, &eq, &e->eq, NULL, NULL)) &&
	       went(t, kfi_cq_open(e->domain, &cq, &e->cq, NULL, NULL)) &&
	       went(t, kfi_cntr_open(e->domain, NULL, &e->cntr, NULL)) &&
	       went(t, kfi_av_open(e->domain, &av, &e->av, NULL)) &&
	       went(t, kfi_mr_reg(e->domain, e->buf, LEN, KFI_REMOTE_READ | KFI_REMOTE_WRITE, 0, 77,
				  0, &e->mr, NULL));
}

static bool open_endpoint(struct test *t, struct end *e, struct kfi_info *info)
{
	bool ok = went(t, kfi_endpoint(e->domain, info, &e->ep, NULL)) &&
		  went(t, kfi_ep_bind(e->ep, &e->eq->fid, 0)) &&
		  went(t, kfi_ep_bind(e->ep, &e->cq->fid, KFI_TRANSMIT | KFI_RECV)) &&
		  went(t, kfi_ep_bind(e->ep, &e->cntr->fid, KFI_SEND));

	if (ok && t->type == KFI_EP_RDM)
		ok = went(t, kfi_ep_bind(e->ep, &e->av->fid, 0));
	return ok && went(t, kfi_enable(e->ep));
}

static bool meet_rdm(struct walk *w)
{
	size_t len = sizeof(w->b.addr);

	return open_endpoint(w->t, &w->b, w->t->info[1]) &&
	       went(w->t, kfi_getname(&w->b.ep->fid, w->b.addr, &len)) &&
	       kfi_av_insert(w->a.av, w->b.addr, 1, &w->a.peer, 0, NULL) == 1;
}

/*
 * The next event, and no failure if there is none: the other side may have had no memory to send.
 */
static bool event(struct end *e, u32 *what, struct kfi_eq_cm_entry *cm)
{
	return kfi_eq_sread(e->eq, what, cm, sizeof(*cm), 8000, 0) >= 0;
}

static bool meet_msg(struct walk *w)
{
	size_t len = sizeof(w->b.addr);
	struct kfi_eq_cm_entry cm = {};
	struct test *t = w->t;
	u32 what;
	bool ok;

	if (!went(t, kfi_passive_ep(w->b.fabric, t->info[1], &w->b.pep, NULL)) ||
	    !went(t, kfi_pep_bind(w->b.pep, &w->b.eq->fid, 0)) || !went(t, kfi_listen(w->b.pep)) ||
	    !went(t, kfi_getname(&w->b.pep->fid, w->b.addr, &len)) ||
	    !went(t, kfi_connect(w->a.ep, w->b.addr, NULL, 0)) || !event(&w->b, &what, &cm) ||
	    what != KFI_CONNREQ)
		return false;
	ok = open_endpoint(t, &w->b, cm.info) && went(t, kfi_accept(w->b.ep, NULL, 0));
	kfi_freeinfo(cm.info);
	return ok && event(&w->a, &what, &cm) && what == KFI_CONNECTED &&
	       event(&w->b, &what, &cm) && what == KFI_CONNECTED;
}

static void posted(struct walk *w, unsigned int i, ssize_t ret)
{
	w->accepted[i] = went(w->t, ret);
}

/* One operation of each kind; the first message comes before its receive. */
static void post_all(struct walk *w)
{
	u64 at = w->t->info[1]->domain_attr->mr_mode & KFI_MR_VIRT_ADDR ? (unsigned long)w->b.buf :
									  0;
	struct end *a = &w->a, *b = &w->b;

	posted(w, 1, kfi_send(a->ep, a->buf, LEN, NULL, a->peer, CTX(1)));
	posted(w, 2, kfi_inject(a->ep, a->buf, 8, a->peer));
	w->accepted[2] = 0;	/* it has no completion */
	posted(w, 3, kfi_tsend(a->ep, a->buf, LEN, NULL, a->peer, 5, CTX(3)));
	posted(w, 4, kfi_write(a->ep, a->buf, LEN, NULL, a->peer, at, kfi_mr_key(b->mr), CTX(4)));
	posted(w, 5, kfi_read(a->ep, a->buf, LEN, NULL, a->peer, at, kfi_mr_key(b->mr), CTX(5)));
	posted(w, OPS + 1, kfi_recv(b->ep, b->buf, LEN, NULL, KFI_ADDR_UNSPEC, CTX(OPS + 1)));
	posted(w, OPS + 2, kfi_recv(b->ep, b->buf, LEN, NULL, KFI_ADDR_UNSPEC, CTX(OPS + 2)));
	posted(w, OPS + 3,
	       kfi_trecv(b->ep, b->buf, LEN, NULL, KFI_ADDR_UNSPEC, 5, 0, CTX(OPS + 3)));
	posted(w, OPS + 4,
	       kfi_trecv(b->ep, b->buf, LEN, NULL, KFI_ADDR_UNSPEC, 6, 0, CTX(OPS + 4)));
}

static void collect(struct walk *w, struct end *e)
{
	struct kfi_cq_err_entry wc = {};
	struct kfi_cq_tagged_entry c;
	unsigned long which;
	ssize_t ret;

	if (!e->cq)
		return;
	for (;;) {
		ret = kfi_cq_read(e->cq, &c, 1);
		which = (unsigned long)c.op_context;
		if (ret == -KFI_EAVAIL && kfi_cq_readerr(e->cq, &wc, 0) == 1)
			which = (unsigned long)wc.op_context;
		else if (ret != 1)
			return;
		/* An injected message has no context, and a completion only if it has failed. */
		if (!which && ret == -KFI_EAVAIL)
			EXPECT(w->t, wc.err && wc.flags & KFI_SEND && !w->injected++);
		else if (EXPECT(w->t, which && which <= 2 * OPS))
			w->ended[which]++;
	}
}

static bool all_sent(const struct walk *w)
{
	unsigned int i;

	for (i = 1; i <= OPS; i++)
		if (w->accepted[i] && !w->ended[i])
			return false;
	return true;
}

static void close_fid(struct test *t, void *fid)
{
	if (fid)
		EXPECT_EQ(t, kfi_close(fid), 0);
}

static void close_all(struct walk *w)
{
	struct end *ends[] = { &w->a, &w->b }, *e;
	struct test *t = w->t;
	int i;

	/* Each handle begins with its fid. */
	close_fid(t, w->a.ep);
	close_fid(t, w->b.ep);
	collect(w, &w->a);
	collect(w, &w->b);
	for (i = 0; i < 2; i++) {
		e = ends[i];
		close_fid(t, e->pep);
		close_fid(t, e->mr);
		close_fid(t, e->av);
		close_fid(t, e->cntr);
		close_fid(t, e->cq);
		close_fid(t, e->eq);
		close_fid(t, e->domain);
		close_fid(t, e->fabric);
	}
}

/* Return: the rest of @nth; 0 if an allocation has failed. */
static unsigned int walk_once(struct walk *w, unsigned int nth)
{
	struct test *t = w->t;
	unsigned int i, left;

	*w = (struct walk) { .t = t, .a.buf = w->a.buf, .b.buf = w->b.buf };
	current->fail_nth = nth;
	if (open_objects(t, &w->a, t->w->side[0].net, t->info[0]) &&
	    open_endpoint(t, &w->a, t->info[0]) &&
	    open_objects(t, &w->b, t->w->side[1].net, t->info[1]) &&
	    (t->type == KFI_EP_RDM ? meet_rdm(w) : meet_msg(w))) {
		post_all(w);
		left = current->fail_nth;
		current->fail_nth = 0;
		EXPECT(t, test_until(t, (collect(w, &w->a), collect(w, &w->b), all_sent(w))));
	} else {
		left = current->fail_nth;
		current->fail_nth = 0;
	}
	close_all(w);
	for (i = 1; i <= 2 * OPS; i++)
		if (w->accepted[i] != w->ended[i])
			FAIL(t, "allocation %u: operation %u ended %u times", nth, i, w->ended[i]);
	return left;
}

static void walk(struct test *t)
{
	unsigned int some = t->w->quick ? QUICK : SITES, nth = 1, sites;
	struct walk *w = test_new(t, struct walk);
	u8 *buf = test_pages(t, 2 * LEN);

	REQUIRE(t, w && buf);
	w->t = t;
	w->a.buf = buf;
	w->b.buf = buf + LEN;
	/* The first round has all its memory, and passes all places. */
	sites = NEVER - walk_once(w, NEVER);
	EXPECT(t, sites > 50 && w->ended[1] && w->ended[5] && w->ended[OPS + 4]);
	pr_info("    # %s/%s: %u sites\n", t->c->name, type_name(t->type), sites);
	if (sites <= some)
		while (t->failures < 10 && !walk_once(w, nth))
			nth++;
	else
		while (t->failures < 10 && some--)
			walk_once(w, 1 + prandom_u32_state(&t->rnd) % sites);
}

const struct test_case nomem_cases[] = {
	{ "nomem.walk", T_REL, 0, C_MSG | C_TAGGED | C_RMA, walk },
	{ }
};

#else

const struct test_case nomem_cases[] = { { } };

#endif
