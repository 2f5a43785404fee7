/* SPDX-License-Identifier: GPL-2.0 */
/* serve.h - the socket of a plugin */
#ifndef EXECUTED_SERVE_H
#define EXECUTED_SERVE_H

#include <stdio.h>

/*
 * Listen at the path that the only argument of a plugin names, socket=PATH, and call @answer for
 * each connection, in a thread. Return: 0, or 1 after a message
 */
int serve(const char *plugin, int argc, char **argv, void (*answer)(FILE *peer));

#endif
