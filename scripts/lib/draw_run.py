"""draw_run.py RATOON [FILE]: the picture of a run in README.md, docs/run.svg, from the report of a recorded run.

The run is tests/integration/recorded_run: a run of scripts/quickstart on two cores, without its checkpoints. The drawings and
their colours are those of `ratoon report`; this program puts two of them into one file without dependencies."""
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
RUN = ROOT / "tests/integration/recorded_run"
PICTURE = ROOT / "docs/run.svg"
WIDTH = 1000
MARGIN = 12
LABEL = 22   # room for a line of text above a drawing and for the legend
LEGEND = ("useful", "recomputed", "restarting", "starting")


def page_of(ratoon):
    with tempfile.TemporaryDirectory(prefix="ratoon-picture-") as folder:
        file = pathlib.Path(folder) / "report.html"
        subprocess.run([ratoon, "report", RUN, "-o", file], check=True, stdout=subprocess.DEVNULL)
        return file.read_text()


def drawing(page, label):
    """(height, content) of the drawing with this label."""
    found = re.search(rf'<svg viewBox="0 0 {WIDTH} ([\d.]+)"[^>]* aria-label="{label}">(.*?)</svg>', page, re.S)
    if not found:
        raise SystemExit(f"the report has no drawing '{label}'; it is named in cli/report/page/drawings.cpp, and in this program")
    return float(found[1]), found[2]


def style_for(page, body):
    """The rules of the page's style for elements of the picture; rules for `svg` or `body` are about the page. Colours are
    written out, for programs that do not know var()."""
    style, used = re.search(r"<style>(.*?)</style>", page, re.S)[1], {f".{name}" for name in words_in_classes(body)}
    light, dark = (dict(re.findall(r"--(\w+):([^;}]+)", colours)) for colours in re.findall(r":root\{(.*?)\}", style, re.S))
    rules = [(".back", "fill:var(--card)")]
    for selectors, rule in re.findall(r"([^{}]+)\{([^{}]*)\}", style):
        kept = [one.strip() for one in selectors.split(",") if one.strip() in used | {"text"}]
        rules += [(",".join(kept), rule.replace("\n", ""))] if kept else []
    in_dark = [(selectors, rule) for selectors, rule in rules if "var(" in rule]
    return "\n".join([*(write(*rule, light) for rule in rules), "@media (prefers-color-scheme:dark){",
                      *(write(*rule, dark) for rule in in_dark), "}"])


def write(selectors, rule, colours):
    return selectors + "{" + re.sub(r"var\(--(\w+)\)", lambda found: colours[found[1]], rule) + "}"


def words_in_classes(body):
    return {word for names in re.findall(r'class="([^"]*)"', body) for word in names.split()}


def legend(top):
    shown = {"recomputed": "made again"}
    boxes = [f'<rect x="{92 + 150 * place}" y="{top:g}" width="11" height="11" class="c-{name}"/>'
             f'<text x="{109 + 150 * place}" y="{top + 10:g}">{shown.get(name, name)}</text>'
             for place, name in enumerate(LEGEND)]
    return "".join(boxes) + f'<path d="M697 {top + 11:g}l-5 -9h10z" class="lost"/><text x="709" y="{top + 10:g}">loss</text>'


def picture(page):
    pieces, top = [], MARGIN
    for label, words in (("loss over time", "loss"), ("where the time of each member went", "the run and its members")):
        height, body = drawing(page, label)
        pieces.append(f'<text x="92" y="{top + 12:g}">{words}</text><g transform="translate(0 {top + LABEL:g})">{body}</g>')
        top += LABEL + height + MARGIN
    body = "\n".join([*pieces, legend(top)])
    height = top + LABEL
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" role="img" '
            f'aria-label="a run with losses">\n'
            f"<style>\n{style_for(page, body)}\n</style>\n"
            f'<rect width="{WIDTH}" height="{height:g}" rx="10" class="back"/>\n{body}\n</svg>\n')


def main():
    target = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else PICTURE
    target.write_text(picture(page_of(sys.argv[1])))
    print(target)


if __name__ == "__main__":
    main()
