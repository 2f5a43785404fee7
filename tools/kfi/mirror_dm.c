// SPDX-License-Identifier: GPL-2.0
/*
 * mirror_dm.c - device-mapper, through libdevmapper: find mirrors, read their status and table,
 * send them messages, and make, change and remove them. Unknown words of a newer kfi_mirror are
 * shown unchanged.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <linux/dm-ioctl.h>

#include <libdevmapper.h>

#include "mirror.h"

#define TARGET		"kfi_mirror"
#define SECTOR		512
#define REGION_MIN	32	/* sectors */

/* ---- the library ---- */

/* Message of the library about the last failure; without keep_log() the library would print it. */
static char first_error[256];

__attribute__((format(printf, 5, 6)))
static void keep_log(int level, const char *file, int line, int err, const char *fmt, ...)
{
	va_list args;

	if ((level & 7) > 3 || *first_error)	/* not an error, or not the first one */
		return;
	va_start(args, fmt);
	vsnprintf(first_error, sizeof(first_error), fmt, args);
	va_end(args);
}

static void complain_dm(int err)
{
	if (strstr(first_error, "/control") && strstr(first_error, "No such"))
		complain("the kernel has no device-mapper; try: modprobe " TARGET);
	else
		complain("device-mapper: %s", *first_error ? first_error : strerror(err));
}

/* Return: a task, or NULL after a message. Its name is @name unless that is NULL. */
static struct dm_task *task_for(int type, const char *name)
{
	struct dm_task *task;

	dm_log_with_errno_init(keep_log);
	*first_error = '\0';
	task = dm_task_create(type);
	if (task && name && !dm_task_set_name(task, name)) {
		dm_task_destroy(task);
		task = NULL;
	}
	if (!task)
		complain_dm(ENOMEM);
	return task;
}

/* Return: 0, or -1 after a message */
static int run(struct dm_task *task)
{
	int err;

	if (dm_task_run(task))
		return 0;
	err = dm_task_get_errno(task);
	complain_dm(err ? err : EIO);
	return -1;
}

/* ---- words ---- */

static void split(struct words *words, const char *line)
{
	char *save, *word;

	words->line = must(strdup(line));
	words->n = 0;
	for (word = strtok_r(words->line, " \t\n", &save); word && words->n < MIRROR_WORDS;
	     word = strtok_r(NULL, " \t\n", &save))
		words->at[words->n++] = word;
}

/* Parse the number at the beginning of @word; @end is behind it. Return: false if there is none. */
static bool number(const char *word, uint64_t *value, const char **end)
{
	char *behind;

	if (*word < '0' || *word > '9')
		return false;
	errno = 0;
	*value = strtoull(word, &behind, 10);
	*end = behind;
	return !errno;
}

static bool whole_number(const char *word, uint64_t *value)
{
	const char *end;

	return number(word, value, &end) && !*end;
}

/* ---- status ---- */

static void remark(char *state, size_t size, const char *word)
{
	size_t at = strlen(state);
	const char *between = "";

	if (at)		/* a number is the value of the word before it */
		between = *word >= '0' && *word <= '9' ? "=" : ",";
	snprintf(state + at, size - at, "%s%s", between, word);
}

/* Return: what is behind the word; NULL if the remarks do not contain it */
static const char *find_remark(const char *state, const char *word)
{
	size_t len = strlen(word);

	while (*state) {
		if (!strncmp(state, word, len) &&
		    (!state[len] || state[len] == ',' || state[len] == '='))
			return state + len;
		state += strcspn(state, ",");
		state += *state == ',';
	}
	return NULL;
}

bool mirror_remark(const char *state, const char *word)
{
	return find_remark(state, word);
}

const char *mirror_remark_value(const char *state, const char *word)
{
	const char *behind = find_remark(state, word);

	return behind && *behind == '=' ? behind + 1 : "0";
}

/* The number of an outage follows the word. Return: words of it */
static size_t parse_frozen(const struct words *words, size_t i, bool *frozen, uint64_t *outage)
{
	if (strcmp(words->at[i], "frozen") || i + 1 >= words->n)
		return 0;
	*frozen = true;
	return whole_number(words->at[i + 1], outage);
}

/*
 * peer NODE SERVICE SESSION OUT-OF-SYNC PERCENT LAG, and remarks up to the next peer. Return: index
 * behind them, or 0 if they are something else
 */
static size_t parse_peer(struct mirror *m, size_t i)
{
	struct mirror_peer *peer = &m->peers[m->npeers];
	const char *const *at = &m->status.at[i];

	if (strcmp(at[0], "peer") || m->status.n - i < 7 || m->npeers == MIRROR_PEERS ||
	    !whole_number(at[4], &peer->out_of_sync) || !whole_number(at[5], &peer->percent) ||
	    !whole_number(at[6], &peer->lag))
		return 0;
	m->npeers++;
	peer->node = at[1];
	peer->service = at[2];
	peer->session = at[3];
	for (i += 7; i < m->status.n && strcmp(m->status.at[i], "peer"); i++) {
		remark(peer->state, sizeof(peer->state), m->status.at[i]);
		i += parse_frozen(&m->status, i, &peer->frozen, &peer->outage);
	}
	return i;
}

static bool is_resyncing(const struct mirror *m)
{
	size_t i;

	for (i = 0; i < m->npeers; i++) {
		if (m->peers[i].out_of_sync && !strcmp(m->peers[i].session, "connected"))
			return true;
	}
	return !m->npeers && m->out_of_sync && !strcmp(m->session, "connected");
}

/* ROLE SESSION COPY OUT-OF-SYNC/REGIONS PERCENT LAG WRITES, remarks, and several peers */
static bool parse_status(struct mirror *m)
{
	const char *const *at = m->status.at;
	const char *end;
	size_t i, next;

	if (m->status.n < 7 || !number(at[3], &m->out_of_sync, &end) || *end != '/' ||
	    !whole_number(end + 1, &m->regions) || !whole_number(at[4], &m->percent) ||
	    !whole_number(at[5], &m->lag) || !whole_number(at[6], &m->writes))
		return false;
	m->role = at[0];
	m->session = at[1];
	m->copy = at[2];
	for (i = 7; i < m->status.n; i = next) {
		next = parse_peer(m, i);
		if (next)
			continue;
		remark(m->state, sizeof(m->state), at[i]);
		if (!strcmp(at[i], "peer-sectors") && i + 1 < m->status.n)
			whole_number(at[i + 1], &m->peer_sectors);
		if (!strcmp(at[i], "equal") && i + 1 < m->status.n)
			whole_number(at[i + 1], &m->equal_kib);
		next = i + 1 + parse_frozen(&m->status, i, &m->frozen, &m->outage);
	}
	m->resync = !strcmp(m->role, "primary") && is_resyncing(m);
	if (m->resync)
		remark(m->state, sizeof(m->state), "resync");
	if (m->suspended)
		remark(m->state, sizeof(m->state), "suspended");
	return true;
}

/* The size of a region is the smallest power of two from 16 KiB that gives so many regions. */
static uint64_t region_bytes(uint64_t sectors, uint64_t regions)
{
	uint64_t size = REGION_MIN;

	while (size < sectors && (sectors - 1) / size + 1 > regions)
		size *= 2;
	return size * SECTOR;
}

/* The options of a table are a count, then pairs of words. */
static void parse_table(struct mirror *m)
{
	const char *const *at = m->table.at;
	size_t i;

	m->policy = m->table.n > TABLE_POLICY ? at[TABLE_POLICY] : "?";
	for (i = TABLE_FIXED + 1; i + 1 < m->table.n; i++) {
		if (!strcmp(at[i], "timeout"))
			whole_number(at[i + 1], &m->timeout_ms);
		else if (!strcmp(at[i], "rate"))
			whole_number(at[i + 1], &m->rate_kib);
		else if (!strcmp(at[i], "rate-min"))
			whole_number(at[i + 1], &m->rate_min_kib);
	}
}

/* ---- devices ---- */

/**
 * struct device - a device and its only target
 * @info: the device
 * @sectors: size of the target
 * @type: type of the target, NULL if there is no table
 * @words: status or table of the target
 */
struct device {
	struct dm_info info;
	uint64_t sectors;
	const char *type;
	const char *words;
};

/* Read the status or table. @dev points into @task. Return: 0, or -1 after a message */
static int read_device(struct dm_task *task, struct device *dev)
{
	char *type = NULL, *words = NULL;
	uint64_t start;

	dm_task_no_flush(task);
	if (run(task))
		return -1;
	*dev = (struct device){};
	if (!dm_task_get_info(task, &dev->info)) {
		complain("device-mapper says nothing about the device");
		return -1;
	}
	if (!dev->info.exists)
		return 0;
	dm_get_next_target(task, NULL, &start, &dev->sectors, &type, &words);
	dev->type = type;
	dev->words = words ? words : "";
	return 0;
}

static bool is_mirror(const struct device *dev)
{
	return dev->info.exists && dev->type && !strcmp(dev->type, TARGET);
}

/* Return: 0, with the mirror in @out, or NULL if the device is not a mirror; -1 after a message */
static int read_mirror(const char *name, struct mirror **out)
{
	struct dm_task *status = task_for(DM_DEVICE_STATUS, name);
	struct dm_task *table = status ? task_for(DM_DEVICE_TABLE, name) : NULL;
	struct mirror *m = NULL;
	struct device dev;
	int ret = -1;

	*out = NULL;
	if (!status || !table || read_device(status, &dev))
		goto out;
	ret = 0;
	if (!is_mirror(&dev))
		goto out;
	m = must(calloc(1, sizeof(*m)));
	m->name = must(strdup(dm_task_get_name(status)));
	m->sectors = dev.sectors;
	m->peer_sectors = dev.sectors;
	m->suspended = dev.info.suspended;
	split(&m->status, dev.words);
	ret = read_device(table, &dev);
	split(&m->table, is_mirror(&dev) ? dev.words : "");
	parse_table(m);
	if (!ret && !parse_status(m)) {
		complain("%s: this is not a status that is understood", name);
		ret = -1;
	}
	if (ret) {
		mirror_free(m);
		goto out;
	}
	m->region_bytes = region_bytes(m->sectors, m->regions);
	*out = m;
out:
	if (status)
		dm_task_destroy(status);
	if (table)
		dm_task_destroy(table);
	return ret;
}

void mirror_free(struct mirror *list)
{
	struct mirror *next;

	for (; list; list = next) {
		next = list->next;
		free(list->name);
		free(list->status.line);
		free(list->table.line);
		free(list);
	}
}

static void insert(struct mirror **list, struct mirror *m)
{
	while (*list && strcmp((*list)->name, m->name) < 0)
		list = &(*list)->next;
	m->next = *list;
	*list = m;
}

static int find_all(struct mirror **list)
{
	struct dm_task *task = task_for(DM_DEVICE_LIST, NULL);
	struct dm_names *names;
	struct mirror *m;
	int ret = EXIT_FAILED;

	if (!task)
		return EXIT_FAILED;
	if (run(task))
		goto out;
	names = dm_task_get_names(task);
	ret = EXIT_OK;
	if (!names || !names->dev)
		goto out;
	for (;;) {
		if (read_mirror(names->name, &m))
			ret = EXIT_FAILED;
		else if (m)
			insert(list, m);
		if (!names->next)
			break;
		names = (void *)names + names->next;
	}
out:
	dm_task_destroy(task);
	return ret;
}

int mirror_find(const char *name, struct mirror **list)
{
	struct mirror *m;

	if (!name)
		return find_all(list);
	if (read_mirror(name, &m))
		return EXIT_FAILED;
	if (!m) {
		complain("%s: there is no such mirror", name);
		return EXIT_FAILED;
	}
	insert(list, m);
	return EXIT_OK;
}

int mirror_exists(const char *name, bool *exists)
{
	struct dm_task *task = task_for(DM_DEVICE_INFO, name);
	struct dm_info info = {};
	int ret = EXIT_FAILED;

	if (!task)
		return ret;
	if (!run(task) && dm_task_get_info(task, &info))
		ret = EXIT_OK;
	*exists = info.exists;
	dm_task_destroy(task);
	return ret;
}

bool mirror_suspended(const char *name)
{
	struct dm_task *task = task_for(DM_DEVICE_INFO, name);
	struct dm_info info = {};
	bool ok = task && dm_task_run(task) && dm_task_get_info(task, &info);

	if (task)
		dm_task_destroy(task);
	return ok && info.suspended;
}

int mirror_send(const char *name, const char *message)
{
	struct dm_task *task;
	struct mirror *m;
	int ret = -1;

	/* another type of target may accept the same messages */
	if (read_mirror(name, &m))
		return -1;
	if (!m) {
		complain("%s: there is no such mirror", name);
		return -1;
	}
	mirror_free(m);
	task = task_for(DM_DEVICE_TARGET_MSG, name);
	if (!task)
		return -1;
	if (!dm_task_set_sector(task, 0) || !dm_task_set_message(task, message))
		complain("out of memory");
	else if (dm_task_run(task))
		ret = 0;
	else if (dm_task_get_errno(task))
		ret = dm_task_get_errno(task);
	else
		complain_dm(EIO);
	dm_task_destroy(task);
	return ret;
}

/* ---- making and changing devices ---- */

/* @word of the kernel, which has the numbers of a device, and @path of the configuration */
static bool same_disk(const char *word, const char *path)
{
	char text[32];
	struct stat st;

	if (!strcmp(word, path))
		return true;
	if (stat(path, &st) || !S_ISBLK(st.st_mode))
		return false;
	snprintf(text, sizeof(text), "%u:%u", major(st.st_rdev), minor(st.st_rdev));
	return !strcmp(word, text);
}

bool mirror_has_table(const struct mirror *m, uint64_t sectors, const char *table)
{
	struct words words;
	bool same;
	size_t i;

	split(&words, table);
	same = m->sectors == sectors && m->table.n == words.n;
	for (i = 0; same && i < words.n; i++) {
		if (i <= TABLE_LOG)
			same = same_disk(m->table.at[i], words.at[i]);
		else
			same = !strcmp(m->table.at[i], words.at[i]);
	}
	free(words.line);
	return same;
}

/* Run a task that changes a device, and wait until udev has handled that. Return: 0 or an errno */
static int change(struct dm_task *task)
{
	uint32_t cookie = 0;
	int err = 0;

	if (!dm_task_set_cookie(task, &cookie, 0))
		return EIO;
	if (!dm_task_run(task)) {
		err = dm_task_get_errno(task);
		err = err ? err : EIO;
	}
	dm_udev_wait(cookie);
	return err;
}

static void complain_table(const char *name, int err)
{
	complain("%s: the kernel refuses the table: %s; its log has the reason", name, strerror(err));
}

int mirror_create(const char *name, const char *uuid, uint64_t sectors, const char *table)
{
	struct dm_task *task = task_for(DM_DEVICE_CREATE, name);
	char id[DM_UUID_LEN];
	int err;

	if (!task)
		return EXIT_FAILED;
	snprintf(id, sizeof(id), "KFI-MIRROR-%s-%s", uuid, name);
	if (!dm_task_set_uuid(task, id) || !dm_task_add_target(task, 0, sectors, TARGET, table))
		err = ENOMEM;
	else
		err = change(task);
	dm_task_destroy(task);
	if (err)
		complain_table(name, err);
	return err ? EXIT_FAILED : EXIT_OK;
}

static int load(const char *name, uint64_t sectors, const char *table)
{
	struct dm_task *task = task_for(DM_DEVICE_RELOAD, name);
	int err = 0;

	if (!task)
		return EXIT_FAILED;
	if (!dm_task_add_target(task, 0, sectors, TARGET, table))
		err = ENOMEM;
	else if (!dm_task_run(task))
		err = dm_task_get_errno(task) ? dm_task_get_errno(task) : EIO;
	dm_task_destroy(task);
	if (err)
		complain_table(name, err);
	return err ? EXIT_FAILED : EXIT_OK;
}

/* Drop what load() has loaded, or a later resume would take it. */
static void unload(const char *name)
{
	struct dm_task *task = task_for(DM_DEVICE_CLEAR, name);

	if (!task)
		return;
	run(task);
	dm_task_destroy(task);
}

static int suspend(const char *name)
{
	struct dm_task *task = task_for(DM_DEVICE_SUSPEND, name);
	int ret;

	if (!task)
		return EXIT_FAILED;
	dm_task_no_flush(task);
	dm_task_skip_lockfs(task);	/* a file system can't be frozen while its writes are held */
	ret = run(task) ? EXIT_FAILED : EXIT_OK;
	dm_task_destroy(task);
	return ret;
}

static int resume(const char *name)
{
	struct dm_task *task = task_for(DM_DEVICE_RESUME, name);
	int err;

	if (!task)
		return EXIT_FAILED;
	err = change(task);
	dm_task_destroy(task);
	if (err)
		complain("%s: it stays suspended: %s; the kernel's log has the reason", name,
			 strerror(err));
	return err ? EXIT_FAILED : EXIT_OK;
}

int mirror_reload(const char *name, uint64_t sectors, const char *table)
{
	int ret = load(name, sectors, table);

	if (ret)
		return ret;
	if (!suspend(name))
		return resume(name);
	unload(name);
	return EXIT_FAILED;
}

int mirror_remove(const char *name)
{
	struct dm_task *task = task_for(DM_DEVICE_REMOVE, name);
	int err;

	if (!task)
		return EXIT_FAILED;
	dm_task_retry_remove(task);	/* udev may just be looking at it */
	err = change(task);
	dm_task_destroy(task);
	if (err == EBUSY)
		complain("%s: it is in use; unmount what is on it, and try again", name);
	else if (err)
		complain("%s: %s", name, strerror(err));
	return err ? EXIT_FAILED : EXIT_OK;
}

void mirror_announce(const char *leg)
{
	static const char change[] = "change";
	unsigned int major, minor;
	char path[64];
	struct stat st;
	int fd;

	if (!leg)
		return;
	if (sscanf(leg, "%u:%u", &major, &minor) != 2) {
		if (stat(leg, &st) || !S_ISBLK(st.st_mode))
			return;
		major = major(st.st_rdev);
		minor = minor(st.st_rdev);
	}
	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/uevent", major, minor);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (write(fd, change, sizeof(change) - 1) < 0)
		errno = 0;	/* the device has gone */
	close(fd);
}
