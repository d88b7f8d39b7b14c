/* image.h - images on disk as arrays: NIfTI-1 and -2 through libnifti.
**
** .nii, .nii.gz and .hdr/.img pairs, both byte orders. The array's shape is (nz, ny, nx) - or
** (nt, nz, ny, nx) … for more dimensions, trailing ones of size 1 left out, and never fewer than
** three: x varies fastest, as in the file. NaN and infinite voxels stay what they are.
**
** Link with -lnifti2 -lznz -lz -lm (each has a static archive); include path /usr/include/nifti.
** libnifti keeps its debug level in a global variable: read and write from one thread at a time.
*/
#ifndef GILUA_IMAGE_H
#define GILUA_IMAGE_H

#include "array/array.h"

typedef struct Nifti {
    Array *data;          /* owned reference; values after scaling (scl_slope, scl_inter) */
    double affine[4][4];  /* voxel index (i, j, k) to mm: sform where set, else qform, else pixdim */
    double spacing[7];    /* mm (or s) between neighbours: x, y, z, t … */
    char description[80]; /* the header's descrip */
} Nifti;

/* Reads path. Without scaling the array has the file's own type; with it, f32 (f64 when the file
** holds f64 or 32/64-bit integers). "io" when missing or truncated, "format" when not NIfTI or of
** an unsupported type (complex, rgb, f128). */
bool nifti_read(const char *path, Nifti *out, gi_err *err);

/* Writes path (type by extension; NIfTI-1, or NIfTI-2 when a dimension is above 32767). The affine
** is stored as the sform, in single precision by NIfTI-1. "usage" for another extension, "io". */
bool nifti_write(const char *path, const Nifti *image, gi_err *err);

void nifti_release(Nifti *image); /* drops the array reference */

#endif
