// SPDX-License-Identifier: GPL-2.0
/*
 * doctor_tree.c - the files that the checks of kfi doctor read, of this machine or of a copy
 *
 * What was read is kept: a second check reads the same, and the report is made of it. Names are
 * resolved inside of the tree, so a copy that somebody else has made leads to none of our files.
 */
#define _GNU_SOURCE	/* asprintf(), memmem(), scandirat() */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "doctor.h"

#define TEXT_MAX	(64u << 10)	/* of a file that is read whole */
#define FILE_MAX	(32u << 20)	/* of one that is searched */

struct tree {
	int fd;
	const char *path;	/* NULL: this machine */
	struct seen *first, **end;
	size_t unseen;
};

struct tree *tree_open(const char *path)
{
	struct tree *tree = must(calloc(1, sizeof(*tree)));

	tree->path = path;
	tree->end = &tree->first;
	tree->fd = open(path ? path : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (tree->fd >= 0)
		return tree;
	complain("%s: %s", path ? path : "/", strerror(errno));
	free(tree);
	return NULL;
}

void tree_close(struct tree *tree)
{
	struct seen *seen;

	while (tree->first) {
		seen = tree->first;
		tree->first = seen->next;
		free(seen->path);
		free(seen->text);
		free(seen);
	}
	close(tree->fd);
	free(tree);
}

bool tree_is_live(const struct tree *tree)
{
	return !tree->path;
}

const char *tree_path(const struct tree *tree)
{
	return tree->path ? tree->path : "";
}

const struct seen *tree_first(const struct tree *tree)
{
	return tree->first;
}

size_t tree_unseen(const struct tree *tree)
{
	return tree->unseen;
}

void tree_add_unseen(struct tree *tree)
{
	tree->unseen++;
}

/* ---- what was read ---- */

static struct seen *recall(struct tree *tree, const char *path)
{
	struct seen *seen;

	for (seen = tree->first; seen; seen = seen->next)
		if (!strcmp(seen->path, path))
			return seen;
	return NULL;
}

/* Keep that this was read. @text is then the tree's, and may be NULL. */
static struct seen *keep_seen(struct tree *tree, const char *path, enum seen_kind kind, mode_t mode,
			      char *text, size_t len)
{
	struct seen *seen = recall(tree, path);

	if (!seen) {
		seen = must(calloc(1, sizeof(*seen)));
		seen->path = must(strdup(path));
		*tree->end = seen;
		tree->end = &seen->next;
	}
	free(seen->text);
	seen->kind = kind;
	seen->mode = mode & 07777;
	seen->text = text;
	seen->len = len;
	return seen;
}

/* Of a name that was only listed, or looked for, the text is not known yet. */
static bool was_read(const struct seen *seen)
{
	return seen && (seen->kind == SEEN_ABSENT || seen->text);
}

static int open_in(struct tree *tree, const char *path, int flags)
{
	struct open_how how = { .flags = flags | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT };
	int fd = syscall(SYS_openat2, tree->fd, path, &how, sizeof(how));

	/* A link to nothing is as good as nothing. */
	if (fd < 0 && (errno == EACCES || errno == EPERM)) {
		complain("/%s: %s", path, strerror(errno));
		tree->unseen++;
	}
	return fd;
}

/* Return: the bytes of a file and a 0, or NULL */
static char *read_file(struct tree *tree, const char *path, size_t max, size_t *len, mode_t *mode)
{
	/* A FIFO of a copy must not block. */
	int fd = open_in(tree, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	char *text = NULL;
	struct stat st;
	ssize_t got = 0;
	size_t room = 0;

	*len = 0;
	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		goto out;
	*mode = st.st_mode;
	do {
		*len += got;
		if (*len + 1 >= room) {
			room = room ? 2 * room : 4096;
			text = must(realloc(text, room));
		}
		got = read(fd, text + *len, room - *len - 1);
	} while (got > 0 && *len + got <= max);
	text[*len] = '\0';
	/* Some files of sysfs exist, and can't be read: as a speed without a carrier. */
	if (got < 0) {
		free(text);
		text = NULL;
	}
out:
	close(fd);
	return text;
}

#define FORMAT_PATH(path, fmt)					\
	do {							\
		va_list args_;					\
								\
		va_start(args_, fmt);				\
		vsnprintf(path, sizeof(path), fmt, args_);	\
		va_end(args_);					\
	} while (0)

const char *tree_text(struct tree *tree, const char *fmt, ...)
{
	char path[PATH_MAX], *text;
	struct seen *seen;
	mode_t mode = 0;
	size_t len;

	FORMAT_PATH(path, fmt);
	seen = recall(tree, path);
	if (was_read(seen))
		return seen->text;
	text = read_file(tree, path, TEXT_MAX, &len, &mode);
	if (!text)
		return seen ? NULL : keep_seen(tree, path, SEEN_ABSENT, 0, NULL, 0)->text;
	if (len && text[len - 1] == '\n')
		text[--len] = '\0';
	return keep_seen(tree, path, SEEN_FILE, mode, text, len)->text;
}

const char *tree_note(struct tree *tree, const char *path, const char *text)
{
	return keep_seen(tree, path, SEEN_FILE, 0644, must(strdup(text)), strlen(text))->text;
}

const char *tree_pick(struct tree *tree, const char *between, bool (*keep)(const char *piece),
		      const char *fmt, ...)
{
	char path[PATH_MAX], *text, *rest, *piece, *picked;
	struct seen *seen;
	mode_t mode = 0;
	size_t len;
	FILE *to;

	FORMAT_PATH(path, fmt);
	seen = recall(tree, path);
	if (was_read(seen))
		return seen->text;
	text = read_file(tree, path, FILE_MAX, &len, &mode);
	if (!text)
		return keep_seen(tree, path, SEEN_ABSENT, 0, NULL, 0)->text;
	to = must(open_memstream(&picked, &len));
	for (rest = text; (piece = strsep(&rest, between));)
		if (*piece && keep(piece))
			fprintf(to, "%s%c", piece, *between);
	if (fclose(to))
		must(NULL);
	explicit_bzero(text, strlen(text));
	free(text);
	return keep_seen(tree, path, SEEN_FILE, mode, picked, len)->text;
}

/* ---- modules ---- */

static void put_word(FILE *to, const char *text, size_t len, const char *word)
{
	const char *at = memmem(text, len, word, strlen(word));

	if (at)
		fprintf(to, "%.*s\n", (int)strnlen(at, text + len - at), at);
}

const char *tree_module(struct tree *tree, const char *path)
{
	static const char magic[] = "~Module signature appended~";
	struct seen *seen = recall(tree, path);
	char *text, *said;
	mode_t mode = 0;
	size_t len;
	FILE *to;

	if (was_read(seen))
		return seen->text;
	text = read_file(tree, path, FILE_MAX, &len, &mode);
	if (!text || !memmem(text, len, "vermagic=", strlen("vermagic="))) {
		free(text);
		return keep_seen(tree, path, SEEN_ABSENT, 0, NULL, 0)->text;
	}
	to = must(open_memstream(&said, &(size_t){ 0 }));
	put_word(to, text, len, "srcversion=");
	put_word(to, text, len, "vermagic=");
	/* A file of a report has nothing behind the magic; a real one has a line break. */
	if (memmem(text + (len < 64 ? 0 : len - 64), len < 64 ? len : 64, magic, strlen(magic)))
		fprintf(to, "%s\n", magic);
	if (fclose(to))
		must(NULL);
	free(text);
	return keep_seen(tree, path, SEEN_FILE, mode, said, strlen(said))->text;
}

/* ---- names ---- */

bool tree_has(struct tree *tree, mode_t *mode, const char *fmt, ...)
{
	char path[PATH_MAX];
	struct seen *seen;
	struct stat st;
	int fd;

	FORMAT_PATH(path, fmt);
	seen = recall(tree, path);
	/* What was listed counts as a folder, and its mode is not known. */
	if (!seen || (mode && seen->kind == SEEN_FOLDER)) {
		fd = open_in(tree, path, O_PATH);
		if (fd >= 0 && !fstat(fd, &st))
			seen = keep_seen(tree, path, S_ISDIR(st.st_mode) ? SEEN_FOLDER : SEEN_FILE,
					 st.st_mode, NULL, 0);
		else
			seen = keep_seen(tree, path, SEEN_ABSENT, 0, NULL, 0);
		if (fd >= 0)
			close(fd);
	}
	if (mode)
		*mode = seen->mode;
	return seen->kind != SEEN_ABSENT;
}

const char *tree_link(struct tree *tree, const char *fmt, ...)
{
	char path[PATH_MAX], target[PATH_MAX], *last;
	struct seen *seen;
	ssize_t len = -1;
	int fd;

	FORMAT_PATH(path, fmt);
	seen = recall(tree, path);
	if (!seen) {
		fd = open_in(tree, path, O_PATH | O_NOFOLLOW);
		if (fd >= 0) {
			len = readlinkat(fd, "", target, sizeof(target) - 1);
			close(fd);
		}
		target[len < 0 ? 0 : len] = '\0';
		seen = keep_seen(tree, path, len < 0 ? SEEN_ABSENT : SEEN_LINK, 0777,
				 len < 0 ? NULL : must(strdup(target)), len < 0 ? 0 : len);
	}
	last = seen->text ? strrchr(seen->text, '/') : NULL;
	return last ? last + 1 : seen->text;
}

static int not_hidden(const struct dirent *entry)
{
	return *entry->d_name != '.';
}

size_t tree_each(struct tree *tree, void (*each)(void *arg, const char *name), void *arg,
		 const char *path)
{
	int fd = open_in(tree, path, O_RDONLY | O_DIRECTORY), n, i;
	char child[PATH_MAX];
	struct dirent **entries;

	if (fd < 0)
		return 0;
	n = scandirat(fd, ".", &entries, not_hidden, alphasort);
	close(fd);
	for (i = 0; i < n; i++) {
		snprintf(child, sizeof(child), "%s/%s", path, entries[i]->d_name);
		if (!recall(tree, child))
			keep_seen(tree, child, SEEN_FOLDER, 0755, NULL, 0);
		if (each)
			each(arg, entries[i]->d_name);
		free(entries[i]);
	}
	if (n >= 0)
		free(entries);
	return n < 0 ? 0 : n;
}

/* ---- rows ---- */

bool tree_rows(struct tree *tree, const char *name, size_t n, struct list *list)
{
	const char *text;
	char path[64];
	char *copy, *lines, *line, *column, **row;
	size_t i;

	*list = (struct list){ .n = n };
	snprintf(path, sizeof(path), "kfi/%s", name);
	/* A folder /kfi of this machine is something else. */
	text = tree_is_live(tree) && !recall(tree, path) ? NULL : tree_text(tree, "%s", path);
	if (!text)
		return false;
	copy = lines = must(strdup(text));
	while ((line = strsep(&lines, "\n"))) {
		if (!*line)
			continue;
		row = must(calloc(n, sizeof(*row)));
		for (i = 0; i < n && (column = strsep(&line, "\t")); i++)
			if (strcmp(column, "-"))
				row[i] = must(strdup(column));
		list->rows = must(reallocarray(list->rows, list->nrows + 1, sizeof(*list->rows)));
		list->rows[list->nrows++] = row;
	}
	free(copy);
	return true;
}

/* A peer chooses its name. */
static void put_column(FILE *to, const char *text)
{
	for (; *text; text++)
		fputc(*text == '\t' || *text == '\n' ? ' ' : *text, to);
}

void tree_note_rows(struct tree *tree, const char *name, const struct list *list)
{
	char path[64], *text;
	size_t len, r, i;
	FILE *to = must(open_memstream(&text, &len));

	for (r = 0; r < list->nrows; r++)
		for (i = 0; i < list->n; i++) {
			put_column(to, list->rows[r][i] ? list->rows[r][i] : "-");
			fputc(i + 1 < list->n ? '\t' : '\n', to);
		}
	if (fclose(to))
		must(NULL);
	snprintf(path, sizeof(path), "kfi/%s", name);
	tree_note(tree, path, text);
	free(text);
}
