/* SPDX-License-Identifier: BSD-2-Clause */
/* Inside the launcher: its other commands, and how it gives up. */
#ifndef SOFTCX_LAUNCHER_H
#define SOFTCX_LAUNCHER_H

/* The exit statuses of a shell and of env(1) if they cannot run a program. */
enum { EXIT_USAGE = 2, EXIT_NOT_EXECUTABLE = 126, EXIT_NOT_FOUND = 127 };

__attribute__((format(printf, 2, 3), noreturn)) void die(int status, const char *format, ...);

/* fabrics.c */
void list_fabrics(void);
void clean_fabrics(void);

#endif
