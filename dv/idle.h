/* SPDX-License-Identifier: BSD-2-Clause */
/* How a thread that polls an empty queue waits. Private to the library. */
#ifndef DV_IDLE_H
#define DV_IDLE_H

#include "whole.h"

/** enum bsn_idle - how a CPU waits for a CQE without being put to sleep */
enum bsn_idle {
	BSN_IDLE_PAUSE,  /* x86-64 "pause", arm64 "yield": some cycles */
	BSN_IDLE_UMWAIT, /* Intel WAITPKG: until the CQE's line is written */
	BSN_IDLE_MWAITX, /* AMD MONITORX: the same */
	BSN_IDLE_WFE,    /* arm64: the same; the kernel's event stream ends a wait that missed it */
	BSN_IDLES
};

/* The best way that this CPU has. */
enum bsn_idle bsn_idle_choose(void);

/*
 * Rests until the ring's next CQE comes, a few microseconds at most; with WFE until the next event
 * of the event stream (10 kHz: 100 us). It may return at once. A queue without a ring pauses for
 * some cycles.
 *
 * The watch on the line begins before the owner bit is read, so a CQE that comes between the two
 * ends the rest. Context: the poller's.
 */
void bsn_cq_idle(const struct bsn_cq *cq, enum bsn_idle how);

#endif
