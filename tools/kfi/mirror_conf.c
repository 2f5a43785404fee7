// SPDX-License-Identifier: GPL-2.0
/*
 * mirror_conf.c - the configuration of mirrors: a file NAME.conf for each of them, the same on all
 * of its nodes, and the table that it means on this node. kfi_mirror(7) has the words.
 *
 * A pair of nodes has an endpoint at each of them. The endpoint of a node for the peer that is the
 * Nth of its peers, in the order of the file, is at @port + N - 1: so nodes of one address each
 * need no more than the first port in the file. With several addresses of a node each is a rail, to
 * the address of the same place of the peer, with the same ports.
 */
#define _GNU_SOURCE	/* asprintf(), scandirat() */
#include <confuse.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "mirror.h"

#define SUFFIX		".conf"
#define NAME_MAX_LEN	80	/* of a mirror; it is a part of the UUID of the device */
#define PORT_RESERVED	1024	/* ports below are of the administrator */
#define SECTOR		512
#define RATE_MAX	(1l << 30)	/* KiB a second; kfi_mirror has the same limit */
#define DIRECT_MAX	65536	/* bytes of the longest record */
#define RAILS		4	/* to a peer; kfi_mirror has the same limit */
#define WITNESS_SECTORS	8	/* of a node without a leg */
#define DIRECT_DEFAULT	16384	/* which the kernel does not show in a table */
#define LEG_BLOCK	4096	/* a label */
/* What is left at the end of a leg for metadata, see before_metadata() */
#define LEG_END		(22ull << 20)
#define LEG_END_SHIFT	16
#define LEG_UNIT	(1ull << 20)

static cfg_opt_t node_options[] = {
	CFG_STR("leg", NULL, CFGF_NODEFAULT),
	CFG_STR("meta", MIRROR_INTERNAL, CFGF_NONE),
	CFG_STR("log", "-", CFGF_NONE),
	CFG_STR_LIST("address", NULL, CFGF_NODEFAULT),
	CFG_END()
};

static cfg_opt_t options_of_file[] = {
	CFG_STR("uuid", NULL, CFGF_NODEFAULT),
	CFG_STR("provider", "sockets", CFGF_NONE),
	CFG_INT("port", 700, CFGF_NONE),
	CFG_STR("policy", "fence", CFGF_NONE),
	CFG_INT("timeout", 5000, CFGF_NONE),
	CFG_INT("rate", 0, CFGF_NONE),
	CFG_INT("rate-min", 0, CFGF_NONE),
	CFG_STR("direct", NULL, CFGF_NODEFAULT),
	CFG_STR("data-crc", "log", CFGF_NONE),
	CFG_STR("cache", "auto", CFGF_NONE),
	CFG_STR("csum", "off", CFGF_NONE),
	CFG_STR("on-io-error", "fail", CFGF_NONE),
	CFG_STR("reads", "any", CFGF_NONE),
	CFG_STR("size", NULL, CFGF_NODEFAULT),
	CFG_STR("label", "off", CFGF_NONE),
	CFG_STR("secret", NULL, CFGF_NODEFAULT),
	CFG_SEC("node", node_options, CFGF_MULTI | CFGF_TITLE | CFGF_NO_TITLE_DUPES),
	CFG_END()
};

static void parse_error(cfg_t *cfg, const char *fmt, va_list args)
{
	char text[256];

	vsnprintf(text, sizeof(text), fmt, args);
	complain("%s:%d: %s", cfg->filename, cfg->line, text);
}

/* ---- checks ---- */

/* A word of a table has no blank, and no character that device-mapper takes for an escape. */
static bool is_word(const char *text)
{
	size_t i;

	for (i = 0; text[i]; i++)
		if (!isgraph((unsigned char)text[i]) || text[i] == '\\')
			return false;
	return i;
}

static bool check_word(const char *file, cfg_t *cfg, const char *option)
{
	const char *text = cfg_getstr(cfg, option);
	const char *node = cfg_title(cfg);

	if (text && is_word(text))
		return true;
	complain("%s: %s%s%s%s is %s", file, node ? "node " : "", node ? node : "",
		 node ? ": " : "", option, text ? "not one word" : "missing");
	return false;
}

static bool check_range(const char *file, cfg_t *cfg, const char *option, long min, long max)
{
	long value = cfg_getint(cfg, option);

	if (value >= min && value <= max)
		return true;
	complain("%s: %s %ld is not from %ld to %ld", file, option, value, min, max);
	return false;
}

static bool check_policy(const char *file, cfg_t *cfg)
{
	bool quorum = !strcmp(cfg_getstr(cfg, "policy"), "quorum");
	const char *wrong = NULL;

	if (quorum && !strcmp(cfg_getstr(cfg, "on-io-error"), "detach"))
		wrong = "policy quorum has no on-io-error detach";
	else if (quorum && cfg_size(cfg, "node") % 2 == 0)
		wrong = "policy quorum needs an odd number of nodes";
	else if (!quorum && !strcmp(cfg_getstr(cfg, "reads"), "quorum"))
		wrong = "reads quorum needs policy quorum";
	if (wrong)
		complain("%s: %s", file, wrong);
	return !wrong;
}

static bool is_witness(cfg_t *node)
{
	return !strcmp(cfg_getstr(node, "leg"), "-");
}

/* In the table the witness is the last one of the peers. */
static bool check_witness(const char *file, cfg_t *cfg, unsigned int at)
{
	cfg_t *node = cfg_getnsec(cfg, "node", at);

	if (!is_witness(node) || (at == cfg_size(cfg, "node") - 1 &&
				  !strcmp(cfg_getstr(node, "log"), "-") &&
				  !strcmp(cfg_getstr(cfg, "policy"), "quorum")))
		return true;
	complain("%s: node %s: a node without a leg is the last one, without a log, for policy quorum",
		 file, cfg_title(node));
	return false;
}

/* Metadata on the leg takes a leg, and a log there takes metadata there. */
static bool check_internal(const char *file, cfg_t *node)
{
	bool meta = !strcmp(cfg_getstr(node, "meta"), MIRROR_INTERNAL);

	if (!(meta && is_witness(node)) &&
	    (meta || strcmp(cfg_getstr(node, "log"), MIRROR_INTERNAL)))
		return true;
	complain("%s: node %s: %s", file, cfg_title(node), meta ?
		 "a witness needs a device for its metadata" :
		 "a log on the leg needs the metadata there, too");
	return false;
}

/* Has a node this address, among its first @n? */
static bool has_address(cfg_t *node, unsigned int n, const char *address)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		if (!strcmp(address, cfg_getnstr(node, "address", i)))
			return true;
	return false;
}

static bool check_addresses(const char *file, cfg_t *cfg, unsigned int at)
{
	cfg_t *node = cfg_getnsec(cfg, "node", at);
	unsigned int rails = cfg_size(cfg_getnsec(cfg, "node", 0), "address"), i, k;
	const char *address;

	if (!check_word(file, node, "address"))
		return false;
	if (cfg_size(node, "address") != rails || rails > RAILS) {
		complain("%s: node %s has %u addresses: all nodes have as many, up to %d", file,
			 cfg_title(node), cfg_size(node, "address"), RAILS);
		return false;
	}
	for (i = 0; i < rails; i++) {
		address = cfg_getnstr(node, "address", i);
		if (!is_word(address)) {
			complain("%s: node %s: address is not one word", file, cfg_title(node));
			return false;
		}
		if (has_address(node, i, address)) {
			complain("%s: node %s has the address %s twice", file, cfg_title(node),
				 address);
			return false;
		}
		for (k = 0; k < at; k++) {
			if (!has_address(cfg_getnsec(cfg, "node", k), rails, address))
				continue;
			complain("%s: two nodes have the address %s", file, address);
			return false;
		}
	}
	return true;
}

static bool check_nodes(const char *file, cfg_t *cfg)
{
	unsigned int n = cfg_size(cfg, "node"), i;

	if (n < 2 || n > MIRROR_PEERS + 1) {
		complain("%s: a mirror has 2 to %d nodes, not %u", file, MIRROR_PEERS + 1, n);
		return false;
	}
	for (i = 0; i < n; i++) {
		cfg_t *node = cfg_getnsec(cfg, "node", i);

		if (!check_word(file, node, "leg") || !check_word(file, node, "meta") ||
		    !check_word(file, node, "log") || !check_addresses(file, cfg, i) ||
		    !check_witness(file, cfg, i) || !check_internal(file, node))
			return false;
	}
	return true;
}

/* kfi_sockets admits no node without a secret from other ports: kfi_sockets(7), SECURITY. */
static bool check_ports(const char *file, cfg_t *cfg)
{
	long last = cfg_getint(cfg, "port") + cfg_size(cfg, "node") - 2;

	if (!check_range(file, cfg, "port", 1, 65536 - (long)(cfg_size(cfg, "node") - 1)))
		return false;
	if (strcmp(cfg_getstr(cfg, "provider"), "sockets") || cfg_getstr(cfg, "secret") ||
	    last < PORT_RESERVED)
		return true;
	complain("%s: without a secret ports have to be below %d, and the last one is %ld", file,
		 PORT_RESERVED, last);
	return false;
}

/* The word of the table for records that go straight to the peer's leg, or "" for the default */
static bool direct_word(cfg_t *cfg, char word[24])
{
	const char *text = cfg_getstr(cfg, "direct");
	uint64_t bytes = DIRECT_DEFAULT;

	word[0] = '\0';
	if (text && !strcmp(text, "off")) {
		strcpy(word, text);
		return true;
	}
	if (text && !parse_size(text, DIRECT_MAX, &bytes))
		return false;
	if (bytes != DIRECT_DEFAULT)
		snprintf(word, 24, "%" PRIu64, bytes);
	return true;
}

static bool check_direct(const char *file, cfg_t *cfg)
{
	char word[24];

	if (direct_word(cfg, word))
		return true;
	complain("%s: direct is a number of bytes up to %d, or off, not '%s'", file, DIRECT_MAX,
		 cfg_getstr(cfg, "direct"));
	return false;
}

/* Words with a few values, of which the first one is the default, here and in options_of_file. */
static const struct choice {
	const char *word;
	const char *values[5];
	bool tells;	/* the table has this word, unless its value is the default */
} choices[] = {
	{ "policy", { "fence", "stop", "alone", "quorum" } },
	{ "label", { "off", "on" } },
	{ "data-crc", { "log", "all" }, true },
	{ "cache", { "auto", "on", "off" }, true },
	{ "csum", { "off", "on" }, true },
	{ "on-io-error", { "fail", "detach" }, true },
	{ "reads", { "any", "quorum" }, true },
};

static bool is_choice(const struct choice *choice, const char *value)
{
	unsigned int i;

	for (i = 0; choice->values[i]; i++)
		if (!strcmp(choice->values[i], value))
			return true;
	return false;
}

static bool check_choices(const char *file, cfg_t *cfg)
{
	const struct choice *choice;
	char values[64];
	const char *value;
	unsigned int i;
	int len;

	for (choice = choices; choice < choices + ARRAY_SIZE(choices); choice++) {
		value = cfg_getstr(cfg, choice->word);
		if (is_choice(choice, value))
			continue;
		len = 0;
		for (i = 0; choice->values[i]; i++)
			len += snprintf(values + len, sizeof(values) - len, "%s%s", !i ? "" :
					choice->values[i + 1] ? ", " : " or ", choice->values[i]);
		complain("%s: %s is %s, not '%s'", file, choice->word, values, value);
		return false;
	}
	return true;
}

static bool check_file(const char *file, cfg_t *cfg)
{
	const char *uuid = cfg_getstr(cfg, "uuid");

	if (!uuid || !mirror_is_uuid(uuid)) {
		complain("%s: %s", file, uuid ? "the uuid is not one" : "the uuid is missing");
		return false;
	}
	return check_word(file, cfg, "provider") && check_choices(file, cfg) &&
	       check_policy(file, cfg) &&
	       check_range(file, cfg, "timeout", 200, 600000) &&
	       check_range(file, cfg, "rate", 0, RATE_MAX) &&
	       check_range(file, cfg, "rate-min", 0, RATE_MAX) && check_direct(file, cfg) &&
	       check_nodes(file, cfg) && check_ports(file, cfg);
}

/* ---- the table of this node ---- */

/* The number of the node @of among the peers of the node @at */
static unsigned int rank(unsigned int at, unsigned int of)
{
	return of < at ? of : of - 1;
}

static void add_peers(struct mirror_conf *conf, cfg_t *cfg, unsigned int me)
{
	unsigned int n = cfg_size(cfg, "node"), i;
	struct mirror_conf_peer *peer;

	for (i = 0; i < n; i++) {
		if (i == me)
			continue;
		peer = &conf->peers[conf->npeers++];
		peer->name = must(strdup(cfg_title(cfg_getnsec(cfg, "node", i))));
		peer->node = must(strdup(cfg_getstr(cfg_getnsec(cfg, "node", i), "address")));
		snprintf(peer->service, sizeof(peer->service), "%ld",
			 cfg_getint(cfg, "port") + rank(i, me));
	}
}

/* PROVIDER NODE SERVICE PEER-NODE PEER-SERVICE */
static void print_pair(FILE *to, const struct mirror_conf *conf, cfg_t *cfg, cfg_t *node,
		       size_t peer, unsigned int rail)
{
	cfg_t *other = cfg_gettsec(cfg, "node", conf->peers[peer].name);

	fprintf(to, "%s %s %ld %s %s", conf->provider, cfg_getnstr(node, "address", rail),
		cfg_getint(cfg, "port") + (long)peer, cfg_getnstr(other, "address", rail),
		conf->peers[peer].service);
}

/* The ways to a peer but for the first one */
static void print_rails(FILE *to, const struct mirror_conf *conf, cfg_t *cfg, cfg_t *node,
			size_t peer)
{
	unsigned int rail;

	for (rail = 1; rail < cfg_size(node, "address"); rail++) {
		fputs(" rail ", to);
		print_pair(to, conf, cfg, node, peer, rail);
	}
}

/* Return the value of the choice, if the kernel has to be told it. */
static const char *told_choice(cfg_t *cfg, size_t i)
{
	const char *value = cfg_getstr(cfg, choices[i].word);

	return choices[i].tells && strcmp(value, choices[i].values[0]) ? value : NULL;
}

/* In the form in which the kernel shows it, so that both can be compared */
static void print_table(FILE *to, const struct mirror_conf *conf, cfg_t *cfg, cfg_t *node)
{
	long least = cfg_getint(cfg, "rate-min");
	size_t words = 4;
	cfg_t *last = cfg_getnsec(cfg, "node", conf->npeers);
	size_t witness = is_witness(last) && last != node ? conf->npeers - 1 : 0, i;
	char direct[24];

	for (i = 0; i < ARRAY_SIZE(choices); i++)
		words += told_choice(cfg, i) ? 2 : 0;
	direct_word(cfg, direct);
	if (!strcmp(cfg_getstr(node, "log"), "-"))
		*direct = '\0';	/* without a log the kernel has this word for itself */
	fprintf(to, "%s %s %s ", cfg_getstr(node, "leg"), cfg_getstr(node, "meta"),
		cfg_getstr(node, "log"));
	print_pair(to, conf, cfg, node, 0, 0);
	fprintf(to, " %s %zu timeout %ld rate %ld", cfg_getstr(cfg, "policy"),
		words + (least ? 2 : 0) + (*direct ? 2 : 0) + (conf->secret ? 2 : 0) +
		6 * (conf->npeers * cfg_size(node, "address") - 1),
		cfg_getint(cfg, "timeout"), cfg_getint(cfg, "rate"));
	if (least)
		fprintf(to, " rate-min %ld", least);
	if (*direct)
		fprintf(to, " direct %s", direct);
	for (i = 0; i < ARRAY_SIZE(choices); i++)
		if (told_choice(cfg, i))
			fprintf(to, " %s %s", choices[i].word, told_choice(cfg, i));
	if (conf->secret)
		fprintf(to, " secret %s", conf->key);
	print_rails(to, conf, cfg, node, 0);
	for (i = 1; i < conf->npeers; i++) {
		fputs(i == witness ? " witness " : " peer ", to);
		print_pair(to, conf, cfg, node, i, 0);
		print_rails(to, conf, cfg, node, i);
	}
}

static bool size_of_leg(const char *file, const char *leg, uint64_t *bytes)
{
	int fd = open(leg, O_RDONLY | O_CLOEXEC);
	off_t end = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);

	if (end < 0)
		complain("%s: the leg %s: %s", file, leg, strerror(errno));
	if (fd >= 0)
		close(fd);
	*bytes = end;
	return end >= 0;
}

/*
 * The bytes of the data on a leg that has its metadata as well, if the configuration has no size.
 *
 * The metadata is found where the data ends, so a mirror that has been made is found only as long
 * as this gives the same number. Hence it depends on the size of the leg alone, and never changes:
 * one more node, or a log, neither moves the metadata, nor makes it reach into the data. There is
 * always room for four peers, a log and the label. The bitmaps for a peer, see kfm_meta_bytes(),
 * take 2.1 MiB up to 1 TiB, and as much for each further TiB; a log has a ring of 17 MiB at most.
 *
 * A leg that grows never gets less: what is left at its end grows by a byte for each 64 KiB.
 */
static uint64_t before_metadata(uint64_t leg)
{
	uint64_t end = LEG_END + (leg >> LEG_END_SHIFT);

	return leg > end ? (leg - end) / LEG_UNIT * LEG_UNIT : 0;
}

/* Leave room at the end of a leg of so many bytes for what is to be there. */
static uint64_t without_end(cfg_t *cfg, cfg_t *node, uint64_t bytes)
{
	if (!strcmp(cfg_getstr(node, "meta"), MIRROR_INTERNAL))
		return before_metadata(bytes);
	return !strcmp(cfg_getstr(cfg, "label"), "on") && bytes > LEG_BLOCK ?
	       bytes / LEG_BLOCK * LEG_BLOCK - LEG_BLOCK : bytes;
}

static bool read_size(const char *file, cfg_t *cfg, cfg_t *node, uint64_t *sectors)
{
	const char *text = cfg_getstr(cfg, "size"), *leg = cfg_getstr(node, "leg");
	uint64_t bytes;

	if (!strcmp(leg, "-")) {
		*sectors = WITNESS_SECTORS;
		return true;
	}
	if (!text && !size_of_leg(file, leg, &bytes))
		return false;
	if (text && !parse_size(text, INT64_MAX, &bytes)) {
		complain("%s: '%s' is not a size", file, text);
		return false;
	}
	if (!text)
		bytes = without_end(cfg, node, bytes);
	*sectors = bytes / SECTOR;
	if (*sectors && (!text || !(bytes % SECTOR)))
		return true;
	if (text || *sectors)
		complain("%s: the size is %" PRIu64 " bytes, which are no whole sectors", file,
			 bytes);
	else
		complain("%s: the leg %s is too small", file, leg);
	return false;
}

/*
 * Is the disk there? A device may be there before it has a size. Another error than that of an
 * absent device counts as there: the caller opens the disk, and reports it.
 */
static bool is_there(const char *disk)
{
	int fd = open(disk, O_RDONLY | O_CLOEXEC);
	off_t end;

	if (fd < 0)
		return errno != ENOENT && errno != ENOTDIR && errno != ENXIO && errno != ENODEV;
	end = lseek(fd, 0, SEEK_END);
	close(fd);
	return end;
}

static void wait_for_disks(const char *file, cfg_t *node)
{
	static const char *const keys[] = { "leg", "meta", "log" };
	const struct timespec pause = { .tv_nsec = 200000000 };
	const char *disk;
	bool told;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(keys); i++) {
		disk = cfg_getstr(node, keys[i]);
		if (*disk != '/')	/* there is none, or it is on the leg */
			continue;
		for (told = false; !is_there(disk); told = true) {
			if (!told)
				complain("%s: waiting for %s", file, disk);
			nanosleep(&pause, NULL);
		}
	}
}

/* ---- files ---- */

static void free_conf(struct mirror_conf *conf)
{
	while (conf->npeers) {
		free(conf->peers[--conf->npeers].name);
		free(conf->peers[conf->npeers].node);
	}
	free(conf->name);
	free(conf->uuid);
	free(conf->provider);
	free(conf->secret);
	free(conf->key);
	free(conf->table);
	free(conf);
}

void mirror_conf_free(struct mirror_conf *list)
{
	struct mirror_conf *next;

	for (; list; list = next) {
		next = list->next;
		free_conf(list);
	}
}

/*
 * Going on without the leg takes metadata that can still be written. A leg that fails some writes
 * may still have that, so this is no error.
 */
static void warn_detach(const char *file, cfg_t *cfg, cfg_t *node)
{
	if (!strcmp(cfg_getstr(cfg, "on-io-error"), "detach") &&
	    !strcmp(cfg_getstr(node, "meta"), MIRROR_INTERNAL))
		complain("%s: node %s: warning: on-io-error detach and metadata on the leg; "
			 "a disk that dies takes both along, and then all writes fail",
			 file, cfg_title(node));
}

static struct mirror_conf *make_conf(const struct mirror_where *where, const char *name,
				     const char *file, cfg_t *cfg, unsigned int me)
{
	struct mirror_conf *conf = must(calloc(1, sizeof(*conf)));
	cfg_t *node = cfg_getnsec(cfg, "node", me);
	const char *secret = cfg_getstr(cfg, "secret");
	size_t len;
	FILE *to;

	conf->name = must(strdup(name));
	conf->uuid = must(strdup(cfg_getstr(cfg, "uuid")));
	conf->provider = must(strdup(cfg_getstr(cfg, "provider")));
	if (secret) {
		conf->secret = must(strdup(secret));
		if (asprintf(&conf->key, "mirror:%s", name) < 0)
			must(NULL);
	}
	add_peers(conf, cfg, me);
	warn_detach(file, cfg, node);
	to = must(open_memstream(&conf->table, &len));
	print_table(to, conf, cfg, node);
	if (fclose(to))
		must(NULL);
	if (where->wait)
		wait_for_disks(file, node);
	if (read_size(file, cfg, node, &conf->sectors))
		return conf;
	free_conf(conf);
	return NULL;
}

static bool parse_file(cfg_t *cfg, const char *file)
{
	int fd = open_trusted(file, TRUSTED_FILE);
	FILE *from;
	bool ok;

	if (fd < 0)
		return false;
	from = must(fdopen(fd, "r"));
	cfg->filename = must(strdup(file));	/* for parse_error(); cfg_free() frees it */
	ok = cfg_parse_fp(cfg, from) == CFG_SUCCESS;
	fclose(from);
	return ok;
}

/* Is one of two names the full name of a host, and the other one its first part? */
static bool same_host(const char *a, const char *b)
{
	size_t la = strcspn(a, "."), lb = strcspn(b, ".");

	return la == lb && !strncmp(a, b, la) && (!a[la] != !b[lb]);
}

static void complain_absent(const struct mirror_where *where, const char *name, cfg_t *cfg)
{
	const char *title, *like = NULL;
	char names[256] = "";
	unsigned int i;

	for (i = 0; i < cfg_size(cfg, "node"); i++) {
		title = cfg_title(cfg_getnsec(cfg, "node", i));
		if (same_host(title, where->node))
			like = title;
		snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s",
			 i ? ", " : "", title);
	}
	if (like)
		complain("%s: node %s is not in its configuration, but %s is: the same? See -n",
			 name, where->node, like);
	else
		complain("%s: node %s is not in its configuration, which has %s: see -n", name,
			 where->node, names);
}

/*
 * Return: 0, with the mirror in @out, or NULL if this node has no part in it, after a message
 * unless @all files are read; -1 after a message
 */
static int read_file(const struct mirror_where *where, const char *name, bool all,
		     struct mirror_conf **out)
{
	cfg_t *cfg = must(cfg_init(options_of_file, CFGF_NONE));
	unsigned int me = 0, n;
	char *file;
	int ret;

	*out = NULL;
	if (asprintf(&file, "%s/%s" SUFFIX, where->dir, name) < 0)
		must(NULL);
	cfg_set_error_function(cfg, parse_error);
	ret = parse_file(cfg, file) && check_file(file, cfg) ? 0 : -1;
	n = ret ? 0 : cfg_size(cfg, "node");
	while (me < n && strcmp(cfg_title(cfg_getnsec(cfg, "node", me)), where->node))
		me++;
	if (me < n) {
		*out = make_conf(where, name, file, cfg, me);
		ret = *out ? 0 : -1;
	} else if (!ret && !all) {
		complain_absent(where, name, cfg);
	}
	free(file);
	cfg_free(cfg);
	return ret;
}

static bool is_name(const char *name)
{
	size_t len = strlen(name);

	return len && len <= NAME_MAX_LEN && *name != '.' && *name != '-' &&
	       !name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")];
}

int mirror_conf_one(const struct mirror_where *where, const char *name, struct mirror_conf **out)
{
	if (!is_name(name)) {
		complain("'%s' is not the name of a mirror", name);
		return EXIT_FAILED;
	}
	if (read_file(where, name, false, out))
		return EXIT_FAILED;
	return *out ? EXIT_OK : EXIT_FAILED;
}

static int is_conf(const struct dirent *entry)
{
	size_t len = strlen(entry->d_name), suffix = strlen(SUFFIX);

	return *entry->d_name != '.' && len > suffix &&
	       !strcmp(entry->d_name + len - suffix, SUFFIX);
}

int mirror_conf_all(const struct mirror_where *where, struct mirror_conf **list)
{
	struct mirror_conf **end = list;
	int fd = open_trusted(where->dir, TRUSTED_FOLDER), n, i, ret = EXIT_OK;
	struct dirent **entries;

	*list = NULL;
	if (fd < 0)
		return EXIT_FAILED;
	n = scandirat(fd, ".", &entries, is_conf, alphasort);
	close(fd);
	if (n < 0) {
		complain("%s: %s", where->dir, strerror(errno));
		return EXIT_FAILED;
	}
	for (i = 0; i < n; i++) {
		char *name = entries[i]->d_name;

		name[strlen(name) - strlen(SUFFIX)] = '\0';
		if (!is_name(name))
			complain("'%s' is not the name of a mirror", name);
		if (!is_name(name) || read_file(where, name, true, end))
			ret = EXIT_FAILED;
		else if (*end)
			end = &(*end)->next;
		free(entries[i]);
	}
	free(entries);
	return ret;
}

const char *mirror_conf_node(void)
{
	static struct utsname names;

	return uname(&names) ? "" : names.nodename;
}
