// SPDX-License-Identifier: GPL-2.0
/*
 * ntbsim - an Intel Skylake NTB and an I/OAT DMA engine for each of two QEMU machines, over
 * vfio-user. See README.md.
 */
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "world.h"

static struct world world;

static void help(FILE *to)
{
	fputs("usage: ntbsim [--links N] [--delay MS] [--bar2 BYTES] [--bar4 BYTES] DIR\n"
	      "Sockets in DIR: dma.a dma.b ntb0.a ntb0.b ... control. Says \"ready\" when they are there.\n", to);
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
			good = simulator_number(optarg, 1, HOST_LINKS, &value);
			options->links = value;
			break;
		case 'd':
			good = simulator_number(optarg, 0, 60000, &value);
			options->delay_ms = value;
			break;
		case '2':
		case '4':
			good = simulator_number(optarg, 0x1000, 1ull << 39, &value) &&
			       power_of_two(value);
			options->window[c == '4'] = value;
			break;
		default:
			good = false;
		}
	}
	options->dir = argv[optind];
	return good && optind + 1 == argc;
}

static uint64_t tick(void *context, uint64_t now)
{
	uint64_t next = TIME_NEVER, at;

	for (unsigned int n = 0; n < world.links; n++) {
		at = link_tick(&world.link[n], now);
		if (at < next)
			next = at;
	}
	return next;
}

static const struct simulator ntbsim = {
	.name		= "ntbsim",
	.world		= &world,
	.commands	= ntb_commands,
	.take		= ntb_take,
	.device		= world_device,
	.stats		= ntb_stats,
	.tick		= tick,
};

int main(int argc, char **argv)
{
	struct world_options options = { .links = 1,
					 .delay_ms = 200,
					 .window = { 1u << 20, 1u << 20 } };
	int rc;

	if (!parse_options(argc, argv, &options)) {
		help(stderr);
		return 2;
	}
	rc = world_init(&world, &options);
	if (rc) {
		fprintf(stderr, "ntbsim: %s: %s\n", options.dir, strerror(-rc));
		return 1;
	}
	return simulator_run(&ntbsim, options.dir);
}
