// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/eventfd.h>

#include "world.h"

static const char *path_of(char *path, const char *dir, const char *name)
{
	if (!dir)
		return NULL;
	snprintf(path, PATH_MAX, "%s/%s", dir, name);
	return path;
}

static int init_link(struct world *world, unsigned int n, const struct world_options *options)
{
	char path[PATH_MAX], name[16];
	int rc = 0;

	link_init(&world->link[n], options->delay_ms, world->wake);
	for (unsigned int side = 0; side < 2 && !rc; side++) {
		snprintf(name, sizeof(name), "ntb%u.%c", n, 'a' + side);
		world->host[side].ntb[n] = &world->ntb[n][side];
		world->host[side].ntbs = n + 1;
		rc = ntb_init(&world->ntb[n][side], &world->link[n], side, n, options->window,
			      path_of(path, options->dir, name));
	}
	return rc;
}

int world_init(struct world *world, const struct world_options *options)
{
	char path[PATH_MAX], name[] = "dma.a";
	int rc = 0;

	world->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (world->wake < 0)
		return -errno;
	for (unsigned int side = 0; side < 2 && !rc; side++) {
		name[4] = 'a' + side;
		rc = ioat_init(&world->host[side].ioat, &world->host[side], 'a' + side,
			       path_of(path, options->dir, name));
	}
	for (world->links = 0; world->links < options->links && !rc; world->links++)
		rc = init_link(world, world->links, options);
	return rc;
}

struct device *world_device(struct world *world, unsigned int n)
{
	if (n < 2)
		return &world->host[n].ioat.dev;
	n -= 2;
	return n < 2 * world->links ? &world->ntb[n / 2][n % 2].dev : NULL;
}

int world_start(struct world *world)
{
	struct device *dev;
	int rc = 0;

	for (unsigned int n = 0; !rc && (dev = world_device(world, n)); n++)
		rc = device_start(dev);
	return rc;
}
