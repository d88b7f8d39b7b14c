/* image_nifti.c - a target for src/image's NIfTI: any file is an image, or refused in one sentence;
** what was read survives writing. The first byte says what the file is called.
** tests/c/image_nifti.c and image_hostile.c are its short relatives. */
#include "image/image.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"

static const char *const names[] = {"fuzz.nii", "fuzz.nii.gz", "fuzz.hdr"};

static void put(const char *path, const void *bytes, size_t len) {
    FILE *f = fopen(path, "wb");
    if (f == NULL || fwrite(bytes, 1, len, f) != len || fclose(f) != 0) abort();
}

/* An image of each kind of file; the voxels of a pair are those of .img, which stays. */
void fuzz_seeds(FuzzAdd *add) {
    const int64_t shape[] = {3, 4, 5};
    for (int i = 0; i < 3; i++) {
        gi_err err;
        gi_buf all = {0};
        Nifti image = {.data = array_new(i ? ARRAY_I16 : ARRAY_F32, 3, shape, NULL),
                       .spacing = {1, 1, 1, 1, 1, 1, 1}};
        for (int k = 0; k < 4; k++) image.affine[k][k] = 1;
        gi_buf_add(&all, &(char){(char)i}, 1);
        if (!nifti_write(names[i], &image, &err) || !gi_read_file(names[i], &all, &err)) abort();
        add(all.data, all.len);
        nifti_release(&image);
        gi_buf_free(&all);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Nifti image, copy;
    gi_err err = {0};
    if (size == 0) return 0;
    const char *path = names[data[0] % 3];
    put(path, data + 1, size - 1);
    if (!nifti_read(path, 1 << 26, &image, &err)) {
        if (err.message[0] == '\0' || strchr(err.message, '\n')) abort();
        return 0;
    }
    if (nifti_write("fuzz.copy.nii", &image, &err)) {
        if (!nifti_read("fuzz.copy.nii", 0, &copy, &err)) abort();
        if (copy.data->count != image.data->count) abort();
        nifti_release(&copy);
    }
    nifti_release(&image);
    return 0;
}
