# SPDX-License-Identifier: BSD-2-Clause
# To be sourced: a copy of the bare Debian in folder $1, as $root, and what runs in it.

[ $# = 1 ] && [ -d "$1/etc" ] || {
	echo "usage: ${0##*/} FOLDER, which tests/debian/bare made" >&2
	exit 2
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
cp -a "$1" "$root"
mkdir -p "$root/dev/shm"

# inside COMMAND...: in a mount namespace, so that nothing stays mounted. softcx wants its maps and
# shared memory.
inside()
{
	local enter='mount -t proc proc "$0/proc" && mount -t tmpfs shm "$0/dev/shm" &&
		exec chroot "$0" "$@"'

	env DEBIAN_FRONTEND=noninteractive LC_ALL=C HOME=/root \
		unshare --mount sh -c "$enter" "$root" "$@"
}

# tree FOLDER: what git has of the tree
tree()
{
	mkdir -p "$1"
	git ls-files -z | tar --create --null --files-from - | tar --extract --directory "$1"
}
