#include "gilua_nothing.h"
