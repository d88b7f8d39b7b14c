/* gpu_plan.h - what a recording becomes on a GPU: what there is, and a list of what is done.
** Private to src/replay. */
#ifndef GILUA_REPLAY_GPU_PLAN_H
#define GILUA_REPLAY_GPU_PLAN_H

#include "replay/gpu.h"

enum { KEPT_CODE = 4, RECORDED = 0, OTHER = 1 };

typedef struct Variable { /* that the program names */
    int module;
    char *name;
    uint64_t address; /* in the recording */
    uint64_t bytes;
    bool is_constant;
    uint64_t at[2];   /* on the GPU, in the recorded module and in other code; 0: not there */
    bool valid[2];    /* holds what it must, in a repetition */
} Variable;

typedef struct Piece { /* data that the host gives or gets, once each of those that it gives */
    char name[RECORD_NAME];
    uint64_t offset, bytes; /* among all of these */
    bool is_current; /* handles of textures in it are those of now */
} Piece;

typedef struct Pieces {
    Piece *list;
    int n, cap;
    uint64_t bytes; /* of all, each from a multiple of 256 on */
} Pieces;

typedef struct Side {
    SequencePlace place; /* of a variable: the offset in it */
    int variable;        /* -1: none */
} Side;

typedef struct Fixup { /* an argument that holds the address of a variable */
    size_t at;
    int variable;
    uint64_t offset;
} Fixup;

typedef enum OpKind { OP_COPY, OP_FILL, OP_LAUNCH } OpKind;

typedef struct Op {
    OpKind kind;
    Side to, from;
    SequenceExtent extent;
    unsigned value, element;
    int row;    /* of kernels */
    int launch; /* which of all */
    unsigned grid[3], block[3], cluster[3];
    size_t shared;
    bool cooperative;
    uint8_t *params;
    Fixup *fixups;
    int n_fixups, cap_fixups;
} Op;

typedef struct Row { /* a kernel */
    int module;
    char *name;
    size_t n_params;
    int launches;
    int code; /* RECORDED or OTHER, in the run at hand */
    size_t bytes; /* of its parameters, there */
} Row;

typedef struct Live { /* a texture, and its handles */
    uint64_t recorded, handle;
} Live;

typedef struct Kept { /* other code */
    char *ptx;
    size_t len;
    DeviceModule *module;
} Kept;

struct ReplayGpu { /* err, line and what follows: while it is made */
    const Recording *recording;
    Device *device;
    Sequence *sequence;
    DeviceModule **recorded, **used; /* used: other code's or NULL */
    int n_modules, cap_modules;
    Variable *variables;
    int n_variables, cap_variables;
    SequenceMemory *memory; /* in the order of its addresses */
    int n_memory, cap_memory;
    SequenceArray *arrays;
    int n_arrays, cap_arrays;
    Pieces gives, gets;
    Array *given, *right, *got;
    DeviceBuffer *given_at, *right_at, *got_at;
    bool given_changed; /* behind what lies on the GPU */
    Live *live;
    int n_live, cap_live;
    Op *ops;
    int n_ops, cap_ops, first, last; /* launches */
    int n_launches;
    const ReplayShape *shapes; /* of the run at hand, the caller's */
    int n_shapes;
    const ReplayJoin *joins;
    int n_joins;
    const ReplayTurn *turns; /* likewise; NULL: one stream */
    bool *awaited;           /* by launch: another stream's waits for it */
    Row *rows;
    int n_rows, cap_rows;
    Kept kept[KEPT_CODE];
    int n_kept;
    gi_err *err;
    int line, next_get;
    const char *const *answering; /* kernels */
    int n_answering;
    bool answers; /* the launch at hand is of one of them */
    char **code; /* of the modules, while it opens */
    int cap_code;
};

/* Makes all of it: g has a recording, a device and err. */
bool gpu_plan(ReplayGpu *g);
void gpu_plan_free(ReplayGpu *g); /* what is in *g */
/* Loads PTX or machine code; "compile" … */
DeviceModule *gpu_load(const ReplayGpu *g, const char *code, size_t len, gi_err *err);

#endif
