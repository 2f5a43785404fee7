// SPDX-License-Identifier: GPL-2.0
/* doctor_other.c - kfi doctor NODE: is the other machine reached, and how fast? */
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include <linux/kfi_perf.h>

#include "doctor.h"

#define ANSWER_MS	3000
#define CABLE_MB_PER_S	1000	/* people measure 9 to 20 Gb/s with one pair of rings */

/* ---- does the port answer? ---- */

/* Return: 0, or a positive error number */
static int dial(const struct addrinfo *to)
{
	int fd = socket(to->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	struct pollfd poll_for = { .fd = fd, .events = POLLOUT };
	int err = ETIMEDOUT, got;
	socklen_t len = sizeof(err);

	if (fd < 0)
		return errno;
	if (connect(fd, to->ai_addr, to->ai_addrlen) && errno != EINPROGRESS) {
		err = errno;
	} else {
		got = poll(&poll_for, 1, ANSWER_MS);
		if (got < 0 || (got && getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len)))
			err = errno;
	}
	close(fd);
	return err;
}

static bool is_asked(const struct doctor *d)
{
	return d->other.node && tree_is_live(d->tree) && !strcmp(d->other.provider, "sockets");
}

/* Return: 0, or a positive error number; also if the name has no address */
static int ask_port(struct doctor *d)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *list, *at;

	if (d->asked || !is_asked(d))
		return d->port_error;
	d->asked = true;
	d->port_error = EHOSTUNREACH;
	d->unknown = getaddrinfo(d->other.node, d->other.service, &hints, &list);
	if (d->unknown)
		return d->port_error;
	for (at = list; at && d->port_error; at = at->ai_next)
		d->port_error = dial(at);
	freeaddrinfo(list);
	return d->port_error;
}

static void unknown_node(struct doctor *d)
{
	if (ask_port(d) && d->unknown)
		found(d, d->other.node, "%s has no address", d->other.node);
}

static void port_refused(struct doctor *d)
{
	if (ask_port(d) == ECONNREFUSED)
		found(d, d->other.service, "%s answers, and nothing listens at its port %s",
		      d->other.node, d->other.service);
}

static void port_silent(struct doctor *d)
{
	if (ask_port(d) && !d->unknown && d->port_error != ECONNREFUSED)
		found(d, d->other.service, "the port %s of %s does not answer: %s",
		      d->other.service, d->other.node, strerror(d->port_error));
}

/* ---- how fast is it? ---- */

/* MB/s that the worst network of this kind reaches; 0 if that is not known */
static double least(const struct doctor *d)
{
	return !strcmp(d->other.provider, "usb4") ? CABLE_MB_PER_S : 0;
}

static void slow_transfer(struct doctor *d)
{
	static const struct { uint32_t op; const char *name; } ways[] = {
		{ KFI_PERF_WRITE, "there" }, { KFI_PERF_READ, "back" },
	};
	size_t i, len = 0;
	double got;

	if (!d->other.measure || !d->other.node || !tree_is_live(d->tree))
		return;
	for (i = 0; i < ARRAY_SIZE(ways); i++) {
		if (perf_bandwidth(d->other.provider, d->other.node, d->other.service, ways[i].op,
				   &got)) {
			found(d, d->other.provider, "nothing could be measured to %s",
			      d->other.node);
			return;
		}
		len += snprintf(d->figures + len, sizeof(d->figures) - len, "%s%.0f MB/s %s",
				len ? ", " : "", got, ways[i].name);
		if (got < least(d))
			found(d, d->other.provider,
			      "%.0f MB/s go over the cable %s, and it should be %d or more", got,
			      ways[i].name, CABLE_MB_PER_S);
	}
}

const struct check checks_of_other[] = {
	{ "unknown-node", unknown_node,
	  "nothing can be sent to a name without an address",
	  "a line for %s in /etc/hosts, or its address instead of its name" },
	{ "port-refused", port_refused,
	  "the network works; what should serve there does not run, or has another port",
	  "there: kfi perf server -s %s   (or start the target, the mirror, the service that you want)" },
	{ "port-silent", port_silent,
	  "a firewall that drops packets looks like that, and a machine that is off, too",
	  "there: nft list ruleset, and a rule that accepts tcp dport %s" },
	{ "slow-transfer", slow_transfer,
	  "what was measured should come near to what this kind of network reaches",
	  "there: kfi perf server -p %s   (if none runs); then kfi perf run -p %s shows which sizes are slow" },
	{}
};
