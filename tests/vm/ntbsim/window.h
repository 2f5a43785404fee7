/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Accesses through the windows: BAR 2 and BAR 4 of an NTB lead to the memory behind its peer, as
 * far as the peer's translation and limit registers permit. All functions: under the link's lock,
 * for reading.
 */
#ifndef NTBSIM_WINDOW_H
#define NTBSIM_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct memory;
struct ntb;

/* Does any access of this end reach the peer? */
bool window_open(const struct ntb *ntb);
/* How many bytes of that window may the peer reach? */
uint64_t window_room(const struct ntb *ntb, unsigned int bar);

/*
 * Accesses of the own CPU: bytes that can't be read are ones, those that can't be written are
 * dropped.
 */
void window_read(struct ntb *ntb, unsigned int bar, uint64_t offset, void *data, size_t len);
void window_write(struct ntb *ntb, unsigned int bar, uint64_t offset, const void *data, size_t len);

/*
 * Accesses of a DMA engine. @memory is the engine's view of its guest.
 *
 * A write is posted: if the far side refuses it, it is dropped silently. Only a source that can't
 * be read is an error, or a dead link if the switch says so. A read without an answer is an error.
 *
 * Return: 0, WINDOW_READ_ERROR or WINDOW_WRITE_ERROR.
 */
enum { WINDOW_READ_ERROR = 1, WINDOW_WRITE_ERROR };
int window_dma_write(struct ntb *ntb, unsigned int bar, uint64_t offset, struct memory *memory,
		     uint64_t source, size_t len);
int window_dma_read(struct ntb *ntb, unsigned int bar, uint64_t offset, struct memory *memory,
		    uint64_t target, size_t len);

#endif
