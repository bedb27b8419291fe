"""Problems with settings: key, value, place and what is allowed; all at once; never a secret."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.settings.problems import SettingsError
from dray.settings.secret import Secret
from tests.settings.sources import SCHEMA, Writer, loaded, writer


def problems(
    yaml: str | bytes = "", env: dict[str, str] | None = None, pairs: list[str] | None = None
) -> list[str]:
    with pytest.raises(SettingsError) as caught:
        loaded(yaml, env, pairs=pairs or [])
    return str(caught.value).split("\n")


def reported(
    yaml: str | bytes = "", env: dict[str, str] | None = None, pairs: list[str] | None = None
) -> list[str]:
    """Return the lines of all problems, one each; none if there is no problem."""
    try:
        loaded(yaml, env, pairs=pairs or [])
    except SettingsError as error:
        lines = [str(problem) for problem in error.problems]
        return lines if lines == str(error).split("\n") else ["a problem took more than one line"]
    return []


WRONG = {
    "writer:\n  linger_ms: 5 parsecs": (
        "dray.yaml:2: writer.linger_ms: '5 parsecs' is not allowed; "
        "expected a duration such as 500ms, 5s or 10m, or a number of milliseconds, 0 to 1m"
    ),
    "writer: {linger_ms: 2m}": "'2m' is not allowed",
    "writer: {flush_bytes: 1}": "expected a size such as 8MiB, or a number of bytes, 1KiB to 1024TiB",
    "writer: {workers: 0}": "'0' is not allowed; expected integer, 1 to 2147483647",
    "writer: {workers: 2.0}": "'2.0' is not allowed",
    "writer: {workers: }": "dray.yaml:1: writer.workers: it is empty; expected integer, 1 to 2147483647",
    "writer: {ratio: .nan}": "'.nan' is not allowed; expected number, 0 to 1",
    "writer: {ratio: inf}": "'inf' is not allowed",
    "writer: {eager: yes}": "'yes' is not allowed; expected true or false",
    "writer: {mode: quick}": "'quick' is not allowed; expected fast or slow",
    "writer: {name: abcdefghij}": "'abcdefghij' is not allowed",
    'writer: {zone: "a\\nb"}': r"'a\nb' is not allowed",
    'writer: {zone: ""}': "'' is not allowed",
    "writer: {zone: [a]}": "writer.zone is a list; expected text",
    "writer: {zone: {a: b}}": "writer.zone is a mapping",
    "writer: {zone: !a b}": "writer.zone has a tag (quote a value that begins with '!')",
    "writer: 5": "dray.yaml:1: writer must be a mapping of settings (name, linger_ms,",
    "[writer]": "dray.yaml:1: the file must be a mapping of sections (writer)",
    "writer: {eager: true}": "dray.yaml:1: writer: eager needs linger_ms 0",
    "writer:\n  zone: a\n  name: b\n  zone: c": "dray.yaml:4: duplicate key zone; first defined on line 2",
    "writer: {}\nwriter: {}": "dray.yaml:2: duplicate key writer; first defined on line 1",
    "? [a]\n: b": "dray.yaml:1: a key must be a scalar",
    "writer:\n  linger_msec: 5": (
        "dray.yaml:2: unknown setting writer.linger_msec (value '5'); did you mean linger_ms?; writer has "
    ),
    "wrtier: {}": "dray.yaml:1: unknown section wrtier; did you mean writer?; sections are writer",
    "linger_ms: 5": "unknown section linger_ms; did you mean writer.linger_ms?",
    "<<: {writer: {}}": "unknown section <<",
    "writer: {": "dray.yaml:1: invalid YAML: ",
    "a: b: c": "dray.yaml:1: invalid YAML: mapping values are not allowed here",
    "writer: {}\n---\nwriter: {}": "dray.yaml:2: invalid YAML: but found another document",
    '"\\UFFFFFFFF"': "dray.yaml: invalid YAML: ",
    "[" * 20_000: "endless nesting",
    "#" * (1 << 20) + "\n": "dray.yaml: the settings file is larger than 1 MiB",
}


@pytest.mark.parametrize(("yaml", "expected"), WRONG.items(), ids=lambda text: text[:30])
def test_invalid_file_gives_one_line(yaml: str, expected: str) -> None:
    (line,) = problems(yaml)
    assert expected in line
    assert line.startswith("dray.yaml")


def test_file_that_is_not_utf8_is_refused() -> None:
    assert problems(b"\xff\xfe\x00") == problems(b"writer: \x00")


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({"DRAY_WRITER_WORKERS": "x"}, "env DRAY_WRITER_WORKERS: writer.workers: 'x' is not allowed"),
        (
            {"DRAY_WRITER_LINGERMS": "5"},
            ("env DRAY_WRITER_LINGERMS: unknown variable (value '5'); did you mean DRAY_WRITER_LINGER_MS?"),
        ),
        ({"DRAY_HTTP_PORT": "8090"}, "env DRAY_HTTP_PORT: unknown variable"),
    ],
)
def test_invalid_variable_is_reported(env: dict[str, str], expected: str) -> None:
    (line,) = problems(env=env)
    assert line.startswith(expected)


@pytest.mark.parametrize(
    ("pair", "expected"),
    [
        ("writer.workers", "flag --set: 'writer.workers' has no value; write --set SECTION.KEY=VALUE"),
        ("writer.worker=1", "flag --set: unknown setting writer.worker (value '1'); did you mean workers?"),
        (
            "workers=1",
            "flag --set: unknown setting workers (value '1'); did you mean writer.workers?; sections are",
        ),
        ("writer.workers=0", "flag --set: writer.workers: '0' is not allowed"),
        ("writer.password=hunter2", "flag --set: writer.password is a secret, and every user"),
    ],
)
def test_invalid_flag_is_reported(pair: str, expected: str) -> None:
    (line,) = problems(pairs=[pair])
    assert line.startswith(expected)
    assert "hunter2" not in line


def test_unrelated_variables_are_ignored() -> None:
    ignored = {
        "DRAY_CONFIG": "x",
        "DRAY_DEBUG": "1",
        "PATH": "/bin",
        "DRAYAGE": "x",
        "DRAY_SERVICE_HOST": "10.0.0.1",
        "DRAY_SERVICE_PORT_KAFKA": "9092",
        "DRAY_PORT": "tcp://10.0.0.1:9092",
        "DRAY_BROKER_PORT_9092_TCP_ADDR": "10.0.0.1",
    }
    assert loaded(env=ignored).origins == {}


def test_all_problems_are_reported_together() -> None:
    lines = problems(
        "writer: {workers: 0, speed: 1}\nx: 1",
        {"DRAY_WRITER_RATIO": "2", "DRAY_X": ""},
        ["writer.mode=odd", "a"],
    )
    origins = [line.split(": ")[0] for line in lines]
    assert origins == [
        "dray.yaml:1",
        "dray.yaml:1",
        "dray.yaml:2",
        "env DRAY_X",
        "env DRAY_WRITER_RATIO",
        "flag --set",
        "flag --set",
    ]


def test_overridden_value_is_validated_too() -> None:
    assert "'0' is not allowed" in problems("writer: {workers: 0}", {"DRAY_WRITER_WORKERS": "1"})[0]


@pytest.mark.parametrize(
    "yaml",
    [
        'writer: {password: "hunter2\\n"}',
        "writer: {password: [hunter2]}",
        "writer: {password: {hunter2: hunter2}}",
        "writer: {password: !hunter2 x}",
        "writer: {password: *hunter2}",
        "writer: {pasword: hunter2}",
        "writer: {password: 'hunter2}",
        'writer: {password: "\\hunter2"}',
        "writer: {password: hunter2, password: hunter2}",
        "writer: {eager: true, password: hunter2}",
        "writer: {zone: 's3://user:hunter2@bucket\\x00'}\nwriters: 1",
    ],
)
def test_secret_is_never_printed(yaml: str) -> None:
    assert "hunter2" not in "\n".join(problems(yaml))


@pytest.mark.parametrize(
    "name", ["DRAY_WRITER_PASSWROD", "DRAY_PSSWORD", "DRAY_WRITER_PASS", "DRAY_WRITER_SECRET"]
)
def test_value_of_a_misspelled_secret_is_never_printed(name: str) -> None:
    assert "hunter2" not in problems(env={name: "hunter2"})[0]
    flag = name.lower().removeprefix("dray_").replace("_", ".", 1)
    assert "hunter2" not in problems(pairs=[f"{flag}=hunter2"])[0]


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ("file:/run/none", "cannot read the file that it refers to, '/run/none': No such file or directory"),
        (
            "file:/run/empty",
            "the file that it refers to, '/run/empty', is empty or contains unprintable characters",
        ),
        ("***", "it is ***, the mask of a printed secret; set the secret itself"),
    ],
)
def test_unreadable_secret_is_reported(reference: str, expected: str) -> None:
    assert problems(env={"DRAY_WRITER_PASSWORD": reference}) == [
        f"env DRAY_WRITER_PASSWORD: writer.password: {expected}"
    ]


def test_secret_is_masked_in_repr_and_str() -> None:
    settings = writer("writer: {password: hunter2}")
    assert settings.password == Secret("hunter2") != Secret("hunter3")
    assert "hunter2" not in f"{settings} {settings.password} {settings.password!r} {settings!r}"
    assert "password=***" in repr(settings)


YAML_WORDS = [
    "writer",
    "zone",
    "password",
    ":",
    "[",
    "]",
    "{",
    "}",
    ",",
    "&a",
    "*a",
    "!!binary",
    "!x",
    "'",
    '"',
    "\\",
    "|",
    ">",
    "-",
    "---",
    "...",
    "<<",
    "?",
    "#",
    "0",
    "~",
    "é",
    "\\U",
    "%YAML",
    "%TAG",
]
YAML_PIECES = st.sampled_from([*YAML_WORDS, " ", "  ", "\n", "\t", "\x85", ": ", "- "])


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode) | st.lists(YAML_PIECES).map("".join))
def test_any_file_is_read_or_refused(data: str | bytes) -> None:
    lines = reported(data)
    assert all(line.startswith("dray.yaml") for line in lines)
    assert lines or set(loaded(data).origins) <= {field.path for field in SCHEMA.fields()}


NAMES = st.sampled_from([*Writer.__struct_fields__, "x"])


@given(st.dictionaries(NAMES, st.text(max_size=40)))
def test_any_text_is_a_value_or_refused_in_every_source(texts: dict[str, str]) -> None:
    env = {f"DRAY_WRITER_{key.upper()}": text for key, text in texts.items()}
    pairs = [f"writer.{key}={text}" for key, text in texts.items()]
    assert reported(env=env) or len(loaded(env=env).origins) == len(texts)
    assert reported(pairs=pairs) or len(loaded(pairs=pairs).origins) == len(texts)
