// SPDX-License-Identifier: GPL-2.0
/*
 * doctor_report.c - kfi doctor --report: a tar file of all that the checks have read, and nothing
 * else. `kfi doctor --root` examines what was unpacked of it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "doctor.h"

enum { BLOCK = 512 };

/* The header of POSIX.1-1988 (ustar) */
struct header {
	char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type, link[100];
	char magic[6], version[2], user[32], group[32], major[8], minor[8], prefix[155], pad[12];
};

_Static_assert(sizeof(struct header) == BLOCK, "a header is a block");

static bool put_name(struct header *h, const char *path)
{
	size_t len = strlen(path);
	const char *cut;

	if (len <= sizeof(h->name)) {
		memcpy(h->name, path, len);
		return true;
	}
	cut = strchr(path + len - sizeof(h->name) - 1, '/');
	if (!cut || cut == path || (size_t)(cut - path) > sizeof(h->prefix))
		return false;
	memcpy(h->prefix, path, cut - path);
	memcpy(h->name, cut + 1, strlen(cut + 1));
	return true;
}

static void put_seen(FILE *to, const struct seen *seen)
{
	static const char types[] = { [SEEN_FOLDER] = '5', [SEEN_FILE] = '0', [SEEN_LINK] = '2' };
	size_t len = seen->kind == SEEN_FILE ? seen->len : 0, i;
	static const char zeros[BLOCK];
	struct header h = { .magic = "ustar", .version = "00", .type = types[seen->kind] };
	unsigned int sum = 0;

	/* What has too long a name is a link in sysfs that no check needs. */
	if (!put_name(&h, seen->path) || (seen->kind == SEEN_LINK && seen->len > sizeof(h.link)))
		return;
	if (seen->kind == SEEN_LINK)
		memcpy(h.link, seen->text, seen->len);
	/* Whoever unpacks it has to be able to remove it again. */
	snprintf(h.mode, sizeof(h.mode), "%07o",
		 (seen->mode | (seen->kind == SEEN_FOLDER ? 0700u : 0400u)) & 07777u);
	snprintf(h.uid, sizeof(h.uid), "%07o", 0);
	snprintf(h.gid, sizeof(h.gid), "%07o", 0);
	snprintf(h.size, sizeof(h.size), "%011zo", len);
	snprintf(h.mtime, sizeof(h.mtime), "%011o", 0);
	memset(h.checksum, ' ', sizeof(h.checksum));
	for (i = 0; i < sizeof(h); i++)
		sum += ((unsigned char *)&h)[i];
	snprintf(h.checksum, sizeof(h.checksum), "%06o", sum);
	fwrite(&h, sizeof(h), 1, to);
	if (!len)
		return;
	fwrite(seen->text, len, 1, to);
	fwrite(zeros, (BLOCK - len % BLOCK) % BLOCK, 1, to);
}

int report_write(const struct tree *tree, const char *file)
{
	static const char end[2 * BLOCK];
	int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	/* A file that was there may have another mode. */
	FILE *to = fd < 0 || fchmod(fd, 0600) ? NULL : fdopen(fd, "w");
	const struct seen *seen;

	if (!to) {
		complain("%s: %s", file, strerror(errno));
		return EXIT_FAILED;
	}
	for (seen = tree_first(tree); seen; seen = seen->next)
		if (seen->kind != SEEN_ABSENT)
			put_seen(to, seen);
	fwrite(end, sizeof(end), 1, to);
	if (ferror(to) | fclose(to)) {
		complain("%s: cannot be written", file);
		return EXIT_FAILED;
	}
	return EXIT_OK;
}
