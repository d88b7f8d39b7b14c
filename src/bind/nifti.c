/* nifti.c - gi.nifti: NIfTI images as arrays. */
#include "bind/bind.h"

#include <string.h>

#include "image/image.h"

static int read_image(lua_State *L) {
    Nifti image = {0};
    gi_err err;
    const char *path = luaL_checkstring(L, 1);
    if (!nifti_read(path, bind_max_bytes(L, 2), &image, &err)) return bind_failed(L, &err);
    lua_createtable(L, 0, 4);
    bind_push_array(L, image.data);
    lua_setfield(L, -2, "data");
    lua_createtable(L, 16, 0);
    for (int i = 0; i < 16; i++)
        lua_pushnumber(L, image.affine[i / 4][i % 4]), lua_rawseti(L, -2, i + 1);
    lua_setfield(L, -2, "affine");
    lua_createtable(L, 7, 0);
    for (int i = 0; i < 7; i++) lua_pushnumber(L, image.spacing[i]), lua_rawseti(L, -2, i + 1);
    lua_setfield(L, -2, "spacing");
    lua_pushstring(L, image.description);
    lua_setfield(L, -2, "description");
    return 1;
}

static void read_numbers(lua_State *L, int index, const char *field, double *out, int n) {
    if (lua_getfield(L, index, field) == LUA_TNIL) {
        lua_pop(L, 1);
        return;
    }
    if (!lua_istable(L, -1) || luaL_len(L, -1) != n)
        luaL_error(L, "%s must be a list of %d numbers", field, n);
    for (int i = 0; i < n; i++) {
        lua_geti(L, -1, i + 1);
        out[i] = luaL_checknumber(L, -1);
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
}

static int write_image(lua_State *L) {
    static const char *const known[] = {"data", "affine", "spacing", "description", NULL};
    const char *path = luaL_checkstring(L, 1);
    Nifti image = {.spacing = {1, 1, 1, 1, 1, 1, 1}};
    for (int i = 0; i < 4; i++) image.affine[i][i] = 1;
    if (bind_test_array(L, 2)) {
        image.data = bind_check_array(L, 2);
    } else {
        bind_check_options(L, 2, known);
        lua_getfield(L, 2, "data");
        image.data = bind_check_array(L, -1);
        read_numbers(L, 2, "affine", &image.affine[0][0], 16);
        read_numbers(L, 2, "spacing", image.spacing, 7);
        const char *text = bind_option_string(L, 2, "description", "gilua");
        strncpy(image.description, text, sizeof image.description - 1);
    }
    gi_err err;
    if (!nifti_write(path, &image, &err)) return bind_failed(L, &err);
    lua_pushboolean(L, true);
    return 1;
}

void bind_nifti(lua_State *L) {
    static const BindRow rows[] = {
        {"read", read_image,
         "gi.nifti.read(path [, {max_bytes}]) -> { data, affine, spacing, description } | nil, "
         "message, code",
         "Reads .nii, .nii.gz or .hdr/.img; data is an array of shape (nz, ny, nx), scaled; affine "
         "the 16 numbers of voxel to mm, row by row. It may take max_bytes of memory: unless said "
         "otherwise 64 MiB and 32 times its file, at most 4 GiB."},
        {"write", write_image, "gi.nifti.write(path, image | array) -> true | nil, message, code",
         "Writes what read gave, or a bare array of voxels."},
        {NULL, NULL, NULL, NULL}};
    lua_newtable(L);
    bind_rows(L, "nifti.", rows);
}
