/* SPDX-License-Identifier: GPL-2.0 */
#ifndef NTBSIM_UTIL_H
#define NTBSIM_UTIL_H

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/*
 * A stream socket that listens at @path, where nothing else is then; a negative errno if it can't.
 */
int listen_at(const char *path);

#endif
