#include "gilua_host.h"
#ifndef GILUA_CUDA_RUNTIME_H
#define GILUA_CUDA_RUNTIME_H
#endif
