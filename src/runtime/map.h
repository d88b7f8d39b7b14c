/* map.h - values by pointer: open addressing, never shrinks. Private to src/runtime. */
#ifndef GILUA_RUNTIME_MAP_H
#define GILUA_RUNTIME_MAP_H

#include "base/base.h"

typedef struct Map {
    struct MapRow {
        const void *key;
        void *value;
    } * rows;
    size_t n, cap;
} Map;

void *map_get(const Map *m, const void *key);
void map_set(Map *m, const void *key, void *value); /* key is not NULL; a value may be */

#endif
