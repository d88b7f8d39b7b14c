-- LuaRocks: builds gilua with its Makefile. The program has Lua and its C modules linked in; what the
-- rock brings is the command `gilua`.
rockspec_format = "3.0"
package = "gilua"
version = "@VERSION@-1"
source = { url = "gilua-@VERSION@.tar.gz" }
description = {
  summary = "Genetic improvement of CUDA kernels, with Lua",
  detailed = "A laboratory for the genetic improvement of CUDA kernels: line and parameter edits, "
    .. "a virtual GPU, evaluation that no mutant can fool; experiments are Lua scripts.",
  license = "MIT",
}
supported_platforms = { "linux" }
dependencies = { "lua ~> 5.4" }
external_dependencies = {
  ZLIB = { header = "zlib.h" }, PNG = { header = "png.h" },
  SECCOMP = { header = "seccomp.h" }, SQLITE = { header = "sqlite3.h" },
  ZSTD = { header = "zstd.h" }, LZ4 = { header = "lz4.h" }, XXHASH = { header = "xxhash.h" },
  NIFTI = { header = "nifti/nifti2_io.h" },
}
deploy = { wrap_bin_scripts = false } -- the command is no Lua script
build = {
  type = "command",
  build_command = "make",
  install_command = [[make install PREFIX="$(PREFIX)/gilua" && mkdir -p "$(BINDIR)" &&
    printf '#!/bin/sh\nexec "%s/gilua/bin/gilua" "$@"\n' "$(PREFIX)" >"$(BINDIR)/gilua" &&
    chmod 755 "$(BINDIR)/gilua"]],
}
