// SPDX-License-Identifier: GPL-2.0
/*
 * map.c - kfi map: the numbers that stand for nodes
 */
#include <arpa/inet.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include <linux/kfi.h>

#include "kfi.h"

static const struct field map_fields[] = {
	{ "id", FIELD_U32, 0, KFI_A_MAP_ID },
	{ "address", FIELD_IPV4, 0, KFI_A_MAP_ADDR },
};

/* ---- words ---- */

/* "18" or "0x12" */
static bool parse_id(const char *text, uint32_t *id)
{
	bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	unsigned long value;
	char *end;

	if (text[strspn(text, hex ? "0123456789abcdefABCDEFxX" : "0123456789")])
		return false;
	value = strtoul(text, &end, hex ? 16 : 10);
	if (end == text || *end || !value || value > KFI_MAP_ID_MAX)
		return false;
	*id = value;
	return true;
}

/* Options of all verbs, and exactly @n words. The exit code, or -1 to go on. */
static int parse(const char *verb, int argc, char **argv, int n, const char *usage)
{
	static const struct option longs[] = { COMMON_LONG, {} };
	int opt;

	while ((opt = getopt_long(argc, argv, COMMON_SHORT, longs, NULL)) != -1) {
		if (common_option(opt))
			continue;
		fputs(usage, opt == 'h' ? stdout : stderr);
		return opt == 'h' ? EXIT_OK : EXIT_USAGE;
	}
	if (optind + n < argc)
		return usage_error(verb, "too many words: '%s'", argv[optind + n]);
	if (optind + n > argc)
		return usage_error(verb, n == 1 ? "the ID is missing" : "an ID and an ADDRESS are needed");
	return -1;
}

static int bad_id(const char *verb, const char *word)
{
	return usage_error(verb, "'%s' is not a number from 1 to %#x", word, KFI_MAP_ID_MAX);
}

/* ---- what is done ---- */

/* Add @addr, or delete what has the number. */
static int change(int cmd, uint32_t id, const struct in_addr *addr)
{
	struct nl_msg *msg;
	char what[32];
	struct nlx nlx;
	int ret;

	ret = nlx_open(&nlx, KFI_GENL_NAME, "kfi");
	if (ret)
		return ret;
	msg = nlx_request(&nlx, cmd, 0);
	if (msg)
		nla_put_u32(msg, KFI_A_MAP_ID, id);
	if (msg && addr)
		nla_put(msg, KFI_A_MAP_ADDR, sizeof(*addr), addr);
	nlx.error = nlx_call(&nlx, msg);
	if (nlx.error) {
		snprintf(what, sizeof(what), "%s %#x", addr ? "adding" : "deleting", id);
		nlx_complain(&nlx, what);
		ret = EXIT_FAILED;
	}
	nlx_close(&nlx);
	return ret;
}

static int cmd_show_map(int argc, char **argv)
{
	int ret = parse("map show", argc, argv, 0,
			"Usage: kfi map show [-j]\n\nList the numbers and what they stand for.\n");

	if (ret >= 0)
		return ret;
	return dump_list(KFI_CMD_GET_MAP, map_fields, ARRAY_SIZE(map_fields), LAYOUT_TABLE, false, 0);
}

static int cmd_add(int argc, char **argv)
{
	struct in_addr addr;
	uint32_t id;
	int ret = parse("map add", argc, argv, 2,
			"Usage: kfi map add ID ADDRESS\n\n"
			"Let the number ID (18 or 0x12) stand for the IPv4 address.\n");

	if (ret >= 0)
		return ret;
	if (!parse_id(argv[optind], &id))
		return bad_id("map add", argv[optind]);
	if (inet_pton(AF_INET, argv[optind + 1], &addr) != 1 || !addr.s_addr)
		return usage_error("map add", "'%s' is not the IPv4 address of a node", argv[optind + 1]);
	return change(KFI_CMD_ADD_MAP, id, &addr);
}

static int cmd_del(int argc, char **argv)
{
	uint32_t id;
	int ret = parse("map del", argc, argv, 1, "Usage: kfi map del ID\n\nForget a number.\n");

	if (ret >= 0)
		return ret;
	if (!parse_id(argv[optind], &id))
		return bad_id("map del", argv[optind]);
	return change(KFI_CMD_DEL_MAP, id, NULL);
}

/* ---- the verbs ---- */

static const struct verb verbs[] = {
	{ "add", "let a number stand for an address", cmd_add },
	{ "del", "forget a number", cmd_del },
	{ "show", "the numbers and what they stand for (the default)", cmd_show_map },
};

static void print_usage(FILE *to)
{
	size_t i;

	fputs("Usage: kfi map [COMMAND ...]\n\n"
	      "Consumers such as Lustre's kfilnd name nodes by numbers. Over IP such a number is\n"
	      "the host part of an address of the interface's network; where it can't be, it is\n"
	      "mapped here, on all nodes alike.\n\n", to);
	for (i = 0; i < ARRAY_SIZE(verbs); i++)
		fprintf(to, "  %-8s %s\n", verbs[i].name, verbs[i].help);
	fputs("\n'kfi map COMMAND --help' tells more.\n", to);
}

int cmd_map(int argc, char **argv)
{
	static const struct option longs[] = { COMMON_LONG, {} };
	int opt;

	while ((opt = getopt_long(argc, argv, "+" COMMON_SHORT, longs, NULL)) != -1) {
		if (common_option(opt))
			continue;
		print_usage(opt == 'h' ? stdout : stderr);
		return opt == 'h' ? EXIT_OK : EXIT_USAGE;
	}
	if (optind == argc)
		return cmd_show_map(argc, argv);
	return run_verb("map", verbs, ARRAY_SIZE(verbs), argc - optind, argv + optind, print_usage);
}
