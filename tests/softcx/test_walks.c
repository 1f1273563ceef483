/* SPDX-License-Identifier: BSD-2-Clause */
/* Programs look through the device's folders: by glob(3), nftw(3), fts(3), inside, by listing. */
#define _GNU_SOURCE 1
#include "loopback.h"

#include <dirent.h>
#include <fcntl.h>
#include <fts.h>
#include <ftw.h>
#include <glob.h>
#include <limits.h>
#include <sys/stat.h>

static int start(void **state)
{
	return loopback_start(CX_LINK_IB);
}

static int stop(void **state)
{
	return softcx_stop();
}

static void assert_globs(const char *pattern, const char *path)
{
	glob_t found = { 0 };

	assert_int_equal(glob(pattern, 0, NULL, &found), 0);
	assert_int_equal(found.gl_pathc, 1);
	assert_string_equal(found.gl_pathv[0], path);
	globfree(&found);
}

static void patterns_match(void **state)
{
	assert_globs("/sys/class/infiniband/*", "/sys/class/infiniband/mlx5_0");
	assert_globs("/sys/class/infiniband/*/ports/*/state",
		     "/sys/class/infiniband/mlx5_0/ports/1/state");
	assert_globs("/sys/class/infiniband/mlx5_0/node_typ?",
		     "/sys/class/infiniband/mlx5_0/node_type");
	assert_globs("/dev/infiniband/u*", "/dev/infiniband/uverbs0");
	assert_globs("/dev/infiniband/r*", "/dev/infiniband/rdma_cm");
	assert_globs("/proc/self/sta[t]", "/proc/self/stat");
}

static unsigned visited, states;

static int visit(const char *path, const struct stat *st, int type, struct FTW *at)
{
	visited++;
	assert_memory_equal(path, "/sys/class/infiniband/mlx5_0/ports", 34);
	if (!strcmp(path + at->base, "state")) {
		assert_int_equal(type, FTW_F);
		assert_true(S_ISREG(st->st_mode));
		states++;
	}
	return 0;
}

static void a_walk_tells_the_names_that_were_asked_for(void **state)
{
	assert_int_equal(nftw("/sys/class/infiniband/mlx5_0/ports", visit, 16, FTW_PHYS), 0);
	assert_int_equal(states, 1);
	assert_in_range(visited, 10, 10000);
}

static void a_walk_by_fts_finds_what_is_there(void **state)
{
	char *const paths[] = { "/sys/class/infiniband/mlx5_0/ports/1", NULL };
	FTS *walk = made(fts_open(paths, FTS_PHYSICAL, NULL));
	unsigned found = 0;
	FTSENT *entry;

	while ((entry = fts_read(walk)))
		found += entry->fts_info == FTS_F && !strcmp(entry->fts_name, "state");
	assert_int_equal(fts_close(walk), 0);
	assert_int_equal(found, 1);
}

static void a_program_may_go_into_the_folders(void **state)
{
	char before[PATH_MAX], now[PATH_MAX], *name;
	FILE *file;

	assert_non_null(getcwd(before, sizeof(before)));
	assert_int_equal(chdir("/sys/class/infiniband/mlx5_0/ports/1"), 0);
	file = made(fopen("state", "r"));
	fclose(file);
	assert_int_equal(chdir("/sys/class/infiniband"), 0);
	assert_non_null(getcwd(now, sizeof(now)));
	assert_string_equal(now, "/sys/class/infiniband");
	name = get_current_dir_name();
	assert_string_equal(name, now);
	free(name);
	assert_int_equal(access("mlx5_0/node_type", F_OK), 0);
	assert_int_equal(chdir(before), 0);
	assert_non_null(getcwd(now, sizeof(now)));
	assert_string_equal(now, before);
}

static void the_folder_of_nodes_lists_the_node(void **state)
{
	DIR *dir = opendir("/dev/infiniband");
	struct dirent *entry;
	unsigned found = 0;
	struct stat st;

	assert_non_null(dir);
	while ((entry = readdir(dir)))
		found += !strcmp(entry->d_name, "uverbs0");
	closedir(dir);
	assert_int_equal(found, 1);
	assert_int_equal(access("/dev/infiniband/", R_OK | X_OK), 0);
	assert_int_equal(stat("/dev/infiniband", &st), 0);
	assert_true(S_ISDIR(st.st_mode));
	assert_int_equal(stat("/dev/infiniband/uverbs0", &st), 0);
	assert_true(S_ISCHR(st.st_mode));
}

int main(void)
{
	return RUN_IN(
		start, stop, UNIT(patterns_match), UNIT(a_walk_tells_the_names_that_were_asked_for),
		UNIT(a_walk_by_fts_finds_what_is_there), UNIT(a_program_may_go_into_the_folders),
		UNIT(the_folder_of_nodes_lists_the_node));
}
