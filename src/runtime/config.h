/* config.h - what `gilua run` asks of the library: the file `config` in the folder that GILUA_RUN
** names, a line each "KEY VALUE". Unknown keys are an error, so that two versions cannot
** misunderstand each other. */
#ifndef GILUA_RUNTIME_CONFIG_H
#define GILUA_RUNTIME_CONFIG_H

#include "base/base.h"
#include "emu/emu.h"

typedef struct Config {
    char folder[512];
    EmuModel model;        /* gpu NAME; model.FIELD VALUE for each field */
    double memory_bytes;   /* of the modelled GPU */
    bool uninitialised;    /* check.uninit 1 */
    EmuRaces races;        /* check.races 1, check.global-races 1 */
    bool leaks;            /* check.leaks 1 */
    bool api_errors;       /* api-errors 1: errors of calls that the program does not read */
    bool order;            /* check.order 1 */
    bool streams;          /* check.streams 1 */
    bool profile;          /* profile 1: what each line costs */
    bool skip;             /* repeats.skip 1: what changes nothing is not run again */
    char record[512];      /* record PATH: where to record; "" where not */
    char record_as[16];    /* record.as USE: what the recording is for; "" where that is not said */
    char record_kernel[256]; /* record.kernel NAME: launches of it are counted; "": of all */
    uint64_t record_skip;  /* record.skip N: of those, before it begins */
    uint64_t record_count; /* record.count N: of those, before it ends; 0: all */
    uint64_t most_repeats; /* repeats.most N: of one launch; 0: no limit */
    int threads;           /* threads N: cores for one launch; else all that the program may use */
    uint64_t patience;     /* patience N: seconds after which a launch is said to take long; 0 */
} Config;

bool config_read(const char *folder, Config *out, gi_err *err);

#endif
