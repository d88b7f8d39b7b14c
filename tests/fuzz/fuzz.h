/* fuzz.h - what a target gives to driver.c beside LLVMFuzzerTestOneInput. */
#ifndef GILUA_FUZZ_H
#define GILUA_FUZZ_H

#include "base/base.h"

/* The target: whatever the bytes are, it returns; what must not be, it aborts on. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Adds the target's seeds: small inputs that are right, from which the others are made. */
typedef void FuzzAdd(const void *bytes, size_t len);
void fuzz_seeds(FuzzAdd *add);

/* Changes an input once, in a way of the target's own; driver.c's changes are then the exception.
** other: a seed to take pieces of. Only targets with an input language of their own have it. */
void fuzz_change(gi_buf *input, const gi_buf *other, gi_rng *rng) __attribute__((weak));

/* Tells the driver what the input at work did: one that did something new becomes a seed. Equal
** hashes are one thing. */
void fuzz_saw(uint64_t hash);

#endif
