/* map.c - values by pointer. See map.h. */
#include "runtime/map.h"

#include <stdlib.h>

static size_t place(const Map *m, const void *key) {
    size_t i = (size_t)(((uint64_t)(uintptr_t)key * 0x9e3779b97f4a7c15u) >> 32);
    for (i &= m->cap - 1; m->rows[i].key && m->rows[i].key != key;) i = (i + 1) & (m->cap - 1);
    return i;
}

void *map_get(const Map *m, const void *key) {
    return m->cap ? m->rows[place(m, key)].value : NULL;
}

static void grow(Map *m) {
    Map old = *m;
    m->cap = old.cap ? old.cap * 2 : 64;
    m->rows = gi_alloc(m->cap * sizeof *m->rows);
    for (size_t i = 0; i < old.cap; i++)
        if (old.rows[i].key) m->rows[place(m, old.rows[i].key)] = old.rows[i];
    free(old.rows);
}

void map_set(Map *m, const void *key, void *value) {
    if (m->n * 2 >= m->cap) grow(m);
    size_t i = place(m, key);
    if (m->rows[i].key == NULL) m->n++;
    m->rows[i] = (struct MapRow){key, value};
}
