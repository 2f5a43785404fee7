/* SPDX-License-Identifier: GPL-2.0 */
/*
 * proto.h - what kfi_mirror stores and sends: the superblock, the log of a secondary with its
 * records, and the messages between two nodes.
 *
 * All members are little-endian. The decoders (proto.c) are pure functions. They validate every
 * field, and log nothing about a block that they reject.
 */
#ifndef KFM_PROTO_H
#define KFM_PROTO_H

#ifdef __KERNEL__
#include <linux/build_bug.h>
#include <linux/types.h>
#else
#include "wire-user.h"
#endif
#include <kfi_versions.h>

/*
 * Versions of what is stored. Each module reads all from the first one on that it names, which no
 * release of 1.x raises, and writes the last one. Superblock, label and head of a log begin with
 * magic, version and CRC of the sector in all versions: so a module knows that a block is of a later
 * one, says so, and writes nothing (kfm_other_version()). docs/compatibility.md has the steps to a
 * new version.
 */
#define KFM_VERSION		7	/* of the superblock */
#define KFM_VERSION_UNTOLD	6	/* of one without what is remembered of other places */
#define KFM_VERSION_PLAIN	5	/* of one without labels and checksums of bitmaps */
#define KFM_VERSION_TRUSTING	4	/* of one without KFM_SB_DOUBT */
#define KFM_VERSION_COARSE	3	/* of one with wire bitmaps, and no others, behind it */
#define KFM_VERSION_LOWEST	KFM_VERSION_COARSE
#define KFM_LOG_VERSION		5	/* of the log */
#define KFM_LOG_UNTOLD		4	/* of one that remembers nothing of other places */
#define KFM_LOG_UNMARKED	3	/* of one without marks */
#define KFM_LOG_LOWEST		KFM_LOG_UNMARKED
#define KFM_LABEL_VERSION	1
#define KFM_VERSION_AT		8	/* byte of the version in a block, before the CRC */
/*
 * Versions of messages and records that this node speaks. HELLO names the lowest and the highest
 * one, and the session has the highest that both nodes speak. HELLO, STATE and REFUSED have the
 * form of version 4 for ever, so that any two nodes can say why they have no session.
 */
#define KFM_MSG_LOWEST		4u	/* lowest version that this node speaks */
#define KFM_MSG_VERSION		4u	/* the highest; since 4 data of a record begins at a sector */
#define KFM_MSG_FORM		4u	/* in HELLO and REFUSED, whose form does not change */
#define KFM_VERSIONS(lowest, highest)	((lowest) | (highest) << 16)
#define KFM_VERSIONS_OWN		KFM_VERSIONS(KFM_MSG_LOWEST, KFM_MSG_VERSION)
#define KFM_PEERS		4u	/* peers of a node, at most */
#define KFM_SECTOR		512u
#define KFM_BLOCK		4096u	/* distance between the two copies of a block */
#define KFM_WRITE_MAX		65536u	/* bytes of data in a record */
#define KFM_ZEROES_MAX		(4u << 20)	/* bytes that one record sets to zero */
#define KFM_WINDOW		256u	/* records of a log that are not applied */
#define KFM_GROUP		16u	/* records in one write to the ring */
#define KFM_HISTORY		8u	/* earlier generations that are stored */
#define KFM_SAMPLES		8u	/* regions of a leg that are compared after a stop */
#define KFM_SERIAL_MAX		(1ull << 48)	/* a peer that tells of more is not believed */
/* A node that does not know its last serial number goes on behind all that others may know */
#define KFM_SERIAL_STEP		(1u << 16)
#define KFM_SECTORS_MAX		(1ull << 38)	/* of a mirror, 128 TiB */
#define KFM_RING_MIN		(1u << 20)
#define KFM_RING_MAX		(64u << 20)

#define KFM_SUPER_MAGIC		0x315250555346494bULL	/* "KIFSUPR1" */
#define KFM_LABEL_MAGIC		0x314c424c5346494bULL	/* "KIFSLBL1" */
#define KFM_LOG_MAGIC		0x31474f4c5346494bULL	/* "KIFSLOG1" */
#define KFM_REC_MAGIC		0x43455246U		/* "FREC" */
#define KFM_MARK_MAGIC		0x4b524d46U		/* "FMRK" */
#define KFM_DIRECT_MAGIC	0x52494446U		/* "FDIR" */
#define KFM_MSG_MAGIC		0x47534d46U		/* "FMSG" */

/* State of a node's copy of the data */
enum kfm_state {
	KFM_BLANK,		/* never synchronised, or given up on purpose */
	KFM_UPTODATE,		/* whole, as of its generation */
	KFM_OUTDATED,		/* whole, but the peer went on alone, says the manager */
	KFM_INCONSISTENT,	/* partly overwritten by a resynchronisation */
	KFM_STATES
};

/* What happens when a peer in sync is lost; the same at all nodes */
enum kfm_policy {
	KFM_STOP,
	KFM_FENCE,
	KFM_ALONE,
	KFM_QUORUM,		/* in HELLO: KFM_STOP and KFM_F_QUORUM */
	KFM_POLICIES
};

/* Flags of a superblock */
#define KFM_SB_PRIMARY		1u	/* the node was primary when this was written */
#define KFM_SB_LEG_FAILED	2u	/* the leg may lack acknowledged writes: no source */
#define KFM_SB_NO_LOG		4u	/* the node was created without a log device */
#define KFM_SB_BITS_LOST	8u	/* the bitmaps are not whole: every region may differ */
#define KFM_SB_WITNESS		16u	/* created as a witness, without a leg */
/*
 * A copy of the superblock was damaged, so this node may have forgotten something: it has no vote,
 * and is not promoted. Its state is blank, with the generations of what could be read, until a
 * primary writes all of its copy.
 */
#define KFM_SB_DOUBT		32u
#define KFM_SB_LABEL		64u	/* the leg has a label (label.c) */
#define KFM_SB_INTERNAL		128u	/* the metadata is on the leg, behind the data */
/*
 * The node has stopped in order, and has stored nothing since: the bitmaps have the checksums
 * @maps, and with KFM_SB_SAMPLE the leg has the checksum @sample.
 */
#define KFM_SB_REST		256u
#define KFM_SB_SAMPLE		512u
#define KFM_SB_FLAGS		1023u
/* for good */
#define KFM_SB_KEPT		(KFM_SB_NO_LOG | KFM_SB_WITNESS | KFM_SB_LABEL | KFM_SB_INTERNAL)

/* Flags of a pair */
#define KFM_PAIR_ALONE		1u	/* of a primary: it writes without this peer */
#define KFM_PAIR_WITNESS	2u	/* the peer is a witness: nothing is known of a copy */
#define KFM_PAIR_LEFT		4u	/* its copy is outdated, durably: it has said so by LEAVE */
#define KFM_PAIR_FLAGS		7u

/**
 * struct kfm_gens - generations: random numbers, each of which identifies a history of the data
 * @cur: present generation; 0 for a blank copy
 * @base: from a primary: the bitmap for this peer has all that differs if the peer's copy is whole
 *	and of this generation or a later one. In a superblock 0, see struct kfm_pair
 * @source: number of the resynchronisation that overwrites a copy: the generation of the primary in
 *	which it began. Of a primary: that of its peer's copy, see struct kfm_pair
 * @history: generations before @cur, the youngest first; 0 for none
 */
struct kfm_gens {
	u64	cur;
	u64	base;
	u64	source;
	u64	history[KFM_HISTORY];
};

/* As stored and sent */
struct kfm_le_gens {
	__le64	cur;
	__le64	base;
	__le64	source;
	__le64	history[KFM_HISTORY];
} __packed;

/* ---- bitmaps: a bit for each piece of the mirror, in the byte order of the device ---- */

/* Sectors of a piece are a power of two, and are named by it */
#define KFM_REGION_SHIFT_MIN	5u	/* a region, which may differ: 16 KiB */
#define KFM_REGION_SHIFT_MAX	7u	/* one record resynchronises a whole region */
#define KFM_EXTENT_SHIFT_MIN	13u	/* an extent, which may be active: 4 MiB */
#define KFM_EXTENTS_MAX		(1u << 20)
/* A wire region: GRANT offers a bitmap of these, as does version 3 of the disk */
#define KFM_WIRE_SHIFT_MIN	8u	/* 128 KiB */
#define KFM_WIRE_REGIONS_MAX	(1u << 20)
#define KFM_WIRE_BYTES_MAX	(KFM_WIRE_REGIONS_MAX / 8)

/*
 * ---- the metadata device: two copies of the superblock; from KFM_BITMAP_AT on the bitmap of
 * active extents of each peer, and then for each peer the bitmap of regions that may differ ----
 */

/**
 * struct kfm_pair - what a node stores about a peer
 * @node: number of the peer; 0 until there has been a session
 * @base: see struct kfm_gens
 * @source: this node began to resynchronise the peer in this generation, and its bitmap has what
 *	is left of that; 0 for none
 * @flags: KFM_PAIR_
 */
struct kfm_pair {
	u64	node;
	u64	base;
	u64	source;
	u32	flags;
};

struct kfm_le_pair {
	__le64	node;
	__le64	base;
	__le64	source;
	__le32	flags;
	__le32	zero;
} __packed;

#define KFM_BITMAP_AT		(2 * KFM_BLOCK)

/*
 * Each sector of a bitmap on the device has KFM_MAP_BYTES of it, a block KFM_MAP_BLOCK, and then a
 * CRC32C of its place and of these. So a write that a loss of power has cut short leaves sectors
 * whose CRC is right.
 */
#define KFM_MAP_BYTES		(KFM_SECTOR - 4)
#define KFM_MAP_BLOCK		(KFM_BLOCK / KFM_SECTOR * KFM_MAP_BYTES)

/*
 * What a node is known to have stored: the serial numbers of its superblock and of the head of its
 * log. See told.c.
 */
struct kfm_heard {
	u64	super;
	u64	head;
};

struct kfm_le_heard {
	__le64	super;
	__le64	head;
} __packed;

/*
 * A superblock. The copy with the higher serial number counts. Each time both copies are written,
 * one after the other, with successive numbers, of which the even ones are in the first place. Each
 * is one sector, so a write that a loss of power has cut short leaves the old copy or the new one:
 * a copy that does not check was damaged later, and may have been the newer one (meta.c).
 */
struct kfm_le_super {
	__le64	magic;
	__le32	version;
	__le32	crc;		/* CRC32C of the sector, with 0 here */
	__le64	serial;
	u8	uuid[16];	/* identifies the mirror, at all nodes */
	__le64	node;		/* identifies this node */
	struct kfm_le_gens gens;
	__le64	sectors;
	__le32	region_shift;	/* sectors of a region, as a power of two */
	__le32	bitmap_at;	/* byte on the device; of the first peer */
	__le32	bitmap_bytes;	/* on the device, of each peer; a multiple of KFM_BLOCK */
	__le32	state;
	__le32	flags;
	__le32	peers;		/* number of peers and bitmaps */
	struct kfm_le_pair pairs[KFM_PEERS];
	__le32	extent_shift;	/* of extents, as above; 0 in version 3 */
	__le32	active_at;
	__le32	active_bytes;
	__le64	nodes[KFM_PEERS];	/* 0 with a policy other than quorum */
	__le64	label;		/* with KFM_SB_LABEL: kfm_le_label.mark */
	__le64	label_next;	/* or this one, which is being written; 0 for none */
	/* since version 7: */
	__le64	head;		/* serial number of the last head of the log */
	struct kfm_le_heard heard[KFM_PEERS];	/* what the peers have said of themselves */
	__le32	maps[KFM_PEERS];	/* with KFM_SB_REST: CRC32C of the bitmaps */
	__le32	sample;		/* with KFM_SB_SAMPLE: CRC32C of regions of the leg */
	__le32	regions[KFM_SAMPLES];	/* these, and the first and the last one */
	u8	zero[32];
} __packed;
static_assert(sizeof(struct kfm_le_super) == KFM_SECTOR, "kfm_le_super");
static_assert(offsetof(struct kfm_le_super, version) == KFM_VERSION_AT, "kfm_le_super");

struct kfm_super {
	u64	serial;
	u8	uuid[16];
	u64	node;
	struct kfm_gens gens;
	u64	sectors;
	u32	state;
	u32	flags;
	u32	peers;
	struct kfm_pair pairs[KFM_PEERS];
	u64	nodes[KFM_PEERS];	/* the other nodes that vote; see quorum.c */
	u64	label;
	u64	label_next;
	u64	head;
	struct kfm_heard heard[KFM_PEERS];
	u32	maps[KFM_PEERS];
	u32	sample;
	u32	regions[KFM_SAMPLES];
	/* not stored again: */
	bool	coarse;		/* it is of version 3 */
	bool	plain;		/* it is of version 4 or 5: no checksums in the bitmaps */
};

/*
 * ---- the leg: behind the data, at the next multiple of KFM_BLOCK, the label; or the metadata, and
 * in the last block of the device the tag, a label that says where the metadata is ----
 */

#define KFM_LABEL_INTERNAL	1u	/* the metadata is on this device, at @at */
#define KFM_LABEL_FLAGS		1u

/* Whose copy the leg has. It is one sector, as a superblock is. */
struct kfm_le_label {
	__le64	magic;
	__le32	version;
	__le32	crc;		/* CRC32C of the sector, with 0 here */
	u8	uuid[16];	/* of the mirror */
	__le64	node;		/* of this node */
	__le64	mark;		/* as in the superblock; 0 with KFM_LABEL_INTERNAL */
	__le64	sectors;	/* of the mirror */
	__le64	at;		/* byte of the metadata on this device, or 0 */
	__le32	flags;
	u8	zero[444];
} __packed;
static_assert(sizeof(struct kfm_le_label) == KFM_SECTOR, "kfm_le_label");
static_assert(offsetof(struct kfm_le_label, version) == KFM_VERSION_AT, "kfm_le_label");

struct kfm_label {
	u8	uuid[16];
	u64	node;
	u64	mark;
	u64	sectors;
	u64	at;
	u32	flags;
};

/* ---- the log device: two copies of the head, then the ring at KFM_RING_AT ---- */

#define KFM_RING_AT		(2 * KFM_BLOCK)

/* The head of a log: where a replay begins. There are two copies, as of the superblock. */
struct kfm_le_log {
	__le64	magic;
	__le32	version;
	__le32	crc;
	__le64	serial;
	u8	uuid[16];
	__le64	id;		/* session that writes the log, also in each record */
	__le64	gen;		/* generation of the primary */
	__le64	node;		/* number of the primary, 0 for none */
	__le64	seq;		/* first record that is not applied */
	__le32	at;		/* offset of that record in the ring, or it is at 0 */
	__le32	ring;		/* bytes of the ring */
	/* since version 5: */
	__le64	super;		/* serial number of the superblock when this was written */
	__le64	owner;		/* number of this node; 0 in an older version */
	__le64	epoch;		/* kfm.start of the primary, whose writes have numbers; or 0 */
	__le64	number;		/* of the last of these writes that is applied */
	u8	zero[400];
} __packed;
static_assert(sizeof(struct kfm_le_log) == KFM_SECTOR, "kfm_le_log");
static_assert(offsetof(struct kfm_le_log, version) == KFM_VERSION_AT, "kfm_le_log");

struct kfm_log_head {
	u64	serial;
	u8	uuid[16];
	u64	id;
	u64	gen;
	u64	node;
	u64	seq;
	u32	at;
	u32	ring;
	u64	super;
	u64	owner;
	u64	epoch;
	u64	number;
};

/*
 * The head of a record. The room of a record begins at a sector of the ring. Its first sector has
 * zeros, which are not checked, and ends with the head. The secondary replaces the first of these
 * zeros by a mark when it writes the record to its device. The sectors behind it have @len bytes of
 * data, from which a leg is written. A record does not wrap: a record that does not fit after the
 * previous one begins at offset 0.
 */
struct kfm_le_rec {
	__le32	magic;
	__le32	crc;		/* CRC32C of head and data, with 0 here */
	__le64	log;		/* kfm_le_log.id */
	__le64	gen;
	__le64	seq;		/* from 1, without a gap */
	__le64	sector;
	__le32	len;		/* bytes of data, a multiple of KFM_SECTOR */
	__le64	number;		/* of the write at its primary, after KFM_M_NUMBERS; or 0 */
	u8	zero[12];
} __packed;
static_assert(sizeof(struct kfm_le_rec) == 64, "kfm_le_rec");

struct kfm_rec {
	u64	log;
	u64	gen;
	u64	seq;		/* of a direct record its number */
	u64	sector;
	u32	len;
	u32	flags;		/* of a direct record: KFM_D_ */
	u32	at;		/* of its room in the ring, or of its data; not stored */
	u64	number;		/* of the write at its primary, or 0 */
};

/*
 * A mark says what the node had made durable, in a row, before it wrote the record. So a replay
 * that ends earlier has met a record that was damaged on the device, and may have been
 * acknowledged; without a mark that says so it has met the end of the log. A mark is in one sector
 * and is valid without its record. Only the node that wrote it reads it.
 */
struct kfm_le_mark {
	__le32	magic;
	__le32	crc;		/* CRC32C of the mark, with 0 here */
	__le64	log;		/* kfm_le_log.id */
	__le64	row;		/* the first record that was not durable, or had one before it */
	u8	zero[8];
} __packed;
static_assert(sizeof(struct kfm_le_mark) == 32, "kfm_le_mark");

#define KFM_REC_HEAD_AT		(KFM_SECTOR - sizeof(struct kfm_le_rec))	/* in its room */
#define KFM_REC_DATA_AT		KFM_SECTOR

/* ---- slots, for records that a secondary writes to its leg at once (direct.c) ---- */

#define KFM_DIRECT_SLOTS	32u		/* of this node, at most */
#define KFM_SLOTS_MAX		64u		/* of an older program */
#define KFM_DIRECT_DATA_AT	KFM_BLOCK	/* data in a slot; the heads end there */
#define KFM_DIRECT_SLOT		(KFM_DIRECT_DATA_AT + KFM_WRITE_MAX)

#define KFM_PATCHES		4u		/* that a node offers, see repair.c */

#define KFM_D_CRC		1u	/* the data has a CRC of its own */
#define KFM_D_ZEROES		2u	/* no data: the range is set to zero */
#define KFM_D_CACHED		4u	/* the leg's volatile cache may keep the data */
#define KFM_D_FLUSH		8u	/* no data, no other flag: the leg is flushed */
#define KFM_D_NOUNMAP		16u	/* with KFM_D_ZEROES: keep the room */
#define KFM_D_FLAGS		31u

/*
 * The head of a direct record, which no device stores. A slot has the heads of a group, and from
 * KFM_DIRECT_DATA_AT on the data of its records, one behind the other. A record with KFM_D_ZEROES
 * has no data, and may be as long as KFM_ZEROES_MAX.
 */
struct kfm_le_direct {
	__le32	magic;
	__le32	crc;		/* CRC32C of the head, with 0 here */
	__le64	log;		/* kfm_le_log.id */
	__le64	gen;
	__le64	number;		/* of the direct record in the session, from 1 */
	__le64	sector;
	__le32	len;		/* bytes, whole sectors; 0 for a flush */
	__le32	data_crc;	/* CRC32C of the data; 0 without KFM_D_CRC */
	__le32	flags;		/* KFM_D_ */
	u8	zero[12];
} __packed;
static_assert(sizeof(struct kfm_le_direct) == 64, "kfm_le_direct");

/* ---- messages ---- */

enum kfm_msg_type {
	KFM_HELLO = 1,		/* a primary or a candidate describes its copy */
	KFM_STATE,		/* answer to HELLO: the sender describes its own copy */
	KFM_REFUSED,		/* answer to HELLO: no session. @arg is enum kfm_refusal */
	KFM_ATTACH,		/* primary: copies compared. @arg: 1 if it will resynchronise */
	KFM_GRANT,		/* secondary: new keys; old log applied, old keys revoked */
	KFM_APPLIED,		/* secondary: records up to @seq may be overwritten */
	KFM_PING,		/* primary; @arg: 1 if both are in sync; @seq with KFM_M_SETTLED */
	KFM_PONG,		/* secondary: answer to PING; @seq as in APPLIED */
	KFM_SYNCED,		/* primary: the copies are the same; store these generations */
	KFM_SYNCED_OK,		/* secondary: these generations are durable */
	KFM_BYE,		/* either: the session ends. @arg: KFM_BYE_ */
	KFM_COPY,		/* primary: read @arg bytes at @sector to the patch, after @seq */
	KFM_COPIED,		/* secondary: answer to COPY; @arg as in COPY, or 0 on failure */
	KFM_LEAVE,		/* secondary: its copy is outdated, durably: go on without it */
	KFM_HASH,		/* primary: hash of its @arg bytes at @sector, after @seq */
	KFM_HASHED,		/* secondary: answer to HASH; @arg: 1 for the same, durably */
	KFM_RAIL,		/* primary: grant the slots by this rail; answer: the key */
	KFM_MSG_TYPES
};

#define KFM_BYE_LEAVE		1u	/* primary: the answer to LEAVE */
#define KFM_BYE_RAIL		2u	/* secondary: another rail is lost; begin again */

enum kfm_refusal {
	KFM_R_PRIMARY = 1,	/* the other node is primary, too */
	KFM_R_FOREIGN,		/* another mirror, or no metadata */
	KFM_R_SIZE,		/* the sender of HELLO is longer, or its blocks do not fit */
	KFM_R_BUSY,		/* the other node is being promoted itself */
	KFM_R_LEG,		/* the other node's leg or log has failed */
	KFM_R_POLICY,		/* the policies differ */
	KFM_R_FOLLOWS,		/* the other node has a session with another primary */
	KFM_R_PEERS,		/* the numbers of peers differ */
	KFM_R_NODE,		/* the other node knows another one in the place of the sender */
	KFM_R_VERSION,		/* the other node speaks other versions; not sent to version 4 */
	KFM_R_ONLY,		/* answer to LEAVE: the primary has no leg, and no other copy */
	KFM_R_WITNESS,		/* the tables differ in whether the other node is a witness */
	KFM_R_DOUBT,		/* the other node has KFM_SB_DOUBT: it may have newer data */
	KFM_REFUSALS
};

/* What the sender of HELLO can do besides */
#define KFM_F_LEAVE		1ull	/* takes LEAVE */
#define KFM_F_DIRECT		2ull	/* has direct records, if GRANT names slots */
/* sends direct records alone to a peer whose GRANT names no log */
#define KFM_F_NO_LOG		4ull
#define KFM_F_ZEROES		8ull	/* sends KFM_D_ZEROES after KFM_M_ZEROES */
#define KFM_F_CACHE		16ull	/* sends KFM_D_CACHED after KFM_M_CACHE */
#define KFM_F_PATCHES		32ull	/* names patches in COPY after KFM_M_PATCHES */
#define KFM_F_CSUM		64ull	/* sends HASH after KFM_M_CSUM */
/*
 * The policy is quorum. An older program with another policy than stop refuses the sender, and one
 * with that policy does not answer with KFM_M_QUORUM, and is refused.
 */
#define KFM_F_QUORUM		128ull
#define KFM_F_WITNESS		256ull	/* for the sender the receiver is a witness */
#define KFM_F_NUMBERS		512ull	/* numbers the writes in records after KFM_M_NUMBERS */

#define KFM_M_CANDIDATE		1u	/* HELLO: asks before a promotion, changes nothing */
#define KFM_M_DIRTY		2u	/* STATE: the bitmap has bits of a former primary */
#define KFM_M_SETTLED		4u	/* PING, SYNCED: see recent.c */
#define KFM_M_ZEROES		8u	/* GRANT: slots take records with KFM_D_ZEROES */
#define KFM_M_CACHE		16u	/* GRANT: slots take these two as well */
#define KFM_M_PATCHES		32u	/* GRANT: there are KFM_PATCHES, and not one */
#define KFM_M_CSUM		64u	/* GRANT: the sender answers HASH */
#define KFM_M_QUORUM		128u	/* STATE, REFUSED: so is the policy of the sender */
#define KFM_M_VOTES		256u	/* STATE: its sender may vote, see quorum.c */
#define KFM_M_WITNESS		512u	/* STATE, GRANT: the sender has no copy */
#define KFM_M_NUMBERS		1024u	/* GRANT: records of the log may have numbers */
#define KFM_M_FLAGS		2047u

/*
 * All types have one layout; members that a type does not use are 0. The first four members are
 * the same in all versions, and so are HELLO and REFUSED: a node has to read them, and answer them,
 * whatever version they are of.
 */
struct kfm_le_msg {
	__le32	magic;
	__le16	version;	/* what both nodes use; HELLO, REFUSED: KFM_MSG_FORM */
	__le16	type;
	__le64	session;	/* chosen by the sender of HELLO, also in later messages */
	u8	uuid[16];
	/* HELLO, STATE, ATTACH, SYNCED, SYNCED_OK; REFUSED if HELLO had KFM_F_QUORUM, or 0 */
	struct kfm_le_gens gens;
	__le64	sectors;	/* HELLO, STATE */
	union {
		__le32	lbs;	/* HELLO: logical block size, bytes */
		__le32	patch;	/* COPY: number of the patch; 0 without KFM_M_PATCHES */
	};
	__le32	state;		/* HELLO, STATE: enum kfm_state */
	__le32	flags;		/* KFM_M_ */
	__le32	arg;		/* HELLO: policy up to KFM_ALONE; GRANT: slots */
	union {
		__le64	seq;	/* HELLO: its time, ns, or 0 from an older program */
		__le64	epoch;	/* STATE: of the log; 0 if nothing is known of its end */
	};
	union {
		struct {
			union {
				__le64	ring_key;	/* GRANT */
				/* HELLO: KFM_F_; version 4 looks at neither member */
				__le64	features;
				__le64	hash;		/* HASH: see kfm_csum_hash() */
			};
			union {
				__le64	ring_addr;
				/* HELLO, STATE: what the sender knows of this node, see told.c */
				__le64	told_node;
			};
			union {
				__le64	bitmap_key;	/* GRANT: of wire regions */
				__le64	told_super;
			};
			union {
				__le64	bitmap_addr;
				__le64	told_head;
			};
		};
		__le64	nodes[KFM_PEERS];	/* SYNCED: those of the superblock */
	};
	union {
		__le32	ring_len;	/* GRANT; 0 without a log, see KFM_F_NO_LOG */
		__le32	versions;	/* HELLO, REFUSED: KFM_VERSIONS(); 0: KFM_MSG_FORM */
	};
	__le32	bitmap_len;
	union {
		__le64	patch_key;	/* GRANT: patches of KFM_WRITE_MAX bytes that may be read */
		__le64	super;		/* what the sender has stored: kfm_told_speaks() */
	};
	union {
		__le64	patch_addr;
		__le64	head;
	};
	union {
		__le64	id;	/* COPY, HASH, and repeated by their answers */
		__le64	slots_key;	/* GRANT, answer to RAIL */
		__le64	direct;	/* PING, SYNCED: as @seq, of direct records */
		__le64	start;	/* HELLO, STATE: kfm.start; 0 from an older program */
	};
	union {
		__le64	sector;	/* COPY, HASH */
		__le64	slots_addr;	/* GRANT, answer to RAIL */
		__le64	asked;	/* PING: see kfm.asked; repeated by PONG */
		__le64	number;	/* STATE: of the last write in the log; SYNCED: see kfm.logged */
	};
	__le32	crc;		/* COPIED: CRC32C of the bytes in the patch */
	__le64	node;		/* number of the sender; 0 if it has no metadata, in REFUSED */
	__le32	peers;		/* HELLO, STATE: how many peers the sender has */
	u8	zero[16];
} __packed;
static_assert(sizeof(struct kfm_le_msg) == 256, "kfm_le_msg");

struct kfm_msg {
	u16	version;	/* 0: see kfm_net_send_by() */
	u16	type;
	u64	session;
	u8	uuid[16];
	struct kfm_gens gens;
	u64	sectors;
	union {
		u32	lbs;
		u32	patch;
	};
	u32	state;
	u32	flags;
	u32	arg;
	union {
		u64	seq;
		u64	epoch;
	};
	union {
		struct {
			union {
				u64	ring_key;
				u64	features;
				u64	hash;
			};
			union {
				u64	ring_addr;
				u64	told_node;
			};
			union {
				u64	bitmap_key;
				u64	told_super;
			};
			union {
				u64	bitmap_addr;
				u64	told_head;
			};
		};
		u64	nodes[KFM_PEERS];
	};
	union {
		u32	ring_len;
		u32	versions;
	};
	u32	bitmap_len;
	union {
		u64	patch_key;
		u64	super;
	};
	union {
		u64	patch_addr;
		u64	head;
	};
	union {
		u64	id;
		u64	slots_key;
		u64	direct;
		u64	start;
	};
	union {
		u64	sector;
		u64	slots_addr;
		u64	asked;
		u64	number;
	};
	u32	crc;
	u64	node;
	u32	peers;
};

/* Result of comparing the generations of two nodes */
enum kfm_verdict {
	KFM_SAME,		/* same generation: only regions set in the bitmaps can differ */
	KFM_BITS,		/* older; resynchronise the regions set in the bitmaps */
	KFM_FULL,		/* resynchronise everything */
	KFM_STALE,		/* the peer has newer data than this node */
	KFM_SPLIT,		/* both have data that the other does not have */
	KFM_OTHER,		/* the node is not this peer */
};

void kfm_super_encode(const struct kfm_super *s, struct kfm_le_super *out);
int kfm_super_decode(const struct kfm_le_super *in, struct kfm_super *s);
void kfm_label_encode(const struct kfm_label *l, struct kfm_le_label *out);
int kfm_label_decode(const struct kfm_le_label *in, struct kfm_label *l);
void kfm_log_encode(const struct kfm_log_head *h, struct kfm_le_log *out);
int kfm_log_decode(const struct kfm_le_log *in, struct kfm_log_head *h);
void kfm_rec_encode(const struct kfm_rec *r, const void *data, struct kfm_le_rec *out);
int kfm_rec_decode(const struct kfm_le_rec *in, u64 sectors, struct kfm_rec *r);
void kfm_direct_encode(const struct kfm_rec *r, const u32 *data_crc, struct kfm_le_direct *out);
int kfm_direct_decode(const struct kfm_le_direct *in, u64 sectors, struct kfm_rec *r);
bool kfm_rec_intact(const struct kfm_le_rec *in, const void *data, u32 len);
int kfm_ring_next(const void *ring, u32 ring_len, u64 sectors, const struct kfm_log_head *h,
		  struct kfm_rec *r);
void kfm_mark_encode(u64 log, u64 row, struct kfm_le_mark *out);
bool kfm_ring_damaged(const void *ring, u32 ring_len, u64 sectors, const struct kfm_log_head *h);
u32 kfm_ring_place(u32 ring_len, u32 at, u32 room, u32 *take);
void kfm_msg_encode(const struct kfm_msg *m, struct kfm_le_msg *out);
int kfm_msg_decode(const void *in, size_t len, struct kfm_msg *m);
extern const struct kfi_versions kfm_speaks;
enum kfm_verdict kfm_compare(const struct kfm_gens *mine, const struct kfm_gens *peer,
			     u32 peer_state);
void kfm_gens_raise(struct kfm_gens *gens, u64 id);
void kfm_gens_lower(struct kfm_gens *gens);
u32 kfm_region_shift(u64 sectors);
u32 kfm_extent_shift(u64 sectors);
u32 kfm_wire_shift(u64 sectors);
u32 kfm_bitmap_bytes(u64 sectors, u32 shift);
u32 kfm_map_bytes(u64 sectors, u32 shift);
u32 kfm_wire_bytes(u64 sectors);
u64 kfm_meta_bytes(u64 sectors, u32 peers);

/* Bytes of the device that a bitmap of kfm_map_bytes() takes */
static inline u32 kfm_map_room(u32 bytes)
{
	return bytes / KFM_MAP_BLOCK * KFM_BLOCK;
}

/* Bytes of the largest group, which are those of the largest record */
#define KFM_GROUP_BYTES		(KFM_REC_DATA_AT + KFM_WRITE_MAX)

/* Where a group of @count direct records begins in all slots */
static inline u32 kfm_slot_at(u32 slot, u32 count)
{
	return slot * KFM_DIRECT_SLOT + KFM_DIRECT_DATA_AT - count * sizeof(struct kfm_le_direct);
}

/* Bytes that a record with @len bytes of data, which are whole sectors, takes in the ring */
static inline u32 kfm_rec_room(u32 len)
{
	return KFM_REC_DATA_AT + len;
}

#endif /* KFM_PROTO_H */
