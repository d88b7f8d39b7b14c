/* nifti.c - NIfTI-1 and -2 through libnifti (nifti2_io).
**
** libnifti knows the two headers, their byte orders and file names, gzip, and how the affine is
** worked out. But it prints to stderr, trusts headers, replaces NaN voxels by 0 and ignores failed
** writes; so headers are looked at before it judges them, and the voxels are read and written here,
** every count checked.
**
** Reference: nifti1.h and nifti2.h, the format's own headers (nifti.nimh.nih.gov).
*/
#include "image/image.h"

#include <errno.h>
#include <math.h>
#include <nifti2_io.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
    int code; /* DT_… of nifti1.h */
    ArrayType type;
} datatypes[] = {
    {DT_INT8, ARRAY_I8},     {DT_UINT8, ARRAY_U8},    {DT_INT16, ARRAY_I16}, {DT_UINT16, ARRAY_U16},
    {DT_INT32, ARRAY_I32},   {DT_UINT32, ARRAY_U32},  {DT_INT64, ARRAY_I64}, {DT_UINT64, ARRAY_U64},
    {DT_FLOAT32, ARRAY_F32}, {DT_FLOAT64, ARRAY_F64},
};

#define N_DATATYPES ((int)(sizeof datatypes / sizeof datatypes[0]))

static bool type_of_datatype(int code, ArrayType *out) {
    for (int i = 0; i < N_DATATYPES; i++) {
        if (datatypes[i].code == code) {
            *out = datatypes[i].type;
            return true;
        }
    }
    return false;
}

static int datatype_of_type(ArrayType type) {
    for (int i = 0; i < N_DATATYPES; i++)
        if (datatypes[i].type == type) return datatypes[i].code;
    return DT_UNKNOWN;
}

/* ---- reading ------------------------------------------------------------------------------ */

static bool ends_with(const char *path, const char *suffix) {
    const size_t n = strlen(path), k = strlen(suffix);
    return n > k && strcmp(path + n - k, suffix) == 0;
}

static bool is_gzip(const char *path) {
    return ends_with(path, ".gz");
}

static bool refuse(const char *path, gi_err *err) {
    return gi_fail(err, "format", "%s is not a NIfTI image (or its header is damaged)", path);
}

/* Reads n bytes, in pieces that suit zlib's 32-bit counts. Returns how many there were. */
static size_t read_bytes(znzFile f, void *to, size_t n) {
    size_t done = 0;
    while (done < n) {
        const size_t piece = n - done < (1u << 30) ? n - done : 1u << 30;
        const size_t got = znzread((char *)to + done, 1, piece, f);
        if (got == 0 || got > piece) break;
        done += got;
    }
    return done;
}

/* A header as its file has it, in either byte order. */
typedef struct Header {
    int version; /* 1 or 2 */
    union {
        nifti_1_header one;
        nifti_2_header two;
    } as;
} Header;

/* Looks at the fields at which libnifti would print, whatever its debug level, or write beyond the
** dimensions. They come in the file's byte order, which libnifti tells by dim[0] in NIfTI-1 and by
** the header's size in NIfTI-2. */
static bool is_sound(const Header *h) {
    int64_t dim[2];
    int16_t type;
    if (h->version == 2) {
        memcpy(dim, h->as.two.dim, sizeof dim);
        type = h->as.two.datatype;
        const bool swap = NIFTI2_NEEDS_SWAP(h->as.two);
        if (swap) nifti_swap_Nbytes(2, 8, dim), nifti_swap_Nbytes(1, 2, &type);
    } else {
        int16_t v[3] = {h->as.one.dim[0], h->as.one.dim[1], h->as.one.datatype};
        if (v[0] < 1 || v[0] > 7) nifti_swap_Nbytes(3, 2, v);
        dim[0] = v[0], dim[1] = v[1], type = v[2];
    }
    return dim[0] >= 1 && dim[0] <= 7 && dim[1] >= 1 && nifti_is_valid_datatype(type);
}

static bool read_header(const char *path, Header *h, gi_err *err) {
    znzFile f = znzopen(path, "rb", is_gzip(path));
    if (znz_isnull(f))
        return gi_fail(err, "io", "cannot read the image %s: %s", path, strerror(errno));
    const size_t got = read_bytes(f, &h->as, sizeof h->as);
    znzclose(f);
    h->version = nifti_header_version((const char *)&h->as, got);
    if (h->version == 0)
        return gi_fail(err, "format", "%s is an ANALYZE 7.5 image, not NIfTI: convert it first",
                       path);
    if (h->version == 2 && got < sizeof h->as.two)
        return gi_fail(err, "io", "%s is truncated: a NIfTI-2 header has %zu bytes, it has %zu",
                       path, sizeof h->as.two, got);
    return (h->version > 0 && is_sound(h)) || refuse(path, err);
}

/* The other file of a pair, a.hdr and a.img, each perhaps with .gz; as if plain where neither is
** there. */
static char *other_file(const char *path, const char *extension) {
    const size_t n = strlen(path) - (is_gzip(path) ? 3 : 0);
    char *name = gi_alloc(n + sizeof ".hdr.gz");
    memcpy(name, path, n);
    char *dot = strrchr(name, '.'), *slash = strrchr(name, '/');
    strcpy(dot && dot > slash ? dot : name + n, extension);
    if (access(name, F_OK) == 0) return name;
    char *end = name + strlen(name);
    strcpy(end, ".gz");
    if (access(name, F_OK) != 0) *end = '\0';
    return name;
}

static char *header_file(const char *path) {
    const bool voxels = ends_with(path, ".img") || ends_with(path, ".img.gz");
    return voxels ? other_file(path, ".hdr") : gi_strdup(path);
}

/* The header, without voxels; NULL with the reason. Not nifti_image_read: it prints, and it takes
** whatever memory an extension of the header claims. */
static nifti_image *open_image(const char *path, gi_err *err) {
    Header h = {0};
    uint64_t unused;
    nifti_set_debug_level(0);
    char *file = header_file(path);
    nifti_image *nim = NULL;
    if (image_file_size(file, &unused, err) && read_header(file, &h, err)) {
        errno = 0;
        nim = h.version == 2 ? nifti_convert_n2hdr2nim(h.as.two, NULL)
                             : nifti_convert_n1hdr2nim(h.as.one, NULL);
        if (!nim && errno == ENOMEM) gi_fail(err, "nomem", "no memory to read %s", path);
        else if (!nim) refuse(path, err);
    }
    if (nim) {
        const bool one_file = h.version == 2 ? NIFTI_ONEFILE(h.as.two) : NIFTI_ONEFILE(h.as.one);
        nim->iname = one_file ? gi_strdup(file) : other_file(file, ".img");
        nim->fname = file;
    } else {
        free(file);
    }
    return nim;
}

/* Dimensions, slowest first, at least three. Returns how many; 0 when one is not positive. */
static int shape_of(const nifti_image *nim, int64_t shape[ARRAY_MAX_DIMS]) {
    const int n = nim->ndim < 3 ? 3 : (int)nim->ndim;
    if (nim->ndim < 1 || nim->ndim > ARRAY_MAX_DIMS) return 0;
    for (int i = 0; i < n; i++) {
        const int64_t size = n - i > nim->ndim ? 1 : nim->dim[n - i];
        if (size < 1) return 0;
        shape[i] = size;
    }
    return n;
}

/* Will the values be scaled, and so copied? */
static bool is_scaled(const nifti_image *nim) {
    const double slope = nim->scl_slope, inter = nim->scl_inter;
    const bool trivial = slope == 0 || (slope == 1 && inter == 0);
    return !trivial && isfinite(slope) && isfinite(inter);
}

static ArrayType scaled_type(ArrayType type) {
    const bool wide = type == ARRAY_F64 || (array_type_size(type) >= 4 && type != ARRAY_F32);
    return wide ? ARRAY_F64 : ARRAY_F32;
}

/* Whether the voxels' file is there and can hold them: exactly for plain files; deflate packs no
** more than 1032 bytes into one. */
static bool check_file_size(const nifti_image *nim, double need, uint64_t *have, gi_err *err) {
    gi_err why;
    if (!image_file_size(nim->iname, have, &why))
        return gi_fail(err, "io", "the header %s has no voxels beside it: %s", nim->fname,
                       why.message);
    if ((double)*have * (is_gzip(nim->iname) ? 1032 : 1) >= need) return true;
    return gi_fail(err, "io", "%s is truncated: its header promises %.0f bytes, it has %.0f",
                   nim->iname, need, (double)*have);
}

/* All that reading will take, against the file and the bound. An offset into a packed file counts,
** since it is unpacked up to there. */
static bool check_size(const nifti_image *nim, ArrayType type, double count, uint64_t max_bytes,
                       gi_err *err) {
    const double offset = nim->iname_offset > 0 ? (double)nim->iname_offset : 0;
    const double stored = offset + count * (double)array_type_size(type);
    const double copied = is_scaled(nim) ? count * (double)array_type_size(scaled_type(type)) : 0;
    uint64_t have;
    return check_file_size(nim, stored, &have, err) &&
           image_fits(nim->iname, stored + copied, (double)have, max_bytes, err);
}

/* An array for the image's voxels as they are stored. */
static Array *new_stored_array(const nifti_image *nim, const char *path, uint64_t max_bytes,
                               gi_err *err) {
    ArrayType type;
    int64_t shape[ARRAY_MAX_DIMS];
    if (!type_of_datatype(nim->datatype, &type)) {
        gi_fail(err, "format", "%s holds voxels of type %s: only integers, f32 and f64 can be read",
                path, nifti_datatype_string(nim->datatype));
        return NULL;
    }
    const int ndim = shape_of(nim, shape);
    double count = 1;
    for (int i = 0; i < ndim; i++) count *= (double)shape[i];
    if (ndim == 0 || count > 0x1p59) { /* more bytes than a file can have */
        gi_fail(err, "format", "the header of %s is damaged: its dimensions make no sense", path);
        return NULL;
    }
    if (!check_size(nim, type, count, max_bytes, err)) return NULL;
    gi_err why;
    Array *a = array_new(type, ndim, shape, &why);
    if (!a) gi_fail(err, why.code, "%s: %s", path, why.message);
    return a;
}

/* Skips by reading: all that an offset can be relied on for in a gzip stream. */
static bool skip_bytes(znzFile f, size_t n) {
    char unused[4096];
    while (n > 0) {
        const size_t piece = n < sizeof unused ? n : sizeof unused;
        if (read_bytes(f, unused, piece) != piece) return false;
        n -= piece;
    }
    return true;
}

static bool load_voxels(const nifti_image *nim, Array *a, gi_err *err) {
    znzFile f = znzopen(nim->iname, "rb", is_gzip(nim->iname));
    if (znz_isnull(f))
        return gi_fail(err, "io", "cannot read the image %s: %s", nim->iname, strerror(errno));
    const bool found = skip_bytes(f, nim->iname_offset > 0 ? (size_t)nim->iname_offset : 0);
    const size_t got = found ? read_bytes(f, a->data, a->size_bytes) : 0;
    znzclose(f);
    if (got < a->size_bytes)
        return gi_fail(err, "io",
                       "%s is truncated or damaged: of %zu bytes of voxels %zu can be read",
                       nim->iname, a->size_bytes, got);
    const size_t size = array_type_size(a->type);
    if (size > 1 && nim->byteorder != nifti_short_order())
        nifti_swap_Nbytes(a->count, (int)size, a->data);
    return true;
}

/* Applies scl_slope and scl_inter: the values in a new array of the type the contract gives. */
static Array *scaled(const Array *a, double slope, double inter, gi_err *err) {
    Array *s = array_new(scaled_type(a->type), a->ndim, a->shape, err);
    if (!s) return NULL;
    for (int64_t i = 0; i < a->count; i++) array_set(s, i, slope * array_get(a, i) + inter);
    return s;
}

static void read_geometry(const nifti_image *nim, Nifti *out) {
    const nifti_dmat44 m = nim->sform_code > 0 ? nim->sto_xyz : nim->qto_xyz;
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) out->affine[i][j] = m.m[i][j];
    for (int i = 0; i < 7; i++) out->spacing[i] = nim->pixdim[i + 1] > 0 ? nim->pixdim[i + 1] : 1;
    memcpy(out->description, nim->descrip, sizeof out->description);
    out->description[sizeof out->description - 1] = '\0';
}

static Array *read_voxels(const nifti_image *nim, const char *path, uint64_t max_bytes,
                          gi_err *err) {
    Array *a = new_stored_array(nim, path, max_bytes, err);
    if (!a) return NULL;
    if (!load_voxels(nim, a, err)) {
        array_unref(a);
        return NULL;
    }
    if (!is_scaled(nim)) return a;
    Array *s = scaled(a, nim->scl_slope, nim->scl_inter, err);
    array_unref(a);
    return s;
}

bool nifti_read(const char *path, uint64_t max_bytes, Nifti *out, gi_err *err) {
    nifti_image *nim = open_image(path, err);
    if (!nim) return false;
    Array *data = read_voxels(nim, path, max_bytes, err);
    if (data) {
        read_geometry(nim, out);
        out->data = data;
    }
    nifti_image_free(nim);
    return data != NULL;
}

/* ---- writing ------------------------------------------------------------------------------ */

/* NIFTI_FTYPE_… for the path's extension and the image's size; -1 for no NIfTI extension. */
static int file_type(const char *path, const Array *a) {
    bool large = false;
    for (int i = 0; i < a->ndim; i++) large = large || a->shape[i] > INT16_MAX;
    if (ends_with(path, ".nii") || ends_with(path, ".nii.gz"))
        return large ? NIFTI_FTYPE_NIFTI2_1 : NIFTI_FTYPE_NIFTI1_1;
    if (ends_with(path, ".hdr") || ends_with(path, ".img") || ends_with(path, ".hdr.gz") ||
        ends_with(path, ".img.gz"))
        return large ? NIFTI_FTYPE_NIFTI2_2 : NIFTI_FTYPE_NIFTI1_2;
    return -1;
}

static void write_geometry(const Nifti *image, nifti_image *nim) {
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) nim->sto_xyz.m[i][j] = image->affine[i][j];
    nim->sform_code = NIFTI_XFORM_SCANNER_ANAT;
    nim->qform_code = NIFTI_XFORM_UNKNOWN; /* the affine may hold shears, which a qform cannot */
    for (int i = 0; i < nim->ndim; i++)
        nim->pixdim[i + 1] = image->spacing[i] > 0 ? image->spacing[i] : 1;
    nifti_update_dims_from_array(nim);
    nim->xyz_units = NIFTI_UNITS_MM;
    memcpy(nim->descrip, image->description, strnlen(image->description, sizeof nim->descrip - 1));
}

static nifti_image *new_image(const char *path, const Nifti *image, int type, gi_err *err) {
    const Array *a = image->data;
    int64_t dims[8] = {a->ndim, 1, 1, 1, 1, 1, 1, 1};
    for (int i = 0; i < a->ndim; i++) dims[i + 1] = a->shape[a->ndim - 1 - i];
    nifti_image *nim = nifti_make_new_nim(dims, datatype_of_type(a->type), 0);
    if (nim) {
        nim->nifti_type = type;
        write_geometry(image, nim);
        const bool named = nifti_set_filenames(nim, path, 0, 0) == 0;
        nim->nifti_type = type; /* which that call sets back to NIfTI-1 */
        if (named) return nim;
        nifti_image_free(nim);
    }
    gi_fail(err, "nomem", "no memory to write %s", path);
    return NULL;
}

/* The header as it stands in a file, with the four bytes that say "no extensions" (which a .hdr
** has too). Returns its length; 0 when the image does not fit. */
static size_t make_header(nifti_image *nim, unsigned char bytes[sizeof(nifti_2_header) + 4]) {
    const bool two =
        nim->nifti_type == NIFTI_FTYPE_NIFTI2_1 || nim->nifti_type == NIFTI_FTYPE_NIFTI2_2;
    const size_t size = two ? sizeof(nifti_2_header) : sizeof(nifti_1_header);
    const bool one_file = strcmp(nim->fname, nim->iname) == 0;
    nifti_1_header h1;
    nifti_2_header h2;
    nim->iname_offset = one_file ? (int64_t)size + 4 : 0;
    if ((two ? nifti_convert_nim2n2hdr(nim, &h2) : nifti_convert_nim2n1hdr(nim, &h1)) != 0)
        return 0;
    if (two)
        memcpy(h2.magic + 4, "\r\n\032\n",
               4); /* shows damage by text transfers; libnifti leaves it out */
    memset(bytes, 0, size + 4);
    memcpy(bytes, two ? (const void *)&h2 : (const void *)&h1, size);
    return size + 4;
}

typedef struct Piece {
    const void *bytes;
    size_t size;
} Piece;

/* A file of one or two pieces, gzip by its name. */
static bool write_pieces(const char *path, const Piece *pieces, int n, gi_err *err) {
    znzFile f = znzopen(path, "wb", is_gzip(path));
    if (znz_isnull(f))
        return gi_fail(err, "io", "cannot write the image %s: %s", path, strerror(errno));
    bool done = true;
    for (int i = 0; i < n; i++)
        done = done && znzwrite(pieces[i].bytes, 1, pieces[i].size, f) == pieces[i].size;
    const int closed = znzclose(f);
    if (done && closed == 0) return true;
    return gi_fail(err, "io", "cannot write all of the image %s: is the disk full?", path);
}

static bool write_files(nifti_image *nim, const Array *a, gi_err *err) {
    unsigned char header[sizeof(nifti_2_header) + 4];
    const size_t size = make_header(nim, header);
    if (size == 0)
        return gi_fail(err, "usage", "%s: NIfTI has no header for such an image", nim->fname);
    const Piece pieces[2] = {{header, size}, {a->data, a->size_bytes}};
    if (strcmp(nim->fname, nim->iname) == 0) return write_pieces(nim->fname, pieces, 2, err);
    return write_pieces(nim->fname, pieces, 1, err) && write_pieces(nim->iname, pieces + 1, 1, err);
}

bool nifti_write(const char *path, const Nifti *image, gi_err *err) {
    nifti_set_debug_level(0);
    const int type = file_type(path, image->data);
    if (type < 0)
        return gi_fail(err, "usage",
                       "%s: the name of an image must end in .nii, .nii.gz, .hdr or .img", path);
    nifti_image *nim = new_image(path, image, type, err);
    if (!nim) return false;
    const bool done = write_files(nim, image->data, err);
    nifti_image_free(nim);
    return done;
}

void nifti_release(Nifti *image) {
    array_unref(image->data);
    image->data = NULL;
}
