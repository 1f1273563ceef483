/* SPDX-License-Identifier: BSD-2-Clause */
/* libbunsen-checked: libbunsen looks whether it is there, as if BSN_CHECK=1 were set. */

extern const char bsn_checked;

const char bsn_checked __attribute__((visibility("default"))) = 1;
