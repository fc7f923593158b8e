"""csource.py - C source as the check scripts see it: code or comments."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent


TOKEN = re.compile(
    r"""(?P<comment>/\*.*?(?:\*/|\Z)|//[^\n]*)
      | (?P<include>^[ \t]*\#[ \t]*include[^\n/]*(?:/(?![/*])[^\n/]*)*)
      | (?P<literal>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')""",
    re.S | re.M | re.X,
)
NOT_NEWLINE = re.compile(r"[^\n]")


def split(text):
    """(code, comments): the text twice, each with the other part blanked out.

    Lines keep their numbers.  String and character literals are blank in both,
    except that the file name of an #include stays in the code.
    """

    def blank(chunk):
        return NOT_NEWLINE.sub(" ", chunk)

    code, comments, end = [], [], 0
    for match in TOKEN.finditer(text):
        before, token = text[end : match.start()], match[0]
        code += before, token if match["include"] else blank(token)
        comments += blank(before), token if match["comment"] else blank(token)
        end = match.end()
    code.append(text[end:])
    comments.append(blank(text[end:]))
    return "".join(code), "".join(comments)


def uncommented(text):
    """The code with its literals."""
    return TOKEN.sub(lambda m: " " if m["comment"] else m[0], text)


def files(*folders):
    """The C files below those folders of the repository, sorted."""
    found = []
    for folder in folders:
        for pattern in ("*.c", "*.h", "*.def"):
            found += (ROOT / folder).rglob(pattern)
    return sorted(found)


def name(path):
    """The path as seen from the root of the repository."""
    return path.relative_to(ROOT).as_posix()


def report(problems, title):
    """Print the problems; the exit status of the script."""
    for problem in problems:
        print(problem)
    if problems:
        print(f"{title}: {len(problems)} problem(s)")
    return 1 if problems else 0
