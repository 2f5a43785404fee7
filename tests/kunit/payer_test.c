// SPDX-License-Identifier: GPL-2.0
/*
 * The limits of a user (kfi/payer.c): against whom counts what processes in user namespaces open.
 * The namespaces and the credentials are the test's own.
 */
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/sched/user.h>
#include <linux/user_namespace.h>
#include <kfi_payer.h>
#include "../../kfi/core.h"
#include "suite.h"

#define OWNER		1000U	/* has subordinate ids from SUBUID on */
#define SUBUID		100000U
#define OTHER		1001U
#define ENDPOINTS	1024U	/* default of max_endpoints */

static struct user_namespace *new_ns(struct kunit *test, unsigned int owner,
				     struct user_namespace *parent)
{
	struct user_namespace *ns = kfi_test_zalloc(test, sizeof(*ns));

	ns->owner = KUIDT_INIT(owner);
	ns->parent = parent;
	return ns;
}

static struct kfi_payer *new_payer(struct kunit *test, unsigned int uid, struct user_namespace *ns)
{
	struct user_struct *user = kfi_test_zalloc(test, sizeof(*user));
	struct cred *cred = kfi_test_zalloc(test, sizeof(*cred));
	struct kfi_payer *payer;

	user->uid = KUIDT_INIT(uid);
	cred->user = user;
	cred->user_ns = ns;
	get_cred(cred);		/* of the test: it is never freed */
	payer = kfi_payer_open_as(cred);
	KUNIT_ASSERT_FALSE(test, IS_ERR(payer));
	return payer;
}

/* Take as many endpoints as the payer may have. */
static unsigned int take_all(struct kfi_payer *payer)
{
	unsigned int n = 0;

	while (!kfi_payer_take(payer, KFI_PAYER_ENDPOINTS, 1))
		n++;
	return n;
}

static void give(struct kfi_payer *payer, unsigned int n)
{
	while (n--)
		kfi_payer_give(payer, KFI_PAYER_ENDPOINTS, 1);
}

static bool full(struct kfi_payer *payer)
{
	return kfi_payer_take(payer, KFI_PAYER_ENDPOINTS, 1) == -EMFILE;
}

/* A user with subordinate ids has the limits of one user, with each of them, and its own id. */
static void owner_pays(struct kunit *test)
{
	struct user_namespace *ns = new_ns(test, OWNER, &init_user_ns);
	struct user_namespace *inner = new_ns(test, SUBUID, ns);
	struct kfi_payer *payer[] = {
		new_payer(test, OWNER, &init_user_ns), new_payer(test, OWNER, ns),
		new_payer(test, SUBUID, ns), new_payer(test, SUBUID + 1, ns),
		new_payer(test, SUBUID + 2, inner),
	};
	struct kfi_payer *other = new_payer(test, OTHER, &init_user_ns);
	unsigned int i, k, n;

	for (i = 0; i < ARRAY_SIZE(payer); i++) {
		n = take_all(payer[i]);
		KUNIT_EXPECT_EQ(test, ENDPOINTS, n);
		for (k = 0; k < ARRAY_SIZE(payer); k++)
			KUNIT_EXPECT_TRUE(test, full(payer[k]));
		KUNIT_EXPECT_FALSE(test, full(other));
		give(other, 1);
		give(payer[i], n);
	}
	/* What was refused has changed no count, on any level. */
	for (i = 0; i < ARRAY_SIZE(payer); i++) {
		KUNIT_EXPECT_EQ(test, 0L,
				atomic_long_read(kfi_payer_account(payer[i])->bytes));
		kfi_payer_put(payer[i]);
	}
	kfi_payer_put(other);
}

/* An id has its limits in its namespace, too: one user there does not have those of all. */
static void member_pays(struct kunit *test)
{
	struct user_namespace *ns = new_ns(test, OWNER, &init_user_ns);
	struct user_namespace *inner = new_ns(test, SUBUID, ns);
	struct kfi_payer *outside = new_payer(test, SUBUID, &init_user_ns);
	struct kfi_payer *inside = new_payer(test, SUBUID + 1, inner);
	struct kfi_payer *beside = new_payer(test, SUBUID + 2, ns);
	unsigned int n = take_all(outside);

	KUNIT_EXPECT_EQ(test, ENDPOINTS, n);
	KUNIT_EXPECT_TRUE(test, full(inside));	/* of the owner of @inner */
	KUNIT_EXPECT_FALSE(test, full(beside));
	give(beside, 1);
	give(outside, n);
	kfi_payer_put(outside);
	kfi_payer_put(inside);
	kfi_payer_put(beside);
}

/* The users of a container that root has made have one limit, and neither root nor others pay. */
static void container_of_root_pays(struct kunit *test)
{
	struct user_namespace *one = new_ns(test, 0, &init_user_ns);
	struct user_namespace *two = new_ns(test, 0, &init_user_ns);
	struct kfi_payer *first = new_payer(test, SUBUID, one);
	struct kfi_payer *second = new_payer(test, SUBUID + 1, one);
	struct kfi_payer *others[] = {
		new_payer(test, SUBUID + 2, two), new_payer(test, 0, &init_user_ns),
	};
	unsigned int i, n = take_all(first);

	KUNIT_EXPECT_EQ(test, ENDPOINTS, n);
	KUNIT_EXPECT_TRUE(test, full(second));
	for (i = 0; i < ARRAY_SIZE(others); i++) {
		KUNIT_EXPECT_FALSE(test, full(others[i]));
		give(others[i], 1);
		kfi_payer_put(others[i]);
	}
	give(first, n);
	kfi_payer_put(first);
	kfi_payer_put(second);
}

/* Kernel memory is one account for all of them. A charge that is refused charges nobody. */
static void memory_is_shared(struct kunit *test)
{
	struct user_namespace *ns = new_ns(test, OWNER, &init_user_ns);
	struct kfi_payer *a = new_payer(test, SUBUID, ns), *b = new_payer(test, SUBUID + 1, ns);
	struct kfi_account *of_a = kfi_payer_account(a), *of_b = kfi_payer_account(b);
	long all = kfi_account_left(of_a), some = all / 4 * 3;

	KUNIT_EXPECT_EQ(test, 0, kfi_account_charge(of_a, some));
	KUNIT_EXPECT_EQ(test, all - some, kfi_account_left(of_b));
	KUNIT_EXPECT_EQ(test, -ENOBUFS, kfi_account_charge(of_b, some));
	KUNIT_EXPECT_EQ(test, -EMFILE, kfi_payer_take(b, KFI_PAYER_OTHERS, some));
	KUNIT_EXPECT_EQ(test, 0L, atomic_long_read(of_b->bytes));
	kfi_account_uncharge(of_a, some);
	KUNIT_EXPECT_EQ(test, all, kfi_account_left(of_b));
	kfi_payer_put(a);
	kfi_payer_put(b);
}

KFI_SUITE(kfi_payer,
	KUNIT_CASE(owner_pays),
	KUNIT_CASE(member_pays),
	KUNIT_CASE(container_of_root_pays),
	KUNIT_CASE(memory_is_shared));
