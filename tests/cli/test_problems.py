"""What is wrong is told: the key, the value, the place, what is allowed; all at once; never a secret."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.cli.settings.problems import SettingsError
from dray.cli.settings.secret import Secret
from tests.cli.sources import SCHEMA, Pump, loaded, pump


def problems(
    yaml: str | bytes = "", env: dict[str, str] | None = None, pairs: list[str] | None = None
) -> list[str]:
    with pytest.raises(SettingsError) as caught:
        loaded(yaml, env, pairs=pairs or [])
    return str(caught.value).split("\n")


def told(
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
    "pump:\n  linger_ms: 5 parsecs": (
        "works.yaml:2: pump.linger_ms: '5 parsecs' is not allowed; "
        "expected a duration such as 500ms, 5s or 10m, or a number of milliseconds, at least 0 and at most 1m"
    ),
    "pump: {linger_ms: 2m}": "'2m' is not allowed",
    "pump: {flush_bytes: 1}": "expected a size such as 8MiB, or a number of bytes, at least 1KiB",
    "pump: {workers: 0}": "'0' is not allowed; expected a whole number, at least 1",
    "pump: {workers: 2.0}": "'2.0' is not allowed",
    "pump: {workers: }": "works.yaml:1: pump.workers: it is empty; expected a whole number, at least 1",
    "pump: {ratio: .nan}": "'.nan' is not allowed; expected a number, at least 0",
    "pump: {ratio: inf}": "'inf' is not allowed",
    "pump: {eager: yes}": "'yes' is not allowed; expected true or false",
    "pump: {mode: quick}": "'quick' is not allowed; expected fast or slow",
    "pump: {name: abcdefghij}": "'abcdefghij' is not allowed",
    'pump: {zone: "a\\nb"}': r"'a\nb' is not allowed",
    'pump: {zone: ""}': "'' is not allowed",
    "pump: {zone: [a]}": "pump.zone is a list; expected text",
    "pump: {zone: {a: b}}": "pump.zone is a mapping",
    "pump: {zone: !a b}": "pump.zone has a tag (quote a value that begins with '!')",
    "pump: 5": "works.yaml:1: pump must be a mapping of settings (name, linger_ms,",
    "[pump]": "works.yaml:1: the file must be a mapping of sections (pump)",
    "pump: {eager: true}": "works.yaml:1: pump: eager needs linger_ms 0",
    "pump:\n  zone: a\n  name: b\n  zone: c": "works.yaml:4: zone is given twice; the first is in line 2",
    "pump: {}\npump: {}": "works.yaml:2: pump is given twice; the first is in line 1",
    "? [a]\n: b": "works.yaml:1: a key must be a plain word",
    "pump:\n  linger_msec: 5": (
        "works.yaml:2: pump.linger_msec is not a setting (value '5'); did you mean linger_ms?; pump has "
    ),
    "pmup: {}": "works.yaml:1: pmup is not a section; did you mean pump?; sections are pump",
    "linger_ms: 5": "linger_ms is not a section; did you mean pump.linger_ms?",
    "<<: {pump: {}}": "<< is not a section",
    "pump: {": "works.yaml:1: this is not YAML: ",
    "a: b: c": "works.yaml:1: this is not YAML: mapping values are not allowed here",
    "pump: {}\n---\npump: {}": "works.yaml:2: this is not YAML: but found another document",
    '"\\UFFFFFFFF"': "works.yaml: this is not YAML: ",
    "[" * 20_000: "endless nesting",
    "#" * (1 << 20) + "\n": "works.yaml: a settings file has at most 1 MiB",
}


@pytest.mark.parametrize(("yaml", "expected"), WRONG.items(), ids=lambda text: text[:30])
def test_a_wrong_file_gives_one_line(yaml: str, expected: str) -> None:
    (line,) = problems(yaml)
    assert expected in line
    assert line.startswith("works.yaml")


def test_bytes_that_are_no_text() -> None:
    assert problems(b"\xff\xfe\x00") == problems(b"pump: \x00")


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({"DRAY_PUMP_WORKERS": "x"}, "env DRAY_PUMP_WORKERS: pump.workers: 'x' is not allowed"),
        (
            {"DRAY_PUMP_LINGERMS": "5"},
            (
                "env DRAY_PUMP_LINGERMS: Dray knows no such variable (value '5'); "
                "did you mean DRAY_PUMP_LINGER_MS?"
            ),
        ),
        ({"DRAY_HTTP_PORT": "8090"}, "env DRAY_HTTP_PORT: Dray knows no such variable"),
    ],
)
def test_a_wrong_variable(env: dict[str, str], expected: str) -> None:
    (line,) = problems(env=env)
    assert line.startswith(expected)


@pytest.mark.parametrize(
    ("pair", "expected"),
    [
        ("pump.workers", "flag --set: 'pump.workers' has no value; write --set SECTION.KEY=VALUE"),
        ("pump.worker=1", "flag --set: pump.worker is not a setting (value '1'); did you mean workers?"),
        (
            "workers=1",
            "flag --set: workers is not a setting (value '1'); did you mean pump.workers?; sections are",
        ),
        ("pump.workers=0", "flag --set: pump.workers: '0' is not allowed"),
        ("pump.password=hunter2", "flag --set: pump.password is a secret and every user"),
    ],
)
def test_a_wrong_flag(pair: str, expected: str) -> None:
    (line,) = problems(pairs=[pair])
    assert line.startswith(expected)
    assert "hunter2" not in line


def test_other_variables_are_left_alone() -> None:
    ignored = {
        "DRAY_CONFIG": "x",
        "DRAY_DEBUG": "1",
        "DRAY_TEST_SEEDS": "5",
        "PATH": "/bin",
        "DRAYAGE": "x",
        "DRAY_SERVICE_HOST": "10.0.0.1",
        "DRAY_SERVICE_PORT_KAFKA": "9092",
        "DRAY_PORT": "tcp://10.0.0.1:9092",
        "DRAY_BROKER_PORT_9092_TCP_ADDR": "10.0.0.1",
    }
    assert loaded(env=ignored).origins == {}


def test_all_problems_are_told_together() -> None:
    lines = problems(
        "pump: {workers: 0, speed: 1}\nx: 1", {"DRAY_PUMP_RATIO": "2", "DRAY_X": ""}, ["pump.mode=odd", "a"]
    )
    origins = [line.split(": ")[0] for line in lines]
    assert origins == [
        "works.yaml:1",
        "works.yaml:1",
        "works.yaml:2",
        "env DRAY_X",
        "env DRAY_PUMP_RATIO",
        "flag --set",
        "flag --set",
    ]


def test_a_wrong_value_is_told_although_a_stronger_source_overrides_it() -> None:
    assert "'0' is not allowed" in problems("pump: {workers: 0}", {"DRAY_PUMP_WORKERS": "1"})[0]


@pytest.mark.parametrize(
    "yaml",
    [
        'pump: {password: "hunter2\\n"}',
        "pump: {password: [hunter2]}",
        "pump: {password: {hunter2: hunter2}}",
        "pump: {password: !hunter2 x}",
        "pump: {password: *hunter2}",
        "pump: {pasword: hunter2}",
        "pump: {password: 'hunter2}",
        'pump: {password: "\\hunter2"}',
        "pump: {password: hunter2, password: hunter2}",
        "pump: {eager: true, password: hunter2}",
        "pump: {zone: 's3://user:hunter2@bucket\\x00'}\npumps: 1",
    ],
)
def test_a_secret_is_never_told(yaml: str) -> None:
    assert "hunter2" not in "\n".join(problems(yaml))


@pytest.mark.parametrize("name", ["DRAY_PUMP_PASSWROD", "DRAY_PSSWORD", "DRAY_PUMP_PASS", "DRAY_PUMP_SECRET"])
def test_a_misspelt_secret_is_never_told_either(name: str) -> None:
    assert "hunter2" not in problems(env={name: "hunter2"})[0]
    flag = name.lower().removeprefix("dray_").replace("_", ".", 1)
    assert "hunter2" not in problems(pairs=[f"{flag}=hunter2"])[0]


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ("file:/run/none", "the file it refers to, '/run/none', cannot be read: No such file or directory"),
        ("file:/run/empty", "the file it refers to, '/run/empty', is empty or holds unprintable characters"),
        ("***", "it holds ***, which only stands for a secret; give the secret itself"),
    ],
)
def test_a_secret_that_cannot_be_had(reference: str, expected: str) -> None:
    assert problems(env={"DRAY_PUMP_PASSWORD": reference}) == [
        f"env DRAY_PUMP_PASSWORD: pump.password: {expected}"
    ]


def test_a_secret_does_not_show_itself() -> None:
    settings = pump("pump: {password: hunter2}")
    assert settings.password == Secret("hunter2") != Secret("hunter3")
    assert "hunter2" not in f"{settings} {settings.password} {settings.password!r} {settings!r}"
    assert "password=***" in repr(settings)


YAML_WORDS = [
    "pump",
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
    lines = told(data)
    assert all(line.startswith("works.yaml") for line in lines)
    assert lines or set(loaded(data).origins) <= {field.path for field in SCHEMA.fields()}


NAMES = st.sampled_from([*Pump.__struct_fields__, "x"])


@given(st.dictionaries(NAMES, st.text(max_size=40)))
def test_any_text_is_a_value_or_refused_in_every_source(texts: dict[str, str]) -> None:
    env = {f"DRAY_PUMP_{key.upper()}": text for key, text in texts.items()}
    pairs = [f"pump.{key}={text}" for key, text in texts.items()]
    assert told(env=env) or len(loaded(env=env).origins) == len(texts)
    assert told(pairs=pairs) or len(loaded(pairs=pairs).origins) == len(texts)
