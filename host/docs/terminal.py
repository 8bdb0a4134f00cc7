#!/usr/bin/env python3
"""Draws a terminal: runs the commands that are its arguments, in one shell, and prints them with their output as SVG.

    host/docs/terminal.py 'ncz info ocean.zarr' > host/docs/src/images/readers.svg

A test of the command runs what a picture shows, and compares: host/cli/tests/cli/pages.rs.
"""

import subprocess
import sys
from xml.sax.saxutils import escape

LINE, COLUMN, MARGIN = 17, 7.83, 16


def lines(commands):
    for command in commands:
        yield f"$ {command}"
        ran = subprocess.run(["bash", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        yield from ran.stdout.splitlines()


def main():
    shown = list(lines(sys.argv[1:]))
    width = round(max(map(len, shown)) * COLUMN) + 2 * MARGIN
    height = LINE * len(shown) + 2 * MARGIN
    print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">')
    print('<!-- host/docs/terminal.py -->')
    print('<rect width="100%" height="100%" rx="6" fill="#15202b"/>')
    print('<g font-family="ui-monospace, Menlo, Consolas, monospace" font-size="13" fill="#d7dde3" xml:space="preserve">')
    for row, line in enumerate(shown, start=1):
        style = ' fill="#8bd49c"' if line.startswith("$ ") else ""
        print(f'<text x="{MARGIN}" y="{MARGIN + row * LINE - 5}"{style}>{escape(line)}</text>')
    print("</g>\n</svg>")


main()
