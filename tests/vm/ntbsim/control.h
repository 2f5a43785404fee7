/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The control socket: a line of words in, a line of JSON out - {"ok":true} and what was asked for,
 * or {"ok":false, "error":"..."}. The commands are in the table of control.c.
 */
#ifndef NTBSIM_CONTROL_H
#define NTBSIM_CONTROL_H

struct world;

/* Accept a client, serve it until it goes away or says nothing for a while. */
void control_serve(struct world *world, int listener);
/* One command (which is taken apart); the answer is to be freed. */
char *control_command(struct world *world, char *line);

#endif
