/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libbunsen-checked: where libbunsen finds this library loaded, it is as if BSN_CHECK=1 were set.
 */

extern const char bsn_checked;

const char bsn_checked __attribute__((visibility("default"))) = 1;
