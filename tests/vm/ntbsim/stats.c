// SPDX-License-Identifier: GPL-2.0
/*
 * Counters and states as JSON. Every counter is always there, so that a reader's spelling mistake
 * is an error.
 */
#include "stats.h"
#include "world.h"

static const struct {
	const char *name;
	const char *meaning;
} texts[] = {
#define COUNTER_TEXT(name, meaning) { #name, meaning },
	COUNTER_TABLE(COUNTER_TEXT)
#undef COUNTER_TEXT
};

void stats_explain(cJSON *to)
{
	for (unsigned int i = 0; i < COUNTERS; i++)
		cJSON_AddStringToObject(to, texts[i].name, texts[i].meaning);
}

static void add_device(cJSON *devices, const struct device *dev)
{
	cJSON *one = cJSON_AddObjectToObject(devices, dev->name);

	for (unsigned int i = 0; i < COUNTERS; i++)
		cJSON_AddNumberToObject(one, texts[i].name, (double)counted(&dev->counters, i));
}

static void add_link(cJSON *links, struct link *link)
{
	cJSON *one = cJSON_CreateObject();

	pthread_rwlock_rdlock(&link->lock);
	cJSON_AddBoolToObject(one, "carries", link->carries);
	cJSON_AddBoolToObject(one, "shown", link->shown);
	cJSON_AddBoolToObject(one, "held_down", link->held_down);
	cJSON_AddBoolToObject(one, "stuck", link->stuck);
	cJSON_AddNumberToObject(one, "delay_ms", link->delay_ms);
	cJSON_AddNumberToObject(one, "flaps_left", link->flaps);
	pthread_rwlock_unlock(&link->lock);
	cJSON_AddItemToArray(links, one);
}

void stats_add(struct world *world, cJSON *to)
{
	cJSON *devices = cJSON_AddObjectToObject(to, "devices");
	cJSON *links = cJSON_AddArrayToObject(to, "links");
	struct device *dev;

	for (unsigned int n = 0; (dev = world_device(world, n)); n++)
		add_device(devices, dev);
	for (unsigned int n = 0; n < world->links; n++)
		add_link(links, &world->link[n]);
}
