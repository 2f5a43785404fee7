# SPDX-License-Identifier: GPL-2.0
# How a simulator is built: its own parts and those of this folder, in OUT. Wants libcjson (../need installs it).
# To be included after `name` and `parts` are set.
#
#   make OUT=DIR            DIR/<name>

OUT ?= ../../../build/$(name)
CFLAGS ?= -O2 -g
SANE := -std=gnu11 -Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers -Werror -pthread

common := $(dir $(lastword $(MAKEFILE_LIST)))
parts += client device memory protocol simulator main
headers := $(wildcard *.h $(common)*.h)
VPATH := $(common)

$(OUT)/$(name): $(addprefix $(OUT)/,$(addsuffix .o,$(parts)))
	$(CC) $(CFLAGS) -pthread -o $@ $^ -lcjson

# -I.: the counters of a simulator's devices are its own
$(OUT)/%.o: %.c $(headers) Makefile $(common)simulator.mk | $(OUT)
	$(CC) $(SANE) -I. -I$(common) $(CPPFLAGS) -D_GNU_SOURCE $(CFLAGS) -c -o $@ $<

$(OUT):
	mkdir -p $@
