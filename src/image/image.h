/* image.h - images on disk as arrays: volumes in NIfTI-1 and -2 through libnifti, pictures in PGM
** and, through libpng, PNG.
**
** .nii, .nii.gz and .hdr/.img pairs, both byte orders. The array's shape is (nz, ny, nx) - or
** (nt, nz, ny, nx) … for more dimensions, trailing ones of size 1 left out, and never fewer than
** three: x varies fastest, as in the file. NaN and infinite voxels stay what they are.
**
** An image from a stranger is data: what reading it takes - its values and whatever is copied on
** the way - is worked out from its header and held against a bound before any of it is taken. The
** bound is the caller's max_bytes or, where that is 0, IMAGE_BASE_BYTES and IMAGE_RATIO times the
** file, but not above IMAGE_MOST_BYTES.
**
** Link with -lnifti2 -lznz -lz -lm (each has a static archive); include path /usr/include/nifti.
** libnifti keeps its debug level in a global variable: read and write from one thread at a time.
*/
#ifndef GILUA_IMAGE_H
#define GILUA_IMAGE_H

#include "array/array.h"

#define IMAGE_BASE_BYTES (UINT64_C(64) << 20)
#define IMAGE_RATIO      32
#define IMAGE_MOST_BYTES (UINT64_C(4) << 30)

/* Whether need bytes are within the bound for a file of file_bytes; "nomem" with both numbers. */
bool image_fits(const char *name, double need, double file_bytes, uint64_t max_bytes, gi_err *err);
/* The size of a plain file; "io" for one that is missing, and for folders, pipes and devices. */
bool image_file_size(const char *path, uint64_t *bytes, gi_err *err);

typedef struct Nifti {
    Array *data;          /* owned reference; values after scaling (scl_slope, scl_inter) */
    double affine[4][4];  /* voxel (i, j, k) to mm: sform where set, else qform, else pixdim */
    double spacing[7];    /* mm (or s) between neighbours: x, y, z, t … */
    char description[80]; /* the header's descrip */
} Nifti;

/* Reads path. Without scaling the array has the file's own type; with it, f32 (f64 when the file
** holds f64 or 32/64-bit integers). "io" when missing or truncated, "format" when not NIfTI or of
** an unsupported type (complex, rgb, f128), "nomem" above the bound. */
bool nifti_read(const char *path, uint64_t max_bytes, Nifti *out, gi_err *err);

/* Writes path (type by extension; NIfTI-1, or NIfTI-2 when a dimension is above 32767). The affine
** is stored as the sform, in single precision by NIfTI-1. "usage" for another extension, "io". */
bool nifti_write(const char *path, const Nifti *image, gi_err *err);

void nifti_release(Nifti *image); /* drops the array reference */

/* ---- pictures ------------------------------------------------------------------------------
**
** Grey, u8 up to a maxval of 255, u16 above; shape (height, width). A picture's size is believed
** only where the bytes for it are there (PNG: could be there, as deflate packs at most 1032 bytes
** into one). Link with -lpng16 -lz -lm.
*/
typedef struct Picture {
    Array *pixels; /* owned reference */
    int maxval;    /* what white is: PNG 255 or 65535, PGM what the file says, 1 to 65535 */
} Picture;

/* Reads a file, PNG or PGM by its first bytes. "io" when it cannot be read, "format" when it is
** neither, damaged, truncated or of a kind that is not read; "nomem" above the bound. */
bool picture_read(const char *path, uint64_t max_bytes, Picture *out, gi_err *err);
/* The same for bytes in memory; name is for messages. */
bool picture_decode(const void *bytes, size_t len, const char *name, uint64_t max_bytes,
                    Picture *out, gi_err *err);
void picture_release(Picture *picture); /* drops the array reference */

typedef struct PictureOptions {
    int maxval; /* PGM: what white is, and no pixel may be above; 0: the type's largest value */
    bool plain; /* PGM: numbers as text (P2), not bytes (P5) */
} PictureOptions;

/* Writes path, .pgm or .png by its name: u8 or u16, (height, width) grey or, PNG only, (height,
** width, 3) red, green, blue. "usage" for other arrays and names, "io". */
bool picture_write(const char *path, const Array *pixels, const PictureOptions *options,
                   gi_err *err);

/* The two formats, by themselves. PGM (netpbm's pgm(5)): P2 and P5; of several in a file the
** first. PNG (ISO/IEC 15948): every colour type and depth, interlaced or not; colours become grey
** by Rec. 601 (0.299 red, 0.587 green, 0.114 blue, rounded); gamma, transparency, texts and all
** else that is no pixel is skipped unread. */
bool pgm_decode(const void *bytes, size_t len, const char *name, uint64_t max_bytes, Picture *out,
                gi_err *err);
bool pgm_encode(const Array *pixels, const PictureOptions *options, gi_buf *out, gi_err *err);
bool png_decode(const void *bytes, size_t len, const char *name, uint64_t max_bytes, Picture *out,
                gi_err *err);
bool png_encode(const Array *pixels, gi_buf *out, gi_err *err);

#endif
