/* origin.c - whose machine code it is that a program loads.
**
** Kernels of PyTorch's and NVIDIA's own libraries are closed: nobody has their text beside the
** program. What one of them wrote is kept where another kernel, the host or a copy may see it, not
** after each launch. The image of a fat binary lies in its library's file. One that was unpacked
** lies on the heap: then the library is the first on the stack that called CUDA.
*/
#include "inject/inject.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <string.h>

enum { MOST_FRAMES = 64 };

static bool begins_with(const char *name, const char *const *list) {
    while (*list && strncmp(name, *list, strlen(*list)) != 0) list++;
    return *list != NULL;
}

/* The name of the file that an address lies in; NULL. */
static const char *file_of(const void *address) {
    Dl_info info;
    if (dladdr(address, &info) == 0 || info.dli_fname == NULL) return NULL;
    const char *slash = strrchr(info.dli_fname, '/');
    return slash ? slash + 1 : info.dli_fname;
}

static const char *caller(void) {
    static const char *const between[] = {"libgilua_inject", "libcupti", "libcuda.so",
                                          "libcudart", "libnvrtc", "libnvJitLink", NULL};
    void *frames[MOST_FRAMES];
    int n = backtrace(frames, MOST_FRAMES);
    for (int i = 0; i < n; i++) {
        const char *name = file_of(frames[i]);
        if (name && !begins_with(name, between)) return name;
    }
    return NULL;
}

bool origin_is_closed(const void *image) {
    static const char *const closed[] = {"libtorch", "libc10", "libcublas", "libcudnn", "libcufft",
                                         "libcurand", "libcusolver", "libcusparse", "libnccl",
                                         "libnpp", "libcutensor", "libnvjpeg", NULL};
    const char *name = file_of(image);
    if (name == NULL) name = caller();
    return name && begins_with(name, closed);
}
