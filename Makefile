# SPDX-License-Identifier: GPL-2.0
# Verbs only: each is a script that also installs what it needs. `make help` lists them.

SHELL := /bin/bash
KERNEL ?= $(shell uname -r)
KDIR ?= /lib/modules/$(KERNEL)/build
PREFIX ?= /usr/local
PROVIDER ?= sockets
JOBS ?= $(shell nproc)
TOP := $(CURDIR)

.DEFAULT_GOAL := help
.PHONY: help modules tool library demo test test-more kunit conformance parity vm-test fuzz bench check mutants soak install uninstall deb dist clean

help:		## this list
	@awk -F':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' Makefile
	@echo
	@echo "  modules, install: KERNEL=<release> (the running kernel's) or KDIR=<kernel build dir>; modules: JOBS=<CPUs>; install: PREFIX=$(PREFIX)"
	@echo "  conformance:      PROVIDER=<name> ($(PROVIDER))"
	@echo "  demo:             PROVIDER=sockets|verbs|ntb|usb4  ULP=nvme|nfs|iser|mpi|mirror|example  TLS=1|x509"
	@echo "                    KERNEL=6.12|6.1, with TLS 6.12|newest, with nfs, iser and mpi 6.12"

demo:		## two virtual machines of a stock Debian kernel exchange messages and RMA, or with ULP=nvme share a disk (with PROVIDER=ntb also READs that bypass the memory of the disk's machine), with TLS=1 look for their payload on the wire between them in clear text and under TLS, with ULP=nfs or ULP=iser use the kernel's own NFS/RDMA or iSER, with ULP=mirror mirror a file system and are killed, with ULP=mpi run programs of MPI; with ULP=example the template of a ULP, in User Mode Linux
	@tools/demo/run

test:		## proves that this tree works: unit tests, every provider, NVMe, mirror, processes, two machines (docs/testing.md)
	@tests/run $(VERDICT)

test-more:	## the rest of what a change has to pass: other kernels, two CPUs, simulated hardware, installation
	@tests/run $(VERDICT) --more

modules:	## kfi.ko and the providers, for the kernel in KDIR, in build/modules
	@tools/build modules "$(KDIR)" -j$(JOBS)

tool:		## the kfi command, in build/tools
	@tools/build tool

rdma:		## the provider of rdma-core, build/tools/libkfi-rdmav34.so
	@tools/build rdma

kunit:		## unit tests of the core in a User Mode Linux debug kernel
	@tests/run kunit

conformance:	## the conformance list on PROVIDER in a User Mode Linux debug kernel
	@tests/run conformance-$(PROVIDER)

parity:		## constants, structures and calls held against two libfabrics
	@tests/run parity

vm-test:	## two virtual machines of stock kernels, 6.1, 6.12 and the newest, over TCP, RoCE and bridges
	@tests/run machines-6.1 machines-newest vm-6.1 vm-6.12 vm-verbs vm-ntb

fuzz:		## the wire decoders under libFuzzer, briefly (FUZZ_SECONDS=)
	@tests/run fuzz

bench:		## side by side with raw TCP, the bare bridge and other transports; results in build/bench
	@tests/bench/run

check:		## style, sparse, kernel-doc, layering, shell scripts
	@tools/check/run

mutants:	## plant one fault at a time; every suite that should notice must turn red
	@tests/mutants/run

soak:		## the long matrix
	@tests/soak

install:	## modules, headers, Module.symvers, the kfi command, and the providers of libfabric and rdma-core below PREFIX
	@tools/build install "$(KDIR)" "$(PREFIX)"

uninstall:	## take away what install put there
	@tools/build uninstall "$(KDIR)" "$(PREFIX)"

deb:		## Debian packages in build/deb: the modules by DKMS, the command and the providers of libfabric and rdma-core, headers
	@tools/build deb

dist:		## the source of this commit as kfabric-<version>.tar.xz in build/dist, each time the same bytes
	@tools/build dist

clean:		## forget everything that was built here
	rm -rf build
