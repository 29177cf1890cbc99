"""The guide shows the steps of the recipes as they stand in their files, and there is a recipe for every family."""

import re
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "docs" / "guides" / "recipes.md").read_text("utf-8")
RECIPES = sorted((ROOT / "deploy" / "examples" / "recipes").glob("*.yaml"))
README = (ROOT / "README.md").read_text("utf-8").partition("\n## Decorators\n")[2].partition("\n## ")[0]
INDEX = (ROOT / "deploy" / "examples" / "recipes" / "README.md").read_text("utf-8")


def steps_of(file: Path) -> str:
    [steps] = re.findall(r"^    decorators:\n(?:      .*\n)+", file.read_text("utf-8"), re.MULTILINE)
    return textwrap.dedent(steps)


def kinds_of(row: str, text: str) -> dict[str, set[str]]:
    return {family: set(re.findall(r"`(\w+)`", kinds)) for family, kinds in re.findall(row, text, re.MULTILINE)}


@pytest.mark.parametrize("file", RECIPES, ids=lambda file: file.stem)
def test_guide_shows_the_steps_of_the_recipe(file: Path) -> None:
    link = f"[{file.name}](../../deploy/examples/recipes/{file.name}):\n\n"
    assert GUIDE.partition(link)[2].partition("\n```\n")[0] == f"```yaml\n{steps_of(file).rstrip()}"


def test_guide_shows_nothing_else() -> None:
    assert GUIDE.count("```yaml\n") == len(RECIPES)


def test_index_lists_the_steps_of_each() -> None:
    listed = dict(re.findall(r"^\| `(.*)` \| \w+ \| (.*) \|$", INDEX, re.MULTILINE))
    found = {file.name: dict.fromkeys(re.findall(r"^  - (\w+):", steps_of(file), re.MULTILINE)) for file in RECIPES}
    assert listed == {name: " ".join(f"`{kind}`" for kind in kinds) for name, kinds in found.items()}


def test_every_family_has_a_recipe_with_two_of_its_steps_at_least() -> None:
    families = kinds_of(r"^\| (\w+) \| (`.*) \|$", README)
    recipes = kinds_of(r"^\| `.*` \| (\w+) \| (.*) \|$", INDEX)
    assert recipes.keys() == families.keys()
    assert {name: len(recipes[name] & families[name]) > 1 for name in families} == dict.fromkeys(families, True)
