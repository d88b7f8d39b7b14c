/* fuzz.h - what a target gives to driver.c beside LLVMFuzzerTestOneInput. */
#ifndef GILUA_FUZZ_H
#define GILUA_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* The target: whatever the bytes are, it returns; what must not be, it aborts on. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Adds the target's seeds: small inputs that are right, from which the others are made. */
typedef void FuzzAdd(const void *bytes, size_t len);
void fuzz_seeds(FuzzAdd *add);

#endif
