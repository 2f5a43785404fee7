// SPDX-License-Identifier: GPL-2.0
/* Cables: plugged and trained or not. */
#include "host.h"

/* From both ends being ready to lanes that are up */
#define TRAINING_US	300000

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
		router_show_lane(cable->end[i]);
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
		router_show_lane(port);
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
	}
	if (again)
		rings_go_on();
	return next;
}
