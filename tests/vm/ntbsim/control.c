// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "protocol.h"
#include "world.h"

#define WORDS		6
#define LINE		256
#define IDLE_SECONDS	1
#define MAX_NUMBER	1000000000u

struct command {
	struct world *world;
	unsigned int words;
	char *word[WORDS];
	cJSON *answer;
};

/* Arguments of a row of the table: the numbers among its words, in order */
struct target {
	struct link *link;
	struct ioat *ioat;
	struct device *dev;
	uint32_t number[WORDS];
};

typedef void do_t(struct command *cmd, const struct target *t);

static void do_stats(struct command *cmd, const struct target *t)
{
	stats_add(cmd->world, cmd->answer);
}

static void hold(struct link *link, bool down)
{
	link->held_down = down;
	link_flap(link, 0, 0, 0);
	link_update(link);
}

static void do_up(struct command *cmd, const struct target *t)
{
	hold(t->link, false);
}

static void do_down(struct command *cmd, const struct target *t)
{
	hold(t->link, true);
}

static void do_delay(struct command *cmd, const struct target *t)
{
	t->link->delay_ms = t->number[0];
}

static void do_flap(struct command *cmd, const struct target *t)
{
	link_flap(t->link, t->number[0], t->number[1], t->number[2]);
}

static void do_stick(struct command *cmd, const struct target *t)
{
	link_stick(t->link, true);
}

static void do_unstick(struct command *cmd, const struct target *t)
{
	link_stick(t->link, false);
}

static void do_fail_read(struct command *cmd, const struct target *t)
{
	atomic_store(&t->ioat->fail_with, IOAT_ERR_READ_DATA);
	atomic_store(&t->ioat->fail_in, t->number[0]);
}

static void do_fail_write(struct command *cmd, const struct target *t)
{
	atomic_store(&t->ioat->fail_with, IOAT_ERR_WRITE_DATA);
	atomic_store(&t->ioat->fail_in, t->number[0]);
}

static void do_lose(struct command *cmd, const struct target *t)
{
	atomic_store(&t->dev->lose_irqs, t->number[0]);
}

/* L: number of a link, D: device, E: engine, N: a number; other words are literal */
static const struct {
	const char *pattern;
	do_t *run;
	const char *help;
} table[] = {
	{ "stats",			do_stats,	"all counters and states" },
	{ "link L up",			do_up,		"hold the link no longer down" },
	{ "link L down",		do_down,	"hold the link down" },
	{ "link L delay N",		do_delay,	"milliseconds that training takes, from the next time on" },
	{ "link L flap N N N",		do_flap,	"times down and up, milliseconds down, milliseconds up" },
	{ "link L stuck on",		do_stick,	"the status goes on to say what it says, whatever happens" },
	{ "link L stuck off",		do_unstick,	"... no longer" },
	{ "E fail-read N",		do_fail_read,	"the n-th copy from now on ends in a read error; 0: none" },
	{ "E fail-write N",		do_fail_write,	"... in a write error" },
	{ "D lose-interrupts N",	do_lose,	"so many interrupts get lost" },
};

static bool take_number(const char *word, uint32_t *number)
{
	char *end;
	unsigned long value;

	if (*word < '0' || *word > '9')
		return false;
	value = strtoul(word, &end, 10);
	*number = value;
	return !*end && value <= MAX_NUMBER;
}

static bool take_device(struct world *world, const char *word, struct target *t)
{
	for (unsigned int n = 0; (t->dev = world_device(world, n)); n++) {
		if (!strcmp(t->dev->name, word)) {
			t->ioat = n < 2 ? (struct ioat *)t->dev : NULL;
			return true;
		}
	}
	return false;
}

static bool take_word(struct command *cmd, const char *kind, size_t len, const char *word,
		      struct target *t, unsigned int *numbers)
{
	uint32_t n;

	if (len > 1 || !strchr("LDEN", *kind))
		return strlen(word) == len && !strncmp(kind, word, len);
	switch (*kind) {
	case 'L':
		if (!take_number(word, &n) || n >= cmd->world->links)
			return false;
		t->link = &cmd->world->link[n];
		return true;
	case 'N':
		return take_number(word, &t->number[(*numbers)++]);
	}
	return take_device(cmd->world, word, t) && (*kind == 'D' || t->ioat);
}

static bool matches(struct command *cmd, const char *pattern, struct target *t)
{
	unsigned int at = 0, numbers = 0;
	size_t len;

	memset(t, 0, sizeof(*t));
	for (; *pattern; pattern += len + (pattern[len] == ' '), at++) {
		len = strcspn(pattern, " ");
		if (at >= cmd->words || !take_word(cmd, pattern, len, cmd->word[at], t, &numbers))
			return false;
	}
	return at == cmd->words;
}

static void explain(struct command *cmd)
{
	cJSON *usage;

	cJSON_AddBoolToObject(cmd->answer, "ok", false);
	cJSON_AddStringToObject(cmd->answer, "error", "no such command");
	usage = cJSON_AddObjectToObject(cmd->answer, "usage");
	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		cJSON_AddStringToObject(usage, table[i].pattern, table[i].help);
}

static void run(struct command *cmd)
{
	struct target t;

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		if (!matches(cmd, table[i].pattern, &t))
			continue;
		cJSON_AddBoolToObject(cmd->answer, "ok", true);
		if (t.link)
			pthread_rwlock_wrlock(&t.link->lock);
		table[i].run(cmd, &t);
		if (t.link)
			pthread_rwlock_unlock(&t.link->lock);
		return;
	}
	explain(cmd);
}

char *control_command(struct world *world, char *line)
{
	struct command cmd = { .world = world };
	char *save, *word, *text;

	for (word = strtok_r(line, " \r\n", &save); word && cmd.words < WORDS;
	     word = strtok_r(NULL, " \r\n", &save))
		cmd.word[cmd.words++] = word;
	if (word)	/* more words than any command has */
		cmd.words = 0;
	cmd.answer = cJSON_CreateObject();
	run(&cmd);
	text = cJSON_PrintUnformatted(cmd.answer);
	cJSON_Delete(cmd.answer);
	return text;
}

static void serve_lines(struct world *world, FILE *in, FILE *out)
{
	char line[LINE], *answer;

	while (fgets(line, sizeof(line), in)) {
		answer = control_command(world, line);
		if (!answer)
			return;
		fprintf(out, "%s\n", answer);
		free(answer);
		if (fflush(out))
			return;
	}
}

void control_serve(struct world *world, int listener)
{
	struct timeval limit = { .tv_sec = IDLE_SECONDS };
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	FILE *in, *out;

	if (fd < 0)
		return;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	in = fdopen(fd, "r");
	out = fdopen(dup(fd), "w");
	if (in && out)
		serve_lines(world, in, out);
	if (out)
		fclose(out);
	if (in)
		fclose(in);
}

/*
 * Counters and states as JSON. Every counter is always present, so that a misspelled name in a
 * reader is an error.
 */

static const char *const names[] = {
#define COUNTER_NAME(name, meaning) #name,
	COUNTER_TABLE(COUNTER_NAME)
#undef COUNTER_NAME
};

static void add_device(cJSON *devices, const struct device *dev)
{
	cJSON *one = cJSON_AddObjectToObject(devices, dev->name);

	for (unsigned int i = 0; i < COUNTERS; i++)
		cJSON_AddNumberToObject(one, names[i], (double)counted(&dev->counters, i));
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

void stats_add(struct world *world, cJSON *to)
{
	cJSON *devices = cJSON_AddObjectToObject(to, "devices");
	cJSON *links = cJSON_AddArrayToObject(to, "links");
	struct device *dev;

	for (unsigned int n = 0; (dev = world_device(world, n)); n++)
		add_device(devices, dev);
	for (unsigned int n = 0; n < world->links; n++)
		add_link(links, &world->link[n]);
}
