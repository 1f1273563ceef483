# SPDX-License-Identifier: BSD-2-Clause
# fish completion for bsn-info(1), bsn-perf(1), softcx(1) and wqe-dump(1): the program itself says what
# there is.

function __bunsen_commands
	$argv[1] --help 2>/dev/null |
		sed -nE 's/^([Uu]sage:)? +'(basename $argv[1])' ([a-z]+) .*/\2/p; s/^  ([a-z]+)  +/\1\t/p'
end

# The options of what stands on the line, with = where they take an argument.
function __bunsen_options
	set -l words (commandline -opc)
	set -l commands (__bunsen_commands $words[1] | string replace -r '\t.*' '')
	set -l command
	if test (count $words) -gt 1; and contains -- $words[2] $commands
		set command $words[2]
	end
	$words[1] $command --help 2>/dev/null |
		sed -nE 's/^ +(-[^ ],? )?(--[a-z0-9-]+)(\[?=[^ ]*)? *(.*)/\2\3\t\4/p' |
		sed -E 's/\[?=[^\t]*\t/=\t/'
end

function __bunsen_wants_option
	string match -q -- '-*' (commandline -ct)
end

function __bunsen_wants_command
	test (count (commandline -opc)) = 1
end

for program in bsn-info bsn-perf softcx wqe-dump
	complete -c $program -n __bunsen_wants_option -f -a '(__bunsen_options)'
	complete -c $program -n __bunsen_wants_command -a '(__bunsen_commands (commandline -opc)[1])'
end
