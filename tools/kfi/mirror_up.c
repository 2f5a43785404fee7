// SPDX-License-Identifier: GPL-2.0
/*
 * mirror_up.c - kfi mirror up, down, adjust, resize, dump and wait: from the configuration to
 * devices
 *
 * Each verb may be repeated: what is as it should be is left alone.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <keyutils.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "mirror.h"

#define SECTOR		512
#define SECRET_MIN	16	/* bytes; kfi_mirror has the same limits */
#define SECRET_MAX	256

#define POLL_MS		100
#define HINT_S		5	/* seconds after which `wait` says what it waits for */

/**
 * struct scope - the mirrors that a command line names, and what shall be done
 * @where: the configuration
 * @all: all mirrors
 * @create: format what is not formatted
 * @clean: the disks of all nodes have the same data, so no first copy is needed
 * @force: load a table also if it is the same; let a primary grow whose peers are shorter
 * @seconds: time limit, 0 for none
 */
struct scope {
	struct mirror_where where;
	bool all;
	bool create;
	bool clean;
	bool force;
	double seconds;
};

/* ---- command lines ---- */

enum { OPT_CREATE = OPT_FIRST_FREE, OPT_CLEAN, OPT_WAIT };

#define CONF_USAGE \
	"  -a, --all         all mirrors that the configuration has for this node\n" \
	"  -c, --config DIR  folder of the configuration (" MIRROR_CONF_DIR ")\n" \
	"  -n, --node NODE   this node's name in it (uname -n)\n"

/* Return: an exit code, or -1 to continue; then there are names at optind, or @all. */
static int parse(const char *verb, int argc, char **argv, const char *shorts, struct scope *scope,
		 const char *usage)
{
	static const struct option longs[] = {
		COMMON_LONG,
		{ "all", no_argument, NULL, 'a' },
		{ "clean", no_argument, NULL, OPT_CLEAN },
		{ "config", required_argument, NULL, 'c' },
		{ "create", no_argument, NULL, OPT_CREATE },
		{ "force", no_argument, NULL, 'f' },
		{ "node", required_argument, NULL, 'n' },
		{ "timeout", required_argument, NULL, 't' },
		{ "wait", no_argument, NULL, OPT_WAIT },
		{}
	};
	char *end;
	int opt;

	*scope = (struct scope){ .where = { MIRROR_CONF_DIR, mirror_conf_node(), false } };
	while ((opt = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		if (common_option(opt))
			continue;
		if (opt == 'h' || opt == '?' || (opt < 256 && !strchr(shorts, opt)) ||
		    (opt >= OPT_CREATE && opt <= OPT_WAIT && strcmp(verb, "mirror up"))) {
			fputs(usage, opt == 'h' ? stdout : stderr);
			return opt == 'h' ? EXIT_OK : EXIT_USAGE;
		}
		if (opt == 'a')
			scope->all = true;
		else if (opt == 'c')
			scope->where.dir = optarg;
		else if (opt == 'f')
			scope->force = true;
		else if (opt == 'n')
			scope->where.node = optarg;
		else if (opt == OPT_CREATE)
			scope->create = true;
		else if (opt == OPT_CLEAN)
			scope->clean = true;
		else if (opt == OPT_WAIT)
			scope->where.wait = true;
		else if (opt == 't')
			scope->seconds = strtod(optarg, &end);
		if (opt == 't' && (end == optarg || *end || !(scope->seconds > 0 &&
							      scope->seconds <= 1e6)))
			return usage_error(verb, "'%s' makes no sense for --timeout", optarg);
	}
	if (scope->clean && !scope->create)
		return usage_error(verb, "--clean needs --create");
	if (scope->all && optind < argc)
		return usage_error(verb, "--all and the name '%s'", argv[optind]);
	if (!scope->all && optind == argc)
		return usage_error(verb, "the NAME of the mirror is missing");
	return -1;
}

typedef int (*conf_verb)(const struct scope *scope, const struct mirror_conf *conf);

static int run_confs(const struct scope *scope, int argc, char **argv, conf_verb run)
{
	struct mirror_conf *list = NULL, *conf;
	int ret = EXIT_OK, i;

	if (scope->all)
		ret = mirror_conf_all(&scope->where, &list);
	for (conf = list; conf; conf = conf->next)
		if (run(scope, conf))
			ret = EXIT_FAILED;
	mirror_conf_free(list);
	for (i = optind; i < argc; i++) {
		conf = NULL;
		if (mirror_conf_one(&scope->where, argv[i], &conf) || run(scope, conf))
			ret = EXIT_FAILED;
		mirror_conf_free(conf);
	}
	return ret;
}

/* ---- the secret ---- */

/* Return: bytes, or -1 after a message */
static ssize_t read_secret(const char *path, char *secret)
{
	int fd = open_trusted(path, TRUSTED_SECRET);
	ssize_t len;

	if (fd < 0)
		return -1;
	len = read(fd, secret, SECRET_MAX + 1);
	if (len < SECRET_MIN || len > SECRET_MAX) {
		complain("%s: a secret has %d to %d bytes", path, SECRET_MIN, SECRET_MAX);
		len = -1;
	}
	close(fd);
	return len;
}

/*
 * The kernel copies the secret when it reads the table. So the key is in the keyring of this
 * process alone, and ends with it.
 */
static int give_secret(const struct mirror_conf *conf)
{
	char secret[SECRET_MAX + 1];
	int ret = EXIT_FAILED;
	ssize_t len;

	if (!conf->secret)
		return EXIT_OK;
	len = read_secret(conf->secret, secret);
	if (len < 0)
		return EXIT_FAILED;
	if (add_key("logon", conf->key, secret, len, KEY_SPEC_PROCESS_KEYRING) < 0)
		complain("%s: the kernel does not take the secret: %s", conf->name, strerror(errno));
	else
		ret = EXIT_OK;
	explicit_bzero(secret, sizeof(secret));
	return ret;
}

/* ---- up and adjust ---- */

/*
 * The kernel loads kfi_mirror, but not the provider: it opens endpoints where it must not wait for
 * user space. The provider may be loaded already, or be none of modprobe's, so failure says
 * nothing.
 */
static void load_provider(const struct mirror_conf *conf)
{
	char alias[128];
	char *const argv[] = { "modprobe", "-q", alias, NULL }, *const env[] = { NULL };
	int status;
	pid_t pid;

	snprintf(alias, sizeof(alias), "kfi-provider-%s", conf->provider);
	if (!posix_spawn(&pid, "/sbin/modprobe", NULL, NULL, argv, env))
		waitpid(pid, &status, 0);
}

static int make(const struct mirror_conf *conf)
{
	load_provider(conf);
	return mirror_create(conf->name, conf->uuid, conf->sectors, conf->table);
}

/* Return: the mirror if its device is there; NULL if it is not, or after a message, in @ret */
static struct mirror *existing(const char *name, int *ret)
{
	struct mirror *list = NULL;
	bool exists = false;

	*ret = mirror_exists(name, &exists);
	if (!*ret && exists)
		*ret = mirror_find(name, &list);
	return list;
}

/*
 * What to say of a mirror without metadata; NULL if it has some. Metadata on the leg is looked for
 * behind the data. So if the leg is longer than before, and with it the mirror, there may be
 * metadata after all, and another one would forget what is known of the copy.
 */
static const char *unformatted(const struct mirror *m)
{
	if (strcmp(m->copy, "unformatted"))
		return NULL;
	if (m->table.n <= TABLE_META || strcmp(m->table.at[TABLE_META], MIRROR_INTERNAL))
		return "it has no metadata yet: 'kfi mirror up --create' makes it";
	return "it has no metadata yet: 'kfi mirror up --create' makes it; "
	       "but if its leg has grown since it was last up, it needs the old size";
}

/* Who has forgotten --create would wait for a session in vain. */
static void tell_unformatted(const char *name)
{
	int ret;
	struct mirror *m = existing(name, &ret);
	const char *why = m ? unformatted(m) : NULL;

	if (why)
		complain("%s: %s", name, why);
	mirror_free(m);
}

static int format_blank(const struct scope *scope, const struct mirror_conf *conf)
{
	struct mirror *m = NULL;
	int ret = mirror_find(conf->name, &m);

	if (!ret && !strcmp(m->copy, "unformatted"))
		ret = mirror_format(conf->name, conf->uuid, scope->clean);
	mirror_free(m);
	return ret;
}

static int up_one(const struct scope *scope, const struct mirror_conf *conf)
{
	struct mirror *m;
	int ret;

	m = existing(conf->name, &ret);
	if (m && !mirror_has_table(m, conf->sectors, conf->table)) {
		complain("%s: it is up, but not as its configuration says: kfi mirror adjust",
			 conf->name);
		ret = EXIT_FAILED;
	}
	if (!ret && !m)
		ret = give_secret(conf);
	if (!ret && !m)
		ret = make(conf);
	mirror_free(m);
	if (!ret && scope->create)
		return format_blank(scope, conf);
	if (!ret)
		tell_unformatted(conf->name);
	return ret;
}

int cmd_mirror_up(int argc, char **argv)
{
	static const char usage[] =
		"Usage: kfi mirror up [OPTIONS] NAME... | -a\n\n"
		"Make the device /dev/mapper/NAME as the configuration says. It is secondary. A\n"
		"line says so if it has no metadata yet.\n\n"
		CONF_USAGE
		"      --create      format metadata and log if they are blank: once, on each\n"
		"                    node\n"
		"      --clean       with --create, on all nodes: their disks have the same data,\n"
		"                    so no first copy is written\n"
		"      --wait        until the disks of this node are there\n";
	struct scope scope;
	int ret = parse("mirror up", argc, argv, COMMON_SHORT "ac:n:", &scope, usage);

	return ret >= 0 ? ret : run_confs(&scope, argc, argv, up_one);
}

/*
 * May a mirror have another size? A primary that is longer than a peer has no session with it, so
 * the secondaries grow first. Return: an exit code, after a message.
 */
static int check_size(const struct mirror *m, uint64_t sectors)
{
	if (sectors < m->sectors)
		complain("%s: it has %" PRIu64 " sectors, and can't have fewer: %" PRIu64, m->name,
			 m->sectors, sectors);
	else if (sectors > m->sectors && sectors > m->peer_sectors && !strcmp(m->role, "primary"))
		complain("%s: a peer has %" PRIu64 " sectors, and has to grow before its primary",
			 m->name, m->peer_sectors);
	else if (sectors > m->sectors && mirror_remark(m->state, "detached"))
		complain("%s: a primary without its disk can't grow", m->name);
	else
		return EXIT_OK;
	return EXIT_FAILED;
}

static int adjust_one(const struct scope *scope, const struct mirror_conf *conf)
{
	struct mirror *m;
	bool same;
	int ret;

	m = existing(conf->name, &ret);
	if (ret)
		return ret;
	same = m && !scope->force && mirror_has_table(m, conf->sectors, conf->table);
	if (m)
		ret = check_size(m, conf->sectors);
	if (!ret && !same)
		ret = give_secret(conf);
	if (!ret && !m)
		ret = make(conf);
	else if (!ret && !same)
		ret = mirror_reload(conf->name, conf->sectors, conf->table);
	mirror_free(m);
	return ret;
}

int cmd_mirror_adjust(int argc, char **argv)
{
	static const char usage[] =
		"Usage: kfi mirror adjust [OPTIONS] NAME... | -a\n\n"
		"After a change of the configuration: load the table that it means now, without an\n"
		"error for what uses the mirror. A mirror that is not up is made. Its devices can't\n"
		"be changed so; it becomes longer as with 'resize', and never shorter.\n\n"
		CONF_USAGE
		"  -f, --force       also if the table is the same: the file of the secret has\n"
		"                    other contents. Sizes are checked all the same\n";
	struct scope scope;
	int ret = parse("mirror adjust", argc, argv, COMMON_SHORT "ac:n:f", &scope, usage);

	return ret >= 0 ? ret : run_confs(&scope, argc, argv, adjust_one);
}

/* ---- resize ---- */

static int resize_one(const struct scope *scope, const struct mirror_conf *conf)
{
	struct mirror *m = NULL;
	int ret = mirror_find(conf->name, &m);

	if (ret)
		return ret;
	if (!scope->force || conf->sectors < m->sectors)
		ret = check_size(m, conf->sectors);
	if (!ret && conf->sectors > m->sectors)
		ret = give_secret(conf) ?: mirror_reload(conf->name, conf->sectors, conf->table);
	if (!ret)
		mirror_announce(m->table.at[TABLE_LEG]);
	if (!ret)
		printf("%s: %" PRIu64 " bytes; next: %s\n", conf->name, conf->sectors * SECTOR,
		       strcmp(m->role, "primary") ? "resize the other nodes, the primary last" :
						    "let what is on it grow, as by resize2fs");
	mirror_free(m);
	return ret;
}

int cmd_mirror_resize(int argc, char **argv)
{
	static const char usage[] =
		"Usage: kfi mirror resize [OPTIONS] NAME... | -a\n\n"
		"Let a mirror grow to the size in its configuration, or that of its leg, while it\n"
		"is in use: first all legs, then by this each secondary, and the primary last.\n\n"
		CONF_USAGE
		"  -f, --force       also a primary that loses the session with a shorter peer\n";
	struct scope scope;
	int ret = parse("mirror resize", argc, argv, COMMON_SHORT "ac:n:f", &scope, usage);

	return ret >= 0 ? ret : run_confs(&scope, argc, argv, resize_one);
}

/* ---- down ---- */

/*
 * A secondary leaves first, so that its primary does not hold writes. It is removed in any case:
 * if the primary does not know that it was to stop, its policy decides.
 */
static int remove_one(const struct mirror *m)
{
	bool leaves = !strcmp(m->role, "secondary") && !strcmp(m->session, "connected") &&
		      strcmp(m->policy, "stop");
	int err = leaves ? mirror_send(m->name, "leave") : 0, ret;

	if (err == EBUSY)
		complain("%s: it can't leave: no other copy, or a promotion; its primary may wait",
			 m->name);
	else if (err > 0 && err != ENOTCONN)
		complain("%s: it can't leave, so the primary may hold its writes: %s", m->name,
			 strerror(err));
	ret = mirror_remove(m->name);
	if (!ret)
		mirror_announce(m->table.at[TABLE_LEG]);
	if (!ret && !strcmp(m->role, "primary"))
		complain("%s: it was primary, and no node is primary now", m->name);
	if (ret && leaves && !err)
		complain("%s: it has left its primary; kfi mirror adjust --force takes it back",
			 m->name);
	return ret;
}

static int down_one(const char *name)
{
	struct mirror *m;
	int ret;

	m = existing(name, &ret);
	if (!ret && m)
		ret = remove_one(m);
	mirror_free(m);
	return ret;
}

int cmd_mirror_down(int argc, char **argv)
{
	static const char usage[] =
		"Usage: kfi mirror down NAME... | -a\n\n"
		"Remove the device of a mirror. Nothing may use it. What is on its disks stays. A\n"
		"secondary leaves before, so that its primary goes on; not with policy stop: then\n"
		"the primary holds its writes until this node is back. If it was primary, the\n"
		"command says so: then no node is.\n\n"
		"  -a, --all  all mirrors that there are\n";
	struct mirror *list = NULL, *m;
	struct scope scope;
	int ret = parse("mirror down", argc, argv, COMMON_SHORT "a", &scope, usage), i;

	if (ret >= 0)
		return ret;
	ret = scope.all ? mirror_find(NULL, &list) : EXIT_OK;
	for (m = list; m; m = m->next)
		if (remove_one(m))
			ret = EXIT_FAILED;
	mirror_free(list);
	for (i = optind; i < argc; i++)
		if (down_one(argv[i]))
			ret = EXIT_FAILED;
	return ret;
}

/* ---- dump ---- */

static int dump_one(const struct scope *scope, const struct mirror_conf *conf)
{
	size_t i;

	if (!options.json) {
		printf("%s: 0 %" PRIu64 " kfi_mirror %s\n", conf->name, conf->sectors, conf->table);
		return EXIT_OK;
	}
	json_begin(NULL, '{');
	json_string("name", conf->name);
	json_string("uuid", conf->uuid);
	json_u64("sectors", conf->sectors);
	json_string("table", conf->table);
	json_begin("peers", '[');
	for (i = 0; i < conf->npeers; i++) {
		json_begin(NULL, '{');
		json_string("name", conf->peers[i].name);
		json_string("node", conf->peers[i].node);
		json_string("service", conf->peers[i].service);
		json_end('}');
	}
	json_end(']');
	json_end('}');
	return EXIT_OK;
}

int cmd_mirror_dump(int argc, char **argv)
{
	static const char usage[] =
		"Usage: kfi mirror dump [-j] [OPTIONS] NAME... | -a\n\n"
		"Print the tables that the configuration means, and change nothing.\n\n"
		CONF_USAGE;
	struct scope scope;
	int ret = parse("mirror dump", argc, argv, COMMON_SHORT "ac:n:", &scope, usage), out;

	if (ret >= 0)
		return ret;
	if (options.json)
		json_begin(NULL, '[');
	ret = run_confs(&scope, argc, argv, dump_one);
	if (options.json)
		json_end(']');
	out = json_finish();
	return out ? out : ret;
}

/* ---- wait ---- */

/* What has to be done before the wait can end? NULL: nothing may have to be done. */
static const char *needed(const struct mirror *m)
{
	if (unformatted(m))
		return unformatted(m);
	if (mirror_remark(m->state, "refused"))
		return "a session was refused; the kernel's log has the reason";
	if (!strcmp(m->role, "secondary") && !strcmp(m->session, "down"))
		return "no primary calls it: 'kfi mirror promote' one of the nodes";
	return NULL;
}

/*
 * Return: an exit code; -1 if the mirror is there, but is not yet what is waited for. If it has
 * waited for a while, and with @hint, say what for.
 */
static int look(const char *name, bool insync, bool *hint)
{
	struct mirror *m = NULL;
	int ret = mirror_find(name, &m);
	const char *why = ret ? NULL : needed(m);

	if (!ret && why && *hint) {
		complain("%s: still waiting: %s", name, why);
		*hint = false;
	}
	if (!ret && (strcmp(m->session, "connected") || (insync && !mirror_remark(m->state, "insync"))))
		ret = -1;
	mirror_free(m);
	return ret;
}

int cmd_mirror_wait(int argc, char **argv)
{
	static const char usage[] =
		"Usage: kfi mirror wait [-t SECONDS] NAME [connected | insync]\n\n"
		"Wait until there is a session with each peer (of a secondary: with its primary), or\n"
		"until their copies are the same as well.\n\n"
		"  -t, --timeout SECONDS  fail after so many; otherwise there is no limit. After\n"
		"                         5 seconds a line says what somebody may have to do\n";
	const struct timespec pause = { .tv_nsec = POLL_MS * 1000000 };
	struct scope scope;
	bool hint = false, hinted = false;
	double waited = 0;
	const char *what;
	int ret = parse("mirror wait", argc, argv, COMMON_SHORT "t:", &scope, usage);

	if (ret >= 0)
		return ret;
	if (argc - optind > 2)
		return usage_error("mirror wait", "too many words: '%s'", argv[optind + 2]);
	what = argc - optind == 2 ? argv[optind + 1] : "connected";
	if (strcmp(what, "connected") && strcmp(what, "insync"))
		return usage_error("mirror wait", "there are connected and insync, not '%s'", what);
	while ((ret = look(argv[optind], !strcmp(what, "insync"), &hint)) < 0) {
		if (scope.seconds && waited >= scope.seconds) {
			complain("%s: not %s after %g s", argv[optind], what, scope.seconds);
			return EXIT_FAILED;
		}
		nanosleep(&pause, NULL);
		waited += POLL_MS / 1000.0;
		if (!hinted && waited >= HINT_S)
			hint = hinted = true;
	}
	return ret;
}
