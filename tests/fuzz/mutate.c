/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs a fuzz target without libFuzzer, so that any compiler will do: each file of the folders
 * given as it is, then mixtures of them, cut, repeated and damaged. usage: mutate SECONDS FOLDER...
 */
#include <dirent.h>
#include <time.h>

#include "../wqe/random.h"
#include "fuzz.h"

#define MAX_FILES 4096
#define MAX_BYTES 8192

static struct {
	size_t size;
	uint8_t *bytes;
} files[MAX_FILES];
static unsigned file_count;

static void read_file(const char *folder, const char *name)
{
	static uint8_t bytes[MAX_BYTES];
	char path[1024];
	FILE *in;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	in = fopen(path, "r");
	if (!in || file_count == MAX_FILES)
		return;
	files[file_count].size = fread(bytes, 1, sizeof(bytes), in);
	files[file_count].bytes = malloc(sizeof(bytes));
	memcpy(files[file_count].bytes, bytes, files[file_count].size);
	file_count++;
	fclose(in);
}

static void read_folder(const char *folder)
{
	struct dirent *entry;
	DIR *dir = opendir(folder);

	while (dir && (entry = readdir(dir)))
		if (entry->d_type != DT_DIR)
			read_file(folder, entry->d_name);
	if (dir)
		closedir(dir);
}

static size_t append(uint8_t *to, size_t at, const uint8_t *bytes, size_t size)
{
	if (size > MAX_BYTES - at)
		size = MAX_BYTES - at;
	memmove(to + at, bytes, size);
	return at + size;
}

/* Appends a part of one file. */
static size_t add_part(uint8_t *to, size_t at)
{
	const unsigned n = (unsigned)(random_u64() % file_count);
	const size_t from = random_u64() % 2 ? 0 : random_u64() % (files[n].size + 1);
	const size_t left = files[n].size - from;

	return append(to, at, files[n].bytes + from,
		      random_u64() % 2 ? left : random_u64() % (left + 1));
}

/* Replaces some bytes, mostly by characters that tell forms and shapes apart. */
static void damage(uint8_t *bytes, size_t size)
{
	static const char telling[] = "0123456789abcdefxX:,=\n\r\t |*[]<>().-\"\\{}\0\xff";

	for (uint64_t n = random_u64() % 8; n && size; n--)
		bytes[random_u64() % size] =
			random_u64() % 4 ? (uint8_t)telling[random_u64() % sizeof(telling)]
					 : (uint8_t)random_u64();
}

static void run_one(void)
{
	static uint8_t bytes[MAX_BYTES];
	size_t size = 1;

	bytes[0] = random_u64() % 2 ? 0 : (uint8_t)random_u64();
	for (uint64_t parts = 1 + random_u64() % 4; parts; parts--)
		size = add_part(bytes, size);
	damage(bytes + 1, size - 1);
	LLVMFuzzerTestOneInput(bytes, size);
}

int main(int argc, char **argv)
{
	const time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 0);
	unsigned long runs = 0;

	for (int i = 2; i < argc; i++)
		read_folder(argv[i]);
	if (!file_count) {
		fprintf(stderr, "usage: %s SECONDS FOLDER...\n", argv[0]);
		return 2;
	}
	random_start();
	for (unsigned i = 0; i < file_count; i++)
		LLVMFuzzerTestOneInput(files[i].bytes, files[i].size);
	while (time(NULL) < end)
		for (unsigned i = 0; i < 64; i++, runs++)
			run_one();
	fprintf(stderr, "# %lu inputs\n", runs);
	return 0;
}
