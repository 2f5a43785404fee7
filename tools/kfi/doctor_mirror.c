// SPDX-License-Identifier: GPL-2.0
/* doctor_mirror.c - kfi doctor: mirrors that run, and their configuration */
#define _GNU_SOURCE	/* asprintf() */
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "doctor.h"
#include "mirror.h"

#define CONF_DIR	(&MIRROR_CONF_DIR[1])	/* within the tree */

static void add_row(struct list *list, size_t n, const char *const *columns)
{
	char **row = must(calloc(n, sizeof(*row)));
	size_t i;

	for (i = 0; i < n; i++)
		row[i] = must(strdup(columns[i]));
	list->n = n;
	list->rows = must(reallocarray(list->rows, list->nrows + 1, sizeof(*list->rows)));
	list->rows[list->nrows++] = row;
}

static bool is(const char *text, const char *word)
{
	return text && !strcmp(text, word);
}

/* ---- mirrors that run ---- */

enum { M_NAME, M_ROLE, M_SESSION, M_COPY, M_BYTES, M_STATE, M_LOST, M_FIELDS };

static void keep_mirror(struct list *list, const struct mirror *m)
{
	char bytes[32], state[300], lost[300] = "";
	size_t i, len = 0;

	/* Of several peers: those that have no session */
	for (i = 0; i < m->npeers && len < sizeof(lost); i++)
		if (!is(m->peers[i].session, "connected"))
			len += snprintf(lost + len, sizeof(lost) - len, "%s%s", len ? " and " : "",
					m->peers[i].node);
	snprintf(bytes, sizeof(bytes), "%" PRIu64, mirror_bytes_left(m));
	snprintf(state, sizeof(state), "%s%s", m->state,
		 m->frozen && !mirror_remark(m->state, "frozen") ? ",frozen" : "");
	add_row(list, M_FIELDS, (const char *const []) {
		m->name, m->role, m->session, m->copy, bytes, *state ? state : "-",
		*lost ? lost : "-" });
}

static void find_mirrors(struct doctor *d, struct list *list)
{
	struct mirror *found = NULL, *m;

	if (tree_rows(d->tree, "mirrors", M_FIELDS, list) || !tree_is_live(d->tree) ||
	    !loaded(d, "kfi_mirror"))
		return;
	if (mirror_find(NULL, &found))
		tree_add_unseen(d->tree);
	for (m = found; m; m = m->next)
		keep_mirror(list, m);
	mirror_free(found);
	tree_note_rows(d->tree, "mirrors", list);
}

/* Call @judge for each mirror. */
static void each_mirror(struct doctor *d, void (*judge)(struct doctor *d, char **row))
{
	struct list list;
	size_t i;

	find_mirrors(d, &list);
	for (i = 0; i < list.nrows; i++) {
		char **row = list.rows[i];

		if (row[M_NAME] && row[M_ROLE] && row[M_SESSION] && row[M_COPY])
			judge(d, row);
	}
	list_free(&list);
}

static bool has(char **row, const char *word)
{
	return row[M_STATE] && mirror_remark(row[M_STATE], word);
}

static void one_failed(struct doctor *d, char **row)
{
	if (has(row, "failed") || has(row, "detached"))
		found(d, row[M_NAME], "the mirror %s does without its disk here: %s", row[M_NAME],
		      row[M_STATE]);
}

static void mirror_failed(struct doctor *d)
{
	each_mirror(d, one_failed);
}

static void one_held(struct doctor *d, char **row)
{
	if (has(row, "frozen") || has(row, "stopped") || has(row, "noquorum"))
		found(d, row[M_NAME], "the mirror %s holds all writes: %s", row[M_NAME],
		      row[M_STATE]);
}

static void mirror_held(struct doctor *d)
{
	each_mirror(d, one_held);
}

static void one_refused(struct doctor *d, char **row)
{
	if (has(row, "refused") || has(row, "split"))
		found(d, row[M_NAME], "the peer of the mirror %s is refused: %s", row[M_NAME],
		      row[M_STATE]);
}

static void mirror_refused(struct doctor *d)
{
	each_mirror(d, one_refused);
}

static void one_disconnected(struct doctor *d, char **row)
{
	bool named = row[M_LOST] && !is(row[M_LOST], "-");

	if (!is(row[M_SESSION], "connected") && !has(row, "refused"))
		found(d, row[M_NAME], "the mirror %s, %s here, has no session with %s (%s)",
		      row[M_NAME], row[M_ROLE], named ? row[M_LOST] : "its peer",
		      row[M_SESSION]);
}

static void mirror_disconnected(struct doctor *d)
{
	each_mirror(d, one_disconnected);
}

static void one_stale(struct doctor *d, char **row)
{
	if (!is(row[M_COPY], "uptodate") && !is(row[M_COPY], "witness"))
		found(d, row[M_NAME], "the copy of the mirror %s here is %s", row[M_NAME],
		      row[M_COPY]);
	else if (row[M_BYTES] && strcmp(row[M_BYTES], "0"))
		found(d, row[M_NAME], "%s bytes of the mirror %s differ", row[M_BYTES],
		      row[M_NAME]);
}

static void mirror_stale(struct doctor *d)
{
	each_mirror(d, one_stale);
}

/* ---- configuration ---- */

enum { C_NAME, C_SECRET, C_MODE, C_FIELDS };

/* "wrong" is a row without a name: the parser has named the file in its message. */
static void find_configured(struct doctor *d, struct list *list)
{
	const char *host = tree_text(d->tree, "proc/sys/kernel/hostname");
	struct mirror_conf *confs = NULL, *conf;
	char dir[PATH_MAX], mode_text[16];
	mode_t mode;

	snprintf(dir, sizeof(dir), "%s" MIRROR_CONF_DIR, tree_path(d->tree));
	if (tree_rows(d->tree, "configured", C_FIELDS, list) ||
	    !tree_has(d->tree, NULL, "%s", CONF_DIR))
		return;
	if (mirror_conf_all(&(struct mirror_where){ dir, host ? host : "" }, &confs))
		add_row(list, C_FIELDS, (const char *const []) { "*", "-", "-" });
	for (conf = confs; conf; conf = conf->next) {
		bool secret = conf->secret && *conf->secret == '/' &&
			      tree_has(d->tree, &mode, "%s", conf->secret + 1);

		snprintf(mode_text, sizeof(mode_text), secret ? "%03o" : "-",
			 secret ? (unsigned int)mode & 0777 : 0);
		add_row(list, C_FIELDS, (const char *const []) {
			conf->name, conf->secret ? conf->secret : "-", mode_text });
	}
	mirror_conf_free(confs);
	list->n = C_FIELDS;
	tree_note_rows(d->tree, "configured", list);
}

static void each_configured(struct doctor *d, void (*judge)(struct doctor *d, char **row))
{
	struct list list;
	size_t i;

	find_configured(d, &list);
	for (i = 0; i < list.nrows; i++)
		if (list.rows[i][C_NAME])
			judge(d, list.rows[i]);
	list_free(&list);
}

static void one_wrong(struct doctor *d, char **row)
{
	if (is(row[C_NAME], "*"))
		found(d, NULL, "a file of " MIRROR_CONF_DIR " is not used");
}

static void mirror_conf_wrong(struct doctor *d)
{
	each_configured(d, one_wrong);
}

static void one_not_up(struct doctor *d, char **row)
{
	bool up = false;
	struct list list;
	size_t i;

	if (is(row[C_NAME], "*"))
		return;
	find_mirrors(d, &list);
	for (i = 0; i < list.nrows; i++)
		up |= is(list.rows[i][M_NAME], row[C_NAME]);
	list_free(&list);
	if (!up)
		found(d, row[C_NAME], "the mirror %s is configured, and not set up", row[C_NAME]);
}

static void mirror_not_up(struct doctor *d)
{
	each_configured(d, one_not_up);
}

static void one_secret(struct doctor *d, char **row)
{
	if (!row[C_SECRET] || is(row[C_SECRET], "-"))
		return;
	if (!row[C_MODE] || is(row[C_MODE], "-"))
		found(d, row[C_SECRET], "the mirror %s has no secret: there is no %s", row[C_NAME],
		      row[C_SECRET]);
	else if (strtoul(row[C_MODE], NULL, 8) & 077)
		found(d, row[C_SECRET], "others may read the secret of the mirror %s", row[C_NAME]);
}

static void mirror_secret(struct doctor *d)
{
	each_configured(d, one_secret);
}

const struct check checks_of_mirrors[] = {
	{ "mirror-conf-wrong", mirror_conf_wrong,
	  "a mirror whose file is wrong, or could be changed by others, is not set up",
	  "kfi mirror dump -a   names the file and the line" },
	{ "mirror-not-up", mirror_not_up,
	  "nothing is mirrored before it is",
	  "systemctl enable --now kfi-mirror@%s   (or: kfi mirror up %s)" },
	{ "mirror-secret", mirror_secret,
	  "whoever has the secret can pose as the peer, and gets all data; without one there is no session",
	  "chmod 600 %s, as root's, the same on all nodes; if others have read it, a new one" },
	{ "mirror-failed", mirror_failed,
	  "the data is on the other machine alone",
	  "replace the disk; kfi_mirror(7), ERRORS; kfi mirror show -d %s" },
	{ "mirror-held", mirror_held,
	  "programs wait until the peer is back, or an administrator decides",
	  "bring the peer back; if it is certainly off, with policy fence: kfi mirror fenced %s OUTAGE" },
	{ "mirror-refused", mirror_refused,
	  "both nodes have written without the other one, or are configured differently",
	  "kfi mirror show -d %s   on both; if copies are split, on the node whose data is given up: kfi mirror invalidate %s" },
	{ "mirror-disconnected", mirror_disconnected,
	  "writes are on one machine alone until the peer is back",
	  "on the peer: kfi doctor, and kfi mirror show %s" },
	{ "mirror-stale", mirror_stale,
	  "the copy that is behind can't take over before it has been resynchronised",
	  "kfi mirror wait %s insync   (it goes by itself while both are connected)" },
	{}
};
