/* SPDX-License-Identifier: GPL-2.0 */
/*
 * doctor.h - kfi doctor: a tree of files that says how a machine is, and the checks of it
 *
 * All that a check knows comes from a tree: of this machine, or of a copy that --report has made of
 * what the checks have read of another one. Tests are such trees, too.
 */
#ifndef KFI_TOOL_DOCTOR_H
#define KFI_TOOL_DOCTOR_H

#include <sys/stat.h>

#include "kfi.h"

/* ---- doctor_tree.c: what the checks read ---- */

struct tree;

/* @path: the folder that stands for /, or NULL for this machine. Return: NULL after a message */
struct tree *tree_open(const char *path);
void tree_close(struct tree *tree);
/* Is this the machine on which the command runs, so that the kernel can be asked? */
bool tree_is_live(const struct tree *tree);
/* The folder that stands for /, or "" */
const char *tree_path(const struct tree *tree);
/* Number of things that could not be looked at, each of which was named in a message */
size_t tree_unseen(const struct tree *tree);
void tree_add_unseen(struct tree *tree);

/*
 * The text of a file, without the line break at its end; NULL if there is none. It belongs to the
 * tree, and the report has it: never call this for a file that may have a secret.
 */
const char *tree_text(struct tree *tree, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/*
 * The same for a file that may have secrets, or has much besides: of its pieces, which one of
 * @between ends, this and the report have those that @keep chooses.
 */
const char *tree_pick(struct tree *tree, const char *between, bool (*keep)(const char *piece),
		      const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/*
 * What a module's file says of itself: its words srcversion= and vermagic=, and the word
 * "signature" if it is signed. NULL: there is no such file, or it is compressed.
 */
const char *tree_module(struct tree *tree, const char *path);
/* Is there such a file or folder? Nothing is read of it. @mode may be NULL. */
bool tree_has(struct tree *tree, mode_t *mode, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* The last name in the target of a symbolic link, or NULL */
const char *tree_link(struct tree *tree, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Call @each, if any, for each entry of a folder, in the order of names. Return: number of them */
size_t tree_each(struct tree *tree, void (*each)(void *arg, const char *name), void *arg,
		 const char *path);
/* Let the report have a text, and later calls of tree_text() return it. */
const char *tree_note(struct tree *tree, const char *path, const char *text);
/*
 * Rows of @n columns, from the file kfi/@name of a tree that is a copy: a line for each, with tabs
 * between the columns, and "-" for what is missing; or of what was noted of this machine.
 * list_free() frees them. Return: false if there is no such file
 */
bool tree_rows(struct tree *tree, const char *name, size_t n, struct list *list);
/* Let the report have rows. */
void tree_note_rows(struct tree *tree, const char *name, const struct list *list);

/* ---- doctor_report.c ---- */

/* Something that was read */
enum seen_kind { SEEN_ABSENT, SEEN_FOLDER, SEEN_FILE, SEEN_LINK };

struct seen {
	struct seen *next;
	char *path;	/* without a / in front */
	enum seen_kind kind;
	mode_t mode;
	char *text;	/* of a file; target of a link */
	size_t len;
};

/* The first one, in the order in which things were read */
const struct seen *tree_first(const struct tree *tree);
/* Write a tar file of all that was read. Return: an exit code, after a message on failure */
int report_write(const struct tree *tree, const char *file);

/* ---- doctor.c ---- */

/**
 * struct other - the other machine, as the command line names it
 * @node: its address, or NULL
 * @provider: provider that leads there
 * @service: port of its server
 * @measure: measure for two seconds in each direction
 */
struct other {
	const char *node;
	const char *provider;
	const char *service;
	bool measure;
};

/**
 * struct doctor - one examination
 * @tree: what there is to read
 * @other: the other machine
 * @devices: rows of device_fields
 * @devices_known: these are all; otherwise it is not known which there are
 * @check: the check that runs now
 * @findings: the findings
 * @n: number of them
 * @figures: results of measurements
 * @asked: the port of the other machine was asked
 * @unknown: its name has no address
 * @port_error: what came of it: 0, or a positive error number
 */
struct doctor {
	struct tree *tree;
	struct other other;
	struct list devices;
	bool devices_known;
	const struct check *check;
	struct finding *findings;
	size_t n;
	char figures[256];
	bool asked, unknown;
	int port_error;
};

/**
 * struct check - one kind of fault
 * @name: name of the fault; scripts know it, so it stays
 * @run: looks for it, and calls found() for each place where it is
 * @why: why it matters
 * @mend: the command that mends it; %s stands for an argument of found()
 */
struct check {
	const char *name;
	void (*run)(struct doctor *d);
	const char *why;
	const char *mend;
};

struct finding {
	const struct check *check;
	char *what;
	char *mend;
};

/* Note a fault of the present check. @arg: what %s in its command stands for, or NULL */
void found(struct doctor *d, const char *arg, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Is a module loaded? */
bool loaded(struct doctor *d, const char *module);
/* Are there modules for the kernel that runs? Without these nothing else is worth a finding. */
bool is_built(struct doctor *d);

/* The checks of each file, up to one without a name */
extern const struct check checks_of_modules[], checks_of_machine[], checks_of_cables[],
			  checks_of_mirrors[], checks_of_target[], checks_of_other[];

#endif /* KFI_TOOL_DOCTOR_H */
