// helper_functions.h - includes what cuda-samples' header of that name does.
#ifndef GILUA_HELPER_FUNCTIONS_H
#define GILUA_HELPER_FUNCTIONS_H
#include "helper_string.h"
#include "helper_timer.h"
#endif
