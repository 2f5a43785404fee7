// SPDX-License-Identifier: GPL-2.0
#include "../../providers/verbs/wire.c"
