"""list.py BUILD REACHED SECONDS - which scripts may wait for their turn under sanitizers: `make reach`.

BUILD has the programs with their lines, REACHED what hook.c wrote, SECONDS what tests/run noted. The dearest
script is looked at first. It waits if it reaches at most MOST_ALONE lines of C that no other test reaches, of
those that do not wait. C programs never wait, nor do scripts that give bad input, let something fail or look
after the box (STAYS): there the data matter, and not the line alone. Prints the scripts, the lines that are
then reached by none, and the dearest tests with the number of lines that each alone reaches.
"""
import os
import re
import subprocess
import sys

MOST_ALONE = 4
LEAST_S = 3.0  # a cheaper script does not wait
STAYS = re.compile(r"hostile|odd_|reader|corpus|wrong|bombs|killed|interrupt|moments|no_memory|full_disk|short_reads|"
                   r"compiler_fails|box|left_behind|resume|outside|mistakes|errors|verifier|watch|checks|^run\.t|"
                   r"inject|nomemory|core_|traps|growth|kept|funnel")


def reached(path):
    """The places in a file of hook.c, without its holes."""
    fd = os.open(path, os.O_RDONLY)
    at, places = 0, []
    while True:
        try:
            at = os.lseek(fd, at, os.SEEK_DATA)
        except OSError:
            break
        end = os.lseek(fd, at, os.SEEK_HOLE)
        places.extend(at + m.start() for m in re.finditer(b"\1", os.pread(fd, end - at, at)))
        at = end
    os.close(fd)
    return places


def lines_of(program, places):
    """file:line of each place: the call stands before the address that it returns to."""
    asked = "\n".join(hex(place - 1) for place in places)
    said = subprocess.run(["addr2line", "-e", program], input=asked, capture_output=True, text=True, check=True).stdout
    found = (re.search(r"(src/\S+:\d+)", line) for line in said.splitlines())
    return {place: line.group(1) for place, line in zip(places, found) if line}


def read(build, folder):
    """Lines of src that each test reached."""
    places = {test: {name: reached(f"{folder}/{test}/{name}") for name in os.listdir(f"{folder}/{test}")}
              for test in sorted(os.listdir(folder))}
    lines = {}
    for name in sorted({name for of in places.values() for name in of}):
        program = next((p for p in (f"{build}/{name}", f"{build}/tests/{name}", f"{build}/fuzz/{name}")
                        if os.path.exists(p)), None)
        if program:
            lines[name] = lines_of(program, sorted({p for of in places.values() for p in of.get(name, [])}))
    return {test: {lines[name][p] for name in of if name in lines for p in of[name] if p in lines[name]}
            for test, of in places.items()}


def waiting(tests, seconds):
    """The scripts that wait, the dearest first, and the lines that are reached by none then."""
    times = {}
    for lines in tests.values():
        for line in lines:
            times[line] = times.get(line, 0) + 1
    out, lost = [], set()
    for test in sorted(tests, key=lambda name: -seconds.get(name, 0)):
        alone = {line for line in tests[test] if times[line] == 1}
        is_dear = test.endswith((".t", ".lua")) and seconds.get(test, 0) >= LEAST_S
        if is_dear and len(alone) <= MOST_ALONE and not STAYS.search(test):
            out.append(test)
            lost |= alone
            for line in tests[test]:
                times[line] -= 1
    return out, lost


def main(build, folder, spent):
    seconds = {}
    for name in os.listdir(spent):
        with open(f"{spent}/{name}", encoding="utf-8") as file:
            seconds[name] = float(file.read().split()[0])
    tests = read(build, folder)
    out, lost = waiting(tests, seconds)
    print(" ".join(sorted(("cli/" if name.endswith(".t") else "lua/") + name for name in out)))
    print(f"# {len(out)} scripts, {sum(seconds[name] for name in out):.0f} of {sum(seconds.values()):.0f} s; "
          f"{len(lost)} of {len(set().union(*tests.values()))} lines: {' '.join(sorted(lost))}")
    for name in sorted(tests, key=lambda name: -seconds.get(name, 0))[:60]:
        others = set().union(*(tests[test] for test in tests if test != name))
        print(f"# {seconds.get(name, 0):7.2f} s  {len(tests[name] - others):5} lines alone  {name}"
              f"{'  waits' if name in out else ''}")


main(*sys.argv[1:])
