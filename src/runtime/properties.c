/* properties.c - the modelled GPU as programs see it. See properties.h. */
#include "runtime/properties.h"

#include <string.h>

#include "runtime/report.h"

/* --- attributes --- */

/* Those that do not come from the model: number, value. */
static const int fixed[][2] = {
    {2, 1024},     {3, 1024},    {4, 64},      {9, 65536},      {10, 32},     {11, 2147483647},
    {14, 512},     {15, 1},      {17, 0},      {18, 0},         {19, 1},      {20, 0},
    {21, 131072},  {22, 131072}, {23, 65536},  {24, 16384},     {25, 16384},  {26, 16384},
    {27, 32768},   {28, 32768},  {29, 2048},   {30, 512},       {31, 1},      {32, 1},
    {33, 1},       {34, 0},      {35, 0},      {36, 3201000},   {37, 6144},   {40, 3},
    {41, 1},       {42, 32768},  {43, 2048},   {45, 32768},     {46, 32768},  {47, 8192},
    {48, 8192},    {49, 32768},  {50, 0},      {51, 32},        {52, 32768},  {53, 32768},
    {54, 2046},    {55, 32768},  {56, 131072}, {57, 65536},     {58, 16384},  {59, 16384},
    {60, 16384},   {61, 32768},  {62, 2048},   {63, 32768},     {64, 32768},  {65, 2048},
    {66, 32768},   {67, 32768},  {68, 2046},   {69, 268435456}, {70, 131072}, {71, 65000},
    {72, 2097120}, {73, 32768},  {74, 32768},  {75, 9},         {76, 0},      {77, 32768},
    {78, 1},       {79, 1},      {80, 1},      {83, 1},         {84, 0},      {85, 0},
    {86, 0},       {87, 2},      {88, 0},      {89, 1},         {90, 1},      {91, 0},
    {92, 0},       {93, 0},      {94, 0},      {95, 1},         {96, 0},      {98, 0},
    {99, 1},       {100, 0},     {101, 0},     {102, 0},        {103, 0},     {104, 0},
    {105, 0},      {107, 0},     {108, 0},     {109, 0},        {110, 0},     {111, 1024},
    {112, 0},      {113, 0},     {114, 0},     {115, 1},        {116, 0},     {117, 0},
    {118, 0},      {119, 0},     {120, 0},     {121, 0},        {122, 0},     {123, 0},
    {124, 0},      {125, 0},     {126, 1},     {127, 0},        {128, 0},     {129, 0},
    {130, 0},      {131, -1},    {132, 0},     {133, 0},        {134, -1},    {135, 0},
    {136, 0},      {137, 0},     {138, 0},     {139, 0},        {140, 0},     {141, 0},
    {142, 0},      {143, 0},     {144, 0},     {145, 0},        {146, 0},     {147, 0},
};

static const struct {
    int id;
    const char *field;
    double times;
} modelled[] = {
    {1, "max_threads_per_block", 1},
    {5, "max_grid_x", 1},
    {6, "max_grid_y", 1},
    {7, "max_grid_z", 1},
    {8, "shared_per_block_default", 1},
    {12, "registers_per_sm", 1},
    {13, "clock_ghz", 1e6},
    {16, "sms", 1},
    {38, "l2_bytes", 1},
    {39, "max_threads_per_sm", 1},
    {81, "shared_per_sm", 1},
    {82, "registers_per_sm", 1},
    {97, "shared_per_block", 1},
    {106, "max_blocks_per_sm", 1},
};

bool property_attribute(int id, int *value) {
    for (size_t i = 0; i < sizeof modelled / sizeof *modelled; i++) {
        double v;
        if (modelled[i].id != id) continue;
        emu_model_get(&runtime.config.model, modelled[i].field, &v);
        *value = (int)(v * modelled[i].times);
        return true;
    }
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        if (fixed[i][0] == id) return *value = fixed[i][1], true;
    return false;
}

static CudaError device_attribute(int *value, int id, int device) {
    if (value == NULL) return cudaErrorInvalidValue;
    if (device != 0) return cudaErrorInvalidDevice;
    return property_attribute(id, value) ? cudaSuccess : cudaErrorInvalidValue;
}

API(cudaDeviceGetAttribute, int *value, int id, int device) {
    return CALL(device_attribute(value, id, device));
}

/* --- cudaDeviceProp --- */

static void set_attributes(void *field, size_t bytes, int n, int first) {
    for (int i = 0; i < n && first; i++) {
        int v = 0;
        property_attribute(first + i, &v);
        size_t wide = (size_t)v;
        if (bytes == sizeof wide) memcpy((char *)field + (size_t)i * bytes, &wide, bytes);
        else memcpy((char *)field + (size_t)i * bytes, &v, bytes);
    }
}

#define SET(type, field, n, id) set_attributes(&p->field, sizeof(type), n, id);
#define SET_NAME(p)                                                                                \
    memcpy((p)->name, runtime.config.model.name, sizeof runtime.config.model.name),                \
        (p)->total_memory = (size_t)runtime.config.model.memory_bytes

static void properties_12(Properties12 *p) {
    memset(p, 0, sizeof *p);
    PROPERTIES(SET, SET, NO_PROPERTY)
    SET_NAME(p);
}

static void properties_13(Properties13 *p) {
    memset(p, 0, sizeof *p);
    PROPERTIES(SET, NO_PROPERTY, SET)
    SET_NAME(p);
}

static CudaError asked_of(const void *out, int device) {
    if (out == NULL) return cudaErrorInvalidValue;
    return device == 0 ? cudaSuccess : cudaErrorInvalidDevice;
}

static CudaError get_12(Properties12 *out, int device) {
    CudaError e = asked_of(out, device);
    if (e == cudaSuccess) properties_12(out);
    return e;
}

static CudaError get_13(Properties13 *out, int device) {
    CudaError e = asked_of(out, device);
    if (e == cudaSuccess) properties_13(out);
    return e;
}

API_13(cudaGetDeviceProperties, Properties13 *out, int device) {
    return CALL(get_13(out, device));
}
API_12(cudaGetDeviceProperties_v2, Properties12 *out, int device) {
    return CALL(get_12(out, device));
}
