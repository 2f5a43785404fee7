/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The control socket: a line of words in, a line of JSON out - {"ok":true} with the result, or
 * {"ok":false, "error":"..."}. control.c has the table of commands.
 */
#ifndef NTBSIM_CONTROL_H
#define NTBSIM_CONTROL_H

#include <cjson/cJSON.h>

struct world;

/* Accept a client, serve it until it disconnects or is silent for a while. */
void control_serve(struct world *world, int listener);
/* Execute a command line (which is modified); free() the answer. */
char *control_command(struct world *world, char *line);

/*
 * Add all counters of devices ("devices": name -> counter -> value) and states of links ("links":
 * list) to an object.
 */
void stats_add(struct world *world, cJSON *to);
/* Add an object counter -> description. */
void stats_explain(cJSON *to);

#endif
