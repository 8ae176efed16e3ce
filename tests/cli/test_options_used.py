"""Every option of every command is used by a test that expects success, as the sources of the tests
show: a test function, with what it names in its file and in conftest.py, holds the command and the
option."""

import ast

from conftest import ROOT, commands, options


class Words(ast.NodeVisitor):
    """The words of command lines in a piece of a test: commands, options, names of other pieces."""
    def __init__(self, piece):
        self.commands, self.keys, self.options, self.names = set(), set(), set(), set()
        self.visit(piece)

    @staticmethod
    def add(found, nodes):
        found.update(node.value for node in nodes if isinstance(node, ast.Constant))

    def visit_Call(self, node):
        codes = [keyword.value for keyword in node.keywords if keyword.arg == "code"]
        failure = any(isinstance(code, ast.Constant) and code.value not in (0, 4) for code in codes)
        if failure or isinstance(node.func, ast.Attribute) and node.func.attr == "refused":
            return
        self.add(self.commands, node.args[:2])  # call("run", ...) or call(folder, "run", ...)
        self.generic_visit(node)

    def visit_List(self, node):
        self.add(self.commands, node.elts[:1])
        self.generic_visit(node)

    visit_Tuple = visit_List

    def visit_Dict(self, node):  # command -> its arguments, for tests of every command
        self.add(self.keys, node.keys)
        self.generic_visit(node)

    def visit_Constant(self, node):
        if isinstance(node.value, str):
            self.options.update(word.partition("=")[0] for word in node.value.split() if word[0] == "-")

    def visit_Name(self, node):
        self.names.add(node.id)

    def visit_arg(self, node):  # a fixture
        self.names.add(node.arg)

    def visit_Attribute(self, node):  # a method of a helper
        self.names.add(node.attr)
        self.generic_visit(node)


def pieces_of(path):
    """Name -> words of every function, method and variable of a file."""
    pieces = {}
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef):
            pieces.setdefault(node.name, []).append(Words(node))
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                for name in ast.walk(target):
                    if isinstance(name, ast.Name):
                        pieces.setdefault(name.id, []).append(Words(node.value))
    return pieces


def together(name, pieces):
    """The commands and the options of a piece and of all that it names."""
    seen, waiting = set(), [name]
    found_commands, found_options = set(), set()
    of_each = any("command" in words.names for words in pieces[name])
    while waiting:
        name = waiting.pop()
        if name in seen or name not in pieces:
            continue
        seen.add(name)
        for words in pieces[name]:
            found_commands |= words.commands | (words.keys if of_each else set())
            found_options |= words.options
            waiting += words.names
    return found_commands, found_options


def test_every_option_is_used():
    shared = pieces_of(ROOT / "tests" / "conftest.py")
    used = {command: set() for command in commands()}
    for path in ROOT.glob("tests/**/test_*.py"):
        pieces = {**shared, **pieces_of(path)}
        for name in pieces:
            if name.startswith("test_"):
                found_commands, found_options = together(name, pieces)
                for command in found_commands & set(used):
                    used[command] |= found_options
    unused = []
    for command, words in used.items():
        for option in options(command):
            if not {"--" + option.name, "--no-" + option.name, f"-{option.letter}"} & words:
                unused.append(f"{command} --{option.name}")
    assert unused == []
