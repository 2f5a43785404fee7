// SPDX-License-Identifier: GPL-2.0
/* show.c - kfi provider, kfi show, kfi stats: objects, and their statistics */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include <linux/kfi.h>
#include <netlink/genl/genl.h>

#include "kfi.h"

static const struct field domain_fields[] = {
	{ "id", FIELD_U32, 0, KFI_A_DOMAIN_ID },
	{ "provider", FIELD_STRING, 0, KFI_A_PROV_NAME },
	{ "fabric", FIELD_STRING, 0, KFI_A_FABRIC_NAME },
	{ "domain", FIELD_STRING, 0, KFI_A_DOMAIN_NAME },
	{ "registered", FIELD_U64, 0, KFI_A_REGISTERED },
};

static const struct field ep_fields[] = {
	{ "id", FIELD_U32, 0, KFI_A_EP_ID },
	{ "provider", FIELD_STRING, 0, KFI_A_PROV_NAME },
	{ "fabric", FIELD_STRING, 0, KFI_A_FABRIC_NAME, true },
	{ "domain", FIELD_STRING, 0, KFI_A_DOMAIN_NAME },
	{ "type", FIELD_EP_TYPE, 0, KFI_A_EP_TYPE },
	{ "state", FIELD_EP_STATE, 0, KFI_A_EP_STATE },
	{ "local", FIELD_STRING, 0, KFI_A_SRC_ADDR },
	{ "remote", FIELD_STRING, 0, KFI_A_DEST_ADDR },
	{ "caps", FIELD_CAPS, 0, KFI_A_CAPS, true },
	{ "tx_size", FIELD_U64, KFI_A_TX_ATTR, KFI_CTX_A_SIZE, true },
	{ "rx_size", FIELD_U64, KFI_A_RX_ATTR, KFI_CTX_A_SIZE, true },
};

static const struct field peer_fields[] = {
	{ "endpoint", FIELD_U32, 0, KFI_A_EP_ID },
	{ "provider", FIELD_STRING, 0, KFI_A_PROV_NAME },
	{ "domain", FIELD_STRING, 0, KFI_A_DOMAIN_NAME },
	{ "peer", FIELD_STRING, KFI_A_PEER, KFI_PEER_A_ADDR },
	{ "state", FIELD_STRING, KFI_A_PEER, KFI_PEER_A_STATE },
	{ "protection", FIELD_STRING, KFI_A_PEER, KFI_PEER_A_PROTECTION },
	{ "identity", FIELD_STRING, KFI_A_PEER, KFI_PEER_A_IDENTITY },
	{ "cpu", FIELD_U32, KFI_A_PEER, KFI_PEER_A_CPU },
	{ "tx_bytes", FIELD_U64, KFI_A_PEER, KFI_PEER_A_TX_BYTES },
	{ "rx_bytes", FIELD_U64, KFI_A_PEER, KFI_PEER_A_RX_BYTES },
	{ "pending", FIELD_U64, KFI_A_PEER, KFI_PEER_A_PENDING },
	{ "unexpected", FIELD_U64, KFI_A_PEER, KFI_PEER_A_UNEXPECTED_BYTES },
	{ "reconnects", FIELD_U64, KFI_A_PEER, KFI_PEER_A_RECONNECTS },
};

static const struct field place_fields[] = {
	{ "provider", FIELD_STRING, 0, KFI_A_PROV_NAME },
	{ "domain", FIELD_STRING, 0, KFI_A_DOMAIN_NAME },
	{ "device", FIELD_STRING, KFI_A_PLACE, KFI_PLACE_A_DEVICE },
	{ "places", FIELD_U32, KFI_A_PLACE, KFI_PLACE_A_COUNT },
	{ "fence", FIELD_STRING, KFI_A_PLACE, KFI_PLACE_A_FENCE },
	{ "writes", FIELD_STRING, KFI_A_PLACE, KFI_PLACE_A_VERDICT },
};

static const struct field versions_fields[] = {
	{ "wire", FIELD_STRING, KFI_A_VERSIONS, KFI_VERSIONS_A_WIRE },
	{ "refused", FIELD_STRING, KFI_A_VERSIONS, KFI_VERSIONS_A_PEER },
	{ "lowest", FIELD_U32, KFI_A_VERSIONS, KFI_VERSIONS_A_LOWEST },
	{ "highest", FIELD_U32, KFI_A_VERSIONS, KFI_VERSIONS_A_HIGHEST },
	{ "features", FIELD_HEX, KFI_A_VERSIONS, KFI_VERSIONS_A_FEATURES },
	{ "help", FIELD_STRING, KFI_A_VERSIONS, KFI_VERSIONS_A_HELP },
};

static const struct field stats_fields[] = {
	{ "endpoint", FIELD_U32, 0, KFI_A_EP_ID },
	{ "provider", FIELD_STRING, 0, KFI_A_PROV_NAME },
	{ "domain", FIELD_STRING, 0, KFI_A_DOMAIN_NAME },
	{ "type", FIELD_EP_TYPE, 0, KFI_A_EP_TYPE },
	{ "tx_ops", FIELD_U64, KFI_A_STATS, KFI_STATS_A_TX_OPS },
	{ "tx_bytes", FIELD_U64, KFI_A_STATS, KFI_STATS_A_TX_BYTES },
	{ "rx_ops", FIELD_U64, KFI_A_STATS, KFI_STATS_A_RX_OPS },
	{ "rx_bytes", FIELD_U64, KFI_A_STATS, KFI_STATS_A_RX_BYTES },
	{ "rma_in_ops", FIELD_U64, KFI_A_STATS, KFI_STATS_A_RMA_IN_OPS },
	{ "rma_in_bytes", FIELD_U64, KFI_A_STATS, KFI_STATS_A_RMA_IN_BYTES },
	{ "errors", FIELD_U64, KFI_A_STATS, KFI_STATS_A_ERRORS },
	{ "again", FIELD_U64, KFI_A_STATS, KFI_STATS_A_AGAIN },
	{ "unexpected", FIELD_U64, KFI_A_STATS, KFI_STATS_A_UNEXPECTED },
	{ "copied_bytes", FIELD_U64, KFI_A_STATS, KFI_STATS_A_COPIED },
	{ "spliced_bytes", FIELD_U64, KFI_A_STATS, KFI_STATS_A_SPLICED },
	{ "placed_bytes", FIELD_U64, KFI_A_STATS, KFI_STATS_A_PLACED },
	{ "bounced_bytes", FIELD_U64, KFI_A_STATS, KFI_STATS_A_BOUNCED },
	{ "granted_bytes", FIELD_U64, KFI_A_STATS, KFI_STATS_A_GRANTED },
	{ "dropped", FIELD_U64, KFI_A_STATS, KFI_STATS_A_DROPPED },
};

/*
 * Parse options of the verbs in this file: those of all verbs, and -d. Return: an exit code, or -1
 * to go on.
 */
static int parse(int argc, char **argv, bool *details, const char *usage)
{
	static const struct option longs[] = {
		COMMON_LONG,
		{ "details", no_argument, NULL, 'd' },
		{}
	};
	int opt;

	while ((opt = getopt_long(argc, argv, COMMON_SHORT "d", longs, NULL)) != -1) {
		if (common_option(opt))
			continue;
		if (opt == 'd') {
			*details = true;
			continue;
		}
		fputs(usage, opt == 'h' ? stdout : stderr);
		return opt == 'h' ? EXIT_OK : EXIT_USAGE;
	}
	return -1;
}

/* Parse the number of an endpoint, if there is another word. Return: an exit code, or -1. */
static int parse_ep(const char *verb, int argc, char **argv, uint32_t *ep_id)
{
	uint64_t value = 0;

	*ep_id = 0;
	if (optind < argc && (!parse_size(argv[optind], UINT32_MAX, &value) || !value))
		return usage_error(verb, "'%s' is not the number of an endpoint", argv[optind]);
	if (optind + 1 < argc)
		return usage_error(verb, "too many words: '%s'", argv[optind + 1]);
	*ep_id = value;
	return -1;
}

int cmd_provider(int argc, char **argv)
{
	bool details = false;
	int ret = parse(argc, argv, &details,
			"Usage: kfi provider [-j]\n\nList the providers that are loaded.\n");

	if (ret >= 0)
		return ret;
	if (optind < argc)
		return usage_error("provider", "too many words: '%s'", argv[optind]);
	return dump_list(KFI_CMD_GET_PROVIDER, provider_fields, ARRAY_SIZE(provider_fields),
			 LAYOUT_TABLE, details, 0);
}

static const char show_usage[] =
	"Usage: kfi show [-j] [-d] [devices | domains | endpoints [ID] | peers [ID] | places |\n"
	"                           versions]\n\n"
	"List what is open in this network namespace; ID is the number of an endpoint.\n"
	"devices: what providers use of their devices, and what they do without.\n"
	"versions: what this machine speaks on each wire, and peers refused for theirs.\n"
	"Without a word: endpoints.\n\n"
	"  -d, --details  all that is known\n"
	"  -j, --json     in JSON, always with details\n";

static int show(const char *what, bool details, uint32_t ep_id)
{
	if (!strcmp(what, "devices"))
		return dump_list(KFI_CMD_GET_DEVICE, device_fields, ARRAY_SIZE(device_fields),
				 LAYOUT_TABLE, details, 0);
	if (*what == 'd')
		return dump_list(KFI_CMD_GET_DOMAIN, domain_fields, ARRAY_SIZE(domain_fields),
				 LAYOUT_TABLE, details, 0);
	if (!strcmp(what, "places"))
		return dump_list(KFI_CMD_GET_PLACE, place_fields, ARRAY_SIZE(place_fields),
				 LAYOUT_TABLE, details, 0);
	if (!strcmp(what, "versions"))
		return dump_list(KFI_CMD_GET_VERSIONS, versions_fields,
				 ARRAY_SIZE(versions_fields), LAYOUT_TABLE, details, 0);
	if (*what == 'p')
		return dump_list(KFI_CMD_GET_PEER, peer_fields, ARRAY_SIZE(peer_fields),
				 LAYOUT_TABLE, details, ep_id);
	return dump_list(KFI_CMD_GET_EP, ep_fields, ARRAY_SIZE(ep_fields),
			 details ? LAYOUT_BLOCKS : LAYOUT_TABLE, details, ep_id);
}

static uint32_t number(struct nlattr *a)
{
	return a ? nla_get_u32(a) : 0;
}

struct told {
	uint32_t lowest, highest;	/* of this machine, on the wire of the last message */
};

/* A peer follows the wire on which it was refused. */
static void tell_one(struct nlmsghdr *nlh, void *arg)
{
	struct nlattr *nest = nlmsg_find_attr(nlh, GENL_HDRLEN, KFI_A_VERSIONS);
	struct nlattr *in[KFI_VERSIONS_A_MAX + 1];
	struct told *told = arg;
	uint32_t lowest, highest;

	if (!nest || nla_parse_nested(in, KFI_VERSIONS_A_MAX, nest, NULL))
		return;
	lowest = number(in[KFI_VERSIONS_A_LOWEST]);
	highest = number(in[KFI_VERSIONS_A_HIGHEST]);
	if (in[KFI_VERSIONS_A_PEER] && in[KFI_VERSIONS_A_WIRE] && in[KFI_VERSIONS_A_HELP])
		complain("%s is refused: it speaks versions %u to %u of %s, and this machine %u to %u; %s",
			 nla_get_string(in[KFI_VERSIONS_A_PEER]), lowest, highest,
			 nla_get_string(in[KFI_VERSIONS_A_WIRE]), told->lowest, told->highest,
			 nla_get_string(in[KFI_VERSIONS_A_HELP]));
	else
		*told = (struct told) { lowest, highest };
}

/* Say why a peer is missing in the list. A kfi.ko that knows no versions has nothing to say. */
static void tell_refused(void)
{
	struct told told = {};
	struct nlx nlx;

	if (nlx_open(&nlx, KFI_GENL_NAME, "kfi"))
		return;
	nlx.message = tell_one;
	nlx.arg = &told;
	nlx_call(&nlx, nlx_request(&nlx, KFI_CMD_GET_VERSIONS, NLM_F_DUMP));
	nlx_close(&nlx);
}

static bool begins(const char *word, const char *with)
{
	return *with && !strncmp(word, with, strlen(with));
}

int cmd_show(int argc, char **argv)
{
	/* "d" stands for domains, and "p" for peers. */
	static const char *const words[] = {
		"domains", "devices", "endpoints", "peers", "places", "versions"
	};
	const char *what = "endpoints";
	bool details = false;
	uint32_t ep_id;
	size_t i;
	int ret;

	ret = parse(argc, argv, &details, show_usage);
	if (ret >= 0)
		return ret;
	if (optind < argc) {
		for (i = 0; i < ARRAY_SIZE(words); i++)
			if (begins(words[i], argv[optind]))
				break;
		if (i == ARRAY_SIZE(words))
			return usage_error("show",
					   "there are devices, domains, endpoints, peers, places and versions, not '%s'",
					   argv[optind]);
		what = words[i];
		optind++;
	}
	ret = parse_ep("show", argc, argv, &ep_id);
	if (ret >= 0)
		return ret;
	if (ep_id && *what != 'e' && strcmp(what, "peers"))
		return usage_error("show", "%s are not listed by number", what);
	ret = show(what, details, ep_id);
	if (!options.json && *what != 'v')
		tell_refused();
	return ret;
}

int cmd_stats(int argc, char **argv)
{
	bool details = false;
	uint32_t ep_id;
	int ret = parse(argc, argv, &details,
			"Usage: kfi stats [-j] [ID]\n\n"
			"What endpoints have done since they were opened; ID is the number of one.\n");

	if (ret >= 0)
		return ret;
	ret = parse_ep("stats", argc, argv, &ep_id);
	if (ret >= 0)
		return ret;
	return dump_list(KFI_CMD_GET_STATS, stats_fields, ARRAY_SIZE(stats_fields), LAYOUT_BLOCKS,
			 details, ep_id);
}
