// SPDX-License-Identifier: GPL-2.0
/*
 * info_test.c - struct kfi_info: a copy owns all that it points to, and a copy that runs out of
 * memory leaves nothing
 */
#include <kunit/test.h>
#include <linux/in.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <kfabric.h>
#include <kfi_domain.h>
#include <kfi_endpoint.h>
#include <kfi_eq.h>

static char *str(struct kunit *test, const char *text)
{
	char *copy = kstrdup(text, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, copy);
	return copy;
}

static void *mem(struct kunit *test, size_t len, u8 fill)
{
	void *p = kmalloc(len, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, p);
	memset(p, fill, len);
	return p;
}

/* Return an info with everything that an info can have. */
static struct kfi_info *full_info(struct kunit *test)
{
	struct kfi_info *info = kfi_allocinfo();

	KUNIT_ASSERT_NOT_NULL(test, info);
	info->caps = KFI_MSG | KFI_RMA;
	info->mode = KFI_CONTEXT;
	info->addr_format = KFI_SOCKADDR_IN;
	info->src_addrlen = 16;
	info->src_addr = mem(test, 16, 0x11);
	info->dest_addrlen = 28;
	info->dest_addr = mem(test, 28, 0x22);
	info->tx_attr->size = 17;
	info->rx_attr->size = 18;
	info->ep_attr->type = KFI_EP_RDM;
	info->ep_attr->auth_key_size = 8;
	info->ep_attr->auth_key = mem(test, 8, 0x33);
	info->domain_attr->name = str(test, "a domain");
	info->domain_attr->auth_key_size = 4;
	info->domain_attr->auth_key = mem(test, 4, 0x44);
	info->fabric_attr->name = str(test, "a fabric");
	info->fabric_attr->prov_name = str(test, "a provider");
	return info;
}

#define EXPECT_OTHER(test, a, b)	KUNIT_EXPECT_PTR_NE(test, (void *)(a), (void *)(b))

/* equal content at another address */
static void expect_mem(struct kunit *test, const void *a, const void *b, size_t len)
{
	EXPECT_OTHER(test, a, b);
	KUNIT_ASSERT_NOT_NULL(test, b);
	KUNIT_EXPECT_EQ(test, memcmp(a, b, len), 0);
}

static void expect_str(struct kunit *test, const char *a, const char *b)
{
	EXPECT_OTHER(test, a, b);
	KUNIT_ASSERT_NOT_NULL(test, b);
	KUNIT_EXPECT_STREQ(test, a, b);
}

static void expect_info(struct kunit *test, const struct kfi_info *a, const struct kfi_info *b)
{
	KUNIT_EXPECT_EQ(test, b->caps, a->caps);
	KUNIT_EXPECT_EQ(test, b->mode, a->mode);
	KUNIT_EXPECT_EQ(test, b->addr_format, a->addr_format);
	KUNIT_EXPECT_EQ(test, b->src_addrlen, a->src_addrlen);
	KUNIT_EXPECT_EQ(test, b->dest_addrlen, a->dest_addrlen);
	expect_mem(test, a->src_addr, b->src_addr, a->src_addrlen);
	expect_mem(test, a->dest_addr, b->dest_addr, a->dest_addrlen);
	expect_mem(test, a->tx_attr, b->tx_attr, sizeof(*a->tx_attr));
	expect_mem(test, a->rx_attr, b->rx_attr, sizeof(*a->rx_attr));
	KUNIT_EXPECT_EQ(test, b->ep_attr->type, a->ep_attr->type);
	KUNIT_EXPECT_EQ(test, b->ep_attr->auth_key_size, a->ep_attr->auth_key_size);
	expect_mem(test, a->ep_attr->auth_key, b->ep_attr->auth_key, a->ep_attr->auth_key_size);
	expect_str(test, a->domain_attr->name, b->domain_attr->name);
	expect_mem(test, a->domain_attr->auth_key, b->domain_attr->auth_key,
		   a->domain_attr->auth_key_size);
	expect_str(test, a->fabric_attr->name, b->fabric_attr->name);
	expect_str(test, a->fabric_attr->prov_name, b->fabric_attr->prov_name);
}

static void test_dup(struct kunit *test)
{
	struct kfi_info *info = full_info(test), *copy, *second;
	int handle;

	info->handle = (kfid_t)&handle;
	info->next = full_info(test);
	copy = kfi_dupinfo(info);
	KUNIT_ASSERT_NOT_NULL(test, copy);
	expect_info(test, info, copy);
	KUNIT_EXPECT_PTR_EQ(test, copy->handle, info->handle);
	KUNIT_EXPECT_NULL(test, copy->next);

	/* KASAN would report a pointer that the copy shares with the original. */
	kfi_freeinfo(info);
	second = kfi_dupinfo(copy);
	KUNIT_ASSERT_NOT_NULL(test, second);
	expect_info(test, copy, second);
	kfi_freeinfo(copy);
	kfi_freeinfo(second);
}

static void test_dup_sparse(struct kunit *test)
{
	struct kfi_info empty = { .src_addrlen = 16 }, *copy = kfi_dupinfo(&empty);

	KUNIT_ASSERT_NOT_NULL(test, copy);
	KUNIT_EXPECT_NULL(test, copy->src_addr);
	KUNIT_EXPECT_NULL(test, copy->tx_attr);
	KUNIT_EXPECT_NULL(test, copy->rx_attr);
	KUNIT_EXPECT_NULL(test, copy->ep_attr);
	KUNIT_EXPECT_NULL(test, copy->domain_attr);
	KUNIT_EXPECT_NULL(test, copy->fabric_attr);
	KUNIT_EXPECT_NULL(test, copy->nic);
	kfi_freeinfo(copy);
}

static void test_alloc(struct kunit *test)
{
	struct kfi_info *info = kfi_dupinfo(NULL);

	KUNIT_ASSERT_NOT_NULL(test, info);
	KUNIT_EXPECT_NOT_NULL(test, info->tx_attr);
	KUNIT_EXPECT_NOT_NULL(test, info->rx_attr);
	KUNIT_EXPECT_NOT_NULL(test, info->ep_attr);
	KUNIT_EXPECT_NOT_NULL(test, info->domain_attr);
	KUNIT_EXPECT_NOT_NULL(test, info->fabric_attr);
	KUNIT_EXPECT_EQ(test, info->caps, 0ULL);
	KUNIT_EXPECT_NULL(test, info->next);
	kfi_freeinfo(info);
	kfi_freeinfo(NULL);
}

/* Hints may contain any memory of kmalloc(). */
static void test_free_exchanged(struct kunit *test)
{
	struct kfi_info *info = full_info(test);

	kfree(info->domain_attr->name);
	info->domain_attr->name = kasprintf(GFP_KERNEL, "%d", 42);
	kfree(info->src_addr);
	info->src_addr = kmalloc(200, GFP_ATOMIC);
	kfree(info->rx_attr);
	info->rx_attr = NULL;
	kfi_freeinfo(info);
}

#ifdef CONFIG_FAILSLAB
/*
 * Let the nth allocation of this task fail. If a debugging option of the kernel makes that
 * allocation, the copy succeeds and is complete. Return: was there an nth allocation?
 */
static bool dup_with_failure(struct kunit *test, const struct kfi_info *info, int nth,
			     int *failures)
{
	struct kfi_info *copy;
	bool fired;

	current->fail_nth = nth;
	copy = kfi_dupinfo(info);
	fired = !current->fail_nth;
	current->fail_nth = 0;
	if (!copy)
		++*failures;
	else if (info)
		expect_info(test, info, copy);
	kfi_freeinfo(copy);
	return fired;
}

/*
 * Each allocation fails once; kmemleak reports what is not freed. A softirq may take the failure
 * that was meant for the copy, so the best of several rounds counts.
 */
static void expect_clean_failure(struct kunit *test, const struct kfi_info *info, int min)
{
	int round, nth, failures, most = 0;

	for (round = 0; round < 5 && most < min; round++) {
		failures = 0;
		for (nth = 1; nth < 200 && dup_with_failure(test, info, nth, &failures); nth++)
			;
		if (nth == 1)
			kunit_skip(test,
				   "failslab spares GFP_KERNEL: set its ignore-gfp-wait to N");
		KUNIT_EXPECT_LT(test, nth, 200);
		most = max(most, failures);
	}
	KUNIT_EXPECT_GE(test, most, min);
}

static void test_no_memory(struct kunit *test)
{
	struct kfi_info *info;

	expect_clean_failure(test, NULL, 6);
	info = full_info(test);
	expect_clean_failure(test, info, 13);
	kfi_freeinfo(info);
}
#else
static void test_no_memory(struct kunit *test)
{
	kunit_skip(test, "the kernel has no failslab");
}

#endif

static struct kunit_case info_cases[] = {
	KUNIT_CASE(test_alloc),
	KUNIT_CASE(test_dup),
	KUNIT_CASE(test_dup_sparse),
	KUNIT_CASE(test_free_exchanged),
	KUNIT_CASE(test_no_memory),
	{ }
};

static struct kunit_suite info_suite = {
	.name = "kfi-info",
	.test_cases = info_cases,
};
kunit_test_suite(info_suite);
