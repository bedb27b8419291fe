"""Settings file: its values as text, with their line numbers.

The file is composed into nodes and never constructed: it cannot name a Python type, an alias is never
expanded more than two levels, and a scalar keeps its text as written. Anything other than a mapping of
sections of scalars is a problem with a line. Some internal errors of PyYAML escape on hostile input; they are
caught by name.
"""

import re
from collections.abc import Iterator
from typing import Final

import yaml

from dray.settings.problems import Origin, Problem, named
from dray.settings.schema import Schema, Section
from dray.settings.source_values import Reading, unknown_key, unknown_section

SETTINGS_BYTES_MAX: Final = 1 << 20

_YAML: Final = "tag:yaml.org,2002:"
_PLAIN_TAGS: Final = frozenset(
    _YAML + name for name in ("null", "bool", "int", "float", "str", "timestamp", "merge", "value")
)
_QUOTE: Final = re.compile(r"(['\"])(?!<)[^'\"]{2,}\1")


def read_yaml(name: str, data: bytes, schema: Schema) -> Reading:
    """Read the settings in `data`; `name` is the file's name in problems and origins."""
    reading = Reading()
    if len(data) > SETTINGS_BYTES_MAX:
        reading.problems.append(Problem(Origin("file", name), "the settings file is larger than 1 MiB"))
        return reading
    try:
        root: yaml.Node | None = yaml.compose(data, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        reading.problems.append(Problem(_origin_of(name, error), f"invalid YAML: {_reason(error)}"))
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError):
        what = "invalid YAML: invalid characters, a huge number or endless nesting"
        reading.problems.append(Problem(Origin("file", name), what))
    else:
        _read_root(name, root, schema, reading)
    return reading


def _origin_of(name: str, error: yaml.MarkedYAMLError) -> Origin:
    mark = error.problem_mark or error.context_mark
    return Origin("file", name, None if mark is None else mark.line + 1)


def _reason(error: yaml.MarkedYAMLError) -> str:
    """Return the cause without quoting the file, because the quoted part may belong to a secret."""
    return _QUOTE.sub("'…'", error.problem or error.context or "unknown cause")


def _read_root(name: str, root: yaml.Node | None, schema: Schema, reading: Reading) -> None:
    if root is None or _is_null(root):
        return
    if not isinstance(root, yaml.MappingNode):
        what = f"the file must be a mapping of sections ({', '.join(schema.sections)})"
        reading.problems.append(Problem(_at(name, root), what))
        return
    for section_name, key_node, value in _items(name, root, reading):
        section = schema.sections.get(section_name)
        if section is None:
            reading.problems.append(unknown_section(_at(name, key_node), section_name, schema))
        else:
            _read_section(name, section, value, schema, reading)


def _read_section(name: str, section: Section, node: yaml.Node, schema: Schema, reading: Reading) -> None:
    if _is_null(node):
        return
    if not isinstance(node, yaml.MappingNode):
        what = f"{section.name} must be a mapping of settings ({', '.join(section.fields)})"
        reading.problems.append(Problem(_at(name, node), what))
        return
    for key, key_node, value in _items(name, node, reading):
        origin = _at(name, key_node)
        target = section.target(key)
        if target is None:
            text = value.value if isinstance(value, yaml.ScalarNode) else None
            reading.problems.append(unknown_key(origin, f"{section.name}.{key}", text, schema))
        elif (fault := _fault(value)) is not None:
            reading.problems.append(
                Problem(origin, f"{target.path} {fault}; expected {target.field.allowed}")
            )
        else:
            reading.add(target, None if _is_null(value) else value.value, origin)


def _items(name: str, node: yaml.MappingNode, reading: Reading) -> Iterator[tuple[str, yaml.Node, yaml.Node]]:
    first: dict[str, yaml.Node] = {}
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            reading.problems.append(Problem(_at(name, key), "a key must be a scalar"))
        elif key.value in first:
            line = first[key.value].start_mark.line + 1
            what = f"duplicate key {named(key.value)}; first defined on line {line}"
            reading.problems.append(Problem(_at(name, key), what))
        else:
            first[key.value] = key
            yield key.value, key, value


def _fault(node: yaml.Node) -> str | None:
    if isinstance(node, yaml.MappingNode):
        return "is a mapping"
    if isinstance(node, yaml.SequenceNode):
        return "is a list"
    return None if node.tag in _PLAIN_TAGS else "has a tag (quote a value that begins with '!')"


def _is_null(node: yaml.Node) -> bool:
    return isinstance(node, yaml.ScalarNode) and node.tag == _YAML + "null"


def _at(name: str, node: yaml.Node) -> Origin:
    return Origin("file", name, node.start_mark.line + 1)
