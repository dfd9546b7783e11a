#!/usr/bin/python3
"""examples.py PROGRAMS SOURCES: the flows of functions/ as their READMEs say, on inputs whose results are known."""
import collections
import json
import os
import pathlib
import struct
import sys
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "fixtures"))
from gateway_process import gateway, wait_for  # noqa: E402 (found only after the line above)

PROGRAMS, FUNCTIONS = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve() / "functions"
GIB = 1 << 30
# The largest text, and beside it what else is data.
DATA_MEMORY = 2 * GIB + GIB // 2


def expect(what, found, wanted):
    if found != wanted:
        sys.exit(f"{what}: {found!r} and not {wanted!r}")


def deploy(site, *sources):
    for source in sources:
        module = site.folder / f"{pathlib.Path(source).stem}.orc"
        site.orchid("build", FUNCTIONS / source, "-o", module)
        site.orchid("deploy", module)


def run(site, document, *more, **inputs):
    """The outputs of a flow."""
    words = [word for name, value in inputs.items() for word in ("--input", f"{name}={value}")]
    done = site.orchid("flow", "run", FUNCTIONS / document, *words, *more, "--json")
    return json.loads(done.stdout)["outputs"]


def best_of_ten_thousand_runs(site):
    deploy(site, "sweep/sweep.cpp")
    drag, cost = run(site, "sweep/sweep.yaml", points=10_000, seen=60)["best"]
    # Runge and Kutta's method of the fourth order gives 0.00817 for this distance; 1e-5 lie between two runs.
    if not (0.00815 < drag < 0.00819 and cost < 0.1):
        sys.exit(f"the best of 10 000 runs has a drag of {drag}, and misses by {cost} m")


def centres_of_points(site):
    """What it finds is where no step moves anything: each centre is the middle of the points nearest to it."""
    deploy(site, "kmeans/kmeans.cpp")
    centres = run(site, "kmeans/kmeans.yaml", count=200_000, clusters=16, seed=7)["centres"]
    expect("clusters", len(centres), 16)
    if any(moved >= 1e-12 or not (-0.5 < x < 1.5 and -0.5 < y < 1.5) for x, y, moved in centres):
        sys.exit(f"these are no centres that stay where they are: {centres}")
    expect("the same again", run(site, "kmeans/kmeans.yaml", count=200_000, clusters=16, seed=7)["centres"], centres)


def words_of_a_file(site):
    deploy(site, "words/words.cpp")
    text = b" one two\ttwo three\nthree three  end" * 1000
    (site.folder / "text").write_bytes(text)
    site.orchid("data", "put", "text", site.folder / "text")
    counted = collections.Counter(text.decode().split())
    wanted = "".join(f"{word} {times}\n" for word, times in sorted(counted.items(), key=lambda one: (-one[1], one[0]))[:4])
    for pieces in (1, 7, 100_000):
        expect(f"words in {pieces} pieces", run(site, "words/words.yaml", text="text", pieces=pieces, most=4)["words"], wanted)


def words_of_two_gib(site):
    """The text is made where it is counted: no byte of it goes over the gateway."""
    made = site.folder / "text.yaml"
    made.write_text("flow: text\ninputs: {size: u64, most: u32}\nnodes: {text: {kind: call, function: words.text, takes: [size, most]}}\n"
                    "edges: [{from: size, to: text.size}, {from: most, to: text.most}]\noutputs: {text: text}\n")
    text = run(site, made, size=2 * GIB, most=5000)["text"]
    lines = run(site, "words/words.yaml", text=text, pieces=64, most=5000)["words"].splitlines()
    tables = [(word, int(times)) for word, times in (line.split() for line in lines)]
    size = sum((len(word) + 1) * times for word, times in tables)
    # The last word may be cut off, or have no space behind it.
    if not 2 * GIB - 16 <= size <= 2 * GIB + 16:
        sys.exit(f"the words and the spaces behind them are {size} bytes of {2 * GIB}")
    if tables[0][0] != "w0":
        sys.exit(f"the most frequent word of the text is w0, and not {tables[0]}")
    site.orchid("data", "delete", text)


def grey(width, height):
    return bytes((x * x + 3 * y * y + (x * y) // 7) // 16 % 256 for y in range(height) for x in range(width))


def sobel(width, height, pixels):
    def at(x, y):
        return pixels[min(max(y, 0), height - 1) * width + min(max(x, 0), width - 1)]

    def one(x, y):
        across = sum(weight * (at(x + 1, y + i) - at(x - 1, y + i)) for i, weight in ((-1, 1), (0, 2), (1, 1)))
        down = sum(weight * (at(x + i, y + 1) - at(x + i, y - 1)) for i, weight in ((-1, 1), (0, 2), (1, 1)))
        return min(255, int((across * across + down * down) ** 0.5))

    return bytes(one(x, y) for y in range(height) for x in range(width))


def pixels_of_png(file):
    """(width, height, pixels) of a grey PNG without filters; the checksums are looked at."""
    expect("a PNG's begin", file[:8], b"\x89PNG\r\n\x1a\n")
    at, content, size = 8, b"", None
    while at < len(file):
        length, kind = struct.unpack_from(">I4s", file, at)
        body = file[at + 8:at + 8 + length]
        expect(f"the checksum of {kind}", struct.unpack_from(">I", file, at + 8 + length)[0], zlib.crc32(kind + body))
        if kind == b"IHDR":
            size = struct.unpack_from(">II", body)
        elif kind == b"IDAT":
            content += body
        at += 12 + length
    rows = zlib.decompress(content)
    stride = size[0] + 1
    return (*size, b"".join(rows[y * stride + 1:(y + 1) * stride] for y in range(size[1])))


def edges_of_an_image(site):
    deploy(site, "edges/edges.cpp")
    width, height = 301, 203
    image = site.folder / "image.pgm"
    image.write_bytes(b"P5\n# a test\n%d %d\n255\n" % (width, height) + grey(width, height))
    site.orchid("data", "put", "image", image)
    for side in (64, 1000):
        png = run(site, "edges/edges.yaml", image="image", side=side)["png"]
        file = site.folder / "edges.png"
        site.orchid("data", "get", png, "--out", file)
        expect(f"tiles of {side} pixels", pixels_of_png(file.read_bytes()), (width, height, sobel(width, height, grey(width, height))))
        site.orchid("data", "delete", png)


def values_of_a_grid(site):
    """In bands it is what one call gives, but for how the rows' places are rounded."""
    deploy(site, "idw/idw.cpp", "idw/bands.cpp")
    grid, power, stations = json.loads((FUNCTIONS / "idw/input.json").read_text())
    whole = json.loads((FUNCTIONS / "idw/expected.json").read_text())
    inputs = {"grid": json.dumps(grid), "power": power, "stations": json.dumps(stations)}
    for bands in (1, 3):
        values = run(site, "idw/idw.yaml", bands=bands, **inputs)["values"]
        expect("points", len(values), len(whole))
        if any(abs(value - wanted) > 1e-4 * max(1, abs(wanted)) for value, wanted in zip(values, whole)):
            sys.exit(f"in {bands} bands the values are {values}, and not {whole}")


with gateway(PROGRAMS, {**os.environ}) as one:
    one.add_executor("examples", "--data-memory", str(DATA_MEMORY))
    wait_for(lambda: [executor["state"] for host in one.document("hosts")["hosts"] for executor in host["executors"]], bool,
             "an executor is there", one.said)
    best_of_ten_thousand_runs(one)
    centres_of_points(one)
    words_of_a_file(one)
    words_of_two_gib(one)
    edges_of_an_image(one)
    values_of_a_grid(one)
print("examples of flows: ok")
