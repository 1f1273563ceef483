/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A form is how one program writes down errors, WQEs or CQEs. It names strings (its marks), and is
 * offered only lines that have one of them; so a log costs little more than a search for the marks
 * of all forms at once. To add a form, write it in forms_<family>.c and list it here.
 */
#ifndef WQE_DUMP_FORM_H
#define WQE_DUMP_FORM_H

#include "../bytes/raw.h"
#include "../tell/tell.h"
#include "../text/text.h"

/** enum form_answer - what a form makes of a line */
enum form_answer {
	FORM_PASS,  /* not its own; other forms may read it */
	FORM_OVER,  /* likewise, and the form stops waiting */
	FORM_TAKEN, /* its own, and the message is complete */
	FORM_MORE,  /* its own, and the form waits for more: it gets all following lines */
};

/* After so many lines that it did not take, a waiting form is closed. */
#define FORM_PATIENCE 32

/** struct feed - what the scanner gives a form with each line */
struct feed {
	struct tell *tell;            /* receives what the form finds */
	const struct form *form;      /* the form whose turn it is */
	const struct raw_attr *bytes; /* what the user says of bytes without text */
	size_t width;                 /* characters of the line, with its prefix */
	unsigned taken;               /* set by the form: following lines that belong to this one */

	/*
	 * rest() - a next line that may continue this one
	 * @nth: 1 is the next one
	 *
	 * Return: the line without quote marks and blanks before it, valid until the next call; it
	 * may be empty. NULL: it has a prefix of its own, or is not there.
	 */
	char *(*rest)(struct feed *feed, unsigned nth);
};

/* The marks of a form. */
#define MARKS(...) ((const char *const[]){ __VA_ARGS__, NULL })

/** struct form - one way in which errors, or bytes of queues, are written */
struct form {
	const char *name;         /* "source" of the JSON, and for --format */
	const char *const *marks; /* NULL ends the list: a line with one of them is offered */
	size_t state_bytes;       /* kept from line to line; zero at first */
	bool begins_anew;         /* each line with a mark closes the form, if it waits */
	const void *lines;        /* the shapes that its feed() reads: of keys.h */

	/* feed() - reads a line, without the logger's prefix */
	enum form_answer (*feed)(struct feed *feed, const struct line *line, void *state);

	/* close() - the waiting form gets no more lines; NULL: there is nothing to tell */
	void (*close)(struct feed *feed, void *state);
};

/* Defines a form: its variable, its name, its marks, and other members. */
#define FORM(id, form_name, its_marks, ...)                                                        \
	const struct form form_##id = { .name = form_name, .marks = its_marks, __VA_ARGS__ }

/*
 * X(variable without form_), in the order in which lines are offered. Of forms whose lines look
 * alike the first one gets the line; forms for lines of any program come last.
 */
#define FORMS(X)                                                                                   \
	X(libmlx5) X(libmlx5_wqe) X(mlx5_ib) X(mlx5_ib_wqe) X(mlx5_core_wqe)                       \
	X(mlx5_command) X(mlx5_health) X(mlx5_wc) X(mlx5e) X(mlx5_poll) X(mlx5_lines)              \
	X(ucx) X(ucx_wqe) X(ucx_lines) X(ucx_flush)                                                \
	X(dpdk) X(dpdk_dump)                                                                       \
	X(mpi) X(nccl) X(perftest) X(examples) X(xlio) X(gpunetio) X(nvshmem) X(nvshmem_lines)     \
	X(spdk) X(mooncake) X(uccl)                                                                \
	X(kernel_ulp) X(apps) X(events)                                                            \
	X(other_nic) X(verbs) X(hex) X(binary)

#define DECLARE_FORM(id) extern const struct form form_##id;
FORMS(DECLARE_FORM)

/** forms - all of them, up to a NULL */
extern const struct form *const forms[];

/* At most this many, since each form has a bit of a word. */
#define FORMS_MAX 64

/** form_find() - a form by name; NULL: there is none */
const struct form *form_find(const char *name);

#endif
