// SPDX-License-Identifier: GPL-2.0
/* Endpoints: bindings, states, connections, closing. */
#include <linux/delay.h>
#include <linux/kthread.h>
#include "crew.h"
#include "fake.h"

/* ---- closing ---- */

struct late {
	struct kfi_cqe	cqe;
	atomic_t	begun;
	atomic_t	ended;
};

static void late_done(struct kfid_cq *cq, struct kfi_cqe *cqe, const struct kfi_cq_err_entry *wc)
{
	struct late *l = container_of(cqe, struct late, cqe);

	atomic_inc(&l->begun);
	msleep(100);
	atomic_inc(&l->ended);
}

/* kfi_close() returns only after the last done(). */
static void ep_close_waits_for_done(struct kunit *test)
{
	struct late late = { .cqe.done = late_done };
	struct kfi_msg msg = { .context = &late.cqe };
	struct fake_rig r;

	fake_rig_open(test, &r, 64, 0);
	KUNIT_EXPECT_EQ(test, 0, kfi_sendmsg(r.ep, &msg, KFI_CQE));
	fake_finish(r.fake, 0);
	KUNIT_EXPECT_TRUE(test, fake_soon(atomic_read(&late.begun)));
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&r.ep->fid));
	KUNIT_EXPECT_EQ(test, 1, atomic_read(&late.ended));
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&r.cq->fid));
	kfi_freeinfo(r.info);
	fake_close(r.w);
}

static void quick_done(struct kfid_cq *cq, struct kfi_cqe *cqe, const struct kfi_cq_err_entry *wc)
{
	atomic_inc(&container_of(cqe, struct late, cqe)->ended);
}

/* Nobody polls a direct queue while its endpoint is closed, so kfi_close() polls. */
static void ep_close_direct(struct kunit *test)
{
	struct late late = { .cqe.done = quick_done };
	struct kfi_msg msg = { .context = &late.cqe };
	struct fake_rig r;

	fake_rig_open(test, &r, 64, KFI_CQ_DIRECT);
	KUNIT_EXPECT_EQ(test, 0, kfi_sendmsg(r.ep, &msg, KFI_CQE));
	KUNIT_EXPECT_EQ(test, 0, kfi_sendmsg(r.ep, &msg, KFI_CQE));
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&r.ep->fid));
	KUNIT_EXPECT_EQ(test, 2, atomic_read(&late.ended));
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&r.cq->fid));
	kfi_freeinfo(r.info);
	fake_close(r.w);
}

struct racer {
	struct kfid_ep	*ep;
	atomic_t	accepted;
	atomic_t	tasks;
	atomic_t	odd;
	bool		stop;
};

static int racer_fn(void *arg)
{
	struct racer *r = arg;
	ssize_t ret;

	while (!READ_ONCE(r->stop)) {
		ret = kfi_send(r->ep, NULL, 0, NULL, 0, NULL);
		if (!ret)
			atomic_inc(&r->accepted);
		else if (ret != -EAGAIN && ret != -ENODEV)
			atomic_inc(&r->odd);
		if (!ret)
			fake_finish(to_fake(r->ep), 0);
		crew_turn();
	}
	atomic_dec(&r->tasks);
	return 0;
}

static unsigned int drain(struct kfid_cq *cq)
{
	struct kfi_cq_tagged_entry e;
	struct kfi_cq_err_entry wc = {};
	unsigned int n = 0;

	while (kfi_cq_read(cq, &e, 1) == 1 || kfi_cq_readerr(cq, &wc, 0) == 1)
		n++;
	return n;
}

/*
 * Posts race with the end of the network: each is refused or ends once, and no call of the provider
 * is in progress when ep_stop begins.
 */
static void ep_kill_races(struct kunit *test)
{
	struct kfi_world *w = fake_open(test);
	struct kfi_info *info = fake_info(w, KFI_EP_RDM);
	struct kfid_cq *cq = fake_cq(w, 1 << 18, 0, NULL, NULL);
	struct racer r;
	int round, i;

	for (round = 0; round < 20; round++) {
		r = (struct racer){ .ep = fake_rdm(w, info, cq), .tasks = ATOMIC_INIT(2) };
		to_fake(r.ep)->slow = 500;
		for (i = 0; i < 2; i++)
			kthread_run(racer_fn, &r, "kfi_racer");
		KUNIT_EXPECT_TRUE(test, fake_soon(atomic_read(&r.accepted) > 20));
		kfi_ep_kill(kfi_to_ep(r.ep));
		KUNIT_EXPECT_TRUE(test, list_empty(&to_fake(r.ep)->ops));
		WRITE_ONCE(r.stop, true);
		KUNIT_ASSERT_TRUE(test, fake_soon(!atomic_read(&r.tasks)));
		KUNIT_EXPECT_EQ(test, atomic_read(&r.accepted), drain(cq));
		KUNIT_EXPECT_EQ(test, 0, atomic_read(&r.odd));
		KUNIT_EXPECT_EQ(test, 0, atomic_read(&to_fake(r.ep)->late));
		KUNIT_EXPECT_EQ(test, 0, kfi_close(&r.ep->fid));
	}
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&cq->fid));
	kfi_freeinfo(info);
	fake_close(w);
}

/* ---- connections ---- */

struct cm {
	struct kfi_world	*w;
	struct kfi_info		*info;
	struct kfid_cq		*cq;
	struct kfid_eq		*eq;
	struct kfid_pep		*pep;
};

static void cm_open(struct kunit *test, struct cm *cm)
{
	cm->w = fake_open(test);
	cm->info = fake_info(cm->w, KFI_EP_MSG);
	cm->cq = fake_cq(cm->w, 64, 0, NULL, NULL);
	cm->eq = fake_eq(cm->w, 16);
	KUNIT_ASSERT_EQ(test, 0, kfi_passive_ep(&cm->w->fabric.fid, cm->info, &cm->pep, NULL));
}

static void cm_close(struct kunit *test, struct cm *cm)
{
	if (cm->pep)
		KUNIT_EXPECT_EQ(test, 0, kfi_close(&cm->pep->fid));
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&cm->eq->fid));
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&cm->cq->fid));
	kfi_freeinfo(cm->info);
	fake_close(cm->w);
}

static struct kfid_ep *cm_ep(struct kunit *test, struct cm *cm, struct kfi_info *info)
{
	struct kfid_ep *ep = NULL;

	KUNIT_ASSERT_EQ(test, 0, kfi_endpoint(&cm->w->domain.fid, info, &ep, NULL));
	KUNIT_ASSERT_EQ(test, 0, kfi_ep_bind(ep, &cm->cq->fid, KFI_TRANSMIT | KFI_RECV));
	KUNIT_ASSERT_EQ(test, 0, kfi_ep_bind(ep, &cm->eq->fid, 0));
	return ep;
}

static struct kfi_info *cm_request(struct kunit *test, struct cm *cm)
{
	struct { struct kfi_eq_cm_entry entry; u8 data[32]; } room = {};
	u32 event = ~0;

	KUNIT_EXPECT_GT(test, kfi_eq_read(cm->eq, &event, &room, sizeof(room), 0), 0);
	KUNIT_EXPECT_EQ(test, KFI_CONNREQ, event);
	KUNIT_EXPECT_PTR_EQ(test, &cm->pep->fid, room.entry.fid);
	KUNIT_ASSERT_NOT_NULL(test, room.entry.info);
	return room.entry.info;
}

static void expect_event(struct kunit *test, struct cm *cm, u32 want, struct kfid_ep *ep)
{
	struct { struct kfi_eq_cm_entry entry; u8 data[32]; } room = {};
	u32 event = ~0;

	KUNIT_EXPECT_EQ(test, sizeof(room.entry),
			kfi_eq_read(cm->eq, &event, &room, sizeof(room), 0));
	KUNIT_EXPECT_EQ(test, want, event);
	KUNIT_EXPECT_PTR_EQ(test, &ep->fid, room.entry.fid);
}

static int cm_no_room(struct kfi_ep *ep)
{
	return -ENOMEM;
}

static void cm_requests(struct kunit *test)
{
	struct fake_req req[5] = {};
	struct kfi_info *info[4], *next;
	int i;
	int (*open)(struct kfi_ep *ep);
	atomic_long_t paid = ATOMIC_LONG_INIT(0);
	unsigned int max_mib = 1;
	struct kfi_account account = { .bytes = &paid, .max_mib = &max_mib };
	struct kfi_pep *pep;
	struct kfid_ep *ep;
	u8 peer[8] = { 7 };
	struct cm cm;

	cm_open(test, &cm);
	cm.w->fabric.account = &account;
	pep = kfi_to_pep(cm.pep);
	KUNIT_EXPECT_EQ(test, -KFI_ENOEQ, kfi_listen(cm.pep));
	KUNIT_EXPECT_EQ(test, 0, kfi_pep_bind(cm.pep, &cm.eq->fid, 0));
	KUNIT_EXPECT_EQ(test, -EINVAL, kfi_pep_bind(cm.pep, &cm.eq->fid, 0));
	KUNIT_EXPECT_EQ(test, -ESHUTDOWN,
			kfi_pep_connreq(pep, &req[0].req, peer, NULL, 8, NULL, 0));
	pep->backlog = 4;
	KUNIT_EXPECT_EQ(test, 0, kfi_listen(cm.pep));
	KUNIT_EXPECT_EQ(test, -KFI_EOPBADSTATE, kfi_listen(cm.pep));
	KUNIT_EXPECT_EQ(test, -EINVAL,
			kfi_pep_connreq(pep, &req[0].req, peer, NULL, 8, peer,
					KFI_CM_DATA_MAX + 1));
	/*
	 * kfi_connreq_gone() takes no lock of the passive endpoint, which may wait for the caller.
	 */
	mutex_lock(&pep->lock);
	for (i = 0; i < 4; i++)
		KUNIT_EXPECT_EQ(test, 0, kfi_pep_connreq(pep, &req[i].req, peer, NULL, 8, NULL, 0));
	mutex_unlock(&pep->lock);
	KUNIT_EXPECT_EQ(test, -EBUSY, kfi_pep_connreq(pep, &req[4].req, peer, NULL, 8, NULL, 0));
	for (i = 0; i < 3; i++)
		info[i] = cm_request(test, &cm);
	KUNIT_EXPECT_EQ(test, 0, memcmp(info[0]->dest_addr, peer, 8));

	/* 3: its peer disconnects before the event was read */
	KUNIT_EXPECT_TRUE(test, kfi_connreq_gone(&req[3].req));
	KUNIT_EXPECT_FALSE(test, kfi_connreq_gone(&req[3].req));

	/* 0: rejected, once; unknown handles are not dereferenced */
	KUNIT_EXPECT_EQ(test, -EINVAL, kfi_reject(cm.pep, (struct kfid *)0x1234, NULL, 0));
	KUNIT_EXPECT_EQ(test, -EINVAL, kfi_reject(cm.pep, info[0]->handle, peer, 33));
	KUNIT_EXPECT_EQ(test, 0, kfi_reject(cm.pep, info[0]->handle, peer, 8));
	KUNIT_EXPECT_EQ(test, -EINVAL, kfi_reject(cm.pep, info[0]->handle, NULL, 0));
	KUNIT_EXPECT_EQ(test, -EINVAL, kfi_endpoint(&cm.w->domain.fid, info[0], &ep, NULL));
	KUNIT_EXPECT_EQ(test, 1, req[0].rejected);

	/* 0: its handle does not name the next request in the same memory */
	KUNIT_EXPECT_EQ(test, 0, kfi_pep_connreq(pep, &req[0].req, peer, NULL, 8, NULL, 0));
	next = cm_request(test, &cm);
	KUNIT_EXPECT_EQ(test, -EINVAL, kfi_reject(cm.pep, info[0]->handle, NULL, 0));
	KUNIT_EXPECT_EQ(test, -EINVAL, kfi_endpoint(&cm.w->domain.fid, info[0], &ep, NULL));
	KUNIT_EXPECT_EQ(test, 1, req[0].rejected);
	KUNIT_EXPECT_EQ(test, 0, kfi_reject(cm.pep, next->handle, NULL, 0));
	KUNIT_EXPECT_EQ(test, 2, req[0].rejected);
	kfi_freeinfo(next);

	/* 1: accepted */
	ep = cm_ep(test, &cm, info[1]);
	KUNIT_EXPECT_EQ(test, -EINVAL, kfi_reject(cm.pep, info[1]->handle, NULL, 0));
	KUNIT_EXPECT_FALSE(test, kfi_connreq_gone(&req[1].req));
	KUNIT_EXPECT_EQ(test, -EBUSY, kfi_close(&cm.pep->fid));
	KUNIT_EXPECT_EQ(test, -KFI_EOPBADSTATE, kfi_connect(ep, peer, NULL, 0));
	KUNIT_EXPECT_EQ(test, 0, kfi_accept(ep, NULL, 0));
	KUNIT_EXPECT_EQ(test, 0, kfi_ep_connected(kfi_to_ep(ep), NULL, 0));
	expect_event(test, &cm, KFI_CONNECTED, ep);
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&ep->fid));
	KUNIT_EXPECT_EQ(test, 0, req[1].rejected);

	/* 2: an endpoint that can't be opened leaves it, though the account is full by now */
	open = cm.w->ops.ep_open;
	cm.w->ops.ep_open = cm_no_room;
	max_mib = 0;
	KUNIT_EXPECT_EQ(test, -ENOMEM, kfi_endpoint(&cm.w->domain.fid, info[2], &ep, NULL));
	KUNIT_EXPECT_EQ(test, 0, req[2].rejected);
	cm.w->ops.ep_open = open;
	max_mib = 1;

	/* 2: its endpoint is closed without accepting */
	ep = cm_ep(test, &cm, info[2]);
	KUNIT_EXPECT_EQ(test, 0, req[2].rejected);
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&ep->fid));
	KUNIT_EXPECT_EQ(test, 1, req[2].rejected);

	/* 4: the event is unread while the passive endpoint is closed */
	KUNIT_EXPECT_EQ(test, 0, kfi_pep_connreq(pep, &req[4].req, peer, NULL, 8, NULL, 0));
	KUNIT_EXPECT_EQ(test, 0, kfi_close(&cm.pep->fid));
	KUNIT_EXPECT_EQ(test, 1, req[4].rejected);
	KUNIT_EXPECT_EQ(test, 0L, atomic_long_read(&paid));
	cm.pep = NULL;
	for (i = 0; i < 3; i++)
		kfi_freeinfo(info[i]);
	cm_close(test, &cm);
}

struct cm_closing {
	struct work_struct	work;
	struct kfid_pep		*pep;
	int			ret;
};

static void cm_close_work(struct work_struct *work)
{
	struct cm_closing *c = container_of(work, struct cm_closing, work);

	c->ret = kfi_close(&c->pep->fid);
}

/* While a passive endpoint closes, an endpoint gets its request and keeps it open, or gets none. */
static void cm_taken_while_closing(struct kunit *test)
{
	struct fake_req req = {};
	struct cm_closing c;
	struct kfi_info *info;
	struct kfid_ep *ep;
	u8 peer[8] = { 7 };
	struct cm cm;
	int ret;

	cm_open(test, &cm);
	c.pep = cm.pep;
	INIT_WORK_ONSTACK(&c.work, cm_close_work);
	KUNIT_EXPECT_EQ(test, 0, kfi_pep_bind(cm.pep, &cm.eq->fid, 0));
	KUNIT_EXPECT_EQ(test, 0, kfi_listen(cm.pep));
	KUNIT_EXPECT_EQ(test, 0,
			kfi_pep_connreq(kfi_to_pep(cm.pep), &req.req, peer, NULL, 8, NULL, 0));
	info = cm_request(test, &cm);
	sched_set_fifo(current);	/* on one CPU, no other task runs until we wait */
	mutex_lock(&cm.w->fabric.lock);
	schedule_work(&c.work);
	msleep(20);			/* until it waits for the lock */
	mutex_unlock(&cm.w->fabric.lock);
	ret = kfi_endpoint(&cm.w->domain.fid, info, &ep, NULL);
	sched_set_normal(current, 0);
	flush_work(&c.work);
	destroy_work_on_stack(&c.work);
	KUNIT_EXPECT_EQ(test, ret ? 0 : -EBUSY, c.ret);
	if (!ret && c.ret)
		KUNIT_EXPECT_EQ(test, 0, kfi_close(&ep->fid));
	if (!c.ret)
		cm.pep = NULL;
	kfi_freeinfo(info);
	cm_close(test, &cm);
}

KFI_SUITE(kfi_ep,
	KUNIT_CASE(ep_close_waits_for_done),
	KUNIT_CASE(ep_close_direct),
	KUNIT_CASE_SLOW(ep_kill_races),
	KUNIT_CASE(cm_requests),
	KUNIT_CASE(cm_taken_while_closing));
