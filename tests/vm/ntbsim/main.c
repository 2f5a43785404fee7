// SPDX-License-Identifier: GPL-2.0
/*
 * ntbsim - an Intel Skylake NTB and an I/OAT DMA engine for each of two QEMU machines, over
 * vfio-user. See README.md.
 */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "protocol.h"
#include "world.h"

static struct world world;

static void help(FILE *to)
{
	fputs("usage: ntbsim [--links N] [--delay MS] [--bar2 BYTES] [--bar4 BYTES] DIR\n"
	      "Sockets in DIR: dma.a dma.b ntb0.a ntb0.b ... control. Says \"ready\" when they are there.\n", to);
}

static bool parse(const char *text, uint64_t min, uint64_t max, uint64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoull(text, &end, 0);
	return !errno && end != text && !*end && *value >= min && *value <= max;
}

static bool power_of_two(uint64_t value)
{
	return !(value & (value - 1));
}

static bool parse_options(int argc, char **argv, struct world_options *options)
{
	static const struct option names[] = {
		{ "links", required_argument, NULL, 'n' },
		{ "delay", required_argument, NULL, 'd' },
		{ "bar2", required_argument, NULL, '2' },
		{ "bar4", required_argument, NULL, '4' },
		{ }
	};
	uint64_t value;
	bool good = true;
	int c;

	while (good && (c = getopt_long(argc, argv, "", names, NULL)) != -1) {
		switch (c) {
		case 'n':
			good = parse(optarg, 1, HOST_LINKS, &value);
			options->links = value;
			break;
		case 'd':
			good = parse(optarg, 0, 60000, &value);
			options->delay_ms = value;
			break;
		case '2':
		case '4':
			good = parse(optarg, 0x1000, 1ull << 39, &value) && power_of_two(value);
			options->window[c == '4'] = value;
			break;
		default:
			good = false;
		}
	}
	options->dir = argv[optind];
	return good && optind + 1 == argc;
}

/* Handle times of links: training, flaps. Return: milliseconds until the next one, -1 for none */
static int tick(void)
{
	uint64_t now = link_now(), next = LINK_NEVER, at;

	for (unsigned int n = 0; n < world.links; n++) {
		at = link_tick(&world.link[n], now);
		if (at < next)
			next = at;
	}
	if (next == LINK_NEVER)
		return -1;
	now = link_now();
	return next > now ? (int)(next - now) : 0;
}

static void loop(int control)
{
	struct pollfd p[] = {
		{ .fd = world.wake, .events = POLLIN },
		{ .fd = control, .events = POLLIN },
	};
	uint64_t times;

	for (;;) {
		poll(p, 2, tick());
		if ((p[0].revents & POLLIN) && read(world.wake, &times, sizeof(times)) < 0 &&
		    errno != EAGAIN)
			return;
		if (p[1].revents & POLLIN)
			control_serve(&world, control);
	}
}

int main(int argc, char **argv)
{
	struct world_options options = { .links = 1,
					 .delay_ms = 200,
					 .window = { 1u << 20, 1u << 20 } };
	char path[PATH_MAX];
	int rc, control;

	if (!parse_options(argc, argv, &options)) {
		help(stderr);
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	snprintf(path, sizeof(path), "%s/control", options.dir);
	rc = world_init(&world, &options);
	control = rc ? rc : listen_at(path);
	rc = control < 0 ? control : world_start(&world);
	if (rc) {
		fprintf(stderr, "ntbsim: %s: %s\n", options.dir, strerror(-rc));
		return 1;
	}
	puts("ready");
	fflush(stdout);
	loop(control);
	return 1;
}
