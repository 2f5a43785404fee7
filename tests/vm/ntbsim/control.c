// SPDX-License-Identifier: GPL-2.0
/* Commands at run time, and what is reported of links */
#include "world.h"

static void hold(struct link *link, bool down)
{
	link->held_down = down;
	link_flap(link, 0, 0, 0);
	link_update(link);
}

static void do_up(struct call *call)
{
	hold(call->object, false);
}

static void do_down(struct call *call)
{
	hold(call->object, true);
}

static void do_delay(struct call *call)
{
	struct link *link = call->object;

	link->delay_ms = call->number[0];
}

static void do_flap(struct call *call)
{
	link_flap(call->object, call->number[0], call->number[1], call->number[2]);
}

static void do_stick(struct call *call)
{
	link_stick(call->object, true);
}

static void do_unstick(struct call *call)
{
	link_stick(call->object, false);
}

/* L: number of a link */
const struct command ntb_commands[] = {
	{ "link L up",			do_up,		"hold the link no longer down" },
	{ "link L down",		do_down,	"hold the link down" },
	{ "link L delay N",		do_delay,	"milliseconds that training takes, from the next time on" },
	{ "link L flap N N N",		do_flap,	"times down and up, milliseconds down, milliseconds up" },
	{ "link L stuck on",		do_stick,	"the status goes on to say what it says, whatever happens" },
	{ "link L stuck off",		do_unstick,	"... no longer" },
	{ }
};

bool ntb_take(struct call *call, char letter, const char *word)
{
	struct world *world = call->world;
	uint32_t n;

	if (!call_number(word, &n) || n >= world->links)
		return false;
	call->object = &world->link[n];
	call->lock = &world->link[n].lock;
	return true;
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

void ntb_stats(void *context, cJSON *to)
{
	cJSON *links = cJSON_AddArrayToObject(to, "links");
	struct world *world = context;

	for (unsigned int n = 0; n < world->links; n++)
		add_link(links, &world->link[n]);
}
