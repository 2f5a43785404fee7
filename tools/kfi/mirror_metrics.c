// SPDX-License-Identifier: GPL-2.0
/*
 * mirror_metrics.c - kfi mirror metrics: figures in the text format of Prometheus, for the
 * collector of text files of its node_exporter
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "mirror.h"

/* ---- values ---- */

static uint64_t get_bytes(const struct mirror *m)
{
	return m->sectors * 512;
}

static uint64_t get_primary(const struct mirror *m)
{
	return !strcmp(m->role, "primary");
}

static uint64_t get_uptodate(const struct mirror *m)
{
	return !strcmp(m->copy, "uptodate") || !strcmp(m->copy, "witness");
}

static uint64_t get_writes(const struct mirror *m)
{
	return m->writes;
}

static uint64_t get_equal(const struct mirror *m)
{
	return m->equal_kib << 10;
}

static uint64_t get_suspended(const struct mirror *m)
{
	return m->suspended;
}

static uint64_t get_failed(const struct mirror *m)
{
	return mirror_remark(m->state, "failed");
}

static uint64_t get_noquorum(const struct mirror *m)
{
	return mirror_remark(m->state, "noquorum");
}

static uint64_t get_detached(const struct mirror *m)
{
	return mirror_remark(m->state, "detached");
}

static uint64_t get_differ(const struct mirror *m)
{
	return strtoull(mirror_remark_value(m->state, "differ"), NULL, 10);
}

static uint64_t get_unverified(const struct mirror *m)
{
	return strtoull(mirror_remark_value(m->state, "unverified"), NULL, 10);
}

static uint64_t get_outvoted(const struct mirror *m)
{
	return strtoull(mirror_remark_value(m->state, "outvoted"), NULL, 10);
}

static uint64_t get_connected(const struct mirror_peer *p)
{
	return !strcmp(p->session, "connected");
}

static uint64_t get_insync(const struct mirror_peer *p)
{
	return mirror_remark(p->state, "insync");
}

static uint64_t get_frozen(const struct mirror_peer *p)
{
	return p->frozen || mirror_remark(p->state, "stopped");
}

static uint64_t get_refused(const struct mirror_peer *p)
{
	return mirror_remark(p->state, "refused");
}

static uint64_t get_regions(const struct mirror_peer *p)
{
	return p->out_of_sync;
}

/* The remark is USED/ALL. */
static uint64_t get_rails_down(const struct mirror_peer *p)
{
	char *end;
	uint64_t used = strtoull(mirror_remark_value(p->state, "rails"), &end, 10);

	return *end == '/' ? strtoull(end + 1, NULL, 10) - used : 0;
}

static uint64_t get_lag(const struct mirror_peer *p)
{
	return p->lag;
}

/**
 * struct metric - a figure of a mirror, or of each of its peers
 * @name: its name behind kfi_mirror_
 * @help: what it is
 * @of_mirror: value of a mirror, or NULL
 * @of_peer: value of a peer, or NULL
 */
struct metric {
	const char *name;
	const char *help;
	uint64_t (*of_mirror)(const struct mirror *m);
	uint64_t (*of_peer)(const struct mirror_peer *p);
};

static const struct metric metrics[] = {
	{ "size_bytes", "Size of the mirror", get_bytes },
	{ "primary", "1 if this node is primary", get_primary },
	{ "uptodate", "1 if the copy of this node is whole and not outdated, or it is a witness",
	  get_uptodate },
	{ "failed", "1 if a device of this node has failed", get_failed },
	{ "noquorum", "1 if writes are held because no more than half of the nodes are there",
	  get_noquorum },
	{ "detached", "1 if this primary goes on without its leg", get_detached },
	{ "suspended", "1 if device-mapper has suspended the mirror", get_suspended },
	{ "writes_in_flight", "Writes in flight", get_writes },
	{ "out_of_sync_bytes", "Bytes that may differ, with the worst peer", mirror_bytes_left },
	{ "resync_equal_bytes", "Bytes that were not sent, as peers had the same", get_equal },
	{ "verify_differ_parts", "Parts of 64 KiB that differed in the last verify", get_differ },
	{ "verify_unverified_parts", "Parts that the last verify did not compare", get_unverified },
	{ "verify_outvoted_parts", "Parts that differed, and of which two peers had the same",
	  get_outvoted },
	{ "peer_connected", "1 if there is a session with the peer", NULL, get_connected },
	{ "peer_insync", "1 if the copy of the peer is the same", NULL, get_insync },
	{ "peer_frozen", "1 if writes are held because the peer is lost", NULL, get_frozen },
	{ "peer_refused", "1 if a session with the peer was refused", NULL, get_refused },
	{ "peer_out_of_sync_regions", "Regions that may differ from the peer's", NULL, get_regions },
	{ "peer_lag_records", "Records that the peer has not applied to its leg", NULL, get_lag },
	{ "peer_rails_down", "Rails to the peer that its session does not use", NULL,
	  get_rails_down },
};

/* ---- text ---- */

/* In a label, backslash, quote and end of line are escaped. */
static void print_label(const char *key, const char *node, const char *service)
{
	const char *at;

	printf("%s=\"", key);
	for (at = node; *at; at++) {
		if (strchr("\\\"", *at))
			putchar('\\');
		putchar(*at);
	}
	printf("%s%s\"", service ? ":" : "", service ? service : "");
}

/* Of a single peer the status has no line of its own. */
static struct mirror_peer only_peer(const struct mirror *m)
{
	struct mirror_peer p = {
		.node = "?", .service = "?", .session = m->session, .out_of_sync = m->out_of_sync,
		.percent = m->percent, .lag = m->lag, .outage = m->outage, .frozen = m->frozen,
	};

	if (m->table.n > TABLE_PEER_SERVICE) {
		p.node = m->table.at[TABLE_PEER_NODE];
		p.service = m->table.at[TABLE_PEER_SERVICE];
	}
	snprintf(p.state, sizeof(p.state), "%s", m->state);
	return p;
}

static void print_value(const struct metric *metric, const struct mirror *m,
			const struct mirror_peer *p)
{
	printf("kfi_mirror_%s{", metric->name);
	print_label("mirror", m->name, NULL);
	if (p) {
		putchar(',');
		print_label("peer", p->node, p->service);
	}
	printf("} %" PRIu64 "\n", p ? metric->of_peer(p) : metric->of_mirror(m));
}

static void print_metric(const struct metric *metric, const struct mirror *list)
{
	const struct mirror *m;
	struct mirror_peer p;
	size_t i;

	printf("# HELP kfi_mirror_%s %s.\n# TYPE kfi_mirror_%s gauge\n", metric->name, metric->help,
	       metric->name);
	for (m = list; m; m = m->next) {
		if (!metric->of_peer) {
			print_value(metric, m, NULL);
			continue;
		}
		for (i = 0; i < m->npeers; i++)
			print_value(metric, m, &m->peers[i]);
		if (m->npeers)
			continue;
		p = only_peer(m);
		print_value(metric, m, &p);
	}
}

int cmd_mirror_metrics(int argc, char **argv)
{
	static const char usage[] =
		"Usage: kfi mirror metrics [NAME...]\n\n"
		"Print figures of all mirrors, or of these, as text for Prometheus:\n\n"
		"  kfi mirror metrics | sponge /var/lib/prometheus/node-exporter/kfi_mirror.prom\n";
	static const struct option longs[] = { COMMON_LONG, {} };
	struct mirror *list = NULL;
	int opt, ret, out;
	size_t i;

	while ((opt = getopt_long(argc, argv, COMMON_SHORT, longs, NULL)) != -1) {
		if (common_option(opt))
			continue;
		fputs(usage, opt == 'h' ? stdout : stderr);
		return opt == 'h' ? EXIT_OK : EXIT_USAGE;
	}
	if (options.json)
		return usage_error("mirror metrics", "this is no JSON; 'kfi mirror -j' is");
	ret = mirror_find_names(argc - optind, argv + optind, &list);
	for (i = 0; list && i < ARRAY_SIZE(metrics); i++)
		print_metric(&metrics[i], list);
	mirror_free(list);
	out = json_finish();
	return out ? out : ret;
}
