// SPDX-License-Identifier: GPL-2.0
/*
 * trace.c - the tracepoints. Those for connections and errors are exported to providers.
 */
#define CREATE_TRACE_POINTS
#include <trace/events/kfi.h>

EXPORT_TRACEPOINT_SYMBOL_GPL(kfi_error);
EXPORT_TRACEPOINT_SYMBOL_GPL(kfi_connect);
EXPORT_TRACEPOINT_SYMBOL_GPL(kfi_disconnect);
