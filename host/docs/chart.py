#!/usr/bin/env python3
"""Takes the chart of decoding out of a page of `ncz bench --html`, as SVG with its own colours.

    ncz bench tests/fixtures/ocean.nczarr air_temperature --html /tmp/codecs.html
    host/docs/chart.py /tmp/codecs.html > host/docs/src/images/bench.svg
"""

import re
import sys

STYLE = """<style>
text { fill: #6b7280; font: 12px system-ui, sans-serif; }
.name, .axis { fill: #1d2025; }
.present { fill: #c2410c; font-weight: 600; }
.grid, .leader { stroke: #d9dce1; }
.front-line { fill: none; stroke: #0b6bcb; stroke-width: 1.5; stroke-dasharray: 4 3; }
.dot { fill: #9aa3af; }
.front { fill: #0b6bcb; }
.now { fill: #c2410c; }
</style>
<rect width="100%" height="100%" fill="#fdfdfc"/>
"""


def main():
    with open(sys.argv[1], encoding="utf-8") as page:
        chart = re.search(r"<svg .*?</svg>", page.read(), re.DOTALL)
    chart = chart[0].replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
    head, body = chart.split("\n", 1)
    # Texts that browsers show under the pointer
    body = re.sub(r"<title>.*?</title>", "", body, flags=re.DOTALL)
    print(f"{head}\n{STYLE}{body}")


main()
