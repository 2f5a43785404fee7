// SPDX-License-Identifier: GPL-2.0
/* Faults of cables, the commands that cause them, and statistics */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "host.h"

/* splitmix64, a public generator, so that a seed repeats the faults */
static uint32_t draw(uint32_t below)
{
	uint64_t z = world.random += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return (z ^ z >> 31) % below;
}

bool fault_strikes(unsigned int ppm)
{
	return ppm && draw(1000000) < ppm;
}

/* ---- commands for one direction of a cable, or both ---- */

/* Return the next of the directions that a command names, the first one after NULL. */
static struct way *next_way(const struct call *call, struct way *way)
{
	struct cable *cable = call->object;
	unsigned int n = way ? way - cable->way + 1 : 0;

	for (; n < 2; n++) {
		if (call->part & BIT(n))
			return &cable->way[n];
	}
	return NULL;
}

#define FOR_WAYS(way, call) \
	for (struct way *way = NULL; (way = next_way(call, way));)

static void do_ppm(struct call *call)
{
	FOR_WAYS(way, call)
		way->ppm[call->kind] = call->number[0];
}

static void do_stall(struct call *call)
{
	FOR_WAYS(way, call)
		way->stalled = true;
}

static void do_unstall(struct call *call)
{
	FOR_WAYS(way, call)
		way->stalled = false;
	rings_go_on();
}

/* ---- commands for a cable ---- */

static void pull(struct cable *cable, bool pulled)
{
	cable->pulled = pulled;
	cable_update(cable);
}

static void do_plug(struct call *call)
{
	pull(call->object, false);
}

static void do_unplug(struct call *call)
{
	pull(call->object, true);
}

static void do_unplug_at(struct call *call)
{
	struct cable *cable = call->object;

	cable->unplug_at = call->number[0];
}

static const char *const kinds[FAULTS] = {
	[LOSE] = "lose", [DAMAGE] = "damage",
};

/*
 * L: number of a cable, W: the same, or "0.a": only what host a sends on cable 0, F: lose (frames),
 * or damage (frames arrive with a wrong checksum)
 */
const struct command usb4_commands[] = {
	{ "cable L unplug",		do_unplug,	"pull the cable" },
	{ "cable L plug",		do_plug,	"put it back" },
	{ "cable L unplug-at N",	do_unplug_at,	"pull it behind the n-th XDomain packet" },
	{ "cable W F ppm N",		do_ppm,		"a fault of N frames in a million" },
	{ "cable W stall on",		do_stall,	"the cable is up, and takes no frame" },
	{ "cable W stall off",		do_unstall,	"... no longer" },
	{ }
};

/* The directions that a host sends in, by its letter */
static unsigned int ways_of(const struct cable *cable, char letter)
{
	unsigned int ways = 0;

	for (unsigned int i = 0; i < 2; i++) {
		if (cable->end[i]->host - world.host == letter - 'a')
			ways |= BIT(i);
	}
	return ways;
}

static bool take_kind(struct call *call, const char *word)
{
	for (call->kind = 0; call->kind < FAULTS; call->kind++) {
		if (!strcmp(kinds[call->kind], word))
			return true;
	}
	return false;
}

bool usb4_take(struct call *call, char letter, const char *word)
{
	unsigned int number = *word - '0';
	const char *rest = word + 1;

	if (letter == 'F')
		return take_kind(call, word);
	if (!isdigit((unsigned char)*word) || number >= world.cables)
		return false;
	call->object = &world.cable[number];
	call->lock = &world.lock;
	if (!*rest)
		call->part = BIT(2) - 1;
	else if (letter == 'W' && rest[0] == '.' && rest[1] && !rest[2])
		call->part = ways_of(call->object, rest[1]);
	return call->part;
}

/* ---- statistics ---- */

static void add_cable(cJSON *cables, const struct cable *cable)
{
	cJSON *one = cJSON_CreateObject();

	cJSON_AddBoolToObject(one, "up", cable->up);
	cJSON_AddBoolToObject(one, "pulled", cable->pulled);
	cJSON_AddNumberToObject(one, "life", cable->life);
	cJSON_AddItemToArray(cables, one);
}

/* The indices of the rings that are enabled: what hangs, hangs here. */
static void add_rings(cJSON *to, const struct host *host)
{
	cJSON *one = cJSON_AddObjectToObject(to, host->dev.name);
	char name[16], text[80];

	for (unsigned int n = 0; n < NHI_RINGS; n++) {
		const struct ring *tx = &host->tx[n], *rx = &host->rx[n];

		if (!((tx->flags | rx->flags) & RING_ENABLE))
			continue;
		snprintf(name, sizeof(name), "%u", n);
		snprintf(text, sizeof(text), "tx %u of %u, rx %u of %u",
			 tx->own, tx->driver, rx->own, rx->driver);
		cJSON_AddStringToObject(one, name, text);
	}
}

void usb4_stats(void *context, cJSON *to)
{
	cJSON *cables = cJSON_AddArrayToObject(to, "cables");
	cJSON *rings = cJSON_AddObjectToObject(to, "rings");

	cJSON_AddNumberToObject(to, "seed", (double)world.seed);
	pthread_rwlock_rdlock(&world.lock);
	for (unsigned int n = 0; n < world.cables; n++)
		add_cable(cables, &world.cable[n]);
	for (unsigned int n = 0; n < world.hosts; n++)
		add_rings(rings, &world.host[n]);
	pthread_rwlock_unlock(&world.lock);
}
