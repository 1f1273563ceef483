/* SPDX-License-Identifier: BSD-2-Clause */
/* bsn-info --watch: the rates of counters of each port and device, and what a rising one means. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <json-c/json.h>

#include "counters.h"
#include "info.h"

enum { DEVICE_NAME = 101, PLACES_MAX = 256 };

struct place {
	char device[DEVICE_NAME];
	unsigned port; /* 0: the device itself */
	char netdev[NETDEV_NAME];
	bool is_gone;
	struct reading last;
};

struct watch {
	const char *root;
	const char *device; /* while its ports are listed */
	bool is_json;
	unsigned count;
	struct place places[PLACES_MAX];
	double seconds; /* of the last interval */
};

/* -- ports and devices ------------------------------------------------------------------------- */

static void add_place(unsigned port, void *arg)
{
	struct watch *watch = arg;
	struct place *place = &watch->places[watch->count];

	if (watch->count == PLACES_MAX)
		return;
	watch->count++;
	snprintf(place->device, sizeof(place->device), "%s", watch->device);
	place->port = port;
	if (port)
		places_netdev(watch->root, watch->device, port, place->netdev);
}

/* Some drivers have counters of the device, too. */
static void add_device(const char *device, void *arg)
{
	struct watch *watch = arg;

	watch->device = device;
	if (root_exists(watch->root, "sys/class/infiniband/%s/hw_counters", device))
		add_place(0, watch);
	places_ports(watch->root, device, add_place, watch);
}

static void look(const struct watch *watch, const struct place *place, struct reading *reading)
{
	counters_read(watch->root, place->device, place->port, place->netdev, reading);
}

static bool is_empty(const struct reading *reading)
{
	for (unsigned i = 0; i < COUNTERS; i++)
		if (reading->is_there[i])
			return false;
	return true;
}

/* -- one port in one interval ------------------------------------------------------------------ */

/* Per second. False: unknown. */
static bool rate_of(const struct watch *watch, const struct place *place, const struct reading *now,
		    unsigned index, double *rate)
{
	uint64_t by;

	if (!counter_rose(&place->last, now, index, &by))
		return false;
	*rate = (double)by / watch->seconds;
	return true;
}

static double rate_or_0(const struct watch *watch, const struct place *place,
			const struct reading *now, const char *name)
{
	double rate;

	for (unsigned i = 0; i < COUNTERS; i++)
		if (!strcmp(counter_at(i)->name, name) && rate_of(watch, place, now, i, &rate))
			return rate;
	return 0;
}

static void print_text(const struct watch *watch, const struct place *place,
		       const struct reading *now, double time)
{
	const time_t seconds = (time_t)time;
	char clock[16], name[DEVICE_NAME + 8];
	struct tm local;
	double rate;

	strftime(clock, sizeof(clock), "%T", localtime_r(&seconds, &local));
	snprintf(name, sizeof(name), place->port ? "%s/%u" : "%s", place->device, place->port);
	printf("%s %-10s tx %8.3f Gb/s %9.0f packets/s  rx %8.3f Gb/s %9.0f packets/s\n", clock,
	       name, rate_or_0(watch, place, now, "tx_bytes") * 8e-9,
	       rate_or_0(watch, place, now, "tx_packets"),
	       rate_or_0(watch, place, now, "rx_bytes") * 8e-9,
	       rate_or_0(watch, place, now, "rx_packets"));
	for (unsigned i = 0; i < COUNTERS; i++)
		if (rate_of(watch, place, now, i, &rate) && rate > 0 && counter_at(i)->means)
			printf("%9s%s %.1f/s: %s (should be: %s; %s)\n", "", counter_at(i)->name,
			       rate, counter_at(i)->means, counter_at(i)->expected,
			       counter_at(i)->source);
}

static struct json_object *text_json(const char *text)
{
	return json_object_new_string(text);
}

static struct json_object *rising_json(const struct counter *counter, double rate)
{
	struct json_object *object = json_object_new_object();

	json_object_object_add(object, "counter", text_json(counter->name));
	json_object_object_add(object, "rate", json_object_new_double(rate));
	json_object_object_add(object, "means", text_json(counter->means));
	json_object_object_add(object, "expected", text_json(counter->expected));
	json_object_object_add(object, "source", text_json(counter->source));
	return object;
}

static void print_json(const struct watch *watch, const struct place *place,
		       const struct reading *now, double time)
{
	struct json_object *object = json_object_new_object();
	struct json_object *rates = json_object_new_object(), *rising = json_object_new_array();
	double rate;

	json_object_object_add(object, "time", json_object_new_double(time));
	json_object_object_add(object, "seconds", json_object_new_double(watch->seconds));
	json_object_object_add(object, "device", text_json(place->device));
	json_object_object_add(object, "port", json_object_new_int64(place->port));
	json_object_object_add(object, "netdev", *place->netdev ? text_json(place->netdev) : NULL);
	for (unsigned i = 0; i < COUNTERS; i++) {
		const bool is_known = rate_of(watch, place, now, i, &rate);

		if (!now->is_there[i])
			continue;
		json_object_object_add(rates, counter_at(i)->name,
				       is_known ? json_object_new_double(rate) : NULL);
		if (is_known && rate > 0 && counter_at(i)->means)
			json_object_array_add(rising, rising_json(counter_at(i), rate));
	}
	json_object_object_add(object, "rates", rates);
	json_object_object_add(object, "rising", rising);
	puts(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN |
							    JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(object);
}

/* -- all intervals ----------------------------------------------------------------------------- */

static double now_of(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void sleep_until(double when)
{
	struct timespec until = { .tv_sec = (time_t)when };

	until.tv_nsec = (long)((when - (double)until.tv_sec) * 1e9);
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
		;
}

/* Prints all places that still have counters. False: none has. */
static bool print_all(struct watch *watch)
{
	const double time = now_of(CLOCK_REALTIME);
	bool any = false;

	for (unsigned i = 0; i < watch->count; i++) {
		struct place *place = &watch->places[i];
		struct reading now;

		if (place->is_gone)
			continue;
		look(watch, place, &now);
		if (is_empty(&now)) {
			fprintf(stderr, "bsn-info: %s/%u has no counters any more\n", place->device,
				place->port);
			place->is_gone = true;
			continue;
		}
		any = true;
		(watch->is_json ? print_json : print_text)(watch, place, &now, time);
		place->last = now;
	}
	return any;
}

static int watch_places(struct watch *watch, double interval, int count)
{
	double began = now_of(CLOCK_MONOTONIC), now, next = began;

	for (unsigned i = 0; i < watch->count; i++)
		look(watch, &watch->places[i], &watch->places[i].last);
	for (int i = 0; !count || i < count; i++) {
		now = now_of(CLOCK_MONOTONIC);
		next = next + interval > now ? next + interval : now + interval;
		sleep_until(next);
		now = now_of(CLOCK_MONOTONIC);
		watch->seconds = now - began;
		began = now;
		if (!print_all(watch))
			return INFO_FAILED;
		if (fflush(stdout))
			break; /* main() prints why */
	}
	return INFO_OK;
}

int info_watch(const struct info_options *options)
{
	struct watch *watch = calloc(1, sizeof(*watch));
	int status = INFO_FAILED;

	if (!watch) {
		fprintf(stderr, "bsn-info: %s\n", strerror(ENOMEM));
		return INFO_FAILED;
	}
	watch->root = options->root ? options->root : "";
	watch->is_json = options->json;
	if (places_devices(watch->root, options->device, add_device, watch))
		status = watch_places(watch, options->interval, options->count);
	else
		places_complain(watch->root, options->device);
	free(watch);
	return status;
}
