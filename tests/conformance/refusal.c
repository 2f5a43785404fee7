// SPDX-License-Identifier: GPL-2.0
/*
 * The consequence of an access to a region of the peer that has ended: enum kfi_refusal of the
 * domain says it, and these functions say what that means for completions.
 */
#include "harness.h"

#define ONE_PACKET	256	/* a packet of every device has room for this many bytes */

enum kfi_refusal refusal(struct node *n)
{
	struct kfi_domain_limits limits = {};

	EXPECT_EQ(n->t, kfi_domain_limits(n->domain, &limits), 0);
	return limits.refusal;
}

bool is_lost(struct node *n, int err)
{
	switch (refusal(n)) {
	case KFI_REFUSAL_MUTE:
		if (err == EREMOTEIO)
			/* the device's refusal may come with another operation */
			return true;
		fallthrough;
	case KFI_REFUSAL_CONN:
		return err == ECONNRESET || (n->t->type == KFI_EP_MSG && err == ESHUTDOWN);
	default:
		return false;
	}
}

bool is_refused(struct node *n, int err, size_t len, bool claims)
{
	switch (refusal(n)) {
	case KFI_REFUSAL_MUTE:
		return err == EACCES || is_lost(n, err) || (!err && !claims);
	case KFI_REFUSAL_CONN:
		return err == EACCES || (err == EREMOTEIO && len > ONE_PACKET);
	default:
		return err == EACCES;
	}
}

/* ---- afterwards ---- */

/*
 * Does a write succeed, behind all that was posted before? Return: 1, 0, or -1 if the case has
 * failed.
 */
static int write_through(struct pair *p, struct region *r)
{
	struct node *a = &p->a;
	struct kvec iov = { a->addr, 1 };
	struct kfi_rma_iov rma = { r->addr, 1, r->key };
	struct kfi_msg_rma msg = {
		.type = KFI_KVEC,
		.msg_iov = &iov,
		.iov_count = 1,
		.addr = a->peer,
		.rma_iov = &rma,
		.rma_iov_count = 1,
		.context = p,
	};
	unsigned long until = 0;
	ssize_t ret;
	comp_t c;

	do {
		ret = kfi_writemsg(a->ep, &msg, test_delivery(a->t) | KFI_COMPLETION);
	} while (ret == -EAGAIN && test_again(a->t, &until));
	if (a->t->type == KFI_EP_MSG && (ret == -ENOTCONN || ret == -ESHUTDOWN))
		return 0;
	if (!EXPECT_EQ(a->t, ret, 0) || WAIT_TX(a, &c) || !EXPECT(a->t, c.op_context == p))
		return -1;
	return c.err ? (EXPECT(a->t, is_lost(a, c.err)) ? 0 : -1) : 1;
}

static int gets_through(struct pair *p)
{
	struct test *t = p->a.t;
	struct region r;
	int ret;

	if (region_open(&p->b, &r, test_zalloc(t, 64), 64, KFI_REMOTE_WRITE))
		return -1;
	ret = write_through(p, &r);
	return EXPECT_EQ(t, test_close(t, &r.mr->fid), 0) ? ret : -1;
}

static bool told_shutdown(struct node *n)
{
	struct event *ev = test_new(n->t, struct event);

	return ev && !WAIT_EVENT(n, ev) && EXPECT_EQ(n->t, ev->err, 0) &&
	       EXPECT_EQ(n->t, ev->type, KFI_SHUTDOWN) && EXPECT(n->t, ev->fid == &n->ep->fid);
}

bool is_over(struct pair *p)
{
	return told_shutdown(&p->a) && told_shutdown(&p->b) && !pair_reconnect(p, &p->a);
}

bool goes_on(struct pair *p)
{
	struct test *t = p->a.t;
	int there = gets_through(p);

	if (!there && t->type == KFI_EP_MSG)
		there = is_over(p);
	else if (!there && refusal(&p->a) == KFI_REFUSAL_MUTE)
		there = gets_through(p);	/* the end was not noticed yet */
	if (EXPECT_EQ(t, there, 1))
		still_works(p);
	return !t->failures;
}
