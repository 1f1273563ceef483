# SPDX-License-Identifier: BSD-2-Clause
# bash completion for wqe-dump(1): the program itself says what there is.

# The options of a command, with = where they take an argument.
__wqe_dump_options()
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
		words=$(__wqe_dump_options "$program" ${command:+"$command"})
		mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
	elif [ "$command" = build ] && [ "$COMP_CWORD" = 2 ]; then
		words=$("$program" build --list | sed '/^$/,$d; s/ .*//' | tr A-Z_ a-z-)
		mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
	elif [ -z "$command" ]; then
		[ "$COMP_CWORD" = 1 ] && words='explain build'
		mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word"; compgen -f -- "$word")
	fi
	# What ends with = wants its argument at once.
	[[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
	return 0
}

complete -F _wqe_dump -o filenames wqe-dump
