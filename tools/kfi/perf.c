// SPDX-License-Identifier: GPL-2.0
/* perf.c - kfi perf: servers of the tester in the kernel */
#include <errno.h>
#include <getopt.h>
#include <string.h>

#include <linux/kfi_perf.h>
#include <netlink/genl/genl.h>

#include "kfi.h"

static const struct field server_fields[] = {
	{ "id", FIELD_U32, 0, KFI_PERF_A_ID },
	{ "provider", FIELD_STRING, 0, KFI_PERF_A_PROV_NAME },
	{ "type", FIELD_EP_TYPE, 0, KFI_PERF_A_EP_TYPE },
	{ "node", FIELD_STRING, 0, KFI_PERF_A_NODE },
	{ "service", FIELD_STRING, 0, KFI_PERF_A_SERVICE },
	{ "clients", FIELD_U64, KFI_PERF_A_SERVER, KFI_PERF_SERVER_A_SESSIONS },
	{ "served", FIELD_U64, KFI_PERF_A_SERVER, KFI_PERF_SERVER_A_SESSIONS_TOTAL },
	{ "refused", FIELD_U64, KFI_PERF_A_SERVER, KFI_PERF_SERVER_A_REFUSED },
	{ "messages", FIELD_U64, KFI_PERF_A_SERVER, KFI_PERF_SERVER_A_MESSAGES },
	{ "bytes", FIELD_U64, KFI_PERF_A_SERVER, KFI_PERF_SERVER_A_BYTES },
	{ "bad", FIELD_U64, KFI_PERF_A_SERVER, KFI_PERF_SERVER_A_VERIFY_ERRORS },
};

/* ---- kfi perf server ---- */

struct server {
	const char *provider, *node, *service;
	int type;
};

static void server_usage(FILE *to)
{
	fputs("Usage: kfi perf server [OPTIONS]\n\n"
	      "Start a server in the kernel. It runs until 'kfi perf stop'.\n\n"
	      "  -p, --provider NAME  default " PERF_PROVIDER "; 'any' for all that are loaded\n"
	      "  -t, --type msg|rdm   default rdm\n"
	      "  -n, --node NODE      local address or interface, default all addresses\n"
	      "  -s, --service PORT   default " PERF_PORT "\n"
	      "  -j, --json           in JSON\n", to);
}

static int server_parse(int argc, char **argv, struct server *s)
{
	static const struct option longs[] = {
		COMMON_LONG,
		{ "provider", required_argument, NULL, 'p' },
		{ "type", required_argument, NULL, 't' },
		{ "node", required_argument, NULL, 'n' },
		{ "service", required_argument, NULL, 's' },
		{}
	};
	int opt;

	while ((opt = getopt_long(argc, argv, COMMON_SHORT "p:t:n:s:", longs, NULL)) != -1) {
		if (common_option(opt))
			continue;
		if (opt == 'p') {
			s->provider = optarg;
		} else if (opt == 'n') {
			s->node = optarg;
		} else if (opt == 's') {
			s->service = optarg;
		} else if (opt == 't') {
			s->type = ep_type_parse(optarg);
			if (s->type != 1 && s->type != 3)
				return usage_error("perf server", "types are msg and rdm, not '%s'",
						   optarg);
		} else {
			server_usage(opt == 'h' ? stdout : stderr);
			return opt == 'h' ? EXIT_OK : EXIT_USAGE;
		}
	}
	if (optind < argc)
		return usage_error("perf server", "too many words: '%s'", argv[optind]);
	return -1;
}

static void take_id(struct nlmsghdr *nlh, void *id)
{
	struct nlattr *a = nla_find(genlmsg_attrdata(nlmsg_data(nlh), 0),
				    genlmsg_attrlen(nlmsg_data(nlh), 0), KFI_PERF_A_ID);

	if (a)
		*(uint32_t *)id = nla_get_u32(a);
}

static void complain_server(const struct nlx *nlx, const struct server *s)
{
	if (nlx->error == ENODATA)
		complain_unserved(s->provider, s->node);
	else
		nlx_complain(nlx, "starting a server");
}

static int server_print(const struct server *s, uint32_t id)
{
	if (!options.json) {
		printf("server %u: %s %s, %s port %s\n", id, s->provider, ep_type_name(s->type),
		       s->node ? s->node : "all addresses,", s->service);
		return json_finish();
	}
	json_begin(NULL, '{');
	json_u64("id", id);
	json_string("provider", s->provider);
	json_string("type", ep_type_name(s->type));
	if (s->node)
		json_string("node", s->node);
	json_string("service", s->service);
	json_end('}');
	return json_finish();
}

static int cmd_server(int argc, char **argv)
{
	struct server s = { .provider = PERF_PROVIDER, .service = PERF_PORT, .type = 3 };
	struct nl_msg *msg;
	struct nlx nlx;
	uint32_t id = 0;
	int ret;

	ret = server_parse(argc, argv, &s);
	if (ret >= 0)
		return ret;
	ret = nlx_open(&nlx, KFI_PERF_GENL_NAME, "kfi_perf");
	if (ret)
		return ret;
	nlx.message = take_id;
	nlx.arg = &id;
	msg = nlx_request(&nlx, KFI_PERF_CMD_SERVER_START, 0);
	if (msg) {
		if (strcmp(s.provider, "any"))
			nla_put_string(msg, KFI_PERF_A_PROV_NAME, s.provider);
		if (s.node)
			nla_put_string(msg, KFI_PERF_A_NODE, s.node);
		nla_put_string(msg, KFI_PERF_A_SERVICE, s.service);
		nla_put_u32(msg, KFI_PERF_A_EP_TYPE, s.type);
	}
	nlx.error = nlx_call(&nlx, msg);
	if (nlx.error) {
		complain_server(&nlx, &s);
		ret = EXIT_FAILED;
	} else {
		ret = server_print(&s, id);
	}
	nlx_close(&nlx);
	return ret;
}

/* ---- kfi perf stop, kfi perf list ---- */

/* Parse options of all verbs only. Return: an exit code, or -1 to go on. */
static int plain_parse(int argc, char **argv, const char *usage)
{
	static const struct option longs[] = { COMMON_LONG, {} };
	int opt;

	while ((opt = getopt_long(argc, argv, COMMON_SHORT, longs, NULL)) != -1) {
		if (common_option(opt))
			continue;
		fputs(usage, opt == 'h' ? stdout : stderr);
		return opt == 'h' ? EXIT_OK : EXIT_USAGE;
	}
	return -1;
}

static int cmd_stop(int argc, char **argv)
{
	struct nl_msg *msg;
	struct nlx nlx;
	uint64_t id = 0;
	int ret;

	ret = plain_parse(argc, argv,
			  "Usage: kfi perf stop [ID]\n\nStop a server, or all of them.\n");
	if (ret >= 0)
		return ret;
	if (optind < argc && (!parse_size(argv[optind], UINT32_MAX, &id) || !id))
		return usage_error("perf stop", "'%s' is not the number of a server", argv[optind]);
	if (optind + 1 < argc)
		return usage_error("perf stop", "too many words: '%s'", argv[optind + 1]);
	ret = nlx_open(&nlx, KFI_PERF_GENL_NAME, "kfi_perf");
	if (ret)
		return ret;
	msg = nlx_request(&nlx, KFI_PERF_CMD_SERVER_STOP, 0);
	if (msg && id)
		nla_put_u32(msg, KFI_PERF_A_ID, id);
	nlx.error = nlx_call(&nlx, msg);
	if (nlx.error == ENOENT && id)
		complain("there is no such server: %u", (unsigned int)id);
	else if (nlx.error == ENOENT)
		complain("there is no such server: none runs");
	else if (nlx.error)
		nlx_complain(&nlx, "stopping a server");
	nlx_close(&nlx);
	return nlx.error ? EXIT_FAILED : EXIT_OK;
}

static int cmd_list(int argc, char **argv)
{
	struct list list;
	struct nlx nlx;
	int ret;

	ret = plain_parse(argc, argv, "Usage: kfi perf list [-j]\n\nList the servers.\n");
	if (ret >= 0)
		return ret;
	if (optind < argc)
		return usage_error("perf list", "too many words: '%s'", argv[optind]);
	ret = nlx_open(&nlx, KFI_PERF_GENL_NAME, "kfi_perf");
	if (ret)
		return ret;
	list_begin(&list, server_fields, ARRAY_SIZE(server_fields), LAYOUT_TABLE, false);
	nlx.message = list_add;
	nlx.arg = &list;
	nlx.error = nlx_call(&nlx, nlx_request(&nlx, KFI_PERF_CMD_SERVER_GET, NLM_F_DUMP));
	ret = list_end(&list);
	if (nlx.error) {
		nlx_complain(&nlx, "asking the kernel");
		ret = EXIT_FAILED;
	}
	nlx_close(&nlx);
	return ret;
}

/* ---- the verbs ---- */

static const struct verb verbs[] = {
	{ "list", "the servers and what they have done", cmd_list },
	{ "run", "measure against a server", perf_run },
	{ "server", "start a server", cmd_server },
	{ "stop", "stop a server", cmd_stop },
};

static void print_usage(FILE *to)
{
	size_t i;

	fputs("Usage: kfi perf COMMAND ...\n\n"
	      "Measure latency and bandwidth between two kernels, with verified\n"
	      "data. One side runs a server, the other one runs against it.\n\n", to);
	for (i = 0; i < ARRAY_SIZE(verbs); i++)
		fprintf(to, "  %-8s %s\n", verbs[i].name, verbs[i].help);
	fputs("\n'kfi perf COMMAND --help' tells more.\n", to);
}

int cmd_perf(int argc, char **argv)
{
	if (argc > 1 && (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help"))) {
		print_usage(stdout);
		return EXIT_OK;
	}
	while (argc > 1 && (!strcmp(argv[1], "-j") || !strcmp(argv[1], "--json"))) {
		options.json = true;
		argc--;
		argv++;
	}
	return run_verb("perf", verbs, ARRAY_SIZE(verbs), argc - 1, argv + 1, print_usage);
}
