// SPDX-License-Identifier: GPL-2.0
/* mirror.c - kfi mirror: command lines, messages to mirrors, and explanations of their errors */
#define _GNU_SOURCE	/* strerrorname_np() */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "mirror.h"

#define INTERVAL	1.0	/* seconds */
#define PAUSE_MS	250	/* the shortest pause between two attempts of a promotion */
#define PAUSE_RANDOM_MS	1000	/* and up to so many more */

/* ---- messages ---- */

/**
 * struct refusal - explanation of an error of a message
 * @err: the error; 0 in the last entry of a table
 * @text: meaning, and a remedy
 */
struct refusal {
	int err;
	const char *text;
};

static const struct refusal promote_refusals[] = {
	{ EALREADY, "it is primary already" },
	{ EBUSY, "a peer is primary, or follows one: demote that first; or a promotion runs" },
	{ EAGAIN, "the peer is being promoted itself; try again" },
	{ ESTALE,
	  "the peer has newer data: promote the peer; "
	  "or it may have, because a superblock of it is damaged: see its kernel's log" },
	{ ENOTUNIQ, "the copies are split: each has writes of its own; 'invalidate' one of them" },
	{ EPERM,
	  "the peer does not answer, and may have newer data; if it is off: promote NAME fenced; "
	  "or, with policy quorum, no more than half of the nodes have answered" },
	{ EUCLEAN,
	  "a resynchronisation of this copy has not ended; "
	  "or it lacks acknowledged writes, or its leg has failed a write; "
	  "or its metadata or log is damaged; "
	  "connect the node with the data" },
	{ ENODATA,
	  "this copy is blank: nothing has been written to it; promote another node, which has data; "
	  "of a new mirror 'promote NAME force' the one node that has the data" },
	{ EIO, "the leg, the log or the metadata device has failed" },
	{ EOPNOTSUPP, "it is a witness, which has no data" },
	{ EMEDIUMTYPE, "the leg or the log has become memory that can tear its sectors" },
	{ EINTR, "the mirror was suspended meanwhile" },
	{}
};

/* The same of a node that was not created */
static const struct refusal unformatted_refusals[] = {
	{ ENODATA, "it has no metadata: 'kfi mirror up --create' makes it" },
	{}
};

/* "promote NAME fenced" */
static const struct refusal fenced_promote_refusals[] = {
	{ EINVAL, "with policy quorum the answers of more than half of the nodes decide" },
	{ EPERM,
	  "this copy may lack acknowledged writes; 'promote NAME force' accepts their loss" },
	{}
};

static const struct refusal demote_refusals[] = {
	{ EALREADY, "it is secondary already" },
	{ EBUSY, "it is in use; unmount what is on it, and try again" },
	{ EIO, "the metadata device has failed" },
	{}
};

/* "demote" while writes are in flight */
static const struct refusal writing_refusals[] = {
	{ EBUSY, "writes are in flight; stop what writes, and try again" },
	{}
};

/* "demote" while writes are held for a peer */
static const struct refusal held_refusals[] = {
	{ EBUSY,
	  "writes are held until a peer is back: bring it back; "
	  "'fenced' with policy fence, or 'promote NAME force' with policy quorum, lets them go on" },
	{}
};

static const struct refusal detach_refusals[] = {
	{ EALREADY, "it goes on without its leg already" },
	{ EINVAL, "it is not primary, or its module is too old" },
	{ ENOTCONN, "no peer in sync has the data" },
	{ EOPNOTSUPP, "its policy is quorum" },
	{ EIO, "the metadata device has failed" },
	{}
};

static const struct refusal fenced_refusals[] = {
	{ EINVAL, "it is not primary, or its policy is not fence" },
	{ EBUSY, "the peer is back; the writes go on by themselves" },
	{ ESTALE, "this is not the number of the present outage; see 'kfi mirror'" },
	{ EIO, "the leg or the metadata device has failed, or the peer has the only copy" },
	{}
};

static const struct refusal secondary_refusals[] = {
	{ EBUSY, "it is primary; that is for a secondary" },
	{ ENODATA, "it has no metadata: 'kfi mirror create' comes first" },
	{ EIO, "the metadata or log device has failed" },
	{}
};

static const struct refusal leave_refusals[] = {
	{ EBUSY, "it is primary, being promoted, or leaving; or its primary has no other copy" },
	{ ENODATA, "it has no metadata: 'kfi mirror create' comes first" },
	{ EINVAL, "policy stop needs both copies: stop what writes first" },
	{ ENOTCONN, "it has no session with a primary" },
	{ EOPNOTSUPP, "the primary's kfi_mirror is too old: 'outdate', and 'fenced' there" },
	{ ETIMEDOUT,
	  "the primary did not answer, and may hold its writes; this copy is outdated" },
	{ EINTR, "the mirror was suspended meanwhile" },
	{ EIO, "the metadata device has failed" },
	{}
};

static const struct refusal create_refusals[] = {
	{ EEXIST, "it has metadata already" },
	{ EINVAL, "that is not a UUID" },
	{ EMEDIUMTYPE, "the metadata or log device holds other data; 'wipefs' may know it" },
	{ EIO, "the metadata or log device has failed" },
	{}
};

static const struct refusal replace_refusals[] = {
	{ EBUSY, "the peer is there, and only a node that is gone is replaced; or there is no quorum" },
	{ ENOENT, "no peer has this node and service, or several have" },
	{ ENODATA, "it has no metadata: 'kfi mirror create' comes first" },
	{ EIO, "the metadata device has failed, or this primary goes on without its leg" },
	{}
};

static const struct refusal verify_refusals[] = {
	{ EINVAL, "it is not primary, or its module is too old" },
	{ EALREADY, "it is being compared already" },
	{ ENOENT, "no peer with a copy has this node and service, or several have" },
	{ ENOTCONN, "that peer is not in sync" },
	{ EOPNOTSUPP, "a majority takes three copies or more" },
	{ EIO, "the leg or the metadata device has failed" },
	{}
};

static const struct refusal rate_refusals[] = {
	{ ERANGE, "the rate is too large" },
	{}
};

/* Errors that any message may return */
static const struct refusal any_refusals[] = {
	{ EACCES, "permission denied: it takes CAP_SYS_ADMIN" },
	{ ENXIO, "the mirror is gone" },
	{ EINVAL, "the loaded kfi_mirror does not know this message" },
	{}
};

static const char *find_refusal(const struct refusal *list, int err)
{
	while (list->err && list->err != err)
		list++;
	return list->text;
}

/*
 * What an error means in the state in which the mirror is; NULL if that changes nothing. It may have
 * changed since the message.
 */
static const struct refusal *refusals_now(const char *name, const char *message, int err)
{
	bool promote = err == ENODATA && !strncmp(message, "promote", 7);
	bool demote = err == EBUSY && !strcmp(message, "demote");
	const struct refusal *list = NULL;
	struct mirror *m = NULL;

	if ((!promote && !demote) || mirror_find(name, &m))
		return NULL;
	if (promote && !strcmp(m->copy, "unformatted"))
		list = unformatted_refusals;
	else if (demote && (m->frozen || mirror_remark(m->state, "stopped") ||
			    mirror_remark(m->state, "noquorum")))
		list = held_refusals;
	else if (demote && m->writes)
		list = writing_refusals;
	mirror_free(m);
	return list;
}

/* Print why a message was refused, with the name of the error at the end for scripts. */
static void complain_refused(const char *name, const char *message, const struct refusal *first,
			     const struct refusal *list, int err)
{
	const struct refusal *now = refusals_now(name, message, err);
	const char *text = NULL, *symbol = strerrorname_np(err);

	if (err == EBUSY && mirror_suspended(name))
		text = "it is suspended; 'dmsetup resume' first";
	if (!text && now)
		text = find_refusal(now, err);
	if (!text && first)
		text = find_refusal(first, err);
	if (!text)
		text = find_refusal(list, err);
	if (!text)
		text = find_refusal(any_refusals, err);
	complain("%s: %s: %s (%s)", name, message, text ? text : strerror(err),
		 symbol ? symbol : "?");
}

static int send_message(const char *name, const char *message, const struct refusal *first,
			const struct refusal *list)
{
	int err = mirror_send(name, message);

	if (err > 0)
		complain_refused(name, message, first, list, err);
	return err ? EXIT_FAILED : EXIT_OK;
}

/* ---- command lines ---- */

/*
 * Parse options of a verb that sends a message, then between @min and @max words. The first word is
 * the mirror. Return: an exit code, or -1 to continue.
 */
static int parse(const char *verb, int argc, char **argv, int min, int max, const char *usage)
{
	static const struct option longs[] = { COMMON_LONG, {} };
	int opt;

	while ((opt = getopt_long(argc, argv, COMMON_SHORT, longs, NULL)) != -1) {
		if (common_option(opt))
			continue;
		fputs(usage, opt == 'h' ? stdout : stderr);
		return opt == 'h' ? EXIT_OK : EXIT_USAGE;
	}
	if (argc - optind > max)
		return usage_error(verb, "too many words: '%s'", argv[optind + max]);
	if (argc - optind < 1)
		return usage_error(verb, "the NAME of the mirror is missing");
	if (argc - optind < min)
		return usage_error(verb, "a word is missing behind '%s'", argv[optind]);
	return -1;
}

/* A verb whose only word is the mirror */
static int simple(const char *verb, int argc, char **argv, const char *message,
		  const struct refusal *list, const char *usage)
{
	int ret = parse(verb, argc, argv, 1, 1, usage);

	return ret >= 0 ? ret : send_message(argv[optind], message, NULL, list);
}

/* Is @text a number that the kernel can parse? */
static bool is_number(const char *text)
{
	return *text && !text[strspn(text, "0123456789")] && strlen(text) < 20 &&
	       strtoull(text, NULL, 10) <= UINT32_MAX;
}

/* A verb with a number, or up to @most: that of an outage, or rates in KiB */
static int with_numbers(const char *verb, int argc, char **argv, int most, const char *message,
			const struct refusal *list, const char *usage)
{
	int ret = parse(verb, argc, argv, 2, 1 + most, usage), i;
	size_t len = strlen(message);
	char text[64];

	if (ret >= 0)
		return ret;
	snprintf(text, sizeof(text), "%s", message);
	for (i = optind + 1; i < argc; i++) {
		if (!is_number(argv[i]))
			return usage_error(verb, "'%s' is not a number", argv[i]);
		len += snprintf(text + len, sizeof(text) - len, " %s", argv[i]);
	}
	return send_message(argv[optind], text, NULL, list);
}

/* Two nodes that wait for one another must not always ask at the same time. */
static void pause_at_random(void)
{
	struct timespec pause = { .tv_nsec = PAUSE_MS * 1000000L };
	unsigned int random = 0;

	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) == sizeof(random))
		pause.tv_nsec += random % PAUSE_RANDOM_MS * 1000000L;
	pause.tv_sec = pause.tv_nsec / 1000000000;
	pause.tv_nsec %= 1000000000;
	nanosleep(&pause, NULL);
}

/*
 * Promote a node when that is safe: as long as a peer does not answer, or is being promoted itself,
 * it is asked again. What a peer has done meanwhile decides: it may be primary.
 */
static int promote_when_safe(const char *name)
{
	bool told = false;
	int err;

	while (true) {
		err = mirror_send(name, "promote");
		/* the table may be loaded again meanwhile */
		if (err != EPERM && err != EAGAIN && err != EINTR &&
		    !(err == EBUSY && mirror_suspended(name)))
			break;
		if (err == EPERM && !told)
			complain("%s: waiting for answers of the other nodes that permit it", name);
		told |= err == EPERM;
		pause_at_random();
	}
	if (err > 0 && err != EALREADY)
		complain_refused(name, "promote", NULL, promote_refusals, err);
	return err && err != EALREADY ? EXIT_FAILED : EXIT_OK;
}

static int cmd_promote(int argc, char **argv)
{
	static const char usage[] =
		"Usage: kfi mirror promote NAME [safe | fenced | force]\n\n"
		"Become primary. Without a word all peers have to answer; none may be primary,\n"
		"or have anything newer.\n\n"
		"  safe    ask again until the peers have answered, for ever; unit\n"
		"          kfi-mirror-primary@NAME does so at each boot\n"
		"  fenced  peers that do not answer have no power and stay off, or are outdated:\n"
		"          no answer is needed, if this copy was in sync and the policy is not alone\n"
		"  force   accept that acknowledged writes are lost and the copies split; for a\n"
		"          new mirror, on the node whose copy is the right one\n";
	const struct refusal *first = NULL;
	char text[32] = "promote";
	int ret = parse("mirror promote", argc, argv, 1, 2, usage);

	if (ret >= 0)
		return ret;
	if (optind + 1 < argc && !strcmp(argv[optind + 1], "safe"))
		return promote_when_safe(argv[optind]);
	if (optind + 1 < argc) {
		if (strcmp(argv[optind + 1], "fenced") && strcmp(argv[optind + 1], "force"))
			return usage_error("mirror promote",
					   "there are safe, fenced and force, not '%s'",
					   argv[optind + 1]);
		snprintf(text, sizeof(text), "promote %s", argv[optind + 1]);
		if (!strcmp(argv[optind + 1], "fenced"))
			first = fenced_promote_refusals;
	}
	return send_message(argv[optind], text, first, promote_refusals);
}

static int cmd_demote(int argc, char **argv)
{
	return simple("mirror demote", argc, argv, "demote", demote_refusals,
		      "Usage: kfi mirror demote NAME\n\nBecome secondary.\n");
}

static int cmd_detach(int argc, char **argv)
{
	static const char usage[] =
		"Usage: kfi mirror detach NAME\n\n"
		"On a primary: give up the copy of this node, and go on over the network, as\n"
		"after a failure of the leg with 'on-io-error = detach'. Peers in sync have the\n"
		"data.\n";

	return simple("mirror detach", argc, argv, "detach", detach_refusals, usage);
}

static int cmd_outdate(int argc, char **argv)
{
	static const char usage[] =
		"Usage: kfi mirror outdate NAME\n\n"
		"On a secondary: the primary goes on without this copy, which can't be promoted\n"
		"until it has been in sync again. A handler of policy fence does it.\n";

	return simple("mirror outdate", argc, argv, "outdate", secondary_refusals, usage);
}

static int cmd_leave(int argc, char **argv)
{
	static const char usage[] =
		"Usage: kfi mirror leave NAME\n\n"
		"On a secondary that is about to stop: store that this copy is outdated, and let the\n"
		"primary go on without it, so that no write is held. Until it is resumed the node takes\n"
		"part in nothing; then it gets what was written meanwhile.\n";

	return simple("mirror leave", argc, argv, "leave", leave_refusals, usage);
}

static int cmd_invalidate(int argc, char **argv)
{
	return simple("mirror invalidate", argc, argv, "invalidate", secondary_refusals,
		      "Usage: kfi mirror invalidate NAME\n\n"
		      "On a secondary: give up this copy; the primary writes it anew as a whole.\n"
		      "It ends a split.\n");
}

static int cmd_fenced(int argc, char **argv)
{
	static const char usage[] =
		"Usage: kfi mirror fenced NAME OUTAGE\n\n"
		"On a primary with policy fence: the lost peer is outdated or has no power, so\n"
		"writes may go on without it. OUTAGE is the number that 'kfi mirror' shows, and\n"
		"that the uevent 'frozen' has as KFI_MIRROR_OUTAGE, with the node and service of\n"
		"the peer as KFI_MIRROR_PEER and KFI_MIRROR_SERVICE: what is confirmed holds for\n"
		"that outage alone.\n";

	return with_numbers("mirror fenced", argc, argv, 1, "fenced", fenced_refusals, usage);
}

static int cmd_rate(int argc, char **argv)
{
	static const char usage[] =
		"Usage: kfi mirror rate NAME KIB [MIN]\n\n"
		"Limit resynchronisation to so many KiB a second; 0: no limit. With MIN, to so\n"
		"many while the application writes; 0: no other limit then.\n";

	return with_numbers("mirror rate", argc, argv, 2, "rate", rate_refusals, usage);
}

/*
 * The message for a repair from a peer, which has the node @node, and @service if several peers have
 * that. Return: false after a message.
 */
static bool repair_from(const char *name, const char *node, const char *service, char text[256])
{
	struct mirror *m = NULL;
	const char *found = service;
	size_t i;

	if (!service && mirror_find(name, &m))
		return false;
	if (m && !m->npeers && m->table.n > TABLE_PEER_SERVICE &&
	    !strcmp(m->table.at[TABLE_PEER_NODE], node))
		found = m->table.at[TABLE_PEER_SERVICE];
	for (i = 0; m && i < m->npeers; i++) {
		if (strcmp(m->peers[i].node, node))
			continue;
		if (found)
			i = m->npeers;
		found = i < m->npeers ? m->peers[i].service : NULL;
	}
	if (!found)
		complain("%s: not one peer has the node %s; name NODE and SERVICE, see 'kfi mirror'",
			 name, node);
	else if (snprintf(text, 256, "verify repair-from %s %s", node, found) >= 256)
		found = NULL;
	mirror_free(m);
	return found;
}

static int cmd_verify(int argc, char **argv)
{
	static const char usage[] =
		"Usage: kfi mirror verify NAME [report | stop]\n"
		"       kfi mirror verify NAME repair-from {here | NODE [SERVICE] | majority}\n\n"
		"On a primary: compare this copy with those of all peers in sync. Parts of 64 KiB\n"
		"that differ are reported, and stay as they are: the state shows how far it is, and\n"
		"then how many differ and how many were not compared, and the kernel's log which.\n"
		"Which copy of a part is the right one somebody else has to know.\n\n"
		"  report       the same\n"
		"  stop         end the comparison\n"
		"  repair-from  what was reported is overwritten, or, if nothing was or too much, all\n"
		"               that differs:\n"
		"    here       by what this node has\n"
		"    NODE       by what this peer has, with the SERVICE if several have that node\n"
		"    majority   by what more than half of at least three copies are like\n\n"
		"Two copies that are the same are not overwritten by the one that is named: see\n"
		"'outvoted'.\n";
	char text[256] = "verify report";
	int ret = parse("mirror verify", argc, argv, 1, 4, usage);
	const char *word, *from;

	if (ret >= 0)
		return ret;
	argv += optind;
	argc -= optind;
	word = argc > 1 ? argv[1] : "report";
	from = argc > 2 ? argv[2] : NULL;
	if (strcmp(word, "stop") && strcmp(word, "report") && strcmp(word, "repair-from"))
		return usage_error("mirror verify", "there are report, stop and repair-from, not '%s'",
				   word);
	if (from && strcmp(word, "repair-from"))
		return usage_error("mirror verify", "too many words: '%s'", from);
	if (!strcmp(word, "stop"))
		strcpy(text, "verify stop");
	if (!strcmp(word, "repair-from") && !from)
		return usage_error("mirror verify", "repair-from: whose copy is the right one?");
	if (from && (!strcmp(from, "here") || !strcmp(from, "majority"))) {
		if (argc > 3)
			return usage_error("mirror verify", "too many words: '%s'", argv[3]);
		snprintf(text, sizeof(text), "verify repair-from %s", from);
	} else if (from && !repair_from(argv[0], from, argc > 3 ? argv[3] : NULL, text)) {
		return EXIT_FAILED;
	}
	return send_message(argv[0], text, NULL, verify_refusals);
}

bool mirror_is_uuid(const char *text)
{
	return strlen(text) == 36 && !text[strspn(text, "0123456789abcdefABCDEF-")];
}

int mirror_format(const char *name, const char *uuid, bool clean)
{
	struct mirror *m = NULL;
	int ret = mirror_find(name, &m);
	const char *leg = ret ? NULL : m->table.at[TABLE_LEG];
	char text[64];

	snprintf(text, sizeof(text), "create %s%s", uuid, clean ? " clean" : "");
	if (!ret && leg && !mirror_leg_fits(name, leg, m->sectors * 512))
		ret = EXIT_FAILED;
	ret = ret ? ret : send_message(name, text, NULL, create_refusals);
	if (!ret)
		mirror_announce(leg);
	mirror_free(m);
	return ret;
}

static int cmd_create(int argc, char **argv)
{
	static const char usage[] =
		"Usage: kfi mirror create NAME UUID [clean]\n\n"
		"Format metadata and log of this node, once. All nodes of a mirror need the same\n"
		"UUID, as uuidgen prints one. With 'clean' on all nodes there is no first copy:\n"
		"it says that their disks have the same data. 'kfi mirror up --create' does it\n"
		"with the UUID of the configuration.\n";
	int ret = parse("mirror create", argc, argv, 2, 3, usage);
	bool clean = optind + 2 < argc;

	if (ret >= 0)
		return ret;
	if (!mirror_is_uuid(argv[optind + 1]))
		return usage_error("mirror create", "'%s' is not a UUID", argv[optind + 1]);
	if (clean && strcmp(argv[optind + 2], "clean"))
		return usage_error("mirror create", "there is clean, not '%s'", argv[optind + 2]);
	return mirror_format(argv[optind], argv[optind + 1], clean);
}

static int cmd_replace(int argc, char **argv)
{
	static const char usage[] =
		"Usage: kfi mirror replace NAME NODE SERVICE\n\n"
		"The peer with this node and service, as the table names it, is gone for good, or its\n"
		"metadata is: the next node at this address takes its place, and gets the whole copy.\n"
		"Each other node of the mirror has to be told.\n";
	char text[256];
	int ret = parse("mirror replace", argc, argv, 3, 3, usage);

	if (ret >= 0)
		return ret;
	if (snprintf(text, sizeof(text), "replace %s %s", argv[optind + 1], argv[optind + 2]) >=
	    (int)sizeof(text))
		return usage_error("mirror replace", "'%s' is too long", argv[optind + 1]);
	return send_message(argv[optind], text, NULL, replace_refusals);
}

/* ---- kfi mirror show ---- */

static const char show_usage[] =
	"Usage: kfi mirror show [-j] [-d] [-w[SECONDS]] [NAME...]\n\n"
	"Show the mirrors of this node, or those of these names: role, state of the session and\n"
	"of the copy, policy, lag (records that the peer has not applied), writes in flight,\n"
	"number of the outage, remarks, and how far a resynchronisation is.\n\n"
	"  -d, --details          all that is known\n"
	"  -j, --json             in JSON, always with details\n"
	"  -w, --watch[=SECONDS]  again each second, or after so many; in place on a terminal,\n"
	"                         else a line for each mirror\n";

static bool show_option(struct mirror_view *view, int opt, bool *bad)
{
	char *end;

	if (opt == 'd') {
		view->details = true;
	} else if (opt == 'w') {
		view->interval = optarg ? strtod(optarg, &end) : INTERVAL;
		*bad = optarg && (end == optarg || *end || !(view->interval >= 0.05) ||
				  view->interval > 86400);
	} else {
		return false;
	}
	return true;
}

/*
 * Parse options of show; @shorts begins with '+' if the options end at the first word. Return: an
 * exit code, or -1 to continue.
 */
static int parse_show(int argc, char **argv, const char *shorts, struct mirror_view *view,
		      void (*usage)(FILE *to))
{
	static const struct option longs[] = {
		COMMON_LONG,
		{ "details", no_argument, NULL, 'd' },
		{ "watch", optional_argument, NULL, 'w' },
		{}
	};
	bool bad = false;
	int opt;

	while ((opt = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		if (common_option(opt))
			continue;
		if (!show_option(view, opt, &bad)) {
			usage(opt == 'h' ? stdout : stderr);
			return opt == 'h' ? EXIT_OK : EXIT_USAGE;
		}
		if (bad)
			return usage_error("mirror show", "'%s' makes no sense for --watch",
					   optarg);
	}
	return -1;
}

static void print_show_usage(FILE *to)
{
	fputs(show_usage, to);
}

/* Options may precede the verb. */
static struct mirror_view view;

static int cmd_show_mirrors(int argc, char **argv)
{
	int ret = parse_show(argc, argv, COMMON_SHORT "dw::", &view, print_show_usage);

	return ret >= 0 ? ret : mirror_show(&view, argc - optind, argv + optind);
}

/* ---- kfi mirror ---- */

static const struct verb verbs[] = {
	{ "adjust", "make a mirror what its configuration says", cmd_mirror_adjust },
	{ "create", "format metadata and log", cmd_create },
	{ "demote", "become secondary", cmd_demote },
	{ "detach", "go on without the leg of this primary", cmd_detach },
	{ "down", "remove the device of a mirror", cmd_mirror_down },
	{ "dump", "print the tables that the configuration means", cmd_mirror_dump },
	{ "fenced", "the peer is out: go on alone", cmd_fenced },
	{ "formats", "versions of what a device has, and of what can be read", cmd_mirror_formats },
	{ "invalidate", "give up this copy", cmd_invalidate },
	{ "label", "whose leg a device is", cmd_mirror_label },
	{ "leave", "this secondary is about to stop", cmd_leave },
	{ "outdate", "the primary goes on without this copy", cmd_outdate },
	{ "promote", "become primary", cmd_promote },
	{ "rate", "limit resynchronisation", cmd_rate },
	{ "replace", "another node takes the place of a peer", cmd_replace },
	{ "resize", "let a mirror grow", cmd_mirror_resize },
	{ "show", "show mirrors; this is what happens without a word", cmd_show_mirrors },
	{ "up", "make the device of a mirror", cmd_mirror_up },
	{ "verify", "compare the copies", cmd_verify },
	{ "wait", "wait for the peers of a mirror", cmd_mirror_wait },
};

static void print_usage(FILE *to)
{
	size_t i;

	fputs("Usage: kfi mirror [-j] [-d] [-w[SECONDS]] [COMMAND ...]\n\n"
	      "Mirrored writes, see kfi_mirror(7). Commands, which may be abbreviated:\n", to);
	for (i = 0; i < ARRAY_SIZE(verbs); i++)
		fprintf(to, "  %-10s %s\n", verbs[i].name, verbs[i].help);
	fputs("\n'kfi mirror COMMAND --help' explains a command and its options.\n", to);
}

int cmd_mirror(int argc, char **argv)
{
	int ret = parse_show(argc, argv, "+" COMMON_SHORT "dw::", &view, print_usage);

	if (ret >= 0)
		return ret;
	if (optind == argc)
		return mirror_show(&view, 0, NULL);
	return run_verb("mirror", verbs, ARRAY_SIZE(verbs), argc - optind, argv + optind,
			print_usage);
}
