# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# What the scripts of this folder share: the cache, and which Debian packages
# stand for a kernel series. To be sourced after `set -euo pipefail`.

vm_dir=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
vm_top=$(dirname "$(dirname "$vm_dir")")
vm_cache=${KFABRIC_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/kfabric}/vm
vm_build=${KFABRIC_BUILD:-$vm_top/build}
mkdir -p "$vm_cache" "$vm_build"

vm_die()
{
	echo "${0##*/}: $*" >&2
	exit 1
}

vm_say()
{
	echo "${0##*/}: $*" >&2
}

debpkg()
{
	"$vm_top/tools/debpkg" "$@"
}

# Install the packages among "command=package ..." whose command or file is missing.
vm_need()
{
	"$vm_top/tests/need" "$@" >>"$vm_build/apt.log" 2>&1 || vm_die "cannot install what is missing of $*: see $vm_build/apt.log"
}

# Is the machine's own libc at least this version?
vm_libc_at_least()
{
	local have

	have=$(getconf GNU_LIBC_VERSION | cut -d' ' -f2)
	[ "$(printf '%s\n' "$1" "$have" | sort -V | head -n 1)" = "$1" ]
}

# vm_series WORD: the series that a word of a command line stands for: itself, "newest" or "next" (tests/kernels)
vm_series()
{
	case $1 in
	newest | next) "$vm_top/tests/kernels" "$1" | cut -d' ' -f1 ;;
	*) echo "$1" ;;
	esac
}

# vm_suite WORD: the suite that a series comes from. 6.12 is trixie's kernel; a bookworm
# machine takes the same one built for bookworm, with bookworm's compiler.
vm_suite()
{
	local series

	series=$(vm_series "$1")
	case $series in
	6.1)  echo bookworm ;;
	6.12) if vm_libc_at_least 2.41; then
		echo trixie
	      else
		echo bookworm-backports
	      fi ;;
	[7-9].* | [1-9][0-9]*.*) debpkg holder "linux-source-$series" ;;
	*)    vm_die "kernel series '$1' is none of 6.1 6.12 newest next" ;;
	esac
}

# The release (uname -r) of a series: the newest headers decide, the image of
# the same name goes with them.
vm_release()
{
	local suite name regex series

	series=$(vm_series "$1")
	suite=$(vm_suite "$series")
	regex="linux-headers-${series//./\\.}\\.[0-9]+(-[0-9]+|\\+deb[0-9]+)-amd64"
	name=$(debpkg latest "$suite" "$regex")
	echo "${name#linux-headers-}"
}

# vm_once DIR FUNCTION ARGS...: make DIR by calling FUNCTION DIR.new ARGS...
# once; whoever comes at the same time waits. DIR is there wholly or not.
vm_once()
{
	local dir=$1 make=$2 lock
	shift 2

	[ -d "$dir" ] && return 0
	exec {lock}>"$dir.lock"
	flock "$lock"
	if [ ! -d "$dir" ]; then
		rm -rf "$dir.new"
		mkdir -p "$dir.new"
		"$make" "$dir.new" "$@"
		mv "$dir.new" "$dir"
	fi
	exec {lock}>&-
}

# vm_source DIR SERIES N NAME...: unpack these from Debian's source of the kernel, without the first N
# folders of their names
vm_source()
{
	local dir=$1 strip=$3 series deb top

	series=$(vm_series "$2")
	top=linux-source-$series
	shift 3
	deb=$(debpkg fetch "$(vm_suite "$series")" "$top")
	dpkg-deb --fsys-tarfile "$deb" | tar -xO --wildcards './usr/src/linux-source-*.tar.xz' |
		tar -xJ -C "$dir" --strip-components="$strip" --wildcards "${@/#/$top/}"
}

# What is built for each kernel. The whole source takes 20 seconds to read, so these parts are packed once.
readonly VM_PARTS=(drivers/ntb drivers/infiniband/sw/siw drivers/dma/dmatest.c drivers/net/ntb_netdev.c drivers/nvme)

# vm_parts SERIES: print an archive of these, in which they have their names in the whole source
vm_parts()
{
	local series dir

	series=$(vm_series "$1")
	dir=$vm_cache/parts-$(debpkg version "$(vm_suite "$series")" "linux-source-$series")-$(sha256sum <<<"${VM_PARTS[*]}" | head -c 8)
	vm_once "$dir" vm_pack_parts "$series"
	echo "$dir/parts.tar.xz"
}

vm_pack_parts()
{
	local top=linux-source-$2

	vm_source "$1" "$2" 0 "${VM_PARTS[@]}"
	tar -cJf "$1/parts.tar.xz" -C "$1" "$top"
	rm -r "${1:?}/$top"
}

# vm_left_out WHAT SERIES FLAGS CONFIG...: build modules that a kernel has in its source but Debian
# leaves out of its packages, unchanged, against the stock headers, into the cache; print the directory
# of .ko files. FLAGS are the compiler's. The script has unpack DIR SERIES, which makes DIR/Kbuild.
vm_left_out()
{
	local dir

	dir=$vm_cache/${0##*/}-$(vm_release "$2")-$(sha256sum <"$0" | head -c 8)
	vm_once "$dir" vm_make_left_out "$@"
	echo "$dir/ko"
}

vm_make_left_out()
{
	local dir=$1 what=$2 series=$3 flags=$4
	shift 4

	vm_say "building the kernel's $what for $series"
	unpack "$dir" "$series"
	nice -n 5 "$vm_dir/kmake" "$series" M="$dir" -j"$(nproc)" "$@" KCFLAGS="$flags" \
		modules >"$dir/log" 2>&1 ||
	{ tail -n 40 "$dir/log" >&2; vm_die "the kernel's $what do not build for $series"; }
	mkdir "$dir/ko"
	find "$dir" -name '*.ko' -exec mv -t "$dir/ko" {} +
}
