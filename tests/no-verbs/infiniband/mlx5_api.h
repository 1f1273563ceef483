/* SPDX-License-Identifier: BSD-2-Clause */
/* Found before the real one when wqe/ is compiled: it may see nothing but the C library. */
#error "wqe/ must not include verbs"
