/* calls.h - the driver's functions that a recording is of. Private to src/inject. */
#ifndef GILUA_INJECT_CALLS_H
#define GILUA_INJECT_CALLS_H

#include "inject/cupti.h"

/* CUPTI's number of the i-th function, from 0; 0 behind the last. */
uint32_t calls_id(int i);
/* Tells the tape what a call means, where it begins and where it returns. */
void calls_take(uint32_t id, const CuptiCall *call);

#endif
