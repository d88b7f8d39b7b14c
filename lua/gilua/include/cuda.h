#include "cuda_runtime.h"
#ifndef GILUA_CUDA_H
#define GILUA_CUDA_H
typedef unsigned long long CUtexObject, CUsurfObject, CUdeviceptr;
#endif
