/* SPDX-License-Identifier: BSD-2-Clause */
/* Inside the launcher: its commands beside run, and how it gives up. */
#ifndef SOFTCX_LAUNCHER_H
#define SOFTCX_LAUNCHER_H

/* As a shell and env(1) exit when they cannot run a program. */
enum { EXIT_USAGE = 2, EXIT_NOT_EXECUTABLE = 126, EXIT_NOT_FOUND = 127 };

__attribute__((format(printf, 2, 3), noreturn)) void die(int status, const char *format, ...);

/* fabrics.c */
void list_fabrics(void);
void clean_fabrics(void);

#endif
