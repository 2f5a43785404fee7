/* SPDX-License-Identifier: GPL-2.0 */
#ifndef NTBSIM_STATS_H
#define NTBSIM_STATS_H

#include <cjson/cJSON.h>

struct world;

/*
 * Add what is known of all devices ("devices": name -> counter -> value) and links ("links": list)
 * to an object.
 */
void stats_add(struct world *world, cJSON *to);
/* Counter -> meaning. */
void stats_explain(cJSON *to);

#endif
