/* SPDX-License-Identifier: GPL-2.0 */
/* kfi.h - shared by the parts of the kfi command */
#ifndef KFI_H
#define KFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <netlink/netlink.h>
#include <netlink/msg.h>
#include <netlink/attr.h>

#include "../../include/kfi_version.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* Exit codes */
enum {
	EXIT_OK		= 0,
	EXIT_FAILED	= 1,	/* the system has refused, or data was wrong */
	EXIT_USAGE	= 2,	/* the command line is invalid */
	EXIT_CANCELED	= 130,	/* Ctrl-C */
};

/* Global options */
extern struct options {
	bool json;
	bool pretty;
} options;

/* ---- main.c: verbs ---- */

struct verb {
	const char *name;
	const char *help;	/* one line */
	int (*run)(int argc, char **argv);
};

/* Run the verb of which argv[0] is a prefix, or print a list of the verbs. */
int run_verb(const char *of, const struct verb *verbs, size_t n, int argc, char **argv,
	     void (*usage)(FILE *to));
/* Handle an option that all verbs take. Return: true if it was one. */
bool common_option(int opt);
#define COMMON_SHORT "hj"
#define COMMON_LONG							\
	{ "help", no_argument, NULL, 'h' },				\
	{ "json", no_argument, NULL, 'j' },				\
	{ "pretty", no_argument, NULL, OPT_PRETTY }
enum { OPT_PRETTY = 256, OPT_FIRST_FREE };

void complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Return @p; without memory the command ends with a message. */
void *must(void *p);
int usage_error(const char *verb, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

int cmd_doctor(int argc, char **argv);
int cmd_info(int argc, char **argv);
int cmd_map(int argc, char **argv);
int cmd_metrics(int argc, char **argv);
int cmd_provider(int argc, char **argv);
int cmd_show(int argc, char **argv);
int cmd_stats(int argc, char **argv);
int cmd_mirror(int argc, char **argv);
int cmd_perf(int argc, char **argv);
int cmd_top(int argc, char **argv);

/* ---- nl.c: generic netlink ---- */

/**
 * struct nlx - a socket and the family that it communicates with
 * @sk: the socket
 * @family: number of the family
 * @module: module that provides the family
 * @error: error of the present request: 0, or a positive error number
 * @text: message of the kernel about the error
 * @done: the answer is complete
 * @message: called for each message
 * @arg: argument of @message
 */
struct nlx {
	struct nl_sock *sk;
	int family;
	const char *module;
	int error;
	char text[256];
	bool done;
	void (*message)(struct nlmsghdr *nlh, void *arg);
	void *arg;
};

/* Return: 0, or an exit code after a message */
int nlx_open(struct nlx *nlx, const char *family, const char *module);
void nlx_close(struct nlx *nlx);
struct nl_msg *nlx_request(struct nlx *nlx, int cmd, int flags);
/* Send and free @msg, and handle messages until it is answered. Return: 0, or a positive error. */
int nlx_call(struct nlx *nlx, struct nl_msg *msg);
/*
 * Handle messages that have arrived; wait at most @ms milliseconds. Return: false on an error of
 * the socket.
 */
bool nlx_wait(struct nlx *nlx, int ms);
void nlx_complain(const struct nlx *nlx, const char *what);

/* ---- json.c ---- */

void json_begin(const char *key, char bracket);
void json_end(char bracket);
void json_string(const char *key, const char *value);
void json_u64(const char *key, uint64_t value);
void json_double(const char *key, double value);
void json_bool(const char *key, bool value);
void json_null(const char *key);
/* Flush the output. Return: 0, or an exit code after a message */
int json_finish(void);

/* ---- text.c: names of numbers ---- */

const char *error_text(int err);
const char *ep_type_name(uint32_t type);
int ep_type_parse(const char *name);
void caps_text(uint64_t caps, char *buf, size_t size);
void mr_mode_text(uint64_t mode, char *buf, size_t size);
const char *protocol_name(uint64_t protocol);
const char *addr_format_name(uint32_t format);
const char *ep_state_name(uint32_t state);
/* Parse "64k", "1M", "1000". Return: false if @text is not such a number, or more than @max */
bool parse_size(const char *text, uint64_t max, uint64_t *value);
void size_text(uint64_t bytes, char *buf, size_t size);

/* ---- modules.c ---- */

/* The name of the module of this index, as sysfs has it; NULL behind the last one */
const char *module_name(size_t i);
/* Print the modules that are loaded. Return: an exit code, after a message on failure. */
int modules_show(void);
/*
 * Call @see for each module that is loaded. Return: the number of modules, or -1 after a message.
 */
int modules_each(void (*see)(const char *module, const char *version, const char *build,
			     void *arg), void *arg);
/* Is the module of this name loaded? */
bool module_loaded(const char *module);

/* ---- trust.c: files that this command obeys ---- */

/**
 * enum trusted - what is to be opened
 * @TRUSTED_FILE: a regular file
 * @TRUSTED_SECRET: a regular file that only its owner may read
 * @TRUSTED_FOLDER: a folder
 */
enum trusted {
	TRUSTED_FILE,
	TRUSTED_SECRET,
	TRUSTED_FOLDER,
};

/*
 * Open what no user but root and the caller can change. Return: a file descriptor, or -1 after a
 * message.
 */
int open_trusted(const char *path, enum trusted kind);

/* ---- fields.c: objects as tables and JSON ---- */

enum field_kind {
	FIELD_STRING,
	FIELD_U32,
	FIELD_U64,
	FIELD_VERSION,
	FIELD_EP_TYPE,
	FIELD_EP_STATE,
	FIELD_CAPS,
	FIELD_MR_MODE,
	FIELD_PROTOCOL,
	FIELD_FORMAT,
	FIELD_HEX,
	FIELD_IPV4,
};

/**
 * struct field - a property of an object
 * @key: its name, in JSON and as a column
 * @kind: type of its value
 * @nest: 0, or the nested attribute that contains it
 * @attr: its attribute
 * @detail: not a column of the table
 */
struct field {
	const char *key;
	enum field_kind kind;
	int nest;
	int attr;
	bool detail;
};

/**
 * enum layout - form of the text output of objects
 */
enum layout {
	LAYOUT_TABLE,
	LAYOUT_BLOCKS,
};

struct list {
	const struct field *fields;
	size_t n;
	enum layout layout;
	bool details;
	char ***rows;
	size_t nrows;
	size_t count;	/* of objects, also if they became JSON */
};

void list_begin(struct list *list, const struct field *fields, size_t n, enum layout layout,
		bool details);
/* Callback for messages: add one more object. */
void list_add(struct nlmsghdr *nlh, void *list);
int list_end(struct list *list);
/*
 * Request a dump and keep it in @list->rows, of which each has @n strings or NULL. The module kfi
 * has to be loaded. Return: 0, or a positive error number without a message; the list has to be
 * freed in either case.
 */
int list_fetch(int cmd, const struct field *fields, size_t n, struct list *list);
/* Instead of list_end(), or after list_fetch(): print nothing. */
void list_free(struct list *list);
/*
 * Request a dump and print it as a list. @ep_id: the number of an endpoint, or 0; it is an error
 * if there is no such endpoint. Return: 0, or an exit code after a message.
 */
int dump_list(int cmd, const struct field *fields, size_t n, enum layout layout, bool details,
	      uint32_t ep_id);

/* ---- devices.c: what providers say of themselves ---- */

extern const struct field provider_fields[2];
/* Columns of device_fields */
enum { DEVICE_PROVIDER, DEVICE_NAME, DEVICE_PART, DEVICE_STATE, DEVICE_HELP, DEVICE_FIELDS };
extern const struct field device_fields[DEVICE_FIELDS];

/* Does a node as users write it mean this device? "two", "two.0" and "two.0/peer" mean two.0. */
bool device_is_meant(const char *node, const char *device);
/* Is one of the words of "two.0, left" this one, or what stands before its "/peer"? */
bool has_word(const char *words, const char *word);
/* Is a part of a device the one that joins both machines, and is it up? */
bool part_is_link(const char *part);
bool link_is_up(const char *state);
/* Complain about a provider that serves nothing of what was asked. @provider: NULL for any */
void complain_unserved(const char *provider, const char *node);
/*
 * Say why nothing gets through to a node, if a device of the provider knows: its cable is out, for
 * one. Return: false if no device says so.
 */
bool complain_links(const char *provider, const char *node);

/* ---- perf.c, perf_run.c ---- */

#define PERF_PORT "971"	/* below 1024: kfi_sockets(7), SECURITY */
#define PERF_PROVIDER "sockets"

int perf_run(int argc, char **argv);
/*
 * Measure for two seconds how fast large messages go to a server, or come from there. @op: enum
 * kfi_perf_op. Return: 0 with the result, or an exit code after a message
 */
int perf_bandwidth(const char *provider, const char *node, const char *service, uint32_t op,
		   double *mb_per_s);

#endif /* KFI_H */
