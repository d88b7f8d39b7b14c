/* texture.c - the class of textures: an array as a kernel's texture unit sees it. */
#include "bind/device.h"

static void texture_size(lua_State *L, int index, const Array *a, TextureSpec *t) {
    int64_t texels = a->count / t->channels, product = 1;
    for (int i = 0; i < 3; i++) t->size[i] = 1;
    if (lua_isnoneornil(L, index) || lua_getfield(L, index, "size") == LUA_TNIL) {
        t->dims = 1;
        t->size[0] = texels;
        return;
    }
    luaL_checktype(L, -1, LUA_TTABLE);
    t->dims = (int)luaL_len(L, -1);
    if (t->dims < 1 || t->dims > 3)
        luaL_error(L, "option 'size' is { width [, height [, depth]] }");
    for (int i = 0; i < t->dims; i++) {
        lua_geti(L, -1, i + 1);
        t->size[i] = luaL_checkinteger(L, -1);
        product *= t->size[i];
        lua_pop(L, 1);
    }
    if (t->layers > 0) product *= t->layers;
    if (product != texels)
        luaL_error(L, "the texture's size has %I texels, the array %I", (lua_Integer)product,
                   (lua_Integer)texels);
}

DeviceTexture *bind_check_texture(lua_State *L, int index) {
    return bind_check_child(L, index, BIND_TEXTURE)->u.texture;
}

int bind_texture_new(lua_State *L) {
    static const char *const known[] = {"kind",   "channels", "size", "layers", "address",
                                        "filter", "coords",   "read", "border", NULL};
    static const char *const kinds[] = {"linear", "array", NULL};
    static const char *const modes[] = {"wrap", "clamp", "mirror", "border", NULL};
    static const char *const filters[] = {"point", "linear", NULL};
    static const char *const coords[] = {"texel", "normalized", NULL};
    static const char *const reads[] = {"element", "normalized", NULL};
    BindDevice *owner = bind_check_device(L, 1);
    Array *a = bind_check_array(L, 2);
    bind_check_options(L, 3, known);
    lua_settop(L, 3);
    TextureSpec t = {0};
    t.kind = (TextureKind)bind_option_enum(L, 3, "kind", kinds, TEXTURE_LINEAR);
    t.channels = (int)bind_option_int(L, 3, "channels", 1);
    luaL_argcheck(L, t.channels == 1 || t.channels == 2 || t.channels == 4, 3,
                  "channels are 1, 2 or 4");
    t.layers = bind_option_int(L, 3, "layers", 0);
    int mode = bind_option_enum(L, 3, "address", modes, TEXTURE_CLAMP);
    for (int i = 0; i < 3; i++) t.address[i] = (TextureAddress)mode;
    t.linear_filter = bind_option_enum(L, 3, "filter", filters, 0) == 1;
    t.normalized_coords = bind_option_enum(L, 3, "coords", coords, 0) == 1;
    t.normalized_read = bind_option_enum(L, 3, "read", reads, 0) == 1;
    t.border[0] = (float)bind_option_number(L, 3, "border", 0);
    for (int i = 1; i < 4; i++) t.border[i] = t.border[0];
    texture_size(L, 3, a, &t);
    BindChild *c = bind_new_child(L, BIND_TEXTURE, true);
    gi_err err;
    c->u.texture = device_texture(owner->device, a, &t, &err);
    if (c->u.texture == NULL) return bind_refused(L, &err);
    bind_adopt(c, owner);
    return 1;
}

static void drop(BindChild *c) {
    device_texture_free(c->u.texture);
}

static int texture_close(lua_State *L) {
    return bind_close_child(L, BIND_TEXTURE, drop);
}

static int texture_handle(lua_State *L) {
    lua_pushinteger(L, (lua_Integer)device_texture_handle(bind_check_texture(L, 1)));
    return 1;
}

void bind_texture_class(lua_State *L) {
    static const BindRow methods[] = {
        {"handle", texture_handle, "texture:handle() -> integer",
         "The cudaTextureObject_t a kernel sees."},
        {"close", texture_close, "texture:close()", "Frees the texture."},
        {NULL, NULL, NULL, NULL}};
    static const luaL_Reg meta[] = {
        {"__gc", texture_close}, {"__close", texture_close}, {NULL, NULL}};
    bind_class(L, BIND_TEXTURE, "texture:", methods, meta);
}
