// SPDX-License-Identifier: GPL-2.0
/*
 * text_test.c - kfi_tostr() and kfi_strerror()
 */
#include <kunit/test.h>
#include <linux/in.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <kfabric.h>
#include <kfi_domain.h>
#include <kfi_endpoint.h>
#include <kfi_eq.h>
#include <kfi_errno.h>

static void expect_text(struct kunit *test, const void *data, enum kfi_type type, const char *want)
{
	char buf[256], *text;

	KUNIT_EXPECT_PTR_EQ(test, kfi_tostr_r(buf, sizeof(buf), data, type), &buf[0]);
	KUNIT_EXPECT_STREQ(test, buf, want);
	text = kfi_tostr(data, type);
	KUNIT_ASSERT_NOT_NULL(test, text);
	KUNIT_EXPECT_STREQ(test, text, want);
	kfree(text);
}

static void test_values(struct kunit *test)
{
	enum kfi_ep_type type = KFI_EP_RDM;
	u64 caps = KFI_MSG | KFI_REMOTE_WRITE | KFI_TAGGED_RMA, none = 0;
	u64 strange = KFI_TAGGED | (1ULL << 14);
	u64 flags = KFI_INJECT | KFI_DELIVERY_COMPLETE, order = KFI_ORDER_SAS | KFI_ORDER_DATA;
	u32 event = KFI_SHUTDOWN, format = KFI_ADDR_LOOP, proto = KFI_PROTO_KFI_TCP, odd = 77;
	int mr = KFI_MR_PROV_KEY | KFI_MR_ENDPOINT;
	struct kfid fid = { .fclass = KFI_CLASS_EP };
	char buf[64];

	expect_text(test, &type, KFI_TYPE_EP_TYPE, "KFI_EP_RDM");
	expect_text(test, &caps, KFI_TYPE_CAPS, "KFI_MSG, KFI_REMOTE_WRITE, KFI_TAGGED_RMA");
	expect_text(test, &none, KFI_TYPE_CAPS, "");
	expect_text(test, &strange, KFI_TYPE_CAPS, "KFI_TAGGED, 0x4000");
	expect_text(test, &flags, KFI_TYPE_OP_FLAGS, "KFI_INJECT, KFI_DELIVERY_COMPLETE");
	expect_text(test, &order, KFI_TYPE_MSG_ORDER, "KFI_ORDER_SAS, KFI_ORDER_DATA");
	expect_text(test, &event, KFI_TYPE_EQ_EVENT, "KFI_SHUTDOWN");
	expect_text(test, &format, KFI_TYPE_ADDR_FORMAT, "KFI_ADDR_LOOP");
	expect_text(test, &proto, KFI_TYPE_PROTOCOL, "KFI_PROTO_KFI_TCP");
	expect_text(test, &mr, KFI_TYPE_MR_MODE, "KFI_MR_PROV_KEY, KFI_MR_ENDPOINT");
	expect_text(test, &odd, KFI_TYPE_THREADING, "Unknown (0x4d)");
	expect_text(test, NULL, KFI_TYPE_CAPS, "(null)");
	expect_text(test, &odd, KFI_TYPE_CQ_ERR_ENTRY + 1, "Unknown type");
	expect_text(test, &odd, KFI_TYPE_COLLECTIVE_OP, "Unknown type");
	scnprintf(buf, sizeof(buf), "%u.%u", KFI_MAJOR_VERSION, KFI_MINOR_VERSION);
	expect_text(test, NULL, KFI_TYPE_VERSION, buf);
	kfi_tostr_r(buf, sizeof(buf), &fid, KFI_TYPE_FID);
	KUNIT_EXPECT_NOT_NULL(test, strstr(buf, "KFI_CLASS_EP"));
}

static void test_struct(struct kunit *test)
{
	struct kfi_cntr_attr attr = { .wait_obj = KFI_WAIT_QUEUE, .flags = 0x20 };

	expect_text(test, &attr, KFI_TYPE_CNTR_ATTR,
		    "kfi_cntr_attr:\n    events: KFI_CNTR_EVENTS_COMP\n"
		    "    wait_obj: KFI_WAIT_QUEUE\n    flags: 0x20\n");
}

static void test_info(struct kunit *test)
{
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_port = htons(7000),
				   .sin_addr.s_addr = htonl(0x0a000102) };
	struct kfi_info *info = kfi_allocinfo();
	char *text;

	KUNIT_ASSERT_NOT_NULL(test, info);
	info->caps = ~0ULL;
	info->addr_format = KFI_SOCKADDR_IN;
	info->src_addr = kmemdup(&sin, sizeof(sin), GFP_KERNEL);
	info->src_addrlen = sizeof(sin);
	info->dest_addr = kmemdup(&sin, 4, GFP_KERNEL);	/* too short to be read as what it says */
	info->dest_addrlen = 4;
	info->domain_attr->name = kstrdup("eth0", GFP_KERNEL);
	text = kfi_tostr(info, KFI_TYPE_INFO);
	KUNIT_ASSERT_NOT_NULL(test, text);
	KUNIT_EXPECT_NOT_NULL(test, strstr(text, "src_addr: 10.0.1.2:7000\n"));
	KUNIT_EXPECT_NOT_NULL(test, strstr(text, "name: eth0\n"));
	KUNIT_EXPECT_NOT_NULL(test, strstr(text, "kfi_fabric_attr:\n"));
	/* the end is there */
	KUNIT_EXPECT_NOT_NULL(test, strstr(text, "api_version: 0.0\n"));
	kfree(text);
	kfi_freeinfo(info);
}

/* Every length of buffer: nothing is written behind it, and the text is whole but for its end */
static void test_short_buffers(struct kunit *test)
{
	struct kfi_tx_attr attr = { .caps = KFI_MSG | KFI_SEND, .size = 12345 };
	char *full = kfi_tostr(&attr, KFI_TYPE_TX_ATTR), *buf;
	size_t len;

	KUNIT_ASSERT_NOT_NULL(test, full);
	KUNIT_EXPECT_NULL(test, kfi_tostr_r(full, 0, &attr, KFI_TYPE_TX_ATTR));
	KUNIT_EXPECT_NULL(test, kfi_tostr_r(NULL, 10, &attr, KFI_TYPE_TX_ATTR));
	for (len = 1; len <= strlen(full) + 1; len++) {
		buf = kmalloc(len, GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, buf);
		kfi_tostr_r(buf, len, &attr, KFI_TYPE_TX_ATTR);
		KUNIT_EXPECT_EQ(test, strnlen(buf, len), len - 1);
		KUNIT_EXPECT_EQ(test, strncmp(buf, full, len - 1), 0);
		kfree(buf);
	}
	kfree(full);
}

static void test_strerror(struct kunit *test)
{
	int err;

	KUNIT_EXPECT_STREQ(test, kfi_strerror(0), "Success");
	KUNIT_EXPECT_STREQ(test, kfi_strerror(KFI_ETRUNC), "Message truncated");
	KUNIT_EXPECT_STREQ(test, kfi_strerror(-KFI_ETRUNC), "Message truncated");
	KUNIT_EXPECT_STREQ(test, kfi_strerror(-EACCES), "Permission denied");
	KUNIT_EXPECT_PTR_EQ(test, kfi_strerror(EIO), kfi_strerror(-EIO));
	KUNIT_EXPECT_STREQ(test, kfi_strerror(KFI_ERRNO_MAX), "Unknown error");
	KUNIT_EXPECT_STREQ(test, kfi_strerror(255), "Unknown error");
	KUNIT_EXPECT_STREQ(test, kfi_strerror(INT_MIN), "Unknown error");
	KUNIT_EXPECT_STREQ(test, kfi_strerror(INT_MAX), "Unknown error");
	for (err = KFI_ERRNO_OFFSET; err < KFI_ERRNO_MAX; err++)
		KUNIT_EXPECT_STRNEQ(test, kfi_strerror(err), "Unknown error");
}

static struct kunit_case text_cases[] = {
	KUNIT_CASE(test_values),
	KUNIT_CASE(test_struct),
	KUNIT_CASE(test_info),
	KUNIT_CASE(test_short_buffers),
	KUNIT_CASE(test_strerror),
	{ }
};

static struct kunit_suite text_suite = {
	.name = "kfi-text",
	.test_cases = text_cases,
};
kunit_test_suite(text_suite);
