// SPDX-License-Identifier: GPL-2.0
/*
 * sizes.c - how large regions, extents and bitmaps are: all of it follows from the size of the
 * mirror and the number of its peers.
 */
#include "proto.h"

/* The least power of two that gives no more than @most pieces, or 2^@highest */
static u32 piece_shift(u64 sectors, u32 lowest, u32 highest, u32 most)
{
	u32 shift = lowest;

	while (shift < highest && (sectors - 1) >> shift >= most)
		shift++;
	return shift;
}

/**
 * kfm_region_shift() - size of a region that may differ from that of a peer
 * @sectors: size of the mirror
 *
 * 2 MiB of bitmap for each TiB, except for a mirror of less than 512 GiB.
 *
 * Return: sectors of a region, as a power of two.
 */
u32 kfm_region_shift(u64 sectors)
{
	return piece_shift(sectors, KFM_REGION_SHIFT_MIN, KFM_REGION_SHIFT_MAX, 1u << 24);
}

/* The same of an extent, which is active while it is written */
u32 kfm_extent_shift(u64 sectors)
{
	return piece_shift(sectors, KFM_EXTENT_SHIFT_MIN, 63, KFM_EXTENTS_MAX);
}

/* The same of a region in a bitmap that is sent; messages of version 4 have it so for ever. */
u32 kfm_wire_shift(u64 sectors)
{
	return piece_shift(sectors, KFM_WIRE_SHIFT_MIN, 63, KFM_WIRE_REGIONS_MAX);
}

/*
 * Return: bytes of a bitmap with a bit for each piece of 2^@shift sectors, whole blocks. So it is
 * sent, and so it was stored before version 6.
 */
u32 kfm_bitmap_bytes(u64 sectors, u32 shift)
{
	u32 regions = ((sectors - 1) >> shift) + 1;

	return (regions + KFM_BLOCK * 8 - 1) / (KFM_BLOCK * 8) * KFM_BLOCK;
}

/* The same of one that is stored: as many bytes as whole blocks of the device have of it */
u32 kfm_map_bytes(u64 sectors, u32 shift)
{
	u32 pieces = ((sectors - 1) >> shift) + 1;

	return (pieces + KFM_MAP_BLOCK * 8 - 1) / (KFM_MAP_BLOCK * 8) * KFM_MAP_BLOCK;
}

/* Return: bytes of a bitmap of wire regions. */
u32 kfm_wire_bytes(u64 sectors)
{
	return kfm_bitmap_bytes(sectors, kfm_wire_shift(sectors));
}

/* Return: bytes of the metadata device that are used. */
u64 kfm_meta_bytes(u64 sectors, u32 peers)
{
	return KFM_BITMAP_AT +
	       (u64)peers * (kfm_map_room(kfm_map_bytes(sectors, kfm_extent_shift(sectors))) +
			     kfm_map_room(kfm_map_bytes(sectors, kfm_region_shift(sectors))));
}
