# SPDX-License-Identifier: BSD-2-Clause
# To be sourced: Debian's packages unpacked into a folder, with nothing installed and without root.
# Wants skip(), and $work, an empty folder of the sourcing script's.

# More options for apt, such as another architecture's.
apt_options=()

# apt, with lists of its own; what it says of the system is read only. Its children inherit no file
# that the caller keeps open, such as a lock.
apt()
{
	local tool=$1
	shift
	timeout --kill-after=5 200 "$tool" -q -o Dir::State::Lists="$work/apt/lists" \
		-o Dir::Cache="$work/apt" -o Debug::NoLocking=1 -o APT::Sandbox::User= \
		-o Acquire::Retries=2 -o Acquire::http::Timeout=20 "${apt_options[@]}" "$@" \
		9>&- </dev/null
}

# Reads what the archive has now. If nothing could be read, the first request shows it.
packages_update()
{
	command -v apt-get >/dev/null && command -v dpkg >/dev/null ||
		skip "this is not a Debian system"
	mkdir -p "$work"/{tree,debs,apt/lists/partial,apt/archives/partial}
	apt apt-get update >"$work/log" 2>&1 || true
}

# packages_missing PACKAGE...: prints which of them, and of their dependencies, are not installed.
packages_missing()
{
	apt apt-get -s install --no-install-recommends "$@" 2>"$work/log" |
		awk '$1 == "Inst" { print $2 }' || skip "apt-get: $(tail -n 1 "$work/log")"
}

# packages_unpack PACKAGE...: into $work/tree
packages_unpack()
{
	local deb
	(cd "$work/debs" && apt apt-get download "$@") >"$work/log" 2>&1 ||
		skip "cannot download: $(grep -m 1 '^E:' "$work/log" || tail -n 1 "$work/log")"
	for deb in "$work"/debs/*.deb; do
		[ ! -e "$deb" ] || dpkg -x "$deb" "$work/tree" 9>&-
	done
	rm -rf "$work/debs"
}
