"""The names that the decorators and sinks of an old version of a pipeline have in a comparison with a new one."""

from ingest.config.pairing import Components, same_components
from ingest.plan.plan import Plan


def new_names(old: Plan, new: Plan) -> dict[str, str]:
    """
    The names that decorators and sinks of the old version have in a comparison: those of the new version.

    One that the new version does not have (`same_components`), and whose name belongs to another component there, has
    `(old)` after it. All others keep their names.
    """
    return _renamed(old.decorators, new.decorators) | _renamed(old.sinks, new.sinks)


def _renamed(old: Components, new: Components) -> dict[str, str]:
    same, taken = same_components(old, new), {each.name for each in new}
    names = {old[one].name: new[other].name for one, other in same.items()}
    return names | {one.name: f"{one.name} (old)" for one in old if one.name not in names and one.name in taken}
