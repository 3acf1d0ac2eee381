"""The language of what the commands print: English, or Russian by the catalogue ``ru.po``, through gettext.

A finished line is translated where it is printed: its parts, between ``: ``, ``; ``, ``, `` and brackets, are
looked up as texts or as templates. ``{n}`` in a template is a number, which chooses the form of the plural,
``{text}`` is translated itself, and every other name stands for what stays as it is: names, paths, codes.
"""

from __future__ import annotations

import ast
import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, cached_property
from gettext import GNUTranslations
from io import BytesIO

#: The first is the language of the texts in the program.
LANGUAGES = ("en", "ru")
#: Names the language where ``--lang`` does not; the system's language never does, scripts read the lines.
VARIABLE = "MSH_GLTF_LANG"
#: What parts of a line are separated by.
_SEPARATOR = re.compile(r": |; |, |\.(?= )|(?<![^ ])\((?=[a-z])| +\(|\)|\? |\t| {2,}|(?<=[?!.]) ")
#: Where a message may end; one that ends with a list, and one that begins with a number.
_END = rf"(?=[.:]?$|{_SEPARATOR.pattern}"
_ENDS = {"names": r"(?=$|; | \(|\)|\? )", "n": rf"{_END}| and | or )", "": f"{_END})"}
_AND, _LIST = re.compile(r" (and|or) "), re.compile(r"[^\s,]+(?:, [^\s,]+)* (?:and|or) [^\s,]+")
#: How a list ends that has more (:func:`converter.errors.few`), wherever it stands.
_REST = re.compile(r" (and|or) (\d[\d,]*) (?:others?(?=$|[ :;,.)])|more(?=$|[:;,.)]))")
_PLACE = re.compile(r"\{(([a-z]+)\d*)\}")
#: What stands in a place: a number, what a message begins with, anything else.
_NUMBER, _FIRST, _ANY = r"(?:0x[\da-f]+|-?\d+(?:[.,]\d+)*(?:e[+-]?\d+)?)", r"(?:(?!: |; |\? | \().)+?", "(?! ).+?"
#: What a message begins with that may begin with anything: others are tried first.
_ANYTHING = ("{name", "{text", "{path", "{value", "{file", "{other")
#: A name: what follows its quotes is none of it, but for further names.
_NAME = r"(?:(?!' (?!and |or )[a-z]|: |; |\? ).)+?'?"

#: A message: singular and plural (or ``""``), the one of them that this form is, its longest text without places.
_Form = tuple[str, str, str, str]


class Catalogue:
    """The messages of a language.

    Attributes:
        rows: message and plural (``""`` where it has none) -> its translations, one for each form.
    """

    def __init__(self, po: str) -> None:
        """Take the text of a ``.po`` file."""
        self.rows = dict(_rows(po))
        self._gettext = GNUTranslations(BytesIO(_mo(self.rows)))

    @cached_property
    def _forms(self) -> list[_Form]:
        """Every message in each of its forms, the most particular first."""
        forms = [
            (message, plural, form, max(_PLACE.sub("\0", form).split("\0"), key=len))
            for message, plural in self.rows
            for form in filter(None, (message, plural))
        ]
        return sorted(forms, key=lambda form: (form[2].startswith(_ANYTHING), -len(_PLACE.sub("", form[0]))))

    def translated(self, text: str) -> str:
        """Return a line with every part translated that the catalogue has."""
        out, at = [], 0
        forms = [form for form in self._forms if form[3] in text]
        while at < len(text):
            if (between := _SEPARATOR.match(text, at)) is not None:
                out.append(between[0])
                at = between.end()
                continue
            found = next(((form, match) for form in forms if (match := _pattern(form[2]).match(text, at))), None)
            if found is None:
                after = _SEPARATOR.search(text, at)
                end = len(text) if after is None else after.start()
                out.append(text[at:end])
                at = end
                continue
            (message, plural, *_), match = found
            out.append(self._filled(message, plural, match.groupdict()))
            at = match.end()
            if (joint := _AND.match(text, at)) is not None:
                out.append(f" {self._gettext.gettext(joint[1])} ")
                at = joint.end()
            elif text[at:] in (".", ":"):
                out.append(text[at:])
                break
        return _REST.sub(self._rest, "".join(out))

    def _rest(self, end: re.Match[str]) -> str:
        return f" {self._gettext.gettext(end[1])} {self._filled('{n} other', '{n} others', {'n': end[2]})}"

    def _filled(self, message: str, plural: str, places: Mapping[str, str]) -> str:
        """The translation of a message with what stands in its places."""
        text = self._gettext.gettext(message)
        if plural:
            text = self._gettext.ngettext(message, plural, int(re.sub(r"\D", "", places["n"]) or 0))

        def value(place: re.Match[str]) -> str:
            what = places[place[1]]
            if place[2] == "n":
                return what.replace(",", " ")
            if _LIST.fullmatch(what):
                return _AND.sub(lambda joint: f" {self._gettext.gettext(joint[1])} ", what)
            return self.translated(what) if place[2] == "text" else what

        return _PLACE.sub(value, text)


_used: Catalogue | None = None


def use_language(arguments: Sequence[str], environment: Mapping[str, str]) -> None:
    """Choose the language of all that is printed from now on; what is no language is left to the option to refuse."""
    global _used
    language = environment.get(VARIABLE, "")
    for word, following in zip(["", *arguments], [*arguments, ""], strict=True):
        name, _, value = word.partition("=")
        if name == "--lang":
            language = value or following
    _used = None
    if language in LANGUAGES[1:]:
        from importlib.resources import files  # a good part of the start for those who need it not

        _used = Catalogue(files(__package__).joinpath(f"{language}.po").read_text("utf-8"))


def in_language(text: str) -> str:
    """Return a line for the user in the language that was chosen."""
    return text if _used is None else _used.translated(text)


@cache
def _pattern(message: str) -> re.Pattern[str]:
    """What finds a message: texts as they are, and groups for its places."""
    out, at, kind = "", 0, ""
    for place in _PLACE.finditer(message):
        kind = place[2]
        what = _NUMBER if kind == "n" else _ANY if place.start() else _FIRST
        if message[: place.start()].endswith("'"):
            what = "[^']+"
        if kind == "text" and place.end() == len(message):  # the rest of the line is translated as such
            return re.compile(f"{out}{re.escape(message[at : place.start()])}(?P<{place[1]}>)")
        what = _NAME if kind == "name" else what
        out += f"{re.escape(message[at : place.start()])}(?P<{place[1]}>{what})"
        at = place.end()
    end = "names" if kind == "names" and at == len(message) else "n" if message.startswith("{n}") else ""
    return re.compile(out + re.escape(message[at:]) + _ENDS[end])


def _rows(po: str) -> Iterator[tuple[tuple[str, str], list[str]]]:
    """The messages of a ``.po`` file."""
    for block in po.split("\n\n"):
        texts: dict[str, str] = {}
        key = ""
        for line in block.splitlines():
            if line.startswith("#"):
                continue
            word, _, quoted = line.partition('"')
            key = word.strip() or key
            texts[key] = texts.get(key, "") + ast.literal_eval(f'"{quoted}')
        if "msgid" in texts:
            plural = texts.get("msgid_plural", "")
            yield (texts["msgid"], plural), [text for name, text in texts.items() if name.startswith("msgstr")]


def _mo(rows: Mapping[tuple[str, str], Sequence[str]]) -> bytes:
    """The messages as the ``.mo`` file that gettext reads."""
    pairs = sorted(("\0".join(filter(None, key)).encode(), "\0".join(forms).encode()) for key, forms in rows.items())
    begin, tables, texts = 28, [b"", b""], b""
    for column in (0, 1):
        for pair in pairs:
            tables[column] += struct.pack("<2I", len(pair[column]), begin + 16 * len(pairs) + len(texts))
            texts += pair[column] + b"\0"
    head = struct.pack("<7I", 0x950412DE, 0, len(pairs), begin, begin + 8 * len(pairs), 0, 0)
    return head + b"".join(tables) + texts
