"""build.py PORTABLE DIR - gilua's wheel, in DIR, of the folder that `make portable` made.

The folder becomes the Python package gilua (wheels hold no links, so the names of the CUDA library are
copies), the modules of docs/python the packages gilua and gilua_reader; what man and the shells look for goes below
the environment's share/. Only Python's standard library is needed.
"""
import base64
import hashlib
import os
import re
import subprocess
import sys
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import zip as plain_zip  # noqa: E402  (.ci/packages/zip.py)

SHARE = {
    "docs/gilua.1": "share/man/man1/gilua.1",
    "docs/gilua.bash-completion": "share/bash-completion/completions/gilua",
    "docs/_gilua": "share/zsh/site-functions/_gilua",
    "docs/gilua.fish": "share/fish/vendor_completions.d/gilua.fish",
}


def read(*parts):
    with open(os.path.join(*parts), "rb") as file:
        return file.read()


def files_below(folder):
    for where, folders, names in os.walk(folder, followlinks=False):
        folders.sort()
        for name in sorted(names):
            yield os.path.relpath(os.path.join(where, name), folder)


def platform_of(folder):
    """The tag's platform: the newest glibc that the programs ask for, and their processor."""
    newest, machine = 17, None
    libraries = sorted(name for name in os.listdir(os.path.join(folder, "lib")) if name.startswith("libcu"))
    for name in ["gilua", "lib/libgilua_inject.so"] + ["lib/" + name for name in libraries]:
        path = os.path.join(folder, name)
        symbols = subprocess.run(["objdump", "-T", path], check=True, capture_output=True, text=True).stdout
        newest = max([newest] + [int(n) for n in re.findall(r"GLIBC_2\.(\d+)", symbols)])
        machine = {62: "x86_64", 183: "aarch64"}[int.from_bytes(read(path)[18:20], "little")]
    return "manylinux_2_%d_%s" % (newest, machine)


def contents(folder, version):
    """name -> (bytes, executable)"""
    found = {}
    data = "gilua-%s.data/data/" % version
    for name in files_below(folder):
        path = os.path.join(folder, name)
        if name in SHARE:
            found[data + SHARE[name]] = (read(path), False)
        elif name.startswith(("docs/python/gilua/", "docs/python/gilua_reader/")):
            found[name[len("docs/python/"):]] = (read(path), False)
        elif not name.startswith("docs/python/"):
            found["gilua/" + name] = (read(path), os.access(path, os.X_OK) and not name.startswith("lib/"))
    found["gilua/__main__.py"] = (read(HERE, "__main__.py"), False)
    return found


def metadata(folder, version):
    text = read(HERE, "METADATA").decode().replace("@VERSION@", version)
    licences = ["LICENSE"] + ["licences/" + name for name in files_below(os.path.join(folder, "licences"))]
    lines = "".join("License-File: %s\n" % name for name in licences)
    return (text.replace("@LICENCES@\n", lines).encode(),
            {"licenses/" + name: (read(folder, name), False) for name in licences})


def record_line(name, data):
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return "%s,sha256=%s,%d\n" % (name, digest, len(data))


def main(folder, to):
    version = re.match(r"gilua-([^-]+)-", os.path.basename(folder)).group(1)
    platform = platform_of(folder)
    info = "gilua-%s.dist-info/" % version
    found = contents(folder, version)
    about, licences = metadata(folder, version)
    found.update({info + name: file for name, file in licences.items()})
    found[info + "METADATA"] = (about, False)
    found[info + "WHEEL"] = (("Wheel-Version: 1.0\nGenerator: gilua %s\nRoot-Is-Purelib: false\n"
                              "Tag: py3-none-%s\n" % (version, platform)).encode(), False)
    found[info + "entry_points.txt"] = (b"[console_scripts]\ngilua = gilua.__main__:main\n", False)
    record = "".join(record_line(name, data) for name, (data, _) in sorted(found.items()))
    path = os.path.join(to, "gilua-%s-py3-none-%s.whl" % (version, platform))
    with zipfile.ZipFile(path, "w") as wheel:
        for name, (data, executable) in sorted(found.items()):
            plain_zip.add(wheel, name, data, executable)
        plain_zip.add(wheel, info + "RECORD", (record + info + "RECORD,,\n").encode())


if __name__ == "__main__":
    main(*sys.argv[1:])
