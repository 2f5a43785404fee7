// SPDX-License-Identifier: GPL-2.0
/* json.c - JSON to the standard output, without a document in memory */
#include <math.h>
#include <string.h>

#include "kfi.h"

static unsigned int depth;
static bool follows;	/* this object or array already has an element */

static void new_line(void)
{
	if (!options.pretty)
		return;
	printf("\n%*s", (int)(2 * depth), "");
}

static void put_quoted(const char *s)
{
	putchar('"');
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			printf("\\%c", *s);
		else if ((unsigned char)*s < 0x20)
			printf("\\u%04x", *s);
		else
			putchar(*s);
	}
	putchar('"');
}

static void put_key(const char *key)
{
	if (follows)
		putchar(',');
	if (depth)
		new_line();
	follows = true;
	if (!key)
		return;
	put_quoted(key);
	fputs(options.pretty ? ": " : ":", stdout);
}

void json_begin(const char *key, char bracket)
{
	put_key(key);
	putchar(bracket);
	depth++;
	follows = false;
}

void json_end(char bracket)
{
	depth--;
	if (follows)
		new_line();
	putchar(bracket);
	follows = true;
	if (!depth) {
		putchar('\n');
		follows = false;
	}
}

void json_string(const char *key, const char *value)
{
	put_key(key);
	put_quoted(value);
}

void json_u64(const char *key, uint64_t value)
{
	put_key(key);
	printf("%llu", (unsigned long long)value);
}

void json_double(const char *key, double value)
{
	put_key(key);
	if (isfinite(value))
		printf("%.6g", value);
	else
		fputs("null", stdout);
}

void json_bool(const char *key, bool value)
{
	put_key(key);
	fputs(value ? "true" : "false", stdout);
}

void json_null(const char *key)
{
	put_key(key);
	fputs("null", stdout);
}

int json_finish(void)
{
	if (!fflush(stdout) && !ferror(stdout))
		return EXIT_OK;
	complain("cannot write the output");
	return EXIT_FAILED;
}
