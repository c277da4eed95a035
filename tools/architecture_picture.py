#!/usr/bin/env python3
"""Draws docs/architecture.svg: the modules by layer and what each may include, from the CMake lists."""
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent
LAYERS = [("cli", ["cli"]), ("proofs", ["api", "claims", "definition", "certificate"]),
          ("encodings", ["encodings_z3", "encodings_cnf"]),
          ("engine", ["oracle", "execution", "export", "hardware", "strategy", "reshard", "cost", "pipeline", "program",
                      "msccl", "onesided", "hlo", "records", "collective", "placement", "transfer", "topology", "campaign", "base"])]
ALONE = ["kernel"]  # p2-check
OPTIONAL = {"campaign_mpi", "execution_mpi", "execution_nccl", "hlo_binary"}


def modules():
    """Module name -> names of the modules it uses."""
    uses = {}
    for path in ROOT.glob("**/CMakeLists.txt"):
        if "build" in path.parts:
            continue
        text = re.sub(r"#.*", "", path.read_text())
        for match in re.finditer(r"p2_module\(([\w]+)\s+(\S+)([^)]*)\)", text):
            name, rest = match.group(1), match.group(3)
            if name in OPTIONAL or name == "${name}":
                continue
            uses[name] = sorted(set(re.findall(r"\bp2_(\w+)", rest)))
    return {n: [u for u in us if u in uses] for n, us in uses.items()}


def reduced(uses):
    """Without the arrows that follow from others (transitive reduction of an acyclic graph)."""
    reach = {}

    def all_below(name):
        if name not in reach:
            reach[name] = set(uses[name]).union(*(all_below(u) for u in uses[name]))
        return reach[name]

    return {n: [u for u in us if not any(u in all_below(o) for o in us if o != u)] for n, us in uses.items()}


def main():
    uses = modules()
    shown = [n for _, names in LAYERS for n in names] + ALONE
    unknown = set(uses) - set(shown)
    if unknown:
        raise SystemExit(f"no layer for {sorted(unknown)}: add them to LAYERS")
    depth = {}

    def depth_of(name):
        if name not in depth:
            depth[name] = 1 + max((depth_of(u) for u in uses[name]), default=-1)
        return depth[name]

    for name in uses:
        depth_of(name)
    rows = {}
    for name in shown:
        if name in uses and name not in ALONE:
            rows.setdefault(depth[name], []).append(name)
    layer_of = {n: layer for layer, names in LAYERS for n in names}
    colours = {"cli": "#56b4e9", "proofs": "#e69f00", "encodings": "#cc79a7", "engine": "#9fd9c3"}
    width, box, gap, step = 1000, 118, 14, 78
    top = max(rows)
    height = (top + 1) * step + 90
    place = {}
    for row, names in rows.items():
        total = len(names) * box + (len(names) - 1) * gap
        for i, name in enumerate(names):
            place[name] = ((width - 160 - total) / 2 + i * (box + gap), 60 + (top - row) * step)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
           'font-size="13">', f'<rect width="{width}" height="{height}" fill="white"/>',
           '<defs><marker id="a" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" '
           'orient="auto"><path d="M0 0L8 4L0 8z" fill="#777"/></marker></defs>']
    for name, below in reduced(uses).items():
        for under in below:
            if name in place and under in place:
                (x1, y1), (x2, y2) = place[name], place[under]
                out.append(f'<line x1="{x1 + box / 2:.0f}" y1="{y1 + 30:.0f}" x2="{x2 + box / 2:.0f}" '
                           f'y2="{y2 - 1:.0f}" stroke="#999" marker-end="url(#a)"/>')
    for name, (x, y) in place.items():
        label = name.replace("encodings_", "")
        out.append(f'<rect x="{x:.0f}" y="{y:.0f}" width="{box}" height="30" rx="4" '
                   f'fill="{colours[layer_of[name]]}" stroke="#333"/>'
                   f'<text x="{x + box / 2:.0f}" y="{y + 20:.0f}" text-anchor="middle">{label}</text>')
    x = width - 140
    out.append(f'<rect x="{x}" y="60" width="{box}" height="30" rx="4" fill="#f0e442" stroke="#333"/>'
               f'<text x="{x + box / 2:.0f}" y="80" text-anchor="middle">kernel (p2-check)</text>')
    for i, (layer, colour) in enumerate(colours.items()):
        out.append(f'<rect x="{x}" y="{130 + 24 * i}" width="14" height="14" fill="{colour}" stroke="#333"/>'
                   f'<text x="{x + 22}" y="{142 + 24 * i}">{layer}</text>')
    out.append(f'<text x="20" y="30" font-size="16" font-weight="bold">Modules and what they include'
               '</text></svg>')
    (ROOT / "docs/architecture.svg").write_text("\n".join(out) + "\n")


main()
