// SPDX-License-Identifier: GPL-2.0
/*
 * fake_dm.c - a libdevmapper for tests of `kfi mirror` without a kernel; preloaded. The devices are
 * the lines of the file $FAKE_DM:
 *
 *   NAME|active or suspended|SECTORS|TYPE|TABLE|STATUS
 *
 * What changes a device is appended to $FAKE_DM.said, and refused with the error number
 * $FAKE_DM_ERR, if there is one: a message as "NAME: MESSAGE", else "WORD NAME", with the UUID and
 * the table, if it has them. The devices stay as they are. If $FAKE_DM can't be read,
 * device-mapper can't be opened, with the text $FAKE_DM_ERR.
 */
#include <libdevmapper.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEVICES = 64, LINE = 4096 };

struct dm_task {
	int type;
	int err;
	char name[128];
	char uuid[128];
	char message[512];
	char names[LINE] __attribute__((aligned(8)));
	struct device *dev;
};

static struct device {
	char line[LINE];
	char *part[6];	/* as in the file */
} devices[DEVICES];

static dm_log_with_errno_fn log_fn;

static size_t load(void)
{
	const char *path = getenv("FAKE_DM");
	FILE *file = path ? fopen(path, "r") : NULL;
	size_t n = 0, i;
	char *at;

	while (file && n < DEVICES && fgets(devices[n].line, LINE, file)) {
		at = devices[n].line;
		at[strcspn(at, "\n")] = '\0';
		for (i = 0; i < 6; i++)
			devices[n].part[i] = strsep(&at, "|");
		n++;
	}
	if (file)
		fclose(file);
	return file ? n : (size_t)-1;
}

void dm_log_with_errno_init(dm_log_with_errno_fn fn)
{
	log_fn = fn;
}

struct dm_task *dm_task_create(int type)
{
	struct dm_task *task = calloc(1, sizeof(*task));

	task->type = type;
	return task;
}

void dm_task_destroy(struct dm_task *task)
{
	free(task);
}

int dm_task_set_name(struct dm_task *task, const char *name)
{
	const char *at = strrchr(name, '/');

	snprintf(task->name, sizeof(task->name), "%s", at ? at + 1 : name);
	return 1;
}

int dm_task_set_sector(struct dm_task *task, uint64_t sector)
{
	return !sector;
}

int dm_task_set_message(struct dm_task *task, const char *message)
{
	snprintf(task->message, sizeof(task->message), "%s", message);
	return 1;
}

int dm_task_set_uuid(struct dm_task *task, const char *uuid)
{
	snprintf(task->uuid, sizeof(task->uuid), " %s", uuid);
	return 1;
}

int dm_task_add_target(struct dm_task *task, uint64_t start, uint64_t size, const char *type,
		       const char *params)
{
	snprintf(task->message, sizeof(task->message), ": %llu %llu %s %s",
		 (unsigned long long)start, (unsigned long long)size, type, params);
	return 1;
}

int dm_task_set_cookie(struct dm_task *task, uint32_t *cookie, uint16_t flags)
{
	*cookie = 1;
	return 1;
}

int dm_udev_wait(uint32_t cookie)
{
	if (cookie != 1)
		abort();
	return 1;
}

int dm_task_no_flush(struct dm_task *task)
{
	if (task->type == DM_DEVICE_SUSPEND)
		strcat(task->uuid, " noflush");
	return 1;
}

int dm_task_skip_lockfs(struct dm_task *task)
{
	strcat(task->uuid, " nolockfs");
	return 1;
}

int dm_task_retry_remove(struct dm_task *task)
{
	return 1;
}

static void list(struct dm_task *task, size_t n)
{
	struct dm_names *names = (void *)task->names;
	size_t i, size;

	for (i = 0; i < n; i++) {
		size = (sizeof(*names) + strlen(devices[i].part[0]) + 8) & ~7UL;
		names->dev = 1 + i;
		names->next = i + 1 < n ? size : 0;
		memcpy(names->name, devices[i].part[0], strlen(devices[i].part[0]) + 1);
		names = (void *)names + size;
	}
}

static const char *word(int type)
{
	switch (type) {
	case DM_DEVICE_CREATE:
		return "create ";
	case DM_DEVICE_RELOAD:
		return "reload ";
	case DM_DEVICE_SUSPEND:
		return "suspend ";
	case DM_DEVICE_RESUME:
		return "resume ";
	case DM_DEVICE_REMOVE:
		return "remove ";
	case DM_DEVICE_TARGET_MSG:
		return "";
	default:
		return NULL;
	}
}

static int change(struct dm_task *task)
{
	const char *err = getenv("FAKE_DM_ERR");
	char path[LINE];
	FILE *file;

	snprintf(path, sizeof(path), "%s.said", getenv("FAKE_DM"));
	file = fopen(path, "a");
	if (!file)
		abort();
	fprintf(file, "%s%s%s%s%s\n", word(task->type), task->name, task->uuid,
		task->type == DM_DEVICE_TARGET_MSG ? ": " : "", task->message);
	fclose(file);
	task->err = err ? atoi(err) : 0;
	return !task->err;
}

int dm_task_run(struct dm_task *task)
{
	size_t n = load(), i;

	if (n == (size_t)-1) {
		log_fn(3, __FILE__, __LINE__, 0, "%s: open failed: %s", "/dev/mapper/control",
		       getenv("FAKE_DM_ERR"));
		return 0;
	}
	for (i = 0; i < n; i++)
		if (!strcmp(devices[i].part[0], task->name))
			task->dev = &devices[i];
	if (task->type == DM_DEVICE_LIST)
		list(task, n);
	return !word(task->type) || change(task);
}

int dm_task_get_errno(struct dm_task *task)
{
	return task->err;
}

const char *dm_task_get_name(const struct dm_task *task)
{
	return task->name;
}

struct dm_names *dm_task_get_names(struct dm_task *task)
{
	return (void *)task->names;
}

int dm_task_get_info(struct dm_task *task, struct dm_info *info)
{
	*info = (struct dm_info){ .exists = !!task->dev };
	if (task->dev)
		info->suspended = !strcmp(task->dev->part[1], "suspended");
	return 1;
}

void *dm_get_next_target(struct dm_task *task, void *next, uint64_t *start, uint64_t *length,
			 char **type, char **params)
{
	struct device *dev = task->dev;

	*start = 0;
	*length = 0;
	*type = NULL;
	*params = NULL;
	if (!dev || !dev->part[3] || !*dev->part[3])
		return NULL;
	*length = strtoull(dev->part[2], NULL, 10);
	*type = dev->part[3];
	*params = dev->part[task->type == DM_DEVICE_TABLE ? 4 : 5];
	return NULL;
}
