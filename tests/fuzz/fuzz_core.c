/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Arbitrary bytes as a core file. Whatever they are, nothing is read or written out of bounds
 * (sanitizers tell), and the records are consistent (otherwise this program aborts).
 *
 * The last byte of the input also chooses the user's options. A byte before the core file is
 * skipped.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz_live.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char path[64];
	static int fd;
	struct live_attr attr = { .core = path };

	if (!size)
		return 0;
	attr.trusts_core = data[size - 1] & 1;
	if (data[size - 1] & 2)
		attr.qp = KNOWN(FUZZ_QPN);
	if (!*path) {
		fd = memfd_create("core", MFD_CLOEXEC);
		MUST(fd >= 0);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	}
	if (*data != ELFMAG0) {
		data++;
		size--;
	}
	MUST(!ftruncate(fd, 0) && pwrite(fd, data, size, 0) == (ssize_t)size);
	fuzz_live(&attr);
	return 0;
}
