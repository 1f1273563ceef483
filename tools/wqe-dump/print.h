/* SPDX-License-Identifier: BSD-2-Clause */
/* The printers: each is a sink that writes to standard output. */
#ifndef WQE_DUMP_PRINT_H
#define WQE_DUMP_PRINT_H

#include "record.h"

/** print_json - {"records": […], "unread": […]}, one record a line */
extern struct sink print_json;

#endif
