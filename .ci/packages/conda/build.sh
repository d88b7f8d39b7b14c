#!/bin/bash
# The portable folder, as `make install` lays it out.
set -e
mkdir -p "$PREFIX/bin" "$PREFIX/lib/gilua" "$PREFIX/share/gilua"
cp gilua "$PREFIX/bin/gilua"
cp -P lib/* "$PREFIX/lib/gilua/"
cp -r lua experiments kernels data docs licences LICENSE "$PREFIX/share/gilua/"
while read -r from to; do
    mkdir -p "$PREFIX/share/${to%/*}"
    cp "docs/$from" "$PREFIX/share/$to"
done <<'EOT'
gilua.1 man/man1/gilua.1
gilua.bash-completion bash-completion/completions/gilua
_gilua zsh/site-functions/_gilua
gilua.fish fish/vendor_completions.d/gilua.fish
EOT
