/* SPDX-License-Identifier: GPL-2.0 */
/* mirror.h - shared by mirror*.c: the mirrors of kfi_mirror.ko, as device-mapper describes them */
#ifndef KFI_TOOL_MIRROR_H
#define KFI_TOOL_MIRROR_H

#include "kfi.h"

/* Maximum number of words of a status or table line; later words are dropped. */
#define MIRROR_WORDS	128

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
	char state[128];
};

/**
 * struct mirror - a mirror, from its status and its table; see kfi_mirror(7)
 * @next: next mirror of a list
 * @name: name of the device
 * @sectors: size
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
	bool frozen;
	bool resync;
	const char *policy;
	uint64_t timeout_ms;
	uint64_t rate_kib;
	struct mirror_peer peers[MIRROR_PEERS];
	size_t npeers;
};

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
/* Is the device suspended? */
bool mirror_suspended(const char *name);
/*
 * Send a message to a target. Return: 0; a positive error number of the target; or -1 for another
 * error, which was reported.
 */
int mirror_send(const char *name, const char *message);
/* Do these remarks contain the word? */
bool mirror_remark(const char *state, const char *word);

/* ---- mirror_show.c ---- */

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
