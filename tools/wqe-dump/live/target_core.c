/* SPDX-License-Identifier: BSD-2-Clause */
/* A core file, by elfutils' libelf. */
#include "target.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/procfs.h>
#include <unistd.h>

/* A piece of memory; not all of it needs to be in the file. */
struct load {
	uint64_t start, bytes;
	uint64_t dumped_bytes; /* from its start */
	uint64_t offset;       /* in the core file */
	bool is_writable;
};

/* A file that was mapped: the note NT_FILE. */
struct mapped {
	uint64_t start, end;
	uint64_t offset; /* in that file, bytes */
	const char *path;
};

struct core {
	int fd;
	Elf *elf;
	const char *bytes; /* the whole file */
	size_t size_bytes;
	struct load *loads;
	size_t load_count;
	struct mapped *files;
	size_t file_count;
};

/* -- reading ------------------------------------------------------------------------------------ */

static const struct load *find_load(const struct core *core, uint64_t address)
{
	for (size_t i = 0; i < core->load_count; i++)
		if (address - core->loads[i].start < core->loads[i].bytes)
			return &core->loads[i];
	return NULL;
}

/* Reads from a mapped file what was not dumped. Code, for example, is not dumped. */
static bool read_mapped_file(const struct core *core, uint64_t address, void *to, size_t bytes)
{
	const struct mapped *file = core->files;
	const struct mapped *const end = file + core->file_count;
	ssize_t got;
	int fd;

	while (file < end && address - file->start >= file->end - file->start)
		file++;
	if (file == end)
		return false;
	fd = open(file->path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	got = pread(fd, to, bytes, (off_t)(file->offset + (address - file->start)));
	close(fd);
	if (got <= 0)
		return false;
	memset((char *)to + got, 0, bytes - (size_t)got); /* beyond the file's end */
	return true;
}

/* Reads as many bytes as one piece of memory has; 0 with @why. */
static size_t read_piece(struct target *target, uint64_t address, void *to, size_t bytes)
{
	const struct core *core = target->core;
	const struct load *load = find_load(core, address);
	const uint64_t at = load ? address - load->start : 0;

	if (!load) {
		target_fail(target, EFAULT, "%s had nothing mapped at 0x%llx", target->name,
			    (unsigned long long)address);
		return 0;
	}
	if (bytes > load->bytes - at)
		bytes = load->bytes - at;
	if (at + bytes <= load->dumped_bytes && load->offset + at + bytes <= core->size_bytes) {
		memcpy(to, core->bytes + load->offset + at, bytes);
		return bytes;
	}
	if (!load->is_writable && read_mapped_file(core, address, to, bytes))
		return bytes;
	target_fail(target, EFAULT,
		    at < load->dumped_bytes
			    ? "%s is cut off: memory at 0x%llx is not in it"
			    : "%s lacks the memory at 0x%llx: it was dumped without it, see "
			      "coredump_filter in core(5)",
		    target->name, (unsigned long long)address);
	return 0;
}

static int read_core(struct target *target, uint64_t address, void *to, size_t bytes)
{
	while (bytes) {
		const size_t got = read_piece(target, address, to, bytes);

		if (!got)
			return -EFAULT;
		address += got;
		to = (char *)to + got;
		bytes -= got;
	}
	return 0;
}

/* -- notes -------------------------------------------------------------------------------------- */

/* The note has two words, three for each file, then the paths. */
static void read_files(struct core *core, const char *desc, size_t bytes)
{
	uint64_t head[2], entry[3];
	const char *path;

	if (bytes < sizeof(head))
		return;
	memcpy(head, desc, sizeof(head));
	if (head[0] > (bytes - sizeof(head)) / sizeof(entry))
		return;
	core->files = calloc(head[0] ? head[0] : 1, sizeof(*core->files));
	path = desc + sizeof(head) + head[0] * sizeof(entry);
	for (uint64_t i = 0; core->files && i < head[0]; i++) {
		const size_t left = bytes - (size_t)(path - desc);

		if (strnlen(path, left) == left)
			return;
		memcpy(entry, desc + sizeof(head) + i * sizeof(entry), sizeof(entry));
		core->files[core->file_count++] = (struct mapped){ .start = entry[0],
								   .end = entry[1],
								   .offset = entry[2] * head[1],
								   .path = path };
		path += strlen(path) + 1;
	}
}

static void read_notes(struct target *target, const GElf_Phdr *segment)
{
	Elf_Data *data = elf_getdata_rawchunk(target->core->elf, (int64_t)segment->p_offset,
					      segment->p_filesz, ELF_T_NHDR);
	size_t at = 0, next, name, desc;
	GElf_Nhdr note;

	while (data && (next = gelf_getnote(data, at, &note, &name, &desc))) {
		const char *bytes = (const char *)data->d_buf + desc;

		if (note.n_type == NT_FILE && !target->core->files)
			read_files(target->core, bytes, note.n_descsz);
		if (note.n_type == NT_PRPSINFO && note.n_descsz >= sizeof(struct elf_prpsinfo)) {
			struct elf_prpsinfo info;
			memcpy(&info, bytes, sizeof(info));
			target_set_name(target, "the core of process", info.pr_pid, info.pr_fname,
					sizeof(info.pr_fname));
		}
		at = next;
	}
}

/* -- opening ------------------------------------------------------------------------------------ */

/* Whether a piece of memory begins where a mapped file begins; true if no files are known. */
static bool may_be_image(const struct core *core, const struct load *load)
{
	for (size_t i = 0; i < core->file_count; i++)
		if (core->files[i].start == load->start)
			return !core->files[i].offset;
	return !core->file_count;
}

static int add_images(struct target *target)
{
	const struct core *core = target->core;
	int err = 0;

	for (size_t i = 0; i < core->load_count && !err; i++)
		if (may_be_image(core, &core->loads[i]))
			err = target_add_image(target, core->loads[i].start);
	return err;
}

static void add_load(struct target *target, const GElf_Phdr *segment)
{
	struct core *core = target->core;

	core->loads[core->load_count++] = (struct load){ .start = segment->p_vaddr,
							 .bytes = segment->p_memsz,
							 .dumped_bytes = segment->p_filesz,
							 .offset = segment->p_offset,
							 .is_writable = segment->p_flags & PF_W };
	target->is_cut_off |= segment->p_offset + segment->p_filesz > core->size_bytes;
}

static int read_segments(struct target *target)
{
	struct core *core = target->core;
	size_t count = 0;
	GElf_Phdr segment;
	GElf_Ehdr head;

	target->is_cut_off = elf_getphdrnum(core->elf, &count) != 0 ||
			     !gelf_getehdr(core->elf, &head) || (!count && head.e_phnum);
	core->loads = calloc(count ? count : 1, sizeof(*core->loads));
	if (!core->loads)
		return target_fail(target, ENOMEM, "out of memory");
	for (size_t i = 0; i < count; i++) {
		if (!gelf_getphdr(core->elf, (int)i, &segment))
			target->is_cut_off = true;
		else if (segment.p_type == PT_NOTE)
			read_notes(target, &segment);
		else if (segment.p_type == PT_LOAD)
			add_load(target, &segment);
	}
	return add_images(target);
}

static int check_core(struct target *target, const char *path)
{
	GElf_Ehdr head;

	if (elf_kind(target->core->elf) != ELF_K_ELF || !gelf_getehdr(target->core->elf, &head))
		return target_fail(target, EINVAL,
				   "%s is no core file; a compressed one must be unpacked first",
				   path);
	if (head.e_type != ET_CORE)
		return target_fail(target, EINVAL, "%s is an ELF file, but no core file", path);
	if (head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_ident[EI_DATA] != ELFDATA2LSB)
		return target_fail(target, EINVAL,
				   "%s is not of a 64-bit little-endian machine: Bunsen runs on "
				   "no other",
				   path);
	return 0;
}

static void close_core(struct target *target)
{
	elf_end(target->core->elf);
	if (target->core->fd >= 0)
		close(target->core->fd);
	free(target->core->loads);
	free(target->core->files);
	free(target->core);
}

int target_open_core(struct target *target, const char *path)
{
	struct core *core = calloc(1, sizeof(*core));
	const char *slash = strrchr(path, '/');
	int err;

	*target = (struct target){ .pidfd = -1, .read = read_core };
	if (!core)
		return target_fail(target, ENOMEM, "out of memory");
	snprintf(target->name, sizeof(target->name), "core file %s", slash ? slash + 1 : path);
	target->core = core;
	target->close = close_core;
	core->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (core->fd < 0)
		return target_fail(target, errno, "%s: %s", path, strerror(errno));
	elf_version(EV_CURRENT);
	core->elf = elf_begin(core->fd, ELF_C_READ_MMAP, NULL);
	err = check_core(target, path);
	if (!err) {
		core->bytes = elf_rawfile(core->elf, &core->size_bytes);
		err = core->bytes ? read_segments(target)
				  : target_fail(target, EIO, "%s: %s", path, elf_errmsg(-1));
	}
	return err;
}
