#!/usr/bin/env python3
"""check_docs.py - what prose names is there.

Every folder of sources has a README of at most ten lines.  Files named in pages and in
comments exist, links lead somewhere, functions and macros of relmc are declared.  The tour
in src/README.md names functions beside the files that have them.  A C file begins with its
name.  The changelog is history and is not read.
"""

import re
import sys

import csource
from csource import ROOT

PAGES = ["README.md", "CONTRIBUTING.md", *(
    p.relative_to(ROOT).as_posix()
    for folder in ("docs", "src", "cli", "extra", "paper", "tests", "bench",
                   "scripts", "examples")
    for p in (ROOT / folder).rglob("*.md"))]
SOURCES = ("include", "src", "extra", "cli", "paper", "tests", "bench",
           "examples")
NO_README = {"include", "src", "docs"}  # src/README.md is the tour
README_LINES = 10

# Of the exercise in CONTRIBUTING.md.
MADE_UP = {"logistic.c", "src/kinetic/logistic.c", "kinetic/logistic.c",
           "rmc_kinetic_logistic"}
NOT_OURS = {"cmocka.h"}

CODE = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
FILE = re.compile(
    r"(?<![\w./*<>{}$-])((?:\.\./)*[\w-]+(?:/[\w-]+)*"
    r"\.(?:c|h|def|py|sh|R|cmake|map))(?![\w/*])")
NAME = re.compile(r"(?<![\w./-])(r(?:el)?mc_[a-z0-9_]*[a-z0-9]|RELMC_[A-Z0-9_]*[A-Z0-9])"
                  r"(?![\w*<{-]|\.\.\.|\.pc)")


def tracked():
    """All files of the tree, as a set of paths and of their ends."""
    ends = set()
    for path in ROOT.rglob("*"):
        parts = path.relative_to(ROOT).parts
        if parts[0] in ("build", ".git") or not path.is_file():
            continue
        for n in range(len(parts)):
            ends.add("/".join(parts[n:]))
    return ends


def known_names():
    """Words of the code, of the build and of the files that relmc writes."""
    words = set()
    for path in csource.files(*SOURCES):
        text = path.read_text(encoding="utf-8")
        text = csource.uncommented(text)
        words.update(re.findall(r"\w+", text))
        words.update("--" + name for name in
                     re.findall(r'"([a-z]+(?:-[a-z]+)*)"', text))
    for path in ROOT.rglob("*"):
        parts = path.relative_to(ROOT).parts
        if parts[0] in ("build", ".git"):
            continue
        if (path.name == "CMakeLists.txt" or path.name == "Makefile"
                or path.suffix in (".cmake", ".in", ".json", ".sh", ".R",
                                   ".cpp", ".py")) and "golden" not in parts:
            words.update(re.findall(r"\w+", path.read_text(encoding="utf-8")))
    return words


def lacks_file(found, ends):
    plain = re.sub(r"^(\.\./)+", "", found)
    return plain not in ends and found not in MADE_UP | NOT_OURS


def lacks_name(found, names):
    """Copies for code paths have a suffix; RELMC_SAVE_WARMUP is --save-warmup."""
    found = re.sub(r"_(baseline|avx2|avx512)$", "", found)
    option = found.replace("RELMC_", "--").replace("_", "-").lower()
    return not {found, option} & (names | MADE_UP)


def check_page(name, ends, names):
    """Yield the problems of a page."""
    path = ROOT / name
    is_code = False
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
        if line.lstrip().startswith("```"):
            is_code = not is_code
        for link in LINK.findall(line):
            if "://" not in link and not (path.parent / link).exists():
                yield f"{name}:{number}: no file {link}"
        chunks = [line] if is_code else CODE.findall(line)
        for chunk in chunks:
            for found in () if is_code else FILE.findall(chunk):
                if lacks_file(found, ends):
                    yield f"{name}:{number}: no file {found}"
            for found in NAME.findall(chunk):
                if lacks_name(found, names):
                    yield f"{name}:{number}: no {found} in the code"


def check_tour():
    """Yield rows of the tour whose functions are not in the file they name."""
    name = "src/README.md"
    for number, line in enumerate((ROOT / name).read_text(encoding="utf-8").split("\n"), 1):
        cells = line.split("|")
        if len(cells) != 5 or not re.match(r" `[\w/]+\.[ch]` $", cells[1]):
            continue
        path = ROOT / CODE.findall(cells[1])[0]
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        words = set(re.findall(r"\w+", csource.uncommented(text)))
        for function in CODE.findall(cells[2]):
            if function not in words:
                yield f"{name}:{number}: no {function} in {CODE.findall(cells[1])[0]}"


def check_source(path, ends, names):
    """Yield the problems of the comments of a C file."""
    name = csource.name(path)
    text = path.read_text(encoding="utf-8")
    _, comments = csource.split(text)
    first = re.match(r"/\*\s*\*?\s*(\S+) - ", text)
    if path.suffix in (".c", ".h") and (not first or first[1] != path.name):
        yield f"{name}:1: write /* {path.name} - what it is */"
    for number, line in enumerate(comments.split("\n"), 1):
        for found in FILE.findall(line):
            if lacks_file(found, ends):
                yield f"{name}:{number}: no file {found}"
        for found in NAME.findall(line):
            if lacks_name(found, names):
                yield f"{name}:{number}: no {found} in the code"


def check_folders():
    folders = {path.parent for path in csource.files(*SOURCES)}
    for folder in sorted(folders):
        name = csource.name(folder)
        if name in NO_README or name.startswith("tests/"):
            continue
        readme = folder / "README.md"
        if not readme.is_file():
            yield f"{name}: no README.md"
        elif len(readme.read_text(encoding="utf-8").splitlines()) > README_LINES:
            yield f"{name}/README.md: more than {README_LINES} lines"


def main():
    ends, names = tracked(), known_names()
    problems = [] if "--no-readme" in sys.argv else list(check_folders())
    problems += check_tour()
    for name in PAGES:
        problems += check_page(name, ends, names)
    for path in csource.files(*SOURCES):
        problems += check_source(path, ends, names)
    return csource.report(problems, "check_docs")


if __name__ == "__main__":
    sys.exit(main())
