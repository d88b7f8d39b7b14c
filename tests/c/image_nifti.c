/* NIfTI files: written and read back in every type and form; hand-made ones in both byte orders;
** scaling; what is said of files that are missing, cut short or something else. */
#include "image/image.h"
#include "tap.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[200];

/* A path in the test's own folder. */
static const char *at(const char *name) {
    static char path[4][300];
    static int next;
    char *p = path[next++ % 4];
    snprintf(p, sizeof path[0], "%s/%s", folder, name);
    return p;
}

static void write_bytes(const char *path, const void *bytes, size_t n) {
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(bytes, 1, n, f) != n || fclose(f) != 0) {
        printf("Bail out! cannot write %s: %s\n", path, strerror(errno));
        exit(1);
    }
}

static void cut_to(const char *from, const char *to, long keep) {
    gi_buf b = {0};
    ok(gi_read_file(from, &b, NULL) && (long)b.len > keep, "%s has more than %ld bytes", from,
       keep);
    write_bytes(to, b.data, (size_t)keep);
    gi_buf_free(&b);
}

/* ---- images of our own -------------------------------------------------------------------- */

static Nifti small_image(ArrayType type) {
    const int64_t shape[] = {4, 3, 5}; /* nz, ny, nx */
    Nifti n = {.data = array_new(type, 3, shape, NULL), .spacing = {2, 3, 1.5, 1, 1, 1, 1}};
    for (int64_t i = 0; i < n.data->count; i++) array_set(n.data, i, (double)(3 * i % 101));
    array_set(n.data, 7, (double)NAN); /* 0 in the integer types; must survive in the others */
    const double affine[4][4] = {
        {2, 0.25, 0, -90}, {0, 3, 0, 125.5}, {0, -0.5, 1.5, -72}, {0, 0, 0, 1}};
    memcpy(n.affine, affine, sizeof affine);
    snprintf(n.description, sizeof n.description, "a test of %s", array_type_name(type));
    return n;
}

static bool same_image(const Nifti *a, const Nifti *b) {
    return a->data->type == b->data->type && a->data->count == b->data->count &&
           memcmp(a->data->shape, b->data->shape, (size_t)a->data->ndim * 8) == 0 &&
           memcmp(a->data->data, b->data->data, a->data->size_bytes) == 0 &&
           memcmp(a->affine, b->affine, sizeof a->affine) == 0 && a->spacing[0] == b->spacing[0] &&
           a->spacing[2] == b->spacing[2] && strcmp(a->description, b->description) == 0;
}

static void round_trip(const Nifti *image, const char *name) {
    Nifti back = {0};
    gi_err err = {0};
    ok(nifti_write(at(name), image, &err), "write %s %s", name, err.message);
    if (!ok(nifti_read(at(name), 0, &back, &err), "read it %s", err.message)) return;
    ok(same_image(image, &back), "%s: type, shape, voxels, affine and text come back", name);
    nifti_release(&back);
    ok(back.data == NULL, "a released image has no array");
}

static void test_round_trips(void) {
    static const char *const forms[] = {"a.nii", "a.nii.gz", "b.hdr", "c.img", "d.img.gz"};
    for (int t = ARRAY_I8; t <= ARRAY_F64; t++) {
        Nifti n = small_image((ArrayType)t);
        round_trip(&n, forms[t % 5]);
        nifti_release(&n);
    }
    for (int i = 0; i < 5; i++) {
        Nifti n = small_image(ARRAY_F32);
        round_trip(&n, forms[i]);
        nifti_release(&n);
    }
}

static void test_dimensions(void) {
    const int64_t five[] = {2, 3, 2, 2, 2}, wide[] = {1, 1, 40000}, flat[] = {3, 4};
    Nifti n = small_image(ARRAY_I16);
    array_unref(n.data);
    n.data = array_new(ARRAY_I16, 5, five, NULL);
    array_set(n.data, 47, 7);
    round_trip(&n, "five.nii");
    array_unref(n.data);

    n.data = array_new(ARRAY_I16, 3, wide, NULL);
    array_set(n.data, 39999, 8);
    round_trip(&n, "wide.nii.gz");
    round_trip(&n, "wide.nii");
    gi_buf b = {0};
    gi_read_file(at("wide.nii"), &b, NULL);
    ok(b.len == 544 + 80000 && memcmp(b.data + 4, "n+2", 3) == 0,
       "40000 voxels a row make it NIfTI-2");
    gi_buf_free(&b);
    array_unref(n.data);

    n.data = array_new(ARRAY_I16, 2, flat, NULL);
    Nifti back = {0};
    ok(nifti_write(at("flat.nii"), &n, NULL) && nifti_read(at("flat.nii"), 0, &back, NULL),
       "a 2-D image");
    ok(back.data && back.data->ndim == 3 && back.data->shape[0] == 1 && back.data->shape[2] == 4,
       "reads as one slice of a volume");
    nifti_release(&back);
    nifti_release(&n);
}

/* ---- files made by hand from the format's specification ----------------------------------- */

typedef struct HandMade {
    unsigned char bytes[352 + 64];
    bool swap; /* the byte order this machine does not have */
} HandMade;

static void put(HandMade *h, int offset, const void *value, int size) {
    const unsigned char *v = value;
    for (int i = 0; i < size; i++) h->bytes[offset + i] = v[h->swap ? size - 1 - i : i];
}

static void put_i16(HandMade *h, int offset, int value) {
    const int16_t v = (int16_t)value;
    put(h, offset, &v, 2);
}

static void put_f32(HandMade *h, int offset, float value) {
    put(h, offset, &value, 4);
}

/* 2 x 2 x 2 voxels of 16 bits, 100 … 107. */
static HandMade hand_made(bool swap, float slope, float inter) {
    HandMade h = {.swap = swap};
    const int32_t size = 348;
    const int16_t dim[8] = {3, 2, 2, 2, 1, 1, 1, 1};
    put(&h, 0, &size, 4);
    for (int i = 0; i < 8; i++) put_i16(&h, 40 + 2 * i, dim[i]);
    put_i16(&h, 70, 4); /* DT_INT16 */
    put_i16(&h, 72, 16);
    for (int i = 0; i < 8; i++) put_f32(&h, 76 + 4 * i, i ? 2.5f : 1);
    put_f32(&h, 108, 352);
    put_f32(&h, 112, slope);
    put_f32(&h, 116, inter);
    memcpy(h.bytes + 344, "n+1", 4);
    for (int i = 0; i < 8; i++) put_i16(&h, 352 + 2 * i, 100 + i);
    return h;
}

static void test_byte_orders(void) {
    for (int swap = 0; swap < 2; swap++) {
        const HandMade h = hand_made(swap, 0, 0);
        write_bytes(at("hand.nii"), h.bytes, 352 + 16);
        Nifti n = {0};
        gi_err err = {0};
        if (!ok(nifti_read(at("hand.nii"), 0, &n, &err), "%s byte order %s", swap ? "other" : "own",
                err.message))
            continue;
        ok(n.data->type == ARRAY_I16 && array_get(n.data, 0) == 100 && array_get(n.data, 7) == 107,
           "voxels are right");
        ok(n.affine[0][0] == 2.5 && n.affine[1][1] == 2.5 && n.affine[3][3] == 1 &&
               n.spacing[1] == 2.5,
           "without sform and qform the affine is the spacing");
        nifti_release(&n);
    }
}

static void test_scaling(void) {
    const HandMade h = hand_made(true, 0.5f, -10);
    write_bytes(at("scaled.nii"), h.bytes, 352 + 16);
    Nifti n = {0};
    ok(nifti_read(at("scaled.nii"), 0, &n, NULL), "a scaled image");
    ok(n.data->type == ARRAY_F32 && array_get(n.data, 0) == 40 && array_get(n.data, 7) == 43.5,
       "slope and intercept are applied, the values are f32");
    nifti_release(&n);

    const HandMade same = hand_made(false, 1, 0);
    write_bytes(at("same.nii"), same.bytes, 352 + 16);
    ok(nifti_read(at("same.nii"), 0, &n, NULL) && n.data->type == ARRAY_I16,
       "slope 1 leaves the type alone");
    nifti_release(&n);
}

static void test_sform(void) {
    HandMade h = hand_made(true, 0, 0);
    put_i16(&h, 254, 1);
    const float rows[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    for (int i = 0; i < 12; i++) put_f32(&h, 280 + 4 * i, rows[i]);
    write_bytes(at("sform.nii"), h.bytes, 352 + 16);
    Nifti n = {0};
    ok(nifti_read(at("sform.nii"), 0, &n, NULL), "an image with an sform");
    ok(n.affine[0][3] == 4 && n.affine[2][0] == 9 && n.affine[3][0] == 0,
       "the affine is the sform");
    nifti_release(&n);
}

/* ---- what is said of bad files ------------------------------------------------------------ */

static void refused(const char *path, const char *code, const char *part) {
    Nifti n = {.spacing = {-7}};
    gi_err err = {0};
    ok(!nifti_read(path, 0, &n, &err) && n.data == NULL && n.spacing[0] == -7, "refused: %s",
       err.message);
    is_str(err.code, code, "with its code");
    has_str(err.message, part, "and the reason");
    has_str(err.message, folder, "and the path");
}

static void test_refusals(void) {
    Nifti n = small_image(ARRAY_F64);
    nifti_write(at("whole.nii"), &n, NULL);
    nifti_write(at("whole.nii.gz"), &n, NULL);
    nifti_write(at("pair.hdr"), &n, NULL);

    refused(at("nowhere.nii"), "io", "No such file");
    cut_to(at("whole.nii"), at("cut.nii"), 352 + 479);
    refused(at("cut.nii"), "io", "is truncated: its header promises 832 bytes, it has 831");
    cut_to(at("whole.nii"), at("header.nii"), 200);
    refused(at("header.nii"), "format", "not a NIfTI image");
    cut_to(at("whole.nii.gz"), at("cut.nii.gz"), 250);
    refused(at("cut.nii.gz"), "io", "truncated");
    unlink(at("pair.img"));
    refused(at("pair.hdr"), "io", "no voxels beside it");
    write_bytes(at("text.nii"), "This is a letter, not an image.", 31);
    refused(at("text.nii"), "format", "not a NIfTI image");
    write_bytes(at("empty.nii"), "", 0);
    refused(at("empty.nii"), "format", "not a NIfTI image");

    HandMade h = hand_made(false, 0, 0);
    put_i16(&h, 70, 32); /* DT_COMPLEX64 */
    put_i16(&h, 72, 64);
    write_bytes(at("complex.nii"), h.bytes, sizeof h.bytes);
    refused(at("complex.nii"), "format", "COMPLEX64");
    h = hand_made(false, 0, 0);
    for (int i = 1; i < 8; i++) put_i16(&h, 40 + 2 * i, 32767);
    put_i16(&h, 40, 7);
    write_bytes(at("huge.nii"), h.bytes, sizeof h.bytes);
    refused(at("huge.nii"), "format", "dimensions make no sense");
    h = hand_made(false, 0, 0);
    put_i16(&h, 42, -2);
    write_bytes(at("minus.nii"), h.bytes, sizeof h.bytes);
    refused(at("minus.nii"), "format", "not a NIfTI image");
    nifti_release(&n);
}

static void test_write_refusals(void) {
    Nifti n = small_image(ARRAY_U8);
    gi_err err = {0};
    ok(!nifti_write(at("image.png"), &n, &err), "an extension that is not NIfTI's is refused");
    has_str(err.message, "must end in .nii, .nii.gz, .hdr or .img", "with those that are");
    ok(!nifti_write(at("no/such/folder/a.nii"), &n, &err) && strcmp(err.code, "io") == 0,
       "a folder that is not there is an error");
    has_str(err.message, "No such file", "with the system's reason");
    if (access("/dev/full", W_OK) == 0 && symlink("/dev/full", at("full.nii")) == 0) {
        ok(!nifti_write(at("full.nii"), &n, &err) && strcmp(err.code, "io") == 0,
           "a full disk is an error");
        has_str(err.message, "disk full", "and called by its name");
    }
    nifti_release(&n);
}

/* A header whose bytes are damaged at random is read or refused, never worse. */
static void test_damage(uint64_t seed) {
    gi_rng r;
    gi_rng_seed(&r, seed);
    int read = 0;
    for (int round = 0; round < 400; round++) {
        HandMade h = hand_made(round & 1, 0, 0);
        for (int k = 0; k < 4; k++) h.bytes[gi_rng_below(&r, 352)] = (unsigned char)gi_rng_next(&r);
        write_bytes(at("damaged.nii"), h.bytes, 352 + 16);
        Nifti n = {0};
        gi_err err = {0};
        if (nifti_read(at("damaged.nii"), 0, &n, &err)) read++;
        else if (err.message[0] == '\0') ok(false, "round %d: refused without a reason", round);
        nifti_release(&n);
    }
    ok(read > 0 && read < 400, "400 damaged headers: %d readable, the rest refused", read);
}

static void test_brain(void) {
    const char *brain = "/usr/share/mricron/templates/ch2bet.nii.gz";
    if (access(brain, R_OK) != 0) {
        ok(true, "the brain # SKIP %s is not installed (apt install mricron-data)", brain);
        return;
    }
    Nifti n = {0};
    ok(nifti_read(brain, 0, &n, NULL), "the brain");
    ok(n.data->type == ARRAY_U8 && n.data->shape[0] == 181 && n.data->shape[1] == 217,
       "181 x 217 x 181");
    int64_t active = 0;
    for (int64_t i = 0; i < n.data->count; i++) active += array_get(n.data, i) != 0;
    is_int(active, 1737193, "voxels that are not 0");
    nifti_release(&n);
}

int main(int argc, char **argv) {
    const uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1737193;
    const char *tmp = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/gilua-nifti-XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(folder)) {
        printf("Bail out! cannot make a folder in %s\n", tmp ? tmp : "/tmp");
        return 1;
    }
    printf("# seed %" PRIu64 "\n", seed);
    test_round_trips();
    test_dimensions();
    test_byte_orders();
    test_scaling();
    test_sform();
    test_refusals();
    test_write_refusals();
    test_damage(seed);
    test_brain();

    char command[300];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command) != 0 || tap_done();
}
