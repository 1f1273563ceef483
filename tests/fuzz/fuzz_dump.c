/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Arbitrary bytes as the input of wqe-dump: lines, prefixes, every form, hexadecimal in any shape,
 * binary. Whatever they are, nothing is read or written out of bounds (sanitizers tell), and the
 * records are consistent (otherwise this program aborts).
 *
 * The first byte of the input chooses the user's options; 0x80 in it also runs the printers. The
 * rest is the file.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "fuzz_sink.h"
#include "wqe-dump/scan/scan.h"

/* Returns the scanner for a choice of options; each scanner is used for many inputs. */
static struct scan *get_scan(unsigned choice)
{
	enum { KINDS = RAW_RECV_SIGNED + 1, TRANSPORTS = BSN_TRANSPORT_IPOIB + 1 };
	enum { FORMATS = BSN_MINI_L34H_STRIDX + 1, COMPRESSIONS = 4 * FORMATS };
	static struct scan *scans[KINDS + TRANSPORTS + COMPRESSIONS];
	static struct tell tell = { .sink = &fuzz_sink };
	struct scan_attr attr = { .bytes = { .stride_bytes = 64 } };

	choice %= sizeof(scans) / sizeof(scans[0]);
	if (choice < KINDS) {
		attr.bytes.kind = (enum raw_kind)choice;
	} else if (choice < KINDS + TRANSPORTS) {
		attr.bytes.transport = KNOWN(choice - KINDS);
	} else {
		attr.bytes.has_format = true;
		attr.bytes.compression = (struct bsn_cqe_block){
			.format = (choice - KINDS - TRANSPORTS) % FORMATS,
			.is_enhanced = (choice - KINDS - TRANSPORTS) / FORMATS & 1,
			.is_striding = (choice - KINDS - TRANSPORTS) / FORMATS & 2,
		};
	}
	if (!scans[choice])
		scans[choice] = scan_create(&attr, &tell);
	return scans[choice];
}

static const char *path_of(int fd)
{
	static char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return path;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	struct input input;

	if (!size)
		return 0;
	if (fd < 0)
		fd = memfd_create("input", 0);
	fuzz_lines = 1;
	fuzz_prints = data[0] & 0x80;
	for (size_t i = 1; i < size; i++)
		fuzz_lines += data[i] == '\n';
	MUST(!ftruncate(fd, 0) && pwrite(fd, data + 1, size - 1, 0) == (ssize_t)size - 1);
	MUST(!input_open(&input, path_of(fd)));
	/* Sanitizers see a read beyond the input only where its memory ends. */
	MUST(input.buffer = realloc(input.buffer, size));
	MUST(!scan_input(get_scan(data[0]), &input));
	input_close(&input);
	return 0;
}
