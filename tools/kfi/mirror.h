/* SPDX-License-Identifier: GPL-2.0 */
/* mirror.h - shared by mirror*.c: the mirrors of kfi_mirror.ko, as device-mapper describes them */
#ifndef KFI_TOOL_MIRROR_H
#define KFI_TOOL_MIRROR_H

#include "kfi.h"

/* Maximum number of words of a status or table line; later words are dropped. */
#define MIRROR_WORDS	192

#define MIRROR_PEERS	4

/**
 * struct words - a line that is split at its blanks
 * @line: the line, with a 0 after each word
 * @n: number of words
 * @at: the words
 */
struct words {
	char *line;
	size_t n;
	const char *at[MIRROR_WORDS];
};

/**
 * struct mirror_peer - one of several peers of a mirror
 * @node: its address
 * @service: its service
 * @session: state of the session
 * @out_of_sync: regions that differ
 * @percent: progress of the resynchronisation
 * @lag: records that the peer has not applied
 * @outage: number of the outage, valid if @frozen
 * @frozen: writes are held until this peer is back, or 'fenced' is sent
 * @state: remarks about the peer, separated by commas
 */
struct mirror_peer {
	const char *node;
	const char *service;
	const char *session;
	uint64_t out_of_sync;
	uint64_t percent;
	uint64_t lag;
	uint64_t outage;
	bool frozen;
	char state[256];
};

/**
 * struct mirror - a mirror, from its status and its table; see kfi_mirror(7)
 * @next: next mirror of a list
 * @name: name of the device
 * @sectors: size
 * @peer_sectors: size of the shortest peer, as far as this node knows; @sectors if it is the same
 * @suspended: device-mapper has suspended it
 * @status: words of the status
 * @table: words of the table
 * @role: "primary", "secondary"
 * @session: state of the session
 * @copy: state of this node's copy
 * @state: remarks of the status, separated by commas, and "resync" and "suspended"
 * @out_of_sync: regions that differ
 * @regions: regions of the bitmap
 * @region_bytes: bytes of a region
 * @percent: progress of the resynchronisation
 * @lag: records that the peer has not applied
 * @writes: writes in flight
 * @outage: number of the outage, valid if @frozen
 * @frozen: writes are held until the peer is back, or 'fenced' is sent
 * @resync: a resynchronisation runs
 * @policy: policy for a lost peer
 * @timeout_ms: time after which a peer that sends nothing is lost
 * @rate_kib: limit of a resynchronisation in KiB a second, 0 for none
 * @peers: the peers, if there are several; the members above describe the worst of them
 * @npeers: number of them, 0 if there is only one peer
 */
struct mirror {
	struct mirror *next;
	char *name;
	uint64_t sectors;
	uint64_t peer_sectors;
	bool suspended;
	struct words status;
	struct words table;
	const char *role;
	const char *session;
	const char *copy;
	char state[256];
	uint64_t out_of_sync;
	uint64_t regions;
	uint64_t region_bytes;
	uint64_t percent;
	uint64_t lag;
	uint64_t writes;
	uint64_t outage;
	uint64_t equal_kib;
	bool frozen;
	bool resync;
	const char *policy;
	uint64_t timeout_ms;
	uint64_t rate_kib;
	uint64_t rate_min_kib;
	struct mirror_peer peers[MIRROR_PEERS];
	size_t npeers;
};

#define MIRROR_INTERNAL	"internal"	/* metadata, or a log, on the leg */

/* Words of a table line before its options */
enum {
	TABLE_LEG, TABLE_META, TABLE_LOG, TABLE_PROVIDER, TABLE_NODE, TABLE_SERVICE,
	TABLE_PEER_NODE, TABLE_PEER_SERVICE, TABLE_POLICY, TABLE_FIXED
};

/* ---- mirror_dm.c: device-mapper ---- */

/*
 * Find the mirror @name, or all mirrors if @name is NULL, in the order of their names. An empty
 * list is not an error. Return: an exit code, after a message on failure.
 */
int mirror_find(const char *name, struct mirror **list);
void mirror_free(struct mirror *list);
/* Is there a device of this name? Return: an exit code, after a message. */
int mirror_exists(const char *name, bool *exists);
/* Is the device suspended? */
bool mirror_suspended(const char *name);
/*
 * Send a message to a target. Return: 0; a positive error number of the target; or -1 for another
 * error, which was reported.
 */
int mirror_send(const char *name, const char *message);
/* Do these remarks contain the word? */
bool mirror_remark(const char *state, const char *word);
/* What these remarks say behind the word; "0" if they do not contain it */
const char *mirror_remark_value(const char *state, const char *word);
/* Does the mirror have this table? The kernel shows a device by its numbers. */
bool mirror_has_table(const struct mirror *m, uint64_t sectors, const char *table);
/* Make a device with this table, and wait for its node. Return: an exit code, after a message. */
int mirror_create(const char *name, const char *uuid, uint64_t sectors, const char *table);
/*
 * Give a device another table. Writes that are held go on waiting. Return: an exit code, after a
 * message; if the kernel refuses the table, the old one stays.
 */
int mirror_reload(const char *name, uint64_t sectors, const char *table);
/* Return: an exit code, after a message */
int mirror_remove(const char *name);
/*
 * Let udev look at a leg again, because its label is new, or nothing holds it any more. @leg: a
 * path, or the numbers of the device; NULL for none. There is no error: nothing depends on it.
 */
void mirror_announce(const char *leg);

/* ---- mirror_conf.c: the configuration ---- */

#define MIRROR_CONF_DIR "/etc/kfabric/mirror.d"

/**
 * struct mirror_conf_peer - a peer in the configuration
 * @name: name of its node
 * @node: its address
 * @service: its service, for this node
 */
struct mirror_conf_peer {
	char *name;
	char *node;
	char service[8];
};

/**
 * struct mirror_conf - what the configuration of a mirror means on this node
 * @next: next one of a list
 * @name: name of the mirror, which is that of its file
 * @uuid: UUID that its nodes share
 * @provider: name of the provider
 * @secret: file of its secret, or NULL
 * @key: description of the key that the table names, or NULL
 * @sectors: size
 * @table: words of the table
 * @peers: the peers, in the order of the table
 * @npeers: number of them
 */
struct mirror_conf {
	struct mirror_conf *next;
	char *name;
	char *uuid;
	char *provider;
	char *secret;
	char *key;
	uint64_t sectors;
	char *table;
	struct mirror_conf_peer peers[MIRROR_PEERS];
	size_t npeers;
};

/**
 * struct mirror_where - the configuration that is used
 * @dir: folder of the files
 * @node: name of this node in them
 * @wait: wait until the disks of this node are there, with a message for each that is not
 */
struct mirror_where {
	const char *dir;
	const char *node;
	bool wait;
};

/* Return: an exit code, after a message. It is an error if this node has no part in the mirror. */
int mirror_conf_one(const struct mirror_where *where, const char *name, struct mirror_conf **out);
/*
 * Read all files, in the order of their names. Return: an exit code, after a message for each file
 * that is wrong; the list has the others in which this node is.
 */
int mirror_conf_all(const struct mirror_where *where, struct mirror_conf **list);
void mirror_conf_free(struct mirror_conf *list);
/* The name of this machine, as `uname -n` prints it */
const char *mirror_conf_node(void);

/* ---- mirror_cover.c: what reaches to the end of a device ---- */

/**
 * struct mirror_cover - how far a device is used, by what begins it
 * @what: what reaches farthest, such as the type of a file system
 * @end: the byte behind that; 0 if there is nothing, UINT64_MAX if that is not known
 */
struct mirror_cover {
	char what[32];
	uint64_t end;
};

void mirror_cover(int fd, struct mirror_cover *cover);
/*
 * Does what is on a leg end where the data of a mirror of so many bytes ends, or before? Return:
 * also true if that is not known; false after a message.
 */
bool mirror_leg_fits(const char *name, const char *leg, uint64_t bytes);

/* ---- mirror_up.c, mirror_label.c: verbs ---- */

int cmd_mirror_adjust(int argc, char **argv);
int cmd_mirror_down(int argc, char **argv);
int cmd_mirror_dump(int argc, char **argv);
int cmd_mirror_formats(int argc, char **argv);
int cmd_mirror_label(int argc, char **argv);
int cmd_mirror_resize(int argc, char **argv);
int cmd_mirror_up(int argc, char **argv);
int cmd_mirror_wait(int argc, char **argv);

/* ---- mirror_label.c, mirror_formats.c: what a device has ---- */

/* Versions that the module of this release reads, as ulps/mirror/proto.h has them */
#define MIRROR_META_LOWEST	3
#define MIRROR_META_VERSION	7
#define MIRROR_LOG_LOWEST	3
#define MIRROR_LOG_VERSION	5
#define MIRROR_LABEL_VERSION	1

/* A little-endian number */
uint64_t mirror_number(const uint8_t *p, int bytes);
/* Is the CRC of a sector right, which is at @crc in it? It becomes zeros. */
bool mirror_checks(void *sector, uint8_t crc[4]);
/*
 * Read one sector as it is on the device now. The mirror writes past the page cache, which keeps
 * what a program has read before, as long as the mirror holds the leg open.
 */
bool mirror_read_sector(int fd, void *sector, uint64_t at);

/* ---- mirror.c ---- */

bool mirror_is_uuid(const char *text);
/* Send the message `create`, and let udev see the leg. Return: an exit code, after a message. */
int mirror_format(const char *name, const char *uuid, bool clean);

/* ---- mirror_show.c ---- */

/* Find the mirrors of these names, or all if @n is 0. Return: an exit code, after a message. */
int mirror_find_names(size_t n, char **names, struct mirror **list);
/* Bytes that differ, of which the last region may have less */
uint64_t mirror_bytes_left(const struct mirror *m);

/**
 * struct mirror_view - how mirrors are shown
 * @details: show all properties
 * @interval: seconds between two outputs, 0 for one output
 */
struct mirror_view {
	bool details;
	double interval;
};

/* Show the mirrors of these names, or all mirrors if @n is 0. Return: an exit code. */
int mirror_show(const struct mirror_view *view, size_t n, char **names);

#endif /* KFI_TOOL_MIRROR_H */
