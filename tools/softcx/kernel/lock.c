/* SPDX-License-Identifier: BSD-2-Clause */
/* The lock around all contexts of the process. */
#include "kernel.h"

pthread_mutex_t kernel_lock = PTHREAD_MUTEX_INITIALIZER;
