# SPDX-License-Identifier: Apache-2.0
"""new-op: an op folder that builds and passes the suite at once, to be turned into the op."""
import re

from .steps import ROOT, Failed, say

TEMPLATES = ROOT / "scripts/templates"


def add_commands(commands):
    new_op = commands.add_parser("new-op", help="make src/ops/FAMILY/NAME/ from the templates")
    new_op.add_argument("family", metavar="FAMILY", help="a folder of src/ops, for example norm")
    new_op.add_argument("name", metavar="NAME", help="for example rms_norm; also the name of its declaring function")
    new_op.set_defaults(run=new_op_command)


def new_op_command(arguments):
    family, name = arguments.family, arguments.name
    for what, text in (("FAMILY", family), ("NAME", name)):
        if not re.fullmatch(r"[a-z][a-z0-9_]*", text):
            raise Failed(f"{what} is '{text}'; use lower case letters, digits and _")
    folder = ROOT / "src/ops" / family / name
    if folder.exists():
        raise Failed(f"{folder.relative_to(ROOT)} exists already")
    taken = [path for path in (ROOT / "src/ops").glob(f"*/*/{name}.op.cpp")]
    if taken:
        raise Failed(f"the name is taken by {taken[0].relative_to(ROOT)}; op file names are unique")
    folder.mkdir(parents=True)
    for template in sorted(TEMPLATES.glob("op.*.in")):
        target = folder / template.name.removesuffix(".in").replace("op.", f"{name}.", 1)
        target.write_text(template.read_text().replace("@NAME@", name).replace("@FAMILY@", family))
        say(f"made {target.relative_to(ROOT)}")
    say(f"It computes self * factor and passes the suite. Next: make it {name}, then\n"
        f"  ./nbx-dev build dev nbx-test-ops && build/dev/tests/nbx-test-ops")
