// SPDX-License-Identifier: GPL-2.0
/* mirror_metrics.c - kfi metrics: figures of mirrors and of their peers */
#include <stdlib.h>
#include <string.h>

#include "metrics.h"
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

static uint64_t get_resync(const struct mirror *m)
{
	return m->resync;
}

static uint64_t get_progress(const struct mirror *m)
{
	return m->percent;
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
 * @name: its name
 * @help: what it is
 * @of_mirror: value of a mirror, or NULL
 * @of_peer: value of a peer, or NULL
 * @percent: the value is in percent, and is shown as a ratio
 */
struct metric {
	const char *name;
	const char *help;
	uint64_t (*of_mirror)(const struct mirror *m);
	uint64_t (*of_peer)(const struct mirror_peer *p);
	bool percent;
};

static const struct metric metrics[] = {
	{ "kfi_mirror_size_bytes", "Size of the mirror", get_bytes },
	{ "kfi_mirror_primary", "1 if this node is primary", get_primary },
	{ "kfi_mirror_uptodate",
	  "1 if the copy of this node is whole and not outdated, or it is a witness",
	  get_uptodate },
	{ "kfi_mirror_failed", "1 if a device of this node has failed", get_failed },
	{ "kfi_mirror_noquorum",
	  "1 if writes are held because no more than half of the nodes are there", get_noquorum },
	{ "kfi_mirror_detached", "1 if this primary goes on without its leg", get_detached },
	{ "kfi_mirror_suspended", "1 if device-mapper has suspended the mirror", get_suspended },
	{ "kfi_mirror_writes_in_flight", "Writes in flight", get_writes },
	{ "kfi_mirror_out_of_sync_bytes",
	  "Bytes that may differ, with the worst peer", mirror_bytes_left },
	{ "kfi_mirror_resync", "1 while a resynchronisation runs", get_resync },
	{ "kfi_mirror_resync_progress_ratio",
	  "Part of the mirror that is the same as the worst peer's", get_progress, NULL, true },
	{ "kfi_mirror_resync_equal_bytes",
	  "Bytes that were not sent, as peers had the same", get_equal },
	{ "kfi_mirror_verify_differ_parts",
	  "Parts of 64 KiB that differed in the last verify", get_differ },
	{ "kfi_mirror_verify_unverified_parts",
	  "Parts that the last verify did not compare", get_unverified },
	{ "kfi_mirror_verify_outvoted_parts",
	  "Parts that differed, and of which two peers had the same", get_outvoted },
	{ "kfi_mirror_peer_connected",
	  "1 if there is a session with the peer", NULL, get_connected },
	{ "kfi_mirror_peer_insync", "1 if the copy of the peer is the same", NULL, get_insync },
	{ "kfi_mirror_peer_frozen",
	  "1 if writes are held because the peer is lost", NULL, get_frozen },
	{ "kfi_mirror_peer_refused",
	  "1 if a session with the peer was refused", NULL, get_refused },
	{ "kfi_mirror_peer_out_of_sync_regions",
	  "Regions that may differ from the peer's", NULL, get_regions },
	{ "kfi_mirror_peer_lag_records",
	  "Records that the peer has not applied to its leg", NULL, get_lag },
	{ "kfi_mirror_peer_rails_down",
	  "Rails to the peer that its session does not use", NULL, get_rails_down },
};

/* ---- samples ---- */

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

static void add_sample(const struct metric *metric, const struct mirror *m,
		       const struct mirror_peer *p)
{
	struct om_label labels[] = { { "mirror", m->name }, {}, {} };
	uint64_t value = p ? metric->of_peer(p) : metric->of_mirror(m);
	char peer[256];

	if (p) {
		snprintf(peer, sizeof(peer), "%s:%s", p->node, p->service);
		labels[1] = (struct om_label){ "peer", peer };
	}
	if (metric->percent)
		om_sample_double(labels, value / 100.0);
	else
		om_sample(labels, value);
}

static void add_family(const struct metric *metric, const struct mirror *list)
{
	const struct mirror *m;
	struct mirror_peer p;
	size_t i;

	om_family(metric->name, OM_GAUGE, metric->help);
	for (m = list; m; m = m->next) {
		if (!metric->of_peer) {
			add_sample(metric, m, NULL);
			continue;
		}
		for (i = 0; i < m->npeers; i++)
			add_sample(metric, m, &m->peers[i]);
		if (m->npeers)
			continue;
		p = only_peer(m);
		add_sample(metric, m, &p);
	}
}

int mirror_metrics(void)
{
	struct mirror *list = NULL;
	int ret = mirror_find(NULL, &list);
	size_t i;

	for (i = 0; list && i < ARRAY_SIZE(metrics); i++)
		add_family(&metrics[i], list);
	mirror_free(list);
	return ret;
}
