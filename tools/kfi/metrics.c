// SPDX-License-Identifier: GPL-2.0
/*
 * metrics.c - kfi metrics: figures of this machine as OpenMetrics text. The number of samples is
 * bounded: a machine with many endpoints or peers shows the oldest ones, and how many it omits.
 */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <linux/kfi.h>

#include "kfi.h"
#include "metrics.h"

#define LIMIT	256	/* endpoints, and peers; kfi-metrics(8) names it */

/* ---- rows of the kernel ---- */

/* The number of leading fields by which compare() orders rows */
static size_t nkeys;

static int compare_keys(char **a, char **b)
{
	unsigned long long x, y;
	size_t i;
	int ret;

	for (i = 0; i < nkeys; i++) {
		ret = strcmp(a[i] ? a[i] : "", b[i] ? b[i] : "");
		if (!ret)
			continue;
		/* Endpoints have numbers, and the oldest one has the lowest. */
		x = a[i] ? strtoull(a[i], NULL, 10) : 0;
		y = b[i] ? strtoull(b[i], NULL, 10) : 0;
		return !i && x != y ? (x < y ? -1 : 1) : ret;
	}
	return 0;
}

static int compare(const void *a, const void *b)
{
	return compare_keys(*(char ***)a, *(char ***)b);
}

/* Order the rows by their first @keys fields, so that rows which are equal in them are adjacent. */
static void sort_rows(struct list *list, size_t keys)
{
	nkeys = keys;
	if (list->nrows)
		qsort(list->rows, list->nrows, sizeof(*list->rows), compare);
}

/* Return: the index behind the last row that is equal to row @at in the fields of sort_rows() */
static size_t group_end(const struct list *list, size_t at)
{
	size_t end = at + 1;

	while (end < list->nrows && !compare_keys(list->rows[at], list->rows[end]))
		end++;
	return end;
}

static void set_labels(struct om_label labels[OM_LABELS + 1], const struct list *list, size_t row)
{
	size_t i;

	for (i = 0; i < nkeys && i < OM_LABELS; i++)
		labels[i] = (struct om_label){ list->fields[i].key, list->rows[row][i] };
	labels[i] = (struct om_label){};
}

/* A kfi.ko that does not know the request has no rows. Return: an exit code, after a message */
static int fetch(struct nlx *nlx, int cmd, const struct field *fields, size_t n, struct list *list)
{
	list_begin(list, fields, n, LAYOUT_TABLE, true);
	nlx->message = list_add;
	nlx->arg = list;
	nlx->error = nlx_call(nlx, nlx_request(nlx, cmd, NLM_F_DUMP));
	if (!nlx->error || nlx->error == EOPNOTSUPP)
		return EXIT_OK;
	nlx_complain(nlx, "asking the kernel");
	list_free(list);
	return EXIT_FAILED;
}

/* ---- endpoints and peers: a sample for each ---- */

/**
 * struct figure - what a field means that is no label
 * @name: name of the family
 * @type: its type
 * @help: its help
 */
struct figure {
	const char *name;
	enum om_type type;
	const char *help;
};

/**
 * struct source - objects with several figures each
 * @cmd: request for them
 * @fields: OM_LABELS labels, and behind them a field for each figure
 * @figures: the figures
 * @n: number of them
 * @omitted: name of the family that says how many objects have no samples
 * @omitted_help: its help
 */
struct source {
	int cmd;
	const struct field *fields;
	const struct figure *figures;
	size_t n;
	const char *omitted, *omitted_help;
};

static const struct field ep_fields[] = {
	{ "endpoint", FIELD_U32, 0, KFI_A_EP_ID },
	{ "provider", FIELD_STRING, 0, KFI_A_PROV_NAME },
	{ "domain", FIELD_STRING, 0, KFI_A_DOMAIN_NAME },
	{ "type", FIELD_EP_TYPE, 0, KFI_A_EP_TYPE },
	{ "", FIELD_U64, KFI_A_STATS, KFI_STATS_A_TX_OPS },
	{ "", FIELD_U64, KFI_A_STATS, KFI_STATS_A_TX_BYTES },
	{ "", FIELD_U64, KFI_A_STATS, KFI_STATS_A_RX_OPS },
	{ "", FIELD_U64, KFI_A_STATS, KFI_STATS_A_RX_BYTES },
	{ "", FIELD_U64, KFI_A_STATS, KFI_STATS_A_RMA_IN_OPS },
	{ "", FIELD_U64, KFI_A_STATS, KFI_STATS_A_RMA_IN_BYTES },
	{ "", FIELD_U64, KFI_A_STATS, KFI_STATS_A_ERRORS },
	{ "", FIELD_U64, KFI_A_STATS, KFI_STATS_A_AGAIN },
	{ "", FIELD_U64, KFI_A_STATS, KFI_STATS_A_UNEXPECTED },
	{ "", FIELD_U64, KFI_A_STATS, KFI_STATS_A_DROPPED },
	{ "", FIELD_U64, KFI_A_STATS, KFI_STATS_A_COPIED },
};

static const struct figure ep_figures[] = {
	{ "kfi_endpoint_tx_operations", OM_COUNTER, "Operations that this side has started" },
	{ "kfi_endpoint_tx_bytes", OM_COUNTER, "Bytes of these operations" },
	{ "kfi_endpoint_rx_operations", OM_COUNTER, "Messages that were received" },
	{ "kfi_endpoint_rx_bytes", OM_COUNTER, "Bytes of these messages" },
	{ "kfi_endpoint_rma_in_operations", OM_COUNTER,
	  "Remote accesses of peers to memory of this side" },
	{ "kfi_endpoint_rma_in_bytes", OM_COUNTER, "Bytes of these accesses" },
	{ "kfi_endpoint_errors", OM_COUNTER, "Operations that completed with an error" },
	{ "kfi_endpoint_again", OM_COUNTER, "Posts that found no room" },
	{ "kfi_endpoint_unexpected", OM_COUNTER, "Messages that arrived before their receive" },
	{ "kfi_endpoint_dropped", OM_COUNTER,
	  "Unreceived messages of lost peers that were dropped to make room" },
	{ "kfi_endpoint_copied_bytes", OM_COUNTER, "Bytes that a CPU has copied" },
};

static const struct source endpoints = {
	KFI_CMD_GET_STATS, ep_fields, ep_figures, ARRAY_SIZE(ep_figures), "kfi_endpoints_omitted",
	"Endpoints without samples of their own, because there are too many"
};

static const struct field peer_fields[] = {
	{ "endpoint", FIELD_U32, 0, KFI_A_EP_ID },
	{ "provider", FIELD_STRING, 0, KFI_A_PROV_NAME },
	{ "domain", FIELD_STRING, 0, KFI_A_DOMAIN_NAME },
	{ "peer", FIELD_STRING, KFI_A_PEER, KFI_PEER_A_ADDR },
	{ "", FIELD_U64, KFI_A_PEER, KFI_PEER_A_TX_BYTES },
	{ "", FIELD_U64, KFI_A_PEER, KFI_PEER_A_RX_BYTES },
	{ "", FIELD_U64, KFI_A_PEER, KFI_PEER_A_RECONNECTS },
	{ "", FIELD_U64, KFI_A_PEER, KFI_PEER_A_PENDING },
	{ "", FIELD_U64, KFI_A_PEER, KFI_PEER_A_UNEXPECTED_BYTES },
};

static const struct figure peer_figures[] = {
	{ "kfi_peer_tx_bytes", OM_COUNTER, "Bytes that were sent to the peer" },
	{ "kfi_peer_rx_bytes", OM_COUNTER, "Bytes that the peer has sent" },
	{ "kfi_peer_reconnects", OM_COUNTER, "Connections that replaced a lost one" },
	{ "kfi_peer_pending_operations", OM_GAUGE, "Operations to the peer that are in progress" },
	{ "kfi_peer_unexpected_bytes", OM_GAUGE,
	  "Bytes of messages of the peer that wait for a receive" },
};

static const struct source peers = {
	KFI_CMD_GET_PEER, peer_fields, peer_figures, ARRAY_SIZE(peer_figures), "kfi_peers_omitted",
	"Peers without samples of their own, because there are too many"
};

/* Two connections of one name are one peer: no two samples may have the same labels. */
static void add_figure(const struct list *list, const struct figure *figure, size_t column,
		       size_t end)
{
	struct om_label labels[OM_LABELS + 1];
	size_t at, next, i;
	uint64_t sum;
	bool any;

	om_family(figure->name, figure->type, figure->help);
	for (at = 0; at < end; at = next) {
		next = group_end(list, at);
		sum = 0;
		any = false;
		for (i = at; i < next; i++) {
			if (!list->rows[i][column])
				continue;
			sum += strtoull(list->rows[i][column], NULL, 10);
			any = true;
		}
		set_labels(labels, list, at);
		if (any)
			om_sample(labels, sum);
	}
}

static int add_source(struct nlx *nlx, const struct source *source)
{
	size_t i, n = 0, end = 0, omitted = 0;
	struct list list;
	int ret;

	ret = fetch(nlx, source->cmd, source->fields, OM_LABELS + source->n, &list);
	if (ret)
		return ret;
	sort_rows(&list, OM_LABELS);
	while (end < list.nrows && n++ < LIMIT)
		end = group_end(&list, end);
	for (i = end; i < list.nrows; i = group_end(&list, i))
		omitted++;
	for (i = 0; i < source->n; i++)
		add_figure(&list, &source->figures[i], OM_LABELS + i, end);
	om_family(source->omitted, OM_GAUGE, source->omitted_help);
	om_sample(NULL, omitted);
	list_free(&list);
	return EXIT_OK;
}

/* ---- objects that are only counted ---- */

static const struct field domain_fields[] = {
	{ "provider", FIELD_STRING, 0, KFI_A_PROV_NAME },
	{ "domain", FIELD_STRING, 0, KFI_A_DOMAIN_NAME },
};

static const struct field ep_state_fields[] = {
	{ "provider", FIELD_STRING, 0, KFI_A_PROV_NAME },
	{ "domain", FIELD_STRING, 0, KFI_A_DOMAIN_NAME },
	{ "type", FIELD_EP_TYPE, 0, KFI_A_EP_TYPE },
	{ "state", FIELD_EP_STATE, 0, KFI_A_EP_STATE },
};

static const struct field peer_state_fields[] = {
	{ "provider", FIELD_STRING, 0, KFI_A_PROV_NAME },
	{ "domain", FIELD_STRING, 0, KFI_A_DOMAIN_NAME },
	{ "state", FIELD_STRING, KFI_A_PEER, KFI_PEER_A_STATE },
	{ "protection", FIELD_STRING, KFI_A_PEER, KFI_PEER_A_PROTECTION },
};

static const struct {
	int cmd;
	const struct field *fields;
	size_t n;
	const char *name, *help;
} counts[] = {
	{ KFI_CMD_GET_PROVIDER, provider_fields, ARRAY_SIZE(provider_fields), "kfi_provider_info",
	  "1 for each provider that is loaded" },
	{ KFI_CMD_GET_DOMAIN, domain_fields, ARRAY_SIZE(domain_fields), "kfi_domains",
	  "Domains that are open" },
	{ KFI_CMD_GET_EP, ep_state_fields, ARRAY_SIZE(ep_state_fields), "kfi_endpoints",
	  "Endpoints that are open" },
	{ KFI_CMD_GET_PEER, peer_state_fields, ARRAY_SIZE(peer_state_fields), "kfi_peers",
	  "Connections to peers" },
};

static int add_counts(struct nlx *nlx)
{
	struct om_label labels[OM_LABELS + 1];
	struct list list;
	size_t i, at, next;
	int ret;

	for (i = 0; i < ARRAY_SIZE(counts); i++) {
		ret = fetch(nlx, counts[i].cmd, counts[i].fields, counts[i].n, &list);
		if (ret)
			return ret;
		sort_rows(&list, counts[i].n);
		om_family(counts[i].name, OM_GAUGE, counts[i].help);
		for (at = 0; at < list.nrows; at = next) {
			next = group_end(&list, at);
			set_labels(labels, &list, at);
			om_sample(labels, next - at);
		}
		list_free(&list);
	}
	return EXIT_OK;
}

/* ---- versions on the wire ---- */

enum { WIRE, REFUSED, LOWEST, HIGHEST };

static const struct field version_fields[] = {
	[WIRE] = { "wire", FIELD_STRING, KFI_A_VERSIONS, KFI_VERSIONS_A_WIRE },
	[REFUSED] = { "peer", FIELD_STRING, KFI_A_VERSIONS, KFI_VERSIONS_A_PEER },
	[LOWEST] = { "lowest", FIELD_U32, KFI_A_VERSIONS, KFI_VERSIONS_A_LOWEST },
	[HIGHEST] = { "highest", FIELD_U32, KFI_A_VERSIONS, KFI_VERSIONS_A_HIGHEST },
};

static void add_version(const struct list *list, const char *name, const char *help, size_t column)
{
	size_t i;

	om_family(name, OM_GAUGE, help);
	for (i = 0; i < list->nrows; i++)
		if (!list->rows[i][REFUSED] && list->rows[i][WIRE] && list->rows[i][column])
			om_sample((struct om_label[]){ { "wire", list->rows[i][WIRE] }, {} },
				  strtoull(list->rows[i][column], NULL, 10));
}

static int add_versions(struct nlx *nlx)
{
	struct om_label labels[OM_LABELS + 1];
	struct list list;
	size_t at, next, n;
	int ret;

	ret = fetch(nlx, KFI_CMD_GET_VERSIONS, version_fields, ARRAY_SIZE(version_fields), &list);
	if (ret)
		return ret;
	add_version(&list, "kfi_wire_version_lowest",
		    "Lowest version of a format on the wire that this machine speaks", LOWEST);
	add_version(&list, "kfi_wire_version_highest",
		    "Highest version of a format on the wire that this machine speaks", HIGHEST);
	sort_rows(&list, 1);
	om_family("kfi_wire_refused_peers", OM_GAUGE,
		  "Peers that are refused because they speak no version of this machine");
	for (at = 0; at < list.nrows; at = next) {
		next = group_end(&list, at);
		for (n = 0; at < next; at++)
			n += !!list.rows[at][REFUSED];
		set_labels(labels, &list, at - 1);
		om_sample(labels, n);
	}
	sort_rows(&list, ARRAY_SIZE(version_fields));
	om_family("kfi_wire_refused_peer_info", OM_GAUGE,
		  "1 for each peer that is refused, with the versions that it speaks");
	for (at = 0, n = 0; at < list.nrows && n < LIMIT; at = group_end(&list, at)) {
		if (!list.rows[at][REFUSED])
			continue;
		set_labels(labels, &list, at);
		om_sample(labels, 1);
		n++;
	}
	list_free(&list);
	return EXIT_OK;
}

/* ---- cables and bridges ---- */

enum { PROVIDER, WAY, PART, STATE, HELP };

static const struct field part_fields[] = {
	[PROVIDER] = { "provider", FIELD_STRING, 0, KFI_A_PROV_NAME },
	[WAY] = { "way", FIELD_STRING, 0, KFI_A_DOMAIN_NAME },
	[PART] = { "part", FIELD_STRING, KFI_A_PART, KFI_PART_A_NAME },
	[STATE] = { "state", FIELD_STRING, KFI_A_PART, KFI_PART_A_STATE },
	[HELP] = { "help", FIELD_STRING, KFI_A_PART, KFI_PART_A_HELP },
};

static bool is_part(char **row, const char *name)
{
	return row[PART] && row[STATE] && !strcmp(row[PART], name);
}

/* What a way runs on has the part "cable" or "link". */
static bool is_medium(char **row)
{
	return row[STATE] && part_is_link(row[PART]);
}

/* "up, two lanes of 20 Gb/s"; 0 if the state has no speed */
static uint64_t medium_speed(char **row)
{
	const char *of = strstr(row[STATE], " of ");
	uint64_t gbits = of && strstr(of, "Gb/s") ? strtoull(of + 4, NULL, 10) : 0;

	return gbits * 1000000000 * (strstr(row[STATE], "two lanes") ? 2 : 1);
}

static uint64_t way_up(struct list *list, size_t at, size_t end)
{
	for (; at < end; at++)
		if (is_medium(list->rows[at]) && link_is_up(list->rows[at][STATE]))
			return 1;
	return 0;
}

static uint64_t way_speed(struct list *list, size_t at, size_t end)
{
	uint64_t speed = 0;

	for (; at < end; at++)
		if (is_medium(list->rows[at]))
			speed += medium_speed(list->rows[at]);
	return speed;
}

static uint64_t way_remedies(struct list *list, size_t at, size_t end)
{
	uint64_t n = 0;

	for (; at < end; at++)
		n += !!list->rows[at][HELP];
	return n;
}

static const struct {
	const char *name, *help;
	uint64_t (*of)(struct list *list, size_t at, size_t end);
} way_figures[] = {
	{ "kfi_way_up", "1 if the cable or the bridge is up", way_up },
	{ "kfi_way_speed_bits_per_second", "Speed of the cable, 0 if it is not known", way_speed },
	{ "kfi_way_remedies", "Parts for which kfi show devices names a remedy", way_remedies },
};

/* The kinds of frames, of the part "frames": "4 sent, 0 repeated; 3 received, ..." */
static const char *const kinds[] = {
	"sent", "repeated", "received", "gaps", "damaged", "strange", "restarts",
};

/* Return: false if the text has no number of this kind */
static bool frames_of(const char *text, const char *kind, uint64_t *n)
{
	size_t len = strlen(kind);
	char *end;

	for (; *text; text += *text != '\0') {
		*n = strtoull(text, &end, 10);
		if (end != text && *end == ' ' && !strncmp(end + 1, kind, len) &&
		    strchr(",;", end[1 + len]))
			return true;
		text += strcspn(text, ",;");
	}
	return false;
}

static void add_frames(struct list *list)
{
	size_t at, next, i, k;
	uint64_t n, sum;
	bool any;

	om_family("kfi_way_frames", OM_COUNTER, "Frames of the cable that is plugged, by what became of them");
	for (at = 0; at < list->nrows; at = next) {
		next = group_end(list, at);
		for (k = 0; k < ARRAY_SIZE(kinds); k++) {
			for (i = at, sum = 0, any = false; i < next; i++) {
				if (!is_part(list->rows[i], "frames") ||
				    !frames_of(list->rows[i][STATE], kinds[k], &n))
					continue;
				sum += n;
				any = true;
			}
			if (any)
				om_sample((struct om_label[]){ { "provider", list->rows[at][PROVIDER] },
							       { "way", list->rows[at][WAY] },
							       { "kind", kinds[k] }, {} }, sum);
		}
	}
}

static int add_ways(struct nlx *nlx)
{
	struct om_label labels[OM_LABELS + 1];
	struct list list;
	size_t i, at, next;
	int ret;

	ret = fetch(nlx, KFI_CMD_GET_DEVICE, part_fields, ARRAY_SIZE(part_fields), &list);
	if (ret)
		return ret;
	sort_rows(&list, 2);
	for (i = 0; i < ARRAY_SIZE(way_figures); i++) {
		om_family(way_figures[i].name, OM_GAUGE, way_figures[i].help);
		for (at = 0; at < list.nrows; at = next) {
			next = group_end(&list, at);
			set_labels(labels, &list, at);
			om_sample(labels, way_figures[i].of(&list, at, next));
		}
	}
	add_frames(&list);
	list_free(&list);
	return EXIT_OK;
}

/* ---- all of them ---- */

static void add_module(const char *module, const char *version, const char *build, void *arg)
{
	om_sample((struct om_label[]){ { "module", module }, { "version", version },
				       { "build", build }, {} }, 1);
}

static int add_kernel(void)
{
	struct nlx nlx;
	int ret;

	ret = nlx_open(&nlx, KFI_GENL_NAME, "kfi");
	if (ret)
		return ret;
	ret = add_counts(&nlx) ?: add_source(&nlx, &endpoints) ?: add_source(&nlx, &peers) ?:
	      add_versions(&nlx) ?: add_ways(&nlx);
	nlx_close(&nlx);
	return ret;
}

/* A machine without the modules is not an error: its file says so. */
static int add_all(void)
{
	bool up = module_loaded("kfi");
	int ret = EXIT_OK;

	om_family("kfi_build_info", OM_GAUGE, "1, with the version of this command");
	om_sample((struct om_label[]){ { "version", KFABRIC_VERSION }, {} }, 1);
	om_family("kfi_module_info", OM_GAUGE, "1 for each module of kfabric that is loaded");
	if (modules_each(add_module, NULL) < 0)
		return EXIT_FAILED;
	om_family("kfi_up", OM_GAUGE, "1 if the module kfi is loaded");
	om_sample(NULL, up);
	if (up)
		ret = add_kernel();
	if (!ret && module_loaded("kfi_mirror"))
		ret = mirror_metrics();
	om_end();
	return ret;
}

static int file_error(const char *name)
{
	complain("%s: %s", name, strerror(errno));
	return EXIT_FAILED;
}

/* A reader sees the old file or the new one. The name of the new one does not end in .prom. */
static int replace_file(const char *name, const char *text, size_t len)
{
	char fresh[PATH_MAX];
	FILE *file;
	bool ok;
	int fd;

	if ((size_t)snprintf(fresh, sizeof(fresh), "%s.XXXXXX", name) >= sizeof(fresh)) {
		errno = ENAMETOOLONG;
		return file_error(name);
	}
	fd = mkstemp(fresh);
	if (fd < 0)
		return file_error(name);
	file = fdopen(fd, "w");
	ok = file && fwrite(text, 1, len, file) == len && !fflush(file) && !fchmod(fd, 0644);
	if (file ? fclose(file) : close(fd))
		ok = false;
	if (ok && !rename(fresh, name))
		return EXIT_OK;
	file_error(name);
	unlink(fresh);
	return EXIT_FAILED;
}

static const char usage[] =
	"Usage: kfi metrics [--write FILE]\n\n"
	"Print figures of endpoints, peers, cables, bridges, mirrors and versions as OpenMetrics\n"
	"text; see kfi-metrics(8).\n\n"
	"  -w, --write FILE  replace FILE, for the collector of text files of node_exporter;\n"
	"                    if that fails, the old one stays\n";

int cmd_metrics(int argc, char **argv)
{
	static const struct option longs[] = {
		COMMON_LONG,
		{ "write", required_argument, NULL, 'w' },
		{}
	};
	const char *name = NULL;
	size_t len = 0;
	char *text = NULL;
	FILE *file;
	int opt, ret;

	while ((opt = getopt_long(argc, argv, COMMON_SHORT "w:", longs, NULL)) != -1) {
		if (common_option(opt))
			continue;
		if (opt == 'w') {
			name = optarg;
			continue;
		}
		fputs(usage, opt == 'h' ? stdout : stderr);
		return opt == 'h' ? EXIT_OK : EXIT_USAGE;
	}
	if (optind < argc)
		return usage_error("metrics", "too many words: '%s'", argv[optind]);
	if (options.json)
		return usage_error("metrics", "this is no JSON; 'kfi stats -j' and 'kfi mirror -j' are");
	file = open_memstream(&text, &len);
	if (!file)
		return file_error("memory");
	om_begin(file);
	ret = add_all();
	if (fclose(file))
		ret = file_error("memory");
	if (!ret && name)
		ret = replace_file(name, text, len);
	else if (!ret) {
		fwrite(text, 1, len, stdout);
		ret = json_finish();
	}
	free(text);
	return ret;
}
