# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# completion.bash - completion of the kfi command. Commands, options and words are those of the
# command itself: of `help words`, which prints its tables, and of its help.

_kfi_names()
{
	case $1 in
	NAME)
		kfi mirror 2>/dev/null </dev/null | sed -nE '2,$ s/^([^ ]+) .*/\1/p'
		printf '%s\n' /etc/kfabric/mirror.d/*.conf | sed -nE 's|.*/([^/*]+)\.conf$|\1|p'
		;;
	ID)
		kfi show endpoints 2>/dev/null </dev/null | sed -nE 's/^ *([0-9]+) .*/\1/p'
		;;
	PROVIDER)
		kfi provider 2>/dev/null </dev/null | sed -nE '2,$ s/^([^ ]+) .*/\1/p'
		;;
	FILE|DIR|DEVICE)
		compgen -f -- "$2"
		;;
	esac
}

_kfi()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} word help words all
	local -a path=()

	COMPREPLY=()
	words=$(kfi help words 2>/dev/null)
	for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
		# Only a command can follow here.
		[[ $'\n'$words$'\n' == *$'\n'$word$'\n'* ]] || continue
		path+=("$word")
		words=
		help=$(kfi "${path[@]}" --help 2>/dev/null)
		[[ ${#path[@]} = 2 || ${help%%$'\n'*} != *COMMAND* ]] || words=$(kfi "$word" help words 2>/dev/null)
	done
	help=$(kfi "${path[@]}" --help 2>/dev/null)

	if [[ $prev == -* ]]; then
		# the argument of an option, as its help has it: "-w, --write FILE"
		word=$(sed -nE "s/^ *(-[a-zA-Z], )?$prev ([A-Za-z|]+).*/\2/p; s/^ *$prev, --[a-z-]+ ([A-Za-z|]+).*/\1/p" <<<"$help")
		case $prev in
		-p|--provider) word=PROVIDER ;;
		esac
		case $word in
		FILE|DIR|DEVICE)
			mapfile -t COMPREPLY < <(compgen -f -- "$cur")
			return
			;;
		PROVIDER) all=$(_kfi_names "$word" "$cur") ;;
		*\|*) all=${word//|/$'\n'} ;;
		[A-Z]*) return ;;
		*) word= ;;
		esac
		if [ -n "$word" ]; then
			mapfile -t COMPREPLY < <(IFS=$'\n'; compgen -W "$all" -- "$cur")
			return
		fi
	fi
	if [[ $cur == -* ]]; then
		all=$(grep -oE -- '(^|[^a-z-])-(-[a-z][a-z-]+|[a-zA-Z]\b)' <<<"$help" | grep -oE -- "-.*"; echo -h; echo --help)
	elif [ -n "$words" ]; then
		all=$words
	else
		# The paragraph with the usage: words stand for themselves, names in capitals for others.
		help=$(sed -E "/^\$/Q; s/^(Usage:)? *kfi( ${path[*]})?//; s/(^|[ [])--?[a-zA-Z-]+( [A-Z]+)?/\1/g" <<<"$help")
		all=$(grep -oE '\b[a-z][a-z-]+\b' <<<"$help")
		for word in NAME ID FILE DEVICE; do
			[[ $help =~ (^|[^A-Z])$word([^A-Z]|$) ]] && all+=$'\n'$(_kfi_names "$word" "$cur")
		done
	fi
	mapfile -t COMPREPLY < <(IFS=$'\n'; compgen -W "$all" -- "$cur" | sort -u)
}

complete -o filenames -F _kfi kfi
