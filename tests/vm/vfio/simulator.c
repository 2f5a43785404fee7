// SPDX-License-Identifier: GPL-2.0
/* The thread of main(): times and commands. */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "protocol.h"
#include "simulator.h"

#define LINE		256
#define IDLE_SECONDS	1
#define MAX_NUMBER	1000000000u

static const struct simulator *sim;
static int changed = -1;	/* eventfd */

uint64_t time_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000ull + ts.tv_nsec / 1000;
}

void time_changed(void)
{
	uint64_t one = 1;

	/* if the counter is full, the thread wakes up anyway */
	if (changed >= 0 && write(changed, &one, sizeof(one)) < 0)
		return;
}

bool simulator_number(const char *text, uint64_t min, uint64_t max, uint64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoull(text, &end, 0);
	return !errno && end != text && !*end && *value >= min && *value <= max;
}

/* ---- commands that every simulator has ---- */

/* Every counter is always present, so that a misspelled name in a reader is an error. */
static const char *const names[] = {
#define COUNTER_NAME(name, meaning) #name,
	COUNTER_TABLE(COUNTER_NAME)
#undef COUNTER_NAME
};

static void do_stats(struct call *call)
{
	cJSON *devices = cJSON_AddObjectToObject(call->answer, "devices"), *one;
	struct device *dev;

	for (unsigned int n = 0; (dev = sim->device(sim->world, n)); n++) {
		one = cJSON_AddObjectToObject(devices, dev->name);
		for (unsigned int i = 0; i < COUNTERS; i++)
			cJSON_AddNumberToObject(one, names[i], (double)counted(&dev->counters, i));
	}
	sim->stats(sim->world, call->answer);
}

static void do_lose_interrupts(struct call *call)
{
	atomic_store(&call->dev->lose_irqs, call->number[0]);
}

static const struct command common[] = {
	{ "stats",		do_stats,		"all counters and states" },
	{ "D lose-interrupts N", do_lose_interrupts,	"so many interrupts get lost" },
	{ }
};

/* ---- words ---- */

bool call_number(const char *word, uint32_t *number)
{
	char *end;
	unsigned long value;

	if (!isdigit((unsigned char)*word))
		return false;
	value = strtoul(word, &end, 10);
	*number = value;
	return !*end && value <= MAX_NUMBER;
}

static bool call_device(struct call *call, const char *word)
{
	for (unsigned int n = 0; (call->dev = sim->device(sim->world, n)); n++) {
		if (!strcmp(call->dev->name, word))
			return true;
	}
	return false;
}

static bool take_word(struct call *call, const char *kind, size_t len, const char *word)
{
	if (len > 1 || !isupper((unsigned char)*kind))
		return strlen(word) == len && !strncmp(kind, word, len);
	if (*kind == 'N')
		return call_number(word, &call->number[call->numbers++]);
	return *kind == 'D' ? call_device(call, word) : sim->take(call, *kind, word);
}

static bool matches(struct call *call, const char *pattern, char **word, unsigned int words)
{
	unsigned int at = 0;
	size_t len;

	memset(call, 0, sizeof(*call));
	call->world = sim->world;
	for (; *pattern; pattern += len + (pattern[len] == ' '), at++) {
		len = strcspn(pattern, " ");
		if (at >= words || !take_word(call, pattern, len, word[at]))
			return false;
	}
	return at == words;
}

static bool run_one_of(const struct command *row, char **word, unsigned int words, cJSON *answer)
{
	struct call call;

	for (; row->pattern; row++) {
		if (!matches(&call, row->pattern, word, words))
			continue;
		cJSON_AddBoolToObject(answer, "ok", true);
		call.answer = answer;
		if (call.lock)
			pthread_rwlock_wrlock(call.lock);
		row->run(&call);
		if (call.lock)
			pthread_rwlock_unlock(call.lock);
		return true;
	}
	return false;
}

static void explain(cJSON *answer)
{
	cJSON *usage;

	cJSON_AddBoolToObject(answer, "ok", false);
	cJSON_AddStringToObject(answer, "error", "no such command");
	usage = cJSON_AddObjectToObject(answer, "usage");
	for (const struct command *row = common; row->pattern; row++)
		cJSON_AddStringToObject(usage, row->pattern, row->help);
	for (const struct command *row = sim->commands; row->pattern; row++)
		cJSON_AddStringToObject(usage, row->pattern, row->help);
}

/* Execute a line, which is modified; free() the answer. */
static char *execute(char *line)
{
	char *word[CALL_WORDS], *save, *next, *text;
	cJSON *answer = cJSON_CreateObject();
	unsigned int words = 0;

	for (next = strtok_r(line, " \r\n", &save); next && words < CALL_WORDS;
	     next = strtok_r(NULL, " \r\n", &save))
		word[words++] = next;
	if (next)	/* more words than any command has */
		words = 0;
	if (!run_one_of(common, word, words, answer) &&
	    !run_one_of(sim->commands, word, words, answer))
		explain(answer);
	text = cJSON_PrintUnformatted(answer);
	cJSON_Delete(answer);
	return text;
}

/* ---- the control socket ---- */

static void serve_lines(FILE *in, FILE *out)
{
	char line[LINE], *answer;

	while (fgets(line, sizeof(line), in)) {
		answer = execute(line);
		if (!answer)
			return;
		fprintf(out, "%s\n", answer);
		free(answer);
		if (fflush(out))
			return;
	}
}

/* Accept a client, serve it until it disconnects or is silent for a while. */
static void serve(int listener)
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
		serve_lines(in, out);
	if (out)
		fclose(out);
	if (in)
		fclose(in);
}

/* ---- all ---- */

static int start(const char *dir, int *control)
{
	char path[PATH_MAX];
	struct device *dev;
	int rc = 0;

	snprintf(path, sizeof(path), "%s/control", dir);
	*control = listen_at(path);
	if (*control < 0)
		return *control;
	changed = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (changed < 0)
		return -errno;
	for (unsigned int n = 0; !rc && (dev = sim->device(sim->world, n)); n++)
		rc = device_start(dev);
	return rc;
}

/* Wait for a command or for the next time. */
static void wait(struct pollfd *p, uint64_t next)
{
	uint64_t now = time_now(), left = next > now ? next - now : 0;
	struct timespec limit = { left / 1000000, left % 1000000 * 1000 };

	ppoll(p, 2, next == TIME_NEVER ? NULL : &limit, NULL);
}

int simulator_run(const struct simulator *this, const char *dir)
{
	struct pollfd p[2] = { { .events = POLLIN }, { .events = POLLIN } };
	uint64_t times;
	int rc;

	sim = this;
	signal(SIGPIPE, SIG_IGN);
	rc = start(dir, &p[1].fd);
	if (rc) {
		fprintf(stderr, "%s: %s: %s\n", sim->name, dir, strerror(-rc));
		return 1;
	}
	puts("ready");
	fflush(stdout);
	for (p[0].fd = changed;;) {
		wait(p, sim->tick(sim->world, time_now()));
		if ((p[0].revents & POLLIN) && read(changed, &times, sizeof(times)) < 0 &&
		    errno != EAGAIN)
			return 1;
		if (p[1].revents & POLLIN)
			serve(p[1].fd);
	}
}
