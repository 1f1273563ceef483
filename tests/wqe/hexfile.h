/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads files of tests/golden/wqe and tests/bad/wqe: bytes, and what they are. Lines are
 *
 *	# a comment: what it is, and where that is written
 *	send RC | recv | recv-srq | recv-signed | cqe   what the bytes are
 *	refused SEGMENT FIELD OFFSET VENDOR   only in tests/bad: the answer; FIELD "-" for none
 *	00 01 23 08 ...                       bytes
 */
#ifndef TESTS_WQE_HEXFILE_H
#define TESTS_WQE_HEXFILE_H

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bsn_decode.h"

enum hex_kind { HEX_SEND, HEX_RECV, HEX_RECV_SRQ, HEX_RECV_SIGNED, HEX_CQE };

struct hexfile {
	char name[64]; /* of the file, without directory and suffix */
	enum hex_kind kind;
	enum bsn_transport transport;
	bool refused;
	char segment[32], field[32], vendor[32];
	unsigned offset;
	size_t size;
	uint8_t bytes[1024];
};

static inline bool hex_set_kind(struct hexfile *hex, const char *kind, const char *transport)
{
	static const char *const kinds[] = { "send", "recv", "recv-srq", "recv-signed", "cqe" };
	static const char *const transports[] = {
#define HEX_TRANSPORT(name, value, doc) [BSN_TRANSPORT_##name] = #name,
		BSN_TRANSPORTS(HEX_TRANSPORT)
#undef HEX_TRANSPORT
	};
	unsigned k = 0, t = 0;

	while (k <= HEX_CQE && strcmp(kind, kinds[k]))
		k++;
	while (k == HEX_SEND && t <= BSN_TRANSPORT_IPOIB && strcmp(transport, transports[t]))
		t++;
	hex->kind = (enum hex_kind)k;
	hex->transport = (enum bsn_transport)t;
	return k <= HEX_CQE && t <= BSN_TRANSPORT_IPOIB;
}

static inline bool hex_read_line(struct hexfile *hex, const char *line)
{
	char word[2][32] = { "", "" };
	unsigned byte;
	int used;

	if (line[0] == '#' || line[0] == '\n')
		return true;
	if (!strncmp(line, "refused ", 8)) {
		hex->refused = true;
		return sscanf(line, "refused %31s %31s %u %31s", hex->segment, hex->field,
			      &hex->offset, hex->vendor) == 4;
	}
	if (sscanf(line, "%2x%n", &byte, &used) != 1 || used != 2)
		return sscanf(line, "%31s %31s", word[0], word[1]) >= 1 &&
		       hex_set_kind(hex, word[0], word[1]);
	while (sscanf(line, " %2x%n", &byte, &used) == 1) {
		if (hex->size == sizeof(hex->bytes))
			return false;
		hex->bytes[hex->size++] = (uint8_t)byte;
		line += used;
	}
	return line[strspn(line, " \n")] == '\0';
}

/* Reads one file; false, with a message on stderr, if it does not have this form. */
static inline bool hex_read(struct hexfile *hex, const char *folder, const char *file)
{
	char path[512], line[256];
	bool good = true;
	FILE *in;

	memset(hex, 0, sizeof(*hex));
	snprintf(hex->name, sizeof(hex->name), "%.*s", (int)strcspn(file, "."), file);
	snprintf(path, sizeof(path), "%s/%s", folder, file);
	in = fopen(path, "r");
	if (!in) {
		perror(path);
		return false;
	}
	while (good && fgets(line, sizeof(line), in)) {
		good = hex_read_line(hex, line);
		if (!good)
			fprintf(stderr, "# %s: not understood: %s", path, line);
	}
	fclose(in);
	return good;
}

/* Calls `visit` with each file of a folder; returns how many there were, or -1. */
static inline int hex_visit(const char *folder, void (*visit)(const struct hexfile *hex))
{
	static struct hexfile hex;
	struct dirent *entry;
	int count = 0;
	DIR *dir = opendir(folder);

	if (!dir) {
		perror(folder);
		return -1;
	}
	while (count >= 0 && (entry = readdir(dir))) {
		if (!strstr(entry->d_name, ".hex"))
			continue;
		count = hex_read(&hex, folder, entry->d_name) ? count + 1 : -1;
		if (count > 0)
			visit(&hex);
	}
	closedir(dir);
	return count;
}

#endif
