#!/usr/bin/python3
"""Draws which part and which folder of the gateway links which, into the pages that show it, from what the build says:
graph.py [--check] BUILD_FOLDER. With --check nothing is written; exit status 1: a page shows something else than the build says."""
import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
OVERVIEW, PICTURES = "docs/ARCHITECTURE.md", "docs/architecture/graph.md"
GROUPS = ("libs", "scheduler-plugin", "executor", "sdk")  # each folder in them is a part
GATEWAY = "gateway/src"
NOT_SHOWN = ("tests", "benchmarks", "functions", "cmake", ".")


def read_links(path):
    """[(folder, target, targets that it links)]"""
    links = []
    for line in path.read_text().splitlines():
        name, _, linked = line.partition(":")
        folder, target = name.split()
        links.append((folder, target, linked.split()))
    return links


def part_of(folder):
    parts = folder.split("/")
    if parts[0] in NOT_SHOWN:
        return None
    if parts[0] in GROUPS or folder in ("gateway/dispatch", "gateway/door"):
        return "/".join(parts[:2])
    return parts[0]


def gateway_folder_of(folder):
    return folder.removeprefix(f"{GATEWAY}/") if folder.startswith(f"{GATEWAY}/") else None


def graph(links, node_of):
    """{node: nodes whose targets its targets link}"""
    node_of_target = {target: node_of(folder) for folder, target, _ in links}
    nodes = {node: set() for node in node_of_target.values() if node}
    for _, target, linked in links:
        node = node_of_target[target]
        if node:
            nodes[node] |= {node_of_target.get(other) for other in linked} - {None, node}
    return nodes


def below(nodes, node):
    """All that is linked through `node`."""
    found, left = set(), [node]
    while left:
        for other in nodes[left.pop()] - found:
            found.add(other)
            left.append(other)
    return found


def reduced(nodes):
    """Without the links that follow from others."""
    return {node: {one for one in linked if not any(one in below(nodes, other) for other in linked - {one})}
            for node, linked in nodes.items()}


def from_below(nodes):
    """Each node after those that it links."""
    order, left = [], collections.deque(sorted(nodes))
    while left:
        ready = [node for node in left if nodes[node] <= set(order)]
        if not ready:
            sys.exit(f"graph.py: a circle among {', '.join(left)}")
        order += ready
        left = [node for node in left if node not in ready]
    return order


def text(nodes):
    width = max(map(len, nodes))
    few = reduced(nodes)
    lines = [f"{node:{width}}  -> {', '.join(sorted(few[node]))}" if few[node] else node for node in from_below(nodes)]
    return "\n".join(["```", *lines, "```"])


def picture(nodes):
    few = reduced(nodes)

    def name(node):
        return re.sub(r"\W", "_", node)

    lines = [f'  {name(node)}["{node}"]' for node in sorted(nodes) if name(node) != node]
    lines += [f"  {name(node)} --> {name(other)}" for node in sorted(nodes) for other in sorted(few[node])]
    return "\n".join(["```mermaid", "graph TD", *lines, "```"])


def drawn(page, drawings):
    """The page with each drawing in its place: between a line `<!-- NAME: drawn by ./dev graph -->` and the block's end."""
    for name, drawing in drawings.items():
        place = re.compile(rf"(<!-- {re.escape(name)}: drawn by \./dev graph -->\n\n)```.*?\n```", re.DOTALL)
        if not place.search(page):
            sys.exit(f"graph.py: no page has a place for '{name}'")
        page = place.sub(lambda match, drawing=drawing: match[1] + drawing, page)
    return page


def main(arguments):
    folders = [argument for argument in arguments if argument != "--check"]
    if len(folders) != 1:
        sys.exit(__doc__)
    links = read_links(pathlib.Path(folders[0]) / "links.txt")
    parts, gateway = graph(links, part_of), graph(links, gateway_folder_of)
    pages = {OVERVIEW: {"parts": text(parts)},
             PICTURES: {"parts": picture(parts), "folders of the gateway": picture(gateway)}}
    wrong = []
    for path, drawings in pages.items():
        page = (ROOT / path).read_text()
        new = drawn(page, drawings)
        if new == page:
            continue
        wrong.append(path)
        if "--check" not in arguments:
            (ROOT / path).write_text(new)
    if "--check" in arguments and wrong:
        sys.exit(f"{', '.join(wrong)}: not what the build links; run ./dev graph")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
