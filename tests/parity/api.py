# SPDX-License-Identifier: GPL-2.0
"""The declarations of a set of headers, read by libclang

An api is a dictionary of items. A key names the item ("const FI_MSG", "enum fi_ep_type", "struct
fi_msg", "call fi_send", "macro FI_VERSION"), in libfabric's spelling for both sides; an Item has
its file and its shape, a text that is the same on both sides if the item is.
"""

import collections
import os
import re
import shlex
import subprocess

import clang.cindex as clang

Item = collections.namedtuple("Item", "shape file")
Kind = clang.CursorKind

# What a macro with arguments is tried on.
SAMPLES = (0x20007, 0x30002, 5, 9)


def libfabric_name(text):
    """Return the words of our headers in libfabric's spelling."""
    text = re.sub(r"\bKFI_", "FI_", text)
    text = re.sub(r"\bkfi(_|\b)", r"fi\1", text)
    text = re.sub(r"\bkfid(_|\b)", r"fid\1", text)
    return re.sub(r"\bstruct kvec\b", "struct iovec", text)    # the same two members


class Headers:
    """One set of headers: where they are, how they are included and compiled"""

    def __init__(self, root, names, args, rename=lambda text: text):
        self.root = os.path.realpath(root) + "/"
        self.names = names
        self.args = args
        self.rename = rename
        self.unit = self.parse("", clang.TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD |
                               clang.TranslationUnit.PARSE_SKIP_FUNCTION_BODIES)
        bad = [d for d in self.unit.diagnostics if d.severity >= clang.Diagnostic.Error]
        if bad:
            raise SystemExit(f"parity: {root}: {bad[0]}")

    def source(self, text):
        return "".join(f"#include <{name}>\n" for name in self.names) + text

    def parse(self, text, options=0):
        return clang.Index.create().parse("parity.c", args=self.args + ["-w", "-ferror-limit=0"],
                                          unsaved_files=[("parity.c", self.source(text))],
                                          options=options)

    def file_of(self, cursor):
        """Return the header below the root that declares this; None for others."""
        if not cursor.location.file:
            return None
        path = os.path.realpath(cursor.location.file.name)
        return path[len(self.root):] if path.startswith(self.root) else None

    def own(self):
        for cursor in self.unit.cursor.get_children():
            file = self.file_of(cursor)
            if file:
                yield cursor, file


def is_public(name):
    return re.match(r"(FI_|fi_|fid_|fid$)", name) is not None


def enumerators(headers, items):
    for cursor, file in headers.own():
        if cursor.kind != Kind.ENUM_DECL or not cursor.is_definition():
            continue
        names = []
        for one in cursor.get_children():
            name = headers.rename(one.spelling)
            names.append(name)
            items["const " + name] = Item(f"{one.enum_value & (1 << 64) - 1:#x}", file)
        tag = headers.rename(cursor.spelling)
        if not is_public(tag):
            tag = "of " + names[0]
        items["enum " + tag] = Item(" ".join(names), file)


def fields(headers, cursor):
    """Return members in order, each "name:type"; those of unnamed unions in braces."""
    words = []
    for one in cursor.get_children():
        if one.kind in (Kind.UNION_DECL, Kind.STRUCT_DECL) and one.is_anonymous():
            words += ["{"] + fields(headers, one) + ["}"]
        elif one.kind == Kind.FIELD_DECL:
            # The name of an unnamed type is where it was declared.
            if "unnamed" in one.type.spelling or "anonymous" in one.type.spelling:
                if one.type.get_declaration().is_anonymous() and words and words[-1] == "}":
                    words[-1] = "}" + one.spelling
                continue
            words.append(one.spelling + ":" + type_text(headers, one.type))
    return words


def type_text(headers, kind):
    text = re.sub(r"\bfid_t\b", "struct fid *", headers.rename(kind.spelling))
    return text.replace("_Bool", "bool").replace(" ", "~")


def structures(headers, items):
    for cursor, file in headers.own():
        if cursor.kind != Kind.STRUCT_DECL or not cursor.is_definition():
            continue
        name = headers.rename(cursor.spelling)
        items["struct " + name] = Item(" ".join(fields(headers, cursor)), file)


def calls(headers, items):
    for cursor, file in headers.own():
        if cursor.kind != Kind.FUNCTION_DECL:
            continue
        args = [type_text(headers, one.type) for one in cursor.get_arguments()]
        shape = f"{len(args)} {type_text(headers, cursor.result_type)} <- " + " ".join(args)
        items["call " + headers.rename(cursor.spelling)] = Item(shape, file)


def evaluate(headers, expressions):
    """Return value and size of each constant expression, None for others, by compiling enumerators.
    """
    text = "".join(f"enum {{ parity_v{n} = ({e}) }};\nenum {{ parity_s{n} = sizeof({e}) }};\n"
                   for n, e in enumerate(expressions))
    unit = headers.parse(text)
    first = len(headers.names) + 1
    bad = {d.location.line for d in unit.diagnostics if d.severity >= clang.Diagnostic.Error
           and d.location.file and d.location.file.name == "parity.c"}
    values = {}
    for cursor in unit.cursor.get_children():
        if cursor.kind == Kind.ENUM_DECL and cursor.location.file and cursor.location.file.name == "parity.c":
            one = next(cursor.get_children())
            values[one.spelling] = one.enum_value & (1 << 64) - 1
    return [None if {first + 2 * n, first + 2 * n + 1} & bad or f"parity_v{n}" not in values
            else (values[f"parity_v{n}"], values[f"parity_s{n}"]) for n in range(len(expressions))]


def macros(headers, items):
    names, expressions, files = [], [], []
    for cursor, file in headers.own():
        if cursor.kind != Kind.MACRO_DEFINITION:
            continue
        tokens = [t.spelling for t in cursor.get_tokens()]
        name = headers.rename(cursor.spelling)
        if not is_public(name) or len(tokens) < 2:
            continue    # a guard
        args = macro_arguments(cursor, tokens)
        if args is None:
            key, text = "const " + name, cursor.spelling
        else:
            sample = ", ".join(str(SAMPLES[n % len(SAMPLES)]) for n in range(args))
            key, text = f"macro {name}/{args}", f"{cursor.spelling}({sample})"
        if key not in items:
            names.append(key)
            expressions.append(text)
            files.append(file)
    for key, value, file in zip(names, evaluate(headers, expressions), files):
        items[key] = Item("text" if value is None else f"{value[0]:#x}", file)


def macro_arguments(cursor, tokens):
    """Return the number of a macro's arguments, None for one without parentheses after the name."""
    spans = list(cursor.get_tokens())
    if tokens[1] != "(" or spans[1].extent.start.offset != spans[0].extent.end.offset:
        return None
    inside = tokens[2:tokens.index(")")]
    return inside.count(",") + 1 if inside else 0


def read(headers):
    items = {}
    for part in (enumerators, structures, calls, macros):
        part(headers, items)
    return {key: item for key, item in items.items() if is_public(key.split()[-1]) or key.startswith("enum ")}


def headers_below(root, *folders):
    """Return all headers in folders below a root, as they are included."""
    found = []
    for folder in folders:
        for name in sorted(os.listdir(os.path.join(root, folder))):
            if name.endswith(".h"):
                found.append(os.path.join(folder, name) if folder != "." else name)
    return found


def libfabric(prefix):
    """Return the headers of an unpacked libfabric-dev."""
    root = os.path.join(prefix, "usr/include")
    return Headers(root, headers_below(root, "rdma", "rdma/providers"), ["-std=gnu11", "-I" + root, *builtin_include()])


def builtin_include():
    """Return the compiler's folder with stddef.h and the like, which libclang lacks."""
    path = subprocess.run(["cc", "-print-file-name=include"], check=True, capture_output=True, text=True).stdout.strip()
    return ["-isystem", path]


def kernel_args(command_file):
    """Return the arguments with which kbuild has compiled a file, as far as libclang needs them."""
    with open(command_file, encoding="utf-8") as file:
        words = shlex.split(file.readline().split(":=", 1)[1].split(";")[0])
    args = []
    for n, word in enumerate(words):
        if word == "-include":
            args += [word, words[n + 1]]
        elif re.match(r"-(I/|D|std=|nostdinc|fms-ext|m64|fshort-wchar|funsigned-char)", word):
            args.append(word)
    return args


def kfabric(include, command_file):
    """Return our headers, compiled as in the kernel that command_file comes from."""
    names = headers_below(include, ".", "uapi/linux")
    return Headers(include, names, kernel_args(command_file) + ["-I" + include, "-I" + include + "/uapi"], libfabric_name)
