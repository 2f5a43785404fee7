// SPDX-License-Identifier: GPL-2.0
/*
 * The traces over libfabric: trace PROVIDER NODE SEED [PART-OF-A-NAME]. Each case has its own
 * process, because some providers abort.
 */
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "trace.h"

#define CASE_SECONDS	20
#define CASE_TRIES	3	/* libfabric's tcp provider may crash on a busy CPU */
#define AT_ONCE		6

void *port_alloc(size_t len)
{
	void *buf = calloc(1, len);

	if (!buf)
		abort();
	return buf;
}

void port_free(void *buf)
{
	free(buf);
}

/* One system call for each line, so that no line is lost when a case dies. */
void port_line(const char *text)
{
	char line[400];
	int len = snprintf(line, sizeof(line), "%s\n", text);

	if (write(STDOUT_FILENO, line, len) != len)
		abort();
}

uint64_t port_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000ULL + now.tv_nsec / 1000000;
}

void port_nap(void)
{
	usleep(200);
}

int port_cq_open(struct kfid_domain *domain, struct kfi_cq_attr *attr, struct kfid_cq **cq)
{
	return kfi_cq_open(domain, attr, cq, NULL);
}

int port_eq_open(struct kfid_fabric *fabric, struct kfi_eq_attr *attr, struct kfid_eq **eq)
{
	return kfi_eq_open(fabric, attr, eq, NULL);
}

/* ---- several cases at a time, because they mostly wait ---- */

static struct {
	pid_t			pid;
	const struct trace_case	*c;
	int			tries;
} running[AT_ONCE];

static void start(struct run *r, const struct trace_case *c, int tries)
{
	int i = 0;

	while (running[i].pid)
		i++;
	running[i].c = c;
	running[i].tries = tries;
	running[i].pid = fork();
	if (running[i].pid < 0)
		abort();
	if (running[i].pid)
		return;
	alarm(CASE_SECONDS);
	trace_run(r, c);
	_exit(0);
}

/* Wait until a case has returned, or has died each time. Records before "again" do not count. */
static void reap(struct run *r)
{
	int status, i;
	pid_t pid;

	for (;;) {
		status = 0;
		pid = wait(&status);
		for (i = 0; running[i].pid != pid; i++)
			;
		running[i].pid = 0;
		r->c = running[i].c;
		if (!status || running[i].tries == CASE_TRIES)
			break;
		say(r, "again");
		start(r, running[i].c, running[i].tries + 1);
	}
	/* Some libraries turn a signal into an exit code. */
	say(r, "end by=%s", status ? "death" : "return");
}

int main(int argc, char **argv)
{
	const struct trace_case *c;
	struct run *r;
	int i, busy = 0;

	if (argc < 4)
		return 2;
	r = port_alloc(sizeof(*r));
	r->provider = argv[1];
	r->node = argv[2];
	r->seed = strtoull(argv[3], NULL, 0);
	port_line("PARITY begin");
	for (i = 0; i < trace_count(); i++) {
		c = trace_case(r->seed, i);
		if (argc > 4 && !strstr(c->name, argv[4]))
			continue;
		if (busy == AT_ONCE)
			reap(r);
		else
			busy++;
		start(r, c, 1);
	}
	while (busy--)
		reap(r);
	port_line("PARITY end");
	return 0;
}
