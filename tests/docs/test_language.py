"""Code, messages and pages use the field's terms: private words stay out."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

#: Words that readers outside this project would not understand, and what is written instead.
#: Words that are also used in their plain sense (look, reach, share, say) are left to reviews.
PRIVATE = {
    r"roads?": "pipeline",
    r"way (?:out|back)": "export, import",
    r"dress(?:ed|es)?|wears": "materials and textures, uses",
    r"(?:is|not) sound": "is valid, has errors",
    r"mend(?:s|ed|ing)?": "fix",
    r"anew|beforehand": "again, first",
    r"pass(?:ed)? by": "skip, ignore",
    r"strangers?": "unknown or foreign file",
    r"twins?": "reference implementation; translation",
    r"soup": "triangle list",
    r"deaf": "signals blocked",
    r"farthest|(?:in|out of) reach": "largest, out of range",
    r"what a file may claim": "limits for untrusted input",
    r"a fault of ours": "a bug",
    r"keys that do not rise": "key times are not increasing",
    r"for looking": "view-only",
    r"the tick": "the checkbox",
    r"on the mean": "on average",
    r"(?:evidence|core|terrain) page": "a link to the page that states the fact",
    r"one behind the other": "one after the other",
    r"(?<![\d,.])1 (?:models|files|textures|materials|nodes|parts|triangles|changes|warnings)": (
        "converter.errors.plural"
    ),
}
#: The same for Russian pages: stems, and the words of the glossary.
RUSSIAN = {
    r"находк[аи]|находкой|находкам": "замечание",
    r"з(?:вать|овут|овёт) узл?\w*": "обращаться к узлу по имени",
    r"ни с кем не делит": "монопольно",
    r"обходится без этого": "показывается без них",
    r"ушёл тот, кто": "программа закрылась",
    r"(?:кажд(?:ый|ого)|ни|такой|перечисляет) ключи? ?(?:с примером|команды|, ни|не нужен)": "параметр",
    r"(?:мою|моих|ре[жш]ет|гнут|узнаётся по|другие|любой|его|её) сет(?:ку|ок|ке|ки)": "меш",
    r"пользовательск\w+ свойств": "настраиваемое свойство, как в Blender",
    r"структур\w+ проекта": "аутлайнер, как в Blender",
    r"экшен": "действие, как в Blender",
    r"аксессор|чанк|сэмплер": "accessor, блок, sampler",
    r"транзакци": "изменение",
    r"преобраз(?:уйте|уется|ован[оа]?\b)": "конвертировать",
    r"перестро(?:ен|ить|йте)": "построить заново",
    r"код\w* (?:выхода|возврата)": "код завершения",
    r"(?:поставьте|снимите|снят|с) флажок": "галочка",
    r"режим\w* рисования": "способ рисования",
    r"\bхеш|дайджест": "контрольная сумма",
}
#: Where a word is a name that others gave, or has its plain sense.
ALLOWED = {
    "roads": ["from tests.fuzz.roads", "tests/fuzz/roads", "ROADS", "road.svg"],
    "soup": ["soup_", "random_soup"],
    "twins": ["test_twins", "Twin.msh", "TWIN.MSH"],
}
#: This list itself, and files that no one writes by hand.
SKIPPED = re.compile(
    r"tests/docs/test_language\.py|.*\.ru\.md|viewer/.*|.*\.(?:json|glb|gltf|lock|svg)"
    r"|converter/game/site/.*|tests/data/.*|LICENSE"
)


def written() -> list[Path]:
    """Every file that people read, as git knows them."""
    done = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        pytest.skip("not a git checkout")
    endings = (".py", ".md", ".toml", ".yml", ".svg")
    names = [name for name in done.stdout.splitlines() if name.endswith(endings)]
    return [ROOT / name for name in names if not SKIPPED.fullmatch(name)]


def test_no_private_words() -> None:
    words = re.compile("|".join(rf"(?P<w{i}>\b(?:{word})\b)" for i, word in enumerate(PRIVATE)), re.IGNORECASE)
    plain = [name for names in ALLOWED.values() for name in names]
    instead = list(PRIVATE.values())
    found = []
    for path in written():
        if not path.is_file():  # removed, and not committed yet
            continue
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
            for name in plain:
                line = line.replace(name, "")
            for match in words.finditer(line):
                better = instead[int(str(match.lastgroup)[1:])]
                place = path.relative_to(ROOT).as_posix()
                found.append(f"{place}:{number}: {match[0]!r}: write {better}")
    assert not found, "\n".join(found)


def test_russian_pages_use_the_words_of_the_glossary() -> None:
    words = re.compile("|".join(RUSSIAN), re.IGNORECASE)
    pages = [*ROOT.glob("*.ru.md"), *(ROOT / "docs").rglob("*.ru.md"), *(ROOT / "docs").rglob("russian.toml")]
    pages += [ROOT / "converter/ru.po", ROOT / "blender_extension/addon/ru.po"]
    texts = {page: " ".join(page.read_text("utf-8").split()) for page in pages}
    found = [
        f"{page.name}: {match[0]}: write {next(v for k, v in RUSSIAN.items() if re.search(k, match[0], re.I))}"
        for page, text in texts.items()
        for match in words.finditer(text)
    ]
    assert len(pages) > 40
    assert not found
    assert words.search("По имени могут звать узел.")
