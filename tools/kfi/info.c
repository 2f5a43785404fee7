// SPDX-License-Identifier: GPL-2.0
/* info.c - kfi info: shows the result of kfi_getinfo(), or the modules */
#include <errno.h>
#include <getopt.h>
#include <string.h>

#include <linux/kfi.h>

#include "kfi.h"

static const struct field info_fields[] = {
	{ "provider", FIELD_STRING, 0, KFI_A_PROV_NAME },
	{ "fabric", FIELD_STRING, 0, KFI_A_FABRIC_NAME },
	{ "domain", FIELD_STRING, 0, KFI_A_DOMAIN_NAME },
	{ "version", FIELD_VERSION, 0, KFI_A_PROV_VERSION },
	{ "type", FIELD_EP_TYPE, 0, KFI_A_EP_TYPE },
	{ "protocol", FIELD_PROTOCOL, KFI_A_EP_ATTR, KFI_EP_A_PROTOCOL },
	{ "source", FIELD_STRING, 0, KFI_A_SRC_ADDR },
	{ "destination", FIELD_STRING, 0, KFI_A_DEST_ADDR },
	{ "caps", FIELD_CAPS, 0, KFI_A_CAPS, true },
	{ "mode", FIELD_HEX, 0, KFI_A_MODE, true },
	{ "addr_format", FIELD_FORMAT, 0, KFI_A_ADDR_FORMAT, true },
	{ "protocol_version", FIELD_U64, KFI_A_EP_ATTR, KFI_EP_A_PROTOCOL_VERSION, true },
	{ "max_msg_size", FIELD_U64, KFI_A_EP_ATTR, KFI_EP_A_MAX_MSG_SIZE, true },
	{ "mem_tag_format", FIELD_HEX, KFI_A_EP_ATTR, KFI_EP_A_MEM_TAG_FORMAT, true },
	{ "tx_op_flags", FIELD_HEX, KFI_A_TX_ATTR, KFI_CTX_A_OP_FLAGS, true },
	{ "tx_msg_order", FIELD_HEX, KFI_A_TX_ATTR, KFI_CTX_A_MSG_ORDER, true },
	{ "tx_size", FIELD_U64, KFI_A_TX_ATTR, KFI_CTX_A_SIZE, true },
	{ "tx_iov_limit", FIELD_U64, KFI_A_TX_ATTR, KFI_CTX_A_IOV_LIMIT, true },
	{ "rma_iov_limit", FIELD_U64, KFI_A_TX_ATTR, KFI_CTX_A_RMA_IOV_LIMIT, true },
	{ "inject_size", FIELD_U64, KFI_A_TX_ATTR, KFI_CTX_A_INJECT_SIZE, true },
	{ "tclass", FIELD_HEX, KFI_A_TX_ATTR, KFI_CTX_A_TCLASS, true },
	{ "rx_size", FIELD_U64, KFI_A_RX_ATTR, KFI_CTX_A_SIZE, true },
	{ "rx_iov_limit", FIELD_U64, KFI_A_RX_ATTR, KFI_CTX_A_IOV_LIMIT, true },
	{ "mr_mode", FIELD_MR_MODE, KFI_A_DOMAIN_ATTR, KFI_DOMAIN_A_MR_MODE, true },
	{ "mr_key_size", FIELD_U64, KFI_A_DOMAIN_ATTR, KFI_DOMAIN_A_MR_KEY_SIZE, true },
	{ "mr_iov_limit", FIELD_U64, KFI_A_DOMAIN_ATTR, KFI_DOMAIN_A_MR_IOV_LIMIT, true },
	{ "cq_data_size", FIELD_U64, KFI_A_DOMAIN_ATTR, KFI_DOMAIN_A_CQ_DATA_SIZE, true },
	{ "max_ep_tx_ctx", FIELD_U64, KFI_A_DOMAIN_ATTR, KFI_DOMAIN_A_MAX_EP_TX_CTX, true },
	{ "max_ep_rx_ctx", FIELD_U64, KFI_A_DOMAIN_ATTR, KFI_DOMAIN_A_MAX_EP_RX_CTX, true },
	{ "max_ep_stx_ctx", FIELD_U64, KFI_A_DOMAIN_ATTR, KFI_DOMAIN_A_MAX_EP_STX_CTX, true },
	{ "max_ep_srx_ctx", FIELD_U64, KFI_A_DOMAIN_ATTR, KFI_DOMAIN_A_MAX_EP_SRX_CTX, true },
};

static void print_usage(FILE *to)
{
	fputs("Usage: kfi info [OPTIONS] [NODE [SERVICE]]\n\n"
	      "What providers offer here; with a NODE and SERVICE, to reach those.\n\n"
	      "  -p, --provider NAME      only this one\n"
	      "  -t, --type msg|rdm|dgram only this kind of endpoint\n"
	      "  -s, --source             NODE and SERVICE are of this side\n"
	      "  -d, --details            all attributes\n"
	      "  -m, --modules            only the versions of the modules that are loaded\n"
	      "  -j, --json               in JSON, always with details\n", to);
}

struct query {
	const char *provider, *node, *service;
	int type;
	bool source, details, modules;
};

static int parse(int argc, char **argv, struct query *query)
{
	static const struct option longs[] = {
		COMMON_LONG,
		{ "provider", required_argument, NULL, 'p' },
		{ "type", required_argument, NULL, 't' },
		{ "source", no_argument, NULL, 's' },
		{ "details", no_argument, NULL, 'd' },
		{ "modules", no_argument, NULL, 'm' },
		{}
	};
	int opt;

	while ((opt = getopt_long(argc, argv, COMMON_SHORT "p:t:sdm", longs, NULL)) != -1) {
		if (common_option(opt))
			continue;
		if (opt == 'p') {
			query->provider = optarg;
		} else if (opt == 't') {
			query->type = ep_type_parse(optarg);
			if (query->type < 0)
				return usage_error("info", "types are msg, rdm and dgram, not '%s'",
						   optarg);
		} else if (opt == 's') {
			query->source = true;
		} else if (opt == 'd') {
			query->details = true;
		} else if (opt == 'm') {
			query->modules = true;
		} else {
			print_usage(opt == 'h' ? stdout : stderr);
			return opt == 'h' ? EXIT_OK : EXIT_USAGE;
		}
	}
	if (optind < argc)
		query->node = argv[optind++];
	if (optind < argc)
		query->service = argv[optind++];
	if (optind < argc)
		return usage_error("info", "too many words: '%s'", argv[optind]);
	if (query->source && !query->node)
		return usage_error("info", "--source wants a NODE");
	if (query->modules && (query->provider || query->type || query->node || query->details))
		return usage_error("info", "--modules comes alone");
	return -1;
}

static struct nl_msg *request(struct nlx *nlx, const struct query *query)
{
	struct nl_msg *msg = nlx_request(nlx, KFI_CMD_GET_INFO, NLM_F_DUMP);

	if (!msg)
		return NULL;
	if (query->provider)
		nla_put_string(msg, KFI_A_PROV_NAME, query->provider);
	if (query->type)
		nla_put_u32(msg, KFI_A_EP_TYPE, query->type);
	if (query->node)
		nla_put_string(msg, KFI_A_NODE, query->node);
	if (query->service)
		nla_put_string(msg, KFI_A_SERVICE, query->service);
	if (query->source)
		nla_put_flag(msg, KFI_A_SOURCE);
	return msg;
}

static void complain_info(struct nlx *nlx, const struct query *query)
{
	if (nlx->error != ENODATA)
		nlx_complain(nlx, "asking the kernel");
	else
		complain_unserved(query->provider, query->node);
}

int cmd_info(int argc, char **argv)
{
	struct query query = {};
	struct list list;
	struct nlx nlx;
	int ret;

	ret = parse(argc, argv, &query);
	if (ret >= 0)
		return ret;
	if (query.modules)
		return modules_show();
	ret = nlx_open(&nlx, KFI_GENL_NAME, "kfi");
	if (ret)
		return ret;
	list_begin(&list, info_fields, ARRAY_SIZE(info_fields), LAYOUT_BLOCKS, query.details);
	nlx.message = list_add;
	nlx.arg = &list;
	nlx.error = nlx_call(&nlx, request(&nlx, &query));
	ret = list_end(&list);
	if (nlx.error) {
		complain_info(&nlx, &query);
		ret = EXIT_FAILED;
	}
	nlx_close(&nlx);
	return ret;
}
