/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Through the windows: BAR 2 and BAR 4 of an NTB are places in the memory behind its peer, as far
 * as the peer's translation and limit registers let them be. All under the link's lock, for
 * reading.
 */
#ifndef NTBSIM_WINDOW_H
#define NTBSIM_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct memory;
struct ntb;

/* Does anything that this end sends arrive? */
bool window_open(const struct ntb *ntb);
/* How many bytes of that window the end lets its peer reach. */
uint64_t window_room(const struct ntb *ntb, unsigned int bar);

/* The own CPU's accesses: what can't be read is ones, what can't be written is dropped. */
void window_read(struct ntb *ntb, unsigned int bar, uint64_t offset, void *data, size_t len);
void window_write(struct ntb *ntb, unsigned int bar, uint64_t offset, const void *data, size_t len);

/*
 * A DMA engine's. @memory is the engine's view of its guest.
 *
 * A write is posted: what the far side refuses is lost there and nobody hears of it. Only a source
 * that can't be read, or a dead link if it is switched so, is an error. A read that can't be
 * answered is one.
 *
 * Return: 0, WINDOW_READ_ERROR or WINDOW_WRITE_ERROR.
 */
enum { WINDOW_READ_ERROR = 1, WINDOW_WRITE_ERROR };
int window_dma_write(struct ntb *ntb, unsigned int bar, uint64_t offset, struct memory *memory,
		     uint64_t source, size_t len);
int window_dma_read(struct ntb *ntb, unsigned int bar, uint64_t offset, struct memory *memory,
		    uint64_t target, size_t len);

#endif
