/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * JSON to standard output as it comes: of millions of records no tree is built first. Looks like
 * json-c's JSON_C_TO_STRING_SPACED, by which is written what is small. In lists the key is NULL.
 */
#ifndef WQE_DUMP_JSON_WRITE_H
#define WQE_DUMP_JSON_WRITE_H

#include <stddef.h>
#include <stdint.h>

/** json_begin() - an object that stands alone, up to its json_close_object() */
void json_begin(void);

void json_open_object(const char *key);
void json_close_object(void);
void json_open_list(const char *key);
void json_close_list(void);

void json_string(const char *key, const char *text);
void json_number(const char *key, uint64_t value);

/** json_hex() - bytes as a string of digits */
void json_hex(const char *key, const uint8_t *bytes, size_t size);

/** json_raw() - what is JSON already */
void json_raw(const char *key, const char *text);

#endif
