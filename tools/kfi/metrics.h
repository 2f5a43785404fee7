/* SPDX-License-Identifier: GPL-2.0 */
/* metrics.h - shared by metrics.c, mirror_metrics.c and openmetrics.c: families of samples */
#ifndef KFI_TOOL_METRICS_H
#define KFI_TOOL_METRICS_H

#include <stdint.h>
#include <stdio.h>

/*
 * node_exporter reads files in the older text format of Prometheus, which knows no type "info".
 * These two types are in both formats.
 */
enum om_type {
	OM_GAUGE,
	OM_COUNTER,
};

#define OM_LABELS	4	/* maximum of a sample */

struct om_label {
	const char *key;
	const char *value;
};

/* ---- openmetrics.c ---- */

/* The families that follow are written to @file. */
void om_begin(FILE *file);
/*
 * Begin a family. @name: without _total; if it ends with a unit, such as _bytes, that is declared.
 * @help: a sentence without its full stop
 */
void om_family(const char *name, enum om_type type, const char *help);
/* Add a sample to the family. @labels: ends with a key that is NULL */
void om_sample(const struct om_label *labels, uint64_t value);
void om_sample_double(const struct om_label *labels, double value);
/* Write the last line. */
void om_end(void);

/* ---- mirror_metrics.c ---- */

/* Add the families of all mirrors. Return: an exit code, after a message. */
int mirror_metrics(void);

#endif /* KFI_TOOL_METRICS_H */
