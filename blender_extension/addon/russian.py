"""The extension in Russian. Nothing here imports Blender, so that a test can go through all texts.

``{}`` stands for what a message fills in. The terms are those of the Russian guides and of Blender's own interface.
"""

from __future__ import annotations

import re
from functools import lru_cache

#: What the extension shows -> the same in Russian.
TEXTS = {
    # menus, buttons, panels
    "Parkan MSH": "Parkan MSH",
    "Parkan MSH (.msh)": "Parkan MSH (.msh)",
    "Parkan MSH (.msh, .rlb, .map, .dat, .tma)": "Parkan MSH (.msh, .rlb, .map, .dat, .tma)",
    "Import MSH": "Импорт MSH",
    "Export MSH": "Экспорт MSH",
    "Model": "Модель",
    "Model of the Archive": "Модель из архива",
    "Not an imported model": "Модель не импортирована",
    "Export as a New Model": "Экспортировать как новую модель",
    "Put Back Into the Game": "Вернуть в игру",
    "Put Back on Save": "Возвращать при сохранении",
    "Put this scene back into the game whenever the .blend is saved in it": "Возвращать эту сцену в игру каждый раз, "
    "когда в ней сохраняют .blend",
    "Put Into the Game": "Поставить в игру",
    "Make Asset Library": "Создать библиотеку ассетов",
    "Parkan Asset Library (.blend)": "Библиотека ассетов Parkan (.blend)",
    "Blend Without the Game's Originals (.blend)": "Blend без исходных данных игры (.blend)",
    "Save a Copy Without Originals": "Сохранить копию без исходных данных",
    "Selected Object": "Выбранный объект",
    "Report": "Отчёт",
    "Game": "Игра",
    "Status": "Состояние",
    "Undo in the Game": "Отменить в игре",
    "Find the Game": "Найти игру",
    "Edit This Model": "Править эту модель",
    "Done": "Готово",
    "Done Editing This Model": "Закончить правку модели",
    # tooltips of operators
    "Open models, units, missions, landscapes and areal maps of Parkan: Iron Strategy": (
        "Открыть модели, юниты, миссии, ландшафты и карты ареалов игры «Паркан. Железная стратегия»"
    ),
    "Choose a model of an archive": "Выбрать модель из архива",
    "Write the scene as a model of Parkan: Iron Strategy": (
        "Записать сцену как модель игры «Паркан. Железная стратегия»"
    ),
    "Write the model, its materials and textures where they came from; undo is in the panel": (
        "Записать модель, её материалы и текстуры туда, откуда они взяты; отмена — в панели"
    ),
    "Put this new model, its materials and textures into the game; undo is in the panel": (
        "Поставить новую модель, её материалы и текстуры в игру; отмена — в панели"
    ),
    "Write every model and unit of the game into a .blend for the Asset Browser": (
        "Записать все модели и юниты игры в .blend для браузера ассетов"
    ),
    "Show what differs from the originals of the game": "Показать, что отличается от исходных файлов игры",
    "Take the last change of the game back; Blender's undo does not": (
        "Отменить последнее изменение игры; отмена Blender этого не делает"
    ),
    "Say where the game is now: it was moved, or this .blend is from somebody else": (
        "Указать, где теперь игра: её перенесли, или этот .blend получен от другого"
    ),
    "Save a copy without the game's own bytes (the sidecars); what was imported cannot be put back from it": (
        "Сохранить копию без исходных байтов игры (файлов-спутников); вернуть из неё импортированное в игру нельзя"
    ),
    "Make the parts of the selected object selectable where it stands; an edit changes it in all its places": (
        "Сделать части выбранного объекта доступными для выделения на месте; правка меняет его везде, где он стоит"
    ),
    "Let the object be one thing again; every place of it shows what was edited": (
        "Снова сделать объект одним целым; правку покажут все его места"
    ),
    "Make one picture of what nodes make of the material's picture: the game can show that": (
        "Сделать одну картинку из того, что ноды делают с картинкой материала: её игра показать может"
    ),
    "Check Faces": "Проверить грани",
    "Select the faces that the game cannot hold: without area, or across the border of a landscape's square": (
        "Выделить грани, которых игра не удержит: без площади или через границу квадрата ландшафта"
    ),
    "{} without area, {} across a square's border": "{} без площади, через границу квадрата: {}",
    "{} vertices, the game holds {} at most": "вершин: {}, игра держит не больше {}",
    # materials
    "Bake to Texture": "Запечь в текстуру",
    "Material": "Материал",
    "Parkan material": "Материал Parkan",
    "Texture": "Текстура",
    "Texture Alpha": "Альфа текстуры",
    "Colour": "Цвет",
    "Alpha": "Альфа",
    "Own Light": "Собственный свет",
    "Light Texture": "Текстура света",
    "Draw Mode": "Способ рисования",
    "Phases": "Фазы",
    "The picture, a texture of Textures.lib": "Картинка, текстура из Textures.lib",
    "The alpha of the picture; it counts where the draw mode is not 0": (
        "Альфа картинки; учитывается, если способ рисования не 0"
    ),
    "The diffuse colour, which the picture is multiplied by": "Диффузный цвет, на который умножается картинка",
    "How opaque the material is": "Насколько материал непрозрачен",
    "The light of its own (ambient), which goes through the picture": (
        "Собственный свет (ambient), он идёт через картинку"
    ),
    "The picture again, or the lightmap": "Снова картинка или карта освещения",
    "0: opaque, 1: with holes, 2: blended, 3: added to what is behind": (
        "0: непрозрачный, 1: с дырами, 2: смешивается, 3: прибавляется к тому, что сзади"
    ),
    "How many phases an animated material has; the first one is shown": (
        "Сколько фаз у анимированного материала; видна первая"
    ),
    "the game has no node {}": "в игре нет ноды {}",
    "material {} has no picture, and nothing to bake": "у материала {} нет картинки, запекать нечего",
    # settings
    "Game Folder": "Папка игры",
    "Textures are looked for here, before the model's own folder": (
        "Текстуры ищутся здесь, прежде чем в папке самой модели"
    ),
    "Where the game is now, if it is not where the model was imported from": (
        "Где теперь игра, если не там, откуда импортирована модель"
    ),
    "The folder with objects.rlb; empty: that of the preferences": "Папка с objects.rlb; пусто: та, что в настройках",
    "Dialect": "Диалект",
    "How to read and write the fields that readers of the game disagree on": (
        "Как читать и писать поля, о которых программы, читающие игру, спорят"
    ),
    "Automatic": "Автоматически",
    "Decided from the file": "Определяется по файлу",
    "Spec": "Spec",
    "As the specification has them": "Как в спецификации",
    "Retail": "Retail",
    "As the files of the retail game have them": "Как в файлах вышедшей игры",
    "Textures": "Текстуры",
    "Look for the game's materials and textures": "Искать материалы и текстуры игры",
    "Entry": "Запись",
    "Which model of an archive, by name or number; empty: choose from a list": (
        "Какая модель архива, по имени или номеру; пусто: выбрать из списка"
    ),
    "Rebuild Everything": "Построить всё заново",
    "Make a new model of what is seen, and leave the imported one aside": (
        "Сделать новую модель из того, что видно, без импортированной"
    ),
    "Archive": "Архив",
    "The archive of the game that gets the model, such as static.rlb": (
        "Архив игры, в который попадёт модель, например static.rlb"
    ),
    "Name": "Имя",
    "What the model is called there": "Как модель там называется",
    "Object Key": "Ключ объекта",
    "What missions and units can place it as, by its name": "Чем её ставят миссии и юниты, по её имени",
    "None": "Нет",
    "Missions and units cannot place it": "Миссии и юниты не могут её поставить",
    "Scenery ({})": "Окружение ({})",
    "Internal part ({})": "Внутренняя деталь ({})",
    "External part ({})": "Внешняя деталь ({})",
    "Projectile ({})": "Снаряд ({})",
    "Creature ({})": "Существо ({})",
    "Building ({})": "Здание ({})",
    "Weapon ({})": "Оружие ({})",
    "Sun ({})": "Солнце ({})",
    "Own Materials": "Собственные материалы",
    "Put changed materials back as copies that only this model uses": (
        "Возвращать изменённые материалы как копии, которые использует только эта модель"
    ),
    "Stage": "Стадия",
    "The damage stage that is shown; 0: whole": "Какая стадия повреждения видна; 0: целая модель",
    "Level": "Уровень",
    "The level of detail that is shown; 0: the finest, 4: the unit's own view": (
        "Какой уровень детализации виден; 0: самый подробный, 4: собственный вид юнита"
    ),
    "Change": "Изменение",
    "Which one; 0: the last one": "Какое; 0: последнее",
    # fields of objects
    "Shows": "Показывает",
    "What stands here: an object key, or the .dat of a unit or building": (
        "Что здесь стоит: ключ объекта или .dat юнита либо здания"
    ),
    "Clan": "Клан",
    "Number of the clan that it belongs to; dragging it to a clan's collection does the same": (
        "Номер клана, которому он принадлежит; перетаскивание в коллекцию клана делает то же"
    ),
    "Logical ID": "Логический номер",
    "The number by which scripts and other objects name it; -1: none": (
        "Номер, которым его называют скрипты и другие объекты; -1: нет"
    ),
    "Start": "Старт",
    "The start flag of the object": "Стартовый флаг объекта",
    "Host": "Хозяин",
    "Logical ID of the building that it starts in": "Логический номер здания, в котором он появляется",
    "Vertex": "Вершина",
    "The point of that building's paths where it starts": "Точка путей этого здания, в которой он появляется",
    "The object that this part shows": "Объект, который показывает эта часть",
    "Socket": "Гнездо",
    "The node of the part that carries it; -1: none": "Узел части, которая её несёт; -1: нет",
    "Class": "Класс",
    "The class word of the part": "Слово класса части",
    "Label": "Подпись",
    "The label of the part": "Подпись части",
    "Type": "Тип",
    "The class word of the unit": "Слово класса юнита",
    "Inner Radius": "Внутренний радиус",
    "Radius of the inner circle; the scale of the empty is the outer one": (
        "Радиус внутреннего круга; масштаб пустышки — внешний"
    ),
    "Amount": "Количество",
    "How much the lode holds": "Сколько в залежи",
    "What the lode holds": "Что в залежи",
    "Found": "Найдена",
    "Whether the lode is known from the start": "Известна ли залежь с самого начала",
    "Number": "Номер",
    "The number by which the mission names the route": "Номер, которым миссия называет маршрут",
    "Flags": "Флаги",
    "The flags of the node, a 16-bit word": "Флаги узла, 16-битное слово",
    "Triangle Flags": "Флаги треугольников",
    "Of all its triangles; 2: floor, 4: foliage, 16: door, 32: glass; 0: kept": (
        "Всех его треугольников; 2: пол, 4: листва, 16: дверь, 32: стекло; 0: как было"
    ),
    "The flags of the control point": "Флаги контрольной точки",
    # the panel
    "dialect {}": "диалект {}",
    "the sidecar is missing": "файла-спутника нет",
    "not at 24 fps: plays at another speed": "не 24 кадра в секунду: скорость другая",
    "the game is not where it was": "игра не там, где была",
    "as it was": "как было",
    "{} in force": "в силе {}",
    "nothing was changed here": "здесь ничего не меняли",
    "and {} more": "и ещё {}",
    # reports
    "kept": "сохранено",
    "rebuilt": "построено заново",
    "new": "новое",
    "deleted": "удалено",
    "node {}": "узел {}",
    "part {}": "часть {}",
    "square {}": "квадрат {}",
    "object {}": "объект {}",
    "material {}": "материал {}",
    "mesh {}": "меш {}",
    "scene {}": "сцена {}",
    "component {}": "компонент {}",
    "not applied": "не применено",
    "unchanged, restored byte for byte": "без изменений, восстановлено байт в байт",
    "nothing changed, restored byte for byte": "ничего не изменилось, восстановлено байт в байт",
    "rebuilt from the scene alone, dialect {}": "построено заново по одной сцене, диалект {}",
    "is new": "новое",
    "is deleted": "удалено",
    "is removed": "убрано",
    "moved": "сдвинуто",
    "edited": "правка",
    "the last export failed": "последний экспорт не удался",
    # what an operator did
    "{} has it now": "{}: записано",
    "{} has it already": "{}: там это уже есть",
    "{} has {} now": "{}: теперь в нём есть {}",
    "{} has {} already": "{}: в нём уже есть {}",
    "Write {} in {}?": "Записать {} в {}?",
    "Write {} in {}? What is in {} is switched off, and is written, too.": (
        "Записать {} в {}? То, что в {}, выключено, но тоже будет записано."
    ),
    "Take change {} back: {}?": "Отменить изменение {}: {}?",
    "change {} ({}) is taken back": "изменение {} ({}) отменено",
    "{} is in {}": "{} лежит в {}",
    "{} is saved without {}": "{}: сохранено без: {}",
    "from {}": "из {}",
    "replaced change {} of the game, which another copy of this .blend put there, or this one before it was opened "
    "again; Undo in the panel brings it back": (
        "заменено изменение {} игры, которое внесла другая копия этого .blend или этот же, прежде чем его открыли "
        "снова; вернёт его отмена в панели"
    ),
    "entries for the game's Material.lib and Textures.lib": "записи для Material.lib и Textures.lib игры",
    "Put Back Into the Game writes them there": "«Вернуть в игру» запишет их туда",
    "{} was another one, perhaps of another model; the game's history has it": (
        "{} был другим, возможно, от другой модели; он есть в истории игры"
    ),
    # errors and what to do
    "no file is named": "не указан файл",
    "no archive is named": "не указан архив",
    "no game's folder is named": "не указана папка игры",
    "choose one of the game": "выберите архив игры",
    "choose another name": "выберите другое имя",
    "choose another name for the copy": "выберите другое имя для копии",
    "delete it and export again to replace it": "чтобы заменить, удалите его и экспортируйте снова",
    "has no models and no units": "нет ни моделей, ни юнитов",
    "no object key: missions cannot place it": "нет ключа объекта: миссии не могут его поставить",
    "{} is a {}, not one model": "{} — это {}, а не одна модель",
    "scene {} is empty": "сцена {} пуста",
    "untick Rebuild Everything": "снимите флажок «Построить всё заново»",
    "node {} has flags beyond 16 bits": "у узла {} флаги больше 16 бит",
    "has lines": "в нём есть линии",
    "the game draws nothing but triangles": "игра рисует только треугольники",
    "delete them, or make faces of them": "удалите их или сделайте из них грани",
    "is not where it was": "не там, где был",
    "is not in {} either": "нет и в {}",
    "choose the game's folder with Find the Game": "укажите папку игры кнопкой «Найти игру»",
    "name the game's folder in Edit > Preferences > Add-ons > MSH": (
        "укажите папку игры в Правка > Настройки > Аддоны > MSH"
    ),
    "name another in Edit > Preferences > Add-ons > MSH": "укажите другую в Правка > Настройки > Аддоны > MSH",
    "the game's folder is not there": "папки игры нет на месте",
    "is the open file, which needs its sidecars": "это открытый файл, ему нужны его файлы-спутники",
    "archive holds {} models": "моделей в архиве: {}",
    "one of {}": "одна из {}",
    "lies in no game: no folder around it has objects.rlb": ("лежит вне игры: ни в одной папке вокруг нет objects.rlb"),
    "has no objects.rlb": "нет objects.rlb",
    "{}, which is not part of the extension": "{}, чего в расширении нет",
    "a new material is called like several of the model's: use one of those, or call it material_ROW, after its row of "
    "the .wea": (
        "новый материал назван как несколько материалов модели: возьмите один из них или назовите его "
        "material_СТРОКА, по его строке в .wea"
    ),
    "the sidecar of scene {} is missing from this .blend": "в этом .blend нет файла-спутника сцены {}",
    "import the model again, or tick Rebuild Everything": (
        "импортируйте модель снова или поставьте флажок «Построить всё заново»"
    ),
    "the sidecar text {} unpacks to far more than it holds": (
        "текст файла-спутника {} распаковывается в намного большее, чем он хранит"
    ),
    "at most {} times its size": "не больше чем в {} раз",
    "it is not one that the extension made; import the model again": (
        "его сделало не расширение; импортируйте модель снова"
    ),
    "the sidecar text {} was edited": "текст файла-спутника {} правили",
    "undo that, or import the model again": "отмените это или импортируйте модель снова",
    # what the game cannot show
    "is animated": "анимирован",
    "a model has one look": "у модели один вид",
    "delete its keys and drivers": "удалите его ключи и драйверы",
    "has a node {} between its picture and its shader": "между картинкой и шейдером стоит нода {}",
    "the game has no such thing, and it is left out": "в игре такого нет, и она пропускается",
    "bake it into the picture (Bake to Texture), or take it out": (
        "запеките её в картинку («Запечь в текстуру») или уберите"
    ),
    "has another Draw Mode or Phases": "другой способ рисования или другие фазы",
    "whether a material is added to what is behind it, and its phases, are not changed from here": (
        "прибавляется ли материал к тому, что сзади, и его фазы отсюда не меняются"
    ),
    "put the old value back": "верните прежнее значение",
    "has keys of {}": "есть ключи {}",
    "models of the game move, and nothing else of them changes": (
        "модели игры движутся, и больше ничего в них не меняется"
    ),
    "delete these keys": "удалите эти ключи",
    "is moved by a constraint": "его двигает ограничитель",
    "is moved by a driver": "его двигает драйвер",
    "only keys make motion, and other frames are up to {} away from the pose that was read": (
        "движение дают только ключи, а другие кадры отстоят от прочитанной позы до {}"
    ),
    "Object > Animation > Bake Action makes keys": "ключи создаёт Объект > Анимация > Запечь экшен",
    "changes its shape with time": "меняет форму со временем",
    "shapes of models do not change, and that of the current frame was read": (
        "форма моделей не меняется, прочитана форма текущего кадра"
    ),
    "move nodes of their own": "двигайте отдельные узлы",
    # what a file holds
    "unit": "юнит",
    "mission": "миссия",
}
#: A number of what -> that in Russian, where the number comes last.
COUNTS = {
    "byte": "байт",
    "change": "изменений",
    "not applied": "не применено",
    "kept": "сохранено",
    "rebuilt": "построено заново",
    "new": "новых",
    "deleted": "удалено",
    "node": "узлов",
    "part": "частей",
    "triangle": "треугольников",
    "frame": "кадров",
    "component": "компонентов",
    "object": "объектов",
    "model": "моделей",
    "place": "мест",
    "asset": "ассетов",
    "sidecar": "файлов-спутников",
    "vertice": "вершин",
    "areal": "ареалов",
    "fine": "подробных",
    "square": "квадратов",
    "face": "граней",
}
_COUNT = re.compile(r"([\d,]+) (.+?)")
#: Where a message is put together of several: ``FILE: problem (expected VALUE); what to do``.
_JOINTS = ("; ", ": ", " (expected ", ", ")
_EXPECTED = {" (expected ": " (ожидается "}
_PATTERNS = [
    (re.compile(re.escape(text).replace(r"\{\}", "((?:(?!; ).)+?)"), re.DOTALL), text)
    for text in sorted(TEXTS, key=len, reverse=True)
    if "{}" in text
]


@lru_cache(maxsize=4096)
def in_russian(text: str) -> str:
    """Return a text of the extension in Russian; what is not one of those stays, part by part."""
    if text in TEXTS:
        return TEXTS[text]
    count = _COUNT.fullmatch(text)
    if count is not None:
        noun = count[2] if count[2] in COUNTS else count[2].removesuffix("s")
        if noun in COUNTS:
            return f"{COUNTS[noun]}: {count[1]}"
    for pattern, key in _PATTERNS:
        found = pattern.fullmatch(text)
        if found is not None:
            return TEXTS[key].format(*map(in_russian, found.groups()))
    for joint in _JOINTS:
        head, found_joint, rest = text.partition(joint)
        if found_joint:
            return f"{in_russian(head)}{_EXPECTED.get(joint, joint)}{in_russian(rest)}"
    return text
