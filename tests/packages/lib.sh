# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154  # what its user sets
#
# lib.sh - clean trees of a Debian release, in which packages are installed. Its user stands in the top folder, and sets $suite, $number
# (of the release), $tree, and $dir, which has the logs.

out=$PWD/build/packages
cache=${KFABRIC_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/kfabric}
ccache=$cache/packages/ccache
passed=0 failed=0

check()
{
	local name=$1

	shift
	if "$@" >"$dir/$name.log" 2>&1; then
		passed=$((passed + 1))
		echo "ok      $number $name"
	else
		failed=$((failed + 1))
		echo "NOT OK  $number $name"
		tail -n 30 "$dir/$name.log" | sed 's/^/        /'
	fi
}

# Objects that DKMS has compiled before come from a cache. in_tree [-n] COMMAND...: -n is without a network
in_tree()
{
	local net=()

	[ "$1" != -n ] || { net=(--net); shift; }
	# shellcheck disable=SC2016  # expanded by the inner shell
	unshare --mount --pid --fork --kill-child "${net[@]}" bash -c '
		tree=$1 archives=$2 debs=$3 ccache=$4
		shift 4
		mount -t proc proc "$tree/proc" && mount -t sysfs -o ro sysfs "$tree/sys" && mount --bind /dev "$tree/dev" &&
			mount --bind "$archives" "$tree/var/cache/apt/archives" && mount --bind "$debs" "$tree/mnt" &&
			mount --bind "$ccache" "$tree/srv" || exit
		export DEBIAN_KERNEL_USE_CCACHE=y CCACHE_DIR=/srv CCACHE_MAXSIZE=2G CCACHE_NOHASHDIR=1 KCFLAGS=-g0
		DEBIAN_FRONTEND=noninteractive LC_ALL=C exec chroot "$tree" "$@"' \
		in_tree "$tree" "$cache/packages/$suite" "$out/debs" "$ccache" "$@" </dev/null
}

tree()
{
	local mirror=http://deb.debian.org backports=()
	local keys=/usr/share/keyrings/debian-archive-keyring.gpg

	[ "$number" = 12 ] || backports=("deb $mirror/debian $suite-backports main")

	rm -rf "$tree"
	mmdebstrap --quiet --skip=cleanup/apt/lists --variant=minbase --keyring="$keys" \
		--include=systemd-sysv,udev,kmod,initramfs-tools,openssl,ibverbs-utils,iproute2,ccache \
		"$suite" "$tree" "deb $mirror/debian $suite main" "${backports[@]}" "deb $mirror/debian-security $suite-security main" || return
	echo 'APT::Install-Recommends "false"; Acquire::Retries "3";' >"$tree/etc/apt/apt.conf.d/99test"
	# It only serves to make type information (BTF), at the price of debug information in all objects.
	echo 'path-exclude=/usr/src/linux-headers-*/vmlinux' >"$tree/etc/dpkg/dpkg.cfg.d/test"
	# a policy that starts no service in the tree
	printf '#!/bin/sh\nexit 101\n' >"$tree/usr/sbin/policy-rc.d"
	chmod 755 "$tree/usr/sbin/policy-rc.d"
}

# kernels PATTERN: those of the suite whose headers can be had, oldest first
kernels()
{
	in_tree apt-cache search --names-only "^linux-headers-$1-amd64\$" | sed -nE 's/^linux-headers-([^ ]+) .*/\1/p' | sort -V
}

# install_kernel RELEASE [APT-OPTION]...: what a kernel of backports depends on comes from there, too
install_kernel()
{
	in_tree apt-get -qq -y "${@:2}" install "linux-image-$1" "linux-headers-$1"
}

# The newest one of 6.12, whose release is $kernel then
kernel()
{
	kernel=$(kernels '6\.12\.[0-9.]+\+deb[0-9.]+' | tail -n 1)
	install_kernel "$kernel"
}

# boot_service SCRIPT WORD: the tree runs /root/SCRIPT WORD when it has booted, and writes to the console
boot_service()
{
	install -m 755 "tests/packages/$1" "$tree/root/$1"
	cat >"$tree/etc/systemd/system/$1.service" <<-END
	[Unit]
	After=multi-user.target
	[Service]
	ExecStart=/root/$1 $2
	END
	# A login prompt hangs up what has the console open.
	ln -sf /dev/null "$tree/etc/systemd/system/serial-getty@ttyS0.service"
	mkdir -p "$tree/etc/systemd/system/default.target.wants"
	ln -sf "../$1.service" "$tree/etc/systemd/system/default.target.wants/$1.service"
	echo '/dev/vda / ext4 defaults 0 1' >"$tree/etc/fstab"
	echo packages >"$tree/etc/hostname"
}

# emulate RELEASE DISK CONSOLE APPEND [QEMU-WORD]...: a machine with this kernel and disk, until it powers off, or for an hour
emulate()
{
	local clock

	clock=$(python3 -B -c 'import sys; sys.path.insert(0, "tests/vm"); import pair; print(pair.clock_words())')
	timeout 3600 qemu-system-x86_64 -nodefaults -no-user-config -no-reboot -display none -M q35 -accel tcg -cpu max -m 1G \
		-kernel "$tree/boot/vmlinuz-$1" -initrd "$tree/boot/initrd.img-$1" \
		-append "root=/dev/vda rw console=ttyS0 panic=-1 oops=panic no_timer_check tsc=reliable mitigations=off $clock $4" \
		-drive "file=$2,if=virtio,format=raw,cache=unsafe,snapshot=on" -device virtio-rng-pci -serial "file:$3" "${@:5}"
}

# wire NODE PEER: words for emulate, of a network device that reaches the one of another machine whenever that is there
wire()
{
	rm -f "$dir/net-$1"
	printf '%s\n' -device virtio-net-pci,netdev=net,romfile= -netdev \
		"dgram,id=net,local.type=unix,local.path=$dir/net-$1,remote.type=unix,remote.path=$dir/net-$2"
}
