#!/bin/bash
# NVML on the virtual GPU: what it says is what the CUDA library says, and what it has not is
# "not supported". The program opens both as Python's packages do.
. "$(dirname "$0")/tap.sh"
cd "$TMP" || exit 1
sanitizer_first
. "$TOP/tests/cli/programs.sh"

cat >card.c <<'EOF'
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void *ml, *cuda;
#define ML(name, ...) ((int (*)())dlsym(ml, "nvml" #name))(__VA_ARGS__)
#define CUDA(name, ...) ((int (*)())dlsym(cuda, name))(__VA_ARGS__)
#define SAY(name, ...) printf(#name " %d\n", ML(name, __VA_ARGS__))

int main(void) {
    unsigned n = 9, a = 0, b = 0;
    void *d = NULL, *same = NULL, *memory;
    char text[96] = "", id[96] = "", name[256] = "", small[4];
    unsigned long long m[3], before, v2[5] = {40 | 2u << 24};
    struct { char legacy[16]; unsigned domain, bus, device, id, sub; char bus_id[32]; } pci;
    struct { unsigned pid; unsigned long long used; unsigned gpu, compute; } process[2];
    int major = 0, minor = 0, value = 0;
    ml = dlopen("libnvidia-ml.so.1", RTLD_NOW), cuda = dlopen("libcudart.so.13", RTLD_NOW);
    if (!ml || !cuda) return printf("%s\n", dlerror()), 1;
    SAY(DeviceGetCount_v2, &n);
    SAY(Init_v2);
    SAY(DeviceGetCount_v2, &n);
    printf("devices %u\n", n);
    SAY(DeviceGetHandleByIndex_v2, 0, &d);
    SAY(DeviceGetHandleByIndex_v2, 7, &same);
    SAY(DeviceGetName, d, text, 96);
    CUDA("cuDeviceGetName", name, 256, 0);
    printf("name %d\n", strcmp(text, name));
    SAY(DeviceGetName, d, small, 4);
    SAY(DeviceGetName, &d, text, 96);
    SAY(DeviceGetUUID, d, id, 96);
    SAY(DeviceGetHandleByUUID, id, &same);
    printf("%.4s %zu %d\n", id, strlen(id), same == d);
    SAY(DeviceGetHandleByUUID, "GPU-none", &same);
    SAY(DeviceGetPciInfo_v3, d, &pci);
    CUDA("cudaDeviceGetPCIBusId", text, 96, 0);
    same = NULL;
    SAY(DeviceGetHandleByPciBusId_v2, text, &same);
    printf("bus %d %d\n", same == d, strcmp(pci.bus_id + 4, pci.legacy));
    SAY(DeviceGetMemoryInfo, d, m);
    before = m[2];
    CUDA("cudaMalloc", &memory, (size_t)64 << 20);
    ML(DeviceGetMemoryInfo, d, m);
    printf("used %d %d\n", m[2] - before == 64u << 20, m[0] == m[1] + m[2]);
    SAY(DeviceGetMemoryInfo_v2, d, v2);
    printf("v2 %d\n", v2[1] == m[0] && v2[4] == m[2]);
    v2[0] = 1;
    SAY(DeviceGetMemoryInfo_v2, d, v2);
    SAY(DeviceGetCudaComputeCapability, d, &major, &minor);
    CUDA("cudaDeviceGetAttribute", &value, 75, 0);
    printf("capability %d %d\n", major == value, minor);
    SAY(DeviceGetClockInfo, d, 1, &a);
    CUDA("cudaDeviceGetAttribute", &value, 13, 0);
    printf("clock %d\n", (int)a == value / 1000 && a > 500);
    SAY(DeviceGetClockInfo, d, 4, &a);
    SAY(DeviceGetEccMode, d, &a, &b);
    n = 0;
    SAY(DeviceGetComputeRunningProcesses_v3, d, &n, NULL);
    SAY(DeviceGetComputeRunningProcesses_v3, d, &n, process);
    printf("process %d %d\n", process[0].pid == (unsigned)getpid(), process[0].used == m[2]);
    SAY(DeviceGetTemperature, d, 0, &a);
    SAY(DeviceGetPowerUsage, d, &a);
    SAY(DeviceSetComputeMode, d, 1);
    SAY(SystemGetDriverVersion, text, 96);
    SAY(Shutdown);
    SAY(Shutdown);
    return 0;
}
EOF
cc -o card card.c -ldl 2>log
ok $? "the program builds" "$(cat log)"
runs "a program that asks NVML" 0 --quiet -- ./card
is "hears what CUDA says, and what is not supported" "DeviceGetCount_v2 1
Init_v2 0
DeviceGetCount_v2 0
devices 1
DeviceGetHandleByIndex_v2 0
DeviceGetHandleByIndex_v2 2
DeviceGetName 0
name 0
DeviceGetName 7
DeviceGetName 2
DeviceGetUUID 0
DeviceGetHandleByUUID 0
GPU- 40 1
DeviceGetHandleByUUID 6
DeviceGetPciInfo_v3 0
DeviceGetHandleByPciBusId_v2 0
bus 1 0
DeviceGetMemoryInfo 0
used 1 1
DeviceGetMemoryInfo_v2 0
v2 1
DeviceGetMemoryInfo_v2 25
DeviceGetCudaComputeCapability 0
capability 1 0
DeviceGetClockInfo 0
clock 1
DeviceGetClockInfo 2
DeviceGetEccMode 0
DeviceGetComputeRunningProcesses_v3 7
DeviceGetComputeRunningProcesses_v3 0
process 1 1
DeviceGetTemperature 3
DeviceGetPowerUsage 3
DeviceSetComputeMode 4
SystemGetDriverVersion 0
Shutdown 0
Shutdown 1" "$(cat out)"
is "and it ends well" "" "$(cat err)"
finish
