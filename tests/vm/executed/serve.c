// SPDX-License-Identifier: GPL-2.0
/* serve - the socket of a plugin. A thread of its own answers one connection after the other. */
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "serve.h"

/* serve() reads one byte less. */
static_assert(sizeof(((struct sockaddr_un *)0)->sun_path) == 108);

static int listener;

static void *answer_all(void *data)
{
	void (*answer)(FILE *peer) = data;
	FILE *peer;
	int fd;

	while ((fd = accept(listener, NULL, NULL)) >= 0) {
		peer = fdopen(fd, "r+");
		if (!peer)
			break;
		answer(peer);
		fclose(peer);
	}
	return NULL;
}

int serve(const char *plugin, int argc, char **argv, void (*answer)(FILE *peer))
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	pthread_t thread;
	sigset_t all, old;

	if (argc != 1 || sscanf(argv[0], "socket=%107s", name.sun_path) != 1) {
		fprintf(stderr, "%s: the argument is socket=PATH\n", plugin);
		return 1;
	}
	listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (listener < 0 || bind(listener, (struct sockaddr *)&name, sizeof(name)) ||
	    listen(listener, 1)) {
		fprintf(stderr, "%s: %s: %s\n", plugin, name.sun_path, strerror(errno));
		return 1;
	}
	/* Signals are QEMU's; a peer that has gone ends a write. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	errno = pthread_create(&thread, NULL, answer_all, answer);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (errno) {
		fprintf(stderr, "%s: %s\n", plugin, strerror(errno));
		return 1;
	}
	return 0;
}
