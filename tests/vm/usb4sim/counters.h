/* SPDX-License-Identifier: GPL-2.0 */
/* counters.h - what is counted of a host interface, besides what is counted of every device */
#ifndef USB4SIM_COUNTERS_H
#define USB4SIM_COUNTERS_H

#define MODEL_COUNTERS(ROW) \
	ROW(frames_sent,	"frames taken from rings of this host") \
	ROW(bytes_sent,		"bytes in them") \
	ROW(frames_received,	"frames put into rings of this host") \
	ROW(bytes_received,	"bytes in them") \
	ROW(waits,		"times that the next frame of a ring could not go") \
	ROW(frames_lost,	"frames for this host that a fault switch swallowed") \
	ROW(frames_damaged,	"frames for this host that a fault switch damaged") \
	ROW(frames_refused,	"frames for this host whose start or end the ring does not take") \
	ROW(overflows,		"frames for this host that found no descriptor") \
	ROW(control_sent,	"control packets sent by the driver") \
	ROW(control_bad,	"... of which with a wrong length or checksum") \
	ROW(control_received,	"control packets given to the driver") \
	ROW(control_dropped,	"control packets for which there was no room") \
	ROW(xdomain,		"XDomain packets of the hosts at the other ends") \
	ROW(plug_events,	"plug and unplug events, repetitions included") \
	ROW(cable_ups,		"times that a cable came up") \
	ROW(cable_downs,	"times that a cable went down") \
	ROW(interrupts_late,	"interrupts that throttling put off") \
	ROW(dma_errors,		"descriptors or frames outside the guest's memory")

#endif
