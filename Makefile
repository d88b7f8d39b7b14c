# gilua's Makefile. Its manual is `make help`.
#
# All of src/*/*.c and src/*/*/*.c but the host's main.c and precompile.c goes into one archive; ./gilua and every test program in
# tests/c link what they need of it. Objects live under build/, one folder for each CC and SANITIZE.
# The libraries are linked statically where the machine has their archives, so that ./gilua needs
# nothing but the C library at run time; NVRTC and the driver are opened at run time.

CC       ?= cc
CFLAGS   ?= $(if $(SANITIZE),-O1 -g1,-O2 -g)
PREFIX   ?= /usr/local
DESTDIR  ?=
BUILD    ?= build
SANITIZE ?=
SHARED   ?=
WERROR   ?=
V        ?=
ifeq ($(origin CC),default)
CC := cc
endif

VERSION := $(shell sed -n 's/.*GILUA_VERSION "\(.*\)"/\1/p' src/base/version.h)
MACHINE := $(firstword $(subst -, ,$(shell $(CC) -dumpmachine 2>/dev/null)))
native  := $(filter $(MACHINE),$(shell uname -m))
PACKAGE := gilua-$(VERSION)-linux-$(MACHINE)

# --- configuration: cc without sanitizers builds in build/, anything else in a folder below it
comma   := ,
variant := $(filter-out cc,$(notdir $(firstword $(CC)))) $(subst $(comma), ,$(SANITIZE))
O       := $(BUILD)$(addprefix /,$(subst $() ,-,$(strip $(variant))))
Q       := $(if $(V),,@)
say      = $(if $(V),@true,@echo "  $1")
# All processors, where nobody says how many.
jobs     = $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(shell nproc))

# --- the prompt's line editor: libedit where it is there; `make EDIT=` builds without it. Its archive
# wants those of libbsd (which wants libmd) and of terminfo; where one is missing, shared it is.
ifeq ($(origin EDIT),undefined)
EDIT := $(shell $(CC) -E -include stdio.h -include histedit.h -x c /dev/null >/dev/null 2>&1 && echo 1)
endif

# --- flags. The emulator's lane loops and the comparison live on the auto-vectoriser: -O3 there. With
# sanitizers, whose checks keep loops as they are, -O1 does everywhere, and compiles sooner; a report
# needs the line numbers alone (-g1).
warnings := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wwrite-strings \
            -Wdouble-promotion -Wvla $(if $(WERROR),-Werror)
sanitize := $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all \
            -fno-omit-frame-pointer)
headers  := $(shell pkg-config --cflags lua5.4 2>/dev/null || echo -I/usr/include/lua5.4) \
            -isystem /usr/include/nifti
# Position-independent and hidden: the same objects serve the program and the CUDA library.
flags    := -std=c11 -D_GNU_SOURCE $(if $(EDIT),-DGILUA_EDIT) -Isrc $(headers) $(CPPFLAGS) \
            $(CFLAGS) $(warnings) -fPIC -fvisibility=hidden \
            -ffp-contract=off -fno-math-errno -pthread $(sanitize)
room_emu   := $(if $(SANITIZE),,-O3)
room_array := $(room_emu)

# $(call archive,z): the static library's path where there is one, else -lz; with SHARED=1 always -lz,
# as distributions want it.
static    = $(or $(filter /%,$(shell $(CC) -print-file-name=lib$1.a 2>/dev/null)),-l$1)
archive   = $(if $(SHARED),-l$1,$(call static,$1))
lua_lib  := $(call archive,lua5.4)
libs     := $(foreach lib,lua5.4-filesystem lua5.4-socket nifti2 znz png16 z ffi seccomp sqlite3,$(call archive,$(lib)))
edit_all := $(foreach lib,edit bsd md tinfo,$(call archive,$(lib)))
edit_lib := $(if $(EDIT),$(if $(filter -l%,$(edit_all)),-ledit,$(edit_all)))
# All of Lua is kept and exported: C modules that scripts `require` look for it in the program.
link     := -pthread $(sanitize) $(LDFLAGS)
lua_all  := -Wl,-E -Wl,--whole-archive $(lua_lib) -Wl,--no-whole-archive
system   := -lm -ldl
# What src/runtime unpacks device code with, and src/record its chunks. In the CUDA library, which other
# people's programs load, they are always its own.
unpack   := $(call static,zstd) $(call static,lz4)
archives  = $(filter /%,$(lua_lib) $(libs) $(unpack) $(edit_lib)) /usr/include/xxhash.h

# --- files
sources    := $(wildcard src/*/*.c src/*/*/*.c)
objects    := $(sources:src/%.c=$O/obj/%.o)
runtime    := $(filter $O/obj/runtime/%,$(objects))
inject     := $(filter $O/obj/inject/%,$(objects))
standin    := $(filter $O/obj/standin/%,$(objects))
standins   := $(addprefix lib/,libcublas.so.13 libcublas.so.12 libcublasLt.so.13 libcublasLt.so.12 libcufft.so.12 \
              libcufft.so.11 libcurand.so.10 libcusparse.so.12 libcusolver.so.12 libcusolver.so.11 \
              libnvidia-ml.so.1)
library    := $(filter-out $O/obj/host/main.o $O/obj/host/precompile.o $(runtime) $(inject) $(standin),$(objects))
modules    := $(sort $(shell find lua/gilua -name '*.lua'))
references := $(patsubst %.c,%.so,$(wildcard kernels/*/reference.c))
c_tests    := $(patsubst tests/c/%.c,$O/tests/%,$(filter-out %/fake_cuda.c %/fake_cupti.c %/fake_nvml.c,$(wildcard tests/c/*.c)))
helpers    := $(addprefix tests/lua/,tap.lua agentprocess.lua archivetime.lua browser.lua choices.lua fake.lua fakegpu.lua \
              held.lua heldruns.lua madekernels.lua madeup.lua modelpairs.lua natsserver.lua oddptx.lua overreals.lua \
              pairkernels.lua pairs_tape.lua problems.lua rewritten.lua scratch.lua tape.lua)
scripts    := $(filter-out $(helpers),$(wildcard tests/lua/*.lua tests/cli/*.t))
# Begun first, because a long one begun last is waited for (tests/dearest says which these are; others
# take little of a processor, but wait for what they look at).
slowest    := $(addprefix tests/,cli/own.t cli/docs.t cli/workloads.t cli/results.t cli/experiment.t \
              cli/run.t cli/strangers.t lua/stereo.lua cli/resume.t lua/stereo_wide.lua cli/hostile_files.t \
              cli/runs.t lua/backport.lua cli/watch.t cli/page.t cli/hostile.t cli/injection.t cli/events.t \
              cli/energy.t cli/ptx.t cli/replay.t cli/archive.t cli/no_memory.t cli/newkinds.t cli/network.t \
              lua/niftyreg_wide.lua lua/kernels.lua cli/cluster.t lua/funnel.lua cli/readers.t)

# Under sanitizers these have their turn in one of eight commits, by its number (TURN=N; EVERY=1: in all).
# `make reach` chose them: all lines of C that they reach, but for 22 of 24150, are reached by scripts that
# run in each commit. CONTRIBUTING.md has the rule.
in_turn   := $(addprefix tests/cli/,archive.t calibrate.t completion.t determinism.t doctor.t events.t experiment.t \
              first_hour.t improve.t islands.t merge.t moved.t network.t one_mutant.t other_data.t page.t promises.t \
              ptx.t python.t readme.t recorded.t replay.t results.t rundiff.t runs.t site.t terminal.t weak_data.t \
              workloads.t)
in_turn   += $(addprefix tests/lua/,adequacy.lua arithmetic.lua backport.lua bandit.lua checkproblem.lua \
              disparity.lua facts_rewritings.lua hostcode_random.lua kernels.lua kerneltable.lua model.lua \
              niftyreg_wide.lua otherdata.lua overloads.lua precision.lua prompt.lua proposals.lua recorded.lua \
              rewrite.lua rewritings_random.lua runs.lua screen.lua sieve.lua slice.lua stats.lua \
              steady.lua stereo.lua stereo_wide.lua structs.lua transformflash.lua transformgeometry.lua \
              transformloops.lua transformmemory.lua transformshuffle.lua transformstage.lua transformsubwarp.lua \
              transformthreads.lua transformtile.lua)
TURN       ?= $(shell git rev-list --count HEAD 2>/dev/null || echo 0)
left_out    = $(if $(SANITIZE),$(if $(EVERY),,$(shell printf '%s\n' $(in_turn) | awk 'NR % 8 != $(TURN) % 8')))

.PHONY: all deps deps-test deps-dev cluster-deps demo test left-out reach fresh-test gpu-test cluster-test tests warnings bench faults kills mutants fuzz fuzzing scores docs site names portable release package-test install uninstall clean help FORCE
.DELETE_ON_ERROR:
.SUFFIXES:

all: gilua lib/libcudart.so.13 lib/libgilua_inject.so $(standins) $(references)

# ./gilua and lib/ are the configuration built last; moved into place, so a running one is left alone.
gilua: $O/gilua FORCE
	$Qcmp -s $< $@ || { cp $< $@.new && mv -f $@.new $@; }

lib/libcudart.so.13: $O/libcudart.so.13 FORCE
	$Qmkdir -p lib
	$Qcmp -s $< $@ || { cp $< $@.new && mv -f $@.new $@; }
	$Qfor name in libcudart.so.12 libcuda.so.1; do ln -sf libcudart.so.13 lib/$$name; done

lib/libgilua_inject.so: $O/libgilua_inject.so FORCE
	$Qmkdir -p lib
	$Qcmp -s $< $@ || { cp $< $@.new && mv -f $@.new $@; }

$(standins): lib/%: $O/% FORCE
	$Qcmp -s $< $@ || { cp $< $@.new && mv -f $@.new $@; }

# Stand-ins of closed libraries, under their names; what they do is an op of libcudart.so.13. The folder
# of libNAME.so.N is src/standin/NAME; its functions begin with NAME, but NVML's.
standin_name = $(patsubst lib%,%,$(firstword $(subst ., ,$(notdir $1))))
$(foreach lib,$(standins:lib/%=$O/%),$(eval $(lib): prefix := $(call standin_name,$(lib))) \
    $(eval $(lib): $(filter $O/obj/standin/$(call standin_name,$(lib))/% $O/obj/standin/shared/%,$(standin))))
$O/libcublasLt.so.13 $O/libcublasLt.so.12: $(addprefix $O/obj/standin/cublas/,blas.o convert.o gemm.o)
$O/libnvidia-ml.so.1: prefix := nvml
$(standins:lib/%=$O/%): $O/libcudart.so.13
	$(call say,LINK    $@)
	$Qecho '$(subst -,_,$(@F)) { global: $(prefix)*; local: *; };' >$@.map
	$Q$(CC) -shared $(link) -o $@ $(filter %.o,$^) $O/libcudart.so.13 $O/libgilua.a $(system) \
	    -Wl,--no-undefined -Wl,-soname,$(@F) -Wl,--version-script=$@.map

# What the driver loads into a program that is recorded on a GPU; the same of it.
$O/libgilua_inject.so: src/inject/inject.map $(inject) $O/obj/runtime/fatbin.o $O/obj/runtime/map.o $O/libgilua.a
	$(call say,LINK    $@)
	$Q$(CC) -shared $(link) -o $@ $(filter %.o,$^) $O/libgilua.a $(unpack) $(system) -Wl,--no-undefined \
	    -Wl,-soname,libgilua_inject.so -Wl,--version-script=$< -Wl,--exclude-libs,ALL

# The CUDA library of `gilua run`: one file, the functions of CUDA 12 and 13 by symbol versions and
# those of the driver. It is loaded into other people's programs, so it shows them nothing else.
$O/libcudart.so.13: src/runtime/cudart.map $(runtime) $O/libgilua.a
	$(call say,LINK    $@)
	$Q$(CC) -shared $(link) -o $@ $(runtime) $O/libgilua.a $(unpack) $(system) -Wl,--no-undefined \
	    -Wl,-soname,libcudart.so.13 -Wl,--version-script=src/runtime/cudart.map -Wl,--exclude-libs,ALL

$O/gilua: $O/obj/host/main.o $O/modules.o $O/libgilua.a
	$(call say,LINK    $@)
	$Q$(CC) $(link) -o $@ $^ $(lua_all) $(libs) $(unpack) $(edit_lib) $(system)

# lua/gilua compiled (src/host/modules.h); nothing where this machine cannot run what CC makes.
$O/precompile: $O/obj/host/precompile.o $O/libgilua.a
	$(call say,LINK    $@)
	$Q$(CC) $(link) -o $@ $^ $(lua_lib) $(system)

$O/modules.o: $O/precompile $(modules)
	$(call say,LUAC    $@)
	$Q$(if $(native),$(abspath $O)/precompile lua $(modules)) >$O/modules.bin
	$Qprintf '%s\n' '.section .rodata' '.globl modules_compiled, modules_size' '.balign 16' \
	    'modules_compiled: .incbin "$O/modules.bin"' '.Lend: .balign 8' \
	    'modules_size: .quad .Lend - modules_compiled' '.section .note.GNU-stack,"",%progbits' >$O/modules.s
	$Q$(CC) -c -o $@ $O/modules.s

$O/libgilua.a: $(library)
	$(call say,AR      $@)
	$Qrm -f $@ && $(AR) qcs $@ $^

$O/obj/%.o: src/%.c $O/flags
	$(call say,CC      $<)
	$Qmkdir -p $(@D)
	$Q$(CC) $(flags) $(room_$(word 2,$(subst /, ,$<))) -MMD -MP -c -o $@ $<

# The reference is what every mutant is judged by: strict arithmetic, whatever CFLAGS says but of names
# for debuggers.
kernels/%/reference.so: kernels/%/reference.c
	$(call say,REF     $@)
	$Q$(CC) -std=c11 -O3 -fPIC -shared -ffp-contract=off $(if $(WERROR),-Wall -Wextra -Werror) \
	    $(filter -g% -ffile-prefix-map=%,$(CFLAGS)) $(LDFLAGS) -o $@ $< -lm

# Rewritten only when the flags are others than last time; every object depends on it.
$O/flags: FORCE
	$Qmkdir -p $(@D)
	$Qecho '$(CC) $(flags)' | cmp -s - $@ || echo '$(CC) $(flags)' > $@

# --- tests
$O/tests/%: tests/c/%.c $O/libgilua.a $O/flags
	$(call say,TEST    $@)
	$Qmkdir -p $(@D)
	$Q$(CC) $(flags) -MMD -MP -MF $@.d -MT $@ $(link) -o $@ $< $(filter %.o,$^) $O/libgilua.a \
	    $(lua_lib) $(libs) $(unpack) $(system)

# What a compiler says of every source before it makes code of it: nothing is built.
warnings:
	$Qprintf '%s\n' $(sources) $(wildcard tests/c/*.c tests/fuzz/*.c) | \
	    xargs -P $$(nproc) -n 8 $(CC) $(flags) -fsyntax-only

# A driver without a GPU, for tests that name it in GILUA_CUDA.
$O/tests/libcuda_fake.so: tests/c/fake_cuda.c tests/c/fake_cubin.h $O/libgilua.a $O/flags
	$(call say,TEST    $@)
	$Qmkdir -p $(@D)
	$Q$(CC) $(flags) -fPIC -shared -MMD -MP -MF $@.d -MT $@ $(link) -o $@ $< $O/libgilua.a \
	    $(lua_lib) $(libs) $(unpack) $(system) -Wl,--exclude-libs,ALL

# CUPTI without a GPU: loaded before a program that uses the driver.
$O/tests/libcupti_fake.so: tests/c/fake_cupti.c tests/c/fake_cubin.h $O/flags
	$(call say,TEST    $@)
	$Qmkdir -p $(@D)
	$Q$(CC) $(flags) -fPIC -shared -o $@ $< -ldl

# NVML without a GPU, for tests that name it in GILUA_NVML.
$O/tests/libnvml_fake.so: tests/c/fake_nvml.c $O/flags
	$(call say,TEST    $@)
	$Qmkdir -p $(@D)
	$Q$(CC) $(flags) -fPIC -shared -o $@ $<

$O/tests/runtime_fatbin: $O/obj/runtime/fatbin.o
$O/tests/runtime_used: $O/obj/runtime/used.o

# --- fuzzing: one program a target of tests/fuzz; those in Lua are $O/gilua's
fuzzers := $(patsubst tests/fuzz/%.c,$O/fuzz/%,$(wildcard tests/fuzz/*_*.c))

$O/fuzz/%: tests/fuzz/%.c tests/fuzz/driver.c $(wildcard tests/fuzz/*.h) $O/libgilua.a $O/flags
	$(call say,FUZZ    $@)
	$Qmkdir -p $(@D)
	$Q$(CC) $(flags) $(link) -o $@ $< tests/fuzz/driver.c $(filter %change.c %.o,$^) $O/libgilua.a \
	    $(lua_lib) $(libs) $(unpack) $(system)

$O/fuzz/runtime_fatbin $O/fuzz/inject_fat $O/fuzz/inject_code: $O/obj/runtime/fatbin.o
$O/fuzz/inject_code: $O/obj/runtime/map.o
$O/fuzz/emu_launch $O/fuzz/emu_engines $O/fuzz/emu_link: tests/fuzz/ptxchange.c

# All PTX that tests load, as seeds: linked again with an emu_load that keeps its text.
keepers := $(patsubst %,$O/fuzz/keep/emu_%,alloc async core_barrier core_cost core_flow core_memory \
           core_names core_variants core_weigh diverge faults forms fp8 instructions_atomic \
           instructions_control instructions_convert instructions_float instructions_half \
           instructions_int instructions_memory instructions_texture instructions_warp matrix \
           matrix_faults matrix_group mbarrier modules surface threads turns warps)

$O/fuzz/keep/%: tests/c/%.c tests/fuzz/keep.c $O/libgilua.a $O/flags
	$Qmkdir -p $(@D)
	$Q$(CC) $(flags) -Wl,--wrap=emu_load $(link) -o $@ $< tests/fuzz/keep.c $O/libgilua.a \
	    $(lua_lib) $(libs) $(unpack) $(system)

$O/fuzz/ptx: $(keepers)
	$(call say,PTX     $@)
	$Qrm -rf $@ && mkdir -p $@
	$Qfor test in $^; do PTX_FOLDER=$(abspath $@) $(sanitized) $$test >/dev/null 2>&1 || true; done

tests: all $(c_tests) $(fuzzers) $O/tests/libcuda_fake.so $O/tests/libcupti_fake.so $O/tests/libnvml_fake.so

# Under sanitizers the tests leave out what asks about results and not about memory, and say so: see
# GILUA_SANITIZED in tests/*/tap.*. Thread-local variables of libraries loaded late are not looked
# through: LeakSanitizer misjudges where NVRTC's begin, and crashes now here, now there.
sanitized  := $(if $(SANITIZE),GILUA_SANITIZED=1 UBSAN_OPTIONS=print_stacktrace=1 \
              ASAN_OPTIONS=abort_on_error=0:intercept_tls_get_addr=0 \
              LSAN_OPTIONS=suppressions=$(CURDIR)/.ci/not-ours.supp:print_suppressions=0)

# In two steps: the first may install what the second looks for. One test more than there are
# processors, for many wait for something.
test: deps-test
	$Q$(MAKE) --no-print-directory $(jobs) tests
	$Qrm -rf build/failed build/seconds
	$Q$(if $(left_out),echo "# $(words $(left_out)) of $(words $(in_turn)) scripts have their turn under sanitizers in other commits")
	$QCC="$(CC)" FUZZERS="$(CURDIR)/$O/fuzz" FAKE_CUDA="$(CURDIR)/$O/tests/libcuda_fake.so" \
	    FAKE_CUPTI="$(CURDIR)/$O/tests/libcupti_fake.so" \
	    FAKE_NVML="$(CURDIR)/$O/tests/libnvml_fake.so" $(sanitized) \
	    prove -j $$(($$(nproc) + 1)) -e tests/run $(PROVEFLAGS) $(filter-out $(left_out),$(slowest)) \
	    $(sort $(filter-out %_speed $(slowest) $(left_out),$(c_tests) $(scripts))); \
	    status=$$?; tests/dearest; exit $$status

left-out:
	@echo $(left_out)

# Which lines of C each test reaches, and which scripts `in_turn` may hold: an hour of a processor. gcc alone
# can tell.
REACH := $(CURDIR)/$(BUILD)/reach
reach: deps-test
	$Qrm -rf $(REACH)/reached && mkdir -p $(REACH)/reached
	$Qgcc -O2 $(warnings) -fPIC -c -o $(REACH)/hook.o tests/reach/hook.c
	$QREACHED=$(REACH)/reached GILUA_SANITIZED=1 $(MAKE) --no-print-directory test BUILD=$(REACH) CC=gcc \
	    O=$(REACH) CFLAGS="-O1 -g1" room_emu= room_array= CPPFLAGS=-fsanitize-coverage=trace-pc \
	    link="-pthread $(REACH)/hook.o"
	$Qpython3 tests/reach/list.py $(REACH) $(REACH)/reached build/seconds

# Both commands of the README in a bare Debian, as root; QUICK=1 is what .ci/run asks of a change.
fresh-test:
	$Q.ci/fresh $(if $(QUICK),quick)

# The stories that need a GPU (tests/gpu/README.md); also runs in the portable folder, without make.
gpu-test: all
	$Q./tests/gpu/run ./gilua

# Every path to a missing piece of memory, every write without room (see CONTRIBUTING.md).
faults: deps-test
	$Q$(MAKE) --no-print-directory all
	$QEVERY=1 prove -v -e tests/run $(PROVEFLAGS) tests/cli/full_disk.t tests/cli/short_reads.t \
	    tests/cli/no_memory.t

# A search killed a hundred times and ended fifty times, every command interrupted twenty times: two
# hours or less (see CONTRIBUTING.md).
kills: deps-test
	$Q$(MAKE) --no-print-directory all
	$QMOMENTS=20 prove -v -e tests/run $(PROVEFLAGS) tests/kills/kills.t tests/cli/moments.t

# Three nodes under Slurm, in network namespaces: as root, on Debian (see CONTRIBUTING.md).
cluster-test: all
	$Qtests/cluster/slurm.sh

cluster-deps: deps-test
	$Qapt-get install -y --no-install-recommends slurmctld slurmd slurm-client munge iproute2

# Every reader, the virtual GPU, the archive and the farm's sockets, fed with what nobody writes; under
# sanitizers unless SANITIZE says otherwise.
TARGET ?= all
fuzz: deps
	$Q$(MAKE) --no-print-directory fuzzing \
	    SANITIZE=$(if $(filter file,$(origin SANITIZE)),address$(comma)undefined,$(SANITIZE))

# One target is built alone, and PTX of the tests for those that take it.
wanted = $(if $(filter all,$(TARGET)),$(fuzzers),$(filter %/$(TARGET),$(fuzzers)))
fuzzing: $O/gilua $(wanted) $(references) $(if $(filter %/emu_launch %/emu_engines,$(wanted)),$O/fuzz/ptx)
	$Q$(sanitized) tests/fuzz/run $O "$(SECONDS)" $(TARGET) $(SEED)

# The adequacy scores of the READMEs of kernels/, every one.
scores: deps
	$Q$(MAKE) --no-print-directory all
	$QGILUA_SCORES=all ./gilua tests/lua/scores.lua

# One-line changes of our own sources: a test should notice each (tests/mutants/judge.lua).
mutants: deps-test
	$Q$(MAKE) --no-print-directory all
	$Q./gilua tests/mutants/run.lua $(FILE) --count $(or $(N),20) --seed $(or $(SEED),1)

bench: deps-test
	$Q$(MAKE) --no-print-directory tests
	$Q$O/tests/emu_speed
	$Q$O/tests/emu_ops_speed
	$Q$O/tests/emu_matrix_speed
	$Q./gilua tests/bench.lua
	$Q./gilua tests/bench_kernels.lua
	$Q./gilua tests/archive_share.lua
	$Qtests/cluster/bench

# --- for people
deps:
	$Q.ci/deps

deps-test:
	$Q.ci/deps test

deps-dev:
	$Q.ci/deps dev

demo: deps
	$Q$(MAKE) --no-print-directory $(jobs) all
	$Q./gilua experiments/quickstart.lua

share := lua experiments kernels data docs

portable: all
	$(call say,PACK    portable/$(PACKAGE))
	$QARCHIVES="$(archives)" ./.ci/portable $O/gilua $O/libcudart.so.13 portable/$(PACKAGE) $(share)

# Every package, from what git tracks (.ci/packages/README.md).
release:
	$Q./.ci/packages/release $(VERSION) build/release

# Two releases in two folders compared, every package installed on a bare Debian, aarch64 under qemu: an
# hour, as root.
package-test:
	$Qprove -v -e bash $(PROVEFLAGS) tests/packages/release.t tests/packages/aarch64.t

# The pages that are written from the code.
docs: all
	$Q./gilua docs/generate.lua
	$Q./gilua docs/commands.lua

# The manual as a site, with a search that needs no network.
site: all
	$Q./gilua docs/site/generate.lua build/site

# What a release promises: its public names stay.
names: all
	$Q./gilua docs/generate.lua docs/api.md tests/data/names.txt

# What the shell and man look for outside share/gilua: FILE=PLACE below the prefix.
completion := docs/gilua.bash-completion=share/bash-completion/completions/gilua \
              docs/_gilua=share/zsh/site-functions/_gilua docs/gilua.1=share/man/man1/gilua.1 \
              docs/gilua.fish=share/fish/vendor_completions.d/gilua.fish

install: all
	$Q./.ci/install "$(DESTDIR)$(PREFIX)" $O/gilua $O/libcudart.so.13 $(share)
	$Q$(foreach f,$(completion),install -D -m 644 $(subst =, "$(DESTDIR)$(PREFIX)"/,$f) &&) true

uninstall:
	rm -f "$(DESTDIR)$(PREFIX)/bin/gilua"
	rm -rf "$(DESTDIR)$(PREFIX)/share/gilua" "$(DESTDIR)$(PREFIX)/lib/gilua"
	$(foreach f,$(completion),rm -f "$(DESTDIR)$(PREFIX)"/$(lastword $(subst =, ,$f));)

clean:
	rm -rf $(BUILD) gilua lib portable $(references)

help:
	@echo "make            build ./gilua, lib/ (the CUDA library of gilua run), the kernels' CPU references"
	@echo "make deps       install what building and the demo need (apt; NVRTC into deps/ if there is no CUDA)"
	@echo "make deps-test  and what the tests need (a NATS server into deps/, without its service)"
	@echo "make deps-dev   and what .ci/run needs (clang and LLVM, luacheck, Chromium, pandas, debootstrap)"
	@echo "make demo       deps, build, then evolve a kernel: experiments/quickstart.lua"
	@echo "make test       deps-test, build, then every test that needs no GPU"
	@echo "make fresh-test demo and test on a bare Debian (SUITE=bookworm), as root: what is installed, what fails;"
	@echo "                QUICK=1 is some of it, in minutes"
	@echo "make gpu-test   the stories of tests/gpu, on a machine with a GPU"
	@echo "make bench      deps-test, build, then the measured figures"
	@echo "make faults     no memory by every path to it, no room at every write: an hour or two"
	@echo "make kills      a search killed a hundred times, and ended fifty times, every command interrupted"
	@echo "                twenty times: is anything lost?"
	@echo "make cluster-test  three nodes under Slurm (make cluster-deps), as root: are results one machine's?"
	@echo "make fuzz       every reader, the archive, the farm's sockets, for a minute each, changed PTX for ten,"
	@echo "                under sanitizers; SECONDS=N for another time,"
	@echo "                TARGET=NAME is one, SEED=N the same inputs again"
	@echo "make reach      which lines of C does each test reach, which scripts may wait for their turn under sanitizers?"
	@echo "make mutants FILE=src/emu/check/order.c  does a test notice each of 20 one-line changes of the file?"
	@echo "                N=100 tries more, SEED=N others; tests/mutants/covers.lua says which tests"
	@echo "make scores     are the data of kernels/ as good as their READMEs say?"
	@echo "make docs       write docs/api.md, the man page and the completions from the code"
	@echo "make site       build/site/: README.md, docs/ and kernels/ as pages, with a search"
	@echo "make names      add its new names to those that stay (tests/data/names.txt)"
	@echo "make portable   portable/$(PACKAGE)/, to copy to another machine"
	@echo "make release    build/release/: .deb, wheel, rock, recipes for containers and conda; package-test tries them"
	@echo "make install    to PREFIX ($(PREFIX)) below DESTDIR, with man page and completions; uninstall undoes"
	@echo "make clean      remove all that was built (deps/ stays)"
	@echo
	@echo "CC=clang        another compiler            CFLAGS=\"-O2 -g\"  other flags"
	@echo "SANITIZE=address,undefined                 with sanitizers, in a folder of its own"
	@echo "WERROR=1        a warning is an error       V=1              show the commands"
	@echo "EDIT=           a prompt without line editing: no libedit in the program"
	@echo "SHARED=1        with the system's shared libraries, not their archives"
	@echo "BUILD=DIR       another folder for objects  PROVEFLAGS=-v    options for prove"

-include $(objects:.o=.d) $(c_tests:=.d)
