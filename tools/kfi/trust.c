// SPDX-License-Identifier: GPL-2.0
/*
 * trust.c - files that this command obeys: of mirrors, of the map, of secrets
 *
 * The file of a mirror names the disks that are written to, and the command that reads it is
 * root's. So such a file has to be one that only root or the caller can change. That is a matter of
 * the file, and of each folder and symbolic link on the way to it: a user that can write to a
 * folder can put another file in the place of one in it.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kfi.h"

#define LINKS_MAX	40	/* on the way to a file; the kernel has the same limit */

/**
 * struct walk - the way to a file, step by step
 * @at: where it has come to, from the root and without links: "" is the root
 * @rest: what is still to go
 * @links: number of links that were followed
 * @st: what is at @at
 *
 * Each step is checked before the next one. What is at @at can then be replaced by root and the
 * caller alone, and names go on meaning what they meant when they were checked.
 */
struct walk {
	char at[PATH_MAX];
	char rest[PATH_MAX];
	unsigned int links;
	struct stat st;
};

/* Put @path in front of what is to go. Return: false with errno */
static bool walk_insert(struct walk *walk, const char *path)
{
	char joined[PATH_MAX];

	if ((size_t)snprintf(joined, sizeof(joined), "%s/%s", path, walk->rest) >= sizeof(joined)) {
		errno = ENAMETOOLONG;
		return false;
	}
	strcpy(walk->rest, joined);
	if (*path == '/')
		walk->at[0] = '\0';
	return true;
}

static bool walk_begin(struct walk *walk, const char *path)
{
	char here[PATH_MAX];

	*walk = (struct walk){};
	if (!walk_insert(walk, path))
		return false;
	return *path == '/' || (getcwd(here, sizeof(here)) && walk_insert(walk, here));
}

static void walk_up(struct walk *walk)
{
	char *last = strrchr(walk->at, '/');

	if (last)
		*last = '\0';
}

static bool walk_follow(struct walk *walk)
{
	char target[PATH_MAX];
	ssize_t len = readlink(walk->at, target, sizeof(target) - 1);

	if (len < 0)
		return false;
	if (++walk->links > LINKS_MAX) {
		errno = ELOOP;
		return false;
	}
	target[len] = '\0';
	walk_up(walk);
	return walk_insert(walk, target);
}

/* Return: 1 after a step, 0 at the end, -1 with errno */
static int walk_step(struct walk *walk)
{
	char *name = walk->rest + strspn(walk->rest, "/");
	size_t len = strcspn(name, "/"), at = strlen(walk->at), room = sizeof(walk->at) - at;

	if (!len)
		return 0;
	if (len == 2 && !memcmp(name, "..", 2)) {
		walk_up(walk);
	} else if ((len != 1 || *name != '.') &&
		   (size_t)snprintf(walk->at + at, room, "/%.*s", (int)len, name) >= room) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memmove(walk->rest, name + len, strlen(name + len) + 1);
	return 1;
}

/*
 * Why others could change what is here, or NULL. The bits of the group stand for an access control
 * list as well. Of a sticky folder only the owner of an entry can replace it, and that owner is
 * checked with the next step. The mode of a link means nothing.
 */
static const char *distrust(const struct stat *st)
{
	if (st->st_uid && st->st_uid != geteuid())
		return "belongs to another user, who may change it";
	if (S_ISLNK(st->st_mode) || (S_ISDIR(st->st_mode) && st->st_mode & S_ISVTX))
		return NULL;
	return st->st_mode & 022 ? "may be changed by others" : NULL;
}

/* Return: false after a message about @path */
static bool walk_check(struct walk *walk, const char *path)
{
	const char *at = *walk->at ? walk->at : "/", *why;

	if (lstat(at, &walk->st)) {
		complain("%s: %s", path, strerror(errno));
		return false;
	}
	why = distrust(&walk->st);
	if (!why)
		return true;
	if (strcmp(at, path))
		complain("%s: not used, as %s %s", path, at, why);
	else
		complain("%s: not used, as it %s", path, why);
	return false;
}

static bool walk_to(struct walk *walk, const char *path)
{
	int ret = walk_begin(walk, path) ? 1 : -1;

	while (ret > 0) {
		if (!walk_check(walk, path))
			return false;
		ret = S_ISLNK(walk->st.st_mode) ? (walk_follow(walk) ? 1 : -1) : walk_step(walk);
	}
	if (ret < 0)
		complain("%s: %s", path, strerror(errno));
	return !ret;
}

int open_trusted(const char *path, enum trusted kind)
{
	struct walk walk;
	int fd;

	if (!walk_to(&walk, path))
		return -1;
	if ((walk.st.st_mode & S_IFMT) != (kind == TRUSTED_FOLDER ? S_IFDIR : S_IFREG)) {
		complain("%s: this has to be a %s", path,
			 kind == TRUSTED_FOLDER ? "folder" : "file");
		return -1;
	}
	if (kind == TRUSTED_SECRET && walk.st.st_mode & 077) {
		complain("%s: this has to be a file that only its owner may read", path);
		return -1;
	}
	fd = open(*walk.at ? walk.at : "/", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		complain("%s: %s", path, strerror(errno));
	return fd;
}
