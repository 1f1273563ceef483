# SPDX-License-Identifier: BSD-2-Clause
# bash completion for bsn-info(1), bsn-perf(1), softcx(1) and wqe-dump(1): the program itself says what
# there is.

# The commands of a program.
__bunsen_commands()
{
	"$1" --help 2>/dev/null |
		sed -nE 's/^([Uu]sage:)? +'"${1##*/}"' ([a-z]+) .*/\2/p; s/^  ([a-z]+)  .*/\1/p'
}

# The options of a command, with = where they take an argument.
__bunsen_options()
{
	"$@" --help 2>/dev/null |
		sed -nE 's/^ +(-[^ ],? )?(--[a-z0-9-]+)(=[^ ]*)?.*/\2\3/p' | sed -E 's/=.*/=/'
}

# What an option's argument may be.
__wqe_dump_argument()
{
	local program=$1 option=$2 operation=$3

	case $option in
	--format | -f)
		"$program" --format '?' </dev/null 2>&1 | sed -n 's/.* is none of: //p' ;;
	--compressed) "$program" --compressed '?' </dev/null 2>&1 | sed -n 's/.* is none of: //p' ;;
	--transport | -t) echo rc uc ud dc xrc eth ipoib ;;
	--side | -s) echo requester responder ;;
	--pid | -p) (cd /proc && echo [0-9]*) ;;
	--qp) ;;
	--size) echo 4 8 ;;
	--segment) "$program" build --list | sed -n '/^$/,$s/ .*//p' ;;
	--set)
		[ -n "$operation" ] &&
			"$program" build "$operation" --fields 2>/dev/null | sed 's/ .*/=/' ;;
	*) return 1 ;;
	esac
}

_wqe_dump()
{
	local program=${COMP_WORDS[0]} word=${COMP_WORDS[COMP_CWORD]}
	local before=${COMP_WORDS[COMP_CWORD - 1]} command= operation= words= option=

	COMPREPLY=()
	if [ "$COMP_CWORD" -gt 1 ]; then
		case ${COMP_WORDS[1]} in
		explain | build) command=${COMP_WORDS[1]} ;;
		esac
	fi
	if [ "$command" = build ] && [ "$COMP_CWORD" -gt 2 ]; then
		operation=${COMP_WORDS[2]}
	fi
	# bash makes three words of --option=value.
	if [ "$word" = = ]; then
		option=$before word=
	elif [ "$before" = = ]; then
		option=${COMP_WORDS[COMP_CWORD - 2]}
	else
		option=$before
	fi
	if words=$(__wqe_dump_argument "$program" "$option" "$operation"); then
		mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
	elif [[ $word == -* ]]; then
		words=$(__bunsen_options "$program" ${command:+"$command"})
		mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
	elif [ "$command" = build ] && [ "$COMP_CWORD" = 2 ]; then
		words=$("$program" build --list | sed '/^$/,$d; s/ .*//' | tr A-Z_ a-z-)
		mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
	elif [ -z "$command" ]; then
		[ "$COMP_CWORD" = 1 ] && words='explain build'
		mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word"; compgen -f -- "$word")
	fi
	__bunsen_end
}

# What ends with = wants its argument at once.
__bunsen_end()
{
	[[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
	return 0
}

# A list that the program prints when a word is none of it.
__bunsen_words()
{
	"$@" </dev/null 2>&1 | sed -n 's/.* is none of: //p' | tr -d ,
}

# What an option's argument may be.
__bunsen_argument()
{
	local program=$1 command=$2 option=$3

	case $option in
	--device | -d) ls /sys/class/infiniband 2>/dev/null ;;
	--generation | -g) echo cx5 cx6 cx7 ;;
	--link | -l) echo ib roce ;;
	--store) echo 8x8 4x16 doorbell ;;
	--op | --columns) __bunsen_words "$program" "$command" "$option" '?' ;;
	*) return 1 ;;
	esac
}

_bunsen()
{
	local program=${COMP_WORDS[0]} word=${COMP_WORDS[COMP_CWORD]} command= commands words option
	local before=${COMP_WORDS[COMP_CWORD - 1]}

	COMPREPLY=()
	commands=$(__bunsen_commands "$program")
	if [ "$COMP_CWORD" -gt 1 ] && grep -qxF -- "${COMP_WORDS[1]}" <<<"$commands"; then
		command=${COMP_WORDS[1]}
	fi
	option=$before
	if [ "$word" = = ]; then
		word=
	elif [ "$before" = = ]; then
		option=${COMP_WORDS[COMP_CWORD - 2]}
	fi
	if words=$(__bunsen_argument "$program" "$command" "$option"); then
		mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
	elif [[ $word == -* ]]; then
		words=$(__bunsen_options "$program" $command)
		mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
	elif [ "$COMP_CWORD" = 1 ]; then
		mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$word")
	else
		mapfile -t COMPREPLY < <(compgen -c -- "$word"; compgen -f -- "$word")
	fi
	__bunsen_end
}

complete -F _wqe_dump -o filenames wqe-dump
complete -F _bunsen -o filenames bsn-info bsn-perf softcx
