// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* test_info.c - conversion of names, modes and capabilities to the kernel's form and back */
#include <stdio.h>

#include "kfi_fi.h"

#define V_OLD	FI_VERSION(1, 4)
#define V1	FI_VERSION(1, 17)
#define V2	FI_VERSION(2, 1)

static int failures;

#define CHECK(condition)								\
	do {										\
		if (!(condition)) {							\
			printf("%s:%d: %s\n", __func__, __LINE__, #condition);		\
			failures++;							\
		}									\
	} while (0)

static void test_split(void)
{
	char provider[KFI_USER_NAME_MAX], rest[KFI_USER_NAME_MAX], longest[200];

	CHECK(!kfi_name_split("sockets-eth0", provider, rest));
	CHECK(!strcmp(provider, "sockets") && !strcmp(rest, "eth0"));
	CHECK(!kfi_name_split("sockets-br-1-2", provider, rest));
	CHECK(!strcmp(provider, "sockets") && !strcmp(rest, "br-1-2"));
	CHECK(!kfi_name_split("sockets", provider, rest) && !*rest);
	CHECK(kfi_name_split("", provider, rest) && kfi_name_split("-eth0", provider, rest));
	memset(longest, 'a', sizeof(longest));
	longest[199] = '\0';
	CHECK(kfi_name_split(longest, provider, rest));
	longest[3] = '-';
	CHECK(kfi_name_split(longest, provider, rest));
	longest[4 + KFI_USER_NAME_MAX - 1] = '\0';
	CHECK(!kfi_name_split(longest, provider, rest));
}

/* Convert hints with these names to the kernel's form. Return: -FI_ENODATA or 0 */
static int pack_names(const char *fabric, const char *domain, struct kfi_user_info *flat,
		      const char **provider)
{
	struct fi_info *hints = fi_allocinfo();
	int ret;

	*provider = NULL;
	hints->fabric_attr->name = fabric ? strdup(fabric) : NULL;
	hints->domain_attr->name = domain ? strdup(domain) : NULL;
	ret = kfi_info_pack(hints, V1, flat, provider);
	*provider = *provider ? strdup(*provider) : NULL;
	fi_freeinfo(hints);
	return ret;
}

static void test_names(void)
{
	struct kfi_user_info flat;
	const char *provider;

	CHECK(!pack_names(NULL, NULL, &flat, &provider) && !*flat.fabric.prov_name && !provider);
	CHECK(!pack_names(NULL, "verbs-rxe0", &flat, &provider) && !provider);
	CHECK(!strcmp(flat.fabric.prov_name, "verbs") && !strcmp(flat.domain.name, "rxe0"));
	CHECK(!*flat.fabric.name);
	CHECK(!pack_names("sockets-10.0.0.0/24", "sockets-eth0", &flat, &provider));
	CHECK(!strcmp(flat.fabric.name, "10.0.0.0/24") && !strcmp(flat.domain.name, "eth0"));
	CHECK(pack_names("verbs-10.0.0.0/24", "sockets-eth0", &flat, &provider) == -FI_ENODATA);
	CHECK(!pack_names(NULL, "sockets", &flat, &provider) && !*flat.fabric.prov_name);
	CHECK(provider && !strcmp(provider, "sockets"));
}

static struct kfi_user_info an_answer(void)
{
	struct kfi_user_info flat = {
		.caps = FI_MSG | FI_TRIGGER | FI_NAMED_RX_CTX | 1ULL << 60 | 1ULL << 48,
		.addr_format = FI_SOCKADDR_IN,
		.src_addrlen = 16,
		.ep = {
			.type = FI_EP_RDM,
			.rx_ctx_cnt = UINT64_MAX,
			.auth_key_size = 3,
			.auth_key = "key",
		},
		.domain = { .name = "eth0", .av_type = FI_AV_TABLE, .mr_key_size = 4 },
		.fabric = { .name = "net", .prov_name = "sockets" },
	};

	flat.tx.caps = flat.caps;
	flat.src_addr[3] = 9;
	return flat;
}

static void test_unpack(void)
{
	struct kfi_user_info flat = an_answer();
	struct fi_info *info = kfi_info_unpack(&flat, V1), *dup;
	char text[8192] = "";

	CHECK(info && info->caps == FI_MSG && info->tx_attr->caps == FI_MSG);
	CHECK(!strcmp(info->domain_attr->name, "sockets-eth0"));
	CHECK(!strcmp(info->fabric_attr->name, "sockets-net") && !info->fabric_attr->prov_name);
	CHECK(info->src_addrlen == 16 && ((uint8_t *)info->src_addr)[3] == 9 && !info->dest_addr);
	CHECK(info->ep_attr->rx_ctx_cnt == FI_SHARED_CONTEXT);
	CHECK(info->ep_attr->auth_key_size == 3 && !memcmp(info->ep_attr->auth_key, "key", 3));
	CHECK(info->fabric_attr->api_version == V1);

	/* libfabric copies, prints and frees the info. */
	dup = fi_dupinfo(info);
	CHECK(dup && !dup->nic);
	fi_freeinfo(info);
	fi_tostr_r(text, sizeof(text), dup, FI_TYPE_INFO);
	CHECK(strstr(text, "sockets-eth0"));
	fi_freeinfo(dup);

	/* A bit that means something else in libfabric 1 is present in libfabric 2. */
	info = kfi_info_unpack(&flat, V2);
	CHECK(info && info->caps == (FI_MSG | 1ULL << 48));
	fi_freeinfo(info);
}

/* An answer that is converted to an info and back is the same for the kernel. */
static void test_round(void)
{
	struct kfi_user_info flat = an_answer(), back;
	struct fi_info *info = kfi_info_unpack(&flat, V1);
	const char *provider = NULL;

	info->domain_attr->av_type = FI_AV_MAP;
	CHECK(!kfi_info_pack(info, V1, &back, &provider) && !provider);
	CHECK(back.caps == FI_MSG && back.domain.av_type == FI_AV_TABLE);
	CHECK(!strcmp(back.fabric.prov_name, "sockets") && !strcmp(back.fabric.name, "net"));
	CHECK(back.ep.rx_ctx_cnt == UINT64_MAX && back.ep.auth_key_size == 3);
	CHECK(!memcmp(back.src_addr, flat.src_addr, 16) && back.src_addrlen == 16);

	info->caps |= FI_TRIGGER;
	CHECK(kfi_info_pack(info, V1, &back, &provider) == -FI_ENODATA);
	info->caps = FI_MSG;
	info->ep_attr->tx_ctx_cnt = 2;
	CHECK(kfi_info_pack(info, V1, &back, &provider) == -FI_ENODATA);
	info->ep_attr->tx_ctx_cnt = FI_SHARED_CONTEXT;
	CHECK(!kfi_info_pack(info, V1, &back, &provider) && back.ep.tx_ctx_cnt == UINT64_MAX);
	fi_freeinfo(info);
}

static void test_modes(void)
{
	CHECK(kfi_mr_bits(V_OLD, KFI_MR_UNSPEC) == KFI_MR_BITS);
	CHECK(kfi_mr_bits(V_OLD, KFI_MR_SCALABLE) == 0);
	CHECK(kfi_mr_bits(V_OLD, KFI_MR_BASIC) == KFI_MR_BITS);
	CHECK(kfi_mr_bits(V1, 0) == 0);
	CHECK(kfi_mr_bits(V1, KFI_MR_SCALABLE) == 0);
	CHECK(kfi_mr_bits(V1, KFI_MR_BASIC) == KFI_MR_BITS);
	CHECK(kfi_mr_bits(V1, FI_MR_PROV_KEY) == FI_MR_PROV_KEY);
}

/* A utility provider that searches a provider to run over finds none, with or without a device. */
static void test_flags(void)
{
	struct fi_info *info = NULL;

	CHECK(kfi_getinfo(V1, NULL, NULL, 1ULL << 59, NULL, &info) == -FI_ENODATA && !info);
}

/* There is no device, so a region that the library does not refuse is refused by its descriptor. */
static void test_memory_of_devices(void)
{
	struct kfi_fabric fabric = { .fd = -1, .fid.api_version = V1 };
	struct kfi_domain domain = { .fabric = &fabric };
	char host[8];
	struct iovec iov = { host, sizeof(host) };
	struct fi_mr_attr attr = { .mr_iov = &iov, .iov_count = 1, .access = FI_REMOTE_READ };
	struct fid_mr *mr;
	int ret;

	for (attr.iface = FI_HMEM_CUDA; attr.iface <= FI_HMEM_NEURON; attr.iface++)
		CHECK(kfi_mr_ops.regattr(&domain.fid.fid, &attr, 0, &mr) == -FI_ENOSYS);
	fabric.fid.api_version = V_OLD;		/* its programs have no such member */
	ret = kfi_mr_ops.regattr(&domain.fid.fid, &attr, 0, &mr);
	CHECK(ret && ret != -FI_ENOSYS);
	fabric.fid.api_version = V1;
	attr.iface = FI_HMEM_SYSTEM;
	ret = kfi_mr_ops.regattr(&domain.fid.fid, &attr, 0, &mr);
	CHECK(ret && ret != -FI_ENOSYS);
}

int main(void)
{
	test_split();
	test_names();
	test_unpack();
	test_round();
	test_modes();
	test_flags();
	test_memory_of_devices();
	printf("test_info: %s\n", failures ? "failed" : "passed");
	return failures != 0;
}
