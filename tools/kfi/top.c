// SPDX-License-Identifier: GPL-2.0
/* top.c - kfi top: rates of endpoints, peers or ways, on a terminal or as lines */
#define _GNU_SOURCE	/* ppoll(), strverscmp() */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include <linux/kfi.h>

#include "kfi.h"

/* ---- views ---- */

#define KEYS	4	/* fields that name an object, in front of its figures */
#define COLUMNS	6

static const struct field ep_fields[] = {
	{ "endpoint", FIELD_U32, 0, KFI_A_EP_ID },
	{ "provider", FIELD_STRING, 0, KFI_A_PROV_NAME },
	{ "domain", FIELD_STRING, 0, KFI_A_DOMAIN_NAME },
	{ "type", FIELD_EP_TYPE, 0, KFI_A_EP_TYPE },
	{ "tx_bytes", FIELD_U64, KFI_A_STATS, KFI_STATS_A_TX_BYTES },
	{ "rx_bytes", FIELD_U64, KFI_A_STATS, KFI_STATS_A_RX_BYTES },
	{ "rma_in_bytes", FIELD_U64, KFI_A_STATS, KFI_STATS_A_RMA_IN_BYTES },
	{ "tx_ops", FIELD_U64, KFI_A_STATS, KFI_STATS_A_TX_OPS },
	{ "rx_ops", FIELD_U64, KFI_A_STATS, KFI_STATS_A_RX_OPS },
	{ "rma_in_ops", FIELD_U64, KFI_A_STATS, KFI_STATS_A_RMA_IN_OPS },
	{ "errors", FIELD_U64, KFI_A_STATS, KFI_STATS_A_ERRORS },
	{ "again", FIELD_U64, KFI_A_STATS, KFI_STATS_A_AGAIN },
};

static const struct field peer_fields[] = {
	{ "endpoint", FIELD_U32, 0, KFI_A_EP_ID },
	{ "provider", FIELD_STRING, 0, KFI_A_PROV_NAME },
	{ "domain", FIELD_STRING, 0, KFI_A_DOMAIN_NAME },
	{ "peer", FIELD_STRING, KFI_A_PEER, KFI_PEER_A_ADDR },
	{ "tx_bytes", FIELD_U64, KFI_A_PEER, KFI_PEER_A_TX_BYTES },
	{ "rx_bytes", FIELD_U64, KFI_A_PEER, KFI_PEER_A_RX_BYTES },
	{ "reconnects", FIELD_U64, KFI_A_PEER, KFI_PEER_A_RECONNECTS },
};

/**
 * struct column - a rate
 * @title: its title
 * @from: first field of which it is the sum
 * @to: last one
 */
struct column {
	const char *title;
	size_t from, to;
};

static const struct column ep_columns[COLUMNS] = {
	{ "tx B/s", 4, 4 }, { "rx B/s", 5, 6 }, { "tx op/s", 7, 7 }, { "rx op/s", 8, 9 },
	{ "errors/s", 10, 10 }, { "again/s", 11, 11 },
};

static const struct column peer_columns[COLUMNS] = {
	{ "tx B/s", 4, 4 }, { "rx B/s", 5, 5 }, { "reconn/s", 6, 6 },
};

/**
 * struct view - what the lines are about
 * @name: its name; the first letter is the key that selects it
 * @cmd: request for the objects
 * @fields: their fields
 * @n: number of fields
 * @first: first field that is shown; objects which are equal from there on are one line
 * @last: last field of the name
 * @columns: the rates; an empty title ends them
 */
static const struct view {
	const char *name;
	int cmd;
	const struct field *fields;
	size_t n, first, last;
	const struct column *columns;
} views[] = {
	{ "endpoints", KFI_CMD_GET_STATS, ep_fields, ARRAY_SIZE(ep_fields), 0, 3, ep_columns },
	{ "peers", KFI_CMD_GET_PEER, peer_fields, ARRAY_SIZE(peer_fields), 0, 3, peer_columns },
	{ "ways", KFI_CMD_GET_STATS, ep_fields, ARRAY_SIZE(ep_fields), 1, 2, ep_columns },
};

/* Orders of lines; a column follows SORT_TOTAL. */
static const char *const sorts[] = { "total", "tx", "rx" };
enum { SORT_TOTAL };

/**
 * struct top - the command
 * @nlx: the kernel
 * @view: what is shown
 * @sort: order of the lines
 * @interval: seconds
 * @batch: lines, not a screen
 * @left: number of outputs that are left, or 0 for no end
 * @old: objects of the last request
 * @now: objects of this request
 * @when: time of @old
 * @valid: @old is there
 */
struct top {
	struct nlx nlx;
	const struct view *view;
	size_t sort;
	double interval;
	bool batch;
	unsigned long left;
	struct list old, now;
	double when;
	bool valid;
};

/**
 * struct line - a line of the output
 * @row: a row of the objects, for the name
 * @rates: the columns
 */
struct line {
	char **row;
	double rates[COLUMNS];
};

/* ---- rates ---- */

static double clock_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static const struct top *sorted;	/* for the functions of qsort() */
static size_t first_key;

static int compare_keys(const void *x, const void *y)
{
	char **a = *(char ***)x, **b = *(char ***)y;
	size_t i;
	int ret;

	for (i = first_key; i <= sorted->view->last; i++) {
		ret = strverscmp(a[i] ? a[i] : "", b[i] ? b[i] : "");
		if (ret)
			return ret;
	}
	return 0;
}

static double order_of(const struct line *line)
{
	if (sorted->sort == SORT_TOTAL)
		return line->rates[0] + line->rates[1];
	return line->rates[sorted->sort - 1];
}

/* Lines of equal rates keep the order of their names, so that the screen is calm. */
static int compare_lines(const void *x, const void *y)
{
	const struct line *a = x, *b = y;
	double diff = order_of(b) - order_of(a);

	return diff > 0 ? 1 : diff < 0 ? -1 : compare_keys(&a->row, &b->row);
}

static uint64_t value_of(char **row, size_t i)
{
	return row && row[i] ? strtoull(row[i], NULL, 10) : 0;
}

/* An object that was not there, or that began again at 0, has done all of it since then. */
static uint64_t difference(char **old, char **now, size_t i)
{
	uint64_t before = value_of(old, i), after = value_of(now, i);

	return after < before ? after : after - before;
}

static void add_rates(const struct view *view, struct line *line, char **old, char **now,
		      double seconds)
{
	size_t c, i;

	for (c = 0; c < COLUMNS && view->columns[c].title; c++)
		for (i = view->columns[c].from; i <= view->columns[c].to; i++)
			line->rates[c] += difference(old, now, i) / seconds;
}

/* Return: the number of lines, in *@lines, which the caller frees */
static size_t make_lines(const struct top *top, double seconds, struct line **lines)
{
	const struct list *now = &top->now;
	char ***rows, ***found;
	struct line *line = NULL;
	size_t i, n = 0;

	*lines = calloc(now->nrows + 1, sizeof(**lines));
	rows = calloc(now->nrows + 1, sizeof(*rows));
	if (!*lines || !rows) {
		free(rows);
		return 0;
	}
	memcpy(rows, now->rows, now->nrows * sizeof(*rows));
	first_key = top->view->first;
	qsort(rows, now->nrows, sizeof(*rows), compare_keys);
	for (i = 0; i < now->nrows; i++) {
		first_key = top->view->first;
		if (!line || compare_keys(&line->row, &rows[i])) {
			line = &(*lines)[n++];
			line->row = rows[i];
		}
		first_key = 0;
		found = top->old.nrows ? bsearch(&rows[i], top->old.rows, top->old.nrows,
						 sizeof(*rows), compare_keys) : NULL;
		add_rates(top->view, line, found ? *found : NULL, rows[i], seconds);
	}
	free(rows);
	first_key = top->view->first;
	qsort(*lines, n, sizeof(**lines), compare_lines);
	return n;
}

/* Add the figures of @row to those of @to, and free it. */
static void merge_row(const struct view *view, char **to, char **row)
{
	char text[32];
	size_t i;

	for (i = 0; i < view->n; i++) {
		if (i > view->last) {
			snprintf(text, sizeof(text), "%" PRIu64,
				 value_of(to, i) + value_of(row, i));
			free(to[i]);
			to[i] = strdup(text);
		}
		free(row[i]);
	}
	free(row);
}

/* Order the objects by their names. Two connections of one name are one object. */
static void merge(const struct view *view, struct list *list)
{
	size_t i, n = 0;

	first_key = 0;
	if (list->nrows)
		qsort(list->rows, list->nrows, sizeof(*list->rows), compare_keys);
	for (i = 0; i < list->nrows; i++) {
		if (n && !compare_keys(&list->rows[n - 1], &list->rows[i]))
			merge_row(view, list->rows[n - 1], list->rows[i]);
		else
			list->rows[n++] = list->rows[i];
	}
	list->nrows = n;
}

/* Return: 0, or an exit code; run() has the message */
static int fetch(struct top *top)
{
	struct nlx *nlx = &top->nlx;

	list_begin(&top->now, top->view->fields, top->view->n, LAYOUT_TABLE, true);
	nlx->message = list_add;
	nlx->arg = &top->now;
	nlx->error = nlx_call(nlx, nlx_request(nlx, top->view->cmd, NLM_F_DUMP));
	if (!nlx->error) {
		merge(top->view, &top->now);
		return EXIT_OK;
	}
	list_free(&top->now);
	return EXIT_FAILED;
}

static void forget(struct top *top)
{
	if (top->valid)
		list_free(&top->old);
	top->old = (struct list){};
	top->valid = false;
}

/* The objects that are there now are those of the last request from here on. */
static void keep(struct top *top, double when)
{
	forget(top);
	top->old = top->now;
	top->when = when;
	top->valid = true;
}

/* ---- output ---- */

static void rate_text(double rate, char *buf, size_t size)
{
	static const char units[] = " kMGTP";
	size_t unit = 0;

	for (; rate >= 999.5 && units[unit + 1]; unit++)
		rate /= 1000;
	if (unit)
		snprintf(buf, size, "%.*f%c", rate < 99.95 ? 1 : 0, rate, units[unit]);
	else
		snprintf(buf, size, "%.0f", rate);
}

/* Names can come from peers: a terminal gets no control characters. */
static void put_cell(const char *text, int width)
{
	int n = 0;

	for (; text && *text; text++, n++)
		putchar(*text < ' ' || *text > '~' ? '?' : *text);
	printf("%*s  ", n < width ? width - n : 0, "");
}

static int widest(const struct view *view, const struct line *lines, size_t n, size_t field)
{
	size_t i, len, w = strlen(view->fields[field].key);

	for (i = 0; i < n; i++) {
		len = lines[i].row[field] ? strlen(lines[i].row[field]) : 0;
		if (len > w)
			w = len;
	}
	return w;
}

static void print_lines(const struct top *top, const struct line *lines, size_t n, size_t most)
{
	const struct view *view = top->view;
	const struct column *c;
	char text[32];
	size_t i, f;

	for (f = view->first; f <= view->last; f++)
		put_cell(view->fields[f].key, widest(view, lines, n, f));
	for (c = view->columns; c < view->columns + COLUMNS && c->title; c++)
		printf("%9s", c->title);
	putchar('\n');
	for (i = 0; i < n && i < most; i++) {
		for (f = view->first; f <= view->last; f++)
			put_cell(lines[i].row[f], widest(view, lines, n, f));
		for (c = view->columns; c < view->columns + COLUMNS && c->title; c++) {
			rate_text(lines[i].rates[c - view->columns], text, sizeof(text));
			printf("%9s", text);
		}
		putchar('\n');
	}
}

/* ---- the terminal ---- */

static struct termios before;
static atomic_bool ended, suspended;

static void on_signal(int sig)
{
	if (sig == SIGTSTP)
		suspended = true;
	else if (sig != SIGWINCH)
		ended = true;
}

/* These signals arrive in ppoll() only, so the screen is always restored. */
static void set_signals(sigset_t *outside)
{
	static const int all[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGTSTP, SIGWINCH };
	struct sigaction action = { .sa_handler = on_signal };
	sigset_t blocked;
	size_t i;

	sigemptyset(&blocked);
	for (i = 0; i < ARRAY_SIZE(all); i++) {
		sigaddset(&blocked, all[i]);
		sigaction(all[i], &action, NULL);
	}
	sigprocmask(SIG_BLOCK, &blocked, outside);
}

/* Another screen, no cursor, no line wrap; keys are read one by one and not shown. */
static void enter_screen(void)
{
	struct termios raw = before;

	raw.c_lflag &= ~(ICANON | ECHO);
	raw.c_cc[VMIN] = 0;
	raw.c_cc[VTIME] = 0;
	tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
	fputs("\033[?1049h\033[?25l\033[?7l", stdout);
}

static void leave_screen(void)
{
	fputs("\033[?7h\033[?25h\033[?1049l", stdout);
	fflush(stdout);
	tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
}

static size_t screen_lines(void)
{
	struct winsize size;

	return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_row ? 24 : size.ws_row;
}

static void print(const struct top *top, const struct line *lines, size_t n)
{
	size_t rows;

	if (top->batch) {
		print_lines(top, lines, n, n);
		putchar('\n');
		return;
	}
	rows = screen_lines();
	printf("\033[H\033[Jkfi top: %s by %s, every %g s   ", top->view->name, sorts[top->sort],
	       top->interval);
	puts("e p w: endpoints, peers, ways   s: sort   q: quit");
	print_lines(top, lines, n, rows > 3 ? rows - 3 : 1);
	if (!top->valid)
		puts("(measures)");
	else if (!n)
		printf("no %s\n", top->view->name);
}

static void handle_key(struct top *top, char key)
{
	size_t i;

	if (key == 'q')
		ended = true;
	if (key == 's')
		top->sort = (top->sort + 1) % ARRAY_SIZE(sorts);
	for (i = 0; i < ARRAY_SIZE(views); i++) {
		if (key != *views[i].name || top->view == &views[i])
			continue;
		forget(top);
		top->view = &views[i];
	}
}

static void stop(const struct top *top)
{
	if (!top->batch)
		leave_screen();
	suspended = false;
	kill(getpid(), SIGSTOP);
	if (!top->batch)
		enter_screen();
}

/* Wait until @until, or until there is a key or a signal. */
static void wait_until(struct top *top, double until, const sigset_t *outside)
{
	struct pollfd pfd = { .fd = top->batch ? -1 : STDIN_FILENO, .events = POLLIN };
	double left = until - clock_now();
	struct timespec t = {};
	char key;
	int ret;

	if (left > 0) {
		t.tv_sec = left;
		t.tv_nsec = (left - t.tv_sec) * 1e9;
	}
	ret = ppoll(&pfd, 1, &t, outside);
	if (suspended)
		stop(top);
	if (ret > 0 && read(STDIN_FILENO, &key, 1) == 1)
		handle_key(top, key);
	else if (ret > 0 || (ret < 0 && errno != EINTR))
		ended = true;	/* the terminal has gone */
}

/* ---- the command ---- */

/* Ask the kernel, and print what is new since the last time. Return: 0, or an exit code */
static int step(struct top *top)
{
	double when = clock_now();
	struct line *lines = NULL;
	size_t n;
	int ret = fetch(top);

	if (ret)
		return ret;
	if (!top->valid) {
		if (!top->batch)
			print(top, NULL, 0);
	} else {
		n = make_lines(top, when - top->when + 1e-9, &lines);
		print(top, lines, n);
		free(lines);
		if (top->left && !--top->left)
			ended = true;
	}
	keep(top, when);
	return json_finish();
}

static int run(struct top *top)
{
	const struct view *view;
	sigset_t outside;
	double until;
	int ret;

	set_signals(&outside);
	if (!top->batch)
		enter_screen();
	do {
		until = clock_now() + top->interval;
		view = top->view;
		ret = step(top);
		while (!ret && !ended && view == top->view && clock_now() < until)
			wait_until(top, until, &outside);
	} while (!ret && !ended);
	if (!top->batch)
		leave_screen();
	if (top->nlx.error)
		nlx_complain(&top->nlx, "asking the kernel");
	forget(top);
	return ret;
}

static const char usage[] =
	"Usage: kfi top [-b] [-d SECONDS] [-n N] [-s ORDER] [endpoints | peers | ways]\n\n"
	"Show repeatedly what moves data: rates of endpoints, peers, or ways (the domains of\n"
	"providers: an interface, a cable, a bridge). Keys: e, p, w choose one of these, s sorts\n"
	"in another order, q ends the command.\n\n"
	"  -b, --batch          lines for a script instead of a screen\n"
	"  -d, --delay SECONDS  time between two outputs, 0.1 to 3600 (2)\n"
	"  -n, --count N        end after N outputs\n"
	"  -s, --sort ORDER     total, tx or rx: the bytes by which the lines are sorted\n";

static bool parse_delay(const char *text, double *delay)
{
	char *end;

	*delay = strtod(text, &end);
	return end != text && !*end && *delay >= 0.1 && *delay <= 3600;
}

static bool parse_sort(const char *text, size_t *sort)
{
	for (*sort = 0; *sort < ARRAY_SIZE(sorts); ++*sort)
		if (!strcmp(sorts[*sort], text))
			return true;
	return false;
}

static int parse(struct top *top, int argc, char **argv)
{
	static const struct option longs[] = {
		COMMON_LONG,
		{ "batch", no_argument, NULL, 'b' },
		{ "delay", required_argument, NULL, 'd' },
		{ "count", required_argument, NULL, 'n' },
		{ "sort", required_argument, NULL, 's' },
		{}
	};
	uint64_t count;
	size_t i;
	int opt;

	while ((opt = getopt_long(argc, argv, COMMON_SHORT "bd:n:s:", longs, NULL)) != -1) {
		if (common_option(opt))
			continue;
		if (opt == 'b') {
			top->batch = true;
		} else if (opt == 'd') {
			if (!parse_delay(optarg, &top->interval))
				return usage_error("top", "'%s' makes no sense for --delay",
						   optarg);
		} else if (opt == 'n') {
			if (!parse_size(optarg, UINT32_MAX, &count) || !count)
				return usage_error("top", "'%s' makes no sense for --count",
						   optarg);
			top->left = count;
		} else if (opt == 's') {
			if (!parse_sort(optarg, &top->sort))
				return usage_error("top", "'%s' makes no sense for --sort", optarg);
		} else {
			fputs(usage, opt == 'h' ? stdout : stderr);
			return opt == 'h' ? EXIT_OK : EXIT_USAGE;
		}
	}
	for (i = 0; optind < argc && i < ARRAY_SIZE(views); i++)
		if (*argv[optind] && !strncmp(views[i].name, argv[optind], strlen(argv[optind])))
			break;
	if (i == ARRAY_SIZE(views))
		return usage_error("top", "there are endpoints, peers and ways, not '%s'",
				   argv[optind]);
	if (optind < argc)
		top->view = &views[i];
	if (optind + 1 < argc)
		return usage_error("top", "too many words: '%s'", argv[optind + 1]);
	if (options.json)
		return usage_error("top", "this is no JSON; 'kfi stats -j' is");
	return -1;
}

int cmd_top(int argc, char **argv)
{
	struct top top = { .view = views, .interval = 2 };
	int ret = parse(&top, argc, argv);

	if (ret >= 0)
		return ret;
	if (!top.batch && (!isatty(STDOUT_FILENO) || tcgetattr(STDIN_FILENO, &before)))
		return usage_error("top", "this is no terminal; --batch prints lines");
	sorted = &top;
	ret = nlx_open(&top.nlx, KFI_GENL_NAME, "kfi");
	if (ret)
		return ret;
	ret = run(&top);
	nlx_close(&top.nlx);
	return ret;
}
