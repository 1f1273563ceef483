/* SPDX-License-Identifier: BSD-2-Clause */
/* A signal frame as a register file: the decoder reads it, and emulated instructions change it. */
#ifndef SOFTCX_FRAME_H
#define SOFTCX_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

#include "access.h"

struct frame {
	ucontext_t *uc;
#if defined(__x86_64__)
	struct x86_regs regs;
#elif defined(__aarch64__)
	struct arm64_regs regs;
#else
#error "softcx traps doorbells on x86-64 and arm64 only"
#endif
};

/* Finds out how this CPU lays out its registers in a frame. */
void frame_setup(void);

void frame_open(struct frame *frame, void *ucontext);
uint64_t frame_pc(const struct frame *frame);

/* Decodes the instruction at the PC. Returns what access_decode_*() does. */
int frame_decode(const struct frame *frame, struct access *access);

/* Writes loaded data into the frame's register. Returns 0; -errno: nothing changed. */
int frame_finish_load(struct frame *frame, const struct access *access, const uint8_t *data);

/* Moves the PC after the instruction, and the base register if the instruction does. */
void frame_advance(struct frame *frame, const struct access *access);

/* Writes the changed registers back to the frame. */
void frame_close(struct frame *frame);

/* Reads memory that may not exist. Returns whether all n bytes were read. */
bool frame_probe(void *to, const void *from, size_t n);

/* Whether the fault was frame_probe()'s. If so, its frame now goes on to report failure. */
bool frame_fault_was_probe(void *ucontext);

#endif
