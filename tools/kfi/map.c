// SPDX-License-Identifier: GPL-2.0
/*
 * map.c - kfi map: the map from numbers of nodes to addresses
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <netlink/genl/genl.h>

#include <linux/kfi.h>

#include "kfi.h"

static const struct field map_fields[] = {
	{ "id", FIELD_U32, 0, KFI_A_MAP_ID },
	{ "address", FIELD_IPV4, 0, KFI_A_MAP_ADDR },
};

#define MAP_FOLDER	"/etc/kfabric"
#define MAP_FILE	MAP_FOLDER "/map"
#define MAP_MOST	65536	/* entries that the kernel accepts */

/**
 * struct map - entries of the kernel, in the order of the numbers, or of a file
 */
struct map {
	size_t n;
	struct entry {
		uint32_t id;
		struct in_addr addr;
	} at[MAP_MOST];
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

/*
 * Parse options of all verbs, and exactly @n words; if @n is negative, at most -@n words. Return:
 * an exit code, or -1 to continue.
 */
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
	if (optind + abs(n) < argc)
		return usage_error(verb, "too many words: '%s'", argv[optind + abs(n)]);
	if (optind + n > argc)
		return usage_error(verb, n == 1 ? "the ID is missing" :
						  "an ID and an ADDRESS are needed");
	return -1;
}

static int bad_id(const char *verb, const char *word)
{
	return usage_error(verb, "'%s' is not a number from 1 to %#x", word, KFI_MAP_ID_MAX);
}

static bool parse_addr(const char *text, struct in_addr *addr)
{
	return inet_pton(AF_INET, text, addr) == 1 && addr->s_addr;
}

/* ---- the kernel's map ---- */

/*
 * Add @addr, or delete the entry of this number. Return: an exit code, after a message on failure.
 */
static int request_change(struct nlx *nlx, int cmd, uint32_t id, const struct in_addr *addr)
{
	struct nl_msg *msg = nlx_request(nlx, cmd, 0);
	char what[32];

	if (msg)
		nla_put_u32(msg, KFI_A_MAP_ID, id);
	if (msg && addr)
		nla_put(msg, KFI_A_MAP_ADDR, sizeof(*addr), addr);
	nlx->error = nlx_call(nlx, msg);
	if (!nlx->error)
		return EXIT_OK;
	snprintf(what, sizeof(what), "%s %#x", addr ? "adding" : "deleting", id);
	nlx_complain(nlx, what);
	return EXIT_FAILED;
}

static int change(int cmd, uint32_t id, const struct in_addr *addr)
{
	struct nlx nlx;
	int ret;

	ret = nlx_open(&nlx, KFI_GENL_NAME, "kfi");
	if (ret)
		return ret;
	ret = request_change(&nlx, cmd, id, addr);
	nlx_close(&nlx);
	return ret;
}

static void take_entry(struct nlmsghdr *nlh, void *arg)
{
	struct nlattr *attrs[KFI_A_MAX + 1];
	struct map *map = arg;

	if (map->n == MAP_MOST || genlmsg_parse(nlh, 0, attrs, KFI_A_MAX, NULL) ||
	    !attrs[KFI_A_MAP_ID] || !attrs[KFI_A_MAP_ADDR] ||
	    nla_len(attrs[KFI_A_MAP_ADDR]) != sizeof(struct in_addr))
		return;
	map->at[map->n].id = nla_get_u32(attrs[KFI_A_MAP_ID]);
	memcpy(&map->at[map->n].addr, nla_data(attrs[KFI_A_MAP_ADDR]), sizeof(struct in_addr));
	map->n++;
}

/*
 * Read all entries of the namespace, in the order of the numbers. Return: an exit code, after a
 * message on failure.
 */
static int request_map(struct nlx *nlx, struct map *map)
{
	map->n = 0;
	nlx->message = take_entry;
	nlx->arg = map;
	nlx->error = nlx_call(nlx, nlx_request(nlx, KFI_CMD_GET_MAP, NLM_F_DUMP));
	nlx->message = NULL;
	if (!nlx->error)
		return EXIT_OK;
	nlx_complain(nlx, "asking the kernel");
	return EXIT_FAILED;
}

/* ---- the file ---- */

static int file_error(const char *name)
{
	complain("%s: %s", name, strerror(errno));
	return EXIT_FAILED;
}

static bool write_map(FILE *file, const struct map *map)
{
	char text[INET_ADDRSTRLEN];
	size_t i;

	fputs("# Numbers that stand for nodes: kfi map save, kfi map load\n", file);
	for (i = 0; i < map->n; i++)
		fprintf(file, "%#x %s\n", map->at[i].id,
			inet_ntop(AF_INET, &map->at[i].addr, text, sizeof(text)));
	return !ferror(file) && !fflush(file);
}

/*
 * Create a file that load_file() accepts: whatever the umask is, others may not write to it. A link
 * that another user has put in its place is not followed.
 */
static FILE *create_file(const char *name)
{
	FILE *file;
	int fd;

	unlink(name);	/* of a command that was interrupted */
	fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	file = fd < 0 ? NULL : fdopen(fd, "w");
	if (!file && fd >= 0)
		close(fd);
	return file;
}

/* Write a new file, and replace the old one only when the new one is complete and on the disk. */
static int save_file(const char *name, const struct map *map)
{
	char fresh[PATH_MAX];
	FILE *file;
	bool ok;

	if (!strcmp(name, "-"))
		return write_map(stdout, map) ? EXIT_OK : file_error("standard output");
	if ((size_t)snprintf(fresh, sizeof(fresh), "%s.new", name) >= sizeof(fresh)) {
		errno = ENAMETOOLONG;
		return file_error(name);
	}
	if (!strcmp(name, MAP_FILE))
		mkdir(MAP_FOLDER, 0755);	/* create_file() reports what is wrong */
	file = create_file(fresh);
	if (!file)
		return file_error(fresh);
	ok = write_map(file, map) && !fsync(fileno(file));
	if (fclose(file) || !ok || rename(fresh, name)) {
		file_error(fresh);
		unlink(fresh);
		return EXIT_FAILED;
	}
	return EXIT_OK;
}

/*
 * Parse "ID ADDRESS", or an empty line; # begins a comment. Return: false if the line is invalid.
 */
static bool read_line(char *line, struct map *map)
{
	struct entry *entry = &map->at[map->n];
	char *id, *addr, *rest = NULL;

	line[strcspn(line, "#\n")] = '\0';
	id = strtok_r(line, " \t\r", &rest);
	if (!id)
		return true;
	addr = strtok_r(NULL, " \t\r", &rest);
	if (!addr || strtok_r(NULL, " \t\r", &rest) || map->n == MAP_MOST ||
	    !parse_id(id, &entry->id) || !parse_addr(addr, &entry->addr))
		return false;
	map->n++;
	return true;
}

static int read_map(FILE *file, const char *name, struct map *map)
{
	unsigned int number = 0;
	char line[256];

	map->n = 0;
	while (fgets(line, sizeof(line), file)) {
		number++;
		if ((strlen(line) == sizeof(line) - 1 && !strchr(line, '\n')) ||
		    !read_line(line, map)) {
			complain("%s:%u: not a number from 1 to %#x and the IPv4 address of a node",
				 name, number, KFI_MAP_ID_MAX);
			return EXIT_FAILED;
		}
	}
	return ferror(file) ? file_error(name) : EXIT_OK;
}

static int load_file(const char *name, struct map *map)
{
	FILE *file;
	int fd, ret;

	if (!strcmp(name, "-"))
		return read_map(stdin, "standard input", map);
	fd = open_trusted(name, TRUSTED_FILE);
	if (fd < 0)
		return EXIT_FAILED;
	file = fdopen(fd, "r");
	if (!file)
		return file_error(name);
	ret = read_map(file, name, map);
	fclose(file);
	return ret;
}

static int compare(const void *a, const void *b)
{
	uint32_t x = ((const struct entry *)a)->id, y = ((const struct entry *)b)->id;

	return x < y ? -1 : x > y;
}

static bool has_entry(const struct map *map, const struct entry *entry)
{
	const struct entry *found = bsearch(entry, map->at, map->n, sizeof(*entry), compare);

	return found && found->addr.s_addr == entry->addr.s_addr;
}

/*
 * Add all entries that do not exist yet. An entry that contradicts an existing one is reported and
 * skipped.
 */
static int add_all(struct nlx *nlx, const struct map *have, const struct map *want)
{
	int ret = EXIT_OK;
	size_t i;

	for (i = 0; i < want->n; i++)
		if (!has_entry(have, &want->at[i]) &&
		    request_change(nlx, KFI_CMD_ADD_MAP, want->at[i].id, &want->at[i].addr))
			ret = EXIT_FAILED;
	return ret;
}

/* ---- actions ---- */

static int cmd_show_map(int argc, char **argv)
{
	int ret = parse("map show", argc, argv, 0,
			"Usage: kfi map show [-j]\n\nList the numbers and what they stand for.\n");

	if (ret >= 0)
		return ret;
	return dump_list(KFI_CMD_GET_MAP, map_fields, ARRAY_SIZE(map_fields), LAYOUT_TABLE, false,
			 0);
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
	if (!parse_addr(argv[optind + 1], &addr))
		return usage_error("map add", "'%s' is not the IPv4 address of a node",
				   argv[optind + 1]);
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

static int cmd_save(int argc, char **argv)
{
	static struct map map;
	struct nlx nlx;
	int ret = parse("map save", argc, argv, -1,
			"Usage: kfi map save [FILE]\n\n"
			"Write the map to FILE (" MAP_FILE
			"; -: standard output), from where 'kfi map load'\n"
			"takes it.\n");

	if (ret >= 0)
		return ret;
	ret = nlx_open(&nlx, KFI_GENL_NAME, "kfi");
	if (ret)
		return ret;
	ret = request_map(&nlx, &map);
	nlx_close(&nlx);
	return ret ?: save_file(optind < argc ? argv[optind] : MAP_FILE, &map);
}

static int cmd_load(int argc, char **argv)
{
	static struct map have, want;
	struct nlx nlx;
	int ret = parse(
		"map load", argc, argv, -1,
		"Usage: kfi map load [FILE]\n\n"
		"Add to the map what FILE (" MAP_FILE
		"; -: standard input) has: an ID and an ADDRESS a\n"
		"line, and # in front of comments. Nothing is added if a line makes no sense. Entries\n"
		"that are there already stay.\n");

	if (ret >= 0)
		return ret;
	ret = load_file(optind < argc ? argv[optind] : MAP_FILE, &want);
	if (ret)
		return ret;
	ret = nlx_open(&nlx, KFI_GENL_NAME, "kfi");
	if (ret)
		return ret;
	ret = request_map(&nlx, &have) ?: add_all(&nlx, &have, &want);
	nlx_close(&nlx);
	return ret;
}

/* ---- the verbs ---- */

static const struct verb verbs[] = {
	{ "add", "let a number stand for an address", cmd_add },
	{ "del", "forget a number", cmd_del },
	{ "load", "add what a file has", cmd_load },
	{ "save", "write the map to a file", cmd_save },
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
