// SPDX-License-Identifier: GPL-2.0
#include "../../providers/ntb/map.c"
