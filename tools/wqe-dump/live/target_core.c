/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A core file, by elfutils' libelf. Any number in it may be wrong. Sums are checked when it is
 * opened, and all that is looked up by address is sorted by address.
 */
#include "target.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/procfs.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "../record.h"

#define SEGMENTS_MAX 128   /* of an image whose build-id is looked for */
#define NOTES_MAX    65536 /* bytes of its notes */
#define NOT_TRIED    (-2)
#define REFUSED      (-1)

/* The first member of everything that is looked up by address. */
struct range {
	uint64_t start, bytes;
};

/* A range of memory, of which the file may have only a part. */
struct load {
	struct range at;
	uint64_t dumped_bytes; /* from its start */
	uint64_t there_bytes;  /* bytes that the file has; the others were cut off */
	uint64_t offset;       /* in the core file */
	bool is_writable;
};

/* A file that was mapped: the note NT_FILE. */
struct mapped {
	struct range at;
	uint64_t offset; /* in that file, bytes */
	const char *path;
	size_t image; /* the mapping that has the first bytes of the file, if there is one */
	int fd;       /* of an image: the file, NOT_TRIED or REFUSED */
};

struct core {
	int fd;
	bool is_trusted;
	Elf *elf;
	const char *bytes; /* the whole file */
	size_t size_bytes;
	struct load *loads;
	size_t load_count;
	struct mapped *files;
	size_t file_count;
};

/* -- by address -------------------------------------------------------------------------------- */

static int compare_starts(const void *a, const void *b)
{
	const struct range *one = a, *other = b;

	return (one->start > other->start) - (one->start < other->start);
}

static int compare_address(const void *address, const void *range)
{
	const uint64_t at = *(const uint64_t *)address;
	const struct range *of = range;

	return at < of->start ? -1 : at - of->start >= of->bytes;
}

static const struct load *find_load(const struct core *core, uint64_t address)
{
	return bsearch(&address, core->loads, core->load_count, sizeof(*core->loads),
		       compare_address);
}

static struct mapped *find_file(const struct core *core, uint64_t address)
{
	return core->files ? bsearch(&address, core->files, core->file_count, sizeof(*core->files),
				     compare_address)
			   : NULL;
}

static Elf_Data *notes_of(Elf *elf, const GElf_Phdr *segment)
{
	return elf_getdata_rawchunk(elf, (int64_t)segment->p_offset, segment->p_filesz,
				    segment->p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
}

/* -- the files that were mapped ---------------------------------------------------------------- */

/* The build-id of an ELF file; NULL: it has none. */
static const char *find_build_id(Elf *elf, size_t *bytes)
{
	size_t count = 0, left = NOTES_MAX;
	const char *found = NULL;
	GElf_Phdr segment;

	if (elf_getphdrnum(elf, &count) || count > SEGMENTS_MAX)
		return NULL;
	for (size_t i = 0; i < count && !found; i++) {
		if (!gelf_getphdr(elf, (int)i, &segment) || segment.p_type != PT_NOTE ||
		    segment.p_filesz > left)
			continue;
		left -= segment.p_filesz;
		found = target_find_note(notes_of(elf, &segment), NT_GNU_BUILD_ID, ELF_NOTE_GNU,
					 bytes);
	}
	return found;
}

/* Whether the file has the build-id of the image, as far as that was dumped. */
static bool is_same_build(const struct core *core, const struct mapped *image, int fd)
{
	const struct load *load = find_load(core, image->at.start);
	size_t dumped_bytes, found_bytes;
	const char *dumped, *found;
	Elf *memory, *file;
	bool is_same;

	if (!load || load->at.start != image->at.start || image->offset || !load->there_bytes)
		return false;
	memory = elf_memory((char *)(uintptr_t)core->bytes + load->offset, load->there_bytes);
	file = elf_begin(fd, ELF_C_READ, NULL);
	dumped = find_build_id(memory, &dumped_bytes);
	found = find_build_id(file, &found_bytes);
	is_same = dumped && found && dumped_bytes && dumped_bytes == found_bytes &&
		  !memcmp(dumped, found, found_bytes);
	elf_end(file);
	elf_end(memory);
	return is_same;
}

/* File systems whose files the kernel or a program generates as they are read. */
static bool is_made_up(const struct statfs *system)
{
	static const uint32_t types[] = {
		PROC_SUPER_MAGIC, SYSFS_MAGIC,        TRACEFS_MAGIC,       DEBUGFS_MAGIC,
		FUSE_SUPER_MAGIC, CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC, SECURITYFS_MAGIC,
		EFIVARFS_MAGIC,   PSTOREFS_MAGIC,     BPF_FS_MAGIC,        BINFMTFS_MAGIC,
	};

	for (size_t i = 0; i < COUNT(types); i++)
		if ((uint32_t)system->f_type == types[i])
			return true;
	return false;
}

/*
 * Opens the file of an image. The core's author may have named any path, for a reader with more
 * rights. So the path is only looked at first: to open a device can already have an effect.
 */
static int open_image(const struct core *core, const struct mapped *image)
{
	const int place = open(image->path, O_PATH | O_CLOEXEC);
	struct statfs system;
	struct stat stat;
	char self[64];
	int fd = REFUSED;

	if (place < 0)
		return REFUSED;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", place);
	if (!fstat(place, &stat) && S_ISREG(stat.st_mode) &&
	    (core->is_trusted || (!fstatfs(place, &system) && !is_made_up(&system))))
		fd = open(self, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	close(place);
	if (fd < 0)
		return REFUSED;
	if (core->is_trusted || is_same_build(core, image, fd))
		return fd;
	close(fd);
	return REFUSED;
}

/* Reads what was not dumped, such as code, from the mapped file. Returns how much of it. */
static size_t read_mapped_file(struct core *core, uint64_t address, void *to, size_t bytes)
{
	const struct mapped *file = find_file(core, address);
	struct mapped *image = file ? &core->files[file->image] : NULL;
	ssize_t got;

	if (!file)
		return 0;
	if (image->fd == NOT_TRIED)
		image->fd = open_image(core, image);
	if (image->fd == REFUSED)
		return 0;
	if (bytes > file->at.bytes - (address - file->at.start))
		bytes = file->at.bytes - (address - file->at.start);
	got = pread(image->fd, to, bytes, (off_t)(file->offset + (address - file->at.start)));
	if (got <= 0)
		return 0;
	memset((char *)to + got, 0, bytes - (size_t)got); /* beyond the file's end */
	return bytes;
}

/* -- reading ----------------------------------------------------------------------------------- */

/* Reads up to the end of one range of memory. Returns 0 with @why if that fails. */
static size_t read_piece(struct target *target, uint64_t address, void *to, size_t bytes)
{
	struct core *core = target->core;
	const struct load *load = find_load(core, address);
	const uint64_t at = load ? address - load->at.start : 0;
	size_t got = 0;

	if (!load) {
		target_fail(target, EFAULT, "%s had nothing mapped at 0x%llx", target->name,
			    (unsigned long long)address);
		return 0;
	}
	if (bytes > load->at.bytes - at)
		bytes = load->at.bytes - at;
	if (at < load->there_bytes && bytes <= load->there_bytes - at) {
		memcpy(to, core->bytes + load->offset + at, bytes);
		return bytes;
	}
	if (!load->is_writable)
		got = read_mapped_file(core, address, to, bytes);
	if (!got)
		target_fail(
			target, EFAULT,
			at < load->dumped_bytes
				? "%s is cut off: memory at 0x%llx is not in it"
				: "%s lacks the memory at 0x%llx: it was dumped without it, see "
				  "coredump_filter in core(5)",
			target->name, (unsigned long long)address);
	return got;
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

/* -- notes ------------------------------------------------------------------------------------- */

static void add_file(struct core *core, const uint64_t *entry, uint64_t page_bytes,
		     const char *path)
{
	uint64_t offset, end;

	if (entry[1] < entry[0] || __builtin_mul_overflow(entry[2], page_bytes, &offset) ||
	    __builtin_add_overflow(offset, entry[1] - entry[0], &end) || end > INT64_MAX)
		return;
	core->files[core->file_count++] = (struct mapped){ .at = { entry[0], entry[1] - entry[0] },
							   .offset = offset,
							   .path = path,
							   .fd = NOT_TRIED };
}

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
	if (!core->files)
		return; /* a sparse core may claim any number */
	path = desc + sizeof(head) + head[0] * sizeof(entry);
	for (uint64_t i = 0; i < head[0]; i++) {
		const size_t left = bytes - (size_t)(path - desc);

		if (strnlen(path, left) == left)
			break;
		memcpy(entry, desc + sizeof(head) + i * sizeof(entry), sizeof(entry));
		add_file(core, entry, head[1], path);
		path += strlen(path) + 1;
	}
	qsort(core->files, core->file_count, sizeof(*core->files), compare_starts);
	for (size_t i = 0; i < core->file_count; i++) { /* a file's mappings follow each other */
		struct mapped *file = &core->files[i];
		const bool goes_on = i && file->offset && !strcmp(file[-1].path, file->path);

		file->image = goes_on ? file[-1].image : i;
	}
}

static void read_notes(struct target *target, const GElf_Phdr *segment)
{
	Elf_Data *data = notes_of(target->core->elf, segment);
	struct elf_prpsinfo info;
	const char *note;
	size_t bytes;

	if ((note = target_find_note(data, NT_FILE, "CORE", &bytes)) && !target->core->files)
		read_files(target->core, note, bytes);
	note = target_find_note(data, NT_PRPSINFO, "CORE", &bytes);
	if (note && bytes >= sizeof(info)) {
		memcpy(&info, note, sizeof(info));
		target_set_name(target, "the core of process", info.pr_pid, info.pr_fname,
				sizeof(info.pr_fname));
	}
}

/* -- opening ----------------------------------------------------------------------------------- */

/* Whether a range of memory begins where a mapped file begins; true if no files are known. */
static bool may_be_image(const struct core *core, const struct load *load)
{
	const struct mapped *file = find_file(core, load->at.start);

	return file && file->at.start == load->at.start ? !file->offset : !core->file_count;
}

static void add_images(struct target *target)
{
	const struct core *core = target->core;

	for (size_t i = 0; i < core->load_count; i++)
		if (may_be_image(core, &core->loads[i]))
			target_add_image(target, core->loads[i].at.start);
}

static void add_load(struct target *target, const GElf_Phdr *segment)
{
	struct core *core = target->core;
	struct load *load = &core->loads[core->load_count++];
	const uint64_t left =
		segment->p_offset < core->size_bytes ? core->size_bytes - segment->p_offset : 0;

	*load = (struct load){ .at = { segment->p_vaddr, segment->p_memsz },
			       .dumped_bytes = segment->p_filesz,
			       .there_bytes = segment->p_filesz < left ? segment->p_filesz : left,
			       .offset = segment->p_offset,
			       .is_writable = segment->p_flags & PF_W };
	target->is_cut_off |= load->there_bytes < load->dumped_bytes;
}

static void read_segments(struct target *target)
{
	struct core *core = target->core;
	uint64_t notes_left = core->size_bytes;
	size_t count = 0;
	GElf_Phdr segment;
	GElf_Ehdr head;

	target->is_cut_off = elf_getphdrnum(core->elf, &count) != 0 ||
			     !gelf_getehdr(core->elf, &head) || (!count && head.e_phnum);
	core->loads = need(calloc(count ? count : 1, sizeof(*core->loads)));
	for (size_t i = 0; i < count; i++) {
		if (!gelf_getphdr(core->elf, (int)i, &segment)) {
			target->is_cut_off = true;
		} else if (segment.p_type == PT_NOTE && segment.p_filesz <= notes_left) {
			notes_left -= segment.p_filesz;
			read_notes(target, &segment);
		} else if (segment.p_type == PT_LOAD) {
			add_load(target, &segment);
		}
	}
	qsort(core->loads, core->load_count, sizeof(*core->loads), compare_starts);
	add_images(target);
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
	struct core *core = target->core;

	for (size_t i = 0; i < core->file_count; i++)
		if (core->files[i].fd >= 0)
			close(core->files[i].fd);
	elf_end(core->elf);
	if (core->fd >= 0)
		close(core->fd);
	free(core->loads);
	free(core->files);
	free(core);
}

int target_open_core(struct target *target, const char *path, bool is_trusted)
{
	struct core *core = need(calloc(1, sizeof(*core)));
	const char *slash = strrchr(path, '/');
	int err;

	*target = (struct target){ .pidfd = -1, .read = read_core };
	snprintf(target->name, sizeof(target->name), "core file %s", slash ? slash + 1 : path);
	make_printable(target->name);
	core->is_trusted = is_trusted;
	target->core = core;
	target->close = close_core;
	core->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (core->fd < 0)
		return target_fail(target, errno, "%s: %s", path, strerror(errno));
	elf_version(EV_CURRENT);
	core->elf = elf_begin(core->fd, ELF_C_READ_MMAP, NULL);
	err = check_core(target, path);
	if (err)
		return err;
	core->bytes = elf_rawfile(core->elf, &core->size_bytes);
	target->memory_bytes = core->size_bytes;
	if (!core->bytes)
		return target_fail(target, EIO, "%s: %s", path, elf_errmsg(-1));
	read_segments(target);
	return 0;
}
