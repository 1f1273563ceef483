/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A device that has to be told to work. Under softcx in its passive mode nothing happens to what
 * was posted until the program calls softcx_step(), which the preloaded (or linked-in) library
 * exports; so posts cost what their stores cost, and the model runs between the measurements. Every
 * other device works by itself, and the functions here do nothing.
 */
#ifndef STEPPER_H
#define STEPPER_H

#include <stdbool.h>

/*
 * Asks softcx for the passive mode, unless the environment says something else; before any device.
 */
void prefer_stepping(void);

/* Asks softcx for compressed CQEs where a CQ allows them, likewise. */
void prefer_sessions(void);

/* Whether the device is stepped. */
bool is_stepped(void);

/*
 * Gives the device time for what was posted: steps the model, or waits for a device that has no
 * steps.
 */
void let_device_work(void);

/* Executes all that was posted; returns whether there was anything. */
bool step(void);

#endif
