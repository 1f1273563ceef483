/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What `bsn-perf recv` has beside rows of `bsn-perf cost`: a message of 32 bytes there and back
 * between two ends in this process, by the channel of bsn_msg.h, by SEND and receive, and by those
 * of libibverbs. Each way finds what came, sends as much, and makes ready for the next; QPs take
 * turns.
 */
#ifndef RECV_H
#define RECV_H

#include <stdint.h>

#include "bsn.h"
#include "bus.h"

enum { TRIP_BY_MESSAGE, TRIP_BY_SEND, TRIP_BY_IBV, TRIPS };

extern const char *const trip_names[TRIPS];

/* Of one way; < 0: not measured. */
struct trip_figures {
	double ns;           /* the device's work is in it */
	double instructions; /* the program's alone */
	struct bus bus;      /* of softcx; without counters elsewhere */
	double bus_requests; /* all that the device asks memory for */
};

struct trip;

/* 0, or -errno with all undone. */
int trip_open(struct bsn_device *device, int by, unsigned qps, struct trip **trip);
void trip_close(struct trip *trip);

/* Slices of a round, each of some trips. */
unsigned trip_slices(unsigned qps);
/*
 * The nanoseconds of a way, of each slice of so many rounds, and what a way asks the bus for. 0, or
 * PERF_FAILED after a complaint.
 */
int trip_time(struct trip *trip, unsigned rounds, double *ns, struct trip_figures *figures);

/* In the child: counts the instructions of some trips. Likewise. */
int trip_count(struct trip *trip);

/* What callgrind's dumps are called. */
#define TRIP_COUNTED "trip"
#define TRIP_EMPTY   "empty"

#endif
