// SPDX-License-Identifier: GPL-2.0
/* Cables: plugged and trained or not, and the time that frames take on them. */
#include "host.h"

/* From both ends being ready to lanes that are up */
#define TRAINING_US	300000
/* Frames that a limited rate lets through at once are worth so much time. */
#define BURST_US	1000

void cable_join(struct cable *cable, struct port *a, struct port *b)
{
	struct port *end[2] = { a, b };

	for (unsigned int i = 0; i < 2; i++) {
		cable->end[i] = end[i];
		end[i]->cable = cable;
		end[i]->end = i;
	}
	cable->up_at = TIME_NEVER;
}

struct port *cable_peer(const struct port *port)
{
	return port->cable && port->cable->up ? port->cable->end[!port->end] : NULL;
}

static void show(struct cable *cable)
{
	for (unsigned int i = 0; i < 2; i++)
		router_show_lanes(cable->end[i]);
}

/* The drivers are told with the next tick. */
static void come_or_go(struct cable *cable, bool up)
{
	cable->up = up;
	cable->life += up;
	say(cable->end[0]->host, "cable %u is %s", (unsigned int)(cable - world.cable),
	    up ? "up" : "down");
	for (unsigned int i = 0; i < 2; i++) {
		count(&cable->end[i]->host->dev.counters,
		      up ? COUNT_cable_ups : COUNT_cable_downs);
		cable->end[i]->tell_at = 0;
	}
	time_changed();
}

static bool trainable(const struct cable *cable)
{
	for (unsigned int i = 0; i < 2; i++) {
		if (!cable->end[i]->host->attached || !router_allows(cable->end[i]))
			return false;
	}
	return !cable->pulled;
}

void cable_update(struct cable *cable)
{
	if (!trainable(cable)) {
		cable->up_at = TIME_NEVER;
		if (cable->up)
			come_or_go(cable, false);
	} else if (!cable->up && cable->up_at == TIME_NEVER) {
		cable->up_at = time_now() + TRAINING_US;
		time_changed();
	}
	show(cable);
}

void port_changed(struct port *port)
{
	if (port->cable)
		cable_update(port->cable);
	else
		router_show_lanes(port);
}

void cables_retrain(struct host *host)
{
	struct cable *cable;

	for (unsigned int n = 0; n < PORTS; n++) {
		cable = host->port[n].cable;
		if (!cable)
			continue;
		cable->up_at = TIME_NEVER;
		if (cable->up)
			come_or_go(cable, false);
		cable_update(cable);
	}
}

/* Are the frames that have gone worth more time than has passed? */
static bool way_full(const struct way *way, uint64_t now)
{
	return way->rate && way->free_at > now + BURST_US;
}

bool way_take(struct way *way, size_t bytes, uint64_t now)
{
	if (way->stalled)
		return false;
	if (way_full(way, now)) {
		way->awaited = true;
		time_changed();
		return false;
	}
	if (way->rate)
		way->free_at = (way->free_at > now ? way->free_at : now) +
			       bytes * 1000 / way->rate;
	return true;
}

/* Is it time for a frame that waits for that way? Lower @next to when it will be. */
static bool way_ready(struct way *way, uint64_t now, uint64_t *next)
{
	if (!way->awaited)
		return false;
	if (way_full(way, now)) {
		*next = way->free_at - BURST_US < *next ? way->free_at - BURST_US : *next;
		return false;
	}
	way->awaited = false;
	return true;
}

uint64_t cables_tick(uint64_t now)
{
	uint64_t next = TIME_NEVER;
	bool again = false;

	for (struct cable *cable = world.cable; cable < world.cable + world.cables; cable++) {
		if (now >= cable->up_at) {
			cable->up_at = TIME_NEVER;
			come_or_go(cable, true);
			show(cable);
			again = true;
		}
		next = cable->up_at < next ? cable->up_at : next;
		for (unsigned int i = 0; i < 2; i++)
			again |= way_ready(&cable->way[i], now, &next);
	}
	if (again)
		rings_go_on();
	return next;
}
