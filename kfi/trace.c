// SPDX-License-Identifier: GPL-2.0
/*
 * trace.c - the bodies of the tracepoints; providers may fire the connection
 * and error ones as well.
 */
#define CREATE_TRACE_POINTS
#include <trace/events/kfi.h>

EXPORT_TRACEPOINT_SYMBOL_GPL(kfi_error);
EXPORT_TRACEPOINT_SYMBOL_GPL(kfi_connect);
EXPORT_TRACEPOINT_SYMBOL_GPL(kfi_disconnect);
