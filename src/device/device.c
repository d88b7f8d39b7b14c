/* device.c - what both devices share: the names of what can happen to a kernel. */
#include "device/device.h"

const char *device_status_name(DeviceStatus s) {
    static const char *const names[] = {
        "ok",      "compile_error", "launch_error", "illegal_address", "misaligned",
        "timeout", "loop_limit",    "race",         "crash",           "out_of_memory"};
    return names[s];
}
