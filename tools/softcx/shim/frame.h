/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A signal frame as a register file: what the decoder reads and what emulated instructions change.
 */
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

/* Learns how this CPU lays its registers out in a frame. */
void frame_setup(void);

void frame_open(struct frame *frame, void *ucontext);
uint64_t frame_pc(const struct frame *frame);

/* Decodes the instruction at the PC. Return: as access_decode_*(). */
int frame_decode(const struct frame *frame, struct access *access);

/* Puts loaded data into the frame's register. Return: 0 or -errno, with nothing changed. */
int frame_finish_load(struct frame *frame, const struct access *access, const uint8_t *data);

/* Moves the PC past the instruction, and the base register where the instruction does. */
void frame_advance(struct frame *frame, const struct access *access);

/* Gives the changed registers back to the frame. */
void frame_close(struct frame *frame);

/* Reads memory that may not be there. Return: whether all n bytes were. */
bool frame_probe(void *to, const void *from, size_t n);

/* Whether the fault was frame_probe()'s; if so its frame now goes on to report failure. */
bool frame_fault_was_probe(void *ucontext);

#endif
