// driver.cu - the driver API alone: the kernels are driver_kernels.cu, compiled to PTX beside it.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <cuda.h>

static int failed;

static void check(const char *what, bool ok) {
    printf("%s: %s\n", what, ok ? "right" : "WRONG");
    failed += !ok;
}

static bool is(CUdeviceptr p, int first, int step) {
    int host[64];
    cuMemcpyDtoH(host, p, sizeof host);
    for (int i = 0; i < 64; i++)
        if (host[i] != first + i * step) return false;
    return true;
}

int main(int argc, char **) {
    CUdevice device;
    CUcontext context, current;
    CUmodule module;
    CUfunction scale;
    CUdeviceptr p, variable;
    int n, major, host[64];
    size_t size;
    char name[100];
    check("not before cuInit", cuDeviceGetCount(&n) == CUDA_ERROR_NOT_INITIALIZED);
    check("cuInit", cuInit(0) == CUDA_SUCCESS && cuDeviceGetCount(&n) == CUDA_SUCCESS && n == 1);
    cuDeviceGet(&device, 0);
    cuDeviceGetName(name, sizeof name, device);
    cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
    check("the device", !strcmp(name, "NVIDIA H200") && major == 9 && cuDeviceTotalMem(&size, device) == CUDA_SUCCESS && size > 0);
    check("no context", cuCtxSynchronize() == CUDA_ERROR_INVALID_CONTEXT);
    cuDevicePrimaryCtxRetain(&context, device);
    cuCtxPushCurrent(context);
    check("a context", cuCtxGetCurrent(&current) == CUDA_SUCCESS && current == context && cuCtxSynchronize() == CUDA_SUCCESS);
#if CUDA_VERSION >= 13000
    int number = -1;
    check("a context that is named", cuCtxSynchronize_v2(context) == CUDA_SUCCESS && cuCtxSynchronize_v2(nullptr) == CUDA_SUCCESS &&
          cuCtxGetDevice_v2(&number, context) == CUDA_SUCCESS && number == 0);
#endif

    check("no file", cuModuleLoad(&module, "nothing.ptx") == CUDA_ERROR_FILE_NOT_FOUND);
    check("no PTX", cuModuleLoadData(&module, "this is no PTX") == CUDA_ERROR_INVALID_PTX);
    check("a module", cuModuleLoad(&module, "driver_kernels.ptx") == CUDA_SUCCESS);
    check("no kernel", cuModuleGetFunction(&scale, module, "nobody") == CUDA_ERROR_NOT_FOUND);
    check("a kernel", cuModuleGetFunction(&scale, module, "scale") == CUDA_SUCCESS);
    cuMemAlloc(&p, sizeof host);
    for (int i = 0; i < 64; i++) host[i] = i;
    cuMemcpyHtoD(p, host, sizeof host);
    int k = 3;
    void *args[] = {&p, &k};
    check("a launch", cuLaunchKernel(scale, 1, 1, 1, 64, 1, 1, 0, 0, args, nullptr) == CUDA_SUCCESS && is(p, 1, 3));
    int offset = 10;
    check("a variable", cuModuleGetGlobal(&variable, &size, module, "offset") == CUDA_SUCCESS && size == 4 &&
          cuMemcpyHtoD(variable, &offset, 4) == CUDA_SUCCESS);
    struct {
        CUdeviceptr p;
        int k;
    } packed = {p, 2};
    size = sizeof packed;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
    check("arguments in a buffer", cuLaunchKernel(scale, 1, 1, 1, 64, 1, 1, 0, 0, nullptr, extra) == CUDA_SUCCESS && is(p, 12, 6));
    for (int i = 0; i < 20; i++) { // on equal memory, but for the variable
        offset = i / 5;
        cuMemcpyHtoD(variable, &offset, 4);
        cuMemsetD32(p, 5, 64);
        cuLaunchKernel(scale, 1, 1, 1, 64, 1, 1, 0, 0, args, nullptr);
        if (!is(p, 15 + offset, 0)) failed++;
    }
    check("again and again", failed == 0);
    check("a block that is too large", cuLaunchKernel(scale, 1, 1, 1, 2048, 1, 1, 0, 0, args, nullptr) == CUDA_ERROR_INVALID_VALUE);

    CUstream stream;
    CUevent begin, end;
    float ms;
    cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    cuEventCreate(&begin, 0), cuEventCreate(&end, 0);
    cuEventRecord(begin, stream);
    cuMemsetD8Async(p, 0, sizeof host, stream);
    cuLaunchKernel(scale, 1, 1, 1, 64, 1, 1, 0, stream, args, nullptr);
    cuEventRecord(end, stream);
    cuEventSynchronize(end);
    check("a stream and its time", cuEventElapsedTime(&ms, begin, end) == CUDA_SUCCESS && ms > 0 && is(p, 3, 0));

    cuStreamWriteValue32(stream, p, 7, 0), cuStreamWriteValue64(stream, p + 8, 0x500000006, 0);
    cuMemcpyDtoH(host, p, sizeof host);
    check("values written", host[0] == 7 && host[1] == 3 && host[2] == 6 && host[3] == 5);
    check("values waited for", cuStreamWaitValue32(stream, p, 7, CU_STREAM_WAIT_VALUE_EQ) == CUDA_SUCCESS &&
          cuStreamWaitValue32(stream, p, 5, CU_STREAM_WAIT_VALUE_GEQ) == CUDA_SUCCESS &&
          cuStreamWaitValue32(stream, p, 4, CU_STREAM_WAIT_VALUE_AND) == CUDA_SUCCESS &&
          cuStreamWaitValue64(stream, p + 8, 0x500000006, CU_STREAM_WAIT_VALUE_NOR) == CUDA_SUCCESS);

    if (argc > 1) return printf("it waited: %d\n", cuStreamWaitValue32(stream, p, 8, CU_STREAM_WAIT_VALUE_EQ));

    int threads, blocks, grid, block;
    cuFuncGetAttribute(&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, scale);
    cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, scale, 256, 0);
    cuOccupancyMaxPotentialBlockSize(&grid, &block, scale, nullptr, 0, 0);
    check("attributes and occupancy", threads == 1024 && blocks == 8 && block == 1024 && grid == 2 * 132);
    CUlibrary library;
    CUkernel kernel;
    cuLibraryLoadData(&library, ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry one() { ret; }\n", nullptr,
                      nullptr, 0, nullptr, nullptr, 0);
    cuLibraryGetKernel(&kernel, library, "one");
    check("attributes of a library's kernel",
          cuKernelGetAttribute(&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, kernel, 0) == CUDA_SUCCESS &&
          threads == 1024 && cuKernelGetAttribute(&threads, CU_FUNC_ATTRIBUTE_NUM_REGS, kernel, 7) != CUDA_SUCCESS &&
          cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1 << 16, kernel, 0) == CUDA_SUCCESS &&
          cuKernelGetAttribute(&blocks, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, kernel, 0) == CUDA_SUCCESS &&
          blocks == 1 << 16);

    CUlinkState link;
    CUmodule linked;
    void *image;
    const char *one = ".version 8.0\n.target sm_90\n.address_size 64\n"
                      ".visible .func (.param .b32 r) seven() { st.param.b32 [r], 7; ret; }\n";
    const char *two = ".version 8.0\n.target sm_90\n.address_size 64\n"
                      ".extern .func (.param .b32 r) seven();\n"
                      ".visible .entry use(.param .u64 p) {\n"
                      "  .reg .b32 %r<2>; .reg .b64 %d<2>;\n"
                      "  { .param .b32 r; call.uni (r), seven, (); ld.param.b32 %r1, [r]; }\n"
                      "  ld.param.u64 %d1, [p]; st.global.u32 [%d1], %r1; ret; }\n";
    cuLinkCreate(0, nullptr, nullptr, &link);
    cuLinkAddData(link, CU_JIT_INPUT_PTX, (void *)one, strlen(one) + 1, "one", 0, nullptr, nullptr);
    cuLinkAddData(link, CU_JIT_INPUT_PTX, (void *)two, strlen(two) + 1, "two", 0, nullptr, nullptr);
    check("linking", cuLinkComplete(link, &image, &size) == CUDA_SUCCESS && cuModuleLoadData(&linked, image) == CUDA_SUCCESS);
    cuLinkDestroy(link);
    CUfunction use;
    cuModuleGetFunction(&use, linked, "use");
    cuMemsetD32(p, 0, 64);
    cuLaunchKernel(use, 1, 1, 1, 1, 1, 1, 0, 0, args, nullptr);
    cuMemcpyDtoH(host, p, sizeof host);
    check("what was linked", host[0] == 7 && host[1] == 0);

    void *found;
    CUdriverProcAddressQueryResult status;
    check("functions by name", cuGetProcAddress("cuMemAlloc", &found, 12000, 0, &status) == CUDA_SUCCESS && found == (void *)cuMemAlloc);
    const char *text;
    check("names of errors", cuGetErrorName(CUDA_ERROR_ILLEGAL_ADDRESS, &text) == CUDA_SUCCESS && !strcmp(text, "CUDA_ERROR_ILLEGAL_ADDRESS") &&
          cuGetErrorName(CUDA_ERROR_OUT_OF_MEMORY, &text) == CUDA_SUCCESS && !strcmp(text, "CUDA_ERROR_OUT_OF_MEMORY") &&
          cuGetErrorString(CUDA_ERROR_INVALID_VALUE, &text) == CUDA_SUCCESS && !strcmp(text, "invalid argument"));
    check("the end of a module", cuModuleUnload(module) == CUDA_SUCCESS && cuModuleUnload(module) == CUDA_ERROR_INVALID_HANDLE);
    check("the end", cuMemFree(p) == CUDA_SUCCESS && cuCtxPopCurrent(&current) == CUDA_SUCCESS && current == context);
    return failed != 0;
}
