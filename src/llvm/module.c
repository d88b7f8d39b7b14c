/* module.c - see llvm.h: modules, passes, and the back end. */
#include "llvm/module.h"

#include <stdlib.h>
#include <string.h>

#include "llvm/target.h"

/* Of what LLVM says, its errors: warnings are of no use to a search. */
static void listen(LlvmDiagnostic *d, void *context) {
    LlvmModule *m = context;
    if (m->llvm->GetDiagInfoSeverity(d) != LLVM_SEVERITY_ERROR) return;
    char *text = m->llvm->GetDiagInfoDescription(d);
    if (m->said.len == 0) gi_buf_adds(&m->said, text);
    m->llvm->DisposeMessage(text);
}

LlvmModule *llvm_module_open(Llvm *l, const void *bytes, size_t len, gi_err *err) {
    LlvmModule *m = gi_alloc(sizeof *m);
    char *why = NULL;
    m->llvm = l;
    m->context = l->ContextCreate();
    l->ContextSetDiagnosticHandler(m->context, listen, m);
    /* Parsing takes over the memory, whatever comes of it. */
    LlvmMemory *memory = l->CreateMemoryBufferWithMemoryRangeCopy(bytes, len, "module");
    if (l->ParseIRInContext(m->context, memory, &m->code, &why) == 0) return m;
    gi_fail(err, "format", "this is no module of LLVM %s: %s", llvm_version(l),
            m->said.len   ? m->said.data
            : why && *why ? why
                          : "LLVM does not say why");
    if (why) l->DisposeMessage(why);
    m->code = NULL;
    llvm_module_close(m);
    return NULL;
}

void llvm_module_close(LlvmModule *m) {
    if (m == NULL) return;
    if (m->code) m->llvm->DisposeModule(m->code);
    if (m->machine) m->llvm->DisposeTargetMachine(m->machine);
    if (m->host == NULL) m->llvm->ContextDispose(m->context);
    gi_buf_free(&m->said);
    free(m->goal);
    free(m);
}

LlvmModule *llvm_module_clone(LlvmModule *m) {
    LlvmModule *c = gi_alloc(sizeof *c);
    *c = (LlvmModule){.llvm = m->llvm, .host = m, .context = m->context};
    c->code = m->llvm->CloneModule(m->code);
    return c;
}

/* Each function for itself is quicker; the module's verifier says why. */
bool llvm_module_verify(LlvmModule *m, gi_err *err) {
    const Llvm *l = m->llvm;
    bool broken = false;
    for (LlvmValue *f = l->GetFirstFunction(m->code); f && !broken; f = l->GetNextFunction(f))
        broken = l->CountBasicBlocks(f) && l->VerifyFunction(f, LLVM_RETURN_STATUS);
    if (!broken) return true;
    char *why = NULL;
    l->VerifyModule(m->code, LLVM_RETURN_STATUS, &why);
    gi_fail(err, "compile", "LLVM's verifier: %.*s", why ? (int)strcspn(why, "\n") : 0,
            why ? why : "");
    if (why) l->DisposeMessage(why);
    return false;
}

/* The machine that code is made for: copies share it, for it takes a millisecond to make. */
static LlvmMachine *machine_of(LlvmModule *m, const char *target, gi_err *err) {
    static const char triple[] = "nvptx64-nvidia-cuda";
    LlvmGoal goal;
    LlvmTarget *found;
    char *why = NULL;
    if (m->host) return machine_of(m->host, target, err);
    if (m->machine && strcmp(m->goal, target) == 0) return m->machine;
    if (!llvm_goal(m->llvm, target, &goal, err)) return NULL;
    if (m->llvm->GetTargetFromTriple(triple, &found, &why) != 0) {
        gi_fail(err, "nolib", "%s makes no PTX: %s", m->llvm->path, why);
        m->llvm->DisposeMessage(why);
        return NULL;
    }
    if (m->machine) m->llvm->DisposeTargetMachine(m->machine);
    free(m->goal);
    m->goal = gi_strdup(target);
    m->machine =
        m->llvm->CreateTargetMachine(found, triple, goal.cpu, goal.features, LLVM_OPTIMISE_MOST,
                                     LLVM_RELOC_DEFAULT, LLVM_CODE_MODEL_DEFAULT);
    return m->machine;
}

/* --- passes --- */

static bool is_level(const char *name) {
    static const char *const levels[] = {"O0", "O1", "O2", "O3", "Os", "Oz"};
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
        if (strcmp(name, levels[i]) == 0) return true;
    return false;
}

static bool run_one(LlvmModule *m, const char *name, LlvmMachine *machine, gi_err *err) {
    LlvmPassOptions *options = m->llvm->CreatePassBuilderOptions();
    gi_buf pipeline = {0};
    gi_buf_addf(&pipeline, is_level(name) ? "default<%s>" : "%s", name);
    LlvmError *error = m->llvm->RunPasses(m->code, pipeline.data, machine, options);
    gi_buf_free(&pipeline);
    m->llvm->DisposePassBuilderOptions(options);
    if (error == NULL) return true;
    char *why = m->llvm->GetErrorMessage(error);
    gi_fail(err, "usage", "LLVM %s does not run the pass '%s': %s", llvm_version(m->llvm), name,
            why);
    m->llvm->DisposeErrorMessage(why);
    return false;
}

/* The end of the first name: commas between brackets are its own. */
static size_t name_length(const char *passes) {
    int depth = 0;
    size_t n = 0;
    for (; passes[n] && (passes[n] != ',' || depth > 0); n++) {
        if (strchr("(<", passes[n])) depth++;
        if (strchr(")>", passes[n])) depth--;
    }
    return n;
}

bool llvm_module_run(LlvmModule *m, const char *passes, const char *target, gi_err *err) {
    LlvmMachine *machine = machine_of(m, target, err);
    if (machine == NULL) return false;
    while (*passes) {
        size_t n = name_length(passes);
        char *name = gi_strndup(passes, n);
        bool done = run_one(m, name, machine, err);
        free(name);
        if (!done) return false;
        passes += n + (passes[n] == ',');
    }
    return true;
}

/* --- the back end --- */

bool llvm_module_ptx(LlvmModule *m, const char *target, gi_buf *out, gi_err *err) {
    LlvmMachine *machine = machine_of(m, target, err);
    LlvmMemory *text = NULL;
    char *why = NULL;
    if (machine == NULL) return false;
    gi_buf_clear(&m->said);
    m->llvm->ContextSetDiagnosticHandler(m->context, listen, m); /* others may share it */
    bool failed = m->llvm->TargetMachineEmitToMemoryBuffer(machine, m->code, LLVM_ASSEMBLY_FILE,
                                                           &why, &text) != 0;
    if (failed || m->said.len)
        gi_fail(err, "compile", "LLVM %s makes no PTX of it: %s", llvm_version(m->llvm),
                m->said.len ? m->said.data : why);
    else gi_buf_add(out, m->llvm->GetBufferStart(text), m->llvm->GetBufferSize(text));
    if (why) m->llvm->DisposeMessage(why);
    if (text) m->llvm->DisposeMemoryBuffer(text);
    return !failed && m->said.len == 0;
}

void llvm_module_write(LlvmModule *m, gi_buf *out) {
    LlvmMemory *bits = m->llvm->WriteBitcodeToMemoryBuffer(m->code);
    gi_buf_add(out, m->llvm->GetBufferStart(bits), m->llvm->GetBufferSize(bits));
    m->llvm->DisposeMemoryBuffer(bits);
}

void llvm_module_print(LlvmModule *m, gi_buf *out) {
    char *text = m->llvm->PrintModuleToString(m->code);
    gi_buf_adds(out, text);
    m->llvm->DisposeMessage(text);
}
