#include "gilua_host.h"
