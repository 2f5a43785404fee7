#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Each operation of the tester in the kernel, over kfi_loop, with every byte compared. KFI names the kfi command.

readonly SKIP=4
kfi=${KFI:-kfi}
ops=(send tagged write read)
sizes=64,4k,1m

skip()
{
	echo "1..0 # SKIP $*"
	exit $SKIP
}

[ "$(id -u)" = 0 ] || skip "needs root"
command -v "$kfi" > /dev/null || skip "no kfi command"
for module in kfi_loop kfi_perf; do
	[ -d "/sys/module/$module" ] || modprobe -q "$module" || skip "no module $module"
done

"$kfi" perf server -p loop > /dev/null || { echo "Bail out! no server"; exit 1; }
echo "TAP version 13"
echo "1..${#ops[@]}"
code=0 number=0
for op in "${ops[@]}"; do
	number=$((number + 1))
	if "$kfi" perf run -p loop loop -o "$op" -S "$sizes" -i 20 --verify -q > /dev/null; then
		echo "ok $number $op"
	else
		echo "not ok $number $op"
		code=1
	fi
done
"$kfi" perf stop > /dev/null
exit $code
