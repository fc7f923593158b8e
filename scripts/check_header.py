#!/usr/bin/env python3
"""check_header.py CC - what a program that makes bindings finds in the public headers.

pycparser, which cffi stands on, reads them after the preprocessor.  Every struct that
callers fill in or are given begins with `size_t size`, unless the comment on its line
says that it is frozen; every function that can fail returns a relmc_status and takes the
relmc_error last.  relmc_ext.h, for authors of components, is parsed and no more.
"""

import pathlib
import subprocess
import sys
import tempfile

try:
    from pycparser import c_ast, c_parser
except ImportError:
    print("pycparser is not installed (Debian: python3-pycparser)")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = ROOT / "include"
STABLE = ("relmc.h", "relmc_spec.h", "relmc_diag.h", "relmc_team.h", "relmc_extra.h")
HEADERS = STABLE + ("relmc_ext.h", "relmc_format.h")

# All that the headers may ask of the C library.
STUBS = {
    "stddef.h": "typedef unsigned long size_t;\n#define NULL ((void *)0)\n"
                "#define offsetof(type, member) ((size_t)0)\n",
    "stdint.h": "".join(f"typedef {kind} {name}_t;\n" for name, kind in (
        ("int8", "signed char"), ("uint8", "unsigned char"),
        ("int16", "short"), ("uint16", "unsigned short"),
        ("int32", "int"), ("uint32", "unsigned int"),
        ("int64", "long"), ("uint64", "unsigned long"))),
}


def parse(cc, name, stubs):
    out = subprocess.run(
        [cc, "-E", "-std=c99", "-nostdinc", "-U__GNUC__", f"-I{stubs}",
         f"-I{INCLUDE}", "-x", "c", str(INCLUDE / name)],
        check=True, text=True, stdout=subprocess.PIPE)
    return c_parser.CParser().parse(out.stdout, name)


def own(tree, name):
    """What this header declares itself."""
    return [node for node in tree.ext
            if node.coord and node.coord.file.endswith("/" + name)]


def is_frozen(name, line):
    text = (INCLUDE / name).read_text(encoding="utf-8").splitlines()
    return "frozen" in text[line - 1]


def check_struct(name, node):
    """Yield what is wrong with a struct that has members."""
    first = node.decls[0]
    kind = getattr(getattr(first.type, "type", None), "names", None)
    if (first.name, kind) != ("size", ["size_t"]):
        if not is_frozen(name, node.coord.line):
            yield (f"{name}:{node.coord.line}: struct {node.name} begins with "
                   f"{first.name}: give it `size_t size`, or say `frozen`")


def check_function(name, node):
    """Yield what is wrong with the declaration of a function."""
    args = node.type.args.params if node.type.args else []
    result = getattr(getattr(node.type.type, "type", None), "names", [None])[0]
    last = args[-1].type if args else None
    error = (isinstance(last, c_ast.PtrDecl) and
             getattr(last.type.type, "names", [None])[0] == "relmc_error")
    where = f"{name}:{node.coord.line}: {node.name}"
    if not node.name.startswith("relmc_"):
        yield f"{where}: not relmc_"
    if error and result != "relmc_status":
        yield f"{where}: takes an error and returns no relmc_status"


def check(name, tree):
    for node in own(tree, name):
        kind = node.type
        if isinstance(node, c_ast.Typedef):
            kind = getattr(kind, "type", kind)
            if isinstance(kind, c_ast.Struct) and kind.decls:
                yield from check_struct(name, kind)
        elif isinstance(node, c_ast.Decl) and isinstance(kind, c_ast.FuncDecl):
            yield from check_function(name, node)


def main():
    problems = []
    with tempfile.TemporaryDirectory() as stubs:
        for name, text in STUBS.items():
            pathlib.Path(stubs, name).write_text(text, encoding="utf-8")
        for name in HEADERS:
            tree = parse(sys.argv[1], name, stubs)
            if name != "relmc_format.h" and not own(tree, name):
                problems.append(f"{name}: nothing was found in it")
            if name in STABLE:
                problems += check(name, tree)
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
