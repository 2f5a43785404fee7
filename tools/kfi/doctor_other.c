// SPDX-License-Identifier: GPL-2.0
/* doctor_other.c - kfi doctor NODE: is the other machine there, does it answer, and how fast? */
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

/* ---- is there such a machine? ---- */

/*
 * Does a cable lead to the node? It may be given as host name, as UUID, or as name of the domain.
 * @there: the cables that there are
 */
static bool has_cable(const struct doctor *d, char *there, size_t size)
{
	const char *node = d->other.node;
	bool leads = false;
	size_t i, len = 0;

	*there = '\0';
	for (i = 0; i < d->devices.nrows; i++) {
		char **row = d->devices.rows[i];

		if (!row[DEVICE_NAME] || !row[DEVICE_PART] || !row[DEVICE_STATE] ||
		    !row[DEVICE_PROVIDER] || strcmp(row[DEVICE_PROVIDER], "usb4"))
			continue;
		leads |= device_is_meant(node, row[DEVICE_NAME]);
		if (!strcmp(row[DEVICE_PART], "host") || !strcmp(row[DEVICE_PART], "names"))
			leads |= has_word(row[DEVICE_STATE], node);
		if (part_is_link(row[DEVICE_PART]) && len < size)
			len += snprintf(there + len, size - len, "%s%s", len ? ", " : "",
					row[DEVICE_NAME]);
	}
	return leads;
}

static void unknown_node(struct doctor *d)
{
	char there[256];

	if (ask_port(d) && d->unknown)
		found(d, "a line for it in /etc/hosts, or its address instead of its name",
		      "%s has no address", d->other.node);
	if (d->other.node && !strcmp(d->other.provider, "usb4") && loaded(d, "kfi_usb4") &&
	    d->devices_known && !has_cable(d, there, sizeof(there)))
		found(d, "kfi show devices   (there: modprobe kfi-provider-usb4)",
		      "no cable leads to %s%s%s%s", d->other.node, *there ? " (there are " : "",
		      there, *there ? ")" : "");
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
	  "nothing can be sent to a name without an address, or to a machine without a cable",
	  "%s" },
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
