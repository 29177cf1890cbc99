"""The guide shows the decorators of each recipe as in its file, and every family of decorators has a recipe."""

import re
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "docs" / "guides" / "recipes.md").read_text("utf-8")
RECIPES = sorted((ROOT / "deploy" / "examples" / "recipes").glob("*.yaml"))
README = (ROOT / "README.md").read_text("utf-8").partition("\n## Decorators\n")[2].partition("\n## ")[0]
INDEX = (ROOT / "deploy" / "examples" / "recipes" / "README.md").read_text("utf-8")


def decorators_of(file: Path) -> str:
    [decorators] = re.findall(r"^    decorators:\n(?:      .*\n)+", file.read_text("utf-8"), re.MULTILINE)
    return textwrap.dedent(decorators)


def kinds_of(row: str, text: str) -> dict[str, set[str]]:
    return {family: set(re.findall(r"`(\w+)`", kinds)) for family, kinds in re.findall(row, text, re.MULTILINE)}


@pytest.mark.parametrize("file", RECIPES, ids=lambda file: file.stem)
def test_guide_shows_the_decorators_of_the_recipe(file: Path) -> None:
    link = f"[{file.name}](../../deploy/examples/recipes/{file.name}):\n\n"
    assert GUIDE.partition(link)[2].partition("\n```\n")[0] == f"```yaml\n{decorators_of(file).rstrip()}"


def test_guide_shows_nothing_else() -> None:
    assert GUIDE.count("```yaml\n") == len(RECIPES)


def test_index_lists_the_decorators_of_each_recipe() -> None:
    listed = dict(re.findall(r"^\| `(.*)` \| \w+ \| (.*) \|$", INDEX, re.MULTILINE))
    kinds = {file.name: re.findall(r"^  - (\w+):", decorators_of(file), re.MULTILINE) for file in RECIPES}
    assert listed == {name: " ".join(f"`{kind}`" for kind in dict.fromkeys(found)) for name, found in kinds.items()}


def test_every_family_has_a_recipe_with_at_least_two_of_its_decorators() -> None:
    families = kinds_of(r"^\| (\w+) \| (`.*) \|$", README)
    recipes = kinds_of(r"^\| `.*` \| (\w+) \| (.*) \|$", INDEX)
    assert recipes.keys() == families.keys()
    assert {name: len(recipes[name] & families[name]) > 1 for name in families} == dict.fromkeys(families, True)
