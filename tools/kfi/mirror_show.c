// SPDX-License-Identifier: GPL-2.0
/* mirror_show.c - print mirrors as a table, as blocks or as JSON, once or repeatedly */
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "mirror.h"

#define BAR_WIDTH	30

enum kind {
	KIND_STRING,	/* a member of struct mirror */
	KIND_STATE,	/* remarks of the mirror */
	KIND_TABLE,	/* a word of the table */
	KIND_U64,	/* a member of struct mirror */
	KIND_OUTAGE,
	KIND_BYTES,	/* out of sync */
	KIND_SIZE,
};

/**
 * struct column - a property of a mirror
 * @key: its name, in JSON and as a column
 * @kind: source of its value
 * @at: offset of the member, or index of the word
 * @detail: not a column of the table
 */
struct column {
	const char *key;
	enum kind kind;
	size_t at;
	bool detail;
};

#define MEMBER(m) offsetof(struct mirror, m)

static const struct column columns[] = {
	{ "name", KIND_STRING, MEMBER(name) },
	{ "role", KIND_STRING, MEMBER(role) },
	{ "session", KIND_STRING, MEMBER(session) },
	{ "copy", KIND_STRING, MEMBER(copy) },
	{ "policy", KIND_STRING, MEMBER(policy) },
	{ "lag", KIND_U64, MEMBER(lag) },
	{ "writes", KIND_U64, MEMBER(writes) },
	{ "outage", KIND_OUTAGE, 0 },
	{ "state", KIND_STATE, 0 },
	{ "provider", KIND_TABLE, TABLE_PROVIDER, true },
	{ "node", KIND_TABLE, TABLE_NODE, true },
	{ "service", KIND_TABLE, TABLE_SERVICE, true },
	{ "peer_node", KIND_TABLE, TABLE_PEER_NODE, true },
	{ "peer_service", KIND_TABLE, TABLE_PEER_SERVICE, true },
	{ "leg", KIND_TABLE, TABLE_LEG, true },
	{ "meta", KIND_TABLE, TABLE_META, true },
	{ "log", KIND_TABLE, TABLE_LOG, true },
	{ "timeout_ms", KIND_U64, MEMBER(timeout_ms), true },
	{ "rate_kib", KIND_U64, MEMBER(rate_kib), true },
	{ "rate_min_kib", KIND_U64, MEMBER(rate_min_kib), true },
	{ "bytes", KIND_SIZE, 0, true },
	{ "regions", KIND_U64, MEMBER(regions), true },
	{ "region_bytes", KIND_U64, MEMBER(region_bytes), true },
	{ "out_of_sync", KIND_U64, MEMBER(out_of_sync), true },
	{ "out_of_sync_bytes", KIND_BYTES, 0, true },
	{ "percent", KIND_U64, MEMBER(percent), true },
};

/* Remarks about each peer that JSON always has */
static const char *const peer_remarks[] = {
	"insync", "alone", "frozen", "stopped", "refused", "witness",
};

/* Remarks that JSON always has, as true or false */
static const char *const remarks[] = {
	"insync", "alone", "frozen", "stopped", "noquorum", "refused", "failed", "detached",
	"doubtful", "resync", "suspended",
};

/* ---- values ---- */

static const char *text_of(const struct mirror *m, const struct column *c)
{
	const char *text;

	switch (c->kind) {
	case KIND_STRING:
		memcpy(&text, (const char *)m + c->at, sizeof(text));
		return text;
	case KIND_STATE:
		return *m->state ? m->state : NULL;
	case KIND_TABLE:
		return c->at < m->table.n ? m->table.at[c->at] : NULL;
	default:
		return NULL;
	}
}

uint64_t mirror_bytes_left(const struct mirror *m)
{
	uint64_t left = m->out_of_sync * m->region_bytes, size = m->sectors * 512;

	return left < size ? left : size;
}

static bool is_text(const struct column *c)
{
	return c->kind <= KIND_TABLE;
}

/* Return: false if the mirror has no such value at present */
static bool number_of(const struct mirror *m, const struct column *c, uint64_t *value)
{
	switch (c->kind) {
	case KIND_OUTAGE:
		*value = m->outage;
		return m->frozen;
	case KIND_BYTES:
		*value = mirror_bytes_left(m);
		return true;
	case KIND_SIZE:
		*value = m->sectors * 512;
		return true;
	default:
		memcpy(value, (const char *)m + c->at, sizeof(*value));
		return true;
	}
}

static void cell(const struct mirror *m, const struct column *c, char *buf, size_t size)
{
	const char *text = text_of(m, c);
	uint64_t value;

	if (is_text(c))
		snprintf(buf, size, "%s", text ? text : "-");
	else if (number_of(m, c, &value))
		snprintf(buf, size, "%" PRIu64, value);
	else
		snprintf(buf, size, "-");
}

/* ---- progress of a resynchronisation ---- */

/**
 * struct sample - amount of a mirror that was out of sync when it was shown last
 * @next: sample of the next mirror
 * @name: name of the mirror
 * @bytes: bytes out of sync
 * @when: time, seconds
 * @rate: bytes a second since the previous sample, 0 if unknown
 */
struct sample {
	struct sample *next;
	char *name;
	uint64_t bytes;
	double when;
	double rate;
};

static struct sample *samples;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* Return: bytes a second since the mirror was shown last, or 0 */
static double rate_of(const struct mirror *m)
{
	uint64_t bytes = m->resync ? mirror_bytes_left(m) : 0;
	double when = now();
	struct sample *s = samples;

	while (s && strcmp(s->name, m->name))
		s = s->next;
	if (!s) {
		s = calloc(1, sizeof(*s));
		if (!s)
			return 0;
		s->name = strdup(m->name);
		if (!s->name) {
			free(s);
			return 0;
		}
		s->next = samples;
		samples = s;
	} else if (s->bytes > bytes && when > s->when) {
		s->rate = (s->bytes - bytes) / (when - s->when);
	} else if (s->bytes < bytes || !bytes) {
		s->rate = 0;
	}
	s->bytes = bytes;
	s->when = when;
	return s->rate;
}

static void free_samples(void)
{
	struct sample *s;

	while ((s = samples)) {
		samples = s->next;
		free(s->name);
		free(s);
	}
}

static void bytes_text(double bytes, char *buf, size_t size)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB" };
	size_t unit = 0;

	while (bytes >= 1024 && unit + 1 < ARRAY_SIZE(units)) {
		bytes /= 1024;
		unit++;
	}
	snprintf(buf, size, unit ? "%.1f %s" : "%.0f %s", bytes, units[unit]);
}

static void time_text(double seconds, char *buf, size_t size)
{
	uint64_t s = seconds < 1e9 ? seconds + 0.5 : 1000000000;

	if (s < 60)
		snprintf(buf, size, "%" PRIu64 " s", s);
	else
		snprintf(buf, size, "%" PRIu64 ":%02" PRIu64 ":%02" PRIu64, s / 3600, s / 60 % 60,
			 s % 60);
}

/* "61%, 1.2 GiB of 8.0 GiB left, 45.0 MiB/s, 0:01:12" */
static void progress_text(const struct mirror *m, char *buf, size_t size)
{
	char left[32], all[32], speed[32], eta[32];
	double rate = rate_of(m);
	int at;

	bytes_text(mirror_bytes_left(m), left, sizeof(left));
	bytes_text(m->sectors * 512.0, all, sizeof(all));
	at = snprintf(buf, size, "%" PRIu64 "%%, %s of %s left", m->percent, left, all);
	if (rate <= 0 || at < 0 || (size_t)at >= size)
		return;
	bytes_text(rate, speed, sizeof(speed));
	time_text(mirror_bytes_left(m) / rate, eta, sizeof(eta));
	snprintf(buf + at, size - at, ", %s/s, %s", speed, eta);
}

static void print_bar(const struct mirror *m)
{
	uint64_t done = m->percent < 100 ? m->percent * BAR_WIDTH / 100 : BAR_WIDTH, i;
	char text[160];

	progress_text(m, text, sizeof(text));
	fputs("    [", stdout);
	for (i = 0; i < BAR_WIDTH; i++)
		putchar(i < done ? '#' : '.');
	printf("] %s\n", text);
}

/* ---- text ---- */

static int width(const struct mirror *list, const struct column *c)
{
	size_t w = strlen(c->key), len;
	char text[512];

	for (; list; list = list->next) {
		cell(list, c, text, sizeof(text));
		len = strlen(text);
		if (len > w)
			w = len;
	}
	return w;
}

static void print_cell(const struct mirror *list, const struct column *c, const char *text)
{
	if (c->kind == KIND_STATE)	/* the last column */
		printf("%s\n", text);
	else if (is_text(c))
		printf("%-*s  ", width(list, c), text);
	else
		printf("%*s  ", width(list, c), text);
}

/* A line for each of several peers. Return: lines */
static size_t print_peers(const struct mirror *m)
{
	char text[128];
	size_t i;

	for (i = 0; i < m->npeers; i++) {
		const struct mirror_peer *peer = &m->peers[i];

		snprintf(text, sizeof(text), "%s:%s", peer->node, peer->service);
		printf("    %-24s %-9s  ", text, peer->session);
		if (peer->frozen)
			printf("outage %" PRIu64 "  ", peer->outage);
		if (peer->out_of_sync)
			printf("%" PRIu64 " regions out of sync  ", peer->out_of_sync);
		printf("%s\n", *peer->state ? peer->state : "-");
	}
	return m->npeers;
}

/* Return: lines */
static size_t print_table(const struct mirror *list)
{
	const struct mirror *m;
	size_t i, lines = 1;
	char text[512];

	if (!list)
		return 0;
	for (i = 0; i < ARRAY_SIZE(columns) && !columns[i].detail; i++)
		print_cell(list, &columns[i], columns[i].key);
	for (m = list; m; m = m->next, lines++) {
		for (i = 0; i < ARRAY_SIZE(columns) && !columns[i].detail; i++) {
			cell(m, &columns[i], text, sizeof(text));
			print_cell(list, &columns[i], text);
		}
		lines += print_peers(m);
		if (!m->resync)
			continue;
		print_bar(m);
		lines++;
	}
	return lines;
}

/* Return: lines */
static size_t print_blocks(const struct mirror *list)
{
	size_t i, lines = 0;
	char text[512];

	for (; list; list = list->next) {
		for (i = 0; i < ARRAY_SIZE(columns); i++, lines++) {
			cell(list, &columns[i], text, sizeof(text));
			printf("%s%s: %s\n", i ? "    " : "", columns[i].key, text);
		}
		lines += print_peers(list);
		if (!list->resync)
			continue;
		print_bar(list);
		lines++;
	}
	return lines;
}

/* A line for each mirror, for logs */
static void print_lines(const struct mirror *list)
{
	char stamp[32], text[160];
	time_t t = time(NULL);
	struct tm tm;

	strftime(stamp, sizeof(stamp), "%H:%M:%S", localtime_r(&t, &tm));
	for (; list; list = list->next) {
		printf("%s %s: %s %s %s %s, lag %" PRIu64 ", writes %" PRIu64, stamp, list->name,
		       list->role, list->session, list->copy, list->policy, list->lag,
		       list->writes);
		if (list->frozen)
			printf(", outage %" PRIu64, list->outage);
		if (*list->state)
			printf(", %s", list->state);
		if (list->resync) {
			progress_text(list, text, sizeof(text));
			printf(" %s", text);
		}
		putchar('\n');
	}
}

/* ---- JSON ---- */

static void json_peer(const struct mirror_peer *peer)
{
	size_t i;

	json_begin(NULL, '{');
	json_string("node", peer->node);
	json_string("service", peer->service);
	json_string("session", peer->session);
	json_u64("out_of_sync", peer->out_of_sync);
	json_u64("percent", peer->percent);
	json_u64("lag", peer->lag);
	if (peer->frozen)
		json_u64("outage", peer->outage);
	else
		json_null("outage");
	for (i = 0; i < ARRAY_SIZE(peer_remarks); i++)
		json_bool(peer_remarks[i], mirror_remark(peer->state, peer_remarks[i]));
	json_end('}');
}

static void json_mirror(const struct mirror *m)
{
	const char *text;
	uint64_t value;
	size_t i;

	json_begin(NULL, '{');
	for (i = 0; i < ARRAY_SIZE(columns); i++) {
		text = text_of(m, &columns[i]);
		if (text)
			json_string(columns[i].key, text);
		else if (!is_text(&columns[i]) && number_of(m, &columns[i], &value))
			json_u64(columns[i].key, value);
		else
			json_null(columns[i].key);
	}
	for (i = 0; i < ARRAY_SIZE(remarks); i++)
		json_bool(remarks[i], mirror_remark(m->state, remarks[i]));
	json_begin("peers", '[');
	for (i = 0; i < m->npeers; i++)
		json_peer(&m->peers[i]);
	json_end(']');
	json_end('}');
}

static void print_json(const struct mirror *list)
{
	json_begin(NULL, '[');
	for (; list; list = list->next)
		json_mirror(list);
	json_end(']');
}

/* ---- once, or repeatedly ---- */

int mirror_find_names(size_t n, char **names, struct mirror **list)
{
	int ret = EXIT_OK, one;
	size_t i;

	*list = NULL;
	if (!n)
		return mirror_find(NULL, list);
	for (i = 0; i < n; i++) {
		one = mirror_find(names[i], list);
		if (one)
			ret = one;
	}
	return ret;
}

static size_t print_text(const struct mirror_view *view, const struct mirror *list)
{
	if (view->details)
		return print_blocks(list);
	return print_table(list);
}

/*
 * Overwrite the previous output. Line wrap is off meanwhile, so that each line takes one row of the
 * terminal.
 */
static void redraw(const struct mirror_view *view, const struct mirror *list)
{
	static size_t lines;

	fputs("\033[?7l", stdout);
	if (lines)
		printf("\r\033[%zuA\033[J", lines);
	lines = print_text(view, list);
	if (!list) {
		puts("no mirrors");
		lines = 1;
	}
	fputs("\033[?7h", stdout);
}

static void sleep_for(double seconds)
{
	struct timespec t = { .tv_sec = seconds };

	t.tv_nsec = (seconds - t.tv_sec) * 1e9;
	nanosleep(&t, NULL);
}

static void print(const struct mirror_view *view, const struct mirror *list)
{
	if (options.json)
		print_json(list);
	else if (!view->interval)
		print_text(view, list);
	else if (isatty(STDOUT_FILENO))
		redraw(view, list);
	else
		print_lines(list);
}

int mirror_show(const struct mirror_view *view, size_t n, char **names)
{
	struct mirror *list;
	int ret, out;

	for (;;) {
		ret = mirror_find_names(n, names, &list);
		print(view, list);
		mirror_free(list);
		out = json_finish();
		if (out || ret || !view->interval)
			break;
		sleep_for(view->interval);
	}
	free_samples();
	return out ? out : ret;
}
