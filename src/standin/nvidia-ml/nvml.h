/* nvml.h - the statuses of NVML's stand-in. */
#ifndef GILUA_STANDIN_NVML_H
#define GILUA_STANDIN_NVML_H

#include "standin/shared/standin.h"

typedef enum Result { /* nvmlReturn_t */
    ML_SUCCESS = 0,
    ML_UNINITIALIZED = 1,
    ML_INVALID_ARGUMENT = 2,
    ML_NOT_SUPPORTED = 3,
    ML_NO_PERMISSION = 4,
    ML_NOT_FOUND = 6,
    ML_INSUFFICIENT_SIZE = 7,
    ML_DRIVER_NOT_LOADED = 9,
    ML_VERSION_MISMATCH = 25
} Result;

#endif
