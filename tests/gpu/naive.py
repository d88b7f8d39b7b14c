#!/usr/bin/env python3
"""naive.py - kernels as people write them first, by default `gilua evolve`, beside PyTorch in the same sitting.

  naive.py --gilua GILUA [--out FOLDER] [--gpus N] [--jobs N] [--minutes M] [--bound S] [--device cuda|emu]
           [--reuse FOLDER] [NAME...]

Each program of naive/ is one operation at one size. `gilua new` makes its problem, all of them at once; meanwhile a
process for each GPU times PyTorch's own kernels of the operations, eager and compiled (fp32, no tf32; one call as a
CUDA graph, the median of 60). Then each GPU evolves one kernel after another, each in at most M minutes of the clock;
none is begun after --bound seconds. NAME...: those alone, in this order. --reuse: problems and PyTorch's times of an
earlier --out. With --device emu there is no GPU: nothing is compared.

It prints a row a kernel when it is done, and in the end the table again and its sums: how many are at least as fast
as eager and as compiled (within 1 %), the geometric mean over eager, how many winners are MARKED. In --out: the rows
as naive.json, each problem NAME and its run NAME.run. Python's standard library and PyTorch are needed.
"""
import argparse, concurrent.futures, glob, json, math, os, queue, re, subprocess, sys, threading, time

HERE = os.path.dirname(os.path.abspath(__file__))
EQUAL = 1.01  # times as long is as fast
SLOW = "matmul matmul_tb matmul_ta bmm matmul_tril attention attention_causal conv2d conv_dilated conv3d " \
       "conv_transposed conv1d".split()  # these first: they take the time that they are given


def options():
    o = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    o.add_argument("--gilua", required=True)
    o.add_argument("--out", default="out/naive")
    o.add_argument("--gpus", type=int, default=1)
    o.add_argument("--jobs", type=int, default=16)
    o.add_argument("--minutes", type=float, default=0.8)
    o.add_argument("--bound", type=float, default=420)
    o.add_argument("--device", choices=("cuda", "emu"), default="cuda")
    o.add_argument("--reuse")
    o.add_argument("--operations", action="store_true", help=argparse.SUPPRESS)  # this process times PyTorch
    o.add_argument("name", nargs="*")
    return o.parse_args()


# ---- PyTorch ---------------------------------------------------------------------------------------------------------

def operations(torch):
    """The operation of each program at its size, by name; each makes its arrays when it is called."""
    F = torch.nn.functional

    def r(*size):
        return torch.rand(*size, device="cuda") * 2 - 1

    def n(high, *size):
        return torch.randint(0, high, size, device="cuda")

    def of(f, *args):
        return lambda: f(*args)

    def rows(f, count=4096, cols=1024):
        return of(f, r(count, cols))

    def image(f, x, w, **options):
        return lambda: of(lambda x, w: f(x, w, **options), r(*x), r(*w))

    return {
        "softmax": lambda: rows(lambda x: torch.softmax(x, 1)),
        "log_softmax": lambda: rows(lambda x: torch.log_softmax(x, 1)),
        "layernorm": lambda: of(lambda x, g, b: F.layer_norm(x, (1024,), g, b), r(4096, 1024), r(1024), r(1024)),
        "rmsnorm": lambda: of(lambda x, g: F.rms_norm(x, (1024,), g, 1e-5), r(4096, 1024), r(1024)),
        "l1norm": lambda: rows(lambda x: F.normalize(x, p=1.0, dim=1)),
        "l2norm": lambda: rows(lambda x: F.normalize(x, p=2.0, dim=1)),
        "frobenius": lambda: rows(lambda x: x / torch.linalg.vector_norm(x, dim=1, keepdim=True), 1024, 4096),
        "instancenorm": lambda: of(F.instance_norm, r(16, 64, 64, 64)),
        "batchnorm": lambda: of(lambda x, g, b: F.batch_norm(x, None, None, g, b, True), r(32, 256, 14, 14), r(256),
                                r(256)),
        "groupnorm": lambda: of(lambda x, g, b: F.group_norm(x, 8, g, b), r(32, 64, 28, 28), r(64), r(64)),
        "argmax": lambda: rows(lambda x: torch.argmax(x, 1)),
        "topk": lambda: rows(lambda x: torch.topk(x, 8, dim=1).values),
        "cross_entropy": lambda: of(lambda x, t: F.cross_entropy(x, t, reduction="none"), r(4096, 1024), n(1024, 4096)),
        "cumsum": lambda: rows(lambda x: torch.cumsum(x, 1), 2048),
        "cumsum_reverse": lambda: rows(lambda x: torch.flip(torch.cumsum(torch.flip(x, (1,)), 1), (1,)), 2048),
        "cumsum_exclusive": lambda: rows(lambda x: torch.cumsum(x, 1) - x, 2048),
        "cumsum_masked": lambda: of(lambda x, m: torch.cumsum(x * m, 1), r(2048, 1024), n(2, 2048, 1024).bool()),
        "sum_dim": lambda: of(lambda x: x.sum(1), r(16, 1024, 256)),
        "mse": lambda: of(F.mse_loss, r(1 << 20), r(1 << 20)),
        "gelu": lambda: of(F.gelu, r(1 << 22)),
        "maxpool": lambda: of(lambda x: F.max_pool2d(x, 2), r(64, 1, 256, 256)),
        "avgpool": lambda: of(lambda x: F.avg_pool2d(x, 4), r(64, 1, 256, 256)),
        "transpose": lambda: of(lambda x: x.T.contiguous(), r(2048, 2048)),
        "matvec": lambda: of(torch.mv, r(2048, 4096), r(4096)),
        "matmul": lambda: of(torch.mm, r(1024, 1024), r(1024, 1024)),
        "matmul_tb": lambda: of(lambda a, b: a @ b.T, r(1024, 1024), r(1024, 1024)),
        "matmul_ta": lambda: of(lambda a, b: a.T @ b, r(1024, 1024), r(1024, 1024)),
        "matmul_tril": lambda: of(lambda a, b: torch.tril(a @ b), r(1024, 1024).tril(), r(1024, 1024).tril()),
        "matmul_diag": lambda: of(lambda d, x: d[:, None] * x, r(4096), r(4096, 1024)),
        "bmm": lambda: of(torch.bmm, r(64, 256, 256), r(64, 256, 256)),
        "conv1d": image(F.conv1d, (16, 24, 1026), (64, 24, 3)),
        "conv2d": image(F.conv2d, (1, 16, 130, 130), (32, 16, 3, 3)),
        "conv3d": image(F.conv3d, (1, 8, 34, 34, 34), (16, 8, 3, 3, 3)),
        "conv_depthwise": image(F.conv2d, (4, 64, 130, 130), (64, 1, 3, 3), groups=64),
        "conv_transposed": image(F.conv_transpose2d, (1, 16, 64, 64), (16, 32, 3, 3), stride=2),
        "conv_dilated": image(F.conv2d, (1, 16, 132, 132), (32, 16, 3, 3), dilation=2),
        "attention": lambda: of(F.scaled_dot_product_attention, *(r(1, 16, 512, 64) for _ in range(3))),
        "attention_causal": lambda: of(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
                                       *(r(1, 16, 512, 64) for _ in range(3))),
        "embedding": lambda: of(F.embedding, n(16384, 8192), r(16384, 512)),
        "scatter_add": lambda: of(lambda t, i, x: t.index_add(0, i, x), torch.zeros(2048, 256, device="cuda"),
                                  n(2048, 8192), r(8192, 256)),
    }


def timed(torch, f):
    """Microseconds of a call."""
    for _ in range(3):
        f()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        f()
    for _ in range(5):
        graph.replay()
    list_us = []
    for _ in range(60):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda._sleep(1000000)  # the GPU waits until all is there, however busy the processor is
        begin.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        list_us.append(begin.elapsed_time(end) * 1000)
    return sorted(list_us)[30]


def time_operations(names):
    """A line of JSON for each name: microseconds, eager and compiled."""
    import torch
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    made = operations(torch)
    for name in names:
        row = {"name": name}
        for way in ("eager", "compiled"):
            try:
                f = made[name]()
                torch._dynamo.reset()
                row[way] = timed(torch, torch.compile(f) if way == "compiled" else f)
            except Exception as e:  # a row says so
                row[way + "_failed"] = str(e).split("\n")[0][:200]
        print(json.dumps(row), flush=True)


# ---- gilua -----------------------------------------------------------------------------------------------------------

def run(command, limit, gpu=None):
    """Its text, its status and its seconds; it is interrupted where it takes longer."""
    env = dict(os.environ, **({} if gpu is None else {"CUDA_VISIBLE_DEVICES": str(gpu)}))
    began = time.time()
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env)
    try:
        said = child.communicate(timeout=limit)[0]
    except subprocess.TimeoutExpired:
        child.terminate()
        said = child.communicate()[0] + "\nended after %d s" % limit
    return said, child.returncode, time.time() - began


def new(o, name):
    """Makes a problem; why there is none, or None."""
    folder = os.path.join(o.out, name)
    if o.reuse:
        folder = os.path.join(o.reuse, name)
        return None if os.path.exists(folder + "/problem.lua") else "no problem in " + o.reuse
    said, status, _ = run([o.gilua, "new", "--guess", "%s/naive/%s.cu" % (HERE, name), folder], 240)
    if status == 0:
        return None
    return "new: " + said.strip().split("\n")[-1]


def evolved(o, name, gpu):
    """The row of a kernel."""
    problem, out = os.path.join(o.reuse or o.out, name), os.path.join(o.out, name + ".run")
    said, _, seconds = run([o.gilua, "evolve", problem, "--device", o.device, "--minutes", str(o.minutes), "--jobs",
                            str(o.jobs), "--out", out, "--fresh", "--weak-data"], 90 * o.minutes + 30, gpu)
    with open(out + ".txt", "w") as f:
        f.write(said)
    row = {"name": name, "seconds": round(seconds), "marked": "MARKED" in said}
    try:
        with open(out + "/result.json") as f:
            result = json.load(f)
        best, before = result["best"], result["baseline"]
        row.update(before=(before.get("ns") or before["ticks"]) / 1000, us=(best.get("ns") or best["ticks"]) / 1000,
                   genome=best.get("genome", ""))
    except (OSError, KeyError, ValueError, AttributeError):
        row["failed"] = "evolve: " + said.strip().split("\n")[-1]
    row["cut"] = "\nended after" in said
    count = re.search(r"(\d+) evaluations", said)
    row["evaluations"] = int(count.group(1)) if count else None
    return row


def text_of(row):
    def us(key):
        return "%9.2f" % row[key] if row.get(key) else "        -"
    said = "%-17s %s %s %s %s" % (row["name"], us("before"), us("us"), us("eager"), us("compiled"))
    if row.get("us") and row.get("eager"):
        said += "  %6.2f" % (row["eager"] / row["us"])
    notes = "MARKED " * bool(row.get("marked")) + "cut " * bool(row.get("cut"))
    return said + "  %s%ss %s  %s" % (notes, row.get("seconds", "-"), row.get("evaluations", "-"),
                                      row.get("failed") or row.get("genome", ""))


def sums(rows):
    def as_fast(way):
        both = [r for r in rows if r.get("us") and r.get(way)]
        return "%d of %d" % (sum(r["us"] <= EQUAL * r[way] for r in both), len(both))
    ratios = [math.log(r["eager"] / r["us"]) for r in rows if r.get("us") and r.get("eager")]
    mean = math.exp(sum(ratios) / len(ratios)) if ratios else float("nan")
    print("as fast as eager: %s; as compiled: %s; geometric mean over eager: %.3f; MARKED: %d" %
          (as_fast("eager"), as_fast("compiled"), mean, sum(bool(r.get("marked")) for r in rows)))


def torch_rows(o, names):
    """Starts a process for each GPU; a function that waits for their rows, by name."""
    if o.device == "emu":
        return lambda: {}
    if o.reuse:
        with open(o.reuse + "/naive.json") as f:
            known = {row["name"]: {k: row[k] for k in ("eager", "compiled") if k in row} for row in json.load(f)}
        return lambda: known
    children = []
    for gpu in range(o.gpus):
        own = [sys.executable, os.path.abspath(__file__), "--operations", "--gilua", o.gilua] + names[gpu::o.gpus]
        children.append(subprocess.Popen(own, stdout=subprocess.PIPE, text=True,
                                         env=dict(os.environ, CUDA_VISIBLE_DEVICES=str(gpu))))

    def wait():
        lines = "".join(child.communicate()[0] for child in children)
        return {row["name"]: row for row in map(json.loads, lines.splitlines())}
    return wait


def main():
    o = options()
    every = sorted(os.path.basename(f)[:-3] for f in glob.glob(HERE + "/naive/*.cu"))
    names = o.name or sorted(every, key=lambda name: (name not in SLOW, name))
    unknown = [name for name in names if name not in every]
    if unknown:
        sys.exit("naive.py: there is no naive/%s.cu" % unknown[0])
    if o.operations:
        return time_operations(names)
    began, rows, lock, todo = time.time(), [], threading.Lock(), queue.Queue()
    os.makedirs(o.out, exist_ok=True)
    wait = torch_rows(o, names)
    with concurrent.futures.ThreadPoolExecutor(max(1, os.cpu_count() // 2)) as pool:
        why = dict(zip(names, pool.map(lambda name: new(o, name), names)))
    known = wait()
    print("problems and PyTorch's times: %.0f s" % (time.time() - began), flush=True)
    for name in names:
        todo.put(name)

    def work(gpu):
        while True:
            try:
                name = todo.get_nowait()
            except queue.Empty:
                return
            late = time.time() - began > o.bound and "not begun: --bound is over"
            row = {"name": name, "failed": why[name] or late} if why[name] or late else evolved(o, name, gpu)
            row.update({k: v for k, v in known.get(name, {}).items() if k != "name"})
            with lock:
                rows.append(row)
                print(text_of(row), flush=True)
                with open(o.out + "/naive.json", "w") as f:
                    json.dump(rows, f, indent=1)

    threads = [threading.Thread(target=work, args=(gpu,)) for gpu in range(o.gpus)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print("\n%-17s %9s %9s %9s %9s  %6s" % ("us", "written", "gilua", "eager", "compiled", "over"))
    for row in sorted(rows, key=lambda row: every.index(row["name"])):
        print(text_of(row))
    sums(rows)


main()
