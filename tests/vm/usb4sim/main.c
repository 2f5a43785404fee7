// SPDX-License-Identifier: GPL-2.0
/*
 * usb4sim - USB4 host interfaces and their routers for two or three QEMU machines, and the cables
 * between them, over vfio-user. See README.md.
 */
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "host.h"

struct world world = { .lock = PTHREAD_RWLOCK_INITIALIZER };

static const char *const usage =
	"usage: usb4sim [--seed N] [--uuid-per-boot] [--cable a0-b0]... DIR\n"
	"A cable joins ports 0 or 1 of hosts a, b, c, d. Sockets in DIR: nhi.a nhi.b ... control.\n"
	"Says \"ready\" when they are there.\n";

void say(const struct host *host, const char *format, ...)
{
	uint64_t now = time_now();
	va_list args;

	fprintf(stderr, "%7u.%03u %s: ", (unsigned int)(now / 1000000),
		(unsigned int)(now / 1000 % 1000), host->dev.name);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

static struct port *port_named(const char *name)
{
	unsigned int host = name[0] - 'a', number = name[1] - '0';

	if (host >= HOSTS || number >= PORTS || world.host[host].port[number].cable)
		return NULL;
	if (host >= world.hosts)
		world.hosts = host + 1;
	return &world.host[host].port[number];
}

/* "a0-b0" */
static bool add_cable(const char *words)
{
	struct port *a, *b;

	if (strlen(words) != 5 || words[2] != '-' || words[0] == words[3])
		return false;
	a = port_named(words);
	b = port_named(words + 3);
	if (!a || !b)
		return false;
	cable_join(&world.cable[world.cables++], a, b);
	return true;
}

static bool parse_options(int argc, char **argv)
{
	static const struct option names[] = {
		{ "seed", required_argument, NULL, 's' },
		{ "cable", required_argument, NULL, 'c' },
		{ "uuid-per-boot", no_argument, NULL, 'u' },
		{ }
	};
	bool good = true;
	int c;

	while (good && (c = getopt_long(argc, argv, "", names, NULL)) != -1) {
		if (c == 's')
			good = simulator_number(optarg, 0, UINT32_MAX, &world.seed);
		else if (c == 'u')
			world.uuid_per_boot = true;
		else
			good = c == 'c' && add_cable(optarg);
	}
	return good && (world.cables || add_cable("a0-b0")) && optind + 1 == argc;
}

static struct device *device(void *context, unsigned int n)
{
	return n < world.hosts ? &world.host[n].dev : NULL;
}

static uint64_t tick(void *context, uint64_t now)
{
	uint64_t (*const part[])(uint64_t) = { cables_tick, channel_tick, rings_tick };
	uint64_t next = TIME_NEVER, at;

	pthread_rwlock_wrlock(&world.lock);
	for (unsigned int i = 0; i < ARRAY_SIZE(part); i++) {
		at = part[i](now);
		next = at < next ? at : next;
	}
	pthread_rwlock_unlock(&world.lock);
	return next;
}

static const struct simulator usb4sim = {
	.name		= "usb4sim",
	.world		= &world,
	.commands	= usb4_commands,
	.take		= usb4_take,
	.device		= device,
	.stats		= usb4_stats,
	.tick		= tick,
};

int main(int argc, char **argv)
{
	int rc = 0;

	setvbuf(stderr, NULL, _IOLBF, 0);
	for (unsigned int n = 0; n < HOSTS; n++)
		host_prepare(&world.host[n]);
	world.seed = (uint32_t)time_now();
	if (!parse_options(argc, argv)) {
		fputs(usage, stderr);
		return 2;
	}
	world.random = world.seed;
	fprintf(stderr, "usb4sim: seed %u\n", (unsigned int)world.seed);
	for (unsigned int n = 0; n < world.hosts && !rc; n++)
		rc = host_init(&world.host[n], 'a' + n, argv[optind]);
	if (rc) {
		fprintf(stderr, "usb4sim: %s: %s\n", argv[optind], strerror(-rc));
		return 1;
	}
	return simulator_run(&usb4sim, argv[optind]);
}
