// SPDX-License-Identifier: GPL-2.0
/*
 * openmetrics.c - the text format of OpenMetrics 1.0, in that subset which is also valid for
 * readers of the older text format of Prometheus
 */
#include <inttypes.h>
#include <string.h>

#include "kfi.h"
#include "metrics.h"

static FILE *to;
static const char *family;
static enum om_type type;

static const char *const units[] = { "bytes", "ratio", "bits_per_second" };

void om_begin(FILE *file)
{
	to = file;
}

static const char *unit_of(const char *name)
{
	size_t i, len = strlen(name), unit;

	for (i = 0; i < ARRAY_SIZE(units); i++) {
		unit = strlen(units[i]);
		if (len > unit && name[len - unit - 1] == '_' && !strcmp(name + len - unit, units[i]))
			return units[i];
	}
	return NULL;
}

void om_family(const char *name, enum om_type of_type, const char *help)
{
	const char *unit = unit_of(name);

	family = name;
	type = of_type;
	fprintf(to, "# TYPE %s %s\n", name, type == OM_COUNTER ? "counter" : "gauge");
	if (unit)
		fprintf(to, "# UNIT %s %s\n", name, unit);
	fprintf(to, "# HELP %s %s.\n", name, help);
}

/*
 * Names can come from peers. Bytes that are no printable ASCII, and "%", become %XX, so that the
 * output is valid UTF-8, and two names do not become equal.
 */
static void put_value(const char *value)
{
	const unsigned char *at;

	for (at = (const unsigned char *)value; *at; at++) {
		if (*at == '\\' || *at == '"')
			fprintf(to, "\\%c", *at);
		else if (*at == '\n')
			fputs("\\n", to);
		else if (*at < ' ' || *at > '~' || *at == '%')
			fprintf(to, "%%%02X", *at);
		else
			putc(*at, to);
	}
}

static void put_name(const struct om_label *labels)
{
	const struct om_label *at;

	fprintf(to, "%s%s", family, type == OM_COUNTER ? "_total" : "");
	for (at = labels; at && at->key; at++) {
		fprintf(to, "%c%s=\"", at == labels ? '{' : ',', at->key);
		put_value(at->value ? at->value : "");
		putc('"', to);
	}
	fputs(labels && labels->key ? "} " : " ", to);
}

void om_sample(const struct om_label *labels, uint64_t value)
{
	put_name(labels);
	fprintf(to, "%" PRIu64 "\n", value);
}

void om_sample_double(const struct om_label *labels, double value)
{
	put_name(labels);
	fprintf(to, "%g\n", value);
}

void om_end(void)
{
	fputs("# EOF\n", to);
}
